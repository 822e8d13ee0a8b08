"""
What OpenAI Responses tells more than once: parts that come in pieces and are stated whole later, and numbered events
that come again. A snapshot confirms, fills or replaces; it never appends.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Any
from zlib import adler32, crc32

import msgspec

from chunkfold.basis import _json
from chunkfold.dialects._halves import clean
from chunkfold.dialects._slots import CALLS
from chunkfold.dialects._think import restate
from chunkfold.dialects._words import counted, is_empty
from chunkfold.parts import CLASSES, ToolCall

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.dialects._writer import Writer

__all__ = ["AHEAD", "Piece", "Sequence", "news", "next_told", "rest_of"]

# Of more pieces, or of a longer text, no more is kept than the checksum of each stretch.
_MANY = 2048
_LONG, _STRETCH = 64 << 10, 16 << 10
# How many parts further on one is looked for that says the same.
AHEAD = 16
# Numbers that leave out more than this are no sequence.
_LEFT_OUT = 10_000


class Piece(msgspec.Struct, eq=False):
    """A part in the making, with what was told of it so far."""

    slot: Any
    """The writer's slot."""
    fields: dict[str, Any] = {}
    """Further fields of the part, for the dialect to compare."""
    place: int = 0
    """The how-manieth of its list it is."""
    begun: bool = False
    """True if an event told that it begins."""
    # The end of the text, and of what was before it the length and the checksum of each stretch.
    _pieces: list[str] = []
    _stretches: list[tuple[int, int]] = []
    # How long the text was when it was stated last.
    _stated: int = 0
    _cited: set[str] = set()
    _has_logprobs: bool = False

    @property
    def has_text(self) -> bool:
        """True if some text has come."""
        return bool(self._pieces or self._stretches or self.slot.whole)

    @property
    def is_cited(self) -> bool:
        """True if some annotation has come."""
        return bool(self._cited)

    @property
    def text(self) -> str | None:
        """The text so far, as long as all of it is kept."""
        return None if self._stretches else self.slot.whole or "".join(self._pieces)

    def delta(self, w: Writer, text: str) -> None:
        """More text."""
        self._pieces.append(text)
        if len(self._pieces) > _MANY:
            self._forget()
        w.delta(self.slot, text)
        if self.slot.whole:
            self._pieces.clear()  # each was the whole text

    def hear(self, texts: list[str]) -> None:
        """More text, which has been written already."""
        self._pieces += texts
        if len(self._pieces) > _MANY:
            self._forget()

    def _forget(self) -> None:
        """Whoever takes the events has the text. What may come again is known by its checksum."""
        text = "".join(self._pieces)
        self._pieces.clear()
        for at in range(0, len(text), _STRETCH):
            stretch = text[at : at + _STRETCH]
            self._stretches.append((len(stretch), _checksum(stretch)))

    def says(self, text: str) -> bool:
        """True if *text* is the text so far."""
        return self.news(text) == ""

    def news(self, text: str) -> str | None:
        """What *text* has more than the text so far; `None` if it does not go on with it."""
        at, end = 0, self.slot.whole
        if not end:
            for size, checksum in self._stretches:
                stretch = text[at : at + size]
                if len(stretch) < size or _checksum(stretch) != checksum:
                    return None
                at += size
            end = "".join(self._pieces)
        return text[at + len(end) :] if text.startswith(end, at) else None

    def state(self, w: Writer, text: Any) -> None:
        """The whole text: it confirms, goes on with or replaces what came. Nothing is nothing."""
        if not isinstance(text, str) or not text:
            return
        more, slot = self.news(text), self.slot
        if more is None and self._is_stale(text):
            detail = f"{len(text)} characters that were stated before more came"
            w.diagnose("stale_text", detail, slot.choice, slot.index)
            return
        self._stated = len(text)
        if more == "":
            return
        self._pieces, self._stretches = [text], []
        if len(text) > _LONG:
            self._forget()
        if more is not None and not slot.whole and (slot.open or slot.splitter is not None):
            w.delta(slot, more)
        elif slot.splitter is not None:
            restate(w, slot, slot.splitter, text)
        else:
            slot.half, text = "", clean(w, slot, text)
            if slot.kind in CALLS:
                w.replace(slot, ToolCall(raw_arguments=text, server_side=slot.kind == "server_tool_call"))
            else:
                w.replace(slot, CLASSES[slot.kind](text=text))

    def _is_stale(self, text: str) -> bool:
        """
        True if *text* is what was stated before most of the text came: 9Router closes a part after its first piece, and
        writes on. A piece behind the end of a long text is out of its turn, or came twice. LM Studio ends a call with
        the empty arguments of its start.
        """
        if self.slot.kind in CALLS:
            return text == "{}" and not self.slot.is_text
        if len(text) != self._stated or self._stretches or self.slot.whole:
            return False
        came = "".join(self._pieces)
        return len(came) > 2 * len(text) and came.startswith(text)

    def cite(self, w: Writer, annotations: Any) -> None:
        """Annotations, one or a list, each written once."""
        new = {}
        for annotation in annotations if isinstance(annotations, list) else [annotations]:
            if annotation:
                new[_json.identity(annotation)] = annotation
        w.annotations(self.slot.choice, self.slot, [new[key] for key in new if key not in self._cited])
        self._cited.update(new)

    def logprobs(self, w: Writer, tokens: Any, *, whole: bool = False) -> None:
        """New tokens; or all of them, which are only news if none came before."""
        if isinstance(tokens, list) and tokens and not (whole and self._has_logprobs):
            self._has_logprobs = True
            w.logprobs(self.slot.choice, tokens)


