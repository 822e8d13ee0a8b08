"""
The upper half: events in, the response out. It knows neither bytes nor providers.

Text is collected in pieces and joined when it is looked at; arguments are parsed once, when a call is sealed. What a
finish reason means in the light of the content (a plain stop with calls, a refusal) is decided here, at the end. What
the policy makes of doubtful things stands in `_judgement`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold import _json
from chunkfold._judgement import Candidate, chosen_finish, judge_parts, merged_usage
from chunkfold._shown import Shown
from chunkfold._wording import described, given_or
from chunkfold.errors import PolicyError
from chunkfold.events import (
    Annotations,
    ArgumentsFieldDone,
    ArgumentsPathDelta,
    DataDelta,
    DiagnosticEvent,
    ErrorEvent,
    Event,
    Extra,
    Finish,
    Logprobs,
    MessageReset,
    MessageStart,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    Ping,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    TextFieldDone,
    TextPathDelta,
    ToolArgumentsDelta,
    UnknownEvent,
    UsageUpdate,
)
from chunkfold.limits import DEFAULT_LIMITS
from chunkfold.parts import (
    CLASSES,
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from chunkfold.policy import DEFAULT_POLICY
from chunkfold.response import Choice, Diagnostic, Response, StreamError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from chunkfold.limits import Limits
    from chunkfold.partial_json import PartialJSON
    from chunkfold.parts import Kind, Part, ToolCallStatus
    from chunkfold.policy import Policy
    from chunkfold.response import Ended, FinishReason

__all__ = ["StreamAccumulator"]

# Pieces are joined when there are this many: short strings cost ten times their text in memory.
_MANY = 2048
# In so many steps a text is joined: more cost time where memory cannot grow in place, fewer cost memory. CPython lets
# a text that only one local variable holds grow in place, once it has seen a loop go round a few times.
_JOINS = 32

_CALLS = ("tool_call", "server_tool_call")
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
    "image": _MEDIA,
    "audio": _MEDIA,
    "file": _MEDIA,
}


# The event that brings more to a part of a kind. An event of another type, or one to a part that has ended, is looked
# at twice.
_DELTA_OF: dict[str, type] = {
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


class _PartBuilder:
    """A part in the making."""

    __slots__ = (
        "annotations", "built", "chunks", "closed", "control", "delta", "dirty", "extra", "fields", "hidden", "kind",
        "noted", "open", "pieces", "place", "reader", "sealed", "seen", "started",
    )  # fmt: skip

    def __init__(self, kind: Kind, dirty: list[_PartBuilder], *, started: bool = True) -> None:
        self.started = started
        # Where to report that something has come, and the place in the last snapshot.
        self.dirty = dirty
        self.place = 0
        # What reads the arguments while they come, if anything does.
        self.reader: PartialJSON[Any] | None = None
        # Not for the response: a preview, or what the policy drops.
        self.hidden = False
        self.noted = False
        self.control: dict[str, Any] = {}
        self.begin(kind)

    def begin(self, kind: Kind) -> None:
        """Be a new part of that kind, with nothing in it."""
        self.kind = kind
        self.open = True
        # The type of the events that bring more; `None` when the part has ended.
        self.delta: type | None = _DELTA_OF.get(kind)
        # The how-manieth part it was to end; 0 while it has not.
        self.closed = 0
        self.pieces: list[Any] = []
        self.chunks: list[Any] = []
        # Fields of the part but text and extra.
        self.fields: dict[str, Any] = {}
        self.extra: dict[str, Any] = {}
        self.annotations: list[dict[str, Any]] = []
        self.seen: set[str] = set()
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


class _ChoiceBuilder:
    """A choice in the making."""

    __slots__ = (
        "aliased", "annotations", "aside", "calls", "finishes", "logprobs", "oldest", "parts", "seen", "shown",
        "strays",
    )  # fmt: skip

    def __init__(self) -> None:
        self.parts: list[_PartBuilder] = []
        # Parts at an index that is not theirs to have: deltas without a start, starts out of the row.
        self.strays: dict[tuple[int, type | None], _PartBuilder] = {}
        self.aside: list[tuple[int, _PartBuilder]] = []
        # The calls by their ids, and whether one of them stands at several places in `parts`.
        self.calls: dict[str, _PartBuilder] = {}
        self.aliased = False
        # No part before this one is open.
        self.oldest = 0
        self.logprobs: list[Any] = []
        self.annotations: list[dict[str, Any]] = []
        self.seen: set[str] = set()
        # Every reason with its native word, once, in order; but the first and the last are so here too.
        self.finishes: list[tuple[FinishReason, str | None]] = []
        self.shown = Shown()

    def part(self, kind: Kind, *, started: bool = True) -> _PartBuilder:
        """A new part, which has no place yet."""
        return _PartBuilder(kind, self.shown.dirty, started=started)

    def put_aside(self, index: int, part: _PartBuilder) -> None:
        """Keep a part that is found by its index and the type of its deltas."""
        self.shown.moved = True
        self.strays[index, part.delta] = part
        self.aside.append((index, part))

    def stray(self, index: int) -> _PartBuilder | None:
        """The part of any kind that was last put aside under that index."""
        return next((part for place, part in reversed(self.aside) if place == index), None)

    def forget_from(self, index: int) -> None:
        """Drop the parts from that index on."""
        self.shown.moved = True
        self.shown.facts = {}
        del self.parts[index:]
        self.aside = [entry for entry in self.aside if entry[0] < index]
        self.strays = {key: part for key, part in self.strays.items() if key[0] < index}
        left = set(self.all_parts())
        self.calls = {id_: part for id_, part in self.calls.items() if part in left}
        self.oldest = min(self.oldest, index)

    def all_parts(self) -> list[_PartBuilder]:
        """Every part once, those that were put aside last."""
        parts = self.parts
        if self.aliased:
            parts = list(dict.fromkeys(parts))
        if self.aside:
            parts = parts + [part for _, part in sorted(self.aside, key=lambda entry: entry[0])]
        return parts


class StreamAccumulator:
    """
    Folds events into a response.

    `observe` takes the events in their order, `snapshot` gives the response so far, `finalize` the complete one. The
    events may come from a `Decoder`, from a journal, or be written by hand.
    """

    def __init__(self, policy: Policy | None = None, limits: Limits | None = None) -> None:
        self._policy = given_or(DEFAULT_POLICY, policy, "policy", "a chunkfold.Policy")
        # By default only calls are judged.
        self._is_lenient = self._policy == DEFAULT_POLICY
        self._depth = given_or(DEFAULT_LIMITS, limits, "limits", "chunkfold.Limits").json_depth
        self._choices: dict[int, _ChoiceBuilder] = {}
        self._facts: dict[str, Any] = {}
        self._extra: dict[str, Any] = _Fields()
        self._diagnostics: list[Diagnostic] = []
        self._usage: Usage | None = None
        self._error: StreamError | None = None
        self._provider_error = False
        self._ended: Ended | None = None
        self._response: Response | None = None
        self._objection: PolicyError | None = None
        self._closings = 0
        # What the last snapshot showed. It stays true until an event comes that is no delta to an open part.
        self._stale = True
        self._shown_facts: dict[str, Any] = {}
        self._shown_order: list[_ChoiceBuilder] = []
        self._shown_choices: list[Any] = []
        self._stopped: _PartBuilder | None = None

    def observe(self, event: Event) -> None:
        """
        Take one event.

        Raises:
            ValueError: After `finalize`.
            TypeError: If it is no event.
        """
        if self._response is not None:
            raise ValueError("observe() after finalize()")
        try:
            handle = _HANDLERS[type(event)]
        except KeyError:
            raise TypeError(f"observe() takes an event, not {described(event)}") from None
        if handle is not _DELTA:
            self._stale = True
        handle(self, event)

    def observe_all(self, events: Iterable[Event]) -> None:
        """Take events that a decoder has just made. The same as taking each."""
        if self._response is not None:
            raise ValueError("observe() after finalize()")
        for event in events:
            handle = _HANDLERS[type(event)]
            if handle is not _DELTA:
                self._stale = True
            handle(self, event)

    def snapshot(self) -> Response:
        """
        The response so far: safe to keep, `ended=None` and calls `open` until the end.

        It costs what has come since the last one, and a pointer for each part.
        """
        if self._response is not None:
            return self._response
        return self._build_open() if self._ended is None else self._build(self._ended)

    def finalize(self) -> Response:
        """
        The complete response. Parts that were not closed are closed now. Asking again gives the same object.

        Raises:
            PolicyError: If the policy calls something that was found an error. It has the whole response.
        """
        response = self.complete()
        if self._objection is not None:
            raise self._objection
        return response

    def complete(self) -> Response:
        """As `finalize`, but what the policy calls an error is left in `objection` instead of raised."""
        if self._response is None:
            if self._ended is None:
                self._end("eof")
            self._response, self._objection = self._judged(self._ended or "eof")
        return self._response

    @property
    def objection(self) -> PolicyError | None:
        """What `finalize` raises; `None` if it raises nothing or the response is not complete."""
        return self._objection

    def as_if_ended(self, ended: Ended = "eof") -> Response:
        """What `complete` would give if the stream ended now. It goes on unchanged."""
        return self._response or self._judged(ended)[0]

    def stopped_part(self) -> Part | None:
        """
        The part that the last `PartStop` closed, as the policy has it; `None` if it closed none that is handed out.
        """
        builder = self._stopped
        if builder is None or builder.hidden:
            return None
        part = builder.built or self._build_part(builder, over=False, cut=False)
        parts = judge_parts([_candidate(part, builder)], self._policy, 0, self._depth, self._facts.get("id")).parts
        return parts[0] if parts else None

    # Deltas

    def _delta(self, event: TextDelta | ReasoningDelta | RefusalDelta | ToolArgumentsDelta) -> None:
        try:
            part = self._choices[event.choice].parts[event.index]
        except (KeyError, IndexError):
            self._stale = True
            part = self._orphan(event, type(event))
        else:
            if part.delta is not type(event):
                self._stale = True
                part = self._misplaced(event, part)
        pieces = part.pieces
        if not pieces:
            part.touch()
        pieces.append(event.text)
        if len(pieces) > _MANY:
            part.compact()

    def _data(self, event: DataDelta) -> None:
        part = self._at(event)
        if not part.hidden:
            part.fields.setdefault("data", []).append(event.data)
            part.touch()

    def sink(self, choice: int, index: int) -> _PartBuilder:
        """The builder that deltas to a part end in, for a caller who has proved that a frame is nothing but one."""
        return self._choices[choice].parts[index]

    def rows(self) -> Iterator[tuple[int, int, _PartBuilder]]:
        """Each part with its choice and its index, in order."""
        for choice in sorted(self._choices):
            for index, part in enumerate(self._choices[choice].parts):
                yield choice, index, part

    def _misplaced(self, event: Any, part: _PartBuilder) -> _PartBuilder:
        """A delta to a part that has ended, or that is of another kind: an orphan, unless the part can go on."""
        kind = type(event)
        late = _DELTA_OF.get(part.kind) is kind
        stray = self._choices[event.choice].strays.get((event.index, kind))
        if stray is not None:
            return stray
        if not late or self._policy.orphans != "keep":
            return self._orphan(event, kind)
        if not part.noted:
            part.noted = True
            self._note("late_delta", f"{event.type} for part {event.index}, which had ended", event.choice, event.index)
        return part

    def _orphan(self, event: Any, delta: type | None) -> _PartBuilder:
        """The part for events that belong to none. By default it is kept, so that nothing is lost."""
        choice = self._choice(event.choice)
        part = choice.strays.get((event.index, delta))
        if part is None:
            part = choice.part(_KIND_OF_EVENT.get(type(event), "unknown"), started=False)
            part.delta = delta
            if self._policy.orphans == "drop":
                part.hide()
            choice.put_aside(event.index, part)
            self._note("orphan_delta", f"{event.type} for part {event.index}, which is not open", event.choice)
        return part

    def _at(self, event: Any) -> _PartBuilder:
        """The part that an event other than a delta is about."""
        choice = self._choice(event.choice)
        index: int = event.index
        if 0 <= index < len(choice.parts):
            return choice.parts[index]
        return choice.stray(index) or self._orphan(event, None)

    # The life of parts

    def _part_start(self, event: PartStart) -> None:
        choice = self._choice(event.choice)
        parts = choice.parts
        is_call = event.kind in _CALLS
        part = self._earlier(choice, event) if is_call else None
        if part is None:
            part = self._claimed(choice, event) if choice.strays else choice.part(event.kind)
        if event.index == len(parts):
            parts.append(part)
        else:
            choice.put_aside(event.index, part)
        if is_call and event.id is not None:
            choice.calls[event.id] = part
        fields = part.fields
        if is_call:
            fields.update(id=event.id, name=event.name or fields.get("name"), type=event.tool_type or "function")
            fields["server_side"] = event.kind == "server_tool_call"
        elif event.kind == "server_tool_result":
            fields.update(call_id=event.id, name=event.name)
        elif event.kind == "unknown":
            fields["name"] = event.name or ""
        elif event.id is not None and event.kind not in ("reasoning", "refusal"):
            fields["id"] = event.id
        elif event.id is not None and event.kind == "reasoning":
            part.extra["id"] = event.id
        part.carry(event.extra)
        part.touch()
        if "stream_only" in part.control or (event.kind == "reasoning" and self._policy.reasoning == "drop"):
            part.hide()

    def _earlier(self, choice: _ChoiceBuilder, event: PartStart) -> _PartBuilder | None:
        """The call that a start with a known id goes on with, if the policy has it so."""
        part = choice.calls.get(event.id) if event.id is not None else None
        if part is None or self._policy.duplicate_start == "new":
            return None
        choice.aliased = True
        choice.oldest = 0
        self._note("duplicate_start", f"the id of part {event.index} came before", event.choice, event.index)
        if self._policy.duplicate_start == "replace":
            part.begin(event.kind)
        part.open, part.delta, part.sealed = True, _DELTA_OF.get(part.kind), None
        return part

    def _claimed(self, choice: _ChoiceBuilder, event: PartStart) -> _PartBuilder:
        """The part of deltas that came before their start."""
        key = (event.index, _DELTA_OF.get(event.kind))
        part = choice.strays.get(key)
        if part is None or part.started:
            return choice.part(event.kind)
        choice.shown.moved = True
        del choice.strays[key]
        choice.aside.remove((event.index, part))
        if part.hidden:
            return choice.part(event.kind)
        part.started, part.kind = True, event.kind
        return part

    def _part_update(self, event: PartUpdate) -> None:
        part = self._at(event)
        if event.id:
            if part.kind == "server_tool_result":
                part.fields["call_id"] = event.id
            elif part.kind in ("reasoning", "refusal", "unknown"):
                part.extra["id"] = event.id
            elif part.kind not in _CALLS or not part.fields.get("id") or self._policy.id_merge == "last":
                part.fields["id"] = event.id
                self._choice(event.choice).calls[event.id] = part
        if event.name:
            part.fields["name"] = self._merged_name(part.fields.get("name"), event.name)
        if event.signature:
            if part.kind in ("text", "reasoning"):
                part.fields["signature"] = event.signature
            else:
                part.extra["signature"] = event.signature
        part.carry(event.extra)
        part.touch()

    def _merged_name(self, before: str | None, name: str) -> str:
        """The name when another came. A dialect tells the whole name, pieces joined."""
        how = self._policy.name_merge
        if not before or how == "join":
            return name
        return before if how == "first" else name.removeprefix(before) or before

    def _part_replace(self, event: PartReplace) -> None:
        """What is stated whole replaces text and what it says; what it leaves unsaid stays."""
        part, new = self._at(event), event.part
        part.touch()
        part.sealed = None
        if part.kind != new.kind:
            self._choice(event.choice).shown.moved = True
            part.kind = new.kind
            part.fields = {}
            part.delta = _DELTA_OF.get(new.kind) if part.open else None
        if part.hidden:
            return
        part.pieces, part.chunks = [], []
        defaults = type(new)()
        for name in new.__struct_fields__:
            value = getattr(new, name)
            if name in ("text", "raw_arguments"):
                part.pieces = [value] if value else []
            elif name == "extra":
                part.extra.update(value)
            elif name == "payload":
                part.extra = value if isinstance(value, dict) else {"value": value}
            elif name == "annotations" and value:
                part.annotations, part.seen = [], set()
                _extend_unlike(part.annotations, part.seen, value)
            elif name == "data":
                part.fields["data"] = [value] if value is not None else part.fields.get("data", [])
            elif name != "status" and value != getattr(defaults, name):
                part.fields[name] = value

    def _part_stop(self, event: PartStop) -> None:
        choice = self._choice(event.choice)
        parts, index = choice.parts, event.index
        part: _PartBuilder | None
        if index is None:
            while choice.oldest < len(parts) and not parts[choice.oldest].open:
                choice.oldest += 1
            part = parts[choice.oldest] if choice.oldest < len(parts) else None
        elif 0 <= index < len(parts):
            part = parts[index]
        else:
            part = choice.stray(index)
        self._stopped = part if part is not None and part.open else None
        if part is None:
            self._note("orphan_stop", f"stop of part {index}, which is not open", event.choice)
            return
        if part.open:
            self._closings += 1
            part.closed = self._closings
        part.open = False
        part.delta = None
        part.touch()

    def _unknown(self, event: UnknownEvent) -> None:
        choice = self._choice(0)
        part = choice.part("unknown")
        self._closings += 1
        part.open, part.closed = False, self._closings
        part.built = UnknownPart(event.name, event.payload)
        choice.parts.append(part)

    def _reset(self, event: MessageReset) -> None:
        """Drop what the server took back. Usage stays, those tokens were spent; but not that of another request."""
        if event.reason == "attempt" and event.from_part == 0:
            self._begin_anew()
        for choice in self._choices.values():
            choice.forget_from(event.from_part)
            if event.from_part == 0:
                choice.logprobs.clear()
                choice.annotations.clear()
                choice.seen.clear()
            choice.finishes.clear()
        if event.from_part == 0:
            self._facts = {key: value for key, value in self._facts.items() if key in ("dialect", "vendor")}
        if event.reason == "attempt":
            self._error, self._provider_error = None, False

    def _begin_anew(self) -> None:
        """Another request is made, maybe to another model: nothing stands of what the first one said."""
        self._choices, self._facts, self._extra, self._diagnostics = {}, {}, _Fields(), []
        self._usage, self._stopped, self._closings = None, None, 0
        self._shown_facts, self._shown_order, self._shown_choices = {}, [], []

    # Facts

    def _message_start(self, event: MessageStart) -> None:
        for name in event.__struct_fields__:
            value = getattr(event, name)
            if value is not None and name not in self._facts:
                self._facts[name] = value

    def _annotations(self, event: Annotations) -> None:
        choice = self._choice(event.choice)
        if event.index is not None:
            part = self._at(event)
            _extend_unlike(part.annotations, part.seen, event.items)
            part.touch()
        _extend_unlike(choice.annotations, choice.seen, event.items)

    def _logprobs(self, event: Logprobs) -> None:
        self._choice(event.choice).logprobs.extend(event.items)

    def _usage_update(self, event: UsageUpdate) -> None:
        self._usage = merged_usage(self._usage, event.usage, self._policy)

    def _finish(self, event: Finish) -> None:
        said = self._choice(event.choice).finishes
        new = (event.reason, event.native or (said[-1][1] if said else None))
        if said and said[-1] == new:
            return
        if new in said[1:]:
            said.remove(new) if said[0] != new else said.pop(said.index(new, 1))
        said.append(new)

    def _error_event(self, event: ErrorEvent) -> None:
        """The first error stands, but a provider's word goes before our own."""
        if self._error is None or (event.error.origin == "provider" and not self._provider_error):
            self._error = event.error
        if event.error.origin == "provider":
            self._provider_error = True

    def _extra_event(self, event: Extra) -> None:
        target: Any = self._extra
        path, value = event.path, event.value
        step: Any = None
        for following in path:
            if step is not None:
                known = target.get(step)
                if type(known) is not (_Items if following == "-" else _Fields):
                    # Nothing is there yet; or what a server sent, which is not ours to change; or a shape that nobody
                    # documents.
                    if following == "-":
                        known = _Items(known if isinstance(known, list) else ())
                    else:
                        known = _Fields(known if isinstance(known, dict) else {})
                    target[step] = known
                target = known
            step = following if type(following) is str else _step(following)
        if type(target) is _Items:
            target.append(value)
        elif value or value is False or value == 0 or not target.get(step):
            # What says nothing replaces nothing.
            target[step] = value

    def _diagnostic(self, event: DiagnosticEvent) -> None:
        self._diagnostics.append(event.diagnostic)

    def _nothing(self, event: Event) -> None:
        """An event that adds nothing to the response."""

    def _stop(self, event: MessageStop) -> None:
        self._end(event.ended)

    def _end(self, ended: Ended) -> None:
        """Nothing more comes: calls are judged anew, now that it is known whether the stream was cut."""
        self._ended = ended
        for choice in self._choices.values():
            for part in choice.all_parts():
                if part.kind in _CALLS:
                    part.built = None

    # The response

    def _choice(self, index: int) -> _ChoiceBuilder:
        choice = self._choices.get(index)
        if choice is None:
            choice = self._choices[index] = _ChoiceBuilder()
        return choice

    def _note(self, kind: str, detail: str, choice: int | None = None, index: int | None = None) -> None:
        self._diagnostics.append(Diagnostic(kind, None, choice, index, detail))

    def _build_open(self) -> Response:
        """As `_build` while the stream is open, from what the last snapshot left."""
        if self._stale:
            self._restate()
        choices = self._shown_choices
        for place, builder in enumerate(self._shown_order):
            shown = builder.shown
            if shown.dirty or shown.choice is None:
                choices[place] = None
                choices[place] = shown.make(builder, self._build_part)
        return Response(choices=tuple(choices), **self._shown_facts)

    def _restate(self) -> None:
        """Something has come beside deltas: state anew all but the parts."""
        self._stale = False
        facts = self._facts
        if self._provider_error:
            self._choice(0)  # so that the finish reason has a place
        before = self._shown_facts.get("diagnostics", ())
        count = len(self._diagnostics)
        self._shown_facts = {
            **{name: facts.get(name) for name in ("id", "model", "created", "dialect", "vendor")},
            "usage": self._usage,
            "error": self._error,
            "diagnostics": before if len(before) == count else tuple(self._diagnostics),
            "extra": _copied(self._extra),
        }
        indices = sorted(self._choices)
        self._shown_order = [self._choices[index] for index in indices]
        self._shown_choices = [None] * len(indices)
        for place, index in enumerate(indices):
            self._shown_choices[place] = self._restate_choice(index, self._choices[index])

    def _restate_choice(self, index: int, builder: _ChoiceBuilder) -> Choice:
        shown = builder.shown
        reason = native = None
        if builder.finishes or self._provider_error:
            stands = chosen_finish(builder.finishes, self._policy)
            reason, native = self._reason(builder, None), stands[1] if stands else None
        logprobs, annotations = shown.facts.get("logprobs", ()), shown.facts.get("annotations", ())
        facts = {
            "index": index,
            "finish_reason": reason,
            "native_finish_reason": native,
            "logprobs": logprobs if len(logprobs) == len(builder.logprobs) else tuple(builder.logprobs),
            "annotations": annotations if len(annotations) == len(builder.annotations) else tuple(builder.annotations),
            "role": self._facts.get("role") or "assistant",
        }
        # By identity: comparing would cost time in proportion to the log-probabilities.
        if any(value is not shown.facts.get(name) for name, value in facts.items()):
            shown.facts, shown.choice = facts, None
        return shown.make(builder, self._build_part)

    def _build(self, ended: Ended | None) -> Response:
        """The response as the stream has it, but for what is hidden."""
        truncated = ended is not None and self._is_truncated(ended)
        if self._provider_error:
            self._choice(0)  # so that the finish reason has a place
        choices = [
            self._build_choice(index, [part for part, _ in self._built(index, ended, truncated)], ended)
            for index in sorted(self._choices)
        ]
        return self._response_of(choices, ended, truncated, self._error, self._diagnostics)

    def _response_of(
        self,
        choices: list[Choice],
        ended: Ended | None,
        truncated: bool,
        error: StreamError | None,
        diagnostics: list[Diagnostic],
    ) -> Response:
        facts = self._facts
        return Response(
            choices=tuple(choices),
            usage=self._usage,
            ended=ended,
            truncated=truncated,
            error=error,
            id=facts.get("id"),
            model=facts.get("model"),
            created=facts.get("created"),
            dialect=facts.get("dialect"),
            vendor=facts.get("vendor"),
            diagnostics=tuple(diagnostics),
            extra=_copied(self._extra),
        )

    def _judged(self, ended: Ended) -> tuple[Response, PolicyError | None]:
        """The response as the policy has it, and what the policy calls an error."""
        policy = self._policy
        truncated = self._is_truncated(ended)
        if self._provider_error:
            self._choice(0)  # so that the finish reason has a place
        choices: list[Choice] = []
        unusable: list[ToolCall] = []
        diagnostics = list(self._diagnostics)
        for index in sorted(self._choices):
            if index and policy.choices == "first":
                continue
            built = self._built(index, ended, truncated)
            if self._is_lenient and not any(type(part) is ToolCall for part, _ in built):
                choices.append(self._build_choice(index, [part for part, _ in built], ended))
                continue
            candidates = [_candidate(part, builder) for part, builder in built]
            verdict = judge_parts(candidates, policy, index, self._depth, self._facts.get("id"))
            choices.append(self._build_choice(index, list(verdict.parts), ended))
            unusable += verdict.unusable
            diagnostics += verdict.diagnostics
        gathered = self._choices.values()
        error = self._error
        empty = error is None and not any(choice.parts or choice.aside or choice.finishes for choice in gathered)
        if not any(choice.index == 0 for choice in choices):
            reason = self._reason(_ChoiceBuilder(), ended)
            if empty and policy.empty_stream == "stop":
                reason = "stop"
            if reason is not None:
                choices.insert(0, Choice(finish_reason=reason))
        if empty and policy.empty_stream == "error":
            error = StreamError("empty_stream", "nothing came", retryable=True, origin="decoder")
        response = self._response_of(choices, ended, truncated, error, diagnostics)
        return response, self._objection_to(response, unusable, empty, ended)

    def _objection_to(
        self, response: Response, unusable: list[ToolCall], empty: bool, ended: Ended
    ) -> PolicyError | None:
        """What the policy calls an error. A response that was cancelled is nobody's concern."""
        policy = self._policy
        reasons = []
        if empty and policy.empty_stream != "none":
            if policy.empty_stream == "raise":
                reasons.append("nothing came")
        elif policy.missing_finish == "raise" and not self._provider_error:
            gathered = self._choices.values()
            if not gathered or any(not choice.finishes for choice in gathered):
                reasons.append("the server never said why it stopped")
        if unusable:
            reasons.append("unusable tool calls")
        if not reasons or ended == "cancelled":
            return None
        return PolicyError(response, unusable, "; ".join(reasons))

    def _is_truncated(self, ended: Ended) -> bool:
        """The server said that it was done by an end mark, by an error, or by a reason for each choice."""
        if ended == "clean" or self._provider_error:
            return False
        choices = self._choices.values()
        return not choices or any(not choice.finishes for choice in choices)

    def _built(self, index: int, ended: Ended | None, truncated: bool) -> list[tuple[Part, _PartBuilder]]:
        """The parts of a choice with what made them."""
        choice = self._choices[index]
        stands = chosen_finish(choice.finishes, self._policy)
        cut = truncated or (stands is not None and stands[0] == "length") or self._error is not None
        over = ended is not None
        hypothetical = over and self._ended is None
        out: list[tuple[Part, _PartBuilder]] = []
        for part in choice.all_parts():
            if part.hidden:
                continue
            if hypothetical and part.kind in _CALLS:
                out.append((self._build_call(part, over, cut), part))
            else:
                out.append((part.built or self._build_part(part, over, cut), part))
        return out

    def _build_choice(self, index: int, parts: list[Part], ended: Ended | None) -> Choice:
        choice = self._choices[index]
        stands = chosen_finish(choice.finishes, self._policy)
        return Choice(
            index=index,
            parts=tuple(parts),
            finish_reason=self._reason(choice, ended),
            native_finish_reason=stands[1] if stands else None,
            logprobs=tuple(choice.logprobs),
            annotations=tuple(choice.annotations),
            role=self._facts.get("role") or "assistant",
        )

    def _reason(self, choice: _ChoiceBuilder, ended: Ended | None) -> FinishReason | None:
        """The server's reason, in the light of what came: only a plain stop is ever changed, and by an error all."""
        if self._provider_error:
            return "error"
        policy = self._policy
        stands = chosen_finish(choice.finishes, policy)
        reason = stands[0] if stands else None
        if stands is None and ended is not None:
            if policy.missing_finish == "stop" or (policy.missing_finish == "stop_if_clean" and ended == "clean"):
                reason = "stop"
        if reason == "stop" and policy.infer_finish:
            kinds = {part.kind for part in choice.all_parts() if part.kind != "unknown"}
            if "tool_call" in kinds:
                return "tool_calls"
            if "refusal" in kinds and not any(part.text() for part in choice.parts if part.kind == "text"):
                return "refusal"
        return reason

    def _build_part(self, part: _PartBuilder, over: bool = False, cut: bool = False) -> Part:
        fields, kind = part.fields, part.kind
        built: Part
        if kind == "text":
            text = part.text()
            if not (fields or part.annotations or part.extra):
                built = TextPart(text)
            else:
                built = TextPart(text, annotations=tuple(part.annotations), extra=dict(part.extra), **fields)
        elif kind == "reasoning":
            built = ReasoningPart(text=part.text(), extra=dict(part.extra), **fields)
        elif kind == "refusal":
            built = RefusalPart(part.text())
        elif kind in _CALLS:
            built = self._build_call(part, over, cut)
        elif kind == "server_tool_result":
            built = ToolResult(extra=dict(part.extra), **fields)
        elif kind == "unknown":
            built = UnknownPart(fields.get("name", ""), dict(part.extra))
        else:
            built = self._build_media(part)
        part.built = built
        return built

    def _build_media(self, part: _PartBuilder) -> ImagePart | AudioPart | FilePart:
        fields = dict(part.fields)
        pieces = fields.pop("data", None)
        data = b"".join(pieces) if pieces else None
        if pieces and len(pieces) > 1:
            part.fields["data"] = [data]
        text = part.text()
        if text:
            fields["transcript"] = text
        cls: Callable[..., ImagePart | AudioPart | FilePart] = CLASSES[part.kind]
        return cls(data=data, extra=dict(part.extra), **fields)

    def _build_call(self, part: _PartBuilder, over: bool, cut: bool) -> ToolCall:
        raw = part.text()
        fields = part.fields
        status: ToolCallStatus = "open"
        if over or not part.open:
            if not raw and part.control:
                raw = part.start_arguments() or ""
            if part.sealed is None or part.sealed[1] != len(raw):
                part.sealed = (self._seal(raw, fields.get("type") == "custom"), len(raw))
            status = part.sealed[0]
            if status == "invalid" and cut and over:
                status = "truncated"
        call = ToolCall(raw_arguments=raw, status=status, extra=dict(part.extra), **fields)
        if part.reader is not None:
            call.__dict__["reader"] = part.reader
        return call

    def _seal(self, raw: str, is_text: bool) -> ToolCallStatus:
        """Judge the argument text, once."""
        if is_text:
            return "complete"
        if not raw.strip(" \t\r\n"):
            return "empty"
        return "complete" if _json.is_object(raw, self._depth) else "invalid"


