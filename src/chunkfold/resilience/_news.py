"""Who is told of attempts, each of its kind of news. An observer that raises is reported once and stops nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

from chunkfold._observers import Teller
from chunkfold._wording import observer

if TYPE_CHECKING:
    from collections.abc import Callable

    from chunkfold.resilience._settings import Attempt

__all__ = ["News"]

Name: TypeAlias = Literal["on_attempt", "on_retry", "on_fallback"]


class News(Teller):
    """
    The observers of attempts.

    Raises:
        TypeError: If one cannot be called back.
    """

    def __init__(
        self,
        on_attempt: Callable[[Attempt], object] | None,
        on_retry: Callable[[Attempt], object] | None,
        on_fallback: Callable[[Attempt], object] | None,
    ) -> None:
        super().__init__()
        self._observers = {"on_attempt": on_attempt, "on_retry": on_retry, "on_fallback": on_fallback}
        for name, given in self._observers.items():
            observer(name, given)

    def tell(self, name: Name, attempt: Attempt) -> None:
        """Tell of *attempt* whoever wants news of that kind."""
        self._tell(name, self._observers[name], attempt)
