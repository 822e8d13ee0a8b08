"""Events in, the response out."""

from __future__ import annotations

import pytest

from chunkfold import (
    AudioPart,
    Diagnostic,
    FilePart,
    ImagePart,
    Limits,
    Policy,
    ReasoningPart,
    RefusalPart,
    StreamAccumulator,
    StreamError,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
    Usage,
)
from chunkfold.events import (
    Annotations,
    DataDelta,
    DiagnosticEvent,
    ErrorEvent,
    Extra,
    Finish,
    Logprobs,
    MessageReset,
    MessageStart,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    Ping,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolArgumentsDelta,
    UnknownEvent,
    UsageUpdate,
)


def observed(*events, **options):
    accumulator = StreamAccumulator(**options)
    for event in events:
        accumulator.observe(event)
    return accumulator


def folded(*events, **options):
    return observed(*events, **options).finalize()


def parts_of(*events):
    return folded(*events).parts


CLEAN = MessageStop("clean")


# Parts


def test_pieces_of_parts_that_are_open_at_once_do_not_mix():
    response = folded(
        PartStart(0, 0, "text"),
        PartStart(0, 1, "tool_call", "a", "f", "function"),
        PartStart(0, 2, "tool_call", "b", "g", "function"),
        TextDelta(0, 0, "x"),
        ToolArgumentsDelta(0, 2, '{"b"'),
        ToolArgumentsDelta(0, 1, '{"a"'),
        TextDelta(0, 0, "y"),
        ToolArgumentsDelta(0, 1, ":1}"),
        ToolArgumentsDelta(0, 2, ":2}"),
        CLEAN,
    )
    assert response.text == "xy"
    assert [(call.id, call.arguments) for call in response.tool_calls] == [("a", {"a": 1}), ("b", {"b": 2})]
    assert [part.kind for part in response.parts] == ["text", "tool_call", "tool_call"]


def test_choices_do_not_mix():
    response = folded(
        PartStart(1, 0, "text"),
        TextDelta(1, 0, "one"),
        PartStart(0, 0, "text"),
        TextDelta(0, 0, "zero"),
        Finish(1, "length", "max"),
        Finish(0, "stop", "end"),
        Logprobs(1, ({"t": 1},)),
        Annotations(1, 0, ({"u": 1},)),
        CLEAN,
    )
    assert [choice.index for choice in response.choices] == [0, 1]
    assert [choice.text for choice in response.choices] == ["zero", "one"]
    assert [choice.finish_reason for choice in response.choices] == ["stop", "length"]
    assert response.logprobs == response.annotations == ()
    assert response.choices[1].logprobs == ({"t": 1},)
    assert response.choices[1].annotations == response.choices[1].parts[0].annotations == ({"u": 1},)


def test_each_kind_of_part_is_built_of_its_events():
    made = parts_of(
        PartStart(0, 0, "text", "t", extra={"phase": "final", "x": 1}),
        TextDelta(0, 0, "a"),
        PartUpdate(0, 0, signature="s"),
        PartStart(0, 1, "reasoning", extra={"summary": True, "encrypted": "e", "y": 2}),
        ReasoningDelta(0, 1, "b"),
        PartUpdate(0, 1, signature="s1"),
        PartUpdate(0, 1, signature="s2"),
        PartStart(0, 2, "refusal"),
        RefusalDelta(0, 2, "c"),
        PartStart(0, 3, "server_tool_call", "id", "search", "web_search", server_side=True, extra={"index": 4}),
        ToolArgumentsDelta(0, 3, "{}"),
        PartStart(0, 4, "server_tool_result", "id", "search", extra={"content": [1], "is_error": True, "z": 3}),
        PartStart(0, 5, "image", extra={"media_type": "image/png", "final": False}),
        DataDelta(0, 5, b"\x00"),
        DataDelta(0, 5, b"\x01"),
        PartStart(0, 6, "audio", "au"),
        TextDelta(0, 6, "words"),
        PartStart(0, 7, "file", extra={"url": "u"}),
        PartStart(0, 8, "unknown", name="odd", extra={"k": "v"}),
        CLEAN,
    )
    assert made == (
        TextPart("a", "t", "final", signature="s", extra={"x": 1}),
        ReasoningPart("b", "s2", "e", summary=True, extra={"y": 2}),
        RefusalPart("c"),
        ToolCall("id", "search", "{}", "complete", "web_search", server_side=True, index=4),
        ToolResult("id", "search", [1], is_error=True, extra={"z": 3}),
        ImagePart("image/png", b"\x00\x01", final=False),
        AudioPart(id="au", transcript="words"),
        FilePart(url="u"),
        UnknownPart("odd", {"k": "v"}),
    )


