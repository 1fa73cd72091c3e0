"""The command ``welfare-env``: the commands of evaluation, and those of training and modal_env as groups."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import welfare_env
from agents.specs import usages
from evaluation.cli.console import errors_in_one_line

COMMANDS = {
    "self-play": "evaluation.cli.playing:self_play",
    "exploitability": "evaluation.cli.attacks:exploitability",
    "red-team": "evaluation.cli.attacks:red_team",
    "cross-play": "evaluation.cli.mixes:cross_play",
    "compare": "evaluation.cli.mixes:compare",
    "experiment": "evaluation.cli.experiments:experiment",
    "exact": "evaluation.cli.exact:exact",
    "theorems": "evaluation.cli.theorems:theorems",
    "games": "evaluation.cli.games:games",
    "replay": "evaluation.cli.games:replay",
    "transcript": "evaluation.cli.games:transcript",
    "messages": "evaluation.cli.games:messages",
    "import": "evaluation.cli.games:import_command",
    "play": "evaluation.web.commands:play",
    "check-model": "evaluation.cli.check_model:check",
    "warm-up": "evaluation.cli.commands:warm_up",
    "demo": "evaluation.cli.attacks:demo",
    "store": "evaluation.cli.games:store_app",
    "train": "training.cli.commands:app",
    "modal": "modal_env.cli.commands:app",
}
"""Command or group -> where it is."""


class Loaded(Mapping[str, Any]):
    """The commands by name, each imported when it is asked for: importing all takes a second."""

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __getitem__(self, name: str) -> Any:
        return _loaded(name)


@cache
def _loaded(name: str) -> Any:
    module, _, attribute = COMMANDS[name].partition(":")
    found = getattr(import_module(module), attribute)
    if not isinstance(found, typer.Typer):
        single = typer.Typer()
        single.command(name)(found)
        found = single
    command: Any = typer.main.get_command(found)
    command.name = name
    return command


class Commands(TyperGroup):
    """The group of all commands, in the order of the help."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        commands: Any = Loaded()
        self.commands = commands

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The help, with the policies, whose modules only it loads."""
        self.help = f"{self.help} Policies: {', '.join(usages())} (put a nested SPEC with options in parentheses)."
        super().format_help(ctx, formatter)


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure and train cooperation in Welfare Diplomacy and Modal Combat.",
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
