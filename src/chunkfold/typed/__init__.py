"""
Answers of a type: what there is of one while it comes, and the whole one, validated, at its end.

`stream(source, output_type=T)` reads the answer text as JSON while it arrives, for T a msgspec struct, a dataclass or a
pydantic model. `partial()` is a read-only view with the fields of T; `output()` is a T. pydantic is used only if T is
made with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import UNSET

from chunkfold.doors._source_folder import SourceFolder
from chunkfold.doors._streams import AsyncStream, Stream
from chunkfold.errors import OutputInvalid
from chunkfold.typed._partials import Partial, shape_of
from chunkfold.typed._validation import Invalid, check_type, validated

if TYPE_CHECKING:
    from chunkfold.doors._observers import Observers
    from chunkfold.doors._sources import Opened
    from chunkfold.timing import Timer

__all__ = ["AsyncTypedStream", "TypedStream", "prepare"]

T = TypeVar("T")


def prepare(folder: SourceFolder, output_type: type[Any]) -> None:
    """
    Have *folder* read answer text that is JSON.

    Raises:
        TypeError: If *output_type* is nothing that a view can be made of, or that msgspec can make.
        MissingExtra: If it is a model of pydantic, and that cannot be imported.
    """
    shape_of(output_type)
    check_type(output_type)
    folder.read_documents()


class _Typed(Generic[T]):
    """What both streams have beside events: the answer as a value."""

    _folder: SourceFolder
    _type: type[T]

    def partial(self) -> Any:
        """
        The answer so far: a read-only view with the fields of the type.

        A field gives its value so far, or `chunkfold.UNSET` before anything of it is sure. Strings, lists and nested
        views grow; other values are there when they are complete. What T would convert (dates, enumerations) is as it
        stands in the JSON. An object that may be of several types is a mapping until its tag is known. The view stays
        as it is; ask again for what has come since.
        """
        document = self._folder.document(0)
        value, growing = UNSET, None
        if document is not None:
            value, growing = document.reader.value, document.reader.open_string
        shape = shape_of(self._type)
        return Partial(shape, value if shape.is_root or isinstance(value, dict) else {}, growing)

    def output(self) -> T:
        """
        The whole answer, validated: a new object at each use.

        Raises:
            OutputInvalid: If the answer is not JSON, or not of the type. It has the path and the response.
            ValueError: If the stream has not ended: read it to its end first.
        """
        response = self._folder.snapshot()
        if response.ended is None:
            raise ValueError("output() before the end of the stream: iterate over the events first")
        try:
            return self._validated()
        except Invalid as invalid:
            raise OutputInvalid(invalid.path, response, invalid.reason) from invalid.__cause__

    def _validated(self) -> T:
        document = self._folder.document(0)
        if document is None:
            raise Invalid((), "there is no answer text")
        if not document.reader.is_complete:
            raise Invalid((), f"the answer text is not JSON: {document.reader.error}")
        return validated(self._type, self._folder.text_of(0, document.indices), document.reader.value)


class TypedStream(Stream, _Typed[T]):
    """A `Stream` whose answer is a T."""

    def __init__(
        self,
        folder: SourceFolder,
        opened: Opened,
        observers: Observers | None,
        timer: Timer | None,
        output_type: type[T],
    ) -> None:
        self._type = output_type
        super().__init__(folder, opened, observers, timer)


class AsyncTypedStream(AsyncStream, _Typed[T]):
    """An `AsyncStream` whose answer is a T. `partial()` and `output()` are plain methods and never wait."""

    def __init__(
        self,
        folder: SourceFolder,
        opened: Opened,
        observers: Observers | None,
        timer: Timer | None,
        output_type: type[T],
    ) -> None:
        self._type = output_type
        super().__init__(folder, opened, observers, timer)
