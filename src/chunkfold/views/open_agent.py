"""
open-agent-sdk: blocks at each finish reason (0.8) or text per fragment (0.10), and one `Finish`, last.

What is handed out is never handed out again. Calls whose arguments are not whole when a reason comes wait for the end:
servers that give a reason on every frame would else have them cut.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import msgspec

from chunkfold import presets
from chunkfold.accumulator import Gatherer
from chunkfold.assembly._judgement import chosen_finish
from chunkfold.basis._wording import check_switch, given_or
from chunkfold.errors import PolicyError
from chunkfold.events import ErrorEvent, Event, MessageReset, PartReplace, PartStart, ReasoningDelta, TextDelta
from chunkfold.events import Finish as FinishEvent
from chunkfold.parts import ReasoningPart, TextPart, ToolCall
from chunkfold.policy import Policy
from chunkfold.response import Response, StreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Failure", "Finish", "Item", "OpenAgentStream", "Reasoning", "coalesce_text_blocks"]


class Reasoning(NamedTuple):
    """Thinking, handed out only where it was asked for."""

    text: str


class Failure(NamedTuple):
    """Something failed. The stream goes on to its `Finish`."""

    error: PolicyError | StreamError


class Finish(NamedTuple):
    """Why the stream ended: `stop`, `length`, `tool_calls`, `content_filter`, `unspecified`, or the server's word."""

    reason: str

    @property
    def is_truncated(self) -> bool:
        """True if the token limit cut the answer."""
        return self.reason == "length"


Item: TypeAlias = TextPart | ToolCall | Reasoning | Failure | Finish


class OpenAgentStream:
    """
    open-agent-sdk's accumulator.

    Args:
        capture_reasoning: Hand out thinking.
        per_fragment: Hand out text and thinking as they come (0.10), not at the finish (0.8). Calls wait in both.
        policy: How doubtful things are judged; its field `reasoning` is set by *capture_reasoning*.

    """

    def __init__(
        self, *, capture_reasoning: bool = False, per_fragment: bool = False, policy: Policy | None = presets.open_agent
    ) -> None:
        keep = "keep" if capture_reasoning else "drop"
        check_switch("capture_reasoning", capture_reasoning)
        check_switch("per_fragment", per_fragment)
        policy = given_or(presets.open_agent, policy, "policy", "a chunkfold.Policy")
        self._policy = msgspec.structs.replace(policy, reasoning=keep)
        self._core = Gatherer(self._policy)
        self._capture = capture_reasoning
        self._per_fragment = per_fragment
        # What was handed out: so much of each text and thinking, by its kind and place among those, and these calls.
        self._lengths: dict[tuple[str, int], int] = {}
        self._calls: set[_CallKey] = set()
        # The parts whose deltas of text are the words of an audio.
        self._spoken: set[int] = set()
        self._last: list[Item] | None = None

    def process(self, event: Event) -> list[Item]:
        """
        Take one event and return what it completes, never a `Finish`.

        Raises:
            ValueError: After `finalize`.
        """
        if self._per_fragment and isinstance(event, PartReplace):
            more = self._more(event)
            self._core.observe(event)
            return more
        self._core.observe(event)
        if isinstance(event, MessageReset):
            self._take_back()
        if isinstance(event, FinishEvent):
            return self._drain(self._core.as_if_ended(), _is_whole) if event.choice == 0 else []
        if isinstance(event, ErrorEvent):
            return [Failure(event.error)]
        if isinstance(event, PartStart) and event.choice == 0:
            (self._spoken.discard if event.kind == "text" else self._spoken.add)(event.index)
        if self._per_fragment and isinstance(event, (TextDelta, ReasoningDelta)):
            return self._fragment(event)
        return []

    def finalize(self) -> list[Item]:
        """What is left, then `Finish`. Asking again gives the same list."""
        if self._last is None:
            response = self._core.complete()
            self._last = self._drain(response, _is_usable)
            if self._core.objection is not None:
                self._last.append(Failure(self._core.objection))
            self._last.append(self._finish(response))
        return self._last

    def response(self) -> Response:
        """All that came, whatever was handed out of it."""
        return self._core.snapshot()

    def _fragment(self, event: TextDelta | ReasoningDelta) -> list[Item]:
        if event.choice != 0 or not event.text:
            return []
        if isinstance(event, TextDelta):
            return [TextPart(event.text)] if event.index not in self._spoken else []
        return [Reasoning(event.text)] if self._capture else []

    def _more(self, event: PartReplace) -> list[Item]:
        """What a text that is stated whole has behind the pieces that came."""
        new = event.part
        if event.choice != 0 or not isinstance(new, (TextPart, ReasoningPart)):
            return []
        try:
            old = self._core.sink(0, event.index)
        except LookupError:
            return []
        before = old.text()
        if old.kind != new.kind or old.hidden or len(new.text) <= len(before) or not new.text.startswith(before):
            return []
        more = new.text[len(before) :]
        return [TextPart(more) if isinstance(new, TextPart) else Reasoning(more)]

    def _drain(self, response: Response, is_ripe: Callable[[ToolCall], bool]) -> list[Item]:
        """Thinking, text and calls that were not handed out yet."""
        items: list[Item] = []
        if not self._per_fragment:
            thought, text = self._new(response, ReasoningPart), self._new(response, TextPart)
            if thought:
                items.append(Reasoning(thought))
            if text:
                items.append(TextPart(text))
        for key, call in _keyed(response.tool_calls):
            if is_ripe(call) and key not in self._calls:
                self._calls.add(key)
                items.append(call)
        return items

    def _new(self, response: Response, cls: type[TextPart | ReasoningPart]) -> str:
        """The text of that kind that was not handed out yet: also of parts before others that were."""
        new = ""
        before: TextPart | ReasoningPart | None = None
        for key, part in _texts(response, cls):
            length = self._lengths.get(key, 0)
            if part.text[length:]:
                # A blank line between parts of a summary, as `Response.reasoning` has it.
                if not length and _is_summary(part) and _is_summary(before):
                    new += "\n\n"
                new += part.text[length:]
                self._lengths[key] = len(part.text)
            before = part if part.text else before
        return new

    def _take_back(self) -> None:
        """The server has taken something back: what comes instead is handed out too."""
        response = self._core.as_if_ended()
        left = {key: len(part.text) for cls in (TextPart, ReasoningPart) for key, part in _texts(response, cls)}
        self._lengths = {key: min(length, left[key]) for key, length in self._lengths.items() if key in left}
        self._calls &= {key for key, _ in _keyed(response.tool_calls)}

    def _finish(self, response: Response) -> Finish:
        """The reason that stands, also where an error came after it."""
        reason, native = response.finish_reason, response.native_finish_reason
        if reason == "error" and (said := chosen_finish(list(self._core.finishes()), self._policy)) is not None:
            reason, native = said
        if reason in ("stop", "length", "tool_calls", "content_filter", "refusal"):
            return Finish(_AS_THEIRS.get(reason, reason))
        return Finish(native or "unspecified")


