"""Tables that fit a terminal: policies are broken, words and numbers are not."""

import pytest
from rich.table import Table
from rich.text import Text

from agents.runtime.tables import print_tables

SPEC = "exploiter:nice=prosocial,attack=(posse:force=2,more=0),units=never,last_years=0,years=1,centers=4"


def table(columns: int) -> Table:
    made = Table(title=Text("The attacks of " + SPEC), caption=Text("mean [95% bootstrap interval]; " * 4))
    made.add_column("policy", overflow="fold")
    for number in range(columns):
        made.add_column(f"gain in case {number}", justify="right")
    made.add_row(SPEC, *["-12.34 [-13.45, -11.23]"] * columns)
    return made


@pytest.mark.parametrize(("width", "columns"), [(60, 6), (80, 2), (120, 1)])
def test_numbers_and_words_stay_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    print_tables(table(columns))
    text = capsys.readouterr().out
    assert text.count("-12.34") == text.count("-11.23]") == columns
    assert text.count("bootstrap") == 4
    first = [line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│")]
    assert "".join(first) == SPEC
    if columns < 3:
        assert max(map(len, text.splitlines())) <= max(width, len(SPEC))


def test_a_table_in_a_file_is_wide(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_tables(table(1))
    out = capsys.readouterr().out
    assert "-12.34 [-13.45, -11.23] │" in out
    assert 100 < max(map(len, out.splitlines())) <= 124
