"""
Each way to leave a stream, at each point of it, through each door: the source is closed once, the response is finalised
once with the right end, and nothing that had come is lost. Trio and anyio are in tests_sdks/test_ways_out.py.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import warnings

import pytest

import chunkfold
from chunkfold import resilience
from tests.ways_out import ASYNC_WAYS, POINT, TEXTS, WAYS, Broken, Source, State, aleave, check, chunks, leave

DOORS = ("stream", "wrap")


class Asyncio:
    pause = staticmethod(asyncio.sleep)
    event = asyncio.Event

    @staticmethod
    async def cancel(read, items, is_waiting):
        task = asyncio.ensure_future(read(items))
        await is_waiting.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("at", POINT)
@pytest.mark.parametrize("way", WAYS)
def test_way_out(way, at, door):
    done = []
    state = leave(door, way, at, done.append)
    assert len(done) == 1
    check(done[0], state, way, at, door)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("at", POINT)
@pytest.mark.parametrize("way", ASYNC_WAYS)
def test_way_out_under_asyncio(way, at, door):
    done = []

    async def run():
        before = asyncio.all_tasks()
        state = await aleave(door, way, at, done.append, Asyncio)
        assert asyncio.all_tasks() == before
        return state

    is_dropped = way == "collection"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state = asyncio.run(run())
    assert [warning.category for warning in caught] == [ResourceWarning] * (is_dropped and door == "stream")
    assert len(done) == 1
    check(done[0], state, way, at, door, is_dropped=is_dropped)


def test_a_bare_break_leaves_the_stream_open_to_be_continued():
    events = chunkfold.stream(Source(State(), "end", "middle"))
    for event in events:
        if event.type == "text_delta":
            break
    assert events.response().ended is None
    rest = list(events)
    assert rest[-1].type == "message_stop"
    assert events.response().text == "abcdef"


@pytest.mark.parametrize("door", ["stream", "astream", "wrap", "resilience.stream", "resilience.astream"])
def test_interpreter_exit_finalises_once(door):
    """The response of a stream that is still open when the interpreter exits goes to `on_done`."""
    run = subprocess.run(
        [sys.executable, "-W", "ignore::ResourceWarning", "-c", EXIT, door], capture_output=True, check=True, timeout=60
    )
    assert run.stderr == b""
    lines = run.stdout.decode().splitlines()
    assert [json.loads(line) for line in lines if line.startswith("{")] == [{"text": "ab", "ended": "cancelled"}]
    assert lines.count("closed") == (0 if "astream" in door else 1)


EXIT = """
import asyncio, json, sys
import chunkfold
from chunkfold import resilience

def chunks():
    try:
        for text in "abcdef":
            yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}
    finally:
        print("closed")

async def achunks():
    for text in "abcdef":
        yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}

def done(response):
    print(json.dumps({"text": response.text, "ended": response.ended}))

def take(events):
    for event in events:
        if getattr(event, "text", "") == "b":
            break

door = sys.argv[1]
if door == "stream":
    kept = chunkfold.stream(chunks(), on_done=done)
    take(kept)
elif door == "wrap":
    kept, fold = chunkfold.wrap(chunks(), on_done=done)
    next(kept), next(kept)
elif door == "resilience.stream":
    kept = resilience.stream(chunks, on_done=done)
    take(kept)
else:
    kept = chunkfold.astream(achunks(), on_done=done) if door == "astream" else resilience.astream(achunks, on_done=done)
    async def main():
        async for event in kept:
            if getattr(event, "text", "") == "b":
                break
    loop = asyncio.new_event_loop()
    loop.run_until_complete(main())
    loop.close()
