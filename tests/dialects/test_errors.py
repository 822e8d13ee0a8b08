"""Errors in the words of many: what they are called, which HTTP status they stand for, and whether to try again."""

from __future__ import annotations

import json

import pytest

from chunkfold import fold
from chunkfold.dialects._errors import error_body, error_in, error_told

BODIES = [
    ({"code": "Throttling.RateQuota", "message": "m", "request_id": "r"}, (None, "Throttling.RateQuota", 429, True)),
    ({"code": "InvalidApiKey", "message": "m"}, (None, "InvalidApiKey", None, False)),
    ({"object": "error", "message": "m", "type": "rate_limited", "code": "1300", "raw_status_code": 429},
     ("rate_limited", "1300", 429, True)),
    ({"error": {"message": "m", "http_status_code": 422}}, (None, None, 422, False)),
    ({"statusCode": 503, "message": "m"}, (None, None, 503, True)),
    ({"error": {"message": "m", "type": "insufficient_quota", "code": 429}}, ("insufficient_quota", 429, 429, False)),
    ({"error": {"message": "m", "type": "tokens", "code": "rate_limit_exceeded"}},
     ("tokens", "rate_limit_exceeded", 429, True)),
    ({"error": {"message": "m", "type": None, "code": "500"}}, (None, "500", 500, True)),
    ({"error": {"message": "m", "type": "None", "param": "None", "code": "429"}}, (None, "429", 429, True)),
    ({"error": {"code": 502, "message": "m", "metadata": {"error_type": "provider_unavailable"}}},
     (None, 502, 502, True)),
    ({"error": "m", "error_type": "overloaded"}, ("overloaded", None, None, True)),
    ({"type": "error", "message": "m"}, (None, None, None, False)),
    ({"success": False, "result": [], "error": [{"code": 429, "message": "m"}]}, (None, 429, 429, True)),
    ({"success": False, "errors": [{"code": 10000, "message": "m"}]}, (None, 10000, None, False)),
    ({"errors": {"message": "m"}}, (None, None, None, False)),
    ({"error": True, "message": "m", "code": 503}, (None, 503, 503, True)),
    ({"__type": "ThrottlingException", "message": "m"}, ("ThrottlingException", None, 429, True)),
    ({"__type": "com.amazon.coral.service#ThrottlingException", "message": "m"},
     ("ThrottlingException", None, 429, True)),
    # As AWS's documents have it, "Troubleshooting Amazon Bedrock API Error Codes".
    ({"__type": "ServiceQuotaExceededException", "message": "m"}, ("ServiceQuotaExceededException", None, 400, False)),
    ({"__type": "InternalFailure", "message": "m"}, ("InternalFailure", None, 500, True)),
    ({"type": "error", "error": '{"message": "m", "code": 503}'}, (None, 503, 503, True)),
    ({"error": '{"error": {"type": "overloaded_error", "message": "m"}}'}, ("overloaded_error", None, 529, True)),
    ({"error": {"code": 503, "error": "m"}}, (None, 503, 503, True)),
    ({"error": ["m"]}, (None, None, None, False)),
    ({"error": ["m", "n"]}, (None, None, None, False)),
    ({"errors": "m"}, (None, None, None, False)),
    ({"code": 10013, "message": "m", "sid": "cha"}, (None, 10013, None, False)),
    # Apigee, WSO2, Gravitee
    ({"fault": {"faultstring": "m", "detail": {"errorcode": "policies.ratelimit.QuotaViolation"}}},
     (None, None, None, False)),
    ({"fault": {"code": 900803, "type": "Status report", "message": "m"}}, ("Status report", 900803, None, False)),
    ({"message": "m", "http_status_code": 429}, (None, None, 429, True)),
    ({"code": 336, "msg": "m", "log_id": "1"}, (None, 336, None, False)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "facts"), BODIES)
def test_a_body_says_what_it_is_and_whether_to_try_again(body, facts):
    error = error_body(body)
    assert (error.type, error.code, error.status, error.retryable) == facts
    assert error.message == "m"
    assert error.raw == body


def test_a_sentence_in_braces_need_not_be_json():
    assert error_in({"error": "{m}"}).message == "{m}"


