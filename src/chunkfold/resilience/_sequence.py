"""
Sequence numbers of OpenAI Responses: what came twice, what is missing, and where to go on.

A response that runs in the background can be asked for again from any number on (`starting_after`). For that a frame
that was cut must not have been read, and one that comes again must not be read twice: here whole frames go through,
each number once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from chunkfold._value import Value
from chunkfold.dialects._responses_events import UNNUMBERED

__all__ = ["ResumePoint", "SequenceGap", "SequenceWatch"]


class ResumePoint(Value, frozen=True):
    """Where a response can be taken up again: `GET /responses/{response_id}?stream=true&starting_after=...`."""

    response_id: str
    starting_after: int
    """The number of the last event that came."""


class _Response(msgspec.Struct):
    id: str | None = None


class _Event(msgspec.Struct):
    type: Any = None
    sequence_number: int | None = None
    response: _Response | None = None


_READ = msgspec.json.Decoder(_Event).decode
_BLANK_LINE = re.compile(rb"\r?\n\r?\n|\r\r")
# How much of what came may be the beginning of one.
_BEGUN = 3


class SequenceWatch:
    """
    Looks at the numbers of a stream that passes, in bytes or payloads, over as many connections as it takes.

    What has no numbers passes as it is.
    """

    def __init__(self) -> None:
        self.response_id: str | None = None
        self.last: int | None = None
        """The number of the last event that came in its turn; `None` if none had one."""
        self.gaps: list[tuple[int, int]] = []
        """The first and the last number of each run that never came."""
        self._pending: list[bytes] = []
        # The number after which some were missing: asked for once.
        self._asked_after: int | None = None
        # True if nothing new has come over this connection, the second or a later one: what came before may come again.
        self._may_repeat = False
        # False if the numbers do not rise: of all servers that number events, some give each the same.
        self._is_numbered = True

    @property
    def point(self) -> ResumePoint | None:
        """Where to go on; `None` as long as that is not known."""
        if self.response_id is None or self.last is None or not self._is_numbered:
            return None
        return ResumePoint(self.response_id, self.last)

    def passing(self, piece: Any) -> Iterator[Any]:
        """
        What of *piece* is to be read, whole frames each.

        Raises:
            SequenceGap: At the first frame after missing ones: they are to be asked for. If they do not come even then,
            the server does not have them, and what follows passes.
        """
        if isinstance(piece, (bytes, bytearray)):
            yield from self._blocks(bytes(piece))
        elif self._is_new(piece, *_numbers(piece)):
            yield piece

    def rest(self) -> bytes:
        """The bytes of a frame that never ended; they are given once."""
        rest, self._pending = b"".join(self._pending), []
        return rest

    def reconnected(self) -> None:
        """Another connection follows: a frame that was cut comes again whole."""
        self._pending = []
        self._may_repeat = True

    def _blocks(self, data: bytes) -> Iterator[bytes]:
        end = b"".join(self._pending[-_BEGUN:])[-_BEGUN:]
        if not _BLANK_LINE.search(end + data):
            self._pending += [data] if data else []
            return
        held = sum(map(len, self._pending))
        data = self.rest() + data
        at = 0
        try:
            for blank in _BLANK_LINE.finditer(data, max(0, held - _BEGUN)):
                block, at = data[at : blank.end()], blank.end()
                if self._is_new(block, *_read(block)):
                    yield block
        finally:
            self._pending = [data[at:]]

    def _is_new(self, frame: Any, number: int | None, response_id: str | None) -> bool:
        self.response_id = self.response_id or response_id
        if number is None or not self._is_numbered:
            return True
        if self.last is None:
            self.last = number
            return True
        if number <= self.last:
            self._is_numbered = self._may_repeat
            return not self._may_repeat  # it came before
        self._may_repeat = False
        if number > self.last + 1:
            if self._asked_after != self.last:
                self._asked_after = self.last
                raise SequenceGap(self.last + 1, number - 1, frame)
            self.gaps.append((self.last + 1, number - 1))
        self.last = number
        return True


class SequenceGap(Exception):
    """Events are missing. `frame` is the one that came instead."""

    def __init__(self, first: int, last: int, frame: Any = b"") -> None:
        super().__init__(first, last, frame)
        self.first = first
        self.last = last
        self.frame = frame

    def __str__(self) -> str:
        return f"the events {self.first} to {self.last} did not come"


def _read(block: bytes) -> tuple[int | None, str | None]:
    lines = [line[5:] for line in block.splitlines() if line.startswith(b"data:")]
    if not lines:
        return None, None
    try:
        event = _READ(b"\n".join(lines))
    except (ValueError, RecursionError):
        return None, None
    return _believed(event.sequence_number, event.type), event.response.id if event.response is not None else None


def _numbers(piece: Any) -> tuple[int | None, str | None]:
    """The number of a payload or of an SDK's object."""
    get = _getter(piece)
    number, response = get("sequence_number"), get("response")
    id_ = _getter(response)("id") if response is not None else None
    number = number if type(number) is int else None
    return _believed(number, get("type")), (id_ if isinstance(id_, str) else None)


def _believed(number: int | None, kind: Any) -> int | None:
    """The number of an event of that kind, if it tells anything."""
    return None if isinstance(kind, str) and kind in UNNUMBERED else number


def _getter(holder: Mapping[str, Any] | Any) -> Any:
    return holder.get if hasattr(holder, "get") else lambda name: getattr(holder, name, None)
