"""`wrap` around the real streams: everything that the SDK's own stream can do, and a fold beside it."""

from __future__ import annotations

import asyncio
import gc
import json

import aiohttp
import httpx
import pytest
import requests

import chunkfold
from tests.helpers import CANONICAL, CORPUS, body_of, case_files, load_case
from tests.test_corpus import checker, view
from tests_sdks.clients import MESSAGES, SDKS, AsyncClients

OPENAI = {"model": "m", "messages": MESSAGES}
ANTHROPIC = {"model": "m", "max_tokens": 9, "messages": MESSAGES}


def case_body(name):
    dialect, stem = name.split("/")
    return body_of(load_case(next(path for path in case_files(dialect) if path.stem == stem)))


def sse(*payloads):
    """Server-sent events, named by their type as Anthropic does."""
    lines = []
    for payload in payloads:
        name = f"event: {payload['type']}\n" if "type" in payload else ""
        lines.append(f"{name}data: {json.dumps(payload)}\n\n")
    return "".join(lines).encode()


def chunk(delta, reason=None):
    return {
        "id": "c1",
        "object": "chat.completion.chunk",
        "created": 5,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
    }


CHAT = sse(chunk({"role": "assistant", "content": "Hel"}), chunk({"content": "lo"}), chunk({}, "stop")) + (
    b"data: [DONE]\n\n"
)
CLAUDE = sse(
    {
        "type": "message_start",
        "message": {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": "m",
            "stop_reason": None,
            "usage": {"input_tokens": 3, "output_tokens": 1},
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hel"}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "lo"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
)
RESPONSES = sse(
    {"type": "response.created", "sequence_number": 0, "response": {"id": "r1", "object": "response", "output": []}},
    {
        "type": "response.output_item.added",
        "sequence_number": 1,
        "output_index": 0,
        "item": {"id": "m1", "type": "message", "role": "assistant", "status": "in_progress", "content": []},
    },
    {
        "type": "response.content_part.added",
        "sequence_number": 2,
        "item_id": "m1",
        "output_index": 0,
        "content_index": 0,
        "part": {"type": "output_text", "text": "", "annotations": []},
    },
    {
        "type": "response.output_text.delta",
        "sequence_number": 3,
        "item_id": "m1",
        "output_index": 0,
        "content_index": 0,
        "delta": "Hello",
        "logprobs": [],
    },
    {
        "type": "response.completed",
        "sequence_number": 4,
        "response": {
            "id": "r1",
            "object": "response",
            "status": "completed",
            "output": [
                {
                    "id": "m1",
                    "type": "message",
                    "role": "assistant",
                    "status": "completed",
                    "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
                }
            ],
        },
    },
)
GEMINI = sse(
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}, "index": 0}]},
    {"candidates": [{"content": {"role": "model", "parts": [{"text": "lo"}]}, "index": 0, "finishReason": "STOP"}]},
)
BODIES = {"openai-chat": CHAT, "anthropic": CLAUDE, "openai-responses": RESPONSES, "google-genai": GEMINI}
# Groq and Together speak as OpenAI does.
BODIES |= {"groq": CHAT, "together": CHAT, "mistralai": CHAT, "litellm": CHAT, "langchain": CHAT}


CASES = {
    "openai-completions": "openai-completions/text-then-usage-alone",
    "cohere": "cohere-v2/cohere-text-and-usage",
    "ollama": "ollama/ollama-thinking-text-calls",
    "boto3-converse": "bedrock-converse/converse-interleaved-calls-binary",
    "boto3-invoke": "bedrock-invoke/invoke-claude-messages",
}


