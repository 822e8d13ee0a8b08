"""A reason for the end that is no word is nobody's reason, but the body has it where it stood."""

from __future__ import annotations

import json

import pytest

from chunkfold import Response, fold
from tests.native.forms import different

HERE = "the reason"
BODIES = {
    "openai-chat": {"choices": [{"index": 0, "message": {"content": "a"}, "finish_reason": HERE}]},
    "openai-completions": {"object": "text_completion", "choices": [{"index": 0, "text": "a", "finish_reason": HERE}]},
    "openai-responses": {"id": "r", "object": "response", "status": HERE, "output": []},
    "anthropic-messages": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "a"}], "stop_reason": HERE},
    "gemini": {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": HERE}]},
    "gemini-interactions": {"id": "v", "object": "interaction", "status": HERE, "steps": []},
    "bedrock-converse": {"output": {"message": {"role": "assistant", "content": [{"text": "a"}]}}, "stopReason": HERE},
    "bedrock-invoke": [
        {"generation": "a", "prompt_token_count": 1, "generation_token_count": 1, "stop_reason": HERE},
        {"outputs": [{"text": "a", "stop_reason": HERE}]},
        {"inputTextTokenCount": 1, "results": [{"tokenCount": 1, "outputText": "a", "completionReason": HERE}]},
        {"completion": "a", "stop_reason": HERE, "type": "completion"},
    ],
    "cohere-v2": {"id": "a", "message": {"role": "assistant", "content": [{"type": "text", "text": "a"}]}, "finish_reason": HERE},
    "cohere-v1": [
        {"generation_id": "g", "text": "a", "finish_reason": HERE},
        {"id": "n", "prompt": "p", "generations": [{"id": "n1", "text": "a", "finish_reason": HERE}]},
    ],
    "mistral-conversations": {"object": "conversation.response", "conversation_id": "c", "outputs": [], "status": HERE},
    "ollama": {"model": "m", "created_at": "t", "message": {"role": "assistant", "content": "a"}, "done": True, "done_reason": HERE},
    "tgi": {"generated_text": "a", "details": {"finish_reason": HERE, "generated_tokens": 1, "tokens": []}},
    "watsonx": {"model_id": "m", "results": [{"generated_text": "a", "stop_reason": HERE}]},
    "dashscope": {"request_id": "r", "output": {"text": "a", "finish_reason": HERE}},
}  # fmt: skip
ALL = [(name, body) for name, bodies in BODIES.items() for body in (bodies if isinstance(bodies, list) else [bodies])]
# The last event of a stream that has the reason, and where the whole body has it.
STREAMS = {
    "openai-completions": ({"object": "text_completion", "choices": [{"index": 0, "text": "a", "finish_reason": HERE}]}, ("choices", 0, "finish_reason")),
    "anthropic-messages": ({"type": "message_delta", "delta": {"stop_reason": HERE}}, ("stop_reason",)),
    "cohere-v1": ({"event_type": "stream-end", "response": {"generation_id": "g", "text": "a", "finish_reason": HERE}}, ("finish_reason",)),
    "bedrock-invoke": ({"generation": "a", "prompt_token_count": 1, "generation_token_count": 1, "stop_reason": HERE}, ("stop_reason",)),
}  # fmt: skip
REASONS = [{"any": [1]}, 7, True, ["x"], 1.5, "null"]


def with_reason(body, reason):
    return json.loads(json.dumps(body).replace(json.dumps(HERE), json.dumps(reason)))


@pytest.mark.parametrize("reason", REASONS, ids=repr)
@pytest.mark.parametrize(("dialect", "body"), ALL, ids=[f"{name}-{at}" for at, (name, _) in enumerate(ALL)])
def test_a_whole_body_keeps_it(dialect, body, reason):
    body = with_reason(body, reason)
    assert different(body, Response.from_native(body, dialect).to_native()) == []


# What has other fields that say that it is over.
OVER_ANYWAY = ("openai-responses", "mistral-conversations", "ollama")


@pytest.mark.parametrize(("dialect", "body"), [one for one in ALL if one[0] not in OVER_ANYWAY])
def test_a_whole_body_without_one_is_no_whole_answer(dialect, body):
    """No provider sends such: it was made of a stream that was cut, or is one of several of one message."""
    told = Response.from_native(with_reason(body, "stop"), dialect)
    assert (told.ended, told.truncated) == ("clean", False)
    cut = Response.from_native(with_reason(body, None), dialect)
    assert (cut.ended, cut.truncated) == ("eof", True)


def test_a_body_of_coheres_first_api_is_over_where_it_says_what_it_cost():
    """Old ones have no reason."""
    body = {"response_id": "r", "text": "a", "generation_id": "g", "meta": {"api_version": {"version": "1"}}}
    assert Response.from_native(body, "cohere-v1").ended == "clean"


@pytest.mark.parametrize("reason", REASONS, ids=repr)
@pytest.mark.parametrize("dialect", STREAMS)
def test_a_stream_keeps_it(dialect, reason):
    event, path = STREAMS[dialect]
    response = fold([with_reason(event, reason)], dialect)
    found = response.to_native()
    for step in path:
        found = found[step]
    assert found == reason
    assert response.native_finish_reason is None


def test_a_conversation_without_any_entry_has_an_empty_list_of_them():
    body = {"object": "conversation.response", "conversation_id": "c", "outputs": []}
    assert Response.from_native(body).to_native() == body
