"""Calls that take turns, runs that follow one another, and snapshots of the messages behind their stream."""

from __future__ import annotations

import pytest

from chunkfold import Response, fold
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def folded(*events):
    body = b"".join(map(sse, events))
    return assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])


def chunk(id_, delta, name=None):
    return {"type": "TOOL_CALL_CHUNK", "toolCallId": id_, "delta": delta} | ({"toolCallName": name} if name else {})


def calls_of(response):
    return [(call.id, call.name, call.status, call.raw_arguments) for call in response.tool_calls]


START = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
END = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
TEXT = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hi"}
BOTH = [("a", "f", "complete", '{"x":1}'), ("b", "g", "complete", '{"y":2}')]


@pytest.mark.parametrize("between", [[], [TEXT]])
def test_calls_in_chunks_may_take_turns(between):
    """Parallel calls are streamed together; their ids tell whose an argument is, also when something came between."""
    one, two = chunk("a", '{"x":', "f"), chunk("b", '{"y":', "g")
    response = folded(START, one, two, *between, chunk("a", "1}"), chunk("b", "2}"), END)
    assert calls_of(response) == BOTH
    assert response.text == ("Hi" if between else "")


def test_a_chunk_without_an_id_goes_on_the_call_that_came_last():
    last = {"type": "TOOL_CALL_CHUNK", "delta": "1}"}
    response = folded(START, chunk("b", '{"y":2}', "g"), chunk("a", '{"x":', "f"), last, END)
    assert calls_of(response) == BOTH[::-1]


def named(kind, **fields):
    return {"type": kind, **fields}


def chunk_of_call(delta):
    return named("TOOL_CALL_ARGS", toolCallId="a", delta=delta)


CALL_ENDS = named("TOOL_CALL_END", toolCallId="a")


@pytest.mark.parametrize("blank", [{}, {"toolCallId": None, "messageId": None}, {"toolCallId": "", "messageId": ""}])
def test_a_piece_without_an_id_goes_on_with_what_was_started_last(blank):
    """Microsoft's Agent Framework sent null where the model's client gave none, and reads what says it once."""
    frames = [
        START,
        named("REASONING_MESSAGE_START", messageId="r"),
        *[named("REASONING_MESSAGE_CONTENT", delta="H", **blank)] * 9,
        named("REASONING_MESSAGE_END", **blank),
        named("TEXT_MESSAGE_START", messageId="m", role="assistant"),
        *[named("TEXT_MESSAGE_CONTENT", delta="a", **blank)] * 9,
        named("TEXT_MESSAGE_END", **blank),
        named("TOOL_CALL_START", toolCallId="a", toolCallName="f"),
        named("TOOL_CALL_ARGS", delta='{"x":', **blank),
        named("TOOL_CALL_ARGS", delta="1}", **blank),
        named("TOOL_CALL_END", **blank),
        named("TOOL_CALL_START", toolCallId="b", toolCallName="g"),
        named("TOOL_CALL_END", input={"y": 2}, **blank),
        END,
    ]
    response = folded(*frames)
    assert_templates_change_nothing(list(map(sse, frames)))
    assert [part.kind for part in response.parts] == ["reasoning", "text", "tool_call", "tool_call"]
    assert (response.reasoning, response.text, response.parts[1].id) == ("H" * 9, "a" * 9, "m")
    assert calls_of(response) == BOTH


def test_a_chunk_without_an_id_that_names_another_call_is_another():
    one, two = named("TOOL_CALL_CHUNK", toolCallName="f", delta='{"x":1}'), named("TOOL_CALL_CHUNK", toolCallName="g")
    response = folded(START, one, two, named("TOOL_CALL_CHUNK", delta='{"y":2}'), END)
    assert calls_of(response) == [(None, *call[1:]) for call in BOTH]


def test_a_text_without_an_id_does_not_go_on_behind_a_call():
    text = named("TEXT_MESSAGE_CONTENT", delta="a")
    response = folded(START, text, text, named("TOOL_CALL_START", toolCallId="a", toolCallName="f"), text, END)
    assert [part.kind for part in response.parts] == ["text", "tool_call", "text"]


def test_a_thought_that_another_start_interrupts_before_its_first_piece_is_one():
    start, piece = named("THINKING_TEXT_MESSAGE_START"), named("THINKING_TEXT_MESSAGE_CONTENT", delta="a")
    frames = [START, start, named("TEXT_MESSAGE_START", messageId="m"), *[piece] * 9, {**TEXT, "messageId": "m"}, END]
    assert_templates_change_nothing(list(map(sse, frames)))
    response = folded(*frames)
    assert [(part.kind, part.text) for part in response.parts] == [("reasoning", "a" * 9), ("text", "Hi")]


