"""Streams for tests: made by hypothesis, known by construction; and ways to break a body."""

from __future__ import annotations

import itertools
import json
from typing import Any, NamedTuple

from hypothesis import strategies as st

# Text that has fooled somebody: end marks, field names, tags, line ends that are none, halves of characters.
AWKWARD = [
    "[DONE]", "data: ", "\n\ndata: [DONE]\n\n", "event: error", '{"error": 1}', "</think>", "<think>", "\u2028", "\u2029", "\x85",
    "\r\n", "\x00", "\x7f", '"', "\\", "\\u", "\\ud83d", "\U0001f600", "\ufeff", "null", "é", "\U0010ffff", " ", "\t",
]  # fmt: skip
texts = st.lists(st.sampled_from(AWKWARD) | st.text(max_size=8), min_size=1, max_size=3).map("".join)
argument_texts = st.lists(
    st.sampled_from(['{"a":', "1", "}", "{}", '"', "\\u00e9", "[1,2]", " ", "é", "NaN", "1.10", '{"path":"x"}']),
    min_size=1,
    max_size=3,
).map("".join)


class Made(NamedTuple):
    """A stream whose meaning is known because it was made from it."""

    dialect: str
    frames: list[bytes]
    text: str
    reasoning: str
    calls: list[tuple[str, str]]
    """Id and argument text of each, in order of first appearance."""
    ends_at: int
    """How many frames there are up to the one that says that the message is done."""

    @property
    def body(self) -> bytes:
        return b"".join(self.frames)


def sse(payload: Any, event: str = "", *, ascii_only: bool = False) -> bytes:
    """One event as servers send it."""
    data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=ascii_only, separators=(",", ":"))
    name = f"event: {event}\n" if event else ""
    return f"{name}data: {data}\n\n".encode()


# What a model does, in no provider's words: ("text", more), ("reasoning", more), (call number, more arguments).
steps = st.lists(
    st.tuples(st.just("text"), texts)
    | st.tuples(st.just("reasoning"), texts)
    | st.tuples(st.integers(0, 2), argument_texts),
    max_size=12,
)


