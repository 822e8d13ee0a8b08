"""ERNIE's API of before it became OpenAI's: the text stands at the top of each object, and `is_end` marks the last one."""

from __future__ import annotations

import json

import pytest

import chunkfold
from chunkfold import Response
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse

TOP = {"id": "as-1", "object": "chat.completion", "created": 7}
USED = {"prompt_tokens": 2, "completion_tokens": 5, "total_tokens": 7}


def chunk(number, result, *, is_end=False, **fields):
    facts = {"is_end": is_end, "is_truncated": False, "need_clear_history": False, "finish_reason": "normal"}
    return sse({**TOP, "sentence_id": number, "result": result, **facts, "usage": USED, **fields})


def whole(result, **fields):
    facts = {"is_truncated": False, "need_clear_history": False, "finish_reason": "normal"}
    return {**TOP, "result": result, **facts, "usage": USED, **fields}


CALL = {"name": "look", "thoughts": "Hm.", "arguments": '{"city":"Xi\'an"}'}


def test_a_stream_is_read_to_its_mark():
    frames = [chunk(0, "It"), chunk(1, " is"), chunk(2, ".", is_end=True)]
    assert_templates_change_nothing(frames)
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.text, response.ended) == ("openai-chat", "It is.", "clean")
    assert (response.finish_reason, response.native_finish_reason) == ("stop", "normal")
    assert response.usage.input_tokens == 2
    assert response.to_native() == whole("It is.")


def test_a_stream_that_was_cut_has_no_reason():
    frames = [chunk(0, "It"), chunk(1, " is")]
    response = assert_laws(b"".join(frames), frames)
    assert (response.text, response.finish_reason, response.truncated) == ("It is", None, True)


def test_a_call_is_one():
    frames = [chunk(0, "", is_end=True, finish_reason="function_call", function_call=CALL)]
    response = assert_laws(b"".join(frames), frames)
    assert [(call.name, call.arguments) for call in response.tool_calls] == [("look", {"city": "Xi'an"})]
    assert response.finish_reason == "tool_calls"
    assert response.to_native() == whole("", finish_reason="function_call", function_call=CALL)


@pytest.mark.parametrize("body", [whole("It is."), whole("", finish_reason="function_call", function_call=CALL)])
def test_a_whole_body_comes_back_as_it_was(body):
    response = chunkfold.fold(json.dumps(body).encode())
    assert (response.text, len(response.tool_calls)) == (body["result"], "function_call" in body)
    assert response.to_native() == Response.from_native(body).to_native() == body


def test_a_result_of_something_else_is_no_answer():
    said = sse({**TOP, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "So."}}]})
    frames = [said, sse({"type": "tool_result", "result": "It is."})]
    assert assert_laws(b"".join(frames), frames).text == "So."
