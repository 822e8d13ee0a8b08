"""ReqLLM, statement by statement: the preset, the view, and what our default mends."""

from __future__ import annotations

import itertools

import pytest

from chunkfold import Diagnostic, ImagePart, ReasoningPart, StreamAccumulator, TextPart, presets
from chunkfold import fold as fold_source
from chunkfold.events import (
    Annotations,
    DataDelta,
    ErrorEvent,
    Logprobs,
    MessageReset,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    PartUpdate,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    UnknownEvent,
    UsageUpdate,
)
from chunkfold.response import StreamError, Usage
from chunkfold.views.req_llm import BuiltinTool, ChunkAccumulator
from tests.systems.notation import (
    A,
    F,
    K,
    S,
    T,
    U,
    anthropic,
    call_delta,
    calls,
    chat,
    chunk,
    events,
    events_of,
    fold,
    fold_bytes,
    message_delta,
    sse,
    text_block,
)


def run(*script, ended=None, **how):
    return ChunkAccumulator(**how).reduce(events(*script, ended=ended, close=False))


def shown(parts):
    """Content in short."""
    short = {"text": lambda p: p.text, "reasoning": lambda p: ("thinking", p.text), "image": lambda p: ("image", p.url)}
    return [short[part.kind](part) for part in parts]


def image(place, url):
    return [PartStart(0, place, "image", extra={"url": url}), PartStop(0, place)]


def text(place, value, **extra):
    return [PartStart(0, place, "text", extra=extra), TextDelta(0, place, value), PartStop(0, place)]


def thought(place, value, **extra):
    return [PartStart(0, place, "reasoning", extra=extra), ReasoningDelta(0, place, value), PartStop(0, place)]


# What a finaliser gives for a stream: the statement, the finaliser, the stream, the result.
ROWS = [
    pytest.param("text", [T("Hello, "), T("world!")], "Hello, world!", id="R1"),
    pytest.param("text", [T("a"), K("b"), T("c")], "ac", id="R3"),
    pytest.param("thinking", [K("a"), T("b"), K("c")], "ac", id="R3-thinking"),
    pytest.param("finish_reason", [F("stop"), F("tool_calls")], "tool_calls", id="R21"),
    pytest.param("finish_reason", [T("a")], None, id="R21-none"),
    pytest.param(
        "usage", [U(5, 5), U(10, 20)], {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30}, id="R22"
    ),
    pytest.param("usage", [T("a")], None, id="R22-none"),
    pytest.param(
        "usage", [U(10, None), U(None, 5)], {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}, id="R23"
    ),
    pytest.param(
        "usage", [U(10, 9), U(3, 20)], {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30}, id="R23-max"
    ),
    pytest.param(
        "annotations",
        [Annotations(0, None, ({"n": 1},)), Annotations(0, None, ({"n": 2}, {"n": 1}))],
        [{"n": 1}, {"n": 2}],
        id="R24",
    ),
    pytest.param("logprobs", [Logprobs(0, (1, 2)), Logprobs(0, (2, 1))], [1, 2, 2, 1], id="R25"),
    pytest.param("message", [], None, id="R27"),
    pytest.param("message", [K("hm")], None, id="R27-thinking"),
    pytest.param("message", [T("")], None, id="R2-message"),
    pytest.param("ordered_content", [T(""), K("")], (), id="R2-content"),
    pytest.param("ordered_content", [T("a"), K(""), T("b")], (TextPart("ab"),), id="R2-between"),
]


@pytest.mark.parametrize(("finaliser", "script", "expected"), ROWS)
def test_finalisers(finaliser, script, expected):
    assert getattr(run(*script), finaliser)() == expected


