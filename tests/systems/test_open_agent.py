"""open-agent-sdk, statement by statement: the preset, the view, and what our default mends."""

from __future__ import annotations

import pytest

from chunkfold import PolicyError, ReasoningPart, TextPart, ToolCall, presets
from chunkfold.events import (
    ErrorEvent,
    MessageReset,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
)
from chunkfold.response import StreamError
from chunkfold.views.open_agent import Failure, Finish, OpenAgentStream, Reasoning, coalesce_text_blocks
from tests.systems.notation import (
    A,
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


def shown(item):
    """An item in short."""
    if isinstance(item, TextPart):
        return item.text
    if isinstance(item, ToolCall):
        return (item.id, item.name, item.arguments)
    if isinstance(item, Failure):
        return str(item.error) if isinstance(item.error, PolicyError) else item.error
    return item


def run(made, **how):
    """What `process` gives for all events, then what `finalize` gives."""
    view = OpenAgentStream(**how)
    first = [item for event in made if not isinstance(event, MessageStop) for item in view.process(event)]
    return [shown(item) for item in first], [shown(item) for item in view.finalize()]


@pytest.mark.parametrize(
    ("script", "processed", "finalized"),
    [
        pytest.param([T("do"), T("ne"), F("stop")], ["done"], [Finish("stop")], id="O1-O2"),
        pytest.param([T("a")], [], ["a", Finish("unspecified")], id="O3"),
        pytest.param([], [], [Finish("unspecified")], id="O4"),
        pytest.param([T("a"), F("length"), F("stop")], ["a"], [Finish("length")], id="O5"),
        pytest.param([K("hm"), T("a"), F("stop")], ["a"], [Finish("stop")], id="O8"),
        pytest.param([K("hm"), F("length")], [], [Finish("length")], id="O10"),
        pytest.param(
            [S(2, "c", "h"), S(0, "a", "f"), S(1, "b", "g"), A(2, "{}"), A(0, "{}"), A(1, "{}"), F("tool_calls")],
            [("a", "f", {}), ("b", "g", {}), ("c", "h", {})],
            [Finish("tool_calls")],
            id="O13",
        ),
        pytest.param(
            [S(0, None, "f"), A(0, "{}"), S(1, "b", None), A(1, "{}"), S(2, "c", "h"), A(2, "{}"), F("tool_calls")],
            [("c", "h", {})],
            [Finish("tool_calls")],
            id="O14",
        ),
        pytest.param([S(0, "a", "f"), F("tool_calls")], [], [("a", "f", {}), Finish("tool_calls")], id="O15"),
        pytest.param(
            [S(0, "a", "f"), A(0, '{"x":'), F("tool_calls")],
            [],
            ["unusable tool calls: f", Finish("tool_calls")],
            id="O16",
        ),
        pytest.param(
            [S(0, "a", "f"), A(0, "[1]"), S(1, "b", "g"), A(1, '"x"'), S(2, "c", "h"), A(2, "null"), F("tool_calls")],
            [("a", "f", [1]), ("b", "g", "x"), ("c", "h", None)],
            [Finish("tool_calls")],
            id="O18",
        ),
        pytest.param([U(1, 2), F("stop"), U(3, 4)], [], [Finish("stop")], id="O21"),
        pytest.param([T("a"), F("stop"), T("b")], ["a"], ["b", Finish("stop")], id="O23"),
    ],
)
def test_blocks_at_the_finish(script, processed, finalized):
    assert run(events(*script)) == (processed, finalized)


@pytest.mark.parametrize(
    ("script", "processed", "finalized"),
    [
        pytest.param(
            [K("because"), T("answer"), F("stop")], [Reasoning("because"), "answer"], [Finish("stop")], id="O9"
        ),
        pytest.param([T("a"), K("b"), F("stop")], [Reasoning("b"), "a"], [Finish("stop")], id="O9-order"),
    ],
)
def test_reasoning_that_was_asked_for(script, processed, finalized):
    assert run(events(*script), capture_reasoning=True) == (processed, finalized)


@pytest.mark.parametrize(
    ("script", "processed", "finalized"),
    [
        pytest.param([T(""), K(""), T("a"), F("stop")], ["a"], [Finish("stop")], id="O26"),
        pytest.param([T("a"), T("b"), F("stop")], ["a", "b"], [Finish("stop")], id="O27"),
        pytest.param([T("a")], ["a"], [Finish("unspecified")], id="O3"),
        pytest.param([K("t"), T("a"), F("stop")], [Reasoning("t"), "a"], [Finish("stop")], id="O9"),
        pytest.param(
            [T("a"), S(0, "c", "f"), A(0, "{}"), T("b"), F("tool_calls")],
            ["a", "b", ("c", "f", {})],
            [Finish("tool_calls")],
            id="O27-call",
        ),
    ],
)
def test_fragments(script, processed, finalized):
    assert run(events(*script), per_fragment=True, capture_reasoning=True) == (processed, finalized)


def test_o27_coalescing_joins_neighbours_only():
    call = ToolCall("c", "f")
    texts = [TextPart("a"), TextPart("b"), call, TextPart("c"), TextPart("d"), Finish("stop")]
    assert coalesce_text_blocks(texts) == [TextPart("ab"), call, TextPart("cd"), Finish("stop")]


def test_o6_the_end_mark_adds_nothing():
    assert run(events_of(chat(T("a"), F("stop"), done=True))) == run(events_of(chat(T("a"), F("stop"), done=False)))
    body = anthropic(*text_block(0, "a"), message_delta("end_turn")) + b"data: [DONE]\n\n"
    assert run(events_of(body)) == (["a"], [Finish("stop")])


def test_o7_finalize_is_the_same_again():
    view = OpenAgentStream()
    for event in events(T("a"), F("stop")):
        view.process(event)
    assert view.finalize() == [Finish("stop")]
    assert view.finalize() is view.finalize()


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        pytest.param({"reasoning": "x", "reasoning_content": "y"}, "y", id="O11"),
        pytest.param({"reasoning": "x"}, "x", id="O12"),
    ],
)
def test_two_fields_of_reasoning(delta, expected):
    made = events_of(sse(chunk(delta), chunk({"content": "a"}, "stop")))
    assert run(made, capture_reasoning=True) == ([Reasoning(expected), "a"], [Finish("stop")])


