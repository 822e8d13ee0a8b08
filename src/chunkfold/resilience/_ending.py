"""How an attempt ended: what it failed with, and whether the server had said all before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from chunkfold._source_folder import SourceFolder

if TYPE_CHECKING:
    from chunkfold.resilience._rate_limits import RateLimit
    from chunkfold.response import StreamError

__all__ = ["Ending", "because", "is_done"]


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


def is_done(folder: SourceFolder, rest: bytes = b"") -> bool:
    """True if the server has said that it is done, be it in a frame of which no more than the end mark is missing."""
    if folder.end_seen:
        return True
    try:
        copy = SourceFolder.restore(folder.save())
        copy.feed(rest)
        response = copy.close()
    except Exception:  # noqa: BLE001 - a limit, a policy, or what cannot be copied: then it is as it looks
        response = folder.snapshot()
    has_reasons = all(choice.finish_reason is not None for choice in response.choices)
    return bool(response.choices) and has_reasons and response.error is None and not response.truncated
