"""
Amazon Bedrock ConverseStream: `messageStart`, numbered content blocks, `messageStop`, `metadata`.

The event's name stands in the frame's `:event-type`; the SDKs hand the same event out as an object with that one key.
Text and reasoning begin with their first delta, without a start. A signature comes as a delta of its own. The usage
comes after the stop, in most streams, and leaves cached tokens out of `inputTokens`.

Manual: docs/dialects/bedrock-converse.md. Reference: Amazon Bedrock API Reference, "ConverseStream".
"""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._errors import error_in, exceptions_in
from chunkfold.dialects._usage import count, summed, total
from chunkfold.dialects._words import are_objects_once, has_repeats, is_blank, is_empty, is_real, said_in
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

    # What takes a member of a union, and the type that it has to have.
    _Handler = tuple[Callable[["BedrockConverse", Any, Any], None], type]

# `p` is padding of random length, against eavesdroppers who count bytes.
_BLOCK_EVENT = frozenset({"contentBlockIndex", "start", "delta", "p"})
_MESSAGE_START = frozenset({"role", "p"})
_MESSAGE_STOP = frozenset({"stopReason", "usage", "p"})
_METADATA = frozenset({"usage", "p"})
_WHOLE = frozenset({"output", "stopReason", "usage", "error"})
_TOOL_USE = frozenset({"toolUseId", "name", "input", "type"})
_TOOL_RESULT = frozenset({"toolUseId", "content"})
_CITED = frozenset({"content", "citations"})
_REASONING = frozenset({"reasoningText", "redactedContent"})
_THOUGHT = frozenset({"text", "signature"})
_TEXT = frozenset({"text"})


