"""
What loopctl's stream handler and rate limiter do (L29 to L53), statement by statement, with a clock that nobody waits
for. Where ours does otherwise, the name of the test says so.
"""

from __future__ import annotations

import asyncio
import math
from email.utils import formatdate

import pytest

from chunkfold import Usage, resilience
from chunkfold.errors import (
    FallbackFailed,
    FirstOutputTimeout,
    IdleTimeout,
    LimiterTimeout,
    RateLimitEscalation,
    TotalTimeout,
)
from chunkfold.events import MessageReset, Ping, TextDelta
from chunkfold.resilience import Fallback, RateLimiter, RateLimitRetry, Retry, Timeouts, TokenBucket, rate_limit_of
from chunkfold.resilience._failures import http_failure
from chunkfold.response import StreamError
from tests.resilience.fakes import (
    ANSWER,
    DONE,
    OVERLOADED,
    PING,
    ROLE,
    STOP,
    USAGE,
    WALL,
    AsyncRefusal,
    AsyncSource,
    FakeClock,
    Refusal,
    Server,
    chunk,
    text,
)

CUT = [ROLE]
EXACT = Retry(base=1, cap=8, jitter=0)
LIMITED = {"error": {"type": "rate_limit_error", "message": "Rate limit reached"}}


def run(server, clock, **options):
    """All events, the stream, and what was raised."""
    stream = resilience.stream(server, clock=clock, **{"retry": EXACT, **options})
    events = []
    try:
        for event in stream:
            events.append(event)  # noqa: PERF402 - what came before the error counts
    except Exception as error:  # noqa: BLE001 - it is what is looked at
        return events, stream, error
    return events, stream, None


def texts(events):
    return [event.text for event in events if isinstance(event, TextDelta)]


def limited(**headers):
    return lambda: Refusal(429, LIMITED, **headers)


class Limited:
    """A server that refuses for a rate limit so many times."""

    def __init__(self, times, then=ANSWER, **headers):
        self.times, self.then, self.headers, self.asked = times, then, headers, 0

    def __call__(self):
        self.asked += 1
        return Refusal(429, LIMITED, **self.headers) if self.asked <= self.times else iter(self.then)


# Attempts


def test_l29_there_is_one_attempt_more_than_repetitions_and_waits_double_up_to_the_cap():
    clock = FakeClock()
    server = Server(clock, CUT)
    _, stream, _ = run(server, clock, retry=Retry(times=5, base=1, cap=8, jitter=0))
    assert len(server.opened) == len(stream.attempts) == 6
    assert clock.waits == [1, 2, 4, 8, 8]


@pytest.mark.parametrize(("chance", "waits"), [(0.0, [0.9, 1.8]), (0.5, [1.0, 2.0]), (1.0, [1.1, 2.2])])
def test_l29_jitter_makes_a_wait_longer_or_shorter_by_its_part(chance, waits):
    clock = FakeClock(chance)
    run(Server(clock, CUT), clock, retry=Retry(times=2, base=1, cap=8, jitter=0.1))
    assert clock.waits == pytest.approx(waits)


def test_l29_no_wait_goes_past_the_total_deadline_and_none_is_begun_that_would():
    clock = FakeClock()
    server = Server(clock, [ROLE, 1, OSError("gone")])
    _, stream, error = run(server, clock, retry=Retry(times=9, base=2, cap=64, jitter=0), timeouts=Timeouts(total=10))
    # 1 s, wait 2, 1 s, wait 4, 1 s: at second 9 a wait of 8 would end too late.
    assert clock.waits == [2, 4]
    assert clock.time == 1009
    assert isinstance(error, OSError)
    assert stream.attempts[-1].wait is None


def test_l30_a_reset_comes_before_the_new_attempt_if_something_was_handed_out():
    clock = FakeClock()
    server = Server(clock, [ROLE, text("Hel")], ANSWER)
    events, stream, error = run(server, clock, retry=Retry(base=1, jitter=0, after_output=True))
    assert error is None
    resets = [place for place, event in enumerate(events) if event == MessageReset(0, "attempt")]
    assert len(resets) == 1
    assert texts(events[: resets[0]]) == ["Hel"]
    assert texts(events[resets[0] :]) == ["Hel", "lo"]
    assert stream.response().text == "Hello"


