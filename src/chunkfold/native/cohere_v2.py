"""
The native body of `cohere-v2`: a Chat v2 response.

What an event has under `delta.message` the whole message has at the same place; calls and citations are lists there.
The tool plan is reasoning that has a field of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.native._build import (
    APPEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    add_error,
    add_unknown,
    arguments_of,
    copied,
    extra_of,
    fields,
    fill,
    is_whole,
    item_of,
    usage_of,
    usual,
    with_object_text,
)
from chunkfold.parts import ReasoningPart, RefusalPart, TextPart, ToolCall, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["RULES", "body", "request"]

_CALL = "message.tool_calls[]"

RULES: Mapping[str, Rule] = {
    "id": FIRST,
    # What kind of event it is, and which block, call or citation it belongs to.
    "type": TRANSPORT,
    "index": TRANSPORT,
    "delta": Rule("last", "$"),
    "delta.message.role": Rule("first", "message.role"),
    # The empty lists of a start are filled by what follows, or not there.
    "delta.message.tool_plan": APPEND,
    "delta.message.content": Rule("extend", "message.content[]"),
    "delta.message.content.text": APPEND,
    "delta.message.content.thinking": APPEND,
    "delta.message.content[]": Rule("extend", "message.content[]"),
    "delta.message.content[].text": APPEND,
    "delta.message.content[].thinking": APPEND,
    "delta.message.tool_calls": Rule("extend", _CALL),
    "delta.message.tool_calls.function.arguments": APPEND,
    "delta.message.tool_calls[]": Rule("extend", _CALL),
    "delta.message.tool_calls[].function.arguments": APPEND,
    "delta.message.citations": Rule("extend", "message.citations[]"),
    "delta.message.citations[]": Rule("extend", "message.citations[]"),
    "delta.finish_reason": Rule("last", "finish_reason"),
    "logprobs": Rule("extend", "logprobs[]"),
    "logprobs[]": Rule("extend", "logprobs[]"),
    "usage": LAST,
}


def body(response: Response) -> dict[str, Any]:
    """The Chat v2 response."""
    extra, whole = response.extra, is_whole(response)
    out = fields(extra, ("message",))
    content = [part for part in response.parts if not _is_beside(part)]
    fill(out, id=response.id, finish_reason=response.native_finish_reason, usage=usage_of(response.usage))
    if response.logprobs:
        out["logprobs"] = copied(response.logprobs)
    # An error may have come instead of all.
    if content or "message" in extra or response.id or (response.error is None and not response.parts):
        message = out["message"] = _message(content, extra_of(extra, "message"), response.annotations, whole)
        if not whole:
            message["role"] = response.message.role
            out.setdefault("finish_reason", None)
    add_unknown(out, filter(_is_beside, response.parts))
    add_error(out, response)
    return out


def _is_beside(part: Part) -> bool:
    """True if it is an event that is not understood, which stands beside the message."""
    return isinstance(part, UnknownPart) and part.name != "content" and not part.name.startswith("content.")


def _message(
    parts: Iterable[Part], extra: dict[str, Any], citations: Iterable[dict[str, Any]], whole: bool
) -> dict[str, Any]:
    out = fields(extra)
    content: list[Any] = []
    plan: list[str] = []
    calls: list[Any] = []
    for part in parts:
        if isinstance(part, ToolCall):
            calls.append(_call(part, whole))
        elif isinstance(part, ReasoningPart) and part.extra.get("type") == "tool_plan":
            plan.append(part.text)
        else:
            content += _block(part)
    if plan:
        out["tool_plan"] = "".join(plan)
    if content:
        is_text = len(content) == 1 and isinstance(content[0], str)
        out["content"] = content[0] if is_text else content
    if calls:
        out["tool_calls"] = calls
    if citations and not out.get("citations"):
        out["citations"] = copied(citations)
    return out


def _block(part: Part) -> list[Any]:
    """The block of the content that a part is."""
    if isinstance(part, UnknownPart):
        return [copied(part.payload)]
    if not isinstance(part, (TextPart, RefusalPart, ReasoningPart)):
        return []
    extra = item_of(part)
    if extra.get("$form") == "string":
        return [part.text]
    name = "thinking" if isinstance(part, ReasoningPart) else "text"
    out = {**fields(extra), "type": name, name: part.text}
    for key in extra.get("$absent", ()):
        if key == "type" or not part.text:
            out.pop(key, None)
    return [out]


def _call(call: ToolCall, whole: bool) -> dict[str, Any]:
    absent = call.extra.get("$absent", ())
    out = fields(call.extra, ("function",))
    fill(out, id=call.id)
    if "type" not in absent:
        out.setdefault("type", call.type)
    function = fields(extra_of(call.extra, "function"))
    fill(function, name=call.name)
    if "arguments" not in absent and ("arguments" not in function or call.raw_arguments):
        as_object = call.extra.get("$form") == "object"
        function["arguments"] = arguments_of(call) if as_object else call.raw_arguments
    if function or "function" not in absent or not whole:
        out["function"] = function
    return out


def request(message: Message) -> dict[str, Any]:
    """The assistant message for `messages` of the next request: plan, calls and content, with what they cite."""
    parts = [usual(with_object_text(part)) for part in message.parts if not isinstance(part, UnknownPart)]
    cited = [item for part in parts if isinstance(part, TextPart) for item in part.annotations]
    return {"role": message.role, **_message(parts, {}, cited, False)}
