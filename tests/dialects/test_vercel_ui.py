"""What an application says about a message in several chunks, and calls: their inputs, their steps and who runs them."""

from __future__ import annotations

import json

import pytest

from chunkfold import Response, Usage, fold
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def test_metadata_is_merged_as_deep_as_it_has_objects():
    """The AI SDK merges objects inside objects; lists and all else give way to what comes later."""
    body = b"".join(
        map(
            sse,
            (
                {"type": "start", "messageMetadata": {"cost": {"in": 1}, "tags": ["a", "b"], "seen": None}},
                {"type": "message-metadata", "messageMetadata": {"cost": {"out": {"text": 2}}, "tags": ["c"]}},
                {"type": "finish", "messageMetadata": {"cost": {"out": {"audio": 3}, "in": 4}, "done": True}},
            ),
        )
    )
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    assert response.to_native()["metadata"] == {
        "cost": {"in": 4, "out": {"text": 2, "audio": 3}},
        "tags": ["c"],
        "seen": None,
        "done": True,
    }


def folded(*chunks):
    body = b"".join(map(sse, chunks))
    return assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])


def test_blank_fields_beside_the_reason_are_no_error():
    response = folded(
        {"type": "finish-step"}, {"type": "finish", "finishReason": "stop", "errorText": None, "error": ""}
    )
    assert (response.error, response.finish_reason) == (None, "stop")


@pytest.mark.parametrize("end", [{"type": "error"}, {"type": "finish", "finishReason": "error"}])
def test_an_error_may_be_the_text_of_an_object(end):
    """The SDK writes an error that is no exception as JSON: what Anthropic says amid a stream is an object there."""
    text = '{"type":"overloaded_error","message":"Overloaded"}'
    error = folded({"type": "start"}, {**end, "errorText": text}).error
    assert (error.type, error.message, error.status, error.retryable) == ("overloaded_error", "Overloaded", 529, True)
    assert error.raw["errorText"] == text


def test_starts_and_ends_may_have_a_piece():
    response = folded(
        {"type": "reasoning-start", "id": "r", "delta": "H"},
        {"type": "reasoning-end", "id": "r", "delta": "m"},
        {"type": "text-start", "id": "t", "delta": "H"},
        {"type": "text-end", "id": "t", "delta": "i"},
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "f", "inputTextDelta": '{"x":'},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "1}"},
        {"type": "finish"},
    )
    assert (response.reasoning, response.text, len(response.parts)) == ("Hm", "Hi", 3)
    assert [(call.name, call.raw_arguments) for call in response.tool_calls] == [("f", '{"x":1}')]


START = {"type": "tool-input-start", "toolCallId": "c", "toolName": "f", "input": {"x": 1}}


