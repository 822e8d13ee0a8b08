"""
Arguments that come as values with JSON paths (Gemini): their text, as it grows, and the calls that they belong to.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._arguments import json_text
from chunkfold.dialects._gemini_names import both, field
from chunkfold.dialects._words import is_blank

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame

__all__ = ["PathValues", "StreamedCalls"]

# RFC 9535: `.name`, `[0]`, `['name']`, `["name"]`.
_STEP = re.compile(r"""\.([^.\[\]]+)|\[(?:([0-9]{1,9})|'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)")\]""", re.DOTALL)
# No arguments that anybody meant are deeper.
_DEEPEST = 128
_PIECE = both("jsonPath", "stringValue", "numberValue", "boolValue", "nullValue", "willContinue")


class PathValues:
    """
    A call whose arguments come as values with JSON paths.

    Models write from front to back, so the text of the arguments grows with each value. Should a path go back, the text
    is put together from all values at the end.
    """

    __slots__ = ("_open", "_steps", "_values", "in_order", "is_readable", "slot")

    def __init__(self, slot: Slot) -> None:
        self.slot = slot
        self.in_order = True
        # False once a value could not be understood: then the arguments are not known.
        self.is_readable = True
        # The JSON text of each value in pieces; of a string without the closing quote.
        self._values: dict[tuple[str | int, ...], list[str]] = {}
        # The steps to the last value, and the containers on the way: whether it is an array, and what is in it.
        self._steps: tuple[str | int, ...] = ()
        self._open: list[tuple[bool, set[str | int]]] = [(False, set())]

    def add(self, steps: tuple[str | int, ...], literal: str, *, is_text: bool = False) -> str:
        """Take a value, or more of a string; the text that it adds to the arguments."""
        known = self._values.get(steps)
        begun = '"' + literal if is_text else literal
        if known is None:
            self._values[steps] = [begun]
            way = self._way_to(steps) if self.in_order else None
            self.in_order = way is not None
            return "" if way is None else way + begun
        if is_text and known[0][0] == '"':
            known.append(literal)
            self.in_order = self.in_order and steps == self._steps
            return literal if self.in_order else ""
        if known != [begun]:
            self._values[steps] = [begun]
            self.in_order = False
        return ""

    def closing(self) -> str:
        """What closes everything that is open."""
        return self._closed_to(0)

    def whole(self) -> str:
        """The text put together from all values; `""` if they contradict each other."""
        root: dict[str | int, Any] = {}
        for steps, pieces in self._values.items():
            node: Any = root
            for step in steps[:-1]:
                node = node.setdefault(step, {}) if isinstance(node, dict) else None
            if not isinstance(node, dict) or steps[-1] in node:
                return ""
            text = "".join(pieces)
            node[steps[-1]] = text + '"' if text[0] == '"' else text
        return _written(root)

    def _way_to(self, steps: tuple[str | int, ...]) -> str | None:
        """What closes and opens between the last value and the next; `None` if the path goes back or jumps."""
        shared = 0
        for last, step in zip(self._steps[:-1], steps[:-1], strict=False):
            if last != step:
                break
            shared += 1
        text = self._closed_to(shared + 1)
        del self._open[shared + 1 :]
        for place in range(shared, len(steps)):
            step = steps[place]
            is_array, seen = self._open[-1]
            if is_array != isinstance(step, int) or step in seen or (is_array and step != len(seen)):
                return None
            text += ("," if seen else "") + ("" if is_array else _json.encode(step) + ":")
            seen.add(step)
            if place + 1 < len(steps):
                is_array = isinstance(steps[place + 1], int)
                self._open.append((is_array, set()))
                text += "[" if is_array else "{"
        self._steps = steps
        return text

    def _closed_to(self, depth: int) -> str:
        """What closes the last value and the containers that are deeper than *depth*."""
        quote = '"' if self._steps and self._values[self._steps][0][0] == '"' else ""
        return quote + "".join("]" if is_array else "}" for is_array, _ in reversed(self._open[depth:]))


class StreamedCalls:
    """The calls whose arguments are streamed: one in each choice at a time."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._current: dict[int, PathValues] = {}
        # Those that another one has taken the place of, by choice and id: a piece may name them again.
        self._left: dict[tuple[int, str], PathValues] = {}
        self._takes_turns = False

    def current(self, choice: int) -> PathValues | None:
        """The call of the choice that goes on."""
        return self._current.get(choice)

    def begin(self, slot: Slot) -> PathValues:
        """A call begins."""
        call = self._current[slot.choice] = PathValues(slot)
        # Begun at once: a call cut here must not look like one without arguments.
        self._writer.delta(slot, "{")
        return call

    def leave(self, choice: int, id_: Any) -> None:
        """Another call begins: the one before is complete, unless both have ids, by which it may be gone on with."""
        call = self._current.get(choice)
        if call is not None and call.slot.id and isinstance(id_, str) and id_:
            self._left[choice, call.slot.id] = self._current.pop(choice)
        else:
            self.complete(choice)

    def take_up(self, choice: int, id_: Any) -> None:
        """A piece names a call that was left for another one."""
        if isinstance(id_, str) and (choice, id_) in self._left:
            self._takes_turns = True
            call = self._left.pop((choice, id_))
            self.leave(choice, id_)
            self._current[choice] = call

    def take(self, call: PathValues, piece: Any, frame: Frame, *path: str | int) -> str:
        """The argument text that a value with its JSON path adds."""
        steps = _steps_of(field(piece, "jsonPath")) if isinstance(piece, dict) else None
        if steps:
            rest = {key: value for key, value in piece.items() if key not in _PIECE and not is_blank(value)}
            said = _said(call, steps, piece, rest, frame, path)
            if said is not None:
                self._writer.update(call.slot, extra=rest)
                return said
        call.is_readable = False
        fields = piece if isinstance(piece, dict) else {"value": piece}
        w = self._writer
        w.stop(w.start(call.slot.choice, "unknown", name="partialArgs", extra=fields))
        return ""

    def complete(self, choice: int) -> None:
        """The call of the choice, if one goes on, is complete."""
        call = self._current.pop(choice, None)
        if call is not None:
            self._put_together(call)

    def close(self, has_stopped: Callable[[int], bool]) -> None:
        """
        The input has ended. A call that the server has left open is complete where the choice has stopped as it should;
        else its text stays as it came. One that another followed is so at any reason, unless calls take turns; without
        a reason it may be that they would have.
        """
        for (choice, _), call in self._left.items():
            was_told = not self._takes_turns and self._writer.table.choice(choice).finish is not None
            if was_told or has_stopped(choice):
                self._put_together(call)
        for choice in list(self._current):
            if has_stopped(choice):
                self.complete(choice)

    def _put_together(self, call: PathValues) -> None:
        """Close what is open in the text of a call."""
        w, slot, choice = self._writer, call.slot, call.slot.choice
        whole = "" if call.in_order else call.whole()
        if not call.is_readable or not (call.in_order or whole):
            w.diagnose("bad_json_path", "the arguments cannot be put together from their paths", choice, slot.index)
        elif call.in_order:
            w.delta(slot, call.closing())
        else:
            w.restate_call(slot, whole)
        w.stop(slot)


def _steps_of(path: Any) -> tuple[str | int, ...] | None:
    """The steps of a JSON path; `None` if it is none that leads to one value."""
    if not isinstance(path, str) or not path.startswith("$"):
        return None
    steps: list[str | int] = []
    at = 1
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or len(steps) == _DEEPEST:
            return None
        name, number, single, double = match.groups()
        steps.append(int(number) if number else name or _unescaped(single, double))
        at = match.end()
    return tuple(steps)


def _said(
    call: PathValues,
    steps: tuple[str | int, ...],
    piece: dict[str, Any],
    rest: dict[str, Any],
    frame: Frame,
    path: tuple[str | int, ...],
) -> str | None:
    """What the one value of *piece* adds at *steps*; `None` if it has none, or fields beside it that say something."""
    text, number, flag = (field(piece, name) for name in ("stringValue", "numberValue", "boolValue"))
    if isinstance(text, str) and (text or (is_blank(number) and is_blank(flag) and not rest)):
        return call.add(steps, _json.encode(text)[1:-1], is_text=True)
    if type(number) in (int, float):
        return call.add(steps, json_text(number, frame, *path, "numberValue"))
    if isinstance(flag, bool):
        return call.add(steps, "true" if flag else "false")
    if not rest and ("nullValue" in piece or piece.get("null_value") is not None):
        return call.add(steps, "null")
    return "" if not rest and is_blank(text) and is_blank(number) and is_blank(flag) else None


def _unescaped(single: str | None, double: str) -> str:
    """A quoted name of a JSON path."""
    if single is not None:
        double = single.replace("\\'", "'").replace('"', '\\"')
    try:
        return str(_json.decode(f'"{double}"'.encode("utf-8", "surrogatepass"))[0])
    except ValueError:
        return double


def _written(node: Any) -> str:
    """JSON text of nested values; `""` if an object has numbers for names or an array has gaps."""
    if isinstance(node, str):
        return node
    if not any(isinstance(step, str) for step in node):
        items = [_written(node[place]) if place in node else "" for place in range(len(node))]
        return "[" + ",".join(items) + "]" if all(items) else ""
    if any(isinstance(step, int) for step in node):
        return ""
    items = [_json.encode(name) + ":" + text if (text := _written(value)) else "" for name, value in node.items()]
    return "{" + ",".join(items) + "}" if all(items) else ""
