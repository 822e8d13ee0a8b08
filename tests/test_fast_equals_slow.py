"""
Reading every frame in full is the definition; templates, shapes and joined reads must mean the same.

Streams are cases, recordings and made ones, with the frames between their start and their end repeated and mutated:
other texts, other numbers, keys in another order, other types, padding, frames of other streams.
"""

from __future__ import annotations

import copy
import json
import os
import random
import struct
import subprocess
import sys
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chunkfold
from chunkfold import Decoder, Folder, LimitExceeded, Limits, Policy, dialects, likeness
from chunkfold.basis import _json
from chunkfold.likeness import deltas, edges, shapes, templates, untold
from chunkfold.likeness.shapes import Shape
from tests.helpers import CANONICAL, CORPUS, HERE, body_of, case_files, load_case
from tests.laws import assert_templates_change_nothing
from tests.streams import cut_at, cuts, made_streams, sse

SEEN = sorted(name for name in dialects.names() if dialects.get(name).delta_keys)


def framed(body: bytes) -> list[bytes]:
    """A body cut behind each blank line, or each line."""
    ends = b"\r\n\r\n" if b"\r\n\r\n" in body else b"\n\n" if b"\n\n" in body else b"\n"
    pieces = body.split(ends)
    return [piece + ends for piece in pieces[:-1]] + [piece for piece in pieces[-1:] if piece]


def cases():
    for path in case_files():
        case = load_case(path)
        if path.parent.name in SEEN and "max_seconds" not in case:
            yield path.parent.name, body_of(case)


def recordings():
    if not CORPUS.is_dir():
        return
    for path in sorted(CORPUS.glob("*/*/*")):
        name = CANONICAL.get(path.parts[-3], path.parts[-3])
        if path.suffix in (".sse", ".ndjson", ".bin") and name in SEEN and path.stat().st_size < 60_000:
            yield name, path.read_bytes()


STREAMS = [(name, framed(body)) for name, body in [*cases(), *recordings()] if b"data:" in body or b"\n{" in body]
BINARY = [(name, body) for name, body in [*recordings(), *cases()] if body[:1] == b"\x00"]


# Numbers shrink to nothing useful, but what they make is made again.
seeds = st.integers(0, 1 << 32).map(random.Random)


# Mutations of a frame


def payload_in(frame: bytes):
    """What a frame holds before its JSON, the JSON, and what comes after; `None` if there is none."""
    start = frame.find(b"{")
    end = frame.rfind(b"}") + 1
    if start < 0 or b"\n" in frame[start:end]:
        return None
    try:
        return frame[:start], json.loads(frame[start:end]), frame[end:]
    except (ValueError, RecursionError):
        return None


def shuffled(value, rng):
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def places_in(value):
    """Every container in *value* with a key or place in it."""
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield value, key
            yield from places_in(item)


KEYS = {key for name in SEEN for key in dialects.get(name).delta_keys}
TEXTS = ["x", " word", "", "é", '"', "\\", "\n", "漢", "0", "same", "<think>", "\u2028", "text", "assistant"]
OTHERS = [None, True, False, 0, 1, 1.0, 0.0, -1, "", "x", [], {}, [1], {"a": 1}, 1 << 70, 1e300]


def with_texts(payload, rng):
    for holder, key in list(places_in(payload)):
        if key in KEYS and isinstance(holder[key], str):
            holder[key] = rng.choice(TEXTS)


def with_numbers(payload, rng):
    for holder, key in list(places_in(payload)):
        if type(holder[key]) is int and isinstance(key, str) and key != "index":
            holder[key] += rng.choice([0, 0, 1, 1, 2, 7])


def with_other_value(payload, rng):
    holder, key = rng.choice([*places_in(payload)] or [({"a": 0}, "a")])
    value = holder[key]
    alike = {int: [float(value), str(value), bool(value)] if type(value) is int and abs(value) < 1e9 else []}
    holder[key] = copy.deepcopy(rng.choice(alike.get(type(value), []) + OTHERS))


def with_other_key(payload, rng):
    holders = [payload, *[holder[key] for holder, key in places_in(payload) if isinstance(holder[key], dict)]]
    holder = rng.choice(holders)
    if rng.random() < 0.5 and holder:
        del holder[rng.choice(list(holder))]
    else:
        key = rng.choice(["obfuscation", "p", "created", "id", "item_id", "sequence_number", "usage", "x", "index"])
        holder[key] = copy.deepcopy(rng.choice(OTHERS))


