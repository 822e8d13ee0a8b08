"""Folding an SDK's objects gives the response that folding the bytes gives, but for what `drops.py` lists."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging

import pytest

import chunkfold
from chunkfold import dialects
from tests.helpers import CANONICAL, CORPUS, body_of, case_files, load_case
from tests_sdks.clients import SDKS, AsyncClients
from tests_sdks.drops import DROPS, EVERYTHING, RAISES

# Cases whose payloads are texts. An SDK hands those out as they are, and texts are a source of bytes.
TEXTS = ("sse-json-encoded-twice", "error-event-with-a-quoted-sentence")

KINDS = {"sse": "sse", "ndjson": "ndjson", "aws-eventstream": "aws", "eventstream": "aws"}


# Over larger ones, with pictures or thousands of events, an SDK takes its time.
LARGEST = 100_000


def streams(sdk):
    """
    Name and body of every case and recorded stream that the server of that SDK could send. Those that speak as OpenAI
    does read the same ones: a part of them will do.
    """
    is_alike = sdk.dialect == "openai-chat" and sdk.package != "openai"
    for path in case_files(sdk.dialect)[:: 2 if is_alike else 1]:
        case = load_case(path)
        framing = case.get("inner_framing") or case["framing"]
        is_left_out = "perf" in path.stem or case.get("options") or path.stem in TEXTS
        body = b"" if is_left_out else body_of(case)
        if 0 < len(body) <= LARGEST and KINDS.get(framing) == sdk.kind:
            yield path.stem, body
    yield from recorded(sdk, 6 if is_alike else 1)


def recorded(sdk, step):
    if not CORPUS.is_dir():
        return
    entries = map(json.loads, (CORPUS / "expected.jsonl").read_text(encoding="utf-8").splitlines())
    paths = [
        entry["path"]
        for entry in entries
        if KINDS.get(entry["framing"]) == sdk.kind
        and CANONICAL.get(entry["dialect"], entry["dialect"]) == sdk.dialect
        and (CORPUS / entry["path"]).stat().st_size <= LARGEST
    ]
    for path in paths[::step]:
        yield path, (CORPUS / path).read_bytes()


def different(want, got):
    return {field for field in EVERYTHING.split() if getattr(want, field) != getattr(got, field)}


def complaints(sdk, name, body, want, got):
    """What is different and not listed."""
    error = got.error
    if error is not None and error.origin == "transport":
        raised = type(error.exception).__name__
        if raised not in RAISES[sdk].split():
            return f"{name}: raised {raised}: {str(error.exception)[:100]}"
        told = want.error
        if told is not None and error.raw is not None and error.type != told.type:
            return f"{name}: raised with {error!r} where the server said {told!r}"
        if not want.text.startswith(got.text):
            return f"{name}: text lost before {raised}"
        return None
    allowed = {field for drop in DROPS[sdk] if drop.applies(name, body) for field in drop.fields.split()}
    if allowed & {"text", "reasoning", "refusal", "tool_calls", "annotations"}:
        allowed.add("parts")
    if allowed & {"parts", "finish_reason", "native_finish_reason", "logprobs"}:
        allowed.add("choices")
    wrong = different(want, got) - allowed
    return f"{name}: {sorted(wrong)}" if wrong else None


def available(sdk):
    if SDKS[sdk].dialect not in dialects.names():
        pytest.skip(f"no dialect {SDKS[sdk].dialect}")
    return SDKS[sdk]


def close(stream):
    """
    Streams that were given up in the middle are closed here: the garbage collector may come when the pool of
    connections is locked, and then waits for ever.
    """
    with contextlib.suppress(Exception):
        stream.close()


async def aclose(stream):
    with contextlib.suppress(Exception):
        await (stream.aclose() if hasattr(stream, "aclose") else stream.close())


@pytest.fixture(autouse=True)
def quiet():
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("sdk", SDKS)
def test_objects(sdk, server, sdks):
    """The objects one by one, as out of any generator."""
    wrong = []
    for name, body in streams(available(sdk)):
        want = chunkfold.fold(body, SDKS[sdk].dialect)
        server.play(body, SDKS[sdk].kind, step=4000)
        stream = sdks.stream(sdk)
        got = chunkfold.fold((item for item in stream), SDKS[sdk].dialect)
        close(stream)
        wrong.append(complaints(sdk, name, body, want, got))
    assert len(wrong) > 5
    wrong = [line for line in wrong if line]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("sdk", [name for name, sdk in SDKS.items() if sdk.is_direct])
def test_stream_itself(sdk, server, sdks):
    """The SDK's own stream, beneath which lie the bytes: nothing is dropped."""
    wrong = []
    for name, body in streams(available(sdk)):
        want = chunkfold.fold(body, SDKS[sdk].dialect)
        server.play(body, SDKS[sdk].kind, step=4000)
        stream = sdks.stream(sdk)
        got = chunkfold.fold(stream, SDKS[sdk].dialect)
        wrong += [f"{name}: {sorted(different(want, got))}"] if got != want else []
        assert getattr(stream, "response", stream) is not None
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("sdk", [name for name, sdk in SDKS.items() if sdk.has_async])
def test_async_clients(sdk, server):
    """Cases alone: the asynchronous clients give the same objects, and their streams the same bytes."""
    chosen = [(name, body) for name, body in streams(available(sdk)) if "/" not in name][::4]

    async def run():
        clients = AsyncClients(server.url)
        wrong = []
        for name, body in chosen:
            want = chunkfold.fold(body, SDKS[sdk].dialect)
            server.play(body, SDKS[sdk].kind)
            stream = await clients.stream(sdk)
            got = await chunkfold.afold((item async for item in stream), SDKS[sdk].dialect)
            await aclose(stream)
            wrong.append(complaints(sdk, name, body, want, got))
            if SDKS[sdk].is_direct:
                got = await chunkfold.afold(await clients.stream(sdk), SDKS[sdk].dialect)
                wrong += [f"{name}: the stream itself: {sorted(different(want, got))}"] if got != want else []
        await clients.close()
        return [line for line in wrong if line]

    wrong = asyncio.run(run())
    assert chosen
    assert not wrong, "\n".join(wrong)


def test_objects_go_into_a_folder_one_by_one(server, sdks):
    name, body = next(streams(SDKS["openai-chat"]))
    server.play(body)
    folder = chunkfold.Folder()
    for item in sdks.stream("openai-chat"):
        folder.feed(item)
    assert folder.close().text == chunkfold.fold(body).text, name


def test_a_stream_that_somebody_wrapped_is_iterated_over(server, sdks):
    """A tracer that counts the items must not be passed by."""
    _, body = next(streams(SDKS["openai-chat"]))
    server.play(body)
    stream = sdks.stream("openai-chat")
    seen = []

    class Traced:
        def __init__(self):
            self._iterator = iter(stream)

        def __iter__(self):
            for item in self._iterator:
                seen.append(item)
                yield item

        def __getattr__(self, name):
            return getattr(stream, name)

    assert chunkfold.fold(Traced()).text == chunkfold.fold(body).text
    assert seen
