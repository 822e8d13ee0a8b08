"""Bodies written for this project, of dialects of which few that were not streamed are recorded: they come back too."""

from __future__ import annotations

import msgspec
import pytest

from chunkfold import Response
from tests.native.forms import different
from tests.native.test_whole_bodies import sown

OLLAMA = {"model": "owl:2b", "created_at": "2026-03-04T05:06:07.5Z", "done": True, "done_reason": "stop"}

TOKENS = [{"id": 1, "text": "Calm", "logprob": -1, "special": False}, {"id": 2, "text": "</s>", "logprob": 0}]

IBM = {"model_id": "ibm/heron-8b", "created_at": "2026-02-03T04:05:06Z"}
CHAT = {**IBM, "id": "chat-7", "created": 1760000000, "model_version": "1.1.0"}
FINDING = {"score": 0.9, "input": True, "position": {"start": 0, "end": 4}, "entity": "has_HAP"}

QWEN = {"request_id": "req-9", "usage": {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}}

ENTRY = {"object": "entry", "created_at": "2026-02-03T04:05:06Z", "completed_at": None}
USED = {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11, "connector_tokens": None, "connectors": None}
TALK = {"object": "conversation.response", "conversation_id": "conv_3", "usage": USED}
SAYS = {**ENTRY, "type": "message.output", "id": "m1", "model": "mistral-x", "agent_id": None, "role": "assistant"}

