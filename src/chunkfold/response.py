"""
What a stream folds into: the message, and the facts about it.

`Response` is a frozen value. A snapshot of an open stream is one too, with `ended=None`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from msgspec.structs import replace

from chunkfold._value import Value, listed
from chunkfold.basis._wording import described
from chunkfold.errors import IncompleteResponse
from chunkfold.parts import (
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
    parts_from_list,
)

if TYPE_CHECKING:
    from chunkfold._prefill import Prefill

__all__ = [
    "Choice",
    "Diagnostic",
    "Ended",
    "FinishReason",
    "Message",
    "Response",
    "StreamError",
    "Usage",
]

FinishReason: TypeAlias = Literal[
    "stop", "length", "tool_calls", "content_filter", "refusal", "pause", "cancelled", "error", "unknown"
]
Ended: TypeAlias = Literal["clean", "eof", "error", "cancelled"]


class Usage(Value, frozen=True):
    """
    Token counts of one response, in one way of counting for all providers. `None`: not reported, never 0.

    Providers count differently: Anthropic's `input_tokens` leaves cached tokens out, ours has them in. `raw` is what
    the provider said.
    """

    input_tokens: int | None = None
    """Tokens of the whole prompt, cached ones included."""
    output_tokens: int | None = None
    """Tokens generated, reasoning included."""
    total_tokens: int | None = None
    """The provider's own total, else the sum of input and output, if both are known."""
    cached_input_tokens: int | None = None
    """The part of the input that was read from the provider's cache."""
    cache_write_input_tokens: int | None = None
    """The part of the input that was written to the provider's cache."""
    reasoning_tokens: int | None = None
    """The part of the output that was reasoning."""
    raw: dict[str, Any] = {}
    """The provider's own object, each field with its latest value."""

    @classmethod
    def sum(cls, usages: Iterable[Usage | None]) -> Usage:
        """The usage of several whole responses together. A count is `None` only if none of them reports it."""
        totals: dict[str, Any] = {}
        for usage in usages:
            if usage is None:
                continue
            if not isinstance(usage, Usage):
                raise TypeError(f"sum() takes usages, such as response.usage, not {described(usage)}")
            for name in cls.__struct_fields__[:-1]:
                value = getattr(usage, name)
                if value is not None:
                    totals[name] = totals.get(name, 0) + value
        return cls(**totals)


