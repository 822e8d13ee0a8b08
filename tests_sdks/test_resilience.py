"""
Resilient streams over real clients and under trio and anyio, against the server of `tests/resilience`.

The matrix is that of `tests/resilience/test_faults.py`; the runtimes here take turns over it, and
`CHUNKFOLD_TESTS=faults` tries all of them at each place.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
import warnings
from itertools import cycle, product

import aiohttp
import anyio
import httpx
import pytest
import requests
import trio

from chunkfold import resilience
from chunkfold.errors import IdleTimeout
from chunkfold.resilience import RateLimitRetry, Retry, Timeouts
from tests.resilience import bodies
from tests.resilience.conftest import eventually, open_sockets
from tests.resilience.faults import ANSWERS, STREAM_FAULTS, applies, check, settings, struck
from tests.resilience.runtimes import QuickClock, in_a_task, in_a_thread
from tests.resilience.server import Play, running
from tests_sdks.clients import MESSAGES

FULL = os.environ.get("CHUNKFOLD_TESTS") == "faults"
MAIN = bodies.body(bodies.MAIN)


@pytest.fixture(scope="module")
def faults():
    with running() as server:
        yield server


@pytest.fixture
def tidy(faults):
    threads, sockets = threading.active_count(), open_sockets()
    yield faults
    assert threading.active_count() <= threads  # those of earlier tests may end meanwhile
    assert eventually(lambda: faults.open_connections == 0 and open_sockets() <= sockets)


# Clients


def httpx_in_a_thread(url, **options):
    with httpx.Client(verify=False, timeout=10) as client:
        return in_a_thread(lambda url: client.stream("POST", url, json={}))(url, **options)


def requests_in_a_thread(url, **options):
    with requests.Session() as session:
        return in_a_thread(lambda url: session.post(url, json={}, stream=True, timeout=10))(url, **options)


async def httpx_in_a_task(url, **options):
    async with httpx.AsyncClient(verify=False, timeout=10) as client:
        return await in_a_task(lambda url: client.stream("POST", url, json={}), url, **options)


async def aiohttp_in_a_task(url, **options):
    async with aiohttp.ClientSession() as session:
        return await in_a_task(lambda url: session.post(url, json={}), url, **options)


def under_trio(url, **options):
    async def main():
        seen = await httpx_in_a_task(url, **options)
        # None but the main task and trio's own is left.
        assert trio.lowlevel.current_statistics().tasks_living <= 3
        return seen

    return trio.run(main)


def under_asyncio(run):
    def start(url, **options):
        async def main():
            seen = await run(url, **options)
            await asyncio.sleep(0)
            assert asyncio.all_tasks() == {asyncio.current_task()}
            return seen

        return asyncio.run(main())

    return start


def under_anyio(backend):
    def start(url, **options):
        async def main():
            # A scope of the caller's around it must neither be disturbed nor disturb.
            with anyio.fail_after(60) as scope:
                seen = await httpx_in_a_task(url, **options)
            assert not scope.cancelled_caught
            return seen

        return anyio.run(main, backend=backend)

    return start


RUNTIMES = {
    "threads, httpx": httpx_in_a_thread,
    "threads, requests": requests_in_a_thread,
    "asyncio, httpx": under_asyncio(httpx_in_a_task),
    "asyncio, aiohttp": under_asyncio(aiohttp_in_a_task),
    "trio, httpx": under_trio,
    "anyio on asyncio, httpx": under_anyio("asyncio"),
    "anyio on trio, httpx": under_anyio("trio"),
}


def rows():
    turns = cycle(product(RUNTIMES, (False, True)))
    every = list(product(RUNTIMES, (False, True)))
    for dialect in bodies.DIALECTS:
        for fault in STREAM_FAULTS:
            for place in bodies.places(dialect):
                if applies(fault, dialect, place):
                    for runtime, after_output in every if FULL else [next(turns)]:
                        id_ = f"{dialect}-{fault.name}-{place}-{runtime}-{'again' if after_output else 'once'}"
                        yield pytest.param(dialect, fault, place, runtime, after_output, id=id_)


@pytest.mark.parametrize(("dialect", "fault", "place", "runtime", "after_output"), list(rows()))
def test_what_the_table_says_comes_of_a_fault(tidy, dialect, fault, place, runtime, after_output):
    first, sent = struck(fault, dialect, place)
    url = tidy.script([first, Play(bodies.body(dialect))])
    begun = time.monotonic()
    seen = RUNTIMES[runtime](url, **settings(fault, after_output=after_output))
    assert time.monotonic() - begun < 30
    check(fault, dialect, sent, seen, after_output=after_output, requests=tidy.requests(url))


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("answer", [ANSWERS[0], ANSWERS[10], ANSWERS[19]], ids=lambda answer: answer.name)
def test_what_the_table_says_comes_of_an_answer_that_is_no_stream(tidy, answer, runtime):
    url = tidy.script([answer.play(), Play(MAIN)])
    clock = QuickClock()
    seen = RUNTIMES[runtime](url, clock=clock, rate_limits=RateLimitRetry(jitter=0.0))
    seen.assert_lawful()
    assert tidy.requests(url) == (2 if answer.again else 1)
    assert clock.waits == ([answer.wait] if answer.again else [])


# Cancelling


@pytest.mark.parametrize(
    "play", [Play(then="hold"), Play(MAIN[:300], then="hold"), Play(status=503)], ids=["first", "amid", "wait"]
)
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_scope_of_the_callers_ends_it_wherever_it_waits(tidy, backend, play):
    url = tidy.script([play])

    async def main():
        async with httpx.AsyncClient(verify=False, timeout=30) as client:
            stream = resilience.astream(
                lambda: client.stream("POST", url, json={}), timeouts=Timeouts(first=20, idle=20, total=60)
            )
            with anyio.move_on_after(0.05) as scope:
                async with stream:
                    async for _ in stream:
                        pass
            assert scope.cancelled_caught
            assert stream.response().ended == "cancelled"
            assert len(stream.attempts) == 1
            # The task goes on as if nothing had been.
            await anyio.lowlevel.checkpoint()

    anyio.run(main, backend=backend)
    assert tidy.requests(url) == 1


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_streams_in_one_group_do_not_disturb_each_other(tidy, backend):
    plays = [[Play(MAIN[:300], then="hold"), Play(MAIN)], [Play(MAIN)], [Play(then="refuse"), Play(MAIN)]]
    urls = [tidy.script(plan) for plan in plays for _ in range(5)]
    texts = []

    async def main():
        async with httpx.AsyncClient(verify=False, timeout=30) as client, anyio.create_task_group() as group:

            async def one(url):
                stream = resilience.astream(
                    lambda: client.stream("POST", url, json={}), timeouts=Timeouts(first=5, idle=0.2),
                    retry=Retry(base=0.01, cap=0.01, times=8, after_output=True),
                )  # fmt: skip
                async with stream:
                    async for _ in stream:
                        pass
                texts.append(stream.response().text)

            for url in urls:
                group.start_soon(one, url)

    anyio.run(main, backend=backend)
    assert texts == [bodies.whole(bodies.MAIN).text] * 15


# The vendors' clients, their own repetition switched off


def troubles(body, error):
    """Before anything was said: a limit, an overload, a reset, a stall, a refusal to speak, an error in the stream."""
    limited = b'{"error": {"type": "rate_limit_error", "code": "rate_limit_exceeded", "message": "Slow down"}}'
    return [
        Play(limited, status=429, headers=(("Content-Type", "application/json"), ("Retry-After", "2"))),
        Play(status=503),
        Play(b": ping\n\n", then="reset"),
        Play(then="hold"),
        Play(then="refuse"),
        Play(error, then="close"),
        Play(body),
    ]


OPTIONS = {
    "timeouts": Timeouts(first=0.3, idle=0.3),
    "retry": Retry(times=9, base=0.01, cap=0.01),
    "rate_limits": RateLimitRetry(times=5, escalate_after=None, default=1.0, jitter=0.0),
}


def recovered(stream, clock, whole):
    assert stream.response().choices == whole.choices
    assert stream.response().usage == whole.usage
    kinds = [attempt.error.type if attempt.error else None for attempt in stream.attempts]
    assert len(kinds) >= 7
    assert kinds[-1] is None
    assert kinds.count("FirstOutputTimeout") >= 1
    assert [attempt.rate_limit is not None for attempt in stream.attempts][:2] == [True, True]
    assert clock.waits[:2] == [2, 2]


@pytest.mark.parametrize("api", ["openai", "anthropic", "anthropic helper"])
def test_the_real_clients_recover_in_a_thread(tidy, api):
    pytest.importorskip(api.split()[0])
    dialect = "openai-chat" if api == "openai" else "anthropic-messages"
    url = tidy.script(troubles(bodies.body(dialect), bodies.error_frame(dialect)))
    client, connect = real_client(api, url)
    clock = QuickClock()
    with client, resilience.stream(connect, clock=clock, **OPTIONS) as stream:
        for _ in stream:
            pass
    recovered(stream, clock, bodies.whole(dialect))


@pytest.mark.parametrize("api", ["openai", "anthropic", "anthropic helper"])
def test_the_real_clients_recover_in_a_task(tidy, api):
    pytest.importorskip(api.split()[0])
    dialect = "openai-chat" if api == "openai" else "anthropic-messages"
    url = tidy.script(troubles(bodies.body(dialect), bodies.error_frame(dialect)))

    async def main():
        client, connect = real_client(api, url, "Async")
        clock = QuickClock()
        async with client, resilience.astream(connect, clock=clock, **OPTIONS) as stream:
            async for _ in stream:
                pass
        recovered(stream, clock, bodies.whole(dialect))

    asyncio.run(main())


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_the_real_clients_are_not_asked_again_for_what_stays(tidy, api):
    module = pytest.importorskip(api)
    refusal = b'{"error": {"type": "authentication_error", "message": "Who are you?"}}'
    url = tidy.script([Play(refusal, status=401, headers=(("Content-Type", "application/json"),))])
    client, connect = real_client(api, url)
    stream = resilience.stream(connect, clock=QuickClock())
    with client, pytest.raises(module.AuthenticationError):
        list(stream)
    assert (stream.response().error.status, stream.response().error.type) == (401, "authentication_error")
    assert tidy.requests(url) == 1


@pytest.mark.parametrize("api", ["openai", "anthropic"])
def test_the_real_clients_keep_what_had_come(tidy, api):
    dialect = "openai-chat" if api == "openai" else "anthropic-messages"
    pytest.importorskip(api)
    place = next(edge for edge in bodies.boundaries(dialect) if edge > len(bodies.body(dialect)) // 2)
    url = tidy.script([Play(bodies.body(dialect)[:place], then="hold")])
    client, connect = real_client(api, url)
    with client, resilience.stream(connect, **OPTIONS) as stream, pytest.raises(IdleTimeout):
        for _ in stream:
            pass
    assert stream.response().text != ""
    assert bodies.whole(dialect).text.startswith(stream.response().text)


def real_client(api, url, kind=""):
    if api == "openai":
        import openai

        client = getattr(openai, f"{kind}OpenAI")(base_url=url, api_key="none", max_retries=0)
        return client, lambda: client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
    import anthropic

    client = getattr(anthropic, f"{kind}Anthropic")(base_url=url, api_key="none", max_retries=0)
    if api == "anthropic helper":
        return client, lambda: client.messages.stream(model="m", max_tokens=9, messages=MESSAGES)
    return client, lambda: client.messages.create(model="m", max_tokens=9, messages=MESSAGES, stream=True)


# Limits that are shared


def test_limits_that_are_shared_are_kept_between_limiters(tmp_path):
    pyrate = pytest.importorskip("pyrate_limiter")
    from chunkfold.errors import LimiterTimeout

    def limiter():
        bucket = pyrate.SQLiteBucket.init_from_file(
            [pyrate.Rate(3, pyrate.Duration.MINUTE)], db_path=str(tmp_path / "limits.sqlite"), use_file_lock=False
        )
        return resilience.SharedRateLimiter(pyrate.Limiter(bucket), max_wait=0.05)

    first, second = limiter(), limiter()
    first.acquire("k")
    second.acquire("k")
    asyncio.run(first.aacquire("k"))
    with pytest.raises(LimiterTimeout):
        second.acquire("k")


# Read timeouts of other transports


def urllib3_source(url):
    import urllib3

    return urllib3.PoolManager().request("POST", url, body=b"{}", preload_content=False)


def bedrock_source(url):
    boto3 = pytest.importorskip("boto3")
    keys = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    client = boto3.client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, **keys)
    messages = [{"role": "user", "content": [{"text": "hi"}]}]
    return client.converse_stream(modelId="m", messages=messages)["stream"]


def groq_source(url):
    groq = pytest.importorskip("groq")
    return groq.Groq(base_url=url, api_key="none", max_retries=0).chat.completions.create(
        model="m", messages=MESSAGES, stream=True
    )


@pytest.mark.parametrize(
    ("dialect", "source"),
    [("openai-chat", urllib3_source), ("bedrock-converse", bedrock_source), ("openai-chat", groq_source)],
)
def test_the_read_timeout_is_found_beneath(tidy, dialect, source):
    body = bodies.body(dialect)
    place = next(edge for edge in bodies.boundaries(dialect) if edge > len(body) // 2)
    kind = "application/vnd.amazon.eventstream" if dialect == "bedrock-converse" else "text/event-stream"
    url = tidy.script([Play(body[:place], then="hold", headers=(("Content-Type", kind),))])
    begun = time.monotonic()
    stream = resilience.stream(lambda: source(url), dialect, timeouts=Timeouts(first=5, idle=0.1), retry=None)
    with pytest.raises(IdleTimeout):
        list(stream)
    assert time.monotonic() - begun < 4
    assert stream.response().parts[0].text != ""


@pytest.mark.parametrize("leave", ["break", "overdue"])
def test_under_trio_no_generator_of_httpx_is_left_to_be_collected(tidy, leave):
    url = tidy.script([Play(MAIN[:500], then="hold", every=(b": ping\n\n", 0.005))])

    async def main():
        async with httpx.AsyncClient(verify=False, timeout=10) as client:
            for _ in range(5):
                stream = resilience.astream(
                    lambda: client.stream("POST", url, json={}), retry=None,
                    timeouts=Timeouts(idle=0.02) if leave == "overdue" else None,
                )  # fmt: skip
                async with stream:
                    with contextlib.suppress(IdleTimeout):
                        async for event in stream:
                            if leave == "break" and event.type == "text_delta":
                                break
                assert trio.lowlevel.current_statistics().tasks_living <= 3

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trio.run(main)
