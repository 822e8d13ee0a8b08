"""
Sound in chat completions: base64 in pieces, and the words beside it.

OpenAI encodes each piece by itself. Elsewhere one text is cut anywhere, as Qwen and OpenRouter document it: join the
pieces, then decode. So what is left of a group of four characters waits for the piece behind it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chunkfold.dialects._media import base64_bytes, usual_base64_bytes
from chunkfold.dialects._native_fields import further_fields
from chunkfold.dialects._words import says_nothing

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects.openai_chat import OpenAIChat
    from chunkfold.framing import Frame

__all__ = ["audio", "in_content", "tell_rests"]

_AUDIO = frozenset({"id", "data", "transcript"})
_is_begun = re.compile("[A-Za-z0-9+/]{0,3}").fullmatch


def audio(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """A piece of sound, of its words, or both."""
    w = chat.w
    if not isinstance(value, dict):
        w.unknown("audio", value)
        return
    if not any(value.get(key) for key in _AUDIO) and chat.is_whole:
        w.extra(("choices", index, "message", "audio"), value)
        return
    slot = w.slot(index, "audio")
    if slot is None and (says_nothing(value) or not any(value.values())):
        return
    if slot is None:
        blank = {key: item for key, item in value.items() if item in (None, "")}
        slot = w.start(index, "audio", key="audio", id=value.get("id"), extra=blank)
    w.delta(slot, value.get("transcript"))
    if not _add(chat, slot, value.get("data") or ""):
        _carry(chat, slot, value)
    w.update(slot, extra=further_fields(value, _AUDIO))


def in_content(chat: OpenAIChat, index: int, content: str) -> bool:
    """
    Take sound that stands in the place of the text, where vLLM-Omni says that the chunk is of that `modality`; false if
    it is none.
    """
    w = chat.w
    data = usual_base64_bytes(content)
    if data:
        slot = w.slot(index, "audio")
        w.data(w.start(index, "audio", key="audio") if slot is None else slot, data)
    return data is not None


def tell_rests(chat: OpenAIChat) -> None:
    """The input has ended: what waits for more is all there is, without the padding that some leave out."""
    for slot, rest in chat.sounds.items():
        data = base64_bytes(rest)
        if data is None:
            _carry(chat, slot, {"data": rest})
        else:
            chat.w.data(slot, data)
    chat.sounds.clear()


def _add(chat: OpenAIChat, slot: Slot, text: Any) -> bool:
    """Take a piece of base64; false if it is none."""
    if not isinstance(text, str):
        return False
    text = chat.sounds.get(slot, "") + text
    end = len(text) if chat.is_whole else len(text) - len(text) % 4
    data, rest = usual_base64_bytes(text[:end]), text[end:]
    if data is None or not _is_begun(rest):
        return False
    chat.sounds.pop(slot, None)
    if rest:
        chat.sounds[slot] = rest
    chat.w.data(slot, data)
    return True


def _carry(chat: OpenAIChat, slot: Slot, value: dict[str, Any]) -> None:
    w = chat.w
    w.diagnose("bad_base64", "audio data is not base64; it is kept as an unknown part", slot.choice, slot.index)
    w.unknown("audio", value)
