"""
The objects of the vendors' SDKs, as payloads. They are known by their shape; no SDK is imported.

A pydantic field that was "not set" is absent, not null, and fields that the SDK does not know come along. Helper events
that an SDK adds for its own callers (text so far, snapshots) say nothing new and give `None`.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import NoneType
from typing import TYPE_CHECKING, Any

from chunkfold._value import Value
from chunkfold.basis import _json
from chunkfold.basis._wording import described
from chunkfold.events import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.response import Usage

__all__ = ["error_body_of", "is_noise", "is_usual", "json_payload", "payload_of"]

# Stand-ins for "absent" that some SDKs leave in fields.
_ABSENT = frozenset({"Unset", "UnsetType", "NotGiven", "Omit", "NotSetType", "_Unset"})
# Events that the anthropic and openai helpers derive from those of the wire.
_DERIVED = frozenset({"text", "thinking", "citation", "signature", "input_json", "compaction"})
# google-genai makes a float of the first and together of the second, so that 3 would come out as 3.0.
_NUMBERS = frozenset({"numberValue", "index"})
_NAMED = frozenset({"event", "data"})
# What files, iterators and HTTP responses have, which are sources themselves.
_OF_SOURCES = ("__next__", "__anext__", "read", "iter_bytes", "iter_content")
# What the events of clients for server-sent events have: httpx-sse, sseclient, the SDKs' own; and requests-sse
# and others, after the browsers' fashion.
_OF_EVENTS = ("event", "last_event_id")
# What google-genai and openai's helpers add to a payload that never was on the wire.
_ADDED = frozenset(
    {"sdk_http_response", "sdkHttpResponse", "automatic_function_calling_history", "parsed", "parsed_arguments"}
)


def payload_of(item: Any, usage_so_far: Callable[[], Usage | None] | None = None) -> Mapping[str, Any] | bytes | None:
    """
    The payload that an SDK's object stands for; `None` for one that says nothing, or only what was said before. What a
    client for server-sent events hands out, such as httpx-sse, is bytes again. *usage_so_far* is asked where an object
    says how much more it has become.

    Raises:
        TypeError: If *item* has no shape that is known.
    """
    if item is None or isinstance(item, (dict, Mapping)):
        return item
    if hasattr(item, "tool_call_chunks"):
        return _langchain(item, usage_so_far)
    inner = getattr(item, "chunk", None)
    if inner is not None and getattr(item, "type", None) == "chunk":
        return payload_of(inner)
    if _is_derived(item):
        return None
    data = getattr(item, "data", None)
    if isinstance(data, str) and any(hasattr(item, name) for name in _OF_EVENTS):
        return _event_bytes(item, data)
    if data is not None and hasattr(data, "model_dump") and not hasattr(item, "type"):
        return payload_of(data)  # mistralai wraps each payload in an event
    plain = _plain(item)
    if not isinstance(plain, dict):
        raise TypeError(_no_payload(item))
    if plain.get("type") == "ai" and hasattr(item, "tool_calls"):  # a whole message of LangChain
        return _langchain(item, usage_so_far)
    if plain.keys() == _NAMED and isinstance(plain["data"], dict):
        return plain["data"]  # groq wraps what has a name
    return plain


def json_payload(payload: dict[str, Any]) -> dict[str, Any]:
    """
    The *payload* as JSON has it. `dict(chunk)` leaves models inside, `model_dump()` bytes and enums, and other code
    tuples.
    """
    try:
        return {key: _plain(held) for key, held in payload.items()}
    except RecursionError:
        return payload  # as deep as that, the dialect says so


_JSON = frozenset({str, int, float, bool, NoneType})
_ANY_DEPTH = 1 << 30
_DIGITS_OF_A_COUNT = 19
# What makes a plain value of one whose class is derived from its own.
_EXACTLY: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
)


def is_usual(payload: dict[str, Any], depth: int | None) -> bool:
    """True if all that *payload* holds is as JSON is decoded, and certainly no deeper than *depth*. Mostly it is."""
    try:
        return _is_json(payload, _ANY_DEPTH if depth is None else depth)
    except RecursionError:
        return False


def _is_json(payload: dict[str, Any], depth: int) -> bool:
    if depth < 1:
        return False
    for held in payload.values():
        kind = type(held)
        if kind in _JSON:
            continue
        if kind is list:
            if depth < 2:
                return False
            for item in held:
                kind = type(item)
                if kind not in _JSON and not (kind is dict and _is_json(item, depth - 2)):
                    return False
        elif kind is not dict or not _is_json(held, depth - 1):
            return False
    return True


def _event_bytes(item: Any, data: str) -> bytes:
    """A server-sent event as it was on the wire: its name means something, and so does data that is no JSON."""
    name = getattr(item, "event", None) or getattr(item, "type", None)
    head = f"event: {name}\n" if isinstance(name, str) and name != "message" else ""
    lines = "".join([f"data: {line}\n" for line in data.split("\n")])
    return f"{head}{lines}\n".encode("utf-8", "surrogatepass")


def error_body_of(exception: BaseException) -> dict[str, Any] | None:
    """The error in the provider's words that an SDK's exception carries; `None` if it carries none."""
    for name in ("body", "details"):  # openai and its kin; google-genai
        body = getattr(exception, name, None)
        if isinstance(body, dict) and body:
            return body
    answer = getattr(exception, "response", None)
    error = answer.get("Error") if isinstance(answer, dict) else None  # botocore
    if isinstance(error, dict):
        return {"type": error.get("Code"), "message": error.get("Message")}
    return None


def is_noise(item: Any) -> bool:
    """True for what an SDK hands out where the server sent no object at all: `5`, `"x"`, `[]`."""
    return isinstance(item, (int, float, list, tuple))


def _is_derived(item: Any) -> bool:
    """An event of a helper: it has a snapshot beside it, or is one of the helpers' own types."""
    kind = getattr(item, "type", None)
    if not isinstance(kind, str):
        return False
    if kind in _DERIVED and hasattr(item, "snapshot"):
        return True
    helper = kind.startswith(("content.", "refusal.", "tool_calls.", "logprobs."))
    return helper or (kind == "signature" and not hasattr(item, "index"))


