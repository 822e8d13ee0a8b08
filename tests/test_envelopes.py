"""Payloads of a known dialect in the objects that tools and gateways put around them."""

import json
from typing import Any

import pytest

import chunkfold
from chunkfold import Decoder, Folder, StreamAccumulator, UnknownPart

START = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-5",
        "content": [],
        "stop_reason": None,
        "usage": {"input_tokens": 10, "output_tokens": 1},
    },
}
BLOCK = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
DELTAS = [
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}} for text in ("Hel", "lo")
]
STOP = [
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
ANTHROPIC = [START, BLOCK, *DELTAS, *STOP]
CHAT = [
    {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    for choice in (
        {"index": 0, "delta": {"role": "assistant", "content": "Hel"}},
        {"index": 0, "delta": {"content": "lo"}},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    )
]
CONVERSE = [
    {"messageStart": {"role": "assistant"}},
    {"contentBlockDelta": {"delta": {"text": "Hel"}, "contentBlockIndex": 0}},
    {"contentBlockDelta": {"delta": {"text": "lo"}, "contentBlockIndex": 0}},
    {"contentBlockStop": {"contentBlockIndex": 0}},
    {"messageStop": {"stopReason": "end_turn"}},
    {"metadata": {"usage": {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}}},
]
GEMINI = [
    {"candidates": [{"content": {"parts": [{"text": "Hel"}], "role": "model"}}]},
    {"candidates": [{"content": {"parts": [{"text": "lo"}], "role": "model"}, "finishReason": "STOP"}]},
]


def responses(number: int = 1) -> list[dict[str, Any]]:
    facts = {"id": f"resp_{number}", "object": "response", "model": "gpt-5", "output": []}
    item = {"id": f"msg_{number}", "type": "message", "role": "assistant", "content": []}
    text = {"type": "output_text", "text": "Hello", "annotations": []}
    done = {**facts, "status": "completed", "output": [{**item, "content": [text]}]}
    said = [
        {"type": "response.created", "response": {**facts, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "Hel"},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "lo"},
        {"type": "response.completed", "response": done},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(said)]


def lines(payloads: list[Any]) -> bytes:
    return "".join(json.dumps(payload) + "\n" for payload in payloads).encode()


def sse(payloads: list[Any]) -> bytes:
    return "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads).encode()


def claude(event: dict[str, Any], parent: str | None = None) -> dict[str, Any]:
    return {"type": "stream_event", "event": event, "session_id": "s1", "parent_tool_use_id": parent, "uuid": "u"}


# What `claude -p --output-format stream-json --include-partial-messages` prints: the message once in pieces, once more
# whole, and its text a third time in the result.
CLAUDE_CODE = [
    {"type": "system", "subtype": "init", "session_id": "s1", "tools": ["Bash"], "model": "claude-sonnet-4-5"},
    *map(claude, ANTHROPIC[:-3]),
    {"type": "assistant", "message": {**START["message"], "content": [{"type": "text", "text": "Hello"}]}},
    *map(claude, ANTHROPIC[-3:]),
    {"type": "result", "subtype": "success", "is_error": False, "result": "Hello", "usage": {"input_tokens": 99}},
]
# The events of an agent of Strands. What the callbacks get stands beside the model's own events.
STRANDS = [
    {"init_event_loop": True},
    {"event": CONVERSE[0]},
    {"event": CONVERSE[1]},
    {"data": "Hel", "delta": {"text": "Hel"}},
    {"event": CONVERSE[2]},
    {"data": "lo", "delta": {"text": "lo"}},
    *({"event": event} for event in CONVERSE[3:]),
    {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
]
# OpenAI's Agents SDK.
AGENTS = [
    {"type": "agent_updated_stream_event", "new_agent": {"name": "Joker"}},
    *({"type": "raw_response_event", "data": event} for event in responses()),
    {"type": "run_item_stream_event", "name": "message_output_created", "item": {"type": "message_output_item"}},
]
# SAP's orchestration, whose first chunk has what the template became and an empty piece.
SAP_START = {"id": "", "object": "", "created": 0, "model": "", "choices": [{"index": 0, "delta": {"content": ""}}]}
SAP = [
    {"request_id": "r1", "intermediate_results": {"templating": [{"role": "user"}]}, "final_result": SAP_START},
    *({"request_id": "r1", "intermediate_results": {"llm": chunk}, "final_result": chunk} for chunk in CHAT),
]

STREAMS = {
    "claude-code": ("anthropic-messages", lines(CLAUDE_CODE)),
    "strands": ("bedrock-converse", lines(STRANDS)),
    "agents-sdk": ("openai-responses", lines(AGENTS)),
    "named-events": ("anthropic-messages", lines([{"event": e["type"], "data": e} for e in ANTHROPIC])),
    "named-texts": ("anthropic-messages", lines([{"event": e["type"], "data": json.dumps(e)} for e in ANTHROPIC])),
    "gateway": ("openai-chat", sse([{"code": 0, "msg": "ok", "data": chunk} for chunk in CHAT]) + b"data: [DONE]\n\n"),
    "end-in-envelope": ("openai-chat", lines([*({"data": chunk} for chunk in CHAT), {"data": "[DONE]"}])),
    "sap": ("openai-chat", sse(SAP) + b"data: [DONE]\n\n"),
    "sap-version-1": ("openai-chat", sse([{"orchestration_result": chunk} for chunk in CHAT]) + b"data: [DONE]\n\n"),
    "grpc-gateway": ("gemini", lines([{"result": chunk} for chunk in GEMINI])),
}


@pytest.mark.parametrize("name", STREAMS)
def test_the_payloads_are_taken_out_and_folded_once(name):
    dialect, body = STREAMS[name]
    for asked in ("auto", dialect):
        response = chunkfold.fold(body, asked)
        assert (response.dialect, response.text, response.finish_reason) == (dialect, "Hello", "stop")
        assert (response.ended, response.truncated, response.error) == ("clean", False, None)
        assert [diagnostic.kind for diagnostic in response.diagnostics] == ["envelope"]
        assert [part.kind for part in response.parts if part.kind != "unknown"] == ["text"]


@pytest.mark.parametrize("name", STREAMS)
def test_what_nobody_knows_may_come_before_the_first_envelope(name):
    """Where the dialect is named, it has spoken by then."""
    dialect, body = STREAMS[name]
    before = [{"note": 1}, {"note": 2}]
    body = (sse if body.startswith(b"data:") else lines)(before) + body
    for asked in ("auto", dialect):
        response = chunkfold.fold(body, asked)
        assert (response.text, response.finish_reason, response.ended) == ("Hello", "stop", "clean")
        assert [part.payload for part in response.parts if part.kind == "unknown"][:2] == before


@pytest.mark.parametrize("name", STREAMS)
def test_any_cut_and_any_saving_gives_the_same(name):
    _, body = STREAMS[name]
    folder, decoder, accumulator = Folder(), Decoder(), StreamAccumulator()
    for place in range(0, len(body), 29):
        folder.feed(body[place : place + 29])
        folder = Folder.restore(folder.save())
        for event in decoder.feed(body[place : place + 29]):
            accumulator.observe(event)
    for event in decoder.close():
        accumulator.observe(event)
    assert folder.close() == accumulator.finalize() == chunkfold.fold(body)


def test_usage_is_that_of_the_message_and_not_of_the_run():
    usage = chunkfold.fold(lines(CLAUDE_CODE)).usage
    assert usage is not None
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)


def test_what_stands_around_and_beside_is_carried():
    response = chunkfold.fold(lines(CLAUDE_CODE))
    kept = {"type": "stream_event", "session_id": "s1", "parent_tool_use_id": None, "uuid": "u"}
    assert response.extra["$envelope"] == kept
    beside = [part.payload["type"] for part in response.parts if isinstance(part, UnknownPart)]
    assert beside == ["system", "assistant", "result"]


def test_neither_is_in_the_native_body_or_the_next_request():
    response = chunkfold.fold(lines(CLAUDE_CODE))
    bare = chunkfold.fold(lines(ANTHROPIC))
    assert response.to_native() == bare.to_native()
    for dialect in ("anthropic-messages", "openai-chat"):
        assert response.message.to_request(dialect) == bare.message.to_request(dialect)


def test_mappings_are_taken_as_lines_are():
    assert chunkfold.fold(iter(CLAUDE_CODE)).text == "Hello"


def test_arguments_keep_their_exact_text():
    call = {"type": "tool_use", "id": "t1", "name": "pay", "input": {"sum": 0}}
    start = {"type": "content_block_start", "index": 0, "content_block": call}
    body = lines([claude(event) for event in (START, start, *STOP)]).replace(b'{"sum": 0}', b'{"sum": 1.10}')
    assert chunkfold.fold(body).tool_calls[0].raw_arguments == '{"sum": 1.10}'


def test_the_message_of_another_agent_is_no_piece_of_this_one():
    inner = [claude({**event, "index": 0} if "index" in event else event, "toolu_1") for event in ANTHROPIC]
    outer = [claude(event) for event in ANTHROPIC]
    for body in (lines([*outer[:3], *inner, *outer[3:]]), lines([*inner[:2], *outer])):
        response = chunkfold.fold(body)
        assert (response.text, response.ended) == ("Hello", "clean")
        assert {part.name for part in response.parts if isinstance(part, UnknownPart)} == {"$envelope"}


@pytest.mark.parametrize(
    ("run", "id_"),
    [
        ([claude(e) for e in (*ANTHROPIC, {**START, "message": {**START["message"], "id": "msg_2"}}, *ANTHROPIC[1:])], "msg_2"),
        ([{"type": "raw_response_event", "data": event} for event in (*responses(1), *responses(2))], "resp_2"),
        ([{"event": event} for event in (*CONVERSE, *CONVERSE)], None),
    ],
)  # fmt: skip
def test_of_a_run_with_several_messages_the_last_is_the_response_and_this_is_said(run, id_):
    response = chunkfold.fold(lines(run))
    assert (response.id, response.text) == (id_, "Hello")
    assert "several_messages" in [diagnostic.kind for diagnostic in response.diagnostics]


@pytest.mark.parametrize(
    "error",
    [
        {"type": "stream_event", "event": {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}},
        {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
        {"event": {"type": "ping"}, "error": {"type": "overloaded_error", "message": "busy"}},
    ],
)
def test_errors_inside_beside_and_around_are_errors(error):
    response = chunkfold.fold(lines([*map(claude, ANTHROPIC[:3]), error]))
    assert response.error is not None
    assert (response.error.type, response.error.message, response.text) == ("overloaded_error", "busy", "Hel")


@pytest.mark.parametrize("at", [0, 1], ids=["first", "amid"])
@pytest.mark.parametrize("form", [lambda data: data, json.dumps], ids=["object", "text"])
def test_an_event_that_is_named_in_its_payload_is_the_error_or_ping_of_that_name(form, at):
    """Server-sent events as lines of JSON: the service may be overloaded before the message has begun."""
    named = [{"event": event["type"], "data": event} for event in ANTHROPIC]
    error = {"event": "error", "data": form(BUSY)}
    response = chunkfold.fold(lines([*named[:at], {"event": "ping"}, error]))
    assert response.error is not None
    assert (response.error.type, response.error.status) == ("overloaded_error", 529)
    assert (response.finish_reason, response.ended) == ("error", "error")
    assert not response.parts
    whole = chunkfold.fold(lines([*named[:at], {"event": "ping"}, *named[at:]]))
    assert (whole.text, [part.kind for part in whole.parts]) == ("Hello", ["text"])


def test_an_error_of_the_gateway_where_the_payload_would_be_is_an_error():
    told = {"code": 503, "message": "upstream is gone", "data": None}
    response = chunkfold.fold(lines([{"code": 0, "data": CHAT[0]}, told]))
    assert response.error is not None
    assert (response.error.status, response.error.message, response.text) == (503, "upstream is gone", "Hel")


def test_an_error_of_sap_comes_without_the_envelope_in_its_first_version():
    error = {"request_id": "r1", "code": 500, "message": "m", "location": "LLM Module", "module_results": {"a": 1}}
    response = chunkfold.fold(sse([{"request_id": "r1", "orchestration_result": CHAT[0]}, error]))
    assert response.error is not None
    assert (response.error.message, response.error.status, response.error.raw) == ("m", 500, error)
    alone = chunkfold.fold(json.dumps(error).encode())
    assert (alone.error, alone.ended) == (response.error, "error")


def test_a_stream_cut_in_an_envelope_is_truncated():
    response = chunkfold.fold(lines(CLAUDE_CODE[:4]))
    assert (response.text, response.ended, response.truncated) == ("Hel", "eof", True)


def test_a_wrong_name_stands_and_is_told():
    response = chunkfold.fold(lines([claude(event) for event in ANTHROPIC]), "openai-chat")
    assert (response.dialect, response.text) == ("openai-chat", "")
    assert "dialect_mismatch" in [diagnostic.kind for diagnostic in response.diagnostics]


WHOLE = {"object": "chat.completion", "choices": [{"message": {"content": "Hello"}, "finish_reason": "stop"}]}


@pytest.mark.parametrize(
    "payloads",
    [
        # A text may be the model's.
        [{"event": "token", "data": json.dumps(CHAT[0])}],
        [{"data": json.dumps(CHAT[0])}],
        # What a tool gave back.
        [{"type": "tool_result", "result": WHOLE}],
        # Many responses, of which each line has a whole one.
        [{"custom_id": "a", "response": {"status_code": 200, "body": WHOLE}, "error": None}],
        [{"custom_id": "a", "result": {"type": "succeeded", "message": START["message"]}}],
        # Whole messages of a run.
        [{"type": "assistant", "message": START["message"], "session_id": "s1"}],
        # Two that could be meant.
        [{"event": START, "data": CHAT[0]}],
        [claude(event, "toolu_1") for event in ANTHROPIC],
    ],
)
def test_what_is_ambiguous_is_not_taken_out(payloads):
    response = chunkfold.fold(lines(payloads))
    assert response.dialect is None
    assert response.error is not None
    assert response.error.type == "unrecognised"


def test_a_text_beside_envelopes_is_never_a_payload():
    said = {"type": "note", "event": json.dumps(DELTAS[0])}
    response = chunkfold.fold(lines([claude(START), said, *map(claude, ANTHROPIC[1:])]))
    assert response.text == "Hello"
