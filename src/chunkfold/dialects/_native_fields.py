"""
Fields of the provider's own body that no part and no fact holds: which they are, and which of those that a stream
repeats are news.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["NativeFields", "further_fields"]

_BLANKS: Final[tuple[Any, ...]] = ("", [], {})


class NativeFields:
    """What was kept of the body so far, by path."""

    __slots__ = ("_values", "met")

    def __init__(self) -> None:
        self._values: dict[tuple[str | int, ...], Any] = {}
        # The keys that were met at a path: blank fields are noted once.
        self.met: dict[tuple[str | int, ...], dict[str, None]] = {}

    def take(self, path: tuple[str | int, ...], value: Any) -> bool:
        """
        Keep a field; true if it says something new.

        `null`, `""`, `[]` and `{}` replace nothing: the first of them at a path says that the body has such a key, and
        the first after a `null` says more than that. What is put at the end of a list, at `-`, is always new.
        """
        values = self._values
        known = values.get(path)
        if known is not None and type(known) is type(value) and known == value:
            return False
        is_list = path[-1] == "-"
        if value is None or value == "" or value == [] or value == {}:
            if is_list or (path in values and (value is None or known is not None)):
                return False
        if not is_list:
            values[path] = value
        return True

    def blanks(
        self, payload: Mapping[str, Any], leave: Collection[str], path: tuple[str | int, ...]
    ) -> list[tuple[str, Any]]:
        """
        The fields of *payload* but those to *leave* that say nothing, at *path*.

        A field is looked at when it comes for the first time: later it has been noted, or it has had a value.
        """
        met = self.met.setdefault(path, {})
        found = [
            (key, value)
            for key, value in payload.items()
            if (value is None or (not value and value in _BLANKS)) and key not in met and key not in leave
        ]
        met.update(dict.fromkeys(payload))
        return found


def further_fields(payload: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The fields of *payload* that are not *known* and say something."""
    if payload.keys() <= known:
        return {}
    return {name: value for name, value in payload.items() if name not in known and value is not None}
