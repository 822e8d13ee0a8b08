"""Streams one behind the other, as files hold them that were appended to: what becomes of them, and that it is said."""

from __future__ import annotations

import json

import pytest

import chunkfold
from tests.laws import assert_laws


def sse(*payloads):
    return b"".join(b"data: %b\n\n" % json.dumps(payload).encode() for payload in payloads)


def chat(id_, text):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    return [{"id": id_, "choices": [choice]}] * 2 + [{"id": id_, "choices": [end]}]


USAGE = {"id": "a", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}
DONE = b"data: [DONE]\n\n"


def claude(id_, text):
    return sse(
        {"type": "message_start", "message": {"id": id_, "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    )


def responses(id_, text):
    response = {"id": id_, "object": "response"}
    item = {"type": "message", "id": f"m{id_}", "role": "assistant", "content": []}
    return sse(
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text},
        {"type": "response.completed", "response": {**response, "status": "completed"}},
    )


def cohere(id_, text):
    return sse(
        {"type": "message-start", "id": id_, "delta": {"message": {"role": "assistant"}}},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": text}}}},
        {"type": "content-end", "index": 0},
        {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}},
    )


def kinds(response):
    return [diagnostic.kind for diagnostic in response.diagnostics]


@pytest.mark.parametrize("stream", [claude, responses, cohere])
def test_the_last_message_stands_where_a_start_parts_them(stream):
    body = stream("a", "one") + stream("b", "two") + stream("c", "three")
    response = chunkfold.fold(body)
    assert (response.id, response.text, response.ended) == ("c", "three", "clean")
    assert kinds(response) == ["several_messages"]
    assert_laws(body, [body[at : at + 1] for at in range(len(body))])


def test_all_of_them_are_one_where_nothing_but_an_end_mark_parts_them():
    body = sse(*chat("a", "one"), USAGE) + DONE + sse(*chat("b", "two")) + DONE
    response = chunkfold.fold(body)
    assert response.text == "oneonetwotwo"
    assert kinds(response) == ["several_messages"]
    assert_laws(body, [body[at : at + 1] for at in range(len(body))])


@pytest.mark.parametrize(
    "behind",
    [DONE, DONE * 9, sse(USAGE) + DONE, b": ping\n\n" + sse({}, USAGE) + DONE, sse(*chat("b", "two"))],
)
def test_what_a_proxy_has_to_say_behind_the_end_is_no_other_message(behind):
    """Nor is what no second end mark follows: content may come late."""
    response = chunkfold.fold(sse(*chat("a", "one")) + DONE + behind)
    assert "several_messages" not in kinds(response)


@pytest.mark.parametrize("start", [b"", sse(*chat("a", "Hi ")[:2])], ids=["before-all", "before-the-reason"])
def test_an_end_mark_before_a_message_is_over_parts_nothing(start):
    body = start + DONE + sse(*chat("a", "Hi ")) + DONE
    response = assert_laws(body, [body[at : at + 9] for at in range(0, len(body), 9)])
    assert (kinds(response), response.finish_reason) == ([], "stop")


def test_a_message_that_was_not_over_is_replaced_without_a_word():
    """A proxy begins anew: `message_reset` says so among the events."""
    body = claude("a", "one")
    response = chunkfold.fold(body[: body.index(b'data: {"type": "content_block_stop"')] + claude("b", "two"))
    assert (response.text, kinds(response)) == ("two", [])


def claude_start(id_, usage):
    return {"type": "message_start", "message": {"id": id_, "role": "assistant", "content": [], "usage": usage}}


@pytest.mark.parametrize(("id_", "cached"), [("b", None), ("a", 5)], ids=["another-request", "the-same"])
@pytest.mark.parametrize("behind", ["", "message_delta", "error"])
def test_a_message_with_another_id_owes_nothing_to_the_one_before_it(id_, cached, behind):
    """A proxy tried again, or an agent asked again. What the first request read from the cache is billed to that one."""
    start = claude_start("a", {"input_tokens": 3, "cache_read_input_tokens": 5, "output_tokens": 1})
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "one"}}
    ends = {
        "": [],
        "message_delta": [{"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"}],
        "error": [{"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}],
    }
    usage = {"input_tokens": 2, "output_tokens": 1}
    rest = [
        {**block, "content_block": {"type": "text", "text": "two"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}},
        {"type": "message_stop"},
    ]
    body = sse(start, block, *ends[behind], claude_start(id_, usage), *rest)
    response = assert_laws(body, [body[at : at + 9] for at in range(0, len(body), 9)])
    told = response.usage
    assert (response.text, told.input_tokens, told.output_tokens) == ("two", 2 + (cached or 0), 7)
    assert told.cached_input_tokens == cached
    assert (response.error is not None) == (behind == "error" and id_ == "a")
    assert kinds(response) == (["several_messages"] if behind == "message_delta" else [])


def interaction(id_, usage):
    said = {"id": id_, "object": "interaction"}
    return sse(
        {"event_type": "interaction.created", "interaction": {**said, "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "model_output"}},
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": id_}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "interaction.completed", "interaction": {**said, "status": "completed", "usage": usage}},
    )


def cohere_with(id_, tokens):
    end = {"finish_reason": "COMPLETE", "usage": {"tokens": tokens}}
    return sse(
        {"type": "message-start", "id": id_, "delta": {"message": {"role": "assistant"}}},
        {"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": id_}}}},
        {"type": "message-end", "delta": end},
    )


def converse(text, usage):
    return sse(
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": text}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": usage}},
    )