BODIES = {
    "ollama": [
        {**OLLAMA, "message": {"role": "assistant", "content": "Low tide."}, "eval_count": 4, "total_duration": 9},
        {**OLLAMA, "message": {"role": "assistant", "content": "", "thinking": "Hm.", "tool_calls": [
            {"function": {"name": "tide", "arguments": {"town": "Brest", "to": 1.5}}},
            {"id": "c1", "type": "function", "function": {"index": 1, "name": "tide", "arguments": {}}},
            {"function": {"name": "old", "arguments": '{"a": 1}'}},
            {"function": {"name": "bare"}},
            {"id": "c2", "function": {"name": "none", "arguments": None}},
            {"id": "c3"},
            {"id": 7, "function": None},
        ]}, "prompt_eval_count": 0, "eval_count": 12},
        {**OLLAMA, "message": {"role": "assistant", "content": "Here:", "images": ["aGk=", "no base64!"]}},
        {**OLLAMA, "message": {"role": "assistant", "content": "Here:", "images": [{"value": "aGk="}, "aGk="]}},
        {**OLLAMA, "message": {"role": "assistant", "content": "", "tool_calls": ["none", {"function": {"name": "f"}}]}},
        {**OLLAMA, "message": {"content": "x"}, "logprobs": [{"token": "x", "logprob": -0.5, "bytes": [120]}]},
        {**OLLAMA, "message": {}, "tool_calls": None, "logprobs": None},
        {**OLLAMA, "response": "Low", "thinking": "Hm", "context": [1, 2], "done_reason": "length"},
        {**OLLAMA, "response": "", "done_reason": "load"},
        {**OLLAMA, "response": "", "done_reason": "", "tool_calls": [{"function": {"name": "f", "arguments": {"k": [1]}}}]},
        {"model": "owl:2b", "created_at": "t", "response": "", "done": True, "image": "eW8="},
        {"error": "model 'owl' not found"},
    ],
    "tgi": [
        {"generated_text": "Calm"},
        {"generated_text": ""},
        {"generated_text": "Calm", "details": None},
        {"generated_text": "Calm", "details": {
            "finish_reason": "eos_token", "generated_tokens": 2, "seed": None, "prefill": [], "tokens": TOKENS,
            "top_tokens": [[{"id": 3, "text": "Wild", "logprob": -1.5, "special": False}], []],
            "best_of_sequences": None,
        }},
        {"generated_text": "", "details": {"finish_reason": "length", "generated_tokens": 0, "seed": 17, "tokens": []}},
        {"generated_text": "a", "details": {
            "finish_reason": "length", "generated_tokens": 1, "input_length": 3, "prefill": [{"id": 5, "text": "b"}],
            "best_of_sequences": [{"generated_text": "c", "finish_reason": "length", "tokens": [], "prefill": []}],
        }},
        {"error": "Input validation error", "error_type": "validation"},
    ],
    "watsonx": [
        {**IBM, "results": [{"generated_text": "2", "generated_token_count": 2, "input_token_count": 7,
                             "stop_reason": "eos_token"}], "system": {"warnings": [{"message": "m", "id": "i"}]}},
        {**IBM, "results": [{"generated_text": "", "generated_token_count": 0, "input_token_count": 0,
                             "stop_reason": "not_finished", "seed": 4, "generated_tokens": [{"text": "x"}]}]},
        {**IBM, "results": [{"generated_text": "a", "generated_token_count": 1, "stop_reason": "max_tokens"},
                            {"generated_text": "b", "generated_token_count": 3, "stop_reason": "EOS_TOKEN"}]},
        {**IBM, "results": [{"generated_text": "[rejected]", "stop_reason": "eos_token",
                             "moderations": {"hap": [FINDING], "pii": [], "guardian": None}}], "system": None},
        {**CHAT, "choices": [{"index": 0, "message": {"role": "assistant", "content": "Clear sky."},
                              "finish_reason": "stop"}],
         "usage": {"completion_tokens": 2, "prompt_tokens": 4, "total_tokens": 6}},
        {**CHAT, "model": "ibm/heron-8b", "object": "chat.completion", "choices": [
            {"index": 0, "message": {"role": "assistant", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}},
            ]}, "finish_reason": "tool_calls"},
        ]},
        {"errors": [{"code": "model_no_support", "message": "no such model", "more_info": "u"}], "trace": "t",
         "status_code": 404},
    ],
    "dashscope": [
        {**QWEN, "output": {"text": "Low tide.", "finish_reason": "stop"}},
        {**QWEN, "output": {"text": "", "finish_reason": "length", "session_id": "s"}, "status_code": 200, "code": "",
         "message": ""},
        {**QWEN, "output": {"text": None, "finish_reason": None, "choices": [
            {"finish_reason": "stop", "message": {"role": "assistant", "content": "All", "reasoning_content": "Hm"}},
        ]}},
        {**QWEN, "output": {"choices": [{"finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "", "reasoning_content": "", "tool_calls": [
                {"index": 0, "id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1.10}'}},
                {"id": "", "function": {"name": "g", "arguments": {"b": 2}}},
                {"index": 5, "id": "c2", "type": "function", "function": {"name": "h", "arguments": ""}},
            ],
        }}]}, "usage": None},
        {**QWEN, "output": {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": [
            {"text": "A "}, {"image": "https://example.test/g.png"}, {"text": "gull"}, {"text": ""},
        ]}}, {"index": 1, "finish_reason": "length", "message": {"role": "assistant", "content": []}}]}},
        {"code": "InvalidApiKey", "message": "Invalid API-key provided.", "request_id": "req-9"},
    ],
    "mistral-conversations": [
        {**TALK, "outputs": [{**SAYS, "content": "Low tide."}]},
        {**TALK, "outputs": [{**SAYS, "content": ""}], "guardrails": None},
        {**TALK, "outputs": [{**SAYS, "content": []}]},
        {**TALK, "outputs": [{**SAYS, "content": [{"type": "text", "text": "Low tide."}]}]},
        {**TALK, "outputs": [
            {**ENTRY, "type": "tool.execution", "id": "t1", "name": "web_search", "arguments": '{"query": "tide"}',
             "info": {"hits": 2}},
            {**SAYS, "content": [
                {"type": "text", "text": "See"}, {"type": "tool_reference", "tool": "web_search", "title": "T", "url": None},
                {"type": "text", "text": ""}, {"type": "hologram", "h": 1}, {"type": "text", "text": " it."},
                {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
                {"type": "image_url", "image_url": "https://x.test/b.png"},
                {"type": "tool_file", "tool": "image_generation", "file_id": "f1", "file_name": "c", "file_type": None},
                {"type": "document_url", "document_url": "https://x.test/d.pdf", "document_name": "d"},
            ]},
            {**ENTRY, "type": "agent.handoff", "id": "h1", "previous_agent_id": "a", "previous_agent_name": "A",
             "next_agent_id": "b", "next_agent_name": "B"},
            {**ENTRY, "type": "function.call", "id": "f1", "tool_call_id": "c1", "name": "f", "arguments": {"x": 1.1},
             "confirmation_status": None},
            {**ENTRY, "type": "function.call", "id": "f2", "tool_call_id": "c2", "name": "f", "arguments": "{}",
             "confirmation_status": "pending"},
            {**ENTRY, "type": "function.call", "id": "f3", "tool_call_id": "c3", "name": "g", "arguments": ""},
            {"type": "song", "id": "s1"},
            {**SAYS, "id": "m2", "content": "End."},
        ]},
        {**TALK, "outputs": [{**SAYS, "content": [
            {"type": "thinking", "thinking": [
                {"type": "text", "text": "Moon"}, {"type": "reference", "reference_ids": [4]}, {"type": "text", "text": " and"},
                {"type": "text", "text": " sun."}, {"type": "tool_reference", "tool": "web_search", "title": "T"},
            ], "signature": "sig-1", "closed": True},
            {"type": "thinking", "thinking": [], "signature": None},
            {"type": "thinking", "thinking": "Bare."},
            {"type": "text", "text": "Yes."},
        ]}]},
        {"object": "error", "message": "Service unavailable", "type": "unreachable_backend", "code": "1100"},
    ],
    "vercel-ui": [
        {"id": "m1", "role": "assistant", "parts": [{"type": "text", "text": "Low tide.", "state": "done"}]},
        {"id": "", "role": "assistant", "parts": [], "metadata": {"tokens": 9, "deep": {"a": [1]}}},
        {"id": "m2", "role": "assistant", "metadata": None, "finishReason": "tool-calls", "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "id": "r1", "text": "Hm.", "state": "done", "providerMetadata": {"p": {"signature": "s"}}},
            {"type": "text", "text": "", "state": "done"},
            {"type": "source-url", "sourceId": "s1", "url": "https://example.test", "title": None},
            {"type": "tool-tide", "toolCallId": "c1", "state": "output-available", "input": {"port": "Brest", "n": 1.5},
             "output": {"level": 2.5}, "callProviderMetadata": {"p": {}}, "providerExecuted": False},
            {"type": "source-url", "sourceId": "s1", "url": "https://example.test", "title": None},
            {"type": "step-start"},
            {"type": "source-document", "sourceId": "s2", "mediaType": "application/pdf", "title": "Doc"},
            {"type": "dynamic-tool", "toolName": "wind", "toolCallId": "c2", "state": "output-error", "input": {},
             "errorText": "no sensor", "title": "Wind"},
            {"type": "tool-web-search", "toolCallId": "c3", "state": "output-available", "input": {"q": "gulls"},
             "output": [1, None], "providerExecuted": True, "preliminary": True},
            {"type": "tool-delete", "toolCallId": "c4", "state": "output-denied", "input": {"n": 1},
             "approval": {"id": "ap1", "approved": False, "reason": "no"}},
            {"type": "tool-delete", "toolCallId": "c5", "state": "approval-requested", "input": {"n": 1},
             "approval": {"id": "ap2"}},
            {"type": "tool-tide", "toolCallId": "c6", "state": "input-streaming"},
            {"type": "tool-tide", "toolCallId": "c7", "state": "input-available", "input": {}, "output": None},
            {"type": "tool-tide", "toolCallId": "c8", "state": "output-error", "rawInput": "{", "errorText": "not JSON"},
            {"type": "tool-raw", "toolCallId": "c9", "state": "output-available", "input": "text", "output": None},
            {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,iVBORw==", "filename": "a.png"},
            {"type": "file", "mediaType": "text/plain", "url": "data:text/plain,hi"},
            {"type": "reasoning-file", "mediaType": "image/png", "url": "data:image/png;a=b;base64,iVBORw=="},
            {"type": "data-weather", "id": "w", "data": {"t": 2}},
            {"type": "custom", "kind": "acme.map", "providerMetadata": {}},
            {"type": "hologram", "h": [1]},
            {"type": "text", "text": "Done."},
        ]},
        {"id": "m3", "role": "assistant", "parts": [{"type": "text", "text": "Half", "state": "streaming"}],
         "abort": {"reason": "user left"}},
        {"role": "assistant", "parts": [], "errorText": "no credit"},
    ],
    "ag-ui": [
        {"threadId": "t1", "runId": "r1", "messages": [], "outcome": None},
        {"threadId": "t1", "runId": "r1", "protocolVersion": "1.0", "messages": [
            {"id": "u1", "role": "user", "content": "?"},
            {"id": "m0", "role": "assistant", "content": "Earlier."},
            {"id": "u2", "role": "user", "content": [{"type": "text", "text": "?"}]},
            {"id": "g1", "role": "reasoning", "content": "Hm", "encryptedValue": "enc1"},
            {"id": "m1", "role": "assistant", "content": "Wait.", "name": "Keeper", "toolCalls": [
                {"id": "c1", "type": "function", "function": {"name": "tide", "arguments": '{"n": 1}'}, "encryptedValue": "e"},
                {"id": "c2", "function": {"name": "wind"}},
                {"id": "c3", "type": "function", "function": {"name": "wind", "arguments": ""}},
            ]},
            {"id": "t1", "role": "tool", "toolCallId": "c1", "content": "2.5"},
            {"id": "t2", "role": "tool", "toolCallId": "c2", "content": [{"type": "text", "text": "?"}], "error": "no wind"},
            {"id": "t3", "role": "tool", "toolCallId": "c9"},
            {"id": "a1", "role": "activity", "activityType": "PLAN", "content": {"tasks": []}},
            {"id": "m2", "role": "assistant", "toolCalls": [{"id": "c4", "type": "function", "function": None}]},
            {"id": "m3", "role": "assistant", "content": None, "toolCalls": []},
            {"id": "m4", "role": "assistant", "content": ""},
            {"role": "assistant", "content": "Done."},
        ], "outcome": {"type": "success"}, "usage": [{"inputTokens": 3, "outputTokens": 1}], "result": {"ok": 1},
         "steps": [{"type": "STEP_STARTED", "stepName": "plan"}]},
        {"threadId": "t1", "runId": "r1", "messages": [{"id": "m1", "role": "assistant", "content": "Up to"}],
         "error": {"message": "model lost", "code": "E7"}},
    ],
}  # fmt: skip

