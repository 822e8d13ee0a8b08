"""
ERNIE's API of before it became OpenAI's (Qianfan v1): objects of the same name with the text at the top, as `result`,
and in a stream `is_end`, which marks the last one.
"""

from __future__ import annotations

from typing import Any

__all__ = ["FORM", "is_flat", "unflattened"]

FORM = "flat"
"""The note in the response that its body has that form."""

_CHOICE = frozenset({"result", "function_call", "finish_reason", "is_end", "sentence_id"})


def is_flat(payload: dict[str, Any]) -> bool:
    """True if a payload without choices is one that has the text at the top."""
    return payload.get("object") == "chat.completion" and isinstance(payload.get("result"), str)


def unflattened(payload: dict[str, Any]) -> dict[str, Any]:
    """The payload with a choice. The reason stands in every piece, and is one in the last."""
    is_piece, message = "is_end" in payload, {"content": payload["result"]}
    if payload.get("function_call"):
        message["function_call"] = payload["function_call"]
    choice: dict[str, Any] = {"index": 0, "delta" if is_piece else "message": message}
    if "finish_reason" in payload and payload.get("is_end", True):
        choice["finish_reason"] = payload["finish_reason"]
    return {**{key: value for key, value in payload.items() if key not in _CHOICE}, "$form": FORM, "choices": [choice]}
