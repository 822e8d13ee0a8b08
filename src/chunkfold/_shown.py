"""
What snapshots show of a choice, kept from one snapshot to the next.

A snapshot costs what has changed since the last one: only parts that something has come to are built again, and their
text grows in place where nobody holds the earlier one. What is left per part is a pointer in the tuple of parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.parts import TextPart, ToolCall
from chunkfold.response import Choice

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold._builders import ChoiceBuilder, PartBuilder
    from chunkfold.parts import Part

__all__ = ["Shown"]

_LARGE = 32 << 10
_ROOM = 16 << 20


class Shown:
    """The parts of one choice as the last snapshot had them."""

    __slots__ = ("_before", "_calls", "_laid_out", "_parts", "_texts", "choice", "dirty", "facts", "moved")

    def __init__(self) -> None:
        # Parts that something has come to.
        self.dirty: list[PartBuilder] = []
        # Set when parts have gone, come in between, or become of another kind.
        self.moved = True
        # The choice as last handed out, and what it says beside its parts.
        self.choice: Choice | None = None
        self.facts: dict[str, Any] = {}
        self._laid_out = 0
        self._parts: list[Any] = []
        # The places of text parts, and the text of all of them but the last; `None` if one of those has changed.
        self._texts: list[int] = []
        self._before: str | None = ""
        # The client's calls by their places.
        self._calls: dict[int, Any] = {}

    def make(self, choice: ChoiceBuilder, build: Callable[[PartBuilder], Part]) -> Choice:
        """The choice as it is now: the one handed out last if nothing has changed."""
        row = choice.parts
        if self.moved or choice.aside or choice.aliased:
            self._lay_out(choice.all_parts(), build)
            self._laid_out = len(row)
        elif self.dirty or self._laid_out != len(row):
            # The last choice may be all that holds the texts that are about to grow.
            self.choice = None
            for part in self.dirty:
                if part.place < len(self._parts) and not part.hidden:
                    self._put(part, build)
            if self._laid_out != len(row):
                for part in row[self._laid_out :]:
                    self._append(part, build)
                self._laid_out = len(row)
        elif self.choice is not None:
            return self.choice
        self.dirty.clear()
        parts, texts = self._parts, self._texts
        made = self.choice = Choice(parts=tuple(parts), **self.facts)
        # What would take time in proportion to the parts when it is asked for is known here.
        if self._before is None:
            self._before = "".join([parts[place].text for place in texts[:-1]])
        known = made.__dict__
        known["texts"] = (self._before, parts[texts[-1]].text if texts else "")
        known["tool_calls"] = tuple(self._calls.values()) if self._calls else ()
        return made

    def _lay_out(self, parts: list[PartBuilder], build: Callable[[PartBuilder], Part]) -> None:
        self.choice, self.moved = None, False
        self._parts, self._texts, self._calls, self._before = [], [], {}, ""
        for part in parts:
            self._append(part, build)

    def _put(self, part: PartBuilder, build: Callable[[PartBuilder], Part]) -> None:
        place, parts, calls = part.place, self._parts, self._calls
        parts[place] = None  # lets go of the text, so that it can grow in place
        if place in calls:
            calls[place] = None
            parts[place] = calls[place] = built = part.built or build(part)
            size = len(built.raw_arguments)  # type: ignore[union-attr]
        else:
            parts[place] = built = part.built or build(part)
            if not isinstance(built, TextPart):
                return
            size = len(built.text)
            if place != self._texts[-1]:
                self._before = None
        if size > _LARGE:
            _make_room()

    def _append(self, part: PartBuilder, build: Callable[[PartBuilder], Part]) -> None:
        if part.hidden:
            return
        built = part.built or build(part)
        place = part.place = len(self._parts)
        self._parts.append(built)
        if isinstance(built, ToolCall):
            if not built.server_side:
                self._calls[place] = built
        elif isinstance(built, TextPart):
            if self._texts and self._before is not None:
                self._before += self._parts[self._texts[-1]].text
            self._texts.append(place)


_has_room = False


def _make_room() -> None:
    """
    Let the C library keep freed memory of this order for the next text.

    Who holds a snapshot while taking the next makes each text a copy that is a little longer than any before. glibc
    maps every block that is larger than all that were freed afresh, and the page faults cost three times the copy.
    "M_MMAP_THRESHOLD is dynamic" (mallopt(3)): freeing one large block, never touched, ends that.
    """
    global _has_room  # noqa: PLW0603 - it is the process's memory
    if not _has_room:
        _has_room = True
        bytes(_ROOM)
