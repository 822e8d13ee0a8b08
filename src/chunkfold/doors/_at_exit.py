"""What is still open when the interpreter exits: it is ended there, so that its observers hear of it."""

from __future__ import annotations

import contextlib
from typing import Any

__all__ = ["forget", "remember"]

_open: Any = None


def remember(stream: Any) -> None:
    """Call `stream._abandon()` at the exit of the interpreter, unless it is forgotten or collected before."""
    global _open  # noqa: PLW0603 - made when first needed, to keep the import light
    if _open is None:
        import atexit
        import weakref

        _open = weakref.WeakSet()
        atexit.register(_abandon_all)
    _open.add(stream)


def forget(stream: Any) -> None:
    """*stream* has ended."""
    if _open is not None:
        _open.discard(stream)


def _abandon_all() -> None:
    for stream in list(_open or ()):
        with contextlib.suppress(Exception):  # a thread may still be reading
            stream._abandon()
