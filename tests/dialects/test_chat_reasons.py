"""Reasons of imitators of OpenAI's chat that are more than one word, or all that a choice has."""

from __future__ import annotations

import json

import pytest

from chunkfold import Response
from tests.laws import assert_laws
from tests.streams import sse

TOP = {"id": "c", "created": 7, "model": "gemini-3.6-flash"}
FILTERED = "content_filter: PROHIBITED_CONTENT"


def chunk(**choice):
    return sse({**TOP, "object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]})


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (FILTERED, "content_filter"),
        ("content_filter: OTHER", "content_filter"),
        ("function_call_filter: MALFORMED_FUNCTION_CALL", "error"),
        ("function_call_filter: UNEXPECTED_TOOL_CALL", "error"),
        ("blacklist", "content_filter"),
        ("end", "stop"),
        ("network_error", "error"),
        ("overloaded_error", "error"),
        ("strange: THING", "unknown"),
        (":", "unknown"),
    ],
)
def test_a_reason_of_two_words_is_the_one_that_is_known(word, reason):
    """Gemini's compatible endpoint puts its own word behind one of OpenAI's."""
    frames = [chunk(delta={"role": "assistant", "content": "So"}), chunk(finish_reason=word)]
    response = assert_laws(b"".join(frames), frames)
    assert (response.text, response.finish_reason, response.native_finish_reason) == ("So", reason, word)


@pytest.mark.parametrize(
    ("word", "behind", "reason"),
    [
        ("stop", "network_error", "error"),
        ("stop", "MALFORMED_FUNCTION_CALL", "error"),
        ("tool_calls", "error", "error"),
        ("stop", "MAX_TOKENS", "length"),
        ("stop", "SAFETY", "content_filter"),
        ("stop", "refusal", "refusal"),
        ("stop", "STOP", "stop"),
        ("stop", "completed", "stop"),
        ("stop", "something else", "stop"),
        ("stop", "tool_use", "stop"),
        ("stop", None, "stop"),
        ("length", "error", "length"),
        ("content_filter", "refusal", "content_filter"),
        ("error", "stop", "error"),
    ],
)
@pytest.mark.parametrize("is_whole", [False, True])
def test_a_gateway_does_not_hide_what_the_provider_behind_it_said(word, behind, reason, is_whole):
    """OpenRouter says `stop` also where the provider has failed; what it was told stands beside it."""
    choice = {"index": 0, "finish_reason": word, "native_finish_reason": behind}
    if is_whole:
        body = {**TOP, "object": "chat.completion", "choices": [{**choice, "message": {"content": "So"}}]}
        frames = [json.dumps(body).encode()]
    else:
        frames = [chunk(delta={"content": "So"}), chunk(**choice, delta={"content": ""})]
    response = assert_laws(b"".join(frames), frames)
    assert (response.text, response.finish_reason, response.native_finish_reason) == ("So", reason, word)
    native = response.to_native()["choices"][0]
    assert (native["finish_reason"], native["native_finish_reason"]) == (word, behind)


@pytest.mark.parametrize("where", ["message", "delta"])
def test_litellm_has_what_the_provider_said_among_further_fields(where):
    further = {"native_finish_reason": "MALFORMED_FUNCTION_CALL"}
    choice = {"index": 0, where: {"content": "So"}, "finish_reason": "stop", "provider_specific_fields": further}
    frames = [sse({**TOP, "object": "chat.completion" + (".chunk" if where == "delta" else ""), "choices": [choice]})]
    response = assert_laws(b"".join(frames), frames)
    assert (response.text, response.finish_reason, response.native_finish_reason) == ("So", "error", "stop")
    assert response.to_native()["choices"][0]["provider_specific_fields"] == further


def test_completions_do_not_hide_it_either():
    choice = {"index": 0, "text": "So", "finish_reason": "stop", "native_finish_reason": "network_error"}
    frames = [sse({"id": "c", "object": "text_completion", "choices": [choice]})]
    response = assert_laws(b"".join(frames), frames)
    assert (response.text, response.finish_reason, response.native_finish_reason) == ("So", "error", "stop")


@pytest.mark.parametrize("object_", [{}, {"object": "chat.completion"}])
def test_a_body_that_says_only_why_it_ended_is_of_chat(object_):
    body = {**TOP, **object_, "choices": [{"finish_reason": FILTERED, "index": 0}], "usage": {"prompt_tokens": 5}}
    frames = [json.dumps(body).encode()]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.finish_reason, response.parts) == ("openai-chat", "content_filter", ())
    assert response.usage.input_tokens == 5
    assert response.error is None


def test_a_whole_body_without_a_message_comes_back_without_one():
    choices = [
        {"finish_reason": FILTERED, "index": 0},
        {"finish_reason": "stop", "index": 1, "message": {"content": "So"}},
    ]
    for body in (
        {**TOP, "object": "chat.completion", "choices": choices[:1]},
        {**TOP, "object": "chat.completion", "choices": choices},
    ):
        assert Response.from_native(body).to_native() == body
