"""
A folder as bytes: what one process was in the middle of, another goes on with.

The state of a folder is a graph of a few small objects of this package and of plain data. It is written as a flat list
of nodes that refer to each other by number, so that depth costs nothing and what is shared stays shared. Classes are
written by name, and only classes of the modules below are ever read back: they are made empty and given the fields
that they have, no others. Nothing of what is read is run, looked up elsewhere or unpickled.

What can be had again is left out: templates are learned anew, the readers of live arguments read the text that is
there, and parts are built when the next snapshot asks.
"""

from __future__ import annotations

import re
from array import array
from binascii import crc32
from collections import deque
from collections.abc import Mapping
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from chunkfold._version import __version__
from chunkfold.accumulator import Gatherer
from chunkfold.assembly._builders import ChoiceBuilder, PartBuilder, ResponseBuilder
from chunkfold.dialects import Dialect
from chunkfold.dialects._slots import Table
from chunkfold.dialects._writer import Writer
from chunkfold.errors import RestoreError
from chunkfold.folding._direct import DirectDecoder
from chunkfold.folding._frames import Frames
from chunkfold.folding._payloads import Payloads
from chunkfold.limits import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["State", "pack", "unpack"]

_MAGIC = b"chunkfold folder\n"
_FORMAT = 1
_HEADER = len(_MAGIC) + 1 + 4

# Modules whose classes may stand in the bytes.
_MODULES = re.compile(
    r"chunkfold\.(?:accumulator|events|limits|parts|policy|response|(?:assembly|dialects|folding|framing)[.\w]*)"
)

# Fields that are not written, since they can be had again.
_LEFT_OUT: dict[type, frozenset[str]] = {
    DirectDecoder: frozenset({"_fed", "_learned_event", "_read", "_span", "_templates"}),
    Gatherer: frozenset({"_objection", "_response"}),
    ResponseBuilder: frozenset({"shown"}),
    ChoiceBuilder: frozenset({"shown"}),
    PartBuilder: frozenset({"built", "dirty", "reader"}),
}

# Kinds of nodes. The order is part of the format.
_LIST, _DICT, _SET, _BYTEARRAY, _DEQUE, _ARRAY, _OBJECT, _OWN_LIST, _OWN_DICT = range(9)  # made empty, then filled
_TUPLE, _FROZENSET, _STRUCT, _CLASS, _TEXT, _BYTES, _HALVES, _INT, _DECIMAL, _RAW, _UNSET, _OWN_TUPLE = range(9, 21)
_FILLED = frozenset(range(_OWN_DICT + 1))
_OF_CLASS = (_OBJECT, _OWN_LIST, _OWN_DICT)
_EMPTY: dict[int, Callable[[], Any]] = {_LIST: list, _DICT: dict, _SET: set, _BYTEARRAY: bytearray, _DEQUE: deque}
_KINDS: dict[type, int] = {list: _LIST, set: _SET, deque: _DEQUE, tuple: _TUPLE, frozenset: _FROZENSET}

# Longer text and bytes are written once, however often they occur.
_LONG = 48


class State(NamedTuple):
    """What a folder is made of."""

    decoder: DirectDecoder
    accumulator: Gatherer
    live: tuple[bool, bool, bool, list[tuple[int, int, int]]] | None
    """What is read while it comes: arguments, text to tell of, documents, see `Live.runs`. `None`: nothing."""


def pack(state: State) -> bytes:
    """
    *state* as bytes.

    Raises:
        TypeError: If the caller fed payloads with values that are no JSON.
    """
    writer = _Nodes()
    root = [writer.ref(state.decoder), writer.ref(state.accumulator), list(state.live) if state.live else None]
    writer.finish()
    body = msgspec.msgpack.encode([__version__, writer.classes, writer.nodes, root])
    return b"".join([_MAGIC, bytes([_FORMAT]), crc32(body).to_bytes(4), body])


def unpack(data: bytes) -> State:
    """
    The state that `pack` wrote.

    Raises:
        RestoreError: If *data* is anything else.
    """
    if not data.startswith(_MAGIC):
        raise RestoreError("these bytes are not a saved folder")
    if len(data) < _HEADER or data[len(_MAGIC)] != _FORMAT:
        raise RestoreError("this folder was saved in another format, by another version of chunkfold")
    body = data[_HEADER:]
    if crc32(body) != int.from_bytes(data[_HEADER - 4 : _HEADER]):
        raise RestoreError("the saved folder is damaged or incomplete")
    try:
        return _read(*msgspec.msgpack.decode(body))
    except RestoreError:
        raise
    except Exception as error:  # bytes with a right checksum may say anything
        raise RestoreError(f"these bytes are not a saved folder: {error!r:.200}") from error


