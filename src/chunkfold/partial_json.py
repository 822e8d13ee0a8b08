"""
JSON read while it arrives: any pieces of text in, the value so far out at any time.

The text is read once, by a machine that can stop between any two characters; what has been read is
never looked at again. Its steps are the tables at the end: by state and character the method that reads
on. Three things make that cheap where pieces are a few characters long:

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

from collections.abc import Callable, Sequence
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar, overload

from msgspec import UNSET, Struct

from chunkfold.basis._json_numbers import NUMBER_ENDS, NUMBER_SO_FAR, NUMBER_STATES, integer
from chunkfold.basis._json_strings import Unescaper, WrongCharacter
from chunkfold.basis._wording import described

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


# What the next character belongs to. The order matters: strings, numbers and literals that have begun come first, and
# of these the strings that are values; the states in which nothing more is read come last.
_TEXT, _NAME = 0, 2  # inside a string that is a value, or a key
_HELD = 1  # is added to both while the unescaper holds something back
_TEXT_HELD = _TEXT | _HELD
_NUMBER, _LITERAL = 4, 5
_VALUE, _FIRST_VALUE = 6, 7  # a value; after "[" the end of the array too
_KEY, _FIRST_KEY = 8, 9  # a key; after "{" the end of the object too
_COLON = 10
_AFTER_MEMBER, _AFTER_ITEM, _AFTER_ALL = 11, 12, 13  # a value is complete: in an object, in an array, the root
_FAILED, _CLOSED = 14, 15

_EXPECTED = {
    _VALUE: "expected a value",
    _FIRST_VALUE: "expected a value or ']'",
    _KEY: "expected a key in double quotes",
    _FIRST_KEY: "expected a key in double quotes or '}'",
    _COLON: "expected ':'",
    _AFTER_MEMBER: "expected ',' or '}'",
    _AFTER_ITEM: "expected ',' or ']'",
    _AFTER_ALL: "expected nothing more",
}

_SPACE = " \t\n\r"
_LITERALS: dict[str, tuple[str, bool | None]] = {"t": ("rue", True), "f": ("alse", False), "n": ("ull", None)}


class PartialJSON(Generic[Event]):
    """
    Reader of one JSON text that is still arriving.

    Call `feed` with each piece, look at `value` whenever you like, and call `close` at the end of the
    text. What is wrong in the text never raises: `error` is set, `value` stays what it was, and
    the rest is ignored.
    """

    __slots__ = (
        "_after",
        "_base",
        "_bases",
        "_cut",
        "_depth",
        "_done",
        "_events",
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
        "_told",
        "_top",
        "_unescaper",
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
        self._after = _AFTER_ALL  # the state behind a value in it
        self._stack: list[Any] = []  # those around it, outermost first
        self._key = ""  # of the value that is expected or open in an object

        self._parts: list[str] = []  # pieces of the open string or number
        self._unescaper = Unescaper()
        self._number = 0  # the state of the open number
        self._rest = ""  # letters missing from the open literal
        self._literal: bool | None = None

        self._path: Path = ()  # of the open value; with the next two kept only for events
        self._base: Path = ()  # of the innermost open container
        self._bases: list[Path] = []
        self._events: list[Any] = []  # what the piece that is read has brought
        self._told = 0  # the parts of the open string that earlier calls returned

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
        return self.error is None and self._state in (_AFTER_ALL, _CLOSED)

    @property
    def open_string(self) -> Path | None:
        """The path of the string in `value` that is not complete; `None` if all strings in it are."""
        if self._state >= _FAILED:
            return self._cut
        if self._state > _TEXT_HELD:
            return None
        path: list[str | int] = []
        if self._stack:
            path.append(self._key if self._after == _AFTER_MEMBER else len(self._top))
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
            TypeError: If *text* is none.
        """
        if not isinstance(text, str):
            raise TypeError(f"feed() takes text, not {described(text)}")
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
            if self._state == _NUMBER and not self._stack and self._number in NUMBER_ENDS:
                events = self._read(" ")  # which ends a number and means nothing else
                self._offset -= 1
            if self._state == _AFTER_ALL:
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
            if self._after == _AFTER_MEMBER:
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
        if state <= _TEXT_HELD:
            parts = self._parts
            if self._joined_parts is not parts:
                self._joined_parts, self._joined_count, self._joined = parts, 0, ""
            joined, self._joined = self._joined, ""
            joined += "".join(parts[self._joined_count :])
            self._joined, self._joined_count = joined, len(parts)
            return joined
        if self._unsure and state == _LITERAL:
            return self._literal
        if self._unsure and state == _NUMBER and (number := NUMBER_SO_FAR.match("".join(self._parts))):
            return float(number[0]) if number[1] else integer(number[0])
        return UNSET

    def _fail(self, position: int, reason: str) -> None:
        self._shown = self._copy()
        self._cut = self.open_string
        self._state = _FAILED
        self.error = JSONFault(position, reason)

    def _read(self, text: str) -> Sequence[Event]:
        """Do what `feed` promises, for any piece."""
        if self._state >= _FAILED:
            return self._ignore(text)
        self._told = len(self._parts)
        i, size, wrong = 0, len(text), None
        try:
            while i < size:
                state = self._state
                if state <= _LITERAL:
                    i = _INSIDE[state](self, text, i)
                elif (c := text[i]) in _SPACE:
                    i += 1
                else:
                    i = _BETWEEN[state].get(c, _REFUSE)(self, text, i)
        except WrongCharacter as character:
            # The exception itself would hold this frame, and with it the whole stream, that holds the exception.
            wrong = character.position, character.reason
        if self._piece is not None and self._state <= _TEXT_HELD:
            self._tell_text()
        if wrong is not None:
            position, reason = wrong
            self._fail(self._offset + position, reason)
        self._offset += size
        events, self._events = self._events, []
        return events

    def _ignore(self, text: str) -> Sequence[Event]:
        if self._state == _CLOSED:
            raise ValueError("feed() after close()")
        self._offset += len(text)
        return ()

    # The steps. Each reads from the character at `i` on, and returns the index behind what it has read.

    def _expect_key(self, text: str, i: int) -> int:
        self._state = _KEY
        return i + 1

    def _expect_value(self, text: str, i: int) -> int:
        self._state = _VALUE
        return i + 1

    def _open_object(self, text: str, i: int) -> int:
        self._open(i, {})
        self._state, self._after = _FIRST_KEY, _AFTER_MEMBER
        return i + 1

    def _open_array(self, text: str, i: int) -> int:
        self._open(i, [])
        self._state, self._after = _FIRST_VALUE, _AFTER_ITEM
        return i + 1

    def _open(self, i: int, container: Any) -> None:
        if len(self._stack) == self._depth:
            raise WrongCharacter(i, f"more than {self._depth} objects and arrays open")
        if self._done is not None:
            self._bases.append(self._base)
            self._base = self._path = self._next_path()
        self._set(container)
        self._stack.append(self._top)
        self._top = container

    def _close(self, text: str, i: int) -> int:
        value = self._top
        self._top = self._stack.pop()
        self._after = _AFTER_MEMBER if type(self._top) is dict else _AFTER_ITEM if self._stack else _AFTER_ALL
        self._state = self._after
        if self._done is not None:
            self._events.append(self._done(self._base, value))
            self._base = self._bases.pop()
        return i + 1

    def _begin_name(self, text: str, i: int) -> int:
        self._state = _NAME
        self._parts = []
        return self._read_string(text, i + 1)

    def _begin_text(self, text: str, i: int) -> int:
        self._state = _TEXT
        self._parts = []
        self._told = 0
        if self._done is not None:
            self._path = self._next_path()
        return self._read_string(text, i + 1)

    def _read_string(self, text: str, i: int) -> int:
        end = text.find('"', i)
        run = text[i:end] if end >= 0 else text[i:]
        if not self._state & _HELD and run.isprintable() and "\\" not in run:
            self._parts.append(run)
            end = i + len(run)
        else:
            end = self._unescaper.read(text, i, self._parts)
            self._state = self._state | _HELD if self._unescaper.holds_back else self._state & ~_HELD
        if end == len(text):
            return end
        string = "".join(self._parts)
        if self._state == _NAME:
            self._key = string
            self._state = _COLON
        else:
            if self._piece is not None:
                self._tell_text()
            self._put(string)
        return end + 1

    def _begin_number(self, text: str, i: int) -> int:
        self._state = _NUMBER
        if self._done is not None:
            self._path = self._next_path()
        self._parts = []
        self._number = 0
        return self._read_number(text, i)

    def _read_number(self, text: str, i: int) -> int:
        start, size, number = i, len(text), self._number
        while i < size and (step := NUMBER_STATES[number].get(text[i])) is not None:
            number = step
            i += 1
        self._number = number
        self._parts.append(text[start:i])
        if i < size:
            self._end_number(text, i)
        return i

    def _end_number(self, text: str, i: int) -> None:
        # Nothing is sure about a number that is followed by what may not follow it.
        if self._number not in NUMBER_ENDS:
            raise WrongCharacter(i, "expected a digit")
        if text[i] not in _SPACE and text[i] not in _BETWEEN[self._after]:
            raise WrongCharacter(i, _EXPECTED[self._after])
        self._put(NUMBER_ENDS[self._number]("".join(self._parts)))

    def _begin_literal(self, text: str, i: int) -> int:
        self._state = _LITERAL
        if self._done is not None:
            self._path = self._next_path()
        self._rest, self._literal = _LITERALS[text[i]]
        return self._read_literal(text, i + 1)

    def _read_literal(self, text: str, i: int) -> int:
        rest = self._rest
        found = text[i : i + len(rest)]
        if not rest.startswith(found):
            same = next(n for n, c in enumerate(found) if c != rest[n])
            raise WrongCharacter(i + same, f"expected {rest[same:]!r}")
        self._rest = rest[len(found) :]
        if not self._rest:
            self._put(self._literal)
        return i + len(found)

    def _refuse(self, text: str, i: int) -> NoReturn:
        raise WrongCharacter(i, _EXPECTED[self._state])

    # Values, and what is told of them

    def _put(self, value: Any) -> None:
        """A string, number or literal is complete."""
        if self._done is not None:
            self._events.append(self._done(self._path, value))
        self._state = self._after
        self._set(value)

    def _set(self, value: Any) -> None:
        if self._after == _AFTER_MEMBER:
            self._top[self._key] = value
        else:
            self._top.append(value)

    def _next_path(self) -> Path:
        """The path of the value that comes next."""
        if not self._stack:
            return ()
        return (*self._base, self._key if self._after == _AFTER_MEMBER else len(self._top))

    def _tell_text(self) -> None:
        """Tell what this call has brought of the open string."""
        if self._piece is not None and (text := "".join(self._parts[self._told :])):
            self._events.append(self._piece(self._path, text))


