"""
What a frame is below the dialect: a payload, a sign of life, an error, or text that is no JSON, which is never dropped
in silence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold.basis import _json, _restated
from chunkfold.basis._wording import counted
from chunkfold.dialects._error_words import is_error_line
from chunkfold.dialects._errors import error_in, read_error
from chunkfold.dialects._words import is_ping
from chunkfold.errors import LimitExceeded
from chunkfold.response import StreamError

if TYPE_CHECKING:
    from chunkfold.accumulator import Gatherer
    from chunkfold.dialects._writer import Writer
    from chunkfold.folding._payloads import Payloads
    from chunkfold.framing import Frame

__all__ = ["NOTHING", "Frames", "unwrapped"]

NOTHING: Final = object()
"""In the place of a payload: the frame has none, and what it is instead has been noted."""

# A long frame is looked through for the texts of so many parts: there may be many of both.
_NEWEST = 32


class Frames:
    """
    Reads frames.

    Args:
        writer: Where events go.
        payloads: What strays and noise are reported to.
        depth: How deep JSON may nest; `None`: as deep as can be read.

    """

    def __init__(self, writer: Writer, payloads: Payloads, depth: int | None) -> None:
        self._writer = writer
        self._payloads = payloads
        self._depth = depth

    def payload(self, frame: Frame, fed: Gatherer | None) -> tuple[Any, str | None]:
        """
        The JSON of a frame, and what had to be forgiven; or `NOTHING`. Long texts that *fed* has already are not made a
        second time.
        """
        writer, depth = self._writer, self._depth
        try:
            payload, forgiven = self._restated(frame.data, fed) or _json.decode(frame.data, depth)
        except _json.TooDeep as error:
            if depth is None or error.args[0] <= depth:
                writer.diagnose("frame_too_deep", f"nests {error.args[0]} deep, more than can be read; skipped")
                return NOTHING, None
            raise LimitExceeded("json_depth", depth + 1, depth) from None
        except _json.NotJSON as error:
            self._not_json(frame, str(error))
            return NOTHING, None
        if forgiven is not None and forgiven != "lenient_json":
            self._forgive(forgiven, frame)
        return payload, forgiven

    def _forgive(self, what: str, frame: Frame) -> None:
        size = _size_of(frame)
        if what in _json.BROKEN:
            # Zhipu's GLM has broken off amid a chunk, and begun the next one on the same line.
            self._writer.diagnose("frame_not_json", f"a part of a frame of {size} is no JSON and was skipped")
        else:
            kind = "glued_objects" if what == "glued_end" else what
            self._writer.diagnose(kind, f"a frame of {size} was read leniently")

    def other(self, frame: Frame) -> None:
        """A frame that is not data."""
        if frame.kind == "comment":
            self._writer.ping()
        elif frame.kind == "stray":
            self._stray(frame)
        elif frame.kind == "exception":
            self._exception(frame)
        else:
            message = frame.data.decode(errors="replace")
            self._writer.error(StreamError("corrupt_frame", message, origin="decoder"))

    def _restated(self, data: bytes, fed: Gatherer | None) -> tuple[Any, None] | None:
        """The JSON of a long frame that holds a text which has been folded; `None` if it is like any other."""
        if fed is None or len(data) < _restated.LONG:
            return None
        newest = fed.newest(_NEWEST)
        texts = [part.text() for part in newest if _restated.LONG <= part.size() <= len(data)]
        if not texts:
            return None
        try:
            return _restated.read(data, texts, self._depth), None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _not_json(self, frame: Frame, why: str) -> None:
        writer, text = self._writer, frame.data.decode(errors="replace")
        if frame.cut:
            writer.diagnose("frame_cut", f"the input ended inside a frame, after {_size_of(frame)} of it")
        elif frame.event == "error" or (self._payloads.has_spoken and is_error_line(text)):
            # The body of an error need not be JSON.
            writer.error(read_error(text, raw=None))
        elif is_ping(frame.event):
            writer.ping()
        else:
            self._payloads.noise = True
            writer.diagnose("frame_not_json", f"a frame of {_size_of(frame)} was skipped: {why}")

    def _stray(self, frame: Frame) -> None:
        """A line that belongs to no framing."""
        text = frame.data.decode(errors="replace")
        field, colon, rest = text.partition(":")
        if text.strip() == "[DONE]":
            self._payloads.end_mark()
        elif colon and field == "error" and rest.strip():
            # llama.cpp and gpustack tell an error in a field of that name.
            self._error_field(rest.strip())
        elif frame.cut:
            self._writer.diagnose("frame_cut", f"the input ended inside a line, after {_size_of(frame)} of it")
        else:
            self._payloads.stray(text, frame)

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


def _size_of(frame: Frame) -> str:
    return counted(len(frame.data), "byte")


def unwrapped(data: bytes) -> bytes:
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
