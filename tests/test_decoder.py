"""Bytes or payloads in, events out: what is dealt with below the dialects."""

from __future__ import annotations

import json
import types

import pytest

import chunkfold
from chunkfold import Decoder, Folder, Limits, dialects
from chunkfold.events import DiagnosticEvent, ErrorEvent, MessageStart, MessageStop, PartStart, Ping, TextDelta
from tests.laws import assert_laws, decode, fold
from tests.streams import sse


def chunk(delta, **more):
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "model": "m",
        "choices": [{"index": 0, "delta": delta, **more}],
    }


def chat(delta, **more):
    return sse(chunk(delta, **more))


HELLO = chat({"content": "hello"})
STOP = chat({}, finish_reason="stop")
DONE = b"data: [DONE]\n\n"
ANTHROPIC = sse({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}})
UNDECIDED = sse({"hello": 1})


def kinds(events):
    return [event.type for event in events]


def notes(events):
    return [event.diagnostic.kind for event in events if isinstance(event, DiagnosticEvent)]


# One event per delta, as soon as its frame is whole


def test_a_frame_is_decoded_as_soon_as_it_is_whole():
    decoder = Decoder()
    assert decoder.feed(HELLO[:-1]) == []
    assert decoder.feed(HELLO[-1:]) == [
        MessageStart("c", "m", dialect="openai-chat"),
        PartStart(0, 0, "text"),
        TextDelta(0, 0, "hello"),
    ]
    assert decoder.feed(b"") == []


def test_deltas_are_never_merged_across_frames():
    events = decode([b"".join(chat({"content": letter}) for letter in "abcdef")])
    assert [event.text for event in events if isinstance(event, TextDelta)] == list("abcdef")


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_any_buffer_may_be_fed(kind):
    assert decode([kind(HELLO), kind(STOP)]) == decode([HELLO + STOP])


def test_a_buffer_that_is_changed_afterwards_changes_nothing():
    decoder = Decoder()
    buffer = bytearray(HELLO[:40])
    decoder.feed(buffer)
    buffer[:] = b"x" * 40
    assert decoder.feed(HELLO[40:])[-1] == TextDelta(0, 0, "hello")


# Finding out the dialect


def test_auto_waits_for_a_payload_that_tells_and_then_gives_what_it_held():
    decoder = Decoder()
    assert decoder.feed(UNDECIDED) == []
    assert decoder.dialect is None
    events = decoder.feed(HELLO)
    assert decoder.dialect == "openai-chat"
    assert "unknown" in kinds(events)
    assert events[-1] == TextDelta(0, events[-1].index, "hello")
    unknown = next(event for event in events if event.type == "unknown")
    assert unknown.payload == {"hello": 1}


def test_pings_comments_and_errors_decide_nothing_and_do_not_wait():
    decoder = Decoder()
    assert decoder.feed(b": keep-alive\n\n") == [Ping()]
    assert decoder.feed(sse({"type": "ping"}, "ping")) == [Ping()]
    (event,) = decoder.feed(sse({"error": {"message": "busy", "type": "overloaded_error"}}))
    assert isinstance(event, ErrorEvent)
    assert event.error.type == "overloaded_error"
    assert decoder.dialect is None
    assert decoder.feed(ANTHROPIC)[0] == MessageStart(dialect="anthropic-messages")


def test_what_was_held_is_decoded_in_its_place():
    """A line that is no payload, a payload that tells nothing, then one that does: all are there, in order."""
    events = decode([b"warming up\n\n", UNDECIDED, HELLO, STOP])
    unknown = [event.name for event in events if event.type == "unknown"]
    assert unknown == ["stray_text", "payload"]
    assert kinds(events).index("unknown") < kinds(events).index("text_delta")
    assert events[-1] == MessageStop("eof")


def test_halves_of_characters_in_held_payloads_never_reach_the_text():
    held = b'data: {"content":"\\ud83d","choices":[{"index":0,"content":"\\ud83d","text":null}]}\n\n'
    response = fold([held, HELLO, STOP])
    response.text.encode()
    assert response.text.endswith("hello")


