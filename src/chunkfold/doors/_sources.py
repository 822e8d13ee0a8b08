"""
What callers hold in their hands, as an iterator of pieces.

A source is bytes, a path, a binary file, an iterable, the response object of an HTTP client or the stream of an SDK.
These are known by their shape: nothing is imported for them. What cannot be meant is a TypeError that names the remedy.
"""

from __future__ import annotations

import inspect
import io
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, AnyStr, Self, overload

from chunkfold.basis._wording import described

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "LineWatch",
    "Opened",
    "body_at_hand",
    "is_whole_answer",
    "lines",
    "open_async_source",
    "open_source",
    "read_file",
]

_READ = 64 << 10
# Seconds between two looks at a file that does not block, where it cannot be waited for.
_PAUSE = 0.01
# What tells a stream from what is in an answer beside it.
_OF_STREAMS = ("__next__", "__anext__", "__aiter__", "_raw_stream", "read")
_TAKEN = "give bytes, a path, a binary file, a response, or an iterable of these"
_TEXT_MODE = "a file in text mode cannot be folded exactly; open it with mode 'rb', or give its .buffer"


class Opened:
    """An opened source: its pieces, how to close it, and the HTTP status if it has one."""

    def __init__(
        self,
        pieces: Iterator[Any] | AsyncIterator[Any],
        close: Callable[[], Any] | None = None,
        *,
        status: int | None = None,
        retry_after: str | None = None,
    ) -> None:
        self.pieces: Any = pieces
        self.close = close
        self.status = status
        self.retry_after = retry_after

    @property
    def is_failure(self) -> bool:
        """
        True if an HTTP server answered with an error instead of a stream, or sent the client elsewhere. httpx follows
        no redirection unless told to.
        """
        return self.status is not None and self.status >= 300


