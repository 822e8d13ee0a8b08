"""Odd words and odd places in the calls of `openai-chat`."""

from __future__ import annotations

import pytest

from chunkfold import Message, Response, ToolCall
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def chunk(*calls, **choice):
    delta = {"tool_calls": list(calls)} if calls else {}
    choice = {"index": 0, "delta": delta, "finish_reason": None, **choice}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def piece(name, arguments, **fields):
    return {"index": 0, "type": "FUNCTION", "function": {"name": name, "arguments": arguments}, **fields}


FINISH = chunk(finish_reason="tool_calls")

# As a gateway before a Mistral model sent it: the word where others have no field.
NULL_BEFORE_THE_TEXT = [chunk(piece("ls", "", id="a")), chunk(piece("null", '{"p":1}', id=""))]
NULL_BEHIND_SOME_TEXT = [chunk(piece("ls", '{"p"', id="a")), chunk(piece("null", ":1}", id=""))]
NULL_WITH_AN_ID_DRAWN_ANEW = [chunk(piece("ls", '{"p"', id="a")), chunk(piece("null", ":1}", id="b"))]
NULL_UNDER_AN_INDEX_THAT_DRIFTS = [chunk(piece("ls", '{"p"', id="a")), chunk(piece("null", ":1}", id="", index=1))]
NULL_FIRST = [chunk(piece("null", "", id="a")), chunk(piece("ls", '{"p":1}', id=""))]


