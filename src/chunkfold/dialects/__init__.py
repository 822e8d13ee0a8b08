"""
Dialects: what the frames of a provider mean, said in events.

A dialect is one module of this package, named after it (`openai-chat` is `openai_chat.py`), with a subclass of
`Dialect` called `DIALECT`. Adding one means adding its module, that of its native body in `chunkfold.native`, its data
in `tests/data/` and its pages in `docs/`; no other code changes, since the folder is the register.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects._errors import error_body, error_in, error_told, read_error, says_success
from chunkfold.dialects._words import is_blank, is_sign_of_life
from chunkfold.errors import UnknownDialect

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.likeness.deltas import Heard

__all__ = ["CERTAIN", "LIKELY", "NO", "Dialect", "get", "names", "recognise"]

NO, LIKELY, CERTAIN = 0, 1, 2


class Dialect:
    """
    One stream's worth of decoding: payloads in, events out through the writer.

    Subclasses keep what they must remember between payloads; the writer keeps which part is which.
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    ends_with_body: ClassVar[bool] = False
    """True where no end mark exists, so that a finish reason before the end of the bytes makes a clean end."""
    ends_with_done: ClassVar[bool] = False
    """True where `[DONE]` is the end mark: decoded payloads bring none, so that a finish reason makes a clean end."""
    cumulative: ClassVar[bool] = False
    """True where each text is by default the whole text so far."""
    words: ClassVar[Mapping[str, str]] = {}
    """The provider's finish reasons and ours, beside those that all dialects share."""
    delta_keys: ClassVar[tuple[str, ...]] = ()
    """
    Keys whose string value is appended as it stands to an open part, whatever else the payload says. Two frames that
    differ in nothing but that string need not both be parsed.
    """
    address_keys: ClassVar[tuple[str, ...]] = ("index", "output_index")
    """Keys whose number tells which of several open calls a delta belongs to."""
    padding_keys: ClassVar[tuple[str, ...]] = ()
    """Keys at the top whose text or number says nothing, or nothing new once it was seen, and may vary."""
    rising_keys: ClassVar[tuple[str, ...]] = ()
    """A key at the top whose number tells repeats: such frames may differ in it if it rises."""
    running_keys: ClassVar[tuple[str, ...]] = ()
    """Keys, or paths, of objects whose numbers are running totals that the latest frame settles: see `catch_up`."""
    holds: ClassVar[tuple[str, ...]] = ()
    """The dialects whose payloads it wraps. They may come unwrapped."""
    listens: ClassVar[bool] = False
    """True where the dialect has to know every delta: see `hear`."""
    ends_calls: ClassVar[bool] = False
    """True where each call has an end of its own: without it one is not over where the stream breaks off."""
    payloads: ClassVar[tuple[str, ...]] = ()
    """The names of the payloads or events that are understood, for the manual."""

    def __init__(self, writer: Writer) -> None:
        self.w = writer
        self.end_seen = False
        self._has_several = False

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        """How sure it is that *payload* (under the frame's name *event*) speaks this dialect."""
        raise NotImplementedError

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        """Write the events that *payload* means. `frame.data` is its exact text, empty if it came as an object."""
        raise NotImplementedError

    def strange(self, payload: dict[str, Any], frame: Frame, name: str, *, may_be_body: bool = False) -> None:
        """
        A payload that the dialect does not know: a sign of life, an error in the words of a gateway, or something that
        is carried under *name*. *may_be_body*: a message alone is an error, as HTTP answers have it.
        """
        error = (error_body(payload) if may_be_body else None) or error_told(payload, frame.event)
        if error is not None:
            self.w.error(error)
        elif is_sign_of_life(payload, frame.event):
            self.w.ping()
        else:
            self.w.unknown(name, payload)

    def is_error(self, payload: dict[str, Any], frame: Frame, *fields: str) -> bool:
        """
        True if a payload is an error whose *fields*, by which the dialect knows its own, are there but say nothing. It
        has been stated then.
        """
        if "error" in payload or not all(is_blank(payload.get(field)) for field in fields):
            return False
        error = error_told(payload, frame.event)
        if error is not None:
            self.w.error(error)
        return error is not None

    def error_beside(self, payload: dict[str, Any]) -> None:
        """State the error that a server or a gateway has put under its name beside what an event says."""
        if payload.get("error"):
            self.tell_error(payload)

    def tell_error(self, holder: Mapping[str, Any]) -> None:
        """State the error that *holder* carries, in whatever form, if it carries one."""
        error = error_in(holder)
        if error is not None:
            self.w.error(error)

    def error_in_choice(self, index: int, choice: Mapping[str, Any]) -> None:
        """State the error of a choice. One that says success is none, and is kept for the body."""
        error = choice.get("error")
        if error and says_success(error) and choice.get("finish_reason") != "error":
            self.w.extra(("choices", index, "error"), error)
        elif error:
            self.w.error(read_error(error, raw=choice))

    def begin_again(self, next_id: Any = None) -> None:
        """
        The start came again: a proxy repeats the answer, or splices in another attempt. What came so far is void, and
        if the next message is another one also what was said beside it, such as what it cost or its error: that is of
        another request. So it is behind a body that was not streamed, and, unless its id is the same, behind an end.
        """
        was_over, reason, self.end_seen = self.end_seen or self.w.is_whole, "replay", False
        known = self.w.fact("id")
        is_other = next_id != known if known and next_id and isinstance(next_id, str) else was_over
        if self.w.is_whole or is_other:
            reason, self._has_several = "attempt", False
        self.w.reset(0, reason)
        if was_over:
            self.tell_of_several()

    def tell_of_several(
        self, detail: str = "a message began when another was over; the response is the last one"
    ) -> None:
        """Note, once, that the stream holds more than one message."""
        if not self._has_several:
            self._has_several = True
            self.w.diagnose("several_messages", detail)

    def whole(self) -> None:
        """The payload is a body that was not streamed: nothing is missing from it that the provider sends."""
        if self.w.is_whole:
            self.tell_of_several("a whole body came behind another; the response has both, or the last")
        self.w.whole()

    def restated(self, content: Any, facts: Mapping[str, Any] | None = None) -> None:
        """
        A body that was not streamed, with *content*: behind pieces it is the same once more, by a proxy whose stream
        broke off; behind another body it is the next message. One that is empty erases nothing, nor does one take back
        the reasons, or the *facts* it might have, that it does not state: MiniMax ends a stream with the bare content.
        """
        is_said = isinstance(content, str) or (isinstance(content, list) and any(isinstance(i, dict) for i in content))
        if not content or not is_said or not self.w.has_parts:
            return
        if self.w.is_whole:
            self.begin_again()
            return
        self.end_seen = False  # it is no other message
        known = {name: self.w.fact(name) for name, fact in (facts or {}).items() if is_blank(fact)}
        reasons = self.w.table.reasons()
        self.begin_again()
        self.w.message(**known)
        for choice, reason, native in reasons:
            self.w.finish(choice, native, reason)

    @staticmethod
    def may_vary(path: tuple[str | int, ...]) -> bool:  # noqa: ARG004 - for those that know better
        """True if the field at *path* of a payload is kept as it comes, whatever number or text it may be."""
        return False

    def catch_up(self, totals: dict[str, Any]) -> None:
        """Take the running totals of the last of frames that were not read in full."""

    def hear(self, heard: list[Heard]) -> None:
        """Take note of deltas that were written without the dialect."""

    def done(self) -> None:
        """The `[DONE]` that ends many server-sent streams was met."""
        self.end_seen = True

    def close(self) -> None:
        """The input has ended: write what was held back. Several calls may be open at once where each has an end."""
        if self.ends_calls and not self.w.finished and (not self.end_seen or self.w.errored):
            for slot in self.w.table.choice(0).by_kind.get("tool_call", ()):
                self.w.cut(slot)

    def note_form(self, slot: Slot, form: str) -> None:
        """Note in which form the arguments of a call stand in a body, for the body again and for `cut_in_a_body`."""
        slot.extra = {"$form": form}
        self.w.update(slot, extra=slot.extra)

    def cut_in_a_body(self, form: str | None = "string") -> None:
        """
        The input has ended. A body that was not streamed gives no reason where it was made of a stream that was cut: a
        text with nothing in it stands there for arguments that never began. *form* is the `$form` of arguments as text.
        """
        state = self.w.table.choice(0)
        slot = state.call_at_hand() if self.w.is_whole and state.finish is None else None
        if slot is not None and (slot.extra or {}).get("$form") == form:
            self.w.mark_cut(slot)


