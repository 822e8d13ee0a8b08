"""loopctl, statement by statement: the preset, the view over its serialised events, and what our default mends."""

from __future__ import annotations

import json

import pytest

from chunkfold import InvalidToolCall, TextPart, ToolCall, Usage, presets
from chunkfold.events import (
    Finish,
    MessageStart,
    MessageStop,
    PartStart,
    PartStop,
    Ping,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    UsageUpdate,
)
from chunkfold.views.loopctl import (
    LoopctlAccumulator,
    Reader,
    Writer,
    should_continue_tool_loop,
    stop_reason,
    stop_reason_of,
    write,
)
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
    events_of,
    fold,
    fold_bytes,
    message_delta,
    sse,
    text_block,
)

# Its events in short.


def text(index):
    return {"type": "part_start", "index": index, "part": {"type": "text", "text": ""}}


def thinking(index):
    return {"type": "part_start", "index": index, "part": None}


def tool(index, id_, name, given=None):
    return {
        "type": "part_start",
        "index": index,
        "part": {"type": "tool_call", "id": id_, "name": name, "input": given},
    }


def delta(index, kind, said):
    field = "text" if kind in ("text", "thinking") else "partial_json"
    return {"type": "indexed_delta", "index": index, "delta": {"type": f"{kind}_delta", field: said}}


def stop(index=None):
    return {"type": "part_stop"} if index is None else {"type": "part_stop", "index": index}


def delta_of_message(reason=None, usage=None):
    counts = usage and {"input_tokens": usage[0], "output_tokens": usage[1]}
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": counts}


START = {"type": "message_start", "message": {"id": "msg_1", "role": "assistant", "model": "m"}}
END = {"type": "message_stop"}


def shown(part):
    return part.text if isinstance(part, TextPart) else (part.id, part.name, part.arguments)


def build(*script):
    """The parts of the message that a script builds."""
    accumulator = LoopctlAccumulator()
    for event in script:
        accumulator.process(event)
    return [shown(part) for part in accumulator.build().parts]


ROWS = [
    pytest.param(
        [
            START,
            text(0),
            delta(0, "text", "Hello"),
            delta(0, "text", " world"),
            stop(),
            delta_of_message("end_turn"),
            END,
        ],
        ["Hello world"],
        id="L1",
    ),
    pytest.param(
        [
            tool(0, "a", "echo"),
            tool(1, "b", "search"),
            delta(0, "input_json", '{"msg":'),
            delta(1, "input_json", '{"q":'),
            delta(0, "input_json", '"a"}'),
            delta(1, "input_json", '"b"}'),
            stop(),
            stop(),
        ],
        [("a", "echo", {"msg": "a"}), ("b", "search", {"q": "b"})],
        id="L2",
    ),
    pytest.param([text(0), delta(1, "text", "ignored"), delta(0, "text", "hello"), stop()], ["hello"], id="L3"),
    pytest.param([text(0), delta(5, "input_json", '{"bad":true}'), stop()], [], id="L3-tool"),
    pytest.param(
        [text(0), delta(0, "text", "answer"), delta(0, "input_json", '{"msg":"hi"}'), stop(0)], ["answer"], id="L4"
    ),
    pytest.param(
        [tool(0, "a", "echo"), delta(0, "text", "stray"), delta(0, "input_json", '{"msg":"hi"}'), stop(0)],
        [("a", "echo", {"msg": "hi"})],
        id="L4-text",
    ),
    pytest.param([tool(0, "a", "f"), delta(0, "tool_call", '{"q":"x"}'), stop()], [("a", "f", {"q": "x"})], id="L5"),
    pytest.param([tool(0, "a", "f"), delta(0, "tool_call", 42), stop()], [("a", "f", {})], id="L5-number"),
    pytest.param([tool(0, "a", "f"), stop()], [("a", "f", {})], id="L7"),
    pytest.param([tool(0, "a", "f", {"x": 1}), stop()], [("a", "f", {})], id="L7-embedded"),
    pytest.param(
        [tool(0, "a", "f"), tool(1, "b", "g"), delta(1, "input_json", '{"q":1}'), stop(1)],
        [("b", "g", {"q": 1})],
        id="L8",
    ),
    pytest.param([tool(3, "a", "f"), text(0), delta(0, "text", "hi"), stop(), stop()], [("a", "f", {}), "hi"], id="L9"),
    pytest.param([text(0), delta(0, "text", "hi"), stop(7)], [], id="L10"),
    pytest.param([text(0), delta(0, "text", "hi"), stop(7), stop(0), stop(0)], ["hi"], id="L10-then"),
    pytest.param(
        [thinking(1), tool(1, "b", "g"), stop(1), delta(1, "input_json", '{"q":1}'), stop(1)],
        [("b", "g", {"q": 1})],
        id="L11",
    ),
    pytest.param([thinking(1), delta(1, "thinking", "reasoning"), stop()], [], id="L12"),
    pytest.param([text(0), delta(0, "text", "hi"), stop(), {"type": "ping"}, END], ["hi"], id="L15"),
    pytest.param(
        [delta(0, "text", "before"), text(0), delta(0, "text", "a"), stop(0), delta(0, "text", "after")],
        ["a"],
        id="L16",
    ),
    pytest.param(
        [text(0), text(0), delta(0, "text", "a"), delta(0, "text", "b"), stop(0), delta(0, "text", "c"), stop(0)],
        ["ab", "c"],
        id="L17",
    ),
    pytest.param([tool(0, "a", ""), delta(0, "input_json", "{}"), stop()], [], id="L18"),
    pytest.param([tool(0, "a", "f"), delta(0, "input_json", "[1]"), stop()], [("a", "f", [1])], id="L7-list"),
    pytest.param([], [], id="L15-empty"),
    pytest.param(
        [text(0), delta(0, "text", "hello"), stop(0), text(1), delta(1, "text", "world"), stop(1)],
        ["hello", "world"],
        id="L1-two",
    ),
    pytest.param(
        [text(0), tool(1, "a", "f"), delta(0, "text", "hi"), stop(1), stop(0)],
        [("a", "f", {}), "hi"],
        id="L9-close-order",
    ),
]


