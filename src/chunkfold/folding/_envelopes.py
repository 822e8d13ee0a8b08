"""
Envelopes: objects that hold a whole payload of a dialect in one of their fields, as tools and gateways hand it on.

Only what a dialect is sure of is taken out, only from fields that are documented for this, and only where one of them
has it. The first envelope settles the field for the whole stream: what the tool tells besides, such as the whole
message once more, has other fields and is never taken for a piece.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold import dialects
from chunkfold.basis import _json
from chunkfold.framing import Frame

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["DONE", "ROOT", "find", "is_of_another", "rest_of", "taken_out"]

ROOT = "$envelope"
"""Where the fields of envelopes are kept in `response.extra`, and the name of the parts that come beside them."""

DONE = "[DONE]"

# `event`: Claude Code (`stream_event`), Strands. `data`: OpenAI's Agents SDK (`raw_response_event`), server-sent events
# as lines of JSON, gateways with a `code` beside it. `result`: grpc-gateway, JSON-RPC, Cloudflare's REST API.
# The others: SAP's orchestration, today and in its first version.
_FIELDS = ("event", "data", "result", "final_result", "orchestration_result")


def find(payload: Mapping[str, Any], event: str) -> tuple[str, type[dialects.Dialect]] | None:
    """The field of *payload*, under the frame's name *event*, that holds a payload of a dialect, and that dialect."""
    found = []
    for field in _FIELDS:
        inner = _candidate(payload, field)
        if inner is not None:
            name = _name(payload, field, event)
            dialect = dialects.recognise(inner, name)
            if dialect is not None and dialect.recognise(inner, name) == dialects.CERTAIN:
                found.append((field, dialect))
    return found[0] if len(found) == 1 and not is_of_another(payload) else None


def _candidate(payload: Mapping[str, Any], field: str) -> dict[str, Any] | None:
    """The object that *field* may be an envelope of."""
    inner = payload.get(field)
    if field == "result" and "type" in payload:
        return None  # what a tool gave back
    if field == "data" and isinstance(inner, str):
        # A text may be the model's, whatever is in it. An event that is named like what it holds is none of its own.
        inner = _read(inner)
        if not isinstance(inner, dict) or not inner.get("type") or inner["type"] != payload.get("event"):
            return None
    return inner if isinstance(inner, dict) else None


def taken_out(payload: Mapping[str, Any], frame: Frame, field: str) -> tuple[dict[str, Any], Frame] | None:
    """The payload in a *field* of another, with a frame of its own; `None` if there is none."""
    inner = _candidate(payload, field)
    if inner is None:
        return None
    text = payload[field] if isinstance(payload[field], str) else _json.raw_at(frame.data, field)
    return inner, Frame((text or "").encode("utf-8", "surrogatepass"), _name(payload, field, frame.event))


def rest_of(payload: Mapping[str, Any], field: str) -> dict[str, Any]:
    """What an envelope says besides."""
    return {name: value for name, value in payload.items() if name != field}


def is_of_another(payload: Mapping[str, Any]) -> bool:
    """True if what an envelope holds belongs to another message: that of an agent which a call has started."""
    return bool(payload.get("parent_tool_use_id"))


def _name(payload: Mapping[str, Any], field: str, event: str) -> str:
    """The name of the event inside: that of its frame, unless it stands beside the data."""
    name = payload.get("event")
    return name if field == "data" and isinstance(name, str) else event


def _read(text: str) -> Any:
    """The object that *text* is; `None` if it is something else."""
    if text[:1] != "{":
        return None
    try:
        return _json.decode(text.encode("utf-8", "surrogatepass"))[0]
    except (ValueError, RecursionError):
        return None
