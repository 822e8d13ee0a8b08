"""
`wrap`: the vendor's own stream goes through untouched while a fold listens.

Where the SDK reads its response through an HTTP client, the bytes are listened to: that is exact, cheap, and sees what
the SDK drops or raises on. Otherwise the objects that pass are. Whatever goes wrong in folding stays in `fold.error`.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex

from chunkfold.basis._wording import described
from chunkfold.doors._intake import refusal_of
from chunkfold.doors._sdk_streams import unread_response
from chunkfold.doors._shells import timer_of
from chunkfold.doors._source_folder import SourceFolder
from chunkfold.doors._sources import _is_async_httpx, is_whole_answer
from chunkfold.doors._wrapped_fold import WrappedFold
from chunkfold.limits import Limits
from chunkfold.policy import Policy
from chunkfold.response import Response

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

__all__ = ["WrappedFold", "wrap"]


def wrap(
    vendor_stream: Any,
    dialect: str = "auto",
    *,
    on_done: Callable[[Response], object] | None = None,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
    clock: Callable[[], float] | None = None,
) -> tuple[Any, WrappedFold]:
    """
    Listen to a vendor's stream: `(proxy, fold)`.

    Use *proxy* instead of the stream; it is one to `isinstance`, and its attributes, helpers, `with` and `close` are
    the stream's own. `fold.response()` has what has been folded so far.

    Args:
        vendor_stream: A synchronous or asynchronous stream of an SDK, not yet read from; or what the SDK gives for use
            in `with` or `async with`, such as `client.messages.stream(...)`. An iterator of bytes or text will do too,
            and a response of httpx or requests, or what an SDK gives of one (`with_raw_response`), by whatever method
            it is read.
        dialect: The name of the wire dialect, or `auto` to find it out.
        on_done: Called once with the complete response, on every way out.
        split_think_tags: As in `fold`.
        cumulative_deltas: As in `fold`.
        limits: Caps on what the fold may cost. A breach is in `fold.error`; the stream goes on.
        policy: As in `fold`.
        clock: Gives seconds, such as `time.perf_counter`, for `fold.timing()`.

    Raises:
        TypeError: If *vendor_stream* is nothing that can be listened to; the message names the remedy.
        UnknownDialect: If no dialect has that name.
    """
    kind = _kind_of(vendor_stream)
    folder = SourceFolder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
    )
    fold = WrappedFold(folder, on_done, timer_of(clock))
    return kind(vendor_stream, fold), fold


def _kind_of(stream: Any) -> type[_Base]:
    if isinstance(stream, (str, bytes, bytearray, memoryview, os.PathLike)) or is_whole_answer(stream):
        raise TypeError("this is content, not a stream: use fold()")
    if isinstance(stream, Mapping):
        raise TypeError("wrap the stream inside of this mapping: response['stream'] or response['body']")
    if hasattr(stream, "__await__"):
        if callable(getattr(stream, "close", None)):
            stream.close()
        raise TypeError("this is a coroutine that was not awaited: await it first and wrap what it gives")
    if hasattr(stream, "iter_content") and unread_response(stream) is not None:
        return _RequestsProxy
    for names, kind in _KINDS.items():
        if all(hasattr(stream, name) for name in names):
            if kind is _AsyncManager and hasattr(getattr(stream, "content", None), "iter_any"):  # aiohttp
                raise TypeError("wrap the .content of this response, and iterate over that")
            return kind
    raise TypeError(f"cannot wrap {described(stream)}: it is no stream")


# Listening to the bytes


def _listen(stream: Any, fold: WrappedFold, left: Callable[[], None]) -> Any:
    """
    Listen where the bytes of a response will be read, if there is such a place; the response. *left* is called when
    they are read no further, though there may be more.
    """
    response = unread_response(stream)
    if response is None:
        return None
    fold._refusal = refusal_of(response)
    if not hasattr(response, "iter_bytes"):  # urllib3
        response.stream = _heard(response.stream, fold, left, fold._hear)
    elif hasattr(stream, "__aiter__") or _is_async_httpx(response):
        _listen_to_httpx(response, "aiter", _heard_async, fold, left)
    else:
        _listen_to_httpx(response, "iter", _heard, fold, left)
    return response


def _listen_to_httpx(
    response: Any, way: str, heard: Callable[..., Callable[..., Any]], fold: WrappedFold, left: Callable[[], None]
) -> None:
    """
    Listen to the bytes as httpx decodes them. Those beneath are heard where they are read themselves, as a proxy does
    that passes them on.
    """
    of_bytes, of_raw = f"{way}_bytes", f"{way}_raw"
    is_decoded = False
    decoded = heard(getattr(response, of_bytes), fold, left, fold._hear)
    beneath: Any = getattr(response, of_raw, None)
    raw = heard(beneath, fold, left, _decoding(response, fold))

    def read_decoded(*args: Any, **kwargs: Any) -> Any:
        nonlocal is_decoded
        is_decoded = True
        return decoded(*args, **kwargs)

    def read_raw(*args: Any, **kwargs: Any) -> Any:
        return beneath(*args, **kwargs) if is_decoded else raw(*args, **kwargs)

    setattr(response, of_bytes, read_decoded)
    if beneath is not None:
        setattr(response, of_raw, read_raw)


def _decoding(response: Any, fold: WrappedFold) -> Callable[[bytes], None]:
    """What hears bytes that may be compressed."""
    if not getattr(response, "headers", {}).get("content-encoding"):
        return fold._hear

    def hear(piece: bytes) -> None:
        try:
            piece = response._get_content_decoder().decode(piece)
        except Exception as error:  # noqa: BLE001 - the caller's loop does not decode
            fold._error = fold._error or error
        else:
            fold._hear(piece)

    return hear


def _heard(
    read: Callable[..., Iterator[bytes]],
    fold: WrappedFold,
    left: Callable[[], None],
    hear: Callable[[bytes], None],
) -> Callable[..., Iterator[bytes]]:
    def pieces(*args: Any, **kwargs: Any) -> Iterator[bytes]:
        try:
            for piece in read(*args, **kwargs):
                hear(piece)
                yield piece
        except GeneratorExit:
            left()
            raise
        except BaseException as error:
            fold._finish(error)
            raise
        fold._finish()

    return pieces


def _heard_async(
    read: Callable[..., AsyncIterator[bytes]],
    fold: WrappedFold,
    left: Callable[[], None],
    hear: Callable[[bytes], None],
) -> Callable[..., AsyncIterator[bytes]]:
    def pieces(*args: Any, **kwargs: Any) -> AsyncIterator[bytes]:
        return _HeardAsync(read(*args, **kwargs), fold, left, hear)

    return pieces


class _HeardAsync:
    """No generator: one that is not run to its end is cleaned up by the event loop, with a warning under trio."""

    def __init__(
        self,
        pieces: AsyncIterator[bytes],
        fold: WrappedFold,
        left: Callable[[], None],
        hear: Callable[[bytes], None],
    ) -> None:
        self._pieces = pieces
        self._fold = fold
        self._left = left
        self._hear = hear

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        try:
            piece = await self._pieces.__anext__()
        except BaseException as error:
            self._fold._finish(error)
            raise
        self._hear(piece)
        return piece

    async def aclose(self) -> None:
        self._left()
        close = getattr(self._pieces, "aclose", None)
        if close is not None:
            await close()

    def __del__(self) -> None:
        self._left()


# The proxies


class _Base:
    """Looks like the stream it stands for."""

    # When it is collected nobody reads on, unless another has the say.
    _cf_has_the_say = True

    def __init__(self, stream: Any, fold: WrappedFold) -> None:
        self._cf_stream = stream
        self._cf_fold = fold
        self._cf_items: Any = None
        _listen(stream, fold, fold._stop_listening)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        kind: type = type(self._cf_stream)
        return kind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cf_stream, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_cf_"):
            object.__setattr__(self, name, value)
        else:
            setattr(self._cf_stream, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._cf_stream, name)

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A second proxy would end the fold when it is collected, while the first is still being read."""
        raise TypeError(f"a stream that is listened to cannot be copied or pickled: {described(self._cf_stream)}")

    def __dir__(self) -> list[str]:
        return dir(self._cf_stream)

    def __repr__(self) -> str:
        return repr(self._cf_stream)

    def __del__(self) -> None:
        fold = self.__dict__.get("_cf_fold")
        if fold is not None and self._cf_has_the_say:
            fold._abandon()


