"""
Half of a custom tool's text lacks no bracket, and still must not look like a call that can be run: it may be half a
command, or half a patch. Nor must a call whose arguments never began look like one of a tool that takes none.
"""

from __future__ import annotations

import pytest

import chunkfold
from chunkfold import Response, fold
from chunkfold.errors import InvalidToolCall
from tests.laws import assert_laws
from tests.streams import sse

DONE = b"data: [DONE]\n\n"
ERROR = sse({"error": {"message": "overloaded", "type": "server_error"}})


def chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def started(number=0):
    custom = {"name": "sh", "input": ""}
    return chunk({"tool_calls": [{"index": number, "id": f"id{number}", "type": "custom", "custom": custom}]})


def more(text, number=0):
    return chunk({"tool_calls": [{"index": number, "custom": {"input": text}}]})


RUN = [started(), more("rm -r"), more(" /tmp/x")]
TEXT = chunk({"content": "So it is."})

CHAT_ENDS = {
    "by the end of the bytes": [],
    "by the token limit": [chunk({}, "length"), DONE],
    "by a filter": [chunk({}, "content_filter"), DONE],
    "by an abort": [chunk({}, "abort"), DONE],
    "by an error": [ERROR],
    "by an error before the end mark": [ERROR, DONE],
    "by a reason that is an error": [chunk({}, "error"), DONE],
}


def event(kind, **fields):
    return sse({"type": kind, **fields}, kind)


def closing(status, *output, **fields):
    response = {"id": "resp_1", "object": "response", "status": status, "model": "m", "output": list(output), **fields}
    return event(f"response.{status}", response=response)


def item(number=0, **fields):
    names = {"id": f"item_{number}", "type": "custom_tool_call", "call_id": f"id{number}", "name": "sh"}
    return {**names, "input": "", **fields}


def added(number=0):
    return event("response.output_item.added", output_index=number, item=item(number))


def delta(text, number=0):
    return event("response.custom_tool_call_input.delta", output_index=number, item_id=f"item_{number}", delta=text)


LIMIT = {"incomplete_details": {"reason": "max_output_tokens"}}
RESPONSE_ENDS = {
    "by the end of the bytes": [],
    "by the token limit": [closing("incomplete", **LIMIT)],
    "by a failure": [closing("failed", error={"code": "server_error", "message": "m"})],
    "by an error": [event("error", code="server_error", message="m")],
    "by a cancellation": [closing("cancelled")],
}


def assert_cut(frames, dialect, raw):
    response = assert_laws(b"".join(frames), frames, dialect)
    call = response.tool_calls[-1]
    assert (call.id, call.raw_arguments, call.status) == ("id0", raw, "truncated")
    with pytest.raises(InvalidToolCall):
        _ = call.arguments
    assert [note.kind for note in response.diagnostics] == ["unusable_arguments"]
    told = []
    with chunkfold.stream(frames, dialect, on_tool_call=told.append) as stream:
        list(stream)
    assert [made.status for made in told] == ["truncated"]
    again = Response.from_native(response.to_native()) if response.error is None else response
    assert [made.status for made in again.tool_calls] == ["truncated"]


@pytest.mark.parametrize("end", CHAT_ENDS.values(), ids=CHAT_ENDS)
@pytest.mark.parametrize(("begin", "raw"), [(RUN[:1], ""), (RUN, "rm -r /tmp/x"), ([TEXT, *RUN], "rm -r /tmp/x")])
def test_a_call_of_chat_that_was_cut(begin, raw, end):
    assert_cut([*begin, *end], "openai-chat", raw)


@pytest.mark.parametrize(
    "end",
    [
        [chunk({}, "tool_calls"), DONE],
        [chunk({}, "stop")],
        [chunk({}, "tool_calls"), ERROR],
        [DONE],
        [TEXT],
        [TEXT, chunk({}, "length")],
    ],
)
def test_a_call_of_chat_that_was_over(end):
    response = assert_laws(b"".join([*RUN, *end]), [*RUN, *end], "openai-chat")
    assert [(call.status, call.arguments) for call in response.tool_calls] == [("complete", "rm -r /tmp/x")]


