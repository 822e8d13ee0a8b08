"""Callbacks beside a stream: each hears its kind of news, and one that raises is reported once and stops nothing."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from chunkfold.basis._wording import observer
from chunkfold.events import MessageReset, PartReplace, PartStart, PartStop, ReasoningDelta, TextDelta, UsageUpdate

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.doors._source_folder import SourceFolder
    from chunkfold.events import Event
    from chunkfold.response import Response, Usage

__all__ = ["NAMES", "Observers", "Teller"]

# The options that name them, in order.
NAMES = ("on_text", "on_reasoning", "on_tool_call", "on_usage", "on_done")


def _report(name: str) -> None:
    """Tell through `logging` that an observer has raised; the exception being handled goes with it."""
    import logging

    logging.getLogger("chunkfold").warning("the observer %s raised; the stream goes on", name, exc_info=True)  # noqa: LOG014


class Teller:
    """
    Tells observers, each by the name of its option. One that raises is reported once, and stops nothing.

    Raises:
        TypeError: If one cannot be called back.
    """

    def __init__(self, observers: Mapping[str, Callable[[Any], object] | None]) -> None:
        for name, given in observers.items():
            observer(name, given)
        self._observers = observers
        self._reported: set[str] = set()

    def tell(self, name: str, news: Any) -> None:
        """Tell *news* to whoever wants such."""
        told = self._observers[name]
        if told is None:
            return
        try:
            told(news)
        except Exception:  # noqa: BLE001 - an observer's fault is reported, not raised
            if name not in self._reported:
                self._reported.add(name)
                _report(name)


class Observers(Teller):
    """The callbacks of one stream."""

    def __init__(self, observers: Mapping[str, Callable[[Any], object] | None]) -> None:
        super().__init__(observers)
        self._kinds: dict[int, str] = {}
        self._usage: Usage | None = None
        # What is to be told: the events of several reads, and the end, where an observer reads on or closes the stream.
        self._reads: deque[tuple[list[Event], SourceFolder]] = deque()
        self._end: Response | None = None
        self._is_telling = False

    @classmethod
    def of(cls, *callbacks: Any) -> Observers | None:
        """
        The observers, or `None` if there are none, which costs nothing.

        Raises:
            TypeError: If one cannot be called back.
        """
        if all(callback is None for callback in callbacks):
            return None
        return cls(dict(zip(NAMES, callbacks, strict=True)))

    def hear(self, events: list[Event], folder: SourceFolder) -> None:
        """Tell what *events*, already folded by *folder*, say about choice 0."""
        self._reads.append((events, folder))
        self._tell_all()

    def done(self, response: Response) -> None:
        """Tell the complete response."""
        self._end = response
        self._tell_all()

    def _tell_all(self) -> None:
        """Tell what waits, in its order; what an observer brings about by what it does is told behind it."""
        if self._is_telling:
            return
        self._is_telling = True
        try:
            while self._reads:
                self._tell_read(*self._reads.popleft())
        finally:  # an observer may be interrupted
            self._reads.clear()
            self._is_telling = False
            end, self._end = self._end, None
            if end is not None:
                self.tell("on_done", end)

    def _tell_read(self, events: list[Event], folder: SourceFolder) -> None:
        resets: list[tuple[int, int]] | None = None
        for position, event in enumerate(events):
            if isinstance(event, TextDelta):
                if event.choice == 0 and self._kinds.get(event.index) == "text":
                    self.tell("on_text", event.text)
            elif isinstance(event, ReasoningDelta):
                if event.choice == 0:
                    self.tell("on_reasoning", event.text)
            elif isinstance(event, PartStart):
                if event.choice == 0:
                    self._kinds[event.index] = event.kind
            elif isinstance(event, PartReplace):
                if event.choice == 0:
                    self._kinds[event.index] = event.part.kind
            elif isinstance(event, PartStop):
                index = event.index or 0
                if self._observers["on_tool_call"] and event.choice == 0 and self._kinds.get(index) == "tool_call":
                    resets = _resets_in(events) if resets is None else resets
                    call = folder.part_at(0, index)
                    # Else the policy takes it away, or the server has done so later in the same read.
                    if call is not None and not _is_void(index, position, resets):
                        self.tell("on_tool_call", call)
            elif isinstance(event, UsageUpdate):
                # A policy may merge reports in a way of its own; else each has what came before.
                usage = folder.merged_usage or event.usage
                if usage != self._usage:
                    self._usage = usage
                    self.tell("on_usage", usage)


def _resets_in(events: list[Event]) -> list[tuple[int, int]]:
    """Where the server takes parts back, and from which on."""
    return [(at, event.from_part) for at, event in enumerate(events) if isinstance(event, MessageReset)]


def _is_void(index: int, position: int, resets: list[tuple[int, int]]) -> bool:
    """True if the part of *index* that was told of at *position* is taken back later."""
    return any(at > position and first <= index for at, first in resets)
