"""
What lies beneath the stream of an SDK, or of a loop: the response of an HTTP client, as long as nothing was read of it.

Its bytes say everything, also what the SDK drops or raises on. SDKs are known by their shape; none is imported.
"""

from __future__ import annotations

from typing import Any

__all__ = ["unread_response", "unread_stream"]


def unread_response(stream: Any) -> Any:
    """
    The response (httpx's or urllib3's) that *stream* will read, if it has not begun to; else `None`. *stream* is an
    SDK's, or the response of httpx or requests.
    """
    raw: Any = getattr(stream, "_raw_stream", None)
    beneath = [getattr(stream, name, None) for name in ("response", "http_response")]
    for response in (stream, *beneath, getattr(raw, "response", None)):
        if getattr(response, "is_stream_consumed", True) is False and not getattr(response, "num_bytes_downloaded", 0):
            has_both = callable(getattr(response, "iter_bytes", None)) and hasattr(response, "aiter_bytes")
            return response if has_both else None
    if hasattr(stream, "iter_content"):  # requests
        raw = getattr(stream, "raw", None)
    if callable(getattr(raw, "stream", None)) and callable(getattr(raw, "tell", None)):  # urllib3: botocore, requests
        return raw if raw.tell() == 0 else None
    return None


def unread_stream(stream: Any) -> Any:
    """
    As `unread_response`, but only if *stream* is the SDK's own, which reads from the response and does nothing else.

    A stream that somebody has wrapped, to trace or to count, has to be iterated over.
    """
    held = getattr(stream, "__dict__", None)
    # A proxy that looks like the stream has another type than class.
    if type(held) is not dict or getattr(stream, "__class__", None) is not type(stream):
        return None
    if getattr(stream, "_observer", None) or getattr(held.get("_raw_stream"), "_observer", None):
        return None  # anthropic's own tracing
    readers = [held[name] for name in _READERS if name in held]
    is_fresh = all(map(_is_own_reader, readers)) if readers else hasattr(type(stream), "__stream__")
    return unread_response(stream) if is_fresh else None


# Where the SDKs built by Stainless, by Speakeasy, and botocore keep the generator that they read through, and its name.
# Some make it only when it is needed.
_READERS = ("_iterator", "generator", "_event_generator")
_NAMES = frozenset({"__stream__", "stream_events", "stream_events_async", "_create_raw_event_generator"})


def _is_own_reader(generator: Any) -> bool:
    code = getattr(generator, "gi_code", None) or getattr(generator, "ag_code", None)
    return getattr(code, "co_name", None) in _NAMES
