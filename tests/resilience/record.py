"""
A plugin for `make faults`: counts what came out and writes it into the manual.

    CHUNKFOLD_TESTS=faults python -m pytest -p tests.resilience.record tests/resilience/test_faults.py
"""

from __future__ import annotations

import platform
from collections import Counter
from importlib import metadata, util

from tests.resilience.page import PAGE, replace_section

_counts: Counter[tuple[str, str, bool]] = Counter()
_sections: set[str] = set()


def pytest_runtest_logreport(report):
    """One report for each phase: a test is as good as its worst phase."""
    if "test_what_the_table_says_comes_of_a_fault[" not in report.nodeid or report.skipped:
        return
    _sections.add("more" if "tests_sdks" in str(report.fspath) or "test_resilience" in report.nodeid else "first")
    # dialect-fault-place-runtime-again; names of dialects have hyphens too.
    inside = report.nodeid.rsplit("[", 1)[1].rstrip("]")
    front, _ = inside.rsplit("-", 1)
    front, runtime = front.rsplit("-", 1)
    fault = front.rsplit("-", 2)[1]
    if report.when == "call":
        _counts[fault, runtime, report.passed] += 1
    elif not report.passed:
        _counts[fault, runtime, False] += 1
        _counts[fault, runtime, True] -= 1


def pytest_sessionfinish(session, exitstatus):
    if len(_sections) == 1:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(replace_section(text, f"result {_sections.pop()}", table()), encoding="utf-8")


def table() -> str:
    """Rows of faults, columns of runtimes; how many there were, and how many went otherwise if any did."""
    faults = list(dict.fromkeys(fault for fault, _, _ in _counts))
    runtimes = list(dict.fromkeys(runtime for _, runtime, _ in _counts))
    lines = [f"| fault | {' | '.join(runtimes)} |", f"|---|{'---|' * len(runtimes)}"]
    for fault in faults:
        cells = []
        for runtime in runtimes:
            good, bad = _counts[fault, runtime, True], _counts[fault, runtime, False]
            cells.append(f"{good + bad}" if not bad else f"{good} of {good + bad}")
        lines.append(f"| `{fault}` | {' | '.join(cells)} |")
    total = sum(_counts.values())
    wrong = sum(count for (_, _, passed), count in _counts.items() if not passed)
    packages = [name for name in ("httpx", "aiohttp", "requests", "trio", "anyio") if util.find_spec(name)]
    versions = ", ".join(
        [f"Python {platform.python_version()}", *(f"{name} {metadata.version(name)}" for name in packages)]
    )
    lines += ["", f"{total} runs, {wrong} of them otherwise than the table says. {versions}."]
    return "\n".join(lines)
