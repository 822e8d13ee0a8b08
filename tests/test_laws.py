"""The laws of the fold, on every case and on streams made by hypothesis."""

from __future__ import annotations

import itertools
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chunkfold
from chunkfold import Decoder, Folder, Limits, Policy, StreamAccumulator, dialects, events
from tests.helpers import body_of, case_files, cut, load_case
from tests.laws import (
    assert_honest,
    assert_laws,
    assert_orderly,
    assert_same_value,
    assert_templates_change_nothing,
    decode,
    fold,
    rebuild,
)
from tests.streams import broken, cut_at, cuts, made_streams, sse

CASES = [
    pytest.param(path.parent.name, load_case(path), id=f"{path.parent.name}/{path.stem}")
    for path in case_files()
    if path.parent.name in dialects.names() and "max_seconds" not in load_case(path)
]
BODIES = [(param.values[0], body_of(param.values[1])) for param in CASES]
every_case = pytest.mark.parametrize(("dialect", "case"), CASES)


def frames_of(body):
    """A body cut behind each line: fine enough to see every state, coarse enough for a test."""
    return [line for line in body.splitlines(keepends=True) if line] if b"\n" in body else cut(body, {"every": 40})


# Any cutting, and the events are enough


@every_case
def test_a_case_obeys_the_laws(dialect, case):
    body, options = body_of(case), case.get("options") or {}
    assert_laws(body, cut(body, "each-byte"), dialect, **options)
    assert_laws(body, frames_of(body), "auto", **options)


@given(made_streams, cuts, st.sampled_from([{}, {"split_think_tags": True}, {"cumulative_deltas": True}]))
def test_a_made_stream_obeys_the_laws(made, places, options):
    assert_laws(made.body, cut_at(made.body, places), made.dialect, **options)
    assert_laws(made.body, made.frames, **options)


@given(st.sampled_from(BODIES), cuts)
def test_a_case_cut_anywhere_gives_the_same_events_and_response(body, places):
    dialect, data = body
    assert decode(cut_at(data, places), dialect) == decode([data], dialect)
    assert fold(cut_at(data, places), dialect) == fold([data], dialect)


THINKING = [sse({"choices": [{"index": 0, "delta": delta}]}) for delta in (
    {"content": "a"}, {"content": "<think>"}, {"content": "</think>"}, {"content": "<th"}, {"reasoning_content": "r"},
    {"tool_calls": [{"index": 0, "id": "i", "function": {"name": "f", "arguments": "{}"}}]},
)]  # fmt: skip


@pytest.mark.parametrize("length", [1, 2, 3, 4])
def test_think_tags_and_other_parts_in_any_order_obey_the_laws(length):
    for frames in itertools.product(THINKING, repeat=length):
        told = decode(frames, "openai-chat", split_think_tags=True)
        assert_orderly(told)
        assert rebuild(told) == fold(frames, "openai-chat", split_think_tags=True)


@given(made_streams)
def test_a_made_stream_folds_to_what_it_was_made_of(made):
    response = fold(made.frames)
    assert response.dialect == made.dialect
    assert response.text == made.text
    assert response.reasoning == made.reasoning
    assert [(call.id, call.raw_arguments) for call in response.tool_calls] == made.calls
    assert response.error is None
    assert not response.truncated


@given(st.binary(max_size=400), cuts, st.sampled_from(["auto", "openai-chat", "anthropic-messages"]))
def test_any_bytes_obey_the_laws(data, places, dialect):
    assert_laws(data, cut_at(data, places), dialect)


@given(st.lists(st.sampled_from([b"data: ", b"event: error\n", b"{", b"}", b'"', b":", b"[", b"]", b"\n\n", b"\r", b"\n", b"error: x\n", b"[DONE]", b"<html>", b": ping\n", b'{"error":{"message":"m"}}', b'{"choices":[{"delta":{"content":"t"}}]}', b'{"type":"message_stop"}', b'{"detail":"d"}', b"hi\n"]), max_size=10).map(b"".join), cuts)  # fmt: skip
def test_scraps_of_streams_obey_the_laws(data, places):
    assert_laws(data, cut_at(data, places))


