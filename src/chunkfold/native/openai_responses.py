"""
The native body of `openai-responses`: a `response`, whose output is rebuilt from the parts.

The parts of one message, or of the reasoning between two items, make one item; every other item is a part. Fields of an
item are in the `extra` of its part, or of its first text; those of a part of an item, and all of items without a part
that could hold them, are in `response.extra` under `output`, at their place. The closing event's own list is not looked
at: it may have fewer items, or none, or never come.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._extras import key_of, numbered
from chunkfold.basis import _json
from chunkfold.dialects._media import base64_text
from chunkfold.dialects._responses_kinds import AS_TEXT, BY_ITEM_ID, CALLS, OWN, RESULTS, TYPES
from chunkfold.native._build import (
    APPEND,
    FIRST,
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
    usual,
    with_object_text,
)
from chunkfold.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["RULES", "body", "request"]

RULES: Mapping[str, Rule] = {
    # Of every event.
    "type": TRANSPORT,
    "sequence_number": TRANSPORT,
    "obfuscation": TRANSPORT,  # padding against guessing by size
    "stream_id": TRANSPORT,
    # Where an event belongs: the items and their parts are in lists.
    "output_index": TRANSPORT,
    "content_index": TRANSPORT,
    "summary_index": TRANSPORT,
    "annotation_index": TRANSPORT,
    "command_index": TRANSPORT,
    "item_id": TRANSPORT,
    # Pieces, and what restates them; the items have them whole.
    "delta": APPEND,
    "text": APPEND,
    "refusal": APPEND,
    "arguments": APPEND,
    "input": APPEND,
    "code": APPEND,
    "diff": APPEND,
    "command": APPEND,
    "output": APPEND,
    "id": FIRST,
    "model": FIRST,
    "created_at": FIRST,
    "name": Rule("extend", "output[].name"),
    "call_id": Rule("first", "output[].call_id"),
    "logprobs": APPEND,
    "annotation": Rule("extend", "output[].content[].annotations[]"),
    "item": Rule("last", "output[]"),
    "item.id": Rule("first", "output[].id"),  # some servers draw another one for each event
    "item.call_id": Rule("first", "output[].call_id"),
    "item.arguments": APPEND,
    "item.input": APPEND,
    "item.code": APPEND,
    "item.action": Rule("append", "output[].action"),
    "item.operation": Rule("append", "output[].operation"),
    "item.content": APPEND,
    "item.content[]": Rule("extend", "output[].content[]"),
    "item.content[].text": APPEND,
    "item.summary[]": Rule("extend", "output[].summary[]"),
    "item.summary[].text": APPEND,
    "response": Rule("last", "$"),
    "response.id": Rule("first", "id"),
    "response.model": Rule("first", "model"),
    "response.created_at": Rule("first", "created_at"),
    "response.status": APPEND,  # the closing event's own name goes before an older status
    "response.output[]": Rule("extend", "output[]"),
    "response.output[].id": Rule("append", "output[].id"),
    "response.output[].call_id": Rule("append", "output[].call_id"),
    # The first error that was told stands.
    "error": FIRST,
    "message": Rule("first", "error.message"),
    "param": Rule("first", "error.param"),
    "response.error": Rule("first", "error"),
}


def _part_rules(listed: str) -> dict[str, Rule]:
    """Of events about a part that stands in that list of its item."""
    return {
        "part": Rule("last", f"output[].{listed}[]"),
        "part.text": APPEND,
        "part.refusal": APPEND,
        "status": Rule("extend", f"output[].{listed}[].status"),
    }


# Rules that hold for events of one type.
EVENTS: Mapping[str, Mapping[str, Rule]] = {
    "response.image_generation_call.partial_image": {
        # A preview gives way to the picture.
        "partial_image_index": TRANSPORT,
        "partial_image_b64": TRANSPORT,
        **{name: Rule("extend", f"output[].{name}") for name in ("size", "quality", "background", "output_format")},
    },
    **{
        f"response.{stem}.{verb}": _part_rules(listed)
        for stem, listed in (
            ("content_part", "content"),
            ("reasoning_part", "content"),
            ("reasoning_summary_part", "summary"),
        )
        for verb in ("added", "done")
    },
}

_CLOSED = ("action", "actions", "operation")
_STATUS = ("completed", "incomplete", "failed", "cancelled", "canceled")


class _Item:
    """An output item in the making."""

    __slots__ = ("id", "index", "kind", "parts")

    def __init__(self, kind: str, index: int | None) -> None:
        self.kind = kind
        self.index = index
        # The first one that a part of it has.
        self.id: Any = None
        self.parts: list[Part] = []

    def add(self, part: Part) -> None:
        """Add a part."""
        self.parts.append(part)
        self.id = self.id or item_id_of(part)


def body(response: Response) -> dict[str, Any]:
    """The `response` that was not streamed."""
    extra = response.extra
    out = fields(extra, ("output",))
    told = error_of(response)
    if told is not None:
        kept, error = out.get("error"), _error(told)
        if isinstance(kept, dict) and isinstance(error, dict) and kept.get("message") == error.get("message"):
            error = {**error, **kept}
        out["error"] = error
    parts = response.parts
    if not is_whole(response):
        _add_status(out, response.native_finish_reason)
    fill(out, id=response.id, model=response.model, created_at=response.created, usage=usage_of(response.usage))
    out.setdefault("object", "response")
    out["output"] = _output(parts, extra_of(extra, "output"), response.logprobs)
    add_unknown(out, [part for part in parts if _is_event(part)])
    return out


def _error(told: dict[str, Any]) -> Any:
    """The error of a response. The event that tells one has its fields beside its type, or in a field of that name."""
    if "error" in told:
        return told["error"]
    return {key: value for key, value in told.items() if key not in ("type", "sequence_number")} or told


def _add_status(out: dict[str, Any], said: str | None) -> None:
    """The status, as the closing event said it or as its name does."""
    if said is None:
        out.setdefault("status", "in_progress")
    elif out.get("status") not in (*_STATUS, said):
        out["status"] = said if said in _STATUS else "incomplete"
        if said not in _STATUS:
            details = out.get("incomplete_details")
            out["incomplete_details"] = {**(details if isinstance(details, dict) else {}), "reason": said}


def _is_event(part: Part) -> bool:
    """True for an event that was not understood, which is no item of the output."""
    if not isinstance(part, UnknownPart):
        return False
    return part.name.startswith(("event.", "response.")) or not isinstance(part.payload, dict)


def _output(parts: Iterable[Part], kept: dict[str, Any], logprobs: Sequence[Any] = ()) -> list[dict[str, Any]]:
    items = _items(parts, kept)
    listed = [item.index for item in items if item.index is not None]
    known = set(listed)
    for index, key in numbered(kept):
        # An item without parts: an empty message.
        if index not in known and "type" in kept[key]:
            items.append(_Item(kept[key]["type"], index))
    if len(known) == len(listed) and all(item.index is not None for item in items):
        items.sort(key=lambda item: item.index or 0)
    built = [_build(item, kept) for item in items]
    _spread_logprobs(built, logprobs)
    return built


def _items(parts: Iterable[Part], kept: dict[str, Any]) -> list[_Item]:
    """The items of *parts*, in order of their first part."""
    items: list[_Item] = []
    # By kind and place, the last one.
    open_items: dict[tuple[str, int | None], _Item] = {}
    places = _places(kept)
    for part in parts:
        if _is_event(part):
            continue
        extra = item_of(part)
        kind = _kind(part)
        index = extra.get("output_index") if not isinstance(part, ToolCall) else part.index
        if isinstance(part, (RefusalPart, UnknownPart)) and kind:
            # These cannot say so themselves.
            name = "refusal" if isinstance(part, RefusalPart) else part.name.partition(".")[2]
            index = next(places.get(name, iter(())), None)
        index = index if isinstance(index, int) else None
        # A part goes on an item of the same place; one that has no place goes on what came last.
        last = items[-1] if items else None
        item = open_items.get((kind, index)) if index is not None else last
        if not kind or item is None or item.kind != kind or not _may_be_of(item, part):
            item = open_items[kind, index] = _Item(kind, index)
            items.append(item)
        item.add(part)
    return items


def _kind(part: Part) -> str:
    """The type of the item that a part stands in."""
    if isinstance(part, ReasoningPart) or (isinstance(part, UnknownPart) and part.name.startswith("summary.")):
        return "reasoning"
    if isinstance(part, (TextPart, RefusalPart, AudioPart)):
        return "message"
    return "message" if isinstance(part, UnknownPart) and part.name.startswith("content.") else ""


def _may_be_of(item: _Item, part: Part) -> bool:
    """True if no ids say that *part* is of another item."""
    id_ = item_id_of(part)
    return id_ is None or not item.id or id_ == item.id


def _places(kept: dict[str, Any]) -> dict[str, Iterator[int]]:
    """By type of part: the places of the items that parts of that type stand in, one for each."""
    places: dict[str, list[int]] = {}
    for index, key in numbered(kept):
        for name in ("content", "summary"):
            listed = extra_of(kept, key, name)
            for _, place in numbered(listed):
                kind = extra_of(listed, place).get("type")
                if isinstance(kind, str):
                    places.setdefault(kind, []).append(index)
    return {kind: iter(listed) for kind, listed in places.items()}


def _build(item: _Item, kept: dict[str, Any]) -> dict[str, Any]:
    if not item.kind:
        return _single(item.parts[0])
    extra = kept.get(key_of(item.index)) if item.index is not None else None
    extra = extra if isinstance(extra, dict) else {}
    listed_here = [name for name in ("content", "summary") if isinstance(extra.get(name), dict)]
    out: dict[str, Any] = {"type": item.kind, **fields(extra, listed_here)}
    for part in item.parts:
        if isinstance(part, (TextPart, ReasoningPart)):
            out |= fields(part.extra, ("output_index",))
            fill(out, phase=part.phase, id=part.id) if isinstance(part, TextPart) else fill(
                out, encrypted_content=part.encrypted, signature=part.signature
            )
    if item.kind == "message":
        out.setdefault("role", "assistant")
    for name, listed in _lists(item, extra).items():
        if listed or name not in out:
            out[name] = listed
    return out


def _lists(item: _Item, extra: dict[str, Any]) -> dict[str, list[Any]]:
    """The lists of an item, each part with the further fields that are kept at its place."""
    lists: dict[str, list[Any]] = {"content": []} if item.kind == "message" else {}
    for part in item.parts:
        name, built = _part(part)
        if built is None:
            continue
        listed = lists.setdefault(name, [])
        kept = extra_of(extra, name)
        while str(len(listed)) in kept and not isinstance(kept[str(len(listed))], dict):
            listed.append(copied(kept[str(len(listed))]))
        further = kept.get(str(len(listed)))
        if isinstance(built, dict) and isinstance(further, dict) and not isinstance(part, UnknownPart):
            named = {"type": further["type"]} if further.get("type") in ("text", "output_text") else {}
            built = {**fields(further), **built, **named}
            if further.get("annotations"):
                built["annotations"] = copied(further["annotations"])
        listed.append(built)
    for name in ("content", "summary"):
        kept = extra_of(extra, name)
        listed = lists.get(name, [])
        while str(len(listed)) in kept:
            # What is no part: another value, or reasoning without any text.
            left = kept[str(len(listed))]
            if isinstance(left, dict) and item.kind != "reasoning":
                break
            kind = "summary_text" if name == "summary" else "reasoning_text"
            listed = [*listed, {"type": kind, **fields(left)} if isinstance(left, dict) else copied(left)]
            lists[name] = listed
    return lists


def _part(part: Part) -> tuple[str, Any]:
    """The list that a part stands in, and what it is there; `None` for reasoning that is all in its item."""
    if isinstance(part, TextPart):
        out: dict[str, Any] = {"type": "output_text", "text": part.text}
        if part.annotations:
            out["annotations"] = copied(part.annotations)
        return "content", out
    if isinstance(part, RefusalPart):
        return "content", {"type": "refusal", "refusal": part.text}
    if isinstance(part, AudioPart):
        data = base64_text(part.data or b"")
        return "content", {"type": "output_audio", "data": data, "transcript": part.transcript or ""}
    if isinstance(part, UnknownPart):
        return part.name.partition(".")[0], copied(part.payload)
    if not isinstance(part, ReasoningPart) or not part.text:
        return "", None
    return ("summary", _text("summary_text", part)) if part.summary else ("content", _text("reasoning_text", part))


def _text(kind: str, part: ReasoningPart) -> dict[str, Any]:
    return {"type": kind, "text": part.text}


def _spread_logprobs(items: list[dict[str, Any]], logprobs: Sequence[Any]) -> None:
    """Give the log-probabilities to the text, where its end, which states them, never came."""
    texts = [
        part
        for item in items
        if item.get("type") == "message" and isinstance(item.get("content"), list)
        for part in item["content"]
        if isinstance(part, dict) and part.get("type") == "output_text"
    ]
    if logprobs and texts and not any(part.get("logprobs") for part in texts):
        texts[0]["logprobs"] = copied(logprobs)


def _single(part: Part) -> dict[str, Any]:
    """An item that is one part."""
    build = _ITEMS.get(type(part))
    return build(part) if build is not None else {"type": part.kind, **fields(item_of(part))}


def _call(call: ToolCall) -> dict[str, Any]:
    kind = _CALL_TYPES.get(call.type, call.type)
    name, _, inputs = CALLS.get(kind, (None, False, ("arguments",)))
    out: dict[str, Any] = {"type": kind, **fields(call.extra, ("output_index", "partial_image_index"))}
    if call.id is not None and not (kind.startswith(BY_ITEM_ID) and call.id == out.get("id")):
        out["call_id"] = call.id
    if call.name is not None and call.name != name:
        out["name"] = call.name
    field = call.extra.get("$field")
    if field not in inputs:
        # What came as arguments of a function is no field of a search.
        field = inputs[0] if inputs and field != "arguments" else None
    if field is not None and (call.raw_arguments or (field in AS_TEXT and field not in out)):
        out[field] = _input(call, field)
    return out


def _input(call: ToolCall, field: str) -> Any:
    """The input of a call as its field has it: text, an object, or a value that was put into one."""
    if field in AS_TEXT and call.extra.get("$form") != "object":
        return call.raw_arguments
    value = arguments_of(call)
    if isinstance(value, str) and field in _CLOSED and call.extra.get("status") == "incomplete":
        # The limit cut what the model wrote, and the server closed the object all the same.
        closed = _json.is_object(value + "}")
        value = _json.parse_arguments(value + "}") if closed else value
    return value[field] if isinstance(value, dict) and value.keys() == {field} else value


def _result(part: ToolResult) -> dict[str, Any]:
    kind = part.extra.get("type") or f"{part.name or 'function_call'}_output"
    out: dict[str, Any] = {"type": kind, **fields(part.extra, ("output_index",))}
    fill(out, call_id=part.call_id)
    if part.content is not None:
        out[RESULTS.get(kind, "output")] = copied(part.content)
    return out


def _unknown(part: UnknownPart) -> dict[str, Any]:
    payload: dict[str, Any] = copied(part.payload)
    return payload


_CALL_TYPES = {ours: theirs for theirs, ours in TYPES.items()}
_ITEMS: dict[type, Callable[[Any], dict[str, Any]]] = {ToolCall: _call, ToolResult: _result, UnknownPart: _unknown}


# The fields of an item that requests may have, where they refuse others: "Unknown parameter: 'input[1].action'".
_SENT: Mapping[str, Iterable[str]] = {"image_generation_call": ("type", "id", "status", "result", "error")}


# "Invalid 'input[2].id': string too long": GitHub Copilot draws ids that it does not take back.
_LONGEST_ID = 64


def _printed(item: dict[str, Any]) -> list[dict[str, Any]]:
    """What each command of a shell printed."""
    listed = item.get("output") if item["type"] == "shell_call_output" else None
    return [printed for printed in listed if isinstance(printed, dict)] if isinstance(listed, list) else []


def request(message: Message) -> list[dict[str, Any]]:
    """
    The items of the message for `input` of the next request, with their ids, phases and encrypted reasoning.

    Log-probabilities, media and what only responses have are left out. So is reasoning that nothing follows, as streams
    that were cut and limits of tokens leave it: OpenAI refuses the whole request for it.
    """
    parts = [
        part
        for part in message.parts
        if not isinstance(part, (AudioPart, FilePart, ImagePart)) and item_of(part).get("$form") != "beside"
    ]
    # The arguments of a function are text, those of other tools may be an object.
    parts = [usual(with_object_text(part)) if getattr(part, "type", None) == "function" else part for part in parts]
    items = _output(parts, {})
    # What has no type is nothing that this provider has said.
    items = [item for item in items if isinstance(item.get("type"), str)]
    # An MCP call without a name has not begun: OGX asks for approval.
    items = [item for item in items if item["type"] != "mcp_call" or item.get("name")]
    for item in items:
        for made in (item, *_printed(item)):
            made.pop("created_by", None)
        for key in item.keys() - _SENT.get(item["type"], item.keys()):
            del item[key]
        item.pop("parsed_arguments", None)  # OpenAI's SDK adds it
        if item["type"] in OWN and "id" in item and (not item["id"] or len(str(item["id"])) > _LONGEST_ID):
            del item["id"]
        if item["type"] == "reasoning":
            item.pop("status", None)  # an unknown parameter in requests, but for this item alone
            if item.get("content", "") is None:
                del item["content"]  # xAI answers 422
            item.setdefault("summary", [])
        for part in item["content"] if item["type"] == "message" else ():
            if isinstance(part, dict) and part.get("type") == "output_text":
                part.setdefault("annotations", [])  # OpenAI does without, Azure and vLLM refuse the request
    while items and items[-1]["type"] == "reasoning" and items[-1].get("id"):
        items.pop()
    return items