_AS_THEIRS = {"refusal": "content_filter"}


def _is_usable(call: ToolCall) -> bool:
    return call.is_usable


def _is_whole(call: ToolCall) -> bool:
    """True if nothing can follow the arguments, which free text and a number may go on with."""
    return call.status == "complete" and call.type != "custom" and not call.raw_arguments[-1:].isdigit()


# A call that was handed out: its id, its number, and the how-manieth with both it is, since servers without numbers may
# give the same id to two calls.
_CallKey: TypeAlias = tuple[str | None, int | None, int]


def _texts(
    response: Response, cls: type[TextPart | ReasoningPart]
) -> Iterator[tuple[tuple[str, int], TextPart | ReasoningPart]]:
    """The parts of that kind, by it and their place among themselves."""
    for place, part in enumerate([part for part in response.parts if isinstance(part, cls)]):
        yield (part.kind, place), part


def _is_summary(part: TextPart | ReasoningPart | None) -> bool:
    return isinstance(part, ReasoningPart) and part.summary


def _keyed(calls: Iterable[ToolCall]) -> Iterator[tuple[_CallKey, ToolCall]]:
    met: Counter[tuple[str | None, int | None]] = Counter()
    for call in calls:
        same = (call.id, call.index)
        yield (*same, met[same]), call
        met[same] += 1


def coalesce_text_blocks(items: Iterable[Item]) -> list[Item]:
    """The items with texts that stand side by side made one, as history wants them."""
    out: list[Item] = []
    for item in items:
        before = out[-1] if out else None
        if isinstance(item, TextPart) and isinstance(before, TextPart):
            out[-1] = TextPart(before.text + item.text)
        else:
            out.append(item)
    return out