# Snapshots


def assert_extends(later, earlier):
    """*later* has everything that *earlier* has, and perhaps more."""
    for name in ("id", "model", "created", "dialect", "vendor", "usage"):
        if name != "usage" and getattr(earlier, name) is not None:
            assert getattr(later, name) == getattr(earlier, name)
    assert earlier.usage is None or later.usage is not None
    assert earlier.diagnostics == later.diagnostics[: len(earlier.diagnostics)]
    choices = {choice.index: choice for choice in later.choices}
    for choice in earlier.choices:
        grown = choices[choice.index]
        assert grown.logprobs[: len(choice.logprobs)] == choice.logprobs
        assert grown.annotations[: len(choice.annotations)] == choice.annotations
        assert len(grown.parts) >= len(choice.parts)
        for new, old in zip(grown.parts, choice.parts, strict=False):
            assert new.kind == old.kind
            assert getattr(new, "text", "").startswith(getattr(old, "text", ""))
            if old.kind.endswith("_call"):
                assert new.raw_arguments.startswith(old.raw_arguments)
                assert old.id in (None, new.id)
                assert (new.name is None) <= (old.name is None)


def check_snapshots(pieces, dialect):
    """Snapshots after each piece; the last one is the response."""
    folder = Folder(dialect)
    before = folder.snapshot()
    for piece in pieces:
        made = folder.feed(piece)
        snapshot = folder.snapshot()
        assert snapshot.ended is None
        assert not snapshot.truncated
        if not any(event.type in ("message_reset", "part_replace") for event in made):
            assert_extends(snapshot, before)
        assert_open_calls_cannot_be_run(snapshot)
        before = snapshot
    last = folder.finish()
    response = folder.close()
    if not any(event.type in ("message_reset", "part_replace") for event in last):
        assert_extends(response, before)
    assert response == fold(pieces, dialect)
    return response


def assert_open_calls_cannot_be_run(snapshot):
    for choice in snapshot.choices:
        for part in choice.parts:
            if part.kind == "tool_call" and part.status == "open":
                with pytest.raises(chunkfold.InvalidToolCall):
                    part.arguments  # noqa: B018


@every_case
def test_each_snapshot_of_a_case_extends_the_one_before(dialect, case):
    check_snapshots(frames_of(body_of(case)), dialect)


@given(made_streams)
def test_each_snapshot_of_a_made_stream_extends_the_one_before(made):
    check_snapshots(made.frames, made.dialect)


@given(made_streams, cuts)
def test_looking_at_snapshots_changes_nothing(made, places):
    pieces = cut_at(made.body, places)
    folder = Folder()
    snapshots = []
    for piece in pieces:
        folder.feed(piece)
        snapshots.append((folder.snapshot(), folder.snapshot().to_json()))
    assert folder.close() == fold(pieces)
    assert [snapshot.to_json() for snapshot, _ in snapshots] == [text for _, text in snapshots], "a snapshot changed"


@given(made_streams)
def test_a_call_without_its_own_end_is_open_until_the_stream_ends(made):
    folder = Folder()
    open_calls = set()
    for frame in made.frames:
        for event in folder.feed(frame):
            if event.type == "part_start" and event.kind == "tool_call":
                open_calls.add(event.index)
            elif event.type == "part_stop":
                open_calls.discard(event.index)
        parts = folder.snapshot().parts
        assert {at for at, part in enumerate(parts) if part.kind == "tool_call" and part.status == "open"} == open_calls
    assert all(call.status != "open" for call in folder.close().tool_calls)


# Values


@every_case
def test_every_value_of_a_case_survives_json_and_pickling(dialect, case):
    body = body_of(case)
    for value in values_of(fold([body], dialect)) + decode([body], dialect):
        assert_same_value(value) if not hasattr(value, "type") or value.type not in events.CLASSES else check_event(
            value
        )


def values_of(response):
    """A response and every public value in it."""
    found = [response, response.message, *response.choices, *response.diagnostics, *response.parts]
    return found + [value for value in (response.usage, response.error) if value is not None]


def check_event(event):
    assert events.event_from_json(event.to_json()) == event
    assert events.event_from_dict(event.to_dict()) == event
    assert_same_value(event)


