"""
Reads that differ in the text of their delta and in running totals behind it.

Of such totals only the latest count, so that those in between need not be read. A read is known by the bytes before
its text, by those behind its totals, and by the form of what is between: the same bytes, but for the digits of numbers.
A zero stays a zero there, since no longer number begins with one.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold.basis import _json
from chunkfold.likeness.deltas import MANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chunkfold.likeness.shapes import Shape

__all__ = ["Totalled"]

_BAD = (msgspec.DecodeError, UnicodeDecodeError)
_read_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
_DIGITS: Final = frozenset("123456789")
_FORM: Final = bytes(ord("1") if chr(byte) in _DIGITS else byte for byte in range(256))
# So many times it may be learned from a read, each without one more that fits.
_PATIENCE = 32
# So many forms are kept: those of totals up to some hundred thousand.
_MOST = 500


class Totalled:
    """What is around the text and the totals of reads, for the part that they bring deltas to."""

    __slots__ = (
        "_first", "_form", "_forms", "_in_vain", "_last", "_middle", "_size", "_target", "count", "shape",
    )  # fmt: skip
    may_take_many = False

    def __init__(self) -> None:
        # What a read begins and ends with, and what is between the text and the totals.
        self._first = self._last = self._middle = b""
        self._forms: set[bytes] = set()
        # The form of the last read that fitted or was learned, and its length.
        self._form = b""
        self._size = 0
        self._target: Any = None
        # Of which all reads are, and where their totals are left.
        self.shape: Any = None
        self._in_vain = 0
        # How many reads were followed.
        self.count = 0

    @property
    def is_ready(self) -> bool:
        """True if a read may fit."""
        return bool(self._forms)

    @property
    def is_worn(self) -> bool:
        """True if it is no use to learn more: something else differs from read to read."""
        return self._in_vain > _PATIENCE

    def learn(self, shape: Shape, data: bytes, first: bytes, last: bytes, target: Any) -> None:
        """
        A read with the frame *data*, the last of that shape, had *first* before its text and *last* after it. Nothing
        is escaped in these.
        """
        self._in_vain += 1
        if self.is_worn:
            self._forms = set()
            return
        totals = (_json.raw_at(data, *shape.usage_path) or "").encode()
        if last.count(totals) != 1 or not _is_told_by_form(shape.totals()):
            return
        at = last.index(totals)
        middle, rest = last[:at], last[at + len(totals) :]
        form = last[: at + len(totals)].translate(_FORM)
        if not _DIGITS.isdisjoint(map(chr, middle)):
            return
        if (first, middle, rest) != (self._first, self._middle, self._last) or shape is not self.shape:
            self._first, self._middle, self._last, self.shape = first, middle, rest, shape
            self._forms = set()
        if len(self._forms) < _MOST:
            self._forms.add(form)
        self._form, self._size, self._target = form, len(form), target

    def find(self, read: bytes) -> tuple[Any, str] | None:
        """What the delta of *read* belongs to, and its text, if it fits. Its totals are left with the shape."""
        if not self._forms or not read.startswith(self._first) or not read.endswith(self._last):
            return None
        end = len(read) - len(self._last)
        cut = end - self._size
        form = read[cut:end].translate(_FORM)
        if form != self._form and form not in self._forms:
            return None
        try:
            text = _read_string(read[len(self._first) : cut])
        except _BAD:
            return None
        if not text:
            return None
        self.shape.usage = read[cut + len(self._middle) : end]
        if self._in_vain:
            self._in_vain -= 1
        return self._target, text

    def follow(self, accumulator: Any, pieces: Iterator[Any], _: int, longest: int) -> Any:
        """
        Take *pieces*, at most `MANY`, for as long as they fit; the first that does not is returned. How many were taken
        is in `count`.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        texts = self._target.open(accumulator)
        self.count = 0
        if self._target.builder.hidden:  # by policy: what is thrown away cannot be counted
            return next(pieces)
        first, last, forms, known = self._first, self._last, self._forms, self._form
        start, end = len(first), -len(last)
        cut = end - self._size
        append, had, fitted = texts.append, len(texts), b""
        try:
            for piece in islice(pieces, MANY):
                if type(piece) is not bytes or not piece.startswith(first) or not piece.endswith(last):
                    return piece
                form = piece[cut:end].translate(_FORM)
                if form != known:
                    if form not in forms:
                        return piece
                    known = form
                if len(piece) > longest:
                    return piece
                try:
                    text = _read_string(piece[start:cut])
                except _BAD:
                    return piece
                if not text:
                    return piece
                append(text)
                fitted = piece
        finally:
            self.count = len(texts) - had
            if fitted:
                self._form = known
                self.shape.usage = fitted[cut + len(self._middle) : end]
                self._in_vain = max(0, self._in_vain - self.count)
        if self.count < MANY:
            raise StopIteration
        return next(pieces)


def _is_told_by_form(value: Any) -> bool:
    """True if what differs from *value* in digits alone can be read as well, and has the same keys."""
    if isinstance(value, dict):
        return _DIGITS.isdisjoint("".join(value)) and all(map(_is_told_by_form, value.values()))
    if isinstance(value, list):
        return all(map(_is_told_by_form, value))
    return type(value) is not float  # an exponent may be too large