def _step(step: str | int) -> str:
    """A step of a path as the key that it is kept under; an index may have thousands of digits."""
    return step if isinstance(step, str) else "0" if step == 0 else _json.encode(step)


def _candidate(part: Part, builder: _PartBuilder) -> Candidate:
    return Candidate(
        part,
        builder.started,
        builder.closed,
        bool(builder.pieces or builder.chunks),
        builder.start_arguments(),
        "expects_arguments" in builder.control,
    )


def _extend_unlike(items: list[dict[str, Any]], seen: set[str], new: tuple[dict[str, Any], ...]) -> None:
    """Add the items that are no exact repeats."""
    for item in new:
        key = _json.encode(item)
        if key not in seen:
            seen.add(key)
            items.append(item)


class _Fields(dict[str, Any]):
    """An object that grows by events. What an event brought is a plain dict and stays as it is."""


class _Items(list[Any]):
    """A list that grows by events."""


def _copied(value: Any) -> Any:
    """A copy of the containers that grow, so that a snapshot stays what it was."""
    if type(value) is _Fields:
        return {key: _copied(item) for key, item in value.items()}
    return list(value) if type(value) is _Items else value


_KIND_OF_EVENT: dict[type, Kind] = {
    TextDelta: "text",
    ReasoningDelta: "reasoning",
    RefusalDelta: "refusal",
    ToolArgumentsDelta: "tool_call",
    DataDelta: "file",
}

