"""
The calls among the output items of OpenAI Responses: how they begin, and their inputs, in pieces and whole.

An input is JSON in the end. Code, a diff and commands stream as plain text, which is written as the JSON that it stands
in, so that the pieces are those of the whole. What shells print is held, since a result has no pieces.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._responses_items import text_of
from chunkfold.dialects._responses_kinds import AS_TEXT, BY_ITEM_ID, CALLS, OPENINGS, TYPES
from chunkfold.dialects._responses_snapshots import news
from chunkfold.dialects._words import word
from chunkfold.parts import ToolCall

if TYPE_CHECKING:
    from chunkfold.dialects._responses_kinds import Item
    from chunkfold.dialects._writer import Writer
    from chunkfold.parts import Kind

__all__ = [
    "facts", "has_object_input", "input_text", "keep_printed", "kind", "printed", "progress", "take", "turn",
    "whole_input", "write_command", "write_input",
]  # fmt: skip

# What is said of a picture that is not ready.
_PREVIEW = ("partial_image_index", "size", "quality", "background", "output_format")


def kind(item: Item, given: dict[str, Any]) -> Kind:
    """Whether the server runs the call or the client."""
    on_server = CALLS[item.kind][1]
    if item.kind == "tool_search_call":
        on_server = given.get("execution") != "client"
    elif item.kind == "shell_call":
        place = given.get("environment")
        on_server = isinstance(place, dict) and word(place.get("type")).startswith("container")
    return "server_tool_call" if on_server else "tool_call"


def facts(item: Item, given: dict[str, Any]) -> dict[str, Any]:
    """What the part that the call is says of itself at its start."""
    id_ = item.call_id or (item.id if item.kind.startswith(BY_ITEM_ID) else None)
    name = text_of(given, "name") or CALLS[item.kind][0]
    return {"id": id_, "name": name, "tool_type": TYPES.get(item.kind, item.kind)}


def take(w: Writer, item: Item, given: dict[str, Any], data: bytes, *path: str, whole: bool) -> None:
    """What a call says when it is added or done; its exact text is at *path* of *data*."""
    slot, id_, name = item.first.slot, text_of(given, "call_id"), text_of(given, "name")
    if slot.id is None and item.kind.startswith(BY_ITEM_ID):
        id_ = id_ or item.id
    fresh: dict[str, Any] = {"id": id_ if id_ != slot.id else None, "name": name if name != slot.name else None}
    slot.id, slot.name = id_ or slot.id, name or slot.name
    w.update(slot, **fresh)
    if whole and given.get("status") == "incomplete":
        cut(w, item, given)
    inputs = CALLS[item.kind][2]
    known = item.fields.get("$field", "")
    field = known if given.get(known) else next((field for field in inputs if given.get(field)), None)
    if field is None:
        return
    value = given[field]
    # A computer may have its action beside the list of them.
    form = {other: given[other] for other in inputs if other != field and given.get(other)}
    if field != (known or inputs[0]):
        form["$field"] = field
    if field in AS_TEXT and not isinstance(value, str):
        form["$form"] = "object"
    w.update(slot, extra=news(item.fields, form))
    if not whole and not item.first.has_text:
        _begin_input(w, item, field, value)
    elif whole and value != item.value:
        item.value = value
        text = input_text(field, value, data, *path)
        if given.get("status") == "incomplete" and field not in AS_TEXT and slot.kind == "tool_call":
            # The limit cut what the model wrote, and the server closed the object: it must not be run.
            text = text.rstrip().removesuffix("}")
        item.first.state(w, text)


def cut(w: Writer, item: Item, given: dict[str, Any]) -> None:
    """A call was cut, as the item says that states it whole. Arguments that stand in it have begun."""
    slot = item.first.slot
    if slot.is_text or not any(given.get(field) for field in CALLS[item.kind][2]):
        w.cut(slot)


def turn(w: Writer, item: Item, given: dict[str, Any]) -> None:
    """A function call turns out to be one that the server runs. What came as its arguments may be no field of it."""
    slot, told, text = item.first.slot, facts(item, given), item.first.text
    slot.kind, slot.id, slot.name = "server_tool_call", told["id"], told["name"] or slot.name
    call = ToolCall(slot.id, slot.name, text, type=told["tool_type"], server_side=True, index=item.place)
    w.replace(slot, call)
    if "arguments" not in CALLS[item.kind][2]:
        w.update(slot, extra=news(item.fields, {"$field": "arguments"}))


def _begin_input(w: Writer, item: Item, field: str, value: Any) -> None:
    """
    What of the input came with the start: first text. An object is a draft, and its whole form follows; so are
    arguments that are empty.
    """
    if field == "operation" and isinstance(value, dict):
        item.rest = {key: rest for key, rest in value.items() if key != "diff"}
        head = _json.encode(item.rest)[:-1]
        value = value.get("diff")
        item.opening = f'{head}{"," if item.rest else ""}"diff":"' if isinstance(value, str) else head
    if isinstance(value, str) and value and (value != "{}" or item.first.slot.is_text):
        write_input(w, item, value)


def write_input(w: Writer, item: Item, text: str) -> None:
    """More of an input. Plain text is written as the inside of a JSON string."""
    if item.kind in OPENINGS:
        w.singular = True  # it is not written as it stands
        text = (item.opening or "") + _json.encode(text)[1:-1]
        item.opening = None
    item.first.delta(w, text)


def write_command(w: Writer, item: Item, number: int, text: str, *, is_piece: bool) -> None:
    """A command of a shell, in pieces or, if there were none, whole."""
    is_new = number not in item.commands
    item.opening = '","' if is_new and item.commands else item.opening
    item.commands.add(number)
    if is_new or is_piece:
        write_input(w, item, text)


def whole_input(item: Item, field: str, value: Any, data: bytes) -> str:
    """The whole argument text of an input that an event of its own states."""
    if item.kind in OPENINGS:
        return _json.encode({**item.rest, field: value})
    return input_text(field, value, data)


def has_object_input(kind: str, given: dict[str, Any]) -> bool:
    """True if the item is a call whose input is not text, so that its exact form is that of the JSON around it."""
    return kind in CALLS and not any(isinstance(given.get(field), str) for field in CALLS[kind][2] if field in AS_TEXT)


def input_text(field: str, value: Any, data: bytes, *path: str) -> str:
    """The argument text of an input: text and objects as they are, else an object with the field in it."""
    if isinstance(value, str) and field not in ("code", "queries"):
        return value
    text = (_json.exact_at(data, *path, field) if data else None) or _json.encode_exactly(value)
    return text if isinstance(value, dict) or field in AS_TEXT else f'{{"{field}":{text}}}'


def progress(payload: dict[str, Any]) -> dict[str, Any]:
    """What an event about the work of a tool says of its call: how far it is, or a picture that is not ready."""
    status = payload["type"].rpartition(".")[2]
    if status != "partial_image":
        return {"status": status}
    return {name: payload[name] for name in _PREVIEW if name in payload} | {"result": payload.get("partial_image_b64")}


def keep_printed(item: Item, number: int, payload: dict[str, Any]) -> None:
    """What a command of a shell printed: pieces of each of its streams, or the whole of it."""
    delta, output = payload.get("delta"), payload.get("output")
    if isinstance(output, list):
        item.outputs[number] = output
    elif isinstance(delta, dict):
        streams = item.outputs.setdefault(number, {})
        for name, text in delta.items() if isinstance(streams, dict) else ():
            streams.setdefault(name, []).append(word(text, default=""))


def printed(item: Item) -> list[Any]:
    """What was kept of what the commands printed, where no whole result came."""
    content: list[Any] = []
    for out in item.outputs.values():
        content += out if isinstance(out, list) else [{name: "".join(out[name]) for name in out}]
    return content
