"""Many streams at once in one process, a tenth of them faulty: nothing is lost and nothing mixed up."""

from __future__ import annotations

import asyncio
import os

import pytest

from chunkfold import resilience
from chunkfold.resilience import RateLimitRetry, Retry, Timeouts
from tests.resilience import bodies
from tests.resilience.clients import async_get
from tests.resilience.runtimes import in_a_task
from tests.resilience.server import Play

FULL = os.environ.get("CHUNKFOLD_TESTS") == "faults"
BEFORE = [Play(b": ping\n\n", then) for then in ("cut", "reset", "close", "refuse", "hold")] + [Play(status=503)]


@pytest.mark.parametrize("count", [1000 if FULL else 300])
def test_no_stream_of_many_loses_anything_though_a_tenth_is_faulty(tidy, count):
    raise_the_limit_of_open_files(4 * count)
    main = bodies.body(bodies.MAIN).decode()
    urls = []
    for number in range(count):
        # Each answer is its own, so that one in the wrong place would be seen.
        body = main.replace(" at six", f" at {number}").encode()
        whole = Play(body, pauses=((len(body) // 2, 0.2),))
        urls.append(tidy.script([BEFORE[number // 10 % len(BEFORE)], whole] if number % 10 == 0 else [whole]))
    limiter = resilience.RateLimiter(requests=60 * count, tokens=6000 * count)
    options = {
        "timeouts": Timeouts(first=3 if not FULL else 10, idle=30, total=120),
        "retry": Retry(base=0.01, cap=0.05, times=5),
        "rate_limits": RateLimitRetry(default=0.01),
        "limiter": limiter,
    }

    async def run():
        seen = await asyncio.gather(*(in_a_task(async_get, url, **options) for url in urls))
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return seen

    for number, seen in enumerate(asyncio.run(run())):
        seen.assert_lawful()
        assert (seen.raised, seen.resets, seen.response.ended) == (None, 0, "clean")
        assert seen.response.text == f"The tide turns at {number} \u00e9."
        assert seen.response.tool_calls[0].arguments == {"where": "pier"}
        assert (len(seen.attempts) > 1) == (tidy.requests(urls[number]) > 1)
        assert number % 10 or len(seen.attempts) > 1


def raise_the_limit_of_open_files(wanted):
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, wanted), hard))