@pytest.mark.parametrize(
    "value", [Limits(), Limits(None, 1, 2, None, 4), Policy(), chunkfold.Usage(), chunkfold.Message()]
)
def test_settings_and_empty_values_survive_json_and_pickling(value):
    assert_same_value(value)


# Truncation


@given(made_streams, st.data())
def test_a_stream_cut_before_its_finish_is_truncated_and_after_it_is_not(made, data):
    kept = data.draw(st.integers(0, len(made.frames)))
    response = fold(made.frames[:kept])
    assert response.truncated == (kept < made.ends_at)
    assert (response.ended == "clean") <= (kept == len(made.frames))
    assert made.text.startswith(response.text)
    assert made.reasoning.startswith(response.reasoning)
    if response.truncated:
        assert response.finish_reason is None
        with pytest.raises(chunkfold.IncompleteResponse):
            response.raise_if_incomplete()


@every_case
def test_a_case_cut_at_any_frame_says_so_unless_its_end_was_said(dialect, case):
    pieces = frames_of(body_of(case))
    for kept in range(len(pieces)):
        told = decode(pieces[:kept], dialect)
        response = fold(pieces[:kept], dialect)
        assert_honest(response, told)
        resets = [at for at, event in enumerate(told) if event.type == "message_reset"]
        valid = told[resets[-1] if resets else 0 :]
        errors = told if not resets or told[resets[-1]].reason != "attempt" else valid
        provider = any(event.type == "error" and event.error.origin == "provider" for event in errors)
        finished = {event.choice for event in valid if event.type == "finish"}
        done = (
            provider
            or response.ended == "clean"
            or (bool(finished) and finished >= {choice.index for choice in response.choices})
        )
        assert response.truncated == (not done)


@given(made_streams, st.data())
def test_a_stream_cut_at_any_byte_keeps_what_came_whole(made, data):
    body = made.body[: data.draw(st.integers(0, len(made.body)))]
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    whole = 0
    while len(b"".join(made.frames[: whole + 1])) <= len(body) and whole < len(made.frames):
        whole += 1
    least = fold(made.frames[:whole])
    assert response.text.startswith(least.text)
    assert made.text.startswith(response.text)
    assert made.reasoning.startswith(response.reasoning)
    assert response.error is None
    assert response.truncated >= (body.count(b"finish_reason") + body.count(b"stop_reason") == 0)


# The templates


@every_case
def test_templates_mean_what_reading_in_full_means_on_cases(dialect, case):
    for pieces in (frames_of(body_of(case)), [body_of(case)]):
        assert_templates_change_nothing(pieces, dialect)


