"""The assistant message as the provider wants it back: ids, signatures and encrypted reasoning in their places."""

from __future__ import annotations

import json

import pytest

from chunkfold import (
    FilePart,
    ImagePart,
    Message,
    Policy,
    ReasoningPart,
    Response,
    StreamAccumulator,
    TextPart,
    ToolCall,
    UnknownDialect,
    dialects,
    fold,
)
from chunkfold.events import Finish, MessageStart, PartStart, ToolArgumentsDelta
from tests.helpers import DATA, body_of, case_files, load_case
from tests.native.test_odd_bodies import ANTHROPIC, CHAT, RESPONSES, call, item, message, said, text


def sent_back(body, dialect):
    return Response.from_native(body, dialect).message.to_request(dialect)


def test_chat_gets_text_and_calls_back():
    body = {**CHAT["calls"]}
    body["choices"] = [
        {
            **body["choices"][0],
            "message": {"role": "assistant", "content": "So", "tool_calls": [call(), call(id="b", index=3)]},
        }
    ]
    assert sent_back(body, "openai-chat") == {
        "role": "assistant",
        "content": "So",
        "tool_calls": [call(), call(id="b")],
    }


def test_chat_gets_null_for_no_text():
    assert sent_back(CHAT["calls"], "openai-chat")["content"] is None


def test_chat_gets_an_empty_text_where_nothing_else_was_said():
    """OpenAI takes null beside calls, a refusal or sound alone: "expected a string, got null"."""
    assert sent_back(CHAT["nothing-said"], "openai-chat") == {"role": "assistant", "content": ""}
    thought = Message(parts=(ReasoningPart("Hm."),)).to_request("openai-chat")
    assert thought == {"role": "assistant", "content": "", "reasoning_content": "Hm."}
    for name in ("calls", "refused", "the-old-function-call", "sound"):
        assert sent_back(CHAT[name], "openai-chat")["content"] is None


@pytest.mark.parametrize(
    "name", ["reasoning-details", "a-signed-call", "a-custom-call", "thinking-items", "reasoning-text"]
)
def test_chat_gets_what_it_sent_under_the_same_names(name):
    sent = CHAT[name]["choices"][0]["message"]
    assert sent_back(CHAT[name], "openai-chat") == {"content": None, **sent}


@pytest.mark.parametrize("name", ["thinking-blocks-with-signatures", "signature-of-a-text-in-a-delta-of-its-own"])
def test_chat_gets_signatures_back_where_they_stood(name):
    response = fold(body_of(load_case(DATA / "openai-chat" / f"{name}.json")))
    sent = response.to_native()["choices"][0]["message"]
    assert response.message.to_request("openai-chat") == sent
    assert {"thinking_blocks", "extra_content"} & sent.keys()


def test_chat_gets_no_annotations_and_of_sound_the_id():
    assert sent_back(CHAT["citations"], "openai-chat") == {"role": "assistant", "content": "x"}
    assert sent_back(CHAT["sound"], "openai-chat") == {"role": "assistant", "content": None, "audio": {"id": "audio_1"}}


def test_chat_gets_an_empty_object_for_arguments_that_were_null():
    (made,) = sent_back(CHAT["a-call-with-null-arguments"], "openai-chat")["tool_calls"]
    assert made["function"]["arguments"] == "{}"


@pytest.mark.parametrize("name", ["withheld", "results", "calls", "blocks-that-nobody-knows"])
def test_anthropic_gets_its_blocks_back(name):
    blocks = [block for block in ANTHROPIC[name]["content"] if block.get("data") != ""]
    got = sent_back(ANTHROPIC[name], "anthropic-messages")
    assert got["role"] == "assistant"
    assert [block for block in got["content"] if block.get("data") != ""] == blocks


