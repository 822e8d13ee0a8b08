"""
Amazon Bedrock InvokeModelWithResponseStream: an envelope, and in it whatever the model's own API says.

Each `chunk` holds base64 of one JSON object in the model's words. Claude's are those of Anthropic Messages, Nova's
those of Converse, open models' those of chat completions: their dialects read them. Titan, Llama, Mistral's text
models, Pegasus and the first Claude have words of their own, which are read here. The last chunk has Bedrock's own
count of tokens, which counts where the model gave none.

Manual: docs/dialects/bedrock-invoke.md. Reference: Amazon Bedrock User Guide, "Inference request parameters and
response fields for foundation models".
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold import dialects
from chunkfold.basis import _json
from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._errors import error_body, error_in, exceptions_in
from chunkfold.dialects._usage import count, summed, total
from chunkfold.dialects._words import choice_index, telling
from chunkfold.errors import LimitExceeded
from chunkfold.framing import Frame
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Writer

# What Bedrock adds to the model's own object.
_ADDED = "amazon-bedrock-"
_METRICS = "amazon-bedrock-invocationMetrics"
_ACTION = "amazon-bedrock-guardrailAction"
_TRACE = "amazon-bedrock-trace"

# `p` is padding of random length, against eavesdroppers who count bytes.
_ENVELOPE = frozenset({"bytes", "p"})
_TITAN = frozenset({"outputText", "index", "completionReason"})
_LLAMA = frozenset({"generation", "stop_reason"})
_CLAUDE = frozenset({"completion", "stop_reason", "id", "model"})
_PEGASUS = frozenset({"message", "finishReason"})
_COUNTS = frozenset(
    {
        "inputTextTokenCount", "totalOutputTextTokenCount", "tokenCount", "prompt_token_count",
        "generation_token_count",
    }
)  # fmt: skip


class BedrockInvoke(Dialect):
    """Amazon Bedrock InvokeModelWithResponseStream, for all families of models that stream."""

    name: ClassVar[str] = "bedrock-invoke"
    ends_with_body: ClassVar[bool] = True
    holds: ClassVar[tuple[str, ...]] = (
        "anthropic-messages", "bedrock-converse", "cohere-v1", "cohere-v2", "openai-chat", "openai-completions",
    )  # fmt: skip
    words: ClassVar[Mapping[str, str]] = {
        "intervened": "content_filter",
        "finished": "stop",
        "stop_criteria_met": "stop",
    }

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        chunk = payload.get("chunk")
        if isinstance(chunk, dict) and isinstance(chunk.get("bytes"), str):
            return CERTAIN
        if isinstance(payload.get("bytes"), str) and payload.keys() <= _ENVELOPE:
            return CERTAIN if event == "chunk" else LIKELY
        if not payload.keys().isdisjoint(_COUNTS):
            # The model's own object, taken out of its envelope.
            return CERTAIN if "outputText" in payload or "generation" in payload or "results" in payload else NO
        if "stop_reason" in payload and isinstance(payload.get("completion"), str):
            return LIKELY
        if payload.keys() == _PEGASUS and isinstance(payload["message"], str):
            return LIKELY
        for name in ("outputs", "choices"):
            answers = payload.get(name)
            first = answers[0] if isinstance(answers, list) and answers else None
            if isinstance(first, dict) and "stop_reason" in first and "finish_reason" not in first:
                if "text" in first:
                    return LIKELY
                if isinstance(first.get("message"), dict) and "object" not in payload:
                    return CERTAIN  # Mistral's chat
        return LIKELY if _METRICS in payload else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._inner: Dialect | None = None
        self._family: str | None = None
        self._blocked = False
        self._enveloped = False
        # True where a `message` is a piece of one: in envelopes, and without them by a reason that is still to come.
        self._in_pieces = False

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        chunk = payload.get("chunk")
        if isinstance(chunk, dict):
            self.w.extras(payload, frozenset({"chunk"}))
            self._chunk(chunk, frame)
            self.error_beside(payload)
        else:
            self._chunk(payload, frame)

    def _chunk(self, payload: dict[str, Any], frame: Frame) -> None:
        data = payload.get("bytes")
        if isinstance(data, str):
            self.w.extras(payload, _ENVELOPE)
            if data:
                self._open_envelope(data)
            self.error_beside(payload)
        else:
            self._answer(payload, frame)

    def close(self) -> None:
        if self._inner is not None:
            self._inner.close()
        if self._blocked and not self.w.finished:
            # A blocked prompt is answered by the guardrail's own text, with no reason of the model's.
            self.w.finish(0, "INTERVENED")

    def _open_envelope(self, data: str) -> None:
        w = self.w
        self._enveloped = True
        try:
            text = base64.b64decode(data, validate=True)
        except ValueError:
            w.diagnose("bad_base64", f"a chunk of {len(data)} characters is not base64; kept as an unknown part")
            w.unknown("chunk", data)
            return
        if text.strip() == b"[DONE]":
            self.done()
            return
        try:
            payload, forgiven = _answer_in(text, w.json_depth)
        except _json.NotJSON as error:
            w.diagnose("frame_not_json", f"a chunk of {len(text)} bytes is kept as an unknown part: {error}")
            w.unknown("chunk", text.decode(errors="replace"))
            return
        w.careful = w.careful or forgiven is not None
        is_glued = forgiven in _json.GLUED and isinstance(payload, list)
        for answer in payload if is_glued else [payload]:
            if isinstance(answer, dict):
                self._answer(answer, Frame(text))
            elif answer is not None:
                w.unknown("chunk", answer)

    def _answer(self, payload: dict[str, Any], frame: Frame) -> None:
        """The model's own object, and what Bedrock has added to it."""
        added = {key: value for key, value in payload.items() if key.startswith(_ADDED)}
        exceptions = exceptions_in(payload) if len(payload) > 1 else {}
        if added or exceptions:
            payload = {key: value for key, value in payload.items() if key not in added and key not in exceptions}
        if payload:
            self._say(payload, frame)
        for error in exceptions.values():
            self.w.error(error)
        for key, value in added.items():
            self.w.extra((key,), value)
        metrics = added.get(_METRICS)
        if isinstance(metrics, dict):
            self.end_seen = True
            # Its count of tokens is at times another than the model's, which is the one that the whole answer has.
            if self._inner is None or not self.w.has_usage:
                self.w.usage(metrics, _usage)
        if added.get(_ACTION) == "INTERVENED":
            # Where it has masked text, all chunks say so; the last one has its findings.
            self._blocked = metrics is not None or _TRACE in added

    def _say(self, payload: dict[str, Any], frame: Frame) -> None:
        if self._inner is None:
            shape = telling(payload, FAMILIES)
            # Others have an object there, and an error before the stream has a sentence.
            if shape is not None and (shape != "message" or self._is_pegasus(payload)):
                family, handler = FAMILIES[shape]
                self._belongs_to(family)
                handler(self, payload)
                self.tell_error(payload)
                return
            self._in_pieces = self._enveloped or _is_to_go_on(payload)
            self._find_inner(payload)
        if self._inner is not None:
            said = _in_its_words(payload, is_piece=self._in_pieces)
            self._inner.decode(said, frame)
            if self.w.is_whole:  # behind another body everything is void
                self.w.extra(("$family",), self._family)
            if said is not payload and "choices" in payload:
                self._keep_names(payload["choices"])
            self.end_seen = self.end_seen or self._inner.end_seen
        else:
            # Before the stream, an error is a bare object with a message.
            error = error_in(payload) if self._enveloped else error_body(payload)
            if error is not None:
                self.w.error(error)
            else:
                self.w.unknown(next(iter(payload)) if len(payload) == 1 else "chunk", payload)

    def _is_pegasus(self, payload: dict[str, Any]) -> bool:
        is_text = payload.keys() <= _PEGASUS and isinstance(payload["message"], str)
        return is_text and (self._enveloped or len(payload) > 1)

    def _keep_names(self, choices: list[Any]) -> None:
        """Note where a reason has Bedrock's name."""
        for place, choice in enumerate(choices):
            if isinstance(choice, dict) and "stop_reason" in choice and _is_renamed(choice):
                self.w.extra(("choices", choice_index(choice.get("index"), place), "stop_reason"), None)

    def _find_inner(self, payload: dict[str, Any]) -> None:
        """The dialect of the model, by the first payload that tells."""
        found = dialects.recognise(_in_its_words(payload, is_piece=self._in_pieces), "")
        if found is not None and found is not BedrockInvoke:
            self.w.speak(self.name, {**found.words, **self.words})
            self._belongs_to(found.name)
            self._inner = found(self.w)

    def _belongs_to(self, family: str) -> None:
        """Keep whose words they are: the whole answer is written in the same."""
        if self._family is None:
            self._family = family
            self.w.message()
            self.w.extra(("$family",), family)

    # Families with words of their own

    def _titan(self, payload: dict[str, Any]) -> None:
        self._piece(0, payload.get("outputText"), payload.get("completionReason"), "results", 0, "completionReason")
        self._count(payload)
        if "completionReason" in payload:
            self.w.extra(("results", 0, "completionReason"), _unreal(payload["completionReason"]))
        self.w.extras(payload, _TITAN | _COUNTS)

    def _titan_whole(self, payload: dict[str, Any]) -> None:
        """Titan's answer that is not streamed."""
        self.whole()
        self._answers(payload, "results", "outputText", "completionReason")

    def _llama(self, payload: dict[str, Any]) -> None:
        self._piece(0, payload["generation"], payload.get("stop_reason"), "stop_reason")
        self._count(payload)
        self.w.blanks(payload, ())
        self.w.extras(payload, _LLAMA | _COUNTS)

    def _mistral(self, payload: dict[str, Any]) -> None:
        self._answers(payload, "outputs", "text", "stop_reason")

    def _answers(self, payload: dict[str, Any], name: str, text: str, reason: str) -> None:
        """The answers in the list of that name, each with its text and its reason in fields of those names."""
        w = self.w
        self._count(payload)
        w.blanks(payload, ())
        for place, answer in w.objects(name, payload[name]):
            self._piece(place, answer.get(text), answer.get(reason), name, place, reason)
            self._count(answer)
            w.blanks(answer, (), name, place)
            w.extras(answer, frozenset({text, reason}), name, place)
        w.extras(payload, _COUNTS | {name})

    def _claude(self, payload: dict[str, Any]) -> None:
        """Text completions of Claude 2 and before."""
        self.w.message(id=payload.get("id"), model=payload.get("model"))
        self._piece(0, payload["completion"], payload.get("stop_reason"), "stop_reason")
        self.w.blanks(payload, ())
        self.w.extras(payload, _CLAUDE)

    def _pegasus(self, payload: dict[str, Any]) -> None:
        """TwelveLabs' model that watches films."""
        self._piece(0, payload["message"], payload.get("finishReason"), "finishReason")
        self.w.blanks(payload, ())

    def _piece(self, choice: int, text: Any, reason: Any, *path: str | int) -> None:
        """A piece of text, and the reason, which stands at *path* of the whole body."""
        if isinstance(text, str) or text is None:
            self.w.append(choice, "text", text)
        else:
            self.w.unknown("text", text)
        self.w.finish_at(choice, reason, *path)

    def _count(self, payload: dict[str, Any]) -> None:
        counts = {key: payload[key] for key in payload if key in _COUNTS and payload[key] is not None}
        self.w.usage(counts, _usage)


