"""What a wrapped stream folds into, while somebody else reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.doors._at_exit import forget, remember
from chunkfold.doors._intake import Intake, Refusal
from chunkfold.doors._observers import Teller
from chunkfold.response import Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.doors._source_folder import SourceFolder
    from chunkfold.events import Event
    from chunkfold.timing import Timer, Timing

__all__ = ["WrappedFold"]

# Reads that are kept until somebody looks: many together cost a fraction of what they cost one by one.
_READS = 64


class WrappedFold:
    """What a wrapped stream folds into."""

    def __init__(
        self, folder: SourceFolder, on_done: Callable[[Response], object] | None, timer: Timer | None = None
    ) -> None:
        self._timer = timer
        # With a clock each read is looked at when it comes.
        self._most_reads = _READS if timer is None else 1
        self._folder = folder
        self._intake = Intake(folder)
        self._teller = Teller({"on_done": on_done})
        self._over = False
        # Bytes have come, so that the objects made of them say nothing new.
        self._hears_bytes = False
        self._reads: list[bytes] = []
        self._refusal: Refusal | None = None
        self._error: Exception | None = None
        remember(self)

    @property
    def error(self) -> Exception | None:
        """What went wrong in folding; `None` if nothing did. The caller's loop never sees it."""
        self._catch_up()
        return self._error

    def response(self) -> Response:
        """The response so far: a snapshot while the stream is open, the complete one after its end."""
        self._catch_up()
        return self._folder.snapshot()

    def timing(self) -> Timing | None:
        """When what came so far; `None` without a `clock`. Seconds count from the call of `wrap`."""
        return self._timer.timing(self.response().usage) if self._timer is not None else None

    def _hear(self, read: bytes) -> None:
        self._hears_bytes = True
        if read and not self._over:
            self._reads.append(read)
            if len(self._reads) >= self._most_reads:
                self._catch_up()

    def _hear_object(self, item: Any) -> None:
        if not self._hears_bytes:
            self._feed(self._intake.feed, item)

    def _catch_up(self) -> None:
        if self._reads:
            reads, self._reads = self._reads, []
            self._feed(self._folder.feed, b"".join(reads))

    def _feed(self, feed: Callable[..., list[Event]], piece: Any) -> None:
        if self._over or self._error is not None:
            return
        timer = self._timer
        try:
            if timer is not None:
                timer.came()
            if self._refusal is not None:
                self._refusal.hear(piece)
                return
            events = feed(piece, events=timer is not None)
            if timer is not None:
                timer.hear(events)
        except Exception as error:  # noqa: BLE001 - a fault in folding must not reach the caller's loop
            self._error = error

    def _stop_listening(self) -> None:
        """The SDK reads no further: because of the end mark, or of something that the proxy is about to hear of."""
        self._catch_up()
        if self._folder.end_seen:
            self._finish()

    def _leave(self) -> None:
        """Nobody reads on: the loop was left, or it has met the error that the server told."""
        self._catch_up()
        self._finish(None if self._has_said_all() else GeneratorExit())

    def _finish(self, error: BaseException | None = None) -> None:
        """The stream has ended, in one way or another: once."""
        if self._over:
            return
        if isinstance(error, (StopIteration, StopAsyncIteration)):
            error = None
        self._catch_up()
        self._over = True
        forget(self)
        if error is None:
            self._intake.end()
        told = self._refusal.error() if self._refusal is not None else error
        try:
            events = self._folder.finish(None if self._is_the_sdks_own(error) else told)
            if self._timer is not None:
                self._timer.read()
                self._timer.hear(events)
            response = self._folder.close()
        except Exception as fault:  # noqa: BLE001 - as above
            self._error = self._error or fault
            response = self._folder.snapshot()
        self._teller.tell("on_done", response)

    def _is_the_sdks_own(self, error: BaseException | None) -> bool:
        """True for what an SDK makes of an error that the server has told, or raises behind the end of the stream."""
        return self._hears_bytes and isinstance(error, Exception) and self._has_said_all()

    def _has_said_all(self) -> bool:
        """True if the end has come, or an error that the server told."""
        return self._folder.end_seen or self._folder.snapshot().error is not None

    def _abandon(self) -> None:
        self._finish(GeneratorExit())