@pytest.mark.parametrize(("script", "expected"), ROWS)
def test_build(script, expected):
    assert build(*script) == expected
    assert build(*(json.dumps(event) for event in script)) == expected
    # What a reader gives is all there is to know: events of ours build the same.
    reader = Reader()
    assert build(*(event for each in script for event in reader.read(each))) == expected


def test_l6_a_call_that_cannot_be_read_is_an_error_at_its_close_and_stays():
    accumulator = LoopctlAccumulator()
    accumulator.process(tool(0, "a", "bad_tool"))
    accumulator.process(delta(0, "input_json", "not valid json{"))
    with pytest.raises(InvalidToolCall) as caught:
        accumulator.process(stop())
    assert caught.value.call.raw_arguments == "not valid json{"
    assert "not valid" not in str(caught.value)
    assert "15 characters" in str(caught.value)
    for event in (text(1), delta(1, "text", "on"), stop()):
        accumulator.process(event)
    assert [shown(part) for part in accumulator.build().parts] == ["on"]
    # Mended: by default the call is there, and marked.
    response = fold(None, S(0, "a", "f"), A(0, "{bad"), T("on"), F("tool_calls"))
    assert calls(response) == [("a", "f", "<invalid>")]


def test_l6_code_that_the_server_runs_is_no_call_of_the_client():
    """Gemini's code execution: its arguments are for its own tool, and need not be JSON."""
    made = [
        PartStart(0, 0, "server_tool_call", None, "code_execution"),
        ToolArgumentsDelta(0, 0, "print(6 * 7)"),
        PartStop(0, 0),
        MessageStop("clean"),
    ]
    accumulator = LoopctlAccumulator()
    closed = [part for event in made if (part := accumulator.process(event)) is not None]
    assert [part.raw_arguments for part in closed] == ["print(6 * 7)"]
    assert accumulator.build().parts == tuple(closed)


def test_parts_are_handed_out_at_their_close():
    accumulator = LoopctlAccumulator()
    script = [
        thinking(0),
        delta(0, "thinking", "t"),
        stop(0),
        text(1),
        delta(1, "text", "a"),
        stop(1),
        tool(2, "c", "f"),
        stop(2),
    ]
    given = [part for event in script if (part := accumulator.process(event)) is not None]
    assert [shown(part) for part in given] == ["a", ("c", "f", {})]
    assert accumulator.peek_parts() == tuple(given)


