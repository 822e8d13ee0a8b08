"""
What dialects write their events with: it knows which part every fragment belongs to.

Rule 3 of the fold lives here, once for all dialects: by index where that is known, a new id on a known index is a new
call, without an index by id, without both the last one opened. So do the numbering of parts, their ends, halves of
surrogate pairs, cumulative texts and `<think>` tags.
"""

from __future__ import annotations

from bisect import insort
from typing import TYPE_CHECKING, Any, Final

from chunkfold import _json
from chunkfold.dialects import _usage
from chunkfold.dialects._think import ThinkSplitter
from chunkfold.dialects._words import finish_reason, is_real
from chunkfold.errors import LimitExceeded
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
from chunkfold.parts import CLASSES, AudioPart, ReasoningPart, RefusalPart, TextPart, ToolCall
from chunkfold.response import Diagnostic, StreamError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping

    from chunkfold.limits import Limits
    from chunkfold.parts import Kind, Part
    from chunkfold.response import FinishReason

__all__ = ["CALLS", "Slot", "Writer"]

CALLS: Final = ("tool_call", "server_tool_call")
_BLANKS: Final[tuple[Any, ...]] = ("", [], {})
_DELTAS: Final[dict[str, Callable[[int, int, str], Event]]] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "refusal": RefusalDelta,
    "tool_call": ToolArgumentsDelta,
    "server_tool_call": ToolArgumentsDelta,
    "audio": TextDelta,  # its transcript
}


class Slot:
    """A part in the making: where it stands and what is known of it."""

    __slots__ = (
        "choice", "ended", "extra", "half", "has_key", "has_text", "id", "index", "kind", "name", "number", "open",
        "scanner", "splitter", "start_input", "target", "whole",
    )  # fmt: skip

    def __init__(self, choice: int, index: int, kind: Kind) -> None:
        self.choice = choice
        self.index = index
        self.kind: Kind = kind
        self.open = True
        self.id: str | None = None
        self.name: str | None = None
        self.number: Hashable = None
        self.has_text = False
        # It is found by a key, so that it is a part even if nothing comes.
        self.has_key = False
        # Its `PartStop` has been written.
        self.ended = False
        # The argument text of a start event, which gives way to deltas and else is all there is.
        self.start_input: str | None = None
        # The first half of a surrogate pair, waiting for its mate.
        self.half = ""
        # The text so far, where a server repeats it with every delta.
        self.whole = ""
        # Its further fields as they were stated last.
        self.extra: Mapping[str, Any] | None = None
        self.scanner: _ObjectScanner | None = None
        self.splitter: ThinkSplitter | None = None
        # Where split text goes now; `None` before the first piece.
        self.target: Slot | None = None


def _place(slot: Slot) -> int:
    return slot.index


class _Choice:
    """The slots of one choice, and the ways to find one."""

    __slots__ = (
        "any_id", "by_id", "by_key", "by_kind", "by_number", "current", "finish", "last_call", "last_other", "slots",
        "wholes",
    )  # fmt: skip

    def __init__(self) -> None:
        self.slots: list[Slot] = []
        self.by_kind: dict[str, list[Slot]] = {}
        self.by_key: dict[Hashable, Slot] = {}
        self.by_number: dict[Hashable, Slot] = {}
        self.by_id: dict[str, Slot] = {}
        self.last_call: Slot | None = None
        # The part that was opened last of those that are no calls.
        self.last_other: Slot | None = None
        # The part that unnumbered content of its kind continues.
        self.current: Slot | None = None
        self.any_id = False
        self.wholes: dict[str, str] = {}
        self.finish: tuple[str, str | None] | None = None

    def add(self, slot: Slot) -> None:
        """Take a slot at the next index."""
        self.slots.append(slot)
        self.by_kind.setdefault(slot.kind, []).append(slot)
        if slot.kind not in CALLS:
            self.last_other = slot

    def change_kind(self, slot: Slot, kind: Kind) -> None:
        """What a slot holds has turned out to be something else."""
        before = self.by_kind[slot.kind]
        if before[-1] is slot:
            del before[-1]
        else:
            before.remove(slot)
        slot.kind = kind
        insort(self.by_kind.setdefault(kind, []), slot, key=_place)

    def last_of(self, kind: str) -> Slot | None:
        """The last slot of that kind."""
        slots = self.by_kind.get(kind)
        return slots[-1] if slots else None

    def forget_from(self, index: int) -> None:
        """Drop the slots from that index on, and those that have none."""
        left, self.slots, self.by_kind = self.slots[:index], [], {}
        self.last_call = self.last_other = None
        for slot in left:
            self.add(slot)
            if slot.kind in CALLS:
                self.last_call = slot
        for table in (self.by_key, self.by_number, self.by_id):
            for key in [key for key, slot in table.items() if not 0 <= slot.index < index]:
                del table[key]  # type: ignore[arg-type]
        self.current = self.slots[-1] if self.slots else None
        self.finish = None
        self.wholes.clear()


