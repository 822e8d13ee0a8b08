"""
For frames that are alike in what they say and not in their bytes: keys in another order each time, padding, numbers
that rise, running totals, one text told twice, fields that are kept as they come last.

A shape is a frame that was read in full and meant one delta, made into a type: what stays is a literal of that type,
what may vary is a hole in it. Frames are decoded straight into it, and the decoder refuses all that is not of the type,
so that decoding is the proof. The index of a call may vary too: it tells which of the calls that were met is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import chain, islice, takewhile
from operator import attrgetter
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from chunkfold.likeness.deltas import MANY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from chunkfold.events import Extra

__all__ = ["ADDRESS", "PADDING", "RISING", "RUNNING", "TEXT", "Path", "Shape", "places_of"]

# What keys may say of their values, and further kinds of holes.
TEXT, PADDING, RISING, RUNNING, ADDRESS = range(5)
_SAME, _EXACT, _KEPT = 5, 6, 7
_TYPES: Final[dict[int, Any]] = {TEXT: str, _SAME: str, RISING: int, RUNNING: int, ADDRESS: int, _EXACT: Any}
# A number that is whole need not stay so, and an object may be deeper than the last.
_KEPT_TYPES: Final[dict[type, Any]] = {int: int | float, float: int | float, str: str}
# Nothing has to be compared where these stand.
_FREE = (PADDING, RUNNING, _KEPT)

_BAD = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_to_plain: Callable[[Any], Any] = msgspec.to_builtins
_from_json: Callable[[bytes], Any] = msgspec.json.Decoder().decode
# Frames with more values are read as they are.
_MANY = 100
_INT_MAX = 1 << 63
_LF, _CR = 0x0A, 0x0D

Path = tuple[str | int, ...]
NOTHING_KEPT: Final[Mapping[Path, Path]] = MappingProxyType({})


class Shape:
    """
    The type of a frame.

    Args:
        payload: What the frame said.
        text: The text of the delta that it meant.
        kinds: What the dialect says of keys.
        has_address: The delta was to a call.
        kept: The fields that were kept as they came, of which only the latest value counts, and where they were kept.

    Raises:
        ValueError: If no type can be made of *payload*, or it cannot be told where in it *text* is.

    """

    __slots__ = (
        "_decode_many", "_get_kept", "_get_usage", "_holes", "_type", "decode", "fixed", "frame", "get", "in_vain",
        "is_addressed", "is_counted", "is_numbered", "is_simple", "is_stateful", "is_told_again", "keeps", "key_count",
        "lead", "number", "seen", "targets", "tells", "texts", "trail", "usage", "usage_path",
    )  # fmt: skip

    def __init__(
        self,
        payload: dict[str, Any],
        text: str,
        kinds: Mapping[str, int],
        *,
        has_address: bool,
        kept: Mapping[Path, Path] = NOTHING_KEPT,
    ) -> None:
        # What a delta belongs to, by the indexes in it. While there is none the shape is out of force.
        self.targets: dict[Any, Any] = {}
        # The framing around the frame, where it was a read of its own.
        self.lead: bytes | None = None
        self.trail = b""
        # How many frames were of this shape, and how many in a row were not.
        self.seen = self.in_vain = 0
        # The texts of those that were followed.
        self.texts: list[str] = []
        # Of the last frame: its rising number, itself as it was decoded, and its running totals as JSON, if these are
        # newer.
        self.number = -1
        self.frame: Any = None
        self.usage: bytes | None = None
        self.key_count = _key_count(payload)
        holes = _holes(payload, text, kinds, kept, has_address=has_address)
        self._type = _type_of(payload, (), {path: _hole_type(kind, value) for path, kind, value in holes})
        self.decode: Callable[[bytes], Any] = msgspec.json.Decoder(self._type).decode
        self._decode_many: Callable[[bytes], list[tuple[Any]]] | None = None
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
        # The text stands in several places, as Together and OpenRouter send it.
        self.is_told_again = bool(self._holes) and all(kind == _SAME for kind, _ in self._holes)
        self.is_numbered = any(kind == RISING for kind, _ in self._holes)
        usages = {_usage_path(path, kinds) for path, kind, _ in holes if kind == RUNNING}
        if len(usages) > 1:
            raise ValueError("several usages")
        self.usage_path: Path = usages.pop() if usages else ()
        self._get_usage = attrgetter(_attributes(payload, self.usage_path)) if self.usage_path else None
        # Where fields are kept as they came last.
        self.keeps = tuple(kept.values())
        self._get_kept = [attrgetter(_attributes(payload, path)) for path in kept]
        # The dialect is to be told more of the last frame than its text.
        self.tells = bool(self._get_usage or kept)
        # More has to be noted of a frame than its text.
        self.is_stateful = self.is_numbered or self.tells

    @property
    def is_running(self) -> bool:
        """True if there are running totals in it."""
        return self._get_usage is not None

    def learn_framing(self, data: bytes, read: bytes) -> None:
        """The frame *data* is of this shape and came in a *read* of its own."""
        if data in read:
            self.lead, _, self.trail = read.partition(data)

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
        self.frame, self.usage = frame, None
        return address, text

    def follow(self, accumulator: Any, pieces: Iterator[Any], number: int, longest: int) -> Any:
        """
        Take *pieces*, at most `MANY`, for as long as they are of this shape, numbered from *number* on if they are, and
        their text is of the one part that was met; the first that does not fit is returned. What was taken is in
        `texts`.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        ((address, target),) = self.targets.items()
        texts = target.open(accumulator)
        self.texts = []
        if target.builder.hidden or self.lead is None:  # by policy: what is thrown away cannot be counted
            return next(pieces)
        lead, trail = self.lead, self.trail
        start, end = len(lead), -len(trail) or None
        is_numbered, fixed = self.is_numbered, (address,) if self.is_addressed else self.fixed
        is_more = self.is_counted or self.is_told_again or bool(fixed)
        is_quick, is_counted = self.is_simple or is_more, self.is_counted
        decode, get, read = self.decode, self.get, self.read
        append, had = texts.append, len(texts)
        risen, frame = number - 1, None
        try:
            for piece in islice(pieces, MANY):
                if type(piece) is not bytes or not piece.startswith(lead) or not piece.endswith(trail):
                    return piece
                data = piece[start:end]
                if _LF in data or _CR in data or len(piece) > longest:
                    return piece
                if is_quick:
                    try:
                        decoded = decode(data)
                    except _BAD:
                        return piece
                    text = get(decoded)
                    if is_more:
                        if fixed:
                            if text[1:] != fixed:
                                return piece
                            text = text[0]
                        elif is_counted:
                            text, number = text
                            if number != risen + 1:
                                return piece
                            risen = number
                        else:
                            if text.count(text[0]) != len(text):
                                return piece
                            text = text[0]
                    if not text:
                        return piece
                    frame = decoded
                else:
                    found = read(data, risen)
                    if found is None or found[0] != address or (is_numbered and self.number != risen + 1):
                        return piece
                    text = found[1]
                    risen += is_numbered
                append(text)
        finally:
            self.number = risen
            self.texts = texts[had:]
            if frame is not None:
                self.frame, self.usage = frame, None
        if len(self.texts) < MANY:
            raise StopIteration
        return next(pieces)

    @property
    def may_take_many(self) -> bool:
        """True if all of several reads may be of this shape, and it can be told at once."""
        is_quick = self.is_simple or self.is_counted or self.is_addressed or self.is_told_again or bool(self.fixed)
        return self.lead is not None and is_quick

    def take_many(self, accumulator: Any, pieces: list[bytes], joined: bytes, number: int) -> int:
        """
        Take *pieces*, which are *joined* together, if all of them are of this shape, of the one part that was met, and
        numbered from *number* on: how many; else none. What was taken is in `texts`.
        """
        self.texts = []
        ((address, target),) = self.targets.items()
        lead, trail = self.lead or b"", self.trail
        start, end = len(lead), -len(trail) or None
        frames = [piece[start:end] for piece in pieces]
        if lead + (trail + lead).join(frames) + trail != joined:
            return 0
        self.texts = self._texts_of(frames, address, number)
        if self.texts:
            target.open(accumulator).extend(self.texts)
        return len(self.texts)

    def _texts_of(self, frames: list[bytes], address: Any, number: int) -> list[str]:
        """The texts of *frames*, if all are of this shape, at that address and numbered from *number* on; else none."""
        # Each is in a list of its own and on a line of its own: what one leaves open the next cannot close.
        held = b"[[" + b"]\n,[".join(frames) + b"]]"
        if held.count(b"\n") >= len(frames) or _CR in held:
            return []
        if self._decode_many is None:
            self._decode_many = msgspec.json.Decoder(list[tuple[self._type]]).decode  # type: ignore[name-defined]
        try:
            decoded = [*chain.from_iterable(self._decode_many(held))]
        except _BAD:
            return []
        found: Sequence[Any] = [*map(self.get, decoded)]
        if len(found) != len(frames):
            return []
        if not self.is_simple:
            found, *others = zip(*found, strict=True)
            wanted = (address,) if self.is_addressed else self.fixed
            if self.is_counted:
                if others[0] != tuple(range(number, number + len(found))):
                    return []
            elif self.is_told_again:
                if any(texts != found for texts in others):
                    return []
            elif any(values.count(value) != len(values) for values, value in zip(others, wanted, strict=True)):
                return []
        if not all(found):
            return []
        self.number = number + len(found) - 1 if self.is_counted else self.number
        self.frame, self.usage = decoded[-1], None
        return list(found)

    @property
    def may_take(self) -> bool:
        """True if nothing has to be noted of frames of this shape but their texts, and what they add can be counted."""
        if self.is_stateful or not (self.is_simple or self.is_addressed):
            return False
        builders = [target.builder for target in self.targets.values()]
        if any(builder is None or builder.hidden for builder in builders):
            return False
        # What is added is counted by how the parts grow.
        return len(set(map(id, builders))) == len(builders)

    def take(self, accumulator: Any, frames: Iterator[bytes]) -> int:
        """
        Take *frames* for as long as they are of this shape: how many. To ask for the next one says that the one before
        was taken. Most of a long answer goes through here whose frames are not reads of their own.
        """
        found = map(self.get, map(self.decode, frames))
        taken, more = 0, True
        while more:
            sinks = {address: target.open(accumulator) for address, target in self.targets.items()}
            had = sum(map(len, sinks.values()))
            try:
                if self.is_simple:
                    sinks[None].extend(takewhile(bool, islice(found, MANY)))
                else:
                    _add_to_each(sinks, islice(found, MANY))
            except _BAD:
                more = False
            count = sum(map(len, sinks.values())) - had
            taken += count
            more = more and count == MANY
        return taken

    def totals(self) -> Any:
        """The object with the running totals, as the last frame has it."""
        if self.usage is not None:
            return _from_json(self.usage)
        return _to_plain(self._get_usage(self.frame)) if self._get_usage is not None else None

    def kept(self) -> Iterator[tuple[Path, Any]]:
        """The fields that are kept as they came last, as the last frame has them."""
        return zip(self.keeps, [get(self.frame) for get in self._get_kept], strict=True)


