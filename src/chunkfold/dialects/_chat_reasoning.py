"""
Reasoning in chat completions: as plain text under several names, as OpenRouter's details, as LiteLLM's blocks, and as
items of the content. The same reasoning often comes in two of these at once, and is taken once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.basis import _json
from chunkfold.dialects._arguments import text_within
from chunkfold.dialects._slots import hashable, is_news
from chunkfold.dialects._words import is_blank, says_nothing, word

if TYPE_CHECKING:
    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects.openai_chat import OpenAIChat
    from chunkfold.framing import Frame

__all__ = [
    "FIELDS", "answer_in", "content_blocks", "details", "items", "opaque", "plain", "redacted_item", "restated",
    "signature", "steps", "thinking_blocks", "thinking_item", "without_thinking",
]  # fmt: skip

# Where reasoning text arrives. The first field that has some counts: gateways send the same text under two names.
FIELDS = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "cot_summary")
_OTHERS = frozenset(FIELDS[1:])
# The tags around thoughts in a content, at Google's two endpoints.
_TAGS = ("thought", "think")
_OPEN, _CLOSE = "<think>", "</think>"
_THINKING = ("thinking", "summary", "text", "reasoning")
_BLOCK = frozenset({"type", "thinking", "signature", "data"})
_DETAIL = frozenset({"type", "index", "text", "summary", "data", "signature"})


def plain(chat: OpenAIChat, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
    """
    Reasoning as plain text, once: under two names it is the same text, and `reasoning_details` has it again.
    Seen as an object too; its text is in it, or what stands beside it (Envoy AI Gateway, Claude Code Router).
    """
    if chat.reasoning_done is delta or _details_have_text(delta.get("reasoning_details")):
        return
    if _any_has(delta.get("thinking_blocks"), "thinking"):
        return
    chat.reasoning_done = delta
    extra: dict[str, Any] = {}
    beside: dict[str, Any] = {}
    if isinstance(value, (int, float)):
        value = text_within(value, frame)  # as in the content
    if isinstance(value, dict):
        name = next((name for name in ("text", "content") if value.get(name)), "text")
        extra = {key: held for key, held in value.items() if key != name}
        beside = {key: held for key, held in extra.items() if not is_blank(held)}
        extra["$form"], value = name, value.get(name)
    elif isinstance(value, list):
        texts = [item.get("text") if isinstance(item, dict) else item for item in value]
        value = "".join([text for text in texts if isinstance(text, str)])
    slot, signature = chat.w.current(index, "reasoning"), beside.get("signature")
    for name in [] if isinstance(value, str) or signature or (beside and slot) else _said(delta)[:1]:
        chat.w.extra(("choices", index, "message", name), delta[name])
    if not _OTHERS.isdisjoint(delta):
        extra["$field"] = _said(delta)
    if slot is not None and slot.extra is not None:
        chat.w.stop(slot)  # a detail, which has its own text or none
    chat.w.append(index, "reasoning", value, extra=extra)
    if signature:
        slot = _sign(chat, index, signature, extra)
    elif value or not beside or slot is None:
        return
    chat.w.update(slot, extra={**beside, "$form": slot.beside.get("$form", extra["$form"])})


def details(chat: OpenAIChat, index: int, value: Any, delta: dict[str, Any], _: Frame) -> None:
    """OpenRouter's details: pieces are merged by index and type, texts appended, signatures set."""
    names = [*_said(delta), "reasoning_details"] if _details_have_text(value) else "reasoning_details"
    for place, detail in chat.w.objects("reasoning_details", value):
        if not says_nothing(detail):
            _detail(chat, index, detail, place, names)


