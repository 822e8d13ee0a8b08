"""
Cohere's first API: `/v1/chat` and the older `/v1/generate`, one JSON object a line, told apart by `event_type`.

Nearly all comes twice. Text and arguments come in pieces; `tool-calls-generation` then states the calls whole, and
`stream-end` the whole response, as it is when not streamed: that replaces or fills and adds nothing. Calls have no ids.
`generate` can give several answers, each with its `index`.

Manual: docs/dialects/cohere-v1.md. Reference: docs.cohere.com, "Chat API v1", "Streaming Responses".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import json_text, text_within
from chunkfold.dialects._errors import read_error
from chunkfold.dialects._words import are_objects_once, is_blank, text_or_none, word
from chunkfold.dialects.cohere_v2 import cohere_usage, tell_error, under_reason

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame

_EVENT = frozenset(
    {
        "event_type", "is_finished", "generation_id", "index", "text", "tool_call_delta", "tool_calls", "citations",
        "finish_reason", "response", "err", "error",
    }
)  # fmt: skip
_BODY = frozenset({"generation_id", "text", "tool_calls", "citations", "generations", "finish_reason", "meta", "error"})
_CHAT = frozenset({"generation_id", "tool_calls", "citations"})
_CALL_DELTA = frozenset({"index", "name", "parameters", "text"})
_CALL = frozenset({"name", "parameters"})
_GENERATION = frozenset({"text", "finish_reason"})
_USAGE = frozenset({"tokens", "billed_units", "cached_tokens"})


class CohereV1(Dialect):
    """Cohere Chat v1 and Generate streaming."""

    name: ClassVar[str] = "cohere-v1"
    words: ClassVar[Mapping[str, str]] = {"error_limit": "length"}
    delta_keys: ClassVar[tuple[str, ...]] = ("text",)

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = payload.get("event_type")
        if kind is None:
            return LIKELY if _is_whole(payload) else NO
        return CERTAIN if isinstance(kind, str) and kind in HANDLERS and kind != "debug" else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._started = False
        # The calls in order, each with its arguments as they were last stated whole.
        self._calls: dict[Slot, str | None] = {}

    def close(self) -> None:
        self.cut_in_a_body()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        kind = payload.get("event_type")
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None:
            self._no_event(word(kind), payload, frame)
            return
        handler(self, payload, frame)
        self.w.extras(payload, _EVENT)
        self.tell_error(payload)

    def _no_event(self, kind: str, payload: dict[str, Any], frame: Frame) -> None:
        """A whole body, an error as HTTP answers have it (`{"message": ...}`), or something unknown."""
        if _is_whole(payload):
            self.whole()
            self._take_response(payload, frame)
            # Old bodies have no reason, but say what they cost.
            self.end_seen = self.w.finished > 0 or "meta" in payload
            self.tell_error(payload)
            return
        self.strange(payload, frame, kind, may_be_body=True)

    def tell_error(self, holder: Mapping[str, Any]) -> None:
        """State the error that *holder* carries; the finish reason beside it says whether a retry is sensible."""
        tell_error(self.w, holder)

    # Pieces

    def _stream_start(self, payload: dict[str, Any], frame: Frame) -> None:
        if self._started:
            self._calls.clear()
            self.begin_again(payload.get("generation_id"))
        self._started = True
        self.w.message(id=payload.get("generation_id"))

    def _text_generation(self, payload: dict[str, Any], frame: Frame) -> None:
        self.w.append(_number(payload) or 0, "text", payload.get("text"))

    def _tool_calls_chunk(self, payload: dict[str, Any], frame: Frame) -> None:
        """The model's plan, which is the `text` of the response, and then its calls in pieces."""
        w = self.w
        w.append(0, "text", payload.get("text"))
        for _, delta in w.objects("tool_call_delta", payload.get("tool_call_delta")):
            w.append(0, "text", delta.get("text"))
            if delta.keys() <= {"text"}:
                continue
            slot = w.call(
                0,
                number=_number(delta),
                name=delta.get("name"),
                arguments=text_within(delta.get("parameters") or None, frame),
                extra={key: value for key, value in delta.items() if key not in _CALL_DELTA},
            )
            self._calls.setdefault(slot)

    # Wholes

    def _tool_calls_generation(self, payload: dict[str, Any], frame: Frame) -> None:
        self.w.restate(0, "text", payload.get("text"))
        self._state_calls(payload, frame)

    def _state_calls(self, holder: dict[str, Any], frame: Frame, *path: str) -> None:
        """
        The calls as objects: they are matched with the pieces by name and order, having nothing else in common. What
        the model wrote is replaced by the server's own rendering of it, since that is what a whole response has.
        """
        w = self.w
        waiting: dict[str | None, list[Slot]] = {}
        for slot in reversed(self._calls):
            waiting.setdefault(slot.name, []).append(slot)
        for place, call in w.objects("tool_calls", holder.get("tool_calls")):
            given = None if is_blank(call.get("parameters")) else call["parameters"]
            arguments = json_text(given, frame, *path, "tool_calls", place, "parameters")
            rest = {key: value for key, value in call.items() if key not in _CALL or value is None}
            name = text_or_none(call.get("name"))
            alike = waiting.get(name) or waiting.get(None)
            if alike:
                slot = alike.pop()
                w.update(slot, name=name if name != slot.name else None, extra=rest)
                slot.name = slot.name or name
                if arguments != self._calls[slot]:
                    w.restate_call(slot, arguments)
            else:
                slot = w.start(0, "tool_call", name=name, tool_type="function", extra=rest)
                w.delta(slot, arguments)
                if w.is_whole and call.get("parameters") == "":
                    self.note_form(slot, "string")
            self._calls[slot] = arguments
            w.stop(slot)

    def _citation_generation(self, payload: dict[str, Any], frame: Frame) -> None:
        given = payload.get("citations")
        citations = [citation for _, citation in self.w.objects("citations", given)]
        self.w.annotations(0, self.w.current(0, "text"), citations)
        if "citations" in payload and not are_objects_once(given):
            self.w.extra(("citations",), given)

    def _stream_end(self, payload: dict[str, Any], frame: Frame) -> None:
        for _, response in self.w.objects("response", payload.get("response")):
            self._take_response(response, frame, "response")
        self.w.finish(0, payload.get("finish_reason"))
        self.end_seen = True

    def _take_response(self, response: dict[str, Any], frame: Frame, *path: str) -> None:
        """The whole response. Its citations are those that came before, or all there are."""
        w = self.w
        w.message(id=response.get("generation_id") or response.get("id"))
        w.blanks(response, ())
        w.restate(0, "text", response.get("text"))
        self._state_calls(response, frame, *path)
        self._citation_generation(response, frame)
        for place, generation in w.objects("generations", response.get("generations")):
            self._generation(place, generation)
        for _, meta in w.objects("meta", response.get("meta")):
            w.usage({key: value for key, value in meta.items() if key in _USAGE}, cohere_usage)
            w.extra(("meta",), {})
            w.blanks(meta, (), "meta")
            w.extras(meta, _USAGE, "meta")
        w.finish_at(0, response.get("finish_reason"), "finish_reason")
        w.extras(response, _BODY)

    def _generation(self, place: int, generation: dict[str, Any]) -> None:
        """One of the answers of `generate`."""
        w = self.w
        number = _number(generation)
        number = place if number is None else number
        w.restate(number, "text", generation.get("text"))
        w.finish_at(number, generation.get("finish_reason"), "generations", number, "finish_reason")
        w.extra(("generations", number), {})
        w.blanks(generation, (), "generations", number)
        w.extras(generation, _GENERATION, "generations", number)

    def _stream_error(self, payload: dict[str, Any], frame: Frame) -> None:
        self.w.finish(_number(payload) or 0, payload.get("finish_reason"))
        self.w.error(under_reason(read_error(payload.get("err"), raw=payload), payload.get("finish_reason")))
        self.end_seen = True

    def _kept(self, payload: dict[str, Any], frame: Frame) -> None:
        """Nothing but fields of the response: search queries, search results, documents, the prompt."""


def _is_whole(payload: Mapping[str, Any]) -> bool:
    """`/v1/chat` and `/v1/generate` without streaming."""
    chat = isinstance(payload.get("text"), str) and not payload.keys().isdisjoint(_CHAT)
    generations = payload.get("generations")
    if chat or not isinstance(generations, list):
        return chat
    return "id" in payload or any(isinstance(generation, dict) and "text" in generation for generation in generations)


def _number(holder: dict[str, Any]) -> int | None:
    index = holder.get("index")
    return index if type(index) is int and index >= 0 else None


HANDLERS: dict[str, Callable[[CohereV1, dict[str, Any], Frame], None]] = {
    "stream-start": CohereV1._stream_start,
    "search-queries-generation": CohereV1._kept,
    "search-results": CohereV1._kept,
    "text-generation": CohereV1._text_generation,
    "tool-calls-chunk": CohereV1._tool_calls_chunk,
    "tool-calls-generation": CohereV1._tool_calls_generation,
    "citation-generation": CohereV1._citation_generation,
    "stream-end": CohereV1._stream_end,
    "stream-error": CohereV1._stream_error,
    "debug": CohereV1._kept,
}

CohereV1.payloads = tuple(HANDLERS)
DIALECT = CohereV1
