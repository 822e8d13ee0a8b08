"""
Ollama's own API: `/api/chat` and `/api/generate`, one JSON object a line, the last with `done: true`.

Each object says what is new, in the shape of the whole response: chat under `message`, generate beside it. Tool calls
are never in pieces, and their arguments are objects, whose exact text is kept. Nothing else than `done` tells an
ordinary line from the last, which may still hold content. There is no finish reason for calls, and an error is a line
of its own, under HTTP 200.

Manual: docs/dialects/ollama.md. Reference: docs.ollama.com, "API Reference" and "Streaming".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._call_shape import arguments_key, flat_function
from chunkfold.dialects._media import usual_base64_bytes
from chunkfold.dialects._usage import two_counts
from chunkfold.dialects._words import is_blank, says_nothing, word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

# The tokens are counted beside the message, not in an object of their own. A count of 0 is left out, so that of a
# prompt that was cached.
_COUNTS = ("prompt_eval_count", "eval_count")
_usage = partial(two_counts, *_COUNTS)
_TEXTS = ("thinking", "content", "response", "tool_calls", "images", "image")
_TOP = frozenset({"model", "created_at", "message", "done", "done_reason", "logprobs", "error", *_COUNTS, *_TEXTS})
_MESSAGE = frozenset({"role", *_TEXTS})
# Where chat has what a part is made of. A part from elsewhere says where.
_USUAL = frozenset(("message", key) for key in ("thinking", "content", "tool_calls", "images"))


class Ollama(Dialect):
    """Ollama chat and generate streaming."""

    name: ClassVar[str] = "ollama"
    aliases: ClassVar[tuple[str, ...]] = ("ollama-chat", "ollama-generate")
    delta_keys: ClassVar[tuple[str, ...]] = ("content", "response", "thinking")
    padding_keys: ClassVar[tuple[str, ...]] = ("created_at",)

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        if not isinstance(payload.get("done"), bool):
            return NO
        if isinstance(payload.get("message"), dict) or isinstance(payload.get("response"), str):
            return CERTAIN
        return LIKELY if isinstance(payload.get("model"), str) else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._begun = False
        # The time of the first object.
        self._created: Any = None

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        if not isinstance(payload.get("message"), dict):
            if "done" not in payload and "response" not in payload:
                self.strange(payload, frame, "status" if "status" in payload else "payload")
                return
            if self.is_error(payload, frame, "done", "response"):
                return
        w.message(model=payload.get("model"), created=payload.get("created_at"))
        if not self._begun:
            self._begin(payload)
        elif self.end_seen and _has_parts(payload):
            self.tell_of_several("behind its last object the stream goes on to another; the response has both")
        self._message(payload, frame)
        w.usage({key: payload[key] for key in _COUNTS if not is_blank(payload.get(key))}, _usage)
        done = payload.get("done")
        if done is True:
            self._done(payload)
        elif not isinstance(done, bool) and "done" in payload:
            w.extra(("done",), done)
        self.tell_error(payload)

    def _begin(self, payload: dict[str, Any]) -> None:
        """What only the first object tells: whether it is all, and facts that are none."""
        w = self.w
        self._begun = True
        self._created = payload.get("created_at")
        for fact, key in (("model", "model"), ("created", "created_at")):
            if payload.get(key) is not None and not w.fact(fact):
                w.extra((key,), payload[key])
        message = payload.get("message")
        if payload.get("done") is True:
            self.whole()
            if isinstance(message, dict) and "role" in message:
                w.extra(("message", "role"), message["role"])

    def _done(self, payload: dict[str, Any]) -> None:
        """The last object is the one whose time the whole response has."""
        w = self.w
        self.end_seen = True
        w.extra(("done",), True)
        w.finish_at(0, payload.get("done_reason"), "done_reason")
        if payload.get("created_at") != self._created:
            w.extra(("created_at",), payload.get("created_at"))

    def _message(self, payload: dict[str, Any], frame: Frame) -> None:
        """What is new: chat has it in a message, generate beside one."""
        w = self.w
        for _, message in w.objects("message", payload.get("message")):
            w.message(role=message.get("role"))
            self._fields(message, _MESSAGE, frame, "message")
        self._fields(payload, _TOP, frame)
        logprobs = payload.get("logprobs")
        if logprobs is not None:
            w.logprobs(0, logprobs if isinstance(logprobs, list) else [logprobs])

    def _fields(self, holder: dict[str, Any], known: frozenset[str], frame: Frame, *path: str) -> None:
        """In the order thinking, text, calls, pictures, as models produce them."""
        w = self.w
        for key, handle in FIELDS.items():
            if holder.get(key):
                handle(self, holder[key], frame, *path, key)
        if not all(holder.values()):
            w.blanks(holder, (), *path)
        w.extras(holder, known, *path)

    def _thinking(self, value: Any, frame: Frame, *path: str) -> None:
        self._text("reasoning", value, path)

    def _content(self, value: Any, frame: Frame, *path: str) -> None:
        self._text("text", value, path)

    def _text(self, kind: Kind, value: Any, path: tuple[str, ...]) -> None:
        if isinstance(value, str):
            self.w.append(0, kind, value, extra=_at(path))
        else:
            self.w.extra(path, value)

    def _tool_calls(self, value: Any, frame: Frame, *path: str) -> None:
        for place, call in self.w.objects("tool_calls", value):
            if not says_nothing(call):
                self._tool_call(call, frame, path, place)

    def _tool_call(self, call: dict[str, Any], frame: Frame, path: tuple[str, ...], place: int) -> None:
        """A whole call. Before 2026 it has no id and no index, and equal ones are as many calls."""
        w = self.w
        flat = flat_function(call)
        given = flat or call.get("function")
        function = given if isinstance(given, dict) else {}
        key = arguments_key(function)
        id_, name, index = call.get("id"), function.get("name"), function.get("index")
        arguments = function.get(key)
        facts = {
            "id": isinstance(id_, str) and id_,
            "name": isinstance(name, str) and name,
            "index": type(index) is int,
            key: arguments is not None,
        }
        taken = {"function", *flat, *(("id",) if facts["id"] else ())}
        rest = {field: value for field, value in call.items() if field not in taken}
        more = {field: value for field, value in function.items() if not facts.get(field)}
        if more or given is not function:
            rest["function"] = more or given
        absent = [] if flat or "function" in call else ["function"]
        absent += [] if key in function else ["arguments"]
        notes: dict[str, Any] = {"$absent": absent} if absent else {}
        if flat:
            notes["$flat"] = True
        if key != "arguments":
            notes["$key"] = key
        if isinstance(arguments, str):
            notes["$form"] = "string"
        slot = w.start(
            0,
            "tool_call",
            id=id_,
            name=name,
            tool_type=word(call.get("type"), default="function"),
            number=index,
            extra={**rest, **notes, **_at(path)},
        )
        w.delta(slot, json_text(arguments, frame, *path, place, *(() if flat else ("function",)), key))
        w.stop(slot)

    def _images(self, value: Any, frame: Frame, *path: str) -> None:
        """Pictures in base64, each whole, without a media type."""
        w = self.w
        for image in value if isinstance(value, list) else [value]:
            data = usual_base64_bytes(image)
            if data is None:
                w.diagnose("bad_base64", "a picture is not base64; it is kept as an unknown part", 0)
                w.unknown("images", image)
                continue
            slot = w.start(0, "image", extra=_at(path))
            w.data(slot, data)
            w.stop(slot)


def _has_parts(payload: dict[str, Any]) -> bool:
    message = payload.get("message")
    return any(holder.get(key) for holder in (payload, message) if isinstance(holder, dict) for key in FIELDS)


def _at(path: tuple[str, ...]) -> dict[str, Any]:
    """Where a part stands, unless it is the usual place."""
    return {} if path in _USUAL else {"$field": ".".join(path)}


FIELDS: dict[str, Callable[..., None]] = {
    "thinking": Ollama._thinking,
    "content": Ollama._content,
    "response": Ollama._content,
    "tool_calls": Ollama._tool_calls,
    "images": Ollama._images,
    "image": Ollama._images,
}

Ollama.payloads = ("message", *FIELDS, "done", "error")
DIALECT = Ollama
