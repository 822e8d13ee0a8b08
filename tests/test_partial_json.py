"""The incremental reader against a slow reference, `json.loads`, and examples thought out by hand."""

import gc
import json
import re
import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chunkfold.partial_json import UNSET, FieldDone, JSONFault, PartialJSON, StringPiece


class NotJSONError(Exception):
    def __init__(self, position):
        super().__init__(position)
        self.position = position


class Reference:
    """
    What *text* shows, taken as the beginning of a JSON text, or with `closed` as all of it.

    `value` is the value so far, `position` where the text is wrong, or None. Each `_read` method
    returns a value (UNSET if none is sure), the index behind it, and whether it is complete.
    """

    NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
    NUMBER_BEGINNING = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]*|(\.[0-9]+)?[eE][+-]?[0-9]*)?)?")
    LITERALS = {"true": True, "false": False, "null": None}

    def __init__(self, text, *, closed=False, unsure=False):
        self.unsure = unsure
        self.text = text
        self.position = None
        try:
            self.value = self._read_text(closed)
        except NotJSONError as error:
            self.position = error.position
            if error.position < len(text):
                self.value = Reference(text[: error.position], unsure=unsure).value

    def _read_text(self, closed):
        value, i, complete = self._read_value(self._space(0))
        i = self._space(i)
        self.value = value
        if i < len(self.text):
            raise NotJSONError(i)
        if closed and not complete:
            if not self.NUMBER.fullmatch(self.text.strip(" \t\n\r")):
                raise NotJSONError(i)
            return json.loads(self.text)
        return value

    def _space(self, i):
        while self.text[i : i + 1] in tuple(" \t\n\r"):
            i += 1
        return i

    def _read_value(self, i):
        c = self.text[i : i + 1]
        if c == "":
            return UNSET, i, False
        if c == "{":
            return self._read_object(i + 1)
        if c == "[":
            return self._read_array(i + 1)
        if c == '"':
            return self._read_string(i + 1)
        if c in "tfn":
            return self._read_literal(i)
        if c in "-0123456789":
            return self._read_number(i)
        raise NotJSONError(i)

    def _read_object(self, i):
        result = {}
        i = self._space(i)
        if self.text[i : i + 1] == "}":
            return result, i + 1, True
        while True:
            i = self._space(i)
            if i == len(self.text):
                return result, i, False
            if self.text[i] != '"':
                raise NotJSONError(i)
            key, i, complete = self._read_string(i + 1)
            i = self._space(i)
            if not complete or i == len(self.text):
                return result, i, False
            if self.text[i] != ":":
                raise NotJSONError(i)
            value, i, complete = self._read_value(self._space(i + 1))
            if value is not UNSET:
                result[key] = value
            i = self._space(i)
            if not complete or i == len(self.text):
                return result, i, False
            if self.text[i] == "}":
                return result, i + 1, True
            if self.text[i] != ",":
                raise NotJSONError(i)
            i += 1

    def _read_array(self, i):
        result = []
        i = self._space(i)
        if self.text[i : i + 1] == "]":
            return result, i + 1, True
        while True:
            value, i, complete = self._read_value(self._space(i))
            if value is not UNSET:
                result.append(value)
            i = self._space(i)
            if not complete or i == len(self.text):
                return result, i, False
            if self.text[i] == "]":
                return result, i + 1, True
            if self.text[i] != ",":
                raise NotJSONError(i)
            i += 1

    def _read_literal(self, i):
        for word, value in self.LITERALS.items():
            if word[0] == self.text[i]:
                for letter in word:
                    if i == len(self.text):
                        return value if self.unsure else UNSET, i, False
                    if self.text[i] != letter:
                        raise NotJSONError(i)
                    i += 1
                return value, i, True
        raise AssertionError

    def _read_number(self, i):
        end = i
        while end < len(self.text) and self.NUMBER_BEGINNING.fullmatch(self.text[i : end + 1]):
            end += 1
        so_far = self.NUMBER.match(self.text[i:end])
        if end == len(self.text):
            return json.loads(so_far[0]) if self.unsure and so_far else UNSET, end, False
        if so_far is None or so_far.end() < end - i:
            raise NotJSONError(end)
        return json.loads(so_far[0]), end, True

    def _read_string(self, i):
        units = []  # characters and escapes
        while i < len(self.text):
            c = self.text[i]
            if c == '"':
                return json.loads(f'"{"".join(units)}"'), i + 1, True
            if c < " ":
                raise NotJSONError(i)
            if c != "\\":
                units.append(c)
                i += 1
                continue
            size = 6 if self.text[i + 1 : i + 2] == "u" else 2
            escape = self.text[i : i + size]
            for at, letter in enumerate(escape):
                if letter not in ("\\", '"\\/bfnrtu', *["0123456789abcdefABCDEF"] * 4)[at]:
                    raise NotJSONError(i + at)
            i += len(escape)
            if len(escape) == size:
                units.append(escape)
        # The second half of a pair may still come.
        if units and re.match(r"\\u[dD][89abAB]", units[-1]):
            units.pop()
        return json.loads(f'"{"".join(units)}"'), i, False


