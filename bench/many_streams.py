"""
A thousand streams at once in one process, a tenth of them faulty: what one costs in time and memory.

    python bench/many_streams.py [--streams N]

The server is a process of its own. Three ways of reading are compared, each in a fresh process: the bytes alone,
`chunkfold.astream`, and `resilience.astream` with all timeouts and a limiter. Every answer is checked against what the
server was told to play; one that is not whole ends the run with an error.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

WORDS = 200
FAULTS = ("cut", "reset", "close", "refuse", "status", "hold")
# What a connection that hangs is waited for; the others answer long before.
FIRST = 10.0


def answer() -> bytes:
    frames = [{"role": "assistant", "content": ""}, *({"content": f" word{number}"} for number in range(WORDS))]
    body = [_frame(delta) for delta in frames]
    usage = {"prompt_tokens": 9, "completion_tokens": WORDS, "total_tokens": 9 + WORDS}
    return b"".join([*body, _frame({}, "stop"), _frame(None, usage=usage), b"data: [DONE]\n\n"])


def _frame(delta: dict[str, Any] | None, reason: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
    payload = {"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": choices, **more}
    return b"data: %s\n\n" % json.dumps(payload).encode()


TEXT = "".join(f" word{number}" for number in range(WORDS))


def serve(streams: int, faulty: bool) -> None:
    """Play a script for each stream; the first request of every tenth meets a fault before its first output."""
    from tests.resilience.server import FaultServer, Play

    server = FaultServer()
    server.start()
    body = answer()
    # Pauses, so that all streams are open at the same time.
    whole = Play(body, pauses=((len(body) // 3, 0.3), (2 * len(body) // 3, 0.3)), step=400)
    for number in range(streams):
        plays = [whole]
        if faulty and number % 10 == 0:
            fault = FAULTS[number // 10 % len(FAULTS)]
            first = Play(status=503) if fault == "status" else Play(b": ping\n\n", fault)
            plays = [first, whole]
        server.script(plays)
    print(server.port, flush=True)
    sys.stdin.read()
    server.stop()


async def read_bytes(url: str) -> int:
    from tests.resilience.clients import async_get

    reply = await async_get(url)
    size = 0
    async for piece in reply.content.iter_any():
        size += len(piece)
    reply.close()
    if size != len(answer()):
        raise SystemExit("bytes were lost")
    return 0


async def read_plain(url: str) -> int:
    import chunkfold
    from tests.resilience.clients import async_get

    async with chunkfold.astream(await async_get(url)) as stream:
        return check([event async for event in stream], stream)


def resilient(limiter: Any) -> Any:
    from chunkfold import resilience
    from tests.resilience.clients import async_get

    timeouts = resilience.Timeouts(first=FIRST, idle=30, total=120)
    retry = resilience.Retry(times=5, base=0.05)
    limits = resilience.RateLimitRetry(default=0.05)

    async def read(url: str) -> int:
        stream = resilience.astream(
            lambda: async_get(url), timeouts=timeouts, retry=retry, rate_limits=limits, limiter=limiter
        )
        async with stream:
            check([event async for event in stream], stream)
        return len(stream.attempts) - 1

    return read


def check(events: list[Any], stream: Any) -> int:
    from chunkfold.events import MessageReset, TextDelta

    text = "".join(event.text for event in events if isinstance(event, TextDelta))
    response = stream.response()
    resets = sum(isinstance(event, MessageReset) for event in events)
    if (text, response.text, response.ended, resets) != (TEXT, TEXT, "clean", 0):
        raise SystemExit(f"an answer is not whole: {response!r}")
    return 0


def measure(way: str, port: int, streams: int) -> None:
    """Read all streams at once and print what it took."""
    from chunkfold import resilience

    read = {"bytes": read_bytes, "astream": read_plain}.get(way)
    if read is None:
        read = resilient(resilience.RateLimiter(requests=streams * 60, tokens=streams * 60_000))

    async def main() -> int:
        urls = [f"http://127.0.0.1:{port}/{number}" for number in range(streams)]
        return sum(await asyncio.gather(*map(read, urls)))

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun, cpu = time.monotonic(), time.process_time()
    repeated = asyncio.run(main())
    spent = {
        "seconds": time.monotonic() - begun,
        "cpu_ms": (time.process_time() - cpu) * 1000 / streams,
        "kib": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / streams,
        "repeated": repeated,
    }
    print(json.dumps(spent))


def run(way: str, streams: int, faulty: bool) -> dict[str, float]:
    script = [sys.executable, __file__, "--streams", str(streams)]
    with subprocess.Popen(
        [*script, "--serve", "faulty" if faulty else "whole"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as server:
        try:
            port = server.stdout.readline().strip() if server.stdout else ""
            measured = subprocess.run(
                [*script, "--measure", way, "--port", port], capture_output=True, text=True, check=True, timeout=300
            )
        finally:
            if server.stdin:
                server.stdin.close()
            server.wait(30)
    return json.loads(measured.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--serve")
    parser.add_argument("--measure")
    parser.add_argument("--port", type=int)
    given = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 4 * given.streams)), hard))
    if given.serve:
        serve(given.streams, given.serve == "faulty")
    elif given.measure:
        measure(given.measure, given.port, given.streams)
    else:
        print(f"{given.streams} streams of {WORDS} deltas ({len(answer()) / 1024:.0f} KiB) at once\n")
        print(f"{'read by':34} {'CPU, ms':>8} {'memory, KiB':>12} {'repeated':>9} {'seconds':>8}")
        for way, faulty in (("bytes", False), ("astream", False), ("resilience", False), ("resilience", True)):
            got = run(way, given.streams, faulty)
            name = f"{way}{', a tenth faulty' if faulty else ''}"
            print(f"{name:34} {got['cpu_ms']:8.2f} {got['kib']:12.1f} {got['repeated']:9.0f} {got['seconds']:8.2f}")


if __name__ == "__main__":
    main()