class Writer:
    """
    Writes events into `out`.

    A dialect without part numbers calls `append` and `call`; one that numbers its blocks calls `start`, `slot`,
    `delta` and `stop`.
    """

    def __init__(self, limits: Limits, *, split_think_tags: bool = False) -> None:
        self.out: list[Event] = []
        self.frame = 0
        self.finished = False
        self.errored = False
        # Texts may hold halves of surrogate pairs: set where a payload was not read by the strict decoder.
        self.careful = False
        # What the payload says hangs on more than the text of its delta: no other can be read by its likeness.
        self.singular = False
        self._name: str | None = None
        self._words: Mapping[str, str] = {}
        self._think = split_think_tags
        self._cumulative = False
        self._json_depth = limits.json_depth
        self._tool_cap = limits.tool_calls
        self._part_cap = limits.parts
        self._tools = self._parts = 0
        self._choices: dict[int, _Choice] = {}
        self._facts: dict[str, Any] = {}
        self._extras: dict[tuple[str | int, ...], Any] = {}
        # By path, the keys that were met there: blank fields are noted once.
        self._met: dict[tuple[str | int, ...], dict[str, None]] = {}
        self._usage_raw: dict[str, Any] = {}
        self._usage: Usage | None = None

    def speak(self, name: str, words: Mapping[str, str], *, cumulative: bool | None = None) -> None:
        """
        The dialect is known: its name, its own finish reasons, and whether its texts are the whole text so far (`None`:
        as before).
        """
        self._name = name
        self._words = words
        if cumulative is not None:
            self._cumulative = cumulative

    @property
    def cumulative(self) -> bool:
        """True if each text is taken for the whole text so far."""
        return self._cumulative

    def is_plain(self, choice: int, index: int) -> bool:
        """True if deltas to that part are written as they come: frames equal around other text mean the same."""
        if self._think or self._cumulative or self.careful or self.singular:
            return False
        slot = self._choices[choice].slots[index]
        return slot.scanner is None and not slot.half and slot.open

    def json(self, data: bytes) -> tuple[Any, str | None]:
        """
        JSON that a payload has inside a string, read as leniently as payloads are; and what had to be forgiven.

        Raises:
            NotJSON: If nothing could be made of it.
            LimitExceeded: If it nests too deep.
        """
        depth = self._json_depth
        try:
            return _json.decode(data, depth)
        except _json.TooDeep as error:
            if depth is None:
                raise _json.NotJSON(f"it nests {error.args[0]} deep, more than can be read") from None
            raise LimitExceeded("json_depth", depth + 1, depth) from None

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

    def knows(self, fact: str) -> bool:
        """True if that fact of the message was stated."""
        return fact in self._facts

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
        state = self._choice(choice)
        self.finished = True
        if state.finish != (reason, native):
            state.finish = (reason, native)
            self.out.append(Finish(choice, reason, native))

    def error(self, error: StreamError) -> None:
        """State an error; the same one twice in a row is stated once."""
        self.singular = True  # the error holds the payload
        if not (self.errored and self._extras.get(("error",)) == error):
            self._extras["error",] = error
            self.out.append(ErrorEvent(error))
        self.errored = True

    def extra(self, path: tuple[str | int, ...], value: Any) -> None:
        """
        Keep a field for the native body, if it says something new.

        `null`, `""`, `[]` and `{}` replace nothing: the first of them at a path says that the body has such a key, and
        the first after a `null` says more than that.
        """
        known = self._extras.get(path)
        if known is not None and type(known) is type(value) and known == value:
            return
        is_list = path[-1] == "-"
        if value is None or value == "" or value == [] or value == {}:
            if is_list or (path in self._extras and (value is None or known is not None)):
                return
        if not is_list:
            self._extras[path] = value
        self.out.append(Extra(path, value))

    def blanks(self, payload: Mapping[str, Any], leave: Collection[str], *path: str | int) -> None:
        """
        Note which fields of *payload* but those to *leave* say nothing, at *path*: the native body has them too.

        A field is looked at when it comes for the first time: later it has been noted, or it has had a value.
        """
        met = self._met.get(path)
        if met is None:
            met = self._met[path] = {}
        elif payload.keys() <= met.keys():
            return
        for key, value in payload.items():
            if key not in met and (value is None or (not value and value in _BLANKS)) and key not in leave:
                self.extra((*path, key), value)
        met.update(dict.fromkeys(payload))

    def unsaid(self, payload: Mapping[str, Any], *facts: str) -> None:
        """Keep what stands in the place of facts of the message but is none: a `created` of 0, a number as the id."""
        for fact in facts:
            if fact not in self._facts and payload.get(fact) is not None:
                self.extra((fact,), payload[fact])

    def whole(self) -> None:
        """The payload is a body that was not streamed: nothing is missing from it that the provider sends."""
        self.extra(("$whole",), True)

    def extras(self, payload: Mapping[str, Any], known: frozenset[str], *path: str | int) -> None:
        """Keep every field of *payload* that is not in *known*, at *path*."""
        if payload.keys() <= known:
            return
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
        """Carry something that is not understood: an `unknown` part of choice 0."""
        slot = self._new(0, "unknown")
        slot.open, slot.ended = False, True
        self.out.append(UnknownEvent(name, payload))

    def objects(self, name: str, value: Any) -> list[tuple[int, dict[str, Any]]]:
        """The objects of a field that holds a list of them or just one, and their places. What is none is unknown."""
        found = []
        for place, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, dict):
                found.append((place, item))
            elif item is not None and item != "":
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
            return None
        state = self._choice(choice)
        if self._cumulative:
            text = self._news(state, kind, text)
            if not text:
                return None
        slot = state.current
        if slot is None or slot.kind != kind or not slot.open:
            slot = self.start(choice, kind, **start)
        self._write(slot, text)
        return slot

    def current(self, choice: int, kind: Kind) -> Slot | None:
        """The part that unnumbered content of *kind* would go on, or the last one of that kind."""
        state = self._choice(choice)
        if state.current is not None and state.current.kind == kind:
            return state.current
        return state.last_of(kind)

    def restate(self, choice: int, kind: Kind, text: Any, **start: Any) -> None:
        """
        The whole text of *kind* has been stated: it stands instead of what was gathered, and fills what was not.
        """
        if not isinstance(text, str) or not text:
            return
        slots = [slot for slot in self._choice(choice).by_kind.get(kind, ()) if slot.target is None]
        if not slots or self._think:
            if not slots and not self._thought(choice):
                self.append(choice, kind, text, **start)
            return
        parts: dict[str, Callable[[str], Part]] = {
            "text": lambda value: TextPart(text=value),
            "reasoning": lambda value: ReasoningPart(text=value),
            "refusal": lambda value: RefusalPart(text=value),
        }
        text = self.clean(slots[0], text)
        for slot in slots:
            slot.half = ""
            if text or slot.has_text:
                self.replace(slot, parts[kind](text))
                slot.has_text = bool(text)
            text = ""

    def _thought(self, choice: int) -> bool:
        return any(slot.target is not None for slot in self._choice(choice).slots)

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
        state = self._choice(choice)
        id = id if isinstance(id, str) and id else None  # noqa: A001
        name = name if isinstance(name, str) and name else None
        text = arguments if isinstance(arguments, str) else ""
        number = _hashable(number)
        slot = self._call_of(state, number, id, name, text)
        if slot is None:
            slot = self._open_call(choice, number, id, name, tool_type, server_side, extra)
        else:
            self._identify(state, slot, id, name, extra)
        state.current = slot
        if text:
            self.delta(slot, text)
        return slot

    def call_again(self, choice: int, place: int, *, number: Hashable, id: Any = None, name: Any = None) -> Slot:
        """The call that a restated message has at *place*: by its id, else by its place among all; else a new one."""
        state = self._choice(choice)
        id = id if isinstance(id, str) and id else None  # noqa: A001
        name = name if isinstance(name, str) and name else None
        slot = state.by_id.get(id) if id else None
        calls = state.by_kind.get("tool_call", ())
        if slot is None and place < len(calls) and (id is None or calls[place].id is None):
            slot = calls[place]
        if slot is None:
            number = number if type(number) is int else f"place {place} of {self.frame}"
            return self.call(choice, number=number, id=id, name=name)
        self._identify(state, slot, id, name, None)
        return slot

    def _call_of(
        self,
        state: _Choice,
        number: Hashable,
        id: str | None,
        name: str | None,
        text: str,
    ) -> Slot | None:
        """Rule 3. `None`: this fragment opens a new call."""
        if number is not None:
            slot = state.by_number.get(number)
            if slot is None:
                # A number never seen, with nothing but argument text: some servers let the number drift.
                return None if name or not text else state.by_id.get(id) if id else state.last_call
        elif id is not None:
            slot = state.by_id.get(id)
            if slot is None:
                # Its id may come late, on the call that was opened last without one.
                return state.last_call if state.last_call and not state.last_call.id and not name else None
        else:
            slot = state.last_call
        if slot is None:
            return None
        if id is not None and slot.id is not None and id != slot.id:
            # Servers that number every call 0 tell calls apart by their ids alone; those that draw an id for each piece
            # have a name only at the beginning of a call.
            earlier = state.by_id.get(id)
            if earlier is not None and earlier.number == number:
                return earlier
            return slot if number is not None and not name else None
        return None if self._begins_anew(state, slot, id, name, text) else slot

    @staticmethod
    def _begins_anew(state: _Choice, slot: Slot, id: str | None, name: str | None, text: str) -> bool:
        """Without any ids, a name with argument text of its own after a complete object is a new call."""
        if state.any_id or id is not None or name is None or not text:
            return False
        return slot.scanner is not None and slot.scanner.is_complete

    def _open_call(
        self,
        choice: int,
        number: Hashable,
        id: str | None,
        name: str | None,
        tool_type: str,
        server_side: bool,
        extra: Mapping[str, Any] | None,
    ) -> Slot:
        state = self._choice(choice)
        kind: Kind = "server_tool_call" if server_side else "tool_call"
        slot = self.start(choice, kind, id=id, name=name, tool_type=tool_type, number=number, extra=extra)
        if id is None and not state.any_id:
            slot.scanner = _ObjectScanner()
        slot.extra = extra
        return slot

    def _identify(
        self,
        state: _Choice,
        slot: Slot,
        id: str | None,
        name: str | None,
        extra: Mapping[str, Any] | None,
    ) -> None:
        """Take what a later fragment says about a call: an id or a name that came late, pieces of a name."""
        new_id = id if id is not None and slot.id is None else None
        if new_id is not None:
            slot.id = new_id
            slot.scanner = None
            state.any_id = True
            state.by_id.setdefault(new_id, slot)
        new_name = None
        if name is not None and name != slot.name:
            if slot.name is None:
                new_name = name
            elif not slot.has_text:
                new_name = slot.name + name
            else:
                self.diagnose("name_after_arguments", "another name was ignored", slot.choice, slot.index)
        if new_name is not None:
            slot.name = new_name
        if extra and extra == slot.extra:
            extra = None
        if new_id is not None or new_name is not None or extra:
            slot.extra = extra or slot.extra
            self.update(slot, id=new_id, name=new_name, extra=extra)

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
        state = self._choice(choice)
        if key is None and kind not in CALLS:
            before = state.last_other
            if before is not None and before.open:
                self.stop(before)
        lazy = self._think and kind == "text"
        slot = Slot(choice, -1, kind) if lazy else self._new(choice, kind)
        slot.id = id if isinstance(id, str) and id else None
        slot.name = name if isinstance(name, str) and name else None
        slot.number = number
        if lazy:
            slot.splitter = ThinkSplitter()
        if key is not None:
            state.by_key[_hashable(key)] = slot
            slot.has_key = True
        if kind in CALLS:
            state.last_call = slot
            if number is not None:
                state.by_number[_hashable(number)] = slot
            if slot.id is not None:
                state.any_id = True
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
        state = self._choices.get(choice)
        try:
            return state.by_key.get(key) if state else None
        except TypeError:
            return state.by_key.get(_hashable(key)) if state else None

    def count(self, choice: int) -> int:
        """How many parts the choice has so far: the index that the next one gets."""
        return len(self._choice(choice).slots)

    def last_call(self, choice: int) -> Slot | None:
        """The call that was opened last."""
        return self._choice(choice).last_call

    def delta(self, slot: Slot, text: Any) -> None:
        """More text of a part. Nothing is nothing; arguments that came as an object are their JSON text."""
        if not text:
            return
        if not isinstance(text, str):
            if slot.kind not in CALLS:
                self.unknown("delta", text)
                return
            text = json_text(text)
        if self._cumulative:
            text = self._grown(slot, text)
        self._write(slot, text)

    def _write(self, slot: Slot, text: str) -> None:
        if self.careful or slot.half:
            text = self._whole_characters(slot, text)
        if not text:
            return
        slot.has_text = True
        if slot.scanner is not None:
            slot.scanner.feed(text)
        if slot.splitter is not None:
            self._write_split(slot, slot.splitter.feed(text))
        else:
            self.out.append(_DELTAS[slot.kind](slot.choice, slot.index, text))

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
        signature = signature if isinstance(signature, str) and signature else None
        if id is None and name is None and signature is None and not extra:
            return
        slot = slot.target or slot
        if slot.index < 0:
            # It waited for its first text, which a signed part without any never gets.
            self._announce(slot)
            slot.target = slot
        self.out.append(PartUpdate(slot.choice, slot.index, id, name, signature, dict(extra or {})))

    def replace(self, slot: Slot, part: Part) -> None:
        """The server has stated the part whole."""
        if slot.index < 0:
            self._announce(slot)
        slot.has_text = True
        self.out.append(PartReplace(slot.choice, slot.index, part))

    def restate_call(self, slot: Slot, arguments: Any) -> None:
        """The whole argument text of a call has been stated. An empty one erases nothing."""
        if not isinstance(arguments, str) or not arguments.strip():
            return
        self.singular = True
        if not slot.has_text:
            self._write(slot, arguments)
            return
        slot.half = ""
        self.replace(
            slot,
            ToolCall(
                id=slot.id,
                name=slot.name,
                raw_arguments=self.clean(slot, arguments),
                server_side=slot.kind == "server_tool_call",
            ),
        )

    def stop(self, slot: Slot) -> None:
        """The part is complete."""
        if not slot.open:
            return
        slot.open = slot.splitter is not None  # what was held back may still end it for another part
        if slot.start_input is not None and not slot.has_text:
            self._write(slot, slot.start_input)
        self._give_up_half(slot)
        if slot.splitter is not None:
            self._write_split(slot, slot.splitter.close())
            if slot.index < 0 and slot.target is None and slot.has_key:
                self._announce(slot)
            slot.open = False
            slot = slot.target or slot
            slot.open = False
        self._end(slot)

    def _end(self, slot: Slot) -> None:
        """Say that a part is over, once."""
        if not slot.ended and slot.index >= 0:
            slot.ended = True
            self.out.append(PartStop(slot.choice, slot.index))

    def reset(self, from_part: int, reason: str) -> None:
        """The server takes back what came from part *from_part* on."""
        for state in self._choices.values():
            state.forget_from(from_part)
        self.finished = False
        if reason == "attempt":
            self.errored = False
        if from_part == 0:
            self._facts = {}
            if reason == "attempt":
                self._extras, self._usage_raw, self._usage = {}, {}, None
                self._met.clear()
        self.out.append(MessageReset(from_part, reason))  # type: ignore[arg-type]

    def close(self) -> None:
        """The input has ended: every part that is still open is stopped, in order of start."""
        for choice in sorted(self._choices):
            state = self._choices[choice]
            if state.current is not None and state.current.splitter is not None:
                self.stop(state.current)
            for slot in list(state.slots):
                self.stop(slot)
                self._end(slot)

    # The small print

    def _choice(self, choice: int) -> _Choice:
        state = self._choices.get(choice)
        if state is None:
            state = self._choices[choice] = _Choice()
        return state

    def _new(self, choice: int, kind: Kind) -> Slot:
        """A slot at the next index, within the limits."""
        self._parts += 1
        if self._part_cap is not None and self._parts > self._part_cap:
            raise LimitExceeded("parts", self._parts, self._part_cap)
        if kind in CALLS:
            self._tools += 1
            if self._tool_cap is not None and self._tools > self._tool_cap:
                raise LimitExceeded("tool_calls", self._tools, self._tool_cap)
        state = self._choice(choice)
        slot = Slot(choice, len(state.slots), kind)
        state.add(slot)
        return slot

    def _announce(self, slot: Slot) -> None:
        """Give a slot that waited for its first text its place."""
        state = self._choice(slot.choice)
        slot.index = self._new(slot.choice, slot.kind).index
        slot.open = True
        state.slots[-1] = state.by_kind[slot.kind][-1] = state.last_other = slot
        self.out.append(PartStart(slot.choice, slot.index, slot.kind, slot.id))

    def _write_split(self, slot: Slot, pieces: list[tuple[str, str]]) -> None:
        """Write what the splitter gave, each piece to a part of its kind."""
        for kind, text in pieces:
            target = slot.target
            if kind == "thought":
                if target is not None:
                    self.replace(target, ReasoningPart(text=text))
                    self._choice(slot.choice).change_kind(target, "reasoning")
                continue
            if target is None and kind == "text":
                if slot.index < 0:
                    self._announce(slot)
                slot.target = target = slot
            elif target is None or target.kind != kind:
                if target is not None:
                    self._end(target)
                    if target is not slot:
                        target.open = False
                target = self._new(slot.choice, "reasoning" if kind == "reasoning" else "text")
                self.out.append(PartStart(slot.choice, target.index, target.kind))
                slot.target = target
            self.out.append(_DELTAS[target.kind](target.choice, target.index, text))

    def _news(self, state: _Choice, kind: str, text: str) -> str:
        """What a cumulative text has more than the one before; a text that does not go on replaces."""
        before = state.wholes.get(kind, "")
        state.wholes[kind] = text
        if text.startswith(before):
            return text[len(before) :]
        slot = state.last_of(kind)
        if slot is None:
            return text
        self.restate(slot.choice, slot.kind, text)
        return ""

    def _grown(self, slot: Slot, text: str) -> str:
        before, slot.whole = slot.whole, text
        if text.startswith(before):
            return text[len(before) :]
        if slot.kind in CALLS:
            self.restate_call(slot, text)
        elif slot.splitter is None:
            slot.half, text = "", self.clean(slot, text)
            part = AudioPart(transcript=text) if slot.kind == "audio" else CLASSES[slot.kind](text=text)
            self.replace(slot, part)
        return ""

    def _whole_characters(self, slot: Slot, text: str) -> str:
        """
        *text* without halves of surrogate pairs: halves are joined over deltas, and one without a mate becomes U+FFFD
        (in argument text, which is JSON, its escape).
        """
        text, slot.half = slot.half + text, ""
        if text.isascii():
            return text
        if "\ud800" <= text[-1] <= "\udbff":
            text, slot.half = text[:-1], text[-1]
        if not text:
            return text
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            pass
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return self.clean(slot, joined)

    def clean(self, slot: Slot, text: str) -> str:
        """*text* as a part may hold it: a half of a surrogate pair that stands alone becomes U+FFFD, or its escape."""
        try:
            text.encode()
            return text
        except UnicodeEncodeError:
            self.diagnose("lone_surrogate", "half of a character never found its mate", slot.choice, slot.index)
        if slot.kind in CALLS:
            return text.encode("utf-8", "backslashreplace").decode()
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)

    def _give_up_half(self, slot: Slot) -> None:
        if slot.half:
            half, slot.half = slot.half, ""
            text = self.clean(slot, half)
            if slot.splitter is not None:
                self._write_split(slot, slot.splitter.feed(text))
            else:
                self.out.append(_DELTAS[slot.kind](slot.choice, slot.index, text))


