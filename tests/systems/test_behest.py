"""behest, statement by statement: the preset, its released form, the view, and what our default mends."""

from __future__ import annotations

import pytest

from chunkfold import Folder, StreamAccumulator, TextPart, presets
from chunkfold.events import Finish, MessageReset, PartStart, PartStop, TextDelta, ToolArgumentsDelta, UsageUpdate
from chunkfold.response import Usage
from chunkfold.views.behest import BehestAccumulator, InvalidToolCallJson, Truncated
from tests.systems.notation import (
    A,
    E,
    F,
    K,
    S,
    T,
    U,
    anthropic,
    block,
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
    tool_block,
)

SHIPPED = presets.behest_shipped


def run(*script, policy=presets.behest):
    """What the view makes of a script: text, calls, reason, usage, and the error if there is one."""
    view = BehestAccumulator(policy)
    for event in events(*script):
        view.observe(event)
    try:
        found, error = view.finalize(), None
    except (Truncated, InvalidToolCallJson) as caught:
        found, error = caught.accumulated, caught
    usage = found.usage and (found.usage.input_tokens, found.usage.output_tokens)
    texts = [part.text for part in found.message.parts if isinstance(part, TextPart)]
    done = [(call.id, call.name, call.arguments) for call in found.tool_calls]
    return ["".join(texts), done, found.finish_reason, usage, error and type(error).__name__]


X1 = [("c1", "f", {"x": 1})]


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param([T("a"), T("b"), F("stop")], ["ab", [], "stop", None, None], id="B1"),
        pytest.param(
            [S(0, "c1", "f"), A(0, '{"x"'), A(0, ":1}"), E(0), F("tool_calls")],
            ["", X1, "tool_calls", None, None],
            id="B2",
        ),
        pytest.param(
            [S(0, "c1", "f"), A(0, '{"x"'), E(0), A(0, ":1}"), F("tool_calls")],
            ["", X1, "tool_calls", None, None],
            id="B2-after-its-end",
        ),
        pytest.param(
            [T("a"), S(0, "c1", "f"), A(0, '{"x":1}'), TextDelta(0, 0, "b"), F("tool_calls")],
            ["ab", X1, "tool_calls", None, None],
            id="B1-after-its-end",
        ),
        pytest.param([T("so far")], ["so far", [], None, None, "Truncated"], id="B3"),
        pytest.param([S(0, "c1", "f"), A(0, '{"x":1}'), E(0)], ["", X1, None, None, "Truncated"], id="B3-calls"),
        pytest.param([], ["", [], "stop", None, None], id="B4"),
        pytest.param(
            [S(0, "c0", "g"), A(0, "{x"), E(0), S(1, "c1", "f"), A(1, '{"x":1}'), E(1), F("tool_calls")],
            ["", X1, "tool_calls", None, "InvalidToolCallJson"],
            id="B5",
        ),
        pytest.param([A(7, '{"x":1}'), T("a"), F("stop")], ["a", [], "stop", None, None], id="B6"),
        pytest.param([T("a"), F("stop"), U(5, 7)], ["a", [], "stop", (5, 7), None], id="B7"),
        pytest.param([U(5, 7), T("a"), F("stop")], ["a", [], "stop", (5, 7), None], id="B7-before"),
    ],
)
def test_documented(script, expected):
    assert run(*script) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        pytest.param(
            [T("a"), S(0, "c", "f"), A(0, "{x"), F("tool_calls")],
            ["a", [("c", "f", None)], "tool_calls", None, None],
            id="B8",
        ),
        pytest.param(
            [S(0, "c", "f"), A(0, ""), F("tool_calls")], ["", [("c", "f", None)], "tool_calls", None, None], id="B9"
        ),
        pytest.param(
            [S(0, "c", "f"), A(0, '{"x":1}'), S(1, "c", "g"), A(1, '{"y":2}'), F("tool_calls")],
            ["", [("c", "g", {"y": 2})], "tool_calls", None, None],
            id="B10",
        ),
        pytest.param([], ["", [], "stop", None, None], id="B12"),
        pytest.param([T("cut")], ["cut", [], "stop", None, None], id="B13"),
        pytest.param([T("a"), F("length"), F("stop")], ["a", [], "stop", None, None], id="B14"),
        pytest.param(
            [U(1, 2), F("length"), UsageUpdate(Usage()), F("stop")],
            ["", [], "stop", (None, None), None],
            id="B14-usage",
        ),
        pytest.param([S(0, "c1", "f"), A(0, '{"x":1}'), F("stop")], ["", X1, "stop", None, None], id="B15"),
        pytest.param(
            [S(0, "c1", "f"), A(0, '{"x"'), E(0), A(0, ":1}"), F("stop")], ["", X1, "stop", None, None], id="B16-late"
        ),
        pytest.param([A(7, "{}"), T("a"), F("stop")], ["a", [], "stop", None, None], id="B6"),
    ],
)
def test_shipped(script, expected):
    assert run(*script, policy=SHIPPED) == expected


