"""How an attempt ended, and what it failed with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from chunkfold.resilience._rate_limits import RateLimit
    from chunkfold.response import StreamError

__all__ = ["Ending", "because"]


class Ending(NamedTuple):
    """How an attempt ended."""

    failure: StreamError | None
    exception: Exception | None = None
    rate_limit: RateLimit | None = None

    def told(self) -> StreamError:
        """What a failed attempt failed with, and what was raised."""
        failure = self.failure
        assert failure is not None  # noqa: S101 - asked of failures alone
        if self.exception is None or failure.exception is not None:
            return failure
        return msgspec.structs.replace(failure, exception=self.exception)


def because(error: Any, ending: Ending) -> Any:
    """*error*, with what led to it behind it."""
    error.__cause__ = ending.exception
    return error
