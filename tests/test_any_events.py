"""Events in any order, also such as no decoder writes: a journal may be written by hand, and nothing is raised."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chunkfold
from chunkfold import Response, StreamAccumulator, events
from chunkfold.parts import ImagePart, ReasoningPart, TextPart, ToolCall, ToolResult, UnknownPart
from chunkfold.response import Diagnostic, StreamError, Usage

choices, indexes = st.integers(0, 1), st.integers(0, 2)
kinds = st.sampled_from([
    "text", "reasoning", "refusal", "tool_call", "server_tool_call", "server_tool_result", "image", "audio", "file",
    "unknown",
])  # fmt: skip
texts = st.sampled_from(["", "a", "{", "}", "é"])
names = st.none() | st.sampled_from(["x", "y"])
values = st.sampled_from([None, 1, "s", [1], {"k": 1}, True])
fields = st.sampled_from([
    "a", "data", "url", "text", "name", "id", "start_arguments", "stream_only", "media_type", "transcript", "call_id",
    "content", "signature", "encrypted", "summary", "index", "phase", "is_error", "$field",
])  # fmt: skip
extras = st.dictionaries(fields, values, max_size=3)
paths = st.lists(st.sampled_from(["a", "-", "choices", 0, 1]), max_size=4).map(tuple)
parts = st.sampled_from([
    TextPart("t", "i"), ReasoningPart("r", "s"), ToolCall("i", "n", "{}"), ToolResult("i"), ImagePart(url="u"),
    UnknownPart(),
])  # fmt: skip
deltas = (events.TextDelta, events.ReasoningDelta, events.RefusalDelta, events.ToolArgumentsDelta)
any_event = st.one_of(
    st.builds(events.PartStart, choices, indexes, kinds, names, names, names, st.booleans(), extras),
    *(st.builds(delta, choices, indexes, texts) for delta in deltas),
    st.builds(events.DataDelta, choices, indexes, st.sampled_from([b"", b"ab"])),
    st.builds(events.PartUpdate, choices, indexes, names, names, names, extras),
    st.builds(events.PartReplace, choices, indexes, parts),
    st.builds(events.PartStop, choices, indexes),
    st.builds(events.Annotations, choices, st.none() | indexes, st.just(({"a": 1},))),
    st.builds(events.Logprobs, choices, st.just(({"t": 1},))),
    st.builds(events.Extra, paths, values),
    st.builds(events.UnknownEvent, st.just("n"), st.sampled_from([None, {}, 1])),
    st.builds(events.MessageReset, st.integers(0, 3), st.sampled_from(["replay", "attempt", "step"])),
    st.builds(events.Finish, choices, st.sampled_from(["stop", "tool_calls", None]), names),
    st.just(events.UsageUpdate(Usage(1, 2))),
    st.just(events.ErrorEvent(StreamError("e"))),
    st.just(events.DiagnosticEvent(Diagnostic("k", 0))),
    st.just(events.MessageStart(id="i")),
    st.just(events.Ping()),
)
policies = st.builds(
    chunkfold.Policy,
    duplicate_start=st.sampled_from(["new", "merge", "replace"]),
    orphans=st.sampled_from(["keep", "wait", "drop"]),
    late_deltas=st.sampled_from(["keep", "drop"]),
    unclosed_parts=st.sampled_from(["keep", "drop"]),
    order=st.sampled_from(["started", "index", "closed"]),
    id_merge=st.sampled_from(["first", "last"]),
    reasoning=st.sampled_from(["keep", "observe", "drop"]),
)


@given(st.lists(any_event, max_size=8), policies)
def test_any_events_make_a_response(told, policy):
    accumulator = StreamAccumulator(policy)
    for event in told:
        accumulator.observe(event)
        accumulator.snapshot().to_json()
    response = accumulator.finalize()
    assert Response.from_json(response.to_json()) == response
    text = "".join(event.text for event in told if isinstance(event, events.TextDelta))
    if policy.orphans == policy.late_deltas == "keep" and not any(isinstance(event, _TAKING_BACK) for event in told):
        said = [part.text for choice in response.choices for part in choice.parts if part.kind == "text"]
        said += [part.transcript or "" for choice in response.choices for part in choice.parts if part.kind in _MEDIA]
        if policy.unclosed_parts == "keep" and policy.duplicate_start == "new":
            assert sorted("".join(said)) == sorted(text), "a text was lost, or came twice"


_MEDIA = ("image", "audio", "file")
_TAKING_BACK = (events.PartReplace, events.MessageReset, events.PartStart)


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ([events.TextDelta(0, 2, "a"), events.PartUpdate(0, 2, id="i", signature="s")], "image"),
        ([events.PartReplace(0, 2, ToolCall("i", "n", "{}"))], "server_tool_result"),
        ([events.PartReplace(0, 2, TextPart("t", "i"))], "unknown"),
    ],
)
def test_a_start_of_another_kind_keeps_what_came_before_it(before, kind):
    accumulator = StreamAccumulator()
    accumulator.observe_all([*before, events.PartStart(0, 2, kind)])
    parts = accumulator.finalize().parts
    assert kind in [part.kind for part in parts]
    assert "'i'" in repr([part.to_dict() for part in parts])


def test_a_snapshot_between_arguments_and_their_start_changes_nothing():
    made = []
    for is_looked_at in (False, True):
        accumulator = StreamAccumulator()
        accumulator.observe_all([events.ToolArgumentsDelta(0, 0, "ls"), events.PartStop(0, 0)])
        if is_looked_at:
            accumulator.snapshot()
        accumulator.observe(events.PartStart(0, 0, "tool_call", "c", "shell", "custom"))
        made.append(accumulator.finalize())
    assert made[0] == made[1]
    assert made[0].tool_calls[0].is_usable


def test_an_id_of_a_text_is_that_of_no_call():
    accumulator = StreamAccumulator(chunkfold.Policy(duplicate_start="merge"))
    accumulator.observe_all([events.TextDelta(0, 0, "a"), events.PartUpdate(0, 0, id="c")])
    accumulator.observe_all([events.PartStart(0, 1, "tool_call", "c", "f"), events.ToolArgumentsDelta(0, 1, "{}")])
    response = accumulator.finalize()
    assert (response.text, response.tool_calls[0].raw_arguments) == ("a", "{}")


def test_bytes_for_what_has_become_a_text_are_kept_beside_it():
    accumulator = StreamAccumulator()
    data = events.DataDelta(0, 2, b"x")
    accumulator.observe_all([events.TextDelta(0, 2, "a"), data, events.PartReplace(0, 2, TextPart("b")), data])
    assert sorted(part.kind for part in accumulator.finalize().parts) == ["file", "text", "text"]


def test_bytes_for_a_text_are_kept_beside_it():
    accumulator = StreamAccumulator()
    accumulator.observe(events.PartStart(0, 0, "text"))
    accumulator.observe(events.TextDelta(0, 0, "a"))
    accumulator.observe(events.DataDelta(0, 0, b"b"))
    response = accumulator.finalize()
    assert response.text == "a"
    assert [part.data for part in response.parts if part.kind == "file"] == [b"b"]
    assert [diagnostic.kind for diagnostic in response.diagnostics] == ["orphan_delta"]


def test_a_path_may_have_a_dash_anywhere():
    accumulator = StreamAccumulator()
    for path, value in ((("a", "-"), 1), (("a", "-"), 2), (("-", "b"), 3), (("-",), {"b": 4})):
        accumulator.observe(events.Extra(path, value))
    assert accumulator.finalize().extra == {"a": [1, 2], "-": {"b": 4}}
