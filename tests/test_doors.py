"""fold, afold, stream, astream: every source, and every way out."""

from __future__ import annotations

import asyncio
import codecs
import collections
import contextlib
import email.utils
import gc
import gzip
import http.server
import inspect
import io
import json
import os
import pathlib
import select
import socket
import tempfile
import threading
import time
import types
import urllib.error
import urllib.request
import zlib

import pytest

import chunkfold
from chunkfold import Folder, Limits, Policy, afold, astream, fold, stream
from tests.streams import sse


def chat(delta, **more):
    return sse(
        {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, **more}]}
    )


FRAMES = [chat({"content": "hel"}), chat({"content": "lo"}), chat({}, finish_reason="stop"), b"data: [DONE]\n\n"]
BODY = b"".join(FRAMES)
PAYLOADS = [
    {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]}
    for text, reason in [("hel", None), ("lo", None), (None, "stop")]
]
WHOLE = b'{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}'


def run(coroutine):
    return asyncio.run(coroutine)


async def each(items):
    for item in items:
        await asyncio.sleep(0)
        yield item


def assert_hello(response, ended="clean"):
    assert (response.text, response.finish_reason, response.ended) == ("hello", "stop", ended)
    assert not response.truncated
    assert response.error is None


def drained(source, **options):
    """The response of `stream`, read to its end."""
    events = stream(source, **options)
    seen = list(events)
    assert seen[-1].type == "message_stop"
    return events.response()


async def adrained(source, **options):
    seen = []
    async with astream(source, **options) as events:
        async for event in events:
            seen.append(event)  # noqa: PERF401
        assert seen[-1].type == "message_stop"
        return events.response()


SYNC_DOORS = [fold, drained, lambda source: run(afold(source)), lambda source: run(adrained(source))]
sync_doors = pytest.mark.parametrize("door", SYNC_DOORS, ids=["fold", "stream", "afold", "astream"])
ASYNC_DOORS = [lambda make: run(afold(make())), lambda make: run(adrained(make()))]
async_doors = pytest.mark.parametrize("door", ASYNC_DOORS, ids=["afold", "astream"])


# Sources


@sync_doors
@pytest.mark.parametrize("source", [BODY, bytearray(BODY), memoryview(BODY), WHOLE], ids=["bytes", "bytearray", "memoryview", "whole body"])  # fmt: skip
def test_bytes_are_the_body(door, source):
    assert_hello(door(source))


@sync_doors
def test_a_str_and_a_path_are_a_file(door, tmp_path):
    path = tmp_path / "saved.sse"
    path.write_bytes(BODY)
    assert_hello(door(str(path)))
    assert_hello(door(path))

    class Like(os.PathLike):
        def __fspath__(self):
            return str(path)

    assert_hello(door(Like()))


@sync_doors
def test_an_open_binary_file_is_read_and_left_to_its_owner(door, tmp_path):
    path = tmp_path / "saved.sse"
    path.write_bytes(BODY)
    for buffering in (-1, 0):
        with path.open("rb", buffering=buffering) as file:
            assert_hello(door(file))
    with io.BytesIO(BODY) as file:
        assert_hello(door(file))
    with tempfile.NamedTemporaryFile() as file:
        file.write(BODY)
        file.seek(0)
        assert_hello(door(file))


@sync_doors
def test_a_pipe_is_not_waited_for(door):
    """What is there is folded before more comes."""
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as reader, os.fdopen(write_end, "wb", buffering=0) as writer:
        writer.write(FRAMES[0])
        events = stream(reader)
        assert next(event for event in events if event.type == "text_delta").text == "hel"
        assert events.response().text == "hel"
        writer.write(b"".join(FRAMES[1:]))
        writer.close()
        list(events)
        assert_hello(events.response())


@sync_doors
@pytest.mark.parametrize("buffering", [-1, 0], ids=["buffered", "raw"])
@pytest.mark.parametrize("has_poll", [True, False])
def test_a_pipe_that_does_not_block_is_waited_for(door, buffering, has_poll, monkeypatch):
    """Nothing there yet is not the end. Windows has no `poll`."""
    if not has_poll:
        monkeypatch.delattr(select, "poll")
    read_end, write_end = os.pipe()
    os.set_blocking(read_end, False)
    with os.fdopen(read_end, "rb", buffering=buffering) as reader, os.fdopen(write_end, "wb", buffering=0) as writer:

        def write():
            for frame in FRAMES:
                time.sleep(0.05)
                writer.write(frame)
            writer.close()

        thread = threading.Thread(target=write)
        thread.start()
        assert_hello(door(reader))
        thread.join()


LONG = [chat({"content": "x" * 200_000}), *FRAMES[2:]]


@pytest.mark.parametrize("door", [afold, adrained])
def test_a_reader_of_asyncio_is_read_whatever_the_length_of_its_lines(door):
    """To iterate over one raises on a line of more than 64 KiB, which a picture or a long call is."""

    async def read():
        reader = asyncio.StreamReader()
        for frame in LONG:
            reader.feed_data(frame)
        reader.feed_eof()
        return await door(reader)

    response = run(read())
    assert (len(response.text), response.ended, response.error) == (200_000, "clean", None)


