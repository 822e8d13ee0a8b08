"""
JSON read while it arrives: any pieces of text in, the value so far out at any time.

The text is read once, by a machine that can stop between any two characters; what has been read is
never looked at again. Three things make that cheap where pieces are a few characters long:

- A piece that lies wholly inside a string and needs no decoding is kept as it is, after three tests
  that run in C. A growing string is a list of such pieces, joined when it ends or when somebody looks.
- The tree under construction only grows, and holds nothing unfinished but containers. What is handed
  out is a copy of the containers still open, one inside the other; the finished ones are shared.
- Nothing is told that nobody asked for: without `events` no path is ever made. With them, each value
  costs the length of its path, which is bounded by `depth`.

What is accepted is what `json.loads` accepts, without `NaN` and `Infinity`. A text is wrong at the
first character after which no JSON text could follow, so its place does not depend on the cutting.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, overload

from msgspec import UNSET, Struct

__all__ = ["UNSET", "FieldDone", "JSONFault", "PartialJSON", "Path", "StringPiece"]

Path: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the root to a value: `("edits", 0, "new_text")`; the root itself is `()`."""

Event = TypeVar("Event")


class StringPiece(Struct, frozen=True, gc=False):
    """
    More text of the string value at a path. Never empty; never of a key.

    The pieces since the last `FieldDone` of the same path join to the string.
    """

    path: Path
    text: str


class FieldDone(Struct, frozen=True):
    """
    The value at a path is complete and will not change. Containers are told too, after what is in them, the root last.

    A key that comes twice in an object is told twice; the later value replaces the earlier one.
    """

    path: Path
    value: Any


class JSONFault(Struct, frozen=True):
    """Where and why a text is not JSON."""

    position: int
    """Characters before the wrong one; the length of the text where that ended too early."""
    reason: str

    def __str__(self) -> str:
        return f"{self.reason} at character {self.position}"


# What the next character belongs to. The order matters: strings first, those without anything held back before all.
_TEXT, _NAME, _TEXT_HELD, _NAME_HELD = 0, 1, 2, 3  # inside a string that is a value, or a key
_VALUE, _FIRST_VALUE = 4, 5  # a value; after "[" the end of the array too
_KEY, _FIRST_KEY = 6, 7  # a key; after "{" the end of the object too
_COLON = 8
_AFTER = 9  # a value is complete
_NUMBER, _LITERAL = 10, 11
_FAILED, _CLOSED = 12, 13

_GROWING = (_TEXT, _TEXT_HELD)
_MAY_END = (_AFTER, _FIRST_KEY, _FIRST_VALUE)

_EXPECTED = {
    _VALUE: "expected a value",
    _FIRST_VALUE: "expected a value or ']'",
    _KEY: "expected a key in double quotes",
    _FIRST_KEY: "expected a key in double quotes or '}'",
    _COLON: "expected ':'",
}
_AFTER_IN = {"}": "expected ',' or '}'", "]": "expected ',' or ']'", "": "expected nothing more"}

_SPACE = " \t\n\r"
_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_HEX = frozenset("0123456789abcdefABCDEF")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LITERALS: dict[str, tuple[str, bool | None]] = {"t": ("rue", True), "f": ("alse", False), "n": ("ull", None)}

# "number = [ minus ] int [ frac ] [ exp ]" -- RFC 8259, section 6. Each state: character -> next state.
_DIGITS = "0123456789"
_EXPONENT = {"e": 5, "E": 5}
_NUMBER_START = {"-": 0, "0": 1, **dict.fromkeys(_DIGITS[1:], 2)}
_NUMBER_STATES: tuple[dict[str, int], ...] = (
    {"0": 1, **dict.fromkeys(_DIGITS[1:], 2)},  # 0: after the minus
    {".": 3, **_EXPONENT},  # 1: a leading zero stands alone
    {".": 3, **_EXPONENT, **dict.fromkeys(_DIGITS, 2)},  # 2: the integer part
    dict.fromkeys(_DIGITS, 4),  # 3: after the point
    {**_EXPONENT, **dict.fromkeys(_DIGITS, 4)},  # 4: the fraction
    {"+": 6, "-": 6, **dict.fromkeys(_DIGITS, 7)},  # 5: after the e
    dict.fromkeys(_DIGITS, 7),  # 6: after the sign of the exponent
    dict.fromkeys(_DIGITS, 7),  # 7: the exponent
)
_NUMBER_SO_FAR = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")

