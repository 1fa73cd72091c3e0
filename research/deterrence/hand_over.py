"""An attack by two powers that share their points: one captures all homes of a third power, the other owns them after.

    python -m research.deterrence.hand_over --games 1       # five seconds; without --games 20 seeds

France lands in all three homes of England in the same Fall, disbands, and leaves them to Germany, which has not
captured anything itself. Among marshals the two together gained 0.7 points a year, until marshals also held a thief
responsible for centers that it passes on. The orders are fixed; the other five powers are marshals. Ten years, without
press.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import typer

import agents
from research.tables import show
from welfare_env import Game, Rules

MEMBERS = ("FRANCE", "GERMANY")
YEARS = 10
ORDERS: dict[str, dict[str, list[str]]] = {
    "W1901A": {"FRANCE": ["F BRE B"], "GERMANY": ["A BER D"]},
    "S1902M": {
        "FRANCE": ["F POR - MAO", "F BRE - ENG", "A PAR - PIC", "A SPA - MAR"],
        "GERMANY": ["F HOL H", "A BEL H"],
    },
    "F1902M": {"FRANCE": ["F MAO - NAO", "F ENG H", "A PIC H", "A MAR H"], "GERMANY": ["F HOL H", "A BEL H"]},
    "W1902A": {"FRANCE": [], "GERMANY": ["F KIE B"]},
    "S1903M": {
        "FRANCE": ["F NAO - NWG", "A PIC - WAL VIA", "F ENG C A PIC - WAL", "A MAR H"],
        "GERMANY": ["F HOL - NTH", "A BEL H", "F KIE - HOL"],
    },
    "F1903M": {
        "FRANCE": ["F NWG - EDI", "F ENG - LON", "A WAL - LVP", "A MAR H"],
        "GERMANY": ["F NTH - YOR", "A BEL H", "F HOL - NTH"],
    },
    "W1903A": {"FRANCE": ["F EDI D", "F LON D", "A LVP D"], "GERMANY": []},
    "S1904M": {"FRANCE": ["A MAR H"], "GERMANY": ["F YOR - EDI", "A BEL - YOR VIA", "F NTH C A BEL - YOR"]},
    "F1904M": {"FRANCE": ["A MAR H"], "GERMANY": ["F EDI H", "A YOR - LVP", "F NTH - LON"]},
}


def play(orders: dict[str, dict[str, list[str]]], seed: int) -> dict[str, int]:
    """Each power's points in a game whose coalition follows the orders; it is prosocial before and disarmed after."""
    game = Game(rules=Rules(years=YEARS, press=None))
    policies = {power: agents.make("prosocial" if power in MEMBERS else "marshal") for power in game.powers}
    for power, policy in policies.items():
        policy.reset(agent=power, seed=seed)
    while not game.is_done:
        for power, policy in policies.items():
            if game.phase in orders and power in MEMBERS:
                game.submit(power, orders[game.phase][power], strict=False)
            elif orders and power in MEMBERS and not game.phase.endswith("1901M"):
                leaving = game.units[power] if game.phase.endswith("A") else []
                game.submit(power, [f"{unit} D" for unit in leaving], strict=False)
            elif game.legal_orders(power):
                game.submit(power, policy.act(None, {"view": game.view(power)}), strict=False)
        game.advance()
    return dict(game.welfare)


def main(games: Annotated[int, typer.Option(min=1, help="Games, each with its own seed.")] = 20) -> None:
    """Play the attack, and print each power's points a year with it and in peace: mean, least and most."""
    attack, peace = ([play(orders, seed) for seed in range(games)] for orders in (ORDERS, {}))
    rows = []
    for name, powers in {**{power: (power,) for power in peace[0]}, "both": MEMBERS}.items():
        before, after = ([sum(game[power] for power in powers) / YEARS for game in some] for some in (peace, attack))
        cells = [f"{np.mean(each):.2f} ({min(each)} to {max(each)})" for each in (before, after)]
        rows.append([name, *cells, f"{np.mean(after) - np.mean(before):+.2f}"])
    show(None, "", ("power", "in peace", "with the attack", "gain"), rows)


if __name__ == "__main__":
    typer.run(main)