def test_an_id_and_a_name_that_come_late_are_taken_and_none_erases_nothing():
    (call,) = folded(
        PartStart(0, 0, "tool_call", tool_type="custom"),
        PartUpdate(0, 0, id="late"),
        PartUpdate(0, 0, name="f"),
        PartUpdate(0, 0, extra={"signature": "s"}),
        CLEAN,
    ).tool_calls
    assert (call.id, call.name, call.type, call.extra) == ("late", "f", "custom", {"signature": "s"})


@pytest.mark.parametrize("policy", [None, Policy(id_merge="last", name_merge="last"), Policy(name_merge="first")])
def test_a_fact_of_a_part_that_is_empty_says_nothing(policy):
    call, thought = folded(
        PartStart(0, 0, "tool_call", id="a", name="f"),
        PartUpdate(0, 0, id="", name="", signature=""),
        PartStart(0, 1, "reasoning"),
        PartUpdate(0, 1, signature="s"),
        PartUpdate(0, 1, signature=""),
        CLEAN,
        policy=policy,
    ).parts
    assert (call.id, call.name, call.extra, thought.signature) == ("a", "f", {}, "s")


def test_a_part_stated_whole_replaces_what_was_gathered_and_keeps_what_it_leaves_unsaid():
    made = parts_of(
        PartStart(0, 0, "text", "t", extra={"x": 1}),
        TextDelta(0, 0, "draft"),
        PartUpdate(0, 0, signature="s"),
        PartReplace(0, 0, TextPart("final")),
        TextDelta(0, 0, "!"),
        PartStart(0, 1, "tool_call", "i", "f", "function"),
        ToolArgumentsDelta(0, 1, '{"a": 1}'),
        PartReplace(0, 1, ToolCall(raw_arguments='{"a": 2}', status="complete")),
        CLEAN,
    )
    assert made[0] == TextPart("final!", "t", signature="s", extra={"x": 1})
    assert (made[1].id, made[1].name, made[1].arguments) == ("i", "f", {"a": 2})


def test_a_replacement_may_be_of_another_kind():
    (part,) = parts_of(PartStart(0, 0, "text"), TextDelta(0, 0, "a"), PartReplace(0, 0, ReasoningPart("b")), CLEAN)
    assert part == ReasoningPart("b")


def test_what_is_unknown_is_a_part_at_the_next_place():
    made = parts_of(PartStart(0, 0, "text"), UnknownEvent("x", {"a": 1}), PartStart(0, 2, "text"), TextDelta(0, 2, "b"))
    assert made == (TextPart(), UnknownPart("x", {"a": 1}), TextPart("b"))


def test_a_delta_to_a_part_that_was_never_started_is_kept_and_noted():
    response = folded(TextDelta(0, 0, "a"), TextDelta(0, 0, "b"), ToolArgumentsDelta(0, 1, "{}"), CLEAN)
    assert response.text == "ab"
    assert [call.raw_arguments for call in response.tool_calls] == ["{}"]
    assert {note.kind for note in response.diagnostics} == {"orphan_delta"}
    assert len(response.parts) == 2


