"""Snowflake's `inference:complete`, whose deltas list what is in them: calls have no other place there."""

from __future__ import annotations

import json

import pytest

import chunkfold
from chunkfold import Response
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def chunk(delta, **usage):
    return sse({"id": "a95", "model": "claude-sonnet-4", "choices": [{"delta": delta}], "usage": usage})


def text(said):
    return chunk({"type": "text", "content": said, "content_list": [{"type": "text", "text": said}], "text": said})


def call(**said):
    return chunk({"type": "tool_use", **said, "content_list": [said], "text": ""})


USED = {"prompt_tokens": 397, "completion_tokens": 65, "total_tokens": 462}
PARIS = [call(tool_use_id="t1", name="get_weather"), call(input='{"city"'), call(input=':"Paris"}')]
ROME = [call(tool_use_id="t2", name="get_weather"), call(input='{"city":"Rome"}')]
END = [chunk({"type": "text", "content": "", "content_list": [{"type": "text", "text": ""}], "text": ""}, **USED)]


def folded(*frames):
    assert_templates_change_nothing([*frames])
    return assert_laws(b"".join(frames), [*frames])


def use(id_, city):
    return {"type": "tool_use", "tool_use": {"tool_use_id": id_, "name": "get_weather", "input": {"city": city}}}


def test_calls_are_those_of_the_list():
    response = folded(text("Let me"), text(" see."), *PARIS, *ROME, *END)
    assert (response.dialect, response.text) == ("openai-chat", "Let me see.")
    assert [(made.id, made.name, made.arguments) for made in response.tool_calls] == [
        ("t1", "get_weather", {"city": "Paris"}), ("t2", "get_weather", {"city": "Rome"}),
    ]  # fmt: skip
    assert response.usage.input_tokens == 397
    message = response.to_native()["choices"][0]["message"]
    listed = [use("t1", "Paris"), use("t2", "Rome")]
    said = {"type": "text", "text": "Let me see."}
    assert message == {"role": "assistant", "content": "Let me see.", "content_list": [said, *listed]}
    # A request has the text beside the list and not in it.
    request = {"role": "assistant", "content": "Let me see.", "content_list": listed}
    assert response.message.to_request("openai-chat") == request


def test_a_call_may_come_first_and_alone():
    response = folded(*PARIS)
    assert [part.kind for part in response.parts] == ["tool_call"]
    assert response.message.to_request("openai-chat")["content_list"] == [use("t1", "Paris")]
    assert response.message.to_request("anthropic-messages")["content"] == [
        {"type": "tool_use", "id": "t1", "name": "get_weather", "input": {"city": "Paris"}}
    ]


def test_text_alone_is_told_once():
    response = folded(text("Let me"), text(" see."), *END)
    assert [(part.kind, part.text) for part in response.parts] == [("text", "Let me see.")]
    assert response.message.to_request("openai-chat") == {"role": "assistant", "content": "Let me see."}


@pytest.mark.parametrize("said", ["Let me see.", ""])
def test_a_whole_body_comes_back_as_it_was(said):
    listed = [{"type": "text", "text": said}, use("t1", "Paris")]
    body = {"id": "a95", "choices": [{"message": {"content": said, "content_list": listed}}], "usage": USED}
    response = chunkfold.fold(json.dumps(body).encode())
    assert (response.text, response.tool_calls[0].arguments) == (said, {"city": "Paris"})
    assert response.to_native() == Response.from_native(body).to_native() == body


def test_what_else_is_in_the_list_is_carried():
    odd = {"type": "hologram", "depth": 3}
    response = folded(chunk({"type": "text", "content": "Hi", "content_list": [odd], "text": "Hi"}), *END)
    assert (response.text, response.parts[1].payload) == ("Hi", odd)
