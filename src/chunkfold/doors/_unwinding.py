"""
Ends asynchronous generators that read from other generators, as those of httpx do.

One that is closed drops those beneath it, and they are left to be collected: in tasks of their own under asyncio, with
a warning under trio. A read that is cancelled ends all of them.
"""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["trio_in_use", "unwind", "unwound"]

# What a client has read ahead is given without waiting, and so without being cancelled.
_READS_AT_HAND = 64


def trio_in_use() -> Any:
    """The module trio if it runs the task that asks."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_task() else None


async def unwind(pieces: Any) -> None:
    """End *pieces* by a read that is cancelled, if it is a generator."""
    for _ in range(_READS_AT_HAND):
        if getattr(pieces, "ag_frame", None) is None:
            return
        try:
            if not await _read_at_hand(pieces):
                return
        except StopAsyncIteration:
            return


def unwound(pieces: Any, close: Callable[[], Awaitable[Any]]) -> Callable[[], Awaitable[None]]:
    """*close*, with *pieces* ended before it."""

    async def closing() -> None:
        try:
            with contextlib.suppress(Exception):
                await unwind(pieces)
        finally:
            await close()
        # Another task may have been reading.
        await unwind(pieces)

    return closing


async def _read_at_hand(pieces: Any) -> bool:
    """True if there was a piece that had not to be waited for."""
    trio = trio_in_use()
    if trio is not None:
        with trio.CancelScope(shield=True) as scope:
            scope.cancel()
            await pieces.__anext__()
        return not scope.cancelled_caught
    import asyncio

    try:
        async with asyncio.timeout(0):
            await pieces.__anext__()
    except TimeoutError:
        return False
    return True
