"""
OpenAI Chat Completions (`chat.completion.chunk`), and everyone who imitates it.

Pieces are not numbered except for tool calls; `choices[].delta` says what is new. There are no marks for the start or
the end of a part, the finish reason comes before the usage, and `[DONE]` ends the stream. Imitators leave out, rename
and repeat nearly everything, so all fields are optional and each is read wherever some vendor puts it.

Manual: docs/dialects/openai-chat.md. Reference: platform.openai.com/docs/api-reference/chat-streaming.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import (
    CERTAIN,
    LIKELY,
    NO,
    Dialect,
    _chat_audio,
    _chat_calls,
    _chat_citations,
    _chat_ernie,
    _chat_reasoning,
    _chat_tokens,
)
from chunkfold.dialects._arguments import json_text, text_within
from chunkfold.dialects._errors import SAYING, error_in, read_error, says_success
from chunkfold.dialects._media import usual_base64_bytes
from chunkfold.dialects._words import choice_index, is_real, listed, native_reason, word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._slots import Slot
    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame
    from chunkfold.parts import Kind

_OBJECTS = frozenset({"chat.completion.chunk", "chat.completion", "chat.completion.done", "chat.reasoning"})

# Top-level fields that are read, and transport facts that are nobody's answer.
_TOP = frozenset({"id", "object", "created", "model", "choices", "usage", "error", "obfuscation", "p", "x_groq"})
_CHOICE = frozenset({"index", "delta", "message", "finish_reason", "logprobs", "usage", "text"})
_MESSAGE = frozenset(
    {
        "role", "content", "refusal", "tool_calls", "function_call", "audio", "images", "annotations", "reasoning",
        "reasoning_content", "reasoning_text", "reasoning_details", "thinking", "thinking_blocks", "cot_summary",
        "executed_tools", "citations", "reasoning_items", "content_blocks",
        "content_list", "reasoning_steps", "provider_specific_fields",
    }
)  # fmt: skip
_TAKEN = _CHOICE | {"annotations"}
_KNOWN = _CHOICE | _MESSAGE | _chat_tokens.LISTS | {"error"}
_LISTED = _MESSAGE | _chat_calls.LISTED
# All that a choice of Gemini's endpoint has where a filter took the message.
_BARE = frozenset({"index", "finish_reason", "logprobs"})
_ROLE = frozenset({"role"})

# Fields that have a place of their own in the native body, and what is in no body that was not streamed.
_NESTED = frozenset({"x_groq", "obfuscation", "p"})
_CHOICE_NESTED = frozenset({"delta", "message"})

# A field that only one vendor sends tells who serves the stream.
_VENDORS = {
    "base_resp": "minimax",
    "copilot_usage": "github-copilot",
    "generationId": "vercel-gateway",
    "perf_metrics": "fireworks",
    "prompt_filter_results": "azure",
    "search_results": "perplexity",
    "sla_metrics": "novita",
    "time_info": "cerebras",
    "timings": "llamacpp",
    "x_groq": "groq",
}
_TELLING = frozenset({*_VENDORS, "provider"})
# Fields that may tell an error, or hold what is elsewhere a field of the payload.
_ODD = frozenset({"error", "errors", "base_resp", "x_groq", *SAYING})


class OpenAIChat(Dialect):
    """OpenAI Chat Completions streaming, in all its accents."""

    name: ClassVar[str] = "openai-chat"
    aliases: ClassVar[tuple[str, ...]] = ("mistral",)
    ends_with_done: ClassVar[bool] = True
    delta_keys: ClassVar[tuple[str, ...]] = (
        "content", "arguments", "reasoning_content", "reasoning", "reasoning_text", "thinking", "text", "summary",
        "cot_summary", "refusal",
    )  # fmt: skip
    padding_keys: ClassVar[tuple[str, ...]] = ("obfuscation", "p", "created", "id")
    running_keys: ClassVar[tuple[str, ...]] = ("usage",)
    payloads: ClassVar[tuple[str, ...]] = tuple(sorted(_OBJECTS))

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        kind = payload.get("object")
        if _names_itself(payload):
            # A sibling of this dialect sends the same shape, with `model_id`.
            return LIKELY if "model_id" in payload else CERTAIN
        choices = payload.get("choices")
        if not isinstance(choices, list):
            return NO
        if not choices:
            return LIKELY  # Azure's first chunk and every usage chunk: no choices, and often no `object`
        first = choices[0]
        if not isinstance(first, dict):
            return NO
        if "delta" in first:
            return CERTAIN if kind in (None, "") and "model_id" not in payload else LIKELY
        # Nothing but why it ended, which Gemini's endpoint says so.
        is_over = is_real(first.get("finish_reason")) and "text" not in first
        return LIKELY if is_over or isinstance(first.get("message"), dict) else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        # The delta whose reasoning has been taken, since two fields may hold the same.
        self.reasoning_done: dict[str, Any] | None = None
        # The body whose content has been taken from its blocks, which have it too.
        self.content_told: dict[str, Any] | None = None
        # The signatures that details of the reasoning, blocks and items of it have.
        self.signed: dict[Slot | None, Any] = {}
        # The tag around a thought of Gemini's that is not over, by the choice.
        self.thoughts: dict[int, str] = {}
        # The choices whose content is amid thinking that their reasoning has, too.
        self.mirrored: set[int] = set()
        # What Perplexity's steps said, by the choice.
        self.steps: dict[int, set[str]] = {}
        # The parts of LiteLLM's items of reasoning, by the choice and the id, and all of them.
        self.items: dict[tuple[Any, ...], Slot] = {}
        self.told: set[Slot] = set()
        # Calls that were opened in one list without an index, by the choice.
        self.abreast: dict[int, list[Slot]] = {}
        # Pieces of what tools gave back that are not told yet.
        self.results: dict[Slot, list[str]] = {}
        # The ids of calls that are told together with what they gave back.
        self.answered: frozenset[str] = frozenset()
        # What waits for the rest of a group of base64, by the sound.
        self.sounds: dict[Slot, str] = {}
        # The text of the chunk is sound.
        self._is_sound = False
        self._executed: dict[int, dict[str, dict[str, Any]]] = {}
        self._begun = False
        # The fields beside those that are understood, as the last payload had them: most repeat them.
        self._beside: list[tuple[str, Any]] = []
        # The keys of the last chunk, if they say nothing by being there.
        self._usual: tuple[str, ...] | None = None
        # The payload is a body that was not streamed; and its id.
        self.is_whole = False
        self._id: Any = None

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        """Most chunks have the keys of the one before, which say nothing by being there."""
        keys = tuple(payload)
        self._is_sound = payload.get("modality") == "audio"
        if keys == self._usual and type(payload["choices"]) is list:
            self._usual_chunk(payload, frame)
            return
        self._chunk(payload, frame)
        if self._says_nothing_else(payload):
            self._usual = keys

    def close(self) -> None:
        _chat_calls.tell_results(self)
        _chat_audio.tell_rests(self)

    def _says_nothing_else(self, payload: dict[str, Any]) -> bool:
        """True if a chunk with these keys says nothing but facts that are known, choices, usage and what is beside."""
        is_met = "choices" in payload and not self.is_whole and self.w.has_met(payload)
        has_vendor = _TELLING.isdisjoint(payload) or self.w.fact("vendor") is not None
        return is_met and has_vendor and _ODD.isdisjoint(payload)

    def _usual_chunk(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        w.message(id=payload.get("id"), model=payload.get("model"), created=payload.get("created"))
        self._choices(payload["choices"], frame)
        usage = payload.get("usage")
        if usage:
            w.usage(usage)
        self._keep_beside(payload)

    def _chunk(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        choices = payload.get("choices")
        if isinstance(choices, dict):
            choices = listed(choices)
        elif choices is None and _chat_ernie.is_flat(payload):
            self.end_seen = self.end_seen or payload.get("is_end") is True
            payload = _chat_ernie.unflattened(payload)
            choices = payload["choices"]
        groq = payload.get("x_groq")
        groq = groq if isinstance(groq, dict) else {}
        error = error_in(payload) or (read_error(groq["error"], raw=payload) if groq.get("error") else None)
        names_itself = _names_itself(payload)
        if error is None and not names_itself and self.is_error(payload, frame, "choices", "usage"):
            return
        if not isinstance(choices, list):
            # A usage object, or a chunk whose choices are null. What is else without choices is no chunk.
            if error is None and not (names_itself or payload.get("usage") or "choices" in payload):
                self.strange(payload, frame, word(payload.get("type"), payload.get("object")))
                return
            w.unknown("choices", choices)
            choices = []
        if self.is_whole and self._is_next(payload, choices):
            self.begin_again()
        if error is None or choices:
            vendor = None if _TELLING.isdisjoint(payload) or w.fact("vendor") else self._vendor(payload)
            id_, created = payload.get("id"), payload.get("created")
            # First real values: Azure's first chunk has an empty id and model and a `created` of 0.
            w.message(id=id_, model=payload.get("model"), created=created, vendor=vendor)
        if not self._begun:
            self._begin(payload, choices)
        self._choices(choices, frame)
        w.usage(payload.get("usage") or groq.get("usage"))
        if None in payload.values():
            w.blanks(payload, _NESTED)
        if error is None and payload.get("error"):
            w.extra(("error",), payload["error"])
        if "x_groq" in payload and not groq:
            w.extra(("x_groq",), payload["x_groq"])
        self._keep_beside(payload)
        # A whole body has the hits of its caches in Groq's further usage; that of a stream is the payload's own.
        own = payload.get("usage")
        is_other = own and (self.is_whole or groq.get("usage") != own)
        for key, value in groq.items():
            if not value or key not in ("usage", "error") or (key == "usage" and is_other):
                w.extra(("x_groq", key), value)
        if error is not None:
            w.error(error)

    def _choices(self, choices: list[Any], frame: Frame) -> None:
        for place, choice in enumerate(choices):
            if isinstance(choice, dict):
                self._choice(choice, place, frame)
            else:
                self.w.unknown("choice", choice)

    def _keep_beside(self, payload: dict[str, Any]) -> None:
        """Keep the fields that are not understood."""
        if payload.keys() <= _TOP:
            return
        beside = [(key, value) for key, value in payload.items() if key not in _TOP]
        if beside != self._beside:
            self._beside = beside
            for key, value in beside:
                self.w.extra((key,), value)

    def _begin(self, payload: dict[str, Any], choices: list[Any]) -> None:
        """What only the first payload tells: whether it is a whole body, and facts that are none."""
        w = self.w
        self._begun = True
        w.blanks(payload, _NESTED)
        w.unsaid(payload, "id", "model", "created")
        if not any(isinstance(choice, dict) and _is_whole(choice, payload.get("object")) for choice in choices):
            return
        self.is_whole, self._id = True, payload.get("id")
        self.whole()
        if "object" in payload:
            w.extra(("object",), payload["object"])

    def _is_next(self, payload: dict[str, Any], choices: list[Any]) -> bool:
        """True if a whole body comes behind that of another message, as in a file with one a line."""
        id_ = payload.get("id")
        is_other = id_ is not None and self._id is not None and id_ != self._id
        return is_other and any(isinstance(one, dict) and _is_whole(one, payload.get("object")) for one in choices)

    def begin_again(self, next_id: Any = None) -> None:
        for kept in (self.signed, self.thoughts, self.mirrored, self.steps, self.items, self.told, self.abreast):
            kept.clear()
        for untold in (self.results, self.sounds, self._executed):
            untold.clear()
        self._begun, self._beside = False, []
        super().begin_again(next_id)

    @staticmethod
    def may_vary(path: tuple[str | int, ...]) -> bool:
        """Fields that nobody knows: Together sends a `token_id` in each delta."""
        if path[:1] != ("choices",) or path[-1] in _KNOWN:
            return False
        return len(path) == 3 or (len(path) == 4 and path[2] == "delta")

    def catch_up(self, totals: dict[str, Any]) -> None:
        self.w.usage(totals)

    @staticmethod
    def _vendor(payload: dict[str, Any]) -> str | None:
        """Who serves the stream, by a field that only they send."""
        vendor = next((vendor for key, vendor in _VENDORS.items() if payload.get(key)), None)
        if vendor is None and "provider" in payload and _has_native_reason(payload.get("choices")):
            vendor = "openrouter"
        return vendor

    def _choice(self, choice: dict[str, Any], place: int, frame: Frame) -> None:
        w = self.w
        number = choice.get("index")
        index = number if type(number) is int and number >= 0 else choice_index(number, place, odd=0)
        if self.is_whole:
            w.singular = True  # the body has more of it than its text
            for key in ("index", "delta", "text"):
                if key in choice:
                    w.extra(("choices", index, key), choice[key])
            if "message" not in choice:
                w.extra(("choices", index, "$absent"), ["message"])
        delta, message = choice.get("delta"), choice.get("message")
        is_alone = message is None and "text" not in choice
        if isinstance(delta, dict) and not self.is_whole and (is_alone or _says_something(delta)):
            if not is_alone and isinstance(message, dict) and message.get("reasoning_steps"):
                _chat_reasoning.steps(self, index, message["reasoning_steps"], message, frame)
            self._message(index, delta, frame)
            if isinstance(message, dict):
                w.extras(message, _MESSAGE, "choices", index, "message")
        elif isinstance(message, dict):
            # A whole message, restated at the end (Perplexity, MiniMax) or all there is (not streamed).
            self._whole(index, message, frame)
        elif choice.get("text"):
            # A chunk of the legacy endpoint that says it is one of this.
            w.append(index, "text", choice["text"])
        elif isinstance(delta, dict):
            self._message(index, delta, frame)
        elif isinstance(delta, str):
            w.append(index, "text", delta)  # SenseNova's own endpoint
        elif isinstance(message, str):
            w.restate(index, "text", message)
        elif isinstance(choice.get("messages"), list) and delta is None and self._is_untold(index):
            # Mistral's, where its connectors were asked: all that the answer took, with what they gave back.
            w.extra(("choices", index, "$absent"), ["message"])
            messages = w.objects("messages", choice["messages"])
            self.answered = _chat_calls.answered(each for _, each in messages)
            for _, each in messages:
                if each.get("role") in _ANSWERING:
                    self._message(index, each, frame)
            self.answered = frozenset()
        else:
            w.unknown("delta", delta)
            w.unknown("message", message)
        if choice.get("logprobs") is not None:
            _chat_tokens.logprobs(w, index, choice["logprobs"])
        if choice.get("finish_reason"):
            behind = native_reason(choice)
            w.finish_at(index, choice["finish_reason"], "choices", index, "finish_reason", behind=behind)
        if None in choice.values() or self.is_whole:
            w.blanks(choice, _CHOICE_NESTED, "choices", index)
        if choice.get("usage"):
            w.usage(choice["usage"])  # Moonshot puts it here
        self.error_in_choice(index, choice)
        if not choice.keys() <= _CHOICE:
            if choice.get("annotations"):
                _chat_citations.in_choice(self, index, choice["annotations"])
            has_lists = not (self.is_whole or _chat_tokens.LISTS.isdisjoint(choice))
            w.extras(_chat_tokens.without_lists(w, index, choice) if has_lists else choice, _TAKEN, "choices", index)

    def _message(self, index: int, delta: dict[str, Any], frame: Frame) -> None:
        """What is new: in the order reasoning, text, calls, as models produce them."""
        w = self.w
        if "role" in delta:
            if delta["role"] == "tool" and not self.is_whole:
                _chat_calls.result(self, index, delta)
                delta = {key: value for key, value in delta.items() if key not in _chat_calls.RESULT}
            else:
                w.message(role=delta["role"])
                if self.results:
                    _chat_calls.tell_results(self)
            if self.is_whole:
                w.extra(("choices", index, "message", "role"), delta["role"])
        # One that says something is the usual case; more of them go in their order.
        said = [key for key, value in delta.items() if (value or value == 0) and key in _FIELDS]
        for key in said if len(said) < 2 else [key for key in _FIELDS if key in said]:
            _FIELDS[key](self, index, delta[key], delta, frame)
        is_listed = "content_list" in delta
        if not all(delta.values()):
            w.blanks(delta, _chat_calls.LISTED if is_listed else (), "choices", index, "message")
        if not delta.keys() <= _MESSAGE:
            w.extras(delta, _LISTED if is_listed else _MESSAGE, "choices", index, "message")

    def _whole(self, index: int, message: dict[str, Any], frame: Frame) -> None:
        """The message restated: what it says replaces or fills, what it leaves out stays."""
        w = self.w
        w.singular = True  # the next one like it replaces, also where this one is the first
        if self._is_untold(index):
            self._message(index, message, frame)
            return
        w.message(role=message.get("role"))
        w.blanks(message, (), "choices", index, "message")
        w.restate(index, "reasoning", next((message[key] for key in _chat_reasoning.FIELDS if message.get(key)), None))
        _chat_reasoning.restated(self, index, message)
        if isinstance(message.get("content"), str):
            content = message["content"]
            if w.splits_think_tags:
                self.mirrored.discard(index)
                content = _chat_reasoning.without_thinking(self, index, content, message)
            w.restate(index, "text", content)
        w.restate(index, "refusal", message.get("refusal"))
        _chat_calls.restated(self, index, message.get("tool_calls"), frame)
        for key, kind in _RESTATED:
            if message.get(key) and w.current(index, kind) is None:
                _FIELDS[key](self, index, message[key], message, frame)
        for key in _AGAIN:
            if message.get(key):
                _FIELDS[key](self, index, message[key], message, frame)
        w.extras(message, _MESSAGE - {"thinking_blocks", "content_blocks", "content_list"}, "choices", index, "message")

    def _is_untold(self, index: int) -> bool:
        """True if nothing of the answer has come."""
        return all(self.w.current(index, kind) is None for kind in _KINDS)

    # The fields of a delta

    def _error_amid(self, _: int, value: Any, delta: dict[str, Any], _frame: Frame) -> None:
        """Home-made servers put it where the text goes."""
        if not says_success(value):
            self.w.error(read_error(value, raw=delta))

    def _content(self, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
        if isinstance(value, (int, float)):
            # Cloudflare's Workers AI sends a piece of digits as a number, and the word `true` as that.
            value = text_within(value, frame)
        if isinstance(value, str):
            if self.thoughts or "extra_content" in delta:
                value = _chat_reasoning.answer_in(self, index, value, delta)
            if self._is_sound and _chat_audio.in_content(self, index, value):
                return
            if self.w.splits_think_tags and not self.w.cumulative:
                value = _chat_reasoning.without_thinking(self, index, value, delta)
            if self.content_told is not delta:
                self.w.append(index, "text", value)
            return
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, str):
                self.item(index, "text", item, {"$form": "string"})
            elif isinstance(item, dict):
                self.content_item(index, item)
            elif item is not None:
                self.w.unknown("content.item", item)

    def content_item(self, index: int, item: dict[str, Any]) -> None:
        """An item of the content, by its type."""
        _CONTENT.get(word(item.get("type")), OpenAIChat._unknown_item)(self, index, item)

    def item(self, index: int, kind: Kind, text: Any, extra: dict[str, Any]) -> None:
        """In a body that was not streamed each item of the content is a part; in a stream items are pieces too."""
        if self.is_whole:
            self.w.start(index, kind, extra=extra)
        self.w.append(index, kind, text, extra=extra)

    def _text_item(self, index: int, item: dict[str, Any]) -> None:
        extra = {**{key: value for key, value in item.items() if key != "text"}, "$form": "item"}
        self.item(index, "text", item.get("text"), extra)

    def _reference_item(self, index: int, item: dict[str, Any]) -> None:
        w = self.w
        slot = w.current(index, "text")
        w.annotations(index, slot, [item])
        if slot is not None:
            # It stands behind the text that it belongs to: what comes next is another item.
            w.stop(slot)

    def _image_item(self, index: int, item: dict[str, Any], *, in_content: bool = True) -> None:
        image = item.get("image_url")
        url = image.get("url") if isinstance(image, dict) else image
        rest = {key: value for key, value in item.items() if key != "image_url"}
        if isinstance(image, dict):
            rest["image_url"] = {key: value for key, value in image.items() if key != "url"}
        elif image is not None:
            rest["$field"] = "image_url"
        if in_content:
            rest["$form"] = "item"
        where, data = _located(url)
        slot = self.w.start(index, "image", extra={**rest, **where})
        self.w.data(slot, data)
        self.w.stop(slot)

    def _unknown_item(self, index: int, item: dict[str, Any]) -> None:
        w = self.w
        w.stop(w.start(index, "unknown", name=f"content.{word(item.get('type'), default='item')}", extra=item))

    def _extra_content(self, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
        """
        Gemini's signature of the text, which is to be sent back with it; it may come alone. With any-llm, that of the
        reasoning of Anthropic's models too.
        """
        for holder in value.values() if isinstance(value, dict) else ():
            for name, kind in _SIGNED if isinstance(holder, dict) else ():
                slot = self.w.current(index, kind)
                if holder.get(name) and slot is not None:
                    self.w.update(slot, signature=holder[name], extra={"extra_content": value})

    def _refusal(self, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
        self.w.append(index, "refusal", value)

    def _images(self, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
        for _, image in self.w.objects("images", value):
            if image or self.is_whole:
                self._image_item(index, image, in_content=False)

    def _executed_tools(self, index: int, value: Any, delta: dict[str, Any], frame: Frame) -> None:
        """Groq's tools that the server ran itself: first the call, later the same entry with its output."""
        known = self._executed.setdefault(index, {})
        for _, tool in self.w.objects("executed_tools", value):
            number = json_text(tool.get("index", len(known)))
            known[number] = {**known.get(number, {}), **tool}
        self.w.extra(("choices", index, "message", "executed_tools"), list(known.values()))


