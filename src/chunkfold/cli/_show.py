"""
What the command shows: the text as it arrives, one JSON object, or the events.

Standard output gets what was asked for and nothing else; all about it goes to standard error.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING

from chunkfold._record import exact_arguments, record_of
from chunkfold.basis import _json
from chunkfold.cli._calls import Calls
from chunkfold.cli._notes import amiss, not_shown
from chunkfold.cli._writing import end_of, harmless, is_same_file, obeys_escapes, out, out_json, tell
from chunkfold.doors._streams import AnswerText
from chunkfold.events import (
    ErrorEvent,
    Event,
    MessageReset,
    MessageStop,
    PartStart,
    PartUpdate,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    is_output,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.cli import _File
    from chunkfold.response import Response, StreamError
    from chunkfold.timing import Timing

__all__ = ["Body", "Events", "Live", "Record", "Show"]

_LONG = 1 << 20
_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


class Show:
    """How one source is shown."""

    # Whether what comes at which path of the arguments of calls is to be told.
    live_arguments = False
    # Whether standard output gets something before the end.
    is_live = False

    def __init__(self, name: str) -> None:
        self.name = name
        self._has_bar = False

    def watch(self, source: _File) -> Iterator[bytes]:
        """The pieces of *source*; a long file shows how far it is, if somebody is looking and sees nothing else."""
        size = source.size or 0
        is_seen = self.is_live and sys.stdout.isatty()
        has_progress = size > _LONG and obeys_escapes(sys.stderr) and not is_seen
        done = 0
        try:
            for data in source.pieces:
                yield data
                done += len(data)
                if has_progress:
                    self._progress(100 * done // size)
        finally:
            self._clear()

    def _progress(self, percent: int) -> None:
        # On one line, or it could not be cleared.
        name = end_of(harmless(self.name, sys.stderr), sys.stderr, ": 100 %")
        tell(f"\r{name}: {percent} %")
        self._has_bar = True

    def _clear(self) -> None:
        """Make room on the line that shows how far it is."""
        if self._has_bar:
            tell("\r\x1b[K")
            self._has_bar = False

    def head(self) -> None:
        """Say which of several sources it is."""

    def event(self, event: Event) -> None:
        """Show one event."""

    def pause(self) -> None:
        """What is written next to standard error stands on a line of its own."""

    def end(self, response: Response, timing: Timing | None = None) -> None:
        """Show the response, and when it came if that was asked for."""
        if timing is not None:
            tell("".join(f"stats: {line}\n" for line in timing.lines()))


class Record(Show):
    """The response as one JSON object on one line."""

    def end(self, response: Response, timing: Timing | None = None) -> None:
        # Bytes of a name that are no UTF-8 are halves of characters to Python, which strict readers of JSON refuse.
        name = self.name.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        record = record_of(response, name, exact_arguments)
        if timing is not None:
            record["stats"] = timing.to_dict()
        out_json(_json.encode(record))


class Body(Show):
    """The body that the provider sends without streaming, as JSON on one line; `null` if there is no telling."""

    def end(self, response: Response, timing: Timing | None = None) -> None:
        try:
            body = response.to_native()
        except ValueError as error:
            tell(f"{harmless(self.name, sys.stderr)}: {error}\n")
            body = None
        out_json(_json.encode(body))
        for line in amiss(response):  # the body does not say it
            tell(f"{harmless(f'{self.name}: {line}', sys.stderr)}\n")
        super().end(response, timing)


class Events(Show):
    """The events as they are decoded, one JSON object a line."""

    is_live = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._error: StreamError | None = None
        self._is_over = False

    def event(self, event: Event) -> None:
        if isinstance(event, ErrorEvent):
            self._error = event.error
        self._is_over = isinstance(event, MessageStop)
        out_json(event.to_json())

    def end(self, response: Response, timing: Timing | None = None) -> None:
        if not self._is_over and response.ended is not None:
            # A limit or an interruption comes from outside of the stream, and the journal is to say so too.
            if response.error is not None and response.error != self._error:
                self.event(ErrorEvent(response.error))
            self.event(MessageStop(response.ended))
        super().end(response, timing)


class Live(Show):
    """The text as it arrives; reasoning dimmed, calls named (on a terminal: filling in), and a closing line."""

    is_live = True

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._to_person = sys.stdout.isatty()
        self._is_mixed = not self._to_person and is_same_file(sys.stdout, sys.stderr)
        self._colour = obeys_escapes(sys.stderr) and not os.environ.get("NO_COLOR")
        self._begun = time.monotonic()
        self._first: float | None = None
        self._last_text = ""
        # The answer as it was shown; the server may take back or restate what it has sent.
        self._shown: list[str] = []
        self._is_answer = AnswerText()
        # What standard error has on its open line: reasoning that a text must not run into.
        self._open_line = False
        self._in_call = False
        self._unnamed: set[tuple[int, int]] = set()
        self.live_arguments = self._to_person
        self._calls = Calls(self._fill) if self._to_person else None

    def head(self) -> None:
        self._note(f"==> {self.name} <==")

    def event(self, event: Event) -> None:
        if self._first is None and is_output(event):
            self._first = time.monotonic()
        if isinstance(event, (TextDelta, RefusalDelta)) and event.choice == 0:
            self._text(event.text)
            if self._is_answer.has(event):
                self._shown.append(event.text)
            return
        if isinstance(event, PartStart):
            self._is_answer.has(event)
        elif isinstance(event, MessageReset):
            self._end_line()
        if isinstance(event, ReasoningDelta) and event.choice == 0:
            self._aside(event.text)
        elif self._calls is not None:
            self._calls.event(event)
        elif isinstance(event, PartStart) and event.kind in ("tool_call", "server_tool_call"):
            if event.name:
                self._call(event.name, event.choice)
            else:
                self._unnamed.add((event.choice, event.index))
        elif isinstance(event, PartUpdate) and event.name and (event.choice, event.index) in self._unnamed:
            self._unnamed.discard((event.choice, event.index))
            self._call(event.name, event.choice)

    def end(self, response: Response, timing: Timing | None = None) -> None:
        if self._calls is not None:
            self._calls.close()
        differs = self._restate(response.text)
        self._end_line()
        if differs:
            self._warn("the answer differs from what was shown as it came: see --json")
        for line in (*not_shown(response), *amiss(response)):
            self._warn(line)
        self._note(self._summary(response))
        super().end(response, timing)

    def _restate(self, text: str) -> bool:
        """
        Show what the server has added to the answer by stating it whole; true if it is another than was shown.

        It may have taken text back, changed it, or sent several texts by turns.
        """
        shown = "".join(self._shown)
        if not text.startswith(shown):
            return True
        if len(text) > len(shown):
            self._text(text[len(shown) :])
        return False

    def _summary(self, response: Response) -> str:
        """Model, finish reason, tokens, time to first output, rate."""
        facts = [response.model or response.dialect or "no model", response.finish_reason or "no finish reason"]
        usage = response.usage
        if usage is not None:
            facts.append(f"{_number(usage.input_tokens)} in, {_number(usage.output_tokens)} out")
        if self._first is not None and self.name == "-":
            facts.append(f"first output after {self._first - self._begun:.2f} s")
            took = time.monotonic() - self._first
            if usage is not None and usage.output_tokens and took > 0.01:
                facts.append(f"{usage.output_tokens / took:.0f} tokens/s")
        return " · ".join(facts)

    def _text(self, text: str) -> None:
        if self._open_line:
            self._err("\n")
        out(harmless(text, sys.stdout) if self._to_person else text)
        self._last_text = text

    def _aside(self, text: str) -> None:
        if self._open_line and self._in_call:
            self._err("\n")
        self._in_call = False
        if not self._open_line:
            self._end_line()
        self._err(text)

    def _call(self, name: str, choice: int) -> None:
        if choice == 0:
            self._note(f"→ {name}()")

    def _fill(self, text: str) -> None:
        """More of a call, which goes on where it was unless something else was shown in between."""
        if self._open_line and not self._in_call:
            self._err("\n")
        if self._last_text and not self._last_text.endswith("\n"):
            out("\n")
        self._last_text = ""
        self._err(text)
        self._in_call = True

    def pause(self) -> None:
        if self._open_line:
            self._err("\n")
        self._end_line()

    def _note(self, line: str, *, is_dim: bool = True) -> None:
        self.pause()
        self._err(line + "\n", is_dim=is_dim)

    def _warn(self, line: str) -> None:
        self._note(f"! {line}", is_dim=False)

    def _end_line(self) -> None:
        """What comes next stands on a line of its own, where both go to one place."""
        if self._last_text and not self._last_text.endswith("\n"):
            if self._to_person:
                out("\n")
            elif self._is_mixed:
                tell("\n")
            self._last_text = "\n"

    def _progress(self, percent: int) -> None:
        if not self._open_line:
            super()._progress(percent)

    def _err(self, text: str, *, is_dim: bool = True) -> None:
        self._clear()
        shown = harmless(text, sys.stderr)
        tell(f"{_DIM}{shown}{_PLAIN}" if self._colour and is_dim else shown)
        self._open_line = not text.endswith("\n")


def _number(count: int | None) -> str:
    return "?" if count is None else str(count)