class _Nodes:
    """Writes objects as numbered nodes. A reference is a list of one number; what is no list stands for itself."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.classes: list[Any] = []
        self._class_numbers: dict[tuple[type, tuple[str, ...]], int] = {}
        self._known: dict[int, list[int]] = {}
        self._waiting: list[tuple[list[Any], Any]] = []
        # Keeps what was made on the way, so that no other object gets its identity.
        self._alive: list[Any] = []

    def ref(self, value: Any) -> Any:
        """*value* itself if it is small and plain, else a reference to its node."""
        kind = type(value)
        if value is None or kind is bool or kind is float:
            return value
        if kind is int:
            return value if -(1 << 63) <= value < 1 << 64 else self._node(value, _INT, hex(value))
        if kind is str and len(value) < _LONG and value.isascii():
            return value
        if kind is bytes and len(value) < _LONG:
            return value
        found = self._known.get(id(value))
        return found if found is not None else self._write(value, kind)

    def _write(self, value: Any, kind: type) -> Any:
        if kind is str:
            try:
                value.encode()
            except UnicodeEncodeError:
                return self._node(value, _HALVES, value.encode("utf-8", "surrogatepass"))
            return self._node(value, _TEXT, value) if len(value) >= _LONG else value
        if kind is bytes:
            return self._node(value, _BYTES, value)
        if kind is bytearray:
            return self._node(value, _BYTEARRAY, bytes(value))
        if kind in (tuple, frozenset):
            # What cannot be made empty and filled later comes after what is in it.
            return self._node(value, _KINDS[kind], *map(self.ref, value))
        if kind in _KINDS:
            return self._later(value, _KINDS[kind])
        if kind is array:
            return self._node(value, _ARRAY, value.typecode, *value)
        if isinstance(value, (list, dict)) and _path_of(kind) is not None:
            node = _OWN_LIST if isinstance(value, list) else _OWN_DICT
            return self._later(value, node, self._class(kind, ()))
        if isinstance(value, Mapping):
            return self._later(value, _DICT)
        if isinstance(value, tuple):
            return self._node(value, _OWN_TUPLE, self._class(kind, ()), *map(self.ref, value))
        if isinstance(value, BaseException):
            return None
        if isinstance(value, msgspec.Struct):
            number = self._class(kind, value.__struct_fields__)
            return self._node(value, _STRUCT, number, *[self.ref(getattr(value, f)) for f in value.__struct_fields__])
        if isinstance(value, type):
            return self._node(value, _CLASS, self._class(value, ()))
        if kind is Decimal:
            return self._node(value, _DECIMAL, str(value))
        if kind is msgspec.Raw:
            return self._node(value, _RAW, bytes(value))
        if value is msgspec.UNSET:
            return self._node(value, _UNSET)
        return self._later(value, _OBJECT)

    def finish(self) -> None:
        """Write what the nodes so far refer to, and so on until all is written."""
        while self._waiting:
            node, value = self._waiting.pop()
            kind = node[0]
            if kind in (_DICT, _OWN_DICT):
                for key, item in value.items():
                    node += (self.ref(key), self.ref(item))
            elif kind == _OBJECT:
                fields = self._fields(value)
                node.append(self._class(type(value), tuple(fields)))
                node += map(self.ref, fields.values())
            else:
                node += map(self.ref, value)

    def _node(self, value: Any, kind: int, *content: Any) -> list[int]:
        self.nodes.append([kind, *content])
        self._alive.append(value)
        number = self._known[id(value)] = [len(self.nodes) - 1]
        return number

    def _later(self, value: Any, kind: int, *content: Any) -> list[int]:
        number = self._node(value, kind, *content)
        self._waiting.append((self.nodes[-1], value))
        return number

    def _fields(self, value: Any) -> dict[str, Any]:
        """The fields of an object, as they are to be restored."""
        if _path_of(type(value)) is None:
            raise TypeError(f"a folder that holds a {type(value).__name__} cannot be saved")
        if isinstance(value, PartBuilder):
            value.text()  # joins pieces
        left_out = _LEFT_OUT.get(type(value), ())
        return {name: getattr(value, name) for name in _field_names(value) if name not in left_out}

    def _class(self, cls: type, fields: tuple[str, ...]) -> int:
        number = self._class_numbers.get((cls, fields))
        if number is None:
            path = _path_of(cls)
            if path is None:
                raise TypeError(f"a folder that holds a {cls.__name__} cannot be saved")
            number = self._class_numbers[cls, fields] = len(self.classes)
            self.classes.append([*path, fields])
        return number


def _read(version: Any, classes: Any, nodes: Any, root: Any) -> State:
    if version != __version__:
        raise RestoreError(f"the folder was saved by chunkfold {version}, this is {__version__}")
    objects = _Objects(classes, nodes)
    decoder, accumulator = objects.values(root[:2])
    if type(decoder) is not DirectDecoder or type(accumulator) is not Gatherer:
        raise RestoreError("these bytes are not a saved folder")
    _complete(decoder, accumulator, objects.parts)
    live = None if root[2] is None else _live(*root[2])
    return State(decoder, accumulator, live)


def _live(arguments: Any, text: Any, documents: Any, runs: Any) -> tuple[bool, bool, bool, list[tuple[int, int, int]]]:
    return bool(arguments), bool(text), bool(documents), [(choice, index, first) for choice, index, first in runs]


class _Objects:
    """The objects of numbered nodes, as `_Nodes` has written them."""

    def __init__(self, classes: Any, nodes: Any) -> None:
        self._classes = [(_load(module, name), fields) for module, name, fields in classes]
        self._usual: dict[int, list[type | None]] = {}
        self._made: list[Any] = [None] * len(nodes)
        self.parts: list[PartBuilder] = []
        # First what can be filled later, so that everything can refer to it.
        filled = [(number, node) for number, node in enumerate(nodes) if node[0] in _FILLED]
        for number, node in filled:
            self._made[number] = self._empty(node)
        for number, node in enumerate(nodes):
            if node[0] not in _FILLED:
                self._made[number] = self._whole(node)
        for number, node in filled:
            self._fill(self._made[number], node)

    def values(self, items: list[Any]) -> list[Any]:
        """What *items* refer to, or are."""
        made = self._made
        return [made[item[0]] if type(item) is list else item for item in items]

    def _empty(self, node: Any) -> Any:
        kind = node[0]
        if kind in _EMPTY:
            return _EMPTY[kind]()
        if kind == _ARRAY:
            return array(node[1], node[2:])
        cls = self._classes[node[1]][0]
        if issubclass(cls, (msgspec.Struct, BaseException)):
            raise RestoreError(f"{cls.__name__} is not written so")
        return cls.__new__(cls)

    def _whole(self, node: Any) -> Any:
        kind = node[0]
        if kind in _IMMUTABLE:
            return _IMMUTABLE[kind](*self.values(node[1:]))
        cls, fields = self._classes[node[1]]
        if kind == _CLASS:
            return cls
        if kind == _OWN_TUPLE:
            return tuple.__new__(cls, self.values(node[2:]))
        if kind != _STRUCT:
            raise RestoreError(f"there are no nodes of kind {kind}")
        if not issubclass(cls, msgspec.Struct) or list(cls.__struct_fields__) != fields:
            raise RestoreError(f"{cls.__name__} has other fields here")
        return cls(*self.values(node[2:]))

    def _fill(self, target: Any, node: Any) -> None:
        kind = node[0]
        if kind == _OBJECT:
            self._fill_object(target, node)
            return
        values = self.values(node[2:] if kind in _OF_CLASS else node[1:])
        if kind in (_DICT, _OWN_DICT):
            target.update(zip(values[::2], values[1::2], strict=True))
        elif kind == _SET:
            target.update(values)
        elif kind == _BYTEARRAY:
            target += values[0]
        elif kind != _ARRAY:
            target.extend(values)

    def _fill_object(self, target: Any, node: Any) -> None:
        number = node[1]
        names = self._classes[number][1]
        usual = self._usual.get(number)
        if usual is None:
            usual = self._usual[number] = _usual_types(target, names)
        _set_fields(target, names, usual, self.values(node[2:]))
        if type(target) is PartBuilder:
            self.parts.append(target)


_IMMUTABLE: dict[int, Callable[..., Any]] = {
    _TUPLE: lambda *items: items,
    _FROZENSET: lambda *items: frozenset(items),
    _TEXT: str,
    _BYTES: bytes,
    _HALVES: lambda data: data.decode("utf-8", "surrogatepass"),
    _INT: lambda digits: int(digits, 16),
    _DECIMAL: Decimal,
    _RAW: msgspec.Raw,
    _UNSET: lambda: msgspec.UNSET,
}


def _usual_types(target: Any, names: list[str]) -> list[type | None]:
    """The types that the fields of an empty object have in a new one. They must be the fields of its class."""
    cls = type(target)
    shape = _shape(cls)
    more = set(names) - shape.keys()
    if shape.keys() - set(names) or (more and not (hasattr(target, "__dict__") and more <= _names_in_code(cls))):
        raise RestoreError(f"{cls.__name__} has other fields here")
    return [shape.get(name) for name in names]


def _set_fields(target: Any, names: list[str], usual: list[type | None], values: list[Any]) -> None:
    for name, kind, value in zip(names, usual, values, strict=True):
        if kind is not None and value is not None and not isinstance(value, kind):
            raise RestoreError(f"{type(target).__name__}.{name} cannot be a {type(value).__name__}")
        object.__setattr__(target, name, value)


def _complete(decoder: DirectDecoder, accumulator: Gatherer, parts: list[PartBuilder]) -> None:
    """Have again what was left out, and look once more at what decides how the stream is read."""
    for part in parts:
        part.reader, part.built, part.dirty = None, None, []
    for target, fresh in ((decoder, DirectDecoder()), (accumulator, Gatherer())):
        for name in _LEFT_OUT[type(target)]:
            setattr(target, name, getattr(fresh, name))
    accumulator._builder.show_anew()
    for setting in (decoder._limits, accumulator._builder.policy):
        type(setting).from_dict(setting.to_dict())
    decoder._learn_anew()


# Classes and their fields


def _path_of(cls: type) -> tuple[str, str] | None:
    """Module and name of a class that may be written."""
    return (cls.__module__, cls.__qualname__) if _MODULES.fullmatch(cls.__module__) else None


def _load(module: str, name: str) -> type:
    if not _MODULES.fullmatch(module):
        raise RestoreError(f"{module} has nothing to do with saved folders")
    found: Any = import_module(module)
    for step in name.split("."):
        found = vars(found)[step]
    if not isinstance(found, type) or (found.__module__, found.__qualname__) != (module, name):
        raise RestoreError(f"{module}.{name} is not a class")
    return found


def _field_names(value: Any) -> list[str]:
    """The names of an object's fields."""
    slots = [name for base in type(value).__mro__ for name in _slots_of(base)]
    return [*slots, *getattr(value, "__dict__", ())]


