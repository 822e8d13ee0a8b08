"""
`<think>` tags in answer text, split on request.

Servers without a reasoning parser leave the model's thinking in the answer between tags, cut anywhere. A tail that may
become a tag is held back until the next text decides. Bedrock has put tags of another name around what gpt-oss thinks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.dialects._halves import clean
from chunkfold.events import PartStart, ReasoningDelta, TextDelta
from chunkfold.parts import CLASSES, ReasoningPart

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Choice, Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.parts import Kind

__all__ = ["ThinkSplitter", "begin", "close", "leave", "open_part", "restate", "write"]

# What the names of models begin with whose tags are called otherwise.
_OTHER_TAGS = {"openai.gpt-oss": "reasoning"}


class ThinkSplitter:
    """Splits one text into `("text", ...)` and `("reasoning", ...)` pieces."""

    def __init__(self, tag: str = "think") -> None:
        self._open, self._close = f"<{tag}>", f"</{tag}>"
        self._held = ""
        self._thinking = False
        # The text before any tag, kept because some servers leave out the opening tag: then it was all thinking.
        self._untagged: list[str] | None = []
        # The parts that the pieces went to.
        self.parts: list[Slot] = []

    def feed(self, text: str) -> list[tuple[str, str]]:
        """
        The pieces that *text* completes. A piece of kind `"thought"` is all the text so far, given again: it turned
        out to be reasoning, because a closing tag came that had no opening one.
        """
        pieces: list[tuple[str, str]] = []
        text = self._held + text
        done = 0
        while True:
            tag = self._next_tag(text, done)
            if tag is None:
                break
            at, word = tag
            self._give(pieces, text[done:at])
            if word == self._close and not self._thinking and self._untagged is not None:
                pieces.append(("thought", "".join(self._untagged)))
            self._untagged = None
            self._thinking = word == self._open
            done = at + len(word)
        text = text[done:]
        keep = self._tail_that_may_become_a_tag(text)
        self._held = text[len(text) - keep :]
        self._give(pieces, text[: len(text) - keep])
        return pieces

    def close(self) -> list[tuple[str, str]]:
        """What was held back, at the end of the text or of a part of it."""
        pieces: list[tuple[str, str]] = []
        self._give(pieces, self._held)
        self._held = ""
        if self._untagged is not None:
            self._untagged = []
        return pieces

    def start_over(self, text: str) -> list[tuple[str, str]]:
        """The pieces of *text*, which stands instead of all that came."""
        self._held, self._thinking, self._untagged = "", False, []
        return self.feed(text)

    def _next_tag(self, text: str, done: int) -> tuple[int, str] | None:
        """The next tag from *done* on that means something there: inside thinking only the closing one."""
        close = text.find(self._close, done)
        if self._thinking:
            return (close, self._close) if close >= 0 else None
        start = text.find(self._open, done)
        if close >= 0 and self._untagged is not None and (start < 0 or close < start):
            return close, self._close
        return (start, self._open) if start >= 0 else None

    def _tail_that_may_become_a_tag(self, text: str) -> int:
        at = text.rfind("<", max(0, len(text) - len(self._close)))
        if at < 0:
            return 0
        tail = text[at:]
        return len(tail) if self._open.startswith(tail) or self._close.startswith(tail) else 0

    def _give(self, pieces: list[tuple[str, str]], text: str) -> None:
        if not text:
            return
        if self._untagged is not None:
            self._untagged.append(text)
        pieces.append(("reasoning" if self._thinking else "text", text))


# Parts whose text is split: a slot without a place in front of those that the pieces go to


def begin(w: Writer, state: Choice, slot: Slot) -> None:
    """The text of *slot* is to be split. Unnumbered text is one text, whatever comes between its parts."""
    slot.splitter = ThinkSplitter(_tag_of(w.fact("model")))
    if not slot.has_key:
        if state.front is not None:
            w.stop(state.front)
            slot.splitter = state.front.splitter
        state.front = slot
    state.split.append(slot)


def _tag_of(model: Any) -> str:
    """How the tags of a model are called."""
    name = model if isinstance(model, str) else ""
    return next((tag for beginning, tag in _OTHER_TAGS.items() if name.startswith(beginning)), "think")


def write(w: Writer, slot: Slot, splitter: ThinkSplitter, pieces: list[tuple[str, str]]) -> None:
    """Write what the splitter gave, each piece to a part of its kind."""
    for kind, text in pieces:
        target = slot.target
        if kind == "thought":
            if target is not None:
                w.replace(target, ReasoningPart(text=text))
                w.table.choice(slot.choice).change_kind(target, "reasoning")
            continue
        if target is None or target.kind != kind:
            if target is not None:
                target.open = False
                w.end(target)
            target = open_part(w, slot, splitter, "reasoning" if kind == "reasoning" else "text")
        w.out.append((ReasoningDelta if kind == "reasoning" else TextDelta)(target.choice, target.index, text))


def open_part(w: Writer, slot: Slot, splitter: ThinkSplitter, kind: Kind = "text") -> Slot:
    """The next part that the text of *slot* goes to."""
    part = slot.target = w.table.new(slot.choice, kind)
    part.target, part.has_text = part, True
    splitter.parts.append(part)
    w.out.append(PartStart(slot.choice, part.index, kind, slot.id if kind == "text" else None))
    return part


def leave(w: Writer, state: Choice) -> None:
    """Another part begins: the unnumbered text before it does not go on, so that nothing is held back any more."""
    slot = state.current
    if slot is not None and slot.splitter is not None and not slot.has_key:
        write(w, slot, slot.splitter, slot.splitter.close())


def close(w: Writer, slot: Slot, splitter: ThinkSplitter) -> Slot:
    """The text is over, and the part that it went to last, which is returned."""
    write(w, slot, splitter, splitter.close())
    if slot.target is None and slot.has_key:
        open_part(w, slot, splitter)
    slot = slot.target or slot
    slot.open = False
    return slot


def restate(w: Writer, slot: Slot, splitter: ThinkSplitter, text: str, *, erase: bool = True) -> None:
    """
    Split the whole *text* and put it in the place of what was gathered; *erase*: also of what it has nothing of, be it
    thinking or text.
    """
    slot.half, text = "", clean(w, slot, text)
    pieces: dict[str, list[str]] = {"reasoning": [], "text": []}
    for kind, piece in splitter.start_over(text):
        if kind == "thought":
            pieces = {"reasoning": [piece], "text": []}
        else:
            pieces[kind].append(piece)
    left = {kind: "".join(texts) for kind, texts in pieces.items()}
    told = {kind for kind, text in left.items() if text or erase}
    for part in splitter.parts:
        if part.kind not in told:
            continue
        w.replace(part, CLASSES[part.kind](text=left[part.kind]))
        left[part.kind] = ""
    write(w, slot, splitter, [(kind, text) for kind, text in left.items() if text])