@pytest.mark.parametrize("name", dialects.names())
def test_a_named_dialect_is_known_from_the_start(name):
    assert Decoder(name).dialect == name
    assert chunkfold.fold(b"", name).dialect == name
    assert chunkfold.fold(b": ping\n\n", name).dialect == name


@pytest.mark.parametrize(("other", "name"), [("anthropic", "anthropic-messages"), ("mistral", "openai-chat")])
def test_other_names_are_accepted(other, name):
    assert Decoder(other).dialect == name


@pytest.mark.parametrize("name", ["openai", "OPENAI-CHAT", "", "auto ", "openai_chat", "_writer", "__init__", None])
def test_an_unknown_name_is_refused_with_the_known_ones(name):
    with pytest.raises(chunkfold.UnknownDialect) as caught:
        Decoder(name)
    assert isinstance(caught.value, ValueError)
    assert "openai-chat" in str(caught.value)
    assert "auto" in str(caught.value)


def test_a_named_dialect_stands_though_the_stream_speaks_another():
    response = assert_laws(ANTHROPIC * 2, [ANTHROPIC, ANTHROPIC], "openai-chat")
    assert response.dialect == "openai-chat"
    assert response.text == ""
    assert [part.kind for part in response.parts] == ["unknown", "unknown"]
    (note,) = response.diagnostics
    assert note.kind == "dialect_mismatch"
    assert "anthropic-messages" in note.detail


DASHSCOPE = {"output": {"choices": [{"message": {"content": "hel"}}]}, "usage": {"output_tokens": 1}, "request_id": "r"}
USED = {**chunk({"content": "hel"}), "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
CALL = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look_up", "arguments": ""}}]})
WATSONX = {"model_id": "g", "results": [{"generated_text": "hel", "generated_token_count": 1, "input_token_count": 1}]}
COHERE = {"type": "tool-call-delta", "index": 0, "delta": {"message": {"tool_calls": {"function": {"arguments": "{"}}}}}


@pytest.mark.parametrize(
    ("payload", "name"),
    [
        (DASHSCOPE, "openai-chat"),
        (DASHSCOPE, "openai-completions"),
        (DASHSCOPE, "watsonx"),
        (USED, "dashscope"),
        (CALL, "openai-completions"),
        (COHERE, "vercel-ui"),
        (WATSONX, "bedrock-invoke"),
    ],
)
def test_what_another_dialect_shares_with_the_named_one_does_not_hide_the_rest(payload, name):
    """Both have a `usage`, or events of one name. Only that was taken, and the texts and calls beside it were lost."""
    start = {"type": "message-start", "delta": {"message": {"role": "assistant"}}} if payload is COHERE else payload
    payloads = [start, payload, payload]
    response = assert_laws(b"".join(map(sse, payloads)), list(map(sse, payloads)), name)
    assert [(part.kind, part.payload) for part in response.parts] == [("unknown", item) for item in payloads]
    assert [note.kind for note in response.diagnostics] == ["dialect_mismatch"]
    assert chunkfold.fold(payloads, name) == response


def test_what_bedrock_wraps_may_come_unwrapped_and_nothing_else():
    """DashScope's texts tell all so far. They were taken for pieces of a model that Bedrock serves."""
    response = chunkfold.fold([CALL, chunk({"content": "hel"}), chunk({}, finish_reason="stop")], "bedrock-invoke")
    assert (response.text, [call.name for call in response.tool_calls]) == ("hel", ["look_up"])
    assert not response.diagnostics
    response = chunkfold.fold([DASHSCOPE, DASHSCOPE], "bedrock-invoke")
    assert (response.text, [part.payload for part in response.parts]) == ("", [DASHSCOPE, DASHSCOPE])
    assert [note.kind for note in response.diagnostics] == ["dialect_mismatch"]


def test_under_a_wrong_name_errors_and_pings_are_still_what_they_are():
    error = sse({"error": {"message": "slow down", "code": 429}})
    response = chunkfold.fold(HELLO + b": ping\n\n" + sse({"type": "ping"}) + HELLO + error, "anthropic-messages")
    assert [part.kind for part in response.parts] == ["unknown", "unknown"]
    assert (response.error.message, response.finish_reason) == ("slow down", "error")


@pytest.mark.parametrize(
    ("error", "message", "name"),
    [
        ({"type": "RUN_ERROR", "message": "gone", "code": "x"}, "gone", "cohere-v2"),
        ({"type": "RUN_ERROR", "message": "gone", "code": "x"}, "gone", "dashscope"),
        ({"type": "error", "errorText": "gone"}, None, "anthropic-messages"),
    ],
)
def test_so_are_errors_in_the_words_of_another_dialect(error, message, name):
    response = chunkfold.fold(sse(error), name)
    assert (response.error.message, response.error.raw, response.finish_reason) == (message, error, "error")
    assert not response.parts


def test_what_the_named_dialect_knows_after_all_is_read():
    """A gateway's greeting looked like another dialect."""
    response = chunkfold.fold(sse({"type": "message_stop"}) + HELLO + STOP + DONE, "openai-chat")
    assert (response.text, response.finish_reason, response.ended) == ("hello", "stop", "clean")
    assert [note.kind for note in response.diagnostics] == ["dialect_mismatch"]


def together(text, reason=None):
    """Together AI's completions have the text once more, in a delta."""
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "delta": {"content": text}}
    return sse({"id": "c", "object": "completion.chunk", "created": 1, "model": "m", "choices": [choice]})


