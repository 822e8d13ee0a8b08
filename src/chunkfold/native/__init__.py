"""
Native bodies: a response in the form in which its provider would have sent it without streaming.

A dialect's module here has the name of its module in `chunkfold.dialects` and provides `RULES`, `body` and `request`.
`RULES` says of every field of a payload how it is merged and where the whole body has it; a field that no rule names
keeps its path, and its last real value stands there. `EVENTS`, where events differ in what a field means, has rules by
the `type` of the payload, which go before those. `body` builds the whole body from a response alone, `request` the form
in which an assistant message goes into the next request, unless that is the form of another dialect (`WORDS`).

What a stream says beside the message is in `response.extra`, at its path in the whole body, and in `part.extra`. Keys
that begin with `$` are ours there, and say how the provider wrote something: see `_build`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Protocol

from msgspec.structs import replace

from chunkfold import dialects
from chunkfold.folding._envelopes import ROOT
from chunkfold.native._build import error_of, fields
from chunkfold.native._foreign import WORDS, refusals_told, taken_over
from chunkfold.parts import UnknownPart
from chunkfold.response import Message, Response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chunkfold.native._build import Rule
    from chunkfold.parts import Part

__all__ = ["body", "get", "request"]

# Protocols that have nothing but streams.
_STREAMED: Final = frozenset({"ag-ui", "vercel-ui"})


_BESIDE: Final = frozenset({ROOT, "stray_text"})


class Form(Protocol):
    """What a module of this package provides."""

    RULES: Mapping[str, Rule]

    @staticmethod
    def body(response: Response) -> dict[str, Any]: ...

    @staticmethod
    def request(message: Message) -> Any: ...


@cache
def get(name: str) -> Form:
    """
    The native form of the dialect of that name or other name.

    Raises:
        UnknownDialect: If there is no such dialect.
    """
    canonical = dialects.get(name).name
    form: Form = import_module(f"{__name__}.{canonical.replace('-', '_')}")  # type: ignore[assignment]
    return form


def body(response: Response) -> dict[str, Any]:
    """
    The body that the provider of *response* sends without streaming.

    Raises:
        ValueError: If the dialect of the response is not known, and it is not a bare error either.
    """
    out = error_of(response)
    if out is not None and (response.dialect is None or _is_alone(out, response)):
        return out
    if response.dialect is None:
        raise ValueError("a response without a dialect has no native body")
    if any(map(_is_beside, response.parts)):
        choices = [replace(choice, parts=_own(choice.parts)) for choice in response.choices]
        response = replace(response, choices=tuple(choices))
    return get(response.dialect).body(response)


def request(message: Message, dialect: str) -> Any:
    """The assistant message as *dialect* wants it in the next request."""
    if any(map(_is_beside, message.parts)):
        message = replace(message, parts=_own(message.parts))
    wanted, made = _words(dialect), None if message.dialect is None else _words(message.dialect)
    message = replace(message, parts=refusals_told(message.parts, wanted))
    if made is not None and made != wanted:
        message = replace(message, parts=tuple(taken_over(message.parts, made, wanted)))
    return get(wanted).request(message)


def _words(dialect: str) -> str:
    """The dialect in whose words messages of *dialect* are."""
    name = dialects.get(dialect).name
    return WORDS.get(name, name)


def _is_alone(error: dict[str, Any], response: Response) -> bool:
    """True if an error came instead of all, in a form that is not only that of an event."""
    if response.dialect in _STREAMED and "error" not in error:
        return False
    facts = (response.id, response.model, response.created, response.usage)
    kept = fields(response.extra)
    parts = [part for choice in response.choices for part in choice.parts]
    # A payload that proved to be the error only at the end of the stream has been kept before.
    return (
        all(key in error and value == error[key] for key, value in kept.items())
        and all(isinstance(part, UnknownPart) and part.payload == error for part in parts)
        and all(fact is None for fact in facts)
        and not any(choice.native_finish_reason or choice.logprobs for choice in response.choices)
    )


def _own(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts that are the provider's own."""
    return tuple(part for part in parts if not _is_beside(part))


def _is_beside(part: Part) -> bool:
    """True for what a tool told that hands the provider's payloads on, such as the heads that `curl -i` prints."""
    return isinstance(part, UnknownPart) and part.name in _BESIDE
