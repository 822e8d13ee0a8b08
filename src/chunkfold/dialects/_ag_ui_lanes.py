"""
The parts that an AG-UI run tells of in chunks, which may leave out the id of what they go on.

The run itself and each of its subagents go on with what they told last, whatever the others tell in between (AG-UI 1.0,
"Subagents"). Calls of one teller may take turns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from chunkfold.dialects._ag_ui_messages import key_of
from chunkfold.dialects._words import is_blank

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.parts import Kind

__all__ = ["OF_PARTS", "Lanes"]

# Events that are about all of the run, those that end a subagent, and those that are about parts.
_OF_ALL: Final = frozenset({"RUN_STARTED", "RUN_FINISHED", "MESSAGES_SNAPSHOT"})
_ENDS: Final = frozenset({"SUBAGENT_FINISHED", "SUBAGENT_ERROR"})
OF_PARTS: Final = ("TEXT_MESSAGE_", "TOOL_CALL_", "REASONING_", "THINKING_")
# It names the part that it is about, and may come amid another.
_AMID: Final = "REASONING_ENCRYPTED_VALUE"


class Lanes:
    """The open parts of each teller; `None` is the run itself."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        # The last part of each is at hand; those before it are calls that it has taken the place of.
        self._open: dict[str | None, dict[Slot, None]] = {}
        self._tellers: dict[Slot, str | None] = {}
        # Who has a part of some kind at hand.
        self._of_kind: dict[Kind, dict[str | None, None]] = {}

    def clear(self) -> None:
        """What came is void."""
        for table in (self._open, self._tellers, self._of_kind):
            table.clear()

    def at_hand(self, teller: str | None) -> Slot | None:
        """The part that a chunk of *teller* without an id goes on."""
        return next(reversed(self._open.get(teller, {})), None)

    def teller(self, kind: Kind, id_: Any, payload: dict[str, Any]) -> str | None:
        """
        Who tells a chunk. An id is that of whoever has the part open; without id and name it is the run itself, or
        else a subagent that tells of something of that *kind*: some name themselves in the first chunk alone.
        """
        named = _named(payload)
        if not is_blank(id_):
            return self._holder(kind, id_, named)
        tellers = self._of_kind.get(kind)
        if named is not None or not tellers or None in tellers:
            return named
        return next(reversed(tellers))

    def _holder(self, kind: str, id_: Any, named: str | None) -> str | None:
        """Who has the part of that id open, else whom the event names."""
        slot = self._writer.slot(0, (kind, key_of(id_)))
        return named if slot is None else self._tellers.get(slot, named)

    def put(self, teller: str | None, slot: Slot) -> None:
        """A chunk was about that part."""
        teller = self._tellers.setdefault(slot, teller)
        parts = self._open.setdefault(teller, {})
        parts.pop(slot, None)
        parts[slot] = None
        self._of_kind.setdefault(slot.kind, {})[teller] = None

    def end(self, teller: str | None) -> None:
        """What a teller has told of in chunks is over."""
        for slot in sorted(self._open.pop(teller, ()), key=_place):
            del self._tellers[slot]
            self._of_kind[slot.kind].pop(teller, None)
            self._writer.stop(slot)

    def leave(self, kind: str, payload: dict[str, Any]) -> None:
        """An event that is no chunk: it ends what the same teller has told of in chunks; one about the run ends all."""
        if not self._open:
            return
        teller = _named(payload)
        if kind in _OF_ALL:
            for each in list(self._open):
                self.end(each)
        elif kind in _ENDS:
            if teller is not None:
                self.end(teller)
        elif kind.startswith(OF_PARTS) and kind != _AMID:
            self.end(teller)
            # Some servers name the subagent in the first event of a part alone, and not with its end or its result.
            self.end(self._holder_of(kind, payload, teller))

    def _holder_of(self, kind: str, payload: dict[str, Any], named: str | None) -> str | None:
        """Who has the part open that an event is about, else whom it names."""
        is_call = kind.startswith("TOOL_CALL_")
        part = "tool_call" if is_call else "text" if kind.startswith("TEXT_") else "reasoning"
        id_ = payload.get("toolCallId" if is_call else "messageId")
        return named if is_blank(id_) else self._holder(part, id_, named)


def _named(payload: dict[str, Any]) -> str | None:
    """The subagent that an event says it is of."""
    name = payload.get("subagentRunId")
    return None if is_blank(name) else key_of(name)


def _place(slot: Slot) -> int:
    return slot.index