WRITERS = [{"separators": (",", ":"), "ensure_ascii": False}, {}, {"separators": (", ", ":")}]


def mutated(frames, rng, others):
    """The stream with its middle repeated, each frame a little otherwise."""
    head, tail = len(frames) // 3, len(frames) - len(frames) // 4
    middle = (frames[head:tail] or frames) * 40
    how = rng.sample(["texts", "numbers", "order", "value", "key", "repeat", "other", "padding", "writer"], 4)
    rare = rng.choice([0.03, 0.3])
    out = frames[:head]
    writer = rng.choice(WRITERS)
    for frame in middle[:120]:
        found = payload_in(frame)
        if found is None:
            out.append(frame)
            continue
        before, payload, after = found
        with_texts(payload, rng)
        if "numbers" in how:
            with_numbers(payload, rng)
        if "order" in how:
            payload = shuffled(payload, rng)
        if "value" in how and rng.random() < rare:
            with_other_value(payload, rng)
        if "key" in how and rng.random() < rare:
            with_other_key(payload, rng)
        padding = b" " * rng.randint(0, 3) if "padding" in how else b""
        options = rng.choice(WRITERS) if "writer" in how and rng.random() < rare else writer
        out.append(before + json.dumps(payload, **options).encode("utf-8", "replace") + padding + after)
        if "repeat" in how and rng.random() < rare:
            out.append(out[-1])
        if "other" in how and rng.random() < rare:
            out.append(rng.choice(rng.choice(others)[1] or [b"\n"]))
    return out + frames[tail:]


# Fast and slow


@given(st.sampled_from(STREAMS), seeds, cuts)
def test_mutated_streams_mean_the_same_fast_and_slow(stream, rng, places):
    dialect, frames = stream
    pieces = mutated(frames, rng, STREAMS)
    assert_templates_change_nothing(pieces, rng.choice([dialect, "auto"]))
    body = b"".join(pieces)
    assert_templates_change_nothing(cut_at(body, places), dialect)


@given(
    st.sampled_from(STREAMS),
    seeds,
    st.sampled_from(
        [
            {"limits": Limits(frame_bytes=300)},
            {"limits": Limits(stream_bytes=20_000)},
            {"limits": Limits(tool_calls=2, parts=9)},
            {"limits": Limits(json_depth=4)},
            {"split_think_tags": True},
            {"cumulative_deltas": True},
            {"policy": Policy(late_deltas="drop")},
            {"policy": Policy(choices="first")},
        ]
    ),
)
def test_options_mean_the_same_fast_and_slow(stream, rng, options):
    dialect, frames = stream
    options = {key: value for key, value in options.items() if key != "policy"} or options
    pieces = mutated(frames, rng, STREAMS)
    if "policy" in options:
        assert snapshots(pieces, dialect, **options) == slowly(snapshots, pieces, dialect, **options)
    else:
        assert_templates_change_nothing(pieces, dialect, **options)


@given(st.sampled_from(STREAMS), seeds, st.integers(1, 40))
def test_small_reads_mean_the_same_fast_and_slow(stream, rng, size):
    dialect, frames = stream
    body = b"".join(mutated(frames, rng, STREAMS))[:6000]
    assert_templates_change_nothing([body[at : at + size] for at in range(0, len(body), size)], dialect)


def slowly(run, *args, **options):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_IS_SLOW", True)
        return run(*args, **options)


def snapshots(pieces, dialect, **options):
    """What can be seen after each piece: with events, without, and of a saved folder."""
    folders = [Folder(dialect, **options), Folder(dialect, **options)]
    seen = []
    for number, piece in enumerate(pieces):
        try:
            for events, folder in zip((True, False), folders, strict=True):
                folder.feed(piece, events=events)
        except LimitExceeded as breach:
            return [*seen, str(breach)]
        if number % 7 == 3:
            seen.append([_json.decode(folder.snapshot().to_json().encode())[0] for folder in folders])
        if number % 50 == 33:
            folders[1] = Folder.restore(folders[1].save())
    seen.append([_json.decode(folder.close().to_json().encode())[0] for folder in folders])
    assert all(one == two for one, two in seen)
    return seen