def test_of_several_calls_of_chat_the_last_one_was_cut():
    frames = [*RUN, started(1), more("ls", 1), chunk({}, "length")]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [call.status for call in response.tool_calls] == ["complete", "truncated"]


@pytest.mark.parametrize("end", RESPONSE_ENDS.values(), ids=RESPONSE_ENDS)
def test_a_call_of_responses_that_was_cut(end):
    assert_cut([added(), delta("rm -r"), delta(" /tmp/x"), *end], "openai-responses", "rm -r /tmp/x")


@pytest.mark.parametrize("fields", [{"status": "incomplete"}, {"status": "in_progress"}, {}])
def test_a_call_of_responses_that_the_closing_event_lists_as_cut(fields):
    end = closing("incomplete", item(input="rm", **fields), **LIMIT)
    assert_cut([added(), delta("rm"), end], "openai-responses", "rm")


def test_a_call_of_responses_that_was_done_as_one_that_was_cut():
    done = event("response.output_item.done", output_index=0, item=item(input="rm", status="incomplete"))
    assert_cut([added(), delta("rm"), done, closing("incomplete", **LIMIT)], "openai-responses", "rm")


def test_all_calls_of_responses_that_were_not_done_were_cut():
    frames = [added(), added(1), delta("rm"), delta("ls", 1), closing("incomplete", **LIMIT)]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [call.status for call in response.tool_calls] == ["truncated", "truncated"]


@pytest.mark.parametrize("end", [[], [closing("incomplete", **LIMIT)], [closing("completed")]])
def test_a_call_of_responses_that_was_done(end):
    done = event("response.output_item.done", output_index=0, item=item(input="rm -r /tmp/x", status="completed"))
    frames = [added(), delta("rm -r /tmp/x"), done, *end]
    (call,) = assert_laws(b"".join(frames), frames, "openai-responses").tool_calls
    assert (call.status, call.arguments) == ("complete", "rm -r /tmp/x")


def test_a_transport_that_fails_cuts_a_call():
    def source():
        yield from RUN
        raise OSError("reset")

    (call,) = fold(source(), "openai-chat").tool_calls
    assert call.status == "truncated"


def test_who_stops_reading_has_half_a_call():
    with chunkfold.stream(RUN, "openai-chat") as stream:
        next(iter(stream))
    (call,) = stream.response().tool_calls
    assert call.status == "truncated"


def test_while_the_stream_runs_a_call_is_open():
    folder = chunkfold.Folder("openai-chat")
    folder.feed(b"".join(RUN))
    assert [call.status for call in folder.snapshot().tool_calls] == ["open"]


# Arguments that never began


def started_function(number=0):
    function = {"name": "pay", "arguments": ""}
    return chunk({"tool_calls": [{"index": number, "id": f"id{number}", "type": "function", "function": function}]})


BY_CHAT = {how: end for how, end in CHAT_ENDS.items() if how != "by the token limit"}


@pytest.mark.parametrize("end", BY_CHAT.values(), ids=BY_CHAT)
@pytest.mark.parametrize("begin", [[started_function()], [TEXT, started_function()]])
def test_a_call_of_chat_that_was_cut_before_its_arguments(begin, end):
    assert_cut([*begin, *end], "openai-chat", "")


@pytest.mark.parametrize(
    "end", [[chunk({}, "tool_calls"), DONE], [chunk({}, "stop")], [DONE], [TEXT], [chunk({}, "tool_calls"), ERROR]]
)
def test_a_call_of_chat_that_needs_no_arguments(end):
    frames = [started_function(), *end]
    (call,) = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
    assert (call.status, call.arguments) == ("empty", {})


def test_of_two_calls_of_chat_the_second_was_cut_before_its_arguments():
    frames = [started_function(), started_function(1)]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [call.status for call in response.tool_calls] == ["empty", "truncated"]


