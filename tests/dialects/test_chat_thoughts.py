"""Thoughts of Gemini's compatible endpoint: flagged beside the content, and between tags in it."""

from __future__ import annotations

import json

import pytest

import chunkfold
from chunkfold import Response
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse

FLAG = {"google": {"thought": True}}


def chunk(content=None, *, thought=False, reason=None, **delta):
    said = {} if content is None else {"content": content}
    flag = {"extra_content": FLAG} if thought else {}
    choice = {"delta": {**said, **flag, "role": "assistant", **delta}, "index": 0, "finish_reason": reason}
    return sse({"choices": [choice], "created": 7, "id": "c", "model": "m", "object": "chat.completion.chunk"})


def folded(*frames):
    assert_templates_change_nothing([*frames])
    response = assert_laws(b"".join(frames), [*frames])
    saved = chunkfold.Folder.restore(_saved(frames[:2]))
    for frame in frames[2:]:
        saved.feed(frame)
    assert saved.close() == response
    return response


def _saved(frames):
    folder = chunkfold.Folder()
    for frame in frames:
        folder.feed(frame)
    return folder.save()


THOUGHT = [chunk("<thought>**Plan**\n", thought=True), chunk(" Look it", thought=True), chunk(" up.", thought=True)]
END = chunk(reason="stop")


@pytest.mark.parametrize(
    ("frames", "kinds", "content"),
    [
        (
            [*THOUGHT, chunk("</thought>It"), chunk(" is"), chunk("."), END],
            [("reasoning", "**Plan**\n Look it up."), ("text", "It is.")],
            "<thought>**Plan**\n Look it up.</thought>It is.",
        ),
        # Vertex
        (
            [chunk("<think>\nplan", thought=True), chunk(" it", thought=True), chunk("</think>It is."), END],
            [("reasoning", "\nplan it"), ("text", "It is.")],
            "<think>\nplan it</think>It is.",
        ),
        # All in one piece.
        (
            [chunk("<thought>Hm.</thought>It is.", thought=True), END],
            [("reasoning", "Hm."), ("text", "It is.")],
            "<thought>Hm.</thought>It is.",
        ),
        # Twice, with text before each.
        (
            [chunk("So"), chunk(": "), *THOUGHT, chunk("</thought>It"), chunk(" is."), *THOUGHT, chunk("</thought>Yes"), END],
            [("text", "So: "), ("reasoning", "**Plan**\n Look it up."), ("text", "It is."),
             ("reasoning", "**Plan**\n Look it up."), ("text", "Yes")],
            "So: <thought>**Plan**\n Look it up.</thought>It is.<thought>**Plan**\n Look it up.</thought>Yes",
        ),
        # Cut.
        (THOUGHT, [("reasoning", "**Plan**\n Look it up.")], "<thought>**Plan**\n Look it up."),
        ([chunk("<thought>", thought=True), chunk("</thought>It"), END], [("reasoning", ""), ("text", "It")], "<thought></thought>It"),
    ],
)  # fmt: skip
def test_what_is_flagged_is_reasoning_and_the_tags_are_neither(frames, kinds, content):
    response = folded(*frames)
    assert [(part.kind, part.text) for part in response.parts] == kinds
    message = response.to_native()["choices"][0]["message"]
    assert (message["content"], message["extra_content"]) == (content, FLAG)
    assert response.message.to_request("openai-chat")["content"] == content


def test_tags_may_be_split_besides():
    frames = [chunk("<think>plan", thought=True), chunk("</think>It <think>hm</think>is."), END]
    response = chunkfold.fold(b"".join(frames), split_think_tags=True)
    assert (response.reasoning, response.text) == ("planhm", "It is.")


def test_a_call_may_follow():
    made = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    for closing in ([], [chunk("</thought>")]):
        response = folded(*THOUGHT, *closing, chunk(tool_calls=[made]), END)
        assert [part.kind for part in response.parts] == ["reasoning", "tool_call"]
        assert response.text == ""


def test_a_flag_or_a_tag_alone_makes_no_thought():
    response = folded(chunk("<thought>Hm."), chunk("</thought>It is."), END)
    assert response.text == "<thought>Hm.</thought>It is."
    assert folded(chunk("It", thought=True), chunk(" is.", thought=True), END).text == "It is."


@pytest.mark.parametrize("content", ["<thought>Hm.</thought>It is.", "<think>Hm.</think>", "It is.", "<thought>Hm."])
def test_a_whole_body_comes_back_as_it_was(content):
    message = {"content": content, "extra_content": FLAG, "role": "assistant"}
    body = {"object": "chat.completion", "choices": [{"finish_reason": "stop", "index": 0, "message": message}]}
    response = chunkfold.fold(json.dumps(body).encode())
    assert response.to_native() == Response.from_native(body).to_native() == body
    if content.startswith("<"):
        assert (response.reasoning, response.text) == ("Hm.", content.partition("</thought>")[2])


def test_a_thought_may_begin_behind_text_that_has_the_flag_alone():
    said = [chunk(text, thought=True) for text in ("It", " is", " so", ": ")]
    response = folded(*said, *THOUGHT, chunk("</thought>Yes"), END)
    assert [part.kind for part in response.parts] == ["text", "reasoning", "text"]
    assert response.text == "It is so: Yes"


@pytest.mark.parametrize(("model", "thought"), [("openai.gpt-oss-20b-1:0", "Is it? It is."), ("gpt-oss-20b", "")])
def test_bedrock_has_tags_of_another_name_around_what_its_open_model_thinks(model, thought):
    """Each piece between its own, as recorded. Elsewhere such tags are text: prompts ask for them."""
    said = ["<reasoning>Is it?</reasoning>", "<reasoning> It is.</reas", "oning>", "Yes, <think>", "</think>."]
    fields = {"created": 7, "id": "c", "model": model, "object": "chat.completion.chunk"}
    frames = [sse({**fields, "choices": [{"delta": {"content": text}, "index": 0}]}) for text in said]
    assert chunkfold.fold(b"".join(frames)).text == "".join(said)
    response = assert_laws(b"".join(frames), frames, split_think_tags=True)
    assert response.reasoning == thought
    if thought:
        assert [part.kind for part in response.parts] == ["reasoning", "text"]
        assert response.text == "Yes, <think></think>."
