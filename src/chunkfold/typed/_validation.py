"""
The whole answer as a value of a type.

msgspec validates structs and dataclasses from the exact text, pydantic its own models. What msgspec cannot take in a
dataclass, a union of dataclasses above all, is resolved here by the fields that are literals, or by trying.
"""

from __future__ import annotations

import dataclasses
import re
import typing
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from chunkfold.basis import _json
from chunkfold.errors import MissingExtra
from chunkfold.typed._partials import Shape, candidates, chosen, class_of, is_pydantic, members

if TYPE_CHECKING:
    from chunkfold.partial_json import Path

__all__ = ["Invalid", "check_type", "validated"]

T = TypeVar("T")

# The end of msgspec's messages: "... - at `$.days[1].high`". "[...]" stands for a key that it does not tell.
_PLACE = re.compile(r"(?s)(.*?)(?: - at `\$?(.*)`)?")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_FIELD = re.compile(r"Object (?:missing required|contains unknown) field `([^`]+)`")


class Invalid(ValueError):
    """The value is not of the type: where and why. It is a ValueError, since of those msgspec tells where they rose."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason


def validated(cls: type[T], text: str, value: Any) -> T:
    """
    The T that the JSON *text*, read as *value*, describes.

    Raises:
        Invalid: If it describes none.
    """
    try:
        return typing.cast("T", _by_pydantic(cls, text, value) if is_pydantic(cls) else _by_msgspec(cls, text, value))
    except RecursionError as error:
        raise Invalid((), "it nests too deep") from error


def check_type(cls: Any) -> None:
    """
    See to it that there can be values of that type.

    Raises:
        TypeError: If msgspec takes it no more than we do.
        MissingExtra: If it is a model of pydantic, and that cannot be imported.
    """
    if is_pydantic(cls):
        _pydantic()
    else:
        _decoder(cls)


def _decoder(cls: Any) -> msgspec.json.Decoder[Any] | None:
    """What decodes a struct or a dataclass; `None` for a dataclass that msgspec does not take."""
    try:
        return msgspec.json.Decoder(cls, dec_hook=_hook)
    except TypeError:
        if not dataclasses.is_dataclass(class_of(cls)):
            raise
        return None


def _by_msgspec(cls: Any, text: str, value: Any) -> Any:
    decoder = _decoder(cls)
    if decoder is None:
        return _Conversion().converted(cls, value, ())
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise _invalid(error) from error
    except (msgspec.DecodeError, UnicodeError):
        # Halves of characters, escaped, are JSON, but not to msgspec.
        return _leaf(cls, value, ())


def _hook(cls: Any, value: Any) -> Any:
    """A value of a type that msgspec does not know: a model of pydantic."""
    return _by_pydantic(cls, _json.encode(value), value) if is_pydantic(cls) else value


def _invalid(error: Exception, path: Path = ()) -> Invalid:
    """The words of msgspec taken apart."""
    found = _PLACE.fullmatch(str(error))
    reason, place = (found[1], found[2] or "") if found is not None else (str(error), "")
    steps = [int(number) if number.isdigit() else key or number for key, number in _STEP.findall(place)]
    if isinstance(error.__cause__, Invalid):  # of the hook
        return Invalid((*path, *steps, *error.__cause__.path), error.__cause__.reason)
    field = _FIELD.search(reason)
    return Invalid((*path, *steps, *([field[1]] if field is not None else [])), reason)


def _pydantic() -> Any:
    """
    The package. A program may have models without it: of a pydantic that it brings under another name.

    Raises:
        MissingExtra: If it is not installed.
    """
    try:
        import pydantic
    except ImportError as error:
        raise MissingExtra("pydantic", "pydantic") from error
    return pydantic


def _by_pydantic(cls: Any, text: str, value: Any) -> Any:
    pydantic = _pydantic()
    try:
        if hasattr(cls, "model_validate_json"):
            return cls.model_validate_json(text)
        return pydantic.TypeAdapter(cls).validate_json(text)
    except pydantic.ValidationError as error:
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


class _Conversion:
    """
    One value made into dataclasses.

    Where no tag tells which dataclass an object is, each is tried. What an object is as one of them is found out once:
    types that nest in themselves would else double the work with each level.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Any] = {}

    def converted(self, hint: Any, value: Any, path: Path) -> Any:
        if _is_taken(hint):
            return _leaf(hint, value, path)
        if value is None and type(None) in members(hint):
            return None
        if isinstance(value, dict):
            return self._object(hint, value, path)
        collections = [member for member in members(hint) if _is_collection(member)]
        if isinstance(value, list) and collections:
            return _first_that_fits([partial(self._items, member, value, path) for member in collections])
        return _plain(hint, value, path)

    def _items(self, hint: Any, value: list[Any], path: Path) -> Any:
        origin, hints = typing.get_origin(hint), typing.get_args(hint)
        if not issubclass(origin, tuple) or hints[1:] == (...,):
            hints = (hints[0],) * len(value)
        elif len(hints) != len(value):
            raise Invalid(path, f"Expected `array` of length {len(hints)}, got {len(value)}")
        items = [self.converted(hints[place], item, (*path, place)) for place, item in enumerate(value)]
        return items if issubclass(list, origin) else origin(items)

    def _object(self, hint: Any, value: dict[str, Any], path: Path) -> Any:
        shapes = candidates(hint)
        shape = chosen(shapes, value) if shapes else None
        if shape is not None:
            return self._made(shape, value, path)
        for member in members(hint):
            origin, args = typing.get_origin(member), typing.get_args(member)
            if isinstance(origin, type) and issubclass(origin, Mapping) and len(args) == 2:
                key_hint, hint = args
                return {_key(key_hint, key, path): self.converted(hint, value[key], (*path, key)) for key in value}
        if shapes:  # without a tag
            return _first_that_fits([partial(self._made, other, value, path) for other in shapes])
        return _plain(hint, value, path)

    def _made(self, shape: Shape, value: dict[str, Any], path: Path) -> Any:
        key = (id(value), id(shape))
        if key not in self._known:
            # In one function, since each level of the answer costs its calls on the stack.
            try:
                if not dataclasses.is_dataclass(shape.cls) or is_pydantic(shape.cls):
                    made = _leaf(shape.cls, value, path)
                else:
                    given = {}
                    for name, (_, hint) in shape.fields.items():
                        if name in value:
                            given[name] = self.converted(hint, value[name], (*path, name))
                    made = _instance(shape.cls, given, path)
            except Invalid as invalid:
                made = invalid
            self._known[key] = made
        made = self._known[key]
        if isinstance(made, Invalid):
            raise made
        return made


