"""
What an interaction of Gemini's costs, and those that go on with one another.

Within one the latest number of each field stands, as everywhere. Another one is billed by itself: what it reads again
costs again, so that both are added up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._usage import chat_usage, count, merge, summed, total
from chunkfold.dialects._words import is_blank
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Costs", "interactions_usage"]

# What Google's own usage of an interaction has.
_TOTALS = ("total_input_tokens", "total_output_tokens", "total_thought_tokens", "total_tool_use_tokens")
_COUNTS = frozenset({int, float})
# The prompt that the first one began with is the same for all.
_OF_ALL = ("initial_input_tokens",)


class Costs:
    """What was said of the cost, as usage objects of Google's."""

    def __init__(self) -> None:
        self._own: dict[str, Any] = {}
        self._before: dict[str, Any] = {}

    def clear(self) -> None:
        """What came is void."""
        self._own, self._before = {}, {}

    def add(self, usage: Mapping[str, Any]) -> dict[str, Any]:
        """Take the numbers of a usage object of the interaction at hand; what all have cost so far."""
        self._own = merge(self._own, usage)
        return self._all()

    def go_on(self) -> None:
        """Another interaction goes on with what came."""
        self._before, self._own = self._all(), {}

    def _all(self) -> dict[str, Any]:
        prompt = {key: self._before[key] for key in _OF_ALL if key in self._before}
        return {**_together(self._before, self._own), **prompt}


def interactions_usage(raw: dict[str, Any]) -> Usage:
    """The usage of an interaction: thoughts stand beside the output, what tools read beside the input."""
    if raw.keys().isdisjoint(_TOTALS):
        return chat_usage(raw)  # LiteLLM's events have the words of the API that it asked
    read = summed(count(raw, "total_input_tokens"), count(raw, "total_tool_use_tokens"))
    thoughts = count(raw, "total_thought_tokens")
    written = summed(count(raw, "total_output_tokens"), thoughts)
    return Usage(
        input_tokens=read,
        output_tokens=written,
        total_tokens=total(count(raw, "total_tokens"), read, written),
        cached_input_tokens=count(raw, "total_cached_tokens"),
        reasoning_tokens=thoughts,
        raw=raw,
    )


def _together(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """What two requests cost: counts are added, in lists those of each kind; of all else what *other* says stands."""
    return {**one, **{key: _added(one[key], value) if key in one else value for key, value in other.items()}}


def _added(one: Any, other: Any) -> Any:
    if type(one) in _COUNTS and type(other) in _COUNTS:
        # A negative one says that the server does not count.
        return one + other if min(one, other) >= 0 else max(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return _together(one, other)
    if isinstance(one, list) and isinstance(other, list):
        kinds: dict[str, Any] = {}
        for entry in [*one, *other]:
            kind = _json.identity(_without_counts(entry))
            kinds[kind] = _added(kinds[kind], entry) if kind in kinds else entry
        return list(kinds.values())
    return one if is_blank(other) else other


def _without_counts(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    return {key: value for key, value in entry.items() if type(value) not in _COUNTS}
