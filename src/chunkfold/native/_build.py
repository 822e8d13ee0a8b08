"""
What the native bodies of all dialects are built with: merge rules, and the fields beside the message.

Notes of ours about the form, in `response.extra` (only `$whole` and `$envelope`) or in the `extra` of a part:

- `$whole`: the response was read from a body that was not streamed, so it has just the fields that were sent, and no
  defaults are added.
- `$field`: the field or fields in which the provider had the text of the part, where there is more than one way.
- `$form`: the way in which it was written (`object`: arguments as an object, not as text; `item`: one of a list).
- `$absent`: fields that a whole body left out although the builder would write them.
- `$envelope`: what stood around the payloads.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from msgspec.structs import replace

from chunkfold._value import copied
from chunkfold.assembly._extras import index_of, key_of
from chunkfold.basis import _json
from chunkfold.dialects._media import base64_text
from chunkfold.dialects._words import is_empty
from chunkfold.parts import TextPart, ToolCall, UnknownPart
from chunkfold.policy import ARGUMENT_MARKS, ORIGINAL_ARGUMENTS
from chunkfold.response import Choice

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from chunkfold.parts import AudioPart, FilePart, ImagePart, Part
    from chunkfold.response import Response, Usage

__all__ = [
    "APPEND", "EXTEND", "FIRST", "LAST", "NOTES", "TRANSPORT", "Rule", "add_error", "add_unknown", "arguments_of",
    "choices_of", "copied", "data_url", "error_of", "extra_of", "fields", "fill", "is_flat", "is_whole", "item_id_of",
    "item_of", "parsed", "unwrapped", "usage_of", "usual", "with_object", "with_object_text",
]  # fmt: skip

AnyPart = TypeVar("AnyPart", bound="Part")
How: TypeAlias = Literal["first", "last", "append", "extend", "transport"]

_FORMS: Final = frozenset({"$flat", "$key", "$form"})
NOTES: Final = frozenset({"$whole", "$field", "$form", "$absent"})


class Rule(NamedTuple):
    """
    How the values of a field become one, and where the whole body has it: at the same path (`""`), or what is in it at
    the top (`"$"`).
    """

    how: How
    at: str = ""


# The first real value stands; the last one; pieces of one text; entries of a list, each whole; not in the body.
FIRST: Final = Rule("first")
LAST: Final = Rule("last")
APPEND: Final = Rule("append")
EXTEND: Final = Rule("extend")
TRANSPORT: Final = Rule("transport")


def unwrapped(item: Any) -> Any:
    """A copy of an entry of a list, or of what is wrapped in it because it is no object."""
    return copied(item["value"] if isinstance(item, dict) and item.keys() == {"value"} else item)


def is_whole(response: Response) -> bool:
    """True if the response was read from a body that was not streamed."""
    return response.extra.get("$whole") is True


def extra_of(extra: Mapping[str, Any], *path: str | int) -> dict[str, Any]:
    """The fields that are kept under *path*; an empty object if there are none."""
    inner: Any = extra
    for step in path:
        inner = inner.get(key_of(step)) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else {}


def fields(extra: Mapping[str, Any], leave: Collection[str] = ()) -> dict[str, Any]:
    """A copy of the fields of *extra* but those to *leave*, our own notes, and what a policy has noted."""
    if ORIGINAL_ARGUMENTS in extra:
        leave = {*leave, *ARGUMENT_MARKS}
    return {key: copied(value) for key, value in extra.items() if key not in leave and key[:1] != "$"}


def fill(out: dict[str, Any], **facts: Any) -> None:
    """Set the facts that are known."""
    out.update((key, value) for key, value in facts.items() if value is not None)


def usage_of(usage: Usage | None) -> dict[str, Any] | None:
    """The provider's own usage object."""
    return copied(usage.raw) if usage is not None else None


def arguments_of(call: ToolCall) -> Any:
    """The arguments as an object; the exact text where they are none, since half a call must not look like one."""
    if not call.is_usable or call.type == "custom":
        return call.raw_arguments
    return _json.parse_arguments(call.raw_arguments, None) if call.raw_arguments.strip() else {}


def parsed(call: ToolCall) -> Any:
    """The value that the arguments are, of whatever kind; their text where they are no JSON."""
    try:
        return _json.parse_arguments(call.raw_arguments, None) if call.raw_arguments.strip() else {}
    except ValueError:
        return call.raw_arguments


