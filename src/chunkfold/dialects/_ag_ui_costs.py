"""What a run of AG-UI costs: the counts of all its calls of models, in the words of their providers."""

from __future__ import annotations

from typing import Any

import msgspec

from chunkfold.dialects._usage import count, total
from chunkfold.response import Usage

__all__ = ["run_usage"]


def run_usage(raw: dict[str, Any]) -> Usage:
    """The usage of a run: that of all its calls of models together."""
    whole = Usage.sum(_call_usage(entry) for entry in raw["usage"])
    return msgspec.structs.replace(whole, raw=raw)


def _call_usage(raw: dict[str, Any]) -> Usage:
    prompt = count(raw, "inputTokens", "input_tokens", "promptTokens")
    output = count(raw, "outputTokens", "output_tokens", "completionTokens")
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(count(raw, "totalTokens", "total_tokens"), prompt, output),
        cached_input_tokens=count(raw, "cachedInputTokens", "cached_input_tokens", "promptTokensDetails.cachedTokens"),
        cache_write_input_tokens=count(raw, "cacheWriteInputTokens", "cache_write_input_tokens"),
        reasoning_tokens=count(raw, "reasoningTokens", "reasoning_tokens", "completionTokensDetails.reasoningTokens"),
    )
