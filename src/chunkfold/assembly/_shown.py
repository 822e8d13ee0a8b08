"""
What snapshots show, kept from one to the next.

A snapshot costs what has changed since the last one: only parts that something has come to are built again, and their
text grows in place where nobody holds the earlier one. What is left per part is a pointer in the tuple of parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._extras import copied
from chunkfold.assembly._judgement import chosen_finish
from chunkfold.assembly._responses import part_of, reason_of
from chunkfold.parts import TextPart, ToolCall
from chunkfold.response import Choice, Response

if TYPE_CHECKING:
    from chunkfold.assembly._builders import ChoiceBuilder, PartBuilder, ResponseBuilder

__all__ = ["ShownChoice", "ShownResponse"]

_LARGE = 32 << 10
_ROOM = 16 << 20


class ShownResponse:
    """A response as the last snapshot had it."""

    __slots__ = ("_choices", "_facts", "_order", "stale")

    def __init__(self) -> None:
        # What is kept stays true until an event comes that is no delta to an open part.
        self.stale = True
        self._facts: dict[str, Any] = {}
        self._order: list[ChoiceBuilder] = []
        self._choices: list[Any] = []

    def make(self, builder: ResponseBuilder) -> Response:
        """The response as it is now, while the stream is open."""
        if self.stale:
            self._restate(builder)
        choices, depth = self._choices, builder.depth
        for place, choice in enumerate(self._order):
            shown = choice.shown
            if shown.dirty or shown.choice is None:
                choices[place] = None
                choices[place] = shown.make(choice, depth)
        return Response(choices=tuple(choices), **self._facts)

    def _restate(self, builder: ResponseBuilder) -> None:
        """Something has come beside deltas: state anew all but the parts."""
        self.stale = False
        choices = builder.in_order()
        facts, odd = builder.facts, tuple(builder.diagnostics)
        before = self._facts.get("diagnostics", ())
        self._facts = {
            **{name: facts.get(name) for name in ("id", "model", "created", "dialect", "vendor")},
            "usage": builder.usage,
            "error": builder.error,
            "diagnostics": before if before == odd else odd,
            "extra": copied(builder.extra),
        }
        self._order = [choice for _, choice in choices]
        self._choices = [None] * len(choices)
        for place, (index, choice) in enumerate(choices):
            choice.shown.restate(index, choice, builder)
            self._choices[place] = choice.shown.make(choice, builder.depth)


class ShownChoice:
    """A choice and its parts as the last snapshot had them."""

    __slots__ = ("_before", "_calls", "_laid_out", "_parts", "_texts", "choice", "dirty", "facts", "moved")

    def __init__(self) -> None:
        # Parts that something has come to.
        self.dirty: list[PartBuilder] = []
        # Set when parts have gone, come in between, or become of another kind.
        self.moved = True
        # The choice as last handed out, and what it says beside its parts.
        self.choice: Choice | None = None
        self.facts: dict[str, Any] = {}
        self._laid_out = 0
        self._parts: list[Any] = []
        # The places of text parts, and the text of all of them but the last; `None` if one of those has changed.
        self._texts: list[int] = []
        self._before: str | None = ""
        # The client's calls by their places.
        self._calls: dict[int, Any] = {}

    def restate(self, index: int, choice: ChoiceBuilder, builder: ResponseBuilder) -> None:
        """State anew what the choice says beside its parts."""
        before = self.facts.get
        reason = native = None
        if choice.finishes or builder.provider_error:
            stands = chosen_finish(choice.finishes, builder.policy)
            reason, native = reason_of(builder, choice, None), stands[1] if stands else None
        logprobs, annotations = before("logprobs", ()), before("annotations", ())
        facts = {
            "index": index,
            "finish_reason": reason,
            "native_finish_reason": native,
            "logprobs": logprobs if len(logprobs) == len(choice.logprobs) else tuple(choice.logprobs),
            "annotations": annotations if len(annotations) == len(choice.annotations) else tuple(choice.annotations),
            "role": builder.facts.get("role") or "assistant",
        }
        # By identity: comparing would cost time in proportion to the log-probabilities.
        if any(value is not before(name) for name, value in facts.items()):
            self.facts, self.choice = facts, None

    def make(self, choice: ChoiceBuilder, depth: int | None) -> Choice:
        """The choice as it is now: the one handed out last if nothing has changed."""
        row = choice.parts
        if self.moved or choice.aside or choice.aliased:
            self._lay_out(choice.all_parts(), depth)
            self._laid_out = len(row)
        elif self.dirty or self._laid_out != len(row):
            # The last choice may be all that holds the texts that are about to grow.
            self.choice = None
            for part in self.dirty:
                if part.place < len(self._parts) and not part.hidden:
                    self._put(part, depth)
            if self._laid_out != len(row):
                for part in row[self._laid_out :]:
                    self._append(part, depth)
                self._laid_out = len(row)
        elif self.choice is not None:
            return self.choice
        self.dirty.clear()
        parts, texts = self._parts, self._texts
        made = self.choice = Choice(parts=tuple(parts), **self.facts)
        # What would take time in proportion to the parts when it is asked for is known here.
        if self._before is None:
            self._before = "".join([parts[place].text for place in texts[:-1]])
        known = made.__dict__
        known["texts"] = (self._before, parts[texts[-1]].text if texts else "")
        known["tool_calls"] = tuple(self._calls.values()) if self._calls else ()
        return made

    def _lay_out(self, parts: list[PartBuilder], depth: int | None) -> None:
        self.choice, self.moved = None, False
        self._parts, self._texts, self._calls, self._before = [], [], {}, ""
        for part in parts:
            self._append(part, depth)

    def _put(self, part: PartBuilder, depth: int | None) -> None:
        place, parts, calls = part.place, self._parts, self._calls
        parts[place] = None  # lets go of the text, so that it can grow in place
        if place in calls:
            calls[place] = None
            parts[place] = calls[place] = built = part.built or part_of(part, depth)
            size = len(built.raw_arguments)  # type: ignore[union-attr]
        else:
            parts[place] = built = part.built or part_of(part, depth)
            if not isinstance(built, TextPart):
                return
            size = len(built.text)
            if place != self._texts[-1]:
                self._before = None
        if size > _LARGE:
            _make_room()

    def _append(self, part: PartBuilder, depth: int | None) -> None:
        if part.hidden:
            return
        built = part.built or part_of(part, depth)
        place = part.place = len(self._parts)
        self._parts.append(built)
        if isinstance(built, ToolCall):
            if not built.server_side:
                self._calls[place] = built
        elif isinstance(built, TextPart):
            if self._texts and self._before is not None:
                self._before += self._parts[self._texts[-1]].text
            self._texts.append(place)


_has_room = False


def _make_room() -> None:
    """
    Let the C library keep freed memory of this order for the next text.

    Who holds a snapshot while taking the next makes each text a copy that is a little longer than any before. glibc
    maps every block that is larger than all that were freed afresh, and the page faults cost three times the copy.
    "M_MMAP_THRESHOLD is dynamic" (mallopt(3)): freeing one large block, never touched, ends that.
    """
    global _has_room  # noqa: PLW0603 - it is the process's memory
    if not _has_room:
        _has_room = True
        bytes(_ROOM)
