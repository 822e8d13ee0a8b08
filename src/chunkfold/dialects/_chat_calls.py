"""
Tool calls in chat completions: in the list of today and as the one `function_call` of before, with every way in which
imitators leave out ids and indices, rename the arguments or send them as objects.

Which call a fragment belongs to is said in `_calls`; where name and arguments may stand, in `_call_shape`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._arguments import text_within
from chunkfold.dialects._call_shape import ARGUMENTS, arguments_key, flat_function, holder_of
from chunkfold.dialects._native_fields import further_fields
from chunkfold.dialects._slots import hashable
from chunkfold.dialects._words import is_blank, listed, says_nothing, whole_number

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects.openai_chat import OpenAIChat
    from chunkfold.framing import Frame

__all__ = ["LISTED", "answered", "content_list", "function_call", "restated", "result", "tell_results", "tool_calls"]

# What a delta in the role of a tool has that is the result.
RESULT = frozenset({"role", "content", "tool_call_id", "name"})

# What a delta with a list of its content has beside it once more.
LISTED = frozenset({"type", "text", "tool_use_id", "name", "input"})
_USE = LISTED - {"type", "text"}

_HOLDERS = frozenset({"function", "custom"})
# Tools that StepFun and MiniMax run themselves, and tell like functions.
_SERVED = ("web_search", "retrieval")
_CALL = frozenset({"index", "id", "type", *_HOLDERS})
_FUNCTION = frozenset({"name", "arguments", "input"})
_READ = frozenset({"name", *ARGUMENTS})
# What stands for no id. Mistral has the word.
_NO_ID: tuple[Any, ...] = (None, "", "null")


def tool_calls(chat: OpenAIChat, index: int, value: Any, _: dict[str, Any], frame: Frame) -> None:
    """
    Pieces of calls, or whole ones. Where several in one list open a call each, without any arguments yet, pieces in a
    list as long that name no others are for the calls in their places.
    """
    calls = listed(value)
    before = chat.abreast.get(index, ())
    is_bare = 1 < len(calls) == len(before) and not any(map(_is_another, calls, before))
    is_alone = len(calls) == 1
    shared = frozenset() if is_alone else _shared_indices(calls, are_apart=is_bare or chat.is_whole)
    slots = [
        _tool_call(
            chat,
            index,
            call,
            place,
            frame,
            is_alone=is_alone,
            shared=shared,
            to=before[place] if is_bare else None,
        )
        for place, call in enumerate(calls)
    ]
    if len(calls) > 1 and not is_bare:
        chat.abreast[index] = [slot for slot in slots if slot is not None and not slot.has_text]


def _shared_indices(calls: list[Any], *, are_apart: bool) -> frozenset[Hashable]:
    """
    The indices that stand at several calls of a list, and so tell nothing: these have no ids and other names (Gemini's
    endpoint numbers every call 0), or *are_apart* by where they stand.
    """
    told: dict[Hashable, set[Any]] = {}
    for place, call in enumerate(calls):
        if isinstance(call, dict) and _id_of(call) is None:
            function = call.get("function")
            name = function.get("name") if isinstance(function, dict) else None
            if are_apart or (isinstance(name, str) and name):
                told.setdefault(hashable(_number_of(call)), set()).add(place if are_apart else name)
    return frozenset(number for number, apart in told.items() if len(apart) > 1)


def _is_another(call: Any, before: Slot) -> bool:
    """True if a piece says what it calls, and that is not what was called in its place."""
    if call is None:
        return False
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return True
    return not is_blank(name := function.get("name")) and (name != before.name or _id_of(call) not in (None, before.id))


def _tool_call(
    chat: OpenAIChat,
    index: int,
    call: Any,
    place: int,
    frame: Frame,
    *,
    is_alone: bool,
    shared: frozenset[Hashable],
    to: Slot | None,
) -> Slot | None:
    if not isinstance(call, dict):
        if call is not None:
            chat.w.unknown("tool_call", call)
        return None
    kind = call.get("type") or ("custom" if call.get("custom") else "function")
    holder = holder_of(call, kind)
    flat = flat_function(call)
    function = flat or call.get(holder) or {}
    if not isinstance(function, dict):
        chat.w.unknown("tool_call", call)
        return None
    key, arguments = _arguments_of(function)
    name, id_, number = function.get("name"), _id_of(call), _number_of(call)
    if id_ is None and "id" in function and not chat.is_whole:
        # llama.cpp had it there for some days.
        id_, function = _id_of(function), {key: item for key, item in function.items() if key != "id"}
    is_first = bool(name or id_)
    if not arguments and not chat.is_whole and says_nothing(call) and not chat.w.has_call(index, number):
        return None  # a form that is filled in later, or never
    rest = _further_fields(call, function, flat, holder, key, is_first=is_first)
    _note_form(rest, call, holder, arguments, is_first=is_first)
    if chat.is_whole and (absent := _absent(call, function, flat)):
        rest["$absent"] = absent
    is_shared = hashable(number) in shared
    if is_shared:
        if "index" in call and (is_first or chat.is_whole):
            rest["index"] = number
        number = to.number if to is not None and to.id is None else None
    if not isinstance(number, (int, str)):
        # In a body that was not streamed each is a call; so are those of one list that have nothing but names.
        is_next = name and not id_ and (is_shared or not (arguments or is_alone or _last_has_id(chat, index)))
        number = f"place {place} of {chat.w.frame}" if is_next or chat.is_whole else None
    # An object with nothing in it may only say that text is to follow.
    is_start = arguments == {} and (id_ or not name) and not chat.is_whole
    return chat.w.call(
        index,
        number=number,
        id=id_ if to is None or id_ else to.id,
        name=name,
        # Some servers send the arguments as an object.
        arguments="" if is_start else text_within(arguments, frame),
        tool_type=kind if isinstance(kind, str) else "function",
        server_side=_is_served(holder, kind) or id_ in chat.answered,
        extra=rest,
    )


def _note_form(rest: dict[str, Any], call: dict[str, Any], holder: str, arguments: Any, *, is_first: bool) -> None:
    """Note among the further fields of a piece where it has what, if that is not where most have it."""
    other = "function" if holder == "custom" else "custom"
    if is_first and other in call:
        rest[other] = call[other]
    if isinstance(arguments, (dict, list)):
        rest["$form"] = "object"
    if holder not in _HOLDERS:
        rest["$field"] = holder


def _last_has_id(chat: OpenAIChat, index: int) -> bool:
    before = chat.w.last_call(index)
    return before is not None and before.id is not None


def _arguments_of(function: dict[str, Any]) -> tuple[str, Any]:
    """The field that the arguments stand in, and what stands there."""
    arguments = function.get("arguments")
    if not is_blank(arguments):
        return "arguments", arguments
    key = arguments_key(function)
    return key, None if function.get(key) == [] else function.get(key)


def _number_of(call: dict[str, Any]) -> Any:
    """The index, as a number where it is the text of one."""
    number = call.get("index")
    whole = number if type(number) is int else whole_number(number)
    return number if whole is None else whole


def _absent(call: dict[str, Any], function: dict[str, Any], flat: dict[str, Any]) -> list[str]:
    """The usual fields that a whole call has not."""
    absent = [name for name in ("type", "function") if name not in call and not (name == "function" and flat)]
    return absent + [name for name in ("arguments",) if function.keys().isdisjoint(ARGUMENTS)]


def _further_fields(
    call: dict[str, Any], function: dict[str, Any], flat: dict[str, Any], holder: str, key: str, *, is_first: bool
) -> dict[str, Any]:
    """What a piece has beside its id, its name and its arguments. The first of a call says which fields it has."""
    read = _CALL if holder in _CALL else {*_CALL, holder}
    rest = {field: item for field, item in call.items() if (is_first if item in _NO_ID else field not in read)}
    inner = {field: item for field, item in function.items() if (is_first if item is None else field not in _READ)}
    if flat:
        rest = {field: item for field, item in rest.items() if field not in flat}
    if inner:
        rest[holder] = inner
    if flat and is_first:
        rest["$flat"] = True
    if is_first and key in function and key != ("input" if holder == "custom" else "arguments"):
        rest["$key"] = key
    return rest


def function_call(chat: OpenAIChat, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
    """The single call of before tools, deprecated since 2023: no id, no index. Some tell it in both forms."""
    if not isinstance(value, dict):
        chat.w.unknown("function_call", value)
    elif _is_among(value, delta.get("tool_calls")):
        if chat.is_whole:
            chat.w.extra(("choices", index, "message", "function_call"), value)
    elif not value.get("name") and not value.get("arguments"):
        chat.w.extra(("choices", index, "message", "function_call"), value)
    else:
        rest = further_fields(value, _FUNCTION)
        extra: dict[str, Any] = {"function": rest} if rest else {}
        if isinstance(value.get("arguments"), dict):
            extra["$form"] = "object"  # GigaChat
        chat.w.call(
            index,
            number="function_call",
            name=value.get("name"),
            arguments=text_within(value.get("arguments") or None, frame),
            tool_type="function_call",
            extra=extra or None,
        )


def content_list(chat: OpenAIChat, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
    """Snowflake's list of what is in a delta: calls, which have no other place, and the text once more."""
    w = chat.w
    w.extra(("choices", index, "message", "$field"), "content_list")
    for _, item in w.objects("content_list", value):
        inner = item.get("tool_use")
        use = inner if isinstance(inner, dict) else item
        if not _USE.isdisjoint(use):
            w.call(
                index,
                id=use.get("tool_use_id"),
                name=use.get("name"),
                arguments=text_within(use.get("input"), frame),
                extra={"$field": "content_list"},
            )
        elif not says_nothing(item) and item.get("text") != delta.get("content"):
            w.unknown("content_list", item)


