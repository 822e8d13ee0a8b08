"""
The upper half: events in, the response out. It knows neither bytes nor providers.

What an event does stands in `assembly._effects`, what is kept of it in `_builders`, and how the response is made in
`assembly._responses`.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING

from chunkfold.assembly._builders import ResponseBuilder
from chunkfold.assembly._effects import HANDLERS, take_delta
from chunkfold.assembly._responses import as_it_stands, judged, judged_part
from chunkfold.basis._wording import described
from chunkfold.events import Event
from chunkfold.limits import Limits
from chunkfold.policy import Policy
from chunkfold.response import Response

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.assembly._builders import PartBuilder
    from chunkfold.errors import PolicyError
    from chunkfold.parts import Part
    from chunkfold.response import FinishReason, Usage

__all__ = ["StreamAccumulator"]


class StreamAccumulator:
    """
    Folds events into a response.

    `observe` takes the events in their order, `snapshot` gives the response so far, `finalize` the complete one. The
    events may come from a `Decoder`, from a journal, or be written by hand.
    """

    def __init__(self, policy: Policy | None = None, limits: Limits | None = None) -> None:
        self._builder = ResponseBuilder(policy, limits)
        self._response: Response | None = None
        self._objection: PolicyError | None = None

    def observe(self, event: Event) -> None:
        """
        Take one event.

        Raises:
            ValueError: After `finalize`.
            TypeError: If it is no event.
        """
        if self._response is not None:
            raise ValueError("observe() after finalize()")
        builder = self._builder
        try:
            handle = HANDLERS[type(event)]
        except KeyError:
            raise TypeError(f"observe() takes an event, not {described(event)}") from None
        if handle is not take_delta:
            builder.shown.stale = True
        handle(builder, event)

    def observe_all(self, events: Iterable[Event]) -> None:
        """Take several events, oldest first: the same as taking each."""
        if self._response is not None:
            raise ValueError("observe_all() after finalize()")
        builder = self._builder
        for event in events:
            try:
                handle = HANDLERS[type(event)]
            except KeyError:
                raise TypeError(f"observe_all() takes events, not {described(event)}") from None
            if handle is not take_delta:
                builder.shown.stale = True
            handle(builder, event)

    def snapshot(self) -> Response:
        """
        The response so far: safe to keep, `ended=None` and calls `open` until the end.

        It costs what has come since the last one, and a pointer for each part.
        """
        if self._response is not None:
            return self._response
        builder = self._builder
        return builder.shown.make(builder) if builder.ended is None else as_it_stands(builder, builder.ended)

    def finalize(self) -> Response:
        """
        The complete response. Parts that were not closed are closed now. Asking again gives the same object.

        Raises:
            PolicyError: If the policy calls something that was found an error. It has the whole response.
        """
        response = self._complete()
        if self._objection is not None:
            raise self._objection
        return response

    def _complete(self) -> Response:
        if self._response is None:
            builder = self._builder
            if builder.ended is None:
                builder.ended = "eof"
            self._response, self._objection = judged(builder, builder.ended)
            for choice in builder.choices.values():
                choice.shown.dirty.clear()  # a list of parts that hold it
        return self._response


class Gatherer(StreamAccumulator):
    """The accumulator of folders and views, which look at what is under way and judge what they hand out."""

    def complete(self) -> Response:
        """As `finalize`, but what the policy calls an error is left in `objection` instead of raised."""
        return self._complete()

    @property
    def objection(self) -> PolicyError | None:
        """What `finalize` raises; `None` if it raises nothing or the response is not complete."""
        return self._objection

    def as_if_ended(self) -> Response:
        """What `complete` would give now: an end that was told, else the end of the input. It goes on unchanged."""
        return self._response or judged(self._builder, self._builder.ended or "eof")[0]

    def finishes(self) -> tuple[tuple[FinishReason, str | None], ...]:
        """The reasons of choice 0 with the server's words as they were said, in order, also where an error followed."""
        choice = self._builder.choices.get(0)
        return tuple(choice.finishes) if choice is not None else ()

    def stopped_part(self) -> Part | None:
        """The part that the last `PartStop` closed, as the policy has it; `None` if none that is handed out."""
        stopped = self._builder.stopped
        return judged_part(self._builder, *stopped) if stopped is not None else None

    def oldest_open(self) -> int | None:
        """The index of the part of choice 0 that a `PartStop` without an index would close; `None` if none is open."""
        choice = self._builder.choices.get(0)
        return choice.oldest if choice is not None and choice.oldest_open() is not None else None

    @property
    def merges_usage(self) -> bool:
        """True if the policy makes of several reports another one than the last."""
        return self._builder.policy.usage not in ("latest", "replace")

    @property
    def drops_late_deltas(self) -> bool:
        """True if the policy drops what comes to a part that has ended."""
        return self._builder.policy.late_deltas == "drop"

    @property
    def usage(self) -> Usage | None:
        """The usage so far, as the policy has it."""
        return self._builder.usage

    def part_at(self, choice: int, index: int) -> Part | None:
        """
        The part that has ended under the `index` of its events, as the policy has it; `None` if it is not handed out.

        Its position in `parts` is another one where the policy takes parts away or sorts them.
        """
        builder = self._builder
        part = builder.choices[choice].at(index) if choice in builder.choices else None
        return judged_part(builder, choice, part) if part is not None and not part.open else None

    def sink(self, choice: int, index: int, delta: type | None = None) -> PartBuilder:
        """
        The builder that deltas to a part end in, for a caller who has proved that a frame is nothing but one. A part
        that has ended may have a *delta* of that type put aside.
        """
        builder = self._builder.choices[choice]
        return builder.strays.get((index, delta)) or builder.parts[index]

    def newest(self, most: int) -> Iterator[PartBuilder]:
        """The parts that came last, at most *most*."""
        choices = reversed(self._builder.choices.values())
        return islice((part for choice in choices for part in reversed(choice.parts)), most)

    def rows(self) -> Iterator[tuple[int, int, PartBuilder]]:
        """Each part with its choice and its index, in order."""
        for choice in sorted(self._builder.choices):
            for index, part in enumerate(self._builder.choices[choice].parts):
                yield choice, index, part
