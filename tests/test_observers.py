"""Callbacks beside a stream, and the other small comforts of the doors."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from itertools import pairwise
from pathlib import Path

import pytest

import chunkfold
from chunkfold import Policy, PolicyError, presets
from chunkfold.doors._source_folder import SourceFolder
from tests.helpers import body_of, case_files, load_case


def chunk(delta, reason=None, usage=None):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "choices": [choice], "usage": usage}


def call(**function):
    return {"tool_calls": [{"index": 0, "id": function.pop("id", None), "function": function}]}


CHUNKS = [
    chunk({"reasoning_content": "Hm"}),
    chunk({"content": "Hel"}),
    chunk({"content": "lo"}),
    chunk(call(id="a", name="f", arguments='{"x":')),
    chunk(call(arguments="1}")),
    chunk({}, "tool_calls", {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}),
]

IN_ONE_READ = b"".join([b"data: %s\n\n" % json.dumps(one).encode() for one in CHUNKS]) + b"data: [DONE]\n\n"


def observers(heard):
    return {
        name: lambda news, name=name: heard.append((name, news))
        for name in ("on_text", "on_reasoning", "on_tool_call", "on_usage", "on_done")
    }


def check(heard, response):
    assert [(name, news) for name, news in heard if name in ("on_text", "on_reasoning")] == [
        ("on_reasoning", "Hm"),
        ("on_text", "Hel"),
        ("on_text", "lo"),
    ]
    calls = [news for name, news in heard if name == "on_tool_call"]
    assert [(one.name, one.arguments, one.status) for one in calls] == [("f", {"x": 1}, "complete")]
    assert [news.total_tokens for name, news in heard if name == "on_usage"] == [3]
    assert [news for name, news in heard if name == "on_done"] == [response]
    assert heard[-1][0] == "on_done"


def test_each_observer_hears_its_kind_of_news():
    heard = []
    with chunkfold.stream(CHUNKS, **observers(heard)) as events:
        for _ in events:
            pass
    check(heard, events.response())


def test_observers_of_an_astream():
    heard = []

    async def run():
        async with chunkfold.astream(CHUNKS, **observers(heard)) as events:
            async for _ in events:
                pass
        return events.response()

    check(heard, asyncio.run(run()))


def test_observers_change_nothing_in_the_events():
    """With observers plain deltas are read as all others are."""
    for path in case_files("openai-chat")[:20]:
        body = body_of(load_case(path))
        pieces = [body[at : at + 300] for at in range(0, len(body), 300)]
        heard = []
        assert list(chunkfold.stream(pieces, **observers(heard))) == list(chunkfold.stream(pieces)), path.stem
        assert heard[-1] == ("on_done", chunkfold.fold(pieces))


@pytest.mark.parametrize("name", ["on_text", "on_reasoning", "on_tool_call", "on_usage", "on_done"])
def test_an_observer_that_raises_is_reported_once_and_stops_nothing(name, caplog):
    heard = []

    def failing(news):
        raise ZeroDivisionError

    events = chunkfold.stream(CHUNKS, **observers(heard) | {name: failing})
    assert list(events)[-1].type == "message_stop"
    assert events.response().finish_reason == "tool_calls"
    assert {other for other, _ in heard} == {"on_text", "on_reasoning", "on_tool_call", "on_usage", "on_done"} - {name}
    reports = [record for record in caplog.records if record.name == "chunkfold"]
    assert [record.getMessage() for record in reports] == [f"the observer {name} raised; the stream goes on"]
    assert reports[0].levelno == logging.WARNING
    assert reports[0].exc_info[0] is ZeroDivisionError


def test_an_interruption_in_an_observer_is_no_fault():
    def interrupting(news):
        raise KeyboardInterrupt

    events = chunkfold.stream(CHUNKS, on_text=interrupting)
    with pytest.raises(KeyboardInterrupt):
        list(events)
    assert events.response().ended == "cancelled"


class Closing:
    """Counts how often it is closed."""

    def __init__(self, pieces):
        self.pieces = iter(pieces)
        self.closed = 0

    def __iter__(self):
        return self.pieces

    def close(self):
        self.closed += 1


async def read_all(events):
    async for _ in events:
        pass


async def read_one(events):
    async for _ in events:
        break
    await events.aclose()


WAYS = {
    "stream, the end": (chunkfold.stream, list),
    "stream, closed": (chunkfold.stream, lambda events: (next(events), events.close())),
    "astream, the end": (chunkfold.astream, lambda events: asyncio.run(read_all(events))),
    "astream, closed": (chunkfold.astream, lambda events: asyncio.run(read_one(events))),
}


@pytest.mark.parametrize(("door", "leave"), WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("name", ["on_tool_call", "on_done"])
def test_an_observer_that_is_interrupted_at_the_end_leaves_nothing_open(door, leave, name):
    """A call is told when it is complete, and many are at the end alone."""

    def interrupting(news):
        raise KeyboardInterrupt

    source, heard = Closing([chunk(call(id="a", name="f", arguments="{}"))]), []
    events = door(source, **observers(heard) | {name: interrupting})
    with pytest.raises(KeyboardInterrupt):
        leave(events)
    assert source.closed == 1
    assert events.response().ended is not None
    assert [what for what, _ in heard if what == "on_done"] == (["on_done"] if name != "on_done" else [])


@pytest.mark.parametrize(("door", "leave"), WAYS.values(), ids=WAYS)
def test_an_interruption_while_the_end_is_folded_is_told_as_the_end(door, leave, monkeypatch):
    def interrupted(folder, error=None):
        raise KeyboardInterrupt

    source, heard = Closing(CHUNKS), []
    events = door(source, on_done=heard.append)
    monkeypatch.setattr(SourceFolder, "finish", interrupted)
    with pytest.raises(KeyboardInterrupt):
        leave(events)
    assert source.closed == 1
    assert heard == [events.response()]


@pytest.mark.parametrize("name", ["on_text", "on_reasoning", "on_tool_call", "on_usage"])
@pytest.mark.parametrize("act", [lambda events: events.close(), list], ids=["closes", "reads-on"])
def test_what_an_observer_brings_about_is_told_behind_what_is_being_told(name, act):
    """Who has seen enough closes the stream from an observer, while more of the same read is to be told."""
    expected, heard = [], []
    list(chunkfold.stream(IN_ONE_READ, **observers(expected)))

    def acting(news):
        heard.append((name, news))
        act(events)

    events = chunkfold.stream(IN_ONE_READ, **observers(heard) | {name: acting})
    list(events)
    assert heard == expected


def test_an_interruption_behind_an_observer_that_closes_is_told_as_the_end():
    def interrupting(news):
        raise KeyboardInterrupt

    heard = []
    events = chunkfold.stream(
        IN_ONE_READ, on_reasoning=lambda news: events.close(), on_text=interrupting, on_done=heard.append
    )
    with pytest.raises(KeyboardInterrupt):
        list(events)
    assert heard == [events.response()]


def test_a_call_that_is_cut_is_told_with_its_status():
    heard = []
    list(chunkfold.stream(CHUNKS[:4], on_tool_call=heard.append))
    assert [(one.raw_arguments, one.status) for one in heard] == [('{"x":', "truncated")]


@pytest.mark.parametrize(
    "function", [{"name": "f", "arguments": "12"}, {"name": "f", "arguments": '"x'}, {"name": "f", "arguments": "[1]"}]
)
@pytest.mark.parametrize("reason", [None, "length", "stop"])
def test_a_call_without_an_object_is_told_as_the_response_has_it(function, reason):
    heard = []
    pieces = [chunk(call(id="a", **function)), *([chunk({}, reason)] if reason else [])]
    events = chunkfold.stream(pieces, policy=Policy(non_object_arguments="accept"), on_tool_call=heard.append)
    list(events)
    assert tuple(heard) == events.response().tool_calls
    assert heard[0].is_usable == (
        function["arguments"] != '"x' and (reason == "stop" or function["arguments"] == "[1]")
    )


POLICIES = {
    "reasoning dropped": Policy(reasoning="drop"),
    "sorted by index": Policy(order="index"),
    "sorted by their end": Policy(order="closed", reasoning="observe"),
    "ids made up": Policy(missing_id="make", reasoning="drop"),
    "null for what cannot be used": Policy(unusable_arguments="null", missing_name="drop"),
    **{name: getattr(presets, name) for name in ("behest", "open_agent", "req_llm", "nous", "loopctl")},
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_every_call_that_the_policy_hands_out_is_told_whatever_its_place(policy):
    """A policy takes parts away and sorts them: where a call stands in the response is not the index of its events."""
    second = {"tool_calls": [{"index": 1, "function": {"name": "g", "arguments": '{"b":2}'}}]}
    cut = {"tool_calls": [{"index": 2, "id": "c", "function": {"name": "h", "arguments": '{"b'}}]}
    nameless = {"tool_calls": [{"index": 3, "id": "d", "function": {"arguments": "{}"}}]}
    chunks = [chunk({"reasoning_content": "Hm"}), chunk(second), chunk(call(id="a", name="f", arguments="{}"))]
    for pieces in (chunks, [*chunks, chunk(cut), chunk(nameless), chunk({}, "tool_calls")]):
        heard = []
        events = chunkfold.stream(pieces, policy=policy, on_tool_call=heard.append)
        with contextlib.suppress(PolicyError):
            list(events)
        given = events.response().tool_calls
        assert sorted(heard, key=repr) == sorted(given, key=repr)
        assert len(given) >= 1


# All but the few that are long, which are nearly all bytes of the cases.
CASES = {f"{path.parent.name}/{path.stem}": load_case(path) for path in case_files()}
SHORT_STREAMS = {name: body_of(case) for name, case in CASES.items() if "body_template" not in case}


@pytest.mark.parametrize("policy", [None, *POLICIES.values()], ids=["default", *POLICIES])
def test_the_calls_that_are_told_are_those_of_the_response(policy):
    for name, body in SHORT_STREAMS.items():
        heard = []
        events = chunkfold.stream(body, policy=policy, on_tool_call=heard.append)
        with contextlib.suppress(Exception):
            list(events)
        assert {(one.id, one.name) for one in events.response().tool_calls} <= {(one.id, one.name) for one in heard}
        assert all(one.kind == "tool_call" and one.status != "open" for one in heard), name


@pytest.mark.parametrize("how", ["latest", "max", "replace", "sum"])
def test_the_usage_that_is_told_is_that_of_the_response(how):
    for name, body in SHORT_STREAMS.items():
        heard = []
        events = chunkfold.stream(body, policy=Policy(usage=how), on_usage=heard.append)
        with contextlib.suppress(Exception):
            list(events)
        assert (heard[-1] if heard else None) == events.response().usage, name
        assert all(one != following for one, following in pairwise(heard)), name


def test_text_is_the_answer_alone():
    assert list(chunkfold.stream(CHUNKS).text()) == ["Hel", "lo"]

    async def run():
        return [text async for text in chunkfold.astream(CHUNKS).text()]

    assert asyncio.run(run()) == ["Hel", "lo"]


# Lines

BODY = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize("kind", [bytes, bytearray, str])
def test_lines_get_their_ends_back(kind):
    stripped = [line.decode() if kind is str else kind(line) for line in BODY.split(b"\n")[:-1]]
    assert b"".join(chunkfold.lines(stripped)) == BODY
    assert chunkfold.fold(chunkfold.lines(stripped)) == chunkfold.fold(BODY)


@pytest.mark.parametrize("kind", [bytes, str])
def test_asynchronous_lines_get_their_ends_back_too(kind):
    closed = []

    async def stripped():
        try:
            for line in BODY.split(b"\n")[:-1]:
                yield line.decode() if kind is str else line
        finally:
            closed.append(True)

    assert asyncio.run(chunkfold.afold(chunkfold.lines(stripped()))) == chunkfold.fold(BODY)

    async def leave():
        async with chunkfold.astream(chunkfold.lines(stripped())) as events:
            await anext(events)

    closed.clear()
    asyncio.run(leave())
    assert closed == [True]


def test_leaving_closes_the_lines_beneath():
    closed = []

    def stripped():
        try:
            yield from BODY.split(b"\n")
        finally:
            closed.append(True)

    source = stripped()
    with chunkfold.stream(chunkfold.lines(source)) as events:
        next(events)
        assert not closed
    assert closed == [True]


def test_lines_that_have_their_ends_are_left_alone():
    assert b"".join(chunkfold.lines(BODY.splitlines(keepends=True))) == BODY


@pytest.mark.parametrize("door", [chunkfold.fold, lambda source: asyncio.run(chunkfold.afold(source))])
def test_who_forgot_it_is_told(door):
    response = door(BODY.split(b"\n"))
    notes = [item for item in response.diagnostics if item.kind == "line_ends_missing"]
    assert ["chunkfold.lines" in item.detail for item in notes] == [True]


# Usage


def test_the_sum_of_usages_leaves_unknown_what_none_of_them_reports():
    total = chunkfold.Usage.sum(
        [chunkfold.Usage(1, 2, 3, cached_input_tokens=0, raw={"a": 1}), None, chunkfold.Usage(10, None, 30)]
    )
    assert total == chunkfold.Usage(11, 2, 33, cached_input_tokens=0)
    assert total.reasoning_tokens is None
    assert chunkfold.Usage.sum([]) == chunkfold.Usage()


# The manual

PAGE = (Path(__file__).parent.parent / "docs" / "doors.md").read_text(encoding="utf-8")


def block(title):
    section = PAGE[PAGE.index(f"\n## {title}\n") + 1 :].split("\n## ")[0]
    space = {}
    exec(compile(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[-1], "docs/doors.md", "exec"), space)
    return space


def test_the_observers_of_the_manual():
    said = []
    assert block("Observers")["record"](CHUNKS, lambda *news: said.append(news)) == "Hello"
    assert said == [
        ("reasoning", "Hm"),
        ("text", "Hel"),
        ("text", "lo"),
        ("usage", 3),
        ("call", "f", "complete"),
        ("done", "clean"),
    ]


@pytest.mark.parametrize("silent", [False, True])
def test_the_time_limit_of_the_manual_keeps_what_came(silent):
    async def source():
        yield BODY.removesuffix(b"data: [DONE]\n\n") if silent else BODY
        if silent:
            await asyncio.Event().wait()

    response = asyncio.run(block("Ways out")["answer_within"](source(), 0.02))
    assert response.text == "Hi"
    assert response.ended == ("cancelled" if silent else "clean")


def test_the_lines_of_the_manual():
    class Answer:
        def iter_lines(self):
            return iter(BODY.decode().split("\n"))

    assert block("Lines")["read"](Answer()) == chunkfold.fold(BODY)


class Upstream:
    """Pieces cut anywhere, and an exception at the end where there is one."""

    def __init__(self, error=None):
        self.error = error

    def __iter__(self):
        for at in range(0, len(BODY), 7):
            yield BODY[at : at + 7]
        if self.error is not None:
            raise self.error


def tee(upstream, stop=None):
    kept, passed = [], []
    pieces = block("A gateway that passes the bytes on")["tee"](upstream, kept.append)
    for piece in pieces:
        passed.append(piece)
        if len(passed) == stop:
            break
    pieces.close()
    return b"".join(passed), kept


def test_the_bytes_of_the_gateway_are_unchanged():
    passed, kept = tee(Upstream())
    assert passed == BODY
    assert kept == [chunkfold.fold(BODY)]


def test_a_client_that_hangs_up_on_the_gateway():
    passed, kept = tee(Upstream(), stop=3)
    assert passed == BODY[:21]
    assert [response.ended for response in kept] == ["cancelled"]


def test_an_upstream_that_breaks_the_gateway():
    kept = []
    with pytest.raises(OSError, match="reset"):
        list(block("A gateway that passes the bytes on")["tee"](Upstream(OSError("reset")), kept.append))
    assert [response.error.message for response in kept] == ["reset"]
    assert kept[0].text == "Hi"


def test_a_limit_of_the_folder_is_not_one_of_the_gateway(monkeypatch):
    kept = []
    space = block("A gateway that passes the bytes on")
    small = type("small", (), {**vars(chunkfold), "Folder": lambda: chunkfold.Folder(limits=chunkfold.Limits(parts=0))})
    space["tee"].__globals__["chunkfold"] = small
    assert b"".join(space["tee"](Upstream(), kept.append)) == BODY
    assert [response.error.type for response in kept] == ["limit_exceeded"]
