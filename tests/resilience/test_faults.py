"""
Every fault of the table, on real sockets.

By default the runtimes and the choice of `after_output` take turns over the places; `CHUNKFOLD_TESTS=faults` (that is
`make faults`) tries all of them at each.
"""

from __future__ import annotations

import os
import time
from itertools import cycle, product

import pytest

from chunkfold import dialects, resilience
from tests.resilience import bodies
from tests.resilience.faults import ANSWERS, STREAM_FAULTS, applies, check, settings, struck
from tests.resilience.runtimes import RUNTIMES, QuickClock
from tests.resilience.server import Play

FULL = os.environ.get("CHUNKFOLD_TESTS") == "faults"
PAUSES = cycle((0.02, 0.035, 0.05))
# No stream of these takes longer, however busy the machine is.
NO_HANG = 30.0


def rows():
    """What strikes where, and how it is run."""
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
    first, sent = struck(fault, dialect, place, next(PAUSES))
    url = tidy.script([first, Play(bodies.body(dialect))])
    begun = time.monotonic()
    seen = RUNTIMES[runtime](url, **settings(fault, after_output=after_output))
    assert time.monotonic() - begun < NO_HANG
    check(fault, dialect, sent, seen, after_output=after_output, requests=tidy.requests(url))


def test_every_dialect_is_struck():
    assert sorted(bodies.DIALECTS) == list(dialects.names())


def answer_rows():
    turns = cycle(RUNTIMES)
    for answer in ANSWERS:
        for runtime in RUNTIMES if FULL else [next(turns), next(turns)]:
            yield pytest.param(answer, runtime, id=f"{answer.name}-{runtime}")


@pytest.mark.parametrize(("answer", "runtime"), list(answer_rows()))
def test_what_the_table_says_comes_of_an_answer_that_is_no_stream(tidy, answer, runtime):
    url = tidy.script([answer.play(), Play(bodies.body(bodies.MAIN))])
    clock = QuickClock()
    limits = resilience.RateLimitRetry(default=5.0, cap=100.0, jitter=0.0)
    seen = RUNTIMES[runtime](url, clock=clock, rate_limits=limits, retry=resilience.Retry(jitter=0.0))
    seen.assert_lawful()
    assert seen.resets == 0
    assert tidy.requests(url) == (2 if answer.again else 1)
    first = seen.attempts[0]
    assert (first.rate_limit is not None) == (answer.escalates or answer.error == "insufficient_quota")
    if answer.again:
        assert seen.raised is None
        assert seen.response.choices == bodies.whole(bodies.MAIN).choices
        wait = answer.wait if answer.wait is not None else 0.5
        assert len(clock.waits) == 1
        # A date has no more than seconds, and some of them have gone by.
        assert wait - 1.5 <= clock.waits[0] <= wait if "date" in answer.name else clock.waits == [wait]
        assert first.wait == clock.waits[0]
    else:
        assert clock.waits == []
        assert answer.error is None or seen.response.error.type == answer.error
        assert seen.response.error.status == (answer.status if answer.status != 200 else seen.response.error.status)
        assert not seen.response.error.retryable


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_server_that_is_not_there_is_asked_as_often_as_allowed(runtime):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else gets the port
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/0"
        clock = QuickClock()
        seen = RUNTIMES[runtime](url, clock=clock, retry=resilience.Retry(times=2, base=1, jitter=0))
    assert isinstance(seen.raised, OSError)
    assert clock.waits == [1, 2]
    assert [attempt.error.origin for attempt in seen.attempts] == ["transport"] * 3
    seen.assert_lawful()
