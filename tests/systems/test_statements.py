"""Every statement about the five systems is tested or stands in the manual among what is left to others."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from chunkfold import Policy, presets

HERE = Path(__file__).parent
MANUAL = HERE.parent.parent / "docs" / "systems"

# How each statement is known, in the order of their numbers: T pinned by a test of that system, D by its documents,
# S read in its source, I inferred from it (mostly a defect, which is mended here).
TAGS = {
    "B": "DDDDDDDTSTTTSSSSSSSSSSSTTSISSSITSIII",
    "O": "TTTTTSITTTTTTTTTISIISISIISTTTTTTTSTSSSSSTSSSSS",
    "R": "TTTTSDDTTTSSTTTTTTTSTTSTTTTTTSISSSSSSSSSSDSSSSSSSSSSI",
    "N": "TTTTTSTTTTTSIIIIIISSSSSSSSSSSSSSSS",
    "L": "TTTTTTTTTTTTTTTSSSSSSSSISDDTSSSSSSDDDSSSSSSSSSTSSSSTS",
    "W": "I" * 13,
    "C": "T" * 19,
}
# Statements of source that have an inference beside them.
INFERRED = {"B18", "B20", "N21", "N22", "N32", "L6", "L25", "C2", "C10"}
TAG_OF = {f"{letter}{number}": tag for letter, tags in TAGS.items() for number, tag in enumerate(tags, 1)}

# About adapters and hosts, not about accumulators, though tests or documents of theirs pin them.
NOT_ACCUMULATING = {"B25", "L35", "L36", "L37", "L47", "L52"}

_ID = re.compile(r"[BORNLWC]\d+")


def covered():
    """The statements that a test is named after: in the name of a function, or as the id of a row."""
    found = set()
    for path in HERE.glob("test_*.py"):
        if path.name == "test_statements.py":
            continue
        source = path.read_text(encoding="utf-8")
        for name in re.findall(r"^def (test_\w+)", source, re.MULTILINE):
            found.update(part.upper() for part in name.split("_") if _ID.fullmatch(part.upper()))
        for id_ in re.findall(r'\bid=f?"([^"]+)"', source):
            found.update(part for part in id_.split("-") if _ID.fullmatch(part))
        found.update(re.findall(r'^    "(C\d+)": \($', source, re.MULTILINE))
    return found


def left_out():
    """The statements in the manual's table."""
    rows = [
        line.split("|")[1].strip()
        for line in (MANUAL / "left-out.md").read_text(encoding="utf-8").splitlines()
        if "|" in line
    ]
    return [row for row in rows if _ID.fullmatch(row)]


def test_every_statement_is_tested_or_in_the_manual():
    assert set(TAG_OF) - covered() - set(left_out()) == set()


def test_nothing_else_is_claimed():
    assert covered() | set(left_out()) <= set(TAG_OF)
    assert [statement for statement, count in Counter(left_out()).items() if count > 1] == []


@pytest.mark.parametrize("tag", ["T", "D", "I"])
def test_what_is_pinned_documented_or_inferred_is_tested(tag):
    wanted = {statement for statement, known in TAG_OF.items() if known == tag}
    wanted |= INFERRED if tag == "I" else set()
    assert wanted - covered() <= NOT_ACCUMULATING


def test_as_many_statements_as_there_are():
    assert {letter: len(tags) for letter, tags in TAGS.items()} == {
        "B": 36, "O": 46, "R": 53, "N": 34, "L": 53, "W": 13, "C": 19,
    }  # fmt: skip


@pytest.mark.parametrize("page", ["behest", "open-agent", "req-llm", "nous", "loopctl"])
def test_the_pages_name_what_exists(page):
    text = (MANUAL / f"{page}.md").read_text(encoding="utf-8")
    module = page.replace("-", "_")
    view = __import__(f"chunkfold.views.{module}", fromlist=["__all__"])
    imported = re.search(rf"from chunkfold\.views\.{module} import (.+)", text)
    assert {name.strip() for name in imported[1].split(",")} <= set(view.__all__)
    assert set(_ID.findall(text)) <= set(TAG_OF)


def test_the_table_of_decisions_is_that_of_the_presets():
    columns = [
        Policy(), presets.behest, presets.behest_shipped, presets.open_agent, presets.req_llm, presets.nous, presets.loopctl,
    ]  # fmt: skip
    rows = {}
    for line in (MANUAL / "index.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(columns) + 1 and cells[0].startswith("`"):
            rows[cells[0].strip("`")] = cells[1:]
    words = {True: "yes", False: "no"}
    assert rows == {
        field.name: [words.get(getattr(policy, field.name), getattr(policy, field.name)) for policy in columns]
        for field in msgspec.structs.fields(Policy)
        if field.name != "id_seed"
    }
