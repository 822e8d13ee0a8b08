"""
Texts that come again as a whole: with every delta, where a server sends the text so far, or once at the end. A whole
text goes on with what came before, or stands instead of it; an empty one erases nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.dialects import _halves, _think
from chunkfold.dialects._slots import CALLS
from chunkfold.parts import CLASSES, AudioPart, ToolCall

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Choice, Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.parts import Kind

__all__ = ["grown", "news", "restate", "restate_call", "restate_text"]


def news(w: Writer, choice: int, state: Choice, kind: Kind, text: str) -> str:
    """What the text of *kind* so far has more than the one before; a text that does not go on replaces."""
    before = state.wholes.get(kind, "")
    state.wholes[kind] = text
    if text.startswith(before):
        return text[len(before) :]
    if kind == "text" and state.front is not None and state.front.splitter is not None:
        _think.restate(w, state.front, state.front.splitter, text)
    else:
        restate(w, choice, state, kind, text)
    return ""


def grown(w: Writer, slot: Slot, text: str) -> str:
    """What the text of a part so far has more than the one before; a text that does not go on replaces."""
    before, slot.whole = slot.whole, text
    if text.startswith(before):
        return text[len(before) :]
    if slot.kind in CALLS:
        restate_call(w, slot, text)
    else:
        restate_text(w, slot, text)
    return ""


def restate(w: Writer, choice: int, state: Choice, kind: Kind, text: str) -> None:
    """Put the whole *text* of *kind* in the place of what was gathered; without anything gathered it is a new part."""
    w.singular = True  # the next one like it replaces, also where this one is the first
    front = state.front
    if kind == "text" and front is not None and front.splitter is not None:
        # The thinking may be stated by itself, and a message without any takes none back.
        _think.restate(w, front, front.splitter, text, erase=False)
        return
    slots = state.by_kind.get(kind, [])
    slots = [slot for slot in slots if slot.target is None] or slots
    if not slots:
        w.append(choice, kind, text)
        return
    text = _halves.clean(w, slots[0], text)
    for slot in slots:
        slot.half = ""
        if text or slot.has_text:
            w.replace(slot, CLASSES[kind](text=text))
            slot.has_text = bool(text)
        text = ""


def restate_text(w: Writer, slot: Slot, text: str) -> None:
    """Put the whole text of a part, or its transcript, in the place of what was gathered."""
    if slot.splitter is not None:
        _think.restate(w, slot, slot.splitter, text)
        return
    slot.half, text = "", _halves.clean(w, slot, text)
    w.replace(slot, AudioPart(transcript=text) if slot.kind == "audio" else CLASSES[slot.kind](text=text))


def restate_call(w: Writer, slot: Slot, arguments: str) -> None:
    """Put the whole argument text of a call in the place of what was gathered."""
    w.singular = True
    if not slot.has_text:
        w.write(slot, arguments)
        return
    slot.half = ""
    arguments = _halves.clean(w, slot, arguments)
    server_side = slot.kind == "server_tool_call"
    w.replace(slot, ToolCall(id=slot.id, name=slot.name, raw_arguments=arguments, server_side=server_side))
