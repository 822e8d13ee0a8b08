"""
Where the read timeout of a source can be set, so that a thread which waits for the server does not wait for ever.

A thread cannot be interrupted: only its transport can give up. Transports are known by their shape; none is imported.
"""

from __future__ import annotations

import contextlib
import io
import os
import stat
from collections.abc import Callable, Mapping
from typing import Any

from chunkfold.doors._sources import body_at_hand, is_whole_answer
from chunkfold.errors import TimeoutUnsupported

__all__ = ["ReadTimeout", "never_waits", "read_timeout"]

# From a response down to its socket: the names under which requests, urllib3, http.client, the SDKs and `socket` keep
# what is beneath.
_BENEATH = ("http_response", "response", "_raw_stream", "raw", "_fp", "fp", "_sock")
_DEPTH = 8


class ReadTimeout:
    """A read timeout that can be set before each read."""

    def __init__(self, set_seconds: Callable[[float], object], release: Callable[[], object] | None = None) -> None:
        self._set = set_seconds
        self._release = release

    def set(self, seconds: float) -> None:
        """Let the next read wait no longer. A socket that is closed already has nothing to wait for."""
        with contextlib.suppress(OSError):
            # A timeout of 0 would mean: do not wait at all.
            self._set(max(seconds, 0.001))

    def release(self) -> None:
        """Leave the transport as it was found: connections go back to their pool."""
        release, self._release = self._release, None
        if release is not None:
            release()


def read_timeout(source: Any) -> ReadTimeout | None:
    """
    The read timeout of *source*; `None` if reading it never waits.

    Raises:
        TimeoutUnsupported: If it may wait and has none that could be set.
    """
    if never_waits(source):
        return None
    node = source
    for _ in range(_DEPTH):
        if node is None:
            break
        if callable(getattr(node, "settimeout", None)):
            return _socket(node)
        extensions = getattr(node, "extensions", None)
        if isinstance(extensions, Mapping) and callable(getattr(extensions.get("network_stream"), "read", None)):
            return _httpcore(extensions["network_stream"])
        node = next((below for name in _BENEATH if (below := getattr(node, name, None)) is not None), None)
    kind = type(source).__name__
    raise TimeoutUnsupported(
        f"a {kind}",
        "give the response of the HTTP client itself, or an object with a settimeout(seconds) of its own; "
        "or use resilience.astream()",
    )


def never_waits(source: Any) -> bool:
    """True if all of *source* is at hand: bytes, lists, ordinary files, bodies and answers that have been read."""
    if isinstance(source, (bytes, bytearray, memoryview, Mapping, list, tuple, io.BytesIO)) or is_whole_answer(source):
        return True
    if isinstance(source, (str, os.PathLike)):
        return stat.S_ISREG(os.stat(source).st_mode)  # noqa: PTH116 - a str is a path here
    if body_at_hand(source) is not None:
        return True
    if isinstance(source, io.IOBase):
        try:
            return stat.S_ISREG(os.fstat(source.fileno()).st_mode)
        except (OSError, ValueError):
            return False
    return False


def _socket(node: Any) -> ReadTimeout:
    """That of a socket is given back as it was: the connection may be used again. A shorter one stays in force."""
    ask = getattr(node, "gettimeout", None)
    if not callable(ask):
        return ReadTimeout(node.settimeout)
    own: float | None = ask()

    def set_seconds(seconds: float) -> None:
        node.settimeout(min(seconds, own or seconds))

    def release() -> None:
        with contextlib.suppress(OSError):
            node.settimeout(own)

    return ReadTimeout(set_seconds, release)


def _httpcore(stream: Any) -> ReadTimeout:
    """
    A stand-in for the `read` of httpcore, which sets the timeout of the socket anew each time, to what the request
    began with. It stays while the response is open. A shorter timeout of the client stays in force.
    """
    read = stream.read
    chosen: list[float] = []

    def read_in_time(max_bytes: int, timeout: float | None = None) -> Any:
        seconds = chosen[0] if chosen else timeout
        return read(max_bytes, timeout=seconds if timeout is None else min(seconds or timeout, timeout))

    def release() -> None:
        with contextlib.suppress(AttributeError):
            del stream.read

    stream.read = read_in_time

    def set_seconds(seconds: float) -> None:
        chosen[:] = [seconds]

    return ReadTimeout(set_seconds, release)