def with_object(part: AnyPart) -> AnyPart:
    """
    The part; a call whose arguments are no object with one that holds their text.

    For requests to providers that want an object there, and refuse the whole conversation for the text of half a call.
    """
    if not isinstance(part, ToolCall) or isinstance(arguments_of(part), dict):
        return part
    if part.status == "open" and _json.is_object(part.raw_arguments):
        return replace(part, status="complete")  # made by hand
    kind = "function" if part.type == "custom" else part.type
    text = _json.encode({"raw_arguments": part.raw_arguments})
    return replace(part, type=kind, raw_arguments=text, status="complete")


def with_object_text(part: AnyPart) -> AnyPart:
    """
    The part; a call of a function whose argument text is not that of an object with a text that is.

    OpenAI takes any text back. Servers that read it for the template of their model (vLLM, SGLang) or check it (Qwen,
    Cloudflare) answer 400, to every further request of the conversation.
    """
    if not isinstance(part, ToolCall) or part.server_side or part.type == "custom":
        return part
    extra = {key: value for key, value in part.extra.items() if key != "$absent"}
    if part.raw_arguments.strip():
        return with_object(replace(part, extra=extra))
    return replace(part, raw_arguments="{}", status="complete", extra=extra)


def usual(part: AnyPart) -> AnyPart:
    """The part; a call without notes of where its server has the name and the arguments, and in which form."""
    if not isinstance(part, ToolCall):
        return part
    return replace(part, extra={key: value for key, value in part.extra.items() if key not in _FORMS})


def data_url(part: ImagePart | AudioPart | FilePart) -> str | None:
    """The address of a part, or its bytes as one; `None` if it has neither."""
    if part.url is not None or part.data is None:
        return part.url
    return f"data:{part.media_type or ''};base64,{base64_text(part.data)}"


def item_of(part: Part) -> dict[str, Any]:
    """The `extra` of any part."""
    extra: dict[str, Any] = getattr(part, "extra", {})
    return extra


def item_id_of(part: Part) -> Any:
    """The id of the item that a part stands in; that of a picture or a file is its own."""
    return part.id if isinstance(part, TextPart) else item_of(part).get("id")


def choices_of(
    response: Response, kept: Mapping[str, Any], is_content: Callable[[Part], bool] = lambda _: True
) -> list[Choice]:
    """
    The choices that came, in order of their index: those of which only fields in *kept* came too, but not the one that
    stands for an error that came instead of all of them.
    """
    found = {
        choice.index: choice
        for choice in response.choices
        if any(map(is_content, choice.parts))
        or choice.native_finish_reason is not None
        or choice.logprobs
        or key_of(choice.index) in kept
    }
    for key in kept:
        index = index_of(key)
        if index is not None:
            found.setdefault(index, Choice(index))
    return [found[index] for index in sorted(found)]


def is_flat(told: Mapping[str, Any]) -> bool:
    """True if a payload that told an error is one, and has none in a field but for one that only says so."""
    return not any(
        (key in ("error", "errors", "base_resp") and value is not True) or key.endswith("Exception")
        for key, value in told.items()
    )


def add_unknown(out: dict[str, Any], parts: Iterable[Part]) -> None:
    """Add the fields of payloads that were not understood: they keep their path, but replace nothing."""
    for part in parts:
        if isinstance(part, UnknownPart) and isinstance(part.payload, dict):
            for key, value in part.payload.items():
                out.setdefault(key, copied(value))


def error_of(response: Response) -> dict[str, Any] | None:
    """The payload that told an error. `None` if none was told by the provider."""
    error = response.error
    if error is None or error.origin != "provider":
        return None
    if error.raw is None and error.type is None and error.message is None:
        return None
    if isinstance(error.raw, dict):
        return copied(error.raw)  # type: ignore[no-any-return]
    return {"error": error.raw if error.raw is not None else {"type": error.type, "message": error.message}}


def add_error(out: dict[str, Any], response: Response, *, flat: bool = False) -> None:
    """
    Add the error that was told, if one was: beside a message what the payload has under `error`, all of it where there
    is nothing else, and a payload that is itself an error under `error`, unless the provider's own are *flat*.
    """
    told = error_of(response)
    if told is None:
        return
    if told.get("error", True) is not True:
        told = {"error": told["error"]}
    elif not flat and is_flat(told):
        told = {"error": told or {"message": None}}
    for key, value in told.items():
        if is_empty(out.get(key)):
            out[key] = value
