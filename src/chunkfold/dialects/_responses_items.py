"""
The output items of OpenAI Responses by all that servers name them by: index and type, item id, call id.

The index goes first, since GitHub Copilot draws item ids anew. Where it is missing, or the same for all, the id
decides, and where there is none, the `call_id`: what belongs to one call must never get to another.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any
from zlib import crc32

from chunkfold.basis import _json
from chunkfold.dialects._responses_kinds import CALLS
from chunkfold.dialects._responses_snapshots import AHEAD, rest_of
from chunkfold.dialects._words import whole_number, word

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chunkfold.dialects._responses_kinds import Item

__all__ = ["Items", "Listing", "checksum", "index_of", "kind_of", "text_of"]


class Items:
    """The items that came, and the ways to find one."""

    __slots__ = ("_called", "_end", "_ids", "_last", "_numbers", "_placed", "all", "index_reused", "last_call")

    def __init__(self) -> None:
        self.all: list[Item] = []
        # The item that was opened last at an index with a type, under an id, of a type, of a type under a call id.
        self._placed: dict[tuple[int | None, str], Item] = {}
        self._ids: dict[str, Item] = {}
        self._last: dict[str, Item] = {}
        self._called: dict[tuple[str, str], Item] = {}
        # The numbers that fields of items are kept under, and the next one after them.
        self._numbers: set[int] = set()
        self._end = 0
        self.last_call: Item | None = None
        # Servers that give all items one index tell them apart by their ids.
        self.index_reused = False

    def add(self, item: Item, index: int | None, given: Mapping[str, Any]) -> None:
        """Take a new item."""
        self.all.append(item)
        self._last[item.kind] = self._placed[index, item.kind] = item
        self._called.pop((item.kind, text_of(given, "call_id") or ""), None)
        self.name(item, given)

    def number(self, number: int) -> int:
        """A number to keep the fields of a new item under: that one, unless another item has it."""
        number = self._end if number in self._numbers else number
        self._numbers.add(number)
        self._end = max(self._end, number + 1)
        return number

    def name(self, item: Item, given: Mapping[str, Any]) -> None:
        """Keep the ids by which later events may name the item."""
        id_, call_id = text_of(given, "id"), text_of(given, "call_id")
        if item.kind == "reasoning" and not item.is_told:
            item.id = id_ or item.id  # OGX tells its text under the id of the message
        item.id, item.call_id = item.id or id_, item.call_id or call_id
        if id_:
            self._ids[id_] = item
        if call_id:
            self._called.setdefault((item.kind, call_id), item)

    def placed(self, index: int | None, kind: str) -> Item | None:
        """The item of that type that was opened last at that index."""
        return None if index is None else self._placed.get((index, kind))

    def named(self, kind: str, id_: str | None, call_id: str | None) -> Item | None:
        """The item of that type with that id, else with that call id, which some servers put in the id's place."""
        found = self._ids.get(id_ or "")
        if found is not None and found.kind == kind:
            return found
        return self.called(kind, id_) or self.called(kind, call_id)

    def called(self, kind: str, call_id: str | None) -> Item | None:
        """The item of that type that was opened last with that call id."""
        return self._called.get((kind, call_id or ""))

    def last(self, kind: str, call_id: str | None) -> Item | None:
        """The item of that type that was opened last, unless its call id is another one."""
        found = self._last.get(kind)
        return found if found is None or self._may_be_called(found, call_id) else None

    def thought(self, id_: str | None) -> Item | None:
        """The item of reasoning with that id, once it has been told. LocalAI tells its text as that of a message."""
        found = self._ids.get(id_ or "")
        return found if found is not None and found.kind == "reasoning" and found.is_told else None

    def call(self, id_: str | None) -> Item | None:
        """The call of any type with that id."""
        found = self._ids.get(id_ or "")
        return found if found is not None and found.kind in CALLS else None

    def turning(self, id_: str | None, kind: str) -> Item | None:
        """
        The function call with that id that is not over, and of which all text is kept, if *kind* is a call that the
        server runs: it is that one.
        """
        found = self._ids.get(id_ or "")
        if found is None or found.kind != "function_call" or found.done or kind not in CALLS or not CALLS[kind][1]:
            return None
        return found if found.first.text is not None else None

    def turn(self, item: Item, index: int | None, kind: str) -> None:
        """That item is of another type than was told before."""
        if self._placed.get((item.place, item.kind)) is item:
            del self._placed[item.place, item.kind]
        if self._last.get(item.kind) is item:
            del self._last[item.kind]
        self._called.pop((item.kind, item.call_id or ""), None)
        item.kind, item.call_id = kind, None
        self._last[kind] = self._placed[index, kind] = item

    def begun(self, kind: str) -> Item | None:
        """The last call of that type if only events that name none told of it: OGX says first that it lists tools."""
        item = self._last.get(kind)
        if item is None or kind not in CALLS or item.is_told or item.id or item.call_id:
            return None
        return None if item.first.has_text else item

    def last_saying(self, given: Mapping[str, Any]) -> Item | None:
        """The last item of that type if it is not over and says the same. SGLang and TensorRT-LLM end one late."""
        item = self._last.get(kind_of(given))
        return item if item is not None and not item.done and _say([item], _said_in(given)) else None

    def may_be(self, item: Item, given: Mapping[str, Any]) -> bool:
        """False if the ids of *given*, or another name, say that it is another item than *item*."""
        id_ = text_of(given, "id")
        same_id = not item.id or not id_ or self._ids.get(id_) is item
        return same_id and _has_its_name(item, given) and self._may_be_called(item, text_of(given, "call_id"))

    @staticmethod
    def is_another(item: Item, given: Mapping[str, Any]) -> bool:
        """True if what begins is not that item, since it is over and neither has a name."""
        return item.done and not (item.id or item.call_id or text_of(given, "id") or text_of(given, "call_id"))

    def _may_be_called(self, item: Item, call_id: str | None) -> bool:
        if not call_id or not item.call_id or call_id == item.call_id:
            return True
        return self._called.get((item.kind, call_id)) is item

    def is_repeat(self, item: Item, given: Mapping[str, Any], index: int | None) -> bool:
        """True if an item that was done already is told again. One that nothing names must say the same."""
        if index is None and not (text_of(given, "id") or text_of(given, "call_id")):
            return item.told == checksum(given)
        return self.may_be(item, given)