@given(st.sampled_from(STREAMS), seeds)
def test_snapshots_in_between_are_the_same_fast_and_slow(stream, rng):
    dialect, frames = stream
    pieces = mutated(frames, rng, STREAMS)
    assert snapshots(pieces, dialect) == slowly(snapshots, pieces, dialect)


@given(made_streams, seeds)
def test_made_streams_mean_the_same_fast_and_slow(made, rng):
    assert_templates_change_nothing(mutated(made.frames, rng, STREAMS), made.dialect)


@pytest.mark.parametrize(("dialect", "body"), BINARY[:12])
def test_binary_streams_mean_the_same_fast_and_slow(dialect, body):
    for size in (len(body), 700, 64):
        assert_templates_change_nothing([body[at : at + size] for at in range(0, len(body), size)], dialect)


# Binary messages


def messages_in(body):
    """The headers and the payload of each message, the headers in digits, so that what mutates text can be used."""
    at, out = 0, []
    while at + 16 <= len(body):
        total, headers = struct.unpack_from(">II", body, at)
        out.append(body[at + 12 : at + 12 + headers].hex().encode() + b" " + body[at + 12 + headers : at + total - 4])
        at += total
    return out


def message(frame):
    """The message with these headers and that payload. Whatever else there is stays as it is."""
    digits, space, payload = frame.partition(b" ")
    try:
        block = bytes.fromhex(digits.decode() if space else "?")
    except ValueError:
        return frame
    head = struct.pack(">II", 16 + len(block) + len(payload), len(block))
    whole = head + struct.pack(">I", zlib.crc32(head)) + block + payload
    return whole + struct.pack(">I", zlib.crc32(whole))


def spoiled(message, rng):
    """The message with a bit of it turned, or without its end."""
    at = rng.choice([rng.randrange(len(message)), rng.randrange(12), len(message) - 1])
    return rng.choice([message[:at] + bytes([message[at] ^ 1 << rng.randrange(8)]) + message[at + 1 :], message[:at]])


def padded(frame, rng):
    """The frame with padding of another length, as Bedrock sends it."""
    found = payload_in(frame)
    if found is None or not isinstance(found[1], dict):
        return frame
    before, payload, after = found
    payload["p"] = "abcdefghijklmnopqrstuvwxyz"[: rng.randint(1, 26)]
    return before + json.dumps(payload, separators=(",", ":")).encode("utf-8", "replace") + after


MESSAGES = [(name, messages_in(body)) for name, body in BINARY]


@pytest.fixture
def _soon(monkeypatch):
    """What happens after many frames happens after a few."""
    monkeypatch.setattr(templates, "_NOW_AND_THEN", 5)
    for module in (deltas, edges, shapes, templates, untold):
        monkeypatch.setattr(module, "MANY", 7)


def mutated_messages(frames, rng):
    frames = mutated(frames, rng, [*MESSAGES, ("", [b"data: {}\n\n"])])
    if rng.random() < 0.7:
        frames = [padded(frame, rng) for frame in frames]
    out = [message(frame) for frame in frames]
    if rng.random() < 0.3:
        at = rng.randrange(len(out))
        out[at] = spoiled(out[at], rng)
    return out


@pytest.mark.usefixtures("_soon")
@given(st.sampled_from(MESSAGES), seeds, cuts)
def test_mutated_messages_mean_the_same_fast_and_slow(stream, rng, places):
    dialect, frames = stream
    pieces = mutated_messages(frames, rng)
    assert_templates_change_nothing(pieces, dialect)
    body = b"".join(pieces)
    assert_templates_change_nothing([body], "auto")
    assert_templates_change_nothing(cut_at(body, places), dialect)


@pytest.mark.usefixtures("_soon")
@given(st.sampled_from(MESSAGES), seeds, st.integers(1, 300))
def test_small_reads_of_messages_mean_the_same_fast_and_slow(stream, rng, size):
    dialect, frames = stream
    body = b"".join(mutated_messages(frames, rng))[: 50 * size]
    assert_templates_change_nothing([body[at : at + size] for at in range(0, len(body), size)], dialect)


