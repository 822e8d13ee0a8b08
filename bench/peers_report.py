"""
How much the fold costs beside the vendors' own helpers on the same bytes.

    python bench/peers_report.py [--quick] [--docs] [--json FILE] [--again FILE]

Needs the extra `bench` (`make bench-peers` makes an environment that has it). Each peer of `peers.py` runs in a process of
its own, all of them on one core, one at a time. Rounds are interleaved and the median of each peer is taken, in thread
CPU time; chunkfold is one of them, so that the ratios are of one run. A peer stops when it has used up its seconds, and
a length that is predicted to take too long is left out.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import pickle
import platform
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import metadata
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import peers
import run as bench

import streams

Row = dict[str, Any]

DOCS = Path(__file__).parent.parent / "docs"
OURS = "chunkfold `fold`"
CONTENTS = {"text": "text", "reasoning": "reasoning, then text", "tool1": "one call", "tool8": "eight calls"}
SIZES = {"text": [100, 1_000, 10_000, 100_000], "reasoning": [1_000], "tool1": [100, 1_000, 3_000, 10_000]}
SIZES |= {"tool8": [1_000]}
QUICK = {"text": [100, 1_000], "reasoning": [1_000], "tool1": [100, 1_000], "tool8": [100]}
# What the peers stand on.
BELOW = ("langchain-core", "langchain-anthropic", "httpx2", "pydantic", "msgspec")
# What a single run may take, by prediction, and what a peer may use for one content at one length before its last run.
MOST, ENOUGH = 6.0, 4.0
# Shorter runs are repeated up to this time, and the first of them is no measurement.
SHORT = 0.1
# After so many seconds without an answer a peer is ended.
PATIENCE = 300.0
# At least so many times faster on texts of 10,000 deltas, one event a read.
PROMISES = {
    "openai `stream()`": 200,
    "anthropic `stream()`": 60,
    "google-genai `generate_content_stream`": 120,
    "google-genai `chats`": 120,
    "langchain": 150,
    "pydantic-ai": 150,
}


class Process:
    """A peer at work, and what its runs have taken."""

    def __init__(self, name: str, protocol: str) -> None:
        command = [sys.executable, str(Path(__file__).parent / "peers.py"), name, protocol]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self.taken: dict[str, list[tuple[int, float]]] = {}

    def ask(self, do: str, path: str, **more: Any) -> dict[str, Any]:
        try:
            self.process.stdin.write(json.dumps({"do": do, "path": path, **more}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            return {"error": "ended"}
        if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
            self.process.kill()
            return {"error": f"no answer in {PATIENCE:.0f} s"}
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": "ended"}

    def predicted(self, content: str, n: int) -> float:
        return predicted(self.taken.get(content, []), n)

    def stop(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


def predicted(taken: list[tuple[int, float]], n: int) -> float:
    """What *n* deltas will take if it goes on as it has from the last length but one to the last."""
    if not taken:
        return 0.0
    exponent = max(1.0, bench.slope(*zip(*taken[-2:], strict=True))) if len(taken) > 1 else 1.0
    return taken[-1][1] * (n / taken[-1][0]) ** exponent


class Cases:
    """What the generator made, in files, so that each case is made once and not once a peer."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def path(self, protocol: str, content: str, n: int) -> str:
        path = self.folder / f"{protocol}-{content}-{n}"
        if not path.exists():
            path.write_bytes(pickle.dumps(streams.make(protocol, content, n)))
        return str(path)


def measure(processes: dict[str, Process], protocol: str, content: str, n: int, path: str, rounds: int) -> list[Row]:
    rows = {name: {"dialect": protocol, "content": content, "n": n, "peer": name} for name in processes}
    times: dict[str, list[float]] = {}
    once: dict[str, float] = {}
    prepared: dict[str, float] = {}
    for name, process in processes.items():
        # The first runs say little about the longer ones: they meet imports and empty caches.
        if n > 1_000 and (expected := process.predicted(content, n)) > MOST:
            rows[name]["left_out"] = expected
            continue
        answer = process.ask("check", path)
        if "seconds" in answer:
            once[name], prepared[name] = answer.pop("seconds"), answer.pop("prepared")
            times[name] = [once[name]] if once[name] > SHORT else []
        rows[name] |= answer
    for _ in range(rounds):
        for name, found in times.items():
            if sum(found) < ENOUGH:
                repeat = max(1, min(20, int(SHORT / once[name])))
                answer = processes[name].ask("measure", path, repeat=repeat)
                if "seconds" in answer:
                    found.append(answer["seconds"])
    for name, found in times.items():
        rows[name]["seconds"] = statistics.median(found or [once[name]])
        processes[name].taken.setdefault(content, []).append((n, rows[name]["seconds"] + prepared[name]))
    return list(rows.values())


