"""
Payloads on their way to the dialect: which one it is, what comes before one is known, and what is to be said if none
ever is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold import dialects
from chunkfold.basis import _json
from chunkfold.basis._wording import counted, described
from chunkfold.dialects._error_words import is_error_line
from chunkfold.dialects._errors import error_body, error_event, error_in, error_told, read_error
from chunkfold.dialects._words import is_blank, is_ping, is_sign_of_life, word
from chunkfold.events import DiagnosticEvent, ErrorEvent
from chunkfold.framing import Frame
from chunkfold.response import Diagnostic, StreamError

if TYPE_CHECKING:
    from chunkfold.dialects._writer import Writer

__all__ = ["HEAD_BYTES", "Payloads"]

HEAD_BYTES = 64 << 10
"""How much is kept of input that turns out to be no stream."""

_EXCERPT = 200
# What files and bodies that are no stream yet begin with.
_PACKED = {
    b"\x1f\x8b\x08": "gzip",
    b"(\xb5/\xfd": "zstd",
    **{b"BZh%d1AY&SY" % level: "bzip2" for level in range(1, 10)},
    b"\xfd7zXZ": "xz",
    b"PK\x03\x04": "zip",
}
# Payloads, and bytes of them, that are held until one of them tells the dialect.
_HELD = 1000
_HELD_BYTES = 1 << 20
_NO_FIELDS: frozenset[str] = frozenset()


class Payloads:
    """
    Hands payloads to the dialect.

    Args:
        writer: Where events go.
        dialect: The name of the wire dialect, or `auto` to find it out from the first payload that tells.
        cumulative: True if each text is the whole text so far; `None`: as the dialect sends by default.

    Raises:
        UnknownDialect: If no dialect has that name.

    """

    def __init__(self, writer: Writer, dialect: str = "auto", *, cumulative: bool | None = None) -> None:
        self._writer = writer
        self._cumulative = cumulative
        self.dialect: dialects.Dialect | None = None
        """What is spoken; `None` as long as it is not known."""
        self.settled: dialects.Dialect | None = None
        """The same, once payloads can be handed to it as they are."""
        self.has_spoken = False
        """A payload was given to the dialect."""
        self.noise = False
        """Something came that is neither a payload, an error, a ping nor an end mark."""
        self.envelope: str | None = None
        """The field of other objects that payloads stand in; `None` as long as they stand for themselves."""
        self._end_mark = False
        # How often a finish reason had been stated by the last one.
        self._reasons = 0
        self._named = dialect != "auto"
        self._suspect = self._named
        # The stream does not look like the dialect that was named.
        self._misnamed = False
        # The payloads, up to two, that the named dialect did not recognise.
        self._doubtful: list[dict[str, Any]] = []
        self._held: list[tuple[Any, Frame]] = []
        self._held_bytes = 0
        self._overflow = False
        if self._named:
            self._speak(dialects.get(dialect))

    @property
    def end_seen(self) -> bool:
        """True once the dialect's end mark has come."""
        return self.dialect.end_seen if self.dialect is not None else self._end_mark

    def take(self, payload: Any, frame: Frame) -> None:
        """A payload of any shape. Only objects say something; a list is taken as so many payloads."""
        if isinstance(payload, dict):
            try:
                self._object(payload, frame)
            except RecursionError:
                self.too_deep()
        elif isinstance(payload, list) and payload:
            for item in payload:
                self.take(item, frame)
        elif frame.event == "error":
            # An error by its name, whatever it says. A sentence is its body also where it is written as JSON.
            is_said = not is_blank(payload) and not (isinstance(payload, str) and payload.isspace())
            self._writer.error(read_error(payload if is_said else None, raw=None))
        elif is_ping(frame.event):
            self._writer.ping()
        elif isinstance(payload, str) and self.has_spoken and is_error_line(payload):
            self._writer.error(read_error(payload, raw=None))
        elif not is_blank(payload):
            self.noise = True
            self._writer.diagnose("payload_not_object", f"{described(payload)} where an object was expected")

    def too_deep(self) -> None:
        """The dialect could not follow a payload to its end."""
        self._writer.diagnose("frame_too_deep", "nests deeper than can be read; what was not read is skipped")

    def stray(self, text: str, frame: Frame) -> None:
        """A line that belongs to no framing, and whose field says nothing. It may be the whole answer, so it waits."""
        field, colon, _ = text.partition(":")
        if not self.has_spoken:
            self.noise = True
            self._hold(text, frame)
        elif colon and field.replace("_", "").replace("-", "").isalnum():
            self._writer.diagnose("unknown_field", f"the field {field[:40]!r} of an event was ignored")
        else:
            size = counted(len(frame.data), "byte")
            self._writer.diagnose("stray_text", f"a line of {size} belongs to no frame; kept as an unknown part")
            self._writer.unknown("stray_text", text[:HEAD_BYTES])

    def end_mark(self) -> None:
        """A `[DONE]`."""
        reasons = self._writer.finished
        if self.dialect is not None:
            if 0 < self._reasons < reasons:
                # What a proxy adds behind the end mark for itself has no finish reason.
                self.dialect.tell_of_several("behind an end mark the stream goes on to another; the response has both")
            self.dialect.done()
        self._end_mark, self._reasons = True, reasons

    def finish(self, head: bytes) -> None:
        """The end of the input, which began with *head*."""
        if self.has_spoken:
            self._end_of_body()
        else:
            self._give_up(head)
        if self.dialect is not None:
            self.dialect.close()

    def _object(self, payload: dict[str, Any], frame: Frame) -> None:
        if self.dialect is None:
            self._find_dialect(payload, frame)
            return
        if self._suspect:
            self._check_name(payload, frame)
        if self.has_spoken:
            self._say(payload, frame)
        else:
            self._begin(payload, frame)

    def _say(self, payload: dict[str, Any], frame: Frame) -> None:
        """Hand a payload to the dialect, without what is around it."""
        assert self.dialect is not None  # noqa: S101 - for the type checker; set by the callers
        if self._misnamed and self._is_of_another(payload, frame, self.dialect):
            self._foreign(payload, frame, self.dialect)
        elif self.envelope is None:
            self.dialect.decode(payload, frame)
        else:
            self._unpack(payload, frame, self.envelope, self.dialect)

    @staticmethod
    def _is_of_another(payload: dict[str, Any], frame: Frame, dialect: dialects.Dialect) -> bool:
        """True for what a dialect knows, and not *dialect*, which would take what it shares and drop the rest."""
        found = dialects.recognise(payload, frame.event)
        if found is None or found.name == dialect.name or found.name in dialect.holds:
            return False
        # What may be of several dialects is the named one's: Azure begins completions with a chunk without choices.
        return found.recognise(payload, frame.event) == dialects.CERTAIN

    def _foreign(self, payload: dict[str, Any], frame: Frame, dialect: dialects.Dialect) -> None:
        """A payload of another dialect than the one that was named."""
        error = error_event(payload) if payload.get("type") == "error" else error_body(payload)
        if error is not None:
            self._writer.error(error)
        else:
            dialect.strange(payload, frame, word(payload.get("type"), payload.get("object")))

    def _unpack(self, payload: dict[str, Any], frame: Frame, field: str, dialect: dialects.Dialect) -> None:
        """Take a payload out of its envelope."""
        from chunkfold.folding import _envelopes

        inner = None if _envelopes.is_of_another(payload) else _envelopes.taken_out(payload, frame, field)
        if inner is None:
            self._beside(payload, frame, field, dialect)
            return
        writer = self._writer
        rest = _envelopes.rest_of(payload, field)
        writer.extras(rest, _NO_FIELDS, _envelopes.ROOT)
        error = error_in(rest)
        if error is not None:
            writer.error(error)
        writer.careful = True  # how a text of JSON was read is not told
        dialect.decode(*inner)

    def _beside(self, payload: dict[str, Any], frame: Frame, field: str, dialect: dialects.Dialect) -> None:
        """What comes beside envelopes: the end, an error, or something that the tool says for itself."""
        from chunkfold.folding import _envelopes

        error = error_told(payload, frame.event)
        if payload.get(field) == _envelopes.DONE:
            dialect.done()
        elif not _envelopes.is_of_another(payload) and dialect.recognise(payload, frame.event) == dialects.CERTAIN:
            dialect.decode(payload, frame)
        elif error is not None:
            self._writer.error(error)
        elif is_sign_of_life(payload, frame.event):
            self._writer.ping()
        else:
            self._writer.unknown(_envelopes.ROOT, payload)

    def _open(self, payload: dict[str, Any], frame: Frame) -> type[dialects.Dialect] | None:
        """The dialect of a payload inside an envelope, which others are then expected to have as well."""
        from chunkfold.folding import _envelopes

        field, inner = _envelopes.find(payload, frame.event) or (None, None)
        if inner is not None and (self.dialect is None or self.dialect.name == inner.name):
            self.envelope = field
            self._writer.diagnose("envelope", f"payloads stand in the field {field!r} of other objects")
        return inner

    def _find_dialect(self, payload: dict[str, Any], frame: Frame) -> None:
        """Pings and bare errors decide nothing and do not wait; the first payload that a dialect knows decides."""
        found = dialects.recognise(payload, frame.event) or self._open(payload, frame)
        if found is not None:
            self._speak(found)
            self._begin(payload, frame)
            return
        error = error_in(payload)
        if error is None and "error" in (frame.event, payload.get("event")):
            error = error_told(payload, frame.event)
        if error is not None:
            self._writer.error(error)
        elif is_sign_of_life(payload, frame.event):
            self._writer.ping()
        else:
            self._hold(payload, frame)

    def _hold(self, what: Any, frame: Frame) -> None:
        if len(self._held) < _HELD and self._held_bytes < _HELD_BYTES:
            self._held.append((what, frame))
            self._held_bytes += len(frame.data)
        elif not self._overflow:
            self._overflow = True
            detail = f"{len(self._held)} payloads told no dialect; until one does, no more are kept"
            self._writer.diagnose("held_too_much", detail)

    def _speak(self, dialect: type[dialects.Dialect]) -> None:
        cumulative = dialect.cumulative if self._cumulative is None else self._cumulative
        self._writer.speak(dialect.name, dialect.words, cumulative=cumulative)
        self._writer.cumulative_is_asked = self._cumulative is not None
        self.dialect = dialect(self._writer)
        if self._end_mark:
            self.dialect.done()

    def _begin(self, payload: dict[str, Any], frame: Frame) -> None:
        """The first payload of the dialect, after all that was held because it told none."""
        assert self.dialect is not None  # noqa: S101 - for the type checker; set by the caller
        self.has_spoken = True
        self._settle()
        held, self._held = self._held, []
        writer, careful = self._writer, self._writer.careful
        start = len(writer.out)
        writer.careful = True  # how these were read is forgotten
        for what, where in held:
            if isinstance(what, dict):
                self._say(what, where)
            else:
                self.stray(what, where)
        writer.careful = careful
        self._say(payload, frame)
        writer.introduce(start)

    def _settle(self) -> None:
        is_settled = self.has_spoken and not self._suspect and not self._misnamed and self.envelope is None
        self.settled = self.dialect if is_settled else None

    def _check_name(self, payload: dict[str, Any], frame: Frame) -> None:
        """A named dialect stands even if it is wrong, but then the response says what it looks like."""
        assert self.dialect is not None  # noqa: S101 - for the type checker; set when the dialect is named
        if self.dialect.recognise(payload, frame.event):
            self._suspect = False
        else:
            other = dialects.recognise(payload, frame.event) or self._open(payload, frame)
            if self.envelope is not None or (other is not None and other.name in self.dialect.holds):
                self._suspect = False
            elif other is not None and other.name != self.dialect.name:
                self._suspect = False
                self._misnamed = True
                self._writer.diagnose("dialect_mismatch", f"named {self.dialect.name}, looks like {other.name}")
            elif len(self._doubtful) < 2:
                self._doubtful.append(payload)
        self._settle()

    def _end_of_body(self) -> None:
        """A single payload that the named dialect did not recognise may be the error body of a gateway."""
        writer = self._writer
        if self._suspect and len(self._doubtful) == 1 and not writer.errored and not writer.finished:
            error = error_body(self._doubtful[0])
            if error is not None:
                writer.error(error)

    def _give_up(self, head: bytes) -> None:
        """No dialect was found: an error body, or no stream at all."""
        writer = self._writer
        payloads = [what for what, _ in self._held if isinstance(what, dict)]
        if len(payloads) == 1 and len(self._held) == 1:
            error = error_body(payloads[0])
            if error is not None:
                writer.error(error)
                return
        if not self._held and not self.noise:
            if self._named:
                writer.introduce(len(writer.out))
            return
        text = head.decode(errors="replace") if head else _json.encode(payloads)[:HEAD_BYTES]
        packer = next((packer for magic, packer in _PACKED.items() if head.startswith(magic)), None)
        if packer is not None:
            detail = f"packed with {packer}: ask with `curl --compressed`, or unpack it first"
            writer.out.append(DiagnosticEvent(Diagnostic("compressed", detail=detail)))
        writer.unknown("unrecognised", text)
        if writer.errored:
            return
        excerpt = "".join(character for character in text if character.isprintable() or character == " ")[:_EXCERPT]
        writer.out.append(ErrorEvent(StreamError("unrecognised", excerpt, origin="decoder")))
        writer.errored = True
