"""
AWS event-stream (`application/vnd.amazon.eventstream`): binary messages with two checksums.

A message is: total length (4 bytes), headers length (4), CRC32 of these 8 (4), headers, payload, CRC32
of everything before it (4); numbers are big-endian. After a message that does not fit its checksums
the place of the next one is a guess, so nothing more is read.

SageMaker's messages are not cut where the model's events are: they are pieces of the body that its server sends, which
is text of any framing.
"""

from __future__ import annotations

import sys
from struct import Struct, error
from typing import TYPE_CHECKING
from zlib import crc32

import msgspec

from chunkfold.errors import LimitExceeded
from chunkfold.framing._frame import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.framing.text import TextFramer

__all__ = ["EventStreamFramer", "judge_prelude"]

PRELUDE_BYTES = 12
_AROUND = 16  # prelude and the last CRC
# What botocore accepts; only to tell a damaged message from noise.
_HEADERS_MAX = 128 << 10
_MESSAGE_MAX = (24 << 20) + _HEADERS_MAX + _AROUND

# Blocks of headers that are remembered: more and longer ones than any stream has, and no way to fill the memory.
_KINDS_MAX = 64
_BLOCK_MAX = 1024
# The name of SageMaker's messages.
_PIECE = "PayloadPart"

# Beginnings of messages that are remembered. Under one block of headers they differ in the length alone.
_HEADS_MAX = 1024

_prelude = Struct(">III").unpack_from
_u32 = Struct(">I").unpack_from
_u16 = Struct(">H").unpack_from

# Header value types and their sizes; 6 (bytes) and 7 (text) carry a length of two bytes.
_FIXED = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTES = 6
_TEXT = 7


def judge_prelude(data: bytes) -> bool:
    """Whether *data*, the first bytes of the input, begins an AWS message; a damaged checksum is allowed."""
    if len(data) < 4:
        return False
    if len(data) >= PRELUDE_BYTES and _prelude(data)[2] == crc32(data[:8]):
        return True
    total = int.from_bytes(data[:4])
    headers = int.from_bytes(data[4:8]) if len(data) >= 8 else 0
    return _AROUND <= total <= _MESSAGE_MAX and headers <= min(total - _AROUND, _HEADERS_MAX)


class EventStreamFramer:
    """Cuts an AWS event-stream into frames. Never raises for what is in the bytes."""

    framing = "aws-eventstream"
    closed_array = False

    __slots__ = ("_body", "_buffer", "_cap", "_kinds", "breach", "idle", "is_over", "need")

    def __init__(self, frame_bytes: int | None) -> None:
        self.breach: LimitExceeded | None = None
        self.idle = True
        """Whether nothing is half-read."""
        self._cap = frame_bytes
        self._buffer = bytearray()
        self.need = PRELUDE_BYTES
        """How many bytes there must be, with those that are half-read, before it is worth a look."""
        self.is_over = False
        """Nothing more is read."""
        self._body: TextFramer | None = None
        """What reads the body that comes in pieces."""
        self._kinds: dict[bytes, dict[str, str]] = {}
        """Headers that were read before: a stream has one block of them for each kind of event."""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that *data* completes."""
        if self.is_over:
            return []
        buffer = self._buffer
        if buffer:
            buffer += data
            self.idle = False
            if len(buffer) < self.need:
                return []
            data = bytes(buffer)
        out: list[Frame] = []
        pos = self._read(data, out)
        buffer.clear()
        if not self.is_over:
            buffer += data[pos:]
        self.idle = not buffer
        return out

    def release(self) -> bytes:
        """The bytes of the message that is half-read; they are to come again, with what follows them."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        self.idle = True
        return rest

    def alike(self, name: str) -> AlikeMessages | None:
        """What cuts the events of that *name*, if there were any."""
        blocks = [block for block, headers in self._kinds.items() if _event_name(headers) == name]
        return AlikeMessages(name, blocks[-1], self._cap) if blocks else None

    def close(self) -> list[Frame]:
        """What the end of the input completes, and what is left of a message that it cut."""
        out = self._body.close() if self._body is not None else []
        rest = self.release()
        return [*out, Frame(rest, cut=True)] if rest else out

    def _read(self, data: bytes, out: list[Frame]) -> int:
        """Read all whole messages; the place where the first one begins that is not all there."""
        pos, size = 0, len(data)
        total: int
        self.need = PRELUDE_BYTES
        while size - pos >= PRELUDE_BYTES:
            total, headers, expected = _prelude(data, pos)
            found = crc32(data[pos : pos + 8])
            if found != expected:
                out.append(_corrupt(f"the prelude CRC32 is {found:08x}, expected {expected:08x}"))
            elif total < _AROUND or headers > total - _AROUND:
                out.append(_corrupt(f"a message of {total} bytes cannot hold {headers} bytes of headers"))
            elif self._cap is not None and total > self._cap:
                self.breach = LimitExceeded("frame_bytes", total, self._cap)
                self.is_over = True
                return pos
            elif size - pos < total:
                self.need = total
                return pos
            else:
                frame = self._message(data, pos, pos + total, pos + PRELUDE_BYTES + headers)
                if frame.event == _PIECE:
                    out.extend(self._pieces(frame.data))
                else:
                    out.append(frame)
            pos += total
            if self.is_over or (out and out[-1].kind == "corrupt"):
                self.is_over = True
                return pos
        return pos

    def _pieces(self, piece: bytes) -> list[Frame]:
        """The frames of the body that *piece* goes on with."""
        if self._body is None:
            from chunkfold.framing.text import TextFramer

            self._body = TextFramer(self._cap)
        frames = self._body.feed(piece)
        self.breach = self._body.breach
        self.is_over = self.breach is not None
        return frames

    def _message(self, data: bytes, start: int, end: int, payload: int) -> Frame:
        """The message from *start* to *end*, whose payload begins at *payload*."""
        expected = _u32(data, end - 4)[0]
        found = crc32(data[start : end - 4])
        if found != expected:
            return _corrupt(f"the message CRC32 is {found:08x}, expected {expected:08x}")
        block = data[start + PRELUDE_BYTES : payload]
        headers = self._kinds.get(block)
        if headers is None:
            headers = _headers(block)
            if headers is None:
                return _corrupt(f"the {len(block)} bytes of headers do not end where a header ends")
            if len(self._kinds) < _KINDS_MAX and len(block) < _BLOCK_MAX:
                self._kinds[block] = headers
        return _frame(headers, data[payload : end - 4])


