"""
Nineteen streams (C1 to C19), and what comes of each in the way of each of the five systems.

A cell is what that system gives, but where its outcome was a defect (content, calls or usage lost or doubled): there,
marked `mended`, it is what ours gives with the same preset.
"""

from __future__ import annotations

import pytest

from chunkfold import InvalidToolCall, TextPart, ToolCall, presets
from chunkfold.events import MessageStop, PartStart, ReasoningDelta, UsageUpdate
from chunkfold.response import Usage
from chunkfold.views.behest import BehestAccumulator, Truncated
from chunkfold.views.loopctl import LoopctlAccumulator, stop_reason_of
from chunkfold.views.nous import ToolCallAccumulator
from chunkfold.views.open_agent import Failure, Finish, OpenAgentStream, Reasoning
from chunkfold.views.req_llm import ChunkAccumulator
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

# What each system makes of a body, in short.


def behest(body):
    response = fold_bytes(body, presets.behest_shipped)
    return (response.text, calls(response), response.finish_reason)


def open_agent(body, **how):
    view = OpenAgentStream(**how)
    items = [item for event in events_of(body) if not isinstance(event, MessageStop) for item in view.process(event)]
    return [_item(item) for item in [*items, *view.finalize()]]


def _item(item):
    if isinstance(item, TextPart):
        return item.text
    if isinstance(item, ToolCall):
        return (item.id, item.name, item.arguments)
    return f"error: {getattr(item.error, 'message', None) or item.error}" if isinstance(item, Failure) else item


def req_llm(body):
    view = ChunkAccumulator().reduce(events_of(body))
    made = [(call["id"], call["name"], call["arguments"]) for call in view.tool_calls_for_response()]
    return (view.text(), made, view.server_finish_reason())


def nous(body):
    response = fold_bytes(body, presets.nous)
    made = [(call.id, call.name, call.arguments_or({"_invalid": call.raw_arguments})) for call in response.tool_calls]
    return (response.text, made, response.finish_reason)


def loopctl(body):
    """The parts that closed, and the reason."""
    view = LoopctlAccumulator()
    for event in events_of(body):
        view.process(event)
    parts = [part for part in view.build().parts if isinstance(part, (TextPart, ToolCall))]
    response = fold_bytes(body, presets.loopctl)
    return ([_item(part) for part in parts], stop_reason_of(response.finish_reason, response.native_finish_reason))


SYSTEMS = {"behest": behest, "open_agent": open_agent, "req_llm": req_llm, "nous": nous, "loopctl": loopctl}

AF, BG = ("a", "f", {"x": 1}), ("b", "g", {"y": 2})
END = Finish("tool_calls")