def test_what_a_reader_of_asyncio_has_is_not_held_back_until_a_line_is_whole():
    """Gemini's array in pieces needs no line ends."""

    async def read():
        reader = asyncio.StreamReader()
        reader.feed_data(b'[{"candidates":[{"content":{"parts":[{"text":"hel"}],"role":"model"}}]},')
        async with astream(reader) as events:
            return await anext(events.text())

    assert run(asyncio.wait_for(read(), 10)) == "hel"


class AsyncFile:
    """As aiofiles and trio open them."""

    def __init__(self, data):
        self.file = io.BytesIO(data) if isinstance(data, bytes) else io.StringIO(data)
        self.closed = False

    def __aiter__(self):
        raise AssertionError("that gives lines")

    async def read(self, size=-1):
        return self.file.read(size)

    async def close(self):
        self.closed = True


@pytest.mark.parametrize("door", [afold, adrained])
def test_an_open_asynchronous_file_is_read_and_left_to_its_owner(door):
    file = AsyncFile(BODY)
    assert_hello(run(door(file)))
    assert not file.closed
    with pytest.raises(TypeError, match="text mode"):
        run(door(AsyncFile(BODY.decode())))


@sync_doors
@pytest.mark.parametrize("timeout", [5, 0], ids=["with a timeout", "not blocking"])
def test_the_file_of_a_socket_is_read_to_its_end(door, timeout):
    ours, theirs = socket.socketpair()
    ours.settimeout(timeout)
    with ours, ours.makefile("rb", buffering=0 if not timeout else None) as file:
        with theirs:
            theirs.sendall(BODY)
        assert_hello(door(file))


ITERABLES = {
    "list of bytes": lambda: FRAMES,
    "tuple of one byte each": lambda: tuple(BODY[at : at + 1] for at in range(len(BODY))),
    "iterator": lambda: iter(FRAMES),
    "generator": lambda: (frame for frame in FRAMES),
    "bytearrays": lambda: [bytearray(frame) for frame in FRAMES],
    "memoryviews": lambda: [memoryview(frame) for frame in FRAMES],
    "str": lambda: [frame.decode() for frame in FRAMES],
    "str and bytes": lambda: [FRAMES[0].decode(), *FRAMES[1:]],
    "empty pieces": lambda: [b"", *FRAMES, b"", b""],
}


@sync_doors
@pytest.mark.parametrize("make", ITERABLES.values(), ids=ITERABLES)
def test_an_iterable_of_bytes_or_text(door, make):
    assert_hello(door(make()))


@async_doors
@pytest.mark.parametrize("make", ITERABLES.values(), ids=ITERABLES)
def test_an_async_iterable_of_bytes_or_text(door, make):
    assert_hello(door(lambda: each(make())))


@sync_doors
def test_an_iterable_of_payloads(door):
    assert_hello(door(PAYLOADS))
    assert_hello(door(iter(PAYLOADS)))


@async_doors
def test_an_async_iterable_of_payloads(door):
    assert_hello(door(lambda: each(PAYLOADS)))


def frozen(held):
    """Mappings that are no dicts, and tuples for lists."""
    if isinstance(held, dict):
        return types.MappingProxyType({key: frozen(item) for key, item in held.items()})
    return tuple(map(frozen, held)) if isinstance(held, list) else held


@sync_doors
def test_payloads_may_be_mappings_of_any_kind(door):
    payloads = [json.loads(frame.removeprefix(b"data: ")) for frame in FRAMES[:3]]
    assert_hello(door([frozen(payload) for payload in payloads]))
    assert_hello(door([collections.UserDict(payload) for payload in payloads]))
    whole = fold(payloads)
    assert fold([frozen(payload) for payload in payloads]) == whole
    assert fold(map(frozen, payloads)).to_native() == whole.to_native()
    folder = Folder()
    for payload in payloads:
        folder.feed(frozen(payload))
    assert folder.close() == whole


@sync_doors
def test_one_mapping_is_a_stream_of_one_payload(door):
    import json

    assert_hello(door(json.loads(WHOLE)))


@sync_doors
@pytest.mark.parametrize("name", ["stream", "body", "Body", "completion"])
def test_what_a_call_of_boto3_gives_is_the_stream_in_it(door, name):
    for held in (iter(PAYLOADS), io.BytesIO(BODY)):
        assert_hello(door({"ResponseMetadata": {"HTTPStatusCode": 200}, "contentType": "x", name: held}))


@async_doors
def test_what_a_call_of_aioboto3_gives_is_the_stream_in_it(door):
    assert_hello(door(lambda: {"ResponseMetadata": {}, "stream": each(PAYLOADS)}))


def test_what_a_call_of_boto3_gives_without_streaming_is_a_body():
    message = {"role": "assistant", "content": [{"text": "Hi"}]}
    answer = {"ResponseMetadata": {}, "output": {"message": message}, "stopReason": "end_turn", "stream": None}
    assert fold(answer).text == "Hi"


def test_text_is_encoded_as_utf8_and_cut_anywhere():
    text = chat({"content": "Grüße 東京 😀"}).decode()
    assert fold(list(text)).text == "Grüße 東京 😀"


# What cannot be meant


@sync_doors
@pytest.mark.parametrize("text", [BODY.decode(), '{"a": 1}', "[1]", "data: x", "a\nb", "[DONE]"])
def test_a_str_that_is_content_is_refused_with_the_remedy(door, text):
    with pytest.raises(TypeError, match=r"\.encode\(\)"):
        door(text)


