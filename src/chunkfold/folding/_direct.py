"""
Decoding straight into an accumulator.

What a frame means is for `Decoder`, and what is alike for `likeness`. Here is how frames that are alike are taken
without being read: one by one, many of a long read in one go, or a whole source's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from chunkfold.errors import LimitExceeded
from chunkfold.folding._decoder import Decoder
from chunkfold.likeness import is_slow

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from chunkfold.accumulator import Gatherer
    from chunkfold.events import Event
    from chunkfold.likeness.templates import Templates

__all__ = ["END", "DirectDecoder"]

END: Final = object()
"""There are no more pieces."""

# Reads longer than this hold many frames: worth looking at one by one.
_LONG_READ = 4 << 10
# How many bytes of those are looked at in one go, at first and at most.
_FIRST_SPAN, _LAST_SPAN = 2 << 10, 64 << 10
# So many lines has one event: its name, its data and a blank line.
_FEW_LINES = 3
# What a binary message may begin with, and how long its beginning is.
_BINARY = (b"\x00", b"\x01")
_PRELUDE_BYTES = 12


class DirectDecoder(Decoder):
    """A decoder that folds too, so that events which nobody asked for need not be made."""

    # How many bytes of a long read are looked at in one go.
    _span = _FIRST_SPAN

    def note(self, kind: str, detail: str) -> None:
        """Add a diagnostic of the layer that reads the source."""
        self._writer.diagnose(kind, detail)

    def tell_all_totals(self) -> None:
        """Tell every usage also where only the response is asked for. To be called before anything is fed."""
        self._all_totals = True

    def feed_into(self, accumulator: Gatherer, data: Any) -> None:
        """
        Decode *data* straight into *accumulator*: the same as observing the events of `feed`, but events that nobody
        asked for are not made where a template fits.
        """
        if isinstance(data, (bytes, bytearray, memoryview)):
            data = self.unfinished.gather(data if type(data) is bytes else bytes(data), self._framer)
            if not data:
                return
            templates = self._templates
            if templates.is_ready and self._framer.reader.idle:  # type: ignore[union-attr]
                found = templates.find_read(data)
                if found is not None:
                    found[0].open(accumulator).append(found[1])
                    self._writer.frame += 1
                    return
            self._fed = accumulator
            if (len(data) > _LONG_READ or self._framer.messages is not None) and self._is_countless and not is_slow():
                take = self._feed_messages if self._may_be_messages(data) else self._feed_many
                data = take(accumulator, data)
        self._feed_events(accumulator, data)
        if self.unfinished.data and not self._framer.idle:
            self._feed_events(accumulator, self.unfinished.release())

    def plain_event(self, accumulator: Gatherer, read: bytes) -> Event | None:
        """The event of *read*, already folded, if a template fits it and it says no more; else nothing is done."""
        templates = self._templates
        if not self.is_ready or templates.may_tell_more:
            return None
        found = templates.find_read(read)
        if found is None:
            return None
        target, text = found
        target.open(accumulator).append(text)
        self._writer.frame += 1
        event: Event = target.event(target.choice, target.index, text)
        return event

    def express(self, accumulator: Gatherer, pieces: Iterator[Any]) -> Generator[Event, None, Any]:
        """
        The events of *pieces*, one read each and already folded, for as long as templates fit. What is returned is the
        first piece that does not fit, to be fed, or `END`. Nothing may be fed in between.
        """
        templates, writer, find = self._templates, self._writer, self._templates.find_read
        untold = templates.untold
        for piece in pieces:
            found = find(piece) if type(piece) is bytes else None
            if found is None:
                return piece
            target, text = found
            writer.frame += 1
            target.open(accumulator).append(text)
            event = target.event(target.choice, target.index, text)
            if untold.shape is None:
                yield event
            else:
                templates.catch_up()
                events = self._taken()
                accumulator.observe_all(events)  # a snapshot after the delta has them
                yield event
                yield from events
        return END

    @property
    def takes_many(self) -> bool:
        """True if many binary messages in one read are read faster than each in its own."""
        return self._framer.messages is not None and self._templates.learns and self._is_countless

    @property
    def is_ready(self) -> bool:
        """True if the next read may fit a template."""
        return self._templates.is_ready and not self.unfinished.data and self._framer.reader.idle  # type: ignore[union-attr]

    def settle(self, accumulator: Gatherer) -> None:
        """See to it that *accumulator* has what frames that fitted templates said beside their texts."""
        if self._templates.is_behind and not self._closed:
            self._templates.catch_up()
            accumulator.observe_all(self._taken())

    def follow(self, accumulator: Gatherer, pieces: Iterator[Any]) -> Any:
        """
        Take *pieces*, one read each, for as long as templates fit; the first that does not is returned, to be fed.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        if self.unfinished.data or not self._templates.is_ready:
            return next(pieces)
        return self._follow(accumulator, pieces)

    def _follow(self, accumulator: Gatherer, pieces: Iterator[Any]) -> Any:
        templates = self._templates
        if not templates.is_ready or not self._framer.idle:
            return next(pieces)
        try:
            return templates.follow(accumulator, pieces)
        finally:
            self._count_taken(templates)

    @property
    def may_take_many(self) -> bool:
        """True if all of several reads may fit one template."""
        return self._templates.may_take_many and self.is_ready

    def take_many(self, accumulator: Gatherer, pieces: list[bytes], joined: bytes) -> bool:
        """Take *pieces*, one read each and *joined* together, if templates fit all of them; else do nothing."""
        templates = self._templates
        try:
            return templates.take_many(accumulator, pieces, joined)
        finally:
            self._count_taken(templates)

    def _count_taken(self, templates: Templates) -> None:
        """Frames that were taken without being read count too."""
        self._writer.frame += templates.taken
        templates.taken = 0

    def _feed_many(self, accumulator: Gatherer, data: bytes) -> bytes:
        """
        Take the frames of a long read: many in one go where they fit one template, else one by one, so that templates
        are learned and fit. What is left is returned.
        """
        if _has_few_lines(data):
            return data  # one long frame
        blank = b"\r\n\r\n" if b"\r\n\r\n" in data[:_LONG_READ] else b"\n\n"
        at, end = 0, data.rfind(blank) + len(blank)
        while at < end and end >= len(blank):
            stop = data.find(blank, at + self._span, end) + len(blank)
            window = data[at : stop if stop >= len(blank) else end]
            taken = self._swallow(accumulator, window)
            if taken == len(window) or not self._templates.has_templates:
                self._span = min(2 * self._span, _LAST_SPAN)
            else:
                self._span = _FIRST_SPAN
            if taken < len(window):
                self._feed_each(accumulator, window[taken:], blank)
            at += len(window)
        return data[at:]

    def _swallow(self, accumulator: Gatherer, data: bytes) -> int:
        """Take as many frames in one go as fit; how many bytes they were."""
        templates = self._templates
        if not templates.is_ready or not self._framer.idle:
            return 0
        taken = templates.swallow(accumulator, data)
        self._count_taken(templates)
        return taken

    def _feed_each(self, accumulator: Gatherer, data: bytes, blank: bytes) -> None:
        """Take the frames in *data*, which ends with *blank*, each of which *blank* ends."""
        *frames, rest = data.split(blank)
        # The rest is half of *blank* where more than two line ends stand at the end.
        pieces = iter([frame + blank for frame in frames] + ([rest] if rest else []))
        while True:
            try:
                piece = self._follow(accumulator, pieces)
            except StopIteration:
                return
            self._feed_events(accumulator, piece)

    def _may_be_messages(self, data: bytes) -> bool:
        """True if *data* begins with a binary message, as far as can be told."""
        framer = self._framer
        return data[:1] in _BINARY if framer.reader is None else framer.messages is not None

    def _feed_messages(self, accumulator: Gatherer, data: bytes) -> bytes:
        """Take binary messages: many in one go where they fit a template, else one by one. What is left is returned."""
        framer, at, end = self._framer, 0, len(data)
        while at < end and framer.idle and self._may_cut_messages:
            if self._templates.is_in_force:
                at = self._take_messages(accumulator, data, at)
            stop = at + int.from_bytes(data[at : at + 4])
            if not at + _PRELUDE_BYTES <= stop < end:
                break
            self._feed_events(accumulator, data[at:stop])
            at = stop
        return data[at:]

    @property
    def _may_cut_messages(self) -> bool:
        """True if it is any use to look at messages one by one."""
        framer = self._framer
        if framer.reader is not None and (framer.messages is None or framer.messages.is_over):
            return False
        return self._payloads.dialect is None or self._templates.learns

    def _take_messages(self, accumulator: Gatherer, data: bytes, at: int) -> int:
        """Take the messages from *at* on for as long as they fit; where the first one begins that does not."""
        templates = self._templates
        alike = templates.alike
        if alike is None:
            return at
        templates.take(accumulator, alike.payloads(data, at))
        self._count_taken(templates)
        return alike.at

    def _feed_events(self, accumulator: Gatherer, data: Any) -> None:
        try:
            events = self._read_in_full(data)
        except LimitExceeded as breach:
            accumulator.observe_all(breach.events)
            raise
        accumulator.observe_all(events)


def _has_few_lines(data: bytes) -> bool:
    """True if *data* is no more than one event. Line ends are found faster than the blank line behind a long one."""
    at = -1
    for _ in range(_FEW_LINES):
        at = data.find(b"\n", at + 1)
        if at < 0:
            return True
    return at + 1 == len(data)
