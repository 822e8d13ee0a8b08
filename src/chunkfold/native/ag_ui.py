"""
The native body of `ag-ui`: the messages of a run, and beside them the facts of the run.

The protocol has no answer that is not streamed, but it says what messages the events make: those of the assistant with
their calls, of its reasoning and of tools. What else the events say stands beside `messages` under the name that the
manual gives it. `outcome` is there, if only as `null`, where the run has finished.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.native._build import (
    APPEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    copied,
    error_of,
    fields,
    fill,
    is_whole,
    usage_of,
    with_object_text,
)
from chunkfold.parts import ReasoningPart, TextPart, ToolCall, ToolResult, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["EVENTS", "RULES", "body", "request"]

RULES: Mapping[str, Rule] = {
    "type": TRANSPORT,  # of the event
    "timestamp": TRANSPORT,  # when it was sent
    "rawEvent": TRANSPORT,  # what it was made from
    "delta": APPEND,
    "error": FIRST,
}

_MESSAGE = {
    "messageId": Rule("extend", "messages[].id"),
    "role": Rule("extend", "messages[].role"),
    "*": Rule("last", "messages[]"),
}
_CALL = {
    "toolCallId": Rule("extend", "messages[].toolCalls[].id"),
    "toolCallName": Rule("extend", "messages[].toolCalls[].function.name"),
    "parentMessageId": Rule("extend", "messages[].id"),
    "*": Rule("last", "messages[].toolCalls[]"),
}
_CARRIED = {
    "steps": ("STEP_STARTED", "STEP_FINISHED"),
    "state": ("STATE_SNAPSHOT", "STATE_DELTA"),
    "activities": ("ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA"),
    "subagents": ("SUBAGENT_STARTED", "SUBAGENT_FINISHED", "SUBAGENT_ERROR"),
    "raw": ("RAW",),
    "custom": ("CUSTOM",),
}
_TEXTS = ("TEXT_MESSAGE", "REASONING_MESSAGE", "THINKING_TEXT_MESSAGE")
_SPAN = {"messageId": TRANSPORT}  # a span around messages that have ids of their own

# What the fields of an event mean.
EVENTS: Mapping[str, Mapping[str, Rule]] = {
    **{f"{kind}_{step}": _MESSAGE for kind in _TEXTS for step in ("START", "CONTENT", "END", "CHUNK")},
    **{f"TOOL_CALL_{step}": _CALL for step in ("START", "ARGS", "END", "CHUNK")},
    **{f"{kind}_{step}": _SPAN for kind in ("REASONING", "THINKING") for step in ("START", "END")},
    "TOOL_CALL_RESULT": {
        "messageId": Rule("extend", "messages[].id"),
        "content": Rule("last", "messages[].content"),
        "*": Rule("last", "messages[]"),
    },
    "REASONING_ENCRYPTED_VALUE": {
        "subtype": TRANSPORT,  # whether a message or a call
        "entityId": TRANSPORT,  # which
        "encryptedValue": Rule("first", "messages[].encryptedValue"),
        "*": Rule("last", "messages[]"),
    },
    "RUN_ERROR": {"message": Rule("last", "error.message"), "code": Rule("last", "error.code")},
    **{
        kind: {"delta": Rule("extend", f"{name}[].delta"), "*": Rule("extend", f"{name}[]")}
        for name, kinds in _CARRIED.items()
        for kind in kinds
    },
    "MESSAGES_SNAPSHOT": {"messages[].toolCalls[].function.arguments": LAST},
}


def body(response: Response) -> dict[str, Any]:
    """The messages of the run that say the same, and its facts."""
    extra = response.extra
    out = fields(extra)
    if response.finish_reason is None and response.ended != "clean":
        out.pop("outcome", None)  # that of a run before the one that has not finished
    usage = usage_of(response.usage)
    if usage is not None:
        out["usage"] = usage.get("usage", usage)
    history = extra.get("messages")
    others = [part for part in response.parts if _is_of_user(part)]
    messages = _messages([part for part in response.parts if not _is_of_user(part)], whole=is_whole(response))
    out["messages"] = [
        *(copied(history) if isinstance(history, list) else ()),
        *(_other(part) for part in others if isinstance(part, UnknownPart)),
        *messages,
    ]
    _add_error(out, response)
    for part in response.parts:
        if isinstance(part, UnknownPart) and part.name != "message" and isinstance(part.payload, dict):
            for key, value in part.payload.items():
                if key != "type":
                    out.setdefault(key, copied(value))
    return out


def _add_error(out: dict[str, Any], response: Response) -> None:
    told = error_of(response)
    if told is None:
        return
    if told.get("type") == "RUN_ERROR":
        told = {key: told[key] for key in ("message", "code", "error") if key in told}
    out["error"] = told.get("error") or told or {"message": None}


def _is_of_user(part: Part) -> bool:
    """What a user has said during the run: the run's own messages come after it."""
    payload = part.payload if isinstance(part, UnknownPart) and part.name == "message" else None
    return isinstance(payload, dict) and payload.get("role") == "user"


