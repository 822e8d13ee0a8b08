"""
The parts of messages and of reasoning in OpenAI Responses: each is opened once, and told whole up to three times, by an
event of its own, by its item and by the closing response.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from chunkfold.dialects._responses_kinds import PART, PARTS, part_of, part_row
from chunkfold.dialects._responses_snapshots import Piece, news, next_told
from chunkfold.dialects._words import has_repeats, word
from chunkfold.parts import UnknownPart

if TYPE_CHECKING:
    from chunkfold.dialects._responses_kinds import Item
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.parts import Kind

__all__ = ["ItemParts"]


class ItemParts:
    """The parts that came, by their indexes in the message, and what tells them."""

    __slots__ = ("_w", "all")

    def __init__(self, writer: Writer) -> None:
        self._w = writer
        self.all: dict[int, Piece] = {}

    def new(self, slot: Slot) -> Piece:
        """Take a part that was started."""
        piece = self.all[slot.index] = Piece(slot)
        return piece

    def take_list(self, item: Item, listed: Any, default: str, *, both: bool = False) -> None:
        """
        The parts of an item whole. Reasoning has two lists; where it has not *both*, one may tell what came in the
        other.
        """
        came: dict[Kind, list[Piece]] = {}
        for kind, piece in item.lists.get(PARTS[default][0], ()):
            came.setdefault(kind, []).append(piece)
        parts = listed if isinstance(listed, list) else [listed] if listed else []
        left = Counter(part_row(part if isinstance(part, dict) else {}, default)[1] for part in parts)
        for place, given in enumerate(parts):
            if not isinstance(given, (dict, str)):
                self._w.extra(("output", item.place, PARTS[default][0], place), given)
                continue
            part = part_of(given, default)
            family, kind, field = part_row(part, default)
            found = next_told(came.get(kind, []), part.get(field), left[kind])
            left[kind] -= 1
            if found is not None:
                piece, text = found
                part = part if text == part.get(field) else {**part, field: text}
            elif kind == "reasoning" and not both and item.tells(family, part.get(field)):
                continue
            else:
                # Where the count began at 1, another part has that index.
                place = -1 - place if (family, kind, place) in item.pieces else place
                piece = self.at(item, family, kind, place)
            self.take(item, part, default, piece)

    def take(self, item: Item, part: dict[str, Any], default: str, piece: Piece) -> None:
        """A part whole, or as it is at its start."""
        family, kind, field = part_row(part, default)
        if kind != "unknown":
            piece.state(self._w, part.get(field))
            piece.cite(self._w, part.get("annotations"))
            piece.logprobs(self._w, part.get("logprobs"), whole=True)
            self.keep(item, family, piece, part)
        elif part != piece.fields:
            piece.fields = part
            self._w.extra(("output", item.place, family, piece.place, "type"), part.get("type"))
            self._w.replace(piece.slot, UnknownPart(f"{family}.{word(part.get('type'), default=default)}", part))

    def keep(self, item: Item, family: str, piece: Piece, part: dict[str, Any]) -> None:
        """Further fields of a part. The part that its item is has the item's, and a refusal cannot have any."""
        fields, cited = news(piece.fields, part, PART, whole=True), part.get("annotations")
        if isinstance(cited, list) and has_repeats(cited):
            fields["annotations"] = cited  # a part has each once
        if part.get("type") == "text" or (part.get("type") == "output_text" and piece.slot.kind == "reasoning"):
            fields["type"] = part["type"]  # as chat calls it; as LiteLLM does
        for key, value in fields.items():
            self._w.extra(("output", item.place, family, piece.place, key), value)

    def meant(
        self, item: Item, key: tuple[str, Kind, int], told: dict[str, Any], field: str, *, begins: bool = False
    ) -> tuple[Piece, dict[str, Any]]:
        """
        The part that an event is about, and what it *told* of it, with a whole text in its *field* that is its own.

        vLLM of 2025 gives each event about a text the next index: where none *begins* under it, what is open is meant.
        Others announce no part at all: the text of all parts that came is then no further one.
        """
        family, kind, _ = key
        if begins or key in item.pieces or family != "content":
            piece = self.at(item, *key)
            piece.begun |= begins
            return piece, told
        begun = item.open_part(family, kind)
        of_all = item.rest_told(family, kind, told.get(field)) if begun is None else None
        if begun is not None or of_all is not None:
            self._w.singular = True  # a later event with that index may be about another part
        if begun is not None:
            return begun, told
        if of_all is not None:
            return of_all[0], {**told, field: of_all[1]}
        return self.at(item, *key), told

    def at(self, item: Item, family: str, kind: Kind, place: int) -> Piece:
        """The part at that place, opened if there is none. The first part of reasoning is there with the item."""
        key = (family, kind, place)
        piece = item.pieces.get(key)
        if piece is not None:
            return piece
        extra: dict[str, Any] = {"summary": True} if family == "summary" else {}
        if item.kind == "reasoning" and not item.lists:
            piece = item.first
            self._w.update(piece.slot, extra=extra)
        else:
            extra["output_index"] = item.place
            leads = kind == "text" and item.first is None
            facts: dict[str, Any] = {"number": place, "id": item.id if kind == "text" else None}
            start = {**extra, **item.fields} if leads else extra
            piece = self.new(self._w.start(0, kind, key=(item.number, *key), extra=start, **facts))
            if leads:
                item.first = piece
            elif kind == "refusal":
                self._w.extra(("output", item.place, "content", len(item.lists.get(family, ())), "type"), "refusal")
        item.add(key, piece)
        return piece