def test_l12_thinking_is_seen_by_observers_only():
    made = Reader()
    observed = [event for each in (thinking(1), delta(1, "thinking", "t")) for event in made.read(each)]
    assert observed[-1] == ReasoningDelta(0, 0, "t")
    response = fold(presets.loopctl, K("t"), T("a"), F("stop"))
    assert (response.reasoning, response.text) == ("", "a")


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ([delta_of_message("end_turn", (100, 50)), delta_of_message("max_tokens", (200, 75))], (200, 75)),
        ([delta_of_message("end_turn", (100, 50)), delta_of_message("end_turn")], None),
        ([text(0)], None),
    ],
)
def test_l13_the_last_message_delta_has_the_usage(script, expected):
    accumulator = LoopctlAccumulator()
    for event in script:
        accumulator.process(event)
    usage = accumulator.usage()
    assert (usage and (usage.input_tokens, usage.output_tokens)) == expected


def test_l14_old_stops_have_no_index():
    for legacy in ('{"type":"part_stop"}', {"type": "part_stop", "index": None}):
        reader = Reader()
        reader.read(tool(4, "a", "f"))
        assert reader.read(legacy) == [PartStop(0, 0)]
    assert LoopctlAccumulator().process(PartStop(0, None)) is None


@pytest.mark.parametrize("of_start", [{}, {"index": None}, {"index": 0}], ids=["absent", "null", "0"])
@pytest.mark.parametrize("of_delta", [{}, {"index": None}, {"index": 0}], ids=["absent", "null", "0"])
def test_l14_no_index_is_the_lane_0_absent_or_null(of_start, of_delta):
    reader = Reader()
    assert reader.read({"type": "part_start", **of_start, "part": {"type": "text", "text": ""}}) == [
        PartStart(0, 0, "text")
    ]
    delta = {"type": "indexed_delta", **of_delta, "delta": {"type": "text_delta", "text": "hi"}}
    assert reader.read(delta) == [TextDelta(0, 0, "hi")]


def test_l14_ours_without_an_index_too():
    accumulator = LoopctlAccumulator()
    for event in (PartStart(0, 0, "text"), TextDelta(0, 0, "a")):
        accumulator.process(event)
    assert accumulator.process(PartStop(0)) == TextPart("a")


def test_l19_the_id_is_kept_beside_the_model():
    response = fold(None, *Reader().read(START))
    assert (response.id, response.model) == ("msg_1", "m")


def test_l20_a_redacted_thought_is_marked_without_text():
    redacted = [
        {"type": "content_block_start", "index": 0, "content_block": {"type": "redacted_thinking", "data": "blob"}},
        {"type": "content_block_stop", "index": 0},
    ]
    starts = [event for event in events_of(anthropic(*redacted)) if isinstance(event, PartStart)]
    assert [(event.kind, event.extra["redacted"]) for event in starts] == [("reasoning", True)]
    assert write(starts[0]) == {"type": "part_start", "index": 0, "part": None}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], None),
        (["end_turn"], "end_turn"),
        (["max_tokens", "news"], "max_tokens"),
        (["end_turn", "tool_use"], "tool_call"),
        (["tool_use", "stop_sequence"], "stop_sequence"),
    ],
)
def test_l21_the_last_known_reason_stands(words, expected):
    accumulator = LoopctlAccumulator()
    for word in words:
        accumulator.process(delta_of_message(word))
    assert accumulator.stop_reason() == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([("length", "length"), ("unknown", "news")], "max_tokens"),
        ([("tool_calls", "tool_calls"), ("content_filter", "content_filter")], "tool_call"),
        ([("length", "length"), ("stop", "stop"), ("pause", "pause_turn")], "end_turn"),
        ([("unknown", "news")], None),
    ],
)
def test_l21_the_last_known_reason_stands_in_our_events_too(said, expected):
    accumulator = LoopctlAccumulator()
    for reason, word in said:
        accumulator.process(Finish(0, reason, word))
    assert accumulator.stop_reason() == expected


def test_l21_a_reason_stands_also_where_an_error_follows():
    accumulator = LoopctlAccumulator()
    for event in events_of(sse(chunk({"content": "a"}), chunk({}, "length"), {"error": {"message": "no"}})):
        accumulator.process(event)
    assert accumulator.stop_reason() == "max_tokens"


def test_l21_without_a_reason_a_marked_end_is_a_turn_that_ended():
    accumulator = LoopctlAccumulator()
    for event in (text(0), delta(0, "text", "a"), stop(0), END):
        accumulator.process(event)
    accumulator.build()
    assert accumulator.stop_reason() == "end_turn"


