"""
Nous' `ToolCallAccumulator`: bare fragments of tool calls in, plain dicts out. The shape of a fragment is found out.

    accumulator.feed([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}])     # OpenAI
    accumulator.feed({"_phase": "partial", "_index": 0, "partial_json": "{"})                    # Anthropic
    accumulator.feed({"name": "f", "arguments": {}})                                             # Gemini, whole calls
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec

from chunkfold import presets
from chunkfold.accumulator import Gatherer
from chunkfold.assembly._judgement import made_up_id
from chunkfold.basis._wording import given_or
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._writer import Writer
from chunkfold.limits import DEFAULT_LIMITS, Limits
from chunkfold.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import ToolCall

__all__ = ["ToolCallAccumulator"]

# Calls of different shapes never mix: each shape is a choice of its own.
_OPENAI, _ANTHROPIC, _GEMINI = 0, 1, 2


class ToolCallAccumulator:
    """Nous' accumulator. Pieces belong together as in the dialects (see `Writer.call`)."""

    def __init__(self, policy: Policy | None = presets.nous, limits: Limits | None = None) -> None:
        policy = given_or(presets.nous, policy, "policy", "a chunkfold.Policy")
        limits = given_or(DEFAULT_LIMITS, limits, "limits", "chunkfold.Limits")
        self._writer = Writer(limits)
        self._writer.careful = True
        self._seed = policy.id_seed
        self._whole = 0
        self._core = Gatherer(msgspec.structs.replace(policy, choices="all"), limits)

    def feed(self, fragment: Any) -> Self:
        """
        Take one fragment: a list of partial calls (OpenAI), a dict with a `_phase` (Anthropic), or a whole call
        (Gemini). What is none of these is ignored.

        Raises:
            LimitExceeded: If there are more calls than allowed.
        """
        if isinstance(fragment, list):
            self._partial_calls(fragment)
        elif isinstance(fragment, dict):
            if "_phase" in fragment or "_index" in fragment:
                self._block(fragment)
            elif _is_text(fragment.get("name")) and ("arguments" in fragment or "input" in fragment):
                self._whole_call(fragment)
        events, self._writer.out = self._writer.out, []
        for event in events:
            self._core.observe(event)
        return self

    def finalize(self) -> list[dict[str, Any]]:
        """
        The calls so far: those of OpenAI's shape by index, Anthropic's by index, Gemini's as they came.

        Each has `id`, `name` and `arguments`. Arguments that are not one object are `{}`, and the text is under
        `_invalid_arguments`: send the model an error, do not run the tool. It may be asked again.
        """
        response = self._core.as_if_ended()
        return [_plain(call) for choice in response.choices for call in choice.tool_calls]

    def _partial_calls(self, calls: Iterable[Any]) -> None:
        for call in calls:
            if not isinstance(call, dict):
                continue
            function = call.get("function")
            function = function if isinstance(function, dict) else {}
            said = call.get("id"), function.get("name"), json_text(function.get("arguments"))
            if any(said):
                id_, name, arguments = said
                self._writer.call(_OPENAI, number=call.get("index"), id=id_, name=name, arguments=arguments)

    def _block(self, fragment: Mapping[str, Any]) -> None:
        """A block has its arguments by its index alone, also before its start. Its end says nothing."""
        said = [fragment.get(key) for key in ("id", "name", "partial_json", "input")]
        if not any(said):
            return
        id_, name, arguments, given = said
        index = fragment.get("_index") or 0
        if not self._writer.has_call(_ANTHROPIC, index):
            self._writer.start(_ANTHROPIC, "tool_call", id=id_, name=name, tool_type="function", number=index)
        slot = self._writer.call(_ANTHROPIC, number=index, id=id_, name=name, arguments=arguments)
        if given:
            self._writer.update(slot, extra={"start_arguments": json_text(given)})

    def _whole_call(self, fragment: Mapping[str, Any]) -> None:
        """A call that came at once. Gemini's mostly have no id: one is made up, the same for the same fragments."""
        name, arguments = fragment["name"], json_text(fragment.get("arguments", fragment.get("input")))
        id_ = fragment.get("id") or made_up_id("gemini", self._seed, self._whole, name, arguments)
        self._whole += 1
        slot = self._writer.start(_GEMINI, "tool_call", id=id_, name=name, extra=_metadata(fragment))
        self._writer.delta(slot, arguments)
        self._writer.stop(slot)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)


def _metadata(fragment: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata": fragment["metadata"]} if fragment.get("metadata") else {}


def _plain(call: ToolCall) -> dict[str, Any]:
    out: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": call.arguments_or({})}
    if not call.is_usable:
        out["_invalid_arguments"] = call.raw_arguments
    if "metadata" in call.extra:
        out["metadata"] = call.extra["metadata"]
    return out
