"""
Vercel's AI SDK, UI message stream: what a server sends to the chat in the browser.

Parts start and end by name, and their ids say which one a delta belongs to; ids of texts may come again in a later
step. Results of tools are in the stream as well, since the application's server may run them: they are parts of their
own after their call. `reset-step` takes back what the step has brought. Usage is not part of the protocol, and
`finish` need not say why.

Manual: docs/dialects/vercel-ui.md. Reference: ai-sdk.dev, "Stream Protocols".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.basis import _json
from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._errors import error_event, error_in, read_error
from chunkfold.dialects._media import inline_bytes, media_kind
from chunkfold.dialects._native_fields import further_fields
from chunkfold.dialects._vercel_placed import PlacedParts
from chunkfold.dialects._vercel_sdk import NAMES, chunk_of, in_envelope, is_done, model_of, opened, sdk_usage, usage_of
from chunkfold.dialects._words import finish_reason, is_blank, is_real, telling, word
from chunkfold.parts import UnknownPart

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

# Names that nobody else has. What else is in the table says something only after one of these.
_OWN = ("text-", "reasoning-", "tool-input-", "tool-output-", "tool-approval-", "source-")
_STEPS = frozenset({"start-step", "finish-step", "reset-step"})
_TYPE = frozenset({"type"})

_PIECE = frozenset({"type", "id", "delta"})
_INNER = ("text", "textDelta", "reasoningDelta")
_CALL = frozenset({"type", "toolCallId", "toolName", "input", "inputTextDelta", "errorText", "providerExecuted"})
_RESULT = frozenset({"type", "toolCallId", "toolName", "output", "errorText", "providerExecuted", "dynamic"})
_FILE = frozenset({"type", "url", "mediaType"})
_START = frozenset({"type", "messageId", "messageMetadata"})
_FINISH = frozenset({"type", "finishReason", "messageMetadata"})
_ERROR = ("error", "errorText")
# Events that are errors, that tell the one beside themselves, or whose errors are a tool's.
_OWN_ERRORS = frozenset({"error", "finish", "tool-input-error", "tool-output-error", "tool-output-denied"})


class VercelUI(Dialect):
    """The AI SDK's UI message stream, version 1."""

    name: ClassVar[str] = "vercel-ui"
    ends_calls: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ("ai-sdk-ui",)
    delta_keys: ClassVar[tuple[str, ...]] = ("delta", "text")
    # Mastra's own: a call waits for the user, a processor has blocked the answer.
    words: ClassVar[Mapping[str, str]] = {"suspended": "pause", "tripwire": "content_filter"}

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = payload.get("type")
        if not isinstance(kind, str):
            return CERTAIN if kind is None and _is_message(payload) else NO
        if kind in _STEPS or (kind in HANDLERS and kind.startswith(_OWN)):
            return CERTAIN
        if kind == "part-start":
            return CERTAIN if isinstance(payload.get("part"), dict) and "path" in payload else NO
        if "runId" in payload and in_envelope(payload):
            return CERTAIN if kind in HANDLERS or kind in NAMES else NO
        if kind == "error":
            return CERTAIN if "errorText" in payload else NO
        if kind == "start":
            return LIKELY if payload.keys() <= _START else NO
        if kind.startswith("data-"):
            return LIKELY if "data" in payload else NO
        return LIKELY if kind in ("message-metadata", "finish") else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._message_id: Any = None
        # Where the current step began, for the case that it is taken back.
        self._step = 0
        # The argument text of the calls that came in pieces, to be compared with the input that is stated at the end.
        self._inputs: dict[Any, list[str]] = {}
        # The approvals that were asked for, and whose they are.
        self._approvals: dict[Any, Any] = {}
        # How many steps have begun, and the sources, each with its place among the annotations and how many parts there
        # were when it came.
        self._steps = 0
        self._sources: dict[str, tuple[int, int]] = {}
        # What Mastra's first chunk says beside its payload: who speaks, in which run.
        self._envelope: dict[str, Any] = {}
        # What began at which place, where chunks say only that.
        self._placed = PlacedParts()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        if "path" in payload:
            payload = self._placed.chunk_of(payload)
            self.w.singular = True
        kind = payload.get("type")
        if "payload" in payload and in_envelope(payload):
            payload = self._opened(payload, kind)
        if isinstance(kind, str) and kind in NAMES:
            payload, given = chunk_of(payload), payload
            # Argument text that is under the name of another delta is still compared with the input at the end.
            self.w.singular = self.w.singular or payload is not given
            kind = payload["type"]
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if kind != "start":
            self.w.message()
        if handler is not None:
            handler(self, payload, frame)
            if kind not in _OWN_ERRORS:
                self.error_beside(payload)
        elif isinstance(kind, str) and kind.startswith("data-"):
            self._data(payload, frame)
        elif kind is None and "role" in payload and isinstance(payload.get("parts"), list):
            self._whole(payload, frame)
        else:
            self.strange(payload, frame, word(kind, frame.event))

    def _opened(self, payload: dict[str, Any], kind: Any) -> dict[str, Any]:
        if not isinstance(kind, str) or (kind not in HANDLERS and kind not in NAMES):
            return payload
        if not self._envelope:
            self._envelope = {name: payload[name] for name in ("runId", "from") if name in payload}
            for name, value in self._envelope.items():
                self.w.extra((name,), value)
        return opened(payload, self._envelope)

    # The message and its steps

    def _start(self, payload: dict[str, Any], frame: Frame) -> None:
        id_ = payload.get("messageId")
        self._message_id = self._message_id or id_
        self.w.message(id=id_, model=model_of(payload))
        if id_ is not None and not isinstance(id_, str):
            self.w.extra(("id",), id_)
        self._metadata(payload)
        self.w.extras(payload, _START)

    def _metadata(self, payload: dict[str, Any]) -> None:
        """What the application says about the message, merged key by key, as deep as there are objects."""
        if "messageMetadata" in payload:
            self._keep(payload["messageMetadata"], "metadata")

    def _keep(self, value: Any, *path: str) -> None:
        if isinstance(value, dict) and value:
            for key, inner in value.items():
                self._keep(inner, *path, key)
        else:
            self.w.extra(path, value)

    def _start_step(self, payload: dict[str, Any], frame: Frame) -> None:
        """Where a step begins is kept by the position of its first part. Text without an id does not go on in it."""
        slot = self.w.at_hand(0)
        if slot is not None and slot.kind in ("text", "reasoning") and slot.id is None:
            self.w.stop(slot)
        self._step = self.w.count(0)
        self._steps += 1
        rest = _others(payload, _TYPE)
        self.w.extra(("steps", "-"), {"at": self._step, **rest} if rest else self._step)

    def _finish_step(self, payload: dict[str, Any], frame: Frame) -> None:
        self.w.message(model=model_of(payload))
        self.w.extras(payload, _TYPE)

    def _reset_step(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        w.reset(self._step, "step")
        self._inputs = {id_: text for id_, text in self._inputs.items() if w.slot(0, ("call", id_)) is not None}
        # As the response does: sources from before the first part of a later step stay, they may be of what stays.
        since, sources, known = self._step or -1, self._sources, len(self._sources)
        while sources and next(reversed(sources.values()))[1] > since:
            sources.popitem()
        if len(sources) < known:
            w.extra(("sources", "-"), [since])
        if self._step == 0:
            # The reset took the facts of the message with it; they are not the step's.
            w.message(id=self._message_id)

    def _abort(self, payload: dict[str, Any], frame: Frame) -> None:
        self.w.finish(0, None, "cancelled")
        self.w.extra(("abort",), {})
        self.w.extras(payload, _TYPE, "abort")

    def _error(self, payload: dict[str, Any], frame: Frame) -> None:
        """A sentence. What follows is still part of the stream."""
        text = payload.get("errorText")
        self.w.error(error_event(payload) if text is None else error_in(payload) or read_error(text, raw=payload))

    def _finish(self, payload: dict[str, Any], frame: Frame) -> None:
        self.end_seen = True
        self._finish_reason(payload)
        self.w.message(model=model_of(payload))
        self.w.usage(usage_of(payload), sdk_usage)
        self._metadata(payload)
        self.w.extras(payload, _FINISH)
        self._error_beside({name: payload[name] for name in _ERROR if not is_blank(payload.get(name))})

    def _error_beside(self, payload: dict[str, Any]) -> None:
        """The error that stands beside the reason, in the words of the protocol or of a gateway."""
        error = error_in(payload)
        if error is None and "errorText" in payload:
            error = read_error(payload["errorText"], raw={"type": "error", "errorText": payload["errorText"]})
        if error is not None:
            self.w.error(error)

    def _finish_reason(self, payload: dict[str, Any]) -> None:
        reason = payload.get("finishReason")
        if isinstance(reason, dict) and is_real(reason.get("unified")):
            # From the SDK's model or gateway: beside its own word that of the provider.
            native = reason["raw"] if is_real(reason.get("raw")) else reason["unified"]
            self.w.finish(0, native, finish_reason(reason["unified"], {}))
        else:
            self.w.finish(0, reason)
        if "finishReason" in payload and not is_real(reason):
            self.w.extra(("finishReason",), reason)

    # Texts and reasoning

    def _text_start(self, payload: dict[str, Any], frame: Frame) -> None:
        """Open a part. One of the same id that is still open has ended."""
        w = self.w
        kind, key = _text_key(payload)
        before = w.slot(0, (kind, key))
        if before is not None:
            w.stop(before)
        slot = w.start(0, kind, key=(kind, key), id=payload.get("id"), extra=_others(payload, _PIECE))
        w.delta(slot, payload.get("delta"))

    def _text_delta(self, payload: dict[str, Any], frame: Frame) -> None:
        """More of a part; one that was never opened, or has ended, is opened."""
        if is_blank(payload.get("delta")):
            # Servers that pass on what the SDK has inside, instead of the stream for the browser.
            said = telling(payload, _INNER) or "delta"
            others = {name: value for name, value in payload.items() if name not in ("delta", said)}
            payload = {**others, "delta": payload.get(said)}
        slot = self._part(payload)
        if slot is None or not slot.open:
            self._text_start(payload, frame)
        else:
            self.w.update(slot, extra=further_fields(payload, _PIECE))
            self.w.delta(slot, payload.get("delta"))

    def _part(self, payload: dict[str, Any]) -> Slot | None:
        """The part that the payload is about: without an id, as of version 4, the one at hand."""
        kind, key = _text_key(payload)
        if not is_blank(payload.get("id")):
            return self.w.slot(0, (kind, key))
        slot = self.w.at_hand(0)
        return slot if slot is not None and slot.kind == kind else None

    def _text_end(self, payload: dict[str, Any], frame: Frame) -> None:
        slot = self._part(payload)
        if slot is not None:
            # The provider's metadata may come last: reasoning is signed at its end.
            self.w.update(slot, extra=further_fields(payload, _PIECE))
            if slot.open:
                self.w.delta(slot, payload.get("delta"))
            self.w.stop(slot)

    # Tools

    def _call(self, payload: dict[str, Any]) -> Slot:
        """
        The call that the payload is about. An id that is new opens it, whatever the payload is; and so does one that
        another call had in a step before: some providers number the calls of each answer anew.
        """
        w = self.w
        id_, name = payload.get("toolCallId"), payload.get("toolName")
        rest = further_fields(payload, _CALL)
        if payload.get("providerExecuted") is False:
            rest = {**rest, "providerExecuted": False}
        slot = w.slot(0, ("call", _key(id_)))
        if slot is not None and not slot.open and (slot.index < self._step or payload["type"] == "tool-input-start"):
            self._inputs.pop(_key(id_), None)
            slot = None
        if slot is None:
            kind: Kind = "server_tool_call" if payload.get("providerExecuted") is True else "tool_call"
            rest = {**_others(payload, _CALL), **rest}
            return w.start(0, kind, key=("call", _key(id_)), id=id_, name=name, tool_type="function", extra=rest)
        if slot.name is None:
            w.identify(slot, name=name)
        w.update(slot, extra=rest)
        return slot

    def _input_start(self, payload: dict[str, Any], frame: Frame) -> None:
        """The start may have the first piece, or the whole input if no pieces follow."""
        slot = self._call(payload)
        if payload.get("inputTextDelta"):
            self._input_delta(payload, frame)
        elif payload.get("input") and not slot.has_text:
            slot.start_input = json_text(payload["input"], frame, "input")

    def _input_delta(self, payload: dict[str, Any], frame: Frame) -> None:
        text = json_text(payload.get("inputTextDelta") or None, frame, "inputTextDelta")
        payload = self._with_id(payload)
        slot = self._call(payload)
        if text:
            self._inputs.setdefault(_key(payload.get("toolCallId")), []).append(text)
            self.w.delta(slot, text)

    def _with_id(self, payload: dict[str, Any]) -> dict[str, Any]:
        """A piece without an id is of the call that was opened last."""
        last = self.w.last_call(0) if is_blank(payload.get("toolCallId")) else None
        return payload if last is None else {**payload, "toolCallId": last.id}

    def _input_end(self, payload: dict[str, Any], frame: Frame) -> None:
        payload = self._with_id(payload)
        slot = self.w.slot(0, ("call", _key(payload.get("toolCallId"))))
        if slot is not None:
            self.w.update(slot, extra=further_fields(payload, _CALL))
            self.w.stop(slot)

    def _input_error(self, payload: dict[str, Any], frame: Frame) -> None:
        """The input does not fit the tool: the call is there with its text, and the error is its result."""
        self._input_available(payload, frame)
        result = {name: value for name, value in payload.items() if name != "input"}  # the call has it
        self._result(result, payload.get("errorText"), is_error=True)

    def _input_available(self, payload: dict[str, Any], frame: Frame) -> None:
        """
        The whole input, parsed. It stands, unless the pieces say the same: then their text is what the model wrote.
        """
        slot = self._call(payload)
        given = payload.get("input")
        text = "".join(self._inputs.get(_key(payload.get("toolCallId")), ()))
        is_other = not is_blank(given) and given != text and given != _parsed(text)
        if is_other:
            text = json_text(given, frame, "input")
        if payload.get("providerExecuted") is True and slot.kind == "tool_call":
            # xAI's provider says so only here.
            self.w.give_to_server(slot, text)
        elif is_other:
            self.w.restate_call(slot, text)
        if isinstance(given, str):
            self.w.update(slot, extra={"$form": "string"})
        self.w.stop(slot)

    def _output_available(self, payload: dict[str, Any], frame: Frame) -> None:
        self._result(payload, payload.get("output"), is_error=False)

    def _output_error(self, payload: dict[str, Any], frame: Frame) -> None:
        self._result(payload, payload.get("errorText"), is_error=True)

    def _output_denied(self, payload: dict[str, Any], frame: Frame) -> None:
        """The user has not let the tool run."""
        self._result({"state": "output-denied", **payload}, None, is_error=True)

    def _result(self, payload: dict[str, Any], content: Any, *, is_error: bool) -> None:
        """What a tool gave back. A preliminary result gives way to the next one."""
        w = self.w
        id_ = payload.get("toolCallId")
        fields = {**further_fields(payload, _RESULT), "content": content, "is_error": is_error}
        call, key = w.slot(0, ("call", _key(id_))), ("result", _key(id_))
        name, number = (call.name, call.index) if call is not None else (payload.get("toolName"), None)
        slot = w.slot(0, key)
        if slot is None or slot.number not in (None, number):
            slot = w.start(0, "server_tool_result", key=key, id=id_, name=name, number=number, extra=fields)
        else:
            w.update(slot, extra={"preliminary": False, **fields})
        if not payload.get("preliminary"):
            w.stop(slot)

    def _approval_request(self, payload: dict[str, Any], frame: Frame) -> None:
        """The call waits for the user. Asking for a call of an earlier message opens none."""
        key = ("call", _key(payload.get("toolCallId")))
        slot = self.w.slot(0, key)
        if slot is None:
            self.w.unknown("tool-approval-request", payload)
            return
        approval = {"id": payload.get("approvalId"), **further_fields(payload, _APPROVAL)}
        if "approvalDescriptor" in approval:
            approval["descriptor"] = approval.pop("approvalDescriptor")  # as messages call it
        self._approvals[_key(payload.get("approvalId"))] = (key, approval)
        self.w.update(slot, extra={"approval": approval})

    def _approval_response(self, payload: dict[str, Any], frame: Frame) -> None:
        key, approval = self._approvals.get(_key(payload.get("approvalId")), (None, {}))
        slot = self.w.slot(0, key)
        if slot is None:
            self.w.unknown("tool-approval-response", payload)
        else:
            self.w.update(slot, extra={"approval": {**approval, **further_fields(payload, _APPROVAL)}})

    # What comes whole

    def _file(self, payload: dict[str, Any], frame: Frame) -> None:
        """A file by its URL, or in it. `reasoning-file` is one that belongs to the thinking."""
        w = self.w
        url, media_type = payload.get("url"), payload.get("mediaType")
        kind = media_kind(media_type)
        data = inline_bytes(url)
        rest = _others(payload, _FILE if media_type is not None else _FILE - {"mediaType"})
        if payload["type"] != "file":
            rest["type"] = payload["type"]
        # A URL that does not follow from the type and the bytes is kept.
        where = {} if data is not None and word(url).startswith(f"data:{word(media_type)};base64,") else {"url": url}
        slot = w.start(0, kind, key=("file", w.count(0)), extra={"media_type": media_type, **where, **rest})
        w.data(slot, data or b"")
        w.stop(slot)

    def _source(self, payload: dict[str, Any], frame: Frame) -> None:
        at = self.w.count(0)
        number, _ = self._sources.setdefault(_json.identity(payload), (len(self._sources), at))
        self.w.extra(("sources", "-"), [at, self._steps, number])
        self.w.annotations(0, None, [payload])

    def _data(self, payload: dict[str, Any], frame: Frame) -> None:
        """A part that the application has made up: one of the same id replaces it, a transient one is no part."""
        w = self.w
        kind = payload["type"]
        if payload.get("transient") is True:
            w.extra(("transient", "-"), payload)
            return
        if is_blank(payload.get("id")):
            w.unknown(kind, payload)
            return
        key = (kind, _key(payload["id"]))
        slot = w.slot(0, key)
        if slot is None:
            w.stop(w.start(0, "unknown", key=key, id=payload["id"], name=kind, extra=payload))
        else:
            w.replace(slot, UnknownPart(kind, payload))

    def _custom(self, payload: dict[str, Any], frame: Frame) -> None:
        self.w.unknown(word(payload.get("kind"), default="custom"), payload)

    # A message that was not streamed

    def begin_again(self, next_id: Any = None) -> None:
        self._step = self._steps = 0
        for told in (self._inputs, self._approvals, self._sources, self._envelope, self._placed):
            told.clear()
        super().begin_again(next_id)

    def _whole(self, payload: dict[str, Any], frame: Frame) -> None:
        """The message with all its parts, in each of which is what several chunks say."""
        w = self.w
        self.restated(payload["parts"], {"id": payload.get("id"), "model": model_of(payload)})
        self.end_seen = is_done(payload)
        self.whole()
        w.message(id=payload.get("id"), role=payload.get("role"), model=model_of(payload))
        w.blanks(payload, ())
        w.extras(payload, _WHOLE)
        w.unsaid(payload, "id")
        for place, part in enumerate(payload["parts"]):
            kind = part.get("type") if isinstance(part, dict) else None
            if not isinstance(kind, str):
                w.unknown("part", part)
            elif kind in ("text", "reasoning"):
                self._whole_text("text" if kind == "text" else "reasoning", part)
            elif "state" in part and (kind == "dynamic-tool" or kind.startswith("tool-")):
                self._whole_call(part, frame, place)
            elif kind == "step-start":
                self._start_step(part, frame)
            elif kind in ("file", "reasoning-file"):
                self._file(part, frame)
            elif kind in ("source-url", "source-document"):
                self._source(part, frame)
            else:
                w.unknown(word(part.get("kind"), kind) if kind == "custom" else kind, part)
        self._finish_reason(payload)
        w.usage(usage_of(payload), sdk_usage)
        if "abort" in payload:
            w.finish(0, None, "cancelled")
        self._error_beside(payload)

    def _whole_text(self, kind: Kind, part: dict[str, Any]) -> None:
        w = self.w
        id_, text = part.get("id"), part.get("text")
        known = {"type"}
        known |= {"id"} if isinstance(id_, str) and id_ else set()
        known |= {"text"} if isinstance(text, str) else set()
        absent = {} if "text" in part else {"$absent": ["text"]}
        slot = w.start(0, kind, key=("part", w.count(0)), id=id_, extra={**_others(part, known), **absent})
        w.delta(slot, text)
        w.stop(slot)

    def _whole_call(self, part: dict[str, Any], frame: Frame, place: int) -> None:
        """A call and its result in one."""
        w = self.w
        kind, id_ = part["type"], part.get("toolCallId")
        name = part.get("toolName") if kind == "dynamic-tool" else kind.removeprefix("tool-")
        is_over = part["state"] in _OVER or part.get("output") is not None or part.get("errorText") is not None
        # Input that does not fit the tool has a name of its own.
        field = "rawInput" if "input" not in part and "rawInput" in part else "input"
        known = {field, *(("output", "errorText") if is_over else ())}
        known |= {"toolCallId"} if isinstance(id_, str) and id_ else set()
        known |= {"toolName"} if isinstance(name, str) and name else set()
        if not is_over or field in part:
            given = part.get(field)
            rest = _others(part, known if given is not None or field not in part else known - {field})
            if isinstance(given, str):
                rest["$form"] = "string"
            elif part["state"] == "input-streaming" and (given or not self.end_seen):
                rest["$cut"] = True  # the SDK has closed what the model had not, or has nothing yet
            if field != "input":
                rest["$field"] = field
            slot = w.start(
                0,
                "server_tool_call" if part.get("providerExecuted") is True else "tool_call",
                key=("call", _key(id_)),
                id=id_,
                name=name,
                tool_type="function",
                extra=rest,
            )
            w.delta(slot, json_text(given, frame, "parts", place, field))
            w.stop(slot)
        if is_over:
            failed = part.get("errorText") is not None or part["state"] in ("output-error", "output-denied")
            said, other = ("errorText", "output") if failed else ("output", "errorText")
            rest = {} if field in part else _others(part, known)
            rest |= {other: part[other]} if other in part else {}
            rest |= {"$absent": [said]} if said not in part else {}
            rest |= {"content": part.get(said), "is_error": failed}
            w.stop(w.start(0, "server_tool_result", key=("result", _key(id_)), id=id_, name=name, extra=rest))


_OVER = ("output-available", "output-error", "output-denied")
_WHOLE = frozenset({"id", "role", "parts", "finishReason", "errorText", "error"})
_APPROVAL = frozenset({"type", "approvalId", "toolCallId"})


def _text_key(payload: dict[str, Any]) -> tuple[Kind, str]:
    """The kind of a part, by the name of its event, and its id."""
    return "text" if payload["type"].startswith("text") else "reasoning", _key(payload.get("id"))


def _key(id_: Any) -> str:
    """What an id is known by, whatever it is."""
    return id_ if isinstance(id_, str) and id_ else _json.encode(None if is_blank(id_) else id_)


def _is_message(payload: Mapping[str, Any]) -> bool:
    """True for a UI message: parts that say what they are, but for what a gateway has put in, and who speaks."""
    parts = payload.get("parts")
    if payload.get("role") not in ("assistant", "user", "system") or not isinstance(parts, list):
        return False
    return not parts or any(isinstance(part, dict) and isinstance(part.get("type"), str) for part in parts)


def _others(payload: dict[str, Any], known: Collection[str]) -> dict[str, Any]:
    """The fields that are not *known*, also those that say nothing."""
    return {name: value for name, value in payload.items() if name not in known}


def _parsed(text: str) -> Any:
    """What pieces of argument text say; `None` if they are no JSON."""
    try:
        return _json.parse_arguments(text)
    except ValueError:
        return None


HANDLERS: dict[str, Callable[[VercelUI, dict[str, Any], Frame], None]] = {
    "start": VercelUI._start,
    "start-step": VercelUI._start_step,
    "finish-step": VercelUI._finish_step,
    "reset-step": VercelUI._reset_step,
    "text-start": VercelUI._text_start,
    "text-delta": VercelUI._text_delta,
    "text-end": VercelUI._text_end,
    "reasoning-start": VercelUI._text_start,
    "reasoning-delta": VercelUI._text_delta,
    "reasoning-end": VercelUI._text_end,
    "tool-input-start": VercelUI._input_start,
    "tool-input-delta": VercelUI._input_delta,
    "tool-input-end": VercelUI._input_end,
    "tool-input-available": VercelUI._input_available,
    "tool-input-error": VercelUI._input_error,
    "tool-output-available": VercelUI._output_available,
    "tool-output-error": VercelUI._output_error,
    "tool-output-denied": VercelUI._output_denied,
    "tool-approval-request": VercelUI._approval_request,
    "tool-approval-response": VercelUI._approval_response,
    "file": VercelUI._file,
    "reasoning-file": VercelUI._file,
    "source-url": VercelUI._source,
    "source-document": VercelUI._source,
    "custom": VercelUI._custom,
    "message-metadata": VercelUI._start,
    "error": VercelUI._error,
    "abort": VercelUI._abort,
    "finish": VercelUI._finish,
}

VercelUI.payloads = (*(name for name in HANDLERS if name != "tool-input-end"), "data-*")
DIALECT = VercelUI
