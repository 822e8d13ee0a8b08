"""Errors that an HTTP response tells by its status, its body and its headers, where there is no stream to read."""

from __future__ import annotations

from typing import Any

from chunkfold.basis import _json
from chunkfold.dialects._error_words import is_retryable
from chunkfold.dialects._errors import error_in, read_error, seconds
from chunkfold.response import StreamError

__all__ = ["retry_after_seconds", "said_in", "status_error"]


def said_in(body: bytes) -> Any:
    """What the body of an error says: JSON, or the beginning of a text."""
    try:
        return _json.decode(body)[0]
    except ValueError:
        return body.decode(errors="replace")[:200]


def status_error(status: int, body: Any, retry_after: float | None = None) -> StreamError:
    """The error that an HTTP response with *status* (300 and over) and *body* tells."""
    body = None if isinstance(body, str) and not body.strip() else body
    inner = body
    if isinstance(body, list) and body:
        inner = body[0]
    found = error_in(inner) if isinstance(inner, dict) else None
    if found is None:
        found = read_error(inner if isinstance(inner, (dict, str)) else None, raw=body)
    return StreamError(
        type=found.type,
        message=found.message,
        code=found.code,
        status=status,
        retryable=is_retryable((found.type, found.code), status, found.message),
        retry_after=retry_after if retry_after is not None else found.retry_after,
        raw=body,
    )


def retry_after_seconds(header: str | None, now: float | None = None) -> float | None:
    """The seconds that a `Retry-After` header asks to wait: a number, or a date. `None` if it says neither."""
    if header is None:
        return None
    try:
        return seconds(max(float(header), 0.0))  # in this order NaN stays what it is, which is no time
    except ValueError:
        pass
    import time
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(header).timestamp() - (time.time() if now is None else now))
    except (TypeError, ValueError, OverflowError):
        return None
