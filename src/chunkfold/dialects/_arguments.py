"""
The text of a call's arguments: written from an object where one was sent, and watched for the end of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from chunkfold.basis import _json
from chunkfold.dialects._words import is_blank

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.framing import Frame

__all__ = ["ObjectScanner", "json_text", "text_within"]


def json_text(value: Any, frame: Frame | None = None, *path: str | int) -> str:
    """
    The JSON text of arguments that came as an object; text as it is; nothing for nothing, as which PHP writes `[]`.

    Where the exact text of the payload is in *frame*, that of the arguments is taken from it, at *path*.
    """
    if is_blank(value):
        return ""
    if isinstance(value, str):
        return value
    return (frame.text_at(*path) if frame is not None and frame.data else None) or _json.encode_exactly(value)


def text_within(value: Any, frame: Frame) -> str:
    """
    As `json_text`, where the path is not at hand: of an object the text of the next one in *frame* that is equal.

    For imitators, which send an object where text belongs. The frame is read once more for it.
    """
    if not frame.data or value is None or isinstance(value, str):
        return json_text(value)
    path = _path_to(value, frame)
    return json_text(value) if path is None else json_text(value, frame, *path)


def _path_to(value: Any, frame: Frame) -> tuple[str | int, ...] | None:
    """
    Where *value* stands in *frame*, from where the last one was found on: calls are asked for in their order. To Python
    1, 1.0 and `True` are equal, also within objects.
    """
    written = _json.encode_exactly(value)
    for is_new in (frame.walk is None, True):
        if is_new:
            msgspec.structs.force_setattr(frame, "walk", _walk(_json.decode(frame.data, None)[0]))
        for item, path in frame.walk:
            if type(item) is type(value) and item == value and _json.encode_exactly(item) == written:
                return path  # type: ignore[no-any-return]
    return None


def _walk(root: Any) -> Iterator[tuple[Any, tuple[str | int, ...]]]:
    """Every value in *root* and its place, in order."""
    left: list[tuple[Any, tuple[str | int, ...]]] = [(root, ())]
    while left:
        item, path = left.pop()
        yield item, path
        members = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        left += reversed([(inner, (*path, key)) for key, inner in members])


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
