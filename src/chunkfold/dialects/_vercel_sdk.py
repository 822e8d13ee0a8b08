"""
The parts that Vercel's AI SDK has inside (`fullStream`, also of version 4), which some servers pass on as they are, and
Mastra in chunks of its own: what they are in the stream for the browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._usage import count, total
from chunkfold.dialects._words import is_blank
from chunkfold.response import Usage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["NAMES", "chunk_of", "in_envelope", "is_done", "model_of", "opened", "sdk_usage", "usage_of"]

# The type that the browser is told, and the fields that have another name.
NAMES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "stream-start": ("start", {}),
    "response-metadata": ("start", {}),
    "tool-input-start": ("tool-input-start", {"id": "toolCallId"}),
    "tool-input-delta": ("tool-input-delta", {"id": "toolCallId", "delta": "inputTextDelta"}),
    "tool-input-end": ("tool-input-end", {"id": "toolCallId"}),
    "tool-call": ("tool-input-available", {"args": "input"}),
    "tool-call-streaming-start": ("tool-input-start", {}),
    "tool-call-input-streaming-start": ("tool-input-start", {}),
    "tool-call-input-streaming-end": ("tool-input-end", {}),
    "tool-call-start": ("tool-input-start", {}),
    "tool-call-begin": ("tool-input-start", {}),
    "tool-call-delta": ("tool-input-delta", {"argsTextDelta": "inputTextDelta", "argsText": "inputTextDelta"}),
    "tool-call-end": ("tool-input-end", {}),
    "tool-result": ("tool-output-available", {"result": "output"}),
    "tool-error": ("tool-output-error", {"error": "errorText"}),
    "reasoning": ("reasoning-delta", {}),
    "reasoning-signature": ("reasoning-delta", {}),
    "step-start": ("start-step", {}),
    "step-finish": ("finish-step", {}),
    "message-finish": ("finish", {}),
    "source": ("source-url", {"id": "sourceId"}),
    "file": (
        "file",
        {"mimeType": "mediaType", "base64Data": "base64", "data": "base64", "base64": "base64", "file": ""},
    ),
    "tool-approval-request": ("tool-approval-request", {"toolCall": ""}),
    "tool-approval-response": ("tool-approval-response", {"toolCall": ""}),
}


def in_envelope(payload: Mapping[str, Any]) -> bool:
    """True for a chunk of Mastra: what is said is in its `payload`, and beside it who says so, in which run."""
    return isinstance(payload.get("payload"), dict) and isinstance(payload.get("from"), str)


def opened(payload: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """What such a chunk says, with the fields beside it that are not *known*."""
    inner = payload["payload"]
    beside = {name: payload[name] for name in payload if name != "payload" and known.get(name) != payload[name]}
    chunk = {**beside, **inner, "type": payload["type"]}
    if twice := {name: beside[name] for name in beside if name in inner and name != "type"}:
        chunk["chunk"] = twice
    if chunk["type"] == "start" and "id" in chunk:
        chunk["agentId"] = chunk.pop("id")
    if chunk["type"] == "finish":
        step, output = chunk.get("stepResult"), chunk.get("output")
        if isinstance(step, dict):
            chunk.setdefault("finishReason", step.get("reason"))
        if isinstance(output, dict) and isinstance(output.get("usage"), dict):
            chunk.setdefault("totalUsage", output["usage"])
    return chunk


def chunk_of(payload: dict[str, Any]) -> dict[str, Any]:
    """The chunk that a part of one of those types is; *payload* itself if it is that chunk."""
    kind = payload["type"]
    said, names = NAMES[kind]
    if kind == said and payload.keys().isdisjoint(names):
        return payload
    chunk = _renamed(payload, names)
    if kind == "response-metadata":
        chunk = {"messageId": payload.get("id"), "response": _without_type(payload)}
    chunk["type"] = said
    if kind in ("tool-result", "tool-error"):
        chunk.pop("input", None)  # the call has it
        chunk.pop("args", None)
    if kind == "tool-result" and chunk.get("isError") is True:
        del chunk["isError"]
        chunk |= {"type": "tool-output-error", "errorText": chunk.pop("output", None)}
    if kind == "tool-call" and payload.get("invalid") is True:
        chunk |= {"type": "tool-input-error", "errorText": chunk.pop("error", None)}
    if kind == "source":
        if isinstance(chunk.get("source"), dict):  # version 4
            chunk |= _renamed(chunk.pop("source"), names) | {"type": said}
        if chunk.get("sourceType") == "document":
            chunk["type"] = "source-document"
        chunk.pop("sourceType", None)
    if kind == "file":
        _give_url(chunk, names)
    call = chunk.get("toolCall")
    if isinstance(call, dict) and "toolCallId" in call:
        del chunk["toolCall"]  # the call itself has come
        chunk["toolCallId"] = call["toolCallId"]
    if isinstance(chunk.get("errorText"), dict):
        error = chunk["errorText"]
        chunk["errorText"] = error["message"] if isinstance(error.get("message"), str) else _json.encode(error)
    return chunk


def _without_type(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in fields if name != "type"}


def _renamed(fields: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """*fields* under the names that the browser is told, but where that name is there too."""
    return {(names[name] if names.get(name) and names[name] not in fields else name): fields[name] for name in fields}


def _give_url(chunk: dict[str, Any], names: Mapping[str, str]) -> None:
    """Give a file the address that the browser has it by; inside, its bytes are beside their type."""
    if isinstance(chunk.get("file"), dict):
        chunk |= _renamed(chunk.pop("file"), names) | {"type": "file"}
    data, media = chunk.get("base64"), chunk.get("mediaType")
    if "url" not in chunk and isinstance(data, str) and isinstance(media, str):
        del chunk["base64"]
        chunk["url"] = data if "://" in data else f"data:{media};base64,{data}"


def model_of(payload: Mapping[str, Any]) -> str | None:
    """The model that has answered, in what the end of a step tells of the provider's response."""
    for name in ("response", "metadata") if "stepResult" in payload else ("response",):
        answer = payload.get(name)
        model = answer.get("modelId") if isinstance(answer, dict) else None
        if isinstance(model, str):
            return model
    return None


