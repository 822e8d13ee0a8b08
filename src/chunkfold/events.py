"""
The events: canonical, typed statements of what happened in a stream.

    MessageStart -> (PartStart -> deltas -> PartStop)* -> UsageUpdate, Finish -> MessageStop

`Ping`, `ErrorEvent`, `UnknownEvent`, `Extra` and `DiagnosticEvent` may stand anywhere, several parts may be open at
once, and `MessageStop` comes exactly once, last. A sequence of events is enough to rebuild the response. Events of
paths and fields are derived, come only where asked for, and add nothing to it.

`index` is the position of the part in `parts` of its choice: dense, in order of first appearance, never the
provider's own number.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, TypeAlias

from chunkfold._value import Value, read_json, word
from chunkfold.parts import Kind, Part, part_from_dict
from chunkfold.response import Diagnostic, Ended, FinishReason, StreamError, Usage

__all__ = [
    "Annotations",
    "ArgumentsFieldDone",
    "ArgumentsPathDelta",
    "DataDelta",
    "DiagnosticEvent",
    "ErrorEvent",
    "Event",
    "Extra",
    "Finish",
    "Logprobs",
    "MessageReset",
    "MessageStart",
    "MessageStop",
    "PartReplace",
    "PartStart",
    "PartStop",
    "PartUpdate",
    "Ping",
    "ReasoningDelta",
    "RefusalDelta",
    "TextDelta",
    "TextFieldDone",
    "TextPathDelta",
    "ToolArgumentsDelta",
    "UnknownEvent",
    "UsageUpdate",
    "event_from_dict",
    "event_from_json",
    "is_output",
]


class _Event(Value, frozen=True):
    _tag_name: ClassVar[str] = "type"


class MessageStart(_Event, frozen=True):
    """
    The message has begun. May come again when a server gives an id or a model late: the first real value of each
    field stands.
    """

    type: ClassVar[Literal["message_start"]] = "message_start"

    id: str | None = None
    """The provider's id of the response. `None` here as everywhere: not said in this event."""
    model: str | None = None
    """The model that answers, as the stream names it."""
    created: int | float | str | None = None
    """When the response was made, as sent: mostly seconds since 1970, or a date."""
    role: str | None = None
    """Of whom the message is, as sent."""
    dialect: str | None = None
    """The canonical name of the dialect that the stream speaks."""
    vendor: str | None = None
    """Who serves the stream, where it shows that."""


class PartStart(_Event, frozen=True):
    """
    A part has begun.

    `extra` has the fields of the part that no delta brings, by their names (`phase`, `encrypted`, `content`, ...), and
    the provider's further fields as sent. For a part of kind `unknown` it is the payload.
    """

    type: ClassVar[Literal["part_start"]] = "part_start"

    choice: int
    index: int
    kind: Kind
    id: str | None = None
    """The provider's id of the block or call, or of the call that a result answers; `None` if it has not come."""
    name: str | None = None
    """The name of the tool, or of what is unknown; `None` if it has not come."""
    tool_type: str | None = None
    """The provider's kind of tool; `None` for parts that are no calls."""
    server_side: bool = False
    """True for a call that the server runs itself."""
    extra: dict[str, Any] = {}


class TextDelta(_Event, frozen=True, gc=False):
    """More text of the answer."""

    type: ClassVar[Literal["text_delta"]] = "text_delta"

    choice: int
    index: int
    text: str


class ReasoningDelta(_Event, frozen=True, gc=False):
    """More reasoning."""

    type: ClassVar[Literal["reasoning_delta"]] = "reasoning_delta"

    choice: int
    index: int
    text: str


class RefusalDelta(_Event, frozen=True, gc=False):
    """More of a refusal."""

    type: ClassVar[Literal["refusal_delta"]] = "refusal_delta"

    choice: int
    index: int
    text: str


class ToolArgumentsDelta(_Event, frozen=True, gc=False):
    """More argument text of a tool call: JSON text, cut anywhere."""

    type: ClassVar[Literal["tool_arguments_delta"]] = "tool_arguments_delta"

    choice: int
    index: int
    text: str


class DataDelta(_Event, frozen=True, gc=False):
    """More bytes of a picture, an audio or a file, decoded."""

    type: ClassVar[Literal["data_delta"]] = "data_delta"

    choice: int
    index: int
    data: bytes


class PartUpdate(_Event, frozen=True):
    """Fields of a part that came late. What is given replaces; `None` leaves alone; `extra` as in `PartStart`."""

    type: ClassVar[Literal["part_update"]] = "part_update"

    choice: int
    index: int
    id: str | None = None
    name: str | None = None
    signature: str | None = None
    extra: dict[str, Any] = {}


class PartReplace(_Event, frozen=True):
    """The server has stated a part whole: it stands instead of what was gathered."""

    type: ClassVar[Literal["part_replace"]] = "part_replace"
    _nested: ClassVar[dict[str, Any]] = {"part": part_from_dict}

    choice: int
    index: int
    part: Part


class PartStop(_Event, frozen=True):
    """A part is complete. `index=None` closes the oldest open one."""

    type: ClassVar[Literal["part_stop"]] = "part_stop"

    choice: int
    index: int | None = None


class Annotations(_Event, frozen=True):
    """Citations, each whole, of a part or (`index=None`) of the choice."""

    type: ClassVar[Literal["annotations"]] = "annotations"

    choice: int
    index: int | None
    items: tuple[dict[str, Any], ...]
    """As sent."""


class Logprobs(_Event, frozen=True):
    """Log-probabilities of new tokens, as sent."""

    type: ClassVar[Literal["logprobs"]] = "logprobs"

    choice: int
    items: tuple[Any, ...]


