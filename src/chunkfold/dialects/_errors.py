"""Errors as providers tell them inside a stream or as a body: read into one shape, and judged for a retry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from chunkfold.basis import _json
from chunkfold.dialects._error_words import FINE, MINIMAX, is_known, is_retryable, status_named, status_said
from chunkfold.dialects._words import said_in, text_or_none, whole_number
from chunkfold.response import StreamError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "SAYING", "error_body", "error_event", "error_in", "error_told", "exceptions_in", "read_error", "says_success",
    "seconds",
]  # fmt: skip

# How AWS's errors end: Bedrock's are exceptions, SageMaker has two by these names.
_AWS = ("Exception", "ModelStreamError", "InternalStreamFailure")


def read_error(error: Any, *, type_: str | None = None, raw: Any = None, status: int | None = None) -> StreamError:
    """
    The error that *error* tells: an object with any of the usual fields, or just a sentence.

    Type and code come from the fields of those names; Gemini's `status` word and *type_* (AWS's exception name) are
    types where there is none.
    """
    raw = error if raw is None else raw
    error = _unpacked(error)
    if not isinstance(error, dict):
        error = {"message": error if isinstance(error, str) or error is None else _json.encode(error)}
    error = _innermost(error)
    status_word = text_or_none(error.get("status")) or ""
    if status_word.isdecimal() or _is_failure(status_word):
        status_word = ""
    said = text_or_none(error.get("type"))
    # LiteLLM writes Python's `None` as text.
    types = [None if said == "None" else said, status_word, _shape(error.get("__type"))]
    types += [text_or_none(error.get(key)) for key in ("errorType", "error_type")]
    kind = next(filter(None, types), type_)
    details = error.get("details")  # where Anthropic has the code
    holders = (error, details if isinstance(details, dict) else {})
    code = next((holder[key] for holder in holders for key in _CODES if _is_code(holder.get(key))), None)
    metadata = error.get("metadata")
    detailed = metadata.get("error_type") if isinstance(metadata, dict) else None
    words, wait, message = (kind, code, detailed, error.get("error_type")), _retry_after(error), _message_of(error)
    number = status if status is not None else _status_of(error, kind, code) or status_said(message or "")
    return StreamError(
        type=kind,
        message=message,
        code=code,
        status=number,
        retryable=is_retryable(words, number, message, is_asked_to_wait=wait is not None),
        retry_after=wait,
        raw=raw,
    )


def _shape(name: Any) -> str | None:
    """The name of AWS's exception, behind the namespace that some of its services write."""
    return text_or_none(name.rpartition("#")[2]) if isinstance(name, str) else None


def _innermost(error: dict[str, Any]) -> dict[str, Any]:
    """The error that has a sentence to say: gateways put that of the server behind them into one that has none."""
    while _message_of(error) is None:
        inner = error.get("error") or error.get("errors") or error.get("data")
        if isinstance(inner, list) and inner:
            inner = inner[0]
        inner = _unpacked(inner)
        if isinstance(inner, str):
            inner = {"message": inner}
        if not isinstance(inner, dict):
            break
        beside = {key: value for key, value in error.items() if key not in ("error", "errors", "data")}
        error = {**({**beside, "type": None} if _is_failure(beside.get("type")) else beside), **inner}
    return error


def _unpacked(error: Any) -> Any:
    """
    The object that an error is the text of: gateways pass on the body that they got (Vercel's of Bedrock), and the AI
    SDK writes as JSON what is no exception (`getErrorMessage`, of what Anthropic tells amid a stream).
    """
    if not (isinstance(error, str) and error.startswith("{") and error.endswith("}")):
        return error
    try:
        found, _ = _json.decode(error.encode())
    except ValueError:
        return error
    return found if found and isinstance(found, dict) else error


