"""The command ``welfare-env``: the commands of evaluation, and those of training and modal_env as groups.

The two groups are imported when one of their commands is called, so that ``welfare-env --help`` is fast and all other
commands work without torch.
"""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

import welfare_env
from evaluation.cli import commands

GROUPS = {
    "train": ("training.cli.commands", "Train players with PPO (needs the extra train)."),
    "modal": ("modal_env.cli.commands", "Games between programs that read each other, by provability logic."),
}


class LazyGroup(TyperGroup):
    """A command group of another package, imported on first use.

    Args:
        module: the module whose `app` is the group.
    """

    def __init__(self, module: str, name: str, help: str) -> None:
        super().__init__(name=name, help=help, no_args_is_help=True)
        self._module = module

    @cached_property
    def loaded(self) -> TyperGroup:
        return get_group(import_module(self._module).app)

    def list_commands(self, ctx: Any) -> list[str]:
        self.commands = self.loaded.commands
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self.commands = self.loaded.commands  # click suggests names from these
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self.loaded.format_help(ctx, formatter)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        print(f"welfare-env {welfare_env.__version__}")
        raise typer.Exit


app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure and train cooperation in Welfare Diplomacy and Modal Combat. " + commands.SPECS,
)
app.add_typer(commands.app)  # no name: its commands are at the top level


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_show_version, help="Show the version and exit.")
    ] = False,
) -> None: ...


def command() -> TyperGroup:
    """All commands, as a click group."""
    group = cast(TyperGroup, get_command(app))  # with the options for shell completion
    for name, (module, summary) in GROUPS.items():
        group.add_command(LazyGroup(module, name, summary), name)
    return group