class Listing:
    """The list of items in a closing response: those that came before are confirmed."""

    def __init__(self, items: Items, listed: list[dict[str, Any]]) -> None:
        self._items = items
        self._listed = listed
        self._taken: set[int] = set()
        # Looked at only where ids do not tell: the calls that are listed, the types of which fewer are listed than
        # came, those of which there is but one then, and by type the items that are not listed by their call id.
        self._calls: set[tuple[str, str | None]] | None = None
        self._fewer: set[str] = set()
        self._alone: set[str] = set()
        self._waiting: dict[str, list[Item]] = {}

    def find(self, place: int, given: Mapping[str, Any]) -> Item | None:
        """
        The item that *given* at that place is: by id or call id, by place, else the first one of its type. Ids differ
        where a server draws them anew (vLLM call ids too), places where it leaves items out; then one that says the
        same goes first.
        """
        kind, id_, call_id = kind_of(given), text_of(given, "id"), text_of(given, "call_id")
        placed = self._items.placed(place, kind)
        has_id = placed is not None and id_ is not None and placed.id == id_
        named, called = self._items.named(kind, id_, None), self._items.called(kind, call_id)
        for item in (placed if has_id else None, named, called):
            if item is not None and self._is(item, given, call_id):
                return item
        return self._find_doubtful(kind, given, named, placed)

    def own(self, given: dict[str, Any]) -> dict[str, Any]:
        """
        A listed item without the texts of its parts, if it is the only one of its type and has the text of all that
        came in a list: gateways put several messages into one for the closing response. Citations are news only if none
        came.
        """
        self._look()
        kind = kind_of(given)
        came = [item for item in self._items.all if item.kind == kind] if kind in self._alone else []
        known = [family for family, text in _said_in(given).items() if _say(came, {family: text})]
        told: dict[str, Any] = {"text": "", "refusal": ""}
        if any(piece.is_cited for item in came for piece in item.parts()):
            told["annotations"] = []
        return {**given, **{family: _without_texts(given[family], told) for family in known}}

    def _is(self, item: Item, given: Mapping[str, Any], call_id: str | None) -> bool:
        """True if nothing that *given* says tells it from that item. Where both ids agree, the name may be another."""
        if item.number in self._taken or item.call_id not in (None, call_id):
            return False
        is_certain = item.call_id is not None and item.id is not None and item.id == given.get("id")
        return is_certain or _has_its_name(item, given)

    def _find_doubtful(self, kind: str, given: Mapping[str, Any], *found: Item | None) -> Item | None:
        """The item that it may be, although its ids are others."""
        listed = self._look()
        alike = self._alike(kind, given) if kind in self._fewer or self._items.index_reused else None
        for item in (alike, *found, self._next(kind)):
            if item is None or item.number in self._taken or not _has_its_name(item, given):
                continue
            is_elsewhere = item.call_id is not None and (kind, item.call_id) in listed
            if not is_elsewhere or item.call_id == text_of(given, "call_id"):
                return item
        return None

    def _look(self) -> set[tuple[str, str | None]]:
        """The calls that are listed. What else is needed where ids do not tell is gathered with them."""
        if self._calls is None:
            self._calls = {(kind_of(given), text_of(given, "call_id")) for given in self._listed}
            listed, came = Counter(map(kind_of, self._listed)), Counter(item.kind for item in self._items.all)
            self._fewer = {kind for kind in came if listed[kind] < came[kind]}
            self._alone = {kind for kind in self._fewer if listed[kind] == 1}
            for item in reversed(self._items.all):
                is_listed = item.call_id is not None and (item.kind, item.call_id) in self._calls
                if not is_listed or self._items.called(item.kind, item.call_id) is not item:
                    self._waiting.setdefault(item.kind, []).append(item)
        return self._calls

    def _alike(self, kind: str, given: Mapping[str, Any]) -> Item | None:
        """One of the next items of that type that says what *given* says."""
        said = _said_in(given)
        for item in islice(reversed(self._waiting.get(kind, [])), AHEAD):
            if item.number in self._taken or sum(map(len, item.lists.values())) > AHEAD:
                continue
            encrypted = given.get("encrypted_content")
            if (encrypted and item.fields.get("encrypted") == encrypted) or _say([item], said):
                return item
        return None

    def _next(self, kind: str) -> Item | None:
        waiting = self._waiting.get(kind, [])
        while waiting and waiting[-1].number in self._taken:
            waiting.pop()
        return waiting[-1] if waiting else None

    def take(self, item: Item) -> None:
        """No other one of the list is this item."""
        self._taken.add(item.number)


