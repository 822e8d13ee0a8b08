"""
When what came: the time to the first byte and the first output, the gaps between outputs, the rates.

The core has no clock. Whoever wants times passes one in, `stream(source, clock=time.perf_counter)`, and asks
`events.timing()` at any time. It is read once when the stream is opened and once for every read; all that one read
brings came at that time.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from chunkfold._value import Value, listed
from chunkfold.basis._wording import counted, described
from chunkfold.events import DataDelta, Event, MessageReset, PartStart, is_output
from chunkfold.response import Usage

__all__ = ["PartTiming", "Timer", "Timing"]


class PartTiming(Value, frozen=True):
    """When one part came. Seconds count from the opening of the stream."""

    choice: int
    index: int
    """The part's position in the `parts` of its choice."""
    kind: str
    """The kind of the part, as in `Part.kind`."""
    first_output: float
    last_output: float
    """So far, while the stream is open."""
    outputs: int
    """How many events brought something."""
    characters: int
    """Characters of text or arguments; bytes of media."""
    characters_per_second: float | None = None
    """From the first to the last output; `None` if they came at once."""


def _parts_from_list(data: list[dict[str, Any]]) -> tuple[PartTiming, ...]:
    return tuple(PartTiming.from_dict(item) for item in listed(data))


class Timing(Value, frozen=True):
    """When a stream came. Seconds count from its opening; `None`: it has not come."""

    _nested: ClassVar[dict[str, Any]] = {"parts": _parts_from_list}

    first_byte: float | None = None
    """The first read that brought anything."""
    first_event: float | None = None
    """The first event of any kind."""
    first_output: float | None = None
    """The first text, reasoning, arguments or data that was not empty."""
    first_output_kind: str | None = None
    """The kind of part that it belonged to."""
    last_output: float | None = None
    """So far, while the stream is open."""
    total: float = 0.0
    """Until the end of the stream, or until the last read if it has not ended."""
    outputs: int = 0
    """How many events brought something."""
    gap_median: float | None = None
    """Between one output and the next. Outputs of one read have no gap between them: their gap is 0."""
    gap_95: float | None = None
    """95 of 100 gaps are not longer."""
    gap_longest: float | None = None
    """`None`, as the other two, if there were less than two outputs."""
    characters: int = 0
    """Characters of text, reasoning and arguments; bytes of media."""
    characters_per_second: float | None = None
    """From the first to the last output; `None` if they came at once."""
    output_tokens: int | None = None
    """As the server counts them; `None` if it does not say."""
    tokens_per_second: float | None = None
    """From the first to the last output."""
    parts: tuple[PartTiming, ...] = ()
    """In the order of their first outputs."""

    def lines(self) -> list[str]:
        """The times in words, a few facts a line."""
        times = [
            ("first byte", self.first_byte),
            ("first event", self.first_event),
            (f"first output ({self.first_output_kind})", self.first_output),
            ("total", self.total),
        ]
        lines = [" · ".join(f"{name} {_seconds(value)}" for name, value in times if value is not None)]
        rates = [counted(self.outputs, "output")]
        if self.gap_median is not None:
            gaps = (("median", self.gap_median), ("95 %", self.gap_95), ("longest", self.gap_longest))
            rates.append("gaps: " + ", ".join(f"{name} {_seconds(value)}" for name, value in gaps))
        if self.tokens_per_second is not None:
            rates.append(f"{self.tokens_per_second:.0f} tokens/s")
        if self.characters_per_second is not None:
            rates.append(f"{self.characters_per_second:.0f} characters/s")
        lines.append(" · ".join(rates))
        lines += [_part_line(part) for part in self.parts]
        return lines


# A sound may come with the text of what is said in it.
_UNITS = {"image": "bytes", "file": "bytes", "audio": "bytes and characters"}


def _part_line(part: PartTiming) -> str:
    choice = f"choice {part.choice}, " if part.choice else ""
    unit = _UNITS.get(part.kind, "characters")
    rate = "" if part.characters_per_second is None else f", {part.characters_per_second:.0f}/s"
    span = f"{_seconds(part.first_output)} to {_seconds(part.last_output)}"
    return f"{choice}part {part.index} ({part.kind}): {span}, {part.characters} {unit}{rate}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "?"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.2f} s"