def answered(messages: Iterable[dict[str, Any]]) -> frozenset[str]:
    """The ids of the calls that have a result among *messages*: the server has run them."""
    ids = [each.get("tool_call_id") for each in messages if each.get("role") == "tool"]
    return frozenset(id_ for id_ in ids if isinstance(id_, str) and id_)


def result(chat: OpenAIChat, index: int, delta: dict[str, Any]) -> None:
    """
    What a tool gave back, where the server of an agent has run it and says so as requests do: in the role of a tool.
    """
    w, id_, content = chat.w, delta.get("tool_call_id"), delta.get("content")
    if is_blank(id_) and is_blank(content):
        return
    key = ("result", hashable(id_))
    slot = w.slot(index, key) if isinstance(id_, str) else None
    if slot is None:
        tell_results(chat)
        call = w.call_named(index, id_)
        name = delta.get("name") or (call.name if call is not None else None)
        slot = w.start(index, "server_tool_result", key=key, id=id_, name=name, extra={"content": content})
        w.stop(slot)
        slot.extra = {"content": content}
    elif isinstance(content, str) and isinstance((slot.extra or {}).get("content"), str):
        chat.results.setdefault(slot, []).append(content)
    elif content:
        chat.results.pop(slot, None)
        slot.extra = {"content": content}
        w.update(slot, extra=slot.extra)


