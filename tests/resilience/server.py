"""
A server on loopback that does to a stream what networks and servers do: it plays a script for each request.

It runs in a thread of its own with an event loop, so that a thousand streams cost it no more than a thousand tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Play(NamedTuple):
    """What is answered to one request."""

    body: bytes = b""
    then: str = "end"
    """
    `end`: the body is complete. `close`: the connection is closed as if it were complete, which only the content can
    tell. `cut`: it is closed in the middle of a chunked body. `reset`: it is reset. `hold`: nothing more comes.
    """
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    pauses: tuple[tuple[int, float], ...] = ()
    """At which byte to wait, and for how many seconds."""
    every: tuple[bytes, float] | None = None
    """While it holds: what is sent again and again, and at which interval."""
    step: int = 0
    """How many bytes are written at once; 0: all."""


class FaultServer:
    """Serves scripts: `url = server.script([Play(...), Play(...)])`. The last play is repeated."""

    def __init__(self) -> None:
        self._scripts: dict[str, list[Play]] = {}
        self._counts: dict[str, int] = {}
        self._names = itertools.count()
        self.open_connections = 0
        self._loop: Any = None
        self._server: Any = None
        self._thread: threading.Thread | None = None
        self._ready = threading.Event()

    def script(self, plays: Sequence[Play]) -> str:
        name = f"/{next(self._names)}"
        self._scripts[name] = list(plays)
        self._counts[name] = 0
        return f"http://127.0.0.1:{self.port}{name}"

    def requests(self, url: str) -> int:
        """How many requests came for a script."""
        return self._counts["/" + url.rsplit("/", 1)[1]]

    @property
    def port(self) -> int:
        return int(self._server.sockets[0].getsockname()[1])

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="fault-server", daemon=True)
        self._thread.start()
        assert self._ready.wait(10)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        assert self._thread is not None
        self._thread.join(10)

    def _run(self) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._main())

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=2048)
        self._ready.set()
        await self._stopping.wait()
        self._server.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.open_connections += 1
        try:
            await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open_connections -= 1
            writer.close()
            with contextlib.suppress(Exception, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ", 2)[1]
        length = next((int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0)
        if length:
            await reader.readexactly(length)
        name = "/" + path.split("/", 2)[1].split("?")[0]
        plays = self._scripts[name]
        play = plays[min(self._counts[name], len(plays) - 1)]
        self._counts[name] += 1
        if play.then == "refuse":
            return
        is_chunked = play.then in ("end", "cut", "hold", "reset")
        lines = [f"HTTP/1.1 {play.status} Told", "Connection: close"]
        names = {name.lower() for name, _ in play.headers}
        lines += [f"{name}: {value}" for name, value in play.headers]
        if "content-type" not in names:
            lines.append("Content-Type: text/event-stream")
        if is_chunked:
            lines.append("Transfer-Encoding: chunked")
        writer.write(("\r\n".join(lines) + "\r\n\r\n").encode())
        await self._play(play, writer, is_chunked)
        if play.then == "hold":
            await self._hold(play, reader, writer, is_chunked)
        elif play.then == "reset":
            await writer.drain()
            # What was sent is to arrive: only then is the connection reset.
            await asyncio.sleep(0.005)
            sock = writer.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
        elif play.then == "end":
            writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def _play(self, play: Play, writer: asyncio.StreamWriter, is_chunked: bool) -> None:
        pauses = dict(play.pauses)
        edges = {0, len(play.body), *pauses}
        if play.step:
            edges.update(range(0, len(play.body), play.step))
        for start, stop in itertools.pairwise(sorted(edges)):
            if start in pauses:
                await writer.drain()
                await asyncio.sleep(pauses[start])
            self._write(play.body[start:stop], writer, is_chunked)
        if len(play.body) in pauses:
            await writer.drain()
            await asyncio.sleep(pauses[len(play.body)])

    @staticmethod
    def _write(piece: bytes, writer: asyncio.StreamWriter, is_chunked: bool) -> None:
        if piece:
            writer.write(b"%x\r\n%s\r\n" % (len(piece), piece) if is_chunked else piece)

    async def _hold(
        self, play: Play, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_chunked: bool
    ) -> None:
        """Until the client hangs up."""
        gone = asyncio.ensure_future(reader.read(1))
        try:
            while play.every is not None and not gone.done():
                piece, interval = play.every
                self._write(piece, writer, is_chunked)
                await asyncio.wait([gone], timeout=interval)
            await gone
        finally:
            gone.cancel()
            with contextlib.suppress(BaseException):
                await gone


@contextlib.contextmanager
def running() -> Iterator[FaultServer]:
    server = FaultServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()
