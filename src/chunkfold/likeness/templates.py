"""
What is in force of what frames are known by without being read in full.

Whatever fits none is read in full, which is the definition; and whatever was read in full and was not one delta to an
open part puts all of them out of force, since it may have changed what a delta means.

What frames say beside their text is not lost: before the next one that is read in full the dialect is told. Of what
only the latest counts the last frame is enough: totals, and fields that are kept as they come.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from chunkfold.events import ToolArgumentsDelta
from chunkfold.likeness.deltas import MANY, Heard, Target
from chunkfold.likeness.edges import Edges, Table, edges_of
from chunkfold.likeness.samples import sample_of
from chunkfold.likeness.shelf import PATIENCE, Shelf
from chunkfold.likeness.untold import Untold

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from chunkfold.accumulator import Gatherer
    from chunkfold.dialects import Dialect
    from chunkfold.framing.aws_eventstream import AlikeMessages
    from chunkfold.likeness.counted import Counted
    from chunkfold.likeness.samples import Sample
    from chunkfold.likeness.shapes import Shape
    from chunkfold.likeness.totalled import Totalled

__all__ = ["Templates"]

# After so many frames in a row that fitted no template of their part a shape is made.
_SHAPE_AFTER = 2
# The same after so many templates in a row that fitted fewer frames than that, one reading in full being dear.
_WORN_AFTER, _WORN = 4, 32
# After so many, learning is tried only now and then.
_HOPELESS = 8
_NOW_AND_THEN = 64
# A template that fitted so many frames before the bytes changed is made anew from the first that fitted a shape alone.
_WORTH_RENEWING = 8
# Of how many parts at once is counted what was made in vain.
_KEPT = 32


class Templates:
    """What is in force: the bytes around the text, for one part or for each open call, and shapes of the same."""

    __slots__ = (
        "_calls", "_counted", "_dialect", "_in_vain", "_keys", "_longest", "_probing", "_refused", "_risen", "_rising",
        "_shelf", "_since", "_stale", "_table", "_totalled", "_tries", "_unfit", "_worn", "alike", "is_ready",
        "taken", "untold",
    )  # fmt: skip

    def __init__(self, frame_bytes: int | None, dialect: Dialect, *, all_totals: bool = False) -> None:
        # A longer read is left to the framing, which knows what to say about it.
        self._longest = frame_bytes if frame_bytes is not None else sys.maxsize
        self._dialect = dialect
        running = () if all_totals else dialect.running_keys
        named = (dialect.delta_keys, dialect.address_keys, dialect.padding_keys, dialect.rising_keys, running)
        self._keys, kinds = _varying(*named)
        self._rising = next(iter(dialect.rising_keys), "")
        self.untold = Untold(dialect)
        """What frames said beside their texts that the dialect has not heard."""
        self._table = Table()
        self._shelf = Shelf(kinds)
        # What is around numbers that rise by one, where only they and texts vary; and around texts and totals.
        self._counted: Counted | None = None
        self._totalled: Totalled | None = None
        # The number that the next rising one must pass.
        self._risen = -1
        # The last read that fitted nothing, and the last that was of no shape: both are asked about more than once.
        self._unfit: bytes | None = None
        self._refused: bytes | None = None
        # The calls that deltas came to.
        self._calls: set[tuple[int, int]] = set()
        # How many times was learned; by part, how many times since a template fitted.
        self._tries = 0
        self._in_vain: dict[tuple[int, int], int] = {}
        # How many frames fitted since the last was learned from, and how many times in a row that were few.
        self._since = self._worn = 0
        # How many frames were of a shape while there were templates; and whether a template is to be tried again.
        self._stale = 0
        self._probing = False
        # How many frames fitted in `follow` and `swallow`; whoever called takes the number and sets it back.
        self.taken = 0
        self.alike: AlikeMessages | None = None
        """Where frames are binary messages: what cuts those that may fit."""
        self.is_ready = False
        """True if a read may fit."""

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
        return bool(self._shelf.in_force) and self._shelf.tells

    @property
    def is_in_force(self) -> bool:
        """True if a frame may fit."""
        return bool(self._table.by_frame or self._shelf.in_force)

    @property
    def is_behind(self) -> bool:
        """True if there is something that the dialect was not told."""
        return self.untold.is_any

    def catch_up(self) -> None:
        """Tell the dialect what frames said that were not read in full."""
        self.untold.tell()

    def clear(self) -> None:
        """Something happened that was no plain delta."""
        if self._table.by_frame or self._shelf.in_force or self._counted is not None:
            self._drop_templates()
            self._shelf.clear()
            self._calls = set()
            self._counted = self._totalled = None
            self._refused = self._unfit = None
            self.is_ready = False

    def _drop_templates(self) -> None:
        self._table.clear()
        self._stale = 0

    def _look_if_ready(self) -> None:
        if self.alike is not None:
            self.is_ready = self.is_in_force
        else:
            is_counted = self._counted is not None and self._counted.parts
            has_lead = any(shape.lead is not None for shape in self._shelf.in_force)
            self.is_ready = bool(self._table.by_read or is_counted or has_lead)

    # Making them

    sample_of = staticmethod(sample_of)

    def learn(self, sample: Sample) -> None:
        """Remember what is around the text of *sample*."""
        event, number = sample.event, sample.payload.get(self._rising) if self._rising else None
        if not self._finds_kept(sample) or (number is not None and type(number) is not int):
            self.clear()
            return
        # Text goes to one part at a time, only calls go on beside each other.
        if not all(target.may_stay_beside(event) for target in self._targets()):
            self.clear()
        self._refused = self._unfit = None
        if type(event) is ToolArgumentsDelta:
            self._calls.add(sample.part)
        self._risen = self._risen if number is None else number
        vain = self._times_in_vain(sample)
        if vain is None:
            self.clear()
            return
        self._tries += 1
        self._worn = self._worn + 1 if self._since < _WORN else 0
        self._since = 0
        may_vary = vain >= _SHAPE_AFTER or number is not None or self._worn > _WORN_AFTER
        if self._shelf.revive(sample) or (may_vary and self._make_shape(sample)):
            if self.may_tell_more:
                self._drop_templates()
        # No template can hold a frame that tells more, of which the latest counts.
        if not sample.tells and not self.may_tell_more:
            is_hopeless = vain > _HOPELESS and self._tries % _NOW_AND_THEN
            if number is not None and vain < _SHAPE_AFTER:
                self._learn_number(sample, number)
            elif number is None and not is_hopeless:
                target = Target(event, sample.payload)
                self._make_template(target, event.text, sample.data, sample.read)
        self._probing = False
        self._look_if_ready()

    def _targets(self) -> Iterator[Target]:
        """What frames may belong to."""
        yield from self._table.targets()
        yield from self._shelf.targets()
        if self._counted is not None:
            yield from self._counted.parts.values()

    def _finds_kept(self, sample: Sample) -> bool:
        """Find where in the payload the fields are that were kept; false if that is not known of one."""
        if sample.extras:
            from chunkfold.likeness.shapes import places_of

            kept = places_of(sample.extras, sample.payload, self._dialect.may_vary)
            if kept is None:
                return False
            sample.kept = kept
        keeps = tuple(sample.kept.values())
        if any(shape.keeps != keeps for shape in self._shelf.in_force):
            self.clear()
        return True

    def _times_in_vain(self, sample: Sample) -> int | None:
        """
        How many times was learned of the part since a template fitted; `None` if there are more parts than are kept.
        """
        vain = self._in_vain.get(sample.part, 0)
        if self._probing or sample.is_new:
            return 0
        if not vain and len(self._in_vain) >= _KEPT:
            # So many are no handful of calls.
            self._in_vain = {}
            return None
        self._in_vain[sample.part] = vain + 1
        return vain

    def _make_shape(self, sample: Sample) -> bool:
        if not self._shelf.may_make(self._tries):
            return False
        return self._shelf.make(sample, self._tries, has_calls=len(self._calls) > 1)

    def _make_template(self, target: Target, text: str, data: bytes, read: bytes | None) -> None:
        around = edges_of(text, data, self._keys)
        if around is not None:
            edges = Edges(target, *around)
            self._table.add(edges)
            if read is not None:
                self._adopt(edges, data, read)

    def _learn_number(self, sample: Sample, number: int) -> None:
        """
        Every other frame has another number, and one with the same number is a repeat: what is around both is learned.
        """
        around = edges_of(sample.event.text, sample.data, self._keys)
        lead, held, trail = sample.read.partition(sample.data) if sample.read is not None else (b"", b"", b"")
        if around is not None and held:
            first, last = lead + around[0], around[1] + trail
            self._counter().learn_number(number, first, last, Target(sample.event, sample.payload))

    def _counter(self) -> Counted:
        if self._counted is None:
            from chunkfold.likeness.counted import Counted

            self._counted = Counted(self._rising)
        return self._counted

    def _adopt(self, edges: Edges, data: bytes, read: bytes) -> None:
        self._table.adopt(edges, data, read)
        if self._table.by_read:
            self.is_ready = True

    # Using them

    def find(self, data: bytes, read: bytes | None = None) -> tuple[Target, str] | None:
        """What the delta of frame *data* belongs to, and its text; *read* is the read if it holds nothing else."""
        known = self._table.find(data)
        if known is not None:
            if read is not None and not known[0].read_last:
                self._adopt(known[0], data, read)
            return self._hit(known[0].target, known[1])
        if read is None or read is not self._refused:
            for shape in self._shelf.in_force:
                found = shape.fit(data, self._risen)
                if found is not None:
                    if read is not None and shape.lead is None:
                        shape.learn_framing(data, read)
                        self._look_if_ready()
                    return self._took(shape, found, data, read)
                if self._shelf.missed(shape):
                    self._look_if_ready()
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
                if self.untold.shape is not self._totalled.shape:
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
                self._in_vain = {}
                if self.untold.listens:
                    self.untold.hear(found[0], found[1], number)
                return found
        found = self._find_shaped(read) if self._shelf.in_force else None
        if found is None:
            self._unfit = read
        return found

    def _find_shaped(self, read: bytes) -> tuple[Target, str] | None:
        for shape in self._shelf.likely(read):
            data = shape.frame_in(read)
            if data is not None:
                found = shape.fit(data, self._risen)
                if found is not None:
                    if shape.is_stateful and shape.seen > PATIENCE:
                        self._learn_around(shape, data, found)
                    return self._took(shape, found, data, read)
                if self._shelf.missed(shape):
                    self._look_if_ready()
                self._refused = read
        return None

    def _learn_around(self, shape: Shape, data: bytes, found: tuple[Target, str]) -> None:
        """Learn what is around the text, and the number or the totals, of a read that held frame *data*."""
        learner = self._learner_for(shape)
        edges = edges_of(found[1], data, self._keys) if learner is not None and not learner.is_worn else None
        if learner is not None and edges is not None and shape.lead is not None:
            learner.learn(shape, data, shape.lead + edges[0], edges[1] + shape.trail, found[0])

    def _learner_for(self, shape: Shape) -> Counted | Totalled | None:
        """What may learn from frames of that shape, where a number or totals vary."""
        if shape.keeps or (shape.is_running and (shape.is_numbered or self.untold.listens)):
            return None
        if not shape.is_running:
            return self._counter()
        if self._totalled is None:
            from chunkfold.likeness.totalled import Totalled

            self._totalled = Totalled()
        return self._totalled

    def _hit(self, target: Target, text: str) -> tuple[Target, str]:
        """A template fitted: learning is worth while."""
        self._since += 1
        if self._in_vain:
            self._in_vain = {}
        if self.untold.listens:
            self.untold.hear(target, text)
        return target, text

    def _took(
        self, shape: Shape, found: tuple[Target, str], data: bytes, read: bytes | None
    ) -> tuple[Target, str] | None:
        """Frame *data* is of that shape. `None`: it is to be read in full all the same."""
        if self._shelf.took(shape) == _NOW_AND_THEN and not self._rising:
            self._probing = True  # perhaps a template would fit by now, which is faster
            return None
        if self._table.by_frame:
            if self._since >= _WORTH_RENEWING and not shape.is_stateful:
                # The bytes around the text have changed, as those of a `created` do once a second.
                self._since = self._stale = 0
                self._make_template(*found, data, read)
            else:
                self._stale += 1
                if self._stale > PATIENCE:
                    self._drop_templates()
        if shape.is_stateful:
            self._note(shape)
        if self.untold.listens:
            self.untold.hear(found[0], found[1], shape.number)
        return found

    def _note(self, shape: Shape) -> None:
        """Keep the number of a frame of that shape, and that there is more to tell of it."""
        if shape.is_numbered:
            self._risen = shape.number
        if shape.tells:
            self.untold.note(shape)

    # Straight into the accumulator, for callers who want no events

    def follow(self, accumulator: Gatherer, pieces: Iterator[Any]) -> Any:
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

    def take_many(self, accumulator: Gatherer, pieces: list[bytes], joined: bytes) -> bool:
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
        if self._table.by_read and not self.untold.listens:
            return self._table.only or self._table, self._took_edges
        if self._counted is not None and self._counted.parts and not self._counted.is_worn:
            return self._counted, self._took_counted
        if self._totalled is not None and self._totalled.is_ready:
            return self._totalled, self._took_totalled
        # One shape, which has proved of use, and one part that its texts belong to.
        shapes = self._shelf.in_force
        shape = shapes[0] if len(shapes) == 1 and not self._table.by_read else None
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
        if count and self._in_vain:
            self._in_vain = {}
        if count and self.untold.listens:
            heard = Heard(None if counted.targets else counted.runs[0][0], first)
            heard.texts, heard.targets, heard.runs = counted.texts, counted.targets, counted.runs
            self.untold.hear_all(heard)
        self._risen += count

    def _took_totalled(self, totalled: Totalled, _: int) -> None:
        self.taken += totalled.count
        if totalled.count:
            self._note(totalled.shape)

    def _took_shape(self, shape: Shape, first: int) -> None:
        self.taken += len(shape.texts)
        if shape.texts:
            self._note(shape)
            if self.untold.listens:
                heard = Heard(next(iter(shape.targets.values())), first if shape.is_numbered else -1)
                heard.texts = shape.texts
                self.untold.hear_all(heard)
        if len(shape.texts) == MANY and not shape.is_numbered:
            self._probing = True  # as in `_took`

    # Many frames in one read

    def take(self, accumulator: Gatherer, frames: Iterator[bytes]) -> None:
        """Take *frames* for as long as they fit; to ask for the next one says that the one before was taken."""
        for data in frames:
            found = self.find(data)
            if found is None:
                return
            target, text = found
            target.open(accumulator).append(text)
            self.taken += 1
            shapes = self._shelf.in_force
            if len(shapes) == 1 and not self._table.by_frame and not self.untold.listens:
                shape = shapes[0]
                if shape.seen >= _NOW_AND_THEN and shape.may_take:
                    self.taken += shape.take(accumulator, frames)
                    return

    def swallow(self, accumulator: Gatherer, data: bytes) -> int:
        """
        Take the frames at the beginning of *data*, which holds many, for as long as they fit one template. Their
        strings are read in one go.

        Returns:
            How many bytes were taken.
        """
        if self.untold.listens or len(data) > self._longest:
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