class StreamError(Value, frozen=True, eq=False):
    """What went wrong, told by the provider, the transport or our own decoder."""

    type: str | None = None
    """The class of the error in the provider's words (`overloaded_error`, `UNAVAILABLE`, `ThrottlingException`)."""
    message: str | None = None
    """A sentence for people; of what is no stream, its first 200 characters. `None` if there is none."""
    code: str | int | None = None
    """The provider's code, as sent."""
    status: int | None = None
    """The HTTP status that the error stands for; `None` if it cannot be told."""
    retryable: bool = False
    """True if the same request may well succeed later."""
    retry_after: float | None = None
    """Seconds to wait, as the server asked; `None` if it did not."""
    origin: Literal["provider", "transport", "decoder"] = "provider"
    """Who told it: the server, the source (which has failed), or this library (no stream, or a limit)."""
    raw: Any = None
    """What was sent; `None` for errors that are not the provider's."""
    exception: Any = None
    """The exception of the source, where there was one. Not part of the written form nor of equality."""

    def _written(self) -> dict[str, Any]:
        data = super()._written()
        data.pop("exception", None)
        return data

    def __eq__(self, other: object) -> bool:
        if type(other) is not StreamError:
            return NotImplemented
        return self._key() == other._key()

    def __ne__(self, other: object) -> bool:
        # Without it the base class compares by identity.
        return not self == other

    def __hash__(self) -> int:
        return hash((self.type, self.message, self.origin))

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__struct_fields__ if name != "exception")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without an exception that does not pickle, or cannot be made again of what it pickles to."""
        import pickle

        exception = self.exception
        try:
            pickle.loads(pickle.dumps(exception))  # noqa: S301 - our own object
        except Exception:  # noqa: BLE001 - a foreign exception may fail in any way
            exception = None
        return type(self), (*self._key(), exception)


class Diagnostic(Value, frozen=True):
    """Something odd in the stream, and what was done. Sizes and places only, never text of an answer."""

    kind: str
    """A short constant, such as `frame_not_json`."""
    frame: int | None = None
    """The number of the frame, from 0; `None` if it belongs to none."""
    choice: int | None = None
    """The index of the choice; `None` if it is about none."""
    index: int | None = None
    """Our index of the part; `None` if it is about none."""
    detail: str = ""
    """What was met and what was done, for people. Its wording may change."""


class Message(Value, frozen=True, eq=False):
    """An assistant message, ready to be kept in a conversation. Messages are equal that say the same."""

    _nested: ClassVar[dict[str, Any]] = {"parts": parts_from_list}

    role: str = "assistant"
    """As the server says; `assistant` if it does not."""
    parts: tuple[Part, ...] = ()
    """In the order in which the model produced them."""
    dialect: str | None = None
    """In whose words it came; `None`: not known, taken for those of whom it is sent to."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        return self.role == other.role and self.parts == other.parts

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.role, self.parts))

    def content(self, *, reasoning: bool = True) -> tuple[Part, ...]:
        """
        Text, refusals, media and (unless *reasoning* is false) reasoning in the order in which the model produced them.

        Neighbours of the same kind are one part, but texts of different output items stay apart, each with its phase.
        Reasoning is taken out before it is seen who is a neighbour. Calls and their results are left out.
        """
        out: list[Part] = []
        for part in self.parts:
            if isinstance(part, (ToolCall, ToolResult, UnknownPart)) or (not reasoning and part.kind == "reasoning"):
                continue
            before = out[-1] if out else None
            if isinstance(part, TextPart) and isinstance(before, TextPart) and _is_same_text(before, part):
                cited = before.annotations + part.annotations
                phase = before.phase if before.phase == part.phase else None
                out[-1] = replace(before, text=before.text + part.text, phase=phase, annotations=cited)
            elif (
                isinstance(part, ReasoningPart) and isinstance(before, ReasoningPart) and _is_same_thought(before, part)
            ):
                out[-1] = replace(before, text=before.text + part.text)
            else:
                out.append(part)
        return tuple(out)

    def to_request(self, dialect: str) -> Any:
        """
        The message in the form that *dialect* wants in the next request, with what has to go back unchanged.

        One object, or a list of items where the provider takes items (`openai-responses`). What came in another dialect
        goes over with its text, thoughts, calls and media, without what others refuse: docs/native.md.

        Raises:
            UnknownDialect: If no dialect has that name.
        """
        from chunkfold import native

        return native.request(self, dialect)

    def without_reasoning(self) -> Message:
        """The message without reasoning, fit for logs that must not have any; not for sending back."""
        return replace(self, parts=tuple(part for part in self.parts if part.kind != "reasoning"))


def _item_of(part: TextPart) -> tuple[str, Any] | None:
    """What labels a text as belonging to one output item: its phase together with the item's place."""
    place = part.extra.get("output_index", part.id)
    return None if part.phase is None or place is None else (part.phase, place)


def _is_same_text(before: TextPart, part: TextPart) -> bool:
    return _item_of(before) == _item_of(part) and not before.signature and not part.signature


def _is_same_thought(before: ReasoningPart, part: ReasoningPart) -> bool:
    """Signatures and encrypted blobs belong to exactly one part; summaries are paragraphs."""
    opaque = before.signature or before.encrypted or part.signature or part.encrypted
    return not opaque and not before.summary and not part.summary


