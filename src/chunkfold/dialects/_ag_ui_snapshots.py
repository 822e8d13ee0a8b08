"""
What came of an AG-UI run, and what a snapshot of its messages says to it: which parts are in it, and under which ids.

Servers make the snapshot from what they store. There the ids may be others than in the stream (Microsoft Agent
Framework), and the reasoning is mostly left out (LangGraph).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from chunkfold.dialects._ag_ui_messages import TEXTS, keys_of, stated_by

if TYPE_CHECKING:
    from chunkfold.dialects._ag_ui_messages import Key
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer

__all__ = ["Came"]


class Came:
    """The parts of a run that belong to messages and calls."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._parts: list[tuple[Key, Slot]] = []
        # The texts that came and that the snapshot at hand has not stated yet.
        self._unstated: dict[Key, list[Slot]] = {}
        self.is_renamed = False
        """True if the last snapshot had the same parts under other ids."""

    def add(self, key: Key, slot: Slot) -> None:
        """A part begins."""
        self._parts.append((key, slot))

    def clear(self) -> None:
        """What came is void."""
        self._parts.clear()

    def next(self, key: Key) -> Slot | None:
        """The next part under *key* that the snapshot states, if it came: several may have the same id."""
        slots = self._unstated.get(key)
        return slots.pop(0) if slots else None

    def place_in(self, messages: list[dict[str, Any]]) -> int | None:
        """The place of the first message that anything came of."""
        came = {key for key, _ in self._parts}
        found = (place for place, message in enumerate(messages) if not came.isdisjoint(keys_of(message)))
        return next(found, None)

    def compare(self, turn: list[dict[str, Any]]) -> None:
        """
        Find what came in a snapshot, by its ids or as the same parts in the same order. What came and is not in it is
        taken back, with all behind it.
        """
        stated = [key for message in turn for key in stated_by(message)]
        named = {key for message in turn for key in keys_of(message)}
        came = [(key, slot) for key, slot in self._parts if slot.has_text or key[0] not in TEXTS or key not in named]
        if all(message.get("role") != "reasoning" for message in turn):
            came = [(key, slot) for key, slot in came if key[0] != "reasoning"]
        lacking = _lacking(came, stated, named)
        others = _others([key for key, _ in came], stated) if lacking else None
        self.is_renamed = others is not None
        if others is not None:
            self._rename({slot: (key, other) for (key, slot), other in zip(came, others, strict=True)})
        elif lacking:
            self._take_back(max(0, min(map(_place, lacking))))
        self._unstated = {}
        for key, slot in self._parts:
            self._unstated.setdefault(key, []).append(slot)

    def _rename(self, keys: dict[Slot, tuple[Key, Key]]) -> None:
        for slot, (old, new) in keys.items():
            self._writer.rekey(slot, old, new)
        self._parts = [(keys[slot][1] if slot in keys else key, slot) for key, slot in self._parts]

    def _take_back(self, index: int) -> None:
        self._parts = [(key, slot) for key, slot in self._parts if 0 <= _place(slot) < index]
        self._writer.reset(index, "replay")


def _place(slot: Slot) -> int:
    """The index of the part; of one whose text is split, that of the last piece, below 0 if there is none."""
    return (slot.target or slot).index


def _lacking(came: list[tuple[Key, Slot]], stated: list[Key], named: set[Key]) -> list[Slot]:
    """
    The parts that are not in a snapshot with the *stated* parts, in messages that *named* may be of. A message without
    its text takes nothing back, unless there is a text that did not come.
    """
    left = Counter(stated)
    lacking, silent = [], []
    for key, slot in came:
        if left[key]:
            left[key] -= key[0] in TEXTS
        elif key in named and key not in left:
            silent.append(slot)
        else:
            lacking.append(slot)
    is_new = any(number and key[0] in TEXTS for key, number in left.items())
    return lacking + silent if is_new else lacking


def _others(came: list[Key], stated: list[Key]) -> list[Key] | None:
    """
    The keys that the parts that came have in a snapshot which has them all in their order, with nothing between them
    but results; `None` if it has not.
    """
    found: list[Key] = []
    left = iter(stated)
    for kind, id_ in came:
        for key in left:
            if key[0] == kind and (kind in TEXTS or key[1] == id_):
                found.append(key)
                break
            if key[0] != "result":
                return None
        else:
            return None
    return found
