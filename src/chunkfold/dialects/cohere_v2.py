"""
Cohere Chat v2: `message-start`, content blocks, a tool plan, tool calls, citations, `message-end`.

What is new stands under `delta.message`, where the whole message has it; `tool_calls` and `citations` are single
objects there and lists in the whole message. `index` counts each kind by itself: content 0, call 0 and citation 0 have
nothing to do with each other. The tool plan has neither an index nor marks of its own.

Manual: docs/dialects/cohere-v2.md. Reference: docs.cohere.com, "Streaming Responses" of the Chat API v2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import text_within
from chunkfold.dialects._error_words import is_used_up
from chunkfold.dialects._errors import error_in
from chunkfold.dialects._usage import count, total
from chunkfold.dialects._words import are_objects_once, is_real, word
from chunkfold.response import StreamError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

_EVENT = frozenset({"type", "id", "index", "delta", "logprobs", "error"})
_DELTA = frozenset({"message", "finish_reason", "usage", "error"})
_BODY = frozenset({"id", "message", "finish_reason", "usage", "logprobs", "error"})
_BLOCK = frozenset({"type", "text", "thinking"})
_CALL = frozenset({"id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})
# Fields of a start that are empty there, to be filled by what follows.
_FILLED = frozenset({"content", "tool_plan", "tool_calls", "citations"})
_MESSAGE = _FILLED | {"role"}

_KINDS: dict[str, Kind] = {"thinking": "reasoning", "text": "text"}
_NAMES: dict[Kind, str] = {kind: name for name, kind in _KINDS.items()}


class CohereV2(Dialect):
    """Cohere Chat v2 streaming."""

    name: ClassVar[str] = "cohere-v2"
    ends_calls: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = ("text", "thinking", "tool_plan", "arguments")

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = payload.get("type") or event
        if kind == "debug" or not isinstance(kind, str):
            return NO
        if kind in HANDLERS:
            return CERTAIN if isinstance(payload.get("delta"), dict) else LIKELY
        return LIKELY if not kind and _is_whole(payload) else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._started = False
        # The content block that was spoken of last.
        self._index = 0
        self._calls: dict[int | None, Slot] = {}
        # The payload is a body that was not streamed.
        self._is_whole = False

    def close(self) -> None:
        super().close()
        self.w.cut_though_stopped(0)
        self.cut_in_a_body(form=None)

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        kind = payload.get("type") or frame.event
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            self._no_event(word(kind), payload, frame)
            return
        delta = payload.get("delta") or {}
        message = delta.get("message") or {} if isinstance(delta, dict) else None
        if not isinstance(message, dict):
            self.w.unknown(word(kind), payload)
            self.error_beside(payload)
            return
        handler(self, message, payload, frame)
        self._rest(message, delta, _DELTA)
        self._facts(payload)
        self.w.extras(payload, _EVENT)

    def _no_event(self, kind: str, payload: dict[str, Any], frame: Frame) -> None:
        """A whole body, an error as HTTP answers have it (`{"message": ...}`), or something unknown."""
        if _is_whole(payload):
            self.restated(payload["message"].get("content") or payload["message"].get("tool_calls"))
            self._is_whole = True
            self.whole()
            self._take_message(payload["message"], frame)
            self.w.extra(("message",), {})
            self.w.blanks(payload, ())
            self.w.blanks(payload["message"], (), "message")
            self._rest(payload["message"], payload, _BODY)
            self._facts(payload)
            self.end_seen = self.w.finished > 0
            return
        self.strange(payload, frame, kind, may_be_body=True)

    def _rest(self, message: dict[str, Any], holder: dict[str, Any], known: frozenset[str]) -> None:
        """What is said about the message beside its content."""
        w = self.w
        if "finish_reason" in holder:
            w.finish(0, holder["finish_reason"])
            if not is_real(holder["finish_reason"]):
                w.extra(("finish_reason",), holder["finish_reason"])
        if "usage" in holder:
            w.usage(holder["usage"], cohere_usage)
            if not holder["usage"] or not isinstance(holder["usage"], dict):
                w.extra(("usage",), holder["usage"])
        if not message.keys() <= _FILLED:
            w.blanks(message, _FILLED, "message")
            w.extras(message, _MESSAGE, "message")
        w.extras(holder, known)
        tell_error(w, holder)  # it stands in the delta of `message-end`

    def _facts(self, payload: dict[str, Any]) -> None:
        w = self.w
        w.message(id=payload.get("id"))
        logprobs = payload.get("logprobs")
        if logprobs is not None:
            w.logprobs(0, logprobs if isinstance(logprobs, list) else [logprobs])
        self.tell_error(payload)

    # The whole message

    def begin_again(self, next_id: Any = None) -> None:
        self._calls.clear()
        self._index = 0
        super().begin_again(next_id)

    def _message_start(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        # Cohere's SDK makes a start of any object that has no type; such a one has no message.
        if self._started and message:
            self.begin_again(payload.get("id"))
        self._started = True
        self.w.message(id=payload.get("id"))
        self._take_message(message, frame)

    def _take_message(self, message: dict[str, Any], frame: Frame) -> None:
        """A message as it is when not streamed. The one of a start is empty, but what it holds is a first piece."""
        w = self.w
        w.message(role=message.get("role"))
        if self._is_whole and "role" in message:
            w.extra(("message", "role"), message["role"])
        self._plan(message, {}, frame)
        content = message.get("content")
        if isinstance(content, str):
            w.append(0, "text", content, key=("content", 0), extra={"$form": "string"})
            content = None
        for place, block in w.objects("content", content):
            self._block(place, block)
        for place, call in w.objects("tool_calls", message.get("tool_calls")):
            self._call(place, call, frame)
        self._citation(message, {}, frame)

    # Content

    def _content(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        """The start of a block or a piece of it: both say the same, in the same place."""
        for _, block in self.w.objects("content", message.get("content")):
            self._block(self._block_index(payload), block)

    def _block_index(self, payload: dict[str, Any]) -> int:
        index = _number(payload)
        return self._index if index is None else index

    def _block(self, index: int, block: dict[str, Any]) -> None:
        w = self.w
        self._index = index
        kind = block.get("type")
        opened = _KINDS.get(word(kind))
        if kind and opened is None:
            self._end_plan()
            w.start(0, "unknown", key=("content", index), name=f"content.{word(kind, default='item')}", extra=block)
            return
        rest = {key: value for key, value in block.items() if key not in _BLOCK or value is None}
        if self._is_whole:
            rest["$absent"] = [key for key in ("type", *_NAMES.values()) if key not in block]
        slot = self._part(index, opened, rest) if opened else None
        for key, part in _KINDS.items():
            if block.get(key):
                slot = self._part(index, part, rest)
                w.delta(slot, block[key])
        said = {key: value for key, value in rest.items() if value is not None and key != "$absent"}
        if slot is None and (said or self._is_whole):
            w.unknown("content", block)
        elif slot is not None and slot.extra is not rest:
            w.update(slot, extra=said)

    def _part(self, index: int, kind: Kind, extra: dict[str, Any]) -> Slot:
        """The open block of that index. Text in a block that was opened for thinking is a block of its own."""
        key = ("content", index)
        slot = self.w.slot(0, key)
        if slot is not None and slot.kind == kind and slot.open:
            return slot
        if slot is not None:
            self.w.stop(slot)
        self._end_plan()
        slot = self.w.start(0, kind, key=key, extra=extra)
        slot.extra = extra
        return slot

    def _content_end(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        slot = self.w.slot(0, ("content", self._block_index(payload)))
        if slot is not None:
            self.w.stop(slot)

    # The tool plan: reasoning, but a field of its own in the message

    def _plan(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        plan = message.get("tool_plan")
        if not plan:
            return
        slot = self.w.slot(0, "plan")
        if slot is None or not slot.open:
            slot = self.w.start(0, "reasoning", key="plan", extra={"type": "tool_plan"})
        self.w.delta(slot, plan)

    def _end_plan(self) -> None:
        plan = self.w.slot(0, "plan")
        if plan is not None:
            self.w.stop(plan)

    # Calls

    def _tool_call(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        for _, call in self.w.objects("tool_calls", message.get("tool_calls")):
            self._call(_number(payload), call, frame)

    def _call(self, number: int | None, call: dict[str, Any], frame: Frame) -> None:
        function = call.get("function")
        if not isinstance(function, dict):
            function = {}
        # The first piece of a call says which fields it has.
        is_first = bool(call.get("id") or function.get("name"))
        rest = {key: item for key, item in call.items() if (is_first if item is None else key not in _CALL)}
        more = {key: item for key, item in function.items() if (is_first if item is None else key not in _FUNCTION)}
        if self._is_whole:
            rest["$absent"] = [key for key in ("type", "function") if key not in call]
            rest["$absent"] += [key for key in ("arguments",) if key not in function]
        if function.get("arguments") is not None and not isinstance(function["arguments"], str):
            rest["$form"] = "object"
        slot = self._calls[number] = self.w.call(
            0,
            number=number,
            id=call.get("id"),
            name=function.get("name"),
            # An object with nothing in it is a start.
            arguments=text_within(function.get("arguments") or None, frame),
            tool_type=word(call.get("type"), default="function"),
            extra={**rest, "function": more} if more else rest,
        )
        if self._is_whole:
            self.w.stop(slot)

    def _tool_call_end(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        number = _number(payload)
        slot = self.w.last_call(0) if number is None else self._calls.get(number)
        if slot is not None:
            self.w.stop(slot)

    # Citations

    def _citation(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        citations = message.get("citations")
        for _, citation in self.w.objects("citations", citations):
            self.w.annotations(0, self._cited(citation), [citation])
        if self._is_whole and isinstance(citations, list) and not are_objects_once(citations):
            self.w.extra(("message", "citations"), citations)

    def _cited(self, citation: dict[str, Any]) -> Slot | None:
        """The part that is cited. Models of before 2026 leave `content_index` out: then it is the block at hand."""
        if citation.get("type") == "PLAN":
            return self.w.slot(0, "plan")
        index = citation.get("content_index")
        return self.w.slot(0, ("content", index if isinstance(index, int) else self._index))

    # The end, and what needs nothing done

    def _message_end(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        self.end_seen = True

    def _kept(self, message: dict[str, Any], payload: dict[str, Any], frame: Frame) -> None:
        """Nothing but fields that are kept, such as the `prompt` of `debug`, or no more than a mark."""


def _is_whole(payload: Mapping[str, Any]) -> bool:
    return isinstance(payload.get("message"), dict) and "finish_reason" in payload and "choices" not in payload


def _number(payload: dict[str, Any]) -> int | None:
    index = payload.get("index")
    return index if type(index) is int else None


def tell_error(w: Writer, holder: Mapping[str, Any]) -> None:
    """State the error that *holder* carries; the finish reason beside it says whether a retry is sensible."""
    error = error_in(holder)
    if error is not None:
        w.error(under_reason(error, holder.get("finish_reason")))


def under_reason(error: StreamError, reason: Any) -> StreamError:
    """
    Cohere's *error* beside the finish *reason*: under `ERROR` and `TIMEOUT` it is a sentence of no fixed words, and the
    same request may succeed later, unless the sentence says otherwise.
    """
    if str(reason).upper() not in ("ERROR", "TIMEOUT") or error.type or error.code or error.status is not None:
        return error
    return replace(error, retryable=not is_used_up((), error.message))


def cohere_usage(raw: dict[str, Any]) -> Usage:
    """
    The counts under `tokens`, which have templates, cached tokens and reasoning in them.

    `billed_units` are what is paid for, which is less: they stay in `raw` and never stand in for a count.
    """
    prompt = count(raw, "tokens.input_tokens")
    output = count(raw, "tokens.output_tokens")
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(None, prompt, output),
        cached_input_tokens=count(raw, "cached_tokens"),
        reasoning_tokens=count(raw, "tokens.reasoning_tokens"),
        raw=raw,
    )


HANDLERS: dict[str, Callable[[CohereV2, dict[str, Any], dict[str, Any], Frame], None]] = {
    "message-start": CohereV2._message_start,
    "content-start": CohereV2._content,
    "content-delta": CohereV2._content,
    "content-end": CohereV2._content_end,
    "tool-plan-delta": CohereV2._plan,
    "tool-call-start": CohereV2._tool_call,
    "tool-call-delta": CohereV2._tool_call,
    "tool-call-end": CohereV2._tool_call_end,
    "citation-start": CohereV2._citation,
    "citation-end": CohereV2._kept,
    "message-end": CohereV2._message_end,
    "debug": CohereV2._kept,
}

CohereV2.payloads = tuple(HANDLERS)
DIALECT = CohereV2
