"""
Fields of a response that nobody knows, carried: an object that grows by events, each of which says a value at a path.

Only what events have made here ever grows. What a server sent in one piece stays as it came, and is shared by all
snapshots; so is what has not grown from one to the next. What has is copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Fields", "copied", "index_of", "key_of", "numbered", "put"]


class Fields(dict[str, Any]):
    """An object that grows by events. What an event brought is a plain dict and stays as it is."""

    shown: dict[str, Any] | None = None
    """The copy that was handed out last."""
    news: dict[str, None]
    """The keys under which something has come since."""

    def tell(self, key: str) -> None:
        """Something comes under *key*."""
        if self.shown is not None:
            self.news[key] = None


class _Items(list[Any]):
    """A list that grows by events."""


def put(fields: Fields, path: tuple[str | int, ...], value: Any) -> None:
    """
    Put *value* at *path*; behind what is there if the path ends in `-`. What says nothing erases nothing. Elsewhere `-`
    is a key like any other, and a path without steps is that of a field without a name.
    """
    *inner, last = [step if type(step) is str else key_of(step) for step in path] or [""]
    adds = last == "-" and bool(inner)
    holder = inner.pop() if adds else ""
    target = fields
    for key in inner:
        target.tell(key)
        known = target.get(key)
        if type(known) is not Fields:
            # Nothing yet, or what a server sent, which is not ours to change, or a shape that nobody documents.
            known = target[key] = Fields(known if isinstance(known, dict) else {})
        target = known
    target.tell(holder if adds else last)
    if adds:
        _items(target, holder).append(value)
    elif value or value is False or value == 0 or not target.get(last):
        target[last] = value


def _items(fields: Fields, key: str) -> _Items:
    """The list under *key* that grows; it goes on with what a server sent there, which is not ours to change."""
    known = fields.get(key)
    if type(known) is not _Items:
        known = fields[key] = _Items(known if isinstance(known, list) else ())
    return known


def key_of(step: str | int) -> str:
    """A step of a path as the key that it is kept under; an index may have thousands of digits."""
    return step if isinstance(step, str) else "0" if step == 0 else _json.encode(step)


def index_of(key: str) -> int | None:
    """The index that is kept under *key*; `None` if it is a field."""
    if not (key.isascii() and key.isdecimal()) or (key[0] == "0" and key != "0"):
        return None
    index: int = _json.decode(key.encode())[0]
    return index


def numbered(fields: Mapping[str, Any]) -> list[tuple[int, str]]:
    """The indexes that something is kept under, and their keys, in order."""
    return sorted((index, key) for key in fields if (index := index_of(key)) is not None)


def copied(value: Any) -> Any:
    """A copy of the containers that grow, so that a snapshot stays what it was: the last one where nothing has come."""
    if type(value) is not Fields:
        return list(value) if type(value) is _Items else value
    if value.shown is None:
        value.shown = {key: copied(item) for key, item in value.items()}
    elif value.news:
        value.shown = {**value.shown, **{key: copied(value[key]) for key in value.news}}
    value.news = {}
    return value.shown
