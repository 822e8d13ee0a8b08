"""
Token counts: how the numbers of several usage objects become one, and how providers' names become ours.

The latest real number of each field stands. Nothing is added up: running totals are the rule, and a server that
repeats a number must not be billed twice.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from chunkfold.dialects._words import is_blank
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Counts", "anthropic_usage", "chat_usage", "count", "merge", "total", "two_counts"]


def merge(old: dict[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """*old* with every real value of *new* over it, objects field by field. A `null` erases nothing, a 0 is real."""
    merged = {**old, **new}
    values = new.values()
    if (all(values) or ("" not in values and [] not in values)) and _REPLACED.issuperset(map(type, values)):
        return merged
    for key, value in new.items():
        if key not in old:
            continue
        if is_blank(value):
            merged[key] = old[key]
        elif isinstance(value, dict) and isinstance(old[key], dict):
            merged[key] = merge(old[key], value)
    return merged


# Values that stand as they are, over whatever was there.
_REPLACED = frozenset({int, float, str, bool, list})


def count(raw: Mapping[str, Any], *paths: str) -> int | None:
    """
    The first real number at one of *paths* (`"a"` or `"a.b"`) in *raw*; `None` if there is none.

    A 0 gives way to another number: gateways that have several names for one count fill those that they do not know
    with 0 (LiteLLM, SGLang).
    """
    found = None
    for path in paths:
        outer, _, inner = path.partition(".")
        value = raw.get(outer)
        if inner:
            value = value.get(inner) if isinstance(value, dict) else None
        # Most names are not there, and some servers tell the usage in every chunk.
        number = None if value is None else _number(value)
        if number:
            return number
        found = number if found is None else found
    return found


def _number(value: Any) -> int | None:
    """A count; `None` for what is none. A negative one says that the server does not count."""
    if type(value) is int or (isinstance(value, (int, float)) and type(value) is not bool and abs(value) < inf):
        return int(value) if value >= 0 else None
    if isinstance(value, str) and value.isdecimal() and value.isascii() and len(value) < _DIGITS:
        return int(value)  # as protocol buffers write numbers of 64 bits
    return None


# No server counts further than 64 bits go.
_DIGITS = 20


class Counts:
    """
    Reads several counts, each of which stands under one of several names, which are no paths: for each what `count`
    finds. Running totals have the same keys each time.
    """

    __slots__ = ("_met", "_names")

    def __init__(self, *names: tuple[str, ...]) -> None:
        self._names = names
        # For keys that came, what gets the counts that are there, and what puts them in their places; `None` where one
        # has several names.
        self._met: dict[tuple[str, ...], tuple[_Get, _Get] | None] = {}

    def __call__(self, raw: Mapping[str, Any]) -> Sequence[int | None]:
        keys = tuple(raw)
        try:
            met = self._met[keys]
        except KeyError:
            met = self._look(keys)
        if met is not None:
            get, put = met
            found = get(raw)
            if _WHOLE.issuperset(map(type, found)) and min(found) >= 0:
                return put((*found, None))
        return [count(raw, *same) for same in self._names]

    def _look(self, keys: tuple[str, ...]) -> tuple[_Get, _Get] | None:
        there = [[name for name in same if name in keys] for same in self._names]
        known = [names[0] for names in there if names]
        # One alone would come without a tuple around it.
        is_simple = len(known) > 1 and all(len(names) < 2 for names in there)
        places = [known.index(names[0]) if names else -1 for names in there]
        if len(self._met) >= _KEPT:
            self._met.clear()
        self._met[keys] = met = (itemgetter(*known), itemgetter(*places)) if is_simple else None
        return met


_Get = Callable[[Any], tuple[Any, ...]]
_WHOLE = frozenset({int})
_KEPT = 64


def total(given: int | None, *parts: int | None) -> int | None:
    """The provider's total, else the sum of what is known."""
    if given is not None:
        return given
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _adds_up(whole: int | None, *parts: int | None) -> bool:
    """True if *whole* is the sum of *parts*, all of which are known."""
    return whole is not None and None not in parts and whole == total(None, *parts)


def two_counts(prompt: str, output: str, raw: dict[str, Any]) -> Usage:
    """The usage of servers that tell no more than the counts of those two names."""
    read, written = count(raw, prompt), count(raw, output)
    return Usage(input_tokens=read, output_tokens=written, total_tokens=total(None, read, written), raw=raw)


def chat_usage(raw: dict[str, Any]) -> Usage:
    """
    The usage object of OpenAI's chat endpoint and its imitators.

    `prompt_tokens` has cached tokens in it, `completion_tokens` reasoning. Two leave reasoning out of
    `completion_tokens`, and it is added: xAI, whose total shows it, and Perplexity's deep research, which is known by
    its citations. (More reasoning than output alone shows nothing: OpenRouter counts it in tokens of another kind.)
    Portkey leaves cached tokens out of `prompt_tokens`, as Anthropic does, which the total shows too. So does GigaChat,
    whose total has only what is paid for.
    """
    prompt = count(raw, "prompt_tokens", "input_tokens")
    output = count(raw, "completion_tokens", "output_tokens")
    reasoning = count(
        raw,
        "completion_tokens_details.reasoning_tokens",
        "output_tokens_details.reasoning_tokens",
        "reasoning_tokens",
    )
    given = count(raw, "total_tokens")
    if output is not None and reasoning:
        is_beside = "citation_tokens" in raw or _adds_up(given, prompt, output, reasoning)
        output += reasoning if is_beside else 0
    cached = count(
        raw,
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "cache_read_input_tokens",
        "input_tokens_details.cache_read_input_tokens",
        "num_cached_tokens",
        "prompt_token_details.cached_tokens",
        "precached_prompt_tokens",
    )
    written = count(
        raw,
        "prompt_tokens_details.cache_write_tokens",
        "input_tokens_details.cache_write_tokens",
        "prompt_tokens_details.cache_creation_input_tokens",
        "prompt_tokens_details.cache_creation_tokens",
        "cache_creation_input_tokens",
        "input_tokens_details.cache_creation_input_tokens",
        "prompt_cache_write_tokens",
        "prompt_tokens_details.cached_creation_tokens",
        "input_tokens_details.cached_creation_tokens",
    )
    beside = total(None, cached, written)
    if prompt is not None and beside and ("precached_prompt_tokens" in raw or _adds_up(given, prompt, output, beside)):
        prompt += beside
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(given, prompt, output),
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        reasoning_tokens=reasoning,
        raw=raw,
    )


def anthropic_usage(raw: dict[str, Any]) -> Usage:
    """Anthropic's usage: `input_tokens` leaves cached tokens out, so what was read and written is added."""
    cached = count(raw, "cache_read_input_tokens")
    written = count(raw, "cache_creation_input_tokens")
    prompt = total(None, count(raw, "input_tokens"), cached, written)
    output = count(raw, "output_tokens")
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(None, prompt, output),
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        reasoning_tokens=count(raw, "output_tokens_details.thinking_tokens"),
        raw=raw,
    )
