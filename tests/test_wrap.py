"""`wrap` around streams of every shape. The real SDKs are in tests_sdks, the ways out in test_ways_out.py."""

from __future__ import annotations

import asyncio
import gc
import gzip
import itertools
import json
import pathlib
import types
import zlib
from unittest import mock

import pytest

import chunkfold
from chunkfold.doors._sdk_streams import unread_response, unread_stream


def payload(text, reason=None):
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": reason}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice]}


PAYLOADS = [payload("Hel"), payload("lo"), payload("", "stop")]
PIECES = [b"data: %b\n\n" % json.dumps(item).encode() for item in PAYLOADS]
DONE = b"data: [DONE]\n\n"


class HttpResponse:
    """As httpx's: bytes that can be read once."""

    def __init__(self, pieces, error=None):
        self.pieces = pieces
        self.error = error
        self.is_stream_consumed = False
        self.num_bytes_downloaded = 0
        self.closed = 0

    def iter_bytes(self):
        self.is_stream_consumed = True
        yield from self.pieces
        if self.error is not None:
            raise self.error

    async def aiter_bytes(self):
        for piece in self.iter_bytes():
            yield piece

    def close(self):
        self.closed += 1


class SdkStream:
    """As those of openai, anthropic and their kin; `drop` is what it does not hand out."""

    def __init__(self, response, drop=()):
        self.response = response
        self._drop = drop
        self._iterator = self.__stream__()

    def __stream__(self):
        for piece in self.response.iter_bytes():
            if piece == DONE:
                return
            item = json.loads(piece[6:])
            if item["choices"][0]["delta"]["content"] not in self._drop:
                yield types.SimpleNamespace(**item)

    def __iter__(self):
        yield from self._iterator

    def __next__(self):
        return next(self._iterator)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def close(self):
        self.response.close()

    def get_final_text(self):
        return "".join(item.choices[0]["delta"]["content"] for item in self)


class AsyncSdkStream(SdkStream):
    async def __stream__(self):
        async for piece in self.response.aiter_bytes():
            if piece == DONE:
                return
            yield types.SimpleNamespace(**json.loads(piece[6:]))

    __iter__ = None
    __next__ = None

    def __aiter__(self):
        return self._iterator

    async def close(self):
        self.response.close()


class Manager:
    def __init__(self, stream, error=None):
        self.stream = stream
        self.error = error

    def __enter__(self):
        if self.error is not None:
            raise self.error
        return self.stream

    def __exit__(self, *exc):
        self.stream.close()


class AsyncManager:
    def __init__(self, stream):
        self.stream = stream

    async def __aenter__(self):
        return self.stream

    async def __aexit__(self, *exc):
        await self.stream.close()


WHOLE = chunkfold.fold([*PIECES, DONE])


def test_objects_pass_and_bytes_are_heard():
    stream = SdkStream(HttpResponse([*PIECES, DONE]), drop=["lo"])
    proxy, fold = chunkfold.wrap(stream)
    assert isinstance(proxy, SdkStream)
    assert [item.choices[0]["delta"]["content"] for item in proxy] == ["Hel", ""]
    assert fold.response() == WHOLE  # also what the SDK drops


def test_helpers_of_the_stream_read_past_the_proxy_and_are_heard():
    proxy, fold = chunkfold.wrap(SdkStream(HttpResponse([*PIECES, DONE])))
    assert proxy.get_final_text() == "Hello"
    assert fold.response() == WHOLE


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview, bytes.decode])
def test_bytes_and_text_that_pass_are_folded(kind):
    body = b"".join(PIECES) + DONE
    pieces = [kind(body[at : at + 50]) for at in range(0, len(body), 50)]
    proxy, fold = chunkfold.wrap(iter(pieces))
    assert list(proxy) == pieces
    assert fold.error is None
    assert fold.response() == WHOLE


def test_a_response_of_an_http_client_is_heard_beneath():
    response, fold = chunkfold.wrap(HttpResponse([*PIECES, DONE]))
    assert list(response.iter_bytes()) == [*PIECES, DONE]
    assert fold.response() == chunkfold.fold([*PIECES, DONE])

    response, fold = chunkfold.wrap(HttpResponse(PIECES))
    next(response.iter_bytes())
    response.close()
    assert (fold.response().text, fold.response().ended, response.closed) == ("Hel", "cancelled", 1)

    with pytest.raises(TypeError, match="has been read"):
        chunkfold.wrap(response)


REFUSED = b'{"error":{"message":"Slow down","type":"rate_limit_error"}}'


