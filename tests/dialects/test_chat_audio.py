"""Sound of `openai-chat`, in the ways that servers cut it."""

from __future__ import annotations

import base64
from itertools import pairwise

import pytest

from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse

SOUND = bytes(range(50))
TEXT = base64.b64encode(SOUND).decode()


def chunk(delta, *, finish=None, **beside):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return sse(
        {"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice], **beside}
    )


def sounds(*texts):
    pieces = [chunk({"audio": {"id": "a"}}), *[chunk({"audio": {"data": text}}) for text in texts]]
    return [*pieces, chunk({}, finish="stop")]


@pytest.mark.parametrize("cuts", [(8, 16), (5, 18), (7, 9), (3,), (1, 2, 3, 4, 5), (66,)])
def test_base64_may_be_cut_anywhere(cuts):
    edges = [0, *cuts, len(TEXT)]
    frames = sounds(*[TEXT[start:end] for start, end in pairwise(edges)])
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    (part,) = response.parts
    assert part.data == SOUND
    assert not response.diagnostics
    assert response.to_native()["choices"][0]["message"]["audio"] == {"id": "a", "data": TEXT}
    assert_templates_change_nothing(frames, "openai-chat")


def test_each_piece_may_have_padding_of_its_own():
    frames = sounds("AQI=", "Aw==", "BAUG")
    (part,) = assert_laws(b"".join(frames), frames, "openai-chat").parts
    assert part.data == b"\1\2\3\4\5\6"


def test_the_padding_of_the_last_piece_may_be_missing():
    frames = sounds(TEXT.rstrip("="))
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert response.parts[0].data == SOUND
    assert not response.diagnostics


def test_what_is_no_base64_is_carried_and_spoils_nothing():
    frames = sounds(TEXT[:6], "?!", TEXT[6:], "A")
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    audio, *unknown = response.parts
    assert audio.data == SOUND
    assert [part.payload for part in unknown] == [{"data": "?!"}, {"data": "A"}]
    assert [note.kind for note in response.diagnostics] == ["bad_base64", "bad_base64"]


def test_a_sound_with_nothing_in_it_is_none():
    blank = {"id": "", "data": "", "transcript": "", "expires_at": 0}
    frames = [chunk({"content": "Low.", "audio": blank}), chunk({}, finish="stop")]
    assert [part.kind for part in assert_laws(b"".join(frames), frames, "openai-chat").parts] == ["text"]


def test_text_may_be_sound_by_the_modality_of_its_chunk():
    """vLLM-Omni: base64 stands where the text stands in the chunks before it."""
    frames = [
        chunk({"role": "assistant", "content": ""}, modality="text"),
        chunk({"content": "Low."}, modality="text"),
        chunk({"content": TEXT}, modality="audio"),
        chunk({"content": TEXT}, modality="audio"),
        chunk({"content": "(no sound)"}, modality="audio"),
        chunk({"content": ""}, modality="audio", finish="stop"),
    ]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert response.text == "Low.(no sound)"
    assert [part.data for part in response.parts if part.kind == "audio"] == [SOUND * 2]
    assert_templates_change_nothing(frames, "openai-chat")