TWO = [S(0, "a", "f"), S(1, "b", "g"), A(0, '{"x"'), A(1, '{"y"'), A(0, ":1}"), A(1, ":2}"), F("tool_calls")]
SWAPPED = [S(1, "b", "g"), S(0, "a", "f"), A(1, '{"y":2}'), A(0, '{"x":1}'), F("tool_calls")]
SPOKEN = [T("say"), S(0, "a", "f"), A(0, '{"x":1}'), F("tool_calls")]
CHOICES = sse(
    chunk({"content": "a"}), chunk({"content": "x"}, index=1), chunk({"content": "b"}), chunk({"content": "y"}, index=1),
    chunk({}, "stop"), chunk({}, "length", 1),
)  # fmt: skip
SERVER_TOOL = anthropic(
    *block(0, {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": 1}}),
    *text_block(1, "hi"),
    message_delta("end_turn"),
)
REDACTED = anthropic(
    *block(0, {"type": "redacted_thinking", "data": "blob"}), *text_block(1, "a"), message_delta("end_turn")
)
ERROR = sse(chunk({"content": "hi"}), {"error": {"message": "no", "code": 500}})

TABLE = {
    "C1": (
        chat(T("hi"), done=False),
        {
            "behest": ("hi", [], "stop"),
            "open_agent": ["hi", Finish("unspecified")],
            "req_llm": ("hi", [], "incomplete"),
            "nous": ("hi", [], "stop"),
            "loopctl": (["hi"], None),
        },
    ),
    "C2": (
        chat(T("hi")),
        {
            "behest": ("hi", [], "stop"),
            "open_agent": ["hi", Finish("unspecified")],
            "req_llm": ("hi", [], "stop"),
            "nous": ("hi", [], "stop"),
            "loopctl": (["hi"], "end_turn"),  # mended: it was an empty message
        },
    ),
    "C3": (
        chat(S(0, "a", "f"), A(0, '{"x":'), F("tool_calls")),
        {
            "behest": ("", [("a", "f", None)], "tool_calls"),
            "open_agent": ["error: unusable tool calls: f", END],
            "req_llm": ("", [("a", "f", {})], "tool_calls"),
            "nous": ("", [("a", "f", {"_invalid": '{"x":'})], "tool_calls"),
            "loopctl": InvalidToolCall,
        },
    ),
    "C4": (
        chat(S(0, "a", "f"), F("tool_calls")),
        {
            "behest": ("", [("a", "f", None)], "tool_calls"),
            "open_agent": [("a", "f", {}), END],
            "req_llm": ("", [("a", "f", {})], "tool_calls"),
            "nous": ("", [("a", "f", {})], "tool_calls"),
            "loopctl": ([("a", "f", {})], "tool_call"),
        },
    ),
    "C5": (
        chat(*TWO),
        {
            "behest": ("", [AF, BG], "tool_calls"),
            "open_agent": [AF, BG, END],
            "req_llm": ("", [AF, BG], "tool_calls"),
            "nous": ("", [AF, BG], "tool_calls"),
            "loopctl": ([AF, BG], "tool_call"),
        },
    ),
    "C6": (
        chat(*SWAPPED),
        {
            "behest": ("", [BG, AF], "tool_calls"),  # theirs is in no order
            "open_agent": [AF, BG, END],
            "req_llm": ("", [BG, AF], "tool_calls"),
            "nous": ("", [AF, BG], "tool_calls"),
            "loopctl": ([BG, AF], "tool_call"),
        },
    ),
    "C7": (
        chat(*SPOKEN),
        {
            "behest": ("say", [AF], "tool_calls"),
            "open_agent": ["say", AF, END],
            "req_llm": ("say", [AF], "tool_calls"),
            "nous": ("say", [AF], "tool_calls"),
            "loopctl": (["say", AF], "tool_call"),
        },
    ),
    "C8": (
        sse(chunk(call_delta(3, arguments="{}"))),
        {
            "behest": ("", [], "stop"),
            "open_agent": [Finish("unspecified")],
            "req_llm": ("", [], "stop"),
            "nous": ("", [(None, None, {})], "stop"),
            "loopctl": ([], "end_turn"),
        },
    ),
    "C9": (
        chat(F("length"), F("stop")),
        {
            "behest": ("", [], "stop"),
            "open_agent": [Finish("length")],
            "req_llm": ("", [], "stop"),
            "nous": ("", [], "stop"),
            "loopctl": ([], "max_tokens"),
        },
    ),
    "C10": (
        chat(T("a"), F("stop"), T("b")),
        {
            "behest": ("ab", [], "stop"),
            "open_agent": ["a", "b", Finish("stop")],
            "req_llm": ("ab", [], "stop"),
            "nous": ("ab", [], "stop"),
            "loopctl": (["ab"], "end_turn"),  # mended: b was lost
        },
    ),
    "C15": (
        CHOICES,
        {
            "behest": ("ab", [], "stop"),
            "open_agent": ["ab", Finish("stop")],  # mended: all were mixed
            "req_llm": ("ab", [], "stop"),
            "nous": ("ab", [], "stop"),
            "loopctl": (["ab"], "end_turn"),
        },
    ),
    "C18": (
        b"",
        {
            "behest": ("", [], "stop"),
            "open_agent": [Finish("unspecified")],
            "req_llm": ("", [], "incomplete"),
            "nous": ("", [], "stop"),
            "loopctl": ([], None),
        },
    ),
    "C19": (
        ERROR,
        {
            "behest": ("hi", [], "error"),  # mended: the text came twice
            "open_agent": ["error: no", "hi", Finish("unspecified")],
            "req_llm": ("hi", [], "error"),
            "nous": ("hi", [], "error"),  # mended: what came before was lost
            "loopctl": (["hi"], None),
        },
    ),
}
CELLS = [
    pytest.param(SYSTEMS[system], body, expected, id=f"{scenario}-{system}")
    for scenario, (body, cells) in TABLE.items()
    for system, expected in cells.items()
]


@pytest.mark.parametrize(("system", "body", "expected"), CELLS)
def test_cells(system, body, expected):
    if isinstance(expected, type):
        with pytest.raises(expected):
            system(body)
    else:
        assert system(body) == expected


def test_every_scenario_has_its_five_cells():
    assert all(list(cells) == list(SYSTEMS) for _, cells in TABLE.values())


# What a cell says beside that


def test_c1_behest_as_documented_has_the_partial_on_the_error():
    view = BehestAccumulator()
    for event in events_of(chat(T("hi"), done=False)):
        view.observe(event)
    with pytest.raises(Truncated) as caught:
        view.finalize()
    assert caught.value.accumulated.message.parts == (TextPart("hi"),)


def test_c1_loopctl_drops_what_did_not_close_and_the_truncation_shows():
    assert fold(presets.loopctl, T("hi"), close=False).parts == ()
    assert fold_bytes(chat(T("hi"), done=False), presets.loopctl).truncated


def test_c3_req_llm_and_nous_mark_the_call():
    body = chat(S(0, "a", "f"), A(0, '{"x":'), F("tool_calls"))
    (call,) = ChunkAccumulator().reduce(events_of(body)).tool_calls_for_response()
    assert call["metadata"]["error"] == {"type": "args_lost", "reason": "json_decode_error", "bytes": 5}
    fragments = ToolCallAccumulator().feed([{"index": 0, "id": "a", "function": {"name": "f", "arguments": '{"x":'}}])
    assert fragments.finalize() == [{"id": "a", "name": "f", "arguments": {}, "_invalid_arguments": '{"x":'}]


def test_c4_req_llm_misses_arguments_that_were_promised():
    made = events(S(0, "a", "f", {"expects_arguments": True}), F("tool_calls"))
    (call,) = ChunkAccumulator().reduce(made).tool_calls_for_response()
    assert (call["arguments"], call["metadata"]["error"]["reason"]) == ({}, "missing_fragments")


@pytest.mark.parametrize("system", SYSTEMS)
def test_c7_anthropic(system):
    body = anthropic(*text_block(0, "say"), *tool_block(1, "a", "f", '{"x"', ":1}"), message_delta("tool_use"))
    assert SYSTEMS[system](body) == TABLE["C7"][1][system]


def test_c10_open_agent_per_fragment():
    assert open_agent(chat(T("a"), F("stop"), T("b")), per_fragment=True) == ["a", "b", Finish("stop")]


@pytest.mark.parametrize("system", SYSTEMS)
def test_c11_input_and_output_tokens_in_different_events(system):
    wire = anthropic(*text_block(0, "a"), message_delta("end_turn", {"output_tokens": 5}))
    preset = presets.behest_shipped if system == "behest" else getattr(presets, system)
    # From the wire nothing is lost: the dialect keeps the latest number of each field (mended for behest and Nous).
    usage = fold_bytes(wire, preset).usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 5, 15)
    # Events by hand are merged by the policy.
    usage = fold(preset, U(10, None), U(None, 5)).usage
    replaced = system in ("behest", "nous", "loopctl")
    assert (usage.input_tokens, usage.output_tokens) == ((None, 5) if replaced else (10, 5))
    if system == "open_agent":
        assert open_agent(wire) == ["a", Finish("stop")]
    if system == "req_llm":
        view = ChunkAccumulator().reduce(events_of(wire))
        assert view.usage() == {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    if system == "loopctl":
        view = LoopctlAccumulator()
        for event in (UsageUpdate(Usage(10)), UsageUpdate(Usage(None, 5))):
            view.process(event)
        assert (view.usage().input_tokens, view.usage().output_tokens) == (None, 5)


@pytest.mark.parametrize("system", SYSTEMS)
def test_c12_usage_after_the_reason(system):
    body = chat(T("a"), F("stop"), U(5, 7))
    preset = presets.behest_shipped if system == "behest" else getattr(presets, system)  # mended for behest
    assert fold_bytes(body, preset).usage.total_tokens == 12
    assert SYSTEMS[system](body) == SYSTEMS[system](chat(T("a"), F("stop")))


@pytest.mark.parametrize(
    ("system", "text", "reasoning"),
    [("behest", "a", ""), ("open_agent", "a", ""), ("req_llm", "a", "t"), ("nous", "a", "t"), ("loopctl", "a", "")],
)
def test_c13_thinking_before_text(system, text, reasoning):
    body = chat(K("t"), T("a"), F("stop"))
    preset = presets.behest_shipped if system == "behest" else getattr(presets, system)
    response = fold_bytes(body, preset)
    assert (response.text, response.reasoning) == (text, reasoning)
    if system == "open_agent":
        assert open_agent(body, capture_reasoning=True) == [Reasoning("t"), "a", Finish("stop")]
    if system == "req_llm":
        assert ChunkAccumulator().reduce(events_of(body)).thinking() == "t"
    if system == "loopctl":
        assert [event.text for event in events_of(body) if isinstance(event, ReasoningDelta)] == ["t"]


@pytest.mark.parametrize("system", SYSTEMS)
def test_c14_redacted_thinking(system):
    starts = [event for event in events_of(REDACTED) if isinstance(event, PartStart) and event.kind == "reasoning"]
    assert [event.extra["redacted"] for event in starts] == [True]  # for observers
    cells = {
        "behest": ("a", [], "stop"),
        "open_agent": ["a", Finish("stop")],
        "req_llm": ("a", [], "stop"),
        "nous": ("a", [], "stop"),
        "loopctl": (["a"], "end_turn"),
    }
    assert SYSTEMS[system](REDACTED) == cells[system]
    if system == "req_llm":
        (detail,) = ChunkAccumulator().reduce(events_of(REDACTED)).reasoning_details()
        assert (detail["encrypted"], detail["data"]) == (True, "blob")


@pytest.mark.parametrize("system", SYSTEMS)
def test_c16_the_same_annotation_twice(system):
    note = {"type": "url_citation", "url_citation": {"url": "u"}}
    body = sse(chunk({"content": "a", "annotations": [note]}), chunk({"annotations": [note]}), chunk({}, "stop"))
    preset = presets.behest_shipped if system == "behest" else getattr(presets, system)
    assert fold_bytes(body, preset).annotations == (note,)  # four of the systems know no annotations
    if system == "req_llm":
        assert ChunkAccumulator().reduce(events_of(body)).annotations() == [note]


@pytest.mark.parametrize("system", SYSTEMS)
def test_c17_a_tool_that_the_server_ran(system):
    preset = presets.behest_shipped if system == "behest" else getattr(presets, system)
    response = fold_bytes(SERVER_TOOL, preset)
    assert (response.text, response.tool_calls) == ("hi", ())  # nothing for the client to run
    if system == "open_agent":
        assert open_agent(SERVER_TOOL) == ["hi", Finish("stop")]
    if system == "req_llm":
        view = ChunkAccumulator(clock=lambda: 1.0).reduce(events_of(SERVER_TOOL))
        (call,) = view.tool_calls_for_response()
        assert (call["id"], call["builtin"], call["arguments"]) == ("s", True, {"q": 1})
        assert (view.builtin_tools()[0].started, view.builtin_tools()[0].done) == (1.0, 1.0)


def test_c18_what_else_nothing_is():
    assert ChunkAccumulator().message() is None
    assert fold_bytes(b"", presets.nous).error.type == "empty_stream"
    assert fold_bytes(b"", presets.loopctl).truncated


@pytest.mark.parametrize("system", ["behest_shipped", "open_agent", "req_llm", "nous", "loopctl"])
def test_c19_the_error_and_what_came_before_it(system):
    response = fold_bytes(ERROR, getattr(presets, system))
    assert (response.text, response.error.message, response.error.status) == ("hi", "no", 500)
