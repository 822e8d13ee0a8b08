"""
Rate limiting on our side of the wire: a token bucket, and a limiter of requests and tokens a minute for each key.

Who comes first is served first, and a large wish is not overtaken by small ones behind it. Nobody holds a lock while
waiting, so that threads and the tasks of any event loop may share one limiter.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol

from chunkfold.basis._wording import check_number, check_switch, check_text, described
from chunkfold.errors import LimiterTimeout
from chunkfold.resilience._clock import Clock, clock_or_real

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Limiter", "Permit", "RateLimiter", "SharedRateLimiter", "TokenBucket", "check_limiter"]

# A wait is looked at again after so many seconds: whoever stood in front may have left.
_SLICE = 1.0
# Times come as floats; a millionth of a token is no debt.
_EPSILON = 1e-6
# More requests a minute than there can be.
_ANY_NUMBER = 1e12


class Limiter(Protocol):
    """What a resilient stream asks before each attempt. `RateLimiter` is one, and so may be an object of yours."""

    def acquire(self, key: str = "", tokens: float = 0, *, max_wait: float | None = None) -> Permit:
        """Wait for room; LimiterTimeout if there is none within *max_wait* seconds."""

    async def aacquire(self, key: str = "", tokens: float = 0, *, max_wait: float | None = None) -> Permit:
        """As `acquire`, in a task."""

    def pause(self, key: str, seconds: float) -> None:
        """The server has asked to wait so long."""


class _Ticket:
    """A place in the queue."""

    __slots__ = ("amount", "served")

    def __init__(self, amount: float) -> None:
        self.amount = amount
        self.served = False


class TokenBucket:
    """
    A bucket that refills steadily: full at first, `per_minute / 60` a second, never above its capacity.

    Args:
        per_minute: How much comes back in a minute.
        capacity: How much can be taken at once; `None`: `per_minute`.
        clock: The time; for tests.

    Raises:
        ValueError: If a number is not above 0. A bucket that never gives anything is of no use.
        TypeError: If it is no number.
    """

    def __init__(self, per_minute: float, capacity: float | None = None, *, clock: Clock | None = None) -> None:
        capacity = per_minute if capacity is None else capacity
        for name, value in (("per_minute", per_minute), ("capacity", capacity)):
            check_number(name, value)
            if not 0 < value < math.inf:
                raise ValueError(f"{name} must be above 0: {value!r}")
        self.per_minute = per_minute
        self.capacity = capacity
        self._clock = clock_or_real(clock)
        self._lock = threading.Lock()
        self._level = float(capacity)
        self._filled = self._clock.now()
        self._paused_until = -math.inf
        self._queue: deque[_Ticket] = deque()

    @property
    def available(self) -> float:
        """What could be taken now, if nobody waits."""
        with self._lock:
            self._refill()
            return self._level

    def take(self, amount: float = 1) -> bool:
        """Take *amount* if it is there and nobody waits for it; do not wait."""
        self._check(amount)
        with self._lock:
            self._serve()
            if self._queue or self._level + _EPSILON < amount or self._clock.now() < self._paused_until:
                return False
            self._level -= amount
            return True

    def acquire(self, amount: float = 1, *, max_wait: float | None = None, key: str = "") -> float:
        """
        Take *amount*, waiting for it in order of arrival. Returns the seconds waited.

        Raises:
            LimiterTimeout: If it would take longer than *max_wait* seconds. It is told at once, without waiting.
            ValueError: If *amount* is more than ever fits.
        """
        begun = self._clock.now()
        waits = self._waits(amount, max_wait, key)
        try:
            for seconds in waits:
                self._clock.sleep(seconds)
        finally:
            waits.close()  # type: ignore[attr-defined]
        return self._clock.now() - begun

    async def aacquire(self, amount: float = 1, *, max_wait: float | None = None, key: str = "") -> float:
        """As `acquire`, in a task. Who is cancelled takes nothing."""
        begun = self._clock.now()
        waits = self._waits(amount, max_wait, key)
        try:
            for seconds in waits:
                await self._clock.asleep(seconds)
        finally:
            waits.close()  # type: ignore[attr-defined]
        return self._clock.now() - begun

    def give_back(self, amount: float) -> None:
        """
        Put back what was taken and not used. A negative *amount* is a debt that is paid first.

        Raises:
            ValueError: If *amount* is infinite or NaN.
            TypeError: If it is not of that type.
        """
        check_number("amount", amount)
        if not math.isfinite(amount):
            raise ValueError(f"amount must be finite: {amount!r}")
        with self._lock:
            self._refill()
            self._level = min(self.capacity, self._level + amount)

    def pause(self, seconds: float) -> None:
        """
        Give nothing for so long: the server has said so.

        Raises:
            TypeError: If *seconds* is no number.
        """
        check_number("seconds", seconds)
        with self._lock:
            self._paused_until = max(self._paused_until, self._clock.now() + seconds)

    def _waits(self, amount: float, max_wait: float | None, key: str) -> Iterator[float]:
        """Wait for one's turn: what is yielded is slept through. Who is closed before that gives its place up."""
        self._check(amount)
        check_number("max_wait", max_wait, or_none=True)
        ticket = _Ticket(amount)
        begun = self._clock.now()
        with self._lock:
            self._queue.append(ticket)
        done = False
        try:
            while (wait := self._due(ticket)) > 0:
                waited = self._clock.now() - begun
                if max_wait is not None and waited + wait > max_wait + _EPSILON:
                    raise LimiterTimeout(key, wait, max_wait)
                yield min(wait, _SLICE)
            done = True
        finally:
            if not done:
                self._leave(ticket)

    def _due(self, ticket: _Ticket) -> float:
        """Seconds until it is the turn of *ticket*: 0 when it is."""
        with self._lock:
            self._serve()
            if ticket.served:
                return 0.0
            wanted = 0.0
            for other in self._queue:
                wanted += other.amount
                if other is ticket:
                    break
            wait = (wanted - self._level) * 60.0 / self.per_minute
            # As short a wait as floats can tell apart would be no wait, and the loop would spin.
            return max(wait, self._paused_until - self._clock.now(), _EPSILON)

    def _serve(self) -> None:
        """Those who stand in front take what is there, also while they sleep."""
        self._refill()
        if self._clock.now() < self._paused_until:
            return
        while self._queue and self._queue[0].amount <= self._level + _EPSILON:
            ticket = self._queue.popleft()
            self._level -= ticket.amount
            ticket.served = True

    def _refill(self) -> None:
        now = self._clock.now()
        if not math.isfinite(now):
            raise ValueError(f"the clock says {now!r}: no limit can be kept by it")
        if now > self._filled:
            self._level = min(self.capacity, self._level + (now - self._filled) * self.per_minute / 60.0)
            self._filled = now

    def _leave(self, ticket: _Ticket) -> None:
        with self._lock:
            if ticket.served:
                self._level = min(self.capacity, self._level + ticket.amount)
            else:
                self._queue.remove(ticket)

    def _check(self, amount: float) -> None:
        check_number("amount", amount)
        if not 0 <= amount <= self.capacity:
            raise ValueError(f"{amount!r} can never be taken from a bucket that holds {self.capacity}")


