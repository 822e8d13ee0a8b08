"""
The native body of `openai-completions`: a `text_completion`, or the flat object of llama.cpp's own endpoint.

A piece and the whole have one shape, so all fields keep their paths. The lists of log-probabilities, one entry a token,
are made of our entries again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.native._build import (
    APPEND,
    EXTEND,
    FIRST,
    LAST,
    TRANSPORT,
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
from chunkfold.parts import ReasoningPart, TextPart, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Choice, Message, Response

__all__ = ["RULES", "body", "request"]

RULES: Mapping[str, Rule] = {
    "id": FIRST,
    "model": FIRST,
    "created": FIRST,
    "obfuscation": TRANSPORT,  # padding against guessing by size
    "choices[].index": FIRST,
    "choices[].text": APPEND,
    "choices[].reasoning": APPEND,
    "choices[].reasoning_content": APPEND,
    "choices[].delta.content": APPEND,
    "choices[].usage": Rule("last", "usage"),
    "choices[].finish_reason": LAST,
    "choices[].token_ids[]": EXTEND,
    "choices[].logprobs.tokens[]": EXTEND,
    "choices[].logprobs.token_logprobs[]": EXTEND,
    "choices[].logprobs.top_logprobs[]": EXTEND,
    "choices[].logprobs.text_offset[]": EXTEND,
    "choices[].logprobs.content[]": EXTEND,
    "content": APPEND,
    "tokens[]": EXTEND,
    "completion_probabilities[]": EXTEND,
}

# Names of the parallel lists by those of an entry of ours; other lists keep their names.
_LISTS = {"token": "tokens", "logprob": "token_logprobs"}


def body(response: Response) -> dict[str, Any]:
    """The `text_completion` of a response."""
    extra = response.extra
    out = fields(extra, ("choices",))
    fill(out, id=response.id, model=response.model, created=response.created)
    kept = extra_of(extra, "choices")
    choices = choices_of(response, kept, _is_content)
    if "stop" in extra and not kept:
        _fill_own(out, choices)
        out.update(usage_of(response.usage) or {})
    else:
        fill(out, usage=usage_of(response.usage))
        if choices or "choices" in extra or error_of(response) is None:
            if "object" not in extra.get("$absent", ()):
                out.setdefault("object", "text_completion")
            out["choices"] = [_choice(choice, extra_of(kept, choice.index)) for choice in choices]
    add_error(out, response)
    add_unknown(out, [part for part in response.parts if not _is_content(part)])
    return out


def _is_content(part: Part) -> bool:
    return not isinstance(part, UnknownPart)


def _choice(choice: Choice, extra: dict[str, Any]) -> dict[str, Any]:
    out = fields(extra, ("logprobs",))
    if "index" not in extra.get("$absent", ()):
        out.setdefault("index", choice.index)
    if choice.text or out.get("text", "") is not None:
        out["text"] = choice.text
    out.setdefault("finish_reason", None)
    fill(out, finish_reason=choice.native_finish_reason)
    for part in choice.parts:
        if isinstance(part, ReasoningPart):
            name = part.extra.get("$field") or "reasoning"
            before = out.get(name)
            out[name] = (before if isinstance(before, str) else "") + part.text
    if choice.logprobs or "logprobs" in extra:
        out["logprobs"] = _logprobs(choice, extra.get("logprobs"))
    return out


def _logprobs(choice: Choice, form: Any) -> Any:
    """Parallel lists again, or the list of objects that llama.cpp sends."""
    if not choice.logprobs:
        return copied(form)
    out = fields(form) if isinstance(form, dict) else {}
    if "content" in out or not all(isinstance(row, dict) for row in choice.logprobs):
        return {**out, "content": copied(choice.logprobs)}
    columns: dict[str, list[Any]] = {}
    for row in choice.logprobs:
        for key, value in row.items():
            columns.setdefault(_LISTS.get(key, key), []).append(copied(value))
    return {**out, **columns}


def _fill_own(out: dict[str, Any], choices: list[Choice]) -> None:
    """llama.cpp's `/completion`: one choice, flat."""
    for choice in choices[:1]:
        fill(out, stop_type=choice.native_finish_reason)
        if choice.logprobs:
            out["completion_probabilities"] = copied(choice.logprobs)
    out["content"] = choices[0].text if choices else ""


def request(message: Message) -> dict[str, Any]:
    """A completion has no messages: its text goes on the next prompt."""
    return {"prompt": "".join([part.text for part in message.parts if isinstance(part, TextPart)])}
