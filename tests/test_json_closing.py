"""JSON that was cut, closed."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunkfold import Policy
from chunkfold.basis._json_closing import closed
from chunkfold.partial_json import PartialJSON
from tests.systems.notation import A, F, S, fold
from tests.test_partial_json import any_texts, same


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", "{}"),
        ('{"a', "{}"),
        ('{"a": "x', '{"a": "x"}'),
        ('{"a": "x\\', '{"a": "x"}'),
        ('{"a": "x\\\\', '{"a": "x\\\\"}'),
        ('{"a": "x\\u00', '{"a": "x"}'),
        ('{"a": "\\ud83d', '{"a": ""}'),
        ('{"a": "\\\\ud83d', '{"a": "\\\\ud83d"}'),
        ('{"a": "\\ud83d\\ude00', '{"a": "\\ud83d\\ude00"}'),
        ('{"a": 1', "{}"),
        ('{"a": 1 ', '{"a": 1}'),
        ('{"a": true', '{"a": true}'),
        ('{"a": tru', "{}"),
        ('{"a": [1, {"b": "c"}, "d", ', '{"a": [1, {"b": "c"}, "d"]}'),
        ('{"a": {"b": 1}, "c": ', '{"a": {"b": 1}}'),
        ('["a", "b', '["a", "b"]'),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_closed(text, expected):
    assert closed(text) == expected


@given(any_texts, st.integers(0, 1 << 16))
def test_what_is_closed_is_what_was_sure(text, cut):
    beginning = text[: cut % (len(text) + 1)]
    reader = PartialJSON()
    reader.feed(beginning)
    if reader.error is None and isinstance(reader.value, (dict, list)):
        assert same(json.loads(closed(beginning)), reader.value)


@pytest.mark.parametrize("number", ["1e400", "1.10", "12345678901234567.123456789", "-0.0", "1" * 5000])
def test_repaired_arguments_are_as_they_were_written(number):
    text = f'{{"amount": {number}, "twice": 1, "twice": "\\u00e9", "path": "half'
    response = fold(Policy(unusable_arguments="repair"), S(0, "a", "f"), A(0, text), F("length"))
    assert response.tool_calls[0].raw_arguments == text + '"}'
