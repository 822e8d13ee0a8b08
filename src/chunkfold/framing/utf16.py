"""
Text in UTF-16, as PowerShell writes what a command prints into a file. It begins with a mark that says the order of the
bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.framing.text import TextFramer

if TYPE_CHECKING:
    from chunkfold.errors import LimitExceeded
    from chunkfold.framing._frame import Frame

__all__ = ["MARKS", "Utf16Framer"]

MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Utf16Framer:
    """Cuts text in UTF-16, without its mark, into frames: those of the same text in UTF-8."""

    __slots__ = ("_codec", "_high", "_rest", "_text")

    def __init__(self, frame_bytes: int | None, codec: str) -> None:
        self._text = TextFramer(frame_bytes)
        self._codec = codec
        # Where the byte stands that tells the first half of a pair.
        self._high = -1 if codec == "utf-16-le" else -2
        self._rest = b""
        """A half-read character."""

    @property
    def framing(self) -> str | None:
        """That of the text."""
        return self._text.framing

    @property
    def breach(self) -> LimitExceeded | None:
        """Set when a frame passed the limit."""
        return self._text.breach

    @property
    def closed_array(self) -> bool:
        """Whether the text began with an array of payloads that was closed."""
        return self._text.closed_array

    @property
    def idle(self) -> bool:
        """Whether nothing is half-read."""
        return not self._rest and self._text.idle

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that *data* completes."""
        data = self._rest + data
        end = len(data) & ~1
        if end and data[:end][self._high] & 0xFC == 0xD8:
            end -= 2
        self._rest = data[end:]
        return self._text.feed(self._in_utf8(data[:end]))

    def close(self) -> list[Frame]:
        """The frames still pending at the end of the input."""
        rest, self._rest = self._rest, b""
        return self._text.feed(self._in_utf8(rest)) + self._text.close()

    def _in_utf8(self, data: bytes) -> bytes:
        # Halves that have no mate, and half a character at the end, are noted by whoever reads the frame.
        errors = "surrogatepass" if len(data) % 2 == 0 else "replace"
        return data.decode(self._codec, errors).encode("utf-8", "surrogatepass")
