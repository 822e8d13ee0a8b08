"""
From bytes to frames, whatever the framing.

`Framer` looks at the first bytes and hands everything to one of two: `TextFramer` for SSE, lines of
JSON, JSON documents and JSON arrays (behind a third, if they are in UTF-16), or the reader of the AWS
event-stream. Each is loaded when the first such stream comes. No provider is known here, nothing is
raised, and where the bytes are cut makes no difference.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from chunkfold.errors import LimitExceeded
from chunkfold.framing._frame import Frame

if TYPE_CHECKING:
    from chunkfold.framing.aws_eventstream import EventStreamFramer
    from chunkfold.framing.text import TextFramer
    from chunkfold.framing.utf16 import Utf16Framer

__all__ = ["Frame", "Framer"]

_BOM = b"\xef\xbb\xbf"
_MARKS_OF_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BLANK = b" \t\r\n"
# An AWS message begins with its length. No text begins with these bytes, no message is longer than they can say.
_MAYBE_BINARY = (0x00, 0x01)
_PRELUDE_BYTES = 12
# What `curl -i` puts before the body: the head of the answer, or several (of a proxy, "100 Continue").
_HTTP = b"HTTP/"
_heads = re.compile(rb"(?:HTTP/[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*+\r?\n)+").match
_HEADS_MAX = 16 << 10


class Framer:
    """
    Finds out the framing of a stream and cuts it into frames.

    Args:
        frame_bytes: The most bytes that one frame may have; `None` for no limit.

    """

    __slots__ = ("_begun", "_closed", "_frame_bytes", "_head", "messages", "reader")

    def __init__(self, frame_bytes: int | None = 64 << 20) -> None:
        self._frame_bytes = frame_bytes
        self.reader: TextFramer | Utf16Framer | EventStreamFramer | None = None
        """What reads the framing that was found out. It may be fed directly."""
        self.messages: EventStreamFramer | None = None
        """The same, if what comes is binary messages."""
        self._head = b""
        """Bytes that do not yet tell what the input is."""
        self._begun = False
        self._closed = False

    @property
    def framing(self) -> str | None:
        """
        `sse`, `ndjson`, `json-array`, `json` or `aws-eventstream`; `None` until known, and for noise.

        The first framing met stands, with one exception: the first bare JSON value makes it `json`,
        and whatever follows corrects that, a second value to `ndjson`.
        """
        return None if self.reader is None else self.reader.framing

    @property
    def breach(self) -> LimitExceeded | None:
        """Set when a frame passed `frame_bytes`. Nothing is read after that."""
        return None if self.reader is None else self.reader.breach

    @property
    def closed_array(self) -> bool:
        """Whether the input began with an array of payloads and its closing bracket was seen."""
        return self.reader is not None and self.reader.closed_array

    @property
    def idle(self) -> bool:
        """Whether nothing is buffered or half-read: the next byte begins a new frame."""
        return not self._head if self.reader is None else self.reader.idle

    def feed(self, data: bytes | bytearray | memoryview) -> list[Frame]:
        """
        The frames that *data* completes, oldest first.

        *data* may be cut anywhere. After `breach` is set, and after `close()`, the list is empty.
        """
        if type(data) is not bytes:
            data = bytes(data)
        if self._closed:
            return []
        if self.reader is not None:
            return self.reader.feed(data)
        return self._begin(self._head + data)

    def close(self) -> list[Frame]:
        """
        The frames still pending at the end of the input; one that the end cut has `cut` set.

        Calling it again gives an empty list.
        """
        if self._closed:
            return []
        self._closed = True
        head, self._head = self._head, b""
        out: list[Frame] = []
        if self.reader is None:
            if not head:
                return out
            self.reader = self._choose(head)
            out = self.reader.feed(head)
        return out + self.reader.close()

    def _begin(self, data: bytes) -> list[Frame]:
        """Look at the first bytes; keep them while they may still be two things."""
        if not self._begun:
            if len(data) < len(_BOM) and _may_be_mark(data):
                self._head = data
                return []
            self._begun = True
            self._head = b""
            if data.startswith(_MARKS_OF_UTF16):
                return self._begin_utf16(data)
            data = data.removeprefix(_BOM)
        data = data.lstrip(_BLANK)
        self._head = data
        if not data or _may_be_binary(data):
            return []
        body = _body_at(data) if _HTTP.startswith(data[:5]) else 0
        if body is None:
            return []
        self._head = b""
        if body and data[body] in _MAYBE_BINARY:
            return self._begin_behind(data[:body], data[body:])
        self.reader = self._choose(data)
        return self.reader.feed(data)

    def _begin_utf16(self, data: bytes) -> list[Frame]:
        from chunkfold.framing.utf16 import MARKS, Utf16Framer

        self.reader = Utf16Framer(self._frame_bytes, MARKS[data[:2]])
        return self.reader.feed(data[2:])

    def _begin_behind(self, heads: bytes, data: bytes) -> list[Frame]:
        """The heads of HTTP are text, whatever comes behind them."""
        from chunkfold.framing.text import TextFramer

        self.reader = self._choose(data)
        if self.messages is None:
            return self.reader.feed(heads + data)
        lines = TextFramer(self._frame_bytes)
        return lines.feed(heads) + lines.close() + self.reader.feed(data)

    def _choose(self, head: bytes) -> TextFramer | EventStreamFramer:
        if head[0] in _MAYBE_BINARY:
            from chunkfold.framing.aws_eventstream import EventStreamFramer, judge_prelude

            if judge_prelude(head):
                self.messages = EventStreamFramer(self._frame_bytes)
                return self.messages
        from chunkfold.framing.text import TextFramer

        return TextFramer(self._frame_bytes)


def _may_be_mark(data: bytes) -> bool:
    """True if *data* is the beginning of a mark that text may begin with."""
    return any(len(data) < len(mark) and mark.startswith(data) for mark in (_BOM, *_MARKS_OF_UTF16))


def _may_be_binary(data: bytes) -> bool:
    """True if *data* begins like a binary message and is too short to tell."""
    return data[0] in _MAYBE_BINARY and len(data) < _PRELUDE_BYTES


def _body_at(data: bytes) -> int | None:
    """Where the body begins behind the heads of HTTP in *data*; `None` if that cannot be told yet."""
    heads = _heads(data, 0, _HEADS_MAX)
    at = heads.end() if heads is not None else 0
    rest = data[at : at + _PRELUDE_BYTES]
    if not rest or _may_be_binary(rest):
        return None
    return None if _HTTP.startswith(rest[:5]) and len(data) <= _HEADS_MAX else at
