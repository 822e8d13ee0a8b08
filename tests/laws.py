"""What holds for every stream, whatever is in it."""

from __future__ import annotations

import contextlib
import pickle
from typing import Any

import pytest

import chunkfold
from chunkfold import Decoder, Folder, LimitExceeded, StreamAccumulator, likeness
from chunkfold.events import (
    ErrorEvent,
    Finish,
    MessageStart,
    MessageStop,
    PartStart,
    PartStop,
    UnknownEvent,
    event_from_json,
)
from chunkfold.response import Response


def decode(pieces: list[bytes], dialect: str = "auto", **options: Any) -> list[Any]:
    """All events of a stream that comes in these pieces."""
    decoder = Decoder(dialect, **options)
    events: list[Any] = []
    for piece in pieces:
        events += decoder.feed(piece)
    return events + decoder.close()


def fold(pieces: list[bytes], dialect: str = "auto", events: bool = False, **options: Any) -> Response:
    folder = Folder(dialect, **options)
    for piece in pieces:
        folder.feed(piece, events=events)
    return folder.close()


def rebuild(events: list[Any]) -> Response:
    """The response that a journal of events gives."""
    accumulator = StreamAccumulator()
    for event in events:
        accumulator.observe(event)
    return accumulator.finalize()


def outcome(pieces: list[bytes], dialect: str, events: bool, **options: Any) -> tuple[list[Any], Response, str | None]:
    """The events, the response, and the limit that was passed, if one was."""
    folder = Folder(dialect, **options)
    seen: list[Any] = []
    try:
        for piece in pieces:
            seen += folder.feed(piece, events=events)
        seen += folder.finish()
    except LimitExceeded as breach:
        assert breach.response is folder.snapshot() is folder.close()
        return seen + list(breach.events), breach.response, str(breach)
    return seen, folder.close(), None


def assert_laws(body: bytes, pieces: list[bytes], dialect: str = "auto", **options: Any) -> Response:
    """All laws that need no knowledge of what *body* should mean. *pieces* are another cutting of it."""
    events, response, breach = outcome([body], dialect, True, **options)
    assert outcome(pieces, dialect, True, **options) == (events, response, breach)
    assert outcome([body], dialect, False, **options)[1:] == (response, breach)
    assert outcome(pieces, dialect, False, **options)[1:] == (response, breach)
    assert_same_value(response)
    journal = [event.to_json() for event in events]
    assert [event_from_json(line) for line in journal] == events
    if breach is None:
        assert decode(pieces, dialect, **options) == events
        assert_orderly(events)
        assert rebuild(events) == response
        assert rebuild([event_from_json(line) for line in journal]) == response
        assert_honest(response, events)
    return response


def assert_templates_change_nothing(pieces: list[bytes], dialect: str = "auto", **options: Any) -> None:
    """Frames that are recognised by what is around their text mean what they mean when they are read in full."""
    fast = _every_way(pieces, dialect, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(likeness, "_IS_SLOW", True)
        slow = _every_way(pieces, dialect, **options)
    assert fast == slow
    assert fast[1:] == (fast[1],) * (len(fast) - 1), "the ways to fold differ"


def _every_way(pieces: list[bytes], dialect: str, **options: Any) -> tuple[Any, ...]:
    """The events, and the response by all ways to fold."""
    body = b"".join(pieces)
    if b"\n" not in body and b"\r" not in body:
        pieces = [body]  # pieces without any line end may look like lines that lost theirs
    events, response, _ = outcome(pieces, dialect, True, **options)
    _, quiet, _ = outcome(pieces, dialect, False, **options)
    try:
        pulled = chunkfold.fold(iter(pieces), dialect, **options)
    except LimitExceeded as breach:
        pulled = breach.response
    told: list[Any] = []
    stream = chunkfold.stream(iter(pieces), dialect, **options)
    with contextlib.suppress(LimitExceeded):
        told.extend(stream)
    assert told == events, "stream() hands out other events than the folder"
    assert _looked_at(pieces, dialect, **options) == events, "to look at the response changes the events"
    return events, response, quiet, pulled, stream.response()


def _looked_at(pieces: list[bytes], dialect: str, **options: Any) -> list[Any]:
    """The events of a stream whose response is looked at now and then."""
    told: list[Any] = []
    stream = chunkfold.stream(iter(pieces), dialect, **options)
    with contextlib.suppress(LimitExceeded):
        for event in stream:
            told.append(event)
            if len(told) % 7 == 0:
                stream.response()
    return told


def assert_same_value(value: Any) -> None:
    """A value is itself again after JSON and after pickling, and its `repr` is one line."""
    text = value.to_json()
    assert "\n" not in text
    assert type(value).from_json(text) == value
    assert type(value).from_dict(value.to_dict()) == value
    assert pickle.loads(pickle.dumps(value)) == value
    assert "\n" not in repr(value)


def assert_orderly(events: list[Any]) -> None:
    """Parts are numbered from 0 without gaps, and `MessageStop` comes once, last."""
    assert [type(event) for event in events].count(MessageStop) == 1
    assert type(events[-1]) is MessageStop
    parts: dict[int, int] = {}
    stopped: set[tuple[int, int]] = set()
    for event in events:
        if event.type == "message_reset":
            parts = {choice: min(count, event.from_part) for choice, count in parts.items()}
            stopped = {(choice, index) for choice, index in stopped if index < event.from_part}
        elif isinstance(event, PartStart):
            assert event.index == parts.get(event.choice, 0)
            parts[event.choice] = event.index + 1
        elif isinstance(event, UnknownEvent):
            stopped.add((0, parts.get(0, 0)))
            parts[0] = parts.get(0, 0) + 1
        elif getattr(event, "index", None) is not None:
            assert event.index < parts.get(event.choice, 0), f"{event.type} for a part that was never started"
            if isinstance(event, PartStop):
                assert (event.choice, event.index) not in stopped, "a part was stopped twice"
                stopped.add((event.choice, event.index))
    started = {(choice, index) for choice, count in parts.items() for index in range(count)}
    assert stopped == started, "every part is stopped"


def assert_honest(response: Response, events: list[Any]) -> None:
    """No end is made up: what counts as said was said."""
    assert response.ended == events[-1].ended
    fresh = [at for at, event in enumerate(events) if event.type == "message_reset" and event.reason == "attempt"]
    told = [event.error for event in events[fresh[-1] if fresh else 0 :] if isinstance(event, ErrorEvent)]
    assert (response.ended == "error") == bool(told)
    assert (response.error is None) == (not told)
    provider = any(error.origin == "provider" for error in told)
    if response.finish_reason is not None and response.finish_reason != "error":
        assert any(isinstance(event, Finish) and event.choice == 0 for event in events)
    if provider:
        assert response.finish_reason == "error"
        assert not response.truncated
    if not provider and not any(isinstance(event, Finish) for event in events) and response.ended != "clean":
        assert response.truncated
    if response.truncated:
        assert response.ended != "clean"
    if response.id is not None:
        assert any(isinstance(event, MessageStart) and event.id == response.id for event in events)
    for call in response.tool_calls:
        assert call.status != "open"
        if call.is_usable and call.type != "custom":
            assert isinstance(call.arguments, dict)
        else:
            assert call.arguments_or("no") == (call.raw_arguments if call.is_usable else "no")
