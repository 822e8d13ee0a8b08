"""
Frames that tell again, whole, what came in pieces: read without making the long texts in them a second time.

A value is read as it is otherwise, but a long string in it that is a text which is there already becomes that very
object. It is compared stretch by stretch, so that it never stands in memory beside the text. What cannot be read like
this is refused, and then read as everything else.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from chunkfold.basis import _json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["LONG", "read"]

LONG = 16 << 10
"""Shorter frames, strings and texts are not worth it."""

_STRETCH = 16 << 10
# How far back a place is looked for where a string can be cut.
_BACK = 64
_SECOND_HALVES = (b"dc", b"dd", b"de", b"df")
_QUOTE, _BACKSLASH, _BRACE, _SQUARE = b'"\\{['

_value: Callable[[Any], Any] = msgspec.json.Decoder().decode
_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
_children: Callable[[Any], dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items: Callable[[Any], list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read(data: bytes | memoryview, texts: Sequence[str], depth: int | None) -> Any:
    """
    The JSON value *data*, in which a long string that is one of *texts* is that one.

    Raises:
        msgspec.DecodeError: If it is not JSON, or only leniently read.
        UnicodeDecodeError: As above.
        RecursionError: If it nests deeper than *depth*, or too deep.
    """
    if depth is not None and depth < 0:
        raise RecursionError
    if len(data) >= LONG:
        first = data[0]
        inside = None if depth is None else depth - 1
        if first == _BRACE:
            return {key: read(memoryview(raw), texts, inside) for key, raw in _children(data).items()}
        if first == _SQUARE:
            return [read(memoryview(raw), texts, inside) for raw in _items(data)]
        if first == _QUOTE:
            for text in texts:
                if _says(data, text):
                    return text
    if depth is not None and len(data) > 2 * depth and _json.is_deeper(bytes(data), depth):
        raise RecursionError
    return _value(data)


def _says(literal: bytes | memoryview, text: str) -> bool:
    """True if the JSON string *literal* is *text*; false also where that cannot be told stretch by stretch."""
    at, end, told = 1, len(literal) - 1, 0
    while at < end:
        stop = end if end - at <= _STRETCH else _place_to_cut(literal, at + _STRETCH)
        try:
            stretch = _string(b'"%b"' % bytes(literal[at:stop]))
        except (msgspec.DecodeError, UnicodeDecodeError):
            return False
        if not text.startswith(stretch, told):
            return False
        at, told = stop, told + len(stretch)
    return told == len(text)


def _place_to_cut(literal: bytes | memoryview, stop: int) -> int:
    """A place before *stop* that is not amid a character or an escape, nor between the halves of a surrogate pair."""
    for place in range(stop, stop - _BACK, -1):
        byte = literal[place]
        if byte == _BACKSLASH:
            if literal[place - 1] != _BACKSLASH and bytes(literal[place + 2 : place + 4]).lower() not in _SECOND_HALVES:
                return place
        elif not 0x80 <= byte < 0xC0 and _BACKSLASH not in bytes(literal[place - 5 : place]):
            return place
    return stop
