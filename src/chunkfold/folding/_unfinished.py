"""
Small reads: the beginning of an event is kept until its end has come, so that the framing gets whole events.

Only what can mean nothing by itself is kept, so that no event comes late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.framing import Framer

__all__ = ["CR", "LF", "Unfinished"]

LF, CR = 0x0A, 0x0D
_EVENT_ENDS = (b"\n\n", b"\n\r\n")


class Unfinished:
    """The beginning of an event that nothing can be said of yet."""

    __slots__ = ("data", "most", "needs")

    def __init__(self) -> None:
        self.data = bytearray()
        self.most = -1
        """The most bytes that are kept; -1 before the framing is known, when none are."""
        self.needs = 0
        """Where lengths are told ahead: how many bytes there must be before anything can be said of them."""

    def takes(self, read: bytes) -> bool:
        """True if *read* ends nothing of the event that is amid: it has been added, and that is all there is to do."""
        data = self.data
        if len(data) + len(read) < self.needs or (LF not in read and CR not in read and len(data) <= self.most):
            data += read
            return True
        return False

    def gather(self, read: bytes, framer: Framer) -> bytes:
        """What there is to read now, of what was kept and *read*, where *framer* is what it will be fed to."""
        if self.data:
            if self.takes(read):
                return b""
            read = self.release() + read
            if self.needs:
                return read
        elif self.most < 0 or read.endswith(_EVENT_ENDS) or not (framer.idle or _ends_event(read)):
            return read
        rest = _beginning_in(read)
        if rest and len(rest) <= self.most:
            self.data += rest
            return read[: -len(rest)]
        return read

    def follow(self, pieces: Iterator[Any]) -> Any:
        """
        Take *pieces* for as long as they end nothing of the event that is amid; the first that may is returned.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        data, most, needs = self.data, self.most, self.needs
        for piece in pieces:
            if type(piece) is not bytes:
                return piece
            if LF in piece or CR in piece or len(data) > most:
                if len(data) + len(piece) >= needs:
                    return piece
            data += piece
        raise StopIteration

    def release(self) -> bytes:
        """What was kept, to be read after all."""
        data = bytes(self.data)
        self.data.clear()
        return data


def _ends_event(data: bytes) -> bool:
    """True if an event ends in *data*."""
    return b"\n\n" in data or (CR in data and b"\n\r\n" in data)


def _beginning_in(data: bytes) -> bytes:
    """The beginning of an event at the end of *data*; empty if what is there may mean something by itself."""
    cut = data.rfind(b"\n\n") + 2 if b"\n\n" in data else 0
    if CR in data and b"\n\r\n" in data:
        cut = max(cut, data.rfind(b"\n\r\n") + 3)
    rest = data[cut:]
    lines = rest.count(b"\n")
    if rest.count(b"\r") != rest.count(b"\r\n"):
        return b""
    # Names say nothing before the data comes, and the data nothing before the line after it is there.
    if lines == 0 or (lines == 1 and rest.startswith((b"data:", b"event:", b"id:"))):
        return rest
    if lines == 2 and rest.startswith((b"event:", b"id:")) and rest.startswith(b"data:", rest.index(b"\n") + 1):
        return rest
    return b""
