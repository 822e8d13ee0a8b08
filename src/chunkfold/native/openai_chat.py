"""
The native body of `openai-chat`: a `chat.completion`.

A piece comes under `choices[].delta`, the whole under `choices[].message`; the rest has the same path in both. Calls
are put in order by their `index`, which a whole body has at few vendors and a stream at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._call_shape import ARGUMENTS
from chunkfold.dialects._chat_ernie import FORM
from chunkfold.dialects._media import base64_text
from chunkfold.native._build import (
    APPEND,
    EXTEND,
    FIRST,
    LAST,
    TRANSPORT,
    Rule,
    add_error,
    add_unknown,
    arguments_of,
    choices_of,
    copied,
    data_url,
    error_of,
    extra_of,
    fields,
    fill,
    is_whole,
    item_of,
    unwrapped,
    usage_of,
    usual,
    with_object,
    with_object_text,
)
from chunkfold.parts import (
    AudioPart,
    ImagePart,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from chunkfold.parts import Part
    from chunkfold.response import Choice, Message, Response

__all__ = ["RULES", "body", "request"]

_MESSAGE = "choices[].message"
_PIECES = {
    # What a piece says of the message, by its field; the same under `message`, where a server restates it whole.
    "": LAST,
    ".role": FIRST,
    ".content": APPEND,
    ".refusal": APPEND,
    ".reasoning": APPEND,
    ".reasoning_content": APPEND,
    ".reasoning_text": APPEND,
    ".thinking": APPEND,
    ".cot_summary": APPEND,
    ".reasoning_details[]": FIRST,
    ".reasoning_details[].text": APPEND,
    ".reasoning_details[].summary": APPEND,
    ".reasoning_details[].data": LAST,
    ".reasoning_details[].signature": LAST,
    ".thinking_blocks[]": FIRST,
    ".thinking_blocks[].thinking": APPEND,
    ".thinking_blocks[].signature": LAST,
    ".reasoning_items[]": EXTEND,
    ".reasoning_steps[]": EXTEND,
    ".annotations[]": EXTEND,
    ".provider_specific_fields.citation": Rule("extend", f"{_MESSAGE}.annotations[]"),
    ".images[]": EXTEND,
    ".executed_tools[]": LAST,
    ".audio": LAST,
    ".audio.id": FIRST,
    ".audio.data": APPEND,
    ".audio.transcript": APPEND,
    ".tool_calls[]": LAST,
    # The place of a call, by which its pieces are found; at some vendors it is drawn anew or always 0.
    ".tool_calls[].index": TRANSPORT,
    ".tool_calls[].id": FIRST,
    ".tool_calls[].type": FIRST,
    ".tool_calls[].function.name": APPEND,
    ".tool_calls[].custom.name": APPEND,
    ".tool_calls[].custom.input": APPEND,
    ".tool_calls[].mcp.arguments": APPEND,
    **{f".tool_calls[].{field}": APPEND for field in ("name", *ARGUMENTS)},
    **{f".tool_calls[].function.{field}": APPEND for field in ARGUMENTS},
    ".function_call.name": APPEND,
    ".function_call.arguments": APPEND,
}

RULES: Mapping[str, Rule] = {
    "id": FIRST,
    "model": FIRST,
    "created": FIRST,
    "object": TRANSPORT,  # `chat.completion.chunk`, which becomes `chat.completion`
    "obfuscation": TRANSPORT,  # padding against guessing by size
    "p": TRANSPORT,  # the same at Mistral
    "choices[].index": FIRST,
    "choices[].text": Rule("append", "choices[].message.content"),  # the same text once more
    "choices[].finish_reason": LAST,
    "choices[].logprobs.content[]": EXTEND,
    "choices[].logprobs.refusal[]": EXTEND,
    "choices[].reasoning_logprobs.content[]": EXTEND,
    "choices[].token_ids[]": EXTEND,
    "choices[].annotations[]": Rule("extend", f"{_MESSAGE}.annotations[]"),
    "choices[].usage": Rule("last", "usage"),
    "choices[].delta.content_blocks[].index": TRANSPORT,
    **{f"choices[].delta.content_blocks[].delta.{field}": Rule("append", f"{_MESSAGE}.content_blocks[].{field}")
       for field in ("text", "thinking")},
    **{f"choices[].delta.content_blocks[].delta.{field}": Rule("last", f"{_MESSAGE}.content_blocks[].{field}")
       for field in ("signature", "data")},
    "x_groq.usage": Rule("last", "usage"),
    **{f"choices[].{side}{field}": Rule(how, at or _MESSAGE + field) for side in ("delta", "message")
       for field, (how, at) in _PIECES.items()},
}  # fmt: skip

# What a message without text has for `content`, where a vendor's stream says something else.
_NO_CONTENT = {"llamacpp": ""}

_REASONING = "reasoning_content"
_NAMES = (
    "reasoning_content", "reasoning", "reasoning_text", "thinking", "cot_summary", "reasoning_details",
    "thinking_blocks", "reasoning_steps",
)  # fmt: skip
# What stands beside reasoning and is wanted back.
_BACK = ("reasoning_opaque", "reasoning_signature")
_BESIDE = (*_BACK, "extra_content")
# What a message may have instead of a text.
_INSTEAD = frozenset({"tool_calls", "content_list", "function_call", "refusal", "audio"})
_ITEMS = ("item", "inner", "string", "signed", "tag", "tagged")


def body(response: Response) -> dict[str, Any]:
    """The `chat.completion` of a response."""
    extra = response.extra
    whole = is_whole(response)
    out = fields(extra, ("choices",))
    fill(out, id=response.id, model=response.model, created=response.created, usage=usage_of(response.usage))
    kept = extra_of(extra, "choices")
    choices = [
        _choice(choice, extra_of(kept, choice.index), response, whole)
        for choice in choices_of(response, kept, _is_content)
    ]
    error = error_of(response)
    if not whole and (choices or error is None):
        out["object"] = "chat.completion"
    if choices or "choices" in extra or (error is None and not whole):
        out["choices"] = choices or (None if error is not None and extra.get("choices", []) is None else [])
    holders = [holder for choice in choices for holder in (choice, choice.get("message") or {})]
    if error is None or error.get("error") not in [holder["error"] for holder in holders if holder.get("error")]:
        add_error(out, response)
    add_unknown(out, [part for part in response.parts if not _is_content(part)])
    if extra.get("$form") == FORM and choices:
        _flatten(out, choices[0])
    return out


def _flatten(out: dict[str, Any], choice: dict[str, Any]) -> None:
    """ERNIE has its answer at the top."""
    message = choice.get("message", {})
    del out["choices"]
    out["result"] = message.get("content") or ""
    fill(out, function_call=message.get("function_call"), finish_reason=choice.get("finish_reason"))


def _is_content(part: Part) -> bool:
    """True unless the part is a payload that was not understood, whose fields stand beside the message."""
    return not isinstance(part, UnknownPart) or part.name.startswith("content.")


def _choice(choice: Choice, extra: dict[str, Any], response: Response, whole: bool) -> dict[str, Any]:
    out = fields(extra, ("message", "logprobs"))
    if not whole:
        out["index"] = choice.index
    message = extra_of(extra, "message")
    if "message" not in extra.get("$absent", ()):
        beside = _listed(out.get("annotations"))
        annotations = [item for item in choice.annotations if item not in beside]
        shown = out["message"] = _message(choice.parts, message, annotations, whole=whole)
        if not whole:
            shown["role"] = choice.role
            if shown.setdefault("content", None) is None:
                shown["content"] = _NO_CONTENT.get(response.vendor or "")
    if not whole:
        out.setdefault("finish_reason", None)
    fill(out, finish_reason=choice.native_finish_reason)
    if choice.logprobs or "logprobs" in extra:
        out["logprobs"] = _logprobs(choice, extra.get("logprobs", {}))
    return out


def _logprobs(choice: Choice, form: Any) -> Any:
    """`{content: [...]}`, or as the server has it: a list, or what is no list of entries at all."""
    form = {} if form is None and choice.logprobs else form
    entries = [copied(entry) for entry in choice.logprobs]
    if isinstance(form, dict):
        out = fields(form)
        if entries:
            out["content"] = entries
        return out
    if not entries:
        return copied(form)
    return entries[0] if form == "" and len(entries) == 1 else entries


def _message(
    parts: Iterable[Part], extra: dict[str, Any], annotations: Iterable[dict[str, Any]], *, whole: bool = False
) -> dict[str, Any]:
    """The message that holds *parts*."""
    out = fields(extra)
    content: list[Part] = []
    calls: list[ToolCall] = []
    reasoning: list[ReasoningPart] = []
    images: list[dict[str, Any]] = []
    refusal: list[str] = []
    results: list[dict[str, Any]] = []
    cited: list[dict[str, Any]] = []
    for part in parts:
        if isinstance(part, TextPart):
            content.append(part)
            cited += part.annotations
        elif isinstance(part, RefusalPart):
            refusal.append(part.text)
        elif isinstance(part, ToolCall):
            calls.append(part)
        elif isinstance(part, AudioPart):
            out["audio"] = _audio(part)
        elif isinstance(part, UnknownPart):
            if _is_content(part):
                content.append(part)
        elif isinstance(part, (ReasoningPart, ImagePart)) and part.extra.get("$form") in _ITEMS:
            content.append(part)
        elif isinstance(part, ReasoningPart):
            reasoning.append(part)
        elif isinstance(part, ImagePart):
            images.append(_image(part))
        elif isinstance(part, ToolResult):
            results.append(_result(part))
    if results:
        out["tool_results"] = results
    if content:
        out["content"] = _content(content)
    field = extra.get("$field")
    if field == "content_blocks":
        _add_blocks(out, content, extra)
    elif field == "content_list" and out.get("content") is not None:
        out["content_list"] = [{"type": "text", "text": out["content"]}]
    if refusal:
        out["refusal"] = "".join(refusal)
    _add_reasoning(out, reasoning)
    if images:
        out["images"] = images
    _add_calls(out, calls, whole)
    _add_annotations(out, annotations, cited)
    return out


def _result(part: ToolResult) -> dict[str, Any]:
    """What a tool gave back, as it stands in the messages of a request."""
    out: dict[str, Any] = {"role": "tool"}
    fill(out, tool_call_id=part.call_id, name=part.name)
    return {**out, "content": copied(part.content)}


def _content(parts: list[Part]) -> Any:
    """One text, or a list where the provider has one."""
    texts = [_plain(part) for part in parts]
    if None not in texts:
        return "".join(texts)  # type: ignore[arg-type]
    items: list[Any] = []
    for part in parts:
        form = item_of(part).get("$form")
        if isinstance(part, UnknownPart):
            items.append(copied(part.payload))
        elif isinstance(part, TextPart):
            items.append(part.text if form == "string" else {"type": "text", **fields(part.extra), "text": part.text})
            items += map(unwrapped, part.annotations)
        elif isinstance(part, ReasoningPart) and form == "inner" and items:
            inner = items[-1].get(part.extra.get("$field"))
            inner.append(_inner(part)) if isinstance(inner, list) else items.append(_thinking(part))
        else:
            items.append(_thinking(part) if isinstance(part, ReasoningPart) else _image(part))  # type: ignore[arg-type]
    return items


def _plain(part: Part) -> str | None:
    """The text of a part that stands in the content as such, a thought between its tags; else `None`."""
    if isinstance(part, TextPart) and part.extra.get("$form") is None and not part.annotations:
        return part.text
    form, tag = item_of(part).get("$form"), item_of(part).get("$field")
    if not isinstance(part, ReasoningPart) or form not in ("tag", "tagged"):
        return None
    return f"<{tag}>{part.text}{f'</{tag}>' if form == 'tagged' else ''}"


def _add_blocks(out: dict[str, Any], parts: list[Part], extra: Mapping[str, Any]) -> None:
    """The content as the blocks that Portkey has beside its text, which is left out of Gemini's if there is none."""
    items = out.pop("content", None) or []
    out["content_blocks"] = items if isinstance(items, list) else [{"type": "text", "text": items}]
    text = "".join([part.text for part in parts if isinstance(part, TextPart)])
    if text or "content" in extra:
        out["content"] = text or extra["content"]


