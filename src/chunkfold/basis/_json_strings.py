"""
The inside of a JSON string that is still arriving: any pieces of text in, the characters that they mean out.

An escape that is cut is held back until the rest comes, and the first half of a surrogate pair until it is known
whether the second follows.
"""

from __future__ import annotations

import re

__all__ = ["Unescaper", "WrongCharacter"]

_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_HEX = "0123456789abcdefABCDEF"
_LONGEST = len("\\uffff")


class WrongCharacter(Exception):
    """No JSON text goes on with the character at `position` of the piece."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(position, reason)
        self.position = position
        self.reason = reason


class Unescaper:
    """Reader of one string after the other."""

    __slots__ = ("_escape", "_high", "holds_back")

    holds_back: bool
    """Whether something waits for what comes next."""

    def __init__(self) -> None:
        self._escape = ""  # what has come of an escape that is cut
        self._high = ""  # the first half of a surrogate pair
        self.holds_back = False

    def read(self, text: str, i: int, parts: list[str]) -> int:
        """
        Add to *parts* what *text* means from *i* on, and return where the closing quote is, or the size of *text*.

        Raises:
            WrongCharacter: If it cannot be the text of a string.
        """
        if self._escape:
            i = self._read_escape(text, i, parts)
        size = len(text)
        while i < size and (c := text[i]) != '"':
            if c != "\\":
                found = _SPECIAL.search(text, i)
                end = found.start() if found is not None else size
                if end == i:
                    raise WrongCharacter(i, "control character in a string")
                meaning = text[i:end]
            elif (letter := text[i + 1 : i + 2]) in _ESCAPES:
                end = i + 2
                meaning = _ESCAPES[letter]
            else:
                i = self._read_escape(text, i, parts)
                continue
            if self._high:
                self._give_up_high(parts)
            parts.append(meaning)
            i = end
        if self._high and i < size:
            self._give_up_high(parts)
        self.holds_back = bool(self._escape or self._high)
        return i

    def _read_escape(self, text: str, i: int, parts: list[str]) -> int:
        """An escape, or as much of it as there is; it may have begun in an earlier piece."""
        start = i - len(self._escape)
        escape = self._escape + text[i : start + _LONGEST]
        letter, digits = escape[1:2], escape[2:]
        if letter in _ESCAPES:
            parts.append(self._high + _ESCAPES[letter])
            self._escape = self._high = ""
            return start + 2
        if letter and letter != "u":
            raise WrongCharacter(start + 1, "no such escape")
        if wrong := digits.lstrip(_HEX):
            raise WrongCharacter(start + len(escape) - len(wrong), "expected a hexadecimal digit")
        if len(escape) < _LONGEST:
            self._escape = escape
            return len(text)
        self._escape = ""
        self._add_unit(chr(int(digits, 16)), parts)
        return start + _LONGEST

    def _add_unit(self, unit: str, parts: list[str]) -> None:
        """Add what an escape with digits means: a character, or half a surrogate pair."""
        high, self._high = self._high, ""
        if high and "\udc00" <= unit <= "\udfff":
            parts.append((high + unit).encode("utf-16", "surrogatepass").decode("utf-16"))
        elif "\ud800" <= unit <= "\udbff":
            parts.append(high)
            self._high = unit
        else:
            parts.append(high + unit)

    def _give_up_high(self, parts: list[str]) -> None:
        """What follows the first half is not the second."""
        parts.append(self._high)
        self._high = ""
