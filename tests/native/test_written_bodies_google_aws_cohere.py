"""Bodies of Google, AWS and Cohere in the forms that their references document: they come back unchanged, to the key."""

from __future__ import annotations

import msgspec
import pytest

import chunkfold
from chunkfold import Response
from tests.native.forms import different
from tests.native.test_whole_bodies import sown

COUNTED = {"promptTokenCount": 9, "candidatesTokenCount": 3, "totalTokenCount": 12, "trafficType": "ON_DEMAND"}
FACTS = {"modelVersion": "gemini-x", "responseId": "r-1"}


def gemini(*parts, **candidate):
    content = {"role": "model", "parts": list(parts)}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0, **candidate}], **FACTS}


GEMINI = [
    gemini({"text": "One."}, {"text": ""}, {"text": "Two.", "thoughtSignature": "c2ln"}, {"text": "Three."}),
    gemini({"text": "Hm.", "thought": True, "thoughtSignature": "YQ=="}, {"text": "", "thoughtSignature": "Yg=="}),
    gemini({"thoughtSignature": "c2ln"}, {"text": "", "thought": True}, {"text": "No.", "thought": False}),
    gemini({"text": "a", "partMetadata": {"k": [1]}}, {"text": "b", "videoMetadata": None}, {"text": "c"}),
    gemini(
        {"functionCall": {"name": "f", "args": {"x": 1.5, "y": [None, {}]}, "id": "c1"}, "thoughtSignature": "c2ln"},
        {"functionCall": {"name": "f", "args": {}}},
        {"functionCall": {"name": "g"}},
        {"functionCall": {"name": "h", "args": None, "id": None}},
        {"functionCall": {"name": "i", "args": {"z": 0}, "willContinue": False, "origin": "x"}, "thought": True},
    ),
    gemini(
        {"executableCode": {"language": "PYTHON", "code": "1/0", "id": "e1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no", "id": "e1"}, "thoughtSignature": "YQ=="},
        {"toolCall": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "args": {"q": "x"}}},
        {"toolResponse": {"id": "t", "toolType": "GOOGLE_SEARCH_WEB", "response": {"hits": 1}}},
        {"functionResponse": {"id": "f", "name": "clock", "response": {"result": "noon"}, "scheduling": "SILENT"}},
    ),
    gemini(
        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}, "thoughtSignature": "c2ln"},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklG"}},
        {"inlineData": {"mimeType": "audio/wav", "data": "UklG", "displayName": "again"}},
        {"inlineData": {"mimeType": "image/webp", "data": "_-8="}},
        {"fileData": {"mimeType": "video/mp4", "fileUri": "gs://b/v.mp4"}, "videoMetadata": {"fps": 1}},
        {"hologram": {"depth": 3}},
    ),
    gemini(
        {"text": "Cited."},
        finishMessage="done",
        avgLogprobs=-0.25,
        safetyRatings=[],
        citationMetadata={"citations": [{"startIndex": 0, "uri": "https://a.example"}] * 2},
        groundingMetadata={"groundingChunks": [{"web": {"uri": "u", "title": "t"}}], "webSearchQueries": ["q"]},
        logprobsResult={
            "chosenCandidates": [{"token": "Ci", "logProbability": -1}, {"token": "ted.", "logProbability": 0}],
            "topCandidates": [{"candidates": [{"token": "Ci"}, {"token": "No"}]}, {"candidates": []}],
        },
    ),
    {**gemini({"text": "x"}), "usageMetadata": COUNTED, "promptFeedback": {"safetyRatings": []}, "createTime": "2031"},
    {"promptFeedback": {"blockReason": "SAFETY", "safetyRatings": [{"blocked": True}]}, "usageMetadata": COUNTED},
    {"promptFeedback": {"blockReason": "OTHER"}, "candidates": []},
    {"candidates": [{"finishReason": "MAX_TOKENS", "content": {"role": "model"}, "index": 0}], "usageMetadata": {}},
    {"candidates": [{"content": {"parts": [{"text": "a"}]}, "finishReason": 2}, {"finishReason": "STOP", "index": 1}]},
    {"response": {**gemini({"text": "wrapped"}), "usageMetadata": COUNTED}, "traceId": "t-1"},
    {
        "candidates": [{
            "content": {"role": "model", "parts": [
                {"function_call": {"id": None, "name": "f", "args": {"a": 1}}, "text": None, "thought": None},
                {"inline_data": {"mime_type": "image/png", "data": "iVBORw==", "display_name": None}},
                {"text": "x", "thought": True, "thought_signature": "c2ln", "function_call": None},
            ]},
            "finish_reason": "STOP", "index": None, "citation_metadata": None, "avg_logprobs": 0.0,
        }],
        "model_version": "m", "response_id": "r", "create_time": None, "prompt_feedback": None,
        "usage_metadata": {"prompt_token_count": 4, "total_token_count": 4},
    },
    {"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT", "details": []}},
]  # fmt: skip

