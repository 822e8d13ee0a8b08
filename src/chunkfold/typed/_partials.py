"""
Read-only views of JSON that is still arriving, with the fields of a type.

A view looks at the value so far when an attribute is read; nothing is copied and nothing converted. Which fields a type
has, and under which keys, is found out once.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import msgspec
from msgspec import UNSET

if TYPE_CHECKING:
    from chunkfold.partial_json import Path

__all__ = ["Field", "Partial", "Shape", "candidates", "chosen", "class_of", "is_pydantic", "members", "shape_of"]


class Field(NamedTuple):
    """A field of a type."""

    paths: tuple[Path, ...]
    """Where JSON may have it, mostly under one key; the first place where something is counts."""
    hint: Any


class Shape(NamedTuple):
    """What is known of a type with fields."""

    cls: type
    """The class; of `Box[int]`, `Box`."""
    fields: dict[str, Field]
    tags: dict[str, tuple[Any, ...]]
    """Keys that tell this type from others, with the values that they then have."""

    @property
    def is_root(self) -> bool:
        """True for a pydantic model that is its `root`, and no object with fields."""
        return bool(getattr(self.cls, "__pydantic_root_model__", False))


_SHAPES: dict[Any, Shape] = {}


def shape_of(hint: Any) -> Shape:
    """
    The shape of a msgspec struct, a dataclass or a pydantic model.

    Raises:
        TypeError: If it is something else.
    """
    if not _has_fields(hint):
        name = getattr(hint, "__name__", None) or repr(hint)
        raise TypeError(f"output_type must be a msgspec struct, a dataclass or a pydantic model, not {name}")
    shape = _SHAPES.get(hint)
    if shape is None:
        shape = _SHAPES[hint] = _shape(hint)
    return shape


def _shape(hint: Any) -> Shape:
    cls = class_of(hint)
    fields = _pydantic_fields(cls) if is_pydantic(cls) else _plain_fields(hint)
    tags: dict[str, tuple[Any, ...]] = {}
    for field in fields.values():
        match field.paths[0]:
            case (str(key),) if values := _literal_values(field.hint):
                tags[key] = values
    if issubclass(cls, msgspec.Struct):
        config = cls.__struct_config__
        if config.tag is not None and config.tag_field is not None:
            tags[config.tag_field] = (config.tag,)
    return Shape(cls, fields, tags)


def class_of(hint: Any) -> Any:
    """The class that a type is made of: `Box` of `Box[int]`."""
    return typing.get_origin(hint) or hint


def _meanings(hint: Any) -> dict[Any, Any]:
    """What the type variables of a generic class stand for."""
    return dict(zip(getattr(class_of(hint), "__parameters__", ()), typing.get_args(hint), strict=False))


def _meant(hint: Any, meanings: dict[Any, Any]) -> Any:
    """*hint* with what its type variables stand for."""
    if isinstance(hint, typing.TypeVar):
        return meanings.get(hint, hint)
    variables = getattr(hint, "__parameters__", ()) if meanings and not isinstance(hint, type) else ()
    return hint[tuple(meanings.get(variable, variable) for variable in variables)] if variables else hint


def is_pydantic(cls: Any) -> bool:
    """Whether pydantic made that class."""
    return isinstance(cls, type) and hasattr(cls, "__pydantic_validator__")


def _has_fields(hint: Any) -> bool:
    cls = class_of(hint)
    return isinstance(cls, type) and (
        (issubclass(cls, msgspec.Struct) and not cls.__struct_config__.array_like)
        or dataclasses.is_dataclass(cls)
        or is_pydantic(cls)
    )


def _plain_fields(hint: Any) -> dict[str, Field]:
    cls, hints = class_of(hint), _hints(hint)
    if issubclass(cls, msgspec.Struct):
        keys = zip(cls.__struct_fields__, cls.__struct_encode_fields__, strict=True)
        return {name: Field(((key,),), hints[name]) for name, key in keys}
    return {field.name: Field(((field.name,),), hints[field.name]) for field in dataclasses.fields(cls) if field.init}


@lru_cache(maxsize=1024)
def _hints(hint: Any) -> dict[str, Any]:
    """The types of the fields of a class, in terms of what the type variables stand for, in its bases too."""
    cls, meanings = class_of(hint), _meanings(hint)
    said = typing.get_type_hints(cls, include_extras=True)
    hints = {name: _meant(one, meanings) for name, one in said.items()}
    for base in reversed(cls.__dict__.get("__orig_bases__", cls.__bases__)):
        # `TypedDict` and `NamedTuple` are written as bases, and are no classes.
        is_class = isinstance(class_of(base), type)
        of_base = typing.get_type_hints(class_of(base), include_extras=True) if is_class else {}
        inherited = _hints(_meant(base, meanings)) if of_base else {}
        hints |= {name: one for name, one in inherited.items() if said[name] == of_base[name]}
    return hints


def _pydantic_fields(cls: Any) -> dict[str, Field]:
    fields = getattr(cls, "__pydantic_fields__", None) or cls.model_fields
    config = getattr(cls, "model_config", None) or getattr(cls, "__pydantic_config__", {})
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    is_root = getattr(cls, "__pydantic_root_model__", False)
    out = {}
    for name, field in fields.items():
        paths = _alias_paths(field.validation_alias or field.alias)
        if not paths or by_name:
            paths.append(() if is_root else (name,))
        out[name] = Field(tuple(paths), field.annotation)
    return out


def _alias_paths(alias: Any) -> list[Path]:
    """The places that an alias of pydantic names: a key, a path, or a choice of these."""
    if alias is None or isinstance(alias, str):
        return [(alias,)] if alias is not None else []
    if hasattr(alias, "path"):
        return [tuple(alias.path)]
    return [path for choice in getattr(alias, "choices", ()) for path in _alias_paths(choice)]


# Types


def members(hint: Any, *, bare: bool = True) -> list[Any]:
    """The types that *hint* allows; if *bare*, without what is only said about them."""
    inner = _bare(hint)
    if typing.get_origin(inner) in (typing.Union, types.UnionType):
        return [member for part in typing.get_args(inner) for member in members(part, bare=bare)]
    return [inner if bare else hint]


def _bare(hint: Any) -> Any:
    """*hint* without `Annotated`, aliases and the like."""
    while True:
        if typing.get_origin(hint) in (typing.Annotated, typing.Required, typing.NotRequired, typing.Final):
            hint = typing.get_args(hint)[0]
        elif hasattr(hint, "__supertype__"):  # NewType
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":
            hint = hint.__value__
        else:
            return hint


def _literal_values(hint: Any) -> tuple[Any, ...]:
    """The values of a field that can have no others."""
    values: list[Any] = []
    for member in members(hint):
        if typing.get_origin(member) is not typing.Literal:
            return ()
        values += typing.get_args(member)
    return tuple(values)


def candidates(hint: Any) -> list[Shape]:
    """The shapes that an object of that type may have."""
    return [shape_of(member) for member in members(hint) if _has_fields(member)]


def chosen(shapes: list[Shape], value: Mapping[str, Any], growing: Path | None = None) -> Shape | None:
    """The one shape that the tags in *value* leave; `None` while there may be several. A growing tag is not known."""
    if len(shapes) == 1:
        return shapes[0]
    open_key = growing[0] if growing is not None and len(growing) == 1 else None
    known = False
    left = []
    for shape in shapes:
        told = [key for key in shape.tags if key in value and key != open_key]
        if all(value[key] in shape.tags[key] for key in told):
            left.append(shape)
            known = known or bool(told)
    return left[0] if len(left) == 1 and known else None


def _item_hint(hint: Any, place: int) -> Any:
    """The type of an item of a list of that type."""
    hints = []
    for member in members(hint):
        origin, args = typing.get_origin(member), typing.get_args(member)
        if not args or not isinstance(origin, type) or not issubclass(origin, Collection):
            hints += _hints_in_row(member)[place : place + 1]
        elif issubclass(origin, tuple) and args[-1] is not Ellipsis:
            hints += args[place : place + 1]
        elif not issubclass(origin, Mapping):
            hints.append(args[0])
    return typing.Union[tuple(hints)] if hints else Any  # noqa: UP007 - of a number that is not known here


def _hints_in_row(hint: Any) -> list[Any]:
    """The types of the fields of what has fields, but stands in JSON as a list; none of all else."""
    cls = class_of(hint)
    names: tuple[str, ...] = ()
    if isinstance(cls, type) and issubclass(cls, tuple):
        names = getattr(cls, "_fields", ())
    elif isinstance(cls, type) and issubclass(cls, msgspec.Struct) and cls.__struct_config__.array_like:
        names = cls.__struct_fields__
    return [_hints(hint).get(name, Any) for name in names]


def _value_hint(hint: Any, key: str) -> Any:
    """The type of the value under a key of a mapping of that type."""
    hints = []
    for member in members(hint):
        origin, args = typing.get_origin(member), typing.get_args(member)
        if isinstance(origin, type) and issubclass(origin, Mapping) and len(args) == 2:
            hints.append(args[1])
        elif hasattr(class_of(member), "__required_keys__"):  # a TypedDict
            hints.append(_hints(member).get(key, Any))
    return typing.Union[tuple(hints)] if hints else Any  # noqa: UP007 - of a number that is not known here


# Views


def _view(hint: Any, value: Any, growing: Path | None) -> Any:
    """*value* as it may be looked at. *growing* is where, inside it, a string is not complete."""
    root = _root_shape(hint)
    if root is not None and value is not None:
        return Partial(root, value, growing)
    if isinstance(value, dict):
        shape = chosen(candidates(hint), value, growing)
        return Partial(shape, value, growing) if shape is not None else PartialMapping(hint, value, growing)
    return PartialList(hint, value, growing) if isinstance(value, list) else value


def _root_shape(hint: Any) -> Shape | None:
    """The shape of the model whose root a value of that type is, if it can be nothing else."""
    try:
        return _root_shape_hashed(hint)
    except TypeError:  # an annotation that cannot be hashed
        return _root_shape_hashed.__wrapped__(hint)


@lru_cache(maxsize=1024)
def _root_shape_hashed(hint: Any) -> Shape | None:
    types = [member for member in members(hint) if member is not type(None)]
    shape = shape_of(types[0]) if len(types) == 1 and is_pydantic(types[0]) else None
    return shape if shape is not None and shape.is_root else None


def _inside(growing: Path | None, steps: Path) -> Path | None:
    return growing[len(steps) :] if growing is not None and growing[: len(steps)] == steps else None


def _at(value: Any, path: Path) -> Any:
    """What stands at *path* in *value*; `UNSET` if there is nothing."""
    for step in path:
        if not isinstance(value, dict if isinstance(step, str) else list):
            return UNSET
        try:
            value = value[step]  # type: ignore[index]
        except (KeyError, IndexError):
            return UNSET
    return value


class Partial:
    """A view of an object. Its attributes are the fields of the type, and nothing else."""

    __slots__ = ("__growing", "__shape", "__value")

    def __init__(self, shape: Shape, value: Any, growing: Path | None) -> None:
        object.__setattr__(self, "_Partial__shape", shape)
        object.__setattr__(self, "_Partial__value", value)
        object.__setattr__(self, "_Partial__growing", growing)

    def __getattr__(self, name: str) -> Any:
        field = self.__shape.fields.get(name)
        if field is None:
            raise AttributeError(f"{self.__shape.cls.__name__} has no field {name!r}")
        for path in field.paths:
            value = _at(self.__value, path)
            if value is not UNSET:
                return _view(field.hint, value, _inside(self.__growing, path))
        return UNSET

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError("a view of an answer that is still coming cannot be changed")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("a view of an answer that is still coming cannot be changed")

    def __dir__(self) -> list[str]:
        return list(self.__shape.fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Partial):
            return NotImplemented
        return self.__shape.cls is other.__shape.cls and bool(self.__value == other.__value)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = self.__shape.fields.items()
        there = [name for name, field in fields if any(_at(self.__value, path) is not UNSET for path in field.paths)]
        return f"<partial {self.__shape.cls.__name__}: {', '.join(there) or 'nothing yet'}>"


class PartialList(Sequence[Any]):
    """A view of a list that may still grow."""

    __slots__ = ("_growing", "_hint", "_value")

    def __init__(self, hint: Any, value: list[Any], growing: Path | None) -> None:
        self._hint = hint
        self._value = value
        self._growing = growing

    def __len__(self) -> int:
        return len(self._value)

    def __getitem__(self, place: Any) -> Any:
        places = range(len(self._value))[place]
        if isinstance(places, range):
            return [self[single] for single in places]
        return _view(_item_hint(self._hint, places), self._value[places], _inside(self._growing, (places,)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, (list, tuple, PartialList)) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<partial list of {len(self)}>"


class PartialMapping(Mapping[str, Any]):
    """A view of an object without a type, or whose type is not known yet."""

    __slots__ = ("_growing", "_hint", "_value")

    def __init__(self, hint: Any, value: dict[str, Any], growing: Path | None) -> None:
        self._hint = hint
        self._value = value
        self._growing = growing

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._value)

    def __getitem__(self, key: str) -> Any:
        return _view(_value_hint(self._hint, key), self._value[key], _inside(self._growing, (key,)))

    def __repr__(self) -> str:
        return f"<partial object: {', '.join(self) or 'nothing yet'}>"
