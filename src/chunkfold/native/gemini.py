"""
The native body of `gemini`: a `GenerateContentResponse`.

A payload of the stream has the same form as the whole body, so every field keeps its path. Each part of the message is
a part of the content, in order: those with a signature are never merged, with one without or with each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._extras import key_of
from chunkfold.dialects._media import base64_text
from chunkfold.native._build import (
    APPEND,
    EXTEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    add_error,
    arguments_of,
    choices_of,
    copied,
    extra_of,
    fields,
    fill,
    item_of,
    unwrapped,
    usage_of,
    with_object,
)
from chunkfold.parts import ReasoningPart, RefusalPart, TextPart, ToolCall, ToolResult, UnknownPart

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import AudioPart, FilePart, ImagePart, Part
    from chunkfold.response import Choice, Message, Response

__all__ = ["RULES", "body", "request"]

_PART = "candidates[].content.parts[]"
_FIELDS: dict[str, Rule] = {
    "responseId": FIRST,
    "modelVersion": FIRST,
    "createTime": FIRST,
    "candidates[].index": FIRST,
    "candidates[].finishReason": LAST,
    "candidates[].citationMetadata.citations[]": EXTEND,
    "candidates[].citationMetadata.citationSources[]": EXTEND,
    "candidates[].logprobsResult.chosenCandidates[]": EXTEND,
    "candidates[].logprobsResult.topCandidates[]": EXTEND,
    _PART: EXTEND,
    f"{_PART}.text": APPEND,
    f"{_PART}.thoughtSignature": LAST,  # of one part; no two parts share one
    f"{_PART}.inlineData.data": APPEND,
    # Values with their paths, which the arguments are put together from, and whether more of them come.
    f"{_PART}.functionCall.partialArgs": APPEND,
    f"{_PART}.functionCall.willContinue": TRANSPORT,
}


def _snake(path: str) -> str:
    return "".join("_" + letter.lower() if letter.isupper() else letter for letter in path)


RULES: Mapping[str, Rule] = {
    before + spelled(path): rule
    for before in ("", "response.")
    for spelled in (str, _snake)
    for path, rule in _FIELDS.items()
}

# The field of a part that holds its content, where the part does not say it.
_CALL, _DATA, _ADDRESS = "functionCall", "inlineData", "fileData"
# Fields of a part that are no content.
_BESIDE = frozenset({"thought", "thoughtSignature", "thought_signature"})
_MEDIA = (_DATA, _ADDRESS, "inline_data", "file_data")


def body(response: Response) -> dict[str, Any]:
    """The `GenerateContentResponse` of a response, in Code Assist's envelope if it came in one."""
    extra = response.extra
    wrapped = isinstance(extra.get("response"), dict) and "candidates" not in extra
    kept = extra_of(extra, "response") if wrapped else extra
    out = fields(kept, ("candidates",))
    _set(out, "responseId", response.id)
    _set(out, "modelVersion", response.model)
    _set(out, "createTime", response.created)
    usage = usage_of(response.usage)
    if usage is not None:
        # What the server said of it before it had counted.
        _set(out, "usageMetadata", {**extra_of(kept, "usageMetadata"), **usage})
    candidates = _candidates(response, out, extra_of(kept, "candidates"))
    if candidates or "candidates" in kept:
        out["candidates"] = candidates or (None if kept.get("candidates") is None else [])
    if wrapped:
        if "error" in kept:
            add_error(out, response)
            return {**fields(extra, ("response",)), "response": out}
        out = {**fields(extra, ("response",)), "response": out}
    add_error(out, response)
    return out


def _key(known: Mapping[str, Any], name: str) -> str:
    """The field of that name as it is spelled in *known*."""
    snake = _snake(name)
    return snake if snake in known else name


def _set(out: dict[str, Any], name: str, value: Any) -> None:
    if value is not None:
        out[_key(out, name)] = value


