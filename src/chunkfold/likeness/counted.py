"""
Reads that differ in the text of their delta and in a number that rises by one.

What is around the two is known from a read that was of a shape, so that the next one need not be decoded: with the next
number in its place it begins with the same bytes and ends with the same bytes, and what is left is one JSON string.
Between the number and the text stands what tells whose the delta is: calls whose deltas take turns are followed as one.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from chunkfold.likeness.deltas import MANY
from chunkfold.likeness.edges import strings, text_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chunkfold.likeness.shapes import Shape

__all__ = ["Counted"]

_BAD = (msgspec.DecodeError, UnicodeDecodeError)
_read_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
# So many times it may be learned from a read without being of use.
_PATIENCE = 32
# The numbers below a thousand as they are spelled, and as others end that have the same thousands.
_SMALL = [b"%d" % number for number in range(1000)]
_ENDS = [b"%03d" % number for number in range(1000)]


class Counted:
    """What is around the number and the text of reads, for the parts that they bring deltas to."""

    __slots__ = ("_in_vain", "_only", "_start", "head", "key", "parts", "runs", "sizes", "tail", "targets", "texts")

    def __init__(self, key: str) -> None:
        self.key = b'"%b":' % key.encode()
        self.head = self.tail = b""
        # By the bytes between number and text, what a delta belongs to; and the lengths of those bytes.
        self.parts: dict[bytes, Any] = {}
        self.sizes: tuple[int, ...] = ()
        # What was followed: the texts, what each belongs to, if that may be several, and the texts of each.
        self.texts: list[str] = []
        self.targets: list[Any] = []
        self.runs: list[tuple[Any, list[str]]] = []
        # What a read begins with, its number to be put in: up to its text, if there is one part.
        self._start = b""
        self._only: Any = None
        self._in_vain = 0

    @property
    def is_worn(self) -> bool:
        """True if it is no use to learn more: something else differs from read to read."""
        return self._in_vain > _PATIENCE + 2 * len(self.parts)

    def learn(self, shape: Shape, data: bytes, first: bytes, last: bytes, target: Any) -> None:
        """
        A read with the frame *data*, the last of that shape, had *first*, with its number, before its text and *last*
        after it.
        """
        self.learn_number(shape.number, first, last, target)

    def learn_number(self, number: int, first: bytes, last: bytes, target: Any) -> None:
        """The same of a read of any shape with that *number*."""
        self._in_vain += 1
        head, mark, rest = first.partition(self.key)
        blanks = rest[: len(rest) - len(rest.lstrip(b" "))]
        head, rest = head + mark + blanks, rest[len(blanks) :]
        digits = b"%d" % number
        between = rest.removeprefix(digits)
        # One field of that name, whose number is spelled as it will be.
        if not mark or self.key in rest or self.key in last or between == rest or between[:1] != b",":
            return
        if (head, last) != (self.head, self.tail) or self._in_vain > _PATIENCE:
            self.head, self.tail, self.parts = head, last, {}
        self.parts[between] = target
        self.sizes = tuple({len(known) for known in self.parts})
        self._only = target if len(self.parts) == 1 else None
        form = (self.head.replace(b"%", b"%%"), b"%d", between.replace(b"%", b"%%"))
        self._start = b"".join(form if self._only is not None else form[:2])

    def find(self, read: bytes, number: int) -> tuple[Any, str] | None:
        """What the delta of *read* belongs to, and its text, if its number is *number* and something was learned."""
        start = self._start % number
        if not read.startswith(start):
            return None
        at, target = len(start), self._only
        if target is None:
            # Between the number and the text stands what tells whose the delta is.
            for size in self.sizes:
                target = self.parts.get(read[at : at + size])
                if target is not None:
                    at += size
                    break
        text = text_in(read, at, self.tail) if target is not None else ""
        if not text:
            return None
        self._in_vain = 0
        return target, text

    def follow(self, accumulator: Any, pieces: Iterator[Any], number: int, longest: int) -> Any:
        """
        Take *pieces*, at most `MANY`, for as long as they fit; the first that does not is returned. What was taken is
        in `texts`, `targets` and `runs`.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        self.texts, self.targets, self.runs = [], [], []
        opened = {between: (target.open(accumulator).append, target) for between, target in self.parts.items()}
        before = [(target, target.builder.pieces, len(target.builder.pieces)) for target in set(self.parts.values())]
        # What is thrown away by policy cannot be counted, nor told apart what two calls have in common.
        if any(target.builder.hidden for target, _, _ in before) or len({id(sink) for _, sink, _ in before}) < len(
            before
        ):
            return next(pieces)
        try:
            if len(opened) == 1:
                return self._follow_one(before[0][1], pieces, number, longest)
            return self._follow_many(opened, pieces, number, longest)
        finally:
            self.runs = [(target, sink[had:]) for target, sink, had in before if len(sink) > had]
            if self.texts:
                self._in_vain = 0

    @property
    def may_take_many(self) -> bool:
        """True if all of several reads may fit: what tells whose they are is as long in each."""
        return len(self.sizes) == 1

    def take_many(self, accumulator: Any, pieces: list[bytes], joined: bytes, number: int) -> int:
        """
        Take *pieces*, which are *joined* together, if all of them fit: how many; else none. They do if putting the same
        bytes around what is left of each, with the numbers from *number* on, makes *joined* again.
        """
        self.texts, self.targets, self.runs = [], [], []
        count, same, digits = len(pieces), *_spelled(number, len(pieces))
        first, last = self.head + same, b'"' + self.tail
        at = len(first) + len(digits[0])
        start = at + self.sizes[0] + 1
        between, inside = slice(at, start), slice(start, -len(last))
        known = {part + b'"': target for part, target in self.parts.items()}
        betweens = [*known] * count if self._only is not None else [piece[between] for piece in pieces]
        targets = [*map(known.get, betweens)] if self._only is None else []
        inner = [piece[inside] for piece in pieces]
        said = [last + first] * (4 * count)
        said[0], said[1::4], said[2::4], said[3::4] = first, digits, betweens, inner
        if b"".join(said) + last != joined or None in targets:
            return 0
        texts = strings(inner)
        if not texts:
            return 0
        runs = [(self._only, texts)] if self._only is not None else _dealt(texts, targets)
        sinks = [target.open(accumulator) for target, _ in runs]
        if len({*map(id, sinks)}) < len(sinks):
            return 0  # in one list their order would be lost
        for sink, (_, run) in zip(sinks, runs, strict=True):
            sink.extend(run)
        self.texts, self.targets, self.runs = texts, targets, runs
        self._in_vain = 0
        return count

    def _follow_one(self, texts: list[str], pieces: Iterator[Any], number: int, longest: int) -> Any:
        form, tail = self._start, self.tail
        end, had = -len(tail), len(texts)
        append = texts.append
        try:
            for piece in islice(pieces, MANY):
                start = form % number
                if type(piece) is not bytes or not piece.startswith(start) or not piece.endswith(tail):
                    return piece
                if len(piece) > longest:
                    return piece
                try:
                    text = _read_string(piece[len(start) : end])
                except _BAD:
                    return piece
                if not text:
                    return piece
                append(text)
                number += 1
        finally:
            self.texts = texts[had:]
        if len(self.texts) < MANY:
            raise StopIteration
        return next(pieces)

    def _follow_many(
        self,
        opened: dict[bytes, tuple[Callable[[str], None], Any]],
        pieces: Iterator[Any],
        number: int,
        longest: int,
    ) -> Any:
        form, tail, sizes = self._start, self.tail, self.sizes
        end, size = -len(tail), sizes[0]
        keep, keep_target = self.texts.append, self.targets.append
        find = opened.get
        for piece in islice(pieces, MANY):
            start = form % number
            if type(piece) is not bytes or not piece.startswith(start) or not piece.endswith(tail):
                return piece
            at = len(start)
            found = find(piece[at : at + size])
            if found is None:
                for size in sizes:
                    found = find(piece[at : at + size])
                    if found is not None:
                        break
                else:
                    return piece
            if len(piece) > longest:
                return piece
            try:
                text = _read_string(piece[at + size : end])
            except _BAD:
                return piece
            if not text:
                return piece
            append, target = found
            append(text)
            keep(text)
            keep_target(target)
            number += 1
        if len(self.texts) < MANY:
            raise StopIteration
        return next(pieces)


def _spelled(number: int, count: int) -> tuple[bytes, list[bytes]]:
    """How *count* numbers from *number* on are spelled: what all of them begin with, and the rest of each."""
    thousands, at = divmod(number, 1000)
    if number < 0 or at + count > 1000:
        return b"", [b"%d" % one for one in range(number, number + count)]
    return (b"%d" % thousands, _ENDS[at : at + count]) if thousands else (b"", _SMALL[at : at + count])


def _dealt(texts: list[str], targets: list[Any]) -> list[tuple[Any, list[str]]]:
    """The texts of each target."""
    runs: dict[Any, list[str]] = {target: [] for target in targets}
    for target, text in zip(targets, texts, strict=True):
        runs[target].append(text)
    return [*runs.items()]
