"""The server and the clients that all tests share."""

from __future__ import annotations

import gc
import logging

import pytest

from tests.helpers import CORPUS
from tests_sdks import clients
from tests_sdks.server import running

logging.getLogger("LiteLLM").disabled = True


def pytest_collection_finish(session):
    """Tests that collect garbage need not look through all that the SDKs have made each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def server():
    with running() as found:
        yield found


@pytest.fixture(scope="session")
def sdks(server):
    found = clients.Clients(server.url)
    yield found
    found.close()


def pytest_collection_modifyitems(items):
    """A test with a parameter `sdk` is skipped where that SDK is not installed."""
    for item in items:
        name = getattr(item, "callspec", None) and item.callspec.params.get("sdk")
        if name in clients.SDKS and not clients.is_installed(name):
            item.add_marker(pytest.mark.skip(reason=f"{clients.SDKS[name].package} is not installed"))


def pytest_unconfigure(config):
    """Say last of all what was not tried."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    missing = sorted({sdk.package for name, sdk in clients.SDKS.items() if not clients.is_installed(name)})
    if missing:
        reporter.write_line(f"not installed, so not tried: {', '.join(missing)}")
    if not CORPUS.is_dir():
        reporter.write_line("recorded streams were not tried: there is no folder ../shared/corpus")
