"""The command: what it prints where, and what its exit status says."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time
import unicodedata
from functools import partial

import msgspec
import pytest

import chunkfold
from chunkfold import cli
from chunkfold.events import event_from_json
from tests.laws import decode, rebuild
from tests.streams import sse


def chat(delta, **more):
    return sse(
        {
            "id": "c",
            "object": "chat.completion.chunk",
            "model": "m-1",
            "choices": [{"index": 0, "delta": delta, **more}],
        }
    )


def call(arguments, name="get_weather"):
    return {
        "tool_calls": [{"index": 0, "id": "i", "type": "function", "function": {"name": name, "arguments": arguments}}]
    }


def finish(reason="stop"):
    usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    return chat({}, finish_reason=reason) + sse(usage) + b"data: [DONE]\n\n"


HELLO = chat({"reasoning_content": "hm"}) + chat({"content": "Grüße "}) + chat({"content": "東京"})
GOOD = HELLO + finish()
TEXT = "Grüße 東京"
LONG = chat({"content": "x" * 1000}) * 2000 + finish()

BODIES = {
    "good": (GOOD, 0),
    "bad call": (HELLO + chat(call('{"a')) + finish("tool_calls"), 0),
    "filter": (HELLO + finish("content_filter"), 0),
    "refusal": (chat({"refusal": "no"}) + finish(), 0),
    "not streamed": (
        b'{"object":"chat.completion","choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}',
        0,
    ),
    "length": (HELLO + finish("length"), 3),
    "truncated": (HELLO, 4),
    "cut in a frame": (GOOD[: GOOD.index(b"finish_reason") + 5], 4),
    "empty": (b"", 4),
    "blank": (b"\n\n", 4),
    "only a comment": (b": ping\n\n", 4),
    "only an end mark": (b"data: [DONE]\n\n", 4),
    "error": (HELLO + sse({"error": {"message": "busy", "type": "overloaded_error"}}), 5),
    "error body": (b'{"error":{"message":"no such key"}}', 5),
    "error as reason": (HELLO + finish("error"), 5),
    "not a stream": (b"<html><body>502</body></html>", 6),
    "noise": (bytes(range(255, 100, -1)), 6),
    "too deep": (HELLO + b'data: {"choices":[],"x":' + b"[" * 600 + b"]" * 600 + b"}\n\n", 7),
}


@pytest.fixture
def saved(tmp_path):
    """Write a body to a file and give its name."""

    def save(body, name="saved.sse"):
        path = tmp_path / name
        path.write_bytes(body)
        return str(path)

    return save


@pytest.fixture
def run(capfdbinary):
    """Run `main` in this process: status, standard output, standard error."""

    def run(*words):
        try:
            status = cli.main(list(words))
        except SystemExit as leaving:
            status = leaving.code
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return run


# Whoever runs the tests may have Python write at once, which hides what is never flushed.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}


def command(*words, body=b"", env=None, **options):
    """Run the command as a process."""
    made = subprocess.run(
        [sys.executable, "-m", "chunkfold", *words], input=body, capture_output=True, env={**ENVIRONMENT, **(env or {})}, timeout=60, check=False, **options
    )  # fmt: skip
    return made.returncode, made.stdout.decode(), made.stderr.decode()


def in_shell(line, *words):
    """Run a line of the shell, in which `run` is the command and `$1`, `$2`, ... are *words*."""
    line = f'run() {{ {sys.executable} -m chunkfold "$@"; }}; {line}'
    made = subprocess.run(
        ["bash", "-c", line, "-", *words], capture_output=True, env=ENVIRONMENT, timeout=60, check=False
    )
    return made.returncode, made.stdout.decode(), made.stderr.decode()


# Exit status


@pytest.mark.parametrize(("body", "status"), BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("form", [[], ["--json"], ["--events"]], ids=["text", "json", "events"])
def test_the_exit_status_says_how_it_ended(run, saved, body, status, form):
    assert run(*form, saved(body))[0] == status


@pytest.mark.parametrize(
    "words",
    [["--nonsense"], ["--json", "--events"], ["--json", "--native"], ["--dialect"], ["--dialect", "none"], ["--dial", "auto"], ["/no/such/file"], ["/"], ["--json", "/no/such/file"]],
    ids=" ".join,
)  # fmt: skip
def test_wrong_use_is_2_with_one_line_on_standard_error(run, words):
    status, out, err = run(*words)
    assert status == 2
    assert out == ""
    assert err.startswith("chunkfold: ")
    assert err.count("\n") == 1


def test_an_unknown_dialect_names_the_known_ones(run):
    assert "anthropic-messages" in run("--dialect", "none", "x")[2]


def test_with_several_sources_the_highest_status_counts_and_all_are_read(run, saved):
    names = [saved(BODIES[kind][0], kind.replace(" ", "-")) for kind in ("length", "error", "good", "truncated")]
    status, out, err = run("--json", *names, "/no/such/file")
    assert status == 5
    assert [json.loads(line)["source"] for line in out.splitlines()] == names
    assert "/no/such/file" in err
    assert run("--json", names[2], "/no/such/file")[0] == 2


def test_a_file_that_cannot_be_read_is_said_with_its_name(run, tmp_path):
    status, _, err = run(str(tmp_path / "none.sse"))
    assert status == 2
    assert "none.sse" in err
    assert "No such file" in err


# Text


def test_text_goes_to_standard_output_and_all_else_to_standard_error(run, saved):
    status, out, err = run(saved(GOOD))
    assert (status, out) == (0, TEXT)
    assert "hm" in err
    assert TEXT not in err
    assert "m-1" in err
    assert "stop" in err
    assert "3 in, 4 out" in err


def test_a_call_is_named_on_standard_error_when_it_opens(run, saved):
    _, out, err = run(saved(BODIES["bad call"][0]))
    assert out == TEXT
    assert "get_weather" in err
    assert "not usable" in err or "truncated" in err or "invalid" in err


@pytest.mark.parametrize(
    ("kind", "said"),
    [("truncated", "truncated"), ("error", "busy"), ("error", "overloaded_error"), ("filter", "content_filter"), ("length", "length"), ("refusal", "refusal"), ("not a stream", "! not a stream: "), ("too deep", "json_depth")],
)  # fmt: skip
def test_what_is_to_be_known_is_said_on_standard_error(run, saved, kind, said):
    assert said in run(saved(BODIES[kind][0]))[2]


BROKEN = b'data: {"id":"c","choi\n\n'
SPILLED = {
    "broken frames": (
        chat({"content": "a"}) + BROKEN * 3 + finish(),
        "! frame_not_json in frame 1: a frame of 15 bytes was skipped: Unterminated string starting at character 10 (and 2 more)",
    ),
    "a call that cannot be run": (
        BODIES["bad call"][0],
        "! the arguments of 'get_weather' are invalid (3 characters in raw_arguments; Unterminated string starting at character 1)",
    ),
    "unknown content": (
        chat({"content": {"a": 1}}) + chat({"content": {"b": 2}}) + finish(),
        "! not shown: 2 × unknown content.item; --json has it",
    ),
    "another choice": (
        HELLO + sse({"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}]}) + finish(),
        "! not shown: choice 1; --json has it",
    ),
    "empty": (b": ping\n\n", "! empty: the stream has no answer"),
    "only an end mark": (b"data: [DONE]\n\n", "! empty: the stream has no answer"),
    "an error with a code": (
        b'{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}',
        "! provider error: invalid_request_error: Incorrect API key (code invalid_api_key, status 401)",
    ),
    "an error that says when": (
        b'{"error":{"code":429,"message":"Resource exhausted","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"3.5s"}]}}',
        "! provider error: RESOURCE_EXHAUSTED: Resource exhausted (status 429, try again after 3.5 s)",
    ),
    "gzip": (gzip.compress(GOOD), "! compressed: packed with gzip: ask with `curl --compressed`, or unpack it first"),
    "headers": (
        b"HTTP/1.1 200 OK\r\n\r\n\x00\x00\x01\x52",
        "! this is headers before a body: ask without `curl --include`",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("body", "note"), SPILLED.values(), ids=SPILLED)
def test_what_is_amiss_or_not_shown_has_a_line_of_its_own(run, saved, body, note):
    assert note in run(saved(body))[2].splitlines()


def test_of_what_is_compressed_no_excerpt_is_shown(run, saved):
    assert "! not a stream" in run(saved(gzip.compress(GOOD)))[2].splitlines()


def test_what_is_no_stream_is_not_called_truncated_beside(run, saved):
    err = run(saved(b"<html>502</html>"))[2]
    assert "! not a stream: <html>502</html>" in err.splitlines()
    assert "truncated" not in err


def test_a_stream_that_we_have_given_up_did_not_end(run, saved):
    err = run(saved(BODIES["too deep"][0]))[2]
    assert "json_depth: 513 is more than the 512 allowed" in err
    assert "truncated" not in err


def test_a_native_body_does_not_say_that_it_is_cut_so_standard_error_does(run, saved):
    name = saved(HELLO)
    status, out, err = run("--native", name)
    assert status == 4
    assert json.loads(out)["choices"][0]["message"]["content"] == TEXT
    assert err == f"{name}: truncated: the stream ended before the server said that it was done\n"
    assert run("--native", saved(GOOD))[2] == ""


def test_where_both_go_to_one_place_notes_do_not_run_into_the_text(saved):
    words = [sys.executable, "-m", "chunkfold", saved(GOOD)]
    made = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=True)
    assert made.stdout.decode().splitlines() == ["hm", TEXT, "m-1 · stop · 3 in, 4 out"]


@pytest.mark.parametrize("locale", ["C", "POSIX", "C.UTF-8"])
def test_text_is_utf8_whatever_the_locale(locale):
    status, out, _ = command(body=GOOD, env={"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"})
    assert (status, out) == (0, TEXT)


def test_text_with_line_ends_and_control_characters_goes_to_a_file_as_it_is(run, saved):
    text = "a\r\nb\x1b[31m\x00\u2028c"
    assert run(saved(chat({"content": text}) + finish()))[1] == text


# --json


def test_json_is_one_object_a_source_with_the_promised_fields(run, saved):
    body = chat({"reasoning_content": "hm"}) + chat({"content": "a"}) + chat(call('{"n": 1.10}')) + finish("tool_calls")
    name = saved(body)
    status, out, err = run("--json", name)
    assert status == 0
    assert err == ""
    assert out.count("\n") == 1
    record = json.loads(out)
    response = chunkfold.fold(body)
    fields = "source dialect id model text reasoning refusal tool_calls finish_reason native_finish_reason usage error truncated ended parts diagnostics"  # fmt: skip
    assert set(record) == set(fields.split())
    for field in ("dialect", "id", "model", "text", "reasoning", "refusal", "finish_reason", "native_finish_reason", "truncated", "ended"):  # fmt: skip
        assert record[field] == getattr(response, field)
    assert record["source"] == name
    assert record["tool_calls"] == [
        {
            "id": "i",
            "name": "get_weather",
            "status": "complete",
            "arguments": {"n": 1.1},
            "raw_arguments": '{"n": 1.10}',
        }
    ]
    assert '"arguments":{"n": 1.10}' in out, "numbers keep their digits"
    assert record["usage"]["input_tokens"] == 3
    assert record["error"] is None
    assert [part["kind"] for part in record["parts"]] == ["reasoning", "text", "tool_call"]


@pytest.mark.parametrize(
    ("text", "status", "value"), [("", "empty", {}), ('{"a', "invalid", None), ("[1]", "invalid", None)]
)
def test_arguments_are_null_unless_they_can_be_used(run, saved, text, status, value):
    record = json.loads(run("--json", saved(chat(call(text)) + finish("tool_calls")))[1])
    (made,) = record["tool_calls"]
    assert (made["status"], made["arguments"], made["raw_arguments"]) == (status, value, text)


def test_choices_are_in_the_record_only_when_there_are_several(run, saved):
    second = sse({"choices": [{"index": 1, "delta": {"content": "b"}, "finish_reason": "stop"}]})
    record = json.loads(run("--json", saved(HELLO + second + finish()))[1])
    assert [(choice["index"], choice["text"], choice["finish_reason"]) for choice in record["choices"]] == [
        (0, TEXT, "stop"),
        (1, "b", "stop"),
    ]


@pytest.mark.parametrize("kind", BODIES)
def test_json_is_json_whatever_came(run, saved, kind):
    record = json.loads(run("--json", saved(BODIES[kind][0]))[1])
    assert record["truncated"] is (BODIES[kind][1] in (4, 6, 7) and kind != "only an end mark")
    assert (record["error"] is not None) == (BODIES[kind][1] in (5, 6, 7) and kind != "error as reason")


@pytest.mark.parametrize(("name", "shown"), [(b"a\xffb\xc3", "a\ufffdb\ufffd"), ("東京😀".encode(), "東京😀")])
def test_json_is_json_whatever_the_file_is_called(run, tmp_path, name, shown):
    path = os.fsencode(tmp_path) + b"/" + name
    pathlib.Path(os.fsdecode(path)).write_bytes(GOOD)
    record = msgspec.json.decode(run("--json", os.fsdecode(path))[1])
    assert record["source"] == f"{tmp_path}/{shown}"


# --events


@pytest.mark.parametrize("kind", [kind for kind in BODIES if kind != "too deep"])
def test_events_are_lines_that_read_back_to_the_events(run, saved, kind):
    body = BODIES[kind][0]
    _, out, err = run("--events", saved(body))
    assert err == ""
    events = [event_from_json(line) for line in out.split("\n")[:-1]]
    assert events == decode([body])
    assert rebuild(events) == chunkfold.fold(body)


# --native


def test_the_events_before_a_limit_read_back_to_the_response(run, saved):
    body, _ = BODIES["too deep"]
    with pytest.raises(chunkfold.LimitExceeded) as caught:
        chunkfold.fold(body)
    status, out, _ = run("--events", saved(body))
    assert status == 7
    assert rebuild([event_from_json(line) for line in out.splitlines()]) == caught.value.response


def test_native_is_the_body_that_was_not_streamed_one_a_line(run, saved):
    one, other = saved(GOOD), saved(b"<html>no stream</html>", "page.html")
    status, out, err = run("--native", one, other)
    body, nothing = map(json.loads, out.split("\n")[:-1])
    assert body == chunkfold.fold(GOOD).to_native()
    assert body["object"] == "chat.completion"
    assert body["choices"][0]["message"]["content"] == TEXT.rstrip("\n")
    assert nothing is None
    assert status == 6
    assert "no native body" in err


# Options


def test_the_dialect_may_be_named(run, saved):
    name = saved(GOOD)
    for words in (["--dialect", "openai-chat"], ["--dialect=mistral"], ["--dialect", "auto"]):
        assert run(*words, name)[1] == TEXT
    record = json.loads(run("--json", "--dialect", "anthropic", name)[1])
    assert record["dialect"] == "anthropic-messages"
    assert "dialect_mismatch" in [note["kind"] for note in record["diagnostics"]]


def test_a_dialect_that_is_not_the_one_named_is_said_on_standard_error(run, saved):
    status, out, err = run("--dialect", "anthropic", saved(GOOD))
    assert (status, out) == (0, "")
    assert "! dialect_mismatch in frame 0: named anthropic-messages, looks like openai-chat\n" in err


def test_think_tags_are_split_on_request(run, saved):
    name = saved(chat({"content": "<think>why</think>so"}) + finish())
    assert run(name)[1] == "<think>why</think>so"
    _, out, err = run("--split-think-tags", name)
    assert out == "so"
    assert "why" in err


def test_cumulative_deltas_are_taken_apart_on_request(run, saved):
    name = saved(chat({"content": "a"}) + chat({"content": "ab"}) + finish())
    assert run(name)[1] == "aab"
    assert run("--cumulative-deltas", name)[1] == "ab"


@pytest.mark.parametrize("word", ["-h", "--help"])
def test_help_names_every_flag_and_every_status(run, word):
    status, out, _ = run(word)
    assert status == 0
    for flag in (
        "--json",
        "--events",
        "--native",
        "--dialect",
        "--split-think-tags",
        "--cumulative-deltas",
        "--version",
    ):
        assert flag in out
    for number in ("0", "2", "3", "4", "5", "6", "7", "130", "141"):
        assert number in out.partition("exit status")[2]


def test_version(run):
    assert run("--version")[:2] == (0, f"chunkfold {chunkfold.__version__}\n")


def test_the_verb_may_be_left_out_and_a_file_of_its_name_is_reached_by_a_path(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fold").write_bytes(GOOD)
    assert run("fold", "./fold")[1] == TEXT
    assert run("./fold")[1] == TEXT


# Standard input, processes, signals


@pytest.mark.parametrize("words", [[], ["-"], ["fold"], ["fold", "-"]], ids=" ".join)
def test_standard_input_is_read_when_there_is_no_file_or_for_a_dash(words):
    assert command(*words, body=GOOD)[:2] == (0, TEXT)


def test_standard_input_may_stand_among_files(saved):
    status, out, _ = command("--json", saved(GOOD), "-", body=HELLO)
    assert status == 4
    assert [json.loads(line)["source"][-9:] for line in out.splitlines()] == ["saved.sse", "-"]


def test_the_installed_command_and_the_module_are_the_same(saved):
    name = saved(GOOD)
    script = pathlib.Path(sys.executable).parent / "chunkfold"
    made = subprocess.run([script, name], capture_output=True, timeout=60, check=False)
    assert (made.returncode, made.stdout.decode()) == command(name)[:2] == (0, TEXT)


def started(*words, env=ENVIRONMENT, **options):
    """The command, which can be interrupted: what a shell runs in the background it lets ignore that, with all below."""
    interruptible = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen([sys.executable, "-m", "chunkfold", *words], env=env, preexec_fn=interruptible, **options)  # noqa: PLW1509


def read_until(read, wanted, seconds=20):
    """What can be read until *wanted* has come."""
    seen = b""
    until = time.monotonic() + seconds
    while wanted not in seen and time.monotonic() < until:
        if select.select([read], [], [], 0.2)[0]:
            try:
                data = os.read(read, 65536)
            except OSError:
                break
            if not data:
                break
            seen += data
    assert wanted in seen, seen
    return seen


def test_text_comes_as_it_arrives():
    with started(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write(chat({"content": "first"}))
        process.stdin.flush()
        read_until(process.stdout.fileno(), b"first")
        assert process.poll() is None
        process.stdin.write(chat({"content": "second"}) + finish())
        process.stdin.close()
        read_until(process.stdout.fileno(), b"second")
        assert process.wait(20) == 0


def test_events_come_as_they_are_decoded():
    with started("--events", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        process.stdin.write(sse({"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": []}))
        process.stdin.flush()
        read_until(process.stdout.fileno(), b'"model":"m","dialect":"openai-chat"}\n')
        process.stdin.close()
        assert process.wait(20) == 4


@pytest.mark.parametrize("form", [[], ["--events"]], ids=["text", "events"])
def test_a_broken_pipe_is_141_without_a_traceback(form):
    many = chat({"content": "x" * 1000}) * 500 + finish()
    with started(*form, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(many)
            process.stdin.close()
        assert process.wait(20) == 141
        assert b"Traceback" not in process.stderr.read()


@pytest.mark.parametrize("form", [["--json"], ["--native"], ["--help"], ["--version"]], ids=" ".join)
def test_a_broken_pipe_of_what_is_printed_at_the_end_is_141(saved, form):
    with started(*form, saved(GOOD), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize("form", [[], ["--json"], ["--events"], ["--native"], ["--help"]], ids=" ".join)
def test_output_that_cannot_be_written_is_2_and_said_in_one_line(saved, form):
    said = "chunkfold: standard output: No space left on device\n"
    status, _, err = in_shell('run "$@" > /dev/full', *form, saved(GOOD))
    assert status == 2
    assert err.endswith(said)
    assert "Traceback" not in err
    assert "Exception" not in err


@pytest.mark.parametrize("form", [[], ["--json"], ["--version"]], ids=" ".join)
def test_standard_output_that_is_closed_is_2(saved, form):
    assert in_shell('run "$@" >&-', *form, saved(GOOD)) == (2, "", "chunkfold: standard output is closed\n")


@pytest.mark.parametrize("words", [[], ["-"]], ids=["none", "dash"])
def test_standard_input_that_is_closed_is_2(words):
    assert in_shell('run "$@" <&-', "--json", *words) == (2, "", "chunkfold: -: standard input is closed\n")


@pytest.mark.parametrize("error", ["2>&-", "2>/dev/full"])
def test_who_cannot_be_told_the_rest_still_gets_the_answer(saved, error):
    name = saved(GOOD)
    assert in_shell(f'run "$@" {error}', name) == (0, TEXT, "")
    assert in_shell(f'run "$@" {error}', "--stats", name) == (0, TEXT, "")
    assert in_shell(f'run "$@" {error}', "no such file", name) == (2, TEXT, "")
    assert in_shell(f'run "$@" {error}', "--no-such-flag")[:2] == (2, "")


@pytest.mark.parametrize("form", [[], ["--json"], ["--events"]], ids=["text", "json", "events"])
def test_an_interruption_is_130_and_prints_what_came(form):
    with started(*form, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(HELLO)
        process.stdin.flush()
        if form == ["--json"]:
            time.sleep(1)
            seen = b""
        else:
            seen = read_until(process.stdout.fileno(), TEXT[-2:].encode())
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 130
        assert b"Traceback" not in err
        assert form or b"! interrupted before the stream ended\n" in err
        if form == ["--events"]:
            journal = [event_from_json(line) for line in (seen + out).decode().splitlines()]
            assert [event.type for event in journal].count("message_stop") == 1
            response = rebuild(journal)
            assert (response.text, response.ended, response.truncated) == (TEXT, "cancelled", True)
        if form == ["--json"]:
            record = json.loads(out)
            assert (record["text"], record["ended"], record["truncated"]) == (TEXT, "cancelled", True)
        assert seen.startswith(TEXT.encode()) or form


def test_an_interruption_before_anything_was_read_is_130_without_a_traceback(tmp_path):
    os.mkfifo(tmp_path / "pipe")  # opening it waits for who writes
    with started("--json", str(tmp_path / "pipe"), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=20) == (b"", b"")
        assert process.returncode == 130


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
@pytest.mark.parametrize("form", [[], ["--json"], ["--events"]], ids=["text", "json", "events"])
def test_a_pipe_that_does_not_block_gets_all(form, unbuffered):
    """Some programs make the pipes non-blocking that they give to those whom they start."""
    text = "x" * 300_000
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    environment = {**ENVIRONMENT, "PYTHONUNBUFFERED": unbuffered}
    with started(*form, env=environment, stdin=subprocess.PIPE, stdout=write_end, stderr=subprocess.DEVNULL) as process:
        os.close(write_end)
        process.stdin.write(chat({"content": text}) + finish())
        process.stdin.close()
        time.sleep(1)  # the pipe is full
        with os.fdopen(read_end, "rb") as pipe:
            shown = pipe.read().decode()
        assert process.wait(20) == 0
    if form == ["--json"]:
        assert json.loads(shown)["text"] == text
    elif form == ["--events"]:
        assert rebuild([event_from_json(line) for line in shown.splitlines()]).text == text
    else:
        assert shown == text


def test_standard_input_that_does_not_block_is_read_to_its_end():
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    with started(stdin=read_end, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        os.close(read_end)
        with os.fdopen(write_end, "wb", buffering=0) as pipe:
            for piece in (HELLO, finish()):
                time.sleep(0.5)
                pipe.write(piece)
        assert process.communicate(timeout=20)[0].decode() == TEXT
        assert process.returncode == 0


@pytest.mark.parametrize("form", [[], ["--stats"], ["--json", "no such file"]], ids=" ".join)
def test_when_standard_error_breaks_the_answer_is_printed_and_the_status_is_141(saved, form):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with started(*form, saved(GOOD), stdout=subprocess.PIPE, stderr=write_end) as process:
        os.close(write_end)
        shown = process.communicate(timeout=20)[0].decode()
        assert process.returncode == 141
    assert (json.loads(shown)["text"] if "--json" in form else shown) == TEXT


def test_an_interruption_goes_to_no_further_source(saved):
    with started("-", saved(GOOD), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdin.write(chat({"content": "first"}))
        process.stdin.flush()
        read_until(process.stdout.fileno(), b"first")
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=20)
        assert process.returncode == 130
        assert TEXT.encode() not in out


# At a terminal


class Terminal:
    """The command with its three streams, or some of them, at a pseudo-terminal."""

    def __init__(self, *words, stdin=None, stdout=True, stderr=True, env=None, columns=0):
        self.master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (24 if columns else 0, columns))
        environment = {key: value for key, value in ENVIRONMENT.items() if key != "NO_COLOR"}
        self.process = started(
            *words,
            stdin=slave if stdin is None else subprocess.PIPE,
            stdout=slave if stdout else subprocess.PIPE,
            stderr=slave if stderr else subprocess.PIPE,
            env={**environment, "TERM": "xterm", **(env or {})},
        )
        os.close(slave)
        if stdin is not None:
            self.process.stdin.write(stdin)
            self.process.stdin.close()

    def read(self):
        """All that it shows until its end."""
        seen = b""
        with contextlib.suppress(OSError):
            while data := os.read(self.master, 65536):
                seen += data
        self.process.wait(20)
        return seen.decode().replace("\r\n", "\n")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(20)
        os.close(self.master)
        for file in (self.process.stdin, self.process.stdout, self.process.stderr):
            if file is not None:
                file.close()


def test_at_a_terminal_without_input_one_line_says_what_it_waits_for():
    with Terminal() as terminal:
        seen = read_until(terminal.master, b"chunkfold\r\n")
        assert seen.count(b"\n") == 1
        assert b"waiting" in seen
        assert b"standard input" in seen


def test_nothing_is_said_of_waiting_when_input_is_no_terminal():
    assert "waiting" not in command(body=GOOD)[2]


def test_at_a_terminal_reasoning_is_dimmed_and_text_is_not():
    with Terminal(stdin=GOOD) as terminal:
        shown = terminal.read()
    assert "\x1b[2mhm\x1b[0m" in shown
    assert TEXT in shown
    assert "\x1b[2m" + TEXT not in shown
    assert terminal.process.returncode == 0


def test_at_a_terminal_what_is_amiss_is_not_dimmed_and_does_not_run_into_the_text(saved):
    with Terminal(saved(BROKEN + BODIES["too deep"][0])) as terminal:
        lines = terminal.read().splitlines()
    assert lines[1].endswith(TEXT)
    assert lines[2].startswith("chunkfold: ")
    assert lines[3].startswith("! frame_not_json in frame 0: ")


@pytest.mark.parametrize("value", ["1", "yes"])
def test_no_color_is_obeyed(value):
    with Terminal(stdin=GOOD, env={"NO_COLOR": value}) as terminal:
        shown = terminal.read()
    assert "hm" in shown
    assert "\x1b[2m" not in shown


def test_no_color_that_is_empty_counts_for_nothing():
    with Terminal(stdin=GOOD, env={"NO_COLOR": ""}) as terminal:
        assert "\x1b[2mhm" in terminal.read()


def test_a_dumb_terminal_gets_no_escapes_and_no_progress(saved):
    name = saved(chat({"reasoning_content": "hm\n"}) + LONG)
    with Terminal(name, stdout=False, env={"TERM": "dumb"}) as terminal:
        terminal.process.stdout.read()
        shown = terminal.read()
    assert shown.startswith("hm\n")
    assert "\x1b" not in shown
    assert "%" not in shown


def test_no_colour_goes_to_what_is_no_terminal():
    with Terminal(stdin=GOOD, stderr=False) as terminal:
        terminal.read()
        assert b"\x1b" not in terminal.process.stderr.read()
    assert "\x1b" not in command(body=GOOD)[2]


STEERING = "\x1b[2J\x07\x00\x9b31m\x7f\b\r"


def test_what_a_model_writes_cannot_steer_the_terminal():
    body = chat({"reasoning_content": STEERING}) + chat({"content": STEERING}) + chat(call(json.dumps({STEERING: STEERING}), STEERING)) + sse({"error": {"message": STEERING}})  # fmt: skip
    with Terminal(stdin=body, env={"NO_COLOR": "1"}) as terminal:
        shown = terminal.read()
    for code in "\x07\x00\x9b\x7f\b\r":
        assert code not in shown, f"{code!r} reached the terminal"
    assert "\x1b[2J" not in shown
    assert "\u241b[2J" in shown, "it is shown as its picture"


@pytest.mark.parametrize("form", ["--json", "--events", "--native"])
def test_what_a_model_writes_cannot_steer_the_terminal_from_within_json(form):
    """JSON escapes the first 32 itself, not the others: U+009B alone begins a command."""
    body = chat({"content": STEERING}) + finish()
    with Terminal(form, stdin=body) as terminal:
        shown = terminal.read()
    for code in "\x1b\x07\x00\x9b\x7f\b\r":
        assert code not in shown, f"{code!r} reached the terminal"
    record = json.loads(shown.splitlines()[2 if form == "--events" else 0])
    text = record["choices"][0]["message"]["content"] if form == "--native" else record["text"]
    assert text == STEERING


def test_json_that_goes_to_no_terminal_is_not_escaped_more_than_it_must():
    assert "\x9b" in command("--json", body=chat({"content": STEERING}) + finish())[1]


def test_a_name_of_a_file_cannot_steer_the_terminal(tmp_path):
    path = tmp_path / "a\x1b[2Jb"
    path.write_bytes(GOOD)
    with Terminal(str(path), str(path), env={"NO_COLOR": "1"}) as terminal:
        assert "\x1b[2J" not in terminal.read()
    with Terminal(str(path) + "none") as terminal:
        assert "\x1b[2J" not in terminal.read()
    path.write_bytes(LONG)
    with Terminal("--json", str(path), stdout=False) as terminal:
        terminal.process.stdout.read()
        assert "\x1b[2J" not in terminal.read()


def test_at_a_terminal_a_call_is_named_and_a_closing_line_ends_it():
    with Terminal(stdin=HELLO + chat(call('{"a": 1}')) + finish("tool_calls")) as terminal:
        lines = re.sub("\x1b\\[[0-9;]*[mKA]", "", terminal.read()).rstrip("\n").split("\n")
    assert any("get_weather" in line for line in lines)
    assert "m-1" in lines[-1]
    assert "tool_calls" in lines[-1]
    assert "3 in, 4 out" in lines[-1]


def test_a_long_file_shows_progress_at_a_terminal_only(saved):
    name = saved(LONG)
    with Terminal("--json", name, stdout=False) as terminal:
        record = terminal.process.stdout.read()
        shown = terminal.read()
    assert "%" in shown
    assert len(json.loads(record)["text"]) == 2_000_000
    assert "%" not in command("--json", name)[2]


CLEARED = "\r\x1b[K"


@pytest.mark.parametrize("form", [[], ["--events"]], ids=["text", "events"])
def test_progress_does_not_run_into_what_is_shown_as_it_comes(saved, form):
    with Terminal(*form, saved(LONG)) as terminal:
        shown = terminal.read()
    assert "%" not in shown
    assert CLEARED not in shown


def test_progress_does_not_run_into_reasoning(saved):
    """A piece of it stays on its line until the next comes, which is where progress would be written, and erased."""
    name = saved(chat({"content": "x" * 1000}) * 1500 + chat({"reasoning_content": "thought "}) * 2000 + finish())
    with Terminal(name, stdout=False, env={"NO_COLOR": "1"}) as terminal:
        terminal.process.stdout.read()
        shown = terminal.read()
    progress, said = shown.rsplit(CLEARED, 1)
    assert "%" in progress
    assert "thought" not in progress
    assert said.startswith("thought " * 2000 + "\n")


def test_progress_is_gone_when_something_is_complained_of(saved):
    deep = b'data: {"choices":[],"x":' + b"[" * 600 + b"]" * 600 + b"}\n\n"
    with Terminal("--json", saved(LONG + deep + LONG), stdout=False) as terminal:
        terminal.process.stdout.read()
        shown = terminal.read()
    assert re.search(re.escape(CLEARED) + "chunkfold: .* json_depth", shown)


def test_progress_with_a_long_name_stays_on_its_line(saved):
    with Terminal("--json", saved(LONG, "n" * 200), stdout=False) as terminal:
        terminal.process.stdout.read()
        assert max(map(len, terminal.read().split("\r"))) < 60


def test_progress_fits_on_a_narrow_terminal_also_where_characters_are_wide(saved):
    with Terminal("--json", saved(LONG, "\u8a9e" * 60), stdout=False, columns=30) as terminal:
        terminal.process.stdout.read()
        lines = terminal.read().replace("\x1b[K", "").split("\r")
    widths = [sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in line) for line in lines[1:-1]]
    assert lines[1].startswith("…\u8a9e")
    assert sorted(widths) == widths  # or something of the line before would stay
    assert max(widths) < 30


# What the server takes back


def each(*payloads):
    return b"".join(sse(payload) for payload in payloads)


def claude(text):
    return each(
        {"type": "message_start", "message": {"id": "m", "model": "m-1", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
    )


ENDED = each({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {"type": "message_stop"})


def spoken(deltas, whole):
    """Deltas of `openai-responses`, and the text as the last event states it."""
    return each(
        {"type": "response.created", "response": {"id": "r", "model": "m-1", "output": []}},
        *[
            {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text}
            for text in deltas
        ],
        {"type": "response.output_text.done", "output_index": 0, "content_index": 0, "text": whole},
        {"type": "response.completed", "response": {"id": "r", "status": "completed"}},
    )


@pytest.mark.parametrize(
    ("body", "shown"), [(claude("old") + claude("new") + ENDED, "oldnew"), (spoken(["old"], "new"), "old")],
    ids=["begun anew", "stated otherwise"],
)  # fmt: skip
def test_what_was_shown_and_taken_back_is_told_of(run, saved, body, shown):
    name = saved(body)
    assert json.loads(run("--json", name)[1])["text"] == "new"
    status, out, err = run(name)
    assert (status, out) == (0, shown)
    assert "differs from what was shown" in err
    with Terminal(name, env={"NO_COLOR": "1"}) as terminal:
        assert terminal.read().splitlines()[:-2] == (["old", "new"] if shown == "oldnew" else ["old"])


def test_what_the_server_adds_by_stating_the_text_whole_is_shown(run, saved):
    assert run(saved(spoken(["Grüße "], TEXT))) == (0, TEXT, "m-1 · stop\n")
    assert run(saved(spoken([], TEXT))) == (0, TEXT, "m-1 · stop\n")


def test_nothing_is_told_of_where_all_was_shown(run, saved):
    assert "differs" not in run(saved(spoken([TEXT], TEXT)))[2]
    assert "differs" not in run(saved(claude(TEXT)))[2]


# Odd places to write to


def test_main_writes_to_what_stands_for_standard_output(saved, monkeypatch):
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    assert cli.main([saved(GOOD)]) == 0
    assert out.getvalue() == TEXT
    assert "m-1" in err.getvalue()


def test_every_status_of_the_promise_is_tried_here():
    tried = {status for _, status in BODIES.values()} | {2, 130, 141}
    assert tried == {0, 2, 3, 4, 5, 6, 7, 130, 141}
