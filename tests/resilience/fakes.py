"""A clock that nobody waits for, and sources that take their time by it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from chunkfold import resilience
from chunkfold.resilience._clock import Overdue

if TYPE_CHECKING:
    from collections.abc import Iterable

WALL = 1_750_000_000.0


class FakeClock(resilience.Clock):
    """Waiting sets it forward. `chances` are the numbers that jitter is made of."""

    def __init__(self, chance: float = 0.5) -> None:
        self.time = 1000.0
        self.waits: list[float] = []
        self._chance = chance
        self._deadlines: list[float] = []

    def now(self) -> float:
        return self.time

    def wall(self) -> float:
        return WALL + self.time

    def chance(self) -> float:
        return self._chance

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.time += seconds

    async def asleep(self, seconds: float) -> None:
        self.sleep(seconds)

    async def within(self, seconds: float, call: Any) -> Any:
        self._deadlines.append(self.time + seconds)
        try:
            return await call()
        finally:
            self._deadlines.pop()

    async def closing(self, call: Any) -> None:
        waiting = call()
        if hasattr(waiting, "__await__"):
            await waiting

    def pass_by(self, seconds: float) -> None:
        """The server takes so long, unless somebody's patience ends before."""
        until = self.time + seconds
        if self._deadlines and min(self._deadlines) < until:
            self.time = min(self._deadlines)
            raise Overdue
        self.time = until


class Source:
    """
    Pieces for a thread: bytes, numbers (so many seconds go by) and exceptions (raised).

    It has a read timeout, as a socket has.
    """

    def __init__(self, clock: FakeClock, steps: Iterable[Any]) -> None:
        self._clock = clock
        self._steps = iter(list(steps))
        self._timeout: float | None = None
        self.closed = 0

    def settimeout(self, seconds: float) -> None:
        self._timeout = seconds

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> bytes:
        for step in self._steps:
            if isinstance(step, (int, float)):
                if self._timeout is not None and step > self._timeout:
                    self._clock.time += self._timeout
                    raise TimeoutError("timed out")
                self._clock.time += step
            elif isinstance(step, BaseException):
                raise step
            else:
                return step
        raise StopIteration

    def close(self) -> None:
        self.closed += 1


class AsyncSource:
    """The same for a task."""

    def __init__(self, clock: FakeClock, steps: Iterable[Any]) -> None:
        self._clock = clock
        self._steps = iter(list(steps))
        self.closed = 0

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> bytes:
        for step in self._steps:
            if isinstance(step, (int, float)):
                self._clock.pass_by(step)
            elif isinstance(step, BaseException):
                raise step
            else:
                return step
        raise StopAsyncIteration

    async def aclose(self) -> None:
        self.closed += 1


class Refusal:
    """An HTTP answer with a status, with the face of urllib's."""

    def __init__(self, status: int, body: Any = None, **headers: str) -> None:
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        self._body = json.dumps(body).encode() if body is not None else b""
        self.closed = 0

    def settimeout(self, seconds: float) -> None:
        pass

    def read(self, size: int = -1) -> bytes:
        body, self._body = self._body, b""
        return body

    def close(self) -> None:
        self.closed += 1


class AsyncRefusal(Refusal):
    """With the face of aiohttp's."""

    @property
    def content(self) -> Any:
        return self

    async def iter_any(self) -> Any:
        yield self._body


class Server:
    """Gives one source after the other; the last one again and again. An exception is raised instead."""

    def __init__(self, clock: FakeClock, *sources: Any, kind: Any = Source) -> None:
        self._clock = clock
        self._plans = list(sources)
        self._kind = kind
        self.opened: list[Any] = []

    def __call__(self) -> Any:
        plan = self._plans[min(len(self.opened), len(self._plans) - 1)]
        made = self._kind(self._clock, plan) if isinstance(plan, (list, tuple)) else plan
        self.opened.append(made)
        if isinstance(made, BaseException):
            raise made
        return made() if isinstance(made, type) else made


def chunk(delta: dict[str, Any] | None = None, reason: str | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": reason}]
    return b"data: %s\n\n" % json.dumps({"id": "c", "model": "m", "choices": choices, **more}).encode()


def text(words: str) -> bytes:
    return chunk({"content": words})


ROLE = chunk({"role": "assistant", "content": ""})
PING = b": ping\n\n"
STOP = chunk({}, "stop")
USAGE = chunk(None, usage={"prompt_tokens": 3, "completion_tokens": 4})
DONE = b"data: [DONE]\n\n"
ANSWER = [ROLE, text("Hel"), text("lo"), STOP, USAGE, DONE]
OVERLOADED = b'data: {"error": {"type": "server_error", "code": 503, "message": "Overloaded"}}\n\n'
