"""Tool calls that fill in on a terminal."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from chunkfold import Folder, dialects
from chunkfold.cli._calls import Calls
from chunkfold.events import ArgumentsFieldDone, ArgumentsPathDelta, MessageReset, PartStart, PartStop, PartUpdate
from tests.helpers import body_of, case_files, cut, load_case

CASES = [path for path in case_files() if path.parent.name in dialects.names()]
pty = pytest.importorskip("pty")


def payload(delta, **more):
    return b"data: %s\n\n" % json.dumps({"model": "m", "choices": [{"index": 0, "delta": delta, **more}]}).encode()


def call(text, index=0, name=None, **start):
    function = {"arguments": text, **({"name": name} if name else {})}
    return payload({"tool_calls": [{"index": index, **start, "function": function}]})


def on_terminal(pieces, *options):
    """What the command writes, all of it, where standard output and standard error are one terminal."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "chunkfold", *options]
    environment = {**os.environ, "NO_COLOR": "1"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=theirs, stderr=theirs, env=environment) as process:
        os.close(theirs)
        for piece in pieces:
            process.stdin.write(piece)
        process.stdin.close()
        shown = bytearray()
        while True:
            try:
                data = os.read(ours, 1 << 16)
            except OSError:  # how Linux says that the other side is closed
                break
            if not data:
                break
            shown += data
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def test_a_call_fills_in_field_by_field():
    pieces = [
        payload({"content": "I write."}),
        call("", id="a", name="write"),
        call('{"path": "a'),
        call('.py", "n": 1'),
        call('2, "text": "one\\nt'),
        call('wo", "deep": {"list": [{"x": null}], "none": {}}}'),
        payload({"content": "Done."}),
    ]
    assert on_terminal(pieces).split("m · no finish")[0].split("! truncated")[0] == (
        "I write.\n→ write\n  path: a.py\n  n: 12\n  text: one\n    two\n"
        "  deep.list[0].x: null\n  deep.none: {}\nDone.\n"
    )


def test_interleaved_calls_are_shown_one_after_the_other():
    pieces = [
        call("", 0, "first", id="a"),
        call('{"a": "x', 0),
        call("", 1, "second", id="b"),
        call('{"b": "y', 1),
        call("x", 0),
        call("y", 1),
        call('x"}', 0),
        call('y"}', 1),
    ]
    assert on_terminal(pieces).split("! truncated")[0] == "→ first\n  a: xxx\n→ second\n  b: yyy\n"


def test_nothing_steers_the_terminal():
    shown = on_terminal([call("", 0, "f\x1b[2J", id="a"), call('{"a": "\\u001b[31m\\r"}')])
    assert "\x1b" not in shown
    assert "␛[31m␍" in shown


def test_other_outputs_do_not_run_into_an_open_field():
    pieces = [
        call("", 0, "f", id="a"),
        call('{"a": "x'),
        payload({"reasoning_content": "hm"}),
        call("y"),
        payload({"content": "text"}),
        call('z"}'),
    ]
    assert on_terminal(pieces).split("! truncated")[0] == "→ f\n  a: x\nhm\ny\ntext\nz\n"


def test_a_call_that_is_cut_is_shown_as_far_as_it_came():
    shown = on_terminal([call("", 0, "f", id="a"), call('{"a": "x')])
    call_line, note, cut, _ = shown.removeprefix("→ f\n").split("\n", 3)
    assert call_line == "  a: x"
    assert note.startswith("! the arguments of 'f' are truncated (8 characters in raw_arguments; Unterminated string")
    assert cut.startswith("! truncated")


def test_without_a_terminal_calls_are_only_named():
    body = b"".join([call("", 0, "f", id="a"), call('{"a": "x"}')])
    done = subprocess.run([sys.executable, "-m", "chunkfold"], input=body, capture_output=True, check=False)
    assert done.stdout == b""
    assert done.stderr.decode().startswith("→ f()\n")