class _Proxy(_Base):
    def __iter__(self) -> Iterator[Any]:
        """As `__next__` until the end, and faster. One that is left in the middle can be begun again."""
        fold = self._cf_fold
        try:
            for item in self._items():
                fold._hear_object(item)
                yield item
        except GeneratorExit:  # the loop was left; the stream is still there
            raise
        except BaseException as error:
            fold._finish(error)
            raise
        fold._finish()

    def _items(self) -> Iterator[Any]:
        if self._cf_items is None:
            self._cf_items = iter(self._cf_stream)
        items: Iterator[Any] = self._cf_items
        return items

    def __next__(self) -> Any:
        try:
            item = next(self._items())
        except BaseException as error:
            self._cf_fold._finish(error)
            raise
        self._cf_fold._hear_object(item)
        return item

    def __enter__(self) -> Any:
        if not hasattr(self._cf_stream, "__enter__"):  # a generator
            return self
        entered = self._cf_stream.__enter__()
        return self if entered is self._cf_stream else entered

    def __exit__(self, *exc: object) -> Any:
        if not hasattr(self._cf_stream, "__exit__"):
            return self.close() if hasattr(self._cf_stream, "close") else self._cf_fold._abandon()
        try:
            return self._cf_stream.__exit__(*exc)
        finally:
            self._cf_fold._abandon()

    def close(self) -> Any:
        try:
            return self._cf_stream.close()
        finally:
            self._cf_fold._abandon()


