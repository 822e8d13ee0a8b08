"""
Anthropic Messages: `message_start`, numbered content blocks, `message_delta`, `message_stop`.

Blocks say themselves where they start and stop, and `index` says which one a delta belongs to. Results of tools that
the server ran are complete in their start event. Usage comes twice, and the second time only with what has changed.

Manual: docs/dialects/anthropic-messages.md. Reference: docs.anthropic.com, "Streaming Messages".
"""

from __future__ import annotations

from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._errors import error_event
from chunkfold.dialects._slots import CALLS, is_news
from chunkfold.dialects._usage import anthropic_usage
from chunkfold.dialects._words import counted, has_repeats, is_blank, is_empty, telling, word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

_START = frozenset({"id", "type", "role", "model", "content", "stop_reason", "usage", "created"})
_DELTA = frozenset({"stop_reason", "usage"})
_ENVELOPE = frozenset({"type", "index", "delta", "content_block", "message", "usage", "stop_reason"})
_ERROR = frozenset({"error"})
_TYPE = frozenset({"type"})
# What says all of itself: other events may have usage and more beside what they say.
_APART = frozenset({"message", "vertex_event"})
_SUMMARY = frozenset({"type", "content"})
_NO_FIELDS: frozenset[str] = frozenset()
_NO_DELTA = (None, _NO_FIELDS)

# The block types that are parts of their own kind. Results end in "_tool_result".
_KINDS: dict[str, Kind] = {
    "text": "text",
    "thinking": "reasoning",
    "redacted_thinking": "reasoning",
    "tool_use": "tool_call",
    "server_tool_use": "server_tool_call",
    "mcp_tool_use": "server_tool_call",
}


