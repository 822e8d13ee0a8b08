"""
What the fold is measured against, on the same bytes.

`split` cuts the body at its blank lines, `decode` also reads the few fields that matter into typed structs, and
`accumulator` is the 30-line loop that people write by hand: split, typed decode, append, join. It follows none of the
rules of the fold, and it is 1.0 in every table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

SEPARATOR = {"openai": b"\n\n", "anthropic": b"\n\n", "responses": b"\n\n", "gemini": b"\r\n\r\n"}


class Function(Struct, gc=False):
    name: str | None = None
    arguments: str | None = None


class Call(Struct, gc=False):
    index: int = 0
    id: str | None = None
    function: Function | None = None


class ChatDelta(Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[Call] | None = None


class ChatChoice(Struct, gc=False):
    index: int = 0
    delta: ChatDelta | None = None
    finish_reason: str | None = None


class Chunk(Struct, gc=False):
    choices: list[ChatChoice] = []
    usage: dict[str, Any] | None = None


class BlockDelta(Struct, gc=False):
    type: str | None = None
    text: str | None = None
    partial_json: str | None = None
    thinking: str | None = None
    signature: str | None = None
    stop_reason: str | None = None


class MessagesEvent(Struct, gc=False):
    type: str
    index: int = 0
    delta: BlockDelta | None = None
    content_block: dict[str, Any] | None = None
    message: dict[str, Any] | None = None
    usage: dict[str, Any] | None = None


class ResponsesEvent(Struct, gc=False):
    type: str
    output_index: int = 0
    content_index: int = 0
    delta: str | None = None
    item: dict[str, Any] | None = None
    response: dict[str, Any] | None = None


class GeminiPart(Struct, gc=False):
    text: str | None = None
    thought: bool = False
    functionCall: dict[str, Any] | None = None  # noqa: N815 - the field's name on the wire


class GeminiContent(Struct, gc=False):
    parts: list[GeminiPart] = []


class Candidate(Struct, gc=False):
    content: GeminiContent | None = None
    finishReason: str | None = None  # noqa: N815 - the field's name on the wire


class GeminiChunk(Struct, gc=False):
    candidates: list[Candidate] = []
    usageMetadata: dict[str, Any] | None = None  # noqa: N815 - the field's name on the wire


class ToolUse(Struct, gc=False):
    input: str | None = None


class Thought(Struct, gc=False):
    text: str | None = None


class ConverseDelta(Struct, gc=False):
    text: str | None = None
    toolUse: ToolUse | None = None  # noqa: N815 - the field's name on the wire
    reasoningContent: Thought | None = None  # noqa: N815 - the field's name on the wire


class ConverseEvent(Struct, gc=False):
    contentBlockIndex: int = 0  # noqa: N815 - the field's name on the wire
    delta: ConverseDelta | None = None
    stopReason: str | None = None  # noqa: N815 - the field's name on the wire
    usage: dict[str, Any] | None = None


def messages(reads: Iterable[bytes]) -> Iterator[bytes]:
    """The payloads of AWS messages, their checksums not looked at."""
    rest = b""
    for read in reads:
        data, at = rest + read if rest else read, 0
        while len(data) - at >= 12:
            total = int.from_bytes(data[at : at + 4])
            if len(data) - at < total:
                break
            yield data[at + 12 + int.from_bytes(data[at + 4 : at + 8]) : at + total - 4]
            at += total
        rest = data[at:]


def payloads(protocol: str, reads: Iterable[bytes]) -> Iterator[bytes]:
    if protocol == "bedrock":
        yield from messages(reads)
        return
    separator = SEPARATOR[protocol]
    named = protocol in ("anthropic", "responses")
    rest = b""
    for read in reads:
        events = (rest + read if rest else read).split(separator)
        rest = events.pop()
        for event in events:
            yield event[event.index(b"\ndata: ") + 7 :] if named else event[6:]


class Chat:
    of = Chunk

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: dict[int, list[Any]] = {}
        self.finish: str | None = None
        self.usage: Any = None

    def add(self, chunk: Chunk) -> None:
        for choice in chunk.choices:
            delta = choice.delta
            if delta.content:
                self.text.append(delta.content)
            elif delta.tool_calls:
                for call in delta.tool_calls:
                    known = self.calls.get(call.index)
                    if known is None:
                        known = self.calls[call.index] = [call.id, call.function.name, []]
                    if call.function.arguments:
                        known[2].append(call.function.arguments)
            elif delta.reasoning_content:
                self.reasoning.append(delta.reasoning_content)
            if choice.finish_reason:
                self.finish = choice.finish_reason
        if chunk.usage:
            self.usage = chunk.usage

    def result(self) -> tuple[str, str, list[str]]:
        calls = ["".join(call[2]) for _, call in sorted(self.calls.items())]
        return "".join(self.text), "".join(self.reasoning), calls


class _Blocks:
    """What the two dialects with numbered blocks share."""

    kinds: tuple[str, str] = ("", "")

    def __init__(self) -> None:
        self.blocks: dict[int, tuple[dict[str, Any], list[str]]] = {}
        self.last: Any = None

    def result(self) -> tuple[str, str, list[str]]:
        joined = [(block["type"], "".join(pieces)) for _, (block, pieces) in sorted(self.blocks.items())]
        text, reasoning = self.kinds
        calls = [pieces for kind, pieces in joined if kind not in self.kinds]
        return (
            "".join(pieces for kind, pieces in joined if kind == text),
            "".join(pieces for kind, pieces in joined if kind == reasoning),
            calls,
        )


class Messages(_Blocks):
    of = MessagesEvent
    kinds = ("text", "thinking")

    def add(self, event: MessagesEvent) -> None:
        if event.type == "content_block_delta":
            delta = event.delta
            if delta.text is not None:
                self.blocks[event.index][1].append(delta.text)
            elif delta.partial_json is not None:
                self.blocks[event.index][1].append(delta.partial_json)
            elif delta.thinking is not None:
                self.blocks[event.index][1].append(delta.thinking)
            elif delta.signature is not None:
                self.blocks[event.index][0]["signature"] = delta.signature
        elif event.type == "content_block_start":
            self.blocks[event.index] = (event.content_block, [])
        elif event.type in ("message_start", "message_delta"):
            self.last = event


class Responses(_Blocks):
    of = ResponsesEvent
    kinds = ("message", "reasoning")

    def add(self, event: ResponsesEvent) -> None:
        if event.delta is not None:
            self.blocks[event.output_index][1].append(event.delta)
        elif event.type == "response.output_item.added":
            self.blocks[event.output_index] = (event.item, [])
        elif event.type == "response.completed":
            self.last = event.response


class Gemini:
    of = GeminiChunk

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[Any] = []
        self.usage: Any = None

    def add(self, chunk: GeminiChunk) -> None:
        for candidate in chunk.candidates:
            for part in candidate.content.parts:
                if part.functionCall:
                    self.calls.append(msgspec.json.encode(part.functionCall["args"]).decode())
                elif part.thought:
                    self.reasoning.append(part.text)
                else:
                    self.text.append(part.text)
        self.usage = chunk.usageMetadata

    def result(self) -> tuple[str, str, list[str]]:
        return "".join(self.text), "".join(self.reasoning), self.calls


class Converse:
    of = ConverseEvent

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: dict[int, list[str]] = {}
        self.last: Any = None

    def add(self, event: ConverseEvent) -> None:
        delta = event.delta
        if delta is None:
            self.last = event
        elif delta.text is not None:
            self.text.append(delta.text)
        elif delta.toolUse is not None:
            self.calls.setdefault(event.contentBlockIndex, []).append(delta.toolUse.input)
        elif delta.reasoningContent is not None:
            self.reasoning.append(delta.reasoningContent.text)

    def result(self) -> tuple[str, str, list[str]]:
        calls = ["".join(pieces) for _, pieces in sorted(self.calls.items())]
        return "".join(self.text), "".join(self.reasoning), calls


ACCUMULATORS: dict[str, Any] = {
    "openai": Chat,
    "anthropic": Messages,
    "responses": Responses,
    "gemini": Gemini,
    "bedrock": Converse,
}


def split(protocol: str) -> Callable[[Iterable[bytes]], Any]:
    def run(reads: Iterable[bytes]) -> int:
        return sum(1 for _ in payloads(protocol, reads))

    return run


def decode(protocol: str) -> Callable[[Iterable[bytes]], Any]:
    read = msgspec.json.Decoder(ACCUMULATORS[protocol].of).decode

    def run(reads: Iterable[bytes]) -> None:
        for payload in payloads(protocol, reads):
            if payload != b"[DONE]":
                read(payload)

    return run


def accumulator(protocol: str) -> Callable[[Iterable[bytes]], Any]:
    kind = ACCUMULATORS[protocol]
    read = msgspec.json.Decoder(kind.of).decode

    def run(reads: Iterable[bytes]) -> tuple[str, str, list[str]]:
        folded = kind()
        add = folded.add
        for payload in payloads(protocol, reads):
            if payload != b"[DONE]":
                add(read(payload))
        return folded.result()

    return run


FLOORS = {"split": split, "decode": decode, "accumulator": accumulator}
