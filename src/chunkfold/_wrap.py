"""
`wrap`: the vendor's own stream goes through untouched while a fold listens.

Where the SDK reads its response through an HTTP client, the bytes are listened to: that is exact, cheap, and sees what
the SDK drops or raises on. Otherwise the objects that pass are. Whatever goes wrong in folding stays in `fold.error`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold._folder import Folder
from chunkfold._objects import payload_of
from chunkfold._observers import report

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from chunkfold.limits import Limits
    from chunkfold.policy import Policy
    from chunkfold.response import Response

__all__ = ["WrappedFold", "wrap"]


class WrappedFold:
    """What a wrapped stream folds into."""

    def __init__(self, folder: Folder, on_done: Callable[[Response], object] | None) -> None:
        self._folder = folder
        self._on_done = on_done
        self._over = False
        self.error: Exception | None = None
        """What went wrong in folding; `None` if nothing did. The caller's loop never sees it."""

    def response(self) -> Response:
        """The response so far: a snapshot while the stream is open, the complete one after its end."""
        return self._folder.snapshot()

    def _feed(self, piece: Any) -> None:
        if self.error is not None or self._over:
            return
        try:
            self._folder.feed(piece, events=False)
        except Exception as error:  # noqa: BLE001 - a fault in folding must not reach the caller's loop
            self.error = error

    def _feed_object(self, item: Any) -> None:
        try:
            payload = payload_of(item)
        except Exception as error:  # noqa: BLE001 - as above
            self.error = self.error or error
            return
        if payload is not None:
            self._feed(payload)

    def _stop_listening(self) -> None:
        """
        The SDK reads no further: because of the end mark, or of something that the proxy is about to hear of.
        """
        if self._folder.end_seen:
            self._finish()

    def _finish(self, error: BaseException | None = None) -> None:
        """The stream has ended, in one way or another: once."""
        if self._over:
            return
        self._over = True
        try:
            response = self._folder.close(error)
        except Exception as fault:  # noqa: BLE001 - as above
            self.error = self.error or fault
            response = self._folder.snapshot()
        if self._on_done is not None:
            try:
                self._on_done(response)
            except Exception:  # noqa: BLE001 - an observer's fault is reported, not raised
                report("on_done")


def wrap(
    vendor_stream: Any,
    dialect: str = "auto",
    *,
    on_done: Callable[[Response], object] | None = None,
    split_think_tags: bool = False,
    cumulative_deltas: bool | None = None,
    limits: Limits | None = None,
    policy: Policy | None = None,
) -> tuple[Any, WrappedFold]:
    """
    Listen to a vendor's stream: `(proxy, fold)`.

    Use *proxy* instead of the stream; it is one to `isinstance`, and its attributes, helpers, `with` and `close` are
    the stream's own. `fold.response()` has what has been folded so far.

    Args:
        vendor_stream: A synchronous or asynchronous stream of an SDK, not yet read from.
        dialect: The name of the wire dialect, or `auto` to find it out.
        on_done: Called once with the complete response, on every way out.
        split_think_tags: As in `fold`.
        cumulative_deltas: As in `fold`.
        limits: Caps on what the fold may cost. A breach is in `fold.error`; the stream goes on.
        policy: As in `fold`.

    Raises:
        TypeError: If *vendor_stream* cannot be iterated over.
        UnknownDialect: If no dialect has that name.
    """
    if not hasattr(vendor_stream, "__iter__") and not hasattr(vendor_stream, "__aiter__"):
        raise TypeError(
            f"cannot wrap a {type(vendor_stream).__name__}: give the stream itself, as from 'with client.stream(...)'"
        )
    folder = Folder(
        dialect,
        split_think_tags=split_think_tags,
        cumulative_deltas=cumulative_deltas,
        limits=limits,
        policy=policy,
    )
    fold = WrappedFold(folder, on_done)
    heard = _tap(vendor_stream, fold)
    kind = _AsyncProxy if hasattr(vendor_stream, "__aiter__") else _Proxy
    return kind(vendor_stream, fold, heard), fold


# Listening to the bytes


