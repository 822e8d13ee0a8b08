"""
The faults, and what comes of each: the table that the tests go by and that the manual shows.

A stream fault strikes at one place of a body. What comes of it depends on how much had come: nothing that a person or
program gets something from (`before`), some of it (`after`; `opted` with `Retry(after_output=True)`), or everything up
to where the server says that it is done (`done`).
"""

from __future__ import annotations

import time
from email.utils import formatdate
from typing import Any, NamedTuple

from chunkfold import fold, resilience
from chunkfold import stream as plain_stream
from chunkfold.errors import IdleTimeout
from chunkfold.resilience._outlet import gives
from tests.resilience import bodies
from tests.resilience.server import Play

AGAIN = "asked again, whole"
RESET = "taken back, asked again, whole"
WHOLE = "whole"
PARTIAL = "all that came, `truncated`"
RAISED = "all that came; what the transport raised is raised"
IDLE = "all that came; `IdleTimeout` is raised"
TOLD = "all that came, with the error"
COMPLETE = "complete as it is"


class StreamFault(NamedTuple):
    """Something that happens to a stream."""

    name: str
    does: str
    before: str
    after: str
    opted: str
    done: str


STREAM_FAULTS = (
    StreamFault("close", "closes the connection as if the answer were complete", AGAIN, PARTIAL, RESET, COMPLETE),
    StreamFault("cut", "closes it amid the body", AGAIN, RAISED, RESET, COMPLETE),
    StreamFault("reset", "resets the connection", AGAIN, RAISED, RESET, COMPLETE),
    StreamFault("stall", "sends nothing more", AGAIN, IDLE, RESET, COMPLETE),
    StreamFault("pings", "sends nothing but comments from there on", AGAIN, IDLE, RESET, COMPLETE),
    StreamFault("pause", "sends nothing for 20 to 50 ms and goes on", WHOLE, WHOLE, WHOLE, WHOLE),
    StreamFault("error", "says in the stream that it is overloaded, and closes", AGAIN, TOLD, RESET, TOLD),
    StreamFault("garbage", "sends a frame that is no JSON, and goes on", WHOLE, WHOLE, WHOLE, WHOLE),
    StreamFault("noise", "sends 64 bytes of noise and resets the connection", AGAIN, RAISED, RESET, COMPLETE),
)
BY_NAME = {fault.name: fault for fault in STREAM_FAULTS}

_GARBAGE = b"data: {garbage\n\n"
_NOISE = bytes(range(128, 192))
# Long enough for a machine that does other things too, short enough to wait for a few hundred times.
STALL = 0.06


def applies(fault: StreamFault, dialect: str, place: int) -> bool:
    """True if the fault can strike there: frames go in between frames, comments are an affair of SSE."""
    between = place in bodies.boundaries(dialect)
    if fault.name == "error":
        return between and bodies.error_frame(dialect) is not None
    if fault.name in ("garbage", "pings"):
        return between and bodies.is_sse(dialect)
    if fault.name == "noise" and dialect.startswith("bedrock"):
        # Frames with checksums: noise behind a complete answer is an error all the same.
        return fold(bodies.body(dialect)[:place]).truncated
    return True


def struck(fault: StreamFault, dialect: str, place: int, pause: float = 0.03) -> tuple[Play, bytes]:
    """The play of a body that the fault strikes at *place*, and what of it can be folded."""
    body = bodies.body(dialect)
    sent = body[:place]
    if fault.name == "close":
        return Play(sent, "close"), sent
    if fault.name == "stall":
        return Play(sent, "hold"), sent
    if fault.name == "pings":
        return Play(sent, "hold", every=(b": ping\n\n", STALL / 4)), sent
    if fault.name == "pause":
        return Play(body, pauses=((place, pause),)), body
    if fault.name == "error":
        sent += bodies.error_frame(dialect) or b""
        return Play(sent, "close"), sent
    if fault.name == "garbage":
        sent += _GARBAGE + body[place:]
        return Play(sent), sent
    if fault.name == "noise":
        return Play(sent + _NOISE, "reset"), sent + _NOISE
    return Play(sent, fault.name), sent


