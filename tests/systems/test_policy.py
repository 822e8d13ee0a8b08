"""Every field of the policy, each value of it, and when it is read."""

from __future__ import annotations

import contextlib
import json
import re

import msgspec
import pytest

from chunkfold import Folder, Policy, PolicyError, StreamAccumulator, presets, stream
from chunkfold.accumulator import Gatherer
from chunkfold.events import (
    ErrorEvent,
    Finish,
    MessageReset,
    MessageStart,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    UsageUpdate,
)
from chunkfold.parts import ReasoningPart, ToolResult
from chunkfold.response import StreamError, Usage
from tests.systems.notation import A, F, K, S, T, U, calls, chat, chunk, events, fold, fold_bytes, objection, sse

BAD = (S(0, "a", "f"), A(0, '{"x":"he'), F("tool_calls"))


# Unusable arguments


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("tag", [("a", "f", "<invalid>"), ("b", "g", {"y": 1})]),
        ("drop", [("b", "g", {"y": 1})]),
        ("null", [("a", "f", None), ("b", "g", {"y": 1})]),
        ("start", [("a", "f", {}), ("b", "g", {"y": 1})]),
        ("repair", [("a", "f", {"x": "he"}), ("b", "g", {"y": 1})]),
    ],
)
def test_unusable_arguments_become_what_the_policy_says(how, expected):
    response = fold(Policy(unusable_arguments=how), *BAD[:2], S(1, "b", "g"), A(1, '{"y":1}'), F("tool_calls"))
    assert calls(response) == expected


def test_raise_names_every_bad_call_and_carries_the_whole_response():
    error = objection(
        Policy(unusable_arguments="raise"),
        T("hi"), S(0, "a", "f"), A(0, "{"), S(1, "b", "g"), A(1, "{}"), S(2, "c", "h"), A(2, "nope"), F("tool_calls"),
    )  # fmt: skip
    assert [call.id for call in error.calls] == ["a", "c"]
    assert error.response.text == "hi"
    assert calls(error.response) == [("a", "f", "<invalid>"), ("b", "g", {}), ("c", "h", "<invalid>")]
    assert str(error) == "unusable tool calls: f, h"


def test_finalize_raises_the_same_error_again_and_snapshot_has_the_response():
    accumulator = StreamAccumulator(policy=Policy(unusable_arguments="raise"))
    for event in events(*BAD):
        accumulator.observe(event)
    raised = []
    for _ in range(2):
        with pytest.raises(PolicyError) as caught:
            accumulator.finalize()
        raised.append(caught.value)
    assert raised[0] is raised[1]
    assert accumulator.snapshot() is raised[0].response


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"x":"he', {"x": "he"}),
        ('{"x":[1,{"y":true', {"x": [1, {"y": True}]}),
        ('{"x":1,"y":', {"x": 1}),
        ('{"x":1,"y', {"x": 1}),
        ('{"x":"a\\', {"x": "a"}),
        ("{", {}),
    ],
)
def test_repair_closes_what_was_cut_and_says_so(text, arguments):
    response = fold(Policy(unusable_arguments="repair"), S(0, "a", "f"), A(0, text), F("length"))
    (call,) = response.tool_calls
    assert call.arguments == arguments
    assert call.extra == {"repaired": True, "original_arguments": text}


@pytest.mark.parametrize("text", ["{x:1", '{"a":1}}', '{"a":1}{"b"', "nope", "[1", '"x'])
def test_repair_leaves_what_is_wrong_and_not_merely_cut(text):
    response = fold(Policy(unusable_arguments="repair"), S(0, "a", "f"), A(0, text), F("tool_calls"))
    (call,) = response.tool_calls
    assert (call.status, call.raw_arguments, call.extra) == ("invalid", text, {})


@pytest.mark.parametrize(("text", "arguments"), [('[1,"b', [1, "b"]), ('"x', "x"), ("[1.", [])])
def test_repair_closes_what_is_no_object_where_such_arguments_are_accepted(text, arguments):
    policy = Policy(unusable_arguments="repair", non_object_arguments="accept")
    (call,) = fold(policy, S(0, "a", "f"), A(0, text), F("length")).tool_calls
    assert (call.arguments, call.extra["repaired"]) == (arguments, True)


