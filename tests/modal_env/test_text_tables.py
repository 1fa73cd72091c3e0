"""Tables of any width: no word is cut, and what does not fit becomes a list."""

import io

import pytest
from rich.console import Console

from modal_env.text_tables import add_row, new_table, with_legend

FORMULA = "me(them) and (not box DefectBot implies something-long)"


@pytest.mark.parametrize("columns", [2, 3, 5])
def test_no_word_is_cut(columns: int) -> None:
    table = new_table("Title", "agent", *[">CooperateBot"] * columns, "formula")
    add_row(table, "CooperateBot", *["0.1234 [0.1,0.2]"] * columns, FORMULA)
    for width in range(30, 140):
        shown = io.StringIO()
        Console(file=shown, width=width, no_color=True).print(with_legend(table))
        text = shown.getvalue()
        assert all(len(line) <= width for line in text.splitlines())
        assert all(word in text for word in ("CooperateBot", "something-long", "[0.1,0.2]", "DefectBot")), width
