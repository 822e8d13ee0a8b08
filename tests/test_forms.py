"""The same payloads in other words: the order of keys, escapes, and what stands between and around them say nothing."""

from __future__ import annotations

import functools
import json
import random

import pytest

import chunkfold
from chunkfold.basis import _json
from tests.test_fast_equals_slow import STREAMS, payload_in, shuffled


def each_payload(frames, change):
    """The frames with their payloads written otherwise."""
    parts = [(frame, payload_in(frame)) for frame in frames]
    return [frame if found is None else change(*found) for frame, found in parts]


def is_sse(frames):
    return any(frame.startswith((b"data:", b"event:")) for frame in frames)


def other_order(frames, rng):
    return each_payload(
        frames, lambda before, payload, after: before + _json.encode(shuffled(payload, rng)).encode() + after
    )


def ascii_only(frames, rng):
    return each_payload(frames, lambda before, payload, after: before + json.dumps(payload).encode() + after)


def over_several_lines(frames, rng):
    """An event may have several `data` lines."""

    def change(before, payload, after):
        if before.rpartition(b"\n")[2].strip() != b"data:" or after.strip():
            return before + json.dumps(payload).encode() + after
        return before + json.dumps(payload, indent=1).encode().replace(b"\n", b"\ndata: ") + after

    return each_payload(frames, change)


def without_spaces(frames, rng):
    return [frame.replace(b"data: ", b"data:", 1) if frame.startswith(b"data: ") else frame for frame in frames]


def with_comments(frames, rng):
    if not is_sse(frames):
        return frames
    between = [b": ping\n\n", b":\n\n", b"\n", b": OPENROUTER PROCESSING\n\n", b"retry: 3000\n\n"]
    return [frame + rng.choice(between) if frame.endswith(b"\n\n") else frame for frame in frames]


def with_ids(frames, rng):
    return [b"id: %d\n" % number + frame if is_sse([frame]) else frame for number, frame in enumerate(frames)]


def with_crlf(frames, rng):
    return [frame.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n") for frame in frames]


def with_cr(frames, rng):
    return [frame.replace(b"\r\n", b"\n").replace(b"\n", b"\r") for frame in frames]


FORMS = [other_order, ascii_only, over_several_lines, without_spaces, with_comments, with_ids, with_crlf, with_cr]


def said(body, dialect):
    """What a response says; argument objects keep the text that they came with, which here is another one."""
    response = chunkfold.fold(body, dialect).to_dict()
    response.pop("diagnostics", None)
    for choice in response.get("choices", ()):
        for part in choice.get("parts", ()):
            if "raw_arguments" in part:
                part["raw_arguments"] = meant(part["raw_arguments"])
    return response


@functools.cache
def as_it_came(number):
    dialect, frames = STREAMS[number]
    return said(b"".join(frames), dialect)


def meant(text):
    try:
        return json.loads(text)
    except ValueError:
        return sorted("".join(text.split()))


def is_strict(body):
    """False for half a character, which cannot be written in another way."""
    return b"\\ud" not in body.lower()


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_payloads_says_nothing(form):
    tried = 0
    for number, (dialect, frames) in enumerate(STREAMS):
        body = b"".join(frames)
        if len(frames) <= 80 and is_strict(body):
            tried += 1
            changed = b"".join(form(frames, random.Random(number)))
            assert said(changed, dialect) == as_it_came(number), (form, number)
    assert tried > 300