@pytest.mark.parametrize("name", ["auto", "openai-completions"])
def test_completions_that_hold_the_delta_of_chat_too_are_completions(name):
    frames = [together("hel"), together("lo", "stop"), DONE]
    response = assert_laws(b"".join(frames), frames, name)
    assert (response.dialect, response.text, response.finish_reason) == ("openai-completions", "hello", "stop")
    assert (response.diagnostics, len(response.parts)) == ((), 1)


def test_what_may_be_of_several_dialects_is_taken_as_that_of_the_named_one():
    """Azure's completions begin with the filter's results in a chunk without choices, as those of its chat do."""
    filtered = sse(
        {"id": "", "object": "", "created": 0, "model": "", "choices": [], "prompt_filter_results": [{"a": 1}]}
    )
    text = {"index": 0, "text": "hello", "finish_reason": "stop"}
    frames = [filtered, sse({"id": "c", "object": "text_completion", "choices": [text]}), DONE]
    response = assert_laws(b"".join(frames), frames, "openai-completions")
    assert (response.text, [part.kind for part in response.parts]) == ("hello", ["text"])
    assert response.to_native()["prompt_filter_results"] == [{"a": 1}]


def test_a_right_name_gives_no_note_even_if_other_things_come_first():
    for body in (HELLO + STOP, UNDECIDED + HELLO, b": ping\n\n" + HELLO):
        assert notes(decode([body], "openai-chat")) == []


# Payloads instead of bytes


def test_payloads_may_be_fed_as_mappings():
    payloads = [chunk({"content": "hel"}), types.MappingProxyType(chunk({"content": "lo"})), chunk({}, finish_reason="stop")]  # fmt: skip
    for name in ("auto", "openai-chat"):
        response = fold(payloads, name)
        assert response.text == "hello"
        assert response.finish_reason == "stop"
        assert response.ended == "clean", "objects that an SDK hands out end where they end"
        assert response.dialect == "openai-chat"