@pytest.mark.parametrize(
    ("status", "body", "is_read"), [(429, REFUSED, True), (500, b"oops", True), (302, b"", True), (401, b"{}", False)]
)
def test_a_response_that_refuses_tells_its_status(status, body, is_read):
    """The status is that of the response also where the body says nothing, or nobody reads it."""

    def answered():
        response = HttpResponse([body[:9], body[9:]])
        response.status_code, response.headers = status, {"retry-after": "3"}
        return response

    response, fold = chunkfold.wrap(answered())
    if is_read:
        assert b"".join(response.iter_bytes()) == body
    response.close()
    assert fold.response() == chunkfold.fold(answered()) if is_read else fold.response().ended == "error"
    assert (fold.response().error.status, fold.response().error.retry_after) == (status, 3.0)


def seconds():
    """A clock that goes on by one each time it is read."""
    return itertools.count().__next__


@pytest.mark.parametrize("kind", ["bytes", "objects", "beneath", "async"])
def test_what_came_when_is_told_as_by_a_stream(kind):
    """The clock is read when the stream is wrapped, at every read and at the end."""
    if kind == "objects":
        source, pieces = (item for item in PAYLOADS), list(PAYLOADS)
    else:
        source, pieces = iter([*PIECES, DONE]), [*PIECES, DONE]
    if kind == "beneath":
        source = SdkStream(HttpResponse(pieces))
    if kind == "async":

        async def given():
            for piece in pieces:
                yield piece

        source = given()
    proxy, fold = chunkfold.wrap(source, clock=seconds())
    assert fold.timing().first_byte is None
    if kind == "async":

        async def read():
            return [piece async for piece in proxy]

        asyncio.run(read())
    else:
        list(proxy)
    events = chunkfold.stream(iter(pieces), clock=seconds())
    list(events)
    assert fold.timing() == events.timing()
    assert (fold.timing().first_output, fold.timing().last_output) == (1, 2)
    assert fold.response() == events.response()


def test_what_came_when_is_told_while_it_comes():
    proxy, fold = chunkfold.wrap(iter([*PIECES, DONE]), clock=seconds())
    next(proxy)
    assert (fold.timing().first_output, fold.timing().characters, fold.timing().total) == (1, 3, 1)


@pytest.mark.parametrize("at", [2, len(PIECES) + 3])
def test_a_clock_that_fails_is_a_fault_in_folding(at):
    """At the first read, and at the end."""
    times = itertools.count(1)

    def clock():
        if next(times) == at:
            raise ZeroDivisionError
        return 0.0

    done = []
    proxy, fold = chunkfold.wrap(iter([*PIECES, DONE]), clock=clock, on_done=done.append)
    assert list(proxy) == [*PIECES, DONE]
    assert isinstance(fold.error, ZeroDivisionError)
    assert done == [fold.response()]
    assert fold.response().ended is not None


def test_without_a_clock_there_are_no_times_and_a_clock_is_a_function():
    assert chunkfold.wrap(iter(PIECES))[1].timing() is None
    with pytest.raises(TypeError, match="clock must be a function"):
        chunkfold.wrap(iter(PIECES), clock=5)


class Inflater:
    """As httpx's decoders."""

    def __init__(self):
        self._inflate = zlib.decompressobj(31)

    def decode(self, piece):
        return self._inflate.decompress(piece)


class RawHttpResponse(HttpResponse):
    """As httpx's: what is decoded is read from the bytes of the wire, which may be read themselves."""

    def __init__(self, pieces, encoding=None):
        super().__init__(pieces)
        self.headers = {"content-encoding": encoding} if encoding else {}
        self._decoder = Inflater()

    def _get_content_decoder(self):
        return self._decoder

    def iter_raw(self):
        yield from super().iter_bytes()

    def iter_bytes(self):
        for piece in self.iter_raw():
            yield self._decoder.decode(piece) if self.headers else piece


@pytest.mark.parametrize("read", ["iter_bytes", "iter_raw"])
@pytest.mark.parametrize("encoding", [None, "gzip"])
def test_a_response_is_heard_once_also_where_a_proxy_passes_its_bytes_on(read, encoding):
    body = b"".join([*PIECES, DONE])
    wire = gzip.compress(body) if encoding else body
    response, fold = chunkfold.wrap(RawHttpResponse([wire[:40], wire[40:]], encoding))
    assert b"".join(getattr(response, read)()) == (wire if read == "iter_raw" else body)
    assert fold.error is None
    assert fold.response() == chunkfold.fold(body)


def test_bytes_that_cannot_be_decoded_do_not_reach_the_loop():
    response, fold = chunkfold.wrap(RawHttpResponse([b"no gzip"], "gzip"))
    assert list(response.iter_raw()) == [b"no gzip"]
    assert isinstance(fold.error, zlib.error)


