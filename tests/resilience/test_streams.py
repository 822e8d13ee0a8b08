"""What a resilient stream is to its caller, beside what comes of faults."""

from __future__ import annotations

import asyncio
import contextlib
import email.message
import gc
import io
import json
import socket
import sys
import threading
import urllib.error

import pytest

import chunkfold
from chunkfold import Limits, Policy, resilience
from chunkfold.errors import (
    FallbackFailed,
    FirstOutputTimeout,
    IdleTimeout,
    IncompleteResponse,
    LimitExceeded,
    PolicyError,
    TimeoutUnsupported,
    UnknownDialect,
)
from chunkfold.events import DiagnosticEvent, ErrorEvent, MessageReset, MessageStop, TextDelta
from chunkfold.resilience import Attempt, Fallback, RateLimitRetry, Retry, Timeouts, rate_limit_of
from chunkfold.resilience._clock import Overdue
from chunkfold.resilience._failures import failure_of
from chunkfold.resilience._read_timeouts import never_waits, read_timeout
from tests.laws import rebuild
from tests.resilience.fakes import (
    ANSWER,
    DONE,
    OVERLOADED,
    ROLE,
    STOP,
    AsyncSource,
    FakeClock,
    Refusal,
    Server,
    chunk,
    text,
)

EXACT = Retry(base=1, jitter=0)


def make(*plans, **options):
    clock = FakeClock()
    server = Server(clock, *plans)
    return resilience.stream(server, clock=clock, **{"retry": EXACT, **options}), server, clock


def amake(*plans, **options):
    clock = FakeClock()
    server = Server(clock, *plans, kind=AsyncSource)
    return resilience.astream(server, clock=clock, **{"retry": EXACT, **options}), server, clock


# The look of a stream


def test_importing_chunkfold_does_not_import_it():
    script = "import sys, chunkfold; print([m for m in sys.modules if m.startswith('chunkfold.resilience') or m == 'asyncio'])"
    import subprocess

    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_it_costs_a_connection_only_when_it_is_used():
    stream, server, _ = make(ANSWER)
    assert (server.opened, stream.attempts, stream.usage()) == ([], (), None)
    assert stream.response() == chunkfold.Response()
    stream.close()
    assert (server.opened, list(stream), stream.response().ended) == ([], [], "cancelled")


def test_a_break_leaves_it_open_to_be_continued_and_the_response_grows():
    stream, server, _ = make(ANSWER)
    for event in stream:
        if isinstance(event, TextDelta):
            break
    assert (stream.response().text, stream.response().ended) == ("Hel", None)
    assert [attempt.seconds for attempt in stream.attempts] == [None]
    assert stream.usage() is None
    rest = list(stream)
    assert isinstance(rest[-1], MessageStop)
    assert (stream.response().text, stream.response().ended) == ("Hello", "clean")
    assert server.opened[0].closed


def test_leaving_the_with_block_closes_the_source():
    stream, server, _ = make(ANSWER)
    with stream:
        next(stream)
        next(stream)
    assert server.opened[0].closed
    assert (stream.response().ended, list(stream)) == ("cancelled", [])
    done = stream.response()
    stream.close()
    assert stream.response() is done


def test_every_source_is_closed_once():
    """A client that gives a connection back at each closing would lend it to two others."""
    for plans in ([ANSWER], [[OSError("reset")], ANSWER], [[*ANSWER[:2], 5]]):
        for options in ({}, {"timeouts": Timeouts(idle=1)}):
            stream, server, _ = make(*plans, **options)
            with contextlib.suppress(Exception):
                list(stream)
            stream.close()
            assert [source.closed for source in server.opened] == [1] * len(plans)

            async def read(plans=plans, options=options):
                stream, server, _ = amake(*plans, **options)
                async with stream:
                    with contextlib.suppress(Exception):
                        async for _ in stream:
                            pass
                return [source.closed for source in server.opened]

            assert asyncio.run(read()) == [1] * len(plans)


def test_one_that_is_left_before_it_began_is_not_taken_for_a_whole_answer():
    for make_one in (make, amake):
        stream, server, _ = make_one(ANSWER)
        asyncio.run(stream.aclose()) if make_one is amake else stream.close()
        response = stream.response()
        assert (response.text, response.ended, response.truncated) == ("", "cancelled", True)
        assert server.opened == []
        with pytest.raises(IncompleteResponse):
            response.raise_if_incomplete()


def test_one_that_is_collected_closes_its_source():
    stream, server, _ = make(ANSWER)
    next(stream)
    del stream
    gc.collect()
    assert server.opened[0].closed


def test_text_is_the_answer_alone():
    stream, _, _ = make([ROLE], ANSWER)
    assert list(stream.text()) == ["Hel", "lo"]