class _Span:
    """Outputs from the first to the last."""

    __slots__ = ("characters", "first", "kind", "last", "outputs")

    def __init__(self, kind: str, now: float) -> None:
        self.kind = kind
        self.first = self.last = now
        self.outputs = self.characters = 0

    @property
    def rate(self) -> float | None:
        return _rate(self.characters, self.last - self.first)


class Timer:
    """
    Notes when events come.

    Args:
        clock: Gives seconds, rising, from any beginning.

    Raises:
        TypeError: If *clock* is no function.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        if not callable(clock):
            raise TypeError(f"clock must be a function, not {described(clock)}")
        self._clock = clock
        self._begun = self._now = clock()
        self._first_byte: float | None = None
        self._first_event: float | None = None
        self._whole: _Span | None = None
        self._gaps = array("d")
        self._kinds: dict[tuple[int, int], str] = {}
        self._parts: dict[tuple[int, int], _Span] = {}

    def read(self) -> None:
        """A piece of the stream, or its end, has come: what is heard until the next has come now."""
        self._now = self._clock()

    def bytes_came(self) -> None:
        """The piece was not the end."""
        if self._first_byte is None:
            self._first_byte = self._now

    def came(self) -> None:
        """A piece has come that was not the end."""
        self.read()
        self.bytes_came()

    def hear(self, events: Iterable[Event]) -> None:
        """Take the events that the last read brought."""
        for event in events:
            if self._first_event is None:
                self._first_event = self._now
            if is_output(event):
                self._output(event)
            elif isinstance(event, PartStart):
                self._kinds[event.choice, event.index] = event.kind
            elif isinstance(event, MessageReset):
                first = event.from_part
                self._parts = {key: span for key, span in self._parts.items() if key[1] < first}

    def _output(self, event: Any) -> None:
        now = self._now
        size = len(event.data) if isinstance(event, DataDelta) else len(event.text)
        key = (event.choice, event.index)
        kind = self._kinds.get(key, "unknown")
        part = self._parts.get(key)
        if part is None:
            part = self._parts[key] = _Span(kind, now)
        if self._whole is None:
            self._whole = _Span(kind, now)
        else:
            self._gaps.append(now - self._whole.last)
        for span in (part, self._whole):
            span.last = now
            span.outputs += 1
            span.characters += size

    def timing(self, usage: Usage | None = None) -> Timing:
        """The times so far; *usage* has the tokens."""
        whole = self._whole
        gaps = sorted(self._gaps)
        tokens = usage.output_tokens if usage is not None else None
        return Timing(
            first_byte=self._since(self._first_byte),
            first_event=self._since(self._first_event),
            first_output=self._since(whole.first if whole else None),
            first_output_kind=whole.kind if whole else None,
            last_output=self._since(whole.last if whole else None),
            total=round(self._now - self._begun, 6),
            outputs=whole.outputs if whole else 0,
            gap_median=round((gaps[(len(gaps) - 1) // 2] + gaps[len(gaps) // 2]) / 2, 6) if gaps else None,
            # The nearest rank: the smallest gap that 95 of 100 do not exceed.
            gap_95=round(gaps[(95 * len(gaps) + 99) // 100 - 1], 6) if gaps else None,
            gap_longest=round(gaps[-1], 6) if gaps else None,
            characters=whole.characters if whole else 0,
            characters_per_second=whole.rate if whole else None,
            output_tokens=tokens,
            tokens_per_second=_rate(tokens, whole.last - whole.first) if whole and tokens else None,
            parts=tuple(self._part(key, span) for key, span in self._parts.items()),
        )

    def _part(self, key: tuple[int, int], span: _Span) -> PartTiming:
        first, last = self._since(span.first) or 0.0, self._since(span.last) or 0.0
        return PartTiming(*key, span.kind, first, last, span.outputs, span.characters, span.rate)

    def _since(self, moment: float | None) -> float | None:
        return None if moment is None else round(moment - self._begun, 6)


def _rate(count: int, seconds: float) -> float | None:
    return round(count / seconds, 3) if seconds > 0 else None