@sync_doors
def test_a_path_that_cannot_be_opened_raises_what_open_raises(door, tmp_path):
    with pytest.raises(FileNotFoundError):
        door(str(tmp_path / "none.sse"))
    with pytest.raises(IsADirectoryError):
        door(tmp_path)


@sync_doors
def test_a_file_in_text_mode_is_refused_with_the_remedy(door, tmp_path):
    path = tmp_path / "saved.sse"
    path.write_bytes(BODY)
    with path.open(encoding="utf-8") as file, pytest.raises(TypeError, match="rb"):
        door(file)
    with pytest.raises(TypeError, match="rb"):
        door(io.StringIO(BODY.decode()))
    with codecs.open(str(path), encoding="utf-8") as file, pytest.raises(TypeError, match="rb"):
        door(file)
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:
        file.write(BODY.decode())
        file.seek(0)
        with pytest.raises(TypeError, match="rb"):
            door(file)


@sync_doors
def test_an_un_awaited_coroutine_is_refused_with_the_remedy(door):
    async def request():
        return BODY

    with pytest.raises(TypeError, match="await"):
        door(request())


@pytest.mark.parametrize("door", [fold, stream])
def test_an_async_source_given_to_a_sync_door_is_refused_with_the_remedy(door):
    with pytest.raises(TypeError, match=r"afold\(\)"):
        door(each(FRAMES))


@sync_doors
@pytest.mark.parametrize("source", [None, 5, 1.5, object(), Limits()])
def test_what_is_no_source_at_all_is_refused(door, source):
    with pytest.raises(TypeError):
        door(source)


@sync_doors
@pytest.mark.parametrize("source", [[FRAMES[0], PAYLOADS[1]], [PAYLOADS[0], FRAMES[1]], [PAYLOADS[0], "data: x"]])
def test_bytes_and_payloads_do_not_mix(door, source):
    with pytest.raises(TypeError, match="bytes"):
        door(source)


@sync_doors
@pytest.mark.parametrize("piece", [5, [b"x"], object()])
def test_pieces_that_are_nothing_to_fold_are_refused(door, piece):
    with pytest.raises(TypeError):
        door([piece, FRAMES[0]])


@sync_doors
def test_a_coroutine_as_a_piece_is_refused(door):
    async def request():
        return BODY

    waiting = request()
    with pytest.raises(TypeError):
        door([waiting])
    waiting.close()


# HTTP responses, by their shapes


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers with what the path asks for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind = self.path.strip("/")
        if kind == "chunked":
            self.answer(200, [("Transfer-Encoding", "chunked")])
            for frame in FRAMES:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(frame), frame))
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
        elif kind == "cut":
            self.answer(200, [("Content-Length", str(len(BODY)))], FRAMES[0])
            self.close_connection = True
        elif kind in ("gzip", "deflate", "raw-deflate"):
            pack = {"gzip": gzip.compress, "deflate": zlib.compress, "raw-deflate": lambda body: zlib.compress(body, wbits=-15)}[kind]  # fmt: skip
            body = pack(BODY)
            self.answer(
                200, [("Content-Encoding", kind.removeprefix("raw-")), ("Content-Length", str(len(body)))], body
            )
        elif kind.isdigit():
            body = b'{"error":{"message":"slow down","type":"rate_limit_error"}}'
            self.answer(int(kind), [("Retry-After", "7"), ("Content-Length", str(len(body)))], body)
        elif kind == "503-html":
            self.answer(503, [("Content-Length", "12")], b"<h1>503</h1>")
        elif kind == "503-gzip":
            body = gzip.compress(b'{"error":{"message":"busy"}}')
            self.answer(503, [("Content-Encoding", "gzip"), ("Content-Length", str(len(body)))], body)
        else:
            self.answer(200, [("Content-Length", str(len(BODY)))], BODY)

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as made:
        made.daemon_threads = True
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{made.server_address[1]}"
        made.shutdown()
        thread.join()


def get(address):
    try:
        return urllib.request.urlopen(address, timeout=10)
    except urllib.error.HTTPError as error:
        return error


@sync_doors
@pytest.mark.parametrize("kind", ["plain", "chunked", "gzip", "deflate", "raw-deflate"])
def test_a_response_of_urllib_request(door, server, kind):
    response = get(f"{server}/{kind}")
    assert_hello(door(response))
    assert response.closed, "whoever folds a response closes it"


@sync_doors
@pytest.mark.parametrize(("status", "retryable"), [(400, False), (401, False), (404, False), (429, True), (500, True), (529, True)])  # fmt: skip
def test_a_status_of_400_and_over_is_the_error_of_the_response(door, server, status, retryable):
    response = door(get(f"{server}/{status}"))
    error = response.error
    assert (error.status, error.type, error.message) == (status, "rate_limit_error", "slow down")
    assert error.retry_after == 7.0
    assert error.origin == "provider"
    assert response.ended == "error"
    assert response.finish_reason == "error"
    if status in (429, 500, 529):
        assert error.retryable is retryable


def test_an_error_that_is_no_json_has_its_status_and_the_beginning_of_its_text(server):
    error = fold(get(f"{server}/503-html")).error
    assert (error.status, error.message, error.retryable, error.retry_after) == (503, "<h1>503</h1>", True, None)
    assert fold(get(f"{server}/503-gzip")).error.message == "busy"


