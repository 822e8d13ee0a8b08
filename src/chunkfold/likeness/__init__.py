"""
Most frames of a stream differ from the one before in nothing but the text of one delta: what is around it is
remembered.

There are several proofs that a frame need not be read in full: the bytes around its text (`edges`), and where servers
vary more than that, its shape (`shapes`), a number that rises by one (`counted`) or running totals (`totalled`). Which
of them are in force is for `templates`, which is loaded when the dialect is known.

With `CHUNKFOLD_SLOW=1` in the environment every frame is read in full.
"""

from __future__ import annotations

import os
from typing import Any, ClassVar

__all__ = ["NOT_YET", "NO_TEMPLATES", "is_slow"]

_IS_SLOW = os.environ.get("CHUNKFOLD_SLOW", "") not in ("", "0")


def is_slow() -> bool:
    """True if every frame is to be read in full."""
    return _IS_SLOW


class _NoTemplates:
    """No read fits."""

    __slots__ = ()
    learns: ClassVar[bool] = False
    has_templates: ClassVar[bool] = False
    is_in_force: ClassVar[bool] = False
    is_ready: ClassVar[bool] = False
    is_behind: ClassVar[bool] = False
    may_take_many: ClassVar[bool] = False

    def clear(self) -> None:
        """Nothing is in force."""

    def __reduce__(self) -> str:
        """There is one only, also in a copy of a decoder."""
        return "NO_TEMPLATES"


class _NotYet(_NoTemplates):
    """No read fits, but something may be learned."""

    __slots__ = ()
    learns: ClassVar[bool] = True

    def __reduce__(self) -> str:
        return "NOT_YET"


NO_TEMPLATES: Any = _NoTemplates()
"""In the place of `Templates` where nothing is remembered."""

NOT_YET: Any = _NotYet()
"""In the place of `Templates` up to the second frame: a stream of one has no use for them."""
