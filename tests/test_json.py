"""JSON in and out: what a server sends is taken as it can be understood, what a model wrote is taken strictly."""

from __future__ import annotations

import json
import time
from decimal import Decimal
from unittest import mock

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chunkfold.basis import _json
from chunkfold.basis._json import NotJSON, TooDeep

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4)
)


# Reading leniently


@given(values)
def test_what_is_json_is_read_as_it_is(value):
    text = json.dumps(value).encode()
    read, forgiven = _json.decode(text)
    assert read == value
    assert forgiven in (None, "lenient_json")


@pytest.mark.parametrize(
    ("text", "value", "forgiven"),
    [
        (b'{"a": "\xff"}', {"a": "\ufffd"}, "invalid_utf8"),
        (b'{"a": 1} tail', {"a": 1}, "trailing_garbage"),
        (b'{"a": 1}}', {"a": 1}, "trailing_garbage"),
        (b'{"a": 1}{"b": 2', {"a": 1}, "trailing_garbage"),
        (b'{"a": 1} {}', {"a": 1}, "trailing_garbage"),
        (b'[1]{"b": 2}', [1], "trailing_garbage"),
        (b'{"a": 1}{"b": 2}', [{"a": 1}, {"b": 2}], "glued_objects"),
        (b'{"a": 1}data: {"b": 2} data:{"c": 3} rest', [{"a": 1}, {"b": 2}, {"c": 3}], "glued_objects"),
        (b'{"a": 1}data: {"b": 2} data:{"c": 3} [DONE]', [{"a": 1}, {"b": 2}, {"c": 3}], "glued_end"),
        (b'{"a": 1}data: [DONE]', {"a": 1}, "glued_end"),
        (rb'{"a": 1}\n\ndata: {"b": 2}\n\ndata: [DONE]\n\n', [{"a": 1}, {"b": 2}], "glued_end"),
        (rb'{"a": 1}\r\n{"b": 2}\r\n', [{"a": 1}, {"b": 2}], "glued_objects"),
        (b'{"x": 1, "chdata: {"a": 1}', {"a": 1}, "broken_objects"),
        (b'{"x": "amid a textdata: {"a": 1}', {"a": 1}, "broken_objects"),
        (b'{"x": {"y": [1, data:{ "a": 1}data: {"b": 2}', [{"a": 1}, {"b": 2}], "broken_objects"),
        (b'{"a": 1}data: {"x": "chdata: {"b": 2}', [{"a": 1}, {"b": 2}], "broken_objects"),
        (b'{"a": 1} rest data: {"b": 2}', [{"a": 1}, {"b": 2}], "broken_objects"),
        (b'{"x": "chdata: {"a": 1}data: [DONE]', {"a": 1}, "broken_end"),
        (b'{"x": "chdata: {"a": 1}data: {"b', {"a": 1}, "broken_objects"),
        (b'"\\ud800"', "\ud800", "lenient_json"),
        (b'{"a": "x\ny"}', {"a": "x\ny"}, "lenient_json"),
        (b"[NaN, -Infinity]", ["NaN", "-Infinity"], "lenient_json"),
        (b"1e400", Decimal("1e400"), "lenient_json"),
        (b'{"a": 1, "a": 2}', {"a": 2}, None),
        (b" \n[1]\t", [1], None),
    ],
)
def test_what_is_nearly_json_is_read_and_it_is_said_what_was_forgiven(text, value, forgiven):
    assert _json.decode(text) == (value, forgiven)


def test_integers_of_any_length_are_exact():
    digits = b"9" * 5000
    assert _json.decode(digits)[0] == 10**5000 - 1
    assert _json.decode(b"-" + digits)[0] == 1 - 10**5000


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"hello",
        b"'a'",
        b'{"a":',
        b"{a: 1}",
        b"]",
        b"\xff",
        b'{{"a": 1}',
        b'{"x": data: {}',
        rb'{"x": "data: {\"a\": 1}',
        b'x data: {"a": 1}',
        rb'\n{"a": 1}',
    ],
)
def test_what_is_no_json_is_said_to_be_none(text):
    with pytest.raises(NotJSON):
        _json.decode(text)


