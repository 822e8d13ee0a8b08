"""
What says nothing changes nothing: a field that is `null`, `""` or `[]` is as good as none, wherever it stands.

Fields that a dialect knows are put into streams that have none of them, blank; the message has to stay what it was.
"""

from __future__ import annotations

import copy
import json
import random

import pytest

import chunkfold
from tests.test_fast_equals_slow import STREAMS, payload_in

BLANK = (None, "", [])
# What is in these is the model's, or what a tool gave: there an empty field is a field.
GIVEN = {
    "args", "parameters", "input", "arguments", "action", "executableCode", "executable_code", "inputTextDelta",
    "partial_json", "payload", "result", "output",
}  # fmt: skip


def objects_in(value, path=()):
    """The objects in *value*, and where they are; `*` is any place of a list."""
    if isinstance(value, dict):
        yield path, value
        for key, item in value.items():
            yield from objects_in(item, (*path, key))
    elif isinstance(value, list):
        for item in value:
            yield from objects_in(item, (*path, "*"))


def form(path, holder, payload):
    """What objects have to have in common to have the same fields."""
    kinds = [item if isinstance(item, str) else None for item in (payload.get("type"), holder.get("type"))]
    return (path, *kinds)


def payloads_of(frames):
    found = [payload_in(frame) for frame in frames]
    return [one[1] if one and isinstance(one[1], dict) else None for one in found]


KNOWN = {}
for dialect, frames in STREAMS:
    for payload in filter(None, payloads_of(frames)):
        for path, holder in objects_in(payload):
            KNOWN.setdefault((dialect, *form(path, holder, payload)), set()).update(holder)


def rebuilt(frames, payloads):
    for frame, payload in zip(frames, payloads, strict=True):
        if payload is None:
            yield frame
        else:
            before, _, after = payload_in(frame)
            yield before + json.dumps(payload).encode() + after


def with_blanks(dialect, payloads, rng):
    """The payloads with some fields more; which these are."""
    put = []
    payloads = copy.deepcopy(payloads)
    for payload in filter(None, payloads):
        for path, holder in list(objects_in(payload)):
            missing = KNOWN[dialect, *form(path, holder, payload)] - holder.keys()
            if missing and not GIVEN & {*path} and rng.random() < 0.05:
                key = rng.choice(sorted(missing))
                holder[key] = rng.choice(BLANK)
                put.append((path, key, holder[key]))
    return payloads, put


def summary(response):
    """What a stream says, but for what nobody understands."""
    usage = response.usage
    return {
        "facts": (response.id, response.model, response.ended, response.error and response.error.type),
        "usage": usage and (usage.input_tokens, usage.output_tokens, usage.total_tokens, usage.cached_input_tokens),
        "choices": [
            (
                choice.finish_reason,
                [
                    (
                        part.kind,
                        *(getattr(part, name, None) for name in ("text", "raw_arguments", "id", "name", "status")),
                    )
                    for part in choice.parts
                    if part.kind != "unknown"
                ],
            )
            for choice in response.choices
        ],
    }


# Payloads that are no dialect's become one by a name that the dialect knows.
STRANGE = {"zebra", "n"}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("dialect", sorted({dialect for dialect, _ in STREAMS}))
def test_a_field_that_says_nothing_changes_nothing(dialect, seed):
    tried = 0
    for number, (spoken, frames) in enumerate(STREAMS):
        if spoken != dialect or len(frames) > 400:
            continue
        payloads = payloads_of(frames)
        changed, put = with_blanks(dialect, payloads, random.Random(1000 * number + seed))
        if not put or any(STRANGE & {*payload} for payload in filter(None, payloads)):
            continue
        tried += 1
        expected = summary(chunkfold.fold(rebuilt(frames, payloads), dialect))
        assert summary(chunkfold.fold(rebuilt(frames, changed), dialect)) == expected, put
    assert tried or dialect not in {"openai-chat", "anthropic-messages", "openai-responses", "gemini"}


ERRORS = [
    {"message": "upstream closed", "code": 502},
    {"status": "error", "message": "no healthy upstream"},
    {"detail": "boom", "status_code": 503},
    {"error": {"message": "too many", "type": "server_error"}},
    {"object": "error", "message": "gone", "code": 500},
    {"error_msg": "bad", "error_code": 336},
    {"ThrottlingException": {"message": "slow down"}},
    {"errors": ["bad"]},
]
# What names an error or a payload itself.
NAMES = {"type", "event", "event_type", "object", "status", "status_code", "message", "code", "detail", "error"}


@pytest.mark.parametrize("dialect", sorted({dialect for dialect, _ in STREAMS}))
def test_an_error_beside_fields_that_say_nothing_is_an_error(dialect):
    """Some gateways write all the fields of a payload, those that an error has none of as `null`."""
    spoken = [frames for name, frames in STREAMS if name == dialect]
    first = next((frames[0] for frames in spoken if payloads_of(frames[:1])[0] and frames[0].startswith(b"data")), None)
    known = set().union(*(keys for form, keys in KNOWN.items() if form[:2] == (dialect, ())))
    if first is None:
        pytest.skip("binary frames, or no event without a name")
    for error in ERRORS:
        for lead in (b"data: ", b"event: error\ndata: "):
            told = chunkfold.fold(first + lead + json.dumps(error).encode() + b"\n\n", dialect).error
            for key in sorted(known - error.keys() - NAMES) if told else ():
                for blank in BLANK:
                    body = first + lead + json.dumps({**error, key: blank}).encode() + b"\n\n"
                    found = chunkfold.fold(body, dialect).error
                    assert found is not None, (error, key, blank)
                    assert (found.type, found.message, found.status) == (told.type, told.message, told.status)


