"""Where OpenAI's shape of a tool call has the name and the arguments, and where servers that imitate it have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from chunkfold.dialects._words import is_empty

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ARGUMENTS", "arguments_key", "flat_function", "holder_of"]

# What the field with the arguments is called: first as it should be.
ARGUMENTS: Final = ("arguments", "input", "parameters", "args")


def holder_of(call: Mapping[str, Any], kind: object) -> str:
    """
    The field with the name and the arguments of a call of that *kind*. Zhipu's own tools have them under their type
    (`mcp`).
    """
    if kind == "custom":
        return "custom" if call.get("custom") else "function"
    is_own = isinstance(kind, str) and not call.get("function") and isinstance(call.get(kind), dict)
    return str(kind) if is_own else "function"


def flat_function(call: Mapping[str, Any]) -> dict[str, Any]:
    """
    The name and the arguments of a call that has them beside its id, where others have an object `function`; nothing
    if it is not such a call.
    """
    if call.get("function") or call.get("custom"):
        return {}
    found = {key: call[key] for key in ("name", *ARGUMENTS) if key in call}
    return found if any(value not in (None, "") for value in found.values()) else {}


def arguments_key(function: Mapping[str, Any]) -> str:
    """Under which name *function* has its arguments; `arguments` if it has none."""
    return next((key for key in ARGUMENTS if not is_empty(function.get(key))), "arguments")
