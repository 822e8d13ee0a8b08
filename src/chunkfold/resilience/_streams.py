"""The resilient streams: for threads and for tasks, around one course."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Any, Self

from chunkfold.basis._wording import check_number, check_text, checked
from chunkfold.doors._at_exit import remember
from chunkfold.doors._intake import next_of
from chunkfold.doors._observers import NAMES, Observers, Teller
from chunkfold.doors._source_folder import SourceFolder
from chunkfold.doors._sources import Opened, _WrongUse, open_async_source, open_source
from chunkfold.doors._streams import AnswerText, AsyncText, Uncopied
from chunkfold.doors._unwinding import unwind
from chunkfold.errors import TimeoutUnsupported
from chunkfold.events import Event
from chunkfold.limits import Limits
from chunkfold.parts import ToolCall
from chunkfold.policy import Policy
from chunkfold.resilience._clock import Clock, Overdue, clock_or_real
from chunkfold.resilience._course import Course
from chunkfold.resilience._headers import headers_of
from chunkfold.resilience._limiters import Limiter, check_limiter
from chunkfold.resilience._read_timeouts import ReadTimeout, never_waits, read_timeout
from chunkfold.resilience._sequence import ResumePoint
from chunkfold.resilience._settings import Attempt, RateLimitRetry, Retry, Timeouts, fallbacks, opener
from chunkfold.resilience._steps import CLOSE, END, OVERDUE, READ, Admit, Connect, Failed, Open
from chunkfold.response import Response, Usage

__all__ = ["AsyncResilientStream", "ResilientStream", "astream", "stream"]

_RETRY = Retry()
_RATE_LIMITS = RateLimitRetry()

# A transport that gave up so much before its time has given up in time: clocks have a grain.
_GRAIN = 0.002


def stream(
    connect: Callable[[], Any],
    dialect: str = "auto",
    *,
    timeouts: Timeouts | None = None,
    retry: Retry | None = _RETRY,
    rate_limits: RateLimitRetry | None = _RATE_LIMITS,
    fallback: Any = None,
    resume: Callable[[ResumePoint], Any] | None = None,
    limiter: Limiter | None = None,
    limiter_key: str = "",
    limiter_tokens: float = 0,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
    on_attempt: Callable[[Attempt], object] | None = None,
    on_retry: Callable[[Attempt], object] | None = None,
    on_fallback: Callable[[Attempt], object] | None = None,
    clock: Clock | None = None,
) -> ResilientStream:
    """
    Iterate over the events of a stream that is asked for again when it fails.

        with resilience.stream(lambda: client.send(request, stream=True)) as events:
            for event in events:
                ...
        message = events.response().message

    Args:
        connect: Opens a fresh source, whatever `chunkfold.stream` takes, or a context manager that gives one. It is
            called once for each attempt.
        dialect: As in `chunkfold.stream`.
        timeouts: How long it may take. The source needs a read timeout that can be set.
        retry: When and how often it is asked for again. `None`: never.
        rate_limits: The same for refusals for rate limits and overload. `None`: never.
        fallback: What is asked when the stream has failed for good: a callable as *connect*, a `Fallback`, or several.
        resume: Opens the source of an OpenAI response again, behind the last event that came; for responses that run in
            the background. What broke off then goes on, and nothing is taken back.
        limiter: Asked for room before each attempt.
        limiter_key: The key that it is asked with.
        limiter_tokens: About how many tokens the request will cost.
        split_think_tags: As in `chunkfold.stream`.
        cumulative_deltas: As in `chunkfold.stream`.
        limits: As in `chunkfold.stream`.
        policy: As in `chunkfold.stream`.
        live_arguments: As in `chunkfold.stream`.
        live_text: As in `chunkfold.stream`.
        on_text: As in `chunkfold.stream`.
        on_reasoning: As in `chunkfold.stream`.
        on_tool_call: As in `chunkfold.stream`.
        on_usage: As in `chunkfold.stream`.
        on_done: As in `chunkfold.stream`.
        on_attempt: Called with each attempt when it begins.
        on_retry: Called with an attempt that failed, before the wait that is in its `wait`.
        on_fallback: Called with the attempt that failed last, before a fallback is asked.
        clock: The time; for tests.

    While iterating it raises, when the events that came before have been handed out: `StreamTimeout`, what the client
    or source raised in the last attempt (unchanged), `RateLimitEscalation`, `FallbackFailed`, `LimiterTimeout`,
    `TimeoutUnsupported`, and what `chunkfold.stream` raises. An error that the provider told is in the response.

    Raises:
        UnknownDialect: If no dialect has that name.
        TypeError: If an argument is of another type.
    """
    return ResilientStream(_course(locals()))  # all that was given, by its names


def astream(
    connect: Callable[[], Any],
    dialect: str = "auto",
    *,
    timeouts: Timeouts | None = None,
    retry: Retry | None = _RETRY,
    rate_limits: RateLimitRetry | None = _RATE_LIMITS,
    fallback: Any = None,
    resume: Callable[[ResumePoint], Any] | None = None,
    limiter: Limiter | None = None,
    limiter_key: str = "",
    limiter_tokens: float = 0,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
    on_attempt: Callable[[Attempt], object] | None = None,
    on_retry: Callable[[Attempt], object] | None = None,
    on_fallback: Callable[[Attempt], object] | None = None,
    clock: Clock | None = None,
) -> AsyncResilientStream:
    """
    As `stream`, for `async with` and `async for`, under asyncio, anyio and trio.

    *connect* may return an awaitable or an asynchronous context manager. Every wait can be cancelled, and what is
    cancelled is not tried again. `response()` is a plain method and never waits.
    """
    return AsyncResilientStream(_course(locals()))  # all that was given, by its names


_SETTINGS: dict[str, type[Any]] = {"timeouts": Timeouts, "retry": Retry, "rate_limits": RateLimitRetry}
_OPTIONS = ("split_think_tags", "cumulative_deltas", "limits", "policy", "live_arguments", "live_text")


def _course(given: dict[str, Any]) -> Course:
    """The course that the arguments of `stream` and `astream` ask for."""
    opener("connect", given["connect"])
    if given["resume"] is not None:
        opener("resume", given["resume"])
    for name, kind in _SETTINGS.items():
        if given[name] is not None:
            checked(kind, given[name], name, f"a resilience.{kind.__name__}")
    check_limiter(given["limiter"])
    check_text("limiter_key", given["limiter_key"])
    check_number("limiter_tokens", given["limiter_tokens"])
    options = {name: given[name] for name in _OPTIONS}
    SourceFolder(**options)  # what it refuses is refused here, before anything is asked for
    return Course(
        given["connect"],
        given["dialect"],
        clock=clock_or_real(given["clock"]),
        timeouts=given["timeouts"],
        retry=given["retry"],
        rate_limits=given["rate_limits"],
        fallbacks=fallbacks(given["fallback"]),
        resume=given["resume"],
        limiter=given["limiter"],
        limiter_key=given["limiter_key"],
        limiter_tokens=given["limiter_tokens"],
        options=options,
        observers=Observers.of(*(given[name] for name in NAMES)),
        news=Teller({name: given[name] for name in ("on_attempt", "on_retry", "on_fallback")}),
    )


class _Resilient(Uncopied):
    """What both streams share."""

    def __init__(self, course: Course) -> None:
        self._course = course
        self._clock = course.clock
        self._opened: Opened | None = None
        # How to close what is read, a file too since it was opened for us alone, and to leave what opened it.
        self._ways_out: list[Callable[[], Any]] = []
        remember(self)

    def response(self) -> Response:
        """The response so far, complete once the stream is over. It never waits."""
        return self._course.response()

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """What was tried so far, the running attempt too. Each has its own response, with its usage."""
        return self._course.attempts

    def usage(self) -> Usage | None:
        """What all attempts together have cost, as far as the servers said; `None` if none did."""
        return self._course.usage()

    def _refuse_taking_back(self) -> None:
        if self._course.may_reset:
            raise ValueError("text() cannot take back what it gave: with after_output iterate over the events")

    def _leave_by(self, *ways: Callable[[], Any] | None) -> None:
        """What to call when a source is done with, in order, each once: the pieces may be the source itself."""
        self._ways_out = [way for at, way in enumerate(ways) if way is not None and way not in ways[:at]]

    def _pieces(self) -> Any:
        assert self._opened is not None  # noqa: S101 - nothing is read before it is opened
        return self._opened.pieces


class ResilientStream(_Resilient):
    """
    An iterator of events and a context manager, as `chunkfold.Stream`, with `attempts` and `usage()`.

    The source is closed and the response final at the end, at whatever is raised, on leaving the `with` block, at
    `close()`, and when the stream is collected. A `break` outside `with` leaves it open to be continued.
    """

    _timeout: ReadTimeout | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        course = self._course
        course.start()
        while True:
            event = course.take()
            if event is None and not course.over:
                event = self._do()
            if event is not None:
                return event
            if course.over and not course.has_news:
                raise StopIteration

    def _do(self) -> Event | None:
        """Do the step at hand. A plain event that it gives is returned, other events wait."""
        course, step = self._course, self._course.step
        try:
            if step is READ:
                piece = self._read()
                event = course.plain_event(piece)
                if event is not None:
                    return event
                course.tell(piece)
                # The response is complete as soon as its last events can be seen.
                if course.step is CLOSE:
                    self._close_source()
                    course.tell(None)
            elif step is CLOSE:
                self._close_source()
                course.tell(None)
            elif isinstance(step, Connect):
                course.tell(self._connect(step.connect))
            elif isinstance(step, Admit):
                course.tell(self._admit(step))
            elif step is not None:
                self._clock.sleep(step.seconds)  # type: ignore[union-attr]
                course.tell(None)
            if course.over:  # it may have been closed while the source was opened
                self._close_source()
        except BaseException:
            self.close()
            raise
        return None

    def _read(self) -> Any:
        left = self._course.patience()
        if left is not None and self._timeout is not None:
            if left <= 0:
                return OVERDUE
            self._timeout.set(left)
        begun = self._clock.now() if left is not None else 0.0
        try:
            return next(self._pieces())
        except StopIteration:
            return END
        except Exception as error:  # noqa: BLE001 - whatever the transport raises is told and judged
            if left is not None and self._clock.now() - begun >= left - _GRAIN:
                return OVERDUE
            return Failed(error, isinstance(error, _WrongUse))

    def _connect(self, connect: Callable[[], Any]) -> Any:
        left = self._course.patience()
        if left is not None and left <= 0:
            return OVERDUE
        leave: Any = None
        try:
            source = connect()
            if _is_manager(source, "__enter__", "__iter__"):
                manager = source
                source = manager.__enter__()
                leave = _leaving(manager.__exit__)
        except Exception as error:  # noqa: BLE001 - as above
            if not _is_answer(error):
                return Failed(error)
            source = error
        try:
            self._opened = opened = open_source(source)
            self._leave_by(getattr(opened.pieces, "close", None), opened.close or getattr(source, "close", None), leave)
            if self._course.is_timed:
                self._timeout = read_timeout(source)
        except (TypeError, OSError) as error:
            if self._opened is None and leave is not None:
                leave()
            return Failed(error, isinstance(error, TypeError))
        return Open(opened.status, headers_of(source))

    def _admit(self, step: Admit) -> Any:
        try:
            return step.limiter.acquire(step.key, step.tokens, max_wait=step.max_wait)
        except Exception as error:  # noqa: BLE001 - as above
            return Failed(error)

    def _close_source(self) -> None:
        self._opened = None
        ways, self._ways_out = self._ways_out, []
        timeout, self._timeout = self._timeout, None
        with contextlib.ExitStack() as stack:
            if timeout is not None:
                stack.callback(timeout.release)
            for way in reversed(ways):
                stack.callback(self._close, way)

    def _close(self, way: Callable[[], Any]) -> None:
        try:
            way()
        except ValueError:
            self._ways_out.append(way)  # a generator that is being read from: it is closed behind that
        except Exception:  # noqa: BLE001 - the response is complete: what closing raises helps nobody
            pass
        except BaseException:
            self._ways_out.append(way)  # it has been interrupted, and is tried again
            raise

    def text(self) -> Iterator[str]:
        """
        The answer text alone, piece by piece.

        Raises:
            ValueError: With `after_output`, since text that was handed out cannot be taken back.
        """
        self._refuse_taking_back()
        is_text = AnswerText()
        for event in self:
            if is_text.has(event):
                yield event.text  # type: ignore[union-attr]

    def close(self) -> None:
        """Close the source; the response is final, `cancelled` if it had not ended. Doing it again does nothing."""
        self._course.cancel()
        self._close_source()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _abandon(self) -> None:
        if hasattr(self, "_course") and not self._course.over:
            self.close()

    __del__ = _abandon


class AsyncResilientStream(_Resilient):
    """
    An asynchronous iterator of events and a context manager, as `chunkfold.AsyncStream`, with `attempts` and `usage()`.

    `response()` and `usage()` are plain methods and never wait. A stream that is collected without having been closed
    finalises its response, drops the source and warns with ResourceWarning.
    """

    def __init__(self, course: Course) -> None:
        super().__init__(course)
        self._steps = self._clock.steps()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        course = self._course
        course.start()
        while True:
            event = course.take()
            if event is None and not course.over:
                event = await self._do()
            if event is not None:
                return event
            if course.over and not course.has_news:
                raise StopAsyncIteration

    async def _do(self) -> Event | None:
        """Do the step at hand. A plain event that it gives is returned, other events wait."""
        course, step = self._course, self._course.step
        try:
            if step is READ:
                piece = await self._read()
                event = course.plain_event(piece)
                if event is not None:
                    return event
                course.tell(piece)
                if course.step is CLOSE:
                    await self._close_source()
                    course.tell(None)
            elif step is CLOSE:
                await self._close_source()
                course.tell(None)
            elif isinstance(step, Connect):
                course.tell(await self._connect(step.connect))
            elif isinstance(step, Admit):
                course.tell(await self._admit(step))
            elif step is not None:
                await self._clock.asleep(step.seconds)  # type: ignore[union-attr]
                course.tell(None)
            if course.over:  # another task may have closed it while this one waited
                await self._close_source()
        except BaseException:
            course.cancel()
            await self._close_source()
            raise
        return None

    async def _read(self) -> Any:
        left = self._course.patience()
        pieces = self._pieces()
        try:
            if left is None:
                return await next_of(pieces)
            if left <= 0:
                return OVERDUE
            if not hasattr(pieces, "__anext__"):  # it never waits
                return await next_of(pieces)
            return await self._steps.within(left, pieces.__anext__)
        except (StopIteration, StopAsyncIteration):
            return END
        except Overdue:
            return OVERDUE
        except Exception as error:  # noqa: BLE001 - whatever the transport raises is told and judged
            return Failed(error, isinstance(error, _WrongUse))

    async def _connect(self, connect: Callable[[], Any]) -> Any:
        left = self._course.patience()
        leave: list[Any] = []
        try:
            if left is None:
                source = await _entered(connect, leave)
            elif left <= 0:
                return OVERDUE
            else:
                source = await self._clock.within(left, lambda: _entered(connect, leave))
        except Overdue:
            return OVERDUE
        except Exception as error:  # noqa: BLE001 - as above
            if not _is_answer(error) or self._course.is_timed:
                return Failed(error)
            source = error
        try:
            self._opened = opened = open_async_source(source)
            close = opened.close or getattr(source, "aclose", None) or getattr(source, "close", None)
            pieces = opened.pieces
            self._leave_by(lambda: unwind(pieces), getattr(pieces, "aclose", None), close, *leave)
            if self._course.is_timed and not hasattr(opened.pieces, "__anext__") and not never_waits(source):
                kind = type(source).__name__
                raise TimeoutUnsupported(f"a {kind}", "it blocks the event loop; give an asynchronous source")
        except (TypeError, OSError) as error:
            if self._opened is None and leave:
                await self._clock.closing(leave[0])
            return Failed(error, isinstance(error, TypeError))
        return Open(opened.status, headers_of(source))

    async def _admit(self, step: Admit) -> Any:
        try:
            return await step.limiter.aacquire(step.key, step.tokens, max_wait=step.max_wait)
        except Exception as error:  # noqa: BLE001 - as above
            return Failed(error)

    async def _close_source(self) -> None:
        self._steps.close()
        self._opened = None
        ways, self._ways_out = self._ways_out, []
        async with contextlib.AsyncExitStack() as stack:
            for way in reversed(ways):
                stack.push_async_callback(self._close, way)

    async def _close(self, way: Callable[[], Any]) -> None:
        try:
            await self._clock.closing(way)
        except RuntimeError:
            self._ways_out.append(way)  # a generator that another task reads from: that one closes it
        except Exception:  # noqa: BLE001 - the response is complete: what closing raises helps nobody
            pass
        except BaseException:
            self._ways_out.append(way)  # it has been interrupted, and is tried again
            raise

    def text(self) -> AsyncIterator[str]:
        """As `ResilientStream.text`."""
        self._refuse_taking_back()
        return AsyncText(self)

    async def aclose(self) -> None:
        """Close the source; the response is final, `cancelled` if it had not ended. Doing it again does nothing."""
        self._course.cancel()
        await self._close_source()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _abandon(self) -> None:
        if hasattr(self, "_course") and not self._course.over:
            has_begun = self._course.step is not None
            self._course.cancel()
            if has_begun:
                import warnings

                warnings.warn(f"{self!r} was not closed: use 'async with' or aclose()", ResourceWarning, stacklevel=1)

    __del__ = _abandon


async def _entered(connect: Callable[[], Any], leave: list[Any]) -> Any:
    """The source that *connect* gives, awaited and entered as needed; how to leave it comes into *leave*."""
    source = connect()
    if hasattr(source, "__await__"):
        source = await source
    if _is_manager(source, "__aenter__", "__aiter__"):
        manager = source
        source = await manager.__aenter__()
        leave.append(_leaving(manager.__aexit__))
    return source


def _is_manager(source: Any, enter: str, iterate: str) -> bool:
    """True if *source* is nothing to read from but opens what is: `client.stream(...)` of httpx and of some SDKs."""
    return (
        hasattr(type(source), enter)
        and not hasattr(type(source), iterate)
        and not any(hasattr(source, name) for name in ("headers", "read", "__fspath__"))
    )


def _is_answer(error: Exception) -> bool:
    """True if what was raised is the answer itself: `urllib.request` raises those of 400 and over."""
    return isinstance(getattr(error, "status", None), int) and callable(getattr(error, "read", None))


def _leaving(leave: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: leave(None, None, None)
