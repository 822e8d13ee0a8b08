"""The events of OpenAI Responses: their names, those of today and those before, and what each kind is about."""

from __future__ import annotations

from typing import Any

from chunkfold.basis import _json
from chunkfold.dialects._words import is_blank

__all__ = [
    "AUDIO", "BESIDE", "INPUTS", "OF_INPUT", "OLDER", "PART_EVENTS", "PINGS", "PROGRESS", "TEXTS", "UNNUMBERED",
    "is_aside", "renewed", "response_in", "text_in", "told_beside",
]  # fmt: skip

# Fields of the response that some servers put beside it, or in its place.
BESIDE = ("id", "model", "created_at", "status", "output", "usage", "error", "incomplete_details")


def _each(verbs: tuple[str, ...], **rows: tuple[Any, ...]) -> dict[str, tuple[Any, ...]]:
    return {f"response.{stem}.{verb}": (stem, *row) for stem, row in rows.items() for verb in verbs}


# The type of a part that has none, and the sub-index.
PART_EVENTS = _each(
    ("added", "done"), content_part=("output_text", "content_index"),
    reasoning_part=("reasoning_text", "content_index"), reasoning_summary_part=("summary_text", "summary_index"),
)  # fmt: skip
# The type of the item, the list and kind of the part, the sub-index, the field that states the text.
TEXTS = _each(
    ("delta", "done"),
    output_text=("message", "content", "text", "content_index", "text"),
    refusal=("message", "content", "refusal", "content_index", "refusal"),
    reasoning_text=("reasoning", "content", "reasoning", "content_index", "text"),
    reasoning_summary_text=("reasoning", "summary", "reasoning", "summary_index", "text"),
)
TEXTS["response.output_text.annotation.added"] = TEXTS["response.output_text.done"]
# The type of the item, and the field that states the input.
INPUTS = _each(
    ("delta", "done"), function_call_arguments=("function_call", "arguments"),
    custom_tool_call_input=("custom_tool_call", "input"), mcp_call_arguments=("mcp_call", "arguments"),
    code_interpreter_call_code=("code_interpreter_call", "code"),
    apply_patch_call_operation_diff=("apply_patch_call", "diff"),
)  # fmt: skip
AUDIO = tuple(_each(("delta", "done"), **{"audio": (), "audio.transcript": ()}))
# Signs of life, by OpenAI and by gateways, and what says no more of the answer.
PINGS = (
    "response.compaction.compacting", "response.rate_limits.updated", "keepalive", "ping", "response.keepalive",
    "response.ping", "response.heartbeat",
)  # fmt: skip
# Keep-alives may all have the number 0, and no error is left out for its number.
UNNUMBERED = frozenset({"error", "response.error", *PINGS})
# What became of input that the client sent to a response amid it.
OF_INPUT = (
    "response.steer.accepted", "response.steer.pending", "response.steer.failed", "response.inject.created",
    "response.inject.failed",
)  # fmt: skip
PROGRESS = {
    **_each(("in_progress", "completed", "failed"), mcp_call=(), mcp_list_tools=()),
    **_each(("in_progress", "searching", "completed"), web_search_call=(), file_search_call=()),
    **_each(("in_progress", "interpreting", "completed"), code_interpreter_call=()),
    **_each(("in_progress", "generating", "partial_image", "completed"), image_generation_call=()),
}

# Names that events had before, in drafts or in the manual, which servers still send.
OLDER = {
    "response.output_text_annotation.added": "response.output_text.annotation.added",
    "response.mcp_call.arguments_delta": "response.mcp_call_arguments.delta",
    "response.mcp_call.arguments_done": "response.mcp_call_arguments.done",
    **{
        f"response.{before}.{verb}": f"response.{now}.{verb}"
        for before, now in (
            ("reasoning", "reasoning_text"),
            ("reasoning_content", "reasoning_text"),
            ("reasoning_summary", "reasoning_summary_text"),
            ("reasoning_summary.text", "reasoning_summary_text"),
            ("text", "output_text"),
            ("function_call.arguments", "function_call_arguments"),
            ("mcp_call.arguments", "mcp_call_arguments"),
            ("code_interpreter_call.code", "code_interpreter_call_code"),
        )
        for verb in ("delta", "done")
    },
    **{
        f"response.reasoning_summary.part.{verb}": f"response.reasoning_summary_part.{verb}"
        for verb in ("added", "done")
    },
}


def response_in(payload: dict[str, Any]) -> dict[str, Any]:
    """The response that an event carries, with what some servers put beside it, or in its place."""
    response = payload.get("response")
    response = response if isinstance(response, dict) else {}
    beside = {key: payload[key] for key in BESIDE if payload.get(key) and not response.get(key)}
    return {**response, **beside} if beside else response


def renewed(payload: dict[str, Any], kind: str) -> dict[str, Any]:
    """An event under its name of today."""
    told = {"delta": text_in(payload["delta"])} if "delta" in payload else {}
    return {**payload, "type": kind, **told}


def text_in(delta: Any) -> Any:
    """A delta, or the text in it where it is an object: so in drafts, and in gateways that pass on parts."""
    return delta["text"] if isinstance(delta, dict) and isinstance(delta.get("text"), str) else delta


def told_beside(kind: str, payload: dict[str, Any]) -> str:
    """What an event says beside its delta, as far as a repeat of it must say the same."""
    response = payload.get("response")
    id_ = response.get("id") if isinstance(response, dict) else None
    return _json.encode((kind, payload.get("output_index"), id_))


def is_aside(kind: Any, payload: dict[str, Any]) -> bool:
    """
    True if an error in an event is none of the response: that of input sent amid it, or of something within an item
    that has failed, such as one of the models that OpenRouter asks.
    """
    has_failed = isinstance(kind, str) and kind.startswith("response.") and kind.endswith(".failed")
    is_in_item = has_failed and not is_blank(payload.get("item_id"))
    return kind in OF_INPUT or (is_in_item and not is_blank(payload.get("error")))
