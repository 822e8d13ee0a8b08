"""
The ways out under trio and anyio, and with the real clients: what `tests/test_ways_out.py` has for the rest.
"""

from __future__ import annotations

import asyncio
import gc
import warnings

import anyio
import pytest
import trio

import chunkfold
from tests.ways_out import ASYNC_WAYS, POINT, aleave, check
from tests_sdks.clients import AsyncClients

DOORS = ("stream", "wrap")

pytestmark = [
    pytest.mark.filterwarnings("error::ResourceWarning"),
    pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def clean_slate():
    """What SDKs have left behind in other tests is not counted here, nor looked at again and again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while gc.collect():
            pass
    gc.freeze()
    yield
    gc.unfreeze()


class Trio:
    pause = staticmethod(trio.sleep)
    event = trio.Event

    @staticmethod
    async def cancel(read, items, is_waiting):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(read, items)
            await is_waiting.wait()
            nursery.cancel_scope.cancel()


class AnyIO:
    pause = staticmethod(anyio.sleep)
    event = anyio.Event

    @staticmethod
    async def cancel(read, items, is_waiting):
        async with anyio.create_task_group() as group:
            group.start_soon(read, items)
            await is_waiting.wait()
            group.cancel_scope.cancel()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("at", POINT)
@pytest.mark.parametrize("way", ASYNC_WAYS)
@pytest.mark.parametrize("loop", ["trio", "anyio-trio", "anyio-asyncio"])
def test_way_out(loop, way, at, door):
    done = []
    kit = Trio if loop == "trio" else AnyIO

    async def run():
        if loop == "trio":
            before = trio.lowlevel.current_statistics().tasks_living
            state = await aleave(door, way, at, done.append, kit)
            assert trio.lowlevel.current_statistics().tasks_living == before
            return state
        return await aleave(door, way, at, done.append, kit)

    is_dropped = way == "collection"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        state = trio.run(run) if loop == "trio" else anyio.run(run, backend=loop.removeprefix("anyio-"))
        gc.collect()
    assert [warning.category for warning in caught] == [ResourceWarning] * (is_dropped and door == "stream")
    assert len(done) == 1
    check(done[0], state, way, at, door, is_dropped=is_dropped)


@pytest.mark.parametrize("door", ["astream", "text", "wrap"])
def test_no_cancel_scope_is_held_across_a_yield(door):
    """A timeout around each step, and one that ends between two steps, are the caller's alone."""

    async def chunks():
        for text in "abc":
            yield {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}}]}

    async def run():
        source = chunks()
        if door == "wrap":
            items, fold = chunkfold.wrap(source)
        else:
            events = fold = chunkfold.astream(source)
            items = events if door == "astream" else events.text()
        seen = 0
        while True:
            with trio.move_on_after(5) as scope:
                try:
                    await items.__anext__()
                except StopAsyncIteration:
                    break
                seen += 1
            assert not scope.cancelled_caught
            with trio.move_on_after(0) as over:
                await trio.lowlevel.checkpoint()
            assert over.cancelled_caught
        return seen, fold.response().text

    seen, text = trio.run(run)
    assert text == "abc"
    assert seen >= 3


# The real clients. The server says `abc` in three events; then it goes on, hangs up, or keeps silent.

OPENAI = b'data: {"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%b"}}]}\n\n'
ANTHROPIC = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,'
    b'"delta":{"type":"text_delta","text":"%b"}}\n\n'
)
GEMINI = b'data: {"candidates":[{"content":{"role":"model","parts":[{"text":"%b"}]},"index":0}]}\n\n'
BODIES = {
    "openai-chat": (b"", OPENAI),
    "anthropic": (
        (
            b'event: message_start\ndata: {"type":"message_start","message":{"id":"m","type":"message","role":"assistant",'
            b'"content":[],"model":"m","usage":{"input_tokens":1,"output_tokens":1}}}\n\n'
            b'event: content_block_start\ndata: {"type":"content_block_start","index":0,'
            b'"content_block":{"type":"text","text":""}}\n\n'
        ),
        ANTHROPIC,
    ),
    "google-genai": (b"", GEMINI),
}
REAL_WAYS = ("break", "close", "collection", "exception")


