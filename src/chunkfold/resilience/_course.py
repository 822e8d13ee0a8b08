"""
The course of a resilient stream, without I/O: what to do next, and what is to be handed out.

One generator says step by step what has to be done (connect, read, wait, close) and is told how it went. The shells
in `_streams`, one for threads and one for tasks, do nothing but these steps, so that both go the same way.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from chunkfold import dialects
from chunkfold.doors._http_errors import said_in
from chunkfold.doors._intake import ERROR_BODY_BYTES
from chunkfold.doors._source_folder import SourceFolder
from chunkfold.errors import (
    FallbackFailed,
    LimiterTimeout,
    LimitExceeded,
    RateLimitEscalation,
    StreamTimeout,
    TotalTimeout,
)
from chunkfold.events import is_output
from chunkfold.resilience._ending import Ending, because
from chunkfold.resilience._failures import TRUNCATED, failure_of, http_failure, response_failure
from chunkfold.resilience._headers import headers_of
from chunkfold.resilience._outlet import Outlet, Try, gives
from chunkfold.resilience._patience import Patience
from chunkfold.resilience._persistence import Persistence
from chunkfold.resilience._rate_limits import rate_limit_of, wait_asked_for
from chunkfold.resilience._sequence import ResumePoint, SequenceGap, SequenceWatch
from chunkfold.resilience._settings import Attempt, AttemptKind, Fallback
from chunkfold.resilience._steps import CLOSE, END, OVERDUE, READ, Admit, Connect, Failed, Open, Wait
from chunkfold.response import Response, StreamError, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from chunkfold.doors._observers import Observers, Teller
    from chunkfold.events import Event
    from chunkfold.resilience._clock import Clock
    from chunkfold.resilience._limiters import Limiter
    from chunkfold.resilience._settings import RateLimitRetry, Retry, Timeouts
    from chunkfold.resilience._steps import Step

__all__ = ["Course"]

_GAP = "sequence_gap"


class Course:
    """What a resilient stream does and says. The shells ask `step`, do it, and `tell` how it went."""

    def __init__(
        self,
        connect: Callable[[], Any],
        dialect: str,
        *,
        clock: Clock,
        timeouts: Timeouts | None,
        retry: Retry | None,
        rate_limits: RateLimitRetry | None,
        fallbacks: tuple[Fallback, ...],
        resume: Callable[[ResumePoint], Any] | None,
        limiter: Limiter | None,
        limiter_key: str,
        limiter_tokens: float,
        options: Mapping[str, Any],
        observers: Observers | None,
        news: Teller,
    ) -> None:
        self.clock = self._clock = clock
        self._stream = Fallback(connect=connect, dialect=dialect)
        self._patience = Patience(clock, timeouts)
        self.is_timed = self._patience.is_timed
        self._persistence = Persistence(clock, retry, rate_limits)
        self._fallbacks = fallbacks
        self._resume = resume
        self._watch = SequenceWatch()
        self._gaps_told = 0
        self._is_watched = False
        self._limiter = (limiter, limiter_key, limiter_tokens)
        self._options = dict(options)
        self._observers = observers
        self._news = news

        # Opening events are held back only where another attempt may make them void.
        self._outlet = Outlet(observers, may_hold=self._persistence.may_repeat or bool(fallbacks))
        self._begun = clock.now()
        self._attempts: list[Attempt] = []
        self._try: Try | None = None
        self._final: Response | None = None
        self._failure: BaseException | None = None
        self.over = False

        # Pieces may be folded without being looked at.
        self._may_be_plain = observers is None and resume is None
        self._is_plain = False

        # A wrong name is told at once.
        for one in (self._stream, *fallbacks):
            if one.dialect != "auto":
                dialects.get(one.dialect)

        self._flow = self._run()
        self._is_deciding = self._wants_end = False
        self.step: Step | None = None

    # For the shells

    def start(self) -> None:
        """Find the first step."""
        if self.step is None and not self.over:
            self._begun = self._clock.now()
            self._patience.begin()
            self._go(None)

    def tell(self, outcome: Any) -> None:
        """How the step went."""
        self._patience.end_step()
        self._go(outcome)

    def _go(self, outcome: Any) -> None:
        self._is_deciding = True
        try:
            self.step = self._flow.send(outcome)
        except StopIteration:
            self.step = None
            self.over = True
        except BaseException as error:  # noqa: BLE001 - raised again when the last events are out
            # A mistake of the caller or of ours, or a limit: nothing is tried again.
            self._break(error)
            self.step = CLOSE
            self._flow = _nothing()
            next(self._flow)
        self._is_deciding = False
        if self._wants_end:
            self.cancel()

    def plain_event(self, piece: Any) -> Event | None:
        """The event of a piece that means one plain delta; else nothing has been done with it."""
        now = self._try
        if not self._is_plain or now is None or type(piece) is not bytes or not now.intake.is_sure:
            return None
        event = now.folder.plain_event(piece)
        if event is not None:
            self._patience.end_step()
            if is_output(event):
                self._patience.renew()
        return event

    def patience(self) -> float | None:
        """Seconds that the step which begins now may take; `None`: as long as it likes."""
        return self._patience.begin_step(has_output=self._has_begun)

    def take(self) -> Event | None:
        """The next event to be handed out; when there is none and the stream has failed, that is raised."""
        if self._outlet:
            return self._outlet.take()
        if self._failure is not None and self.over:
            failure, self._failure = self._failure, None
            raise failure
        return None

    @property
    def has_news(self) -> bool:
        """True if something is still to be handed out or raised."""
        return bool(self._outlet) or self._failure is not None

    @property
    def may_reset(self) -> bool:
        """True if what was handed out may be taken back."""
        return self._persistence.after_output

    def cancel(self) -> None:
        """Nobody wants more of it."""
        if self.over and self._final is not None:
            return
        if self._is_deciding:  # an observer wants it
            self._wants_end = True
            return
        self._wants_end = False
        self._flow.close()
        self.over = True
        self.step = None
        self._outlet.clear()
        self._failure = None
        if self._final is not None:
            return
        now = self._try
        try:
            if now is not None and now.is_open:
                self._leave(now)
        finally:  # an observer may be interrupted
            if self._final is None:
                self._finish(self._stands(), cancelled=True)

    def _leave(self, now: Try) -> None:
        """The running attempt is left: what it has come to is told."""
        now.is_open = False
        events: list[Event] = []
        with contextlib.suppress(LimitExceeded):
            events = now.folder.finish(GeneratorExit())
        if now.attempt.seconds is None:
            self._settle(now, Ending(None))
        self._hear(now, events)

    # What can be asked at any time

    def response(self) -> Response:
        """The response so far, complete once the stream is over."""
        if self._final is not None:
            return self._final
        shown = self._stands()
        if shown is None:
            return Response()
        response = shown.folder.snapshot()
        if response.ended is None:
            return response
        return msgspec.structs.replace(response, ended=None, truncated=False, error=None)

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """All attempts so far, the running one too."""
        running = self._try
        if running is not None and running.attempt.seconds is None:
            return (*self._attempts, running.attempt)
        return tuple(self._attempts)

    def usage(self) -> Usage | None:
        """What all attempts together have cost, as far as it was reported."""
        attempts = self._attempts
        # Of attempts that went on with one response the last one has it all.
        kinds = [*(attempt.kind for attempt in self.attempts[1:]), "stream"]
        responses = [attempt.response for attempt, then in zip(attempts, kinds, strict=False) if then != "resume"]
        if self._try is not None and self._try.attempt.seconds is None:
            responses.append(self._try.folder.snapshot())
        usages = [response.usage for response in responses if response is not None and response.usage is not None]
        return Usage.sum(usages) if usages else None

    # The course itself

    def _run(self) -> Generator[Step, Any, None]:
        """Attempt after attempt, then the fallbacks."""
        while True:
            point = self._resume_point()
            if point is None:
                ending = yield from self._attempt("stream", self._stream)
            else:
                ending = yield from self._attempt("resume", self._resuming(point))
            failure = ending.failure
            if failure is None:
                return self._finish(self._try)
            if not self._may_go_on(ending):
                if point is None or not self._may_show_again():
                    return self._give_up(ending)
                # It cannot be taken up again, and nothing was shown of it: another one will do.
                self._close_open(ending)
                continue
            if isinstance(ending.exception, TotalTimeout):
                break
            wait = self._persistence.wait_after(failure, ending.rate_limit)
            if wait is None:
                break
            if ending.rate_limit is not None:
                self._hold_limiter(wait)
            # A wait that ends behind the deadline is a wait for nothing.
            if not self._patience.outlasts(wait):
                break
            self._announce("on_retry", wait)
            yield Wait(wait)
        if self._persistence.escalation is not None:
            ending = ending._replace(exception=because(self._persistence.escalation, ending))
        yield from self._fall_back(ending)
        return None

    def _resume_point(self) -> ResumePoint | None:
        """Where the response that broke off can be taken up again, if it can."""
        now = self._try
        return self._watch.point if now is not None and now.is_open else None

    def _resuming(self, point: ResumePoint) -> Fallback:
        resume = self._resume
        assert resume is not None  # noqa: S101 - without it nothing is left open
        return msgspec.structs.replace(self._stream, connect=lambda: resume(point))

    def _close_open(self, ending: Ending) -> None:
        """What broke off is not taken up again: fold what is left."""
        now = self._try
        if now is not None and now.is_open:
            now.is_open = False
            for piece in now.stash:
                self._hear(now, now.intake.feed(piece))
            self._hear(now, now.folder.finish(ending.failure))
            self._attempts[-1] = msgspec.structs.replace(self._attempts[-1], response=now.folder.snapshot())

    def _fall_back(self, ending: Ending) -> Generator[Step, Any, None]:
        """Ask the fallbacks, one after the other, once each."""
        self._close_open(ending)
        if not self._fallbacks or not self._may_show_again():
            return self._give_up(ending)
        assert ending.failure is not None  # noqa: S101 - who falls back has failed
        causes = [ending.told()]
        for fallback in self._fallbacks:
            self._announce("on_fallback")
            self._patience.begin()
            ending = yield from self._attempt("fallback", fallback)
            if ending.failure is None:
                return self._finish(self._try)
            causes.append(ending.told())
            if not self._may_show_again():
                break
        return self._give_up(Ending(ending.failure, because(FallbackFailed(causes), ending)))

    def _attempt(self, kind: AttemptKind, target: Fallback) -> Generator[Step, Any, Ending]:
        """One attempt, from the limiter to the end of its source."""
        name = target.name
        attempt = Attempt(len(self._attempts) + 1, kind, name, begun=self._clock.now() - self._begun)
        before = self._try
        if kind == "resume" and before is not None:
            now = before.go_on(attempt)
            self._watch.reconnected()
            self._outlet.go_on(before, now)
        else:
            now = Try(SourceFolder(target.dialect, **self._options), attempt)
            self._watch, self._gaps_told = SequenceWatch(), 0
            self._is_watched = self._resume is not None and kind == "stream"
            self._outlet.begin(now)
        self._try = now
        if kind == "fallback":
            count = len(self._attempts)
            now.folder.note("fallback", f"answered by {name or 'the fallback'} after {count} failed attempts")
        self._news.tell("on_attempt", attempt)
        limiter, key, tokens = self._limiter
        if limiter is not None:
            key = key if target.limiter_key is None else target.limiter_key
            permit = yield Admit(limiter, key, tokens, self._patience.in_all())
            if type(permit) is Failed:
                return self._end(now, permit.error)
            now.permit = permit
        self._patience.renew()
        opened = yield Connect(target.connect)
        if opened is OVERDUE:
            return self._end(now, self._patience.lost(has_output=self._has_begun))
        if type(opened) is Failed:
            if opened.is_mistake:
                raise opened.error
            return self._end(now, opened.error)
        self._is_plain = False
        if opened.status is not None and opened.status >= 300:
            ending = yield from self._refused(now, opened)
        else:
            ending = yield from self._read(now)
        self._is_plain = False
        yield CLOSE
        return ending

    def _refused(self, now: Try, opened: Open) -> Generator[Step, Any, Ending]:
        """The server answered with an error instead of a stream: read it, as far as it goes."""
        body = bytearray()
        while len(body) < ERROR_BODY_BYTES:
            piece = yield READ
            if not isinstance(piece, (bytes, bytearray)):
                break
            body += piece
        error = http_failure(opened.status or 0, said_in(bytes(body)), opened.headers, now=self._clock.wall())
        return self._end(now, error, headers=opened.headers)

    def _read(self, now: Try) -> Generator[Step, Any, Ending]:
        """Fold the source to its end."""
        while True:
            piece = yield READ
            if piece is END:
                return self._end(now, None)
            if piece is OVERDUE:
                return self._end(now, self._patience.lost(has_output=self._has_begun))
            if type(piece) is Failed:
                if piece.is_mistake:
                    raise piece.error
                return self._end(now, piece.error)
            if not self._is_watched:
                self._feed(now, piece)
            else:
                try:
                    for whole in self._watch.passing(piece):
                        now.stash.clear()
                        self._feed(now, whole)
                except SequenceGap as gap:
                    now.stash = [gap.frame, self._watch.rest()]
                    return self._end(now, StreamError(type=_GAP, message=str(gap), retryable=True, origin="transport"))
            # Something that keeps coming and gives nothing is no life.
            left = self.patience()
            if left is not None and left <= 0:
                return self._end(now, self._patience.lost(has_output=self._has_begun))

    @property
    def _has_begun(self) -> bool:
        """True if the running attempt has given something."""
        return self._try is not None and self._try.first_output is not None

    def _feed(self, now: Try, piece: Any) -> None:
        while self._gaps_told < len(self._watch.gaps):
            first, last = self._watch.gaps[self._gaps_told]
            now.folder.note("sequence_gap", f"events {first} to {last} never came")
            self._gaps_told += 1
        self._hear(now, now.intake.feed(piece))

    def _hear(self, now: Try, events: list[Event]) -> None:
        """Events have been folded: note what they give, and pass them on."""
        if (self.is_timed or now.first_output is None) and any(map(gives, events)):
            self._patience.renew()
            if now.first_output is None:
                now.first_output = self._clock.now() - self._begun - now.attempt.begun
                self._is_plain = self._may_be_plain
        self._outlet.put(now, events)

    def _end(self, now: Try, how: Exception | StreamError | None, *, headers: Any = None) -> Ending:
        """The source of the attempt has ended, in one way or another: fold what is left and judge it."""
        exception = how if isinstance(how, Exception) else None
        error = how if isinstance(how, StreamError) else None
        rest = self._watch.rest()
        is_done = (exception is not None or self._is_watched) and now.is_done(rest)
        if exception is not None and is_done:
            # All was said: how the connection ends is of no consequence.
            now.folder.note("lost_after_end", f"{type(exception).__name__} when the answer was complete")
            exception = None
        elif exception is not None:
            error = failure_of(exception, now=self._clock.wall())
            headers = headers_of(exception)
        if is_done or not self._can_resume(now, how):
            if rest:
                self._hear(now, now.intake.feed(rest))
            if error is None:
                now.intake.end()
            now.is_open = False
            self._hear(now, now.folder.finish(error))
        ending = self._judge(now, error, exception, headers)
        self._settle(now, ending)
        return ending

    def _judge(self, now: Try, error: StreamError | None, exception: Exception | None, headers: Any) -> Ending:
        """What it means that the source ended so: a failure or none, and whether it was a rate limit."""
        response = now.folder.snapshot()
        failure = error or response_failure(response, invalid_calls=self._persistence.invalid_calls)
        if failure is None and now.is_open:
            failure = TRUNCATED
        if failure is None or isinstance(exception, LimiterTimeout):
            return Ending(failure, exception)
        limit = rate_limit_of(failure, headers, now=self._clock.wall())
        if limit is not None and limit.kind != "quota" and failure.status is None:
            # Without a status the sentence is all there is to go by.
            failure = msgspec.structs.replace(failure, retryable=True)
        asked = wait_asked_for(failure, headers, now=self._clock.wall())
        if asked is not None and asked != failure.retry_after:
            failure = msgspec.structs.replace(failure, retry_after=asked)
        return Ending(failure, exception, limit)

    def _can_resume(self, now: Try, how: Exception | StreamError | None) -> bool:
        """True if the response that broke off can be taken up again. A refusal to take it up says nothing about it."""
        if not self._is_watched or self._watch.point is None or now.folder.snapshot().error is not None:
            return False
        return not isinstance(how, StreamError) or how.type == _GAP or now.attempt.kind == "resume"

    def _settle(self, now: Try, ending: Ending) -> None:
        """Write down what became of an attempt."""
        response = now.folder.snapshot()
        now.attempt = msgspec.structs.replace(
            now.attempt,
            seconds=self._clock.now() - self._begun - now.attempt.begun,
            first_output=now.first_output,
            was_shown=now.released and now.first_output is not None,
            response=response,
            error=ending.failure,
            rate_limit=ending.rate_limit,
        )
        self._attempts.append(now.attempt)
        if now.permit is not None:
            usage = response.usage
            # What was refused, and what was resumed, cost nothing.
            refused = ending.failure is not None and ending.failure.status is not None and not response.parts
            if now.attempt.kind == "resume" or (refused and usage is None):
                now.permit.settle(0)
            elif usage is not None and usage.total_tokens is not None:
                now.permit.settle(usage.total_tokens)

    def _may_go_on(self, ending: Ending) -> bool:
        """True if another attempt, or a fallback, is worth it and allowed."""
        failure = ending.failure
        assert failure is not None  # noqa: S101 - asked of failures alone
        is_open = self._try is not None and self._try.is_open
        if not (is_open or self._may_show_again()) or isinstance(ending.exception, LimiterTimeout):
            return False
        return self._persistence.is_worth(failure)

    def _may_show_again(self) -> bool:
        seen = (self._outlet.shown, self._try)
        return self._persistence.after_output or not any(one and one.has_output for one in seen)

    def _hold_limiter(self, seconds: float) -> None:
        limiter, key, _ = self._limiter
        if limiter is not None:
            limiter.pause(key, seconds)

    def _stands(self) -> Try | None:
        """The attempt that the response is of: the one handed out last, else the latest."""
        return self._outlet.shown or self._try

    def _give_up(self, ending: Ending) -> None:
        """Nothing more is tried."""
        failure = ending.exception
        if ending.rate_limit is not None:
            self._hold_limiter(self._persistence.asked(ending.rate_limit))
        self._close_open(ending)
        self._finish(self._stands())
        if isinstance(failure, (StreamTimeout, RateLimitEscalation, FallbackFailed)):
            failure.response = self._final
        self._failure = failure or self._failure

    def _finish(self, stands: Try | None, *, cancelled: bool = False) -> None:
        """The stream is over, and this attempt is what it has given."""
        if stands is None:
            response = Response(ended="cancelled" if cancelled else "eof", truncated=True)
        else:
            response = stands.folder.snapshot()
            if cancelled and stands.attempt.error is not None:
                response = msgspec.structs.replace(response, ended="cancelled")
        self._final = response
        self._outlet.end(stands, response)
        if cancelled:
            self._outlet.clear()
        elif stands is not None:
            self._failure = stands.folder.objection
        if self._observers is not None:
            self._observers.done(self._final)

    def _break(self, error: BaseException) -> None:
        """What no attempt can mend."""
        now = self._try
        if isinstance(error, LimitExceeded) and now is not None:
            self._hear(now, list(error.events))
        try:
            if now is not None and now.attempt.seconds is None:
                self._leave(now)
        except BaseException as interruption:  # noqa: BLE001 - of an observer; raised like the other
            error = interruption
        if self._final is None:
            self._finish(self._stands())
        self._failure = error

    def _announce(self, name: Literal["on_retry", "on_fallback"], wait: float | None = None) -> None:
        """Another attempt follows the last one: tell of that one."""
        last = self._attempts[-1]
        if wait is not None:
            last = self._attempts[-1] = msgspec.structs.replace(last, wait=wait)
        self._news.tell(name, last)


def _nothing() -> Generator[Step, Any, None]:
    yield CLOSE
