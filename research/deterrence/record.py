"""The record of a rule: what each known attack gains from it, on games that no attack was chosen in.

    python -m research.deterrence.record                              # five rules: ten CPU-minutes
    python -m research.deterrence.record --only marshal --games 4 --attack russia_refills

The attacks are in `research.deterrence.attacks`. Games have ten years and no press. A typical game of each attack is
saved in the folder of `--out`; `welfare-env replay FILE` shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import evaluation
from evaluation.tables.game_tables import cell
from research.deterrence import attacks
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import Folder, show
from welfare_env import Rules, checks

RULES = ("prosocial", "police", "sheriff", "grim", "marshal")


def attack(rule: str, name: str, games: int, seed: int, means: dict[str, Any]) -> evaluation.ExploitabilityResult:
    """The games of an attack on a rule."""
    coalition = attacks.members(name)
    return evaluation.exploitability(
        rule,
        games,
        deviator=f"import:{attacks.__name__}.WrittenAttack,attack={name}",
        coalitions=[coalition],
        coordinated=len(coalition) > 1,
        rules=Rules(press=None),
        seed=seed,
        **means,
    )


def row(rule: str, name: str, found: evaluation.ExploitabilityResult) -> list[str]:
    """The gains of the members, and their sum."""
    gain = found.best_gain
    members = ", ".join(f"{who.title()} {each.value:+.2f}" for who, each in gain.members.items())
    return [f"`{rule}`", name.replace("_", " "), members, cell(gain.total)]


def main(
    only: Annotated[list[str] | None, typer.Option(help="A rule; repeatable.", show_default=", ".join(RULES))] = None,
    attack_names: Annotated[list[str] | None, typer.Option("--attack", help="Repeatable.", show_default="all")] = None,
    games: Annotated[int, typer.Option(min=1, help="Games per attack.")] = 40,
    seed: Annotated[int, typer.Option(help="Seed of the games.")] = 500,
    out: Out = Path("runs/record"),
    workers: Workers = ALL_CORES,
    to: Folder = None,
) -> None:
    """Play all attacks, print the table, and save a typical game of each."""
    for name in attack_names or ():
        checks.choice("attack", name, attacks.names(), typer.BadParameter)
    rows = []
    with playing(out, workers) as means:
        pairs = [(rule, name) for rule in only or RULES for name in attack_names or attacks.names()]
        for rule, name in track(pairs, "attacking"):
            found = attack(rule, name, games, seed, means)
            found.witness.save(out / f"{rule}-{name}.json")
            rows.append(row(rule, name, found))
    show(to, "deterrence-record", ("rule", "attack", "each gains", "together"), rows)


if __name__ == "__main__":
    typer.run(main)
