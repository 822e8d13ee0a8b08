"""What a later piece of a part says beside its text is carried, as what the first one says."""

from __future__ import annotations

import pytest

import chunkfold
from tests.laws import assert_laws
from tests.streams import sse


def chat(**delta):
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]}


def of_chat(item):
    return chat(content=[item])


def of_dashscope(item):
    message = {"role": "assistant", "content": [item]}
    return {"output": {"choices": [{"message": message, "finish_reason": "null"}]}, "request_id": "r"}


def of_mistral(piece):
    content = {"type": "thinking", "thinking": [piece]}
    return {"type": "message.output.delta", "id": "m", "output_index": 0, "content_index": 0, "content": content}


def of_gemini(content):
    delta = {"type": "thought_summary", "content": content}
    return {"event_type": "step.delta", "index": 0, "delta": delta}


WAYS = {
    "text in a list": ("openai-chat", of_chat, lambda text: {"type": "text", "text": text}),
    "thinking": (
        "openai-chat",
        of_chat,
        lambda text: {"type": "thinking", "thinking": [{"type": "text", "text": text}]},
    ),
    "a text of thinking": (
        "openai-chat",
        lambda piece: of_chat({"type": "thinking", "thinking": [piece]}),
        lambda text: {"type": "text", "text": text},
    ),
    "reasoning": (
        "openai-chat",
        of_chat,
        lambda text: {"type": "reasoning", "summary": [{"type": "summary_text", "text": text}]},
    ),
    "an object of reasoning": ("openai-chat", lambda item: chat(reasoning=item), lambda text: {"text": text}),
    "blocks of LiteLLM": (
        "openai-chat",
        lambda item: chat(thinking_blocks=[item]),
        lambda text: {"type": "thinking", "thinking": text},
    ),
    "DashScope": ("dashscope", of_dashscope, lambda text: {"text": {"b": "ab", "c": "abc"}.get(text, text)}),
    "Mistral's conversations": ("mistral-conversations", of_mistral, lambda text: {"type": "text", "text": text}),
    "Gemini's interactions": ("gemini-interactions", of_gemini, lambda text: {"type": "text", "text": text}),
}


@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("way", WAYS)
def test_what_a_piece_says_beside_its_text_is_carried(way, at):
    """Mistral's thinking says `closed` in its last piece."""
    dialect, payload, piece = WAYS[way]
    pieces = [piece(text) for text in "abc"]
    pieces[at]["closed"] = "at last"
    frames = [sse(payload(item)) for item in pieces]
    response = assert_laws(b"".join(frames), frames, dialect)
    (part,) = response.parts
    assert part.text == "abc"
    assert "at last" in str(response.to_dict())
    assert "at last" in str(response.to_native())


def test_what_is_beside_a_piece_of_arguments_is_carried():
    start = {"event_type": "step.start", "index": 0, "step": {"type": "function_call", "id": "c", "name": "f"}}
    pieces = [{"type": "arguments_delta", "arguments": text} for text in ("{", "}")]
    pieces[1]["closed"] = "at last"
    deltas = [{"event_type": "step.delta", "index": 0, "delta": piece} for piece in pieces]
    frames = [sse(payload) for payload in (start, *deltas)]
    (call,) = assert_laws(b"".join(frames), frames, "gemini-interactions").tool_calls
    assert (call.raw_arguments, call.extra["closed"]) == ("{}", "at last")


def test_what_a_message_says_beside_what_it_tells_again_is_carried():
    """Perplexity's chunks have the message so far next to the delta."""
    call = {"index": 0, "id": "i", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    again = {**call, "caller": {"type": "direct"}, "function": {**call["function"], "title": "F"}}
    pieces = [chat(content="a"), chat(content="b", tool_calls=[call])]
    pieces[0]["choices"][0]["message"] = {"role": "assistant", "content": "a", "mood": "calm"}
    whole = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"content": "ab", "tool_calls": [again]}}],
    }
    frames = [sse(payload) for payload in (*pieces, whole)]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    (told,) = response.tool_calls
    assert (response.text, told.extra["caller"], told.extra["function"]) == ("ab", again["caller"], {"title": "F"})
    assert response.extra["choices"]["0"]["message"]["mood"] == "calm"


def test_what_all_pieces_say_is_told_once():
    pieces = [of_chat({"type": "text", "text": text, "lang": "en"}) for text in "abc"]
    events = list(chunkfold.stream(pieces))
    assert [event.type for event in events if event.type.startswith("part")] == ["part_start", "part_stop"]
    assert chunkfold.fold(pieces).parts[0].extra["lang"] == "en"


def test_fields_of_two_objects_are_not_mixed():
    """Each text has one annotation, and the second has no title."""
    pieces = [{"type": "url", "url": "a", "title": "A"}, {"type": "url", "url": "b"}]
    payloads = [of_chat({"type": "text", "text": "x", "annotations": [piece]}) for piece in pieces]
    (part,) = chunkfold.fold(payloads).parts
    assert part.extra["annotations"] == [pieces[1]]


def test_thinking_whose_first_text_is_empty_has_the_fields_of_its_item():
    texts = [{"type": "text", "text": text} for text in ("", "a")]
    frames = [sse(of_chat({"type": "thinking", "thinking": texts, "closed": True}))]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    (part,) = response.parts
    assert (part.text, part.extra["closed"]) == ("a", True)
    assert response.to_native()["choices"][0]["message"]["content"][0]["closed"] is True
