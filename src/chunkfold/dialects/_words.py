"""
The finish reasons of all providers, and ours.

One table for all dialects: gateways send one provider's words in another's shape. A dialect's own table goes first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from chunkfold.basis import _json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.response import FinishReason

__all__ = [
    "are_objects_once", "choice_index", "counted", "finish_reason", "has_repeats", "is_blank", "is_empty", "is_ping",
    "is_real", "is_sign_of_life", "listed", "native_reason", "reason_behind", "said_in", "says_nothing", "telling",
    "text_or_none", "whole_number", "word",
]  # fmt: skip

# In lower case. Sources are named in the dialects' pages of the manual.
_WORDS: dict[str, FinishReason] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token"), "stop"),
    **dict.fromkeys(("complete", "completed", "finish", "end", "normal"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "length"),
    **dict.fromkeys(("max_output_tokens", "token_limit", "time_limit", "max_length", "error_limit"), "length"),
    **dict.fromkeys(("tool_calls", "tool_call", "tool_use", "function_call", "tool-calls"), "tool_calls"),
    **dict.fromkeys(("content_filter", "content-filter", "content_filtered", "guardrail_intervened"), "content_filter"),
    **dict.fromkeys(("safety", "sensitive", "recitation", "language", "blocklist"), "content_filter"),
    **dict.fromkeys(("prohibited_content", "image_prohibited_content", "image_safety"), "content_filter"),
    **dict.fromkeys(("spii", "model_armor", "blacklist"), "content_filter"),
    **dict.fromkeys(("image_recitation", "error_toxic"), "content_filter"),
    "refusal": "refusal",
    **dict.fromkeys(("pause_turn", "pause", "compaction", "requires_continuation", "continuation"), "pause"),
    **dict.fromkeys(("cancelled", "canceled", "abort", "aborted", "user_cancel"), "cancelled"),
    **dict.fromkeys(("error", "failed", "insufficient_system_resource", "timeout"), "error"),
    **dict.fromkeys(("malformed_function_call", "unexpected_tool_call", "too_many_tool_calls"), "error"),
    **dict.fromkeys(("missing_thought_signature", "malformed_response", "no_image", "image_other"), "error"),
    **dict.fromkeys(("malformed_model_output", "malformed_tool_use"), "error"),
}  # fmt: skip

_WELL = frozenset({"stop", "tool_calls"})
_NOT_WELL = frozenset({"error", "length", "content_filter", "refusal", "cancelled"})


def is_real(word: object) -> bool:
    """True if *word* says that something finished: `""`, `"null"` and `null` mean "not yet"."""
    return isinstance(word, str) and word != "" and word != "null"


# What servers and gateways call an event that says only that they are alive.
_PINGS = frozenset({"ping", "keepalive", "keep-alive", "keep_alive", "heartbeat"})


def is_ping(*words: object) -> bool:
    """True if one of *words* is a name of an event that says only that the server is alive."""
    return any(isinstance(word, str) and word.lower() in _PINGS for word in words)


def is_sign_of_life(payload: Mapping[str, Any], event: str) -> bool:
    """True for an object that says only that the server is alive, by its name or by having nothing in it."""
    return not payload or is_ping(payload.get("type"), payload.get("event"), event)


def is_blank(value: Any) -> bool:
    """True for `null`, `""` and `[]`, which say no more than a field that is not there."""
    return value is None or value == "" or value == []


def is_empty(value: Any) -> bool:
    """True for what `is_blank` is true for, and for `{}`: where an object without a field says nothing either."""
    return value is None or value in ("", [], {})


def listed(value: Any) -> list[Any]:
    """
    The items of a list, also where PHP or Lua has written it as an object of its indexes, as they write one that has
    gaps; what is neither is the one item.
    """
    if isinstance(value, dict) and all(map(_is_index, value)):
        return list(value.values())
    return value if isinstance(value, list) else [value]


def _is_index(key: str) -> bool:
    return key.isascii() and key.isdecimal()


def are_objects_once(value: Any) -> bool:
    """True for a list of objects of which each is there once, as annotations are kept."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        return False
    return not has_repeats(value)


