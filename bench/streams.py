"""Deterministic, realistic SSE byte streams of LLM responses.

    make(protocol, scenario, n) -> Case(chunks, events, text, reasoning, tools)

protocol: openai | responses | anthropic | gemini | bedrock
scenario: text | tool1 | tool8 | reasoning | toolstr | json
n:        number of token-sized deltas (3-6 characters each)

`chunks` is a list with one element per SSE event (what one network read brings
in a live stream); b"".join(chunks) is the whole body.
"""

from __future__ import annotations

import json
import random
import struct
import zlib
from dataclasses import dataclass, field

ID = "chatcmpl-CbXq3Vt0mZk1YhQ8JwR5nE2sUo7aL"
MODEL = "gpt-4.1-2025-04-14"
FP = "fp_8b1c2d3e4f"
CREATED = 1764400000


def dumps(o) -> str:
    return json.dumps(o, ensure_ascii=False, separators=(",", ":"))


def tokens(n: int, seed: int = 1) -> list[str]:
    """n tokens of 3-6 characters: mostly words, ~3% newlines/quotes/non-ASCII."""
    r = random.Random(seed)
    words = ["".join(r.choice("etaoinshrdlucmfwypvbgk") for _ in range(r.randint(2, 5))) for _ in range(997)]
    odd = [".\n\n", ' "so', "é à ", ":\n- ", " 漢字か", "\\(x"]
    return [r.choice(odd) if r.random() < 0.03 else " " + r.choice(words) for _ in range(n)]


def cut(s: str, n: int) -> list[str]:
    """Cut s into exactly n pieces of nearly equal size."""
    q, rem = divmod(len(s), n)
    out, i = [], 0
    for k in range(n):
        j = i + q + (1 if k < rem else 0)
        out.append(s[i:j])
        i = j
    return out


def tool_args(size: int, seed: int = 2) -> str:
    """A JSON object of about `size` characters, a list of small objects."""
    r = random.Random(seed)
    out, total = [], 40
    while total < size:
        e = {
            "line": r.randint(1, 9999),
            "op": r.choice(["insert", "replace"]),
            "text": "".join(tokens(8, r.randint(0, 1 << 30))),
        }
        out.append(e)
        total += len(dumps(e)) + 1
    return dumps({"path": "src/main.py", "edits": out})


