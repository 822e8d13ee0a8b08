"""Whole bodies in forms that no recording has: each comes back unchanged, to the key."""

from __future__ import annotations

import base64
import json
import time

import msgspec
import pytest

import chunkfold
from chunkfold import Response, dialects
from tests.native.forms import different


def chat(message, **choice):
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1760000000,
        "model": "heron-1",
        "choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop", **choice}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }


def call(**fields):
    return {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": '{"at":1.10}'}, **fields}


CHAT = {
    "nothing-said": chat({"content": None}),
    "content-left-out": chat({}),
    "empty-text": chat({"content": ""}),
    "empty-list": chat({"content": []}),
    "refused": chat({"content": None, "refusal": "No."}),
    "text-items": chat({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "more": None}]}),
    "empty-text-item": chat({"content": [{"type": "text", "text": ""}]}),
    "items-that-are-strings": chat({"content": ["a", "b"]}),
    "thinking-items": chat(
        {"content": [
            {"type": "thinking", "thinking": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "closed": True},
            {"type": "text", "text": "so"},
        ]}
    ),
    "thinking-of-bare-texts": chat({"content": [{"type": "thinking", "thinking": ["one", "two"]}, {"type": "text", "text": "so"}]}),
    "thinking-without-text": chat({"content": [{"type": "thinking", "thinking": []}, {"type": "text", "text": "so"}]}),
    "reasoning-items": chat(
        {"content": [
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm", "signature": "c2ln"}]},
            {"type": "text", "text": "so", "citations": None},
        ]}
    ),
    "thinking-as-text-with-signature": chat({"content": [{"type": "thinking", "thinking": "Hm", "signature": "c2ln"}]}),
    "references": chat(
        {"content": [
            {"type": "text", "text": "as"},
            {"type": "reference", "reference_ids": [1, "x"]},
            {"type": "text", "text": "said"},
        ]}
    ),
    "an-item-that-nobody-knows": chat({"content": [{"type": "hologram", "depth": 3}, {"type": "text", "text": "t"}]}),
    "pictures-in-the-content": chat({"content": [{"type": "image_url", "image_url": {"url": "https://i.example/1.png"}}]}),
    "pictures": chat(
        {"content": "Here", "images": [
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw==", "detail": "low"}, "index": 0},
            {"type": "image_url", "image_url": "https://i.example/2.png"},
        ]}
    ),
    "sound": chat({"content": None, "audio": {"id": "audio_1", "data": "AAEC", "transcript": "Hm.", "expires_at": 17}}),
    "sound-without-data": chat({"content": None, "audio": {"id": "audio_1"}}),
    "reasoning-twice": chat({"content": "x", "reasoning": "Hm", "reasoning_content": "Hm"}),
    "reasoning-text": chat({"content": "x", "reasoning_text": "Hm"}),
    "reasoning-null": chat({"content": "x", "reasoning": None, "reasoning_content": "Hm"}),
    "reasoning-as-an-object": chat({"content": "x", "reasoning": {"content": "Hm"}}),
    "reasoning-details": chat(
        {"content": "x", "reasoning": "Hm so", "reasoning_details": [
            {"type": "reasoning.summary", "summary": "Hm", "format": "f", "index": 0, "id": None},
            {"type": "reasoning.text", "text": " so", "signature": None, "format": "f", "index": 1},
            {"type": "reasoning.encrypted", "data": "ZW5j", "id": "rs_1", "format": "f", "index": 2},
        ]}
    ),
    "details-of-one-index": chat(
        {"content": "x", "reasoning": None, "reasoning_details": [
            {"type": "reasoning.text", "text": "a", "index": 0},
            {"type": "reasoning.text", "text": "b", "signature": "c2ln", "index": 0},
        ]}
    ),
    "calls": chat({"content": None, "tool_calls": [call(), call(id="call_2", index=3)]}),
    "a-call-without-a-type": chat({"tool_calls": [{"id": "call_1", "function": {"name": "f", "arguments": "{}"}}]}),
    "a-call-without-an-id": chat({"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": "{}"}}]}),
    "a-call-without-arguments": chat({"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f"}}]}),
    "a-call-with-null-arguments": chat(
        {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": None}}]}
    ),
    "a-call-with-an-object": chat(
        {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {"x": 1}, "description": None}}]}
    ),
    "a-call-with-an-empty-object": chat(
        {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": {}}}]}
    ),
    "a-call-that-broke-off": chat({"tool_calls": [call(function={"name": "f", "arguments": '{"x":'})]}, finish_reason="length"),
    "a-custom-call": chat({"tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "py", "input": "1+1"}}]}),
    "arguments-by-other-names": chat(
        {"tool_calls": [
            call(function={"name": "f", key: value}) for key in ("input", "parameters") for value in ('{"x":1}', {"x": 1})
        ]}
    ),
    "calls-that-the-server-ran": chat(
        {"content": "so", "tool_calls": [
            {"id": "a", "type": "mcp", "mcp": {"type": "mcp_list_tools", "server_label": "s", "tools": [{"name": "f"}]}},
            {"id": "b", "type": "mcp", "mcp": {"type": "mcp_call", "name": "f", "arguments": '{"x":1}', "output": {"y": 2}}},
            {"id": "c", "type": "mcp", "mcp": {"name": "f", "arguments": "", "error": None}},
            {"id": "d", "type": "code_interpreter", "code_interpreter": {"input": "print(1)"}},
            {"id": "e", "type": "web_browser", "web_browser": {"outputs": []}},
        ]}
    ),
    "a-signed-call": chat({"tool_calls": [call(extra_content={"google": {"thought_signature": "c2ln"}})]}),
    "the-old-function-call": chat({"content": None, "function_call": {"name": "f", "arguments": "{}"}}),
    "an-error-in-a-choice": chat({"content": "Hel"}, finish_reason="error", error={"message": "It broke", "code": 502}),
    "no-calls": chat({"content": "x", "tool_calls": []}),
    "a-call-without-its-function": chat({"tool_calls": [{"id": "a", "type": "function"}, call()]}),
    "citations": chat({"content": "x", "citations": ["https://a.example"], "annotations": []}),
    "annotations-twice-the-same": chat({"content": "x", "annotations": [{"type": "url_citation"}, {"type": "url_citation"}]}),
    "logprobs": chat({"content": "x"}, logprobs={"content": [{"token": "x", "logprob": -1, "bytes": None}], "refusal": None}),
    "logprobs-of-a-refusal": chat({"refusal": "x"}, logprobs={"content": None, "refusal": [{"token": "x", "logprob": -1}]}),
    "logprobs-in-lists": chat({"content": "x"}, logprobs={"tokens": ["x"], "token_logprobs": [-1.5]}),
    "logprobs-as-a-list": chat({"content": "x"}, logprobs=[{"token": "x", "logprob": -1.5}]),
    "logprobs-empty": chat({"content": "x"}, logprobs={}),
    "two-choices": {
        **chat({"content": "a"}),
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": "a"}, "finish_reason": "stop", "logprobs": None},
            {"index": 1, "message": {"role": "tool", "content": None, "refusal": "b"}, "finish_reason": "length"},
        ],
    },
    "choices-without-numbers": {
        "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}, {"message": {"content": "b"}, "finish_reason": "stop"}]
    },
    "calls-without-ids": chat(
        {"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "f", "arguments": "{}"}}]}
    ),
    "calls-with-empty-ids": chat({"tool_calls": [call(id=""), call(id="", type="")]}),
    "an-encrypted-detail-beside-reasoning": chat(
        {"content": "x", "reasoning": "Hm", "reasoning_details": [{"type": "reasoning.encrypted", "data": "ZW5j", "index": 0}]}
    ),
    "groq-null": {**chat({"content": "x"}), "x_groq": None},
    "no-finish-reason": chat({"content": "x"}, finish_reason=None),
    "a-finish-reason-that-is-a-number": chat({"content": "x"}, finish_reason=1),
    "created-nought-and-a-number-for-an-id": {**chat({"content": "x"}), "created": 0, "id": 7, "model": ""},
    "bare": {"choices": [{"message": {"role": "assistant", "content": "x"}}]},
    "no-role": {"choices": [{"index": 0, "message": {"content": "x"}}]},
    "usage-null": {**chat({"content": "x"}), "usage": None},
    "usage-with-nulls": {**chat({"content": "x"}), "usage": {"prompt_tokens": 1, "details": None, "deep": {"a": None}}},
    "groq": {**chat({"content": "x"}), "x_groq": {"id": "req_1", "usage": None}, "usage_breakdown": None},
    "groq-caches": {**chat({"content": "x"}), "x_groq": {"id": "req_1", "seed": 5, "usage": {"dram_cached_tokens": 0, "sram_cached_tokens": 128}}},
    "groq-usage-twice": {**chat({"content": "x"}), "x_groq": {"id": "req_1", "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}}},
    "an-error-beside": {**chat({"content": "x"}), "error": {"message": "gone", "code": 502}},
    "error-null": {**chat({"content": "x"}), "error": None},
}  # fmt: skip


def message(*content, **fields):
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "heron-1",
        "content": list(content),
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 2},
        **fields,
    }


ANTHROPIC = {
    "no-content": message(),
    "empty-text": message({"type": "text", "text": ""}),
    "texts": message({"type": "text", "text": "a", "citations": None}, {"type": "text", "text": "b", "citations": []}),
    "cited-twice-the-same": message({"type": "text", "text": "a", "citations": [{"cited_text": "x"}, {"cited_text": "x"}]}),
    "thinking": message({"type": "thinking", "thinking": "", "signature": "c2ln"}, {"type": "thinking", "thinking": "Hm"}),
    "thinking-unsigned": message({"type": "thinking", "thinking": "Hm", "signature": ""}),
    "withheld": message({"type": "redacted_thinking", "data": "ZW5j"}, {"type": "redacted_thinking", "data": ""}),
    "calls": message(
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": [1, {"b": None}]}, "caller": {"type": "direct"}},
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
        {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "ask", "server_name": "s", "input": {"q": ""}},
        {"type": "tool_use", "id": None, "name": None, "input": {}},
    ),
    "results": message(
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": {"type": "web_search_tool_result_error"}},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": True, "content": "gone"},
        {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": False, "content": None},
        {"type": "new_tool_result"},
    ),
    "blocks-that-nobody-knows": message(
        {"type": "container_upload", "file_id": "file_1"}, {"type": "fallback", "trigger": None, "from": {"model": "a"}},
        {"type": "compaction", "content": None}, {"type": "hologram", "id": "h", "index": 3, "text": "t"},
    ),
    "more-fields": message(container={"id": "c"}, context_management=None, stop_details={"type": "refusal", "category": None}),
    "calls-that-the-limit-cut": message(
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}},
        {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {}},
        stop_reason="max_tokens",
    ),
    "a-call-that-the-limit-cut-as-a-stream-has-it": message(
        {"type": "tool_use", "id": "toolu_1", "name": "f", "input": ""}, stop_reason="max_tokens"
    ),
    "no-reason": message(stop_reason=None),
    "no-usage": message(usage=None),
    "empty-usage": message(usage={}),
}  # fmt: skip


