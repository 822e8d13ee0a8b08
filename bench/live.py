"""
What it costs to look at a message while it grows: live arguments, snapshots, saving.

    python bench/live.py [--quick] [--json FILE]

Live arguments are measured beside `incjson.py`, a reader as short as one can be, and beside what others do, who read
the whole text again at every piece: those that are installed (jiter, pydantic_core, partial-json-parser,
langchain-core), sampled at a few prefixes and multiplied out. Times are thread CPU time, the best of several rounds
that take turns; what counts are the ratios.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import random
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from incjson import IncJSON

from chunkfold import Folder, StreamAccumulator
from chunkfold.assembly._live import Live
from chunkfold.events import PartStart, ToolArgumentsDelta
from chunkfold.partial_json import PartialJSON

PIECE = 5
ROUNDS = 5
SAMPLES = 20
# A peer that would take longer than this for a size is not run at it.
PATIENCE = 10.0


def words(count: int, seed: int) -> str:
    rng = random.Random(seed)
    return " ".join(
        "".join(rng.choices("etaoinshrdlu", k=rng.randint(1, 9))) + rng.choice(["", "", "", ",\n"])
        for _ in range(count)
    )


def fields(size: int) -> str:
    """An object of many fields: small objects in a list."""
    rng = random.Random(1)
    edits, total = [], 40
    while total < size:
        edit = {"line": rng.randint(1, 9999), "op": rng.choice(["insert", "replace"]), "text": words(6, total)}
        edits.append(edit)
        total += len(json.dumps(edit)) + 2
    return json.dumps({"path": "src/main.py", "edits": edits})


def string(size: int) -> str:
    """An object that is nearly all one string."""
    return json.dumps({"path": "src/main.py", "content": words(size // 6, 2)[:size]})


SHAPES: dict[str, Callable[[int], str]] = {"many fields": fields, "one string": string}


def best(jobs: dict[str, Callable[[], Any]], rounds: int = ROUNDS) -> dict[str, float]:
    """The best time of each job; the jobs take turns."""
    times = dict.fromkeys(jobs, math.inf)
    for _ in range(rounds):
        for name, job in jobs.items():
            gc.collect()
            begun = time.thread_time()
            job()
            times[name] = min(times[name], time.thread_time() - begun)
    return times


def exponent(points: list[tuple[int, float]]) -> float:
    """How the time grows with the size: 1 is linear, 2 quadratic."""
    logs = [(math.log(size), math.log(seconds)) for size, seconds in points]
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


# Live arguments


def wire(pieces: list[str]) -> list[bytes]:
    """One call of an OpenAI stream, an event a piece."""

    def frame(call: dict[str, Any]) -> bytes:
        choice = {"index": 0, "delta": {"tool_calls": [{"index": 0, **call}]}, "finish_reason": None}
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        return b"data: %s\n\n" % json.dumps(chunk, separators=(",", ":")).encode()

    start = frame({"id": "call", "type": "function", "function": {"name": "f", "arguments": ""}})
    return [start, *[frame({"function": {"arguments": piece}}) for piece in pieces]]


def incremental(text: str, pieces: list[str]) -> None:
    reader = IncJSON()
    for piece in pieces:
        reader.feed(piece)
    assert reader.root == json.loads(text)


def partial_json(pieces: list[str], *, events: bool) -> None:
    reader = PartialJSON(events=True) if events else PartialJSON()
    for piece in pieces:
        reader.feed(piece)


def accumulate(events: list[ToolArgumentsDelta], *, live: bool) -> None:
    accumulator = StreamAccumulator()
    start = PartStart(0, 0, "tool_call", name="f")
    if not live:
        accumulator.observe(start)
        for event in events:
            accumulator.observe(event)
        return
    reading = Live(arguments=True, text=False, documents=False, depth=512)
    reading.fold([start], accumulator)
    for event in events:
        reading.fold([event], accumulator)


def fold(reads: list[bytes], *, live: bool) -> None:
    folder = Folder("openai-chat", live_arguments=live)
    for read in reads:
        folder.feed(read)


def arguments_jobs(text: str) -> dict[str, Callable[[], Any]]:
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    events = [ToolArgumentsDelta(0, 0, piece) for piece in pieces]
    reads = wire(pieces)
    return {
        "incjson": lambda: incremental(text, pieces),
        "PartialJSON": lambda: partial_json(pieces, events=False),
        "PartialJSON, events": lambda: partial_json(pieces, events=True),
        "accumulator": lambda: accumulate(events, live=False),
        "accumulator, live": lambda: accumulate(events, live=True),
        "bytes to events": lambda: fold(reads, live=False),
        "bytes to events, live": lambda: fold(reads, live=True),
    }


def arguments(sizes: list[int]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for shape, make in SHAPES.items():
        points: dict[str, list[tuple[int, float]]] = {}
        for size in sizes:
            times = best(arguments_jobs(make(size)))
            times["what live adds to events"] = times["accumulator, live"] - times["accumulator"]
            times["what live adds to bytes"] = times["bytes to events, live"] - times["bytes to events"]
            for name, seconds in times.items():
                points.setdefault(name, []).append((size, seconds))
        print(f"\narguments, {shape}, {PIECE} characters a piece: times incjson (growth exponent)")
        for name, series in points.items():
            cells = [f"{s / points['incjson'][place][1]:8.2f}" for place, (_, s) in enumerate(series)]
            print(f"  {name:28}{''.join(cells)}   {exponent(series) if len(series) > 1 else math.nan:.3f}")
        out[shape] = {name: {str(size): seconds for size, seconds in series} for name, series in points.items()}
        out[shape] |= peers(make, sizes, dict(points["incjson"]))
    return out


def known_peers() -> dict[str, Callable[[str], Any]]:
    """Readers of the whole text so far, of what is installed."""
    found: dict[str, Callable[[str], Any]] = {}
    if find_spec("jiter"):
        import jiter

        found["jiter (Anthropic's SDK)"] = lambda text: jiter.from_json(text.encode(), partial_mode=True)
    if find_spec("pydantic_core"):
        import pydantic_core

        found["pydantic_core"] = lambda text: pydantic_core.from_json(text, allow_partial="trailing-strings")
    if find_spec("partial_json_parser"):
        import partial_json_parser

        found["partial-json-parser"] = partial_json_parser.loads
    if find_spec("langchain_core"):
        from langchain_core.utils.json import parse_partial_json

        found["LangChain"] = parse_partial_json
    return found


def peers(make: Callable[[int], str], sizes: list[int], measure: dict[int, float]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, read in known_peers().items():
        cells, last = [], 0.0
        for size in sizes:
            if last * 100 * SAMPLES / (size / PIECE) > PATIENCE:
                cells.append("       -")
                continue
            text = make(size)
            spent = 0.0
            for sample in range(SAMPLES):
                prefix = text[: int(len(text) * (sample + 0.5) / SAMPLES)]
                begun = time.thread_time()
                read(prefix)
                spent += time.thread_time() - begun
            last = spent / SAMPLES * (len(text) / PIECE)
            out.setdefault(name, {})[str(size)] = last
            cells.append(f"{last / measure[size]:8.0f}")
        print(f"  {name + ', sampled':28}{''.join(cells)}")
    return out


# Snapshots


def chat(delta: dict[str, Any]) -> bytes:
    chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta}]}
    return b"data: %s\n\n" % json.dumps(chunk, separators=(",", ":")).encode()


def call(index: int, text: str, **more: Any) -> bytes:
    return chat({"tool_calls": [{"index": index, **more, "function": {"arguments": text}}]})


def texts(count: int) -> list[bytes]:
    return [chat({"content": f"word {number} "}) for number in range(count)]


def one_call(count: int) -> list[bytes]:
    return [call(0, "", id="call"), *[call(0, f"word {number} ") for number in range(count)]]


def many_calls(count: int) -> list[bytes]:
    opened = [call(index, "", id=f"call{index}") for index in range(1000)]
    return opened + [call(number % 1000, f"word {number} ") for number in range(count)]


def watch(reads: list[bytes], how: str) -> None:
    folder = Folder("openai-chat")
    snapshot: Any = None
    for read in reads:
        folder.feed(read, events=False)
        if how == "plain":
            continue
        if how == "let go":
            snapshot = None
        snapshot = folder.snapshot()
        _ = snapshot.text
        if snapshot.tool_calls:
            _ = snapshot.tool_calls[-1].raw_arguments
        _ = None


def snapshots(count: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    print(f"\n{count} snapshots of {count} deltas, each read: times the fold alone (microseconds a delta)")
    for name, make in {"one text": texts, "one call": one_call, "1,000 open calls": many_calls}.items():
        reads = make(count)
        ways = ("plain", "let go", "kept")
        times = best({way: partial(watch, reads, way) for way in ways}, 3)
        out[name] = times
        print(
            f"  {name:18} the last one let go first {times['let go'] / times['plain']:5.2f}, "
            f"kept until the next {times['kept'] / times['plain']:5.2f} "
            f"({', '.join(f'{way} {times[way] / count * 1e6:.2f}' for way in ways)})"
        )
    return out


# Saving


def saving() -> dict[str, Any]:
    out: dict[str, Any] = {}
    print("\nsaving and restoring")
    for count in (10, 1000, 100_000):
        folder = Folder()
        for read in texts(count):
            folder.feed(read, events=False)
        size = len(folder.snapshot().text)
        data = folder.save()
        times = best({"save": folder.save, "restore": partial(Folder.restore, data)}, 20)
        out[str(count)] = {"text": size, "saved": len(data), **times}
        print(
            f"  {size:8} characters of text: {len(data)} bytes, "
            f"save {times['save'] * 1e6:.0f} microseconds, restore {times['restore'] * 1e6:.0f}"
        )
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--json", metavar="FILE", help="write the seconds there")
    options = parser.parse_args()
    sizes = [10_000, 100_000] if options.quick else [10_000, 100_000, 1_000_000]
    out = {
        "arguments": arguments(sizes),
        "snapshots": snapshots(10_000 if options.quick else 50_000),
        "saving": saving(),
    }
    if options.json:
        Path(options.json).write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
