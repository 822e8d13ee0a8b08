"""
The invariant: whatever the bytes are, the laws of the fold hold.

Seeds are the cases, and one recorded stream a vendor where the recordings are. Each is broken in ways that are the
same at every run: cut, frames repeated, swapped or dropped, bytes spoiled, a type changed in the JSON. The one
exception that may be raised is LimitExceeded, for JSON that nests too deep.

CHUNKFOLD_TESTS=deep breaks each seed three hundred times as often.
"""

from __future__ import annotations

import json
import random
import zlib

import pytest

from chunkfold import dialects
from tests.conftest import DEEP
from tests.helpers import CANONICAL, CORPUS, body_of, case_files, cut, load_case
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import broken

TIMES = 300 if DEEP else 1
LARGEST = 40_000


def seeds():
    """Name, dialect, options and body of every seed."""
    for path in case_files():
        if path.parent.name in dialects.names():
            case = load_case(path)
            if "max_seconds" not in case:
                name = f"{path.parent.name}/{path.stem}"
                yield pytest.param(path.parent.name, case.get("options") or {}, body_of(case), id=name)
    yield from recorded()


def recorded():
    """The smallest recording of each vendor and dialect."""
    index = CORPUS / "index.jsonl"
    best = {}
    rows = index.read_text(encoding="utf-8").split("\n") if index.exists() else []
    for row in (json.loads(line) for line in rows if line):
        key = row["dialect"], row["vendor"]
        if row["size"] <= LARGEST and (key not in best or row["size"] > best[key]["size"]):
            best[key] = row
    for (dialect, vendor), row in sorted(best.items()):
        name = CANONICAL.get(dialect, dialect)
        if name in dialects.names():
            body = (CORPUS / row["file"]).read_bytes()
            yield pytest.param(name, {}, body, id=f"recorded/{dialect}/{vendor}")


@pytest.mark.parametrize(("dialect", "options", "body"), list(seeds()))
def test_the_laws_hold_for_broken_streams(dialect, options, body):
    rng = random.Random(zlib.crc32(body))
    times = TIMES if len(body) < 5000 else max(1, TIMES // 4)
    for _ in range(times):
        spoiled = broken(body, rng)
        pieces = cut(spoiled, {"random": rng.random()})
        wish = rng.choice([{}, {}, {}, {"split_think_tags": True}, {"cumulative_deltas": True}])
        assert_laws(
            spoiled, cut(spoiled, "each-byte") if rng.random() < 0.3 else pieces, dialect, **{**options, **wish}
        )
        assert_laws(spoiled, pieces, "auto", **{**options, **wish})
        assert_templates_change_nothing(pieces, dialect, **options)
