"""Text in UTF-16: the frames of the same text in UTF-8."""

import pytest
from framing_helpers import Frame, bytewise, frames_of, outcome, stray

TEXTS = [
    'event: a\r\ndata: {"text":"Grüße 😀\u2028"}\r\n\r\ndata: [DONE]\r\n\r\n',
    '{"a":"ü"}\n{"b":1}\n',
    '[{"a":"😀"},\n {"b":1}]',
    '{\n "a": "😀"\n}',
    'data: {"a":"cut',
    "<html>\n😀",
    "",
]
MARKS = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}


@pytest.mark.parametrize("codec", MARKS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_in_utf16_is_that_text(text, codec):
    data = MARKS[codec] + text.encode(codec)
    assert outcome([data]) == outcome(bytewise(data)) == outcome([text.encode()])


def test_half_a_character_at_the_end_is_told():
    assert frames_of(b"\xff\xfe" + 'data: 1\n\n"'.encode("utf-16-le")[:-1]) == [Frame(b"1"), stray("\ufffd".encode())]
    assert frames_of(b"\xff\xfe\x3d\xd8") == [stray(b"\xed\xa0\xbd")]
    assert frames_of(b"\xff") == [stray(b"\xff")]


def test_limits_hold():
    assert "frame_bytes" in outcome([b"\xff\xfe" + "x".encode("utf-16-le") * 1001], frame_bytes=1000)[3]
