"""
Writes the demo's streams. They were made up for this project; run it again after a change.

Each event is preceded by a comment that says how many milliseconds after the one before it was sent, which is how the
demo can play a stream at the pace of a real one. Comments are part of server-sent events and mean nothing to a reader.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

HERE = Path(__file__).parent / "streams"


def words(text: str) -> list[str]:
    """Pieces about as long as a model's tokens."""
    return re.findall(r"\s*\S{1,6}", text)


class Writer:
    """Collects the events of one stream."""

    def __init__(self) -> None:
        self.body = ""

    def event(self, payload: object, wait: int, name: str = "") -> None:
        data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        line = f"event: {name}\n" if name else ""
        self.body += f": after {wait} ms\n{line}data: {data}\n\n"


def chat(delta: dict, finish: str | None = None, **more: object) -> dict:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "chatcmpl-demo", "object": "chat.completion.chunk", "created": 1764500000, "model": "demo-1"}
    return head | {"choices": [choice]} | more


def fragment(index: int, arguments: str, **more: object) -> dict:
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments, **more.pop("function", {})}, **more}]}


def reasoning_and_text() -> str:
    out = Writer()
    out.event(chat({"role": "assistant", "content": ""}), 420)
    for piece in words("The user wants a haiku about streams. Five, seven, five. Water first, then bytes."):
        out.event(chat({"reasoning_content": piece}), 28)
    poem = "Small pieces arrive,\nout of order, cut in half —\nthe sea is still whole.\n"
    for piece in re.findall(r"\s*\S{1,6}\n?", poem):
        out.event(chat({"content": piece}), 38)
    out.event(chat({}, "stop"), 20)
    usage = {"prompt_tokens": 21, "completion_tokens": 52, "total_tokens": 73}
    details = {"completion_tokens_details": {"reasoning_tokens": 27}}
    out.event({**chat({}), "choices": [], "usage": usage | details}, 15)
    out.event("[DONE]", 1)
    return out.body


def two_calls_interleaved() -> str:
    out = Writer()
    weather = json.dumps({"city": "Lisbon", "days": 3, "units": "metric"})
    trains = json.dumps({"from": "Lisbon", "to": "Porto", "date": "2026-12-01"})
    pieces = [[text[at : at + 5] for at in range(0, len(text), 5)] for text in (weather, trains)]
    out.event(chat({"role": "assistant", "content": None}), 380)
    for piece in words("Let me look at the weather and the trains."):
        out.event(chat({"content": piece}), 30)
    for index, name in enumerate(("get_weather", "find_trains")):
        call = fragment(index, "", id=f"call_{name}", type="function", function={"name": name})
        out.event(chat(call), 40)
    for place in range(max(map(len, pieces))):
        for index, parts in enumerate(pieces):
            if place < len(parts):
                out.event(chat(fragment(index, parts[place])), 24)
    # Many servers say "stop" here although there are calls to run.
    out.event(chat({}, "stop", usage={"prompt_tokens": 84, "completion_tokens": 41, "total_tokens": 125}), 30)
    out.event("[DONE]", 1)
    return out.body


def anthropic_start(out: Writer, wait: int) -> None:
    usage = {"input_tokens": 12, "cache_read_input_tokens": 2048, "cache_creation_input_tokens": 0, "output_tokens": 1}
    message = {"id": "msg_demo", "type": "message", "role": "assistant", "model": "demo-2", "content": []}
    message |= {"stop_reason": None, "stop_sequence": None, "usage": usage}
    out.event({"type": "message_start", "message": message}, wait, "message_start")


def anthropic_block(out: Writer, index: int, block: dict, deltas: list[dict], stop: bool = True) -> None:
    start = {"type": "content_block_start", "index": index, "content_block": block}
    out.event(start, 30, "content_block_start")
    for delta in deltas:
        out.event({"type": "content_block_delta", "index": index, "delta": delta}, 30, "content_block_delta")
    if stop:
        out.event({"type": "content_block_stop", "index": index}, 5, "content_block_stop")


def text_deltas(text: str) -> list[dict]:
    return [{"type": "text_delta", "text": piece} for piece in words(text)]


def call_cut_by_the_limit() -> str:
    out = Writer()
    anthropic_start(out, 500)
    anthropic_block(out, 0, {"type": "text", "text": ""}, text_deltas("I will write the whole file for you now."))
    half = '{"path": "report.md", "content": "# Report\\n\\nThe first quarter was'
    deltas = [{"type": "input_json_delta", "partial_json": half[at : at + 7]} for at in range(0, len(half), 7)]
    block = {"type": "tool_use", "id": "toolu_demo", "name": "write_file", "input": {}}
    anthropic_block(out, 1, block, deltas)
    delta = {"stop_reason": "max_tokens", "stop_sequence": None}
    out.event({"type": "message_delta", "delta": delta, "usage": {"output_tokens": 40}}, 10, "message_delta")
    out.event({"type": "message_stop"}, 1, "message_stop")
    return out.body


def error_amid_the_text() -> str:
    out = Writer()
    anthropic_start(out, 450)
    half = text_deltas("The three causes of the outage were, first, a certificate that")
    anthropic_block(out, 0, {"type": "text", "text": ""}, half, stop=False)
    error = {"type": "overloaded_error", "message": "Overloaded"}
    out.event({"type": "error", "error": error}, 900, "error")
    return out.body


STREAMS = {
    "1-reasoning-and-text.sse": reasoning_and_text,
    "2-two-calls-interleaved.sse": two_calls_interleaved,
    "3-call-cut-by-the-limit.sse": call_cut_by_the_limit,
    "4-error-amid-the-text.sse": error_amid_the_text,
}

if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for name, make in STREAMS.items():
        (HERE / name).write_text(make(), encoding="utf-8", newline="\n")
