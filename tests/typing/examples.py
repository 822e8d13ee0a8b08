"""How users write it, checked by mypy: the public types must narrow and complete as promised."""

from __future__ import annotations

from typing import assert_type

import chunkfold
from chunkfold import events


def answer(body: bytes) -> str:
    response = chunkfold.fold(body, split_think_tags=True, limits=chunkfold.Limits(tool_calls=None))
    assert_type(response.text, str)
    assert_type(response.usage, chunkfold.Usage | None)
    assert_type(response.tool_calls, tuple[chunkfold.ToolCall, ...])
    for call in response.tool_calls:
        if call.status == "complete":
            print(call.name, call.arguments)
    for part in response.parts:
        match part:
            case chunkfold.TextPart(text=text):
                assert_type(text, str)
            case chunkfold.ReasoningPart(signature=signature):
                assert_type(signature, str | None)
            case _:
                pass
    return response.text


def pushed(pieces: list[bytes]) -> chunkfold.Response:
    folder = chunkfold.Folder("anthropic-messages")
    for piece in pieces:
        for event in folder.feed(piece):
            if isinstance(event, events.TextDelta):
                assert_type(event.text, str)
    assert_type(folder.snapshot(), chunkfold.Response)
    return folder.close()


async def watched(source: object) -> chunkfold.Message:
    async with chunkfold.astream(source) as stream:
        async for event in stream:
            if events.is_output(event):
                break
    return stream.response().message


def told_by_their_words(response: chunkfold.Response, happened: list[events.Event]) -> str:
    """`type` of an event and `kind` of a part tell a type checker which one it is."""
    text = ""
    for event in happened:
        if event.type == "text_delta":
            assert_type(event, events.TextDelta)
            text += event.text
        elif event.type == "message_reset":
            assert_type(event, events.MessageReset)
            text = ""
    for part in response.parts:
        if part.kind == "text":
            assert_type(part, chunkfold.TextPart)
        elif part.kind == "tool_call":
            assert_type(part, chunkfold.ToolCall)
    return text


def misspelled(body: bytes) -> None:
    """What the package does not have is an error to a type checker: strict mypy complains of a comment in vain."""
    chunkfold.foldd(body)  # type: ignore[attr-defined]
    assert_type(chunkfold.presets.behest, chunkfold.Policy)
    assert_type(chunkfold.resilience.Retry(times=1).times, int)
