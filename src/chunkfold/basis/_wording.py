"""How things are named and counted in messages, and the checks of options that many doors share."""

from __future__ import annotations

from functools import partial
from typing import Any, TypeVar

from msgspec import Struct

__all__ = ["check_number", "check_switch", "check_text", "checked", "counted", "described", "given_or", "observer"]

T = TypeVar("T", bound=Struct)

_VOWELS = tuple("aeiouAEIOU")
# Of code objects: made by `async def`, with or without a `yield`.
_IS_ASYNC = 0x80 | 0x200


def described(given: Any) -> str:
    """What *given* is, for "... expected, not ...": an int, a list, the class Policy."""
    if given is None:
        return "None"
    if isinstance(given, type):
        return f"the class {given.__name__}"
    name = type(given).__name__
    return f"{'an' if name.startswith(_VOWELS) else 'a'} {name}"


def counted(count: int, noun: str) -> str:
    """*count* and its noun: 1 byte, 2 bytes."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def given_or(default: T, given: Any, name: str, wanted: str) -> T:
    """
    *given*, or *default* for `None`.

    Raises:
        TypeError: If it is not of the class of *default*. *name* is the option, *wanted* what it wants to be.
    """
    if given is None:
        return default
    return checked(type(default), given, name, wanted)


def checked(kind: type[T], given: Any, name: str, wanted: str) -> T:
    """
    *given*, which is to be of that kind, or at least to have its first field.

    Raises:
        TypeError: If it is not.
    """
    if isinstance(given, kind) or (not isinstance(given, type) and hasattr(given, kind.__struct_fields__[0])):
        return given
    raise TypeError(f"{name} must be {wanted} or None, not {described(given)}")


def check_number(name: str, given: Any, *, or_none: bool = False) -> None:
    """
    See that *given* is a number.

    Raises:
        TypeError: If it is none.
    """
    if isinstance(given, bool) or (not isinstance(given, (int, float)) and not (or_none and given is None)):
        raise TypeError(f"{name} must be a number{' or None' if or_none else ''}, not {described(given)}")


def check_switch(name: str, given: Any) -> None:
    """
    See that *given* is true, false or `None`: the "false" of a file of settings would count as true.

    Raises:
        TypeError: If it is not.
    """
    if given is not None and not isinstance(given, bool):
        raise TypeError(f"{name} must be True, False or None, not {described(given)}")


def check_text(name: str, given: Any, *, or_none: bool = False) -> None:
    """
    See that *given* is text.

    Raises:
        TypeError: If it is not.
    """
    if not isinstance(given, str) and not (or_none and given is None):
        raise TypeError(f"{name} must be text{' or None' if or_none else ''}, not {described(given)}")


def observer(name: str, given: Any) -> None:
    """
    See that *given* can be called back.

    Raises:
        TypeError: If it cannot, or is a coroutine function.
    """
    if given is None:
        return
    if not callable(given):
        raise TypeError(f"{name} must be a function or None, not {described(given)}")
    if _code_flags(given) & _IS_ASYNC:
        raise TypeError(f"{name} must be a plain function: nobody would await it")


def _code_flags(function: Any) -> int:
    """Those of the code that runs when *function* is called: of one with arguments filled in, of an object's method."""
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
    flags: int = getattr(code, "co_flags", 0)
    return flags
