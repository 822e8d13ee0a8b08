"""
What is to be known of a response beside its text, a line for each thing.

`amiss` is what went wrong or is odd, `not_shown` what the response has and the command does not print as text.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chunkfold.errors import InvalidToolCall
from chunkfold.parts import UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chunkfold.response import Diagnostic, Response, StreamError

__all__ = ["amiss", "not_shown"]

# Text, and what is shown as it comes. The result of a call that the server ran itself is for the model.
_SHOWN = frozenset({"text", "reasoning", "refusal", "tool_call", "server_tool_call", "server_tool_result"})


def amiss(response: Response) -> Iterator[str]:
    """Calls that cannot be run, diagnostics, the error, and a message that is not whole."""
    for call in response.tool_calls:
        if not call.is_usable:
            yield str(InvalidToolCall(call))
    yield from _odd(response.diagnostics)
    is_limit = response.error is not None and response.error.type == "limit_exceeded"  # which is said when it is met
    if response.error is not None and not is_limit:
        is_packed = any(diagnostic.kind == "compressed" for diagnostic in response.diagnostics)
        # The excerpt of what is compressed tells nothing.
        yield _failure(replace(response.error, message=None) if is_packed else response.error)
    yield from _mistaken(response)
    if response.ended == "cancelled":
        yield "interrupted before the stream ended"
    elif response.error is None and not response.choices:
        yield "empty: the stream has no answer"
    elif response.truncated and response.dialect is not None and not is_limit:
        yield "truncated: the stream ended before the server said that it was done"


def not_shown(response: Response) -> Iterator[str]:
    """Other choices than the first, pictures, sounds, files and what is unknown."""
    others = Counter(
        f"unknown {part.name}" if isinstance(part, UnknownPart) else part.kind
        for part in response.parts
        if part.kind not in _SHOWN
    )
    words = [word if count == 1 else f"{count} × {word}" for word, count in others.items()]
    words += [f"choice {choice.index}" for choice in response.choices if choice.index != 0]
    if words and response.dialect is not None:
        yield f"not shown: {', '.join(words)}; --json has it"


def _odd(diagnostics: tuple[Diagnostic, ...]) -> Iterator[str]:
    """One line for each kind, with the first place where it was met."""
    counts = Counter(diagnostic.kind for diagnostic in diagnostics)
    for diagnostic in diagnostics:
        count = counts.pop(diagnostic.kind, 0)
        if count and diagnostic.kind != "unusable_arguments":  # said of the call
            place = "" if diagnostic.frame is None else f" in frame {diagnostic.frame}"
            more = f" (and {count - 1} more)" if count > 1 else ""
            yield f"{diagnostic.kind}{place}: {diagnostic.detail}{more}"


def _failure(error: StreamError) -> str:
    if error.type == "unrecognised" and error.origin == "decoder":  # its message is how the bytes begin
        return f"not a stream: {error.message}" if error.message else "not a stream"
    told = [str(word) for word in (error.type or error.code, error.message) if word]
    facts = []
    if error.type and error.code is not None and str(error.code) not in (error.type, str(error.status)):
        facts.append(f"code {error.code}")
    if error.status is not None:
        facts.append(f"status {error.status}")
    if error.retry_after is not None:
        facts.append(f"try again after {error.retry_after:g} s")
    elif error.retryable:
        facts.append("a retry may help")
    line = ": ".join([f"{error.origin} error", *told])
    return f"{line} ({', '.join(facts)})" if facts else line


def _mistaken(response: Response) -> Iterator[str]:
    """What bytes that are no stream seem to be."""
    if response.dialect is None and response.parts:
        head = str(response.parts[0].payload) if isinstance(response.parts[0], UnknownPart) else ""
        if head.startswith("HTTP/"):
            yield "this is headers before a body: ask without `curl --include`"
