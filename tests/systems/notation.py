"""
A short notation for streams, which the statements about the five systems are written in.

`T` text, `K` thinking, `S` the start of a call, `A` argument text, `E` the end of a call, `F` a finish reason, `U` usage.
`events` makes our events of them, `chat` the bytes of an OpenAI stream. Calls are numbered as the provider numbers them.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from chunkfold import Folder, Policy, StreamAccumulator, Usage
from chunkfold.errors import PolicyError
from chunkfold.events import (
    Finish,
    MessageStop,
    PartStart,
    PartStop,
    ReasoningDelta,
    TextDelta,
    ToolArgumentsDelta,
    UsageUpdate,
)


class T(NamedTuple):
    text: str


class K(NamedTuple):
    text: str


class S(NamedTuple):
    number: int
    id: str | None
    name: str | None
    extra: dict[str, Any] = {}


class A(NamedTuple):
    number: int
    text: str


class E(NamedTuple):
    number: int


class F(NamedTuple):
    word: str


class U(NamedTuple):
    input: int | None
    output: int | None


REASONS = {
    "stop": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "tool_calls": "tool_calls",
    "content_filter": "content_filter",
    "refusal": "refusal",
    "pause_turn": "pause",
    "error": "error",
    "cancelled": "cancelled",
}


def events(*script: Any, ended: str | None = "eof", close: bool = True) -> list[Any]:
    """
    The events of a script. What is no tuple of the notation stands for itself.

    Text goes on until thinking or a call begins. A part that is still open is stopped at the end if *close*; the stream
    ends as *ended* says (`None`: it does not).
    """
    out: list[Any] = []
    places: dict[Any, int] = {}
    lane: tuple[str, int] | None = None
    count = 0
    started: list[int] = []

    def stop_lane() -> None:
        nonlocal lane
        if lane is not None:
            out.append(PartStop(0, lane[1]))
            started.remove(lane[1])
        lane = None

    for step in script:
        if isinstance(step, (T, K)):
            kind = "text" if isinstance(step, T) else "reasoning"
            if lane is None or lane[0] != kind:
                stop_lane()
                lane = (kind, count)
                out.append(PartStart(0, count, kind))
                started.append(count)
                count += 1
            out.append((TextDelta if kind == "text" else ReasoningDelta)(0, lane[1], step.text))
        elif isinstance(step, S):
            stop_lane()
            place = places.get(step.number)
            if place is None or place in started:
                place = places[step.number] = count
                count += 1
            started.append(place)
            extra = {"index": step.number, **step.extra}
            out.append(PartStart(0, place, "tool_call", step.id, step.name, "function", extra=extra))
        elif isinstance(step, A):
            if step.number not in places:
                places[step.number] = count
                count += 1
            out.append(ToolArgumentsDelta(0, places[step.number], step.text))
        elif isinstance(step, E):
            out.append(PartStop(0, places[step.number]))
            started.remove(places[step.number])
        elif isinstance(step, F):
            out.append(Finish(0, REASONS.get(step.word, "unknown"), step.word))
        elif isinstance(step, U):
            out.append(UsageUpdate(Usage(input_tokens=step.input, output_tokens=step.output)))
        else:
            out.append(step)
    if close:
        out += [PartStop(0, place) for place in started]
    return out if ended is None else [*out, MessageStop(ended)]


def fold(policy: Policy | None, *script: Any, **how: Any) -> Any:
    """The response to a script, whole even if the policy objects to it."""
    accumulator = StreamAccumulator(policy)
    for event in events(*script, **how):
        accumulator.observe(event)
    try:
        return accumulator.finalize()
    except PolicyError as error:
        return error.response


def objection(policy: Policy | None, *script: Any, **how: Any) -> PolicyError | None:
    """What the policy calls an error in a script."""
    accumulator = StreamAccumulator(policy)
    for event in events(*script, **how):
        accumulator.observe(event)
    try:
        accumulator.finalize()
    except PolicyError as error:
        return error
    return None


def calls(response: Any) -> list[tuple[Any, ...]]:
    """The calls as (id, name, arguments), the status instead of arguments that cannot be used."""
    return [(call.id, call.name, call.arguments_or(f"<{call.status}>")) for call in response.tool_calls]


# The wire


def sse(*payloads: Any, done: bool = True) -> bytes:
    """Payloads as server-sent events; text is taken as it is."""
    frames = [payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads]
    return "".join(f"data: {frame}\n\n" for frame in [*frames, *(["[DONE]"] if done else [])]).encode()


def chunk(delta: dict[str, Any] | None = None, finish: Any = None, index: int = 0, **top: Any) -> dict[str, Any]:
    """One OpenAI chunk with one choice, or with none if there is neither a delta nor a reason."""
    choices = (
        [] if delta is None and finish is None else [{"index": index, "delta": delta or {}, "finish_reason": finish}]
    )
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **top}


def call_delta(number: int | None, id_: Any = None, name: Any = None, arguments: Any = None) -> dict[str, Any]:
    """A delta with a fragment of one call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    call: dict[str, Any] = {"function": function}
    if number is not None:
        call["index"] = number
    if id_ is not None:
        call["id"] = id_
    return {"tool_calls": [call]}