def test_b5_the_error_has_the_call_the_survivors_and_everything_that_came():
    view = BehestAccumulator()
    for event in events(
        T("hi"), S(0, "c1", "f"), A(0, "{"), S(1, "c2", "g"), A(1, "{}"), S(2, "c3", "h"), A(2, "["), F("tool_calls")
    ):
        view.observe(event)
    with pytest.raises(InvalidToolCallJson) as caught:
        view.finalize()
    error = caught.value
    assert (error.call_id, [call.id for call in error.calls]) == ("c1", ["c1", "c3"])
    assert [call.id for call in error.accumulated.tool_calls] == ["c2"]
    assert error.accumulated.message.parts[0] == TextPart("hi")
    assert [call.raw_arguments for call in error.response.tool_calls] == ["{", "{}", "["]


def test_b6_what_is_dropped_leaves_a_note():
    response = fold(presets.behest, A(7, "{}"), T("a"), F("stop"))
    assert [note.kind for note in response.diagnostics] == ["orphan_delta"]


def test_b11_clear_begins_anew():
    view = BehestAccumulator(SHIPPED)
    for event in events(T("a"), S(0, "c", "f"), ended=None):
        view.observe(event)
    assert (view.text(), len(view.tool_calls()), len(view.to_message().parts)) == ("a", 1, 2)
    view.clear()
    assert (view.text(), view.tool_calls(), view.to_message().parts) == ("", (), ())


def test_b12_an_empty_message_is_one_of_the_assistant():
    message = BehestAccumulator(SHIPPED).finalize().message
    assert (message.role, message.parts) == ("assistant", ())


def test_b15_the_default_runs_the_calls_of_a_server_that_says_stop():
    assert not fold(presets.behest, S(0, "c", "f"), F("stop")).continues_tool_loop
    assert fold(None, S(0, "c", "f"), F("stop")).continues_tool_loop


def test_b16_the_message_is_made_of_the_deltas_whatever_a_stop_repeats():
    assert run(S(0, "c1", "f"), A(0, '{"x":1}'), E(0), PartStop(0, 0), F("tool_calls"))[1] == X1


# What is mended


def test_b18_an_attempt_that_is_made_again_does_not_double_the_text():
    accumulator = StreamAccumulator()
    for event in [*events(T("hel"), ended=None), MessageReset(0, "attempt"), *events(T("hello"), F("stop"))]:
        accumulator.observe(event)
    assert accumulator.finalize().text == "hello"


def test_b19_only_the_first_choice():
    body = sse(chunk({"content": "a"}), chunk({"content": "b"}, index=1), chunk({}, "stop"), chunk({}, "stop", 1))
    response = fold_bytes(body, presets.behest)
    assert ([choice.text for choice in response.choices], response.text) == (["a"], "a")


@pytest.mark.parametrize("delta", [{"content": "!"}, call_delta(0, "c1", "f", '{"x":1}')])
def test_b20_what_comes_with_the_reason_is_not_lost(delta):
    response = fold_bytes(sse(chunk({"content": "hi"}), chunk(delta, "stop")))
    if "content" in delta:
        assert response.text == "hi!"
    else:
        assert (response.text, calls(response)) == ("hi", X1)


def test_b22_usage_after_the_reason_counts():
    response = fold_bytes(chat(T("a"), F("stop"), U(5, 7)))
    assert (response.usage.input_tokens, response.usage.output_tokens) == (5, 7)


def test_b23_a_call_without_index_and_id_is_kept():
    body = sse(
        chunk(call_delta(None, name="f", arguments='{"x"')), chunk(call_delta(None, arguments=":1}")), chunk({}, "stop")
    )
    assert calls(fold_bytes(body)) == [(None, "f", {"x": 1})]


