"""
The parts of a message: text, reasoning, refusals, tool calls and their results, media, and what is unknown.

Parts are frozen values. `kind` says which one it is, also in the written form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from msgspec import UNSET

from chunkfold._value import Value, listed, word
from chunkfold.basis import _json
from chunkfold.errors import InvalidToolCall

if TYPE_CHECKING:
    from chunkfold.partial_json import PartialJSON

__all__ = [
    "AudioPart",
    "FilePart",
    "ImagePart",
    "Kind",
    "Part",
    "ReasoningPart",
    "RefusalPart",
    "TextPart",
    "ToolCall",
    "ToolCallStatus",
    "ToolResult",
    "UnknownPart",
    "part_from_dict",
]

Kind: TypeAlias = Literal[
    "text",
    "reasoning",
    "refusal",
    "tool_call",
    "server_tool_call",
    "server_tool_result",
    "image",
    "audio",
    "file",
    "unknown",
]
ToolCallStatus: TypeAlias = Literal["open", "complete", "empty", "invalid", "truncated"]


class TextPart(Value, frozen=True):
    """A piece of the answer."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["text"]] = "text"

    text: str = ""
    """All of it, joined."""
    id: str | None = None
    """The provider's id of the block or item; `None` if it gave none."""
    phase: str | None = None
    """What the provider calls this text, such as `commentary` or `final_answer`; `None` if it does not say."""
    annotations: tuple[dict[str, Any], ...] = ()
    """Citations that stand in this part, as sent, without exact repeats."""
    signature: str | None = None
    """An opaque token to send back unchanged (Gemini); `None` if there was none."""
    extra: dict[str, Any] = {}
    """Further fields of the provider, as sent."""


class ReasoningPart(Value, frozen=True):
    """The model's visible or opaque thinking."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["reasoning"]] = "reasoning"

    text: str = ""
    """The thinking in words; `""` if only a signature or an encrypted form came."""
    signature: str | None = None
    """An opaque token to send back unchanged with this part; `None` if there was none."""
    encrypted: str | None = None
    """The thinking in encrypted form, to send back unchanged; `None` if there was none."""
    redacted: bool = False
    """True if the provider withheld the text and gave only `encrypted`."""
    summary: bool = False
    """True if this is the provider's summary of the thinking and not the thinking itself."""
    extra: dict[str, Any] = {}
    """Further fields of the provider, as sent."""


class RefusalPart(Value, frozen=True):
    """The model's refusal, where the provider keeps it apart from the answer."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["refusal"]] = "refusal"

    text: str = ""
    """All of it, joined."""


class ToolCall(Value, frozen=True, dict=True):
    """
    A call that the model asks for: by the client, or (`server_side`) by a tool that the server runs itself.

    `raw_arguments` is the exact text; `arguments` parses it afresh at each use; `partial` is what is sure of it so far.
    """

    _tag_name: ClassVar[str] = "kind"

    id: str | None = None
    """The provider's id, to be named in the result; `None` if it gave none."""
    name: str | None = None
    """The tool's name; `None` if it never came."""
    raw_arguments: str = ""
    """The argument text exactly as sent; for a custom tool, its free-text input."""
    status: ToolCallStatus = "open"
    """
    `open` while the stream runs; `complete`: one JSON object; `empty`: no text, which means `{}`; `invalid`: not one
    JSON object; `truncated`: not one, because the stream or the token limit cut it, or cut free text, or before any.
    """
    type: str = "function"
    """The provider's kind of tool: `function`, `custom`, `web_search_call`, ..."""
    server_side: bool = False
    """True if the server runs the tool: nothing for the client to do."""
    index: int | None = None
    """The provider's own number of the call or block; `None` if it does not count."""
    extra: dict[str, Any] = {}
    """Further fields of the provider, as sent, such as signatures."""

    @property
    def kind(self) -> Literal["tool_call", "server_tool_call"]:
        return "server_tool_call" if self.server_side else "tool_call"

    @property
    def is_usable(self) -> bool:
        """True if the arguments can be trusted to be what the model meant to send."""
        return self.status in ("complete", "empty")

    @property
    def arguments(self) -> Any:
        """
        The parsed arguments: a new dict at each use; a custom tool's free text as it is.

        Raises:
            InvalidToolCall: Unless the status is `complete` or `empty`, so that half a call cannot be run.
        """
        if not self.is_usable:
            raise InvalidToolCall(self)
        if self.type == "custom":
            return self.raw_arguments
        return _json.parse_arguments(self.raw_arguments, depth=None) if self.status == "complete" else {}

    @property
    def partial(self) -> Any:
        """
        The arguments as far as they have come: for showing, never for running. `chunkfold.UNSET` if nothing is sure.

        Strings grow, objects and lists fill; numbers, `true` and the like are there once they cannot go on. Of
        arguments that turn out to be no JSON, what was right before. Do not change it: what is finished is shared with
        other snapshots. With `live_arguments` it costs what is still open, else the text is read from its beginning.
        """
        known = self.__dict__
        if "partial" not in known:
            known["partial"] = self._read_so_far(known.pop("reader", None))
        return known["partial"]

    def _read_so_far(self, reader: PartialJSON[Any] | None) -> Any:
        from chunkfold.partial_json import PartialJSON

        raw = self.raw_arguments
        if self.status != "open" and self.is_usable:
            return self.arguments
        if self.type == "custom":
            return raw or UNSET
        # The reader of the stream may have gone on since, or take its end for that of a number.
        if reader is None or reader.is_closed or reader.offset != len(raw):
            reader = PartialJSON()
            reader.feed(raw)
        return reader.value

    def arguments_or(self, default: Any) -> Any:
        """The parsed arguments, or *default* unless the status is `complete` or `empty`."""
        return self.arguments if self.is_usable else default