def open_source(source: Any) -> Opened:
    """
    The pieces of *source*: bytes and payloads, in order.

    Raises:
        TypeError: If it is nothing that can be read here; the message says what to do instead.
        OSError: If it is a path that cannot be opened.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Opened(iter((bytes(source),)))
    if type(source) in (list, tuple):  # no other source could be one
        return Opened(iter(source))
    if isinstance(source, str):
        _refuse_content(source)
    if isinstance(source, (str, os.PathLike)):
        file = open(source, "rb", buffering=0)  # noqa: SIM115, PTH123 - closed by whoever closes the source
        return Opened(read_file(file), file.close)
    if isinstance(source, Mapping):
        held = _held_by_boto3(source)
        if held is not None:
            return open_source(held)
        _refuse_envelope(source)
        return Opened(iter((source,)))
    if is_whole_answer(source):
        return Opened(iter((source,)))
    response = _http_response(source)
    if response is not None:
        return response
    if isinstance(source, io.TextIOBase) or _is_text_file(source):
        raise TypeError(_TEXT_MODE)
    if isinstance(source, io.IOBase):
        return Opened(read_file(source))
    _refuse_async(source)
    if isinstance(source, Iterable):
        from chunkfold.doors._sdk_streams import unread_stream

        beneath = unread_stream(source)
        if beneath is not None:
            read = beneath.iter_bytes() if hasattr(beneath, "iter_bytes") else _urllib3_pieces(beneath)
            return Opened(read, _closer(source))
        pieces = _begun(source.__iter__)
        return Opened(pieces, _closer(source) or _closer(pieces))
    if callable(getattr(source, "read", None)):
        return Opened(read_file(source))
    raise TypeError(f"cannot fold {described(source)}: {_remedy(source)}")


def is_whole_answer(source: Any) -> bool:
    """
    True for the object of an SDK that is all there is, as `create()` without `stream=True` gives it.

    All of these are models of pydantic, old or new, which can be iterated over too: that gives their fields.
    """
    return hasattr(source, "__pydantic_fields_set__") or hasattr(source, "__fields_set__")


def _refuse_envelope(source: Mapping[Any, Any]) -> None:
    """boto3 gives a mapping that has the stream, or the body, in it."""
    for name in ("stream", "body"):
        inner = source.get(name)
        if hasattr(inner, "read") or (hasattr(type(inner), "__iter__") and hasattr(inner, "close")):
            raise TypeError(f"fold the stream inside of this mapping: response[{name!r}]")


def _remedy(source: Any) -> str:
    """What to do with what cannot be read itself."""
    if isinstance(source, type):
        return _TAKEN
    if hasattr(source, "makefile"):
        return "give its .makefile('rb')"
    if hasattr(source, "stdout"):
        return "give its .stdout"
    if hasattr(source, "iter_sse"):  # what `connect_sse` of httpx-sse gives
        return "give its .response"
    if hasattr(source, "data"):  # `with_raw_response` of cohere
        return "give its .data"
    if hasattr(source, "get_nowait"):  # a queue
        return "give a generator that yields what its .get() gives, and returns at the end"
    for enter, word in (("__enter__", "with"), ("__aenter__", "async with")):  # client.stream(...) of httpx
        if hasattr(source, enter):
            return f"enter it with '{word}' and fold what that gives"
    return "call it and fold what it gives" if callable(source) else _TAKEN


def open_async_source(source: Any) -> Opened:
    """As `open_source`, for async sources too; the pieces of either may be asynchronous."""
    if isinstance(source, (bytes, bytearray, memoryview, str, os.PathLike)):
        return open_source(source)
    if isinstance(source, Mapping):
        held = _held_by_boto3(source)
        return open_source(source) if held is None else open_async_source(held)
    response = _async_http_response(source)
    if response is not None:
        return response
    if _is_async_file(source):
        return Opened(_AsyncFile(source))
    if isinstance(source, AsyncIterable):
        from chunkfold.doors._sdk_streams import unread_stream
        from chunkfold.doors._unwinding import unwound

        beneath = unread_stream(source)
        pieces = _begun(source.__aiter__) if beneath is None else beneath.aiter_bytes()
        close = getattr(source, "aclose", None) or getattr(source, "close", None) or getattr(pieces, "aclose", None)
        return Opened(pieces, close if beneath is None or close is None else unwound(pieces, close))
    return open_source(source)


def _held_by_boto3(answer: Mapping[str, Any]) -> Any:
    """The stream in the mapping that a call of boto3 or aioboto3 gives; `None` if it is no such mapping."""
    # Each service has a name of its own for it: `stream`, `body`, `Body`, `completion`, `responseStream`.
    held = answer.values() if "ResponseMetadata" in answer else ()
    return next((item for item in held if any(hasattr(item, name) for name in _OF_STREAMS)), None)


def _begun(begin: Callable[[], Any]) -> Any:
    """The pieces that *begin* gives. What it raises is an exception of the source, as one of the first piece is."""
    try:
        return begin()
    except Exception as error:  # noqa: BLE001 - whoever reads the pieces meets it
        return _raising(error)


def _raising(error: Exception) -> Iterator[Any]:
    raise error
    yield


@overload
def lines(iterable: Iterable[bytes] | Iterable[str]) -> Iterator[bytes]: ...


@overload
def lines(iterable: AsyncIterable[bytes] | AsyncIterable[str]) -> AsyncIterator[bytes]: ...


def lines(iterable: Any) -> Any:
    """
    Give lines their ends back: for `iter_lines()` of requests and httpx and for other iterators that strip them.

    Server-sent events end at a blank line, so without line ends they cannot be told apart. Of asynchronous lines, such
    as `aiter_lines()` gives, an asynchronous iterator is made.

    Raises:
        TypeError: If *iterable* is content, or nothing to iterate over.
    """
    if not isinstance(iterable, (str, bytes, bytearray, memoryview)):
        if isinstance(iterable, Iterable):
            return _with_ends(iterable)
        if isinstance(iterable, AsyncIterable):
            return _AsyncLines(iterable)
    raise TypeError(f"lines() takes an iterable of lines, not {described(iterable)}")


def _with_ends(iterable: Iterable[Any]) -> Iterator[bytes]:
    pieces = iter(iterable)
    try:
        for line in pieces:
            yield _with_end(line)
    finally:
        close = _closer(pieces)
        if close is not None:
            close()


def _with_end(line: Any) -> bytes:
    if isinstance(line, str):
        data = line.encode("utf-8", "surrogatepass")
    elif isinstance(line, (bytes, bytearray, memoryview)):
        data = bytes(line)
    else:
        raise _WrongUse(f"lines() takes lines of bytes or text, not {described(line)}")
    return data if data.endswith((b"\n", b"\r")) else data + b"\n"


class _AsyncLines:
    """No generator: one that is not run to its end is cleaned up by the event loop, with a warning under trio."""

    def __init__(self, iterable: AsyncIterable[Any]) -> None:
        self._lines = iterable.__aiter__()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        return _with_end(await self._lines.__anext__())

    async def aclose(self) -> None:
        from chunkfold.doors._unwinding import unwind

        await unwind(self._lines)
        close = getattr(self._lines, "aclose", None)
        if close is not None:
            await close()


def _is_async_file(source: Any) -> bool:
    """True for the readers of asyncio and aiohttp, and for what aiofiles and trio open."""
    return inspect.iscoroutinefunction(getattr(source, "read", None))


class _AsyncFile:
    """
    As `read_file`. To iterate over one gives lines, for which asyncio has a limit of 64 KiB.

    It is left open to its owner, as other files are.
    """

    def __init__(self, file: Any) -> None:
        self._file = file

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        data = await self._file.read(_READ)
        if isinstance(data, str):
            raise _WrongUse(_TEXT_MODE)
        if not data:
            raise StopAsyncIteration
        piece: bytes = data
        return piece


class LineWatch:
    """Notices an iterator of lines whose ends were stripped."""

    def __init__(self) -> None:
        self._fields = 0
        self.has_ends = False

    def see(self, piece: Any) -> None:
        """Look at one piece of the source."""
        if self.has_ends:
            return
        if isinstance(piece, str):
            self._look(piece, "\n", "\r", ("data:", "event:"))
        elif isinstance(piece, bytes):
            self._look(piece, b"\n", b"\r", (b"data:", b"event:"))

    def _look(self, piece: AnyStr, lf: AnyStr, cr: AnyStr, fields: tuple[AnyStr, ...]) -> None:
        if lf in piece or cr in piece:
            self.has_ends = True
        elif piece.startswith(fields):
            self._fields += 1

    @property
    def is_missing_ends(self) -> bool:
        """True if several pieces began with a field of an event and none had a line end."""
        return not self.has_ends and self._fields > 1


def _refuse_content(text: str) -> None:
    if "\n" in text or text.startswith(("{", "[", "data:")):
        raise TypeError("a str is the path of a file, never content; for content give bytes: .encode()")


def _is_text_file(source: Any) -> bool:
    """True for what wraps a text file, as `tempfile` and `codecs` do."""
    return callable(getattr(source, "readline", None)) and isinstance(getattr(source, "encoding", None), str)


def _refuse_async(source: Any) -> None:
    if hasattr(source, "__await__") or hasattr(source, "cr_frame"):
        close = getattr(source, "close", None)
        if callable(close):
            close()
        raise TypeError("this is a coroutine that was not awaited: await it first and fold what it gives")
    if isinstance(source, AsyncIterable) and not isinstance(source, Iterable):  # LiteLLM's streams are both
        raise TypeError("this source is asynchronous: use afold() or astream()")


def _closer(source: Any) -> Callable[[], Any] | None:
    close = getattr(source, "close", None)
    return close if callable(close) else None


def read_file(file: Any) -> Iterator[bytes]:
    """What a binary file has at hand at each read, so that a pipe is not waited for until it has more."""
    read = getattr(file, "read1", None) or file.read
    while True:
        data = read(_READ)
        if isinstance(data, str):
            raise _WrongUse(_TEXT_MODE)
        if not data:
            raw = _not_blocking(file)
            if raw is not None:
                _await_data(raw)
                data = raw.read(_READ)
            if data is None:
                continue
            if not data:
                return
        yield data


def _not_blocking(file: Any) -> io.RawIOBase | None:
    """
    What is beneath *file* if that does not block: a pipe, mostly, that somebody else has made so.

    Nothing to give yet and the end are the same to a buffered reader; beneath they are not.
    """
    raw = file.raw if isinstance(file, io.BufferedReader) else file
    if not isinstance(raw, io.RawIOBase):
        return None
    try:
        return None if os.get_blocking(raw.fileno()) else raw
    except (OSError, ValueError, AttributeError):  # no file of the system, or closed; Windows before Python 3.12
        return None


def _await_data(raw: io.RawIOBase) -> None:
    import select

    if not hasattr(select, "poll"):  # Windows, where only sockets can be waited for
        import time

        time.sleep(_PAUSE)
        return
    poll = select.poll()
    poll.register(raw.fileno(), select.POLLIN)
    poll.poll()


class _WrongUse(TypeError):
    """A TypeError that is the caller's and no fault of the transport."""


