"""
JSON text that was cut, closed behind the last thing in it that is sure. What came before is left as it was written.
"""

from __future__ import annotations

import re

__all__ = ["closed"]

_SPACE = re.compile(r"[ \t\r\n]*")
# The inside of a string as far as it is whole: an escape that was cut is no part of it.
_INSIDE = re.compile(r'(?:[^"\\]+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_SCALAR = re.compile(r"[^ \t\r\n,:\[\]{}\"]+")
# The first half of a surrogate pair, behind which the second may have been cut.
_HALF = re.compile(r"(?<!\\)((?:\\\\)*)\\u[dD][89abAB][0-9a-fA-F]{2}\Z")
_CLOSERS = {"{": "}", "[": "]"}
_LITERALS = ("true", "false", "null")


def closed(text: str) -> str:
    """
    *text*, the beginning of JSON, as whole JSON.

    An open string is closed; a number that may have gone on, half a literal and half a key are left out.
    """
    i, size, sure = 0, len(text), 0
    closers: list[str] = []
    before = ""  # the last bracket that opened, comma or colon
    while (i := _end(_SPACE, text, i)) < size:
        c = text[i]
        if c == '"':
            is_key = closers[-1:] == ["}"] and before != ":"
            end = _end(_INSIDE, text, i + 1)
            if text[end : end + 1] != '"':
                return _with(text[:sure] if is_key else _HALF.sub(r"\1", text[:end]) + '"', closers)
            i = end + 1
            sure = sure if is_key else i
        elif c in _CLOSERS:
            closers.append(_CLOSERS[c])
            i = sure = i + 1
        elif c in "}]":
            closers.pop()
            i = sure = i + 1
        elif c in ",:":
            i += 1
        else:
            start, i = i, _end(_SCALAR, text, i)
            if i < size or text[start:] in _LITERALS:
                sure = i
        if c in "{[,:":
            before = c
    return _with(text[:sure], closers)


def _end(pattern: re.Pattern[str], text: str, i: int) -> int:
    """Where the pattern ends that begins at *i*."""
    found = pattern.match(text, i)
    return found.end() if found is not None else len(text)


def _with(text: str, closers: list[str]) -> str:
    return text + "".join(reversed(closers))
