"""Reads whose number rises by one: followed without decoding, and never further than they are what they seem."""

from __future__ import annotations

import json
import random
import re
from types import SimpleNamespace

import pytest

import chunkfold
from chunkfold.likeness import deltas
from chunkfold.likeness.counted import Counted, _spelled
from tests.laws import assert_templates_change_nothing
from tests.test_fast_equals_slow import frames_read_in_full, slowly


def event(kind, number, **fields):
    payload = {"type": f"response.{kind}", "sequence_number": number, **fields}
    return f"event: response.{kind}\ndata: {json.dumps(payload, ensure_ascii=False)}\n\n".encode()


def calls(count, deltas, rng=None, name="call%d"):
    """Calls whose deltas take turns."""
    rng = rng or random.Random(0)
    frames = [event("created", 0, response={"id": "r", "object": "response", "output": []})]
    for index in range(count):
        item = {"id": name % index, "type": "function_call", "call_id": f"c{index}", "name": "f", "arguments": ""}
        frames.append(event("output_item.added", len(frames), output_index=index, item=item))
    for _ in range(deltas):
        index = rng.randrange(count)
        text = rng.choice(["{", '"a"', ":1", "é", "\\", "100%", "\n", "漢"])
        where = {"item_id": name % index, "output_index": index}
        frames.append(event("function_call_arguments.delta", len(frames), **where, delta=text))
    return frames


def disturbed(frames, rng):
    """Some frames with what must not be taken for one more of the same."""
    out = []
    for frame in frames:
        how = rng.random()
        if how < 0.01:
            frame = frame.replace(b'"sequence_number": ', b'"sequence_number": 1')
        elif how < 0.02:
            out.append(frame)
        elif how < 0.03:
            continue
        elif how < 0.04:
            frame = frame.replace(b'"delta": ', b'"delta": "x", "delta": ')
        elif how < 0.05:
            frame = frame.replace(b"}\n\n", b', "sequence_number": 3}\n\n')
        elif how < 0.06:
            frame = frame.replace(b"}\n\n", b', "obfuscation": "abc"}\n\n')
        elif how < 0.07:
            frame = frame.replace(b"}\n\n", b"}\n\n" + frame)
        elif how < 0.08:
            frame = frame.replace(b'"delta": "', b'"delta": "\xff')
        elif how < 0.09:
            frame = frame.replace(b'"sequence_number": ', b'"sequence_number": 0')
        elif how < 0.1:
            frame = b": ping\n\n"
        elif how < 0.11:
            frame = frame.replace(b'"delta": "', b'"delta": "", "x": "')
        out.append(frame)
    return out


@pytest.mark.parametrize("count", [1, 2, 8])
@pytest.mark.parametrize("seed", range(6))
def test_numbered_reads_mean_the_same_fast_and_slow(seed, count):
    rng = random.Random(seed)
    frames = calls(count, 400, rng, rng.choice(["call%d", "%d", "call%09d%%s", "c" * 60 + "%d"]))
    assert_templates_change_nothing(frames, "openai-responses")
    assert_templates_change_nothing(disturbed(frames, rng), "openai-responses")
    options = {"limits": chunkfold.Limits(frame_bytes=len(frames[-1]))}
    assert_templates_change_nothing(frames, "openai-responses", **options)


@pytest.mark.parametrize("seed", range(4))
def test_item_ids_that_take_turns_at_one_index_are_one_call(seed):
    rng = random.Random(seed)
    frames = calls(rng.choice([1, 3]), 400, rng)
    frames = [
        frame.replace(b'"item_id": "call', b'"item_id": "%bcall' % rng.choice([b"a", b"bc"])) if at > 5 else frame
        for at, frame in enumerate(frames)
    ]
    assert_templates_change_nothing(frames, "openai-responses")


def test_more_reads_than_are_taken_in_one_go_mean_the_same():
    frames = calls(2, 3 * deltas.MANY)
    assert chunkfold.fold(iter(frames)) == slowly(chunkfold.fold, iter(frames))
    frames = calls(1, 2 * deltas.MANY + 70)
    assert chunkfold.fold(iter(frames)) == slowly(chunkfold.fold, iter(frames))


@pytest.mark.parametrize("count", [1, 8])
def test_an_error_of_the_source_amid_numbered_reads_loses_nothing(count):
    frames = calls(count, 300)

    def source():
        yield from frames
        raise ConnectionResetError

    whole, cut = chunkfold.fold(iter(frames)), chunkfold.fold(source())
    assert [call.raw_arguments for call in cut.tool_calls] == [call.raw_arguments for call in whole.tool_calls]


def test_numbered_reads_are_followed(monkeypatch):
    taken = []

    def spied(method):
        def spy(self, *args):
            try:
                return method(self, *args)
            finally:
                taken.append(len(self.texts))

        return spy

    monkeypatch.setattr(Counted, "follow", spied(Counted.follow))
    monkeypatch.setattr(Counted, "take_many", spied(Counted.take_many))
    for count in (1, 8):
        taken.clear()
        frames = calls(count, 1000)
        chunkfold.fold(iter(frames))
        assert sum(taken) > 800
        assert frames_read_in_full(frames, "openai-responses") < 60