@cache
def names() -> tuple[str, ...]:
    """The canonical names of all dialects, in alphabetical order."""
    import pkgutil

    return tuple(
        sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")
    )


@cache
def get(name: str) -> type[Dialect]:
    """
    The dialect of that name or other name.

    Raises:
        UnknownDialect: If there is none.
    """
    if name in names():
        return _load(name)
    for canonical in names():
        if name in _load(canonical).aliases:
            return _load(canonical)
    raise UnknownDialect(name, names())


def _load(name: str) -> type[Dialect]:
    dialect: type[Dialect] = import_module(f"{__name__}.{name.replace('-', '_')}").DIALECT
    return dialect


# Looked at first, so that most streams load no other dialect.
_FREQUENT = ("openai-chat", "anthropic-messages", "openai-responses", "gemini", "bedrock-converse")


@cache
def _in_order() -> tuple[str, ...]:
    """All names, in the order that they are tried in."""
    return (*_FREQUENT, *(name for name in names() if name not in _FREQUENT))


def recognise(payload: Mapping[str, Any], event: str) -> type[Dialect] | None:
    """The dialect that *payload* speaks, or `None` if no dialect knows it or it decides nothing."""
    best, surest = None, NO
    for name in _in_order():
        sure = _load(name).recognise(payload, event)
        if sure == CERTAIN:
            return _load(name)
        if sure > surest:
            best, surest = _load(name), sure
    return best