def test_a_delta_after_the_end_of_its_part_is_kept_and_the_call_judged_anew():
    accumulator = observed(
        PartStart(0, 0, "tool_call", "i", "f", "function"), ToolArgumentsDelta(0, 0, "{}"), PartStop(0, 0)
    )
    assert accumulator.snapshot().tool_calls[0].status == "complete"
    accumulator.observe(ToolArgumentsDelta(0, 0, "x"))
    (call,) = accumulator.finalize().tool_calls
    assert call.raw_arguments == "{}x"
    assert not call.is_usable


# The life of a call


def test_a_call_is_open_until_its_stop_and_then_judged():
    accumulator = observed(PartStart(0, 0, "tool_call", "i", "f", "function"), ToolArgumentsDelta(0, 0, "{}"))
    assert accumulator.snapshot().tool_calls[0].status == "open"
    accumulator.observe(Finish(0, "tool_calls", "tool_calls"))
    assert accumulator.snapshot().tool_calls[0].status == "open", "a finish reason ends no call"
    accumulator.observe(PartStop(0, 0))
    assert accumulator.snapshot().tool_calls[0].status == "complete"


@pytest.mark.parametrize(
    ("text", "ending", "status"),
    [
        ("{}", [CLEAN], "complete"),
        (" ", [CLEAN], "empty"),
        ("{", [Finish(0, "stop", "stop"), CLEAN], "invalid"),
        ("{", [Finish(0, "length", "max"), CLEAN], "truncated"),
        ("{", [MessageStop("eof")], "truncated"),
        ("{}", [MessageStop("eof")], "complete"),
        ("[]", [Finish(0, "stop", "stop"), CLEAN], "invalid"),
        ("{", [ErrorEvent(StreamError("e")), MessageStop("error")], "truncated"),
    ],
)
def test_what_becomes_of_argument_text(text, ending, status):
    (call,) = folded(PartStart(0, 0, "tool_call", "i", "f", "function"), ToolArgumentsDelta(0, 0, text), *ending).tool_calls  # fmt: skip
    assert (call.status, call.raw_arguments) == (status, text)


def test_a_stop_without_an_index_closes_the_oldest_open_part():
    accumulator = observed(PartStart(0, 0, "tool_call", "a"), PartStart(0, 1, "tool_call", "b"), PartStop(0))
    assert [call.status for call in accumulator.snapshot().tool_calls] == ["empty", "open"]
    accumulator.observe(PartStop(0))
    assert [call.status for call in accumulator.snapshot().tool_calls] == ["empty", "empty"]


def test_a_stop_of_nothing_is_noted():
    assert [note.kind for note in folded(PartStop(0, 3), PartStop(0), CLEAN).diagnostics] == ["orphan_stop"] * 2


def test_arguments_deeper_than_the_limit_are_invalid():
    deep = '{"a":' + "[" * 20 + "]" * 20 + "}"
    start = PartStart(0, 0, "tool_call", "i", "f", "function")
    made = {depth: folded(start, ToolArgumentsDelta(0, 0, deep), CLEAN, limits=Limits(json_depth=depth)) for depth in (20, 21, None)}  # fmt: skip
    assert [response.tool_calls[0].status for response in made.values()] == ["invalid", "complete", "complete"]


# Facts


def test_the_first_real_value_of_each_fact_stands():
    response = folded(MessageStart(id="a"), MessageStart("b", "m", 5, "assistant"), MessageStart(model="n"), CLEAN)
    assert (response.id, response.model, response.created) == ("a", "m", 5)
    assert response.message.role == "assistant"


def test_the_latest_real_number_of_each_count_stands_and_none_is_added_to_another():
    usage = folded(
        UsageUpdate(Usage(7, 9)), UsageUpdate(Usage(2)), UsageUpdate(Usage(cached_input_tokens=0)), CLEAN
    ).usage
    assert (usage.input_tokens, usage.output_tokens, usage.cached_input_tokens) == (2, 9, 0)
    assert usage.reasoning_tokens is None
    assert folded(CLEAN).usage is None


def test_the_last_reason_stands():
    response = folded(PartStart(0, 0, "text"), TextDelta(0, 0, "a"), Finish(0, "stop", "STOP"), Finish(0, "content_filter", "SAFETY"), CLEAN)  # fmt: skip
    assert (response.finish_reason, response.native_finish_reason) == ("content_filter", "SAFETY")


