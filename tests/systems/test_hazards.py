"""Hazards of the wire that broke other projects (W1 to W13), folded by default: the mended behaviour."""

from __future__ import annotations

import pytest

from chunkfold import Policy
from tests.systems.notation import (
    A,
    F,
    S,
    T,
    U,
    anthropic,
    call_delta,
    calls,
    chat,
    chunk,
    fold_bytes,
    message_delta,
    sse,
    text_block,
    tool_block,
)


def facts(response):
    return (response.text, calls(response), response.finish_reason, response.truncated)


F_X1 = [("a", "f", {"x": 1})]

ROWS = [
    pytest.param(
        sse(
            chunk({"content": "hi"}, "stop"), chunk(call_delta(0, "a", "f", ""), "stop"),
            chunk(call_delta(0, arguments='{"x"'), "stop"), chunk(call_delta(0, arguments=":1}"), "stop"),
        ),
        ("hi", F_X1, "tool_calls", False),
        id="W1",
    ),
    pytest.param(
        sse(chunk({"content": "a"}, ""), chunk({"content": "b"}, ""), chunk({}, "stop")), ("ab", [], "stop", False), id="W2"
    ),
    pytest.param(
        sse(chunk({"content": "a"}, ""), chunk({"content": "b"}, ""), done=False), ("ab", [], None, True), id="W2-cut"
    ),
    pytest.param(
        sse(chunk({"content": "a"}), chunk({"content": "b"}, "stop"), chunk(usage={"prompt_tokens": 1})),
        ("ab", [], "stop", False),
        id="W3",
    ),
    pytest.param(chat(S(0, "a", "f"), A(0, '{"x":1}'), F("stop")), ("", F_X1, "tool_calls", False), id="W5"),
    pytest.param(
        anthropic(*tool_block(0, "a", "f", '{"x":1}'), message_delta("end_turn")), ("", F_X1, "tool_calls", False), id="W5-anthropic"
    ),
    pytest.param(chat(T("a"), done=False), ("a", [], None, True), id="W6"),
    pytest.param(chat(T("a")), ("a", [], None, False), id="W6-marked"),
    pytest.param(
        chat(S(0, "a", "f"), A(0, '{"x":'), done=False), ("", [("a", "f", "<truncated>")], None, True), id="W7"
    ),
    pytest.param(
        anthropic(*tool_block(0, "a", "f", '{"x":')[:2], stop=False), ("", [("a", "f", "<truncated>")], None, True), id="W7-anthropic"
    ),
    pytest.param(
        chat(S(0, "a", "f"), A(0, '{"x":'), F("length")), ("", [("a", "f", "<truncated>")], "length", False), id="W8"
    ),
    pytest.param(
        chat(S(0, "a", "f"), A(0, '{"x":'), F("content_filter")),
        ("", [("a", "f", "<invalid>")], "content_filter", False),
        id="W8-filter",
    ),
    pytest.param(
        sse(chunk(call_delta(0, "a", "f", '{"x"')), chunk(call_delta(0, "", "", ":1}")), chunk({}, "tool_calls")),
        ("", F_X1, "tool_calls", False),
        id="W11",
    ),
    pytest.param(
        sse(
            chunk(call_delta(None, "a", "f", '{"x"')), chunk(call_delta(None, arguments=":1}")),
            chunk(call_delta(None, "b", "g", "{}")), chunk({}, "tool_calls"),
        ),
        ("", [*F_X1, ("b", "g", {})], "tool_calls", False),
        id="W12",
    ),
    pytest.param(
        sse(chunk(call_delta(0, "a", "f", {"x": 1})), chunk({}, "tool_calls")), ("", F_X1, "tool_calls", False), id="W13"
    ),
    pytest.param(
        sse(chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": None}}]}), chunk({}, "stop")),
        ("", [("a", "f", {})], "tool_calls", False),
        id="W13-null",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), ROWS)
def test_hazards(body, expected):
    assert facts(fold_bytes(body)) == expected


@pytest.mark.parametrize("word", ["length", "content_filter"])
def test_w8_nothing_is_run_even_if_the_arguments_are_whole(word):
    response = fold_bytes(chat(S(0, "a", "f"), A(0, '{"x":1}'), F(word)))
    assert calls(response) == F_X1
    assert (response.finish_reason, response.continues_tool_loop) == (word, False)


def test_w7_a_cut_call_is_not_run_whatever_the_reason():
    response = fold_bytes(chat(S(0, "a", "f"), A(0, '{"x":'), F("tool_calls")))
    assert (response.tool_calls[0].status, response.continues_tool_loop) == ("invalid", False)


def test_w4_usage_on_every_chunk_is_a_running_total():
    body = chat(U(10, 1), T("a"), U(10, 2), T("b"), U(10, 3), F("stop"))
    usage = fold_bytes(body).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 3, 13)


def test_w6_a_reason_under_another_name_is_kept_and_is_no_stop():
    payload = {"choices": [{"index": 0, "delta": {"content": "a"}, "finishReason": "stop"}]}
    response = fold_bytes(sse(payload, done=False))
    assert response.text == "a"
    assert response.finish_reason in (None, "stop")
    assert response.truncated == (response.finish_reason is None)


def test_w9_snapshots_that_grow_are_one_text_if_it_is_said_that_they_do():
    body = chat(T("He"), T("Hello"), T("Hello you"), F("stop"))
    assert fold_bytes(body, cumulative_deltas=True).text == "Hello you"


def test_w10_reasoning_under_two_names_is_counted_once():
    both = [{"reasoning": piece, "reasoning_content": piece} for piece in ("th", "ink")]
    body = sse(*(chunk(delta) for delta in both), chunk({"content": "a"}, "stop"))
    assert fold_bytes(body).reasoning == "think"


def test_no_policy_runs_what_was_cut_unless_it_says_so():
    body = anthropic(*text_block(0, "say"), *tool_block(1, "a", "f", '{"x":'), message_delta("max_tokens"))
    for how in ("tag", "raise"):
        assert calls(fold_bytes(body, Policy(unusable_arguments=how))) == [("a", "f", "<truncated>")]
    assert calls(fold_bytes(body, Policy(unusable_arguments="drop"))) == []
