"""
Mistral's Conversations and Agents API: named events, each about one entry of the `outputs` of the whole response.

An entry is a message, a call for the client, a tool that the server ran, or a handoff to another agent. `output_index`
and `id` tell entries apart, `content_index` the chunks of a message, whose content is a string or one typed chunk at a
time. No event ends a message or a call, and no word says why the model stopped: `conversation.response.done` says only
that it did.

Manual: docs/dialects/mistral-conversations.md. Reference: docs.mistral.ai, "Conversations" and "Agents" (`#stream`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from chunkfold.dialects import CERTAIN, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._error_words import MISTRAL
from chunkfold.dialects._errors import read_error
from chunkfold.dialects._words import text_or_none, whole_number, word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

_BODY = frozenset({"object", "type", "conversation_id", "created_at", "outputs", "usage"})
# Facts of an entry, stated anew by each of its events. The first ones stand.
_FACTS = ("id", "object", "created_at", "completed_at", "agent_id", "model", "role")
# What the parts are made of.
_PIECES = frozenset(
    {
        "type", "output_index", "content_index", "content", "arguments", "name", "tool_call_id", "info",
        "confirmation_status", "previous_agent_id", "previous_agent_name", "next_agent_id", "next_agent_name", *_FACTS,
    }
)  # fmt: skip
_PLACES = frozenset({"type", "output_index", "content_index"})
_HANDOFF = ("previous_agent_id", "previous_agent_name", "next_agent_id", "next_agent_name")

# Chunks that are media: where their location stands.
_MEDIA: dict[str, tuple[Kind, str]] = {
    "image_url": ("image", "image_url"),
    "document_url": ("file", "document_url"),
    "tool_file": ("file", "file_id"),
    "file": ("file", "file_id"),
}


class _Place(NamedTuple):
    """Where a chunk of content stands in the whole response."""

    entry: int
    position: int | None


class MistralConversations(Dialect):
    """Mistral Conversations and Agents streaming."""

    name: ClassVar[str] = "mistral-conversations"
    delta_keys: ClassVar[tuple[str, ...]] = ("content", "text", "arguments")
    padding_keys: ClassVar[tuple[str, ...]] = ("created_at",)

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        if payload.get("object") == "conversation.response":
            return CERTAIN
        if isinstance(payload.get("outputs"), list) and "conversation_id" in payload:
            return CERTAIN
        payload = _unwrapped(payload)
        kind = payload.get("type") or event
        return CERTAIN if isinstance(kind, str) and kind in HANDLERS else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._begun = False
        self._begin()
        # The payload is a body that was not streamed.
        self._is_whole = False

    def _begin(self) -> None:
        """Nothing has come yet."""
        self._entries: dict[tuple[str, int | None, str | None], int] = {}
        self._taken: set[int] = set()
        # The entries of calls whose id has come.
        self._called: set[int] = set()
        # The text or reasoning that is being written. Only the next one ends it.
        self._open: Slot | None = None
        self._told: dict[Slot, dict[str, Any]] = {}
        # For each entry the place after the last chunk of its content.
        self._ends: dict[int, int] = {}

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        outer, payload = payload, dict(_unwrapped(payload))
        kind: Any = payload.get("type") or frame.event
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(self, payload, frame)
            if handler is not MistralConversations._error and not kind.startswith("tool."):
                self.error_beside(payload)
        elif payload.get("object") == "conversation.response" or isinstance(payload.get("outputs"), list):
            self._whole(payload, frame)
        else:
            self.strange(payload, frame, word(kind), may_be_body=True)
        if "event" in outer:
            self.error_beside(outer)

    # The response

    def begin_again(self, next_id: Any = None) -> None:
        self._begin()
        super().begin_again(next_id)

    def _started(self, payload: dict[str, Any], frame: Frame) -> None:
        if self._begun:
            self.begin_again()  # the id is that of the conversation, which goes on
        self._begun = True
        self._body(payload)

    def _body(self, payload: dict[str, Any]) -> None:
        """The fields of the response itself."""
        w, usage = self.w, payload.get("usage")
        w.usage(usage)
        if usage and not isinstance(usage, dict):
            w.extra(("usage",), usage)
        for fact, key in (("id", "conversation_id"), ("created", "created_at")):
            w.message(**{fact: payload.get(key)})
            if payload.get(key) is not None and not w.fact(fact):
                w.extra((key,), payload[key])
        w.blanks(payload, ())
        w.extras(payload, _BODY)

    def _done(self, payload: dict[str, Any], frame: Frame) -> None:
        """A plain stop, of which calls for the client make another; there is no word for either."""
        self._body(payload)
        self.w.finish(0, None, reason="stop")
        self.end_seen = True

    def _error(self, payload: dict[str, Any], frame: Frame) -> None:
        error = {key: value for key, value in payload.items() if key != "type"}
        self.w.error(read_error(error, raw=payload, status=MISTRAL.get(whole_number(payload.get("code")) or 0)))

    def _whole(self, payload: dict[str, Any], frame: Frame) -> None:
        """
        A response that was not streamed: its entries, each taken as the events that would have told it. One that does
        not say what it is was cut, or was stopped by its error.
        """
        w = self.w
        self.restated(payload.get("outputs"))
        self._is_whole = True
        self.whole()
        w.message(id=payload.get("conversation_id"), created=payload.get("created_at"))
        for place, entry in w.objects("outputs", payload.get("outputs")):
            kind = entry.get("type")
            handlers = ENTRIES.get(kind, ()) if isinstance(kind, str) else ()
            for handler in handlers:
                handler(self, {**entry, "output_index": place}, frame, "outputs", place)
            if not handlers:
                w.unknown(word(kind, default="outputs"), entry)
                w.extra(("outputs", place), entry)
                self._taken.add(place)
        self.tell_error(payload)
        for key in ("object", "type"):
            if key in payload:
                w.extra((key,), payload[key])
        if payload.get("object") == "conversation.response":
            self._done(payload, frame)
        else:
            self._body(payload)

    def _entry(self, kind: str, payload: dict[str, Any], call: str | None = None) -> int:
        """The place in `outputs` of the entry that an event is about: that of the *call*, if it has such an id."""
        w = self.w
        number = payload.get("output_index")
        number = number if type(number) is int else None
        key, named = (kind, number, text_or_none(payload.get("id"))), (kind, number, call)
        place = self._entries.get(named) if call else None
        if place is None:
            place = self._entries.get(key)
            if call and payload.get("name") and place in self._called:
                place = None
        if place is None:
            place = max(self._taken, default=-1) + 1 if number is None or number in self._taken else number
            self._taken.add(place)
            self._entries[key] = self._entries[kind, number, None] = place
            w.extra(("outputs", place, "type"), kind)
            for fact in _FACTS:
                if payload.get(fact) is not None:
                    w.extra(("outputs", place, fact), payload[fact])
        if call and place not in self._called:
            self._called.add(place)
            self._entries[named] = place
        w.message(model=payload.get("model"), role=payload.get("role"))
        w.blanks(payload, _PLACES, "outputs", place)
        w.extras(payload, _PIECES, "outputs", place)
        return place

    def _tell(self, slot: Slot, facts: Mapping[str, Any]) -> None:
        """State what is new about a part: events repeat all they know."""
        told = self._told.setdefault(slot, {})
        news = {key: value for key, value in facts.items() if value is not None and told.get(key) != value}
        told.update(news)
        self.w.update(slot, extra=news)

    # Messages

    def _message_output(self, payload: dict[str, Any], frame: Frame, *path: str | int) -> None:
        index, content = payload.get("content_index"), payload.get("content")
        place = _Place(self._entry("message.output", payload), index if type(index) is int else None)
        if isinstance(content, str):
            if content:
                self.w.delta(self._part(place, "text", {}, payload.get("id")), content)
            return
        for _, chunk in self.w.objects("content", content):
            kind = chunk.get("type")
            handler = CHUNKS.get(kind) if isinstance(kind, str) else None
            (handler or MistralConversations._unknown_chunk)(self, chunk, place, payload.get("id"))

    def _whole_message(self, payload: dict[str, Any], frame: Frame, *path: str | int) -> None:
        content = payload.get("content")
        if not isinstance(content, list) or not content:
            self._message_output(payload, frame)
            return
        for index, chunk in enumerate(content):
            if isinstance(chunk, str):
                place = _Place(self._entry("message.output", payload), index)
                self.w.delta(self._part(place, "text", {"$form": "string"}, payload.get("id")), chunk)
            else:
                self._message_output({**payload, "content_index": index, "content": chunk}, frame)

    def _part(self, place: _Place, kind: Kind, facts: Mapping[str, Any], id_: Any) -> Slot:
        """The part that goes on there, or a new one, which ends the one before."""
        w = self.w
        slot = w.slot(0, place)
        if slot is None or slot.kind != kind or not slot.open:
            if self._open is not None:
                w.stop(self._open)
            blank = {key: None for key, value in facts.items() if value is None}
            slot = self._open = w.start(0, kind, key=place, id=id_, extra=blank)
            if place.position is not None:
                self._ends[place.entry] = max(place.position + 1, self._ends.get(place.entry, 0))
        self._tell(slot, {**facts, "output_index": place.entry, "content_index": place.position})
        return slot

    def _text_chunk(self, chunk: dict[str, Any], place: _Place, id_: Any) -> None:
        facts = {key: value for key, value in chunk.items() if key != "text" or not value}
        self.w.delta(self._part(place, "text", facts, id_), chunk.get("text"))

    def _thinking_chunk(self, chunk: dict[str, Any], place: _Place, id_: Any) -> None:
        """A list of texts, among them references, which are citations of the choice; or one text."""
        w = self.w
        facts = {key: value for key, value in chunk.items() if key not in ("thinking", "signature") or not value}
        slot = self._part(place, "reasoning", facts, id_)
        w.update(slot, signature=chunk.get("signature"))
        inner = chunk.get("thinking")
        if not isinstance(inner, list):
            w.delta(slot, inner)
            return
        for number, (form, text) in enumerate(self._inner(slot, inner)):
            if number:
                notes = {"$form": "inner", "output_index": place.entry, "content_index": place.position}
                slot = w.start(0, "reasoning", extra=notes)
            self._tell(slot, {"thinking": form})
            w.delta(slot, text)

    def _inner(self, slot: Slot, pieces: list[Any]) -> list[tuple[list[Any], str]]:
        """
        What stands in a list of thinking, and its text. The first text stands for all of them: where there are more in
        a body that was not streamed, each begins a list of its own.
        """
        told = self._told.get(slot, {}).get("thinking")
        lists: list[tuple[list[Any], list[str]]] = [(list(told) if isinstance(told, list) else [], [])]
        for piece in pieces:
            form, texts = lists[-1]
            if isinstance(piece, dict) and not isinstance(piece.get("text"), str):
                self.w.annotations(0, None, [piece])
                form.append(piece)
                continue
            rest = {key: value for key, value in piece.items() if key != "text"} if isinstance(piece, dict) else None
            has_text = any(map(_stands_for_text, form))
            if has_text and self._is_whole:
                form, texts = [], []
                lists.append((form, texts))
            if not has_text or self._is_whole:
                form.append({**rest, "text": ""} if rest is not None else "")
            elif rest:
                form[:] = [{**item, **rest} if item and _stands_for_text(item) else item for item in form]
            text = piece["text"] if isinstance(piece, dict) else piece
            texts.append(text if isinstance(text, str) else "")
        return [(form, "".join(texts)) for form, texts in lists]

    def _reference_chunk(self, chunk: dict[str, Any], place: _Place, id_: Any) -> None:
        """A citation that stands at this point of the text."""
        self.w.annotations(0, self.w.current(0, "text"), [chunk])
        self._keep(chunk, place)

    def _media_chunk(self, chunk: dict[str, Any], place: _Place, id_: Any) -> None:
        """A picture or a file: by its URL, or by its id among the files of the account."""
        w = self.w
        kind, field = _MEDIA[chunk["type"]]
        if chunk.get("tool") == "image_generation":
            kind = "image"
        where = chunk.get(field)
        if isinstance(where, dict):
            where = where.get("url")
        facts = {key: value for key, value in chunk.items() if key != field or value is not where or not value}
        if field in chunk and not isinstance(where, str):
            facts[field] = chunk.get(field)
        if field == "file_id":
            slot = w.start(0, kind, id=where, extra=facts)
        else:
            slot = w.start(0, kind, extra={**facts, "url": where if isinstance(where, str) else None})
        self._tell(slot, {"output_index": place.entry, "content_index": place.position})
        w.stop(slot)

    def _unknown_chunk(self, chunk: dict[str, Any], place: _Place, id_: Any) -> None:
        self.w.unknown(word(chunk.get("type"), default="content"), chunk)
        self._keep(chunk, place)

    def _keep(self, chunk: dict[str, Any], place: _Place) -> None:
        """A chunk that is no text has a place among the texts: the next one, if it does not say which."""
        end = self._ends.get(place.entry, 0)
        position = place.position if place.position is not None else end
        self._ends[place.entry] = max(position + 1, end)
        self.w.extra(("outputs", place.entry, "content", position), chunk)

    # Calls

    def _function_call(self, payload: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A piece of a call. Its own id is that of the entry; the one to be answered is `tool_call_id`."""
        id_, number = payload.get("tool_call_id"), payload.get("output_index")
        place = self._entry("function.call", payload, id_ if isinstance(id_, str) and id_ != "null" else None)
        arguments = payload.get("arguments")
        self._keep_odd(place, payload, ("name", "tool_call_id"))
        if id_ == "null":
            self.w.extra(("outputs", place, "tool_call_id"), id_)
        slot = self.w.call(
            0,
            number=("entry", place),
            id=id_ if id_ != "null" else None,
            name=payload.get("name"),
            arguments=json_text(arguments if path else arguments or None, frame, *path, "arguments"),
        )
        self._tell(
            slot,
            {
                "$form": "object" if arguments is not None and not isinstance(arguments, str) else None,
                "id": payload.get("id"),
                "index": number if type(number) is int else None,
                "output_index": place,
                "confirmation_status": payload.get("confirmation_status"),
            },
        )

    def _tool_execution(self, payload: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A tool that the server runs: started, more of its arguments."""
        given = payload.get("arguments")
        slot = self._execution(self._entry("tool.execution", payload), payload)
        if given is not None and not isinstance(given, str):
            self._tell(slot, {"$form": "object"})
        self.w.delta(slot, json_text(given if path else given or None, frame, *path, "arguments"))

    def _tool_execution_done(self, payload: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """The tool has run. What it says about the run, if anything, is the result."""
        w = self.w
        place = self._entry("tool.execution", payload)
        w.stop(self._execution(place, payload))
        info = payload.get("info")
        if info:
            content = {"content": info, "output_index": place}
            id_, name = payload.get("id"), payload.get("name")
            w.stop(w.start(0, "server_tool_result", key=("info", place), id=id_, name=name, extra=content))

    def _execution(self, place: int, payload: dict[str, Any]) -> Slot:
        w, key = self.w, ("execution", place)
        self._keep_odd(place, payload, ("name",))
        return w.slot(0, key) or w.start(
            0,
            "server_tool_call",
            key=key,
            id=payload.get("id"),
            name=payload.get("name"),
            tool_type="tool.execution",
            extra={"output_index": place},
        )

    def _handoff(self, payload: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """From one agent (started) to another (done): nothing in a message is like it."""
        w = self.w
        place = self._entry("agent.handoff", payload)
        named = ("handoff", place)
        slot = w.slot(0, named) or w.start(0, "unknown", key=named, name="agent.handoff")
        self._tell(slot, {"id": payload.get("id"), **{key: payload.get(key) for key in _HANDOFF}})
        for key in _HANDOFF:
            if payload.get(key):
                w.extra(("outputs", place, key), payload[key])

    def _keep_odd(self, place: int, payload: dict[str, Any], names: tuple[str, ...]) -> None:
        """Keep what stands in the place of a word."""
        for key in names:
            if payload.get(key) and not isinstance(payload[key], str):
                self.w.extra(("outputs", place, key), payload[key])


def _stands_for_text(item: Any) -> bool:
    return item == "" or (isinstance(item, dict) and item.get("text") == "")


def _unwrapped(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    """Mistral's SDK hands out events as `{event, data}`."""
    data = payload.get("data")
    return data if isinstance(data, dict) and isinstance(payload.get("event"), str) else payload


HANDLERS: dict[str, Callable[[MistralConversations, dict[str, Any], Frame], None]] = {
    "conversation.response.started": MistralConversations._started,
    "message.output.delta": MistralConversations._message_output,
    "function.call.delta": MistralConversations._function_call,
    "tool.execution.started": MistralConversations._tool_execution,
    "tool.execution.delta": MistralConversations._tool_execution,
    "tool.execution.done": MistralConversations._tool_execution_done,
    "agent.handoff.started": MistralConversations._handoff,
    "agent.handoff.done": MistralConversations._handoff,
    "conversation.response.done": MistralConversations._done,
    "conversation.response.error": MistralConversations._error,
}

# The entries of a whole response, and what to do with each.
ENTRIES: dict[str, tuple[Callable[..., None], ...]] = {
    "message.output": (MistralConversations._whole_message,),
    "function.call": (MistralConversations._function_call,),
    "tool.execution": (MistralConversations._tool_execution, MistralConversations._tool_execution_done),
    "agent.handoff": (MistralConversations._handoff,),
}

CHUNKS: dict[str, Callable[[MistralConversations, dict[str, Any], _Place, Any], None]] = {
    "text": MistralConversations._text_chunk,
    "thinking": MistralConversations._thinking_chunk,
    "reference": MistralConversations._reference_chunk,
    "tool_reference": MistralConversations._reference_chunk,
    **dict.fromkeys(_MEDIA, MistralConversations._media_chunk),
}

MistralConversations.payloads = (*HANDLERS, *CHUNKS)
DIALECT = MistralConversations
