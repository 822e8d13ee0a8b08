"""Frames that were read in full and meant one delta: from these is learned."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from chunkfold.events import (
    Extra,
    PartStart,
    PartStop,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolArgumentsDelta,
    UsageUpdate,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from chunkfold.events import Event
    from chunkfold.likeness.shapes import Path

__all__ = ["Sample", "sample_of"]

_DELTAS: Final = frozenset({TextDelta, ReasoningDelta, RefusalDelta, ToolArgumentsDelta})


class Sample(msgspec.Struct, eq=False):
    """A frame that was read in full and meant one delta."""

    event: Any
    """The delta."""
    data: bytes
    """The frame."""
    read: bytes | None
    """The read, if it held nothing else."""
    payload: dict[str, Any]
    extras: Sequence[Extra] = ()
    """The fields that it gave to be kept."""
    tells: bool = False
    """It said more: *extras* or new totals."""
    is_new: bool = False
    """It opened its part."""
    kept: Mapping[Path, Path] = {}
    """Where in the payload the *extras* are, and where they are kept."""

    @property
    def part(self) -> tuple[int, int]:
        """What the delta belongs to."""
        return self.event.choice, self.event.index


def sample_of(
    events: list[Event], start: int, data: bytes, read: bytes | None, payload: dict[str, Any]
) -> Sample | None:
    """
    The sample that the frame *data* is, if it is one: *events* from *start* on are all that it meant, *payload* what it
    said. It may have opened the part of its delta, and said fields to keep and the usage.
    """
    at = _behind_opening(events, start)
    if len(events) == at or type(events[at]) not in _DELTAS:
        return None
    beside = events[at + 1 :]
    if beside and type(beside[-1]) is UsageUpdate:
        beside.pop()
    extras = [event for event in beside if type(event) is Extra]
    if len(extras) < len(beside):
        return None
    return Sample(events[at], data, read, payload, extras, len(events) > at + 1, at > start)


def _behind_opening(events: list[Event], start: int) -> int:
    """The place behind the events from *start* on that end one part and open the next."""
    at = start
    if len(events) > at + 1 and type(events[at]) is PartStop:
        at += 1
    return at + 1 if len(events) > at and type(events[at]) is PartStart else start