IN_A_STREAM = [
    # OpenAI, reported by many as an error that agents do not try again.
    ({"type": "service_unavailable_error", "code": "server_is_overloaded"}, 503, True),
    ({"type": "server_error", "code": "slow_down"}, 503, True),
    # Anthropic: of the minute, of the month
    ({"type": "rate_limit_error"}, 429, True),
    ({"type": "rate_limit_error", "message": "Server limits requests (not your usage limit): reached"}, 429, True),
    ({"type": "rate_limit_error", "details": {"error_code": "enforced_spend_limit_reached"}}, 429, False),
    # Moonshot
    ({"type": "engine_overloaded_error"}, 429, True),
    ({"type": "rate_limit_reached_error"}, 429, True),
    ({"type": "exceeded_current_quota_error"}, 429, False),
    # Volcengine Ark
    ({"code": "RateLimitExceeded.EndpointTPMExceeded", "type": "TooManyRequests"}, 429, True),
    ({"code": "ServerOverloaded", "type": "TooManyRequests"}, 429, True),
    ({"code": "QuotaExceeded", "type": "TooManyRequests"}, 429, False),
    ({"code": "AccountOverdueError", "type": "Forbidden"}, 403, False),
    ({"code": "InternalServiceError", "type": "InternalServerError"}, 500, True),
    # Zhipu: too many at a time, the model is busy, no money left
    ({"code": "1302"}, 429, True),
    ({"code": "1305"}, 429, True),
    ({"code": "1113"}, 429, False),
    # DashScope, and its compatible mode
    ({"code": "Throttling.RateQuota"}, 429, True),
    ({"code": "LimitRequests"}, 429, True),
    ({"type": "limit_requests", "code": "limit_requests"}, 429, True),
    ({"code": "PrepaidBillOverdue"}, 429, False),
    ({"code": "AllocationQuota.FreeTierOnly"}, 403, False),
    ({"code": "ModelServiceFailed"}, 500, True),
    ({"code": "InternalError.Algo"}, 500, True),
    ({"code": "InternalError.Algo.InvalidParameter"}, 400, False),
    ({"code": "InternalError.Algo.DataInspectionFailed"}, 400, False),
    # Mistral
    ({"type": "rate_limited", "code": "1300"}, 429, True),
    ({"type": "service_tier_capacity_exceeded", "code": "3505"}, None, True),
    ({"type": "backend_out_of_capacity", "code": "3505"}, None, True),
    # Cerebras
    ({"type": "too_many_requests_error", "code": "queue_exceeded", "param": "queue"}, 429, True),
    # Azure's models
    ({"code": "RateLimitReached"}, 429, True),
    # vLLM before it wrote a number
    ({"type": "BadRequestError"}, 400, False),
    ({"type": "InternalServerError"}, 500, True),
    # Databricks
    ({"error_code": "REQUEST_LIMIT_EXCEEDED"}, 429, True),
    ({"error_code": "TEMPORARILY_UNAVAILABLE"}, 503, True),
    # Gateways
    ({"type": "bad_gateway"}, 502, True),
    ({"type": "internal_error"}, 500, True),
    ({"code": "not-found"}, 404, False),
    ({"type": "model_overloaded"}, None, True),
    ({"type": "invalid_model"}, None, False),
    # Whoever says how long to wait
    ({"type": "loading", "retry_after": 5}, None, True),
    ({"code": "1113", "retry_after": 5}, 429, False),
]


@pytest.mark.parametrize(("fields", "status", "is_retryable"), IN_A_STREAM)
def test_the_words_of_an_error_tell_its_status_where_there_is_none(fields, status, is_retryable):
    """A stream has begun with 200, so that nothing else tells whether the request may succeed later."""
    error = error_in({"error": {"message": "m", **fields}})
    assert (error.status, error.retryable) == (status, is_retryable)


QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error,"
)
SENTENCES = [
    # The phrases of HTTP, of Cohere and of Amazon's API Gateway
    ("too many requests", 429, True),
    ("Internal Server Error", 500, True),
    ("Rate limit exceeded. Try again later.", 429, True),
    ("Not Found", 404, False),
    # Of Anthropic's error the AI SDK tells the message alone
    ("Overloaded", None, True),
    # What exceptions say of themselves: openai and anthropic in Python and in JavaScript, google-genai, pydantic-ai,
    # httpx, botocore, LiteLLM
    ("Error code: 429 - {'error': {'message': 'Slow down'}}", 429, True),
    ("Error code: 400 - {'error': {'message': 'Too many requests in one batch'}}", 400, False),
    ('529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 529, True),
    ("401 Incorrect API key provided", 401, False),
    ("503 UNAVAILABLE. {'error': {'code': 503}}", 503, True),
    ("status_code: 429, model_name: m, body: {}", 429, True),
    ("Server error '502 Bad Gateway' for url 'https://example.com'", 502, True),
    ("An error occurred (ThrottlingException) when calling the ConverseStream operation: Slow down", 429, True),
    ("An error occurred (modelStreamErrorException) when calling the ConverseStream operation: No", 424, True),
    ("Error code: 429 - {'error': {'message': 'No', 'code': 'insufficient_quota'}}", 429, False),
    ("Error code: 429 - {'error': {'message': 'No', 'type': 'exceeded_current_quota_error'}}", 429, False),
    ('429 {"message":"No","type":"budget_exceeded"}', 429, False),
    # OpenAI's quota is used up, and Gemini's is that of a minute
    (f"429 {QUOTA} read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.", 429, False),
    (f"429 {QUOTA} head to: https://ai.google.dev/gemini-api/docs/rate-limits.", 429, True),
    ("litellm.RateLimitError: RateLimitError: OpenAIException - Slow down", 429, True),
    ("litellm.SomeError: No", None, False),
    ("502 status code (no body)", 502, True),
    ("Request failed with status code 503", 503, True),  # axios
    ("An error occurred (SomeException) when calling the ConverseStream operation: No", None, False),
    ("Request failed with status code 429", 429, True),
    # Nothing but that there was too much: Ollama, OpenRouter
    ("server busy, please try again.  maximum pending requests exceeded", None, True),
    ("m is temporarily rate-limited upstream", None, True),
    ("unexpected status 429", None, True),
    ("HTTP 503", None, True),
    # Cohere: of the minute, of the month
    ("You are using a Trial key, which is limited to 20 API calls / minute. Rate limit exceeded.", None, True),
    ("You are using a Trial key, which is limited to 1000 API calls / month. Rate limit exceeded.", None, False),
    # Numbers and words amid a sentence may be anything, and so may those that it begins with
    ("500 tokens are too many", None, False),
    ("512 MB are all there is", None, False),
    ("503 tokens are more than the model takes", None, False),
    ("1234.5 tokens are too many", None, False),
    ("The prompt has 429 tokens, and 503 are too many", None, False),
    ("model 'm-429' not found", None, False),
    ("The page was not found", None, False),
    ("Separate limits and corporate limits", None, False),
    ("no tool of that name: get_rate_limit", None, False),
    ("host.docker.internal: connection refused", None, False),
    ("options.internal: Field required", None, False),
]


@pytest.mark.parametrize(("sentence", "status", "is_retryable"), SENTENCES)
def test_a_sentence_tells_the_status_and_whether_to_try_again_where_nothing_else_does(sentence, status, is_retryable):
    """Agents and interfaces for users pass on nothing else of an error."""
    for told in ({"error": sentence}, {"error": {"message": sentence}}, {"message": sentence}):
        error = error_body(told)
        assert (error.message, error.status, error.retryable) == (sentence, status, is_retryable)
    assert error_in({"error": {"message": sentence, "code": 403}}).status == 403


def test_no_sentence_says_more_than_a_status():
    assert not error_in({"error": {"message": "too many requests", "code": 400}}).retryable


def test_a_model_that_is_loading_is_asked_again_when_it_has_loaded():
    """Hugging Face."""
    error = error_in({"error": "Model m is currently loading", "estimated_time": 20.5})
    assert (error.message, error.retryable, error.retry_after) == ("Model m is currently loading", True, 20.5)


def test_the_limit_of_a_plan_tells_when_it_is_reset():
    """ChatGPT's, as Codex gets it: to ask again before that is of no use."""
    told = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "resets_in_seconds": 13872}
    error = error_in({"type": "error", "error": told, "status_code": 429})
    assert (error.status, error.retryable, error.retry_after) == (429, False, 13872.0)


def test_sentences_of_grpc_are_codes():
    """xAI."""
    error = error_in({"code": "The service is currently unavailable", "error": "Service temporarily unavailable."})
    assert (error.status, error.retryable) == (503, True)


