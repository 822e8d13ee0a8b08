"""
The native body of `cohere-v1`: a Chat v1 response, or the generations of the older `/v1/generate`.

The last event of a stream has the whole response under `response`. Generations have no `generation_id` of the whole,
each has its own `id`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.native._build import (
    APPEND,
    EXTEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    add_error,
    add_unknown,
    arguments_of,
    choices_of,
    copied,
    error_of,
    extra_of,
    fields,
    fill,
    is_whole,
    usage_of,
    with_object,
)
from chunkfold.parts import TextPart, ToolCall, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chunkfold.response import Choice, Message, Response

__all__ = ["RULES", "body", "request"]

_FIELDS: dict[str, Rule] = {
    "generation_id": FIRST,
    "text": APPEND,
    "tool_calls[]": EXTEND,
    "citations[]": EXTEND,
    "generations[].text": APPEND,
    # At the top in chat, in each generation of `generate`: the tests of the facts look at it.
    "finish_reason": APPEND,
}

RULES: Mapping[str, Rule] = {
    **_FIELDS,
    **{f"response.{path}": Rule(rule.how, path) for path, rule in _FIELDS.items()},
    "response": Rule("last", "$"),
    # What kind of event it is, and which answer it belongs to.
    "event_type": TRANSPORT,
    "is_finished": TRANSPORT,
    "index": TRANSPORT,
    "tool_call_delta": Rule("extend", "tool_calls[]"),
    "tool_call_delta.text": APPEND,
    "tool_call_delta.parameters": APPEND,
    "tool_call_delta.index": TRANSPORT,
    "err": Rule("last", "error"),
    "message": Rule("last", "error.message"),
    "meta": LAST,
}


def body(response: Response) -> dict[str, Any]:
    """The Chat v1 response, or that of `generate`."""
    extra, whole = response.extra, is_whole(response)
    out = fields(extra, ("generations",))
    usage = usage_of(response.usage)
    if usage is not None:
        out["meta"] = {**fields(extra_of(extra, "meta")), **usage}
    error = response.error
    parts = [part for choice in response.choices for part in choice.parts]
    # Only `generate` has no id at the start; calls and citations are in chat alone.
    is_said = any(not isinstance(part, UnknownPart) for part in parts) or (
        error is None and any(choice.native_finish_reason is not None for choice in response.choices)
    )
    is_chat = response.id is not None or any(choice.tool_calls or choice.annotations for choice in response.choices)
    if "generations" in extra or (not is_chat and is_said and not whole):
        _add_generations(out, response, whole)
    elif whole or is_chat or (error is None and not parts):
        fill(out, generation_id=response.id, finish_reason=response.native_finish_reason)
        out["text"] = response.text
        calls = [_call(part, whole) for part in response.parts if isinstance(part, ToolCall)]
        if calls:
            out["tool_calls"] = calls
        if response.annotations and not out.get("citations"):
            out["citations"] = copied(response.annotations)
    add_unknown(out, parts)
    told = error_of(response)
    if told is not None and "err" in told:
        out["error"] = told["err"]
    else:
        add_error(out, response)
    return out


def _add_generations(out: dict[str, Any], response: Response, whole: bool) -> None:
    fill(out, id=response.id)
    kept = extra_of(response.extra, "generations")
    out["generations"] = [_generation(choice, kept, whole) for choice in choices_of(response, kept)]


def _generation(choice: Choice, kept: dict[str, Any], whole: bool) -> dict[str, Any]:
    out = fields(extra_of(kept, choice.index))
    if not whole or any(isinstance(part, TextPart) for part in choice.parts):
        out["text"] = choice.text
    fill(out, finish_reason=choice.native_finish_reason)
    return out


def _call(call: ToolCall, whole: bool) -> dict[str, Any]:
    out = fields(call.extra)
    fill(out, name=call.name)
    if call.raw_arguments.strip() or not whole:
        out["parameters"] = arguments_of(call)
    elif call.extra.get("$form") == "string":
        out["parameters"] = ""
    return out


def request(message: Message) -> dict[str, Any]:
    """The entry for `chat_history` of the next request."""
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    out: dict[str, Any] = {"role": "CHATBOT", "message": "".join(texts)}
    calls = [call for call in message.parts if isinstance(call, ToolCall) and not call.server_side]
    if calls:
        out["tool_calls"] = [{"name": call.name, "parameters": arguments_of(with_object(call))} for call in calls]
    return out
