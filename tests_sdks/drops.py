"""
What each SDK drops or changes on the way from the bytes to its objects, so that folding the objects cannot give it back.

`docs/doors.md` has the same list for readers; a test holds the two together.
"""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import NamedTuple

EVERYTHING = (
    "text reasoning refusal tool_calls finish_reason native_finish_reason usage error truncated ended id model created "
    "vendor annotations logprobs parts choices extra"
)


class Drop(NamedTuple):
    """One thing that does not come through, and the fields of a response that show it."""

    what: str
    fields: str
    body: bytes = b""
    """A pattern: only streams whose bytes it is found in are affected."""
    cases: str = "*"
    """Names of cases that are affected."""

    def applies(self, name: str, body: bytes) -> bool:
        return (
            any(fnmatch(name, one) for one in self.cases.split()) and re.search(self.body, body, re.DOTALL) is not None
        )


END_MARK = Drop("that `[DONE]` came: a stream without a finish reason looks cut", "truncated ended")
LAST_EVENT = Drop(
    "a last event that no blank line follows",
    "text finish_reason native_finish_reason usage truncated ended extra vendor",
    rb"[^\n\r][\n\r]?\Z",
)
ERROR_FIELD = Drop(
    "an error in a line `error: ...` of its own", "error finish_reason truncated ended extra", rb"(?m)^error:"
)
TEXT_COUNTS = Drop("counts that are text", "usage", cases="usage-numbers-as-text")
STAINLESS = (END_MARK, LAST_EVENT, ERROR_FIELD, TEXT_COUNTS)
API_ERRORS = "APIError APIStatusError JSONDecodeError"

