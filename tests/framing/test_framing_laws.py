"""Laws that hold for any bytes: cuts change nothing, nothing raises, work is linear, caps hold."""

import copy
import pickle
import time
from pathlib import Path

import pytest
from framing_helpers import aws_event, bytewise, cut_at, frames_of, outcome
from hypothesis import given
from hypothesis import strategies as st

from chunkfold.framing import Frame, Framer
from chunkfold.framing.text import TextFramer

CORPUS = Path(__file__).parents[2].parent / "shared" / "corpus"
PIECES = [
    b'data: {"a":1}\n\n', b'event: x\ndata: {"b":"\\"}"}\n\n', b"data: [DONE]\n\n", b": ping\n", b":\n\n", b"\n", b"\r", b"\r\n",
    b"data:", b"data: ", b"event: y\n", b"event:", b"id: 3\n", b"retry: 1\n", b"status:200\n", b'{"c":[1]}\n', b'{"d":', b"{", b"}", b"[", b"]",
    b",", b'"', b"\\", b" ", b"[{", b'[{"e":2},\n', b'{"f":3}]', b"{}", b"[DONE]\n", b"<html>\n", b"\xef\xbb\xbf", b"\0", b"\xff", b"\xe2\x80\xa8",
    b"data: {\ndata: }\n\n", b"data: 1\ndata: x\n\n", b'{\n  "g": 1\n}\n', b"tru", b"\ndata: ", b"\n\ndata: ", aws_event("z", b"{}"), aws_event("z", b"{}")[:14],
]  # fmt: skip
mixes = st.lists(st.sampled_from(PIECES), max_size=14).map(b"".join) | st.binary(max_size=60)
cuts = st.lists(st.integers(0, 400), max_size=8)
caps = st.none() | st.integers(0, 40)


@given(mixes, cuts, caps)
def test_cuts_change_nothing(data, cuts, cap):
    whole = outcome([data], cap)
    assert outcome(cut_at(data, cuts), cap) == whole
    assert outcome(bytewise(data), cap) == whole


@given(mixes, cuts)
def test_any_kind_of_buffer_is_as_good_as_bytes(data, cuts):
    reads = cut_at(data, cuts)
    assert (
        outcome([bytearray(read) for read in reads]) == outcome([memoryview(read) for read in reads]) == outcome(reads)
    )


class LineByLine(TextFramer):
    """The definition: no blocks."""

    __slots__ = ()

    def _blocks(self, data):
        return 0


@given(mixes, cuts, caps)
def test_the_fast_way_means_what_the_lines_mean(data, cuts, cap):
    fast, slow = TextFramer(cap), LineByLine(cap)
    for read in cut_at(data, cuts):
        assert fast.feed(read) == slow.feed(read)
        assert fast.framing == slow.framing
        assert fast.idle == slow.idle
    assert fast.close() == slow.close()
    assert str(fast.breach) == str(slow.breach)


@given(mixes, caps)
def test_no_frame_is_larger_than_the_cap(data, cap):
    for frame in frames_of(data, frame_bytes=cap):
        assert cap is None or len(frame.data) <= cap or frame.kind in {"corrupt", "exception"}


@given(mixes)
def test_only_close_cuts(data):
    assert not [frame for frame in Framer().feed(data) if frame.cut]


@given(mixes, st.integers(0, 400), st.sampled_from([copy.deepcopy, lambda framer: pickle.loads(pickle.dumps(framer))]))
def test_a_copy_goes_on_where_the_original_was(data, at, copied):
    framer = Framer()
    before = framer.feed(data[:at])
    again = copied(framer)
    assert before + again.feed(data[at:]) + again.close() == frames_of(data)


@given(mixes)
def test_idle_means_that_nothing_is_pending(data):
    framer = Framer()
    framer.feed(data)
    if framer.idle:
        assert framer.close() == []


@pytest.mark.parametrize(
    ("half", "rest"),
    [(b"data: 1", b"\n\n"), (b"data: 1\n", b"\n"), (b"event: a\n", b"\n"), (b"data: 1\n\n:", b"\n"), (b'{"a":', b"1}\n"), (b'{\n"a"\n', b":1}\n"), (b"\xef", b"\xbb\xbfdata: 1\n\n")],
)  # fmt: skip
def test_idle_is_false_amid_anything(half, rest):
    framer = Framer()
    assert framer.idle
    framer.feed(half)
    assert not framer.idle
    framer.feed(rest)
    assert framer.idle


def test_idle_is_false_between_cr_and_lf_and_inside_an_array():
    framer = Framer()
    framer.feed(b"data: 1\r\n\r")
    assert not framer.idle
    framer.feed(b"\n[{}")
    assert not framer.idle


