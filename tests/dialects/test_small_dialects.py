"""What few servers of the smaller dialects send: Hugging Face, Cloudflare, old llama.cpp, gateways before Ollama."""

from __future__ import annotations

import json
import time

import pytest

import chunkfold
from tests.laws import assert_laws
from tests.streams import sse


def test_an_error_of_hugging_face_keeps_what_stands_beside_it():
    error = {"error": "Model owl is currently loading", "error_type": "loading", "warnings": ["cold"]}
    frame = sse(error)
    assert assert_laws(frame, [frame], "tgi").to_native() == error


def test_cloudflare_sends_the_pieces_of_ollama_without_saying_whether_they_are_the_last():
    frames = [sse({"response": "Low ", "p": "ab"}), sse({"response": "tide."}), b"data: [DONE]\n\n"]
    response = assert_laws(b"".join(frames), frames, "ollama")
    assert (response.text, response.ended) == ("Low tide.", "clean")


def test_the_arguments_of_a_flat_call_keep_their_exact_text():
    line = b'{"model":"m","message":{"tool_calls":[{"name":"f","arguments":{"n":1.10}}]},"done":true}\n'
    (call,) = assert_laws(line, [line], "ollama").tool_calls
    assert (call.name, call.raw_arguments) == ("f", '{"n":1.10}')


@pytest.mark.parametrize(
    ("flag", "reason"), [("stopped_eos", "stop"), ("stopped_word", "stop"), ("stopped_limit", "length")]
)
def test_llamacpp_of_before_2025_has_a_flag_for_each_reason(flag, reason):
    flags = dict.fromkeys(("stopped_eos", "stopped_limit", "stopped_word"), False)
    frames = [sse({"content": "a", "stop": False}), sse({"content": "", "stop": True, **flags, flag: True})]
    assert assert_laws(b"".join(frames), frames, "openai-completions").finish_reason == reason


MANY = [{"start": at, "end": at + 1} for at in range(8_000)]
CITED = [
    ("openai-chat", {"choices": [{"index": 0, "delta": {"content": "a", "annotations": MANY}}]}),
    ("bedrock-converse", {"output": {"message": {"role": "assistant", "content": [
        {"citationsContent": {"content": [{"text": "a"}], "citations": MANY}},
    ]}}, "stopReason": "end_turn"}),
    ("cohere-v1", {"generation_id": "g", "text": "a", "citations": MANY}),
    ("cohere-v2", {"message": {"content": [{"type": "text", "text": "a"}], "citations": MANY}, "finish_reason": None}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "payload"), CITED, ids=[dialect for dialect, _ in CITED])
def test_many_annotations_at_once_take_time_in_proportion(dialect, payload):
    """Each was compared with all others once."""
    assert len(chunkfold.fold(json.dumps(payload).encode(), dialect).annotations) == len(MANY)


OBJECT = {"a": 1.5}
MANY_CALLS = {
    "bedrock-converse": lambda n: {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": f"t{k}", "name": "f", "input": OBJECT}} for k in range(n)]}}, "stopReason": "tool_use"},
    "gemini": lambda n: {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f", "args": OBJECT}} for _ in range(n)]}, "finishReason": "STOP"}]},
    "ollama": lambda n: {"model": "m", "message": {"tool_calls": [{"function": {"name": "f", "arguments": OBJECT}} for _ in range(n)]}, "done": True},
    "mistral-conversations": lambda n: {"object": "conversation.response", "conversation_id": "c", "outputs": [{"type": "function.call", "tool_call_id": f"t{k}", "name": "f", "arguments": OBJECT} for k in range(n)]},
    "openai-chat": lambda n: {"object": "chat.completion", "choices": [{"message": {"tool_calls": [{"id": f"t{k}", "function": {"name": "f", "arguments": OBJECT}} for k in range(n)]}, "finish_reason": "tool_calls"}]},
}  # fmt: skip
MANY_CITATIONS = {
    "anthropic-messages": lambda n: {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "a", "citations": [{"cited_text": f"{k}"} for k in range(n)]}]},
    "openai-responses": lambda n: {"object": "response", "id": "r", "status": "completed", "output": [{"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": "a", "annotations": [{"url": f"{k}"} for k in range(n)]}]}]},
    "gemini-interactions": lambda n: {"id": "i", "object": "interaction", "status": "completed", "steps": [{"type": "model_output", "content": [{"type": "text", "text": "a", "annotations": [{"url": f"{k}"} for k in range(n)]}]}]},
    "openai-chat": lambda n: {"object": "chat.completion", "choices": [{"message": {"content": [{"type": "text", "text": "a"}, *[{"type": "reference", "reference_ids": [k]} for k in range(n)]]}}]},
}  # fmt: skip


@pytest.mark.parametrize(
    ("dialect", "body", "few"),
    [*((*named, 50) for named in MANY_CALLS.items()), *((*named, 300) for named in MANY_CITATIONS.items())],
    ids=[*MANY_CALLS, *(f"{dialect} cites" for dialect in MANY_CITATIONS)],
)
def test_many_calls_or_citations_in_one_body_take_time_in_proportion(dialect, body, few):
    """The body was opened once for each call, to take the exact text of its arguments; citations were all compared."""

    def seconds(count):
        text = json.dumps(body(count)).encode()
        begun = time.thread_time()
        response = chunkfold.fold(text, dialect)
        assert len(response.tool_calls) + len(response.annotations) == count
        assert response.to_native()
        return time.thread_time() - begun

    seconds(20)
    assert min(seconds(8 * few) for _ in range(2)) < 8 * 3 * min(seconds(few) for _ in range(3))


def test_arguments_that_python_takes_for_equal_keep_their_own_texts():
    calls = b'{"id":"a","function":{"name":"f","arguments":{"x":1.10}}},{"id":"b","function":{"name":"f","arguments":{"x":1.1}}}'
    body = b'{"object":"chat.completion","choices":[{"message":{"tool_calls":[%b]}}]}' % calls
    assert [call.raw_arguments for call in chunkfold.fold(body).tool_calls] == ['{"x":1.10}', '{"x":1.1}']