# HTTP responses


def _http_response(source: Any) -> Opened | None:
    """The response of requests, urllib3, httpx, `urllib.request`: decoded content, as it arrives."""
    source = _of_client(source)
    facts = http_facts(source)
    if facts is None:
        return None
    if callable(getattr(source, "iter_bytes", None)):  # httpx
        if _is_async_httpx(source):
            raise TypeError("this response is of an asynchronous client: use afold() or astream()")
        return Opened(_begun(source.iter_bytes), _closer(source), **facts)
    if callable(getattr(source, "iter_content", None)):  # requests
        return Opened(_requests_pieces(source), _closer(source), **facts)
    body = body_at_hand(source)
    if body is not None:
        return Opened(iter((body,)), _closer(source), **facts)
    if callable(getattr(source, "stream", None)):  # urllib3
        return Opened(_urllib3_pieces(source), _closer(source), **facts)
    if hasattr(getattr(source, "content", None), "iter_any"):  # aiohttp
        raise TypeError("this response is of an asynchronous client: use afold() or astream()")
    if callable(getattr(source, "read", None)):  # urllib.request
        pieces = _decoded(read_file(source), _header(source.headers, "content-encoding"))
        return Opened(pieces, _closer(source), **facts)
    return None


def http_facts(response: Any) -> dict[str, Any] | None:
    """The status of an HTTP response and what its `Retry-After` says; `None` if it is none."""
    status = getattr(response, "status_code", None)
    if not isinstance(status, int):
        status = getattr(response, "status", None)
    headers = getattr(response, "headers", None)
    if not isinstance(status, int) or headers is None:
        return None
    return {"status": status, "retry_after": _header(headers, "retry-after")}


