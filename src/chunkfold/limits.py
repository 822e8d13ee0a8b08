"""Caps on what a stream may cost."""

from __future__ import annotations

from chunkfold._value import Value

__all__ = ["DEFAULT_LIMITS", "Limits"]


class Limits(Value, frozen=True):
    """
    Caps on what a stream may cost. `None` switches one off.

    A breach raises `LimitExceeded` from the call that met it. What was complete before rides on the error.

    Raises:
        TypeError: If a cap is no whole number.
        ValueError: If one is below 0.
    """

    frame_bytes: int | None = 64 << 20
    """Bytes of one frame. Pictures come as one frame of many megabytes; 64 MiB is far above any that was seen."""
    stream_bytes: int | None = None
    """Bytes of the whole stream."""
    tool_calls: int | None = 10_000
    """Tool calls of the whole message, also those that the server runs."""
    parts: int | None = 100_000
    """Parts of the whole message."""
    json_depth: int | None = 512
    """How deep a frame or a payload may nest. Deeper argument text is `invalid` and never raises."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is None:
                continue
            if type(value) is not int:
                raise TypeError(f"Limits.{name}: expected a whole number or None, got {value!r}")
            if value < 0:
                raise ValueError(f"Limits.{name}: {value} is below 0; None switches it off")


DEFAULT_LIMITS = Limits()