class AlikeMessages:
    """
    Cuts messages that have the same headers, and so differ in nothing but their length and their payload.

    The fast way for most of a long stream. Of each message both checksums are proved, but beginnings that were found
    right are remembered, and a CRC32 may go on where another ended. What is not right is left to the slow way.
    """

    __slots__ = ("_block", "_cap", "_heads", "at", "name")

    def __init__(self, name: str, block: bytes, cap: int | None) -> None:
        self.name = name
        """The name of the events."""
        self.at = 0
        """Where `payloads` has come to: behind the last message after which another was asked for."""
        self._block = block
        self._cap = sys.maxsize if cap is None else cap
        # By all that comes before the payload: the length of the message, and the CRC32 so far.
        self._heads: dict[bytes, tuple[int, int]] = {}

    def payloads(self, data: bytes, at: int) -> Iterator[bytes]:
        """The payloads of the messages in *data* from *at* on, for as long as they are such, whole and right."""
        self.at = at
        heads, size, end = self._heads, PRELUDE_BYTES + len(self._block), len(data)
        while True:
            head = data[at : at + size]
            known = heads.get(head) or self._judge(head)
            if known is None:
                return
            total, running = known
            payload = data[at + size : at + total - 4]
            at += total
            if at > end or crc32(payload, running) != _u32(data, at - 4)[0]:
                return
            yield payload
            self.at = at

    def payload_of(self, read: bytes) -> bytes | None:
        """The payload of the message that *read* is, if it is one such and no more."""
        size = PRELUDE_BYTES + len(self._block)
        head = read[:size]
        known = self._heads.get(head) or self._judge(head)
        if known is None or known[0] != len(read):
            return None
        payload = read[size:-4]
        return payload if crc32(payload, known[1]) == _u32(read, known[0] - 4)[0] else None

    def _judge(self, head: bytes) -> tuple[int, int] | None:
        """What is to be remembered of a message that begins with *head*, if it is one and that is right."""
        size = PRELUDE_BYTES + len(self._block)
        if len(head) < size or head[PRELUDE_BYTES:] != self._block:
            return None
        total, headers, expected = _prelude(head)
        if crc32(head[:8]) != expected or headers != len(self._block) or not size + 4 <= total <= self._cap:
            return None
        if len(self._heads) >= _HEADS_MAX:
            self._heads.clear()
        known = self._heads[head] = (total, crc32(head))
        return known


def _corrupt(what: str) -> Frame:
    return Frame(what.encode(), kind="corrupt")


def _frame(headers: dict[str, str], payload: bytes) -> Frame:
    # An exception has no `:event-type`, so the message type is asked first.
    kind = headers.get(":message-type", "event")
    if kind == "exception":
        return Frame(payload, headers.get(":exception-type", ""), "exception")
    if kind == "error":
        # An error tells itself in headers alone; a payload is not foreseen, and kept.
        code, message = headers.get(":error-code", ""), headers.get(":error-message", "")
        told = {"code": code, "message": message} | ({"payload": payload.decode("utf-8", "replace")} if payload else {})
        return Frame(msgspec.json.encode(told), code, "exception")
    return Frame(payload, headers.get(":event-type", ""))


def _event_name(headers: dict[str, str]) -> str | None:
    """The name of the events with such headers; `None` if they are no events."""
    return headers.get(":event-type", "") if headers.get(":message-type", "event") == "event" else None


def _headers(block: bytes) -> dict[str, str] | None:
    """The text headers in *block*; `None` if they do not add up."""
    headers: dict[str, str] = {}
    pos, end = 0, len(block)
    while pos < end:
        try:
            name_end = pos + 1 + block[pos]
            kind = block[name_end]
            start = name_end + 1
            if kind in (_BYTES, _TEXT):
                start += 2
                stop = start + _u16(block, start - 2)[0]
            else:
                stop = start + _FIXED[kind]
        except (IndexError, KeyError, error):
            return None
        if stop > end:
            return None
        if kind == _TEXT:
            name = block[pos + 1 : name_end].decode("utf-8", "replace")
            headers[name] = block[start:stop].decode("utf-8", "replace")
        pos = stop
    return headers
