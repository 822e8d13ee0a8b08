"""Bad input has a clear answer, nothing that came is lost, and only a limit raises."""

from __future__ import annotations

import bz2
import datetime as dt
import gzip
import json
import lzma
import random
import re
import time
import tracemalloc
import types

import pytest

import chunkfold
import chunkfold.events
from chunkfold import Decoder, Folder, LimitExceeded, Limits
from tests.laws import assert_laws, decode, fold, rebuild
from tests.streams import sse

MB = 1 << 20
HTML = b"<!DOCTYPE html>\n<html>\n<head><title>502 Bad Gateway</title></head>\n<body>upstream \xe2\x80\x94 gone</body>\n</html>\n"


def chat(delta, **more):
    """One frame of openai-chat."""
    return sse({"id": "c", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, **more}]})


def call(arguments, *, name="f", number=0):
    return {"tool_calls": [{"index": number, "id": f"i{number}", "type": "function", "function": {"name": name, "arguments": arguments}}]}  # fmt: skip


FINISH = chat({}, finish_reason="tool_calls") + b"data: [DONE]\n\n"


def arguments_of(text, **options):
    """The call that argument text makes."""
    (made,) = fold([chat(call(text)), FINISH], **options).tool_calls
    return made


# What is no stream


@pytest.mark.parametrize("dialect", ["auto", "openai-chat", "anthropic-messages"])
@pytest.mark.parametrize("body", [b"", b"\n", b"\r\n\r\n \t\n", b"\xef\xbb\xbf"])
def test_empty_input_is_truncated_without_an_error(body, dialect):
    response = assert_laws(body, [body], dialect)
    assert response.truncated
    assert response.ended == "eof"
    assert response.error is None
    assert response.text == ""
    assert response.parts == ()
    assert response.usage is None
    assert response.finish_reason is None


@pytest.mark.parametrize("body", [HTML, b"Internal Server Error", b"Bad gateway\n\nplease retry\n", random.Random(1).randbytes(300), b"\xff\xfe\x00", b"data: hello\n\ndata: there\n\n", b"data: 5\n\n", b'"a string"', b"[1, 2]", b'{"neither": "an error", "nor": "a payload"}'])  # fmt: skip
@pytest.mark.parametrize("dialect", ["auto", "openai-chat", "anthropic-messages"])
def test_what_is_no_stream_is_unrecognised_and_kept(body, dialect):
    if body.startswith(b"{") and dialect != "auto":
        pytest.skip("one payload, which a named dialect takes for its own")
    response = assert_laws(body, [body[at : at + 1] for at in range(len(body))], dialect)
    assert response.ended == "error"
    assert response.dialect is None
    assert (response.error.type, response.error.origin) == ("unrecognised", "decoder")
    printable = "".join(c for c in body.decode(errors="replace").strip() if c.isprintable())
    assert response.error.message.strip() == printable[:200].strip()
    (part,) = response.parts
    assert part.kind == "unknown"
    assert part.payload.strip() == body.decode(errors="replace").strip()
    assert response.finish_reason is None


PLAIN = b'data: {"choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":"stop"}]}\n\n'