def test_text_cannot_be_taken_back():
    stream, _, _ = make(ANSWER, retry=Retry(after_output=True))
    with pytest.raises(ValueError, match="after_output"):
        next(stream.text())

    async def main():
        events, _, _ = amake(ANSWER, retry=Retry(after_output=True))
        with pytest.raises(ValueError, match="after_output"):
            await anext(events.text())
        again, _, _ = amake([ROLE], ANSWER)
        assert [piece async for piece in again.text()] == ["Hel", "lo"]

    asyncio.run(main())


def test_leaving_the_text_of_a_task_leaves_nothing_to_be_collected():
    """Trio warns of an asynchronous generator that was not run to its end."""
    events, _, _ = amake(ANSWER)
    assert not hasattr(events.text(), "ag_frame")


def test_a_wrong_dialect_is_told_at_once_also_that_of_a_fallback():
    with pytest.raises(UnknownDialect):
        resilience.stream(list, "nonsense")
    with pytest.raises(UnknownDialect):
        resilience.astream(list, fallback=Fallback(connect=list, dialect="nonsense"))
    with pytest.raises(TypeError, match="a fallback is a callable"):
        resilience.stream(list, fallback=7)


def test_both_doors_have_the_same_arguments():
    import inspect

    sync, other = inspect.signature(resilience.stream), inspect.signature(resilience.astream)
    assert sync.parameters == other.parameters
    plain = inspect.signature(chunkfold.stream).parameters
    assert set(plain) - {"source", "output_type"} <= set(sync.parameters)
    for name in ("close", "__enter__", "__exit__", "response", "text"):
        assert hasattr(resilience.ResilientStream, name)
        assert hasattr(chunkfold.Stream, name)


# Tasks


def test_a_task_reads_breaks_and_closes():
    async def main():
        stream, server, _ = amake(ANSWER)
        async with stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    break
            assert stream.response().ended is None
        assert server.opened[0].closed
        assert (stream.response().ended, [event async for event in stream]) == ("cancelled", [])

    asyncio.run(main())


def test_a_stream_that_is_dropped_open_warns():
    async def main():
        stream, _, _ = amake(ANSWER)
        await anext(stream)
        with pytest.warns(ResourceWarning, match="was not closed"):
            del stream
            gc.collect()

    asyncio.run(main())


def test_one_that_is_dropped_before_it_began_is_done_without_a_warning(recwarn):
    done = []
    for make_one in (make, amake):
        events, _, _ = make_one(ANSWER, on_done=done.append)
        del events
        gc.collect()
    assert [response.ended for response in done] == ["cancelled", "cancelled"]
    assert not recwarn


def test_no_timeout_holds_while_the_caller_has_the_stream_in_hand():
    """With the real clock: a step that took its time before does not end one that is within its own."""

    async def main():
        async def pieces():
            for piece in ANSWER:
                await asyncio.sleep(0)
                yield piece

        stream = resilience.astream(pieces, timeouts=Timeouts(first=30, idle=30, total=60))
        task = asyncio.current_task()
        async for _ in stream:
            assert task.cancelling() == 0
        assert stream.response().text == "Hello"

    asyncio.run(main())


def test_a_step_that_takes_too_long_is_cancelled_and_what_it_turns_that_into_is_no_matter():
    async def main():
        cancelled = []

        async def pieces(translate):
            yield text("Hi")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(translate)
                if translate:
                    raise OSError("cancelled") from None
                raise

        for translate in (False, True):
            stream = resilience.astream(lambda t=translate: pieces(t), timeouts=Timeouts(idle=0.01))
            with pytest.raises(IdleTimeout):
                async for _ in stream:
                    pass
            assert stream.response().text == "Hi"
        assert cancelled == [False, True]

    asyncio.run(main())


def test_the_timer_of_the_steps_takes_no_cancellation_that_is_not_its_own():
    async def main():
        steps = resilience.Clock().steps()
        task = asyncio.current_task()

        async def stuck():
            await asyncio.Event().wait()

        async def swallowed():
            with contextlib.suppress(asyncio.CancelledError):
                await stuck()
            return "done"

        async def translated():
            try:
                await stuck()
            except asyncio.CancelledError:
                raise OSError from None

        async def cancelled_by_both():
            asyncio.get_running_loop().call_soon(task.cancel)
            await asyncio.sleep(0)

        for call in (stuck, translated):
            with pytest.raises(Overdue):
                await steps.within(0.005, call)
            assert task.cancelling() == 0
        assert await steps.within(0.005, swallowed) == "done"
        assert task.cancelling() == 0
        # One timer stands for many steps and is set forward when it rings.
        for _ in range(3):
            assert await steps.within(30, lambda: asyncio.sleep(0, "ok")) == "ok"
        with pytest.raises(OSError, match="own"):
            await steps.within(30, failing)
        with pytest.raises(Overdue):
            await steps.within(0.005, stuck)
        with pytest.raises(asyncio.CancelledError):
            await steps.within(30, cancelled_by_both)
        assert task.uncancel() == 0
        steps.close()

    async def failing():
        raise OSError("own")

    asyncio.run(main())


