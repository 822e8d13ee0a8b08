"""`fold` reads many pieces at once where nobody looks in between: that may change nothing."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chunkfold
from chunkfold import LimitExceeded, Limits, Policy
from chunkfold.doors import _reading
from chunkfold.doors._source_folder import SourceFolder
from chunkfold.likeness.counted import Counted
from chunkfold.likeness.edges import Edges
from chunkfold.likeness.shapes import Shape
from tests.streams import sse
from tests.test_fast_equals_slow import slowly

COUNT = 400
WORDS = ["word ", "é", "漢字", "😀", " a\\b", 'say "so"', "\n", "x" * 90, "\\"]


@pytest.fixture(autouse=True, scope="module")
def _soon():
    """Read ahead as early as can be."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_reading, "_RUN", 8)
        patch.setattr(_reading, "_FEW", 16)
        yield


def chat(text, number, **more):
    return sse({"id": "c", "choices": [{"index": 0, "delta": {"content": text}}], **more})


def obfuscated(text, number):
    return chat(text, number, obfuscation="x" * (number % 7 + 1))


def kept(text, number):
    return sse({"id": "c", "choices": [{"index": 0, "delta": {"content": text, "token_id": number}}]})


def totalled(text, number):
    return chat(text, number, usage={"prompt_tokens": 1, "completion_tokens": number})


