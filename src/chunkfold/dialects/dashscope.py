"""
Alibaba's DashScope in its own form: `output` with a `text` or with `choices`, `usage` and `request_id` in each event.

Unless `incremental_output` was asked for, each text is the whole text so far, and nothing in the stream says which of
the two it is. What is taken for the whole text and, the first time that it should, does not go on from the one before,
is a piece: from then on all texts are. A finish reason of `"null"` is none. There is no end mark.

Manual: docs/dialects/dashscope.md. Reference: help.aliyun.com/zh/model-studio, "Qwen API reference", DashScope.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import msgspec

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import text_within
from chunkfold.dialects._call_shape import flat_function
from chunkfold.dialects._error_words import FINE
from chunkfold.dialects._errors import error_in, read_error
from chunkfold.dialects._usage import chat_usage
from chunkfold.dialects._words import choice_index, is_real, says_nothing, word
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame

_TOP = {"request_id": str, "output": dict, "usage": dict}
_KNOWN = frozenset(_TOP)
_ERROR = frozenset({"code", "message", "error"})
_OUTPUT = frozenset({"text", "finish_reason", "choices"})
_CHOICE = frozenset({"index", "finish_reason", "message", "logprobs"})
_ENTRIES = frozenset({"content"})
_CALL = frozenset({"index", "id", "type", "function"})
_FUNCTION = frozenset({"name", "arguments"})
_NOTHING = (None, "")


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
        return CERTAIN if "request_id" in payload else LIKELY  # what a tool gave may look so in other dialects

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        # The last text of each part as sent, until it is known whether texts are whole or pieces.
        self._last: dict[Hashable, str] = {}
        self._repeats: dict[Hashable, int] = {}
        # While texts are taken for whole ones: the log-probabilities so far, by choice.
        self._probabilities: dict[int, list[Any]] = {}
        self._known = writer.cumulative_is_asked
        # The payload is a body that was not streamed.
        self._is_whole: bool | None = None

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        error, code = error_in(payload), payload.get("code")
        if error is None and ((code and code not in FINE) or frame.event == "error"):
            error = read_error(payload, raw=payload)  # SDKs put an empty code into every success
        if frame.event == "done":
            self.end_seen = True
        elif "output" not in payload and "usage" not in payload and error is None:
            self.strange(payload, frame, word(payload.get("type"), frame.event))
            return
        w.message(id=payload.get("request_id"))
        for key, kind in _TOP.items():
            value = payload.get(key)
            if key in payload and not (value and isinstance(value, kind)):
                w.extra((key,), value)
        output = payload.get("output")
        if isinstance(output, dict):
            if self._is_whole is None:
                self._is_whole = _is_over(output)
            self._output(output, frame)
        w.usage(payload.get("usage"), dashscope_usage)
        w.extras(payload, _KNOWN if error is None else _KNOWN | _ERROR)
        if error is not None:
            w.error(error)

    def _output(self, output: dict[str, Any], frame: Frame) -> None:
        w = self.w
        w.blanks(output, (), "output")
        self._text(0, "text", output.get("text"), ("output", "text"), {"$field": "text"})
        for place, choice in w.objects("choice", output.get("choices")):
            self._choice(place, choice, frame)
        w.finish_at(0, output.get("finish_reason"), "output", "finish_reason")
        w.extras(output, _OUTPUT, "output")

    def _choice(self, place: int, choice: dict[str, Any], frame: Frame) -> None:
        w = self.w
        index = choice_index(choice.get("index"), place)
        path = ("output", "choices", index)
        w.extra(path, {})
        if "index" in choice:
            w.extra((*path, "index"), choice["index"])
        w.blanks(choice, (), *path)
        message = choice.get("message")
        if isinstance(message, dict):
            w.blanks(message, (), *path, "message")
            for key, value in message.items():
                if key in FIELDS:
                    FIELDS[key](self, index, value, frame)
                else:
                    w.extra((*path, "message", key), value)
        elif message:
            w.extra((*path, "message"), message)
        self._logprobs(index, choice.get("logprobs"), (*path, "logprobs"))
        w.finish_at(index, choice.get("finish_reason"), *path, "finish_reason")
        w.extras(choice, _CHOICE, *path)

    def _logprobs(self, index: int, value: Any, path: tuple[str | int, ...]) -> None:
        """Those of new tokens, or, where texts are whole, of all so far: then they begin with those that came."""
        entries = value.get("content") if isinstance(value, dict) else None
        if not isinstance(entries, list):
            if value:
                self.w.extra(path, value)
            return
        new = entries
        if self.w.cumulative:
            known = self._probabilities.setdefault(index, [])
            if entries[: len(known)] == known:
                new = entries[len(known) :]
            known += new
        self.w.logprobs(index, new)
        self.w.blanks(value, (), *path)
        self.w.extras(value, _ENTRIES, *path)

    # The fields of a message

    def _role(self, index: int, value: Any, frame: Frame) -> None:
        self.w.message(role=value)
        self.w.extra(("output", "choices", index, "message", "role"), value)

    def _reasoning(self, index: int, value: Any, frame: Frame) -> None:
        self._text(index, "reasoning", value, ("output", "choices", index, "message", "reasoning_content"))

    def _content(self, index: int, value: Any, frame: Frame) -> None:
        """A text, or with multimodal models a list of texts and others."""
        path = ("output", "choices", index, "message", "content")
        if not isinstance(value, list):
            self._text(index, "text", value, path)
            return
        texts = [item for item in value if isinstance(item, dict) and isinstance(item.get("text"), str)]
        if self._is_whole:
            for item in texts:
                self.w.delta(self.w.start(index, "text", extra=_item(item)), item["text"])
        elif texts:
            self._text(index, "text", "".join([item["text"] for item in texts]), path, _item(texts[0]))
        for place, item in enumerate(value):
            if not isinstance(item, dict) or not isinstance(item.get("text"), str):
                self.w.extra((*path, place), item)

    def _tool_calls(self, index: int, value: Any, frame: Frame) -> None:
        for place, call in self.w.objects("tool_call", value):
            self._tool_call(index, place, call, frame)

    def _tool_call(self, index: int, place: int, call: dict[str, Any], frame: Frame) -> None:
        flat = flat_function(call)
        function = flat or call.get("function")
        function = function if isinstance(function, dict) else {}
        id_, name, number = call.get("id"), function.get("name"), call.get("index")
        arguments = function.get("arguments")
        own = number if type(number) is int else place
        if not self._is_whole and says_nothing(call) and not self.w.has_call(index, own):
            return
        # The first piece of a call says which fields it has.
        is_first = bool(id_ or name) or self._is_whole
        extra = {
            key: value
            for key, value in call.items()
            if key not in flat and (key not in _CALL or (is_first and value in _NOTHING))
        }
        if flat:
            extra["$flat"] = True
        inner = {
            key: value for key, value in function.items() if key not in _FUNCTION or (is_first and value in _NOTHING)
        }
        if inner or (is_first and "function" in call and function is not call["function"]):
            extra["function"] = inner or call["function"]
        if number is not None and type(number) is not int:
            extra["index"] = number
        if arguments is not None and not isinstance(arguments, str):
            extra["$form"] = "object"
        absent = ["index"] if is_first and "index" not in call else []
        if self._is_whole:
            absent += [key for key in ("type", "function") if key not in call]
        if absent:
            extra["$absent"] = absent
        slot = self.w.call(
            index,
            number=own,
            id=id_,
            name=name,
            tool_type=word(call.get("type"), default="function"),
            extra=extra,
        )
        if not self._is_whole:
            arguments = arguments or None  # an object with nothing in it adds none
        for text in self._as_sent((index, "tool_call", slot.index), text_within(arguments, frame)):
            self.w.delta(slot, text)

    # Whole texts or pieces

    def _text(
        self,
        index: int,
        kind: Literal["text", "reasoning"],
        value: Any,
        path: tuple[str | int, ...],
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """A text at *path*, and what its part has beside the text. What is no text is kept there."""
        if isinstance(value, str):
            for text in self._as_sent((index, kind), value):
                self.w.append(index, kind, text, extra=extra)
        elif value:
            self.w.extra(path, value)

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


def _is_over(output: dict[str, Any]) -> bool:
    """True if there is a finish reason: in the first payload it says that no other comes."""
    choices = output.get("choices")
    holders = [output, *(choices if isinstance(choices, list) else ())]
    return any(isinstance(holder, dict) and is_real(holder.get("finish_reason")) for holder in holders)


def _item(item: dict[str, Any]) -> dict[str, Any]:
    """The fields of an item of the content but its text."""
    return {**{key: value for key, value in item.items() if key != "text"}, "$form": "item"}


FIELDS: dict[str, Callable[[DashScope, int, Any, Frame], None]] = {
    "role": DashScope._role,
    "reasoning_content": DashScope._reasoning,
    "content": DashScope._content,
    "tool_calls": DashScope._tool_calls,
}


def dashscope_usage(raw: dict[str, Any]) -> Usage:
    """The usage of a model, or of an application: that of all its models together."""
    models = raw.get("models")
    if not isinstance(models, list):
        return chat_usage(raw)
    whole = Usage.sum(chat_usage(model) for model in models if isinstance(model, dict))
    return msgspec.structs.replace(whole, raw=raw)


DashScope.payloads = ("output", "usage", "code", *FIELDS)
DIALECT = DashScope
