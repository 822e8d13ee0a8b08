"""The whole fold without I/O: a decoder and an accumulator behind `feed` and `close`."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

import msgspec

from chunkfold.accumulator import Gatherer
from chunkfold.basis._wording import check_switch, described, given_or
from chunkfold.errors import LimitExceeded
from chunkfold.events import ErrorEvent, Event, MessageStop
from chunkfold.folding._decoder import not_fed
from chunkfold.folding._direct import DirectDecoder
from chunkfold.folding._objects import error_body_of, payload_of
from chunkfold.folding._unfinished import CR, LF
from chunkfold.limits import DEFAULT_LIMITS, Limits
from chunkfold.policy import Policy
from chunkfold.response import Response, StreamError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chunkfold.assembly._live import Live
    from chunkfold.response import Usage

__all__ = ["Folder"]

_FIELDS = frozenset({"_accumulator", "_amid", "_decoder", "_live", "_response", "_unfinished"})
_DATA = (bytes, bytearray, memoryview, dict)


class Folder:
    """
    Folds a stream that the caller reads: bytes or payloads in, events and the response out.

    Args:
        dialect: The name of the wire dialect, or `auto` to find it out from the first payload that tells.
        split_think_tags: Move what stands between `<think>` and `</think>` in the text to reasoning parts.
        cumulative_deltas: True if each text is the whole text so far; `None`: as the dialect sends by default.
        limits: Caps on what the stream may cost.
        policy: How doubtful things are judged.
        live_arguments: Read the arguments of calls while they come: `ArgumentsPathDelta` and `ArgumentsFieldDone` come
            behind the deltas they derive from, and `ToolCall.partial` of a snapshot is at hand.
        live_text: The same for answer text that is one JSON document: `TextPathDelta`, `TextFieldDone`.

    Raises:
        UnknownDialect: If no dialect has that name.

    """

    def __init__(
        self,
        dialect: str = "auto",
        *,
        split_think_tags: bool = False,
        cumulative_deltas: bool | None = None,
        limits: Limits | None = None,
        policy: Policy | None = None,
        live_arguments: bool = False,
        live_text: bool = False,
    ) -> None:
        self._live: Live | None = None
        check_switch("live_arguments", live_arguments)
        check_switch("live_text", live_text)
        if live_arguments or live_text:
            depth = given_or(DEFAULT_LIMITS, limits, "limits", "chunkfold.Limits").json_depth
            from chunkfold.assembly._live import Live

            self._live = Live(arguments=live_arguments, text=live_text, documents=False, depth=depth)
        self._decoder = DirectDecoder(
            dialect, split_think_tags=split_think_tags, cumulative_deltas=cumulative_deltas, limits=limits
        )
        self._unfinished = self._decoder.unfinished
        self._amid = self._unfinished.data
        self._accumulator = Gatherer(policy, limits)
        if self._accumulator.merges_usage:
            self._decoder.tell_all_totals()
        self._response: Response | None = None

    @property
    def dialect(self) -> str | None:
        """The canonical name of the dialect; `None` as long as it is not known."""
        return self._decoder.dialect

    @property
    def end_seen(self) -> bool:
        """True once the dialect's end mark has come. Usage may still follow in some dialects."""
        return self._decoder.end_seen

    def feed(self, data: bytes | bytearray | memoryview | Mapping[str, Any] | Any, events: bool = True) -> list[Event]:
        """
        Fold *data* in and return the events that it completes, oldest first.

        *data* is bytes, cut anywhere; or one decoded payload, or the object of a vendor's SDK that stands for it. With
        `events=False` none are made and the list is empty, which is faster.

        Raises:
            LimitExceeded: If a limit is passed. `events` and `response` have what came before; the folder is closed.
            ValueError: After `close()`.
            TypeError: If *data* is none of these, or both kinds are mixed.
        """
        amid = self._amid
        if amid and type(data) is bytes:
            # `takes`, but for small reads the call itself is what costs.
            if LF not in data and CR not in data and len(amid) <= self._unfinished.most:
                amid += data
                return []
            if self._unfinished.takes(data):
                return []
        if self._response is not None:
            raise ValueError("feed() after close()")
        if type(data) is not bytes and not isinstance(data, _DATA):
            payload = _payload_fed(data, self._usage_so_far)
            if payload is None:
                return []
            data = payload
        live = self._live
        try:
            if not events and live is None:
                self._decoder.feed_into(self._accumulator, data)
                return []
            made = self._decoder.feed(data)
        except LimitExceeded as breach:
            self._break(breach, observed=not events and live is None)
            raise
        if live is not None:
            made = live.fold(made, self._accumulator)
            return made if events else []
        self._accumulator.observe_all(made)
        return made

    def snapshot(self) -> Response:
        """The response so far, safe to keep. It never waits."""
        if self._response is None:
            self._decoder.settle(self._accumulator)
        return self._response or self._accumulator.snapshot()

    def save(self) -> bytes:
        """
        All that is needed to go on in another process, with the byte that comes next: `Folder.restore` takes it.

        It holds the message so far, and the options, limits and policy. Its size is of the order of the message.

        Raises:
            ValueError: After `close()`, when there is nothing to go on with: keep `response.to_json()`.
            TypeError: If payloads were fed that hold values which are no JSON.
        """
        if self._response is not None:
            raise ValueError("save() after close()")
        from chunkfold.folding._saving import State, pack

        self._decoder.settle(self._accumulator)
        live = self._live
        read = (*live.asked_for, live.runs) if live is not None else None
        return pack(State(self._decoder, self._accumulator, read))

    @classmethod
    def restore(cls, data: bytes) -> Self:
        """
        The folder that `save` wrote. Nothing in *data* is run.

        Raises:
            RestoreError: If *data* is not a folder saved by this version of chunkfold, or is damaged.
            TypeError: If *data* is no bytes at all.
        """
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"restore() takes the bytes that save() gave, not {described(data)}")
        from chunkfold.folding._saving import unpack

        state = unpack(bytes(data))
        folder = cls.__new__(cls)
        folder._decoder, folder._accumulator = state.decoder, state.accumulator
        folder._unfinished = state.decoder.unfinished
        folder._amid = folder._unfinished.data
        folder._response = folder._live = None
        if state.live is not None:
            from chunkfold.assembly._live import Live

            arguments, text, documents, runs = state.live
            depth = state.decoder.limits.json_depth
            folder._live = Live(arguments=arguments, text=text, documents=documents, depth=depth)
            folder._live.resume(state.accumulator, runs)
        return folder

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        """A copy goes on for itself, as one that was saved and restored does; also a shallow one, and a pickled one."""
        if self._response is not None:
            return super().__reduce_ex__(protocol)
        more = {name: value for name, value in vars(self).items() if name not in _FIELDS}
        return type(self).restore, (self.save(),), more or None

    def close(self, error: BaseException | StreamError | None = None) -> Response:
        """
        End the input and return the complete response. Asking again gives the same object.

        *error* is what ended the input, if it was no ordinary end: an `Exception` of the transport (`ended="error"`),
        or a KeyboardInterrupt, CancelledError or GeneratorExit (`ended="cancelled"`).

        Raises:
            TypeError: If *error* is none of these.
            LimitExceeded: If what was pending passes a limit.
            PolicyError: If the policy calls something that was found an error; it has the whole response.
        """
        self.finish(error)
        return self._accumulator.finalize()

    def finish(self, error: BaseException | StreamError | None = None) -> list[Event]:
        """As `close`, for who wants the last events; `close` then gives the response."""
        if self._response is not None:
            return []
        if not isinstance(error, (BaseException, StreamError, NoneType)):
            raise TypeError(f"close() takes the exception that ended the input, not {described(error)}")
        cancelled = isinstance(error, BaseException) and not isinstance(error, Exception)
        told = transport_error(error) if isinstance(error, Exception) else error
        try:
            events = self._decoder.finish(told if isinstance(told, StreamError) else None, cancelled=cancelled)
        except LimitExceeded as breach:
            self._break(breach, observed=False)
            raise
        events = self._observe(events)
        self._response = self._accumulator.complete()
        return events

    def _usage_so_far(self) -> Usage | None:
        """The usage that has been told."""
        self._decoder.settle(self._accumulator)
        return self._accumulator.usage

    def _observe(self, events: Sequence[Event]) -> list[Event]:
        """Fold *events* in; with what the live reading has to add they are to be handed out."""
        if self._live is not None:
            return self._live.fold(events, self._accumulator)
        self._accumulator.observe_all(events)
        return list(events)

    def _break(self, breach: LimitExceeded, *, observed: bool) -> None:
        """A limit was passed: what came before it is folded, and nothing more is taken."""
        if not observed:
            breach.events = self._observe(breach.events)
        error = StreamError("limit_exceeded", str(breach), code=breach.limit, origin="decoder")
        self._observe([ErrorEvent(error), MessageStop("error")])
        self._response = breach.response = self._accumulator.complete()