@pytest.mark.parametrize(
    ("code", "status", "is_retryable"),
    [
        (1000, 500, True),
        (1002, 429, True),
        ("1002", 429, True),
        (1008, 402, False),
        (2013, 400, False),
        (9, None, False),
    ],
)
def test_numbers_of_minimax_tell_their_status(code, status, is_retryable):
    error = error_in({"choices": None, "base_resp": {"status_code": code, "status_msg": "m"}})
    assert (error.code, error.status, error.retryable) == (code, status, is_retryable)
    # Elsewhere such a number may be anything.
    assert error_in({"error": {"code": code, "message": "m"}}).status is None


@pytest.mark.parametrize(
    "payload",
    [
        {"message": "m"},
        {"message": "m", "type": "notice", "code": 7, "status": "queued"},
        {"detail": "m", "id": "x"},
        {"code": 200, "message": "m"},
        {"type": "error"},
        {"type": "tool_error", "message": "m"},
        {"object": "error", "message": "m", "choices": [{"index": 0}]},
        {"status": 500},
        {"status": 500, "message": "m", "type": "tool.progress", "step": 1},
        {"success": False, "message": "m", "type": "tool-result", "tool": "t"},
        {"status": 500, "message": "m", "type": "tool:step", "step": 1},
        {"status": "failed", "message": "m", "step": 1},
        {"type": "ToolError", "message": "m", "tool": "t"},
        {"code": 500, "message": "m", "content": "So far"},
        {"object": "error", "step": 1},
    ],
)
def test_a_payload_of_a_stream_is_no_error_unless_it_says_so(payload):
    assert error_told(payload) is None
    assert error_told(payload, "error") is not None
    assert error_told(payload, "message") is None


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        ({"object": "error", "message": "m", "type": "InternalServerError", "code": 500}, 500),
        ({"object": "error", "message": "m"}, None),
        ({"type": "error", "message": "m"}, None),
        ({"success": False, "message": "m"}, None),
        ({"code": 503, "message": "m"}, 503),
        ({"statusCode": "429", "message": "m"}, 429),
        ({"type": "about:blank", "title": "m", "status": 502}, 502),
        ({"type": "InternalServerError", "msg": "m", "status": 500}, 500),
    ],
)
def test_what_says_that_it_is_an_error_is_one_whatever_stands_beside(payload, status):
    """An id for tracing, say. With `[DONE]` behind it, it was a complete answer."""
    payload = {**payload, "x-span": "7f", "hint": {"region": "eu"}}
    told = error_told(payload)
    assert told == error_body(payload) == fold(json.dumps(payload).encode()).error
    assert (told.message, told.status, told.raw) == ("m", status, payload)
    for body in (
        b'data: {"choices":[{"index":0,"delta":{"content":"So far"}}]}\n\ndata: %b\n\ndata: [DONE]\n\n',
        b'data: {"object":"text_completion","choices":[{"index":0,"text":"So far"}]}\n\ndata: %b\n\ndata: [DONE]\n\n',
    ):
        response = fold(body % json.dumps(payload).encode())
        assert (response.text, response.error.message, response.finish_reason) == ("So far", "m", "error")


@pytest.mark.parametrize(
    "payload",
    [
        {"message": "m", "type": "RateLimitException"},
        {"message": "m", "object": "Error"},
        {"message": "m", "type": "server_error"},
        {"message": "m", "success": False},
        {"message": "m", "code": "data_inspection_failed", "request_id": "r"},
        {"message": "m", "status": "503"},
        {"detail": [{"msg": "m"}]},
        {"error": "m", "choices": []},
    ],
)
def test_a_payload_of_a_stream_is_an_error_if_it_says_so(payload):
    assert "m" in error_told(payload).message


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("invalid_api_key", 401), ("account_deactivated", 401), ("model_not_found", 404), ("rate_limit_exceeded", 429),
        ("context_length_exceeded", 400), ("unsupported_value", 400), (None, 400),
    ],
)  # fmt: skip
def test_the_code_of_an_error_tells_its_status_before_its_class(code, status):
    """OpenAI answers 401 and 404 to what is an `invalid_request_error` too."""
    told = {"error": {"type": "invalid_request_error", "message": "No.", "param": None, "code": code}}
    assert error_in(told).status == status