INTERACTIONS = [
    {
        "id": "v1", "object": "interaction", "status": "completed", "model": "gemini-x", "created": "2031-01-01",
        "updated": "2031-01-02", "role": "model", "service_tier": None,
        "usage": {"total_input_tokens": 4, "total_output_tokens": 2, "input_tokens_by_modality": []},
        "steps": [
            {"type": "user_input", "content": [{"type": "text", "text": "Hello?"}]},
            {"type": "thought", "signature": "c2ln", "summary": [{"type": "text", "text": "A."}, {"type": "text", "text": "B."}]},
            {"type": "thought", "signature": "c2ln"},
            {"type": "google_search_call", "id": "s", "arguments": {"queries": ["x"]}, "signature": ""},
            {"type": "google_search_result", "call_id": "s", "result": [{"url": "u"}], "is_error": False},
            {"type": "mcp_server_tool_result", "call_id": "m", "name": "n", "server_name": "sea", "result": "cold"},
            {"type": "model_output", "content": [
                {"type": "text", "text": "One."},
                {"type": "text", "text": "Two.", "annotations": [{"type": "url_citation", "url": "u"}]},
                {"type": "image", "mime_type": "image/png", "data": "iVBORw=="},
                {"type": "poem", "lines": 2},
                {"type": "text", "text": ""},
            ]},
            {"type": "model_output", "content": []},
            {"type": "function_call", "id": "f1", "name": "go", "arguments": {}},
            {"type": "function_call", "id": "f2", "name": "go", "arguments": {"a": 1}, "signature": "c2ln"},
        ],
    },
    {"id": "v2", "object": "interaction", "status": "requires_action", "outputs": [
        {"type": "text", "text": "Old."}, {"type": "function_call", "id": "f", "name": "go", "arguments": {"a": 1}},
    ]},
    {"id": "v3", "object": "interaction", "status": "in_progress", "steps": []},
    {"id": "v5", "object": "interaction", "status": "failed", "steps": [], "errors": [{"code": "internal", "message": "broke"}]},
    {"id": "v6", "object": "interaction", "status": "completed", "steps": [
        {"type": "function_result", "call_id": "f", "name": None, "result": 1},
        {"type": "url_context_call", "id": "u", "name": None, "arguments": {}},
        {"type": "url_context_call", "id": "u", "name": "url_context", "arguments": {}},
    ]},
    {"id": "v4", "object": "interaction", "status": "failed", "error": {"code": "internal", "message": "broke"}},
]  # fmt: skip

USAGE = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}


def converse(*blocks, reason="end_turn", **more):
    message = {"role": "assistant", "content": list(blocks)}
    return {"output": {"message": message}, "stopReason": reason, "usage": USAGE, "metrics": {"latencyMs": 9}, **more}


