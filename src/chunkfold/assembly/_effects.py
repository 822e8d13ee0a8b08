"""
What each event does to a response in the making.

Deltas are by far the most frequent: one to an open part costs little more than an append. Whatever has no place of its
own finds one, and a diagnostic says so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._builders import DELTA_OF, MANY, WITH_DATA
from chunkfold.assembly._extras import put
from chunkfold.assembly._judgement import merged_name, merged_usage
from chunkfold.events import (
    Annotations,
    ArgumentsFieldDone,
    ArgumentsPathDelta,
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
    TextFieldDone,
    TextPathDelta,
    ToolArgumentsDelta,
    UnknownEvent,
    UsageUpdate,
)
from chunkfold.parts import CALLS, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.assembly._builders import ChoiceBuilder, PartBuilder, ResponseBuilder
    from chunkfold.parts import Kind

__all__ = ["HANDLERS", "take_delta"]


# Deltas


def take_delta(builder: ResponseBuilder, event: TextDelta | ReasoningDelta | RefusalDelta | ToolArgumentsDelta) -> None:
    """Add text to the part that it belongs to."""
    try:
        part = builder.choices[event.choice].parts[event.index]
    except (KeyError, IndexError):
        builder.shown.stale = True
        part = _orphan(builder, event, type(event))
    else:
        if part.delta is not type(event):
            builder.shown.stale = True
            part = _misplaced(builder, event, part)
    pieces = part.pieces
    if not pieces:
        part.touch()
    pieces.append(event.text)
    if len(pieces) > MANY:
        part.compact()


def _data(builder: ResponseBuilder, event: DataDelta) -> None:
    part = _at(builder, event)
    if part.kind not in WITH_DATA:
        part = _orphan(builder, event, DataDelta)
    if not part.hidden:
        part.fields.setdefault("data", []).append(event.data)
        part.touch()


def _misplaced(builder: ResponseBuilder, event: Any, part: PartBuilder) -> PartBuilder:
    """A delta to a part that has ended, or that is of another kind: an orphan, unless the part can go on."""
    kind = type(event)
    late = DELTA_OF.get(part.kind) is kind
    stray = builder.choices[event.choice].strays.get((event.index, kind))
    if stray is not None:
        return stray
    if not late:
        return _orphan(builder, event, kind)
    if builder.policy.late_deltas == "drop":
        lost = _orphan(builder, event, kind)
        lost.hide()
        return lost
    if not part.noted:
        part.noted = True
        builder.note("late_delta", f"{event.type} for part {event.index}, which had ended", event.choice, event.index)
    return part


def _orphan(builder: ResponseBuilder, event: Any, delta: type | None) -> PartBuilder:
    """The part for events that belong to none. By default it is kept, so that nothing is lost."""
    choice = builder.choice(event.choice)
    part = choice.strays.get((event.index, delta))
    if part is None:
        part = choice.part(_KIND_OF_EVENT.get(type(event), "unknown"), started=False)
        part.delta = delta
        if builder.policy.orphans == "drop":
            part.hide()
        choice.put_aside(event.index, part)
        builder.note("orphan_delta", f"{event.type} for part {event.index}, which is not open", event.choice)
    return part


def _at(builder: ResponseBuilder, event: Any) -> PartBuilder:
    """The part that an event other than a delta is about."""
    return builder.choice(event.choice).at(event.index) or _orphan(builder, event, None)


# The life of parts


def _part_start(builder: ResponseBuilder, event: PartStart) -> None:
    choice = builder.choice(event.choice)
    parts = choice.parts
    is_call = event.kind in CALLS
    part = _earlier(builder, choice, event) if is_call else None
    if part is None:
        part = choice.claimed(event.index, event.kind) if choice.strays else choice.part(event.kind)
    if event.index == len(parts):
        parts.append(part)
    else:
        choice.put_aside(event.index, part)
    if is_call and event.id is not None:
        choice.calls[event.id] = part
    part.start(event)
    if "stream_only" in part.control or (event.kind == "reasoning" and builder.policy.reasoning == "drop"):
        part.hide()


def _earlier(builder: ResponseBuilder, choice: ChoiceBuilder, event: PartStart) -> PartBuilder | None:
    """The call that a start with a known id goes on with, if the policy has it so."""
    part = choice.calls.get(event.id) if event.id is not None else None
    if part is None or part.hidden or part.kind not in CALLS or builder.policy.duplicate_start == "new":
        return None
    choice.aliased = True
    choice.oldest = 0
    builder.note("duplicate_start", f"the id of part {event.index} came before", event.choice, event.index)
    if builder.policy.duplicate_start == "replace":
        part.begin(event.kind)
    part.go_on()
    return part


def _part_update(builder: ResponseBuilder, event: PartUpdate) -> None:
    part = _at(builder, event)
    if event.id:
        if part.kind == "server_tool_result":
            part.fields["call_id"] = event.id
        elif part.kind in ("reasoning", "refusal", "unknown"):
            part.extra["id"] = event.id
        elif part.kind not in CALLS:
            part.fields["id"] = event.id
        elif not part.fields.get("id") or builder.policy.id_merge == "last":
            part.fields["id"] = event.id
            builder.choice(event.choice).calls[event.id] = part
    if event.name:
        fields = part.fields if part.kind in CALLS else part.extra
        fields["name"] = merged_name(fields.get("name"), event.name, builder.policy)
    if event.signature:
        if part.kind in ("text", "reasoning"):
            part.fields["signature"] = event.signature
        else:
            part.extra["signature"] = event.signature
    part.carry(event.extra)
    part.touch()


def _part_replace(builder: ResponseBuilder, event: PartReplace) -> None:
    part = _at(builder, event)
    if part.kind != event.part.kind:
        choice = builder.choice(event.choice)
        choice.shown.moved = True
        # The deltas by whose type it was found are not its own any more.
        choice.strays = {key: stray for key, stray in choice.strays.items() if stray is not part}
    part.replace(event.part)


def _part_stop(builder: ResponseBuilder, event: PartStop) -> None:
    choice, index = builder.choice(event.choice), event.index
    part = choice.oldest_open() if index is None else choice.at(index)
    builder.stopped = (event.choice, part) if part is not None and part.open else None
    if part is None:
        builder.note("orphan_stop", f"stop of part {index}, which is not open", event.choice)
    else:
        builder.close(part)


def _unknown(builder: ResponseBuilder, event: UnknownEvent) -> None:
    choice = builder.choice(0)
    part = choice.part("unknown")
    part.replace(UnknownPart(event.name, event.payload))
    builder.close(part)
    choice.parts.append(part)


def _reset(builder: ResponseBuilder, event: MessageReset) -> None:
    """Drop what the server took back. Usage stays, those tokens were spent; but not that of another request."""
    if event.reason == "attempt" and event.from_part == 0:
        builder.begin()
    for choice in builder.choices.values():
        choice.forget_from(event.from_part)
    if event.from_part == 0:
        builder.facts = {key: value for key, value in builder.facts.items() if key in ("dialect", "vendor")}
    if event.reason == "attempt":
        builder.error, builder.provider_error = None, False


# Facts


def _message_start(builder: ResponseBuilder, event: MessageStart) -> None:
    for name in event.__struct_fields__:
        value = getattr(event, name)
        if value is not None and name not in builder.facts:
            builder.facts[name] = value


def _annotations(builder: ResponseBuilder, event: Annotations) -> None:
    choice = builder.choice(event.choice)
    if event.index is not None:
        part = _at(builder, event)
        part.annotate(event.items)
        part.touch()
    choice.annotate(event.items, event.index)


def _logprobs(builder: ResponseBuilder, event: Logprobs) -> None:
    builder.choice(event.choice).logprobs.extend(event.items)


def _usage_update(builder: ResponseBuilder, event: UsageUpdate) -> None:
    builder.usage = merged_usage(builder.usage, event.usage, builder.policy)


def _finish(builder: ResponseBuilder, event: Finish) -> None:
    builder.choice(event.choice).finish(event.reason, event.native)


def _error_event(builder: ResponseBuilder, event: ErrorEvent) -> None:
    """The first error stands, but a provider's word goes before our own."""
    if builder.error is None or (event.error.origin == "provider" and not builder.provider_error):
        builder.error = event.error
    if event.error.origin == "provider":
        builder.provider_error = True


