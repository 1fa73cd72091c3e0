"""How errors quote a wrong value."""

from __future__ import annotations


def told(value: object) -> str:
    """A value as quoted in errors: Python refuses to print numbers of thousands of digits."""
    if isinstance(value, int) and value.bit_length() > 1000:
        return f"{'-' * (value < 0)}2**{value.bit_length() - 1} or more"
    try:
        return f"{value!r:.80}"
    except ValueError:  # such a number within a list
        return f"a {type(value).__name__} that cannot be shown"
