"""
Arguments and answers read while they arrive: between the events of the decoder and the caller.

For every call, and for every answer text that is a JSON document, there is one incremental reader. What it learns from
a delta is told right behind that delta. Nothing here runs unless it was asked for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from chunkfold.assembly._builders import MANY
from chunkfold.events import (
    ArgumentsFieldDone,
    ArgumentsPathDelta,
    MessageReset,
    MessageStop,
    PartReplace,
    PartStart,
    PartStop,
    TextDelta,
    TextFieldDone,
    TextPathDelta,
    ToolArgumentsDelta,
)
from chunkfold.partial_json import PartialJSON
from chunkfold.parts import CALLS, TextPart, ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from chunkfold.accumulator import Gatherer
    from chunkfold.events import Event

__all__ = ["Document", "Live"]

_NO_LIMIT = 1 << 30

Key = tuple[int, int]


class _Nowhere:
    """Stands for the part of a delta that was never started."""

    delta = None
    open = True


_NOWHERE = _Nowhere()


class Document:
    """A JSON document that is an answer text: mostly one part, but a part that ends inside it does not end it."""

    __slots__ = ("before", "indices", "reader")

    def __init__(self, choice: int, index: int, depth: int, before: Document | None, *, told: bool) -> None:
        # Named by itself, so that the reader does not hold the document that holds it.
        indices = self.indices = [index]
        # What stands for the answer for as long as there is only white space here.
        self.before = before

        def piece(path: tuple[str | int, ...], text: str) -> Event:
            return TextPathDelta(choice, indices[-1], path, text)

        def done(path: tuple[str | int, ...], value: Any) -> Event:
            return TextFieldDone(choice, indices[-1], path, value)

        self.reader: PartialJSON[Any] = PartialJSON(depth=depth, events=(piece, done) if told else False)

    @property
    def goes_on(self) -> bool:
        """True if the document has begun, is right so far, and has not come to its end."""
        reader = self.reader
        return reader.error is None and reader.is_begun and not reader.is_complete

    @property
    def latest(self) -> Document:
        """The document before it while nothing but white space has come, else itself."""
        return self if self.before is None or self.reader.is_begun else self.before


class Live:
    """
    Folds events and adds what can be told about values inside JSON text.

    Args:
        arguments: Read the arguments of tool calls, tell of them, and let snapshots share what was read.
        text: Tell of answer text that is JSON.
        documents: Read answer text that is JSON, whether it is told of or not.
        depth: How deep JSON may nest.

    """

    def __init__(self, *, arguments: bool, text: bool, documents: bool, depth: int | None) -> None:
        self._arguments = arguments
        self._text = text
        self._documents = text or documents
        self._depth = depth if depth is not None else _NO_LIMIT
        self._readers: dict[Key, PartialJSON[Any]] = {}
        # Where the last delta went, since most go to the same part as the one before.
        self._choice = self._index = -1
        self._part: Any = None
        self._feed: Callable[[str], Sequence[Event]] | None = None
        # The documents by the parts that they stand in, and the last one of each choice.
        self._document_at: dict[Key, Document] = {}
        self._last: dict[int, Document] = {}

    @property
    def asked_for(self) -> tuple[bool, bool, bool]:
        """What is read: arguments, text to tell of, documents."""
        return self._arguments, self._text, self._documents

    @property
    def runs(self) -> list[tuple[int, int, int]]:
        """Which parts are the same document as another: their choice, their index, and that of its first part."""
        return [
            (choice, index, document.indices[0])
            for (choice, index), document in self._document_at.items()
            if index != document.indices[0]
        ]

    def document(self, choice: int) -> Document | None:
        """The JSON document that a choice's answer text has come to, right or wrong; `None` if no text came."""
        document = self._last.get(choice)
        return document.latest if document is not None else None

    def fold(self, events: Iterable[Event], accumulator: Gatherer) -> list[Event]:
        """Let *accumulator* observe *events*; they come back with what was learned from each behind it."""
        observe = accumulator.observe
        out: list[Event] = []
        for event in events:
            kind = type(event)
            if kind is ToolArgumentsDelta or kind is TextDelta:
                out.append(event)
                if event.index != self._index or event.choice != self._choice:  # type: ignore[union-attr]
                    self._find(event, accumulator)
                text: str = event.text  # type: ignore[union-attr]
                if self._part.delta is kind:
                    # What the accumulator would do.
                    pieces = self._part.pieces
                    if not pieces:
                        self._part.touch()
                    pieces.append(text)
                    if len(pieces) > MANY:
                        self._part.compact()
                else:
                    observe(event)
                if self._feed is not None:
                    out += self._feed(text)
                continue
            mark = _MARKS.get(kind)
            if mark is None:
                observe(event)
                out.append(event)
            else:
                # Readers come and go.
                self._index = -1
                mark(self, event, accumulator, out)
        return out

    def _find(self, event: Any, accumulator: Gatherer) -> None:
        """Set where the deltas to the part of *event* go."""
        self._choice, self._index = event.choice, event.index
        try:
            self._part = accumulator.sink(event.choice, event.index)
        except LookupError:
            self._part = _NOWHERE
        reader = self._readers.get((event.choice, event.index))
        self._feed = None
        if reader is not None and not reader.is_closed:
            # A document goes on behind the end of its part, but not with what the policy drops.
            is_lost = not self._part.open and accumulator.drops_late_deltas
            self._feed = None if is_lost else reader.feed
        elif reader is not None and self._part is not _NOWHERE and self._part.kind in CALLS:
            self._feed = partial(self._read_on, event.choice, event.index, accumulator, self._part.text())

    def _read_on(self, choice: int, index: int, accumulator: Gatherer, before: str, text: str) -> Sequence[Event]:
        """Arguments go on after their end: what came *before* is read again, and what comes now is told."""
        part = self._part
        self._feed = None
        is_here = part.text() != before  # else the policy has put it elsewhere
        reader = self._open(choice, index, part.kind, part.fields.get("type"), accumulator) if is_here else None
        if reader is None:
            return ()
        reader.feed(before)
        self._feed = reader.feed
        return reader.feed(text)

    def resume(self, accumulator: Gatherer, runs: Iterable[Sequence[int]]) -> None:
        """Read again what *accumulator* holds, in another process. Nothing is told a second time."""
        firsts = {(choice, index): first for choice, index, first in runs}
        documents: dict[Key, Document] = {}
        reader: PartialJSON[Any] | None
        for choice, index, part in accumulator.rows():
            if part.kind == "text" and self._documents:
                first = firsts.get((choice, index), index)
                reader = self._begin(choice, index, documents.get((choice, first)))
                documents[choice, first] = self._last[choice]
            else:
                reader = self._open(choice, index, part.kind, part.fields.get("type"), accumulator)
            if reader is not None:
                reader.feed(part.text())
                if part.kind in CALLS and not part.open:
                    reader.close()

    # What the marks of the stream mean for the readers

    def _start(self, event: PartStart, accumulator: Gatherer, out: list[Event]) -> None:
        accumulator.observe(event)
        out.append(event)
        reader = self._open(event.choice, event.index, event.kind, event.tool_type, accumulator)
        if reader is not None and event.kind in CALLS:
            # It may go on with an earlier call, of which all was told.
            reader.feed(accumulator.sink(event.choice, event.index).text())

    def _open(
        self, choice: int, index: int, kind: str, tool_type: str | None, accumulator: Gatherer
    ) -> PartialJSON[Any] | None:
        """A reader for a part that has begun, if it is one to be read."""
        reader: PartialJSON[Any] | None = None
        if kind in CALLS and self._arguments and tool_type != "custom":
            reader = PartialJSON(
                depth=self._depth,
                events=(partial(ArgumentsPathDelta, choice, index), partial(ArgumentsFieldDone, choice, index)),
            )
            accumulator.sink(choice, index).reader = reader
        elif kind == "text" and self._documents:
            return self._begin(choice, index, self._unfinished(choice))
        if reader is not None:
            self._readers[choice, index] = reader
        return reader

    def _unfinished(self, choice: int) -> Document | None:
        """The document that more text goes on with, if there is one."""
        document = self._last.get(choice)
        return document if document is not None and document.goes_on else None

    def _begin(self, choice: int, index: int, document: Document | None) -> PartialJSON[Any]:
        """A part of text has begun, which goes on *document* or is a new one."""
        if document is not None:
            document.indices.append(index)
        else:
            before = self.document(choice)
            if before is not None:
                before.before = None
            document = Document(choice, index, self._depth, before, told=self._text)
        self._last[choice] = self._document_at[choice, index] = document
        self._readers[choice, index] = document.reader
        return document.reader

    def _read_texts_again(self, choice: int, accumulator: Gatherer, index: int = -1) -> list[Event]:
        """The texts of a choice are others than were read. Told is what the document with part *index* says."""
        self._document_at = {key: document for key, document in self._document_at.items() if key[0] != choice}
        self._last.pop(choice, None)
        told = []
        for place, at, part in accumulator.rows():
            if place == choice and part.kind == "text":
                reader = self._begin(choice, at, self._unfinished(choice))
                told.append((self._last[choice], reader.feed(part.text())))
        return [event for document, events in told if index in document.indices for event in events]

    def _replace(self, event: PartReplace, accumulator: Gatherer, out: list[Event]) -> None:
        """A text that only goes on is read on; another one is read, and told, from its beginning."""
        key, part = (event.choice, event.index), event.part
        reader, document = self._readers.get(key), self._document_at.get(key)
        before = accumulator.sink(*key).text() if reader is not None else ""
        accumulator.observe(event)
        out.append(event)
        text = part.raw_arguments if isinstance(part, ToolCall) else part.text if isinstance(part, TextPart) else None
        if reader is not None and text is not None and text.startswith(before):
            if text == before:
                return
            if not reader.is_closed and (document is None or document.indices[-1] == event.index):
                out += reader.feed(text[len(before) :])
                return
        self._readers.pop(key, None)
        if document is not None or (part.kind == "text" and self._documents):
            out += self._read_texts_again(event.choice, accumulator, event.index)
        if text is None or part.kind == "text":
            return
        builder = accumulator.sink(*key)
        reader = self._open(*key, part.kind, builder.fields.get("type"), accumulator)
        if reader is not None:
            out += reader.feed(text)
            if not builder.open:
                out += reader.close()

    def _stop(self, event: PartStop, accumulator: Gatherer, out: list[Event]) -> None:
        if event.index is not None:
            key = (event.choice, event.index)
            document = self._document_at.get(key)
            if key in self._readers and (document is None or document is not self._last.get(event.choice)):
                out += self._readers[key].close()
        accumulator.observe(event)
        out.append(event)

    def _reset(self, event: MessageReset, accumulator: Gatherer, out: list[Event]) -> None:
        accumulator.observe(event)
        out.append(event)
        first = event.from_part
        self._readers = {key: reader for key, reader in self._readers.items() if key[1] < first}
        for choice in {choice for choice, index in self._document_at if index >= first}:
            self._read_texts_again(choice, accumulator)

    def _end(self, event: MessageStop, accumulator: Gatherer, out: list[Event]) -> None:
        for document in self._last.values():
            out += document.latest.reader.close()
        accumulator.observe(event)
        out.append(event)


_MARKS: dict[type, Callable[[Live, Any, Gatherer, list[Event]], None]] = {
    PartStart: Live._start,
    PartReplace: Live._replace,
    PartStop: Live._stop,
    MessageReset: Live._reset,
    MessageStop: Live._end,
}