@pytest.mark.parametrize("sdk", SDKS)
def test_objects_go_through_untouched(sdk, server, sdks):
    body = BODIES.get(sdk) or case_body(CASES[sdk])
    server.play(body, SDKS[sdk].kind)
    plain = [repr(item) for item in sdks.stream(sdk)]
    stream = sdks.stream(sdk)
    done = []
    proxy, fold = chunkfold.wrap(stream, on_done=done.append)
    assert isinstance(proxy, type(stream))
    items = [repr(item) for item in proxy]
    if sdk not in ("google-genai", "litellm", "langchain"):  # these put times and ids of their own there
        assert items == plain
    assert len(items) == len(plain)
    assert fold.error is None
    assert done == [fold.response()]
    want = chunkfold.fold(body)
    assert (fold.response().text, fold.response().tool_calls) == (want.text, want.tool_calls) or not SDKS[sdk].is_direct
    if SDKS[sdk].is_direct:
        assert fold.response() == want


@pytest.mark.parametrize("sdk", ["openai-chat", "anthropic", "openai-responses"])
def test_proxy_is_the_stream(sdk, server, sdks):
    server.play(BODIES[sdk])
    stream = sdks.stream(sdk)
    proxy, fold = chunkfold.wrap(stream)
    assert isinstance(proxy, type(stream))
    assert proxy.response is stream.response
    assert proxy.response.status_code == 200
    assert repr(proxy) == repr(stream)
    assert dir(proxy) == dir(stream)
    proxy.note = 1
    assert stream.note == 1
    with proxy as entered:
        assert entered is proxy
        assert next(iter(entered)) is not None
        assert fold.response().ended is None
    assert stream.response.is_closed
    assert fold.response().ended in ("cancelled", "clean")


@pytest.mark.parametrize("given", ["manager", "stream"])
def test_openai_stream_helper(given, server, sdks):
    server.play(CHAT)
    manager = sdks.openai.chat.completions.stream(**OPENAI)
    with enter(manager, given) as (stream, fold):
        kinds = [event.type for event in stream]
        assert "content.done" in kinds
        assert stream.current_completion_snapshot.choices[0].message.content == "Hello"
        completion = stream.get_final_completion()
    assert completion.choices[0].message.content == "Hello"
    assert fold.response() == chunkfold.fold(CHAT)


@pytest.mark.parametrize("given", ["manager", "stream"])
def test_openai_until_done(given, server, sdks):
    server.play(CHAT)
    with enter(sdks.openai.chat.completions.stream(**OPENAI), given) as (stream, fold):
        stream.until_done()
        assert fold.response().finish_reason == "stop"


@pytest.mark.parametrize("given", ["manager", "stream"])
def test_openai_responses_helper(given, server, sdks):
    server.play(RESPONSES)
    with enter(sdks.openai.responses.stream(model="m", input="hi"), given) as (stream, fold):
        for _ in stream:
            pass
        assert stream.get_final_response().output_text == "Hello"
    assert fold.response() == chunkfold.fold(RESPONSES)


@pytest.mark.parametrize("given", ["manager", "stream"])
@pytest.mark.parametrize("helper", ["text_stream", "get_final_message", "get_final_text", "until_done", "iterate"])
def test_anthropic_stream_helper(helper, given, server, sdks):
    server.play(CLAUDE)
    with enter(sdks.anthropic.messages.stream(**ANTHROPIC), given) as (stream, fold):
        if helper == "text_stream":
            assert list(stream.text_stream) == ["Hel", "lo"]
        elif helper == "iterate":
            assert [event.text for event in stream if event.type == "text"] == ["Hel", "lo"]
        elif helper == "until_done":
            stream.until_done()
        elif helper == "get_final_text":
            assert stream.get_final_text() == "Hello"
        else:
            assert stream.get_final_message().content[0].text == "Hello"
        assert stream.current_message_snapshot.content[0].text == "Hello"
        assert stream.get_final_message().usage.output_tokens == 4
    assert fold.response() == chunkfold.fold(CLAUDE)


class enter:
    """The stream of a manager, wrapped before or after it is entered."""

    def __init__(self, manager, given):
        self.manager = manager
        self.is_whole = given == "manager"

    def __enter__(self):
        if self.is_whole:
            self.manager, fold = chunkfold.wrap(self.manager)
            return self.manager.__enter__(), fold
        return chunkfold.wrap(self.manager.__enter__())

    def __exit__(self, *exc):
        return self.manager.__exit__(*exc)