def test_l30_nothing_is_handed_out_of_an_attempt_before_its_first_output_so_nothing_has_to_be_dropped():
    clock = FakeClock()
    events, stream, _ = run(Server(clock, [PING, ROLE], ANSWER), clock)
    assert [event for event in events if isinstance(event, MessageReset)] == []
    assert events[0] == Ping()
    assert texts(events) == ["Hel", "lo"]
    assert len(stream.attempts) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 413, 422])
def test_l31_an_error_that_stays_is_one_attempt_without_wait_or_fallback(status):
    clock = FakeClock()
    fallback = Server(clock, ANSWER)
    server = Server(clock, Refusal(status, {"error": {"message": "No"}}))
    _, stream, error = run(server, clock, fallback=fallback)
    assert error is None
    assert (len(server.opened), fallback.opened, clock.waits) == (1, [], [])
    assert stream.response().error.status == status


@pytest.mark.parametrize(
    "failure",
    [
        *(Refusal(status) for status in (408, 429, 500, 502, 503, 504, 529)),
        ConnectionResetError("reset"), TimeoutError("slow"), EOFError("cut"), CUT, [], [OVERLOADED],
    ],
    ids=lambda failure: str(failure.status) if isinstance(failure, Refusal) else repr(failure),
)  # fmt: skip
def test_l31_what_may_pass_is_tried_again(failure):
    clock = FakeClock()
    _, stream, error = run(Server(clock, failure, ANSWER), clock)
    assert error is None
    assert (stream.response().text, len(stream.attempts), len(clock.waits)) == ("Hello", 2, 1)


def test_l32_when_repetitions_are_spent_one_request_without_streaming_is_made():
    clock = FakeClock()
    body = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Whole"},
            "finish_reason": "stop"}]}  # fmt: skip
    fell = []
    fallback = Server(clock, body)
    events, stream, error = run(
        Server(clock, CUT), clock, retry=Retry(times=1, base=1, jitter=0),
        fallback=Fallback(connect=fallback, name="not streamed"), on_fallback=fell.append,
    )  # fmt: skip
    assert error is None
    assert (stream.response().text, texts(events), len(fallback.opened)) == ("Whole", ["Whole"], 1)
    assert [(attempt.kind, attempt.name) for attempt in stream.attempts] == [
        ("stream", None), ("stream", None), ("fallback", "not streamed"),
    ]  # fmt: skip
    assert [attempt.number for attempt in fell] == [2]
    assert "fallback" in [diagnostic.kind for diagnostic in stream.response().diagnostics]


def test_l32_if_the_fallback_fails_too_both_causes_are_kept():
    clock = FakeClock()
    first, second = ConnectionResetError("first"), OSError("second")
    _, stream, error = run(Server(clock, first), clock, retry=None, fallback=Server(clock, second))
    assert isinstance(error, FallbackFailed)
    assert [cause.exception for cause in error.causes] == [first, second]
    assert error.__cause__ is second
    assert error.response is stream.response()
    assert "first" in str(error)
    assert "second" in str(error)


# Timeouts


def test_l33_silence_has_one_budget_instead_of_a_number_of_timeouts_and_an_output_renews_it():
    clock = FakeClock()
    source = [ROLE, text("a"), 9, text("b"), 9, text("c"), 11, STOP]
    events, stream, error = run(Server(clock, source), clock, timeouts=Timeouts(idle=10))
    assert isinstance(error, IdleTimeout)
    assert texts(events) == ["a", "b", "c"]
    assert clock.time == 1028
    assert (stream.response().text, error.response) == ("abc", stream.response())
    assert stream.response().error.exception is error


@pytest.mark.parametrize("noise", [PING, ROLE, chunk({"content": ""}), chunk({"reasoning_content": None})])
def test_l33_what_is_no_output_renews_nothing(noise):
    clock = FakeClock()
    server = Server(clock, [text("a"), *[3, noise] * 9])
    _, stream, error = run(server, clock, timeouts=Timeouts(idle=10))
    assert isinstance(error, IdleTimeout)
    assert clock.time == 1010
    assert server.opened[0].closed
    assert stream.attempts[0].first_output == 0


def test_l33_what_the_caller_does_between_two_events_is_not_the_servers_silence():
    clock = FakeClock()
    stream = resilience.stream(Server(clock, ANSWER), clock=clock, timeouts=Timeouts(first=10, idle=10))
    for _ in stream:
        clock.time += 60
    assert stream.response().text == "Hello"