def test_anthropic_gets_neither_empty_text_nor_unsigned_thinking():
    body = message(
        {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
        {"type": "thinking", "thinking": "Hm", "signature": ""},
        {"type": "text", "text": ""},
        {"type": "text", "text": "So"},
    )
    assert sent_back(body, "anthropic-messages")["content"] == [body["content"][0], body["content"][3]]


def test_anthropic_gets_arguments_that_are_no_object_in_one():
    half = Message(parts=(ToolCall(id="t", name="f", raw_arguments='{"x', status="truncated"),))
    (block,) = half.to_request("anthropic-messages")["content"]
    assert block == {"type": "tool_use", "id": "t", "name": "f", "input": {"raw_arguments": '{"x'}}


@pytest.mark.parametrize("name", ["calls", "reasoning", "results", "messages", "items-that-nobody-knows"])
def test_responses_get_their_items_back(name):
    body = {**RESPONSES[name], "output": [*RESPONSES[name]["output"], said(text("a"))]}
    sent = [{key: value for key, value in one.items() if key != "content"} for one in body["output"]]
    for one in sent[:-1] if name == "reasoning" else ():
        one.pop("status", None)
    if name == "calls":
        sent[1]["arguments"] = "{}"  # the text of an object, where the response had none
    got = sent_back(body, "openai-responses")
    assert [{key: value for key, value in one.items() if key != "content"} for one in got] == sent


def test_responses_get_texts_and_refusals_back():
    body = {
        **RESPONSES["nothing"],
        "output": [
            said(text("a"), {"type": "refusal", "refusal": "No."}, phase="commentary"),
            item("reasoning", summary=[], encrypted_content="ZW5j"),
            item("function_call", call_id="call_1", name="f", arguments="{}"),
        ],
    }
    first, second, _ = sent_back(body, "openai-responses")
    assert first["content"] == [
        {"type": "output_text", "text": "a", "annotations": []},
        {"type": "refusal", "refusal": "No."},
    ]
    assert (first["phase"], first["id"]) == ("commentary", "message_1")
    assert second["encrypted_content"] == "ZW5j"


def test_responses_get_texts_of_two_ids_as_two_messages():
    message = Message(parts=(TextPart("One", id="msg_1"), TextPart("Two", id="msg_2"), TextPart("Three", id="msg_2")))
    items = message.to_request("openai-responses")
    assert [(item["id"], [part["text"] for part in item["content"]]) for item in items] == [
        ("msg_1", ["One"]),
        ("msg_2", ["Two", "Three"]),
    ]


def test_responses_get_no_reasoning_that_nothing_follows():
    """ "Item 'rs_1' of type 'reasoning' was provided without its required following item", where tokens ran out in it."""
    thought = item("reasoning", summary=[{"type": "summary_text", "text": "Hm."}], encrypted_content="ZW5j")
    first = said(text("a"), phase="commentary")
    for output in ([thought], [first, thought], [first, thought, {**thought, "id": "reasoning_2"}]):
        body = {**RESPONSES["nothing"], "status": "incomplete", "output": output}
        assert [one["type"] for one in sent_back(body, "openai-responses")] == ["message"] * (len(output) - 1 and 1)
        assert fold(body).reasoning
    # Servers that give it no id do not ask for it.
    unnamed = {key: value for key, value in thought.items() if key != "id"}
    assert len(sent_back({**RESPONSES["nothing"], "output": [unnamed]}, "openai-responses")) == 1


def test_responses_get_nothing_that_only_responses_have():
    """ "Unknown parameter: 'input[1].status'" for reasoning, and no item of a request says who made it."""
    body = {
        **RESPONSES["nothing"],
        "output": [
            item("reasoning", summary=[], encrypted_content="ZW5j"),
            item("shell_call", call_id="call_1", action={"commands": ["ls"]}, created_by="user_1"),
            item("compaction", encrypted_content="ZW5j", created_by="user_1"),
            item(
                "shell_call_output",
                call_id="call_1",
                output=[{"stdout": "", "stderr": "", "created_by": "user_1"}, "x"],
            ),
            item("function_call", call_id="call_2", name="f", arguments="{}"),
            {"type": "function_call", "id": None, "call_id": "call_3", "name": "f", "arguments": "{}"},
        ],
    }
    sent = sent_back(body, "openai-responses")
    assert [one["type"] for one in sent] == [one["type"] for one in body["output"]]
    assert [sorted(body["output"][place].keys() - sent[place].keys()) for place in range(6)] == [
        ["status"],
        ["created_by"],
        ["created_by"],
        [],
        [],
        ["id"],
    ]
    assert sent[3]["output"] == [{"stdout": "", "stderr": ""}, "x"]


def test_responses_get_of_a_picture_no_more_than_they_take():
    """ "Unknown parameter: 'input[1].action'": what was asked for is in the item, but not in one that is sent."""
    asked = {"action": "generate", "background": "opaque", "output_format": "png", "quality": "high", "size": "1x1"}
    made = item("image_generation_call", result="QQ==", revised_prompt="A cat.", **asked)
    sent = sent_back({**RESPONSES["nothing"], "output": [made]}, "openai-responses")
    assert sent == [item("image_generation_call", result="QQ==")]


def test_responses_get_no_ids_that_are_too_long_and_no_null_for_thoughts():
    """ "Invalid 'input[2].id': string too long. Expected a string with maximum length 64"; xAI answers 422 to the null."""
    thought = {"type": "reasoning", "id": "r" * 408, "summary": [], "content": None, "encrypted_content": "ZW5j"}
    called = {"type": "function_call", "id": "f" * 65, "call_id": "call_1", "name": "f", "arguments": "{}"}
    kept = {**called, "id": "f" * 64, "call_id": "call_2"}
    sent = sent_back({**RESPONSES["nothing"], "output": [thought, called, kept]}, "openai-responses")
    assert sent == [
        {"type": "reasoning", "summary": [], "encrypted_content": "ZW5j"},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"},
        kept,
    ]


def test_responses_get_no_arguments_that_the_sdk_has_read():
    called = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}
    body = {**RESPONSES["nothing"], "output": [{**called, "parsed_arguments": {}}]}
    assert sent_back(body, "openai-responses") == [called]


