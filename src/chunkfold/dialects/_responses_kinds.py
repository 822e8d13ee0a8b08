"""The output items of OpenAI Responses: which are calls, results and lists of parts, and which field holds what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from chunkfold.dialects._responses_snapshots import Piece, rest_of
from chunkfold.dialects._words import word
from chunkfold.parts import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "AS_TEXT", "BY_ITEM_ID", "CALLS", "EVENT_FIELDS", "OPENINGS", "OWN", "PART", "PARTS", "RESULTS", "TYPES", "Item",
    "part_of", "part_row",
]  # fmt: skip

# Items that are calls: the tool's name if the item has none, whether the server runs it, the fields of its input.
CALLS: dict[str, tuple[str | None, bool, tuple[str, ...]]] = {
    "function_call": (None, False, ("arguments",)), "custom_tool_call": (None, False, ("input",)),
    "mcp_approval_request": (None, False, ("arguments",)), "computer_call": ("computer", False, ("action", "actions")),
    "local_shell_call": ("local_shell", False, ("action",)), "shell_call": ("shell", False, ("action",)),
    "apply_patch_call": ("apply_patch", False, ("operation",)), "mcp_call": (None, True, ("arguments",)),
    "tool_search_call": ("tool_search", True, ("arguments",)), "mcp_list_tools": ("mcp_list_tools", True, ()),
    "web_search_call": ("web_search", True, ("action",)), "file_search_call": ("file_search", True, ("queries",)),
    "code_interpreter_call": ("code_interpreter", True, ("code",)), "program": ("program", True, ("code",)),
    "image_generation_call": ("image_generation", True, ()),
    # xAI's and Qwen's.
    "x_search_call": ("x_search", True, ("arguments", "action")),
    "web_extractor_call": ("web_extractor", True, ("urls",)),
    "web_search_image_call": (None, True, ("arguments",)),
    "image_search_call": (None, True, ("arguments",)),
}  # fmt: skip
AS_TEXT = ("arguments", "input")
# Calls without a call id: their results, if any, answer the item's id.
BY_ITEM_ID = ("mcp_", "web_", "file_search", "code_interpreter", "image_", "x_search")
TYPES = {"function_call": "function", "custom_tool_call": "custom"}

# The JSON before an input that streams as plain text; and of one that comes whole, which is written if it never does,
# so that the call cannot be run.
OPENINGS = {
    "code_interpreter_call": '{"code":"', "program": '{"code":"', "shell_call": '{"commands":["',
    "apply_patch_call": '{"diff":"', "computer_call": "{", "local_shell_call": "{", "tool_search_call": "{",
}  # fmt: skip

# Items that are results, and the field that holds the result.
RESULTS = {f"{kind}_output": "output" for kind in CALLS} | {"tool_search_output": "tools", "program_output": "result"}

# Fields of items and of their parts that have a place of their own; the others are extras of the part.
OWN: dict[str, frozenset[str]] = {
    "message": frozenset({"type", "id", "role", "content"}),
    "reasoning": frozenset({"type", "summary", "content", "encrypted_content", "signature"}),
    **{kind: frozenset({"type", "name", "call_id", *fields}) for kind, (_, _, fields) in CALLS.items()},
    **{kind: frozenset({"type", "call_id", field}) for kind, field in RESULTS.items()},
}
PART = frozenset({"type", "text", "refusal", "annotations"})
# Parts of items: the list that they stand in, their kind, the field of their text.
PARTS: dict[str, tuple[str, Kind, str]] = {
    "output_text": ("content", "text", "text"), "refusal": ("content", "refusal", "refusal"),
    "reasoning_text": ("content", "reasoning", "text"), "summary_text": ("summary", "reasoning", "text"),
}  # fmt: skip

# Fields of events that are read, and transport facts that are nobody's answer. Of which agent an event is (in OpenAI's
# beta of several), its item says too.
EVENT_FIELDS = frozenset(
    {
        "type", "sequence_number", "item_id", "output_index", "content_index", "summary_index", "annotation_index",
        "command_index", "partial_image_index", "partial_image_b64", "item", "part", "delta", "text", "refusal",
        "arguments", "input", "code", "diff", "command", "output", "annotation", "logprobs", "response", "error",
        "message", "param", "obfuscation", "stream_id", "status", "name", "size", "quality", "background",
        "output_format", "agent",
    }
)  # fmt: skip


def part_row(part: dict[str, Any], default: str) -> tuple[str, Kind, str]:
    """
    The list, the kind and the field of a part, by its type or, if it has none or just `text`, as is usual there. In
    reasoning, a text is a thought: LiteLLM's `output_text` there is no answer.
    """
    kind = word(part.get("type"), default=default)
    if kind == "text" or (kind == "output_text" and PARTS[default][1] == "reasoning"):
        kind = default
    return PARTS.get(kind, (PARTS[default][0], "unknown", ""))


def part_of(given: dict[str, Any] | str, default: str) -> dict[str, Any]:
    """A part as an object with its text in the usual field: it may be a bare text, and LiteLLM has `reasoning`."""
    if isinstance(given, str):
        return {"type": default, "text": given}
    if given.get("type") == "reasoning_text" and given.get("reasoning") and not given.get("text"):
        return {**{key: value for key, value in given.items() if key != "reasoning"}, "text": given["reasoning"]}
    return given


class Item(msgspec.Struct, eq=False):
    """An output item in the making."""

    kind: str
    number: int
    place: int
    # What is to be written before the first plain text of the input, and the fields that were in it.
    opening: str | None
    rest: dict[str, Any] = {}
    id: str | None = None
    call_id: str | None = None
    done: bool = False
    # The part that the item is, or that has its fields: a message's first one, but a refusal cannot have any.
    first: Any = None
    # The parts of each of its lists, with their kinds; and those that may go on, by list, kind and index.
    lists: dict[str, list[tuple[Kind, Piece]]] = {}
    pieces: dict[tuple[str, Kind, int], Piece] = {}
    fields: dict[str, Any] = {}
    # The checksum of an item without ids as it was done.
    told: int | None = None
    # The item as it was added; the input, result or whole of it as last stated.
    given: dict[str, Any] = {}
    value: Any = None
    # By command of a shell: those that have begun, and what they printed, in pieces by stream or as the list of it.
    commands: set[int] = set()
    outputs: dict[int, Any] = {}

    @property
    def is_told(self) -> bool:
        """False if only events about it came, and not the item itself."""
        return self.done or bool(self.given)

    def leave(self, key: tuple[str, Kind, int]) -> bool:
        """
        Give up the place of a part that is over, if there is one: another begins there. Servers leave the indexes out,
        or count every part 0.
        """
        piece = self.pieces.get(key)
        if piece is None or piece.slot.open:
            return False
        del self.pieces[key]
        return True

    def add(self, key: tuple[str, Kind, int], piece: Piece) -> None:
        """Take a new part, the next one of its list."""
        family, kind, _ = key
        listed = self.lists.setdefault(family, [])
        piece.place = len(listed)
        listed.append((kind, piece))
        self.pieces[key] = piece

    def open_part(self, family: str, kind: Kind) -> Piece | None:
        """The last part of that list, if it is of that kind, was told to begin, and is not over."""
        listed = self.lists.get(family)
        last_kind, piece = listed[-1] if listed else (kind, None)
        return piece if piece is not None and last_kind == kind and piece.begun and piece.slot.open else None

    def rest_told(self, family: str, kind: Kind, text: Any) -> tuple[Piece, str] | None:
        """The last one of several parts of that kind, and what is its own of a *text* that is that of all of them."""
        listed, at = self.lists.get(family, []), 0
        if len(listed) < 2 or not isinstance(text, str) or not text:
            return None
        for other, piece in listed:
            said = piece.text
            if other != kind or said is None or not text.startswith(said, at):
                return None
            at += len(said)
        return (piece, said) if said and at == len(text) else None

    def tells(self, family: str, text: Any) -> bool:
        """True if the other list of reasoning says that text, so that it is told twice."""
        other = [piece for _, piece in self.lists.get("summary" if family == "content" else "content", ())]
        rest = rest_of(other, text) if other and isinstance(text, str) and text else None
        return rest is not None and other[-1].says(rest)

    def parts(self) -> Iterator[Piece]:
        """The part that the item is, if it is one, and those of its lists."""
        if self.first is not None:
            yield self.first
        for listed in self.lists.values():
            yield from (piece for _, piece in listed)
