"""
Which call an event of `openai-responses` is about, where servers leave out ids and indexes, repeat or redraw them.

A call whose arguments end up on another one is run for what nobody asked for, and one that disappears is never run.
"""

from __future__ import annotations

import pytest

import chunkfold
from tests.laws import assert_laws
from tests.streams import sse


def call(number, name, arguments="", *, id=None, **fields):
    item = {"type": "function_call", "call_id": f"call_{number}", "name": name, "arguments": arguments, **fields}
    return item if id is None else {"id": id, **item}


def event(kind, **fields):
    return sse({"type": f"response.{kind}", **fields}, f"response.{kind}")


def added(item, **place):
    return event("output_item.added", item=item, **place)


def done(item, **place):
    return event("output_item.done", item=item, **place)


def delta(text, **place):
    return event("function_call_arguments.delta", delta=text, **place)


def completed(*output):
    response = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": list(output)}
    return event("completed", response=response)


LOOK, SEND = call(1, "look", '{"a":1}'), call(2, "send", '{"b":2}')
BOTH = [("call_1", "look", '{"a":1}'), ("call_2", "send", '{"b":2}')]


def given(item, **fields):
    """The item with an id or arguments of its own."""
    return {**item, **fields}


NEITHER_ID_NOR_INDEX = [done(LOOK), done(SEND), completed()]
TWICE_AND_CLOSED = [done(LOOK), done(LOOK), done(SEND), done(SEND), completed(LOOK, SEND)]
INDEX_ZERO_DONE_ONLY = [done(LOOK, output_index=0), done(SEND, output_index=0), done(LOOK, output_index=0), completed()]
INDEX_ZERO = [
    added(call(1, "look"), output_index=0),
    delta('{"a":1}', output_index=0),
    done(LOOK, output_index=0),
    added(call(2, "send"), output_index=0),
    delta('{"b":2}', output_index=0),
    done(SEND, output_index=0),
    completed(),
]
ONE_ID_FOR_ALL = [
    done(given(LOOK, id="fc"), output_index=0),
    done(given(SEND, id="fc"), output_index=0),
    completed(given(LOOK, id="fc"), given(SEND, id="fc")),
]
ONE_ID_AND_NO_INDEX = [done(given(LOOK, id="fc")), done(given(SEND, id="fc")), completed()]
# As DeepSeek does it.
DELTAS_BY_CALL_ID = [
    added(call(1, "look", id="fc_1")),
    added(call(2, "send", id="fc_2")),
    delta('{"b":', call_id="call_2"),
    delta('{"a":1}', call_id="call_1"),
    delta("2}", call_id="call_2"),
    completed(),
]
CALL_ID_AS_ITEM_ID = [
    added(call(1, "look", id="fc_1")),
    added(call(2, "send", id="fc_2")),
    delta('{"a":1}', item_id="call_1"),
    delta('{"b":2}', item_id="call_2"),
    completed(),
]
ONLY_ARGUMENTS = [
    event("function_call_arguments.done", arguments='{"a":1}', name="look", call_id="call_1"),
    delta('{"b":', call_id="call_2"),
    delta("2}", call_id="call_2"),
    event("function_call_arguments.done", arguments='{"b":2}', name="send", call_id="call_2"),
    completed(),
]
CLOSED_IN_ANOTHER_ORDER = [done(LOOK, output_index=0), done(SEND, output_index=1), completed(SEND, LOOK)]
CLOSED_WITH_THE_SECOND_ALONE = [done(LOOK, output_index=0), done(SEND, output_index=1), completed(SEND)]
# GitHub Copilot draws item ids anew.
CLOSED_UNDER_NEW_IDS = [
    done(given(LOOK, id="a"), output_index=0),
    done(given(SEND, id="b"), output_index=1),
    completed(given(SEND, id="c")),
]
INDEXES_AS_TEXT = [
    added(call(1, "look"), output_index="0"),
    added(call(2, "send"), output_index="1"),
    delta('{"a":1}', output_index="0"),
    delta('{"b":2}', output_index="1"),
    completed(),
]
INDEX_ZERO_NEVER_ADDED = [
    event("function_call_arguments.done", arguments='{"a":1}', output_index=0, item_id="fc_1"),
    done(given(LOOK, id="fc_1"), output_index=0),
    delta('{"b":2}', output_index=0, item_id="fc_2"),
    done(given(SEND, id="fc_2"), output_index=0),
    completed(),
]
# Each event has an id of its own, and the call is over before its arguments are stated.
STATED_BEHIND_THE_END_UNDER_NEW_IDS = [
    frame
    for index, item in enumerate([LOOK, SEND])
    for frame in (
        added(given(item, id=f"a{index}", arguments=""), output_index=index),
        delta(item["arguments"], output_index=index, item_id=f"b{index}"),
        done(given(item, id=f"c{index}"), output_index=index),
        event("function_call_arguments.done", arguments=item["arguments"], output_index=index, item_id=f"d{index}"),
    )
] + [completed()]
STARTED_AND_NEVER_DONE = [
    added(call(1, "look", id="fc_1"), output_index=0),
    delta('{"a', output_index=0, item_id="fc_1"),
    added(call(2, "send", id="fc_2"), output_index=1),
    completed(given(SEND, id="x"), given(LOOK, id="y")),
]