def test_lines_that_pass_without_their_ends_are_told_of():
    proxy, fold = chunkfold.wrap((b"".join(PIECES) + DONE).split(b"\n"))
    for _ in proxy:
        pass
    assert "line_ends_missing" in [item.kind for item in fold.response().diagnostics]


def test_objects_are_folded_where_no_bytes_can_be_heard():
    proxy, fold = chunkfold.wrap(item for item in PAYLOADS)
    assert list(proxy) == PAYLOADS
    assert fold.response().text == "Hello"
    assert fold.response().ended == "clean"


def test_a_response_that_was_begun_is_not_listened_to():
    stream = SdkStream(HttpResponse([*PIECES, DONE]))
    next(stream)
    assert unread_response(stream) is None
    proxy, fold = chunkfold.wrap(stream)
    list(proxy)
    assert fold.response().text == "lo"


def test_objects_are_folded_if_the_sdk_reads_its_response_in_another_way():
    stream = SdkStream(HttpResponse([]))
    stream._iterator = (types.SimpleNamespace(**item) for item in PAYLOADS)
    proxy, fold = chunkfold.wrap(stream)
    assert len(list(proxy)) == 3
    assert fold.response().text == "Hello"


def test_fold_reads_the_bytes_beneath_a_stream_that_nobody_wrapped():
    stream = SdkStream(HttpResponse([*PIECES, DONE]), drop=["lo"])
    assert chunkfold.fold(stream) == WHOLE
    assert stream.response.closed == 1


def test_afold_reads_the_bytes_beneath_too():
    stream = AsyncSdkStream(HttpResponse([*PIECES, DONE]))
    assert asyncio.run(chunkfold.afold(stream)) == WHOLE
    assert stream.response.closed == 1


def test_streams_that_somebody_has_changed_are_iterated_over():
    traced = SdkStream(HttpResponse([*PIECES, DONE]))
    traced._iterator = iter([types.SimpleNamespace(**PAYLOADS[0])])
    assert unread_stream(traced) is None
    watched = SdkStream(HttpResponse([*PIECES, DONE]))
    watched._observer = object()
    assert unread_stream(watched) is None
    proxy, _ = chunkfold.wrap(SdkStream(HttpResponse([*PIECES, DONE])))
    assert unread_stream(proxy) is None
    assert chunkfold.fold(traced).text == "Hel"


@pytest.mark.parametrize("of_async", [False, True])
def test_a_manager_is_taken_for_its_stream(of_async):
    done = []
    if of_async:
        manager, fold = chunkfold.wrap(AsyncManager(AsyncSdkStream(HttpResponse([*PIECES, DONE]))), on_done=done.append)

        async def run():
            async with manager as stream:
                return [item async for item in stream]

        items = asyncio.run(run())
    else:
        manager, fold = chunkfold.wrap(Manager(SdkStream(HttpResponse([*PIECES, DONE]))), on_done=done.append)
        with manager as stream:
            assert isinstance(stream, SdkStream)
            items = list(stream)
    assert len(items) == 3
    assert done == [WHOLE]
    assert fold.response() == WHOLE


def test_a_manager_that_was_entered_may_be_dropped():
    manager, fold = chunkfold.wrap(Manager(SdkStream(HttpResponse([*PIECES, DONE]))))
    stream = manager.__enter__()
    del manager
    gc.collect()
    assert fold.response().ended is None
    list(stream)
    assert fold.response() == WHOLE


def test_a_manager_that_is_never_entered_is_a_way_out_too():
    done = []
    manager, _ = chunkfold.wrap(Manager(None), on_done=done.append)
    del manager
    gc.collect()
    assert [response.ended for response in done] == ["cancelled"]


def test_a_request_that_fails_on_entering_is_told():
    done = []
    manager, fold = chunkfold.wrap(Manager(None, ValueError("no")), on_done=done.append)
    with pytest.raises(ValueError, match="no"), manager:
        pass
    assert done[0].error.exception.args == ("no",)
    assert fold.error is None


def test_a_stream_of_both_kinds_can_be_read_in_both_ways():
    class Both:
        def __init__(self):
            self.left = iter(PAYLOADS)

        def __iter__(self):
            return self

        def __next__(self):
            return next(self.left)

        def __aiter__(self):
            return self

        async def __anext__(self):
            try:
                return next(self.left)
            except StopIteration:
                raise StopAsyncIteration from None

    async def read(proxy):
        return [item async for item in proxy]

    proxy, fold = chunkfold.wrap(Both())
    assert list(proxy) == PAYLOADS
    assert fold.response().text == "Hello"
    proxy, fold = chunkfold.wrap(Both())
    assert asyncio.run(read(proxy)) == PAYLOADS
    assert fold.response().text == "Hello"