def _thinking(part: ReasoningPart) -> dict[str, Any]:
    """Mistral's `thinking` and Databricks' `reasoning`: a list of texts, or one text. Anthropic's may be withheld."""
    if part.redacted:
        return _block(part)
    field = part.extra.get("$field")
    name = field if isinstance(field, str) else "thinking"
    held, is_signed = part.extra.get(name), part.extra.get("$form") == "signed"
    out = {"type": "thinking", **fields(part.extra, (*_BESIDE, *([name] if held else [])))}
    if isinstance(held, list):
        out[name] = [_inner(part, is_signed=is_signed)] if part.text or held else []
    elif part.text:
        out[name] = part.text
    if is_signed or not isinstance(held, list):
        fill(out, signature=part.signature)
    return out


def _inner(part: ReasoningPart, *, is_signed: bool = False) -> Any:
    """One of the texts that an item of reasoning is a list of; the item itself may have the signature."""
    kept = part.extra.get(part.extra.get("$field") or "thinking")
    form = kept[0] if isinstance(kept, list) and kept else {}
    if form is None:
        return part.text
    piece = {**fields(form), "text": part.text}
    fill(piece, signature=None if is_signed else part.signature)
    return piece


def _add_reasoning(out: dict[str, Any], parts: list[ReasoningPart]) -> None:
    """The reasoning under the names that the provider has for it."""
    details, blocks, steps = [], [], []
    items = [copied(part.extra["$item"]) for part in parts if "$item" in part.extra]
    texts: dict[str, list[str]] = {}
    forms: dict[str, dict[str, Any]] = {}
    for part in parts:
        names = part.extra.get("$field")
        # Another provider's note is none: a name or a number of its own.
        for name in names if isinstance(names, list) else [names if names in _NAMES else _REASONING]:
            if name == "reasoning_details":
                details.append(_detail(part))
            elif name == "thinking_blocks":
                blocks.append(_block(part))
            elif name == "reasoning_steps":
                steps.append({**fields(part.extra), **({"thought": part.text} if part.text else {})})
            elif part.text or "signature" in part.extra:
                texts.setdefault(name, []).append(part.text)
                forms[name] = {**forms.get(name, {}), **part.extra}
    for name, pieces in texts.items():
        text = "".join(pieces)
        key = forms[name].get("$form")
        out[name] = {**fields(forms[name]), key: text} if key else text
    if details:
        out["reasoning_details"] = details
    if blocks:
        out["thinking_blocks"] = blocks
    if items:
        out["reasoning_items"] = items
    if steps:
        out["reasoning_steps"] = steps