def _place(container: Any, child: Any) -> Any:
    """Where *child*, the last to be put there, is in *container*."""
    if isinstance(container, list):
        return -1
    last = next(reversed(container))
    if container[last] is child:
        return last
    # A key that came twice keeps its first place.
    return next(key for key, value in container.items() if value is child)


_Step: TypeAlias = Callable[[PartialJSON[Any], str, int], int]

# By state, how a string, number or literal goes on.
_INSIDE: tuple[_Step, ...] = (*[PartialJSON._read_string] * 4, PartialJSON._read_number, PartialJSON._read_literal)

# By state, what may stand between them besides white space, and the step that reads it.
_NAMES: dict[str, _Step] = {'"': PartialJSON._begin_name}
_VALUES: dict[str, _Step] = {
    "{": PartialJSON._open_object,
    "[": PartialJSON._open_array,
    '"': PartialJSON._begin_text,
    **dict.fromkeys(NUMBER_STATES[0], PartialJSON._begin_number),
    **dict.fromkeys(_LITERALS, PartialJSON._begin_literal),
}
_BETWEEN: dict[int, dict[str, _Step]] = {
    _VALUE: _VALUES,
    _FIRST_VALUE: {**_VALUES, "]": PartialJSON._close},
    _KEY: _NAMES,
    _FIRST_KEY: {**_NAMES, "}": PartialJSON._close},
    _COLON: {":": PartialJSON._expect_value},
    _AFTER_MEMBER: {",": PartialJSON._expect_key, "}": PartialJSON._close},
    _AFTER_ITEM: {",": PartialJSON._expect_value, "]": PartialJSON._close},
    _AFTER_ALL: {},
}
_REFUSE: _Step = PartialJSON._refuse
