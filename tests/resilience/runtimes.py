"""The ways to run a resilient stream, and what is seen of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from chunkfold import resilience
from chunkfold.events import MessageReset, MessageStop, TextDelta
from tests.laws import rebuild
from tests.resilience.clients import async_get, http_get, urllib_get

if TYPE_CHECKING:
    from collections.abc import Callable


class QuickClock(resilience.Clock):
    """The real time, but for the waits between attempts: they are written down and not waited for."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)

    async def asleep(self, seconds: float) -> None:
        self.waits.append(seconds)


class Seen:
    """What a caller saw of a stream."""

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.raised: BaseException | None = None
        self.response: Any = None
        self.attempts: tuple[Any, ...] = ()
        self.usage: Any = None
        self.resets = 0
        self.shown: dict[tuple[int, int], str] = {}

    def take(self, event: Any) -> None:
        """As a screen does: text is put behind text, and what is taken back is wiped off."""
        self.events.append(event)
        if isinstance(event, MessageReset):
            if event.reason == "attempt":
                self.resets += 1
            self.shown = {key: text for key, text in self.shown.items() if key[1] < event.from_part}
        elif isinstance(event, TextDelta):
            key = (event.choice, event.index)
            self.shown[key] = self.shown.get(key, "") + event.text

    def finish(self, stream: Any) -> None:
        self.response, self.attempts, self.usage = stream.response(), stream.attempts, stream.usage()

    def assert_lawful(self) -> None:
        """What holds however it went: one end, nothing twice, and the events make the response."""
        stops = [event for event in self.events if isinstance(event, MessageStop)]
        assert len(stops) == 1
        assert self.events[-1] is stops[0]
        assert rebuild(self.events) == self.response
        texts = [part.text for part in self.response.parts if part.kind == "text"]
        whole_texts = {part.text for choice in self.response.choices for part in choice.parts if part.kind == "text"}
        assert set(self.shown.values()) - {""} <= whole_texts
        assert "".join(texts) == self.response.text


def in_a_thread(get: Callable[[str], Any]) -> Callable[..., Seen]:
    def run(url: str, **options: Any) -> Seen:
        seen = Seen()
        stream = resilience.stream(lambda: get(url), **options)
        try:
            with stream:
                for event in stream:
                    seen.take(event)
        except Exception as error:  # noqa: BLE001 - it is what is looked at
            seen.raised = error
        seen.finish(stream)
        return seen

    return run


async def in_a_task(get: Callable[[str], Any], url: str, **options: Any) -> Seen:
    seen = Seen()
    stream = resilience.astream(lambda: get(url), **options)
    try:
        async with stream:
            async for event in stream:
                seen.take(event)
    except Exception as error:  # noqa: BLE001 - it is what is looked at
        seen.raised = error
    seen.finish(stream)
    return seen


def under_asyncio(url: str, **options: Any) -> Seen:
    async def main() -> Seen:
        seen = await in_a_task(async_get, url, **options)
        # What a cancelled step leaves behind is gone when its callbacks have run.
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return seen

    return asyncio.run(main())


RUNTIMES: dict[str, Callable[..., Seen]] = {
    "threads, urllib": in_a_thread(urllib_get),
    "threads, http.client": in_a_thread(http_get),
    "asyncio": under_asyncio,
}