def function(**fields):
    return {"id": "item_0", "type": "function_call", "call_id": "id0", "name": "pay", "arguments": "", **fields}


@pytest.mark.parametrize("end", RESPONSE_ENDS.values(), ids=RESPONSE_ENDS)
@pytest.mark.parametrize("is_done", [False, True])
def test_a_call_of_responses_that_was_cut_before_its_arguments(end, is_done):
    frames = [event("response.output_item.added", output_index=0, item=function(status="in_progress"))]
    if is_done:
        frames.append(event("response.output_item.done", output_index=0, item=function(status="incomplete")))
    assert_cut([*frames, *end], "openai-responses", "")


def test_arguments_of_responses_that_come_only_with_a_call_that_was_cut_have_begun():
    done = event("response.output_item.done", output_index=0, item=function(status="incomplete", arguments='{"x":1}'))
    frames = [done, closing("incomplete", **LIMIT)]
    (call,) = assert_laws(b"".join(frames), frames, "openai-responses").tool_calls
    assert (call.status, call.arguments) == ("complete", {"x": 1})


def claude(reason=None, *, is_stopped=True, text=""):
    block = {"type": "tool_use", "id": "id0", "name": "pay", "input": {}}
    yield event("message_start", message={"id": "m", "type": "message", "role": "assistant", "content": []})
    yield event("content_block_start", index=0, content_block=block)
    yield event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": text})
    if is_stopped:
        yield event("content_block_stop", index=0)
    if reason is not None:
        yield event("message_delta", delta={"stop_reason": reason})
        yield event("message_stop")


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded", "refusal"])
@pytest.mark.parametrize("is_stopped", [True, False])
def test_a_call_of_claude_that_was_cut_before_its_input(reason, is_stopped):
    """Claude's input comes in whole values: of a long text nothing has come where the limit cuts it."""
    frames = list(claude(reason, is_stopped=is_stopped))
    response = assert_laws(b"".join(frames), frames, "anthropic-messages")
    again = Response.from_native(response.to_native())
    for (call,) in (response.tool_calls, again.tool_calls):
        assert (call.id, call.raw_arguments, call.status) == ("id0", "", "truncated")


def test_a_call_of_claude_that_an_error_cut_before_its_input():
    error = event("error", error={"type": "overloaded_error", "message": "Overloaded"})
    for end in ([error], []):
        frames = [*claude(is_stopped=False), *end]
        (call,) = assert_laws(b"".join(frames), frames, "anthropic-messages").tool_calls
        assert (call.raw_arguments, call.status) == ("", "truncated")


@pytest.mark.parametrize(("reason", "text"), [("tool_use", ""), ("end_turn", ""), (None, ""), ("max_tokens", "{}")])
def test_a_call_of_claude_that_needs_no_input(reason, text):
    frames = list(claude(reason, text=text))
    (call,) = assert_laws(b"".join(frames), frames, "anthropic-messages").tool_calls
    assert call.arguments == {}


def converse(*events):
    return [{name: payload} for name, payload in events]


def test_a_call_of_converse_that_was_cut_before_its_input():
    begin = {"contentBlockIndex": 0, "start": {"toolUse": {"toolUseId": "id0", "name": "pay"}}}
    stop = ("contentBlockStop", {"contentBlockIndex": 0})
    for reason, status in (("max_tokens", "truncated"), ("guardrail_intervened", "truncated"), ("tool_use", "empty")):
        stream = converse(("contentBlockStart", begin), stop, ("messageStop", {"stopReason": reason}))
        (call,) = fold(stream, "bedrock-converse").tool_calls
        assert (call.raw_arguments, call.status) == ("", status)


def test_a_call_of_gemini_comes_whole():
    call = {"functionCall": {"name": "pay"}}
    for reason in ({}, {"finishReason": "MAX_TOKENS"}, {"finishReason": "STOP"}):
        frames = [sse({"candidates": [{"content": {"role": "model", "parts": [call]}, **reason}]})]
        assert [made.status for made in fold(frames, "gemini").tool_calls] == ["empty"]


