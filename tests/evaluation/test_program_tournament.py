"""The tournament of players that write programs runs with the stub, and says what was written and what lasts."""

from __future__ import annotations

import pytest
import typer
from typer.testing import CliRunner

from research.programs.program_tournament import main, play

APP = typer.Typer()
APP.command()(main)


def test_two_players_write_a_program_a_round() -> None:
    (paid, programs), (other, others) = play(
        ("program:FairBot", "program:DefectBot"), 2, "1/10", "prisoners-dilemma", 0
    )
    assert (paid, other) == pytest.approx((0.9, 1.0))
    assert [program.text for program in programs] == ["[]X(me)"] * 2
    assert len(others) == 2


def test_the_command_plays_all_pairs_with_the_stub() -> None:
    words = ["--player", "lm:scripted/stub", "--player", "program:FairBot", "--rounds", "2", "--game", "stag-hunt"]
    result = CliRunner().invoke(APP, words)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert sum(line.startswith(("lm:", "program:")) for line in lines) == 6
    assert "share of time" in result.stdout