def _started(extra: Mapping[str, Any] | None, number: Hashable) -> dict[str, Any]:
    """The extra fields of a call's start; the provider's own number of the call, or what it says instead, is one."""
    out = dict(extra or {})
    if type(number) is int and not out.get("index"):
        out["index"] = number
    return out


def _hashable(key: Any) -> Hashable:
    """*key* for a table: what stands in the place of a number may be any JSON."""
    try:
        hash(key)
    except TypeError:
        return repr(key)
    return key  # type: ignore[no-any-return]


class _ObjectScanner:
    """Tells whether argument text is a closed object yet, looking at each character once."""

    __slots__ = ("_depth", "_done", "_escaped", "_in_string")

    def __init__(self) -> None:
        self._depth = 0
        self._done = self._in_string = self._escaped = False

    @property
    def is_complete(self) -> bool:
        """True if an object has closed and only white space came after."""
        return self._done

    def feed(self, text: str) -> None:
        for character in text:
            if self._escaped:
                self._escaped = False
            elif self._in_string:
                if character == "\\":
                    self._escaped = True
                elif character == '"':
                    self._in_string = False
            elif character in "{[":
                self._depth += 1
                self._done = False
            elif character in "}]":
                self._depth -= 1
                self._done = self._depth == 0
            elif character == '"':
                self._in_string = True
            elif self._done and not character.isspace():
                self._done = False


def name_of(*candidates: Any) -> str:
    """The first of *candidates* that is a word: what a thing that is not understood is called."""
    return next((word for word in candidates if isinstance(word, str) and word), "")


def json_text(value: Any, data: bytes = b"", *path: str | int) -> str:
    """
    The JSON text of arguments that came as an object; text as it is; nothing for nothing.

    Where the exact text of the payload is in *data*, that of the arguments is taken from it, at *path*.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return (_json.raw_at(data, *path) if data else None) or _json.encode(value)
