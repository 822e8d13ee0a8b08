"""
The numbers of JSON: a machine that reads one character by character, and what a number is once it is read.

"number = [ minus ] int [ frac ] [ exp ]" -- RFC 8259, section 6.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["NUMBER_ENDS", "NUMBER_SO_FAR", "NUMBER_STATES", "integer"]

_DIGITS = "0123456789"
_INTEGER = {"0": 2, **dict.fromkeys(_DIGITS[1:], 3)}
_EXPONENT = {"e": 6, "E": 6}

# Each state: character -> next state.
NUMBER_STATES: tuple[dict[str, int], ...] = (
    {"-": 1, **_INTEGER},  # 0: before it
    _INTEGER,  # 1: after the minus
    {".": 4, **_EXPONENT},  # 2: a leading zero stands alone
    {".": 4, **_EXPONENT, **dict.fromkeys(_DIGITS, 3)},  # 3: the integer part
    dict.fromkeys(_DIGITS, 5),  # 4: after the point
    {**_EXPONENT, **dict.fromkeys(_DIGITS, 5)},  # 5: the fraction
    {"+": 7, "-": 7, **dict.fromkeys(_DIGITS, 8)},  # 6: after the e
    dict.fromkeys(_DIGITS, 8),  # 7: after the sign of the exponent
    dict.fromkeys(_DIGITS, 8),  # 8: the exponent
)
NUMBER_SO_FAR = re.compile(r"-?(?:0|[1-9][0-9]*)((?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)")

# sys.set_int_max_str_digits() cannot go below 640, so `int` takes as many digits whatever was set.
_LIMB = 600


def integer(text: str) -> int:
    """
    The integer, however long.

    `int` refuses more than 4,300 digits because it is quadratic. So is the way over `Decimal`: 27 s for a
    million digits. Joining halves of equal length takes 0.6 s.
    """
    if len(text) <= _LIMB:
        return int(text)
    digits = text.removeprefix("-")
    head = len(digits) % _LIMB
    limbs = [int(digits[:head] or "0"), *(int(digits[i : i + _LIMB]) for i in range(head, len(digits), _LIMB))]
    base = 10**_LIMB
    while len(limbs) > 1:
        if len(limbs) % 2:
            limbs.insert(0, 0)
        limbs = [high * base + low for high, low in zip(limbs[::2], limbs[1::2], strict=True)]
        base *= base
    return -limbs[0] if text[0] == "-" else limbs[0]


# The states in which a number may end, and what it is then.
NUMBER_ENDS: dict[int, Callable[[str], int | float]] = {2: integer, 3: integer, 5: float, 8: float}