@pytest.mark.usefixtures("_soon")
@given(
    st.sampled_from(MESSAGES),
    seeds,
    st.sampled_from(
        [
            {"limits": Limits(frame_bytes=250)},
            {"limits": Limits(stream_bytes=9_000)},
            {"limits": Limits(tool_calls=1, parts=3)},
            {"limits": Limits(json_depth=3)},
            {"split_think_tags": True},
            {"cumulative_deltas": True},
        ]
    ),
)
def test_options_for_messages_mean_the_same_fast_and_slow(stream, rng, options):
    dialect, frames = stream
    pieces = mutated_messages(frames, rng)
    assert_templates_change_nothing(pieces, dialect, **options)
    body = b"".join(pieces)
    assert_templates_change_nothing([body], dialect, **options)
    assert_templates_change_nothing([body[at : at + 100] for at in range(0, len(body), 100)], dialect, **options)


@pytest.mark.usefixtures("_soon")
@given(st.sampled_from(MESSAGES), seeds)
def test_snapshots_amid_messages_are_the_same_fast_and_slow(stream, rng):
    dialect, frames = stream
    pieces = mutated_messages(frames, rng)
    if rng.random() < 0.7:
        pieces = cut_at(b"".join(pieces), [rng.randrange(1 << 16) for _ in range(rng.choice([5, 60]))])
    options = rng.choice([{}, {"policy": Policy(late_deltas="drop", choices="first")}])
    assert snapshots(pieces, dialect, **options) == slowly(snapshots, pieces, dialect, **options)


def converse(name, **payload):
    header = b"".join(
        bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(value)) + value
        for key, value in ((b":event-type", name.encode()), (b":message-type", b"event"))
    )
    return message(header.hex().encode() + b" " + json.dumps(payload, separators=(",", ":")).encode())


def text_messages(count):
    return [
        converse("contentBlockDelta", contentBlockIndex=0, delta={"text": f"{n} "}, p="abcdefgh"[: 1 + n % 8])
        for n in range(count)
    ]


def call_messages(count, calls=8):
    starts = [{"toolUse": {"toolUseId": f"id{n}", "name": "f"}} for n in range(calls)]
    return [
        *[converse("contentBlockStart", contentBlockIndex=n, start=start) for n, start in enumerate(starts)],
        *[
            converse(
                "contentBlockDelta",
                contentBlockIndex=n % calls,
                delta={"toolUse": {"input": f"{n} "}},
                p="abc"[: 1 + n % 3],
            )
            for n in range(count)
        ],
    ]


@pytest.mark.parametrize("frames", [text_messages(3000), call_messages(3000)])
def test_messages_are_not_read_in_full(frames):
    """Else the tests above compare one thing with itself. The messages of a read are taken in one go."""
    assert frames_read_in_full(frames, "bedrock-converse") < 60
    assert frames_read_in_full([b"".join(frames)], "bedrock-converse", events=False) < 60
    assert slowly(frames_read_in_full, frames, "bedrock-converse") == len(frames)
    assert_templates_change_nothing(frames, "bedrock-converse")


def test_a_damaged_message_among_many_is_told_and_costs_nothing_before_it():
    frames = text_messages(900)
    for at in (1, 2, 12, 100, 101, 102, 200):
        bad = bytearray(frames[800])
        bad[-at % len(bad)] ^= 0x20
        body = b"".join([*frames[:800], bytes(bad), *frames[801:]])
        for pieces in ([body], [body[at : at + 1000] for at in range(0, len(body), 1000)]):
            response = chunkfold.fold(iter(pieces), "bedrock-converse")
            assert response.text == "".join(f"{n} " for n in range(800))
            assert response.error.type == "corrupt_frame"
            assert "CRC32 is" in response.error.message


def astray(index, text):
    """A delta to a call that never began, or one without text."""
    return converse("contentBlockDelta", contentBlockIndex=index, delta={"toolUse": {"input": text}}, p="ab")


@pytest.mark.parametrize(
    "other", [astray(99, "x"), astray(3, ""), astray(-1, "x"), converse("contentBlockStop", p="a")]
)
def test_a_message_that_belongs_elsewhere_among_many_is_read_in_full(other):
    frames = call_messages(2000)
    frames[1500:1500] = [other] * 3
    assert_templates_change_nothing([b"".join(frames)], "bedrock-converse")
    assert_templates_change_nothing(frames, "bedrock-converse")


