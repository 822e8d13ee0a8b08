"""
What the tests of the ways out share: a source that knows how it was closed, and how one leaves.

The source is like the stream of an SDK: it closes itself at its end, when it breaks, and when it is dropped.
"""

from __future__ import annotations

import contextlib
import gc
from typing import Any, Self

import chunkfold

POINT = {"early": 1, "middle": 3, "late": 6}
TEXTS = "abcdef"
USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}

WAYS = ("end", "exception", "break", "close", "raise in the loop", "collection")
ASYNC_WAYS = (*WAYS, "cancellation", "cancellation outside with")
# Where somebody calls `close()`: the door always does, a proxy only when it is told to.
CLOSING = {"break", "close", "raise in the loop", "cancellation"}


class Broken(Exception):
    """The transport's own."""


class Marked(Exception):
    """The caller's own."""


def chunks() -> list[dict[str, Any]]:
    said = [{"index": 0, "delta": {"content": text}} for text in TEXTS]
    said[-1]["finish_reason"] = "stop"
    return [{"object": "chat.completion.chunk", "choices": [item], "usage": USAGE} for item in said]


def check(
    response: chunkfold.Response, state: State, way: str, at: str, door: str, *, is_dropped: bool = False
) -> None:
    """What has to be true of every way out."""
    count = len(TEXTS) if way == "end" else POINT[at]
    ended = {"end": "clean", "exception": "error"}.get(way, "cancelled")
    assert (response.ended, response.text) == (ended, TEXTS[:count])
    assert response.truncated == (count < len(TEXTS))
    assert response.finish_reason == ("stop" if count == len(TEXTS) else None)
    assert response.usage == chunkfold.Usage(1, 2, 3, raw=USAGE)
    assert (response.error is not None) == (way == "exception")
    assert not state.is_open
    assert state.calls == (way in CLOSING or (door == "stream" and not is_dropped))


class State:
    """What is known of a source after it is gone."""

    def __init__(self) -> None:
        self.is_open = True
        self.calls = 0


class _Chunks:
    def __init__(self, state: State, way: str, at: str) -> None:
        self.state = state
        self.way = way
        self.stop = POINT[at]
        self.given = 0
        self.left = iter(chunks())

    def __del__(self) -> None:
        self.state.is_open = False

    def take(self) -> Any:
        """The next chunk; `StopIteration` or `Broken` close the source."""
        try:
            if self.way == "exception" and self.given == self.stop:
                raise Broken("connection lost")  # noqa: TRY301
            self.given += 1
            return next(self.left)
        except BaseException:
            self.state.is_open = False
            raise


class Source(_Chunks):
    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return self.take()

    def close(self) -> None:
        self.state.is_open = False
        self.state.calls += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


class AsyncSource(_Chunks):
    """The same, waiting before each chunk, and for ever at its point where the way out is a cancellation."""

    def __init__(self, state: State, way: str, at: str, kit: Any) -> None:
        super().__init__(state, way, at)
        self.kit = kit
        self.is_waiting = kit.event()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            await self.kit.pause(0)
            if self.way.startswith("cancellation") and self.given == self.stop:
                self.is_waiting.set()
                await self.kit.pause(1000)
        except BaseException:
            self.state.is_open = False
            raise
        try:
            return self.take()
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.state.is_open = False
        self.state.calls += 1
        await self.kit.pause(0)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


def _is_text(item: Any) -> bool:
    return isinstance(item, dict) or item.type == "text_delta"


def leave(door: str, way: str, at: str, on_done: Any) -> State:
    """Open the door on a source, go on to the point, and leave."""
    state = State()
    source = Source(state, way, at)
    items = (
        chunkfold.stream(source, on_done=on_done) if door == "stream" else chunkfold.wrap(source, on_done=on_done)[0]
    )
    del source
    if way in ("end", "exception"):
        with contextlib.suppress(Broken):
            for _ in items:
                pass
    elif way in ("break", "raise in the loop"):
        with contextlib.suppress(Marked), items:
            _go(items, at)
            if way == "raise in the loop":
                raise Marked
    else:
        _go(items, at)
        if way == "close":
            items.close()
    del items
    gc.collect()
    return state


def _go(items: Any, at: str) -> None:
    left = POINT[at]
    for item in items:
        left -= _is_text(item)
        if not left:
            break


async def aleave(door: str, way: str, at: str, on_done: Any, kit: Any) -> State:
    """The same with `async for`; *kit* has the `pause`, `event` and `cancel` of the event loop."""
    state = State()
    source = AsyncSource(state, way, at, kit)
    is_waiting = source.is_waiting
    items = (
        chunkfold.astream(source, on_done=on_done) if door == "stream" else chunkfold.wrap(source, on_done=on_done)[0]
    )
    del source
    if way in ("end", "exception"):
        with contextlib.suppress(Broken):
            async for _ in items:
                pass
    elif way in ("break", "raise in the loop"):
        with contextlib.suppress(Marked):
            async with items:
                await _ago(items, at)
                if way == "raise in the loop":
                    raise Marked
    elif way == "cancellation":
        await kit.cancel(_read_within, items, is_waiting)
    elif way == "cancellation outside with":
        await kit.cancel(_read, items, is_waiting)
    else:
        await _ago(items, at)
        if way == "close":
            await items.aclose()
    del items
    gc.collect()
    await kit.pause(0)
    return state


async def _ago(items: Any, at: str) -> None:
    left = POINT[at]
    async for item in items:
        left -= _is_text(item)
        if not left:
            break


async def _read(items: Any) -> None:
    async for _ in items:
        pass


async def _read_within(items: Any) -> None:
    async with items:
        await _read(items)