def _block(part: ReasoningPart) -> dict[str, Any]:
    """A block of thinking in Anthropic's form, as LiteLLM has it."""
    if part.redacted:
        return {**fields(part.extra, _BESIDE), "type": "redacted_thinking", "data": part.encrypted}
    out = {**fields(part.extra, _BESIDE), "type": "thinking", "thinking": part.text}
    fill(out, signature=part.signature)
    return out


def _detail(part: ReasoningPart) -> dict[str, Any]:
    out = fields(part.extra, _BESIDE)
    for key in part.extra.get("$absent", ()):
        out.pop(key, None)
    if part.text:
        out["summary" if part.summary else "text"] = part.text
    fill(out, data=part.encrypted, signature=part.signature)
    return out


def _image(part: ImagePart) -> dict[str, Any]:
    out = fields(part.extra)
    url = data_url(part)
    if url is not None:
        out["image_url"] = url if part.extra.get("$field") else {**extra_of(part.extra, "image_url"), "url": url}
    return out


def _audio(part: AudioPart) -> dict[str, Any]:
    out = fields(part.extra)
    fill(out, id=part.id, transcript=part.transcript)
    if part.data is not None:
        out["data"] = base64_text(part.data)
    return out


def _add_calls(out: dict[str, Any], calls: list[ToolCall], whole: bool) -> None:
    made = []
    for call in calls:
        if call.type == "function_call":
            out["function_call"] = _function(call, "function", whole)
        elif call.extra.get("$field") == "content_list":
            out.setdefault("content_list", []).append(_use(call))
        else:
            made.append(_call(call, whole))
    if made:
        out["tool_calls"] = made