def outcome(fault: StreamFault, sent: bytes, *, after_output: bool) -> str:
    """What the table says for a body of which so much was sent."""
    events = plain_stream(iter([sent]))
    has_output = any(gives(event) for event in events)
    partial = fold(sent)
    if fault.name in ("pause", "garbage"):
        return fault.done
    said_done = partial.finish_reason not in (None, "error") or (partial.ended == "clean" and partial.error is None)
    if said_done and fault.name != "error":
        return fault.done
    if not has_output:
        return fault.before
    return fault.opted if after_output else fault.after


def settings(fault: StreamFault, *, after_output: bool) -> dict[str, Any]:
    """The options of a stream that is to meet the fault."""
    timeouts = None
    if fault.name in ("stall", "pings"):
        timeouts = resilience.Timeouts(first=STALL, idle=STALL)
    elif fault.name == "pause":
        timeouts = resilience.Timeouts(first=5, idle=5, total=20)
    retry = resilience.Retry(times=8, base=0.001, cap=0.002, after_output=after_output)
    limits = resilience.RateLimitRetry(times=8, escalate_after=None, default=0.001, cap=0.002)
    return {"timeouts": timeouts, "retry": retry, "rate_limits": limits}


def check(fault: StreamFault, dialect: str, sent: bytes, seen: Any, *, after_output: bool, requests: int) -> None:
    """That what was seen is what the table says, and what holds for every outcome."""
    told = outcome(fault, sent, after_output=after_output)
    whole, partial = bodies.whole(dialect), fold(sent)
    seen.assert_lawful()
    assert (seen.resets > 0) == (told == RESET), told
    assert (requests > 1) == (told in (AGAIN, RESET)), (told, requests)
    if told in (AGAIN, RESET):
        assert seen.raised is None
        assert_same(seen.response, whole)
        assert [attempt.error is None for attempt in seen.attempts] == [False] * (requests - 1) + [True]
        assert seen.attempts[-1].response == seen.response
    elif told == WHOLE:
        assert seen.raised is None
        assert_same(seen.response, fold(sent))
        assert seen.response.text == whole.text
    elif told == COMPLETE:
        assert seen.raised is None
        assert seen.response.error is None
        assert not seen.response.truncated
        assert_same(seen.response, partial)
    else:
        assert_arrived(seen.response, partial)
        if told == IDLE:
            assert isinstance(seen.raised, IdleTimeout)
            assert seen.raised.response == seen.response
        elif told == RAISED:
            assert isinstance(seen.raised, Exception)
            # Noise may be an error of its own, and then the first one stands.
            assert seen.response.error.origin == "transport" or fault.name == "noise"
            assert seen.attempts[-1].error.exception is seen.raised
        else:
            assert seen.raised is None
            assert seen.response.truncated if told == PARTIAL else seen.response.error.retryable


def assert_same(response: Any, whole: Any) -> None:
    """The same answer; how it came is told in other fields."""
    assert response.choices == whole.choices
    assert (response.id, response.model, response.usage) == (whole.id, whole.model, whole.usage)
    assert (response.truncated, response.error) == (whole.truncated, whole.error)


def assert_arrived(response: Any, partial: Any) -> None:
    """Nothing is lost of what had come."""
    assert (response.text, response.reasoning) == (partial.text, partial.reasoning)
    assert [(part.kind, getattr(part, "raw_arguments", "")) for part in response.parts] == [
        (part.kind, getattr(part, "raw_arguments", "")) for part in partial.parts
    ]
    assert (response.id, response.model, response.usage) == (partial.id, partial.model, partial.usage)


# What is answered instead of a stream.