def play(server, sdk, *, silent=False):
    start, event = BODIES[sdk]
    said = start + b"".join(event % text for text in (b"a", b"b", b"c"))
    rest = event % b"d"
    server.play(said + rest, step=len(said), hold_after=len(said) if silent else None)


def open_door(door, stream, on_done, twin):
    if door == "wrap":
        return chunkfold.wrap(stream, on_done=on_done)[0]
    return twin(stream, on_done=on_done)


def has_said(item):
    """A text has come: our event, or any object of the SDK that carries one."""
    return "text='c'" in repr(item) or "content='c'" in repr(item) or getattr(item, "text", None) == "c"


def check_real(done, way):
    assert len(done) == 1
    response = done[0]
    assert response.text == "abc"
    assert response.truncated
    assert response.ended == ("error" if way == "exception" else "cancelled")
    assert (response.error is not None) == (way == "exception")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("way", REAL_WAYS)
@pytest.mark.parametrize("sdk", BODIES)
def test_real_client(sdk, way, door, server, sdks):
    play(server, sdk, silent=True)
    done = []
    stream = sdks.stream(sdk)
    response = getattr(stream, "response", None)
    items = open_door(door, stream, done.append, chunkfold.stream)
    del stream
    if way == "exception":
        server.hung_up.set()  # in the middle of the body
        with pytest.raises(Exception, match=r"(?i)incomplete|not completed|peer closed|connection"):
            for _ in items:
                pass
    else:
        for item in items:
            if has_said(item):
                break
        if way in ("break", "close"):
            items.close()
    del items
    gc.collect()
    check_real(done, way)
    assert response is None or response.is_closed


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("way", ["break", "close", "exception", "cancellation"])
@pytest.mark.parametrize("sdk", ["openai-chat", "anthropic", "google-genai"])
def test_real_async_client(sdk, way, door, server):
    play(server, sdk, silent=True)
    done = []

    async def read(items, reached=None):
        async for item in items:
            if has_said(item):
                if reached is None:
                    return
                reached.set()

    async def run():
        clients = AsyncClients(server.url)
        before = asyncio.all_tasks()
        stream = await clients.stream(sdk)
        response = getattr(stream, "response", None)
        items = open_door(door, stream, done.append, chunkfold.astream)
        if way == "exception":
            server.hung_up.set()
            with pytest.raises(Exception, match=r"(?i)incomplete|not completed|peer closed|connection"):
                await read(items, asyncio.Event())
        elif way == "cancellation":
            reached = asyncio.Event()
            task = asyncio.ensure_future(read(items, reached))
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        elif way == "break":
            async with items:
                await read(items)
        else:
            await read(items)
            await (items.aclose() if hasattr(items, "aclose") else items.close())
        assert response is None or response.is_closed
        assert asyncio.all_tasks() == before
        await clients.close()

    asyncio.run(run())
    gc.collect()
    check_real(done, way)


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("sdk", ["openai-chat", "anthropic"])
def test_real_async_client_under_trio(sdk, door, server):
    """A deadline that passes while the server is silent."""
    play(server, sdk, silent=True)
    done = []

    async def run():
        clients = AsyncClients(server.url)
        stream = await clients.stream(sdk)
        with trio.move_on_after(0.5) as scope:
            items = open_door(door, stream, done.append, chunkfold.astream)
            async with items:
                async for _ in items:
                    pass
        assert scope.cancelled_caught
        assert stream.response.is_closed
        await clients.close()

    trio.run(run)
    gc.collect()
    check_real(done, "cancellation")


@pytest.mark.parametrize("sdk", ["openai-chat", "anthropic"])
def test_a_loop_over_a_real_client_may_be_left_under_trio(sdk, server):
    """Which warns of generators that are collected."""
    play(server, sdk, silent=True)

    async def run():
        clients = AsyncClients(server.url)
        stream = await clients.stream(sdk)
        async with chunkfold.astream(stream) as events:
            async for event in events:
                if has_said(event):
                    break
        assert stream.response.is_closed
        assert events.response().text == "abc"
        await clients.close()

    trio.run(run)
    gc.collect()
