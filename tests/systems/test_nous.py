"""Nous, statement by statement: the preset, the view over bare fragments, and what our default mends."""

from __future__ import annotations

import pytest

from chunkfold import LimitExceeded, Limits, presets
from chunkfold.events import Finish, PartStart, ReasoningDelta, TextDelta, ToolArgumentsDelta, UsageUpdate
from chunkfold.views.nous import ToolCallAccumulator
from tests.systems.notation import (
    F,
    K,
    T,
    U,
    anthropic,
    block,
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
    tool_block,
)


def part(index=0, id_=None, name=None, arguments=None, **more):
    """A partial call as OpenAI sends it."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call = {"index": index, "id": id_, "function": function, **more}
    return {key: value for key, value in call.items() if value is not None}


def start(index, id_, name, **more):
    return {"_phase": "start", "_index": index, "id": id_, "name": name, **more}


def partial(index, text):
    return {"_phase": "partial", "_index": index, "partial_json": text}


def stop(index):
    return {"_phase": "stop", "_index": index}


def done(id_, name, arguments, **more):
    return {"id": id_, "name": name, "arguments": arguments, **more}


ROWS = [
    pytest.param(
        [[part(0, "a", "f", '{"q')], [part(0, arguments='uery":')], [part(0, arguments='"hi"}')]],
        [done("a", "f", {"query": "hi"})],
        id="N1",
    ),
    pytest.param(
        [
            [part(1, "b", "g", '{"y"')],
            [part(0, "a", "f", '{"x"')],
            [part(1, arguments=":2}")],
            [part(0, arguments=":1}")],
        ],
        [done("a", "f", {"x": 1}), done("b", "g", {"y": 2})],
        id="N2",
    ),
    pytest.param([[part(0, "a", "f", "{")], [part(0, arguments="}")]], [done("a", "f", {})], id="N3"),
    pytest.param([[part(0, "a", "f", "{}")], [part(1, "b", "g")]], [done("a", "f", {}), done("b", "g", {})], id="N4"),
    pytest.param([[part(0, "a", "f", "{invalid")]], [done("a", "f", {}, _invalid_arguments="{invalid")], id="N5"),
    pytest.param(
        [[part(0, "a", "f", "[1]")], [part(1, "b", "g", '"x"')]],
        [done("a", "f", {}, _invalid_arguments="[1]"), done("b", "g", {}, _invalid_arguments='"x"')],
        id="N6",
    ),
    pytest.param(
        [start(0, "a", "f"), partial(0, '{"x"'), partial(0, ":1}"), stop(0)], [done("a", "f", {"x": 1})], id="N8"
    ),
    pytest.param(
        [
            start(2, "b", "g"),
            start(1, "a", "f"),
            partial(2, '{"y"'),
            partial(1, '{"x"'),
            partial(1, ":1}"),
            partial(2, ":2}"),
            stop(2),
            stop(1),
        ],
        [done("a", "f", {"x": 1}), done("b", "g", {"y": 2})],
        id="N8-interleaved",
    ),
    pytest.param(
        [partial(0, '{"x"'), start(0, "a", "f"), partial(0, ":1}"), stop(0)], [done("a", "f", {"x": 1})], id="N8-early"
    ),
    pytest.param(
        [
            partial(2, '{"z"'),
            partial(1, '{"y"'),
            start(1, "b", "g"),
            start(2, "c", "h"),
            partial(2, ":3}"),
            partial(1, ":2}"),
        ],
        [done("b", "g", {"y": 2}), done("c", "h", {"z": 3})],
        id="N8-early-interleaved",
    ),
    pytest.param(
        [start(0, "a", "f"), partial(0, "{}"), partial(1, '{"y":2}'), start(1, "b", "g"), stop(0), stop(1)],
        [done("a", "f", {}), done("b", "g", {"y": 2})],
        id="N8-early-beside-another",
    ),
    pytest.param([start(0, "a", "f"), stop(0), stop(1)], [done("a", "f", {})], id="N8-stop-of-nothing"),
    pytest.param(
        [{"id": "t", "name": "f", "input": {"x": 1}}, {"id": "u", "name": "g", "input": {}}],
        [done("t", "f", {"x": 1}), done("u", "g", {})],
        id="N10",
    ),
    pytest.param([None, 7, "x", {}, [], [None, 7], {"odd": 1}, {"name": "f"}], [], id="N11"),
    pytest.param(
        [
            [{}, {"index": 0}, {"index": 3, "function": {}}],
            [{"index": 0, "id": "", "function": {"name": "", "arguments": ""}}],
            {"_phase": None},
            {"_index": None},
            {"_phase": "odd", "_index": 0},
            {"name": 5, "arguments": {}},
            {"name": ["f"], "input": {}},
        ],
        [],
        id="N11-says-nothing",
    ),
    pytest.param([[part(0, arguments='{"x":1}')]], [done(None, None, {"x": 1})], id="N12"),
    # What theirs got wrong.
    pytest.param([[part(0, "", "f", "{")], [part(0, "a", arguments="}")]], [done("a", "f", {})], id="N13"),
    pytest.param([[part(0, "a", "get_")], [part(0, name="weather")]], [done("a", "get_weather", {})], id="N14"),
    pytest.param(
        [[part(None, "a", "f", '{"x":1}'), part(None, "b", "g", '{"y":2}')]],
        [done("a", "f", {"x": 1}), done("b", "g", {"y": 2})],
        id="N15",
    ),
    pytest.param([[part(0, "a", "f", {"x": 1})]], [done("a", "f", {"x": 1})], id="N16"),
    pytest.param([start(0, "a", "f", input={"x": 1}), stop(0)], [done("a", "f", {"x": 1})], id="N18"),
    pytest.param(
        [start(0, "a", "f", input={}), partial(0, '{"x":1}'), stop(0)], [done("a", "f", {"x": 1})], id="N18-deltas"
    ),
    pytest.param(
        [{"id": "g7", "name": "f", "arguments": None}, {"id": "g8", "name": "g", "arguments": [1]}],
        [done("g7", "f", {}), done("g8", "g", {}, _invalid_arguments="[1]")],
        id="N17",
    ),
]


@pytest.mark.parametrize(("fragments", "expected"), ROWS)
def test_fragments(fragments, expected):
    accumulator = ToolCallAccumulator()
    for fragment in fragments:
        assert accumulator.feed(fragment) is accumulator
    assert accumulator.finalize() == expected
    assert accumulator.finalize() == expected  # it may be asked again


def test_n7_streamed_and_whole_give_the_same():
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
    message = {"role": "assistant", "content": "hi", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    whole = {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    streamed = sse(
        chunk({"role": "assistant", "content": "hi"}), chunk(call_delta(0, "a", "f", '{"x"')),
        chunk(call_delta(0, arguments=":1}")), chunk({}, "tool_calls"),
    )  # fmt: skip
    one, other = fold_bytes(streamed), fold_bytes(sse(whole, done=False).removeprefix(b"data: "))
    assert (one.text, one.finish_reason, calls(one)) == (other.text, other.finish_reason, calls(other))
    assert calls(one) == [("a", "f", {"x": 1})]


def test_n9_gemini_calls_are_whole_and_get_an_id():
    accumulator = ToolCallAccumulator()
    signed = {"thought_signature": "s"}
    accumulator.feed({"name": "g", "arguments": {"q": 1}, "metadata": signed}).feed({"name": "f", "arguments": {}})
    first, second = accumulator.finalize()
    assert (first["name"], first["arguments"], first["metadata"]) == ("g", {"q": 1}, signed)
    assert (second["name"], second["arguments"], "metadata" in second) == ("f", {}, False)
    assert first["id"].startswith("gemini_")
    assert first["id"] != second["id"]
    assert accumulator.finalize() == [first, second]


def test_shapes_do_not_mix_and_come_in_their_order():
    accumulator = ToolCallAccumulator()
    for fragment in ({"id": "x", "name": "z", "arguments": {}}, start(0, "b", "g"), [part(0, "a", "f")], stop(0)):
        accumulator.feed(fragment)
    assert [call["id"] for call in accumulator.finalize()] == ["a", "b", "x"]


def test_fragments_may_go_on_after_a_look():
    accumulator = ToolCallAccumulator().feed([part(0, "a", "f", '{"x"')])
    assert accumulator.finalize()[0]["_invalid_arguments"] == '{"x"'
    assert accumulator.feed([part(0, arguments=":1}")]).finalize() == [done("a", "f", {"x": 1})]


def test_fragments_are_limited():
    accumulator = ToolCallAccumulator(limits=Limits(tool_calls=2))
    accumulator.feed([part(0, "a", "f"), part(1, "b", "g")])
    with pytest.raises(LimitExceeded):
        accumulator.feed([part(2, "c", "h")])


# The normalisers and the runner, where ours does it


def test_n19_one_chunk_with_everything():
    delta = {"reasoning_content": "t", "content": "a", **call_delta(0, "c", "f", "{}")}
    body = sse(chunk(delta, "tool_calls", usage={"prompt_tokens": 1, "completion_tokens": 2}))
    wanted = (ReasoningDelta, TextDelta, ToolArgumentsDelta, Finish, UsageUpdate)
    assert [type(event) for event in events_of(body) if isinstance(event, wanted)] == list(wanted)


def test_n20_a_chunk_with_usage_alone():
    assert [event.usage.total_tokens for event in events_of(chat(U(5, 7))) if isinstance(event, UsageUpdate)] == [12]


def test_n21_a_message_delta_without_input_tokens_does_not_make_them_zero():
    body = anthropic(*text_block(0, "a"), message_delta("end_turn", {"output_tokens": 5}))
    usage = fold_bytes(body).usage
    assert (usage.input_tokens, usage.output_tokens) == (10, 5)
    overwritten = fold(presets.nous, T("a"), U(10, None), U(None, 5)).usage
    assert (overwritten.input_tokens, overwritten.output_tokens) == (None, 5)


def test_n22_the_end_mark_is_no_reason():
    assert fold_bytes(chat(T("a"), F("length"))).finish_reason == "length"
    assert fold(presets.nous, T("a"), F("length"), F("stop")).finish_reason == "stop"
    assert fold(presets.nous, T("a")).finish_reason == "stop"
    assert fold(None, T("a")).finish_reason is None


def test_n24_an_empty_stream_is_an_error_and_a_stop():
    response = fold(presets.nous)
    assert (response.error.type, response.finish_reason) == ("empty_stream", "stop")


def test_n25_what_came_before_an_error_is_kept():
    response = fold_bytes(sse(chunk({"content": "a"}), {"error": {"message": "no", "code": 500}}), presets.nous)
    assert (response.text, response.error.message) == ("a", "no")


def test_n26_only_the_first_choice():
    body = sse(chunk({"content": "a"}), chunk({"content": "b"}, index=1), chunk({}, "stop"))
    assert [choice.text for choice in fold_bytes(body, presets.nous).choices] == ["a"]


def test_n27_error_payloads_are_errors():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    assert [event.error.type for event in events_of(anthropic(error, stop=False)) if event.type == "error"] == [
        "overloaded_error"
    ]


def test_n28_an_event_that_cannot_be_read_leaves_a_note():
    response = fold_bytes(sse(chunk({"content": "a"}), "{oops", chunk({}, "stop")))
    assert [note.kind for note in response.diagnostics] == ["frame_not_json"]


def test_n29_a_frame_over_the_cap_is_a_breach():
    from chunkfold import Folder

    folder = Folder(limits=Limits(frame_bytes=100))
    with pytest.raises(LimitExceeded) as caught:
        folder.feed(b"data: " + b"x" * 200)
    assert caught.value.limit == "frame_bytes"


def test_n31_a_call_that_must_not_run_is_told():
    response = fold_bytes(sse(chunk(call_delta(0, "a", "f", "{bad")), chunk({}, "tool_calls")))
    assert (response.tool_calls[0].status, response.continues_tool_loop) == ("invalid", False)


def test_n32_llama_cpp_chunks_with_several_signals_and_calls():
    timings = {"predicted_ms": 3}
    body = sse(
        chunk({"reasoning_content": "t", "content": "a"}, timings=timings),
        chunk(call_delta(0, "c", "f", "{}"), timings=timings),
        chunk({}, "tool_calls", timings=timings),
    )
    response = fold_bytes(body)
    assert (response.reasoning, response.text, calls(response)) == ("t", "a", [("c", "f", {})])


def test_n34_two_fields_of_reasoning_are_counted_once():
    response = fold_bytes(
        sse(chunk({"reasoning": "same", "reasoning_content": "same"}), chunk({"content": "a"}, "stop"))
    )
    assert response.reasoning == "same"


def test_the_preset_sorts_by_index_and_keeps_what_lacks_a_name():
    body = sse(chunk(call_delta(1, "b", "g", "{}")), chunk(call_delta(0, "a", arguments="{}")), chunk({}, "tool_calls"))
    assert calls(fold_bytes(body, presets.nous)) == [("a", None, {}), ("b", "g", {})]


def test_an_anthropic_stream_with_thinking_text_and_calls():
    thinking = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "t"})
    body = anthropic(*thinking, *text_block(1, "a"), *tool_block(2, "c", "f", "{}"), message_delta("tool_use"))
    response = fold_bytes(body, presets.nous)
    assert (response.reasoning, response.text, calls(response)) == ("t", "a", [("c", "f", {})])
    assert [event.kind for event in events_of(body) if isinstance(event, PartStart)] == [
        "reasoning",
        "text",
        "tool_call",
    ]


def test_reasoning_alone_is_not_empty():
    assert fold(presets.nous, K("t")).error is None