_DELTA = StreamAccumulator._delta
_HANDLERS: dict[type, Callable[[StreamAccumulator, Any], None]] = {
    MessageStart: StreamAccumulator._message_start,
    PartStart: StreamAccumulator._part_start,
    TextDelta: StreamAccumulator._delta,
    ReasoningDelta: StreamAccumulator._delta,
    RefusalDelta: StreamAccumulator._delta,
    ToolArgumentsDelta: StreamAccumulator._delta,
    DataDelta: StreamAccumulator._data,
    PartUpdate: StreamAccumulator._part_update,
    PartReplace: StreamAccumulator._part_replace,
    PartStop: StreamAccumulator._part_stop,
    Annotations: StreamAccumulator._annotations,
    Logprobs: StreamAccumulator._logprobs,
    UsageUpdate: StreamAccumulator._usage_update,
    Finish: StreamAccumulator._finish,
    MessageReset: StreamAccumulator._reset,
    ErrorEvent: StreamAccumulator._error_event,
    Ping: StreamAccumulator._nothing,
    ArgumentsPathDelta: StreamAccumulator._nothing,
    ArgumentsFieldDone: StreamAccumulator._nothing,
    TextPathDelta: StreamAccumulator._nothing,
    TextFieldDone: StreamAccumulator._nothing,
    UnknownEvent: StreamAccumulator._unknown,
    Extra: StreamAccumulator._extra_event,
    DiagnosticEvent: StreamAccumulator._diagnostic,
    MessageStop: StreamAccumulator._stop,
}
