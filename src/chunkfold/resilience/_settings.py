"""What a caller chooses: how long to wait, what to try again and how often, and what to fall back to."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, TypeAlias

import msgspec

from chunkfold._value import Value
from chunkfold.basis._wording import check_number, check_switch, check_text, described, observer
from chunkfold.resilience._rate_limits import RateLimit
from chunkfold.response import Response, StreamError

__all__ = ["Attempt", "AttemptKind", "Fallback", "RateLimitRetry", "Retry", "Timeouts", "fallbacks", "opener"]

AttemptKind: TypeAlias = Literal["stream", "fallback", "resume"]


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """
    How long a stream may take, in seconds. `None`: as long as it likes.

    Only waiting for the server counts for `first` and `idle`, not what the caller does between two events. Output is
    what a person or program gets something from: pings, comments and empty deltas do not count.

    Raises:
        ValueError: If a number is not above 0, or `total` is smaller than `first`.
        TypeError: If it is no number.
    """

    first: float | None = None
    """Until the first output of an attempt, connecting included."""
    idle: float | None = None
    """Between two outputs."""
    total: float | None = None
    """For everything: all attempts and the waits between them. A fallback gets the same time anew."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            seconds = getattr(self, name)
            check_number(name, seconds, or_none=True)
            if seconds is not None and not (0 < seconds < math.inf):
                raise ValueError(f"{name} must be a number of seconds above 0, or None: {seconds!r}")
        if self.total is not None and self.first is not None and self.total < self.first:
            raise ValueError(f"total ({self.total}) is smaller than first ({self.first})")

    @property
    def any(self) -> bool:
        """True if anything is timed."""
        return self.first is not None or self.idle is not None or self.total is not None


class Retry(msgspec.Struct, frozen=True, kw_only=True):
    """
    When a stream that failed is asked for again, and after how long.

    The wait before the n-th repetition is `base * 2 ** (n - 1)` seconds, `cap` at most, give or take `jitter` of it.

    Raises:
        ValueError: If a number makes no sense.
        TypeError: If a field is of another type.
    """

    times: int = 3
    """Repetitions, so that there are `times + 1` attempts at most. Rate limits have a count of their own."""
    base: float = 0.5
    """Seconds before the first repetition."""
    cap: float = 10.0
    """Seconds that no wait is longer than, but for `jitter`."""
    jitter: float = 0.2
    """The part of a wait, from 0 to 1, that it is shorter or longer by chance."""
    after_output: bool = False
    """
    Try again even after something was handed out. `MessageReset(0, "attempt")` then comes before the new answer, and
    the caller has to drop what it has shown.
    """
    invalid_calls: bool = False
    """Take a client call whose arguments are no JSON object for a failure. Mostly of use with `after_output`."""
    is_worth: Callable[[StreamError], bool | None] | None = None
    """Asked first whether an error is worth another attempt; `None` from it means: decide as usual."""

    def __post_init__(self) -> None:
        _check_whole("times", self.times)
        for name in ("base", "cap", "jitter"):
            check_number(name, getattr(self, name))
        check_switch("after_output", self.after_output)
        check_switch("invalid_calls", self.invalid_calls)
        observer("is_worth", self.is_worth)
        _check(self.times >= 0, "times must not be negative")
        _check(0 < self.base < math.inf, "base must be above 0")
        _check(self.base <= self.cap < math.inf, "cap must not be smaller than base")
        _check(0 <= self.jitter <= 1, "jitter must be from 0 to 1")

    def wait(self, failures: int, chance: float) -> float:
        """Seconds to wait after so many failures. *chance* is from 0 to 1."""
        wait = self.cap if failures > 60 else min(self.base * 2.0 ** (failures - 1), self.cap)
        return wait * (1 + self.jitter * (2 * chance - 1))


