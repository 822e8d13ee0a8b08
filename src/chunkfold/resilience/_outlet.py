"""
What a resilient stream hands out: the events of one attempt, or of several one after the other.

The opening events of an attempt are held back until it has given something, where another attempt may make them void.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from chunkfold.doors._intake import Intake
from chunkfold.events import MessageReset, MessageStop, PartReplace, PartStart, Ping, is_output
from chunkfold.folding._folder import Folder

if TYPE_CHECKING:
    from chunkfold.doors._observers import Observers
    from chunkfold.doors._source_folder import SourceFolder
    from chunkfold.events import Event
    from chunkfold.resilience._limiters import Permit
    from chunkfold.resilience._settings import Attempt
    from chunkfold.response import Response

__all__ = ["Outlet", "Try", "gives"]

_SOLID = frozenset({"tool_call", "server_tool_call", "server_tool_result", "image", "audio", "file"})


def gives(event: Event) -> bool:
    """True if a person or program gets something from *event*: a call, a picture or a part stated whole counts too."""
    if isinstance(event, PartStart):
        return event.kind in _SOLID
    return isinstance(event, PartReplace) or is_output(event)


class Try:
    """An attempt that runs: its folder, and what of it waits to be handed out."""

    def __init__(self, folder: SourceFolder, attempt: Attempt) -> None:
        self.folder = folder
        self.intake = Intake(folder)
        self.attempt = attempt
        self.held: list[Event] = []
        self.released = False
        self.stop: MessageStop | None = None
        self.first_output: float | None = None
        self.permit: Permit | None = None
        self.gave_before = False
        self.stash: list[Any] = []
        """What came behind missing events. It counts if they are not to be had."""
        self.is_open = True
        """Its folder takes more: it runs, or its source broke off and the same response can be taken up again."""

    def go_on(self, attempt: Attempt) -> Try:
        """The attempt that goes on where this one broke off."""
        after = Try(self.folder, attempt)
        after.intake, after.held, after.released = self.intake, self.held, self.released
        after.gave_before, after.stash = self.has_output, self.stash
        return after

    @property
    def has_output(self) -> bool:
        return self.gave_before or self.first_output is not None

    def is_done(self, rest: bytes = b"") -> bool:
        """True if the server has said that it is done, be it in a frame of which only the end mark is missing."""
        if self.folder.end_seen:
            return True
        try:
            copy = Folder.restore(self.folder.save())
            copy.feed(rest)
            response = copy.close()
        except Exception:  # noqa: BLE001 - a limit, a policy, or what cannot be copied: then it is as it looks
            response = self.folder.snapshot()
        has_reasons = all(choice.finish_reason is not None for choice in response.choices)
        return bool(response.choices) and has_reasons and response.error is None and not response.truncated


class Outlet:
    """The events that wait to be taken, of the attempts in turn."""

    def __init__(self, observers: Observers | None, *, may_hold: bool) -> None:
        self._observers = observers
        self._may_hold = may_hold
        self._waiting: deque[Event] = deque()
        self.shown: Try | None = None
        """The attempt whose events were handed out last."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def take(self) -> Event:
        """The event that has waited longest."""
        return self._waiting.popleft()

    def clear(self) -> None:
        """Nobody wants what waits."""
        self._waiting.clear()

    def begin(self, now: Try) -> None:
        """An attempt begins a response of its own."""
        now.released = not self._may_hold and self.shown is None
        if now.released:
            self.shown = now

    def go_on(self, before: Try, now: Try) -> None:
        """An attempt goes on with the response of another."""
        if self.shown is before:
            self.shown = now

    def put(self, now: Try, events: list[Event]) -> None:
        """Events have been folded: hand them out, or hold them until they are worth it."""
        if events and isinstance(last := events[-1], MessageStop):
            now.stop = last
            events = events[:-1]
        if not now.released:
            now.held += [event for event in events if not isinstance(event, Ping)]
            self._hand_out([event for event in events if isinstance(event, Ping)], now)
            if now.first_output is None:
                return
            self._release(now)
            events = []
        if now.held:
            events = [*now.held, *events]
            now.held = []
        self._hand_out(events, now)

    def end(self, stands: Try | None, response: Response) -> None:
        """The stream is over, and *response* is what the attempt that stands has given."""
        if stands is None:
            self._waiting.append(MessageStop("eof"))
            return
        self._release(stands)
        held, stands.held = stands.held, []
        self._hand_out(held, stands)
        self._waiting.append(stands.stop or MessageStop(response.ended or "eof"))

    def _release(self, now: Try) -> None:
        """From here on the attempt is handed out as it comes; what was shown of another is taken back."""
        if now.released:
            return
        now.released = True
        if self.shown is not None:
            self._waiting.append(MessageReset(0, "attempt"))
        self.shown = now

    def _hand_out(self, events: list[Event], now: Try) -> None:
        self._waiting.extend(events)
        if self._observers is not None:
            self._observers.hear(events, now.folder)