def test_o17_one_bad_call_takes_nothing_with_it():
    script = [K("t"), T("say"), S(0, "a", "f"), A(0, "{}"), S(1, "b", "g"), A(1, "{"), S(2, "c", "h"), A(2, "{}")]
    processed, finalized = run(events(*script, F("tool_calls")), capture_reasoning=True)
    assert processed == [Reasoning("t"), "say", ("a", "f", {}), ("c", "h", {})]
    assert finalized == ["unusable tool calls: g", Finish("tool_calls")]


def test_o19_an_empty_id_or_name_overwrites_nothing():
    body = sse(chunk(call_delta(0, "a", "f", "{")), chunk(call_delta(0, "", "", "}")), chunk({}, "tool_calls"))
    assert calls(fold_bytes(body)) == [("a", "f", {})]


def test_o20_what_is_missing_on_a_chunk_is_no_error():
    payloads = [{"choices": [{"delta": {"tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}}]}]
    response = fold_bytes(sse(*payloads, {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}))
    assert (calls(response), response.error) == ([("a", "f", {})], None)


def test_o22_choices_never_mix():
    body = sse(
        chunk({"content": "a"}),
        chunk({"content": "x"}, index=1),
        chunk(call_delta(0, "c", "f", "{}")),
        chunk(call_delta(0, "d", "g", "{}"), index=1),
        chunk({}, "stop", 1),
        chunk({"content": "b"}),
        chunk({}, "length"),
    )
    response = fold_bytes(body)
    assert [choice.text for choice in response.choices] == ["ab", "x"]
    assert [[call.id for call in choice.tool_calls] for choice in response.choices] == [["c"], ["d"]]
    assert [choice.finish_reason for choice in response.choices] == ["length", "tool_calls"]
    assert run(events_of(body))[1][-1] == Finish("length")


def test_o24_a_reason_on_every_chunk_cuts_no_call():
    body = sse(
        chunk(call_delta(0, "a", "f"), "stop"),
        chunk(call_delta(0, arguments='{"x"'), "length"),
        chunk(call_delta(0, arguments=":1}"), "stop"),
    )
    assert calls(fold_bytes(body)) == [("a", "f", {"x": 1})]
    assert run(events_of(body)) == ([("a", "f", {"x": 1})], [Finish("stop")])


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [(("*** Begin", " patch"), "*** Begin patch"), (("", "patch"), "patch"), (("1", "2"), 12)],
)
def test_o24_nor_one_whose_arguments_are_no_object(pieces, arguments):
    kind = "function" if arguments == 12 else "custom"
    start = PartStart(0, 0, "tool_call", "a", "f", kind)
    script = [each for piece in pieces for each in (ToolArgumentsDelta(0, 0, piece), F("stop"))]
    first, last = run(events(start, *script))
    assert (first, last) == ([], [("a", "f", arguments), Finish("stop")])


def test_o25_an_empty_reason_is_none():
    body = sse(chunk({"content": "a"}, ""), chunk({}, "length"))
    response = fold_bytes(body)
    assert (response.finish_reason, response.native_finish_reason) == ("length", "length")
    assert run(events_of(body))[1] == [Finish("length")]


# Anthropic


@pytest.mark.parametrize(
    ("payloads", "processed", "finalized"),
    [
        pytest.param(
            [*text_block(0, "lo", start="hel"), message_delta("end_turn")], ["hello"], [Finish("stop")], id="O28"
        ),
        pytest.param(
            [
                *block(0, {"type": "thinking", "thinking": "a"}, {"type": "thinking_delta", "thinking": "b"}),
                message_delta("end_turn"),
            ],
            [Reasoning("ab")],
            [Finish("stop")],
            id="O28-thinking",
        ),
        pytest.param(
            [
                {
                    "type": "content_block_delta",
                    "index": 3,
                    "delta": {"type": "input_json_delta", "partial_json": "{}"},
                },
                message_delta("tool_use"),
            ],
            [],
            [Finish("tool_calls")],
            id="O29",
        ),
        pytest.param(
            [*tool_block(2, "b", "g", "{}"), *tool_block(1, "a", "f", "{}"), message_delta("tool_use")],
            [("a", "f", {}), ("b", "g", {})],
            [Finish("tool_calls")],
            id="O30",
        ),
        pytest.param([*text_block(0, "a"), message_delta(None)], [], ["a", Finish("unspecified")], id="O31"),
        pytest.param(
            [
                {"type": "ping"},
                {"type": "news"},
                *block(
                    0, {"type": "text", "text": ""}, {"type": "odd_delta", "x": 1}, {"type": "text_delta", "text": "a"}
                ),
                *block(1, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "s"}),
                *block(2, {"type": "redacted_thinking", "data": "d"}),
                message_delta("end_turn"),
            ],
            ["a"],
            [Finish("stop")],
            id="O32",
        ),
        pytest.param([message_delta("max_tokens"), message_delta("end_turn")], [], [Finish("length")], id="O33"),
        *(
            pytest.param([message_delta(word)], [], [Finish(reason)], id=f"O34-{word}")
            for word, reason in {
                "end_turn": "stop",
                "stop_sequence": "stop",
                "max_tokens": "length",
                "model_context_window_exceeded": "length",
                "tool_use": "tool_calls",
                "refusal": "content_filter",
                "pause_turn": "pause_turn",
                "whatever": "whatever",
            }.items()
        ),
    ],
)
def test_anthropic(payloads, processed, finalized):
    assert run(events_of(anthropic(*payloads)), capture_reasoning=True) == (processed, finalized)


@pytest.mark.parametrize(
    ("kind", "status", "retryable"),
    [
        pytest.param("overloaded_error", 529, True, id="O35-overloaded"),
        pytest.param("rate_limit_error", 429, True, id="O35-rate"),
        pytest.param("api_error", 500, True, id="O35-api"),
    ],
)
def test_errors_in_an_anthropic_stream(kind, status, retryable):
    payload = {"type": "error", "error": {"type": kind, "message": "busy"}}
    error = fold_bytes(anthropic(*text_block(0, "a"), payload, stop=False)).error
    assert (error.type, error.message, error.status, error.retryable) == (kind, "busy", status, retryable)


def test_o35_an_error_without_a_kind_keeps_its_message():
    error = fold_bytes(anthropic({"type": "error", "error": {"message": "odd"}}, stop=False)).error
    assert (error.message, error.status) == ("odd", None)


# Errors in an OpenAI stream


def test_o36_an_error_instead_of_a_chunk():
    error = fold_bytes(sse(chunk({"content": "a"}), {"error": {"code": 502, "type": "bad", "message": "no"}})).error
    assert (error.type, error.message, error.code, error.status) == ("bad", "no", 502, 502)


def test_o37_a_chunk_that_is_an_error():
    response = fold_bytes(sse(chunk({"content": "a"}), chunk({}, "error", error={"code": 500, "message": "no"})))
    assert (response.text, response.error.message, response.finish_reason) == ("a", "no", "error")


def test_o38_content_and_error_are_both_kept():
    response = fold_bytes(sse(chunk({"content": "a"}, error={"message": "no"}), chunk({"content": "b"}, "stop")))
    assert (response.text, response.error.message) == ("ab", "no")


def test_o39_a_code_in_words_is_no_status():
    error = fold_bytes(sse({"error": {"code": "odd_thing", "message": "no"}})).error
    assert (error.code, error.status, error.retryable) == ("odd_thing", None, False)


def test_o41_cut_characters_and_several_events_in_one_read():
    assert fold_bytes(chat(T("é漢"), T("😀"), F("stop"))).text == "é漢😀"


def test_o43_an_error_is_an_item_and_the_finish_still_comes():
    error = StreamError("overloaded_error", "busy")
    made = [*events(T("a"), ended=None), ErrorEvent(error), *events(T("b"), F("stop"))[1:]]
    view = OpenAgentStream(per_fragment=True)
    assert [item for event in made for item in view.process(event)] == [TextPart("a"), Failure(error), TextPart("b")]
    assert isinstance(view.finalize()[-1], Finish)


def test_o46_reasoning_never_enters_the_message():
    response = fold(presets.open_agent, K("hm"), T("a"), F("stop"))
    assert [part.kind for part in response.message.parts] == ["text"]


def test_is_truncated_means_the_length_only():
    words = ("stop", "length", "tool_calls", "content_filter", "unspecified", "odd")
    assert [word for word in words if Finish(word).is_truncated] == ["length"]


def test_the_last_id_and_name_stand():
    from chunkfold.events import PartUpdate

    script = (S(0, "a", "get_"), PartUpdate(0, 0, id="b", name="get_weather"), A(0, "{}"), F("tool_calls"))
    assert calls(fold(presets.open_agent, *script)) == [("b", "weather", {})]


# What is handed out


@pytest.mark.parametrize("per_fragment", [False, True])
def test_the_words_of_an_audio_are_no_text(per_fragment):
    spoken = [PartStart(0, 0, "audio"), TextDelta(0, 0, "spoken"), PartStop(0, 0)]
    written = [PartStart(0, 1, "text"), TextDelta(0, 1, "written"), PartStop(0, 1)]
    processed, finalized = run([*spoken, *written], per_fragment=per_fragment)
    assert processed + finalized == ["written", Finish("unspecified")]


def test_two_calls_with_one_id_and_no_number_are_both_handed_out():
    """Gemini and Ollama number no calls, and gateways before them give the name of the tool as the id."""
    calls_ = [{"functionCall": {"id": "f", "name": "f", "args": {"x": x}}} for x in (1, 2)]
    body = sse({"candidates": [{"content": {"parts": calls_}, "finishReason": "STOP"}]}, done=False)
    assert run(events_of(body)) == ([("f", "f", {"x": 1}), ("f", "f", {"x": 2})], [Finish("stop")])


@pytest.mark.parametrize("reason", ["attempt", "replay"])
def test_what_comes_instead_of_what_was_taken_back_is_handed_out_whole(reason):
    first = [K("hm"), T("abc"), S(0, "c", "f"), A(0, '{"x":1}'), F("stop")]
    again = [K("hmm"), T("abcd"), S(0, "c", "f"), A(0, '{"x":1}'), F("stop")]
    made = [*events(*first, ended=None), MessageReset(0, reason), *events(*again, ended=None)]
    call = ("c", "f", {"x": 1})
    assert run(made, capture_reasoning=True) == (
        [Reasoning("hm"), "abc", call, Reasoning("hmm"), "abcd", call],
        [Finish("stop")],
    )


def test_a_step_that_is_taken_back_leaves_the_step_before_it():
    step = [PartStart(0, 1, "text"), TextDelta(0, 1, "three")]
    made = [*events(T("one "), K("hm"), F("stop"), ended=None), MessageReset(1, "step"), *step, *events(F("stop"))]
    assert run(made) == (["one ", "three"], [Finish("stop")])


@pytest.mark.parametrize("per_fragment", [False, True])
def test_text_that_only_the_whole_has_is_handed_out(per_fragment):
    """A proxy that loses the last delta: the text is stated whole at its end."""
    deltas = [*events(K("h"), T("Hel"), ended=None, close=False)]
    whole = [PartReplace(0, 0, ReasoningPart("hm")), PartReplace(0, 1, TextPart("Hello")), *events(F("stop"))]
    processed, _ = run([*deltas, *whole], per_fragment=per_fragment, capture_reasoning=True)
    assert "".join(item.text for item in processed if isinstance(item, Reasoning)) == "hm"
    assert "".join(item for item in processed if isinstance(item, str)) == "Hello"


@pytest.mark.parametrize("part", [TextPart("Hello"), TextPart("Hal"), TextPart(""), ReasoningPart("Hello!")])
def test_text_that_is_stated_otherwise_is_not_handed_out_again(part):
    made = [*events(T("Hello"), ended=None, close=False), PartReplace(0, 0, part), *events(F("stop"))]
    assert run(made, per_fragment=True) == (["Hello"], [Finish("stop")])


def test_text_that_goes_on_behind_a_reason_before_other_text_is_handed_out():
    """What may be a tag is held back while tags are split; another text begins, and a reason comes."""
    made = [
        PartStart(0, 0, "text"), TextDelta(0, 0, "one "), PartStart(0, 1, "text"), TextDelta(0, 1, "two"), *events(F("stop"), ended=None),
        TextDelta(0, 0, "<"), TextDelta(0, 1, "!"),
    ]  # fmt: skip
    assert run(made) == (["one two"], ["<!", Finish("stop")])


def test_parts_of_a_summary_are_kept_apart():
    def summary(index, text):
        return [PartStart(0, index, "reasoning", extra={"summary": True}), ReasoningDelta(0, index, text)]

    made = [*summary(0, "one"), *summary(1, "two"), *events(F("stop"), ended=None), *summary(2, "three")]
    assert run(made, capture_reasoning=True) == (
        [Reasoning("one\n\ntwo")],
        [Reasoning("\n\nthree"), Finish("stop")],
    )


@pytest.mark.parametrize(
    ("word", "reason"), [("end_turn", "stop"), ("max_tokens", "length"), ("tool_use", "tool_calls"), ("odd", "odd")]
)
def test_o34_a_reason_stands_also_where_an_error_follows(word, reason):
    error = {"type": "error", "error": {"type": "api_error", "message": "busy"}}
    body = anthropic(*text_block(0, "a"), message_delta(word), error, stop=False)
    assert run(events_of(body))[1] == [Finish(reason)]
