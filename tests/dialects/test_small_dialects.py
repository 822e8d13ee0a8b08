"""What few servers of the smaller dialects send: Hugging Face, Cloudflare, old llama.cpp, gateways before Ollama."""

from __future__ import annotations

import json

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