def error_in(payload: Mapping[str, Any]) -> StreamError | None:
    """The error that a payload is or carries, whatever the dialect; `None` if it tells none."""
    error = _unpacked(payload.get("error"))
    if isinstance(error, list) and error:
        # A list of errors (Cloudflare): the first one is told, `raw` has them all.
        error = next((one for one in error if not says_success(one)), error[0])
    if error is True and _message_of(payload) is not None:
        return _flat_error(payload)
    if error and not ((payload.get("choices") or payload.get("usage")) and says_success(error)):
        if isinstance(error, dict):
            return read_error({**_beside(payload), **error}, raw=dict(payload))
        return read_error(_sentence(error, payload), raw=dict(payload))
    if len(payload) == 1:
        # AWS's SDKs hand out exceptions of a stream as members of the union of its events.
        ((name, exception),) = payload.items()
        if isinstance(name, str) and name.endswith(_AWS) and isinstance(exception, dict):
            return read_error(exception, type_=name, raw=dict(payload))
    base = payload.get("base_resp")
    if isinstance(base, dict) and base.get("status_code") not in (None, "", 0, "0"):
        # MiniMax tells errors in a field of an ordinary payload.
        code = base["status_code"]
        known = MINIMAX.get(whole_number(code) or 0)
        return read_error({"message": base.get("status_msg"), "code": code}, raw=dict(payload), status=known)
    if not SAYING.isdisjoint(payload) and _says(payload):
        # DeepInfra tells errors in fields of a chunk without choices.
        return _flat_error(payload)
    errors = payload.get("errors") or payload.get("fault")
    first = errors[0] if isinstance(errors, list) and errors else errors
    if (isinstance(first, dict) and _message_of(first) is not None) or text_or_none(first):
        # A list of errors (IBM): the first one is told, `raw` has them all. A fault is Apigee's or WSO2's.
        return read_error(first, raw=dict(payload), status=_number(payload.get("status_code")))
    return None


def says_success(fields: Any) -> bool:
    """
    True if all that the fields of an error say is that there is none: One-API has the object with nothing in it in
    every answer, others with a code and a word for success.
    """
    if not isinstance(fields, dict) or fields.get("success") is False:
        return False
    said = {key: value for key, value in fields.items() if value}
    return all(value in FINE if key in _NUMBERS else str(value).lower() in _SUCCESS for key, value in said.items())


def _beside(payload: Mapping[str, Any]) -> dict[str, Any]:
    """The HTTP status and the time to wait beside an error. A `status` that is a word is that of something else."""
    found = {key: payload[key] for key in _BESIDE if key in payload}
    return found if _number(found.get("status")) is not None else {**found, "status": None}


def _sentence(error: Any, payload: Mapping[str, Any]) -> dict[str, Any]:
    """
    The fields of an error that is no object, with those beside it. Where a message stands there too, the error is a
    name for it: the type, if it is one word.
    """
    fields = {key: payload[key] for key in ("type", "code", "error_type") if key in payload} | _beside(payload)
    fields["type"] = fields.get("error_type") or (fields.get("type") if fields.get("type") != "error" else None)
    said = next((payload[key] for key in ("message", "error_description") if text_or_none(payload.get(key))), None)
    if isinstance(error, str) and said is not None:
        is_name = not any(map(str.isspace, error))
        return {**fields, "message": said, "type": fields["type"] or (error if is_name else None)}
    return {**fields, "message": error if isinstance(error, str) else _json.encode(error)}


def exceptions_in(payload: Mapping[str, Any]) -> dict[str, StreamError]:
    """AWS's exceptions by their names, beside a message: what a body has that stands for a stream that broke."""
    return {
        name: read_error(value, type_=name, raw={name: value})
        for name, value in payload.items()
        if name.endswith(_AWS) and isinstance(value, dict)
    }


def error_body(payload: Mapping[str, Any]) -> StreamError | None:
    """
    The error that a whole body is, for bodies that no dialect knows: `{"message": ...}`, `{"detail": ...}` and their
    like, which gateways and frameworks answer with.
    """
    found = _error_among(payload)
    is_body = _is_error_body(payload) or _is_plainly_error(payload)
    return _flat_error(payload) if found is None and is_body else found