def test_the_cancellation_of_the_caller_goes_before_that_of_the_timer():
    async def main():
        async def stuck():
            await asyncio.Event().wait()

        async def inner():
            steps = resilience.Clock().steps()
            loop = asyncio.get_running_loop()

            async def both():
                steps._until = 0
                loop.call_soon(steps._ring)
                loop.call_soon(asyncio.current_task().cancel)
                await stuck()

            await steps.within(60, both)

        task = asyncio.create_task(inner())
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_a_timeout_error_of_the_sources_own_is_the_sources():
    async def main():
        async def pieces():
            yield ROLE
            raise TimeoutError("of the client")

        stream = resilience.astream(pieces, timeouts=Timeouts(first=30), retry=None)
        with pytest.raises(TimeoutError, match="of the client"):
            async for _ in stream:
                pass

    asyncio.run(main())


def test_closing_a_source_that_does_not_close_takes_no_longer_than_it_may(monkeypatch):
    monkeypatch.setattr("chunkfold.resilience._clock._CLOSING_SECONDS", 0.01)

    async def main():
        class Stuck(AsyncSource):
            async def aclose(self):
                await asyncio.Event().wait()

        stream = resilience.astream(lambda: Stuck(FakeClock(), ANSWER))
        assert [event async for event in stream][-1] == MessageStop("clean")

    asyncio.run(main())


# What connect may give


def test_a_context_manager_is_entered_and_left_each_time():
    clock, left = FakeClock(), []

    @contextlib.contextmanager
    def connect():
        try:
            yield Server(clock, ANSWER if left else [ROLE])()
        finally:
            left.append(1)

    stream = resilience.stream(connect, clock=clock, retry=EXACT, timeouts=Timeouts(first=5))
    list(stream)
    assert (stream.response().text, left) == ("Hello", [1, 1])


def test_an_awaitable_that_gives_an_asynchronous_context_manager_is_both():
    async def main():
        clock, left = FakeClock(), []

        @contextlib.asynccontextmanager
        async def opened():
            try:
                yield AsyncSource(clock, ANSWER if left else [ROLE])
            finally:
                left.append(1)

        async def connect():
            return opened()

        stream = resilience.astream(connect, clock=clock, retry=EXACT, timeouts=Timeouts(first=5))
        assert len([event async for event in stream]) > 3
        assert (stream.response().text, left) == ("Hello", [1, 1])

    asyncio.run(main())


@pytest.mark.parametrize("wrong", ["data: x", 7, object()])
def test_what_is_no_source_is_a_mistake_and_not_tried_again(wrong):
    left = []

    @contextlib.contextmanager
    def connect():
        yield wrong
        left.append(1)

    stream, server, _ = make(wrong)
    with pytest.raises(TypeError):
        list(stream)
    assert (len(server.opened), stream.response().ended) == (1, "cancelled")
    with pytest.raises(TypeError):
        list(resilience.stream(connect))
    assert left == [1]

    async def main():
        events, server, _ = amake(wrong)
        with pytest.raises(TypeError):
            [event async for event in events]
        assert len(server.opened) == 1

    asyncio.run(main())


def test_a_mistake_amid_the_pieces_is_one_too():
    stream, server, _ = make([ROLE, object()])
    with pytest.raises(TypeError):
        list(stream)
    assert (len(server.opened), server.opened[0].closed) == (1, True)
    stream, server, _ = make(io.TextIOWrapper(io.BytesIO(b"data: x\n\n")))
    with pytest.raises(TypeError, match="rb"):
        list(stream)


@pytest.mark.parametrize(
    "error", [KeyError("x"), TypeError("x"), ZeroDivisionError(), FileNotFoundError("x"), ValueError("x")]
)
def test_an_error_that_is_no_fault_of_the_line_is_raised_unchanged_and_not_tried_again(error):
    stream, server, clock = make(error)
    with pytest.raises(type(error)) as caught:
        list(stream)
    assert caught.value is error
    assert (len(server.opened), clock.waits) == (1, [])
    assert stream.response().error.exception is error


# Timeouts of threads