def _usage(raw: dict[str, Any]) -> Usage:
    """The model's own counts, else Bedrock's, whose `inputTokenCount` leaves cached tokens out as in Converse."""
    cached = count(raw, "cacheReadInputTokenCount")
    written = count(raw, "cacheWriteInputTokenCount")
    prompt = count(raw, "inputTextTokenCount", "prompt_token_count")
    if prompt is None:
        prompt = summed(count(raw, "inputTokenCount"), cached, written)
    output = count(raw, "totalOutputTextTokenCount", "tokenCount", "generation_token_count", "outputTokenCount")
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(None, prompt, output),
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        raw=raw,
    )


def _unreal(reason: Any) -> Any:
    """What stands for no reason yet; `None` for a reason."""
    return None if isinstance(reason, str) and reason else reason


def _answer_in(chunk: bytes, depth: int | None) -> tuple[Any, str | None]:
    """
    The JSON that a chunk holds, read as leniently as payloads are; and what had to be forgiven.

    Raises:
        NotJSON: If nothing could be made of it.
        LimitExceeded: If it nests deeper than *depth*.
    """
    try:
        return _json.decode(chunk, depth)
    except _json.TooDeep as error:
        if depth is None or error.args[0] <= depth:
            raise _json.NotJSON(f"it nests {error.args[0]} deep, more than can be read") from None
        raise LimitExceeded("json_depth", depth + 1, depth) from None


