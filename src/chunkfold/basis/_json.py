"""
JSON in and out: strict and fast first, lenient where a provider sends what `msgspec` refuses.

Two readers with different aims. `decode` reads what a *server* sends and takes whatever can be
understood. `parse_arguments` reads what a *model* wrote and is strict, because a call built on a
guess would be run.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

if TYPE_CHECKING:
    import json
    from collections.abc import Callable, Iterator

__all__ = [
    "BROKEN", "ENDED", "GLUED", "NotJSON", "TooDeep", "decode", "encode", "encode_exactly", "exact_at", "identity",
    "is_deeper", "is_deeper_value", "is_object", "parse_arguments", "raw_at", "raw_items_at", "verbatim",
]  # fmt: skip

_fast: Callable[[bytes | str], Any] = msgspec.json.Decoder().decode
_encode: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number").encode
_encode_in_order: Callable[[Any], bytes] = msgspec.json.Encoder(decimal_format="number", order="deterministic").encode
_children: Callable[[bytes | memoryview], dict[str, msgspec.Raw]] = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_items: Callable[[bytes | memoryview], list[msgspec.Raw]] = msgspec.json.Decoder(list[msgspec.Raw]).decode
# The objects and lists of a document whose members were asked for: the members under `None`, and what was opened of
# them by their keys or places.
Opened: TypeAlias = dict[Any, Any]

_NOT_ENCODED = (TypeError, ValueError, msgspec.ValidationError, OverflowError, RecursionError)
# Each text that is looked for in a document costs reading the document again. Of many in a long one only the first are.
_READ_AGAIN = 8 << 20

BROKEN = frozenset({"broken_objects", "broken_end"})
"""What `decode` had to forgive where several things stand in the place of one, and not all of it could be read."""

GLUED = frozenset({"glued_objects", "glued_end"}) | BROKEN
"""The same, whether or not all of it could be read."""

ENDED = frozenset({"glued_end", "broken_end"})
"""Those of them where the end mark stands behind what there is."""

_BLANK = r"(?:\s|\\[nr])*"  # the ends of lines also as their escapes
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in b'"{}[]')
# Small enough to hold fewer brackets than may be nested, mostly.
_BLOCK = 8 << 10


class NotJSON(ValueError):
    """The text is not JSON, leniently read. `args[0]` says where it stops to be."""


class TooDeep(ValueError):
    """Arrays and objects nest deeper than allowed. `args[0]` is a lower bound of the depth."""

    def __str__(self) -> str:
        return f"it nests {self.args[0]} deep" if self.args and self.args[0] else "it nests too deep"


def is_deeper(data: bytes | bytearray, than: int) -> bool:
    """True if JSON text nests deeper. Brackets in strings do not count."""
    if data.count(b"{") + data.count(b"[") <= than:
        return False
    depth = 0
    for brackets in _brackets(data):
        opening = brackets.count(b"{") + brackets.count(b"[")
        if depth + opening > than and depth + _rise(brackets) > than:
            return True
        depth += 2 * opening - len(brackets)
    return False


def is_deeper_value(value: Any, than: int) -> bool:
    """The same of what was read already. As text it is measured fastest; what is no JSON is walked through."""
    try:
        text = _encode(value)
    except _NOT_ENCODED:
        return _is_deeper_walked(value, than)
    return len(text) > 2 * than and is_deeper(text, than)


def _is_deeper_walked(value: Any, than: int) -> bool:
    level = [value]
    for _ in range(than + 1):
        held = [item for item in level if isinstance(item, (Mapping, list, tuple))]
        if not held:
            return False
        inner = [one for item in held for one in (item.values() if isinstance(item, Mapping) else item)]
        level = list({id(one): one for one in inner}.values())  # what stands in several places is as deep in one
    return True


def _rise(brackets: bytes) -> int:
    """How much deeper it gets at most."""
    return max(accumulate([1 if byte in b"[{" else -1 for byte in brackets]), default=0)


def _brackets(data: bytes | bytearray) -> Iterator[bytes]:
    """The brackets of JSON text that stand outside of strings, in blocks: a few searches in C instead of a scanner."""
    position, size, is_inside = 0, len(data), False
    while position < size:
        end = position + _BLOCK
        while data[end - 1 : end] == b"\\":
            end += 1  # what it escapes belongs to it
        block = data[position:end]
        if b"\\" in block:
            block = block.replace(b"\\\\", b"").replace(b'\\"', b"")
        runs = block.translate(None, _NO_BRACKETS).split(b'"')
        yield b"".join(runs[is_inside::2])
        is_inside ^= len(runs) % 2 == 0
        position = end


def decode(data: bytes, depth: int | None = 512) -> tuple[Any, str | None]:
    """
    Read one JSON value as leniently as is safe.

    Returns:
        The value, and what had to be forgiven: `None`, `"invalid_utf8"`, `"trailing_garbage"`, `"lenient_json"`,
        or one of `GLUED`, which gives a list if there are several objects.

    Raises:
        TooDeep: If it nests deeper than *depth*.
        NotJSON: If nothing could be made of it.
    """
    # A text of n bytes cannot close more than n / 2 brackets, so most frames skip the count.
    if depth is not None and len(data) > 2 * depth and is_deeper(data, depth):
        raise TooDeep(depth + 1)
    try:
        return _fast(data), None
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _decode_lenient(data)
    except RecursionError:
        raise TooDeep(_depth(data)) from None


def _where(error: json.JSONDecodeError) -> str:
    return f"{error.msg.removesuffix(' at')} at character {error.pos}"


def _depth(data: bytes) -> int:
    return _rise(b"".join(_brackets(data)))


def _decode_lenient(data: bytes) -> tuple[Any, str | None]:
    import json
    import re

    from chunkfold.basis._json_numbers import integer

    forgiven = "lenient_json"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text, forgiven = data.decode(errors="replace"), "invalid_utf8"
    reader = json.JSONDecoder(
        strict=False, parse_float=_float_exact, parse_int=integer, parse_constant=_constant_as_text
    )
    text = text.strip(" \t\r\n")
    found: list[Any] = []
    end = 0
    try:
        value, end = reader.raw_decode(text)
        if end == len(text):
            return value, forgiven
        if not isinstance(value, dict):
            return value, "trailing_garbage"
        found.append(value)
    except json.JSONDecodeError as error:
        problem = NotJSON(_where(error))
        if not text.startswith("{"):
            raise problem from None
    except RecursionError:
        raise TooDeep(_depth(data)) from None
    others, rest, is_broken = _glued(reader, text, end)
    found += others
    if not found:
        raise problem
    how = "broken" if is_broken else "glued"
    if re.fullmatch(r"(?:\\[nr])*\s*(?:data:\s*)?\[DONE\](?:\\[nr])*", rest):
        forgiven = f"{how}_end"
    else:
        forgiven = f"{how}_objects" if others else "trailing_garbage"
    return found if others and len(found) > 1 else found[0], forgiven


def _glued(reader: json.JSONDecoder, text: str, at: int) -> tuple[list[dict[str, Any]], str, bool]:
    """
    The objects that stand one behind the other from *at* on, where a proxy has lost the ends of lines, or a server has
    written them as their escapes; what stands behind them; and whether something was left off before one of them.
    """
    import json
    import re

    values: list[dict[str, Any]] = []
    rest, is_left_off, is_broken = "", False, False
    start = re.compile(_BLANK + r"(?:data:\s*)?(?=\{)")
    # No text of JSON has this in it, where the quote would be escaped; so each piece is read for itself, since what
    # cannot be read costs as much as all that stands before it.
    for piece in re.split(r'data:\s*(?=\{\s*")', text[at:]):
        end = 0
        while (gap := start.match(piece, end)) is not None:
            try:
                value, end = reader.raw_decode(piece, gap.end())
            except (json.JSONDecodeError, RecursionError):
                break
            is_broken = is_broken or is_left_off
            if value:
                values.append(value)
        rest = piece[end:].strip()
        is_left_off = is_left_off or re.fullmatch(_BLANK, rest) is None
    return values, rest, is_broken


def _float_exact(text: str) -> Any:
    """
    A float, or a Decimal where a float would become infinity: `1e400` is a number that somebody sent. An exponent of
    twenty digits is too much for that as well, and the text is kept.
    """
    value = float(text)
    if value in (float("inf"), float("-inf")):
        from decimal import Decimal, InvalidOperation

        try:
            return Decimal(text)
        except InvalidOperation:
            return text
    return value


def _constant_as_text(name: str) -> str:
    """`NaN` and the infinities are not JSON and cannot be written as JSON; their word is kept."""
    return name


def _refuse_constant(name: str) -> Any:
    raise NotJSON(f"{name} is not JSON")


class _AnyObject(msgspec.Struct):
    """Takes any object and keeps none of it."""


_skip_object = msgspec.json.Decoder(_AnyObject).decode


def is_object(text: str, depth: int | None = 512) -> bool:
    """True if *text* is one JSON object, by the rules of `parse_arguments`, without building it where that can be."""
    try:
        # Not left to the decoder: a text keeps the bytes that are once made of it.
        data = _encoded(text)
        if depth is None or len(data) <= 2 * depth or not is_deeper(data, depth):
            _skip_object(data)
            return True
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass  # halves of surrogate pairs, say: msgspec is stricter than JSON there
    try:
        return isinstance(parse_arguments(text, depth), dict)
    except ValueError:
        return False


def _encoded(text: str) -> bytes | bytearray:
    """The bytes of *text*, block by block: at first CPython takes three bytes a character for what is not ASCII."""
    if text.isascii() or len(text) < _BLOCK:
        return text.encode()
    data = bytearray()
    for position in range(0, len(text), _BLOCK):
        data += text[position : position + _BLOCK].encode()
    return data


def parse_arguments(text: str, depth: int | None = 512) -> Any:
    """
    Parse the argument text of a tool call: strict JSON, any length of integer, the last of equal keys.

    Raises:
        TooDeep: If it nests deeper than *depth*.
        NotJSON: If it is not one JSON value.
    """
    if depth is not None and len(text) > 2 * depth:
        raw = text.encode("utf-8", "surrogatepass")
        if is_deeper(raw, depth):
            raise TooDeep(depth + 1)
    try:
        return _fast(text)
    except (msgspec.DecodeError, UnicodeError):
        pass
    except RecursionError:
        raise TooDeep(depth or 0) from None
    import json

    from chunkfold.basis._json_numbers import integer

    try:
        return json.loads(text, parse_int=integer, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise NotJSON(_where(error)) from None
    except RecursionError:
        raise TooDeep(depth or 0) from None


def encode(value: Any) -> str:
    """JSON text of *value* on one line. What JSON has no word for is written as its `str()`."""
    try:
        return _encode(value).decode()
    except _NOT_ENCODED:
        return "".join(_written(value))


def identity(value: Any) -> str:
    """By which a value is known again: JSON text that is the same in whatever order its keys came."""
    try:
        return _encode_in_order(value).decode()
    except _NOT_ENCODED:
        return "".join(_written(value, in_order=True))


def encode_exactly(value: Any) -> str:
    """As `encode`, but what is no number keeps its word (`NaN`), so that nobody takes it for a `null`."""
    text = encode(value)
    return text if "null" not in text or _is_finite(value) else "".join(_written(value, _word))


def _is_finite(value: Any) -> bool:
    """True if there is no infinity in *value*, and nothing that is no number."""
    left: list[Any] = [value]
    while left:
        item = left.pop()
        if isinstance(item, float) and item - item != 0:
            return False
        if isinstance(item, Mapping):
            left += item.values()
        elif isinstance(item, (list, tuple)):
            left += item
    return True


class _Token(str):
    """JSON text between values."""

    __slots__ = ()


def _written(value: Any, scalar: Callable[[Any], str] | None = None, *, in_order: bool = False) -> Iterator[str]:
    """
    JSON text in pieces, for what `msgspec` refuses: halves of surrogate pairs, integers of thousands of digits, any
    depth, objects of all kinds.
    """
    left: list[Any] = [value]
    while left:
        item = left.pop()
        if isinstance(item, _Token):
            yield item
        elif isinstance(item, Mapping):
            left.append(_Token("}"))
            members = sorted(item.items(), key=_name) if in_order else list(item.items())
            for place, (key, inner) in enumerate(reversed(members)):
                left += (inner, _Token(f"{_scalar(str(key))}:" if place == len(item) - 1 else f",{_scalar(str(key))}:"))
            yield "{"
        elif isinstance(item, (list, tuple)):
            left.append(_Token("]"))
            for place, inner in enumerate(reversed(item)):
                left += (inner,) if place == len(item) - 1 else (inner, _Token(","))
            yield "["
        elif isinstance(item, msgspec.Struct):
            left.append(msgspec.structs.asdict(item))
        else:
            yield (scalar or _scalar)(item)


def _name(member: tuple[Any, Any]) -> str:
    return str(member[0])


def _word(value: Any) -> str:
    """A scalar as Python and JavaScript write it, which for what is no number is no JSON."""
    import json

    return json.dumps(value) if isinstance(value, float) else _scalar(value)


def _scalar(value: Any) -> str:
    import json
    from decimal import Decimal

    if isinstance(value, msgspec.Raw):
        return bytes(value).decode()
    if isinstance(value, (bytes, bytearray)):
        import base64

        return f'"{base64.b64encode(value).decode()}"'
    if isinstance(value, int) and not isinstance(value, bool):
        return format(Decimal(value), "f")  # str() refuses more than 4,300 digits
    if isinstance(value, Decimal) and value.is_finite():
        return str(value)
    if isinstance(value, float) and value - value != 0:
        return "null"  # as msgspec writes what is no number
    return json.dumps(value if isinstance(value, (bool, float, type(None))) else str(value))


def raw_at(data: bytes, *path: str | int) -> str | None:
    """
    The exact JSON text at *path* of a JSON document, or `None` if there is none.

    For arguments that a server sends as an object: decoding and encoding again would turn `1.10` into `1.1`.
    """
    try:
        return str(_inner(data, path, {}), "utf-8")
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, IndexError, RecursionError):
        return None


def exact_at(data: bytes, *path: str | int, opened: Opened | None = None) -> str | None:
    """
    As `raw_at`, also of documents that are only leniently read: for half of a character, say, or a `NaN`, which need
    not be in the text that is asked for.

    `None` also if it has bare control characters and nothing else is wrong: they can be written as they should be.
    *opened* is what was opened of the document before: who asks for many places hands the same one over each time.
    """
    try:
        return str(_inner(data, path, {} if opened is None else opened), "utf-8")
    except (KeyError, IndexError, TypeError, RecursionError):
        return None
    except (msgspec.DecodeError, UnicodeDecodeError):
        if len(data) * prod([step + 1 for step in path if isinstance(step, int)]) > _READ_AGAIN:
            return None
        text = data.decode(errors="replace")
    try:
        at = _first(text, 0)
        if text[_end_of(text, at) :].strip(" \t\r\n"):
            return None  # several documents: nobody says which one is meant
        for step in path:
            at = _place_of(step, text, at)
        found = text[at : _end_of(text, at)]
    except (ValueError, LookupError, RecursionError):
        return None
    return None if _is_bare(found) else found


def _end_of(text: str, at: int) -> int:
    """Where the value ends that begins at *at*. Numbers are not made: they may be of any length."""
    import json

    return json.JSONDecoder(strict=False, parse_int=str, parse_float=str).raw_decode(text, at)[1]


def _place_of(step: str | int, text: str, at: int) -> int:
    """Where the value at *step* begins, of the object or array that begins at *at*. Of equal keys the last counts."""
    import json

    if text[at] != ("{" if isinstance(step, str) else "["):
        raise LookupError(step)
    found, number, at = -1, 0, _first(text, at + 1)
    while text[at] not in "}]":
        key: Any = number
        if isinstance(step, str):
            key, at = json.JSONDecoder(strict=False).raw_decode(text, at)
            at = _first(text, _first(text, at) + 1)
        if key == step:
            found = at
        at = _first(text, _end_of(text, at))
        if text[at] == ",":
            at = _first(text, at + 1)
        number += 1
    if found < 0:
        raise LookupError(step)
    return found


def _first(text: str, at: int) -> int:
    """The place of the first character from *at* on that is not blank."""
    while text[at] in " \t\r\n":
        at += 1
    return at


def _is_bare(text: str) -> bool:
    """True if JSON text has control characters in strings that should have been escaped, and nothing else is wrong."""
    import json

    try:
        parse_arguments(text, None)
    except ValueError:
        try:
            json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_int=str).decode(text)
        except ValueError:
            return False
        return True
    return False


def raw_items_at(data: bytes, *path: str | int) -> list[msgspec.Raw]:
    """The exact JSON text of each item of the list at *path* of a JSON document; none if there is no list."""
    try:
        return _items(_inner(data, path, {}))
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError, IndexError, RecursionError):
        return []


def _inner(data: bytes | memoryview, path: tuple[str | int, ...], opened: Opened) -> bytes | memoryview:
    """The JSON text at *path*, in place. A list with many calls in it is read once, not once for each of them."""
    for step in path:
        members: Any = opened.get(None)
        if members is None:
            members = opened[None] = _items(data) if isinstance(step, int) else _children(data)
        data = memoryview(members[step])
        inside = opened.get(step)
        opened = opened.setdefault(step, {}) if inside is None else inside
    return data


def verbatim(text: str) -> msgspec.Raw:
    """JSON text to be written as it stands, so that no digit and no equal key is lost. Only for text that parses."""
    # A raw line end cannot stand inside a JSON string, so those that are there are white space.
    return msgspec.Raw((text.strip() or "{}").replace("\n", " ").replace("\r", " ").encode("utf-8", "backslashreplace"))
