"""
The native body of `tgi`: the answer of `/generate`.

Its tokens are a list among the details, of which the payloads of a stream have one each. A stream tells tokens whether
or not details were asked for; so does the body that is made from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from chunkfold.native._build import (
    APPEND,
    LAST,
    TRANSPORT,
    Rule,
    add_unknown,
    copied,
    error_of,
    extra_of,
    fields,
    fill,
    is_whole,
    usage_of,
)
from chunkfold.parts import TextPart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from chunkfold.response import Message, Response

__all__ = ["RULES", "body", "request"]

RULES: Mapping[str, Rule] = {
    "index": TRANSPORT,  # the place of the token in the list
    "token": Rule("extend", "details.tokens[]"),
    "top_tokens": Rule("last", "details.top_tokens"),
    "top_tokens[]": Rule("extend", "details.top_tokens[][]"),
    "generated_text": APPEND,  # the whole text once more
    "details": LAST,
}


def body(response: Response) -> dict[str, Any]:
    """The answer of `/generate` that says the same."""
    extra = response.extra
    whole = is_whole(response)
    error = error_of(response)
    out = fields(extra)
    text = "".join([part.text for part in response.parts if isinstance(part, TextPart)])
    if text or (not whole and error is None):
        out["generated_text"] = text
    details = _details(response, whole=whole)
    if details:
        out["details"] = details
    if error is not None:
        out |= {key: error[key] for key in ("error", "error_type") if key in error} or {"error": error}
    add_unknown(out, response.parts)
    return out


def _details(response: Response, *, whole: bool) -> dict[str, Any]:
    out = fields(extra_of(response.extra, "details"))
    out.update(usage_of(response.usage) or {})
    fill(out, finish_reason=response.native_finish_reason)
    tokens = copied(response.logprobs)
    if tokens:
        out["tokens"] = tokens
    if not whole:
        likeliest = [token.pop("top_tokens", []) if isinstance(token, dict) else [] for token in tokens]
        if any(likeliest):
            out["top_tokens"] = likeliest
    return out


def request(message: Message) -> dict[str, Any]:
    """The text of the message, for the `inputs` of the next request, which knows no messages."""
    return {"inputs": "".join([part.text for part in message.parts if isinstance(part, TextPart)])}