def conversation(text, usage):
    """Of one conversation, which has the same id in each turn."""
    said = {"type": "message.output.delta", "id": text, "output_index": 0, "content_index": 0, "content": text}
    return sse(
        {"type": "conversation.response.started", "conversation_id": "conv"},
        said,
        {"type": "conversation.response.done", "usage": usage},
    )


@pytest.mark.parametrize(
    ("stream", "first", "second"),
    [
        (converse, {"inputTokens": 9, "cacheReadInputTokens": 5, "outputTokens": 1}, {"inputTokens": 2}),
        (conversation, {"prompt_tokens": 9, "completion_tokens": 1, "num_cached_tokens": 4}, {"prompt_tokens": 2}),
        (interaction, {"total_input_tokens": 9, "total_cached_tokens": 5}, {"total_input_tokens": 2}),
        (cohere_with, {"input_tokens": 9, "output_tokens": 5}, {"input_tokens": 2}),
    ],
)
def test_the_usage_of_a_request_is_not_mixed_with_that_of_the_next_one(stream, first, second):
    body = stream("a", first) + stream("b", second)
    response = assert_laws(body, [body[at : at + 9] for at in range(0, len(body), 9)])
    told = response.usage
    assert (response.text, told.input_tokens, told.cached_input_tokens, told.output_tokens) == ("b", 2, None, None)
    assert kinds(response) == ["several_messages"]


def whole_claude(id_, text):
    content = [{"type": "text", "text": text}]
    return {"id": id_, "type": "message", "role": "assistant", "content": content, "stop_reason": "end_turn"}


def whole_interaction(id_, text):
    steps = [{"type": "model_output", "content": [{"type": "text", "text": text}]}]
    return {"id": id_, "object": "interaction", "status": "completed", "steps": steps}


def whole_converse(_, text):
    return {"output": {"message": {"role": "assistant", "content": [{"text": text}]}}, "stopReason": "end_turn"}


def whole_cohere(id_, text):
    message = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    return {"id": id_, "message": message, "finish_reason": "COMPLETE"}


def whole_mistral(id_, text):
    outputs = [{"type": "message.output", "role": "assistant", "content": text}]
    return {"object": "conversation.response", "conversation_id": id_, "outputs": outputs}


