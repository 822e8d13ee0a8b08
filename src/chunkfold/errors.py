"""
Every error that chunkfold raises on its own account.

    ChunkfoldError
    ├── LimitExceeded       a cap of `Limits` was passed
    ├── IncompleteResponse  `Response.raise_if_incomplete()` found the message unfinished
    ├── PolicyError         a `Policy` field calls what was found an error
    ├── OutputInvalid       the answer is not of the `output_type`
    ├── InvalidToolCall     the arguments of an unusable call were asked for
    ├── RestoreError        bytes given to `Folder.restore` are not a saved folder
    ├── UnknownDialect      no dialect has that name; also a ValueError
    ├── MissingExtra        an optional package is not installed; also an ImportError
    ├── CannotContinue      `Response.as_prefill()`: nothing goes on from this answer; also a ValueError
    ├── StreamTimeout       a stream took longer than asked for; also a TimeoutError
    │   ├── FirstOutputTimeout   until its first output
    │   ├── IdleTimeout          between two outputs
    │   └── TotalTimeout         with all its attempts
    ├── TimeoutUnsupported  a source has no read timeout that could be set; also a TypeError
    ├── LimiterTimeout      a rate limiter would have waited too long; also a TimeoutError
    ├── RateLimitEscalation the server went on to refuse for rate limits
    └── FallbackFailed      the fallbacks failed too; it has all causes

What a provider sends never raises: it is told in the response. These are for wrong use,
for limits, and for what the caller asked to have raised. Those from `CannotContinue` on are
raised by `chunkfold.resilience` and `as_prefill` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis._wording import counted, described

if TYPE_CHECKING:
    from collections.abc import Sequence

    from chunkfold.events import Event
    from chunkfold.parts import ToolCall
    from chunkfold.response import Response, StreamError

__all__ = [
    "CannotContinue",
    "ChunkfoldError",
    "FallbackFailed",
    "FirstOutputTimeout",
    "IdleTimeout",
    "IncompleteResponse",
    "InvalidToolCall",
    "LimitExceeded",
    "LimiterTimeout",
    "MissingExtra",
    "OutputInvalid",
    "PolicyError",
    "RateLimitEscalation",
    "RestoreError",
    "StreamTimeout",
    "TimeoutUnsupported",
    "TotalTimeout",
    "UnknownDialect",
]


class ChunkfoldError(Exception):
    """Base of all errors of this package."""


class LimitExceeded(ChunkfoldError):
    """
    A cap of `Limits` was passed.

    Attributes:
        limit: The field of `Limits`, such as `"frame_bytes"`.
        value: What was met: a size or a count. A lower bound where counting stopped early.
        allowed: The cap.
        response: The response as far as it came; `None` when raised by a layer that makes none.
        events: The events completed by the same call before the cap was met.
    """

    def __init__(
        self,
        limit: str,
        value: int,
        allowed: int,
        response: Response | None = None,
        events: Sequence[Event] = (),
    ) -> None:
        super().__init__(limit, value, allowed, response, events)
        self.limit = limit
        self.value = value
        self.allowed = allowed
        self.response = response
        self.events = events

    def __str__(self) -> str:
        return f"{self.limit}: {self.value} is more than the {self.allowed} allowed"


class IncompleteResponse(ChunkfoldError):
    """The response is truncated, ended in an error, or holds an unusable client call."""

    def __init__(self, response: Response) -> None:
        super().__init__(response)
        self.response = response

    def __str__(self) -> str:
        response = self.response
        if response.error is not None:
            return f"the stream ended in an error{_told(response.error)}"
        if response.truncated:
            return "the stream was cut before the server said that it was done"
        failed = next((choice for choice in response.choices if choice.finish_reason == "error"), None)
        if failed is not None:
            return f"the server gave {failed.native_finish_reason or 'error'!r} as the finish reason, and no error"
        calls = [call for choice in response.choices for call in choice.tool_calls]
        bad = ", ".join(f"{_called(call)} ({call.status})" for call in calls if not call.is_usable)
        return f"unusable tool calls: {bad}"


def _called(call: ToolCall, *, quoted: bool = False) -> str:
    name = call.name or call.id
    if not name:
        return "a call without a name"
    return repr(name) if quoted else name


def _told(error: StreamError) -> str:
    """What is known of an error, the most telling first."""
    status = f"HTTP status {error.status}" if error.status is not None else None
    said = [str(word) for word in (error.type or error.code, error.message or status) if word is not None]
    return f": {': '.join(said)}" if said else " of which nothing is said"


class PolicyError(ChunkfoldError):
    """What the policy calls an error was found. `response` holds everything, `calls` every call concerned."""

    def __init__(self, response: Response, calls: Sequence[ToolCall] = (), reason: str = "unusable tool calls") -> None:
        super().__init__(response, calls, reason)
        self.response = response
        self.calls = tuple(calls)
        self.reason = reason

    def __str__(self) -> str:
        names = ", ".join(_called(call) for call in self.calls)
        return f"{self.reason}: {names}" if names else self.reason


class InvalidToolCall(ChunkfoldError):
    """`ToolCall.arguments` was read on a call that is open, invalid or truncated."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__(call)
        self.call = call

    def __str__(self) -> str:
        call = self.call
        size = counted(len(call.raw_arguments), "character")
        return (
            f"the arguments of {_called(call, quoted=True)} are {call.status} ({size} in raw_arguments{_fault(call)})"
        )