@pytest.mark.parametrize("body", [b"", b" \n"])
def test_an_error_without_a_word_has_its_status_alone(body):
    error = fold(Requests(404, {}, [body])).error
    assert (error.status, error.message, error.raw) == (404, None, None)


def test_a_redirection_that_raises_in_the_source_tells_its_status():
    """As `raise_for_status` of httpx does in a generator around its response."""

    class HTTPStatusError(Exception):
        response = Requests(307, {"location": "/v1/chat"}, [b""])

    def pieces():
        raise HTTPStatusError("Redirect response '307 Temporary Redirect'")
        yield b""

    error = fold(pieces()).error
    assert (error.status, error.retryable, error.origin) == (307, False, "transport")


def test_an_exception_with_a_response_of_another_kind_is_told_all_the_same():
    """botocore's has the answer as a mapping; a test that stands in for it may have left out most of that."""

    class ClientError(Exception):
        response = {"Error": {"Code": "ThrottlingException", "Message": "Slow"}, "ResponseMetadata": None}

    def pieces():
        yield BODY[:40]
        raise ClientError

    error = fold(pieces()).error
    assert (error.type, error.message, error.origin) == ("ThrottlingException", "Slow", "transport")


def test_an_exception_that_cannot_say_what_it_is_about_is_told_all_the_same():
    """`ClientConnectorError(None, OSError())` of aiohttp, as tests make it, raises where it is asked for its text."""

    class ClientConnectorError(OSError):
        def __str__(self):
            return self.key.host

    failure = ClientConnectorError()

    def pieces():
        yield BODY[:40]
        raise failure

    error = fold(pieces()).error
    assert (error.type, error.message, error.retryable) == ("ClientConnectorError", None, True)
    done = []
    with pytest.raises(ClientConnectorError) as raised:
        list(stream(pieces(), on_done=done.append))
    assert raised.value is failure
    assert done[0].error.exception is failure


@pytest.mark.parametrize("body", [b"", b"<a href='/v1/chat'>Moved</a>"])
def test_a_redirection_that_the_client_did_not_follow_is_no_empty_answer(body):
    """httpx follows none unless told to, and a slash too many in an address is enough for one."""
    response = fold(Requests(307, {"location": "/v1/chat"}, [body]))
    assert (response.error.status, response.error.message, response.error.retryable) == (
        307,
        body.decode() or None,
        False,
    )
    assert (response.ended, response.truncated, response.finish_reason) == ("error", False, "error")


def test_a_connection_that_breaks_is_an_error_of_the_transport(server):
    response = fold(get(f"{server}/cut"))
    assert response.text == "hel"
    assert response.truncated
    assert response.ended in ("error", "eof")


def test_retry_after_may_be_a_date():
    later = email.utils.formatdate(time.time() + 60, usegmt=True)
    wait = fold(Requests(429, {"Retry-After": later}, [b"{}"])).error.retry_after
    assert 50 < wait <= 60
    past = email.utils.formatdate(time.time() - 60, usegmt=True)
    assert fold(Requests(429, {"Retry-After": past}, [b"{}"])).error.retry_after == 0


@pytest.mark.parametrize(
    ("header", "wait"),
    [("soon", None), ("", None), ("nan", None), ("-NaN", None), ("inf", None), ("1e999", None),
     ("Thu, 01 Jan 99999 00:00:00 GMT", None), ("-inf", 0), ("-5", 0)],
)  # fmt: skip
def test_a_retry_after_that_says_nothing_is_none_and_one_that_is_over_is_now(header, wait):
    error = fold(Requests(429, {"Retry-After": header}, [b"{}"])).error
    assert error.retry_after == wait
    assert chunkfold.StreamError.from_json(error.to_json()) == error


class Closes:
    closed = 0

    def close(self):
        self.closed += 1


class Requests(Closes):
    """The shape of `requests.Response`."""

    def __init__(self, status_code, headers, pieces):
        self.status_code, self.headers, self._pieces = status_code, headers, pieces

    def iter_content(self, chunk_size=1, decode_unicode=False):
        assert not decode_unicode
        yield from self._pieces

    def iter_lines(self):
        raise AssertionError("lines are not the content")

    def __iter__(self):
        return self.iter_content(128)


class Raw:
    """The shape of `urllib3.HTTPResponse`, chunked or not."""

    def __init__(self, pieces, *, chunked, status=200, headers=None):
        self._pieces, self.chunked = list(pieces), chunked
        self.status, self.headers, self.closed = status, headers or {}, 0

    def stream(self, amt, decode_content=None):
        assert decode_content is True
        yield from self._pieces

    def read1(self, amt, decode_content=None):
        assert decode_content is True
        return self._pieces.pop(0) if self._pieces else b""

    def __iter__(self):
        raise AssertionError("lines are not the content")

    def close(self):
        self.closed += 1


class StreamedRequests(Requests):
    """The same with `stream=True`: the content is still in urllib3's hands."""

    _content = False

    def __init__(self, raw):
        super().__init__(200, {}, [])
        self.raw = raw

    def iter_content(self, chunk_size=1, decode_unicode=False):
        raise AssertionError("this waits for full chunks")