def _in_its_words(payload: dict[str, Any], *, is_piece: bool) -> dict[str, Any]:
    """*payload* as the dialect says it, where Bedrock has another name for the same; *is_piece*: of a stream."""
    if "is_finished" in payload and "event_type" not in payload:
        # Cohere's Command before Command R.
        return {**payload, "event_type": "stream-end" if payload["is_finished"] else "text-generation"}
    choices = payload.get("choices")
    if not isinstance(choices, list) or not any(map(_is_renamed, choices)):
        return payload
    # DeepSeek has `text` and Mistral `message` (its pieces, too), both with `stop_reason`.
    texts = any(_is_renamed(choice) and "text" in choice for choice in choices)
    kind = {"object": "text_completion"} if texts else {}
    names = {"stop_reason": "finish_reason", **({"message": "delta"} if is_piece else {})}
    choices = [_renamed(choice, names) if _is_renamed(choice) else choice for choice in choices]
    return {**payload, **kind, "choices": choices}


def _is_to_go_on(payload: dict[str, Any]) -> bool:
    """True for a piece of Mistral's chat: the whole answer has a reason."""
    choices = payload.get("choices")
    return isinstance(choices, list) and any(
        _is_renamed(choice) and "message" in choice and choice.get("stop_reason", "") is None for choice in choices
    )


def _is_renamed(choice: Any) -> bool:
    if not isinstance(choice, dict) or "finish_reason" in choice:
        return False
    return not choice.keys().isdisjoint(("stop_reason", "message", "text"))


def _renamed(choice: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in choice.items()}


FAMILIES: dict[str, tuple[str, Callable[[BedrockInvoke, dict[str, Any]], None]]] = {
    "outputText": ("titan", BedrockInvoke._titan),
    "results": ("titan", BedrockInvoke._titan_whole),
    "generation": ("llama", BedrockInvoke._llama),
    "outputs": ("mistral", BedrockInvoke._mistral),
    "completion": ("claude-text", BedrockInvoke._claude),
    "message": ("pegasus", BedrockInvoke._pegasus),
}

BedrockInvoke.payloads = ("chunk", *FAMILIES)
DIALECT = BedrockInvoke
