"""
For frames that are alike in what they say and not in their bytes: keys in another order each time, padding, numbers
that rise, running totals, one text told twice.

A shape is a frame that was read in full and meant one delta, made into a type: what stays is a literal of that type,
what may vary is a hole in it. Frames are decoded straight into it, and the decoder refuses all that is not of the type,
so that decoding is the proof. The index of a call may vary too: it tells which of the calls that were met is meant.
"""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["ADDRESS", "PADDING", "RISING", "RUNNING", "TEXT", "Shape"]

# What keys may say of their values, and further kinds of holes.
TEXT, PADDING, RISING, RUNNING, ADDRESS = range(5)
_SAME, _EXACT = 5, 6
_TYPES: Final[dict[int, Any]] = {TEXT: str, _SAME: str, RISING: int, RUNNING: int, ADDRESS: int, _EXACT: Any}
# Nothing has to be compared where these stand.
_FREE = (PADDING, RUNNING)

_BAD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_to_plain: Callable[[Any], Any] = msgspec.to_builtins
_from_json: Callable[[bytes], Any] = msgspec.json.Decoder().decode
# Frames with more values are read as they are.
_MANY = 100
_INT_MAX = 1 << 63
_LF, _CR = 0x0A, 0x0D

Path = tuple[str | int, ...]


class Shape:
    """
    The type of a frame.

    Args:
        payload: What the frame said.
        text: The text of the delta that it meant.
        kinds: What the dialect says of keys.
        has_address: The delta was to a call.

    Raises:
        ValueError: If no type can be made of *payload*, or it cannot be told where in it *text* is.

    """

    __slots__ = (
        "_get_usage", "_holes", "decode", "fixed", "get", "in_vain", "is_addressed", "is_counted", "is_numbered",
        "is_simple", "is_stateful", "key_count", "lead", "number", "seen", "targets", "trail", "usage", "usage_path",
    )  # fmt: skip

    def __init__(self, payload: dict[str, Any], text: str, kinds: Mapping[str, int], *, has_address: bool) -> None:
        # What a delta belongs to, by the indexes in it. While there is none the shape is out of force.
        self.targets: dict[Any, Any] = {}
        # The framing around the frame, where it was a read of its own.
        self.lead: bytes | None = None
        self.trail = b""
        # How many frames were of this shape, and how many in a row were not.
        self.seen = self.in_vain = 0
        # Of the last frame: its rising number, and what has its running totals: decoded or as JSON.
        self.number = -1
        self.usage: Any = None
        self.key_count = _key_count(payload)
        holes = _holes(payload, text, kinds, has_address=has_address)
        made = _type_of(payload, (), {path: _hole_type(kind, value) for path, kind, value in holes})
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(made).decode
        compared = [hole for hole in holes if hole[1] not in _FREE]
        self.get: Callable[[Any], Any] = attrgetter(*[_attributes(payload, path) for path, _, _ in compared])
        self._holes = [(kind, value) for _, kind, value in compared[1:]]
        # Nothing has to be compared: the text is all that is got.
        self.is_simple = not self._holes
        # What has to be found beside the text, if it is nothing but truth values: they cannot be literals of a type.
        self.fixed = tuple([value for kind, value in self._holes if kind == _EXACT and type(value) is bool])
        if len(self.fixed) < len(self._holes):
            self.fixed = ()
        self.is_counted = [kind for kind, _ in self._holes] == [RISING]
        self.is_addressed = [kind for kind, _ in self._holes] == [ADDRESS]
        self.is_numbered = any(kind == RISING for kind, _ in self._holes)
        usages = {_usage_path(path, kinds) for path, kind, _ in holes if kind == RUNNING}
        if len(usages) > 1:
            raise ValueError("several usages")
        self.usage_path: Path = usages.pop() if usages else ()
        self._get_usage = attrgetter(_attributes(payload, self.usage_path)) if self.usage_path else None
        # More has to be noted of a frame than its text.
        self.is_stateful = self.is_numbered or self._get_usage is not None

    @property
    def is_running(self) -> bool:
        """True if there are running totals in it."""
        return self._get_usage is not None

    def frame_in(self, read: bytes) -> bytes | None:
        """The frame that *read* is, if it has the same framing around it."""
        lead, trail = self.lead, self.trail
        if lead is None or not read.startswith(lead) or not read.endswith(trail):
            return None
        data = read[len(lead) : len(read) - len(trail)]
        # One byte is found many times faster as a number.
        return None if _LF in data or _CR in data else data

    def fit(self, data: bytes, risen: int) -> tuple[Any, str] | None:
        """
        What the delta of frame *data* belongs to, and its text, if *data* is of this shape, what it belongs to was met,
        and its number, if it has one, passes *risen*.
        """
        found = self.read(data, risen)
        if found is None:
            return None
        target = self.targets.get(found[0])
        return None if target is None else (target, found[1])

    def read(self, data: bytes, risen: int) -> tuple[Any, str] | None:
        """The indexes in *data* and its text."""
        try:
            frame = self.decode(data)
        except _BAD:
            return None
        found = self.get(frame)
        address = None
        if self.is_simple:
            text = found
        elif self.is_counted:
            text, number = found
            if number <= risen:
                return None
            self.number = number
        else:
            text = found[0]
            place = 1
            for kind, known in self._holes:
                value = found[place]
                place += 1
                if kind == RISING:
                    if value <= risen:
                        return None
                    self.number = value
                elif kind == _SAME:
                    if value != text:
                        return None
                elif kind == ADDRESS:
                    address = value if address is None else (address, value)
                elif type(value) is not type(known) or value != known:
                    return None
        if not text:
            return None
        if self._get_usage is not None:
            self.usage = self._get_usage(frame)
        return address, text

    def keep_totals(self, frame: Any) -> None:
        """Keep the totals of a decoded frame."""
        if self._get_usage is not None:
            self.usage = self._get_usage(frame)

    def totals(self) -> Any:
        """The object with the running totals, as the last frame has it."""
        return _from_json(self.usage) if type(self.usage) is bytes else _to_plain(self.usage)