def tell_results(chat: OpenAIChat) -> None:
    """What came of results behind their first pieces. To tell each piece would tell all before it once more."""
    for slot, pieces in chat.results.items():
        slot.extra = {"content": "".join([(slot.extra or {})["content"], *pieces])}
        chat.w.update(slot, extra=slot.extra)
    chat.results.clear()


def restated(chat: OpenAIChat, index: int, value: Any, frame: Frame) -> None:
    """The calls of a message that is told again: each is whole."""
    calls = chat.w.objects("tool_call", value)
    listed = {_id_of(call) for _, call in calls}
    places = {True: 0, False: 0}
    for _, call in calls:
        kind = call.get("type")
        is_served = _is_served(holder_of(call, kind), kind)
        _whole_call(chat, index, places[is_served], call, listed, frame)
        places[is_served] += 1


def _whole_call(
    chat: OpenAIChat, index: int, place: int, call: dict[str, Any], listed: set[str | None], frame: Frame
) -> None:
    w, flat, kind = chat.w, flat_function(call), call.get("type")
    holder = holder_of(call, kind)
    is_own, is_served = holder not in _HOLDERS, _is_served(holder, kind)
    holder = holder if call.get(holder) else "custom"
    function = flat or call.get(holder)
    if not isinstance(function, dict):
        w.unknown("tool_call", call)
        return
    facts = {"number": call.get("index"), "id": _id_of(call), "name": function.get("name")}
    # Where the call comes here only: what it is. Its server runs what stands under a name of its own.
    start = {"server_side": is_served, "extra": {"$field": holder} if is_own else None}
    tool_type = kind if isinstance(kind, str) and kind else "function" if flat or holder == "function" else "custom"
    slot = w.call_again(index, place, **facts, listed=listed, tool_type=tool_type, **start)
    known = slot.extra or {}
    rest = _further_fields(call, function, flat, holder, arguments_key(function), is_first=False)
    news = {key: value for key, value in rest.items() if value != known.get(key)}
    if news:
        slot.extra = {**known, **news}
        w.update(slot, extra=news)
    w.restate_call(slot, text_within(function.get(arguments_key(function)), frame))


def _is_served(holder: str, kind: object) -> bool:
    """True for a call that the server runs itself, by where it stands or by its type."""
    return holder not in _HOLDERS or kind in _SERVED


def _id_of(call: dict[str, Any]) -> str | None:
    """The id of a call, if it has one; a number is one too."""
    id_ = call.get("id")
    return _json.encode(id_) if type(id_) is int else id_ if isinstance(id_, str) and id_ not in _NO_ID else None


def _is_among(function: dict[str, Any], calls: Any) -> bool:
    """True if a call, or a piece of one, in the old form is one of *calls* told once more (llama-cpp-python)."""
    said = (function.get("name"), function.get("arguments"))
    functions = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return any((one.get("name"), one.get("arguments")) == said for one in functions if isinstance(one, dict))