@pytest.mark.parametrize("reason", ["length", "content_filter", "pause", "cancelled", "unknown", "refusal"])
def test_only_a_plain_stop_is_read_in_the_light_of_the_content(reason):
    call = (PartStart(0, 0, "tool_call", "i", "f", "function"), ToolArgumentsDelta(0, 0, "{"))
    assert folded(*call, Finish(0, reason, "word"), CLEAN).finish_reason == reason
    assert folded(*call, Finish(0, "stop", "word"), CLEAN).finish_reason == "tool_calls"
    assert folded(*call, Finish(0, "stop", "word"), CLEAN).native_finish_reason == "word"


def test_a_stop_with_nothing_but_a_refusal_is_a_refusal():
    refusal = (PartStart(0, 0, "refusal"), RefusalDelta(0, 0, "no"))
    assert folded(*refusal, Finish(0, "stop", "stop"), CLEAN).finish_reason == "refusal"
    text = (PartStart(0, 1, "text"), TextDelta(0, 1, "but"))
    assert folded(*refusal, *text, Finish(0, "stop", "stop"), CLEAN).finish_reason == "stop"


def test_a_call_that_the_server_ran_makes_no_tool_calls_of_a_stop():
    server = PartStart(0, 0, "server_tool_call", "i", "f", "web_search", server_side=True)
    assert folded(server, Finish(0, "stop", "stop"), CLEAN).finish_reason == "stop"


def test_an_error_of_the_provider_makes_the_reason_error_and_keeps_the_word():
    response = folded(Finish(0, "stop", "end"), ErrorEvent(StreamError("overloaded")), MessageStop("error"))
    assert (response.finish_reason, response.native_finish_reason) == ("error", "end")
    assert not response.truncated


@pytest.mark.parametrize("origin", ["transport", "decoder"])
def test_other_errors_leave_the_reason_and_a_provider_s_word_goes_before_them(origin):
    ours = ErrorEvent(StreamError("ours", origin=origin))
    assert folded(ours, MessageStop("error")).finish_reason is None
    assert folded(ours, MessageStop("error")).truncated
    theirs = ErrorEvent(StreamError("theirs"))
    assert folded(ours, theirs, MessageStop("error")).error.type == "theirs"
    assert folded(theirs, ours, MessageStop("error")).error.type == "theirs"
    assert folded(theirs, ErrorEvent(StreamError("second")), MessageStop("error")).error.type == "theirs"


@pytest.mark.parametrize(
    ("events", "truncated"),
    [
        ([MessageStop("eof")], True),
        ([], True),
        ([CLEAN], False),
        ([Finish(0, "stop", "stop"), MessageStop("eof")], False),
        ([PartStart(1, 0, "text"), Finish(0, "stop", "stop"), MessageStop("eof")], True),
        ([Finish(0, "stop", "stop"), MessageStop("cancelled")], False),
        ([PartStart(0, 0, "text"), MessageStop("cancelled")], True),
    ],
)
def test_truncated_means_that_the_server_never_said_that_it_was_done(events, truncated):
    assert folded(*events).truncated == truncated


def test_annotations_without_exact_repeats_and_logprobs_with_them():
    response = folded(
        PartStart(0, 0, "text"),
        Annotations(0, 0, ({"u": 1}, {"u": 2})),
        Annotations(0, 0, ({"u": 1}, {"u": 1.0})),
        Annotations(0, None, ({"u": 3},)),
        Logprobs(0, ({"t": 1},)),
        Logprobs(0, ({"t": 1},)),
        CLEAN,
    )
    assert response.parts[0].annotations == ({"u": 1}, {"u": 2}, {"u": 1.0})
    assert response.annotations == ({"u": 1}, {"u": 2}, {"u": 1.0}, {"u": 3})
    assert response.logprobs == ({"t": 1}, {"t": 1})


