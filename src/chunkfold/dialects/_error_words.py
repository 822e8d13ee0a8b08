"""
What providers and gateways call their errors: the HTTP status that each word stands for, and whether to try again.

An error inside a stream came with a status of 200, so that its words are all there is to judge it by.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "FINE", "LIMIT_TEXT", "MINIMAX", "MISTRAL", "OVERLOADED_TEXT", "is_error_line", "is_known", "is_retryable",
    "is_used_up", "status_named", "status_said",
]  # fmt: skip

# Documented classes of errors and the HTTP status that each stands for: Anthropic's error page, google.rpc.Code,
# AWS's Bedrock runtime exceptions, OpenRouter's error_type, OpenAI's codes.
_STATUS: Final = {
    "invalid_request_error": 400, "invalid_request": 400, "context_length_exceeded": 400, "INVALID_ARGUMENT": 400,
    "FAILED_PRECONDITION": 400, "ValidationException": 400, "validationException": 400,
    "authentication_error": 401, "authentication": 401,
    "UNAUTHENTICATED": 401, "billing_error": 402, "payment_required": 402, "permission_error": 403,
    "permission_denied": 403, "PERMISSION_DENIED": 403, "AccessDeniedException": 403, "not_found_error": 404,
    "NOT_FOUND": 404, "ResourceNotFoundException": 404, "request_too_large": 413, "rate_limit_error": 429,
    "rate_limit_exceeded": 429, "rate_limit_reached_requests": 429,
    "RESOURCE_EXHAUSTED": 429, "ThrottlingException": 429, "throttlingException": 429,
    "insufficient_quota": 429, "ServiceQuotaExceededException": 400, "ModelNotReadyException": 429,
    "api_error": 500, "server_error": 500, "INTERNAL": 500, "InternalServerException": 500,
    "internalServerException": 500, "modelStreamErrorException": 424, "ModelStreamErrorException": 424,
    "ModelErrorException": 424, "ModelStreamError": 424, "InternalStreamFailure": 500, "InternalFailure": 500,
    "UNAVAILABLE": 503, "ServiceUnavailableException": 503,
    "serviceUnavailableException": 503, "provider_unavailable": 503, "provider_overloaded": 503,
    "timeout_error": 504, "DEADLINE_EXCEEDED": 504, "ModelTimeoutException": 408, "modelTimeoutException": 408,
    "overloaded_error": 529,
    # Google's Interactions, whose further codes are the phrases of HTTP.
    "failed_precondition": 400, "parameter_unknown": 400, "out_of_range": 416, "quota_exceeded": 429,
    # OpenAI's codes where the class is a general one.
    "invalid_api_key": 401, "account_deactivated": 401, "unsupported_country_region_territory": 403,
    "model_not_found": 404, "server_is_overloaded": 503, "slow_down": 503, "vector_store_timeout": 504,
    # DashScope's, which go on after a dot: `Throttling.RateQuota`. The others are those of its compatible mode.
    "Throttling": 429, "SystemError": 500, "RequestTimeOut": 500, "ModelServingError": 503, "ModelServiceFailed": 500,
    "ModelUnavailable": 503, "LimitRequests": 429, "limit_requests": 429, "limit_burst_rate": 429,
    "InternalError.Algo.InvalidParameter": 400, "InternalError.Algo.DataInspectionFailed": 400, "Arrearage": 400,
    "AllocationQuota.FreeTierOnly": 403, "CommodityNotPurchased": 429, "PrepaidBillOverdue": 429,
    "PostpaidBillOverdue": 429,
    # Moonshot.
    "engine_overloaded_error": 429, "rate_limit_reached_error": 429, "exceeded_current_quota_error": 429,
    # Cerebras.
    "too_many_tokens_error": 429,
    # Volcengine Ark, which has the phrases of HTTP as its types.
    "ServerOverloaded": 429, "InternalServiceError": 500,
    # Mistral, Azure's models, GitHub Copilot.
    "rate_limited": 429, "RateLimitReached": 429, "user_model_rate_limited": 429,
    # Zhipu.
    "1113": 429, "1302": 429, "1303": 429, "1304": 429, "1305": 429, "1308": 429, "1310": 429, "1312": 429,
    "1234": 500,
    # xAI, which has the sentences of a gRPC library for codes.
    "Client specified an invalid argument": 400,
    "The request does not have valid authentication credentials": 401,
    "The caller does not have permission to execute the specified operation": 403,
    "Some requested entity was not found": 404,
    "Some resource has been exhausted": 429,
    "The service is currently unavailable": 503,
    "Deadline expired before operation could complete": 504,
}  # fmt: skip

# The phrases of HTTP itself, which many servers have for types and codes: `TooManyRequests`, `bad_gateway`,
# `InternalServerError`, `not-found`; and of gRPC, in the spellings of Databricks and others.
_PHRASES: Final = {
    "badrequest": 400, "unauthorized": 401, "paymentrequired": 402, "forbidden": 403, "notfound": 404,
    "requesttimeout": 408, "payloadtoolarge": 413, "contenttoolarge": 413, "unprocessableentity": 422,
    "toomanyrequests": 429, "ratelimit": 429, "ratelimitexceeded": 429, "requestlimitexceeded": 429,
    "resourceexhausted": 429, "internal": 500, "internalserver": 500, "badgateway": 502, "serviceunavailable": 503,
    "temporarilyunavailable": 503, "gatewaytimeout": 504, "deadlineexceeded": 504,
}  # fmt: skip

# The numbers of MiniMax's `base_resp`, which mean other things elsewhere.
MINIMAX: Final = {
    1000: 500, 1001: 504, 1002: 429, 1004: 401, 1008: 402, 1024: 500, 1033: 500, 1039: 429, 1041: 429, 2013: 400,
    2045: 429, 2049: 401, 2056: 429,
}  # fmt: skip

# The numbers of Mistral's errors where no type stands beside them.
MISTRAL: Final = {1300: 429, 3505: 429}

# Worth a retry whatever the status says, or without one.
_RETRY: Final = frozenset(
    {
        "overloaded_error", "api_error", "timeout_error", "rate_limit_error", "server_error", "rate_limit_exceeded",
        "provider_overloaded", "provider_unavailable", "server", "timeout", "UNAVAILABLE", "RESOURCE_EXHAUSTED",
        "INTERNAL", "DEADLINE_EXCEEDED", "ThrottlingException", "throttlingException", "ServiceUnavailableException",
        "serviceUnavailableException", "InternalServerException", "internalServerException", "ModelTimeoutException",
        "modelTimeoutException", "ModelNotReadyException", "modelStreamErrorException", "ModelStreamErrorException",
        "ModelStreamError", "InternalStreamFailure",
        "insufficient_system_resource", "network_error", "overloaded", "service_unavailable", "upstream_error",
        "generation", "incomplete_generation", "incomplete_generation_stream", "service_tier_capacity_exceeded",
        "backend_out_of_capacity",
    }
)  # fmt: skip
# What was paid for is used up: never worth a retry, although the status (429) would say so.
_USED_UP: Final = frozenset(
    {
        "insufficient_quota", "billing_hard_limit_reached", "ServiceQuotaExceededException",
        "exceeded_current_quota_error", "QuotaExceeded", "quota_exceeded", "1113", "1304", "1308", "1309", "1310",
        "budget_exceeded",  # LiteLLM's proxy
        "usage_limit_reached",  # ChatGPT's plans
        "enforced_spend_limit_reached",  # Anthropic, of type `rate_limit_error`
        "Arrearage", "AllocationQuota.FreeTierOnly", "CommodityNotPurchased", "PrepaidBillOverdue",
        "PostpaidBillOverdue",  # DashScope
    }
)  # fmt: skip
# The same where the words are those of a rate limit, or none: Zhipu and Moonshot, xAI, Hugging Face, Anthropic, Gemini,
# Cohere's keys for a trial, and the limits of plans, of five hours and more, at Anthropic, Ollama, MiniMax, Kimi, Zhipu
# and DashScope.
# "You exceeded your current quota" is among them where OpenAI's page is named: Gemini says it of the requests of a
# minute.
_USED_UP_TEXT: Final = (
    r"(?i)insufficient (?:account )?(?:balance|credits)|used all available credits|credit balance is too low"
    r"|monthly (?:spending (?:limit|cap)|included credits)|credits are depleted|api calls / month"
    r"|\b(?:free|hour|week|month) allocated quota exceeded|\u4f59\u989d\u4e0d\u8db3"
    r"|(?:reached|exceeded) [^.]{0,30}usage limit|usage limit (?:has been )?(?:reached|exceeded)"
    r"|exceeded your current quota[^{]{0,150}openai\.com"
)
# How sentences begin that are the text of an exception, which is all that agents pass on: of the SDKs of OpenAI,
# Anthropic and Google, of pydantic-ai, httpx and axios; and with the name of their class of botocore, LiteLLM and
# others. What is in capitals behind a number may be a unit.
_EXCEPTION_TEXT: Final = (
    r"(?:Error code: |status_code: |(?:Client|Server) error '|Request failed with status code )([45]\d\d)\b"
    r"|([45]\d\d) (?=[A-Z][a-z]|[A-Z]{4}|\{|status code)"
    r"|An error occurred \((\w+)\) when calling |(?:\w+\.)+([A-Z]\w+): "
)
# How a line begins that is an error and no payload: `[ERROR] ...`, `Error: ...`, or the class of an exception.
_ERROR_LINE: Final = (
    r"\s*(?:[\[(<]\s*(?i:error|exception)\s*[\])>]|ERROR\s"
    r"|(?:[A-Za-z_]\w*\.)*(?:(?i:error|exception)|[A-Z]\w*(?:Error|Exception))\s*(?::|-|$))"
)
# What an error says that has neither a class nor a status: a bare sentence, as of Ollama and Cohere. It may be about
# separate limits, a parameter `rate_limit` or 503 tokens.
_A_STATUS: Final = r"(?:http(?:/[\d.]{1,3})?|status|code|error)\W{1,3}"
LIMIT_TEXT: Final = rf"(?i)\brate[ -]limit|rate_?limit_?[er]|too many requests|throttl(?:ed|ing)|{_A_STATUS}429\b"
OVERLOADED_TEXT: Final = (
    rf"(?i)overloaded|{_A_STATUS}(?:503|529)\b|(?:at|over) capacity|capacity (?:temporarily )?exceeded"
    r"|serv(?:er|ice) (?:is )?(?:too )?busy"
)
# Codes that gateways and SDKs give to what went well.
FINE: Final = (200, "200", "0", "Success", "success")


def is_retryable(
    words: Iterable[Any], status: int | None, message: str | None = None, *, is_asked_to_wait: bool = False
) -> bool:
    """
    True if the same request may succeed later: by any of the error's *words*, by its HTTP *status*, or, where there is
    none, if it says how long to wait, or nothing but that there was too much; and what was paid for is not used up.
    """
    words = [word for word in words if word]
    said = [word for word in words if isinstance(word, str)]
    named = [*said, _exception_in(message)[1]]
    if not _RETRY.isdisjoint(named) or any("overloaded" in word.lower() for word in said):
        may_pass = True
    elif status is None:
        may_pass = is_asked_to_wait or (not words and (_says(LIMIT_TEXT, message) or _says(OVERLOADED_TEXT, message)))
    else:
        may_pass = status in (408, 425, 429) or status >= 500
    return may_pass and not is_used_up(said, message)


def is_used_up(words: Iterable[str], message: str | None) -> bool:
    """True if what was paid for is used up, by any of the error's *words* or by its sentence."""
    import re

    quoted = re.findall(r"""["']([\w.]+)["']""", message or "")  # as in the text of openai's exception
    return not _USED_UP.isdisjoint((*words, *quoted)) or _says(_USED_UP_TEXT, message)


