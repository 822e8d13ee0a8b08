"""
loopctl: parts as they close, its serialised events in and out, and its stop reasons.

Its lanes are named by an index together with a kind (text, tool, thinking), and an index may come again in another
lane; ours are dense. `read` translates the one into the other, and old events without an index too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from chunkfold import presets
from chunkfold.accumulator import Gatherer
from chunkfold.assembly._judgement import chosen_finish
from chunkfold.basis import _json
from chunkfold.basis._wording import described, given_or
from chunkfold.dialects._words import text_or_none
from chunkfold.errors import InvalidToolCall
from chunkfold.events import (
    Event,
    Finish,
    MessageStart,
    MessageStop,
    PartStart,
    PartStop,
    Ping,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    UsageUpdate,
)
from chunkfold.parts import Kind, Part, TextPart, ToolCall
from chunkfold.policy import Policy
from chunkfold.response import FinishReason, Message, Usage

__all__ = [
    "LoopctlAccumulator",
    "Reader",
    "StopReason",
    "Writer",
    "should_continue_tool_loop",
    "stop_reason",
    "stop_reason_of",
    "write",
]

StopReason: TypeAlias = Literal["tool_call", "max_tokens", "stop_sequence", "end_turn"]

_STOP_REASONS: dict[str, StopReason] = {
    "tool_call": "tool_call",
    "tool_use": "tool_call",
    "max_tokens": "max_tokens",
    "stop_sequence": "stop_sequence",
    "end_turn": "end_turn",
}
_OURS: dict[StopReason, FinishReason] = {
    "tool_call": "tool_calls",
    "max_tokens": "length",
    "stop_sequence": "stop",
    "end_turn": "stop",
}
_THEIRS: dict[str, StopReason] = {"tool_calls": "tool_call", "length": "max_tokens", "stop": "end_turn"}


def stop_reason(word: str) -> StopReason | None:
    """The reason that loopctl has for an API's *word*; `None` if it knows none."""
    return _STOP_REASONS.get(word)


def stop_reason_of(reason: FinishReason | None, native: str | None) -> StopReason | None:
    """The reason that loopctl has for a finish reason of ours, the server's own word going first."""
    return stop_reason(native or "") or _THEIRS.get(reason or "")


def should_continue_tool_loop(reason: StopReason | None) -> bool:
    """True if the calls are to be run and the model to be asked again."""
    return reason == "tool_call"


class Reader:
    """Reads loopctl's serialised events into ours. One reader for one stream."""

    def __init__(self) -> None:
        self._count = 0
        # The lanes that are open, oldest first: their index, their kind, our index.
        self._open: list[tuple[int, Kind, int]] = []

    def read(self, data: Mapping[str, Any] | str | bytes) -> list[Event]:
        """
        The events that one serialised event means; none for what it cannot mean.

        Raises:
            ValueError: If it is no JSON object.
        """
        data = _object(data)
        kind = data.get("type")
        if kind == "part_start":
            return [self._start(data.get("index") or 0, data.get("part"))]
        if kind == "indexed_delta":
            return self._delta(data.get("index") or 0, _object_in(data, "delta"))
        if kind == "part_stop":
            return self._stop(data.get("index"))
        if kind == "message_start":
            message = _object_in(data, "message")
            return [
                MessageStart(
                    text_or_none(message.get("id")),
                    text_or_none(message.get("model")),
                    role=text_or_none(message.get("role")),
                )
            ]
        if kind == "message_delta":
            return _message_delta(data)
        if kind == "message_stop":
            return [MessageStop("clean")]
        return [Ping()] if kind == "ping" else []

    def _start(self, index: int, part: Any) -> PartStart:
        """No part: a lane for thinking. A call: a tool lane. Any other part: text."""
        kind: Kind = "reasoning" if part is None else "text"
        call: Mapping[str, Any] = {}
        if isinstance(part, dict) and part.get("type") in ("tool_call", "tool_use"):
            kind, call = "tool_call", part
        ours = self._count
        self._count += 1
        self._open.append((index, kind, ours))
        extra = {"index": index} if call else {}
        return PartStart(0, ours, kind, text_or_none(call.get("id")), text_or_none(call.get("name")), extra=extra)

    def _delta(self, index: int, delta: Mapping[str, Any]) -> list[Event]:
        """To the oldest open lane of that index and kind. Without one it means nothing."""
        word = delta.get("type")
        kind, text = _DELTA_KINDS.get(str(word), ("", ""))
        said = delta.get(text)
        lane = next((ours for place, what, ours in self._open if place == index and what == kind), None)
        if lane is None or not isinstance(said, str):
            return []
        if kind == "text":
            return [TextDelta(0, lane, said)]
        return [ReasoningDelta(0, lane, said)] if kind == "reasoning" else [ToolArgumentsDelta(0, lane, said)]

    def _stop(self, index: int | None) -> list[Event]:
        """The oldest open lane of that index, of whatever kind; without an index the oldest of all."""
        lane = next((lane for lane in self._open if index is None or lane[0] == index), None)
        if lane is None:
            return []
        self._open.remove(lane)
        return [PartStop(0, lane[2])]


