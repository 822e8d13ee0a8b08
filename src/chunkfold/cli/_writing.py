"""
Writing to standard output and standard error: at once, whatever a pipe takes, and so that no text steers a terminal.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
from typing import TextIO

__all__ = ["end_of", "harmless", "is_same_file", "obeys_escapes", "out", "out_json", "silence", "tell", "was_unheard"]

# What a model writes must not steer the terminal: control characters are shown as their pictures.
_HARMLESS = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_HARMLESS |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)
# JSON escapes those below 32 itself.
_ESCAPES = {code: f"\\u{code:04x}" for code in range(0x7F, 0xA0)}
# Standard errors that nobody reads any more.
_unheard: list[TextIO] = []


def harmless(text: str, file: TextIO) -> str:
    """*text* as it may be written to *file*, which may be a terminal."""
    return text.translate(_HARMLESS) if file.isatty() else text


def obeys_escapes(file: TextIO) -> bool:
    """True if *file* is a terminal that dims and clears a line when told so: Emacs' shell prints what tells it so."""
    return file.isatty() and os.environ.get("TERM") != "dumb"


def end_of(name: str, file: TextIO, beside: str) -> str:
    """*name*, or its end, as it fits on a line of the terminal *file*; some characters are two cells wide there."""
    from unicodedata import east_asian_width

    room = 60
    with contextlib.suppress(OSError, ValueError):
        room = min(os.get_terminal_size(file.fileno()).columns or room, room)
    room -= len(beside) + 3  # the ellipsis, which may be wide too, and the cursor
    for place in range(len(name) - 1, -1, -1):
        room -= 2 if east_asian_width(name[place]) in "WF" else 1
        if room < 0:
            return "…" + name[place + 1 :]
    return name


def is_same_file(one: TextIO, other: TextIO) -> bool:
    """True if what is written to both ends up in one place."""
    with contextlib.suppress(OSError, ValueError):
        return os.path.sameopenfile(one.fileno(), other.fileno())
    return False


def tell(text: str) -> None:
    """Write to standard error. If nothing can be written there, what goes to standard output is worth having still."""
    try:
        _write(sys.stderr, text)
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            _unheard.append(sys.stderr)
        silence(sys.stderr)


def was_unheard() -> bool:
    """True if whoever read standard error has gone."""
    return sys.stderr in _unheard


def silence(file: TextIO) -> None:
    """Let what is written to *file* go nowhere, so that the interpreter does not complain at its exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())


def out(text: str) -> None:
    """Write to standard output."""
    _write(sys.stdout, text)


def out_json(line: str) -> None:
    """One line of JSON, which a terminal shows and does not obey."""
    out((line.translate(_ESCAPES) if sys.stdout.isatty() else line) + "\n")


def _write(file: TextIO, text: str) -> None:
    """Write, at once, as UTF-8 whatever the locale, unless a person's terminal says otherwise."""
    if not hasattr(file, "buffer"):
        file.write(text)
        file.flush()
        return
    if file.isatty():
        data = text.encode(file.encoding or "utf-8", "replace")
    else:
        data = text.encode("utf-8", "backslashreplace")
    file.flush()
    _write_all(file, data)


def _write_all(file: TextIO, data: bytes) -> None:
    """Write *data*, however little of it a pipe or a terminal that does not block takes at once."""
    rest: bytes | memoryview = data
    while rest:
        try:
            # With PYTHONUNBUFFERED it says how much was taken, and `None` if nothing was.
            taken = file.buffer.write(rest) or 0
        except BlockingIOError as full:
            taken = full.characters_written
        if taken == len(rest):
            break
        rest = memoryview(rest)[taken:]
        _await_room(file)
    while True:
        try:
            file.flush()
        except BlockingIOError:
            _await_room(file)
        else:
            return


def _await_room(file: TextIO) -> None:
    select.select([], [file.fileno()], [])