@pytest.mark.parametrize("sdk", ["openai-chat", "anthropic"])
def test_async_helpers(sdk, server):
    body = CHAT if sdk == "openai-chat" else CLAUDE
    server.play(body)

    async def run():
        clients = AsyncClients(server.url)
        if sdk == "openai-chat":
            manager, fold = chunkfold.wrap(clients.openai.chat.completions.stream(**OPENAI))
            async with manager as stream:
                final = (await stream.get_final_completion()).choices[0].message.content
        else:
            manager, fold = chunkfold.wrap(clients.anthropic.messages.stream(**ANTHROPIC))
            async with manager as stream:
                final = "".join([text async for text in stream.text_stream])
                assert (await stream.get_final_message()).content[0].text == final
        await clients.close()
        return final, fold

    final, fold = asyncio.run(run())
    assert final == "Hello"
    assert fold.response() == chunkfold.fold(body)


@pytest.mark.parametrize("read", ["iter_lines", "iter_bytes", "iter_raw", "iter_text", "read"])
def test_a_response_of_httpx_is_heard_however_it_is_read(read, server):
    """A loop by hand splits lines, which have no ends any more: what is heard is beneath."""
    server.play(CLAUDE)
    with httpx.Client() as client:
        manager, fold = chunkfold.wrap(client.stream("POST", server.url))
        with manager as response:
            assert isinstance(response, httpx.Response)
            list(getattr(response, read)())
    assert fold.response() == chunkfold.fold(CLAUDE)

    async def main():
        async with httpx.AsyncClient() as client:
            response, fold = chunkfold.wrap(await client.send(client.build_request("POST", server.url), stream=True))
            if read == "read":
                await response.aread()
            else:
                async for _ in getattr(response, f"a{read}")():
                    pass
            await response.aclose()
            return fold.response()

    assert asyncio.run(main()) == chunkfold.fold(CLAUDE)


@pytest.mark.parametrize("read", ["iter_lines", "iter_content"])
def test_a_response_of_requests_is_heard_however_it_is_read(read, server):
    server.play(CLAUDE)
    with requests.Session() as session:
        response, fold = chunkfold.wrap(session.post(server.url, stream=True))
        with response:
            list(getattr(response, read)())
    assert fold.response() == chunkfold.fold(CLAUDE)


@pytest.mark.parametrize("read", ["iter_lines", "iter_raw", "iter_content", None])
def test_a_response_that_refuses_tells_its_status(read, server):
    body = b'{"error": {"message": "Slow down", "type": "rate_limit_error"}}'
    server.play(body, "json", status=429)
    with httpx.Client() as client, requests.Session() as session:
        told = chunkfold.fold(client.post(server.url)).error
        if read == "iter_content":
            response, fold = chunkfold.wrap(session.post(server.url, stream=True))
            assert b"".join(response.iter_content()) == body
        else:
            manager, fold = chunkfold.wrap(client.stream("POST", server.url))
            with manager as response:
                list(getattr(response, read)() if read else ())
    error = fold.response().error
    assert error == told if read else (error.status, error.retryable, error.message) == (429, True, None)


@pytest.mark.parametrize("kind", ["raw", "streaming"])
@pytest.mark.parametrize("sdk", ["openai", "anthropic"])
def test_what_an_sdk_gives_for_its_headers_is_heard(sdk, kind, server, sdks):
    body, request = (CHAT, OPENAI) if sdk == "openai" else (CLAUDE, ANTHROPIC)
    server.play(body)

    def made(client):
        resource = client.chat.completions if sdk == "openai" else client.messages
        return getattr(resource, f"with_{kind}_response").create(stream=True, **request)

    def parsed():
        raw, fold = chunkfold.wrap(made(getattr(sdks, sdk)))
        if kind == "streaming":
            raw = raw.__enter__()
        assert raw.headers["content-type"] == "text/event-stream"
        return raw.parse(), fold

    stream, fold = parsed()
    gc.collect()  # the proxy is gone, and what reads is not
    list(stream)
    assert fold.response() == chunkfold.fold(body)

    async def main():
        clients = AsyncClients(server.url)
        raw, fold = chunkfold.wrap(
            made(getattr(clients, sdk)) if kind == "streaming" else await made(getattr(clients, sdk))
        )
        if kind == "streaming":
            raw = await raw.__aenter__()
        stream = raw.parse()
        async for _ in await stream if hasattr(stream, "__await__") else stream:
            pass
        await clients.close()
        return fold.response()

    assert asyncio.run(main()) == chunkfold.fold(body)


