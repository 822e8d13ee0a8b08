"""
Parts, choices and a response in the making: what events have brought so far.

Adding costs next to nothing: text is collected in pieces, and joined when it is looked at. Which part an event is about
is found out in `_effects`; what is handed out is made of this in `_responses`.
"""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

from chunkfold.assembly._extras import Fields
from chunkfold.assembly._shown import ShownChoice, ShownResponse
from chunkfold.basis import _json
from chunkfold.basis._wording import given_or
from chunkfold.events import ReasoningDelta, RefusalDelta, TextDelta, ToolArgumentsDelta
from chunkfold.limits import DEFAULT_LIMITS
from chunkfold.parts import CALLS, CLASSES
from chunkfold.policy import DEFAULT_POLICY
from chunkfold.response import Diagnostic

if TYPE_CHECKING:
    from chunkfold.events import PartStart
    from chunkfold.limits import Limits
    from chunkfold.partial_json import PartialJSON
    from chunkfold.parts import Kind, Part, ToolCallStatus
    from chunkfold.policy import Policy
    from chunkfold.response import Ended, FinishReason, StreamError, Usage

__all__ = ["DELTA_OF", "MANY", "WITH_DATA", "ChoiceBuilder", "PartBuilder", "ResponseBuilder"]

MANY = 2048
"""Pieces are joined when there are this many: short strings cost ten times their text in memory."""

# In so many steps a text is joined: more cost time where memory cannot grow in place, fewer cost memory. CPython lets
# a text that only one local variable holds grow in place, once it has seen a loop go round a few times.
_JOINS = 32

# Diagnostics of each kind that are kept: one costs thirty times the smallest frame that is no JSON.
_LISTED = 1000

# Kinds of parts that have bytes.
WITH_DATA = ("image", "audio", "file")
_MEDIA = {"media_type": str, "url": str, "id": str, "transcript": str, "final": bool}
# What a start may say about the part beside its fields.
_CONTROL = ("start_arguments", "expects_arguments", "stream_only")
# Fields of parts that events bring under `extra`, by their names. A value of another type is no such field.
_CARRIED: dict[str, dict[str, type]] = {
    "text": {"phase": str},
    "reasoning": {"encrypted": str, "redacted": bool, "summary": bool},
    "tool_call": {"index": int},
    "server_tool_call": {"index": int},
    "server_tool_result": {"content": object, "is_error": bool},
    **dict.fromkeys(WITH_DATA, _MEDIA),
}
# The event that brings more to a part of a kind. An event of another type, or one to a part that has ended, is looked
# at twice.
DELTA_OF: dict[str, type] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "refusal": RefusalDelta,
    "tool_call": ToolArgumentsDelta,
    "server_tool_call": ToolArgumentsDelta,
    "image": TextDelta,
    "audio": TextDelta,  # its transcript
    "file": TextDelta,
}