def _says(text: str, message: str | None) -> bool:
    import re

    return message is not None and re.search(text, message) is not None


def is_known(word: str) -> bool:
    """True for a documented class of errors."""
    return word in _STATUS or word in _RETRY


def status_named(word: str) -> int | None:
    """The HTTP status that *word* stands for, which may go on after a dot; `None` if it is none of the known ones."""
    return _STATUS.get(word) or _STATUS.get(word.partition(".")[0]) or _status_of_phrase(word)


def status_said(message: str) -> int | None:
    """The HTTP status that a sentence is the phrase of, or that it begins with as the text of an exception does."""
    status, name = _exception_in(message)
    if name is not None:
        return status_named(name)
    return _status_of_phrase(message) if status is None else int(status)


def is_error_line(text: str) -> bool:
    """True if a line that a server wrote where a payload belongs is an error by how it begins, or a status's phrase."""
    import re

    return re.match(_ERROR_LINE, text) is not None or status_said(text) is not None


def _status_of_phrase(text: str) -> int | None:
    letters = "".join(filter(str.isalpha, text.partition(".")[0])).lower()
    return _PHRASES.get(letters.removesuffix("error").removesuffix("exception"))


def _exception_in(message: str | None) -> tuple[str | None, str | None]:
    """The HTTP status, or the name of the class, that a sentence begins with as the text of an exception does."""
    import re

    found = re.match(_EXCEPTION_TEXT, message or "")
    return (found[1] or found[2], found[3] or found[4]) if found is not None else (None, None)
