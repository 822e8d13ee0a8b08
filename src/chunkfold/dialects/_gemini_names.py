"""The names of Gemini's fields: in camel case by the servers, in snake case by proxies and SDK objects."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SNAKE", "both", "field", "snake"]


def snake(name: str) -> str:
    """*name* in snake case."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def both(*names: str) -> frozenset[str]:
    """The names in both spellings."""
    return frozenset((*names, *map(snake, names)))


# What `field` finds.
SNAKE: Final = {
    name: snake(name)
    for name in (
        "promptFeedback", "usageMetadata", "modelVersion", "responseId", "createTime", "blockReason", "finishReason",
        "citationMetadata", "groundingMetadata", "groundingChunks", "logprobsResult", "chosenCandidates",
        "topCandidates", "partialArgs", "willContinue", "jsonPath", "stringValue", "numberValue", "boolValue",
        "mimeType", "fileUri", "toolType",
    )
}  # fmt: skip


def field(mapping: Mapping[str, Any], name: str) -> Any:
    """The field of that name, in either spelling."""
    value = mapping.get(name)
    return mapping.get(SNAKE[name]) if value is None else value