def pieces_of(text, cuts):
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    return [text[a:b] for a, b in pairwise(edges)]


def read(pieces, **options):
    """The reader after all pieces and its end, with every event."""
    reader = PartialJSON(events=True, **options)
    events = []
    for piece in pieces:
        events += reader.feed(piece)
    events += reader.close()
    return reader, events


def joined(events):
    """The events with pieces of one string, which cutting multiplies, put together."""
    result = []
    for event in events:
        last = result[-1] if result else None
        if isinstance(event, StringPiece) and isinstance(last, StringPiece) and last.path == event.path:
            result[-1] = StringPiece(event.path, last.text + event.text)
        else:
            result.append(event)
    return result


def refuse(constant):
    raise ValueError(constant)


def verdict(text):
    try:
        return json.loads(text, parse_constant=refuse)
    except ValueError:
        return NotJSONError


def same(left, right):
    """Equal, of the same types and in the same order; `1`, `1.0` and `True` are not the same."""
    return repr(left) == repr(right)


# JSON texts: any value, with spaces, escapes and keys twice.

spaces = st.sampled_from(["", "", "", " ", "\n", "\t \r"])
characters = st.sampled_from(
    [
        *"ab {}[]:,/eE0tfn",
        *"é\xa0\u2028\u3000\u200d漢😀\x7f",
        *["\\n", '\\"', "\\\\", "\\/", "\\b", "\\f", "\\r", "\\t"],
        *["\\u0041", "\\u00e9", "\\u0000", "\\uFfFf"],
        *["\\ud83d\\ude00", "\\uD83D", "\\udBff", "\\ude00", "\\uDFFF"],
        *["\ud83d", "\ude00"],
    ]
)
strings = st.lists(characters, max_size=6).map(lambda parts: '"' + "".join(parts) + '"')
numbers = st.from_regex(Reference.NUMBER, fullmatch=True).filter(lambda text: len(text) < 30)
keys = st.one_of(st.sampled_from(['"a"', '"b"', '""']), strings)


def spaced(values):
    return st.tuples(spaces, values, spaces).map("".join)


def arrays(values):
    return st.lists(spaced(values), min_size=1, max_size=4).map(lambda items: f"[{','.join(items)}]")


def objects(values):
    members = st.tuples(spaced(keys), spaced(values)).map(":".join)
    return st.lists(members, min_size=1, max_size=4).map(lambda items: f"{{{','.join(items)}}}")


scalars = st.one_of(
    strings,
    numbers,
    st.sampled_from(["true", "false", "null", "0", "-0", "10", "1.5e3", "1e400", "[]", "{}", "[ ]", "{\n}"]),
)
json_texts = spaced(st.recursive(scalars, lambda values: st.one_of(arrays(values), objects(values)), max_leaves=12))

noise = st.text(alphabet='{}[]",: \n\\/u0018dD9eE+-.trufalsn\x01\x1féNI\ufeff٣', max_size=16)


@st.composite
def mutated_texts(draw):
    text = draw(json_texts)
    at = draw(st.integers(0, len(text)))
    gone = draw(st.integers(0, 2))
    return text[:at] + draw(noise.map(lambda extra: extra[:2])) + text[at + gone :]


any_texts = st.one_of(json_texts, mutated_texts(), noise)
cuts = st.lists(st.integers(0, 80), max_size=10)


