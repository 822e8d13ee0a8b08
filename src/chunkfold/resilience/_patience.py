"""How long a resilient stream waits: for the first output, between outputs, and in all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chunkfold.errors import FirstOutputTimeout, IdleTimeout, StreamTimeout, TotalTimeout
from chunkfold.resilience._settings import Timeouts

if TYPE_CHECKING:
    from chunkfold.resilience._clock import Clock

__all__ = ["Patience"]


class Patience:
    """The time that is left. Only steps count, not what the caller does between them."""

    def __init__(self, clock: Clock, timeouts: Timeouts | None) -> None:
        self._clock = clock
        self._timeouts = timeouts if timeouts is not None else Timeouts()
        self.is_timed = self._timeouts.any
        """True if any time is limited."""
        # When all has to be over, how long nothing has come, and when the step at hand began.
        self._deadline: float | None = None
        self._quiet = 0.0
        self._since = 0.0
        self._total_is_nearer = False

    def begin(self) -> None:
        """The time for the whole begins."""
        if self._timeouts.total is not None:
            self._deadline = self._clock.now() + self._timeouts.total

    def renew(self) -> None:
        """Something came that counts: the time until the next begins."""
        self._quiet = 0.0

    def begin_step(self, *, has_output: bool) -> float | None:
        """Seconds that the step which begins now may take; `None`: as long as it likes."""
        if not self.is_timed:
            return None
        self._since = now = self._clock.now()
        limit = self._timeouts.idle if has_output else self._timeouts.first
        left = None if limit is None else limit - self._quiet
        self._total_is_nearer = False
        if self._deadline is not None and (left is None or self._deadline - now <= left):
            left = self._deadline - now
            self._total_is_nearer = True
        return left

    def end_step(self) -> None:
        """The step is over."""
        if self.is_timed:
            self._quiet += self._clock.now() - self._since

    def in_all(self) -> float | None:
        """Seconds until the deadline, at least none; `None` if there is no deadline."""
        return None if self._deadline is None else max(0.0, self._deadline - self._clock.now())

    def outlasts(self, wait: float) -> bool:
        """True if the deadline comes behind a wait of so many seconds."""
        return self._deadline is None or self._clock.now() + wait < self._deadline

    def lost(self, *, has_output: bool) -> StreamTimeout:
        """What has passed, when a step took too long."""
        timeouts = self._timeouts
        if self._total_is_nearer and timeouts.total is not None:
            return TotalTimeout(timeouts.total)
        return IdleTimeout(timeouts.idle or 0.0) if has_output else FirstOutputTimeout(timeouts.first or 0.0)