def test_a_source_without_a_read_timeout_is_refused_by_name_and_closed():
    closed = []

    def pieces():
        try:
            yield from ANSWER
        finally:
            closed.append(1)

    def connect():
        made = pieces()
        next(made)
        return made

    stream = resilience.stream(connect, timeouts=Timeouts(first=5))
    with pytest.raises(TimeoutUnsupported, match=r"a generator: give the response") as caught:
        list(stream)
    assert isinstance(caught.value, TypeError)
    assert caught.value.source == "a generator"
    assert (closed, len(stream.attempts)) == ([1], 1)

    async def main():
        events = resilience.astream(lambda: iter(ANSWER), timeouts=Timeouts(first=5))
        with pytest.raises(TimeoutUnsupported, match="blocks the event loop"):
            [event async for event in events]

    asyncio.run(main())


def test_what_never_waits_needs_none(tmp_path):
    path = tmp_path / "body.sse"
    path.write_bytes(b"".join(ANSWER))
    for source in (b"".join(ANSWER), list(ANSWER), tuple(ANSWER), path, str(path), io.BytesIO(b"".join(ANSWER))):
        assert never_waits(source)
        stream = resilience.stream(lambda source=source: source, timeouts=Timeouts(first=5, total=9))
        list(stream)
        assert stream.response().text == "Hello"
    with path.open("rb") as file:
        assert never_waits(file)
    assert not never_waits(iter(ANSWER))

    async def main():
        events = resilience.astream(lambda: list(ANSWER), timeouts=Timeouts(first=5))
        assert [event async for event in events][-1] == MessageStop("clean")

    asyncio.run(main())


class _AsyncFile:
    """As aiofiles and trio have them."""

    def __init__(self, data):
        self.data, self.closed = data, False

    async def read(self, size):
        data, self.data = self.data, b""
        return data

    async def aclose(self):
        self.closed = True


def test_a_file_that_connect_opens_is_closed_after_each_attempt(tmp_path):
    """Nobody else has it in hand."""
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    whole.write_bytes(b"".join(ANSWER))
    cut.write_bytes(ROLE)
    opened = []

    def connect():
        opened.append((whole if opened else cut).open("rb"))
        return opened[-1]

    stream = resilience.stream(connect, clock=FakeClock(), timeouts=Timeouts(total=9))
    list(stream)
    assert stream.response().text == "Hello"
    assert [file.closed for file in opened] == [True, True]

    def connect_async():
        opened.append(_AsyncFile(b"".join(ANSWER)))
        return opened[-1]

    async def main():
        return [event async for event in resilience.astream(connect_async)]

    assert asyncio.run(main())[-1] == MessageStop("clean")
    assert opened[-1].closed


def test_the_file_of_a_socket_has_the_timeout_of_the_socket():
    near, far = socket.socketpair()
    with near, far, near.makefile("rb") as file:
        far.sendall(b"".join(ANSWER[:2]))
        stream = resilience.stream(lambda: file, timeouts=Timeouts(idle=0.02))
        with pytest.raises(IdleTimeout):
            list(stream)
        assert stream.response().text == "Hel"


@pytest.mark.parametrize("own", [None, 9.0, 0.02])
def test_the_timeout_of_a_socket_is_left_as_it_was_and_stays_in_force_where_it_is_shorter(own):
    """A connection may serve other requests when the stream is over."""
    near, far = socket.socketpair()
    near.settimeout(own)
    with near, far, near.makefile("rb") as file:
        far.sendall(b"".join(ANSWER[:2]))
        stream = resilience.stream(lambda: file, timeouts=Timeouts(idle=0.03), retry=None)
        with pytest.raises(TimeoutError) as caught:
            list(stream)
        assert isinstance(caught.value, IdleTimeout) == (own != 0.02)
        assert near.gettimeout() == own


def test_a_timeout_that_the_transport_has_of_its_own_is_the_transports():
    clock = FakeClock()
    stream, _, _ = make([ROLE, TimeoutError("5 s of the client")], retry=None, timeouts=Timeouts(first=60))
    with pytest.raises(TimeoutError, match="of the client") as caught:
        list(stream)
    assert not isinstance(caught.value, FirstOutputTimeout)
    assert clock.waits == []


class _NetworkStream:
    def __init__(self):
        self.timeouts = []

    def read(self, max_bytes, timeout=None):
        self.timeouts.append(timeout)
        return b""


class _HttpxLike:
    def __init__(self):
        self.extensions = {"network_stream": _NetworkStream()}


