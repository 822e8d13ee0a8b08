"""
The native body of `anthropic-messages`: a `message`.

`message_start` has all its fields, `message_delta` the later ones; a block starts with its fields and grows by deltas.
So the body has no defaults but for streams that begin in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.dialects.anthropic_messages import HANDLERS
from chunkfold.native._build import (
    APPEND,
    EXTEND,
    LAST,
    TRANSPORT,
    Rule,
    add_error,
    add_unknown,
    arguments_of,
    copied,
    error_of,
    fields,
    fill,
    is_whole,
    item_of,
    usage_of,
    with_object,
)
from chunkfold.parts import ReasoningPart, TextPart, ToolCall, ToolResult, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["RULES", "block", "body", "request"]

RULES: Mapping[str, Rule] = {
    "type": TRANSPORT,  # of the event; the body's own is `message`
    "index": TRANSPORT,  # the place of the block in `content`
    "message": Rule("first", "$"),
    "message.type": TRANSPORT,
    "message.stop_reason": Rule("last", "stop_reason"),
    "message.stop_sequence": Rule("last", "stop_sequence"),
    "message.stop_details": Rule("last", "stop_details"),
    "message.container": Rule("last", "container"),
    "message.usage": Rule("last", "usage"),
    "message.content[]": Rule("extend", "content[]"),
    "content_block": Rule("extend", "content[]"),
    "content_block.text": APPEND,
    "content_block.thinking": APPEND,
    "content_block.input": APPEND,
    "content_block.signature": Rule("append", "content[].signature"),  # a later one replaces it whole
    "content_block.content": Rule("extend", "content[].content"),
    "content_block.citations[]": Rule("extend", "content[].citations[]"),
    "delta": Rule("last", "$"),
    "delta.type": TRANSPORT,
    "delta.text": APPEND,
    "delta.thinking": APPEND,
    "delta.partial_json": APPEND,
    "delta.signature": Rule("extend", "content[].signature"),
    "delta.citation": Rule("extend", "content[].citations[]"),
    "delta.content": Rule("extend", "content[].content"),
    "delta.encrypted_content": Rule("extend", "content[].encrypted_content"),
    "delta.estimated_tokens": TRANSPORT,  # how far the hidden thinking is, for a display
    "usage": LAST,
    "content[]": EXTEND,
}


def body(response: Response) -> dict[str, Any]:
    """The `message` of a response."""
    out = fields(response.extra)
    parts = [part for part in response.parts if not _is_event(part)]
    model = response.model
    error = error_of(response)
    if error is None or parts or response.id is not None or response.native_finish_reason is not None:
        out["type"] = "message"
        if not is_whole(response):
            out["role"] = response.message.role
            # What a body has when the stream did not begin with `message_start`.
            out = {"stop_reason": None, "stop_sequence": None, **out}
            model = _served_by(parts) or model
        is_text = len(parts) == 1 and isinstance(parts[0], TextPart) and parts[0].extra.get("$form") == "string"
        out["content"] = response.text if is_text else [block(part) for part in parts]
    usage = usage_of(response.usage)
    reason = response.native_finish_reason
    fill(out, id=response.id, model=model, created=response.created, stop_reason=reason, usage=usage)
    add_error(out, response)
    add_unknown(out, [part for part in response.parts if _is_event(part)])
    return out


def _served_by(parts: list[Part]) -> str | None:
    """
    The model of the last fallback. The start of a stream names the model that was asked; what is not streamed, the one
    that answered.
    """
    blocks = [part.payload for part in parts if isinstance(part, UnknownPart) and part.name == "fallback"]
    models = [block["to"].get("model") for block in blocks if isinstance(block.get("to"), dict)]
    return next((model for model in reversed(models) if isinstance(model, str) and model), None)


def _is_event(part: Part) -> bool:
    """True for an event that was not understood, which is no block of the content."""
    return isinstance(part, UnknownPart) and (part.name.startswith("event.") or not isinstance(part.payload, dict))


def block(part: Part) -> dict[str, Any]:
    """The content block that a part was."""
    build = _BLOCKS.get(type(part))
    return build(part) if build is not None else fields(item_of(part))


def _text(part: TextPart) -> dict[str, Any]:
    out = {"type": "text", **fields(part.extra), "text": part.text}
    if part.annotations and not out.get("citations"):
        out["citations"] = copied(part.annotations)
    return out


def _thinking(part: ReasoningPart) -> dict[str, Any]:
    out = fields(part.extra)
    if part.redacted:
        fill(out, data=part.encrypted)
        return {"type": "redacted_thinking", **out}
    fill(out, signature=part.signature)
    return {"type": "thinking", "thinking": part.text, **out}


def _call(call: ToolCall) -> dict[str, Any]:
    kind = "tool_use" if call.type == "function" else call.type
    out: dict[str, Any] = {"type": kind, **fields(call.extra)}
    fill(out, id=call.id, name=call.name)
    # A body that was not streamed has an object with nothing in it, also of a call that the token limit cut.
    is_empty = call.extra.get("$form") == "object" and not call.raw_arguments.strip()
    out["input"] = {} if is_empty else arguments_of(call)
    return out


def _result(part: ToolResult) -> dict[str, Any]:
    out = fields(part.extra)
    absent = part.extra.get("$absent", ())
    if "content" not in absent:
        out["content"] = copied(part.content)
    if "tool_use_id" not in absent and "tool_use_id" not in out:
        out["tool_use_id"] = part.call_id
    if part.extra.get("$field") == "is_error":
        out["is_error"] = part.is_error
    return out


def _unknown(part: UnknownPart) -> dict[str, Any]:
    payload: dict[str, Any] = copied(part.payload)
    return payload


_BLOCKS: dict[type, Callable[[Any], dict[str, Any]]] = {
    TextPart: _text,
    ReasoningPart: _thinking,
    ToolCall: _call,
    ToolResult: _result,
    UnknownPart: _unknown,
}


def request(message: Message) -> dict[str, Any]:
    """
    The assistant message for `messages` of the next request.

    Texts of nothing but white space and thinking without a signature are left out, since they are refused there; so is
    media. Arguments that are no object go back as `{"raw_arguments": ...}`.
    """
    content = [_sendable(block(with_object(part))) for part in message.parts if _is_sent(part)]
    return {"role": message.role, "content": content}


def _is_sent(part: Part) -> bool:
    """True unless the part is refused in a request."""
    if isinstance(part, TextPart):
        return bool(part.text.strip())
    if isinstance(part, ReasoningPart):
        return bool(part.signature or part.encrypted)
    if isinstance(part, UnknownPart):
        # A block of a new kind, but no event.
        kind = None if _is_event(part) else part.payload.get("type")
        return isinstance(kind, str) and kind not in HANDLERS
    return type(part) in _BLOCKS


def _sendable(block: dict[str, Any]) -> dict[str, Any]:
    """The block without what only responses have: which uploaded file a citation is from."""
    cited = block.get("citations")
    if isinstance(cited, list):
        block["citations"] = [
            {key: value for key, value in item.items() if key != "file_id"} if isinstance(item, dict) else item
            for item in cited
        ]
    return block