class ToolResult(Value, frozen=True):
    """What a tool that the server ran gave back."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["server_tool_result"]] = "server_tool_result"

    call_id: str | None = None
    """The id of the call that it answers; `None` if the provider does not say."""
    name: str | None = None
    """The tool's name; `None` if the provider does not repeat it."""
    content: Any = None
    """The result as sent: text, a list or an object."""
    is_error: bool = False
    """True if the provider says that the tool failed."""
    extra: dict[str, Any] = {}
    """Further fields of the provider, as sent."""


class _Media(Value, frozen=True):
    media_type: str | None = None
    """The MIME type; `None` if the provider does not say."""
    data: bytes | None = None
    """The content, decoded; `None` if only a `url` or an `id` came."""
    url: str | None = None
    """Where it is to be had; `None` if the provider does not say."""
    id: str | None = None
    """The provider's id of it; `None` if it gave none."""
    transcript: str | None = None
    """The words of an audio; `None` if there were none."""
    final: bool = True
    """False while only previews came."""
    extra: dict[str, Any] = {}
    """Further fields of the provider, as sent."""


class ImagePart(_Media, frozen=True):
    """A picture that the model made."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["image"]] = "image"


class AudioPart(_Media, frozen=True):
    """Speech or sound that the model made."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["audio"]] = "audio"


class FilePart(_Media, frozen=True):
    """A file that the model made or names."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["file"]] = "file"


class UnknownPart(Value, frozen=True):
    """Something that this version does not know: carried as sent, never dropped."""

    _tag_name: ClassVar[str] = "kind"
    kind: ClassVar[Literal["unknown"]] = "unknown"

    name: str = ""
    """The provider's name for it, or ours for what has none."""
    payload: Any = None
    """What was sent."""


Part: TypeAlias = (
    TextPart | ReasoningPart | RefusalPart | ToolCall | ToolResult | ImagePart | AudioPart | FilePart | UnknownPart
)

CLASSES: dict[str, type[Any]] = {
    "text": TextPart,
    "reasoning": ReasoningPart,
    "refusal": RefusalPart,
    "tool_call": ToolCall,
    "server_tool_call": ToolCall,
    "server_tool_result": ToolResult,
    "image": ImagePart,
    "audio": AudioPart,
    "file": FilePart,
    "unknown": UnknownPart,
}
# The kinds that are calls.
CALLS = ("tool_call", "server_tool_call")


def part_from_dict(data: dict[str, Any]) -> Part:
    """
    The part that `part.to_dict()` describes.

    Raises:
        ValueError: If `kind` is unknown or a field is wrong.
    """
    kind = word(data, "kind")
    if kind not in CLASSES:
        raise ValueError(f"no part is of kind {data.get('kind')!r}")
    part: Part = CLASSES[kind].from_dict(data)
    return part


def parts_from_list(data: list[dict[str, Any]]) -> tuple[Part, ...]:
    """The parts that a list of `to_dict()` describes."""
    return tuple(part_from_dict(item) for item in listed(data))