def test_httpcores_reads_get_the_shorter_of_two_timeouts_and_are_left_as_they_were():
    response = _HttpxLike()
    stream = response.extensions["network_stream"]
    found = read_timeout(response)
    stream.read(1, timeout=5)
    found.set(3)
    stream.read(1, timeout=5)
    stream.read(1, timeout=1)
    stream.read(1)
    assert stream.timeouts == [5, 3, 1, 3]
    found.release()
    found.release()
    assert "read" not in vars(stream)
    stream.read(1, timeout=9)
    assert stream.timeouts[-1] == 9


def test_a_socket_that_was_closed_has_nothing_to_wait_for():
    near, far = socket.socketpair()
    file = near.makefile("rb")
    found = read_timeout(file)
    near.close()
    file.close()
    far.close()
    found.set(1)
    assert near.fileno() == -1


# What is handed out over several attempts


def test_what_was_shown_stays_if_no_further_attempt_has_anything_to_show():
    again = Retry(times=2, base=1, jitter=0, after_output=True)
    stream, _, _ = make([ROLE, text("Half")], [ROLE], OSError("gone"), retry=again)
    with pytest.raises(OSError, match="gone"):
        list(stream)
    assert (stream.response().text, stream.response().truncated) == ("Half", True)
    stream, _, _ = make([ROLE, text("Half")], [ROLE], Refusal(500), retry=again)
    events = list(stream)
    assert [event for event in events if isinstance(event, MessageReset)] == []
    assert (stream.response().text, stream.response().truncated) == ("Half", True)
    assert rebuild(events) == stream.response()
    assert stream.attempts[-1].error.status == 500


def test_each_attempt_that_shows_something_takes_back_the_one_before():
    halves = [[ROLE, text(word)] for word in ("One", "Two")]
    seen = []
    stream, _, _ = make(
        *halves,
        ANSWER,
        retry=Retry(after_output=True, base=1, jitter=0),
        on_retry=lambda _: seen.append(stream.response()),
    )
    events = list(stream)
    assert [event.text if isinstance(event, TextDelta) else "x" for event in events if isinstance(event, (TextDelta, MessageReset))] == [
        "One", "x", "Two", "x", "Hel", "lo",
    ]  # fmt: skip
    assert rebuild(events) == stream.response()
    assert [(response.text, response.ended, response.truncated) for response in seen] == [
        ("One", None, False),
        ("Two", None, False),
    ]


def test_an_in_stream_error_before_the_first_output_is_not_handed_out_if_another_attempt_follows():
    stream, _, _ = make([ROLE, OVERLOADED], ANSWER)
    assert [event for event in stream if isinstance(event, ErrorEvent)] == []
    assert stream.attempts[0].error.status == 503


def test_a_call_counts_as_output_also_without_arguments():
    call = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": ""}}]})
    stream, server, _ = make([ROLE, call], ANSWER)
    list(stream)
    assert (len(server.opened), stream.response().truncated) == (1, True)


def test_fallbacks_are_asked_in_turn_and_all_their_causes_are_kept():
    clock = FakeClock()
    asked = []

    def failing(name):
        def connect():
            asked.append(name)
            raise ConnectionResetError(name)

        return connect

    stream = resilience.stream(
        failing("a"), clock=clock, retry=None, fallback=[failing("b"), Fallback(connect=failing("c"), name="c")]
    )
    with pytest.raises(FallbackFailed) as caught:
        list(stream)
    assert asked == ["a", "b", "c"]
    assert [str(cause.exception) for cause in caught.value.causes] == ["a", "b", "c"]


def test_a_fallback_that_shows_something_and_fails_is_the_last():
    stream, _, _ = make(OSError("x"), retry=None, fallback=[lambda: iter([ROLE, text("Half")]), lambda: iter(ANSWER)])
    with pytest.raises(FallbackFailed):
        list(stream)
    assert (stream.response().text, len(stream.attempts)) == ("Half", 2)


def test_that_a_fallback_answered_is_a_diagnostic_and_an_event():
    stream, _, _ = make(
        OSError("x"),
        retry=None,
        fallback=Fallback(connect=lambda: iter(ANSWER), name="small model", dialect="openai-chat"),
    )
    events = list(stream)
    told = [event.diagnostic for event in events if isinstance(event, DiagnosticEvent)]
    assert [(item.kind, item.detail) for item in told] == [
        ("fallback", "answered by small model after 1 failed attempts")
    ]


def test_is_worth_decides_first():
    worth = Retry(base=1, jitter=0, is_worth=lambda error: True if error.status == 409 else None)
    stream, server, _ = make(Refusal(409), Refusal(404), retry=worth)
    list(stream)
    assert len(server.opened) == 2
    paid = Retry(base=1, jitter=0, is_worth=lambda error: True)
    quota = {"error": {"type": "insufficient_quota", "message": "Pay"}}
    stream, server, _ = make(Refusal(429, quota), ANSWER, retry=paid)
    list(stream)
    assert (len(server.opened), stream.attempts[0].rate_limit.kind) == (2, "quota")
    never = Retry(is_worth=lambda error: False)
    stream, server, _ = make(Refusal(500), ANSWER, retry=never)
    list(stream)
    assert len(server.opened) == 1


