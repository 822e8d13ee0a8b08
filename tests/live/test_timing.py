"""Times by a clock that the test moves: nothing here looks at a real one."""

from __future__ import annotations

import asyncio
import io
import json
import pickle

import pytest

from chunkfold import astream, stream
from chunkfold.timing import PartTiming, Timing


class Clock:
    """Shows what it was set to."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def payload(delta, **more):
    return b"data: %s\n\n" % json.dumps({"model": "m", "choices": [{"index": 0, "delta": delta}], **more}).encode()


USAGE = {"prompt_tokens": 7, "completion_tokens": 30, "total_tokens": 37}
# Seconds from the opening, and what came then.
SCRIPT = [
    (1.0, b": keep-alive\n\n"),
    (2.0, payload({"role": "assistant", "content": ""})),
    (3.0, payload({"reasoning_content": "hm"})),
    (3.5, payload({"reasoning_content": "mm"})),
    (5.0, payload({"content": "abc"}) + payload({"content": "de"})),
    (6.0, payload({"tool_calls": [{"index": 0, "id": "x", "function": {"name": "f", "arguments": "{}"}}]})),
    (8.0, payload({}, usage=USAGE)),
]


def scripted(clock):
    for second, piece in SCRIPT:
        clock.now = 100.0 + second
        yield piece
    clock.now = 109.0


EXPECTED = Timing(
    first_byte=1.0,
    first_event=1.0,
    first_output=3.0,
    first_output_kind="reasoning",
    last_output=6.0,
    total=9.0,
    outputs=5,
    gap_median=0.75,
    gap_95=1.5,
    gap_longest=1.5,
    characters=11,
    characters_per_second=3.667,
    output_tokens=30,
    tokens_per_second=10.0,
    parts=(
        PartTiming(0, 0, "reasoning", 3.0, 3.5, 2, 4, 8.0),
        PartTiming(0, 1, "text", 5.0, 5.0, 2, 5, None),
        PartTiming(0, 2, "tool_call", 6.0, 6.0, 1, 2, None),
    ),
)


def test_times_of_a_stream():
    clock = Clock()
    with stream(scripted(clock), clock=clock) as events:
        for _ in events:
            pass
        assert events.timing() == EXPECTED


def test_times_of_the_asynchronous_twin():
    clock = Clock()

    async def pieces():
        for piece in scripted(clock):
            yield piece

    async def run():
        async with astream(pieces(), clock=clock) as events:
            async for _ in events:
                pass
            return events.timing()

    assert asyncio.run(run()) == EXPECTED


def test_times_so_far_at_any_time():
    clock = Clock()
    with stream(scripted(clock), clock=clock) as events:
        assert events.timing() == Timing()
        seen = [events.timing() for _ in events]
    assert [timing.outputs for timing in seen] == sorted(timing.outputs for timing in seen)
    assert seen[0] == Timing(first_byte=1.0, first_event=1.0, total=1.0)


def test_without_a_clock_there_are_no_times():
    with stream(b"".join(piece for _, piece in SCRIPT)) as events:
        list(events)
        assert events.timing() is None


def test_a_clock_changes_nothing_else():
    clock = Clock()
    body = [piece for _, piece in SCRIPT]
    with stream(body) as plain, stream(body, clock=clock) as timed:
        assert list(plain) == list(timed)
        assert plain.response() == timed.response()


def test_a_stream_of_nothing():
    with stream(b"", clock=Clock()) as events:
        list(events)
        timing = events.timing()
    assert timing.first_byte is None
    assert timing.first_output is None
    assert timing.outputs == 0
    assert timing.lines() == ["first event 0 ms · total 0 ms", "0 outputs"]


def test_the_body_of_an_error_has_a_first_byte():
    class Refusal(io.BytesIO):
        status, headers = 529, {}

        def read1(self, size=-1):
            clock.now = 102.0
            return super().read1(size)

    clock = Clock()
    with stream(Refusal(b'{"error": {"message": "Overloaded"}}'), clock=clock) as events:
        list(events)
        assert events.response().error.status == 529
        assert events.timing() == Timing(first_byte=2.0, first_event=2.0, total=2.0)


def test_parts_that_were_taken_back_are_not_told():
    clock = Clock()
    start = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}
    other = {**start, "message": {**start["message"], "id": "n"}}
    delta = {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "abc"}}
    body = b"".join(b"data: %s\n\n" % json.dumps(item).encode() for item in (start, delta, other, delta))
    with stream(body, clock=clock) as events:
        list(events)
        timing = events.timing()
    assert timing.outputs == 2
    assert [(part.index, part.outputs) for part in timing.parts] == [(0, 1)]


@pytest.mark.parametrize("value", [EXPECTED, *EXPECTED.parts, Timing()])
def test_times_are_values(value):
    assert type(value).from_json(value.to_json()) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert "\n" not in repr(value)


def test_times_in_words():
    assert EXPECTED.lines() == [
        "first byte 1.00 s · first event 1.00 s · first output (reasoning) 3.00 s · total 9.00 s",
        "5 outputs · gaps: median 750 ms, 95 % 1.50 s, longest 1.50 s · 10 tokens/s · 4 characters/s",
        "part 0 (reasoning): 3.00 s to 3.50 s, 4 characters, 8/s",
        "part 1 (text): 5.00 s to 5.00 s, 5 characters",
        "part 2 (tool_call): 6.00 s to 6.00 s, 2 characters",
    ]


@pytest.mark.parametrize(
    ("kind", "unit"),
    [("image", "bytes"), ("file", "bytes"), ("audio", "bytes and characters"), ("text", "characters")],
)
def test_a_part_is_told_in_the_unit_of_what_came(kind, unit):
    """A sound has bytes and the characters of what is said in it."""
    part = PartTiming(0, 0, kind, 1.0, 2.0, 2, 8, 8.0)
    assert Timing(parts=(part,)).lines()[-1] == f"part 0 ({kind}): 1.00 s to 2.00 s, 8 {unit}, 8/s"


@pytest.mark.parametrize("parts", [5, "x", {"a": 1}, [5], [{}]])
def test_what_is_no_written_timing_is_refused(parts):
    with pytest.raises(ValueError, match=r"Timing\.parts"):
        Timing.from_dict({"parts": parts})