def test_l34_the_first_output_has_a_budget_of_its_own():
    clock = FakeClock()
    server = Server(clock, [25, ROLE, 10, text("a"), 4, STOP, DONE])
    _, stream, error = run(server, clock, timeouts=Timeouts(first=40, idle=5), retry=None)
    assert error is None
    assert stream.attempts[0].first_output == 35
    _, _, error = run(Server(clock, [41, ROLE]), clock, timeouts=Timeouts(first=40, idle=5), retry=None)
    assert isinstance(error, FirstOutputTimeout)
    assert error.seconds == 40


def test_l34_connecting_counts():
    clock = FakeClock()

    def connect():
        clock.time += 8
        return Server(clock, [3, *ANSWER])()

    _, _, error = run(connect, clock, timeouts=Timeouts(first=10), retry=None)
    assert isinstance(error, FirstOutputTimeout)
    assert clock.time == 1010


def test_l35_the_total_time_is_the_end_of_all_attempts_and_covers_them_and_their_waits():
    clock = FakeClock()
    server = Server(clock, [7, OSError("gone")])
    _, _, error = run(server, clock, retry=Retry(times=9, base=1, cap=1, jitter=0), timeouts=Timeouts(total=20))
    assert isinstance(error, TotalTimeout)
    assert clock.time == 1020
    assert len(server.opened) == 3


def test_l35_the_fallback_has_its_time_anew():
    clock = FakeClock()
    _, stream, error = run(
        Server(clock, [30]), clock, timeouts=Timeouts(first=5, total=20), retry=Retry(times=0),
        fallback=Server(clock, [4, *ANSWER, 10, PING, 9]),
    )  # fmt: skip
    assert isinstance(error, FallbackFailed) or stream.response().text == "Hello"
    assert [attempt.begun for attempt in stream.attempts] == [0, 5]
    slow = Server(clock, [6, *ANSWER])
    _, _, error = run(Server(clock, [30]), clock, timeouts=Timeouts(first=5), retry=Retry(times=0), fallback=slow)
    assert isinstance(error, FallbackFailed)
    assert [type(cause.exception) for cause in error.causes] == [FirstOutputTimeout] * 2


@pytest.mark.parametrize("source", [[], CUT, [ROLE, PING]])
def test_l36_an_end_before_the_server_said_so_is_tried_again(source):
    clock = FakeClock()
    _, stream, _ = run(Server(clock, source, ANSWER), clock)
    assert [attempt.error and attempt.error.type for attempt in stream.attempts] == ["truncated", None]


@pytest.mark.parametrize("end", [[STOP], [DONE], [STOP, OSError("reset")], [STOP, USAGE, DONE, OSError("reset")]])
def test_l36_an_answer_that_was_said_to_be_complete_is_not(end):
    clock = FakeClock()
    _, stream, error = run(Server(clock, [ROLE, text("Hi"), *end]), clock)
    assert error is None
    assert (stream.response().text, len(stream.attempts)) == ("Hi", 1)


def test_l37_arguments_that_cannot_be_read_are_tried_again_where_that_is_asked_for():
    call = chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": '{"a": nope}'}}]})
    source = [ROLE, call, chunk({}, "tool_calls"), DONE]
    clock = FakeClock()
    _, stream, _ = run(Server(clock, source, ANSWER), clock, retry=Retry(after_output=True, invalid_calls=True))
    assert [attempt.error and attempt.error.type for attempt in stream.attempts] == ["invalid_call", None]
    _, stream, _ = run(Server(clock, source, ANSWER), clock, retry=Retry(after_output=True))
    assert [call.status for call in stream.response().tool_calls] == ["invalid"]


def test_l38_who_cancels_in_a_wait_between_attempts_is_not_tried_again():
    class Interrupted(FakeClock):
        def sleep(self, seconds):
            raise KeyboardInterrupt

    clock = Interrupted()
    server = Server(clock, CUT)
    stream = resilience.stream(server, clock=clock)
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert (len(server.opened), stream.response().ended) == (1, "cancelled")
    assert list(stream) == []


@pytest.mark.parametrize("place", ["connect", "read", "wait", "limiter"])
def test_l38_a_task_that_is_cancelled_in_any_wait_is_not_tried_again(place):
    async def main():
        reached, opened = asyncio.Event(), []

        async def stuck(*args, **kwargs):
            reached.set()
            await asyncio.Event().wait()

        class Clock(FakeClock):
            asleep = stuck if place == "wait" else FakeClock.asleep

        class Stuck:
            closed = False
            acquire = None
            aacquire = stuck

            def __aiter__(self):
                return self

            __anext__ = stuck

            async def aclose(self):
                self.closed = True

        source = Stuck()

        async def connect():
            opened.append(source)
            if place == "connect":
                await stuck()
            return source if place == "read" else iter(CUT)

        limiter = source if place == "limiter" else None
        stream = resilience.astream(connect, clock=Clock(), limiter=limiter)

        async def consume():
            async with stream:
                async for _ in stream:
                    pass

        task = asyncio.create_task(consume())
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(opened) == (0 if place == "limiter" else 1)
        assert source.closed == (place == "read")
        assert stream.response().ended == "cancelled"

    asyncio.run(main())