@pytest.mark.parametrize("dialect", ["auto", "openai-chat"])
@pytest.mark.parametrize(
    ("packer", "body"),
    [
        ("gzip", gzip.compress(PLAIN)),
        ("bzip2", bz2.compress(PLAIN)),
        ("xz", lzma.compress(PLAIN)),
        ("zstd", b"(\xb5/\xfd\x04X"),
        ("zip", b"PK\x03\x04\x14\x00"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bytes_that_are_packed_are_told_of(packer, body, dialect):
    """What they are cannot be read off the excerpt in the error."""
    response = chunkfold.fold(body, dialect)
    detail = f"packed with {packer}: ask with `curl --compressed`, or unpack it first"
    assert response.diagnostics == (chunkfold.Diagnostic("compressed", detail=detail),)
    assert response.error.type == "unrecognised"


def test_a_text_that_begins_as_packed_files_do_is_none():
    assert chunkfold.fold(b"BZh is how such files begin\n").diagnostics == ()


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("blanks", [1, 2, 3, 4])
def test_noise_is_kept_to_the_byte_also_where_much_of_it_comes_at_once(end, blanks):
    body = end.join([b"a line of it"] * 400) + end * blanks + b"the end"
    assert chunkfold.fold(body).parts == (chunkfold.UnknownPart("unrecognised", body.decode()),)


def test_of_noise_the_message_has_200_characters_and_the_part_64_kib():
    body = "Überall Lärm. ".encode() * 20_000
    response = assert_laws(body, [body[at : at + 1000] for at in range(0, len(body), 1000)])
    assert response.error.message == body.decode()[:200]
    (part,) = response.parts
    assert len(part.payload.encode()) <= 64 << 10
    assert len(part.payload.encode()) > 63 << 10


@pytest.mark.parametrize(
    ("body", "kind", "message", "code"),
    [
        ({"error": {"message": "no such key", "type": "invalid_request_error", "code": "invalid_api_key"}}, "invalid_request_error", "no such key", "invalid_api_key"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "overloaded_error", "Overloaded", None),
        ({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}}, "RESOURCE_EXHAUSTED", "slow down", 429),
        ({"error": "model not found"}, None, "model not found", None),
        ({"detail": "Not Found"}, None, "Not Found", None),
        ({"message": "Forbidden"}, None, "Forbidden", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dialect", ["auto", "openai-chat", "anthropic-messages"])
def test_an_error_body_is_the_provider_s_error(body, kind, message, code, dialect):
    for text in (json.dumps(body).encode(), json.dumps(body, indent=2).encode() + b"\n", sse(body)):
        response = assert_laws(text, [text[at : at + 5] for at in range(0, len(text), 5)], dialect)
        assert (response.error.type, response.error.message, response.error.code) == (kind, message, code)
        assert response.error.origin == "provider"
        assert response.finish_reason == "error"
        assert response.ended == "error"
        assert not response.truncated, "the server said that it was over"


def test_an_error_and_what_stood_beside_it_are_both_kept():
    response = fold([sse({"hello": "there"}), sse({"error": {"message": "no"}})])
    assert response.error.message == "no"
    assert "hello" in response.parts[0].payload


@pytest.mark.parametrize("beside", [{"error": {"type": "api_error", "message": "no"}}, {"error": "no"}, {"base_resp": {"status_code": 1027, "status_msg": "no"}}])  # fmt: skip
@pytest.mark.parametrize("place", ["start", "message", "delta", "in the delta", "stop"])
def test_an_error_beside_what_an_event_says_is_told_in_anthropic_s_streams_too(beside, place):
    start = {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Half"}]}}  # fmt: skip
    delta = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}
    stop = {"type": "message_stop"}
    {"start": start, "message": start["message"], "delta": delta, "in the delta": delta["delta"], "stop": stop}[
        place
    ].update(beside)
    body = b"".join(map(sse, (start, delta, stop)))
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    assert response.error.message == "no"
    assert (response.finish_reason, response.native_finish_reason) == ("error", "end_turn")
    assert (response.text, response.usage.output_tokens) == ("Half", 2)
    assert fold([json.dumps(response.to_native()).encode()]).error.message == "no"


@pytest.mark.parametrize("data", [b"", b" ", b"null", b'""', b'" "', b"[]", b"{}", b"500", b'{"trace": "t"}'])
@pytest.mark.parametrize("dialect", ["auto", "anthropic-messages"])
def test_an_event_named_error_is_one_whatever_it_says(data, dialect):
    named = b"event: error\ndata:" + data + b"\n\n"
    start, stop = ({"type": "message_start", "message": {"content": [{"type": "text", "text": "Half"}]}}, {"type": "message_stop"})  # fmt: skip
    for body, text in ((named, ""), (sse(start) + named + sse(stop), "Half")):
        response = assert_laws(body, [body[at : at + 5] for at in range(0, len(body), 5)], dialect)
        assert (response.error.origin, response.finish_reason, response.truncated) == ("provider", "error", False)
        assert response.text == text


NO = {"error": {"message": "no", "code": "E"}}
NOT_ALL = [
    ("bedrock-converse", {"messageStart": {"role": "assistant"}, **NO}),
    ("bedrock-converse", {"contentBlockDelta": {"delta": {"text": "a"}}, "internalServerException": {"message": "no"}}),
    ("bedrock-invoke", {"outputText": "a", "index": 0, "inputTextTokenCount": 1, **NO}),
    ("bedrock-invoke", {"generation": "a", "prompt_token_count": 1, "stop_reason": None, **NO}),
    ("gemini-interactions", {"event_type": "interaction.status_update", "status": "failed", **NO}),
    ("gemini-interactions", {"event_type": "step.stop", "index": 0, **NO}),
    ("vercel-ui", {"type": "finish-step"}, {"type": "finish", "finishReason": "error", **NO}),
    ("vercel-ui", {"type": "finish-step"}, {"type": "finish", "finishReason": "error", "errorText": "no"}),
    ("ag-ui", {"type": "RUN_FINISHED", "runId": "r", **NO}),
]  # fmt: skip


@pytest.mark.parametrize(("dialect", *"ab"), [(*case, {})[:3] for case in NOT_ALL])
def test_an_error_beside_what_a_payload_says_is_told_in_the_other_dialects_too(dialect, a, b):
    body = sse(a) + (sse(b) if b else b"")
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    assert (response.dialect, response.error.message) == (dialect, "no")
    assert (response.finish_reason, response.truncated) == ("error", False)
    assert fold([json.dumps(response.to_native()).encode()], dialect).error.message == "no"


def test_an_error_event_of_bedrock_s_names_in_text_is_told_too():
    body = b'event: messageStop\ndata: {"stopReason": "end_turn", "error": {"message": "no"}}\n\n'
    assert fold([body]).error.message == "no"


def test_a_status_of_success_beside_what_an_event_says_is_no_error():
    body = sse({"type": "message_start", "message": {"id": "m", "content": [], "error": None}, "error": {}}) + sse(
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "base_resp": {"status_code": 0}}
    )
    assert fold([body]).error is None


# A body that was not streamed, behind pieces

AGAIN = {
    "anthropic-messages": (
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hal"}},
        {"type": "message", "content": [{"type": "text", "text": "Hallo"}], "stop_reason": "end_turn"},
    ),
    "bedrock-converse": (
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hal"}}},
        {"output": {"message": {"role": "assistant", "content": [{"text": "Hallo"}]}}, "stopReason": "end_turn"},
    ),
    "gemini-interactions": (
        {"event_type": "step.delta", "index": 0, "delta": {"type": "text", "text": "Hal"}},
        {"object": "interaction", "status": "completed", "steps": [{"type": "model_output", "content": [{"type": "text", "text": "Hallo"}]}]},
    ),
    "vercel-ui": (
        {"type": "text-delta", "id": "t", "delta": "Hal"},
        {"role": "assistant", "parts": [{"type": "text", "text": "Hallo"}], "finishReason": "stop"},
    ),
    "ag-ui": (
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "Hal"},
        {"runId": "r", "messages": [{"id": "m", "role": "assistant", "content": "Hallo"}], "outcome": None},
    ),
}  # fmt: skip


EMPTY = {
    "anthropic-messages": {"content": []},
    "bedrock-converse": {"output": {"message": {"role": "assistant", "content": None}}},
    "gemini-interactions": {"steps": []},
    "vercel-ui": {"parts": []},
    "ag-ui": {"messages": []},
}


@pytest.mark.parametrize("dialect", AGAIN)
def test_a_whole_body_behind_pieces_replaces_them(dialect):
    """A proxy whose stream broke off asks again without streaming and passes that on."""
    piece, whole = map(sse, AGAIN[dialect])
    response = assert_laws(piece + whole, [(piece + whole)[at : at + 7] for at in range(0, len(piece + whole), 7)])
    assert (response.dialect, response.text, len(response.parts)) == (dialect, "Hallo", 1)
    assert (response.finish_reason, response.ended) == ("stop", "clean")


BARE = {
    "anthropic-messages": [
        {"type": "message_start", "message": {"id": "m", "model": "c", "content": [], "usage": {"input_tokens": 3}}},
        AGAIN["anthropic-messages"][0],
        {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 2}},
        {"type": "message_stop"},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Hallo"}]},
    ],
    "vercel-ui": [
        {"type": "start", "messageId": "m"},
        AGAIN["vercel-ui"][0],
        {"type": "finish", "finishReason": "length"},
        {"role": "assistant", "parts": [{"type": "text", "text": "Hallo"}]},
    ],
}  # fmt: skip


@pytest.mark.parametrize("dialect", BARE)
def test_a_bare_body_behind_an_end_takes_no_fact_back(dialect):
    """MiniMax ends a stream in Anthropic's words with the content once more, without an id or a reason."""
    frames = [sse(payload) for payload in BARE[dialect]]
    response = assert_laws(b"".join(frames), frames, dialect)
    assert (response.text, len(response.parts), response.id) == ("Hallo", 1, "m")
    assert (response.finish_reason, response.ended, response.truncated) == ("length", "clean", False)
    if dialect != "vercel-ui":
        assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 2)


@pytest.mark.parametrize("dialect", AGAIN)
def test_a_whole_body_without_content_erases_nothing(dialect):
    piece, whole = AGAIN[dialect]
    empty = {**whole, **EMPTY[dialect]}
    assert fold([sse(piece), sse(empty)]).text == "Hal"


# Cut and spoiled streams

LONG = (
    chat({"role": "assistant", "content": "Grüße "}) + chat({"content": "aus 東京"}) + chat(call('{"a": "ü"}')) + FINISH
)


@pytest.mark.parametrize("dialect", ["auto", "openai-chat"])
def test_a_stream_cut_at_any_byte_keeps_all_that_came_whole(dialect):
    finish = LONG.index(b'"finish_reason"') + len(b'"finish_reason":"tool_calls"}]}')
    for size in range(len(LONG) + 1):
        response = fold([LONG[:size]], dialect)
        assert response.error is None
        assert "Grüße aus 東京".startswith(response.text)
        assert response.text == "".join(re.findall('"content":"([^"]*)"}}]}', LONG[:size].decode(errors="replace")))
        assert response.truncated == (size < finish)
        for made in response.tool_calls:
            assert made.status == ("complete" if made.raw_arguments else "empty")


def test_a_json_document_cut_at_any_byte_is_truncated():
    body = json.dumps({"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}]}).encode()  # fmt: skip
    assert fold([body]).text == "hi"
    assert fold([body]).ended == "clean"
    for size in range(1, len(body)):
        response = fold([body[:size]])
        assert response.truncated
        assert not response.text


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf8\x88\x80\x80\x80", b"\x80"])
def test_invalid_utf8_becomes_the_replacement_character_and_is_noted(bad):
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a' + bad + b'b"}}]}\n\n' + FINISH
    response = assert_laws(body, [body[at : at + 1] for at in range(len(body))])
    assert response.text.strip("\ufffd")[0] == "a"
    assert response.text == f"a{chr(0xFFFD) * (len(response.text) - 2)}b"
    assert [note.kind for note in response.diagnostics] == ["invalid_utf8"]
    assert response.finish_reason == "stop" or response.finish_reason == "tool_calls"


def test_a_frame_that_is_no_json_is_skipped_with_a_note_and_spoils_no_other():
    body = chat({"content": "a"}) + b'data: {"choices":[{"delta":\n\n' + b"data: nonsense\n\n" + chat({"content": "b"}) + FINISH  # fmt: skip
    response = assert_laws(body, [body])
    assert response.text == "ab"
    assert [(note.kind, note.frame) for note in response.diagnostics] == [("frame_not_json", 1), ("frame_not_json", 2)]
    assert response.error is None


@pytest.mark.parametrize("broken", [b'{"id":"c","ch', b'{"choices":[{"delta":{"content":"los', b'{"a":1}x'])
def test_a_frame_spoils_none_that_begins_on_its_line(broken):
    body = chat({"content": "a"}) + b"data: " + broken + chat({"content": "b"}) + FINISH
    response = assert_laws(body, [body[at : at + 1] for at in range(len(body))])
    assert response.text == "ab"
    assert [(note.kind, note.frame) for note in response.diagnostics] == [("frame_not_json", 1)]
    assert (response.ended, response.finish_reason) == ("clean", "tool_calls")


def test_an_error_on_the_line_of_a_frame_that_breaks_off_is_told():
    body = chat({"content": "a"}) + b'data: {"id":"c","chdata: {"error":{"message":"boom"}}\n\n'
    response = assert_laws(body, [body])
    assert (response.text, response.ended, response.error.message) == ("a", "error", "boom")


# Size and depth


def test_a_line_of_100_mb_passes_the_limit_of_a_frame():
    line = b"data: " + b"x" * (100 * MB)
    folder = Folder()
    folder.feed(chat({"content": "before"}))
    with pytest.raises(LimitExceeded) as caught:
        folder.feed(line)
    breach = caught.value
    assert (breach.limit, breach.allowed) == ("frame_bytes", 64 * MB)
    assert breach.value > breach.allowed
    assert breach.response is folder.snapshot()
    assert breach.response.text == "before"


def test_a_line_of_100_mb_in_small_reads_costs_time_in_proportion_and_no_more_memory_than_the_cap():
    piece = b"x" * 4096

    def seconds(cap):
        decoder = Decoder(limits=Limits(frame_bytes=cap))
        begun = time.process_time()
        decoder.feed(b"data: ")
        with pytest.raises(LimitExceeded, match="frame_bytes"):
            for _ in range(2 * cap // len(piece)):
                decoder.feed(piece)
        return time.process_time() - begun

    tracemalloc.start()
    try:
        large = seconds(64 * MB)
        peak = tracemalloc.get_traced_memory()[1]
        small = min(seconds(8 * MB) for _ in range(2))
    finally:
        tracemalloc.stop()
    assert large < 8 * small * 4, "eight times the size costs far more than eight times the time"
    assert peak < 2.5 * 64 * MB


def test_a_long_line_within_the_limit_is_read_in_linear_time():
    def seconds(size):
        decoder = Decoder("openai-chat")
        text = b'data: {"choices":[{"index":0,"delta":{"content":"' + b"x" * size
        begun = time.process_time()
        for at in range(0, len(text), 1000):
            decoder.feed(text[at : at + 1000])
        (event,) = decoder.feed(b'"}}]}\n\n')[-1:]
        assert len(event.text) == size
        return time.process_time() - begun

    seconds(MB)
    small, large = min(seconds(2 * MB) for _ in range(3)), min(seconds(16 * MB) for _ in range(2))
    assert large < 8 * small * 4, "eight times the size costs far more than eight times the time"


DEEP = 100_000
NESTED = b"[" * DEEP + b"]" * DEEP
NESTED_OBJECTS = b'{"a":' * DEEP + b"1" + b"}" * DEEP


@pytest.mark.parametrize("nested", [NESTED, NESTED_OBJECTS], ids=["arrays", "objects"])
@pytest.mark.parametrize("dialect", ["auto", "openai-chat", "anthropic-messages"])
def test_json_nested_100_000_deep_in_a_field_nobody_reads_passes_the_limit(nested, dialect):
    body = (
        chat({"content": "before"}) + b'data: {"object":"chat.completion.chunk","choices":[],"x":' + nested + b"}\n\n"
    )
    with pytest.raises(LimitExceeded) as caught:
        fold([body], dialect)
    assert (caught.value.limit, caught.value.allowed) == ("json_depth", 512)
    if dialect != "anthropic-messages":
        assert caught.value.response.text == "before"
    assert caught.value.response.ended == "error"


@pytest.mark.parametrize("whole", [NESTED, NESTED_OBJECTS, b"data: " + NESTED + b"\n\n", b"data: " + NESTED_OBJECTS + b"\n\n"], ids=["array", "object", "sse array", "sse object"])  # fmt: skip
def test_a_frame_nested_100_000_deep_is_answered_and_no_crash(whole):
    try:
        response = fold([whole])
    except LimitExceeded as breach:
        assert breach.limit == "json_depth"
        response = breach.response
    assert response.ended == "error"
    assert response.error.origin == "decoder"


def test_a_deep_frame_with_the_limit_off_is_skipped_with_a_note():
    body = chat({"content": "a"}) + b'data: {"choices":[],"x":' + NESTED + b"}\n\n" + chat({"content": "b"}) + FINISH
    response = fold([body], limits=Limits(json_depth=None))
    assert response.text == "ab"
    assert [note.kind for note in response.diagnostics] == ["frame_too_deep"]
    assert not response.truncated


@pytest.mark.parametrize("depth", [600, 900, 5000, DEEP])
@pytest.mark.parametrize("limits", [Limits(), Limits(json_depth=None)], ids=["limit", "no limit"])
def test_deep_argument_text_makes_the_call_invalid_or_is_read_but_never_raises(depth, limits):
    text = '{"a":' + "[" * depth + "]" * depth + "}"
    made = arguments_of(text, limits=limits)
    assert made.raw_arguments == text
    assert made.status == "invalid" if limits.json_depth else made.status in ("invalid", "complete")
    if made.is_usable:
        assert list(made.arguments) == ["a"]
    else:
        assert made.arguments_or(None) is None


def nested(depth):
    value = "x"
    for _ in range(depth):
        value = {"d": value}
    return value


def test_fields_as_deep_as_the_limit_allows_are_kept_and_written():
    frames = [
        chat({"content": "a", "odd": nested(508)}),
        sse({"choices": [], "usage": {"y": nested(510)}}),
        sse({"choices": [], "usage": {"y": nested(510)}}),
        sse({"object": "unheard", "z": nested(511)}),
        FINISH,
    ]
    response = fold(frames, "openai-chat")
    assert response.text == "a"
    assert response.to_json().count('"d":') == 508 + 510 + 511
    assert chunkfold.Response.from_json(response.to_json()) == response
    assert chunkfold.Response.from_dict(response.to_dict()) == response
    assert response.to_native()["odd" if "odd" in response.to_native() else "choices"]
    events = decode(frames, "openai-chat")
    assert rebuild([chunkfold.events.event_from_json(event.to_json()) for event in events]) == response
    with pytest.raises(LimitExceeded):
        fold([sse({"object": "unheard", "z": nested(512)})])


def test_deep_fields_with_the_limit_off_are_kept_or_noted_but_never_crash():
    for depth in (400, 700, 900, 990, 1100, 3000):
        deep = ('{"d":' * depth + "1" + "}" * depth).encode()
        body = chat({"content": "a"})
        for frame in (b'{"choices":[],"usage":{"x":%b}}', b'{"choices":[],"odd":%b}', b'{"choices":[{"delta":{"odd":%b}}]}', b'{"error":{"message":"m","x":%b},"choices":[]}'):  # fmt: skip
            body += b"data: " + frame % deep + b"\n\n" + b"data: " + frame % deep + b"\n\n"
        response = fold([body + chat({"content": "b"}) + FINISH], limits=Limits(json_depth=None))
        assert response.text == "ab"
        assert response.to_json()


def test_a_million_calls_pass_the_limit_of_calls_and_the_first_ten_thousand_are_kept():
    calls = json.dumps([{"index": number, "id": f"i{number}", "function": {"name": "f", "arguments": "{}"}} for number in range(100)])  # fmt: skip
    start = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'

    def frames(blocks):
        yield start
        for block in range(blocks):
            numbered = re.sub(r'"index": (\d+), "id": "i(\d+)"', lambda m, b=block: f'"index":{b * 100 + int(m[1])},"id":"i{b}_{m[2]}"', calls)  # fmt: skip
            yield f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":{numbered}}}}}]}}\n\n'.encode()

    begun = time.process_time()
    assert len(chunkfold.fold(frames(50)).tool_calls) == 5000
    half = time.process_time() - begun
    begun = time.process_time()
    with pytest.raises(LimitExceeded) as caught:
        chunkfold.fold(frames(10_000))
    assert time.process_time() - begun < 2 * 4 * half, "what is beyond the limit is read, too"
    breach = caught.value
    assert (breach.limit, breach.value, breach.allowed) == ("tool_calls", 10_001, 10_000)
    assert breach.response.text == "a"
    assert len(breach.response.tool_calls) == 10_000
    assert {made.status for made in breach.response.tool_calls} == {"complete"}


def test_a_message_of_too_many_parts_passes_the_limit_and_keeps_as_many_as_are_allowed():
    frames = (chat({"content": "t"} if number % 2 else {"reasoning_content": "r"}) for number in range(30_000))
    with pytest.raises(LimitExceeded) as caught:
        chunkfold.fold(frames, limits=Limits(parts=10_000))
    assert (caught.value.limit, caught.value.value, caught.value.allowed) == ("parts", 10_001, 10_000)
    assert len(caught.value.response.parts) == 10_000
    assert caught.value.response.text == "t" * 5000


def anthropic(kind, **more):
    return sse({"type": kind, **more}, kind)


def blocks(count):
    """A message of so many short blocks."""
    yield anthropic("message_start", message={"id": "m"})
    for index in range(count):
        yield anthropic("content_block_start", index=index, content_block={"type": "text", "text": "x"})
        yield anthropic("content_block_stop", index=index)


@pytest.mark.parametrize("options", [{}, {"split_think_tags": True}], ids=["plain", "split"])
@pytest.mark.parametrize(
    "hard",
    [
        lambda n: [*blocks(n), *blocks(2)],
        lambda n: [*blocks(n)],
        lambda n: [chat(call("{}", number=k)) for k in range(n)] + [chat({"content": "t"}), chat({"reasoning": "r"})] * 10,
        lambda n: [chat(call("{", number=k)) for k in range(n)] + [chat(call("}", number=k)) for k in range(n)],
        lambda n: [chat(call("", number=k)) for k in range(n // 2)] + [sse({"choices": [{"message": {"content": "m"}}]})] * (n // 2),
        lambda n: [sse({"choices": [{"index": k, "delta": {"content": "x"}, "finish_reason": "stop"}]}) for k in range(n)],
        lambda n: [chat({"content": "x", f"odd{k}": k}) for k in range(n)],
        lambda n: [b"data: not json\n\n"] * n,
        lambda n: [chat({"annotations": [{"a": k}]}) for k in range(n)],
        lambda n: [chat({"content": "<think>" if k % 2 else "</think>"}) for k in range(n)],
        lambda n: [chat({"content": "<" * 50}) for k in range(n)],
        lambda n: [chat({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}) for k in range(n)],
    ],
    ids=["restarted", "blocks", "text after calls", "interleaved", "restated", "choices", "extras", "notes", "annotations", "tags", "near tags", "no ids"],
)  # fmt: skip
def test_hard_shapes_cost_time_in_proportion(hard, options):
    def seconds(count):
        frames = hard(count)
        begun = time.process_time()
        chunkfold.fold(iter(frames), limits=Limits(tool_calls=None), **options)
        return time.process_time() - begun

    seconds(100)
    small = min(seconds(500) for _ in range(3))
    is_in_proportion = any(seconds(4000) < max(8 * small * 6, 0.3) for _ in range(3))
    assert is_in_proportion, "eight times the frames cost far more than eight times the time"


def test_many_unknown_fields_in_one_delta_cost_time_in_proportion():
    """Each was looked for among all others when it was seen whether the frame may come again."""

    def seconds(count):
        frames = [chat({"content": "x"}), chat({"content": "x", **{f"odd{k}": k for k in range(count)}})]
        begun = time.thread_time()
        assert fold(frames, "openai-chat").text == "xx"
        return time.thread_time() - begun

    seconds(20)
    assert min(seconds(1600) for _ in range(2)) < 8 * 3 * min(seconds(200) for _ in range(3))


# Odd arguments


@pytest.mark.parametrize("text", ['{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', "NaN", '{"a": 01}', "{'a': 1}", '{"a": 1,}', '{"a": 1} x', '{"a": 1}{"b": 2}', "[1]", '"a"', "1", "null", "true", '{"a": "\n"}', '{"a": .5}', "{", '{"a": \\u0031}'])  # fmt: skip
def test_arguments_that_are_not_one_strict_json_object_are_invalid_and_kept(text):
    made = arguments_of(text)
    assert made.status == "invalid"
    assert made.raw_arguments == text
    assert made.arguments_or({}) == {}
    with pytest.raises(chunkfold.InvalidToolCall) as caught:
        made.arguments  # noqa: B018
    assert caught.value.call == made


def test_integers_of_5_000_digits_in_arguments_are_exact():
    digits = "7" * 5000
    made = arguments_of(f'{{"n": {digits}, "m": -{digits}, "id": 1234567890123456789}}')
    assert made.status == "complete"
    expected = sum(7 * 10**place for place in range(5000))
    assert made.arguments == {"n": expected, "m": -expected, "id": 1234567890123456789}
    response = fold([chat(call(f'{{"n": {digits}}}')), FINISH])
    assert chunkfold.Response.from_json(response.to_json()) == response


@pytest.mark.parametrize("text", ['{"x": 1e400}', '{"x": -1e400, "y": 1e-400}', '{"x": 1.10}', '{"x": 0.1000000000000000055511151231257827}'])  # fmt: skip
def test_numbers_that_a_float_cannot_hold_keep_their_text_and_the_call_is_usable(text):
    made = arguments_of(text)
    assert made.raw_arguments == text
    assert made.status == "complete"
    assert set(made.arguments) == set(json.loads(text))


@pytest.mark.parametrize(
    "number", ["1e400", "-1E+999999999999999999", "-1E+99999999999999999999", "1e-99999999999999999999"]
)
@pytest.mark.parametrize("place", ['{"choices":[{"delta":{"content":"a","odd":%s}}]}', '{"choices":[{"delta":{"content":"a"}}],"created":%s}', '{"choices":[{"delta":{"content":"a"},"index":%s}]}', '{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":%s}}', '{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"name":"f","arguments":{"x":%s}}}]}}]}'])  # fmt: skip
def test_no_exponent_is_too_large_for_a_field(place, number):
    response = assert_laws(sse(place % number) + FINISH, [sse(place % number), FINISH])
    assert response.text == "a"
    assert chunkfold.Response.from_json(response.to_json()) == response
    assert [call.raw_arguments for call in response.tool_calls] in ([], [f'{{"x":{number}}}'])


def test_lone_surrogates_in_arguments_stay_escaped_and_the_call_is_usable():
    made = arguments_of('{"a": "\\ud83d", "b": "\\ud83d\\ude00"}')
    assert made.status == "complete"
    assert made.raw_arguments == '{"a": "\\ud83d", "b": "\\ud83d\\ude00"}'
    assert made.arguments == {"a": "\ud83d", "b": "\U0001f600"}


def test_a_raw_half_of_a_surrogate_pair_in_argument_text_is_written_as_its_escape():
    body = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"i","function":{"name":"f","arguments":"{\\"a\\":\\"\\ud83d\\"}"}}]}}]}\n\n'
    response = assert_laws(body + FINISH, [body, FINISH])
    (made,) = response.tool_calls
    assert made.raw_arguments == '{"a":"\\ud83d"}'
    assert made.arguments == {"a": "\ud83d"}
    assert "lone_surrogate" in [note.kind for note in response.diagnostics]