def _said_in(given: Mapping[str, Any]) -> dict[str, str]:
    """The text of each list of an item."""
    return {family: _text_in(given.get(family)) for family in ("content", "summary")}


def _say(items: list[Item], said: Mapping[str, str]) -> bool:
    """True if the parts of a list of *items* say what is said there."""
    for family, text in said.items():
        pieces = [piece for item in items for _, piece in item.lists.get(family, ())]
        rest = rest_of(pieces, text) if text and pieces else None
        if rest is not None and pieces[-1].says(rest):
            return True
    return False


def _without_texts(parts: list[Any], told: dict[str, Any]) -> list[Any]:
    """The parts with nothing in the fields that are *told*; no field is added."""
    return [
        {key: told.get(key, value) for key, value in part.items()} if isinstance(part, dict) else part for part in parts
    ]


def _text_in(parts: Any) -> str:
    dicts = [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    texts = [part.get("text") or part.get("refusal") for part in dicts]
    return "".join([text for text in texts if isinstance(text, str)])


def _has_its_name(item: Item, given: Mapping[str, Any]) -> bool:
    """False if *given* is a call of another tool than *item* is."""
    name = text_of(given, "name")
    return name is None or item.first is None or item.first.slot.name in (None, name)


def checksum(given: Mapping[str, Any]) -> int:
    """By which an item is known again that has no name."""
    return crc32(_json.identity(given).encode("utf-8", "surrogatepass"))


def index_of(payload: Mapping[str, Any], key: str) -> int | None:
    """An index, if there is one of a sensible size. llama.cpp sends none."""
    value = payload.get(key)
    number = value if type(value) is int else whole_number(value)
    return number if number is not None and abs(number) < 1 << 31 else None


def kind_of(given: Mapping[str, Any]) -> str:
    """The type of an item."""
    return word(given.get("type"), default="item")


def text_of(holder: Mapping[str, Any], key: str) -> str | None:
    """A text, if there is one with something in it."""
    value = holder.get(key)
    return value if isinstance(value, str) and value else None