def test_stop_reasons():
    words = {"tool_call": "tool_call", "tool_use": "tool_call", "max_tokens": "max_tokens"}
    words |= {"stop_sequence": "stop_sequence", "end_turn": "end_turn", "unknown": None}
    assert {word: stop_reason(word) for word in words} == words
    assert [word for word in words if should_continue_tool_loop(stop_reason(word))] == ["tool_call", "tool_use"]
    assert stop_reason_of("tool_calls", "tool_calls") == "tool_call"
    assert stop_reason_of("length", "length") == "max_tokens"
    assert stop_reason_of("stop", "stop_sequence") == "stop_sequence"
    assert stop_reason_of(None, None) is None


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (MessageStart(id="msg_1", model="m", role="assistant"), START),
        (PartStart(0, 0, "text"), text(0)),
        (PartStart(0, 1, "tool_call", "a", "f"), tool(1, "a", "f", {})),
        (PartStart(0, 2, "reasoning"), thinking(2)),
        (TextDelta(0, 0, "x"), delta(0, "text", "x")),
        (ReasoningDelta(0, 2, ""), delta(2, "thinking", "")),
        (ToolArgumentsDelta(0, 1, "{"), delta(1, "input_json", "{")),
        (PartStop(0, 1), stop(1)),
        (PartStop(0), {"type": "part_stop", "index": None}),
        (Finish(0, "tool_calls", "tool_calls"), delta_of_message("tool_call")),
        (UsageUpdate(Usage(3, 4)), delta_of_message(None, (3, 4))),
        (MessageStop("clean"), END),
        (MessageStop("eof"), None),
        (MessageStop("error"), None),
        (Ping(), {"type": "ping"}),
    ],
)
def test_serialised_events(event, expected):
    assert write(event) == expected


def test_what_is_written_reads_back():
    script = [
        PartStart(0, 0, "text"), TextDelta(0, 0, "x"), PartStart(0, 1, "tool_call", "a", "f", extra={"index": 1}),
        ToolArgumentsDelta(0, 1, "{}"), PartStop(0, 1), PartStop(0, 0), MessageStop("clean"),
    ]  # fmt: skip
    reader = Reader()
    assert [event for each in script for event in reader.read(json.dumps(write(each)))] == script


def rebuilt(made):
    """What loopctl makes of events that are written for it: the message, the reason, the usage."""
    writer, accumulator = Writer(), LoopctlAccumulator()
    for event in made:
        data = writer.write(event)
        if data is not None:
            accumulator.process(json.dumps(data))
    usage = accumulator.usage()
    said = accumulator.stop_reason(), usage and (usage.input_tokens, usage.output_tokens)
    return [shown(part) for part in accumulator.build().parts], *said


def test_only_the_first_choice_is_written():
    body = sse(
        chunk({"content": "a"}),
        chunk({"content": "x"}, index=1),
        chunk(call_delta(0, "c", "f", '{"x":1}')),
        chunk(call_delta(0, "d", "g", '{"y":2}'), index=1),
        chunk({}, "length"),
        chunk({}, "stop", index=1),
    )
    assert rebuilt(events_of(body)) == (["a", ("c", "f", {"x": 1})], "max_tokens", None)


def test_the_words_of_an_audio_are_no_text():
    spoken = [PartStart(0, 0, "audio"), TextDelta(0, 0, "spoken"), PartStop(0, 0)]
    written = [PartStart(0, 1, "text"), TextDelta(0, 1, "written"), PartStop(0, 1)]
    assert rebuilt([*spoken, *written])[0] == ["written"]


@pytest.mark.parametrize(
    "body",
    [
        chat(T("a"), F("stop"), U(3, 4)),
        chat(T("a"), U(3, 4), F("stop")),
        sse(chunk({"content": "a"}, "stop", usage={"prompt_tokens": 3, "completion_tokens": 4})),
    ],
)
def test_a_reason_that_is_written_erases_no_usage(body):
    assert rebuilt(events_of(body)) == (["a"], "end_turn", (3, 4))