def _fault(call: ToolCall) -> str:
    """Where the arguments are no JSON object: places, never text of them."""
    if call.status == "open":
        return ""
    from chunkfold.basis import _json

    try:
        value = _json.parse_arguments(call.raw_arguments)
    except ValueError as error:
        return f"; {error}"
    return "" if isinstance(value, dict) else f"; {described(value)} where an object was expected"


class OutputInvalid(ChunkfoldError):
    """
    The answer is not of the type that `output_type` named.

    Attributes:
        path: Keys and positions from the root of the answer to what is wrong; `()` if it is not JSON.
        response: The whole response; its `text` is the answer.
        reason: What is wrong there.
    """

    def __init__(self, path: Sequence[str | int], response: Response, reason: str = "not of the type") -> None:
        super().__init__(path, response, reason)
        self.path = tuple(path)
        self.response = response
        self.reason = reason

    def __str__(self) -> str:
        place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in self.path)
        return f"{self.reason} (at {place.removeprefix('.')})" if place else self.reason


class RestoreError(ChunkfoldError):
    """The bytes are not a folder saved by this version of chunkfold."""


class UnknownDialect(ChunkfoldError, ValueError):
    """No dialect has that name."""

    def __init__(self, name: Any, known: Sequence[str] = ()) -> None:
        super().__init__(name, known)
        self.name = name
        self.known = tuple(known)

    def __str__(self) -> str:
        known = ", ".join(self.known)
        if self.name == "auto":
            return f"'auto' finds out what comes in; name the dialect here, one of: {known}"
        word = str(self.name).strip().lower().replace("_", "-")
        near = [name for name in self.known if word and (word in name or name in word)]
        hint = f" (did you mean {' or '.join(near)}?)" if near else ""
        return f"unknown dialect {self.name!r}{hint}; known are: auto, {known}"


class MissingExtra(ChunkfoldError, ImportError):
    """An optional package is not installed. The message names the extra that brings it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(package, extra)
        self.package = package
        self.extra = extra

    def __str__(self) -> str:
        return f"{self.package} is not installed: pip install 'chunkfold[{self.extra}]'"


class CannotContinue(ChunkfoldError, ValueError):
    """Nothing goes on from this answer, by this dialect, vendor or model. The message says why, and what helps."""

    def __init__(self, dialect: str | None, model: str | None, reason: str) -> None:
        super().__init__(dialect, model, reason)
        self.dialect = dialect
        self.model = model
        self.reason = reason

    def __str__(self) -> str:
        return (
            f"cannot continue {self.dialect or 'an unknown dialect'} with {self.model or 'this model'}: {self.reason}"
        )


class StreamTimeout(ChunkfoldError, TimeoutError):
    """
    A stream took longer than the caller allows. The source is closed.

    Attributes:
        seconds: What was allowed.
        response: All that had come, usage too; `None` if raised where no response is made.
    """

    what = "the stream did not go on"

    def __init__(self, seconds: float, response: Response | None = None) -> None:
        super().__init__(seconds, response)
        self.seconds = seconds
        self.response = response

    def __str__(self) -> str:
        return f"{self.what} within {self.seconds:g} s"


class FirstOutputTimeout(StreamTimeout):
    """No output came in time: connecting counts, pings, comments and empty deltas do not."""

    what = "no output came"


class IdleTimeout(StreamTimeout):
    """Output had come, and then no more in time: pings, comments and empty deltas do not count."""

    what = "no further output came"


class TotalTimeout(StreamTimeout):
    """The stream, with all its attempts and the waits between them, took too long."""

    what = "the stream was not complete"


class TimeoutUnsupported(ChunkfoldError, TypeError):
    """A source was to be given timeouts and has no read timeout that could be set."""

    def __init__(self, source: str, remedy: str) -> None:
        super().__init__(source, remedy)
        self.source = source
        self.remedy = remedy

    def __str__(self) -> str:
        return f"no timeout can be kept while reading {self.source}: {self.remedy}"


class LimiterTimeout(ChunkfoldError, TimeoutError):
    """A rate limiter has no room within the time that the caller would wait. Nothing was taken from it."""

    def __init__(self, key: str, wait: float, max_wait: float) -> None:
        super().__init__(key, wait, max_wait)
        self.key = key
        self.wait = wait
        self.max_wait = max_wait

    def __str__(self) -> str:
        name = f" for {self.key!r}" if self.key else ""
        return f"the rate limit{name} has room in {self.wait:.3g} s, later than the {self.max_wait:g} s allowed"


class RateLimitEscalation(ChunkfoldError):
    """
    The server refused for rate limits once more than is waited for: time to ask another model.

    Attributes:
        hits: How often it refused.
        retry_after: The seconds that it asked for last; `None` if it did not say.
        response: All that had come.
    """

    def __init__(self, hits: int, retry_after: float | None, response: Response | None = None) -> None:
        super().__init__(hits, retry_after, response)
        self.hits = hits
        self.retry_after = retry_after
        self.response = response

    def __str__(self) -> str:
        return f"refused {counted(self.hits, 'time')} for rate limits"


class FallbackFailed(ChunkfoldError):
    """
    The stream failed and so did every fallback.

    Attributes:
        causes: What each of them failed with, the stream's own first. `exception` of each has what was raised.
        response: All that had come and was handed out, else the response of the last fallback.
    """

    def __init__(self, causes: Sequence[StreamError], response: Response | None = None) -> None:
        super().__init__(causes, response)
        self.causes = tuple(causes)
        self.response = response

    def __str__(self) -> str:
        told = "; then ".join(str(cause.message or cause.type) for cause in self.causes)
        return f"the stream and its fallback failed: {told}"