def _holes(
    payload: dict[str, Any], text: str, kinds: Mapping[str, int], *, has_address: bool
) -> list[tuple[Path, int, Any]]:
    """The values that may vary: where they are, how, and what they were. The text is the first one."""
    holes = []
    for number, (path, value) in enumerate(_leaves(payload, ())):
        if number > _MANY:
            raise ValueError("too many values")
        kind = _kind(path, value, text, kinds, has_address=has_address)
        if kind is not None:
            holes.append((path, kind, value))
    texts = [place for place, (_, kind, _) in enumerate(holes) if kind == TEXT]
    if not texts:
        raise ValueError("no text")
    first = holes.pop(texts[0])
    return [first, *[(path, _SAME if kind == TEXT else kind, value) for path, kind, value in holes]]


def _leaves(value: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The values in *value* that hold no others, and where they are."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            yield from _leaves(item, (*path, place))
    else:
        yield path, value


def _key_count(value: Any) -> int:
    """How many keys there are in *value*."""
    if isinstance(value, dict):
        return len(value) + sum(map(_key_count, value.values()))
    return sum(map(_key_count, value)) if isinstance(value, list) else 0


def _kind(path: Path, value: Any, text: str, kinds: Mapping[str, int], *, has_address: bool) -> int | None:
    """How a value may vary; `None` if it stays."""
    if value is None:
        return None
    key = path[-1]
    said = kinds.get(key) if isinstance(key, str) else None
    kind = type(value)
    if kind is str and value == text:
        if said != TEXT:
            raise ValueError("the text stands under a key of something else too")
        return TEXT
    if said == PADDING and len(path) == 1 and value and kind is not bool:
        # An empty value may stand for "not known yet".
        return PADDING
    if kind is str:
        return None
    if kind is not int:
        return _EXACT
    if said == RISING and len(path) == 1:
        return RISING
    if _usage_path(path, kinds):
        return RUNNING
    if said == ADDRESS and has_address:
        return ADDRESS
    return None if -_INT_MAX < value < _INT_MAX else _EXACT


def _hole_type(kind: int, value: Any) -> Any:
    """The type of what may stand in a hole."""
    return bool if kind == _EXACT and type(value) is bool else _TYPES.get(kind, type(value))


def _usage_path(path: Path, kinds: Mapping[str, int]) -> Path:
    """The path of the object with running totals that *path* leads through; empty if there is none."""
    for size in (1, 2):
        if len(path) > size and kinds.get(".".join(map(str, path[:size]))) == RUNNING:
            return path[:size]
    return ()


def _type_of(value: Any, path: Path, holes: dict[Path, Any]) -> Any:
    if path in holes:
        return holes[path]
    if isinstance(value, (dict, list)):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        fields = [(f"f{place}", _type_of(item, (*path, key), holes)) for place, (key, item) in enumerate(items)]
        names = {f"f{place}": key for place, key in enumerate(value)} if isinstance(value, dict) else None
        return msgspec.defstruct(
            "Shape", fields, rename=names, forbid_unknown_fields=True, array_like=isinstance(value, list), gc=False
        )
    return None if value is None else Literal[value]


def _attributes(payload: Any, path: Path) -> str:
    """Where in a decoded frame the value at *path* of the payload is."""
    names = []
    value = payload
    for step in path:
        place = list(value).index(step) if isinstance(value, dict) else step
        names.append(f"f{place}")
        value = value[step]
    return ".".join(names)