def _tap(stream: Any, fold: WrappedFold) -> bool:
    """Listen where the SDK will read the bytes of its response; True if there is such a place."""
    raw = getattr(stream, "_raw_stream", None)
    for owner in (stream, raw):
        response = getattr(owner, "response", None)
        if response is None or getattr(response, "is_stream_consumed", True):
            continue
        if getattr(response, "num_bytes_downloaded", 0):
            return False
        return _tap_httpx(response, fold)
    if raw is not None and callable(getattr(raw, "stream", None)):  # botocore, through urllib3
        raw.stream = _heard(raw.stream, fold)
        return True
    return False


def _tap_httpx(response: Any, fold: WrappedFold) -> bool:
    if callable(getattr(response, "iter_bytes", None)) and callable(getattr(response, "aiter_bytes", None)):
        response.iter_bytes = _heard(response.iter_bytes, fold)
        response.aiter_bytes = _heard_async(response.aiter_bytes, fold)
        return True
    return False


def _heard(read: Callable[..., Iterator[bytes]], fold: WrappedFold) -> Callable[..., Iterator[bytes]]:
    def pieces(*args: Any, **kwargs: Any) -> Iterator[bytes]:
        feed = fold._feed
        try:
            for piece in read(*args, **kwargs):
                feed(piece)
                yield piece
        except GeneratorExit:
            fold._stop_listening()
            raise
        except BaseException as error:
            fold._finish(error)
            raise
        fold._finish()

    return pieces


def _heard_async(read: Callable[..., AsyncIterator[bytes]], fold: WrappedFold) -> Callable[..., AsyncIterator[bytes]]:
    async def pieces(*args: Any, **kwargs: Any) -> AsyncIterator[bytes]:
        feed = fold._feed
        try:
            async for piece in read(*args, **kwargs):
                feed(piece)
                yield piece
        except GeneratorExit:
            fold._stop_listening()
            raise
        except BaseException as error:
            fold._finish(error)
            raise
        fold._finish()

    return pieces


# The proxies


class _Base:
    """Looks like the stream it stands for."""

    def __init__(self, stream: Any, fold: WrappedFold, heard: bool) -> None:
        self._cf_stream = stream
        self._cf_fold = fold
        self._cf_heard = heard
        self._cf_items: Any = None

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

    def __dir__(self) -> list[str]:
        return dir(self._cf_stream)

    def __repr__(self) -> str:
        return repr(self._cf_stream)

    def __del__(self) -> None:
        fold = self.__dict__.get("_cf_fold")
        if fold is not None:
            fold._finish(GeneratorExit())


class _Proxy(_Base):
    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._cf_items is None:
            self._cf_items = iter(self._cf_stream)
        try:
            item = next(self._cf_items)
        except StopIteration:
            self._cf_fold._finish()
            raise
        except BaseException as error:
            self._cf_fold._finish(error)
            raise
        if not self._cf_heard:
            self._cf_fold._feed_object(item)
        return item

    def __enter__(self) -> Any:
        entered = self._cf_stream.__enter__()
        return self if entered is self._cf_stream else entered

    def __exit__(self, *exc: object) -> Any:
        try:
            return self._cf_stream.__exit__(*exc)
        finally:
            self._cf_fold._finish(GeneratorExit())

    def close(self) -> Any:
        try:
            return self._cf_stream.close()
        finally:
            self._cf_fold._finish(GeneratorExit())


class _AsyncProxy(_Base):
    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._cf_items is None:
            self._cf_items = self._cf_stream.__aiter__()
        try:
            item = await self._cf_items.__anext__()
        except StopAsyncIteration:
            self._cf_fold._finish()
            raise
        except BaseException as error:
            self._cf_fold._finish(error)
            raise
        if not self._cf_heard:
            self._cf_fold._feed_object(item)
        return item

    async def __aenter__(self) -> Any:
        entered = await self._cf_stream.__aenter__()
        return self if entered is self._cf_stream else entered

    async def __aexit__(self, *exc: object) -> Any:
        try:
            return await self._cf_stream.__aexit__(*exc)
        finally:
            self._cf_fold._finish(GeneratorExit())

    async def close(self) -> Any:
        try:
            return await self._cf_stream.close()
        finally:
            self._cf_fold._finish(GeneratorExit())

    async def aclose(self) -> Any:
        try:
            return await self._cf_stream.aclose()
        finally:
            self._cf_fold._finish(GeneratorExit())