def _messages(parts: Iterable[Part], *, whole: bool) -> list[Any]:
    """The messages that the parts stood in."""
    out: list[Any] = []
    by_id: dict[str, dict[str, Any]] = {}
    for part in parts:
        if isinstance(part, (TextPart, ReasoningPart)):
            out.append(_text(part))
            by_id[_json.encode(out[-1].get("id"))] = out[-1]
        elif isinstance(part, ToolCall):
            inner = part.extra.get("$form") == "inner"
            name = part.extra.get("parentMessageId") or part.id
            key = _json.encode(name)
            holder = out[-1] if inner and out else by_id.get(key)
            if not isinstance(holder, dict) or holder.get("role") != "assistant":
                holder = by_id[key] = {"role": "assistant"}
                fill(holder, id=name)
                out.append(holder)
            calls = holder.get("toolCalls")
            entry = _call(part, whole=whole)
            holder["toolCalls"] = [*calls, entry] if isinstance(calls, list) else [entry]
        elif isinstance(part, ToolResult):
            out.append(_result(part, whole=whole))
        elif isinstance(part, UnknownPart) and part.name == "message":
            out.append(_other(part))
    return out


def _text(part: TextPart | ReasoningPart) -> dict[str, Any]:
    is_text = isinstance(part, TextPart)
    out = {"role": "assistant" if is_text else "reasoning", **fields(part.extra)}
    if isinstance(part, TextPart):
        fill(out, id=part.id)
    else:
        fill(out, encryptedValue=part.encrypted)
    if part.text or ("content" not in out and "content" not in part.extra.get("$absent", ())):
        out["content"] = part.text
    return out


def _call(call: ToolCall, *, whole: bool) -> dict[str, Any]:
    extra = call.extra
    absent = extra.get("$absent", ())
    out = fields(extra, ("parentMessageId", "function"))
    fill(out, id=call.id)
    if not whole or "type" not in absent:
        out.setdefault("type", call.type)
    kept = extra.get("function", {})
    if not isinstance(kept, dict):
        out["function"] = copied(kept)
    elif "function" not in absent:
        function = out["function"] = fields(kept)
        fill(function, name=call.name)
        if call.raw_arguments or ("arguments" not in function and "arguments" not in absent):
            function["arguments"] = call.raw_arguments
    return out


def _result(result: ToolResult, *, whole: bool) -> dict[str, Any]:
    out = {"role": "tool", **fields(result.extra, ("messageId",))}
    if "messageId" in result.extra:
        out["id"] = copied(result.extra["messageId"])
    fill(out, toolCallId=result.call_id)
    if result.content is not None or (whole and "content" not in result.extra.get("$absent", ())):
        out["content"] = copied(result.content)
    if result.is_error and "isError" not in out:
        out.setdefault("error", "")
    return out


def _other(part: UnknownPart) -> Any:
    """A message of somebody else, whole or as its events said it."""
    out = copied(part.payload)
    if isinstance(out, dict) and "messageId" in out:
        out["id"] = out.pop("messageId")
        out.pop("delta", None)
    return out


def request(message: Message) -> list[dict[str, Any]]:
    """The messages for `messages` of the next run's input, where agents read the arguments of former calls."""
    parts = [with_object_text(part) for part in message.parts if not isinstance(part, UnknownPart)]
    return _messages(parts, whole=False)