@pytest.mark.parametrize(
    "data",
    [
        {"type": "indexed_delta", "index": 0, "delta": "x"},
        {"type": "indexed_delta", "index": [0], "delta": [{"type": "text_delta"}]},
        {"type": "message_start", "message": "x"},
        {"type": "message_start", "message": {"id": 5, "model": ["m"]}},
        {"type": "message_delta", "delta": "x", "usage": [1]},
        {"type": "message_delta", "delta": {"stop_reason": ["x"]}, "usage": {"input_tokens": "3"}},
        {"type": "part_start", "index": 1, "part": {"type": ["tool_call"], "id": 5}},
        {"type": "part_start", "index": 1, "part": {"type": "tool_call", "id": 5, "name": ["f"]}},
        {"type": "part_stop", "index": "x"},
        {"type": ["ping"]},
    ],
)
def test_fields_of_the_wrong_type_say_nothing(data):
    accumulator = LoopctlAccumulator()
    for event in (text(0), delta(0, "text", "a"), data, delta(0, "text", "b"), stop(0)):
        accumulator.process(event)
    assert (accumulator.usage(), accumulator.stop_reason()) == (None, None)
    assert [shown(part) for part in accumulator.build().parts] == ["ab"]


@pytest.mark.parametrize("data", ["7", "[]", b"null"])
def test_serialised_data_is_an_object(data):
    with pytest.raises(ValueError, match="object"):
        Reader().read(data)


@pytest.mark.parametrize("data", [{}, {"type": "news"}, {"type": "indexed_delta"}, delta(0, "odd", "x")])
def test_serialised_events_that_mean_nothing(data):
    assert Reader().read(data) == []


# What is mended on the wire


def test_l24_a_name_may_come_after_the_first_piece_of_a_call():
    body = sse(
        chunk(call_delta(0, "a", arguments="{")),
        chunk(call_delta(0, name="f", arguments='"x":1}')),
        chunk({}, "tool_calls"),
    )
    assert calls(fold_bytes(body)) == [("a", "f", {"x": 1})]


def test_l25_two_fields_of_reasoning_do_not_cost_the_chunk():
    delta_ = {"reasoning_content": "t", "reasoning": "t", "content": "a"}
    response = fold_bytes(sse(chunk(delta_), chunk({}, "stop")))
    assert (response.reasoning, response.text) == ("t", "a")


def test_l26_input_tokens_of_the_start_stand():
    usage = fold_bytes(anthropic(*text_block(0, "a"), message_delta("end_turn", {"output_tokens": 5}))).usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)


@pytest.mark.parametrize(
    ("body", "ended", "truncated"),
    [
        (chat(T("a"), done=False), "eof", True),
        (chat(T("a"), F("stop"), done=False), "eof", False),
        (chat(T("a")), "clean", False),
        (anthropic(*text_block(0, "a"), stop=False), "eof", True),
        (anthropic(*text_block(0, "a")), "clean", False),
    ],
)
def test_l27_a_bare_end_is_no_stop(body, ended, truncated):
    response = fold_bytes(body, presets.loopctl)
    assert (response.ended, response.truncated) == (ended, truncated)


@pytest.mark.parametrize(
    ("payload", "message"),
    [
        ({"error": {"message": "no"}}, "no"),
        ({"error": "bare"}, "bare"),
        ({"error": {"code": 429, "message": "slow"}}, "slow"),
    ],
)
def test_l27_errors_in_the_stream_are_the_end_of_it(payload, message):
    response = fold_bytes(sse(chunk({"content": "a"}), payload))
    assert (response.error.message, response.finish_reason, response.text) == (message, "error", "a")


def test_l28_fields_need_no_space_and_characters_may_be_cut():
    body = chat(T("é漢😀"), F("stop")).replace(b"data: ", b"data:")
    assert fold_bytes(body).text == "é漢😀"


def test_the_preset_drops_what_never_closed_and_keeps_the_order_of_closing():
    response = fold(
        presets.loopctl,
        PartStart(0, 0, "text"), TextDelta(0, 0, "open"), PartStart(0, 1, "tool_call", "a", "f"), PartStop(0, 1), U(1, 2),
        close=False,
    )  # fmt: skip
    assert response.parts == (ToolCall("a", "f", "", "empty"),)


def test_c15_what_closes_in_another_choice_than_the_first_is_neither_handed_out_nor_an_error():
    accumulator = LoopctlAccumulator()
    for event in (
        PartStart(1, 0, "tool_call", "a", "f"), ToolArgumentsDelta(1, 0, "{bad"), PartStop(1, 0),
        PartStart(1, 1, "text"), TextDelta(1, 1, "other"), PartStop(1, 1),
        PartStart(0, 0, "text"), TextDelta(0, 0, "first"),
    ):  # fmt: skip
        assert accumulator.process(event) is None
    assert accumulator.process(PartStop(0, 0)) == TextPart("first")
    assert accumulator.build().parts == (TextPart("first"),)