PAIRS = [(dialect, body) for dialect, bodies in BODIES.items() for body in bodies]
IDS = [f"{dialect}-{place}" for dialect, bodies in BODIES.items() for place in range(len(bodies))]


def assert_comes_back(body, dialect):
    response = Response.from_native(body, dialect)
    assert different(body, response.to_native()) == []
    assert different(body, Response.from_json(response.to_json()).to_native()) == []


@pytest.mark.parametrize(("dialect", "body"), PAIRS, ids=IDS)
def test_a_body_comes_back_unchanged(dialect, body):
    assert_comes_back(body, dialect)
    assert_comes_back(body, "auto")


@pytest.mark.parametrize(("dialect", "body"), PAIRS, ids=IDS)
@pytest.mark.parametrize("seed", [{"deep": [1, {"null": None}, "text"]}, None, [], "", 0, False], ids=repr)
def test_a_body_comes_back_unchanged_with_fields_that_nobody_knows(dialect, body, seed):
    assert_comes_back(sown(body, seed), dialect)


@pytest.mark.parametrize(("dialect", "body"), PAIRS, ids=IDS)
def test_after_a_text_is_replaced_just_that_leaf_differs(dialect, body):
    response = Response.from_native(body, dialect)
    for choice in response.choices:
        for place, part in enumerate(choice.parts):
            if part.kind not in ("text", "reasoning") or not part.text:
                continue
            parts = list(choice.parts)
            parts[place] = msgspec.structs.replace(part, text="another text")
            choices = [
                msgspec.structs.replace(item, parts=tuple(parts)) if item is choice else item
                for item in response.choices
            ]
            changed = msgspec.structs.replace(response, choices=tuple(choices)).to_native()
            assert len(different(body, changed)) == 1
