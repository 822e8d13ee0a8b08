"""
The doors: `fold` and `stream`, and their asynchronous twins.

Each is a thin shell around a `Folder`: it reads the source, feeds the folder, and sees to it that the response is
finalised exactly once, whichever way the caller leaves.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar, overload

from chunkfold._at_exit import forget, remember
from chunkfold._decoder import END
from chunkfold._folder import Folder
from chunkfold._objects import is_noise, payload_of
from chunkfold._observers import Observers
from chunkfold._sources import LineWatch, _WrongUse, open_async_source, open_source
from chunkfold.errors import LimitExceeded
from chunkfold.events import PartStart, TextDelta

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    from chunkfold._sources import Opened
    from chunkfold.events import Event
    from chunkfold.limits import Limits
    from chunkfold.parts import ToolCall
    from chunkfold.policy import Policy
    from chunkfold.response import Response, StreamError, Usage
    from chunkfold.timing import Timer, Timing
    from chunkfold.typed import AsyncTypedStream, TypedStream

__all__ = ["AsyncStream", "Stream", "afold", "astream", "fold", "stream"]

T = TypeVar("T")

_ERROR_BODY_BYTES = 1 << 20

# A piece of fewer bytes that ends amid an event is small; as many bytes as are joined; as many pieces at first.
_SMALL = 512
_READ_AHEAD = 64 << 10
_FEW = 64


def fold(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
) -> Response:
    """
    Fold a whole stream into the complete response.

    Args:
        source: Bytes (the body), a path, a binary file, an iterable of bytes, text or decoded payloads, or the
            response object of an HTTP client.
        dialect: The name of the wire dialect, or `auto` to find it out.
        split_think_tags: Move what stands between `<think>` and `</think>` in the text to reasoning parts.
        cumulative_deltas: True if each text is the whole text so far; `None`: as the dialect sends by default.
        limits: Caps on what the stream may cost.
        policy: How doubtful things are judged.

    Returns:
        The response. What was wrong in the stream is in it: look at `error`, `truncated` and the calls' `status`, or
        call `raise_if_incomplete()`. An exception of the source is in `error`, with `origin="transport"`.

    Raises:
        TypeError: If *source* is nothing that can be folded; the message names the remedy.
        UnknownDialect: If no dialect has that name.
        LimitExceeded: If a limit is passed; it carries the response so far.
        PolicyError: If the policy calls something that was found an error; it carries the whole response.
        OSError: If *source* is a path that cannot be opened.
    """
    folder = Folder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
    )
    opened = open_source(source)
    try:
        if opened.is_failure:
            return _failed(folder, opened, _all_of(opened.pieces))
        pieces, intake = opened.pieces, _Intake(folder)
        while True:
            try:
                piece = folder.follow(pieces) if intake.is_sure else next(pieces)
            except StopIteration:
                intake.end()
                return folder.close()
            except _WrongUse:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the transport raises is told in the response
                return folder.close(error)
            if type(piece) is bytes and intake.is_sure:
                folder.feed(piece, events=False)
                if len(piece) < _SMALL and type(pieces) is not _Joined and folder.gains_by_joining:
                    pieces = _Joined(pieces)
            else:
                intake.feed(piece, events=False)
    finally:
        _close_quietly(opened)


async def afold(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
) -> Response:
    """As `fold`, for asynchronous sources and everything that `fold` takes."""
    folder = Folder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
    )
    opened = open_async_source(source)
    try:
        if opened.is_failure:
            return _failed(folder, opened, await _all_of_async(opened.pieces))
        intake = _Intake(folder)
        while True:
            try:
                piece = await _next_of(opened.pieces)
            except (StopIteration, StopAsyncIteration):
                intake.end()
                return folder.close()
            except _WrongUse:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the transport raises is told in the response
                return folder.close(error)
            if type(piece) is bytes and intake.is_sure:
                folder.feed(piece, events=False)
            else:
                intake.feed(piece, events=False)
    finally:
        await _aclose_quietly(opened)


@overload
def stream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[T],
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> TypedStream[T]: ...


@overload
def stream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> Stream: ...


def stream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[Any] | None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> Stream:
    """
    Iterate over the events of a stream while it is folded.

        with chunkfold.stream(response) as events:
            for event in events:
                ...
        message = events.response().message

    Arguments and errors are those of `fold`, but an exception of the source is raised again, unchanged, when the
    events that it ended have been handed out.

    Args:
        source: As in `fold`.
        dialect: As in `fold`.
        split_think_tags: As in `fold`.
        cumulative_deltas: As in `fold`.
        limits: As in `fold`.
        policy: As in `fold`.
        live_arguments: Tell what comes at which path of the arguments of calls; `ToolCall.partial` is at hand.
        live_text: Tell what comes at which path of an answer text that is one JSON document.
        output_type: A msgspec struct, a dataclass or a pydantic model that the answer text is to be, as JSON. The
            stream then has `partial()`, what there is of it so far, and `output()`, the whole, validated.
        clock: Gives seconds, such as `time.perf_counter`, for `timing()`.
        on_text: Called with each piece of answer text of choice 0.
        on_reasoning: Called with each piece of reasoning of choice 0.
        on_tool_call: Called with each client call of choice 0 when it is complete. Look at its `status`.
        on_usage: Called with the usage so far whenever it changes.
        on_done: Called once with the complete response, on every way out.

    An observer that raises is reported once, through `logging`, and does not stop the stream.
    """
    folder = Folder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
        live_arguments=live_arguments,
        live_text=live_text,
    )
    observers = Observers.of(on_text, on_reasoning, on_tool_call, on_usage, on_done)
    timer = _timer(clock)
    if output_type is not None:
        from chunkfold.typed import TypedStream, prepare

        prepare(folder, output_type)
        return TypedStream(folder, open_source(source), observers, timer, output_type)
    return Stream(folder, open_source(source), observers, timer)


@overload
def astream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[T],
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> AsyncTypedStream[T]: ...


@overload
def astream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> AsyncStream: ...


def astream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[Any] | None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> AsyncStream:
    """As `stream`, for `async with` and `async for`. `response()` is a plain method and never waits."""
    folder = Folder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
        live_arguments=live_arguments,
        live_text=live_text,
    )
    observers = Observers.of(on_text, on_reasoning, on_tool_call, on_usage, on_done)
    timer = _timer(clock)
    if output_type is not None:
        from chunkfold.typed import AsyncTypedStream, prepare

        prepare(folder, output_type)
        return AsyncTypedStream(folder, open_async_source(source), observers, timer, output_type)
    return AsyncStream(folder, open_async_source(source), observers, timer)


def _timer(clock: Callable[[], float] | None) -> Timer | None:
    if clock is None:
        return None
    from chunkfold.timing import Timer

    return Timer(clock)


class _Events:
    """What both streams share: the events that wait, and the one time that the response is finalised."""

    def __init__(
        self, folder: Folder, opened: Opened, observers: Observers | None = None, timer: Timer | None = None
    ) -> None:
        self._timer = timer
        self._folder = folder
        self._opened = opened
        self._intake = _Intake(folder)
        self._observers = observers
        self._waiting: deque[Event] = deque()
        self._failure: BaseException | None = None
        self._over = False
        # Events of pieces that need no full reading, as long as there are such.
        self._express: Generator[Event, None, Any] | None = None
        # What has ended them: the piece that comes next, the end, or an exception of the source.
        self._stopped: BaseException | None = None
        remember(self)

    def response(self) -> Response:
        """The response so far: a snapshot while the stream is open, the complete one after its end. It never waits."""
        return self._folder.snapshot()

    def timing(self) -> Timing | None:
        """When what came so far; `None` without a `clock`."""
        return self._timer.timing(self.response().usage) if self._timer is not None else None

    def _feed(self, piece: Any) -> Event | None:
        """Fold one piece. Most mean one plain event, which is returned; other events wait."""
        if self._timer is not None:
            self._timer.read()
            if piece:
                self._timer.bytes_came()
        elif self._observers is None and type(piece) is bytes and self._intake.is_sure:
            event = self._folder.plain_event(piece)
            if event is not None:
                return event
        try:
            self._hear(self._intake.feed(piece))
        except LimitExceeded as breach:
            self._over = True
            self._failure = breach
            self._hear(list(breach.events))
            self._done()
        except BaseException:
            self._finish(cancelled=True)
            raise
        return None

    def _may_express(self) -> bool:
        """True if nobody but the caller looks at the events, and bytes need no look."""
        return self._timer is None and self._observers is None and self._intake.is_sure

    def _finish(self, error: Exception | StreamError | None = None, *, cancelled: bool = False) -> None:
        """The source has ended, in one way or another."""
        if self._over:
            return
        self._over = True
        if self._timer is not None:
            self._timer.read()
        if error is None and not cancelled:
            self._intake.end()
        try:
            reason = GeneratorExit() if cancelled else error
            self._hear(self._folder.finish(reason))
            self._failure = self._folder.objection
        except LimitExceeded as breach:
            self._failure = breach
            self._hear(list(breach.events))
        if isinstance(error, Exception):
            self._failure = error
        self._done()

    def _hear(self, events: list[Event]) -> None:
        """Events have been folded: they wait for the caller, and observers hear of them at once."""
        self._waiting.extend(events)
        if self._timer is not None:
            self._timer.hear(events)
        if self._observers is not None:
            self._observers.hear(events, self._folder.snapshot)

    def _done(self) -> None:
        forget(self)
        if self._observers is not None:
            self._observers.done(self._folder.snapshot())

    def _fail(self, body: bytes) -> None:
        """The server answered with an error instead of a stream."""
        self._finish(_status_error(self._opened, body))

    def _take(self) -> Event | None:
        """The next event that waits; when there is none and something has failed, that is raised."""
        if self._waiting:
            return self._waiting.popleft()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        return None


class Stream(_Events):
    """
    An iterator of events and a context manager; `response()` has what has been folded so far.

    The response is finalised exactly once: at the end, at an exception of the source, on leaving the `with` block, at
    `close()`, or when the stream is collected. A `break` outside `with` leaves it open to be continued.
    """

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        while True:
            if self._express is not None and not self._waiting and not self._over:
                # The way of most events.
                try:
                    return next(self._express)
                except BaseException as stop:  # noqa: BLE001 - it is for `_read` to say what it means
                    self._express, self._stopped = None, stop
            event = self._take()
            if event is not None:
                return event
            if self._over:
                raise StopIteration
            event = self._read()
            if event is not None:
                return event

    def _read(self) -> Event | None:
        """Read one piece; its event, if it is a plain one, else its events wait."""
        if self._opened.is_failure:
            self._fail(_all_of(self._opened.pieces))
            _close_quietly(self._opened)
            return None
        try:
            piece = self._next_piece()
        except StopIteration:
            self._finish()
            _close_quietly(self._opened)
        except _WrongUse:
            self.close()
            raise
        except Exception as error:  # noqa: BLE001 - raised again when the last events are out
            self._finish(error)
            _close_quietly(self._opened)
        except BaseException:
            self.close()
            raise
        else:
            try:
                event = self._feed(piece)
                if not self._over and self._may_express():
                    self._express = self._folder.express(self._opened.pieces)
                return event
            finally:
                if self._over:
                    _close_quietly(self._opened)
        return None

    def _next_piece(self) -> Any:
        """
        The piece to read next.

        Raises:
            StopIteration: When there are no more; and whatever the source raises.
        """
        stopped, self._stopped = self._stopped, None
        if stopped is None:
            pieces = self._opened.pieces
            amid = self._folder.is_amid_event and self._may_express()
            return self._folder.rest_of_event(pieces) if amid else next(pieces)
        if not isinstance(stopped, StopIteration):
            raise stopped
        if stopped.value is END:
            raise StopIteration
        return stopped.value

    def text(self) -> Iterator[str]:
        """The answer text alone, piece by piece: what `response().text` will be."""
        is_text = _AnswerText()
        for event in self:
            if is_text.has(event):
                yield event.text  # type: ignore[union-attr]

    def close(self) -> None:
        """Close the source; finalise the response as `cancelled` if it had not ended. Doing it again does nothing."""
        if not self._over:
            self._finish(cancelled=True)
            self._waiting.clear()
            self._failure = None
        _close_quietly(self._opened)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _abandon(self) -> None:
        if not getattr(self, "_over", True):
            self.close()

    __del__ = _abandon


class AsyncStream(_Events):
    """
    The asynchronous twin of `Stream`: `async with`, `async for`, `aclose()`.

    One that is collected without having been closed finalises its response, drops its source and warns with
    ResourceWarning, since a source cannot be awaited there.
    """

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        while True:
            event = self._take()
            if event is not None:
                return event
            if self._over:
                raise StopAsyncIteration
            event = await self._read()
            if event is not None:
                return event

    async def _read(self) -> Event | None:
        """Read one piece; its event, if it is a plain one, else its events wait."""
        if self._opened.is_failure:
            self._fail(await _all_of_async(self._opened.pieces))
            await _aclose_quietly(self._opened)
            return None
        try:
            piece = await _next_of(self._opened.pieces)
        except (StopIteration, StopAsyncIteration):
            self._finish()
            await _aclose_quietly(self._opened)
        except _WrongUse:
            await self.aclose()
            raise
        except Exception as error:  # noqa: BLE001 - raised again when the last events are out
            self._finish(error)
            await _aclose_quietly(self._opened)
        except BaseException:
            self._finish(cancelled=True)
            await _aclose_quietly(self._opened)
            raise
        else:
            try:
                return self._feed(piece)
            finally:
                if self._over:
                    await _aclose_quietly(self._opened)
        return None

    def text(self) -> AsyncIterator[str]:
        """The answer text alone, piece by piece: what `response().text` will be."""
        return _AsyncText(self)

    async def aclose(self) -> None:
        """Close the source; finalise the response as `cancelled` if it had not ended. Doing it again does nothing."""
        if not self._over:
            self._finish(cancelled=True)
            self._waiting.clear()
            self._failure = None
        await _aclose_quietly(self._opened)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def _abandon(self) -> None:
        if not getattr(self, "_over", True):
            self._finish(cancelled=True)
            import warnings

            warnings.warn(f"{self!r} was not closed: use 'async with' or aclose()", ResourceWarning, stacklevel=1)

    __del__ = _abandon


class _AnswerText:
    """Tells the text of the answer from other text, such as the transcript of an audio."""

    def __init__(self) -> None:
        self._others: set[int] = set()

    def has(self, event: Event) -> bool:
        if isinstance(event, PartStart) and event.choice == 0:
            # An index comes again where the server took parts back.
            (self._others.discard if event.kind == "text" else self._others.add)(event.index)
        return isinstance(event, TextDelta) and event.choice == 0 and event.index not in self._others


class _AsyncText:
    """No generator: one that is not run to its end is cleaned up by the event loop, with a warning under trio."""

    def __init__(self, events: AsyncStream) -> None:
        self._events = events
        self._is_text = _AnswerText()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while True:
            event = await self._events.__anext__()
            if self._is_text.has(event):
                return event.text  # type: ignore[union-attr]


class _Joined:
    """
    Joins small pieces, for a fold where nobody looks in between. They are read ahead only once pieces were bytes, so
    that there is no buffer which is used again.
    """

    def __init__(self, pieces: Iterator[Any]) -> None:
        self._pieces = pieces
        # How many are read ahead, what was read ahead and cannot be joined, and what ended the reading.
        self._many = _FEW
        self._read: list[Any] = []
        self._failure: BaseException | None = None

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self._read:
            return self._read.pop()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure
        read: list[Any] = []
        try:
            read.extend(islice(self._pieces, self._many))
        except BaseException as error:
            # What came before the exception is in the list.
            if not read:
                raise
            self._failure = error
        if not read:
            raise StopIteration
        if [*map(type, read)].count(bytes) != len(read):
            self._read = read[::-1]
            return self._read.pop()
        joined = b"".join(read)
        self._many = max(1, min(2 * self._many, _READ_AHEAD * len(read) // (len(joined) + 1)))
        return joined


class _Intake:
    """What a source gives, as the folder takes it: bytes, or the payload that an object stands for."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._watch: LineWatch | None = LineWatch()
        self._has_payloads = False
        # The source is known to keep its line ends, so that bytes need no look.
        self.is_sure = False

    def feed(self, piece: Any, events: bool = True) -> list[Event]:
        """
        Feed one piece of the source.

        Raises:
            TypeError: If it is nothing that can be folded.
        """
        if self._watch is not None:
            self._watch.see(piece)
            if self._watch.has_ends:
                self._watch = None
                self.is_sure = True
        if isinstance(piece, str):
            piece = piece.encode("utf-8", "surrogatepass")
        elif not isinstance(piece, (bytes, bytearray, memoryview)):
            if self._has_payloads and is_noise(piece):
                self._folder.note("payload_not_object", f"a {type(piece).__name__} where an object was expected")
                return []
            payload = payload_of(piece)
            if payload is None:
                return []
            self._has_payloads = True
            piece = payload
        return self._folder.feed(piece, events=events)

    def end(self) -> None:
        """The source has ended: say so if its lines had lost their ends."""
        if self._watch is not None and self._watch.is_missing_ends:
            self._folder.note("line_ends_missing", "the source gives lines without ends: use chunkfold.lines(source)")


