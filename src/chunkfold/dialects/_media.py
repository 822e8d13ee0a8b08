"""Pictures, sound and files inside payloads: which kind of part they are, and their bytes."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from chunkfold.parts import Kind

__all__ = ["base64_bytes", "base64_form", "base64_text", "inline_bytes", "media_kind", "usual_base64_bytes"]

_STANDARD = str.maketrans("-_", "+/")


def media_kind(media_type: Any) -> Kind:
    """The kind of part that content of that MIME type is: a picture, sound, or a file of any other sort."""
    family = media_type.partition("/")[0].lower() if isinstance(media_type, str) else ""
    if family == "image":
        return "image"
    return "audio" if family == "audio" else "file"


def base64_bytes(text: Any) -> bytes | None:
    """The bytes that base64 *text* stands for, in either alphabet, padded or not; `None` if it is no base64."""
    if not isinstance(text, str):
        return None
    text = text.translate(_STANDARD).rstrip("=\r\n ")
    return usual_base64_bytes(text + "=" * (-len(text) % 4))


def usual_base64_bytes(text: Any) -> bytes | None:
    """The bytes that base64 *text* in its usual form stands for; `None` if it is none."""
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, TypeError):
        return None


def inline_bytes(url: Any) -> bytes | None:
    """The bytes in a `data:` URL of base64."""
    head, comma, body = url.partition(",") if isinstance(url, str) else ("", "", "")
    return base64_bytes(body) if comma and head.startswith("data:") and head.endswith(";base64") else None


def base64_form(text: Any) -> str | None:
    """How base64 *text* is written, if it is not the usual way: for `base64_text` to write it so again."""
    if not isinstance(text, str):
        return None
    alphabet = "urlsafe" if "-" in text or "_" in text else ""
    return (alphabet + (" unpadded" if len(text) % 4 else "")).strip() or None


def base64_text(data: bytes, form: str | None = None) -> str:
    """The base64 text of *data*, in the form that `base64_form` found."""
    form = form or ""
    text = (base64.urlsafe_b64encode if "urlsafe" in form else base64.b64encode)(data).decode()
    return text.rstrip("=") if "unpadded" in form else text