@pytest.mark.parametrize(
    "frames",
    [
        NEITHER_ID_NOR_INDEX, TWICE_AND_CLOSED, INDEX_ZERO, INDEX_ZERO_DONE_ONLY, ONE_ID_FOR_ALL, ONE_ID_AND_NO_INDEX,
        DELTAS_BY_CALL_ID, CALL_ID_AS_ITEM_ID, ONLY_ARGUMENTS, CLOSED_IN_ANOTHER_ORDER, CLOSED_WITH_THE_SECOND_ALONE,
        CLOSED_UNDER_NEW_IDS, INDEXES_AS_TEXT, INDEX_ZERO_NEVER_ADDED, STARTED_AND_NEVER_DONE,
        STATED_BEHIND_THE_END_UNDER_NEW_IDS,
    ],
)  # fmt: skip
def test_calls_are_told_apart_by_their_call_ids(frames):
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [(made.id, made.name, made.raw_arguments) for made in response.tool_calls] == BOTH
    assert all(made.status == "complete" for made in response.tool_calls)
    assert response.finish_reason == "tool_calls"
    assert not response.extra.get("call_id")


def test_long_arguments_that_are_stated_behind_the_end_open_no_other_call():
    text = f'{{"a":"{"word " * 2000}"}}'
    pieces = [delta(text[at : at + 4], output_index=0, item_id="b") for at in range(0, len(text), 4)]
    stated = event("function_call_arguments.done", arguments=text, output_index=0, item_id="d")
    call_done = done(given(LOOK, id="c", arguments=text), output_index=0)
    body = b"".join([added(given(LOOK, id="a", arguments=""), output_index=0), *pieces, call_done, stated, completed()])
    assert [(made.id, made.raw_arguments) for made in chunkfold.fold(body).tool_calls] == [("call_1", text)]


def test_a_call_whose_call_id_comes_late_is_one_call():
    start = {"type": "function_call", "name": "look", "arguments": ""}
    frames = [added(start), delta('{"a":1}', call_id="call_1"), done(LOOK), completed(LOOK)]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [(made.id, made.name, made.raw_arguments) for made in response.tool_calls] == BOTH[:1]


@pytest.mark.parametrize("ids", [{"id": "fc_1"}, {"id": None}])
def test_a_call_id_drawn_anew_by_each_event_makes_no_new_call(ids):
    """As vLLM does it: the index tells that it is the same call."""
    again = given(LOOK, call_id="call_x", **ids)
    frames = [
        added(given(LOOK, arguments="", id="fc_1"), output_index=0),
        delta('{"a":1}', output_index=0, item_id="fc_1"),
        done(again, output_index=0),
        completed(given(LOOK, call_id="call_y", **ids)),
    ]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [(made.name, made.raw_arguments) for made in response.tool_calls] == [("look", '{"a":1}')]


ONE_CALL_ID = [
    added(call(1, "look")),
    delta('{"a":1}', call_id="call_1"),
    done(LOOK),
    added(call(1, "send")),
    delta('{"b":2}', call_id="call_1"),
    done(given(SEND, call_id="call_1")),
    completed(),
]
ONE_CALL_ID_DONE_ONLY = [done(LOOK), done(given(SEND, call_id="call_1")), completed()]
ONE_CALL_ID_BY_INDEX = [
    added(call(1, "look"), output_index=0),
    added(call(1, "send"), output_index=1),
    delta('{"b":2}', output_index=1, call_id="call_1"),
    delta('{"a":1}', output_index=0, call_id="call_1"),
    completed(),
]


@pytest.mark.parametrize("frames", [ONE_CALL_ID, ONE_CALL_ID_DONE_ONLY, ONE_CALL_ID_BY_INDEX])
def test_calls_that_share_a_call_id_are_told_apart_by_their_names(frames):
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    made = [(call.id, call.name, call.raw_arguments) for call in response.tool_calls]
    assert made == [("call_1", "look", '{"a":1}'), ("call_1", "send", '{"b":2}')]