def chat(*script: Any, done: bool = True) -> bytes:
    """The bytes of an OpenAI stream of a script."""
    return sse(*(_chunk_of(step) for step in script), done=done)


def _chunk_of(step: Any) -> Any:
    if isinstance(step, T):
        return chunk({"content": step.text})
    if isinstance(step, K):
        return chunk({"reasoning_content": step.text})
    if isinstance(step, S):
        return chunk(call_delta(step.number, step.id, step.name, ""))
    if isinstance(step, A):
        return chunk(call_delta(step.number, arguments=step.text))
    if isinstance(step, F):
        return chunk({}, step.word)
    if isinstance(step, U):
        counts = {"prompt_tokens": step.input, "completion_tokens": step.output}
        return chunk(usage={key: value for key, value in counts.items() if value is not None})
    return step


def anthropic(*payloads: dict[str, Any], stop: bool = True) -> bytes:
    """The bytes of an Anthropic stream: a `message_start`, the payloads, a `message_stop`."""
    message = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
    start = {"type": "message_start", "message": {**message, "usage": {"input_tokens": 10, "output_tokens": 1}}}
    ends = [{"type": "message_stop"}] if stop else []
    return "".join(
        f"event: {payload['type']}\ndata: {json.dumps(payload)}\n\n" for payload in [start, *payloads, *ends]
    ).encode()


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    """The payloads of one content block."""
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def text_block(index: int, *texts: str, start: str = "") -> list[dict[str, Any]]:
    return block(index, {"type": "text", "text": start}, *({"type": "text_delta", "text": text} for text in texts))


def tool_block(index: int, id_: str, name: str, *pieces: str, **start: Any) -> list[dict[str, Any]]:
    head = {"type": "tool_use", "id": id_, "name": name, "input": {}, **start}
    return block(index, head, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))


def message_delta(reason: str | None, usage: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": usage or {"output_tokens": 5}}


def fold_bytes(body: bytes, policy: Policy | None = None, **options: Any) -> Any:
    """The response to a body, whole even if the policy objects to it. Fed whole and in single bytes: it is the same."""
    responses = []
    for pieces in ([body], [body[at : at + 1] for at in range(len(body))]):
        folder = Folder(policy=policy, **options)
        for piece in pieces:
            folder.feed(piece)
        try:
            responses.append(folder.close())
        except PolicyError as error:
            responses.append(error.response)
    assert responses[0] == responses[1]
    return responses[0]


def events_of(body: bytes) -> list[Any]:
    """The events of a body."""
    folder = Folder()
    return [*folder.feed(body), *folder.finish()]
