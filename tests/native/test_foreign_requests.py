"""A message goes to another provider with what that one can take, and with nothing that it refuses."""

from __future__ import annotations

import copy
import pickle

import pytest

import chunkfold
from chunkfold import (
    Choice,
    ImagePart,
    Message,
    ReasoningPart,
    RefusalPart,
    Response,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownDialect,
    UnknownPart,
    dialects,
)

# The same answer of several providers, each with fields and blocks that the others do not have.
SAID = {
    "openai-responses": {
        "id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "ZW5j"},
            {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
            {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "phase": "commentary", "content": [
                {"type": "output_text", "text": "Low.", "logprobs": [], "annotations": [{"type": "url_citation", "url": "u"}]},
            ]},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "arguments": '{"a":1}', "status": "completed"},
        ],
    },
    "anthropic-messages": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "stop_reason": "tool_use", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "ZW5j"},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
            {"type": "text", "text": "Low.", "citations": [{"type": "char_location", "cited_text": "x", "file_id": None}]},
            {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}, "caller": {"type": "direct"}},
        ],
    },
    "bedrock-converse": {
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
            {"citationsContent": {"content": [{"text": "Low."}], "citations": [{"title": "T"}]}},
            {"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}},
        ]}},
        "stopReason": "tool_use", "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
    },
    "gemini": {
        "candidates": [{"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [
            {"text": "Hm.", "thought": True},
            {"executableCode": {"language": "PYTHON", "code": "1"}},
            {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
            {"text": "Low.", "thoughtSignature": "c2ln", "partMetadata": {"k": 1}},
            {"functionCall": {"name": "f", "args": {"a": 1}, "id": "c1"}, "thoughtSignature": "c2ln"},
        ]}}],
        "modelVersion": "m",
    },
    "mistral-conversations": {
        "object": "conversation.response", "conversation_id": "c", "outputs": [
            {"object": "entry", "type": "message.output", "id": "m1", "role": "assistant", "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": "Low."},
            ]},
            {"object": "entry", "type": "function.call", "id": "f1", "tool_call_id": "c1", "name": "f", "arguments": '{"a":1}'},
        ],
    },
    "cohere-v2": {
        "id": "a", "finish_reason": "TOOL_CALL", "message": {
            "role": "assistant", "tool_plan": "Hm.", "content": [{"type": "text", "text": "Low."}],
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
        },
    },
    "vercel-ui": {"id": "m1", "role": "assistant", "parts": [
        {"type": "step-start"}, {"type": "reasoning", "text": "Hm.", "state": "done"},
        {"type": "text", "text": "Low.", "state": "done"},
        {"type": "tool-f", "toolCallId": "c1", "state": "input-available", "input": {"a": 1}},
    ]},
    "ag-ui": {"threadId": "t", "runId": "r", "messages": [
        {"id": "g1", "role": "reasoning", "content": "Hm."},
        {"id": "m1", "role": "assistant", "content": "Low.", "toolCalls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
        ]},
    ], "outcome": None},
}  # fmt: skip

# What each wants of an answer of another's.
WANTED = {
    "openai-chat": {
        "role": "assistant", "content": "Low.", "reasoning_content": "Hm.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
    },
    "openai-responses": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Low.", "annotations": []}]},
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": '{"a":1}'},
    ],
    "anthropic-messages": {"role": "assistant", "content": [
        {"type": "text", "text": "Low."}, {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}},
    ]},
    "bedrock-converse": {"role": "assistant", "content": [
        {"text": "Low."}, {"toolUse": {"toolUseId": "c1", "name": "f", "input": {"a": 1}}},
    ]},
    "gemini": {"role": "model", "parts": [
        {"text": "Hm.", "thought": True}, {"text": "Low."}, {"functionCall": {"id": "c1", "name": "f", "args": {"a": 1}}},
    ]},
    "mistral-conversations": [
        {"object": "entry", "type": "message.output", "role": "assistant", "content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        ]},
        {"object": "entry", "type": "message.output", "role": "assistant", "content": "Low."},
        {"object": "entry", "type": "function.call", "name": "f", "tool_call_id": "c1", "arguments": '{"a":1}'},
    ],
    "cohere-v2": {
        "role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Low."}],
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
    },
    "ollama": {
        "role": "assistant", "content": "Low.", "thinking": "Hm.",
        "tool_calls": [{"id": "c1", "function": {"name": "f", "arguments": {"a": 1}}}],
    },
}  # fmt: skip
MADE = {dialect: Response.from_native(body, dialect).message for dialect, body in SAID.items()}
# Services of one model, which take each other's signatures.
SIGNED = {("anthropic-messages", "bedrock-converse"), ("bedrock-converse", "anthropic-messages")}
OTHERS = [(made, wanted) for made in SAID for wanted in WANTED if made != wanted and (made, wanted) not in SIGNED]


@pytest.mark.parametrize(("made", "wanted"), OTHERS, ids="-to-".join)
def test_another_provider_gets_text_thoughts_and_calls_alone(made, wanted):
    assert MADE[made].to_request(wanted) == WANTED[wanted]