def test_after_close_nothing_is_read():
    framer = Framer()
    framer.feed(b"data: 1\n\n")
    assert framer.close() == framer.close() == framer.feed(b"data: 2\n\n") == []


class TestCap:
    @pytest.mark.parametrize(
        ("fits", "breaks"),
        [
            (b"data: 1234\n\n", b"data: 12345\n\n"),
            (b"{" + b" " * 8 + b"}\n", b"{" + b" " * 9 + b"}\n"),
            (b"data:ab\ndata:cd\ndata:efgh\n\n", b"data:ab\ndata:cd\ndata:efgh\ndata:\n\n"),
            (b'{\n"a":\n1\n}\n', b'{\n"a":\n12\n}\n'),
            (b'[{"a":"12"},{"b":"34"}]', b'[{"a":"123"}]'),
            (b"0123456789", b"0123456789a"),
            (b"[         {}]", b"[          {}]"),
        ],
    )
    def test_ten_bytes_fit_and_eleven_do_not(self, fits, breaks):
        assert outcome([fits], 10)[3] == "None"
        for reads in ([b"data:1\n\n" + breaks], bytewise(b"data:1\n\n" + breaks)):
            frames, _, _, breach = outcome(reads, 10)
            assert breach == "frame_bytes: 11 is more than the 10 allowed"
            assert frames == [Frame(b"1")]

    def test_after_a_breach_nothing_is_read(self):
        framer = Framer(10)
        assert framer.feed(b"data: 1\n\ndata: 23456\n\ndata: 2\n\n") == [Frame(b"1")]
        assert framer.breach.args[:3] == ("frame_bytes", 11, 10)
        assert framer.feed(b"data: 3\n\n") == framer.feed(b"x") == framer.close() == []
        assert not framer.idle

    def test_memory_is_not_filled_before_the_breach(self):
        framer = Framer(1000)
        for _ in range(100):
            framer.feed(b"x" * 100)
        assert framer.breach
        assert not framer.reader._buffer


SLOW_SHAPES = {
    "one long line": (lambda n: b"data: " + b"x" * n, 16),
    "one long string": (lambda n: b'{"a":"' + b"x" * n + b'"}\n', 16),
    "one element": (lambda n: b'[{"a":"' + b"x" * n, 16),
    "escapes": (lambda n: b'[{"a":"' + b'\\"' * (n // 2), 64),
    "blanks after a bracket": (lambda n: b"[" + b" \n" * (n // 2), 16),
    "lines of a value": (lambda n: b"{\n" + b'"a":1,\n' * (n // 7), 64),
    "brackets opening lines": (lambda n: b"[x\n" * (n // 3), 1 << 30),
    "arrays": (lambda n: b"[]\n" * (n // 3), 1 << 30),
    "values on one line": (lambda n: b"{}" * (n // 2) + b"\n", 1 << 30),
    "data lines of one text": (lambda n: b'data: {"a":[\n' + b"data: 1,\n" * (n // 9), 64),
    "data lines of no text": (lambda n: b"data: x\n" * (n // 8), 64),
    "broken values": (lambda n: b'{"a\n' * (n // 4), 1 << 30),
    "opening brackets": (lambda n: b"{" * n, 64),
    "quotes": (lambda n: b'[{"' + b'"' * n, 64),
    "noise": (lambda n: bytes(range(1, 256)) * (n // 255), 64),
    "cr": (lambda n: b"\r" * n, 64),
}


@pytest.mark.parametrize("shape", SLOW_SHAPES)
def test_work_is_linear(shape):
    """Eight times the bytes take about eight times as long; a quadratic step would make it sixty-four."""
    build, step = SLOW_SHAPES[shape]

    def seconds(size):
        data = build(size)
        reads = [data[at : at + step] for at in range(0, len(data), step)]
        best = float("inf")
        for _ in range(3):
            start = time.process_time()
            frames_of(*reads)
            best = min(best, time.process_time() - start)
        return best

    small = max(seconds(20_000), 1e-4)
    assert seconds(160_000) < 32 * small


@pytest.mark.skipif(not CORPUS.is_dir(), reason="the recorded streams are not beside this repository")
def test_recorded_streams_do_not_depend_on_cuts():
    paths = [path for path in sorted(CORPUS.rglob("*.*")) if path.suffix in {".sse", ".ndjson", ".ndjson-chunks"}]
    assert paths
    for path in paths:
        data = path.read_bytes()
        whole = outcome([data])
        assert outcome([data[at : at + 61] for at in range(0, len(data), 61)]) == whole, path