class Permit:
    """Room that a limiter gave for one request."""

    def __init__(self, waited: float = 0.0, tokens: float = 0, bucket: TokenBucket | None = None) -> None:
        self.waited = waited
        """Seconds that were waited for it."""
        self.tokens = tokens
        """What was reckoned with."""
        self._bucket = bucket

    def settle(self, tokens: float) -> None:
        """
        Say how many *tokens* it really were: the difference goes back, or is paid before the next. Once.

        Raises:
            ValueError: If *tokens* is infinite or NaN.
            TypeError: If it is no number.
        """
        check_number("tokens", tokens)
        bucket, self._bucket = self._bucket, None
        if bucket is not None:
            bucket.give_back(self.tokens - tokens)


class RateLimiter:
    """
    Requests and tokens a minute, for each key (a server, an account, a model) on its own.

    Args:
        requests: Requests a minute. `None`: any number.
        tokens: Tokens a minute. `None`: any number.
        max_wait: The longest that anybody waits, in seconds. `None`: as long as it takes.
        or_go_ahead: Let a request go after `max_wait` seconds, instead of raising `LimiterTimeout` at once.
        clock: The time; for tests.

    Raises:
        ValueError: If a rate is not above 0, or `max_wait` is below.
        TypeError: If an argument is of another type.
    """

    def __init__(
        self,
        requests: float | None = None,
        tokens: float | None = None,
        *,
        max_wait: float | None = 30.0,
        or_go_ahead: bool = False,
        clock: Clock | None = None,
    ) -> None:
        for name, rate in (("requests", requests), ("tokens", tokens)):
            check_number(name, rate, or_none=True)
            if rate is not None and not 0 < rate < math.inf:
                raise ValueError(f"{name} must be above 0, or None for no limit: {rate!r}")
        check_number("max_wait", max_wait, or_none=True)
        if max_wait is not None and not max_wait >= 0:
            raise ValueError(f"max_wait must not be negative: {max_wait!r}")
        check_switch("or_go_ahead", or_go_ahead)
        self._rates = (requests, tokens)
        self._max_wait = max_wait
        self._or_go_ahead = or_go_ahead
        self._clock = clock_or_real(clock)
        self._lock = threading.Lock()
        self._buckets: dict[str, tuple[TokenBucket, TokenBucket | None]] = {}

    def acquire(self, key: str = "", tokens: float = 0, *, max_wait: float | None = None) -> Permit:
        """
        Wait for room for one request of about *tokens* tokens.

        Raises:
            LimiterTimeout: If there is none within *max_wait* seconds, or the limiter's own, whichever is shorter.
            ValueError: If *tokens* are more than a minute has.
            TypeError: If an argument is of another type.
        """
        begun, longest = self._clock.now(), self._longest(max_wait)
        steps = self._steps(key, tokens, longest)
        try:
            bucket, amount, limit = next(steps)
            while True:
                bucket, amount, limit = steps.send(bucket.acquire(amount, max_wait=limit, key=key))
        except StopIteration as stop:
            permit: Permit = stop.value
            return permit
        except LimiterTimeout:
            steps.close()
            if not self._or_go_ahead:
                raise
            self._clock.sleep(self._left(begun, longest))
            return Permit(self._clock.now() - begun)
        finally:
            steps.close()

    async def aacquire(self, key: str = "", tokens: float = 0, *, max_wait: float | None = None) -> Permit:
        """As `acquire`, in a task. Who is cancelled takes nothing."""
        begun, longest = self._clock.now(), self._longest(max_wait)
        steps = self._steps(key, tokens, longest)
        try:
            bucket, amount, limit = next(steps)
            while True:
                bucket, amount, limit = steps.send(await bucket.aacquire(amount, max_wait=limit, key=key))
        except StopIteration as stop:
            permit: Permit = stop.value
            return permit
        except LimiterTimeout:
            steps.close()
            if not self._or_go_ahead:
                raise
            await self._clock.asleep(self._left(begun, longest))
            return Permit(self._clock.now() - begun)
        finally:
            steps.close()

    def pause(self, key: str, seconds: float) -> None:
        """Let nothing through for *key* for so long: the server has said so."""
        for bucket in self._of(key):
            if bucket is not None:
                bucket.pause(seconds)

    def _longest(self, max_wait: float | None) -> float | None:
        """How long a wish may wait: as long as its own limit and the limiter's say."""
        check_number("max_wait", max_wait, or_none=True)
        limits = [limit for limit in (max_wait, self._max_wait) if limit is not None]
        return min(limits) if limits else None

    def _left(self, begun: float, longest: float | None) -> float:
        """What is left of the longest wait of a wish that has gone for so long."""
        return max(0.0, begun + (longest or 0.0) - self._clock.now())

    def _steps(self, key: str, tokens: float, limit: float | None) -> Any:
        """What has to be taken, one bucket after the other; what was taken goes back if the rest is not to be had."""
        check_number("tokens", tokens)
        requests_bucket, tokens_bucket = self._of(key)
        waited = 0.0
        taken = False
        try:
            waited = yield requests_bucket, 1, limit
            taken = True
            if tokens_bucket is not None and tokens:
                left = None if limit is None else max(0.0, limit - waited)
                waited += yield tokens_bucket, tokens, left
        except GeneratorExit:
            if taken:
                requests_bucket.give_back(1)
            raise
        return Permit(waited, tokens, tokens_bucket)

    def _of(self, key: str) -> tuple[TokenBucket, TokenBucket | None]:
        """The buckets of *key*. Every request passes the first, so that it can be paused."""
        check_text("key", key)  # a number would be the tokens, in the wrong place
        with self._lock:
            found = self._buckets.get(key)
            if found is None:
                requests, tokens = self._rates
                bucket = TokenBucket(requests if requests is not None else _ANY_NUMBER, clock=self._clock)
                of_tokens = TokenBucket(tokens, clock=self._clock) if tokens is not None else None
                found = self._buckets[key] = (bucket, of_tokens)
            return found