def test_responses_get_no_media():
    picture = ImagePart(media_type="image/png", data=b"x")
    assert Message(parts=(picture, FilePart(url="u"))).to_request("openai-responses") == []


PLAIN = Message(
    parts=(
        ReasoningPart(text="Hm"),
        TextPart(text="So"),
        ToolCall(id="call_1", name="f", raw_arguments='{"x":1}', status="complete"),
    )
)


@pytest.mark.parametrize("dialect", sorted(dialects.names()))
def test_a_message_of_no_dialect_can_be_sent_in_each(dialect):
    made = PLAIN.to_request(dialect)
    assert "So" in repr(made)


@pytest.mark.parametrize("dialect", sorted(dialects.names()))
@pytest.mark.parametrize("arguments", ["null", "start", "repair"])
def test_what_a_policy_notes_of_a_call_goes_to_nobody(dialect, arguments):
    """Providers refuse fields that they do not know, and half a call is not to be shown to the model."""
    half = ToolArgumentsDelta(0, 0, '{"half":')
    events = [MessageStart(dialect=dialect), PartStart(0, 0, "tool_call", "t", "f", "function", extra={"own": 1}), half]
    accumulator = StreamAccumulator(policy=Policy(unusable_arguments=arguments))
    accumulator.observe_all([*events, Finish(0, "tool_calls", "tool_calls")])
    response = accumulator.finalize()
    assert response.tool_calls[0].extra["original_arguments"] == half.text
    assert "half" not in repr([response.to_native(), response.message.to_request(dialect)])
    assert "_lost" not in repr(response.to_native())
    assert "repaired" not in repr(response.to_native())


def test_what_any_stream_said_can_be_sent_to_anybody():
    for path in case_files():
        case = load_case(path)
        if "max_seconds" not in case:
            message = fold(body_of(case), **case.get("options") or {}).message
            for dialect in dialects.names():
                sent = message.to_request(dialect)
                assert json.loads(json.dumps(sent)) == sent, f"{path.parent.name}/{path.stem} to {dialect}"


def test_chat_gets_no_calls_that_another_server_ran():
    message = Message(parts=(ToolCall(id="s", name="web_search", server_side=True), ToolCall(id="c", name="f")))
    assert [sent["id"] for sent in message.to_request("openai-chat")["tool_calls"]] == ["c"]


def test_a_plain_message_in_three_forms():
    assert PLAIN.to_request("openai-chat") == {
        "role": "assistant",
        "content": "So",
        "reasoning_content": "Hm",
        "tool_calls": [{"type": "function", "id": "call_1", "function": {"name": "f", "arguments": '{"x":1}'}}],
    }
    assert PLAIN.to_request("anthropic") == {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "So"},
            {"type": "tool_use", "id": "call_1", "name": "f", "input": {"x": 1}},
        ],
    }
    assert PLAIN.to_request("openai-responses") == [
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "Hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "So", "annotations": []}]},
        {"type": "function_call", "call_id": "call_1", "name": "f", "arguments": '{"x":1}'},
    ]


