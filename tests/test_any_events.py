"""Events in any order, as a journal that was cut or written by hand has them: nothing raises, snapshots change nothing."""

from __future__ import annotations

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from chunkfold import Policy, Response, StreamAccumulator, dialects
from chunkfold.events import (
    Annotations,
    DataDelta,
    ErrorEvent,
    Extra,
    Finish,
    MessageReset,
    MessageStart,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolArgumentsDelta,
    UnknownEvent,
    UsageUpdate,
    event_from_json,
)
from chunkfold.parts import Kind, ReasoningPart, TextPart, ToolCall, UnknownPart
from chunkfold.response import StreamError, Usage

CHOICES = st.sampled_from([0, 0, 0, 1])
PLACES = st.sampled_from([0, 0, 1, 1, 2, 7])
AT = (CHOICES, PLACES)
TEXTS = st.sampled_from(["", "a", "{", '{"a":1}', "\ud83d"])
NAMES = st.sampled_from([None, "a", "b"])
FIELDS = st.sampled_from([{}, {"a": 1}, {"a": {"b": 2}}, {"status": "x"}, {"text": "t"}, {"name": 5}, {"content": [1]}])
PAYLOADS = st.sampled_from([{"a": 1}, [1], "s", None])
PATHS = st.sampled_from([("a",), ("choices", 0, "message", "x"), ("output", 0, "y")])
PARTS = st.one_of(
    st.builds(TextPart, TEXTS, extra=FIELDS),
    st.builds(ReasoningPart, TEXTS, extra=FIELDS),
    st.builds(ToolCall, id=NAMES, name=NAMES, raw_arguments=TEXTS, extra=FIELDS),
    st.builds(UnknownPart, st.just("n"), PAYLOADS),
)
EVENTS = st.one_of(
    st.builds(MessageStart, id=NAMES, dialect=st.sampled_from([None, *dialects.names()])),
    st.builds(PartStart, *AT, st.sampled_from(get_args(Kind)), id=NAMES, name=NAMES, extra=FIELDS),
    *(st.builds(delta, *AT, TEXTS) for delta in (TextDelta, ReasoningDelta, RefusalDelta, ToolArgumentsDelta)),
    st.builds(DataDelta, *AT, st.just(b"z")),
    st.builds(PartUpdate, *AT, id=NAMES, name=NAMES, extra=FIELDS),
    st.builds(PartReplace, *AT, PARTS),
    st.builds(PartStop, CHOICES, st.none() | PLACES),
    st.builds(Annotations, CHOICES, st.none() | PLACES, st.just(({"a": 1},))),
    st.builds(Finish, CHOICES, st.sampled_from(["stop", "length"])),
    st.builds(MessageReset, st.sampled_from([0, 1, 2]), st.sampled_from(["replay", "step", "attempt"])),
    st.builds(UsageUpdate, st.just(Usage(input_tokens=1, raw={"p": 1}))),
    st.builds(Extra, PATHS, PAYLOADS),
    st.builds(UnknownEvent, st.just("n"), PAYLOADS),
    st.just(ErrorEvent(StreamError("t", "m"))),
)
JOURNALS = st.builds(
    lambda events, stop, behind: [*events, *stop, *behind],
    st.lists(EVENTS, min_size=1, max_size=14),
    st.sampled_from([[], [MessageStop("clean")], [MessageStop("error")]]),
    st.just([]) | st.lists(EVENTS, max_size=3),
)
POLICIES = st.sampled_from(
    [
        None,
        Policy(orphans="drop"),
        Policy(duplicate_start="merge", name_merge="last"),
        Policy(duplicate_start="replace", orphans="wait"),
        Policy(order="closed", late_deltas="drop"),
    ]
)


def folded(events, policy):
    accumulator = StreamAccumulator(policy)
    accumulator.observe_all(events)
    return accumulator


@given(JOURNALS, st.integers(0), POLICIES)
def test_snapshots_and_journals_change_nothing(events, looks, policy):
    journal = [event.to_json() for event in events]
    accumulator = StreamAccumulator(policy)
    for number, event in enumerate(events):
        accumulator.observe(event)
        if looks >> number & 1:
            afresh = folded(events[: number + 1], policy).snapshot()
            assert accumulator.snapshot() == afresh
            assert accumulator.snapshot().tool_calls == afresh.tool_calls
    response = accumulator.finalize()
    assert response == folded([event_from_json(line) for line in journal], policy).finalize()
    assert response == Response.from_json(response.to_json())
    assert [event.to_json() for event in events] == journal


@given(JOURNALS, st.sampled_from(dialects.names()))
def test_what_came_of_them_can_be_written_in_every_form(events, dialect):
    response = folded(events, None).finalize()
    assert response.message.to_request(dialect) is not None
    if response.dialect is not None:
        assert response.to_native() is not None