@given(text=any_texts, unsure=st.booleans())
@settings(deadline=None)
@example(text='"\\ud83d\\u00"', unsure=False)
@example(text='{"a": 1, "b": 2, "a": [{"a": 3', unsure=False)
@example(text="-", unsure=True)
def test_after_every_prefix_the_value_is_the_one_of_the_reference(text, unsure):
    reader = PartialJSON(unsure=unsure)
    for end in range(len(text) + 1):
        expected = Reference(text[:end], unsure=unsure)
        assert same(reader.value, expected.value), text[:end]
        assert (reader.error and reader.error.position) == expected.position, text[:end]
        reader.feed(text[end : end + 1])
    reader.close()
    expected = Reference(text, closed=True, unsure=unsure)
    assert same(reader.value, expected.value)
    assert (reader.error and reader.error.position) == expected.position


@given(text=any_texts, cuts=cuts, unsure=st.booleans())
@settings(deadline=None)
def test_nothing_depends_on_where_the_text_is_cut(text, cuts, unsure):
    whole, whole_events = read([text], unsure=unsure)
    for pieces in (pieces_of(text, cuts), list(text)):
        reader, events = read(pieces, unsure=unsure)
        assert same(reader.value, whole.value)
        assert reader.error == whole.error
        assert reader.is_complete == whole.is_complete
        assert same(joined(events), joined(whole_events))


@given(text=any_texts)
@settings(deadline=None)
def test_the_verdict_and_the_value_are_those_of_json_loads(text):
    reader, _ = read([text])
    expected = verdict(text)
    assert (reader.error is not None) == (expected is NotJSONError)
    assert reader.is_complete == (expected is not NotJSONError)
    if expected is not NotJSONError:
        assert same(reader.value, expected)


@given(text=any_texts, cuts=cuts)
@settings(deadline=None)
def test_pieces_since_the_last_done_join_to_the_string_at_their_path(text, cuts):
    reader, events = read(pieces_of(text, cuts))
    open_path, so_far = None, ""
    for event in events:
        if isinstance(event, StringPiece):
            assert event.text
            assert open_path in (None, event.path)
            open_path, so_far = event.path, so_far + event.text
        else:
            if isinstance(event.value, str):
                assert same(so_far, event.value)
                assert open_path in (None, event.path)
            else:
                assert open_path is None
            open_path, so_far = None, ""
    if open_path is not None:
        shown = reader.value
        for step in open_path:
            shown = shown[step]
        assert same(shown, so_far)


def nodes(value, path=()):
    if isinstance(value, dict | list):
        for step, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from nodes(child, (*path, step))
    yield path, value


@given(text=json_texts)
@settings(deadline=None)
def test_every_value_is_told_done_once_children_first_and_the_root_last(text):
    def unique(pairs):
        names = [name for name, _ in pairs]
        return dict(pairs) if len(names) == len(set(names)) else refuse(names)

    try:
        value = json.loads(text, object_pairs_hook=unique)
    except ValueError:
        return
    _, events = read(text)
    assert same([(event.path, event.value) for event in events if isinstance(event, FieldDone)], list(nodes(value)))


@given(text=any_texts, unsure=st.booleans())
@settings(deadline=None)
def test_a_value_handed_out_never_changes(text, unsure):
    reader = PartialJSON(unsure=unsure)
    kept = []
    for c in text:
        reader.feed(c)
        value = reader.value
        kept.append((value, repr(value)))
    reader.close()
    kept.append((reader.value, repr(reader.value)))
    assert [repr(value) for value, _ in kept] == [then for _, then in kept]


@given(text=any_texts, looks=st.sets(st.integers(0, 80)))
@settings(deadline=None)
def test_looking_changes_nothing(text, looks):
    reader = PartialJSON()
    for i, c in enumerate(text):
        reader.feed(c)
        if i in looks:
            _ = reader.value
    reader.close()
    assert same(reader.value, read([text])[0].value)