def next_told(came: list[Piece], text: Any, left: int) -> tuple[Piece, Any] | None:
    """
    The part that is told whole as *text*, and what of it is that part's, when *left* parts are told, with this one, of
    those that *came*: the next one. Where fewer are told than came, one that says the same goes first, and one text may
    be that of all. What is found is taken from the list, and what it leaves out, too.
    """
    if len(came) > left and isinstance(text, str) and text:
        for at, piece in enumerate(came[:AHEAD]):
            if piece.says(text):
                del came[: at + 1]
                return piece, text
        rest = rest_of(came, text) if left == 1 else None
        if rest is not None:
            return came.pop(), rest
    return (came.pop(0), text) if came else None


def rest_of(came: list[Piece], text: str) -> str | None:
    """What is the last one's of a text that is that of all; `None` if it is not."""
    for piece in came[:-1]:
        more = piece.news(text)
        if more is None:
            return None
        text = more
    return text if came[-1].news(text) is not None else None


def _checksum(text: str) -> int:
    data = text.encode("utf-8", "surrogatepass")
    return crc32(data) << 32 | adler32(data)


class Sequence:
    """
    What came under each sequence number.

    The numbers are believed as long as they rise or come again with what they came with before: servers that restart
    them, or give all events one number, must lose nothing.
    """

    __slots__ = ("_base", "_noted", "_room", "_seen")

    def __init__(self) -> None:
        self._base = 0
        # How many numbers may still be left out: each takes its place.
        self._room = _LEFT_OUT
        self._noted = False
        # Checksums by number, from the first number on; 0 for those left out, and once in four billion for another.
        # `None` if the numbers tell nothing.
        self._seen: array[int] | None = array("I")

    def hear(self, number: int, told: Iterable[int], deltas: list[str]) -> None:
        """Keep what came under *number* and those after it: what has the checksums *told*, with each of *deltas*."""
        seen = self._seen
        if seen is None:
            return
        ahead = number - self._base - len(seen)
        if ahead:
            if ahead > self._room or not seen:
                self._seen = None
                return
            self._leave_out(seen, ahead)
        seen.extend(map(crc32, map(str.encode, deltas), told))

    def has(self, w: Writer, number: Any, told: str, delta: str = "") -> bool:
        """True if *told* with *delta* came under *number* before; else it is kept as what came."""
        seen = self._seen
        if seen is None or type(number) is not int:
            return False
        mark = crc32(delta.encode("utf-8", "surrogatepass"), crc32(told.encode("utf-8", "surrogatepass")))
        if not seen:
            self._base = number
        place = number - self._base
        ahead = place - len(seen)
        if 0 <= ahead <= self._room:
            if ahead:
                self._leave_out(seen, ahead)
            seen.append(mark)
            return False
        if 0 <= place < len(seen) > 1 and seen[place] == mark:
            if not self._noted:
                self._noted = True
                w.diagnose("repeated_event", f"event {counted(number)} came again; nothing is taken twice")
            return True
        self._seen = None
        return False

    def _leave_out(self, seen: array[int], numbers: int) -> None:
        self._room -= numbers
        seen.extend([0] * numbers)


def news(
    known: dict[str, Any], given: Mapping[str, Any], own: frozenset[str] = frozenset(), *, whole: bool = False
) -> dict[str, Any]:
    """
    The fields that say something new, but for *own* ones (of a *whole*, for own ones with a value); *known* has them
    then. An empty value erases nothing, and a `null` only says that there is such a field.
    """
    new = {}
    for key, value in given.items():
        if key in own and not (whole and is_empty(value)):
            continue
        before = known.get(key, known)
        if before is known or (value is not None and (before is None or (not is_empty(value) and value != before))):
            known[key] = new[key] = value
    return new
