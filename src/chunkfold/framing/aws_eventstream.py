"""
AWS event-stream (`application/vnd.amazon.eventstream`): binary messages with two checksums.

A message is: total length (4 bytes), headers length (4), CRC32 of these 8 (4), headers, payload, CRC32
of everything before it (4); numbers are big-endian. After a message that does not fit its checksums
the place of the next one is a guess, so nothing more is read.
"""

from __future__ import annotations

from struct import Struct, error
from zlib import crc32

import msgspec

from chunkfold.errors import LimitExceeded
from chunkfold.framing._frame import Frame

__all__ = ["EventStreamFramer", "judge_prelude"]

PRELUDE_BYTES = 12
_AROUND = 16  # prelude and the last CRC
# What botocore accepts; only to tell a damaged message from noise.
_HEADERS_MAX = 128 << 10
_MESSAGE_MAX = (24 << 20) + _HEADERS_MAX + _AROUND

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

    __slots__ = ("_buffer", "_cap", "_need", "_over", "breach")

    def __init__(self, frame_bytes: int | None) -> None:
        self.breach: LimitExceeded | None = None
        self._cap = frame_bytes
        self._buffer = bytearray()
        self._need = PRELUDE_BYTES
        """Bytes that the buffer must hold before it is worth a look."""
        self._over = False

    @property
    def idle(self) -> bool:
        """Whether nothing is half-read."""
        return not self._buffer

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that *data* completes."""
        if self._over:
            return []
        buffer = self._buffer
        buffer += data
        if len(buffer) < self._need:
            return []
        out: list[Frame] = []
        whole = bytes(buffer)
        pos = 0
        while not self._over and (size := self._message_size(whole, pos, out)):
            out.append(self._message(whole[pos : pos + size]))
            self._over = out[-1].kind == "corrupt"
            pos += size
        if self._over:
            buffer.clear()
        else:
            del buffer[:pos]
        return out

    def close(self) -> list[Frame]:
        """What is left of a message that the end of the input cut."""
        rest = bytes(self._buffer)
        self._buffer.clear()
        return [Frame(rest, cut=True)] if rest else []

    def _message_size(self, data: bytes, pos: int, out: list[Frame]) -> int:
        """The size of the message at *pos* if it is all there, else 0. A bad prelude ends the stream."""
        there = len(data) - pos
        if there < PRELUDE_BYTES:
            self._need = PRELUDE_BYTES
            return 0
        total, headers, expected = _prelude(data, pos)
        found = crc32(data[pos : pos + 8])
        if found != expected:
            out.append(_corrupt(f"the prelude CRC32 is {found:08x}, expected {expected:08x}"))
            self._over = True
        elif total < _AROUND or headers > total - _AROUND:
            out.append(_corrupt(f"a message of {total} bytes cannot hold {headers} bytes of headers"))
            self._over = True
        elif self._cap is not None and total > self._cap:
            self.breach = LimitExceeded("frame_bytes", total, self._cap)
            self._over = True
        else:
            self._need = total
            return total if there >= total else 0
        return 0

    def _message(self, message: bytes) -> Frame:
        expected = _u32(message, len(message) - 4)[0]
        found = crc32(memoryview(message)[:-4])
        if found != expected:
            return _corrupt(f"the message CRC32 is {found:08x}, expected {expected:08x}")
        end = PRELUDE_BYTES + _u32(message, 4)[0]
        headers = _headers(message, end)
        if headers is None:
            return _corrupt(f"the {end - PRELUDE_BYTES} bytes of headers do not end where a header ends")
        return _frame(headers, message[end:-4])


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


def _headers(message: bytes, end: int) -> dict[str, str] | None:
    """The text headers of *message*, which end at *end*; `None` if they do not add up."""
    headers: dict[str, str] = {}
    pos = PRELUDE_BYTES
    while pos < end:
        try:
            name_end = pos + 1 + message[pos]
            kind = message[name_end]
            start = name_end + 1
            if kind in (_BYTES, _TEXT):
                start += 2
                stop = start + _u16(message, start - 2)[0]
            else:
                stop = start + _FIXED[kind]
        except (IndexError, KeyError, error):
            return None
        if stop > end:
            return None
        if kind == _TEXT:
            name = message[pos + 1 : name_end].decode("utf-8", "replace")
            headers[name] = message[start:stop].decode("utf-8", "replace")
        pos = stop
    return headers
