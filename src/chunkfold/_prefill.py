"""
Going on from a partial answer: what each provider needs for it, and where it does not work.

Some servers take a last message of the assistant as the beginning of the answer and go on behind it. Others begin a new
answer, or refuse. The table at the end says which; it goes by what providers document and by their refusals.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from chunkfold import dialects
from chunkfold._value import Value
from chunkfold.errors import CannotContinue
from chunkfold.parts import ReasoningPart, TextPart

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from chunkfold.parts import Part
    from chunkfold.response import Response

__all__ = ["Prefill", "prefill"]

_ASK_INSTEAD = "give ask=..., a request in words, to go on by a turn of the user's"


class Prefill(Value, frozen=True):
    """What goes into a request, so that the model goes on from a partial answer."""

    dialect: str
    """The canonical name of the dialect of the request."""
    messages: tuple[dict[str, Any], ...] = ()
    """To be put behind the messages of the request (`contents` in Gemini's)."""
    body: dict[str, Any] = {}
    """Fields to be set in the body of the request."""
    prompt: str = ""
    """To be put behind the prompt, where there is one instead of messages."""
    prefix: str = ""
    """What the whole answer begins with: it is this and the text that comes."""
    left_out: tuple[str, ...] = ()
    """The kinds of the parts that cannot be gone on from, in their order. Calls are made anew."""
    note: str = ""
    """What else to mind."""


def prefill(
    response: Response,
    dialect: str | None = None,
    *,
    model: str | None = None,
    vendor: str | None = None,
    ask: str | None = None,
) -> Prefill:
    """See `Response.as_prefill`."""
    name = dialect if dialect is not None else response.dialect
    if name is None:
        raise CannotContinue(None, model, "its dialect is not known; name it")
    name = dialects.get(name).name
    model = model if model is not None else response.model
    vendor = vendor if vendor is not None else response.vendor
    text, left_out = _beginning(response.parts)
    if not text.strip():
        raise CannotContinue(name, model, "there is no text to go on from: ask again")
    message = _MESSAGES.get(name, _chat_message)
    if ask is not None:
        if name in _PROMPTS:
            raise CannotContinue(name, model, "it has no turns: leave ask out")
        turns = (message("assistant", text.rstrip()), message("user", ask))
        return Prefill(name, turns, prefix=text, left_out=left_out, note="the new answer may repeat or leave out words")
    if name in _PROMPTS:
        return Prefill(name, prompt=text, prefix=text, left_out=left_out)
    if name == "openai-chat":
        return _chat(text, left_out, model, vendor)
    rule = _RULES.get(name)
    if rule is None:
        raise CannotContinue(name, model, f"{_REASONS.get(name, 'no way is known')}; {_ASK_INSTEAD}")
    reason, note = ("", rule) if isinstance(rule, str) else rule(model)
    if reason:
        raise CannotContinue(name, model, f"{reason}; {_ASK_INSTEAD}")
    # What ends in white space is refused, or goes on badly. The model writes it again.
    text = text.rstrip()
    last = message("assistant", text)
    if name == "dashscope":
        last["partial"] = True
    return Prefill(name, (last,), prefix=text, left_out=left_out, note=note)


def _beginning(parts: Sequence[Part]) -> tuple[str, tuple[str, ...]]:
    """The text up to the first part that is none, and the kinds of what is left out."""
    text, is_over = "", False
    left_out: list[str] = []
    for part in parts:
        if isinstance(part, TextPart) and not is_over:
            text += part.text
        elif not (isinstance(part, ReasoningPart) and not part.text and not part.encrypted):
            left_out.append(part.kind)
            # What a gateway says before the answer is no part of it.
            is_over = is_over or not (part.kind == "reasoning" or (part.kind == "unknown" and not text))
    return text, tuple(left_out)


# Messages, in each dialect's words


def _chat_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _blocks_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"type": "text", "text": text}]}


def _converse_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": [{"text": text}]}


def _gemini_message(role: str, text: str) -> dict[str, Any]:
    return {"role": "model" if role == "assistant" else role, "parts": [{"text": text}]}


def _responses_message(role: str, text: str) -> dict[str, Any]:
    part: dict[str, Any] = {"type": "input_text", "text": text}
    if role == "assistant":
        part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": role, "content": [part]}


def _step(role: str, text: str) -> dict[str, Any]:
    kind = "model_output" if role == "assistant" else "user_input"
    return {"type": kind, "content": [{"type": "text", "text": text}]}


def _ui_message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "text": text}]}


def _v1_message(role: str, text: str) -> dict[str, Any]:
    return {"role": "CHATBOT" if role == "assistant" else "USER", "message": text}


