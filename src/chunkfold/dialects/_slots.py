"""
The parts of a response in the making: what is known of each, and the ways to find one again.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any, Final

from chunkfold.basis import _json
from chunkfold.dialects._words import is_blank
from chunkfold.errors import LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    from chunkfold.dialects._arguments import ObjectScanner
    from chunkfold.dialects._think import ThinkSplitter
    from chunkfold.limits import Limits
    from chunkfold.parts import Kind
    from chunkfold.response import FinishReason

__all__ = ["CALLS", "Choice", "Slot", "Table", "hashable", "is_news"]

CALLS: Final = ("tool_call", "server_tool_call")
# Reasons that stop a model amid what it writes.
_CUTS: Final = ("length", "content_filter", "refusal", "cancelled", "error")


class Slot:
    """A part in the making: where it stands and what is known of it."""

    __slots__ = (
        "beside", "choice", "ended", "extra", "goes_on", "half", "has_key", "has_text", "id", "index", "is_cut",
        "is_text", "kind", "name", "number", "open", "scanner", "splitter", "start_input", "target", "whole",
    )  # fmt: skip

    def __init__(self, choice: int, index: int, kind: Kind) -> None:
        self.choice = choice
        self.index = index
        self.kind: Kind = kind
        self.open = True
        self.id: str | None = None
        self.name: str | None = None
        self.number: Hashable = None
        self.has_text = False
        # It is found by a key, so that it is a part even if nothing comes.
        self.has_key = False
        # It was opened by text of its kind, and more of that goes on it.
        self.goes_on = False
        # It is a call of a custom tool, whose input is no JSON.
        self.is_text = False
        # It is a call of which was said that the model was stopped before it was over.
        self.is_cut = False
        # Its `PartStop` has been written.
        self.ended = False
        # The argument text of a start event, which gives way to deltas and else is all there is.
        self.start_input: str | None = None
        # The first half of a surrogate pair, waiting for its mate.
        self.half = ""
        # The text so far, where a server repeats it with every delta.
        self.whole = ""
        # Its further fields as they were stated last.
        self.extra: Mapping[str, Any] | None = None
        # What its pieces have said beside their text.
        self.beside: dict[str, Any] = {}
        self.scanner: ObjectScanner | None = None
        # Its text is split, and it has no place itself.
        self.splitter: ThinkSplitter | None = None
        # The part that split text goes to now, `None` before the first piece; of such a part, itself.
        self.target: Slot | None = None

    def news(self, extra: Mapping[str, Any]) -> dict[str, Any]:
        """
        What a further piece says beside its text that none before has said; how it is written is none of that. A field
        that says nothing is there too, unless it has said something.
        """
        known = self.beside
        told = {key: _joined(known.get(key), extra[key]) for key in extra if key != "type" and key[:1] != "$"}
        found = {key: value for key, value in told.items() if is_news(value, known, key)}
        known.update(found)
        return found


def is_news(value: Any, known: Mapping[str, Any], key: str) -> bool:
    """True if *value* says what is not *known* under the *key*; for what says nothing, if nothing is there."""
    return key not in known or (not is_blank(value) and value != known[key])


class Choice:
    """The slots of one choice, and the ways to find one."""

    __slots__ = (
        "by_id", "by_key", "by_kind", "by_number", "current", "finish", "front", "last_call", "last_other",
        "slots", "split", "wholes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.by_kind: dict[str, list[Slot]] = {}
        self.by_key: dict[Hashable, Slot] = {}
        self.by_number: dict[Hashable, Slot] = {}
        self.by_id: dict[str, Slot] = {}
        self.last_call: Slot | None = None
        # The part that was opened last of those that are no calls.
        self.last_other: Slot | None = None
        # The part that unnumbered content of its kind continues.
        self.current: Slot | None = None
        self.wholes: dict[str, str] = {}
        # Slots whose text is split, and the last of those without a key.
        self.split: list[Slot] = []
        self.front: Slot | None = None
        self.finish: tuple[FinishReason, str | None] | None = None

    def add(self, slot: Slot) -> None:
        """Take a slot at the next index."""
        self.slots.append(slot)
        self.by_kind.setdefault(slot.kind, []).append(slot)
        if slot.kind not in CALLS:
            self.last_other = slot

    def change_kind(self, slot: Slot, kind: Kind) -> None:
        """What a slot holds has turned out to be something else."""
        self.by_kind[slot.kind].remove(slot)
        slot.kind = kind
        insort(self.by_kind.setdefault(kind, []), slot, key=_place)

    def is_cut(self, done: bool) -> bool:
        """True if the model was stopped amid what it wrote: by the reason, or, without one, if it was not *done*."""
        return self.finish[0] in _CUTS if self.finish is not None else not done

    def call_at_hand(self) -> Slot | None:
        """The call that may not be over: the last one, if nothing else came behind it."""
        return self.last_call if self.current is not None and self.current.kind in CALLS else None

    def cut_call(self, done: bool) -> Slot | None:
        """
        The call that was not over when the model was stopped. The token limit alone does not show that of one without
        arguments: many servers tell each call at once, and that may be all of it.
        """
        slot = self.call_at_hand() if self.is_cut(done) else None
        if slot is not None and not slot.is_text and self.finish is not None and self.finish[0] == "length":
            return None
        return slot

    def last_of(self, kind: str) -> Slot | None:
        """The last slot of that kind."""
        slots = self.by_kind.get(kind)
        return slots[-1] if slots else None

    def forget_from(self, index: int) -> None:
        """Drop the slots from that index on, and those that have none."""
        self.finish = None
        self.wholes.clear()
        kept = min(index, len(self.slots))
        self.current = self.slots[kept - 1] if kept else None
        if kept == len(self.slots) and not self.split:
            return  # the next of any number of runs or steps, which takes nothing back
        left, self.slots, self.by_kind = self.slots[:index], [], {}
        self.last_call = self.last_other = None
        for slot in left:
            self.add(slot)
            if slot.kind in CALLS:
                self.last_call = slot
        for table in (self.by_key, self.by_number, self.by_id):
            for key in [key for key, slot in table.items() if not 0 <= (slot.target or slot).index < index]:
                del table[key]  # type: ignore[arg-type]
        self.split = [slot for slot in self.split if slot.target is not None and slot.target.index < index]
        for splitter in [slot.splitter for slot in self.split if slot.splitter is not None]:
            splitter.parts = [part for part in splitter.parts if part.index < index]
        self.front = None


def _place(slot: Slot) -> int:
    return slot.index


class Table:
    """The slots of all choices, as many as the limits allow."""

    __slots__ = ("_call_cap", "_calls", "_part_cap", "_parts", "choices")

    def __init__(self, limits: Limits) -> None:
        self._call_cap, self._part_cap = limits.tool_calls, limits.parts
        self._calls = self._parts = 0
        self.choices: dict[int, Choice] = {}

    def choice(self, choice: int) -> Choice:
        """The slots of that choice."""
        state = self.choices.get(choice)
        if state is None:
            state = self.choices[choice] = Choice()
        return state

    def reasons(self) -> list[tuple[int, FinishReason, str | None]]:
        """Why the model stopped, for each choice of which that was said: our reason and the provider's word."""
        return [(at, *state.finish) for at, state in self.choices.items() if state.finish is not None]

    @property
    def is_finished(self) -> bool:
        """True if it was said why the model stopped: of each choice that came."""
        came = [state for state in self.choices.values() if state.slots or state.finish is not None]
        return bool(came) and all(state.finish is not None for state in came)

    def new(self, choice: int, kind: Kind) -> Slot:
        """
        A slot at the next index.

        Raises:
            LimitExceeded: If there are more parts or calls than allowed.
        """
        self._parts += 1
        if self._part_cap is not None and self._parts > self._part_cap:
            raise LimitExceeded("parts", self._parts, self._part_cap)
        if kind in CALLS:
            self._calls += 1
            if self._call_cap is not None and self._calls > self._call_cap:
                raise LimitExceeded("tool_calls", self._calls, self._call_cap)
        state = self.choice(choice)
        slot = Slot(choice, len(state.slots), kind)
        state.add(slot)
        return slot


def hashable(key: Any) -> Hashable:
    """*key* for a table: what stands in the place of a number may be any JSON."""
    try:
        hash(key)
    except TypeError:
        return _json.identity(key)
    return key  # type: ignore[no-any-return]


def _joined(known: Any, value: Any) -> Any:
    """*value*; of a list with one object in it what was *known* of that object too, unless it is another one."""
    if type(value) is list is type(known) and len(value) == len(known) == 1:
        (before,), (now,) = known, value
        if isinstance(before, dict) and isinstance(now, dict):
            joined = {**before, **now}
            return [joined] if {**now, **before} == joined else value
    return value
