"""
What chat completions say of single tokens: log-probabilities and numbers, of which each piece has those of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chunkfold.dialects._writer import Writer

__all__ = ["LISTS", "logprobs", "without_lists"]

LISTS = frozenset({"token_ids", "reasoning_logprobs"})
_LOGPROBS = frozenset({"content", "refusal"})


def logprobs(w: Writer, index: int, value: Any) -> None:
    """`{content: [...], refusal: [...]}`; Together sends one number, old servers an object of lists."""
    path = ("choices", index, "logprobs")
    if isinstance(value, dict) and ("content" in value or "refusal" in value):
        content = value.get("content")
        w.logprobs(index, content if isinstance(content, list) else [])
        refused = value.get("refusal")
        for item in refused if isinstance(refused, list) else ():
            w.extra((*path, "refusal", "-"), item)
        w.blanks(value, (), *path)
        w.extras(value, _LOGPROBS, *path)
    elif isinstance(value, list):
        w.logprobs(index, value)
        w.extra(path, [])
    elif not isinstance(value, dict) or any(value.values()):
        w.logprobs(index, [value])
        w.extra(path, "")
    else:
        w.extra(path, value)


def without_lists(w: Writer, index: int, choice: dict[str, Any]) -> dict[str, Any]:
    """
    The choice without the numbers of its tokens (vLLM, Fireworks) and without the log-probabilities of Cerebras'
    reasoning, which are kept behind those of the pieces before it.
    """
    path, rest, reasoned = ("choices", index), {**choice}, choice.get("reasoning_logprobs")
    if isinstance(choice.get("token_ids"), list):
        for token in rest.pop("token_ids"):
            w.extra((*path, "token_ids", "-"), token)
    if isinstance(reasoned, dict) and isinstance(reasoned.get("content"), list):
        del rest["reasoning_logprobs"]
        for entry in reasoned["content"]:
            w.extra((*path, "reasoning_logprobs", "content", "-"), entry)
        w.blanks(reasoned, (), *path, "reasoning_logprobs")
        w.extras(reasoned, frozenset({"content"}), *path, "reasoning_logprobs")
    return rest
