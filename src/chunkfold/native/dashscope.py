"""
The native body of `dashscope`: `output`, `usage` and `request_id`.

The events of a stream have the same shape. An answer is in `output.text`, or in the messages of `output.choices`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._extras import key_of
from chunkfold.native import openai_chat
from chunkfold.native._build import (
    APPEND,
    EXTEND,
    FIRST,
    LAST,
    Rule,
    add_error,
    add_unknown,
    choices_of,
    copied,
    extra_of,
    fields,
    fill,
    item_of,
    usage_of,
)
from chunkfold.parts import ReasoningPart, TextPart, ToolCall, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Choice, Message, Response

__all__ = ["RULES", "body", "request"]

_MESSAGE = "output.choices[].message"

RULES: Mapping[str, Rule] = {
    "request_id": FIRST,
    "usage": LAST,
    "output.text": APPEND,
    "output.finish_reason": LAST,
    "output.choices[].finish_reason": LAST,
    "output.choices[].logprobs.content[]": EXTEND,
    f"{_MESSAGE}.role": FIRST,
    f"{_MESSAGE}.content": APPEND,
    f"{_MESSAGE}.content[]": LAST,
    f"{_MESSAGE}.content[].text": APPEND,
    f"{_MESSAGE}.reasoning_content": APPEND,
    f"{_MESSAGE}.tool_calls[]": LAST,
    f"{_MESSAGE}.tool_calls[].id": FIRST,
    f"{_MESSAGE}.tool_calls[].type": FIRST,
    f"{_MESSAGE}.tool_calls[].function.name": APPEND,
    f"{_MESSAGE}.tool_calls[].function.arguments": APPEND,
}


def body(response: Response) -> dict[str, Any]:
    """The answer that says the same."""
    extra = response.extra
    out = fields(extra)
    fill(out, request_id=response.id, usage=usage_of(response.usage))
    kept = extra_of(extra, "output", "choices")
    choices = [
        _choice(choice, extra_of(kept, choice.index))
        for choice in choices_of(response, kept, _is_of_message)
        if key_of(choice.index) in kept or any(map(_is_of_message, choice.parts))
    ]
    output = fields(extra_of(extra, "output"))
    texts = [part.text for part in response.parts if isinstance(part, TextPart) and not _is_of_message(part)]
    if texts:
        output["text"] = "".join(texts)
    if choices:
        output["choices"] = choices
    else:
        fill(output, finish_reason=response.native_finish_reason)
    if output:
        out["output"] = output
    add_error(out, response, flat=True)
    add_unknown(out, response.parts)
    return out


def _is_of_message(part: Part) -> bool:
    return not isinstance(part, UnknownPart) and item_of(part).get("$field") != "text"


def _choice(choice: Choice, extra: dict[str, Any]) -> dict[str, Any]:
    out = fields(extra)
    message = _message([part for part in choice.parts if _is_of_message(part)], extra_of(extra, "message"))
    if message:
        out["message"] = message
    if choice.logprobs:
        out["logprobs"] = {**fields(extra_of(extra, "logprobs")), "content": copied(choice.logprobs)}
    fill(out, finish_reason=choice.native_finish_reason)
    return out


def _message(parts: Iterable[Part], extra: dict[str, Any]) -> dict[str, Any]:
    content = [part for part in parts if isinstance(part, TextPart)]
    kept = extra.get("content")
    # By their places, unless the server had an object there.
    others = kept if isinstance(kept, dict) and all(map(str.isdecimal, kept)) else {}
    if content or others:
        out = fields(extra, ("content",))
        out["content"] = _content(content, others)
    else:
        out = fields(extra)
    reasoning = "".join([part.text for part in parts if isinstance(part, ReasoningPart)])
    if reasoning:
        out["reasoning_content"] = reasoning
    calls = [_call(part) for part in parts if isinstance(part, ToolCall)]
    if calls:
        out["tool_calls"] = calls
    return out


def _content(parts: list[TextPart], others: dict[str, Any]) -> Any:
    """One text, or the list in which texts and others stand."""
    if not others and all(part.extra.get("$form") != "item" for part in parts):
        return "".join([part.text for part in parts])
    items: list[Any] = []
    left = [{**fields(part.extra), "text": part.text} for part in parts]
    for place in sorted(map(int, others)):
        while left and len(items) < place:
            items.append(left.pop(0))
        items.append(copied(others[str(place)]))
    return items + left


def _call(call: ToolCall) -> dict[str, Any]:
    out = openai_chat._call(call, whole=False)
    if "index" not in call.extra.get("$absent", ()):
        out.setdefault("index", call.index)
    return out


def request(message: Message) -> dict[str, Any]:
    """The assistant message for `input.messages` of the next request."""
    return openai_chat.request(message)
