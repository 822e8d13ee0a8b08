"""How doubtful things are judged."""

from __future__ import annotations

from chunkfold._value import Value

__all__ = ["Policy"]


class Policy(Value, frozen=True):
    """
    One field for each decision about doubtful things. It holds no code, and the default is the safest: keep
    everything, mark what is doubtful, repair nothing.
    """
