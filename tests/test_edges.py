"""Calls that take turns, each known by the bytes around its text: what is before it, or only what is behind it."""

from __future__ import annotations

import json
import random

import pytest

import chunkfold
from chunkfold.likeness import edges
from tests.laws import assert_templates_change_nothing

TEXTS = ["{", '"a"', ":1", "é", "\\", '"}', '"},"index":1}', "漢", " "]


def sse(call, order):
    """One piece of a call, the keys in that order."""
    delta = {"tool_calls": [call]}
    payload = {"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    return b"data: %b\n\n" % json.dumps(order(payload), ensure_ascii=False, separators=(",", ":")).encode()


def as_written(value):
    return value


def by_name(value):
    """As servers in Go write objects."""
    if isinstance(value, dict):
        return {key: by_name(value[key]) for key in sorted(value)}
    return [by_name(item) for item in value] if isinstance(value, list) else value


def calls(count, pieces, order, rng):
    frames = []
    for index in range(count):
        function = {"name": f"f{index}", "arguments": ""}
        frames.append(sse({"index": index, "id": f"call_{index}", "type": "function", "function": function}, order))
    more = [{"index": rng.randrange(count), "function": {"arguments": rng.choice(TEXTS)}} for _ in range(pieces)]
    return frames + [sse(call, order) for call in more]


def disturbed(frames, rng):
    """Some frames with what must not be taken for one more of the same."""
    changes = [
        (b'"arguments":"', b'"arguments":""'),
        (b'"arguments":"', b'"arguments":"\xff'),
        (b'"index":1', b'"index":9'),
        (b'"finish_reason":null', b'"finish_reason":"tool_calls"'),
        (b'"id":"c"', b'"id":"d"'),
        (b"data: ", b": ping\n\ndata: "),
        (b"\n\n", b"\n\ndata: {}\n\n"),
        (b"\n\n", b""),
    ]
    return [frame.replace(*rng.choice(changes)) if rng.random() < 0.02 else frame for frame in frames]


@pytest.mark.parametrize("order", [as_written, by_name])
@pytest.mark.parametrize("seed", range(3))
def test_turns_change_nothing(order, seed):
    rng = random.Random(seed)
    frames = calls(2 + seed * 5, 500, order, rng)
    assert_templates_change_nothing(frames, "openai-chat")
    assert_templates_change_nothing(disturbed(frames, rng), "openai-chat")
    policy = chunkfold.Policy(duplicate_start="merge", choices="first")
    assert_templates_change_nothing(disturbed(frames, rng), "openai-chat", policy=policy)


@pytest.mark.parametrize("order", [as_written, by_name])
def test_turns_are_followed(order, monkeypatch):
    taken = []
    follow = edges.Table.follow

    def spy(self, *arguments):
        try:
            return follow(self, *arguments)
        finally:
            taken.append(self.count)

    monkeypatch.setattr(edges.Table, "follow", spy)
    frames = calls(8, 1000, order, random.Random(1))
    response = chunkfold.fold(iter(frames))
    assert sum(taken) > 800
    said = [json.loads(frame[6:])["choices"][0]["delta"]["tool_calls"][0] for frame in frames]
    for index, call in enumerate(response.tool_calls):
        assert call.raw_arguments == "".join(one["function"]["arguments"] for one in said if one["index"] == index)