def _candidates(response: Response, out: dict[str, Any], kept: dict[str, Any]) -> list[Any]:
    """The candidates. What stands in no candidate goes beside them, into *out*."""
    feedback = out.get(_key(out, "promptFeedback"))
    blocked = feedback.get(_key(feedback, "blockReason")) if isinstance(feedback, dict) else None
    blocked = blocked if isinstance(blocked, str) else key_of(blocked) if type(blocked) is int else None
    made: list[Any] = []
    strays: list[Any] = []
    for choice in choices_of(response, kept):
        parts: list[Part] = []
        for part in choice.parts:
            if isinstance(part, UnknownPart) and part.name == "candidate":
                strays.append(copied(part.payload))
            elif isinstance(part, UnknownPart) and part.name == "payload" and isinstance(part.payload, dict):
                out.update((key, copied(value)) for key, value in part.payload.items() if key not in out)
            else:
                parts.append(part)
        own = extra_of(kept, choice.index)
        reason = None if choice.native_finish_reason == blocked else choice.native_finish_reason
        if parts or key_of(choice.index) in kept or reason is not None or choice.logprobs:
            made.append(_candidate(choice, parts, own, reason))
    return made + strays


def _candidate(choice: Choice, parts: list[Part], extra: dict[str, Any], reason: str | None) -> dict[str, Any]:
    out = fields(extra, ("content", "logprobsResult", "logprobs_result"))
    content = extra.get("content")
    if parts or "content" in extra:
        out["content"] = _content(parts, content)
    if reason is not None:
        key = _key(out, "finishReason")
        number = out.get(key)
        out[key] = number if type(number) is int and key_of(number) == reason else reason
    key = _key(extra, "logprobsResult")
    if choice.logprobs or key in extra:
        out[key] = _logprobs(choice, extra.get(key))
    return out


def _content(parts: list[Part], kept: Any) -> Any:
    if len(parts) == 1 and isinstance(parts[0], UnknownPart) and parts[0].name == "content" and not kept:
        return copied(parts[0].payload.get("value"))
    if not isinstance(kept, dict):
        return {"parts": _parts(parts)} if parts else kept
    out = fields(kept)
    if parts:
        out["parts"] = _parts(parts)
    return out


def _logprobs(choice: Choice, kept: Any) -> Any:
    """Tokens and their rivals, as two lists beside each other."""
    if not choice.logprobs:
        return copied(kept)
    out = fields(kept) if isinstance(kept, dict) else {}
    chosen, top = [], []
    for entry in choice.logprobs:
        token = dict(entry) if isinstance(entry, dict) else {"value": entry}
        if "topCandidates" in token:
            rivals = token.pop("topCandidates")
            top.append({"candidates": copied(rivals)} if isinstance(rivals, list) else copied(rivals))
        if token != {"value": None}:
            chosen.append(unwrapped(token))
    out[_key(out, "chosenCandidates")] = chosen
    if top:
        out[_key(out, "topCandidates")] = top
    return out


# The parts


def _parts(parts: Iterable[Part]) -> list[Any]:
    """The parts of the content, one for each part of the message."""
    out: list[Any] = []
    for part in parts:
        if isinstance(part, UnknownPart) and part.name == "partialArgs":
            # An argument value that could not be read stands beside those that could.
            made = [item for item in reversed(out) if isinstance(item, dict)]
            call = next((item[key] for item in made for key in (_CALL, _snake(_CALL)) if key in item), None)
            pieces = call.setdefault("partialArgs", []) if isinstance(call, dict) else None
            if isinstance(pieces, list):
                pieces.append(unwrapped(part.payload))
                continue
        out.append(_part(part))
    return out