def response(*output, **fields):
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1760000000,
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "heron-1",
        "output": list(output),
        "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        "metadata": {},
        **fields,
    }


def item(kind, **fields):
    return {"type": kind, "id": f"{kind}_1", "status": "completed", **fields}


def said(*content, **fields):
    return item("message", **{"role": "assistant", "content": list(content), **fields})


def text(words, **fields):
    return {"type": "output_text", "text": words, "annotations": [], "logprobs": [], **fields}


RESPONSES = {
    "nothing": response(),
    "an-empty-message": response(said()),
    "a-phase-that-is-null": response(said(text("a"), phase=None)),
    "messages": response(said(text("a"), phase="commentary"), {**said(text("b"), text("c")), "id": "message_2"}),
    "a-message-of-every-kind": response(said(text("a"), {"type": "refusal", "refusal": "No.", "why": None}, text("b"))),
    "messages-without-ids": response(
        {"type": "message", "role": "assistant", "content": []},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
        {"type": "message", "id": None, "role": "assistant", "content": []},
    ),
    "refusals": response(said({"type": "refusal", "refusal": "a"}, {"type": "refusal", "refusal": "b"})),
    "refusals-in-two-messages": response(
        said({"type": "refusal", "refusal": "a"}), {**said({"type": "refusal", "refusal": "b"}), "id": "message_2"}
    ),
    "an-unknown-part": response(said({"type": "hologram", "depth": 1}, text("b"))),
    "text-without-lists": response(said({"type": "output_text", "text": "a"})),
    "empty-text": response(said(text(""))),
    "logprobs": response(
        said(text("a", logprobs=[{"token": "a", "logprob": -1, "bytes": [97], "top_logprobs": []}]), text("b", logprobs=[{"token": "b"}]))
    ),
    "cited-twice-the-same": response(said(text("a", annotations=[{"type": "url_citation"}, {"type": "url_citation"}]))),
    "reasoning": response(
        item("reasoning", summary=[{"type": "summary_text", "text": "a"}, {"type": "summary_text", "text": "b"}]),
        item("reasoning", id="rs_2", summary=[], content=[{"type": "reasoning_text", "text": "c"}], encrypted_content="ZW5j"),
        {"type": "reasoning", "id": "rs_3", "summary": [], "encrypted_content": None, "status": None},
        {"type": "reasoning", "id": "rs_4", "summary": [{"type": "summary_text", "text": "d"}], "content": [{"type": "reasoning_text", "text": "e"}]},
        {"type": "reasoning", "id": "rs_5", "summary": [], "content": None, "signature": "c2ln", "format": "f"},
    ),
    "calls": response(
        item("function_call", call_id="call_1", name="f", arguments='{"a": 1.10}', namespace=None),
        item("function_call", id="fc_2", call_id="call_2", name="g", arguments=""),
        item("custom_tool_call", call_id="call_3", name="py", input="1 + 1\n"),
        item("computer_call", call_id="call_4", action={"type": "click", "x": 1}, pending_safety_checks=[]),
        item("computer_call", id="cc_2", call_id="call_5", actions=[{"type": "wait"}], pending_safety_checks=[]),
        item("computer_call", id="cc_3", call_id="call_10", action={"type": "wait"}, actions=[{"type": "wait"}], pending_safety_checks=[]),
        item("computer_call", id="cc_4", call_id="call_11", action=None, actions=[{"type": "wait"}], pending_safety_checks=[]),
        item("local_shell_call", call_id="call_6", action={"type": "exec", "command": ["ls"], "env": {}}),
        item("shell_call", call_id="call_7", action={"commands": ["ls"], "timeout_ms": None}, environment=None),
        item("apply_patch_call", call_id="call_8", operation={"type": "update_file", "path": "a", "diff": "+x"}),
        item("mcp_approval_request", name="ask", arguments="{}", server_label="s"),
    ),
    "calls-of-the-server": response(
        item("web_search_call", action={"type": "search", "query": "q", "sources": None}),
        {"type": "web_search_call", "id": "ws_2", "status": "failed"},
        item("file_search_call", queries=["a", "b"], results=None),
        item("file_search_call", id="fs_2", queries=[], results=[{"text": "t"}]),
        item("code_interpreter_call", code='print("x")\n', container_id="c", outputs=None),
        item("code_interpreter_call", id="ci_2", code=None, container_id="c", outputs=[]),
        item("image_generation_call", result="iVBORw==", revised_prompt=None),
        item("mcp_list_tools", server_label="s", tools=[], error=None),
        item("mcp_call", name="ask", arguments='{"q":1}', output="o", error=None, server_label="s", approval_request_id=None),
        item("tool_search_call", call_id=None, arguments={"paths": ["a"]}, execution="server"),
        item("tool_search_call", id="ts_2", call_id="call_1", arguments={}, execution="client"),
        item("program", call_id="call_9", code="x", fingerprint="f"),
    ),
    "results": response(
        item("function_call_output", call_id="call_1", output="4"),
        item("shell_call_output", call_id="call_7", output=[{"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}]),
        item("tool_search_output", call_id=None, tools=[{"name": "a", "strict": None}], execution="server"),
        item("computer_call_output", call_id="call_4", output={"type": "computer_screenshot", "image_url": "u"}),
        item("program_output", call_id="call_9", result=None),
        {"type": "function_call_output", "id": "fco_2", "call_id": "call_2", "output": "", "status": "failed"},
    ),
    "items-that-nobody-knows": response(
        item("compaction", encrypted_content="ZW5j"), {"type": "additional_tools", "role": "developer", "tools": []},
        {"type": "hologram", "id": None, "output_index": 7},
    ),
    "cut": response(said(text("a"), status="incomplete"), status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    "failed-without-a-word": response(status="failed"),
    "reasoning-of-no-words": response(item("reasoning", summary=[{"type": "summary_text", "text": ""}])),
    "failed": response(status="failed", error={"code": "server_error", "message": "gone"}, usage=None),
    "in-the-background": response(status="in_progress", background=True, usage=None),
}  # fmt: skip

COMPLETIONS = {
    "text": {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [
        {"index": 0, "text": "a", "logprobs": None, "finish_reason": "stop"},
        {"index": 1, "text": "", "logprobs": {"tokens": ["b"], "token_logprobs": [None], "top_logprobs": None, "text_offset": [0]}, "finish_reason": "length"},
    ], "usage": None},
    "text-null": {"object": "text_completion", "choices": [{"index": 0, "text": None, "finish_reason": None}]},
    "choices-without-numbers": {"object": "text_completion", "choices": [{"text": "a", "finish_reason": "stop"}, {"text": "b", "finish_reason": "stop", "logprobs": {}}]},
    "no-choices": {"id": "", "object": "text_completion", "created": 0, "model": "", "choices": []},
    "llamacpp": {"index": 0, "content": "a", "tokens": [], "id_slot": 0, "stop": True, "model": "m", "tokens_predicted": 2, "tokens_evaluated": 3,
        "generation_settings": {"seed": 1, "grammar": ""}, "prompt": "", "has_new_line": False, "stop_type": "eos", "stopping_word": "", "timings": {}},
}  # fmt: skip


def cohere(finish="COMPLETE", **message):
    return {"id": "c", "message": {"role": "assistant", **message}, "finish_reason": finish}


COHERE = {
    "nothing-but-a-message": {"message": {}, "finish_reason": None},
    "failed": {"message": {}, "finish_reason": "ERROR", "error": "gone"},
    "text": cohere(content="a"),
    "blocks-that-leave-something-out": cohere(content=[{"type": "text"}, {"text": "a"}, {"type": "thinking", "thinking": ""}, {}]),
    "calls-that-leave-something-out": cohere("TOOL_CALL", tool_calls=[
        {"id": "a"}, {"id": "b", "type": None, "function": {"name": "look", "arguments": None}}, {"function": {"name": "look"}},
        {"type": "function", "function": {"name": "look", "arguments": {"a": 1}}},
    ]),
    "citations-twice": cohere(content=[{"type": "text", "text": "a"}], citations=[{"start": 0}, {"start": 0}, None]),
}  # fmt: skip

COHERE_V1 = {
    "of-no-known-kind": {"text": "a", "finish_reason": "COMPLETE"},
    "text-without-an-id": {"text": "a", "chat_history": [], "finish_reason": "COMPLETE"},
    "meta-null": {"text": "a", "generation_id": "g", "meta": None},
    "citations-twice": {"text": "a", "generation_id": "g", "citations": [{"start": 0}, {"start": 0}]},
    "calls-without-parameters": {"text": "", "generation_id": "g", "tool_calls": [{"name": "look"}, {"name": "look", "parameters": {"a": 1}}]},
    "generations": {"id": "g", "generations": [{"id": "x", "finish_reason": "COMPLETE"}, {"id": "y", "text": "b"}], "prompt": "p"},
}  # fmt: skip


def candidate(**fields):
    return {
        "candidates": [{"index": 0, "finishReason": "STOP", **fields}],
        "modelVersion": "heron-1",
        "responseId": "r",
    }


GEMINI = {
    "a-content-that-is-a-text": candidate(content="words"),
    "tokens-without-rivals": candidate(content={"parts": [{"text": "a"}]}, logprobsResult={"chosenCandidates": [{"token": "a"}], "topCandidates": []}),
    "rivals-of-no-token": candidate(
        content={"parts": [{"text": "a"}]},
        logprobsResult={"chosenCandidates": [{"token": "a"}], "topCandidates": [{"candidates": [{"token": "b"}]}, {"candidates": []}]},
    ),
}  # fmt: skip

CONVERSE = {
    "thought-that-is-withheld-in-part": {
        "output": {"message": {"role": "assistant", "content": [
            {"reasoningContent": {"reasoningText": {"text": "Hm", "signature": "c2ln"}, "redactedContent": "ZW5j"}},
        ]}},
        "stopReason": "end_turn",
    },
}  # fmt: skip

INVOKE = {
    "a-text-that-is-none": {
        "inputTextTokenCount": 3,
        "results": [{"tokenCount": 1, "outputText": 5, "completionReason": "FINISH"}],
    }
}

MISTRAL = {
    "thinking-that-begins-with-a-source": {
        "object": "conversation.response", "conversation_id": "conv_1", "outputs": [
            {"type": "message.output", "content": [
                {"type": "thinking", "thinking": [{"type": "tool_reference", "tool": "web"}, {"type": "text", "text": "So"}]},
            ]},
        ],
    },
    "a-message-without-content": {"object": "conversation.response", "conversation_id": "conv_1", "outputs": [{"type": "message.output"}]},
    "thinking-without-text": {
        "object": "conversation.response", "conversation_id": "conv_1", "outputs": [
            {"type": "message.output", "content": [{"type": "thinking", "signature": "c2ln"}, {"type": "text", "text": "So"}]},
        ],
    },
}  # fmt: skip

ALL = {
    "openai-chat": CHAT,
    "anthropic-messages": ANTHROPIC,
    "openai-responses": RESPONSES,
    "openai-completions": COMPLETIONS,
    "cohere-v2": COHERE,
    "cohere-v1": COHERE_V1,
    "vercel-ui": {
        "texts-that-leave-something-out": {
            "id": "u",
            "role": "assistant",
            "parts": [{"type": "text"}, {"type": "text", "text": ""}],
        }
    },
    "gemini": GEMINI,
    "bedrock-converse": CONVERSE,
    "bedrock-invoke": INVOKE,
    "mistral-conversations": MISTRAL,
}
BODIES = [(dialect, name, body) for dialect, bodies in ALL.items() for name, body in bodies.items()]


@pytest.mark.parametrize(("dialect", "name", "body"), BODIES, ids=[f"{dialect}/{name}" for dialect, name, _ in BODIES])
def test_an_odd_body_comes_back_unchanged(dialect, name, body):
    for got in (Response.from_native(body, dialect), chunkfold.fold(json.dumps(body).encode(), dialect)):
        assert different(body, got.to_native()) == []
        assert different(body, Response.from_json(got.to_json()).to_native()) == []
        for choice in got.choices:
            for place, part in enumerate(choice.parts):
                if part.kind == "text" and part.text:
                    parts = list(choice.parts)
                    parts[place] = msgspec.structs.replace(part, text="another text")
                    choices = [
                        c if c is not choice else msgspec.structs.replace(c, parts=tuple(parts)) for c in got.choices
                    ]
                    changed = msgspec.structs.replace(got, choices=tuple(choices)).to_native()
                    assert len(different(body, changed)) == 1


@pytest.mark.parametrize(("dialect", "name", "body"), BODIES, ids=[f"{dialect}/{name}" for dialect, name, _ in BODIES])
def test_the_body_can_be_changed_without_changing_the_response(dialect, name, body):
    got = Response.from_native(body, dialect)
    before = got.to_json()
    ruin(got.to_native())
    assert got.to_json() == before


def ruin(value):
    for item in list(value.values() if isinstance(value, dict) else value):
        if isinstance(item, (dict, list)):
            ruin(item)
    value.clear()


ERRORS = [
    *((dialect, {"error": {"message": "Gone", "type": "server_error", "code": 502}}) for dialect in dialects.names()),
    ("openai-chat", {"id": "c", "choices": None, "error": {"message": "Gone", "code": 502}}),
    ("cohere-v2", {"message": "invalid api token"}),
    ("cohere-v1", {"message": "invalid api token"}),
    ("anthropic-messages", {"type": "error", "error": {"type": "overloaded_error", "message": "Later"}, "request_id": "r"}),
    ("bedrock-converse", {"message": "Too many requests", "__type": "ThrottlingException"}),
    ("bedrock-invoke", {"message": "Too many requests", "__type": "ThrottlingException"}),
    # Of AWS's API Gateway and Lambda, before any server.
    ("openai-chat", {"message": "Forbidden"}),
    ("openai-completions", {"message": "Endpoint request timed out"}),
    ("openai-chat", {"errorMessage": "Task timed out after 3.00 seconds"}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", "body"), ERRORS)
def test_a_body_that_is_nothing_but_an_error_comes_back_unchanged(dialect, body):
    for name in (dialect, "auto"):
        assert different(body, Response.from_native(body, name).to_native()) == []


def test_titan_has_a_text_also_where_the_model_said_nothing():
    said = {"outputText": "", "index": 0, "totalOutputTextTokenCount": 0, "completionReason": "FINISH"}
    body = chunkfold.fold([{**said, "inputTextTokenCount": 5}]).to_native()
    assert body["results"] == [{"outputText": "", "tokenCount": 0, "completionReason": "FINISH"}]


def test_a_message_of_ollama_that_is_no_object_is_in_the_body():
    body = {"model": "m", "created_at": "2026-01-01T00:00:00Z", "message": "Hi", "done": True}
    assert different(body, Response.from_native(body).to_native()) == []


def test_an_exception_of_bedrock_amid_a_models_own_stream_stands_under_its_name():
    def chunk(payload):
        return {"chunk": {"bytes": base64.b64encode(json.dumps(payload).encode()).decode()}}

    start = {"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "content": []}}
    block = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "Hi"}}
    told = {"message": "gone", "originalStatusCode": 500}
    body = chunkfold.fold([chunk(start), chunk(block), {"modelStreamErrorException": told}]).to_native()
    assert (body["modelStreamErrorException"], "error" in body) == (told, False)


def test_what_two_events_say_of_one_error_is_put_together():
    said = {"code": "server_error", "message": "gone"}
    failed = {"id": "r", "object": "response", "status": "failed", "error": {**said, "more": 1}, "output": []}
    events = [{"type": "error", **said, "param": None}, {"type": "response.failed", "response": failed}]
    body = chunkfold.fold(events, "openai-responses").to_native()
    assert body["error"] == {**said, "param": None, "more": 1}


def test_what_came_beside_an_error_of_anthropic_is_in_the_body_too():
    told = {"type": "error", "error": {"type": "overloaded_error", "message": "Later"}}
    start = {"type": "message_start", "message": {"type": "message", "role": "assistant", "model": "claude-x"}}
    assert chunkfold.fold([start, told]).to_native() == {"model": "claude-x", "error": told["error"]}
    body = chunkfold.fold([{"type": "news", "a": 1}, told], "anthropic").to_native()
    assert (body["a"], body["error"]) == (1, told["error"])


def test_a_message_of_many_texts_costs_time_in_proportion():
    """Where none of them has an id, all that came before were looked through for one."""

    def seconds(count):
        texts = [{"type": "output_text", "text": "a", "annotations": []} for _ in range(count)]
        item = {"type": "message", "role": "assistant", "content": texts}
        body = {"id": "r", "object": "response", "status": "completed", "output": [item]}
        response = chunkfold.fold(json.dumps(body).encode(), "openai-responses")
        begun = time.thread_time()
        assert response.to_native() == body
        return time.thread_time() - begun

    seconds(20)
    assert min(seconds(1600) for _ in range(2)) < 8 * 3 * min(seconds(200) for _ in range(3))