def test_an_unknown_dialect_is_refused():
    with pytest.raises(UnknownDialect):
        PLAIN.to_request("none")


def test_what_has_no_dialect_has_no_body_but_an_error_has():
    with pytest.raises(ValueError, match="no native body"):
        Response().to_native()
    error = {"error": {"type": "overloaded_error", "message": "later"}}
    assert Response.from_native(error).to_native() == error


def test_a_body_that_is_no_object_is_refused():
    for body in ([], "text", None):
        with pytest.raises(TypeError):
            Response.from_native(body)


def test_anthropic_gets_no_text_of_white_space_alone():
    """It answers 400: "text content blocks must contain non-whitespace text". Claude writes such between calls."""
    body = message({"type": "text", "text": "\n\n"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}})
    assert sent_back(body, "anthropic-messages")["content"] == body["content"][1:]


def test_anthropic_gets_citations_without_the_file_that_it_names_itself():
    """Each citation of a document has a `file_id`, which the request has no field for: "Extra inputs are not permitted"."""
    places = [
        {"type": "char_location", "start_char_index": 0, "end_char_index": 4},
        {"type": "page_location", "start_page_number": 1, "end_page_number": 2},
        {"type": "content_block_location", "start_block_index": 0, "end_block_index": 1},
    ]
    cited = [{"cited_text": "Tide", "document_index": 0, "document_title": None, **place} for place in places]
    told = [{**citation, "file_id": id_} for citation, id_ in zip(cited, (None, "file_1", None), strict=True)]
    twice = message({"type": "text", "text": "Low.", "citations": [*told, told[0]]})
    for citations, body in (
        (cited, message({"type": "text", "text": "Low.", "citations": told})),
        ([*cited, cited[0]], twice),
    ):
        response = Response.from_native(body, "anthropic-messages")
        assert response.message.to_request("anthropic")["content"] == [
            {"type": "text", "text": "Low.", "citations": citations}
        ]
        assert response.to_native() == body


def test_anthropic_gets_unknown_blocks_back_but_no_events():
    block = {"type": "hologram", "depth": 3}
    events = [
        {"type": "message_start", "message": message(usage=None, stop_reason=None)},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "depth_delta", "depth": 4}},
        {"type": "content_block_start", "index": 1, "content_block": "text"},
        {"type": "content_block_start", "index": 2, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 2, "delta": {"type": "text_delta", "text": "So"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    sent = fold(events, "anthropic-messages").message.to_request("anthropic-messages")
    assert sent["content"] == [block, {"type": "text", "text": "So"}]


def test_bedrock_gets_no_null_and_one_member_of_each_union():
    """Converse itself says `reasoningText: null` beside what is withheld, and boto3 refuses to send that back."""
    content = [
        {"reasoningContent": {"reasoningText": None, "redactedContent": "eA=="}},
        {"text": "So", "toolUse": None},
        {"toolUse": {"toolUseId": "a", "name": "f", "input": {"x": None}, "type": None}, "text": None},
    ]
    body = {"output": {"message": {"role": "assistant", "content": content}}, "stopReason": "tool_use"}
    assert sent_back(body, "bedrock-converse")["content"] == [
        {"reasoningContent": {"redactedContent": "eA=="}},
        {"text": "So"},
        {"toolUse": {"toolUseId": "a", "name": "f", "input": {"x": None}}},
    ]
    assert fold(body).to_native() == body


def test_bedrock_gets_no_blank_text_and_thought_with_a_text():
    """Blank text is refused, and `text` is required beside a signature, also where the thinking itself is not shown."""
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"reasoningContent": {"signature": "c2ln"}}}},
        {"contentBlockDelta": {"contentBlockIndex": 1, "delta": {"text": "\n\n"}}},
        {"contentBlockDelta": {"contentBlockIndex": 2, "delta": {"text": "So"}}},
        {"messageStop": {"stopReason": "end_turn"}},
    ]
    sent = fold(events, "bedrock-converse").message.to_request("bedrock-converse")
    assert sent["content"] == [
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}},
        {"text": "So"},
    ]


