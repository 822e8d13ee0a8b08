"""
The native body of `bedrock-converse`: the output of Converse.

Each part of the message is a block of the content, in order. The events of the stream stand under their names where an
SDK hands them out, and bare in the binary stream, so that the rules have both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.dialects._media import base64_text
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
    error_of,
    extra_of,
    fields,
    fill,
    is_whole,
    unwrapped,
    usage_of,
    with_object,
)
from chunkfold.parts import ImagePart, ReasoningPart, RefusalPart, TextPart, ToolCall, ToolResult, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["RULES", "add_exception", "blocks", "body", "request"]

_BLOCK = "output.message.content[]"
_CITED = f"{_BLOCK}.citationsContent"
_EVENTS: dict[str, Rule] = {
    # Which block a piece belongs to, and padding against guessing by size.
    "contentBlockIndex": TRANSPORT,
    "p": TRANSPORT,
    "role": Rule("first", "output.message.role"),
    # A member of the union that is not known is a block of its own.
    "start": Rule("extend", _BLOCK),
    "delta": Rule("extend", _BLOCK),
    "delta.text": APPEND,
    "delta.toolUse": APPEND,
    "start.text": APPEND,
    "start.reasoningContent.text": APPEND,
    "delta.reasoningContent.text": APPEND,
    "delta.reasoningContent.reasoningText.text": APPEND,
    "delta.reasoningContent.reasoningText.signature": Rule(
        "last", f"{_BLOCK}.reasoningContent.reasoningText.signature"
    ),
    "delta.reasoningContent.data": Rule("last", f"{_BLOCK}.reasoningContent.redactedContent"),
    "delta.reasoningContent.signature": Rule("last", f"{_BLOCK}.reasoningContent.reasoningText.signature"),
    "delta.citation": Rule("extend", f"{_CITED}.citations[]"),
    "delta.image.source.bytes": APPEND,
    "delta.toolResult[]": Rule("extend", f"{_BLOCK}.toolResult.content[]"),
}

RULES: Mapping[str, Rule] = {
    **_EVENTS,
    **{f"{name}.{path}": rule for name in ("contentBlockStart", "contentBlockDelta") for path, rule in _EVENTS.items()},
    "contentBlockStop.contentBlockIndex": TRANSPORT,
    "messageStart": Rule("last", "output.message"),
    "messageStart.role": Rule("first", "output.message.role"),
    **{f"{name}.p": TRANSPORT for name in ("contentBlockStop", "messageStart", "messageStop", "metadata")},
    **dict.fromkeys(
        ("contentBlockStart", "contentBlockDelta", "contentBlockStop", "messageStop", "metadata"), Rule("last", "$")
    ),
    "output.message.role": FIRST,
    "stopReason": LAST,
    "usage": LAST,
}


def body(response: Response) -> dict[str, Any]:
    """The output of Converse for a response."""
    extra = response.extra
    whole = is_whole(response)
    out = fields(extra)
    output = extra_of(extra, "output")
    message = fields(extra_of(output, "message"), ("content",))
    fill(out, stopReason=response.native_finish_reason, usage=usage_of(response.usage))
    parts = response.parts
    content = blocks(parts, whole=whole)
    kept = extra_of(output, "message")
    if content or (not whole and response.error is None and not parts):
        message["content"] = content
    elif "content" in kept:
        message["content"] = copied(kept["content"])
    if message and not whole:
        message["role"] = response.message.role
    if message:
        out["output"] = {**fields(output, ("message",)), "message": message}
    add_unknown(out, (part for part in parts if isinstance(part, UnknownPart) and _unknown(part, whole) is None))
    add_exception(out, response)
    return out


def add_exception(out: dict[str, Any], response: Response) -> None:
    """An exception stands under its name, as SDKs have it in the union of events; another error under `error`."""
    error, told = response.error, error_of(response)
    if error is None or told is None:
        return
    if isinstance(error.raw, str):
        told = {"message": error.raw}  # in plain text
    if error.type is None or not told.keys().isdisjoint((error.type, "error", "__type")):
        add_error(out, response)
    elif error.type.endswith("Exception"):
        out[error.type] = told
    else:
        out["error"] = {"type": error.type, **told}


def blocks(parts: Iterable[Part], *, whole: bool = False) -> list[Any]:
    """The content blocks of *parts*, in order."""
    out: list[Any] = []
    for part in parts:
        if isinstance(part, TextPart) and part.extra.get("$form") == "inner" and _pieces(out) is not None:
            _pieces(out).append({**fields(part.extra), "text": part.text})  # type: ignore[union-attr]
        elif isinstance(part, UnknownPart):
            pieces = _pieces(out)
            if part.name == "citationsContent.content" and pieces is not None:
                pieces.append(copied(part.payload))
            else:
                out += _unknown(part, whole) or ()
        else:
            out += _block(part, whole)
    return out


def _pieces(out: list[Any]) -> list[Any] | None:
    """The pieces of text of the last block, if it is one that cites."""
    cited = out[-1].get("citationsContent") if out and isinstance(out[-1], dict) else None
    if not isinstance(cited, dict):
        return None
    pieces = cited.setdefault("content", [])
    return pieces if isinstance(pieces, list) else None


def _unknown(part: UnknownPart, whole: bool) -> list[Any] | None:
    """The block that a part is which is not understood; `None` if it is none, but stood beside the content."""
    payload = part.payload
    where, _, member = part.name.partition(".")
    if where in ("start", "delta") and isinstance(payload, dict):
        event = payload.get(where)
        if where in payload and not member:
            return [copied(event)]
        name, _, inner = member.partition(".")
        if inner:
            return [{name: {inner: copied(payload.get(inner))}}]
        return [{name: copied(event[name])}] if isinstance(event, dict) and name in event else None
    if where == "citationsContent":
        return []
    return [copied(payload)] if whole else None


def _block(part: Part, whole: bool) -> list[dict[str, Any]]:
    if isinstance(part, RefusalPart):
        return [{"text": part.text}]
    if isinstance(part, TextPart):
        return [_text(part)]
    if isinstance(part, ReasoningPart):
        return _reasoning(part, whole)
    if isinstance(part, ToolCall):
        use = fields(extra_of(part.extra, "toolUse"))
        fill(use, toolUseId=part.id, name=part.name)
        if part.type != "function":
            use["type"] = part.type
        if part.raw_arguments.strip() or not whole:
            use["input"] = arguments_of(part)
        return [{**fields(part.extra, ("toolUse",)), "toolUse": use}]
    if isinstance(part, ToolResult):
        result = fields(extra_of(part.extra, "toolResult"))
        fill(result, toolUseId=part.call_id, content=copied(part.content))
        return [{**fields(part.extra, ("toolResult",)), "toolResult": result}]
    return [_image(part)] if isinstance(part, ImagePart) else []


def _text(part: TextPart) -> dict[str, Any]:
    """Text, or what it cites beside it."""
    kept = part.extra.get("citationsContent")
    if not part.annotations and not isinstance(kept, dict):
        return {**fields(part.extra), "text": part.text}
    cited = fields(kept or {})
    first = cited.get("content")
    if part.text or isinstance(first, list):
        inner = first[0] if isinstance(first, list) and first and isinstance(first[0], dict) else {}
        has_text = part.text or not inner or "text" in inner
        cited["content"] = [{**inner, "text": part.text} if has_text else inner]
    if part.annotations and not cited.get("citations"):
        cited["citations"] = [*map(unwrapped, part.annotations)]
    return {**fields(part.extra, ("citationsContent",)), "citationsContent": cited}


def _reasoning(part: ReasoningPart, whole: bool) -> list[dict[str, Any]]:
    """Thought, signed, or encrypted; a stream may have both under one number."""
    beside = fields(part.extra, ("reasoningContent",))
    content = fields(extra_of(part.extra, "reasoningContent"))
    thought = content.get("reasoningText")
    thought = thought if isinstance(thought, dict) else {}
    if part.text:
        thought["text"] = part.text
    fill(thought, signature=part.signature)
    if thought:
        if not whole:
            thought.setdefault("text", "")  # also of thinking that is not shown, of which only the signature comes
        content["reasoningText"] = thought
    if part.encrypted is not None:
        if thought and not whole:
            return [
                {**beside, "reasoningContent": content},
                {"reasoningContent": {"redactedContent": part.encrypted}},
            ]
        content["redactedContent"] = part.encrypted
    return [{**beside, "reasoningContent": content}]


def _image(part: ImagePart) -> dict[str, Any]:
    image = fields(extra_of(part.extra, "image"))
    if part.media_type is not None:
        image["format"] = part.media_type.removeprefix("image/")
    if part.data is not None:
        source = image.get("source")
        image["source"] = {
            **(source if isinstance(source, dict) else {}),
            "bytes": base64_text(part.data),
        }
    return {**fields(part.extra, ("image",)), "image": image}


def request(message: Message) -> dict[str, Any]:
    """The message for `messages` of the next request, where the SDKs refuse a `null` and two members of a union."""
    parts = [with_object(part) for part in message.parts if _is_sent(part)]
    return {"role": message.role, "content": _without_nulls(blocks(parts))}


def _without_nulls(value: Any) -> Any:
    """*value* without fields that are `null`, but for what is the tool's own."""
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    if not isinstance(value, dict):
        return value
    said = {name: item for name, item in value.items() if item is not None}
    return {name: item if name in ("input", "json") else _without_nulls(item) for name, item in said.items()}


def _is_sent(part: Part) -> bool:
    """True unless it is nothing that the provider takes: blank text, and what is not understood."""
    if isinstance(part, TextPart):
        return bool(part.text.strip())
    if isinstance(part, ReasoningPart):
        return bool(part.text or part.signature or part.encrypted)
    return not isinstance(part, UnknownPart)