class BedrockConverse(Dialect):
    """Amazon Bedrock ConverseStream, whatever the model behind it."""

    name: ClassVar[str] = "bedrock-converse"
    ends_calls: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = ("text", "input")
    address_keys: ClassVar[tuple[str, ...]] = ("contentBlockIndex",)
    padding_keys: ClassVar[tuple[str, ...]] = ("p",)

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        if event in HANDLERS and not isinstance(payload.get(event), dict):
            return _recognise(event, payload)
        for member in HANDLERS:
            inner = payload.get(member)
            if isinstance(inner, dict):
                return _recognise(member, inner)
        output = payload.get("output")
        if not _is_whole(output):
            return NO
        return CERTAIN if "stopReason" in payload else LIKELY

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._started = False
        # The exact text of the payload, and where in it the event stands.
        self._text_of: tuple[Frame | None, tuple[str, ...]] = (None, ())
        self._begin()

    def _begin(self) -> None:
        """Nothing has come yet."""
        # The open parts by block and kind, since some models send two kinds under one number.
        self._blocks: dict[Any, dict[Kind, Slot]] = {}
        # What server-side tools returned, given to the part when its block stops: a list that only grows.
        self._results: dict[Any, list[Any]] = {}
        # What is withheld and came in pieces, which are one blob: the first piece, and those after it.
        self._withheld: dict[Any, list[str]] = {}
        # What texts cite, as often as it came.
        self._cited: dict[Any, list[Any]] = {}
        # Argument text for blocks that are no calls.
        self._orphans: dict[Any, list[str]] = {}

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        handler = HANDLERS.get(frame.event)
        if handler is not None and not isinstance(payload.get(frame.event), dict):
            self._text_of = frame, ()
            handler(self, payload)
            self._text_of = None, ()
            if "error" in payload:
                self._tell_errors(payload)
            return
        members = [key for key, value in payload.items() if key in HANDLERS and isinstance(value, dict)]
        for member in members:
            self._text_of = frame, (member,)
            HANDLERS[member](self, payload[member])
        if members:
            self._text_of = None, ()
            self.w.extras(payload, frozenset(members))
            if len(payload) > len(members):
                self._tell_errors(payload)
        elif _is_whole(payload.get("output")):
            self._whole(payload, frame)
        else:
            self._other(payload, frame)

    def close(self) -> None:
        super().close()  # while blocks are open
        for index in [*self._blocks, *self._orphans]:
            self._release(index)
        self.w.cut_though_stopped(0)

    def _other(self, payload: dict[str, Any], frame: Frame) -> None:
        if said := said_in(payload):  # some SDKs write all members of the union, those that are not there as null
            name = frame.event or (said[0] if len(said) == 1 else "payload")
            self.strange(payload, frame, name, may_be_body=True)

    def begin_again(self, next_id: Any = None) -> None:
        self._begin()
        super().begin_again(next_id)

    def _message_start(self, event: dict[str, Any]) -> None:
        w = self.w
        if self._started:
            self.begin_again()
        self._started = True
        w.message(role=event.get("role"))
        w.blanks(event, ("p",), "output", "message")
        w.extras(event, _MESSAGE_START, "output", "message")

    def _message_stop(self, event: dict[str, Any]) -> None:
        """Not the last event: `metadata` follows, and blocks that were never stopped may go on."""
        w = self.w
        w.message()
        self._finish(event)
        self._usage(event)
        w.extras(event, _MESSAGE_STOP)
        self.end_seen = True

    def _finish(self, payload: dict[str, Any]) -> None:
        reason = payload.get("stopReason")
        self.w.finish(0, reason)
        if "stopReason" in payload and not is_real(reason):
            self.w.extra(("stopReason",), reason)

    def _metadata(self, event: dict[str, Any]) -> None:
        w = self.w
        w.message(model=_routed_to(event.get("trace")))
        self._usage(event)
        w.extras(event, _METADATA)

    def _usage(self, payload: dict[str, Any]) -> None:
        usage = payload.get("usage")
        self.w.usage(usage, converse_usage)
        if "usage" in payload and not (usage and isinstance(usage, dict)):
            self.w.extra(("usage",), usage)

    # Blocks

    def _block_start(self, event: dict[str, Any]) -> None:
        """Of what has no start of its own, it may have the first piece."""
        self._take(event, "start", {**DELTAS, **STARTS})

    def _block_delta(self, event: dict[str, Any]) -> None:
        self._take(event, "delta", DELTAS)

    def _take(self, event: dict[str, Any], field: str, handlers: Mapping[str, _Handler]) -> None:
        self.w.message()
        self.w.extras(event, _BLOCK_EVENT)
        index = _index_of(event)
        strange: list[str] = []
        for member, value in _members(event.get(field)):
            handler, shape = handlers.get(member, (None, object))
            if handler is not None and isinstance(value, shape):
                handler(self, index, value)
            else:
                strange.append(f"{field}.{member}".rstrip("."))
        if strange:
            self.w.unknown(strange[0], event)  # which has the others too

    def _start_call(self, index: Any, use: dict[str, Any]) -> None:
        """The same call started again is no second one."""
        kind: Kind = "server_tool_call" if use.get("type") == "server_tool_use" else "tool_call"
        known = self._blocks.get(index, {}).get(kind)
        id_ = use.get("toolUseId")
        if known is not None and (not id_ or known.id in (None, id_)):
            self.w.identify(known, id=id_, name=use.get("name"))
        else:
            call = _call(use, {})
            slot = self._open(index, kind, **call, number=index)
            slot.extra = call["extra"].get("toolUse")
            slot.start_input = self._input_text(use.get("input"), "start") or None

    def _start_result(self, index: Any, result: dict[str, Any]) -> None:
        self._open(index, "server_tool_result", **_result(result, {}))

    def _start_image(self, index: Any, image: dict[str, Any]) -> None:
        extra = {**_image_source(image)[1], **_format(image)}
        self._open(index, "image", extra=extra).extra = extra["image"]

    def _text(self, index: Any, text: str) -> None:
        self.w.delta(self._part(index, "text"), text)

    def _arguments(self, index: Any, use: dict[str, Any]) -> None:
        text = self._input_text(use.get("input") or None, "delta")
        slot = self._call_of(index)
        if slot is None and use.get("name"):
            self._start_call(index, {key: value for key, value in use.items() if key != "input"})
            slot = self._call_of(index)
        elif slot is not None and len(use) > ("input" in use):
            self._identify(slot, use)
        if not text:
            return
        slot = slot or self.w.slot(0, (index, "tool_call"))  # its block may be over
        if slot is None:
            self.w.diagnose("orphan_delta", "argument text for a block that is no open call")
            last = self.w.last_call(0)
            slot = last if last is not None and last.open else None
        if slot is not None:
            self.w.delta(slot, text)
        else:
            # Without a start there is neither name nor id, so that nobody could run or answer it.
            self._orphans.setdefault(index, []).append(text)

    def _call_of(self, index: Any) -> Slot | None:
        block = self._blocks.get(index, {})
        return block.get("tool_call") or block.get("server_tool_call")

    def _identify(self, slot: Slot, use: dict[str, Any]) -> None:
        """What a delta says of a call beside its input."""
        self.w.identify(slot, id=use.get("toolUseId"), name=use.get("name"))
        known = slot.extra or {}
        rest = {key: value for key, value in use.items() if key not in _TOOL_USE and not is_empty(value)}
        if any(known.get(key) != value for key, value in rest.items()):
            slot.extra = {**known, **rest}
            self.w.update(slot, extra={"toolUse": slot.extra})

    def _input_text(self, given: Any, field: str) -> str:
        """The text of an input, which some gateways send as an object."""
        frame, path = self._text_of
        return json_text(given, frame, *path, field, "toolUse", "input")

    def _tool_result(self, index: Any, items: list[Any]) -> None:
        self._part(index, "server_tool_result")
        self._results.setdefault(index, []).extend(items)

    def _reasoning(self, index: Any, content: dict[str, Any]) -> None:
        for member, value in _members(content):
            if member == "text" and isinstance(value, str):
                self.w.delta(self._part(index, "reasoning"), value)
            elif member == "signature" and isinstance(value, str):
                self.w.update(self._part(index, "reasoning"), signature=value)
            elif member in ("redactedContent", "data") and isinstance(value, str):
                self._redacted(index, value)
            elif member == "reasoningText" and isinstance(value, dict):
                self._reasoning(index, value)  # as the whole body has it
            else:
                self.w.unknown(f"delta.reasoningContent.{member}", content)

    def _redacted(self, index: Any, content: str) -> None:
        """Most send it in one piece; what comes after the first is put to it when the block stops."""
        slot = self._part(index, "reasoning")
        pieces = self._withheld.setdefault(index, [])
        if not pieces:
            self.w.update(slot, extra=_redacted(content))
        pieces.append(content)

    def _citation(self, index: Any, citation: dict[str, Any]) -> None:
        """Whole. It cites the text of its block; Nova gives each a block of its own, without text."""
        self.w.annotations(0, self._part(index, "text"), [citation])
        self._cited.setdefault(index, []).append(citation)

    def _image(self, index: Any, image: dict[str, Any]) -> None:
        slot = self._part(index, "image")
        data, rest = _image_source(image)
        self.w.data(slot, data)
        known = slot.extra or {}
        slot.extra = {**known, **rest["image"]}
        if isinstance(known.get("source"), dict) and isinstance(slot.extra.get("source"), dict):
            slot.extra["source"] = {**known["source"], **slot.extra["source"]}
        self.w.update(slot, extra={**rest, "image": slot.extra} if slot.extra != known else None)

    def _block_stop(self, event: dict[str, Any]) -> None:
        self.w.message()
        self.w.extras(event, _BLOCK_EVENT)
        self._release(_index_of(event))

    def _part(self, index: Any, kind: Kind) -> Slot:
        """The open part of that block and kind. Most blocks are opened by their first delta."""
        return self._blocks.get(index, {}).get(kind) or self._open(index, kind)

    def _open(self, index: Any, kind: Kind, **start: Any) -> Slot:
        block = self._blocks.setdefault(index, {})
        known = block.get(kind)
        if known is not None:
            self._stop(index, known)
        block[kind] = self.w.start(0, kind, key=(index, kind), **start)
        return block[kind]

    def _release(self, index: Any) -> None:
        """The block is over: its parts get what was held back for them."""
        for slot in self._blocks.pop(index, {}).values():
            self._stop(index, slot)
        orphan = self._orphans.pop(index, None)
        if orphan is not None:
            self.w.unknown("delta.toolUse", {"contentBlockIndex": index, "input": "".join(orphan)})

    def _stop(self, index: Any, slot: Slot) -> None:
        if slot.kind == "server_tool_result" and index in self._results:
            self.w.update(slot, extra={"content": self._results.pop(index)})
        elif slot.kind == "reasoning":
            pieces = self._withheld.pop(index, ())
            if len(pieces) > 1:
                self.w.update(slot, extra={"encrypted": _one_blob(pieces)})
        elif slot.kind == "text":
            cited = self._cited.pop(index, [])
            if has_repeats(cited):
                self.w.update(slot, extra={"citationsContent": {"citations": cited}})
        self.w.stop(slot)

    # The answer of Converse, which is not streamed

    def _whole(self, payload: dict[str, Any], frame: Frame) -> None:
        w, output = self.w, payload["output"]
        message = output["message"]
        self.restated(message.get("content"))
        w.message(role=message.get("role"), model=_routed_to(payload.get("trace")))
        self.whole()
        content = message.get("content")
        for place, block in enumerate(content if isinstance(content, list) else [content]):
            self._whole_block(block, frame, place)
        w.extra(("output", "message"), {})
        w.blanks(message, (), "output", "message")
        w.extras(message, frozenset({"content"}), "output", "message")
        w.extras(output, frozenset({"message"}), "output")
        self._usage(payload)
        w.extras(payload, _WHOLE | exceptions_in(payload).keys())
        self._finish(payload)
        self.end_seen = self.w.finished > 0
        self._tell_errors(payload)

    def _tell_errors(self, payload: dict[str, Any]) -> None:
        """The errors that stand beside something else: an `error` of a gateway's, exceptions by their names."""
        for error in (error_in(payload), *exceptions_in(payload).values()):
            if error is not None:
                self.w.error(error)

    def _whole_block(self, block: Any, frame: Frame, place: int) -> None:
        """A block has one member; what else is in it is kept beside its content."""
        w = self.w
        fields = block if isinstance(block, dict) else {}
        known = [key for key, value in fields.items() if key in CONTENT and isinstance(value, CONTENT[key][1])]
        members = [key for key in known if not is_empty(fields[key])] or known[:1]
        if not members and block is not None:
            w.unknown(next(iter(fields), ""), block)
        beside = {key: value for key, value in fields.items() if key not in members}
        for member in members:
            w.stop(CONTENT[member][0](self, fields[member], beside, frame, place))

    def _whole_text(self, text: str, beside: dict[str, Any], frame: Frame, place: int) -> Slot:
        slot = self.w.start(0, "text", extra=beside)
        self.w.delta(slot, text)
        return slot

    def _whole_cited(self, cited: dict[str, Any], beside: dict[str, Any], frame: Frame, place: int) -> Slot:
        """Text in pieces, each a part, and what it cites, which goes with the first."""
        w = self.w
        rest = _rest(cited, _CITED)
        citations = cited.get("citations")
        items = citations if isinstance(citations, list) else []
        if not are_objects_once(items):
            rest["citations"] = items
        pieces = cited.get("content")
        first = pieces[0] if isinstance(pieces, list) and pieces and isinstance(pieces[0], dict) else {}
        if first:
            rest["content"] = [_rest(first, _TEXT)]
        slot = w.start(0, "text", extra={**beside, "citationsContent": rest, "$form": "item"})
        w.delta(slot, first.get("text"))
        w.annotations(0, slot, items)
        for piece in pieces[1 if first else 0 :] if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                w.stop(slot)
                slot = w.start(0, "text", extra={**_rest(piece, _TEXT), "$form": "inner"})
                w.delta(slot, piece.get("text"))
            else:
                w.unknown("citationsContent.content", piece)
        return slot

    def _whole_reasoning(self, content: dict[str, Any], beside: dict[str, Any], frame: Frame, place: int) -> Slot:
        thought, redacted = content.get("reasoningText"), content.get("redactedContent")
        rest = _rest(content, _REASONING)
        if isinstance(thought, dict):
            rest["reasoningText"] = _rest(thought, _THOUGHT)
        slot = self.w.start(0, "reasoning", extra={**beside, "reasoningContent": rest})
        if isinstance(thought, dict):
            self.w.delta(slot, thought.get("text"))
            self.w.update(slot, signature=thought.get("signature"))
        if redacted and isinstance(redacted, str):
            self.w.update(slot, extra=_redacted(redacted))
        return slot

    def _whole_call(self, use: dict[str, Any], beside: dict[str, Any], frame: Frame, place: int) -> Slot:
        kind: Kind = "server_tool_call" if use.get("type") == "server_tool_use" else "tool_call"
        slot = self.w.start(0, kind, **_call(use, beside), number=place)
        path = ("output", "message", "content", place, "toolUse", "input")
        self.w.delta(slot, json_text(use.get("input"), frame, *path))
        return slot

    def _whole_result(self, result: dict[str, Any], beside: dict[str, Any], frame: Frame, place: int) -> Slot:
        slot = self.w.start(0, "server_tool_result", **_result(result, beside))
        self.w.update(slot, extra={"content": result.get("content")})
        return slot

    def _whole_image(self, image: dict[str, Any], beside: dict[str, Any], frame: Frame, place: int) -> Slot:
        data, rest = _image_source(image)
        slot = self.w.start(0, "image", extra={**beside, **_format(image), **rest})
        self.w.data(slot, data)
        return slot