def error_told(payload: Mapping[str, Any], event: str = "") -> StreamError | None:
    """
    The error that a payload of a stream is, where its dialect has no such payload: it comes under the name *event* of
    `error`, or it says that it is one, as error bodies do in many ways. One with nothing but a message may be anything.
    """
    if event == "error":
        return error_event(payload)
    if payload.get("event") == "error":
        # The name of the event in the payload, where the framing has no names.
        inner = payload.get("data")
        named = error_event(inner if isinstance(inner, dict) else payload)
        return msgspec.structs.replace(named, raw=dict(payload))
    found = _error_among(payload)
    is_body = _is_error_body(payload) and _says_error(payload)
    return _flat_error(payload) if found is None and (is_body or _is_plainly_error(payload)) else found


def _error_among(payload: Mapping[str, Any]) -> StreamError | None:
    """The error that a payload carries, be it beside fields that say nothing: some write all members of a union."""
    said = {key: payload[key] for key in said_in(payload)}
    found = error_in(said)
    return found if found is None or len(said) == len(payload) else msgspec.structs.replace(found, raw=dict(payload))


def error_event(payload: Mapping[str, Any]) -> StreamError:
    """The error that an event of that name tells: in a field of its own, or in those of the event."""
    return _error_among(payload) or _flat_error(payload)


def _is_error_body(payload: Mapping[str, Any]) -> bool:
    return _has_sentence(payload) and _ERROR_BODY.issuperset(said_in(payload))


def _has_sentence(payload: Mapping[str, Any]) -> bool:
    message = payload.get("message")
    if isinstance(message, dict) and "role" in message:
        return False  # a message of a chat
    return _message_of(payload) is not None


def _is_plainly_error(payload: Mapping[str, Any]) -> bool:
    """
    True if a payload says that it is an error, or has an HTTP status of one and names itself nothing else: then fields
    that no error is known to have, an id for tracing maybe, do not matter.
    """
    kind = payload.get("type")
    if not _has_sentence(payload) or not _ANSWER.isdisjoint(said_in(payload)):
        return False
    if "error" in (payload.get("object"), kind):
        return True
    # The type of RFC 9457's problems is an address.
    is_other = bool(kind) and not (isinstance(kind, str) and (kind.startswith(_ADDRESSES) or _names_error(kind)))
    return not is_other and (payload.get("success") is False or _http_status(payload) is not None)


def _http_status(payload: Mapping[str, Any]) -> int | None:
    return next(filter(None, [_number(payload.get(key)) for key in (*_STATUSES, *_CODES)]), None)


def _says_error(payload: Mapping[str, Any]) -> bool:
    """True if a body says that it is an error: by its type, by an HTTP status, or as FastAPI does."""
    kinds = [word for word in (payload.get("object"), payload.get("type")) if isinstance(word, str)]
    if any(map(_names_error, kinds)) or payload.get("success") is False or _is_failure(payload.get("status")):
        return True
    code = next((payload[key] for key in _CODES if payload.get(key)), None)
    if code and code not in FINE and not payload.get("type"):
        return True
    return said_in(payload) == ["detail"] or _status_of(payload, None, code) is not None


def _names_error(word: str) -> bool:
    """True for a class of errors or a documented one; `tool_error` may be an event of anything."""
    return word.endswith(("Error", "Exception")) or word.lower() == "error" or is_known(word)


def _is_failure(word: Any) -> bool:
    return isinstance(word, str) and word.lower() in ("error", "failed", "failure", "fail")


def _flat_error(payload: Mapping[str, Any]) -> StreamError:
    """The error whose fields are those of the payload. A type or status of `error` is the name of the payload."""
    fields = {key: value for key, value in payload.items() if key not in ("type", "status") or not _is_failure(value)}
    return read_error(fields, raw=dict(payload))


