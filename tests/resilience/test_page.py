"""The page of the manual says what the tests go by, and its code runs."""

from __future__ import annotations

import re

import pytest

from chunkfold import resilience
from tests.resilience.faults import STREAM_FAULTS
from tests.resilience.page import PAGE, RESULTS, generated, section

TEXT = PAGE.read_text(encoding="utf-8")


def test_the_tables_of_the_page_are_those_of_the_tests():
    assert generated(TEXT) == TEXT


@pytest.mark.parametrize("name", RESULTS)
def test_the_last_result_of_the_whole_matrix_is_in_the_page_and_all_of_it_was_as_the_table_says(name):
    result = section(TEXT, name)
    assert re.findall(r"^\| `(\w+)`", result, re.MULTILINE) == [fault.name for fault in STREAM_FAULTS]
    assert " 0 of them otherwise" in result
    cells = [int(cell) for cell in re.findall(r"\| (\d+)(?= \|)", result)]
    assert min(cells) > 0
    assert f"{sum(cells)} runs" in result


@pytest.mark.parametrize("cls", [resilience.Retry, resilience.RateLimitRetry])
def test_the_fields_of_what_is_tried_again_are_in_the_page_with_their_defaults(cls):
    rows = TEXT[TEXT.index(f"| field of `{cls.__name__}`") :].split("\n\n")[0].splitlines()[2:]
    listed = dict(re.match(r"\| `(\w+)` \| ([^|]+) \|", row).groups() for row in rows)
    defaults = cls()
    assert listed.keys() == set(cls.__struct_fields__)
    for name, said in listed.items():
        default = getattr(defaults, name)
        assert said.strip("`") == (f"{default:g}" if type(default) in (int, float) else str(default)), name


def test_every_public_name_is_in_the_page():
    for name in resilience.__all__:
        assert re.search(rf"\b{name}\b", TEXT), name


def test_the_code_of_the_page_runs():
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) >= 5
    names = {}
    exec(compile(blocks[0], "resilience.md", "exec"), names)
    for block in blocks[1:]:
        exec(compile(block, "resilience.md", "exec"), names)
