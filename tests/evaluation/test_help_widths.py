"""The help of every command fits narrow terminals: nothing is cut off, and no word is broken."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command

from evaluation.cli.commands import app

GROUP = get_command(app)
WIDTHS = (80, 100)


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The names of a group's commands, those of its groups included."""
    yield path
    for name in group.list_commands(None) if hasattr(group, "list_commands") else ():
        yield from commands(group.get_command(None, name), (*path, name))


@pytest.mark.parametrize("words", list(commands(GROUP)), ids=" ".join)
def test_nothing_is_cut_off(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for width in WIDTHS:
        monkeypatch.setenv("COLUMNS", str(width))
        with pytest.raises(SystemExit):
            GROUP([*words, "--help"], prog_name="welfare-env")
        cut = [line for line in capsys.readouterr().out.splitlines() if "…" in line]
        assert cut == [], width