def _joined(chunks: list[str]) -> str:
    """The chunks as one text, each freed when it is in: in one go all would be there twice for a moment."""
    size = max(1, len(chunks) // _JOINS)
    chunks.reverse()
    text = ""
    for _ in range(0, len(chunks), size):
        text += "".join(chunks[: -size - 1 : -1])
        del chunks[-size:]
    return text


class _Nowhere(list[Any]):
    """Pieces that nobody wants."""

    def append(self, piece: Any) -> None:
        pass

    def extend(self, pieces: Any) -> None:
        pass


def _fits(value: Any, wanted: type) -> bool:
    """True if *value* is of that type; `true` is no number."""
    return isinstance(value, wanted) and (wanted is not int or type(value) is not bool)


class PartBuilder:
    """A part in the making."""

    __slots__ = (
        "annotations", "built", "chunks", "closed", "control", "delta", "dirty", "extra", "fields", "hidden", "kind",
        "noted", "open", "pieces", "place", "reader", "sealed", "seen", "started",
    )  # fmt: skip

    def __init__(self, kind: Kind, dirty: list[PartBuilder], *, started: bool = True) -> None:
        self.started = started
        # Where to report that something has come, and the place in the last snapshot.
        self.dirty = dirty
        self.place = 0
        # What reads the arguments while they come, if anything does.
        self.reader: PartialJSON[Any] | None = None
        # Not for the response: a preview, or what the policy drops.
        self.hidden = False
        self.begin(kind)

    def begin(self, kind: Kind) -> None:
        """Be a new part of that kind, with nothing in it."""
        self.kind = kind
        self.open = True
        # The type of the events that bring more; `None` when the part has ended.
        self.delta: type | None = DELTA_OF.get(kind)
        # The how-manieth part it was to end; 0 while it has not.
        self.closed = 0
        # What has come last, and what came before it, in few large strings.
        self.pieces: list[Any] = []
        self.chunks: list[Any] = []
        # Fields of the part but text and extra.
        self.fields: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.control: dict[str, Any] = {}
        self.annotations: list[dict[str, Any]] = []
        self.seen: set[str] = set()
        # True if it was told that something came behind its end.
        self.noted = False
        # The judgement of the argument text, and how long the text was then.
        self.sealed: tuple[ToolCallStatus, int] | None = None
        # The part as last handed out; `None` when something has come since: `touch` sees to it.
        self.built: Part | None = None

    def touch(self) -> None:
        """Something is to come: the next snapshot builds the part anew. While there are pieces this was called."""
        if self.built is not None:
            self.built = None
            self.dirty.append(self)

    def hide(self) -> None:
        """Keep nothing of what comes."""
        self.hidden = True
        self.pieces = _Nowhere()

    def start(self, event: PartStart) -> None:
        """Take what the start of the part says."""
        fields, kind, id_ = self.fields, event.kind, event.id
        if kind in CALLS:
            fields.update(id=id_, name=event.name or fields.get("name"), type=event.tool_type or "function")
            fields["server_side"] = kind == "server_tool_call"
        elif kind == "server_tool_result":
            fields.update(call_id=id_, name=event.name)
        elif kind == "unknown":
            fields["name"] = event.name or ""
        elif id_ is not None and kind == "reasoning":
            self.extra["id"] = id_
        elif id_ is not None and kind != "refusal":
            fields["id"] = id_
        self.carry(event.extra)
        self.touch()

    def become(self, kind: Kind) -> None:
        """Be of *kind*. Fields that parts of that kind do not have stay beside it."""
        if kind != self.kind:
            self.kind = kind
            known = CLASSES[kind].__struct_fields__
            for name in [name for name in self.fields if name not in known]:
                self.extra[name] = self.fields.pop(name)

    def go_on(self) -> None:
        """Be started again, after the end maybe."""
        self.started, self.open, self.delta, self.sealed = True, True, DELTA_OF.get(self.kind), None

    def replace(self, new: Part) -> None:
        """Take a part that is stated whole: it replaces text and what it says; what it leaves unsaid stays."""
        self.touch()
        self.sealed = None
        if self.kind != new.kind:
            self.kind, self.fields = new.kind, {}
            self.delta = DELTA_OF.get(new.kind) if self.open else None
        if self.hidden:
            return
        self.pieces, self.chunks = [], []
        defaults = type(new)()
        for name in new.__struct_fields__:
            value = getattr(new, name)
            if name in ("text", "raw_arguments"):
                self.pieces = [value] if value else []
            elif name == "extra":
                self.extra.update(value)
            elif name == "payload":
                self.extra = dict(value) if isinstance(value, dict) else {}
                self.fields.pop("payload", None)
                if not isinstance(value, dict):
                    self.fields["payload"] = value
            elif name == "annotations" and value:
                self.annotations, self.seen = [], set()
                self.annotate(value)
            elif name == "data":
                self.fields["data"] = [value] if value is not None else self.fields.get("data", [])
            elif name != "status" and value != getattr(defaults, name):
                self.fields[name] = value

    def annotate(self, items: tuple[dict[str, Any], ...]) -> None:
        """Add the annotations that are no exact repeats."""
        for item in items:
            key = _json.identity(item)
            if key not in self.seen:
                self.seen.add(key)
                self.annotations.append(item)

    def carry(self, extra: dict[str, Any]) -> None:
        """Take the fields that came under `extra`."""
        carried = _CARRIED.get(self.kind, {})
        for key, value in extra.items():
            if value is None:
                if key not in carried:
                    self.extra.setdefault(key, None)
            elif key in _CONTROL:
                self.control[key] = value
            elif key in carried and _fits(value, carried[key]):
                self.fields[key] = value
            else:
                self.extra[key] = value

    def start_arguments(self) -> str | None:
        """The arguments that came with the start of a call, as JSON text."""
        value = self.control.get("start_arguments")
        return value if value is None or isinstance(value, str) else _json.encode(value)

    def text(self) -> str:
        """The text so far. Asking again costs only what has come since."""
        chunks = self.chunks
        if len(chunks) > 1:
            self.compact()
            self.chunks = chunks = [_joined(chunks)]
        elif self.pieces:
            # In place, as above.
            text = chunks.pop() if chunks else ""
            text += self.pieces[0] if len(self.pieces) == 1 else "".join(self.pieces)
            chunks.append(text)
            self.pieces.clear()
        return chunks[0] if chunks else ""

    def size(self) -> int:
        """About how many characters or bytes there are: those of the last pieces are not counted."""
        return sum(map(len, self.chunks))

    def compact(self) -> None:
        """Join many small pieces into one."""
        empty: Any = b"" if self.kind in ("image", "file") else ""
        self.chunks.append(empty.join(self.pieces))
        self.pieces.clear()


class ChoiceBuilder:
    """A choice in the making."""

    __slots__ = (
        "aliased", "annotations", "aside", "calls", "finishes", "logprobs", "oldest", "parts", "seen", "shown",
        "strays",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parts: list[PartBuilder] = []
        # Parts at an index that is not theirs to have: deltas without a start, starts out of the row.
        self.strays: dict[tuple[int, type | None], PartBuilder] = {}
        self.aside: list[tuple[int, PartBuilder]] = []
        # The calls by their ids, and whether one of them stands at several places in `parts`.
        self.calls: dict[str, PartBuilder] = {}
        self.aliased = False
        # No part before this one is open.
        self.oldest = 0
        self.logprobs: list[Any] = []
        self.annotations: list[dict[str, Any]] = []
        # By what each is known again, in that order, and how many parts had begun when it came.
        self.seen: dict[str, int] = {}
        # Every reason with its native word, once, in order; but the first and the last are so here too.
        self.finishes: list[tuple[FinishReason, str | None]] = []
        self.shown = ShownChoice()

    def part(self, kind: Kind, *, started: bool = True) -> PartBuilder:
        """A new part, which has no place yet."""
        return PartBuilder(kind, self.shown.dirty, started=started)

    def claimed(self, index: int, kind: Kind) -> PartBuilder:
        """The part of deltas that came before its start, which comes now; a new one if there were none."""
        key = (index, DELTA_OF.get(kind))
        part = self.strays.get(key)
        if part is None or part.started or ("data" in part.fields and kind not in WITH_DATA):
            return self.part(kind)
        self.shown.moved = True
        del self.strays[key]
        self.aside.remove((index, part))
        if part.hidden:
            return self.part(kind)
        part.started, part.sealed = True, None
        part.become(kind)
        return part

    def put_aside(self, index: int, part: PartBuilder) -> None:
        """Keep a part that is found by its index and the type of its deltas."""
        self.shown.moved = True
        self.strays[index, part.delta] = part
        self.aside.append((index, part))

    def at(self, index: int) -> PartBuilder | None:
        """The part of that index."""
        return self.parts[index] if 0 <= index < len(self.parts) else self._stray(index)

    def _stray(self, index: int) -> PartBuilder | None:
        """The part of any kind that was last put aside under that index."""
        return next((part for place, part in reversed(self.aside) if place == index), None)

    def show_anew(self) -> None:
        """Forget what snapshots showed; the next one builds everything."""
        self.shown = ShownChoice()
        for part in (*self.parts, *self.calls.values(), *self.strays.values(), *(part for _, part in self.aside)):
            part.dirty = self.shown.dirty

    def oldest_open(self) -> PartBuilder | None:
        """The first part that has not ended."""
        parts = self.parts
        while self.oldest < len(parts) and not parts[self.oldest].open:
            self.oldest += 1
        return parts[self.oldest] if self.oldest < len(parts) else None

    def finish(self, reason: FinishReason, native: str | None) -> None:
        """A reason to stop was said; without a word, the word before it stands."""
        said = self.finishes
        new = (reason, native or (said[-1][1] if said else None))
        if said and said[-1] == new:
            return
        if new in said[1:]:
            del said[said.index(new, 1)]
        said.append(new)

    def annotate(self, items: tuple[dict[str, Any], ...], index: int | None) -> None:
        """Add the annotations that are no exact repeats: of the part at *index*, or of none."""
        place = len(self.parts) if index is None else index + 1
        for item in items:
            key = _json.identity(item)
            if key not in self.seen:
                self.annotations.append(item)
            self.seen[key] = min(place, self.seen.get(key, place))

    def forget_from(self, index: int) -> None:
        """Drop the parts from that index on, and why they stopped; all else too if none is left."""
        self.shown.moved = True
        self.shown.facts = {}
        self.finishes.clear()
        if 0 < index == len(self.parts) and not (self.aside or self.strays):
            return  # the next of any number of runs or steps, which takes nothing back
        del self.parts[index:]
        self.aside = [entry for entry in self.aside if entry[0] < index]
        self.strays = {key: part for key, part in self.strays.items() if key[0] < index}
        left = set(self.all_parts())
        self.calls = {id_: part for id_, part in self.calls.items() if part in left}
        self.oldest = min(self.oldest, index)
        if index == 0:
            self.logprobs.clear()
            self.annotations.clear()
            self.seen.clear()
        elif self.annotations:
            # One of no part that came before the next part began may be of what stays.
            stay = [place <= index for place in self.seen.values()]
            self.annotations = list(compress(self.annotations, stay))
            self.seen = dict(compress(self.seen.items(), stay))

    def all_parts(self) -> list[PartBuilder]:
        """Every part once, those that were put aside last."""
        parts = self.parts
        if self.aside:
            parts = parts + [part for _, part in sorted(self.aside, key=lambda entry: entry[0])]
        return list(dict.fromkeys(parts)) if self.aliased else parts


class ResponseBuilder:
    """A response in the making, and the settings that it is made by."""

    __slots__ = (
        "_kinds", "_listed", "choices", "closings", "depth", "ended", "error", "extra", "facts", "policy",
        "provider_error", "shown", "stopped", "usage",
    )  # fmt: skip

    def __init__(self, policy: Policy | None = None, limits: Limits | None = None) -> None:
        self.policy = given_or(DEFAULT_POLICY, policy, "policy", "a chunkfold.Policy")
        self.depth = given_or(DEFAULT_LIMITS, limits, "limits", "chunkfold.Limits").json_depth
        self.ended: Ended | None = None
        self.error: StreamError | None = None
        self.provider_error = False
        self.begin()

    def begin(self) -> None:
        """Be the response to a new request, maybe to another model: nothing stands of what the one before said."""
        self.choices: dict[int, ChoiceBuilder] = {}
        # What is said once, by its names.
        self.facts: dict[str, Any] = {}
        self.extra = Fields()
        # What was odd, and how often each kind of it.
        self._listed: list[Diagnostic] = []
        self._kinds: dict[str, int] = {}
        self.usage: Usage | None = None
        # So many parts have ended; and what the last stop closed, if it closed one, with its choice.
        self.closings = 0
        self.stopped: tuple[int, PartBuilder] | None = None
        self.shown = ShownResponse()

    @property
    def is_lenient(self) -> bool:
        """True if nothing is asked for but what is the default."""
        return self.policy is DEFAULT_POLICY or self.policy == DEFAULT_POLICY

    def show_anew(self) -> None:
        """Forget what snapshots showed; the next one builds everything."""
        self.shown = ShownResponse()
        for choice in self.choices.values():
            choice.show_anew()

    def choice(self, index: int) -> ChoiceBuilder:
        """The choice of that index, a new one if there is none."""
        choice = self.choices.get(index)
        if choice is None:
            choice = self.choices[index] = ChoiceBuilder()
        return choice

    def in_order(self) -> list[tuple[int, ChoiceBuilder]]:
        """The choices by their indices; where the provider failed there is one, so that the reason has a place."""
        choices = self.choices
        if self.provider_error and 0 not in choices:
            choices = {**choices, 0: ChoiceBuilder()}  # not kept: the error may be taken back
        return sorted(choices.items())

    def close(self, part: PartBuilder) -> None:
        """The part has ended."""
        if part.open:
            self.closings += 1
            part.closed = self.closings
        part.open, part.delta = False, None
        part.touch()

    @property
    def diagnostics(self) -> list[Diagnostic]:
        """What was odd: of each kind the first ones, and how many more there were."""
        more = [(kind, count - _LISTED) for kind, count in self._kinds.items() if count > _LISTED]
        return [*self._listed, *(Diagnostic("not_listed", detail=f"{count} more of {kind}") for kind, count in more)]

    def note(self, kind: str, detail: str, choice: int | None = None, index: int | None = None) -> None:
        """Tell of something odd."""
        self.diagnose(Diagnostic(kind, None, choice, index, detail))

    def diagnose(self, diagnostic: Diagnostic) -> None:
        """Keep what was odd, unless there was so much of its kind that it would grow beyond the message."""
        count = self._kinds[diagnostic.kind] = self._kinds.get(diagnostic.kind, 0) + 1
        if count <= _LISTED:
            self._listed.append(diagnostic)