def test_gemini_gets_a_text_with_every_signature():
    """A part has to have content: "required oneof field 'data' must have one initialized field"."""
    parts = [{"text": "So"}, {"thoughtSignature": "c2ln"}]
    body = {"candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]}
    assert sent_back(body, "gemini")["parts"] == [{"text": "So"}, {"text": "", "thoughtSignature": "c2ln"}]


OBJECTS = {
    "anthropic-messages": lambda made: made["content"][0]["input"],
    "bedrock-converse": lambda made: made["content"][0]["toolUse"]["input"],
    "bedrock-invoke": lambda made: made["content"][0]["input"],
    "cohere-v1": lambda made: made["tool_calls"][0]["parameters"],
    "gemini": lambda made: made["parts"][0]["functionCall"]["args"],
    "gemini-interactions": lambda made: made[0]["arguments"],
    "ollama": lambda made: made["tool_calls"][0]["function"]["arguments"],
}


@pytest.mark.parametrize("dialect", OBJECTS)
@pytest.mark.parametrize(
    ("raw", "status"), [('{"x', "truncated"), ("[1]", "invalid"), ('{"x": NaN}', "invalid"), ("null", "invalid")]
)
def test_arguments_that_are_no_object_go_in_one_where_an_object_is_wanted(dialect, raw, status):
    """Text in place of an object is refused there, and with it the whole conversation."""
    made = Message(parts=(ToolCall(id="t", name="f", raw_arguments=raw, status=status),)).to_request(dialect)
    assert OBJECTS[dialect](made) == {"raw_arguments": raw}


FLAWED = {
    "openai-chat": {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}},
    ]}}]},
    "cohere-v2": {"id": "a", "finish_reason": "TOOL_CALL", "message": {"role": "assistant", "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": {"x": 1}}},
    ]}},
    "openai-responses": {"id": "r", "object": "response", "status": "completed", "output": [
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": {"x": 1}},
        {"type": "tool_search_call", "call_id": "t", "arguments": {"x": 1}, "execution": "server"},
    ]},
    "gemini-interactions": {"id": "v", "object": "interaction", "status": "requires_action", "steps": [
        {"type": "function_call", "id": "c", "name": "f", "arguments": '{"x":1}'},
    ]},
}  # fmt: skip


def test_arguments_go_back_in_the_form_of_the_api_whatever_form_a_server_sent():
    """Some servers answer with an object where the API has text, or with text for an object."""
    made = {dialect: sent_back(body, dialect) for dialect, body in FLAWED.items()}
    assert made["openai-chat"]["tool_calls"][0]["function"]["arguments"] == '{"x":1}'
    assert made["cohere-v2"]["tool_calls"][0]["function"]["arguments"] == '{"x":1}'
    assert [item["arguments"] for item in made["openai-responses"]] == ['{"x":1}', {"x": 1}]
    assert made["gemini-interactions"][0]["arguments"] == {"x": 1}
    for dialect, body in FLAWED.items():
        assert Response.from_native(body, dialect).to_native() == body


@pytest.mark.parametrize("dialect", OBJECTS)
def test_no_arguments_are_an_empty_object_where_an_object_is_wanted(dialect):
    made = Message(parts=(ToolCall(id="t", name="f", status="empty"),)).to_request(dialect)
    assert "raw_arguments" not in repr(made)


TEXTS = {
    "openai-chat": lambda made: made["tool_calls"][0]["function"]["arguments"],
    "openai-responses": lambda made: made[0]["arguments"],
    "cohere-v2": lambda made: made["tool_calls"][0]["function"]["arguments"],
    "dashscope": lambda made: made["tool_calls"][0]["function"]["arguments"],
    "mistral-conversations": lambda made: made[0]["arguments"],
    "watsonx": lambda made: made["tool_calls"][0]["function"]["arguments"],
    "ag-ui": lambda made: made[0]["toolCalls"][0]["function"]["arguments"],
}


@pytest.mark.parametrize("dialect", TEXTS)
@pytest.mark.parametrize(
    ("raw", "status"), [('{"x', "truncated"), ("[1]", "invalid"), ('{"x": NaN}', "invalid"), ("null", "invalid")]
)
def test_arguments_that_are_no_object_go_as_the_text_of_one(dialect, raw, status):
    """vLLM, SGLang and DashScope read the text of former calls, and answer 400 from then on if it is no object."""
    made = Message(parts=(ToolCall(id="t", name="f", raw_arguments=raw, status=status),)).to_request(dialect)
    assert json.loads(TEXTS[dialect](made)) == {"raw_arguments": raw}