class Httpx(Closes):
    """The shape of `httpx.Response` of a sync client."""

    class _Sync:
        def __iter__(self):
            raise AssertionError("undecoded")

    def __init__(self, status_code, headers, pieces):
        self.status_code, self.headers, self._pieces = status_code, headers, pieces
        self.stream = self._Sync()

    def iter_bytes(self, chunk_size=None):
        yield from self._pieces

    def iter_raw(self):
        raise AssertionError("undecoded")

    async def aiter_bytes(self, chunk_size=None):
        raise AssertionError("of a sync client")
        yield b""

    async def aclose(self):
        raise AssertionError("of a sync client")


class AsyncHttpx(Closes):
    """The shape of `httpx.Response` of an async client."""

    class _Async:
        def __aiter__(self):
            raise AssertionError("undecoded")

    def __init__(self, status_code, headers, pieces):
        self.status_code, self.headers, self._pieces = status_code, headers, pieces
        self.stream = self._Async()

    def iter_bytes(self, chunk_size=None):
        raise AssertionError("of an async client")

    async def aiter_bytes(self, chunk_size=None):
        for piece in self._pieces:
            yield piece

    async def aclose(self):
        self.closed += 1


class Aiohttp(Closes):
    """The shape of `aiohttp.ClientResponse`."""

    class _Content:
        def __init__(self, pieces):
            self._pieces = pieces

        async def iter_any(self):
            for piece in self._pieces:
                yield piece

        def __aiter__(self):
            raise AssertionError("lines have a limit")

    def __init__(self, status, headers, pieces):
        self.status, self.headers, self.content = status, headers, self._Content(pieces)


@sync_doors
@pytest.mark.parametrize("make", [Requests, Httpx], ids=["requests", "httpx"])
def test_responses_of_sync_clients_by_shape(door, make):
    response = make(200, {}, FRAMES)
    assert_hello(door(response))
    assert response.closed == 1


@sync_doors
@pytest.mark.parametrize("chunked", [True, False])
def test_responses_of_urllib3_and_of_requests_while_streaming(door, chunked):
    raw = Raw(FRAMES, chunked=chunked)
    assert_hello(door(raw))
    assert raw.closed == 1
    response = StreamedRequests(Raw(FRAMES, chunked=chunked))
    assert_hello(door(response))
    assert response.closed == 1


@sync_doors
def test_a_response_of_urllib3_that_was_read_whole(door):
    """Which it is unless `preload_content=False` was asked for."""
    response = Raw([], chunked=False)
    response._body = BODY
    assert_hello(door(response))
    assert response.closed == 1


@async_doors
def test_a_response_of_aiohttp_that_was_read_whole(door):
    response = Aiohttp(200, {}, [])
    response._body = BODY
    assert_hello(door(lambda: response))


@async_doors
@pytest.mark.parametrize("make", [AsyncHttpx, Aiohttp], ids=["httpx", "aiohttp"])
def test_responses_of_async_clients_by_shape(door, make):
    response = make(200, {}, FRAMES)
    assert_hello(door(lambda: response))
    assert response.closed == 1


@pytest.mark.parametrize("door", [fold, stream])
@pytest.mark.parametrize("make", [AsyncHttpx, Aiohttp], ids=["httpx", "aiohttp"])
def test_responses_of_async_clients_are_refused_by_sync_doors_with_the_remedy(door, make):
    with pytest.raises(TypeError, match=r"afold\(\)"):
        door(make(200, {}, FRAMES))


@pytest.mark.parametrize("make", [Requests, Httpx, AsyncHttpx, Aiohttp], ids=lambda make: make.__name__)
def test_a_failure_of_any_client_becomes_the_error_with_retry_after(make):
    body = [b'{"error":{"message":"busy",', b'"type":"overloaded_error"}}']
    for door in ASYNC_DOORS:
        response = make(529, {"retry-after": "2.5"}, body)
        error = door(lambda made=response: made).error
        assert (error.status, error.type, error.message, error.retry_after) == (529, "overloaded_error", "busy", 2.5)
        assert error.retryable
        assert response.closed == 1


def test_a_failure_whose_body_breaks_off_still_has_its_status():
    def broken():
        yield b'{"error":'
        raise OSError("reset")

    for door in SYNC_DOORS:
        response = Requests(502, {}, broken())
        assert door(response).error.status == 502
        assert response.closed == 1


def test_the_body_of_a_failure_is_read_within_reason():
    taken = []

    def endless():
        while True:
            taken.append(1)
            yield b"x" * 65536

    assert fold(Requests(500, {}, endless())).error.status == 500
    assert len(taken) < 100


# The transport breaks


class Boom(Exception):
    pass


def breaking(error, count=1):
    yield from FRAMES[:count]
    raise error


async def abreaking(error, count=1):
    for frame in FRAMES[:count]:
        yield frame
    raise error


def assert_transport(response, error):
    assert response.text == "hel"
    assert response.ended == "error"
    assert response.truncated
    assert (response.error.origin, response.error.exception) == ("transport", error)
    assert response.error.type == type(error).__name__
    assert response.finish_reason is None