# Frames that are alike but for a delta, and their neighbours that are not quite.
FIELDS = [
    '"content":{t}', '"content":{t},"role":"assistant"', '"content":"","reasoning_content":{t}', '"reasoning":{t},"reasoning_content":{t}',
    '"reasoning":{t},"reasoning_content":"same"', '"reasoning":"s\\u0061me","reasoning_content":{t}', '"refusal":{t}', '"content":"s\\u0061me","x":{{"content":{t}}}',
    '"tool_calls":[{{"index":0,"function":{{"arguments":{t}}}}}]', '"tool_calls":[{{"index":1,"function":{{"arguments":{t}}}}}]',
    '"tool_calls":[{{"index":0,"id":"i0","function":{{"name":"f","arguments":{t}}}}}]', '"tool_calls":[{{"index":1,"id":"i1","function":{{"name":{t},"arguments":"1"}}}}]',
    '"tool_calls":[{{"function":{{"name":"g","arguments":{t}}}}}]', '"content":{t},"content":{t}', '"content":{t},"content":"same"', '"content":"same","content":{t}',
    '"function_call":{{"name":"f","arguments":{t}}}', '"content":[{{"type":"text","text":{t}}}]', '"tool_calls":[{{"index":0,"function":{{"arguments":{{"content":{t}}}}}}}]',
]  # fmt: skip
SHELLS = [
    '{{"choices":[{{"index":0,"delta":{{{d}}}}}]}}', '{{"id":"a","choices":[{{"index":1,"delta":{{{d}}},"finish_reason":null}}],"usage":null}}',
    '{{"choices":[{{"index":0,"delta":{{{d}}},"finish_reason":"stop"}}]}}', '{{"choices":[{{"index":0,"message":{{{d}}}}}]}}',
    '{{"choices":[{{"index":0,"delta":{{{d}}}}}],"usage":{{"prompt_tokens":1}}}}', '{{"choices":[{{"index":0,"delta":{{{d}}}}}],"x":{{"content":"s\\u0061me"}}}}',
    '{{"choices":[{{"index":0,"delta":{{{d}}}}},{{"index":1,"delta":{{}}}}]}}', '{{"choices":[{{"delta":{{{d}}}}}],"error":{{"message":"m"}}}}',
]  # fmt: skip
BLOCKS = [
    '{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{t}}}}}', '{{"type":"content_block_delta","index":1,"delta":{{"type":"text_delta","text":{t}}}}}',
    '{{"type":"content_block_delta","index":2,"delta":{{"type":"input_json_delta","partial_json":{t}}}}}', '{{"type":"content_block_delta","index":3,"delta":{{"type":"input_json_delta","partial_json":{t}}}}}',
    '{{"type":"content_block_delta","index":0,"delta":{{"type":"thinking_delta","thinking":{t}}}}}', '{{"type":"content_block_delta","index":0,"delta":{{"type":{t},"text":"same"}}}}',
    '{{"type":"content_block_start","index":2,"content_block":{{"type":"tool_use","id":"a","name":"f","input":{{}}}}}}', '{{"type":"content_block_start","index":3,"content_block":{{"type":"tool_use","id":"b","name":"f","input":{{"text":{t}}}}}}}',
    '{{"type":"content_block_stop","index":2}}', '{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"s\\u0061me"}},"x":{{"text":{t}}}}}',
    '{{"type":"content_block_delta","index":0,"delta":{{"type":"citations_delta","citation":{{"text":{t}}}}}}}', '{{"type":"message_start","message":{{"id":"m"}}}}',
]  # fmt: skip
literals = st.sampled_from(
    ['"same"', '"other"', '""', '" "', '"\\n"', '"s\\u0061me"', '"\\ud83d"', '"\\ude00"', '"é"', '"{}"', '"text_delta"', "null", "1", "[]", '"a","b":"c"', '"a","b', 'c"', '"b\\"', '","d"', ' "same" ', '"<think>"', '"\\u2028"']
)  # fmt: skip
payloads = st.one_of(
    st.tuples(st.sampled_from(SHELLS), st.sampled_from(FIELDS), literals).map(
        lambda it: it[0].format(d=it[1].format(t=it[2]))
    ),
    st.tuples(st.sampled_from(BLOCKS), literals).map(lambda it: it[0].format(t=it[1])),
)


@st.composite
def alike_frames(draw):
    """Runs of frames from few shells, so that templates are learned, used and made void."""
    chat = draw(st.booleans())
    shells = draw(st.lists(st.sampled_from(SHELLS if chat else BLOCKS), min_size=1, max_size=3))
    if chat:
        fields = draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3))
        shells = [(shell, field) for shell in shells for field in fields]
    frames = []
    for _ in range(draw(st.integers(1, 14))):
        shell, literal = draw(st.sampled_from(shells)), draw(literals)
        text = shell[0].format(d=shell[1].format(t=literal)) if chat else shell.format(t=literal)
        frames.append(f"data: {text}\n\n".encode())
    return ("openai-chat" if chat else "anthropic-messages"), frames


OPTIONS = [{}, {}, {"split_think_tags": True}, {"cumulative_deltas": True}, {"limits": Limits(frame_bytes=150)}, {"limits": Limits(stream_bytes=900)}]  # fmt: skip


@given(alike_frames(), st.sampled_from(OPTIONS), cuts)
def test_templates_mean_what_reading_in_full_means(alike, options, places):
    dialect, frames = alike
    body = b"".join(frames)
    for pieces in (frames, [body], cut_at(body, places)):
        assert_templates_change_nothing(pieces, dialect, **options)


