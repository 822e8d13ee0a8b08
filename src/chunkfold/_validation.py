"""
The whole answer as a value of a type.

msgspec validates structs and dataclasses from the exact text, pydantic its own models. What msgspec cannot take, a
union of dataclasses, is resolved here by the fields that are literals.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

from chunkfold import _json
from chunkfold._partials import candidates, chosen, is_pydantic, members, shape_of

__all__ = ["Invalid", "validated"]

T = TypeVar("T")

# The end of msgspec's messages: "... - at `$.days[1].high`". "[...]" stands for a key that it does not tell.
_PLACE = re.compile(r"(?s)(.*?)(?: - at `\$?(.*)`)?")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_MISSING = re.compile(r"Object missing required field `([^`]+)`")


class Invalid(Exception):
    """The value is not of the type: where and why."""

    def __init__(self, path: tuple[str | int, ...], reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def validated(cls: type[T], text: str, value: Any) -> T:
    """
    The T that the JSON *text*, read as *value*, describes.

    Raises:
        Invalid: If it describes none.
    """
    if is_pydantic(cls):
        return typing.cast("T", _by_pydantic(cls, text, value))
    try:
        decoder = msgspec.json.Decoder(cls)
    except TypeError:
        if not dataclasses.is_dataclass(cls):
            raise
        return typing.cast("T", _converted(cls, value, ()))
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise _invalid(error) from error
    except (msgspec.DecodeError, UnicodeError):
        # Halves of characters, escaped, are JSON, but not to msgspec.
        return typing.cast("T", _leaf(cls, value, ()))


def _invalid(error: Exception, path: tuple[str | int, ...] = ()) -> Invalid:
    """The words of msgspec taken apart."""
    found = _PLACE.fullmatch(str(error))
    reason, place = (found[1], found[2] or "") if found is not None else (str(error), "")
    steps = [int(number) if number.isdigit() else key or number for key, number in _STEP.findall(place)]
    missing = _MISSING.search(reason)
    return Invalid((*path, *steps, *([missing[1]] if missing is not None else [])), reason)


def _by_pydantic(cls: Any, text: str, value: Any) -> Any:
    from pydantic import TypeAdapter, ValidationError

    try:
        if hasattr(cls, "model_validate_json"):
            return cls.model_validate_json(text)
        return TypeAdapter(cls).validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise Invalid(_path_in(value, first["loc"]), first["msg"]) from error


def _path_in(value: Any, steps: tuple[str | int, ...]) -> tuple[str | int, ...]:
    """The keys and positions among the steps that pydantic tells, which also name types of unions."""
    path: list[str | int] = []
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            # A missing key comes last.
            if step != steps[-1] or not isinstance(value, dict):
                continue
        path.append(step)
    return tuple(path)


# Dataclasses with unions that msgspec does not take


def _converted(hint: Any, value: Any, path: tuple[str | int, ...]) -> Any:
    allowed = members(hint)
    if value is None and type(None) in allowed:
        return None
    if isinstance(value, dict):
        return _object(hint, allowed, value, path)
    if isinstance(value, list):
        for member in allowed:
            origin, args = typing.get_origin(member), typing.get_args(member)
            if _is_collection(member) and (not issubclass(origin, tuple) or args[1:] == (...,)):
                items = [_converted(args[0], item, (*path, place)) for place, item in enumerate(value)]
                return items if issubclass(list, origin) else origin(items)
    return _plain(allowed, value, path)


def _plain(allowed: list[Any], value: Any, path: tuple[str | int, ...]) -> Any:
    """What is neither a dataclass nor a collection that may hold one is left to msgspec."""
    simple = [member for member in allowed if not dataclasses.is_dataclass(member) and not _is_collection(member)]
    if not simple:
        names = " | ".join(getattr(member, "__name__", str(member)) for member in allowed)
        raise Invalid(path, f"Expected `{names}`, got `{_kind(value)}`")
    return _leaf(typing.Union[tuple(simple)], value, path)  # noqa: UP007 - of a number that is not known here


def _is_collection(hint: Any) -> bool:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    return (
        bool(args) and isinstance(origin, type) and issubclass(origin, Collection) and not issubclass(origin, Mapping)
    )


def _object(hint: Any, allowed: list[Any], value: dict[str, Any], path: tuple[str | int, ...]) -> Any:
    shapes = candidates(hint)
    shape = chosen(shapes, value) if shapes else None
    if shape is not None:
        return _made(shape.cls, value, path)
    for member in allowed:
        origin, args = typing.get_origin(member), typing.get_args(member)
        if isinstance(origin, type) and issubclass(origin, Mapping) and len(args) == 2:
            return {key: _converted(args[1], item, (*path, key)) for key, item in value.items()}
    failures = []
    for other in shapes:  # without a tag: the first that fits
        try:
            return _made(other.cls, value, path)
        except Invalid as invalid:
            failures.append(invalid)
    if failures:
        raise failures[0]
    return _plain(allowed, value, path)


def _made(cls: type, value: dict[str, Any], path: tuple[str | int, ...]) -> Any:
    if not dataclasses.is_dataclass(cls) or is_pydantic(cls):
        return _leaf(cls, value, path)
    given = {}
    for name, (_, hint) in shape_of(cls).fields.items():
        if name in value:
            given[name] = _converted(hint, value[name], (*path, name))
    for field in dataclasses.fields(cls):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if field.init and required and field.name not in given:
            raise Invalid((*path, field.name), f"Object missing required field `{field.name}`")
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:  # of __post_init__
        raise Invalid(path, str(error)) from error


def _leaf(hint: Any, value: Any, path: tuple[str | int, ...]) -> Any:
    if is_pydantic(hint):
        try:
            return _by_pydantic(hint, _json.encode(value), value)
        except Invalid as invalid:
            raise Invalid((*path, *invalid.path), invalid.reason) from invalid.__cause__
    try:
        return msgspec.convert(value, hint)
    except msgspec.ValidationError as error:
        raise _invalid(error, path) from error


def _kind(value: Any) -> str:
    return {dict: "object", list: "array", type(None): "null"}.get(type(value), type(value).__name__)
