"""Server-sent events: the standard's rules, and each place where servers made us leave them."""

import pytest
from framing_helpers import assert_frames, comment, cut, frames_of, stray

from chunkfold.framing import Frame


class TestStandard:
    def test_an_event_has_the_name_and_data_of_its_lines(self):
        assert_frames(b'event: add\ndata: {"a":1}\n\n', Frame(b'{"a":1}', "add"), framing="sse")

    def test_id_and_retry_are_consumed(self):
        assert_frames(b"id: 7\ndata: 1\nretry: 3000\n\nid\n\n", b"1", framing="sse")

    @pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
    def test_every_line_end_ends_a_line(self, end):
        assert_frames(end.join([b"event: a", b"data: 1", b"", b"data: 2", b"", b""]), Frame(b"1", "a"), b"2")

    def test_line_ends_may_be_mixed(self):
        assert_frames(b"data: 1\n\r\ndata: 2\r\r\ndata: 3\r\n\rdata: 4\n\n", b"1", b"2", b"3", b"4")

    def test_lf_after_a_cut_cr_is_no_blank_line(self):
        assert frames_of(b"event: a\r", b"\ndata: 1\r", b"\n\r", b"\n") == [Frame(b"1", "a")]

    def test_no_other_character_ends_a_line(self):
        text = 'data: {"a":"\u2028\u2029\x85\x0b\x0c"}\n\n'.encode()
        assert_frames(text, text[6:-2])

    def test_one_leading_bom_is_dropped(self):
        assert_frames(b"\xef\xbb\xbfdata: 1\n\n\xef\xbb\xbfdata: 2\n\n", b"1", stray(b"\xef\xbb\xbfdata: 2"))

    def test_bytes_that_only_begin_like_a_bom_are_kept(self):
        assert_frames(b"\xef\xbbdata: 1\n", stray(b"\xef\xbbdata: 1"), framing=None)
        assert_frames(b"\xef", stray(b"\xef"))

    def test_a_comment_comes_at_once_and_leaves_the_event_alone(self):
        assert_frames(
            b'event: a\n: OPENROUTER PROCESSING\ndata: {"a":1}\n:\n:x\n\n',
            comment(b"OPENROUTER PROCESSING"),
            comment(b""),
            comment(b"x"),
            Frame(b'{"a":1}', "a"),
        )

    @pytest.mark.parametrize(
        ("line", "value"),
        [(b"data:x", b"x"), (b"data:  x", b" x"), (b"data:\tx", b"\tx"), (b"data: a:b", b"a:b"), (b"data: x ", b"x ")],
    )
    def test_one_space_is_removed_after_the_first_colon_and_no_more(self, line, value):
        assert_frames(line + b"\n\n", value)

    def test_data_without_a_value_is_data(self):
        assert_frames(b"data:\n\ndata\n\ndata: \n\n", b"", b"", b"")

    def test_an_event_without_data_is_none(self):
        assert_frames(b"event: a\n\nid: 1\n\n\n\ndata: 1\n\n", b"1")

    def test_a_name_lasts_until_the_blank_line(self):
        assert_frames(b"event: a\ndata: 1\n\ndata: 2\n\n", Frame(b"1", "a"), b"2")

    def test_the_last_name_wins_and_an_empty_one_resets(self):
        assert_frames(b"event: a\nevent: b\ndata: 1\n\nevent: a\nevent:\ndata: 2\n\n", Frame(b"1", "b"), b"2")

    def test_a_name_after_the_data_names_the_event(self):
        assert_frames(b"event: a\ndata: 1\nevent: b\n\n", Frame(b"1", "b"))

    def test_a_name_that_is_no_utf8_is_replaced(self):
        assert_frames(b"event: \xff\ndata: 1\n\n", Frame(b"1", "\ufffd"))

    def test_field_names_are_exact(self):
        assert_frames(b"Data: 1\n", stray(b"Data: 1"), framing=None)

    def test_lines_that_are_json_only_together_are_one_text(self):
        assert_frames(b'data: {\ndata:   "a": [1,\ndata: 2]\ndata: }\n\n', b'{\n  "a": [1,\n2]\n}')

    def test_blank_data_lines_around_json_are_part_of_it(self):
        assert_frames(b'data:\ndata: {"a":\ndata: 1}\n\n', b'\n{"a":\n1}')