def message(text):
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def test_items_without_any_name_are_repeats_only_if_they_say_the_same():
    frames = [done(message("A")), done(message("B")), done(message("B")), completed()]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [part.text for part in response.parts] == ["A", "B"]


def test_a_call_that_only_the_closing_response_has_takes_no_others_place():
    frames = [done(given(LOOK, id="a")), completed(given(SEND, id="b", call_id="call_2"))]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [(made.id, made.name, made.raw_arguments) for made in response.tool_calls] == BOTH


def test_a_call_that_no_event_told_is_not_the_one_listed_behind_it():
    """Who takes up a stream behind the first call meets it in the closing response alone."""
    first, second = call(1, "look", '{"a":1}', id="a"), call(2, "look", '{"b":2}', id="b")
    frames = [done(second, output_index=0), completed(first, second)]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [(made.id, made.raw_arguments) for made in response.tool_calls] == [
        ("call_2", '{"b":2}'),
        ("call_1", '{"a":1}'),
    ]


def test_equal_calls_of_two_kinds_may_have_one_call_id():
    custom = {"type": "custom_tool_call", "call_id": "call_1", "name": "run", "input": "x"}
    frames = [done(LOOK), done(custom), completed()]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [(made.name, made.raw_arguments) for made in response.tool_calls] == [("look", '{"a":1}'), ("run", "x")]


def texts(*said):
    content = [{"type": "output_text", "text": text, "annotations": []} for text in said]
    return {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}


def text_at(place, text):
    return event("output_text.delta", item_id="msg_1", output_index=0, content_index=place, delta=text)


def part_at(place):
    part = {"type": "output_text", "text": "", "annotations": []}
    return event("content_part.added", item_id="msg_1", output_index=0, content_index=place, part=part)


@pytest.mark.parametrize(
    ("frames", "said", "made"),
    [
        ([part_at(0), part_at(1), text_at(1, "B")], ["B"], ["", "B"]),
        ([text_at(0, "A"), text_at(1, "B")], ["B"], ["A", "B"]),
        ([text_at(0, "A"), text_at(1, "B"), text_at(2, "C")], ["A", "C"], ["A", "B", "C"]),
        ([text_at(0, "A"), text_at(1, "B")], ["AB"], ["A", "B"]),
        ([text_at(0, "A"), text_at(1, "B")], ["ABC"], ["A", "BC"]),
        ([text_at(0, "A"), text_at(1, "B")], ["A", "X"], ["A", "X"]),
        ([text_at(0, "A"), text_at(1, "B")], ["X"], ["X", "B"]),
        ([text_at(0, "A")], ["A", "B"], ["A", "B"]),
        ([text_at(0, "A"), text_at(1, "A"), text_at(2, "A")], ["A", "A"], ["A", "A", "A"]),
    ],
)
def test_parts_that_a_message_does_not_list_one_by_one(frames, said, made):
    """A text that came is confirmed where the message has it, and is not there twice."""
    frames = [*frames, done(texts(*said), output_index=0), completed(texts(*said))]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [part.text for part in response.parts] == made


@pytest.mark.parametrize("ids", [(None, None, None), ("a", "b", "c"), ("a", "b", None)])
@pytest.mark.parametrize("kind", ["message", "reasoning"])
def test_an_item_listed_alone_under_another_id_is_the_one_that_says_the_same(kind, ids):
    """The closing response has the final answer alone: it must not take the place of what was said before."""

    def told(text, id):
        part = {"type": "output_text" if kind == "message" else "summary_text", "text": text}
        item = {"type": kind, "content" if kind == "message" else "summary": [part]}
        return item if id is None else {"id": id, **item}

    before, answer, again = told("Let me look.", ids[0]), told("It is.", ids[1]), told("It is.", ids[2])
    frames = [done(before, output_index=0), done(LOOK, output_index=1), done(answer, output_index=2), completed(again)]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [part.text for part in response.parts if part.kind != "tool_call"] == ["Let me look.", "It is."]


def test_encrypted_reasoning_listed_alone_under_another_id_replaces_no_other():
    def thought(id, encrypted):
        return {"id": id, "type": "reasoning", "summary": [], "encrypted_content": encrypted}

    frames = [done(thought("a", "E1"), output_index=0), done(LOOK, output_index=1)]
    frames += [done(thought("b", "E2"), output_index=2), completed(thought("c", "E2"))]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [part.encrypted for part in response.parts if part.kind == "reasoning"] == ["E1", "E2"]