def test_which_part_is_gone_on_with_is_known_behind_any_number_of_chunks():
    turns = [chunk("a", "1", "f"), chunk("b", "2", "g")] * 12
    frames = list(map(sse, [START, *turns, chunk("a", "3", "f"), {"type": "TOOL_CALL_CHUNK", "delta": "4"}, END]))
    assert_templates_change_nothing(frames)
    assert fold(frames).tool_calls[0].raw_arguments == "1" * 12 + "34"


def test_a_chunk_amid_the_pieces_of_a_message_ends_with_the_next_piece():
    piece = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}
    start, end = ({**piece, "type": f"TEXT_MESSAGE_{verb}", "delta": ""} for verb in ("START", "END"))
    frames = list(map(sse, [START, start, *[piece] * 12, TEXT, piece, piece, end, END]))
    assert_templates_change_nothing(frames)
    assert fold(frames).text == "a" * 12 + "Hiaa"


def test_argument_text_behind_the_end_of_its_call_belongs_to_it():
    call = {"toolCallId": "a"}
    response = folded(
        START,
        {"type": "TOOL_CALL_START", **call, "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", **call, "delta": '{"x":'},
        {"type": "TOOL_CALL_END", **call},
        {"type": "TOOL_CALL_ARGS", **call, "delta": "1}"},
        END,
    )
    assert calls_of(response) == BOTH[:1]


def test_another_run_that_is_cut_is_truncated():
    other = [{**START, "runId": "r2"}, {**TEXT, "messageId": "n", "delta": " there"}]
    cut = folded(START, TEXT, END, *other)
    assert (cut.text, cut.finish_reason, cut.truncated, cut.ended) == ("Hi there", None, True, "eof")
    assert "outcome" not in cut.to_native()
    whole = folded(START, TEXT, END, *other, {**END, "runId": "r2"})
    assert (whole.text, whole.finish_reason, whole.truncated, whole.ended) == ("Hi there", "stop", False, "clean")
    assert whole.to_native()["outcome"] is None
    failed = folded(START, TEXT, END, *other, {"type": "RUN_ERROR", "message": "no"})
    assert (failed.text, failed.finish_reason, failed.error.message) == ("Hi there", "error", "no")


def test_starts_and_ends_may_have_a_piece():
    response = folded(
        START,
        {"type": "REASONING_MESSAGE_START", "messageId": "g", "delta": "H"},
        {"type": "REASONING_MESSAGE_END", "messageId": "g", "delta": "m"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "delta": "H"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "delta": "i"},
        {"type": "TOOL_CALL_START", "toolCallId": "a", "delta": '{"x":'},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "a", "toolCallName": "f"},
        {"type": "TOOL_CALL_END", "toolCallId": "a", "delta": "1}"},
        END,
    )
    assert (response.reasoning, response.text, len(response.parts)) == ("Hm", "Hi", 3)
    assert calls_of(response) == BOTH[:1]


def test_a_call_may_get_its_name_with_a_second_start():
    start = {"type": "TOOL_CALL_START", "toolCallId": "a"}
    response = folded(START, start, {**start, "toolCallName": "f", "delta": '{"x":1}'}, END)
    assert calls_of(response) == BOTH[:1]


def said(id_, *deltas):
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": id_, "role": "assistant"},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": id_, "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": id_},
    ]


def thought(id_, delta):
    return [
        {"type": "REASONING_MESSAGE_START", "messageId": id_, "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": id_, "delta": delta},
        {"type": "REASONING_MESSAGE_END", "messageId": id_},
    ]


def called(id_, parent):
    return [
        {"type": "TOOL_CALL_START", "toolCallId": id_, "toolCallName": "f", "parentMessageId": parent},
        {"type": "TOOL_CALL_ARGS", "toolCallId": id_, "delta": "{}"},
        {"type": "TOOL_CALL_END", "toolCallId": id_},
        {"type": "TOOL_CALL_RESULT", "messageId": f"of {id_}", "toolCallId": id_, "content": "ok"},
    ]


