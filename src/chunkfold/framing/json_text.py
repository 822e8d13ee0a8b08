"""
Where a JSON value ends, found without reading it.

Bytes may come in any pieces and are looked at once. Only brackets and strings count, so that a
value which is malformed inside still has an end: what it means is for the reader above.
"""

from __future__ import annotations

import re

import msgspec

__all__ = ["BracketScanner", "JsonLines", "is_whole_json", "looks_like_object"]

_read_json = msgspec.json.Decoder(msgspec.Raw).decode
# Over whole strings without escapes to the next bracket, or to a string that has to be looked at. The repetition
# is bounded because the engine remembers each turn of it.
_to_bracket = re.compile(rb'(?:[^"{}\[\]]*"[^"\\]*"){0,100}[^"{}\[\]]*').match
_in_string = re.compile(rb'["\\]').search
_object = re.compile(rb'\{[ \t\r\n]*(?:["}]|\Z)').match

_QUOTE = 0x22
_COLON = 0x3A
_BEFORE_ELEMENT = b"[,"
_OPENING = b"{["
_BLANK = b" \t\r\n"


class BracketScanner:
    """Counts brackets outside strings until the first one is closed again."""

    __slots__ = ("_escaped", "_open", "_quoted")

    def __init__(self) -> None:
        self._open = bytearray()
        self._quoted = False
        self._escaped = False

    def scan(self, data: bytes, pos: int = 0) -> int:
        """The position behind the bracket that closes the value, or -1 if it stays open beyond *data*."""
        size = len(data)
        stack = self._open
        if self._escaped and pos < size:
            self._escaped = False
            pos += 1
        while True:
            if self._quoted:
                pos = self._string_end(data, pos)
                if pos < 0:
                    return -1
            pos = _to_bracket(data, pos).end()  # type: ignore[union-attr]  # it matches everywhere
            if pos == size:
                return -1
            byte = data[pos]
            pos += 1
            if byte == _QUOTE:
                self._quoted = True
            elif byte in _OPENING:
                stack.append(byte)
            else:
                del stack[-1:]
                if not stack:
                    return pos

    @property
    def is_in_string(self) -> bool:
        """Whether what was scanned ends amid a string."""
        return self._quoted

    def may_go_on_with_object(self, last: int) -> bool:
        """Whether JSON allows a `{` here, when *last* was the byte before that is not blank."""
        if self._quoted:
            return False
        return last == _COLON if self._open[-1:] == b"{" else last in _BEFORE_ELEMENT

    def _string_end(self, data: bytes, pos: int) -> int:
        while True:
            found = _in_string(data, pos)
            if found is None:
                return -1
            pos = found.end()
            if data[pos - 1] == _QUOTE:
                self._quoted = False
                return pos
            if pos == len(data):
                self._escaped = True
                return -1
            pos += 1


def looks_like_object(data: bytes | bytearray) -> bool:
    """Whether text that begins with `{` goes on like a JSON object, as far as it is there."""
    return _object(data) is not None


def is_whole_json(data: bytes) -> bool:
    """Whether *data* is exactly one JSON value, blanks around it allowed; `NaN` and half surrogate pairs pass."""
    try:
        _read_json(data)
    except RecursionError:
        return _is_balanced(data)
    except msgspec.DecodeError:
        return _is_nearly_json(data)
    return True


def _is_balanced(data: bytes) -> bool:
    end = BracketScanner().scan(data)
    return end > 0 and not data[end:].strip(_BLANK)


def _is_nearly_json(data: bytes) -> bool:
    # msgspec refuses half surrogate pairs, which models do write; the standard library reads them.
    if data.strip(_BLANK)[-1:] not in (b"}", b"]", b'"'):
        return False
    import json

    try:
        json.loads(data.decode("utf-8", "replace"))
    except RecursionError:
        return _is_balanced(data)
    except ValueError:
        return False
    return True


class JsonLines:
    """
    Whether lines joined by LF are one whole JSON value, asked after each line at constant cost.

    `state` is `blank`, `open` (more lines may complete it), `whole`, or `broken` (no line can mend it).
    """

    __slots__ = ("_lines", "_scanner", "state")

    def __init__(self) -> None:
        self.state = "blank"
        self._lines: list[bytes] = []
        self._scanner = BracketScanner()

    @property
    def is_in_string(self) -> bool:
        """Whether the lines end amid a string, in which no line end may stand."""
        return self._scanner.is_in_string

    def add(self, line: bytes) -> None:
        """Take the next line."""
        text = line.strip(_BLANK)
        if self.state == "blank":
            if not text:
                return
            if is_whole_json(text):
                self.state = "whole"
                return
            # No line end can stand inside a number, a word or a string.
            self.state = "open" if text[0] in _OPENING else "broken"
        if self.state == "open":
            self._add_open(line)
        elif text:
            self.state = "broken"

    def _add_open(self, line: bytes) -> None:
        self._lines.append(line)
        if self._scanner.scan(line) >= 0:
            self.state = "whole" if is_whole_json(b"\n".join(self._lines)) else "broken"
            self._lines = []