ACCEPTING = [
    Policy(non_object_arguments="accept"),
    Policy(non_object_arguments="accept", unusable_arguments="repair"),
    presets.behest,
    presets.open_agent,
    presets.loopctl,
]


@pytest.mark.parametrize("policy", ACCEPTING)
@pytest.mark.parametrize("end", [(), (F("length"),)])
@pytest.mark.parametrize(
    ("text", "status"),
    [("12", "truncated"), ("-1.5", "truncated"), ("1e5", "truncated"), ("12 ", "complete"), ("[1]", "complete")],
)
def test_a_number_that_was_cut_is_not_accepted_as_it_is(policy, end, text, status):
    response = fold(policy, S(0, "a", "f"), A(0, text), *end)
    assert [(call.raw_arguments, call.status) for call in response.tool_calls] == [(text, status)]


@pytest.mark.parametrize("policy", ACCEPTING)
@pytest.mark.parametrize("text", ["12", "{}", '{"a":1}', '["a', '"*** Begin'])
def test_free_text_that_was_cut_is_no_json(policy, text):
    call = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "f", "input": text}}
    response = fold_bytes(sse(chunk({"tool_calls": [call]}), done=False), policy)
    assert [(call.raw_arguments, call.status) for call in response.tool_calls] == [(text, "truncated")]


@pytest.mark.parametrize("policy", [Policy(non_object_arguments="accept"), presets.behest, presets.open_agent])
def test_an_object_that_the_server_has_closed_for_the_model_is_not_accepted(policy):
    part = {"type": "tool-f", "toolCallId": "a", "state": "input-streaming", "input": {"path": "ha"}}
    body = {"id": "m", "role": "assistant", "parts": [part]}
    response = fold_bytes(json.dumps(body).encode(), policy)
    assert [(call.raw_arguments, call.status) for call in response.tool_calls] == [('{"path": "ha"}', "truncated")]


def test_repair_and_null_are_never_the_default():
    assert Policy().unusable_arguments == "tag"
    assert [name for name in presets.__all__ if getattr(presets, name).unusable_arguments == "repair"] == []


def test_start_goes_back_to_the_arguments_of_the_start():
    start = S(0, "a", "f", {"start_arguments": {"x": 1}})
    response = fold(Policy(unusable_arguments="start"), start, A(0, '{"x":2'), F("tool_calls"))
    (call,) = response.tool_calls
    assert call.arguments == {"x": 1}
    assert call.extra["arguments_lost"] == {"reason": "json_decode_error", "bytes": 6}


@pytest.mark.parametrize(
    ("said", "how", "expected"), [("}", "accept", {}), ([1], "accept", [1]), ([1], "tag", {}), ("", "tag", {})]
)
def test_start_arguments_that_cannot_be_used_either_give_way(said, how, expected):
    start = S(0, "a", "f", {"start_arguments": said})
    policy = Policy(unusable_arguments="start", non_object_arguments=how)
    assert calls(fold(policy, start, A(0, '{"x":2'), F("tool_calls"))) == [("a", "f", expected)]


def test_lost_arguments_are_reported_by_size_and_never_by_content():
    secret = '{"password":"hünter2'
    response = fold(None, S(0, "a", "f"), A(0, secret), F("tool_calls"))
    (diagnostic,) = response.diagnostics
    assert (diagnostic.kind, diagnostic.choice) == ("unusable_arguments", 0)
    assert diagnostic.detail == "f: 21 bytes of argument text, invalid"
    assert "nter2" not in repr(response)


@pytest.mark.parametrize(("how", "expected"), [("tag", "<invalid>"), ("accept", [1])])
def test_arguments_that_are_no_object(how, expected):
    response = fold(Policy(non_object_arguments=how), S(0, "a", "f"), A(0, "[1]"), F("tool_calls"))
    assert calls(response) == [("a", "f", expected)]


@pytest.mark.parametrize(("how", "expected"), [("object", {}), ("null", None)])
def test_no_argument_text(how, expected):
    response = fold(Policy(empty_arguments=how), S(0, "a", "f"), F("tool_calls"))
    assert calls(response) == [("a", "f", expected)]


