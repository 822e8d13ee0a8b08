"""What the observers of a resilient stream hear when it is left early: the same as those of a plain one."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

import chunkfold
from chunkfold import resilience
from tests.resilience.fakes import DONE, PING, ROLE, USAGE, chunk, text


def call(number, arguments, **start):
    function = {"arguments": arguments, **({"name": "f"} if start else {})}
    return chunk({"tool_calls": [{"index": number, **start, "function": function}]})


CALLS = [
    ROLE,
    text("Hel"),
    call(0, '{"a":', id="x"),
    call(0, "1}"),
    call(1, "{}", id="y"),
    text("lo"),
    chunk({}, "tool_calls"),
    USAGE,
    DONE,
]
NAMES = ("on_text", "on_reasoning", "on_tool_call", "on_usage", "on_done")


def plain(pieces, **options):
    return chunkfold.stream(iter(pieces), **options)


def resilient(pieces, **options):
    return resilience.stream(lambda: iter(pieces), **options)


def left_after(door, pieces, count, **options):
    """What observers hear when so many events have been taken."""
    heard = []
    watch = {name: (lambda news, name=name: heard.append((name, news))) for name in NAMES}
    with door(pieces, **watch, **options) as events:
        for _, _ in zip(range(count), events, strict=False):
            pass
    return heard


@pytest.mark.parametrize("pieces", [CALLS, [b"".join(CALLS)]], ids=["piece-by-piece", "in-one-read"])
def test_who_leaves_early_hears_of_the_calls_that_came(pieces):
    # Up to its first output an attempt is read on while nothing of it is handed out.
    for count in range(6, 18):
        heard = left_after(resilient, pieces, count)
        assert heard == left_after(plain, pieces, count)
        response = heard[-1][1]
        assert [news for name, news in heard if name == "on_tool_call"] == list(response.tool_calls)


def test_what_was_held_back_counts_where_no_attempt_will_follow():
    """Nothing of an attempt is told before its first output, since another may make it void."""
    heard = left_after(resilient, [ROLE, USAGE, PING, *CALLS], 1, retry=resilience.Retry(times=1))
    assert [name for name, _ in heard] == ["on_usage", "on_done"]


def test_the_asynchronous_twin():
    async def pieces():
        for piece in CALLS:
            yield piece

    async def run():
        heard = []
        watch = {name: (lambda news, name=name: heard.append((name, news))) for name in NAMES}
        async with resilience.astream(pieces, **watch) as events:
            async for event in events:
                if event.type == "tool_arguments_delta":
                    break
        return heard

    heard = asyncio.run(run())
    assert [(news.status, news.raw_arguments) for name, news in heard if name == "on_tool_call"] == [
        ("truncated", '{"a":')
    ]
    assert heard[-1][1].ended == "cancelled"


@pytest.mark.parametrize("name", NAMES)
def test_an_observer_that_closes_the_stream_hears_all_that_came(name):
    expected, heard = left_after(plain, [b"".join(CALLS)], 100), []
    watch = {other: (lambda news, other=other: heard.append((other, news))) for other in NAMES}

    def closing(news):
        heard.append((name, news))
        events.close()

    events = resilient([b"".join(CALLS)], **watch | {name: closing})
    list(events)
    assert heard == expected


@pytest.mark.parametrize("name", ["on_text", "on_tool_call"])
def test_an_observer_that_is_interrupted_leaves_nothing_open(name):
    def interrupting(news):
        raise KeyboardInterrupt

    done, closed = [], []

    class Source:
        def __iter__(self):
            return iter([b"".join(CALLS)])

        def close(self):
            closed.append(True)

    events = resilience.stream(Source, on_done=done.append, **{name: interrupting})
    with pytest.raises(KeyboardInterrupt):
        list(events)
    with contextlib.suppress(KeyboardInterrupt):
        events.close()
    assert (done, closed) == ([events.response()], [True])