def answer(id_, content=None, *call_ids, **call):
    function = {"name": "f", "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function, **call} for call_id in call_ids]
    return {"id": id_, "role": "assistant"} | ({"content": content} if content else {}) | ({"toolCalls": calls})


def snapshot(*messages):
    return {"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "u", "role": "user", "content": "?"}, *messages]}


def result(id_, call_id):
    return {"id": id_, "role": "tool", "toolCallId": call_id, "content": "ok"}


def parts_of(response):
    return [(part.kind, getattr(part, "text", None)) for part in response.parts]


STREAMED = [*thought("g1", "Hm"), *said("m1", "Let me"), *called("c", "m1"), *thought("g2", "So"), *said("m2", "Done")]
PARTS = [
    ("reasoning", "Hm"),
    ("text", "Let me"),
    ("tool_call", None),
    ("server_tool_result", None),
    ("reasoning", "So"),
    ("text", "Done"),
]


@pytest.mark.parametrize("ids", [("m1", "of c", "m2"), ("x1", "x2", "x3")])
def test_reasoning_that_a_snapshot_leaves_out_stays(ids):
    """LangGraph's and Agent Framework's snapshots have no reasoning; their ids may be others than the stream's."""
    first, of, last = ids
    told = snapshot(answer(first, "Let me", "c"), result(of, "c"), answer(last, "Done"))
    response = folded(START, *STREAMED, told, told, END)
    assert parts_of(response) == PARTS
    assert [part.id for part in response.parts if part.kind == "text"] == [first, last]
    messages = response.to_native()["messages"]
    assert [message["id"] for message in messages] == ["u", "g1", first, of, "g2", last]
    assert [call["id"] for call in messages[2]["toolCalls"]] == ["c"]


def test_a_snapshot_may_say_more_under_other_ids():
    told = snapshot(answer("x", "Hi"), answer("y", "Bye"))
    response = folded(START, *said("m", "Hi"), told, END)
    assert [(part.id, part.text) for part in response.parts] == [("x", "Hi"), ("y", "Bye")]


def test_reasoning_of_a_snapshot_under_another_id_stands_for_what_was_streamed():
    of_server = {"id": "rs", "role": "reasoning", "content": "Hm", "encryptedValue": "c2VhbGVk"}
    response = folded(START, *thought("g1", "Hm"), *said("m", "Hi"), snapshot(of_server, answer("m", "Hi")), END)
    assert parts_of(response) == [("reasoning", "Hm"), ("text", "Hi")]
    assert (response.parts[0].extra["id"], response.parts[0].encrypted) == ("rs", "c2VhbGVk")


def test_a_message_that_was_streamed_in_two_pieces_is_one_in_the_snapshot():
    """Agno gives the texts before and behind a call one id."""
    streamed = [*said("m", "Hi"), *called("c", "m"), *said("m", " there")]
    assert parts_of(folded(START, *streamed, END)) == [
        ("text", "Hi"),
        ("tool_call", None),
        ("server_tool_result", None),
        ("text", " there"),
    ]
    response = folded(START, *streamed, snapshot(answer("m", "Hi there", "c"), result("of c", "c")), END)
    assert parts_of(response) == [("text", "Hi there"), ("tool_call", None), ("server_tool_result", None)]


def test_two_messages_of_a_snapshot_may_have_one_id():
    told = snapshot(answer("m", "One."), answer("m", "Two."))
    assert folded(START, told, told, END).text == "One.Two."


def test_a_run_that_goes_on_with_results_of_the_client_begins_behind_them():
    """The call was of the run before, and its tool has run: nobody is to run it again."""
    response = folded(
        START, *said("m2", "Done"), snapshot(answer("m1", "Let me", "c"), result("t", "c"), answer("m2", "Done")), END
    )
    assert (response.text, response.tool_calls, response.finish_reason) == ("Done", (), "stop")
    assert [message["id"] for message in response.to_native()["messages"]] == ["u", "m1", "t", "m2"]


def test_a_snapshot_may_say_more_of_a_call():
    told = snapshot(answer("m", None, "c", encryptedValue="c2VhbGVk"), result("of c", "c"))
    response = folded(START, *called("c", "m"), told, END)
    assert response.tool_calls[0].extra == {"parentMessageId": "m", "encryptedValue": "c2VhbGVk"}


@pytest.mark.parametrize(
    "second",
    [
        [
            {"type": "TOOL_CALL_START", "toolCallId": "0", "toolCallName": "g"},
            {"type": "TOOL_CALL_ARGS", "toolCallId": "0", "delta": '{"y":2}'},
            {"type": "TOOL_CALL_END", "toolCallId": "0"},
        ],
        [chunk("0", '{"y":', "g"), chunk("0", "2}")],
    ],
)
def test_calls_of_several_answers_may_have_one_id(second):
    """Bedrock numbers the calls of each answer from `call_0` on, and a run has several answers."""
    first = chunk("0", '{"x":1}', "f")
    results = [{"type": "TOOL_CALL_RESULT", "toolCallId": "0", "content": content} for content in ("one", "two")]
    response = folded(START, first, results[0], *second, results[1], END)
    assert calls_of(response) == [("0", "f", "complete", '{"x":1}'), ("0", "g", "complete", '{"y":2}')]
    kinds = ["tool_call", "server_tool_result", "tool_call", "server_tool_result"]
    assert [part.kind for part in response.parts] == kinds
    assert [(part.name, part.content) for part in response.parts[1::2]] == [("f", "one"), ("g", "two")]


def test_a_result_may_come_before_its_call():
    """LangGraph's stream has lost the second of two parallel calls; the snapshot has it, and its result once."""
    response = folded(
        START,
        *called("c", "m"),
        {"type": "TOOL_CALL_RESULT", "messageId": "of d", "toolCallId": "d", "content": "ok"},
        snapshot(answer("m", None, "c", "d"), result("of c", "c"), result("of d", "d")),
        END,
    )
    assert [call.id for call in response.tool_calls] == ["c", "d"]
    assert [part.call_id for part in response.parts if part.kind == "server_tool_result"] == ["c", "d"]


@pytest.mark.parametrize("id_", ["m", "x"])
def test_a_text_of_a_snapshot_is_split_as_that_of_the_stream(id_):
    text = "<think>Why</think>Hi"
    body = b"".join(map(sse, (START, *said("m", text), snapshot(answer(id_, text)), END)))
    response = fold(body, split_think_tags=True)
    assert (response.reasoning, response.text) == ("Why", "Hi")


def test_counts_and_pending_calls_may_be_spelled_in_snake_case():
    """As `model_dump()` writes events in Python."""
    usage = {"input_tokens": 10, "output_tokens": 3, "cached_input_tokens": 4, "reasoning_tokens": 1}
    outcome = {"type": "success", "pending_tool_call_ids": ["c"]}
    response = folded(START, {"type": "RUN_FINISHED", "run_id": "r", "usage": [usage, usage], "outcome": outcome})
    counts = response.usage
    assert (counts.input_tokens, counts.output_tokens, counts.total_tokens) == (20, 6, 26)
    assert (counts.cached_input_tokens, counts.reasoning_tokens, response.finish_reason) == (8, 2, "tool_calls")


def test_what_tanstack_says_beside_the_protocol():
    """Its reason says that the answer was cut, where the protocol's run is a success; its counts have OpenAI's names."""
    usage = {"promptTokens": 10, "completionTokens": 2, "promptTokensDetails": {"cachedTokens": 4}}
    texts = [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": text} for text in ("He", "ll", "o")]
    for at, text in enumerate(("He", "Hell", "Hello")):
        texts[at]["content"] = text
    response = folded({**START, "model": "gpt"}, *texts, {**END, "finishReason": "length", "usage": usage})
    assert (response.text, response.model, response.finish_reason) == ("Hello", "gpt", "length")
    assert response.parts[0].extra == {}
    counts = response.usage
    assert (counts.input_tokens, counts.output_tokens, counts.cached_input_tokens) == (10, 2, 4)


def test_the_finish_reason_in_the_metadata_says_more_than_success():
    metadata = {"tanstack": {"finishReason": "content_filter", "model": "gpt"}}
    response = folded(START, TEXT, {**END, "outcome": {"type": "success"}, "metadata": metadata})
    assert (response.finish_reason, response.native_finish_reason) == ("content_filter", "content_filter")
    assert response.model == "gpt"
    interrupt = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "tool_call"}]}
    assert folded(START, TEXT, {**END, "outcome": interrupt, "metadata": metadata}).finish_reason == "pause"


