"""
Most frames of a stream differ from the one before in nothing but the text of one delta. This remembers the bytes
around it.

The proof that a frame need not be read: it begins with the same bytes and ends with the same bytes as a frame that was
read and meant nothing but one delta to an open part, and what stands between is exactly one JSON string. Then it means
the same delta with that string. Whatever does not fit is read in full, which is the definition; and whatever was read
in full and was not such a delta makes all templates void, since it may have changed what a delta means.

Some servers vary more than the delta: they say the same text twice, or pad a frame with white space. Those are holes
too: one that must hold the same string, one that must be blank. A dialect may name further fields whose value says nothing, whose number
must rise, or whose number is a running total. Numbers are not lost: before the next frame that is read in full the
dialect catches up with the last one that fitted.
"""

from __future__ import annotations

import sys
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold.events import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolArgumentsDelta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chunkfold.accumulator import StreamAccumulator

__all__ = ["DELTAS", "Template", "Templates"]

DELTAS: Final = frozenset({TextDelta, ReasoningDelta, RefusalDelta, ToolArgumentsDelta})

_BAD = (msgspec.DecodeError, UnicodeDecodeError)
_read_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
_read_strings: Callable[[bytes], list[str]] = msgspec.json.Decoder(list[str]).decode
_write: Callable[[Any], bytes] = msgspec.json.Encoder().encode

# After so many templates of one part that no frame fitted, learning is tried only now and then: some servers vary a
# number in every frame, and looking for what stays costs as much as reading.
_HOPELESS = 8
_NOW_AND_THEN = 64
# Of so many parts at once templates are kept. Models write a handful of calls beside each other.
_KEPT = 32
# Short strings cost ten times their text in memory, so a part's pieces are joined when there are this many.
_MANY = 2048

# What may stand in a hole.
_TEXT, _SAME, _SPACE, _PADDING, _RISING, _RUNNING = range(6)


class _Pattern:
    """Bytes that stay, with holes between them."""

    __slots__ = ("first", "holes", "last", "size")

    def __init__(self, stays: list[bytes], kinds: list[int]) -> None:
        self.first = stays[0]
        self.last = stays[-1]
        # The kind of each hole, and what follows it; nothing for the last, which `last` follows.
        self.holes = list(zip(kinds, [*stays[1:-1], b""], strict=True))
        self.size = sum(map(len, stays))

    @property
    def kinds(self) -> list[int]:
        return [kind for kind, _ in self.holes]

    def framed(self, lead: bytes, trail: bytes) -> _Pattern:
        """The same with the framing around it."""
        stays = [lead + self.first, *(stay for _, stay in self.holes[:-1]), self.last + trail]
        return _Pattern(stays, self.kinds)


class Template:
    """The bytes around the text of a delta, and the part that the delta belongs to."""

    __slots__ = ("builder", "choice", "event", "frame", "index", "is_plain", "is_running", "lead", "read", "trail")

    def __init__(self, event: Any, frame: _Pattern) -> None:
        self.event: Callable[[int, int, str], Event] = type(event)
        self.choice: int = event.choice
        self.index: int = event.index
        self.frame = frame
        # The same with the framing around it, for a read that holds exactly one frame.
        self.read: _Pattern | None = None
        self.lead = self.trail = 0
        self.is_plain = frame.kinds == [_TEXT]
        self.is_running = _RUNNING in frame.kinds
        # Where the accumulator keeps the part; looked up once.
        self.builder: Any = None

    def open(self, accumulator: StreamAccumulator) -> list[Any]:
        """The list that the texts of this part are appended to; whoever asks is about to append."""
        if self.builder is None:
            self.builder = accumulator.sink(self.choice, self.index)
        pieces: list[Any] = self.builder.pieces
        if not pieces:
            self.builder.touch()
        elif len(pieces) > _MANY:
            self.builder.compact()
        return pieces


