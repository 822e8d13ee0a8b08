"""
See messages come together: plays the bundled streams at the pace at which they were sent, then says what came out.

    python demo/run.py [--speed N]      N times the real pace; without a terminal there is no waiting
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import chunkfold
from chunkfold import events

if TYPE_CHECKING:
    from collections.abc import Iterator

STREAMS = sorted((Path(__file__).parent / "streams").glob("*.sse"))
PACE = re.compile(rb"^: after (\d+) ms\n", re.MULTILINE)
DIM, BOLD, PLAIN = ("\x1b[2m", "\x1b[1m", "\x1b[0m") if sys.stdout.isatty() else ("", "", "")


def paced(body: bytes, speed: float) -> Iterator[bytes]:
    """The events of *body*, each after the wait that its comment asks for."""
    starts = [*(match.start() for match in PACE.finditer(body)), len(body)]
    for start, end in pairwise(starts):
        wait = PACE.match(body, start)
        if wait and speed > 0:
            time.sleep(int(wait[1]) / 1000 / speed)
        yield body[start:end]


def show(path: Path, speed: float) -> chunkfold.Response:
    """Play one stream and show what it says."""
    print(f"{BOLD}{path.stem}{PLAIN}")
    stream = chunkfold.stream(paced(path.read_bytes(), speed))
    kind = ""
    for event in stream:
        match event:
            case events.PartStart(kind="tool_call"):
                print(f"\n{DIM}→ {event.name}{PLAIN}", end="")
                kind = event.kind
            case events.ReasoningDelta() | events.TextDelta() | events.ToolArgumentsDelta():
                if event.type == "text_delta" and kind == "reasoning_delta":
                    print()
                kind = event.type
                if event.type == "tool_arguments_delta":
                    continue
                print(f"{DIM}{event.text}{PLAIN}" if kind == "reasoning_delta" else event.text, end="", flush=True)
            case events.ErrorEvent():
                print(f"\n{DIM}! {event.error.type}: {event.error.message}{PLAIN}", end="")
            case _:
                pass
    print()
    response = stream.response()
    for call in response.tool_calls:
        said = (
            call.arguments if call.is_usable else f"{call.status}: not run, {len(call.raw_arguments)} characters kept"
        )
        print(f"{DIM}  {call.name}: {said}{PLAIN}")
    print()
    return response


def table(responses: dict[str, chunkfold.Response]) -> None:
    """What came out, a line a stream."""
    row = "{:26} {:19} {:>4} {:>9} {:>5}  {:17} {}"
    print(BOLD + row.format("stream", "dialect", "text", "reasoning", "calls", "finish reason", "tokens") + PLAIN)
    for name, response in responses.items():
        usage = response.usage
        tokens = f"{usage.input_tokens} in, {usage.output_tokens} out" if usage else "not reported"
        calls = ",".join(call.status for call in response.tool_calls) or "0"
        finish = f"{response.finish_reason} ({response.native_finish_reason})"
        counts = (len(response.text), len(response.reasoning), calls if len(calls) < 3 else len(response.tool_calls))
        print(row.format(name, response.dialect or "?", *counts, finish, tokens))


def main() -> None:
    parser = argparse.ArgumentParser(description="Play the bundled streams and fold them.")
    usual = 1.0 if sys.stdout.isatty() else 0.0
    parser.add_argument("--speed", type=float, default=usual, help="times the real pace; 0 does not wait")
    speed = parser.parse_args().speed
    table({path.stem: show(path, speed) for path in STREAMS})


if __name__ == "__main__":
    main()