async def _next_of(pieces: Any) -> Any:
    if hasattr(pieces, "__anext__"):
        return await pieces.__anext__()
    try:
        return next(pieces)
    except StopIteration:
        raise StopAsyncIteration from None


def _failed(folder: Folder, opened: Opened, body: bytes) -> Response:
    return folder.close(_status_error(opened, body))


def _status_error(opened: Opened, body: bytes) -> StreamError:
    """The error of an HTTP response with a status of 400 and over."""
    from chunkfold import _json
    from chunkfold._http_errors import retry_after_seconds, status_error

    try:
        said: Any = _json.decode(body)[0]
    except ValueError:
        said = body.decode(errors="replace")[:200]
    return status_error(opened.status or 0, said, retry_after_seconds(opened.retry_after))


def _all_of(pieces: Iterator[Any]) -> bytes:
    """The body of an error, as far as it can be read and within reason."""
    body = bytearray()
    with contextlib.suppress(Exception):  # the status says enough
        for piece in pieces:
            body += piece
            if len(body) > _ERROR_BODY_BYTES:
                break
    return bytes(body)


async def _all_of_async(pieces: Any) -> bytes:
    body = bytearray()
    with contextlib.suppress(Exception):  # the status says enough
        while len(body) <= _ERROR_BODY_BYTES:
            body += await _next_of(pieces)
    return bytes(body)


def _close_quietly(opened: Opened) -> None:
    """Close a source once. What closing raises helps nobody: the response is complete."""
    close, opened.close = opened.close, None
    if close is not None:
        with contextlib.suppress(Exception):
            close()


async def _aclose_quietly(opened: Opened) -> None:
    close, opened.close = opened.close, None
    if close is not None:
        with contextlib.suppress(Exception):
            waiting = close()
            if hasattr(waiting, "__await__"):
                await waiting