class Templates:
    """The templates that are in force: one for text, or one for each open tool call."""

    __slots__ = (
        "_by_frame", "_frame_lengths", "_in_vain", "_keys", "_kinds", "_last", "_latest", "_longest", "_read_lengths",
        "_risen", "_tries", "by_read", "taken",
    )  # fmt: skip

    def __init__(self, frame_bytes: int | None = None) -> None:
        # A longer read is left to the framing, which knows what to say about it.
        self._longest = frame_bytes if frame_bytes is not None else sys.maxsize
        self._keys: tuple[bytes, ...] = ()
        self._kinds: tuple[tuple[bytes, int], ...] = ()
        self._tries = 0
        # How many frames fitted in `follow` and `swallow`; whoever called takes the number and sets it back.
        self.taken = 0
        # By part, how many templates were made since one fitted.
        self._in_vain: dict[tuple[int, int], int] = {}
        # By part, the frame that the last template was made from.
        self._last: dict[tuple[int, int], bytes] = {}
        # Templates by the bytes before their first hole.
        self._by_frame: dict[bytes, list[Template]] = {}
        self.by_read: dict[bytes, list[Template]] = {}
        self._frame_lengths: tuple[int, ...] = ()
        self._read_lengths: tuple[int, ...] = ()
        # The number that the next rising one must pass, and the last frame whose numbers were not looked at.
        self._risen = -1
        self._latest: tuple[bytes, Template | None] | None = None

    def use(
        self,
        delta: tuple[str, ...],
        padding: tuple[str, ...] = (),
        rising: tuple[str, ...] = (),
        running: tuple[str, ...] = (),
    ) -> None:
        """Set the fields that may vary, as the dialect names them; without any for the delta no templates are made."""
        self._keys = tuple(b'"%b":' % key.encode() for key in delta)
        kinds = ((padding, _PADDING), (rising, _RISING), (running, _RUNNING))
        self._kinds = tuple((b'"%b":' % key.encode(), kind) for keys, kind in kinds for key in keys)

    @property
    def is_in_force(self) -> bool:
        """True if a frame may fit a template."""
        return bool(self._by_frame)

    def clear(self) -> None:
        """Something happened that was no plain delta."""
        if self._by_frame:
            self._by_frame = {}
            self.by_read = {}
            self._frame_lengths = self._read_lengths = ()

    def hit(self) -> None:
        """A template fitted: learning is worth while."""
        if self._in_vain:
            self._in_vain = {}

    def latest(self) -> bytes | None:
        """The last frame that fitted and whose numbers the dialect has not seen, once."""
        if self._latest is None:
            return None
        (data, template), self._latest = self._latest, None
        return data if template is None else data[template.lead : len(data) - template.trail]

    # Making templates

    def learn(self, event: Any, data: bytes, read: bytes | None) -> None:
        """Remember the frame *data* that meant *event*, and the whole *read* if it held nothing else."""
        self._tries += 1
        part = (event.choice, event.index)
        vain = self._in_vain.get(part, 0)
        if vain > _HOPELESS and self._tries % _NOW_AND_THEN:
            self.clear()
            return
        self._in_vain[part] = vain + 1
        # What varies beside the text shows when the frame after one that was remembered does not fit.
        before = self._last.get(part)
        if before is None and len(self._last) >= _KEPT:
            self.clear()
            self._last = {}
        self._last[part] = data
        pattern = self._pattern_of(event.text, data, before)
        if pattern is None:
            self.clear()
            return
        if event.type != "tool_arguments_delta" or not self._are_calls():
            self.clear()
        template = Template(event, pattern)
        _put(self._by_frame, pattern.first, template)
        self._frame_lengths = tuple({len(first) for first in self._by_frame})
        if read is not None:
            template.lead = read.find(data)
            template.trail = len(read) - template.lead - len(data)
            template.read = pattern.framed(read[: template.lead], read[template.lead + len(data) :])
            _put(self.by_read, template.read.first, template)
            self._read_lengths = tuple({len(known) for known in self.by_read})

    def _are_calls(self) -> bool:
        """True if all templates are of tool calls, which go on beside each other."""
        return all(known.event is ToolArgumentsDelta for group in self._by_frame.values() for known in group)

    def _pattern_of(self, text: str, data: bytes, before: bytes | None) -> _Pattern | None:
        """What stays in *data*, whose delta is *text*, after the frame *before*; `None` if that cannot be told."""
        literal = _write(text)
        # Where nothing else is escaped, no other string can be the same text in another spelling.
        if data.count(b"\\") != literal.count(b"\\") * data.count(literal):
            return None
        holes: list[tuple[int, int, int]] = []
        at = data.find(literal)
        while at >= 0:
            # The same string under a key of something else: it cannot be told which of them is the delta.
            if not data[:at].rstrip(b" ").endswith(self._keys):
                return None
            holes.append((at, at + len(literal), _SAME if holes else _TEXT))
            at = data.find(literal, at + len(literal))
        if not holes:
            return None
        padded = data.rstrip(b"}\n ")
        blank = data.rfind(b" ") + 1
        if blank > len(padded):
            start = len(data[:blank].rstrip(b" "))
            holes.append((start, blank, _SPACE))
        for key, kind in self._kinds:
            hole = _hole(data, key, kind)
            if kind == _RISING and hole is not None:
                self._risen = int(data[hole[0] : hole[1]])
            elif kind == _RISING and key in data:
                return None
            elif hole is None or before is None or _value(before, key, kind) in (None, data[hole[0] : hole[1]]):
                continue
            if hole is not None:
                holes.append(hole)
        holes.sort()
        edges = [0, *(edge for start, end, _ in holes for edge in (start, end)), len(data)]
        stays = [data[edges[place] : edges[place + 1]] for place in range(0, len(edges), 2)]
        # Two holes with nothing to tell them apart cannot be.
        return _Pattern(stays, [kind for _, _, kind in holes]) if all(stays) else None

    # Using them

    def find(self, data: bytes) -> tuple[Template, str] | None:
        """The template that frame *data* fits, and its text."""
        for length in self._frame_lengths:
            for template in self._by_frame.get(data[:length], ()):
                if data.endswith(template.frame.last):
                    text = self._fit(template, template.frame, data)
                    if text:
                        if not template.is_plain:
                            self._latest = (data, None)
                        return template, text
        return None

    def find_read(self, read: bytes) -> tuple[Template, str] | None:
        """The template that the whole *read* fits, and its text."""
        if len(read) > self._longest:
            return None
        for length in self._read_lengths:
            for template in self.by_read.get(read[:length], ()):
                pattern = template.read
                if pattern is not None and read.endswith(pattern.last):
                    text = self._fit(template, pattern, read)
                    if text:
                        if not template.is_plain:
                            self._latest = (read, template)
                        return template, text
        return None

    def _fit(self, template: Template, pattern: _Pattern, data: bytes) -> str | None:
        """The text of *data*, if every hole holds what it may."""
        at = len(pattern.first)
        try:
            if template.is_plain:
                return _read_string(data[at : len(data) - len(pattern.last)])
            text, literal, risen = "", b"", self._risen
            for kind, stay in pattern.holes:
                end = data.find(stay, at) if stay else len(data) - len(pattern.last)
                value = data[at:end]
                at = end + len(stay)
                if kind == _TEXT:
                    text, literal = _read_string(value), value
                elif kind == _SAME:
                    if value != literal:
                        return None
                elif kind == _SPACE:
                    if value.strip(b" "):
                        return None
                elif kind == _RISING:
                    number = int(value) if value.isdigit() else -1
                    if number <= risen:
                        return None
                    risen = number
                elif not value.isdigit() and not _is_padding(value):
                    return None
        except _BAD:
            return None
        self._risen = risen
        return text

    # Straight into the accumulator, for callers who want no events

    def follow(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """
        Take pieces, each one read, for as long as they fit; the first that does not is returned.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        groups = list(self.by_read.values())
        if len(groups) == 1 and len(groups[0]) == 1 and groups[0][0].is_plain:
            return self._follow_plain(groups[0][0], accumulator, pieces)
        while True:
            piece = next(pieces)
            found = self.find_read(piece) if type(piece) is bytes else None
            if found is None:
                return piece
            template, text = found
            template.open(accumulator).append(text)
            self.taken += 1
            if self._in_vain:
                self.hit()

    def _follow_plain(self, template: Template, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """The loop that most of a long answer goes through."""
        pattern = template.read
        assert pattern is not None  # noqa: S101 - for the type checker: it was found by its read
        before, after, longest = pattern.first, pattern.last, self._longest
        start, end = len(before), -len(after)
        while True:
            texts = template.open(accumulator)
            if template.builder.hidden:  # by policy: what is thrown away cannot be counted
                return next(pieces)
            append, had = texts.append, len(texts)
            try:
                for piece in islice(pieces, _MANY):
                    if type(piece) is not bytes or not piece.startswith(before) or not piece.endswith(after):
                        return piece
                    if len(piece) > longest:
                        return piece
                    try:
                        text = _read_string(piece[start:end])
                    except _BAD:
                        return piece
                    if not text:
                        return piece
                    append(text)
            finally:
                self.taken += len(texts) - had
            if len(texts) - had < _MANY:
                raise StopIteration
            self.hit()

    def swallow(self, accumulator: StreamAccumulator, data: bytes) -> int:
        """
        Take the frames at the beginning of *data*, which holds many, for as long as they fit one template. Their
        strings are read in one go.

        Returns:
            How many bytes were taken.
        """
        for length in self._read_lengths:
            for template in self.by_read.get(data[:length], ()):
                pattern = template.read
                if pattern is not None and template.is_plain and pattern.last.endswith(b"\n"):
                    return self._swallow(template, pattern, accumulator, data) if len(data) <= self._longest else 0
        return 0

    def _swallow(self, template: Template, pattern: _Pattern, accumulator: StreamAccumulator, data: bytes) -> int:
        # Cut at line ends, since searching for one byte is several times as fast as for two.
        lines = data.split(b"\n")
        fixed = (pattern.first + pattern.last).split(b"\n")[:-1]
        size = len(fixed)
        many = (len(lines) - 1) // size
        place = pattern.first.count(b"\n")
        for other in range(size):
            if other != place:
                many = _equal(lines[other : many * size : size], fixed[other])
        before, after = pattern.first.rpartition(b"\n")[2], pattern.last.partition(b"\n")[0]
        start, end = len(before), -len(after) or None
        held = lines[place : many * size : size]
        literals = [line[start:end] for line in held if line.startswith(before) and line.endswith(after)]
        if len(literals) != len(held):
            fits = (line.startswith(before) and line.endswith(after) for line in held)
            del literals[next(number for number, fit in enumerate(fits) if not fit) :]
        texts = _strings(literals)
        if not texts:
            return 0
        template.open(accumulator).extend(texts)
        self.taken += len(texts)
        self.hit()
        return sum(map(len, literals)) + len(literals) * pattern.size


def _put(groups: dict[bytes, list[Template]], first: bytes, template: Template) -> None:
    """Add *template*, instead of one of the same part and the same bytes."""
    group = groups.setdefault(first, [])
    same = (template.choice, template.index)
    group[:] = [known for known in group if (known.choice, known.index) != same]
    group.append(template)


def _hole(data: bytes, key: bytes, kind: int) -> tuple[int, int, int] | None:
    """Where the value of *key* stands in *data*; `None` if it is not there once, or is nothing that may vary."""
    start = data.find(key)
    if start < 0 or data.find(key, start + 1) >= 0:
        return None
    start += len(key)
    while data[start : start + 1] == b" ":
        start += 1
    end = start
    if data[start : start + 1] == b'"':
        end = data.find(b'"', start + 1) + 1
        return (start, end, kind) if end and kind == _PADDING else None
    while data[end : end + 1].isdigit() or (kind == _PADDING and data[end : end + 1] == b"."):
        end += 1
    if start == end or data[end : end + 1] not in (b",", b"}", b" ", b"]"):
        return None
    # A 0 may still stand for "not known yet".
    return None if kind == _PADDING and not data[start:end].strip(b"0.") else (start, end, kind)


def _value(data: bytes, key: bytes, kind: int) -> bytes | None:
    hole = _hole(data, key, kind)
    return None if hole is None else data[hole[0] : hole[1]]


def _is_padding(value: bytes) -> bool:
    """True if *value* is one string, or a decimal number."""
    if value[:1] != b'"':
        return value.replace(b".", b"0", 1).isdigit() and value[-1:] != b"."
    if value[1:-1].isalnum() and value[-1:] == b'"':
        return True
    _read_string(value)
    return True


def _strings(literals: list[bytes]) -> list[str] | None:
    """The strings that *literals* are, if each is exactly one and none is empty."""
    try:
        # A string holds no line end, so that what is open at the end of one literal cannot be closed in the next.
        texts = _read_strings(b"[" + b"\n,".join(literals) + b"]")
    except _BAD:
        return None
    return texts if len(texts) == len(literals) and all(texts) else None


def _equal(lines: list[bytes], line: bytes) -> int:
    """How many of *lines*, from the first on, are equal to *line*."""
    if lines.count(line) == len(lines):
        return len(lines)
    return next(number for number, other in enumerate(lines) if other != line)