@pytest.mark.parametrize("count", [1, 8])
def test_numbered_reads_are_known_from_the_first_of_each_part(count):
    frames = calls(count, 200)
    opening = 1 + count
    assert frames_read_in_full(frames, "openai-responses", events=False) == opening + count
    # Behind something else all is learned anew, as long as it was of use.
    amid = [event("in_progress", number, response={"id": "r"}) for number in range(3)]
    pieces = [frames[:100], frames[100:150], frames[150:]]
    broken = [*pieces[0], amid[0], *pieces[1], amid[1], *pieces[2]]
    for number, frame in enumerate(broken):
        at = frame.index(b'"sequence_number": ') + 19
        broken[number] = frame[:at] + b"%d" % number + frame[frame.index(b",", at) :]
    assert frames_read_in_full(broken, "openai-responses", events=False) <= opening + 2 + 3 * count
    assert_templates_change_nothing(broken, "openai-responses")


def numbered(number):
    """All that is asked of a shape."""
    return SimpleNamespace(number=number)


def test_what_varies_otherwise_is_given_up():
    frames = calls(1, 500)
    frames = [frame.replace(b'"item_id": "call0"', b'"item_id": "%d"' % at) for at, frame in enumerate(frames)]
    assert_templates_change_nothing(frames, "openai-responses")
    counted = Counted("n")
    for number in range(50):
        counted.learn(numbered(number), b"", b'{"n":%d,"id":%d,"text":' % (number, number), b"}", None)
    assert counted.is_worn
    counted = Counted("n")
    for first in (b'{"text":', b'{"n":7,"x":{"n":7},"text":', b'{"n":77,"text":'):
        counted.learn(numbered(7), b"", first, b"}", None)
        assert not counted.parts


def test_a_call_told_whole_after_its_ids_took_turns_is_confirmed():
    """Each delta counts once for what was told before, whichever of the two reads it was like."""
    frames = calls(1, 0)
    texts = [f"{number} " for number in range(300)]
    for number, text in enumerate(texts):
        where = {"item_id": "ab"[number % 2], "output_index": 0}
        frames.append(event("function_call_arguments.delta", len(frames), **where, delta=text))
    whole = "".join(texts)
    frames.append(event("function_call_arguments.done", len(frames), output_index=0, arguments=whole))
    assert_templates_change_nothing(frames, "openai-responses")
    folder = chunkfold.Folder("openai-responses")
    events = [type(one).__name__ for frame in frames for one in folder.feed(frame)]
    assert "PartReplace" not in events
    pulled = chunkfold.fold(iter(frames))
    assert pulled.tool_calls[0].raw_arguments == whole


def test_deltas_of_one_call_keep_their_order_where_its_ids_take_turns():
    frames = calls(1, 0)
    for number in range(3000):
        where = {"item_id": "ab"[number % 2], "output_index": 0}
        frames.append(event("function_call_arguments.delta", len(frames), **where, delta=f"{number} "))
    response = chunkfold.fold(frames)
    assert response.tool_calls[0].raw_arguments == "".join(f"{number} " for number in range(3000))


@pytest.mark.parametrize("delta", ["", '"', 'x","y', "a\\nb"], ids=["empty", "quote", "two", "escape"])
def test_what_is_no_delta_amid_calls_that_take_turns_is_read_as_it_is(delta):
    frames = calls(8, 2000)
    at = frames[1500].index(b'"delta": "') + 10
    frames[1500] = frames[1500][:at] + delta.encode() + b'"}\n\n'
    assert chunkfold.fold(frames) == slowly(chunkfold.fold, frames)


@pytest.mark.parametrize("number", [-3, 0, 7, 900, 990, 999, 1000, 1001, 1990, 9_950, 123_456, 999_990, 10**20])
def test_numbers_are_spelled_as_they_are(number):
    first, digits = _spelled(number, 64)
    assert [first + one for one in digits] == [str(one).encode() for one in range(number, number + 64)]


@pytest.mark.parametrize("seed", range(3))
def test_a_frame_that_comes_again_behind_one_without_a_number_is_not_taken_twice(seed):
    rng = random.Random(seed)
    frames, numbered = [], b""
    for frame in calls(2, 200, rng):
        if rng.random() < 0.5:
            frames.append(frame)
            numbered = frame
        else:
            frames.append(re.sub(rb'"sequence_number": \d+, ', b"", frame))
            frames += [numbered] if numbered and rng.random() < 0.1 else []
    assert_templates_change_nothing(frames, "openai-responses")


@pytest.mark.parametrize("place", [30, 640, 996, 999, 1000, 1003, 1500])
@pytest.mark.parametrize("count", [1, 8])
def test_a_frame_that_comes_again_amid_many_reads_is_not_taken_twice(place, count):
    frames = calls(count, 2000)
    once, twice = chunkfold.fold(frames), chunkfold.fold([*frames[: place + 1], *frames[place:]])
    assert sum(len(call.raw_arguments) for call in once.tool_calls) > 2000
    assert twice.tool_calls == once.tool_calls
    assert [note.kind for note in twice.diagnostics] == ["repeated_event", *(note.kind for note in once.diagnostics)]
