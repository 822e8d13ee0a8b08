"""
The native body of `bedrock-invoke`: what the model's own API says without streaming.

`response.extra["$family"]` says whose words these are. Where a dialect reads the model's words, its native form writes
them; Titan's, Llama's, Mistral's, Pegasus's and the first Claude's are written here. What Bedrock adds to the model's
object stands beside its fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chunkfold import native
from chunkfold.native._build import (
    APPEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    add_unknown,
    choices_of,
    copied,
    extra_of,
    fields,
    fill,
    is_whole,
    usage_of,
)
from chunkfold.native.bedrock_converse import add_exception
from chunkfold.parts import TextPart, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.response import Choice, Response

__all__ = ["RULES", "body"]

# Those of the families that are written here; the others follow the rules of their dialects.
RULES: Mapping[str, Rule] = {
    "chunk": Rule("last", "$"),
    # The model's object in base64, and padding against guessing by size.
    **dict.fromkeys(("chunk.bytes", "bytes", "chunk.p", "p"), TRANSPORT),
    "id": FIRST,
    "model": FIRST,
    # Titan. The index is always 0.
    "index": TRANSPORT,
    "outputText": Rule("append", "results[].outputText"),
    "completionReason": Rule("last", "results[].completionReason"),
    "totalOutputTextTokenCount": Rule("last", "results[].tokenCount"),
    "inputTextTokenCount": LAST,
    "results[].outputText": APPEND,
    # Llama, Mistral, the first Claude and Pegasus.
    "generation": APPEND,
    "outputs[].text": APPEND,
    "completion": APPEND,
    "stop_reason": LAST,
    "message": APPEND,
    "finishReason": LAST,
}

_METRICS, _ACTION = "amazon-bedrock-invocationMetrics", "amazon-bedrock-guardrailAction"
# Bedrock's own counts, which are no usage of the model's.
_OWN_COUNTS = frozenset({"inputTokenCount", "outputTokenCount", "invocationLatency", "firstByteLatency"})
_BLOCKED = "INTERVENED"


def body(response: Response) -> dict[str, Any]:
    """The body of InvokeModel for a response, in the words of its model."""
    family = response.extra.get("$family", "")
    response = _without_additions(response)
    write = _FAMILIES.get(family)
    if write is not None:
        out = write(response)
    elif family:
        by_bedrock = response.error is not None and (response.error.type or "").endswith("Exception")
        out = native.body(replace(response, dialect=family, error=None if by_bedrock else response.error))
        out = _in_bedrocks_words(out, response)
        if by_bedrock:
            add_exception(out, response)
        return out
    else:
        out = fields(response.extra)
    strays = (part for choice in response.choices for part in choice.parts if getattr(part, "name", None) != "text")
    add_unknown(out, strays)
    add_exception(out, response)
    return out


def _without_additions(response: Response) -> Response:
    """The response without what Bedrock's additions say anyway: counts, and the reason of a blocked prompt."""
    metrics = response.extra.get(_METRICS)
    usage = response.usage
    if usage is not None and isinstance(metrics, dict):
        raw = {key: value for key, value in usage.raw.items() if key not in _OWN_COUNTS or key not in metrics}
        said = any(key not in metrics or metrics[key] != value for key, value in raw.items())
        response = replace(response, usage=replace(usage, raw=raw) if said else None)
    if response.extra.get(_ACTION) == _BLOCKED:
        choices = [
            replace(choice, native_finish_reason=None) if choice.native_finish_reason == _BLOCKED else choice
            for choice in response.choices
        ]
        response = replace(response, choices=tuple(choices))
    return response


def _in_bedrocks_words(out: dict[str, Any], response: Response) -> dict[str, Any]:
    """The names that Bedrock has for the same where it renames."""
    kept = extra_of(response.extra, "choices")
    choices = out.get("choices")
    for place, choice in enumerate(choices if isinstance(choices, list) else ()):
        index = choice.get("index", place)
        if "stop_reason" in extra_of(kept, index):
            choice["stop_reason"] = choice.pop("finish_reason", None)
            if "text" in choice:
                out.pop("object", None)
    return out


# Families with words of their own


def _text(choice: Choice, out: dict[str, Any], name: str) -> None:
    """The text of a choice under its name, or what stood there that is none."""
    strange = next((part for part in choice.parts if isinstance(part, UnknownPart) and part.name == "text"), None)
    if any(isinstance(part, TextPart) for part in choice.parts):
        out[name] = choice.text
    elif strange is not None:
        out[name] = copied(strange.payload)


def _first(response: Response) -> Choice | None:
    return next((choice for choice in response.choices if choice.index == 0), None)


def _titan(response: Response) -> dict[str, Any]:
    extra, whole = response.extra, is_whole(response)
    raw = usage_of(response.usage) or {}
    out = fields(extra, ("results",))
    fill(out, inputTextTokenCount=raw.get("inputTextTokenCount"))
    kept = extra_of(extra, "results")
    results = []
    for choice in choices_of(response, kept):
        result = fields(extra_of(kept, choice.index))
        _text(choice, result, "outputText")
        fill(result, completionReason=choice.native_finish_reason)
        if not whole:
            result.setdefault("outputText", "")
            fill(result, tokenCount=raw.get("totalOutputTextTokenCount"))
        results.append(result)
    out["results"] = results
    return out


def _llama(response: Response) -> dict[str, Any]:
    out = fields(response.extra)
    raw = usage_of(response.usage) or {}
    fill(out, **{key: raw.get(key) for key in ("prompt_token_count", "generation_token_count")})
    return _single(response, out, "generation")


def _claude(response: Response) -> dict[str, Any]:
    out = fields(response.extra)
    fill(out, id=response.id, model=response.model)
    return _single(response, out, "completion")


def _pegasus(response: Response) -> dict[str, Any]:
    return _single(response, fields(response.extra), "message", "finishReason")


def _single(response: Response, out: dict[str, Any], name: str, reason: str = "stop_reason") -> dict[str, Any]:
    choice = _first(response)
    if choice is not None:
        _text(choice, out, name)
        fill(out, **{reason: choice.native_finish_reason})
    return out


def _mistral(response: Response) -> dict[str, Any]:
    kept = extra_of(response.extra, "outputs")
    out = fields(response.extra, ("outputs",))
    outputs = []
    for choice in choices_of(response, kept):
        output = fields(extra_of(kept, choice.index))
        _text(choice, output, "text")
        fill(output, stop_reason=choice.native_finish_reason)
        outputs.append(output)
    out["outputs"] = outputs
    return out


_FAMILIES: dict[str, Callable[[Response], dict[str, Any]]] = {
    "titan": _titan,
    "llama": _llama,
    "mistral": _mistral,
    "claude-text": _claude,
    "pegasus": _pegasus,
}