@pytest.mark.parametrize(
    ("payloads", "mark"),
    [
        ([{"type": "message_start", "message": {"id": "m", "content": []}}, {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}], {"type": "message_stop"}),
        ([{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}], {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
        ([{"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}}], {"type": "message-end", "delta": {"finish_reason": "COMPLETE"}}),
    ],
    ids=["anthropic-messages", "ag-ui", "cohere-v2"],
)  # fmt: skip
def test_an_end_mark_that_is_a_payload_is_missed_where_it_did_not_come(payloads, mark):
    for given in (payloads, [*payloads, mark]):
        as_bytes = fold([sse(payload) for payload in given])
        assert fold(given).ended == as_bytes.ended == ("clean" if mark in given else "eof")


def test_payloads_mean_what_their_bytes_mean():
    payloads = [chunk({"content": "a\ud83d"}), chunk({"content": "\ude00"}), chunk({"tool_calls": [{"index": 0, "id": "i", "function": {"name": "f", "arguments": "{}"}}]})]  # fmt: skip
    told = decode([*payloads])
    read = decode([b"".join(sse(payload, ascii_only=True) for payload in payloads)])
    assert told == read


def test_payloads_are_told_apart_though_they_have_no_bytes():
    """The same reasoning under two names is taken once in a payload, and again in the next."""
    folder = Folder()
    for said in ("a", "a", "b"):
        folder.feed(chunk({"reasoning_content": said, "reasoning": said}))
    assert folder.close().reasoning == "aab"


def test_a_payload_is_not_changed():
    payload = chunk({"content": "a", "odd": {"x": [1]}}, logprobs={"content": [{"token": "a"}]})
    before = json.dumps(payload)
    fold([payload, payload, HELLO and payload])
    assert json.dumps(payload) == before


@pytest.mark.parametrize("first", [HELLO, chunk({"content": "x"})], ids=["bytes first", "payload first"])
def test_bytes_and_payloads_do_not_mix(first):
    other = chunk({"content": "y"}) if isinstance(first, bytes) else HELLO
    for reader in (Decoder(), Folder()):
        reader.feed(first)
        with pytest.raises(TypeError, match="bytes"):
            reader.feed(other)
        assert reader.feed(first), "the reader goes on"


@pytest.mark.parametrize("wrong", ["data: {}\n\n", 5, None, ["x"], [{}], object(), 1.5])
def test_what_is_neither_bytes_nor_a_mapping_is_refused(wrong):
    for reader in (Decoder(), Folder()):
        with pytest.raises(TypeError):
            reader.feed(wrong)
        with pytest.raises(TypeError):
            reader.feed(HELLO) and reader.feed(wrong)


# Life


def test_close_may_be_called_again_and_feed_may_not():
    decoder = Decoder()
    decoder.feed(HELLO)
    assert decoder.close()[-1] == MessageStop("eof")
    assert decoder.close() == []
    for data in (b"", HELLO, {}):
        with pytest.raises(ValueError, match="after close"):
            decoder.feed(data)


def test_a_folder_gives_the_same_response_again_and_takes_nothing_after_it():
    folder = Folder()
    folder.feed(HELLO)
    response = folder.close()
    assert folder.close() is folder.snapshot() is response
    assert folder.close(OSError("late")) is response
    for events in (True, False):
        with pytest.raises(ValueError, match="after close"):
            folder.feed(b"", events)


def test_feed_without_events_folds_the_same_and_gives_none():
    quiet, told = Folder(), Folder()
    for frame in (HELLO, HELLO, HELLO, STOP, DONE):
        assert quiet.feed(frame, events=False) == []
        assert told.feed(frame) != [] or frame is DONE
        assert quiet.snapshot() == told.snapshot()
    assert quiet.close() == told.close()


def test_a_folder_may_be_closed_with_what_ended_the_input():
    failure = ConnectionResetError("peer")
    folder = Folder()
    folder.feed(HELLO)
    response = folder.close(failure)
    assert (response.ended, response.truncated, response.text) == ("error", True, "hello")
    assert (response.error.origin, response.error.type, response.error.message) == (
        "transport",
        "ConnectionResetError",
        "peer",
    )
    assert response.error.exception is failure
    assert response.finish_reason is None, "only a provider's error is a finish reason"


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GeneratorExit(), SystemExit()])
def test_a_folder_closed_by_an_interruption_is_cancelled(error):
    folder = Folder()
    folder.feed(HELLO)
    response = folder.close(error)
    assert (response.ended, response.truncated, response.error) == ("cancelled", True, None)


def test_an_error_after_the_finish_leaves_the_reason():
    folder = Folder()
    folder.feed(HELLO + STOP)
    response = folder.close(OSError())
    assert (response.ended, response.truncated, response.finish_reason) == ("error", False, "stop")


# How it ended


def answers(*reasons):
    """A payload of Gemini's with so many answers."""
    parts = {"content": {"role": "model", "parts": [{"text": "a"}]}}
    return {"candidates": [{"index": at, **parts, "finishReason": reason} for at, reason in enumerate(reasons)]}


@pytest.mark.parametrize(
    ("reasons", "ended", "truncated"),
    [
        ([("STOP", None)], "eof", True),
        ([(None, "STOP"), ("STOP",)], "clean", False),
        ([(None, None, None), ("STOP", None, "MAX_TOKENS")], "eof", True),
    ],
)
def test_one_of_several_answers_that_is_over_does_not_end_the_others(reasons, ended, truncated):
    """Where the end of the body is the end, a reason for each shows that it was not cut."""
    frames = [sse(answers(*told)) for told in reasons]
    response = assert_laws(b"".join(frames), frames)
    assert (response.dialect, response.ended, response.truncated) == ("gemini", ended, truncated)
    again = chunkfold.Response.from_native(response.to_native())
    assert (again.ended, again.truncated) == (ended, truncated)


@pytest.mark.parametrize(
    ("body", "ended", "truncated"),
    [
        (HELLO + STOP + DONE, "clean", False),
        (HELLO + STOP, "eof", False),
        (HELLO + DONE, "clean", False),
        (HELLO, "eof", True),
        (b"", "eof", True),
        (DONE, "clean", False),
        (b": ping\n\n", "eof", True),
        (b": a\n\n: b\n\n" + DONE, "clean", False),
        (json.dumps({"object": "chat.completion", "choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}).encode(), "clean", False),
    ],
)  # fmt: skip
def test_how_the_bytes_ended(body, ended, truncated):
    response = assert_laws(body, [body[at : at + 1] for at in range(len(body))])
    assert (response.ended, response.truncated, response.error) == (ended, truncated, None)


@pytest.mark.parametrize("mark", [b"data: [DONE]", b"data:[DONE]\n", b"data: [DONE] \n\n", b"data: [DONE]\r\n\r\n", b"data: [DONE] bye\n\n"])  # fmt: skip
def test_the_end_mark_in_all_its_forms(mark):
    assert fold([HELLO + mark]).ended == "clean"


def test_an_end_mark_before_the_dialect_is_known_counts():
    assert fold([DONE + HELLO]).ended == "clean"


def test_reading_goes_on_after_the_end_mark():
    response = fold([HELLO + DONE + chat({"content": " again"}) + STOP])
    assert response.text == "hello again"
    assert response.finish_reason == "stop"


def test_text_is_never_protocol():
    for text in ("[DONE]", "data: [DONE]\n\n", '{"error": "x"}', "event: error\n", "\n\n"):
        response = fold([chat({"content": text}), chat({"content": text}), STOP])
        assert response.text == text * 2
        assert response.error is None
        assert response.ended == "eof"


# What is odd


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (b'error: {"message": "boom", "type": "server_error"}\n\n', "server_error", "boom"),
        (b'error:{"error": {"message": "boom", "type": "server_error"}}\n\n', "server_error", "boom"),
        (b"error: plain words\n\n", None, "plain words"),
        (b"event: error\ndata: plain words\n\n", None, "plain words"),
        (b'{"error": {"message": "boom", "type": "server_error"}}\n', "server_error", "boom"),
    ],
)
@pytest.mark.parametrize("before", [b"", HELLO])
def test_errors_told_beside_the_frames_are_errors(line, kind, message, before):
    response = assert_laws(before + line, [before + line])
    assert (response.error.type, response.error.message, response.error.origin) == (kind, message, "provider")
    assert response.finish_reason == "error"
    assert response.text == ("hello" if before else "")
    assert not response.truncated


@pytest.mark.parametrize("text", [b"goodbye", b"<html>sorry</html>", b"{broken", b"]"])
def test_garbage_after_the_stream_is_kept_as_an_unknown_part_and_spoils_nothing(text):
    response = assert_laws(HELLO + STOP + text + b"\n\n", [HELLO, STOP + text[:3], text[3:] + b"\n\n"])
    assert response.text == "hello"
    assert response.finish_reason == "stop"
    assert response.error is None
    kept = [part.payload for part in response.parts if part.kind == "unknown"]
    noted = [note.kind for note in response.diagnostics]
    assert kept == [text.decode()] or "frame_not_json" in noted
    assert noted


def test_fields_of_events_that_mean_nothing_are_noted_by_name():
    events = decode([b"status: 200\n" + HELLO + b"x-trace: 7\n" + STOP, DONE])
    assert notes(events) == ["unknown_field", "unknown_field"]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["hello"]
    assert "200" not in str([event.to_dict() for event in events if isinstance(event, DiagnosticEvent)])


@pytest.mark.parametrize("data", [b"5", b'"text"', b"true", b"[1]"])
def test_a_payload_that_is_no_object_is_noted(data):
    response = fold([HELLO + b"data: " + data + b"\n\n" + STOP])
    assert response.text == "hello"
    assert [note.kind for note in response.diagnostics] == ["payload_not_object"]


@pytest.mark.parametrize("data", [b"null", b"[]", b'""', b""])
def test_a_payload_that_says_nothing_is_not_noted(data):
    response = fold([HELLO + b"data: " + data + b"\n\n" + STOP])
    assert (response.text, response.diagnostics) == ("hello", ())


def test_a_list_of_payloads_in_one_frame_is_so_many_payloads():
    assert fold([sse([chunk({"content": "a"}), chunk({"content": "b"})]), STOP]).text == "ab"


def test_null_and_empty_frames_say_nothing():
    events = decode([b"data: null\n\ndata:\n\ndata: \n\nevent: x\n\n" + HELLO])
    assert notes(events) == []
    assert kinds(events)[:3] == ["message_start", "part_start", "text_delta"]


@pytest.mark.parametrize("tail", [b" trailing", b"}", b" {}"])
def test_what_stands_behind_the_payload_of_a_frame_is_forgiven_and_noted(tail):
    response = fold([HELLO, b"data: " + json.dumps(chunk({"content": "!"})).encode() + tail + b"\n\n", STOP])
    assert response.text == "hello!"
    assert [note.kind for note in response.diagnostics] == ["trailing_garbage"]


def test_notes_say_the_number_of_the_frame():
    events = decode([HELLO + b"data: x\n\n" + HELLO + b"data: y\n\n"])
    assert [event.diagnostic.frame for event in events if isinstance(event, DiagnosticEvent)] == [1, 3]


def test_notes_never_hold_text_of_the_answer():
    secret = "grandmother"
    bodies = [
        b'data: {"choices":[{"index":0,"delta":{"content":"grandmother"}}]} grandmother\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"grandmother\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"grandmother\xff"}}]}\n\n',
        b'data: {"choices":[{"index":0,"delta":{"content":"grandmother\\ud800"}}]}\n\n',
        b'data: "grandmother"\n\n',
    ]
    for body in bodies:
        events = decode([HELLO + body + STOP])
        assert notes(events)
        assert secret not in str([event.to_json() for event in events if isinstance(event, DiagnosticEvent)])


# Options


def test_think_tags_are_split_on_request_only():
    frames = [chat({"content": piece}) for piece in ("<th", "ink>why", "</think", ">so")] + [STOP]
    assert fold(frames).text == "<think>why</think>so"
    split = fold(frames, split_think_tags=True)
    assert (split.reasoning, split.text) == ("why", "so")


def test_cumulative_texts_are_taken_apart_on_request_only():
    frames = [chat({"content": text}) for text in ("a", "ab", "abc")] + [STOP]
    assert fold(frames).text == "aababc"
    events = decode(frames, cumulative_deltas=True)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["a", "b", "c"]


def test_options_have_their_promised_defaults():
    frames = [chat({"content": "<think>a"}), chat({"content": "<think>ab"}), STOP]
    chosen = {"split_think_tags": False, "cumulative_deltas": None, "limits": Limits()}
    assert decode(frames, **chosen) == decode(frames)
    assert fold(frames, policy=chunkfold.Policy(), **chosen) == fold(frames)