CONVERSE = [
    converse({"text": "One."}, {"text": ""}, {"text": "Two."}, additionalModelResponseFields=None),
    converse(
        {"reasoningContent": {"reasoningText": {"text": "Hm.", "signature": "c2ln"}}},
        {"reasoningContent": {"reasoningText": {"text": "So."}}},
        {"reasoningContent": {"reasoningText": {"text": "", "signature": "c2ln"}}},
        {"reasoningContent": {"redactedContent": "c2VjcmV0"}},
        {"toolUse": {"toolUseId": "a", "name": "f", "input": {"x": [1, {}]}}},
        {"toolUse": {"toolUseId": "b", "name": "f", "input": {}}},
        {"toolUse": {"toolUseId": "c", "name": "f", "type": "tool_use"}},
        reason="tool_use",
    ),
    converse(
        {"toolUse": {"toolUseId": "s", "name": "look", "type": "server_tool_use", "input": {"q": "x"}}},
        {"toolResult": {"toolUseId": "s", "status": "error", "type": "look_result", "content": [{"text": "t"}, {"json": {}}]}},
        {"citationsContent": {"content": [{"text": "a"}, {"text": "b"}], "citations": [{"title": "T"}, {"title": "T"}]}},
        {"citationsContent": {"citations": [{"location": {"web": {"url": "u"}}}]}},
        {"image": {"format": "png", "source": {"bytes": "iVBORw=="}}},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://b/k"}}}},
        {"audio": {"format": "wav", "source": {"bytes": "UklG"}}},
        trace={"guardrail": {"actionReason": "No action."}, "promptRouter": {"invokedModelId": "arn"}},
        serviceTier={"type": "default"},
    ),
    {"output": {"message": {"role": "assistant", "content": []}}, "stopReason": "max_tokens", "usage": USAGE},
    {"message": "The security token is out of date."},
]  # fmt: skip

CLAUDE = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "stop_sequence": None}
TOLD = {"amazon-bedrock-guardrailAction": "NONE", "amazon-bedrock-trace": {"guardrail": {}}}
METRICS = {"inputTokenCount": 3, "outputTokenCount": 4, "invocationLatency": 5, "firstByteLatency": 6}

INVOKE = [
    {
        **CLAUDE, "content": [{"type": "text", "text": "Hi"}, {"type": "tool_use", "id": "t", "name": "f", "input": {}}],
        "stop_reason": "tool_use", "usage": {"input_tokens": 4, "output_tokens": 5}, **TOLD,
    },
    {"completion": " Hi", "stop_reason": "stop_sequence", "stop": "\n\nHuman:", "type": "completion"},
    converse({"text": "Nova."}),
    {"inputTextTokenCount": 5, "results": [
        {"tokenCount": 3, "outputText": "One", "completionReason": "FINISH"},
        {"tokenCount": 0, "outputText": "", "completionReason": None},
    ]},
    {"generation": "Llama", "prompt_token_count": 5, "generation_token_count": 2, "stop_reason": "stop"},
    {"generation": "", "prompt_token_count": 5, "generation_token_count": 0, "stop_reason": None, **TOLD},
    {"outputs": [{"text": "Un", "stop_reason": "stop"}, {"text": "Deux", "stop_reason": "length"}]},
    {"choices": [{"text": "<think>x", "stop_reason": "length"}]},
    {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "Hi"}, "stop_reason": "stop"},
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5},
    },
    {
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Qwen"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}, "object": "chat.completion",
        "id": "q", "model": "qwen", "created": 7, "amazon-bedrock-invocationMetrics": METRICS,
    },
    {"generations": [{"id": "g", "text": "Command", "finish_reason": "COMPLETE"}], "id": "x", "prompt": "p"},
    {"response_id": "r", "text": "R", "generation_id": "g", "chat_history": [], "finish_reason": "COMPLETE"},
]  # fmt: skip

BILLED = {"billed_units": {"input_tokens": 1.0}, "tokens": {"input_tokens": 5, "output_tokens": 2}}
CITED = {"start": 0, "end": 3, "text": "Two", "sources": [], "type": "TEXT_CONTENT"}

