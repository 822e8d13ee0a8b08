"""The shapes that were made: which are in force, and which may come into force again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.likeness.deltas import Target

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from chunkfold.likeness.samples import Sample
    from chunkfold.likeness.shapes import Shape

__all__ = ["PATIENCE", "Shelf"]

PATIENCE = 16
"""A shape that so many frames in a row were not of is given up."""

# The first shape is made after so many readings in full, which is about what it costs: many streams are over before.
_FIRST = 6
# After a shape was made so many frames have to come before the next, twice as many if it was in vain.
_COST, _DOUBLINGS = 4, 12
# How many are kept.
_KEPT = 4


class Shelf:
    """
    Makes shapes and keeps them.

    Args:
        kinds: What the dialect says of keys.

    """

    __slots__ = ("_failures", "_first_part", "_kinds", "_known", "_next", "in_force")

    def __init__(self, kinds: Mapping[str, int]) -> None:
        self._kinds = kinds
        self.in_force: list[Shape] = []
        """Those that frames may be of, newest first."""
        self._known: list[Shape] = []
        # The try after which the next may be made, and how many in a row were made in vain.
        self._next, self._failures = _FIRST, 0
        # The part that a shape was first made for.
        self._first_part: tuple[int, int] | None = None

    def clear(self) -> None:
        """What frames meant until now they may mean no more."""
        for shape in self.in_force:
            shape.targets = {}
        self.in_force = []

    def targets(self) -> Iterator[Target]:
        """What frames may belong to."""
        return (target for shape in self.in_force for target in shape.targets.values())

    @property
    def tells(self) -> bool:
        """True if frames may say more than their text."""
        return any(shape.tells for shape in self.in_force)

    def may_make(self, tries: int) -> bool:
        """True if a shape may be made at that try."""
        return tries >= self._next

    def make(self, sample: Sample, tries: int, *, has_calls: bool) -> bool:
        """Make a shape of *sample*, and put it in force. *has_calls*: deltas came to several calls."""
        from chunkfold.likeness.shapes import Shape

        self._next = tries + (_COST << min(self._failures, _DOUBLINGS))
        self._first_part = self._first_part or sample.part
        # Where there are many short parts, one shape is to do for the next ones too.
        has_address = has_calls or sample.part != self._first_part
        try:
            shape = Shape(sample.payload, sample.event.text, self._kinds, has_address=has_address, kept=sample.kept)
        except (ValueError, TypeError, AttributeError):
            return False
        if shape.read(sample.data, -1) is None:
            return False
        self._known = [shape, *self._known[: _KEPT - 1]]
        self.in_force = [known for known in self.in_force if known in self._known]
        return self.revive(sample)

    def revive(self, sample: Sample) -> bool:
        """Put a shape that *sample* is of in force, for its part; false if it is of none."""
        keeps = tuple(sample.kept.values())
        for shape in self._known:
            found = shape.read(sample.data, -1) if shape.keeps == keeps else None
            if found is None:
                shape.in_vain += 1
            elif found[1] == sample.event.text:
                shape.in_vain = 0
                if found[0] not in shape.targets:
                    shape.targets[found[0]] = Target(sample.event, sample.payload)
                if sample.read is not None:
                    shape.learn_framing(sample.data, sample.read)
                if shape not in self.in_force:
                    self.in_force = [shape, *self.in_force]
                return True
        for shape in [shape for shape in self._known if shape.in_vain > PATIENCE]:
            self._give_up(shape)
        return False

    def took(self, shape: Shape) -> int:
        """A frame was of that shape: how many were."""
        shape.in_vain = 0
        shape.seen += 1
        if shape.seen == PATIENCE:
            self._failures = 0
        return shape.seen

    def missed(self, shape: Shape) -> bool:
        """A frame was not of that shape; true if it is given up."""
        shape.in_vain += 1
        if shape.in_vain <= PATIENCE:
            return False
        self._give_up(shape)
        return True

    def _give_up(self, shape: Shape) -> None:
        if shape.seen < PATIENCE:
            self._failures += 1
        self._known.remove(shape)
        self.in_force = [known for known in self.in_force if known is not shape]

    def likely(self, read: bytes) -> list[Shape]:
        """Those in force; the ones with as many keys as *read* seems to have come first, since a miss costs more."""
        if len(self.in_force) == 1:
            return self.in_force
        count = read.count(b'":')
        alike = [shape for shape in self.in_force if shape.key_count == count]
        return alike + [shape for shape in self.in_force if shape.key_count != count]
