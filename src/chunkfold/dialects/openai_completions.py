"""
OpenAI's legacy Completions (`text_completion`), and llama.cpp's own `/completion` beside it.

A chunk and the whole body have one shape: `choices[].text` is a piece in the one and everything in the other. There
are no roles, calls or reasoning. Several prompts and samples interleave by `index`. Log-probabilities are parallel
lists, one entry a token, unlike those of chat. TGI sends a finish reason of `""` until there is one.

Manual: docs/dialects/openai-completions.md. Reference: platform.openai.com/docs/api-reference/completions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._arguments import text_within
from chunkfold.dialects._errors import says_success
from chunkfold.dialects._usage import two_counts
from chunkfold.dialects._words import choice_index, is_blank, native_reason, telling, word

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
_usage = partial(two_counts, *_COUNTS)
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
        if payload.get("object") in ("text_completion", "completion.chunk"):  # the second is Together AI's
            return NO if _is_of_chat(first) else CERTAIN
        if isinstance(payload.get("content"), str) and isinstance(payload.get("stop"), bool):
            return CERTAIN
        # So has a choice of Bedrock's DeepSeek, with its reason under another name.
        has_text = isinstance(first, dict) and isinstance(first.get("text"), str) and "finish_reason" in first
        return LIKELY if has_text else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        # The choices that came.
        self._indexed: set[int] = set()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        if self.is_error(payload, frame, *SHAPES):
            return
        shape = telling(payload, SHAPES)
        if shape is not None:
            SHAPES[shape](self, payload, frame)
        elif not payload.get("usage"):
            self.strange(payload, frame, word(payload.get("object"), payload.get("type")))
        self.w.usage(payload.get("usage"))
        self.tell_error(payload)

    def _completion(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        vendor = "llamacpp" if payload.get("timings") else None
        w.message(id=payload.get("id"), model=payload.get("model"), created=payload.get("created"), vendor=vendor)
        is_first = not self._indexed
        for place, choice in w.objects("choice", payload.get("choices")):
            self._choice(choice, place, frame)
        w.unsaid(payload, "id", "model", "created")
        w.extras(payload, _TOP - {"error"} if says_success(payload.get("error")) else _TOP)
        w.blanks(payload, _NESTED)
        if is_first:
            self._keep_unless("text_completion", payload, "object")

    def _choice(self, choice: dict[str, Any], place: int, frame: Frame) -> None:
        w = self.w
        index = choice_index(choice.get("index"), place, odd=0)
        delta = choice.get("delta")
        self._reasoning(index, choice)
        if isinstance(delta, dict):
            # Proxies that translate from chat let one of its deltas through, perhaps beside the same text.
            w.append(index, "text", None if choice.get("text") else delta.get("content"))
            w.extras(delta, frozenset({"content"}), "choices", index, "delta")
        text = choice.get("text")
        w.append(index, "text", text_within(text, frame) if isinstance(text, (int, float)) else text)
        if choice.get("logprobs") is not None:
            self._logprobs(index, choice["logprobs"])
        self._tokens(choice.get("token_ids"), "choices", index, "token_ids")
        behind = native_reason(choice)
        w.finish_at(index, choice.get("finish_reason"), "choices", index, "finish_reason", behind=behind)
        w.usage(choice.get("usage"))
        self.error_in_choice(index, choice)
        w.extras(choice, _CHOICE, "choices", index)
        w.blanks(choice, () if choice.get("text") is None else ("text",), "choices", index)
        if index not in self._indexed:
            self._indexed.add(index)
            self._keep_unless(index, choice, "index", "choices", index)

    def _keep_unless(self, usual: str | int, holder: dict[str, Any], key: str, *path: str | int) -> None:
        """Keep a field for the native body, or that it is not there, unless it is as *usual*."""
        if key not in holder:
            self.w.extra((*path, "$absent"), [key])
        elif holder[key] != usual:
            self.w.extra((*path, key), holder[key])

    def _reasoning(self, index: int, choice: dict[str, Any]) -> None:
        """Reasoning beside the text, counted once."""
        key = next((key for key in _REASONING if choice.get(key)), None)
        if key is not None:
            self.w.append(index, "reasoning", choice[key], extra={"$field": key})

    def _logprobs(self, index: int, value: Any) -> None:
        """Parallel lists, one entry a token; llama.cpp sends chat's list of objects here too."""
        w, path = self.w, ("choices", index, "logprobs")
        if not isinstance(value, dict):
            w.extra(path, value)
            return
        columns = {key: column for key, column in value.items() if isinstance(column, list)}
        if "content" in columns:
            columns = {"content": columns["content"]}
            w.logprobs(index, columns["content"])
            w.extra((*path, "content"), [])
        else:
            rows = range(max(map(len, columns.values()), default=0))
            w.logprobs(
                index,
                [
                    {_COLUMNS.get(key, key): column[row] for key, column in columns.items() if row < len(column)}
                    for row in rows
                ],
            )
        w.extras(value, frozenset(columns), *path)
        w.blanks(value, (), *path)

    def _tokens(self, value: Any, *path: str | int) -> None:
        """The numbers of new tokens (vLLM, llama.cpp): each piece has its own."""
        for token in value if isinstance(value, list) else ():
            self.w.extra((*path, "-"), token)

    def _own(self, payload: dict[str, Any], frame: Frame) -> None:
        """llama.cpp's `/completion`: flat, and `stop` is true in the last payload."""
        w = self.w
        index = choice_index(payload.get("index"), odd=0)
        w.message(model=payload.get("model"), vendor="llamacpp")
        w.append(index, "text", payload.get("content"))
        probabilities = payload.get("completion_probabilities")
        w.logprobs(index, probabilities if isinstance(probabilities, list) else [])
        self._tokens(payload.get("tokens"), "tokens")
        w.usage({key: payload[key] for key in _COUNTS if not is_blank(payload.get(key))}, _usage)
        if payload.get("stop"):
            # Builds of before 2025 have a flag for each reason, and no word.
            by_flag = next((reason for key, reason in _FLAGS.items() if payload.get(key)), None)
            w.finish(index, payload.get("stop_type"), by_flag)
            self.end_seen = True
        w.extras(payload, _OWN)
        w.blanks(payload, ("content",))
        for key in ("tokens", "completion_probabilities"):
            if key in payload and not isinstance(payload[key], list):
                w.extra((key,), payload[key])


def _is_of_chat(choice: Any) -> bool:
    """True for a choice of chat: before 2025 TGI called the objects of both endpoints `text_completion`."""
    return isinstance(choice, dict) and "text" not in choice and not choice.keys().isdisjoint(("delta", "message"))


# By the field that tells the shapes apart.
SHAPES: dict[str, Callable[[OpenAICompletions, dict[str, Any], Frame], None]] = {
    "choices": OpenAICompletions._completion,
    "content": OpenAICompletions._own,
}

OpenAICompletions.payloads = tuple(SHAPES)
DIALECT = OpenAICompletions
