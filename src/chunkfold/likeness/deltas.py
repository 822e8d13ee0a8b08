"""What deltas belong to, and deltas that were taken without their frames being read in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._builders import MANY
from chunkfold.events import ToolArgumentsDelta

if TYPE_CHECKING:
    from chunkfold.accumulator import Gatherer

__all__ = ["MANY", "Heard", "Target"]


class Target:
    """What a delta belongs to."""

    __slots__ = ("builder", "choice", "event", "index", "is_call", "part", "payload")

    def __init__(self, event: Any, payload: dict[str, Any]) -> None:
        self.payload = payload
        """A payload that said such a delta."""
        self.event: type[Any] = type(event)
        self.choice: int = event.choice
        self.index: int = event.index
        self.part = (self.choice, self.index)
        self.is_call = self.event is ToolArgumentsDelta
        # Where the accumulator keeps the part; looked up once.
        self.builder: Any = None

    def is_of(self, event: Any) -> bool:
        """True if *event* belongs to the same."""
        return type(event) is self.event and event.index == self.index and event.choice == self.choice

    def may_stay_beside(self, event: Any) -> bool:
        """True if this may go on when *event* has come: text goes to one part at a time, only calls take turns."""
        return (self.is_call and type(event) is ToolArgumentsDelta) or self.is_of(event)

    def open(self, accumulator: Gatherer) -> list[Any]:
        """The list that the texts of this part are appended to; whoever asks is about to append."""
        if self.builder is None:
            self.builder = accumulator.sink(self.choice, self.index, self.event)
        pieces: list[Any] = self.builder.pieces
        if not pieces:
            self.builder.touch()
        elif len(pieces) > MANY:
            self.builder.compact()
        return pieces


class Heard:
    """Deltas of frames that were not read in full, in a row; the numbers of the frames rise by one."""

    __slots__ = ("number", "runs", "target", "targets", "texts")

    def __init__(self, target: Target | None, number: int) -> None:
        self.target = target
        """Of all of them; `None` if they take turns."""
        self.targets: list[Target] = []
        self.runs: list[tuple[Target, list[str]]] = []
        """Of each of them, if they take turns; and the deltas of each."""
        self.number = number
        """Of the first frame; -1 if they have none."""
        self.texts: list[str] = []
