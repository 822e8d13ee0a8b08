"""What HTTP clients and libraries of tasks give, as sources: read before, or to be iterated over by lines."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import sys

import aiohttp
import anyio
import httpx
import pytest
import requests
import trio
import urllib3

import chunkfold
from chunkfold import resilience
from tests_sdks.clients import MESSAGES
from tests_sdks.test_wrap import sse

CHUNK = {"object": "chat.completion.chunk", "model": "m"}
BODY = sse(
    {**CHUNK, "choices": [{"index": 0, "delta": {"content": "x" * 200_000}}]},
    {**CHUNK, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
) + (b"data: [DONE]\n\n")


def check(response):
    assert (len(response.text), response.ended, response.error) == (200_000, "clean", None)


def ask_urllib3(url):
    with urllib3.PoolManager() as pool:
        return pool.request("POST", url)


READ_BEFORE = {
    "httpx": httpx.post,
    "requests": lambda url: requests.post(url, timeout=10),
    "urllib3": ask_urllib3,
}


@pytest.mark.parametrize("ask", READ_BEFORE.values(), ids=READ_BEFORE)
def test_a_response_that_the_client_has_read_is_folded(server, ask):
    server.play(BODY)
    check(chunkfold.fold(ask(server.url)))


WHOLE = {
    "openai": {
        "id": "c1",
        "object": "chat.completion",
        "created": 5,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
    },
    "anthropic": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "Hello"}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 2},
    },
    "google": {
        "candidates": [
            {"content": {"role": "model", "parts": [{"text": "Hello"}]}, "finishReason": "STOP", "index": 0}
        ],
        "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5},
    },
    "cohere": {
        "id": "c1",
        "finish_reason": "COMPLETE",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]},
        "usage": {"tokens": {"input_tokens": 3, "output_tokens": 2}},
    },
    "ollama": {
        "model": "m",
        "created_at": "2025-01-01T00:00:00Z",
        "message": {"role": "assistant", "content": "Hello"},
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": 3,
        "eval_count": 2,
    },
}


def ask_whole(sdks, name):
    chat = {"model": "m", "messages": MESSAGES}
    if name == "openai":
        return sdks.openai.chat.completions.create(**chat)
    if name == "anthropic":
        return sdks.anthropic.messages.create(**chat, max_tokens=9)
    if name == "google":
        return sdks.google.models.generate_content(model="m", contents="hi")
    return sdks.cohere.chat(**chat) if name == "cohere" else sdks.ollama.chat(**chat)


@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_answer_of_an_sdk_is_folded(server, sdks, name):
    server.play(json.dumps(WHOLE[name]).encode(), "json")
    response = chunkfold.fold(ask_whole(sdks, name))
    assert (response.text, response.finish_reason, response.ended, response.error) == ("Hello", "stop", "clean", None)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 2)
    assert response.dialect == chunkfold.fold(WHOLE[name]).dialect


@pytest.mark.parametrize("kind", ["raw", "streaming"])
@pytest.mark.parametrize("module", ["openai", "anthropic", "groq", "together"])
def test_what_an_sdk_gives_for_its_headers_is_folded(server, module, kind):
    """`with_raw_response` of openai has nothing to iterate over, and in tasks the others give asynchronous bytes."""
    server.play(BODY)
    sdk = importlib.import_module(module)
    names = {"openai": "OpenAI", "anthropic": "Anthropic", "groq": "Groq", "together": "Together"}
    options = {"base_url": server.url, "api_key": "none", "max_retries": 0}
    request = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 9, "stream": True}

    def made(client):
        resource = client.messages if module == "anthropic" else client.chat.completions
        return getattr(resource, f"with_{kind}_response").create(**request)

    with getattr(sdk, names[module])(**options) as client, contextlib.ExitStack() as stack:
        given = made(client)
        check(chunkfold.fold(given if kind == "raw" else stack.enter_context(given)))
        timeouts = resilience.Timeouts(first=10, idle=10)
        with resilience.stream(lambda: made(client), timeouts=timeouts) as stream:
            list(stream)
        check(stream.response())

    async def main():
        async with getattr(sdk, f"Async{names[module]}")(**options) as client, contextlib.AsyncExitStack() as stack:
            given = made(client)
            given = await given if kind == "raw" else await stack.enter_async_context(given)
            with pytest.raises(TypeError, match="afold"):
                chunkfold.fold(given)
            return await chunkfold.afold(given)

    check(asyncio.run(main()))


@pytest.mark.parametrize("what", ["response", "read response", "content"])
def test_what_aiohttp_gives_is_folded(server, what):
    server.play(BODY)

    async def main():
        async with aiohttp.ClientSession() as session, session.post(server.url) as response:
            if what == "read response":
                await response.read()
            return await chunkfold.afold(response.content if what == "content" else response)

    check(asyncio.run(main()))


PRINT = [sys.executable, "-c", "import sys; sys.stdout.buffer.write(open(sys.argv[1], 'rb').read())"]


async def of_asyncio(path):
    process = await asyncio.create_subprocess_exec(*PRINT, path, stdout=asyncio.subprocess.PIPE)
    response = await chunkfold.afold(process.stdout)
    await process.wait()
    return response


async def of_anyio(path):
    async with await anyio.open_process([*PRINT, path]) as process:
        return await chunkfold.afold(process.stdout)


async def file_of_anyio(path):
    async with await anyio.open_file(path, "rb") as file:
        return await chunkfold.afold(file)


async def file_of_trio(path):
    async with await trio.open_file(path, "rb") as file:
        return await chunkfold.afold(file)


OPENED = {
    "a process of asyncio": (anyio.run, of_asyncio),
    "a process of anyio": (anyio.run, of_anyio),
    "a process of anyio on trio": (trio.run, of_anyio),
    "a file of anyio": (anyio.run, file_of_anyio),
    "a file of trio": (trio.run, file_of_trio),
}


@pytest.mark.parametrize(("run", "fold"), OPENED.values(), ids=OPENED)
def test_files_and_processes_of_tasks_are_folded_whatever_the_length_of_their_lines(tmp_path, run, fold):
    path = tmp_path / "saved.sse"
    path.write_bytes(BODY)
    check(run(fold, str(path)))