def has_repeats(items: list[Any]) -> bool:
    """True if something is more than once in *items*, of which annotations keep the first."""
    return len(set(map(_json.identity, items))) < len(items)


def said_in(holder: Mapping[str, Any]) -> list[str]:
    """The fields of *holder* that say something."""
    return [key for key, value in holder.items() if not is_blank(value)]


def telling(holder: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """
    The first of *keys* that holds something, by which something is told from others. A text that is still empty tells
    more than a `null`, and that it is there more than nothing; `None` if none is there.
    """
    named = [key for key in keys if key in holder]
    return max(named, key=lambda key: (bool(holder[key]), holder[key] is not None and holder[key] != []), default=None)


# What a server fills in before it knows anything: which of a list it is, and of what type.
_FORM = frozenset({"index", "type"})


def says_nothing(value: Any) -> bool:
    """True if there is nothing in *value*, at any depth, but an index and a type: it opens no part."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left.extend([inner for key, inner in item.items() if key not in _FORM])
        elif isinstance(item, list):
            left.extend(item)
        elif item is not None and item != "":
            return False
    return True


def finish_reason(word: str, own: Mapping[str, str]) -> FinishReason:
    """Our reason for the provider's *word*, by the dialect's *own* table, then by all; else `unknown`."""
    found = _known_reason(word, own)
    if found is None and ":" in word:
        # Gemini's compatible endpoint: `content_filter: PROHIBITED_CONTENT`. What stands behind the colon says more.
        first, _, last = map(str.strip, word.partition(":"))
        found = _known_reason(last, own) or _known_reason(first, own)
    return cast("FinishReason", found or "unknown")


def native_reason(choice: Mapping[str, Any]) -> Any:
    """The word of the provider behind a gateway, which stands beside the gateway's own (OpenRouter, LiteLLM)."""
    further = choice.get("provider_specific_fields")
    word = choice.get("native_finish_reason")
    return word if word is not None or not isinstance(further, dict) else further.get("native_finish_reason")


def reason_behind(word: Any, behind: Any, own: Mapping[str, str]) -> FinishReason | None:
    """
    Our reason where a gateway's *word* is that all is well and the word of the provider *behind* it that it is not:
    OpenRouter and LiteLLM say `stop` also of a `network_error`. `None` where the gateway's own word stands.
    """
    if not is_real(word) or not is_real(behind) or finish_reason(word, own) not in _WELL:
        return None
    found = finish_reason(behind, own)
    return found if found in _NOT_WELL else None


def _known_reason(word: str, own: Mapping[str, str]) -> str | None:
    lower = word.lower()
    # Gateways put the type of an error there (Portkey's `overloaded_error`), and so does Zhipu (`network_error`).
    return own.get(word) or own.get(lower) or _WORDS.get(lower) or ("error" if lower.endswith("_error") else None)


def whole_number(said: object) -> int | None:
    """An index, which servers of other languages write as text or as `1.0` too; `None` if it is none."""
    if type(said) is int:
        return said
    if isinstance(said, str) and said.isascii() and said.isdecimal() and len(said) < _DIGITS:
        return int(said)
    if isinstance(said, float) and said.is_integer() and abs(said) < 10**_DIGITS:
        return int(said)
    return None


# No server numbers more than that.
_DIGITS = 9


def choice_index(said: object, place: int = 0, *, odd: int | None = None) -> int:
    """
    The index of a choice by what is *said* of it; its *place* if nothing is, and if it is no index: *odd*, or its
    place, too.
    """
    number = whole_number(said)
    if number is not None and number >= 0:
        return number
    return place if odd is None or said is None or said == "" else odd


def counted(number: object) -> str:
    """A provider's number as a note may name it; `?` for what is no number that anybody would count to."""
    return str(number) if type(number) is int and abs(number) < 1 << 63 else "?"


def word(*values: object, default: str = "payload") -> str:
    """What something is called: the first of *values* that is a text with something in it. They may be any JSON."""
    return next((value for value in values if isinstance(value, str) and value), default)


def text_or_none(value: object) -> str | None:
    """*value* if it is a text with something in it."""
    return value if isinstance(value, str) and value else None
