"""The page of the manual about live reading runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

from chunkfold import events
from chunkfold.timing import Timing

PAGE = (Path(__file__).parent.parent.parent / "docs" / "live.md").read_text(encoding="utf-8")


def test_the_code_runs_as_one_program(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    exec(compile(code, "live.md", "exec", dont_inherit=True), {"__name__": "live"})
    assert capsys.readouterr().out.startswith("one\ntwo")


def test_events_are_written_as_they_are():
    for name, fields in re.findall(r"^\| `(\w+)\(([\w, ]+)\)` \|", PAGE, re.MULTILINE):
        assert list(getattr(events, name).__struct_fields__) == fields.split(", ")


def test_every_time_is_explained():
    section = PAGE[PAGE.index("| field of `Timing` |") : PAGE.index("`chunkfold --stats`")]
    assert set(re.findall(r"`(\w+)`", section)) >= set(Timing.__struct_fields__)
