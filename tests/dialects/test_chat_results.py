"""What tools gave back, in the chat of agents whose server runs them: it is in the role of a tool, and no answer."""

from __future__ import annotations

import json

import chunkfold
from tests.laws import assert_laws, assert_templates_change_nothing
from tests.streams import sse


def chunk(reason=None, **delta):
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return sse({"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]})


def call(id):
    return chunk(tool_calls=[{"index": 0, "id": id, "type": "function", "function": {"name": "ls", "arguments": "{}"}}])


def result(content, **fields):
    return chunk(role="tool", content=content, **fields)


def folded(*frames):
    frames = [*frames, chunk(role="assistant", content="It "), chunk(content="is."), chunk("stop")]
    response = assert_laws(b"".join(frames), frames)
    assert_templates_change_nothing(frames)
    assert response.text == "It is."
    results = [part for part in response.parts if part.kind == "server_tool_result"]
    return response, [(part.call_id, part.name, part.content) for part in results]


def test_a_result_is_a_part_behind_its_call():
    response, results = folded(call("a"), chunk("tool_calls"), result("a.txt", tool_call_id="a"))
    assert [part.kind for part in response.parts] == ["tool_call", "server_tool_result", "text"]
    assert results == [("a", "ls", "a.txt")]
    told = {"role": "tool", "tool_call_id": "a", "name": "ls", "content": "a.txt"}
    message = response.to_native()["choices"][0]["message"]
    assert (message["role"], message["content"], message["tool_results"]) == ("assistant", "It is.", [told])
    assert "tool_results" not in response.message.to_request("openai-chat")


def test_a_result_may_come_in_pieces():
    _, results = folded(call("a"), result("a.", tool_call_id="a"), result("txt", tool_call_id="a"))
    assert results == [("a", "ls", "a.txt")]


def test_the_pieces_of_a_result_are_not_told_again_with_each_other():
    pieces = [result(f"{number:08}", tool_call_id="a") for number in range(400)]
    events = chunkfold.Decoder().feed(b"".join([call("a"), *pieces, chunk(role="assistant", content="It is.")]))
    told = [len(event.extra["content"]) for event in events if "content" in (getattr(event, "extra", None) or {})]
    assert told == [8, 3200]
    cut = chunkfold.fold([call("a"), *pieces])
    assert cut.parts[1].content == "".join(f"{number:08}" for number in range(400))


def test_results_without_an_id_are_as_many():
    _, results = folded(result("Looking"), result("Found", name="find"), result(None))
    assert results == [(None, None, "Looking"), (None, "find", "Found")]


def test_what_stands_beside_a_result_is_kept():
    response, results = folded(result([{"type": "text", "text": "x"}], tool_call_id="b", took=3))
    assert results == [("b", None, [{"type": "text", "text": "x"}])]
    assert response.to_native()["choices"][0]["message"]["took"] == 3


def test_a_body_has_all_messages_where_the_server_ran_tools():
    """Mistral's chat with connectors: `messages` instead of a message, the last one is the answer."""
    use = {"id": "a", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
    messages = [
        {"role": "assistant", "content": "", "tool_calls": [use]},
        {"role": "tool", "tool_call_id": "a", "content": "a.txt"},
        {"role": "assistant", "content": "It is."},
    ]
    choice = {"index": 0, "finish_reason": "stop", "messages": messages}
    body = {"id": "c", "object": "chat.completion", "created": 7, "model": "m", "choices": [choice]}
    data = json.dumps(body).encode()
    response = assert_laws(data, [data[at : at + 9] for at in range(0, len(data), 9)])
    assert response.text == "It is."
    assert [part.kind for part in response.parts] == ["server_tool_call", "server_tool_result", "text"]
    assert response.parts[1].content == "a.txt"
    assert (response.finish_reason, response.tool_calls) == ("stop", ())
    assert response.to_native() == body
    assert "tool_calls" not in response.message.to_request("openai-chat")


def test_of_all_messages_the_calls_without_a_result_are_for_the_client():
    """Connectors and functions may be asked in one: what has been run is not to be run again."""
    uses = [{"id": id_, "type": "function", "function": {"name": "ls", "arguments": "{}"}} for id_ in ("a", "b")]
    messages = [
        {"role": "assistant", "content": "", "tool_calls": uses},
        {"role": "tool", "tool_call_id": "a", "content": "a.txt"},
        {"role": "tool", "tool_call_id": ["b"], "content": "odd"},
    ]
    choice = {"index": 0, "finish_reason": "tool_calls", "messages": messages}
    data = json.dumps(
        {"id": "c", "object": "chat.completion", "created": 7, "model": "m", "choices": [choice]}
    ).encode()
    response = assert_laws(data, [data[at : at + 9] for at in range(0, len(data), 9)])
    assert [(call.id, call.server_side) for call in response.parts if isinstance(call, chunkfold.ToolCall)] == [
        ("a", True),
        ("b", False),
    ]
    assert [call.id for call in response.tool_calls] == ["b"]


def test_messages_beside_an_answer_are_none_of_it():
    """Servers that keep the conversation may tell it all at the end, or what was asked beside what is answered."""
    talk = [{"role": "user", "content": "What?"}, {"role": "assistant", "content": "It is."}]
    told = {"index": 0, "finish_reason": "stop", "messages": talk}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [told]}
    alone = assert_laws(sse(body), [sse(body)])
    assert (alone.text, alone.message.role, alone.to_native()["choices"]) == ("It is.", "assistant", [told])
    told_twice = assert_laws(chunk(content="It is.") + sse(body), [chunk(content="It is."), sse(body)])
    assert told_twice.text == "It is."
    message = {"role": "assistant", "content": "It is."}
    assert told_twice.to_native()["choices"] == [{**told, "message": message}]
    twice = assert_laws(sse(body) + sse(body), [sse(body), sse(body)])
    assert twice.text == "It is."


def test_a_result_that_is_no_text_replaces_what_came_before():
    pictures = [{"type": "image_url", "image_url": {"url": "https://i.example/1.png"}}]
    _, results = folded(call("a"), result("a.", tool_call_id="a"), result(pictures, tool_call_id="a"))
    assert results == [("a", "ls", pictures)]
    _, results = folded(call("a"), result(pictures, tool_call_id="a"), result("gone", tool_call_id="a"))
    assert results == [("a", "ls", "gone")]