@pytest.mark.parametrize("client", [httpx.Client, requests.Session])
def test_what_reads_a_response_may_outlive_the_proxy(client, server):
    server.play(CLAUDE)

    def lines(session):
        if client is httpx.Client:
            response = session.send(session.build_request("POST", server.url), stream=True)
        else:
            response = session.post(server.url, stream=True)
        proxy, fold = chunkfold.wrap(response)
        return proxy.iter_lines(), fold

    with client() as session:
        read, fold = lines(session)
        gc.collect()
        list(read)
    assert fold.response() == chunkfold.fold(CLAUDE)


def test_a_response_that_nobody_reads_is_cancelled_when_it_is_collected(server):
    server.play(CLAUDE)
    done = []
    with requests.Session() as session:
        chunkfold.wrap(session.post(server.url, stream=True), on_done=done.append)
        gc.collect()
    assert [response.ended for response in done] == ["cancelled"]


def test_a_response_that_is_left_is_cancelled(server):
    server.play(CLAUDE, hold_after=len(CLAUDE) - 100)
    with httpx.Client() as client:
        manager, fold = chunkfold.wrap(client.stream("POST", server.url))
        with manager as response:
            for line in response.iter_lines():
                if "text_delta" in line:
                    break
        assert (fold.response().text[:3], fold.response().ended) == ("Hel", "cancelled")
        response, fold = chunkfold.wrap(client.send(client.build_request("POST", server.url), stream=True))
        response.close()
        assert fold.response().ended == "cancelled"


def test_a_response_that_cannot_be_heard_is_refused_with_the_remedy(server):
    server.play(CLAUDE)
    with pytest.raises(TypeError, match="has been read: use fold"):
        chunkfold.wrap(httpx.post(server.url))

    async def main():
        async with aiohttp.ClientSession() as session, session.post(server.url) as response:
            with pytest.raises(TypeError, match=r"wrap the \.content"):
                chunkfold.wrap(response)
            lines, fold = chunkfold.wrap(response.content)
            async for _ in lines:
                pass
            return fold.response()

    assert asyncio.run(main()) == chunkfold.fold(CLAUDE)


@pytest.mark.parametrize("sdk", ["openai-chat", "anthropic", "google-genai"])
def test_a_fault_in_folding_never_reaches_the_loop(sdk, server, sdks):
    server.play(BODIES[sdk])
    whole = len(list(sdks.stream(sdk)))
    done = []
    proxy, fold = chunkfold.wrap(sdks.stream(sdk), limits=chunkfold.Limits(parts=0), on_done=done.append)
    assert len(list(proxy)) == whole
    assert isinstance(fold.error, chunkfold.LimitExceeded)
    assert len(done) == 1
    assert done[0].error.type == "limit_exceeded"


def test_what_the_policy_refuses_is_in_the_error(server, sdks):
    cut = sse(
        chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]}, "tool_calls")
    )
    server.play(cut + b"data: [DONE]\n\n")
    proxy, fold = chunkfold.wrap(sdks.stream("openai-chat"), policy=chunkfold.Policy(unusable_arguments="raise"))
    assert list(proxy)
    assert isinstance(fold.error, chunkfold.PolicyError)
    assert fold.response().tool_calls[0].status == "invalid"