EXAMPLES = [
    ("", UNSET),
    (" ", UNSET),
    ("{", {}),
    ('{"', {}),
    ('{"a', {}),
    ('{"a"', {}),
    ('{"a":', {}),
    ('{"a": "', {"a": ""}),
    ('{"a": "x', {"a": "x"}),
    ('{"a": "x"', {"a": "x"}),
    ('{"a": "x", "b', {"a": "x"}),
    ('{"a": [', {"a": []}),
    ('{"a": [{', {"a": [{}]}),
    ('{"a": [{"b": "c', {"a": [{"b": "c"}]}),
    ('{"a": [{"b": "c"}, ', {"a": [{"b": "c"}]}),
    ('{"a": 1', {}),
    ('{"a": 10', {}),
    ('{"a": 10 ', {"a": 10}),
    ('{"a": 10,', {"a": 10}),
    ('{"a": 10}', {"a": 10}),
    ('{"a": tru', {}),
    ('{"a": true', {"a": True}),
    ('{"a": null', {"a": None}),
    ('{"a": 1, "a": "', {"a": ""}),
    ('{"a": 1, "a": 2', {"a": 1}),
    ('{"a": 1, "b": 2, "a": [3, [', {"a": [3, []], "b": 2}),
    ("[", []),
    ("[1", []),
    ("[1,", [1]),
    ("[1, 2", [1]),
    ("[1, 2]", [1, 2]),
    ("[[],[[", [[], [[]]]),
    ('"', ""),
    ('"a', "a"),
    ('"a\\', "a"),
    ('"a\\n', "a\n"),
    ('"a\\u', "a"),
    ('"a\\u12', "a"),
    ('"a\\u00e', "a"),
    ('"a\\u00e9', "aé"),
    ('"a\\ud83d', "a"),
    ('"a\\ud83d\\', "a"),
    ('"a\\ud83d\\ude0', "a"),
    ('"a\\ud83d\\ude00', "a😀"),
    ('"a\\ud83db', "a\ud83db"),
    ('"a\\ud83d\\n', "a\ud83d\n"),
    ('"a\\ud83d"', "a\ud83d"),
    ('"a\\ud83d\\ud83d', "a\ud83d"),
    ('"a\\ud83d\\ud83d\\ude00', "a\ud83d😀"),
    ('"a\\ud83d\\u0041', "a\ud83dA"),
    ('"a\\ude00', "a\ude00"),
    ("12", UNSET),
    ("12 ", 12),
    ("-1.5e3\n", -1500.0),
    ("t", UNSET),
    ("true", True),
]


@pytest.mark.parametrize(("text", "expected"), EXAMPLES)
def test_value_after_a_prefix(text, expected):
    reader = PartialJSON()
    reader.feed(text)
    assert same(reader.value, expected)
    assert reader.error is None
    assert same(Reference(text).value, expected)


UNSURE = [
    ("-", UNSET),
    ("1", 1),
    ("10", 10),
    ("-0", 0),
    ("10.", 10),
    ("10.5", 10.5),
    ("10.5e", 10.5),
    ("10.5e-", 10.5),
    ("10.5e-1", 1.05),
    ("1e400", float("inf")),
    ("t", True),
    ("fals", False),
    ("n", None),
    ('{"a": 1', {"a": 1}),
    ('{"a": 1, "a": 2', {"a": 2}),
    ('{"a": -', {}),
    ("[1, 2", [1, 2]),
    ("[nul", [None]),
    ('["\\ud83d', [""]),
]


@pytest.mark.parametrize(("text", "expected"), UNSURE)
def test_unsure_shows_what_may_yet_change(text, expected):
    reader = PartialJSON(unsure=True)
    for c in text:
        reader.feed(c)
    assert same(reader.value, expected)
    assert same(Reference(text, unsure=True).value, expected)