# Finish reasons


@pytest.mark.parametrize(
    ("how", "ended", "expected"),
    [
        ("none", "eof", None),
        ("none", "clean", None),
        ("stop", "eof", "stop"),
        ("stop_if_clean", "clean", "stop"),
        ("stop_if_clean", "eof", None),
        ("raise", "clean", None),
    ],
)
def test_a_missing_reason(how, ended, expected):
    policy = Policy(missing_finish=how)
    assert fold(policy, T("hi"), ended=ended).finish_reason == expected
    assert (objection(policy, T("hi"), ended=ended) is not None) == (how == "raise")


def test_a_claimed_stop_leaves_the_evidence():
    response = fold(Policy(missing_finish="stop"), T("hi"))
    assert (response.finish_reason, response.native_finish_reason, response.truncated) == ("stop", None, True)


@pytest.mark.parametrize("events", [[], [TextDelta(1, 0, "hi")]])
def test_a_claimed_stop_is_no_second_reason_beside_an_error(events):
    response = fold(Policy(missing_finish="stop"), *events, ErrorEvent(StreamError("api_error")))
    assert [choice.index for choice in response.choices] == [0, 1][: 1 + len(events)]
    assert {choice.finish_reason for choice in response.choices} == {"error"}


def test_nobody_objects_to_what_was_cancelled():
    assert objection(Policy(missing_finish="raise", unusable_arguments="raise"), *BAD[:2], ended="cancelled") is None


@pytest.mark.parametrize(
    ("how", "words", "expected"),
    [
        ("last", "length stop", "stop"),
        ("first", "length stop", "length"),
        ("last", "stop length stop", "stop"),
        ("first", "stop length stop", "stop"),
        ("most_specific", "stop tool_calls stop", "tool_calls"),
        ("most_specific", "tool_calls content_filter stop", "content_filter"),
    ],
)
def test_which_of_several_reasons_stands(how, words, expected):
    response = fold(Policy(finish=how), T("a"), *(F(word) for word in words.split()))
    assert (response.finish_reason, response.native_finish_reason) == (expected, expected)


@pytest.mark.parametrize(("infer", "expected"), [(True, "tool_calls"), (False, "stop")])
def test_a_plain_stop_with_calls(infer, expected):
    response = fold(Policy(infer_finish=infer), S(0, "a", "f"), F("stop"))
    assert (response.finish_reason, response.native_finish_reason) == (expected, "stop")


def test_what_is_not_for_the_response_changes_no_reason():
    preview = PartStart(0, 0, "tool_call", "a", "f", extra={"stream_only": True})
    for policy, *script in ((None, preview), (Policy(orphans="drop"), ORPHAN)):
        response = fold(policy, *script, F("stop"))
        assert (response.finish_reason, response.tool_calls) == ("stop", ())


@pytest.mark.parametrize(("index", "objects"), [(0, False), (1, True)])
def test_a_missing_reason_is_one_of_the_choices_that_are_kept(index, objects):
    body = sse(chunk({"content": "a"}), chunk({"content": "b"}, index=1), chunk({}, "stop", index=index))
    folder = Folder(policy=Policy(missing_finish="raise", choices="first"))
    folder.feed(body)
    folder.finish()
    with pytest.raises(PolicyError) if objects else contextlib.nullcontext():
        folder.close()
    every = Folder(policy=Policy(missing_finish="raise"))
    every.feed(body)
    with pytest.raises(PolicyError, match="never said why"):
        every.close()


@pytest.mark.parametrize(
    ("how", "finish", "error"), [("none", None, None), ("stop", "stop", None), ("error", None, "empty_stream")]
)
def test_an_empty_stream(how, finish, error):
    response = fold(Policy(empty_stream=how))
    assert response.finish_reason == finish
    assert (response.error and response.error.type) == error
    assert response.truncated


def test_an_empty_stream_that_raises():
    assert objection(Policy(empty_stream="raise")).reason == "nothing came"
    assert objection(Policy(empty_stream="raise"), T("x")) is None