def test_a_fault_in_folding_is_kept_from_the_caller():
    proxy, fold = chunkfold.wrap(iter([*PAYLOADS, object()]))
    assert len(list(proxy)) == 4
    assert isinstance(fold.error, TypeError)
    assert fold.response().text == "Hello"


def test_what_an_sdk_hands_out_for_no_object_is_noted_as_the_doors_note_it():
    proxy, fold = chunkfold.wrap(iter([PAYLOADS[0], 5, *PAYLOADS[1:]]))
    assert len(list(proxy)) == 4
    assert fold.error is None
    assert fold.response() == chunkfold.fold([PAYLOADS[0], 5, *PAYLOADS[1:]])
    assert "payload_not_object" in {diagnostic.kind for diagnostic in fold.response().diagnostics}


def test_an_error_that_the_server_told_is_not_told_again_by_the_sdk():
    failing = b'data: {"error": {"message": "slow down", "type": "rate_limit_error"}}\n\n'

    class Raising(SdkStream):
        def __stream__(self):
            for piece in self.response.iter_bytes():
                if b"error" in piece:
                    raise ValueError("Error code: 429")
                yield piece

    proxy, fold = chunkfold.wrap(Raising(HttpResponse([PIECES[0], failing])))
    with pytest.raises(ValueError, match="429"):
        list(proxy)
    assert fold.response() == chunkfold.fold([PIECES[0], failing])


def test_an_sdk_that_raises_in_the_middle_is_told():
    class Raising(SdkStream):
        def __stream__(self):
            for piece in self.response.iter_bytes():
                yield piece
                raise AssertionError

    proxy, fold = chunkfold.wrap(Raising(HttpResponse([*PIECES, DONE])))
    with pytest.raises(AssertionError):
        list(proxy)
    assert (fold.response().error.type, fold.response().text) == ("AssertionError", "Hel")


def test_an_error_of_the_transport_is_heard_before_the_sdk_renames_it():
    broken = OSError("reset")
    proxy, fold = chunkfold.wrap(SdkStream(HttpResponse(PIECES[:1], broken)))
    with pytest.raises(OSError, match="reset"):
        list(proxy)
    assert fold.response().error.exception is broken
    assert fold.response().error.retryable


def test_attributes_go_through_in_both_directions():
    stream = SdkStream(HttpResponse([]))
    proxy, _ = chunkfold.wrap(stream)
    proxy.note = 1
    assert stream.note == 1
    assert proxy.response is stream.response
    assert dir(proxy) == dir(stream)
    assert repr(proxy) == repr(stream)
    with pytest.raises(AttributeError):
        _ = proxy.nothing


def test_a_generator_can_be_used_in_with():
    proxy, fold = chunkfold.wrap(item for item in PAYLOADS)
    with proxy:
        next(proxy)
    assert fold.response().ended == "cancelled"
    assert list(proxy) == []

    async def agenerator():
        for item in PAYLOADS:
            yield item

    async def run():
        proxy, fold = chunkfold.wrap(agenerator())
        async with proxy:
            await proxy.__anext__()
        return fold.response()

    assert asyncio.run(run()).ended == "cancelled"


def test_what_is_set_and_deleted_on_the_proxy_is_on_the_stream():
    """As `mock.patch.object` does, and tracers that put a method of theirs in the place of one."""

    class Source:
        def __iter__(self):
            return iter(PIECES)

        def helper(self):
            return "its own"

    source = Source()
    proxy, _ = chunkfold.wrap(source)
    with mock.patch.object(proxy, "helper", lambda: "mine"):
        assert source.helper() == proxy.helper() == "mine"
    assert source.helper() == "its own"
    with pytest.raises(AttributeError):
        del proxy.nothing


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"stream": 1}, r"response\['stream'\]"),
        (b"data:", "use fold"),
        ("data:", "use fold"),
        (pathlib.Path("saved.sse"), "use fold"),
        (5, "no stream"),
    ],
)
def test_what_is_no_stream_is_refused_with_the_remedy(given, remedy):
    with pytest.raises(TypeError, match=remedy):
        chunkfold.wrap(given)


def test_a_coroutine_is_refused_with_the_remedy():
    async def ask():
        """Never run."""

    with pytest.raises(TypeError, match="await it first"):
        chunkfold.wrap(ask())


def test_a_stream_of_both_kinds_is_no_mistake_for_fold():
    class Both:
        def __iter__(self):
            return iter(PAYLOADS)

        def __aiter__(self):
            raise AssertionError

    assert chunkfold.fold(Both()).text == "Hello"
