"""A server on loopback that answers every request with the body it was told to play."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TYPES = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json": "application/json",
    "aws": "application/vnd.amazon.eventstream",
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else each small piece behind another waits 40 ms for the client

    def do_POST(self) -> None:
        server: Server = self.server
        body, step, hold_after, status, kind = server.playing
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.send_response(status)
        self.send_header("content-type", TYPES.get(kind, kind))
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        step = step or len(body) or 1
        for at in range(0, len(body), step):
            if hold_after is not None and at >= hold_after:
                server.hung_up.wait(10)
                self.close_connection = True
                return
            piece = body[at : at + step]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST  # noqa: N815 - named by the standard library

    def log_message(self, *args: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.playing = (b"", None, None, 200, "sse")
        self.hung_up = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def play(
        self,
        body: bytes,
        kind: str = "sse",
        *,
        status: int = 200,
        step: int | None = 400,
        hold_after: int | None = None,
    ) -> str:
        """
        From now on every request is answered with *body*, in pieces of *step* bytes.

        After *hold_after* bytes nothing more comes and the connection stays open.
        """
        self.hung_up.clear()
        self.playing = (body, step, hold_after, status, kind)
        return self.url

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that hang up early are what some tests are about."""


@contextmanager
def running() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.hung_up.set()
        server.shutdown()
        server.server_close()
        thread.join()