def _object(data: Mapping[str, Any] | str | bytes) -> Mapping[str, Any]:
    said = _json.decode(data.encode() if isinstance(data, str) else data)[0] if isinstance(data, (str, bytes)) else data
    if not hasattr(said, "keys"):
        raise ValueError("a serialised event is a JSON object")
    return said


def _object_in(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """The object in that field; an empty one if there is none."""
    said = data.get(name)
    return said if isinstance(said, Mapping) else {}


_DELTA_KINDS: dict[str, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("reasoning", "text"),
    "tool_call_delta": ("tool_call", "partial_json"),
    "input_json_delta": ("tool_call", "partial_json"),
}


def _message_delta(data: Mapping[str, Any]) -> list[Event]:
    """A known stop reason, and the usage, which replaces the one before even if there is none."""
    events: list[Event] = []
    word = _object_in(data, "delta").get("stop_reason")
    reason = stop_reason(word) if isinstance(word, str) else None
    if reason is not None:
        events.append(Finish(0, _OURS[reason], word))
    usage = _object_in(data, "usage")
    counts = {name: usage[name] for name in ("input_tokens", "output_tokens") if type(usage.get(name)) is int}
    events.append(UsageUpdate(Usage(**counts, raw=dict(usage) if counts else {})))
    return events


def write(event: Event) -> dict[str, Any] | None:
    """
    *event* as loopctl serialises it; `None` for what it has no event for: media, other choices than the first, ...
    """
    if getattr(event, "choice", 0) != 0:
        return None
    if isinstance(event, MessageStart):
        message = {"id": event.id or "", "role": event.role or "assistant", "model": event.model or ""}
        return {"type": "message_start", "message": message}
    if isinstance(event, PartStart):
        # What comes to a lane that was never opened, loopctl passes over.
        is_known = event.kind in ("text", "reasoning", "tool_call")
        return {"type": "part_start", "index": event.index, "part": _part_of(event)} if is_known else None
    if isinstance(event, (TextDelta, ReasoningDelta, ToolArgumentsDelta)):
        if isinstance(event, ToolArgumentsDelta):
            delta = {"type": "input_json_delta", "partial_json": event.text}
        else:
            delta = {"type": "text_delta" if isinstance(event, TextDelta) else "thinking_delta", "text": event.text}
        return {"type": "indexed_delta", "index": event.index, "delta": delta}
    if isinstance(event, PartStop):
        return {"type": "part_stop", "index": event.index}
    if isinstance(event, Finish):
        word = stop_reason_of(event.reason, event.native) or event.native
        return {"type": "message_delta", "delta": {"stop_reason": word}, "usage": None}
    if isinstance(event, UsageUpdate):
        usage = {"input_tokens": event.usage.input_tokens or 0, "output_tokens": event.usage.output_tokens or 0}
        return {"type": "message_delta", "delta": {"stop_reason": None}, "usage": usage}
    if isinstance(event, MessageStop):
        # Only the server's own mark: loopctl takes an end without one for a cut.
        return {"type": "message_stop"} if event.ended == "clean" else None
    if not isinstance(event, Event):
        raise TypeError(f"write() takes an event, not {described(event)}")
    return {"type": "ping"} if isinstance(event, Ping) else None


def _part_of(event: PartStart) -> dict[str, Any] | None:
    if event.kind == "reasoning":
        return None
    if event.kind == "tool_call":
        return {"type": "tool_call", "id": event.id or "", "name": event.name or "", "input": {}}
    return {"type": "text", "text": ""}


class Writer:
    """
    Writes the events of one stream as loopctl serialises them, each as `write` does.

    There, a message delta without usage erases the usage before it: a reason is written with the usage so far.
    """

    def __init__(self) -> None:
        self._usage: dict[str, Any] | None = None

    def write(self, event: Event) -> dict[str, Any] | None:
        """*event* as loopctl serialises it; `None` for what it has no event for."""
        data = write(event)
        if data is not None and data["type"] == "message_delta":
            self._usage = data["usage"] = data["usage"] or self._usage
        return data


_POLICY = msgspec.structs.replace(presets.loopctl, finish="last")


class LoopctlAccumulator:
    """loopctl's accumulator: `process` events, ours or serialised ones of its own, and `build` the message."""

    def __init__(self, policy: Policy | None = _POLICY) -> None:
        self._policy = given_or(_POLICY, policy, "policy", "a chunkfold.Policy")
        self._core = Gatherer(self._policy)
        self._reader = Reader()

    def process(self, event: Event | Mapping[str, Any] | str | bytes) -> Part | None:
        """
        Take one event; a part that it closes is returned.

        Raises:
            InvalidToolCall: If it closes a call whose arguments cannot be read. The call stays in the response, and
                the stream may go on.
            ValueError: After `build`, or if serialised data is no JSON object.
        """
        events = [event] if isinstance(event, Event) else self._reader.read(event)
        closed: Part | None = None
        for each in events:
            self._core.observe(each)
            if isinstance(each, PartStop):
                closed = self._core.stopped_part()
                if isinstance(closed, ToolCall) and not _is_fine(closed):
                    raise InvalidToolCall(closed)
        return closed if closed is not None and _is_flushed(closed) else None

    def peek_parts(self) -> tuple[Part, ...]:
        """The parts that have closed, in that order."""
        return tuple(part for part in self._core.as_if_ended().parts if _is_flushed(part))

    def usage(self) -> Usage | None:
        """The last usage; `None` if the last message delta had none."""
        usage = self._core.snapshot().usage
        return None if usage is None or usage == Usage() else usage

    def stop_reason(self) -> StopReason | None:
        """The last reason that loopctl knows; `None` while there is none."""
        known = [said for said in self._core.finishes() if stop_reason_of(*said) is not None]
        stands = chosen_finish(known, self._policy) or (self._core.snapshot().finish_reason, None)
        return stop_reason_of(*stands)

    def build(self) -> Message:
        """The message of the parts that have closed. What was left open is dropped."""
        response = self._core.complete()
        return Message(parts=tuple(part for part in response.parts if _is_flushed(part)), dialect=response.dialect)


def _is_flushed(part: Part) -> bool:
    """Text that is not empty, and calls that can be used."""
    return bool(part.text) if isinstance(part, TextPart) else not isinstance(part, ToolCall) or _is_fine(part)


def _is_fine(call: ToolCall) -> bool:
    """True if the client can run it, or need not: some servers write code as the arguments of tools of their own."""
    return call.server_side or call.is_usable