@pytest.mark.parametrize(
    "unit", [b'data: {"b', b'data: {"a": "', b'data: {"x":[', b"data: {   ", b'data: {"a":1}x', rb"\n"]
)
def test_what_breaks_off_time_and_again_costs_time_in_proportion(unit):
    """Where JSON cannot be read, the place in the text is counted from its beginning."""

    def seconds(size):
        data = b'{"x":1}' + unit * (size // len(unit))
        begun = time.process_time()
        _json.decode(data, None)
        return time.process_time() - begun

    assert min(seconds(80_000) for _ in range(2)) < 8 * 3 * max(min(seconds(10_000) for _ in range(3)), 1e-4)


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}")])
def test_the_depth_is_counted_exactly(opening, closing):
    def nested(depth):
        return opening * (depth - 1) + b"{}" + closing * (depth - 1)

    assert _json.decode(nested(20), 20)[1] is None
    with pytest.raises(TooDeep):
        _json.decode(nested(21), 20)
    with pytest.raises(TooDeep):
        _json.decode(nested(100_000))
    with pytest.raises(TooDeep) as caught:
        _json.decode(nested(100_000), None)
    assert caught.value.args == (100_000,)


def test_brackets_in_strings_are_no_depth():
    text = json.dumps({"a": "[" * 1000 + '"' + "{" * 1000, "b\\": '\\"[' * 100}).encode()
    assert _json.decode(text, 1)[1] is None


@given(values)
def test_the_depth_is_that_of_the_value(value):
    def depth(item):
        inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    text = json.dumps(value).encode()
    brackets = text.count(b"{") + text.count(b"[")
    assert _json._depth(text) == depth(value)
    assert [_json.is_deeper(text, than) for than in range(brackets + 1)] == [depth(value) > than for than in range(brackets + 1)]  # fmt: skip


@given(values, st.integers(1, 9))
def test_the_depth_is_the_same_where_ever_the_blocks_end_that_are_looked_at(value, block):
    text = json.dumps([value, '\\" [{', "\\\\"], ensure_ascii=False).encode()
    brackets = text.count(b"{") + text.count(b"[")
    with mock.patch.object(_json, "_BLOCK", len(text)):
        deep = [_json.is_deeper(text, than) for than in range(brackets)]
    with mock.patch.object(_json, "_BLOCK", block):
        assert [_json.is_deeper(text, than) for than in range(brackets)] == deep
        assert bytes(_json._encoded(text.decode())) == text


# Reading strictly


@given(values)
def test_arguments_that_are_json_are_read(value):
    text = json.dumps(value)
    assert _json.parse_arguments(text) == value
    assert _json.parse_arguments(f" {text}\n") == value


@pytest.mark.parametrize("text", ["", "NaN", "[Infinity]", "{'a': 1}", '{"a": 1,}', "{} x", "{}{}", '"a\nb"', "01", "+1", ".5", "\ufeff{}"])  # fmt: skip
def test_arguments_that_are_not_strictly_json_are_refused(text):
    with pytest.raises(ValueError, match=r"."):
        _json.parse_arguments(text)


def test_arguments_may_hold_long_integers_large_exponents_and_halves_of_characters():
    assert _json.parse_arguments("7" * 5000) == int("7" * 2500) * 10**2500 + int("7" * 2500)
    assert _json.parse_arguments('"\\ud800"') == "\ud800"
    assert isinstance(_json.parse_arguments("[1e400]"), list)


# Writing


@given(values)
def test_what_was_written_reads_back(value):
    text = _json.encode(value)
    assert "\n" not in text
    assert json.loads(text) == value


odd = st.recursive(
    st.sampled_from(["long", "-long", "\ud800", Decimal("1e400"), Decimal("1.10"), None, True, 1.5, "é", -0.0]).map(lambda item: {"long": 10**5000, "-long": -(10**5000)}.get(item, item)) | st.text(st.characters(codec=None), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "\udc00", 'q"', "é"]), inner, max_size=3),
)  # fmt: skip


@given(odd)
def test_odd_values_that_were_written_read_back(value):
    def plain(item):
        if isinstance(item, Decimal):
            return float(item) if float(item) != float("inf") else item
        if isinstance(item, dict):
            return {key: plain(inner) for key, inner in item.items()}
        return [plain(inner) for inner in item] if isinstance(item, list) else item

    assert _json.decode(_json.encode(value).encode(), None)[0] == plain(value)


def test_what_json_has_no_word_for_is_written_as_text():
    class Thing:
        def __str__(self):
            return "thing"

    assert json.loads(_json.encode({"a": Thing(), "b": b"\x00", "c": (1, 2), 5: float("nan")})) == {
        "a": "thing",
        "b": "AA==",
        "c": [1, 2],
        "5": None,
    }
    assert _json.encode([msgspec.Raw(b"1.10"), "\ud800"]) == '[1.10,"\\ud800"]'


@pytest.mark.parametrize("depth", [10, 900, 5000])
def test_values_of_any_depth_are_written(depth):
    value = []
    for _ in range(depth):
        value = {"a": [value]}
    assert _json.encode(value) == '{"a":[' * depth + "[]" + "]}" * depth


# Exact text