def _instance(cls: Any, given: dict[str, Any], path: Path) -> Any:
    """The dataclass with the fields that are given."""
    for field in dataclasses.fields(cls):
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if field.init and required and field.name not in given:
            raise Invalid((*path, field.name), f"Object missing required field `{field.name}`")
    try:
        return cls(**given)
    except (TypeError, ValueError) as error:  # of __post_init__
        raise Invalid(path, str(error)) from error


def _is_taken(hint: Any) -> bool:
    """True if msgspec takes values of that type."""
    try:
        return _is_taken_hashed(hint)
    except TypeError:  # an annotation that cannot be hashed
        return _is_taken_hashed.__wrapped__(hint)


@lru_cache(maxsize=1024)
def _is_taken_hashed(hint: Any) -> bool:
    try:
        msgspec.json.Decoder(hint)
    except TypeError:
        return False
    return True


def _first_that_fits(readings: list[Callable[[], Any]]) -> Any:
    """What the first reading that fits gives; the first refusal if there is none."""
    refusals = []
    for reading in readings:
        try:
            return reading()
        except Invalid as invalid:
            refusals.append(invalid)
    raise refusals[0]


def _plain(hint: Any, value: Any, path: Path) -> Any:
    """What is neither a dataclass nor a collection that may hold one is left to msgspec."""
    simple = [member for member in members(hint, bare=False) if _is_simple(*members(member)) and _is_taken(member)]
    if not simple:
        names = " | ".join(getattr(member, "__name__", str(member)) for member in members(hint))
        raise Invalid(path, f"Expected `{names}`, got `{_kind(value)}`")
    union: Any = typing.Union[tuple(simple)]  # noqa: UP007 - of a number that is not known here
    if _is_taken(union):
        return _leaf(union, value, path)
    # msgspec refuses several types that are text in JSON.
    return _first_that_fits([partial(_leaf, member, value, path) for member in simple])


def _is_simple(hint: Any) -> bool:
    return not dataclasses.is_dataclass(class_of(hint)) and not _is_collection(hint)


def _is_collection(hint: Any) -> bool:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    return (
        bool(args) and isinstance(origin, type) and issubclass(origin, Collection) and not issubclass(origin, Mapping)
    )


def _key(hint: Any, key: str, path: Path) -> Any:
    """A key of a mapping, which is text in JSON, as a value of that type."""
    (made,) = _leaf(dict[hint, None], {key: None}, path)
    return made


def _leaf(hint: Any, value: Any, path: Path) -> Any:
    if is_pydantic(hint):
        try:
            return _by_pydantic(hint, _json.encode(value), value)
        except Invalid as invalid:
            raise Invalid((*path, *invalid.path), invalid.reason) from invalid.__cause__
    try:
        return msgspec.convert(value, hint, str_keys=True, dec_hook=_hook)
    except msgspec.ValidationError as error:
        raise _invalid(error, path) from error
    except UnicodeError as error:
        raise Invalid(path, "half a character where no text may stand") from error


def _kind(value: Any) -> str:
    return {dict: "object", list: "array", type(None): "null"}.get(type(value), type(value).__name__)
