"""
Citations in chat completions: in a delta, beside it in the choice, and as LiteLLM tells those of Anthropic's models.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.dialects._words import are_objects_once

if TYPE_CHECKING:
    from chunkfold.dialects.openai_chat import OpenAIChat
    from chunkfold.framing import Frame

__all__ = ["addresses", "in_choice", "in_delta", "in_provider_fields"]


def in_delta(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """Annotations as OpenAI has them, some of them or, in later deltas, all so far."""
    chat.w.annotations(index, None, _items(value))
    if not are_objects_once(value):
        chat.w.extra(("choices", index, "message", "annotations"), value)


def addresses(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """Perplexity's and xAI's list of addresses, which the body has under that name."""
    chat.w.annotations(index, None, _items(value))
    chat.w.extra(("choices", index, "message", "citations"), value)


def in_choice(chat: OpenAIChat, index: int, value: Any) -> None:
    """Annotations beside the delta, where some of OpenRouter's providers have them."""
    chat.w.annotations(index, None, _items(value))
    if chat.is_whole:
        chat.w.extra(("choices", index, "annotations"), value)


def in_provider_fields(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """
    What LiteLLM has of a provider alone. A delta has one citation of Anthropic's (`citation`), a body the lists of
    those of each block (`citations`). Of the other fields, which come in deltas of their own, the latest value stands.
    """
    w, path = chat.w, ("choices", index, "message", "provider_specific_fields")
    if not isinstance(value, dict):
        w.extra(path, value)
        return
    found = [value["citation"]] if isinstance(value.get("citation"), dict) else []
    for item in value["citations"] if isinstance(value.get("citations"), list) else ():
        found += _items(item)
    w.annotations(index, None, found)
    if chat.is_whole:
        w.extra(path, value)
    else:
        w.extras(value, _CITATION if found else frozenset(), *path)


_CITATION = frozenset({"citation"})


def _items(value: Any) -> list[Any]:
    """What a list has; what is none stands alone."""
    return value if isinstance(value, list) else [value]
