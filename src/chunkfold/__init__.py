"""
chunkfold folds the streamed output of any LLM API into the complete assistant message.

    response = chunkfold.fold(open("stream.sse", "rb"))
    response.text, response.tool_calls, response.usage, response.finish_reason, response.truncated

`fold` and `stream` read for you, `afold` and `astream` do so asynchronously, and a `Folder` takes the bytes that you
read yourself.
"""

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from chunkfold._decoder import Decoder
from chunkfold._doors import afold, astream, fold, stream
from chunkfold._folder import Folder
from chunkfold._sources import lines
from chunkfold._streams import AsyncStream, Stream
from chunkfold._version import __version__
from chunkfold.accumulator import StreamAccumulator
from chunkfold.errors import (
    ChunkfoldError,
    IncompleteResponse,
    InvalidToolCall,
    LimitExceeded,
    MissingExtra,
    OutputInvalid,
    PolicyError,
    RestoreError,
    UnknownDialect,
)
from chunkfold.limits import Limits
from chunkfold.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    RefusalPart,
    TextPart,
    ToolCall,
    ToolResult,
    UnknownPart,
)
from chunkfold.policy import Policy
from chunkfold.response import Choice, Diagnostic, Message, Response, StreamError, Usage

if TYPE_CHECKING:
    from chunkfold import native as native
    from chunkfold import partial_json as partial_json
    from chunkfold import presets as presets
    from chunkfold import resilience as resilience
    from chunkfold import timing as timing
    from chunkfold import typed as typed
    from chunkfold import views as views
    from chunkfold._wrap import WrappedFold, wrap

__all__ = [
    "UNSET",
    "AsyncStream",
    "AudioPart",
    "Choice",
    "ChunkfoldError",
    "Decoder",
    "Diagnostic",
    "FilePart",
    "Folder",
    "ImagePart",
    "IncompleteResponse",
    "InvalidToolCall",
    "LimitExceeded",
    "Limits",
    "Message",
    "MissingExtra",
    "OutputInvalid",
    "Part",
    "Policy",
    "PolicyError",
    "ReasoningPart",
    "RefusalPart",
    "Response",
    "RestoreError",
    "Stream",
    "StreamAccumulator",
    "StreamError",
    "TextPart",
    "ToolCall",
    "ToolResult",
    "UnknownDialect",
    "UnknownPart",
    "Usage",
    "WrappedFold",
    "__version__",
    "afold",
    "astream",
    "fold",
    "lines",
    "stream",
    "wrap",
]


# Few programs need them, and each module costs its part of the import.
_LATER = frozenset({"native", "partial_json", "presets", "resilience", "timing", "typed", "views"})


if not TYPE_CHECKING:  # to whom any name would be right then

    def __getattr__(name: str) -> Any:
        if name in ("WrappedFold", "wrap"):
            from chunkfold import _wrap

            return getattr(_wrap, name)
        if name in _LATER:
            from importlib import import_module

            return import_module(f"chunkfold.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LATER})
