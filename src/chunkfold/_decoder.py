"""
The lower half: bytes or payloads in, events out.

It cuts the bytes into frames, finds out the dialect, and hands each payload to it. Everything that can be wrong below
the dialect is dealt with here: text that is no JSON, frames that the end cut, lines that belong to no framing, input
that is no stream at all.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold import _json, dialects
from chunkfold._restated import LONG
from chunkfold._restated import read as read_restated
from chunkfold._templates import DELTAS, Templates, is_slow
from chunkfold.dialects._errors import error_body, error_in, read_error
from chunkfold.dialects._words import is_ping
from chunkfold.dialects._writer import Writer
from chunkfold.errors import LimitExceeded
from chunkfold.events import ErrorEvent, MessageStop, UsageUpdate
from chunkfold.framing import Frame, Framer
from chunkfold.limits import Limits
from chunkfold.response import StreamError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping

    from chunkfold.accumulator import StreamAccumulator
    from chunkfold.events import Event
    from chunkfold.framing.aws_eventstream import EventStreamFramer
    from chunkfold.response import Ended

__all__ = ["END", "Decoder"]

END: Final = object()
"""There are no more pieces."""

# How much is kept of input that turns out to be no stream.
_HEAD_BYTES = 64 << 10
_EXCERPT = 200
# Payloads, and bytes of them, that are held until one of them tells the dialect.
_HELD = 1000
_HELD_BYTES = 1 << 20

# Reads longer than this hold many frames: worth looking at one by one.
_LONG_READ = 4 << 10
# How many bytes of those are looked at in one go, at first and at most.
_FIRST_SPAN, _LAST_SPAN = 2 << 10, 64 << 10
_LF, _CR = 0x0A, 0x0D
# What a binary message may begin with, and how long its beginning is.
_BINARY = (b"\x00", b"\x01")
_PRELUDE_BYTES = 12
_EVENT_ENDS = (b"\n\n", b"\n\r\n")


# Until the dialect is known nothing is learned.
_NO_TEMPLATES = Templates()


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
        limits = limits if limits is not None else Limits()
        self._limits = limits
        self._cumulative = cumulative_deltas
        # Every usage is to be told to who gathers them, though the latest settles it.
        self._all_totals = False
        self._framer = Framer(limits.frame_bytes)
        self._writer = Writer(limits, split_think_tags=split_think_tags)
        self._templates = _NO_TEMPLATES
        self._dialect: dialects.Dialect | None = None
        self._named = dialect != "auto"
        self._mode: str | None = None
        self._closed = False
        self._bytes = 0
        # How many bytes of a long read are looked at in one go.
        self._span = _FIRST_SPAN
        self._is_countless = limits.stream_bytes is None
        self._read: bytes | None = None
        # Where the events go, if they go nowhere else.
        self._fed: StreamAccumulator | None = None
        self.partial = bytearray()
        """The beginning of an event that nothing can be said of yet: kept, so that the framing gets whole events."""
        # The most bytes that are kept; none before the framing is known.
        self.partial_bytes = -1
        self.partial_needs = 0
        """Where lengths are told ahead: how many bytes there must be before anything can be said of them."""
        # The name of the frames that the templates were made from.
        self._learned_event = ""
        self._done = False
        self._suspect = self._named
        # A payload was given to the dialect.
        self._spoken = False
        # The payloads, up to two, that the named dialect did not recognise.
        self._doubtful: list[dict[str, Any]] = []
        self._held: list[tuple[Any, Frame]] = []
        self._held_bytes = 0
        self._overflow = False
        # Something came that is neither a payload, an error, a ping nor an end mark.
        self._noise = False
        self._head = bytearray()
        # It was noted that payloads are framed or encoded twice.
        self._has_wrapped = False
        if self._named:
            self._speak(dialects.get(dialect))

    @property
    def limits(self) -> Limits:
        """The caps in force."""
        return self._limits

    @property
    def dialect(self) -> str | None:
        """The canonical name of the dialect; `None` as long as it is not known."""
        return None if self._dialect is None else self._dialect.name

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
            data = self._gather(data if type(data) is bytes else bytes(data))
            if not data and self._mode == "bytes":
                return []
            self._fed = None
            events = self._read_on(data)
            if self.partial and not self._is_idle:
                events += self._read_on(self._ungather())
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
                if not templates.has_totals:
                    return [event]
                templates.catch_up()
                return [event, *self._taken()]
        if templates.is_behind:
            templates.catch_up()
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
            data = self._gather(data if type(data) is bytes else bytes(data))
            if not data and self._mode == "bytes":
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
        if self.partial and not self._is_idle:
            self._feed_events(accumulator, self._ungather())

    def _gather(self, data: bytes) -> bytes:
        """
        What there is to read, of *data* and what was kept. The beginning of an event is kept until its end has come,
        as long as that makes no event late.
        """
        partial = self.partial
        if partial:
            if len(partial) + len(data) < self.partial_needs:
                partial += data
                return b""
            if _LF not in data and _CR not in data and len(partial) <= self.partial_bytes:
                partial += data
                return b""
            data = bytes(partial) + data
            partial.clear()
            if self.partial_needs:
                return data
        elif self.partial_bytes < 0 or data.endswith(_EVENT_ENDS) or not (self._is_idle or _ends_event(data)):
            return data
        rest = _unfinished(data)
        if rest and len(rest) <= self.partial_bytes:
            partial += rest
            return data[: -len(rest)]
        return data

    @property
    def _is_idle(self) -> bool:
        """True if nothing is half-read."""
        return self._framer.idle

    def _ungather(self) -> bytes:
        """What was kept, to be read after all."""
        data = bytes(self.partial)
        self.partial.clear()
        return data

    def plain_event(self, accumulator: StreamAccumulator, read: bytes) -> Event | None:
        """The event of *read*, already folded, if a template fits it and it says no more; else nothing is done."""
        templates = self._templates
        if not self.is_ready or templates.may_have_totals:
            return None
        found = templates.find_read(read)
        if found is None:
            return None
        target, text = found
        target.open(accumulator).append(text)
        self._writer.frame += 1
        return target.event(target.choice, target.index, text)

    def express(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Generator[Event, None, Any]:
        """
        The events of *pieces*, one read each and already folded, for as long as templates fit. What is returned is the
        first piece that does not fit, to be fed, or `END`.
        """
        templates, writer, reader = self._templates, self._writer, self._framer.reader
        for piece in pieces:
            if type(piece) is not bytes or self.partial or not reader.idle:  # type: ignore[union-attr]
                return piece
            found = templates.find_read(piece)
            if found is None:
                return piece
            target, text = found
            writer.frame += 1
            target.open(accumulator).append(text)
            yield target.event(target.choice, target.index, text)
            if templates.has_totals:
                templates.catch_up()
                for event in self._taken():
                    accumulator.observe(event)
                    yield event
        return END

    @property
    def takes_many(self) -> bool:
        """True if many binary messages in one read are read faster than each in its own."""
        return self._framer.messages is not None and self._templates.learns and self._is_countless

    @property
    def is_ready(self) -> bool:
        """True if the next read may fit a template."""
        return self._templates.is_ready and not self.partial and self._framer.reader.idle  # type: ignore[union-attr]

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
        return next(pieces) if self.partial else self._follow(accumulator, pieces)

    def _follow(self, accumulator: StreamAccumulator, pieces: Iterator[Any]) -> Any:
        templates = self._templates
        if not templates.is_ready or not self._is_idle:
            return next(pieces)
        try:
            return templates.follow(accumulator, pieces)
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
        if not templates.is_ready or not self._is_idle:
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
        return self._dialect is None or self._templates.learns

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
            events = self._read_on(data)
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
        self._templates.catch_up()
        partial = self._ungather()
        self._close()
        writer = self._writer
        try:
            for frame in self._framer.feed(partial) + self._framer.close():
                self._frame(frame)
            if self._framer.breach is not None:
                raise self._framer.breach
        except LimitExceeded as breach:
            breach.events = self._taken()
            raise
        if self._spoken:
            self._end_of_body()
        else:
            self._give_up()
        if self._dialect is not None:
            self._dialect.close()
        writer.close()
        if error is not None:
            writer.out.append(ErrorEvent(error))
        writer.out.append(MessageStop(self._how_it_ended(error, cancelled)))
        return self._taken()

    def _close(self) -> None:
        self._closed = True
        self._templates.clear()
        self.partial.clear()

    @property
    def end_seen(self) -> bool:
        """True once the dialect's end mark has come."""
        return self._dialect.end_seen if self._dialect is not None else self._done

    def note(self, kind: str, detail: str) -> None:
        """Add a diagnostic of the layer that reads the source."""
        self._writer.diagnose(kind, detail)

    def _how_it_ended(self, error: StreamError | None, cancelled: bool) -> Ended:
        # Who stops reading after the end mark has missed nothing.
        if cancelled and not self.end_seen:
            return "cancelled"
        if error is not None or self._writer.errored:
            return "error"
        dialect, framer = self._dialect, self._framer
        if dialect is None:
            return "clean" if self._done else "eof"
        if dialect.end_seen:
            return "clean"
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
        if not data:
            return
        over = self._count(len(data))
        if over:
            data = data[: len(data) - over]
        if not self._spoken and len(self._head) < _HEAD_BYTES:
            self._head += data[: _HEAD_BYTES - len(self._head)]
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
            elif self.partial_bytes < 0 and self._is_countless and reader.framing == "sse" and _LF in data:
                self._keep_partials()
        for frame in frames:
            self._frame(frame)
        if self._framer.breach is not None:
            raise self._framer.breach
        if over:
            raise LimitExceeded("stream_bytes", self._bytes, self._limits.stream_bytes or 0)

    def _keep_partials(self) -> None:
        if self._spoken and not is_slow():
            cap = self._limits.frame_bytes
            self.partial_bytes = cap if cap is not None else sys.maxsize

    def _keep_message(self, reader: EventStreamFramer) -> None:
        """Keep the beginning of a binary message: until it is whole it is only added to."""
        if not reader.idle and self._is_countless and not is_slow():
            self.partial_needs = reader.need
            self.partial += reader.release()

    def _count(self, size: int) -> int:
        """Count bytes against the cap; how many of them are too many."""
        cap = self._limits.stream_bytes
        if cap is None:
            return 0
        self._bytes += size
        return max(0, self._bytes - cap)

    def _set_mode(self, mode: str) -> None:
        if self._mode is not None and self._mode != mode:
            raise TypeError("a stream is fed either bytes or decoded payloads, not both")
        self._mode = mode

    def _frame(self, frame: Frame) -> None:
        """One frame: what it is below the dialect."""
        writer = self._writer
        kind = frame.kind
        if kind == "data":
            self._data_frame(frame)
        else:
            if kind == "comment":
                writer.ping()
            elif kind == "stray":
                self._stray(frame)
            elif kind == "exception":
                self._exception(frame)
            else:
                message = frame.data.decode(errors="replace")
                writer.error(StreamError("corrupt_frame", message, origin="decoder"))
            self._templates.clear()
        writer.frame += 1

    def _data_frame(self, frame: Frame) -> None:
        writer, templates, data = self._writer, self._templates, frame.data
        if templates.is_in_force and frame.event == self._learned_event:
            found = templates.find(data, self._read)
            if found is not None:
                target, text = found
                writer.out.append(target.event(target.choice, target.index, text))
                if templates.has_totals:
                    templates.catch_up()
                return
        if templates.is_behind:
            templates.catch_up()
        if data[:1] != b"{":
            if not data or data.isspace():
                return
            plain = _unwrapped(data)
            if plain.lstrip().startswith(b"[DONE]"):
                self._end_mark()
                return
            if plain is not data:
                self._wrapped(plain, frame)
                return
        payload, forgiven = self._payload(frame)
        if forgiven == "not_json":
            templates.clear()
            return
        before = len(writer.out)
        writer.careful = forgiven is not None
        writer.singular = False
        dialect = self._dialect
        if type(payload) is dict and dialect is not None and self._spoken and not self._suspect:
            try:
                dialect.decode(payload, frame)
            except RecursionError:
                self._too_deep()
        else:
            self._any_payload(payload, frame)
            templates = self._templates  # of the dialect that was found
        if forgiven == "glued_end":
            self._end_mark()
        elif templates.learns:
            self._learn(before, frame, payload)

    def _wrapped(self, plain: bytes, frame: Frame) -> None:
        """A payload that was framed or encoded twice, without what is around it."""
        self._templates.clear()
        if not self._has_wrapped:
            self._has_wrapped = True
            self._writer.diagnose("wrapped_twice", "payloads stand behind a second `data:` or inside a string")
        frame = Frame(plain, frame.event, cut=frame.cut)
        payload, forgiven = self._payload(frame)
        if forgiven != "not_json":
            self._writer.careful = forgiven is not None
            self._any_payload(payload, frame)
        if forgiven == "glued_end":
            self._end_mark()
        self._templates.clear()

    def _learn(self, before: int, frame: Frame, payload: Any) -> None:
        """If all that a frame meant, from event *before* on, is one delta, others may be known by their likeness."""
        writer, templates = self._writer, self._templates
        delta = _one_delta(writer.out, before)
        if delta is None or type(payload) is not dict or not writer.is_plain(delta.choice, delta.index):
            templates.clear()
            return
        if frame.event != self._learned_event or len(writer.out) > before + 1:
            # What is in force was learned before the usage that came now.
            templates.clear()
            self._learned_event = frame.event
        messages = self._framer.messages
        if messages is not None and self._is_countless:
            if templates.alike is None or templates.alike.name != frame.event:
                templates.alike = messages.alike(frame.event)
        templates.learn(delta, frame.data, self._read, payload)

    def _too_deep(self) -> None:
        self._writer.diagnose("frame_too_deep", "nests deeper than can be read; what was not read is skipped")

    def _payload(self, frame: Frame) -> tuple[Any, str | None]:
        """The JSON of a frame, or `"not_json"` after noting what it is instead."""
        writer = self._writer
        depth = self._limits.json_depth
        try:
            payload, forgiven = self._restated(frame.data) or _json.decode(frame.data, depth)
        except _json.TooDeep as error:
            if depth is None or error.args[0] <= depth:
                writer.diagnose("frame_too_deep", f"nests {error.args[0]} deep, more than can be read; skipped")
                return None, "not_json"
            raise LimitExceeded("json_depth", depth + 1, depth) from None
        except _json.NotJSON as error:
            self._not_json(frame, str(error))
            return None, "not_json"
        if forgiven is not None and forgiven != "lenient_json":
            kind = "glued_objects" if forgiven == "glued_end" else forgiven
            writer.diagnose(kind, f"a frame of {len(frame.data)} bytes was read leniently")
        return payload, forgiven

    def _restated(self, data: bytes) -> tuple[Any, None] | None:
        """The JSON of a long frame that holds a text which has been folded; `None` if it is like any other."""
        fed, depth = self._fed, self._limits.json_depth
        if fed is None or len(data) < LONG or is_slow():
            return None
        texts = [part.text() for _, _, part in fed.rows() if LONG <= part.size() <= len(data)]
        if not texts or (depth is not None and _json.is_deeper(data, depth)):
            return None
        try:
            return read_restated(data, texts), None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _not_json(self, frame: Frame, why: str) -> None:
        writer = self._writer
        if frame.cut:
            writer.diagnose("frame_cut", f"the input ended inside a frame, after {len(frame.data)} bytes of it")
        elif frame.event == "error":
            # The body of an error need not be JSON.
            writer.error(read_error(frame.data.decode(errors="replace"), raw=None))
        elif is_ping(frame.event):
            writer.ping()
        else:
            self._noise = True
            writer.diagnose("frame_not_json", f"a frame of {len(frame.data)} bytes was skipped: {why}")

    def _stray(self, frame: Frame) -> None:
        """A line that belongs to no framing."""
        text = frame.data.decode(errors="replace")
        field, colon, rest = text.partition(":")
        if text.strip() == "[DONE]":
            self._end_mark()
        elif colon and field == "error" and rest.strip():
            # llama.cpp and gpustack tell an error in a field of that name.
            self._error_field(rest.strip())
        elif frame.cut:
            self._writer.diagnose("frame_cut", f"the input ended inside a line, after {len(frame.data)} bytes of it")
        elif not self._spoken:
            self._noise = True
            self._hold(text, frame)
        elif colon and field.replace("_", "").replace("-", "").isalnum():
            self._writer.diagnose("unknown_field", f"the field {field[:40]!r} of an event was ignored")
        else:
            self._writer.diagnose("stray_text", f"{len(frame.data)} bytes belong to no frame; kept as an unknown part")
            self._writer.unknown("stray_text", text[:_HEAD_BYTES])

    def _error_field(self, text: str) -> None:
        try:
            payload, _ = _json.decode(text.encode())
        except ValueError:
            payload = text
        found = error_in(payload) if isinstance(payload, dict) else None
        self._writer.error(found if found is not None else read_error(payload, raw=payload))

    def _exception(self, frame: Frame) -> None:
        """An exception frame: its name is the type."""
        try:
            payload, _ = _json.decode(frame.data)
        except ValueError:
            payload = frame.data.decode(errors="replace") or None
        self._writer.error(read_error(payload, type_=frame.event or None, raw=payload))

    def _end_mark(self) -> None:
        self._done = True
        self._templates.clear()
        if self._dialect is not None:
            self._dialect.done()

    # Payloads

    def _feed_payload(self, payload: Any) -> None:
        self._set_mode("payloads")
        if not hasattr(payload, "keys"):
            raise TypeError(f"expected bytes or a mapping, got {type(payload).__name__}")
        self._writer.careful = True
        self._any_payload(dict(payload), Frame(b""))
        self._writer.frame += 1

    def _any_payload(self, payload: Any, frame: Frame) -> None:
        """A payload of any shape. Only objects say something; a list is taken as so many payloads."""
        if isinstance(payload, dict):
            try:
                self._object(payload, frame)
            except RecursionError:
                self._too_deep()
        elif isinstance(payload, list):
            for item in payload:
                self._any_payload(item, frame)
        elif frame.event == "error" and isinstance(payload, str) and payload.strip():
            # A sentence is the body of an error also where it is written as JSON.
            self._writer.error(read_error(payload, raw=None))
        elif is_ping(frame.event):
            self._writer.ping()
        elif payload is not None:
            self._noise = True
            self._writer.diagnose("payload_not_object", f"a {type(payload).__name__} where an object was expected")

    def _object(self, payload: dict[str, Any], frame: Frame) -> None:
        if self._dialect is None:
            self._find_dialect(payload, frame)
            return
        if self._suspect:
            self._check_name(payload, frame)
        if self._spoken:
            self._dialect.decode(payload, frame)
        else:
            self._decode(payload, frame)

    def _find_dialect(self, payload: dict[str, Any], frame: Frame) -> None:
        """Pings and bare errors decide nothing and do not wait; the first payload that a dialect knows decides."""
        found = dialects.recognise(payload, frame.event)
        if found is not None:
            self._speak(found)
            self._decode(payload, frame)
            return
        error = error_in(payload)
        if error is not None:
            self._writer.error(error)
        elif not payload or is_ping(payload.get("type"), frame.event):
            self._writer.ping()
        else:
            self._hold(payload, frame)

    def _hold(self, what: Any, frame: Frame) -> None:
        if len(self._held) < _HELD and self._held_bytes < _HELD_BYTES:
            self._held.append((what, frame))
            self._held_bytes += len(frame.data)
        elif not self._overflow:
            self._overflow = True
            self._writer.diagnose("held_too_much", f"after {len(self._held)} payloads without a dialect")

    def _speak(self, dialect: type[dialects.Dialect]) -> None:
        cumulative = dialect.cumulative if self._cumulative is None else self._cumulative
        self._writer.speak(dialect.name, dialect.words, cumulative=cumulative)
        self._dialect = dialect(self._writer)
        self.learn_anew()
        if self._done:
            self._dialect.done()

    def learn_anew(self) -> None:
        """Forget the templates: frames are read in full until there are new ones."""
        self._templates = Templates(self._limits.frame_bytes, self._dialect, all_totals=self._all_totals)

    def tell_all_totals(self) -> None:
        """Tell every usage also where only the response is asked for. To be called before anything is fed."""
        self._all_totals = True
        if self._dialect is not None:
            self.learn_anew()

    def _decode(self, payload: dict[str, Any], frame: Frame) -> None:
        """The first payload of the dialect, after all that was held because it told none."""
        assert self._dialect is not None  # noqa: S101 - for the type checker; set by the caller
        self._spoken = True
        held, self._held = self._held, []
        self._head.clear()
        writer, careful = self._writer, self._writer.careful
        start = len(writer.out)
        writer.careful = True  # how these were read is forgotten
        for what, where in held:
            if isinstance(what, dict):
                self._dialect.decode(what, where)
            else:
                self._stray(where)
        writer.careful = careful
        self._dialect.decode(payload, frame)
        writer.introduce(start)

    def _end_of_body(self) -> None:
        """A single payload that the named dialect did not recognise may be the error body of a gateway."""
        writer = self._writer
        if self._suspect and len(self._doubtful) == 1 and not writer.errored and not writer.finished:
            error = error_body(self._doubtful[0])
            if error is not None:
                writer.error(error)

    def _check_name(self, payload: dict[str, Any], frame: Frame) -> None:
        """A named dialect stands even if it is wrong, but then the response says what it looks like."""
        assert self._dialect is not None  # noqa: S101 - for the type checker; set when the dialect is named
        if self._dialect.recognise(payload, frame.event):
            self._suspect = False
            return
        other = dialects.recognise(payload, frame.event)
        if other is not None and other.name != self._dialect.name:
            self._suspect = False
            self._writer.diagnose("dialect_mismatch", f"named {self._dialect.name}, looks like {other.name}")
        elif len(self._doubtful) < 2:
            self._doubtful.append(payload)

    def _give_up(self) -> None:
        """The end, and no dialect was found: an error body, or no stream at all."""
        writer = self._writer
        payloads = [what for what, _ in self._held if isinstance(what, dict)]
        if len(payloads) == 1 and len(self._held) == 1:
            error = error_body(payloads[0])
            if error is not None:
                writer.error(error)
                return
        if not self._held and not self._noise:
            if self._named:
                writer.introduce(len(writer.out))
            return
        text = bytes(self._head).decode(errors="replace") if self._head else _json.encode(payloads)[:_HEAD_BYTES]
        writer.unknown("unrecognised", text)
        if writer.errored:
            return
        excerpt = "".join(character for character in text if character.isprintable() or character == " ")[:_EXCERPT]
        writer.out.append(ErrorEvent(StreamError("unrecognised", excerpt, origin="decoder")))
        writer.errored = True

    def _taken(self) -> list[Event]:
        events, self._writer.out = self._writer.out, []
        return events


