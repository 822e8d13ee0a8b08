"""The tables of `make bench-peers`, from made-up numbers; no SDK is needed for them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCH = str(Path(__file__).parent.parent / "bench")


@pytest.fixture(scope="module")
def report():
    sys.path.insert(0, BENCH)
    try:
        import peers_report
    finally:
        sys.path.remove(BENCH)
    return peers_report


def row(peer, n, seconds=None, *, content="text", differs="", **more):
    found = {"dialect": "openai", "content": content, "n": n, "peer": peer, **more}
    return found if seconds is None else {**found, "seconds": seconds, "differs": differs}


RESULTS = {
    "python": "3.11.7",
    "date": "November 2026",
    "versions": {"openai": "3.57.0"},
    "absent": ["pydantic-ai", "litellm"],
    "cost": [
        row("chunkfold `fold`", 1_000, 0.001),
        row("chunkfold `fold`", 10_000, 0.010),
        row("openai `stream()`", 1_000, 0.1),
        row("openai `stream()`", 10_000, 2.5),
        row("langchain", 1_000, 0.01),
        row("langchain", 10_000, 1.0, differs="no text"),
        row("chunkfold `fold`", 1_000, 0.002, content="tool1"),
        row("langchain", 1_000, content="tool1", left_out=70.2),
        row("openai `stream()`", 1_000, content="tool1", error="ValidationError"),
    ],
    "memory": [{"dialect": "openai", "peer": "langchain", "n": 1_000, "peak": 2_500_000}],
    "imports": {"openai `create`": 512.3},
    "installed": {"openai `create`": {"bytes": 20_200_000, "distributions": 14}},
}


def cells(text, first):
    """The cells of all rows that begin with *first*."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    return [found[1:] for found in rows if found[0] == first]


def test_a_promise_is_held_or_not_by_the_ratio_to_the_fold_of_the_same_run(report):
    text = report.promises(RESULTS)
    assert cells(text, "openai `stream()`, openai-chat") == [["100", "250", "200", "yes"]]
    assert cells(text, "langchain, openai-chat") == [["10", "100", "150", "**no**"]]
    assert not cells(text, "pydantic-ai, openai-chat")


def test_it_is_said_what_was_measured_and_what_could_not_be(report):
    said = "Python 3.11.7, November 2026: openai 3.57.0. Not installed, so left out: pydantic-ai, litellm."
    assert report.report(RESULTS).splitlines()[0] == said


def test_a_table_has_microseconds_a_delta_ratio_growth_and_what_is_amiss(report):
    does, text, calls = cells(report.report(RESULTS), "langchain")
    assert does == ["`stream` of the chat model, all chunks added with `+`"]
    assert text == ["10", "100, no text", "100", "2.00", "2,500"]
    assert calls == ["(about 70 s)", ""]
    assert cells(report.report(RESULTS), "openai `stream()`")[-1] == ["`ValidationError`", ""]
    assert ["512", "openai", "20.2", "14"] in cells(report.report(RESULTS), "`from openai import OpenAI`")


def test_what_a_longer_run_takes_is_predicted_from_the_growth_so_far(report):
    assert report.predicted([], 1_000) == 0
    assert report.predicted([(100, 1.0)], 1_000) == pytest.approx(10)
    assert report.predicted([(10, 9.0), (100, 1.0), (1_000, 100.0)], 10_000) == pytest.approx(10_000)


def test_what_a_peer_loses_or_changes_is_named_and_spaces_in_arguments_are_not(report):
    difference = report.peers.difference
    assert difference(("a", "", [{"x": 1}]), ("a", "", ['{"x": 1}'])) == ""
    assert difference(("a", "", ['{"x":2}']), ("b", "r", ['{"x":1}'])) == "other text, no reasoning, other calls"


def test_tables_and_picture_have_their_place_in_the_manual(report):
    page = (report.DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert report.with_tables(page, RESULTS) != page
    assert report.with_tables(report.with_tables(page, RESULTS), RESULTS) == report.with_tables(page, RESULTS)
    assert "(benchmarks.svg)" in page
