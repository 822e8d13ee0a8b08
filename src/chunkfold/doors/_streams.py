"""
The streams that `stream` and `astream` give: iterators of events around a folder, which see to it that the response is
finalised exactly once, whichever way the caller leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

from chunkfold.basis._wording import described
from chunkfold.doors._at_exit import forget, remember
from chunkfold.doors._intake import Intake, aclose_quietly, body_of, body_of_async, close_quietly, error_of, next_of
from chunkfold.doors._sources import _WrongUse
from chunkfold.errors import LimitExceeded
from chunkfold.events import Event, PartStart, TextDelta
from chunkfold.folding._direct import END
from chunkfold.response import Response

if TYPE_CHECKING:
    from collections.abc import Generator

    from chunkfold.doors._observers import Observers
    from chunkfold.doors._source_folder import SourceFolder
    from chunkfold.doors._sources import Opened
    from chunkfold.response import StreamError
    from chunkfold.timing import Timer, Timing

__all__ = ["AnswerText", "AsyncStream", "AsyncText", "Stream", "Uncopied"]


class Uncopied:
    """What is no use in two copies: each would read from the same source."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A copy would read from the same source, and close it when it is collected."""
        raise TypeError(f"a stream cannot be copied or pickled, but its response() can: {described(self)}")


class _Events(Uncopied):
    """What both streams share: the events that wait, and the one time that the response is finalised."""

    def __init__(
        self, folder: SourceFolder, opened: Opened, observers: Observers | None = None, timer: Timer | None = None
    ) -> None:
        self._timer = timer
        self._folder = folder
        self._opened = opened
        self._intake = Intake(folder)
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
        if self._timer is None and self._observers is None and type(piece) is bytes and self._intake.is_sure:
            event = self._folder.plain_event(piece)
            if event is not None:
                return event
        if self._over:  # another task has closed the stream while this one waited
            return None
        try:
            if self._timer is not None:
                self._timer.read()
                if piece:
                    self._timer.bytes_came()
            self._hear(self._intake.feed(piece))
        except LimitExceeded as breach:
            self._over = True
            self._failure = breach
            try:
                self._hear(list(breach.events))
            finally:
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
        if error is None and not cancelled:
            self._intake.end()
        try:
            events = self._last_events(GeneratorExit() if cancelled else error)
            if self._timer is not None:
                self._timer.read()
            self._hear(events)
        finally:  # folding or an observer may be interrupted
            self._done()

    def _last_events(self, reason: BaseException | StreamError | None) -> list[Event]:
        """The events of the end, and what is to be raised behind them."""
        try:
            events = self._folder.finish(reason)
            self._failure = self._folder.objection
        except LimitExceeded as breach:
            events = list(breach.events)
            self._failure = breach
        if isinstance(reason, Exception):
            self._failure = reason
        return events

    def _hear(self, events: list[Event]) -> None:
        """Events have been folded: they wait for the caller, and observers hear of them at once."""
        self._waiting.extend(events)
        if self._timer is not None:
            self._timer.hear(events)
        if self._observers is not None:
            self._observers.hear(events, self._folder)

    def _done(self) -> None:
        forget(self)
        if self._observers is not None:
            self._observers.done(self._folder.snapshot())

    def _leave(self) -> None:
        """The caller wants no more."""
        if not self._over:
            self._finish(cancelled=True)
            self._waiting.clear()
            self._failure = None

    def _fail(self, body: bytes) -> None:
        """The server answered with an error instead of a stream."""
        if self._timer is not None and body:
            self._timer.read()
            self._timer.bytes_came()
        self._finish(error_of(self._opened, body))

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
        try:
            if self._opened.is_failure:
                self._fail(body_of(self._opened.pieces))
                return None
            try:
                piece = self._next_piece()
            except StopIteration:
                self._finish()
            except _WrongUse:
                self.close()
                raise
            except Exception as error:  # noqa: BLE001 - raised again when the last events are out
                self._finish(error)
            except BaseException:
                self.close()
                raise
            else:
                event = self._feed(piece)
                if not self._over and self._may_express():
                    self._express = self._folder.express(self._opened.pieces)
                return event
        finally:
            if self._over:
                close_quietly(self._opened)
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
        """
        The answer text alone, piece by piece, as it comes.

        Joined it is `response().text`, unless the server takes text back, restates it, or sends several texts by turns:
        the events say so, and the response has what stands.
        """
        is_text = AnswerText()
        for event in self:
            if is_text.has(event):
                yield event.text  # type: ignore[union-attr]

    def close(self) -> None:
        """Close the source; finalise the response as `cancelled` if it had not ended. Doing it again does nothing."""
        try:
            self._leave()
        finally:
            close_quietly(self._opened)

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
        try:
            if self._opened.is_failure:
                self._fail(await body_of_async(self._opened.pieces))
                return None
            try:
                piece = await next_of(self._opened.pieces)
            except (StopIteration, StopAsyncIteration):
                self._finish()
            except _WrongUse:
                self._leave()
                raise
            except Exception as error:  # noqa: BLE001 - raised again when the last events are out
                self._finish(error)
            except BaseException:
                self._finish(cancelled=True)
                raise
            else:
                return self._feed(piece)
        finally:
            if self._over:
                await aclose_quietly(self._opened)
        return None

    def text(self) -> AsyncIterator[str]:
        """As `Stream.text`."""
        return AsyncText(self)

    async def aclose(self) -> None:
        """Close the source; finalise the response as `cancelled` if it had not ended. Doing it again does nothing."""
        try:
            self._leave()
        finally:
            await aclose_quietly(self._opened)

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


class AnswerText:
    """Tells the text of the answer from other text, such as the transcript of an audio."""

    def __init__(self) -> None:
        self._others: set[int] = set()

    def has(self, event: Event) -> bool:
        if isinstance(event, PartStart) and event.choice == 0:
            # An index comes again where the server took parts back.
            (self._others.discard if event.kind == "text" else self._others.add)(event.index)
        return isinstance(event, TextDelta) and event.choice == 0 and event.index not in self._others


class AsyncText:
    """No generator: one that is not run to its end is cleaned up by the event loop, with a warning under trio."""

    def __init__(self, events: AsyncIterator[Event]) -> None:
        self._events = events
        self._is_text = AnswerText()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while True:
            event = await self._events.__anext__()
            if self._is_text.has(event):
                return event.text  # type: ignore[union-attr]