def test_b24_one_chunk_with_everything_is_a_start_and_a_delta():
    seen = events_of(sse(chunk(call_delta(0, "c1", "f", '{"x":1}'))))
    kinds = [event for event in seen if isinstance(event, (PartStart, ToolArgumentsDelta))]
    assert [(type(event).__name__, getattr(event, "text", event.index)) for event in kinds] == [
        ("PartStart", 0),
        ("ToolArgumentsDelta", '{"x":1}'),
    ]


def test_b26_a_chunk_that_cannot_be_read_is_skipped_with_a_note():
    response = fold_bytes(sse(chunk({"content": "a"}), "{broken", chunk({"content": "b"}, "stop")))
    assert (response.text, response.error) == ("ab", None)
    assert [note.kind for note in response.diagnostics] == ["frame_not_json"]


def test_b27_anthropic_arguments_reach_the_call_after_a_text():
    body = anthropic(*text_block(0, "say"), *tool_block(1, "c1", "f", '{"x"', ":1}"), message_delta("tool_use"))
    response = fold_bytes(body)
    assert (response.text, calls(response)) == ("say", X1)


def test_b28_a_stop_reason_of_null_is_none():
    response = fold_bytes(anthropic(*text_block(0, "a"), message_delta(None), message_delta("end_turn")))
    assert [event.native for event in events_of(anthropic(message_delta(None))) if isinstance(event, Finish)] == []
    assert response.finish_reason == "stop"


def test_b29_an_error_in_the_stream_is_told():
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}
    response = fold_bytes(anthropic(*text_block(0, "a"), error, stop=False))
    assert (response.text, response.error.type, response.finish_reason) == ("a", "overloaded_error", "error")


def test_b30_thinking_and_the_usage_of_the_start_are_kept():
    thinking = block(0, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "hm"})
    response = fold_bytes(anthropic(*thinking, *text_block(1, "a"), message_delta("end_turn")))
    assert (response.reasoning, response.usage.input_tokens, response.usage.output_tokens) == ("hm", 10, 5)
    assert fold(presets.behest, K("hm"), T("a"), F("stop")).reasoning == ""


def test_b31_a_message_delta_without_input_tokens_is_no_error():
    response = fold_bytes(anthropic(*text_block(0, "a"), message_delta("end_turn", {"output_tokens": 9})))
    assert (response.error, response.usage.input_tokens, response.usage.output_tokens) == (None, 10, 9)


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n", "\r\r"])
def test_b32_three_ways_to_end_an_event(end):
    body = chat(T("a"), T("b"), F("stop")).replace(b"\n\n", end.encode())
    assert fold_bytes(body, dialect="openai-chat").text == "ab"


def test_b33_data_lines_join():
    payload = '{"choices":[{"index":0,\ndata: "delta":{"content":"a"}}]}'
    assert fold_bytes(sse(payload, chunk({}, "stop"))).text == "a"


def test_b34_a_character_may_be_cut_anywhere():
    payload = '{"choices":[{"index":0,"delta":{"content":"é漢😀"}}]}'
    assert fold_bytes(sse(payload, chunk({}, "stop"))).text == "é漢😀"  # which is fed in single bytes too


def test_b35_the_last_event_needs_no_blank_line():
    body = sse(chunk({"content": "a"}), chunk({"content": "b"}, "stop"), done=False).rstrip(b"\n")
    response = fold_bytes(body)
    assert (response.text, response.finish_reason) == ("ab", "stop")


def test_b36_a_comment_alone_holds_nothing_up():
    folder = Folder()
    body = b": ping\n\n" + chat(T("a"), F("stop"))
    assert any(getattr(event, "text", "") == "a" for event in folder.feed(body))
    assert folder.close().text == "a"


def test_text_goes_before_calls_in_the_message():
    view = BehestAccumulator()
    for event in events(S(0, "c", "f"), T("after"), F("tool_calls")):
        view.observe(event)
    assert [part.kind for part in view.finalize().message.parts] == ["text", "tool_call"]


def test_a_call_that_the_length_cut_does_not_go_on_as_if_it_had_been_answered():
    response = fold(None, T("a"), S(0, "c", "f"), A(0, '{"x'), F("length"))
    assert (response.tool_calls[0].status, response.continues_tool_loop, response.is_truncated) == (
        "truncated",
        False,
        True,
    )