@pytest.mark.parametrize("error", [OSError("reset"), TimeoutError(), Boom("boom"), ValueError("bad"), TypeError("theirs"), RuntimeError()])  # fmt: skip
def test_fold_tells_an_exception_of_the_source_in_the_response(error):
    assert_transport(fold(breaking(error)), error)
    assert_transport(run(afold(breaking(error))), error)
    assert_transport(run(afold(abreaking(error))), error)


class Unopened:
    """A source that connects when it is iterated over, and cannot."""

    def __init__(self, error):
        self.error = error
        self.closed = 0

    def __iter__(self):
        raise self.error

    def close(self):
        self.closed += 1


class AsyncUnopened(Unopened):
    __iter__ = None

    def __aiter__(self):
        raise self.error


class Consumed(Requests):
    """As `requests.Response` whose content was read before: it says so before the first piece is asked for."""

    def iter_content(self, chunk_size=1, decode_unicode=False):
        raise RuntimeError("The content for this response was already consumed")


@pytest.mark.parametrize("error", [OSError("refused"), Boom("boom"), TypeError("theirs")])
@pytest.mark.parametrize("make", [Unopened, AsyncUnopened])
def test_a_source_that_cannot_be_begun_is_an_exception_of_the_source(make, error):
    source = make(error)
    responses = [run(afold(source)), *([fold(source)] if make is Unopened else [])]
    for response in responses:
        assert (response.error.exception, response.error.origin, response.ended) == (error, "transport", "error")
        assert response.truncated
    assert source.closed == len(responses)

    done = []
    events = astream(source, on_done=done.append)
    with pytest.raises(type(error)) as caught:
        run(aiterate(events, []))
    assert caught.value is error
    assert [response.error.exception for response in done] == [error]


def test_a_source_that_cannot_be_begun_raises_where_events_are_asked_for():
    error = OSError("refused")
    events = stream(Unopened(error))
    with pytest.raises(OSError, match="refused") as caught:
        list(events)
    assert caught.value is error
    assert events.response().error.exception is error


def test_a_response_that_was_read_before_is_told_of():
    response = fold(Consumed(200, {}, []))
    assert "already consumed" in response.error.message
    assert (response.ended, response.truncated, response.error.origin) == ("error", True, "transport")


async def aiterate(events, seen):
    async for event in events:
        seen.append(event)


@pytest.mark.parametrize("error", [OSError("reset"), Boom("boom"), TypeError("theirs"), chunkfold.ChunkfoldError("theirs")])  # fmt: skip
def test_stream_hands_out_the_last_events_and_raises_the_exception_unchanged(error):
    done = []
    events = stream(breaking(error), on_done=done.append)
    seen = []
    with pytest.raises(type(error)) as caught:
        for event in events:
            seen.append(event)  # noqa: PERF402
    assert caught.value is error
    assert [event.type for event in seen[-2:]] == ["error", "message_stop"]
    assert_transport(events.response(), error)
    assert done == [events.response()]
    assert list(events) == []
    events.close()
    assert len(done) == 1


@pytest.mark.parametrize("make", [breaking, abreaking])
def test_astream_hands_out_the_last_events_and_raises_the_exception_unchanged(make):
    error, done, seen = OSError("reset"), [], []

    async def main():
        events = astream(make(error), on_done=done.append)
        with pytest.raises(OSError, match="reset") as caught:
            async for event in events:
                seen.append(event)  # noqa: PERF401
        assert caught.value is error
        await events.aclose()
        return events.response()

    response = run(main())
    assert_transport(response, error)
    assert [event.type for event in seen[-2:]] == ["error", "message_stop"]
    assert done == [response]


def test_an_exception_after_the_finish_leaves_the_message_whole():
    response = fold(breaking(OSError(), 3))
    assert (response.text, response.finish_reason, response.truncated, response.ended) == (
        "hello",
        "stop",
        False,
        "error",
    )


def test_a_file_that_breaks_while_it_is_read_is_an_error_of_the_transport():
    class Breaking(io.RawIOBase):
        reads = 0

        def readable(self):
            return True

        def read(self, size=-1):
            self.reads += 1
            if self.reads > 1:
                raise OSError("unplugged")
            return FRAMES[0]

    assert fold(Breaking()).error.message == "unplugged"


# Interruptions


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_an_interruption_finalises_as_cancelled_and_goes_on(error):
    closed = []

    class Source:
        def __iter__(self):
            return breaking(error)

        def close(self):
            closed.append(1)

    done = []
    events = stream(Source(), on_done=done.append)
    assert next(events).type == "message_start"
    with pytest.raises(type(error)) as caught:
        list(events)
    assert caught.value is error
    response = events.response()
    assert (response.text, response.ended, response.truncated, response.error) == ("hel", "cancelled", True, None)
    assert done == [response]
    assert closed == [1]
    with pytest.raises(type(error)):
        fold(Source())
    assert closed == [1, 1]


def test_a_cancelled_task_finalises_as_cancelled_and_goes_on():
    done, closed = [], []

    async def hanging():
        try:
            yield FRAMES[0]
            await asyncio.sleep(60)
        finally:
            closed.append(1)

    async def main():
        events = astream(hanging(), on_done=done.append)

        async def read():
            async for _ in events:
                pass

        task = asyncio.create_task(read())
        while events.response().text != "hel":  # noqa: ASYNC110 - what is waited for sets no event
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return events.response()

    response = run(main())
    assert (response.text, response.ended, response.truncated) == ("hel", "cancelled", True)
    assert done == [response]
    assert closed == [1]