def converse_usage(raw: dict[str, Any]) -> Usage:
    """Converse's usage: `inputTokens` leaves cached tokens out. Nova behind InvokeModel says `...TokenCount`."""
    plain = count(raw, "inputTokens")
    cached = count(raw, "cacheReadInputTokens", "cacheReadInputTokenCount")
    written = count(raw, "cacheWriteInputTokens", "cacheWriteInputTokenCount")
    prompt = summed(plain, cached, written)
    output = count(raw, "outputTokens")
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(count(raw, "totalTokens"), prompt, output),
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        raw=raw,
    )


def _recognise(event: str, payload: Mapping[str, Any]) -> int:
    """How sure it is that an event of that name with that content is ours: some of the names are common words."""
    if event.startswith("contentBlock"):
        return CERTAIN
    if event == "messageStart":
        return CERTAIN if "role" in payload else LIKELY
    if event == "messageStop":
        return CERTAIN if "stopReason" in payload else LIKELY
    usage = payload.get("usage")
    return LIKELY if "metrics" in payload or (isinstance(usage, dict) and "inputTokens" in usage) else NO


def _is_whole(output: Any) -> bool:
    return isinstance(output, dict) and isinstance(output.get("message"), dict)


def _members(union: Any) -> list[tuple[str, Any]]:
    """The members of a union that say something. One is the rule; what is no object is passed on to be carried."""
    if not isinstance(union, dict):
        return [] if is_blank(union) else [("", union)]
    return [(member, value) for member, value in union.items() if value not in (None, "", b"", [], {})]