@pytest.mark.parametrize("args", [[], [{"type": "TOOL_CALL_ARGS", "toolCallId": "a", "delta": '{"x":1}'}]])
def test_the_end_of_a_call_may_have_its_input_and_its_result(args):
    """TanStack AI ends a call a second time when its tool has run."""
    end = {"type": "TOOL_CALL_END", "toolCallId": "a", "toolName": "f", "input": {"x": 1}}
    start = {"type": "TOOL_CALL_START", "toolCallId": "a", "toolName": "f"}
    response = folded(START, start, *args, end, {**end, "result": "ok"}, END)
    (call,) = response.tool_calls
    assert (call.name, call.arguments, call.status) == ("f", {"x": 1}, "complete")
    assert [(part.call_id, part.content) for part in response.parts[1:]] == [("a", "ok")]


def step(delta, **fields):
    return {"type": "STEP_FINISHED", "stepId": "s", "delta": delta, **fields}


def test_what_is_thought_in_steps_is_reasoning_unless_it_was_told():
    steps = [step("Hm"), step(", "), step("so"), step("", content="Hm, so", signature="c2ln")]
    response = folded(START, *steps, TEXT, END)
    assert (response.reasoning, response.text, response.parts[0].signature) == ("Hm, so", "Hi", "c2ln")
    response = folded(START, *thought("g", "Hm, so"), *steps, TEXT, END)
    assert (response.reasoning, len(response.extra["steps"])) == ("Hm, so", 4)