def test_of_equal_keys_the_last_counts_and_the_text_keeps_both():
    made = arguments_of('{"a": 1, "a": 2}')
    assert made.arguments == {"a": 2}
    assert made.raw_arguments == '{"a": 1, "a": 2}'


@pytest.mark.parametrize("text", ["", " ", "\n\t\r "])
def test_no_arguments_at_all_are_an_empty_object(text):
    made = arguments_of(text)
    assert made.status == "empty"
    assert made.arguments == {}


def test_arguments_cut_by_the_stream_or_the_token_limit_are_truncated_others_invalid():
    start = chat(call('{"a": "b'))
    assert fold([start]).tool_calls[0].status == "truncated"
    assert fold([start, chat({}, finish_reason="length")]).tool_calls[0].status == "truncated"
    assert fold([start, chat({}, finish_reason="tool_calls")]).tool_calls[0].status == "invalid"


# Calls whose arguments come as an object, with something beside them in the same payload.
OBJECTS = {
    "gemini": b'data: {"candidates":[{%s"content":{"parts":[{"functionCall":{"name":"f","args":%s}}]},"finishReason":"STOP"}]}\n\n',
    "anthropic-start": b'data: {"type":"content_block_start","index":0,%s"content_block":{"type":"tool_use","name":"f","input":%s}}\n\ndata: {"type":"message_stop"}\n\n',
    "anthropic-delta": b'data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","name":"f"}}\n\ndata: {"type":"content_block_delta","index":0,%s"delta":{"type":"input_json_delta","partial_json":%s}}\n\ndata: {"type":"message_stop"}\n\n',
    "converse-start": b'data: {"contentBlockStart":{%s"start":{"toolUse":{"name":"f","input":%s}}}}\n\ndata: {"messageStop":{"stopReason":"tool_use"}}\n\n',
    "converse-delta": b'event: contentBlockStart\ndata: {"start":{"toolUse":{"name":"f"}}}\n\nevent: contentBlockDelta\ndata: {%s"delta":{"toolUse":{"input":%s}}}\n\nevent: messageStop\ndata: {"stopReason":"tool_use"}\n\n',
    "chat": b'data: {%s"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":%s}}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n',
    "chat-before-tools": b'data: {%s"choices":[{"delta":{"function_call":{"name":"f","arguments":%s}},"finish_reason":"function_call"}]}\n\ndata: [DONE]\n\n',
    "chat-restated": b'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}]}}]}\n\ndata: {%s"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":%s}}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n',
    "cohere-v1": b'{"event_type":"tool-calls-chunk",%s"tool_call_delta":{"index":0,"name":"f","parameters":%s}}\n{"event_type":"stream-end","finish_reason":"COMPLETE"}\n',
    "cohere-v2": b'data: {"type":"message-start","id":"m"}\n\ndata: {"type":"tool-call-start",%s"index":0,"delta":{"message":{"tool_calls":{"id":"a","function":{"name":"f","arguments":%s}}}}}\n\ndata: {"type":"message-end","delta":{"finish_reason":"TOOL_CALL"}}\n\n',
    "dashscope": b'data: {%s"request_id":"r","output":{"choices":[{"message":{"role":"assistant","content":"","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":%s}}]},"finish_reason":"tool_calls"}]}}\n\n',
    "ag-ui": b'data: {"type":"TOOL_CALL_START","toolCallId":"a","toolCallName":"f"}\n\ndata: {"type":"TOOL_CALL_ARGS","toolCallId":"a",%s"delta":%s}\n\ndata: {"type":"RUN_FINISHED"}\n\n',
    "vercel-ui": b'data: {"type":"tool-input-available","toolCallId":"a","toolName":"f",%s"input":%s}\n\ndata: {"type":"finish"}\n\n',
}  # fmt: skip


