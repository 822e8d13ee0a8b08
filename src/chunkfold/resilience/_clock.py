"""
Time as everything in this package sees it, under asyncio, trio and threads.

The library that runs an asynchronous caller is found out at each wait, and nothing is imported that is not in use. A
timeout holds for one step: no cancel scope ever stays open while the caller has the stream in hand.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from chunkfold.basis._wording import described
from chunkfold.doors._unwinding import trio_in_use

if TYPE_CHECKING:
    import asyncio

__all__ = ["Clock", "Overdue", "Steps", "clock_or_real"]

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
        trio = trio_in_use()
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
        trio = trio_in_use()
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

    def steps(self) -> Steps:
        """What times the many steps of one stream, for less than a timer each."""
        return Steps(self)

    async def closing(self, call: Callable[[], Any]) -> None:
        """Let *call* close something, also in a task that is being cancelled; not for ever."""
        anyio: Any = sys.modules.get("anyio") or trio_in_use()
        if anyio is not None:
            with anyio.move_on_after(_CLOSING_SECONDS) as scope:
                scope.shield = True
                await _awaited(call())
            return
        import asyncio

        async with asyncio.timeout(_CLOSING_SECONDS):
            await _awaited(call())


def clock_or_real(given: Clock | None) -> Clock:
    """
    *given*, or the real time for `None`.

    Raises:
        TypeError: If it is no clock.
    """
    if given is None:
        return Clock()
    if isinstance(given, type) or not callable(getattr(given, "now", None)):
        raise TypeError(f"clock must be a resilience.Clock or None, not {described(given)}")
    return given


class Steps:
    """
    `Clock.within`, again and again in one task: under asyncio one timer stands for all steps.

    It is set anew when it rings and the step at hand has time left, not at each step.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = 0.0
        self._handle: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[Any] | None = None
        self._rang = False

    async def within(self, seconds: float, call: Callable[[], Awaitable[T]]) -> T:
        """
        As `Clock.within`.

        Raises:
            Overdue: If it takes longer.
        """
        if type(self._clock).within is not Clock.within or trio_in_use() is not None:
            return await self._clock.within(seconds, call)
        import asyncio

        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - whoever awaits this is one
        cancelling = task.cancelling()
        self._set(asyncio.get_running_loop(), seconds)
        self._task, self._rang = task, False
        try:
            return await call()
        except asyncio.CancelledError:
            if self._rang:
                self._rang = False
                # Somebody else may have cancelled the task at the same time: then that counts.
                if task.uncancel() <= cancelling:
                    raise Overdue from None
            raise
        except Exception as error:
            # Some transports tell of the cancellation in an error of their own.
            if self._rang:
                raise Overdue from error
            raise
        finally:
            self._task = None
            if self._rang and task.cancelling() > cancelling:
                task.uncancel()

    def close(self) -> None:
        """Let go of the timer."""
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.cancel()

    def _set(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._loop = loop
        self._until = until = loop.time() + seconds
        if self._handle is not None and self._handle.when() <= until:
            return
        self.close()
        self._handle = loop.call_at(until, self._ring)

    def _ring(self) -> None:
        self._handle = None
        if self._task is None:
            return
        if self._loop.time() < self._until:
            self._handle = self._loop.call_at(self._until, self._ring)
            return
        self._rang = True
        self._task.cancel()


async def _awaited(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value
