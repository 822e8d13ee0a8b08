"""
The parts that Vercel's AI SDK has inside (`fullStream`, also of version 4), which some servers pass on as they are:
what they are in the stream for the browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold import _json
from chunkfold.dialects._usage import Counts, count, total
from chunkfold.dialects._words import is_blank
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NAMES", "chunk_of", "model_of", "sdk_usage", "usage_of"]

# The type that the browser is told, and the fields that have another name.
NAMES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "tool-input-start": ("tool-input-start", {"id": "toolCallId"}),
    "tool-input-delta": ("tool-input-delta", {"id": "toolCallId", "delta": "inputTextDelta"}),
    "tool-input-end": ("tool-input-end", {"id": "toolCallId"}),
    "tool-call": ("tool-input-available", {"args": "input"}),
    "tool-call-streaming-start": ("tool-input-start", {}),
    "tool-call-delta": ("tool-input-delta", {"argsTextDelta": "inputTextDelta"}),
    "tool-result": ("tool-output-available", {"result": "output"}),
    "tool-error": ("tool-output-error", {"error": "errorText"}),
    "reasoning": ("reasoning-delta", {}),
    "step-start": ("start-step", {}),
    "step-finish": ("finish-step", {}),
    "source": ("source-url", {"id": "sourceId"}),
}


def chunk_of(payload: dict[str, Any]) -> dict[str, Any]:
    """The chunk that a part of one of those types is; *payload* itself if it is that chunk."""
    kind = payload["type"]
    said, names = NAMES[kind]
    if kind == said and (payload.keys().isdisjoint(names) or "toolCallId" in payload):
        return payload
    chunk = {names.get(name, name) if names.get(name) not in payload else name: payload[name] for name in payload}
    chunk["type"] = said
    if kind in ("tool-result", "tool-error"):
        chunk.pop("input", None)  # the call has it
        chunk.pop("args", None)
    if kind == "tool-call" and payload.get("invalid") is True:
        chunk |= {"type": "tool-input-error", "errorText": chunk.pop("error", None)}
    if chunk.get("sourceType") == "document":
        chunk["type"] = "source-document"
    chunk.pop("sourceType", None)
    if isinstance(chunk.get("errorText"), dict):
        error = chunk["errorText"]
        chunk["errorText"] = error["message"] if isinstance(error.get("message"), str) else _json.encode(error)
    return chunk


def model_of(payload: Mapping[str, Any]) -> Any:
    """The model that has answered, in what the end of a step tells of the provider's response."""
    answer = payload.get("response")
    return answer.get("modelId") if isinstance(answer, dict) else None


def usage_of(payload: Mapping[str, Any]) -> dict[str, Any] | None:
    """The usage that the end of the stream tells: that of all steps together."""
    usage = payload.get("usage") if is_blank(payload.get("totalUsage")) else payload["totalUsage"]
    return usage if isinstance(usage, dict) else None


def sdk_usage(raw: dict[str, Any]) -> Usage:
    """The SDK's usage: version 5 has cached and reasoning tokens beside the sums that they are in, 6 below them."""
    prompt, output, whole, cached, reasoning = _counts(raw)
    cached = count(raw, "inputTokenDetails.cacheReadTokens") if cached is None else cached
    reasoning = count(raw, "outputTokenDetails.reasoningTokens") if reasoning is None else reasoning
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(whole, prompt, output),
        cached_input_tokens=cached,
        cache_write_input_tokens=count(raw, "inputTokenDetails.cacheWriteTokens"),
        reasoning_tokens=reasoning,
        raw=raw,
    )


_counts = Counts(
    ("inputTokens", "promptTokens"),
    ("outputTokens", "completionTokens"),
    ("totalTokens",),
    ("cachedInputTokens",),
    ("reasoningTokens",),
)
