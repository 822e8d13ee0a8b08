"""What an application says about a message, in several chunks."""

from __future__ import annotations

import pytest

from tests.laws import assert_laws
from tests.streams import sse


def test_metadata_is_merged_as_deep_as_it_has_objects():
    """The AI SDK merges objects inside objects; lists and all else give way to what comes later."""
    body = b"".join(
        map(
            sse,
            (
                {"type": "start", "messageMetadata": {"cost": {"in": 1}, "tags": ["a", "b"], "seen": None}},
                {"type": "message-metadata", "messageMetadata": {"cost": {"out": {"text": 2}}, "tags": ["c"]}},
                {"type": "finish", "messageMetadata": {"cost": {"out": {"audio": 3}, "in": 4}, "done": True}},
            ),
        )
    )
    response = assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])
    assert response.to_native()["metadata"] == {
        "cost": {"in": 4, "out": {"text": 2, "audio": 3}},
        "tags": ["c"],
        "seen": None,
        "done": True,
    }


def folded(*chunks):
    body = b"".join(map(sse, chunks))
    return assert_laws(body, [body[at : at + 7] for at in range(0, len(body), 7)])


def test_blank_fields_beside_the_reason_are_no_error():
    response = folded(
        {"type": "finish-step"}, {"type": "finish", "finishReason": "stop", "errorText": None, "error": ""}
    )
    assert (response.error, response.finish_reason) == (None, "stop")


def test_starts_and_ends_may_have_a_piece():
    response = folded(
        {"type": "reasoning-start", "id": "r", "delta": "H"},
        {"type": "reasoning-end", "id": "r", "delta": "m"},
        {"type": "text-start", "id": "t", "delta": "H"},
        {"type": "text-end", "id": "t", "delta": "i"},
        {"type": "tool-input-start", "toolCallId": "c", "toolName": "f", "inputTextDelta": '{"x":'},
        {"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": "1}"},
        {"type": "finish"},
    )
    assert (response.reasoning, response.text, len(response.parts)) == ("Hm", "Hi", 3)
    assert [(call.name, call.raw_arguments) for call in response.tool_calls] == [("f", '{"x":1}')]


START = {"type": "tool-input-start", "toolCallId": "c", "toolName": "f", "input": {"x": 1}}


@pytest.mark.parametrize(
    ("later", "text"),
    [
        ([], '{"x":1}'),
        ([{"type": "tool-input-delta", "toolCallId": "c", "inputTextDelta": '{"y":2}'}], '{"y":2}'),
        ([{"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {"z": 3}}], '{"z":3}'),
        ([{"type": "tool-input-available", "toolCallId": "c", "toolName": "f"}], '{"x":1}'),
    ],
)
def test_the_whole_input_of_a_start_stands_if_no_other_comes(later, text):
    """An imitator's start has it all; taken for a start alone it would be a call without input."""
    (call,) = folded(START, *later, {"type": "finish"}).tool_calls
    assert (call.status, call.raw_arguments.replace(" ", "")) == ("complete", text)