def test_an_empty_stream_is_judged_by_the_missing_finish_unless_it_is_judged_itself():
    said = "the server never said why it stopped"
    assert objection(Policy(missing_finish="raise")).reason == said
    assert objection(Policy(missing_finish="raise"), ended="clean").reason == said
    assert objection(Policy(missing_finish="raise"), ended="cancelled") is None
    assert objection(Policy(missing_finish="raise", empty_stream="raise")).reason == "nothing came"
    for how in ("stop", "error"):
        assert objection(Policy(missing_finish="raise", empty_stream=how)) is None


# Reasoning


@pytest.mark.parametrize(("how", "open_", "finished"), [("keep", "t", "t"), ("observe", "t", ""), ("drop", "", "")])
def test_reasoning_is_kept_observed_or_dropped(how, open_, finished):
    accumulator = StreamAccumulator(Policy(reasoning=how))
    for event in events(K("t"), T("a"), F("stop")):
        accumulator.observe(event)
    assert accumulator.snapshot().reasoning == open_
    response = accumulator.finalize()
    assert (response.reasoning, response.text) == (finished, "a")


def test_dropped_reasoning_is_dropped_by_the_fast_way_too():
    body = chat(*(K("secret") for _ in range(50)), T("a"), F("stop"))
    folder = Folder(policy=Policy(reasoning="drop"))
    folder.feed(body, events=False)
    response = folder.close()
    assert (response.text, response.reasoning, len(response.parts)) == ("a", "", 1)


# Ids, names, order


def test_ids_are_made_up_only_on_demand_and_always_the_same():
    script = (MessageStart(id="resp"), S(0, None, "f"), S(1, None, "f"), F("tool_calls"))
    assert [call.id for call in fold(None, *script).tool_calls] == [None, None]
    made = [[call.id for call in fold(Policy(missing_id="make"), *script).tool_calls] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) == 2
    # Of what OpenAI, Anthropic and AWS take: 40 characters at most, of these alone.
    assert all(re.fullmatch(r"call_[a-zA-Z0-9_-]{8,35}", id_) for id_ in made[0])
    other = fold(Policy(missing_id="make", id_seed="turn 2"), *script)
    assert {call.id for call in other.tool_calls}.isdisjoint(made[0])
    assert fold(Policy(missing_id="drop"), *script).tool_calls == ()


@pytest.mark.parametrize(("how", "expected"), [("keep", [("a", None, {})]), ("drop", [])])
def test_a_call_without_a_name(how, expected):
    assert calls(fold(Policy(missing_name=how), S(0, "a", None), F("tool_calls"))) == expected


@pytest.mark.parametrize(("how", "expected"), [("first", "a"), ("last", "b")])
def test_a_later_id(how, expected):
    response = fold(Policy(id_merge=how), S(0, "a", "f"), PartUpdate(0, 0, id="b"), F("tool_calls"))
    assert response.tool_calls[0].id == expected


@pytest.mark.parametrize(("how", "expected"), [("join", "get_weather"), ("first", "get_"), ("last", "weather")])
def test_pieces_of_a_name(how, expected):
    # A dialect tells the joined name.
    response = fold(Policy(name_merge=how), S(0, "a", "get_"), PartUpdate(0, 0, name="get_weather"), F("tool_calls"))
    assert response.tool_calls[0].name == expected


def test_a_name_that_comes_late_is_taken_by_every_policy():
    for how in ("join", "first", "last"):
        response = fold(Policy(name_merge=how), S(0, "a", None), PartUpdate(0, 0, name="f"), F("tool_calls"))
        assert response.tool_calls[0].name == "f"


@pytest.mark.parametrize(
    ("how", "expected"),
    [("started", ["text", "b", "a"]), ("index", ["text", "a", "b"]), ("closed", ["a", "b", "text"])],
)
def test_the_order_of_parts(how, expected):
    script = [
        PartStart(0, 0, "text"), TextDelta(0, 0, "say"),
        PartStart(0, 1, "tool_call", "b", "g", extra={"index": 1}),
        PartStart(0, 2, "tool_call", "a", "f", extra={"index": 0}),
        PartStop(0, 2), PartStop(0, 1), PartStop(0, 0),
    ]  # fmt: skip
    response = fold(Policy(order=how), *script)
    assert [getattr(part, "id", None) or part.kind for part in response.parts] == expected


