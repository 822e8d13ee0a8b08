"""
Fields of a response that nobody knows, carried: an object that grows by events, each of which says a value at a path.

Only what events have made here ever grows. What a server sent in one piece stays as it came, and is shared by all
snapshots; what grows is copied into each.
"""

from __future__ import annotations

from typing import Any

from chunkfold import _json

__all__ = ["Fields", "copied", "put"]


class Fields(dict[str, Any]):
    """An object that grows by events. What an event brought is a plain dict and stays as it is."""


class _Items(list[Any]):
    """A list that grows by events."""


def put(fields: Fields, path: tuple[str | int, ...], value: Any) -> None:
    """
    Put *value* at *path*; behind what is there if the path ends in `-`. What says nothing erases nothing. Elsewhere `-`
    is a key like any other, and a path without steps is that of a field without a name.
    """
    keys = [step if type(step) is str else _key(step) for step in path] or [""]
    adds = len(keys) > 1 and keys[-1] == "-"
    target: Any = fields
    for place, key in enumerate(keys[:-1], 2 if adds else 1):
        wanted = _Items if place == len(keys) else Fields
        known = target.get(key)
        if type(known) is not wanted:
            known = target[key] = _growing(known, is_list=wanted is _Items)
        target = known
    if adds:
        target.append(value)
    elif value or value is False or value == 0 or not target.get(keys[-1]):
        target[keys[-1]] = value


def _growing(known: Any, *, is_list: bool) -> Fields | _Items:
    """
    What takes the place of *known* so that more can be put in: nothing was there yet; or what a server sent, which is
    not ours to change; or a shape that nobody documents.
    """
    if is_list:
        return _Items(known if isinstance(known, list) else ())
    return Fields(known if isinstance(known, dict) else {})


def _key(step: str | int) -> str:
    """A step of a path as the key that it is kept under; an index may have thousands of digits."""
    return step if isinstance(step, str) else "0" if step == 0 else _json.encode(step)


def copied(value: Any) -> Any:
    """A copy of the containers that grow, so that a snapshot stays what it was."""
    if type(value) is Fields:
        return {key: copied(item) for key, item in value.items()}
    return list(value) if type(value) is _Items else value
