"""AWS event-stream: messages, exceptions, damage, and the recorded streams."""

import struct
import zlib
from pathlib import Path

import pytest
from framing_helpers import aws_event, aws_message, aws_raw, bytewise, frames_of, outcome

from chunkfold.framing import Frame, Framer

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
HI = b'{"contentBlockIndex":0,"delta":{"text":"Hi"}}'


def corrupt_text(frames):
    assert frames[-1].kind == "corrupt"
    return frames[-1].data.decode()


def test_the_helper_builds_what_botocore_reads():
    message = aws_event("contentBlockDelta", HI)
    assert (message[:12].hex(), message[-4:].hex()) == ("0000009400000057b4ab9aee", "1f944657")


def test_an_event_message_is_a_frame():
    data = aws_event("contentBlockDelta", HI) * 2
    expected = ([Frame(HI, "contentBlockDelta")] * 2, "aws-eventstream", False, "None")
    assert outcome([data]) == outcome(bytewise(data)) == expected


def test_an_exception_has_the_name_of_its_type():
    message = aws_message({":exception-type": "throttlingException", ":message-type": "exception"}, b'{"message":"x"}')
    assert frames_of(message) == [Frame(b'{"message":"x"}', "throttlingException", "exception")]


def test_an_exception_is_one_even_beside_an_event_type():
    message = aws_message({":event-type": "chunk", ":exception-type": "e", ":message-type": "exception"}, b"{}")
    assert frames_of(message) == [Frame(b"{}", "e", "exception")]


def test_an_error_is_told_by_its_headers():
    headers = {":message-type": "error", ":error-code": "500", ":error-message": 'a "b"'}
    told = b'{"code":"500","message":"a \\"b\\""}'
    assert frames_of(aws_message(headers)) == [Frame(told, "500", "exception")]
    assert frames_of(aws_message(headers, b"{}")) == [Frame(told[:-1] + b',"payload":"{}"}', "500", "exception")]
    assert frames_of(aws_message({":message-type": "error"})) == [Frame(b'{"code":"","message":""}', "", "exception")]


def test_headers_of_every_type_are_passed_over():
    headers = {
        "a": True,
        "b": False,
        "c": (2, b"1"),
        "d": (3, b"12"),
        "e": (4, b"1234"),
        "f": (5, b"12345678"),
        "g": b"raw",
        "h": (8, b"12345678"),
        "i": (9, b"1234567890123456"),
        ":event-type": "x",
    }
    assert frames_of(aws_message(headers, b"{}")) == [Frame(b"{}", "x")]


def test_a_message_without_headers_is_data():
    assert frames_of(aws_raw(b"", b"{}")) == [Frame(b"{}")]


def test_a_damaged_prelude_ends_the_stream_and_keeps_what_came_before():
    bad = bytearray(aws_event("b", b"{}"))
    bad[3] ^= 1
    frames = frames_of(aws_event("a", b"{}"), bytes(bad), aws_event("c", b"{}"))
    assert frames[0] == Frame(b"{}", "a")
    assert corrupt_text(frames[1:]).startswith("the prelude CRC32 is ")
    assert len(frames) == 2


def test_a_damaged_first_prelude_is_still_recognised():
    bad = bytearray(aws_event("b", b"{}"))
    bad[9] ^= 0xFF
    frames, framing, _, _ = outcome(bytewise(bytes(bad)))
    assert framing == "aws-eventstream"
    expected = bytes(bad[8:12]).hex()
    assert f"expected {expected}" in corrupt_text(frames)


def test_a_damaged_payload_ends_the_stream():
    bad = bytearray(aws_event("b", b"{}"))
    bad[-5] ^= 1
    frames = frames_of(aws_event("a", b"{}") + bytes(bad) + aws_event("c", b"{}"))
    assert frames[0] == Frame(b"{}", "a")
    assert "the message CRC32 is" in corrupt_text(frames)
    assert len(frames) == 2


def test_headers_longer_than_the_message_are_corrupt():
    assert "cannot hold 99 bytes of headers" in corrupt_text(frames_of(aws_raw(b"", b"{}", headers_length=99)))


@pytest.mark.parametrize("block", [b"\x05ab", b"\x01a\x0a", b"\x01a\x07\x00", b"\x01a\x07\x00\x09ab", b"\x01a\x05123"])
def test_headers_that_do_not_add_up_are_corrupt(block):
    assert "headers do not end" in corrupt_text(frames_of(aws_raw(block, b"")))


