"""Before the first game policies are made once, and all games are counted: the bar ends with the total."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.specs.spec import Spec
from evaluation.cli.commands import app
from evaluation.play import runner

TOY = ["--map", "clique:3", "--years", "2", "--message-rounds", "0"]
EXPERIMENT = """
title = "Plans"
measure = ["self-play", "exploitability", "red-team"]
profiles = ["dove", "prosocial"]
games = 1
map_name = "clique:3"
budget = "quick"
[rules]
years = 2
message_rounds = 0
"""


class FirstGameError(Exception):
    pass


@pytest.mark.parametrize(
    "command",
    [
        ["self-play", "dove", "hold", *TOY],
        ["compare", "dove", "hold", *TOY],
        ["exploitability", "dove", "--deviator", "portfolio", *TOY],
        ["exploitability", "dove", "--deviator", "pact:years=1", "--coordinated", "--coalitions", "all-pairs", *TOY],
        ["cross-play", "dove", "hold", "--background", "prosocial", *TOY],
        ["red-team", "dove", "--budget", "quick", "--map", "clique:3", "--years", "2", "--message-rounds", "0"],
        ["experiment", "FILE"],
    ],
    ids=lambda command: command[0],
)
def test_policies_are_made_once_before_the_first_game(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("FILE.toml").write_text(EXPERIMENT)
    made: Counter[Spec] = Counter()
    making: list[Spec] = []
    make = Spec.make

    def counted(spec: Spec, models: object = None) -> object:
        made[spec] += not making  # parts of a policy are made with it
        making.append(spec)
        try:
            return make(spec, models)  # type: ignore[arg-type]
        finally:
            making.pop()

    def stop(*args: object) -> None:
        raise FirstGameError

    monkeypatch.setattr(Spec, "make", counted)
    monkeypatch.setattr(runner, "play_game", stop)
    command = [each.replace("FILE", "FILE.toml") for each in command]
    run = CliRunner().invoke(app, [*command, "--workers", "1", "--store", "games.sqlite"])
    assert isinstance(run.exception, FirstGameError), run.output
    assert {count for spec, count in made.items() if spec.is_named} - {0} == {1}, made.most_common(3)
