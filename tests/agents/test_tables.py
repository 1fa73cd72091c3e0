"""Tables that fit a terminal: no word, number or policy is cut."""

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.runtime.tables import fit, print_tables

SPEC = "exploiter:nice=prosocial,attack=(posse:force=2,more=0),units=never,last_years=0,years=1,centers=4"
OTHER = "exploiter:nice=dove,attack=dumbbot"
TITLE = f"The attacks of {SPEC}"


def table(policies: list[str], columns: int = 2) -> Table:
    made = Table(title=Text(TITLE), caption=Text("mean [95% bootstrap interval]; " * 4))
    made.add_column("policy", overflow="fold")
    made.add_column("coalition")
    for number in range(columns):
        made.add_column(f"gain in case {number}", justify="right")
    for policy in policies:
        made.add_row(*map(Text, (policy, "AUSTRIA\nENGLAND and RUSSIA", *["-12.34 [-13.45, -11.23]"] * columns)))
    return made


@pytest.mark.parametrize("width", [60, 80, 100, 120])
@pytest.mark.parametrize("columns", [1, 2, 6])
def test_nothing_is_cut(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, columns: int):
    monkeypatch.setenv("COLUMNS", str(width))
    print_tables(table([SPEC, OTHER, "dove"], columns))
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= width for line in lines if SPEC not in line and OTHER not in line)
    text = "\n".join(lines)
    for whole in (SPEC, OTHER, "dove", "AUSTRIA", "[-13.45, -11.23]", "bootstrap"):
        assert whole in text
    assert text.count("-12.34") == 3 * columns
    assert {SPEC, TITLE} & set(lines)  # the title, broken between words


def test_a_mark_stands_for_one_piece_in_the_order_of_the_rows():
    parts, marks = fit(table([OTHER, SPEC, OTHER]), 60)
    assert marks == {OTHER: "(1)", SPEC: "(2)"}
    assert [str(cell) for cell in parts[0].columns[0].cells] == ["(1)", "(2)", "(1)"]


def test_a_mark_stands_for_a_piece_without_the_comma_of_a_list():
    made = Table()
    made.add_column("players")
    made.add_row(Text(f"{SPEC}, {OTHER}"))
    parts, marks = fit(made, 30)
    assert marks == {SPEC: "(1)", OTHER: "(2)"}
    assert str(next(parts[0].columns[0].cells)) == "(1), (2)"


def test_only_what_does_not_fit_is_marked():
    assert fit(table([SPEC, OTHER]), 110)[1] == {SPEC: "(1)"}
    assert fit(table([SPEC, OTHER]), 300)[1] == {}


def test_parts_of_a_wide_table_all_have_the_first_column():
    parts, _ = fit(table(["dove"], 6), 60)
    assert len(parts) > 1
    assert {str(part.columns[0].header) for part in parts} == {"policy"}
    assert sum(len(part.columns) - 1 for part in parts) == 7


def test_a_table_that_fits_looks_as_rich_draws_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "200")
    plain = Table("agent", title=None, show_footer=True)
    plain.add_column("share", footer="paid", justify="right")
    plain.add_row("FairBot", "0.5", end_section=True)
    plain.add_row("PrudentBot", "0.5")
    print_tables(plain)
    shown = capsys.readouterr().out
    Console(width=200).print(plain)
    assert shown == capsys.readouterr().out
