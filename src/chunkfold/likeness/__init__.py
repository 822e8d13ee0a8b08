"""
Most frames of a stream differ from the one before in nothing but the text of one delta. This remembers the bytes
around it.

There are several proofs that a frame need not be read in full: the bytes around its text (`edges`), and where servers
vary more than that, its shape (`shapes`), a number that rises by one (`counted`) or running totals (`totalled`). Of
what only the latest counts is then left for the end: totals, and fields that are kept as they come.
Whatever fits none is read in full, which is the definition; and whatever was read in full and was not one delta to an
open part puts all of them out of force, since it may have changed what a delta means.

What frames say beside their text is not lost: before the next one that is read in full the dialect catches up.

With `CHUNKFOLD_SLOW=1` in the environment every frame is read in full.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from chunkfold.events import ToolArgumentsDelta
from chunkfold.likeness.deltas import MANY, Heard, Target
from chunkfold.likeness.edges import Edges, Table, edges_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from chunkfold.accumulator import StreamAccumulator
    from chunkfold.dialects import Dialect
    from chunkfold.events import Extra
    from chunkfold.framing.aws_eventstream import AlikeMessages
    from chunkfold.likeness.counted import Counted
    from chunkfold.likeness.shapes import Path, Shape
    from chunkfold.likeness.totalled import Totalled

__all__ = ["Templates", "is_slow"]

_IS_SLOW = os.environ.get("CHUNKFOLD_SLOW", "") not in ("", "0")

# After so many frames in a row that fitted no template of their part a shape is made.
_SHAPE_AFTER = 2
# The first one after so many readings in full, which is about what a shape costs: many streams are over before.
_FIRST_SHAPE = 12
# The same after so many templates in a row that fitted fewer frames than that, one reading in full being dear.
_WORN_AFTER, _WORN = 4, 32
# After so many, learning is tried only now and then.
_HOPELESS = 8
_NOW_AND_THEN = 64
# After a shape was made so many frames have to come before the next, twice as many if it was in vain.
_SHAPE_COST, _DOUBLINGS = 4, 12
# A template that fitted so many frames before the bytes changed is made anew from the first that fitted a shape alone.
_WORTH_RENEWING = 8
# A shape that so many frames in a row were not of is given up.
_PATIENCE = 16
# Of how many parts at once is counted what was made in vain; and how many shapes are kept.
_KEPT = 32
_SHAPES = 4


def is_slow() -> bool:
    """True if every frame is to be read in full."""
    return _IS_SLOW


class Templates:
    """What is in force: the bytes around the text, for one part or for each open call, and shapes of the same."""

    __slots__ = (
        "_calls", "_counted", "_dialect", "_failures", "_heard", "_heard_count", "_in_vain", "_keys", "_kinds",
        "_known", "_longest", "_next_shape", "_probing", "_refused", "_risen", "_rising", "_shaped", "_shapes",
        "_since", "_stale", "_table", "_totalled", "_tries", "_unfit", "_worn", "alike", "is_behind", "is_ready",
        "taken", "telling",
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
        self._table = Table()
        # Shapes in force, and all that were made and may come into force again.
        self._shapes: list[Shape] = []
        self._known: list[Shape] = []
        # The last read that fitted nothing, and the last that was of no shape: both are asked about more than once.
        self._unfit: bytes | None = None
        self._refused: bytes | None = None
        # The calls that deltas came to.
        self._calls: set[tuple[int, int]] = set()
        self._probing = False
        # The try after which the next shape may be made, and how many in a row were made in vain.
        self._next_shape, self._failures = _FIRST_SHAPE, 0
        # How many frames were of a shape while there were templates.
        self._stale = 0
        # The number that the next rising one must pass, and what is around such numbers where only they and texts vary.
        self._risen = -1
        self._counted: Counted | None = None
        # What is around texts and totals, where only they vary.
        self._totalled: Totalled | None = None
        # The part that a shape was first made for.
        self._shaped: tuple[int, int] | None = None
        # What the dialect has not heard, if it listens.
        self._heard: list[Heard] | None = None
        self._heard_count = 0
        self.telling: Shape | None = None
        """The shape of the last frame, if it said more than its text and the dialect was not told."""
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
        return bool(self._table.by_read)

    @property
    def may_tell_more(self) -> bool:
        """True if frames that fit may say more than their text."""
        return bool(self._shapes) and any(shape.tells for shape in self._shapes)

    @property
    def is_in_force(self) -> bool:
        """True if a frame may fit."""
        return bool(self._table.by_frame or self._shapes)

    def clear(self) -> None:
        """Something happened that was no plain delta."""
        if self._table.by_frame or self._shapes:
            self._drop_templates()
            for shape in self._shapes:
                shape.targets = {}
            self._shapes = []
            self._calls = set()
            self._counted = self._totalled = None
            self._refused = self._unfit = None
            self.is_ready = False

    def _drop_templates(self) -> None:
        self._table.clear()
        self._stale = 0

    # Making them

    def learn(
        self,
        event: Any,
        data: bytes,
        read: bytes | None,
        payload: dict[str, Any],
        extras: Sequence[Extra] = (),
        *,
        tells: bool = False,
        is_new: bool = False,
    ) -> None:
        """
        Remember the frame *data* that said *payload* and meant *event*, and the whole *read* if it held no more. It
        *tells* more if it also said *extras* or new totals, and opened the part if that *is_new*.
        """
        kept = self._places_of(extras, payload)
        if kept is None or any(shape.keeps != tuple(kept.values()) for shape in self._shapes):
            self.clear()
        if kept is None:
            return
        self._keep_beside(event)
        self._refused = self._unfit = None
        if type(event) is ToolArgumentsDelta:
            self._calls.add((event.choice, event.index))
        number = payload.get(self._rising) if self._rising else None
        if number is not None and type(number) is not int:
            self.clear()
            return
        self._risen = -1 if number is None else number
        part = (event.choice, event.index)
        vain = self._in_vain.get(part, 0)
        if self._probing or is_new:
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
        if not self._revive(event, data, read, payload, kept) and may_vary and self._tries >= self._next_shape:
            self._make_shape(event, data, read, payload, kept)
        if number is None and (vain <= _HOPELESS or not self._tries % _NOW_AND_THEN):
            # A template would hold what is not the latest.
            if not tells and not self.may_tell_more:
                self._make_template(event, data, read, payload)
        self._probing = False
        if self.alike is not None:
            self.is_ready = self.is_in_force

    def _places_of(self, extras: Sequence[Extra], payload: dict[str, Any]) -> Mapping[Path, Path] | None:
        """Where in *payload* the fields are that were kept, and where they are kept; `None` if that is not known."""
        if not extras:
            return {}
        from chunkfold.likeness.shapes import places_of

        may_vary = self._dialect.may_vary if self._dialect is not None else None
        return places_of(extras, payload, may_vary) if may_vary is not None else None

    def _keep_beside(self, event: Any) -> None:
        """Text goes to one part at a time, only calls go on beside each other."""
        targets = [*self._table.targets(), *(target for shape in self._shapes for target in shape.targets.values())]
        if not all(target.may_stay_beside(event) for target in targets):
            self.clear()

    def _make_template(self, event: Any, data: bytes, read: bytes | None, payload: dict[str, Any]) -> None:
        around = edges_of(event.text, data, self._keys)
        if around is None:
            return
        edges = Edges(Target(event, payload), *around)
        self._table.add(edges)
        if read is not None:
            self._adopt(edges, data, read)

    def _adopt(self, edges: Edges, data: bytes, read: bytes) -> None:
        self._table.adopt(edges, data, read)
        if self._table.by_read:
            self.is_ready = True

    def _make_shape(
        self, event: Any, data: bytes, read: bytes | None, payload: dict[str, Any], kept: Mapping[Path, Path]
    ) -> None:
        from chunkfold.likeness.shapes import Shape

        self._next_shape = self._tries + (_SHAPE_COST << min(self._failures, _DOUBLINGS))
        part = (event.choice, event.index)
        self._shaped = self._shaped or part
        # Where there are many short parts, one shape is to do for the next ones too.
        has_address = len(self._calls) > 1 or part != self._shaped
        try:
            shape = Shape(payload, event.text, self._kinds, has_address=has_address, kept=kept)
        except (ValueError, TypeError, AttributeError):
            return
        if shape.read(data, -1) is not None:
            self._known = [shape, *self._known[: _SHAPES - 1]]
            self._shapes = [known for known in self._shapes if known in self._known]
            self._revive(event, data, read, payload, kept)

    def _revive(
        self, event: Any, data: bytes, read: bytes | None, payload: dict[str, Any], kept: Mapping[Path, Path]
    ) -> bool:
        """Put a shape that *data* is of in force, for the part of *event*."""
        keeps = tuple(kept.values())
        for shape in self._known:
            found = shape.read(data, -1) if shape.keeps == keeps else None
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
                if shape.tells:
                    # A template would hold what is not the latest.
                    self._drop_templates()
                return True
        for shape in self._known:
            if shape.in_vain > _PATIENCE:
                self._give_up(shape)
        return False

    # Using them

    def find(self, data: bytes, read: bytes | None = None) -> tuple[Target, str] | None:
        """What the delta of frame *data* belongs to, and its text; *read* is the read if it holds nothing else."""
        known = self._table.find(data)
        if known is not None:
            if read is not None and not known[0].read_last:
                self._adopt(known[0], data, read)
            return self._hit(known[0].target, known[1])
        if read is None or read is not self._refused:
            for shape in self._shapes:
                found = shape.fit(data, self._risen)
                if found is not None:
                    if read is not None and shape.lead is None and data in read:
                        shape.lead, _, shape.trail = read.partition(data)
                        self.is_ready = True
                    return self._took(shape, found, data, read)
                self._missed(shape)
        return None

    def find_read(self, read: bytes) -> tuple[Target, str] | None:
        """The same for a whole *read*."""
        if self.alike is not None:
            frame = self.alike.payload_of(read)
            return None if frame is None else self.find(frame)
        if len(read) > self._longest or read is self._unfit:
            return None
        if self._totalled is not None:
            found = self._totalled.find(read)
            if found is not None:
                if self.telling is not self._totalled.shape:
                    self._note(self._totalled.shape)
                return found
        known = self._table.find_read(read)
        if known is not None:
            return self._hit(known[0].target, known[1])
        counted = self._counted
        if counted is not None and counted.parts:
            number = self._risen + 1
            found = counted.find(read, number)
            if found is not None:
                self._risen = number
                if self._heard is not None:
                    self._hear(found[0], found[1], number)
                return found
        found = self._find_shaped(read) if self._shapes else None
        if found is None:
            self._unfit = read
        return found

    def _find_shaped(self, read: bytes) -> tuple[Target, str] | None:
        for shape in self._shapes if len(self._shapes) == 1 else self._likely(read):
            data = shape.frame_in(read)
            if data is not None:
                found = shape.fit(data, self._risen)
                if found is not None:
                    if shape.is_stateful and shape.seen > _PATIENCE:
                        self._learn_around(shape, data, found)
                    return self._took(shape, found, data, read)
                self._missed(shape)
                self._refused = read
        return None

    def _learn_around(self, shape: Shape, data: bytes, found: tuple[Target, str]) -> None:
        """Learn what is around the text, and the number or the totals, of a read that held frame *data*."""
        learner: Counted | Totalled
        if shape.keeps:
            return
        if not shape.is_running:
            if self._counted is None:
                from chunkfold.likeness.counted import Counted

                self._counted = Counted(self._rising)
            learner = self._counted
        elif not shape.is_numbered and self._heard is None:
            if self._totalled is None:
                from chunkfold.likeness.totalled import Totalled

                self._totalled = Totalled()
            learner = self._totalled
        else:
            return
        edges = edges_of(found[1], data, self._keys) if not learner.is_worn else None
        if edges is not None and shape.lead is not None:
            learner.learn(shape, data, shape.lead + edges[0], edges[1] + shape.trail, found[0])

    def _likely(self, read: bytes) -> list[Shape]:
        """The shapes in force; those with as many keys as *read* seems to have come first, since a miss costs more."""
        count = read.count(b'":')
        alike = [shape for shape in self._shapes if shape.key_count == count]
        return alike + [shape for shape in self._shapes if shape.key_count != count]

    def _hit(self, target: Target, text: str) -> tuple[Target, str]:
        """A template fitted: learning is worth while."""
        self._since += 1
        if self._in_vain:
            self._in_vain = {}
        if self._heard is not None:
            self._hear(target, text)
        return target, text

    def _missed(self, shape: Shape) -> None:
        shape.in_vain += 1
        if shape.in_vain > _PATIENCE:
            self._give_up(shape)

    def _took(
        self, shape: Shape, found: tuple[Target, str], data: bytes, read: bytes | None
    ) -> tuple[Target, str] | None:
        """Frame *data* is of that shape. `None`: it is to be read in full all the same."""
        shape.in_vain = 0
        shape.seen = seen = shape.seen + 1
        if seen <= _NOW_AND_THEN:
            if seen == _PATIENCE:
                self._failures = 0
            elif seen == _NOW_AND_THEN and not self._rising:
                self._probe()
                return None
        if self._table.by_frame:
            if self._since >= _WORTH_RENEWING and not shape.is_stateful:
                self._renew(found, data, read)
            else:
                self._stale += 1
                if self._stale > _PATIENCE:
                    self._drop_templates()
        if shape.is_stateful:
            self._note(shape)
        if self._heard is not None:
            self._hear(found[0], found[1], shape.number)
        return found

    def _renew(self, found: tuple[Target, str], data: bytes, read: bytes | None) -> None:
        """The bytes around the text have changed, as those of a `created` do once a second: remember the new ones."""
        self._since = self._stale = 0
        around = edges_of(found[1], data, self._keys)
        if around is not None:
            edges = Edges(found[0], *around)
            self._table.add(edges)
            if read is not None:
                self._adopt(edges, data, read)

    def _note(self, shape: Shape) -> None:
        """Keep the number of a frame of that shape, and that there is more to tell of it."""
        if shape.is_numbered:
            self._risen = shape.number
        if shape.tells:
            if self.telling is not None and self.telling is not shape:
                self.catch_up()
            self.telling = shape
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
            self.is_ready = bool(self._table.by_read or any(known.lead is not None for known in self._shapes))

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
        if count > MANY:
            self.catch_up()

    def _keep_heard(self, heard: Heard) -> None:
        assert self._heard is not None  # noqa: S101 - for the type checker; whoever calls has looked
        self._heard.append(heard)
        self.is_behind = True
        self._heard_count += len(heard.texts)
        if self._heard_count > MANY:
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
        if self.telling is not None:
            shape, self.telling = self.telling, None
            if shape.keeps:
                for path, value in shape.kept():
                    dialect.w.extra(path, value)
            if shape.is_running:
                dialect.catch_up(shape.totals())

    # Straight into the accumulator, for callers who want no events

    def follow(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """
        Take pieces, each one read, for as long as they fit; the first that does not is returned.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        while True:
            likely = self._likeliest
            if likely is None:
                piece = next(pieces)
            else:
                known, took = likely
                first = self._risen + 1
                try:
                    piece = known.follow(accumulator, pieces, first, self._longest)
                finally:
                    took(known, first)
            found = self.find_read(piece) if type(piece) is bytes else None
            if found is None:
                return piece
            target, text = found
            target.open(accumulator).append(text)
            self.taken += 1

    @property
    def may_take_many(self) -> bool:
        """True if all of several reads may fit one template."""
        likely = self._likeliest
        return likely is not None and likely[0].may_take_many

    def take_many(self, accumulator: StreamAccumulator, pieces: list[bytes], joined: bytes) -> bool:
        """Take *pieces*, each one read and *joined* together, if all of them fit; else do nothing."""
        likely = self._likeliest
        if likely is None or not likely[0].may_take_many or len(joined) > self._longest:
            return False
        known, took = likely
        first = self._risen + 1
        count = known.take_many(accumulator, pieces, joined, first)
        took(known, first)
        return bool(count)

    @property
    def _likeliest(self) -> tuple[Any, Callable[[Any, int], None]] | None:
        """What the next reads are most likely to fit, and what is to be done when it has taken some."""
        if self._table.by_read and self._heard is None:
            return self._table.only or self._table, self._took_edges
        if self._counted is not None and self._counted.parts and not self._counted.is_worn:
            return self._counted, self._took_counted
        if self._totalled is not None and self._totalled.is_ready:
            return self._totalled, self._took_totalled
        # One shape, which has proved of use, and one part that its texts belong to.
        shape = self._shapes[0] if len(self._shapes) == 1 and not self._table.by_read else None
        if shape is not None and len(shape.targets) == 1 and shape.seen >= _NOW_AND_THEN:
            return shape, self._took_shape
        return None

    # What was taken; the first of them has the number *first*, if they are numbered

    def _took_edges(self, edges: Edges | Table, _: int) -> None:
        """If some were taken, learning is worth while."""
        self.taken += edges.count
        self._since += edges.count
        if edges.count and self._in_vain:
            self._in_vain = {}

    def _took_counted(self, counted: Counted, first: int) -> None:
        count = len(counted.texts)
        self.taken += count
        if count and self._heard is not None:
            heard = Heard(None if counted.targets else counted.runs[0][0], first)
            heard.texts, heard.targets, heard.runs = counted.texts, counted.targets, counted.runs
            self._keep_heard(heard)
        self._risen += count

    def _took_totalled(self, totalled: Totalled, _: int) -> None:
        self.taken += totalled.count
        if totalled.count:
            self._note(totalled.shape)

    def _took_shape(self, shape: Shape, first: int) -> None:
        self.taken += len(shape.texts)
        if shape.texts:
            self._note(shape)
            if self._heard is not None:
                heard = Heard(next(iter(shape.targets.values())), first if shape.is_numbered else -1)
                heard.texts = shape.texts
                self._keep_heard(heard)
        if len(shape.texts) == MANY and not shape.is_numbered:
            # It is worth another look whether templates fit.
            self._probe()

    # Many frames in one read

    def take(self, accumulator: StreamAccumulator, frames: Iterator[bytes]) -> None:
        """Take *frames* for as long as they fit; to ask for the next one says that the one before was taken."""
        for data in frames:
            found = self.find(data)
            if found is None:
                return
            target, text = found
            target.open(accumulator).append(text)
            self.taken += 1
            if len(self._shapes) == 1 and not self._table.by_frame and self._heard is None:
                shape = self._shapes[0]
                if shape.seen >= _NOW_AND_THEN and shape.may_take:
                    self.taken += shape.take(accumulator, frames)
                    return

    def swallow(self, accumulator: StreamAccumulator, data: bytes) -> int:
        """
        Take the frames at the beginning of *data*, which holds many, for as long as they fit one template. Their
        strings are read in one go.

        Returns:
            How many bytes were taken.
        """
        if self._heard is not None or len(data) > self._longest:
            return 0
        edges = self._table.first_of(data)
        if edges is None:
            return 0
        size = edges.swallow(accumulator, data)
        self._took_edges(edges, 0)
        return size


@cache
def _varying(
    delta: tuple[str, ...],
    address: tuple[str, ...],
    padding: tuple[str, ...],
    rising: tuple[str, ...],
    running: tuple[str, ...],
) -> tuple[tuple[bytes, ...], dict[str, int]]:
    """The keys of deltas, and how fields may vary, as the dialect names them; without the former nothing is learned."""
    from chunkfold.likeness.shapes import ADDRESS, PADDING, RISING, RUNNING, TEXT

    kinds = {
        **dict.fromkeys(delta, TEXT),
        **dict.fromkeys(padding, PADDING),
        **dict.fromkeys(rising, RISING),
        **dict.fromkeys(running, RUNNING),
        **dict.fromkeys(address, ADDRESS),
    }
    return tuple(b'"%b":' % key.encode() for key in delta), kinds