_MESSAGES: dict[str, Callable[[str, str], dict[str, Any]]] = {
    "anthropic-messages": _blocks_message,
    "bedrock-converse": _converse_message,
    "bedrock-invoke": _blocks_message,
    "cohere-v1": _v1_message,
    "gemini": _gemini_message,
    "gemini-interactions": _step,
    "openai-responses": _responses_message,
    "vercel-ui": _ui_message,
}

# Where the answer is the continuation of a prompt, of which the text so far is the end.
_PROMPTS = frozenset({"openai-completions", "tgi", "watsonx"})


# Models: why not, if not; and what to mind


_CLAUDE_FAMILY = re.compile(r"claude-(?:opus|sonnet|haiku)-(\d+)(?:[-.](\d{1,2})(?!\d))?")
_OLD_CLAUDE = re.compile(r"claude-(?:instant|v?[123])(?![\d])")
_GEMINI = re.compile(r"gemini-(\d+)(?:\.(\d+))?")


def _claude(model: str | None) -> tuple[str, str]:
    """Claude takes a prefill up to 4.5; every later family answers 400."""
    note = "only with extended thinking switched off"
    name = (model or "").lower()
    if _OLD_CLAUDE.search(name):
        return "", note
    found = _CLAUDE_FAMILY.search(name)
    if found is None:
        return f"whether {model or 'the model'} takes a prefill is not known (Claude does up to 4.5)", ""
    version = (int(found[1]), int(found[2] or 0))
    return ("", note) if version <= (4, 5) else ("Claude from 4.6 on refuses a last message of the assistant", "")


def _bedrock(model: str | None) -> tuple[str, str]:
    if "claude" in (model or "").lower():
        return _claude(model)
    return f"of {model or 'the model'} it is not documented (Claude does up to 4.5)", ""


def _gemini(model: str | None) -> tuple[str, str]:
    """Google documents nothing. Up to 3.1 the models go on; 3.5 says that it does not."""
    found = _GEMINI.search((model or "").lower())
    if found is None:
        return f"whether {model or 'the model'} goes on is not known (Gemini does up to 3.1)", ""
    if (int(found[1]), int(found[2] or 0)) > (3, 1):
        return "Gemini after 3.1 refuses a last turn of the model", ""
    return "", "not documented by the provider"


# A rule, or what to mind where all models go on.
_RULES: dict[str, Callable[[str | None], tuple[str, str]] | str] = {
    "anthropic-messages": _claude,
    "bedrock-converse": _bedrock,
    "bedrock-invoke": _bedrock,
    "gemini": _gemini,
    "ollama": "as the template of the model has it; some close the message first and begin anew",
    "dashscope": "only with thinking switched off",
}

_REASONS = {
    "openai-responses": "it begins a new answer; a response that runs in the background is resumed with starting_after",
    "cohere-v1": "it begins a new answer",
    "cohere-v2": "it begins a new answer",
    "vercel-ui": "it is what a server of yours sends to a browser, not what a model is asked in",
    "ag-ui": "it is what a server of yours sends to a browser, not what a model is asked in",
}


class _Way(NamedTuple):
    """How a server that speaks OpenAI's dialect is told to go on."""

    mark: str | None = None
    """The field of the message that has to be true."""
    body: dict[str, Any] = {}
    note: str = ""


_VENDORS = {
    "mistral": _Way("prefix"),
    "deepseek": _Way("prefix", note="only below the address that ends in /beta"),
    "moonshot": _Way("partial", note="only with thinking switched off"),
    "qwen": _Way("partial", note="only with thinking switched off"),
    "vllm": _Way(body={"continue_final_message": True, "add_generation_prompt": False}),
    "sglang": _Way(body={"continue_final_message": True}),
    "groq": _Way(),
    "lmdeploy": _Way(),
    "llamacpp": _Way(note="only with thinking switched off"),
    "ollama": _Way(note="as the template of the model has it"),
    "openrouter": _Way(note="as the provider behind it has it; Claude from 4.6 on refuses"),
}


def _chat(text: str, left_out: tuple[str, ...], model: str | None, vendor: str | None) -> Prefill:
    way = _VENDORS.get((vendor or "").lower())
    if way is None:
        said = f"{vendor} begins a new answer, as far as is known" if vendor else "OpenAI itself begins a new answer"
        known = ", ".join(sorted(_VENDORS))
        raise CannotContinue("openai-chat", model, f"{said}; name another vendor ({known}) or {_ASK_INSTEAD}")
    message = _chat_message("assistant", text.rstrip())
    if way.mark is not None:
        message[way.mark] = True
    prefix = message["content"]
    return Prefill("openai-chat", (message,), dict(way.body), prefix=prefix, left_out=left_out, note=way.note)
