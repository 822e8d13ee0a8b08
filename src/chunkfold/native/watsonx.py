"""
The native bodies of `watsonx`: the answer of `text/chat`, which is nearly OpenAI's, and that of `text/generation`.

The texts of a generation are pieces, its counts running totals of which a 0 after a number says nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chunkfold.native import openai_chat
from chunkfold.native._build import (
    APPEND,
    EXTEND,
    FIRST,
    LAST,
    Rule,
    add_error,
    add_unknown,
    choices_of,
    copied,
    error_of,
    extra_of,
    fields,
    fill,
    usage_of,
)
from chunkfold.parts import TextPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Choice, Response

__all__ = ["RULES", "body"]

RULES: Mapping[str, Rule] = {
    **openai_chat.RULES,
    "model_id": LAST,
    "created_at": LAST,
    "results[].generated_text": APPEND,
    "results[].stop_reason": LAST,
    "results[].generated_token_count": LAST,
    "results[].input_token_count": FIRST,
    "results[].generated_tokens[]": EXTEND,
    "results[].moderations": EXTEND,
    "system.warnings": EXTEND,
    # An error of any shape, told by the name of its event.
    "code": Rule("last", "errors[].code"),
    "message": Rule("last", "errors[].message"),
}

_COUNTS = ("generated_token_count", "input_token_count")


def body(response: Response) -> dict[str, Any]:
    """The answer of `text/chat`, or of `text/generation`, that says the same."""
    return _generation(response) if "results" in response.extra else _chat(response)


def _chat(response: Response) -> dict[str, Any]:
    """OpenAI's body, but with `model` and `object` only where the stream has them."""
    response = _with_errors(response)
    out = openai_chat.body(response)
    for key in ("model", "object"):
        if key not in response.extra:
            out.pop(key, None)
    fill(out, model=response.extra.get("model"))
    return out


def _with_errors(response: Response) -> Response:
    """An error that only the name of its event makes one is put among `errors`."""
    error = response.error
    told = error_of(response)
    if error is None or told is None or told.get("error") or told.get("errors"):
        return response
    return replace(response, error=replace(error, raw={"errors": [told]}))


def _generation(response: Response) -> dict[str, Any]:
    extra = response.extra
    out = fields(extra)
    kept = extra_of(extra, "results")
    usage = usage_of(response.usage) or {}
    if any(key in item for item in kept.values() if isinstance(item, dict) for key in _COUNTS if item.get(key)):
        usage = {}
    results = [
        _result(choice, extra_of(kept, choice.index), {} if choice.index else usage)
        for choice in choices_of(response, kept, _is_text)
    ]
    if results:
        out["results"] = results
    add_error(out, _with_errors(response))
    add_unknown(out, response.parts)
    return out


def _is_text(part: Part) -> bool:
    return isinstance(part, TextPart)


def _result(choice: Choice, extra: dict[str, Any], usage: dict[str, Any]) -> dict[str, Any]:
    out = fields(extra)
    out.update(usage)
    text = "".join([part.text for part in choice.parts if isinstance(part, TextPart)])
    if text:
        out["generated_text"] = text
    if choice.logprobs:
        out["generated_tokens"] = copied(choice.logprobs)
    fill(out, stop_reason=choice.native_finish_reason)
    return out