def _ends_event(data: bytes) -> bool:
    """True if an event ends in *data*."""
    return b"\n\n" in data or (_CR in data and b"\n\r\n" in data)


def _unwrapped(data: bytes) -> bytes:
    """
    What stands behind a second `data:`, or the text of a JSON string that holds an object or the end mark: servers
    frame twice what their framework frames, and encode what is JSON already. *data* itself if it is neither.
    """
    plain = data.lstrip()
    while plain.startswith(b"data:"):
        plain = plain[5:].lstrip()
    if plain.startswith((b'"{', b'"[DONE]"')):
        try:
            plain = msgspec.json.decode(plain, type=str).encode()
        except (msgspec.DecodeError, UnicodeError):
            return data
    return plain if plain.startswith((b"{", b"[")) and len(plain) < len(data.lstrip()) else data


def _unfinished(data: bytes) -> bytes:
    """The beginning of an event at the end of *data*; empty if what is there may mean something by itself."""
    cut = data.rfind(b"\n\n") + 2 if b"\n\n" in data else 0
    if _CR in data and b"\n\r\n" in data:
        cut = max(cut, data.rfind(b"\n\r\n") + 3)
    rest = data[cut:]
    lines = rest.count(b"\n")
    if rest.count(b"\r") != rest.count(b"\r\n"):
        return b""
    # Names say nothing before the data comes, and the data nothing before the line after it is there.
    if lines == 0 or (lines == 1 and rest.startswith((b"data:", b"event:", b"id:"))):
        return rest
    if lines == 2 and rest.startswith((b"event:", b"id:")) and rest.startswith(b"data:", rest.index(b"\n") + 1):
        return rest
    return b""


def _one_delta(events: list[Event], start: int) -> Any:
    """The delta among the events from *start* on, if they say nothing but that and the usage so far."""
    if len(events) == start + 2 and type(events[start + 1]) is UsageUpdate:
        return events[start] if type(events[start]) in DELTAS else None
    return events[start] if len(events) == start + 1 and type(events[start]) in DELTAS else None
