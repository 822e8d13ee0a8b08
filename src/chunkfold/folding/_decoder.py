"""
The lower half: bytes or payloads in, events out.

It cuts the bytes into frames and hands their payloads to the dialect. Frames that are alike are known without being
read (see `likeness`).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.basis._wording import check_switch, described, given_or
from chunkfold.dialects._writer import Writer
from chunkfold.errors import LimitExceeded
from chunkfold.events import ErrorEvent, Event, MessageStop
from chunkfold.folding._frames import NOTHING, Frames, unwrapped
from chunkfold.folding._objects import is_usual, json_payload
from chunkfold.folding._payloads import HEAD_BYTES, Payloads
from chunkfold.folding._unfinished import Unfinished
from chunkfold.framing import Frame, Framer
from chunkfold.likeness import NO_TEMPLATES, NOT_YET, is_slow
from chunkfold.limits import DEFAULT_LIMITS, Limits
from chunkfold.response import StreamError

if TYPE_CHECKING:
    from chunkfold.accumulator import Gatherer
    from chunkfold.framing.aws_eventstream import EventStreamFramer
    from chunkfold.likeness.templates import Templates
    from chunkfold.response import Ended

__all__ = ["Decoder", "not_fed"]

_LF = 0x0A
_PIECE = "PayloadPart"


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
        check_switch("split_think_tags", split_think_tags)
        check_switch("cumulative_deltas", cumulative_deltas)
        self._limits = limits
        self._framer = Framer(limits.frame_bytes)
        self._writer = Writer(limits, split_think_tags=split_think_tags)
        self._payloads = Payloads(self._writer, dialect, cumulative=cumulative_deltas)
        self._frames = Frames(self._writer, self._payloads, limits.json_depth)
        self._mode: str | None = None
        # The bytes come in mappings.
        self._is_piecewise = False
        self._closed = False
        self._bytes = 0
        self._is_countless = limits.stream_bytes is None
        # What came before the dialect was known, if that should turn out to be no stream.
        self._head = bytearray()
        self._read: bytes | None = None
        # Where the events go, if they go nowhere else.
        self._fed: Gatherer | None = None
        self.unfinished = Unfinished()
        # Every usage is to be told to who gathers them, though the latest settles it.
        self._all_totals = False
        # Until the dialect is known nothing is learned.
        self._templates: Templates = NO_TEMPLATES
        # It was noted that payloads are framed or encoded twice.
        self._has_wrapped = False
        # The name of the frames that the templates were made from.
        self._learned_event = ""

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
                if templates.untold.shape is None:
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
        if (framer.closed_array and dialect.ends_with_body) or (body_ends and self._writer.table.is_finished):
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
        if not reader.idle and self._payloads.has_spoken and self._is_countless and not is_slow():
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
                if templates.untold.shape is not None:
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
        if forgiven in _json.ENDED:
            self._payloads.end_mark()
            self._templates.clear()
        elif templates.learns and self._templates is templates:
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
        if forgiven in _json.ENDED:
            self._payloads.end_mark()
        self._templates.clear()

    def _hand_on(self, payload: Any, frame: Frame) -> None:
        """A payload that may tell the dialect."""
        had_spoken = self._payloads.has_spoken
        self._payloads.take(payload, frame)
        if self._payloads.has_spoken != had_spoken or self._payloads.envelope is not None:
            self._learn_anew()
        if self._payloads.has_spoken:
            self._head.clear()

    def _learn(self, before: int, frame: Frame, payload: Any) -> None:
        """
        If all that a frame meant, from event *before* on, is one delta, others may be known by their likeness. The
        first of its part may have opened it.
        """
        if self._templates is NOT_YET:
            self._templates = self._made_templates()
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
        piece = _piece_in(payload) if _PIECE in payload and self._mode != "payloads" else None
        if piece is not None:
            self._is_piecewise = True
            self._feed_bytes(piece)
            return
        if self._mode != "payloads" and not self._is_piecewise:
            self._set_mode("payloads")
        own, depth = dict(payload), self._limits.json_depth
        if not is_usual(own, depth):
            if depth is not None and _json.is_deeper_value(own, depth):
                raise LimitExceeded("json_depth", depth + 1, depth)
            own = json_payload(own)
        self._writer.careful = True
        self._hand_on(own, Frame(b""))  # dialects tell payloads apart by their frames
        self._writer.frame += 1

    def _learn_anew(self) -> None:
        """Forget the templates: frames are read in full until there are new ones, and those in envelopes always."""
        may_learn = self._payloads.envelope is None and self._payloads.dialect is not None and not is_slow()
        self._templates = NOT_YET if may_learn else NO_TEMPLATES

    def _made_templates(self) -> Templates:
        from chunkfold.likeness.templates import Templates

        assert self._payloads.dialect is not None  # noqa: S101 - for the type checker; nothing is learned before
        return Templates(self._limits.frame_bytes, self._payloads.dialect, all_totals=self._all_totals)

    def _taken(self) -> list[Event]:
        events, self._writer.out = self._writer.out, []
        return events


def _piece_in(payload: Mapping[str, Any]) -> bytes | None:
    """The piece of a body that AWS's SDKs hand out for SageMaker."""
    part = payload[_PIECE]
    piece = part.get("Bytes") if isinstance(part, dict) else None
    return piece if isinstance(piece, bytes) else None


def not_fed(data: Any) -> str:
    """What is wrong with feeding *data*."""
    remedy = ": encode it first, with .encode()" if isinstance(data, str) else ""
    return f"feed() takes bytes or one payload, not {described(data)}{remedy}"