def test_messages_that_are_thrown_away_are_counted():
    """A diagnostic tells the number of its frame."""
    thoughts = [
        converse(
            "contentBlockDelta",
            contentBlockIndex=0,
            delta={"reasoningContent": {"text": f"{n} "}},
            p="abc"[: 1 + n % 3],
        )
        for n in range(500)
    ]
    body = b"".join([*thoughts, message(b" {"), *text_messages(500), message(b" {")])
    for options in ({}, {"policy": Policy(reasoning="drop")}):
        fast = chunkfold.fold(body, "bedrock-converse", **options)
        assert [item.frame for item in fast.diagnostics] == [500, 1001]
        assert fast == slowly(chunkfold.fold, body, "bedrock-converse", **options)


def test_events_of_messages_come_with_the_byte_that_ends_them():
    def seen():
        loud, quiet = Folder("bedrock-converse"), Folder("bedrock-converse")
        for byte in b"".join(text_messages(30)):
            quiet.feed(bytes([byte]), events=False)
            yield loud.feed(bytes([byte])) and quiet.snapshot().text

    assert list(seen()) == slowly(lambda: list(seen()))


def test_what_came_in_messages_before_an_error_is_kept():
    """Messages are read ahead in passing; an error of the source must not take those with it that came before."""

    def source():
        yield from text_messages(700)
        raise ConnectionResetError("gone")

    response = chunkfold.fold(source())
    assert response.error.exception.args == ("gone",)
    assert response.text == "".join(f"{n} " for n in range(700))


@pytest.mark.parametrize("tail", [b'{"a":1}\n\n', b"\n", b"data: x\n\n", b'data: {"id":"a","choices":[]}\n\n'])
def test_a_read_that_only_ends_like_a_frame_is_no_frame(tail):
    """Between the known beginning and the known end of a read there must be one frame and not two."""
    frame = sse({"id": "a", "choices": [{"index": 0, "delta": {"content": "text"}}]})
    frames = [frame.replace(b"text", f"t{number}".encode()) for number in range(100)]
    assert_templates_change_nothing([*frames, frames[0] + tail, frames[1], tail + frames[2], *frames], "openai-chat")


# Small pieces are read ahead


def small_pieces(size=7):
    body = b"".join(chat(f"word {number}") for number in range(200))
    return [body[at : at + size] for at in range(0, len(body), size)]


@pytest.mark.parametrize("kept", [3, 100, 1000])
def test_what_came_in_small_pieces_before_an_error_is_kept(kept):
    """Pieces are joined in passing; an error of the source must not take those with it that came before."""
    pieces = small_pieces()[:kept]

    def source():
        yield from pieces
        raise ConnectionResetError("gone")

    response = chunkfold.fold(source())
    assert response.error.exception.args == ("gone",)
    assert response.text == chunkfold.fold(b"".join(pieces)).text
    assert list(chunkfold.fold(iter(pieces)).parts) == list(response.parts)


def test_small_pieces_may_be_of_several_types():
    pieces = small_pieces()
    mixed = [bytearray(piece) if number % 5 == 4 else piece for number, piece in enumerate(pieces)]
    assert chunkfold.fold(iter(mixed)) == chunkfold.fold(b"".join(pieces))
    with pytest.raises(TypeError):
        chunkfold.fold(iter([*pieces, {"choices": []}]))


def events_of(pieces):
    decoder = Decoder("openai-chat")
    return [decoder.feed(piece) for piece in pieces] + [decoder.close()]


def test_events_of_small_pieces_come_with_the_piece_that_ends_them():
    """The beginning of an event is kept back, but never its end."""
    body = b"".join(chat(f"word {number}") for number in range(9)) + b": ping\nevent: error\ndata: oops\n\n"
    for end in (b"\n", b"\r\n", b"\r"):
        pieces = [bytes([byte]) for byte in body.replace(b"\n", end)]
        assert events_of(pieces) == slowly(events_of, pieces)


# The fast ways are taken, and can be turned off


