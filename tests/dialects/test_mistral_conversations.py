"""Calls of Mistral's conversations whose events do not say in full which entry they are of; and its errors."""

from __future__ import annotations

import pytest

from chunkfold import Response
from tests.laws import assert_laws
from tests.streams import sse

STARTED = {"type": "conversation.response.started", "conversation_id": "conv_1", "created_at": "2026-02-03T04:05:06Z"}
DONE = {"type": "conversation.response.done", "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}


def fold(*events):
    frames = [sse(event, event["type"]) for event in (STARTED, *events, DONE)]
    return assert_laws(b"".join(frames), frames)


def piece(call, arguments, **fields):
    return {"type": "function.call.delta", "tool_call_id": call, "name": "f", "arguments": arguments, **fields}


@pytest.mark.parametrize("fields", [{}, {"output_index": 0}, {"output_index": 0, "id": "fc_1"}, {"id": "fc_1"}])
def test_another_call_is_another_entry_whatever_else_its_events_say(fields):
    response = fold(*(piece(f"call_{n}", text, **fields) for n in range(3) for text in ('{"n": ', f"{n}}}")))
    calls = [("call_0", {"n": 0}), ("call_1", {"n": 1}), ("call_2", {"n": 2})]
    assert [(call.id, call.arguments) for call in response.tool_calls] == calls
    native = response.to_native()
    assert [entry["tool_call_id"] for entry in native["outputs"]] == ["call_0", "call_1", "call_2"]
    again = Response.from_native(native)
    assert [(call.id, call.arguments) for call in again.tool_calls] == calls
    sent = response.message.to_request("mistral-conversations")
    assert [entry["arguments"] for entry in sent] == ['{"n": 0}', '{"n": 1}', '{"n": 2}']


def test_pieces_of_one_call_are_one_entry_whatever_id_that_has():
    response = fold(piece("c", '{"a": ', id="fc_1", output_index=0), piece("c", "1}", id="fc_2", output_index=0))
    assert [(call.id, call.arguments) for call in response.tool_calls] == [("c", {"a": 1})]
    (entry,) = response.to_native()["outputs"]
    assert (entry["id"], entry["arguments"]) == ("fc_1", '{"a": 1}')


def test_a_piece_with_another_id_and_no_name_is_of_the_call_of_its_entry():
    response = fold(piece("c", '{"a": ', output_index=0), piece("d", "1}", output_index=0, name=None))
    assert [(call.id, call.arguments) for call in response.tool_calls] == [("c", {"a": 1})]


@pytest.mark.parametrize("none", ["null", None])
def test_an_id_that_comes_late_is_that_of_the_call_of_its_entry(none):
    first, second = (piece(f"call_{n}", f"{n}}}", output_index=0) for n in range(2))
    response = fold(piece(none, '{"n": ', output_index=0), first, piece("call_1", '{"n": ', output_index=0), second)
    calls = [("call_0", {"n": 0}), ("call_1", {"n": 1})]
    assert [(call.id, call.arguments) for call in response.tool_calls] == calls


@pytest.mark.parametrize(
    ("message", "code"), [("Rate limit exceeded", 1300), ("Service tier capacity exceeded for this model.", 3505)]
)
def test_the_numbers_of_its_errors_tell_whether_to_try_again(message, code):
    response = fold({"type": "conversation.response.error", "message": message, "code": code})
    error = response.error
    assert (error.message, error.code, error.status, error.retryable) == (message, code, 429, True)
