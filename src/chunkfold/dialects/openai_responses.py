"""
OpenAI Responses: named events about numbered output items, and a closing event that restates the whole response.

Everything is told several times: in deltas, by the `done` of a part, by the `done` of its item, and by the closing
response. The first telling makes a part; the others confirm, fill or replace it. Items are found by `output_index`,
parts by their sub-index: GitHub Copilot draws a new `item_id` for every event, while llama.cpp sends nothing but ids.
Inputs of built-in tools that stream as plain text become the JSON that they stand in.

Manual: docs/dialects/openai-responses.md. Reference: platform.openai.com/docs/api-reference/responses-streaming.
"""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

import msgspec

from chunkfold.basis import _json
from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect, _responses_calls, _responses_itemless
from chunkfold.dialects._errors import error_body, error_in, error_told, read_error
from chunkfold.dialects._responses_events import (
    AUDIO,
    BESIDE,
    INPUTS,
    OF_INPUT,
    OLDER,
    PART_EVENTS,
    PINGS,
    PROGRESS,
    TEXTS,
    UNNUMBERED,
    is_aside,
    renewed,
    response_in,
    text_in,
    told_beside,
)  # fmt: skip
from chunkfold.dialects._responses_items import Items, Listing, checksum, index_of, kind_of, text_of
from chunkfold.dialects._responses_kinds import (
    CALLS,
    EVENT_FIELDS,
    OPENINGS,
    OWN,
    RESULTS,
    Item,
    part_of,
    part_row,
)
from chunkfold.dialects._responses_parts import ItemParts
from chunkfold.dialects._responses_snapshots import Piece, Sequence, news
from chunkfold.dialects._words import is_real, is_sign_of_life, word
from chunkfold.parts import UnknownPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.likeness.deltas import Heard
    from chunkfold.parts import Kind
    from chunkfold.response import StreamError

# Fields of the response that are facts or parts of ours; all others are kept for the native body.
_RESPONSE = frozenset({"id", "object", "model", "created_at", "output", "usage", "error"})
_NONE: frozenset[str] = frozenset()
_PLACE = frozenset({"type", "sequence_number", "output_index", "item_id"})
_ENDS = frozenset({"completed", "incomplete", "failed", "cancelled", "canceled"})
# Perplexity waits for the results of the calls.
_WHOLE = ("completed", "requires_action")
_STATUSES = _ENDS.union(_WHOLE)
_CARRYING_FIELDS = EVENT_FIELDS.union(BESIDE)
_VENDORS = {"timings": "llamacpp", "copilot_usage": "github-copilot"}  # by fields beside the response


