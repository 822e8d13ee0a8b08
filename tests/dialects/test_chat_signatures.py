"""Signatures of reasoning in chat: of thinking that is withheld, and where an item of the content has them."""

from __future__ import annotations

import pytest

from chunkfold import Response
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def chunk(delta, reason=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def folded(*deltas):
    frames = [*map(chunk, deltas), chunk({}, "stop")]
    assert_templates_change_nothing(frames)
    return assert_laws(b"".join(frames), frames)


def signatures(response):
    return [(part.text, part.signature) for part in response.parts if part.kind == "reasoning"]


def block(thinking="", **rest):
    return {"type": "thinking", "thinking": thinking, **rest}


def blocks(*said):
    return {"reasoning_content": "", "thinking_blocks": list(said)}


def test_thinking_that_is_withheld_has_a_signature_each():
    """Claude does not show its thinking unless asked to, and LiteLLM tells the signatures, which are wanted back."""
    response = folded(
        blocks(block()), blocks(block(signature="S1")), {"content": "So."},
        blocks(block()), blocks(block(signature="S2")), {"content": " It is."},
    )  # fmt: skip
    assert signatures(response) == [("", "S1"), ("", "S2")]
    message = response.to_native()["choices"][0]["message"]
    assert message["thinking_blocks"] == [block(signature="S1"), block(signature="S2")]
    assert response.message.to_request("openai-chat")["thinking_blocks"] == message["thinking_blocks"]


def test_withheld_thinking_behind_thinking_that_is_shown_is_thinking_of_its_own():
    response = folded(
        blocks(block("Hm")), blocks(block(signature="S1")), blocks(block(signature="S2")), {"content": "So."}
    )
    assert signatures(response) == [("Hm", "S1"), ("", "S2")]


@pytest.mark.parametrize(
    ("name", "wrap"),
    [
        ("content", lambda index, said: {"content": [{"type": "thinking", "thinking": "", **said}]}),
        ("content_blocks", lambda index, said: {"content_blocks": [{"index": index, "delta": said}]}),
    ],
)
def test_a_signature_is_the_end_of_what_it_signs(name, wrap):
    said = [wrap(place // 2, piece) for place, piece in enumerate(
        [{"thinking": "Hm"}, {"signature": "S1"}, {"thinking": "Well"}, {"signature": "S2"}]
    )]  # fmt: skip
    response = folded(*said)
    assert signatures(response) == [("Hm", "S1"), ("Well", "S2")]
    message = response.to_native()["choices"][0]["message"]
    assert message[name] == [block("Hm", signature="S1"), block("Well", signature="S2")]


def test_a_signature_that_comes_again_is_the_same():
    response = folded(blocks(block("Hm")), blocks(block(signature="S1")), blocks(block(signature="S1")))
    assert signatures(response) == [("Hm", "S1")]


def test_a_block_with_nothing_but_a_signature_is_that_of_the_text_before_it():
    response = folded({"reasoning_content": "Hm"}, {"thinking_blocks": [block(signature="S1")]}, {"content": "So."})
    assert signatures(response) == [("Hm", "S1")]
    message = {"role": "assistant", "content": "So.", "reasoning_content": "Hm"}
    assert response.message.to_request("openai-chat") == {**message, "thinking_blocks": [block("Hm", signature="S1")]}


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ([{"text": "Hm"}, {"text": "."}, {"signature": "S1"}], {"text": "Hm.", "signature": "S1"}),
        ([{"text": "Hm.", "signature": "S1"}], {"text": "Hm.", "signature": "S1"}),
        (["Hm.", {"signature": "S1"}], {"text": "Hm.", "signature": "S1"}),
        ([{"signature": "S1"}], {"text": "", "signature": "S1"}),
    ],
)
def test_reasoning_that_is_an_object_may_have_its_signature_in_it(said, made):
    """Envoy AI Gateway had it so, before it took the blocks of LiteLLM."""
    response = folded(*({"reasoning_content": piece} for piece in said), {"content": "So."})
    assert signatures(response) == [(made["text"], "S1")]
    assert response.to_native()["choices"][0]["message"]["reasoning_content"] == made
    assert response.message.to_request("openai-chat")["reasoning_content"] == made


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ([{"text": "Hm"}, {"redactedContent": "QUJD"}], {"text": "Hm", "redactedContent": "QUJD"}),
        (
            [{"text": "Hm"}, {"signature": "S1"}, {"redactedContent": "QUJD"}],
            {"text": "Hm", "signature": "S1", "redactedContent": "QUJD"},
        ),
    ],
)
def test_reasoning_that_is_an_object_keeps_what_comes_without_a_text(said, made):
    """Envoy AI Gateway, where thinking is withheld."""
    response = folded(*({"reasoning_content": piece} for piece in said), {"content": "So."})
    assert (response.text, response.reasoning) == ("So.", made["text"])
    assert response.to_native()["choices"][0]["message"]["reasoning_content"] == made
    assert response.message.to_request("openai-chat")["reasoning_content"] == made


