"""
What a source gives, as the folder takes it; and how a source ends: its end, its closing, the body of an HTTP error.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from chunkfold.basis._wording import described
from chunkfold.doors._sources import LineWatch, Opened, http_facts
from chunkfold.folding._objects import is_noise, payload_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.doors._source_folder import SourceFolder
    from chunkfold.events import Event
    from chunkfold.response import StreamError

__all__ = [
    "ERROR_BODY_BYTES", "Intake", "Refusal", "aclose_quietly", "body_of", "body_of_async", "close_quietly", "error_of",
    "next_of", "refusal_of",
]  # fmt: skip

ERROR_BODY_BYTES = 1 << 20
"""So much is read of the body of an error."""


class Intake:
    """What a source gives, as the folder takes it: bytes, or the payload that an object stands for."""

    def __init__(self, folder: SourceFolder) -> None:
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
                self._folder.note("payload_not_object", f"{described(piece)} where an object was expected")
                return []
            payload = payload_of(piece, self._folder.usage_so_far)
            if payload is None:
                return []
            self._has_payloads = not isinstance(payload, bytes)
            piece = payload
        return self._folder.feed(piece, events=events)

    def end(self) -> None:
        """The source has ended: say so if its lines had lost their ends."""
        if self._watch is not None and self._watch.is_missing_ends:
            self._folder.note("line_ends_missing", "the source gives lines without ends: use chunkfold.lines(source)")


async def next_of(pieces: Any) -> Any:
    if hasattr(pieces, "__anext__"):
        return await pieces.__anext__()
    try:
        return next(pieces)
    except StopIteration:
        raise StopAsyncIteration from None


def error_of(opened: Opened, body: bytes) -> StreamError:
    """The error of an HTTP response with a status of 300 and over."""
    from chunkfold.doors._http_errors import retry_after_seconds, said_in, status_error

    return status_error(opened.status or 0, said_in(body), retry_after_seconds(opened.retry_after))


class Refusal:
    """The error of an HTTP response whose body somebody else reads, or leaves."""

    def __init__(self, opened: Opened) -> None:
        self._opened = opened
        self._body = bytearray()

    def hear(self, data: bytes) -> None:
        if len(self._body) <= ERROR_BODY_BYTES:
            self._body += data

    def error(self) -> StreamError:
        return error_of(self._opened, bytes(self._body))


def refusal_of(response: Any) -> Refusal | None:
    """What an HTTP response that is not yet read refuses with; `None` if it is a stream, or no HTTP response."""
    facts = http_facts(response)
    opened = None if facts is None else Opened(iter(()), **facts)
    return Refusal(opened) if opened is not None and opened.is_failure else None


def body_of(pieces: Iterator[Any]) -> bytes:
    """The body of an error, as far as it can be read and within reason."""
    body = bytearray()
    with contextlib.suppress(Exception):  # the status says enough
        for piece in pieces:
            body += piece
            if len(body) > ERROR_BODY_BYTES:
                break
    return bytes(body)


async def body_of_async(pieces: Any) -> bytes:
    body = bytearray()
    with contextlib.suppress(Exception):  # the status says enough
        while len(body) <= ERROR_BODY_BYTES:
            body += await next_of(pieces)
    return bytes(body)


def close_quietly(opened: Opened) -> None:
    """
    Close a source once. What closing raises helps nobody: the response is complete. But a generator cannot be closed
    while somebody else reads from it, so that this one tries it again.
    """
    close, opened.close = opened.close, None
    if close is not None:
        try:
            close()
        except Exception:  # noqa: BLE001 - as above
            opened.close = close


async def aclose_quietly(opened: Opened) -> None:
    close, opened.close = opened.close, None
    if close is not None:
        try:
            waiting = close()
            if hasattr(waiting, "__await__"):
                await waiting
        except Exception:  # noqa: BLE001 - as above
            opened.close = close
