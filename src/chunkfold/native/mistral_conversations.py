"""
The native body of `mistral-conversations`: a `conversation.response`.

Each event is about one entry of its `outputs`, and says the facts of the entry anew. A message whose content is one
text has it as a text, else a list of chunks. What no event says of the whole is added: `object` where the answer is
complete, so that one that was cut does not look like one that was not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._extras import numbered
from chunkfold.native._build import (
    APPEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    add_unknown,
    arguments_of,
    copied,
    error_of,
    extra_of,
    fields,
    fill,
    is_whole,
    item_id_of,
    item_of,
    usage_of,
    with_object_text,
)
from chunkfold.parts import ReasoningPart, TextPart, ToolCall, ToolResult, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["EVENTS", "RULES", "body", "request"]

_CHUNKS = "outputs[].content[]"

RULES: Mapping[str, Rule] = {
    "event": TRANSPORT,  # Mistral's SDK hands out events as `{event, data}`
    "data": TRANSPORT,
    "type": TRANSPORT,  # of the event
    "object": TRANSPORT,  # what an event is; the body's own is `conversation.response`
    "output_index": TRANSPORT,  # the place of the entry
    "content_index": TRANSPORT,  # the place of the chunk
    "conversation_id": FIRST,
    "usage": LAST,
    **{
        key: Rule("first", f"outputs[].{key}")
        for key in ("created_at", "completed_at", "id", "model", "agent_id", "role")
    },
    "content": Rule("append", "outputs[].content"),
    "content.*": Rule("extend", _CHUNKS),
    "content.text": APPEND,
    "content.thinking": APPEND,
    "content.thinking[]": Rule("extend", f"{_CHUNKS}.thinking[]"),
    "content.thinking[].text": APPEND,
    "content.signature": Rule("last", f"{_CHUNKS}.signature"),
    "content[].text": APPEND,
    "name": Rule("extend", "outputs[].name"),
    "tool_call_id": Rule("extend", "outputs[].tool_call_id"),
    "arguments": APPEND,
    "info": Rule("extend", "outputs[].info"),
    "message": Rule("last", "error.message"),
    "code": Rule("last", "error.code"),
}

# What the fields of an event mean where it is not as above.
EVENTS: Mapping[str, Mapping[str, Rule]] = {
    "conversation.response.started": {"created_at": FIRST},
    "conversation.response.done": {"created_at": FIRST},
    "conversation.response.error": {"created_at": FIRST},
    **{
        kind: {"*": Rule("last", "outputs[]")}
        for kind in (
            "message.output.delta",
            "function.call.delta",
            "tool.execution.started",
            "tool.execution.delta",
            "tool.execution.done",
            "agent.handoff.started",
            "agent.handoff.done",
        )
    },
}

# Where the location of media stands in their chunks.
_LOCATIONS = {"image_url": "image_url", "document_url": "document_url", "tool_file": "file_id", "file": "file_id"}
_PLACES = ("output_index", "content_index")


def body(response: Response) -> dict[str, Any]:
    """The `conversation.response` that says the same."""
    extra = response.extra
    out = fields(extra)
    if not is_whole(response) and response.ended == "clean":
        out["object"] = "conversation.response"
    fill(out, conversation_id=response.id, created_at=response.created, usage=usage_of(response.usage))
    kept = extra_of(extra, "outputs")
    of_entry = _by_entry(response.parts)
    outputs = [_entry(kept[key], of_entry.get(place, []), whole=is_whole(response)) for place, key in numbered(kept)]
    if outputs or (not is_whole(response) and (extra or response.id is not None)):
        out["outputs"] = outputs
    error = error_of(response)
    if error is not None and "error" not in out:
        out["error"] = {key: value for key, value in error.items() if key not in ("created_at", "object")}
        if error.get("type") == "conversation.response.error":
            del out["error"]["type"]
        out["error"] = out["error"] or {"message": None}
    known = [*kept.values(), *(chunk for entry in kept.values() for chunk in extra_of(entry, "content").values())]
    add_unknown(out, [part for part in response.parts if not _is_in(part, known)])
    return out


def _is_in(part: Part, known: list[Any]) -> bool:
    """True for an entry, or a chunk, that stands among the others."""
    return not isinstance(part, UnknownPart) or part.name == "agent.handoff" or part.payload in known


def _by_entry(parts: Iterable[Part]) -> dict[int, list[Part]]:
    """The parts of each entry, by its place."""
    found: dict[int, list[Part]] = {}
    for part in parts:
        place = item_of(part).get("output_index")
        if type(place) is int and not isinstance(part, UnknownPart):
            found.setdefault(place, []).append(part)
    return found


def _entry(kept: Any, parts: list[Part], *, whole: bool) -> Any:
    if not isinstance(kept, dict) or not isinstance(kept.get("type"), str):
        return copied(kept)
    out = fields(kept, ("content",))
    if not whole:
        out = {"object": "entry", **out}
    calls = [part for part in parts if isinstance(part, ToolCall)]
    results = [part for part in parts if isinstance(part, ToolResult)]
    if out["type"] == "message.output":
        chunks = kept.get("content")
        content = _content(parts, chunks if isinstance(chunks, dict) else {})
        if content is not None:
            out["content"] = content
        elif "content" in kept or not whole:
            out["content"] = copied(kept.get("content", ""))
    for call in calls:
        fill(out, name=call.name)
        if not call.server_side:
            fill(out, tool_call_id=call.id, confirmation_status=call.extra.get("confirmation_status"))
        as_object = call.extra.get("$form") == "object"
        if call.raw_arguments or (not whole and out.get("arguments") is None):
            out["arguments"] = arguments_of(call) if as_object else call.raw_arguments
    for result in results:
        out["info"] = copied(result.content)
    return out


def _content(parts: list[Part], others: Mapping[str, Any]) -> Any:
    """One text, or the list of chunks; `None` if there is nothing."""
    if len(parts) == 1 and not others and isinstance(parts[0], TextPart):
        extra = parts[0].extra
        if not extra.keys() - {*_PLACES}:
            return parts[0].text
    placed: list[tuple[int, Any]] = []
    place = 0
    for part in parts:
        index = item_of(part).get("content_index")
        place = index if type(index) is int else place
        if item_of(part).get("$form") == "inner" and placed:
            placed[-1][1]["thinking"] += _thinking(part)
        else:
            placed.append((place, _chunk(part)))
    placed += [(place, copied(others[key])) for place, key in numbered(others)]
    return [chunk for _, chunk in sorted(placed, key=lambda item: item[0])] or None


def _chunk(part: Part) -> Any:
    extra = fields(item_of(part), _PLACES)
    if isinstance(part, TextPart):
        return part.text if part.extra.get("$form") == "string" else {"type": "text", **extra, "text": part.text}
    if isinstance(part, ReasoningPart):
        extra.pop("id", None)
        out = {"type": "thinking", **extra}
        fill(out, signature=part.signature)
        if isinstance(part.extra.get("thinking"), list):
            out["thinking"] = _thinking(part)
        elif part.text:
            out["thinking"] = part.text
        return out
    field = _LOCATIONS.get(extra.get("type") or "", "file_id")
    where = getattr(part, "id", None) if field == "file_id" else getattr(part, "url", None)
    if where is not None and not isinstance(extra.get(field), dict):
        extra[field] = where
    return extra


def _thinking(part: Part) -> list[Any]:
    """What stands in the list of a thinking: the text is where the first empty one is."""
    items: list[Any] = copied(item_of(part).get("thinking", ()))
    text: str = getattr(part, "text", "")
    for place, item in enumerate(items):
        if item == "" or (isinstance(item, dict) and item.get("text") == ""):
            items[place] = text if item == "" else {**item, "text": text}
            break
    return items


def request(message: Message) -> list[dict[str, Any]]:
    """The message as entries for `inputs` of the next request."""
    out: list[dict[str, Any]] = []
    entries: dict[Any, list[Part]] = {}
    for number, part in enumerate(message.parts):
        if not isinstance(part, UnknownPart):
            place = item_of(part).get("output_index")
            entries.setdefault(("part", number) if place is None else place, []).append(part)
        elif part.name == "agent.handoff" and isinstance(part.payload, dict):
            entries["part", number] = [part]
    for parts in entries.values():
        first = parts[0]
        if isinstance(first, UnknownPart):
            out.append({"object": "entry", "type": first.name, **copied(first.payload)})
            continue
        if isinstance(first, (ToolCall, ToolResult)):
            is_ours = isinstance(first, ToolCall) and not first.server_side
            kept: dict[str, Any] = {"type": "function.call" if is_ours else "tool.execution"}
            # What the server ran is answered by the id of its entry.
            fill(kept, id=item_of(first).get("id") if is_ours else getattr(first, "id", None))
        else:
            kept = {"type": "message.output", "role": message.role}
            fill(kept, id=next(filter(None, map(item_id_of, parts)), None))
        entry: dict[str, Any] = _entry(kept, [with_object_text(_with_list(part)) for part in parts], whole=False)
        out.append(entry)
    return out


def _with_list(part: Part) -> Part:
    """Thinking in the form in which it goes back: always in a list."""
    if isinstance(part, ReasoningPart) and not isinstance(part.extra.get("thinking"), list):
        return ReasoningPart(
            part.text, part.signature, extra={**part.extra, "thinking": [{"type": "text", "text": ""}]}
        )
    return part
