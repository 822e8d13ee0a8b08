"""
The native body of `gemini-interactions`: an interaction with its steps.

A step is one part of the message, but for the model's output, which holds contents, and a thought, whose summary may
have paragraphs: there `$field` is the number of the step that a part belongs to, and `$form` says `inner` of all but
the first. A delta that is not understood is one of the contents of its step. The older revision calls the steps
`outputs`, and has the contents among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.assembly._extras import index_of, key_of
from chunkfold.basis import _json
from chunkfold.dialects._media import base64_text
from chunkfold.native._build import (
    APPEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    add_error,
    add_unknown,
    arguments_of,
    copied,
    extra_of,
    fields,
    fill,
    is_whole,
    item_of,
    unwrapped,
    usage_of,
    usual,
    with_object,
)
from chunkfold.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Message, Response

__all__ = ["EVENTS", "RULES", "body", "request"]

_STEP, _CONTENT, _SUMMARY = "steps[]", "steps[].content[]", "steps[].summary[]"

RULES: Mapping[str, Rule] = {
    # What kind of event it is, which step it is about, and where a broken stream can be taken up again.
    "event_type": TRANSPORT,
    "type": TRANSPORT,
    "index": TRANSPORT,
    "event_id": TRANSPORT,
    "interaction": Rule("last", "$"),
    "interaction.id": Rule("first", "id"),
    "interaction.model": Rule("first", "model"),
    "interaction.created": Rule("first", "created"),
    "interaction_id": Rule("first", "id"),
    "id": FIRST,
    "status": LAST,
    "usage": LAST,
    "metadata.total_usage": Rule("last", "usage"),
    "step_usage": Rule("last", f"{_STEP}.usage"),
    "step": Rule("extend", _STEP),
    "step.arguments": APPEND,
    "step.content[].text": APPEND,
    "step.summary[].text": APPEND,
    "content": Rule("extend", "outputs[]"),
    "content.text": APPEND,
    # A delta that is not understood.
    "delta": Rule("extend", _CONTENT),
    "steps[].content[].text": APPEND,
    "outputs[].text": APPEND,
}

_OF_CONTENT: Mapping[str, Rule] = {
    "delta.text": APPEND,
    "delta.data": APPEND,
    "delta.annotations[]": Rule("extend", f"{_CONTENT}.annotations[]"),
    "delta.annotations": Rule("extend", f"{_CONTENT}.annotations[]"),
}
_OF_STEP: Mapping[str, Rule] = {"delta": Rule("extend", _STEP), "delta.arguments": APPEND}

# What the fields of a delta mean, by its type.
EVENTS: Mapping[str, Mapping[str, Rule]] = {
    **dict.fromkeys(("text", "image", "audio", "video", "document"), _OF_CONTENT),
    **{kind: {**_OF_CONTENT, "delta.type": TRANSPORT} for kind in ("text_annotation", "text_annotation_delta")},
    **{
        kind: {
            "delta.type": TRANSPORT,
            "delta.content": Rule("extend", _SUMMARY),
            "delta.content.text": APPEND,
            "delta.text": Rule("append", f"{_SUMMARY}.text"),
            "delta.thought": Rule("append", f"{_SUMMARY}.text"),
        }
        for kind in ("thought_summary", "thought")
    },
    "thought_signature": {"delta.type": TRANSPORT, "delta.signature": Rule("last", f"{_STEP}.signature")},
    **{
        kind: {
            "delta.type": TRANSPORT,
            "delta.arguments": APPEND,
            "delta.partial_arguments": Rule("append", f"{_STEP}.arguments"),
        }
        for kind in ("arguments_delta", "arguments")
    },
    **{
        f"{tool}_{what}": {**_OF_STEP, "delta.result": Rule("last", f"{_STEP}.result")}
        for tool in (
            "function", "google_search", "google_maps", "code_execution", "url_context", "file_search", "retrieval",
            "tool_search", "mcp_server_tool", "processing",
        )
        for what in ("call", "result")
    },
}  # fmt: skip

_Step = tuple[Any, dict[str, Any]]
_Content = (TextPart, RefusalPart, ImagePart, AudioPart, FilePart)


def body(response: Response) -> dict[str, Any]:
    """The interaction of a response."""
    extra, whole = response.extra, is_whole(response)
    out = fields(extra)
    for key in ("steps", "outputs"):
        if isinstance(out.get(key), dict):
            out[key] = []
    fill(out, id=response.id, model=response.model, created=response.created, usage=usage_of(response.usage))
    fill(out, status=response.native_finish_reason)
    parts = response.parts
    is_old = "outputs" in extra
    name = "outputs" if is_old else "steps"
    steps = _steps((part for part in parts if not _is_beside(part)), is_old=is_old)
    _add_citations(steps, response)
    made = _with_fields(steps, extra_of(extra, "steps"))
    if made or (not whole and name not in out):
        out[name] = made
    if not whole and (made or response.error is None):
        out.setdefault("object", "interaction")
    add_unknown(out, (part for part in parts if _is_beside(part)))
    for key in ("event_type", "event_id", "index"):
        out.pop(key, None)
    add_error(out, response)
    return out


def _is_beside(part: Part) -> bool:
    """True if it is no step and nothing in one."""
    if not isinstance(part, UnknownPart):
        return False
    payload = part.payload
    if part.name.startswith("content.") or part.name in ("thought_summary", "step", "content", "summary"):
        return False
    if not isinstance(payload, dict):
        return True
    if payload.get("event_type") in ("step.delta", "content.delta"):
        return "delta" not in payload
    return "event_type" in payload or payload.get("type") != part.name


def _steps(parts: Iterable[Part], *, is_old: bool = False) -> list[_Step]:
    """The steps, each with its number."""
    out: list[_Step] = []
    for part in parts:
        number = part.index if isinstance(part, ToolCall) else item_of(part).get("$field")
        is_inner = "inner" in str(item_of(part).get("$form", "")).split() and bool(out) and out[-1][0] == number
        if isinstance(part, UnknownPart):
            _add_unknown(out, part)
        elif isinstance(part, ReasoningPart):
            step = out[-1][1] if is_inner and not (part.signature and out[-1][1].get("signature")) else {}
            if isinstance(step.get("summary"), list):
                step["summary"].append(_paragraph(part))
                fill(step, signature=part.signature)
            else:
                out.append((number, _thought(part)))
        elif isinstance(part, _Content):
            content = out[-1][1].get("content") if is_inner else None
            if is_old:
                out.append((number, _content(part)))
            elif isinstance(content, list):
                content.append(_content(part))
            else:
                out.append((number, {"type": "model_output", "content": [_content(part)]}))
        else:
            out.append((number, _call(part) if isinstance(part, ToolCall) else _result(part)))
    return out


def _add_unknown(out: list[_Step], part: UnknownPart) -> None:
    """What is not understood, in the step that it came for or as a step of its own."""
    payload = part.payload
    if part.name in ("thought_summary", "summary"):
        _list_in(out, None, "thought", "summary").append(copied(payload))
    elif part.name.startswith("content.") or part.name == "content":
        _list_in(out, None, "model_output", "content").append(copied(payload))
    elif isinstance(payload, dict) and "delta" in payload and "event_type" in payload:
        _list_in(out, payload.get("index"), "model_output", "content").append(copied(payload["delta"]))
    else:
        out.append((None, copied(payload)))


def _add_citations(out: list[_Step], response: Response) -> None:
    """Citations that came for a step without any text."""
    texts = [part for part in response.parts if isinstance(part, TextPart)]
    known = {_json.identity(item) for part in texts for item in part.annotations}
    others = [copied(item) for item in response.annotations if _json.identity(item) not in known]
    if others:
        content = {"type": "text", "text": "", "annotations": others}
        out.append((None, {"type": "model_output", "content": [content]}))


def _list_in(out: list[_Step], number: Any, kind: str, name: str) -> list[Any]:
    """The list of that name in the last step, which is made if there is none."""
    step = out[-1][1] if out and isinstance(out[-1][1], dict) else None
    if (
        step is None
        or (number is not None and out[-1][0] not in (None, number))
        or (step.get("type") != kind and number is None)
    ):
        step = {"type": kind}
        out.append((number, step))
    found = step.get(name)
    if not isinstance(found, list):
        found = step[name] = []
    return found


def _with_fields(steps: list[_Step], kept: dict[str, Any]) -> list[dict[str, Any]]:
    """The steps with what else was said of them, and those of which nothing but that was said."""
    known = {key_of(number) for number, _ in steps}
    for key in sorted((key for key in kept if key not in known), key=lambda key: (not key.isdecimal(), key.zfill(9))):
        index = index_of(key)
        number = key if index is None else index
        place = next((at for at, (other, _) in enumerate(steps) if _is_after(other, number)), len(steps))
        steps.insert(place, (number, {}))
    kept = dict(kept)
    for number, step in steps:
        more = kept.get(key_of(number))
        if (
            isinstance(more, dict)
            and isinstance(step, dict)
            and step.get("type", more.get("type")) == more.get("type", step.get("type"))
        ):
            step.update((key, copied(value)) for key, value in more.items() if key not in step)
            del kept[key_of(number)]
    return [step for _, step in steps]


def _is_after(number: Any, other: Any) -> bool:
    return isinstance(number, int) and isinstance(other, int) and number > other


def _thought(part: ReasoningPart) -> dict[str, Any]:
    kept = part.extra.get("summary")
    out = {**fields(part.extra), "type": "thought"}
    if part.text or isinstance(kept, list):
        out["summary"] = [_paragraph(part)] if part.text or kept else []
    fill(out, signature=part.signature)
    return out


def _paragraph(part: ReasoningPart) -> dict[str, Any]:
    kept = part.extra.get("summary")
    form = fields(kept[0]) if isinstance(kept, list) and kept else {"type": "text"}
    return {**form, "text": part.text} if part.text or "text" not in form else form


def _content(part: TextPart | RefusalPart | ImagePart | AudioPart | FilePart) -> dict[str, Any]:
    if isinstance(part, (TextPart, RefusalPart)):
        out = {**fields(item_of(part)), "type": "text", "text": part.text}
        if isinstance(part, TextPart) and part.annotations and not out.get("annotations"):
            out["annotations"] = [*map(unwrapped, part.annotations)]
        return out
    out = {"type": part.kind, **fields(part.extra)}
    fill(out, mime_type=part.media_type, uri=part.url)
    if part.data is not None:
        out["data"] = base64_text(part.data, str(part.extra.get("$form", "")))
    return out


def _call(call: ToolCall) -> dict[str, Any]:
    absent = call.extra.get("$absent", ())
    out = {"type": call.type if call.type != "function" else "function_call", **fields(call.extra)}
    fill(out, id=call.id)
    # A tool without a name of its own is called as its type is.
    if call.name != call.type.removesuffix("_call") or ("name" not in absent and "name" not in out):
        fill(out, name=call.name)
    if call.raw_arguments.strip() or ("arguments" not in absent and "arguments" not in out):
        as_text = call.extra.get("$form") == "string"
        out["arguments"] = call.raw_arguments if as_text else arguments_of(call)
    return out


def _result(part: ToolResult) -> dict[str, Any]:
    absent = part.extra.get("$absent", ())
    out = fields(part.extra)
    kind = out.get("type")
    if not isinstance(kind, str):
        kind = out["type"] = "function_result"
    fill(out, call_id=part.call_id)
    if part.name != kind.removesuffix("_result") or ("name" not in absent and "name" not in out):
        fill(out, name=part.name)
    if "result" not in absent or part.content is not None:
        out["result"] = copied(part.content)
    if "is_error" not in absent or part.is_error:
        out["is_error"] = part.is_error
    return out


def request(message: Message) -> list[dict[str, Any]]:
    """The steps for `input` of the next request: thoughts with their signatures, calls and results with their ids."""
    parts = (usual(with_object(part)) for part in message.parts if not isinstance(part, UnknownPart))
    return [step for _, step in _steps(parts)]