@pytest.mark.parametrize(
    ("code", "status", "retryable"),
    [
        ("rate_limit_exceeded", 429, True), ("quota_exceeded", 429, False), ("parameter_unknown", 400, False),
        ("not_found", 404, False), ("service_unavailable", 503, True), ("gateway_timeout", 504, True),
        ("internal_server_error", 500, True), ("server_is_overloaded", 503, True), ("slow_down", 503, True),
        ("vector_store_timeout", 504, True), ("invalid_prompt", None, False),
    ],
)  # fmt: skip
def test_a_code_alone_tells_whether_to_try_again(code, status, retryable):
    """Google's Interactions and OpenAI's Responses tell an error inside a stream by its code and a sentence."""
    error = error_in({"error": {"code": code, "message": "m"}})
    assert (error.type, error.code, error.status, error.retryable) == (None, code, status, retryable)


def test_a_message_of_a_chat_is_no_error():
    assert error_body({"message": {"role": "assistant", "content": "Hi"}}) is None
    assert error_body({"message": {"text": "Slow down"}}).message == '{"text":"Slow down"}'


def test_of_a_list_of_errors_within_one_without_a_sentence_the_first_is_told():
    error = fold([{"error": {"errors": [{"message": "gone", "code": "x"}, {"message": "late"}]}}], "openai-chat").error
    assert (error.message, error.code) == ("gone", "x")


@pytest.mark.parametrize(
    ("reason", "message", "retryable"),
    [
        ("ERROR", "internal error", True),
        ("TIMEOUT", "the model was too slow", True),
        ("error", "internal error", True),
        ("COMPLETE", "odd", False),
        ("ERROR", "You are using a Trial key, which is limited to 1000 API calls / month.", False),
        ("ERROR", "Error code: 400 - no such tool", False),
    ],
)
def test_a_failure_that_ends_a_stream_of_cohere_is_worth_a_retry(reason, message, retryable):
    start = {"type": "message-start", "id": "a", "delta": {"message": {"role": "assistant"}}}
    end = {"type": "message-end", "delta": {"finish_reason": reason, "error": message}}
    error = fold([start, end], "cohere-v2").error
    assert (error.type, error.message, error.retryable) == (None, message, retryable)
    begun = {"event_type": "stream-start", "is_finished": False, "generation_id": "g"}
    ended = {"event_type": "stream-end", "is_finished": True, "finish_reason": reason, "error": message}
    assert fold([begun, ended], "cohere-v1").error.retryable is retryable
    failed = {"event_type": "stream-error", "is_finished": True, "finish_reason": reason, "err": message}
    assert fold([failed], "cohere-v1").error.retryable is retryable


@pytest.mark.parametrize(
    "beside",
    [
        {"error": {"message": "", "type": "", "param": "", "code": None}},  # One-API's, in every answer
        {"error": {"message": None, "code": 0}},
        {"error": {"code": 0, "message": "success"}},
        {"error": {"code": 200, "msg": "OK"}},
        {"error_code": 0, "error_msg": "success"},
        {"errorCode": "0", "errorMessage": "OK"},
        {"errorMessage": "ok"},
    ],
)
def test_fields_of_an_error_that_say_that_there_is_none_are_none(beside):
    chunk = {
        "object": "chat.completion.chunk",
        "choices": [{"index": 0, "delta": {"content": "Hi"}, **beside}],
        **beside,
    }
    response = fold([chunk, {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}])
    assert (response.text, response.error, response.finish_reason) == ("Hi", None, "stop")


@pytest.mark.parametrize("kind", ["chat.completion", "text_completion"])
def test_an_error_with_nothing_in_it_stays_in_the_body(kind):
    said = (
        {"text": "Hi", "logprobs": None}
        if kind == "text_completion"
        else {"message": {"role": "assistant", "content": "Hi"}}
    )
    choice = {"index": 0, **said, "finish_reason": "stop", "error": {"message": "", "code": None}}
    body = {
        "id": "c",
        "object": kind,
        "created": 7,
        "model": "m",
        "choices": [choice],
        "error": {"message": "", "code": None},
    }
    response = fold([body])
    assert response.error is None
    assert response.to_native() == body
    choice["finish_reason"] = "error"
    assert fold([body]).error is not None


