"""
Google's Interactions API: `interaction.created`, numbered steps with start, deltas and stop, `interaction.completed`.

`event_type` says what an event is (in Google's guide to migration `type`). A step is a thought, the model's output, a
call or a result; the output may hold several contents one after the other. Arguments of functions come as text, those
of the server's own tools whole. The interaction that closes the stream may leave its steps out. The last status is the
finish reason. An older revision has the same events under the names `content.*`.

Manual: docs/dialects/gemini-interactions.md. Reference: ai.google.dev/gemini-api/docs/interactions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._errors import error_event
from chunkfold.dialects._interactions_costs import Costs, interactions_usage
from chunkfold.dialects._media import base64_bytes, base64_form, media_kind
from chunkfold.dialects._slots import CALLS
from chunkfold.dialects._words import are_objects_once, counted, is_blank, is_real, text_or_none, word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

# `event_id` is where a broken stream can be taken up again.
_EVENT = frozenset(
    {
        "event_type", "event_id", "interaction", "interaction_id", "status", "index", "step", "content", "delta",
        "error", "usage", "step_usage", "metadata", "type",
    }
)  # fmt: skip
_FLAT = _EVENT | {"id", "object"}
_INTERACTION = frozenset({"id", "model", "created", "status", "usage", "steps", "outputs", "error"})
_METADATA = frozenset({"total_usage"})
_OUTPUT = frozenset({"content"})
_SUMMARY = frozenset({"type", "content", "text", "thought"})
_TEXT = frozenset({"type", "text", "annotations"})
_THOUGHT = frozenset({"type", "signature", "summary"})
_CALL = frozenset({"type", "id", "name", "arguments"})
_ARGUMENTS = _CALL | {"partial_arguments"}
_RESULT = frozenset({"call_id", "name", "result"})
_MEDIA = frozenset({"data", "mime_type", "uri"})
_OPTIONAL = ("name", "result", "is_error")
# Of these the older revision has others in its place.
_LISTS = ("steps", "outputs")

# The states of an interaction that goes on.
_PENDING = frozenset({"created", "in_progress", "queued", "idle"})
# Events that bring nothing of the answer.
_NO_OUTPUT = frozenset({"interaction.created", "interaction.start", "interaction.status_update"})
# The ends that have events of their own names with some revisions and proxies.
_CLOSING = ("failed", "cancelled", "incomplete", "requires_action")


class GeminiInteractions(Dialect):
    """Google's Interactions API, streamed."""

    name: ClassVar[str] = "gemini-interactions"
    ends_calls: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = ("text", "arguments")
    words: ClassVar[Mapping[str, str]] = {
        "requires_action": "tool_calls",
        "incomplete": "length",
        "budget_exceeded": "length",
    }

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = _kind(payload, event)
        if isinstance(kind, str) and kind in HANDLERS and kind != "error":
            # OpenAI's helper has a `content.delta` too, whose delta is the text.
            return NO if isinstance(payload.get("delta"), str) else CERTAIN
        return CERTAIN if payload.get("object") == "interaction" and "status" in payload else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._started = False
        # The step that was spoken of last, for events that do not say which they mean.
        self._last: int | str = 0
        self._step_seen = False
        # The steps that hold a part already, and whether they came in a body that was not streamed.
        self._begun: set[int | str] = set()
        self._is_whole = self._is_streamed = False
        # An interaction may be gone on with by another, whose steps are behind those of the ones before.
        self._is_to_go_on = self._is_rest = False
        self._ids: dict[str, None] = {}
        self._own_id: str | None = None
        self._ids_told: dict[str, None] = {}
        self._parts_before = self._before = self._steps = 0
        self._costs = Costs()

    def close(self) -> None:
        super().close()
        self.cut_in_a_body()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        kind = _kind(payload, frame.event)
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            number: Any = payload.get("index")
            if type(number) in (int, str) and number != "":
                self._last = self._before + number if isinstance(number, int) else number
            self._is_streamed = True
            handler(self, payload, frame)
            self._note_place(kind, payload)
            self._usage(payload.get("usage"))
            metadata = payload.get("metadata")
            if isinstance(metadata, dict):
                self._usage(metadata.get("total_usage"))
                w.extras(metadata, _METADATA, "metadata")
            if payload.get("object") == "content":
                w.message(id=payload.get("id"))
                w.extras(payload, _FLAT)
            elif interaction_in(payload) is not payload:
                w.extras(payload, _EVENT)
            self.error_beside(payload)
            if kind.startswith("content."):
                w.extra(("outputs",), {})  # the name of the list of steps
        elif payload.get("object") == "interaction":
            steps = payload.get("steps") or payload.get("outputs")
            self._restated(steps if isinstance(steps, list) else None, text_or_none(payload.get("id")))
            self._is_whole = not self._is_streamed
            if self._is_whole:
                self.whole()
            self._interaction(payload, frame)
            self.end_seen = w.finished > 0
        else:
            self.strange(payload, frame, word(kind))

    # The interaction

    def begin_again(self, next_id: Any = None) -> None:
        self._last, self._step_seen, self._is_streamed = 0, False, False
        self._before = self._steps = 0
        self._is_to_go_on = self._is_rest = False
        self._begun.clear()
        self._ids.clear()
        self._costs.clear()
        super().begin_again(next_id)

    def _created(self, payload: dict[str, Any], frame: Frame) -> None:
        interaction = interaction_in(payload)
        if isinstance(interaction, dict):
            id_ = text_or_none(interaction.get("id"))
            if self._is_rest and id_ is not None and id_ == self._own_id:
                self._begin_rest("replay")
            elif self._started and self._is_to_go_on and id_ not in self._ids:
                self._go_on()
            elif self._started:
                self.begin_again(id_)
            self._started, self._own_id = True, id_
            if id_ is not None:
                self._ids[id_] = None
            if self._is_rest:
                self._tell_ids(id_)
        self._interaction(payload, frame)

    def _go_on(self) -> None:
        """
        Google's SDK asks for the rest, where a limit of the service was reached or the connection broke: that is
        another interaction, which costs again what it reads. Where it brings nothing the SDK asks once more.
        """
        for index in self._begun:
            if (slot := self.w.slot(0, index)) is not None:
                self.w.cut(slot)
                self.w.stop(slot)
        if not self._is_rest:
            self._tell_ids(self._own_id)
        self._is_rest = True
        self._parts_before, self._before = self.w.count(0), self._steps
        self._costs.go_on()
        self._begin_rest("step")

    def _begin_rest(self, reason: str) -> None:
        """What goes on with others begins, or comes again: then it alone is void."""
        if reason == "replay" and self.end_seen:
            self.tell_of_several()
        self.end_seen = self._step_seen = False
        self._last = self._steps = self._before
        self._begun.clear()
        self._is_to_go_on = True
        self.w.reset(self._parts_before, reason)

    def _tell_ids(self, id_: str | None) -> None:
        if id_ is not None and id_ not in self._ids_told:
            self._ids_told[id_] = None
            self.w.extra(("continuation_ids", "-"), id_)

    def _restated(self, steps: list[Any] | None, id_: str | None) -> None:
        """All of an interaction, once more or another one; of what goes on with others only that is void."""
        if self._is_rest and id_ is not None and id_ == self._own_id:
            if any(isinstance(step, dict) for step in steps or ()):
                self.end_seen = False  # it is no other message
                self._begin_rest("replay")
        else:
            self.restated(steps)

    def _note_place(self, kind: str, payload: dict[str, Any]) -> None:
        """
        Whether another interaction may go on behind this event: it tells a place where, this one is not over, and
        nothing came since.
        """
        interaction = interaction_in(payload)
        said = interaction if isinstance(interaction, dict) else payload
        status = said.get("status")
        is_open = not is_real(status) or status in _PENDING
        if status == "requires_continuation" or (is_open and not is_blank(said.get("continuation_token"))):
            self._is_to_go_on = True
        elif kind not in _NO_OUTPUT:
            self._is_to_go_on = False

    def _usage(self, raw: Any) -> None:
        if isinstance(raw, dict) and raw:
            self.w.usage(self._costs.add(raw), interactions_usage)

    def _completed(self, payload: dict[str, Any], frame: Frame) -> None:
        """The end, by the status of the interaction, else by the name of the event, where an error may stand too."""
        self._interaction(payload, frame)
        name = word(_kind(payload, frame.event)).rpartition(".")[2]
        interaction = interaction_in(payload)
        status = interaction.get("status") if isinstance(interaction, dict) else None
        if not status and payload.get("status"):
            self._finish(payload["status"])
        elif not status and (name in _CLOSING or not self.w.finished):
            self._finish("completed" if name == "complete" else name)
        self.end_seen = True

    def _interaction(self, payload: dict[str, Any], frame: Frame) -> None:
        """The facts, and the steps if no event has brought any."""
        w, interaction = self.w, interaction_in(payload)
        path = () if interaction is payload else ("interaction",)
        if not isinstance(interaction, dict):
            w.unknown("interaction", interaction)
            return
        w.message(id=interaction.get("id"), model=interaction.get("model"), created=interaction.get("created"))
        key = "steps" if "steps" in interaction else "outputs"
        steps = interaction.get(key)
        w.blanks(interaction, () if self._is_whole else (*_LISTS, "event_type"))
        if isinstance(steps, list) and steps and not self._step_seen:
            w.extra((key,), {})
            for place, step in enumerate(steps):
                self._last = self._before + place
                self._start(step, frame, *path, key, place)
                self._stop(self._last)
        usage = interaction.get("usage")
        self._usage(usage)
        if usage is not None and not isinstance(usage, dict):
            w.extra(("usage",), usage)
        known = _INTERACTION | _EVENT if "event_type" in interaction else _INTERACTION
        # What is gone on with has one before it too.
        w.extras(interaction, known | {"previous_interaction_id"} if self._is_rest else known)
        self._finish(interaction.get("status"))
        self.tell_error(interaction)

    def _status(self, payload: dict[str, Any], frame: Frame) -> None:
        """How far the interaction is, which may stand there whole."""
        if interaction_in(payload) is not None:
            self._interaction(payload, frame)
        self.w.message(id=payload.get("interaction_id"))
        self._finish(payload.get("status"))

    def _finish(self, status: Any) -> None:
        if is_real(status) and status not in _PENDING:
            self.w.finish(0, status)
        elif status:
            self.w.extra(("status",), status)

    # Steps

    def _step_start(self, payload: dict[str, Any], frame: Frame) -> None:
        key = next((key for key in ("step", "content", "delta") if key in payload), "step")
        self._start(payload.get(key), frame, key)

    def _start(self, step: Any, frame: Frame, *path: str | int) -> None:
        index = self._last
        self._see(index)
        self._stop(index)
        self._begun.discard(index)
        if not isinstance(step, dict):
            self.w.unknown("step", step)
            return
        kind = word(step.get("type"), default="step")
        _by_kind(STEPS, kind, GeminiInteractions._unknown_step)(self, index, step, frame, *path)

    def _see(self, index: int | str) -> None:
        self._step_seen = True
        if isinstance(index, int):
            self._steps = max(self._steps, index + 1)

    def _output(self, index: int | str, step: dict[str, Any], frame: Frame, *path: str | int) -> None:
        for _, item in self.w.objects("content", step.get("content")):
            handler = CONTENTS.get(word(item.get("type")))
            if handler is not None:
                self._stop(index)
                handler(self, index, item, frame)
            else:
                self.w.unknown(f"content.{word(item.get('type'), default='None')}", item)
        self.w.blanks(step, (), "steps", index)
        self.w.extras(step, _OUTPUT, "steps", index)

    def _place(self, index: int | str) -> dict[str, Any]:
        """Which step a part belongs to, and whether others are in it before."""
        place: dict[str, Any] = {"$field": index}
        if index in self._begun:
            place["$form"] = "inner"
        self._begun.add(index)
        return place

    def _thought(self, index: int | str, step: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A thought; in a body that was not streamed each paragraph of its summary is a part."""
        w = self.w
        rest = {key: value for key, value in step.items() if key not in _THOUGHT or not value}
        slot = w.start(0, "reasoning", key=index, extra={**rest, "summary": True, **self._place(index)})
        w.update(slot, signature=step.get("signature"))
        if "summary" in step and not step["summary"]:
            w.update(slot, extra={"summary": step["summary"]})
        for nth, (_, item) in enumerate(w.objects("summary", step.get("summary"))):
            if nth and self._is_whole:
                self._stop(index)
            self._thought_summary(index, {"content": item}, frame)

    def _call(self, index: int | str, step: dict[str, Any], frame: Frame, *path: str | int) -> Slot:
        """A function of the client's, or any of the server's tools."""
        w = self.w
        kind = word(step.get("type"), default="step")
        is_function = kind == "function_call"
        slot = w.start(
            0,
            "tool_call" if is_function else "server_tool_call",
            key=index,
            id=step.get("id"),
            name=step.get("name") or (None if is_function else kind.removesuffix("_call")),
            tool_type="function" if is_function else kind,
            extra={
                # Some of the server's tools take no arguments; a function that is called without any has empty ones.
                **_described(step, _CALL, ("name",) if is_function and not self._is_whole else ("name", "arguments")),
                **self._place(index),
                **({"index": index} if type(index) is int else {}),
            },
        )
        if isinstance(step.get("arguments"), str) and self._is_whole:
            self.note_form(slot, "string")
        if step.get("arguments"):
            slot.start_input = json_text(step["arguments"], frame, *path, "arguments")
        return slot

    def _result(self, index: int | str, step: dict[str, Any], frame: Frame, *path: str | int) -> None:
        kind = word(step.get("type"), default="step")
        extra = {**_described(step, _RESULT, _OPTIONAL), **self._place(index), "content": step.get("result")}
        name = step.get("name") or kind.removesuffix("_result")
        slot = self.w.start(0, "server_tool_result", key=index, id=step.get("call_id"), name=name, extra=extra)
        slot.extra = extra

    def _unknown_step(self, index: int | str, step: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A step that is no part of the answer, such as the user's input, or a new one."""
        self.w.start(0, "unknown", key=index, name=word(step.get("type"), default="step"), extra=step)

    def _step_stop(self, payload: dict[str, Any], frame: Frame) -> None:
        self._stop(self._last)
        for key, name in (("step_usage", "usage"), ("status", "status")):
            if payload.get(key):
                self.w.extra(("steps", self._last, name), payload[key])

    def _stop(self, index: int | str) -> None:
        slot = self.w.slot(0, index)
        if slot is not None:
            self.w.stop(slot)

    # Deltas

    def _step_delta(self, payload: dict[str, Any], frame: Frame) -> None:
        index, delta = self._last, payload.get("delta")
        self._see(index)
        slot = self.w.slot(0, index)
        kind = word(delta.get("type"), default="None") if isinstance(delta, dict) else "step.delta"
        handler = _by_kind(DELTAS, kind, None)
        if handler is None or (slot is not None and slot.open and slot.kind == "unknown"):
            self.w.unknown(kind, payload)
        else:
            handler(self, index, delta, frame, "delta")

    def _text(self, index: int | str, delta: dict[str, Any], frame: Frame, *path: str | int) -> None:
        rest = {key: value for key, value in delta.items() if key not in _TEXT or value is None or value == []}
        if delta.get("text") or rest or self._is_whole:
            slot = self._content(index, "text", rest)
            self.w.delta(slot, delta.get("text"))
            said = {key: value for key, value in rest.items() if value is not None and value != []}
            if said and slot.extra is not rest:
                self.w.update(slot, extra=said)
        self._annotations(index, delta, frame)

    def _annotations(self, index: int | str, delta: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """Citations, each whole."""
        items, slot = delta.get("annotations"), self.w.slot(0, index)
        if items:
            text = slot if slot is not None and slot.kind == "text" else None
            given = items if isinstance(items, list) else [items]
            self.w.annotations(0, text, given)
            if text is not None and not are_objects_once(given):
                self.w.update(text, extra={"annotations": items})

    def _thought_summary(self, index: int | str, delta: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A paragraph. Proxies, and Google's guides, have its text in the delta itself."""
        content, text = delta.get("content"), delta.get("text") or delta.get("thought")
        if not content and isinstance(text, str):
            content = {"type": "text", "text": text}
        if isinstance(content, dict) and isinstance(content.get("text"), str):
            slot = self._content(index, "reasoning", {"summary": True})
            self.w.delta(slot, content["text"])
            self.w.update(slot, extra=slot.news(_rest(delta, _SUMMARY)))
            inner = {key: value for key, value in content.items() if key != "text" or not value}
            if inner != {"type": "text"}:
                self.w.update(slot, extra=slot.news({"summary": [inner]}))
        elif content:
            self._stop(index)  # what follows a picture is another paragraph
            self.w.unknown("thought_summary", content)

    def _thought_signature(self, index: int | str, delta: dict[str, Any], frame: Frame, *path: str | int) -> None:
        slot = self.w.slot(0, index)
        if slot is None or slot.kind != "reasoning":
            slot = self._content(index, "reasoning", {"summary": True})
        self.w.update(slot, signature=delta.get("signature"))

    def _arguments(self, index: int | str, delta: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """More argument text. Where no call was started under that number it goes on the last one that is open."""
        w = self.w
        key = "arguments" if delta.get("arguments") else "partial_arguments"
        slot, text = w.slot(0, index), json_text(delta.get(key) or None, frame, *path, key)
        if slot is None or slot.kind not in CALLS:
            slot = w.last_call(0)
            w.diagnose("orphan_delta", f"argument text for step {counted(index)}, which is no call")
            if not text:
                return
            if slot is None or not slot.open:
                slot = w.start(0, "tool_call", key=index, tool_type="function")
        w.delta(slot, text)
        w.update(slot, extra=slot.news(_rest(delta, _ARGUMENTS)))

    def _call_delta(self, index: int | str, delta: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """What there is to know about a call, whole. Another id makes it another call."""
        w = self.w
        slot = w.slot(0, index)
        id_, name = text_or_none(delta.get("id")), text_or_none(delta.get("name"))
        if slot is None or slot.kind not in CALLS or (id_ and slot.id and id_ != slot.id):
            self._stop(index)
            self._call(index, delta, frame, *path)
            return
        w.update(slot, id=id_, name=name, extra=_rest(delta, _CALL))
        slot.id, slot.name = id_ or slot.id, name or slot.name
        w.restate_call(slot, json_text(delta.get("arguments"), frame, *path, "arguments"))

    def _result_delta(self, index: int | str, delta: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """The result, whole. Another id makes it another result."""
        w = self.w
        slot = w.slot(0, index)
        id_, name = text_or_none(delta.get("call_id")), text_or_none(delta.get("name"))
        if slot is None or slot.kind != "server_tool_result" or (id_ and slot.id and id_ != slot.id):
            self._stop(index)
            self._result(index, delta, frame)
            return
        known = (slot.extra or {}).get("$absent", ())
        absent = [key for key in known if key not in delta]
        extra = {**_rest(delta, _RESULT), "content": delta.get("result"), "$absent": absent}
        slot.extra = {**(slot.extra or {}), "$absent": absent}
        w.update(slot, id=id_, name=name, extra=extra)

    def _media(self, index: int | str, item: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A picture, a film or a document, whole; sound, whose bytes may come in pieces."""
        w = self.w
        media_type, url = item.get("mime_type"), item.get("uri")
        data = base64_bytes(item.get("data") or "")
        if data is None:
            w.unknown(f"content.{word(item.get('type'), default='None')}", item)
            return
        kind = media_kind(media_type or f"{word(item.get('type'), default='None')}/")
        slot = w.slot(0, index)
        goes_on = kind == "audio" and slot is not None and slot.open and slot.kind == kind
        if slot is None or not goes_on or slot.number != media_type:
            self._stop(index)
            where = {"media_type": media_type, "url": url}
            rest = {
                key: value for key, value in item.items() if key not in _MEDIA or not (value and isinstance(value, str))
            }
            place = self._place(index)
            form = base64_form(item.get("data"))
            if form is not None:
                place["$form"] = f"{place.get('$form', '')} {form}".strip()
            extra = {
                **rest,
                **place,
                **{key: value for key, value in where.items() if value and isinstance(value, str)},
            }
            slot = w.start(0, kind, key=index, number=media_type, extra=extra)
        w.data(slot, data)
        if kind != "audio":
            w.stop(slot)

    def _content(self, index: int | str, kind: Kind, extra: dict[str, Any]) -> Slot:
        """The open content of that kind in the step; a new one if the step has gone on to something else."""
        slot = self.w.slot(0, index)
        if slot is None or not slot.open or slot.kind != kind:
            self._stop(index)
            slot = self.w.start(0, kind, key=index, extra={**extra, **self._place(index)})
            slot.extra = extra
        return slot


def _kind(payload: Mapping[str, Any], event: str) -> Any:
    """What an event is."""
    return payload.get("event_type") or event or payload.get("type")


def interaction_in(payload: dict[str, Any]) -> Any:
    """The interaction that an event carries. LiteLLM's events have its fields beside their own."""
    return payload if payload.get("object") == "interaction" else payload.get("interaction")


def _rest(mapping: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The fields that are kept as sent. An empty signature is none."""
    return {key: value for key, value in mapping.items() if key not in known and value is not None and value != ""}


def _described(step: dict[str, Any], known: frozenset[str], optional: tuple[str, ...]) -> dict[str, Any]:
    """The fields of a step that are kept as sent, also those that say nothing, and which of *optional* it lacks."""
    rest = {key: value for key, value in step.items() if key not in known or value is None or value == ""}
    absent = [key for key in optional if key not in step]
    return {**rest, "$absent": absent} if absent else rest


def _by_kind(table: Mapping[str, Any], kind: str, default: Any) -> Any:
    """The handler of that type: by its name, else by the last word of it."""
    return table.get(kind) or table.get(f"*_{kind.rpartition('_')[2]}", default)


HANDLERS: dict[str, Callable[[GeminiInteractions, dict[str, Any], Frame], None]] = {
    "interaction.created": GeminiInteractions._created,
    "interaction.status_update": GeminiInteractions._status,
    "interaction.in_progress": GeminiInteractions._status,
    "step.start": GeminiInteractions._step_start,
    "step.delta": GeminiInteractions._step_delta,
    "step.stop": GeminiInteractions._step_stop,
    "interaction.completed": GeminiInteractions._completed,
    **{f"interaction.{status}": GeminiInteractions._completed for status in _CLOSING},
    "error": lambda self, payload, _: self.w.error(error_event(payload)),
    # The names of the older revision.
    "interaction.start": GeminiInteractions._created,
    "content.start": GeminiInteractions._step_start,
    "content.delta": GeminiInteractions._step_delta,
    "content.stop": GeminiInteractions._step_stop,
    "interaction.complete": GeminiInteractions._completed,
}

CONTENTS: dict[str, Callable[..., Any]] = {
    "text": GeminiInteractions._text,
    "image": GeminiInteractions._media,
    "audio": GeminiInteractions._media,
    "video": GeminiInteractions._media,
    "document": GeminiInteractions._media,
}

STEPS: dict[str, Callable[..., Any]] = {
    **CONTENTS,
    "model_output": GeminiInteractions._output,
    "thought": GeminiInteractions._thought,
    "*_call": GeminiInteractions._call,
    "*_result": GeminiInteractions._result,
}

DELTAS: dict[str, Callable[..., Any]] = {
    **CONTENTS,
    "text_annotation_delta": GeminiInteractions._annotations,
    "text_annotation": GeminiInteractions._annotations,
    "thought_summary": GeminiInteractions._thought_summary,
    "thought": GeminiInteractions._thought_summary,
    "thought_signature": GeminiInteractions._thought_signature,
    "arguments_delta": GeminiInteractions._arguments,
    "arguments": GeminiInteractions._arguments,
    "*_call": GeminiInteractions._call_delta,
    "*_result": GeminiInteractions._result_delta,
}

GeminiInteractions.payloads = tuple(dict.fromkeys((*HANDLERS, *STEPS, *DELTAS)))
DIALECT = GeminiInteractions