CALLS = [
    pytest.param(
        [S(0, "a", "f"), A(0, '{"location'), A(0, '":"SF"'), A(0, "}")],
        [{"id": "a", "name": "f", "arguments": {"location": "SF"}}],
        id="R9",
    ),
    pytest.param(
        [S(0, "a", "f"), A(0, "{"), A(0, '"x":1}')], [{"id": "a", "name": "f", "arguments": {"x": 1}}], id="R10"
    ),
    pytest.param([A(0, '{"x":1}'), S(0, "a", "f")], [{"id": "a", "name": "f", "arguments": {"x": 1}}], id="R11"),
    pytest.param(
        [S(0, "a", "f"), A(0, '{"x"'), PartStop(0, 0), A(0, ":1}")],
        [{"id": "a", "name": "f", "arguments": {"x": 1}}],
        id="R11-after-its-end",
    ),
    pytest.param([A(0, '{"x":1}')], [], id="R12"),
    pytest.param([S(0, "a", None), A(0, "{}")], [], id="R13"),
    pytest.param(
        [S(0, "a", "f", {"start_arguments": {"y": 2}, "expects_arguments": True})],
        [
            {
                "id": "a",
                "name": "f",
                "arguments": {"y": 2},
                "metadata": {"error": {"type": "args_lost", "reason": "missing_fragments", "bytes": 0}},
            }
        ],
        id="R15",
    ),
    pytest.param(
        [S(0, "a", "f", {"expects_arguments": True}), A(0, "")], [{"id": "a", "name": "f", "arguments": {}}], id="R16"
    ),
    pytest.param(
        [S(0, "a", "f", {"start_arguments": {"y": 2}}), A(0, '{"secret')],
        [
            {
                "id": "a",
                "name": "f",
                "arguments": {"y": 2},
                "metadata": {"error": {"type": "args_lost", "reason": "json_decode_error", "bytes": 8}},
            }
        ],
        id="R17",
    ),
    pytest.param(
        [S(0, "a", "f", {"start_arguments": {"y": 2}})], [{"id": "a", "name": "f", "arguments": {"y": 2}}], id="R18"
    ),
    pytest.param(
        [PartStart(0, 0, "server_tool_call", "a", "search", "web_search"), ToolArgumentsDelta(0, 0, '{"q":"x"}')],
        [{"id": "a", "name": "search", "arguments": {"q": "x"}, "builtin": True}],
        id="R19",
    ),
    pytest.param(
        [S(0, "a", "f"), A(0, "[1]"), S(1, "b", "g"), A(1, '"x"')],
        [{"id": "a", "name": "f", "arguments": [1]}, {"id": "b", "name": "g", "arguments": "x"}],
        id="R32",
    ),
]


@pytest.mark.parametrize(("script", "expected"), CALLS)
def test_tool_calls_for_response(script, expected):
    assert run(*script).tool_calls_for_response() == expected


def test_r2_empty_text_leaves_no_part():
    body = sse(chunk({"content": ""}), chunk({"content": "a"}), chunk({"content": ""}, "stop"))
    assert [event.text for event in events_of(body) if isinstance(event, TextDelta)] == ["a"]


def test_r4_text_and_pictures_in_order():
    made = run(*image(0, "1"), *text(1, "First "), *text(2, "caption"), *image(3, "2"), *text(4, "Second caption"))
    assert shown(made.ordered_content()) == [("image", "1"), "First caption", ("image", "2"), "Second caption"]
    assert shown(made.content_parts()) == [("image", "1"), ("image", "2")]


def test_r5_thinking_between_texts():
    made = run(T("a"), K("t"), T("b"))
    assert shown(made.ordered_content()) == ["a", ("thinking", "t"), "b"]
    assert shown(made.ordered_content(include_thinking=False)) == ["ab"]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({"phase": "commentary", "output_index": 0}, {"phase": "final", "output_index": 1}, ["a", "b"]),
        ({"phase": "final", "output_index": 1}, {"phase": "final", "output_index": 1}, ["ab"]),
        ({"phase": "final", "output_index": 0}, {"phase": "final", "output_index": 1}, ["a", "b"]),
        ({}, {}, ["ab"]),
        ({"phase": "commentary"}, {"phase": "final"}, ["ab"]),
        ({"output_index": 0}, {"output_index": 1}, ["ab"]),
    ],
)
def test_r6_texts_of_different_items_stay_apart(first, second, expected):
    made = run(*text(0, "a", **first), *text(1, "b", **second))
    assert shown(made.ordered_content()) == expected
    assert made.text() == "ab"
    if expected == ["a", "b"]:
        assert [part.phase for part in made.ordered_content()] == [first["phase"], second["phase"]]
    elif first.get("phase") != second.get("phase"):
        assert made.ordered_content()[0].phase is None  # one of them would be a lie about the other text


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ([*text(0, "a")], False),
        ([*text(0, "a", phase="final")], False),
        ([*text(0, "a", phase="final", output_index=0)], True),
        ([*image(0, "1")], True),
        ([*thought(0, "t"), *text(1, "a")], False),
    ],
)
def test_r7_when_order_matters(made, expected):
    assert run(*made).has_ordered_content() is expected