class UsageUpdate(_Event, frozen=True):
    """The usage so far: it replaces what was said before."""

    type: ClassVar[Literal["usage_update"]] = "usage_update"
    _nested: ClassVar[dict[str, Any]] = {"usage": Usage.from_dict}

    usage: Usage


class Finish(_Event, frozen=True):
    """The server has said why the model stopped. May come again; the last one stands."""

    type: ClassVar[Literal["finish"]] = "finish"

    choice: int
    reason: FinishReason
    native: str | None = None
    """The provider's own word; `None` where an event says it without one."""


class MessageReset(_Event, frozen=True):
    """
    The server takes back what came from part *from_part* on: drop it, as the response does.

    So are annotations that came behind the start of that part, but for those of parts before it; from 0 on all.
    """

    type: ClassVar[Literal["message_reset"]] = "message_reset"

    from_part: int
    reason: Literal["replay", "step", "attempt"]
    """
    `replay`: the message began anew. `step`: a step of a run did. `attempt`: the request was made again, or it is the
    answer to another one.
    """


class ErrorEvent(_Event, frozen=True):
    """An error has been told. What came before it stands."""

    type: ClassVar[Literal["error"]] = "error"
    _nested: ClassVar[dict[str, Any]] = {"error": StreamError.from_dict}

    error: StreamError


class Ping(_Event, frozen=True):
    """The server is alive: a comment or a keep-alive."""

    type: ClassVar[Literal["ping"]] = "ping"


class UnknownEvent(_Event, frozen=True):
    """Something that this version does not know. It becomes an `unknown` part of choice 0, at the next index."""

    type: ClassVar[Literal["unknown"]] = "unknown"

    name: str
    payload: Any = None


class Extra(_Event, frozen=True):
    """
    A field beside the message, at its path in the body that the provider sends without streaming.

    It replaces an earlier value at that path. A last step of `"-"` appends to a list, as in JSON Patch (RFC 6902).
    """

    type: ClassVar[Literal["extra"]] = "extra"

    path: tuple[str | int, ...]
    value: Any


class DiagnosticEvent(_Event, frozen=True):
    """Something odd was met and dealt with."""

    type: ClassVar[Literal["diagnostic"]] = "diagnostic"
    _nested: ClassVar[dict[str, Any]] = {"diagnostic": Diagnostic.from_dict}

    diagnostic: Diagnostic


class ArgumentsPathDelta(_Event, frozen=True, gc=False):
    """
    More text of a string inside the arguments of a call: derived from the delta before it, where asked for.

    The pieces since the last `ArgumentsFieldDone` of the same path join to the string. A `PartReplace` that does not go
    on with the text so far is followed by all of it again; after a `MessageReset` what was told of its parts is void.
    """

    type: ClassVar[Literal["arguments_path_delta"]] = "arguments_path_delta"

    choice: int
    index: int
    path: tuple[str | int, ...]
    """Keys and positions from the root to the string, such as `("edits", 0, "new_text")`."""
    text: str


class ArgumentsFieldDone(_Event, frozen=True, gc=False):
    """
    A value inside the arguments of a call is complete. Containers are told after what is in them, the root last.

    The containers belong to the reader: do not change them.
    """

    type: ClassVar[Literal["arguments_field_done"]] = "arguments_field_done"

    choice: int
    index: int
    path: tuple[str | int, ...]
    value: Any


class TextPathDelta(_Event, frozen=True, gc=False):
    """As `ArgumentsPathDelta`, for an answer text that is a JSON document."""

    type: ClassVar[Literal["text_path_delta"]] = "text_path_delta"

    choice: int
    index: int
    path: tuple[str | int, ...]
    text: str


class TextFieldDone(_Event, frozen=True, gc=False):
    """As `ArgumentsFieldDone`, for an answer text that is a JSON document."""

    type: ClassVar[Literal["text_field_done"]] = "text_field_done"

    choice: int
    index: int
    path: tuple[str | int, ...]
    value: Any


class MessageStop(_Event, frozen=True):
    """The end of the stream: always the last event, exactly once."""

    type: ClassVar[Literal["message_stop"]] = "message_stop"

    ended: Ended


Event: TypeAlias = (
    MessageStart
    | PartStart
    | TextDelta
    | ReasoningDelta
    | RefusalDelta
    | ToolArgumentsDelta
    | DataDelta
    | PartUpdate
    | PartReplace
    | PartStop
    | Annotations
    | Logprobs
    | UsageUpdate
    | Finish
    | MessageReset
    | ErrorEvent
    | Ping
    | UnknownEvent
    | Extra
    | DiagnosticEvent
    | ArgumentsPathDelta
    | ArgumentsFieldDone
    | TextPathDelta
    | TextFieldDone
    | MessageStop
)

CLASSES: dict[str, type[Any]] = {cls.type: cls for cls in _Event.__subclasses__()}  # type: ignore[attr-defined]


def event_from_dict(data: dict[str, Any]) -> Event:
    """
    The event that `event.to_dict()` describes.

    Raises:
        ValueError: If `type` is unknown or a field is wrong.
    """
    kind = word(data, "type")
    if kind not in CLASSES:
        raise ValueError(f"no event has type {data.get('type')!r}")
    event: Event = CLASSES[kind].from_dict(data)
    return event


def event_from_json(text: str | bytes) -> Event:
    """The event that `event.to_json()` wrote. ValueError if it is not one."""
    return event_from_dict(read_json(text))


def is_output(event: Event) -> bool:
    """True if a person or program gets something from *event*: text, reasoning, arguments or data that is not empty."""
    if isinstance(event, (TextDelta, ReasoningDelta, RefusalDelta, ToolArgumentsDelta)):
        return event.text != ""
    return isinstance(event, DataDelta) and event.data != b""