def test_l39_rate_limits_and_transport_have_budgets_of_their_own():
    clock = FakeClock()
    sources = [Refusal(429), OSError("a"), Refusal(429), OSError("b"), Refusal(503), ANSWER]
    _, stream, error = run(
        Server(clock, *sources), clock, retry=Retry(times=2, base=1, jitter=0),
        rate_limits=RateLimitRetry(times=3, escalate_after=None, default=10, jitter=0),
    )  # fmt: skip
    assert error is None
    assert clock.waits == [10, 1, 20, 2, 40]
    assert len(stream.attempts) == 6


def test_l40_the_fallback_is_a_callable_of_the_callers_with_whatever_options_it_likes():
    clock = FakeClock()
    asked = []

    def fallback():
        asked.append({"temperature": 0})
        return Server(clock, ANSWER)()

    _, stream, _ = run(Server(clock, CUT), clock, retry=None, fallback=fallback)
    assert (asked, stream.response().text) == ([{"temperature": 0}], "Hello")


def test_l40_what_arrives_as_the_time_is_up_counts():
    clock = FakeClock()
    _, stream, error = run(Server(clock, [10, b"".join(ANSWER)]), clock, timeouts=Timeouts(first=10, total=10))
    assert (stream.response().text, error) == ("Hello", None)


# Rate limits


def test_l41_the_kth_refusal_escalates_before_the_last_one_gives_up():
    clock = FakeClock()
    server = Limited(9, retry_after="2")
    _, stream, error = run(server, clock, rate_limits=RateLimitRetry(jitter=0))
    assert isinstance(error, RateLimitEscalation)
    assert (error.hits, error.retry_after, server.asked, clock.waits) == (4, 2.0, 4, [2, 2, 2])
    assert error.response is stream.response()
    assert stream.response().error.status == 429


def test_l41_without_escalation_the_refusals_are_waited_for_and_then_stand():
    clock = FakeClock()
    server = Limited(9)
    _, stream, error = run(server, clock, rate_limits=RateLimitRetry(times=2, escalate_after=None))
    assert (error, server.asked, stream.response().error.status) == (None, 3, 429)


def test_l41_a_fallback_takes_over_at_escalation():
    clock = FakeClock()
    fallback = Server(clock, ANSWER)
    _, stream, error = run(Limited(9), clock, rate_limits=RateLimitRetry(escalate_after=1), fallback=fallback)
    assert (error, stream.response().text, len(stream.attempts)) == (None, "Hello", 3)
    _, _, error = run(Limited(9), clock, rate_limits=RateLimitRetry(escalate_after=0), fallback=Server(clock, CUT))
    assert isinstance(error, FallbackFailed)
    assert isinstance(error.causes[0].exception, RateLimitEscalation)


@pytest.mark.parametrize(
    ("asked", "obey", "wait"),
    [("7", True, 7), ("600", True, 60), ("7", False, 5), (None, True, 5), ("0", True, 0)],
)
def test_l42_a_hint_is_obeyed_up_to_the_cap(asked, obey, wait):
    clock = FakeClock()
    headers = {"retry_after": asked} if asked is not None else {}
    run(Limited(1, **headers), clock, rate_limits=RateLimitRetry(obey=obey, jitter=0))
    assert clock.waits == [wait]


