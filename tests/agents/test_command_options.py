"""Errors of the library in the words of the command that runs."""

from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from agents.runtime.command_options import in_options

TOLD = {
    "an option": ("give press='none' or games=3", "give --press none or --games 3"),
    "an empty value": ("press='': choose one", "--press '': choose one"),
    "a flag": ("private=True needs press='none'", "--private needs --press none"),
    "either value of a flag": ("give private=True or False", "give private=True or False"),
    "quoted": (
        "agent spec 'noisy:of=dove, games=3', at 'games=3'",
        "agent spec 'noisy:of=dove, games=3', at 'games=3'",
    ),
    "quoted twice": ('"it\'s, games=3" needs games=3', '"it\'s, games=3" needs --games 3'),
    "an apostrophe": ("the map's seats: games=3, the players' words", "the map's seats: --games 3, the players' words"),
    "a value of many words": ("games='1, games=2': give games=3", "games='1, games=2': give --games 3"),
}


@pytest.mark.parametrize(("text", "told"), TOLD.values(), ids=TOLD)
def test_assignments_become_options_but_the_users_own_text_stays(text: str, told: str) -> None:
    app = typer.Typer()

    @app.command()
    def command(
        games: Annotated[int, typer.Option()] = 1,
        press: Annotated[str, typer.Option()] = "full",
        private: Annotated[bool, typer.Option("--private")] = False,
    ) -> None:
        print(in_options(text))

    assert CliRunner().invoke(app, []).output == f"{told}\n"