def test_the_exact_text_at_a_path():
    document = b'{"a": [ {"b": 1.10}, {"b":{ "c" : 1.0 }} ], "d": "\xc3\xa9"}'
    assert _json.raw_at(document, "a", 0, "b") == "1.10"
    assert _json.raw_at(document, "a", 1, "b") == '{ "c" : 1.0 }'
    assert _json.raw_at(document, "d") == '"é"'
    for path in (("x",), ("a", 2), ("a", "b"), ("d", 0), ("a", 0, "b", "c")):
        assert _json.raw_at(document, *path) is None
    assert _json.raw_at(b"{broken", "a") is None


@pytest.mark.parametrize(
    "beside", [b"NaN", b'"\\ud800"', b'"\xff"', b"1e400", b"9" * 5000, b'"a\tb"', b'"\xe2\x82\xac"']
)
def test_the_exact_text_at_a_path_of_what_is_read_leniently(beside):
    document = b' {"x" : ' + beside + b', "a": [[], {"b": 0}, {"b": {"\\u0063": 1.10 , "c": 1.20}, "b": 2.0 }]} '
    assert _json.exact_at(document, "a", 2, "b") == "2.0"
    assert _json.exact_at(document, "a", 1) == '{"b": 0}'
    assert _json.exact_at(document, "a", 0) == "[]"
    for path in (("y",), ("a", 3), ("a", "b"), ("a", 0, 0), ("x", 0), ("a", 2, "b", "c")):
        assert _json.exact_at(document, *path) is None
    assert _json.exact_at(document[:-4], "a", 1) is None
    assert _json.exact_at(document * 2, "a", 1) is None
    assert _json.exact_at(document + b"data: [DONE]", "a", 1) is None


def test_exact_texts_of_what_is_read_leniently_cost_no_more_than_a_few_readings(monkeypatch):
    monkeypatch.setattr(_json, "_READ_AGAIN", _json._READ_AGAIN // 50)

    def seconds(count):
        document = b'{"x": NaN, "a": [' + b",".join([b'{"n": 1.10}'] * count) + b"]}"
        begun = time.process_time()
        found = {_json.exact_at(document, "a", place) for place in range(count)}
        assert found <= {'{"n": 1.10}', None}
        return time.process_time() - begun

    seconds(500)
    assert any(seconds(16_000) < 4 * seconds(1_000) for _ in range(3)), "each of many texts is looked for anew"


def test_what_is_no_json_keeps_its_exact_text_unless_nothing_but_escapes_are_missing():
    document = (
        b'{"a": {"n": NaN}, "b": {"n": "a\tb"}, "c": {"n": "\\ud83d", "m": 1.10}, "d": {"n": "\t", "m": Infinity}}'
    )
    assert _json.exact_at(document, "a") == '{"n": NaN}'
    assert _json.exact_at(document, "b") is None
    assert _json.exact_at(document, "c") == '{"n": "\\ud83d", "m": 1.10}'
    assert _json.exact_at(document, "d") == '{"n": "\t", "m": Infinity}'


def test_what_is_no_number_keeps_its_word_where_it_must_not_become_a_null():
    inf = float("inf")
    value = {"a": [float("nan"), (inf, -inf)], "b": None, "c": "null", "d": "\ud800"}
    assert _json.encode_exactly(value) == '{"a":[NaN,[Infinity,-Infinity]],"b":null,"c":"null","d":"\\ud800"}'
    assert _json.encode_exactly({"a": None, "b": 1.5}) == '{"a":null,"b":1.5}'


@pytest.mark.parametrize("text", ['{"a": 1.10, "a": 2}', " {} ", '{\n"a":\r\n1}', "", '{"a":"\ud83d"}'])
def test_verbatim_text_is_one_line_of_the_same_json(text):
    written = _json.encode({"arguments": _json.verbatim(text)})
    assert "\n" not in written
    assert "1.10" in written or "1.10" not in text
    assert json.loads(written)["arguments"] == json.loads(text or "{}", strict=False)


pieces = ['{"a":', "{", "}", "[", "]", '"', "\\", "\\u00", "\\ud83d", "\\x", "\\n", "1", "01", "1.", ".5", "1e", "e400", "-", "NaN", "true", "nul", ",", ":", " ", "\n", "\t", "\x00", "a", "é", "\ud800", "{}", '""', "\\/", "\x7f"]  # fmt: skip
mixes = st.lists(st.sampled_from(pieces), max_size=5).map("".join)


@given(mixes | mixes.map('{{"a":{}}}'.format) | mixes.map('{{"a":"{}"}}'.format) | mixes.map('{{"{}":1}}'.format))
def test_what_is_called_an_object_can_be_read_as_one(text):
    try:
        is_one = isinstance(_json.parse_arguments(text), dict)
    except ValueError:
        is_one = False
    assert _json.is_object(text) == is_one