@pytest.mark.parametrize("size", [4, 11, 12, 30])
def test_a_cut_message_is_cut(size):
    data = aws_event("a", HI)
    assert outcome([data[:size]])[:2] == ([Frame(data[:size], cut=True)], "aws-eventstream")
    assert frames_of(data + data[:size]) == [Frame(HI, "a"), Frame(data[:size], cut=True)]


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0", b"\0" * 20, b"\0\xff\xff\xffabcdefghijkl", b"\x01text and more"])
def test_noise_that_begins_with_nul_is_stray(data):
    assert outcome([data])[:2] == outcome(bytewise(data))[:2] == ([Frame(data, kind="stray")], None)


def test_a_length_over_the_limit_is_a_breach_before_the_bytes_come():
    small, big = aws_event("a", b"{}"), aws_event("b", b"x" * 2000)
    framer = Framer(1000)
    assert framer.feed(small + big[:12]) == [Frame(b"{}", "a")]
    assert (framer.breach.limit, framer.breach.value, framer.breach.allowed) == ("frame_bytes", len(big), 1000)
    assert framer.feed(big[12:] + small) == framer.close() == []
    assert outcome([small + big], 1000) == outcome(bytewise(small + big), 1000)


def test_idle_between_messages_alone():
    framer = Framer()
    message = aws_event("a", b"{}")
    assert framer.idle
    framer.feed(message[:20])
    assert not framer.idle
    framer.feed(message[20:])
    assert framer.idle


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recorded streams are not beside this repository")
def test_recorded_streams_are_read_to_their_last_byte():
    paths = sorted(CORPUS.rglob("*.bin"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        frames, framing, _, _ = whole = outcome([data])
        assert framing == "aws-eventstream", path
        assert frames, path
        assert not [frame for frame in frames if frame.cut or frame.kind == "corrupt" or not frame.event], path
        assert outcome([data[at : at + 7] for at in range(0, len(data), 7)]) == whole, path


def test_big_message_in_small_reads_is_one_frame():
    payload = bytes(200_000)
    data = aws_event("a", payload)
    reads = [data[at : at + 16] for at in range(0, len(data), 16)]
    assert frames_of(*reads) == [Frame(payload, "a")]
    assert struct.unpack(">I", data[:4]) == (len(data),)


def test_every_kind_of_header_is_read_however_many_there_are():
    names = [f"kind-{number}" for number in range(100)] * 2 + ["x" * 2000] * 2
    frames = frames_of(b"".join(aws_event(name, b"{}") for name in names))
    assert [frame.event for frame in frames] == names


def alike(name="a", frame_bytes=None):
    """What cuts messages as one that was read before."""
    framer = Framer(frame_bytes)
    framer.feed(aws_event("other", b"") + aws_event(name, b"{}"))
    return framer.reader.alike(name)


def test_messages_with_the_same_headers_are_cut_without_reading_them_again():
    payloads = [b"{}", b"", b"x" * 70, b"{}", b"\0\xff"]
    data = b"".join(aws_event("a", payload) for payload in payloads)
    messages = alike()
    assert list(messages.payloads(b"before" + data, 6)) == payloads
    assert messages.at == 6 + len(data)
    assert [messages.payload_of(aws_event("a", payload)) for payload in payloads] == payloads


def test_a_name_that_was_no_event_has_no_messages_alike():
    framer = Framer()
    headers = {":event-type": "a", ":exception-type": "b", ":message-type": "exception"}
    framer.feed(aws_message(headers, b"{}"))
    assert framer.reader.alike("a") is framer.reader.alike("b") is framer.reader.alike("") is None


def with_turned_bits():
    message = aws_event("a", HI)
    for at in range(len(message)):
        for bit in range(8):
            yield message[:at] + bytes([message[at] ^ 1 << bit]) + message[at + 1 :]


def with_other_prelude_checksum():
    data = aws_event("a", HI)
    data = data[:8] + struct.pack(">I", 1) + data[12:-4]
    return data + struct.pack(">I", zlib.crc32(data))


@pytest.mark.parametrize(
    "others",
    [
        [*with_turned_bits()],
        [aws_event("a", HI)[:size] for size in range(len(aws_event("a", HI)))],
        [aws_event("b", HI), aws_event("aa", HI), aws_raw(b"", HI), aws_message({":event-type": "a"}, HI)],
        [aws_raw(aws_event("a", HI)[12:96], HI, headers_length=length) for length in (0, 70, 200)],
        [aws_event("a", bytes(2000))],
        [with_other_prelude_checksum()],
    ],
    ids=[
        "damaged",
        "cut",
        "of other headers",
        "of a wrong length",
        "too long",
        "of a wrong checksum inside a right one",
    ],
)
def test_whatever_is_no_message_alike_is_left_to_the_slow_way(others):
    first = aws_event("a", HI)
    for known in (False, True):
        for other in others:
            messages = alike(frame_bytes=1000)
            if known:
                assert list(messages.payloads(first, 0)) == [HI]
            assert list(messages.payloads(first + other, 0)) == [HI]
            assert messages.at == len(first)
            assert (
                messages.payload_of(other) is messages.payload_of(first[:-1]) is messages.payload_of(first * 2) is None
            )


def test_a_message_after_which_none_was_asked_for_was_not_taken():
    data = aws_event("a", b"1") + aws_event("a", b"22")
    messages = alike()
    payloads = messages.payloads(data, 0)
    assert next(payloads) == b"1"
    assert messages.at == 0
    assert next(payloads) == b"22"
    assert messages.at == len(aws_event("a", b"1"))


def test_beginnings_of_messages_are_not_remembered_without_end():
    messages = alike()
    for size in range(3000):
        assert messages.payload_of(aws_event("a", bytes(size))) == bytes(size)
    assert len(messages._heads) <= 1024


@pytest.mark.parametrize("ends", [b"\r\n", b"\n"])
@pytest.mark.parametrize(
    "heads", [[b"HTTP/1.1 200 OK", b"a: b", b""], [b"HTTP/1.1 100 Continue", b"", b"HTTP/2 200 ", b"a: b", b""]]
)
def test_messages_behind_the_heads_of_http_are_messages(heads, ends):
    """As `curl -i` prints them."""
    data = ends.join(heads) + ends + aws_event("contentBlockDelta", HI) * 2
    whole = outcome([data])
    assert whole[1] == "aws-eventstream"
    assert [frame for frame in whole[0] if frame.kind != "stray"] == [Frame(HI, "contentBlockDelta")] * 2
    assert [frame.data for frame in whole[0] if frame.kind == "stray"] == [line for line in heads if line]
    assert outcome(bytewise(data)) == whole


@pytest.mark.parametrize(
    "body", [b"", b"\x00", b"\x00\x01\x02", b'{"a":1}', b"HTTP/1.1", b"HTT", b"data: {}\n\n", b"\x00" * 40]
)
def test_what_stands_behind_the_heads_of_http_is_read_as_it_would_be_without(body):
    head = b"HTTP/1.1 200 OK\r\na: b\r\n\r\n"
    whole = outcome([head + body])
    assert outcome(bytewise(head + body)) == whole
    assert whole[0][2:] == outcome([body])[0]


def test_messages_of_sagemaker_are_pieces_of_a_body():
    """They are not cut where the events of the model are."""
    body = b'data: {"a":1}\n\ndata: {"b":2}\r\n\r\ndata: [DONE]\n\n'
    whole = outcome([body])[0]
    for size in (1, 5, 20, 100):
        data = b"".join(aws_event("PayloadPart", body[at : at + size]) for at in range(0, len(body), size))
        assert outcome([data]) == outcome(bytewise(data)) == (whole, "aws-eventstream", False, "None")


def test_a_body_in_pieces_may_be_cut_and_damaged_as_any():
    pieces = aws_event("PayloadPart", b'data: {"a":1}\n\ndata: {"b"') + aws_event("PayloadPart", b":2}\n\n")
    first, cut = Frame(b'{"a":1}'), Frame(b'{"b"', cut=True)
    exception = aws_message({":exception-type": "ModelStreamError", ":message-type": "exception"}, b"{}")
    half = aws_event("PayloadPart", b'data: {"b"')
    assert frames_of(pieces[:-1]) == [first, cut, Frame(aws_event("PayloadPart", b":2}\n\n")[:-1], cut=True)]
    assert frames_of(half + exception) == [Frame(b"{}", "ModelStreamError", "exception"), cut]
    assert frames_of(half + half[:-1] + b"x")[0].kind == "corrupt"
    assert "frame_bytes" in outcome([aws_event("PayloadPart", b"x" * 900) * 2], frame_bytes=1000)[3]
