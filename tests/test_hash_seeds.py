"""What is handed out does not depend on the order of a set: programs that compare or cache JSON rely on it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLD_ALL = """
import json
import chunkfold
from tests.helpers import body_of, case_files, load_case

for path in case_files():
    case = load_case(path)
    if case.get("dialect") in chunkfold.dialects.names() and "max_seconds" not in case:
        with chunkfold.stream(body_of(case), case["dialect"]) as stream:
            told = [event.to_json() for event in stream]
        response = stream.response()
        print(path.stem, response.to_json(), json.dumps(response.to_native()), *told)
"""


def folded(seed):
    """What every case gives in a process of its own."""
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", FOLD_ALL], env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def test_every_case_gives_the_same_text_whatever_the_hash_seed():
    first, second = folded("1"), folded("7")
    assert len(first) > 500
    assert [line for line, other in zip(first, second, strict=True) if line != other] == []