def cost_and_memory(sizes: dict[str, list[int]], rounds: int, cases: Cases) -> tuple[list[Row], list[Row]]:
    cost: list[Row] = []
    memory: list[Row] = []
    for protocol in peers.EVERYWHERE:
        names = [name for name, peer in peers.PEERS.items() if protocol in peer.protocols]
        processes = {name: Process(name, protocol) for name in names}
        for content, n in [(content, n) for content, lengths in sizes.items() for n in lengths]:
            if protocol == "gemini" and content.startswith("tool"):
                continue  # Gemini sends calls whole
            begun = time.monotonic()
            cost += measure(processes, protocol, content, n, cases.path(protocol, content, n), rounds)
            print(f"{protocol} {content} {n}: {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
        for name, process in processes.items():
            found = process.ask("memory", cases.path(protocol, "text", 1_000))
            memory.append({"dialect": protocol, "peer": name, "n": 1_000, **found})
            process.stop()
    return cost, memory


def import_times(rounds: int) -> dict[str, float]:
    """Milliseconds of CPU time that a fresh interpreter needs for the import, files and bytecode being there."""
    found: dict[str, list[float]] = {name: [] for name, peer in peers.PEERS.items() if peer.imports}
    for turn in range(rounds + 1):
        for name, times in found.items():
            code = f"import time; t = time.process_time(); {peers.PEERS[name].imports}; print(time.process_time() - t)"
            environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "PYTHONDONTWRITEBYTECODE": ""}
            command = [sys.executable, "-W", "ignore", "-c", code]
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            if turn and not done.returncode:
                times.append(float(done.stdout.split()[-1]) * 1e3)
    return {name: statistics.median(times) for name, times in found.items() if times}


