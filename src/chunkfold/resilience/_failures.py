"""
What a client or transport raised, read into one shape and judged for another attempt.

Clients and SDKs are known by the shape and the names of their errors; none is imported.
"""

from __future__ import annotations

import contextlib
from typing import Any

import msgspec

from chunkfold.basis._connections import sentence_of, status_of
from chunkfold.doors._http_errors import said_in, status_error
from chunkfold.folding._folder import transport_error
from chunkfold.resilience._headers import header, headers_of, retry_after
from chunkfold.response import Response, StreamError

__all__ = ["TRUNCATED", "failure_of", "http_failure", "response_failure"]

TRUNCATED = StreamError(
    type="truncated",
    message="the stream ended before the server said that it was done",
    retryable=True,
    origin="transport",
)
_PASSING_STATUS = frozenset({408, 425, 429})


def failure_of(exception: BaseException, *, now: float | None = None) -> StreamError:
    """
    What *exception* says: as the provider's error if it carries an HTTP status, else as one of the transport. An SDK
    that raises amid a stream has no status, or 200, and the error that the server told.
    """
    exception = _single(exception)
    status = status_of(exception)
    if status is None:
        return transport_error(exception)
    found = http_failure(status, _body_of(exception), headers_of(exception), now=now)
    changes: dict[str, Any] = {"exception": exception}
    if not found.message:
        changes["message"] = sentence_of(exception)
    return msgspec.structs.replace(found, **changes)


def http_failure(status: int, body: Any, headers: Any, *, now: float | None = None) -> StreamError:
    """
    The error of an HTTP answer.

    Of the statuses below 500 only 408, 425 and 429 are worth another attempt, whatever the body says, and a server that
    says `x-should-retry: false` is believed.
    """
    error = status_error(status, body, retry_after(headers, now))
    if (status < 500 and status not in _PASSING_STATUS) or header(headers, "x-should-retry") == "false":
        return msgspec.structs.replace(error, retryable=False)
    return error


def response_failure(response: Response, *, invalid_calls: bool = False) -> StreamError | None:
    """What keeps *response* from being a whole answer; `None` if nothing does."""
    if response.error is not None:
        return response.error
    if response.truncated:
        return TRUNCATED
    if invalid_calls and any(not call.is_usable for choice in response.choices for call in choice.tool_calls):
        if response.finish_reason == "length":
            return None
        return StreamError(type="invalid_call", message="unusable arguments", retryable=True, origin="decoder")
    return None


def _single(exception: BaseException) -> BaseException:
    """What a group of one is about: task groups wrap what their tasks raise."""
    while isinstance(exception, BaseExceptionGroup) and len(exception.exceptions) == 1:
        exception = exception.exceptions[0]
    return exception


def _body_of(exception: BaseException) -> Any:
    """The body of the answer as far as the client has read it."""
    body = getattr(exception, "body", None) or getattr(exception, "details", None)
    response = getattr(exception, "response", None)
    if isinstance(response, dict):
        error = response.get("Error") or {}
        return {"type": error.get("Code"), "message": error.get("Message")}
    if body is None:
        with contextlib.suppress(Exception):  # a body that was not read is no loss: the status says enough
            body = response.content if response is not None else None
    if isinstance(body, str):
        body = body.encode()
    if isinstance(body, bytes):
        return said_in(body)
    # Some SDKs keep the inner object alone.
    if isinstance(body, dict) and "error" not in body and ("message" in body or "type" in body):
        return {"error": body} if body.get("type") != "error" else body
    return body if isinstance(body, (dict, list)) else None
