"""
The chunks of assistant-ui's own stream (`assistant-stream`), each of which is about the part at some place: a
`text-delta` is text, a thought or a piece of arguments by what began there. Vercel's chunks say that in their names.
"""

from __future__ import annotations

from typing import Any, Final

from chunkfold.dialects._words import word

__all__ = ["PlacedParts"]

# By the kind of the part, what a chunk about it is called.
_NAMES: Final = {
    "text": {"part-start": "text-start", "text-delta": "text-delta", "part-finish": "text-end"},
    "reasoning": {"part-start": "reasoning-start", "text-delta": "reasoning-delta", "part-finish": "reasoning-end"},
    "tool-call": {
        "part-start": "tool-input-start",
        "text-delta": "tool-input-delta",
        "tool-call-args-text-finish": "tool-input-end",
        "result": "tool-result",
        "part-finish": "tool-input-end",
    },
}
_FIELDS: Final = {"tool-input-delta": {"textDelta": "inputTextDelta"}, "tool-result": {"isPreliminary": "preliminary"}}


class PlacedParts:
    """The parts that have begun: places count them."""

    def __init__(self) -> None:
        # The kind of each, and what it is known by: nobody is told an id that the server has not given.
        self._parts: list[tuple[str, dict[str, Any]]] = []

    def clear(self) -> None:
        """What has begun is void."""
        self._parts.clear()

    def chunk_of(self, payload: dict[str, Any]) -> dict[str, Any]:
        """Vercel's chunk that says the same; *payload* itself if it is about no part that is known."""
        part = payload.get("part")
        if isinstance(part, dict) and not payload["path"]:  # else it is in another part
            kind = word(part.get("type"), default="")
            ids = {"toolCallId": part.get("toolCallId")} if kind == "tool-call" else {"id": [len(self._parts)]}
            self._parts.append((kind, ids))
            return {**part, **ids, "type": _NAMES[kind]["part-start"]} if kind in _NAMES else part
        path = payload.get("path")
        place = path[0] if isinstance(path, list) and len(path) == 1 else None
        if not isinstance(place, int) or not 0 <= place < len(self._parts):
            return payload
        kind, ids = self._parts[place]
        said = word(payload.get("type"), default="")
        if kind not in _NAMES and said == "part-finish":
            return {}  # the part came whole
        name = _NAMES.get(kind, {}).get(said)
        if name is None:
            return payload
        fields = {_FIELDS.get(name, {}).get(key, key): value for key, value in payload.items() if key != "path"}
        return {**fields, **ids, "type": name}