def test_an_error_of_a_run_may_be_an_object():
    response = folded(START, {"type": "RUN_ERROR", "error": {"message": "no", "code": "rate_limit"}})
    assert (response.error.message, response.error.code) == ("no", "rate_limit")
    response = folded(START, {"type": "RUN_ERROR", "error": "no", "code": "rate_limit"})
    assert (response.error.message, response.error.code) == ("no", "rate_limit")


def test_a_result_may_be_an_error():
    failed = {"type": "TOOL_CALL_RESULT", "toolCallId": "a", "content": "no", "isError": True}
    response = folded(START, chunk("a", "{}", "f"), failed, END)
    assert (response.parts[1].content, response.parts[1].is_error) == ("no", True)
    assert response.to_native()["messages"][1] == {
        "role": "tool",
        "toolCallId": "a",
        "content": "no",
        "isError": True,
    }


def test_a_run_may_say_its_names_in_every_event():
    """AgentScope does; the messages that go back to it have no such fields."""
    names = {"threadId": "t", "runId": "r"}
    response = folded(
        START,
        {"type": "TEXT_MESSAGE_START", **names, "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", **names, "messageId": "m", "delta": "I "},
        {"type": "TEXT_MESSAGE_CONTENT", **names, "messageId": "m", "delta": "look."},
        {"type": "TEXT_MESSAGE_END", **names, "messageId": "m"},
        {"type": "TOOL_CALL_START", **names, "toolCallId": "c", "toolCallName": "f"},
        {"type": "TOOL_CALL_ARGS", **names, "toolCallId": "c", "delta": "{}"},
        {"type": "TOOL_CALL_END", **names, "toolCallId": "c"},
        {"type": "TOOL_CALL_RESULT", "threadId": "t", "runId": "of-another", "toolCallId": "c", "content": "ok"},
        {"type": "RUN_FINISHED", **names},
    )
    assert [dict(part.extra) for part in response.parts] == [{}, {}, {"runId": "of-another"}]
    assert response.text == "I look."


@pytest.mark.parametrize(
    ("came", "told", "kept", "kind"),
    [
        ('{"x":1}', '{"x":1}{"x":1}', '{"x":1}', "bad_restatement"),
        ('{"x":1}', '{"x": 1}', '{"x": 1}', None),
        ('{"x":1}}', '{"x":1}', '{"x":1}', None),
        ('{"x":1}', "", '{"x":1}', None),
    ],
)
def test_a_snapshot_with_broken_arguments_breaks_no_call(came, told, kept, kind):
    """Microsoft's Agent Framework has the arguments of the client's tools twice in its snapshots."""
    pieces = [named("TOOL_CALL_ARGS", toolCallId="a", delta=piece) for piece in (came[:3], came[3:])]
    start, end = named("TOOL_CALL_START", toolCallId="a", toolCallName="f"), named("TOOL_CALL_END", toolCallId="a")
    call = {"id": "a", "type": "function", "function": {"name": "f", "arguments": told}}
    whole = snapshot({"id": "m", "role": "assistant", "toolCalls": [call]})
    response = folded(START, start, *pieces, end, whole, END)
    assert calls_of(response) == [("a", "f", "complete", kept)]
    assert [diagnostic.kind for diagnostic in response.diagnostics] == ([kind] if kind else [])


def test_a_run_that_begins_again_when_it_has_finished_is_at_its_next_turn():
    """TanStack AI begins and finishes the client's run once for each call of the model."""
    call = [named("TOOL_CALL_START", toolCallId="a", toolCallName="f"), chunk_of_call('{"x":1}'), CALL_ENDS]
    result = named("TOOL_CALL_RESULT", messageId="q", toolCallId="a", content="R")
    turn = [START, *call, {**END, "finishReason": "tool_calls"}, {**CALL_ENDS, "result": "R"}, result]
    response = folded(*turn, START, TEXT, {**END, "finishReason": "stop"})
    assert [part.kind for part in response.parts] == ["tool_call", "server_tool_result", "text"]
    assert (response.text, response.native_finish_reason, response.ended) == ("Hi", "stop", "clean")


@pytest.mark.parametrize("amid", [[], [named("RUN_ERROR", message="m")]])
def test_a_run_that_begins_again_before_it_has_finished_comes_anew(amid):
    response = folded(START, {**TEXT, "delta": "He"}, *amid, START, TEXT, END)
    assert response.text == "Hi"


def test_a_snapshot_takes_back_no_more_of_split_texts_than_of_whole_ones():
    said = [{"type": f"TEXT_MESSAGE_{kind}", "messageId": "m", **fields} for kind, fields in TOLD.items()]
    listed = [{"id": "m", "role": "assistant", "content": "Noon."}]
    snapshot = {"type": "MESSAGES_SNAPSHOT", "messages": listed}
    body = b"".join(map(sse, [START, *said, END, START, *said, snapshot, END]))
    plain, split = (
        assert_laws(body, [body[:90], body[90:]], "ag-ui", split_think_tags=is_split) for is_split in (False, True)
    )
    assert plain.text == split.text
    assert [part.kind for part in plain.parts] == [part.kind for part in split.parts]


