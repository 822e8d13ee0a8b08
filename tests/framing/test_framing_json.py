"""Bare JSON: lines, documents, arrays of payloads, and what is none of them."""

import pytest
from framing_helpers import assert_frames, comment, cut, frames_of, stray

from chunkfold.framing import Frame, Framer


class TestLines:
    def test_each_line_is_a_frame_as_soon_as_it_ends(self):
        framer = Framer()
        assert framer.feed(b'{"a":1}\n{"b":') == [Frame(b'{"a":1}')]
        assert framer.feed(b"2}") == []
        assert framer.feed(b"\n") == [Frame(b'{"b":2}')]
        assert framer.framing == "ndjson"

    def test_the_last_line_needs_no_end(self):
        assert_frames(b'{"a":1}\r\n\n{"b":2}', b'{"a":1}', b'{"b":2}', framing="ndjson")

    def test_the_last_line_may_be_cut(self):
        assert_frames(b'{"a":1}\n{"b', b'{"a":1}', cut(b'{"b'))

    def test_values_on_one_line_are_frames_each(self):
        assert_frames(b'{"a":1}{"b":"}"} {"c":\n3}, {}\n', b'{"a":1}', b'{"b":"}"}', b'{"c":\n3}', b"{}")

    def test_a_line_may_begin_with_blanks(self):
        """As JSON allows them: in lines that were printed or copied out of something, or after spaces as keep-alive."""
        assert_frames(b'\t{"a":1}\n  {"b":2} \n\n  {"c":3}', b'{"a":1}', b'{"b":2}', b'{"c":3}', framing="ndjson")
        assert_frames(b'{"a":1}\n  {a}\n  "b": {}\n', b'{"a":1}', stray(b"  {a}"), stray(b'  "b": {}'))

    def test_text_after_a_value_is_stray(self):
        assert_frames(b'{"a":1} x\n', b'{"a":1}', stray(b"x"))

    def test_a_line_with_a_missing_bracket_does_not_swallow_the_next(self):
        assert_frames(b'{"a":{"b":1}\n{"c":2}\n{"d":3}\n', stray(b'{"a":{"b":1}'), b'{"c":2}', b'{"d":3}')

    def test_a_line_cut_inside_a_string_does_not_swallow_the_next(self):
        assert_frames(b'{"a":"x,\n{"c":2}\n', stray(b'{"a":"x,'), b'{"c":2}')

    def test_half_a_surrogate_pair_is_no_reason_to_doubt(self):
        assert_frames(b'{"a":"\\ud83d"}\n', b'{"a":"\\ud83d"}')

    def test_very_deep_json_is_a_frame(self):
        deep = b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"
        assert frames_of(deep + b"\n{}\n") == [Frame(deep), Frame(b"{}")]

    def test_an_sse_error_may_follow(self):
        assert_frames(
            b'{"a":1}\nevent: error\ndata: {"b":2}\n\n', b'{"a":1}', Frame(b'{"b":2}', "error"), framing="sse"
        )


class TestDocuments:
    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n\r\n"])
    def test_one_value_is_a_document(self, end):
        assert_frames(b' \r\n {"a":1}' + end, b'{"a":1}', framing="json")

    def test_a_pretty_printed_value_keeps_its_text(self):
        text = b'{\n  "a": "{\\"}\\\\",\n\n  "b": [\n{\n},\n{}\n]\n}'
        assert_frames(text + b"\n", text, framing="json")

    def test_a_pretty_printed_error_may_follow_events(self):
        assert_frames(
            b'data: 1\n\n{\n  "error": {}\n}\n\ndata: 2\n\n', b"1", b'{\n  "error": {}\n}', b"2", framing="sse"
        )

    @pytest.mark.parametrize("text", [b"{", b'{\n  "a": 1', b'{"a":"\\', b'{\n "a": "'])
    def test_an_unfinished_value_is_cut(self, text):
        assert_frames(text, cut(text), framing="json")

    @pytest.mark.parametrize("line", [b"data: 1", b"event: x\ndata: 1", b"id: 1\ndata: 1"])
    def test_a_field_amid_a_value_ends_it(self, line):
        frames = frames_of(b'{\n"a": 1,\n' + line + b"\n\n")
        assert frames[0] == stray(b'{\n"a": 1,')
        assert frames[1].data == b"1"

    def test_a_comment_amid_a_value_ends_it(self):
        assert_frames(b'{\n"a": 1,\n: ping\n', stray(b'{\n"a": 1,'), comment(b"ping"), framing="sse")

    def test_braces_that_hold_no_json_are_stray(self):
        assert_frames(
            b"{'a': 1}\n{ color: red }\n{\ncolor: red\n}\n",
            stray(b"{'a': 1}"),
            stray(b"{ color: red }"),
            stray(b"{\ncolor: red\n}"),
            framing=None,
        )