"""


def test_wrong_use_in_the_loop_is_not_taken_for_an_end_of_the_source():
    state = State()
    source = Source(state, "end", "early")
    with pytest.raises(ZeroDivisionError), chunkfold.stream(source) as events:
        for _ in events:
            raise ZeroDivisionError
    assert events.response().ended == "cancelled"
    assert events.response().error is None
    assert state.calls == 1


def test_closing_twice_and_after_the_end_changes_nothing():
    state = State()
    source = Source(state, "end", "late")
    events = chunkfold.stream(source)
    list(events)
    response = events.response()
    events.close()
    events.close()
    assert events.response() is response
    assert state.calls == 1


def test_an_exception_of_the_source_comes_after_the_last_events():
    events = chunkfold.stream(Source(State(), "exception", "middle"))
    seen = []
    with pytest.raises(Broken):
        seen.extend(event.type for event in events)
    assert seen[-1] == "message_stop"
    assert "error" in seen


class Slow:
    """Has two texts at hand and waits for the third; each but a generator can be closed meanwhile."""

    def __init__(self, wait):
        self.wait, self.given, self.closed = wait, 0, 0
        self.is_waiting = asyncio.Event()

    def __aiter__(self):
        return self

    async def __anext__(self):
        self.given += 1
        if self.given > 2:
            self.is_waiting.set()
            await self.wait()
        return chunks()[self.given]

    async def aclose(self):
        self.closed += 1


async def generated(slow):
    try:
        while True:
            yield await slow.__anext__()
    finally:
        slow.closed += 1


@pytest.mark.parametrize("door", ["astream", "resilience.astream"])
@pytest.mark.parametrize("kind", ["object", "generator"])
def test_a_stream_that_another_task_closes_is_over_for_who_reads_it(door, kind):
    """As a button does that stops an answer. What comes to the reader after that is dropped."""

    async def run():
        may_go_on = asyncio.Event()
        slow = Slow(may_go_on.wait)
        source = slow if kind == "object" else generated(slow)
        opened = chunkfold.astream(source) if door == "astream" else resilience.astream(lambda: source)
        reader = asyncio.ensure_future(_read_all(opened))
        await slow.is_waiting.wait()
        await opened.aclose()
        response = opened.response()
        assert (response.text, response.ended) == ("bc", "cancelled")
        may_go_on.set()
        events = await reader
        assert "".join(event.text for event in events if event.type == "text_delta") == "bc"
        assert opened.response() is response
        assert slow.closed == 1

    asyncio.run(run())


async def _read_all(events):
    return [event async for event in events]


@pytest.mark.parametrize("door", ["stream", "resilience.stream"])
def test_a_stream_that_is_closed_while_its_source_is_read_closes_that_afterwards(door):
    """As a handler of a signal does. A generator cannot be closed while it runs."""
    closed = []

    def source():
        try:
            yield from chunks()[:3]
            opened.close()
            yield chunks()[3]
        finally:
            closed.append(True)

    held = source()
    opened = chunkfold.stream(held) if door == "stream" else resilience.stream(lambda: held)
    events = list(opened)
    response = opened.response()
    assert (response.text, response.ended) == ("abc", "cancelled")
    assert "".join(event.text for event in events if event.type == "text_delta") == "abc"
    assert closed == [True]


def test_a_source_that_comes_when_the_stream_was_closed_is_closed_too():
    async def run():
        may_go_on = asyncio.Event()
        slow = Slow(may_go_on.wait)

        async def connect():
            await may_go_on.wait()
            return slow

        opened = resilience.astream(connect)
        reader = asyncio.ensure_future(_read_all(opened))
        await asyncio.sleep(0)
        await opened.aclose()
        may_go_on.set()
        assert await reader == []
        assert (slow.given, slow.closed) == (0, 1)

    asyncio.run(run())


class SlowToClose:
    """A source and what opens it, of which each takes a while to close."""

    def __init__(self):
        self.pieces = iter(chunks())
        self.is_closing = asyncio.Event()
        self.closed = []

    async def __aenter__(self):
        return _Pieces(self)

    async def __aexit__(self, *exc):
        await asyncio.sleep(0)
        self.closed.append("opener")


class _Pieces:
    def __init__(self, owner):
        self.owner = owner

    def __aiter__(self):
        return self

    async def __anext__(self):
        for piece in self.owner.pieces:
            return piece
        raise StopAsyncIteration

    async def aclose(self):
        self.owner.is_closing.set()
        await asyncio.sleep(0)
        self.owner.closed.append("source")


@pytest.mark.parametrize("way", ["end", "break"])
def test_what_a_resilient_stream_has_opened_is_closed_also_where_closing_was_cancelled(way):
    async def read(source):
        opened = resilience.astream(lambda: source)
        try:
            async with opened:
                async for _ in opened:
                    if way == "break":
                        break
        finally:
            await opened.aclose()

    async def run():
        source = SlowToClose()
        task = asyncio.ensure_future(read(source))
        await source.is_closing.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sorted(source.closed) == ["opener", "source"]

    asyncio.run(run())


class Client:
    """A response of httpx, whose generators read from one another."""

    status_code = 200

    def __init__(self):
        self.headers = {}
        self.stream = self
        self.left = []
        self.is_silent = asyncio.Event()

    def __aiter__(self):
        return self.aiter_raw()

    async def aiter_raw(self):
        try:
            yield b'data: {"choices":[{"index":0,"delta":{"content":"b"}}]}\n\n' * 3
            await self.is_silent.wait()
        finally:
            self.left.append("raw")

    async def aiter_bytes(self):
        try:
            async for piece in self.aiter_raw():
                yield piece
        finally:
            self.left.append("bytes")

    async def aiter_lines(self):
        async for piece in self.aiter_bytes():
            for line in piece.decode().splitlines():
                yield line

    async def aclose(self):
        self.left.append("response")


@pytest.mark.parametrize("way", ["astream", "afold", "lines", "resilience.astream"])
def test_the_generators_of_a_client_are_over_when_their_stream_is_closed(way):
    """Else those beneath are collected: in tasks of their own under asyncio, with a warning under trio."""
    client = Client()

    async def run():
        limits = chunkfold.Limits(parts=0)
        if way == "afold":
            with pytest.raises(chunkfold.LimitExceeded):
                await chunkfold.afold(client, limits=limits)
        else:
            if way == "resilience.astream":
                events = resilience.astream(lambda: client)
            else:
                events = chunkfold.astream(client if way == "astream" else chunkfold.lines(client.aiter_lines()))
            async with events:
                async for _ in events:
                    break
        assert client.left == (["raw", "bytes"] if way == "lines" else ["raw", "bytes", "response"])
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(run())


@pytest.mark.parametrize("at", range(2, 9))
def test_a_clock_that_fails_leaves_the_response_complete(at):
    """At the opening, at each of six reads, and at the end."""
    times = itertools.count(1)

    def clock():
        if next(times) == at:
            raise Broken("clock")
        return 0.0

    done = []
    state = State()
    events = chunkfold.stream(Source(state, "end", "late"), clock=clock, on_done=done.append)
    with pytest.raises(Broken, match="clock"):
        list(events)
    assert done == [events.response()]
    assert events.response().ended == ("clean" if at == 8 else "cancelled")
    assert events.response().text == TEXTS[: at - 2]
    assert state.calls == 1