class Choice(Value, frozen=True, dict=True):
    """One of the candidates that were asked for. Most streams have one, with index 0."""

    _nested: ClassVar[dict[str, Any]] = {"parts": parts_from_list}

    index: int = 0
    """The provider's number of it, from 0."""
    parts: tuple[Part, ...] = ()
    """In the order in which the model produced them."""
    finish_reason: FinishReason | None = None
    """Why the model stopped; `None` if that was never said."""
    native_finish_reason: str | None = None
    """The server's own last real word for it, unchanged."""
    logprobs: tuple[Any, ...] = ()
    """The provider's entries, one a token, in order."""
    annotations: tuple[dict[str, Any], ...] = ()
    """Citations of the whole choice, in order, without exact repeats."""
    role: str = "assistant"
    """As the server says; `assistant` if it does not."""

    # A snapshot knows some things before they are asked for (`_shown.py`); they wait in `__dict__`, which is no part of
    # the value. So does the dialect, which the response knows.

    @property
    def text(self) -> str:
        """The text parts joined with nothing; `""` if there are none."""
        texts: tuple[str, str] | None = self.__dict__.get("texts")
        return _joined(self.parts, TextPart) if texts is None else texts[0] + texts[1]

    @property
    def reasoning(self) -> str:
        """The reasoning parts joined with nothing, but with a blank line between parts of a summary."""
        pieces: list[str] = []
        before: ReasoningPart | None = None
        for part in self.parts:
            if isinstance(part, ReasoningPart) and part.text:
                if before is not None and before.summary and part.summary:
                    pieces.append("\n\n")
                pieces.append(part.text)
                before = part
        return "".join(pieces)

    @property
    def refusal(self) -> str:
        """The refusal parts joined with nothing; `""` if there are none."""
        return _joined(self.parts, RefusalPart)

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls for the client to run, in order of first appearance."""
        calls: tuple[ToolCall, ...] | None = self.__dict__.get("tool_calls")
        if calls is None:
            calls = tuple([part for part in self.parts if isinstance(part, ToolCall) and not part.server_side])
        return calls

    @property
    def message(self) -> Message:
        """The parts as a message to send back."""
        return Message(self.role, self.parts, self.__dict__.get("dialect"))


def _joined(parts: tuple[Part, ...], cls: type[TextPart | RefusalPart]) -> str:
    texts = [part.text for part in parts if isinstance(part, cls)]
    return texts[0] if len(texts) == 1 else "".join(texts)


def _choices_from_list(data: list[dict[str, Any]]) -> tuple[Choice, ...]:
    return tuple(Choice.from_dict(item) for item in listed(data))


def _diagnostics_from_list(data: list[dict[str, Any]]) -> tuple[Diagnostic, ...]:
    return tuple(Diagnostic.from_dict(item) for item in listed(data))


_NO_CHOICE = Choice()


class Response(Value, frozen=True):
    """
    The complete assistant message and the facts about it, or a snapshot of one that still grows.

    `text`, `parts`, `tool_calls` and their like are those of choice 0.
    """

    _nested: ClassVar[dict[str, Any]] = {
        "choices": _choices_from_list,
        "usage": Usage.from_dict,
        "error": StreamError.from_dict,
        "diagnostics": _diagnostics_from_list,
    }

    choices: tuple[Choice, ...] = ()
    """The candidates in order of their index."""
    usage: Usage | None = None
    """`None` if the server reported none."""
    ended: Ended | None = None
    """
    How the bytes ended: `clean` (the end mark was seen, or, where the end is the body's, a finish reason or the closing
    bracket), `eof`, `error`, `cancelled`; `None` while the stream is open.
    """
    truncated: bool = False
    """True if the bytes ended before the server said that it was done."""
    error: StreamError | None = None
    """What went wrong; `None` if nothing did. What came before it stands."""
    id: str | None = None
    """The provider's id of the response; `None` if it gave none."""
    model: str | None = None
    """The model that answered, by its name in the stream; `None` if it is not said."""
    created: int | float | str | None = None
    """When the provider says that it was made, in its own form (mostly seconds since 1970)."""
    dialect: str | None = None
    """The canonical name of the dialect; `None` if it was never known."""
    vendor: str | None = None
    """Who served it, where the stream shows it."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """What was odd in the stream and what was done about it, in order."""
    extra: dict[str, Any] = {}
    """Fields of the provider beside the message, at the path where its own whole body has them."""

    def __post_init__(self) -> None:
        if self.dialect is not None:
            for choice in self.choices:
                choice.__dict__.setdefault("dialect", self.dialect)

    @property
    def _first(self) -> Choice:
        choices = self.choices
        return choices[0] if choices and choices[0].index == 0 else _NO_CHOICE

    @property
    def text(self) -> str:
        """The answer of choice 0: its text parts joined with nothing."""
        return self._first.text

    @property
    def reasoning(self) -> str:
        """The thinking of choice 0; a blank line stands between parts of a summary."""
        return self._first.reasoning

    @property
    def refusal(self) -> str:
        """The refusal text of choice 0, where the provider keeps it apart."""
        return self._first.refusal

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts of choice 0 in the order in which the model produced them."""
        return self._first.parts

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of choice 0 for the client to run. Look at `status` before running one."""
        return self._first.tool_calls

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the model stopped, in our words; `None` if that was never said."""
        return self._first.finish_reason

    @property
    def native_finish_reason(self) -> str | None:
        """Why the model stopped, in the server's own last real word."""
        return self._first.native_finish_reason

    @property
    def logprobs(self) -> tuple[Any, ...]:
        """The log-probabilities of choice 0 as sent, one a token."""
        return self._first.logprobs

    @property
    def annotations(self) -> tuple[dict[str, Any], ...]:
        """The citations of choice 0, in order, without exact repeats."""
        return self._first.annotations

    @property
    def message(self) -> Message:
        """Choice 0 as a message to send back."""
        return Message(self._first.role, self._first.parts, self.dialect)

    @property
    def is_truncated(self) -> bool:
        """True if the answer breaks off: by the token limit, or because the stream was cut."""
        return self.truncated or self.finish_reason == "length"

    @property
    def continues_tool_loop(self) -> bool:
        """True if the model waits for its calls to be run, and all of them can be."""
        calls = self.tool_calls
        return self.finish_reason == "tool_calls" and bool(calls) and all(call.is_usable for call in calls)

    def raise_if_incomplete(self) -> None:
        """
        Raise unless the message can be relied on.

        Raises:
            IncompleteResponse: If it is truncated, has an error or an error for its finish reason, or a client call is
                unusable. A message cut by the token limit (`finish_reason="length"`) is what was asked for and does
                not raise.
        """
        failed = self.error is not None or any(choice.finish_reason == "error" for choice in self.choices)
        unusable = any(not call.is_usable for choice in self.choices for call in choice.tool_calls)
        if self.truncated or failed or unusable:
            raise IncompleteResponse(self)

    def to_native(self) -> dict[str, Any]:
        """
        The body that the same provider sends for the same answer when it does not stream.

        It is made from the response alone, afresh at each use: what was changed in the response is changed in it. What
        a stream leaves out that a whole body has is listed in docs/native.md.

        Raises:
            ValueError: If the dialect is not known and no error was told either.
        """
        from chunkfold import native

        return native.body(self)

    def as_prefill(
        self,
        dialect: str | None = None,
        *,
        model: str | None = None,
        vendor: str | None = None,
        ask: str | None = None,
    ) -> Prefill:
        """
        What goes into a request, so that the model goes on from this partial answer; docs/resilience.md has the table.

        Args:
            dialect: The dialect of the request; `None`: that of this response.
            model: The model that is asked; `None`: that of this response.
            vendor: Who serves it, where servers of one dialect differ; `None`: as this response shows.
            ask: Words for a turn of the user's, such as "Go on exactly where you broke off." They are understood
                everywhere; that the new text joins on is up to the model.

        Raises:
            CannotContinue: If there is no text yet, or the model is not known to go on. The message says what helps.
            UnknownDialect: If no dialect has that name.
        """
        from chunkfold._prefill import prefill

        return prefill(self, dialect, model=model, vendor=vendor, ask=ask)

    @staticmethod
    def from_native(body: Mapping[str, Any], dialect: str = "auto") -> Response:
        """
        The response that a decoded body says, which was not streamed. `to_native` gives it back.

        Raises:
            TypeError: If *body* is no object.
            UnknownDialect: If no dialect has that name.
        """
        if body is None or isinstance(body, (bytes, bytearray, memoryview, str, int, float, list, tuple)):
            raise TypeError(f"from_native() takes the decoded body, a mapping, not {described(body)}")
        from chunkfold.folding._folder import Folder

        folder = Folder(dialect)
        folder.feed(body)
        return folder.close()

    def record(self, source: str | None = None) -> dict[str, Any]:
        """
        The response as one flat object, as the command prints it, with parsed arguments: `None` if a call is unusable.

        *source* names where the bytes came from. Use `to_dict` to read it back later.
        """
        from chunkfold._record import parsed_arguments, record_of

        return record_of(self, source, parsed_arguments)
