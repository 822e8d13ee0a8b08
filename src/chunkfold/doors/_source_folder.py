"""
The folder of those who read a source themselves: the doors, `wrap` and `chunkfold.resilience`.

Beside what a caller's `Folder` does, it takes many reads at once without making events of them, and tells what
observers and typed streams ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.folding._folder import Folder

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from chunkfold.assembly._live import Document
    from chunkfold.errors import PolicyError
    from chunkfold.events import Event
    from chunkfold.parts import Part
    from chunkfold.response import Usage

__all__ = ["SourceFolder"]


class SourceFolder(Folder):
    """A `Folder` with what its readers need beside `feed`, `snapshot` and `close`."""

    def follow(self, pieces: Iterator[Any]) -> Any:
        """
        Fold *pieces*, one read each, for as long as they need no full reading; the first that does is returned, to be
        fed.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        return next(pieces) if self._live is not None else self._decoder.follow(self._accumulator, pieces)

    @property
    def may_take_many(self) -> bool:
        """True if it is worth while to read several pieces for `take_many`."""
        return self._live is None and self._decoder.may_take_many

    def take_many(self, pieces: list[bytes], joined: bytes) -> bool:
        """
        Fold *pieces*, one read each and *joined* together, if all are alike and need no full reading; else do nothing.
        """
        return self._decoder.take_many(self._accumulator, pieces, joined)

    @property
    def is_amid_event(self) -> bool:
        """True if what came last was the beginning of an event."""
        return bool(self._amid)

    @property
    def gains_by_joining(self) -> bool:
        """True if small pieces are better joined before they are fed, where nobody looks in between."""
        return self.is_amid_event or self._decoder.takes_many

    def rest_of_event(self, pieces: Iterator[Any]) -> Any:
        """
        Take *pieces* for as long as they end nothing of the event that is amid; the first that may is returned, to be
        fed.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        return self._unfinished.follow(pieces)

    def plain_event(self, read: bytes) -> Event | None:
        """Fold *read* and return its event, if it is one whole frame that means a plain delta; else do nothing."""
        return self._decoder.plain_event(self._accumulator, read) if self._live is None else None

    def express(self, pieces: Iterator[Any]) -> Generator[Event, None, Any] | None:
        """
        As `follow`, but hands out the events; what it returns is the piece to be fed, or `END`. `None` if the next
        piece needs full reading anyway.
        """
        if self._live is not None or not self._decoder.is_ready:
            return None
        return self._decoder.express(self._accumulator, pieces)

    def note(self, kind: str, detail: str) -> None:
        """Add a diagnostic of whoever reads the source."""
        self._decoder.note(kind, detail)

    def part_at(self, choice: int, index: int) -> Part | None:
        """The part that has ended under the `index` of its events, as the policy has it, if it is handed out."""
        return self._accumulator.part_at(choice, index)

    @property
    def merged_usage(self) -> Usage | None:
        """The usage so far where the policy merges reports in a way of its own; else the last report has it."""
        return self._accumulator.usage if self._accumulator.merges_usage else None

    def usage_so_far(self) -> Usage | None:
        """The usage that has been told."""
        return self._usage_so_far()

    def read_documents(self) -> None:
        """Read answer text that is JSON while it comes. To be called before anything is fed."""
        from chunkfold.assembly._live import Live

        arguments, text, _ = self._live.asked_for if self._live is not None else (False, False, True)
        self._live = Live(arguments=arguments, text=text, documents=True, depth=self._decoder.limits.json_depth)

    def document(self, choice: int) -> Document | None:
        """The JSON document that the answer text of a choice has come to, if such are read and text has come."""
        return self._live.document(choice) if self._live is not None else None

    def text_of(self, choice: int, indices: Iterable[int]) -> str:
        """The text of some parts, joined."""
        return "".join([self._accumulator.sink(choice, index).text() for index in indices])

    @property
    def objection(self) -> PolicyError | None:
        """What `close` raises on behalf of the policy, for who calls `finish`."""
        return self._accumulator.objection
