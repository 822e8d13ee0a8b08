"""
The closing event of a Responses stream has the whole body: ours, made of the items, is the same.

But for ids, which some servers draw anew for each event, and where the closing event itself says less than the others.
"""

from __future__ import annotations

import pytest

from tests.native.forms import different, fold_and_overhear
from tests.native.test_streams import CORPUS, ROWS

PATHS = [row["path"] for row in ROWS if row["dialect"] == "openai-responses"]


@pytest.mark.parametrize("path", PATHS)
def test_the_body_is_that_of_the_closing_event(path):
    response, payloads = fold_and_overhear((CORPUS / path).read_bytes(), "openai-responses")
    closing = payloads[-1].get("response") if payloads else None
    if not isinstance(closing, dict) or not closing.get("output") or closing.get("status") != "completed":
        pytest.skip("no closing event with the items")
    wrong = different(closing, response.to_native())
    assert [line for line in wrong if "id: " not in line and "is too many" not in line] == []