def test_a_cancelled_afold_closes_its_source():
    closed = []

    async def hanging():
        try:
            yield FRAMES[0]
            await asyncio.sleep(60)
        finally:
            closed.append(1)

    async def main():
        task = asyncio.create_task(afold(hanging()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(main())
    assert closed == [1]


# Life of a stream


class Source:
    """An iterable that counts how often it was closed."""

    def __init__(self, frames=FRAMES):
        self.pieces, self.closed = iter(frames), 0

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.pieces)

    def close(self):
        self.closed += 1


class AsyncSource(Source):
    __iter__ = None

    def __aiter__(self):
        return self

    async def __anext__(self):
        try:
            return next(self.pieces)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self):
        self.closed += 1


def leave_at_the_end(source, done):
    list(stream(source, on_done=done.append))


def leave_by_with(source, done):
    with stream(source, on_done=done.append) as events:
        next(events)


def leave_by_with_after_the_end(source, done):
    with stream(source, on_done=done.append) as events:
        list(events)


def leave_by_an_exception(source, done):
    with contextlib.suppress(ZeroDivisionError), stream(source, on_done=done.append) as events:
        next(events)
        1 / 0  # noqa: B018


def leave_by_break_in_with(source, done):
    with stream(source, on_done=done.append) as events:
        for _ in events:
            break


def leave_by_close_twice(source, done):
    events = stream(source, on_done=done.append)
    next(events)
    events.close()
    events.close()


def leave_unread(source, done):
    stream(source, on_done=done.append).close()


def leave_by_collection(source, done):
    events = stream(source, on_done=done.append)
    next(events)
    del events
    gc.collect()