@pytest.mark.parametrize("body", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("beside", [b"", b'"avgLogprobs":NaN,', b'"x":"\\ud83d",', b'"x":"\xff",', b'"x":1e400,'])
def test_arguments_that_come_as_an_object_keep_their_text_whatever_stands_beside_them(body, beside):
    text = '{"p": 1.10, "n": 0.12345678901234567890, "p": 12345678901234567890.5}'
    (made,) = fold([body % (beside, text.encode())]).tool_calls
    assert (made.status, made.raw_arguments) == ("complete", text)


@pytest.mark.parametrize("body", OBJECTS.values(), ids=OBJECTS)
@pytest.mark.parametrize("text", ['{"pay": NaN}', '{"pay": [-Infinity]}'])
def test_arguments_that_come_as_an_object_that_is_no_json_are_not_made_one(body, text):
    """Python's and JavaScript's words for what is no number: as texts or as nulls they would be run."""
    (made,) = fold([body % (b"", text.encode())]).tool_calls
    assert (made.status, made.raw_arguments) == ("invalid", text)


def test_a_decoded_payload_whose_arguments_hold_no_number_is_not_made_one_with_a_null():
    call = {"functionCall": {"name": "f", "args": {"pay": float("nan")}}}
    folder = Folder("gemini")
    folder.feed({"candidates": [{"content": {"parts": [call]}, "finishReason": "STOP"}]})
    (made,) = folder.close().tool_calls
    assert (made.status, made.raw_arguments) == ("invalid", '{"pay":NaN}')


@pytest.mark.parametrize(
    "raw", [b"NaN", b"1e400", b"-1e400", b"1" * 5000, b'"\\ud800"', b'{"a":1,"a":2}', b"[NaN, Infinity]"]
)
def test_odd_values_in_fields_nobody_reads_survive_writing(raw):
    body = b'data: {"choices":[{"index":0,"delta":{"content":"a","x":' + raw + b'}}],"y":' + raw + b"}\n\n"
    body += b'data: {"unheard":' + raw + b"}\n\n" + FINISH
    response = assert_laws(body, [body[:20], body[20:]])
    assert response.text == "a"
    assert response.parts[1].payload.keys() == {"unheard"}


@pytest.mark.parametrize(
    "field", ["index", "created", "id", "model", "finish_reason", "usage", "logprobs", "tool_calls"]
)
@pytest.mark.parametrize("raw", [b"NaN", b"1e400", b"1" * 5000, b'"\\ud800"', b"true", b"-7", b"0.5", b"[[]]", b'{"a":{}}', b'"' + b"9" * 5000 + b'"'])  # fmt: skip
def test_odd_values_in_fields_that_are_read_harm_nothing(field, raw):
    choice = b'{"index":0,"finish_reason":null,"logprobs":null,"delta":{"content":"a","tool_calls":null}}'
    frame = b'data: {"id":"c","created":1,"model":"m","usage":null,"choices":[' + choice + b"]}\n\n"
    body = re.sub(b'"%b":[^,}]+' % field.encode(), lambda _: b'"%b":%b' % (field.encode(), raw), frame) + FINISH
    response = assert_laws(body, [body[at : at + 3] for at in range(0, len(body), 3)])
    assert "a" in [choice.text for choice in response.choices]


@pytest.mark.parametrize("field", ["index", "type", "text", "partial_json", "stop_reason", "usage", "id", "name", "input", "delta", "content_block"])  # fmt: skip
@pytest.mark.parametrize(
    "raw", [b"NaN", b"1" * 5000, b'"\\ud800"', b"true", b"-7", b"0.5", b"[[]]", b'{"a":{}}', b"null"]
)
def test_odd_values_in_the_fields_of_blocks_harm_nothing(field, raw):
    """Each frame spoiled by itself; the text of the others is kept."""
    frames = [
        anthropic("message_start", message={"id": "m", "usage": {"input_tokens": 1}}),
        anthropic("content_block_start", index=0, content_block={"type": "text", "text": ""}),
        anthropic("content_block_delta", index=0, delta={"type": "text_delta", "text": "kept"}),
        anthropic("content_block_stop", index=0),
        anthropic(
            "content_block_start", index=1, content_block={"type": "tool_use", "id": "i", "name": "f", "input": {}}
        ),
        anthropic("content_block_delta", index=1, delta={"type": "input_json_delta", "partial_json": "{}"}),
        anthropic("content_block_stop", index=1),
        anthropic("message_delta", delta={"stop_reason": "tool_use"}, usage={"output_tokens": 2}),
        anthropic("message_stop"),
    ]
    pattern = b'"%b":(?:"[^"]*"|\\{[^{}]*(?:\\{[^{}]*\\})?[^{}]*\\}|[^,}]+)' % field.encode()
    for at, frame in enumerate(frames):
        spoiled = re.sub(pattern, lambda _: b'"%b":%b' % (field.encode(), raw), frame)
        if spoiled == frame:
            continue
        body = b"".join([*frames[:at], spoiled, *frames[at + 1 :]])
        for dialect in ("auto", "anthropic-messages"):
            response = assert_laws(body, [body[:50], body[50:]], dialect)
            assert response.text.endswith("kept") or at == 2
            assert response.ended == "clean" or at == 8


# Limits, one by one

BREACHES = {
    "frame_bytes": (Limits(frame_bytes=300), [chat({"content": "a"}), chat({"content": "b" * 300})], 300),
    "stream_bytes": (Limits(stream_bytes=150), [chat({"content": "a"}), chat({"content": "b"}) * 2], 150),
    "tool_calls": (Limits(tool_calls=2), [chat({"content": "a"}), *[chat(call("{}", number=k)) for k in range(3)]], 2),
    "parts": (Limits(parts=2), [chat({"content": "a"}), chat({"reasoning": "r"}), chat({"content": "b"})], 2),
    "json_depth": (Limits(json_depth=9), [chat({"content": "a"}), chat({"x": [[[[[[[[]]]]]]]]})], 9),
}
breaches = pytest.mark.parametrize(("limit", "limits", "frames", "allowed"), [(name, *rest) for name, rest in BREACHES.items()], ids=BREACHES)  # fmt: skip


@breaches
def test_a_limit_carries_what_came_before_it_and_closes_the_folder(limit, limits, frames, allowed):
    folder = Folder(limits=limits)
    seen = []
    with pytest.raises(LimitExceeded) as caught:
        for frame in frames:
            seen += folder.feed(frame)
    breach = caught.value
    assert (breach.limit, breach.allowed) == (limit, allowed)
    assert breach.value > allowed
    assert str(breach) == f"{limit}: {breach.value} is more than the {allowed} allowed"
    response = breach.response
    assert response.text == "a"
    assert (response.ended, response.error.type, response.error.origin) == ("error", "limit_exceeded", "decoder")
    assert response.error.code == limit
    assert response.truncated
    assert folder.snapshot() is folder.close() is response
    assert rebuild(seen + list(breach.events)).text == "a"
    with pytest.raises(ValueError, match="after close"):
        folder.feed(b"")


@breaches
def test_the_events_completed_before_a_limit_ride_on_the_error(limit, limits, frames, allowed):
    body = b"".join(frames)
    with pytest.raises(LimitExceeded) as caught:
        Decoder(limits=limits).feed(body)
    assert [event.text for event in caught.value.events if event.type == "text_delta"] == ["a"]
    decoder = Decoder(limits=limits)
    seen = []
    with pytest.raises(LimitExceeded) as later:
        for at in range(0, len(body), 7):
            seen += decoder.feed(body[at : at + 7])
    assert seen + list(later.value.events) == list(caught.value.events)
    assert decoder.close() == []


@breaches
def test_an_iterator_hands_out_the_events_before_it_raises(limit, limits, frames, allowed):
    for source in (b"".join(frames), iter(frames)):
        stream = chunkfold.stream(source, limits=limits)
        seen = []
        with pytest.raises(LimitExceeded, match=limit):
            for event in stream:
                seen.append(event)  # noqa: PERF402
        assert "a" in [event.text for event in seen if event.type == "text_delta"]
        assert stream.response().error.code == limit
        assert list(stream) == []
    with pytest.raises(LimitExceeded) as caught:
        chunkfold.fold(b"".join(frames), limits=limits)
    assert caught.value.response.text == "a"


@pytest.mark.parametrize(
    "odd",
    [1, b"x", types.MappingProxyType({}), (1,), dt.date(2026, 1, 1)],
    ids=["json", "bytes", "mapping", "tuple", "date"],
)
def test_a_payload_that_was_read_already_may_nest_as_deep_as_bytes(odd):
    """It passed at any depth, and the response of it could be neither pickled nor turned into a body."""
    deep = {"object": "chat.completion.chunk", "choices": [], "odd": odd, "x": json.loads("[" * 11 + "]" * 11)}
    for limits, payload in ((Limits(json_depth=11), deep), (None, {**deep, "x": nested(600)})):
        payloads = [{"choices": [{"delta": {"content": "a"}}], "object": "chat.completion.chunk"}, payload]
        for source in (payloads, [types.MappingProxyType(payload) for payload in payloads]):
            with pytest.raises(LimitExceeded) as caught:
                chunkfold.fold(source, limits=limits)
            allowed = (limits or Limits()).json_depth
            assert str(caught.value) == f"json_depth: {allowed + 1} is more than the {allowed} allowed"
            assert (caught.value.response.text, caught.value.response.error.type) == ("a", "limit_exceeded")
        assert chunkfold.fold(payloads, limits=Limits(json_depth=(limits or Limits()).json_depth + 100)).text == "a"


@breaches
def test_none_switches_a_limit_off(limit, limits, frames, allowed):
    off = Limits(**{limit: None})
    response = fold([*frames, FINISH], limits=off)
    assert response.text.startswith("a")
    assert response.error is None
    assert not response.truncated


@breaches
def test_exactly_what_is_allowed_passes(limit, limits, frames, allowed):
    enough = {
        "frame_bytes": 10_000,
        "stream_bytes": len(b"".join(frames)),
        "tool_calls": 3,
        "parts": 3,
        "json_depth": 13,
    }
    response = fold(frames, limits=Limits(**{limit: enough[limit]}))
    assert response.error is None


def test_a_frame_of_exactly_the_cap_passes_and_one_byte_more_does_not():
    frame = chat({"content": "b"})
    size = len(frame) - len(b"data: \n\n")
    line = size + len(b"data: ")
    for pieces in ([frame], [frame[at : at + 1] for at in range(len(frame))]):
        assert fold(pieces, limits=Limits(frame_bytes=line)).text == "b"
        with pytest.raises(LimitExceeded):
            fold(pieces, limits=Limits(frame_bytes=size - 1))


def test_stream_bytes_counts_all_bytes_of_every_read():
    body = chat({"content": "a"}) + b": ping\n\n" * 50 + FINISH
    assert fold([body], limits=Limits(stream_bytes=len(body))).text == "a"
    for pieces in ([body], [body[at : at + 9] for at in range(0, len(body), 9)]):
        with pytest.raises(LimitExceeded) as caught:
            fold(pieces, limits=Limits(stream_bytes=len(body) - 1))
        assert caught.value.response.text == "a"


def test_a_limit_met_by_what_was_pending_is_raised_by_close():
    folder = Folder(limits=Limits(json_depth=9))
    folder.feed(chat({"content": "a"}) + b'data: {"choices":[],"x":' + b"[" * 20 + b"]" * 20 + b"}")
    with pytest.raises(LimitExceeded) as caught:
        folder.close()
    assert caught.value.response.text == "a"
    assert folder.close() is caught.value.response


def test_limits_are_the_promised_ones():
    limits = Limits()
    assert limits.to_dict() == {}
    assert [getattr(limits, name) for name in ("frame_bytes", "stream_bytes", "tool_calls", "parts", "json_depth")] == [
        64 * MB,
        None,
        10_000,
        100_000,
        512,
    ]


def test_a_payload_passes_limits_too():
    folder = Folder(limits=Limits(tool_calls=1))
    payload = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": call("{}")}]}
    folder.feed(payload)
    payload = {"choices": [{"index": 0, "delta": call("{}", number=1)}]}
    with pytest.raises(LimitExceeded, match="tool_calls"):
        folder.feed(payload)


def test_decoding_noise_raises_nothing_and_ends_once():
    rng = random.Random(7)
    for _ in range(300):
        body = rng.randbytes(rng.randrange(200))
        events = decode([body])
        assert [event.type for event in events].count("message_stop") == 1
        assert rebuild(events) == fold([body])


def test_a_deep_frame_on_a_deep_stack_is_no_crash():
    frames = [
        chat({"content": "a"}),
        *[sse({"choices": [], "usage": {"y": nested(505)}})] * 2,
        chat({"content": "b"}),
        FINISH,
    ]

    def deeper(levels):
        return deeper(levels - 1) if levels else fold(frames, "openai-chat")

    response = deeper(600)
    assert response.text == "ab"
    assert response.native_finish_reason == "tool_calls"


@pytest.mark.parametrize("raw", [b"1e400", b"NaN", b"-1", b"1" * 5000, b'"7"', b"true", b"[]", b"2.5"])
def test_a_time_to_wait_that_cannot_be_waited_for_is_none(raw):
    for field in (
        b'"retry_after":' + raw,
        b'"details":[{"retryDelay":"' + raw.strip(b'"') + b's"}]',
        b'"details":' + raw,
    ):
        body = b'data: {"error":{"message":"busy",' + field + b"}}\n\n"
        error = assert_laws(body, [body]).error
        assert error.message == "busy"
        assert error.retry_after in (None, 2.5, 7.0)
        is_time = raw in (b"2.5", b'"7"') and field != b'"details":' + raw
        assert (error.retry_after is not None) == is_time


def test_any_number_of_oddities_costs_as_much_as_a_thousand_and_none_is_left_out_in_silence():
    def body(count):
        return chat({"content": "a"}) + b"data: x\n\n" * count + chat({"content": "b"})

    response = fold([body(3000)])
    kinds = [diagnostic.kind for diagnostic in response.diagnostics]
    assert (response.text, kinds) == ("ab", ["frame_not_json"] * 1000 + ["not_listed"])
    assert response.diagnostics[-1].detail == "2000 more of frame_not_json"
    assert rebuild(decode([body(3000)])) == response
    folder = Folder()
    for _ in range(3):
        folder.feed(body(1000))
    assert folder.snapshot().diagnostics == response.diagnostics

    def peak(count):
        folder = Folder()
        folder.feed(chat({"content": "a"}), events=False)
        tracemalloc.start()
        for _ in range(count):
            folder.feed(b"data: x\n\n" * 100, events=False)
        taken = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return taken

    assert peak(60) < 2 * peak(15)
