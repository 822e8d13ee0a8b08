"""
The doors: `fold` and `stream`, and their asynchronous twins.

Each is a thin shell around a `SourceFolder`: it reads the source, feeds the folder, and sees to it that the response is
finalised exactly once, whichever way the caller leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

from chunkfold.basis._wording import observer
from chunkfold.doors._intake import Intake, aclose_quietly, body_of, body_of_async, close_quietly, error_of, next_of
from chunkfold.doors._source_folder import SourceFolder
from chunkfold.doors._sources import _WrongUse, open_async_source, open_source
from chunkfold.doors._streams import AsyncStream, Stream
from chunkfold.limits import Limits
from chunkfold.parts import ToolCall
from chunkfold.policy import Policy
from chunkfold.response import Response, Usage

if TYPE_CHECKING:
    from chunkfold.doors._observers import Observers
    from chunkfold.timing import Timer
    from chunkfold.typed import AsyncTypedStream, TypedStream

__all__ = ["afold", "astream", "fold", "stream", "timer_of"]

T = TypeVar("T")


def fold(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
) -> Response:
    """
    Fold a whole stream into the complete response.

    Args:
        source: Bytes (the body), a path, a binary file, an iterable of bytes, text or decoded payloads, the response
            object of an HTTP client, or the stream of a vendor's SDK.
        dialect: The name of the wire dialect, or `auto` to find it out.
        split_think_tags: Move what stands between `<think>` and `</think>` in the text to reasoning parts.
        cumulative_deltas: True if each text is the whole text so far; `None`: as the dialect sends by default.
        limits: Caps on what the stream may cost.
        policy: How doubtful things are judged.

    Returns:
        The response. What was wrong in the stream is in it: look at `error`, `truncated` and the calls' `status`, or
        call `raise_if_incomplete()`. An exception of the source is in `error`, with `origin="transport"`.

    Raises:
        TypeError: If *source* is nothing that can be folded; the message names the remedy.
        UnknownDialect: If no dialect has that name.
        LimitExceeded: If a limit is passed; it carries the response so far.
        PolicyError: If the policy calls something that was found an error; it carries the whole response.
        OSError: If *source* is a path that cannot be opened.
    """
    folder = SourceFolder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
    )
    if type(source) is bytes:  # there is nothing to read or to close
        folder.feed(source, events=False)
        return folder.close()
    opened = open_source(source)
    try:
        if opened.is_failure:
            return folder.close(error_of(opened, body_of(opened.pieces)))
        from chunkfold.doors._reading import Reader

        reader, intake = Reader(folder, opened.pieces), Intake(folder)
        while True:
            try:
                piece = reader.next(is_sure=intake.is_sure)
            except StopIteration:
                intake.end()
                return folder.close()
            except _WrongUse:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the transport raises is told in the response
                return folder.close(error)
            if type(piece) is bytes and intake.is_sure:
                folder.feed(piece, events=False)
                reader.was_fed(piece)
            else:
                intake.feed(piece, events=False)
    finally:
        close_quietly(opened)


async def afold(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
) -> Response:
    """As `fold`, for asynchronous sources and everything that `fold` takes."""
    folder = SourceFolder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
    )
    opened = open_async_source(source)
    try:
        if opened.is_failure:
            return folder.close(error_of(opened, await body_of_async(opened.pieces)))
        intake = Intake(folder)
        while True:
            try:
                piece = await next_of(opened.pieces)
            except (StopIteration, StopAsyncIteration):
                intake.end()
                return folder.close()
            except _WrongUse:
                raise
            except Exception as error:  # noqa: BLE001 - whatever the transport raises is told in the response
                return folder.close(error)
            if type(piece) is bytes and intake.is_sure:
                folder.feed(piece, events=False)
            else:
                intake.feed(piece, events=False)
    finally:
        await aclose_quietly(opened)


@overload
def stream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[T],
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> TypedStream[T]: ...


@overload
def stream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> Stream: ...


def stream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[Any] | None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> Stream:
    """
    Iterate over the events of a stream while it is folded.

        with chunkfold.stream(response) as events:
            for event in events:
                ...
        message = events.response().message

    Arguments and errors are those of `fold`, but an exception of the source is raised again, unchanged, when the
    events that it ended have been handed out.

    Args:
        source: As in `fold`.
        dialect: As in `fold`.
        split_think_tags: As in `fold`.
        cumulative_deltas: As in `fold`.
        limits: As in `fold`.
        policy: As in `fold`.
        live_arguments: Tell what comes at which path of the arguments of calls; `ToolCall.partial` is at hand.
        live_text: Tell what comes at which path of an answer text that is one JSON document.
        output_type: A msgspec struct, a dataclass or a pydantic model that the answer text is to be, as JSON. The
            stream then has `partial()`, what there is of it so far, and `output()`, the whole, validated.
        clock: Gives seconds, such as `time.perf_counter`, for `timing()`.
        on_text: Called with each piece of answer text of choice 0.
        on_reasoning: Called with each piece of reasoning of choice 0.
        on_tool_call: Called with each client call of choice 0 when it is complete. Look at its `status`.
        on_usage: Called with the usage so far whenever it changes.
        on_done: Called once with the complete response, on every way out.

    An observer that raises is reported once, through `logging`, and does not stop the stream.
    """
    folder = SourceFolder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
        live_arguments=live_arguments,
        live_text=live_text,
    )
    observers = _observers(on_text, on_reasoning, on_tool_call, on_usage, on_done)
    timer = timer_of(clock)
    if output_type is not None:
        from chunkfold.typed import TypedStream, prepare

        prepare(folder, output_type)
        return TypedStream(folder, open_source(source), observers, timer, output_type)
    return Stream(folder, open_source(source), observers, timer)


@overload
def astream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[T],
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> AsyncTypedStream[T]: ...


@overload
def astream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> AsyncStream: ...


def astream(
    source: Any,
    dialect: str = "auto",
    *,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    live_arguments: bool = False,
    live_text: bool = False,
    output_type: type[Any] | None = None,
    clock: Callable[[], float] | None = None,
    on_text: Callable[[str], object] | None = None,
    on_reasoning: Callable[[str], object] | None = None,
    on_tool_call: Callable[[ToolCall], object] | None = None,
    on_usage: Callable[[Usage], object] | None = None,
    on_done: Callable[[Response], object] | None = None,
) -> AsyncStream:
    """As `stream`, for `async with` and `async for`. `response()` is a plain method and never waits."""
    folder = SourceFolder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
        live_arguments=live_arguments,
        live_text=live_text,
    )
    observers = _observers(on_text, on_reasoning, on_tool_call, on_usage, on_done)
    timer = timer_of(clock)
    if output_type is not None:
        from chunkfold.typed import AsyncTypedStream, prepare

        prepare(folder, output_type)
        return AsyncTypedStream(folder, open_async_source(source), observers, timer, output_type)
    return AsyncStream(folder, open_async_source(source), observers, timer)


def timer_of(clock: Callable[[], float] | None) -> Timer | None:
    """What notes when events come, by *clock*; `None` without one."""
    if clock is None:
        return None
    observer("clock", clock)
    from chunkfold.timing import Timer

    return Timer(clock)


def _observers(*callbacks: Any) -> Observers | None:
    """Most streams have none: they are loaded with the first."""
    if all(callback is None for callback in callbacks):
        return None
    from chunkfold.doors._observers import Observers

    return Observers.of(*callbacks)
