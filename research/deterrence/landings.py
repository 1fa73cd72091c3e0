"""Landings in all homes of a power, for all combinations of takers, receivers and victims.

    python -m research.deterrence.landings                     # two CPU-minutes
    python -m research.deterrence.landings --against prosocial --best 3

Every single power, and every pair in both roles, against each victim (`agents` "campaign:plan=landing"): 252 attacks,
one game each. The best attacks by the smallest, the total and the largest gain of the members play 20 other games. Ten
years, without press. Finished games are saved; rerunning an interrupted study continues it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

import evaluation
from agents.runtime.progress import metered
from agents.runtime.tables import print_tables
from agents.scripted.planner.plans import nearest
from evaluation.experiments.exploitability import plan_exploitability
from evaluation.measures.gains import CoalitionGain
from research.tables import Folder, parts, save
from welfare_env import Rules, load_board

RULES = Rules(press=None)
BOARD = load_board("standard")
CHOOSING_SEED = 1
CONCEPTS = ("least member", "together", "best member")  # criteria of choice: a member's or the total gain


@dataclass(frozen=True)
class Attack:
    """The power that captures the homes, the one that owns them after ("" for none), and the victim."""

    taker: str
    receiver: str
    victim: str

    @property
    def coalition(self) -> tuple[str, ...]:
        """The attackers in the board's order."""
        return tuple(power for power in BOARD.powers if power in (self.taker, self.receiver))

    @property
    def deviator(self) -> str:
        """The attack as a policy."""
        near = nearest(BOARD, self.taker, self.coalition)
        taker = self.coalition.index(self.taker) + 1
        return f"campaign:plan=landing,victim={near.index(self.victim) + 1},taker={taker}"


def attacks() -> list[Attack]:
    """All attacks."""
    pairs = [pair for each in combinations(BOARD.powers, 2) for pair in (each, each[::-1])]
    roles = [*((power, "") for power in BOARD.powers), *pairs]
    return [Attack(*role, victim) for role in roles for victim in BOARD.powers if victim not in role]


def worth(gain: CoalitionGain, concept: str) -> float:
    """A gain's value by one of `CONCEPTS`."""
    members = [member.value for member in gain.members.values()]
    return {"least member": gain.gain.value, "together": gain.total.value, "best member": max(members)}[concept]


def measure(
    against: str, best: int, games: int, setting: evaluation.Setting
) -> dict[str, list[tuple[Attack, CoalitionGain]]]:
    """Concept -> the best attacks in one game each, with their gains in other games. Attacks that never happen, so that
    points are the same as in peace, are left out.
    """

    def gain(attack: Attack, number: int, seed: int) -> CoalitionGain:
        own = replace(setting, seed=seed)
        plan = plan_exploitability(
            against,
            number,
            own,
            deviator=attack.deviator,
            coalitions=[attack.coalition],
            coordinated=bool(attack.receiver),
        )
        return plan.run(own).best_gain

    tried = {attack: gain(attack, 1, CHOOSING_SEED) for attack in attacks()}
    landed = [attack for attack, each in tried.items() if any(each.gain.per_game) or any(each.total.per_game)]
    first = {concept: sorted(landed, key=lambda each: -worth(tried[each], concept))[:best] for concept in CONCEPTS}
    return {concept: [(each, gain(each, games, 0)) for each in found] for concept, found in first.items()}


def rows(found: list[tuple[Attack, CoalitionGain]]) -> list[dict[str, Any]]:
    """As plain JSON types."""
    return [
        {
            **asdict(attack),
            "deviator": attack.deviator,
            "gains": {who: each.to_dict() for who, each in gain.members.items()},
        }
        for attack, gain in found
    ]


def table(concept: str, found: list[tuple[Attack, CoalitionGain]]) -> Table:
    """The best attacks by a concept."""
    shown = Table(title=f"By the gain of the {concept}" if " " in concept else "By the gain of both together")
    for name in ("takes", "receives", "from"):
        shown.add_column(name)
    for name in ("taker", "receiver", "together"):
        shown.add_column(name, justify="right")
    for attack, gain in found:
        members = [gain.members.get(power) for power in (attack.taker, attack.receiver)]
        cells = [f"{each.value:+.2f} {each.around('+.2f')}" if each else "" for each in (*members, gain.total)]
        shown.add_row(*(power.title() for power in (attack.taker, attack.receiver, attack.victim)), *cells)
    return shown


def main(
    against: Annotated[str, typer.Option(help="The attacked policy.")] = "marshal",
    best: Annotated[int, typer.Option(min=1, help="Attacks to measure per criterion.")] = 3,
    games: Annotated[int, typer.Option(min=2, help="Games per measured attack.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for games and numbers.")] = Path("runs/landings"),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    tables: Folder = None,
) -> None:
    """Choose, measure, print the tables and write landings.json."""
    out.mkdir(parents=True, exist_ok=True)
    total = 2 * len(attacks()) + 2 * len(CONCEPTS) * best * games
    with (
        evaluation.GameStore(out / "games.sqlite") as store,
        evaluation.Workers(workers) as pool,
        metered(f"landing among {against}", total, "games") as meter,
    ):
        setting = evaluation.Setting(rules=RULES, store=store, workers=pool, report=meter.advance)
        measured = measure(against, best, games, setting)
    (out / "landings.json").write_text(json.dumps({name: rows(found) for name, found in measured.items()}, indent=1))
    shown = {concept: table(concept, found) for concept, found in measured.items()}
    head = ["best by", *parts(shown["together"])[0]]
    save(tables, "deterrence-landings", head, [[by, *row] for by, each in shown.items() for row in parts(each)[1]])
    print_tables(*shown.values())


if __name__ == "__main__":
    typer.run(main)
