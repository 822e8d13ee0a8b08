"""The same answer streamed and not streamed by a real server: the stream gives the body of the other."""

from __future__ import annotations

import json

import pytest

import chunkfold
from tests.helpers import DATA
from tests.native.forms import different, fold_and_overhear, lost

PAIRS = sorted(path.parent for path in DATA.glob("pairs/*/*/whole.json"))

# What the server draws anew for each request.
DRAWN = {"id", "item_id", "call_id", "created", "created_at", "completed_at", "timings", "cached_tokens", "cache_n"}
DRAWN |= {"cache_read_input_tokens"}


# Times that this server tells in one of the two only.
NOT_IN_BOTH = {"completed_at", "timings"}


def undrawn(value):
    """*value* with the same word for all that is drawn anew."""
    if isinstance(value, dict):
        if "cache_read_input_tokens" in value:
            # What is not read from the cache is the rest.
            value = {**value, "input_tokens": value["input_tokens"] + value["cache_read_input_tokens"]}
        return {
            key: "drawn" if key in DRAWN else undrawn(item) for key, item in value.items() if key not in NOT_IN_BOTH
        }
    return [undrawn(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.parent.name}/{pair.name}")
def test_a_stream_gives_the_body_of_the_answer_that_was_not_streamed(pair):
    whole = json.loads((pair / "whole.json").read_bytes())
    response, payloads = fold_and_overhear((pair / "stream.sse").read_bytes())
    body = response.to_native()
    wrong = different(undrawn(whole), undrawn(body))
    if pair.name.endswith("tools-parallel-1"):
        # A call that the token limit cut: there the text of the stream is the truth.
        wrong = [line for line in wrong if "arguments" not in line and "input" not in line]
    assert wrong == []
    assert lost(response.dialect, payloads, body) == []


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair.parent.name}/{pair.name}")
def test_the_body_that_was_not_streamed_gives_the_response_of_the_stream(pair):
    streamed = chunkfold.fold((pair / "stream.sse").read_bytes())
    whole = chunkfold.fold((pair / "whole.json").read_bytes())
    assert whole.text == streamed.text
    assert whole.reasoning == streamed.reasoning
    assert whole.finish_reason == streamed.finish_reason
    assert whole.native_finish_reason == streamed.native_finish_reason
    assert len(whole.choices) == len(streamed.choices)
    assert [call.name for call in whole.tool_calls] == [call.name for call in streamed.tool_calls]
    assert whole.usage.output_tokens == streamed.usage.output_tokens
    assert whole.ended == streamed.ended == "clean"
    assert not whole.truncated
