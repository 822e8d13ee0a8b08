"""
The text of a call's arguments: written from an object where one was sent, and watched for the end of its own.
"""

from __future__ import annotations

from typing import Any

from chunkfold import _json
from chunkfold.dialects._words import is_blank

__all__ = ["ObjectScanner", "json_text", "text_within"]


def json_text(value: Any, data: bytes = b"", *path: str | int) -> str:
    """
    The JSON text of arguments that came as an object; text as it is; nothing for nothing, as which PHP writes `[]`.

    Where the exact text of the payload is in *data*, that of the arguments is taken from it, at *path*.
    """
    if is_blank(value):
        return ""
    if isinstance(value, str):
        return value
    return (_json.exact_at(data, *path) if data else None) or _json.encode_exactly(value)


def text_within(value: Any, data: bytes) -> str:
    """
    As `json_text`, where the path is not at hand: of an object the text of the first one in *data* that is equal.

    For imitators, which send an object where text belongs. *data* is read once more for it.
    """
    if not data or value is None or isinstance(value, str):
        return json_text(value)
    path = _path_to(value, _json.decode(data, None)[0])
    return json_text(value) if path is None else json_text(value, data, *path)


def _path_to(value: Any, root: Any) -> tuple[str | int, ...] | None:
    """Where *value* stands in *root*. To Python 1, 1.0 and `True` are equal, also within objects."""
    written = _json.encode_exactly(value)
    left: list[tuple[Any, tuple[str | int, ...]]] = [(root, ())]
    while left:
        item, path = left.pop()
        if type(item) is type(value) and item == value and _json.encode_exactly(item) == written:
            return path
        members = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        left += reversed([(inner, (*path, key)) for key, inner in members])
    return None


class ObjectScanner:
    """Tells whether argument text is a closed object yet, looking at each character once."""

    __slots__ = ("_depth", "_done", "_escaped", "_in_string")

    def __init__(self) -> None:
        self._depth = 0
        self._done = self._in_string = self._escaped = False

    @property
    def is_complete(self) -> bool:
        """True if an object has closed and only white space came after."""
        return self._done

    def feed(self, text: str) -> None:
        for character in text:
            if self._escaped:
                self._escaped = False
            elif self._in_string:
                if character == "\\":
                    self._escaped = True
                elif character == '"':
                    self._in_string = False
            elif character in "{[":
                self._depth += 1
                self._done = False
            elif character in "}]":
                self._depth -= 1
                self._done = self._depth == 0
            elif character == '"':
                self._in_string = True
            elif self._done and not character.isspace():
                self._done = False
