"""Tables of the page, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

LEFT = ("reward", "they meet", "in", "by", "mix", "setting", "everybody plays", "board")


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; numbers stand on the right."""
    ruler = ["---" if name in LEFT else "--:" for name in head]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, ruler, *rows))
