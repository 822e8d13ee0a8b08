"""
Whether the fold keeps what it promises of its speed: each number beside its bound.

    python bench/bounds.py [--quick] [--only WORD] [--streams DIR]

1.0 is the 30-line accumulator on the same pieces, unless a line says otherwise. Rounds are interleaved, medians of
thread CPU time are taken. With DIR, a folder of recorded streams (`<dialect>/*.sse`), the longest of them are measured
too, repeated to 10,000 frames.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import floors
import msgspec
import run

import chunkfold
import streams

ROUNDS = 7
LINES: list[tuple[str, float, float]] = []
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def tell(what: str, found: float, bound: float) -> None:
    LINES.append((what, found, bound))
    print(f"| {what} | {found:.2f} | {bound:.2f} | {'' if found <= bound else 'over'} |", flush=True)


def ratio(protocol: str, pieces: list[bytes], ours: Callable[[list[bytes]], Any] = run.fold) -> float:
    floor = floors.accumulator(protocol)
    found = run.medians({"floor": lambda: floor(pieces), "ours": lambda: ours(pieces)}, ROUNDS)
    return found["ours"] / found["floor"]


def every(pieces: list[bytes], size: int) -> list[bytes]:
    body = b"".join(pieces)
    return [body[at : at + size] for at in range(0, len(body), size)]


# Frames that vary in more than the delta


def changed(chunks: list[bytes], change: Callable[[dict[str, Any], int], Any]) -> list[bytes]:
    """The events with their payloads changed; what *change* returns is the payload, or its text."""
    out = []
    for number, chunk in enumerate(chunks):
        head, mark, rest = chunk.partition(b"data: ")
        text = rest.rstrip(b"\r\n")
        if text.startswith(b"{"):
            made = change(json.loads(text), number)
            made = made if isinstance(made, str) else streams.dumps(made)
            chunk = head + mark + made.encode() + rest[len(text) :]
        out.append(chunk)
    return out


def obfuscated() -> Callable[[dict[str, Any], int], Any]:
    rng = random.Random(3)
    return lambda payload, _: {**payload, "obfuscation": "".join(rng.choices(LETTERS, k=rng.randint(1, 16)))}


def dated(payload: dict[str, Any], number: int) -> Any:
    return {**payload, "created": 1764400000 + number // 7}


def padded() -> Callable[[dict[str, Any], int], Any]:
    """As Anthropic pads: spaces before the closing brace."""
    rng = random.Random(4)
    return lambda payload, _: streams.dumps(payload)[:-1] + " " * rng.randint(0, 15) + "}"


def shuffled() -> Callable[[dict[str, Any], int], Any]:
    """The keys in another order each time."""
    rng = random.Random(5)

    def shuffle(value: Any) -> Any:
        if isinstance(value, dict):
            items = [(key, shuffle(item)) for key, item in value.items()]
            rng.shuffle(items)
            return dict(items)
        return [shuffle(item) for item in value] if isinstance(value, list) else value

    return lambda payload, _: shuffle(payload)


def shuffled_and_dated() -> Callable[[dict[str, Any], int], Any]:
    shuffle = shuffled()
    return lambda payload, number: shuffle(dated(payload, number) if "created" in payload else payload, number)


# What is promised


def same_but_the_delta(n: int) -> None:
    for protocol in ("openai", "anthropic"):
        for scenario, bound in (("text", 0.8), ("reasoning", 0.8), ("tool1", 0.9), ("tool8", 1.2)):
            chunks = streams.make(protocol, scenario, n).chunks
            tell(f"{protocol} {scenario}", ratio(protocol, chunks), bound)
            if scenario == "text":
                tell(f"{protocol} text, 64 KB a read", ratio(protocol, every(chunks, 65536)), 0.8)
                tell(f"{protocol} text, stream", ratio(protocol, chunks, run.stream), 2.0)


def more_than_the_delta(n: int) -> None:
    openai, anthropic = (streams.make(protocol, "text", n).chunks for protocol in ("openai", "anthropic"))
    tell("openai text, obfuscation", ratio("openai", changed(openai, obfuscated())), 1.15)
    tell("openai text, created varies", ratio("openai", changed(openai, dated)), 1.15)
    tell("anthropic text, padding", ratio("anthropic", changed(anthropic, padded())), 1.15)
    for protocol in ("gemini", "responses"):
        for scenario in ("text", "reasoning"):
            tell(f"{protocol} {scenario}", ratio(protocol, streams.make(protocol, scenario, n).chunks), 1.15)
        tell(f"{protocol} stream", ratio(protocol, streams.make(protocol, "text", n).chunks, run.stream), 2.0)
    for scenario, bound in (("tool1", 0.9), ("tool8", 1.2)):
        tell(f"responses {scenario}", ratio("responses", streams.make("responses", scenario, n).chunks), bound)
    for scenario in ("text", "reasoning", "tool1", "tool8"):
        tell(f"bedrock {scenario}", ratio("bedrock", streams.make("bedrock", scenario, n).chunks), 2.0)
    for protocol in ("openai", "anthropic", "responses", "gemini"):
        chunks = streams.make(protocol, "text", n).chunks
        tell(f"{protocol} text, shuffled keys", ratio(protocol, changed(chunks, shuffled_and_dated())), 1.6)
        if protocol != "gemini":
            chunks = streams.make(protocol, "tool1", n).chunks
            tell(f"{protocol} tool1, shuffled keys", ratio(protocol, changed(chunks, shuffled_and_dated())), 1.6)


class Appender:
    """The least that a `feed` can do."""

    def __init__(self) -> None:
        self.data = bytearray()

    def feed(self, data: bytes) -> None:
        self.data += data


def small_reads(n: int) -> None:
    for protocol in ("openai", "anthropic", "responses", "gemini", "bedrock"):
        chunks = streams.make(protocol, "text", n // 4).chunks
        single, sixteen = every(chunks, 1), every(chunks, 16)

        def append(pieces: list[bytes] = single) -> None:
            feed = Appender().feed
            for piece in pieces:
                feed(piece)

        def feed(pieces: list[bytes] = single) -> None:
            folder = chunkfold.Folder()
            feed = folder.feed
            for piece in pieces:
                feed(piece, events=False)
            folder.close()

        runs = {"append": append, "feed": feed, "fold": lambda pieces=single: run.fold(pieces)}
        runs |= {"16": lambda pieces=sixteen: run.fold(pieces), "whole": lambda pieces=chunks: run.fold(pieces)}
        found = run.medians(runs, 5)
        tell(f"{protocol}, byte by byte, Folder.feed to a feed that appends", found["feed"] / found["append"], 1.5)
        tell(f"{protocol}, byte by byte, fold to a feed that appends", found["fold"] / found["append"], 1.5)
        tell(f"{protocol}, 16 bytes a read, to whole events", found["16"] / found["whole"], 3.0)


def one_chunk(_: int) -> None:
    chunk = streams.make("openai", "text", 3).chunks[1]
    body, times = [chunk], 2000
    text = chunk[6:].strip()
    decode = msgspec.json.Decoder().decode

    def repeat(action: Callable[[], Any]) -> Callable[[], None]:
        def runs() -> None:
            for _ in range(times):
                action()

        return runs

    named = repeat(lambda: chunkfold.fold(body, "openai-chat"))
    found = run.medians(
        {"json": repeat(lambda: decode(text)), "named": named, "auto": repeat(lambda: chunkfold.fold(body))}, ROUNDS
    )
    tell("one chunk to the decoding of its JSON", found["named"] / found["json"], 20)
    tell("one chunk, auto", found["auto"] / found["json"], 35)


def memory(n: int) -> None:
    many = n * 100
    for protocol in ("openai", "anthropic", "responses", "gemini", "bedrock"):
        for scenario in ("text", "reasoning", "tool1", "tool8"):
            if protocol == "gemini" and scenario.startswith("tool"):
                continue
            pieces = iter(streams.make(protocol, scenario, many).chunks)
            gc.collect()
            tracemalloc.start()
            start = tracemalloc.get_traced_memory()[0]
            chunkfold.fold(pieces)
            peak = tracemalloc.get_traced_memory()[1] - start
            tracemalloc.stop()
            tell(f"{protocol} {scenario}, peak bytes a delta, n = {many:,}", peak / many, 25)


def growth(n: int) -> None:
    sizes = [n // 10, n, n * 10]
    for protocol in ("openai", "anthropic", "responses", "gemini", "bedrock"):
        floor = floors.accumulator(protocol)
        cases = [streams.make(protocol, "text", size).chunks for size in sizes]
        taken = [
            run.medians(
                {"floor": lambda c=c, floor=floor: floor(c), "ours": lambda c=c: run.fold(c)},
                9 if len(c) < 50_000 else 3,
            )
            for c in cases
        ]
        slopes = {name: run.slope(sizes, [times[name] for times in taken]) for name in ("floor", "ours")}
        tell(f"{protocol} growth beyond the floor's", slopes["ours"] - slopes["floor"], 0.03)


def imports(_: int) -> None:
    # As where it is installed: with the bytecode that is there after the first time.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def once(module: str) -> float:
        code = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
        command = [sys.executable, "-c", code]
        return float(subprocess.run(command, capture_output=True, check=True, text=True, env=environment).stdout)

    once("chunkfold")
    found: dict[str, list[float]] = {"msgspec": [], "chunkfold": []}
    for _ in range(25):
        for module, times in found.items():
            times.append(once(module))
    tell("import, to that of msgspec", statistics.median(found["chunkfold"]) / statistics.median(found["msgspec"]), 1.4)


# Recordings

FOLDERS = {"openai-chat": "openai", "anthropic": "anthropic", "gemini": "gemini", "openai-responses": "responses"}


def recorded(n: int, folder: Path) -> None:
    """The longest recordings of these dialects: their events over and over, the first ones and the last ones once."""
    found = []
    for name, protocol in FOLDERS.items():
        for path in (folder / name).rglob("*.sse"):
            body = path.read_bytes()
            separator = b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n"
            frames = [frame + separator for frame in body.split(separator) if frame]
            if body.startswith((b"data:", b"event:")):
                found.append((len(frames), path.stem, protocol, frames))
    for repeat in ("whole", "middle"):
        for change in (None, shuffled_and_dated):
            ratios = []
            for _, name, protocol, frames in sorted(found, reverse=True)[:30]:
                pieces = lengthen(frames, n, repeat)
                if change is not None:
                    try:
                        pieces = changed(pieces, change())
                    except ValueError:
                        continue
                pieces = renumbered([piece.replace(b"\r\n", b"\n") for piece in pieces])
                try:
                    ratios.append((against(protocol, pieces), name, protocol))
                except Exception as error:  # noqa: BLE001 - the floor is made for what is usual
                    print(f"{name}: the floor cannot read it: {error!r}", file=sys.stderr)
            ratios.sort()
            how = f"recordings, {repeat} repeated" + (", shuffled keys" if change else "")
            tell(f"{how}, median of {len(ratios)}", statistics.median([one for one, _, _ in ratios]), 1.0 if not change else 1.6)  # fmt: skip
            tell(f"{how}, worst: {ratios[-1][1]}", ratios[-1][0], 1.6)
            for one, name, protocol in ratios[-8:]:
                print(f"    {one:.2f} {protocol} {name}", file=sys.stderr)


def against(protocol: str, pieces: list[bytes]) -> float:
    floor = recorded_floor(protocol)
    found = run.medians({"floor": lambda: floor(pieces), "ours": lambda: run.fold(pieces)}, 3)
    return found["ours"] / found["floor"]


def recorded_floor(protocol: str) -> Callable[[list[bytes]], Any]:
    """The accumulator for recordings, which end lines with LF and may begin with comments."""
    kind = floors.ACCUMULATORS[protocol]
    read = msgspec.json.Decoder(kind.of).decode

    def folds(pieces: list[bytes]) -> Any:
        folded = kind()
        add = folded.add
        for piece in pieces:
            for event in piece.split(b"\n\n"):
                at = event.find(b"data:")
                if at >= 0:
                    data = event[at + 5 :]
                    if b"[DONE]" not in data:
                        add(read(data))
        return folded.result()

    return folds


def renumbered(pieces: list[bytes]) -> list[bytes]:
    """With numbers that rise, where events are numbered: else they would be repeats, and dropped."""
    number = itertools.count()
    return [re.sub(rb'("sequence_number": ?)\d+', lambda found: found[1] + b"%d" % next(number), one) for one in pieces]


def lengthen(frames: list[bytes], n: int, repeat: str) -> list[bytes]:
    if repeat == "whole" or len(frames) < 12:
        return list(itertools.islice(itertools.cycle(frames), n))
    edge = len(frames) // 4
    middle = frames[edge:-edge]
    return [*frames[:edge], *itertools.islice(itertools.cycle(middle), n - 2 * edge), *frames[-edge:]]


SECTIONS: dict[str, Callable[[int], None]] = {
    "delta": same_but_the_delta,
    "more": more_than_the_delta,
    "small": small_reads,
    "one": one_chunk,
    "memory": memory,
    "growth": growth,
    "import": imports,
}


def main() -> None:
    global ROUNDS  # noqa: PLW0603 - a script's option
    parser = argparse.ArgumentParser(description="Measure what is promised of the fold's speed.")
    parser.add_argument("--quick", action="store_true", help="shorter streams, fewer rounds")
    parser.add_argument("--only", metavar="WORD", nargs="*", help=f"of {', '.join(SECTIONS)}, streams")
    parser.add_argument("--streams", metavar="DIR", type=Path, help="a folder of recordings")
    options = parser.parse_args()
    n = 2_000 if options.quick else 10_000
    ROUNDS = 3 if options.quick else 7
    print("| what | found | bound | |\n|---|--:|--:|---|")
    for name, section in SECTIONS.items():
        if not options.only or name in options.only:
            section(n)
    if options.streams and (not options.only or "streams" in options.only):
        recorded(n, options.streams)
    over = [what for what, found, bound in LINES if found > bound]
    print(f"\n{len(LINES) - len(over)} of {len(LINES)} within their bounds")


if __name__ == "__main__":
    main()