def test_r8_previews_are_delivered_live_and_never_gathered():
    preview = [PartStart(0, 0, "image", extra={"stream_only": True}), DataDelta(0, 0, b"rough"), PartStop(0, 0)]
    murmur = [*thought(1, "hm", stream_only=True)]
    made = run(*preview, *murmur, *image(2, "whole"))
    assert (shown(made.ordered_content()), made.thinking()) == ([("image", "whole")], "")
    accumulator = StreamAccumulator()
    for event in [*preview, PartReplace(0, 0, ImagePart(data=b"finer", final=False)), *image(1, "whole")]:
        accumulator.observe(event)
    assert [part.url for part in accumulator.finalize().parts] == ["whole"]


def test_r9_the_index_is_no_metadata():
    (call,) = run(S(3, "a", "f"), A(3, "{}")).tool_calls_for_response()
    assert call == {"id": "a", "name": "f", "arguments": {}}


def test_r14_an_id_is_made_up():
    calls_ = run(S(0, None, "f"), A(0, "{}"), S(1, None, "g"), A(1, "{}")).tool_calls_for_response()
    assert [(call["id"][:5], len(call["id"])) for call in calls_] == [("call_", 37), ("call_", 37)]
    assert len({call["id"] for call in calls_}) == 2


def test_r15_r17_a_loss_is_told_by_size_only():
    response = fold(
        presets.req_llm,
        S(0, "a", "f", {"expects_arguments": True}),
        S(1, "b", "g"), A(1, '{"token":"s3cret'), F("tool_calls"),
    )  # fmt: skip
    assert response.diagnostics == (
        Diagnostic("unusable_arguments", choice=0, detail="f: 0 bytes of argument text, none came"),
        Diagnostic("unusable_arguments", choice=0, detail="g: 16 bytes of argument text, invalid"),
    )
    assert "s3cret" not in repr(response)


def test_r19_the_builtin_flag_is_in_the_message_too():
    made = run(PartStart(0, 0, "server_tool_call", "a", "search", "web_search"), *text(1, "done"))
    assert [(part.kind, getattr(part, "server_side", None)) for part in made.message().parts] == [
        ("text", None),
        ("server_tool_call", True),
    ]


def test_r26_reasoning_details_in_order():
    made = run(*thought(0, "a", format="f1"), PartUpdate(0, 0, signature="s"), *thought(1, "", encrypted="blob"))
    assert made.reasoning_details() == [
        {"format": "f1", "index": 0, "text": "a", "signature": "s", "encrypted": False, "data": None},
        {"index": 1, "text": "", "signature": None, "encrypted": True, "data": "blob"},
    ]


def test_details_and_metadata_are_what_the_provider_said():
    """Our own notes on the form, for the native body, are none of it."""
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": {"x": 1}}, "cache": "hit"}
    detail = {"type": "reasoning.text", "text": "m", "format": "xai"}
    body = sse(
        chunk({"reasoning_content": "h"}), chunk({"reasoning_details": [detail]}), chunk({"tool_calls": [call]}), chunk({}, "tool_calls")
    )  # fmt: skip
    made = ChunkAccumulator().reduce(events_of(body))
    details, calls_ = made.reasoning_details(), made.tool_calls_for_response()
    assert [detail["text"] for detail in details] == ["h", "m"]
    assert details[1]["format"] == "xai"
    assert calls_[0]["metadata"] == {"cache": "hit"}
    assert not [key for one in (*details, calls_[0]["metadata"]) for key in one if key.startswith("$")]


@pytest.mark.parametrize("details", ["odd", {"type": "reasoning.text"}, None, 7])
def test_r26_details_that_are_no_list_break_nothing(details):
    response = fold_bytes(sse(chunk({"content": "a", "reasoning_details": details}), chunk({}, "stop")))
    assert (response.text, response.reasoning) == ("a", "")


def test_r27_the_message_has_no_thinking():
    made = run(K("secret"), T("a"), S(0, "c", "f"), A(0, "{}"))
    assert [part.kind for part in made.message().parts] == ["text", "tool_call"]
    response = fold(None, K("secret"), T("a"), F("stop"))
    assert response.message.without_reasoning().parts == (TextPart("a"),)
    assert response.message.parts[0] == ReasoningPart("secret")