def is_done(message: Mapping[str, Any]) -> bool:
    """False for a UI message that was stored while a part of it was still coming, unless it says how it ended."""
    if message.get("finishReason") is not None or "abort" in message:
        return True
    parts = [part for part in message["parts"] if isinstance(part, dict)]
    return all(part.get("state") not in ("streaming", "input-streaming") for part in parts)


def usage_of(payload: Mapping[str, Any]) -> Any:
    """The usage that the end of the stream tells: that of all steps together."""
    return payload.get("usage") if is_blank(payload.get("totalUsage")) else payload["totalUsage"]


def sdk_usage(raw: dict[str, Any]) -> Usage:
    """
    The SDK's usage: version 5 has cached and reasoning tokens beside the sums that they are in, 6 below them. Models of
    version 3, and the gateway, have them in one object with the sum.
    """
    prompt = count(raw, "inputTokens", "promptTokens", "inputTokens.total")
    output = count(raw, "outputTokens", "completionTokens", "outputTokens.total")
    return Usage(
        input_tokens=prompt,
        output_tokens=output,
        total_tokens=total(count(raw, "totalTokens"), prompt, output),
        cached_input_tokens=count(
            raw, "cachedInputTokens", "inputTokenDetails.cacheReadTokens", "inputTokens.cacheRead"
        ),
        cache_write_input_tokens=count(raw, "inputTokenDetails.cacheWriteTokens", "inputTokens.cacheWrite"),
        reasoning_tokens=count(raw, "reasoningTokens", "outputTokenDetails.reasoningTokens", "outputTokens.reasoning"),
        raw=raw,
    )
