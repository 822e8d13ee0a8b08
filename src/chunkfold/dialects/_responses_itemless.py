"""Events of OpenAI Responses that belong to no item: sound, and thoughts beside a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.dialects._media import base64_bytes

if TYPE_CHECKING:
    from chunkfold.dialects._writer import Writer

__all__ = ["sound", "thought"]

_NAMES = frozenset({"type", "sequence_number", "thought"})


def sound(w: Writer, payload: dict[str, Any]) -> None:
    """Sound, each piece base64 by itself, and its words."""
    delta = payload.get("delta")
    if not delta:
        return
    slot = w.slot(0, "audio") or w.start(0, "audio", key="audio")
    data = base64_bytes(delta)
    if payload["type"].startswith("response.audio.transcript"):
        w.delta(slot, delta)
    elif data is not None:
        w.data(slot, data)
    else:
        w.diagnose("bad_base64", "audio data is not base64; it is kept as an unknown part", 0, slot.index)
        w.unknown("audio", delta)


def thought(w: Writer, payload: dict[str, Any]) -> None:
    """
    Perplexity tells what the model thinks while it searches, and what it looks for and finds. No request takes these
    thoughts back.
    """
    text = payload.get("thought")
    if isinstance(text, str) and text:
        slot = w.start(0, "reasoning", extra={"summary": True, "$form": "beside"})
        w.delta(slot, text)
        w.stop(slot)
    if payload.keys() - _NAMES:
        w.unknown(payload["type"], payload)
    elif not text:
        w.ping()