TOLD = {"START": {"role": "assistant"}, "CONTENT": {"delta": "Noon."}, "END": {}}


# Subagents, whose events are told apart by a name of their own


def in_turns(one, two):
    return [event for pair in zip(one, two, strict=True) for event in pair]


def pieces(kind, id_, texts, teller=None, *, tells="all", **first):
    """Chunks of a text, thought or call: the id stands in the first one, and who tells them in *tells* of them."""
    name = "toolCallId" if kind == "TOOL_CALL" else "messageId"
    chunks = [{"type": f"{kind}_CHUNK", "delta": text} for text in texts]
    chunks[0] |= {name: id_, **first}
    for piece in chunks if tells == "all" else chunks[:1]:
        piece |= {"subagentRunId": teller} if teller else {}
    return chunks


@pytest.mark.parametrize("kind", ["TEXT_MESSAGE", "REASONING_MESSAGE"])
@pytest.mark.parametrize("tellers", [("s1", "s2"), (None, "s2"), ("s1", None)])
def test_chunks_without_an_id_go_on_with_what_the_same_subagent_told_last(kind, tellers):
    texts = (["a", "b", "c", "d"], ["u", "v", "w", "x"])
    told = [pieces(kind, f"m{teller}", *both) for teller, *both in zip("12", texts, tellers, strict=True)]
    frames = [START, *in_turns(*told), END]
    response = folded(*frames)
    assert_templates_change_nothing(list(map(sse, frames)))
    assert [part.text for part in response.parts] == ["abcd", "uvwx"]
    assert [part.extra.get("subagentRunId") for part in response.parts] == list(tellers)


def test_arguments_without_an_id_are_of_the_call_of_the_same_subagent():
    one = pieces("TOOL_CALL", "a", ['{"x":', "1}"], "s1", toolCallName="f")
    two = pieces("TOOL_CALL", "b", ['{"y":', "2}"], "s2", toolCallName="g")
    assert calls_of(folded(START, *in_turns(one, two), END)) == BOTH


def test_a_chunk_that_names_nobody_is_of_the_run_or_else_of_the_subagent_that_tells_the_like():
    text = pieces("TEXT_MESSAGE", "m", ["Hel", "lo"], "s1", tells="first")
    call = pieces("TOOL_CALL", "a", ['{"x":', "1}"], toolCallName="f")
    response = folded(START, *in_turns(text, call), END)
    assert (response.text, calls_of(response)) == ("Hello", BOTH[:1])
    own = pieces("TEXT_MESSAGE", "n", ["wor", "ld"])
    response = folded(START, text[0], own[0], text[1], own[1], END)
    assert [part.text for part in response.parts] == ["Hel", "worlold"]


@pytest.mark.parametrize("ending", ["SUBAGENT_FINISHED", "SUBAGENT_ERROR"])
def test_the_end_of_a_subagent_ends_its_own_chunks_alone(ending):
    one, two = pieces("TEXT_MESSAGE", "m", ["a", "b"], "s1"), pieces("TEXT_MESSAGE", "n", ["u", "v"], "s2")
    del two[1]["subagentRunId"]
    response = folded(START, one[0], two[0], named(ending, subagentRunId="s1", message="no"), two[1], END)
    assert [(part.id, part.text) for part in response.parts] == [("m", "a"), ("n", "uv")]


def test_the_end_of_a_subagent_that_is_not_named_ends_nothing_of_the_run():
    text = pieces("TEXT_MESSAGE", "m", ["Hel", "lo"])
    response = folded(START, text[0], named("SUBAGENT_FINISHED"), text[1], END)
    assert [part.text for part in response.parts] == ["Hello"]


def test_of_two_spellings_the_one_that_says_something_counts():
    """An exporter that writes both leaves the one blank that the protocol does not have."""
    text = {"type": "TEXT_MESSAGE_START", "messageId": "m", "message_id": None, "role": "assistant"}
    more = {"type": "TEXT_MESSAGE_CONTENT", "message_id": "m", "messageId": "", "delta": "Hello"}
    response = folded(START, text, more, END)
    assert [(part.id, part.text) for part in response.parts] == [("m", "Hello")]