def _part(part: Part) -> Any:
    if isinstance(part, UnknownPart):
        return unwrapped(part.payload)
    if isinstance(part, ToolCall):
        out = _server_call(part) if part.server_side else _call(part)
    elif isinstance(part, ToolResult):
        out = _result(part)
    elif isinstance(part, (TextPart, ReasoningPart)):
        out = fields(part.extra)
        if part.text or "text" not in part.extra.get("$absent", ()):
            out["text"] = part.text
        if isinstance(part, ReasoningPart):
            out["thought"] = True
        _set(out, "thoughtSignature", part.signature)
        return out
    elif isinstance(part, RefusalPart):
        return {"text": part.text}
    else:
        out = _media(part)
    signature = out.pop("signature", None)
    _set(out, "thoughtSignature", signature)
    return out


def _described(extra: dict[str, Any], field: str, **facts: Any) -> dict[str, Any]:
    """A part with its content under *field*: the facts that are known and the fields that are kept."""
    content = fields(extra_of(extra, field))
    fill(content, **facts)
    return {**fields(extra, (field,)), field: content}


def _call(call: ToolCall) -> dict[str, Any]:
    arguments = arguments_of(call) if call.raw_arguments.strip() else None
    field = "function_call" if call.extra.get("$field") == "function_call" else _CALL
    return _described(call.extra, field, id=call.id, name=call.name, args=arguments)


def _server_call(call: ToolCall) -> dict[str, Any]:
    """Code to run, which is the whole content; or a call of a tool of the server's."""
    field = call.type
    if _key({field: None}, "toolCall") != field:
        return {**fields(call.extra, (field,)), field: arguments_of(call)}
    arguments = arguments_of(call) if call.raw_arguments.strip() else None
    out = _described(call.extra, field, id=call.id, args=arguments)
    _set_spelled(out[field], field, "toolType", call.name)
    return out


def _result(part: ToolResult) -> dict[str, Any]:
    field = part.extra.get("type")
    if not isinstance(field, str):
        # Another provider's result.
        return _described({}, "functionResponse", id=part.call_id, name=part.name, response={"output": part.content})
    leave = ("type", field)
    if field in ("codeExecutionResult", "code_execution_result"):
        return {**fields(part.extra, leave), field: copied(part.content)}
    kept = fields(extra_of(part.extra, field))
    if not kept and part.call_id is None and part.name is None and not isinstance(part.content, dict):
        return {**fields(part.extra, leave), field: copied(part.content)}
    fill(kept, id=part.call_id, response=copied(part.content))
    if field in ("toolResponse", "tool_response"):
        _set_spelled(kept, field, "toolType", part.name)
    else:
        fill(kept, name=part.name)
    return {**fields(part.extra, leave), field: kept}


def _media(part: ImagePart | AudioPart | FilePart) -> dict[str, Any]:
    field = part.extra.get("$field")
    if field not in _MEDIA:
        field = _ADDRESS if part.url is not None and part.data is None else _DATA
    out = _described(part.extra, field)
    content = out[field]
    if part.data is not None:
        content["data"] = base64_text(part.data, part.extra.get("$form"))
    _set_spelled(content, field, "mimeType", part.media_type)
    _set_spelled(content, field, "fileUri", part.url)
    return out


def _set_spelled(content: dict[str, Any], field: str, name: str, value: Any) -> None:
    """Set a fact of a content in the spelling of the field that holds it."""
    if value is not None:
        content[_snake(name) if "_" in field else name] = value


def request(message: Message) -> dict[str, Any]:
    """The content for `contents` of the next request: every part with its signature."""
    parts = _parts(with_object(part) for part in message.parts if _is_sent(part))
    for part in parts:
        if isinstance(part, dict) and part.keys() <= _BESIDE:
            part["text"] = ""  # a signature must stand beside something
    return {"role": "model", "parts": parts}


def _is_sent(part: Part) -> bool:
    """True unless it is no part: what stands beside the content, or could not be read."""
    if isinstance(part, UnknownPart):
        return part.name == "part"
    return bool(getattr(part, "text", None) or part.kind not in ("text", "reasoning") or item_of(part)) or bool(
        getattr(part, "signature", None)
    )
