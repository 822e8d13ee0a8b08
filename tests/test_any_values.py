"""Any JSON may stand in the place of any value: nothing raises, and what was made can be written down."""

from __future__ import annotations

import copy
import random

import pytest

import chunkfold
from chunkfold.basis import _json
from tests.laws import assert_same_value
from tests.test_blank_fields import payloads_of
from tests.test_fast_equals_slow import STREAMS, payload_in

# Longer numbers than Python turns into text by itself.
HUGE = _json.decode(b"1" * 5000)[0]
VALUES = [HUGE, -HUGE, 1e308, {}, [], True, False, "", None, [[]], {"a": 1}, 0, -1, "word", [None], "1", 1.5]


def places_in(value):
    """Where something else can be put: each holder with each of its keys."""
    if isinstance(value, (dict, list)):
        for key, item in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from places_in(item)


def with_other_values(frames, rng):
    for frame, payload in zip(frames, payloads_of(frames), strict=True):
        if payload is None:
            yield frame
            continue
        changed = copy.deepcopy(payload)
        for holder, key in [place for place in places_in(changed) if rng.random() < 0.04]:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        before, _, after = payload_in(frame)
        yield before + _json.encode(changed).encode() + after


@pytest.mark.parametrize("dialect", sorted({dialect for dialect, _ in STREAMS}))
def test_any_value_may_be_any_other(dialect):
    for number, (spoken, frames) in enumerate(STREAMS):
        if spoken != dialect or len(frames) > 120:
            continue
        pieces = list(with_other_values(frames, random.Random(number)))
        for name in (dialect, "auto"):
            response = chunkfold.fold(iter(pieces), name)
            assert_same_value(response)
            if response.dialect is not None:
                assert isinstance(response.to_native(), (dict, list, str))
