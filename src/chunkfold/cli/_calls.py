"""
Tool calls that fill in on a terminal, field by field.

Text is only ever appended: nothing is drawn again, so nothing flickers, and what scrolled away is complete. Calls that
come interleaved are therefore shown one after the other: one is in front, the others wait until it is finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.events import (
    ArgumentsFieldDone,
    ArgumentsPathDelta,
    MessageReset,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    ToolArgumentsDelta,
)
from chunkfold.parts import CALLS

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.events import Event

__all__ = ["Calls"]

_FIELD, _TEXT = "  ", "    "


class Calls:
    """Shows the calls of choice 0 through *write*, in order of their start."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._sheets: dict[int, _Sheet] = {}
        # The names of calls that have been shown.
        self._finished: dict[int, str | None] = {}

    def event(self, event: Event) -> bool:
        """Take an event; true if it was about a call."""
        if isinstance(event, MessageReset):
            first = event.from_part
            self._sheets = {index: sheet for index, sheet in self._sheets.items() if index < first}
            self._finished = {index: name for index, name in self._finished.items() if index < first}
            return False
        index = getattr(event, "index", None)
        if getattr(event, "choice", None) != 0 or not isinstance(index, int):
            return False
        if isinstance(event, PartStart) and event.kind in CALLS:
            self._sheets[index] = _Sheet(event.name, is_text=event.tool_type == "custom")
        sheet = self._sheets.get(index)
        if sheet is None and index in self._finished and isinstance(event, (ArgumentsPathDelta, ArgumentsFieldDone)):
            # The server has stated other arguments than those that it streamed.
            sheet = self._sheets[index] = _Sheet(f"{self._finished.pop(index)} (again)", is_text=False)
        if sheet is None:
            return False
        if isinstance(event, ArgumentsPathDelta):
            sheet.piece(event.path, event.text)
        elif isinstance(event, ArgumentsFieldDone):
            sheet.done(event.path, event.value)
        elif isinstance(event, ToolArgumentsDelta):
            sheet.text(event.text)
        elif isinstance(event, PartUpdate):
            sheet.name = sheet.name or event.name
        elif isinstance(event, PartReplace):
            sheet.end_line()
        elif isinstance(event, PartStop):
            sheet.stop()
        self._show()
        return True

    def close(self) -> None:
        """Show all that waits: the stream has ended."""
        for sheet in self._sheets.values():
            sheet.stop()
        self._show()

    def _show(self) -> None:
        """What the call in front has new; a finished one gives way to the next."""
        for index in list(self._sheets):
            sheet = self._sheets[index]
            text = sheet.take()
            if text:
                self._write(text)
            if not sheet.finished:
                return
            self._finished[index] = sheet.name
            del self._sheets[index]


class _Sheet:
    """One call as lines of text: `path: value`, strings as they grow."""

    def __init__(self, name: str | None, *, is_text: bool) -> None:
        self.name = name
        self.finished = False
        self._is_text = is_text
        self._begun = False
        self._new: list[str] = []
        # The string that is open on the last line.
        self._open: tuple[str | int, ...] | None = None

    def piece(self, path: tuple[str | int, ...], text: str) -> None:
        """More of a string."""
        if path != self._open:
            self.end_line()
            self._new.append(f"{_FIELD}{_label(path)}: ")
            self._open = path
        self._new.append(text.replace("\n", f"\n{_TEXT}"))

    def done(self, path: tuple[str | int, ...], value: Any) -> None:
        """A value is complete. A string has been shown, and so has what is in a container."""
        if path == self._open:
            self.end_line()
        elif path and (not isinstance(value, (dict, list)) or not value):
            self.end_line()
            self._new.append(f"{_FIELD}{_label(path)}: {_json.encode(value)}\n")
        if path == ():
            self.finished = True

    def text(self, text: str) -> None:
        """More of the input of a tool that takes plain text; of others the fields are shown."""
        if self._is_text:
            if self._open is None:
                self._new.append(_FIELD)
                self._open = ()
            self._new.append(text.replace("\n", f"\n{_FIELD}"))

    def stop(self) -> None:
        """Nothing more comes."""
        self.end_line()
        self.finished = True

    def take(self) -> str:
        """The text that is new. Nothing is shown of a call before its name, unless it never comes."""
        if self.name is None and not self.finished:
            return ""
        if not self._begun:
            self._begun = True
            self._new.insert(0, f"→ {self.name or '(no name)'}\n")
        text = "".join(self._new)
        self._new.clear()
        return text

    def end_line(self) -> None:
        """What comes next stands on a line of its own."""
        if self._open is not None:
            self._new.append("\n")
            self._open = None


def _label(path: tuple[str | int, ...]) -> str:
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path]
    return "".join(steps).removeprefix(".")