def _plain(value: Any) -> Any:
    """*value* with every object in it as a dict, and what is absent left out. What has no known shape stays."""
    if type(value) in _JSON:
        return value
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, (str, int, float)):
        return next(exact(value) for kind, exact in _EXACTLY if isinstance(value, kind))
    if isinstance(value, (bytes, bytearray, memoryview)):
        import binascii

        return binascii.b2a_base64(value, newline=False).decode()  # as it was on the wire
    # Loops, since a comprehension takes a second frame of the stack, which Python 3.11 has a thousand of.
    if isinstance(value, Mapping):
        fields = {}
        for key, item in value.items():
            fields[key] = _plain(item)
        return fields
    if isinstance(value, (list, tuple)):
        items = []
        for item in value:
            items.append(_plain(item))  # noqa: PERF401
        return items
    return _fields(value)


def _fields(item: Any) -> Any:
    kind = type(item)
    named = getattr(item, "__pydantic_fields_set__", None)
    if named is None:
        named = getattr(item, "__fields_set__", None)
    if named is not None:
        # What mistralai and google-genai do not know they hand out as it came.
        return _plain(item.raw) if item.__dict__.get("is_unknown") is True else _pydantic(item, named)
    if isinstance(item, Value):
        return item
    if hasattr(item, "__struct_fields__"):
        return {name: _plain(getattr(item, name)) for name in item.__struct_fields__}
    if callable(getattr(item, "to_dict", None)):
        return _plain(item.to_dict())
    if callable(getattr(item, "isoformat", None)):
        return item.isoformat().replace("+00:00", "Z")
    if callable(getattr(item, "as_tuple", None)):
        return _of_decimal(item)
    if callable(getattr(item, "tolist", None)):  # NumPy's arrays and numbers, in what pandas reads of Parquet
        return _plain(item.tolist())
    attributes = getattr(item, "__dict__", None)
    if attributes is None and hasattr(item, "__dataclass_fields__"):
        attributes = {name: getattr(item, name) for name in item.__dataclass_fields__ if hasattr(item, name)}
    if attributes is None or kind.__module__ == "builtins" or any(hasattr(item, name) for name in _OF_SOURCES):
        return item
    return {name: _plain(held) for name, held in attributes.items() if name[0] != "_" and _is_there(held)}


