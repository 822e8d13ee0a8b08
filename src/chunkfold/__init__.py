"""
chunkfold folds the streamed output of any LLM API into the complete assistant message.

    response = chunkfold.fold(open("stream.sse", "rb"))
    response.text, response.tool_calls, response.usage, response.finish_reason, response.truncated

`fold` and `stream` read for you, `afold` and `astream` do so asynchronously, and a `Folder` takes the bytes that you
read yourself.
"""

from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from chunkfold._version import __version__
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
    from chunkfold import accumulator as accumulator
    from chunkfold import dialects as dialects
    from chunkfold import events as events
    from chunkfold import framing as framing
    from chunkfold import native as native
    from chunkfold import partial_json as partial_json
    from chunkfold import presets as presets
    from chunkfold import resilience as resilience
    from chunkfold import timing as timing
    from chunkfold import typed as typed
    from chunkfold import views as views
    from chunkfold.accumulator import StreamAccumulator
    from chunkfold.doors._shells import afold, astream, fold, stream
    from chunkfold.doors._sources import lines
    from chunkfold.doors._streams import AsyncStream, Stream
    from chunkfold.doors._wrap import WrappedFold, wrap
    from chunkfold.folding._decoder import Decoder
    from chunkfold.folding._folder import Folder

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


# Loaded at first use: importing the package costs what its values cost.
_MODULES = (
    "accumulator",
    "dialects",
    "events",
    "framing",
    "native",
    "partial_json",
    "presets",
    "resilience",
    "timing",
    "typed",
    "views",
)
_HOMES = {
    "AsyncStream": "doors._streams",
    "Decoder": "folding._decoder",
    "Folder": "folding._folder",
    "Stream": "doors._streams",
    "StreamAccumulator": "accumulator",
    "WrappedFold": "doors._wrap",
    "afold": "doors._shells",
    "astream": "doors._shells",
    "fold": "doors._shells",
    "lines": "doors._sources",
    "stream": "doors._shells",
    "wrap": "doors._wrap",
}


if not TYPE_CHECKING:  # to whom any name would be right then

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"chunkfold.{name}")
        if name in _HOMES:
            globals()[name] = found = getattr(import_module(f"chunkfold.{_HOMES[name]}"), name)
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})