def test_l42_a_wait_is_never_shorter_than_asked_and_the_default_doubles():
    clock = FakeClock(chance=1.0)
    run(Limited(1, retry_after="10"), clock, rate_limits=RateLimitRetry(jitter=0.2))
    assert clock.waits == [12]
    assert [RateLimitRetry(jitter=0).wait(hits, None, 0) for hits in (1, 2, 3, 4, 5, 99)] == [5, 10, 20, 40, 60, 60]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StreamError(type="rate_limit_error", status=429), "unknown"),
        (StreamError(message="API error: rate limit exceeded"), "unknown"),
        (StreamError(message="HTTP 429"), "unknown"),
        (StreamError(status=429, message="Too many requests"), "requests"),
        (StreamError(status=429, message="Rate limit reached on tokens per min (TPM)"), "tokens"),
        (StreamError(status=429, message="Rate limit reached on requests per day (RPD)"), "requests"),
        (StreamError(status=429, message="too many concurrent connections"), "concurrency"),
        (StreamError(status=429, type="tokens", code="rate_limit_exceeded"), "tokens"),
        (StreamError(status=503), "overloaded"),
        (StreamError(status=529), "overloaded"),
        (StreamError(type="overloaded_error"), "overloaded"),
        (StreamError(message="server returned HTTP 503"), "overloaded"),
        (StreamError(type="insufficient_quota", status=429), "quota"),
        (StreamError(status=500), None),
        (StreamError(status=401, message="rate limit"), None),
        (StreamError(type="ConnectionResetError", message="429 bytes read", origin="transport"), None),
        (None, None),
    ],
)
def test_l43_a_rate_limit_is_known_by_status_words_or_text(error, kind):
    found = rate_limit_of(error)
    assert (found.kind if found else None) == kind


@pytest.mark.parametrize(
    ("headers", "kind", "wait"),
    [
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, "requests", 360),
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "17ms"}, "tokens", 0.017),
        ({"X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Tokens": "1m2.5s"}, "tokens", 62.5),
        ({"anthropic-ratelimit-input-tokens-remaining": "0", "anthropic-ratelimit-input-tokens-reset": "2025-06-15T15:06:45Z"},
         "tokens", 5),
        ({"ratelimit-remaining": "0", "ratelimit-reset": "12"}, "requests", 12),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1750000007"}, "requests", 7),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"}, "requests", None),
        ({"x-ratelimit-remaining-tokens-minute": "0", "x-ratelimit-reset-tokens-minute": "11.5"}, "tokens", 11.5),
        ({"x-ratelimit-remaining-req-minute": "0"}, "requests", None),
        # Azure has this in refusals.
        ({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "0"}, "tokens", None),
        ({"x-ratelimit-remaining-requests": "7"}, "unknown", None),
    ],
)  # fmt: skip
def test_l43_headers_say_which_limit_and_when_it_ends(headers, kind, wait):
    found = rate_limit_of(StreamError(status=429), headers, now=WALL)
    assert (found.kind, found.retry_after) == (kind, wait)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [("7", 7.0), ("1.5", 1.5), (formatdate(WALL + 30, usegmt=True), 30.0), (formatdate(WALL - 30, usegmt=True), 0.0),
     ("nan", None), ("later", None), ("-3", 0.0)],
)  # fmt: skip
def test_l43_retry_after_is_seconds_or_a_date(said, seconds):
    found = rate_limit_of(StreamError(status=429), {"Retry-After": said}, now=WALL)
    assert found.retry_after == seconds


SENTENCES = [
    # Azure, Bedrock, Mistral, Gemini, Vertex AI, Cohere, Moonshot, GitHub Models, and others who say it alike.
    (
        "have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 20 seconds.",
        "tokens",
        20,
    ),
    (
        "have exceeded call rate limit of your current OpenAI S0 pricing tier. Please retry after 1 second.",
        "requests",
        1,
    ),
    ("Too many tokens, please wait before trying again.", "tokens", None),
    ("Too many connections, please wait before trying again.", "concurrency", None),
    ("Requests rate limit exceeded", "requests", None),
    (
        "Quota exceeded for metric: generate_content_free_tier_requests, limit: 10\nPlease retry in 34.4s.",
        "requests",
        34.4,
    ),
    ("Quota exceeded for metric: generate_content_free_tier_input_token_count", "tokens", None),
    ("You are using a Trial key, which is limited to 20 API calls / minute.", "requests", None),
    ("Your account reached max request: 3, please try again after 1 seconds", "requests", 1),
    ("Rate limit of 10 per 60s exceeded. Please wait 46 seconds before retrying.", "unknown", 46),
    ("You have been rate-limited. Please wait 10 hours 58 minutes before trying again.", "unknown", 39_480),
    ("You have exhausted your capacity on this model. Your quota will reset after 4h32m11s.", "unknown", 16_331),
    ("You have exhausted your capacity on this model. Your quota will reset after 0s.", "unknown", None),
    ("Please try again in 5 minutes.", "unknown", 300),
    ("Please try again in 1 hour, 2 minutes and 5 seconds.", "unknown", 3_725),
    ("Please wait for 5 seconds and try again.", "unknown", 5),
    # Django's REST framework, and Replicate on top of it.
    ("Request was throttled. Expected available in 20 seconds.", "unknown", 20),
    ("Request was throttled. Your rate limit resets in ~30s.", "unknown", 30),
    ("Please try again in a moment. Retry after 20 ms.", "unknown", 0.02),
    ("Please try again in 3 weeks.", "unknown", None),
]