class Answer(NamedTuple):
    """An answer that is no stream, and what comes of it."""

    name: str
    status: int | None
    again: bool
    wait: float | None = None
    """Seconds that are waited for, where the server names them."""
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    error: str | None = None
    """The type of the error that stays, where nothing is asked again."""
    escalates: bool = False
    """Counts as a rate limit."""

    def play(self) -> Play:
        if self.status is None:
            return Play(then="refuse")
        made = {"DATE": formatdate(time.time() + 3, usegmt=True)}
        headers = tuple((name, made.get(value, value)) for name, value in self.headers)
        kind = "text/html" if self.body.startswith(b"<") else "application/json"
        return Play(self.body, status=self.status, headers=(("Content-Type", kind), *headers))


_RETRY_INFO = (
    b'{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded", "details": '
    b'[{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}]}}'
)
_LIMITED = b'{"error": {"type": "rate_limit_error", "message": "Rate limit reached"}}'
_SENTENCE = b'{"error": {"code": "rate_limit_exceeded", "message": "Rate limit reached. Please try again in 1m2.5s."}}'
_QUOTA = b'{"error": {"type": "insufficient_quota", "message": "You exceeded your current quota"}}'
_HTML = b"<!DOCTYPE html><html><body>Please log in</body></html>"

ANSWERS = (
    Answer("429, `Retry-After` in seconds", 429, True, 2.0, (("Retry-After", "2"),), _LIMITED, escalates=True),
    Answer("429, `Retry-After` as a date", 429, True, 3.0, (("Retry-After", "DATE"),), _LIMITED, escalates=True),
    Answer("429, `retry-after-ms`", 429, True, 0.25, (("retry-after-ms", "250"),), _LIMITED, escalates=True),
    Answer("429, `google.rpc.RetryInfo`", 429, True, 3.5, (), _RETRY_INFO, escalates=True),
    Answer("429, a wait in the sentence", 429, True, 62.5, (), _SENTENCE, escalates=True),
    Answer(
        "429, the reset of a spent counter",
        429,
        True,
        1.5,
        (("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1.5s")),
        _LIMITED,
        escalates=True,
    ),
    Answer(
        "429, an hour asked for, more than the cap",
        429,
        True,
        100.0,
        (("Retry-After", "3600"),),
        _LIMITED,
        escalates=True,
    ),
    Answer("429 without a word of when", 429, True, 5.0, (), _LIMITED, escalates=True),
    Answer("429, the quota is used up", 429, False, body=_QUOTA, error="insufficient_quota"),
    Answer("503 with `Retry-After`", 503, True, 4.0, (("Retry-After", "4"),), b"", escalates=True),
    Answer("503", 503, True, 5.0, escalates=True),
    Answer("529", 529, True, 5.0, (), b'{"type": "error", "error": {"type": "overloaded_error"}}', escalates=True),
    Answer("500", 500, True),
    Answer("500 with `Retry-After`", 500, True, 7.0, (("Retry-After", "7"),)),
    Answer("500 with `x-should-retry: false`", 500, False, headers=(("x-should-retry", "false"),)),
    Answer("502 with a page of HTML", 502, True, body=b"<html>Bad gateway</html>"),
    Answer("504", 504, True),
    Answer("408", 408, True),
    Answer("400", 400, False, body=b'{"error": {"type": "invalid_request_error"}}', error="invalid_request_error"),
    Answer("401", 401, False, body=b'{"error": {"type": "authentication_error"}}', error="authentication_error"),
    Answer("403", 403, False),
    Answer("404", 404, False),
    Answer("409", 409, False),
    Answer("413", 413, False),
    Answer("422", 422, False),
    Answer(
        "400 that calls itself overloaded",
        400,
        False,
        body=b'{"error": {"type": "overloaded_error"}}',
        error="overloaded_error",
    ),
    Answer("200 with a page of HTML", 200, False, body=_HTML, error="unrecognised"),
    Answer("200 with nothing", 200, True),
    Answer("200 with an error that passes", 200, True, body=b'{"error": {"type": "server_error", "message": "Oops"}}'),
    Answer(
        "200 with an error that stays",
        200,
        False,
        body=b'{"error": {"type": "invalid_request_error"}}',
        error="invalid_request_error",
    ),
    Answer("closes without an answer", None, True),
)
