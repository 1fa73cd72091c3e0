"""``python -m training modal``: options, progress and the table of what was learnt."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Optional

import typer
from rich.table import Table

from agents.progress import plain_console
from modal_env.games.game import COSTS
from modal_env.text_tables import WIDE
from training.cli.console import errors_told, training_shown
from training.modal.mixes import name_of, spec_of
from training.modal.trainer import SELF, ModalOptions, ModalProgress, ModalResult, train_modal

ROWS = 12  # programs that a table shows

Against = Annotated[
    str, typer.Option(metavar="SPEC", help="program:FairBot, mix:FairBot=1/2,CooperateBot=1/2, or self for self-play.")
]
Actions = Annotated[str, typer.Option(help="library: choose a program. tokens: write a formula.")]
Programs = Annotated[
    Optional[list[str]],  # noqa: UP045 (typer reads it)
    typer.Option(
        "--agent",
        metavar="AGENT",
        help="To choose from, or to call X on; once for each.",
        show_default="the post's four",
    ),
]
Budget = Annotated[
    Optional[int],  # noqa: UP045
    typer.Option(min=1, help="Longest formula, in tokens.", show_default="16"),
]
Rate = Annotated[
    Optional[float],  # noqa: UP045
    typer.Option("--lr", help="Adam's step size.", show_default="0.05; 0.003 for tokens"),
]
Out = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(
        metavar="FOLDER", help="For the state, log.jsonl, policy.json and TensorBoard.", show_default="runs/modal-..."
    ),
]


def command(
    against: Against = SELF,
    actions: Actions = "library",
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="Price of one unit of cost: 1/10 or 0.1.")] = "1/10",
    agent: Programs = None,
    cost: Annotated[str, typer.Option(help=f"What costs: {', '.join(COSTS)}.")] = "depth",
    budget: Budget = None,
    iterations: Annotated[int, typer.Option(min=1, help="Each plays some games and learns from them.")] = 60,
    games: Annotated[int, typer.Option(min=1, help="In an iteration.")] = 256,
    epochs: Annotated[int, typer.Option(min=1, help="Passes over an iteration's games.")] = 4,
    lr: Rate = None,
    entropy: Annotated[float, typer.Option(min=0, help="Weight of the entropy.")] = 0.01,
    seed: Annotated[int, typer.Option(min=0, help="One seed, one result, bit for bit.")] = 0,
    save_every: Annotated[int, typer.Option(min=1, help="Iterations between saves.")] = 10,
    out: Out = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """Choose or write programs in modal combat: against a fixed player, or in self-play.

    The result is a mix of programs, as a policy: agents.make("mix:..."). The same command goes on after Ctrl-C.
    """
    programs = ModalOptions.agents if agent is None else tuple(agent)
    options = ModalOptions(
        against, actions, epsilon, programs, cost, budget, iterations, games, epochs, lr, entropy,
        seed=seed, save_every=save_every, folder=out,
    )  # fmt: skip
    with errors_told():
        options.setting()  # says what is wrong with the options, before they name a folder
        with training_shown(options.iterations, _line, options.place) as show:
            result = train_modal(options, show.iteration)
    if as_json:
        print(json.dumps(result.to_dict(), indent=2))
        return
    plain_console(width=None if sys.stdout.isatty() else WIDE).print(result_table(result))
    print(f"policy: {result.spec}")


def result_table(result: ModalResult) -> Table:
    """The mix that was learnt; and below what it is paid, and the best of the library against the same."""
    best, paid = result.best_reply
    facing = "itself" if result.against is None else spec_of(result.against)
    table = Table(title=f"Learnt against {facing}, epsilon {result.options.epsilon}", show_footer=True)
    table.add_column("program", footer=f"paid {float(result.payoff):.4f}; {best.name} {float(paid):.4f}")
    for name in ("share", "depth", "size"):
        table.add_column(name, justify="right")
    for program, share in result.shares[:ROWS]:
        table.add_row(name_of(program), f"{float(share):.3f}", str(program.depth), str(program.size))
    if rest := result.shares[ROWS:]:
        table.add_row(f"{len(rest)} others", f"{float(sum(share for _, share in rest)):.3f}", "", "")
    return table


def _line(told: ModalProgress) -> str:
    return f"paid {told.logged['play/payoff']:.3f}  {told.program:.30}"
