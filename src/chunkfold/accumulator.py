"""
The upper half: events in, the response out. It knows neither bytes nor providers.

Text is collected in pieces and joined when it is looked at; arguments are parsed once, when a call is sealed. What a
finish reason means in the light of the content (a plain stop with calls, a refusal) is decided here, at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold import _json
from chunkfold.events import (
    Annotations,
    DataDelta,
    DiagnosticEvent,
    ErrorEvent,
    Event,
    Extra,
    Finish,
    Logprobs,
    MessageReset,
    MessageStart,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    Ping,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolArgumentsDelta,
    UnknownEvent,
    UsageUpdate,
)
from chunkfold.limits import Limits
from chunkfold.parts import (
    CLASSES,
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from chunkfold.policy import Policy
from chunkfold.response import Choice, Diagnostic, Response, StreamError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.parts import Kind, Part, ToolCallStatus
    from chunkfold.response import Ended, FinishReason

__all__ = ["StreamAccumulator"]

# Pieces are joined when there are this many: short strings cost ten times their text in memory.
_MANY = 2048

_MEDIA = ("media_type", "url", "id", "transcript", "final")
# Fields of parts that events bring under `extra`, by their names.
_CARRIED: dict[str, tuple[str, ...]] = {
    "text": ("phase", "annotations"),
    "reasoning": ("encrypted", "redacted", "summary"),
    "tool_call": ("index",),
    "server_tool_call": ("index",),
    "server_tool_result": ("content", "is_error"),
    "image": _MEDIA,
    "audio": _MEDIA,
    "file": _MEDIA,
}


class _PartBuilder:
    """A part in the making."""

    __slots__ = ("annotations", "built", "chunks", "extra", "fields", "kind", "open", "pieces", "sealed", "seen")

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.open = True
        self.pieces: list[Any] = []
        self.chunks: list[Any] = []
        # Fields of the part but text and extra.
        self.fields: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.annotations: list[dict[str, Any]] = []
        self.seen: set[str] = set()
        self.sealed: ToolCallStatus | None = None
        # The part as last handed out; `None` when something has come since.
        self.built: Part | None = None

    def carry(self, extra: dict[str, Any]) -> None:
        """Take the fields that came under `extra`."""
        carried = _CARRIED.get(self.kind, ())
        for key, value in extra.items():
            if value is None:
                continue
            if key in carried:
                self.fields[key] = value
            else:
                self.extra[key] = value

    def text(self) -> str:
        """The text so far. Asking again costs only what has come since."""
        if self.pieces:
            self.chunks = ["".join(self.chunks) + "".join(self.pieces)]
            self.pieces.clear()
        elif len(self.chunks) > 1:
            self.chunks = ["".join(self.chunks)]
        return self.chunks[0] if self.chunks else ""

    def compact(self) -> None:
        """Join many small pieces into one."""
        empty: Any = b"" if self.kind in ("image", "file") else ""
        self.chunks.append(empty.join(self.pieces))
        self.pieces.clear()


class _ChoiceBuilder:
    """A choice in the making."""

    __slots__ = ("annotations", "logprobs", "native", "parts", "reason", "seen")

    def __init__(self) -> None:
        self.parts: list[_PartBuilder] = []
        self.logprobs: list[Any] = []
        self.annotations: list[dict[str, Any]] = []
        self.seen: set[str] = set()
        self.reason: FinishReason | None = None
        self.native: str | None = None


class StreamAccumulator:
    """
    Folds events into a response.

    `observe` takes the events in their order, `snapshot` gives the response so far, `finalize` the complete one. The
    events may come from a `Decoder`, from a journal, or be written by hand.
    """

    def __init__(self, policy: Policy | None = None, limits: Limits | None = None) -> None:
        self._policy = policy if policy is not None else Policy()
        self._depth = (limits if limits is not None else Limits()).json_depth
        self._choices: dict[int, _ChoiceBuilder] = {}
        self._facts: dict[str, Any] = {}
        self._extra: dict[str, Any] = {}
        self._diagnostics: list[Diagnostic] = []
        self._usage: Usage | None = None
        self._error: StreamError | None = None
        self._provider_error = False
        self._ended: Ended | None = None
        self._response: Response | None = None

    def observe(self, event: Event) -> None:
        """
        Take one event.

        Raises:
            ValueError: After `finalize`.
        """
        if self._response is not None:
            raise ValueError("observe() after finalize()")
        _HANDLERS[type(event)](self, event)

    def snapshot(self) -> Response:
        """The response so far: safe to keep, `ended=None` and calls `open` until the end."""
        return self._response or self._build()

    def finalize(self) -> Response:
        """The complete response. Parts that were not closed are closed now. Asking again gives the same object."""
        if self._response is None:
            if self._ended is None:
                self._end("eof")
            self._response = self._build()
        return self._response

    # Deltas

    def _delta(self, event: TextDelta | ReasoningDelta | RefusalDelta | ToolArgumentsDelta) -> None:
        try:
            part = self._choices[event.choice].parts[event.index]
        except (KeyError, IndexError):
            part = self._orphan(event)
        part.pieces.append(event.text)
        part.built = None
        if len(part.pieces) > _MANY:
            part.compact()

    def _data(self, event: DataDelta) -> None:
        part = self._at(event)
        part.fields.setdefault("data", []).append(event.data)
        part.built = None

    def sink(self, choice: int, index: int) -> _PartBuilder:
        """The builder that deltas to a part end in, for a caller who has proved that a frame is nothing but one."""
        return self._choices[choice].parts[index]

    def _orphan(self, event: Any) -> _PartBuilder:
        """A delta to a part that was never started: it is started now, so that nothing is lost."""
        kind = _KIND_OF_DELTA.get(type(event), "unknown")
        parts = self._choice(event.choice).parts
        self._note("orphan_delta", f"{event.type} for part {event.index}, which was never started", event.choice)
        part = _PartBuilder(kind)
        parts.append(part)
        return part

    def _at(self, event: Any) -> _PartBuilder:
        try:
            return self._choices[event.choice].parts[event.index]
        except (KeyError, IndexError):
            return self._orphan(event)

    # The life of parts

    def _part_start(self, event: PartStart) -> None:
        part = _PartBuilder(event.kind)
        fields = part.fields
        if event.kind in ("tool_call", "server_tool_call"):
            fields.update(id=event.id, name=event.name, type=event.tool_type or "function")
            fields["server_side"] = event.kind == "server_tool_call"
        elif event.kind == "server_tool_result":
            fields.update(call_id=event.id, name=event.name)
        elif event.kind == "unknown":
            fields["name"] = event.name or ""
        elif event.id is not None and event.kind not in ("reasoning", "refusal"):
            fields["id"] = event.id
        elif event.id is not None and event.kind == "reasoning":
            part.extra["id"] = event.id
        part.carry(event.extra)
        self._choice(event.choice).parts.append(part)

    def _part_update(self, event: PartUpdate) -> None:
        part = self._at(event)
        if event.id is not None:
            if part.kind == "server_tool_result":
                part.fields["call_id"] = event.id
            elif part.kind in ("reasoning", "refusal", "unknown"):
                part.extra["id"] = event.id
            else:
                part.fields["id"] = event.id
        if event.name is not None:
            part.fields["name"] = event.name
        if event.signature is not None:
            if part.kind in ("text", "reasoning"):
                part.fields["signature"] = event.signature
            else:
                part.extra["signature"] = event.signature
        part.carry(event.extra)
        part.built = None

    def _part_replace(self, event: PartReplace) -> None:
        """What is stated whole replaces text and what it says; what it leaves unsaid stays."""
        part, new = self._at(event), event.part
        part.built = None
        part.sealed = None
        if part.kind != new.kind:
            part.kind = new.kind
            part.fields = {}
        part.pieces, part.chunks = [], []
        defaults = type(new)()
        for name in new.__struct_fields__:
            value = getattr(new, name)
            if name in ("text", "raw_arguments"):
                part.pieces = [value] if value else []
            elif name == "extra":
                part.extra.update(value)
            elif name == "payload":
                part.extra = value if isinstance(value, dict) else {"value": value}
            elif name == "annotations" and value:
                part.annotations, part.seen = [], set()
                _extend_unlike(part.annotations, part.seen, value)
            elif name == "data":
                part.fields["data"] = [value] if value is not None else part.fields.get("data", [])
            elif name != "status" and value != getattr(defaults, name):
                part.fields[name] = value

    def _part_stop(self, event: PartStop) -> None:
        parts = self._choice(event.choice).parts
        if event.index is None:
            part = next((part for part in parts if part.open), None)
        else:
            part = parts[event.index] if 0 <= event.index < len(parts) else None
        if part is None:
            self._note("orphan_stop", f"stop of part {event.index}, which is not open", event.choice)
            return
        part.open = False
        part.built = None

    def _unknown(self, event: UnknownEvent) -> None:
        part = _PartBuilder("unknown")
        part.open = False
        part.built = UnknownPart(event.name, event.payload)
        self._choice(0).parts.append(part)

    def _reset(self, event: MessageReset) -> None:
        """Drop what the server took back. Usage stays: those tokens were spent."""
        for choice in self._choices.values():
            del choice.parts[event.from_part :]
            if event.from_part == 0:
                choice.logprobs.clear()
                choice.annotations.clear()
                choice.seen.clear()
            choice.reason = choice.native = None
        if event.from_part == 0:
            self._facts = {key: value for key, value in self._facts.items() if key in ("dialect", "vendor")}
        if event.reason == "attempt":
            self._error, self._provider_error = None, False

    # Facts

    def _message_start(self, event: MessageStart) -> None:
        for name in event.__struct_fields__:
            value = getattr(event, name)
            if value is not None and name not in self._facts:
                self._facts[name] = value

    def _annotations(self, event: Annotations) -> None:
        choice = self._choice(event.choice)
        if event.index is not None:
            part = self._at(event)
            _extend_unlike(part.annotations, part.seen, event.items)
            part.built = None
        _extend_unlike(choice.annotations, choice.seen, event.items)

    def _logprobs(self, event: Logprobs) -> None:
        self._choice(event.choice).logprobs.extend(event.items)

    def _usage_update(self, event: UsageUpdate) -> None:
        self._usage = event.usage

    def _finish(self, event: Finish) -> None:
        choice = self._choice(event.choice)
        choice.reason, choice.native = event.reason, event.native or choice.native

    def _error_event(self, event: ErrorEvent) -> None:
        """The first error stands, but a provider's word goes before our own."""
        if self._error is None or (event.error.origin == "provider" and not self._provider_error):
            self._error = event.error
        if event.error.origin == "provider":
            self._provider_error = True

    def _extra_event(self, event: Extra) -> None:
        target: Any = self._extra
        *way, last = event.path
        for step, following in zip(way, event.path[1:], strict=True):
            target = target.setdefault(str(step), [] if following == "-" else {})
            if not isinstance(target, (dict, list)):
                return
        if isinstance(target, list):
            target.append(event.value)
        else:
            target[str(last)] = event.value

    def _diagnostic(self, event: DiagnosticEvent) -> None:
        self._diagnostics.append(event.diagnostic)

    def _ping(self, event: Ping) -> None:
        pass

    def _stop(self, event: MessageStop) -> None:
        self._end(event.ended)

    def _end(self, ended: Ended) -> None:
        """Nothing more comes: calls are judged anew, now that it is known whether the stream was cut."""
        self._ended = ended
        for choice in self._choices.values():
            for part in choice.parts:
                if part.kind in ("tool_call", "server_tool_call"):
                    part.built = None

    # The response

    def _choice(self, index: int) -> _ChoiceBuilder:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _ChoiceBuilder()
        return choice

    def _note(self, kind: str, detail: str, choice: int | None = None, index: int | None = None) -> None:
        self._diagnostics.append(Diagnostic(kind, None, choice, index, detail))

    def _build(self) -> Response:
        over = self._ended is not None
        facts = self._facts
        truncated = over and self._is_truncated()
        if self._provider_error:
            self._choice(0)  # so that the finish reason has a place
        return Response(
            choices=tuple(self._build_choice(index, over, truncated) for index in sorted(self._choices)),
            usage=self._usage,
            ended=self._ended,
            truncated=truncated,
            error=self._error,
            id=facts.get("id"),
            model=facts.get("model"),
            created=facts.get("created"),
            dialect=facts.get("dialect"),
            vendor=facts.get("vendor"),
            diagnostics=tuple(self._diagnostics),
            extra=_copied(self._extra),
        )

    def _is_truncated(self) -> bool:
        """The server said that it was done by an end mark, by an error, or by a reason for each choice."""
        if self._ended == "clean" or self._provider_error:
            return False
        choices = self._choices.values()
        return not choices or any(choice.reason is None for choice in choices)

    def _build_choice(self, index: int, over: bool, truncated: bool) -> Choice:
        choice = self._choices[index]
        cut = truncated or choice.reason == "length" or self._error is not None
        return Choice(
            index=index,
            parts=tuple([part.built or self._build_part(part, over, cut) for part in choice.parts]),
            finish_reason=self._reason(choice),
            native_finish_reason=choice.native,
            logprobs=tuple(choice.logprobs),
            annotations=tuple(choice.annotations),
            role=self._facts.get("role") or "assistant",
        )

    def _reason(self, choice: _ChoiceBuilder) -> FinishReason | None:
        """The server's reason, in the light of what came: only a plain stop is ever changed, and by an error all."""
        if self._provider_error:
            return "error"
        if choice.reason == "stop":
            kinds = {part.kind for part in choice.parts if part.kind != "unknown"}
            if "tool_call" in kinds:
                return "tool_calls"
            if "refusal" in kinds and not any(part.text() for part in choice.parts if part.kind == "text"):
                return "refusal"
        return choice.reason

    def _build_part(self, part: _PartBuilder, over: bool, cut: bool) -> Part:
        fields, kind = part.fields, part.kind
        built: Part
        if kind == "text":
            built = TextPart(text=part.text(), annotations=tuple(part.annotations), extra=dict(part.extra), **fields)
        elif kind == "reasoning":
            built = ReasoningPart(text=part.text(), extra=dict(part.extra), **fields)
        elif kind == "refusal":
            built = RefusalPart(part.text())
        elif kind in ("tool_call", "server_tool_call"):
            built = self._build_call(part, over, cut)
        elif kind == "server_tool_result":
            built = ToolResult(extra=dict(part.extra), **fields)
        elif kind == "unknown":
            built = UnknownPart(fields.get("name", ""), dict(part.extra))
        else:
            built = self._build_media(part)
        part.built = built
        return built

    def _build_media(self, part: _PartBuilder) -> ImagePart | AudioPart | FilePart:
        fields = dict(part.fields)
        pieces = fields.pop("data", None)
        data = b"".join(pieces) if pieces else None
        if pieces and len(pieces) > 1:
            part.fields["data"] = [data]
        text = part.text()
        if text:
            fields["transcript"] = text
        cls: Callable[..., ImagePart | AudioPart | FilePart] = CLASSES[part.kind]
        return cls(data=data, extra=dict(part.extra), **fields)

    def _build_call(self, part: _PartBuilder, over: bool, cut: bool) -> ToolCall:
        raw = part.text()
        fields = part.fields
        status: ToolCallStatus = "open"
        if over or not part.open:
            status = part.sealed or self._seal(raw, fields.get("type") == "custom")
            part.sealed = status
            if status == "invalid" and cut and over:
                status = "truncated"
        return ToolCall(raw_arguments=raw, status=status, extra=dict(part.extra), **fields)

    def _seal(self, raw: str, is_text: bool) -> ToolCallStatus:
        """Judge the argument text, once."""
        if is_text:
            return "complete"
        if not raw.strip(" \t\r\n"):
            return "empty"
        try:
            value = _json.parse_arguments(raw, self._depth)
        except ValueError:
            return "invalid"
        return "complete" if isinstance(value, dict) else "invalid"