def whole_chat(id_, text):
    call = {"id": f"call_{id_}", "type": "function", "function": {"name": text, "arguments": "{}"}}
    message = {"role": "assistant", "content": text, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return {"id": id_, "object": "chat.completion", "model": "m", "choices": [choice]}


def whole_response(id_, text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    item = {"id": f"msg_{id_}", "type": "message", "role": "assistant", "status": "completed", "content": content}
    return {"id": id_, "object": "response", "status": "completed", "model": "m", "output": [item]}


WHOLE = [
    whole_claude, whole_interaction, whole_converse, whole_cohere, whole_mistral, whole_chat, whole_response,
]  # fmt: skip


@pytest.mark.parametrize("whole", WHOLE)
def test_the_last_body_stands_where_a_file_has_one_a_line(whole):
    lines = [
        json.dumps(whole(id_, text)).encode() + b"\n" for id_, text in (("a", "one"), ("b", "two"), ("c", "three"))
    ]
    response = assert_laws(b"".join(lines), lines)
    assert (response.id, response.text) == (None if whole is whole_converse else "c", "three")
    assert (kinds(response), response.truncated) == (["several_messages"], False)
    assert response.to_native() == json.loads(lines[-1])


def whole_ernie(id_, text):
    return {"id": id_, "object": "chat.completion", "created": 1, "result": text, "finish_reason": "normal"}


@pytest.mark.parametrize("whole", [*WHOLE, whole_ernie])
def test_nothing_that_a_body_says_beside_the_message_is_said_by_the_next_one(whole):
    """Each is the answer to a request of its own: the cached tokens of one must not be billed with the other."""
    usage = {"prompt_tokens": 7, "input_tokens": 7, "inputTokens": 7, "cache_read_input_tokens": 5}
    beside = {"usage": usage, "service_tier": "flex", "error": {"type": "server_error", "message": "Oh"}}
    first, second = {**whole("a", "one"), **beside}, whole("b", "two")
    lines = [json.dumps(body).encode() + b"\n" for body in (first, second)]
    response = assert_laws(b"".join(lines), lines)
    assert (response.text, response.usage, response.error) == ("two", None, None)
    assert response.to_native() == second


def test_a_response_that_is_asked_for_until_it_is_over_is_one():
    begun = {"id": "a", "object": "response", "status": "in_progress", "model": "m", "output": []}
    lines = [json.dumps(body).encode() + b"\n" for body in (begun, begun, whole_response("a", "one"))]
    response = assert_laws(b"".join(lines), lines)
    assert (response.text, response.diagnostics) == ("one", ())
    assert response.to_native() == whole_response("a", "one")


def test_a_choice_that_only_the_body_before_had_is_gone():
    first = whole_chat("a", "one")
    first["choices"] += [{**first["choices"][0], "index": 1}]
    lines = [json.dumps(body).encode() + b"\n" for body in (first, whole_chat("b", "two"))]
    response = assert_laws(b"".join(lines), lines)
    assert (len(response.choices), response.truncated) == (1, False)


@pytest.mark.parametrize(("stream", "whole"), [(claude, whole_claude), (cohere, whole_cohere)])
def test_a_body_behind_its_own_pieces_is_no_other_message(stream, whole):
    body = stream("a", "one") + sse(whole("a", "one"))
    response = chunkfold.fold(body)
    assert (response.id, response.text, kinds(response)) == ("a", "one", [])


CLAUDE = {"id": "a", "type": "message", "content": [{"type": "text", "text": "A"}], "stop_reason": "end_turn"}
RUN = {"threadId": "t", "runId": "a", "messages": [{"id": "m", "role": "assistant", "content": "A"}]}
VERCEL = {"id": "a", "role": "assistant", "parts": [{"type": "text", "text": "A"}]}


def test_nothing_of_a_body_is_of_the_next_one():
    """Usage of another request would be billed to this one."""
    usage = {"input_tokens": 3, "output_tokens": 4}
    first = {**CLAUDE, "container": {"id": "k"}, "usage": {**usage, "cache_read_input_tokens": 5}}
    last = {**CLAUDE, "id": "b", "stop_sequence": None, "usage": usage}
    lines = [json.dumps(body).encode() + b"\n" for body in (first, first, last)]
    response = assert_laws(b"".join(lines), lines)
    assert (response.usage.input_tokens, kinds(response)) == (3, ["several_messages"])
    assert response.to_native() == last


@pytest.mark.parametrize("whole", [whole_claude, whole_converse, whole_chat])
def test_the_next_body_of_bedrock_is_in_the_same_words(whole):
    lines = [json.dumps(whole(id_, id_)).encode() + b"\n" for id_ in "abc"]
    response = assert_laws(b"".join(lines), lines, dialect="bedrock-invoke")
    assert (response.text, response.to_native()) == ("c", json.loads(lines[-1]))


@pytest.mark.parametrize("body", [CLAUDE, RUN, VERCEL], ids=["anthropic", "ag-ui", "vercel"])
def test_whole_bodies_one_behind_the_other_are_told_of(body):
    """Lines of a log or of a batch: what is one response here, nobody has sent as one."""
    one = json.dumps(body).encode() + b"\n"
    assert not chunkfold.fold(one).diagnostics
    response = assert_laws(one * 3, [one, one, one])
    assert {note.kind for note in response.diagnostics} == {"several_messages"}


@pytest.mark.parametrize("whole", WHOLE)
def test_a_note_before_a_body_is_none(whole):
    """A gateway's, which is carried as the one behind it is."""
    body, note = json.dumps(whole("a", "A")).encode() + b"\n", b'{"note":"x"}\n'
    for lines in ([note, body], [body, note]):
        response = assert_laws(b"".join(lines), lines)
        notes = [part for part in response.parts if part.kind == "unknown"]
        assert (response.text, [part.payload for part in notes]) == ("A", [{"note": "x"}])
        assert "several_messages" not in kinds(response)


def gemini_payload(id_, text):
    candidate = {"content": {"parts": [{"text": text}], "role": "model"}, "finishReason": "STOP", "index": 0}
    return {"candidates": [candidate], "modelVersion": "m", "responseId": id_}


def ollama_line(id_, text):
    message = {"role": "assistant", "content": text}
    return {"model": "m", "created_at": id_, "message": message, "done": True, "done_reason": "stop"}


def test_calls_behind_the_end_are_of_another_message():
    message = {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}
    line = json.dumps({**ollama_line("a", ""), "message": message}).encode() + b"\n"
    response = chunkfold.fold(line * 2)
    assert (len(response.tool_calls), kinds(response)) == (2, ["several_messages"])


@pytest.mark.parametrize("whole", [gemini_payload, ollama_line])
def test_what_has_no_start_is_told_of_by_what_comes_behind_its_end(whole):
    """The payloads of a stream look the same as those of another: nothing is taken back, but it is said."""
    lines = [json.dumps(whole(id_, text)).encode() + b"\n" for id_, text in (("a", "one"), ("b", "two"))]
    response = assert_laws(b"".join(lines), lines)
    assert (response.text, kinds(response)) == ("onetwo", ["several_messages"])
    assert not chunkfold.fold(lines[0]).diagnostics


def test_a_last_object_that_comes_twice_is_no_other_message():
    first = json.dumps({**ollama_line("a", "one"), "done": False}).encode() + b"\n"
    last = json.dumps(ollama_line("b", "")).encode() + b"\n"
    assert not chunkfold.fold(first + last * 2).diagnostics
    usage = json.dumps({**gemini_payload("b", ""), "candidates": [], "usageMetadata": {"promptTokenCount": 1}}).encode()
    assert not chunkfold.fold(json.dumps(gemini_payload("a", "one")).encode() + b"\n" + usage).diagnostics


def test_an_id_of_its_own_for_each_payload_parts_nothing():
    """Proxies for Gemini that make them up, up to the last payload, which has the usage."""
    first, second, third, last = (gemini_payload(*said) for said in (("a", "1"), ("b", "2"), ("c", "3"), ("d", "")))
    for payload in (first, second):
        del payload["candidates"][0]["finishReason"]
    response = chunkfold.fold(sse(first, second, third, {**last, "usageMetadata": {"promptTokenCount": 1}}))
    assert (response.text, kinds(response)) == ("123", [])


def test_the_blocks_of_one_message_are_all_kept_where_each_has_a_body_of_its_own():
    """The messages in the lines of Claude Code: of one id, and without a reason until the next one begins."""
    blocks = [{"type": "thinking", "thinking": "Hm", "signature": "s"}, {"type": "text", "text": "A"}]
    blocks += [{"type": "tool_use", "id": f"call_{name}", "name": name, "input": {"n": 1}} for name in "fg"]
    lines = [json.dumps({**CLAUDE, "content": [block], "stop_reason": None}).encode() + b"\n" for block in blocks]
    response = assert_laws(b"".join(lines), lines)
    assert (response.reasoning, response.text, kinds(response)) == ("Hm", "A", [])
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("f", {"n": 1}), ("g", {"n": 1})]
    assert response.to_native()["content"] == blocks
    following = json.dumps({**CLAUDE, "id": "b", "content": [{"type": "text", "text": "B"}]}).encode()
    response = chunkfold.fold(b"".join([*lines, following]))
    assert (response.text, response.tool_calls, kinds(response)) == ("B", (), ["several_messages"])
