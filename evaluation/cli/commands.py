"""The command ``welfare-env``: the commands of evaluation, and those of training and modal_env as groups."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Annotated

import typer

import welfare_env
from agents.specs import usages
from evaluation.cli import games, playing
from evaluation.cli.check_model import check
from evaluation.cli.console import errors_in_one_line
from evaluation.cli.exact import exact
from evaluation.cli.experiments import experiment
from evaluation.cli.theorems import theorems
from evaluation.web.commands import play

GROUPS = {"train": "training", "modal": "modal_env"}  # group -> the package with its commands

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure and train cooperation in Welfare Diplomacy and Modal Combat. "
    f"Policies: {', '.join(usages())} (put a nested SPEC with options in parentheses).",
)


def show_version(is_asked: bool) -> None:
    """Print the version and exit."""
    if is_asked:
        print(f"welfare-env {welfare_env.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
) -> None: ...


def warm_up() -> None:
    """Compile the game engine for this machine: about a minute, once per installation.

    Otherwise it is compiled during the first game. Prints a line to standard error when ready.
    """
    with errors_in_one_line("compiled parts are saved; run the same command to continue"):
        welfare_env.warm_up()
    print("ready: the game engine is compiled for this machine", file=sys.stderr)


COMMANDS: dict[str, Callable[..., None]] = {
    "self-play": playing.self_play,
    "exploitability": playing.exploitability,
    "red-team": playing.red_team,
    "cross-play": playing.cross_play,
    "compare": playing.compare,
    "experiment": experiment,
    "exact": exact,
    "theorems": theorems,
    "games": games.games,
    "replay": games.replay,
    "transcript": games.transcript,
    "messages": games.messages,
    "import": games.import_command,
    "play": play,
    "check-model": check,
    "warm-up": warm_up,
    "demo": playing.demo,
}
for name, command in COMMANDS.items():
    app.command(name)(command)
app.add_typer(games.store_app, name="store")
for name, package in GROUPS.items():
    app.add_typer(import_module(f"{package}.cli.commands").app, name=name)
