"""
Time as everything in this package sees it, under asyncio, trio and threads.

The library that runs an asynchronous caller is found out at each wait, and nothing is imported that is not in use. A
timeout holds for one step: no cancel scope ever stays open while the caller has the stream in hand.
"""

from __future__ import annotations

import random
import sys
import time
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

__all__ = ["Clock", "Overdue"]

T = TypeVar("T")

# How long closing a source may take before it is left alone.
_CLOSING_SECONDS = 5.0


class Overdue(Exception):
    """A step took longer than it was given."""


class Clock:
    """The real time. Tests give another one, in which nothing waits."""

    def now(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since 1970, for dates that servers name."""
        return time.time()

    def chance(self) -> float:
        """A number from 0 to 1, for jitter."""
        return random.random()  # noqa: S311 - waits are spread, nothing is kept secret

    def sleep(self, seconds: float) -> None:
        """Wait in this thread."""
        time.sleep(seconds)

    async def asleep(self, seconds: float) -> None:
        """Wait in this task."""
        trio = _trio()
        if trio is not None:
            await trio.sleep(seconds)
            return
        import asyncio

        await asyncio.sleep(seconds)

    async def within(self, seconds: float, call: Callable[[], Awaitable[T]]) -> T:
        """
        What *call* gives, if it takes no longer than *seconds*; else it is cancelled.

        Raises:
            Overdue: If it takes longer.
        """
        trio = _trio()
        if trio is not None:
            with trio.move_on_after(max(0.0, seconds)):
                return await call()
            raise Overdue
        import asyncio

        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                return await call()
        except Exception as error:
            # Some transports tell of the cancellation in an error of their own.
            if timer.expired():
                raise Overdue from error
            raise

    async def closing(self, call: Callable[[], Any]) -> None:
        """Let *call* close something, also in a task that is being cancelled; not for ever."""
        anyio: Any = sys.modules.get("anyio") or _trio()
        if anyio is not None:
            with anyio.move_on_after(_CLOSING_SECONDS) as scope:
                scope.shield = True
                await _awaited(call())
            return
        import asyncio

        async with asyncio.timeout(_CLOSING_SECONDS):
            await _awaited(call())


async def _awaited(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


def _trio() -> Any:
    """The module trio if it runs the task that asks."""
    trio = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_task() else None
