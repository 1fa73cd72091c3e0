"""How errors quote a value that is wrong."""

from __future__ import annotations


def told(value: object) -> str:
    """A value as errors quote it: Python refuses to write down numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"{'-' * (value < 0)}2**{value.bit_length() - 1} or more"
    try:
        return f"{value!r:.80}"
    except ValueError:  # such a number within a list
        return f"a {type(value).__name__} that cannot be shown"