def test_an_observer_that_raises_is_reported(server, sdks, caplog):
    server.play(CHAT)
    proxy, fold = chunkfold.wrap(sdks.stream("openai-chat"), on_done=lambda response: 1 / 0)
    assert len(list(proxy)) == 3
    assert fold.error is None
    assert [record.getMessage() for record in caplog.records if record.name == "chunkfold"] == [
        "the observer on_done raised; the stream goes on"
    ]


def test_the_error_of_the_server_is_told_in_its_own_words(server, sdks):
    """The SDK raises it, the caller gets that, and the response has what the server said."""
    import anthropic

    body = case_body("anthropic-messages/error-anthropic-event-mid-text")
    server.play(body)
    proxy, fold = chunkfold.wrap(sdks.stream("anthropic"))
    with pytest.raises(anthropic.APIStatusError):
        list(proxy)
    proxy.close()
    assert fold.response() == chunkfold.fold(body)
    assert fold.response().error.type == "overloaded_error"


def test_a_failing_request_is_told_by_a_manager(server, sdks):
    import openai

    server.play(b'{"error": {"message": "no", "type": "invalid_request_error"}}', "json", status=400)
    done = []
    manager, fold = chunkfold.wrap(sdks.openai.chat.completions.stream(**OPENAI), on_done=done.append)
    with pytest.raises(openai.BadRequestError), manager:
        pass
    assert done == [fold.response()]
    assert fold.response().error.type == "invalid_request_error"


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"stream": []}, "response\\['stream'\\]"),
        (b"data: {}", "use fold"),
        (5, "no stream"),
    ],
)
def test_wrong_use_names_the_remedy(given, remedy):
    with pytest.raises(TypeError, match=remedy):
        chunkfold.wrap(given)


def test_a_coroutine_is_refused(server):
    async def run():
        clients = AsyncClients(server.url)
        with pytest.raises(TypeError, match="await it first"):
            chunkfold.wrap(clients.google.models.generate_content_stream(model="m", contents="hi"))

    asyncio.run(run())


# Streams on which an accumulator of the vendor's or a framework's fails or gives something else.


def disagreeing():
    """Recorded streams whose `disagree` names an SDK that is wrong, one or two for each way of being wrong."""
    if not CORPUS.is_dir():
        return
    seen = {}
    for line in (CORPUS / "expected.jsonl").read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        dialect = CANONICAL.get(entry["dialect"], entry["dialect"])
        for sdk in ("openai-chat", "openai-responses", "anthropic"):
            package = SDKS[sdk].package
            wrong = [what for who, what in entry.get("disagree", {}).items() if who.startswith(package)]
            if wrong and dialect == SDKS[sdk].dialect and entry["framing"] == "sse":
                kind = (sdk, str(wrong)[:60])
                seen[kind] = seen.get(kind, 0) + 1
                if seen[kind] <= 2:
                    yield pytest.param(sdk, entry, id=entry["path"])


DISAGREEING = list(disagreeing())


@pytest.mark.parametrize(("sdk", "entry"), DISAGREEING)
def test_streams_that_make_the_sdk_fail(sdk, entry, server, sdks):
    """`create(stream=True)`, as its callers use it. What the SDK raises goes to them, and it reads no further."""
    body = (CORPUS / entry["path"]).read_bytes()
    server.play(body, step=1000)
    proxy, fold = chunkfold.wrap(sdks.stream(sdk))
    try:
        for _ in proxy:
            pass
    except Exception:  # noqa: BLE001 - each raises its own
        told = fold.response().error
        if entry["error"] is not None:
            want = entry["error"]
            assert (told.type, told.message, told.origin) == (want["type"], want["message"], "provider")
            return
        assert told is None
    finally:
        proxy.close()
    assert checker()(entry, view(fold.response())) == []
    assert fold.error is None
    FOLDED.add(entry["path"])


FOLDED: set[str] = set()


@pytest.mark.skipif(not DISAGREEING, reason="there is no folder ../shared/corpus")
def test_ten_of_them_were_folded_to_their_end():
    assert len(FOLDED) >= 10