def _extend_unlike(items: list[dict[str, Any]], seen: set[str], new: tuple[dict[str, Any], ...]) -> None:
    """Add the items that are no exact repeats."""
    for item in new:
        key = _json.encode(item)
        if key not in seen:
            seen.add(key)
            items.append(item)


def _copied(value: Any) -> Any:
    """A copy of the containers that grow, so that a snapshot stays what it was."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    return list(value) if isinstance(value, list) else value


_KIND_OF_DELTA: dict[type, Kind] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    RefusalDelta: "refusal",
    ToolArgumentsDelta: "tool_call",
}

_HANDLERS: dict[type, Callable[[StreamAccumulator, Any], None]] = {
    MessageStart: StreamAccumulator._message_start,
    PartStart: StreamAccumulator._part_start,
    TextDelta: StreamAccumulator._delta,
    ReasoningDelta: StreamAccumulator._delta,
    RefusalDelta: StreamAccumulator._delta,
    ToolArgumentsDelta: StreamAccumulator._delta,
    DataDelta: StreamAccumulator._data,
    PartUpdate: StreamAccumulator._part_update,
    PartReplace: StreamAccumulator._part_replace,
    PartStop: StreamAccumulator._part_stop,
    Annotations: StreamAccumulator._annotations,
    Logprobs: StreamAccumulator._logprobs,
    UsageUpdate: StreamAccumulator._usage_update,
    Finish: StreamAccumulator._finish,
    MessageReset: StreamAccumulator._reset,
    ErrorEvent: StreamAccumulator._error_event,
    Ping: StreamAccumulator._ping,
    UnknownEvent: StreamAccumulator._unknown,
    Extra: StreamAccumulator._extra_event,
    DiagnosticEvent: StreamAccumulator._diagnostic,
    MessageStop: StreamAccumulator._stop,
}