# Starts, stops, orphans


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("new", [("a", "f", {"x": 1}), ("a", "g", {"y": 2})]),
        ("replace", [("a", "g", {"y": 2})]),
        ("merge", [("a", "g", "<invalid>")]),
    ],
)
def test_a_start_with_a_known_id(how, expected):
    response = fold(
        Policy(duplicate_start=how), S(0, "a", "f"), A(0, '{"x":1}'), S(1, "a", "g"), A(1, '{"y":2}'), F("tool_calls")
    )
    assert calls(response) == expected


def test_merge_goes_on_with_the_arguments():
    response = fold(
        Policy(duplicate_start="merge"), S(0, "a", "f"), A(0, '{"x"'), S(1, "a", "f"), A(1, ":1}"), F("tool_calls")
    )
    assert calls(response) == [("a", "f", {"x": 1})]


def test_a_call_that_takes_the_place_of_another_has_nothing_of_it():
    first = S(0, "a", "f", {"start_arguments": {"x": 1}, "expects_arguments": True})
    response = fold(Policy(duplicate_start="replace", unusable_arguments="start"), first, S(1, "a", "g"), F("stop"))
    assert calls(response) == [("a", "g", {})]
    assert response.tool_calls[0].status == "empty"


@pytest.mark.parametrize("how", ["new", "merge", "replace"])
@pytest.mark.parametrize(
    "earlier",
    [
        # A preview, which is not for the response.
        [PartStart(0, 0, "tool_call", "a", "f", extra={"stream_only": True}), ToolArgumentsDelta(0, 0, '{"x":')],
        # What was taken for a call and is none.
        [PartStart(0, 0, "tool_call", "a", "f"), PartReplace(0, 0, ReasoningPart("hm", encrypted="e"))],
        [PartStart(0, 0, "tool_call", "a", "f"), PartReplace(0, 0, ToolResult("a", "f", "done"))],
    ],
)
def test_a_call_has_a_part_of_its_own_where_its_id_is_that_of_no_call(how, earlier):
    response = fold(
        Policy(duplicate_start=how),
        *earlier,
        PartStart(0, 1, "tool_call", "a", "g"),
        ToolArgumentsDelta(0, 1, '{"y":2}'),
    )
    assert calls(response) == [("a", "g", {"y": 2})]


@pytest.mark.parametrize(("orphans", "expected"), [("keep", {"x": 1}), ("wait", {"x": 1}), ("drop", "<truncated>")])
def test_a_start_claims_orphans_also_by_their_id(orphans, expected):
    response = fold(
        Policy(duplicate_start="merge", orphans=orphans),
        ToolArgumentsDelta(0, 5, '{"x"'),
        PartUpdate(0, 5, id="a"),
        PartStart(0, 0, "tool_call", "a", "f"),
        ToolArgumentsDelta(0, 0, ":1}"),
    )
    assert calls(response) == [("a", "f", expected)]


ORPHAN = ToolArgumentsDelta(0, 0, '{"x":1}')


@pytest.mark.parametrize(
    ("how", "alone", "claimed"),
    [
        ("keep", [(None, None, {"x": 1})], [("a", "f", {"x": 1})]),
        ("wait", [], [("a", "f", {"x": 1})]),
        ("drop", [], [("a", "f", {})]),
    ],
)
def test_orphaned_deltas(how, alone, claimed):
    policy = Policy(orphans=how)
    response = fold(policy, ORPHAN, F("tool_calls"))
    assert calls(response) == alone
    assert [diagnostic.kind for diagnostic in response.diagnostics] == ["orphan_delta"]
    start = PartStart(0, 0, "tool_call", "a", "f")
    assert calls(fold(policy, ORPHAN, start, F("tool_calls"))) == claimed


def test_orphans_of_one_index_are_one_part():
    response = fold(None, TextDelta(0, 5, "a"), PartStart(0, 0, "text"), TextDelta(0, 0, "b"), TextDelta(0, 5, "c"))
    assert [part.text for part in response.parts] == ["b", "ac"]