@pytest.mark.parametrize(
    ("leave", "ended"),
    [
        (leave_at_the_end, "clean"),
        (leave_by_with, "cancelled"),
        (leave_by_with_after_the_end, "clean"),
        (leave_by_an_exception, "cancelled"),
        (leave_by_break_in_with, "cancelled"),
        (leave_by_close_twice, "cancelled"),
        (leave_unread, "cancelled"),
        (leave_by_collection, "cancelled"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_stream_is_finalised_exactly_once_whichever_way_it_is_left(leave, ended):
    source, done = Source(), []
    leave(source, done)
    (response,) = done
    assert response.ended == ended
    assert source.closed == 1


@pytest.mark.parametrize("way", ["end", "with", "exception", "close"])
def test_an_astream_is_finalised_exactly_once_whichever_way_it_is_left(way):
    source, done = AsyncSource(), []

    async def main():
        events = astream(source, on_done=done.append)
        if way == "end":
            async for _ in events:
                pass
            return
        if way == "close":
            await events.__anext__()
            await events.aclose()
            await events.aclose()
            return
        with contextlib.suppress(ZeroDivisionError):
            async with events:
                await events.__anext__()
                if way == "exception":
                    1 / 0  # noqa: B018

    run(main())
    (response,) = done
    assert response.ended == ("clean" if way == "end" else "cancelled")
    assert source.closed == 1


def test_a_break_outside_with_leaves_the_stream_open_to_be_continued():
    source = Source()
    events = stream(source)
    for event in events:
        if event.type == "text_delta":
            break
    assert events.response().ended is None
    assert events.response().text == "hel"
    assert source.closed == 0
    rest = [event.type for event in events]
    assert rest[0] == "text_delta"
    assert_hello(events.response())
    assert source.closed == 1


def test_a_break_out_of_text_leaves_the_stream_open():
    events = stream(Source())
    for _ in events.text():
        break
    gc.collect()
    assert events.response().ended is None
    assert "".join(events.text()) == "lo"
    assert_hello(events.response())


def test_leaving_after_the_end_mark_is_a_clean_end():
    with stream(iter([*FRAMES, b": more\n\n"])) as events:
        while events.response().text != "hello" or events.response().finish_reason is None:
            next(events)
    assert events.response().ended in ("clean", "cancelled")
    assert not events.response().truncated


def test_a_collected_astream_finalises_drops_its_source_and_warns():
    source, done = AsyncSource(), []

    async def main():
        events = astream(source, on_done=done.append)
        await events.__anext__()
        del events
        gc.collect()

    with pytest.warns(ResourceWarning, match="aclose"):
        run(main())
    (response,) = done
    assert response.ended == "cancelled"
    assert response.text == "hel"


def test_a_collected_astream_that_was_read_to_its_end_does_not_warn(recwarn):
    async def main():
        events = astream(AsyncSource())
        async for _ in events:
            pass
        del events
        gc.collect()

    run(main())
    assert [warning for warning in recwarn if warning.category is ResourceWarning] == []


def test_a_response_that_ended_stays_the_same_object():
    events = stream(BODY)
    list(events)
    assert events.response() is events.response()


def test_response_never_waits():
    async def main():
        gate = asyncio.Event()

        async def slow():
            yield FRAMES[0]
            await gate.wait()
            yield b"".join(FRAMES[1:])

        async with astream(slow()) as events:
            assert events.response().text == ""
            assert not inspect.iscoroutinefunction(events.response)
            while (await events.__anext__()).type != "text_delta":
                pass
            assert events.response().text == "hel"
            assert events.response().ended is None
            gate.set()
            async for _ in events:
                pass
            assert_hello(events.response())

    run(main())


def test_events_come_as_soon_as_their_frame_is_there():
    taken = []

    def frames():
        for number, frame in enumerate(FRAMES):
            taken.append(number)
            yield frame

    events = stream(frames())
    for event in events:
        if event.type == "text_delta":
            assert len(taken) == (1 if event.text == "hel" else 2)


# The answer text alone


AUDIO = chat({"audio": {"id": "a", "transcript": "spoken"}})


def test_text_is_the_answer_text_of_choice_0_alone():
    frames = [
        chat({"reasoning_content": "why"}),
        AUDIO,
        chat({"content": "a"}),
        sse({"choices": [{"index": 1, "delta": {"content": "other"}}]}),
        chat({"content": "b"}),
        *FRAMES[2:],
    ]
    events = stream(iter(frames))
    pieces = list(events.text())
    assert pieces == ["a", "b"]
    assert events.response().text == "ab"

    async def main():
        async with astream(each(frames)) as events:
            return [piece async for piece in events.text()]

    assert run(main()) == ["a", "b"]


def test_text_goes_on_after_the_message_was_started_again():
    def message(*blocks):
        yield sse({"type": "message_start", "message": {"id": "m"}}, "message_start")
        for index, (kind, text) in enumerate(blocks):
            key = {"text": "text", "thinking": "thinking"}[kind]
            yield sse({"type": "content_block_start", "index": index, "content_block": {"type": kind, key: ""}})
            yield sse({"type": "content_block_delta", "index": index, "delta": {"type": f"{kind}_delta", key: text}})
            yield sse({"type": "content_block_stop", "index": index})

    frames = [*message(("thinking", "why")), *message(("text", "hello")), sse({"type": "message_stop"})]
    events = stream(iter(frames))
    assert list(events.text()) == ["hello"]
    assert events.response().text == "hello"


# Limits and policies through the doors


def test_a_limit_closes_the_source():
    for door in (fold, lambda source, **o: run(afold(source, **o)), lambda source, **o: list(stream(source, **o))):
        source = Source()
        with pytest.raises(chunkfold.LimitExceeded):
            door(source, limits=Limits(stream_bytes=100))
        assert source.closed == 1

    async def main():
        source = AsyncSource()
        with pytest.raises(chunkfold.LimitExceeded):
            async for _ in astream(source, limits=Limits(stream_bytes=100)):
                pass
        assert source.closed == 1

    run(main())


def test_wrong_use_closes_the_source():
    for door in (fold, lambda source: run(afold(source)), lambda source: list(stream(source))):
        source = Source([FRAMES[0], PAYLOADS[0]])
        with pytest.raises(TypeError):
            door(source)
        assert source.closed == 1


def test_an_unknown_dialect_leaves_the_source_alone():
    for door in (fold, stream, astream, lambda source, name: run(afold(source, name))):
        source = Source()
        with pytest.raises(chunkfold.UnknownDialect):
            door(source, "none")
        assert source.closed == 0
        assert next(source) == FRAMES[0]


def test_a_source_that_cannot_be_closed_harms_nothing():
    class Stubborn(Source):
        def close(self):
            raise OSError("no")

    assert_hello(fold(Stubborn()))
    assert_hello(drained(Stubborn()))


KEYWORDS = {"split_think_tags": False, "cumulative_deltas": None}


@pytest.mark.parametrize("door", [fold, afold, stream, astream, chunkfold.Folder, chunkfold.Decoder])
def test_the_promised_keywords_are_written_out_and_typed_on_each(door):
    parameters = inspect.signature(door).parameters
    for name, default in KEYWORDS.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default is default
        assert parameters[name].annotation is not inspect.Parameter.empty
    assert parameters["dialect"].default == "auto"
    assert "limits" in parameters
    assert ("policy" in parameters) == (door is not chunkfold.Decoder)
    assert not [name for name, parameter in parameters.items() if parameter.kind is inspect.Parameter.VAR_KEYWORD]


def test_options_reach_the_folder_through_every_door():
    body = b"".join(chat({"content": text}) for text in ("<think>a</think>b", "<think>a</think>bc")) + b"".join(
        FRAMES[2:]
    )
    options = {"split_think_tags": True, "cumulative_deltas": True, "limits": Limits(parts=5), "policy": Policy()}
    for response in (
        fold(body, "openai-chat", **options),
        drained(body, dialect="openai-chat", **options),
        run(afold(body, "openai-chat", **options)),
        run(adrained(body, dialect="openai-chat", **options)),
    ):
        assert (response.reasoning, response.text) == ("a", "bc")


def test_paths_are_closed_however_the_fold_ends(tmp_path):
    path = pathlib.Path(tmp_path) / "saved.sse"
    path.write_bytes(BODY)
    opened = []
    real = open

    def watched(*arguments, **options):
        file = real(*arguments, **options)
        opened.append(file)
        return file

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("builtins.open", watched)
        fold(path)
        drained(path)
        run(afold(path))
        with stream(path) as events:
            next(events)
        with pytest.raises(chunkfold.LimitExceeded):
            fold(path, limits=Limits(stream_bytes=5))
    assert len(opened) == 5
    assert all(file.closed for file in opened)
