"""
Most frames of a stream differ from the one before in nothing but the text of one delta. This remembers the bytes
around it.

The proof that a frame need not be read: it begins with the same bytes and ends with the same bytes as a frame that was
read and meant nothing but one delta to an open part, and what stands between is exactly one JSON string. Then it means
the same delta with that string. Whatever does not fit is read in full, which is the definition; and whatever was read
in full and was not such a delta makes all templates void, since it may have changed what a delta means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold.events import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolArgumentsDelta

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DELTAS", "Template", "Templates"]

DELTAS: Final = frozenset({TextDelta, ReasoningDelta, RefusalDelta, ToolArgumentsDelta})

read_string: Callable[[bytes], str] = msgspec.json.Decoder(str).decode
_write: Callable[[Any], bytes] = msgspec.json.Encoder().encode

# After so many templates of one part that no frame fitted, learning is tried only now and then: some servers vary a
# number in every frame, and looking for what stays costs as much as reading.
_HOPELESS = 8
_NOW_AND_THEN = 64


class Template:
    """The bytes around the text of a delta, and the part that the delta belongs to."""

    __slots__ = ("after", "before", "builder", "choice", "event", "index", "read_after", "read_before")

    def __init__(self, event: Any, before: bytes, after: bytes) -> None:
        self.event: Callable[[int, int, str], Event] = type(event)
        self.choice: int = event.choice
        self.index: int = event.index
        self.before = before
        self.after = after
        # The same with the framing around it, for a read that holds exactly one frame.
        self.read_before = self.read_after = b""
        # Where the accumulator keeps the part; looked up once.
        self.builder: Any = None


class Templates:
    """The templates that are in force: one for text, or one for each open tool call."""

    __slots__ = ("_in_vain", "_keys", "_tries", "by_before", "by_read", "lengths", "read_lengths")

    def __init__(self) -> None:
        self._keys: tuple[bytes, ...] = ()
        self._tries = 0
        # By part, how many templates were made since one fitted.
        self._in_vain: dict[tuple[int, int], int] = {}
        self.by_before: dict[bytes, Template] = {}
        self.by_read: dict[bytes, Template] = {}
        self.lengths: tuple[int, ...] = ()
        self.read_lengths: tuple[int, ...] = ()

    def use(self, keys: tuple[str, ...]) -> None:
        """Set the keys whose string may vary; none switches templates off."""
        self._keys = tuple(b'"%b":' % key.encode() for key in keys)

    def clear(self) -> None:
        """Something happened that was no plain delta."""
        if self.by_before:
            self.by_before = {}
            self.by_read = {}
            self.lengths = self.read_lengths = ()

    def hit(self) -> None:
        """A template fitted: learning is worth while."""
        if self._in_vain:
            self._in_vain = {}

    def learn(self, event: Any, data: bytes, read: bytes | None) -> None:
        """Remember the frame *data* that meant *event*, and the whole *read* if it held nothing else."""
        self._tries += 1
        part = (event.choice, event.index)
        vain = self._in_vain.get(part, 0)
        if vain > _HOPELESS and self._tries % _NOW_AND_THEN:
            self.clear()
            return
        self._in_vain[part] = vain + 1
        literal = _write(event.text)
        at = data.find(literal)
        # Once only: else it cannot be told which of the two is the delta.
        if at < 0 or data.find(literal, at + 1) >= 0 or not data[:at].rstrip(b" ").endswith(self._keys):
            self.clear()
            return
        if event.type != "tool_arguments_delta" or any(
            known.event is not ToolArgumentsDelta for known in self.by_before.values()
        ):
            self.clear()
        template = Template(event, data[:at], data[at + len(literal) :])
        self.by_before[template.before] = template
        self.lengths = tuple({len(before) for before in self.by_before})
        if read is not None:
            start = read.find(data)
            template.read_before = read[: start + at]
            template.read_after = read[start + at + len(literal) :]
            self.by_read[template.read_before] = template
            self.read_lengths = tuple({len(before) for before in self.by_read})

    def find(self, data: bytes) -> tuple[Template, str] | None:
        """The template that frame *data* fits, and its text."""
        for length in self.lengths:
            template = self.by_before.get(data[:length])
            if template is not None and data.endswith(template.after):
                return _text_between(template, data, length, len(data) - len(template.after))
        return None

    def find_read(self, read: bytes) -> tuple[Template, str] | None:
        """The template that the whole *read* fits, and its text."""
        for length in self.read_lengths:
            template = self.by_read.get(read[:length])
            if template is not None and read.endswith(template.read_after):
                return _text_between(template, read, length, len(read) - len(template.read_after))
        return None


def _text_between(template: Template, data: bytes, start: int, end: int) -> tuple[Template, str] | None:
    try:
        text = read_string(data[start:end])
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return (template, text) if text else None