DROPS: dict[str, tuple[Drop, ...]] = {
    "openai-chat": STAINLESS,
    "openai-completions": STAINLESS,
    "openai-responses": (
        *STAINLESS,
        Drop(
            "the exact text of arguments that the server sends as objects", "tool_calls parts", rb'"(action|operation)"'
        ),
        Drop("events whose type is not in the payload", EVERYTHING, cases="types-only* *whole-body* *body-alone*"),
        Drop("fields of a wrong type", EVERYTHING, cases="wrong-shapes"),
        Drop("a number that the text of arguments and their restatement write differently", "tool_calls", rb"1\.10"),
    ),
    "groq": STAINLESS,
    "together": (
        *STAINLESS,
        Drop("fields of events that are no chunks", "extra", rb'"type": ?"ping"'),
        Drop("events named `error`", "error finish_reason truncated ended", rb"event: error"),
    ),
    "anthropic": (
        Drop("whether `message_stop` came", "ended"),
        Drop("events whose type is not in the payload", EVERYTHING, cases="types-only*"),
    ),
    "google-genai": (
        Drop("the exact text of arguments, which are objects", "tool_calls parts", rb'"(functionCall|executableCode)"'),
        Drop("exact numbers in streamed arguments, which it makes floats", "tool_calls parts", rb"numberValue"),
        Drop("an error that stands beside content", "finish_reason error truncated ended", rb'"error"'),
        Drop("`finishMessage`", "extra", rb"finishMessage"),
        Drop("`createTime`", "created vendor", rb"createTime"),
        Drop("citations in the way of Vertex AI", "annotations extra", rb"citation(s|Sources)"),
        Drop("`serviceTier` of the usage", "usage", rb"serviceTier"),
        Drop("snake_case names, and the envelope of Code Assist", EVERYTHING, rb'"response":|finish_reason'),
        Drop("parts and fields that it does not know", "parts extra", cases="*unknown* *malformed-content*"),
    ),
    "mistralai": (
        *STAINLESS,
        Drop("fields that Mistral itself does not send", "vendor extra usage"),
        Drop("refusals", "refusal finish_reason parts", rb'"refusal"'),
        Drop("reasoning outside of `content`", "reasoning parts", rb'"reasoning|"thinking": ?"'),
        Drop("annotations", "annotations", rb'"annotations"'),
        Drop("log-probabilities", "logprobs", rb'"logprobs"'),
        Drop("`function_call`", "tool_calls parts finish_reason", rb'"function_call"'),
        Drop("errors beside choices", "error finish_reason truncated ended", rb'"error"'),
        Drop(
            "pictures, audio, thinking and signatures in forms of other servers",
            "reasoning parts",
            cases="pictures-in-odd* audio-in-odd* thinking-items* signature-of-a-text*",
        ),
    ),
    "cohere": (
        END_MARK,
        Drop(
            "events that its model does not know or that miss a field of it: it leaves them out and logs",
            "text logprobs annotations tool_calls parts extra error finish_reason",
            cases="*without* *unknown* *thinking-then* *http-body* *empty-object-before* error-event*",
        ),
    ),
    "ollama": (
        Drop("ids and indexes of calls, and the exact text of arguments", "tool_calls parts", rb'"tool_calls"'),
    ),
    "boto3-converse": (
        Drop("members that its service model does not know", "parts annotations", cases="*every-kind* *server-tool*"),
        Drop("members of the usage that are empty or that its service model does not know", "usage"),
    ),
    "boto3-invoke": (),
    "litellm": (
        Drop("`created`: it sets its own clock", "created"),
        Drop("usage that the server did not send: it puts its own estimate there", "usage"),
        Drop("id and model where the server sends none: it makes them up", "id model"),
        Drop("the server's word for the finish reason, which it translates", "native_finish_reason finish_reason"),
        Drop("whether the end mark came", "ended truncated"),
        Drop("fields beside the message", "extra vendor"),
        Drop("all but the first text of a list in `content`", "text reasoning parts", rb'"content": ?\['),
        Drop("refusals", "refusal finish_reason parts", rb'"refusal"'),
        Drop("`reasoning_details`", "reasoning parts", rb'"reasoning|"thinking": ?"'),
        Drop("missing indexes and repeated names of calls, which it changes", "tool_calls parts", rb'"tool_calls"'),
        Drop("finish reasons of the choices after the first", "choices", rb'"index": ?1'),
        Drop(
            "pictures, audio and signatures in forms of other servers, and payloads that are no chunks",
            "parts",
            cases="pictures-in-odd* audio-in-odd* signature-of-a-text* message-amid*",
        ),
        Drop(
            "a `message` or `text` that comes beside or instead of deltas",
            "text tool_calls annotations parts",
            cases="final-message* text-of-the-legacy* text-beside*",
        ),
    ),
    "langchain": (
        Drop("the server's id: it puts its own there", "id"),
        Drop("the time of creation", "created"),
        Drop("the model of a stream without a finish reason", "model"),
        Drop("fields beside the message", "extra vendor"),
        Drop("reasoning of servers other than OpenAI", "reasoning parts", rb'"reasoning|<think>|"thinking": ?"'),
        Drop("annotations", "annotations", rb'"annotations"'),
        Drop("refusals", "refusal finish_reason parts", rb'"refusal"'),
        Drop("choices after the first, which it puts into the first", EVERYTHING, rb'"index": ?(1|null)'),
        Drop("usage outside of `usage`, and its less common counts", "usage", rb"x_groq|usage|cache_hit"),
        Drop("a whole `message` instead of a delta", EVERYTHING, rb'"message": ?\{|"delta": ?\{\}, ?"text"'),
        Drop("`function_call`", "tool_calls parts finish_reason", rb'"function_call"'),
        Drop("the kind and number of calls without an id", "tool_calls parts", rb'"tool_calls"'),
        *STAINLESS,
        Drop(
            "pictures, audio and signatures in forms of other servers, and payloads that are no chunks",
            "parts",
            cases="pictures-in-odd* audio-in-odd* signature-of-a-text* message-amid*",
        ),
        Drop("errors that come as a chunk or in one", "error finish_reason truncated", cases="error-* errors-*"),
    ),
}

# What an SDK raises where the server reports an error or sends something that the SDK does not expect. What came before
# is folded; where the exception tells what the provider said, that is in `error`.
RAISES: dict[str, str] = {
    "openai-chat": API_ERRORS,
    "openai-completions": API_ERRORS,
    "openai-responses": API_ERRORS,
    "groq": API_ERRORS,
    "together": API_ERRORS,
    "anthropic": API_ERRORS,
    "google-genai": "ServerError ClientError APIError UnknownApiResponseError ValidationError AttributeError TypeError",
    "mistralai": "ResponseValidationError",
    "cohere": "",
    "ollama": "ResponseError ValidationError JSONDecodeError",
    "boto3-converse": "EventStreamError ChecksumMismatch AttributeError",
    "boto3-invoke": "EventStreamError TypeError",
    "litellm": "MidStreamFallbackError ContextWindowExceededError",
    "langchain": "APIError JSONDecodeError AttributeError ValidationError KeyError TypeError ValueError",
}