@st.composite
def chat_streams(draw: Any) -> Made:
    """`openai-chat`: interleaved calls, comments, usage after the finish, escapes or not."""
    ascii_only = draw(st.booleans())
    base = {"id": "c", "object": "chat.completion.chunk", "created": 7, "model": "m"}

    def frame(delta: dict[str, Any], **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": None, **more}
        return sse({**base, "choices": [choice]}, ascii_only=ascii_only)

    frames = [frame({"role": "assistant", "content": ""})]
    text, reasoning, calls = "", "", {}
    for what, more in draw(steps):
        if what == "text":
            text += more
            frames.append(frame({"content": more}))
        elif what == "reasoning":
            reasoning += more
            frames.append(frame({"reasoning_content": more}))
        else:
            first = {"id": f"id{what}", "type": "function"} if what not in calls else {}
            name = {"name": f"f{what}"} if what not in calls else {}
            calls[what] = calls.get(what, "") + more
            call = {"index": what, **first, "function": {**name, "arguments": more}}
            frames.append(frame({"tool_calls": [call]}))
        if draw(st.integers(0, 9)) == 0:
            frames.append(draw(st.sampled_from([b": keep-alive\n\n", b"\n", b":\n"])))
    reason = "tool_calls" if calls else draw(st.sampled_from(["stop", "length", "content_filter"]))
    frames.append(frame({}, finish_reason=reason))
    ends_at = len(frames)
    if draw(st.booleans()):
        frames.append(sse({**base, "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}))
    if draw(st.booleans()):
        frames.append(b"data: [DONE]\n\n")
    called = [(f"id{number}", arguments) for number, arguments in calls.items()]
    return Made("openai-chat", frames, text, reasoning, called, ends_at)


@st.composite
def anthropic_streams(draw: Any) -> Made:
    """`anthropic-messages`: blocks, pings amid them, calls with and without argument deltas."""
    ascii_only = draw(st.booleans())

    def frame(kind: str, **more: Any) -> bytes:
        return sse({"type": kind, **more}, kind, ascii_only=ascii_only)

    usage = {"input_tokens": 3, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": [], "usage": usage}
    frames = [frame("message_start", message={**message, "stop_reason": None})]
    text, reasoning, calls = "", "", []
    for index, (what, more) in enumerate(draw(steps)):
        if what == "text":
            text += more
            block: dict[str, Any] = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in halves(more)]
        elif what == "reasoning":
            reasoning += more
            block = {"type": "thinking", "thinking": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in halves(more)]
            deltas.append({"type": "signature_delta", "signature": f"s{index}"})
        else:
            calls.append((f"id{index}", more))
            block = {"type": "tool_use", "id": f"id{index}", "name": "f", "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *halves(more))]
        frames.append(frame("content_block_start", index=index, content_block=block))
        frames += [frame("content_block_delta", index=index, delta=delta) for delta in deltas]
        if draw(st.integers(0, 4)) == 0:
            frames.append(frame("ping"))
        frames.append(frame("content_block_stop", index=index))
    reason = "tool_use" if calls else draw(st.sampled_from(["end_turn", "max_tokens", "stop_sequence"]))
    frames.append(frame("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 9}))
    ends_at = len(frames)
    frames.append(frame("message_stop"))
    return Made("anthropic-messages", frames, text, reasoning, calls, ends_at)


def halves(text: str) -> list[str]:
    """*text* in two pieces, or in one if it is one character."""
    middle = (len(text) + 1) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


made_streams = chat_streams() | anthropic_streams()
cuts = st.lists(st.integers(0, 1 << 16), max_size=8)


def cut_at(body: bytes, places: list[int]) -> list[bytes]:
    """*body* cut at *places*, which may be any numbers."""
    edges = [0, *sorted({place % (len(body) + 1) for place in places}), len(body)]
    return [body[start:end] for start, end in itertools.pairwise(edges)]


# Breaking a body: every way is deterministic for a given source of randomness.

JUNK: list[Any] = [
    None, True, False, 0, 1, -1, 2.5, "", "x", [], ["x"], [[]], [{}], [None], {}, {"x": 1}, {"text": "x"}, 10**30, "\ud800",
    "@RAW@", "@RAW@",
]  # fmt: skip

# Text that Python's encoder would not write. The last is deeper than the limit.
_RAW = b'"@RAW@"'
RAW_JUNK = [
    b"NaN", b"-Infinity", b"1e400", b"-0.0", b"1.0", b"1" * 5000, b'"\\ud83d"', b'"\\udc00x"', b'"\\u0000"', b'{"a":1,"a":2}',
    b"[" * 400 + b"]" * 400, b'{"a":' * 700 + b"1" + b"}" * 700,
]  # fmt: skip


def broken(body: bytes, rng: Any) -> bytes:
    """*body* with one to three things wrong."""
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        body = rng.choice(_WAYS)(body, rng)
    return body


def _split(body: bytes) -> list[bytes]:
    """Pieces that are about a frame each; joined they are *body*."""
    for end in (b"\n\n", b"\r\n\r\n", b"\n"):
        if body.count(end) > 1:
            pieces = body.split(end)
            return [piece + end for piece in pieces[:-1]] + [pieces[-1]] * bool(pieces[-1])
    return [body]


def _cut(body: bytes, rng: Any) -> bytes:
    return body[: rng.randrange(len(body) + 1)]


def _repeat(body: bytes, rng: Any) -> bytes:
    frames = _split(body)
    at = rng.randrange(len(frames))
    return b"".join(frames[: at + 1] + [frames[at]] * rng.choice([1, 1, 3]) + frames[at + 1 :])


def _swap(body: bytes, rng: Any) -> bytes:
    frames = _split(body)
    one, other = rng.randrange(len(frames)), rng.randrange(len(frames))
    frames[one], frames[other] = frames[other], frames[one]
    return b"".join(frames)


def _drop(body: bytes, rng: Any) -> bytes:
    frames = _split(body)
    del frames[rng.randrange(len(frames))]
    return b"".join(frames)


def _spoil_bytes(body: bytes, rng: Any) -> bytes:
    at = rng.randrange(len(body) + 1)
    new = bytes(rng.choice(b'"{}[]\\\r\n:, \x00\xff\xed\xa0\x80dat') for _ in range(rng.randrange(4)))
    return body[:at] + new + body[at + rng.randrange(4) :]


def _change_json(body: bytes, rng: Any) -> bytes:
    """Another type somewhere in the JSON of one frame, or a key dropped or another one's value."""
    frames = _split(body)
    for at in rng.sample(range(len(frames)), len(frames)):
        start = frames[at].find(b"{")
        end = frames[at].rfind(b"}") + 1
        try:
            value = json.loads(frames[at][start:end])
            changed = json.dumps(_changed(value, rng), separators=(",", ":")).encode()
        except (ValueError, RecursionError):
            continue
        if _RAW in changed:
            changed = changed.replace(_RAW, rng.choice(RAW_JUNK))
        frames[at] = frames[at][:start] + changed + frames[at][end:]
        break
    return b"".join(frames)


def _changed(value: Any, rng: Any) -> Any:
    places = list(_places(value))
    if not places:
        return rng.choice(JUNK)
    holder, key = rng.choice(places)
    way = rng.randrange(6)
    if way == 0 and isinstance(holder, dict):
        del holder[key]
    elif way == 1:
        other, name = rng.choice(places)
        holder[key] = json.loads(json.dumps(other[name]))
    elif way == 2:
        holder[key] = [holder[key]]
    else:
        holder[key] = rng.choice(JUNK)
    return value


def _places(value: Any) -> Any:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield value, key
        yield from _places(item)


_WAYS = [_cut, _repeat, _swap, _drop, _spoil_bytes, _change_json, _change_json, _change_json]
