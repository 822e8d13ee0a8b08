"""Answers that are JSON, streamed in pieces: what the tests of typed answers share."""

from __future__ import annotations

import json

from chunkfold import stream
from chunkfold.events import TextDelta


def chat(text):
    choice = {"index": 0, "delta": {"content": text}}
    return b"data: %s\n\n" % json.dumps({"id": "c", "model": "m", "choices": [choice]}).encode()


def pieces_of(text, size=1):
    return [chat(text[at : at + size]) for at in range(0, len(text), size)]


def partial_after(text, output_type):
    """The partial value when that much of the answer has come."""
    events = stream(pieces_of(text), output_type=output_type)
    for _ in text:
        while not isinstance(next(events), TextDelta):
            pass
    return events.partial()


def output_of(text, output_type):
    with stream(pieces_of(text, 7), output_type=output_type) as events:
        for _ in events:
            pass
        return events.output()
