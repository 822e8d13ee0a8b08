"""
The native body of `ollama`: a chat or a generate response.

Both say whole what their lines say in pieces, at the same paths: chat in a message, generate beside one. The last line
has the counts, the times and `done`, and so has the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.dialects._call_shape import ARGUMENTS
from chunkfold.dialects._media import base64_text
from chunkfold.native._build import (
    APPEND,
    EXTEND,
    FIRST,
    LAST,
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
    parsed,
    usage_of,
    with_object,
)
from chunkfold.parts import ImagePart, ReasoningPart, TextPart, ToolCall, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["RULES", "body", "request"]

# Unknown parts of these names are entries of the lists of the same names.
_LISTS = ("tool_calls", "images")
_LOGPROB = ("token", "logprob", "bytes", "top_logprobs")

RULES: Mapping[str, Rule] = {
    "model": FIRST,
    "created_at": LAST,
    "done": LAST,
    "done_reason": LAST,
    "message.role": FIRST,
    **{
        f"{holder}{field}": rule
        for holder in ("message.", "")
        for field, rule in (
            ("content", APPEND),
            ("thinking", APPEND),
            ("tool_calls[]", EXTEND),
            ("images[]", EXTEND),
        )
    },
    "response": APPEND,
    "logprobs[]": EXTEND,
    # One entry that is not in a list.
    **{f"logprobs.{field}": Rule("extend", f"logprobs[].{field}") for field in _LOGPROB},
}


def body(response: Response) -> dict[str, Any]:
    """The chat or generate response that says the same."""
    extra = response.extra
    out = fields(extra, ("message",))
    fill(out, model=response.model, done_reason=response.native_finish_reason)
    if out.get("created_at") is None:
        fill(out, created_at=response.created)
    out.update(usage_of(response.usage) or {})
    out.setdefault("done", False)
    message = fields(extra_of(extra, "message"))
    is_chat = "message" in extra or any(map(_is_of_chat, response.parts))
    if is_chat and not is_whole(response):
        message["role"] = response.message.role
    _add_parts(message, out, response.parts, is_chat=is_chat)
    if is_chat:
        out["message"] = message or copied(extra.get("message", {}))
    if response.logprobs:
        entries = copied(response.logprobs)
        out["logprobs"] = entries if out.get("logprobs") != "" or len(entries) > 1 else entries[0]
    add_error(out, response)
    add_unknown(out, (part for part in response.parts if isinstance(part, UnknownPart) and part.name not in _LISTS))
    return out


def _is_of_chat(part: Part) -> bool:
    return not isinstance(part, UnknownPart) and item_of(part).get("$field", "message.").startswith("message.")


def _add_parts(message: dict[str, Any], out: dict[str, Any], parts: Iterable[Part], *, is_chat: bool) -> None:
    """Each part where it was: texts joined, calls and pictures in lists."""
    texts: dict[str, list[str]] = {}
    lists: dict[str, list[Any]] = {}
    for part in parts:
        if isinstance(part, UnknownPart):
            if part.name in _LISTS:
                lists.setdefault(f"message.{part.name}" if is_chat else part.name, []).append(copied(part.payload))
            elif part.name == "message" and not is_chat:
                out["message"] = copied(part.payload)
        elif isinstance(part, TextPart):
            texts.setdefault(part.extra.get("$field") or "message.content", []).append(part.text)
        elif isinstance(part, ReasoningPart):
            texts.setdefault(part.extra.get("$field") or "message.thinking", []).append(part.text)
        elif isinstance(part, ToolCall):
            lists.setdefault(part.extra.get("$field") or "message.tool_calls", []).append(_call(part))
        elif isinstance(part, ImagePart) and part.data is not None:
            lists.setdefault(part.extra.get("$field") or "message.images", []).append(base64_text(part.data))
    for path, pieces in texts.items():
        _put(message, out, path, "".join(pieces))
    for path, items in lists.items():
        _put(message, out, path, items[0] if path.endswith("image") and len(items) == 1 else items)


def _put(message: dict[str, Any], out: dict[str, Any], path: str, value: Any) -> None:
    holder, _, key = path.rpartition(".")
    (message if holder else out)[key] = value


def _call(call: ToolCall) -> dict[str, Any]:
    absent = call.extra.get("$absent", ())
    kept = call.extra.get("function", {})
    out = fields(call.extra, ("function",))
    fill(out, id=call.id)
    if "function" in absent:
        return out
    if not isinstance(kept, dict):
        out["function"] = copied(kept)
    else:
        function = fields(kept)
        fill(function, index=call.index, name=call.name)
        if "arguments" not in absent:
            _add_arguments(function, call)
        out.update(function if call.extra.get("$flat") else {"function": function})
    return out


def _add_arguments(function: dict[str, Any], call: ToolCall) -> None:
    key = call.extra["$key"] if call.extra.get("$key") in ARGUMENTS else "arguments"
    if call.extra.get("$form") == "string":
        function[key] = call.raw_arguments
    elif call.raw_arguments or key not in function:
        function[key] = parsed(call)


def request(message: Message) -> dict[str, Any]:
    """The assistant message for `messages` of the next chat request."""
    out: dict[str, Any] = {"role": message.role, "content": ""}
    texts: dict[str, list[str]] = {}
    for part in message.parts:
        if isinstance(part, TextPart):
            texts.setdefault("content", []).append(part.text)
        elif isinstance(part, ReasoningPart) and part.text:
            texts.setdefault("thinking", []).append(part.text)
        elif isinstance(part, ToolCall) and not part.server_side:
            function = {"name": part.name or "", "arguments": arguments_of(with_object(part))}
            fill(function, index=part.index)
            call: dict[str, Any] = {"function": function}
            fill(call, id=part.id)
            out.setdefault("tool_calls", []).append(call)
        elif isinstance(part, ImagePart) and part.data is not None:
            out.setdefault("images", []).append(base64_text(part.data))
    out.update((key, "".join(pieces)) for key, pieces in texts.items())
    return out
