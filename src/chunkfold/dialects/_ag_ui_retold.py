"""
Calls of an AG-UI run that are told a second time.

LangGraph's adapters begin a call anew when its tool has run, if a tool inside it ran first or the run was interrupted
before: start, arguments and end under the same id, ahead of its result. Who ran it twice, or put the arguments behind
one another, would do what nobody asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.dialects._ag_ui_messages import key_of
from chunkfold.dialects._words import is_blank

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer

__all__ = ["Retold"]


class Retold:
    """The calls that are being told a second time, and what is told of their arguments."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._told: dict[str, tuple[Slot, list[str]]] = {}
        # The one that events without an id are about.
        self._last = ""
        # The part that the run at hand begins with: in another run an id is that of another call.
        self._begin = 0

    def begin_run(self) -> None:
        """Another run begins."""
        self.close()
        self._begin = self._writer.count(0)

    def begin(self, slot: Slot | None, payload: dict[str, Any]) -> None:
        """A call begins of which no result came. If *slot* has its id and its name and is over, it is that one."""
        id_, self._last = payload.get("toolCallId"), ""
        self.end(id_)
        if slot is not None and not slot.open and slot.index >= self._begin and not is_blank(id_):
            if slot.name == payload.get("toolCallName"):
                self._last = key_of(id_)
                self._told[self._last] = (slot, [])

    def take(self, payload: dict[str, Any]) -> Slot | None:
        """The call that an event tells again, if it is one of these, with the arguments in it."""
        slot, texts = self._told.get(self._key(payload.get("toolCallId")), (None, []))
        if isinstance(payload.get("delta"), str):
            texts.append(payload["delta"])
        return slot

    def _key(self, id_: Any) -> str:
        return self._last if is_blank(id_) else key_of(id_)

    def end(self, id_: Any) -> None:
        """A call has been told again: that is all there is of its arguments if there were none before."""
        slot, texts = self._told.pop(self._key(id_), (None, []))
        if slot is None:
            return
        w, text = self._writer, "".join(texts)
        if slot.has_text:
            w.diagnose("repeated_event", f"a call of {len(text)} characters came again; it is one", 0, slot.index)
        else:
            w.restate_call(slot, text)

    def close(self) -> None:
        """Nothing more is told of any call."""
        for id_ in list(self._told):
            self.end(id_)

    def clear(self) -> None:
        """What came is void."""
        self._told.clear()
        self._begin = 0