# Who speaks in the messages that are the answer.
_ANSWERING = (None, "assistant", "tool")
_KINDS: tuple[Kind, ...] = ("text", "reasoning", "refusal", "tool_call", "server_tool_call", "image", "audio")
_SIGNED: tuple[tuple[str, Kind], ...] = (("thought_signature", "text"), ("signature", "reasoning"))
# What a restated message has beside texts and calls: taken where no part of its kind has come.
_RESTATED: tuple[tuple[str, Kind], ...] = (
    ("content", "text"),
    ("images", "image"),
    ("audio", "audio"),
    ("function_call", "tool_call"),
)
# What is taken again, and changes nothing where it came before.
_AGAIN = (
    "annotations", "citations", "executed_tools", "reasoning_opaque", "reasoning_signature", "reasoning_items",
    "reasoning_steps", "extra_content", "provider_specific_fields", "error",
)  # fmt: skip


def _has_native_reason(choices: Any) -> bool:
    return isinstance(choices, list) and any(
        isinstance(choice, dict) and "native_finish_reason" in choice for choice in choices
    )


def _is_whole(choice: dict[str, Any], said: Any) -> bool:
    """True if a choice is of a body that was not streamed. Perplexity has an empty `delta` there."""
    message, delta = choice.get("message"), choice.get("delta")
    if not isinstance(message, dict) or "delta" not in choice:
        return isinstance(message, dict) or (said == "chat.completion" and choice.keys() <= _BARE)
    if said == "chat.completion.chunk":
        return False
    delta = delta if isinstance(delta, dict) else {}
    return _says_something(message) and not any(delta[key] for key in delta.keys() & _MESSAGE if key != "role")


