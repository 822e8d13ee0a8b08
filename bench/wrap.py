"""
What `wrap` adds to iterating over a vendor's stream, a chunk.

    python bench/wrap.py [--quick]

Needs the SDKs (`make test-sdks` makes an environment that has them). The clients are the real ones over a transport
that has the bytes at hand; plain and wrapped take turns, in thread CPU time, and the median of the differences of
neighbours is shown. `stand-in` is a stream that hands out its bytes as they are: what `wrap` costs with the least noise.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import chunkfold
import streams

MESSAGES = [{"role": "user", "content": "hi"}]


class Client:
    """A client of one SDK whose server answers with the events of *case*, one a read."""

    def __init__(self, case: streams.Case) -> None:
        self.chunks = case.chunks

    def httpx(self) -> Any:
        import httpx2

        chunks = self.chunks

        class Body(httpx2.SyncByteStream):
            def __iter__(self) -> Iterator[bytes]:
                yield from chunks

        def answer(_: Any) -> Any:
            return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Body())

        return httpx2.Client(transport=httpx2.MockTransport(answer))


class OpenAI(Client):
    def __init__(self, case: streams.Case) -> None:
        import openai

        super().__init__(case)
        self.client = openai.OpenAI(base_url="http://x/v1", api_key="none", http_client=self.httpx())

    def stream(self) -> Any:
        return self.client.chat.completions.create(model="m", messages=MESSAGES, stream=True)


class Anthropic(Client):
    def __init__(self, case: streams.Case) -> None:
        import anthropic

        super().__init__(case)
        self.client = anthropic.Anthropic(base_url="http://x", api_key="none", http_client=self.httpx())

    def stream(self) -> Any:
        return self.client.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True)


class StandIn(Client):
    def stream(self) -> Any:
        return _Stream(_Response(self.chunks))


class _Response:
    is_stream_consumed = False
    num_bytes_downloaded = 0

    def __init__(self, chunks: list[bytes]) -> None:
        self.chunks = chunks

    def iter_bytes(self) -> Iterator[bytes]:
        yield from self.chunks

    def aiter_bytes(self) -> None:
        raise NotImplementedError


class _Stream:
    def __init__(self, response: _Response) -> None:
        self.response = response

    def __iter__(self) -> Iterator[bytes]:
        yield from self.response.iter_bytes()


def plain(client: Any) -> None:
    for _ in client.stream():
        pass


def wrapped(client: Any) -> chunkfold.Response:
    stream, fold = chunkfold.wrap(client.stream())
    for _ in stream:
        pass
    if fold.error is not None:
        raise fold.error
    return fold.response()


def cpu_time(run: Callable[[Any], Any], client: Any) -> float:
    gc.collect()
    begun = time.thread_time()
    run(client)
    return time.thread_time() - begun


def measure(make: type[Client], protocol: str, scenario: str, n: int, rounds: int) -> tuple[float, float]:
    """Microseconds a chunk: of the plain loop, and what `wrap` adds."""
    case = streams.make(protocol, scenario, n)
    client = make(case)
    response = wrapped(client)
    if response.text != case.text or len(response.tool_calls) != len(case.tools):
        raise SystemExit("the fold gave another message than the generator put in")
    bases, added = [], []
    for _ in range(rounds):
        before, between, after = cpu_time(plain, client), cpu_time(wrapped, client), cpu_time(plain, client)
        bases.append((before + after) / 2)
        added.append(between - (before + after) / 2)
    scale = 1e6 / len(case.chunks)
    return statistics.median(bases) * scale, statistics.median(added) * scale


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what wrap adds to a vendor's stream.")
    parser.add_argument("--quick", action="store_true", help="short streams, few rounds")
    options = parser.parse_args()
    n, rounds = (300, 5) if options.quick else (2_000, 25)
    print(f"chunkfold {chunkfold.__version__}, Python {sys.version.split()[0]}; µs a chunk, n = {n:,}\n")
    print("| stream | content | plain | wrap adds |")
    print("|---|---|--:|--:|")
    rows = [(StandIn, "openai", "stand-in (openai)"), (StandIn, "anthropic", "stand-in (anthropic)")]
    rows += [(OpenAI, "openai", "openai"), (Anthropic, "anthropic", "anthropic")]
    for make, protocol, name in rows:
        for scenario in ("text", "tool1"):
            base, added = measure(make, protocol, scenario, n, rounds)
            print(f"| {name} | {scenario} | {base:.1f} | {added:.2f} |", flush=True)


if __name__ == "__main__":
    main()
