"""What the shells of a resilient stream are asked to do, step by step, and what they tell of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.resilience._limiters import Limiter

__all__ = ["CLOSE", "END", "OVERDUE", "READ", "Admit", "Connect", "Failed", "Open", "Step", "Wait"]


class Connect(NamedTuple):
    """Open a source. To be told: `Open`, `OVERDUE` or `Failed`."""

    connect: Callable[[], Any]


class Admit(NamedTuple):
    """Ask the limiter. To be told: the permit or `Failed`."""

    limiter: Limiter
    key: str
    tokens: float
    max_wait: float | None


class Wait(NamedTuple):
    """Let so many seconds pass."""

    seconds: float


class _Mark(NamedTuple):
    name: str


# Read a piece. To be told: the piece, `END`, `OVERDUE` or `Failed`.
READ = _Mark("read")
# Close the source.
CLOSE = _Mark("close")

Step: TypeAlias = Connect | Admit | Wait | _Mark

# What they may tell beside pieces.
END = _Mark("end")
OVERDUE = _Mark("overdue")


class Failed(NamedTuple):
    """The step raised."""

    error: Exception
    is_mistake: bool = False
    """The caller's, so that nothing is tried again."""


class Open(NamedTuple):
    """A source was opened."""

    status: int | None = None
    headers: Any = None
