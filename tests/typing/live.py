"""How users write what is live, checked by mypy."""

from __future__ import annotations

import dataclasses
import time
from typing import assert_type

import chunkfold
from chunkfold import events
from chunkfold.timing import Timing
from chunkfold.typed import AsyncTypedStream, TypedStream


@dataclasses.dataclass
class Answer:
    title: str


def typed(source: object) -> Answer:
    with chunkfold.stream(source, output_type=Answer) as stream:
        assert_type(stream, TypedStream[Answer])
        for event in stream:
            assert_type(event, events.Event)
        assert_type(stream.output(), Answer)
        return stream.output()


async def typed_later(source: object) -> Answer:
    async with chunkfold.astream(source, output_type=Answer) as stream:
        assert_type(stream, AsyncTypedStream[Answer])
        async for event in stream:
            assert_type(event, events.Event)
    return stream.output()


def untyped(source: object) -> None:
    with chunkfold.stream(source, live_arguments=True, clock=time.perf_counter) as stream:
        assert_type(stream, chunkfold.Stream)
        for event in stream:
            match event:
                case events.ArgumentsPathDelta(path=path, text=text):
                    assert_type(path, tuple[str | int, ...])
                    assert_type(text, str)
                case _:
                    pass
        assert_type(stream.timing(), Timing | None)


def moved(folder: chunkfold.Folder) -> chunkfold.Folder:
    assert_type(folder.save(), bytes)
    return chunkfold.Folder.restore(folder.save())


def failed(error: chunkfold.OutputInvalid) -> None:
    assert_type(error.path, tuple[str | int, ...])
    assert_type(error.response, chunkfold.Response)
