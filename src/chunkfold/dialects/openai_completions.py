"""
OpenAI's legacy Completions (`text_completion`), and llama.cpp's own `/completion` beside it.

A chunk and the whole body have one shape: `choices[].text` is a piece in the one and everything in the other. There
are no roles, calls or reasoning. Several prompts and samples interleave by `index`. Log-probabilities are parallel
lists, one entry a token, unlike those of chat. TGI sends a finish reason of `""` until there is one.

Manual: docs/dialects/openai-completions.md. Reference: platform.openai.com/docs/api-reference/completions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._errors import error_in, read_error
from chunkfold.dialects._usage import count, total
from chunkfold.dialects._words import choice_index, is_blank, telling, word
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.response import FinishReason

_TOP = frozenset({"id", "object", "created", "model", "choices", "usage", "error", "obfuscation"})
# Where OpenRouter and others have reasoning beside the text; the first one counts.
_REASONING = ("reasoning", "reasoning_content")
_CHOICE = frozenset({"index", "text", "delta", "logprobs", "finish_reason", "token_ids", "usage", *_REASONING})
# Fields that have a place of their own in the native body.
_NESTED = ("choices", "obfuscation")

# llama.cpp's own endpoint: what becomes part of the message, and its counts, which are running totals.
_COUNTS = ("tokens_evaluated", "tokens_predicted")
_OWN = frozenset({"content", "tokens", "stop_type", "model", "error", "completion_probabilities", *_COUNTS})

_FLAGS: dict[str, FinishReason] = {"stopped_limit": "length", "stopped_word": "stop", "stopped_eos": "stop"}

# What one entry of each parallel list is called in an entry of ours. Other lists keep their names.
_COLUMNS = {"tokens": "token", "token_logprobs": "logprob"}


class OpenAICompletions(Dialect):
    """OpenAI legacy Completions streaming, also by vLLM, SGLang, TGI, Ollama and llama.cpp."""

    name: ClassVar[str] = "openai-completions"
    ends_with_done: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = ("text", "content", *_REASONING)
    # llama.cpp's `stop_type`; `eos` is in everybody's table.
    words: ClassVar[Mapping[str, str]] = {"limit": "length", "word": "stop"}

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        choices = payload.get("choices")
        first = choices[0] if isinstance(choices, list) and choices else None
        if payload.get("object") == "text_completion":
            return NO if _is_of_chat(first) else CERTAIN
        own = isinstance(payload.get("content"), str) and isinstance(payload.get("stop"), bool)
        if own and "type" not in payload:
            return CERTAIN
        if payload.get("object") or not isinstance(first, dict) or not isinstance(first.get("text"), str):
            return NO
        # A chunk of chat has a delta, and Bedrock's DeepSeek its reason under another name.
        return LIKELY if first.keys().isdisjoint(("delta", "message")) and "finish_reason" in first else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._begun = False
        # The choices that came.
        self._indexed: set[int] = set()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        error = error_in(payload)
        shape = telling(payload, SHAPES)
        if shape is not None and self.is_error(payload, frame, *SHAPES):
            return
        if shape is not None:
            SHAPES[shape](self, payload)
        elif error is None and not payload.get("usage"):
            self.strange(payload, frame, word(payload.get("object"), payload.get("type")))
        w.usage(payload.get("usage"))
        if error is not None:
            w.error(error)

    def _completion(self, payload: dict[str, Any]) -> None:
        w = self.w
        vendor = "llamacpp" if payload.get("timings") else None
        w.message(id=payload.get("id"), model=payload.get("model"), created=payload.get("created"), vendor=vendor)
        for place, choice in w.objects("choice", payload.get("choices")):
            self._choice(choice, place)
        w.unsaid(payload, "id", "model", "created")
        w.extras(payload, _TOP)
        if None in payload.values() or not self._begun:
            w.blanks(payload, _NESTED)
        if not self._begun and payload.get("object") != "text_completion":
            w.extras({"object": payload["object"]} if "object" in payload else {"$absent": ["object"]}, frozenset())
        self._begun = True

    def _choice(self, choice: dict[str, Any], place: int) -> None:
        w = self.w
        index = _index(choice, place)
        delta = choice.get("delta")
        self._reasoning(index, choice)
        if isinstance(delta, dict):
            # Proxies that translate from chat let one of its deltas through, perhaps beside the same text.
            w.append(index, "text", None if choice.get("text") else delta.get("content"))
            w.extras(delta, frozenset({"content"}), "choices", index, "delta")
        text = choice.get("text")
        w.append(index, "text", json_text(text) if isinstance(text, (int, float)) else text)
        if choice.get("logprobs") is not None:
            self._logprobs(index, choice["logprobs"])
        self._tokens(choice.get("token_ids"), "choices", index, "token_ids")
        w.finish_at(index, choice.get("finish_reason"), "choices", index, "finish_reason")
        w.usage(choice.get("usage"))
        if choice.get("error"):
            w.error(read_error(choice["error"], raw=choice))
        w.extras(choice, _CHOICE, "choices", index)
        if None in choice.values() or index not in self._indexed or choice.get("finish_reason") == "" or delta == {}:
            w.blanks(choice, () if choice.get("text") is None else ("text",), "choices", index)
        if index not in self._indexed:
            self._indexed.add(index)
            if choice.get("index") is not index:
                odd = {"index": choice["index"]} if "index" in choice else {"$absent": ["index"]}
                w.extras(odd, frozenset(), "choices", index)

    def _reasoning(self, index: int, choice: dict[str, Any]) -> None:
        """Reasoning beside the text, counted once. What is no text is kept."""
        said = [key for key in _REASONING if choice.get(key)]
        for key in said:
            if not isinstance(choice[key], str):
                self.w.extra(("choices", index, key), choice[key])
            elif key == said[0]:
                self.w.append(index, "reasoning", choice[key], extra={"$field": key})

    def _logprobs(self, index: int, value: Any) -> None:
        """Parallel lists, one entry a token; llama.cpp sends chat's list of objects here too."""
        w = self.w
        if not isinstance(value, dict):
            w.extra(("choices", index, "logprobs"), value)
            return
        content = value.get("content")
        if isinstance(content, list):
            w.logprobs(index, content)
            w.extra(("choices", index, "logprobs", "content"), [])
            w.extras(value, frozenset({"content"}), "choices", index, "logprobs")
            return
        columns = {key: column for key, column in value.items() if isinstance(column, list)}
        rows = range(max(map(len, columns.values()), default=0))
        w.logprobs(
            index,
            [
                {_COLUMNS.get(key, key): column[row] for key, column in columns.items() if row < len(column)}
                for row in rows
            ],
        )
        w.extras(value, frozenset(columns), "choices", index, "logprobs")
        w.blanks(value, (), "choices", index, "logprobs")

    def _tokens(self, value: Any, *path: str | int) -> None:
        """The numbers of new tokens (vLLM, llama.cpp): each piece has its own."""
        for token in value if isinstance(value, list) else ():
            self.w.extra((*path, "-"), token)

    def _own(self, payload: dict[str, Any]) -> None:
        """llama.cpp's `/completion`: flat, and `stop` is true in the last payload."""
        w = self.w
        index = _index(payload)
        w.message(model=payload.get("model"), vendor="llamacpp")
        w.append(index, "text", payload.get("content"))
        probabilities = payload.get("completion_probabilities")
        w.logprobs(index, probabilities if isinstance(probabilities, list) else [])
        self._tokens(payload.get("tokens"), "tokens")
        w.usage({key: payload[key] for key in _COUNTS if not is_blank(payload.get(key))}, _own_usage)
        if payload.get("stop"):
            said = payload.get("stop_type")
            # Builds of before 2025 have a flag for each reason, and no word.
            w.finish(index, said, None if said else next((_FLAGS[key] for key in _FLAGS if payload.get(key)), None))
            self.end_seen = True
        w.extras(payload, _OWN)
        if payload.get("stop") or not self._begun:
            w.blanks(payload, ("content",))
        for key in ("tokens", "completion_probabilities"):
            if key in payload and not isinstance(payload[key], list):
                w.extra((key,), payload[key])
        self._begun = True


def _is_of_chat(choice: Any) -> bool:
    """True for a choice of chat: before 2025 TGI called the objects of both endpoints `text_completion`."""
    return isinstance(choice, dict) and "text" not in choice and not choice.keys().isdisjoint(("delta", "message"))


def _index(payload: dict[str, Any], place: int = 0) -> int:
    return choice_index(payload.get("index"), place, odd=0)


def _own_usage(raw: dict[str, Any]) -> Usage:
    prompt, output = count(raw, "tokens_evaluated"), count(raw, "tokens_predicted")
    return Usage(input_tokens=prompt, output_tokens=output, total_tokens=total(None, prompt, output), raw=raw)


# By the field that tells the shapes apart.
SHAPES: dict[str, Callable[[OpenAICompletions, dict[str, Any]], None]] = {
    "choices": OpenAICompletions._completion,
    "content": OpenAICompletions._own,
}

OpenAICompletions.payloads = tuple(SHAPES)
DIALECT = OpenAICompletions
