"""Commands that play no games do not speak of kept games when they are interrupted."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from evaluation.cli.commands import app

COMMANDS = {
    "exact": ("exact.load_board", ["exact", "hold"]),
    "messages": ("games.open_store", ["messages"]),
    "replay": ("games.saved_games", ["replay", "1"]),
    "transcript": ("games.saved_games", ["transcript", "1"]),
    "games": ("games.open_store", ["games"]),
    "plot": ("experiments.read_study", ["experiment", "folder", "--plot", "png"]),
}


@pytest.mark.slow
@pytest.mark.parametrize(("called", "command"), COMMANDS.values(), ids=COMMANDS)
def test_they_start_again(called: str, command: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(f"evaluation.cli.{called}", interrupted)
    done = CliRunner().invoke(app, command)
    assert (done.exit_code, done.stderr) == (130, "interrupted: run the same command to start over\n")
