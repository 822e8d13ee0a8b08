"""
Everything that is text: SSE, lines of JSON, one JSON document, a JSON array in pieces, and any mix of them.

The unit is the line; the first byte of a line says what it is. A bare JSON error amid SSE, an SSE error
after lines of JSON and a page of HTML need no mode of their own. Two things are larger than a line: a
pretty-printed value, collected line by line, and an array of payloads, whose elements are handed out
as soon as each closes, since such an array may come without any line end.

Bytes of an unfinished line wait in one buffer that is only appended to. A read that ends no line costs
little more than that, and each byte is searched once.
"""

from __future__ import annotations

import re
import sys

from chunkfold.errors import LimitExceeded
from chunkfold.framing._frame import Frame
from chunkfold.framing.json_text import BracketScanner, is_whole_json, looks_like_object
from chunkfold.framing.sse import PendingEvent

__all__ = ["TextFramer"]

# Where the next byte belongs.
_LINE = 0  # to a line
_BRACKET = 1  # behind a `[` that begins a line, before the byte that says whether it is an array
_BETWEEN = 2  # between two elements of an array
_ELEMENT = 3  # to an element of an array
_JUNK = 4  # to the rest of a line inside an array that is no element
_TAIL = 5  # to the rest of the line on which an array ended
_TO_LINE_END = (_LINE, _JUNK, _TAIL)  # nothing happens before the line ends

_nonblank = re.compile(rb"[^ \t\n]").search
_nonblank_or_comma = re.compile(rb"[^ \t\n,]").search
_indented_data = re.compile(rb"data:[ \t]*(?:\{|\[DONE\])").match
_FIELDS = (b"data:", b"event:", b"id:", b"retry:", b":")
_FIELD_NAMES = (b"data", b"event", b"id", b"retry")

_NAMES_KEPT = 256  # protocols have a dozen or two; names made up without end are not kept

_LF = 0x0A
_CR = 0x0D
_BRACE = 0x7B
_SQUARE = 0x5B
_CLOSING = b"{]"


