"""
Calls of `openai-responses` that begin as those of a function and turn out to be run by the server, as Llama Stack and OGX
tell them: a client must not be asked to run them. And items that events speak of before they begin.
"""

from __future__ import annotations

import pytest

from chunkfold import Folder
from tests.dialects.test_response_calls import added, completed, done, event, texts
from tests.laws import assert_laws

TOOLS = {"type": "mcp_list_tools", "id": "mcp_list_1", "server_label": "s", "tools": [{"name": "get_time"}]}
MCP = {"type": "mcp_call", "id": "fc_1", "name": "get_time", "server_label": "s", "arguments": '{"a":1}', "output": "9"}
SEARCH = {"type": "web_search_call", "id": "fc_1", "status": "completed"}
FILES = {"type": "file_search_call", "id": "fc_2", "status": "completed", "queries": ["q"], "results": []}
ANSWER = {**texts("Fine"), "id": "msg_2"}


def fold(*frames):
    return assert_laws(b"".join(frames), [*frames], "openai-responses")


def function(id_, name):
    call = {"type": "function_call", "id": id_, "call_id": f"call_{id_}", "name": name, "arguments": ""}
    return added({**call, "status": "in_progress"}, output_index=0)


def arguments(text, id_="fc_1", said="function"):
    place = {"item_id": id_, "output_index": 0}
    return [
        event("function_call_arguments.delta", delta=text[:5], **place),
        event("function_call_arguments.delta", delta=text[5:], **place),
        event(f"{said}_call_arguments.done", arguments=text, **place),
    ]


def told(response):
    return [(call.kind, call.id, call.name, call.raw_arguments) for call in response.parts if call.kind != "text"]


@pytest.mark.parametrize("begins", [[function("fc_1", "get_time")], []], ids=["begun", "not begun"])
@pytest.mark.parametrize("said", ["function", "mcp"])
@pytest.mark.parametrize("item", [[added({**MCP, "arguments": "", "output": None}, output_index=0)], []])
@pytest.mark.parametrize("ends", [True, False])
def test_a_function_that_turns_out_to_be_on_an_mcp_server_is_not_for_the_client(begins, said, item, ends):
    over = [done(MCP, output_index=0)] if ends else []
    response = fold(*begins, *arguments('{"a":1}', said=said), *item, *over, completed(MCP, ANSWER))
    assert told(response) == [("server_tool_call", "fc_1", "get_time", '{"a":1}')]
    assert response.finish_reason == "stop"
    assert response.tool_calls == ()
    output = response.to_native()["output"]
    assert [(made["type"], made.get("output")) for made in output] == [("mcp_call", "9"), ("message", None)]
    assert "call_id" not in output[0]


@pytest.mark.parametrize("begins", [[function("fc_1", "web_search")], []], ids=["begun", "not begun"])
def test_a_function_that_turns_out_to_be_a_search_keeps_what_was_asked(begins):
    response = fold(
        *begins,
        *arguments('{"query":"x"}'),
        added({**SEARCH, "status": "in_progress"}, output_index=0),
        event("web_search_call.searching", item_id="fc_1", output_index=0),
        done(SEARCH, output_index=0),
        completed(SEARCH, ANSWER),
    )
    assert told(response) == [("server_tool_call", "fc_1", "web_search", '{"query":"x"}')]
    assert response.finish_reason == "stop"
    assert response.to_native()["output"][0] == SEARCH  # which has no field for it
    assert response.message.to_request("openai-responses")[0] == SEARCH


def test_arguments_of_which_not_all_is_kept_stay_those_of_a_function():
    begun = function("fc_1", "get_time")
    pieces = [event("function_call_arguments.delta", delta="1", item_id="fc_1", output_index=0)] * 2100
    response = Folder("openai-responses").feed(b"".join([begun, *pieces, added(MCP, output_index=0)]))
    written = [said.text for said in response if said.type == "tool_arguments_delta" and said.index == 0]
    assert "".join(written) == "1" * 2100
    assert [said.kind for said in response if said.type == "part_start"] == ["tool_call", "server_tool_call"]