def _of_decimal(number: Any) -> Any:
    """A Decimal as JSON is decoded: items of DynamoDB have these for all numbers, ijson and others for some."""
    if not number.is_finite():
        return str(number)
    exponent = number.as_tuple().exponent
    if exponent == 0 or (exponent > 0 and number.adjusted() < _DIGITS_OF_A_COUNT):
        return int(number)
    # Where a float would be written otherwise, as 1.10 or what has many digits, the exact number is the safer one.
    return float(number) if str(float(number)) == str(number) else number


def _no_payload(item: Any) -> str:
    told = f"the source gave {described(item)}; expected bytes, text, payloads or an SDK's objects"
    if not isinstance(item, Value):
        return told
    remedy = ": its place is StreamAccumulator().observe()" if isinstance(item, Event) else ""
    return f"{told}, and not what chunkfold has made{remedy}"


def _pydantic(item: Any, named: Any) -> dict[str, Any]:
    """The fields that were set, under their names on the wire, and the extra ones."""
    names = _wire_names(type(item))
    out: dict[str, Any] = {}
    for name, held in item.__dict__.items():
        is_said = name in named or (name == "type" and isinstance(held, str))  # cohere fills it in without setting it
        if name in _ADDED or (name == "snapshot" and "delta" in named):
            continue  # openai's helpers put the whole so far beside each delta
        if is_said and name[0] != "_" and _is_there(held):
            wire = names.get(name, name)
            is_whole = wire in _NUMBERS and isinstance(held, float) and held.is_integer()
            out[wire] = int(held) if is_whole else _plain(held)
    extra = getattr(item, "__pydantic_extra__", None)
    for name, held in (extra or {}).items():
        if _is_there(held):
            out.setdefault(name, _plain(held))
    return out


_NAMES: dict[type, dict[str, str]] = {}


def _wire_names(kind: type) -> dict[str, str]:
    names = _NAMES.get(kind)
    if names is None:
        fields = getattr(kind, "model_fields", None)
        if fields is None:  # the older pydantic; the newer one warns of that name
            fields = getattr(kind, "__fields__", None) or {}
        names = _NAMES[kind] = {}
        for name, field in fields.items():
            alias = getattr(field, "serialization_alias", None) or getattr(field, "alias", None)
            if isinstance(alias, str):
                names[name] = alias
    return names


def _is_there(held: Any) -> bool:
    return type(held).__name__ not in _ABSENT


