"""
How much the fold costs beside the floors on the same bytes.

    python bench/run.py [--quick] [--json FILE]

Rounds are interleaved and the median of each is taken, in thread CPU time; what counts are the ratios. Every result is
checked against what the generator put in. Sections: cost of a delta, growth with the length, peak memory.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import floors

import chunkfold
import streams

SCENARIOS = ("text", "reasoning", "tool1", "tool8")
# Beside these two the dialects that exist are measured too.
PROTOCOLS = {"openai": "openai-chat", "anthropic": "anthropic-messages", "responses": "openai-responses"}
PROTOCOLS |= {"gemini": "gemini", "bedrock": "bedrock-converse"}
READS = ("event", "whole", "16 bytes")


def known_protocols() -> list[str]:
    from chunkfold import dialects

    return [protocol for protocol, dialect in PROTOCOLS.items() if dialect in dialects.names()]


def cut(case: streams.Case, reads: str) -> list[bytes]:
    if reads == "event":
        return case.chunks
    body = case.body
    if reads == "whole":
        return [body]
    return [body[at : at + 16] for at in range(0, len(body), 16)]


def fold(pieces: list[bytes]) -> chunkfold.Response:
    return chunkfold.fold(iter(pieces))


def stream(pieces: list[bytes]) -> chunkfold.Response:
    events = chunkfold.stream(iter(pieces))
    for _ in events:
        pass
    return events.response()


def check(case: streams.Case, response: chunkfold.Response) -> None:
    calls = [call.raw_arguments for call in response.tool_calls]
    same_calls = calls == case.tools or [json.loads(call) for call in calls] == [
        json.loads(call) for call in case.tools
    ]
    if response.text != case.text or response.reasoning != case.reasoning or not same_calls:
        raise SystemExit("the fold gave another message than the generator put in")


def cpu_time(run: Callable[[], Any]) -> float:
    gc.collect()
    begun = time.thread_time()
    run()
    return time.thread_time() - begun


def medians(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median time of each, over rounds in which all take their turn."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            times[name].append(cpu_time(run))
    return {name: statistics.median(taken) for name, taken in times.items()}


def contenders(protocol: str, pieces: list[bytes]) -> dict[str, Callable[[], Any]]:
    runs: dict[str, Callable[[], Any]] = {}
    for name, make in floors.FLOORS.items():
        floor = make(protocol)
        runs[name] = lambda floor=floor: floor(pieces)
    runs["fold"] = lambda: fold(pieces)
    runs["stream"] = lambda: stream(pieces)
    return runs


def cost_of_a_delta(protocols: list[str], n: int, rounds: int) -> list[dict[str, Any]]:
    print(f"\n## Cost of a delta (n = {n:,}; µs for the accumulator, ratios to it for the others)\n")
    print("| dialect | content | reads | accumulator µs | split | decode | fold | stream |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    rows = []
    for protocol in protocols:
        for scenario in SCENARIOS:
            if protocol == "gemini" and scenario.startswith("tool"):
                continue  # Gemini sends calls whole
            case = streams.make(protocol, scenario, n)
            check(case, fold(case.chunks))
            for reads in READS:
                found = medians(contenders(protocol, cut(case, reads)), rounds)
                base = found["accumulator"]
                ratios = {name: found[name] / base for name in ("split", "decode", "fold", "stream")}
                rows.append({"dialect": PROTOCOLS[protocol], "content": scenario, "reads": reads, **ratios})
                shown = " | ".join(f"{ratio:.2f}" for ratio in ratios.values())
                print(f"| {PROTOCOLS[protocol]} | {scenario} | {reads} | {base / n * 1e6:.2f} | {shown} |", flush=True)
    return rows


def growth(protocols: list[str], sizes: list[int], rounds: int) -> list[dict[str, Any]]:
    print(f"\n## Growth (exponent of the time over n = {sizes[0]:,} to {sizes[-1]:,}; 1 is linear)\n")
    print("| dialect | content | accumulator | fold |")
    print("|---|---|--:|--:|")
    rows = []
    for protocol in protocols:
        for scenario in ("text", "tool1"):
            if protocol == "gemini" and scenario == "tool1":
                continue
            found = []
            for n in sizes:
                case = streams.make(protocol, scenario, n)
                runs = contenders(protocol, case.chunks)
                found.append(medians({name: runs[name] for name in ("accumulator", "fold")}, rounds))
            exponents = {name: slope(sizes, [times[name] for times in found]) for name in ("accumulator", "fold")}
            rows.append({"dialect": PROTOCOLS[protocol], "content": scenario, **exponents})
            shown = " | ".join(f"{exponent:.3f}" for exponent in exponents.values())
            print(f"| {PROTOCOLS[protocol]} | {scenario} | {shown} |", flush=True)
    return rows


def slope(sizes: list[int], times: list[float]) -> float:
    """The slope of a straight line through the logarithms."""
    xs, ys = [math.log(n) for n in sizes], [math.log(taken) for taken in times]
    return statistics.linear_regression(xs, ys).slope


def peak_memory(protocols: list[str], n: int) -> list[dict[str, Any]]:
    print(f"\n## Peak memory (n = {n:,}, one event a read; bytes above the start, by tracemalloc)\n")
    print("| dialect | content | message bytes | fold peak | times | bytes a delta |")
    print("|---|---|--:|--:|--:|--:|")
    rows = []
    for protocol in protocols:
        for scenario in ("text", "reasoning", "tool1", "tool8"):
            if protocol == "gemini" and scenario.startswith("tool"):
                continue
            case = streams.make(protocol, scenario, n)
            size = len((case.text + case.reasoning + "".join(case.tools)).encode())
            gc.collect()
            tracemalloc.start()
            start = tracemalloc.get_traced_memory()[0]
            response = fold(case.chunks)
            peak = tracemalloc.get_traced_memory()[1] - start
            tracemalloc.stop()
            check(case, response)
            rows.append({"dialect": PROTOCOLS[protocol], "content": scenario, "message": size, "peak": peak})
            times = f"{peak / size:.2f} | {peak / n:.0f}"
            print(f"| {PROTOCOLS[protocol]} | {scenario} | {size:,} | {peak:,} | {times} |", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the fold against its floors.")
    parser.add_argument("--quick", action="store_true", help="short streams, few rounds")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers there")
    options = parser.parse_args()
    n, rounds, sizes = (2_000, 3, [500, 5_000]) if options.quick else (10_000, 9, [1_000, 10_000, 100_000])
    protocols = known_protocols()
    print(f"chunkfold {chunkfold.__version__}, Python {sys.version.split()[0]}; 1.0 = the 30-line accumulator")
    results = {
        "cost": cost_of_a_delta(protocols, n, rounds),
        "growth": growth(protocols, sizes, 3),
        "memory": peak_memory(protocols, sizes[-1]),
    }
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
