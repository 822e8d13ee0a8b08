"""The token bucket and the limiter, in a time that is only reckoned."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import threading

import pytest

from chunkfold import resilience
from chunkfold.errors import LimiterTimeout
from chunkfold.resilience import Permit, RateLimiter, RateLimitRetry, SharedRateLimiter, TokenBucket
from tests.resilience.fakes import ANSWER, USAGE, FakeClock, Refusal, Server


def simulate(bucket, clock, wishes, leaves=None):
    """When each of *wishes* (arrival, amount) is served; `None` for those that leave before, at `leaves[number]`."""
    begun, order = clock.time, itertools.count()
    served = [None] * len(wishes)
    left = set()
    waits = {}
    agenda = [(begun + arrival, next(order), number) for number, (arrival, _) in enumerate(wishes)]
    agenda += [(begun + when, next(order), ~number) for number, when in (leaves or {}).items()]
    heapq.heapify(agenda)
    while agenda:
        clock.time, _, number = heapq.heappop(agenda)
        if number < 0:
            if served[~number] is None:
                waits.pop(~number).close()
                left.add(~number)
            continue
        if number in left:
            continue
        if number not in waits:
            waits[number] = bucket._waits(wishes[number][1], None, "")
        try:
            seconds = next(waits[number])
        except StopIteration:
            served[number] = clock.time - begun
        else:
            heapq.heappush(agenda, (clock.time + seconds, next(order), number))
    return served


def test_who_comes_first_is_served_first_at_the_rate_of_the_bucket():
    clock = FakeClock()
    bucket = TokenBucket(60, 2, clock=clock)
    served = simulate(bucket, clock, [(0, 1)] * 6)
    assert served == pytest.approx([0, 0, 1, 2, 3, 4], abs=1e-3)


def test_a_large_wish_is_not_overtaken_by_small_ones():
    clock = FakeClock()
    bucket = TokenBucket(60, 10, clock=clock)
    bucket.take(10)
    served = simulate(bucket, clock, [(0, 8), *[(1, 1)] * 3])
    assert served == pytest.approx([8, 9, 10, 11], abs=1e-3)


def test_who_leaves_lets_the_others_move_up():
    clock = FakeClock()
    bucket = TokenBucket(60, 10, clock=clock)
    bucket.take(10)
    served = simulate(bucket, clock, [(0, 9), (1, 1), (1, 1)], leaves={0: 3})
    assert served[0] is None
    # They look again within a second.
    assert served[1] <= 4.001
    assert served[2] <= 5.001
    assert bucket._queue == type(bucket._queue)()


def test_who_leaves_after_being_served_gives_back_what_was_taken():
    clock = FakeClock()
    bucket = TokenBucket(60, 1, clock=clock)
    bucket.take()
    first, second = bucket._waits(1, None, ""), bucket._waits(1, None, "")
    assert next(first) == next(second) == 1.0
    clock.time += 1
    next(second)  # looks, and so sees the first one served
    first.close()
    clock.time += 1e-3
    with pytest.raises(StopIteration):
        next(second)


def test_nobody_takes_past_those_who_wait():
    clock = FakeClock()
    bucket = TokenBucket(60, 2, clock=clock)
    waiting = bucket._waits(2, None, "")
    bucket.take(1)
    next(waiting)
    assert not bucket.take(1)
    waiting.close()
    assert bucket.take(1)


def test_many_threads_take_no_more_than_there_is():
    clock = FakeClock()
    bucket = TokenBucket(1000, clock=clock)
    taken = []
    threads = [threading.Thread(target=lambda: taken.append(sum(bucket.take() for _ in range(500)))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 1000


def test_tasks_share_a_bucket_and_one_that_is_cancelled_takes_nothing():
    async def main():
        gate = asyncio.Event()

        class Clock(FakeClock):
            async def asleep(self, seconds):
                await gate.wait()
                self.time += seconds

        clock = Clock()
        bucket = TokenBucket(60, 1, clock=clock)
        assert await bucket.aacquire() == 0
        tasks = [asyncio.create_task(bucket.aacquire()) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.wait(tasks[:1])
        assert len(bucket._queue) == 2
        gate.set()
        waited = await asyncio.gather(*tasks[1:])
        assert max(waited) == pytest.approx(2, abs=0.1)
        assert bucket._queue == type(bucket._queue)()

    asyncio.run(main())


def test_a_wait_that_is_too_long_is_refused_at_once_and_takes_no_place():
    clock = FakeClock()
    bucket = TokenBucket(60, 5, clock=clock)
    bucket.take(5)
    with pytest.raises(LimiterTimeout) as caught:
        bucket.acquire(3, max_wait=2, key="k")
    assert (caught.value.key, caught.value.wait, caught.value.max_wait) == ("k", pytest.approx(3), 2)
    assert clock.waits == []
    assert bucket.acquire(1, max_wait=2) == pytest.approx(1)


def test_what_can_never_be_had_is_a_mistake():
    bucket = TokenBucket(60, 5, clock=FakeClock())
    for wrong in (6, -1):
        with pytest.raises(ValueError, match="never be taken"):
            bucket.take(wrong)
        with pytest.raises(ValueError, match="never be taken"):
            bucket.acquire(wrong)


def test_a_pause_holds_everybody():
    clock = FakeClock()
    limiter = RateLimiter(requests=600, clock=clock)
    limiter.pause("k", 7)
    limiter.pause("k", 3)
    assert limiter.acquire("other").waited == 0
    assert limiter.acquire("k").waited == pytest.approx(7)
    assert clock.time == pytest.approx(1007)


@pytest.mark.parametrize("limits", [{}, {"tokens": 100}])
def test_a_pause_holds_everybody_also_without_a_limit_of_requests(limits):
    clock = FakeClock()
    limiter = RateLimiter(**limits, clock=clock)
    limiter.pause("k", 7)
    assert limiter.acquire("k").waited == pytest.approx(7)
    assert [limiter.acquire("k").waited for _ in range(1000)] == [0] * 1000


def test_who_goes_ahead_has_waited_as_long_as_is_allowed_in_all():
    """Some of it for the requests, the rest for tokens that are not to be had, or until the server asked for more."""
    clock = FakeClock()
    limiter = RateLimiter(requests=2, tokens=1, max_wait=40, or_go_ahead=True, clock=clock)
    limiter.acquire(tokens=1)
    limiter.acquire()
    assert limiter.acquire(tokens=1).waited == pytest.approx(40)
    assert clock.time == pytest.approx(1040)

    class Refused(FakeClock):
        def sleep(self, seconds):
            other.pause("", 100)
            super().sleep(seconds)

    later = Refused()
    other = RateLimiter(requests=1, max_wait=70, or_go_ahead=True, clock=later)
    other.acquire()
    assert other.acquire().waited == pytest.approx(70)
    assert later.time == pytest.approx(1070)


def test_requests_go_back_if_the_tokens_are_not_to_be_had():
    clock = FakeClock()
    limiter = RateLimiter(requests=1, tokens=100, max_wait=5, clock=clock)
    limiter.acquire(tokens=0)
    clock.time += 60
    limiter._of("")[1].take(100)
    with pytest.raises(LimiterTimeout):
        limiter.acquire(tokens=100)
    assert limiter.acquire().waited == 0


def test_the_difference_to_what_was_reckoned_with_is_settled():
    clock = FakeClock()
    limiter = RateLimiter(tokens=600, max_wait=None, clock=clock)
    permit = limiter.acquire(tokens=500)
    permit.settle(100)
    permit.settle(0)  # once is enough
    assert limiter._of("")[1].available == 500
    limiter.acquire(tokens=100).settle(900)
    assert limiter._of("")[1].available == -400
    assert limiter.acquire(tokens=1).waited == pytest.approx(40.1)


def test_a_task_goes_ahead_too_if_that_is_asked_for():
    async def main():
        clock = FakeClock()
        limiter = RateLimiter(requests=1, max_wait=10, or_go_ahead=True, clock=clock)
        assert [(await limiter.aacquire()).waited for _ in range(2)] == [0, 10]
        strict = RateLimiter(requests=1, tokens=5, max_wait=10, clock=clock)
        await strict.aacquire(tokens=5)
        clock.time += 20
        with pytest.raises(LimiterTimeout):
            await strict.aacquire(tokens=5)

    asyncio.run(main())


def test_a_stream_settles_with_the_usage_that_was_told_and_holds_the_others_at_a_refusal():
    clock = FakeClock()
    limiter = RateLimiter(requests=600, tokens=600, clock=clock)
    server = Server(clock, Refusal(429, None, retry_after="20"), ANSWER)
    stream = resilience.stream(
        server, clock=clock, limiter=limiter, limiter_key="k", limiter_tokens=300, rate_limits=RateLimitRetry(jitter=0)
    )
    held = []
    for event in stream:
        held.append(event)
        assert clock.time >= 1020
    assert b"completion_tokens" in USAGE
    # 300 were taken twice; the refusal gave them back, the answer all but 7.
    assert limiter._of("k")[1].available == 593


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: TokenBucket("60"), "per_minute must be a number, not a str"),
        (lambda: TokenBucket(60, True), "capacity must be a number, not a bool"),
        (lambda: RateLimiter(requests="60"), "requests must be a number or None, not a str"),
        (lambda: RateLimiter(tokens=[1]), "tokens must be a number or None, not a list"),
        (lambda: RateLimiter(max_wait="1"), "max_wait must be a number or None, not a str"),
        (lambda: TokenBucket(60).take("1"), "amount must be a number, not a str"),
    ],
)
def test_what_is_no_number_is_refused_by_its_name(make, name):
    with pytest.raises(TypeError, match=name):
        make()


def test_a_limiter_may_be_anybodys():
    class Own:
        def __init__(self):
            self.asked = []

        def acquire(self, key="", tokens=0, *, max_wait=None):
            self.asked.append((key, tokens, max_wait))
            return Permit()

        def pause(self, key, seconds):
            self.asked.append(("pause", key, seconds))

    clock, own = FakeClock(), Own()
    server = Server(clock, Refusal(429), ANSWER)
    stream = resilience.stream(
        server, clock=clock, limiter=own, limiter_key="k", limiter_tokens=9, rate_limits=RateLimitRetry(jitter=0),
        timeouts=resilience.Timeouts(total=100),
    )  # fmt: skip
    list(stream)
    assert own.asked == [("k", 9, 100), ("pause", "k", 5), ("k", 9, 95)]


class Pyrate:
    """The face of a limiter of `pyrate-limiter`."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def try_acquire(self, name, weight, *, timeout):
        self.asked.append((name, weight))
        return self.answers.pop(0)

    async def try_acquire_async(self, name, weight, *, timeout):  # noqa: ASYNC109 - as it is theirs
        return self.try_acquire(name, weight, timeout=timeout)


def test_shared_limits_are_those_of_another_package():
    requests, tokens = Pyrate(True, True, False), Pyrate(True, False)
    limiter = SharedRateLimiter(requests, tokens, max_wait=3)
    assert limiter.acquire("k", 2.5).tokens == 2.5
    assert (requests.asked, tokens.asked) == ([("k", 1)], [("k", 3)])
    with pytest.raises(LimiterTimeout):
        limiter.acquire("k", 1)
    with pytest.raises(LimiterTimeout):
        asyncio.run(limiter.aacquire("", 0))
    assert requests.asked[-1] == ("chunkfold", 1)
    limiter.pause("k", 3)
    assert asyncio.run(SharedRateLimiter(Pyrate(True)).aacquire()).tokens == 0