class AnthropicMessages(Dialect):
    """Anthropic Messages streaming, also by Bedrock, Vertex AI and compatible servers."""

    name: ClassVar[str] = "anthropic-messages"
    ends_calls: ClassVar[bool] = True
    aliases: ClassVar[tuple[str, ...]] = ("anthropic",)
    delta_keys: ClassVar[tuple[str, ...]] = ("text", "thinking", "partial_json")

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = _kind(payload, event)
        if kind == "message_start":
            return CERTAIN if isinstance(payload.get("message"), dict) else LIKELY
        if kind == "message":
            content = payload.get("content", 0)
            is_whole = "stop_reason" in payload or isinstance(payload.get("usage"), dict)
            return CERTAIN if isinstance(content, (list, str, NoneType)) and is_whole else NO
        if kind in ("content_block_start", "content_block_delta", "content_block_stop", "message_delta"):
            return CERTAIN
        return LIKELY if kind == "message_stop" else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._started = False
        self._id: Any = None
        # A start of this same message that came while it went on: what follows says whether that is a replay.
        self._again: dict[str, Any] | None = None
        # The block that was started last, which events mean that do not say which.
        self._last: Any = None
        # What open compactions have said so far, given to the part whole when its block stops.
        self._summaries: dict[Slot, list[str]] = {}
        # What open texts cite, as often as it came.
        self._cited: dict[Slot, list[Any]] = {}

    def close(self) -> None:
        """Claude's input comes in whole values, so that of a long one nothing has come where the limit cuts it."""
        for slot in [*self._summaries, *self._cited]:
            self._sum_up(slot)
        super().close()
        self.w.cut_though_stopped(0)
        self.cut_in_a_body()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        kind = _kind(payload, frame.event)
        handler = HANDLERS.get(kind) if isinstance(kind, str) else None
        if handler is not None:
            handler(self, payload, frame)
            if kind not in _APART:
                if payload.get("usage"):
                    # That of the end; some servers have it in `message_stop`.
                    self.w.usage(payload["usage"], anthropic_usage)
                if payload.keys() - _ENVELOPE:
                    if kind != "error":
                        self._tell_error(payload, _ENVELOPE)
                    self.w.extras(payload, _ENVELOPE | _ERROR)
        elif _is_derived(kind, payload):
            self.w.ping()
        else:
            # Not named like a block of that type, which has its place in the content.
            self.strange(payload, frame, f"event.{word(kind, frame.event)}")

    def _message_start(self, payload: dict[str, Any], frame: Frame) -> None:
        message = payload.get("message")
        if not isinstance(message, dict):
            if message:
                self.w.unknown("message_start", payload)
            message = {}
        if self._started:
            id_ = message.get("id")
            if id_ and id_ == self._id and not message.get("content") and not self.end_seen:
                # Some servers send it time and again, or with the usage at the end.
                self._again = message
            else:
                self.begin_again(id_)
        self._take_message(message, frame, "message")

    def begin_again(self, next_id: Any = None) -> None:
        self._again = None
        self._summaries.clear()
        self._cited.clear()
        super().begin_again(next_id)

    def _whole_message(self, payload: dict[str, Any], frame: Frame) -> None:
        """A message that was not streamed. Claude Code says each block of one in a body of its own, all but over."""
        if not (self.w.is_whole and payload.get("id") == self._id and not self.w.finished):
            facts = {name: payload.get(name) for name in ("id", "model", "created", "role")}
            self.restated(payload.get("content"), facts)
            self.whole()
        self._take_message(payload, frame)
        if "role" in payload:
            self.w.extra(("role",), payload["role"])
        self.end_seen = self.end_seen or self.w.finished > 0

    def _take_message(self, message: dict[str, Any], frame: Frame, *path: str) -> None:
        """The facts, and the content that a start may already hold (a continued tool call, a whole message)."""
        w = self.w
        w.message(
            id=message.get("id"), model=message.get("model"), created=message.get("created"), role=message.get("role")
        )
        self._started = True
        self._id = message.get("id")
        content = message.get("content")
        if isinstance(content, str) and content:
            # As requests may have it: the first piece of a text that may go on.
            w.delta(w.start(0, "text", key=0, number="text", extra={"$form": "string"}), content)
            content = None
        for place, block in w.objects("content", content):
            self._stop(self._start(place, block, frame, *path, "content", place))
        w.usage(message.get("usage"), anthropic_usage)
        w.extras(message, _START | _ERROR)
        w.blanks(message, ("content",))
        w.finish_at(0, message.get("stop_reason"), "stop_reason")
        self._tell_error(message, _START)  # also as we write a message that broke off

    def _tell_error(self, holder: dict[str, Any], known: frozenset[str]) -> None:
        """Servers and gateways tell errors in a field of an ordinary event, beside the *known* ones."""
        self.tell_error({name: value for name, value in holder.items() if name not in known})

    def _block_start(self, payload: dict[str, Any], frame: Frame) -> None:
        block = payload.get("content_block")
        if not isinstance(block, dict):
            self.w.unknown("content_block_start", payload)
            return
        index = payload.get("index")
        self._last = "" if is_blank(index) else index
        again, self._again = self._again, None
        if again is not None and self.w.slot(0, self._last) is not None:
            self.begin_again()
            self._take_message(again, frame, "message")
        if block:  # else its first delta says what it is
            self._start(self._last, block, frame, "content_block")

    def _start(self, index: Any, block: dict[str, Any], frame: Frame, *path: str | int) -> Slot:
        """Open the block, or go on with it: some servers start a block again for every token."""
        w = self.w
        kind, id_ = word(_named(block, _BLOCK_FIELDS), default="None"), block.get("id")
        slot = w.slot(0, index)
        if slot is not None and slot.open and slot.number == kind and (not id_ or slot.id in (None, id_)):
            if slot.kind in CALLS:
                w.identify(slot, id=id_, name=block.get("name"))
            self._keep(slot, block, _OWN.get(kind, _CALL) if kind in _KINDS else _NO_FIELDS)
        else:
            if slot is not None:
                self._stop(slot)
            slot = self._open(index, kind, block)
        if kind == "text":
            w.delta(slot, block.get("text"))
            citations = block.get("citations")
            if isinstance(citations, list):
                self._cite(slot, citations)
        elif kind == "thinking":
            w.delta(slot, block.get("thinking"))
            w.update(slot, signature=block.get("signature"))
        elif slot.kind in CALLS and block.get("input"):
            slot.start_input = json_text(block["input"], frame, *path, "input")
        return slot

    def _open(self, index: Any, kind: str, block: dict[str, Any]) -> Slot:
        w = self.w
        key = {"key": index, "number": kind}
        if kind.endswith("_tool_result"):
            return w.start(0, "server_tool_result", **key, id=block.get("tool_use_id"), extra=_result(block))
        known = _KINDS.get(kind)
        if known is None:
            return w.start(0, "unknown", **key, name=kind, extra=block)
        own = _OWN.get(kind, _CALL)
        rest = {
            name: value for name, value in block.items() if name != "type" and (name not in own or _kept(name, value))
        }
        if kind == "redacted_thinking":
            return w.start(0, known, **key, extra={**rest, "redacted": True, "encrypted": block.get("data")})
        if known in CALLS:
            number = {"index": index} if type(index) is int else {}
            tool = "function" if kind == "tool_use" else kind
            name, id_ = block.get("name"), block.get("id")
            slot = w.start(0, known, **key, id=id_, name=name, tool_type=tool, extra={**rest, **number})
            if w.is_whole and block.get("input") in ({}, ""):
                self.note_form(slot, "object" if block["input"] == {} else "string")
            return slot
        return w.start(0, known, **key, extra=rest)

    def _block_delta(self, payload: dict[str, Any], frame: Frame) -> None:
        delta = payload.get("delta")
        if isinstance(delta, dict) and not isinstance(delta.get("partial_json") or "", str):
            # Some servers send an object.
            delta = {**delta, "partial_json": json_text(delta["partial_json"], frame, "delta", "partial_json")}
        kind = _named(delta, _DELTA_FIELDS) if isinstance(delta, dict) else None
        handler, own = DELTAS.get(kind, _NO_DELTA) if isinstance(kind, str) else _NO_DELTA
        if handler is None:
            self.w.unknown(word(kind, default="content_block_delta"), payload)
            return
        index = self._index(payload)
        handler(self, index, delta)  # type: ignore[arg-type]
        if not delta.keys() <= own:  # type: ignore[union-attr]
            slot = self.w.slot(0, index)
            if slot is not None:
                self._keep(slot, delta, own)  # type: ignore[arg-type]
            else:  # its text, if it has any, is an orphan
                rest = {name: value for name, value in delta.items() if name == "type" or name not in own}  # type: ignore[union-attr]
                self.w.unknown(word(kind), {**payload, "delta": rest})

    def _keep(self, slot: Slot, holder: dict[str, Any], own: frozenset[str]) -> None:
        """Keep with its block what a delta, or a start that came again, says beside its *own* fields."""
        rest = {name: value for name, value in holder.items() if name not in own and name != "type"}
        known = slot.extra or {}
        told = {name: value for name, value in rest.items() if not is_empty(value) and known.get(name) != value}
        if told:
            slot.extra = {**known, **told}
            self.w.update(slot, extra=told)

    def _index(self, payload: dict[str, Any]) -> Any:
        """Which block an event means: the one that was started last if it does not say."""
        index = payload.get("index")
        return self._last if is_blank(index) else index

    def _text_delta(self, index: Any, delta: dict[str, Any]) -> None:
        self.w.delta(self._slot(index, "text"), delta.get("text"))

    def _thinking_delta(self, index: Any, delta: dict[str, Any]) -> None:
        """Thinking, which gateways sign in the same breath."""
        slot = self._slot(index, "thinking")
        self.w.delta(slot, delta.get("thinking") or delta.get("text"))
        if "signature" in delta:
            self.w.update(slot, signature=delta["signature"])

    def _signature_delta(self, index: Any, delta: dict[str, Any]) -> None:
        """A whole signature: it replaces. An empty one says that there is such a field."""
        slot = self.w.slot(0, index)
        if slot is not None and slot.open and slot.kind != "reasoning":
            # Compactions are signed as well.
            self._keep(slot, delta, _NO_FIELDS)
            return
        signature = delta.get("signature")
        extra = {"signature": ""} if signature == "" else None
        self.w.update(self._slot(index, "thinking"), signature=signature, extra=extra)

    def _citations_delta(self, index: Any, delta: dict[str, Any]) -> None:
        citation = delta.get("citation")
        if citation:
            self._cite(self._slot(index, "text"), [citation])

    def _cite(self, slot: Slot, citations: list[Any]) -> None:
        self._cited.setdefault(slot, []).extend(citations)
        self.w.annotations(0, slot, citations)

    def _input_json_delta(self, index: Any, delta: dict[str, Any]) -> None:
        text = delta.get("partial_json")
        if not text:
            return
        slot = self.w.slot(0, index)
        if slot is None or slot.kind not in CALLS:
            # No call was opened under this index: it goes on the last one, unless that is over.
            slot = self.w.last_call(0)
            self.w.diagnose("orphan_delta", f"argument text for block {counted(index)}, which is no open call")
            if slot is None or not slot.open:
                slot = self.w.start(0, "tool_call", key=index, number="tool_use", tool_type="function")
        self.w.delta(slot, text)

    def _compaction_delta(self, index: Any, delta: dict[str, Any]) -> None:
        """A summary, in one piece as documented. All else replaces, and goes back even if empty."""
        slot = self.w.slot(0, index) or self.w.start(0, "unknown", key=index, name="compaction")
        known, content = slot.extra or {}, delta.get("content")
        told = {name: value for name, value in delta.items() if name not in _SUMMARY and is_news(value, known, name)}
        if isinstance(content, str) and content:
            pieces = self._summaries.setdefault(slot, [])
            pieces.append(content)
            if len(pieces) == 1:
                told["content"] = content
        elif content or "content" not in known:
            told["content"] = content
        slot.extra = {**known, **told}
        self.w.update(slot, extra=told)

    def _sum_up(self, slot: Slot) -> None:
        pieces = self._summaries.pop(slot, ())
        if len(pieces) > 1:
            self.w.update(slot, extra={"content": "".join(pieces)})
        cited = self._cited.pop(slot, [])
        if has_repeats(cited):
            self.w.update(slot, extra={"citations": cited})

    def _slot(self, index: Any, block: str) -> Slot:
        """The block of that index and type. One that was never started is opened by its first delta."""
        slot = self.w.slot(0, index)
        if slot is None or slot.kind != _KINDS[block]:
            slot = self.w.start(0, _KINDS[block], key=index, number=block)
        return slot

    def _block_stop(self, payload: dict[str, Any], frame: Frame) -> None:
        slot = self.w.slot(0, self._index(payload))
        if slot is not None:
            self._stop(slot)

    def _stop(self, slot: Slot) -> None:
        self._sum_up(slot)
        self.w.stop(slot)

    def _message_delta(self, payload: dict[str, Any], frame: Frame) -> None:
        """Stop reason and usage may come in two of these; neither erases the other."""
        delta = payload.get("delta")
        if isinstance(delta, dict):
            self.w.finish_at(0, delta.get("stop_reason"), "stop_reason")
            self.w.usage(delta.get("usage"), anthropic_usage)
            self.w.extras(delta, _DELTA | _ERROR)
            self.w.blanks(delta, ())
            self._tell_error(delta, _DELTA)
        elif delta:
            self.w.unknown("message_delta", payload)
        self.w.finish(0, payload.get("stop_reason"))

    def _message_stop(self, payload: dict[str, Any], frame: Frame) -> None:
        self.w.finish(0, payload.get("stop_reason"))
        self.end_seen = True

    def _vertex_event(self, payload: dict[str, Any], frame: Frame) -> None:
        """A sign of life with Vertex AI's own bill, which counts otherwise and may be older than the usage."""
        self.w.ping()
        self.w.extras(payload, _TYPE, "vertex_event")
        self._tell_error(payload, _ENVELOPE)


