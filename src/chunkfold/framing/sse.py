"""
Server-sent events: from field lines to events.

The rules are those of WHATWG HTML, section 9.2.6, made to fit what servers of language models really send:

- At the end of the input a pending event is used; it is marked as cut if its data is no whole JSON.
- No blank line is needed between events. A `data` line that comes when the pending data is already
  one whole JSON value (or `[DONE]`) begins an event of its own, and an `event` line before it names that one.
- Several data lines are one text only if that text is JSON. Otherwise each is a frame of its own, so that
  one broken line does not spoil its neighbours.
- JSON that is printed over several lines may have `data:` before the first one alone. The others belong to it
  if that makes it whole, and are strays if not.
"""

from __future__ import annotations

import re

from chunkfold.framing._frame import Frame
from chunkfold.framing.json_text import BracketScanner, JsonLines, is_whole_json

__all__ = ["PendingEvent"]

_DATA = b"data:"
_BRACE = b"{"
# How a line of printed JSON begins.
_of_json = re.compile(rb'[ \t]*(?:["{}\[\],]|-?[0-9]|true\b|false\b|null\b)').match


class PendingEvent:
    """The event that the field lines so far belong to."""

    __slots__ = ("_bare", "_held", "_json", "_lines", "_name", "_read", "size")

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._bare: set[int] = set()
        """Which of the lines have no `data:` before them."""
        self._name = b""
        self._held: bytes | None = None
        """A name that came after data: of this event if a blank line follows, else perhaps of the next."""
        self._json = JsonLines()
        self._read = 0
        self.size = 0
        """Bytes of data so far, the line ends between them included."""

    @property
    def is_empty(self) -> bool:
        """Whether no line of an event was seen since the last blank line."""
        return not self._lines and not self._name and self._held is None

    def add_name(self, value: bytes, out: list[Frame]) -> None:
        """Take the value of an `event` line; the last one wins."""
        if self._lines:
            self._held = value
        else:
            self._drop_name(out)
            self._name = value

    def add_data(self, value: bytes, out: list[Frame]) -> None:
        """Take the value of a `data` line; an event that it cannot belong to goes to *out*."""
        if self._lines:
            held = self._held
            if self._is_finished():
                self._held = None
                self._emit(out)
            if held is not None:
                self._name = held
                self._held = None
            self.size += 1
        self._lines.append(value)
        self.size += len(value)

    def goes_on(self, line: bytes) -> bool:
        """Whether a line without the name of a field may be the next one of JSON that the data has begun."""
        if not self._lines or _of_json(line) is None:
            return False
        return self._json_state() == "open" and not self._json.is_in_string

    @property
    def is_amid_text(self) -> bool:
        """Whether the data so far ends amid a string. Servers that write no escapes break a text at its line ends."""
        return bool(self._lines) and self._json_state() == "open" and self._json.is_in_string

    def add_bare(self, line: bytes) -> None:
        """Take a line that goes on with the data."""
        self._bare.add(len(self._lines))
        self._lines.append(line)
        self.size += 1 + len(line)

    def dispatch(self, out: list[Frame]) -> None:
        """A blank line: the event is over."""
        if self._held is not None:
            self._name = self._held
            self._held = None
        if self._lines:
            self._emit(out)
        else:
            self._drop_name(out)
        # "If the data buffer is an empty string, set the data buffer and the event type
        # buffer to the empty string and return." -- WHATWG HTML, 9.2.6
        self._name = b""

    def _drop_name(self, out: list[Frame]) -> None:
        """The name names nothing. Data may stand in it, where line ends are left out, or written as text."""
        if _DATA in self._name or _BRACE in self._name:
            out.append(Frame(b"event: " + self._name, kind="stray"))

    def close(self, out: list[Frame]) -> None:
        """The end of the input, which ends the event as well."""
        lines = self._lines
        if len(lines) > 1 and self._json_state() == "open" and not any(map(_is_whole_object, lines)):
            self._lines = lines = [b"\n".join(lines)]
            self._bare = set()
            self._forget_json()
        if not lines or self._json_state() == "whole":
            self.dispatch(out)
            return
        self.dispatch(out)
        last = out[-1]
        if not _is_finished_data(last.data):
            out[-1] = Frame(last.data, last.event, cut=True)

    def _emit(self, out: list[Frame]) -> None:
        lines = self._lines
        name = self._name.decode("utf-8", "replace") if self._name else ""
        if len(lines) == 1:
            out.append(Frame(lines[0], name))
        elif self._json_state() == "whole":
            out.append(Frame(b"\n".join(lines), name))
        else:
            bare = self._bare
            out.extend([_bare_frame(line) if at in bare else Frame(line, name) for at, line in enumerate(lines)])
        self._lines = []
        self._bare = set()
        self._forget_json()
        self.size = 0

    def _is_finished(self) -> bool:
        lines = self._lines
        return self._json_state() == "whole" or (len(lines) == 1 and _is_end_mark(lines[0]))

    def _json_state(self) -> str:
        lines = self._lines
        while self._read < len(lines):
            self._json.add(lines[self._read])
            self._read += 1
        return self._json.state

    def _forget_json(self) -> None:
        if self._read:
            self._json = JsonLines()
            self._read = 0


def _bare_frame(line: bytes) -> Frame:
    """What a line is that did not go on with the data."""
    text = line.strip()
    return Frame(text) if _is_whole_object(text) else Frame(line, kind="stray")


def _is_end_mark(data: bytes) -> bool:
    return data.lstrip().startswith(b"[DONE]")


def _is_whole_object(line: bytes) -> bool:
    text = line.strip()
    return text.startswith(b"{") and text.endswith(b"}") and is_whole_json(text)


def _is_finished_data(data: bytes) -> bool:
    # Nothing at all is no data that could be cut, and what follows a closed value is not the lack of its end.
    text = data.strip()
    if not text or _is_end_mark(text) or is_whole_json(text):
        return True
    return text[:1] in (b"{", b"[") and BracketScanner().scan(text) >= 0
