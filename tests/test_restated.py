"""Frames that tell again, whole, what came in pieces."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import chunkfold
from chunkfold import Folder, likeness
from chunkfold.assembly._builders import PartBuilder
from chunkfold.basis import _restated
from tests.laws import assert_templates_change_nothing
from tests.streams import sse

ALPHABETS = ["a", "ab ", 'a"', "\\", "é", "漢字", "😀", "a\n", "\x00", "u\\", '😀\\"d', "\ud7ff\ue000", "\u2028 x"]

texts = st.builds(
    lambda alphabet, seed, size: "".join(random.Random(seed).choices(alphabet, k=size)),
    st.sampled_from([*ALPHABETS, "".join(ALPHABETS)]),
    st.integers(0, 99),
    st.integers(1, 3 * _restated.LONG),
)


@given(texts, st.booleans())
def test_a_long_string_that_is_known_is_that_object(text, ascii_only):
    data = json.dumps({"a": [1, {"b": text}], "c": "d"}, ensure_ascii=ascii_only).encode()
    value = _restated.read(data, ["x", text], 3)
    assert value == {"a": [1, {"b": text}], "c": "d"}
    literal = json.dumps(text, ensure_ascii=ascii_only).encode()
    assert value["a"][1]["b"] is text or len(literal) < _restated.LONG


@given(texts, st.integers(0, 1 << 30), st.booleans())
def test_a_long_string_that_is_not_known_is_read(text, place, ascii_only):
    at = place % len(text)
    for other in (text[:at] + "?" + text[at + 1 :], text[:at], text + "?"):
        data = json.dumps([other], ensure_ascii=ascii_only).encode()
        assert _restated.read(data, [text], 1) == [other]


@pytest.mark.parametrize("wrong", [b'["%b]', b'{"a":"%b",}', b'["%b\\ud83d"]', b'["%b\xff"]', b'["%b"] 1', b'["%b\n"]'])
def test_what_is_no_strict_json_is_refused(wrong):
    with pytest.raises((ValueError, UnicodeDecodeError)):
        _restated.read(wrong % (b"text " * _restated.LONG), ["text " * _restated.LONG], None)


@pytest.mark.parametrize(
    "form", ['{"a":[1,{"b":%s}]}', '{"a":[[[1]]],"b":%s}', '{"a":%s,"b":{"c":{"d":1}}}', '[[["%s"]]]']
)
def test_what_nests_too_deep_is_refused(form):
    text = "a{[" * _restated.LONG
    data = (form % json.dumps(text)).replace('""', '"').encode()
    depth = 4 if "[[[1" in form else 3
    for enough in (depth, depth + 1, 600, None):
        assert _restated.read(data, [text], enough) == json.loads(data)
    for little in range(depth):
        with pytest.raises(RecursionError):
            _restated.read(data, [text], little)


def responses(deltas, stated, *, rng=None, kind="text"):
    """A stream of OpenAI Responses in which *stated* is what the later events tell of the text."""
    number = iter(range(1 << 30))
    where = {"item_id": "m", "output_index": 0, "content_index": 0}

    def event(kind, **fields):
        return sse({"type": f"response.{kind}", "sequence_number": next(number), **fields})

    def item(text):
        if kind == "text":
            parts = [{"type": "output_text", "text": text, "annotations": []}]
            return {"id": "m", "type": "message", "role": "assistant", "content": parts}
        return {"id": "m", "type": "function_call", "call_id": "c", "name": "n", "arguments": text}

    delta, done = ("output_text.delta", "output_text.done") if kind == "text" else (f"{kind}.delta", f"{kind}.done")
    field = "text" if kind == "text" else "arguments"
    given_item = {**item(""), **({"content": []} if kind == "text" else {})}
    yield event("created", response={"id": "r", "object": "response", "output": []})
    yield event("output_item.added", output_index=0, item=given_item)
    for text in deltas:
        yield event(delta, **where, delta=text)
        if rng is not None and rng.random() < 0.01:
            yield event("in_progress", response={"id": "r"})
    yield event(done, **where, **{field: stated[0]})
    yield event("output_item.done", output_index=0, item=item(stated[1]))
    yield event(
        "completed", response={"id": "r", "object": "response", "status": "completed", "output": [item(stated[2])]}
    )


def words(seed, count):
    rng = random.Random(seed)
    return [
        rng.choice([" several words", " words", " é", "\n", ' "so to say"', "漢字", " 😀", "\\"]) for _ in range(count)
    ]


def restatements(text):
    changed = text[:9000] + "?" + text[9001:]
    return [text, text, text, changed, text[:-1], text + "?", text[:9000], "", changed[:9000] + "?" + text]


@pytest.mark.parametrize("kind", ["text", "function_call_arguments"])
@pytest.mark.parametrize("seed", range(4))
def test_long_texts_told_again_mean_the_same_fast_and_slow(kind, seed):
    rng = random.Random(seed)
    deltas = words(seed, rng.choice([2100, 5000, 7000]))
    stated = [rng.choice(restatements("".join(deltas))) for _ in range(3)]
    frames = list(responses(deltas, stated, rng=rng, kind=kind))
    assert_templates_change_nothing(frames, "openai-responses")
    body = b"".join(frames)
    size = rng.choice([100, 5000, 70_000])
    assert_templates_change_nothing([body[at : at + size] for at in range(0, len(body), size)], "openai-responses")
    folder = Folder("openai-responses")
    for number, frame in enumerate(frames):
        folder.feed(frame, events=False)
        if number % 1000 == 999 or number > len(frames) - 3:
            folder = Folder.restore(folder.save())
    assert folder.close() == chunkfold.fold(iter(frames), "openai-responses")


def test_a_text_told_again_is_not_made_again(monkeypatch):
    deltas = words(1, 7000)
    text = "".join(deltas)
    seen = []
    read = _restated.read

    def spy(data, texts, depth):
        value = read(data, texts, depth)
        if isinstance(value, str) and len(value) == len(text):
            seen.append(any(value is known for known in texts))
        return value

    monkeypatch.setattr(_restated, "read", spy)
    assert chunkfold.fold(responses(deltas, [text] * 3)).text == text
    assert seen == [True] * 3
    monkeypatch.setattr(likeness, "_IS_SLOW", True)
    assert chunkfold.fold(responses(deltas, [text] * 3)).text == text
    assert seen == [True] * 3


@pytest.mark.parametrize("kind", ["text", "function_call_arguments"])
def test_what_is_told_last_stands(kind):
    deltas = ["word "] * 5000
    text = "".join(deltas)
    for stated in restatements(text):
        response = chunkfold.fold(responses(deltas, [stated] * 3, kind=kind))
        got = response.text if kind == "text" else response.tool_calls[0].raw_arguments
        assert got == (stated or text)


def told_whole(kind="chat.completion.chunk", **message):
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": None}
    return sse({"id": "c", "object": kind, "choices": [choice]})


def delta(**said):
    return sse({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": said}]})


@pytest.mark.parametrize("kind", ["chat.completion.chunk", "chat.completion"])
@pytest.mark.parametrize(
    "first",
    [
        told_whole(reasoning_content="r"),
        delta(reasoning_content="r"),
        told_whole(odd="o"),
        told_whole("chat.completion", odd="o"),
    ],
)
def test_messages_that_are_told_whole_each_time_are_never_taken_for_deltas(first, kind):
    """The first text that is told fills an empty place, as a delta would; the next one stands instead of it."""
    frames = [first, *[told_whole(kind, content="so far")] * 5]
    assert chunkfold.fold(iter(frames)).text == "so far"
    assert_templates_change_nothing(frames)


def test_deltas_behind_a_whole_body_mean_the_same_fast_and_slow():
    frames = [told_whole("chat.completion", content="pong"), *[delta(content=f"Hi {number}") for number in range(9)]]
    assert_templates_change_nothing(frames)


def test_a_string_that_cannot_be_cut_is_read():
    text = "a" + "\\" * _restated.LONG
    assert _restated.read(json.dumps(text).encode(), [text], 0) == text


def test_many_long_frames_look_at_few_of_many_parts(monkeypatch):
    """Results of a search are long, and each stands between parts of its own."""
    looked = []
    size = PartBuilder.size
    monkeypatch.setattr(PartBuilder, "size", lambda part: looked.append(1) or size(part))
    content = [{"type": "web_search_result", "encrypted_content": "a" * _restated.LONG}]
    block = {"type": "web_search_tool_result", "tool_use_id": "t", "content": content}
    count = 300
    frames = [sse({"type": "message_start", "message": {"id": "m"}})]
    for index in range(count):
        frames += [
            sse({"type": "content_block_start", "index": index, "content_block": block}),
            sse({"type": "content_block_stop", "index": index}),
        ]
    assert len(chunkfold.fold(iter(frames), "anthropic-messages").choices[0].parts) == count
    assert count < len(looked) <= 40 * count
