"""
Calls of an AG-UI run that begin under the id of a call that is over and was not answered.

LangGraph's adapters tell a call a second time when its tool has run, if a tool inside it ran first or the run was
interrupted: start, arguments and end, ahead of its result. Who ran it twice, or put the arguments behind one another,
would do what nobody asked for. But models as Kimi give several calls one id. So what is told is held until a result
comes: it answers the call that was told twice; another one, or none, shows that there are two.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from chunkfold.dialects._ag_ui_messages import key_of
from chunkfold.dialects._ag_ui_spelling import CALL
from chunkfold.dialects._words import is_blank

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer

__all__ = ["Retold", "Telling"]


class Telling:
    """What is told under the id of a call that came before."""

    def __init__(self, before: Slot, start: dict[str, Any]) -> None:
        self.before = before
        self.start = start
        self.pieces: list[str] = []
        self.is_over = False
        self.is_answered = False
        """True if a result came behind it."""

    @property
    def has_arguments(self) -> bool:
        """True if some argument text has come."""
        return any(self.pieces)


class Retold:
    """What is held, by the ids of the calls."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._held: dict[str, deque[Telling]] = {}
        # The id that events without one are about.
        self._last = ""
        # The part that the run at hand begins with: in another run an id is that of another call.
        self._begin = 0

    def begin_run(self) -> None:
        """Another run begins."""
        self._begin = self._writer.count(0)

    def begin(self, before: Slot | None, payload: dict[str, Any]) -> bool:
        """True if the start of a call is held: *before* has its id and its name, is over, and was not answered."""
        id_, self._last = payload.get("toolCallId"), ""
        if before is None or before.open or before.index < self._begin or is_blank(id_):
            return False
        if before.name != payload.get("toolCallName"):
            return False
        self._last = key_of(id_)
        self._held.setdefault(self._last, deque()).append(Telling(before, payload))
        self.take(payload)
        return True

    def take(self, payload: dict[str, Any]) -> Telling | None:
        """What is held that an event is about, with what it says."""
        telling = self._at(payload.get("toolCallId"))
        if telling is not None:
            telling.start = {**payload, **telling.start}
            if isinstance(payload.get("delta"), str):
                telling.pieces.append(payload["delta"])
        return telling

    def end(self, telling: Telling) -> None:
        """The end of a call that is held. It is the one before if it has no arguments, or that one had none."""
        telling.is_over = True
        if not telling.has_arguments or not telling.before.has_text:
            key = key_of(telling.start.get("toolCallId"))
            self._held[key].pop()  # it is the last one that events are about
            if not self._held[key]:
                del self._held[key]
            self._told_twice(telling)

    def answer(self, id_: Any) -> list[Telling]:
        """A result comes: what it answers, if that is another call than the one before."""
        key = key_of(id_)
        held: deque[Telling] = self._held.get(key, deque())
        answered = [held.popleft()] if held and held[0].is_answered else []
        for telling in reversed(held):
            if telling.is_answered:
                break  # so are those before it
            telling.is_answered = True
        if not held:
            self._held.pop(key, None)
        return answered

    def settle(self) -> list[Telling]:
        """Nothing more is told of what is held. Those that turn out to be other calls, in order."""
        held = [telling for tellings in self._held.values() for telling in tellings]
        self.clear()
        others = []
        for telling in held:
            if telling.has_arguments and not telling.is_answered:
                others.append(telling)
            else:
                self._told_twice(telling)
        return others

    def _told_twice(self, telling: Telling) -> None:
        """It was the call before: what it says beside its arguments is kept, and these if there were none."""
        w, before = self._writer, telling.before
        w.diagnose("repeated_event", "a call was told again; it is one", 0, before.index)
        w.update(before, extra={name: value for name, value in telling.start.items() if name not in CALL})
        if telling.has_arguments and not before.has_text:
            w.restate_call(before, "".join(telling.pieces))

    def clear(self) -> None:
        """What came is void."""
        self._held.clear()
        self._last = ""

    def _at(self, id_: Any) -> Telling | None:
        held = self._held.get(self._last if is_blank(id_) else key_of(id_))
        return held[-1] if held else None