WRONG = [
    ("", 0, UNSET, "the text is empty"),
    (" ", 1, UNSET, "the text ends too early"),
    ("{", 1, {}, "the text ends too early"),
    ('{"a": 1', 7, {}, "the text ends too early"),
    ("-", 1, UNSET, "the text ends too early"),
    ("1.", 2, UNSET, "the text ends too early"),
    ("01", 1, UNSET, "expected nothing more"),
    ("[01]", 2, [], "expected ',' or ']'"),
    ("1.x", 2, UNSET, "expected a digit"),
    ("+1", 0, UNSET, "expected a value"),
    ("[1.]", 3, [], "expected a digit"),
    ("[1}", 2, [], "expected ',' or ']'"),
    ("[1 }", 3, [1], "expected ',' or ']'"),
    ("1,", 1, UNSET, "expected nothing more"),
    ("1 1", 2, 1, "expected nothing more"),
    ("{}]", 2, {}, "expected nothing more"),
    ("[1,]", 3, [1], "expected a value"),
    ("[,", 1, [], "expected a value or ']'"),
    ('{"a":1,}', 7, {"a": 1}, "expected a key in double quotes"),
    ("{a", 1, {}, "expected a key in double quotes or '}'"),
    ("{]", 1, {}, "expected a key in double quotes or '}'"),
    ('{"a" 1', 5, {}, "expected ':'"),
    ('{"a":}', 5, {}, "expected a value"),
    ('{"a":1 "b"', 7, {"a": 1}, "expected ',' or '}'"),
    ("trux", 3, UNSET, "expected 'e'"),
    ("truex", 4, True, "expected nothing more"),
    ("[nil]", 2, [], "expected 'ull'"),
    ("NaN", 0, UNSET, "expected a value"),
    ("-Infinity", 1, UNSET, "expected a digit"),
    ("\ufeff1", 0, UNSET, "expected a value"),
    ('"a\nb"', 2, "a", "control character in a string"),
    ('"a\\x"', 3, "a", "no such escape"),
    ('"a\\u1g', 5, "a", "expected a hexadecimal digit"),
    ('"a\\ud83d\x00', 8, "a", "control character in a string"),
    ('"a\\ud83d\\q', 9, "a", "no such escape"),
    ("[٣]", 1, [], "expected a value or ']'"),
    ("[\xa01]", 1, [], "expected a value or ']'"),
]


@pytest.mark.parametrize(("text", "position", "value", "reason"), WRONG)
def test_a_wrong_text_is_wrong_at_the_first_character_that_cannot_follow(text, position, value, reason):
    for pieces in ([text], list(text), [*text, "1", '"']) if position < len(text) else ([text], list(text)):
        reader, _ = read(pieces)
        assert reader.error == JSONFault(position, reason)
        assert same(reader.value, value)
        assert not reader.is_complete
    assert verdict(text) is NotJSONError


def test_a_fault_reads_as_a_sentence():
    assert str(read(["[1,]"])[0].error) == "expected a value at character 3"


def test_an_error_shows_at_its_character_and_what_came_before_it_is_told():
    reader = PartialJSON(events=True)
    events = reader.feed('{"a": "xy\x01 and more"}')
    assert events == [StringPiece(("a",), "xy")]
    assert reader.error == JSONFault(9, "control character in a string")
    assert reader.feed('"}') == ()
    assert reader.close() == ()
    assert reader.value == {"a": "xy"}
    assert reader.error == JSONFault(9, "control character in a string")


def test_after_the_end_nothing_may_be_fed():
    for text in ("{}", "{", "}"):
        reader, _ = read([text])
        with pytest.raises(ValueError, match="after close"):
            reader.feed("")
        with pytest.raises(ValueError, match="after close"):
            reader.feed("x")
        assert reader.close() == ()


def test_offset_counts_what_was_fed_also_after_an_error():
    reader = PartialJSON()
    for text, offset in (('{"', 2), ("ab", 4), ('": 1}', 9), ("x", 10), ("yz", 12)):
        reader.feed(text)
        assert reader.offset == offset
    reader = PartialJSON()
    reader.feed("12")
    reader.close()
    assert reader.offset == 2


def test_a_whole_text_is_complete_before_it_is_closed():
    reader = PartialJSON()
    shown = []
    for c in '["a"] ':
        shown.append(reader.is_complete)
        reader.feed(c)
    assert shown == [False] * 5 + [True]
    assert reader.is_complete
    reader.close()
    assert reader.is_complete


def test_a_number_alone_is_complete_only_at_the_end():
    reader = PartialJSON(events=True)
    assert reader.feed("10") == []
    assert reader.value is UNSET
    assert not reader.is_complete
    assert reader.close() == [FieldDone((), 10)]
    assert reader.value == 10
    assert reader.is_complete
    assert reader.error is None