EXPLICIT = [
    named("TOOL_CALL_START", toolCallId="a", toolCallName="f", subagentRunId="s1"),
    named("TEXT_MESSAGE_START", messageId="n", role="assistant", subagentRunId="s1"),
    named("REASONING_ENCRYPTED_VALUE", subtype="message", entityId="m", encryptedValue="E"),
    named("SUBAGENT_STARTED", subagentRunId="s1", name="scout"),
]


@pytest.mark.parametrize("event", EXPLICIT)
def test_what_a_subagent_begins_ends_nothing_of_the_run(event):
    text = pieces("TEXT_MESSAGE", "m", ["Hel", "lo"])
    response = folded(START, text[0], event, text[1], END)
    assert [part.text for part in response.parts if part.kind == "text" and part.text] == ["Hello"]


@pytest.mark.parametrize("teller", [None, "s1"])
def test_a_result_ends_the_call_that_it_names_whoever_told_it(teller):
    """The agent's server runs the tool, and may say its result in the name of the run; ids may come again then."""
    one, again = (pieces("TOOL_CALL", "a", [text], "s1", toolCallName="f") for text in ('{"x":1}', '{"x":2}'))
    result = named("TOOL_CALL_RESULT", toolCallId="a", content="r", **({"subagentRunId": teller} if teller else {}))
    response = folded(START, *one, result, *again, END)
    assert [call.raw_arguments for call in response.tool_calls] == ['{"x":1}', '{"x":2}']


def test_many_calls_of_many_subagents_are_found_at_once():
    one = [pieces("TOOL_CALL", f"c{n}", ["{", "}"], f"s{n}", toolCallName="f") for n in range(2000)]
    response = folded(START, *(chunks[0] for chunks in one), *(chunks[1] for chunks in one), END)
    assert {call.raw_arguments for call in response.tool_calls} == {"{}"}


def test_calls_that_no_end_was_told_of_have_not_all_their_arguments_where_the_stream_is_cut():
    """Several tellers, and starts and ends, leave several calls open at once: that another one came ends none."""
    one, two = pieces("TOOL_CALL", "a", [""], "s1", toolCallName="f"), pieces("TOOL_CALL", "b", ["{}"], "s2")
    assert [call.status for call in folded(START, *one, *two).tool_calls] == ["truncated", "complete"]
    assert [call.status for call in folded(START, *one, TEXT).tool_calls] == ["truncated"]
    starts = [named("TOOL_CALL_START", toolCallId=id_, toolCallName="f") for id_ in "ab"]
    ends = [named("TOOL_CALL_END", toolCallId=id_) for id_ in "ab"]
    error = named("RUN_ERROR", message="no")
    for cut in ([], [error]):
        assert [call.status for call in folded(START, *starts, ends[1], *cut).tool_calls] == ["truncated", "empty"]
        assert [call.status for call in folded(START, *one, *cut).tool_calls] == ["truncated"]
    assert [call.status for call in folded(START, *starts, END).tool_calls] == ["empty", "empty"]


# Metadata, which the events of a part gather


@pytest.mark.parametrize("kind", ["TEXT_MESSAGE", "REASONING_MESSAGE", "TOOL_CALL"])
def test_metadata_of_all_events_of_a_part_are_kept_the_last_of_each_name(kind):
    """AG-UI 1.0, "Metadata": usage and the finish reason come at the end, and take nothing of before away."""
    id_ = {"toolCallId": "a"} if kind == "TOOL_CALL" else {"messageId": "a"}
    more = "ARGS" if kind == "TOOL_CALL" else "CONTENT"
    frames = [
        START,
        named(f"{kind}_START", toolCallName="f", metadata={"x": {"deep": 1}, "y": 1}, **id_),
        named(f"{kind}_{more}", delta="{", metadata={"y": None}, **id_),
        named(f"{kind}_{more}", delta="}", **id_),
        named(f"{kind}_END", metadata={"x": {"other": 2}, "usage": {"inputTokens": 3}}, **id_),
        END,
    ]
    part = folded(*frames).parts[0]
    assert part.extra["metadata"] == {"x": {"other": 2}, "y": None, "usage": {"inputTokens": 3}}


def test_the_last_chunk_may_have_metadata_alone():
    text = pieces("TEXT_MESSAGE", "m", ["Hi", "!"], metadata={"model": "m-1"})
    last = named("TEXT_MESSAGE_CHUNK", metadata={"finishReason": "length"})
    part = folded(START, *text, last, END).parts[0]
    assert (part.text, part.extra["metadata"]) == ("Hi!", {"model": "m-1", "finishReason": "length"})