@pytest.mark.parametrize(
    "beside",
    [
        {"error": {"code": 0, "message": "boom"}},
        {"error": {"code": 500, "message": "success"}},
        {"error": {"type": "server_error", "message": ""}},
        {"error_code": 0, "error_msg": "boom"},
        {"error_code": 3, "error_msg": "ok"},
        {"error": {"type": "upstream", "message": "ok"}},
        {"error": {"message": "ok", "status": 500}},
        {"error": {"message": "ok", "status": "failed"}},
        {"error": {"message": "", "success": False}},
        {"error": {"message": "success", "detail": "The quota is used up."}},
        {"error": [{"message": ""}, {"message": "boom"}]},
        {"error_msg": "ok", "status_code": 500},
    ],
)
def test_an_error_that_says_anything_else_is_one(beside):
    assert error_in({"choices": [{"index": 0, "delta": {"content": "Hi"}}], **beside}) is not None


@pytest.mark.parametrize(
    ("begun", "failed", "dialect"),
    [
        ({"choices": [{"index": 0, "delta": {"content": "Hi"}}]}, {}, "openai-chat"),
        ({"choices": [{"index": 0, "delta": {"content": "Hi"}}]}, {"choices": []}, "openai-chat"),
        ({"choices": [{"index": 0, "text": "Hi"}]}, {}, "openai-completions"),
        ({"message": {"role": "assistant", "content": "Hi"}, "done": False}, {}, "ollama"),
        ({"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}, {}, "gemini"),
        ({"type": "message-start"}, {"type": "message-end", "delta": {"error": {"message": ""}}}, "cohere-v2"),
    ],
)
def test_an_error_with_nothing_in_it_is_one_where_no_answer_is_beside_it(begun, failed, dialect):
    """Nothing else tells that the answer is not whole, if an end mark follows."""
    assert fold([begun, {"error": {"message": "", "type": "", "code": None}, **failed}], dialect).error is not None


AMID = b'data: {"choices":[{"index":0,"delta":{"content":"So far"}}]}\n\n%b\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("[ERROR] boom", None),
        ("[Error]: boom", None),
        ("error: boom", None),
        ("Error - boom", None),
        ("ERROR boom", None),
        ("ValueError: boom", None),
        ("openai.RateLimitError: boom", 429),
        ("Internal Server Error", 500),
    ],
)
@pytest.mark.parametrize("is_json", [False, True])
def test_a_line_that_is_an_error_is_one_where_a_payload_belongs(line, status, is_json):
    """As servers write it that catch an exception while they stream; then they send `[DONE]` as always."""
    told = json.dumps(line) if is_json else line
    response = fold(AMID % f"data: {told}".encode())
    assert (response.text, response.finish_reason, response.ended) == ("So far", "error", "error")
    assert (response.error.message, response.error.status, response.error.origin) == (line, status, "provider")


@pytest.mark.parametrize("line", ["Error handling", "no error: fine", "keep-alive", "the error", "errors", "OK"])
def test_a_line_that_is_none_is_only_noted(line):
    for told, kind in ((line, "frame_not_json"), (json.dumps(line), "payload_not_object")):
        response = fold(AMID % f"data: {told}".encode())
        assert (response.error, response.text) == (None, "So far")
        assert [note.kind for note in response.diagnostics] == [kind]


@pytest.mark.parametrize("holder", ["delta", "message"])
@pytest.mark.parametrize("error", ["boom", {"message": "boom", "code": 7}])
def test_an_error_in_a_message_of_chat_is_one(holder, error):
    response = fold(AMID % f"data: {json.dumps({'choices': [{'index': 0, holder: {'error': error}}]})}".encode())
    assert (response.text, response.error.message, response.finish_reason) == ("So far", "boom", "error")
    body = response.to_native()
    assert body["choices"][0]["message"]["error"] == error
    assert "error" not in body
    assert fold(json.dumps(body).encode()).error.message == "boom"


def test_a_message_of_chat_may_say_that_there_was_no_error():
    for error in (None, "", {}, {"code": 0, "message": "success"}):
        response = fold(AMID % f"data: {json.dumps({'choices': [{'delta': {'error': error}}]})}".encode())
        assert (response.text, response.error, response.diagnostics) == ("So far", None, ())