def test_pieces_and_completions_carry_their_paths():
    reader = PartialJSON(events=True)
    text = '{"path": "a.py", "edits": [{"line": 12, "new_text": "x = \\"1\\"\\n"}, null], "": []}'
    events = []
    for piece in pieces_of(text, range(0, 100, 7)):
        events += reader.feed(piece)
    assert joined(events) == [
        StringPiece(("path",), "a.py"),
        FieldDone(("path",), "a.py"),
        FieldDone(("edits", 0, "line"), 12),
        StringPiece(("edits", 0, "new_text"), 'x = "1"\n'),
        FieldDone(("edits", 0, "new_text"), 'x = "1"\n'),
        FieldDone(("edits", 0), {"line": 12, "new_text": 'x = "1"\n'}),
        FieldDone(("edits", 1), None),
        FieldDone(("edits",), [{"line": 12, "new_text": 'x = "1"\n'}, None]),
        FieldDone(("",), []),
        FieldDone((), json.loads(text)),
    ]


def test_a_string_gives_one_piece_for_each_piece_of_text():
    reader = PartialJSON(events=True)
    assert reader.feed('["ab') == [StringPiece((0,), "ab")]
    assert list(reader.feed("")) == []
    assert reader.feed("cd") == [StringPiece((0,), "cd")]
    assert reader.feed("e\\nf\xa0g\\") == [StringPiece((0,), "e\nf\xa0g")]
    assert reader.feed("u00") == []
    assert reader.feed('41h"') == [StringPiece((0,), "Ah"), FieldDone((0,), "abcde\nf\xa0gAh")]
    assert reader.feed(', "') == []
    assert reader.feed('"') == [FieldDone((1,), "")]


def test_held_back_text_comes_with_what_decides_it():
    reader = PartialJSON(events=True)
    assert reader.feed('"a\\ud83d') == [StringPiece((), "a")]
    assert reader.feed("\\ude") == []
    assert reader.feed("00") == [StringPiece((), "😀")]
    assert reader.feed("\\ud83d") == []
    assert reader.feed("z") == [StringPiece((), "\ud83dz")]
    assert reader.feed("\\ud83d") == []
    assert reader.feed('"') == [StringPiece((), "\ud83d"), FieldDone((), "a😀\ud83dz\ud83d")]


def test_keys_give_no_pieces():
    reader = PartialJSON(events=True)
    events = [event for c in '{"a\\nb": {"c"  :"d"}}' for event in reader.feed(c)]
    assert events[0] == StringPiece(("a\nb", "c"), "d")


def test_a_key_that_comes_twice_is_told_twice():
    _, events = read(['{"a": "x", "a": "yz", "a": [1]}'])
    assert events == [
        StringPiece(("a",), "x"),
        FieldDone(("a",), "x"),
        StringPiece(("a",), "yz"),
        FieldDone(("a",), "yz"),
        FieldDone(("a", 0), 1),
        FieldDone(("a",), [1]),
        FieldDone((), {"a": [1]}),
    ]


def test_events_can_be_made_by_other_functions():
    reader = PartialJSON(events=(lambda path, text: ("piece", path, text), lambda path, value: ("done", path, value)))
    assert reader.feed('["a') == [("piece", (0,), "a")]
    assert reader.feed("b") == [("piece", (0,), "b")]
    assert reader.feed('"]') == [("done", (0,), "ab"), ("done", (), ["ab"])]


def test_without_events_nothing_is_told():
    reader = PartialJSON()
    assert [event for c in '{"a": ["b", 1]} ' for event in reader.feed(c)] == []
    assert list(reader.close()) == []


def test_finished_containers_are_shared_and_open_ones_are_not():
    reader = PartialJSON()
    reader.feed('[{"a": 1}, {"b": "x')
    first = reader.value
    reader.feed("y")
    second = reader.value
    assert (first, second) == ([{"a": 1}, {"b": "x"}], [{"a": 1}, {"b": "xy"}])
    assert first[0] is second[0]
    assert first[1] is not second[1]


def test_without_news_the_same_value_is_handed_out():
    reader = PartialJSON()
    reader.feed('[{"a": "x')
    assert reader.value is reader.value
    reader.feed("")
    assert reader.value is reader.value