def _names_itself(payload: Mapping[str, Any]) -> bool:
    """True if a payload says that it is one of this endpoint."""
    kind = payload.get("object")
    return isinstance(kind, str) and kind in _OBJECTS


def _says_something(delta: dict[str, Any]) -> bool:
    """True if anything but the role is there."""
    return any(map(delta.get, delta.keys() - _ROLE))


def _located(url: Any) -> tuple[dict[str, Any], bytes]:
    """Where a picture is, and its bytes if it stands in the URL itself: then its media type stands for the URL."""
    if not isinstance(url, str):
        return {}, b""
    head, _, body = url.partition(",")
    is_inline = head.startswith("data:") and head.endswith(";base64")
    data = usual_base64_bytes(body) if is_inline else None
    media_type = head[5:].partition(";")[0]
    return {"media_type": media_type} if data is not None and media_type else {"url": url}, data or b""


_CONTENT: dict[str, Callable[[OpenAIChat, int, dict[str, Any]], None]] = {
    "text": OpenAIChat._text_item,
    "output_text": OpenAIChat._text_item,
    "thinking": _chat_reasoning.thinking_item,
    "reasoning": _chat_reasoning.thinking_item,
    "redacted_thinking": _chat_reasoning.redacted_item,
    "reference": OpenAIChat._reference_item,
    "image_url": OpenAIChat._image_item,
}