def opaque(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """Copilot's `reasoning_opaque`: the reasoning once more, which nobody else can read and it wants back."""
    w = chat.w
    slot = w.current(index, "reasoning")
    kept = {"encrypted": value, "reasoning_opaque": value}
    if slot is None:
        w.stop(w.start(index, "reasoning", extra={**kept, "$field": "reasoning_opaque"}))
    else:
        w.update(slot, extra=kept)


def signature(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """The `reasoning_signature` of agentgateway, also of reasoning that is withheld, which comes with it alone."""
    if not isinstance(value, str):
        return
    w = chat.w
    slot = w.current(index, "reasoning")
    if slot is None:
        slot = w.start(index, "reasoning", extra={"$field": "reasoning_signature"})
        w.stop(slot)
    w.update(slot, signature=value, extra={"reasoning_signature": value})


def items(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """
    LiteLLM's items of the Responses API, behind all that they tell of: what nobody else can read of the reasoning. The
    first one is that of the text that came last; each item after it is a part without a text.
    """
    w = chat.w
    for place, item in w.objects("reasoning_items", value):
        key = (index, hashable(item.get("id") or item.get("encrypted_content") or place))
        kept = {"encrypted": item.get("encrypted_content"), "$item": item}
        slot = chat.items.get(key)
        if slot is None:
            slot = w.current(index, "reasoning")
            if slot is None or slot in chat.told:
                slot = w.start(index, "reasoning", extra={"$field": "reasoning_items"})
                w.stop(slot)
            chat.items[key] = slot
            chat.told.add(slot)
        w.update(slot, extra=kept)


def restated(chat: OpenAIChat, index: int, message: dict[str, Any]) -> None:
    """
    The details of a message that is told again. Their text came before, or is told again as plain text: what they have
    beside it is taken, which may have come with them alone.
    """
    w = chat.w
    plain = w.current(index, "reasoning")
    for place, detail in w.objects("reasoning_details", message.get("reasoning_details")):
        slot = w.slot(index, _key(detail, place))
        is_text = bool(detail.get("text") or detail.get("summary"))
        without = {name: value for name, value in detail.items() if name not in ("text", "summary")}
        if slot is not None:
            _detail(chat, index, without, place, "reasoning_details")
        elif not is_text or plain is None:
            _detail(chat, index, detail, place, "reasoning_details")
        else:
            fields = plain.beside.get("$field") or FIELDS[:1]
            if isinstance(fields, str):
                w.update(plain, signature=detail.get("signature"))  # an item of the content
                continue
            names = [*(_said(message) or fields), "reasoning_details"]
            rest = {name: value for name, value in detail.items() if name in ("type", "index") or name not in _DETAIL}
            w.update(plain, signature=detail.get("signature"), extra={**rest, "$field": names})


def _key(detail: dict[str, Any], place: int) -> tuple[Any, ...]:
    """Under which a detail is found again: its type, and its index, its id or, if it has neither, its place."""
    number = next((detail[key] for key in ("index", "id") if not is_blank(detail.get(key))), f"place {place}")
    return ("reasoning_details", word(detail.get("type"), default="reasoning.text"), number)


def _detail(chat: OpenAIChat, index: int, detail: dict[str, Any], place: int, names: Any) -> None:
    w = chat.w
    key = _key(detail, place)
    kind, slot = key[1], w.slot(index, key)
    id_, known = detail.get("id"), slot.extra.get("id") if slot is not None and slot.extra else None
    if detail.get("data") and id_ and known and id_ != known:
        # OpenRouter numbers every detail 0 in a stream; encrypted ones of several calls have ids of their own.
        key = (*key, hashable(id_))
        slot = w.slot(index, key)
    text = detail.get("text") or detail.get("summary")
    if text and slot in chat.signed:
        slot = None  # a signature is the end of what it signs
    # A blank field is there too, in a body as in the first piece of a stream.
    rest = {name: value for name, value in detail.items() if name not in _DETAIL or (not value and slot is None)}
    if slot is None or chat.is_whole:
        start = {**rest, "type": kind, "$field": names}
        if "index" in detail:
            start["index"] = detail["index"]
        if "type" not in detail:
            start["$absent"] = ["type"]
        if kind == "reasoning.summary":
            start["summary"] = True
        if detail.get("data"):
            start["encrypted"] = detail["data"]
        before = w.current(index, "reasoning")
        slot = w.start(index, "reasoning", key=key, extra=start)
        slot.extra = {**rest, "$field": names}
        if before is not None:
            w.stop(before)
    else:
        told = slot.extra or {}
        if "signature" in detail and is_blank(detail["signature"]):
            rest["signature"] = detail["signature"]
        if text and told.get("$field") == "reasoning_details":
            rest["$field"] = names  # it was opened without a text, which stands beside it from here on
        new = {name: value for name, value in rest.items() if is_news(value, told, name)}
        slot.extra = {**told, **new}
        if detail.get("data"):
            new["encrypted"] = detail["data"]
        w.update(slot, extra=new)
    w.delta(slot, text)
    if detail.get("signature"):
        chat.signed[slot] = detail["signature"]
        w.update(slot, signature=detail["signature"])


def steps(chat: OpenAIChat, index: int, value: Any, _delta: dict[str, Any], _: Frame) -> None:
    """What Perplexity thinks and does while it searches: in pieces, and all of it once more in what is told whole."""
    w, told = chat.w, chat.steps.setdefault(index, set())
    for _place, step in w.objects("reasoning_steps", value):
        said = _json.identity(step)
        if said not in told:
            told.add(said)
            rest = {key: item for key, item in step.items() if key != "thought" or not item}
            slot = w.start(index, "reasoning", extra={**rest, "summary": True, "$field": "reasoning_steps"})
            w.delta(slot, step.get("thought"))
            w.stop(slot)


def thinking_blocks(chat: OpenAIChat, index: int, value: Any, delta: dict[str, Any], _: Frame) -> None:
    """LiteLLM's blocks, as Anthropic has them: the reasoning once more, and what is to be sent back with it."""
    w = chat.w
    names = [*_said(delta), "thinking_blocks"]
    for _place, block in w.objects("thinking_blocks", value):
        rest = {key: item for key, item in block.items() if key not in _BLOCK}
        if block.get("type") == "redacted_thinking":
            _redacted(chat, index, block, "$field", "thinking_blocks")
            continue
        start = {**rest, "$field": names}
        chat.item(index, "reasoning", block.get("thinking"), start)
        if block.get("signature"):
            slot = _sign(chat, index, block["signature"], start)
            said = slot.beside.get("$field", [FIELDS[0]])
            if slot.goes_on and isinstance(said, list) and "thinking_blocks" not in said:
                # The text came without its blocks.
                slot.beside["$field"] = [*said, "thinking_blocks"]
                w.update(slot, extra={"$field": slot.beside["$field"]})


def answer_in(chat: OpenAIChat, index: int, content: str, delta: dict[str, Any]) -> str:
    """
    What of a content is the answer. Gemini's compatible endpoint flags its thoughts, which stand in the content between
    tags: the one that opens them begins the first piece, the one that closes them the first piece without a flag.
    """
    w, tag = chat.w, chat.thoughts.get(index)
    is_thought = _is_flagged(delta.get("extra_content"))
    if is_thought and tag is not None:
        w.append(index, "reasoning", content, extra={"$form": "tag", "$field": tag})
        return ""
    if is_thought:
        w.singular = True  # with a tag it begins a thought
        tag = next((tag for tag in _TAGS if content.startswith(f"<{tag}>")), None)
        return content if tag is None else _thought(chat, index, content, tag)
    if tag is None:
        return content
    w.singular = True  # the tag is no text
    del chat.thoughts[index]
    answer = content.removeprefix(f"</{tag}>")
    slot = w.current(index, "reasoning")
    if answer != content and slot is not None:
        w.update(slot, extra={"$form": "tagged"})
    return answer


def _thought(chat: OpenAIChat, index: int, content: str, tag: str) -> str:
    """The beginning of a thought, or all of it with the answer behind it, which is returned."""
    w = chat.w
    thought, closing, answer = content[len(tag) + 2 :].partition(f"</{tag}>")
    start = {"$form": "tagged" if closing else "tag", "$field": tag}
    slot = w.start(index, "reasoning", extra=start)
    slot.goes_on, slot.beside = True, start
    w.delta(slot, thought)
    if not closing:
        chat.thoughts[index] = tag
    return answer


def without_thinking(chat: OpenAIChat, index: int, content: str, delta: dict[str, Any]) -> str:
    """
    What of a content that is split at tags was not told in the reasoning of the same delta. MiniMax has it in both
    places, piece by piece, if it is not asked to split it.
    """
    is_open, before = index in chat.mirrored, content
    if not is_open:
        lead, tag, before = content.partition(_OPEN)
        if not tag or lead.strip():
            return content
    thinking, closing, answer = before.partition(_CLOSE)
    if thinking.strip() == _told(delta):
        (chat.mirrored.discard if closing else chat.mirrored.add)(index)
        return answer
    chat.mirrored.discard(index)
    return f"{_OPEN}{content}" if is_open else content


def _told(delta: dict[str, Any]) -> str:
    """The reasoning that a delta has in fields of its own, without blanks around it."""
    text = next((delta[name] for name in FIELDS if isinstance(delta.get(name), str) and delta[name]), "")
    details = delta.get("reasoning_details")
    if not text and isinstance(details, list):
        texts = [detail.get("text") or detail.get("summary") for detail in details if isinstance(detail, dict)]
        text = "".join([piece for piece in texts if isinstance(piece, str)])
    return text.strip()


def _is_flagged(extra: Any) -> bool:
    """True if what stands beside a content says that it is a thought."""
    holders = extra.values() if isinstance(extra, dict) else ()
    return any(isinstance(holder, dict) and holder.get("thought") is True for holder in holders)


def content_blocks(chat: OpenAIChat, index: int, value: Any, delta: dict[str, Any], _: Frame) -> None:
    """
    Portkey's blocks, as Anthropic has them, beside the text that is in them once more. In a stream each is a piece of
    one and has no type.
    """
    w, path = chat.w, ("choices", index, "message")
    blocks = [block["delta"] if isinstance(block.get("delta"), dict) else block
              for _, block in w.objects("content_blocks", value)]  # fmt: skip
    is_told = "".join([str(block["text"]) for block in blocks if block.get("text")]) == (delta.get("content") or "")
    if chat.is_whole and not is_told:
        w.extra((*path, "content_blocks"), value)
        return
    w.extra((*path, "$field"), "content_blocks")
    chat.content_told = delta if chat.is_whole else None
    for block in blocks:
        if chat.is_whole:
            chat.content_item(index, block)
        elif says_nothing(block):
            continue
        elif "thinking" in block or "signature" in block:
            thinking_item(chat, index, {"type": "thinking", "thinking": "", **block})
        elif "data" in block:
            redacted_item(chat, index, block)
        elif block.get("citation"):
            w.annotations(index, None, [block["citation"]])
        elif not (is_told and block.get("text")):
            chat.content_item(index, block)


def redacted_item(chat: OpenAIChat, index: int, item: dict[str, Any]) -> None:
    """An item of the content that is thinking which nobody else can read."""
    _redacted(chat, index, item, "$form", "item")


def _redacted(chat: OpenAIChat, index: int, block: dict[str, Any], *note: str) -> None:
    rest = {key: value for key, value in block.items() if key not in _BLOCK}
    start = {**rest, "redacted": True, "encrypted": block.get("data"), note[0]: note[1]}
    slot = chat.w.start(index, "reasoning", extra=start)
    chat.signed[slot] = None  # no signature that comes is its own
    chat.w.stop(slot)


def thinking_item(chat: OpenAIChat, index: int, item: dict[str, Any]) -> None:
    """Mistral's `thinking` and Databricks' `reasoning`: a list of texts, or one text."""
    w = chat.w
    name = next((name for name in _THINKING if item.get(name)), None)
    inner = item.get(name) if name is not None else None
    extra = {key: value for key, value in item.items() if key not in (name, "signature") or not value}
    extra |= {"$form": "item", "$field": name}
    start, first = extra, None
    pieces = inner if isinstance(inner, list) else [inner]
    if not inner and not chat.is_whole:
        slot = w.current(index, "reasoning")
        if slot is not None:
            w.update(slot, extra={key: value for key, value in extra.items() if value and key[:1] != "$"})
        pieces = []
    for piece in pieces:
        text = piece
        if isinstance(piece, dict):
            rest = {key: value for key, value in piece.items() if key not in ("text", "signature") or not value}
            extra = {**extra, name or "": [rest]}
            text = piece.get("text")
        elif isinstance(inner, list):
            extra = {**extra, name or "": [None]}
        chat.item(index, "reasoning", text, extra)
        if isinstance(piece, dict) and piece.get("signature"):
            _sign(chat, index, piece["signature"], extra)
        first = first or w.current(index, "reasoning")
        if text or chat.is_whole:
            extra = {"$form": "inner", "$field": name}
    if item.get("signature"):
        # Mistral has it beside the list of texts, Databricks in one of them.
        _sign(chat, index, item["signature"], {**start, "$form": "signed"}, to=first)


def _sign(chat: OpenAIChat, index: int, signature: Any, start: dict[str, Any], *, to: Slot | None = None) -> Slot:
    """
    The signature of the reasoning at hand; if there is none, or it has another one, that of reasoning that is withheld,
    which begins with *start*. It is the end of what it signs.
    """
    w = chat.w
    slot = to or w.current(index, "reasoning")
    if slot is None or chat.signed.get(slot, signature) != signature:
        slot = w.start(index, "reasoning", extra=start)
        slot.beside = dict(start)
    chat.signed[slot] = signature
    is_beside = start.get("$form") == "signed" and (chat.is_whole or slot.beside.get("$form") == "item")
    w.update(slot, signature=signature, extra={"$form": "signed"} if is_beside else None)
    w.stop(slot)
    return slot


def _said(delta: dict[str, Any]) -> list[str]:
    """The fields under which a piece has its reasoning text."""
    return [name for name in FIELDS if delta.get(name) or delta.get(name) == 0]


def _details_have_text(details: Any) -> bool:
    return _any_has(details, "text", "summary")


def _any_has(items: Any, *names: str) -> bool:
    return isinstance(items, list) and any(isinstance(item, dict) and any(map(item.get, names)) for item in items)
