"""One server for all, and a look around after each test for what was left behind."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.resilience.server import running


@pytest.fixture(scope="session")
def server():
    with running() as server:
        yield server


@pytest.fixture
def tidy(server):
    """No thread, no socket and no connection outlives the test."""
    threads, sockets = threading.active_count(), open_sockets()
    yield server
    assert threading.active_count() == threads
    assert eventually(lambda: server.open_connections == 0 and open_sockets() <= sockets)


def open_sockets() -> int:
    """The sockets of this process; 0 where that cannot be known."""
    try:
        names = list(Path("/proc/self/fd").iterdir())
    except OSError:
        return 0
    return sum(1 for name in names if _is_socket(name))


def _is_socket(path: Path) -> bool:
    try:
        return str(path.readlink()).startswith("socket:")
    except OSError:
        return False


def eventually(holds) -> bool:
    """True once it holds. The other end of a connection hears of its end a little later."""
    until = time.monotonic() + 5
    while not holds():
        if time.monotonic() > until:
            return False
        time.sleep(0.001)
    return True