def test_fields_beside_the_message_are_kept_at_their_paths():
    sent = {"inner": 1}
    response = folded(
        Extra(("a",), 1),
        Extra(("a",), 2),
        Extra(("b", "c"), "x"),
        Extra(("list", "-"), 1),
        Extra(("list", "-"), 2),
        Extra(("choices", 0, "x"), True),
        Extra(("sent",), sent),
        Extra(("sent", "more"), 2),
        CLEAN,
    )
    assert response.extra == {
        "a": 2,
        "b": {"c": "x"},
        "list": [1, 2],
        "choices": {"0": {"x": True}},
        "sent": {"inner": 1, "more": 2},
    }
    assert sent == {"inner": 1}, "what an event brought is not changed"


def test_diagnostics_are_kept_in_order_and_pings_say_nothing():
    first, second = Diagnostic("a", 1), Diagnostic("b", 2)
    response = folded(DiagnosticEvent(first), Ping(), DiagnosticEvent(second), CLEAN)
    assert response.diagnostics == (first, second)
    assert folded(Ping(), CLEAN) == folded(CLEAN)


# What is taken back


def test_a_replay_drops_everything_but_what_was_spent():
    response = folded(
        MessageStart("a", "m", dialect="d"),
        PartStart(0, 0, "text"),
        TextDelta(0, 0, "gone"),
        Annotations(0, 0, ({"u": 1},)),
        UsageUpdate(Usage(5)),
        Finish(0, "stop", "stop"),
        MessageReset(0, "replay"),
        MessageStart("b", "n"),
        PartStart(0, 0, "text"),
        TextDelta(0, 0, "new"),
        MessageStop("eof"),
    )
    assert (response.id, response.model, response.dialect) == ("b", "n", "d")
    assert response.parts == (TextPart("new"),)
    assert response.annotations == ()
    assert response.usage == Usage(5)
    assert response.finish_reason is None
    assert response.truncated


def test_a_step_drops_the_parts_from_there_on():
    response = folded(
        MessageStart("a"),
        PartStart(0, 0, "text"),
        TextDelta(0, 0, "kept"),
        PartStart(0, 1, "text"),
        TextDelta(0, 1, "gone"),
        MessageReset(1, "step"),
        PartStart(0, 1, "text"),
        TextDelta(0, 1, " too"),
        CLEAN,
    )
    assert response.text == "kept too"
    assert response.id == "a"


def test_a_new_attempt_forgets_the_error_of_the_one_before():
    first = (PartStart(0, 0, "text"), TextDelta(0, 0, "a"), ErrorEvent(StreamError("busy")))
    response = folded(*first, MessageReset(0, "attempt"), Finish(0, "stop", "stop"), CLEAN)
    assert response.error is None
    assert response.finish_reason == "stop"
    assert folded(*first, MessageReset(0, "replay"), CLEAN).error is not None


# Snapshots and the end


def test_a_snapshot_is_a_value_that_stays_what_it_was():
    accumulator = observed(PartStart(0, 0, "text"), TextDelta(0, 0, "a"), Extra(("x", "-"), 1), Logprobs(0, (1,)))
    before = accumulator.snapshot()
    written = before.to_json()
    for event in (
        TextDelta(0, 0, "b"),
        Extra(("x", "-"), 2),
        Logprobs(0, (2,)),
        PartUpdate(0, 0, signature="s"),
        CLEAN,
    ):
        accumulator.observe(event)
    assert before.to_json() == written
    assert before.text == "a"
    assert before.ended is None
    assert not before.truncated
    assert accumulator.finalize().text == "ab"


def test_finalize_gives_the_same_object_and_nothing_is_taken_after_it():
    accumulator = observed(PartStart(0, 0, "text"))
    response = accumulator.finalize()
    assert accumulator.finalize() is accumulator.snapshot() is response
    assert response.ended == "eof"
    with pytest.raises(ValueError, match="after finalize"):
        accumulator.observe(Ping())
    with pytest.raises(ValueError, match="after finalize"):
        accumulator.observe_all([Ping()])