@pytest.mark.parametrize("digits", [599, 600, 601, 1200, 1201, 1801, 4300, 4301, 50_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_integers_of_any_length_are_exact(digits, sign):
    text = "1234567890" * (digits // 10) + "123456789"[: digits % 10]
    value = 0
    for start in range(0, digits, 100):
        block = text[start : start + 100]
        value = value * 10 ** len(block) + int(block)
    reader, _ = read(pieces_of(f"[{sign}{text}]", range(0, digits, 777)), unsure=True)
    assert reader.value == [-value if sign else value]
    reader = PartialJSON(unsure=True)
    reader.feed(sign + text)
    assert reader.value == (-value if sign else value)


@pytest.mark.parametrize("text", ["1e400", "-1e400", "1e-400", "-0", "-0.0", "0e0", "1E+2", "0.1", "1" * 400 + ".5"])
def test_floats_are_those_of_json_loads(text):
    assert same(read([text])[0].value, json.loads(text))


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":[0,'])
def test_one_container_more_than_allowed_is_an_error_at_its_bracket(opening):
    text = opening * 4
    brackets = [match.start() for match in re.finditer(r"[{\[]", text)]
    for depth, position in enumerate(brackets):
        for pieces in ([text], list(text)):
            reader, _ = read(pieces, depth=depth)
            assert reader.error == JSONFault(position, f"more than {depth} objects and arrays open")
    assert read([text], depth=len(brackets))[0].error.reason == "the text ends too early"


def test_the_default_depth_is_512_and_counts_open_containers_only():
    assert read(["[" * 512 + "]" * 512])[0].error is None
    assert read(["[" * 513 + "]" * 513])[0].error.position == 512
    assert read(["[" + "[]," * 1000 + "{}]"])[0].error is None


@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_a_text_of_any_depth_is_read_and_freed_without_recursion(opening):
    deep = 100_000
    reader, other = PartialJSON(), PartialJSON()
    reader.feed(opening * deep)
    for c in opening * 1000:
        other.feed(c)
    assert reader.error.position == other.error.position == 512 * len(opening)
    assert reader.value == other.value

    reader = PartialJSON(depth=deep)
    reader.feed(opening * deep)
    value = reader.value
    count = 0
    while value:
        value = value[0] if opening == "[" else value["a"]
        count += 1
    assert count == deep - 1
    kept = reader.value
    reader.close()
    del reader, value
    gc.collect()
    del kept


def objects_text(size):
    return "[" + ",".join('{"line": 1234, "op": "insert", "text": "some text, \\n é"}' for _ in range(size // 50)) + "]"


def feed_in_fives(text):
    reader = PartialJSON(events=True)
    for i in range(0, len(text), 5):
        reader.feed(text[i : i + 5])
    assert reader.error is None


def feed_whole(text):
    reader = PartialJSON()
    reader.feed(text)
    assert reader.error is None


def feed_in_fives_and_look_at_the_string(text):
    reader = PartialJSON()
    for i in range(0, len(text), 5):
        reader.feed(text[i : i + 5])
        _ = reader.value
    assert reader.error is None


WORK = [
    (feed_in_fives, objects_text),
    (feed_in_fives, lambda size: '"' + "x" * size),
    (feed_in_fives, lambda size: '"' + "\\n" * (size // 2)),
    (feed_in_fives, lambda size: "1" * size),
    (feed_in_fives, lambda size: " " * size),
    (feed_whole, objects_text),
    (feed_whole, lambda size: '"' + "\\n" * (size // 2)),
    (feed_whole, lambda size: '"' + '\\"\xa0' * (size // 3)),
    (feed_whole, lambda size: "[" + '"\\n",' * (size // 5)),
    (feed_in_fives_and_look_at_the_string, lambda size: '"' + "x" * size),
]


@pytest.mark.parametrize(("work", "make"), WORK)
def test_four_times_the_text_costs_about_four_times_as_much(work, make):
    """Measured against itself, so that no clock speed matters. Quadratic work would cost sixteen times as much."""

    def cost(text):
        best = float("inf")
        for _ in range(4):
            start = time.thread_time()
            work(text)
            best = min(best, time.thread_time() - start)
        return best

    small, large = make(25_000), make(100_000)
    assert min(cost(large) / cost(small) for _ in range(2)) < 11
