"""Citations of `openai-chat` that stand in odd places."""

from __future__ import annotations

import json

import pytest

import chunkfold
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def chunk(delta, **choice):
    choice = {"index": 0, "delta": delta, "finish_reason": None, **choice}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def cited(text):
    return {"type": "char_location", "cited_text": text, "document_index": 0}


def address(url):
    return {"type": "url_citation", "url_citation": {"url": url, "title": "T", "start_index": 0, "end_index": 1}}


FINISH = chunk({}, finish_reason="stop")


def test_litellm_tells_each_citation_in_a_delta_of_its_own():
    """BerriAI/litellm#9103: the later one stood over the earlier one."""
    frames = [
        chunk({"content": "Low", "provider_specific_fields": None}),
        chunk({"content": "", "provider_specific_fields": {"citation": cited("a")}}),
        chunk({"content": " today", "provider_specific_fields": {"web_search_results": [{"url": "u"}]}}),
        chunk({"content": "", "provider_specific_fields": {"citation": cited("b")}}),
        FINISH,
    ]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert response.text == "Low today"
    assert response.annotations == (cited("a"), cited("b"))
    message = response.to_native()["choices"][0]["message"]
    assert message["annotations"] == [cited("a"), cited("b")]
    assert message["provider_specific_fields"] == {"web_search_results": [{"url": "u"}]}
    assert_templates_change_nothing(frames, "openai-chat")


def test_annotations_may_stand_beside_the_delta():
    """BerriAI/litellm#23662, of some of OpenRouter's providers."""
    frames = [
        chunk({"content": "Low"}, annotations=[address("u")]),
        chunk({"content": " today"}, annotations=[address("u"), address("v")]),
        FINISH,
    ]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert response.annotations == (address("u"), address("v"))
    assert response.to_native()["choices"][0]["message"]["annotations"] == [address("u"), address("v")]


@pytest.mark.parametrize(
    ("message", "choice", "count"),
    [
        ({"provider_specific_fields": {"citations": [[cited("a"), cited("b")], [cited("c")]]}}, {}, 3),
        ({"provider_specific_fields": {"citations": None, "thinking_blocks": None}}, {}, 0),
        ({"provider_specific_fields": None}, {}, 0),
        ({"provider_specific_fields": "x"}, {}, 0),
        ({}, {"annotations": [address("u")]}, 1),
        ({}, {"annotations": []}, 0),
    ],
)
def test_a_whole_body_keeps_them_where_they_are(message, choice, count):
    body = {
        "id": "c",
        "object": "chat.completion",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "x", **message}, "finish_reason": "stop", **choice}
        ],
    }
    response = chunkfold.fold(json.dumps(body).encode())
    assert len(response.annotations) == count
    assert response.to_native() == body
