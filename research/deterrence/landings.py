"""Landings in all homes of a power, for all combinations of takers, receivers and victims.

    python -m research.deterrence.landings                     # two CPU-minutes
    python -m research.deterrence.landings --against prosocial --best 3

Every single power, and every pair in both roles, against each victim (`agents` "campaign:plan=landing"): 252 attacks,
one game each. The best attacks by the smallest, the total and the largest gain of the members play 20 other games. Ten
years, without press.
"""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

import evaluation
from agents.scripted.planner.plans import nearest
from evaluation.measures.gains import CoalitionGain
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import Folder, show
from welfare_env import Rules, load_board

BOARD = load_board("standard")
SELECTION_SEED = 1
CONCEPTS = ("least member", "together", "best member")  # criteria of choice: a member's or the total gain


class Attack(NamedTuple):
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


def gain(attack: Attack, against: str, games: int, seed: int, means: dict[str, Any]) -> CoalitionGain:
    """The gain of an attack from a policy."""
    found = evaluation.exploitability(
        against,
        games,
        deviator=attack.deviator,
        coalitions=[attack.coalition],
        coordinated=bool(attack.receiver),
        seed=seed,
        rules=Rules(press=None),
        **means,
    )
    return found.best_gain


def worth(gain: CoalitionGain, concept: str) -> float:
    """A gain's value by one of `CONCEPTS`."""
    members = [member.value for member in gain.members.values()]
    return {"least member": gain.gain.value, "together": gain.total.value, "best member": max(members)}[concept]


def row(concept: str, attack: Attack, gain: CoalitionGain) -> list[str]:
    """The roles, and the gains of the taker, the receiver and both."""
    members = [gain.members.get(power) for power in (attack.taker, attack.receiver)]
    cells = [f"{each.value:+.2f} {each.around('+.2f')}" if each else "" for each in (*members, gain.total)]
    return [concept, *(power.title() for power in attack), *cells]


def main(
    against: Annotated[str, typer.Option(help="The attacked policy.")] = "marshal",
    best: Annotated[int, typer.Option(min=1, help="Attacks to measure per criterion.")] = 3,
    games: Annotated[int, typer.Option(min=2, help="Games per measured attack.")] = 20,
    out: Out = Path("runs/landings"),
    workers: Workers = ALL_CORES,
    to: Folder = None,
) -> None:
    """Choose, measure and print. Attacks that never happen, so that points are the same as in peace, are left out."""
    with playing(out, workers) as means:
        tried = {
            attack: gain(attack, against, 1, SELECTION_SEED, means)
            for attack in track(attacks(), f"landing among {against}")
        }
        landed = [attack for attack, each in tried.items() if any(each.gain.per_game) or any(each.total.per_game)]
        rows = [
            row(concept, attack, gain(attack, against, games, 0, means))
            for concept in CONCEPTS
            for attack in sorted(landed, key=lambda each: -worth(tried[each], concept))[:best]
        ]
    show(to, "deterrence-landings", ("best by", "takes", "receives", "from", "taker", "receiver", "together"), rows)


if __name__ == "__main__":
    typer.run(main)
