"""Calls of Cohere: which piece is of which, and what a new start or the end makes of them."""

from __future__ import annotations

import json

import pytest

from tests.laws import assert_laws
from tests.streams import sse


def event(kind, **fields):
    return sse({"type": kind, **fields}, kind)


def start(name, **call):
    given = {"type": "function", "function": {"name": name, "arguments": ""}, **call}
    return event("tool-call-start", index=0, delta={"message": {"tool_calls": given}})


def delta(text):
    return event("tool-call-delta", index=0, delta={"message": {"tool_calls": {"function": {"arguments": text}}}})


OVER = event("tool-call-end", index=0)
END = event("message-end", delta={"finish_reason": "TOOL_CALL"})


@pytest.mark.parametrize("ids", [({}, {}), ({"id": "a"}, {"id": "a"}), ({"id": "a"}, {})])
def test_a_start_after_the_end_begins_another_call(ids):
    first, second = ids
    frames = [start("pay", **first), delta('{"a":1}'), OVER, start("pay", **second), delta('{"b":2}'), OVER, END]
    response = assert_laws(b"".join(frames), frames, "cohere-v2")
    assert [(call.id, call.name, call.raw_arguments) for call in response.tool_calls] == [
        (first.get("id"), "pay", '{"a":1}'),
        (second.get("id"), "pay", '{"b":2}'),
    ]


def test_a_piece_after_the_end_belongs_to_the_call_that_ended():
    frames = [start("pay", id="a"), delta('{"a":'), OVER, delta("1}"), END]
    (call,) = assert_laws(b"".join(frames), frames, "cohere-v2").tool_calls
    assert (call.id, call.raw_arguments, call.status) == ("a", '{"a":1}', "complete")


def test_a_start_without_a_message_is_no_new_answer():
    """Cohere's SDK makes a start of any object that has no type."""
    begun = event("message-start", id="m", delta={"message": {"role": "assistant"}})
    frames = [begun, start("pay", id="a"), delta("{}"), OVER, event("message-start"), END]
    (call,) = assert_laws(b"".join(frames), frames, "cohere-v2").tool_calls
    assert (call.id, call.status) == ("a", "complete")


@pytest.mark.parametrize(("reason", "status"), [("MAX_TOKENS", "truncated"), ("TOOL_CALL", "empty")])
def test_a_call_that_ended_before_its_arguments_began_is_cut_if_the_model_was_stopped(reason, status):
    frames = [start("pay", id="a"), OVER, event("message-end", delta={"finish_reason": reason})]
    (call,) = assert_laws(b"".join(frames), frames, "cohere-v2").tool_calls
    assert call.status == status


def line(kind, **fields):
    return json.dumps({"is_finished": kind == "stream-end", "event_type": kind, **fields}).encode() + b"\n"


def piece(index, **fields):
    return line("tool-calls-chunk", tool_call_delta={"index": index, **fields})


def whole(*calls):
    return line("tool-calls-generation", tool_calls=[{"name": name, "parameters": given} for name, given in calls])


FIRST = [piece(0, name="pay"), piece(0, parameters='{"a":1}')]
SECOND = [piece(1, name="tell"), piece(1, parameters='{"b":2}')]
BOTH = whole(("pay", {"a": 1}), ("tell", {"b": 2}))


@pytest.mark.parametrize(
    ("frames", "calls"),
    [
        ([*FIRST, *SECOND, whole(("tell", {"b": 2}), ("pay", {"a": 1}))], [("pay", {"a": 1}), ("tell", {"b": 2})]),
        ([*SECOND, *FIRST, BOTH], [("tell", {"b": 2}), ("pay", {"a": 1})]),
        ([*SECOND, BOTH], [("tell", {"b": 2}), ("pay", {"a": 1})]),
        ([piece(0, parameters='{"a":1}'), *SECOND, BOTH], [("pay", {"a": 1}), ("tell", {"b": 2})]),
        ([*FIRST, *FIRST, whole(("pay", {"a": 1}), ("pay", {"a": 3}))], [("pay", {"a": 1}), ("pay", {"a": 3})]),
    ],
)
def test_calls_that_are_stated_whole_are_told_by_their_names(frames, calls):
    end = line("stream-end", finish_reason="COMPLETE", response={"generation_id": "g", "text": ""})
    frames = [line("stream-start", generation_id="g"), *frames, end]
    response = assert_laws(b"".join(frames), frames, "cohere-v1")
    assert [(call.name, call.arguments) for call in response.tool_calls] == calls


def test_the_plan_may_stand_where_the_pieces_of_calls_do():
    frames = [
        line("stream-start", generation_id="g"),
        line("tool-calls-chunk", tool_call_delta={"text": "I look."}),
        line("tool-calls-chunk", tool_call_delta={"index": 0, "name": "look"}),
        line("tool-calls-chunk", tool_call_delta={"index": 0, "parameters": "{}"}),
        line("stream-end", finish_reason="COMPLETE", response={"generation_id": "g", "text": "I look."}),
    ]
    response = assert_laws(b"".join(frames), frames, "cohere-v1")
    assert (response.text, [call.name for call in response.tool_calls]) == ("I look.", ["look"])


def test_calls_of_an_answer_that_came_again_are_those_of_the_second():
    call = {"name": "look", "parameters": {"at": 1}}
    half = [line("stream-start", generation_id="g"), line("tool-calls-generation", tool_calls=[call])]
    frames = [*half, *half, line("stream-end", finish_reason="COMPLETE", response={"text": "", "tool_calls": [call]})]
    response = assert_laws(b"".join(frames), frames, "cohere-v1")
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("look", {"at": 1})]