COHERE_V2 = [
    {"id": "a", "message": {"role": "assistant", "content": [{"type": "text", "text": "Hi"}]}, "finish_reason": "COMPLETE"},
    {
        "id": "b", "finish_reason": "TOOL_CALL", "usage": BILLED, "logprobs": [{"token_ids": [1], "text": "x", "logprobs": []}],
        "message": {
            "role": "assistant", "tool_plan": "Ask.", "citations": [CITED, CITED],
            "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Two."}, {"type": "text", "text": ""}],
            "tool_calls": [
                {"id": "q1", "type": "function", "function": {"name": "q", "arguments": '{"k": 1.10}'}},
                {"id": "q2", "type": "function", "function": {"name": "q", "arguments": ""}},
                {"id": "q3", "type": "function", "function": {"name": "q", "arguments": None}},
            ],
        },
    },
    {"id": "c", "message": {"role": "assistant", "content": "Plain."}, "finish_reason": "COMPLETE", "usage": None},
    {
        "id": "d", "finish_reason": "MAX_TOKENS", "prompt": None, "logprobs": None,
        "message": {"role": "assistant", "content": [], "tool_plan": None, "tool_calls": None, "citations": []},
    },
    {"id": "e", "message": {"role": "assistant", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}, "finish_reason": "ERROR"},
    {"message": "too many tokens", "id": "e-1"},
]  # fmt: skip

COHERE_V1 = [
    {
        "response_id": "r", "generation_id": "g", "text": "Two.", "finish_reason": "COMPLETE", "chat_history": None,
        "tool_calls": [{"name": "f", "parameters": {"a": 1}}, {"name": "f", "parameters": {}}, {"name": "g"}],
        "citations": [CITED, CITED], "documents": [{"id": "d"}], "search_queries": [], "is_search_required": False,
        "meta": {"api_version": {"version": "1"}, "warnings": None, **BILLED},
    },
    {"generation_id": "g", "text": "", "finish_reason": "MAX_TOKENS", "tool_calls": None, "citations": [], "meta": None},
    {"id": "n", "prompt": "count", "meta": {"billed_units": {"output_tokens": 1}}, "generations": [
        {"id": "n1", "text": "one", "index": 0, "finish_reason": "COMPLETE", "likelihood": -2.5},
        {"id": "n2", "text": "", "index": 1, "finish_reason": "MAX_TOKENS"},
    ]},
    {"message": "invalid request"},
]  # fmt: skip

BODIES = {
    "gemini": GEMINI,
    "gemini-interactions": INTERACTIONS,
    "bedrock-converse": CONVERSE,
    "bedrock-invoke": INVOKE,
    "cohere-v2": COHERE_V2,
    "cohere-v1": COHERE_V1,
}
ALL = [pytest.param(name, body, id=f"{name}-{at}") for name, bodies in BODIES.items() for at, body in enumerate(bodies)]
SEEDS = [{"deep": [1, {"null": None}, "text"]}, None, [], {}, "", 0, False]


@pytest.mark.parametrize(("dialect", "body"), ALL)
def test_a_body_comes_back_unchanged(dialect, body):
    for name in (dialect, "auto"):
        response = Response.from_native(body, name)
        assert different(body, response.to_native()) == []
        assert different(body, Response.from_json(response.to_json()).to_native()) == []


@pytest.mark.parametrize("seed", SEEDS, ids=str)
@pytest.mark.parametrize(("dialect", "body"), ALL)
def test_a_body_comes_back_unchanged_with_fields_that_nobody_knows(dialect, body, seed):
    body = sown(body, seed)
    assert different(body, Response.from_native(body, dialect).to_native()) == []


