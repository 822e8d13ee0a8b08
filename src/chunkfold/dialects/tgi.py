"""
Hugging Face Text Generation Inference, its own `/generate_stream`: one token a payload.

Texts of special tokens are no text. The last payload states the whole text, which stands: it may be trimmed, and a
character whose bytes came in two tokens is whole only there. There is no other end mark. With `details` not asked for,
the end is known and the reason is not. TGI's `/v1` endpoints are `openai-chat` and `openai-completions`.

Manual: docs/dialects/tgi.md. Reference: huggingface.co/docs/text-generation-inference, "Streaming".
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from chunkfold.dialects import CERTAIN, LIKELY, NO, Dialect
from chunkfold.dialects._errors import error_in
from chunkfold.dialects._usage import two_counts
from chunkfold.dialects._words import word
from chunkfold.parts import TextPart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from chunkfold.dialects._writer import Writer
    from chunkfold.framing import Frame

# What a payload of a stream has, where a whole body has lists among the details.
_PIECES = ("index", "token", "top_tokens")
_TOP = frozenset({*_PIECES, "generated_text", "details", "error", "error_type"})
_COUNTS = ("input_length", "generated_tokens")
_usage = partial(two_counts, *_COUNTS)
_DETAILS = frozenset({"finish_reason", "tokens", *_COUNTS})


class TGI(Dialect):
    """Hugging Face Text Generation Inference, native streaming."""

    name: ClassVar[str] = "tgi"
    aliases: ClassVar[tuple[str, ...]] = ("hf-tgi",)

    @classmethod
    def recognise(cls, payload: Mapping[str, Any], event: str) -> int:
        token = payload.get("token")
        if isinstance(token, dict) and "text" in token:
            return CERTAIN
        return LIKELY if isinstance(payload.get("generated_text"), str) else NO

    def __init__(self, writer: Writer) -> None:
        super().__init__(writer)
        self._texts: list[str] = []

    def decode(self, payload: dict[str, Any], frame: Frame) -> None:
        w = self.w
        error = error_in(payload)
        known = [key for key in FIELDS if key in payload]
        if not known and error is None:
            self.strange(payload, frame, word(payload.get("type"), frame.event))
            return
        if "token" not in payload and not self._texts and isinstance(payload.get("generated_text"), str):
            self.whole()  # a body that was not streamed has its tokens among the details
        for key in known:
            FIELDS[key](self, payload[key], payload)
        w.blanks(payload, _PIECES)
        if error is not None:
            w.error(error)
        w.extras(payload, _TOP)

    def _token(self, token: Any, payload: dict[str, Any]) -> None:
        """A token: its text, unless it is special, and its log-probability with the likeliest others."""
        if not isinstance(token, dict):
            self.w.logprobs(0, [token] if token is not None else [])
            return
        text = token.get("text")
        if isinstance(text, str) and not token.get("special"):
            self._texts.append(text)
            self.w.append(0, "text", text)
        others = payload.get("top_tokens")
        self.w.logprobs(0, [{**token, "top_tokens": others} if others else token])

    def _generated_text(self, text: Any, payload: dict[str, Any]) -> None:
        """
        The whole text, in the last payload: it stands instead of the tokens. An empty one takes back only white space.
        """
        if not isinstance(text, str):
            self.w.extra(("generated_text",), text)
            return
        self.end_seen = True
        so_far = "".join(self._texts)
        if text == so_far:
            return
        if text:
            self.w.restate(0, "text", text)
        elif not so_far.strip() and (slot := self.w.current(0, "text")) is not None:
            self.w.replace(slot, TextPart())

    def _details(self, details: Any, payload: dict[str, Any]) -> None:
        """The reason and the counts; in a body that was not streamed, the tokens too."""
        w = self.w
        if not isinstance(details, dict):
            w.extra(("details",), details)
            return
        tokens, reason = details.get("tokens"), details.get("finish_reason")
        w.blanks(details, (), "details")
        if isinstance(tokens, list):
            w.logprobs(0, tokens)
        elif tokens is not None:
            w.extra(("details", "tokens"), tokens)
        w.usage({key: details[key] for key in _COUNTS if key in details}, _usage)
        w.finish_at(0, reason, "details", "finish_reason")
        self.end_seen = w.finished > 0 or not w.is_whole
        w.extras(details, _DETAILS, "details")


FIELDS: dict[str, Callable[[TGI, Any, dict[str, Any]], None]] = {
    "token": TGI._token,
    "generated_text": TGI._generated_text,
    "details": TGI._details,
}

TGI.payloads = (*FIELDS, "error")
DIALECT = TGI
