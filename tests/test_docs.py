"""The documentation fails when it lies: its code runs, its tables agree with the code."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

import chunkfold
from chunkfold import dialects, errors, events
from chunkfold.cli import _fold_parser
from chunkfold.views import loopctl

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_code_of_the_readme_runs():
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) >= 4
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


FRAGMENT = {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}
DELTA = {"content": "hi", "tool_calls": [FRAGMENT]}
CHUNKS = [
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": DELTA}]},
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
]
EVENTS = list(chunkfold.stream(CHUNKS))
# The function of each page on other accumulators, what it is given, and what comes of it.
SYSTEMS = {
    "behest": ("result_of", (EVENTS,), lambda made: made.tool_calls[0].name == "f"),
    "index": ("ask", (CHUNKS,), lambda made: made.text == "hi"),
    "loopctl": ("message_of", ([loopctl.write(event) for event in EVENTS],), lambda made: made.parts[0].text == "hi"),
    "nous": ("calls_of", ([[FRAGMENT]],), lambda made: made[0]["name"] == "f"),
    "open-agent": ("watch", (CHUNKS, lambda *items: None), lambda made: made is None),
    "req-llm": ("parts_of", (EVENTS,), lambda made: made[0][0].text == "hi"),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_the_code_for_those_who_come_from_another_accumulator_runs(name):
    page = (DOCS / "systems" / f"{name}.md").read_text(encoding="utf-8")
    made: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(block, name, "exec"), made)
    function, given, holds = SYSTEMS[name]
    assert holds(made[function](*given))


def test_the_readme_promises_just_two_commands_to_try_and_test():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = set(re.findall(r"^make (\S+)", text, re.MULTILINE))
    assert commands == {"demo", "test"}
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert commands <= targets


def test_every_flag_of_the_command_is_in_the_manual_and_no_other():
    page = (DOCS / "command.md").read_text(encoding="utf-8")
    flags = {flag for action in _fold_parser()._actions for flag in action.option_strings if flag.startswith("--")}
    assert {flag for flag in flags if flag not in ("--help", "--version")} == set(re.findall(r"--[a-z][a-z-]+", page))


VALUES = (DOCS / "values.md").read_text(encoding="utf-8")


def fields_in(heading):
    """The names in the first column of the table under *heading*."""
    table = VALUES[VALUES.index(f"| {heading} |") :].split("\n\n")[0]
    return {name for row in table.splitlines()[2:] for name in re.findall(r"`(\w+)`", row.split("|")[1])}


def fields_of(cls):
    properties = {name for name, item in vars(cls).items() if isinstance(item, property) and name[0] != "_"}
    return {*cls.__struct_fields__, *properties}


@pytest.mark.parametrize(
    ("heading", "cls"),
    [
        ("field", chunkfold.Response),
        ("field of `Usage`", chunkfold.Usage),
        ("field of `StreamError`", chunkfold.StreamError),
        ("field of `Limits`", chunkfold.Limits),
    ],
)
def test_every_field_of_what_comes_out_is_explained_and_no_other(heading, cls):
    assert fields_in(heading) == fields_of(cls)


def test_every_part_and_every_event_is_listed_with_its_fields():
    listed = dict(re.findall(r"`([A-Z]\w+)\(([\w, ]*)\)`", VALUES[: VALUES.index("## Limits")]))
    live = {events.ArgumentsPathDelta, events.ArgumentsFieldDone, events.TextPathDelta, events.TextFieldDone}
    for cls in {*get_args(events.Event), *get_args(chunkfold.Part)} - live - {chunkfold.AudioPart, chunkfold.FilePart}:
        assert listed.pop(cls.__name__) == ", ".join(cls.__struct_fields__)
    assert not listed


def test_the_code_of_the_page_on_values_runs():
    (block,) = re.findall(r"```python\n(.*?)```", VALUES, re.DOTALL)
    exec(compile(block, "values.md", "exec"), {})


def test_every_error_is_listed_with_its_fields_and_what_else_it_is():
    section = VALUES[VALUES.index("| error |") :].split("\n\n")[0]
    listed = {}
    for row in section.splitlines()[2:]:
        names, also = row.split("|")[1:3]
        for name, given in re.findall(r"`(\w+)(?:\(([\w, ]*)\))?`", names):
            listed[name] = also.strip(" `")
            assert not given or given == ", ".join(inspect.signature(getattr(errors, name)).parameters)
    assert set(listed) == {*errors.__all__} - {"ChunkfoldError"}
    for name, also in listed.items():
        builtin = [base for base in getattr(errors, name).__mro__ if base.__module__ == "builtins"]
        assert builtin[0].__name__ == (also or "Exception")


def test_every_decision_of_a_policy_is_explained_with_all_its_words():
    page = (DOCS / "fold.md").read_text(encoding="utf-8")
    rows = page[page.index("| field of `Policy` |") :].split("\n\n")[0].splitlines()[2:]
    listed = {row.split("|")[1].strip(" `"): re.findall(r"`([^`]+)`", row.split("|")[2]) for row in rows}
    decisions = {}
    for name, hint in get_type_hints(chunkfold.Policy).items():
        if name in chunkfold.Policy.__struct_fields__:
            default = getattr(chunkfold.Policy(), name)
            words = get_args(hint) or ((True, False) if hint is bool else (default,))
            assert words[0] == default
            decisions[name] = [str(word) or '""' for word in words]
    assert listed == decisions


def options_in_the_manual():
    """By door: its options as the table of the page has them, with their defaults."""
    page = (DOCS / "doors.md").read_text(encoding="utf-8")
    rows = page[page.index("| option |") :].split("\n\n")[0].splitlines()[2:]
    doors = ("fold", "afold", "stream", "astream", "wrap", "Folder")
    options = {door: {} for door in doors}
    for row in rows:
        names, default, said = row.strip("|").split(" | ")
        _, only, where = said.partition("; of ")
        for door in doors:
            if not only or f"`{door}`" in where:
                options[door] |= dict.fromkeys(re.findall(r"`(\w+)`", names), default.strip("` "))
    return options


@pytest.mark.parametrize(("door", "listed"), options_in_the_manual().items())
def test_the_options_of_every_door_are_listed_and_no_other(door, listed):
    parameters = inspect.signature(getattr(chunkfold, door)).parameters
    assert set(listed) == set(parameters) - {"source", "vendor_stream"}
    for name, default in listed.items():
        # `None` stands for the defaults of these.
        given = parameters[name].default
        assert (f"{name.capitalize()}()" if name in ("limits", "policy") else repr(given)) == default.replace('"', "'")


def test_the_folder_of_the_page_on_doors_runs():
    page = (DOCS / "doors.md").read_text(encoding="utf-8")
    section = page[page.index("## Bytes that you read yourself") :].split("\n## ")[0]
    (block,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(compile(block, "doors.md", "exec"), {})


def test_every_diagnostic_is_explained_and_no_other():
    page = (DOCS / "fold.md").read_text(encoding="utf-8")
    section = page[page.index("## Diagnostics") : page.index("## Where reasonable people differ")]
    explained = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert explained == diagnostic_kinds()


def diagnostic_kinds():
    """The kinds that the source gives, found where diagnostics are made."""
    calls = re.compile(r"(?:diagnose|\.note|_note|Diagnostic)\(\s*\"(\w+)\"")
    kinds = set()
    for path in Path(chunkfold.__file__).parent.rglob("*.py"):
        kinds |= set(calls.findall(path.read_text(encoding="utf-8")))
    # What the lenient reader of JSON forgave is noted by its own name.
    return kinds | {"invalid_utf8", "trailing_garbage", "glued_objects"}


def test_the_index_lists_every_dialect_with_its_names():
    page = (DOCS / "dialects" / "index.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| \[[^\]]+\]\(([\w-]+)\.md\) \| ([^|]+) \|", page, re.MULTILINE))
    assert set(listed) == set(dialects.names())
    for name, said in listed.items():
        assert set(re.findall(r"`([^`]+)`", said)) == {name, *dialects.get(name).aliases}