def test_r28_fifty_calls_keep_their_order():
    script = [step for n in reversed(range(50)) for step in (S(n, f"c{n}", "f"), A(n, "{}"))]
    assert [call["id"] for call in run(*script).tool_calls_for_response()] == [f"c{n}" for n in reversed(range(50))]


def test_r29_reduce_is_a_repeated_push():
    made = events(K("t"), T("a"), S(0, "c", "f"), A(0, "{}"), U(1, 2), F("stop"))
    one, other = ChunkAccumulator().reduce(made), ChunkAccumulator()
    for event in made:
        assert other.push(event) is other
    assert one.message() == other.message()
    assert one.usage() == other.usage() == {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def test_r30_an_unknown_event_changes_no_finaliser():
    made = run(T("a"), UnknownEvent("news", {"x": 1}), F("stop"))
    assert (made.text(), shown(made.ordered_content()), made.finish_reason()) == ("a", ["a"], "stop")


def test_r31_two_starts_at_one_index_do_not_share_their_arguments():
    body = sse(
        chunk(call_delta(0, "a", "f", '{"x":1}')), chunk(call_delta(0, "b", "g", '{"y":2}')), chunk({}, "tool_calls")
    )
    assert calls(fold_bytes(body)) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


def test_r33_two_calls_without_an_index_do_not_collide():
    body = sse(
        chunk(call_delta(None, "a", "f", '{"x"')), chunk(call_delta(None, arguments=":1}")),
        chunk(call_delta(None, "b", "g", '{"y"')), chunk(call_delta(None, arguments=":2}")), chunk({}, "tool_calls"),
    )  # fmt: skip
    assert calls(fold_bytes(body)) == [("a", "f", {"x": 1}), ("b", "g", {"y": 2})]


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("stop", "stop"), ("completed", "stop"), ("end_turn", "stop"), ("length", "length"), ("max_tokens", "length"),
        ("max_output_tokens", "length"), ("tool_calls", "tool_calls"), ("tool_use", "tool_calls"),
        ("content_filter", "content_filter"), ("pause_turn", "unknown"), ("odd", "unknown"), ("error", "error"),
        ("cancelled", "cancelled"), ("incomplete", "incomplete"),
    ],
)  # fmt: skip
def test_r36_the_words_for_a_finish(word, expected):
    made = ChunkAccumulator().reduce(events_of(chat(T("a"), F(word))))
    assert (made.server_finish_reason(), made.finish_reason()) == (expected, word)


def test_r38_thinking_alone_gives_details():
    made = run(K("a"))
    assert made.reasoning_details() == [{"index": 0, "text": "a", "signature": None, "encrypted": False, "data": None}]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (chat(T("a")), "stop"),
        (chat(T("a"), done=False), "incomplete"),
        (anthropic(*text_block(0, "a")), "stop"),
        (anthropic(*text_block(0, "a"), stop=False), "incomplete"),
        (b"", "incomplete"),
    ],
)
def test_r41_an_end_that_was_marked_is_a_stop(body, expected):
    assert ChunkAccumulator().reduce(events_of(body)).server_finish_reason() == expected


def test_r42_usage_after_the_reason_is_read():
    assert fold_bytes(chat(T("a"), F("stop"), U(5, 7))).usage.total_tokens == 12


def test_r43_the_last_event_needs_no_end():
    assert fold_bytes(chat(T("a"), F("stop"), done=False).rstrip(b"\n")).finish_reason == "stop"


def test_r45_an_error_is_the_reason_and_what_follows_changes_nothing():
    made = run(T("a"), U(1, 2), ErrorEvent(StreamError("overloaded", "busy")), ErrorEvent(StreamError("late", "x")))
    assert (made.server_finish_reason(), made.usage()["total_tokens"]) == ("error", 3)
    assert made._core.complete().error.type == "overloaded"


def test_r46_cancelled():
    made = run(T("par"), MessageStop("cancelled"))
    assert (made.server_finish_reason(), made.message().parts) == ("cancelled", (TextPart("par"),))