def test_stats_go_to_standard_error():
    body = b"".join([payload({"content": "Hello"}), payload({}, finish_reason="stop")])
    done = subprocess.run([sys.executable, "-m", "chunkfold", "--stats"], input=body, capture_output=True, check=True)
    assert done.stdout == b"Hello"
    lines = [line for line in done.stderr.decode().splitlines() if line.startswith("stats: ")]
    assert lines[0].startswith("stats: first byte ")
    assert "first output (text)" in lines[0]
    assert lines[1] == "stats: 1 output"
    assert lines[2].startswith("stats: part 0 (text): ")
    assert lines[2].endswith(", 5 characters")


def test_stats_are_in_the_json_only_when_asked_for():
    body = b"".join([payload({"content": "Hello"}), payload({}, finish_reason="stop")])
    plain, timed = (
        subprocess.run(
            [sys.executable, "-m", "chunkfold", "--json", *more], input=body, capture_output=True, check=True
        )
        for more in ([], ["--stats"])
    )
    assert timed.stderr == b""
    record = json.loads(timed.stdout)
    stats = record.pop("stats")
    assert json.loads(plain.stdout) == record
    assert stats["outputs"] == 1
    assert stats["first_output_kind"] == "text"
    assert stats["parts"][0]["characters"] == 5


# By itself


def shown(events):
    written = []
    calls = Calls(written.append)
    for event in events:
        calls.event(event)
    calls.close()
    return "".join(written)


def test_a_name_that_comes_late_is_waited_for():
    events = [PartStart(0, 0, "tool_call"), ArgumentsPathDelta(0, 0, ("a",), "x")]
    assert shown([*events, PartUpdate(0, 0, name="f"), ArgumentsFieldDone(0, 0, ("a",), "x")]) == "→ f\n  a: x\n"
    assert shown(events) == "→ (no name)\n  a: x\n"


def test_other_choices_are_not_shown():
    assert shown([PartStart(1, 0, "tool_call", name="f"), ArgumentsPathDelta(1, 0, ("a",), "x")]) == ""


def test_what_was_taken_back_is_not_shown_any_more():
    first = [PartStart(0, 0, "tool_call", name="f"), PartStart(0, 1, "tool_call", name="g")]
    assert shown([*first, MessageReset(1, "step"), PartStop(0, 0)]) == "→ f\n"


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_field_of_every_call_is_shown_once(path):
    case = load_case(path)
    folder = Folder(**(case.get("options") or {}), live_arguments=True)
    events = [event for piece in cut(body_of(case), {"every": 53}) for event in folder.feed(piece)]
    events += folder.finish()
    whole = shown(events)
    strings = [event for event in events if isinstance(event, ArgumentsFieldDone) and event.choice == 0]
    if any(isinstance(event, MessageReset) for event in events):
        return
    for event in strings:
        if isinstance(event.value, str) and event.value:
            assert ": " + event.value.replace("\n", "\n    ") + "\n" in whole
    starts = [event for event in events if isinstance(event, PartStart) and event.choice == 0 and "call" in event.kind]
    assert whole.count("→ ") - whole.count(" (again)\n") == len(starts)


def test_arguments_that_are_stated_anew_are_shown_again_and_the_same_ones_are_not():
    def delta(text):
        return [ArgumentsPathDelta(0, 0, ("a",), text), ArgumentsFieldDone(0, 0, ("a",), text)]

    root = ArgumentsFieldDone(0, 0, (), {})
    events = [PartStart(0, 0, "tool_call", name="f"), *delta("x"), root, *delta("y"), root, PartStop(0, 0)]
    assert shown(events) == "→ f\n  a: x\n→ f (again)\n  a: y\n"
    # Also where the server has taken back what came behind the call.
    assert shown([*events[:4], MessageReset(1, "step"), *events[4:]]) == shown(events)
    assert shown([*events[:4], MessageReset(0, "step"), *events[4:]]) == "→ f\n  a: x\n"