def frames_read_in_full(frames, dialect="openai-chat", events=True):
    """How many of *frames* were read in full."""
    read = []
    folder = Folder(dialect)
    spoken = type(folder._decoder._payloads.dialect)
    original = spoken.decode

    def decode(self, payload, frame):
        read.append(1)
        original(self, payload, frame)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spoken, "decode", decode)
        for frame in frames:
            folder.feed(frame, events=events)
    return len(read)


def chat(text, **more):
    return sse({"id": "a", "choices": [{"index": 0, "delta": {"content": text}}], **more})


def test_templates_are_used():
    """Else the tests above compare one thing with itself."""
    assert frames_read_in_full([chat(f"word {number}") for number in range(100)]) <= 3


def test_shapes_are_used():
    rng = random.Random(1)
    payloads = [
        {"id": "a", "created": n, "choices": [{"index": 0, "delta": {"content": f"{n} "}}]} for n in range(1, 101)
    ]
    assert frames_read_in_full([sse(shuffled(payload, rng)) for payload in payloads]) <= 16
    assert slowly(frames_read_in_full, [sse(payload) for payload in payloads]) == 100


def test_templates_are_made_anew_when_a_time_changes(monkeypatch):
    """A `created` that changes once a second is worth a template for each second, but no reading in full."""
    found = []
    fit = Shape.fit
    monkeypatch.setattr(Shape, "fit", lambda self, *args: found.append(1) or fit(self, *args))
    frames = [chat(f"word {number}", created=1764400000 + number // 20) for number in range(1000)]
    assert frames_read_in_full(frames) <= 16
    assert len(found) <= 60


def test_a_shape_tells_types_apart():
    payload = {"choices": [{"index": 1, "delta": {"content": "a"}, "x": 1.0, "y": True}]}
    shape = Shape(payload, "a", {"content": 0}, has_address=False)
    assert shape.read(json.dumps(payload).encode(), -1) == (None, "a")
    for key, value in (("index", True), ("index", 1.0), ("x", 1), ("x", True), ("y", 1), ("y", None)):
        other = json.loads(json.dumps(payload))
        other["choices"][0][key] = value
        assert shape.read(json.dumps(other).encode(), -1) is None, (key, value)


def detail(text, name="reasoning"):
    details = [{"type": "reasoning.text", "text": text, "format": "unknown", "index": 0}]
    return sse({"id": "a", "choices": [{"index": 0, "delta": {name: text, "reasoning_details": details}}]})


def block(kind, index, **more):
    return sse({"type": f"content_block_{kind}", "index": index, **more})


def late_streams():
    """Deltas to parts that have ended."""
    words = [f"word {number} " for number in range(40)]
    pairs = [(detail(word), chat(word)) for word in words]
    yield "openai-chat", [frame for pair in pairs for frame in pair]
    yield "openai-chat", [*map(detail, words[:20]), *map(chat, words), *map(detail, words)]
    for start, key in (
        ({"type": "text", "text": ""}, "text"),
        ({"type": "thinking", "thinking": ""}, "thinking"),
        ({"type": "tool_use", "id": "t", "name": "f", "input": {}}, "partial_json"),
    ):
        kind = {"partial_json": "input_json_delta"}.get(key, f"{key}_delta")
        head = [sse({"type": "message_start", "message": {"id": "m"}}), block("start", 0, content_block=start)]
        deltas = [block("delta", 0, delta={"type": kind, key: word}) for word in words]
        yield "anthropic-messages", [*head, *deltas[:9], block("stop", 0), *deltas, deltas[0]]


@pytest.mark.parametrize("late_deltas", ["keep", "drop"])
@pytest.mark.parametrize(("dialect", "frames"), list(late_streams()))
def test_deltas_to_parts_that_have_ended_mean_the_same_fast_and_slow(dialect, frames, late_deltas):
    assert_templates_change_nothing(frames, dialect)
    options = {"policy": Policy(late_deltas=late_deltas)}
    assert snapshots(frames, dialect, **options) == slowly(snapshots, frames, dialect, **options)


def test_reasoning_details_that_come_back_are_not_read_in_full():
    frames = [*map(detail, "abcd"), *[chat("e")] * 20, *[detail(f"{number}") for number in range(100)]]
    assert frames_read_in_full(frames) <= 16


def beside_call(text, **call):
    """A text, and of a call what has been told."""
    call = {"index": 0, "id": None, "function": {"name": None, "arguments": None}, **call}
    return sse({"id": "c", "choices": [{"index": 0, "delta": {"content": text, "tool_calls": [call]}}]})


@pytest.mark.parametrize(
    "again",
    [{}, {"id": ""}, {"id": "t"}, {"function": {"name": "f", "arguments": ""}}, {"function": {"arguments": "{}"}}],
    ids=str,
)
def test_text_beside_a_call_means_the_same_fast_and_slow(again):
    start = beside_call("a", id="t", function={"name": "f", "arguments": ""})
    frames = [start, *(beside_call("b", **again) for _ in range(40))]
    assert_templates_change_nothing(frames, "openai-chat")
    texts = [part.text for part in chunkfold.fold(iter(frames)).choices[0].parts if part.kind == "text"]
    interrupted = bool(again.get("function", {}).get("arguments"))
    assert texts == ["a", *(["b"] * 40 if interrupted else ["b" * 40])]


def numbered(text, token, place="delta", **more):
    """As Together sends: a field beside the text that says something new each time."""
    choice = {"index": 0, "delta": {"role": "assistant", "content": text}}
    (choice["delta"] if place == "delta" else choice)["token_id"] = token
    return sse({"id": "a", "choices": [choice], **more})


TOKENS = [*range(20), 7, 7, 7, 8, 8, 7, 0, 0, "", 1.5, 2, None, 3, True, 4, "x", "y", [], {"a": 1}, 2**70, -1, 1e300, 5]


@pytest.mark.parametrize("place", ["delta", "choice"])
def test_fields_that_are_kept_as_they_come_are_the_latest_fast_and_slow(place):
    """Of those that nobody reads in between only the last counts; whoever looks sees the latest."""
    for tokens in (TOKENS, TOKENS[::-1], [str(token) for token in TOKENS], [3] * 30 + TOKENS, list(range(200))):
        frames = [numbered(f"{place} ", token, place) for place, token in enumerate(tokens)]
        assert_templates_change_nothing(frames, "openai-chat")
        assert snapshots(frames, "openai-chat") == slowly(snapshots, frames, "openai-chat")


@given(st.lists(st.sampled_from([0, 1, 2, 3.5, "", "a", "b", None, "-"]), min_size=30, max_size=60), seeds)
def test_fields_that_come_and_go_mean_the_same_fast_and_slow(tokens, rng):
    frames = []
    for number, token in enumerate(tokens):
        usage = {"usage": {"prompt_tokens": 1, "completion_tokens": number}} if rng.random() < 0.5 else {}
        frame = (
            chat("x", **usage)
            if token == "-"
            else numbered("x", token, rng.choice(["delta", "delta", "choice"]), **usage)
        )
        frames += [frame] * rng.choice([1, 1, 1, 9])
    assert_templates_change_nothing(frames, "openai-chat")
    assert snapshots(frames, "openai-chat") == slowly(snapshots, frames, "openai-chat")


def test_fields_that_are_kept_as_they_come_need_no_full_reading():
    assert frames_read_in_full([numbered("word", token) for token in range(200)], events=False) <= 16
    # What the dialect knows may mean something else with another value.
    reasons = [*range(1, 30), 0, *range(1, 9), 0, 0, ""]
    frames = [sse({"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": n}]}) for n in reasons]
    assert_templates_change_nothing(frames, "openai-chat")


@pytest.mark.parametrize(("value", "is_off"), [("1", True), ("0", False), ("", False)])
def test_an_environment_variable_turns_the_fast_ways_off(value, is_off):
    """`CHUNKFOLD_SLOW=1` is for bisecting: if a result changes with it, one of the fast ways is wrong."""
    code = (
        "from tests.test_fast_equals_slow import chat, frames_read_in_full\n"
        "print(frames_read_in_full([chat(f'word {number}') for number in range(100)]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "CHUNKFOLD_SLOW": value},
        cwd=HERE.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (int(run.stdout) == 100) == is_off


def test_all_ways_give_what_fold_gives_when_the_fast_ways_are_off():
    frames = [chat(f"word {number}") for number in range(100)]
    assert slowly(chunkfold.fold, iter(frames)) == chunkfold.fold(iter(frames)) == chunkfold.fold(b"".join(frames))
