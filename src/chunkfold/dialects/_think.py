"""
`<think>` tags in answer text, split on request.

Servers without a reasoning parser leave the model's thinking in the answer between tags, cut anywhere. A tail that may
become a tag is held back until the next text decides. A part whose text is split gets its place in the response when
its first text is known to be text; what is thinking goes to parts of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.events import PartStart, ReasoningDelta, TextDelta
from chunkfold.parts import ReasoningPart

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer

__all__ = ["ThinkSplitter", "announce", "close", "write"]

_OPEN, _CLOSE = "<think>", "</think>"


class ThinkSplitter:
    """Splits one text into `("text", ...)` and `("reasoning", ...)` pieces."""

    def __init__(self) -> None:
        self._held = ""
        self._thinking = False
        # The text before any tag, kept because some servers leave out the opening tag: then it was all thinking.
        self._untagged: list[str] | None = []

    def feed(self, text: str) -> list[tuple[str, str]]:
        """
        The pieces that *text* completes. A piece of kind `"thought"` is all the text so far, given again: it turned
        out to be reasoning, because a closing tag came that had no opening one.
        """
        pieces: list[tuple[str, str]] = []
        text = self._held + text
        while True:
            tag = self._next_tag(text)
            if tag is None:
                break
            at, word = tag
            self._give(pieces, text[:at])
            if word == _CLOSE and not self._thinking and self._untagged is not None:
                pieces.append(("thought", "".join(self._untagged)))
            self._untagged = None
            self._thinking = word == _OPEN
            text = text[at + len(word) :]
        keep = _tail_that_may_become_a_tag(text)
        self._held = text[len(text) - keep :]
        self._give(pieces, text[: len(text) - keep])
        return pieces

    def close(self) -> list[tuple[str, str]]:
        """What was held back, at the end of the text."""
        pieces: list[tuple[str, str]] = []
        self._give(pieces, self._held)
        self._held = ""
        return pieces

    def _next_tag(self, text: str) -> tuple[int, str] | None:
        """The next tag that means something here: inside thinking only the closing one."""
        close = text.find(_CLOSE)
        if self._thinking:
            return (close, _CLOSE) if close >= 0 else None
        start = text.find(_OPEN)
        if close >= 0 and self._untagged is not None and (start < 0 or close < start):
            return close, _CLOSE
        return (start, _OPEN) if start >= 0 else None

    def _give(self, pieces: list[tuple[str, str]], text: str) -> None:
        if not text:
            return
        if self._untagged is not None:
            self._untagged.append(text)
        pieces.append(("reasoning" if self._thinking else "text", text))


def _tail_that_may_become_a_tag(text: str) -> int:
    at = text.rfind("<", max(0, len(text) - len(_CLOSE)))
    if at < 0:
        return 0
    tail = text[at:]
    return len(tail) if _OPEN.startswith(tail) or _CLOSE.startswith(tail) else 0


# Parts whose text is split


def announce(w: Writer, slot: Slot) -> None:
    """Give a part that waited for its first text its place."""
    state = w.table.choice(slot.choice)
    slot.index = w.table.new(slot.choice, slot.kind).index
    slot.open = True
    state.slots[-1] = state.by_kind[slot.kind][-1] = state.last_other = slot
    w.out.append(PartStart(slot.choice, slot.index, slot.kind, slot.id))


def write(w: Writer, slot: Slot, pieces: list[tuple[str, str]]) -> None:
    """Write what the splitter gave, each piece to a part of its kind."""
    for kind, text in pieces:
        target = slot.target
        if kind == "thought":
            if target is not None:
                w.replace(target, ReasoningPart(text=text))
                w.table.choice(slot.choice).change_kind(target, "reasoning")
            continue
        if target is None and kind == "text":
            if slot.index < 0:
                announce(w, slot)
            slot.target = target = slot
        elif target is None or target.kind != kind:
            if target is not None:
                w.end(target)
                if target is not slot:
                    target.open = False
            target = w.table.new(slot.choice, "reasoning" if kind == "reasoning" else "text")
            w.out.append(PartStart(slot.choice, target.index, target.kind))
            slot.target = target
        w.out.append((ReasoningDelta if kind == "reasoning" else TextDelta)(target.choice, target.index, text))


def close(w: Writer, slot: Slot) -> Slot:
    """Write what was held back; the part that the text went to last is over."""
    if slot.splitter is not None:
        write(w, slot, slot.splitter.close())
    if slot.index < 0 and slot.target is None and slot.has_key:
        announce(w, slot)
    slot.open = False
    slot = slot.target or slot
    slot.open = False
    return slot