def _langchain(item: Any, usage_so_far: Callable[[], Usage | None] | None) -> dict[str, Any]:
    """LangChain's messages, whole or in chunks, have a vocabulary of their own: it is said in that of `openai-chat`."""
    is_whole = not hasattr(item, "tool_call_chunks")
    more = getattr(item, "additional_kwargs", None) or {}
    facts = getattr(item, "response_metadata", None) or {}
    delta: dict[str, Any] = {key: more[key] for key in ("reasoning_content", "refusal") if more.get(key)}
    delta["content"] = content = item.content
    if isinstance(content, list):
        # The pieces of calls are in `tool_call_chunks` too.
        kept = [block for block in content if not isinstance(block, Mapping) or block.get("type") not in _CALL_BLOCKS]
        delta["content"] = [_langchain_block(block) for block in kept]
    calls = _langchain_calls(item, more) if is_whole else [_langchain_call(call) for call in item.tool_call_chunks]
    if calls:
        delta["tool_calls"] = calls
    reason = facts.get("finish_reason") or facts.get("stop_reason") or facts.get("done_reason")
    choice: dict[str, Any] = {"index": 0, "message" if is_whole else "delta": delta, "finish_reason": reason}
    choice |= {name: facts[name] for name in ("logprobs", "native_finish_reason") if facts.get(name)}
    own = getattr(item, "id", None) or ""
    payload: dict[str, Any] = {
        "object": "chat.completion" if is_whole else "chat.completion.chunk",
        # An id of LangChain's own says nothing about the response.
        "id": None if own.startswith(("lc_", "run-")) else own,
        "model": facts.get("model_name") or facts.get("model"),
        "choices": [choice],
    }
    usage = getattr(item, "usage_metadata", None)
    if usage:
        payload["usage"] = _langchain_usage(usage)
        if facts.get("model_provider") in _BY_DIFFERENCE and usage_so_far is not None and not is_whole:
            _add_usage(payload["usage"], usage_so_far())
    return payload


def _langchain_calls(item: Any, more: Mapping[str, Any]) -> list[Any]:
    """The calls of a whole message: as the server wrote them where LangChain has kept that, else as it read them."""
    read = [*item.tool_calls, *(getattr(item, "invalid_tool_calls", None) or ())]
    return list(more.get("tool_calls") or [_langchain_call(call) for call in read])


def _langchain_call(call: Mapping[str, Any]) -> dict[str, Any]:
    given = call.get("args")
    arguments = _json.encode(given) if isinstance(given, Mapping) else given
    return {
        **_said({"index": call.get("index"), "id": call.get("id")}),
        "function": _said({"name": call.get("name"), "arguments": arguments}),
    }


# LangChain adds the usage of chunks up, so that these say how much came since the last. What the others read has the
# whole in each chunk, if it has it in several.
_BY_DIFFERENCE = frozenset({"google_genai", "google_vertexai"})


_CALL_BLOCKS = frozenset({"tool_use", "input_json_delta", "tool_call", "tool_call_chunk", "function_call"})


def _langchain_block(block: Any) -> Any:
    """A block of content; thinking is said in one way."""
    thought = block.get("thinking", block.get("reasoning")) if isinstance(block, Mapping) else None
    if not isinstance(thought, str):
        return block
    said: dict[str, Any] = {"type": "thinking", "thinking": [{"type": "text", "text": thought}]}
    return said | {"signature": block["signature"]} if block.get("signature") else said


def _langchain_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    given, made = usage.get("input_token_details") or {}, usage.get("output_token_details") or {}
    said = {name: usage.get(key) for name, key in _LANGCHAIN_USAGE.items()}
    cached = {"cached_tokens": given.get("cache_read"), "cache_write_tokens": given.get("cache_creation")}
    said["prompt_tokens_details"] = _said(cached)
    said["completion_tokens_details"] = _said({"reasoning_tokens": made.get("reasoning")})
    return _said(said)


def _add_usage(said: dict[str, Any], before: Usage | None) -> None:
    """Make the whole of a difference."""
    if before is None:
        return
    given, made = said.setdefault("prompt_tokens_details", {}), said.setdefault("completion_tokens_details", {})
    for holder, key, count in (
        (said, "prompt_tokens", before.input_tokens),
        (said, "completion_tokens", before.output_tokens),
        (said, "total_tokens", before.total_tokens),
        (given, "cached_tokens", before.cached_input_tokens),
        (made, "reasoning_tokens", before.reasoning_tokens),
    ):
        if count is not None:
            holder[key] = count + (holder.get(key) or 0)


_LANGCHAIN_USAGE = {
    "prompt_tokens": "input_tokens",
    "completion_tokens": "output_tokens",
    "total_tokens": "total_tokens",
}


def _said(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if fact is not None and fact != {}}