def _async_http_response(source: Any) -> Opened | None:
    """The response of an asynchronous httpx or aiohttp client."""
    source = _of_client(source)
    headers = getattr(source, "headers", None)
    if headers is None:
        return None
    retry_after = _header(headers, "retry-after")
    status = getattr(source, "status_code", None)
    if isinstance(status, int) and callable(getattr(source, "aiter_bytes", None)):
        if not _is_async_httpx(source):
            return None
        from chunkfold.doors._unwinding import unwound

        pieces = _begun(source.aiter_bytes)
        return Opened(pieces, unwound(pieces, source.aclose), status=status, retry_after=retry_after)
    content: Any = getattr(source, "content", None)
    status = getattr(source, "status", None)
    if isinstance(status, int) and hasattr(content, "iter_any"):
        body = body_at_hand(source)
        if body is not None:
            return Opened(iter((body,)), _closer(source), status=status, retry_after=retry_after)
        return Opened(_begun(content.iter_any), _closer(source), status=status, retry_after=retry_after)
    return None


def _of_client(source: Any) -> Any:
    """The response of the HTTP client, which `with_raw_response` and `with_streaming_response` of some SDKs wrap."""
    return getattr(source, "http_response", source)


def body_at_hand(source: Any) -> bytes | None:
    """
    The body of a response that was read before, where the client keeps it: httpx and requests under the first name,
    urllib3, which reads all unless told otherwise, and aiohttp under the second.
    """
    for name in ("_content", "_body"):
        body = getattr(source, name, None)
        if isinstance(body, bytes):
            return body
    return None


def _is_async_httpx(source: Any) -> bool:
    body = getattr(source, "stream", None)
    return hasattr(body, "__aiter__") and not hasattr(body, "__iter__")


def _requests_pieces(source: Any) -> Iterator[bytes]:
    """Through urllib3's reader where it is still open, since `iter_content` waits for full chunks."""
    raw = getattr(source, "raw", None)
    if raw is not None and callable(getattr(raw, "stream", None)) and getattr(source, "_content", None) is False:
        return _urllib3_pieces(raw)
    pieces: Iterator[bytes] = _begun(lambda: source.iter_content(_READ))
    return pieces


def _urllib3_pieces(raw: Any) -> Iterator[bytes]:
    if getattr(raw, "chunked", False) or not callable(getattr(raw, "read1", None)):
        yield from raw.stream(_READ, decode_content=True)
        return
    while True:
        data = raw.read1(_READ, decode_content=True)
        if not data:
            return
        yield data


def _decoded(pieces: Iterator[bytes], encoding: str | None) -> Iterator[bytes]:
    """Undo gzip or deflate, which `urllib.request` leaves on."""
    if encoding is None or encoding.lower() not in ("gzip", "x-gzip", "deflate"):
        yield from pieces
        return
    import zlib

    decoder = zlib.decompressobj(wbits=47)  # gzip or zlib, found out from the header
    begun = False
    for piece in pieces:
        try:
            data = decoder.decompress(piece)
        except zlib.error:
            if begun:
                raise
            decoder = zlib.decompressobj(wbits=-15)  # what some servers take "deflate" to be
            data = decoder.decompress(piece)
        begun = True
        yield data
    yield decoder.flush()


def _header(headers: Any, name: str) -> str | None:
    get = getattr(headers, "get", None)
    if not callable(get):
        return None
    value = get(name) or get(name.title())
    return value if isinstance(value, str) else None
