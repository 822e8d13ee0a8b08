"""
Tells whether an error is a rate limit, of which kind, and how long the server wants us to wait.

Told from the status, the headers and the words of the error. Of these only errors are read, never text of an answer.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from chunkfold._value import Value
from chunkfold.basis._wording import check_number, described
from chunkfold.dialects._error_words import LIMIT_TEXT, OVERLOADED_TEXT, is_used_up
from chunkfold.resilience._failures import failure_of
from chunkfold.resilience._headers import header, headers_of, retry_after
from chunkfold.response import StreamError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["RateLimit", "RateLimitKind", "rate_limit_of", "wait_asked_for"]

RateLimitKind: TypeAlias = Literal["requests", "tokens", "concurrency", "quota", "overloaded", "unknown"]


class RateLimit(Value, frozen=True):
    """Why a server refused, where there was too much of something."""

    kind: RateLimitKind = "unknown"
    """
    What there was too much of: `requests`, `tokens`, requests at the same time (`concurrency`), or of everything that
    was paid for (`quota`: waiting does not help). `overloaded`: the server has too much to do. `unknown`: it did not
    say.
    """
    retry_after: float | None = None
    """Seconds to wait, as the server asked; `None` if it did not."""


_OVERLOADED_STATUS = frozenset({503, 529})
_OVERLOADED_WORDS = frozenset(
    {
        "overloaded_error", "overloaded", "UNAVAILABLE", "service_unavailable", "ServiceUnavailableException",
        "serviceUnavailableException", "ModelNotReadyException", "provider_overloaded", "engine_overloaded_error",
        "ServerOverloaded", "server_is_overloaded",
        "service_tier_capacity_exceeded", "backend_out_of_capacity",  # Mistral
        "queue_exceeded",  # Cerebras
    }
)  # fmt: skip
_LIMIT_WORDS = frozenset(
    {
        "rate_limit_error", "rate_limit_exceeded", "rate_limit_reached_requests", "RESOURCE_EXHAUSTED",
        "ThrottlingException", "throttlingException", "too_many_requests", "tokens", "requests",
    }
)  # fmt: skip

# What error texts say about the kind, in this order.
_KIND_TEXTS: tuple[tuple[RateLimitKind, re.Pattern[str]], ...] = (
    (
        "tokens",
        re.compile(
            r"\bTP[MD]\b|tokens?[ _-](?:per|usage|rate|limit)|too many tokens|request tokens|(?:in|out)put.?token",
            re.IGNORECASE,
        ),
    ),
    ("concurrency", re.compile(r"concurren|connections? limit|too many connections|in.?flight", re.IGNORECASE)),
    (
        "requests",
        re.compile(
            r"\bRP[MDS]\b|(?:requests?|calls|queries)[ _](?:per|/)|(?:requests?|call) (?:rate )?limit|max requests?"
            r"|too many requests|_requests\b",
            re.IGNORECASE,
        ),
    ),
)
_LIMIT_TEXT, _OVERLOADED_TEXT = re.compile(LIMIT_TEXT), re.compile(OVERLOADED_TEXT)
_WAIT_TEXT = re.compile(
    r"(?:(?:try|retry)[^.]{0,20}? (?:in|after)|(?:resets?|available) (?:in|after)|\bwait(?: for)?) ~?"
    r"(?:(?P<h>\d+) ?h(?:(?:ou)?rs?)?(?![a-z]),? ?(?:and )?)?"
    r"(?:(?P<m>\d+) ?m(?:in(?:ute)?s?)?(?![a-z]),? ?(?:and )?)?(?:(?P<s>\d+(?:\.\d+)?) ?s(?:ec(?:ond)?s?)?(?![a-z]))?"
    r"(?:(?P<ms>\d+(?:\.\d+)?) ?ms)?",
    re.IGNORECASE,
)
_DURATION = re.compile(r"(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+(?:\.\d+)?)ms)?")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}

# Larger numbers are no seconds to wait but a time since 1970.
_A_DATE, _A_DATE_IN_MS = 1e7, 1e11

# Headers that count down, the kind that each is about, and where the reset of it stands.
_COUNTERS: tuple[tuple[str, RateLimitKind, str], ...] = (
    ("x-ratelimit-remaining-requests", "requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "tokens", "x-ratelimit-reset-tokens"),
    ("anthropic-ratelimit-requests-remaining", "requests", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "tokens", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "tokens", "anthropic-ratelimit-output-tokens-reset"),
    ("anthropic-ratelimit-tokens-remaining", "tokens", "anthropic-ratelimit-tokens-reset"),
    # Cerebras and Mistral, who tells no reset.
    ("x-ratelimit-remaining-tokens-minute", "tokens", "x-ratelimit-reset-tokens-minute"),
    ("x-ratelimit-remaining-requests-day", "requests", "x-ratelimit-reset-requests-day"),
    ("x-ratelimit-remaining-req-minute", "requests", "x-ratelimit-reset-req-minute"),
    ("x-ratelimit-remaining", "requests", "x-ratelimit-reset"),
    ("ratelimit-remaining", "requests", "ratelimit-reset"),
)


def rate_limit_of(
    error: StreamError | BaseException | None, headers: Any = None, *, now: float | None = None
) -> RateLimit | None:
    """
    The rate limit that *error* tells of; `None` if it tells of none.

    Args:
        error: The error of a response, or what a client raised.
        headers: The headers of the answer, if they are at hand: any mapping of names to values.
        now: Seconds since 1970, for headers that name a date.

    Raises:
        TypeError: If *error* is neither, or *now* no number.
    """
    check_number("now", now, or_none=True)
    if isinstance(error, BaseException):
        headers = headers if headers is not None else headers_of(error)
        error = failure_of(error)
    if error is None:
        return None
    if not isinstance(error, StreamError):
        raise TypeError(f"error must be a chunkfold.StreamError, an exception or None, not {described(error)}")
    kind = _kind(error, headers)
    return None if kind is None else RateLimit(kind, wait_asked_for(error, headers, now=now))


def _kind(error: StreamError, headers: Any) -> RateLimitKind | None:
    words = {word for word in (error.type, error.code) if isinstance(word, str)}
    message = error.message or ""
    if is_used_up(words, message):
        return "quota"
    # A status is a fact; words stand where there is none, and a text where there is neither.
    if error.status in _OVERLOADED_STATUS or (error.status in (None, 429) and words & _OVERLOADED_WORDS):
        return "overloaded"
    is_limit = error.status == 429 or (error.status is None and bool(words & _LIMIT_WORDS))
    if not is_limit and error.status is None and error.origin == "provider":
        if _OVERLOADED_TEXT.search(message):
            return "overloaded"
        is_limit = _LIMIT_TEXT.search(message) is not None
    if not is_limit:
        return None
    for kind, _ in _spent(headers, error):
        return kind
    named: tuple[RateLimitKind, ...] = ("tokens", "requests")
    told = (kind for kind, pattern in _KIND_TEXTS if pattern.search(message))
    return next((kind for kind in named if kind in words), None) or next(told, "unknown")


def _spent(headers: Any, error: StreamError | None) -> Iterator[tuple[RateLimitKind, str | None]]:
    """The counters that have come down to 0: what of, and when they are reset."""
    for told in (headers, _headers_in(error)):
        for name, kind, reset in _COUNTERS:
            if header(told, name) == "0":
                yield kind, header(told, reset)


def _headers_in(error: StreamError | None) -> Any:
    """Those that OpenRouter writes into the body of an error."""
    inner: Any = error.raw if error is not None else None
    for name in ("error", "metadata", "headers"):
        inner = inner.get(name) if isinstance(inner, dict) else None
    return inner


def wait_asked_for(error: StreamError | None, headers: Any = None, *, now: float | None = None) -> float | None:
    """
    The seconds that a server wants us to wait: by `retry-after-ms`, `Retry-After` (seconds or a date), the body
    (`google.rpc.RetryInfo` and its like), the sentence of the error, or the reset of the counter that is spent.
    """
    milliseconds = header(headers, "retry-after-ms")
    if milliseconds is not None:
        seconds = _number(milliseconds)
        if seconds is not None:
            return seconds / 1000
    said = retry_after(headers, now)
    if said is None and error is not None:
        said = _sane(error.retry_after)
    if said is not None:
        return said
    for found in _WAIT_TEXT.finditer(error.message or "") if error is not None else ():
        said = _seconds(found)
        if said:  # what is none is rounded
            return said
    # OpenAI's say when the whole limit is back, Azure's may be 0 in a refusal: so they come last, and 0 says nothing.
    return next((wait for _, reset in _spent(headers, error) if (wait := _until(reset, now))), None)


def _until(value: str | None, now: float | None) -> float | None:
    """
    Seconds until a reset: a duration (`6m0s`), a number of seconds, or a date (RFC 3339, or seconds since 1970; of
    OpenRouter milliseconds).
    """
    if value is None:
        return None
    import time

    clock = time.time() if now is None else now
    number = _number(value)
    if number is not None and number > _A_DATE:
        return max(0.0, (number / 1000 if number > _A_DATE_IN_MS else number) - clock)
    if number is not None:
        return number
    duration = _DURATION.fullmatch(value.strip())
    if duration is not None:
        return _seconds(duration)
    try:
        return max(0.0, datetime.fromisoformat(value).timestamp() - clock)
    except ValueError:
        return None


def _seconds(found: re.Match[str]) -> float | None:
    parts = [float(number) * _UNITS[unit] for unit, number in found.groupdict().items() if number is not None]
    return sum(parts) if parts else None


def _number(text: str) -> float | None:
    try:
        return _sane(float(text))
    except ValueError:
        return None


def _sane(seconds: float | None) -> float | None:
    """Servers have been seen to send NaN, infinities and negative numbers."""
    return None if seconds is None or math.isnan(seconds) or seconds < 0 else seconds