def told(id, name, *pieces, anonymous=False):
    """A call from its start to its end; *anonymous*: only its start names it."""
    named = {} if anonymous else {"toolCallId": id}
    pieces = [{"type": "TOOL_CALL_ARGS", **named, "delta": piece} for piece in pieces]
    start = {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": name}
    return [start, *pieces, {"type": "TOOL_CALL_END", **named}]


RESULT = {"type": "TOOL_CALL_RESULT", "messageId": "of c", "toolCallId": "c", "content": "ok"}


@pytest.mark.parametrize("anonymous", [False, True])
@pytest.mark.parametrize("between", [[], [*told("d", "inner", "{}"), {**RESULT, "toolCallId": "d"}]])
def test_a_call_that_is_told_again_before_its_result_is_one(between, anonymous):
    """LangGraph's adapters tell it once more when the tool has run, with the arguments as they write them."""
    again = told("c", "task", '{"q": ', '"x"}', anonymous=anonymous)
    response = folded(START, *told("c", "task", '{"q":"x"}'), *between, *again, RESULT, END)
    calls = [call for call in calls_of(response) if call[0] == "c"]
    assert calls == [("c", "task", "complete", '{"q":"x"}')]
    assert [note.kind for note in response.diagnostics] == ["repeated_event"]
    assert response.parts[-1].call_id == "c"


@pytest.mark.parametrize("closing", [[], [RESULT], [END]])
def test_a_call_that_is_told_again_has_the_arguments_that_come_then_if_it_had_none(closing):
    again = told("c", "task", '{"q":', "1}")
    response = folded(START, *told("c", "task"), *(again[:-1] if closing[:1] == [RESULT] else again), *closing, END)
    assert calls_of(response) == [("c", "task", "complete", '{"q":1}')]


def test_a_call_that_is_told_again_without_its_arguments_is_one():
    """TanStack AI ends a call twice where Gemini says that it did not expect it."""
    response = folded(START, *told("c", "task", "{}"), *told("c", "task"), END)
    assert calls_of(response) == [("c", "task", "complete", "{}")]


@pytest.mark.parametrize("count", [0, 2, 3])
def test_calls_that_have_one_id_are_as_many_as_their_results_or_all_if_there_are_none(count):
    """Kimi gives calls side by side one id."""
    number = count or 3
    calls = [event for at in range(number) for event in told("c", "grep", f'{{"p":{at}}}')]
    results = [{**RESULT, "content": f"r{at}"} for at in range(count)]
    response = folded(START, *calls, *results, END)
    assert [call[2:] for call in calls_of(response)] == [("complete", f'{{"p":{at}}}') for at in range(number)]
    assert [part.content for part in response.parts if part.kind == "server_tool_result"] == [
        f"r{at}" for at in range(count)
    ]


def test_a_call_under_the_id_of_another_that_was_cut_is_cut():
    response = folded(START, *told("c", "grep", '{"p":1}'), *told("c", "grep", '{"p":')[:-1])
    assert [call[2] for call in calls_of(response)] == ["complete", "truncated"]


@pytest.mark.parametrize("between", [[RESULT], [END, {**START, "runId": "next"}]])
def test_a_call_with_the_id_of_one_that_is_answered_or_of_another_run_is_another(between):
    response = folded(START, *told("c", "task", '{"q":1}'), *between, *told("c", "task", '{"q":2}'), END)
    assert [call[3] for call in calls_of(response)] == ['{"q":1}', '{"q":2}']


def test_what_is_told_again_beside_a_call_is_kept():
    start, *rest = told("c", "task", "{}")
    again = [{**start, "parentMessageId": "n", "title": "T"}, *rest]
    response = folded(START, {**start, "parentMessageId": "m"}, *rest, *again, RESULT, END)
    assert response.tool_calls[0].extra == {"parentMessageId": "n", "title": "T"}


@pytest.mark.parametrize("said", [{}, {"outcome": None}, {"error": {"message": "no"}}])
def test_the_messages_of_a_run_that_did_not_finish_are_no_whole_answer(said):
    body = {"threadId": "t", "runId": "r", "messages": [{"role": "assistant", "id": "m", "content": "Hal"}], **said}
    assert Response.from_native(body).truncated is not bool(said)


def test_calls_without_arguments_in_the_body_of_a_run_that_did_not_finish_are_not_run():
    """Several may have been open at once. What a tool has answered was whole."""
    calls = [{"id": id_, "type": "function", "function": {"name": "pay", "arguments": ""}} for id_ in ("a", "b", "c")]
    messages = [
        {"role": "assistant", "id": "m", "toolCalls": calls},
        {"role": "tool", "toolCallId": "b", "content": "paid"},
    ]
    body = {"threadId": "t", "runId": "r", "messages": messages}
    response = Response.from_native(body)
    assert [call.status for call in response.tool_calls] == ["truncated", "empty", "truncated"]
    assert response.to_native() == body
    over = Response.from_native({**body, "outcome": None})
    assert [call.status for call in over.tool_calls] == ["empty", "empty", "empty"]