def _use(call: ToolCall) -> dict[str, Any]:
    """A call as Snowflake has it in the list of the content."""
    use: dict[str, Any] = {}
    fill(use, tool_use_id=call.id, name=call.name)
    return {"type": "tool_use", "tool_use": {**use, "input": arguments_of(call)}}


def _call(call: ToolCall, whole: bool) -> dict[str, Any]:
    extra = call.extra
    holder = "custom" if call.type == "custom" and not extra.get("function") else extra.get("$field", "function")
    out = fields(extra, (holder,))
    if whole:
        fill(out, index=call.index)
    fill(out, id=call.id)
    absent = extra.get("$absent", ())
    if "type" not in absent:
        out.setdefault("type", call.type)
    if extra.get("$flat"):
        out.update(_function(call, holder, whole))
    elif holder not in absent:
        out[holder] = _function(call, holder, whole)
    return out


def _function(call: ToolCall, holder: str, whole: bool) -> dict[str, Any]:
    out = fields(extra_of(call.extra, holder))
    fill(out, name=call.name)
    key = "input" if holder == "custom" else "arguments"
    if call.extra.get("$key") in ARGUMENTS:
        key = call.extra["$key"]
    is_due = call.raw_arguments or (key not in out if whole else "$field" not in call.extra)
    if is_due and "arguments" not in call.extra.get("$absent", ()):
        as_object = call.extra.get("$form") == "object"
        out[key] = arguments_of(call) if as_object else call.raw_arguments
    return out


