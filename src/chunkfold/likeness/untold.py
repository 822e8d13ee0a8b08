"""What frames that were not read in full have said, and the dialect has not been told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.likeness.deltas import MANY, Heard

if TYPE_CHECKING:
    from chunkfold.dialects import Dialect
    from chunkfold.likeness.deltas import Target
    from chunkfold.likeness.shapes import Shape

__all__ = ["Untold"]


class Untold:
    """Keeps deltas, for a dialect that listens, and what the last frame said beside its text."""

    __slots__ = ("_count", "_dialect", "_heard", "is_any", "listens", "shape")

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self.listens = dialect.listens
        """True if the dialect is to be told of every delta."""
        self._heard: list[Heard] = []
        self._count = 0
        self.shape: Shape | None = None
        """The shape of the last frame, if it said more than its text."""
        self.is_any = False
        """True if there is something to tell."""

    def hear(self, target: Target, text: str, number: int = -1) -> None:
        """Keep a delta, and the number of its frame, if it has one."""
        last = self._heard[-1] if self._heard else None
        if last is None or last.target is not target or (number >= 0 and number != last.number + len(last.texts)):
            last = Heard(target, number)
            self._heard.append(last)
        last.texts.append(text)
        self._counted(1)

    def hear_all(self, heard: Heard) -> None:
        """Keep many deltas."""
        self._heard.append(heard)
        self._counted(len(heard.texts))

    def _counted(self, count: int) -> None:
        self.is_any = True
        self._count += count
        if self._count > MANY:
            self.tell()

    def note(self, shape: Shape) -> None:
        """The last frame was of that shape and said more than its text."""
        if self.shape is not shape:
            if self.shape is not None:
                self.tell()
            self.shape = shape
        self.is_any = True

    def tell(self) -> None:
        """Tell the dialect."""
        self.is_any = False
        if self._heard:
            heard, self._heard, self._count = self._heard, [], 0
            self._dialect.hear(heard)
        if self.shape is not None:
            shape, self.shape = self.shape, None
            if shape.keeps:
                for path, value in shape.kept():
                    self._dialect.w.extra(path, value)
            if shape.is_running:
                self._dialect.catch_up(shape.totals())
