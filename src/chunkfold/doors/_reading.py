"""
How `fold` reads a source: nobody looks in between, so that many pieces may be read before any is folded. They are read
ahead only once pieces were bytes, so that there is no buffer which is used again.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.doors._source_folder import SourceFolder

__all__ = ["Reader"]

# So many pieces are read ahead at first, and at most; those that are joined have so many bytes.
_FEW, _MANY = 64, 128
_READ_AHEAD = 64 << 10
# No more is read ahead after so many bytes: what comes last may tell a long text again, several times.
_IN_ALL = 8 << 20
# So many in a row have to be alike before more are read ahead, or twice as many each time that this is no use.
_RUN, _LONGEST_RUN = 256, 4096
# A piece of fewer bytes that ends amid an event is small.
_SMALL = 512


class _Ahead:
    """Reads many pieces at once. What ended the reading is raised when all that came before has been taken."""

    def __init__(self, source: Iterator[Any], first: int, most: int) -> None:
        self._source = source
        self._failure: BaseException | None = None
        self._first, self._most, self._many = first, most, first

    def read(self) -> list[Any]:
        """
        The next pieces.

        Raises:
            StopIteration: When there are no more; and whatever the source raises.
        """
        self.fail()
        read: list[Any] = []
        try:
            read.extend(islice(self._source, self._many))
        except BaseException as error:
            # What came before the exception is in the list.
            if not read:
                raise
            self._failure = error
        if not read:
            raise StopIteration
        return read

    @property
    def has_failed(self) -> bool:
        """True if something is to be raised."""
        return self._failure is not None

    def fail(self) -> None:
        """Raise what has ended the reading, if that has not been raised."""
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def read_more(self, pieces: list[bytes]) -> None:
        """As it was of use to read so many *pieces*, more are read the next time."""
        if self._many == self._most:
            return
        size = sum(map(len, pieces[-_FEW:])) // len(pieces[-_FEW:])
        self._many = max(1, min(2 * self._many, self._most, _READ_AHEAD // (size + 1)))

    def read_few(self) -> None:
        """It was of no use to read so many."""
        self._many = self._first


class _Joined:
    """Joins small pieces."""

    def __init__(self, pieces: Iterator[Any]) -> None:
        self._ahead = _Ahead(pieces, _MANY, _READ_AHEAD)
        # What was read ahead and cannot be joined.
        self._read: list[Any] = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        if self._read:
            return self._read.pop()
        read = self._ahead.read()
        joined = _joined(read)
        if joined is None:
            self._read = read[::-1]
            return self._read.pop()
        self._ahead.read_more(read)
        return joined


class Reader:
    """The pieces of a source that have to be fed one by one. What came between them has been folded."""

    def __init__(self, folder: SourceFolder, source: Iterator[Any]) -> None:
        self._folder = folder
        self._source = source
        self._ahead = _Ahead(source, _FEW, _MANY)
        # What comes next: what was read ahead in vain, or a run of the source, which is to be of pieces that are alike.
        self._run = _RUN
        self._begin_run()
        self._left = _IN_ALL
        self._joins = False

    def next(self, *, is_sure: bool) -> Any:
        """
        The next piece that has to be fed. *is_sure*: pieces are bytes that need no look.

        Raises:
            StopIteration: When there are no more; and whatever the source raises.
        """
        if not is_sure:
            return next(self._source)
        while True:
            try:
                piece = self._folder.follow(self._pieces)
            except StopIteration:
                if self._is_run:
                    self._take_many()
                else:
                    self._ahead.fail()
                    self._begin_run()
                continue
            if self._is_run:
                self._begin_run()
            return piece

    def _begin_run(self) -> None:
        self._is_run = True
        self._pieces: Iterator[Any] = islice(self._source, self._run)

    def _take_many(self) -> None:
        """A run has come to its end: fold pieces, many at a time, for as long as they are alike."""
        while self._left > 0 and not self._joins and self._folder.may_take_many:
            pieces = self._ahead.read()
            joined = _joined(pieces)
            if joined is None or not self._folder.take_many(pieces, joined):
                self._ahead.read_few()
                break
            self._ahead.read_more(pieces)
            self._run = _RUN
            self._left -= len(joined)
        else:
            self._ahead.fail()
            pieces = [next(self._source)]
            self._run = min(2 * self._run, _LONGEST_RUN)
        self._is_run = False
        self._pieces = iter(pieces)

    def was_fed(self, piece: bytes) -> None:
        """If *piece* was small and more of the kind are to be expected, these are joined."""
        if len(piece) >= _SMALL or self._joins or self._ahead.has_failed or not self._folder.gains_by_joining:
            return
        self._joins = True
        self._source = _Joined(chain(self._pieces, self._source))
        self._pieces = iter(())


def _joined(pieces: list[Any]) -> bytes | None:
    """The bytes that *pieces* are; `None` if one of them is something else, or the last is long by itself."""
    try:
        return b"".join(pieces) if len(pieces[-1]) <= _READ_AHEAD else None
    except TypeError:
        return None