def test_r50_builtin_tools_have_status_and_times():
    clock = itertools.count(100.0, 1.5)
    made = run(
        PartStart(0, 0, "server_tool_call", "a", "search", "web_search"),
        PartStart(0, 1, "server_tool_call", "b", "code", "code_interpreter"),
        PartUpdate(0, 1, extra={"status": "failed"}),
        PartStop(0, 0),
        PartUpdate(0, 0, extra={"status": "completed"}),
        clock=lambda: next(clock),
    )
    assert made.builtin_tools() == [
        BuiltinTool("a", "search", "completed", 100.0, 103.0),
        BuiltinTool("b", "code", "failed", 101.5, None),
    ]
    assert made.tool_calls_for_response()[0]["metadata"] == {"status": "completed"}


def test_r50_the_times_are_those_of_the_tool_whatever_its_id():
    """A late id, none at all, one that comes again in another attempt or choice."""
    clock = itertools.count(1.0)
    made = run(
        PartStart(1, 0, "server_tool_call", "a", "other"),
        PartStart(0, 0, "server_tool_call", "a", "search"),
        MessageReset(0, "attempt"),
        *text(0, "say"),
        PartStart(0, 1, "server_tool_call", "a", "search"),
        PartStart(0, 2, "server_tool_call", None, "code"),
        PartStart(0, 3, "server_tool_call", None, "fetch"),
        PartStop(0, 2),
        PartUpdate(0, 3, id="late"),
        PartStop(0, 1),
        PartStop(1, 0),
        clock=lambda: next(clock),
    )
    assert made.builtin_tools() == [
        BuiltinTool("a", "search", None, 2.0, 6.0),
        BuiltinTool(None, "code", None, 3.0, 5.0),
        BuiltinTool("late", "fetch", None, 4.0, None),
    ]


def test_r50_a_stop_without_an_index_ends_the_tool_that_is_open_longest():
    clock = itertools.count(1.0)
    made = run(
        PartStart(0, 0, "text"),
        PartStart(0, 1, "server_tool_call", "a", "search"),
        PartStart(0, 2, "server_tool_call", "b", "code"),
        PartStop(0),
        PartStop(0),
        clock=lambda: next(clock),
    )
    assert made.builtin_tools() == [
        BuiltinTool("a", "search", None, 1.0, 3.0),
        BuiltinTool("b", "code", None, 2.0, None),
    ]


@pytest.mark.parametrize("data", ["7", '"text"', "null", "true", "[7]"])
def test_r53_data_that_is_no_object_breaks_nothing(data):
    response = fold_bytes(sse(chunk({"content": "a"}), data, chunk({"content": "b"}, "stop")))
    assert (response.text, response.error) == ("ab", None)


def test_late_metadata_goes_over_what_was_known():
    made = run(
        S(0, "a", "f", {"status": "queued", "async": True}),
        PartUpdate(0, 0, extra={"status": "running", "thought_signature": "s"}),
        A(0, "{}"),
    )
    assert made.tool_calls_for_response()[0]["metadata"] == {
        "status": "running",
        "async": True,
        "thought_signature": "s",
    }


def test_finalisers_may_be_asked_at_any_time_and_in_any_order():
    made = run(T("a"), S(0, "c", "f"), A(0, '{"x"'))
    assert made.tool_calls_for_response()[0]["metadata"]["error"]["reason"] == "json_decode_error"
    made.push(ToolArgumentsDelta(0, 1, ":1}"))
    assert made.tool_calls_for_response() == [{"id": "c", "name": "f", "arguments": {"x": 1}}]
    assert made.text() == made.text() == "a"
    assert (made.server_finish_reason(), made.finish_reason()) == ("incomplete", None)
    made.reduce(events(F("stop"), ended="clean"))
    assert made.server_finish_reason() == "stop"


def test_usage_of_the_wire_is_the_largest_only_by_policy():
    script = (UsageUpdate(Usage(10, 9)), UsageUpdate(Usage(8, 20)))
    assert fold(presets.req_llm, *script).usage.input_tokens == 10
    assert fold(None, *script).usage.input_tokens == 8


def test_the_preset_goes_with_fold():
    response = fold_source(chat(S(0, "a", "f"), A(0, "{x")), policy=presets.req_llm)
    assert (calls(response), response.finish_reason) == ([("a", "f", {})], "stop")


def test_an_anthropic_pause_is_no_error():
    response = fold_bytes(anthropic(*text_block(0, "a"), message_delta("pause_turn")))
    assert (response.finish_reason, response.error) == ("pause", None)
