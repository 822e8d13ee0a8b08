"""The headers of an answer, whoever has them and whatever kind of mapping they are in."""

from __future__ import annotations

from typing import Any

from chunkfold.doors._http_errors import retry_after_seconds

__all__ = ["header", "headers_of", "retry_after"]


def headers_of(source: Any) -> Any:
    """The headers of a response, or of the response that an exception carries; `None` if there are none."""
    for owner in (source, getattr(source, "response", None), getattr(source, "raw_response", None)):
        headers = getattr(owner, "headers", None)
        if headers is not None and callable(getattr(headers, "get", None)):
            return headers
        if isinstance(owner, dict):  # botocore
            return (owner.get("ResponseMetadata") or {}).get("HTTPHeaders")
    return None


def header(headers: Any, name: str) -> str | None:
    """One header by its name, whatever kind of mapping a client keeps them in."""
    get = getattr(headers, "get", None)
    if not callable(get):
        return None
    value = get(name)
    if value is None and type(headers) is dict:
        value = next((value for key, value in headers.items() if str(key).lower() == name), None)
    return None if value is None else str(value)


def retry_after(headers: Any, now: float | None) -> float | None:
    """The seconds of a `Retry-After`, which is a number or a date."""
    return retry_after_seconds(header(headers, "retry-after"), now)
