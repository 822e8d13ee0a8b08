"""One whole answer for each dialect, and the places where a fault can strike it."""

from __future__ import annotations

import json
import struct
from functools import cache
from itertools import pairwise
from typing import Any

from chunkfold import fold
from tests.helpers import DATA, body_of, load_case

CASES = {
    "ag-ui": "messages-take-turns",
    "anthropic-messages": "args-anthropic-empty-input-seed",
    "bedrock-converse": "converse-interleaved-calls-binary",
    "bedrock-invoke": "invoke-claude-messages",
    "cohere-v1": "cohere-v1-calls-in-pieces",
    "cohere-v2": "cohere-thinking-then-cited-text",
    "dashscope": "pieces",
    "gemini": "gemini-signed-parts-stand-alone",
    "gemini-interactions": "interactions-thought-text-call",
    "mistral-conversations": "conversation-text",
    "ollama": "ollama-thinking-text-calls",
    "openai-completions": "text-then-usage-alone",
    "openai-responses": "responses-reasoning-summary-parts",
    "tgi": "likeliest-tokens",
    "vercel-ui": "tool-of-the-provider",
    "watsonx": "chat-text",
}

# The dialect that is struck at every place.
MAIN = "openai-chat"


def _chat() -> bytes:
    def frame(delta: dict[str, Any] | None, reason: str | None = None, **more: Any) -> bytes:
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
        return b"data: %s\n\n" % json.dumps({"id": "c1", "model": "m-1", "choices": choices, **more}).encode()

    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "look", "arguments": ""}}
    return b"".join(
        [
            b": ping\n\n",
            frame({"role": "assistant", "content": ""}),
            frame({"content": "The tide"}),
            frame({"content": " turns"}),
            frame({"content": " at six \u00e9."}),
            frame({"tool_calls": [call]}),
            frame({"tool_calls": [{"index": 0, "function": {"arguments": '{"where":'}}]}),
            frame({"tool_calls": [{"index": 0, "function": {"arguments": ' "pier"}'}}]}),
            frame({}, "tool_calls"),
            frame(None, usage={"prompt_tokens": 7, "completion_tokens": 11, "total_tokens": 18}),
            b"data: [DONE]\n\n",
        ]
    )


@cache
def body(dialect: str) -> bytes:
    if dialect == MAIN:
        return _chat()
    return body_of(load_case(DATA / dialect / f"{CASES[dialect]}.json"))


@cache
def boundaries(dialect: str) -> tuple[int, ...]:
    """Where frames begin, and the end."""
    data = body(dialect)
    if dialect.startswith("bedrock") and not data.startswith((b"data:", b"event:", b"{")):
        edges, at = [0], 0
        while at < len(data):
            at += struct.unpack(">I", data[at : at + 4])[0]
            edges.append(at)
        return tuple(edges)
    mark = b"\n\n" if b"\n\n" in data else b"\r\n\r\n" if b"\r\n\r\n" in data else b"\n"
    edges, at = [0], 0
    while (at := data.find(mark, at)) >= 0:
        at += len(mark)
        edges.append(at)
    return tuple(dict.fromkeys([*edges, len(data)]))


def places(dialect: str) -> list[int]:
    """For the main dialect each boundary and the inside of each frame, for the others five places."""
    edges = boundaries(dialect)
    if dialect == MAIN:
        return sorted({*edges, *((a + b) // 2 for a, b in pairwise(edges))})
    size = len(body(dialect))
    quarter = min(edges, key=lambda edge: abs(edge - size // 4))
    half = min(edges, key=lambda edge: abs(edge - size // 2))
    return [0, quarter, half + 5 if half + 5 < size else half, 3 * size // 4, size - 1]


_ERRORS = {
    "openai-chat": b'data: {"error": {"message": "Overloaded", "type": "server_error", "code": 503}}\n\n',
    "openai-completions": b'data: {"error": {"message": "Overloaded", "type": "server_error", "code": 503}}\n\n',
    "anthropic-messages": b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", '
    b'"message": "Overloaded"}}\n\n',
    "gemini": b'data: {"error": {"code": 503, "status": "UNAVAILABLE", "message": "Overloaded"}}\n\n',
    "ollama": b'{"error": {"message": "Overloaded", "type": "server_error"}}\n',
    "openai-responses": b'event: error\ndata: {"type": "error", "code": "server_error", "message": "Overloaded"}\n\n',
}


def error_frame(dialect: str) -> bytes | None:
    """What the server of a dialect sends when it is overloaded amid an answer."""
    return _ERRORS.get(dialect)


def is_sse(dialect: str) -> bool:
    return body(dialect).startswith((b"data:", b"event:", b":", b"id:"))


DIALECTS = [MAIN, *sorted(CASES)]


def whole(dialect: str) -> Any:
    return fold(body(dialect))
