"""A response as one flat object: what `Response.record` gives and `chunkfold --json` prints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.parts import ToolCall
    from chunkfold.response import Choice, Response

__all__ = ["exact_arguments", "parsed_arguments", "record_of"]


def record_of(response: Response, source: str | None, arguments: Callable[[ToolCall], Any]) -> dict[str, Any]:
    """The record of *response*, which came from *source*; *arguments* gives those of a call."""
    out: dict[str, Any] = {
        "source": source,
        "dialect": response.dialect,
        "id": response.id,
        "model": response.model,
        "text": response.text,
        "reasoning": response.reasoning,
        "refusal": response.refusal,
        "tool_calls": [_call(call, arguments) for call in response.tool_calls],
        "finish_reason": response.finish_reason,
        "native_finish_reason": response.native_finish_reason,
        "usage": response.usage.to_dict() if response.usage else None,
        "error": response.error.to_dict() if response.error else None,
        "truncated": response.truncated,
        "ended": response.ended,
        "parts": [part.to_dict() for part in response.parts],
    }
    if len(response.choices) > 1:
        out["choices"] = [_choice(choice, arguments) for choice in response.choices]
    out["diagnostics"] = [diagnostic.to_dict() for diagnostic in response.diagnostics]
    return out


def parsed_arguments(call: ToolCall) -> Any:
    """The arguments as Python has them; `None` if they cannot be used."""
    return call.arguments_or(None)


def exact_arguments(call: ToolCall) -> Any:
    """The same, to be written as they stand, so that no digit is lost."""
    if not call.is_usable or call.type == "custom":
        return call.arguments_or(None)
    return _json.verbatim(call.raw_arguments or "{}")


def _choice(choice: Choice, arguments: Callable[[ToolCall], Any]) -> dict[str, Any]:
    return {
        "index": choice.index,
        "text": choice.text,
        "reasoning": choice.reasoning,
        "refusal": choice.refusal,
        "tool_calls": [_call(call, arguments) for call in choice.tool_calls],
        "finish_reason": choice.finish_reason,
        "native_finish_reason": choice.native_finish_reason,
        "parts": [part.to_dict() for part in choice.parts],
    }


def _call(call: ToolCall, arguments: Callable[[ToolCall], Any]) -> dict[str, Any]:
    return {
        "id": call.id,
        "name": call.name,
        "status": call.status,
        "arguments": arguments(call),
        "raw_arguments": call.raw_arguments,
    }
