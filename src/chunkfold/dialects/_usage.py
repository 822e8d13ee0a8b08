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

__all__ = ["Counts", "anthropic_usage", "chat_usage", "count", "merge", "summed", "total", "two_counts"]


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
    return _first(raw, [path.partition(".")[::2] for path in paths])


def _first(raw: Mapping[str, Any], places: Sequence[tuple[str, str]]) -> int | None:
    found = None
    for outer, inner in places:
        value = raw.get(outer)
        if inner:
            value = value.get(inner) if isinstance(value, dict) else None
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
    Reads several counts, each of which stands at one of several paths: for each what `count` finds. Usage has the same
    keys each time, and few of all that a server might have.
    """

    __slots__ = ("_met", "_paths")

    def __init__(self, *paths: tuple[str, ...]) -> None:
        self._paths = [[path.partition(".")[::2] for path in same] for same in paths]
        self._met: dict[tuple[str, ...], _Met] = {}

    def __call__(self, raw: Mapping[str, Any]) -> Sequence[int | None]:
        keys = tuple(raw)
        try:
            places, simple = self._met[keys]
        except KeyError:
            places, simple = self._look(keys)
        if simple is not None:
            get, put = simple
            found = get(raw)
            if _WHOLE.issuperset(map(type, found)) and min(found) >= 0:
                return put((*found, None))
        return [_first(raw, same) if same else None for same in places]

    def _look(self, keys: tuple[str, ...]) -> _Met:
        there = [[place for place in same if place[0] in keys] for same in self._paths]
        known = [same[0][0] for same in there if same]
        simple = None
        # One alone would come without a tuple around it.
        if len(known) > 1 and all(len(same) < 2 and not any(inner for _, inner in same) for same in there):
            simple = itemgetter(*known), itemgetter(*[known.index(same[0][0]) if same else -1 for same in there])
        if len(self._met) >= _KEPT:
            self._met.clear()
        self._met[keys] = met = there, simple
        return met


_Get = Callable[[Any], tuple[Any, ...]]
# For keys that came: where each count may stand; and, where each has one name at the top, what gets those that are
# there, and what puts them in their places.
_Met = tuple[list[list[tuple[str, str]]], tuple[_Get, _Get] | None]
_WHOLE = frozenset({int})
_KEPT = 64


def total(given: int | None, read: int | None, written: int | None) -> int | None:
    """The provider's total, else the sum of both counts, if both are known: one that was not told is not 0."""
    if given is not None or read is None or written is None:
        return given
    return read + written


def summed(*parts: int | None) -> int | None:
    """The sum of the parts of one count, of which providers leave out those that are 0; `None` if none is known."""
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _adds_up(whole: int | None, *parts: int | None) -> bool:
    """True if *whole* is the sum of *parts*, all of which are known."""
    return whole is not None and None not in parts and whole == summed(*parts)


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
    prompt, output, reasoning, given, cached, written = _chat(raw)
    if output is not None and reasoning:
        is_beside = "citation_tokens" in raw or _adds_up(given, prompt, output, reasoning)
        output += reasoning if is_beside else 0
    beside = summed(cached, written)
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


_chat = Counts(
    ("prompt_tokens", "input_tokens"),
    ("completion_tokens", "output_tokens"),
    ("completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens"),
    ("total_tokens",),
    (
        "prompt_tokens_details.cached_tokens",
        "input_tokens_details.cached_tokens",
        "prompt_cache_hit_tokens",
        "cached_tokens",
        "cache_read_input_tokens",
        "input_tokens_details.cache_read_input_tokens",
        "num_cached_tokens",
        "prompt_token_details.cached_tokens",
        "precached_prompt_tokens",
    ),
    (
        "prompt_tokens_details.cache_write_tokens",
        "input_tokens_details.cache_write_tokens",
        "prompt_tokens_details.cache_creation_input_tokens",
        "prompt_tokens_details.cache_creation_tokens",
        "cache_creation_input_tokens",
        "input_tokens_details.cache_creation_input_tokens",
        "prompt_cache_write_tokens",
        "prompt_tokens_details.cached_creation_tokens",
        "input_tokens_details.cached_creation_tokens",
    ),
)


def anthropic_usage(raw: dict[str, Any]) -> Usage:
    """Anthropic's usage: `input_tokens` leaves cached tokens out, so what was read and written is added."""
    plain, output, cached, written, thoughts = _anthropic(raw)
    prompt = summed(plain, cached, written)
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(None, prompt, output),
        cached_input_tokens=cached,
        cache_write_input_tokens=written,
        reasoning_tokens=thoughts,
        raw=raw,
    )


_anthropic = Counts(
    ("input_tokens",),
    ("output_tokens",),
    ("cache_read_input_tokens",),
    ("cache_creation_input_tokens",),
    ("output_tokens_details.thinking_tokens",),
)