_ERROR_BODY = frozenset(
    {
        "object", "message", "Message", "type", "param", "code", "detail", "details", "title", "status", "status_code",
        "statusCode", "raw_status_code", "request_id", "requestId", "id", "timestamp", "path", "instance", "msg",
        "reason", "success", "error_type", "__type", "error_code", "error_msg", "errorCode", "errorMessage",
        "errorType", "stackTrace", "trace", "traceId", "trace_id", "http_code", "httpStatus", "http_status",
        "http_status_code", "retry_after", "sid", "log_id", "location", "module_results",
    }
)  # fmt: skip
_ADDRESSES = ("about:", "urn:", "http:", "https:")
# Where answers stand: an error that comes with one is told beside it.
_ANSWER = frozenset(
    {
        "choices", "candidates", "content", "content_block", "data", "delta", "generated_text", "generation", "item",
        "messages", "output", "outputs", "part", "parts", "response", "result", "results", "text", "token",
        "tool_calls",
    }
)  # fmt: skip
# What nothing but an error has (Baidu, AWS Lambda, DeepInfra).
SAYING = frozenset({"error_message", "error_msg", "errorMessage"})
_SUCCESS = frozenset({"ok", "success"})
_CODES = ("code", "error_code", "errorCode", "ErrorCode")
# Where an HTTP status stands, in an error or beside it.
_STATUSES = (
    "status_code", "statusCode", "StatusCode", "http_status_code", "raw_status_code", "http_status",
    "httpStatus", "http_code", "status",
)  # fmt: skip
# The last two are Hugging Face's, while a model is loading, and ChatGPT's.
_DELAYS = ("retry_after", "retryAfter", "retry_after_seconds", "estimated_time", "resets_in_seconds")
_BESIDE = (*_STATUSES, *_DELAYS)
_NUMBERS = frozenset({*_CODES, *_STATUSES})
# Where the sentence of an error stands.
_SENTENCES = (
    "message", "msg", "error_message", "error_msg", "errorMessage", "faultstring", "detail", "reason", "Message",
    "originalMessage", "title", "description",
)  # fmt: skip
_FLAT = (*_SENTENCES, *_CODES, *_STATUSES, "success")


def _message_of(error: Mapping[str, Any]) -> str | None:
    for key in _SENTENCES:
        value = error.get(key)
        if isinstance(value, str) and value:
            return value
        if value:
            return _json.encode(value)
    return None


def _status_of(error: Mapping[str, Any], kind: str | None, code: Any) -> int | None:
    for name in _STATUSES:
        number = _number(error.get(name))
        if number is not None:
            return number
    number = _number(code)
    if number is not None:
        return number
    # The code says more than the class: OpenAI's `invalid_api_key` is an `invalid_request_error` too.
    by_code = status_named(code) if isinstance(code, str) else None
    return by_code or status_named(kind or "")


def _number(value: Any) -> int | None:
    if isinstance(value, str) and len(value) == 3 and value.isdecimal():
        value = int(value)
    return value if isinstance(value, int) and 400 <= value <= 599 else None


def _retry_after(error: Mapping[str, Any]) -> float | None:
    """Seconds from a google.rpc.RetryInfo among the details, or from a field of the usual names."""
    details = error.get("details")
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and delay.endswith("s"):
            try:
                return seconds(float(delay[:-1]))
            except ValueError:
                continue
    metadata = error.get("metadata")
    for holder in (error, metadata if isinstance(metadata, dict) else {}):
        for name in _DELAYS:
            delay = _delay(holder.get(name))
            if delay is not None:
                return delay
    return None


def _delay(value: Any) -> float | None:
    """Seconds as a number, or as a text of digits."""
    if isinstance(value, str) and value.replace(".", "", 1).isdecimal() and value.isascii():
        value = float(value)
    return seconds(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def seconds(value: float) -> float | None:
    """A time that can be waited for. `inf` and numbers of hundreds of digits are none."""
    return float(value) if 0 <= value < 1e9 else None


def _says(payload: Mapping[str, Any]) -> bool:
    """True if the fields that nothing but an error has say one."""
    fields = {key: payload[key] for key in _FLAT if key in payload}
    return any(text_or_none(payload.get(key)) for key in SAYING) and not says_success(fields)


def _is_code(value: Any) -> bool:
    return isinstance(value, (str, int)) and value != "" and not isinstance(value, bool)
