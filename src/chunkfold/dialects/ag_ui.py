"""
AG-UI: the events by which an agent's run is shown to a user.

A run is not one answer: calls, their results and several messages are in it, each with an id of its own, and several
may be open at once. `..._CHUNK` events stand for start, content and end; they go on until the id changes or something
else of the conversation comes. What a messages snapshot says replaces what came before. Steps, state, activities and
the like are carried as they are. The run's outcome is its finish reason; one that has none was a success.

Manual: docs/dialects/ag-ui.md. Reference: docs.ag-ui.com, "Events".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.basis import _json
from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._ag_ui_costs import run_usage
from chunkfold.dialects._ag_ui_lanes import OF_PARTS, Lanes
from chunkfold.dialects._ag_ui_messages import cut_calls, key_of, write_whole
from chunkfold.dialects._ag_ui_retold import Retold, Telling
from chunkfold.dialects._ag_ui_snapshots import Came
from chunkfold.dialects._ag_ui_spelling import CALL, ENVELOPE, respelled, said, without_totals
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._errors import read_error
from chunkfold.dialects._native_fields import further_fields
from chunkfold.dialects._words import is_blank, is_real, text_or_none, word

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

_TEXT = ENVELOPE | {"messageId", "role", "delta"}
_RESULT = ENVELOPE | {"toolCallId", "content"}
_ENCRYPTED = ENVELOPE | {"subtype", "entityId", "encryptedValue"}
_RUN = ENVELOPE | {"usage"}
_TRANSPORT = frozenset({"timestamp", "rawEvent"})
_ERROR = _RUN | {"message", "code"}

# By the kind of a part: where its id stands in events, and their fields that it is made of.
_FIELDS: dict[str, tuple[str, frozenset[str]]] = {
    "text": ("messageId", _TEXT),
    "reasoning": ("messageId", _TEXT),
    "tool_call": ("toolCallId", CALL),
}

# Carried as they are, and under which name.
_CARRIED = {
    "STEP_STARTED": "steps",
    "STEP_FINISHED": "steps",
    "STATE_SNAPSHOT": "state",
    "STATE_DELTA": "state",
    "ACTIVITY_SNAPSHOT": "activities",
    "ACTIVITY_DELTA": "activities",
    "SUBAGENT_STARTED": "subagents",
    "SUBAGENT_FINISHED": "subagents",
    "SUBAGENT_ERROR": "subagents",
    "RAW": "raw",
    "CUSTOM": "custom",
}


class AGUI(Dialect):
    """The AG-UI protocol, version 1.0 and before."""

    name: ClassVar[str] = "ag-ui"
    ends_calls: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = ("delta",)
    words: ClassVar[Mapping[str, str]] = {"success": "stop", "interrupt": "pause"}

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = payload.get("type")
        if kind is None and isinstance(payload.get("messages"), list):
            return CERTAIN if "threadId" in payload or "runId" in payload else NO
        if not isinstance(kind, str) or kind not in HANDLERS:
            return NO
        return LIKELY if kind in ("RAW", "CUSTOM") else CERTAIN

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        # The parts that chunks without an id go on.
        self._lanes = Lanes(writer)
        # Messages of others than the assistant: their first event, and their text.
        self._others: dict[str, tuple[dict[str, Any], list[str]]] = {}
        # The messages that the run was given; a snapshot repeats them.
        self._given: set[str] = set()
        # The first run, and the names that it has for itself: some servers say them in every event.
        self._run: Any = None
        self._names: dict[str, Any] = {}
        # Reasoning has come in events of its own.
        self._has_reasoned = False
        # The parts that belong to messages and calls, for a snapshot to compare with.
        self._came = Came(writer)
        self._retold = Retold(writer)

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        payload = respelled(payload)
        kind: Any = payload.get("type")
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if kind is None and isinstance(payload.get("messages"), list):
            if not self.is_error(payload, frame, "messages"):
                self._whole(payload, frame)
            return
        if kind != "RUN_STARTED":
            self.w.message()
        if handler is not None:
            if "runId" in payload or "threadId" in payload:
                payload = self._nameless(payload, kind)
            if not kind.endswith("_CHUNK"):
                self._lanes.leave(kind, payload)
            if kind.startswith("TOOL_CALL_") and not isinstance(payload.get("delta") or "", str):
                payload = {**payload, "delta": json_text(payload["delta"], frame, "delta")}
            handler(self, payload, frame)
            if kind not in _OWN_ERRORS:
                self.error_beside(payload)
        else:
            self.strange(payload, frame, word(kind, frame.event))

    def close(self) -> None:
        self._start_held(self._retold.settle())
        super().close()
        for id_ in list(self._others):
            self._end_other(id_)

    # The run

    def _run_started(self, payload: dict[str, Any], frame: Frame) -> None:
        self._start_held(self._retold.settle())
        if self._run and self._run == payload.get("runId") and (self.w.errored or not self.end_seen):
            self.begin_again(self._run)
        elif self.end_seen:
            # Another run may follow, or the next turn of this one; nothing is at its end any more.
            self.end_seen = False
            self.w.reset(self.w.count(0), "step")
        self._retold.begin_run()
        self._run = self._run or payload.get("runId")
        self._names = self._names or {name: payload[name] for name in ("threadId", "runId") if name in payload}
        self.w.message(id=self._run, model=said(payload, "model"))
        self._take_input(payload)
        self.w.extras(payload, _RUN)

    def _nameless(self, payload: dict[str, Any], kind: str) -> dict[str, Any]:
        """What is said of a text, a thought or a call, without what the run has said of itself."""
        if not kind.startswith(OF_PARTS):
            return payload
        names = self._names
        return {name: payload[name] for name in payload if name not in names or names[name] != payload[name]}

    def begin_again(self, next_id: Any = None) -> None:
        self._others.clear()
        self._came.clear()
        self._retold.clear()
        self._lanes.clear()
        super().begin_again(next_id)

    def _take_input(self, payload: dict[str, Any]) -> None:
        given = payload.get("input")
        for _, message in self.w.objects("input", given.get("messages") if isinstance(given, dict) else None):
            self._given.add(key_of(message.get("id")))

    def _run_finished(self, payload: dict[str, Any], frame: Frame) -> None:
        """Before 1.0 there was no outcome: a run that finishes is a success."""
        self._start_held(self._retold.settle())
        self.end_seen = True
        self.w.message(model=said(payload, "model"))
        self._usage(payload)
        self._outcome(payload)
        self.w.extras(payload, _RUN)
        self.tell_error(payload)

    def _outcome(self, payload: dict[str, Any]) -> None:
        """
        The body has an outcome, if only `null`, where the run has finished. A finish reason says more than success.
        """
        w, outcome, reason = self.w, payload.get("outcome"), said(payload, "finishReason")
        facts = outcome if isinstance(outcome, dict) else {}
        pending = facts.get("pendingToolCallIds") or facts.get("pending_tool_call_ids")
        if is_real(reason) and not pending and (is_blank(outcome) or facts.get("type") == "success"):
            w.finish(0, reason)
        elif isinstance(outcome, dict):
            w.finish(0, facts.get("type"), "tool_calls" if pending else None)
        else:
            w.finish(0, outcome, "stop" if is_blank(outcome) else None)
        w.extra(("outcome",), outcome)

    def _run_error(self, payload: dict[str, Any], frame: Frame) -> None:
        self._start_held(self._retold.settle())
        self.end_seen = True
        self._usage(payload)
        error = payload.get("error")
        told = {key: payload[key] for key in ("message", "code") if not is_blank(payload.get(key))}
        self.w.error(read_error({**(error if isinstance(error, dict) else {"message": error}), **told}, raw=payload))
        self.w.extras(payload, _ERROR)

    def _usage(self, payload: dict[str, Any]) -> None:
        """One entry for each call of a model."""
        usage = payload.get("usage")
        entries = [entry for _, entry in self.w.objects("usage", usage)]
        if "usage" in payload and not entries:
            self.w.extra(("usage",), usage)
        if entries:
            self.w.usage({"usage": entries}, run_usage)

    # Messages and reasoning

    def _text_start(self, payload: dict[str, Any], frame: Frame) -> None:
        role = payload.get("role")
        if role and role != "assistant":
            self._others[key_of(payload.get("messageId"))] = (payload, [])
        else:
            self._start("text", payload)

    def _text_content(self, payload: dict[str, Any], frame: Frame) -> None:
        other = self._others.get(key_of(payload.get("messageId")))
        if other is None:
            self._piece("text", without_totals(payload))
        elif isinstance(payload.get("delta"), str):
            other[1].append(payload["delta"])

    def _text_end(self, payload: dict[str, Any], frame: Frame) -> None:
        self._close("text", payload)
        self._end_other(key_of(payload.get("messageId")))

    def _end_other(self, id_: str) -> None:
        """What a user, a developer or the system says is no answer: it is carried whole."""
        started, texts = self._others.pop(id_, (None, []))
        if started is not None:
            self.w.unknown("message", {**further_fields(started, ENVELOPE), "content": "".join(texts)})

    def _text_chunk(self, payload: dict[str, Any], frame: Frame) -> None:
        role = payload.get("role")
        id_ = key_of(payload.get("messageId"))
        if id_ in self._others or (role and role != "assistant"):
            self._others.setdefault(id_, (payload, []))
            self._text_content(payload, frame)
        else:
            self._chunk_of("text", payload)

    def _reasoning(self, payload: dict[str, Any], frame: Frame) -> None:
        self._has_reasoned = True
        _VERBS[payload["type"].rpartition("_")[2]](self, "reasoning", payload)

    def _span(self, payload: dict[str, Any], frame: Frame) -> None:
        """The reasoning's messages say all that its span does."""
        self.w.extras(payload, _TEXT)

    def _encrypted(self, payload: dict[str, Any], frame: Frame) -> None:
        """To be kept on the message or the call that it belongs to; on a part of its own where there is none."""
        w = self.w
        id_, value = payload.get("entityId"), payload.get("encryptedValue")
        kinds: tuple[Kind, ...] = ("tool_call",) if payload.get("subtype") == "tool-call" else ("reasoning", "text")
        slots = [w.slot(0, (kind, key_of(id_))) for kind in kinds]
        slot = next((slot for slot in slots if slot is not None), None)
        if slot is None and kinds == ("tool_call",):
            w.unknown("REASONING_ENCRYPTED_VALUE", payload)
            return
        if slot is None:
            slot = self._open("reasoning", {"messageId": id_})
        name = "encrypted" if slot.kind == "reasoning" else "encryptedValue"
        self._tell(slot, {name: value, **further_fields(payload, _ENCRYPTED)})

    # Calls and their results

    def _call(self, payload: dict[str, Any], frame: Frame) -> None:
        verb, payload = payload["type"].rpartition("_")[2], without_totals(payload)
        if verb == "START":
            is_over = self._result_of(payload.get("toolCallId")) is not None
            if self._retold.begin(None if is_over else self._found("tool_call", payload), payload):
                return
        if self._retold.take(payload) is None:
            _VERBS[verb](self, "tool_call", payload)

    def _start_held(self, held: Iterable[Telling]) -> None:
        """What was told under the id of a call before is of others."""
        for telling in held:
            slot = self._open("tool_call", telling.start)
            for piece in telling.pieces:
                self.w.delta(slot, piece)
            if telling.is_over:
                self.w.stop(slot)

    def _call_end(self, payload: dict[str, Any], frame: Frame) -> None:
        """The arguments are complete; the tool has not run yet, or the end says it a second time with the result."""
        id_, given, result = payload.get("toolCallId"), payload.get("input"), payload.get("result")
        telling = self._retold.take(_without(payload, "result"))
        if telling is not None:
            self._retold.end(telling)
            payload = {"toolCallId": id_}
        slot = self._found("tool_call", payload)
        if slot is not None and not slot.has_text and is_blank(payload.get("delta")) and not is_blank(given):
            payload = {**_without(payload, "input"), "delta": json_text(given, frame, "input")}
        self._close("tool_call", _without(payload, "result"))
        if not is_blank(result):
            self._add_result(id_, result, {})

    def _call_result(self, payload: dict[str, Any], frame: Frame) -> None:
        extra = further_fields(payload, _RESULT)
        if payload.get("isError") is True:
            extra["is_error"] = True
        self._add_result(payload.get("toolCallId"), payload.get("content"), extra)

    def _add_result(self, id_: Any, content: Any, extra: dict[str, Any]) -> None:
        """A result stands after its call. One that is stated again replaces; ids may come again with another call."""
        self._start_held(self._retold.answer(id_))
        w, fields, slot = self.w, {**extra, "content": content}, self._result_of(id_)
        if slot is not None:
            w.update(slot, extra=fields)
            return
        call = w.slot(0, ("tool_call", key_of(id_)))
        name, number = (call.name, call.index) if call is not None else (None, None)
        key = ("result", key_of(id_))
        slot = w.start(0, "server_tool_result", key=key, id=id_, name=name, number=number, extra=fields)
        w.stop(slot)
        self._came.add(key, slot)

    def _result_of(self, id_: Any) -> Slot | None:
        """The result that came for the last call of that id. One that came before any call is that call's, too."""
        call, slot = (self.w.slot(0, (kind, key_of(id_))) for kind in ("tool_call", "result"))
        return slot if slot is None or slot.number is None or (call and slot.number == call.index) else None

    # Parts by their ids

    def _start(self, kind: Kind, payload: dict[str, Any]) -> None:
        """A start, which may have the first piece."""
        self.w.delta(self._open(kind, payload), payload.get("delta"))

    def _open(self, kind: Kind, payload: dict[str, Any]) -> Slot:
        """Open a part, or go on with one of the same id that is open and still has no text."""
        w = self.w
        id_field, known = _FIELDS[kind]
        id_, name = payload.get(id_field), payload.get("toolCallName") if kind == "tool_call" else None
        key = (kind, key_of(id_))
        before = w.slot(0, key)
        if before is not None and before.open:
            if not before.has_text and before.name in (None, name):
                w.identify(before, name=name)
                w.take_up(before)
                self._tell(before, further_fields(payload, known))
                return before
            w.stop(before)
        extra = _without(payload, *known)
        slot = w.start(0, kind, key=key, id=id_, name=name, tool_type="function", extra=extra)
        slot.beside["metadata"] = extra.get("metadata")
        self._came.add(key, slot)
        return slot

    def _tell(self, slot: Slot, fields: dict[str, Any]) -> None:
        """What an event says of a part beside its text. Of metadata the last value of each name stands (AG-UI 1.0)."""
        now, before = fields.get("metadata"), slot.beside.get("metadata")
        if isinstance(now, dict):
            now = {**before, **now} if isinstance(before, dict) else now
            slot.beside["metadata"], fields = now, {**fields, "metadata": now}
        self.w.update(slot, extra=fields)

    def _found(self, kind: Kind, payload: dict[str, Any]) -> Slot | None:
        """The part of that id. What has none is of the last call, unless it names another, or of the text at hand."""
        id_, name = payload.get(_FIELDS[kind][0]), payload.get("toolCallName")
        if not is_blank(id_):
            return self.w.slot(0, (kind, key_of(id_)))
        slot = self.w.last_call(0) if kind == "tool_call" else self.w.at_hand(0)
        if slot is None or slot.kind != kind or (not is_blank(name) and not (slot.open and slot.name in (None, name))):
            return None
        return slot

    def _piece(self, kind: Kind, payload: dict[str, Any]) -> Slot:
        """
        More of a part. One that was never opened is opened, and so is a text that has ended. A call goes on, unless the
        id is that of a call that has its result already.
        """
        is_call = kind == "tool_call"
        slot = self._found(kind, payload)
        if slot is None or not (slot.open or (is_call and self._result_of(payload.get("toolCallId")) is None)):
            slot = self._open(kind, payload)
        else:
            self._tell(slot, further_fields(payload, _FIELDS[kind][1]))
            if is_call and slot.name is None:
                self.w.identify(slot, name=payload.get("toolCallName"))
        self.w.delta(slot, payload.get("delta"))
        return slot

    def _close(self, kind: Kind, payload: dict[str, Any]) -> None:
        slot = self._found(kind, payload)
        if slot is not None:
            if slot.open:
                self._piece(kind, payload)
            else:
                self._tell(slot, further_fields(payload, _FIELDS[kind][1]))
            self.w.stop(slot)

    def _chunk_of(self, kind: Kind, payload: dict[str, Any]) -> None:
        """
        A chunk: start, content and end in one. Without an id it goes on the last one of its kind. Calls may take turns.
        """
        field, lanes = _FIELDS[kind][0], self._lanes
        teller = lanes.teller(kind, payload.get(field), payload)
        last = lanes.at_hand(teller)
        if last is not None and (last.kind != kind or (payload.get(field) and payload[field] != last.id)):
            if not last.kind == kind == "tool_call":
                lanes.end(teller)
            last = None
        if last is not None:
            payload = {**payload, field: last.id}
        else:
            self.w.singular = True  # what comes next may mean another part than it did
        lanes.put(teller, self._piece(kind, payload))

    # Snapshots, and what is carried

    def _messages(self, payload: dict[str, Any], frame: Frame) -> None:
        """
        All messages of the conversation. Those since the user's last one, but for what the run was given, are this
        run's: they replace what came before.
        """
        w, messages = self.w, payload.get("messages")
        self._start_held(self._retold.settle())
        w.extras(payload, ENVELOPE | {"messages"})
        history, turn = self._divided([message for _, message in w.objects("message", messages)])
        # What becomes of the turn is in the parts; the rest is kept.
        kept = history + [message for message in turn if word(message.get("role")) not in _MESSAGES]
        if "messages" in payload:
            w.extra(("messages",), kept if isinstance(messages, list) else messages)
        if turn:
            self._came.compare(turn)
            w.message(id=self._run)
        for message in turn:
            if (state := _MESSAGES.get(word(message.get("role")))) is not None:
                state(self, message)

    def _divided(self, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The messages of before, and those of this run."""
        users = [place for place, message in enumerate(messages) if message.get("role") == "user"]
        begin = users[-1] + 1 if users else 0
        # A run that goes on with the results of the client's tools begins behind them: they stand before all that came.
        first = self._came.place_in(messages[begin:])
        results = [place for place in range(begin, begin + (first or 0)) if messages[place].get("role") == "tool"]
        begin = results[-1] + 1 if results else begin
        history = messages[:begin]
        turn: list[dict[str, Any]] = []
        for message in messages[begin:]:
            (history if key_of(message.get("id")) in self._given else turn).append(message)
        return history, turn

    def _assistant_message(self, message: dict[str, Any]) -> None:
        w = self.w
        self._state("text", message, _ASSISTANT)
        for _, call in w.objects("tool_call", message.get("toolCalls")):
            function = call["function"] if isinstance(call.get("function"), dict) else {}
            start = {
                "toolCallId": call.get("id"),
                "toolCallName": function.get("name"),
                "parentMessageId": message.get("id"),
                **further_fields(call, _ENTRY),
            }
            slot = self._came.next(("tool_call", key_of(call.get("id"))))
            if slot is None:
                slot = self._open("tool_call", start)
            else:
                parent = {"parentMessageId": message.get("id")} if self._came.is_renamed else {}
                w.update(slot, extra={**parent, **further_fields(call, _ENTRY)})
            text = json_text(function.get("arguments"))
            if slot.has_text and not slot.open and text.strip() and not _json.is_object(text, w.json_depth):
                w.diagnose("bad_restatement", f"{len(text)} characters of argument text", 0, slot.index)
            else:
                w.restate_call(slot, text)
            w.stop(slot)

    def _reasoning_message(self, message: dict[str, Any]) -> None:
        self._state("reasoning", message, _REASONING)

    def _state(self, kind: Kind, message: dict[str, Any], known: frozenset[str]) -> None:
        """The text of a message as it stands, if it has one: what was gathered gives way to it."""
        content = message.get("content")
        if not isinstance(content, str) or not content:
            return
        slot = self._came.next((kind, key_of(message.get("id"))))
        if slot is None:
            slot = self._open(kind, {"messageId": message.get("id")})
            self.w.delta(slot, content)
        else:
            self.w.restate_text(slot, content)
            if self._came.is_renamed:
                self.w.update(slot, id=text_or_none(message.get("id")))
        rest = further_fields(message, known)
        if kind == "reasoning" and message.get("encryptedValue"):
            rest["encrypted"] = message["encryptedValue"]
        self.w.update(slot, extra=rest)
        self.w.stop(slot)

    def _tool_message(self, message: dict[str, Any]) -> None:
        failed = {"is_error": True, "error": message["error"]} if message.get("error") else {}
        rest = {"messageId": message.get("id"), **further_fields(message, _TOOL), **failed}
        self._add_result(message.get("toolCallId"), message.get("content"), rest)

    def _step_finished(self, payload: dict[str, Any], frame: Frame) -> None:
        """TanStack AI tells what a model thinks in steps, at first there alone and later once more."""
        if self._has_reasoned or not isinstance(payload.get("delta"), str):
            self._carry(payload, frame)
            return
        thought = {"messageId": payload.get("stepId"), **_without(without_totals(payload), "stepId", "signature")}
        self.w.update(self._piece("reasoning", thought), signature=payload.get("signature"))

    def _carry(self, payload: dict[str, Any], frame: Frame) -> None:
        value = {name: value for name, value in payload.items() if name not in _TRANSPORT}
        self.w.extra((_CARRIED[payload["type"]], "-"), value)

    # The messages of a run that was not streamed

    def _whole(self, payload: dict[str, Any], frame: Frame) -> None:
        """All that the events of a run say, at the end: each message of this run as it stands."""
        w = self.w
        self.restated(payload["messages"])
        self.whole()
        self.end_seen = "outcome" in payload
        w.message(id=payload.get("runId"), model=said(payload, "model"))
        self._take_input(payload)
        w.extras(payload, _RUN | {"messages"})
        self._usage(payload)
        messages = payload["messages"]
        objects = [message for message in messages if isinstance(message, dict)]
        history, _ = self._divided(objects)
        if history or not messages:
            w.extra(("messages",), history)
        known = set(map(id, history))
        for message in messages:
            if id(message) not in known:
                write_whole(w, message)
        if "outcome" in payload:
            self._outcome(payload)
        else:
            cut_calls(w)
        self.tell_error(payload)


def _without(payload: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name not in names}


# What a part is made of in each kind of message, and in a call.
_ASSISTANT = frozenset({"id", "role", "content", "toolCalls"})
_REASONING = frozenset({"id", "role", "content", "encryptedValue"})
_TOOL = frozenset({"id", "role", "content", "toolCallId", "error"})
# Events that are errors, that tell the one beside themselves, or whose errors are a tool's.
_OWN_ERRORS = frozenset({"RUN_ERROR", "RUN_FINISHED", "TOOL_CALL_RESULT"})
_ENTRY = frozenset({"id", "type", "function"})

_MESSAGES: dict[str, Callable[[AGUI, dict[str, Any]], None]] = {
    "assistant": AGUI._assistant_message,
    "reasoning": AGUI._reasoning_message,
    "tool": AGUI._tool_message,
}

# What events do to a part of some kind, by the last word of their name.
_VERBS: dict[str, Callable[[AGUI, Kind, dict[str, Any]], object]] = {
    "START": AGUI._start,
    "CONTENT": AGUI._piece,
    "ARGS": AGUI._piece,
    "END": AGUI._close,
    "CHUNK": AGUI._chunk_of,
}

HANDLERS: dict[str, Callable[[AGUI, dict[str, Any], Frame], None]] = {
    "RUN_STARTED": AGUI._run_started,
    "RUN_FINISHED": AGUI._run_finished,
    "RUN_ERROR": AGUI._run_error,
    "TEXT_MESSAGE_START": AGUI._text_start,
    "TEXT_MESSAGE_CONTENT": AGUI._text_content,
    "TEXT_MESSAGE_END": AGUI._text_end,
    "TEXT_MESSAGE_CHUNK": AGUI._text_chunk,
    "TOOL_CALL_START": AGUI._call,
    "TOOL_CALL_ARGS": AGUI._call,
    "TOOL_CALL_END": AGUI._call_end,
    "TOOL_CALL_CHUNK": AGUI._call,
    "TOOL_CALL_RESULT": AGUI._call_result,
    "REASONING_START": AGUI._span,
    "REASONING_END": AGUI._span,
    **{f"REASONING_MESSAGE_{verb}": AGUI._reasoning for verb in ("START", "CONTENT", "END", "CHUNK")},
    "REASONING_ENCRYPTED_VALUE": AGUI._encrypted,
    # What reasoning was called before 1.0.
    "THINKING_START": AGUI._span,
    "THINKING_END": AGUI._span,
    **{f"THINKING_TEXT_MESSAGE_{verb}": AGUI._reasoning for verb in ("START", "CONTENT", "END")},
    "MESSAGES_SNAPSHOT": AGUI._messages,
    **dict.fromkeys(_CARRIED, AGUI._carry),
    "STEP_FINISHED": AGUI._step_finished,
}

AGUI.payloads = tuple(HANDLERS)
DIALECT = AGUI