def test_arguments_of_two_calls_that_have_not_begun_are_kept_apart():
    response = fold(
        *arguments('{"query":"x"}')[:2],
        *arguments('{"query":"q"}', "fc_2")[:2],
        arguments('{"query":"x"}')[2],
        arguments('{"query":"q"}', "fc_2")[2],
        added({**SEARCH, "status": "in_progress"}, output_index=0),
        done(SEARCH, output_index=0),
        added({**FILES, "queries": ['{"query":"q"}'], "results": None}, output_index=1),
        done(FILES, output_index=1),
        completed(SEARCH, FILES, ANSWER),
    )
    assert told(response) == [
        ("server_tool_call", "fc_1", "web_search", '{"query":"x"}'),
        ("server_tool_call", "fc_2", "file_search", '{"queries":["q"]}'),
    ]
    assert response.to_native()["output"][:2] == [SEARCH, FILES]


def test_a_function_of_the_client_beside_a_search_stays_one():
    call = {"type": "function_call", "id": "fc_3", "call_id": "call_3", "name": "f", "arguments": '{"b":2}'}
    response = fold(
        *arguments('{"query":"x"}'),
        added({**call, "arguments": ""}, output_index=0),
        *arguments('{"b":2}', "fc_3"),
        added({**SEARCH, "status": "in_progress"}, output_index=0),
        done(SEARCH, output_index=0),
        done(call, output_index=1),
        completed(SEARCH, call),
    )
    assert [(made.name, made.raw_arguments) for made in response.tool_calls] == [("f", '{"b":2}')]
    assert response.finish_reason == "tool_calls"


def test_what_takes_the_events_is_told_that_the_call_is_the_servers():
    folder = Folder()
    events = folder.feed(b"".join([*arguments('{"a":1}'), added(MCP, output_index=0), completed(MCP)]))
    (replaced,) = [event for event in events if event.type == "part_replace"]
    assert replaced.part.server_side
    assert (replaced.part.name, replaced.part.raw_arguments) == ("get_time", '{"a":1}')
    stops = [place for place, event in enumerate(events) if event.type == "part_stop"]
    assert stops > [events.index(replaced)]  # no client has run it by then


def test_a_call_that_waits_for_leave_is_asked_for_once():
    """OGX tells the arguments as those of an MCP call, and asks under another id."""
    asked = {
        "type": "mcp_approval_request",
        "id": "approval_1",
        "name": "f",
        "server_label": "s",
        "arguments": '{"a":1}',
    }
    response = fold(
        *arguments('{"a":1}', said="mcp"), added(asked, output_index=0), done(asked, output_index=0), completed(asked)
    )
    assert [call.id for call in response.tool_calls] == ["approval_1"]
    assert response.message.to_request("openai-responses") == [asked]


def test_tools_that_are_listed_before_the_list_has_a_name_are_listed_once():
    response = fold(
        event("mcp_list_tools.in_progress"),
        added(TOOLS, output_index=0),
        event("mcp_list_tools.completed"),
        done(TOOLS, output_index=0),
        completed(TOOLS),
    )
    assert [(part.id, part.extra["tools"]) for part in response.parts] == [("mcp_list_1", TOOLS["tools"])]
    assert response.to_native()["output"] == [{**TOOLS, "status": "completed"}]


def test_a_thought_told_under_the_id_of_the_message_is_that_of_the_item_behind_it():
    """As OGX does, whose item begins with all that was told."""
    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "Hmm"}]}
    place = {"item_id": "msg_2", "output_index": 0, "content_index": 1}
    summed = {**thought, "summary": [{"type": "summary_text", "text": "Sum"}]}
    response = fold(
        event("content_part.added", part={"type": "reasoning_text", "text": ""}, **place),
        event("reasoning_text.delta", delta="H", **place),
        event("reasoning_text.delta", delta="mm", **place),
        added({**ANSWER, "content": []}, output_index=0),
        event("output_text.delta", delta="Fine", item_id="msg_2", output_index=0, content_index=0),
        event("reasoning_text.done", text="Hmm", **place),
        done(ANSWER, output_index=0),
        added(thought, output_index=0),
        done(summed, output_index=0),
        completed(summed, ANSWER),
    )
    assert [(part.kind, part.text) for part in response.parts] == [
        ("reasoning", "Hmm"),
        ("text", "Fine"),
        ("reasoning", "Sum"),
    ]
    assert response.to_native()["output"][0] == summed
