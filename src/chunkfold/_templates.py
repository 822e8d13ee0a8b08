"""
Most frames of a stream differ from the one before in nothing but the text of one delta. This remembers the bytes
around it.

The proof that a frame need not be read: it begins with the same bytes and ends with the same bytes as a frame that was
read and meant nothing but one delta to an open part, and what stands between is exactly one JSON string. Then it means
the same delta with that string. Whatever does not fit is read in full, which is the definition; and whatever was read
in full and was not such a delta makes all templates void, since it may have changed what a delta means.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold.events import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolArgumentsDelta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chunkfold.accumulator import StreamAccumulator

__all__ = ["DELTAS", "Template", "Templates"]

DELTAS: Final = frozenset({TextDelta, ReasoningDelta, RefusalDelta, ToolArgumentsDelta})

read_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
_read_strings: Callable[[bytes], list[str]] = msgspec.json.Decoder(list[str]).decode
_BAD = (msgspec.DecodeError, UnicodeDecodeError)
_write: Callable[[Any], bytes] = msgspec.json.Encoder().encode

# After so many templates of one part that no frame fitted, learning is tried only now and then: some servers vary a
# number in every frame, and looking for what stays costs as much as reading.
_HOPELESS = 8
_NOW_AND_THEN = 64
# Short strings cost ten times their text in memory, so a part's pieces are joined when there are this many.
_MANY = 2048


class Template:
    """The bytes around the text of a delta, and the part that the delta belongs to."""

    __slots__ = ("after", "before", "builder", "choice", "event", "index", "read_after", "read_before")

    def __init__(self, event: Any, before: bytes, after: bytes) -> None:
        self.event: Callable[[int, int, str], Event] = type(event)
        self.choice: int = event.choice
        self.index: int = event.index
        self.before = before
        self.after = after
        # The same with the framing around it, for a read that holds exactly one frame.
        self.read_before = self.read_after = b""
        # Where the accumulator keeps the part; looked up once.
        self.builder: Any = None

    def open(self, accumulator: StreamAccumulator) -> list[Any]:
        """The list that the texts of this part are appended to; whoever asks is about to append."""
        if self.builder is None:
            self.builder = accumulator.sink(self.choice, self.index)
        pieces: list[Any] = self.builder.pieces
        if not pieces:
            self.builder.touch()
        elif len(pieces) > _MANY:
            self.builder.compact()
        return pieces


class Templates:
    """The templates that are in force: one for text, or one for each open tool call."""

    __slots__ = ("_in_vain", "_keys", "_longest", "_tries", "by_before", "by_read", "lengths", "read_lengths", "taken")

    def __init__(self, frame_bytes: int | None = None) -> None:
        # A longer read is left to the framing, which knows what to say about it.
        self._longest = frame_bytes if frame_bytes is not None else sys.maxsize
        self._keys: tuple[bytes, ...] = ()
        self._tries = 0
        # How many frames fitted in `follow` and `swallow`; whoever called takes the number and sets it back.
        self.taken = 0
        # By part, how many templates were made since one fitted.
        self._in_vain: dict[tuple[int, int], int] = {}
        self.by_before: dict[bytes, Template] = {}
        self.by_read: dict[bytes, Template] = {}
        self.lengths: tuple[int, ...] = ()
        self.read_lengths: tuple[int, ...] = ()

    def use(self, keys: tuple[str, ...]) -> None:
        """Set the keys whose string may vary; none switches templates off."""
        self._keys = tuple(b'"%b":' % key.encode() for key in keys)

    def clear(self) -> None:
        """Something happened that was no plain delta."""
        if self.by_before:
            self.by_before = {}
            self.by_read = {}
            self.lengths = self.read_lengths = ()

    def hit(self) -> None:
        """A template fitted: learning is worth while."""
        if self._in_vain:
            self._in_vain = {}

    def learn(self, event: Any, data: bytes, read: bytes | None) -> None:
        """Remember the frame *data* that meant *event*, and the whole *read* if it held nothing else."""
        self._tries += 1
        part = (event.choice, event.index)
        vain = self._in_vain.get(part, 0)
        if vain > _HOPELESS and self._tries % _NOW_AND_THEN:
            self.clear()
            return
        self._in_vain[part] = vain + 1
        literal = _write(event.text)
        at = data.find(literal)
        # Once only: else it cannot be told which of the two is the delta. Where nothing else is escaped, no other
        # string can be the same text in another spelling.
        rest = data.count(b"\\") - literal.count(b"\\")
        if at < 0 or rest or data.find(literal, at + 1) >= 0 or not data[:at].rstrip(b" ").endswith(self._keys):
            self.clear()
            return
        if event.type != "tool_arguments_delta" or any(
            known.event is not ToolArgumentsDelta for known in self.by_before.values()
        ):
            self.clear()
        template = Template(event, data[:at], data[at + len(literal) :])
        self.by_before[template.before] = template
        self.lengths = tuple({len(before) for before in self.by_before})
        if read is not None:
            start = read.find(data)
            template.read_before = read[: start + at]
            template.read_after = read[start + at + len(literal) :]
            self.by_read[template.read_before] = template
            self.read_lengths = tuple({len(before) for before in self.by_read})

    def find(self, data: bytes) -> tuple[Template, str] | None:
        """The template that frame *data* fits, and its text."""
        for length in self.lengths:
            template = self.by_before.get(data[:length])
            if template is not None and data.endswith(template.after):
                return _text_between(template, data, length, len(data) - len(template.after))
        return None

    def find_read(self, read: bytes) -> tuple[Template, str] | None:
        """The template that the whole *read* fits, and its text."""
        if len(read) > self._longest:
            return None
        for length in self.read_lengths:
            template = self.by_read.get(read[:length])
            if template is not None and read.endswith(template.read_after):
                return _text_between(template, read, length, len(read) - len(template.read_after))
        return None

    # Straight into the accumulator, for callers who want no events

    def follow(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """
        Take pieces, each one read, for as long as they fit; the first that does not is returned.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        if len(self.by_read) == 1:
            (template,) = self.by_read.values()
            return self._follow_one(template, accumulator, pieces)
        while True:
            piece = next(pieces)
            found = self.find_read(piece) if type(piece) is bytes else None
            if found is None:
                return piece
            template, text = found
            template.open(accumulator).append(text)
            self.taken += 1
            if self._in_vain:
                self.hit()

    def _follow_one(self, template: Template, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """The loop that most of a long answer goes through."""
        before, after, longest = template.read_before, template.read_after, self._longest
        start, end = len(before), -len(after)
        while True:
            texts = template.open(accumulator)
            if template.builder.hidden:  # by policy: what is thrown away cannot be counted
                return next(pieces)
            append, had = texts.append, len(texts)
            try:
                for piece in islice(pieces, _MANY):
                    if type(piece) is not bytes or not piece.startswith(before) or not piece.endswith(after):
                        return piece
                    if len(piece) > longest:
                        return piece
                    try:
                        text = read_string(piece[start:end])
                    except _BAD:
                        return piece
                    if not text:
                        return piece
                    append(text)
            finally:
                self.taken += len(texts) - had
            if len(texts) - had < _MANY:
                raise StopIteration
            self.hit()

    def swallow(self, accumulator: StreamAccumulator, data: bytes) -> int:
        """
        Take the frames at the beginning of *data*, which holds many, for as long as they fit one template. Their
        strings are read in one go.

        Returns:
            How many bytes were taken.
        """
        for length in self.read_lengths:
            template = self.by_read.get(data[:length])
            if template is not None and template.read_after.endswith(b"\n") and len(data) <= self._longest:
                return self._swallow(template, accumulator, data)
        return 0

    def _swallow(self, template: Template, accumulator: StreamAccumulator, data: bytes) -> int:
        # Cut at line ends, since searching for one byte is several times as fast as for two.
        lines = data.split(b"\n")
        fixed = (template.read_before + template.read_after).split(b"\n")[:-1]
        size = len(fixed)
        many = (len(lines) - 1) // size
        place = template.read_before.count(b"\n")
        for other in range(size):
            if other != place:
                many = _equal(lines[other : many * size : size], fixed[other])
        before, after = template.read_before.rpartition(b"\n")[2], template.read_after.partition(b"\n")[0]
        start, end = len(before), -len(after) or None
        held = lines[place : many * size : size]
        literals = [line[start:end] for line in held if line.startswith(before) and line.endswith(after)]
        if len(literals) != len(held):
            fits = (line.startswith(before) and line.endswith(after) for line in held)
            del literals[next(number for number, fit in enumerate(fits) if not fit) :]
        texts = _strings(literals)
        if not texts:
            return 0
        template.open(accumulator).extend(texts)
        self.taken += len(texts)
        self.hit()
        return sum(map(len, literals)) + len(literals) * (len(template.read_before) + len(template.read_after))


def _text_between(template: Template, data: bytes, start: int, end: int) -> tuple[Template, str] | None:
    try:
        text = read_string(data[start:end])
    except _BAD:
        return None
    return (template, text) if text else None


def _strings(literals: list[bytes]) -> list[str] | None:
    """The strings that *literals* are, if each is exactly one and none is empty."""
    try:
        # A string holds no line end, so that what is open at the end of one literal cannot be closed in the next.
        texts = _read_strings(b"[" + b"\n,".join(literals) + b"]")
    except _BAD:
        return None
    return texts if len(texts) == len(literals) and all(texts) else None


def _equal(lines: list[bytes], line: bytes) -> int:
    """How many of *lines*, from the first on, are equal to *line*."""
    if lines.count(line) == len(lines):
        return len(lines)
    return next(number for number, other in enumerate(lines) if other != line)
