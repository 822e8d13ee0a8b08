"""Profiles for hypothesis, and the last line of the run."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers import CORPUS

# A quick run by default; CHUNKFOLD_TESTS=deep looks further and takes some minutes.
DEEP = os.environ.get("CHUNKFOLD_TESTS") == "deep"

_ALWAYS = {"deadline": None, "database": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=20, derandomize=True, **_ALWAYS)
settings.register_profile("deep", max_examples=2000, **_ALWAYS)
settings.load_profile("deep" if DEEP else "quick")

# How many streams tests/test_corpus.py has when the recordings are there. They are third parties' and no part of the
# project, so that they cannot be counted where they are not.
CORPUS_STREAMS = 427


def pytest_unconfigure(config):
    """Say last of all what was not tried."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not CORPUS.is_dir():
        reporter.write_line(f"{CORPUS_STREAMS} recorded streams were not tried: there is no folder ../shared/corpus")


@pytest.fixture(autouse=True, scope="module")
def _what_is_there_is_no_garbage():
    """Tests that collect garbage need not look through twenty thousand tests and their results each time."""
    gc.collect()
    gc.freeze()
