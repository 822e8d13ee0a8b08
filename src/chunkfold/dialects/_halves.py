"""
Halves of surrogate pairs, which JSON can escape and no text can hold: joined over deltas, replaced where one stands
alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.dialects._slots import CALLS

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer

__all__ = ["clean", "join"]


def join(w: Writer, slot: Slot, text: str) -> str:
    """*text* behind the half that the part waits with, without halves; one at its end waits for its mate."""
    text, slot.half = slot.half + text, ""
    if text.isascii():
        return text
    if "\ud800" <= text[-1] <= "\udbff":
        text, slot.half = text[:-1], text[-1]
    if not text or _is_whole(text):
        return text
    return clean(w, slot, text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass"))


def clean(w: Writer, slot: Slot, text: str) -> str:
    """*text* as a part may hold it: a half that stands alone becomes U+FFFD; in argument text, JSON, its escape."""
    if _is_whole(text):
        return text
    index = (slot.target or slot).index
    w.diagnose("lone_surrogate", "half of a character never found its mate", slot.choice, index if index >= 0 else None)
    if slot.kind in CALLS:
        return text.encode("utf-8", "backslashreplace").decode()
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)


def _is_whole(text: str) -> bool:
    """True if no half of a pair is in *text*."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