@pytest.mark.parametrize("dialect", TEXTS)
@pytest.mark.parametrize("raw", ["", " \n"])
def test_no_arguments_go_as_the_text_of_an_empty_object(dialect, raw):
    """SGLang and DashScope refuse a text with nothing in it, and agents behind AG-UI cannot read it."""
    made = Message(parts=(ToolCall(id="t", name="f", raw_arguments=raw, status="empty"),)).to_request(dialect)
    assert TEXTS[dialect](made) == "{}"


def test_a_call_without_arguments_is_over_for_a_user_interface():
    """The AI SDK leaves a call whose input is still streaming out of the next request to the model."""
    call = ToolCall(id="t", name="f", status="empty")
    (part,) = Message(parts=(call,), dialect="anthropic-messages").to_request("vercel-ui")["parts"]
    assert part == {"type": "tool-f", "toolCallId": "t", "input": {}, "state": "input-available"}
    half = ToolCall(id="t", name="f", status="truncated", extra={"$cut": True})
    (part,) = Message(parts=(half,)).to_request("vercel-ui")["parts"]
    assert part == {"type": "tool-f", "toolCallId": "t", "state": "input-streaming"}


@pytest.mark.parametrize("dialect", TEXTS)
def test_arguments_that_are_an_object_go_as_their_exact_text(dialect):
    raw = '{ "x": 1.10, "x": 12345678901234567890 }'
    made = Message(parts=(ToolCall(id="t", name="f", raw_arguments=raw, status="complete"),)).to_request(dialect)
    assert TEXTS[dialect](made) == raw


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_free_text_for_a_tool_goes_as_it_is(dialect):
    call = ToolCall(id="t", name="py", raw_arguments="1 +", type="custom", status="truncated")
    made = Message(parts=(call,)).to_request(dialect)
    assert (made[0] if dialect == "openai-responses" else made["tool_calls"][0]["custom"])["input"] == "1 +"


@pytest.mark.parametrize("dialect", [*OBJECTS, *TEXTS])
def test_a_call_made_by_hand_goes_with_its_arguments_though_it_has_no_status(dialect):
    """Its `status` is that of a call that still grows; the text tells whether it is whole."""
    found = {**OBJECTS, **TEXTS}[dialect](
        Message(parts=(ToolCall(id="t", name="f", raw_arguments='{"x":1}'),)).to_request(dialect)
    )
    assert found == ({"x": 1} if dialect in OBJECTS else '{"x":1}')


def test_mistral_gets_entries_back_under_their_ids():
    """The id of a message is not that of the picture which it begins with."""
    handoff = {
        "type": "agent.handoff",
        "id": "h_1",
        "previous_agent_id": "ag_1",
        "previous_agent_name": "a",
        "next_agent_id": "ag_2",
        "next_agent_name": "b",
    }
    run = {"type": "tool.execution", "id": "te_1", "name": "image_generation", "arguments": "{}", "info": {"n": 1}}
    picture = {"type": "tool_file", "tool": "image_generation", "file_id": "f_1", "file_name": "a.png"}
    message = {"type": "message.output", "id": "m_1", "role": "assistant", "content": [picture, text_chunk("Here.")]}
    called = {"type": "function.call", "id": "fc_1", "name": "f", "tool_call_id": "c_1", "arguments": "{}"}
    outputs = [handoff, run, message, called]
    body = {"object": "conversation.response", "conversation_id": "conv_1", "outputs": outputs, "usage": {}}
    sent = sent_back(body, "mistral-conversations")
    assert sent == [{"object": "entry", **entry} for entry in outputs]


def test_calls_of_a_message_made_by_hand_that_no_client_ran_do_not_go_to_coheres_first_api():
    calls = [ToolCall(name="f", raw_arguments="{}"), ToolCall(name="search", raw_arguments="{}", server_side=True)]
    sent = Message(parts=(TextPart("a"), *calls)).to_request("cohere-v1")
    assert sent["tool_calls"] == [{"name": "f", "parameters": {}}]


def text_chunk(said):
    return {"type": "text", "text": said}
