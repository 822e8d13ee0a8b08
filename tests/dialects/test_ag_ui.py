"""Calls that take turns, and runs that follow one another."""

from __future__ import annotations

import pytest

from tests.laws import assert_laws
from tests.streams import sse


def folded(*events):
    body = b"".join(map(sse, events))
    return assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])


def chunk(id_, delta, name=None):
    return {"type": "TOOL_CALL_CHUNK", "toolCallId": id_, "delta": delta} | ({"toolCallName": name} if name else {})


def calls_of(response):
    return [(call.id, call.name, call.status, call.raw_arguments) for call in response.tool_calls]


START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
TEXT = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hi"}
BOTH = [("a", "f", "complete", '{"x":1}'), ("b", "g", "complete", '{"y":2}')]


@pytest.mark.parametrize("between", [[], [TEXT]])
def test_calls_in_chunks_may_take_turns(between):
    """Parallel calls are streamed together; their ids tell whose an argument is, also when something came between."""
    one, two = chunk("a", '{"x":', "f"), chunk("b", '{"y":', "g")
    response = folded(START, one, two, *between, chunk("a", "1}"), chunk("b", "2}"), END)
    assert calls_of(response) == BOTH
    assert response.text == ("Hi" if between else "")


def test_a_chunk_without_an_id_goes_on_the_call_that_came_last():
    last = {"type": "TOOL_CALL_CHUNK", "delta": "1}"}
    response = folded(START, chunk("b", '{"y":2}', "g"), chunk("a", '{"x":', "f"), last, END)
    assert calls_of(response) == BOTH[::-1]


def test_argument_text_behind_the_end_of_its_call_belongs_to_it():
    call = {"toolCallId": "a"}
    response = folded(
        START,
        {"type": "TOOL_CALL_START", **call, "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", **call, "delta": '{"x":'},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TOOL_CALL_ARGS", **call, "delta": "1}"},
        END,
    )
    assert calls_of(response) == BOTH[:1]


def test_another_run_that_is_cut_is_truncated():
    other = [{**START, "runId": "r2"}, {**TEXT, "messageId": "n", "delta": " there"}]
    cut = folded(START, TEXT, END, *other)
    assert (cut.text, cut.finish_reason, cut.truncated, cut.ended) == ("Hi there", None, True, "eof")
    assert "outcome" not in cut.to_native()
    whole = folded(START, TEXT, END, *other, {**END, "runId": "r2"})
    assert (whole.text, whole.finish_reason, whole.truncated, whole.ended) == ("Hi there", "stop", False, "clean")
    assert whole.to_native()["outcome"] is None
    failed = folded(START, TEXT, END, *other, {"type": "RUN_ERROR", "message": "no"})
    assert (failed.text, failed.finish_reason, failed.error.message) == ("Hi there", "error", "no")


def test_starts_and_ends_may_have_a_piece():
    response = folded(
        START,
        {"type": "REASONING_MESSAGE_START", "messageId": "g", "delta": "H"},
        {"type": "REASONING_MESSAGE_END", "messageId": "g", "delta": "m"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "delta": "H"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "delta": "i"},
        {"type": "TOOL_CALL_START", "toolCallId": "a", "delta": '{"x":'},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "a", "toolCallName": "f"},
        {"type": "TOOL_CALL_END", "toolCallId": "a", "delta": "1}"},
        END,
    )
    assert (response.reasoning, response.text, len(response.parts)) == ("Hm", "Hi", 3)
    assert calls_of(response) == BOTH[:1]