class OpenAIResponses(Dialect):
    """OpenAI Responses streaming, also by Azure, Bedrock, xAI, OpenRouter, LM Studio, llama.cpp and others."""

    name: ClassVar[str] = "openai-responses"
    delta_keys: ClassVar[tuple[str, ...]] = ("delta",)
    padding_keys: ClassVar[tuple[str, ...]] = ("obfuscation", "item_id")
    rising_keys: ClassVar[tuple[str, ...]] = ("sequence_number",)
    listens: ClassVar[bool] = True
    words: ClassVar[Mapping[str, str]] = {"requires_action": "tool_calls"}

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = payload.get("type") or event
        if payload.get("object") == "response" and isinstance(payload.get("output"), list):
            return CERTAIN
        if not isinstance(kind, str) or not kind.startswith("response."):
            return NO
        return CERTAIN if kind in HANDLERS or kind in OLDER else LIKELY

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._begin()

    def _begin(self) -> None:
        self._id: str | None = None
        self._told: StreamError | None = None
        self._items = Items()
        # The parts that text deltas have found.
        self._found: dict[tuple[str, int | None, int], Piece] = {}
        self._parts = ItemParts(self.w)
        self._sequence = Sequence()
        self._completed = False

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        kind: Any = payload.get("type")
        if not kind and frame.event in HANDLERS:
            kind = frame.event
            payload = {**payload, "type": kind}
            self.w.singular = True  # what is not in it is not known from its likeness
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is None and isinstance(kind, str) and kind in OLDER:
            kind, payload = OLDER[kind], renewed(payload, OLDER[kind])
            handler = HANDLERS[kind]
            self.w.singular = True  # as above
        if handler is None:
            self._other(payload, frame)
            return
        if "sequence_number" not in payload or kind in UNNUMBERED or not self._is_repeat(kind, payload):
            handler(self, payload, frame)
            self.w.extras(payload, _READ.get(handler, EVENT_FIELDS))
        # What has failed by an event of its own is a tool of the server.
        if payload.get("error") and not kind.endswith(".failed"):
            self._tell(error_in(payload) or read_error(payload["error"]))

    def hear(self, heard: list[Heard]) -> None:
        sums: dict[Any, int] = {}
        for run in heard:
            for target, texts in run.runs if run.target is None else [(run.target, run.texts)]:
                piece = self._parts.all.get(target.index)
                if piece is not None:
                    piece.hear(texts)
                if run.number >= 0 and target not in sums:
                    text = told_beside(word(target.payload.get("type")), target.payload)
                    sums[target] = crc32(text.encode("utf-8", "surrogatepass"))
            if run.number >= 0:
                told = map(sums.__getitem__, run.targets) if run.target is None else repeat(sums[run.target])
                self._sequence.hear(run.number, told, run.texts)

    def done(self) -> None:
        """A `[DONE]`, which compatible servers send, says nothing: only the closing events count."""

    def close(self) -> None:
        for item in [item for item in self._items.all if not item.done]:
            if item.kind in CALLS and not self._completed:
                self.w.cut(item.first.slot)
            if item.outputs:
                self.w.update(item.first.slot, extra={"content": _responses_calls.printed(item)})
            elif item.kind in CALLS and not item.first.has_text:
                # A call whose input never came whole. In a completed response its start was all; else it was cut.
                if self._completed:
                    self._finish(item, item.given, b"")
                elif item.first.slot.kind == "tool_call":
                    self.w.delta(item.first.slot, item.opening)

    def _other(self, payload: dict[str, Any], frame: Frame) -> None:
        """What is no event that we know: a whole response, an error, something new."""
        kind = payload.get("type") or frame.event
        if payload.get("object") == "response":
            if self.w.is_whole and text_of(payload, "id") != self._id:
                self._begin_with(text_of(payload, "id"))  # a file with one body a line
            self.w.whole()  # one that is asked for until it is over has the same id
            self._whole_response(payload, "completed", frame, "output")
        elif isinstance(kind, str) and kind.startswith(("codex.", "responsesapi.", "response.metadata")):
            self.w.ping()  # frames of the WebSocket form, which concern the connection
        elif is_aside(kind, payload):
            self.w.unknown(word(kind), payload)
        elif (error := self._error_told(payload, frame)) is not None:
            self._tell(error)
        elif is_sign_of_life(payload, frame.event) or self._is_progress(kind, payload):
            self.w.ping()
        elif isinstance(kind, str) and kind.startswith("response.reasoning."):
            _responses_itemless.thought(self.w, {**payload, "type": kind})
        else:
            # Not named like an item of that type, which has its place in the output.
            name = word(kind)
            self.w.unknown(name if name.startswith("response.") else f"event.{name}", payload)

    def _is_progress(self, kind: Any, payload: dict[str, Any]) -> bool:
        """True if an event says only how far a tool of another provider is, whose item says it in the end."""
        family, _, rest = word(kind).partition(".")
        item, _, verb = rest.partition(".")
        is_told = family == "response" and verb != "" and self._items.last(item, None) is not None
        return is_told and payload.keys() <= _PLACE

    @staticmethod
    def _error_told(payload: dict[str, Any], frame: Frame) -> StreamError | None:
        """An error in the words of a gateway. What has no type is no event, so that a message alone is one too."""
        return error_told(payload, frame.event) or (None if payload.get("type") else error_body(payload))

    def _is_repeat(self, kind: str, payload: dict[str, Any]) -> bool:
        """True if what must not be taken twice comes again. Snapshots that come again do no harm."""
        delta = payload.get("delta")
        told = told_beside(kind, payload)
        if not isinstance(delta, str):
            told, delta = _json.identity((told, delta)), ""
        return self._sequence.has(self.w, payload["sequence_number"], told, delta) and kind in _REPEATABLE

    # The response

    def _created(self, payload: dict[str, Any], frame: Frame) -> None:
        if self._items.all or self.end_seen:
            self._begin_with(text_of(response_in(payload), "id"))
        self._progress(payload, frame)

    def _begin_with(self, id_: str | None) -> None:
        """A proxy begins anew, or splices in another attempt: what came so far is void."""
        was_over, self.end_seen = self.end_seen, False
        self.w.reset(0, "replay" if id_ is None or id_ == self._id else "attempt")
        if was_over:
            self._has_several = False  # with another attempt what was noted before is void
            self.tell_of_several()
        self._begin()

    def _progress(self, payload: dict[str, Any], frame: Frame) -> None:
        for _, response in self.w.objects("response", response_in(payload) or payload.get("response")):
            self._facts(response)

    def _closing(self, payload: dict[str, Any], frame: Frame) -> None:
        response, inside = response_in(payload), payload.get("response")
        said = payload["type"].removeprefix("response.")
        is_beside = payload.get("output") and not (isinstance(inside, dict) and inside.get("output"))
        path = ("output",) if is_beside else ("response", "output")
        if said == "done" and self.end_seen and word(response.get("status")) not in _STATUSES:
            # Gateways send it behind an end of any kind.
            self._facts(response)
            self._output(response.get("output"), frame, *path, is_cut=not self._completed)
        else:
            self._whole_response(response, said.replace("done", "completed"), frame, *path, is_event=True)
        self.w.message(vendor=next((_VENDORS[key] for key in payload if key in _VENDORS), None))

    def _whole_response(
        self, response: dict[str, Any], said: str, frame: Frame, *path: str, is_event: bool = False
    ) -> None:
        """The whole response. The status in it goes before the event's own word."""
        self._facts(response)
        status, error = response.get("status"), response.get("error")
        said = status if isinstance(status, str) and status in _STATUSES else said
        is_whole = said in _WHOLE
        # A response that runs in the background, fetched before its end, is no end.
        is_running = status in ("in_progress", "queued") and not is_event
        self._output(response.get("output"), frame, *path, is_cut=is_running or not is_whole)
        if (error or said == "failed") and self._told is None:
            self._tell(read_error(error))
        if error:
            self.w.extra(("error",), error)
        if is_running:
            return
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else details
        self.w.finish(0, reason if said == "incomplete" and is_real(reason) else said)
        self.end_seen, self._completed = True, is_whole

    def _facts(self, response: dict[str, Any]) -> None:
        """Facts about the response. The last real value of every other field is kept for the native body."""
        self._id = self._id or text_of(response, "id")
        self.w.message(id=response.get("id"), model=response.get("model"), created=response.get("created_at"))
        self.w.usage(response.get("usage"))
        self.w.extras(response, _RESPONSE)
        self.w.blanks(response, ("output",))
        self.w.unsaid(response, "id", "model")
        if response.get("created_at") is not None and not self.w.fact("created"):
            self.w.extra(("created_at",), response["created_at"])

    def _output(self, output: Any, frame: Frame, *path: str, is_cut: bool) -> None:
        """The items of the whole response: those that came before are confirmed, of the others this is all."""
        texts: list[msgspec.Raw] | None = None
        listed = self.w.objects("output", output)
        listing = Listing(self._items, [given for _, given in listed])
        for place, given in listed:
            item = listing.find(place, given) or self._open({"output_index": place}, given)
            listing.take(item)
            if is_cut and not item.done and item.kind in CALLS and given.get("status") != "completed":
                _responses_calls.cut(self.w, item, given)
            if texts is None and _responses_calls.has_object_input(kind_of(given), given):
                texts = _json.raw_items_at(frame.data, *path) if isinstance(output, list) else []
            self._finish(item, listing.own(given), bytes(texts[place]) if texts else b"")

    # Items

    def _item_added(self, payload: dict[str, Any], frame: Frame) -> None:
        """The start of an item. Without one in it, it says nothing."""
        items = self._items
        for _, given in self.w.objects("item", payload.get("item")):
            kind, index = kind_of(given), index_of(payload, "output_index")
            item = items.placed(index, kind)
            if index is None:
                item = items.named(kind, text_of(given, "id"), text_of(given, "call_id"))
            if item is not None and (not items.may_be(item, given) or items.is_another(item, given)):
                item, items.index_reused = None, items.index_reused or index is not None
            item = item or items.begun(kind) or items.last_saying(given) or self._open(payload, given)
            self._take(item, given, b"")
            item.given = item.given or given

    def _item_done(self, payload: dict[str, Any], frame: Frame) -> None:
        items = self._items
        for _, given in self.w.objects("item", payload.get("item")):
            index, id_ = index_of(payload, "output_index"), text_of(given, "id") or payload.get("item_id")
            names = {**payload, "item_id": id_, "call_id": given.get("call_id")}
            item = self._find(names, kind_of(given)) or items.last_saying(given)
            if item is not None and item.done and not items.is_repeat(item, given, index):
                item, items.index_reused = None, items.index_reused or index is not None
            self._finish(item or self._open(payload, given), given, frame.data, "item")

    def _find(self, payload: dict[str, Any], kind: str) -> Item | None:
        """The item of that type that an event is about: by index, by its ids, or the last one where it has neither."""
        id_, call_id = text_of(payload, "item_id"), text_of(payload, "call_id")
        index = index_of(payload, "output_index")
        placed = self._items.placed(index, kind)
        if placed is None or self._items.index_reused:
            self.w.singular = True  # with another id it may be about another item
            named = self._items.named(kind, id_, call_id)
            if named is not None:
                return named
        return placed if index is not None or id_ else self._items.last(kind, call_id)

    def _item(self, payload: dict[str, Any], kind: str, said: dict[str, Any] | None = None) -> Item:
        """The item that an event is about, of which it may tell what it *said*; one that was never added is opened."""
        found = self._find(payload, kind) or (self._items.last_saying({"type": kind, **said}) if said else None)
        named = ("agent", "call_id") if kind in CALLS else ("agent",)
        facts = {key: payload[key] for key in named if payload.get(key)}
        return found or self._open(payload, {"type": kind, "id": payload.get("item_id"), **facts})

    def _open(self, payload: dict[str, Any], given: dict[str, Any]) -> Item:
        """A new item, and its part unless it is a message, which has them one by one."""
        kind, number, index = kind_of(given), len(self._items.all), index_of(payload, "output_index")
        begun = self._items.turning(text_of(given, "id"), kind)
        if begun is not None:
            self._turn(begun, index, given)
            return begun
        place = number if index is None else index
        if kind in ("message", "reasoning"):
            place = self._items.number(place)  # parts of two items at one index must not share their fields
        item = Item(kind, number, place, OPENINGS.get(kind))
        self._found.clear()
        self._items.add(item, index, given)
        extra = {
            "output_index": item.place,
            **news(item.fields, given, OWN.get(kind, _NONE), whole=kind == "reasoning"),
        }
        if kind in CALLS:
            extra["index"] = extra.pop("output_index")
            self._start(item, _responses_calls.kind(item, given), extra, **_responses_calls.facts(item, given))
            self._items.last_call = item
        elif kind in RESULTS:
            self._start(item, "server_tool_result", {**extra, "type": kind}, id=item.call_id)
        elif kind == "reasoning":
            # A part even if no text comes: it has the encrypted reasoning, which is to be sent back.
            self._start(item, "reasoning", extra)
        elif kind != "message":
            self._start(item, "unknown", given, name=kind)
        return item

    def _turn(self, item: Item, index: int | None, given: dict[str, Any]) -> None:
        """Llama Stack and OGX tell the arguments for a tool of their own as those of a function, under the same id."""
        self.w.singular = True
        self._items.turn(item, index, kind_of(given))
        _responses_calls.turn(self.w, item, given)

    def _start(self, item: Item, kind: Kind, extra: dict[str, Any], **facts: Any) -> None:
        """Open the part that the item is."""
        item.first = self._parts.new(self.w.start(0, kind, key=(item.number,), extra=extra, **facts))

    def _finish(self, item: Item, given: dict[str, Any], data: bytes, *path: str) -> None:
        """The item whole, with its exact text at *path* of *data*. An empty field of it erases nothing."""
        self._take(item, given, data, *path, whole=True)
        item.done = True
        if item.id is None and item.call_id is None:
            item.told = checksum(given)
        if item.first is None:
            # A message that is empty or nothing but a refusal: no part has its fields.
            named = {"id": item.id} if item.id is not None or "id" in given else {}
            for key, value in {"type": item.kind, **named, **item.fields}.items():
                self.w.extra(("output", item.place, key), value)
        for piece in item.parts():
            self.w.stop(piece.slot)

    def _take(self, item: Item, given: dict[str, Any], data: bytes, *path: str, whole: bool = False) -> None:
        """What an item says when it is added or done."""
        self._items.name(item, given)
        if item.kind not in OWN:
            if whole and (not item.done or given != item.value):
                item.value = given
                self.w.replace(item.first.slot, UnknownPart(item.kind, given))
            return
        if whole and "status" not in given and item.fields.get("status") not in (None, *_ENDS):
            given = {**given, "status": "completed"}  # llama.cpp says so only where it does not stream
        if item.fields.get("id") is not None:
            given = {**given, "id": item.id}  # the first one stands
        fields = news(item.fields, given, OWN[item.kind], whole=whole or item.kind == "reasoning")
        if item.first is not None:
            self.w.update(item.first.slot, extra=fields)
        if item.kind == "message":
            if given.get("phase", "") is None:
                self.w.extra(("output", item.place, "phase"), None)  # where a part has its phase, `None` is no field
            self.w.message(role=given.get("role"))
            if item.first is not None and item.first.slot.id is None and item.id is not None:
                item.first.slot.id = item.id
                self.w.update(item.first.slot, id=item.id)
            self._parts.take_list(item, given.get("content") if whole or not item.lists else None, "output_text")
        elif item.kind == "reasoning":
            # The encrypted form replaces: the first one is a shorter draft.
            encrypted = given.get("encrypted_content")
            fields = news(item.fields, {"encrypted": encrypted} if encrypted else {})
            self.w.update(item.first.slot, signature=given.get("signature"), extra=fields)
            if whole or not item.lists:
                both = bool(given.get("summary") and given.get("content"))
                self._parts.take_list(item, given.get("summary"), "summary_text", both=both)
                self._parts.take_list(item, given.get("content"), "reasoning_text", both=both)
        elif item.kind in RESULTS:
            content, failed = given.get(RESULTS[item.kind]), given.get("status") == "failed"
            told = {"content": content} if content is not None else {}
            fields = news(item.fields, {**told, "is_error": True} if failed else told)
            fresh = {} if item.first.slot.id else {"id": item.call_id}
            item.first.slot.id = item.call_id
            self.w.update(item.first.slot, extra=fields, **fresh)
        else:
            _responses_calls.take(self.w, item, given, data, *path, whole=whole)

    # Parts of messages and of reasoning

    def _part(self, payload: dict[str, Any], frame: Frame) -> None:
        """A part is added or done. Bedrock and others have events of their own for parts of reasoning."""
        _, default, sub = PART_EVENTS[payload["type"]]
        is_done = payload["type"].endswith("done")
        is_thought = self._items.named("reasoning", text_of(payload, "item_id"), None) is not None
        for _, given in self.w.objects("part", payload.get("part")):
            if is_thought and given.get("type") == "output_text":
                given = {**given, "type": "reasoning_text"}  # vLLM of 2025 gives it that type before it is over
            part = part_of(given, default)
            family, kind, field = part_row(part, default)
            said = {family: [part]} if is_done else None
            item = self._item(payload, "reasoning" if kind == "reasoning" else "message", said)
            key = (family, kind, index_of(payload, sub) or 0)
            if kind == "reasoning" and key not in item.pieces and item.tells(family, part.get(field)):
                continue
            if not is_done and item.leave(key):
                self._found.clear()
            piece, part = self._parts.meant(item, key, part, field, begins=not is_done)
            if is_done or not piece.has_text:
                self._parts.take(item, part, default, piece)
            if is_done:
                self._parts.keep(item, family, piece, {key: payload[key] for key in ("status",) if key in payload})
                self.w.stop(piece.slot)

    def _text_piece(self, payload: dict[str, Any]) -> tuple[Piece, dict[str, Any]]:
        """The part that an event about text is about, and the event, with a whole text that is that part's own."""
        stem, kind, family, part_kind, sub, whole = TEXTS[payload["type"]]
        key = (stem, index_of(payload, "output_index"), index_of(payload, sub) or 0)
        thought = self._items.thought(text_of(payload, "item_id")) if stem == "output_text" else None
        if thought is not None:
            self.w.singular = True  # with another id it is of the answer
            return self._parts.at(thought, family, "reasoning", key[2]), payload
        piece = self._found.get(key)
        if piece is None:
            said = {family: [{"text": payload[whole]}]} if payload.get(whole) else None
            item = self._item(payload, kind, said)
            place = (family, part_kind, key[2])
            piece, payload = self._parts.meant(item, place, payload, whole)
            is_placed = self._items.placed(key[1], kind) is item and not self._items.index_reused
            if is_placed and place in item.pieces:
                self._found[key] = piece
        return piece, payload

    def _text_event(self, payload: dict[str, Any], frame: Frame) -> None:
        """More text or all of it, with the log-probabilities of its tokens; or an annotation."""
        delta, logprobs = text_in(payload.get("delta")), payload.get("logprobs")
        field, annotation = TEXTS[payload["type"]][5], payload.get("annotation")
        if not (delta or payload.get(field) or annotation or logprobs):
            return
        piece, payload = self._text_piece(payload)
        text = payload.get(field)
        if isinstance(delta, str) and delta:
            piece.delta(self.w, delta)
        if text or annotation:
            piece.state(self.w, text)
            piece.cite(self.w, annotation)
        if logprobs:
            piece.logprobs(self.w, logprobs, whole="delta" not in payload)

    # Calls

    def _input_item(self, payload: dict[str, Any]) -> Item:
        """The call that an event about its input is about. An index of no call, without an id, is the last call's."""
        kind, index = INPUTS[payload["type"]][1], index_of(payload, "output_index")
        id_ = text_of(payload, "item_id")
        placed = () if index is None else (self._items.placed(index, call) for call in CALLS)
        found = self._find(payload, kind) or self._items.call(id_) or next(filter(None, placed), None)
        if found is not None and (found.done or not found.is_told):
            self.w.singular = True  # as in `_find`
            has_other_id = id_ and found.id and id_ not in (found.id, found.call_id)
            if has_other_id and self._is_behind(found, payload):
                # OGX tells the arguments of several calls at one index before any of them begins.
                self._items.index_reused = True
                return self._open(payload, {"type": kind, "id": id_})
        if found is not None and found is self._items.turning(id_, kind):
            self._turn(found, index, {"type": kind, "id": id_})
        last = None if payload.get("item_id") or payload.get("call_id") else self._items.last_call
        return found or (last if last is not None and not last.done else self._item(payload, kind))

    @staticmethod
    def _is_behind(item: Item, payload: dict[str, Any]) -> bool:
        """True if an input comes when that of the item is whole. What states the item's own once more does not."""
        if "delta" in payload:
            return item.done or _json.is_object(item.first.text or "")
        field = INPUTS[payload["type"]][2]
        return item.done and not item.first.says(_responses_calls.whole_input(item, field, payload.get(field), b""))

    def _input(self, payload: dict[str, Any], frame: Frame) -> None:
        """More of an input, or all of it."""
        field, delta = INPUTS[payload["type"]][2], payload.get("delta")
        value = payload.get(field)
        if isinstance(delta, dict) and delta:
            delta = _responses_calls.input_text("delta", delta, frame.data)
        if isinstance(delta, str) and delta:
            _responses_calls.write_input(self.w, self._input_item(payload), delta)
        elif value:
            item = self._input_item(payload)
            _responses_calls.take(
                self.w, item, {key: payload.get(key) for key in ("name", "call_id")}, b"", whole=False
            )
            item.first.state(self.w, _responses_calls.whole_input(item, field, value, frame.data))

    def _command(self, payload: dict[str, Any], frame: Frame) -> None:
        """A command of a shell, in pieces or, if there were none, whole. The events name no item but by its index."""
        text = payload.get("delta") or payload.get("command")
        if isinstance(text, str) and text:
            item, number = self._item(payload, "shell_call"), index_of(payload, "command_index") or 0
            _responses_calls.write_command(self.w, item, number, text, is_piece="delta" in payload)

    # What the server's tools do, and errors

    def _progress_of(self, payload: dict[str, Any], frame: Frame) -> None:
        """A status; or a preview, which stands as the result until the next one, or the picture itself, comes."""
        item, given = self._item(payload, payload["type"].split(".")[1]), _responses_calls.progress(payload)
        if not item.done:
            if item.given and "status" not in item.fields:
                given.pop("status", None)  # not every item has one
            self.w.update(item.first.slot, extra=news(item.fields, given))

    def _shell_output(self, payload: dict[str, Any], frame: Frame) -> None:
        """What a command printed. It is held until it is whole, since a result has no pieces."""
        item = self._item(payload, "shell_call_output")
        _responses_calls.keep_printed(item, index_of(payload, "command_index") or 0, payload)

    def _error(self, payload: dict[str, Any], frame: Frame) -> None:
        """
        An error, bare or nested, also in a response. A `response.failed` before or after it tells the same one.
        """
        inside = payload.get("response")
        beside = {"error": inside["error"]} if isinstance(inside, dict) and inside.get("error") else {}
        told = {key: value for key, value in payload.items() if key != "type"}
        error = error_in({**payload, **beside}) or read_error(told)
        self._tell(msgspec.structs.replace(error, raw=payload))

    def _tell(self, error: StreamError) -> None:
        told, self._told = self._told, error
        if told is None or (error.code, error.message) != (told.code, told.message):
            self.w.error(error)


