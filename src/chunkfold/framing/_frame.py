"""The one value that every framing produces."""

from __future__ import annotations

from typing import Any

import msgspec

from chunkfold.basis import _json


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One unit of the framing, not yet interpreted."""

    data: bytes
    """The payload bytes. Of a comment its text, of stray text the whole line, of a corrupt frame what is wrong."""

    event: str = ""
    """The SSE event name, or AWS's `:event-type` or `:exception-type`; empty if there is none."""

    kind: str = "data"
    """
    What it is: `data`; `comment` (an SSE comment line); `stray` (text that is neither a field nor JSON);
    `exception` (an AWS exception or error message); `corrupt` (bytes that break the framing).
    """

    cut: bool = False
    """The input ended inside this frame. Only `close()` sets it."""

    opened: Any = None
    """What `text_at` has opened of the data."""

    walk: Any = None
    """How far who looks for values in the data has come."""

    def text_at(self, *path: str | int) -> str | None:
        """The exact JSON text at *path* of the data; `None` if there is none."""
        if self.opened is None:
            msgspec.structs.force_setattr(self, "opened", {})
        return _json.exact_at(self.data, *path, opened=self.opened)
