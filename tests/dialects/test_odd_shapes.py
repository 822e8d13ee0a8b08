"""Known fields whose values have a shape that nobody sends yet: they are carried, since they may be the answer."""

from __future__ import annotations

import json

import pytest

import chunkfold

ODD = {"zebra": "stripes"}
BODIES = {
    "openai-chat": {"object": "chat.completion.chunk", "choices": "stripes"},
    "openai-completions": {"object": "text_completion", "choices": [{"index": 0, "text": ODD}]},
    "openai-completions reasoning": {
        "object": "text_completion",
        "choices": [{"index": 0, "text": "", "reasoning": ODD}],
    },
    "openai-completions logprobs": {
        "object": "text_completion",
        "choices": [{"index": 0, "text": "a", "logprobs": {"content": ["stripes", 5]}}],
    },
    "cohere-v1": {"event_type": "text-generation", "text": ODD},
    "cohere-v2": {"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": "stripes"}},
    "dashscope": {
        "request_id": "r",
        "output": {"choices": [{"message": {"tool_calls": [{"id": "c", "type": "function", "function": "stripes"}]}}]},
    },
}


@pytest.mark.parametrize("name", BODIES)
def test_what_has_an_odd_shape_is_carried(name):
    body = b"data: " + json.dumps(BODIES[name]).encode() + b"\n\n"
    dialect = name.partition(" ")[0]
    response = chunkfold.fold(body, dialect)
    assert "stripes" in response.to_json()
    assert json.dumps(response.to_native())
    with chunkfold.stream(body, dialect) as stream:
        assert "stripes" in "".join(event.to_json() for event in stream)
    assert stream.response() == response
