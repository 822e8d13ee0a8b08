"""
IBM watsonx.ai: `text/chat_stream`, which sends the chunks of OpenAI's chat, and `text/generation_stream`.

Both name the SSE event: what comes under `error` is an error, whatever its shape. There is no end mark, so a finish
reason before the end of the body makes a clean end. In generation the texts are pieces and the counts running totals,
in which a 0 after a number says nothing. A harmful prompt is answered by a warning in place of the text.

Manual: docs/dialects/watsonx.md. Reference: cloud.ibm.com/apidocs/watsonx-ai, "Infer text event stream".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.basis import _json
from chunkfold.dialects import CERTAIN, LIKELY, NO
from chunkfold.dialects._errors import error_in, read_error
from chunkfold.dialects._usage import two_counts
from chunkfold.dialects._words import is_blank, is_real, telling
from chunkfold.dialects.openai_chat import OpenAIChat

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame

_TOP = frozenset({"results", "error", "errors"})
_COUNTS = ("input_token_count", "generated_token_count")
_usage = partial(two_counts, *_COUNTS)
_RESULT = frozenset({"generated_text", "stop_reason", "moderations", "generated_tokens", *_COUNTS})


class Watsonx(OpenAIChat):
    """IBM watsonx.ai streaming: chat as in `openai-chat`, and text generation."""

    name: ClassVar[str] = "watsonx"
    aliases: ClassVar[tuple[str, ...]] = ()
    ends_with_body: ClassVar[bool] = True

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        if isinstance(payload.get("choices"), list):
            return CERTAIN if "model_id" in payload else NO
        results = payload.get("results")
        first = results[0] if isinstance(results, list) and results else None
        if isinstance(first, dict) and "generated_text" in first:
            return CERTAIN
        return LIKELY if "model_id" in payload and "system" in payload else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._counts: dict[str, Any] = {}
        # The choices whose prompt was found harmful.
        self._filtered: set[int] = set()
        # IBM's warnings, each once.
        self._warnings: set[str] = set()

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        shape = telling(payload, SHAPES)
        if shape == "system" and "choices" in payload:
            shape = "choices"  # the usage comes in a chunk without choices, and warnings may stand in any chunk
        if shape is None:
            super().decode(payload, frame)
        elif not self.is_error(payload, frame, *SHAPES):
            system = payload.get("system")
            notices = system if isinstance(system, dict) else {}
            rest = {key: value for key, value in payload.items() if key != "system"} if notices else payload
            SHAPES[shape](self, rest, frame)
            self._notices(notices)
            error = error_in(rest)
            if error is None and rest.get("errors"):
                error = read_error({"message": rest["errors"], **rest}, raw=rest)
            if error is not None:
                self.w.error(error)

    def _notices(self, system: dict[str, Any]) -> None:
        """What IBM says itself. Each chunk may have warnings of its own, or have them again: all are kept, once."""
        given = system.get("warnings")
        listed = given if isinstance(given, list) else []
        self.w.extras(system, frozenset({"warnings"} if listed else ()), "system")
        for warning in listed:
            known = _json.identity(warning)
            if known not in self._warnings:
                self._warnings.add(known)
                self.w.extra(("system", "warnings", "-"), warning)

    def begin_again(self, next_id: Any = None) -> None:
        self._warnings.clear()  # what was kept of the body before is void
        super().begin_again(next_id)

    def _facts(self, payload: dict[str, Any]) -> None:
        self.w.message(id=payload.get("id"), model=payload.get("model_id"), created=payload.get("created"))

    def _chat(self, payload: dict[str, Any], frame: Frame) -> None:
        """A chunk of OpenAI's chat; the model is named by `model_id`, and not always by `model` too."""
        self._facts(payload)
        if payload.get("model"):
            self.w.extra(("model",), payload["model"])
        if payload.get("object"):
            self.w.extra(("object",), "chat.completion")
        super().decode(payload, frame)

    def _generation(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        w.message(model=payload.get("model_id"), created=payload.get("created_at"))
        results = w.objects("result", payload["results"])
        for index, result in results:
            self._result(index, result, alone=len(results) == 1)
        w.blanks(payload, ())
        w.extras(payload, _TOP)

    def _result(self, index: int, result: dict[str, Any], *, alone: bool) -> None:
        w, path = self.w, ("results", index)
        w.extra(path, {})
        text = result.get("generated_text")
        w.append(index, "text", text)
        if text is not None and not isinstance(text, str):
            w.extra((*path, "generated_text"), text)
        for key in _COUNTS:
            if result.get(key) or key not in self._counts:
                self._counts[key] = result.get(key)
            if not alone and result.get(key):
                w.extra((*path, key), result[key])
        w.usage({key: value for key, value in self._counts.items() if not is_blank(value)}, _usage)
        self._moderations(index, result.get("moderations"))
        tokens = result.get("generated_tokens")
        if isinstance(tokens, list):
            w.logprobs(index, tokens)
        elif tokens:
            w.extra((*path, "generated_tokens"), tokens)
        word = result.get("stop_reason")
        if is_real(word) and str(word).lower() != "not_finished":
            w.finish(index, word, "content_filter" if index in self._filtered else None)
        elif word is not None:
            w.extra((*path, "stop_reason"), word)
        w.blanks(result, (), *path)
        w.extras(result, _RESULT, *path)

    def _moderations(self, index: int, value: Any) -> None:
        """
        What the filters found, by filter. A finding with `input` set is about the prompt: the text is then IBM's
        warning, not the model's.
        """
        w, path = self.w, ("results", index, "moderations")
        if not isinstance(value, dict):
            if value:
                w.extra(path, value)
            return
        for name, findings in value.items():
            if not isinstance(findings, list) or not findings:
                w.extra((*path, name), findings)
            for finding in findings if isinstance(findings, list) else [findings]:
                if isinstance(findings, list):
                    w.extra((*path, name, "-"), finding)
                if isinstance(finding, dict) and finding.get("input") is True:
                    self._filtered.add(index)
                    w.finish(index, None, "content_filter")

    def _notice(self, payload: dict[str, Any], frame: Frame) -> None:
        """Warnings alone, such as that the model is not IBM's."""
        self._facts(payload)
        self.w.extras(payload, _TOP)

    def _errors(self, payload: dict[str, Any], frame: Frame) -> None:
        """Nothing but errors, which are told like those beside anything else, or a list of none."""
        if not payload["errors"]:
            self.w.blanks(payload, ())


# By the field that tells the shapes apart.
SHAPES: dict[str, Callable[[Watsonx, dict[str, Any], Frame], None]] = {
    "results": Watsonx._generation,
    "choices": Watsonx._chat,
    "errors": Watsonx._errors,
    "system": Watsonx._notice,
}

Watsonx.payloads = tuple(SHAPES)
DIALECT = Watsonx
