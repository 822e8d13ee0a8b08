"""
Ollama's own API: `/api/chat` and `/api/generate`, one JSON object a line, the last with `done: true`.

Each object says what is new, in the shape of the whole response: chat under `message`, generate beside it. Tool calls
are never in pieces, and their arguments are objects, whose exact text is kept. Nothing else than `done` tells an
ordinary line from the last, which may still hold content. There is no finish reason for calls, and an error is a line
of its own, under HTTP 200.

Manual: docs/dialects/ollama.md. Reference: docs.ollama.com, "API Reference" and "Streaming".
"""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._errors import error_in
from chunkfold.dialects._usage import count, total
from chunkfold.dialects._writer import json_text
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.framing import Frame

# The tokens are counted beside the message, not in an object of their own.
_COUNTS = ("prompt_eval_count", "eval_count")
_TEXTS = ("thinking", "content", "response", "tool_calls", "images", "image")
_TOP = frozenset({"model", "created_at", "message", "done", "done_reason", "logprobs", "error", *_COUNTS, *_TEXTS})
_MESSAGE = frozenset({"role", *_TEXTS})
_CALL = frozenset({"id", "type", "function"})
_FUNCTION = frozenset({"index", "name", "arguments"})


class Ollama(Dialect):
    """Ollama chat and generate streaming."""

    name: ClassVar[str] = "ollama"
    aliases: ClassVar[tuple[str, ...]] = ("ollama-chat", "ollama-generate")
    delta_keys: ClassVar[tuple[str, ...]] = ("content", "response", "thinking")

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        if not isinstance(payload.get("done"), bool) or not isinstance(payload.get("model"), str):
            return NO
        if isinstance(payload.get("message"), dict) or isinstance(payload.get("response"), str):
            return CERTAIN
        return LIKELY

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        error = error_in(payload)
        if "done" not in payload and payload.keys().isdisjoint(("message", "response")):
            if error is None:
                w.unknown("status" if "status" in payload else "payload", payload)
            else:
                w.error(error)
            return
        w.message(model=payload.get("model"), created=payload.get("created_at"))
        self._message(payload, frame)
        w.usage({key: payload[key] for key in _COUNTS if key in payload}, _usage)
        if payload.get("done") is True:
            self.end_seen = True
            w.finish(0, payload.get("done_reason"))
        if error is not None:
            w.error(error)

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
        for key, handle in FIELDS.items():
            if holder.get(key):
                handle(self, holder[key], frame, *path)
        self.w.extras(holder, known, *path)

    def _thinking(self, value: Any, frame: Frame, *path: str) -> None:
        self.w.append(0, "reasoning", value)

    def _content(self, value: Any, frame: Frame, *path: str) -> None:
        self.w.append(0, "text", value)

    def _tool_calls(self, value: Any, frame: Frame, *path: str) -> None:
        for place, call in self.w.objects("tool_calls", value):
            self._tool_call(call, frame, *path, "tool_calls", place)

    def _tool_call(self, call: dict[str, Any], frame: Frame, *path: str | int) -> None:
        """A whole call. Before 2026 it has no id and no index, and equal ones are as many calls."""
        w = self.w
        function = call.get("function")
        if not isinstance(function, dict):
            function = {}
        rest = {key: value for key, value in call.items() if key not in _CALL}
        more = {key: value for key, value in function.items() if key not in _FUNCTION}
        index, kind = function.get("index"), call.get("type")
        slot = w.start(
            0,
            "tool_call",
            id=call.get("id"),
            name=function.get("name"),
            tool_type=kind if isinstance(kind, str) else "function",
            number=index if type(index) is int else None,
            extra={**rest, "function": more} if more else rest,
        )
        w.delta(slot, json_text(function.get("arguments"), frame.data, *path, "function", "arguments"))
        w.stop(slot)

    def _images(self, value: Any, frame: Frame, *path: str) -> None:
        """Pictures in base64, each whole, without a media type."""
        w = self.w
        for image in value if isinstance(value, list) else [value]:
            try:
                data = base64.b64decode(image, validate=True)
            except (binascii.Error, ValueError, TypeError):
                w.diagnose("bad_base64", "a picture is not base64; it is kept as an unknown part", 0)
                w.unknown("images", image)
                continue
            slot = w.start(0, "image")
            w.data(slot, data)
            w.stop(slot)


def _usage(raw: dict[str, Any]) -> Usage:
    """Ollama leaves out a count of 0, so that of a prompt that was cached."""
    prompt, output = count(raw, "prompt_eval_count"), count(raw, "eval_count")
    return Usage(input_tokens=prompt, output_tokens=output, total_tokens=total(None, prompt, output), raw=raw)


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