def _kind(payload: Mapping[str, Any], event: str) -> Any:
    """What an event is: its `type`, or its name where it has none. Any event of any API may be named `message`."""
    return payload.get("type") or (event if event != "message" else None)


def _is_derived(kind: Any, payload: Mapping[str, Any]) -> bool:
    """True for what the helpers of Anthropic's SDKs put behind an event: the same once more, with the whole so far."""
    if kind == "signature":
        return payload.keys() == {"type", "signature"}
    return kind in _DERIVED and "snapshot" in payload


_DERIVED = ("text", "thinking", "citation", "input_json", "compaction")

# What a delta or a block without a type is, by the field that it has.
_DELTA_FIELDS = {
    "text": "text_delta",
    "thinking": "thinking_delta",
    "signature": "signature_delta",
    "partial_json": "input_json_delta",
    "citation": "citations_delta",
}
_BLOCK_FIELDS = {"text": "text", "thinking": "thinking", "input": "tool_use"}


def _named(holder: Mapping[str, Any], fields: Mapping[str, str]) -> Any:
    """The `type` of something, or what the field says that it has."""
    return holder.get("type") or fields.get(telling(holder, fields) or "")


# The fields of blocks that are fields of parts.
_CALL = frozenset({"id", "name", "input"})
_OWN: dict[str, frozenset[str]] = {
    "text": frozenset({"text", "citations"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
}


def _kept(name: str, value: Any) -> bool:
    """True if a field of a part says nothing, so that only its name is to be kept. Text and input come in pieces."""
    return not value and name not in ("text", "thinking", "input")


def _result(block: dict[str, Any]) -> dict[str, Any]:
    """The fields of a result part. An error is told by `is_error` or by the content's own type."""
    content = block.get("content")
    failed = bool(block.get("is_error")) or (isinstance(content, dict) and word(content.get("type")).endswith("_error"))
    rest = {name: value for name, value in block.items() if name not in ("tool_use_id", "content", "is_error")}
    if block.get("tool_use_id") == "":
        rest["tool_use_id"] = ""
    if "is_error" in block:
        rest["$field"] = "is_error"
    absent = [name for name in ("tool_use_id", "content") if name not in block]
    if absent:
        rest["$absent"] = absent
    return {**rest, "content": content, "is_error": failed}


HANDLERS: dict[str, Callable[[AnthropicMessages, dict[str, Any], Frame], None]] = {
    "message_start": AnthropicMessages._message_start,
    "content_block_start": AnthropicMessages._block_start,
    "content_block_delta": AnthropicMessages._block_delta,
    "content_block_stop": AnthropicMessages._block_stop,
    "message_delta": AnthropicMessages._message_delta,
    "message_stop": AnthropicMessages._message_stop,
    "message": AnthropicMessages._whole_message,
    "ping": lambda self, *_: self.w.ping(),
    "vertex_event": AnthropicMessages._vertex_event,
    "error": lambda self, payload, _: self.w.error(error_event(payload)),
}

# How the deltas are taken, and which of their fields are. `estimated_tokens` is for a display.
DELTAS: dict[str, tuple[Callable[[AnthropicMessages, Any, dict[str, Any]], None] | None, frozenset[str]]] = {
    "text_delta": (AnthropicMessages._text_delta, frozenset({"type", "text"})),
    "thinking_delta": (
        AnthropicMessages._thinking_delta,
        frozenset({"type", "thinking", "text", "signature", "estimated_tokens"}),
    ),
    "signature_delta": (AnthropicMessages._signature_delta, frozenset({"type", "signature"})),
    "citations_delta": (AnthropicMessages._citations_delta, frozenset({"type", "citation"})),
    "input_json_delta": (AnthropicMessages._input_json_delta, frozenset({"type", "partial_json"})),
    "compaction_delta": (AnthropicMessages._compaction_delta, _SUMMARY),
}

AnthropicMessages.payloads = (*HANDLERS, *DELTAS)
DIALECT = AnthropicMessages