@pytest.mark.parametrize("made", SAID)
def test_the_provider_itself_gets_all_of_it(made):
    assert MADE[made].dialect == made
    assert MADE[made].to_request(made) == Message(MADE[made].role, MADE[made].parts).to_request(made)


def test_services_of_the_same_model_get_its_signatures():
    thinking, *_ = MADE["bedrock-converse"].to_request("anthropic-messages")["content"]
    assert thinking == {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    thought, text, _ = MADE["anthropic-messages"].to_request("bedrock-converse")["content"]
    assert thought == {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}}
    assert text == {"text": "Low."}
    steps = MADE["gemini"].to_request("gemini-interactions")
    assert steps[-1] == {"type": "function_call", "id": "c1", "name": "f", "arguments": {"a": 1}, "signature": "c2ln"}


def test_dialects_of_the_same_words_are_the_same():
    """Claude speaks the words of Anthropic on Bedrock, and watsonx.ai's chat those of OpenAI."""
    message = MADE["anthropic-messages"]
    assert message.to_request("bedrock-invoke") == message.to_request("anthropic")
    signed = Message(parts=(TextPart("x", extra={"extra_content": {"k": 1}}, signature="c2ln"),), dialect="watsonx")
    assert signed.to_request("openai-chat")["extra_content"] == {"k": 1}


def test_a_refusal_is_text_where_there_is_no_place_for_it():
    message = Message(parts=(RefusalPart("No."),), dialect="openai-chat")
    assert message.to_request("anthropic")["content"] == [{"type": "text", "text": "No."}]
    assert message.to_request("ollama")["content"] == "No."
    (item,) = message.to_request("openai-responses")
    assert item["content"] == [{"type": "refusal", "refusal": "No."}]


@pytest.mark.parametrize("dialect", sorted(dialects.names()))
def test_a_refusal_in_a_message_of_no_dialect_is_told_to_each(dialect):
    assert "No." in repr(Message(parts=(RefusalPart("No."),)).to_request(dialect))


def test_free_text_for_a_tool_stands_in_an_object_where_there_is_no_such_call():
    call = ToolCall(id="c", name="py", raw_arguments="1 + 1", type="custom", status="complete")
    message = Message(parts=(call,), dialect="openai-responses")
    (made,) = message.to_request("openai-chat")["tool_calls"]
    assert made == {"id": "c", "type": "custom", "custom": {"name": "py", "input": "1 + 1"}}
    (made,) = message.to_request("anthropic")["content"]
    assert made == {"type": "tool_use", "id": "c", "name": "py", "input": {"raw_arguments": "1 + 1"}}
    (made,) = message.to_request("cohere-v2")["tool_calls"]
    assert made["function"] == {"name": "py", "arguments": '{"raw_arguments":"1 + 1"}'}


def test_pictures_go_where_a_message_of_the_model_may_have_them():
    picture = ImagePart("image/png", b"x", extra={"size": "1x1"})
    message = Message(parts=(picture, TextPart("So")), dialect="openai-responses")
    assert message.to_request("gemini")["parts"][0] == {"inlineData": {"mimeType": "image/png", "data": "eA=="}}
    assert message.to_request("ollama")["images"] == ["eA=="]
    assert message.to_request("anthropic")["content"] == [{"type": "text", "text": "So"}]


def test_a_user_interface_gets_what_the_server_ran():
    call = ToolCall(id="s", name="look", raw_arguments='{"q":1}', status="complete", server_side=True, type="look_call")
    result = ToolResult("s", "look", [1], extra={"type": "look_result"})
    message = Message(parts=(call, result, UnknownPart("x", {"type": "x"})), dialect="anthropic-messages")
    (part,) = message.to_request("vercel-ui")["parts"]
    assert part == {
        "type": "tool-look", "toolCallId": "s", "input": {"q": 1}, "state": "output-available", "output": [1],
        "providerExecuted": True,
    }  # fmt: skip
    assert message.to_request("gemini")["parts"] == []


def test_every_choice_knows_its_dialect_and_its_value_does_not():
    body = {
        "choices": [
            {"index": at, "message": {"content": text}, "finish_reason": "stop"} for at, text in enumerate("ab")
        ]
    }
    response = Response.from_native(body, "openai-chat")
    for kept in (
        response,
        pickle.loads(pickle.dumps(response)),
        copy.deepcopy(response),
        Response.from_json(response.to_json()),
    ):
        assert [choice.message.dialect for choice in kept.choices] == ["openai-chat"] * 2
        assert kept.message == kept.choices[0].message
        assert kept == response
    assert Choice.from_json(response.choices[1].to_json()) == response.choices[1]
    assert Message.from_json(response.message.to_json()) == response.message


def test_a_message_of_no_known_dialect_is_taken_for_the_own():
    message = Message(parts=(ReasoningPart("Hm.", signature="c2ln"), TextPart("So")))
    assert message.to_request("anthropic")["content"][0] == {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    with pytest.raises(UnknownDialect):
        Message(dialect="none").to_request("openai-chat")


def test_a_snapshot_and_a_message_with_other_parts_know_it_too():
    folder = chunkfold.Folder("anthropic")
    folder.feed({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}})
    folder.feed({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "So"}})
    message = folder.snapshot().message
    assert message.dialect == message.without_reasoning().dialect == "anthropic-messages"
