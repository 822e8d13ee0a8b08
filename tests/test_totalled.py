"""Reads with running totals behind their text: followed without decoding, and never further than they are what they seem."""

from __future__ import annotations

import json
import random

import pytest

import chunkfold
from chunkfold.likeness import totalled
from tests.laws import assert_templates_change_nothing
from tests.test_fast_equals_slow import frames_read_in_full

TEXTS = [" a", "Zoë", "\n", '"', "\\", "1", "漢字", '"}],"role":"model"', " 0"]


def chunk(text, usage, **about):
    candidate = {"content": {"parts": [{"text": text, **about}], "role": "model"}, "index": 0}
    payload = {
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash",
        "responseId": "r7",
    }
    return b"data: %b\r\n\r\n" % json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode()


def totals(number, **more):
    counts = {"promptTokenCount": 20, "candidatesTokenCount": number, "totalTokenCount": 20 + number}
    return {**counts, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 20}], **more}


def answer(count, rng, make_totals=totals, **about):
    frames, number = [], 0
    for _ in range(count):
        number += rng.randrange(1, 9)
        frames.append(chunk(rng.choice(TEXTS), make_totals(number), **about))
    return frames


CHANGES = [
    (b'"candidatesTokenCount":', b'"candidatesTokenCount":0'),
    (b'"candidatesTokenCount":', b'"candidatesTokenCount":-'),
    (b'"totalTokenCount":', b'"totalTokenCount":12345678901234567890'),
    (b'"totalTokenCount"', b'"total2TokenCount"'),
    (b'"promptTokenCount":20', b'"promptTokenCount":'),
    (b'"promptTokenCount":20', b'"promptTokenCount":2.5'),
    (b'"tokenCount":20', b'"tokenCount":20,"cachedContentTokenCount":3'),
    (b"TEXT", b"TE1T"),
    (b"r7", b"r8"),
    (b'"index":0', b'"index":1'),
    (b'"text":"', b'"text":"\xff'),
]


def disturbed(frames, rng):
    """Some frames with what must not be taken for one more of the same; some twice, in one read or in two."""
    out = []
    for frame in frames:
        how = rng.randrange(300)
        if how < len(CHANGES):
            frame = frame.replace(*CHANGES[how])
        elif how == len(CHANGES):
            frame += frame
        elif how == len(CHANGES) + 1:
            out.append(frame)
        out.append(frame)
    return out


@pytest.mark.parametrize("seed", range(4))
def test_totals_change_nothing(seed):
    rng = random.Random(seed)
    frames = answer(1000, rng, **({"thought": True} if seed % 2 else {}))
    assert_templates_change_nothing(frames, "gemini")
    assert_templates_change_nothing(disturbed(frames, rng), "gemini")
    assert_templates_change_nothing(disturbed(frames, rng), "gemini", policy=chunkfold.Policy(usage="max"))


@pytest.mark.parametrize(
    ("more", "other"),
    [
        (b'"kind":"a1"', b'"kind":"a2"'),
        (b'"tokens1":4', b'"tokens2":4'),
        (b'"cached":105', b'"cached":015'),
        (b'"cached":0', b'"cached":1'),
        (b'"note":"\\ud711"', b'"note":"\\ud811"'),
        (b'"share":1e111', b'"share":1e999'),
        (b'"share":0.25', b'"share":0.75'),
        (b'"large":12345678901234567890', b'"large":99999999999999999999'),
        (b'"huge":' + 309 * b"1", b'"huge":' + 309 * b"9"),
        (b'"none":null,"yes":true', b'"none":true,"yes":null'),
    ],
)
def test_totals_that_look_alike(more, other):
    """Of the same length, and alike but for digits; only some may be taken for one another."""
    frames = [frame.replace(b'{"prompt', b"{" + more + b',"prompt') for frame in answer(300, random.Random(3))]
    for at in (150, 151, 200):
        frames[at] = frames[at].replace(more, other)
    assert_templates_change_nothing(frames, "gemini")
    frames[-1] = frames[-1].replace(more, other)
    assert_templates_change_nothing(frames, "gemini")


def test_what_is_between_text_and_totals_is_the_same():
    frames = [frame.replace(b'"index":0', b'"index":1') for frame in answer(300, random.Random(3))]
    assert_templates_change_nothing(frames, "gemini")
    frames[200] = frames[200].replace(b'"index":1', b'"index":2')
    assert_templates_change_nothing(frames, "gemini")


def test_few_frames_are_read_in_full():
    frames = answer(5000, random.Random(1))
    assert frames_read_in_full(frames, "gemini") < 300
    response = chunkfold.fold(iter(frames))
    assert response.usage.raw == json.loads(frames[-1][6:])["usageMetadata"]
    assert response.usage.output_tokens == response.usage.total_tokens - 20


def test_usage_of_chat_completions_in_every_chunk():
    """vLLM's `continuous_usage_stats`."""
    rng = random.Random(2)
    frames = []
    for number in range(1, 600):
        delta = {"index": 0, "delta": {"content": rng.choice(TEXTS)}, "logprobs": None, "finish_reason": None}
        usage = {"prompt_tokens": 12, "total_tokens": 12 + number, "completion_tokens": number}
        payload = {"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [delta]}
        frames.append(b"data: %b\n\n" % json.dumps({**payload, "usage": usage}).encode())
    assert_templates_change_nothing(frames, "openai-chat")
    assert frames_read_in_full(frames, "openai-chat") < 200
    assert chunkfold.fold(iter(frames)).usage.output_tokens == 599


def test_what_varies_otherwise_is_given_up():
    """Keys in another order each time."""
    rng = random.Random(4)
    known = totalled.Totalled()
    for number in range(60):
        usage = list(totals(number + 10).items())
        rng.shuffle(usage)
        data = chunk(" a", dict(usage))[6:-4]
        first, last = data.split(b'" a"')
        known.learn(Shape(), data, first + b"%d" % number, last, None)
    assert known.is_worn
    assert not known.find(chunk(" a", totals(9))[6:-4])


class Shape:
    """All that is asked of a shape."""

    usage_path = ("usageMetadata",)

    def totals(self):
        return totals(10)