@pytest.mark.parametrize("orphans", ["keep", "wait", "drop"])
@pytest.mark.parametrize(("how", "expected", "kind"), [("keep", "abc", "late_delta"), ("drop", "a", "orphan_delta")])
def test_deltas_after_the_stop(how, expected, kind, orphans):
    response = fold(
        Policy(late_deltas=how, orphans=orphans),
        PartStart(0, 0, "text"), TextDelta(0, 0, "a"), PartStop(0, 0), TextDelta(0, 0, "b"), TextDelta(0, 0, "c"),
    )  # fmt: skip
    assert (response.text, len(response.parts)) == (expected, 1)
    assert [diagnostic.kind for diagnostic in response.diagnostics] == [kind]


def test_a_late_delta_is_judged_anew():
    accumulator = StreamAccumulator()
    for event in (PartStart(0, 0, "tool_call", "a", "f"), ToolArgumentsDelta(0, 0, "{}"), PartStop(0, 0)):
        accumulator.observe(event)
    assert accumulator.snapshot().tool_calls[0].status == "complete"
    accumulator.observe(ToolArgumentsDelta(0, 0, "}"))
    accumulator.observe(MessageStop("clean"))
    assert accumulator.finalize().tool_calls[0].status == "invalid"


def test_a_delta_of_another_kind_spoils_nothing():
    script = (PartStart(0, 0, "tool_call", "a", "f"), TextDelta(0, 0, "stray"), ToolArgumentsDelta(0, 0, "{}"))
    response = fold(None, *script)
    assert calls(response) == [("a", "f", {})]
    assert response.text == "stray"
    assert fold(Policy(orphans="drop"), *script).text == ""


def test_an_index_that_starts_again_is_another_part():
    response = fold(
        None,
        PartStart(0, 0, "text"), TextDelta(0, 0, "a"), PartStop(0, 0),
        PartStart(0, 0, "text"), TextDelta(0, 0, "b"), PartStop(0, 0),
        PartStart(0, 0, "text"), TextDelta(0, 0, "c"),
    )  # fmt: skip
    assert [part.text for part in response.parts] == ["a", "b", "c"]


def test_a_reset_takes_what_was_put_aside():
    response = fold(
        None, TextDelta(0, 9, "orphan"), MessageReset(0, "replay"), PartStart(0, 0, "text"), TextDelta(0, 0, "b")
    )
    assert response.text == "b"


@pytest.mark.parametrize(("how", "expected"), [("keep", "ab"), ("drop", "a")])
def test_parts_that_were_never_closed(how, expected):
    response = fold(
        Policy(unclosed_parts=how),
        PartStart(0, 0, "text"), TextDelta(0, 0, "a"), PartStop(0, 0), PartStart(0, 1, "text"), TextDelta(0, 1, "b"),
    )  # fmt: skip
    assert response.text == expected


# Usage and choices


@pytest.mark.parametrize(
    ("how", "expected"),
    [("latest", (8, 5, 13)), ("max", (10, 5, 15)), ("replace", (8, None, None)), ("sum", (18, 5, None))],
)
def test_usage_that_comes_again(how, expected):
    usage = fold(Policy(usage=how), U(10, None), U(None, 5), U(8, None)).usage
    got = (usage.input_tokens, usage.output_tokens, usage.total_tokens)
    assert got == expected


def test_a_sum_of_usages_keeps_what_the_provider_said():
    steps = [UsageUpdate(Usage(5, 1, 6, raw={"in": 5, "out": 1})), UsageUpdate(Usage(7, 2, 9, raw={"in": 7, "x": 1}))]
    assert fold(Policy(usage="sum"), *steps).usage == Usage(12, 3, 15, raw={"in": 7, "out": 1, "x": 1})


def test_no_number_is_erased_by_one_that_is_not_reported():
    first = Usage(input_tokens=5, cached_input_tokens=3, raw={"a": 1})
    usage = fold(None, UsageUpdate(first), UsageUpdate(Usage(output_tokens=2, raw={"b": 2}))).usage
    assert usage == Usage(5, 2, 7, cached_input_tokens=3, raw={"a": 1, "b": 2})


