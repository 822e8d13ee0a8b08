"""
The lower half: bytes or payloads in, events out.

It cuts the bytes into frames and hands their payloads to the dialect. Frames that are alike are known without being
read (see `likeness`), one by one, many of a long read in one go, or a whole source's.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from chunkfold._frames import NOTHING, Frames, unwrapped
from chunkfold._payloads import HEAD_BYTES, Payloads
from chunkfold._unfinished import Unfinished
from chunkfold._wording import described, given_or
from chunkfold.dialects._writer import Writer
from chunkfold.errors import LimitExceeded
from chunkfold.events import ErrorEvent, MessageStop
from chunkfold.framing import Frame, Framer
from chunkfold.likeness import NO_TEMPLATES, is_slow
from chunkfold.limits import DEFAULT_LIMITS

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from chunkfold.accumulator import StreamAccumulator
    from chunkfold.events import Event
    from chunkfold.framing.aws_eventstream import EventStreamFramer
    from chunkfold.likeness.templates import Templates
    from chunkfold.limits import Limits
    from chunkfold.response import Ended, StreamError

__all__ = ["END", "Decoder", "not_fed"]

END: Final = object()
"""There are no more pieces."""

# Reads longer than this hold many frames: worth looking at one by one.
_LONG_READ = 4 << 10
# How many bytes of those are looked at in one go, at first and at most.
_FIRST_SPAN, _LAST_SPAN = 2 << 10, 64 << 10
_LF = 0x0A
# What a binary message may begin with, and how long its beginning is.
_BINARY = (b"\x00", b"\x01")
_PRELUDE_BYTES = 12


class Decoder:
    """
    Decodes a stream into events, without I/O.

    Args:
        dialect: The name of the wire dialect, or `auto` to find it out from the first payload that tells.
        split_think_tags: Move what stands between `<think>` and `</think>` in the text to reasoning parts.
        cumulative_deltas: True if each text is the whole text so far; `None`: as the dialect sends by default.
        limits: Caps on what the stream may cost.

    Raises:
        UnknownDialect: If no dialect has that name.

    """

    def __init__(
        self,
        dialect: str = "auto",
        *,
        split_think_tags: bool = False,
        cumulative_deltas: bool | None = None,
        limits: Limits | None = None,
    ) -> None:
        limits = given_or(DEFAULT_LIMITS, limits, "limits", "chunkfold.Limits")
        self._limits = limits
        self._framer = Framer(limits.frame_bytes)
        self._writer = Writer(limits, split_think_tags=split_think_tags)
        self._payloads = Payloads(self._writer, dialect, cumulative=cumulative_deltas)
        self._frames = Frames(self._writer, self._payloads, limits.json_depth)
        self._mode: str | None = None
        self._closed = False
        self._bytes = 0
        self._is_countless = limits.stream_bytes is None
        # What came before the dialect was known, if that should turn out to be no stream.
        self._head = bytearray()
        # How many bytes of a long read are looked at in one go.
        self._span = _FIRST_SPAN
        self._read: bytes | None = None
        # Where the events go, if they go nowhere else.
        self._fed: StreamAccumulator | None = None
        self.unfinished = Unfinished()
        # Every usage is to be told to who gathers them, though the latest settles it.
        self._all_totals = False
        # Until the dialect is known nothing is learned.
        self._templates: Templates = NO_TEMPLATES
        # It was noted that payloads are framed or encoded twice.
        self._has_wrapped = False
        # The name of the frames that the templates were made from.
        self._learned_event = ""
        if self._payloads.dialect is not None:
            self.learn_anew()

    @property
    def limits(self) -> Limits:
        """The caps in force."""
        return self._limits

    @property
    def dialect(self) -> str | None:
        """The canonical name of the dialect; `None` as long as it is not known."""
        return None if self._payloads.dialect is None else self._payloads.dialect.name

    def feed(self, data: bytes | bytearray | memoryview | Mapping[str, Any]) -> list[Event]:
        """
        Decode *data* and return the events that it completes, oldest first.

        *data* is bytes, cut anywhere, also inside a character or a CRLF; or one decoded payload, a mapping. An empty
        list means that more is needed. What is wrong in the stream is an event, not an exception.

        Raises:
            LimitExceeded: If a limit is passed; `events` has what was complete before it.
            ValueError: After `close()`.
            TypeError: If *data* is neither, or bytes and payloads are mixed.
        """
        if self._closed:
            raise ValueError("feed() after close()")
        if isinstance(data, (bytes, bytearray, memoryview)):
            data = self.unfinished.gather(data if type(data) is bytes else bytes(data), self._framer)
            if not data:
                return []
            self._fed = None
            events = self._read_on(data)
            if self.unfinished.data and not self._framer.idle:
                events += self._read_on(self.unfinished.release())
            return events
        return self._read_on(data)

    def _read_on(self, data: Any) -> list[Event]:
        """The events of bytes that are to be read now, or of a payload."""
        templates = self._templates
        if templates.is_ready and type(data) is bytes and self._framer.reader.idle:  # type: ignore[union-attr]
            found = templates.find_read(data)
            if found is not None:
                self._writer.frame += 1
                target, text = found
                event = target.event(target.choice, target.index, text)
                if templates.telling is None:
                    return [event]
                templates.catch_up()
                return [event, *self._taken()]
        return self._read_in_full(data)

    def _read_in_full(self, data: Any) -> list[Event]:
        """The same where no template fits."""
        if self._templates.is_behind:
            self._templates.catch_up()
        try:
            if type(data) is bytes:
                self._feed_bytes(data)
            else:
                self._feed_payload(data)
        except LimitExceeded as breach:
            self._close()
            breach.events = self._taken()
            raise
        return self._taken()

    def feed_into(self, accumulator: StreamAccumulator, data: Any) -> None:
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

    def plain_event(self, accumulator: StreamAccumulator, read: bytes) -> Event | None:
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

    def express(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Generator[Event, None, Any]:
        """
        The events of *pieces*, one read each and already folded, for as long as templates fit. What is returned is the
        first piece that does not fit, to be fed, or `END`. Nothing may be fed in between.
        """
        templates, writer, find = self._templates, self._writer, self._templates.find_read
        for piece in pieces:
            found = find(piece) if type(piece) is bytes else None
            if found is None:
                return piece
            target, text = found
            writer.frame += 1
            target.open(accumulator).append(text)
            event = target.event(target.choice, target.index, text)
            if templates.telling is None:
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

    def settle(self, accumulator: StreamAccumulator) -> None:
        """See to it that *accumulator* has what frames that fitted templates said beside their texts."""
        if self._templates.is_behind and not self._closed:
            self._templates.catch_up()
            accumulator.observe_all(self._taken())

    def follow(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        """
        Take *pieces*, one read each, for as long as templates fit; the first that does not is returned, to be fed.

        Raises:
            StopIteration: When there are no more; and whatever *pieces* raises.
        """
        if self.unfinished.data or not self._templates.is_ready:
            return next(pieces)
        return self._follow(accumulator, pieces)

    def _follow(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
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

    def take_many(self, accumulator: StreamAccumulator, pieces: list[bytes], joined: bytes) -> bool:
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

    def _feed_many(self, accumulator: StreamAccumulator, data: bytes) -> bytes:
        """
        Take the frames of a long read: many in one go where they fit one template, else one by one, so that templates
        are learned and fit. What is left is returned.
        """
        blank = b"\r\n\r\n" if b"\r\n\r\n" in data[:_LONG_READ] else b"\n\n"
        at, end = 0, data.rfind(blank) + len(blank)
        if data.find(blank) + len(blank) == end:
            return data  # one long frame
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

    def _swallow(self, accumulator: StreamAccumulator, data: bytes) -> int:
        """Take as many frames in one go as fit; how many bytes they were."""
        templates = self._templates
        if not templates.is_ready or not self._framer.idle:
            return 0
        taken = templates.swallow(accumulator, data)
        self._count_taken(templates)
        return taken

    def _feed_each(self, accumulator: StreamAccumulator, data: bytes, blank: bytes) -> None:
        """Take the frames in *data*, each of which *blank* ends."""
        pieces = iter([frame + blank for frame in data.split(blank)[:-1]])
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

    def _feed_messages(self, accumulator: StreamAccumulator, data: bytes) -> bytes:
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

    def _take_messages(self, accumulator: StreamAccumulator, data: bytes, at: int) -> int:
        """Take the messages from *at* on for as long as they fit; where the first one begins that does not."""
        templates = self._templates
        alike = templates.alike
        if alike is None:
            return at
        templates.take(accumulator, alike.payloads(data, at))
        self._count_taken(templates)
        return alike.at

    def _feed_events(self, accumulator: StreamAccumulator, data: Any) -> None:
        try:
            events = self._read_in_full(data)
        except LimitExceeded as breach:
            accumulator.observe_all(breach.events)
            raise
        accumulator.observe_all(events)

    def close(self) -> list[Event]:
        """
        The events that the end of the input completes; `MessageStop` is the last. Calling it again gives none.

        Raises:
            LimitExceeded: If a limit is passed by what was pending.
        """
        return self.finish()

    def finish(self, error: StreamError | None = None, *, cancelled: bool = False) -> list[Event]:
        """As `close`, for an input that an error of the transport ended, or that nobody wants any more."""
        if self._closed:
            return []
        if self._templates.is_behind:
            self._templates.catch_up()
        partial = self.unfinished.release()
        self._close()
        writer, framer = self._writer, self._framer
        try:
            for frame in [*(framer.feed(partial) if partial else ()), *framer.close()]:
                self._frame(frame)
            if framer.breach is not None:
                raise framer.breach
        except LimitExceeded as breach:
            breach.events = self._taken()
            raise
        self._payloads.finish(bytes(self._head))
        writer.close(done=self.end_seen and not writer.errored and error is None)
        if error is not None:
            writer.out.append(ErrorEvent(error))
        writer.out.append(MessageStop(self._how_it_ended(error, cancelled)))
        return self._taken()

    def _close(self) -> None:
        self._closed = True
        self._templates.clear()
        self.unfinished.data.clear()

    @property
    def end_seen(self) -> bool:
        """True once the dialect's end mark has come."""
        return self._payloads.end_seen

    def note(self, kind: str, detail: str) -> None:
        """Add a diagnostic of the layer that reads the source."""
        self._writer.diagnose(kind, detail)

    def _how_it_ended(self, error: StreamError | None, cancelled: bool) -> Ended:
        # Who stops reading after the end mark has missed nothing.
        if cancelled and not self.end_seen:
            return "cancelled"
        if error is not None or self._writer.errored:
            return "error"
        dialect, framer = self._payloads.dialect, self._framer
        if self.end_seen:
            return "clean"
        if dialect is None:
            return "eof"
        # A body that is one document or an array ends where it ends, and so do payloads whose end mark is none.
        as_payloads = self._mode == "payloads" and dialect.ends_with_done
        body_ends = dialect.ends_with_body or as_payloads or framer.framing in ("json", "json-array")
        if (framer.closed_array and dialect.ends_with_body) or (body_ends and self._writer.finished):
            return "clean"
        return "eof"

    # Bytes

    def _feed_bytes(self, data: bytes) -> None:
        if self._mode != "bytes":
            self._set_mode("bytes")
        over = 0 if self._is_countless else self._count(len(data))
        if over:
            data = data[: len(data) - over]
        if not self._payloads.has_spoken and len(self._head) < HEAD_BYTES:
            self._head += data[: HEAD_BYTES - len(self._head)]
        reader = self._framer.reader
        if reader is None:
            frames = self._framer.feed(data)
            self._read = None
        else:
            fresh = reader.idle
            frames = reader.feed(data)
            messages = self._framer.messages
            # Of a binary message the beginning varies with the length, so the whole read is no use.
            whole = fresh and len(frames) == 1 and reader.idle and messages is None and self._is_countless
            self._read = data if whole else None
            if messages is not None:
                self._keep_message(messages)
            elif self.unfinished.most < 0 and self._is_countless and reader.framing == "sse" and _LF in data:
                self._keep_partials()
        for frame in frames:
            self._frame(frame)
        if self._framer.breach is not None:
            raise self._framer.breach
        if over:
            raise LimitExceeded("stream_bytes", self._bytes, self._limits.stream_bytes or 0)

    def _keep_partials(self) -> None:
        if self._payloads.has_spoken and not is_slow():
            cap = self._limits.frame_bytes
            self.unfinished.most = cap if cap is not None else sys.maxsize

    def _keep_message(self, reader: EventStreamFramer) -> None:
        """Keep the beginning of a binary message: until it is whole it is only added to."""
        if not reader.idle and self._is_countless and not is_slow():
            self.unfinished.needs = reader.need
            self.unfinished.data += reader.release()

    def _count(self, size: int) -> int:
        """Count bytes against the cap; how many of them are too many."""
        self._bytes += size
        return max(0, self._bytes - (self._limits.stream_bytes or 0))

    def _set_mode(self, mode: str) -> None:
        if self._mode is not None and self._mode != mode:
            raise TypeError("a stream is fed either bytes or decoded payloads, not both")
        self._mode = mode

    def _frame(self, frame: Frame) -> None:
        """One frame, whatever it is."""
        if frame.kind == "data":
            self._data_frame(frame)
        else:
            self._frames.other(frame)
            self._templates.clear()
        self._writer.frame += 1

    def _data_frame(self, frame: Frame) -> None:
        writer, templates, data = self._writer, self._templates, frame.data
        if templates.is_in_force and frame.event == self._learned_event:
            found = templates.find(data, self._read)
            if found is not None:
                target, text = found
                writer.out.append(target.event(target.choice, target.index, text))
                if templates.telling is not None:
                    templates.catch_up()
                return
        if templates.is_behind:
            templates.catch_up()
        if data[:1] != b"{":
            if not data or data.isspace():
                if frame.event == "error" and not frame.cut:
                    self._hand_on(None, frame)
                    templates.clear()
                return
            plain = unwrapped(data)
            if plain.lstrip().startswith(b"[DONE]"):
                self._payloads.end_mark()
                templates.clear()
                return
            if plain is not data:
                self._wrapped(Frame(plain, frame.event, cut=frame.cut))
                return
        payload, forgiven = self._frames.payload(frame, None if is_slow() else self._fed)
        if payload is NOTHING:
            templates.clear()
            return
        before = len(writer.out)
        writer.careful = forgiven is not None
        writer.singular = False
        dialect = self._payloads.settled
        if type(payload) is dict and dialect is not None:
            try:
                dialect.decode(payload, frame)
            except RecursionError:
                self._payloads.too_deep()
        else:
            self._hand_on(payload, frame)
        if forgiven == "glued_end":
            self._payloads.end_mark()
            self._templates.clear()
        elif self._templates.learns:
            self._learn(before, frame, payload)

    def _wrapped(self, frame: Frame) -> None:
        """A payload that was framed or encoded twice, without what was around it."""
        if not self._has_wrapped:
            self._has_wrapped = True
            self._writer.diagnose("wrapped_twice", "payloads stand behind a second `data:` or inside a string")
        payload, forgiven = self._frames.payload(frame, None)
        if payload is not NOTHING:
            self._writer.careful = forgiven is not None
            self._hand_on(payload, frame)
        if forgiven == "glued_end":
            self._payloads.end_mark()
        self._templates.clear()

    def _hand_on(self, payload: Any, frame: Frame) -> None:
        """A payload that may tell the dialect."""
        known = self._payloads.dialect
        self._payloads.take(payload, frame)
        if self._payloads.dialect is not known:
            self.learn_anew()
        if self._payloads.has_spoken:
            self._head.clear()

    def _learn(self, before: int, frame: Frame, payload: Any) -> None:
        """
        If all that a frame meant, from event *before* on, is one delta, others may be known by their likeness. The
        first of its part may have opened it.
        """
        writer, templates = self._writer, self._templates
        sample = templates.sample_of(writer.out, before, frame.data, self._read, payload)
        if sample is None or type(payload) is not dict or not writer.is_plain(*sample.part, is_new=sample.is_new):
            templates.clear()
            return
        if frame.event != self._learned_event or len(writer.out) > before + 1:
            # What is in force was learned before what else was told now.
            templates.clear()
            self._learned_event = frame.event
        messages = self._framer.messages
        if messages is not None and self._is_countless:
            if templates.alike is None or templates.alike.name != frame.event:
                templates.alike = messages.alike(frame.event)
        templates.learn(sample)

    def _feed_payload(self, payload: Any) -> None:
        if not hasattr(payload, "keys") or isinstance(payload, type):
            raise TypeError(not_fed(payload))
        self._set_mode("payloads")
        self._writer.careful = True
        self._hand_on(dict(payload), Frame(b""))
        self._writer.frame += 1

    def learn_anew(self) -> None:
        """Forget the templates: frames are read in full until there are new ones."""
        if not is_slow() and self._payloads.dialect is not None:
            from chunkfold.likeness.templates import Templates

            dialect, cap = self._payloads.dialect, self._limits.frame_bytes
            self._templates = Templates(cap, dialect, all_totals=self._all_totals)

    def tell_all_totals(self) -> None:
        """Tell every usage also where only the response is asked for. To be called before anything is fed."""
        self._all_totals = True
        if self._payloads.dialect is not None:
            self.learn_anew()

    def _taken(self) -> list[Event]:
        events, self._writer.out = self._writer.out, []
        return events


def not_fed(data: Any) -> str:
    """What is wrong with feeding *data*."""
    remedy = ": encode it first, with .encode()" if isinstance(data, str) else ""
    return f"feed() takes bytes or one payload, not {described(data)}{remedy}"