# Bodies that were made of streams that were cut

CUT_IN_BODIES = {
    "anthropic-messages": lambda text: {"type": "message", "role": "assistant", "stop_reason": None, "usage": {}, "content": [
        {"type": "tool_use", "id": "id0", "name": "pay", "input": text},
    ]},
    "cohere-v2": lambda text: {"id": "c", "finish_reason": None, "message": {"role": "assistant", "tool_calls": [
        {"id": "id0", "type": "function", "function": {"name": "pay", "arguments": text}},
    ]}},
    "cohere-v1": lambda text: {"generation_id": "g", "text": "", "tool_calls": [{"name": "pay", "parameters": text}]},
    "gemini-interactions": lambda text: {"object": "interaction", "id": "i", "status": "in_progress", "steps": [
        {"type": "function_call", "id": "id0", "name": "pay", "arguments": text},
    ]},
}  # fmt: skip


@pytest.mark.parametrize("dialect", CUT_IN_BODIES)
def test_a_call_without_arguments_in_a_body_without_a_reason_is_not_run(dialect):
    """Half a call that was kept as the body of an answer would be run with no arguments when that is read again."""
    response = Response.from_native(CUT_IN_BODIES[dialect](""), dialect)
    assert [(call.raw_arguments, call.status) for call in response.tool_calls] == [("", "truncated")]
    assert Response.from_native(response.to_native(), dialect).tool_calls == response.tool_calls
    for text in ({}, {"x": 1}):
        (call,) = Response.from_native(CUT_IN_BODIES[dialect](text), dialect).tool_calls
        assert call.arguments == text
    body = CUT_IN_BODIES[dialect]("")
    body.update(stop_reason="tool_use", finish_reason="TOOL_CALL", status="requires_action")
    (call,) = Response.from_native(body, dialect).tool_calls
    assert call.status == "empty"


@pytest.mark.parametrize("number", range(4))
def test_a_call_of_a_stream_that_was_cut_is_no_call_without_arguments_in_its_body(number):
    frames = list(claude())[: number + 1]
    response = fold(frames, "anthropic-messages")
    again = Response.from_native(response.to_native())
    assert [call.status for call in again.tool_calls] == [call.status for call in response.tool_calls]


# Calls that were open where the stream broke off

BEGUN = {
    "anthropic-messages": [
        {"type": "content_block_start", "index": at, "content_block": {"type": "tool_use", "id": f"id{at}", "name": "pay", "input": {}}}
        for at in range(2)
    ],
    "bedrock-converse": [
        {"contentBlockStart": {"contentBlockIndex": at, "start": {"toolUse": {"toolUseId": f"id{at}", "name": "pay"}}}}
        for at in range(2)
    ],
    "cohere-v2": [
        {"type": "tool-call-start", "index": at, "delta": {"message": {"tool_calls": {
            "id": f"id{at}", "type": "function", "function": {"name": "pay", "arguments": ""}}}}}
        for at in range(2)
    ],
    "gemini-interactions": [
        {"event_type": "step.start", "index": at, "step": {"type": "function_call", "id": f"id{at}", "name": "pay", "arguments": {}}}
        for at in range(2)
    ],
    "vercel-ui": [{"type": "tool-input-start", "toolCallId": f"id{at}", "toolName": "pay"} for at in range(2)],
    "ag-ui": [{"type": "TOOL_CALL_START", "toolCallId": f"id{at}", "toolCallName": "pay"} for at in range(2)],
}  # fmt: skip


@pytest.mark.parametrize("many", [1, 2])
@pytest.mark.parametrize("dialect", BEGUN)
def test_a_call_whose_end_never_came_is_not_run_without_arguments(dialect, many):
    """Several may be open at once, of which none says more before the connection is lost."""
    payloads = BEGUN[dialect][:many]
    for response in (chunkfold.fold(payloads, dialect), fold(list(map(sse, payloads)), dialect)):
        assert response.truncated
        assert [call.status for call in response.tool_calls] == ["truncated"] * many