# sys.set_int_max_str_digits() cannot go below 640, so `int` takes as many digits whatever was set.
_LIMB = 600


def _integer(text: str) -> int:
    """
    The integer, however long.

    `int` refuses more than 4,300 digits because it is quadratic. So is the way over `Decimal`: 27 s for a
    million digits. Joining halves of equal length takes 0.6 s.
    """
    if len(text) <= _LIMB:
        return int(text)
    digits = text.removeprefix("-")
    head = len(digits) % _LIMB
    limbs = [int(digits[:head] or "0"), *(int(digits[i : i + _LIMB]) for i in range(head, len(digits), _LIMB))]
    base = 10**_LIMB
    while len(limbs) > 1:
        if len(limbs) % 2:
            limbs.insert(0, 0)
        limbs = [high * base + low for high, low in zip(limbs[::2], limbs[1::2], strict=True)]
        base *= base
    return -limbs[0] if text[0] == "-" else limbs[0]


# The states in which a number may end, and what it is then.
_NUMBER_ENDS: dict[int, Callable[[str], int | float]] = {1: _integer, 2: _integer, 4: float, 7: float}


class PartialJSON(Generic[Event]):
    """
    Reader of one JSON text that is still arriving.

    Call `feed` with each piece, look at `value` whenever you like, and call `close` at the end of the
    text. What is wrong in the text never raises: `error` is set, `value` stays what it was, and
    the rest is ignored.
    """

    __slots__ = (
        "_base",
        "_bases",
        "_closer",
        "_cut",
        "_depth",
        "_done",
        "_held",
        "_high",
        "_joined",
        "_joined_count",
        "_joined_parts",
        "_key",
        "_literal",
        "_number",
        "_offset",
        "_parts",
        "_path",
        "_piece",
        "_rest",
        "_root",
        "_seen",
        "_shown",
        "_stack",
        "_state",
        "_top",
        "_unsure",
        "error",
    )

    error: JSONFault | None
    """What is wrong in the text; `None` while nothing is. An unfinished text is wrong only at `close`."""

    @overload
    def __init__(
        self: PartialJSON[StringPiece | FieldDone], *, depth: int = 512, unsure: bool = False, events: bool = False
    ) -> None: ...

    @overload
    def __init__(
        self,
        *,
        depth: int = 512,
        unsure: bool = False,
        events: tuple[Callable[[Path, str], Event], Callable[[Path, Any], Event]],
    ) -> None: ...

    def __init__(
        self,
        *,
        depth: int = 512,
        unsure: bool = False,
        events: bool | tuple[Callable[[Path, str], Any], Callable[[Path, Any], Any]] = False,
    ) -> None:
        """
        Start before the first character.

        Args:
            depth: Objects and arrays that may be open at once; one more is an error.
            unsure: Show in `value` also what may yet change: the number so far (`10` of `100`, `1` of
                `1.` or `1e`) and `true`, `false`, `null` from their first letter. Events tell neither.
            events: Return from `feed` and `close` what happened: `True` for `StringPiece` and `FieldDone`, or the two
                functions that make the one and the other from a path and a text or value.
        """
        self.error = None
        self._depth = depth
        self._unsure = unsure
        self._piece: Callable[[Path, str], Any] | None
        self._done: Callable[[Path, Any], Any] | None
        if isinstance(events, tuple):
            self._piece, self._done = events
        else:
            self._piece, self._done = (StringPiece, FieldDone) if events else (None, None)

        self._offset = 0  # characters before the piece that comes next
        self._state = _VALUE
        self._root: list[Any] = []  # holds the value when it has begun
        self._top: Any = self._root  # the innermost open container
        self._closer = ""  # what ends it
        self._stack: list[Any] = []  # those around it, outermost first
        self._key = ""  # of the value that is expected or open in an object

        self._parts: list[str] = []  # pieces of the open string or number
        self._held = ""  # an escape that has begun
        self._high = ""  # the first half of a surrogate pair, until it is known whether the second follows
        self._number = 0
        self._rest = ""  # letters missing from the open literal
        self._literal: bool | None = None

        self._path: Path = ()  # of the open value; with the next two kept only for events
        self._base: Path = ()  # of the innermost open container
        self._bases: list[Path] = []

        self._shown: Any = UNSET
        self._seen = 0  # the offset when `_shown` was made
        self._cut: Path | None = None  # `open_string` when the text turned out to be wrong
        self._joined = ""  # the first `_joined_count` of `_joined_parts`
        self._joined_parts = self._parts
        self._joined_count = 0

    @property
    def offset(self) -> int:
        """Characters fed so far. Until `close`, `value` is the same while this is."""
        return self._offset

    @property
    def is_begun(self) -> bool:
        """Whether anything but white space has come."""
        return self._state != _VALUE or bool(self._root)

    @property
    def is_closed(self) -> bool:
        """Whether `close` was called."""
        return self._state == _CLOSED

    @property
    def is_complete(self) -> bool:
        """Whether the text so far is a whole JSON text. A number alone is complete only after a space or `close`."""
        return self.error is None and not self._stack and bool(self._root) and self._state in (_AFTER, _CLOSED)

    @property
    def open_string(self) -> Path | None:
        """The path of the string in `value` that is not complete; `None` if all strings in it are."""
        if self._state >= _FAILED:
            return self._cut
        if self._state not in _GROWING:
            return None
        path: list[str | int] = []
        if self._stack:
            path.append(self._key if self._closer == "}" else len(self._top))
        inner = self._top
        for container in reversed(self._stack[1:]):
            place = _place(container, inner)
            path.append(len(container) - 1 if place == -1 and isinstance(container, list) else place)
            inner = container
        return tuple(reversed(path))

    def feed(self, text: str) -> Sequence[Event]:
        """
        Read the next piece of the text and return what it brought, oldest first, if `events` was asked for.

        *text* may be cut anywhere, also inside an escape. A string gives at most one piece per call. What is
        held back, a cut escape or half a surrogate pair, comes with the text that decides it.

        Raises:
            ValueError: After `close()`.
        """
        # Every character that JSON forbids in a string is unprintable; most that it allows are printable.
        if self._state == _TEXT and text.isprintable() and '"' not in text and "\\" not in text:
            self._offset += len(text)
            self._parts.append(text)
            if self._piece is not None and text:
                return [self._piece(self._path, text)]
            return ()
        return self._read(text)

    def close(self) -> Sequence[Event]:
        """
        Say that the text has ended; afterwards `value` is final, and `error` tells if the text was not whole.

        Returns what the end itself completed, as `feed` does: a number that was the whole text.
        """
        events: Sequence[Event] = ()
        if self._state < _FAILED:
            if self._state == _NUMBER and not self._stack and self._number in _NUMBER_ENDS:
                events = self._read(" ")  # which ends a number and means nothing else
                self._offset -= 1
            if self._state == _AFTER and not self._stack:
                self._shown = self._root[0]
            else:
                self._fail(self._offset, "the text ends too early" if self._offset else "the text is empty")
        self._state = _CLOSED
        return events

    @property
    def value(self) -> Any:
        """
        The value so far; `UNSET` before anything of it is sure.

        Strings grow, objects and arrays fill. A key is there once its value is: strings, objects and arrays
        as soon as they begin, other values when they are complete and cannot go on.

        What was handed out never changes. It shares its finished containers with later values, so do not
        change it yourself. Reading costs a copy of each container still open, the top level of it only, and of
        the open string (or with `unsure`, number); after no news it costs nothing.
        """
        if self._seen != self._offset and self._state < _FAILED:
            self._shown = UNSET  # the last reference to the joined text may be ours: then it grows in place
            self._shown = self._copy()
            self._seen = self._offset
        return self._shown

    def _copy(self) -> Any:
        """The value so far: new containers where they are open, shared ones where not."""
        old = self._top
        new = old.copy()
        grown = self._open_scalar()
        if grown is not UNSET:
            if self._closer == "}":
                new[self._key] = grown
            else:
                new.append(grown)
        for container in reversed(self._stack):
            copy = container.copy()
            copy[_place(container, old)] = new
            old, new = container, copy
        return new[0] if new else UNSET

    def _open_scalar(self) -> Any:
        """The string that is open; with `unsure` also a number or literal."""
        state = self._state
        if state in _GROWING:
            parts = self._parts
            if self._joined_parts is not parts:
                self._joined_parts, self._joined_count, self._joined = parts, 0, ""
            joined, self._joined = self._joined, ""
            joined += "".join(parts[self._joined_count :])
            self._joined, self._joined_count = joined, len(parts)
            return joined
        if self._unsure and state == _LITERAL:
            return self._literal
        if self._unsure and state == _NUMBER and (number := _NUMBER_SO_FAR.match("".join(self._parts))):
            return float(number[0]) if number[1] else _integer(number[0])
        return UNSET

    def _fail(self, position: int, reason: str) -> None:
        self._shown = self._copy()
        self._cut = self.open_string
        self._state = _FAILED
        self.error = JSONFault(position, reason)

    def _read(self, text: str) -> Sequence[Event]:
        """Do what `feed` promises, for any piece."""
        state = self._state
        if state >= _FAILED:
            if state == _CLOSED:
                raise ValueError("feed() after close()")
            self._offset += len(text)
            return ()
        top = self._top
        closer = self._closer
        stack = self._stack
        key = self._key
        parts = self._parts
        make_piece = self._piece
        make_done = self._done
        events: list[Any] = []
        told = len(parts)  # the parts of the open string that earlier calls returned
        value: Any
        wrong = ""  # why the character before `i` is
        i = 0
        size = len(text)
        while i < size:
            if state <= _NAME_HELD:
                end = text.find('"', i) if state <= _NAME else i
                run = text[i:end] if end >= 0 else text[i:]
                if state <= _NAME and run.isprintable() and "\\" not in run:
                    parts.append(run)
                    i = end if end >= 0 else size
                else:
                    i, wrong = self._decode(text, i)
                    if wrong:
                        break
                    state &= _NAME
                if i == size:
                    if self._held or self._high:
                        state |= _TEXT_HELD
                    break
                i += 1
                value = "".join(parts)
                if state == _NAME:
                    key = value
                    state = _COLON
                    continue
                if make_piece is not None and (piece := "".join(parts[told:])):
                    events.append(make_piece(self._path, piece))
            elif state == _NUMBER:
                start = i
                number = self._number
                while i < size and (step := _NUMBER_STATES[number].get(text[i])) is not None:
                    number = step
                    i += 1
                self._number = number
                parts.append(text[start:i])
                if i == size:
                    break
                # Nothing is sure about a number that is followed by what may not follow it.
                c = text[i]
                if number not in _NUMBER_ENDS or (c != closer and c not in _SPACE and (c != "," or not stack)):
                    wrong = _AFTER_IN[closer] if number in _NUMBER_ENDS else "expected a digit"
                    i += 1
                    break
                value = _NUMBER_ENDS[number]("".join(parts))
            elif state == _LITERAL:
                rest = self._rest
                while rest and i < size and text[i] == rest[0]:
                    rest = rest[1:]
                    i += 1
                self._rest = rest
                if rest:
                    if i < size:
                        wrong = f"expected {rest!r}"
                        i += 1
                    break
                value = self._literal
            else:
                c = text[i]
                i += 1
                if c in _SPACE:
                    continue
                if c == closer and state in _MAY_END:
                    value = top
                    top = stack.pop()
                    closer = "}" if type(top) is dict else "]" if stack else ""
                    state = _AFTER
                    if make_done is not None:
                        events.append(make_done(self._base, value))
                        self._base = self._bases.pop()
                    continue
                if state == _AFTER:
                    if c != "," or not stack:
                        wrong = _AFTER_IN[closer]
                        break
                    state = _KEY if closer == "}" else _VALUE
                    continue
                if state == _COLON:
                    if c != ":":
                        wrong = _EXPECTED[state]
                        break
                    state = _VALUE
                    continue
                if state >= _KEY:
                    if c != '"':
                        wrong = _EXPECTED[state]
                        break
                    state = _NAME
                    parts = self._parts = []
                    continue
                if make_done is not None:
                    self._path = (*self._base, key if closer == "}" else len(top)) if stack else ()
                if c == '"':
                    state = _TEXT
                    parts = self._parts = []
                    told = 0
                elif c == "{" or c == "[":
                    if len(stack) == self._depth:
                        wrong = f"more than {self._depth} objects and arrays open"
                        break
                    value = {} if c == "{" else []
                    if closer == "}":
                        top[key] = value
                    else:
                        top.append(value)
                    stack.append(top)
                    top = value
                    closer, state = ("}", _FIRST_KEY) if c == "{" else ("]", _FIRST_VALUE)
                    if make_done is not None:
                        self._bases.append(self._base)
                        self._base = self._path
                elif (step := _NUMBER_START.get(c)) is not None:
                    state = _NUMBER
                    self._number = step
                    parts = self._parts = [c]
                elif c in _LITERALS:
                    state = _LITERAL
                    self._rest, self._literal = _LITERALS[c]
                else:
                    wrong = _EXPECTED[state]
                    break
                continue
            # A string, number or literal is complete.
            if closer == "}":
                top[key] = value
            else:
                top.append(value)
            state = _AFTER
            if make_done is not None:
                events.append(make_done(self._path, value))
        if make_piece is not None and state in _GROWING and (piece := "".join(parts[told:])):
            events.append(make_piece(self._path, piece))
        self._state = state
        self._top = top
        self._closer = closer
        self._key = key
        if wrong:
            self._fail(self._offset + i - 1, wrong)
        self._offset += size
        return events

    def _decode(self, text: str, i: int) -> tuple[int, str]:
        """
        Keep the string's text from *i* on, decoded.

        Returns where its closing quote is, or the size of *text*, and `""`; or what is wrong
        with a character, and the index after that.
        """
        parts = self._parts
        held, high = self._held, self._high
        size = len(text)
        while i < size:
            c = text[i]
            if not held:
                if c == "\\":
                    held = c
                    i += 1
                    continue
                if c < " ":
                    return i + 1, "control character in a string"
                if high:
                    parts.append(high)
                    high = ""
                if c == '"':
                    break
                found = _SPECIAL.search(text, i)
                end = found.start() if found is not None else size
                parts.append(text[i:end])
                i = end
                continue
            i += 1
            if len(held) == 1 and c != "u":
                if c not in _ESCAPES:
                    return i, "no such escape"
                parts.append(high + _ESCAPES[c])
                held = high = ""
                continue
            if len(held) > 1 and c not in _HEX:
                return i, "expected a hexadecimal digit"
            held += c
            if len(held) < len("\\uffff"):
                continue
            unit = chr(int(held[-4:], 16))
            held = ""
            if high and "\udc00" <= unit <= "\udfff":
                parts.append((high + unit).encode("utf-16", "surrogatepass").decode("utf-16"))
                high = ""
            elif "\ud800" <= unit <= "\udbff":
                parts.append(high)
                high = unit
            else:
                parts.append(high + unit)
                high = ""
        self._held, self._high = held, high
        return i, ""


def _place(container: Any, child: Any) -> Any:
    """Where *child*, the last to be put there, is in *container*."""
    if isinstance(container, list):
        return -1
    last = next(reversed(container))
    if container[last] is child:
        return last
    # A key that came twice keeps its first place.
    return next(key for key, value in container.items() if value is child)