@pytest.mark.parametrize(
    "frames",
    [
        NULL_BEFORE_THE_TEXT, NULL_BEHIND_SOME_TEXT, NULL_WITH_AN_ID_DRAWN_ANEW, NULL_UNDER_AN_INDEX_THAT_DRIFTS,
        NULL_FIRST,
    ],
)  # fmt: skip
def test_the_word_null_is_no_piece_of_a_name(frames):
    frames = [*frames, FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    (call,) = response.tool_calls
    assert (call.id, call.name, call.raw_arguments) == ("a", "ls", '{"p":1}')
    assert not response.diagnostics


def test_a_tool_may_be_called_null():
    frames = [chunk(piece("null", "", id="a")), chunk(piece("", "{}", id="")), FINISH]
    (call,) = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
    assert (call.id, call.name, call.status) == ("a", "null", "complete")


def test_an_id_beside_the_name_is_that_of_the_call():
    """llama.cpp had it there for some days."""
    first = {"index": 0, "function": {"id": "a", "name": "ls", "arguments": '{"p"'}}
    frames = [chunk(first), chunk({"index": 0, "function": {"id": "a", "name": "ls", "arguments": ":1}"}}), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    (call,) = response.tool_calls
    assert (call.id, call.name, call.raw_arguments) == ("a", "ls", '{"p":1}')
    (made,) = response.to_native()["choices"][0]["message"]["tool_calls"]
    assert (made["id"], made["function"]) == ("a", {"name": "ls", "arguments": '{"p":1}'})


def test_a_name_in_pieces_without_ids_and_indices_is_one_name():
    frames = [chunk({"function": {"name": name}}) for name in ("get_", "weather")]
    frames += [chunk({"function": {"arguments": "{}"}}), FINISH]
    (call,) = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
    assert (call.name, call.raw_arguments) == ("get_weather", "{}")


def test_two_lists_of_calls_without_indices_are_as_many_calls():
    named = [{"id": id_, "function": {"name": "ls", "arguments": ""}} for id_ in "abcd"]
    frames = [chunk(*named[:2]), chunk(*named[2:]), chunk(*[{"function": {"arguments": "{}"}} for _ in "cd"]), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(call.id, call.raw_arguments) for call in response.tool_calls] == [
        ("a", ""), ("b", ""), ("c", "{}"), ("d", "{}"),
    ]  # fmt: skip


@pytest.mark.parametrize("beside", [{}, {"index": 0}, {"index": 0, "id": ""}])
def test_calls_of_one_list_that_share_an_index_and_have_no_ids_are_as_many_calls(beside):
    """Gemini's compatible endpoint numbered every call 0; two without arguments became one with both names."""
    names = [{"name": "ls"}, {"name": "pwd"}]
    named = [{**beside, "function": {**name, "arguments": ""}} for name in names]
    bare, again = (
        [
            {**beside, "function": {**each, "arguments": text}}
            for each, text in zip(told, ('{"a":1}', '{"b":2}'), strict=True)
        ]
        for told in ([{}, {}], names)
    )
    for frames, wanted in (
        ([chunk(*named), FINISH], ["", ""]),
        ([chunk(*named), chunk(*again), FINISH], ['{"a":1}', '{"b":2}']),
        ([chunk(*named), chunk(*bare), FINISH], ['{"a":1}', '{"b":2}']),
    ):
        response = assert_laws(b"".join(frames), frames, "openai-chat")
        assert [(call.name, call.raw_arguments) for call in response.tool_calls] == list(
            zip(("ls", "pwd"), wanted, strict=True)
        )
        assert response.diagnostics == ()


def test_calls_that_share_an_index_spoil_no_call_before_them_or_beside_them():
    own = {"index": 0, "id": "a", "function": {"name": "ls", "arguments": "{"}}
    shared = [{"index": 1, "function": {"name": name, "arguments": f'{{"{name}"'}} for name in ("pwd", "cat")]
    rest = [chunk({"index": 0, "function": {"arguments": "}"}})]
    for frames in [chunk(own), *rest, chunk(*shared)], [chunk(own, *shared), *rest]:
        first, *others = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
        assert (first.name, first.raw_arguments) == ("ls", "{}")
        assert [(call.name, call.index) for call in others] == [("pwd", 1), ("cat", 1)]


def test_an_index_of_its_own_tells_of_which_call_a_bare_piece_is():
    named = [{"index": at, "function": {"name": name, "arguments": ""}} for at, name in enumerate(("ls", "pwd"))]
    texts = [{"index": at, "function": {"arguments": f'{{"a":{at}}}'}} for at in (1, 0)]
    frames = [chunk(*named), chunk(*texts), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [call.raw_arguments for call in response.tool_calls] == ['{"a":0}', '{"a":1}']


def test_pieces_of_one_call_in_a_list_are_one_call():
    pieces = [{"index": 0, "function": {"arguments": text}} for text in ("{", "}")]
    frames = [chunk({"index": 0, "function": {"name": "ls", "arguments": ""}}, *pieces), FINISH]
    (call,) = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
    assert (call.name, call.raw_arguments) == ("ls", "{}")


@pytest.mark.parametrize("names", ["fg", "ff"])
@pytest.mark.parametrize("before", [[], [chunk(delta={"content": "x"})]])
def test_calls_of_a_whole_body_may_share_an_index(names, before):
    calls = [{"index": 0, "type": "function", "function": {"name": name, "arguments": ""}} for name in names]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "c", "object": "chat.completion", "created": 7, "model": "m", "choices": [choice]}
    response = assert_laws(b"".join([*before, sse(body)]), [*before, sse(body)], "openai-chat")
    assert [(call.name, call.raw_arguments) for call in response.tool_calls] == [(name, "") for name in names]
    if not before:
        assert response.to_native() == body


@pytest.mark.parametrize("no_id", [{}, {"id": ""}, {"id": None}, {"id": "null"}])
@pytest.mark.parametrize("pieces", [['{"q":2}'], ["", '{"q"', ":2}"]])
@pytest.mark.parametrize("before", [[], [chunk({"index": 4, "id": "z", "function": {"name": "pwd", "arguments": ""}})]])
def test_an_id_with_another_name_behind_a_whole_call_is_no_late_id(before, pieces, no_id):
    """Mistral has index 0 for calls that it does not number and `"null"` for an id that it does not have."""
    first, *rest = pieces
    frames = [*before, chunk(piece("ls", '{"p":1}', **no_id)), chunk(piece("cd", first, id="b"))]
    frames += [*(chunk({"index": 0, "function": {"arguments": text}}) for text in rest), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    *_, one, other = response.tool_calls
    assert len(response.tool_calls) == len(before) + 2
    assert (one.id, one.name, one.raw_arguments, one.status) == (None, "ls", '{"p":1}', "complete")
    assert (other.id, other.name, other.raw_arguments, other.status) == ("b", "cd", '{"q":2}', "complete")
    assert response.diagnostics == ()


@pytest.mark.parametrize("frames", [
    [chunk(piece("ls", "")), chunk({"index": 0, "id": "a", "function": {"arguments": "{}"}})],
    [chunk(piece("ls", "{}")), chunk({"index": 0, "id": "a"})],
    [chunk(piece("ls", "{}")), chunk(piece("ls", "", id="a"))],
    [chunk(piece("ls", "{}")), chunk(piece("ls", "\n", id="a"))],
    [chunk(piece(None, "{}")), chunk(piece("ls", "", id="a"))],
    [chunk(piece("null", "{}")), chunk(piece("ls", "", id="a"))],
])  # fmt: skip
def test_an_id_may_come_late(frames):
    frames = [*frames, FINISH]
    (call,) = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
    assert (call.id, call.name, call.raw_arguments.strip()) == ("a", "ls", "{}")


@pytest.mark.parametrize("before", ["{}", '{"p":1}'])
def test_a_whole_call_that_is_told_again_with_its_id_cannot_be_run_twice(before):
    """It may be two calls of one tool as well: both texts are kept, and neither is run."""
    frames = [chunk(piece("ls", before)), chunk(piece("ls", '{"p":1}', id="a")), FINISH]
    (call,) = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
    assert (call.id, call.raw_arguments, call.status) == ("a", before + '{"p":1}', "invalid")


def twice(name, arguments, **fields):
    """A piece as llama-cpp-python sends it, in the old form and in the new one."""
    function = {"name": name, "arguments": arguments}
    return {"function_call": function, "tool_calls": [{"index": 0, "function": function, **fields}]}


def message(delta, **choice):
    choice = {"index": 0, "delta": delta, "finish_reason": None, **choice}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def test_a_call_told_in_the_old_form_and_in_the_new_one_is_one_call():
    frames = [
        message({"role": "assistant", "content": None, "function_call": None, "tool_calls": None}),
        message(twice("pay", "", id="a", type="function")),
        message(twice("pay", '{"sum":', id="a", type="function")),
        message(twice(None, " 10}")),
        FINISH,
    ]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [("a", "pay", {"sum": 10})]
    (made,) = response.to_native()["choices"]
    assert made["message"]["function_call"] is None


def test_another_call_in_the_old_form_is_another_call():
    delta = {**twice("pay", "{}", id="a"), "function_call": {"name": "tell", "arguments": "{}"}}
    frames = [message(delta), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(call.id, call.name) for call in response.tool_calls] == [("a", "pay"), (None, "tell")]


@pytest.mark.parametrize("before", [[], [message(twice("pay", "{}", id="a", type="function"))]])
def test_a_message_that_has_a_call_in_both_forms_has_one_call(before):
    whole = {"role": "assistant", "content": None, **twice("pay", "{}", id="a", type="function")}
    del whole["tool_calls"][0]["index"]
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 7,
        "model": "m",
        "choices": [{"index": 0, "message": whole, "finish_reason": "tool_calls"}],
    }
    frames = [*before, sse(body)]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [("a", "pay", {})]
    if not before:
        assert response.to_native() == body


def restated(*calls):
    whole = {"role": "assistant", "content": None, "tool_calls": list(calls)}
    return message({}, message=whole, finish_reason="tool_calls")


def whole_call(id, name, arguments):
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


FIRST = chunk({**piece("pay", '{"sum":10}', id="a"), "index": 0})
SECOND = chunk({**piece("tell", "{}", id="b"), "index": 1})


def test_calls_that_a_message_restates_under_new_ids_are_no_more_calls():
    frames = [FIRST, SECOND, restated(whole_call("x", "pay", '{"sum":10}'), whole_call("y", "tell", "{}"))]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(call.id, call.name, call.arguments) for call in response.tool_calls] == [
        ("a", "pay", {"sum": 10}),
        ("b", "tell", {}),
    ]


@pytest.mark.parametrize(
    ("calls", "ids"),
    [
        ([whole_call("b", "tell", "{}")], ["a", "b"]),
        ([whole_call("b", "tell", "{}"), whole_call("a", "pay", '{"sum":10}')], ["a", "b"]),
        ([whole_call("x", "ask", "{}")], ["a", "b", "x"]),
        ([whole_call("a", "pay", '{"sum":10}'), whole_call("x", "tell", "{}")], ["a", "b"]),
    ],
)
def test_a_call_that_only_the_message_has_is_a_call(calls, ids):
    frames = [FIRST, SECOND, restated(*calls)]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [call.id for call in response.tool_calls] == ids


def detail(data, id, **delta):
    fields = {"type": "reasoning.encrypted", "data": data, "id": id, "format": "google-gemini-v1", "index": 0}
    return message({"reasoning_details": [fields], **delta})


def test_details_with_ids_of_their_own_are_not_one_although_they_have_one_index():
    """OpenRouter numbers every detail 0 in a stream; each is to be sent back with the call that its id names."""
    frames = [FIRST, detail("E1", "a"), SECOND, detail("E2", "b"), detail("E2", "b"), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(part.encrypted, part.extra["id"]) for part in response.parts if part.kind == "reasoning"] == [
        ("E1", "a"),
        ("E2", "b"),
    ]
    details = response.to_native()["choices"][0]["message"]["reasoning_details"]
    assert [(made["data"], made["id"]) for made in details] == [("E1", "a"), ("E2", "b")]


def thought(**fields):
    return message(
        {"reasoning_details": [{"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0, **fields}]}
    )


@pytest.mark.parametrize(
    "frames",
    [
        [thought(text="A"), thought(text="B"), thought(signature="S1"), thought(text="C"), thought(signature="S2")],
        [thought(text="AB", signature="S1"), thought(text="C"), thought(signature="S2", text="")],
        [thought(text="AB"), thought(signature="S1"), thought(signature="S1"), thought(text="C", signature="S2")],
    ],
)
def test_what_is_thought_after_a_signature_is_a_detail_of_its_own(frames):
    """Each signature is for the text before it, and is refused with any other."""
    frames = [*frames, FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(part.text, part.signature) for part in response.parts] == [("AB", "S1"), ("C", "S2")]
    details = response.to_native()["choices"][0]["message"]["reasoning_details"]
    assert [(made["text"], made["signature"]) for made in details] == [("AB", "S1"), ("C", "S2")]


def bare(*texts, **fields):
    return chunk(*({"function": {"arguments": text}, **fields} for text in texts))


OPENED = [chunk({**whole_call("a", "ls", ""), "index": None}, whole_call("b", "cat", ""))]


@pytest.mark.parametrize(
    "frames",
    [
        [bare('{"p":1}', '{"q":2}')],
        [bare('{"p"', '{"q"'), bare(":1}", ":2}")],
        [bare('{"p":1}', ""), bare("", '{"q":2}')],
        [bare('{"p":1}', '{"q":2}', id="", index=None)],
        [bare('{"p":1}', '{"q"'), bare(":2}")],
    ],
)
def test_bare_pieces_in_one_list_are_for_the_calls_in_their_places(frames):
    """Servers that leave the index out, with several calls at a time."""
    frames = [*OPENED, *frames, FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert_templates_change_nothing(frames, "openai-chat")
    assert [(call.id, call.name, call.raw_arguments) for call in response.tool_calls] == [
        ("a", "ls", '{"p":1}'),
        ("b", "cat", '{"q":2}'),
    ]


def test_pieces_in_one_list_are_for_the_one_call_there_is():
    frames = [chunk(whole_call("a", "ls", "")), bare('{"p"', ":1}"), FINISH]
    (call,) = assert_laws(b"".join(frames), frames, "openai-chat").tool_calls
    assert call.raw_arguments == '{"p":1}'


@pytest.mark.parametrize(
    "begun",
    [
        [chunk(whole_call("a", "ls", '{"p":1}'), whole_call("b", "cat", ""))],
        [
            chunk(whole_call("a", "ls", "")),
            chunk({"function": {"arguments": '{"p":1}'}}, whole_call("b", "cat", "")),
        ],
    ],
)
def test_pieces_in_one_list_are_for_the_last_call_where_the_one_before_is_done(begun):
    frames = [*begun, bare('{"q"', ":2}"), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(call.id, call.raw_arguments) for call in response.tool_calls] == [("a", '{"p":1}'), ("b", '{"q":2}')]


@pytest.mark.parametrize("index", [None, 0])
def test_a_piece_alone_is_for_the_call_that_was_opened_alone_behind_a_list(index):
    """Also where one call of that list had no arguments yet."""
    first = whole_call("a", "ls", '{"p":1}'), whole_call("b", "cat", "")
    calls = [*first, whole_call("c", "pwd", ""), {"function": {"arguments": '{"r":3}'}}]
    if index is not None:
        calls = [{"index": index, **call} for call in calls]
    frames = [chunk(*calls[:2]), chunk(calls[2]), chunk(calls[3]), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [call.raw_arguments for call in response.tool_calls] == ['{"p":1}', "", '{"r":3}']


def test_nothing_in_a_list_of_bare_pieces_keeps_its_place():
    frames = [*OPENED, chunk({"function": {"arguments": '{"p"'}}, None), bare(":1}", '{"q":2}'), FINISH]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [call.raw_arguments for call in response.tool_calls] == ['{"p":1}', '{"q":2}']


def mcp(**fields):
    return {"index": 0, "id": "call_1", "type": "mcp", "mcp": {"type": "mcp_call", "server_label": "maps", **fields}}


ANSWER = chunk(delta={"content": "So."}, finish_reason="stop")
RUN_WHOLE = [chunk(mcp(name="find", arguments='{"q":1}', output="x")), ANSWER]
RUN_IN_PIECES = [
    chunk(mcp(name="find", arguments='{"q"')), chunk(mcp(arguments=":1}")), chunk(mcp(output="x")), ANSWER,
]  # fmt: skip
RESTATED = sse(
    {"object": "chat.completion", "choices": [
        {"index": 0, "message": {"role": "assistant", "tool_calls": [mcp(name="find", arguments='{"q":1}', output="x")]}},
    ]}
)  # fmt: skip


@pytest.mark.parametrize("frames", [RUN_WHOLE, RUN_IN_PIECES, [*RUN_WHOLE[:1], RESTATED, ANSWER], [ANSWER, RESTATED]])
def test_what_zhipu_runs_itself_is_no_call_for_the_client(frames):
    response = assert_laws(b"".join(frames), frames)
    assert (response.tool_calls, response.finish_reason, response.text) == ((), "stop", "So.")
    (made,) = [part for part in response.parts if part.kind != "text"]
    assert (made.kind, made.id, made.name, made.arguments) == ("server_tool_call", "call_1", "find", {"q": 1})
    assert made.extra["mcp"]["output"] == "x"
    assert response.to_native()["choices"][0]["message"]["tool_calls"] == [
        {"id": "call_1", "type": "mcp", "mcp": mcp(name="find", arguments='{"q":1}', output="x")["mcp"]}
    ]
    assert "tool_calls" not in response.message.to_request("openai-chat")


def test_calls_without_ids_that_are_told_again_are_found_among_those_of_their_kind():
    own = {"type": "mcp", "mcp": {"name": "find", "arguments": '{"q":1}'}}
    calls = own, {"type": "function", "function": {"name": "ls", "arguments": "{}"}}
    message = {"role": "assistant", "tool_calls": list(calls)}
    again = sse({"object": "chat.completion", "choices": [{"index": 0, "message": message}]})
    frames = [*map(chunk, calls), again, FINISH]
    response = assert_laws(b"".join(frames), frames)
    assert [(call.kind, call.name, call.raw_arguments) for call in response.parts] == [
        ("server_tool_call", "find", '{"q":1}'),
        ("tool_call", "ls", "{}"),
    ]
    assert not response.diagnostics


def test_a_custom_call_may_come_with_the_whole_message_alone():
    call = {"id": "c", "type": "custom", "custom": {"name": "run", "input": "ls -l"}}
    message = {"role": "assistant", "content": "a", "tool_calls": [call]}
    again = sse({"object": "chat.completion", "choices": [{"index": 0, "message": message}]})
    frames = [chunk(delta={"content": "a"}), again, FINISH]
    response = assert_laws(b"".join(frames), frames)
    (made,) = response.tool_calls
    assert (made.type, made.name, made.raw_arguments, made.status) == ("custom", "run", "ls -l", "complete")
    assert response.to_native()["choices"][0]["message"]["tool_calls"] == [call]


FOUND = {"index": 0, "id": "s", "type": "web_search", "function": {"name": "web_search", "arguments": '{"q":1}'}}
FOUND = {**FOUND, "function": {**FOUND["function"], "results": [{"index": 0, "url": "u", "title": "t"}]}}
SAID = [chunk(delta={"content": "It is."}), chunk(finish_reason="stop")]


@pytest.mark.parametrize(
    "frames",
    [
        [chunk(FOUND), *SAID],
        [chunk({**FOUND, "function": {"name": "web_search", "arguments": '{"q"'}}),
         chunk({"index": 0, "type": "web_search", "function": {"arguments": ":1}", "results": FOUND["function"]["results"]}}), *SAID],
        [*SAID, chunk(delta={}, message={"role": "assistant", "content": "It is.", "tool_calls": [FOUND]})],
    ],
)  # fmt: skip
def test_a_search_that_was_told_like_a_function_has_been_run_by_the_server(frames):
    """StepFun lists its own search among the calls, with what it found, and answers in the same message."""
    response = assert_laws(b"".join(frames), frames)
    assert_templates_change_nothing(frames)
    assert (response.text, response.finish_reason, response.tool_calls) == ("It is.", "stop", ())
    (made,) = [part for part in response.parts if part.kind == "server_tool_call"]
    assert (made.id, made.name, made.type, made.raw_arguments) == ("s", "web_search", "web_search", '{"q":1}')
    assert made.extra["function"]["results"] == FOUND["function"]["results"]
    native = {key: value for key, value in FOUND.items() if key != "index"}
    assert response.to_native()["choices"][0]["message"]["tool_calls"] == [native]
    assert response.message.to_request("openai-chat") == {"role": "assistant", "content": "It is."}


@pytest.mark.parametrize("arguments", [{"city": "Omsk"}, {}, '{"city":"Omsk"}', ""])
def test_the_one_call_of_before_has_its_arguments_in_the_form_in_which_they_came(arguments):
    """GigaChat has an object there, and says that each chunk is a whole completion."""
    message = {"role": "assistant", "content": "", "function_call": {"name": "look", "arguments": arguments}}
    choice = {"index": 0, "finish_reason": "function_call"}
    body = {"object": "chat.completion", "model": "GigaChat", "choices": [{**choice, "message": message}]}
    assert Response.from_native(body).to_native() == body
    frames = [sse({**body, "choices": [{**choice, "delta": message}]})]
    response = assert_laws(b"".join(frames), frames)
    assert response.to_native() == body
    assert response.tool_calls[0].arguments == ({"city": "Omsk"} if "Omsk" in str(arguments) else {})
    # GigaChat answers 400 where a request has text there.
    sent = response.message.to_request("openai-chat")["function_call"]
    assert sent == {"name": "look", "arguments": arguments or ("{}" if arguments == "" else {})}


def test_half_of_an_object_goes_back_as_an_object():
    half = ToolCall(
        name="look", type="function_call", raw_arguments='{"city', status="truncated", extra={"$form": "object"}
    )
    sent = Message(parts=(half,), dialect="openai-chat").to_request("openai-chat")["function_call"]
    assert sent == {"name": "look", "arguments": {"raw_arguments": '{"city'}}


def test_a_list_may_be_written_as_an_object_of_its_indexes():
    """As PHP writes an array with gaps."""
    calls = {"1": whole_call("a", "ls", "{}"), "3": whole_call("b", "pwd", "{}")}
    choice = {"index": 0, "delta": {"tool_calls": calls}, "finish_reason": "tool_calls"}
    frames = [sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": {"2": choice}})]
    response = assert_laws(b"".join(frames), frames, "openai-chat")
    assert [(call.id, call.name) for call in response.tool_calls] == [("a", "ls"), ("b", "pwd")]
    assert response.finish_reason == "tool_calls"