class TextFramer:
    """Cuts text into frames. Never raises for what is in the bytes; a passed limit is left in `breach`."""

    __slots__ = (
        "_buffer",
        "_cap",
        "_event",
        "_fresh",
        "_mode",
        "_names",
        "_out",
        "_scanner",
        "_settled",
        "_skip_lf",
        "_value",
        "_value_end",
        "_whole_input",
        "breach",
        "closed_array",
        "framing",
        "idle",
    )

    def __init__(self, frame_bytes: int | None) -> None:
        self.framing: str | None = None
        self.breach: LimitExceeded | None = None
        self.closed_array = False
        self.idle = True
        """Whether nothing is half-read: the next byte begins a frame."""
        self._cap = sys.maxsize if frame_bytes is None else frame_bytes
        self._mode = _LINE
        self._buffer = bytearray()
        self._event = PendingEvent()
        self._value: bytearray | None = None
        """The lines so far of a bare JSON value that is still open."""
        self._value_end = 0
        """The last byte of `_value` that is not blank."""
        self._scanner = BracketScanner()
        self._settled = True
        """No line, value, event or array is half-read."""
        self._skip_lf = False
        """The last byte was a CR, which ended its line: a LF that follows belongs to it."""
        self._fresh = True
        """No line was read one by one yet."""
        self._names: dict[bytes, str] = {}
        """Event names by the line that gave them."""
        self._whole_input = False
        """The array now open, or closed, began at the start of the input."""
        self._out: list[Frame] = []

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that *data* completes."""
        if _CR in data or self._skip_lf:
            data = self._with_lf(data)
        if _LF not in data:
            buffer = self._buffer
            if buffer and self._mode in _TO_LINE_END:
                buffer += data
                if len(buffer) > self._cap:
                    self._check(len(buffer))
                return []
        elif self._settled and len(data) <= self._cap:
            pos = self._blocks(data)
            if pos == len(data):
                self.idle = not self._skip_lf
                out, self._out = self._out, []
                return out
            data = data[pos:]
        return self._feed_slowly(data)

    def _feed_slowly(self, data: bytes) -> list[Frame]:
        if data and self.breach is None and not self._is_kept(data):
            if self._buffer and self._mode != _ELEMENT:
                data = bytes(self._buffer) + data
                self._buffer.clear()
            if self._mode == _BRACKET:
                self._mode = _LINE
            self._run(data)
            self._settle()
        self.idle = self._settled and not self._skip_lf
        out, self._out = self._out, []
        return out

    def close(self) -> list[Frame]:
        """The frames that the end of the input completes, or cuts."""
        if self.breach is not None or self._settled:
            return []
        rest, mode = bytes(self._buffer), self._mode
        self._buffer.clear()
        self._mode = _LINE
        if mode == _BRACKET:
            self._found("json-array")
            self._out.append(Frame(b"[", cut=True))
        elif mode == _ELEMENT:
            self._add_object(rest, cut=True)
        elif mode == _JUNK:
            self._stray(rest)
        elif mode == _TAIL:
            self._tail(rest)
        elif rest:
            self._line(rest)
            self._mark_cut_field(rest)
        if self._value is not None:
            self._add_object(bytes(self._value), cut=True)
            self._value = None
        if self.breach is None:
            self._event.close(self._out)
        out, self._out = self._out, []
        return out

    # How far a read gets

    def _with_lf(self, data: bytes) -> bytes:
        """Make every line end in *data* a LF."""
        if self._skip_lf and data:
            self._skip_lf = False
            if data[0] == _LF:
                data = data[1:]
        if _CR in data:
            self._skip_lf = data[-1] == _CR
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _settle(self) -> None:
        self._settled = (
            self._mode == _LINE
            and not self._buffer
            and self._value is None
            and self._event.is_empty
            and self.breach is None
        )

    def _is_kept(self, data: bytes) -> bool:
        """Put *data* away if it cannot complete anything."""
        mode = self._mode
        buffer = self._buffer
        if mode == _BRACKET:
            if data.strip(b" \t\n"):
                return False
        elif mode not in _TO_LINE_END or _LF in data or (not buffer and data[0] == _SQUARE and mode == _LINE):
            return False
        buffer += data
        self._settled = False
        self._check(len(buffer))
        return True

    def _run(self, data: bytes) -> None:
        pos = 0
        size = len(data)
        tried = size > self._cap
        while pos < size and self.breach is None:
            if not tried and self._mode == _LINE and self._value is None and self._event.is_empty:
                # Once a read: what is left of the last read's event came line by line.
                tried = True
                pos += self._blocks(data[pos:])
                continue
            mode = self._mode
            if mode == _BETWEEN:
                pos = self._between(data, pos)
            elif mode == _ELEMENT:
                pos = self._element(data, pos)
            elif mode == _LINE and data[pos] == _SQUARE and self._value is None and self._opens_array(data, pos):
                pos = size if self._mode == _BRACKET else data.index(b"[", pos) + 1
            else:
                pos = self._one_line(data, pos)

    def _one_line(self, data: bytes, pos: int) -> int:
        end = data.find(b"\n", pos)
        if end < 0:
            self._buffer += data[pos:]
            self._check(len(self._buffer))
            return len(data)
        if self._check(end - pos):
            mode = self._mode
            self._mode = _LINE
            if mode == _LINE:
                self._line(data[pos:end])
            elif mode == _TAIL:
                self._tail(data[pos:end])
            else:
                self._junk(data[pos:end])
        return end + 1

    def _blocks(self, data: bytes) -> int:
        """
        Take the SSE events that are complete in *data* and return the position behind them.

        The fast way for the two forms nearly all servers use. It means nothing that the way line by
        line does not, and stops before anything that may reach beyond its blank line.
        """
        end = data.rfind(b"\n\n")
        if end < 0:
            return 0
        out = self._out
        first_end = data.find(b"\n")
        if data.startswith(b"data: "):
            if first_end == end:
                out.append(Frame(data[6:end]))
                if self.framing != "sse":
                    self._found("sse")
                return end + 2
            values = data[6:end].split(b"\n\ndata: ")
            if data.count(b"\n", 0, end) == 2 * len(values) - 2:
                self._found("sse")
                out.extend(map(Frame, values))
                return end + 2
        names = self._names
        if data.startswith(b"data: ", first_end + 1) and data.find(b"\n", first_end + 7) == end:
            first = data[:first_end]
            name = names.get(first)
            if name is None and first.startswith(b"event: "):
                name = self._new_name(first)
            if name is not None:
                out.append(Frame(data[first_end + 7 : end], name))
                return end + 2
        blocks = data[:end].split(b"\n\n")
        for number, block in enumerate(blocks):
            first, between, value = block.partition(b"\ndata: ")
            name = names.get(first)
            if name is not None and between and _LF not in value:
                out.append(Frame(value, name))
            elif not (self._simple_block(block) or self._block(block)):
                return sum(len(done) + 2 for done in blocks[:number])
        return end + 2

    def _simple_block(self, block: bytes) -> bool:
        """Take an event that is one `data` line, perhaps after one `event` line; false if it is something else."""
        first, between, value = block.partition(b"\ndata: ")
        if not between and block.startswith(b"data:") and _LF not in block:
            self._out.append(Frame(block[5:].removeprefix(b" ")))
        elif between and first.startswith(b"event: ") and _LF not in first and _LF not in value:
            self._out.append(Frame(value, self._new_name(first)))
        else:
            return False
        self._found("sse")
        return True

    def _new_name(self, line: bytes) -> str:
        """The name of an event that the line *line* gives."""
        name = line[7:].decode("utf-8", "replace")
        if len(self._names) < _NAMES_KEPT:
            self._names[line] = name
        self._found("sse")
        return name

    def _block(self, block: bytes) -> bool:
        """Take the lines before a blank line, and that line; false if they may be more than an event."""
        if block.startswith((b"{", b"[")) or b"\n{" in block or b"\n[" in block:
            return False
        for line in block.split(b"\n"):
            self._line(line)
        self._line(b"")
        return True

    # Lines

    def _line(self, line: bytes) -> None:
        """Take one whole line, without its end."""
        self._fresh = False
        if self._value is not None:
            self._value_line(self._value, line)
        elif not line:
            self._event.dispatch(self._out)
        elif line[0] == _BRACE:
            self._values(line, 0)
        else:
            self._field(line)

    def _field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        if value[:1] == b" ":
            value = value[1:]
        if name == b"data":
            self._event.add_data(value, self._out)
            self._check(self._event.size)
        elif name == b"event":
            self._event.add_name(value, self._out)
        elif not name:
            self._out.append(Frame(value, kind="comment"))
        elif name not in (b"id", b"retry"):
            self._indented(line)
            return
        self._found("sse")

    def _indented(self, line: bytes) -> None:
        """
        Take a line that begins with no field: it goes on with the JSON of an event, or is an object or the data of one,
        which may stand behind blanks.
        """
        text = line.strip(b" \t")
        if self._event.goes_on(line):
            self._event.add_bare(line)
            self._check(self._event.size)
        elif text.startswith(b"{") and is_whole_json(text):
            self._add_object(text)
        elif _indented_data(text) is not None and not self._event.is_amid_text:
            self._field(text)
        else:
            self._stray(line)

    def _stray(self, line: bytes) -> None:
        if line.strip(b" \t"):
            self._out.append(Frame(line, kind="stray"))

    def _mark_cut_field(self, line: bytes) -> None:
        """The input ended in *line*: if all it lacks is the rest of a field's name, it was cut."""
        out = self._out
        if out and out[-1].kind == "stray" and any(name.startswith(line) for name in _FIELD_NAMES):
            out[-1] = Frame(line, kind="stray", cut=True)

    # Bare JSON values

    def _values(self, line: bytes, pos: int) -> None:
        """Take the JSON objects on a line, the first of which begins at *pos*."""
        if not pos and line.endswith(b"}") and is_whole_json(line):
            self._add_object(line)
            return
        while line[pos] == _BRACE:
            self._scanner = BracketScanner()
            end = self._scanner.scan(line, pos)
            if end < 0:
                self._open_value(line[pos:])
                return
            self._add_object(line[pos:end])
            found = _nonblank_or_comma(line, end)
            if found is None:
                return
            pos = found.start()
        self._stray(line[pos:])

    def _open_value(self, text: bytes) -> None:
        if looks_like_object(text):
            self._value = bytearray(text)
            self._value_end = text.rstrip()[-1]
        else:
            self._stray(text)

    def _value_line(self, value: bytearray, line: bytes) -> None:
        if line.startswith(_FIELDS) or (line[:1] == b"{" and not self._scanner.may_go_on_with_object(self._value_end)):
            # Its sender gave the value up: no JSON goes on like this.
            self._value = None
            self._stray(bytes(value))
            self._line(line)
            return
        end = self._scanner.scan(line)
        value += b"\n"
        value += line if end < 0 else line[:end]
        if not self._check(len(value)):
            return
        if end >= 0:
            self._value = None
            self._add_object(bytes(value))
            self._tail(line[end:])
        elif text := line.rstrip():
            self._value_end = text[-1]

    def _tail(self, text: bytes) -> None:
        """Take what stands on a line behind the end of a value or an array."""
        found = _nonblank_or_comma(text)
        if found is None:
            return
        if text[found.start()] == _BRACE:
            self._values(text, found.start())
        else:
            self._stray(text[found.start() :])

    def _add_object(self, text: bytes, *, cut: bool = False) -> None:
        if looks_like_object(text):
            self._found("json")
            self._out.append(Frame(text, cut=cut))
        else:
            self._stray(text)

    # Arrays of payloads

    def _opens_array(self, data: bytes, pos: int) -> bool:
        """Whether the `[` at *pos* opens an array of payloads; if that is still open it counts as yes."""
        found = _nonblank(data, pos + 1)
        end = len(data) if found is None else found.start()
        if not self._check(end - pos):
            return True
        if found is None:
            self._buffer += data[pos:]
            self._mode = _BRACKET
            return True
        if data[end] not in _CLOSING:
            return False
        self._mode = _BETWEEN
        self._whole_input = self._fresh and self.framing is None
        self._fresh = False
        self._found("json-array")
        return True

    def _between(self, data: bytes, pos: int) -> int:
        found = _nonblank_or_comma(data, pos)
        if found is None:
            return len(data)
        pos = found.start()
        byte = data[pos]
        if byte == _BRACE:
            self._mode = _ELEMENT
            self._scanner = BracketScanner()
        elif byte == 0x5D:
            self._mode = _TAIL
            self.closed_array = self.closed_array or self._whole_input
            pos += 1
        else:
            self._mode = _JUNK
        return pos

    def _element(self, data: bytes, pos: int) -> int:
        end = self._scanner.scan(data, pos)
        if end < 0:
            self._buffer += data[pos:]
            self._check(len(self._buffer))
            return len(data)
        if self._check(len(self._buffer) + end - pos):
            self._out.append(Frame(bytes(self._buffer) + data[pos:end]))
            self._buffer.clear()
            self._mode = _BETWEEN
        return end

    def _junk(self, line: bytes) -> None:
        if line.startswith(_FIELDS):
            self._field(line)
        else:
            self._mode = _BETWEEN
            self._stray(line)

    # What is known

    def _found(self, framing: str) -> None:
        """
        Note a framing.

        The first one stands, but `json` means one document: whatever follows shows that it was
        not, and a second value makes it lines of JSON.
        """
        if self.framing is None:
            self.framing = framing
        elif self.framing == "json":
            self.framing = "ndjson" if framing == "json" else framing

    def _check(self, size: int) -> bool:
        """Whether a frame of *size* bytes is allowed; if it is not, nothing more is read."""
        cap = self._cap
        if size <= cap:
            return True
        self.breach = LimitExceeded("frame_bytes", cap + 1, cap)
        self._buffer.clear()
        self._value = None
        self._event = PendingEvent()
        self._mode = _LINE
        self._settled = False
        return False
