"""
Most frames of a stream differ from the one before in nothing but the text of one delta. This remembers the bytes
around it.

The proof that a frame need not be read: it begins with the same bytes and ends with the same bytes as a frame that was
read and meant nothing but one delta to an open part, and what stands between is exactly one JSON string. Then it means
the same delta with that string. Where servers vary more than that, a shape has the proof (see `_shapes`). Whatever fits
neither is read in full, which is the definition; and whatever was read in full and was not such a delta puts all of
them out of force, since it may have changed what a delta means.

What frames say beside their text is not lost: before the next one that is read in full the dialect catches up.

With `CHUNKFOLD_SLOW=1` in the environment every frame is read in full.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold.events import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolArgumentsDelta

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chunkfold._counted import Counted
    from chunkfold._shapes import Shape
    from chunkfold._totalled import Totalled
    from chunkfold.accumulator import StreamAccumulator
    from chunkfold.dialects import Dialect
    from chunkfold.framing.aws_eventstream import AlikeMessages

__all__ = ["DELTAS", "Heard", "Target", "Templates", "is_slow"]

DELTAS: Final = frozenset({TextDelta, ReasoningDelta, RefusalDelta, ToolArgumentsDelta})

_BAD = (msgspec.DecodeError, UnicodeDecodeError)
_read_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
_read_strings: Callable[[bytes], list[str]] = msgspec.json.Decoder(list[str]).decode
_write: Callable[[Any], bytes] = msgspec.json.Encoder().encode

_IS_SLOW = os.environ.get("CHUNKFOLD_SLOW", "") not in ("", "0")

# After so many frames in a row that fitted no template of their part a shape is made; that costs some dozen readings.
_SHAPE_AFTER = 2
# The same after so many templates in a row that fitted fewer frames than that, one reading in full being dear.
_WORN_AFTER, _WORN = 4, 32
# After so many, learning is tried only now and then.
_HOPELESS = 8
_NOW_AND_THEN = 64
# After a shape was made so many frames have to come before the next, twice as many if it was in vain.
_SHAPE_COST, _DOUBLINGS = 4, 12
# A shape that so many frames in a row were not of is given up.
_PATIENCE = 16
# Of so many parts at once templates are kept, and so many of each. Models write a handful of calls beside each other.
_KEPT, _FORMS = 32, 3
_SHAPES = 4
# Short strings cost ten times their text in memory, so a part's pieces are joined when there are this many, and the
# dialect is told of what it has not heard.
_MANY = 2048
_LF, _CR = 0x0A, 0x0D


def is_slow() -> bool:
    """True if every frame is to be read in full."""
    return _IS_SLOW


class Target:
    """What a delta belongs to."""

    __slots__ = ("builder", "choice", "event", "index", "is_call", "part", "payload")

    def __init__(self, event: Any, payload: dict[str, Any]) -> None:
        self.payload = payload
        """A payload that said such a delta."""
        self.event: Callable[[int, int, str], Event] = type(event)
        self.choice: int = event.choice
        self.index: int = event.index
        self.part = (self.choice, self.index)
        self.is_call = self.event is ToolArgumentsDelta
        # Where the accumulator keeps the part; looked up once.
        self.builder: Any = None

    def is_of(self, event: Any) -> bool:
        """True if *event* belongs to the same."""
        return type(event) is self.event and event.index == self.index and event.choice == self.choice

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


class Heard:
    """Deltas of frames that were not read in full, in a row; the numbers of the frames rise by one."""

    __slots__ = ("number", "runs", "target", "targets", "texts")

    def __init__(self, target: Target | None, number: int) -> None:
        self.target = target
        """Of all of them; `None` if they take turns."""
        self.targets: list[Target] = []
        self.runs: list[tuple[Target, list[str]]] = []
        """Of each of them, if they take turns; and the deltas of each."""
        self.number = number
        """Of the first frame; -1 if they have none."""
        self.texts: list[str] = []


class _Template:
    """The bytes around the text of a delta: in a frame, and in a read that is nothing but that frame."""

    __slots__ = ("first", "last", "read_first", "read_last", "target")

    def __init__(self, target: Target, first: bytes, last: bytes) -> None:
        self.target = target
        self.first = first
        self.last = last
        self.read_first = self.read_last = b""


class Templates:
    """What is in force: templates of one part or of each open call, and shapes of the same."""

    __slots__ = (
        "_by_frame", "_by_read", "_calls", "_counted", "_dialect", "_failures", "_frame_lengths", "_heard",
        "_heard_count", "_in_vain", "_keys", "_kinds", "_known", "_longest", "_next_shape", "_only", "_probing",
        "_read_lengths", "_refused", "_risen", "_rising", "_shapes", "_since", "_stale", "_totalled",
        "_tries", "_worn", "alike", "is_behind", "is_ready", "running", "taken",
    )  # fmt: skip

    def __init__(
        self, frame_bytes: int | None = None, dialect: Dialect | None = None, *, all_totals: bool = False
    ) -> None:
        # A longer read is left to the framing, which knows what to say about it.
        self._longest = frame_bytes if frame_bytes is not None else sys.maxsize
        self._dialect = dialect
        self._keys: tuple[bytes, ...] = ()
        self._kinds: dict[str, int] = {}
        self._rising = ""
        self._tries = 0
        # How many frames fitted in `follow` and `swallow`; whoever called takes the number and sets it back.
        self.taken = 0
        self.alike: AlikeMessages | None = None
        """Where frames are binary messages: what cuts those that may fit."""
        # By part, how many templates were made since one fitted.
        self._in_vain: dict[tuple[int, int], int] = {}
        # How many frames fitted since the last was learned from, and how many times in a row that were few.
        self._since = self._worn = 0
        # Templates by the bytes before the text.
        self._by_frame: dict[bytes, list[_Template]] = {}
        self._by_read: dict[bytes, list[_Template]] = {}
        # Of templates of reads that are all of one part, the last one that fitted or was made.
        self._only: _Template | None = None
        self._frame_lengths: tuple[int, ...] = ()
        self._read_lengths: tuple[int, ...] = ()
        # Shapes in force, and all that were made and may come into force again.
        self._shapes: list[Shape] = []
        self._known: list[Shape] = []
        # The last read that was of no shape, and the calls that deltas came to.
        self._refused: bytes | None = None
        self._calls: set[tuple[int, int]] = set()
        self._probing = False
        # The try after which the next shape may be made, and how many in a row were made in vain.
        self._next_shape = self._failures = 0
        # How many frames were of a shape while there were templates.
        self._stale = 0
        # The number that the next rising one must pass, and what is around such numbers where only they and texts vary.
        self._risen = -1
        self._counted: Counted | None = None
        # What is around texts and totals, where only they vary.
        self._totalled: Totalled | None = None
        # What the dialect has not heard, if it listens.
        self._heard: list[Heard] | None = None
        self._heard_count = 0
        self.running: Shape | None = None
        """The shape of the last frame, if there are totals in it that the dialect has not seen."""
        self.is_behind = False
        """True if the dialect has to catch up."""
        self.is_ready = False
        """True if a read may fit."""
        if dialect is not None and not _IS_SLOW:
            running = () if all_totals else dialect.running_keys
            named = (dialect.delta_keys, dialect.address_keys, dialect.padding_keys, dialect.rising_keys, running)
            self._keys, self._kinds = _varying(*named)
            self._rising = next(iter(dialect.rising_keys), "")
            self._heard = [] if dialect.listens else None

    @property
    def learns(self) -> bool:
        """True if it is any use to tell of deltas."""
        return bool(self._keys)

    @property
    def has_templates(self) -> bool:
        """True if many frames may be taken in one go."""
        return bool(self._by_read)

    @property
    def may_have_totals(self) -> bool:
        """True if frames that fit may have such."""
        return bool(self._shapes) and any(shape.is_running for shape in self._shapes)

    @property
    def is_in_force(self) -> bool:
        """True if a frame may fit."""
        return bool(self._by_frame or self._shapes)

    def clear(self) -> None:
        """Something happened that was no plain delta."""
        if self._by_frame or self._shapes:
            self._drop_templates()
            for shape in self._shapes:
                shape.targets = {}
            self._shapes = []
            self._calls = set()
            self._counted = self._totalled = None
            self.is_ready = False

    def _drop_templates(self) -> None:
        self._by_frame = {}
        self._by_read = {}
        self._only = None
        self._frame_lengths = self._read_lengths = ()
        self._stale = 0

    # Making them

    def learn(self, event: Any, data: bytes, read: bytes | None, payload: dict[str, Any]) -> None:
        """Remember the frame *data* that said *payload* and meant *event*, and the whole *read* if it held no more."""
        self._keep_beside(event)
        self._refused = None
        if type(event) is ToolArgumentsDelta:
            self._calls.add((event.choice, event.index))
        number = payload.get(self._rising) if self._rising else None
        if number is not None and type(number) is not int:
            self.clear()
            return
        self._risen = -1 if number is None else number
        part = (event.choice, event.index)
        vain = self._in_vain.get(part, 0)
        if self._probing:
            vain = 0
        elif vain or len(self._in_vain) < _KEPT:
            self._in_vain[part] = vain + 1
        else:
            # So many parts are no handful of calls.
            self._in_vain = {}
            self.clear()
            return
        # Every other frame has another number, and one with the same number is a repeat: no template can hold that.
        self._tries += 1
        self._worn = self._worn + 1 if self._since < _WORN else 0
        self._since = 0
        may_vary = vain >= _SHAPE_AFTER or number is not None or self._worn > _WORN_AFTER
        if not self._revive(event, data, read, payload) and may_vary and self._tries >= self._next_shape:
            self._make_shape(event, data, read, payload)
        if number is None and (vain <= _HOPELESS or not self._tries % _NOW_AND_THEN) and not self.may_have_totals:
            self._make_template(event, data, read, payload)
        self._probing = False
        if self.alike is not None:
            self.is_ready = self.is_in_force

    def _keep_beside(self, event: Any) -> None:
        """Text goes to one part at a time, only calls go on beside each other."""
        is_call = type(event) is ToolArgumentsDelta
        for group in self._by_frame.values():
            for known in group:
                target = known.target
                if not (is_call and target.is_call) and not target.is_of(event):
                    self.clear()
                    return
        for shape in self._shapes:
            for target in shape.targets.values():
                if not (is_call and target.is_call) and not target.is_of(event):
                    self.clear()
                    return

    def _make_template(self, event: Any, data: bytes, read: bytes | None, payload: dict[str, Any]) -> None:
        edges = self._edges(event.text, data)
        if edges is None:
            return
        first, last = edges
        template = _Template(Target(event, payload), first, last)
        if len(self._by_frame) >= _KEPT:
            self._drop_templates()
        for groups in (self._by_frame, self._by_read):
            _forget_old(groups, template.target)
        _put(self._by_frame, first, template)
        self._frame_lengths = tuple({len(known) for known in self._by_frame})
        if read is not None:
            self._adopt(template, data, read)

    def _adopt(self, template: _Template, data: bytes, read: bytes) -> None:
        """The frame *data* came in a *read* of its own: others may be known by what is around them there."""
        lead, held, trail = read.partition(data)
        if not held:
            return
        template.read_first, template.read_last = lead + template.first, template.last + trail
        _put(self._by_read, template.read_first, template)
        self._read_lengths = tuple({len(known) for known in self._by_read})
        targets = [known.target for group in self._by_read.values() for known in group]
        self._only = template if all(target.part == template.target.part for target in targets) else None
        self.is_ready = True

    def _edges(self, text: str, data: bytes) -> tuple[bytes, bytes] | None:
        """What is around the delta *text* in *data*; `None` if it cannot be told where it is."""
        literal = _write(text)
        at = data.find(literal)
        # Where nothing else is escaped, no other string can be the same text in another spelling.
        if at < 0 or data.find(literal, at + 1) >= 0 or data.count(b"\\") != literal.count(b"\\"):
            return None
        first, last = data[:at], data[at + len(literal) :]
        return (first, last) if first.rstrip(b" ").endswith(self._keys) else None

    def _make_shape(self, event: Any, data: bytes, read: bytes | None, payload: dict[str, Any]) -> None:
        from chunkfold._shapes import Shape

        self._next_shape = self._tries + (_SHAPE_COST << min(self._failures, _DOUBLINGS))
        try:
            shape = Shape(payload, event.text, self._kinds, has_address=len(self._calls) > 1)
        except (ValueError, TypeError, AttributeError):
            return
        if shape.read(data, -1) is not None:
            self._known = [shape, *self._known[: _SHAPES - 1]]
            self._shapes = [known for known in self._shapes if known in self._known]
            self._revive(event, data, read, payload)

    def _revive(self, event: Any, data: bytes, read: bytes | None, payload: dict[str, Any]) -> bool:
        """Put a shape that *data* is of in force, for the part of *event*."""
        for shape in self._known:
            found = shape.read(data, -1)
            if found is None:
                shape.in_vain += 1
            elif found[1] == event.text:
                shape.in_vain = 0
                if found[0] not in shape.targets:
                    shape.targets[found[0]] = Target(event, payload)
                if read is not None and data in read:
                    shape.lead, _, shape.trail = read.partition(data)
                    self.is_ready = True
                if shape not in self._shapes:
                    self._shapes = [shape, *self._shapes]
                if shape.is_running:
                    # A template would hold totals that are not the latest.
                    self._drop_templates()
                return True
        for shape in self._known:
            if shape.in_vain > _PATIENCE:
                self._give_up(shape)
        return False

    # Using them

    def find(self, data: bytes, read: bytes | None = None) -> tuple[Target, str] | None:
        """What the delta of frame *data* belongs to, and its text; *read* is the read if it holds nothing else."""
        for length in self._frame_lengths:
            for template in self._by_frame.get(data[:length], ()):
                last = template.last
                if data.endswith(last):
                    try:
                        text = _read_string(data[length : len(data) - len(last)])
                    except _BAD:
                        continue
                    if text:
                        if read is not None and not template.read_last:
                            self._adopt(template, data, read)
                        self._hit(template.target, text)
                        return template.target, text
        if read is None or read is not self._refused:
            for shape in self._shapes:
                found = shape.fit(data, self._risen)
                if found is not None:
                    if read is not None and shape.lead is None and data in read:
                        shape.lead, _, shape.trail = read.partition(data)
                        self.is_ready = True
                    return self._took(shape, found)
                self._missed(shape)
        return None

    def find_read(self, read: bytes) -> tuple[Target, str] | None:
        """The same for a whole *read*."""
        if self.alike is not None:
            frame = self.alike.payload_of(read)
            return None if frame is None else self.find(frame)
        if len(read) > self._longest:
            return None
        if self._totalled is not None:
            found = self._totalled.find(read)
            if found is not None:
                if self.running is not self._totalled.shape:
                    self._note(self._totalled.shape)
                return found
        for length in self._read_lengths:
            for template in self._by_read.get(read[:length], ()):
                last = template.read_last
                if read.endswith(last):
                    try:
                        text = _read_string(read[length : len(read) - len(last)])
                    except _BAD:
                        continue
                    if text:
                        if self._only is not None:
                            self._only = template
                        self._hit(template.target, text)
                        return template.target, text
        counted = self._counted
        if counted is not None and counted.parts:
            number = self._risen + 1
            found = counted.find(read, number)
            if found is not None:
                self._risen = number
                if self._heard is not None:
                    self._hear(found[0], found[1], number)
                return found
        if self._shapes and read is not self._refused:
            for shape in self._shapes if len(self._shapes) == 1 else self._likely(read):
                data = shape.frame_in(read)
                if data is not None:
                    found = shape.fit(data, self._risen)
                    if found is not None:
                        if shape.is_stateful and shape.seen > _PATIENCE:
                            self._learn_around(shape, data, found)
                        return self._took(shape, found)
                    self._missed(shape)
                    self._refused = read
        return None

    def _learn_around(self, shape: Shape, data: bytes, found: tuple[Target, str]) -> None:
        """Learn what is around the text, and the number or the totals, of a read that held frame *data*."""
        learner: Counted | Totalled
        if not shape.is_running:
            if self._counted is None:
                from chunkfold._counted import Counted

                self._counted = Counted(self._rising)
            learner = self._counted
        elif not shape.is_numbered and self._heard is None:
            if self._totalled is None:
                from chunkfold._totalled import Totalled

                self._totalled = Totalled()
            learner = self._totalled
        else:
            return
        edges = self._edges(found[1], data) if not learner.is_worn else None
        if edges is not None and shape.lead is not None:
            learner.learn(shape, data, shape.lead + edges[0], edges[1] + shape.trail, found[0])

    def _likely(self, read: bytes) -> list[Shape]:
        """The shapes in force; those with as many keys as *read* seems to have come first, since a miss costs more."""
        count = read.count(b'":')
        alike = [shape for shape in self._shapes if shape.key_count == count]
        return alike + [shape for shape in self._shapes if shape.key_count != count]

    def _hit(self, target: Target, text: str) -> None:
        """A template fitted: learning is worth while."""
        self._since += 1
        if self._in_vain:
            self._in_vain = {}
        if self._heard is not None:
            self._hear(target, text)

    def _missed(self, shape: Shape) -> None:
        shape.in_vain += 1
        if shape.in_vain > _PATIENCE:
            self._give_up(shape)

    def _took(self, shape: Shape, found: tuple[Target, str]) -> tuple[Target, str] | None:
        """A frame is of that shape. `None`: it is to be read in full all the same."""
        shape.in_vain = 0
        shape.seen = seen = shape.seen + 1
        if seen <= _NOW_AND_THEN:
            if seen == _PATIENCE:
                self._failures = 0
            elif seen == _NOW_AND_THEN and not self._rising:
                self._probe()
                return None
        if self._by_frame:
            self._stale += 1
            if self._stale > _PATIENCE:
                self._drop_templates()
        if shape.is_stateful:
            self._note(shape)
        if self._heard is not None:
            self._hear(found[0], found[1], shape.number)
        return found

    def _note(self, shape: Shape) -> None:
        """Keep the number of a frame of that shape, and that it had running totals."""
        if shape.is_numbered:
            self._risen = shape.number
        if shape.is_running:
            if self.running is not None and self.running is not shape:
                self.catch_up()
            self.running = shape
            self.is_behind = True

    def _probe(self) -> None:
        """Perhaps a template would fit by now, which is faster: the next frame is read in full."""
        self._probing = True

    def _give_up(self, shape: Shape) -> None:
        if shape.seen < _PATIENCE:
            self._failures += 1
        self._known.remove(shape)
        self._shapes = [known for known in self._shapes if known is not shape]
        if self.alike is not None:
            self.is_ready = self.is_in_force
        else:
            self.is_ready = bool(self._by_read or any(known.lead is not None for known in self._shapes))

    def _hear(self, target: Target, text: str, number: int = -1) -> None:
        """Keep a delta until the dialect is told of it."""
        heard = self._heard
        assert heard is not None  # noqa: S101 - for the type checker; whoever calls has looked
        last = heard[-1] if heard else None
        if last is None or last.target is not target or (number >= 0 and number != last.number + len(last.texts)):
            last = Heard(target, number)
            heard.append(last)
        last.texts.append(text)
        self.is_behind = True
        self._heard_count = count = self._heard_count + 1
        if count > _MANY:
            self.catch_up()

    def _has_heard(self, count: int) -> None:
        self.is_behind = True
        self._heard_count += count
        if self._heard_count > _MANY:
            self.catch_up()

    def catch_up(self) -> None:
        """Tell the dialect what frames said that were not read in full."""
        self.is_behind = False
        dialect = self._dialect
        if dialect is None:
            return
        if self._heard:
            heard, self._heard, self._heard_count = self._heard, [], 0
            dialect.hear(heard)
        if self.running is not None:
            shape, self.running = self.running, None
            dialect.catch_up(shape.totals())

    # Straight into the accumulator, for callers who want no events

    def follow(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """
        Take pieces, each one read, for as long as they fit; the first that does not is returned.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        while True:
            if self._only is not None and self._heard is None:
                piece = self._follow_one(self._only, accumulator, pieces)
            elif self._counted is not None and self._counted.parts and not self._counted.is_worn:
                piece = self._follow_counted(self._counted, accumulator, pieces)
            elif self._totalled is not None and self._totalled.is_ready:
                piece = self._follow_totalled(self._totalled, accumulator, pieces)
            elif not self._by_read and len(self._shapes) == 1 and len(self._shapes[0].targets) == 1:
                piece = self._follow_shape(self._shapes[0], accumulator, pieces)
            else:
                piece = next(pieces)
            found = self.find_read(piece) if type(piece) is bytes else None
            if found is None:
                return piece
            target, text = found
            target.open(accumulator).append(text)
            self.taken += 1

    def _follow_one(self, template: _Template, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """The loop that most of a long answer goes through."""
        target, longest = template.target, self._longest
        before, after = template.read_first, template.read_last
        start, end = len(before), -len(after)
        while True:
            texts = target.open(accumulator)
            if target.builder.hidden:  # by policy: what is thrown away cannot be counted
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
                count = len(texts) - had
                self.taken += count
                self._since += count
                if count and self._in_vain:
                    self._in_vain = {}
            if count < _MANY:
                raise StopIteration

    def _follow_shape(self, shape: Shape, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """The same loop for frames of one shape; after many it is worth another look whether templates fit."""
        ((address, target),) = shape.targets.items()
        lead, trail, longest = shape.lead or b"", shape.trail, self._longest
        start, end = len(lead), -len(trail) or None
        is_counted, is_numbered, fixed = shape.is_counted, shape.is_numbered, shape.fixed
        is_more = is_counted or bool(fixed)
        is_simple = shape.is_simple or is_more
        decode, get, read = shape.decode, shape.get, shape.read
        texts = target.open(accumulator)
        if target.builder.hidden or shape.lead is None or shape.seen < _NOW_AND_THEN:
            return next(pieces)
        append, had = texts.append, len(texts)
        first = risen = self._risen
        frame = None
        try:
            for piece in islice(pieces, _MANY):
                if type(piece) is not bytes or not piece.startswith(lead) or not piece.endswith(trail):
                    return piece
                data = piece[start:end]
                if _LF in data or _CR in data or len(piece) > longest:
                    return piece
                if is_simple:
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
                        else:
                            text, number = text
                            if number != risen + 1:
                                return piece
                            risen = number
                    if not text:
                        return piece
                    frame = decoded
                else:
                    found = read(data, risen)
                    if found is None or found[0] != address or (is_numbered and shape.number != risen + 1):
                        return piece
                    text = found[1]
                    risen += is_numbered
                append(text)
        finally:
            self._risen = risen
            count = len(texts) - had
            self.taken += count
            if count and shape.is_running:
                if is_simple:
                    shape.keep_totals(frame)
                self._note(shape)
            if count and self._heard is not None:
                heard = Heard(target, first + 1 if is_numbered else -1)
                heard.texts = texts[had:]
                self._heard.append(heard)
                self._has_heard(count)
        if count < _MANY:
            raise StopIteration
        if not is_numbered:
            self._probe()
        return next(pieces)

    def take(self, accumulator: StreamAccumulator, frames: Iterator[bytes]) -> None:
        """Take *frames* for as long as they fit; to ask for the next one says that the one before was taken."""
        for data in frames:
            found = self.find(data)
            if found is None:
                return
            target, text = found
            target.open(accumulator).append(text)
            self.taken += 1
            if len(self._shapes) == 1 and not self._by_frame and self._is_plain(self._shapes[0]):
                self._take_alike(self._shapes[0], accumulator, frames)
                return

    def _is_plain(self, shape: Shape) -> bool:
        """True if many frames were of *shape*, and nothing has to be noted of them but their texts."""
        if shape.seen < _NOW_AND_THEN or shape.is_stateful or self._heard is not None:
            return False
        if not (shape.is_simple or shape.is_addressed):
            return False
        builders = [target.builder for target in shape.targets.values()]
        if any(builder is None or builder.hidden for builder in builders):
            return False
        # What is added is counted by how the parts grow.
        return len(set(map(id, builders))) == len(builders)

    def _take_alike(self, shape: Shape, accumulator: StreamAccumulator, frames: Iterator[bytes]) -> None:
        """The loop that most of a long answer goes through whose frames are not reads of their own."""
        found = map(shape.get, map(shape.decode, frames))
        targets = shape.targets
        more = True
        while more:
            sinks = {address: target.open(accumulator) for address, target in targets.items()}
            had = sum(map(len, sinks.values()))
            try:
                if shape.is_simple:
                    sinks[None].extend(takewhile(bool, islice(found, _MANY)))
                else:
                    _add_to_each(sinks, islice(found, _MANY))
            except _BAD:
                more = False
            count = sum(map(len, sinks.values())) - had
            self.taken += count
            more = more and count == _MANY

    def _follow_counted(self, counted: Counted, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """The same loop for frames that differ in a number that rises by one, and in whose delta it is."""
        try:
            return counted.follow(accumulator, pieces, self._risen + 1, _MANY, self._longest)
        finally:
            count = len(counted.texts)
            if count:
                self.taken += count
                if self._heard is not None:
                    heard = Heard(None if counted.targets else counted.runs[0][0], self._risen + 1)
                    heard.texts, heard.targets, heard.runs = counted.texts, counted.targets, counted.runs
                    self._heard.append(heard)
                    self._has_heard(count)
                self._risen += count

    def _follow_totalled(self, totalled: Totalled, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """The same loop for frames that differ in running totals too."""
        try:
            return totalled.follow(accumulator, pieces, _MANY, self._longest)
        finally:
            if totalled.count:
                self.taken += totalled.count
                self._note(totalled.shape)

    def swallow(self, accumulator: StreamAccumulator, data: bytes) -> int:
        """
        Take the frames at the beginning of *data*, which holds many, for as long as they fit one template. Their
        strings are read in one go.

        Returns:
            How many bytes were taken.
        """
        if self._heard is not None or len(data) > self._longest:
            return 0
        for length in self._read_lengths:
            for template in self._by_read.get(data[:length], ()):
                if template.read_last.endswith(b"\n"):
                    return self._swallow(template, accumulator, data)
        return 0

    def _swallow(self, template: _Template, accumulator: StreamAccumulator, data: bytes) -> int:
        # Cut at line ends, since searching for one byte is several times as fast as for two.
        first, last = template.read_first, template.read_last
        lines = data.split(b"\n")
        fixed = (first + last).split(b"\n")[:-1]
        size = len(fixed)
        many = (len(lines) - 1) // size
        place = first.count(b"\n")
        for other in range(size):
            if other != place:
                many = _equal(lines[other : many * size : size], fixed[other])
        before, after = first.rpartition(b"\n")[2], last.partition(b"\n")[0]
        start, end = len(before), -len(after) or None
        held = lines[place : many * size : size]
        literals = [line[start:end] for line in held if line.startswith(before) and line.endswith(after)]
        if len(literals) != len(held):
            fits = (line.startswith(before) and line.endswith(after) for line in held)
            del literals[next(number for number, fit in enumerate(fits) if not fit) :]
        texts = _strings(literals)
        if not texts:
            return 0
        template.target.open(accumulator).extend(texts)
        self.taken += len(texts)
        self._in_vain = {}
        return sum(map(len, literals)) + len(literals) * (len(first) + len(last))


@cache
def _varying(
    delta: tuple[str, ...],
    address: tuple[str, ...],
    padding: tuple[str, ...],
    rising: tuple[str, ...],
    running: tuple[str, ...],
) -> tuple[tuple[bytes, ...], dict[str, int]]:
    """The keys of deltas, and how fields may vary, as the dialect names them; without the former nothing is learned."""
    from chunkfold._shapes import ADDRESS, PADDING, RISING, RUNNING, TEXT

    kinds = {
        **dict.fromkeys(delta, TEXT),
        **dict.fromkeys(padding, PADDING),
        **dict.fromkeys(rising, RISING),
        **dict.fromkeys(running, RUNNING),
        **dict.fromkeys(address, ADDRESS),
    }
    return tuple(b'"%b":' % key.encode() for key in delta), kinds


def _add_to_each(sinks: dict[Any, list[str]], more: Iterator[tuple[str, int]]) -> None:
    """Add texts where they belong, until one is empty or belongs elsewhere."""
    get = {address: texts.append for address, texts in sinks.items()}.get
    for text, address in more:
        append = get(address)
        if append is None or not text:
            return
        append(text)


def _put(groups: dict[bytes, list[_Template]], first: bytes, template: _Template) -> None:
    """Add *template*, instead of one of the same part and the same bytes."""
    group = groups.setdefault(first, [])
    group[:] = [known for known in group if known.target.part != template.target.part]
    group.append(template)


def _forget_old(groups: dict[bytes, list[_Template]], target: Target) -> None:
    """Make room for a template of that part: bytes that have changed seldom come back."""
    of_part = [(first, known) for first, group in groups.items() for known in group if known.target.part == target.part]
    for first, known in of_part[: 1 - _FORMS]:
        groups[first].remove(known)
        if not groups[first]:
            del groups[first]


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
