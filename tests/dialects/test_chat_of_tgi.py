"""TGI's chat, whose objects say that they are of the other endpoint, and whose calls are no list."""

from __future__ import annotations

import json

import pytest

from chunkfold import Response
from tests.laws import assert_laws
from tests.streams import sse


def chunk(reason=None, **delta):
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "logprobs": None, "finish_reason": reason}
    return sse({"id": "", "object": "text_completion", "created": 7, "model": "m", "choices": [choice]})


def piece(name, arguments):
    return {"index": 0, "id": "", "type": "function", "function": {"name": name, "arguments": arguments}}


def test_chunks_with_a_delta_and_no_text_are_of_chat():
    frames = [chunk(content="Deep"), chunk(content=" sky"), chunk("length", content="")]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.text, response.finish_reason) == ("openai-chat", "Deep sky", "length")
    assert response.to_native()["choices"][0]["message"] == {"role": "assistant", "content": "Deep sky"}


def test_a_call_that_stands_alone_where_a_list_belongs_is_a_call():
    frames = [
        chunk(tool_calls=piece("pay", "")),
        chunk(tool_calls=piece(None, '{"sum":')),
        chunk(tool_calls=piece(None, "10}")),
    ]
    frames.append(chunk("eos_token", content=""))
    response = assert_laws(b"".join(frames), frames)
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("pay", {"sum": 10})]
    assert response.finish_reason == "tool_calls"


@pytest.mark.parametrize("text", ["Hi", None])
def test_a_whole_message_is_of_chat_too(text):
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "eos_token"}
    body = {"id": "", "object": "text_completion", "created": 7, "model": "m", "choices": [choice]}
    frames = [json.dumps(body).encode()]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.text, response.ended) == ("openai-chat", text or "", "clean")
    assert Response.from_native(body).to_native() == body
