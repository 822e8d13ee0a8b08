"""
The smallest clients that can be: what a caller's HTTP client does for a resilient stream.

Two for threads, from the standard library, and one for asyncio with the face of aiohttp's response.
"""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import urllib.request
from collections import deque
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


def urllib_get(url: str) -> Any:
    """Raises for a status of 400 and over, as many clients do."""
    return urllib.request.urlopen(urllib.request.Request(url, b"{}"), timeout=10)


@contextlib.contextmanager
def http_get(url: str) -> Iterator[Any]:
    """Gives the response whatever its status, from a context manager."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=10)
    try:
        connection.request("POST", parts.path, b"{}")
        yield connection.getresponse()
    finally:
        connection.close()


class _Wire(asyncio.Protocol):
    """What has arrived goes before how it ended: a reset does not swallow what came before it."""

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()
        self.ended = False
        self.error: Exception | None = None
        self.news = asyncio.Event()

    def data_received(self, data: bytes) -> None:
        self.pieces.append(data)
        self.news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self.ended, self.error = True, error
        self.news.set()

    async def read(self) -> bytes:
        """The next piece; empty at the end."""
        while not self.pieces:
            if self.ended:
                if self.error is not None:
                    raise self.error
                return b""
            self.news.clear()
            await self.news.wait()
        return self.pieces.popleft()

    async def some(self, complaint: str) -> bytes:
        """The next piece, which has to come."""
        data = await self.read()
        if not data:
            raise EOFError(complaint)
        return data


class Reply:
    """The head of an answer, and its content as it comes."""

    def __init__(self, transport: Any, wire: _Wire, status: int, headers: dict[str, str], rest: bytes) -> None:
        self._transport = transport
        self._wire = wire
        self._rest = rest
        self.status = status
        self.headers = headers
        self.content = self

    async def iter_any(self) -> AsyncIterator[bytes]:
        buffer = self._rest
        if self.headers.get("transfer-encoding") != "chunked":
            while buffer or (buffer := await self._wire.read()):
                yield buffer
                buffer = b""
            return
        while True:
            while b"\r\n" not in buffer:
                buffer += await self._more()
            size, _, buffer = buffer.partition(b"\r\n")
            left = int(size, 16)
            if left == 0:
                return
            while left:
                if not buffer:
                    buffer = await self._more()
                piece, buffer = buffer[:left], buffer[left:]
                left -= len(piece)
                yield piece
            while len(buffer) < 2:
                buffer += await self._more()
            buffer = buffer[2:]

    async def _more(self) -> bytes:
        return await self._wire.some("the body ended before its last chunk")

    def close(self) -> None:
        self._transport.abort()


async def async_get(url: str) -> Reply:
    parts = urlsplit(url)
    loop = asyncio.get_running_loop()
    transport, wire = await loop.create_connection(_Wire, parts.hostname, parts.port)
    try:
        transport.write(f"POST {parts.path} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{{}}".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += await wire.some("the server closed the connection without an answer")
    except BaseException:
        transport.abort()
        raise
    lines, _, rest = head.partition(b"\r\n\r\n")
    first, *others = lines.decode("latin-1").split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in others)}
    return Reply(transport, wire, int(first.split(" ")[1]), headers, rest)
