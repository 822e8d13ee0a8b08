"""
Alibaba's DashScope in its own form: `output` with a `text` or with `choices`, `usage` and `request_id` in each event.

Unless `incremental_output` was asked for, each text is the whole text so far, and nothing in the stream says which of
the two it is. What is taken for the whole text and, the first time that it should, does not go on from the one before,
is a piece: from then on all texts are. A finish reason of `"null"` is none. There is no end mark.

Manual: docs/dialects/dashscope.md. Reference: help.aliyun.com/zh/model-studio, "Qwen API reference", DashScope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._errors import error_in, read_error
from chunkfold.dialects._words import word
from chunkfold.dialects._writer import json_text

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.response import StreamError

_TOP = frozenset({"output", "usage", "request_id", "code", "message", "error"})
_OUTPUT = frozenset({"text", "finish_reason", "choices"})
_CHOICE = frozenset({"index", "finish_reason", "message"})
_CALL = frozenset({"index", "id", "type", "function"})

# The first word of a code (`Throttling.RateQuota`) and the HTTP status that the manual gives for it.
_STATUS = {"Throttling": 429, "InternalError": 500, "SystemError": 500, "ModelServingError": 503}
_STATUS |= {"ModelUnavailable": 503, "RequestTimeOut": 500}


class DashScope(Dialect):
    """DashScope's native generation streaming (Qwen)."""

    name: ClassVar[str] = "dashscope"
    ends_with_body: ClassVar[bool] = True
    cumulative: ClassVar[bool] = True

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        output = payload.get("output")
        if not isinstance(output, dict) or not ("text" in output or isinstance(output.get("choices"), list)):
            return NO
        return CERTAIN if "request_id" in payload else LIKELY

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        # The last text of each part as sent, until it is known whether texts are whole or pieces.
        self._last: dict[Hashable, str] = {}
        self._repeats: dict[Hashable, int] = {}
        self._known = not writer.cumulative

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        error = self._error(payload, frame)
        if frame.event == "done":
            self.end_seen = True
        elif "output" not in payload and "usage" not in payload and error is None:
            w.unknown(word(payload.get("type"), frame.event), payload)
            return
        w.message(id=payload.get("request_id"))
        output = payload.get("output")
        if isinstance(output, dict):
            self._output(output)
        w.usage(payload.get("usage"))
        w.extras(payload, _TOP)
        if error is not None:
            w.error(error)

    def _error(self, payload: dict[str, Any], frame: Frame) -> StreamError | None:
        """What has a code: SDKs put an empty one into every success."""
        code = payload.get("code")
        if code not in (None, "", 0, 200) or frame.event == "error":
            status = _STATUS.get(code.partition(".")[0]) if isinstance(code, str) else None
            return error_in(payload) or read_error(payload, raw=payload, status=status)
        return error_in(payload)

    def _output(self, output: dict[str, Any]) -> None:
        w = self.w
        self._text(0, "text", output.get("text"))
        for place, choice in w.objects("choice", output.get("choices")):
            self._choice(place, choice)
        w.finish(0, output.get("finish_reason"))
        w.extras(output, _OUTPUT, "output")

    def _choice(self, place: int, choice: dict[str, Any]) -> None:
        w = self.w
        index = choice.get("index")
        index = index if type(index) is int and index >= 0 else place
        message = choice.get("message")
        for key, value in message.items() if isinstance(message, dict) else ():
            if key in FIELDS:
                FIELDS[key](self, index, value)
            else:
                w.extra(("output", "choices", index, "message", key), value)
        w.finish(index, choice.get("finish_reason"))
        w.extras(choice, _CHOICE, "output", "choices", index)

    # The fields of a message

    def _role(self, index: int, value: Any) -> None:
        self.w.message(role=value)

    def _reasoning(self, index: int, value: Any) -> None:
        self._text(index, "reasoning", value)

    def _content(self, index: int, value: Any) -> None:
        """A text, or with multimodal models a list of texts and others."""
        if not isinstance(value, list):
            self._text(index, "text", value)
            return
        texts = [item["text"] for item in value if isinstance(item, dict) and isinstance(item.get("text"), str)]
        self._text(index, "text", "".join(texts))
        for place, item in enumerate(value):
            if not isinstance(item, dict) or "text" not in item:
                self.w.extra(("output", "choices", index, "message", "content", place), item)

    def _tool_calls(self, index: int, value: Any) -> None:
        for place, call in self.w.objects("tool_call", value):
            self._tool_call(index, place, call)

    def _tool_call(self, index: int, place: int, call: dict[str, Any]) -> None:
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        number = call.get("index")
        number = number if type(number) is int else place
        kind = call.get("type")
        arguments = json_text(function.get("arguments"))
        slot = self.w.call(
            index,
            number=number,
            id=call.get("id"),
            name=function.get("name"),
            tool_type=kind if isinstance(kind, str) and kind else "function",
            extra={key: value for key, value in call.items() if key not in _CALL},
        )
        for text in self._as_sent((index, "tool_call", slot.index), arguments):
            self.w.delta(slot, text)

    # Whole texts or pieces

    def _text(self, index: int, kind: Literal["text", "reasoning"], value: Any) -> None:
        if isinstance(value, str) and value:
            for text in self._as_sent((index, kind), value):
                self.w.append(index, kind, text)

    def _as_sent(self, part: Hashable, text: str) -> list[str]:
        """
        *text* for the writer, who expects whole texts: mostly as it is.

        The first text that is longer than the one before tells which it is. If it does not go on from there, texts are
        pieces, and equal ones that seemed to say nothing new are made up for.
        """
        if self._known or not text:
            return [text]
        before = self._last.get(part, "")
        self._last[part] = text
        if not before:
            return [text]
        if text == before:
            self._repeats[part] = self._repeats.get(part, 0) + 1
            return [text]
        self._known = True
        if text.startswith(before):
            return [text]
        self.w.speak(self.name, self.words, cumulative=False)
        self.w.diagnose("incremental_deltas", "a text does not go on from the one before: texts are taken as pieces")
        return [before] * self._repeats.get(part, 0) + [text]


FIELDS: dict[str, Callable[[DashScope, int, Any], None]] = {
    "role": DashScope._role,
    "reasoning_content": DashScope._reasoning,
    "content": DashScope._content,
    "tool_calls": DashScope._tool_calls,
}

DashScope.payloads = ("output", "usage", "code", *FIELDS)
DIALECT = DashScope