class SharedRateLimiter:
    """
    Limits that several processes or machines keep together, by the limiters of the package `pyrate-limiter`.

    Args:
        requests: A `pyrate_limiter.Limiter` that counts requests. Its bucket (SQLite, Redis, Postgres) is shared.
        tokens: Another one that counts tokens.
        max_wait: The longest that anybody waits, in seconds.

    Their asynchronous side needs asyncio.

    Raises:
        TypeError: If an argument is of another type.
    """

    def __init__(self, requests: Any = None, tokens: Any = None, *, max_wait: float = 30.0) -> None:
        for name, limiter in (("requests", requests), ("tokens", tokens)):
            if limiter is not None and (isinstance(limiter, type) or not hasattr(limiter, "try_acquire")):
                raise TypeError(f"{name} must be a pyrate_limiter.Limiter or None, not {described(limiter)}")
        check_number("max_wait", max_wait)
        self._limiters = (requests, tokens)
        self._max_wait = max_wait
        self._clock = Clock()

    def acquire(self, key: str = "", tokens: float = 0, *, max_wait: float | None = None) -> Permit:
        """As `RateLimiter.acquire`."""
        begun, limit = self._clock.now(), self._longest(key, tokens, max_wait)
        for limiter, amount in zip(self._limiters, (1, math.ceil(tokens)), strict=True):
            if limiter is not None and amount:
                left = max(0.0, limit - (self._clock.now() - begun))
                if not limiter.try_acquire(key or "chunkfold", amount, timeout=left):
                    raise LimiterTimeout(key, left, limit)
        return Permit(self._clock.now() - begun, tokens)

    async def aacquire(self, key: str = "", tokens: float = 0, *, max_wait: float | None = None) -> Permit:
        """As `RateLimiter.aacquire`."""
        begun, limit = self._clock.now(), self._longest(key, tokens, max_wait)
        for limiter, amount in zip(self._limiters, (1, math.ceil(tokens)), strict=True):
            if limiter is not None and amount:
                left = max(0.0, limit - (self._clock.now() - begun))
                if not await limiter.try_acquire_async(key or "chunkfold", amount, timeout=left):
                    raise LimiterTimeout(key, left, limit)
        return Permit(self._clock.now() - begun, tokens)

    def pause(self, key: str, seconds: float) -> None:
        """Nothing: what is shared cannot be held from here. The stream that was told to wait waits."""

    def _longest(self, key: str, tokens: float, max_wait: float | None) -> float:
        """How long a wish may wait."""
        check_text("key", key)
        check_number("tokens", tokens)
        check_number("max_wait", max_wait, or_none=True)
        return self._max_wait if max_wait is None else min(max_wait, self._max_wait)


def check_limiter(given: Any) -> None:
    """
    See that *given* can be asked for room, or is `None`.

    Raises:
        TypeError: If it cannot. A bucket knows no keys: it is what limiters are made of.
    """
    if given is None:
        return
    asks = callable(getattr(given, "acquire", None)) or callable(getattr(given, "aacquire", None))
    if isinstance(given, (type, TokenBucket)) or not asks:
        raise TypeError(f"limiter must be a resilience.Limiter, such as a RateLimiter, or None, not {described(given)}")