def _extra_event(builder: ResponseBuilder, event: Extra) -> None:
    put(builder.extra, event.path, event.value)


def _diagnostic(builder: ResponseBuilder, event: DiagnosticEvent) -> None:
    builder.diagnose(event.diagnostic)


def _nothing(builder: ResponseBuilder, event: Event) -> None:
    """An event that adds nothing to the response."""


def _stop(builder: ResponseBuilder, event: MessageStop) -> None:
    builder.ended = event.ended


_KIND_OF_EVENT: dict[type, Kind] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    RefusalDelta: "refusal",
    ToolArgumentsDelta: "tool_call",
    DataDelta: "file",
}

HANDLERS: dict[type, Callable[[ResponseBuilder, Any], None]] = {
    MessageStart: _message_start,
    PartStart: _part_start,
    TextDelta: take_delta,
    ReasoningDelta: take_delta,
    RefusalDelta: take_delta,
    ToolArgumentsDelta: take_delta,
    DataDelta: _data,
    PartUpdate: _part_update,
    PartReplace: _part_replace,
    PartStop: _part_stop,
    Annotations: _annotations,
    Logprobs: _logprobs,
    UsageUpdate: _usage_update,
    Finish: _finish,
    MessageReset: _reset,
    ErrorEvent: _error_event,
    Ping: _nothing,
    ArgumentsPathDelta: _nothing,
    ArgumentsFieldDone: _nothing,
    TextPathDelta: _nothing,
    TextFieldDone: _nothing,
    UnknownEvent: _unknown,
    Extra: _extra_event,
    DiagnosticEvent: _diagnostic,
    MessageStop: _stop,
}