def _add_annotations(
    out: dict[str, Any], annotations: Iterable[dict[str, Any]], cited: Collection[dict[str, Any]]
) -> None:
    """Citations that do not stand in another field already."""
    told = extra_of(out, "provider_specific_fields").get("citations")
    listed = [*_listed(out.get("citations")), *_listed(told), *cited]
    known = set(map(_json.identity, listed))
    found = [item for item in annotations if known.isdisjoint(map(_json.identity, (item, item.get("value", item))))]
    if found and not out.get("annotations"):
        out["annotations"] = copied(found)


def _listed(value: Any) -> list[Any]:
    """What a list, and each list in it, has."""
    items = value if isinstance(value, list) else ()
    return [inner for item in items for inner in (item if isinstance(item, list) else (item,))]


def _is_served(part: Part) -> bool:
    """True if it is a call that a server ran itself, or a step of one that it tells beside: no request takes these."""
    if isinstance(part, ReasoningPart):
        return part.extra.get("$field") == "reasoning_steps"
    return isinstance(part, ToolCall) and part.server_side


def _as_sent_back(part: Part) -> Part:
    """A part as requests have it: arguments are text, but in the one call of GigaChat, which takes no text there."""
    if isinstance(part, ToolCall) and part.type == "function_call" and part.extra.get("$form") == "object":
        return with_object(part)
    return usual(with_object_text(part))


def request(message: Message) -> dict[str, Any]:
    """The assistant message for `messages` of the next request."""
    parts = [
        _as_sent_back(part)
        for part in message.parts
        if not isinstance(part, (ImagePart, UnknownPart, ToolResult)) and not _is_served(part)
    ]
    out = {"role": message.role, "content": None, **_message(parts, {}, ())}
    for call in out.get("tool_calls", ()):
        call.pop("index", None)
    if out["content"] is None and _INSTEAD.isdisjoint(out):
        out["content"] = ""
    if "audio" in out:
        out["audio"] = {"id": out["audio"].get("id")}
    for part in parts:
        if isinstance(part, (TextPart, ReasoningPart)) and part.signature and "extra_content" in part.extra:
            out["extra_content"] = copied(part.extra["extra_content"])
        if isinstance(part, ReasoningPart):
            out |= {name: part.extra[name] for name in _BACK if name in part.extra}
    return out