@settings(max_examples=settings.default.max_examples // 2)  # the dearest of all
@given(
    alike_frames(),
    alike_frames(),
    st.integers(2, 30),
    st.integers(2, 30),
    st.sampled_from([b"\n", b"\r\n", b"\r"]),
    cuts,
)
def test_templates_mean_what_reading_in_full_means_in_long_reads(one, other, times, again, end, places):
    """Many frames alike in one read, then others, then the first ones again."""
    dialect, frames = one
    body = b"".join(frames * times + other[1] * again + frames * times).replace(b"\n", end)
    assert_templates_change_nothing([body], dialect)
    assert_templates_change_nothing(cut_at(body, places), dialect)


@given(made_streams, st.randoms(use_true_random=False))
def test_templates_mean_what_reading_in_full_means_on_broken_streams(made, rng):
    body = broken(made.body, rng)
    assert_templates_change_nothing([piece + b"\n\n" for piece in body.split(b"\n\n")], made.dialect)


def test_most_frames_that_are_alike_are_not_read_in_full():
    """Else the tests above compare one thing with itself."""
    read = []
    dialect = dialects.get("openai-chat")
    with pytest.MonkeyPatch.context() as patch:
        decode_in_full = dialect.decode
        patch.setattr(dialect, "decode", lambda self, *rest: (read.append(1), decode_in_full(self, *rest))[1])
        decoder = Decoder("openai-chat")
        for number in range(100):
            decoder.feed(sse({"choices": [{"index": 0, "delta": {"content": f"word {number}"}}]}))
    assert len(read) < 20


# Memory


def test_a_decoder_keeps_nothing_of_what_it_has_handed_out():
    decoder = Decoder("openai-chat")
    frame = sse({"choices": [{"index": 0, "delta": {"content": "x" * 1000}}]})
    odd = sse({"choices": [{"index": 0, "delta": {"content": "x" * 1000}}], "n": None})
    for _ in range(100):
        Decoder("openai-chat").feed(frame + odd)  # what is imported on the way is not what it keeps
        decoder.feed(frame + odd)
    tracemalloc.start()
    try:
        for _ in range(2000):
            decoder.feed(frame + odd)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 100_000
    assert peak < 200_000


@pytest.mark.parametrize(
    "start", [b"data: ", b'{"a":"', b'[{"a":"', b'data: {"a":[\ndata: ', b": ", b"<html>", b'\xef\xbb\xbf{\n"a":"']
)
def test_memory_is_bounded_by_the_cap_of_a_frame(start):
    cap = 200_000
    decoder = Decoder(limits=Limits(frame_bytes=cap))
    piece = b"x" * 1000
    tracemalloc.start()
    try:
        decoder.feed(start)
        with pytest.raises(chunkfold.LimitExceeded) as caught:
            for _ in range(2 * cap // len(piece)):
                decoder.feed(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.limit == "frame_bytes"
    assert peak < 5 * cap


def test_payloads_that_wait_for_their_dialect_are_bounded_too():
    """Nothing ever tells the dialect: what waits must not grow with the stream."""
    decoder = Decoder(limits=Limits(frame_bytes=100_000))
    frame = sse({"x": "y" * 20_000})
    tracemalloc.start()
    try:
        told = [event for _ in range(2000) for event in decoder.feed(frame)]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4_000_000
    assert [event.diagnostic.kind for event in told] == ["held_too_much"]
    assert decoder.close()[-1].ended == "error"


# The accumulator alone


@given(made_streams)
def test_events_written_as_lines_of_json_are_a_journal(made):
    journal = "".join(event.to_json() + "\n" for event in decode(made.frames))
    accumulator = StreamAccumulator()
    for line in journal.split("\n")[:-1]:
        assert isinstance(json.loads(line), dict)
        accumulator.observe(events.event_from_json(line))
    assert accumulator.finalize() == fold(made.frames)


@given(made_streams)
def test_events_are_in_order(made):
    assert_orderly(decode(made.frames))
    kinds = [event.type for event in decode(made.frames)]
    assert kinds[0] == "message_start"
    assert kinds[-1] == "message_stop"