def test_a_call_that_the_closing_response_names_otherwise_is_no_other_call():
    long = given(LOOK, id="fc_1", name="server.look")
    frames = [added(call(1, "look", id="fc_1"), output_index=0), done(given(LOOK, id="fc_1"), output_index=0)]
    frames += [completed(long)]
    response = assert_laws(b"".join(frames), frames, "openai-responses")
    assert [(made.id, made.raw_arguments) for made in response.tool_calls] == [("call_1", '{"a":1}')]


STATED = event("function_call_arguments.done", output_index=0, arguments='{"a":1}')


@pytest.mark.parametrize("listed", [(), (LOOK,), (given(LOOK, arguments="{}"),), (given(LOOK, arguments=""),)])
@pytest.mark.parametrize("told", [STATED, delta('{"a":1}', output_index=0), delta('{"a":1}', output_index=0) + STATED])
@pytest.mark.parametrize("start", ["", "{}"])
def test_arguments_that_came_are_not_taken_back_by_an_empty_object(start, told, listed):
    """LM Studio ends an item with the arguments that it had at its start."""
    item = call(1, "look", "{}", status="completed")
    frames = [added(call(1, "look", start), output_index=0), told, done(item, output_index=0), completed(*listed)]
    response = assert_laws(b"".join(frames), frames)
    assert [(made.id, made.name, made.raw_arguments) for made in response.tool_calls] == BOTH[:1]
    assert response.tool_calls[0].status == "complete"


@pytest.mark.parametrize(("end", "status"), [(completed(), "complete"), (b"", "truncated")])
def test_empty_arguments_at_the_start_are_those_of_the_call_once_it_is_over(end, status):
    frames = [added(call(1, "look", "{}", status="in_progress"), output_index=0), end]
    response = assert_laws(b"".join(frames), frames)
    assert [made.status for made in response.tool_calls] == [status]


def hosted(kind, **fields):
    return {"id": "x_1", "type": kind, "status": "completed", **fields}


@pytest.mark.parametrize(
    ("item", "name", "arguments"),
    [
        (hosted("x_search_call", action={"type": "search", "query": "q"}), "x_search", '{"type":"search","query":"q"}'),
        (hosted("x_search_call", name="x_keyword_search", arguments='{"query":"q"}'), "x_keyword_search", '{"query":"q"}'),
        (hosted("web_extractor_call", urls=["u"], goal="g", output="o"), "web_extractor", '{"urls":["u"]}'),
        (hosted("image_search_call", name="image_search", arguments='{"img_idx": 0}', output="[]"), "image_search", '{"img_idx": 0}'),
        (hosted("web_search_image_call", name="w", arguments='{"queries": []}', output="[]"), "w", '{"queries": []}'),
    ],
)  # fmt: skip
def test_tools_that_other_providers_run_are_calls_of_the_server(item, name, arguments):
    """xAI tells how far they are by events of their own, as OpenAI does of its tools."""
    kind = item["type"]
    frames = [
        added({"id": "x_1", "type": kind, "status": "in_progress"}, output_index=0),
        event(f"{kind}.in_progress", item_id="x_1", output_index=0),
        event(f"{kind}.searching", item_id="x_1", output_index=0),
        done(item, output_index=0),
        completed(item),
    ]
    response = assert_laws(b"".join(frames), frames)
    (made,) = response.parts
    assert (made.kind, made.id, made.name, made.raw_arguments) == ("server_tool_call", "x_1", name, arguments)
    assert response.finish_reason == "stop"
    assert response.to_native()["output"] == [item]
    assert chunkfold.Response.from_native(response.to_native()).to_native() == response.to_native()
    assert response.message.to_request("openai-responses") == [item]


def test_how_far_an_unknown_item_is_says_nothing_but_what_else_it_says_is_carried():
    item = {"id": "n_1", "type": "new_call", "status": "completed"}
    frames = [
        added({**item, "status": "in_progress"}, output_index=0),
        event("new_call.in_progress", item_id="n_1", output_index=0),
        event("new_call.working", item_id="n_1", output_index=0, feature="f"),
        event("other_call.in_progress", item_id="n_1", output_index=0),
        done(item, output_index=0),
        completed(item),
    ]
    response = assert_laws(b"".join(frames), frames)
    names = ["new_call", "response.new_call.working", "response.other_call.in_progress"]
    assert [part.name for part in response.parts] == names