@pytest.mark.parametrize("count", [0, 1, 2047, 2048, 2049, 5000])
def test_pieces_are_joined_in_order_however_many_there_are(count):
    pieces = [f"{number} " for number in range(count)]
    accumulator = observed(PartStart(0, 0, "text"), PartStart(0, 1, "audio"), PartStart(0, 2, "image"))
    for number, piece in enumerate(pieces):
        accumulator.observe(TextDelta(0, 0, piece))
        accumulator.observe(TextDelta(0, 1, piece))
        accumulator.observe(DataDelta(0, 2, piece.encode()))
        if number % 1500 == 0:
            assert accumulator.snapshot().text == "".join(pieces[: number + 1])
    response = accumulator.finalize()
    assert response.text == "".join(pieces)
    assert (response.parts[1].transcript or "") == "".join(pieces)
    assert (response.parts[2].data or b"") == "".join(pieces).encode()


@pytest.mark.parametrize(
    "events",
    [
        [PartStart(0, 0, "unknown", name="x"), PartReplace(0, 0, UnknownPart("y", {"a": 1}))],
        [PartStart(0, 0, "unknown", name="x", extra={"a": 1})],
        [PartStart(0, 0, "text"), PartReplace(0, 0, TextPart("t", extra={"a": {"b": 1}}))],
        [PartStart(0, 0, "text"), PartUpdate(0, 0, extra={"a": {"b": 1}})],
        [Extra(("a",), {"b": 1}), Extra(("a", "c"), 2), Extra(("l",), [{"b": 1}]), Extra(("l", 0, "c"), 2)],
    ],
)
def test_events_stay_as_they_are_whatever_comes_behind_them(events):
    written = [event.to_json() for event in events]
    accumulator = observed(*events)
    accumulator.observe(PartUpdate(0, 0, extra={"late": 1, "a": {"late": 2}}))
    accumulator.finalize()
    assert [event.to_json() for event in events] == written


@pytest.mark.parametrize(
    ("payload", "shown", "grown"),
    [
        ({"a": 1}, {"a": 1}, {"a": 1, "late": 2}),
        ([1], [1], {"value": [1], "late": 2}),
        ("text", "text", {"value": "text", "late": 2}),
        (None, None, {"value": None, "late": 2}),
    ],
)
@pytest.mark.parametrize("is_event", [True, False])
def test_what_is_not_known_is_carried_as_it_is_and_takes_more(payload, shown, grown, is_event):
    unknown = [UnknownEvent("n", payload)]
    if not is_event:
        unknown = [PartStart(0, 1, "unknown", extra={"before": 0}), PartReplace(0, 1, UnknownPart("n", payload))]
    accumulator = observed(PartStart(0, 0, "tool_call", name="f"))
    accumulator.snapshot()
    for event in unknown:
        accumulator.observe(event)
    assert accumulator.snapshot().parts[1] == UnknownPart("n", shown)
    accumulator.observe(PartUpdate(0, 1, extra={"late": 2}))
    assert accumulator.snapshot().parts[1] == accumulator.finalize().parts[1] == UnknownPart("n", grown)


def test_what_is_not_known_takes_more_before_it_was_ever_shown():
    accumulator = observed(PartStart(0, 0, "tool_call", name="f"))
    accumulator.snapshot()
    accumulator.observe(UnknownEvent("n", {"a": 1}))
    accumulator.observe(PartUpdate(0, 1, extra={"late": 2}))
    call, unknown = accumulator.snapshot().parts
    assert (call.name, unknown) == ("f", UnknownPart("n", {"a": 1, "late": 2}))


def test_a_snapshot_amid_an_error_that_is_taken_back_changes_nothing():
    events = [ErrorEvent(StreamError("t", "m")), MessageReset(1, "attempt"), CLEAN]
    accumulator = StreamAccumulator()
    for event in events:
        accumulator.observe(event)
        accumulator.snapshot()
    assert accumulator.finalize() == folded(*events)
    assert accumulator.finalize().choices == ()