class RateLimitRetry(msgspec.Struct, frozen=True, kw_only=True):
    """
    What is done when the server refuses for a rate limit or because it is overloaded.

    Raises:
        ValueError: If a number makes no sense.
        TypeError: If a field is of another type.
    """

    times: int = 5
    """How many refusals are waited for."""
    escalate_after: int | None = 3
    """The refusal after so many goes to the fallback, or raises `RateLimitEscalation`. `None`: never."""
    default: float = 5.0
    """Seconds to wait where the server names none. They double with each refusal."""
    cap: float = 60.0
    """Never wait longer, whatever the server asks for."""
    obey: bool = True
    """Wait as long as the server asks."""
    jitter: float = 0.2
    """The wait is made up to this part longer, so that not all come back at once. Never shorter than was asked."""

    def __post_init__(self) -> None:
        _check_whole("times", self.times)
        _check_whole("escalate_after", self.escalate_after, or_none=True)
        for name in ("default", "cap", "jitter"):
            check_number(name, getattr(self, name))
        check_switch("obey", self.obey)
        _check(self.times >= 0, "times must not be negative")
        _check(self.default > 0, "default must be above 0")
        _check(self.default <= self.cap < math.inf, "cap must not be smaller than default")
        _check(0 <= self.jitter <= 1, "jitter must be from 0 to 1")
        if self.escalate_after is not None:
            told = f"escalate_after ({self.escalate_after}) must be from 0 to times ({self.times}), or None for never"
            _check(0 <= self.escalate_after <= self.times, told)

    def wait(self, hits: int, asked: float | None, chance: float) -> float:
        """Seconds to wait after so many refusals, where the server *asked* for so many."""
        if asked is None or not self.obey:
            asked = self.cap if hits > 60 else self.default * 2.0 ** (hits - 1)
        return min(asked * (1 + self.jitter * chance), self.cap)


class Fallback(msgspec.Struct, frozen=True, kw_only=True):
    """
    What is asked, once, when the stream has failed for good: a request without streaming, or another model.

    Raises:
        TypeError: If `connect` cannot be called, or another field is no text.
    """

    connect: Callable[[], Any]
    """As for the stream. A complete, not streamed body is a stream of one."""
    name: str | None = None
    """What it is called in attempts and diagnostics."""
    dialect: str = "auto"
    """As in `chunkfold.stream`; that of the first stream does not hold for it."""
    limiter_key: str | None = None
    """Its key at the limiter; `None`: that of the stream."""

    def __post_init__(self) -> None:
        opener("connect", self.connect)
        check_text("dialect", self.dialect)
        check_text("name", self.name, or_none=True)
        check_text("limiter_key", self.limiter_key, or_none=True)


class Attempt(Value, frozen=True):
    """One attempt of a resilient stream: a request and what became of it."""

    _nested: ClassVar[dict[str, Any]] = {
        "response": Response.from_dict,
        "error": StreamError.from_dict,
        "rate_limit": RateLimit.from_dict,
    }

    number: int
    """From 1."""
    kind: AttemptKind = "stream"
    """`stream`, `resume` (the response was taken up again) or `fallback`."""
    name: str | None = None
    """The name of the fallback."""
    begun: float = 0.0
    """Seconds after the stream was first read from."""
    seconds: float | None = None
    """How long it took; `None` while it runs."""
    first_output: float | None = None
    """Seconds until its first output; `None` if there was none."""
    was_shown: bool = False
    """True if output of it was handed out while it ran."""
    response: Response | None = None
    """All that had come, with its usage; `None` while it runs."""
    error: StreamError | None = None
    """What it failed with; `None` if it did not."""
    rate_limit: RateLimit | None = None
    """The rate limit that it failed for, if it was one."""
    wait: float | None = None
    """Seconds that are waited before the next attempt; `None` if there is none."""


def fallbacks(given: Any) -> tuple[Fallback, ...]:
    """
    The fallbacks that a caller means: a callable, a `Fallback`, or several.

    Raises:
        TypeError: If it is none of these.
    """
    if given is None:
        return ()
    if isinstance(given, Fallback):
        return (given,)
    if callable(given):
        return (Fallback(connect=given),)
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, bytearray)):
        return tuple(one for item in given for one in fallbacks(item))
    raise TypeError(f"a fallback is a callable or a Fallback, not {described(given)}")


def opener(name: str, given: Any) -> None:
    """
    See that *given* can be called to open a source.

    Raises:
        TypeError: If it cannot.
    """
    if not callable(given):
        raise TypeError(f"{name} must be a function that opens a fresh source, not {described(given)}")


def _check(holds: bool, complaint: str) -> None:
    if not holds:
        raise ValueError(complaint)


def _check_whole(name: str, given: Any, *, or_none: bool = False) -> None:
    if type(given) is not int and not (or_none and given is None):
        raise TypeError(f"{name} must be a whole number{' or None' if or_none else ''}, not {described(given)}")
