"""
The command: `chunkfold [fold] [FILE ...]`.

A thin reader of the library. It parses the arguments, opens the sources, and turns responses into an exit status. What
is shown while a stream runs is in `_show`, what is said of a response in `_notes`, and how it gets out in `_writing`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING, BinaryIO, NoReturn, TextIO

from chunkfold import __version__
from chunkfold.doors._sources import read_file
from chunkfold.errors import ChunkfoldError, LimitExceeded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chunkfold.cli._show import Show
    from chunkfold.doors._streams import Stream
    from chunkfold.response import Response

__all__ = ["main"]

OK, USAGE, LENGTH, TRUNCATED, PROVIDER, VIOLATION, LIMIT, INTERRUPTED, BROKEN_PIPE = 0, 2, 3, 4, 5, 6, 7, 130, 141

# No line is longer than the 79 characters of a narrow terminal.
_HELP = """\
Fold the streamed output of an LLM API into the complete message.

  curl -N https://... | chunkfold   watch the answer come together
  chunkfold --json saved.sse        the whole message as one JSON object
  chunkfold --events saved.sse      what happened, one JSON object a line
  chunkfold --native saved.sse      the body that is sent without streaming

The text goes to standard output; reasoning, notes and the closing line go to
standard error. The verb `fold` may stand before the files."""

_STATUS = """\
exit status: 0 complete; 2 wrong use; 3 cut by the length limit; 4 truncated
or empty; 5 the provider reported an error; 6 not a stream; 7 a limit was hit;
130 interrupted; 141 broken pipe. With several files the highest."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command with *argv* (default: the process's own arguments) and return its exit status."""
    if sys.stderr is None:  # closed
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - for as long as the process lives
    if sys.stdout is None:
        _complain("standard output is closed")
        return USAGE
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        status = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:  # between the sources, or while the last lines are written
        _give_up(sys.stdout)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads any more
        _give_up(sys.stdout)
        _give_up(sys.stderr)
        return BROKEN_PIPE
    except OSError as error:
        _give_up(sys.stdout)
        _complain(f"standard output: {error.strerror or error}")
        return USAGE
    from chunkfold.cli._writing import was_unheard

    return max(status, BROKEN_PIPE) if was_unheard() else status


def status_of(response: Response) -> int:
    """The exit status that says how a response ended."""
    error = response.error
    if error is not None and error.origin == "decoder":
        if error.type == "limit_exceeded":
            return LIMIT
        return VIOLATION if error.type == "unrecognised" or not response.truncated else TRUNCATED
    if response.finish_reason == "error" or (error is not None and error.origin == "provider"):
        return PROVIDER
    if response.truncated or error is not None or not response.choices:
        return TRUNCATED
    return LENGTH if response.finish_reason == "length" else OK


def _run(words: list[str]) -> int:
    """Do what *words* say; the exit status."""
    verb = words.pop(0) if words and words[0] in VERBS else "fold"
    try:
        return VERBS[verb](words)
    except ChunkfoldError as error:
        _complain(str(error))
        return USAGE
    except SystemExit as leaving:  # of argparse, which has printed the help or what is wrong
        return leaving.code if isinstance(leaving.code, int) else OK


def _fold(words: list[str]) -> int:
    options = _fold_parser().parse_args(words)
    from chunkfold import dialects

    if options.dialect != "auto":
        dialects.get(options.dialect)  # a wrong name is told once, not of each file
    status = OK
    for name in options.files or ["-"]:
        status = max(status, _fold_one(name, options))
        if status == INTERRUPTED:
            break
    return status


def _fold_one(name: str, options: argparse.Namespace) -> int:
    """Fold one source and show it; its exit status."""
    from chunkfold.cli._show import Body, Events, Live, Record

    form = Events if options.events else Record if options.json else Body if options.native else Live
    show = form(name)
    if len(options.files) > 1:
        show.head()
    try:
        source = _open(name)
    except OSError as error:
        _complain(f"{name}: {error.strerror or error}")
        return USAGE
    from chunkfold import stream

    events = stream(
        show.watch(source),
        options.dialect,
        split_think_tags=options.split_think_tags,
        cumulative_deltas=options.cumulative_deltas or None,
        live_arguments=show.live_arguments,
        clock=time.perf_counter if options.stats else None,
    )
    try:
        status = _follow(events, show, name)
    except KeyboardInterrupt:
        status = INTERRUPTED
    finally:
        events.close()
        if name != "-":
            source.close()
    response = events.response()
    show.end(response, events.timing())
    return status or status_of(response)


def _follow(events: Stream, show: Show, name: str) -> int:
    """Show the events as they come; a status if it was not the stream that failed."""
    while True:
        try:
            event = next(events)
        except StopIteration:
            return OK
        except LimitExceeded as breach:
            show.pause()
            _complain(f"{name}: {breach}")
            return LIMIT
        except OSError as error:
            show.pause()
            _complain(f"{name}: {error.strerror or error}")
            return USAGE
        show.event(event)


def _open(name: str) -> _File:
    if name != "-":
        return _File(open(name, "rb", buffering=0), os.path.getsize(name))  # noqa: PTH123, PTH202
    if sys.stdin is None:
        raise OSError("standard input is closed")
    if sys.stdin.isatty():
        _complain("waiting for a stream on standard input, as from: curl -N ... | chunkfold")
    return _File(sys.stdin.buffer, None)


class _File:
    """A binary file and its size, if that is known."""

    def __init__(self, file: BinaryIO, size: int | None) -> None:
        self.pieces = read_file(file)
        self.close = file.close
        self.size = size


def _fold_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="chunkfold",
        description=_HELP,
        epilog=_STATUS,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="saved streams; none or '-' is standard input")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the response as one JSON object a source")
    form.add_argument("--events", action="store_true", help="print the events, one JSON object a line")
    form.add_argument(
        "--native", action="store_true", help="print the provider's own body, as sent without streaming, one a line"
    )
    parser.add_argument(
        "--dialect",
        default="auto",
        metavar="NAME",
        help="the wire dialect (default: found out; a wrong name lists all)",
    )
    parser.add_argument("--split-think-tags", action="store_true", help="take <think>...</think> for reasoning")
    parser.add_argument("--cumulative-deltas", action="store_true", help="each text is the whole text so far")
    parser.add_argument("--stats", action="store_true", help="say when what came: on standard error, or in the JSON")
    parser.add_argument("--version", action="version", version=f"chunkfold {__version__}")
    return parser


class _Parser(argparse.ArgumentParser):
    """Says in one line what is wrong with the arguments."""

    def error(self, message: str) -> NoReturn:
        _complain(f"{message} (chunkfold --help)")
        sys.exit(USAGE)


def _complain(message: str) -> None:
    from chunkfold.cli._writing import harmless, tell

    tell(f"chunkfold: {harmless(message, sys.stderr)}\n")


def _give_up(file: TextIO) -> None:
    from chunkfold.cli._writing import silence

    with contextlib.suppress(OSError, ValueError):
        file.flush()
    silence(file)


VERBS: dict[str, Callable[[list[str]], int]] = {"fold": _fold}
