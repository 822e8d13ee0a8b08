"""
ReqLLM's `ChunkAccumulator`: push events, ask any finaliser at any time, in any order, as often as you like.

It takes our events instead of ReqLLM's chunks. What a start says beside its fields stands in `PartStart.extra`:
`start_arguments` (the arguments of the start), `expects_arguments` (deltas are promised), `stream_only` (a preview).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Self

from msgspec.structs import replace

from chunkfold import presets
from chunkfold.accumulator import Gatherer
from chunkfold.basis._wording import given_or, observer
from chunkfold.events import Event, MessageReset, PartStart, PartStop
from chunkfold.parts import AudioPart, FilePart, ImagePart, Part, ReasoningPart, TextPart, ToolCall
from chunkfold.policy import Policy
from chunkfold.response import Message, Response

__all__ = ["BuiltinTool", "ChunkAccumulator"]

_KEPT_REASONS = ("stop", "length", "tool_calls", "content_filter", "error", "cancelled")
_MEDIA = (ImagePart, AudioPart, FilePart)


class BuiltinTool(NamedTuple):
    """A tool that the server ran, with the times at which its call was seen to start and to end."""

    id: str | None
    name: str | None
    status: str | None
    started: float | None
    done: float | None


class ChunkAccumulator:
    """
    ReqLLM's accumulator.

    Args:
        policy: How doubtful things are judged.
        clock: Tells the time when a builtin tool starts and ends; `None`: no times are taken.

    """

    def __init__(self, policy: Policy | None = presets.req_llm, clock: Callable[[], float] | None = None) -> None:
        observer("clock", clock)
        self._core = Gatherer(given_or(presets.req_llm, policy, "policy", "a chunkfold.Policy"))
        self._clock = clock
        # When builtin tools of the first choice were seen to start and to end, by the indices of their parts.
        self._times: dict[int, list[float | None]] = {}

    def push(self, event: Event) -> Self:
        """Take one event."""
        if isinstance(event, PartStop) and event.index is None and event.choice == 0:
            event = replace(event, index=self._core.oldest_open())
        self._core.observe(event)
        if self._clock is not None and isinstance(event, (PartStart, PartStop, MessageReset)):
            self._note_time(event, self._clock)
        return self

    def reduce(self, events: Iterable[Event]) -> Self:
        """Take all of *events*."""
        for event in events:
            self.push(event)
        return self

    def _note_time(self, event: PartStart | PartStop | MessageReset, clock: Callable[[], float]) -> None:
        if isinstance(event, MessageReset):
            self._times = {index: times for index, times in self._times.items() if index < event.from_part}
        elif event.choice != 0:
            return
        elif isinstance(event, PartStart):
            if event.kind == "server_tool_call":
                self._times[event.index] = [clock(), None]
        elif event.index in self._times:
            self._times[event.index][1] = clock()

    # The finalisers

    def text(self) -> str:
        """All text, joined."""
        return self._response().text

    def thinking(self) -> str:
        """All thinking, joined."""
        return "".join(part.text for part in self._response().parts if isinstance(part, ReasoningPart))

    def content_parts(self) -> tuple[Part, ...]:
        """Whole parts that are no text: pictures, audios, files."""
        return tuple(part for part in self._response().parts if isinstance(part, _MEDIA))

    def ordered_content(self, *, include_thinking: bool = True) -> tuple[Part, ...]:
        """Text, thinking and whole parts in the order in which they came; texts of different items stay apart."""
        return self._content(reasoning=include_thinking)

    def has_ordered_content(self) -> bool:
        """True if one joined text would lose something: a whole part came, or text that is labelled with its item."""
        content = self._content()
        return any(isinstance(part, _MEDIA) or (isinstance(part, TextPart) and _is_bounded(part)) for part in content)

    def reasoning_details(self) -> list[dict[str, Any]]:
        """What goes with the thinking, one entry a part, in order."""
        parts = [part for part in self._response().parts if isinstance(part, ReasoningPart)]
        return [
            {
                **_said(part.extra),
                "index": place,
                "text": part.text,
                "signature": part.signature,
                "encrypted": part.encrypted is not None,
                "data": part.encrypted,
            }
            for place, part in enumerate(parts)
        ]

    def logprobs(self) -> list[Any]:
        """In order, repeats and all."""
        return list(self._response().logprobs)

    def annotations(self) -> list[dict[str, Any]]:
        """In order, without exact repeats."""
        return list(self._response().annotations)

    def finish_reason(self) -> str | None:
        """The last reason, in the server's word; `None` if there was none."""
        response = self._response()
        return response.native_finish_reason

    def server_finish_reason(self) -> str:
        """
        The reason as ReqLLM's stream server tells it when the stream is over.

        An error and a cancellation go before what was said. Without a word, an end that was marked is a `stop`, any
        other is `incomplete`.
        """
        response = self._response()
        if response.error is not None:
            return "error"
        if response.ended == "cancelled":
            return "cancelled"
        reason = response.finish_reason
        if reason is None or (response.native_finish_reason or "").lower() == "incomplete":
            return "incomplete"
        return reason if reason in _KEPT_REASONS else "unknown"

    def usage(self) -> dict[str, int] | None:
        """The counts that were reported; `None` if none were."""
        usage = self._response().usage
        if usage is None:
            return None
        counts = usage.to_dict()
        counts.pop("raw", None)
        return counts

    def tool_calls_for_response(self) -> list[dict[str, Any]]:
        """The calls, also those of builtin tools, as dicts: id, name, arguments, and what else there is of them."""
        return [_plain(part) for part in self._response().parts if isinstance(part, ToolCall)]

    def message(self) -> Message | None:
        """The message for telemetry: content without thinking, then calls. `None` without text, content and calls."""
        message = self._response().message
        calls = tuple(part for part in message.parts if isinstance(part, ToolCall))
        parts = self._content(reasoning=False) + calls
        return replace(message, parts=parts) if parts else None

    def builtin_tools(self) -> list[BuiltinTool]:
        """The tools that the server ran, with their status and, given a clock, their times."""
        calls = [part for part in self._response().parts if isinstance(part, ToolCall) and part.server_side]
        times: list[Any] = [self._times[index] for index in sorted(self._times)]
        times += [(None, None)] * (len(calls) - len(times))
        return [
            BuiltinTool(call.id, call.name, call.extra.get("status"), *seen)
            for call, seen in zip(calls, times, strict=False)
        ]

    def _content(self, *, reasoning: bool = True) -> tuple[Part, ...]:
        """As `Message.content`, without parts that say nothing: they do not even keep their neighbours apart."""
        message = self._response().message
        parts = tuple(part for part in message.parts if not _says_nothing(part))
        return replace(message, parts=parts).content(reasoning=reasoning)

    def _response(self) -> Response:
        return self._core.as_if_ended()


def _says_nothing(part: Part) -> bool:
    if isinstance(part, TextPart):
        return not (part.text or part.annotations or part.signature)
    return isinstance(part, ReasoningPart) and not (part.text or part.signature or part.encrypted or part.redacted)


def _is_bounded(part: TextPart) -> bool:
    return part.phase is not None and (part.id is not None or "output_index" in part.extra)


def _said(extra: dict[str, Any]) -> dict[str, Any]:
    """What the provider said, without our notes for the native body."""
    return {key: value for key, value in extra.items() if not key.startswith("$")}


def _plain(call: ToolCall) -> dict[str, Any]:
    metadata = _said(call.extra)
    for key in ("arguments_lost", "original_arguments"):
        metadata.pop(key, None)
    lost = call.extra.get("arguments_lost")
    if lost is not None:
        metadata["error"] = {"type": "args_lost", **lost}
    out: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": call.arguments_or({})}
    if call.server_side:
        out["builtin"] = True
    if metadata:
        out["metadata"] = metadata
    return out
