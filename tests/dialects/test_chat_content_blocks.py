"""Portkey's `content_blocks`: the blocks of Claude, and of others in its form, beside the text of the answer."""

from __future__ import annotations

import json

import pytest

import chunkfold
from chunkfold import Response
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def chunk(delta, reason=None):
    top = {"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "provider": "anthropic"}
    return sse({**top, "choices": [{"delta": delta, "index": 0, "logprobs": None, "finish_reason": reason}]})


def piece(index, **delta):
    said = {"content": delta["text"]} if "text" in delta else {}
    return chunk({**said, "content_blocks": [{"index": index, "delta": delta}]})


def call(**function):
    return chunk(
        {
            "tool_calls": [
                {"index": 0, "type": "function", "function": function, **({"id": "t"} if "name" in function else {})}
            ]
        }
    )


def folded(*frames):
    frames = [chunk({"content": ""}), *frames, chunk({}, "end_turn")]
    assert_templates_change_nothing(frames)
    return assert_laws(b"".join(frames), frames)


THINKING = {"type": "thinking", "thinking": "Hm. So.", "signature": "S"}
REDACTED = {"type": "redacted_thinking", "data": "D"}
TEXT = {"type": "text", "text": "It is."}
THOUGHT = [
    piece(0, thinking="", signature=""), piece(0, thinking="Hm."), piece(0, thinking=" So."), piece(0, signature="S"),
]  # fmt: skip
SAID = [piece(1, text=""), piece(1, text="It"), piece(1, text=" is.")]


def test_thinking_is_reasoning_and_text_is_told_once():
    response = folded(*THOUGHT, *SAID)
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Hm. So."), ("text", "It is.")]
    assert response.parts[0].signature == "S"
    message = response.to_native()["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "It is.", "content_blocks": [THINKING, TEXT]}
    # Requests take the blocks as the content.
    assert response.message.to_request("openai-chat") == {"role": "assistant", "content": [THINKING, TEXT]}


def test_thinking_around_a_call_and_thinking_that_is_withheld():
    again = [piece(2, thinking="", signature=""), piece(2, signature="S2")]
    response = folded(*THOUGHT, piece(1, data="D"), call(name="f", arguments=""), call(arguments='{"a":1}'), *again)
    kinds = ["reasoning", "reasoning", "tool_call", "reasoning"]
    assert [part.kind for part in response.parts] == kinds
    assert [part.signature for part in response.parts if part.kind == "reasoning"] == ["S", None, "S2"]
    assert response.parts[1].redacted
    assert response.parts[1].encrypted == "D"
    content = response.message.to_request("openai-chat")["content"]
    assert content == [THINKING, REDACTED, {"type": "thinking", "thinking": "", "signature": "S2"}]


def test_what_else_is_in_a_block_is_carried():
    found = {"tool_use_id": "srv", "content": [{"url": "u"}]}
    cited = {"type": "web_search_result_location", "url": "u"}
    response = folded(piece(0, **found), *SAID, piece(1, citation=cited))
    assert [part.payload for part in response.parts if part.kind == "unknown"] == [found]
    assert response.annotations == (cited,)
    assert response.text == "It is."


def test_text_alone_is_the_content_and_one_block():
    response = folded(*SAID)
    message = response.to_native()["choices"][0]["message"]
    assert message == {"role": "assistant", "content": "It is.", "content_blocks": [TEXT]}
    assert response.message.to_request("openai-chat") == {"role": "assistant", "content": "It is."}


@pytest.mark.parametrize(
    "blocks",
    [
        [THINKING, TEXT],
        [THINKING, REDACTED, TEXT],
        [
            {"type": "server_tool_use", "id": "srv", "name": "web_search", "input": {}},
            {**TEXT, "citations": [{"url": "u"}]},
        ],
        [THINKING, {"type": "text", "text": "It"}, {**THINKING, "signature": "S2"}, {"type": "text", "text": " is."}],
        # The answer is what a tool was asked, which is told as a text.
        [],
        [THINKING],
    ],
)
def test_a_whole_body_comes_back_as_it_was(blocks):
    message = {"role": "assistant", "content": "It is.", "content_blocks": blocks}
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    response = chunkfold.fold(json.dumps(body).encode())
    assert response.text == "It is."
    assert response.to_native() == Response.from_native(body).to_native() == body


def test_pieces_of_one_chunk_have_its_text_together():
    """Gemini's parts, of which a chunk may have several."""
    pieces = [
        {"index": 0, "delta": {"thinking": "Hm."}},
        *({"index": 1, "delta": {"text": text}} for text in ("It", " is.")),
    ]
    response = folded(chunk({"role": "assistant", "content": "It is.", "content_blocks": pieces}))
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "Hm."), ("text", "It is.")]


THOUGHT_OF_GEMINI = {"type": "thinking", "thinking": "Hm."}
CALL = {"id": "t", "type": "function", "function": {"name": "f", "arguments": "{}"}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ({"content_blocks": [THOUGHT_OF_GEMINI], "tool_calls": [CALL]}, ["reasoning", "tool_call"]),
        ({"content": "", "content_blocks": [THINKING], "tool_calls": [CALL]}, ["reasoning", "tool_call"]),
        ({"content_blocks": [IMAGE]}, ["image"]),
    ],
)
def test_a_whole_body_without_text_comes_back_as_it_was(message, kinds):
    """Gemini's has no content then."""
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    body = {"object": "chat.completion", "provider": "google", "choices": [choice]}
    response = chunkfold.fold(json.dumps(body).encode())
    assert [part.kind for part in response.parts] == kinds
    assert response.to_native() == Response.from_native(body).to_native() == body
