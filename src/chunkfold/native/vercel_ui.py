"""
The native body of `vercel-ui`: the UI message that the AI SDK makes of the stream.

Several chunks are about one part, and a call and its result are one part. A UI message has no place for the finish
reason, an error and what else is about the run: they stand beside its parts under the names that the chunks have.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chunkfold.dialects._words import is_empty
from chunkfold.native._build import (
    APPEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    copied,
    data_url,
    error_of,
    extra_of,
    fields,
    fill,
    is_flat,
    is_whole,
    parsed,
)
from chunkfold.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["EVENTS", "RULES", "body", "request"]

RULES: Mapping[str, Rule] = {
    "type": TRANSPORT,  # of the chunk; several make a part
    "id": TRANSPORT,  # tells the open texts apart
    "messageId": Rule("first", "id"),
    "messageMetadata": Rule("last", "metadata"),
    "delta": APPEND,
    "textDelta": APPEND,
    "inputTextDelta": APPEND,
    "toolCallId": Rule("extend", "parts[].toolCallId"),
    "toolName": APPEND,  # in the type of the part, unless the tool is dynamic
    "dynamic": TRANSPORT,  # likewise
    "preliminary": TRANSPORT,  # another result follows
    "error": FIRST,
    "*": Rule("last", "parts[]"),
}

_CALL = {"providerMetadata": Rule("last", "parts[].callProviderMetadata")}
_RESULT = {"providerMetadata": Rule("last", "parts[].resultProviderMetadata")}
# An answer about the call of an earlier message is a part of its own.
_APPROVAL = {
    "approvalId": Rule("first", "parts[].approval.id"),
    "approvalDescriptor": Rule("first", "parts[].approval.descriptor"),
    "*": Rule("first", "parts[].approval"),
}

# What the fields of a chunk mean where it is not as above.
EVENTS: Mapping[str, Mapping[str, Rule]] = {
    **{kind: {"*": LAST} for kind in ("start", "finish-step", "message-metadata", "finish", "error")},
    "abort": {"*": Rule("last", "abort")},
    **dict.fromkeys(("tool-input-start", "tool-input-delta", "tool-input-available"), _CALL),
    **dict.fromkeys(("tool-input-error", "tool-output-available", "tool-output-error"), _RESULT),
    "tool-approval-request": _APPROVAL,
    "tool-approval-response": _APPROVAL,
    "text-delta": {"text": APPEND},
    **{
        kind: {"id": Rule("extend", "parts[].id"), "text": APPEND}
        for kind in ("reasoning-start", "reasoning-delta", "reasoning-end")
    },
}


def body(response: Response) -> dict[str, Any]:
    """The UI message that says the same."""
    extra = response.extra
    out = fields(extra, ("steps", "sources"))
    fill(out, id=response.id, finishReason=response.native_finish_reason)
    out["role"] = response.message.role
    out["parts"] = _parts(response)
    error = error_of(response)
    if error is not None:
        told = {key: value for key, value in error.items() if key != "type"}
        if told and is_flat(told) and "errorText" not in told:
            told = {"error": told if error.get("type") == "error" else error}
        for key, value in told.items():
            if is_empty(out.get(key)):
                out[key] = value
        if "error" not in told:
            out.setdefault("errorText", None)
    return out


def _parts(response: Response) -> list[Any]:
    """The parts, and between them where steps begin and the sources."""
    marks: list[tuple[tuple[int, int, int], Any]] = []
    steps = response.extra.get("steps", ())
    for number, step in enumerate(steps if isinstance(steps, list) else ()):
        at, rest = (step.get("at", 0), fields(step, ("at",))) if isinstance(step, dict) else (step, {})
        marks.append(((at, number + 1, 0), {"type": "step-start", **rest}))
    sources = response.annotations
    shown = set()
    for at, step, number in _source_rows(response):
        if number < len(sources):
            shown.add(number)
            marks.append(((at, step, 1), copied(sources[number])))
    marks.sort(key=lambda mark: mark[0])
    out: list[Any] = []
    for place, items in enumerate(_items(response.parts, whole=is_whole(response), cut=response.truncated)):
        while marks and marks[0][0][0] <= place:
            out.append(marks.pop(0)[1])
        out += items
    out += [item for _, item in marks]
    return out + [copied(source) for number, source in enumerate(sources) if number not in shown]


def _source_rows(response: Response) -> list[list[int]]:
    """Where which source stands. A row of one number says that those behind so many parts were taken back."""
    rows = response.extra.get("sources", ())
    left: list[list[int]] = []
    for row in rows if isinstance(rows, list) else ():
        if len(row) > 1:
            left.append(row)
        else:
            left = [kept for kept in left if kept[0] <= row[0]]
    return left


def _items(parts: tuple[Part, ...], *, whole: bool, cut: bool) -> Iterable[list[Any]]:
    """What each part is in the message: nothing for the result of a call that is in it."""
    results = _results(parts)
    owned = {id(result) for result in results.values()}
    for part in parts:
        if isinstance(part, (TextPart, ReasoningPart)):
            yield [_text(part, whole=whole, state="streaming" if cut and part is parts[-1] else "done")]
        elif isinstance(part, ToolCall):
            yield [_call(part, results.get(id(part)))]
        elif isinstance(part, ToolResult):
            yield [] if id(part) in owned else [_result(part)]
        elif isinstance(part, (ImagePart, AudioPart, FilePart)):
            yield [_file(part)]
        elif isinstance(part, UnknownPart):
            yield [copied(part.payload)]
        else:
            yield []


def _results(parts: tuple[Part, ...]) -> dict[int, ToolResult]:
    """The results of the calls, each of the last call before it that has its id: ids may come again in a later step."""
    found: dict[int, ToolResult] = {}
    calls: dict[str | None, ToolCall] = {}
    for part in parts:
        if isinstance(part, ToolCall):
            calls[part.id] = part
        elif isinstance(part, ToolResult) and part.call_id in calls:
            found.setdefault(id(calls[part.call_id]), part)
    return found


def _text(part: TextPart | ReasoningPart, *, whole: bool, state: str) -> dict[str, Any]:
    out = {"type": part.kind, **fields(part.extra)}
    if part.text or ("text" not in out and "text" not in part.extra.get("$absent", ())):
        out["text"] = part.text
    if not whole:
        out.setdefault("state", state)
    elif isinstance(part, TextPart):
        fill(out, id=part.id)
    return out


def _call(call: ToolCall, result: ToolResult | None) -> dict[str, Any]:
    """A call, what became of it, and its result."""
    extra = call.extra
    out = fields(extra)
    is_form = "type" in extra  # as the message has it, not as chunks say it
    if not is_form:
        out["type"] = "dynamic-tool" if out.pop("dynamic", None) is True else f"tool-{call.name or ''}"
        if "providerMetadata" in out:
            out["callProviderMetadata"] = out.pop("providerMetadata")
    fill(out, toolCallId=call.id)
    if out["type"] == "dynamic-tool":
        fill(out, toolName=call.name)
    if call.server_side:
        out["providerExecuted"] = True
    if call.raw_arguments:
        out[extra.get("$field", "input")] = call.raw_arguments if extra.get("$form") == "string" else parsed(call)
    elif not is_form and (result is not None or call.status == "empty"):
        out["input"] = {}
    if not is_form:
        out["state"] = _state(call)
    if result is not None:
        outcome = _outcome(result)
        if is_form:
            outcome.pop("state", None)
        out |= outcome
    return out


def _state(call: ToolCall) -> str:
    approval = extra_of(call.extra, "approval")
    if approval:
        return "approval-responded" if "approved" in approval else "approval-requested"
    return "input-available" if call.is_usable else "input-streaming"


def _outcome(result: ToolResult) -> dict[str, Any]:
    """What a result adds to the part of its call."""
    out = fields(result.extra)
    if out.get("preliminary") is False:
        del out["preliminary"]
    if "providerMetadata" in out:
        out["resultProviderMetadata"] = out.pop("providerMetadata")
    out.pop("dynamic", None)
    denied = out.get("state") == "output-denied"
    if "$absent" not in result.extra:
        out.setdefault("state", "output-error" if result.is_error else "output-available")
        if not denied:
            out["errorText" if result.is_error else "output"] = copied(result.content)
    return out


def _result(result: ToolResult) -> dict[str, Any]:
    """A result whose call was in an earlier message."""
    out = {"type": "dynamic-tool", **_outcome(result)}
    fill(out, toolCallId=result.call_id)
    if out["type"] == "dynamic-tool":
        fill(out, toolName=result.name)
    return out


def _file(part: ImagePart | AudioPart | FilePart) -> dict[str, Any]:
    out = {"type": "file", **fields(part.extra, ("media_type",))}
    if "media_type" in part.extra:
        out["mediaType"] = copied(part.extra["media_type"])
    fill(out, mediaType=part.media_type, url=data_url(part))
    return out


def request(message: Message) -> dict[str, Any]:
    """The UI message for `messages` of the next request."""
    parts = tuple(map(_with_input, message.parts))
    return {"role": message.role, "parts": [item for items in _items(parts, whole=False, cut=False) for item in items]}


def _with_input(part: Part) -> Part:
    """A call that has no arguments with an empty object: what has no input looks like one that is not over."""
    is_empty_call = isinstance(part, ToolCall) and part.status == "empty"
    return replace(part, raw_arguments="{}", status="complete") if is_empty_call else part
