"""
The bytes around the text of a delta.

A frame that begins with the same bytes and ends with the same bytes as one that was read and meant nothing but one
delta to an open part, and has exactly one JSON string between, means the same delta with that string.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from chunkfold.likeness.deltas import MANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chunkfold.likeness.deltas import Target

__all__ = ["Edges", "Table", "edges_of", "strings", "text_in"]

_BAD = (msgspec.DecodeError, UnicodeDecodeError)
_read_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
_read_strings: Callable[[bytes], list[str]] = msgspec.json.Decoder(list[str]).decode
_write: Callable[[Any], bytes] = msgspec.json.Encoder().encode

_BACKSLASH = 0x5C
# Where strings end on lines of their own: one that ends with a backslash, which might escape what comes next; and half
# a character, which might be completed there.
_HALVES = (b'\\"\n', b"\\ud", b"\\uD")

# Of so many parts at once edges are kept, and so many of each. Models write a handful of calls beside each other.
_KEPT, _FORMS = 32, 3


def edges_of(text: str, data: bytes, keys: tuple[bytes, ...]) -> tuple[bytes, bytes] | None:
    """What is around the delta *text* in *data*, behind one of *keys*; `None` if it cannot be told where it is."""
    literal = _write(text)
    at = data.find(literal)
    # Where nothing else is escaped, no other string can be the same text in another spelling.
    if at < 0 or data.find(literal, at + 1) >= 0 or data.count(b"\\") != literal.count(b"\\"):
        return None
    first, last = data[:at], data[at + len(literal) :]
    return (first, last) if first.rstrip(b" ").endswith(keys) else None


class Edges:
    """What is around the text of a delta in a frame, and in a read that is nothing but that frame."""

    __slots__ = ("count", "first", "last", "read_first", "read_last", "target")
    may_take_many = True

    def __init__(self, target: Target, first: bytes, last: bytes) -> None:
        self.target = target
        self.first = first
        self.last = last
        self.read_first = self.read_last = b""
        self.count = 0
        """How many reads were taken."""

    def follow(self, accumulator: Any, pieces: Iterator[Any], _: int, longest: int) -> Any:
        """
        Take *pieces*, at most `MANY`, for as long as they fit; the first that does not is returned. Most of a long
        answer goes through here.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        before, after = self.read_first, self.read_last
        inside = slice(len(before), -len(after))
        texts = self.target.open(accumulator)
        self.count = 0
        if self.target.builder.hidden:  # by policy: what is thrown away cannot be counted
            return next(pieces)
        append, had = texts.append, len(texts)
        try:
            for piece in islice(pieces, MANY):
                if type(piece) is not bytes or not piece.startswith(before) or not piece.endswith(after):
                    return piece
                if len(piece) > longest:
                    return piece
                try:
                    text = _read_string(piece[inside])
                except _BAD:
                    return piece
                if not text:
                    return piece
                append(text)
        finally:
            self.count = len(texts) - had
        if self.count < MANY:
            raise StopIteration
        return next(pieces)

    def take_many(self, accumulator: Any, pieces: list[bytes], joined: bytes, _: int) -> int:
        """
        Take *pieces*, which are *joined* together, if all of them fit: how many; else none. They do if putting the same
        bytes around what is left of each makes *joined* again.
        """
        before, after = self.read_first + b'"', b'"' + self.read_last
        inside = slice(len(before), -len(after))
        inner = [piece[inside] for piece in pieces]
        same = before + (after + before).join(inner) + after == joined
        self.count = self._take(accumulator, inner) if same else 0
        return self.count

    def swallow(self, accumulator: Any, data: bytes) -> int:
        """
        Take the frames at the beginning of *data*, which holds many, for as long as they fit. Their strings are read in
        one go.

        Returns:
            How many bytes were taken; how many frames is in `count`.
        """
        # Cut at line ends, since searching for one byte is several times as fast as for two.
        first, last = self.read_first, self.read_last
        lines = data.split(b"\n")
        fixed = (first + last).split(b"\n")[:-1]
        size = len(fixed)
        many = (len(lines) - 1) // size
        place = first.count(b"\n")
        for other in range(size):
            if other != place:
                many = _equal(lines[other : many * size : size], fixed[other])
        before, after = first.rpartition(b"\n")[2] + b'"', b'"' + last.partition(b"\n")[0]
        inside = slice(len(before), -len(after))
        held = lines[place : many * size : size]
        inner = [line[inside] for line in held if line.startswith(before) and line.endswith(after)]
        if len(inner) != len(held):
            fits = (line.startswith(before) and line.endswith(after) for line in held)
            del inner[next(number for number, fit in enumerate(fits) if not fit) :]
        self.count = self._take(accumulator, inner)
        return sum(map(len, inner)) + self.count * (len(first) + len(last) + 2) if self.count else 0

    def _take(self, accumulator: Any, inner: list[bytes]) -> int:
        """Take strings, of which *inner* is between the quotes, as deltas: how many; none if not all are such."""
        text = _text(inner)
        texts = [text] if text else strings(inner)
        if not texts:
            return 0
        self.target.open(accumulator).extend(texts)
        return len(inner)


