"""
The vendors' own ways from the bytes of a stream to the message, each through its own client over a transport that has
the bytes at hand.

    python bench/peers.py PEER PROTOCOL      a worker: commands on stdin, answers on stdout, one JSON object a line

`make bench-peers` runs them; see `peers_report.py`. A peer is measured in a process of its own, with what it imports and
nothing else. What it makes of the bytes is compared with what chunkfold folds from the same bytes.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import pickle
import statistics
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parent))

import floors
import run as bench

import chunkfold

# litellm would fetch its list of prices when it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

KEY = "none"
MESSAGES = [{"role": "user", "content": "hi"}]
OPENAI, ANTHROPIC, GEMINI = "gpt-4.1", "claude-sonnet-4-5", "gemini-2.5-flash"

# Text, reasoning, and the arguments of each call.
Seen = tuple[str, str, list[Any]]

served: list[bytes] = []


def serve(pieces: list[bytes]) -> list[bytes]:
    """Let the next request be answered with *pieces*, one a read."""
    served[:] = pieces
    return pieces


class Way(NamedTuple):
    run: Callable[[Any], Any]
    """What is timed; it is given what `prepare` returned."""
    seen: Callable[[Any], Seen]
    prepare: Callable[[list[bytes]], Any] = serve


@dataclass(frozen=True)
class Peer:
    name: str
    does: str
    imports: str
    """The statement whose time is the import time, or nothing."""
    installs: str
    """The requirement whose distributions are counted, or nothing."""
    protocols: tuple[str, ...]
    way: Callable[[str], Way]


PEERS: dict[str, Peer] = {}


def peer(
    name: str, *protocols: str, does: str, imports: str = "", installs: str = ""
) -> Callable[[Callable[[str], Way]], Callable[[str], Way]]:
    def register(way: Callable[[str], Way]) -> Callable[[str], Way]:
        PEERS[name] = Peer(name, does, imports, installs, protocols, way)
        return way

    return register


def client(httpx: Any) -> Any:
    """A client of httpx or of httpx2 whose server answers with what is served."""

    class Body(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            return iter(served)

    def answer(_: Any) -> Any:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    return httpx.Client(transport=httpx.MockTransport(answer))


def async_client(httpx: Any) -> Any:
    class Body(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for piece in served:
                yield piece

    def answer(_: Any) -> Any:
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


def openai_client() -> Any:
    import httpx2
    import openai

    return openai.OpenAI(api_key=KEY, http_client=client(httpx2))


def anthropic_client() -> Any:
    import anthropic
    import httpx2

    return anthropic.Anthropic(api_key=KEY, http_client=client(httpx2))


# What people write around typed chunks when nothing puts them together for them.


def chat_loop(chunks: Iterable[Any]) -> Seen:
    text, reasoning, calls = [], [], {}
    for chunk in chunks:
        for choice in chunk.choices:
            delta = choice.delta
            if delta.content:
                text.append(delta.content)
            if thought := getattr(delta, "reasoning_content", None):
                reasoning.append(thought)
            for call in delta.tool_calls or ():
                calls.setdefault(call.index, []).append(call.function.arguments or "")
    return "".join(text), "".join(reasoning), ["".join(pieces) for pieces in calls.values()]


def messages_loop(stream: Iterable[Any]) -> Seen:
    text, reasoning, calls = [], [], {}
    for event in stream:
        if event.type == "content_block_delta":
            delta = event.delta
            if delta.type == "text_delta":
                text.append(delta.text)
            elif delta.type == "thinking_delta":
                reasoning.append(delta.thinking)
            elif delta.type == "input_json_delta":
                calls.setdefault(event.index, []).append(delta.partial_json)
    return "".join(text), "".join(reasoning), ["".join(pieces) for pieces in calls.values()]


def responses_loop(stream: Iterable[Any]) -> Seen:
    text, reasoning, calls = [], [], {}
    for event in stream:
        if event.type == "response.output_text.delta":
            text.append(event.delta)
        elif event.type == "response.reasoning_summary_text.delta":
            reasoning.append(event.delta)
        elif event.type == "response.function_call_arguments.delta":
            calls.setdefault(event.output_index, []).append(event.delta)
    return "".join(text), "".join(reasoning), ["".join(pieces) for pieces in calls.values()]


def gemini_parts(parts: Iterable[Any]) -> Seen:
    text, reasoning = [], []
    for part in parts:
        (reasoning if part.thought else text).append(part.text or "")
    return "".join(text), "".join(reasoning), []


def chat_message(message: Any) -> Seen:
    """What is in the message of a whole answer, an object or a dict."""
    if not isinstance(message, dict):
        message = message.model_dump()
    calls = [call["function"]["arguments"] for call in message.get("tool_calls") or ()]
    return message.get("content") or "", message.get("reasoning_content") or "", calls


def as_it_is(result: Any) -> Any:
    return result


# Ours, and what people write by hand.


def folded(response: chunkfold.Response) -> Seen:
    return response.text, response.reasoning, [call.raw_arguments for call in response.tool_calls]


EVERYWHERE = ("openai", "anthropic", "responses", "gemini")


@peer(
    "chunkfold `fold`",
    *EVERYWHERE,
    does="`fold` of the pieces",
    imports="from chunkfold import fold",
    installs="chunkfold",
)
def fold(_: str) -> Way:
    return Way(bench.fold, folded)


@peer("chunkfold `stream`", *EVERYWHERE, does="`stream` of the pieces, all events looked at")
def stream(_: str) -> Way:
    return Way(bench.stream, folded)


@peer("chunkfold over httpx2", *EVERYWHERE, does="`fold` of the response of an httpx2 client, as the SDKs have it")
def fold_response(_: str) -> Way:
    import httpx2

    web = client(httpx2)

    def run(_: Any) -> chunkfold.Response:
        with web.stream("POST", "http://x/") as response:
            return chunkfold.fold(response)

    return Way(run, folded)


@peer("30-line accumulator", *EVERYWHERE, does="the loop of the tables above, over the pieces")
def accumulator(protocol: str) -> Way:
    return Way(floors.accumulator(protocol), as_it_is)


# OpenAI


@peer(
    "openai `create`",
    "openai",
    "responses",
    does="`create(stream=True)`, the pieces of the chunks appended in a loop by hand",
    imports="from openai import OpenAI",
    installs="openai",
)
def openai_create(protocol: str) -> Way:
    sdk = openai_client()

    def chat(_: Any) -> Seen:
        return chat_loop(sdk.chat.completions.create(model=OPENAI, messages=MESSAGES, stream=True))

    def responses(_: Any) -> Seen:
        return responses_loop(sdk.responses.create(model=OPENAI, input="hi", stream=True))

    return Way(chat if protocol == "openai" else responses, as_it_is)


@peer(
    "openai `stream()`",
    "openai",
    "responses",
    does="`stream()`, then `get_final_completion()` or `get_final_response()`",
)
def openai_stream(protocol: str) -> Way:
    sdk = openai_client()

    def chat(_: Any) -> Any:
        with sdk.chat.completions.stream(model=OPENAI, messages=MESSAGES) as events:
            return events.get_final_completion()

    def responses(_: Any) -> Any:
        with sdk.responses.stream(model=OPENAI, input="hi") as events:
            return events.get_final_response()

    def output(response: Any) -> Seen:
        items = response.output
        text = [part.text for item in items if item.type == "message" for part in item.content]
        reasoning = [part.text for item in items if item.type == "reasoning" for part in item.summary]
        return "".join(text), "".join(reasoning), [item.arguments for item in items if item.type == "function_call"]

    if protocol == "openai":
        return Way(chat, lambda completion: chat_message(completion.choices[0].message))
    return Way(responses, output)


# Anthropic


@peer(
    "anthropic `create`",
    "anthropic",
    does="`create(stream=True)`, the deltas of the events appended in a loop by hand",
    imports="from anthropic import Anthropic",
    installs="anthropic",
)
def anthropic_create(_: str) -> Way:
    create = anthropic_client().messages.create

    def run(_: Any) -> Seen:
        return messages_loop(create(model=ANTHROPIC, max_tokens=64_000, messages=MESSAGES, stream=True))

    return Way(run, as_it_is)


@peer("anthropic `stream()`", "anthropic", does="`stream()`, then `get_final_message()`")
def anthropic_stream(_: str) -> Way:
    sdk = anthropic_client()

    def run(_: Any) -> Any:
        with sdk.messages.stream(model=ANTHROPIC, max_tokens=64_000, messages=MESSAGES) as events:
            return events.get_final_message()

    def seen(message: Any) -> Seen:
        blocks = message.content
        text = [block.text for block in blocks if block.type == "text"]
        reasoning = [block.thinking for block in blocks if block.type == "thinking"]
        return "".join(text), "".join(reasoning), [block.input for block in blocks if block.type == "tool_use"]

    return Way(run, seen)


# Google, Mistral


def google_client() -> Any:
    import httpx2
    from google import genai

    options = genai.types.HttpOptions(httpx_client=client(httpx2))
    return genai.Client(api_key=KEY, http_options=options)


@peer(
    "google-genai `generate_content_stream`",
    "gemini",
    does="`generate_content_stream`, the parts of the chunks appended in a loop by hand",
    imports="from google import genai",
    installs="google-genai",
)
def google_stream(_: str) -> Way:
    models = google_client().models

    def run(_: Any) -> Seen:
        chunks = models.generate_content_stream(model=GEMINI, contents="hi")
        return gemini_parts(part for chunk in chunks for part in chunk.candidates[0].content.parts)

    return Way(run, as_it_is)


@peer("google-genai `chats`", "gemini", does="`send_message_stream` of a chat, then the history that it keeps")
def google_chat(_: str) -> Way:
    chats = google_client().chats

    def run(_: Any) -> Any:
        chat = chats.create(model=GEMINI)
        for _chunk in chat.send_message_stream("hi"):
            pass
        return chat.get_history()

    return Way(run, lambda history: gemini_parts(part for turn in history[1:] for part in turn.parts))


@peer(
    "mistralai `chat.stream`",
    "openai",
    does="`chat.stream`, the pieces of the events appended in a loop by hand",
    imports="from mistralai.client import Mistral",
    installs="mistralai",
)
def mistral(_: str) -> Way:
    import httpx
    from mistralai.client import Mistral

    chat = Mistral(api_key=KEY, client=client(httpx)).chat

    def run(_: Any) -> Seen:
        return chat_loop(event.data for event in chat.stream(model="mistral-large", messages=MESSAGES))

    return Way(run, as_it_is)


# Those who put the vendors under one roof


def litellm_chunks() -> Callable[[], list[Any]]:
    import litellm

    sdk = openai_client()
    return lambda: list(litellm.completion(model=f"openai/{OPENAI}", messages=MESSAGES, stream=True, client=sdk))


@peer(
    "litellm",
    "openai",
    does="`completion(stream=True)`, then `stream_chunk_builder` of all chunks",
    imports="from litellm import completion, stream_chunk_builder",
    installs="litellm",
)
def litellm_both(_: str) -> Way:
    from litellm import stream_chunk_builder

    chunks = litellm_chunks()
    return Way(
        lambda _: stream_chunk_builder(chunks(), messages=MESSAGES),
        lambda answer: chat_message(answer.choices[0].message),
    )


@peer("litellm's builder alone", "openai", does="`stream_chunk_builder` of chunks that were made before the clock ran")
def litellm_builder(_: str) -> Way:
    from litellm import stream_chunk_builder

    chunks = litellm_chunks()

    def prepare(pieces: list[bytes]) -> list[Any]:
        serve(pieces)
        return chunks()

    return Way(
        lambda ready: stream_chunk_builder(ready, messages=MESSAGES),
        lambda answer: chat_message(answer.choices[0].message),
        prepare,
    )


def langchain_model(protocol: str) -> Any:
    if protocol == "anthropic":
        from langchain_anthropic import ChatAnthropic

        model = ChatAnthropic(model=ANTHROPIC, max_tokens=64_000, api_key=KEY, cache=False)
        # It takes no HTTP client; this is where it keeps the vendor's client.
        model.__dict__["_client"] = anthropic_client()
        return model
    import httpx2
    from langchain_openai import ChatOpenAI

    more = {"use_responses_api": True} if protocol == "responses" else {}
    return ChatOpenAI(model=OPENAI, api_key=KEY, http_client=client(httpx2), cache=False, **more)


@peer(
    "langchain",
    "openai",
    "anthropic",
    "responses",
    does="`stream` of the chat model, all chunks added with `+`",
    imports="from langchain_openai import ChatOpenAI",
    installs="langchain-openai",
)
def langchain(protocol: str) -> Way:
    model = langchain_model(protocol)

    def run(_: Any) -> Any:
        whole = None
        for chunk in model.stream("hi"):
            whole = chunk if whole is None else whole + chunk
        return whole

    def seen(message: Any) -> Seen:
        content = [message.content] if isinstance(message.content, str) else message.content
        blocks = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
        text = [block.get("text", "") for block in blocks if block["type"] == "text"]
        reasoning = [block.get("thinking", "") for block in blocks if block["type"] == "thinking"]
        reasoning += [
            part.get("text", "")
            for block in blocks
            if block["type"] == "reasoning"
            for part in block.get("summary", ())
        ]
        return "".join(text), "".join(reasoning), [call["args"] for call in message.tool_call_chunks]

    return Way(run, seen)


def pydantic_model(protocol: str) -> Any:
    import httpx2

    if protocol == "anthropic":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        sdk = AsyncAnthropic(api_key=KEY, http_client=async_client(httpx2))
        return AnthropicModel(ANTHROPIC, provider=AnthropicProvider(anthropic_client=sdk))
    from openai import AsyncOpenAI
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    sdk = AsyncOpenAI(api_key=KEY, http_client=async_client(httpx2))
    model = OpenAIChatModel if protocol == "openai" else OpenAIResponsesModel
    return model(OPENAI, provider=OpenAIProvider(openai_client=sdk))


@peer(
    "pydantic-ai",
    "openai",
    "anthropic",
    "responses",
    does="`model_request_stream`, all events looked at, then `get()`; asynchronous",
    imports="from pydantic_ai.direct import model_request_stream; from pydantic_ai.models.openai import OpenAIChatModel",
    installs="pydantic-ai-slim[openai]",
)
def pydantic_ai(protocol: str) -> Way:
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest

    model = pydantic_model(protocol)
    loop = asyncio.new_event_loop()

    async def ask() -> Any:
        async with model_request_stream(model, [ModelRequest.user_text_prompt("hi")]) as events:
            async for _event in events:
                pass
            return events.get()

    def seen(response: Any) -> Seen:
        kinds: dict[str, list[Any]] = {"text": [], "thinking": [], "tool-call": []}
        for part in response.parts:
            kinds[part.part_kind].append(part.args if part.part_kind == "tool-call" else part.content)
        return "".join(kinds["text"]), "".join(kinds["thinking"]), kinds["tool-call"]

    return Way(lambda _: loop.run_until_complete(ask()), seen)


# Those who listen: `create` of the vendor is iterated, and the span has the message.


def spans_of(instrumentor: Any) -> Callable[[Any], Any]:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    instrumentor.instrument(tracer_provider=provider)
    create = openai_client().chat.completions.create

    def run(_: Any) -> Any:
        exporter.clear()
        for _chunk in create(model=OPENAI, messages=MESSAGES, stream=True):
            pass
        return exporter.get_finished_spans()[0]

    return run


@peer(
    "openinference",
    "openai",
    does="openai `create` iterated under its instrumentation; the span of the SDK of OpenTelemetry",
    imports="from openinference.instrumentation.openai import OpenAIInstrumentor",
    installs="openinference-instrumentation-openai",
)
def openinference(_: str) -> Way:
    from openinference.instrumentation.openai import OpenAIInstrumentor

    def seen(span: Any) -> Seen:
        return chat_message(json.loads(span.attributes["output.value"])["choices"][0]["message"])

    return Way(spans_of(OpenAIInstrumentor()), seen)


@peer(
    "openllmetry",
    "openai",
    does="the same under that of OpenLLMetry",
    imports="from opentelemetry.instrumentation.openai import OpenAIInstrumentor",
    installs="opentelemetry-instrumentation-openai",
)
def openllmetry(_: str) -> Way:
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    def seen(span: Any) -> Seen:
        parts = json.loads(span.attributes["gen_ai.output.messages"])[0]["parts"]
        text = [part["content"] for part in parts if part["type"] == "text"]
        reasoning = [part["content"] for part in parts if part["type"] == "reasoning"]
        return "".join(text), "".join(reasoning), [part["arguments"] for part in parts if part["type"] == "tool_call"]

    return Way(spans_of(OpenAIInstrumentor()), seen)


# The worker


def difference(theirs: Seen, ours: Seen) -> str:
    """What of *theirs* is not as in *ours*, in a few words; empty when all is."""
    said = []
    for what, their, our in zip(
        ("text", "reasoning", "calls"), map(comparable, theirs), map(comparable, ours), strict=True
    ):
        if their != our:
            said.append(f"{'other' if their else 'no'} {what}")
    return ", ".join(said)


def comparable(value: Any) -> Any:
    """Arguments are compared as values, so that it does not matter whether a peer parses them."""
    if isinstance(value, str):
        return value
    return [parsed(call) if isinstance(call, str) else call for call in value]


def parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


class Worker:
    def __init__(self, name: str, protocol: str) -> None:
        self.way = PEERS[name].way(protocol)
        self.path = ""

    def serve(self, path: str) -> None:
        """Take the case that is pickled at *path*: to make a long one takes longer than most runs."""
        if self.path != path:
            self.case = pickle.loads(Path(path).read_bytes())
            self.ready = self.way.prepare(self.case.chunks)
            self.path = path

    def check(self, path: str) -> dict[str, Any]:
        """Run once and compare with what chunkfold makes of the same bytes, which the generator vouches for."""
        begun = time.thread_time()
        self.serve(path)
        prepared = time.thread_time() - begun
        gc.collect()
        begun = time.thread_time()
        result = self.way.run(self.ready)
        taken = time.thread_time() - begun
        ours = bench.fold(self.case.chunks)
        bench.check(self.case, ours)
        return {"seconds": taken, "prepared": prepared, "differs": difference(self.way.seen(result), folded(ours))}

    def measure(self, path: str, repeat: int) -> dict[str, Any]:
        self.serve(path)
        gc.collect()
        times = []
        for _ in range(repeat):
            begun = time.thread_time()
            self.way.run(self.ready)
            times.append(time.thread_time() - begun)
        return {"seconds": statistics.median(times)}

    def memory(self, path: str) -> dict[str, Any]:
        self.serve(path)
        gc.collect()
        tracemalloc.start()
        start = tracemalloc.get_traced_memory()[0]
        self.way.run(self.ready)
        peak = tracemalloc.get_traced_memory()[1] - start
        tracemalloc.stop()
        return {"peak": peak}


def main() -> None:
    # What a library prints must not come between the answers.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = None
    for line in sys.stdin:
        command = json.loads(line)
        try:
            worker = worker or Worker(*sys.argv[1:])
            answer = getattr(worker, command.pop("do"))(**command)
        except Exception as error:  # noqa: BLE001 - whatever a peer raises is what it does with these bytes
            answer = {"error": type(error).__name__}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
