"""How often a resilient stream tries again, and how long it waits before it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.errors import RateLimitEscalation
from chunkfold.resilience._settings import RateLimitRetry, Retry

if TYPE_CHECKING:
    from chunkfold.resilience._clock import Clock
    from chunkfold.resilience._rate_limits import RateLimit
    from chunkfold.response import StreamError

__all__ = ["Persistence"]


class Persistence:
    """The attempts that are left. Failures and refusals for a rate limit are counted apart."""

    def __init__(self, clock: Clock, retry: Retry | None, rate_limits: RateLimitRetry | None) -> None:
        self._clock = clock
        self._retry = retry if retry is not None else Retry(times=0)
        self._rate_limits = rate_limits if rate_limits is not None else RateLimitRetry(times=0, escalate_after=None)
        self._failures = 0
        self._hits = 0
        self.escalation: RateLimitEscalation | None = None
        """That there is to be none because of so many refusals."""
        self.invalid_calls = self._retry.invalid_calls
        """True if a call that cannot be used is a failure."""
        self.after_output = self._retry.after_output
        """True if what was handed out may be taken back."""

    @property
    def may_repeat(self) -> bool:
        """True if there may be more attempts than one."""
        return bool(self._retry.times or self._rate_limits.times)

    def is_worth(self, failure: StreamError) -> bool:
        """True if another attempt may go better."""
        judged = self._retry.is_worth(failure) if self._retry.is_worth is not None else None
        return failure.retryable if judged is None else judged

    def wait_after(self, failure: StreamError, limit: RateLimit | None) -> float | None:
        """Seconds to wait before the next attempt; `None` if there is to be none."""
        return self._after_failure(failure) if limit is None else self._after_refusal(limit)

    def asked(self, limit: RateLimit) -> float:
        """Seconds that the server wants everybody to wait."""
        return min(limit.retry_after or 0.0, self._rate_limits.cap) if self._rate_limits.obey else 0.0

    def _after_failure(self, failure: StreamError) -> float | None:
        self._failures += 1
        if self._failures > self._retry.times:
            return None
        wait = self._retry.wait(self._failures, self._clock.chance())
        asked = failure.retry_after
        if asked is not None and self._rate_limits.obey:
            wait = max(wait, min(asked, self._rate_limits.cap))
        return wait

    def _after_refusal(self, limit: RateLimit) -> float | None:
        self._hits += 1
        bound = self._rate_limits.escalate_after
        if bound is not None and self._hits > bound:
            self.escalation = RateLimitEscalation(self._hits, limit.retry_after)
            return None
        if self._hits > self._rate_limits.times:
            return None
        return self._rate_limits.wait(self._hits, limit.retry_after, self._clock.chance())