@pytest.mark.parametrize(
    ("later", "text"),
    [
        ([], '{"x":1}'),
        ([{"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"y":2}'}], '{"y":2}'),
        ([{"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {"z": 3}}], '{"z":3}'),
        ([{"type": "tool-input-available", "toolCallId": "c", "toolName": "f"}], '{"x":1}'),
    ],
)
def test_the_whole_input_of_a_start_stands_if_no_other_comes(later, text):
    """An imitator's start has it all; taken for a start alone it would be a call without input."""
    (call,) = folded(START, *later, {"type": "finish"}).tool_calls
    assert (call.status, call.raw_arguments.replace(" ", "")) == ("complete", text)


def call(name, text, **fields):
    stated = {"toolCallId": "call_0", "toolName": name, **fields}
    return [
        {"type": "tool-input-start", "toolCallId": "call_0", "toolName": name},
        {"type": "tool-input-delta", "toolCallId": "call_0", "inputTextDelta": text},
        {"type": "tool-input-available", "input": json.loads(text), **stated},
    ]


def output(value):
    return {"type": "tool-output-available", "toolCallId": "call_0", "output": value}


STEP = {"type": "start-step"}


@pytest.mark.parametrize("is_whole", [False, True])
def test_calls_of_several_steps_may_have_one_id(is_whole):
    """Bedrock's Responses number the calls of each answer from `call_0` on (vercel/ai#17347)."""
    one, two = call("f", '{"x":1}'), call("f", '{"y":2}')
    if is_whole:
        one, two = one[-1:], two[-1:]
    response = folded(STEP, *one, output("one"), STEP, *two, output("two"), {"type": "finish"})
    assert [call.arguments for call in response.tool_calls] == [{"x": 1}, {"y": 2}]
    assert [part.content for part in response.parts if part.kind == "server_tool_result"] == ["one", "two"]
    parts = [part for part in response.to_native()["parts"] if part["type"] == "tool-f"]
    assert [(part["input"], part["output"]) for part in parts] == [({"x": 1}, "one"), ({"y": 2}, "two")]


def test_a_result_is_of_the_last_call_that_has_its_id():
    response = folded(STEP, *call("f", '{"x":1}'), STEP, *call("g", '{"y":2}'), output("two"), {"type": "finish"})
    first, second = (part for part in response.to_native()["parts"] if "toolCallId" in part)
    assert (first["type"], first["state"]) == ("tool-f", "input-available")
    assert (second["type"], second["output"]) == ("tool-g", "two")


def test_a_step_may_begin_amid_the_input_of_a_call():
    """The streams of two agents are merged; the step is the other one's."""
    start, delta, stated = call("f", '{"x":1}')
    response = folded(STEP, start, STEP, delta, STEP, stated, {"type": "finish"})
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", {"x": 1})]


@pytest.mark.parametrize("text", ["{}", '{"query":"tide"}'])
def test_a_call_may_say_late_that_the_provider_runs_it(text):
    """xAI's provider says so with the input only; a client that ran the search would run a tool that it has not got."""
    response = folded(
        STEP, *call("web_search", text, providerExecuted=True), {"type": "finish", "finishReason": "stop"}
    )
    assert (response.tool_calls, response.finish_reason) == ((), "stop")
    (part,) = response.parts
    assert (part.kind, part.name, part.raw_arguments, part.status) == (
        "server_tool_call",
        "web_search",
        text,
        "complete",
    )
    assert response.to_native()["parts"][1]["providerExecuted"] is True


def whole(**part):
    message = {"id": "m", "role": "assistant", "parts": [{"type": "tool-f", "toolCallId": "c", **part}]}
    response = fold(json.dumps(message).encode())
    assert response.to_native() == message
    return response


def test_input_that_was_still_streaming_is_no_whole_input():
    """The SDK closes the brackets of what has come, and a chat that was left stores it so."""
    (part,) = whole(state="input-streaming", input={"path": "/"}).tool_calls
    assert (part.status, part.is_usable) == ("truncated", False)
    (part,) = whole(state="input-available", input={"path": "/"}).tool_calls
    assert (part.status, part.is_usable) == ("complete", True)


@pytest.mark.parametrize(("raw", "status"), [('{"x"', "invalid"), ({"x": 1}, "complete")])
def test_input_that_does_not_fit_is_that_of_a_call(raw, status):
    response = whole(state="output-error", rawInput=raw, errorText="no")
    (part,) = response.tool_calls
    assert (part.id, part.name, part.status) == ("c", "f", status)
    assert (response.parts[1].content, response.parts[1].is_error) == ("no", True)


INSIDE = (
    {"type": "start"},
    {"type": "start-step", "request": {}, "warnings": []},
    {"type": "reasoning-start", "id": "r"},
    {"type": "reasoning-delta", "id": "r", "text": "two ports"},
    {"type": "reasoning-end", "id": "r"},
    {"type": "tool-input-start", "id": "c1", "toolName": "tide"},
    {"type": "tool-input-start", "id": "c2", "toolName": "wind"},
    {"type": "tool-input-delta", "id": "c1", "delta": '{"port":'},
    {"type": "tool-input-delta", "id": "c2", "delta": '{"at":"B"}'},
    {"type": "tool-input-delta", "id": "c1", "delta": '"A"}'},
    {"type": "tool-input-end", "id": "c1"},
    {"type": "tool-call", "toolCallId": "c1", "toolName": "tide", "input": {"port": "A"}},
    {"type": "tool-input-end", "id": "c2"},
    {"type": "tool-call", "toolCallId": "c2", "toolName": "wind", "input": {"at": "B"}},
    {"type": "tool-result", "toolCallId": "c1", "toolName": "tide", "input": {"port": "A"}, "output": {"m": 3}},
    {"type": "tool-error", "toolCallId": "c2", "toolName": "wind", "input": {"at": "B"}, "error": {"message": "no"}},
    {"type": "source", "sourceType": "url", "id": "s", "url": "https://a.example"},
    {"type": "finish-step", "finishReason": "tool-calls", "response": {"id": "x", "modelId": "m-1"}},
    {"type": "finish", "finishReason": "tool-calls", "totalUsage": {"inputTokens": 7, "outputTokens": 5}},
)


def test_the_parts_that_the_sdk_has_inside_may_be_passed_on():
    """Servers that send `fullStream` as it is: the pieces of a call have its id as `id`, the rest as `toolCallId`."""
    response = folded(*INSIDE)
    assert [(call.id, call.name, call.arguments, call.status) for call in response.tool_calls] == [
        ("c1", "tide", {"port": "A"}, "complete"),
        ("c2", "wind", {"at": "B"}, "complete"),
    ]
    results = [part for part in response.parts if part.kind == "server_tool_result"]
    assert [(part.call_id, part.content, part.is_error) for part in results] == [
        ("c1", {"m": 3}, False),
        ("c2", "no", True),
    ]
    assert (response.error, response.model, response.finish_reason) == (None, "m-1", "tool_calls")
    assert (response.usage.input_tokens, response.usage.output_tokens, response.usage.total_tokens) == (7, 5, 12)
    assert [part.text for part in response.parts if part.kind == "reasoning"] == ["two ports"]


def test_a_document_is_a_source_and_a_file_may_have_an_address_already():
    response = folded(
        {"type": "source", "sourceType": "document", "id": "s", "mediaType": "application/pdf", "title": "Tides"},
        {"type": "file", "mimeType": "image/png", "url": "https://a.example/b.png", "data": "AAAA"},
        {"type": "finish", "finishReason": "stop", "totalUsage": {"inputTokens": 7, "cachedInputTokens": 3}},
    )
    assert response.annotations == (
        {"type": "source-document", "sourceId": "s", "mediaType": "application/pdf", "title": "Tides"},
    )
    (file,) = response.parts
    assert (file.kind, file.url, file.extra) == ("image", "https://a.example/b.png", {"base64": "AAAA"})
    assert response.usage.cached_input_tokens == 3


def test_the_parts_of_version_4_may_be_passed_on():
    response = folded(
        {"type": "step-start", "messageId": "m"},
        {"type": "reasoning", "textDelta": "hm"},
        {"type": "text-delta", "textDelta": "I look."},
        {"type": "tool-call-streaming-start", "toolCallId": "c", "toolName": "tide"},
        {"type": "tool-call-delta", "toolCallId": "c", "toolName": "tide", "argsTextDelta": '{"port":"A"}'},
        {"type": "tool-call", "toolCallId": "c", "toolName": "tide", "args": {"port": "A"}},
        {"type": "tool-result", "toolCallId": "c", "toolName": "tide", "args": {"port": "A"}, "result": 3},
        {"type": "step-finish", "finishReason": "tool-calls", "usage": {"promptTokens": 7, "completionTokens": 5}},
        {"type": "finish", "finishReason": "stop", "usage": {"promptTokens": 7, "completionTokens": 5}},
    )
    assert [(call.id, call.raw_arguments) for call in response.tool_calls] == [("c", '{"port":"A"}')]
    assert [part.kind for part in response.parts] == ["reasoning", "text", "tool_call", "server_tool_result"]
    assert (response.text, response.usage.total_tokens) == ("I look.", 12)


def test_input_that_the_sdk_could_not_read_is_that_of_a_call():
    response = folded(
        STEP,
        {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": '{"x"', "invalid": True, "error": "no"},
        {"type": "tool-error", "toolCallId": "c", "toolName": "f", "input": '{"x"', "error": "no"},
        {"type": "finish", "finishReason": "stop"},
    )
    (call,) = response.tool_calls
    assert (call.raw_arguments, call.status) == ('{"x"', "invalid")
    assert {(part.content, part.is_error) for part in response.parts[1:]} == {("no", True)}
    assert response.error is None


def test_what_the_sdk_says_of_an_approval_inside_is_of_the_call():
    call = {"type": "tool-call", "toolCallId": "c", "toolName": "f", "input": {"x": 1}}
    response = folded(
        STEP,
        call,
        {"type": "tool-approval-request", "approvalId": "a", "toolCall": call},
        {"type": "tool-approval-response", "approvalId": "a", "approved": False, "toolCall": call},
        {"type": "finish", "finishReason": "stop"},
    )
    (part,) = response.parts
    assert part.extra["approval"] == {"id": "a", "approved": False}


def test_what_an_approval_is_about_has_the_name_that_it_has_in_the_message():
    asked = {"type": "tool-approval-request", "approvalId": "a", "toolCallId": "c", "signature": "s"}
    response = folded(
        STEP,
        {"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {"x": 1}},
        {**asked, "approvalDescriptor": {"action": "pay"}},
        {"type": "finish"},
    )
    (part,) = response.to_native()["parts"][1:]
    assert part["approval"] == {"id": "a", "signature": "s", "descriptor": {"action": "pay"}}


@pytest.mark.parametrize(
    "chunk",
    [
        {"file": {"base64": "aGk=", "mediaType": "image/png"}},
        {"file": {"base64Data": "aGk=", "mediaType": "image/png"}},
        {"base64Data": "aGk=", "mimeType": "image/png"},
        {"url": "data:image/png;base64,aGk=", "mediaType": "image/png"},
    ],
)
def test_a_file_that_the_sdk_has_inside_has_its_bytes(chunk):
    response = folded(STEP, {"type": "file", **chunk}, {"type": "finish"})
    (part,) = response.parts
    assert (part.kind, part.media_type, part.data) == ("image", "image/png", b"hi")


def mastra(kind, **said):
    return {"type": kind, "runId": "r", "from": "AGENT", "payload": said}


MASTRA = (
    mastra("start", id="agent", messageId="m"),
    mastra("step-start", messageId="m", request={}),
    mastra("reasoning-start", id="r1"),
    mastra("reasoning-delta", id="r1", text="hm"),
    mastra("reasoning-signature", id="r1", signature="c2ln"),
    mastra("reasoning-end", id="r1"),
    mastra("tool-call-input-streaming-start", toolCallId="c", toolName="tide"),
    mastra("tool-call-delta", toolCallId="c", argsTextDelta='{"port":'),
    mastra("tool-call-delta", toolCallId="c", argsTextDelta='"A"}'),
    mastra("tool-call-input-streaming-end", toolCallId="c"),
    mastra("tool-call", toolCallId="c", toolName="tide", args={"port": "A"}),
    mastra("tool-result", toolCallId="c", toolName="tide", args={"port": "A"}, result="no", isError=True),
    mastra("step-finish", stepResult={"reason": "tool-calls"}, output={}, metadata={"modelId": "m-1"}),
    mastra("step-start"),
    mastra("text-start", id="t"),
    mastra("text-delta", id="t", text="Three "),
    mastra("text-delta", id="t", text="metres."),
    mastra("text-end", id="t"),
    mastra("file", data="aGk=", mimeType="image/png"),
    {**mastra("step-finish", stepResult={"reason": "stop"}, metadata={"a": 1}), "metadata": {"b": 2}},
    mastra("finish", stepResult={"reason": "stop"}, output={"usage": {"inputTokens": 7, "outputTokens": 5}}),
)


def test_mastra_has_the_parts_in_chunks_of_its_own():
    """Its servers answer `stream` so: what the SDK has inside is under `payload`."""
    response = folded(*MASTRA)
    assert [part.kind for part in response.parts] == ["reasoning", "tool_call", "server_tool_result", "text", "image"]
    reasoning, call, result, text, picture = response.parts
    assert (reasoning.text, reasoning.extra["signature"]) == ("hm", "c2ln")
    assert (call.id, call.name, call.raw_arguments, call.status) == ("c", "tide", '{"port":"A"}', "complete")
    assert (result.content, result.is_error, text.text, picture.data) == ("no", True, "Three metres.", b"hi")
    assert (response.id, response.model, response.native_finish_reason) == ("m", "m-1", "stop")
    assert response.usage.total_tokens == 12
    assert (response.extra["runId"], response.extra["from"], response.extra["agentId"]) == ("r", "AGENT", "agent")
    assert (response.extra["metadata"], response.extra["chunk"]) == ({"a": 1}, {"metadata": {"b": 2}})
    assert type(response).from_native(response.to_native(), response.dialect).text == "Three metres."


def test_chunks_of_mastra_that_are_none_of_the_sdk_are_kept_whole():
    told = mastra("tripwire", reason="no")
    response = folded(mastra("start"), told, mastra("error", error={"message": "boom"}))
    (part,) = response.parts
    assert (part.name, part.payload, response.error.message) == ("tripwire", told, "boom")


@pytest.mark.parametrize(("native", "reason"), [("suspended", "pause"), ("tripwire", "content_filter")])
def test_mastra_has_reasons_of_its_own(native, reason):
    """A call waits until the user has approved it, or a processor has blocked the answer."""
    response = folded(mastra("start"), mastra("finish", stepResult={"reason": native}))
    assert (response.finish_reason, response.native_finish_reason) == (reason, native)


def test_the_gateway_has_objects_for_counts_and_reasons():
    """The parts of the SDK's model of version 3, which Vercel's gateway streams as they are."""
    usage = {
        "inputTokens": {"total": 10, "noCache": 3, "cacheRead": 5, "cacheWrite": 2},
        "outputTokens": {"total": 7, "text": 3, "reasoning": 4},
    }
    response = folded(
        {"type": "text-start", "id": "0"},
        {"type": "text-delta", "id": "0", "delta": "Hi"},
        {"type": "text-end", "id": "0"},
        {"type": "finish", "finishReason": {"unified": "stop", "raw": "end_turn"}, "usage": usage},
    )
    assert (response.finish_reason, response.native_finish_reason, response.ended) == ("stop", "end_turn", "clean")
    assert response.usage == Usage(10, 7, 17, 5, 2, 4, raw=usage)


@pytest.mark.parametrize(
    ("said", "reason", "native"),
    [
        ({"unified": "tool-calls", "raw": "STOP"}, "tool_calls", "STOP"),
        ({"unified": "length"}, "length", "length"),
        ({"unified": "other", "raw": None}, "unknown", "other"),
        ({"unified": None, "raw": "x"}, None, None),
        ({}, None, None),
    ],
)
def test_of_two_words_for_a_reason_the_unified_one_tells_it(said, reason, native):
    response = folded({"type": "text-delta", "id": "0", "delta": "Hi"}, {"type": "finish", "finishReason": said})
    assert (response.finish_reason, response.native_finish_reason) == (reason, native)


def call_and_result(id_):
    call = {"toolCallId": id_, "toolName": "f", "args": {}}
    return {"type": "tool-call", **call}, {"type": "tool-result", **call, "result": "R"}


def test_text_without_an_id_does_not_go_on_behind_a_call_or_in_another_step():
    """Version 4 of the SDK gives its parts none, and has the text of all steps in one stream."""
    text, thought = {"type": "text-delta", "textDelta": "a"}, {"type": "reasoning", "textDelta": "h"}
    step = [{"type": "step-finish", "finishReason": "tool-calls"}, {"type": "step-start", "messageId": "m"}]
    frames = [*[thought] * 9, *[text] * 9, *call_and_result("c"), text, *step, text, thought, text, {"type": "finish"}]
    response = folded(*frames)
    assert_templates_change_nothing(list(map(sse, frames)))
    assert [(part.kind, getattr(part, "text", None)) for part in response.parts] == [
        ("reasoning", "h" * 9),
        ("text", "a" * 9),
        ("tool_call", None),
        ("server_tool_result", None),
        ("text", "a"),
        ("text", "a"),
        ("reasoning", "h"),
        ("text", "a"),
    ]
    marks = [part["type"] for part in response.to_native()["parts"]]
    assert marks == ["reasoning", "text", "tool-f", "text", "step-start", "text", "reasoning", "text"]


def test_a_delta_without_an_id_goes_on_with_what_was_started_last():
    response = folded(
        {"type": "reasoning-start", "id": "r"},
        {"type": "reasoning-delta", "delta": "H"},
        {"type": "reasoning-delta", "delta": "m"},
        {"type": "reasoning-end", "providerMetadata": {"p": {"signature": "S"}}},
        {"type": "text-start", "id": "t"},
        {"type": "text-delta", "delta": "H"},
        {"type": "text-delta", "delta": "i"},
        {"type": "text-end"},
        {"type": "finish"},
    )
    assert (response.reasoning, response.text, len(response.parts)) == ("Hm", "Hi", 2)
    assert response.parts[0].extra["providerMetadata"] == {"p": {"signature": "S"}}


@pytest.mark.parametrize("blank", [{}, {"toolCallId": None}, {"toolCallId": ""}])
def test_argument_text_without_an_id_is_of_the_call_that_was_opened_last(blank):
    chunks = []
    for id_, text in (("a", '{"x":1}'), ("b", '{"y":2}')):
        chunks.append({"type": "tool-input-start", "toolCallId": id_, "toolName": "f"})
        chunks += [{"type": "tool-input-delta", "inputTextDelta": piece, **blank} for piece in (text[:4], text[4:])]
        chunks.append({"type": "tool-input-available", "toolCallId": id_, "toolName": "f", "input": json.loads(text)})
    response = folded({"type": "start"}, *chunks, {"type": "finish"})
    assert [(call.id, call.raw_arguments) for call in response.tool_calls] == [("a", '{"x":1}'), ("b", '{"y":2}')]


@pytest.mark.parametrize("mastra", [False, True])
def test_what_a_model_of_the_sdk_says_of_its_answer_is_no_part_of_it(mastra):
    """The gateway passes on the parts of the models, which name themselves at the start; so does Mastra."""
    facts = {"id": "r1", "modelId": "m-1", "timestamp": "2026-01-01T00:00:00Z"}
    named = {"type": "response-metadata", "runId": "x", "from": "AGENT", "payload": facts}
    response = folded(
        {"type": "stream-start", "warnings": [{"type": "other"}]},
        named if mastra else {"type": "response-metadata", **facts},
        {"type": "text-start", "id": "0"},
        {"type": "text-delta", "id": "0", "delta": "Hi"},
        {"type": "finish", "finishReason": "stop"},
    )
    assert (response.id, response.model, response.text, len(response.parts)) == ("r1", "m-1", "Hi", 1)
    assert (response.extra["warnings"], response.extra["response"]) == ([{"type": "other"}], facts)
    assert [part["type"] for part in response.to_native()["parts"]] == ["text"]


def test_what_the_provider_says_of_a_call_and_of_its_result_have_names_of_their_own_in_the_message():
    """As the AI SDK has them in a tool's part of a UI message."""
    about = {"toolCallId": "c", "toolName": "f"}
    response = folded(
        {"type": "start", "messageId": "m"},
        {"type": "tool-input-start", **about},
        {"type": "tool-input-available", **about, "input": {}, "providerMetadata": {"x": 1}},
        {"type": "tool-output-available", "toolCallId": "c", "output": 2, "providerMetadata": {"y": 2}},
        {"type": "finish"},
    )
    (part,) = response.to_native()["parts"]
    assert part == {
        "type": "tool-f", "toolCallId": "c", "input": {}, "callProviderMetadata": {"x": 1},
        "state": "output-available", "output": 2, "resultProviderMetadata": {"y": 2},
    }  # fmt: skip


def test_a_chunk_about_a_part_that_nobody_knows_is_carried():
    told = at(0, "annotations", annotations=[1])
    response = folded(
        {"type": "step-start"}, begins(type="text"), at(0, "text-delta", textDelta="Hi"), told, at(0, "part-finish")
    )
    assert (response.text, response.parts[1].payload) == ("Hi", told)


def begins(**part):
    return {"type": "part-start", "part": part, "path": []}


def at(place, kind, **fields):
    return {"type": kind, **fields, "path": [place]}


def test_a_delta_of_assistant_uis_stream_is_of_what_began_at_its_place():
    """There a thought and a piece of arguments have the name of a piece of text, as they had in the answer."""
    response = folded(
        {"type": "step-start", "messageId": "m"},
        begins(type="reasoning"),
        at(0, "text-delta", textDelta="Let me"),
        at(0, "text-delta", textDelta=" check."),
        at(0, "part-finish"),
        begins(type="text"),
        at(1, "text-delta", textDelta="Checking"),
        at(1, "part-finish"),
        begins(type="tool-call", toolCallId="c", toolName="f"),
        begins(type="tool-call", toolCallId="d", toolName="g"),
        at(2, "text-delta", textDelta='{"x":'),
        at(3, "text-delta", textDelta="{}"),
        at(2, "text-delta", textDelta="1}"),
        at(2, "result", result="almost", isError=False, isPreliminary=True),
        at(2, "tool-call-args-text-finish"),
        at(2, "result", result="done", isError=False),
        at(2, "part-finish"),
        at(3, "result", result="no", isError=True),
        at(3, "part-finish"),
        begins(type="source", sourceType="url", id="s", url="https://example.com"),
        at(4, "part-finish"),
        begins(type="text"),
        at(5, "text-delta", textDelta=" it is."),
        {"type": "message-finish", "finishReason": "stop", "usage": {"inputTokens": 2, "outputTokens": 3}},
    )
    assert (response.text, response.reasoning) == ("Checking it is.", "Let me check.")
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [
        ("c", "f", {"x": 1}),
        ("d", "g", {}),
    ]
    results = [part for part in response.parts if part.kind == "server_tool_result"]
    assert [(part.call_id, part.content, part.is_error) for part in results] == [
        ("c", "done", False),
        ("d", "no", True),
    ]
    assert [part.id for part in response.parts if part.kind == "text"] == [None, None]
    assert response.annotations == ({"type": "source-url", "sourceId": "s", "url": "https://example.com"},)
    assert (response.usage.total_tokens, response.ended, len(response.parts)) == (5, "clean", 7)


def test_places_of_assistant_uis_stream_count_the_parts_of_the_message_alone():
    """What a tool begins of its own has a longer path, and nothing of a chunk that only looks like a start is lost."""
    data = {"type": "data-file", "path": "/a", "part": {"n": 1}, "data": "x"}
    response = folded(
        begins(type="tool-call", toolCallId="c", toolName="f"),
        {**begins(type="reasoning"), "path": [0]},
        data,
        begins(type="text"),
        at(0, "text-delta", textDelta="{}"),
        at(1, "text-delta", textDelta="Hi"),
        {"type": "message-finish", "finishReason": "stop"},
    )
    assert (response.text, response.reasoning) == ("Hi", "")
    assert [(call.id, call.arguments) for call in response.tool_calls] == [("c", {})]
    assert data in [part.payload for part in response.parts if part.kind == "unknown"]


def test_argument_text_may_be_named_as_inside_beside_the_id_that_the_browser_is_told():
    """Left in the extra fields it would be a call without arguments, which can be run."""
    delta = {"type": "tool-input-delta", "toolCallId": "c"}
    response = folded(
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "f"},
        {**delta, "delta": '{"x":'},
        {**delta, "delta": "1}"},
        {"type": "finish"},
    )
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [("c", "f", {"x": 1})]


def test_pieces_have_the_names_that_assistant_ui_and_its_imitators_give_them():
    response = folded(
        {"type": "text-delta", "textDelta": "Hi"},
        {"type": "reasoning-delta", "reasoningDelta": "h"},
        {"type": "reasoning-delta", "reasoningDelta": "m"},
        {"type": "tool-call-begin", "toolCallId": "c", "toolName": "f"},
        {"type": "tool-call-delta", "toolCallId": "c", "argsTextDelta": "{}"},
        {"type": "tool-call-start", "toolCallId": "d", "toolName": "g"},
        {"type": "tool-call-delta", "argsText": '{"x":1}'},
        {"type": "tool-call-end"},
        {"type": "source", "source": {"sourceType": "url", "id": "s", "url": "https://example.com"}},
        {"type": "finish"},
    )
    assert (response.text, response.reasoning, len(response.parts)) == ("Hi", "hm", 4)
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [
        ("c", "f", {}),
        ("d", "g", {"x": 1}),
    ]
    assert response.annotations == ({"type": "source-url", "sourceId": "s", "url": "https://example.com"},)


def test_the_message_of_a_stream_with_a_note_of_a_gateway_is_still_known_for_one():
    response = folded({"type": "text-delta", "id": "0", "delta": "Hi"}, {"heartbeat": True}, {"type": "finish"})
    again = fold(json.dumps(response.to_native()).encode())
    assert (again.dialect, again.text, len(again.parts)) == ("vercel-ui", "Hi", 2)
    assert fold(b'{"role":"user","parts":[{"text":"Hi"}]}').dialect != "vercel-ui"


def source(name):
    return {"type": "source-url", "sourceId": name, "url": f"https://{name}.example"}


def text(id_, said):
    return ({"type": "text-start", "id": id_}, {"type": "text-delta", "id": id_, "delta": said}, {"type": "text-end", "id": id_})  # fmt: skip


def shown(response):
    return [part.get("sourceId") or part.get("text") or "-" for part in response.to_native()["parts"]]


STEP, RESET = {"type": "start-step"}, {"type": "reset-step"}


def test_sources_go_with_the_step_that_is_taken_back():
    response = folded(
        STEP, source("a"), *text("1", "One."), source("b"),
        STEP, *text("2", "Two"), source("c"), source("a"), source("d"), RESET,
        *text("2", "Three."), source("e"), source("c"), {"type": "finish"},
    )  # fmt: skip
    assert [item["sourceId"] for item in response.annotations] == ["a", "b", "e", "c"]
    assert shown(response) == ["-", "a", "One.", "b", "-", "Three.", "e", "c"]


def test_sources_of_the_first_step_that_is_taken_back_all_go():
    response = folded(STEP, source("a"), *text("1", "One."), source("b"), RESET, source("b"), *text("1", "Two."))
    assert [item["sourceId"] for item in response.annotations] == ["b"]
    assert shown(response) == ["-", "b", "Two."]


def test_a_source_before_the_first_part_of_a_later_step_stays():
    """It may be of the step before, which had its last part already: that one is not to lose it."""
    response = folded(STEP, *text("1", "One."), source("a"), STEP, source("b"), *text("2", "Two"), RESET, *text("2", "3."))  # fmt: skip
    assert [item["sourceId"] for item in response.annotations] == ["a", "b"]
    assert shown(response) == ["-", "One.", "a", "-", "b", "3."]


@pytest.mark.parametrize(
    ("part", "truncated"),
    [
        ({"type": "text", "text": "Hal", "state": "streaming"}, True),
        ({"type": "tool-f", "toolCallId": "c", "state": "input-streaming", "input": {"x": 1}}, True),
        ({"type": "text", "text": "Hal", "state": "done"}, False),
        ({"type": "text", "text": "Hal"}, False),
    ],
)
def test_a_message_that_was_stored_amid_a_part_is_no_whole_answer(part, truncated):
    message = {"id": "m", "role": "assistant", "parts": [{"type": "step-start"}, part]}
    assert Response.from_native(message).truncated is truncated
    for said in ({"finishReason": "stop"}, {"abort": {}}):
        assert not Response.from_native({**message, **said}).truncated


def test_a_call_of_a_stored_message_whose_input_never_began_is_not_run():
    """The SDK leaves the input out until the first piece has come."""
    call = {"type": "tool-pay", "toolCallId": "c", "state": "input-streaming"}
    message = {"id": "m", "role": "assistant", "parts": [call, {**call, "toolCallId": "d"}]}
    response = Response.from_native(message)
    assert [made.status for made in response.tool_calls] == ["truncated", "truncated"]
    assert response.to_native() == message
    over = {**call, "state": "input-available", "input": {}}
    assert Response.from_native({**message, "parts": [over]}).tool_calls[0].arguments == {}


def test_a_call_of_a_cut_stream_is_no_call_without_arguments_in_its_body():
    begun = {"type": "tool-input-start", "toolCallId": "c", "toolName": "pay"}
    for more in ([], [{**begun, "toolCallId": "d"}]):
        response = fold(b"".join(map(sse, [STEP, begun, *more])))
        again = Response.from_native(response.to_native())
        assert {call.status for call in (*response.tool_calls, *again.tool_calls)} == {"truncated"}