@pytest.mark.parametrize(("message", "kind", "wait"), SENTENCES)
def test_l43_the_sentence_says_which_limit_and_how_long_to_wait(message, kind, wait):
    found = rate_limit_of(StreamError(status=429, message=message))
    assert (found.kind, found.retry_after) == (kind, wait)


def test_the_wait_in_the_sentence_goes_before_the_reset_of_a_counter():
    """OpenAI's reset says when the whole of the limit is back, the sentence when this request may come again."""
    headers = {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "59.7s"}
    message = "Rate limit reached on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s."
    found = rate_limit_of(StreamError(status=429, message=message), headers)
    assert (found.kind, found.retry_after) == ("requests", 20)


def test_l43_openrouter_writes_its_headers_into_the_body_and_tells_milliseconds():
    headers = {"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": f"{int(WALL + 30)}000"}
    metadata = {"headers": headers, "provider_name": None}
    body = {"error": {"message": "Rate limit exceeded: free-models-per-min.", "code": 429, "metadata": metadata}}
    for told in ({}, headers):
        found = rate_limit_of(http_failure(429, body, told), told, now=WALL)
        assert (found.kind, found.retry_after) == ("requests", 30)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "rate_limit_error", "message": "m", "details": {"error_code": "enforced_spend_limit_reached"}},
        {
            "type": "rate_limit_error",
            "message": "You have reached your API usage limits: your organization has crossed",
        },
        {"type": "invalid_request_error", "message": "You have reached your specified workspace API usage limits."},
        {"type": "usage_limit_reached", "message": "m", "resets_in_seconds": 13872},
        {
            "type": "rate_limit_error",
            "message": "usage limit exceeded, 5-hour usage limit reached for Token Plan (2056)",
        },
        {"type": "access_terminated_error", "message": "You've reached your weekly (7-day) usage limit."},
        {"code": "1", "message": "Usage limit reached for 5 hour. Your limit will reset at 2026-07-12 04:30:37"},
        {"message": "you (me) have reached your session usage limit, upgrade for higher limits: https://ollama.com"},
        {"type": "exceeded_current_quota_error", "message": "Your account is suspended due to insufficient balance"},
        {"type": "rate_limit_error", "code": "1113", "message": "Insufficient balance or no resource package."},
        {"message": "Your team has either used all available credits or reached its monthly spending limit."},
        {"type": "budget_exceeded", "message": "Budget has been exceeded!"},
        {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Your prepayment credits are depleted. Please go to"},
        {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Your project has exceeded its monthly spending cap."},
        {"code": "PostpaidBillOverdue", "message": "The postpaid bill is overdue."},
        {"code": "CommodityNotPurchased", "message": "Commodity has not purchased yet."},
        {"code": "Throttling.AllocationQuota", "message": "Free allocated quota exceeded."},
        {"type": "rate_limit_error", "message": "week allocated quota exceeded"},
        {"message": "You are using a Trial key, which is limited to 1000 API calls / month."},
    ],
)
def test_what_was_paid_for_is_used_up_in_other_words_too(error):
    """Moonshot, Zhipu, Anthropic, xAI, Gemini and others answer 429, and no wait helps; nor does it with most plans."""
    failure = http_failure(429, {"error": error}, {})
    assert not failure.retryable
    assert rate_limit_of(failure).kind == "quota"


@pytest.mark.parametrize(
    "message",
    ["Allocated quota exceeded, please increase your quota limit.", "concurrency allocated quota exceeded"],
)
def test_what_is_allocated_for_a_minute_passes(message):
    failure = http_failure(429, {"code": "Throttling.AllocationQuota", "message": message}, {})
    assert failure.retryable
    assert rate_limit_of(failure).kind != "quota"