HANDLERS: dict[str, Callable[[OpenAIResponses, dict[str, Any], Frame], None]] = {
    "response.created": OpenAIResponses._created,
    **{f"response.{verb}": OpenAIResponses._progress for verb in ("queued", "in_progress")},
    **{f"response.{verb}": OpenAIResponses._closing for verb in (*sorted(_ENDS), "done")},
    "response.output_item.added": OpenAIResponses._item_added,
    "response.output_item.done": OpenAIResponses._item_done,
    **dict.fromkeys(PART_EVENTS, OpenAIResponses._part),
    **dict.fromkeys(TEXTS, OpenAIResponses._text_event),
    **dict.fromkeys(INPUTS, OpenAIResponses._input),
    **{f"response.shell_call_command.{verb}": OpenAIResponses._command for verb in ("added", "delta", "done")},
    **{f"response.shell_call_output_content.{verb}": OpenAIResponses._shell_output for verb in ("delta", "done")},
    **dict.fromkeys(PROGRESS, OpenAIResponses._progress_of),
    **dict.fromkeys(AUDIO, lambda self, payload, _: _responses_itemless.sound(self.w, payload)),
    **dict.fromkeys(PINGS, lambda self, *_: self.w.ping()),
    **dict.fromkeys(("error", "response.error"), OpenAIResponses._error),
}

# The fields that are read, of events that have others than most.
_READ: dict[Callable[[OpenAIResponses, dict[str, Any], Frame], None], frozenset[str]] = {
    OpenAIResponses._created: _CARRYING_FIELDS,
    OpenAIResponses._progress: _CARRYING_FIELDS,
    OpenAIResponses._closing: _CARRYING_FIELDS,
    OpenAIResponses._input: EVENT_FIELDS | {"call_id"},
}

# Events that a repeat would double, or that would void what came.
_REPEATABLE = frozenset({"response.created", *(name for name in HANDLERS if name.endswith((".delta", "_part.added")))})

OpenAIResponses.payloads = (*HANDLERS, *OF_INPUT, "response")
DIALECT = OpenAIResponses
