"""
The fields of AG-UI's events, and how servers spell them: names in snake case, as attributes of Python are spelled, and
what TanStack AI says in names of its own, at first beside the protocol's and later in `metadata`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from chunkfold.dialects._words import is_blank

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["CALL", "ENVELOPE", "respelled", "said", "without_totals"]

# On every event: when it was sent, and what it was made from. Nobody's answer.
ENVELOPE: Final = frozenset({"type", "timestamp", "rawEvent"})
# What a call is made of.
CALL: Final = ENVELOPE | {"toolCallId", "toolCallName", "delta"}
# What is read under other names.
_OTHER_NAMES: Final = {
    "toolName": "toolCallName",
    **{
        re.sub(r"(?=[A-Z])", "_", name).lower(): name
        for name in (
            "messageId", "parentMessageId", "toolCallId", "toolCallName", "toolCalls", "threadId", "runId", "rawEvent",
            "entityId", "encryptedValue", "subagentRunId",
        )
    },
}  # fmt: skip
# The whole text so far, beside the delta.
_TOTALS: Final = frozenset({"content", "args"})


def respelled(holder: dict[str, Any]) -> dict[str, Any]:
    """*holder* in the protocol's spelling."""
    messages = holder.get("messages")
    if isinstance(messages, list) and any(isinstance(item, dict) and item.keys() & _OTHER_NAMES for item in messages):
        messages = [respelled(item) if isinstance(item, dict) else item for item in messages]
        holder = {**holder, "messages": messages}
    if holder.keys().isdisjoint(_OTHER_NAMES):
        return holder
    spelled: dict[str, Any] = {}
    for name, value in holder.items():
        name = _OTHER_NAMES.get(name, name)
        # Where both spellings are there, the one that says something counts.
        if name not in spelled or not is_blank(value):
            spelled[name] = value
    return spelled


def said(payload: Mapping[str, Any], name: str) -> Any:
    """A field that the protocol has not, and TanStack AI has."""
    value = payload.get(name)
    metadata = payload.get("metadata")
    own = metadata.get("tanstack") if is_blank(value) and isinstance(metadata, dict) else None
    return own.get(name) if isinstance(own, dict) else value


def without_totals(payload: dict[str, Any]) -> dict[str, Any]:
    """*payload* without the text so far, which it has beside a delta."""
    if is_blank(payload.get("delta")) or payload.keys().isdisjoint(_TOTALS):
        return payload
    return {name: value for name, value in payload.items() if name not in _TOTALS}