def tool_args_str(size: int, seed: int = 3) -> str:
    """A JSON object of about `size` characters, dominated by one long string."""
    return dumps({"path": "src/main.py", "content": "".join(tokens(max(1, size // 5), seed))})


@dataclass
class Case:
    chunks: list[bytes]
    text: str = ""
    reasoning: str = ""
    tools: list[str] = field(default_factory=list)

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)


def _plan(scenario: str, n: int):
    """(reasoning tokens, text tokens, [(tool index, fragment)...], [full args])"""
    if scenario == "text":
        return [], tokens(n), [], []
    if scenario == "reasoning":
        return tokens(n // 2, 7), tokens(n - n // 2), [], []
    if scenario == "json":  # structured output: the text is one JSON document
        return [], cut(tool_args(int(n * 4.5)), n), [], []
    if scenario in ("tool1", "toolstr"):
        a = (tool_args if scenario == "tool1" else tool_args_str)(int(n * 4.5))
        return [], [], [(0, f) for f in cut(a, n)], [a]
    if scenario == "tool8":
        per = max(1, n // 8)
        full = [tool_args(int(per * 4.5), 20 + i) for i in range(8)]
        parts = [cut(a, per) for a in full]
        return [], [], [(i, parts[i][k]) for k in range(per) for i in range(8)], full
    raise ValueError(scenario)


# ---------------------------------------------------------------- OpenAI chat
def _openai(reason, text, frags, _full):
    def ev(delta, finish=None, usage=None, choices=True):
        o = {
            "id": ID,
            "object": "chat.completion.chunk",
            "created": CREATED,
            "model": MODEL,
            "service_tier": "default",
            "system_fingerprint": FP,
            "choices": [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}] if choices else [],
            "usage": usage,
        }
        return f"data: {dumps(o)}\n\n".encode()

    out = [ev({"role": "assistant", "content": None if frags else "", "refusal": None})]
    out += [ev({"reasoning_content": t}) for t in reason]
    out += [ev({"content": t}) for t in text]
    seen = set()
    for i, f in frags:
        if i not in seen:
            seen.add(i)
            out.append(
                ev(
                    {
                        "tool_calls": [
                            {
                                "index": i,
                                "id": f"call_{i:02d}AbCdEfGhIjKlMnOp",
                                "type": "function",
                                "function": {"name": f"edit_file_{i}", "arguments": ""},
                            }
                        ]
                    }
                )
            )
        out.append(ev({"tool_calls": [{"index": i, "function": {"arguments": f}}]}))
    out.append(ev({}, "tool_calls" if frags else "stop"))
    k = len(out)
    out.append(
        ev(
            {},
            usage={
                "prompt_tokens": 20,
                "completion_tokens": k,
                "total_tokens": 20 + k,
                "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": 0,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            choices=False,
        )
    )
    out.append(b"data: [DONE]\n\n")
    return out


# ---------------------------------------------------------------- Anthropic
def _anthropic(reason, text, frags, full):
    def ev(o):
        return f"event: {o['type']}\ndata: {dumps(o)}\n\n".encode()

    usage = {
        "input_tokens": 20,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": 1,
        "service_tier": "standard",
    }
    out = [
        ev(
            {
                "type": "message_start",
                "message": {
                    "id": "msg_01XFDUDYJgAACzvnptvVoYEL",
                    "type": "message",
                    "role": "assistant",
                    "model": "claude-sonnet-4-5-20250929",
                    "content": [],
                    "stop_reason": None,
                    "stop_sequence": None,
                    "usage": usage,
                },
            }
        )
    ]
    idx = 0

    def start(i, block):
        out.append(ev({"type": "content_block_start", "index": i, "content_block": block}))

    def delta(i, d):
        out.append(ev({"type": "content_block_delta", "index": i, "delta": d}))

    if reason:
        start(idx, {"type": "thinking", "thinking": "", "signature": ""})
        for t in reason:
            delta(idx, {"type": "thinking_delta", "thinking": t})
        delta(idx, {"type": "signature_delta", "signature": "EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds"})
        out.append(ev({"type": "content_block_stop", "index": idx}))
        idx += 1
    if text:
        start(idx, {"type": "text", "text": ""})
        out.append(ev({"type": "ping"}))
        for t in text:
            delta(idx, {"type": "text_delta", "text": t})
        out.append(ev({"type": "content_block_stop", "index": idx}))
        idx += 1
    if frags:
        for i in range(len(full)):
            start(
                idx + i,
                {
                    "type": "tool_use",
                    "id": f"toolu_{i:02d}T1x1fJ34qAmk2tNTrN7Up6",
                    "name": f"edit_file_{i}",
                    "input": {},
                },
            )
        for i, f in frags:
            delta(idx + i, {"type": "input_json_delta", "partial_json": f})
        out.extend(ev({"type": "content_block_stop", "index": idx + i}) for i in range(len(full)))
    out.append(
        ev(
            {
                "type": "message_delta",
                "delta": {"stop_reason": "tool_use" if frags else "end_turn", "stop_sequence": None},
                "usage": {"output_tokens": len(reason) + len(text) + len(frags)},
            }
        )
    )
    out.append(ev({"type": "message_stop"}))
    return out


# ---------------------------------------------------------------- OpenAI Responses
def _responses(reason, text, frags, full):
    out, seq = [], 0

    def ev(type_, **o):
        nonlocal seq
        out.append(f"event: {type_}\ndata: {dumps({'type': type_, 'sequence_number': seq, **o})}\n\n".encode())
        seq += 1

    base = {
        "id": "resp_67c9fdcecf488190bdd9a0409de3a1ec07b8b0ad4e5eb654",
        "object": "response",
        "created_at": CREATED,
        "status": "in_progress",
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "max_output_tokens": None,
        "model": MODEL,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "truncation": "disabled",
        "usage": None,
        "user": None,
        "metadata": {},
    }
    ev("response.created", response=base)
    ev("response.in_progress", response=base)
    done, oi = [], 0
    if reason:
        rid = "rs_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654"
        ev("response.output_item.added", output_index=oi, item={"id": rid, "type": "reasoning", "summary": []})
        ev(
            "response.reasoning_summary_part.added",
            item_id=rid,
            output_index=oi,
            summary_index=0,
            part={"type": "summary_text", "text": ""},
        )
        for t in reason:
            ev("response.reasoning_summary_text.delta", item_id=rid, output_index=oi, summary_index=0, delta=t)
        s = "".join(reason)
        ev("response.reasoning_summary_text.done", item_id=rid, output_index=oi, summary_index=0, text=s)
        ev(
            "response.reasoning_summary_part.done",
            item_id=rid,
            output_index=oi,
            summary_index=0,
            part={"type": "summary_text", "text": s},
        )
        item = {"id": rid, "type": "reasoning", "summary": [{"type": "summary_text", "text": s}]}
        ev("response.output_item.done", output_index=oi, item=item)
        done.append(item)
        oi += 1
    if text:
        mid = "msg_67c9fdcf37fc8190ba82116e33fb28c507b8b0ad4e5eb654"
        ev(
            "response.output_item.added",
            output_index=oi,
            item={"id": mid, "type": "message", "status": "in_progress", "role": "assistant", "content": []},
        )
        ev(
            "response.content_part.added",
            item_id=mid,
            output_index=oi,
            content_index=0,
            part={"type": "output_text", "text": "", "annotations": [], "logprobs": []},
        )
        for t in text:
            ev("response.output_text.delta", item_id=mid, output_index=oi, content_index=0, delta=t, logprobs=[])
        s = "".join(text)
        part = {"type": "output_text", "text": s, "annotations": [], "logprobs": []}
        ev("response.output_text.done", item_id=mid, output_index=oi, content_index=0, text=s, logprobs=[])
        ev("response.content_part.done", item_id=mid, output_index=oi, content_index=0, part=part)
        item = {"id": mid, "type": "message", "status": "completed", "role": "assistant", "content": [part]}
        ev("response.output_item.done", output_index=oi, item=item)
        done.append(item)
        oi += 1
    if frags:
        items = []
        for i in range(len(full)):
            items.append(
                {
                    "id": f"fc_{i:02d}67ca09c6bedc8190a7abfec07b1a1332",
                    "type": "function_call",
                    "status": "in_progress",
                    "arguments": "",
                    "call_id": f"call_{i:02d}AbCdEfGhIjKlMnOp",
                    "name": f"edit_file_{i}",
                }
            )
            ev("response.output_item.added", output_index=oi + i, item=items[i])
        for i, f in frags:
            ev("response.function_call_arguments.delta", item_id=items[i]["id"], output_index=oi + i, delta=f)
        for i, a in enumerate(full):
            item = {**items[i], "status": "completed", "arguments": a}
            ev(
                "response.function_call_arguments.done",
                item_id=items[i]["id"],
                output_index=oi + i,
                arguments=a,
                name=items[i]["name"],
            )
            ev("response.output_item.done", output_index=oi + i, item=item)
            done.append(item)
    k = len(out)
    ev(
        "response.completed",
        response={
            **base,
            "status": "completed",
            "output": done,
            "usage": {
                "input_tokens": 20,
                "input_tokens_details": {"cached_tokens": 0},
                "output_tokens": k,
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": 20 + k,
            },
        },
    )
    return out


# ---------------------------------------------------------------- Gemini
def _gemini(reason, text, _frags, full):
    out, n = [], 0

    def ev(parts, finish=None):
        nonlocal n
        n += 1
        c = {"content": {"parts": parts, "role": "model"}}
        if finish:
            c["finishReason"] = finish
        c["index"] = 0
        o = {
            "candidates": [c],
            "usageMetadata": {
                "promptTokenCount": 20,
                "candidatesTokenCount": n,
                "totalTokenCount": 20 + n,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 20}],
            },
            "modelVersion": "gemini-2.5-flash",
            "responseId": "mXkqaZ7yJ4-Vm9IPpYTQ0Ac",
        }
        # the live API ends lines with CRLF
        out.append(f"data: {dumps(o)}\r\n\r\n".encode())

    for t in reason:
        ev([{"text": t, "thought": True}])
    for t in text:
        ev([{"text": t}])
    for i, a in enumerate(full):
        ev([{"functionCall": {"name": f"edit_file_{i}", "args": json.loads(a)}}])
    ev([{"text": ""}], "STOP")
    return out


# ---------------------------------------------------------------- Bedrock Converse
def _message(event: str, payload: dict) -> bytes:
    """A message of the AWS event-stream: lengths, their checksum, headers, payload, checksum of it all."""
    headers = b""
    for name, value in ((":event-type", event), (":content-type", "application/json"), (":message-type", "event")):
        headers += bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = dumps(payload).encode()
    head = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = head + struct.pack(">I", zlib.crc32(head)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


def _bedrock(reason, text, frags, full):
    r, letters = random.Random(9), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

    def ev(event, **payload):
        # Bedrock pads every frame to hide the length of its tokens.
        return _message(event, {**payload, "p": letters[: r.randint(1, len(letters))]})

    out = [ev("messageStart", role="assistant")]
    idx = 0
    for pieces, wrap in ((reason, lambda t: {"reasoningContent": {"text": t}}), (text, lambda t: {"text": t})):
        if pieces:
            out += [ev("contentBlockDelta", contentBlockIndex=idx, delta=wrap(t)) for t in pieces]
            out.append(ev("contentBlockStop", contentBlockIndex=idx))
            idx += 1
    for i in range(len(full)):
        use = {"toolUseId": f"tooluse_{i:02d}", "name": f"edit_file_{i}"}
        out.append(ev("contentBlockStart", contentBlockIndex=idx + i, start={"toolUse": use}))
    out += [ev("contentBlockDelta", contentBlockIndex=idx + i, delta={"toolUse": {"input": f}}) for i, f in frags]
    out += [ev("contentBlockStop", contentBlockIndex=idx + i) for i in range(len(full))]
    out.append(ev("messageStop", stopReason="tool_use" if frags else "end_turn"))
    usage = {"inputTokens": 20, "outputTokens": len(out), "totalTokens": 20 + len(out)}
    out.append(ev("metadata", usage=usage, metrics={"latencyMs": 1000}))
    return out


PROTOCOLS = {
    "bedrock": _bedrock,
    "openai": _openai,
    "anthropic": _anthropic,
    "responses": _responses,
    "gemini": _gemini,
}


def make(protocol: str, scenario: str, n: int) -> Case:
    reason, text, frags, full = _plan(scenario, n)
    return Case(PROTOCOLS[protocol](reason, text, frags, full), "".join(text), "".join(reason), full)


if __name__ == "__main__":
    import hashlib

    for p in PROTOCOLS:
        for s in ("text", "tool1", "tool8", "reasoning"):
            c = make(p, s, 1000)
            print(
                p,
                s,
                len(c.chunks),
                "events",
                len(c.body),
                "bytes",
                round(len(c.body) / len(c.chunks)),
                "B/event",
                hashlib.sha256(c.body).hexdigest()[:12],
            )