# Observers


def test_observers_hear_of_attempts_and_of_what_is_handed_out():
    heard = []
    names = ("on_attempt", "on_retry", "on_fallback", "on_text", "on_usage", "on_done")
    watch = {name: (lambda news, name=name: heard.append((name, news))) for name in names}
    stream, _, _ = make([ROLE], retry=Retry(times=1, base=1, jitter=0), fallback=lambda: iter(ANSWER), **watch)
    list(stream)
    assert [name for name, _ in heard] == [
        "on_attempt", "on_retry", "on_attempt", "on_fallback", "on_attempt", "on_text", "on_text", "on_usage", "on_done",
    ]  # fmt: skip
    attempts = [news for name, news in heard if name in ("on_attempt", "on_retry", "on_fallback")]
    assert [(a.number, a.kind, a.wait, a.error and a.error.type) for a in attempts] == [
        (1, "stream", None, None), (1, "stream", 1, "truncated"), (2, "stream", None, None),
        (2, "stream", None, "truncated"), (3, "fallback", None, None),
    ]  # fmt: skip
    assert heard[-1][1] is stream.response()


def test_an_observer_that_raises_is_reported_once(caplog):
    def wrong(news):
        raise ZeroDivisionError

    stream, _, _ = make([ROLE], [ROLE], ANSWER, on_attempt=wrong, on_text=wrong)
    list(stream)
    assert stream.response().text == "Hello"
    assert sorted(record.args[0] for record in caplog.records) == ["on_attempt", "on_text"]


def test_an_observer_may_end_the_stream():
    clock = FakeClock()
    server = Server(clock, [ROLE], ANSWER)
    stream = resilience.stream(server, clock=clock, retry=EXACT, on_retry=lambda _: stream.close())
    assert [event.type for event in stream] == []
    assert (len(server.opened), server.opened[0].closed, stream.response().ended) == (1, True, "cancelled")


@pytest.mark.parametrize("retry", [None, EXACT])
def test_the_response_is_complete_when_its_last_events_are_seen(retry):
    stream, server, _ = make([b"".join(ANSWER)], retry=retry)
    for event in stream:
        if event.type == "finish":
            break
    assert stream.response().ended is None
    for event in stream:
        if event.type == "part_stop":
            break
    assert (stream.response().ended, server.opened[0].closed) == ("clean", True)
    stream.close()
    assert stream.response().ended == "clean"
    assert stream.attempts[0].first_output == 0


def test_done_is_told_once_on_every_way_out():
    done = []
    stream, _, _ = make(ANSWER, on_done=done.append)
    with stream:
        next(stream)
    stream.close()
    assert [response.ended for response in done] == ["cancelled"]


def test_an_attempt_is_a_value():
    stream, _, _ = make(Refusal(429, None, retry_after="3"), ANSWER, rate_limits=RateLimitRetry(jitter=0))
    list(stream)
    for attempt in stream.attempts:
        assert Attempt.from_json(attempt.to_json()) == attempt
    assert "Hello" not in repr(stream.attempts)


# Limits and policies


def test_a_limit_is_raised_behind_the_events_before_it_and_not_tried_again():
    stream, server, _ = make([ROLE, text("Hel"), text("x" * 100)], limits=Limits(frame_bytes=150))
    events = []
    with pytest.raises(LimitExceeded):
        events.extend(stream)
    events = []
    stream, server, _ = make([ROLE, text("Hel"), text("x" * 100)], limits=Limits(frame_bytes=150))
    with pytest.raises(LimitExceeded):
        for event in stream:
            events.append(event)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["Hel"]
    assert (stream.response().text, stream.response().error.type) == ("Hel", "limit_exceeded")
    assert (len(server.opened), server.opened[0].closed, list(stream)) == (1, True, [])