class TestWhatServersSend:
    def test_unknown_fields_are_strays(self):
        assert_frames(
            b'id:1\nevent:result\n:HTTP_STATUS/200\nstatus:200\ndata:{"a":1}\n\nerror: {"m":"x"}\n\n',
            comment(b"HTTP_STATUS/200"),
            stray(b"status:200"),
            Frame(b'{"a":1}', "result"),
            stray(b'error: {"m":"x"}'),
        )

    @pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
    @pytest.mark.parametrize("data", [b'{"a":1}', b"[DONE]", b" [DONE] "])
    def test_a_complete_event_needs_no_blank_line_at_the_end(self, data, end):
        assert_frames(b"event: a\ndata:" + data + end, Frame(data.removeprefix(b" "), "a"))

    @pytest.mark.parametrize("end", [b"", b"\n"])
    @pytest.mark.parametrize("data", [b'{"a":', b'{"a":"}', b"[DO", b"tru", b'{"a":"\\'])
    def test_an_incomplete_event_at_the_end_is_cut(self, data, end):
        assert_frames(b"event: a\ndata: " + data + end, cut(data, "a"))

    def test_a_value_with_something_behind_it_is_not_cut(self):
        assert_frames(b'data: {"a":1}"', b'{"a":1}"')

    def test_no_data_at_the_end_is_not_cut(self):
        assert_frames(b"data:", b"")

    def test_a_json_text_over_lines_is_cut_as_one(self):
        assert_frames(b'data: {\ndata: "a": [{}, \ndata: {"b', cut(b'{\n"a": [{}, \n{"b'))

    def test_lines_of_their_own_stay_so_at_the_end(self):
        assert_frames(b'data: {"a":\ndata: {"b":1}\n', b'{"a":', b'{"b":1}')
        assert_frames(b'data: {"b":1}\ndata: {"a":\n', b'{"b":1}', cut(b'{"a":'))

    def test_a_name_at_the_end_names_the_event(self):
        assert_frames(b'data: {"a":1}\nevent: b', Frame(b'{"a":1}', "b"))

    @pytest.mark.parametrize("line", [b"event: a data: 1", b'event:a {"b":1}', b"event: a\\ndata: 1\\n\\n"])
    def test_data_in_the_name_of_an_event_is_not_lost(self, line):
        name = line.partition(b":")[2].strip()
        assert_frames(line + b"\n\ndata: 1\n\n", stray(b"event: " + name), b"1")
        assert_frames(line, stray(b"event: " + name), framing="sse")
        assert_frames(line + b"\n" + line, *[stray(b"event: " + name)] * 2)
        assert_frames(b"event: ping\n\ndata: 1\n\n", b"1")

    def test_data_may_stand_behind_blanks(self):
        assert_frames(b'data: {}\n\n  data: {"a":1}\n\n\tdata:[DONE]\n\n', b"{}", b'{"a":1}', b"[DONE]")
        assert_frames(b"data: 1\n\n  data: of text\n\n", b"1", stray(b"  data: of text"))
        # A server that writes no escapes breaks the text at its line ends.
        assert_frames(b'data: {"a":"x:\n  data: [DONE]\n"}\n\n', stray(b"  data: [DONE]"), stray(b'"}'), b'{"a":"x:')

    def test_a_line_of_blanks_says_nothing(self):
        assert_frames(b"data: 1\n \n\t\ndata: 2\n  ", b"1", b"2")

    @pytest.mark.parametrize("prefix", [b"d", b"dat", b"even", b"r"])
    def test_a_field_name_cut_at_the_end_is_a_cut_stray(self, prefix):
        assert_frames(b"data: 1\n\n" + prefix, b"1", stray(prefix, cut=True))

    def test_events_need_no_blank_line_between(self):
        assert_frames(
            b'data: {"a":1}\ndata: {"b":"\\ud83d"}\ndata: [1]\ndata: 2\ndata: [DONE]\ndata: {}\n\n',
            b'{"a":1}',
            b'{"b":"\\ud83d"}',
            b"[1]",
            b"2",
            b"[DONE]",
            b"{}",
        )

    def test_without_blank_lines_a_name_belongs_to_the_data_that_follows(self):
        assert_frames(
            b'event: a\ndata: {"a":1}\nevent: b\ndata: {"b":1}\nevent: c\ndata: {"c":1}\n\n',
            Frame(b'{"a":1}', "a"),
            Frame(b'{"b":1}', "b"),
            Frame(b'{"c":1}', "c"),
        )

    def test_a_name_holds_for_all_events_before_the_blank_line(self):
        assert_frames(b"event: a\ndata: 1\ndata: 2\n\ndata: 3\n\n", Frame(b"1", "a"), Frame(b"2", "a"), b"3")

    def test_a_name_amid_one_json_text_names_it(self):
        assert_frames(b'event: a\ndata: {"a":\nevent: b\ndata: 1}\n\n', Frame(b'{"a":\n1}', "b"))

    def test_lines_that_are_no_json_together_are_frames_each(self):
        assert_frames(b'data: {broken\ndata: {"a":1}\ndata: x\n\n', b"{broken", b'{"a":1}', b"x")
        assert_frames(b"data: hello\ndata: world\n\n", b"hello", b"world")
        assert_frames(b'data: {"a"\ndata: ]}\n\n', b'{"a"', b"]}")

    def test_printed_json_may_have_its_field_before_the_first_line_alone(self):
        printed = b'{\n  "a": [\n    {"b": -1},\n    true\n  ],\n  "c": "x"\n}'
        assert_frames(b"data: " + printed + b"\n\ndata: " + printed + b"\n\n", printed, printed)
        assert_frames(b"event: a\r\ndata: {\r\n  1\r\n}\r\n\r\n", Frame(b"{", "a"), stray(b"  1"), stray(b"}"))
        assert_frames(b"event: a\ndata:[\n1\n]\ndata: 2\n\n", Frame(b"[\n1\n]", "a"), Frame(b"2", "a"))
        assert_frames(b'data: {\n  "a": [1,\n  2', cut(b'{\n  "a": [1,\n  2'))

    def test_what_does_not_go_on_with_the_data_is_what_it_is_alone(self):
        assert_frames(b'data: {"a":\n<html>\n\n', stray(b"<html>"), b'{"a":')
        assert_frames(b'data: {"a":[\n  {"error":1}\n', b'{"a":[', b'{"error":1}')
        assert_frames(b'data: {"a":"x\n"y"\n}\n\n', stray(b'"y"'), stray(b"}"), b'{"a":"x')
        assert_frames(b'data: {"a":\n  {"error":1}\ndata: {"b":1}\n\n', b'{"a":', b'{"error":1}', b'{"b":1}')
        assert_frames(b'data: {"a":\n  "x"\n: ping\n\n', comment(b"ping"), b'{"a":', stray(b'  "x"'))

    def test_very_deep_json_is_recognised_as_whole(self):
        deep = b"[" * 50_000 + b"]" * 50_000
        assert frames_of(b"data: " + deep + b"\ndata: 1\n\n") == [Frame(deep), Frame(b"1")]

    def test_bare_json_and_strays_leave_the_pending_event_alone(self):
        assert_frames(
            b'event: a\ndata: {"a":1}\n{"error":{}}\n<html>\n[x]\n\n',
            Frame(b'{"error":{}}'),
            stray(b"<html>"),
            stray(b"[x]"),
            Frame(b'{"a":1}', "a"),
            framing="sse",
        )
