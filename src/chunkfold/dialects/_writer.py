"""
What dialects write their events with: it knows which part every fragment belongs to.

The numbering of parts and their ends are here; which call a fragment is of (`_calls`), what of a text that is sent as
a whole is new (`_whole_texts`), `<think>` tags (`_think`), halves of characters (`_halves`) and what is news for the
native body (`_native_fields`) are each known by a module of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from chunkfold.dialects import _calls, _halves, _think, _usage, _whole_texts
from chunkfold.dialects._arguments import ObjectScanner
from chunkfold.dialects._native_fields import NativeFields
from chunkfold.dialects._slots import CALLS, Slot, Table, hashable
from chunkfold.dialects._words import finish_reason, is_blank, is_real, listed, reason_behind, text_or_none
from chunkfold.events import (
    Annotations,
    DataDelta,
    DiagnosticEvent,
    ErrorEvent,
    Event,
    Extra,
    Finish,
    Logprobs,
    MessageReset,
    MessageStart,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    Ping,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolArgumentsDelta,
    UnknownEvent,
    UsageUpdate,
)
from chunkfold.parts import ToolCall
from chunkfold.response import Diagnostic, StreamError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from chunkfold.limits import Limits
    from chunkfold.parts import Kind, Part
    from chunkfold.response import FinishReason

__all__ = ["DELTAS", "Writer"]

DELTAS: Final[dict[str, Callable[[int, int, str], Event]]] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "refusal": RefusalDelta,
    "tool_call": ToolArgumentsDelta,
    "server_tool_call": ToolArgumentsDelta,
    "audio": TextDelta,  # its transcript
}


class Writer:
    """
    Writes events into `out`.

    A dialect without part numbers calls `append` and `call`; one that numbers its blocks calls `start`, `slot`,
    `delta` and `stop`.
    """

    def __init__(self, limits: Limits, *, split_think_tags: bool = False) -> None:
        self.out: list[Event] = []
        self.frame = 0
        self.finished = 0  # how often a reason was stated
        self.errored = False
        self.is_whole = False  # a payload was a body that was not streamed
        # Texts may hold halves of surrogate pairs: set where a payload was not read by the strict decoder.
        self.careful = False
        self.splits_think_tags = split_think_tags
        # What the payload says hangs on more than the text of its delta: no other can be read by its likeness.
        self.singular = False
        # Each text is taken for the whole text so far, and whether the caller said so: then nobody need find it out.
        self.cumulative = False
        self.cumulative_is_asked = False
        self.json_depth = limits.json_depth
        self.table = Table(limits)
        self._name: str | None = None
        self._words: Mapping[str, str] = {}
        self._facts: dict[str, Any] = {}
        self._fields = NativeFields()
        self._usage_raw: dict[str, Any] = {}
        self._error: StreamError | None = None

    def speak(self, name: str, words: Mapping[str, str], *, cumulative: bool | None = None) -> None:
        """
        The dialect is known: its name, its own finish reasons, and whether its texts are the whole text so far (`None`:
        as before).
        """
        self._name = name
        self._words = words
        if cumulative is not None:
            self.cumulative = cumulative

    def is_plain(self, choice: int, index: int, *, is_new: bool = False) -> bool:
        """
        True if deltas to that part are written as they come: frames equal around other text mean the same. *is_new*:
        the frame opened the part, which those after it must not do.
        """
        if self.splits_think_tags or self.cumulative or self.careful or self.singular:
            return False
        state = self.table.choices[choice]
        slot = state.slots[index]
        if slot.scanner is not None or slot.half or (is_new and not slot.goes_on):
            return False
        # What is opened by text ends where something else becomes current.
        return state.current is slot or not slot.goes_on

    # Facts about the message

    def message(
        self,
        *,
        id: Any = None,
        model: Any = None,
        created: Any = None,
        role: Any = None,
        vendor: str | None = None,
    ) -> None:
        """State facts of the message. The first real value of each stands; nothing is written if none is new."""
        facts = self._facts
        if facts and (not id or "id" in facts) and (not model or "model" in facts):
            if (not created or "created" in facts) and (not role or "role" in facts):
                if not vendor or "vendor" in facts:
                    return
        given = (("id", id), ("model", model), ("role", role), ("vendor", vendor))
        new: dict[str, Any] = {
            key: value for key, value in given if value and isinstance(value, str) and key not in facts
        }
        if created and type(created) in (int, float, str) and "created" not in facts:
            new["created"] = created
        if new or not facts:
            facts.update(new, dialect=self._name)
            self.out.append(MessageStart(**new, dialect=self._name))

    def introduce(self, at: int) -> None:
        """State the dialect at that place in `out`, if no fact of the message has been stated yet."""
        if not self._facts:
            self._facts["dialect"] = self._name
            self.out.insert(at, MessageStart(dialect=self._name))

    def fact(self, name: str) -> Any:
        """A fact of the message; `None` if it was not stated."""
        return self._facts.get(name)

    @property
    def has_usage(self) -> bool:
        """True if a usage object was stated."""
        return bool(self._usage_raw)

    def usage(self, raw: Any, normalise: Callable[[dict[str, Any]], Usage] = _usage.chat_usage) -> None:
        """Take the numbers of a usage object; write the usage if it says something new."""
        if not isinstance(raw, dict) or not raw:
            return
        merged = _usage.merge(self._usage_raw, raw)
        if merged == self._usage_raw:
            return
        self._usage_raw = merged
        self.out.append(UsageUpdate(normalise(merged)))

    def finish(self, choice: int, native: Any, reason: FinishReason | None = None) -> None:
        """
        State the provider's reason, if it is a real word. The same one twice in a row is stated once.

        *reason* is ours where it follows from more than the word, or where an event says it without any word.
        """
        native = native if is_real(native) else None
        if native is None and reason is None:
            return
        reason = reason or finish_reason(native, self._words)
        state = self.table.choice(choice)
        self.finished += 1
        if state.finish != (reason, native):
            state.finish = (reason, native)
            self.out.append(Finish(choice, reason, native))

    def finish_at(self, choice: int, native: Any, *path: str | int, behind: Any = None) -> None:
        """
        As `finish`, but what is no word is kept at *path* for the native body. *behind* is the word of the provider
        behind a gateway.
        """
        self.finish(choice, native, reason_behind(native, behind, self._words))
        if native is not None and native != "" and not is_real(native):
            self.extra(path, native)

    def error(self, error: StreamError) -> None:
        """State an error; the same one twice in a row is stated once."""
        self.singular = True  # the error holds the payload
        if not (self.errored and self._error == error):
            self._error = error
            self.out.append(ErrorEvent(error))
        self.errored = True

    def extra(self, path: tuple[str | int, ...], value: Any) -> None:
        """Keep a field for the native body, if it says something new."""
        if self._fields.take(path, value):
            self.out.append(Extra(path, value))

    def blanks(self, payload: Mapping[str, Any], leave: Collection[str], *path: str | int) -> None:
        """Note which fields of *payload* but those to *leave* say nothing, at *path*: the native body has them too."""
        met = self._fields.met.get(path)
        if met is None or not payload.keys() <= met.keys():
            for key, value in self._fields.blanks(payload, leave, path):
                self.extra((*path, key), value)

    def has_met(self, payload: Mapping[str, Any]) -> bool:
        """True if `blanks` has looked at every field of *payload*, at the top."""
        met = self._fields.met.get(())
        return met is not None and payload.keys() <= met.keys()

    def unsaid(self, payload: Mapping[str, Any], *facts: str) -> None:
        """Keep what stands in the place of facts of the message but is none: a `created` of 0, a number as the id."""
        for fact in facts:
            if fact not in self._facts and payload.get(fact) is not None:
                self.extra((fact,), payload[fact])

    def whole(self) -> None:
        """The payload is a body that was not streamed: nothing is missing from it that the provider sends."""
        self.is_whole = True
        self.extra(("$whole",), True)

    @property
    def has_parts(self) -> bool:
        """True if any part of a message has come, beside what is not known."""
        return any(slot.kind != "unknown" for state in self.table.choices.values() for slot in state.slots)

    def extras(self, payload: Mapping[str, Any], known: frozenset[str], *path: str | int) -> None:
        """Keep every field of *payload* that is not in *known*, at *path*."""
        if not payload.keys() <= known:
            for key, value in payload.items():
                if key not in known:
                    self.extra((*path, key), value)

    def ping(self) -> None:
        """The server is alive."""
        self.out.append(Ping())

    def diagnose(self, kind: str, detail: str = "", choice: int | None = None, index: int | None = None) -> None:
        """Note something odd, with sizes and places only."""
        self.out.append(DiagnosticEvent(Diagnostic(kind, self.frame, choice, index, detail)))

    def unknown(self, name: str, payload: Any) -> None:
        """Carry something that is not understood: an `unknown` part of choice 0. Nothing is none."""
        if not is_blank(payload):
            slot = self.table.new(0, "unknown")
            slot.open, slot.ended = False, True
            self.out.append(UnknownEvent(name, payload))

    def objects(self, name: str, value: Any) -> list[tuple[int, dict[str, Any]]]:
        """The objects of a field that has a list of them, in Lua `{}` if empty, or one, and their places."""
        found = []
        for place, item in enumerate(listed(value)):
            if isinstance(item, dict):
                found.append((place, item))
            else:
                self.unknown(name, item)
        return found

    def annotations(self, choice: int, slot: Slot | None, items: list[Any]) -> None:
        """Citations, each whole, of a part or of the choice."""
        whole = tuple(item if isinstance(item, dict) else {"value": item} for item in items)
        if whole:
            slot = slot.target or slot if slot else None
            self.out.append(Annotations(choice, slot.index if slot and slot.index >= 0 else None, whole))

    def logprobs(self, choice: int, items: list[Any]) -> None:
        """Log-probabilities of new tokens."""
        if items:
            self.out.append(Logprobs(choice, tuple(items)))

    # Parts of dialects that do not number them

    def append(self, choice: int, kind: Kind, text: Any, **start: Any) -> Slot | None:
        """More text of *kind*: it goes on the current part if that is of the same kind, else opens a new one."""
        if not isinstance(text, str) or not text:
            self.unknown(kind, text)
            return None
        state = self.table.choice(choice)
        if self.cumulative:
            text = _whole_texts.news(self, choice, state, kind, text)
            if not text:
                return None
        slot = state.current
        if slot is None or slot.kind != kind or not slot.open:
            slot = self.start(choice, kind, **start)
            slot.goes_on, slot.beside = True, dict(start.get("extra") or ())
        elif start.get("extra"):
            self.update(slot, extra=slot.news(start["extra"]))
        self.write(slot, text)
        return slot

    def current(self, choice: int, kind: Kind) -> Slot | None:
        """The part that unnumbered content of *kind* would go on, or the last one of that kind."""
        state = self.table.choice(choice)
        if state.current is not None and state.current.kind == kind:
            return state.current
        return state.last_of(kind)

    def at_hand(self, choice: int) -> Slot | None:
        """The part that was started last, or the call that got a piece after it."""
        return self.table.choice(choice).current

    def take_up(self, slot: Slot) -> None:
        """The part is at hand again."""
        self.table.choice(slot.choice).current = slot

    def restate(self, choice: int, kind: Kind, text: Any) -> None:
        """The whole text of *kind* has been stated: it stands instead of what was gathered, or fills it."""
        if isinstance(text, str) and text:
            _whole_texts.restate(self, choice, self.table.choice(choice), kind, text)

    def call(
        self,
        choice: int,
        *,
        number: Hashable = None,
        id: Any = None,
        name: Any = None,
        arguments: Any = None,
        tool_type: str = "function",
        server_side: bool = False,
        extra: Mapping[str, Any] | None = None,
    ) -> Slot:
        """A fragment of a tool call: find the call that it belongs to, or open it. *number* is the provider's index."""
        state = self.table.choice(choice)
        id, name = text_or_none(id), text_or_none(name)  # noqa: A001
        text = arguments if isinstance(arguments, str) else ""
        number = hashable(number)
        slot = _calls.find(state, number, id, name, text)
        if slot is None:
            kind: Kind = "server_tool_call" if server_side else "tool_call"
            slot = self.start(choice, kind, id=id, name=name, tool_type=tool_type, number=number, extra=extra)
            slot.extra = extra
            if id is None:
                slot.scanner = ObjectScanner()
        else:
            # A fragment that adds nothing interrupts nothing: some servers send blank ones beside every text.
            if self.splits_think_tags and text:
                _think.leave(self, state)
            _calls.identify(self, state, slot, id, name, extra)
        if text:
            state.current = slot
            self.delta(slot, text)
        return slot

    def has_call(self, choice: int, number: Hashable) -> bool:
        """True if a fragment with that number, or none, and no more has a call that it goes on with."""
        state = self.table.choice(choice)
        return state.last_call is not None if number is None else hashable(number) in state.by_number

    def identify(self, slot: Slot, *, id: Any = None, name: Any = None) -> None:
        """What the start of a call that was open already says of it: an id or a name that came late."""
        name = text_or_none(name) if slot.name is None else None
        _calls.identify(self, self.table.choice(slot.choice), slot, text_or_none(id), name, None)

    def call_again(
        self, choice: int, place: int, *, number: Any, id: Any, name: Any, listed: Collection[Any], **start: Any
    ) -> Slot:
        """The call that a restated message has at *place*, where *listed* are the ids that it has; else a new one."""
        state = self.table.choice(choice)
        id, name = text_or_none(id), text_or_none(name)  # noqa: A001
        kind: Kind = "server_tool_call" if start.get("server_side") else "tool_call"
        slot = _calls.find_restated(state, kind, place, id, name, listed)
        if slot is None:
            if type(number) is not int or number in state.by_number:
                number = f"{kind} {place} of {self.frame}"
            return self.call(choice, number=number, id=id, name=name, **start)
        _calls.identify(self, state, slot, id, name, None)
        return slot

    # Parts of dialects that number them

    def start(
        self,
        choice: int,
        kind: Kind,
        *,
        key: Hashable = None,
        id: Any = None,
        name: Any = None,
        tool_type: str | None = None,
        number: Hashable = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Slot:
        """Open a part. Under *key* it is found again by `slot`. A text-like part ends the text-like part before it."""
        state = self.table.choice(choice)
        if self.splits_think_tags:
            _think.leave(self, state)
        if key is None and kind not in CALLS:
            before = state.last_other
            if before is not None and before.open:
                self.stop(before)
        lazy = self.splits_think_tags and kind == "text"
        slot = Slot(choice, -1, kind) if lazy else self.table.new(choice, kind)
        slot.id, slot.name, slot.number = text_or_none(id), text_or_none(name), number
        slot.is_text = tool_type == "custom"
        if key is not None:
            state.by_key[hashable(key)] = slot
            slot.has_key = True
        if lazy:
            _think.begin(self, state, slot)
        if kind in CALLS:
            state.last_call = slot
            if number is not None:
                state.by_number[hashable(number)] = slot
            if slot.id is not None:
                state.by_id[slot.id] = slot
        state.current = slot
        if not lazy:
            self.out.append(
                PartStart(
                    choice,
                    slot.index,
                    kind,
                    slot.id,
                    slot.name,
                    tool_type if kind in CALLS else None,
                    kind == "server_tool_call",
                    _started(extra, number) if kind in CALLS else dict(extra or {}),
                )
            )
        return slot

    def slot(self, choice: int, key: Hashable) -> Slot | None:
        """The part that was started last under *key*."""
        state = self.table.choices.get(choice)
        try:
            return state.by_key.get(key) if state else None
        except TypeError:
            return state.by_key.get(hashable(key)) if state else None

    def rekey(self, slot: Slot, old: Hashable, new: Hashable) -> None:
        """From now on the part is found under another key."""
        by_key = self.table.choice(slot.choice).by_key
        if by_key.get(old) is slot:
            del by_key[old]
        by_key[new] = slot

    def call_named(self, choice: int, id: Any) -> Slot | None:
        """The call with that id, if one has come."""
        return self.table.choice(choice).by_id.get(id) if isinstance(id, str) else None

    def count(self, choice: int) -> int:
        """How many parts the choice has so far: the index that the next one gets."""
        return len(self.table.choice(choice).slots)

    def last_call(self, choice: int) -> Slot | None:
        """The call that was opened last."""
        return self.table.choice(choice).last_call

    def delta(self, slot: Slot, text: Any) -> None:
        """More text of a part. Nothing is nothing."""
        if not text:
            return
        if not isinstance(text, str):
            self.unknown("delta", text)
            return
        if self.cumulative:
            text = _whole_texts.grown(self, slot, text)
        self.write(slot, text)

    def write(self, slot: Slot, text: str) -> None:
        if self.careful or slot.half:
            text = _halves.join(self, slot, text)
        if not text:
            return
        slot.has_text = True
        if slot.scanner is not None:
            slot.scanner.feed(text)
        if slot.splitter is not None:
            _think.write(self, slot, slot.splitter, slot.splitter.feed(text))
        else:
            self.out.append(DELTAS[slot.kind](slot.choice, slot.index, text))

    def data(self, slot: Slot, data: bytes) -> None:
        """More bytes of a picture, an audio or a file."""
        if data:
            self.out.append(DataDelta(slot.choice, slot.index, data))

    def update(
        self,
        slot: Slot,
        *,
        id: str | None = None,
        name: str | None = None,
        signature: Any = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Fields of a part that came late."""
        signature = text_or_none(signature)
        if id is None and name is None and signature is None and not extra:
            return
        if slot.splitter is not None:
            # A signed part may never get a text.
            slot = slot.target or _think.open_part(self, slot, slot.splitter)
        self.out.append(PartUpdate(slot.choice, slot.index, id, name, signature, dict(extra or {})))

    def replace(self, slot: Slot, part: Part) -> None:
        """The server has stated the part whole."""
        if slot.splitter is not None:
            slot = slot.target or _think.open_part(self, slot, slot.splitter)
        slot.has_text = True
        self.out.append(PartReplace(slot.choice, slot.index, part))

    def restate_text(self, slot: Slot, text: str) -> None:
        """The whole text of a part has been stated."""
        _whole_texts.restate_text(self, slot, text)

    def restate_call(self, slot: Slot, arguments: Any) -> None:
        """The whole argument text of a call has been stated. An empty one erases nothing."""
        if isinstance(arguments, str) and arguments.strip():
            _whole_texts.restate_call(self, slot, arguments)

    def give_to_server(self, slot: Slot, arguments: str) -> None:
        """The server runs a call itself, as it says only with the whole argument text."""
        self.table.choice(slot.choice).change_kind(slot, "server_tool_call")
        self.singular = True
        self.replace(slot, ToolCall(id=slot.id, name=slot.name, raw_arguments=arguments, server_side=True))

    def stop(self, slot: Slot) -> None:
        """The part is complete."""
        if not slot.open:
            return
        slot.open = False
        if slot.start_input is not None and not slot.has_text:
            self.write(slot, slot.start_input)
        if slot.half:
            half, slot.half = slot.half, ""
            self.write(slot, _halves.clean(self, slot, half))
        if slot.splitter is not None:
            slot = _think.close(self, slot, slot.splitter)
        self.end(slot)

    def end(self, slot: Slot) -> None:
        """Say that a part is over, once."""
        if not slot.ended and slot.index >= 0:
            slot.ended = True
            self.out.append(PartStop(slot.choice, slot.index))

    def reset(self, from_part: int, reason: str) -> None:
        """The server takes back what came from part *from_part* on."""
        for state in self.table.choices.values():
            state.forget_from(from_part)
        self.finished = 0
        if reason == "attempt":
            self.errored = False
        if from_part == 0:
            self._facts = {}
            if reason == "attempt":
                self._fields, self._usage_raw, self._error = NativeFields(), {}, None
        self.out.append(MessageReset(from_part, reason))  # type: ignore[arg-type]

    def close(self, *, done: bool = True) -> None:
        """The input has ended, after the server said that it was *done* or not: all that is open is stopped."""
        for choice in sorted(self.table.choices):
            state = self.table.choices[choice]
            if (cut := state.cut_call(done)) is not None:
                self.cut(cut)
            for slot in [*state.split, *state.slots]:
                self.stop(slot)
                self.end(slot)

    def cut(self, slot: Slot) -> None:
        """
        The call was not over when the model was stopped. Arguments lack a bracket then. Free text lacks nothing, and
        arguments that never began look like those of a tool that takes none.
        """
        if slot.open:
            self.mark_cut(slot)

    def cut_though_stopped(self, choice: int) -> None:
        """The input has ended, in a dialect whose servers stop a call also where the model was stopped amid it."""
        state = self.table.choice(choice)
        if state.is_cut(done=True) and (slot := state.call_at_hand()) is not None:
            self.mark_cut(slot)

    def mark_cut(self, slot: Slot) -> None:
        """The call is not whole, if nothing shows that it is."""
        has_begun = slot.has_text or slot.start_input is not None
        if (slot.is_text or (slot.kind == "tool_call" and not has_begun)) and not slot.is_cut:
            slot.is_cut = True
            self.update(slot, extra={"$cut": True})


def _started(extra: Mapping[str, Any] | None, number: Hashable) -> dict[str, Any]:
    """The extra fields of a call's start; the provider's own number of the call, or what it says instead, is one."""
    out = dict(extra or {})
    if type(number) is int and not out.get("index"):
        out["index"] = number
    return out