def installed(requirement: str) -> dict[str, Any]:
    """How many distributions a requirement brings, itself included, and the size of their files but for bytecode."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    wanted, seen, size = [Requirement(requirement)], {}, 0
    while wanted:
        one = wanted.pop()
        name, extras = canonicalize_name(one.name), {"", *one.extras}
        new = extras - seen.setdefault(name, set())
        if not new:
            continue
        if not seen[name]:
            size += size_of(name)
        seen[name] |= new
        for line in metadata.requires(name) or ():
            needed = Requirement(line)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in new):
                wanted.append(needed)
    return {"bytes": size, "distributions": len(seen)}


def size_of(name: str) -> int:
    if name == "chunkfold":  # installed as a link to its source
        files = Path(peers.chunkfold.__file__).parent.rglob("*")
    else:
        files = [Path(file.locate()) for file in metadata.files(name) or ()]
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc" and file.is_file())


def versions() -> dict[str, str]:
    """Those of what is measured, and of what it stands on, as far as it is installed."""
    found = {}
    for name in [*(peer.installs.split("[")[0] for peer in peers.PEERS.values() if peer.installs), *BELOW]:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def take(quick: bool) -> dict[str, Any]:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with tempfile.TemporaryDirectory() as folder:
        cost, memory = cost_and_memory(QUICK if quick else SIZES, 3 if quick else 5, Cases(folder))
    absent = sorted({row["peer"] for row in cost if row.get("error") == "ModuleNotFoundError"})
    known = versions()
    sizes = {
        name: installed(peer.installs)
        for name, peer in peers.PEERS.items()
        if peer.installs and peer.installs.split("[")[0] in known
    }
    return {
        "python": platform.python_version(),
        "date": time.strftime("%B %Y"),
        "versions": known,
        "absent": absent,
        "cost": [row for row in cost if row["peer"] not in absent],
        "memory": memory,
        "imports": import_times(1 if quick else 3),
        "installed": sizes,
    }


# The tables


def report(results: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    absent = f" Not installed, so left out: {', '.join(results['absent'])}." if results["absent"] else ""
    parts = [f"Python {results['python']}, {results['date']}: {packages}.{absent}", promises(results), deeds(results)]
    for protocol in dict.fromkeys(row["dialect"] for row in results["cost"]):
        rows = [row for row in results["cost"] if row["dialect"] == protocol]
        parts += [f"### {bench.PROTOCOLS[protocol]}", text_table(rows, results["memory"]), other_table(rows)]
    parts += ["### Import and installation", import_table(results)]
    return "\n\n".join(part for part in parts if part)


def promises(results: dict[str, Any]) -> str:
    """How many times faster `fold` was, and whether that is what was promised, by the longest of the texts."""
    texts = [row for row in results["cost"] if row["content"] == "text" and row["n"] <= 10_000]
    sizes = sorted({row["n"] for row in texts})
    lines = [f"| times faster, text of so many deltas | {' | '.join(f'{n:,}' for n in sizes)} | promised | held |"]
    lines.append(f"|---|{'--:|' * len(sizes)}--:|---|")
    for name, promised in PROMISES.items():
        for protocol in peers.PEERS[name].protocols:
            rows = [row for row in texts if row["dialect"] == protocol]
            ratios = [times_ours(rows, name, n) for n in sizes]
            if ratios[-1]:
                held = "yes" if float(ratios[-1]) >= promised else "**no**"
                lines.append(f"| {name}, {bench.PROTOCOLS[protocol]} | {' | '.join(ratios)} | {promised} | {held} |")
    return "\n".join(lines)


def deeds(results: dict[str, Any]) -> str:
    shown = {row["peer"] for row in results["cost"]}
    lines = [f"| {name} | {peer.does} |" for name, peer in peers.PEERS.items() if name in shown]
    return "\n".join(["| | what it does |", "|---|---|", *lines])


def found(rows: list[Row], peer: str, n: int) -> Row:
    return next((row for row in rows if row["peer"] == peer and row["n"] == n), {})


def seconds(rows: list[Row], peer: str, n: int) -> float | None:
    return found(rows, peer, n).get("seconds")


def cell(row: Row) -> str:
    """Microseconds a delta, and what of the result is not as we fold it."""
    if "seconds" in row:
        cost = row["seconds"] / row["n"] * 1e6
        return f"{cost:.{2 if cost < 10 else 0}f}{', ' if row['differs'] else ''}{row['differs']}"
    if "left_out" in row:
        return f"(about {row['left_out']:.0f} s)"
    return f"`{row['error']}`" if "error" in row else ""


def times_ours(rows: list[Row], peer: str, n: int) -> str:
    theirs, ours = seconds(rows, peer, n), seconds(rows, OURS, n)
    return f"{theirs / ours:.{1 if theirs / ours < 10 else 0}f}" if theirs and ours else ""


def growth(rows: list[Row], peer: str) -> str:
    taken = [(row["n"], row["seconds"]) for row in rows if row["peer"] == peer and "seconds" in row]
    long = [pair for pair in taken if pair[0] >= 1_000]
    return f"{bench.slope(*zip(*long, strict=True)):.2f}" if len(long) > 1 else ""


def text_table(rows: list[Row], memory: list[Row]) -> str:
    rows = [row for row in rows if row["content"] == "text"]
    sizes = sorted({row["n"] for row in rows})
    at = max(n for n in sizes if n <= 10_000)
    lines = [f"| text | {' | '.join(f'{n:,}' for n in sizes)} | times `fold` at {at:,} | growth | peak bytes a delta |"]
    lines.append(f"|---|{'--:|' * (len(sizes) + 3)}")
    peaks = {(row["dialect"], row["peer"]): row["peak"] / row["n"] for row in memory if "peak" in row}
    for peer in dict.fromkeys(row["peer"] for row in rows):
        cells = [cell(found(rows, peer, n)) for n in sizes]
        cells += [times_ours(rows, peer, at), growth(rows, peer)]
        peak = peaks.get((rows[0]["dialect"], peer))
        lines.append(f"| {peer} | {' | '.join(cells)} | {'' if peak is None else f'{peak:,.0f}'} |")
    return "\n".join(lines)


def other_table(rows: list[Row]) -> str:
    """The other contents: each length that was tried; ratios at the longest that the peer got to."""
    rows = [row for row in rows if row["content"] != "text"]
    columns = list(
        dict.fromkeys((row["content"], row["n"]) for row in rows if row["n"] >= 1_000 or row["content"] == "tool8")
    )
    heads = [f"{CONTENTS[content]}, {n:,}" for content, n in columns]
    lines = [f"| | {' | '.join(heads)} |", f"|---|{'--:|' * len(heads)}"]
    grows = any(content == "tool1" for content, _ in columns)
    if grows:
        lines = [f"{lines[0]} growth, one call |", f"{lines[1]}--:|"]
    for peer in dict.fromkeys(row["peer"] for row in rows):
        cells = []
        for content, n in columns:
            same = [row for row in rows if row["content"] == content]
            ratio = times_ours(same, peer, n)
            cells.append(cell(found(same, peer, n)) + (f" (× {ratio})" if ratio and peer != OURS else ""))
        if grows:
            cells.append(growth([row for row in rows if row["content"] == "tool1"], peer))
        lines.append(f"| {peer} | {' | '.join(cells)} |")
    return "\n".join(lines)


def import_table(results: dict[str, Any]) -> str:
    lines = ["| statement | import, ms | installed | MB | distributions |", "|---|--:|---|--:|--:|"]
    for name, size in results["installed"].items():
        peer = peers.PEERS[name]
        taken = results["imports"].get(name)
        shown = "" if taken is None else f"{taken:.0f}"
        amount = f"{size['bytes'] / 1e6:.1f} | {size['distributions']}"
        lines.append(f"| `{peer.imports}` | {shown} | {peer.installs} | {amount} |")
    return "\n".join(lines)


# The picture

PANELS = [("openai", "text"), ("anthropic", "text"), ("gemini", "text"), ("openai", "tool1"), ("anthropic", "tool1")]


def picture(results: dict[str, Any], path: Path) -> None:
    """Microseconds a delta against the number of deltas, a line a peer; the same file for the same numbers."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "chunkfold", "svg.fonttype": "none", "font.family": "sans-serif", "font.size": 9}
    figure, axes = plt.subplots(2, 3, figsize=(12, 8), sharex=True, sharey=True, layout="constrained")
    shown = [name for name in peers.PEERS if any(row["peer"] == name for row in results["cost"])]
    colours = dict(zip(shown, ["black", "0.4", "0.65", "black", *plt.colormaps["tab20"].colors], strict=False))
    drawn = {}
    for (protocol, content), axis in zip(PANELS, axes.flat, strict=False):
        axis.set(title=f"{bench.PROTOCOLS[protocol]}, {CONTENTS[content]}", xscale="log", yscale="log")
        axis.grid(which="major", alpha=0.3)
        for name in shown:
            points = [
                (row["n"], row["seconds"] / row["n"] * 1e6)
                for row in results["cost"]
                if (row["dialect"], row["content"], row["peer"]) == (protocol, content, name) and "seconds" in row
            ]
            if points:
                ours = name.startswith("chunkfold")
                style = ":o" if name == "30-line accumulator" else "-o"
                (drawn[name],) = axis.plot(
                    *zip(*points, strict=True), style, color=colours[name], linewidth=2.5 if ours else 1.2, markersize=3
                )
        axis.xaxis.set_major_formatter("{x:,.0f}")
        axis.yaxis.set_major_formatter("{x:,.0f}")
        axis.minorticks_off()
    for axis in axes[:, 0]:
        axis.set_ylabel("µs a delta")
    for axis in (*axes[1, :], axes[0, 2]):
        axis.set_xlabel("deltas")
    axes[0, 2].tick_params(labelbottom=True)
    rest = axes[1, 2]  # the legend's
    rest.axis("off")
    names = [name for name in shown if name in drawn]
    rest.legend([drawn[name] for name in names], [name.replace("`", "") for name in names], loc="center", frameon=False)
    figure.savefig(path, metadata={"Date": None, "Creator": None})


def with_tables(page: str, results: dict[str, Any]) -> str:
    """The page with the tables between its marks."""
    marks = re.compile(r"(<!-- peers: begin -->\n).*?(<!-- peers: end -->)", re.DOTALL)
    said = report(results)
    return marks.sub(lambda mark: f"{mark[1]}{said}\n{mark[2]}", page)


def write_docs(results: dict[str, Any]) -> None:
    page = DOCS / "benchmarks.md"
    page.write_text(with_tables(page.read_text(encoding="utf-8"), results), encoding="utf-8")
    try:
        picture(results, DOCS / "benchmarks.svg")
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed")


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the fold beside the vendors' own helpers.")
    parser.add_argument("--quick", action="store_true", help="short streams, few rounds")
    parser.add_argument("--docs", action="store_true", help="write the tables and the picture into the manual")
    parser.add_argument("--json", metavar="FILE", help="also write the numbers there")
    parser.add_argument("--again", metavar="FILE", help="do not measure; take the numbers from there")
    options = parser.parse_args()
    results = json.loads(Path(options.again).read_text(encoding="utf-8")) if options.again else take(options.quick)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(report(results))
    if options.docs:
        write_docs(results)


if __name__ == "__main__":
    main()