def told_again(text, number):
    """As OpenRouter sends reasoning: the same text in two places."""
    delta = {"reasoning": text, "reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]}
    return sse({"id": "c", "choices": [{"index": 0, "delta": delta}], "p": "x" * (number % 7 + 1)})


def dated(text, number):
    return chat(text, number, created=1764400000 + number // 20)


def anthropic(text, number):
    delta = {"type": "text_delta", "text": text}
    return sse({"type": "content_block_delta", "index": 0, "delta": delta}, event="content_block_delta")


def numbered(text, number):
    return sse({"type": "response.output_text.delta", "sequence_number": number + 1, "item_id": "m", "output_index": 0,
                "content_index": 0, "delta": text})  # fmt: skip


HEADS = {
    anthropic: [
        sse({"type": "message_start", "message": {"id": "m", "role": "assistant"}}),
        sse({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ],
}
FRAMES = [chat, obfuscated, kept, totalled, told_again, dated, anthropic, numbered]
DIALECTS = {anthropic: "anthropic-messages", numbered: "openai-responses"}


def pieces_of(frame, texts):
    return [*HEADS.get(frame, []), *(frame(text, number) for number, text in enumerate(texts))]


def one_by_one(pieces, dialect, **options):
    """The response of a folder that is fed."""
    folder = SourceFolder(dialect, **options)
    try:
        for piece in pieces:
            folder.feed(piece, events=False)
    except LimitExceeded as breach:
        return breach.response
    return folder.close()


def folded(pieces, dialect, **options):
    try:
        return chunkfold.fold(iter(pieces), dialect, **options)
    except LimitExceeded as breach:
        return breach.response


def assert_same(pieces, dialect, **options):
    expected = slowly(one_by_one, pieces, dialect, **options)
    assert folded(pieces, dialect, **options) == expected
    assert one_by_one(pieces, dialect, **options) == expected


# What may stand in the place of a piece that is like the others.
ODD = [
    lambda piece: piece[:-1],
    lambda piece: piece + piece,
    lambda piece: piece.replace(b"word", b"wo\nrd"),
    lambda piece: piece.replace(b"word", b'wo"rd'),
    lambda piece: piece.replace(b"word", b'w","d'),
    lambda piece: piece.replace(b"word", b"wo\\"),
    lambda piece: piece.replace(b"word", b"\\ud83d"),
    lambda piece: piece.replace(b"word", b"\\ude00"),
    lambda piece: piece.replace(b"word", b"\xe6\xbc"),
    lambda piece: piece.replace(b"word", b"\xa2"),
    lambda piece: piece.replace(b'"word "', b'""'),
    lambda piece: piece.replace(b'"word "', b"null"),
    lambda piece: piece.replace(b'"word "', b'["word "]'),
    lambda piece: piece.replace(b"}\n", b"},{}\n"),
    lambda piece: piece.replace(b"}\n", b"}\r"),
    lambda piece: piece.replace(b"{", b"[{", 1),
    lambda piece: piece.replace(b"index", b"indeks"),
    lambda piece: piece.replace(b'"c"', b'"d"'),
    lambda piece: b"",
    lambda piece: b"\n",
    lambda piece: b"data: [DONE]\n\n",
    bytearray,
    memoryview,
]


@pytest.mark.parametrize("frame", FRAMES)
@given(data=st.data())
def test_a_piece_among_others_that_is_not_like_them_changes_nothing(frame, data):
    rng = random.Random(data.draw(st.integers(0, 1 << 32)))
    texts = rng.choices(["word ", "word ", *WORDS], k=rng.choice([60, COUNT]))
    pieces = pieces_of(frame, texts)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(len(pieces))
        pieces[at] = rng.choice(ODD)(bytes(pieces[at]))
        if rng.random() < 0.5 and at + 1 < len(pieces):
            pieces[at + 1] = rng.choice(ODD)(bytes(pieces[at + 1]))
    if rng.random() < 0.3:
        at = rng.randrange(len(pieces))
        pieces[at:at] = pieces_of(rng.choice(FRAMES), texts[:40])
    assert_same(pieces, DIALECTS.get(frame, "openai-chat"))


def cut_across(pieces, rng):
    """The same bytes in pieces that begin and end elsewhere."""
    body, at, cut = b"".join(pieces), 0, []
    while at < len(body):
        size = rng.choice([len(pieces[-1]), len(pieces[-1]), 3, 1000])
        cut.append(body[at : at + size])
        at += size
    return cut


@pytest.mark.parametrize("frame", FRAMES)
def test_pieces_that_are_no_whole_frames_change_nothing(frame):
    rng = random.Random(1)
    dialect = DIALECTS.get(frame, "openai-chat")
    for _ in range(6):
        pieces = pieces_of(frame, ["word "] * COUNT)
        at = rng.randrange(len(pieces))
        assert_same(pieces[:at] + cut_across(pieces[at:], rng), dialect)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize(
    "options",
    [
        {"limits": Limits(parts=1, json_depth=9)},
        {"limits": Limits(frame_bytes=400)},
        {"limits": Limits(stream_bytes=20_000)},
        {"policy": Policy(late_deltas="drop", choices="first")},
        {"split_think_tags": True},
    ],
    ids=str,
)
def test_options_change_nothing(frame, options):
    rng = random.Random(2)
    assert_same(pieces_of(frame, rng.choices(WORDS, k=COUNT)), DIALECTS.get(frame, "openai-chat"), **options)


def test_many_are_taken_at_once(monkeypatch):
    """Else the tests above compare one thing with itself."""
    taken = {}

    def spied(kind):
        take = kind.take_many

        def spy(self, *args):
            count = take(self, *args)
            taken[kind] = taken.get(kind, 0) + count
            return count

        return spy

    for kind in (Edges, Counted, Shape):
        monkeypatch.setattr(kind, "take_many", spied(kind))
    shaped = ((obfuscated, Shape), (kept, Shape), (told_again, Shape))
    for frame, kind in ((chat, Edges), (anthropic, Edges), (numbered, Counted), *shaped):
        taken.clear()
        chunkfold.fold(iter(pieces_of(frame, ["word "] * COUNT)), DIALECTS.get(frame, "openai-chat"))
        assert taken.get(kind, 0) > COUNT / 2, frame


class Broken(Exception):
    pass


@pytest.mark.parametrize("error", [Broken, KeyboardInterrupt])
@pytest.mark.parametrize("frame", FRAMES)
def test_what_came_before_an_exception_is_folded(frame, error):
    dialect = DIALECTS.get(frame, "openai-chat")
    for count in (1, 5, 40, 41, 57, 300):
        pieces = pieces_of(frame, ["word "] * count)
        yielded = []

        def source(pieces=pieces, yielded=yielded):
            for piece in pieces:
                yielded.append(piece)
                yield piece
            raise error("gone")

        if error is Broken:
            response = chunkfold.fold(source(), dialect)
            assert response.text + response.reasoning == "word " * count
            assert (response.error.type, response.error.origin, response.ended) == ("Broken", "transport", "error")
        else:
            with pytest.raises(KeyboardInterrupt):
                chunkfold.fold(source(), dialect)
        assert len(yielded) == len(pieces)


def test_a_source_that_has_failed_is_not_read_on():
    """Some iterators give more after an exception: what comes then belongs to nothing."""

    class Source:
        def __init__(self):
            self.pieces = iter(pieces_of(chat, ["word "] * 60))
            self.calls = 0

        def __iter__(self):
            return self

        def __next__(self):
            self.calls += 1
            if self.calls == 50:
                raise Broken
            return next(self.pieces)

    source = Source()
    assert chunkfold.fold(source, "openai-chat").text == "word " * 49
    assert source.calls == 50


def test_pieces_are_read_ahead_only_where_they_are_alike():
    """A source may use one buffer again, or be slow: what is read ahead waits for what comes."""
    ahead = []
    folder = SourceFolder("openai-chat")
    feed = folder.feed

    def source():
        for number, piece in enumerate(pieces_of(chat, ["word "] * 3)):
            ahead.append(number)
            yield piece

    reader = _reading.Reader(folder, source())
    for number in range(3):
        piece = reader.next(is_sure=number > 0)
        assert ahead == list(range(number + 1))
        feed(piece, events=False)
        reader.was_fed(piece)
        if folder.may_take_many:
            break
    with pytest.raises(StopIteration):
        reader.next(is_sure=True)
    assert folder.close().text == "word " * 3


def test_short_runs_are_not_read_ahead(monkeypatch):
    """What is read ahead in vain costs more than it would have saved."""
    tries = []
    take_many = SourceFolder.take_many
    monkeypatch.setattr(SourceFolder, "take_many", lambda *args: tries.append(1) or take_many(*args))
    run = [chat("word ", 0)] * 30 + [sse({"id": "c", "choices": []})]
    for alike, expected in ((8, True), (64, False)):
        monkeypatch.setattr(_reading, "_RUN", alike)
        tries.clear()
        assert chunkfold.fold(iter(run * 100), "openai-chat").text == "word " * 3000
        assert bool(tries) == expected


def test_what_tells_a_long_text_again_is_not_read_ahead(monkeypatch):
    """The last frames of Responses hold the whole text, each: they are not to be in memory beside each other."""
    monkeypatch.setattr(_reading, "_RUN", 64)
    monkeypatch.setattr(_reading, "_IN_ALL", 200_000)
    text = "word " * 20
    pieces = pieces_of(numbered, [text] * 5000)
    done = sse({"type": "response.output_text.done", "sequence_number": 5001, "item_id": "m", "output_index": 0,
                "content_index": 0, "text": text * 5000})  # fmt: skip
    ahead = []

    def source():
        for number, piece in enumerate([*pieces, done, done, done]):
            ahead.append(number)
            yield piece

    largest = []
    take_many = SourceFolder.take_many
    monkeypatch.setattr(SourceFolder, "take_many", lambda *args: largest.append(len(args[2])) or take_many(*args))
    assert chunkfold.fold(source(), "openai-responses").text == text * 5000
    assert ahead == list(range(5003))
    assert 200_000 < sum(largest) < 300_000