class _AsyncProxy(_Base):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._cf_items is None:
            self._cf_items = self._cf_stream.__aiter__()
        try:
            item = await self._cf_items.__anext__()
        except BaseException as error:
            self._cf_fold._finish(error)
            raise
        self._cf_fold._hear_object(item)
        return item

    async def __aenter__(self) -> Any:
        if not hasattr(self._cf_stream, "__aenter__"):
            return self
        entered = await self._cf_stream.__aenter__()
        return self if entered is self._cf_stream else entered

    async def __aexit__(self, *exc: object) -> Any:
        if not hasattr(self._cf_stream, "__aexit__"):
            return await self.aclose() if hasattr(self._cf_stream, "aclose") else self._cf_fold._abandon()
        try:
            return await self._cf_stream.__aexit__(*exc)
        finally:
            self._cf_fold._abandon()

    async def aclose(self) -> Any:
        """Close the stream, whether the SDK calls that `close` or `aclose`."""
        close = getattr(self._cf_stream, "aclose", None) or self._cf_stream.close
        try:
            return await close()
        finally:
            self._cf_fold._abandon()

    close = aclose


class _EitherProxy(_Proxy, _AsyncProxy):
    """For LiteLLM's stream, which is of both kinds; `close` is the synchronous one."""


class _ResponseProxy(_Base):
    """
    For the response of httpx, and what SDKs make of it (`with_raw_response`): there are many ways to read it, all of
    them beginning with the same bytes. Who reads may have dropped the proxy, so that the response itself counts.
    """

    def __init__(self, response: Any, fold: WrappedFold) -> None:
        self._cf_stream, self._cf_fold, self._cf_items = response, fold, None
        self._cf_has_the_say = False
        heard = _listen(response, fold, fold._leave)
        if heard is None:
            raise TypeError("this response has been read: use fold()")
        if _is_async_httpx(heard):
            # An SDK that has met the end mark closes it, and leaves what read it to be collected.
            heard.aclose = _closing(heard.aclose, fold)
        weakref.finalize(heard, fold._leave)

    def close(self) -> Any:
        try:
            return self._cf_stream.close()
        finally:
            self._cf_fold._leave()

    async def aclose(self) -> Any:
        try:
            return await self._cf_stream.aclose()
        finally:
            self._cf_fold._leave()


def _closing(close: Callable[[], Any], fold: WrappedFold) -> Callable[[], Any]:
    async def aclose() -> Any:
        fold._stop_listening()
        return await close()

    return aclose


class _RequestsProxy(_ResponseProxy, _Proxy):
    """The same for requests, whose responses can be iterated over as they are."""


class _Manager(_Base):
    """Stands for what gives the stream when it is entered. From then on the proxy of the stream has the say."""

    def __enter__(self) -> Any:
        try:
            entered = self._cf_stream.__enter__()
        except BaseException as error:
            self._cf_fold._finish(error)
            raise
        self._cf_has_the_say = False
        try:
            return _kind_of(entered)(entered, self._cf_fold)
        except TypeError as error:
            self._cf_stream.__exit__(TypeError, error, error.__traceback__)
            raise

    def __exit__(self, *exc: object) -> Any:
        try:
            return self._cf_stream.__exit__(*exc)
        finally:
            self._cf_fold._abandon()


class _AsyncManager(_Base):
    """As `_Manager`, for `async with`."""

    async def __aenter__(self) -> Any:
        try:
            entered = await self._cf_stream.__aenter__()
        except BaseException as error:
            self._cf_fold._finish(error)
            raise
        self._cf_has_the_say = False
        try:
            return _kind_of(entered)(entered, self._cf_fold)
        except TypeError as error:
            await self._cf_stream.__aexit__(TypeError, error, error.__traceback__)
            raise

    async def __aexit__(self, *exc: object) -> Any:
        try:
            return await self._cf_stream.__aexit__(*exc)
        finally:
            self._cf_fold._abandon()


# By the first methods that the stream has.
_KINDS: dict[tuple[str, ...], type[_Base]] = {
    ("__aiter__", "__iter__"): _EitherProxy,
    ("__aiter__",): _AsyncProxy,
    ("__iter__",): _Proxy,
    ("__aenter__",): _AsyncManager,
    ("__enter__",): _Manager,
    ("iter_bytes", "aiter_bytes"): _ResponseProxy,
    ("http_response",): _ResponseProxy,
}