class TestArrays:
    @pytest.mark.parametrize(
        "text", [b'[{"a":1},{"b":[2]}]', b'[\n{\n"a":1},\r\n\r\n{"b":[2]}\n ]\n', b' [ {"a":1} , {"b":[2]},]']
    )
    def test_elements_are_frames(self, text):
        frames = frames_of(text)
        assert [frame.data.replace(b"\n", b"") for frame in frames] == [b'{"a":1}', b'{"b":[2]}']
        assert_frames(text, *frames, framing="json-array")

    def test_an_element_comes_as_soon_as_it_closes(self):
        framer = Framer()
        assert framer.feed(b"[") == []
        assert framer.feed(b'{"a":"]\\"}"') == []
        assert framer.feed(b"}") == [Frame(b'{"a":"]\\"}"}')]
        assert framer.framing == "json-array"
        assert not framer.closed_array
        assert framer.feed(b"]") == []
        assert framer.closed_array

    def test_an_empty_array_is_closed(self):
        framer = Framer()
        assert framer.feed(b"[ ]") + framer.close() == []
        assert framer.closed_array

    def test_a_cut_element_is_cut(self):
        framer = Framer()
        assert framer.feed(b'[{"a":1},{"b"') + framer.close() == [Frame(b'{"a":1}'), cut(b'{"b"')]
        assert not framer.closed_array

    def test_a_bracket_alone_is_a_cut_array(self):
        assert_frames(b"[ \n ", cut(b"["), framing="json-array")

    def test_an_array_later_on_does_not_count_as_closed_input(self):
        framer = Framer()
        assert framer.feed(b'data: 1\n\n[{"error":1}]\ndata: 2\n\n') == [
            Frame(b"1"),
            Frame(b'{"error":1}'),
            Frame(b"2"),
        ]
        assert framer.framing == "sse"
        assert not framer.closed_array

    def test_lines_go_on_behind_an_array(self):
        assert_frames(b'[{"a":1}] {"b":2}\n{"c":3}\n', b'{"a":1}', b'{"b":2}', b'{"c":3}')
        assert_frames(b"[]x", stray(b"x"))

    def test_the_line_end_of_an_array_is_no_blank_line(self):
        assert_frames(b"event: a\n[]\ndata: 1\n\n", Frame(b"1", "a"))

    def test_junk_between_elements_is_stray_to_the_end_of_its_line(self):
        assert_frames(b'[{"a":1}, what\n{"b":2}, junk', b'{"a":1}', stray(b"what"), b'{"b":2}', stray(b"junk"))

    def test_a_field_between_elements_ends_the_array(self):
        assert_frames(b'[{"a":1},\ndata: {"b":2}\n\n{"c":3}\n', b'{"a":1}', b'{"b":2}', b'{"c":3}')

    @pytest.mark.parametrize("line", [b"[DONE]", b"[ERROR] broken", b"[1, 2]", b'["a"]', b"[[{}]]"])
    def test_other_brackets_are_stray_lines(self, line):
        assert_frames(line + b"\ndata: 1\n\n", stray(line), b"1")

    def test_blank_lines_behind_a_stray_bracket_still_count(self):
        assert_frames(b"event: a\ndata: 1\n[\n\ndata: 2\n\n", stray(b"["), Frame(b"1", "a"), b"2")


class TestNoise:
    def test_a_page_is_stray_lines(self):
        assert_frames(b"<html>\n<body>\n\n</html>", stray(b"<html>"), stray(b"<body>"), stray(b"</html>"), framing=None)

    def test_noise_without_lines_is_one_stray(self):
        assert_frames(b"\x80\xff\x07nothing", stray(b"\x80\xff\x07nothing"), framing=None)

    def test_nothing_and_blanks_give_nothing(self):
        assert_frames(b"", framing=None)
        assert_frames(b" \r\n\t\n", framing=None)
