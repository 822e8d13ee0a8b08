"""Known fields whose values have a shape that nobody sends yet: they are carried, since they may be the answer."""

from __future__ import annotations

import json

import pytest

import chunkfold

ODD = {"zebra": "stripes"}
BODIES = {
    "openai-chat": {"object": "chat.completion.chunk", "choices": "stripes"},
    "openai-chat delta": {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": ["stripes"]}]},
    "openai-chat message": {"object": "chat.completion", "choices": [{"index": 0, "message": ["stripes"]}]},
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


@pytest.mark.parametrize("delta", ["a", {"message": "a"}])
def test_an_error_beside_a_piece_of_an_odd_shape_is_told(delta):
    body = b"data: " + json.dumps({"type": "content-delta", "delta": delta, "error": "no more"}).encode() + b"\n\n"
    response = chunkfold.fold(body, "cohere-v2")
    assert response.error is not None
    assert (response.error.message, response.finish_reason) == ("no more", "error")


def test_lists_beside_those_of_chat_are_kept_with_the_probabilities_of_completions():
    logprobs = {"content": [{"token": "a", "logprob": -1.0}], "refusal": [{"token": "b", "logprob": -2.0}]}
    choice = {"index": 0, "text": "a", "logprobs": logprobs, "finish_reason": "stop"}
    body = json.dumps({"object": "text_completion", "choices": [choice]}).encode()
    assert chunkfold.fold(body, "openai-completions").to_native()["choices"][0]["logprobs"] == logprobs


@pytest.mark.parametrize("value", [0, False])
def test_a_number_where_a_list_belongs_is_carried(value):
    body = json.dumps({"object": "text_completion", "choices": value, "id": "c"}).encode()
    (part,) = chunkfold.fold(body, "openai-completions").parts
    assert (part.kind, part.payload) == ("unknown", value)


def test_a_number_in_the_place_of_a_completion_keeps_its_digits():
    body = b'data: {"object":"text_completion","choices":[{"index":0,"text":1.10,"finish_reason":"stop"}]}\n\n'
    assert chunkfold.fold(body).text == "1.10"


def test_arguments_that_are_equal_to_python_alone_keep_their_own_text():
    texts = '{"n":1.0}', '{"n":1}', '{"n":true}'
    calls = [
        f'{{"index":{at},"id":"{at}","function":{{"name":"f","arguments":{text}}}}}' for at, text in enumerate(texts)
    ]
    choice = f'{{"index":0,"delta":{{"tool_calls":[{",".join(calls)}]}},"finish_reason":"tool_calls"}}'
    body = f'data: {{"object":"chat.completion.chunk","choices":[{choice}]}}\n\n'.encode()
    assert tuple(call.raw_arguments for call in chunkfold.fold(body).tool_calls) == texts


def thought(thinking):
    return {"type": "message.output.delta", "output_index": 0, "content": {"type": "thinking", "thinking": thinking}}


MESSAGE = {"role": "assistant", "content": "Hi", "citations": 1.5, "annotations": [{"type": "url_citation"}]}
UNFINISHED = {"id": "r", "status": 10, "output": [], "incomplete_details": "stripes"}
STREAMS = {
    "openai-responses": [{"type": "response.incomplete", "response": UNFINISHED}],
    "openai-chat": [{"object": "chat.completion", "choices": [{"index": 0, "message": MESSAGE}]}],
    "mistral-conversations": [thought(0), thought([{"type": "text", "text": "Hm"}])],
}


@pytest.mark.parametrize("dialect", STREAMS)
def test_what_has_an_odd_shape_raises_nothing(dialect):
    body = b"".join(b"data: " + json.dumps(payload).encode() + b"\n\n" for payload in STREAMS[dialect])
    response = chunkfold.fold(body, dialect)
    assert (response.dialect, response.error) == (dialect, None)
    assert json.dumps(response.to_native())
    assert json.dumps(response.message.to_request(dialect))