@pytest.mark.parametrize(("dialect", "body"), ALL)
def test_after_a_text_is_replaced_just_that_leaf_differs(dialect, body):
    response = Response.from_native(body, dialect)
    for choice in response.choices:
        for place, part in enumerate(choice.parts):
            if part.kind != "text" or not part.text:
                continue
            parts = list(choice.parts)
            parts[place] = msgspec.structs.replace(part, text="another text")
            choices = [
                msgspec.structs.replace(item, parts=tuple(parts)) if item is choice else item
                for item in response.choices
            ]
            changed = msgspec.structs.replace(response, choices=tuple(choices)).to_native()
            assert len(different(body, changed)) == 1


def chunks(*parts):
    return [{"candidates": [{"content": {"role": "model", "parts": [part]}, "index": 0}]} for part in parts]


def test_a_signed_part_is_merged_with_nothing():
    """Not with one without a signature, not with another that has one; texts without any go on."""
    parts = [
        {"text": "a"}, {"text": "b"}, {"text": "c", "thoughtSignature": "MQ=="}, {"text": "d", "thoughtSignature": "Mg=="},
        {"text": "e"}, {"text": "f"}, {"text": "", "thoughtSignature": "Mw=="}, {"text": "g", "thought": True},
        {"text": "h", "thought": True, "thoughtSignature": "NA=="}, {"thoughtSignature": "NQ=="},
        {"functionCall": {"name": "x", "args": {}}, "thoughtSignature": "Ng=="}, {"functionCall": {"name": "x", "args": {}}},
    ]  # fmt: skip
    body = chunkfold.fold(chunks(*parts)).to_native()
    assert body["candidates"][0]["content"]["parts"] == [{"text": "ab"}, *parts[2:4], {"text": "ef"}, *parts[6:]]
    assert different(body, Response.from_native(body).to_native()) == []


def test_signatures_and_ids_go_into_the_next_request():
    message = Response.from_native(GEMINI[4]).message
    assert message.to_request("gemini")["parts"][0] == GEMINI[4]["candidates"][0]["content"]["parts"][0]
    content = Response.from_native(CONVERSE[1]).message.to_request("bedrock-converse")["content"]
    assert content[:4] == CONVERSE[1]["output"]["message"]["content"][:4]
    message = Response.from_native(COHERE_V2[1]).message.to_request("cohere-v2")
    assert message["tool_plan"] == "Ask."
    assert [call["id"] for call in message["tool_calls"]] == ["q1", "q2", "q3"]
    steps = Response.from_native(INTERACTIONS[0]).message.to_request("gemini-interactions")
    assert [step["signature"] for step in steps if step.get("signature")] == ["c2ln"] * 3
    assert Response.from_native(COHERE_V1[0]).message.to_request("cohere-v1")["role"] == "CHATBOT"


def test_a_tool_that_takes_no_arguments_has_none_in_a_stream_either():
    """File search and processing have no such field, and Google refuses fields that it does not know."""
    events = [
        {"event_type": "interaction.created", "interaction": {"id": "v", "object": "interaction", "status": "in_progress"}},
        {"event_type": "step.start", "index": 0, "step": {"type": "file_search_call", "id": "s", "signature": "c2ln"}},
        {"event_type": "step.stop", "index": 0},
        {"event_type": "step.start", "index": 1, "step": {"type": "url_context_call", "id": "u"}},
        {"event_type": "step.delta", "index": 1, "delta": {"type": "url_context_call", "arguments": {"urls": ["x"]}}},
        {"event_type": "step.stop", "index": 1},
        {"event_type": "step.start", "index": 2, "step": {"type": "function_call", "id": "f", "name": "go"}},
        {"event_type": "step.stop", "index": 2},
        {"event_type": "interaction.completed", "interaction": {"id": "v", "status": "requires_action"}},
    ]  # fmt: skip
    steps = [
        {"type": "file_search_call", "id": "s", "signature": "c2ln"},
        {"type": "url_context_call", "id": "u", "arguments": {"urls": ["x"]}},
        {"type": "function_call", "id": "f", "name": "go", "arguments": {}},
    ]
    response = chunkfold.fold(events)
    assert response.to_native()["steps"] == steps
    assert response.message.to_request("gemini-interactions") == steps
