"""
What of a message another provider can take: its text, its thoughts, the calls that wait for their results, its media.

Ids of items, states, citations, signatures and the tools that a server ran itself mean something to their provider
alone. Others refuse the request for a field or a kind of block that they do not know.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from chunkfold.native._build import with_object
from chunkfold.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from chunkfold.parts import Part

__all__ = ["WORDS", "refusals_told", "taken_over"]

# Dialects whose messages are written in the words of another: a message does not tell which of Bedrock's families it is
# of, and is taken for Claude's.
WORDS: Final = {"bedrock-invoke": "anthropic-messages", "watsonx": "openai-chat"}

# Services of the same models, which check each other's signatures: Anthropic says so of Bedrock and Vertex AI.
_SAME_MODELS: Final = (
    frozenset({"anthropic-messages", "bedrock-converse"}),
    frozenset({"gemini", "gemini-interactions"}),
)
# Who has a place for a refusal and for a call with free text; for media; for what a server ran.
_OPENAI: Final = frozenset({"openai-chat", "openai-responses"})
_MEDIA: Final = frozenset({"gemini", "gemini-interactions", "ollama", "vercel-ui"})
_SHOWN: Final = frozenset({"ag-ui", "vercel-ui"})
# Who refuses thoughts that it has not signed.
_SIGNED: Final = frozenset({"anthropic-messages", "bedrock-converse", "openai-responses"})


def refusals_told(parts: tuple[Part, ...], wanted: str) -> tuple[Part, ...]:
    """*parts*, in which refusals are texts where *wanted* has no place for them."""
    if wanted in _OPENAI:
        return parts
    return tuple(TextPart(part.text) if isinstance(part, RefusalPart) else part for part in parts)


def taken_over(parts: Iterable[Part], made: str, wanted: str) -> list[Part]:
    """The parts of a message in the words of *made* that go over to *wanted*, without what is only for *made*."""
    signed = any(made in models and wanted in models for models in _SAME_MODELS)
    found = (_taken(part, wanted, signed=signed) for part in parts)
    return [part for part in found if part is not None]


def _taken(part: Part, wanted: str, *, signed: bool) -> Part | None:
    if isinstance(part, TextPart):
        signature = part.signature if signed else None
        return TextPart(part.text, signature=signature) if part.text or signature else None
    if isinstance(part, ReasoningPart):
        signature = part.signature if signed else None
        is_known = bool(signature) or (bool(part.text) and wanted not in _SIGNED)
        return ReasoningPart(part.text, signature=signature) if is_known else None
    if isinstance(part, RefusalPart):
        return part
    if isinstance(part, ToolCall):
        return _call(part, wanted, signed=signed) if not part.server_side or wanted in _SHOWN else None
    if isinstance(part, ToolResult):
        is_shown = wanted in _SHOWN
        return ToolResult(part.call_id, part.name, part.content, part.is_error) if is_shown else None
    if isinstance(part, (ImagePart, AudioPart, FilePart)) and wanted in _MEDIA:
        return type(part)(part.media_type, part.data, part.url, transcript=part.transcript)
    return None


def _call(call: ToolCall, wanted: str, *, signed: bool) -> ToolCall:
    """The call as one of a function; free text for a tool stays that where there is such a thing."""
    is_free = call.type == "custom"
    if is_free and wanted not in _OPENAI:
        call, is_free = with_object(call), False
    signature = call.extra.get("signature") if signed else None
    return ToolCall(
        call.id,
        call.name,
        call.raw_arguments,
        status=call.status,
        type="custom" if is_free else "function",
        server_side=call.server_side,
        extra={"signature": signature} if signature else {},
    )
