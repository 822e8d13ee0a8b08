"""The blocks of docs/doors.md, run against the local server, and its table of what the SDKs drop."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
import zlib
from pathlib import Path

import pytest

import chunkfold
from tests.framing.framing_helpers import aws_event
from tests_sdks.clients import MESSAGES, SDKS, is_installed
from tests_sdks.drops import DROPS
from tests_sdks.test_wrap import ANTHROPIC, CHAT, CLAUDE, sse

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "doors.md").read_text(encoding="utf-8")
SECTIONS = {
    title: re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    for title, text in re.findall(r"^###? (.+?)\n(.*?)(?=^##|\Z)", PAGE, re.DOTALL | re.MULTILINE)
}


def chunk(delta, reason=None, usage=None):
    choices = [{"index": 0, "delta": delta, "finish_reason": reason}]
    kind = {"id": "c1", "object": "chat.completion.chunk", "created": 5, "model": "m"}
    return {**kind, "choices": [] if usage else choices, "usage": usage}


def call(index, arguments, **named):
    function = {"arguments": arguments} | ({"name": named["name"]} if named else {})
    return {"tool_calls": [{"index": index, "function": function} | ({"id": named["id"]} if named else {})]}


OPENAI = sse(
    chunk({"role": "assistant", "content": "Let me "}),
    chunk({"content": "look."}),
    chunk(call(0, "", id="a", name="weather") | {"content": None}),
    chunk(call(0, '{"city":')),
    chunk(call(0, '"Oslo"}')),
    chunk(call(1, "", id="b", name="clock")),
    chunk({}, "tool_calls"),
    chunk({}, usage={"prompt_tokens": 3, "completion_tokens": 7, "total_tokens": 10}),
) + (b"data: [DONE]\n\n")


def block(index, start, *deltas):
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *[{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas],
        {"type": "content_block_stop", "index": index},
    ]


def tool(index, id, name, *pieces):
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    return block(index, {"type": "tool_use", "id": id, "name": name, "input": {}}, *deltas)


MESSAGE = {"id": "m1", "type": "message", "role": "assistant", "content": [], "model": "m", "stop_reason": None}
CLAUDE_CALLS = sse(
    {"type": "message_start", "message": MESSAGE | {"usage": {"input_tokens": 3, "output_tokens": 1}}},
    *block(
        0,
        {"type": "text", "text": ""},
        {"type": "text_delta", "text": "Let me "},
        {"type": "text_delta", "text": "look."},
    ),
    *tool(1, "a", "weather", '{"city":', '"Oslo"}'),
    *tool(2, "b", "clock"),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
    {"type": "message_stop"},
)


def gemini(*parts, **more):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, "index": 0} | more]}


GEMINI = sse(
    gemini({"text": "Let me "}),
    gemini({"text": "look."}),
    gemini(
        {"functionCall": {"name": "weather", "args": {"city": "Oslo"}}},
        {"functionCall": {"name": "clock", "args": {}}},
        finishReason="STOP",
    )
    | {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 7, "totalTokenCount": 10}},
)
CONVERSE = b"".join(
    aws_event(name, json.dumps(payload).encode())
    for name, payload in [
        ("messageStart", {"role": "assistant"}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Let me "}}),
        ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "look."}}),
        ("contentBlockStop", {"contentBlockIndex": 0}),
        ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": {"toolUseId": "a", "name": "weather"}}}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '{"city":'}}}),
        ("contentBlockDelta", {"contentBlockIndex": 1, "delta": {"toolUse": {"input": '"Oslo"}'}}}),
        ("contentBlockStop", {"contentBlockIndex": 1}),
        ("contentBlockStart", {"contentBlockIndex": 2, "start": {"toolUse": {"toolUseId": "b", "name": "clock"}}}),
        ("contentBlockStop", {"contentBlockIndex": 2}),
        ("messageStop", {"stopReason": "tool_use"}),
        ("metadata", {"usage": {"inputTokens": 3, "outputTokens": 7, "totalTokens": 10}, "metrics": {"latencyMs": 1}}),
    ]
)
BODIES = {"anthropic": (CLAUDE_CALLS, "sse"), "google-genai": (GEMINI, "sse"), "boto3": (CONVERSE, "aws")}
WANT = ("Let me look.", [("weather", {"city": "Oslo"}), ("clock", {})], 7)


def client_and_request(title, sdks, url):
    if title == "openai":
        return sdks.openai, {"model": "m", "messages": MESSAGES}
    if title == "anthropic":
        return sdks.anthropic, ANTHROPIC
    if title == "google-genai":
        return sdks.google, {"model": "m", "contents": "hi"}
    if title == "boto3":
        return sdks.bedrock, {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "hi"}]}]}
    if title == "litellm":
        import litellm

        return litellm, {"model": "openai/m", "messages": MESSAGES, "api_base": f"{url}/v1", "api_key": "none"}
    if title == "httpx":
        import httpx

        return httpx.Client(), {"url": url, "json": {}}
    import requests

    return requests.Session(), {"url": url, "json": {}}


def run(code):
    space = {}
    exec(compile(code, "docs/doors.md", "exec"), space)
    return space


@pytest.mark.parametrize("title", ["openai", "anthropic", "google-genai", "boto3", "litellm", "httpx", "requests"])
def test_both_loops_give_the_same(title, server, sdks):
    if title in ("openai", "anthropic", "google-genai", "boto3", "litellm"):
        pytest.importorskip("google.genai" if title == "google-genai" else title)
    body, kind = BODIES.get(title, (OPENAI, "sse"))
    server.play(body, kind)
    theirs, ours = (run(code)["answer"] for code in SECTIONS[title])
    client, request = client_and_request(title, sdks, server.url)
    results = []
    for answer in (theirs, ours):
        shown = []
        text, calls, tokens = answer(client, request, shown.append)
        assert "".join(shown) == text
        results.append((text, calls, tokens))
    assert results == [WANT, WANT]


def test_the_loop_that_stays(server, sdks):
    server.play(CHAT)
    seen = []
    watch = run(SECTIONS["Keep your loop"][0])["watch"]
    assert watch(sdks.stream("openai-chat"), seen.append) == chunkfold.fold(CHAT)
    assert len(seen) == 3
    server.play(CLAUDE)
    watch = run(SECTIONS["Keep your loop"][1])["watch"]
    assert watch(sdks.anthropic, ANTHROPIC) == chunkfold.fold(CLAUDE)


@pytest.mark.parametrize("way", ["end", "left", "refused"])
def test_a_gateway_passes_on_what_it_got_and_knows_what_that_was(way):
    """Compressed, as the server sends it."""
    import httpx

    deflate = zlib.compressobj(wbits=31)
    wire = [
        deflate.compress(CHAT[:90]) + deflate.flush(zlib.Z_SYNC_FLUSH),
        deflate.compress(CHAT[90:]) + deflate.flush(),
    ]
    status = 429 if way == "refused" else 200

    class Body(httpx.SyncByteStream):
        def __iter__(self):
            return iter(wire)

    class AsyncBody(httpx.AsyncByteStream):
        async def __aiter__(self):
            for piece in wire:
                yield piece

    def response(body):
        return httpx.Response(status, headers={"content-encoding": "gzip"}, stream=body())

    space, kept = run(SECTIONS["A gateway that passes the bytes on"][0]), []

    async def main():
        passed = []
        pieces = space["pass_on_async"](response(AsyncBody), kept.append)
        async for piece in pieces:
            passed.append(piece)
            if way == "left":
                break
        await pieces.aclose()
        return passed

    pieces = space["pass_on"](response(Body), kept.append)
    got = [next(pieces)] if way == "left" else list(pieces)
    pieces.close()
    assert asyncio.run(main()) == got == wire[: len(got)]
    assert len(kept) == 2
    assert kept[0] == kept[1]
    if way == "end":
        assert kept[0] == chunkfold.fold(CHAT)
    elif way == "left":
        assert kept[0].ended == "cancelled"
    else:
        assert kept[0].error.status == 429


def table():
    """The rows as they have to be."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    bounds = dict(one.split(">=") for one in wanted["project"]["optional-dependencies"]["sdks"])
    rows = {}
    for name, drops in DROPS.items():
        sdk = SDKS[name]
        said = "; ".join(drop.what for drop in drops) or "nothing"
        rows.setdefault((sdk.package, bounds[sdk.package], said), []).append(sdk.dialect)
    return [
        f"| {package} {bound} ({', '.join(dialects)}) | {said} |" for (package, bound, said), dialects in rows.items()
    ]


def test_the_table_of_what_is_dropped_is_that_of_the_tests():
    section = PAGE[PAGE.index("| SDK | drops or changes |") :]
    rows = [line for line in section[: section.index("\n\n")].splitlines()[2:] if line.startswith("|")]
    assert rows == table()


def test_the_table_holds_for_versions_like_those_installed():
    """The first number of each: a new one is a reason to look again."""
    from importlib import metadata

    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    bounds = dict(one.split(">=") for one in wanted["project"]["optional-dependencies"]["sdks"])
    for name, sdk in SDKS.items():
        if is_installed(name):
            installed, bound = metadata.version(sdk.package), bounds[sdk.package]
            assert installed.split(".")[0] == bound.split(".")[0], f"{sdk.package} {installed}, the manual has {bound}"