# Settings


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (Timeouts, {"first": 0}), (Timeouts, {"idle": -1}), (Timeouts, {"total": math.inf}),
        (Timeouts, {"first": 10, "total": 5}), (Retry, {"times": -1}), (Retry, {"base": 0}), (Retry, {"base": 5, "cap": 1}),
        (Retry, {"jitter": 1.5}), (Retry, {"jitter": math.nan}), (RateLimitRetry, {"times": -1}),
        (RateLimitRetry, {"default": 0}), (RateLimitRetry, {"default": 9, "cap": 3}),
        (RateLimitRetry, {"times": 2, "escalate_after": 3}), (RateLimitRetry, {"jitter": -1}),
        (TokenBucket, {"per_minute": 0}), (RateLimiter, {"requests": -1}), (RateLimiter, {"tokens": 0}),
        (RateLimiter, {"max_wait": -1}), (RateLimiter, {"max_wait": math.nan}),
    ],
)  # fmt: skip
def test_l44_a_setting_that_makes_no_sense_is_refused_where_it_is_made_and_not_replaced(make, wrong):
    with pytest.raises(ValueError, match=next(reversed(wrong))):
        make(**wrong)


@pytest.mark.parametrize(
    ("make", "wrong"),
    [
        (Timeouts, {"first": "5"}), (Timeouts, {"idle": True}), (Retry, {"times": 1.5}), (Retry, {"times": "3"}),
        (Retry, {"times": None}), (Retry, {"base": "1"}), (Retry, {"jitter": None}), (Retry, {"is_worth": 5}),
        (RateLimitRetry, {"times": True}), (RateLimitRetry, {"escalate_after": 1.0}), (RateLimitRetry, {"cap": "60"}),
        (Fallback, {"connect": b"data: ..."}),
    ],
)  # fmt: skip
def test_l44_so_is_one_of_another_type_though_it_would_be_needed_only_when_something_fails(make, wrong):
    with pytest.raises(TypeError, match=next(iter(wrong)) + " must be"):
        make(**wrong)


def test_l45_all_can_be_switched_off():
    clock = FakeClock()
    server = Server(clock, [ROLE, 1e6, *ANSWER[1:3], OSError("gone")])
    events, _, error = run(server, clock, retry=None, rate_limits=None)
    assert isinstance(error, OSError)
    assert (texts(events), len(server.opened), clock.waits) == (["Hel", "lo"], 1, [])
    assert events[0].type == "message_start"


def test_l46_partial_data_is_there_of_every_attempt_also_of_parts_that_were_not_closed():
    clock = FakeClock()
    server = Server(clock, [ROLE, text("Hal"), chunk(None, usage={"prompt_tokens": 3, "completion_tokens": 1})], ANSWER)
    _, stream, _ = run(server, clock, retry=Retry(after_output=True, base=1, jitter=0))
    assert [attempt.response.text for attempt in stream.attempts] == ["Hal", "Hello"]
    assert [attempt.was_shown for attempt in stream.attempts] == [True, True]
    usages = [
        Usage(input_tokens=3, output_tokens=1, total_tokens=4),
        Usage(input_tokens=3, output_tokens=4, total_tokens=7),
    ]
    assert stream.usage() == Usage.sum(usages)
    assert stream.response().usage.output_tokens == 4


# The limiter


def test_l47_a_bucket_is_full_at_first_and_refills_steadily():
    clock = FakeClock()
    bucket = TokenBucket(5, clock=clock)
    assert [bucket.take() for _ in range(6)] == [True] * 5 + [False]
    assert bucket.acquire() == pytest.approx(12)
    clock.time += 3600
    assert bucket.available == 5


def test_l48_a_limit_of_nothing_is_refused_and_no_limit_is_none():
    with pytest.raises(ValueError, match="capacity must be above 0"):
        TokenBucket(60, 0)
    clock = FakeClock()
    limiter = RateLimiter(clock=clock)
    assert [limiter.acquire(tokens=10**9).waited for _ in range(1000)] == [0] * 1000
    assert clock.waits == []


def test_l49_every_key_has_buckets_of_its_own():
    clock = FakeClock()
    limiter = RateLimiter(requests=1, clock=clock, max_wait=0)
    assert limiter.acquire("https://a").waited == limiter.acquire("https://b").waited == 0
    with pytest.raises(LimiterTimeout, match="https://a"):
        limiter.acquire("https://a")


def test_l50_a_clock_that_goes_back_refills_nothing_and_one_that_jumps_fills_the_bucket_once():
    clock = FakeClock()
    bucket = TokenBucket(60, 5, clock=clock)
    assert all(bucket.take() for _ in range(5))
    clock.time -= 100
    assert not bucket.take()
    clock.time += 1_000_000
    assert [bucket.take() for _ in range(6)] == [True] * 5 + [False]