def test_an_unknown_field_beside_a_streamed_argument_is_carried():
    def chunk(call):
        return b"data: " + json.dumps({"candidates": [{"content": {"parts": [{"functionCall": call}]}}]}).encode()

    piece = {"jsonPath": "$.n", "numberValue": 2, "confidence": 0.5}
    calls = [{"name": "f", "willContinue": True}, {"partialArgs": [piece], "willContinue": True}, {}]
    (call,) = chunkfold.fold(b"\n\n".join(map(chunk, calls)) + b"\n\n", "gemini").tool_calls
    assert (call.status, call.arguments, call.extra["confidence"]) == ("complete", {"n": 2}, 0.5)


def test_what_a_payload_is_known_by_may_stand_beside_blank_others():
    """llama.cpp's own payloads through a gateway that writes all fields of a completion."""
    frames = [{"content": "a"}, {"content": "b", "choices": None}, {"choices": [], "content": "c"}, {"content": "d"}]
    body = b"".join(b"data: " + json.dumps({**frame, "stop": False}).encode() + b"\n\n" for frame in frames)
    assert chunkfold.fold(body, "openai-completions").text == "abcd"


def test_a_block_without_a_type_is_what_its_field_says():
    for blank in BLANK[::2]:
        block = {"thinking": "", "text": blank}
        delta = {"thinking": "Hm."}
        body = b"".join(
            b"data: " + json.dumps(payload).encode() + b"\n\n"
            for payload in (
                {"type": "message_start", "message": {"id": "m"}},
                {"type": "content_block_start", "index": 0, "content_block": block},
                {"type": "content_block_delta", "index": 0, "delta": delta},
            )
        )
        assert [part.kind for part in chunkfold.fold(body, "anthropic-messages").parts] == ["reasoning"]


@pytest.mark.parametrize(
    ("dialect", "payload"),
    [
        ("anthropic-messages", {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": {}}}),
        ("cohere-v2", {"type": "message-start", "id": "c", "delta": {"message": {"content": {}, "tool_calls": {}}}}),
        ("openai-responses", {"type": "response.created", "response": {"id": "r", "object": "response", "output": {}}}),
        ("openai-chat", {"object": "chat.completion.chunk", "choices": [[]]}),
        ("openai-chat", {"object": "chat.completion.chunk", "choices": [{"delta": {"tool_calls": [[]]}}]}),
        ("gemini", {"candidates": [[]]}),
        ("gemini", {"candidates": "", "modelVersion": "g"}),
        ("bedrock-converse", {"contentBlockDelta": {"contentBlockIndex": 0, "delta": []}}),
        ("bedrock-converse", {"contentBlockStart": {"contentBlockIndex": 0, "start": ""}}),
        ("gemini-interactions", {"event_type": "interaction.created", "interaction": []}),
        ("mistral-conversations", {"type": "message.output.delta", "id": "m", "content": {}}),
        ("ollama", {"model": "m", "message": {"role": "assistant", "tool_calls": {}}, "done": False}),
        ("ollama", {"model": "m", "message": {"role": "assistant", "tool_calls": [[]]}, "done": False}),
    ],
)
def test_an_empty_list_and_an_empty_object_may_stand_for_each_other(dialect, payload):
    """A gateway in PHP writes `{}` as `[]`, one in Lua `[]` as `{}`. Cohere's start opened a call that nobody made."""
    assert chunkfold.fold([payload], dialect).parts == ()


def test_no_arguments_are_no_arguments_in_whatever_form():
    gemini = [{"candidates": [{"content": {"parts": [{"functionCall": {"name": "now", "args": []}}]}}]}]
    ollama = [{"model": "m", "message": {"tool_calls": [{"function": {"name": "now", "arguments": []}}]}, "done": True}]
    vercel = [{"type": "tool-input-available", "toolCallId": "i", "toolName": "now", "input": []}]
    for dialect, payloads in (("gemini", gemini), ("ollama", ollama), ("vercel-ui", vercel)):
        (call,) = chunkfold.fold(payloads, dialect).tool_calls
        assert (call.name, call.raw_arguments, call.status, call.arguments) == ("now", "", "empty", {})


def test_no_input_erases_none():
    start = {"type": "tool-input-start", "toolCallId": "i", "toolName": "f"}
    piece = {"type": "tool-input-delta", "toolCallId": "i", "inputTextDelta": '{"a":1}'}
    for blank in BLANK:
        end = {"type": "tool-input-available", "toolCallId": "i", "toolName": "f", "input": blank}
        (call,) = chunkfold.fold([start, piece, end], "vercel-ui").tool_calls
        assert (call.raw_arguments, call.status) == ('{"a":1}', "complete")


@pytest.mark.parametrize("blank", [*BLANK, {}])
def test_a_blank_id_or_number_of_a_later_piece_is_none(blank):
    first = {"type": "message.output.delta", "id": "m", "output_index": 0, "content_index": 0, "content": "a"}
    response = chunkfold.fold([first, {**first, "id": blank, "content": "b"}], "mistral-conversations")
    assert [part.text for part in response.parts] == ["ab"]
    first = {"event_type": "step.delta", "index": 1, "delta": {"type": "text", "text": "a"}}
    second = {**first, "index": blank, "delta": {"type": "text", "text": "b"}}
    assert [part.text for part in chunkfold.fold([first, second], "gemini-interactions").parts] == ["ab"]