def _slots_of(cls: type) -> tuple[str, ...]:
    slots = cls.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


_SHAPES: dict[type, dict[str, type | None]] = {}


def _shape(cls: type) -> dict[str, type | None]:
    """The fields that an object of that class must be given, and their types in a new one, where they have one."""
    shape = _SHAPES.get(cls)
    if shape is None:
        new = _new(cls)
        names = set(_field_names(new)) - _LEFT_OUT.get(cls, frozenset())
        values = {name: getattr(new, name, None) for name in names}
        # What a dialect remembers of a payload may be of any simple type.
        anything = (type(None), int, str, bool, float) if issubclass(cls, Dialect) else (type(None),)
        shape = _SHAPES[cls] = {
            name: None if isinstance(value, anything) else type(value) for name, value in values.items()
        }
    return shape


def _new(cls: type) -> Any:
    """A new object of that class, or an empty one if it needs something to begin with."""
    if issubclass(cls, Dialect):
        return cls(Writer(Limits()))
    try:
        return _MAKERS[cls]() if cls in _MAKERS else cls()
    except TypeError:
        return cls.__new__(cls)


_MAKERS: dict[type, Callable[[], Any]] = {
    Writer: lambda: Writer(Limits()),
    Payloads: lambda: Payloads(Writer(Limits())),
    Frames: lambda: Frames(Writer(Limits()), Payloads(Writer(Limits())), None),
    Table: lambda: Table(Limits()),
    PartBuilder: lambda: PartBuilder("text", []),
}


def _names_in_code(cls: type) -> set[str]:
    """The names that the methods of a class use: a field that is set late is one of them."""
    methods = [method for base in cls.__mro__ for method in vars(base).values() if hasattr(method, "__code__")]
    return {name for method in methods for name in method.__code__.co_names}