def test_what_the_policy_objects_to_is_raised_at_the_end():
    call = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{nope"}}]})
    stream, _, _ = make([ROLE, call, chunk({}, "tool_calls"), DONE], policy=Policy(unusable_arguments="raise"))
    with pytest.raises(PolicyError):
        list(stream)
    assert stream.response().tool_calls[0].status == "invalid"


def test_options_of_the_fold_are_those_of_every_attempt():
    body = [chunk({"content": "<think>so</think>Yes"}), STOP, DONE]
    stream, _, _ = make([ROLE], body, split_think_tags=True, live_text=True)
    list(stream)
    assert (stream.response().reasoning, stream.response().text) == ("so", "Yes")


# Errors of clients


class _Response:
    def __init__(self, status=None, headers=None, content=b""):
        self.status_code, self.headers, self.content = status, headers or {}, content


class ApiStatusError(Exception):
    """As the SDKs built by Stainless raise it."""

    def __init__(self, status, body, headers=None):
        super().__init__("Error code")
        self.status_code, self.body, self.response = status, body, _Response(status, headers)


class HTTPStatusError(Exception):
    """As httpx raises it."""

    def __init__(self, status, content):
        super().__init__("Client error")
        self.response = _Response(status, {}, content)


class ClientError(Exception):
    """As botocore raises it."""

    def __init__(self, code, status):
        super().__init__("An error occurred")
        self.response = {
            "Error": {"Code": code, "Message": "Slow down"},
            "ResponseMetadata": {"HTTPStatusCode": status, "HTTPHeaders": {"retry-after": "4"}},
        }


class APIError(Exception):
    """As openai raises it for an error that came in the stream: there is no status."""

    def __init__(self, body):
        super().__init__("Error")
        self.body = body


class EventStreamError(Exception):
    """As botocore raises it for an exception that came in the stream."""

    def __init__(self, code):
        super().__init__("An error occurred")
        self.response = {"Error": {"Code": code, "Message": "Too many tokens, please wait before trying again."}}


class APIConnectionError(Exception):
    pass


class TransportError(Exception):
    pass


class UnsupportedProtocol(TransportError):
    pass


class SSLCertVerificationError(Exception):
    pass


def certificate():
    error = TransportError("TLS")
    error.__cause__ = SSLCertVerificationError("expired")
    return error


@pytest.mark.parametrize(
    ("error", "status", "type_", "retryable"),
    [
        (ApiStatusError(429, {"type": "rate_limit_error", "message": "Slow"}), 429, "rate_limit_error", True),
        (
            ApiStatusError(529, {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}),
            529,
            "overloaded_error",
            True,
        ),
        (ApiStatusError(401, {"error": {"type": "authentication_error"}}), 401, "authentication_error", False),
        (ApiStatusError(500, None, {"x-should-retry": "false"}), 500, None, False),
        (ApiStatusError(429, {"code": "insufficient_quota", "message": "Pay"}), 429, None, False),
        (HTTPStatusError(503, b'{"error": {"type": "x", "message": "y"}}'), 503, "x", True),
        (HTTPStatusError(502, b"<html>"), 502, None, True),
        (ClientError("ThrottlingException", 429), 429, "ThrottlingException", True),
        (ClientError("ValidationException", 400), 400, "ValidationException", False),
        (APIError({"message": "Overloaded", "type": "server_error", "code": 503}), 503, "server_error", True),
        (APIError({"message": "No", "type": "invalid_request_error"}), 400, "invalid_request_error", False),
        (
            ApiStatusError(200, {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
            529,
            "overloaded_error",
            True,
        ),
        (EventStreamError("throttlingException"), 429, "throttlingException", True),
        (EventStreamError("validationException"), 400, "validationException", False),
        (APIConnectionError("no"), None, "APIConnectionError", True),
        (TransportError("no"), None, "TransportError", True),
        (UnsupportedProtocol("ftp"), None, "UnsupportedProtocol", False),
        (certificate(), None, "TransportError", False),
        (ExceptionGroup("tasks", [ConnectionResetError("x")]), None, "ConnectionResetError", True),
        (ExceptionGroup("tasks", [ConnectionResetError("x"), KeyError("y")]), None, "ExceptionGroup", False),
        (EOFError(), None, "EOFError", True),
        (PermissionError("x"), None, "PermissionError", False),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_clients_raise_is_read_by_its_shape(error, status, type_, retryable):
    told = failure_of(error)
    assert (told.status, told.type, told.retryable) == (status, type_, retryable)
    assert told.exception is error or isinstance(error, ExceptionGroup)
    assert told.message or isinstance(error, EOFError)


def test_a_rate_limit_is_told_from_what_a_client_raised():
    found = rate_limit_of(ApiStatusError(429, None, {"retry-after-ms": "1500"}))
    assert (found.kind, found.retry_after) == ("unknown", 1.5)
    assert rate_limit_of(ClientError("ThrottlingException", 429)).retry_after == 4
    assert rate_limit_of(ConnectionResetError()) is None


def test_an_exception_that_was_raised_with_a_status_is_judged_by_it_and_raised_in_the_end():
    stream, server, clock = make(
        ApiStatusError(503, None, {"retry-after": "2"}),
        rate_limits=RateLimitRetry(times=1, escalate_after=None, jitter=0),
    )
    with pytest.raises(ApiStatusError):
        list(stream)
    assert (len(server.opened), clock.waits) == (2, [2])
    assert stream.response().error.status == 503


def test_an_error_in_the_stream_that_an_sdk_raises_is_judged_as_the_server_told_it():
    """Where somebody traces the SDK's stream its objects are read, and it raises amid them."""
    told = APIError(
        {"message": "Rate limit reached on tokens per min (TPM)", "type": "tokens", "code": "rate_limit_exceeded"}
    )
    stream, server, _ = make([ROLE, told], ANSWER)
    assert "".join(stream.text()) == "Hello"
    assert len(server.opened) == 2
    first = stream.attempts[0]
    assert (first.error.type, first.error.code, first.error.exception) == ("tokens", "rate_limit_exceeded", told)
    assert first.rate_limit.kind == "tokens"

    stream, server, _ = make([ROLE, APIError({"message": "No", "type": "invalid_request_error"})], ANSWER)
    with pytest.raises(APIError):
        list(stream)
    assert len(server.opened) == 1
    assert stream.response().error.type == "invalid_request_error"


def test_a_redirection_that_was_not_followed_is_not_asked_again():
    stream, server, _ = make(Refusal(308), ANSWER)
    list(stream)
    assert (len(server.opened), stream.response().error.status) == (1, 308)


def test_an_answer_that_urllib_raises_is_one_in_threads_and_in_tasks():
    """Tasks get it from `asyncio.to_thread(urlopen, request)`."""
    quota = b'{"error": {"message": "Pay first", "type": "insufficient_quota"}}'

    def refused():
        raise urllib.error.HTTPError("http://x", 429, "Too Many Requests", email.message.Message(), io.BytesIO(quota))

    async def read():
        async with resilience.astream(lambda: asyncio.to_thread(refused)) as stream:
            return [event async for event in stream], stream.response()

    with resilience.stream(refused) as stream:
        events = list(stream)
    assert stream.response().error.type == "insufficient_quota"
    assert asyncio.run(read()) == (events, stream.response())


def test_a_refusal_without_a_word_has_its_status_alone():
    stream, _, _ = make(Refusal(404))
    list(stream)
    error = stream.response().error
    assert (error.status, error.message, error.raw) == (404, None, None)


def told(**error):
    return b"data: %s\n\n" % json.dumps({"error": error}).encode()


@pytest.mark.parametrize(
    "failed",
    [
        told(message="Internal Server Error", type="internal_server_error"),
        told(message="Internal server error", code="InternalServerError"),
        told(message="Service is too busy", type="service_unavailable_error"),
        told(message="Rate limit exceeded", type="rate_limited", code="1300"),
        told(message="The model is temporarily at capacity. Please try again later."),
        told(message="AiError: Capacity temporarily exceeded, please try again.", code=3040),
        b'data: {"choices":null,"base_resp":{"status_code":1002,"status_msg":"rate limit"}}\n\n',
        b'data: {"choices":null,"base_resp":{"status_code":1033,"status_msg":"system error"}}\n\n',
    ],
)
def test_errors_that_pass_are_asked_again_in_the_words_of_many_vendors(failed):
    """Groq, Azure, DeepSeek, Mistral, xAI, Cloudflare and MiniMax tell them in a 200, most without a status."""
    stream, server, _ = make([failed], ANSWER, rate_limits=RateLimitRetry(jitter=0))
    assert "".join(stream.text()) == "Hello"
    assert len(server.opened) == 2


@pytest.mark.parametrize(
    "failed",
    [
        told(message="Failed to call a function.", type="invalid_request_error", code="tool_use_failed"),
        told(message="Your account is suspended", type="exceeded_current_quota_error"),
        told(message="You exceeded your current quota", type="insufficient_quota"),
        b'data: {"choices":null,"base_resp":{"status_code":1008,"status_msg":"insufficient balance"}}\n\n',
    ],
)
def test_errors_that_stay_are_not_asked_again(failed):
    stream, server, _ = make([failed], ANSWER)
    list(stream)
    assert (len(server.opened), stream.response().finish_reason) == (1, "error")


def test_threads_have_streams_of_their_own():
    texts = []

    def run():
        stream, _, _ = make([ROLE], ANSWER)
        list(stream)
        texts.append(stream.response().text)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["Hello"] * 8


def test_json_that_is_not_streamed_is_a_stream_of_one():
    body = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
    }
    for source in (body, json.dumps(body).encode()):
        stream = resilience.stream(lambda source=source: source, timeouts=Timeouts(first=1))
        list(stream)
        assert (stream.response().text, stream.response().ended) == ("Hi", "clean")
