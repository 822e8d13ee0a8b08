"""Odd words and odd places in the calls of `openai-chat`."""

from __future__ import annotations

import pytest

from tests.laws import assert_laws
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
