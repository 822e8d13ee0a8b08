"""behest: `observe` every event, `finalize` into message, calls, reason and usage, or into one of two errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chunkfold import presets
from chunkfold.accumulator import Gatherer
from chunkfold.basis._wording import given_or
from chunkfold.errors import PolicyError
from chunkfold.events import Event
from chunkfold.parts import Part, TextPart, ToolCall
from chunkfold.policy import Policy
from chunkfold.response import FinishReason, Message, Response, Usage

__all__ = ["Accumulated", "BehestAccumulator", "InvalidToolCallJson", "Truncated"]


class Accumulated(NamedTuple):
    """What behest makes of a stream."""

    message: Message
    """The text, then the calls."""
    tool_calls: tuple[ToolCall, ...]
    """The calls whose arguments could be read."""
    finish_reason: FinishReason | None
    usage: Usage | None


class _AccumulatorError(PolicyError):
    """`accumulated` has what is good of the stream, `response` all of it."""

    def __init__(self, response: Response, calls: Sequence[ToolCall] = (), reason: str = "") -> None:
        super().__init__(response, calls, reason)
        self.accumulated = _accumulated(response)


class Truncated(_AccumulatorError):
    """The stream ended without a reason."""


class InvalidToolCallJson(_AccumulatorError):
    """The arguments of calls could not be read. `calls` has every one of them."""

    @property
    def call_id(self) -> str | None:
        """The id of the first such call."""
        return self.calls[0].id


class BehestAccumulator:
    """
    behest's accumulator.

    With `policy=presets.behest_shipped` it behaves as the released crate does, which knows no errors.
    """

    def __init__(self, policy: Policy | None = presets.behest) -> None:
        self._policy = given_or(presets.behest, policy, "policy", "a chunkfold.Policy")
        self._core = Gatherer(self._policy)

    def observe(self, event: Event) -> None:
        """
        Take one event.

        Raises:
            ValueError: After `finalize`.
        """
        self._core.observe(event)

    def finalize(self) -> Accumulated:
        """
        What the stream came to.

        Raises:
            Truncated: If the stream ended without a reason.
            InvalidToolCallJson: If the arguments of a call could not be read.
        """
        response = self._core.complete()
        objection = self._core.objection
        if objection is None:
            return _accumulated(response)
        error = InvalidToolCallJson if objection.reason == "unusable tool calls" else Truncated
        raise error(response, objection.calls, objection.reason)

    def text(self) -> str:
        """The text so far."""
        return self._core.snapshot().text

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls so far, as if the stream ended now. It may be asked again."""
        return self._core.as_if_ended().tool_calls

    def to_message(self) -> Message:
        """The message so far, as if the stream ended now. It may be asked again."""
        return _accumulated(self._core.as_if_ended()).message

    def clear(self) -> None:
        """Begin anew with nothing."""
        self._core = Gatherer(self._policy)


def _accumulated(response: Response) -> Accumulated:
    calls = tuple(call for call in response.tool_calls if call.is_usable)
    text: tuple[Part, ...] = (TextPart(response.text),) if response.text else ()
    message = Message(parts=text + calls, dialect=response.dialect)
    return Accumulated(message, calls, response.finish_reason, response.usage)