def test_l51_every_attempt_passes_the_limiter():
    clock = FakeClock()
    limiter = RateLimiter(requests=1, clock=clock, max_wait=None)
    _, stream, _ = run(Server(clock, CUT, CUT, ANSWER), clock, limiter=limiter, limiter_key="k")
    assert [attempt.begun for attempt in stream.attempts] == pytest.approx([0, 1, 62])
    assert clock.time == pytest.approx(1120)


@pytest.mark.parametrize(
    ("settings", "waited"),
    [
        ({"rate_limits": None}, 7),
        ({"rate_limits": RateLimitRetry(times=0, escalate_after=0)}, 7),
        ({"rate_limits": RateLimitRetry(times=0, escalate_after=None, cap=5)}, 5),
        ({"rate_limits": RateLimitRetry(times=0, escalate_after=None, obey=False)}, 0),
        ({"rate_limits": None, "fallback": lambda: iter(ANSWER)}, 0),  # it may go through the same limiter
    ],
)
def test_a_refusal_that_is_final_holds_the_others_too(settings, waited):
    clock = FakeClock()
    limiter = RateLimiter(requests=600, clock=clock)
    run(limited(retry_after="7"), clock, limiter=limiter, limiter_key="k", **settings)
    assert limiter.acquire("k").waited == pytest.approx(waited)


def test_l51_who_would_wait_too_long_is_told_at_once_or_goes_ahead_if_that_is_asked_for():
    clock = FakeClock()
    limiter = RateLimiter(requests=1, clock=clock, max_wait=10)
    limiter.acquire()
    server = Server(clock, ANSWER)
    _, stream, error = run(server, clock, limiter=limiter)
    assert isinstance(error, LimiterTimeout)
    assert (server.opened, clock.time, stream.response().ended) == ([], 1000, "error")
    limiter = RateLimiter(requests=1, clock=clock, max_wait=10, or_go_ahead=True)
    limiter.acquire()
    assert limiter.acquire().waited == 10
    assert clock.time == 1010


def test_l51_the_deadline_of_the_stream_bounds_the_wait():
    clock = FakeClock()
    limiter = RateLimiter(requests=1, clock=clock, max_wait=None)
    limiter.acquire()
    _, _, error = run(Server(clock, ANSWER), clock, limiter=limiter, timeouts=Timeouts(total=20))
    assert isinstance(error, LimiterTimeout)
    assert error.max_wait == 20


def test_l52_a_limiter_that_cannot_tell_is_an_error_and_no_free_pass():
    clock = FakeClock()
    limiter = RateLimiter(requests=1, clock=clock)
    clock.time = math.nan
    with pytest.raises(ValueError, match="clock says nan"):
        limiter.acquire()

    class Broken:
        def acquire(self, *args, **kwargs):
            raise RuntimeError("poisoned")

    clock = FakeClock()
    server = Server(clock, ANSWER)
    _, _, error = run(server, clock, limiter=Broken())
    assert isinstance(error, RuntimeError)
    assert server.opened == []


def test_l53_pings_are_the_heartbeat_and_a_hard_timeout_is_not_tried_again():
    clock = FakeClock()
    server = Server(clock, [text("a"), *[5, PING] * 20])
    events, stream, error = run(server, clock, retry=None, timeouts=Timeouts(total=32))
    assert isinstance(error, TotalTimeout)
    assert events.count(Ping()) == 6
    assert (len(server.opened), stream.response().text, clock.time) == (1, "a", 1032)


def test_l29_to_l53_hold_for_tasks_as_for_threads():
    """One course is behind both; what is left to tell apart is the shell, here with every kind of step."""

    async def main():
        clock = FakeClock()
        plans = [[ROLE, 50, text("late")], AsyncRefusal(429, LIMITED, retry_after="3"), [ROLE, OSError("gone")], ANSWER]
        server = Server(clock, *plans, kind=AsyncSource)
        limiter = RateLimiter(requests=600, clock=clock)
        stream = resilience.astream(
            server, clock=clock, timeouts=Timeouts(first=40, idle=5, total=500), retry=EXACT, limiter=limiter,
            rate_limits=RateLimitRetry(jitter=0),
        )  # fmt: skip
        events = [event async for event in stream]
        assert texts(events) == ["Hel", "lo"]
        assert [type(attempt.error.exception) for attempt in stream.attempts[:3]] == [
            FirstOutputTimeout, type(None), OSError,
        ]  # fmt: skip
        assert [attempt.wait for attempt in stream.attempts] == [1, 3, 2, None]
        assert [source.closed for source in server.opened] == [True] * 4

    asyncio.run(main())