_FIELDS: dict[str, Callable[[OpenAIChat, int, Any, dict[str, Any], Frame], None]] = {
    "reasoning_details": _chat_reasoning.details,
    "reasoning_steps": _chat_reasoning.steps,
    "reasoning_content": _chat_reasoning.plain,
    "reasoning": _chat_reasoning.plain,
    "reasoning_text": _chat_reasoning.plain,
    "thinking": _chat_reasoning.plain,
    "cot_summary": _chat_reasoning.plain,
    "thinking_blocks": _chat_reasoning.thinking_blocks,
    "reasoning_opaque": _chat_reasoning.opaque,
    "reasoning_signature": _chat_reasoning.signature,
    "reasoning_items": _chat_reasoning.items,
    "executed_tools": OpenAIChat._executed_tools,
    "content_blocks": _chat_reasoning.content_blocks,
    "content": OpenAIChat._content,
    "extra_content": OpenAIChat._extra_content,
    "refusal": OpenAIChat._refusal,
    "audio": _chat_audio.audio,
    "images": OpenAIChat._images,
    "annotations": _chat_citations.in_delta,
    "citations": _chat_citations.addresses,
    "provider_specific_fields": _chat_citations.in_provider_fields,
    "tool_calls": _chat_calls.tool_calls,
    "content_list": _chat_calls.content_list,
    "function_call": _chat_calls.function_call,
    "error": OpenAIChat._error_amid,
}

DIALECT = OpenAIChat
