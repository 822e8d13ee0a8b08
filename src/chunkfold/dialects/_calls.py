"""
Rule 3 of the fold, once for all dialects: which call a fragment belongs to.

By index where that is known, and a new id on a known index is a new call; without an index by id; without both it is
the call that was opened last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping

    from chunkfold.dialects._slots import Choice, Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.parts import Kind

__all__ = ["find", "find_restated", "identify"]

# What some gateways write for a name that they do not have.
_NO_NAME = "null"


def find(state: Choice, number: Hashable, id: str | None, name: str | None, text: str) -> Slot | None:
    """The call that a fragment belongs to; `None` if it opens a new one."""
    name = None if name == _NO_NAME else name
    if number is not None:
        slot = state.by_number.get(number)
        if slot is None:
            # A number never seen, with nothing but argument text: some servers let the number drift.
            return None if name or not text else state.by_id.get(id) if id else state.last_call
    elif id is not None:
        slot = state.by_id.get(id)
        if slot is None:
            # Its id may come late, on the call that was opened last without one.
            return state.last_call if state.last_call and not state.last_call.id and not name else None
    else:
        slot = state.last_call
    if slot is None or (name and not slot.open):
        return None  # what has a name after the mark of an end begins anew
    if id is not None and slot.id is not None and id != slot.id:
        # Servers that number every call 0 tell calls apart by their ids alone; those that draw an id for each piece
        # have a name only at the beginning of a call.
        earlier = state.by_id.get(id)
        if earlier is not None and earlier.number == number:
            return earlier
        return slot if number is not None and not name else None
    return None if _begins_anew(state, slot, id, name, text) else slot


def _begins_anew(state: Choice, slot: Slot, id: str | None, name: str | None, text: str) -> bool:
    """
    A name after the complete object of a call that has no id is a new call, where ids do not tell calls apart.

    Without any ids it is one only with argument text of its own: a name alone may be a repeat. An id that comes with
    another name is no late id either (Mistral has `"null"` for an id it lacks); with the same it is, so that a call
    that is told twice is not run twice.
    """
    if name is None or slot.scanner is None or not slot.scanner.is_complete:
        return False
    if id is None:
        return bool(text) and not state.by_id
    return slot.name not in (None, _NO_NAME, name)


def find_restated(
    state: Choice, kind: Kind, place: int, id: str | None, name: str | None, listed: Collection[str | None]
) -> Slot | None:
    """
    The call that a restated message has at *place* among those of its *kind*: by its id, else by its place. *listed*
    are the ids that the message has; a call of the same name whose id is not among them has been given a new one.
    """
    slot = state.by_id.get(id) if id else None
    calls = state.by_kind.get(kind, ())
    if slot is not None or place >= len(calls):
        return slot
    there = calls[place]
    is_renamed = there.id not in listed and name in (None, there.name)
    return there if id is None or there.id is None or is_renamed else None


def identify(
    w: Writer, state: Choice, slot: Slot, id: str | None, name: str | None, extra: Mapping[str, Any] | None
) -> None:
    """Take what a later fragment says about a call: an id or a name that came late, pieces of a name."""
    new_id = id if id is not None and slot.id is None else None
    if new_id is not None:
        slot.id = new_id
        slot.scanner = None
        state.by_id.setdefault(new_id, slot)
    new_name = None
    if name is not None and name != slot.name and (name != _NO_NAME or slot.name is None):
        if slot.name in (None, _NO_NAME):
            new_name = name
        elif not slot.has_text:
            new_name = slot.name + name
        else:
            w.diagnose("name_after_arguments", "another name was ignored", slot.choice, slot.index)
    if new_name is not None:
        slot.name = new_name
    if extra and extra == slot.extra:
        extra = None
    if new_id is not None or new_name is not None or extra:
        slot.extra = extra or slot.extra
        w.update(slot, id=new_id, name=new_name, extra=extra)
