"""
What every public value can do: be written as JSON and read back, and be shown in one line.

Values are frozen `msgspec` structs. Fields that have their default value are left out of the
written form. A `repr` names facts and gives the size of content, never the content, so that a
log line cannot leak an answer.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self, get_type_hints

import msgspec

from chunkfold.basis import _json
from chunkfold.basis._wording import described

__all__ = ["Value", "copied", "hints_of", "listed", "read_json", "word"]

# Fields whose value may stand in a log line. All others are shown as a size.
_FACTS = frozenset(
    {
        "id", "name", "call_id", "index", "choice", "type", "kind", "tool_type", "status", "server_side", "role",
        "model", "created", "dialect", "vendor", "ended", "truncated", "reason", "native", "finish_reason",
        "native_finish_reason", "media_type", "phase", "redacted", "summary", "is_error", "final", "code", "origin",
        "retryable", "retry_after", "frame", "detail", "from_part", "path", "first_output_kind",
        "input_tokens", "output_tokens", "total_tokens", "cached_input_tokens",
        "cache_write_input_tokens", "reasoning_tokens", "usage", "error",
    }
)  # fmt: skip
_FACT_LENGTH = 80
# So many choices, parts or diagnostics are shown; of more it is said how many they are.
_FEW = 3
# CPython refuses to write long integers.
_FACT_BITS = 256


class Value(msgspec.Struct, frozen=True, gc=True):
    """Base of the public values: equal by value, frozen, picklable, JSON both ways."""

    # The name under which the written form says what it is ("kind" for parts, "type" for events).
    _tag_name: ClassVar[str] = ""
    # The fields are settings, which may all stand in a log line.
    _shows_all: ClassVar[bool] = False
    # Readers of the fields that hold other values.
    _nested: ClassVar[dict[str, Any]] = {}

    def to_dict(self) -> dict[str, Any]:
        """
        The value as plain dicts, lists, strings, numbers, booleans, `None` and (binary data) bytes. They can be changed
        without changing the value.
        """
        out: dict[str, Any] = copied(self._written())
        return out

    def _written(self) -> dict[str, Any]:
        out: dict[str, Any] = {}
        if self._tag_name:
            out[self._tag_name] = getattr(self, self._tag_name)
        for name, default in zip(self.__struct_fields__, _defaults(type(self)), strict=True):
            value = getattr(self, name)
            if value != default or type(value) is not type(default):
                out[name] = _plain(value)
        return out

    def to_json(self) -> str:
        """One line of JSON. Binary data is base64 text."""
        return _json.encode(self._written())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """
        The value that `to_dict` or the JSON of `to_json` describes.

        Raises:
            ValueError: If a field has the wrong type, is unknown or is missing; the message has its path.
        """
        if not isinstance(data, dict):
            raise ValueError(f"{cls.__name__}: expected an object, got {type(data).__name__}")  # noqa: TRY004
        hints = hints_of(cls)
        tag = cls._tag_name
        told = getattr(cls, tag) if tag in data and tag not in hints else None
        if isinstance(told, str) and data[tag] != told:
            raise ValueError(f"{cls.__name__}.{tag}: {data[tag]!r} is not {told!r}")
        fields: dict[str, Any] = {}
        for name, value in data.items():
            if name == cls._tag_name and name not in hints:
                continue
            if name not in hints:
                raise ValueError(f"{cls.__name__} has no field {name!r}")
            nested = cls._nested.get(name) if value is not None else None
            try:
                fields[name] = msgspec.convert(value, hints[name]) if nested is None else nested(value)
            except ValueError as error:
                raise ValueError(f"{cls.__name__}.{name}: {error}") from None
        try:
            made = cls(**fields)
        except TypeError as error:
            raise ValueError(f"{cls.__name__}: {error}") from None
        if tag in data and tag not in hints and data[tag] != getattr(made, tag):
            raise ValueError(f"{cls.__name__}.{tag}: {data[tag]!r} is not {getattr(made, tag)!r}")
        return made

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """
        The value that `to_json` wrote.

        Raises:
            ValueError: If the text is not such JSON.
        """
        return cls.from_dict(read_json(text))

    def __repr__(self) -> str:
        shown = []
        for name, default in zip(self.__struct_fields__, _defaults(type(self)), strict=True):
            value = getattr(self, name)
            if value is default or (not isinstance(value, Value) and value == default):
                continue
            shown.append(f"{name}={_fact(value) if name in _FACTS or self._shows_all else _size_of(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def listed(data: Any) -> list[Any]:
    """*data*, if it is a list. ValueError if it is not."""
    if not isinstance(data, list):
        raise ValueError(f"expected an array, got {type(data).__name__}")  # noqa: TRY004
    return data


def word(data: Any, key: str) -> Any:
    """What *data* says that it is, if it is an object and says so in a word. ValueError if it is none."""
    if not isinstance(data, dict):
        raise ValueError(f"expected an object, got {type(data).__name__}")  # noqa: TRY004
    found = data.get(key)
    return found if isinstance(found, str) else None


def read_json(text: str | bytes) -> Any:
    """
    What the JSON of a value says. Our own text may nest deeper than a payload, which stands inside it.

    Raises:
        ValueError: If it is not one JSON value and nothing else. What is forgiven a server is damage here.
        TypeError: If it is no text at all.
    """
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"JSON is text or bytes, not {described(text)}")
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    value, forgiven = _json.decode(data, depth=None)
    if forgiven in _DAMAGE:
        raise ValueError(_DAMAGE[forgiven])
    return value


_BEHIND = "something stands behind the JSON of the value"
_DAMAGE = {
    **dict.fromkeys(("trailing_garbage", *_json.GLUED), _BEHIND),
    "invalid_utf8": "the JSON of the value is not in UTF-8",
}
_DEFAULTS: dict[type, tuple[Any, ...]] = {}
_HINTS: dict[type, dict[str, Any]] = {}
_NO_DEFAULT = object()


def _defaults(cls: type[Value]) -> tuple[Any, ...]:
    found = _DEFAULTS.get(cls)
    if found is None:
        given = [default.factory() if hasattr(default, "factory") else default for default in cls.__struct_defaults__]
        required = len(cls.__struct_fields__) - len(given)
        found = _DEFAULTS[cls] = (*[_NO_DEFAULT] * required, *given)
    return found


def hints_of(cls: type[Value]) -> dict[str, Any]:
    """The types of the fields of a value."""
    found = _HINTS.get(cls)
    if found is None:
        import chunkfold.events
        import chunkfold.response

        names = {**vars(chunkfold.events), **vars(chunkfold.response)}
        hints = get_type_hints(cls, localns=names)
        found = _HINTS[cls] = {name: hints[name] for name in cls.__struct_fields__}
    return found


def copied(value: Any) -> Any:
    """A copy of what is in a value, which can be changed without changing it."""
    # Loops, since a comprehension takes a second frame of the stack, which Python 3.11 has a thousand of.
    if isinstance(value, dict):
        fields = {}
        for key, item in value.items():
            fields[key] = copied(item)
        return fields
    if isinstance(value, (list, tuple)):
        items = []
        for item in value:
            items.append(copied(item))  # noqa: PERF401
        return items
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return value._written()
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    return value


def _fact(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > _FACT_BITS:
        return f"<integer of {value.bit_length()} bits>"
    text = repr(value)
    return text if len(text) <= _FACT_LENGTH or isinstance(value, Value) else f"{text[:_FACT_LENGTH]}..."


def _size_of(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float)):
        return _fact(value)
    if isinstance(value, Value):
        return repr(value)
    if isinstance(value, str):
        return f"<{len(value)} characters>"
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, tuple) and 0 < len(value) <= _FEW and all(isinstance(item, Value) for item in value):
        return f"[{', '.join(map(repr, value))}]"
    if isinstance(value, (list, tuple, dict)):
        return f"<{len(value)}>"
    return f"<{type(value).__name__}>"