def test_an_object_without_a_text_is_no_reasoning():
    """What was asked for, say."""
    response = folded({"reasoning": {"effort": "low", "summary": None}}, {"content": "So."})
    assert [part.kind for part in response.parts] == ["text"]
    assert response.to_native()["choices"][0]["message"]["reasoning"] == {"effort": "low", "summary": None}
    assert "reasoning" not in response.message.to_request("openai-chat")


def test_reasoning_that_is_an_object_keeps_the_name_of_its_text():
    """Claude Code Router."""
    response = folded({"thinking": {"content": "Hm."}}, {"thinking": {"signature": "S1"}}, {"content": "So."})
    assert signatures(response) == [("Hm.", "S1")]
    assert response.to_native()["choices"][0]["message"]["thinking"] == {"content": "Hm.", "signature": "S1"}


def test_a_signature_of_an_item_may_be_that_of_text_that_is_none():
    for items in ([block([], signature="S1")], [block([THOUGHT], signature="S1")]):
        response = folded({"reasoning": "Hm"}, {"content": items}, {"content": "So."})
        assert [signature for _, signature in signatures(response)] == ["S1"]
        assert response.to_native()["choices"][0]["message"]["content"] == "So."


THOUGHT = {"type": "text", "text": "Hm"}
TEXT = {"type": "text", "text": "So."}


@pytest.mark.parametrize(
    ("items", "made"),
    [
        # Mistral
        ([block([THOUGHT]), block([], signature="S")], block([THOUGHT], signature="S")),
        ([block([THOUGHT], signature="S")], block([THOUGHT], signature="S")),
        ([block([], signature="S")], block([], signature="S")),
        ([block("Hm"), block("", signature="S")], block("Hm", signature="S")),
        # Databricks
        (
            [{"type": "reasoning", "summary": [{"type": "summary_text", **said}]}
             for said in ({"text": "Hm"}, {"text": "", "signature": "S"})],
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm", "signature": "S"}]},
        ),
    ],
)  # fmt: skip
def test_a_signature_stays_where_the_server_has_it(items, made):
    response = folded(*({"content": [item]} for item in items), {"content": [TEXT]})
    assert [signature for _, signature in signatures(response)] == ["S"]
    assert response.to_native()["choices"][0]["message"]["content"] == [made, TEXT]
    assert response.message.to_request("openai-chat")["content"] == [made, TEXT]


@pytest.mark.parametrize(
    "item",
    [
        block([THOUGHT], signature="S", closed=True),
        block([THOUGHT, THOUGHT], signature="S"),
        block([], signature="S"),
        block("Hm", signature="S"),
        block("", signature="S"),
        block([], signature=""),
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm", "signature": "S"}]},
    ],
)
def test_a_whole_body_comes_back_as_it_was(item):
    message = {"role": "assistant", "content": [item, TEXT]}
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    assert Response.from_native(body).to_native() == body
