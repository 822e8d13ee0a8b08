"""
The messages of an AG-UI run: which parts each one states, and the parts that it is where the run was not streamed.

A message of the assistant is a text and the calls that stand in it; one of a tool is a result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._words import word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.parts import Kind

__all__ = ["TEXTS", "Key", "cut_calls", "key_of", "keys_of", "stated_by", "write_whole"]

# What a part is found by: its kind, and the id of its message or its call.
Key = tuple[str, str]
TEXTS = ("text", "reasoning")


def key_of(id_: Any) -> str:
    """What an id is known by, whatever it is."""
    return id_ if isinstance(id_, str) else "null" if id_ is None else _json.encode(id_)


def keys_of(message: dict[str, Any]) -> list[Key]:
    """The keys of the parts that a message of a snapshot may state."""
    own = key_of(message.get("id"))
    return [("text", own), ("reasoning", own), ("result", key_of(message.get("toolCallId"))), *_calls_of(message)]


def stated_by(message: dict[str, Any]) -> list[Key]:
    """The keys of the parts that a message of a snapshot does state, in their order."""
    role = message.get("role")
    if role == "tool":
        return [("result", key_of(message.get("toolCallId")))]
    if role not in ("assistant", "reasoning"):
        return []
    content = message.get("content")
    kind = "text" if role == "assistant" else "reasoning"
    texts = [(kind, key_of(message.get("id")))] if isinstance(content, str) and content else []
    return texts + _calls_of(message) if role == "assistant" else texts


def _calls_of(message: dict[str, Any]) -> list[Key]:
    calls = message.get("toolCalls")
    if not isinstance(calls, list):
        return []
    return [("tool_call", key_of(call.get("id"))) for call in calls if isinstance(call, dict)]


def write_whole(w: Writer, message: Any) -> None:
    """Write the parts of a message as it stands in the body of a run that was not streamed."""
    whole = _WHOLE.get(word(message.get("role"))) if isinstance(message, dict) else None
    if whole is not None:
        whole(w, message)
    else:
        w.unknown("message", message)


def cut_calls(w: Writer) -> None:
    """The run did not finish: calls without arguments that nothing has answered may be the beginnings of some."""
    for slot in w.table.choice(0).by_kind.get("tool_call", ()):
        if w.slot(0, ("result", key_of(slot.id))) is None:
            w.mark_cut(slot)


def _assistant(w: Writer, message: dict[str, Any]) -> None:
    """The text, if only an empty one, and the calls that stand in the same message."""
    calls = message.get("toolCalls")
    if isinstance(calls, list) and calls and all(isinstance(call, dict) for call in calls):
        message = {name: value for name, value in message.items() if name != "toolCalls"}
    else:
        calls = []
    _text(w, "text", message)
    for call in calls:
        _call(w, call)


def _reasoning(w: Writer, message: dict[str, Any]) -> None:
    _text(w, "reasoning", message)


def _text(w: Writer, kind: Kind, message: dict[str, Any]) -> None:
    id_, content = message.get("id"), message.get("content")
    known = {"role", *_words(message, "id", "content")}
    extra = {name: value for name, value in message.items() if name not in known}
    if "content" not in message:
        extra["$absent"] = ["content"]
    if kind == "reasoning" and _words(message, "encryptedValue"):
        extra["encrypted"] = extra.pop("encryptedValue")
    slot = w.start(0, kind, key=(kind, key_of(id_)), id=id_, extra=extra)
    w.delta(slot, content)
    w.stop(slot)


def _call(w: Writer, call: dict[str, Any]) -> None:
    given = call.get("function")
    function = given if isinstance(given, dict) else {}
    extra = {name: value for name, value in call.items() if name not in {"function", *_words(call, "id")}}
    known = _words(function, "name", "arguments")
    inner = {name: value for name, value in function.items() if name not in known}
    if inner or ("function" in call and given is not function):
        extra["function"] = inner or given
    absent = [name for name in ("type", "function") if name not in call]
    absent += [name for name in ("arguments",) if name not in function]
    extra |= {"$form": "inner", **({"$absent": absent} if absent else {})}
    id_ = call.get("id")
    key = ("tool_call", key_of(id_))
    slot = w.start(0, "tool_call", key=key, id=id_, name=function.get("name"), tool_type="function", extra=extra)
    w.delta(slot, function.get("arguments"))
    w.stop(slot)


def _tool(w: Writer, message: dict[str, Any]) -> None:
    id_ = message.get("toolCallId")
    known = {"role", "id", "content", *_words(message, "toolCallId")}
    extra = {name: value for name, value in message.items() if name not in known}
    if "id" in message:
        extra["messageId"] = message["id"]
    if "content" not in message:
        extra["$absent"] = ["content"]
    call = w.slot(0, ("tool_call", key_of(id_)))
    failed = bool(message.get("error")) or message.get("isError") is True
    extra |= {"content": message.get("content"), "is_error": failed}
    name = call.name if call is not None else None
    w.stop(w.start(0, "server_tool_result", key=("result", key_of(id_)), id=id_, name=name, extra=extra))


def _words(holder: Mapping[str, Any], *names: str) -> list[str]:
    """Those of the fields *names* that hold text."""
    return [name for name in names if isinstance(holder.get(name), str) and holder[name]]


_WHOLE: dict[str, Callable[[Writer, dict[str, Any]], None]] = {
    "assistant": _assistant,
    "reasoning": _reasoning,
    "tool": _tool,
}