def _index_of(event: dict[str, Any]) -> Any:
    index = event.get("contentBlockIndex")
    return index if isinstance(index, (int, float, str)) else None


def _rest(fields: dict[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """The fields that are kept as sent: those not in *known*, and those that say nothing."""
    return {key: value for key, value in fields.items() if key not in known or is_empty(value)}


def _call(use: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    """What the start of a call is told, with what stands *beside* it. Client calls have no `type`, or `tool_use`."""
    kind = use.get("type")
    own = isinstance(kind, str) and kind not in ("tool_use", "")
    rest = {key: value for key, value in use.items() if key not in _TOOL_USE or value is None or value == ""}
    if not own and "type" in use:
        rest["type"] = kind
    return {
        "id": use.get("toolUseId"),
        "name": use.get("name"),
        "tool_type": kind if own else "function",
        "extra": {**beside, "toolUse": rest} if rest else beside,
    }


def _result(result: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    rest = {key: value for key, value in result.items() if key not in _TOOL_RESULT or value is None}
    return {
        "id": result.get("toolUseId"),
        "extra": {**beside, "toolResult": rest, "is_error": result.get("status") == "error"},
    }


def _redacted(content: str) -> dict[str, Any]:
    """Encrypted thinking, in base64."""
    return {"redacted": True, "encrypted": content}


def _one_blob(pieces: Sequence[str]) -> str:
    """The pieces as one, in base64, of which each has its own padding; what is none is the text that it is."""
    try:
        blobs = [base64.b64decode(piece, validate=True) for piece in pieces]
    except ValueError:
        return "".join(pieces)
    return base64.b64encode(b"".join(blobs)).decode()


def _format(image: dict[str, Any]) -> dict[str, Any]:
    """The media type, if the format is a word."""
    kind = image.get("format")
    return {"media_type": f"image/{kind}"} if kind and isinstance(kind, str) else {}


def _image_source(image: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """The bytes of a picture, and what else is said of it. What cannot be read stays as it is."""
    rest = {key: value for key, value in image.items() if key != "format" or not (value and isinstance(value, str))}
    extra: dict[str, Any] = {"image": rest}
    source = image.get("source")
    if not isinstance(source, dict):
        return b"", extra
    place = source.get("s3Location")
    if isinstance(place, dict) and isinstance(place.get("uri"), str):
        extra["url"] = place["uri"]
    data, text = b"", source.get("bytes")
    if isinstance(text, str):
        with suppress(ValueError):
            data = base64.b64decode(text, validate=True)
    if not data:
        return b"", extra
    rest["source"] = {key: value for key, value in source.items() if key != "bytes"}
    return data, extra


def _routed_to(trace: Any) -> Any:
    """The model that a prompt router chose: the only place where a stream names its model."""
    router = trace.get("promptRouter") if isinstance(trace, dict) else None
    return router.get("invokedModelId") if isinstance(router, dict) else None


HANDLERS: dict[str, Callable[[BedrockConverse, dict[str, Any]], None]] = {
    "messageStart": BedrockConverse._message_start,
    "contentBlockStart": BedrockConverse._block_start,
    "contentBlockDelta": BedrockConverse._block_delta,
    "contentBlockStop": BedrockConverse._block_stop,
    "messageStop": BedrockConverse._message_stop,
    "metadata": BedrockConverse._metadata,
}

STARTS: dict[str, _Handler] = {
    "toolUse": (BedrockConverse._start_call, dict),
    "toolResult": (BedrockConverse._start_result, dict),
    "image": (BedrockConverse._start_image, dict),
}

DELTAS: dict[str, _Handler] = {
    "text": (BedrockConverse._text, str),
    "toolUse": (BedrockConverse._arguments, dict),
    "toolResult": (BedrockConverse._tool_result, list),
    "reasoningContent": (BedrockConverse._reasoning, dict),
    "citation": (BedrockConverse._citation, dict),
    "image": (BedrockConverse._image, dict),
}

CONTENT: dict[str, tuple[Callable[[BedrockConverse, Any, dict[str, Any], Frame, int], Slot], type]] = {
    "text": (BedrockConverse._whole_text, str),
    "citationsContent": (BedrockConverse._whole_cited, dict),
    "reasoningContent": (BedrockConverse._whole_reasoning, dict),
    "toolUse": (BedrockConverse._whole_call, dict),
    "toolResult": (BedrockConverse._whole_result, dict),
    "image": (BedrockConverse._whole_image, dict),
}

BedrockConverse.payloads = (
    *HANDLERS,
    *(f"start.{name}" for name in STARTS),
    *(f"delta.{name}" for name in DELTAS),
    *(f"output.{name}" for name in CONTENT),
)
DIALECT = BedrockConverse