def places_of(
    extras: Sequence[Extra], payload: dict[str, Any], may_vary: Callable[[Path], bool]
) -> dict[Path, Path] | None:
    """
    Where in *payload* the fields are that were kept as they came, and where they were kept. `None` if it cannot be told
    of one, or if one may not vary.
    """
    leaves: dict[str | int, list[tuple[Path, Any]]] = {}
    for path, leaf in _leaves(payload, ()):
        leaves.setdefault(path[-1], []).append((path, leaf))
    places: dict[Path, Path] = {}
    for extra in extras:
        kind, value, named = type(extra.value), extra.value, leaves.get(extra.path[-1], ())
        found = [path for path, leaf in named if type(leaf) is kind and leaf == value]
        if kind not in _KEPT_TYPES or len(found) != 1 or found[0] in places or not may_vary(found[0]):
            return None
        places[found[0]] = extra.path
    return places


def _add_to_each(sinks: dict[Any, list[str]], more: Iterator[tuple[str, int]]) -> None:
    """Add texts where they belong, until one is empty or belongs elsewhere."""
    get = {address: texts.append for address, texts in sinks.items()}.get
    for text, address in more:
        append = get(address)
        if append is None or not text:
            return
        append(text)


def _holes(
    payload: dict[str, Any], text: str, kinds: Mapping[str, int], kept: Mapping[Path, Path], *, has_address: bool
) -> list[tuple[Path, int, Any]]:
    """The values that may vary: where they are, how, and what they were. The text is the first one."""
    holes = []
    for number, (path, value) in enumerate(_leaves(payload, ())):
        if number > _MANY:
            raise ValueError("too many values")
        kind = _KEPT if path in kept else _kind(path, value, text, kinds, has_address=has_address)
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
    if kind == _KEPT:
        return _KEPT_TYPES[type(value)]
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
        types = tuple([_type_of(item, (*path, key), holes) for key, item in items])
        # What is inside is the same in the next stream, but for its numbers; the ids stand at the top.
        make = _struct_of if path else _struct_of.__wrapped__
        return make(tuple(value) if isinstance(value, dict) else None, types)
    return None if value is None else Literal[value]


@lru_cache(maxsize=256)
def _struct_of(keys: tuple[str, ...] | None, types: tuple[Any, ...]) -> type[msgspec.Struct]:
    """The type of an object with those *keys*, or of a list, and what is in it. It takes as long as to read a frame."""
    names = [f"f{place}" for place in range(len(types))]
    return msgspec.defstruct(
        "Shape",
        list(zip(names, types, strict=True)),
        rename=None if keys is None else dict(zip(names, keys, strict=True)),
        forbid_unknown_fields=True,
        array_like=keys is None,
        gc=False,
    )


def _attributes(payload: Any, path: Path) -> str:
    """Where in a decoded frame the value at *path* of the payload is."""
    names = []
    value = payload
    for step in path:
        place = list(value).index(step) if isinstance(value, dict) else step
        names.append(f"f{place}")
        value = value[step]
    return ".".join(names)