class Table:
    """The edges in force, by the bytes before the text: those of frames, and those of reads."""

    __slots__ = ("_frame_lengths", "_read_lengths", "by_frame", "by_read", "count", "only")
    may_take_many = False

    def __init__(self) -> None:
        self.by_frame: dict[bytes, list[Edges]] = {}
        self.by_read: dict[bytes, list[Edges]] = {}
        self.only: Edges | None = None
        """Of those of reads, if all are of one part, the last one that fitted or was made."""
        self._frame_lengths: tuple[int, ...] = ()
        self._read_lengths: tuple[int, ...] = ()
        self.count = 0
        """How many reads were taken."""

    def targets(self) -> list[Target]:
        """What frames may belong to."""
        return [edges.target for group in self.by_frame.values() for edges in group]

    def clear(self) -> None:
        """Forget all."""
        self.by_frame = {}
        self.by_read = {}
        self.only = None
        self._frame_lengths = self._read_lengths = ()

    def add(self, edges: Edges) -> None:
        """Put *edges* in force."""
        if len(self.by_frame) >= _KEPT:
            self.clear()
        for groups in (self.by_frame, self.by_read):
            _forget_old(groups, edges.target)
        _put(self.by_frame, edges.first, edges)
        self._frame_lengths = tuple({len(known) for known in self.by_frame})

    def adopt(self, edges: Edges, data: bytes, read: bytes) -> None:
        """The frame *data* came in a *read* of its own: others may be known by what is around them there."""
        lead, held, trail = read.partition(data)
        if not held:
            return
        edges.read_first, edges.read_last = lead + edges.first, edges.last + trail
        _put(self.by_read, edges.read_first, edges)
        self._read_lengths = tuple({len(known) for known in self.by_read})
        parts = {known.target.part for group in self.by_read.values() for known in group}
        self.only = edges if parts == {edges.target.part} else None

    def find(self, data: bytes) -> tuple[Edges, str] | None:
        """The edges that fit the frame *data*, and its text."""
        for length in self._frame_lengths:
            for edges in self.by_frame.get(data[:length], ()):
                text = text_in(data, length, edges.last)
                if text:
                    return edges, text
        return None

    def find_read(self, read: bytes) -> tuple[Edges, str] | None:
        """The same for a whole *read*."""
        for length in self._read_lengths:
            for edges in self.by_read.get(read[:length], ()):
                text = text_in(read, length, edges.read_last)
                if text:
                    if self.only is not None:
                        self.only = edges
                    return edges, text
        return None

    def follow(self, accumulator: Any, pieces: Iterator[Any], _: int, longest: int) -> Any:
        """As `Edges.follow`, for parts that take turns."""
        self.count = 0
        lengths = self._read_lengths
        known = {
            first: [(edges.read_last, edges.target.open(accumulator)) for edges in group]
            for first, group in self.by_read.items()
        }
        for piece in islice(pieces, MANY):
            if type(piece) is not bytes or len(piece) > longest:
                return piece
            for length in lengths:
                found = known.get(piece[:length])
                if found is not None:
                    break
            else:
                return piece
            for last, texts in found:
                if piece.endswith(last):
                    append = texts.append
                    break
            else:
                return piece
            try:
                text = _read_string(piece[length : -len(last)])
            except _BAD:
                return piece
            if not text:
                return piece
            append(text)
            self.count += 1
        if self.count < MANY:
            raise StopIteration
        return next(pieces)

    def first_of(self, data: bytes) -> Edges | None:
        """The edges that the first frame in *data* seems to have, if its reads end with a line."""
        for length in self._read_lengths:
            for edges in self.by_read.get(data[:length], ()):
                if edges.read_last.endswith(b"\n"):
                    return edges
        return None


def _put(groups: dict[bytes, list[Edges]], first: bytes, edges: Edges) -> None:
    """Add *edges*, instead of those of the same part and the same bytes."""
    group = groups.setdefault(first, [])
    group[:] = [known for known in group if known.target.part != edges.target.part]
    group.append(edges)


def _forget_old(groups: dict[bytes, list[Edges]], target: Target) -> None:
    """Make room for edges of that part: bytes that have changed seldom come back."""
    of_part = [(first, known) for first, group in groups.items() for known in group if known.target.part == target.part]
    for first, known in of_part[: 1 - _FORMS]:
        groups[first].remove(known)
        if not groups[first]:
            del groups[first]


def text_in(data: bytes, start: int, last: bytes) -> str:
    """The string that *data* is from *start* on, up to *last*; empty if it is not just that."""
    if not data.endswith(last):
        return ""
    try:
        return _read_string(data[start : len(data) - len(last)])
    except _BAD:
        return ""


def strings(inner: list[bytes]) -> list[str]:
    """The strings whose JSON has *inner* between its quotes, if each is exactly one and none is empty; else none."""
    try:
        # A string holds no line end, so that what is open at the end of one cannot be closed in the next.
        texts = _read_strings(b'["' + b'"\n,"'.join(inner) + b'"]')
    except _BAD:
        return []
    return texts if len(texts) == len(inner) and all(texts) else []


def _text(inner: list[bytes]) -> str:
    """The same strings as one, which is faster; empty if it is not plain to see that each is one by itself."""
    apart = b'"\n'.join(inner)
    if _BACKSLASH in apart and any(map(apart.__contains__, _HALVES)):
        return ""
    try:
        if not all(inner) or not (apart.isascii() or apart.decode()):
            return ""
        return _read_string(b'"' + b"".join(inner) + b'"')
    except _BAD:
        return ""


def _equal(lines: list[bytes], line: bytes) -> int:
    """How many of *lines*, from the first on, are equal to *line*."""
    if lines.count(line) == len(lines):
        return len(lines)
    return next(number for number, other in enumerate(lines) if other != line)