@pytest.mark.parametrize(("how", "expected"), [("all", [0, 1]), ("first", [0])])
def test_choices(how, expected):
    script = [PartStart(1, 0, "text"), TextDelta(1, 0, "x"), PartStart(0, 0, "text"), TextDelta(0, 0, "y")]
    response = fold(Policy(choices=how), *script, close=False)
    assert [choice.index for choice in response.choices] == expected
    assert response.text == "y"


# The value itself, and when it is read


def test_a_policy_is_a_value_like_the_others():
    policy = Policy(unusable_arguments="drop", id_seed="x")
    assert Policy.from_json(policy.to_json()) == policy
    with pytest.raises(ValueError, match="unusable_arguments"):
        Policy.from_dict({"unusable_arguments": "guess"})
    with pytest.raises(AttributeError):
        policy.id_seed = "y"


def test_every_field_is_described_and_has_its_default_among_its_values():
    import inspect

    source = inspect.getsource(Policy)
    hints = {field.name: field.type for field in msgspec.structs.fields(Policy)}
    for name, hint in hints.items():
        at = source.index(f"    {name}: ")
        assert '"""' in source[at : source.index("\n", source.index("\n", at) + 1)], f"{name} has no docstring"
        assert msgspec.convert(getattr(Policy(), name), hint) == getattr(Policy(), name)


class CountingPolicy:
    """Behaves like a policy and counts how often it is looked at."""

    def __init__(self, policy=Policy()):  # noqa: B008 - frozen
        self.__dict__["policy"], self.__dict__["reads"] = policy, 0

    def __getattr__(self, name):
        self.__dict__["reads"] += 1
        return getattr(self.__dict__["policy"], name)


@pytest.mark.parametrize(
    ("kind", "delta"), [("text", TextDelta), ("reasoning", ReasoningDelta), ("tool_call", ToolArgumentsDelta)]
)
def test_ten_thousand_deltas_do_not_read_the_policy(kind, delta):
    def reads(deltas):
        policy = CountingPolicy()
        accumulator = StreamAccumulator(policy=policy)
        for event in (PartStart(0, 0, kind, "a", "f"), *(delta(0, 0, "x") for _ in range(deltas)), PartStop(0, 0)):
            accumulator.observe(event)
        assert policy.reads < 10
        before = policy.reads
        accumulator.finalize()
        assert policy.reads > before
        return policy.reads

    assert reads(10_000) == reads(1)


@pytest.mark.parametrize("with_events", [True, False])
def test_ten_thousand_frames_do_not_read_the_policy(with_events):
    def reads(deltas):
        policy = CountingPolicy()
        folder = Folder(policy=policy)
        for frame in chat(*(T("x") for _ in range(deltas)), F("stop")).split(b"\n\n"):
            folder.feed(frame + b"\n\n", events=with_events)
        folder.close()
        return policy.reads

    assert reads(10_000) == reads(1)


@pytest.mark.parametrize(("ended", "reason"), [("clean", "stop"), ("eof", None), ("cancelled", None)])
def test_as_if_ended_takes_an_end_that_was_told(ended, reason):
    accumulator = Gatherer(presets.req_llm)
    for event in events(T("a"), ended=ended):
        accumulator.observe(event)
    response = accumulator.as_if_ended()
    assert (response.ended, response.finish_reason) == (ended, reason)
    assert response == accumulator.finalize()


def test_as_if_ended_changes_nothing():
    accumulator = Gatherer()
    script = events(T("a"), S(0, "a", "f"), A(0, '{"x":'), A(0, "1}"), F("tool_calls"))
    for event in script[:-4]:
        accumulator.observe(event)
    assert accumulator.as_if_ended().tool_calls[0].status in ("truncated", "invalid")
    assert accumulator.snapshot().tool_calls[0].status == "open"
    for event in script[-4:]:
        accumulator.observe(event)
    assert calls(accumulator.finalize()) == [("a", "f", {"x": 1})]
    assert accumulator.as_if_ended() is accumulator.finalize()


def test_a_stream_raises_what_the_policy_objects_to_after_its_last_event():
    seen = []
    with stream(chat(*BAD), policy=Policy(unusable_arguments="raise")) as opened, pytest.raises(PolicyError):
        while True:
            seen.append(next(opened))
    assert isinstance(seen[-1], MessageStop)
    assert any(isinstance(event, Finish) for event in seen)
