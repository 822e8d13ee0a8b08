"""
Streams that stall, drop and get throttled: timeouts, repetition, fallback and rate limits around the doors.

    from chunkfold import resilience

    with resilience.stream(connect, timeouts=resilience.Timeouts(first=30, idle=20)) as events:
        for event in events:
            ...
    response = events.response()

No HTTP client is in here: *connect* is yours, and opens a fresh source for each attempt. Of the doors nothing is
different: what a provider sends is told in the response.
"""

from chunkfold.errors import (
    FallbackFailed,
    FirstOutputTimeout,
    IdleTimeout,
    LimiterTimeout,
    RateLimitEscalation,
    StreamTimeout,
    TimeoutUnsupported,
    TotalTimeout,
)
from chunkfold.resilience._clock import Clock
from chunkfold.resilience._limiters import Limiter, Permit, RateLimiter, SharedRateLimiter, TokenBucket
from chunkfold.resilience._rate_limits import RateLimit, rate_limit_of
from chunkfold.resilience._sequence import ResumePoint, SequenceGap, SequenceWatch
from chunkfold.resilience._settings import Attempt, Fallback, RateLimitRetry, Retry, Timeouts
from chunkfold.resilience._streams import AsyncResilientStream, ResilientStream, astream, stream

__all__ = [
    "AsyncResilientStream",
    "Attempt",
    "Clock",
    "Fallback",
    "FallbackFailed",
    "FirstOutputTimeout",
    "IdleTimeout",
    "Limiter",
    "LimiterTimeout",
    "Permit",
    "RateLimit",
    "RateLimitEscalation",
    "RateLimitRetry",
    "RateLimiter",
    "ResilientStream",
    "ResumePoint",
    "Retry",
    "SequenceGap",
    "SequenceWatch",
    "SharedRateLimiter",
    "StreamTimeout",
    "TimeoutUnsupported",
    "Timeouts",
    "TokenBucket",
    "TotalTimeout",
    "astream",
    "rate_limit_of",
    "stream",
]