def _payload_fed(item: Any, usage_so_far: Callable[[], Usage | None]) -> Mapping[str, Any] | bytes | None:
    """The payload that *item* stands for; `None` if it says nothing."""
    try:
        if item is not None:
            return payload_of(item, usage_so_far)
    except TypeError as error:
        raise TypeError(not_fed(item)) from error
    raise TypeError(not_fed(item))


def transport_error(exception: BaseException) -> StreamError:
    """
    What an exception of the source is in the response. An SDK's exception may tell what the provider said; those whose
    streams are generators ask only when they are read, and so it may have the status of an answer.
    """
    from chunkfold.basis._connections import is_passing, sentence_of, status_of

    body, status = error_body_of(exception), status_of(exception)
    if body is not None:
        from chunkfold.dialects._errors import error_in, read_error

        said = (error_in(body) if "error" in body else None) or read_error(body, raw=body)
    else:
        said = StreamError(
            type=type(exception).__name__, message=sentence_of(exception), retryable=is_passing(exception)
        )
    if status is not None:
        from chunkfold.dialects._error_words import is_retryable

        may_pass = is_retryable((said.type, said.code), status, said.message)
        said = msgspec.structs.replace(said, status=status, retryable=may_pass)
    return msgspec.structs.replace(said, origin="transport", exception=exception)
