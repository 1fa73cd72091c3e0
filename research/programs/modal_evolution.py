"""The pictures of docs/modal-evolution.md: ``python -m research.programs.modal_evolution``, a minute."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from modal_env import POST, Game, basins, growth, power_law, rare_mutations, replicator
from modal_env.cli import plots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON = Fraction(1, 10)
EQUAL = [Fraction(1, 4)] * 4
MIXES: dict[str, list[Fraction | float]] = {  # of CooperateBot, DefectBot, FairBot and PrudentBot
    "good mix": [EPSILON, 0, 1 - 3 * EPSILON / 2, EPSILON / 2],
    "DefectBot/FairBot mix": [0, 1 - EPSILON, EPSILON, 0],
}
STARTS = ([0.1, 0.8, 0.06, 0.04], [0.08, 0.7, 0.16, 0.06], [0.6, 0.37, 0.02, 0.01], [0.13, 0.001, 0.8, 0.069])
PRICES = ("1/100", "1/50", "1/20", "1/10", "1/6", "1/4", "2/5")  # epsilon
SIZES = (20, 50, 100, 200)  # members of finite populations
BASINS = {10: 1_000_000, 20: 2_000_000, 50: 4_000_000, 100: 10_000_000}  # 1 / epsilon: random starts


def main(to: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("docs/pictures")) -> None:
    """Draw all pictures of the page."""
    game = Game(POST, EPSILON)
    pictures = {"modal-simplex": simplex(game), **shares(game), "modal-growth": grown(game), "modal-basin": basin()}
    pictures["modal-populations"] = populations()
    for name, picture in pictures.items():
        picture.savefig(to / f"{name}.png")


def populations() -> Figure:
    """Cooperation in finite populations, by price and size, in the limit of rare mutations."""
    games = [Game(POST, epsilon) for epsilon in PRICES for _ in SIZES]
    found = [rare_mutations(game, size) for game, size in zip(games, SIZES * len(PRICES), strict=True)]
    return plots.cooperation_over_epsilon([game.epsilon for game in games], found)


def simplex(game: Game) -> Figure:
    """Paths of the replicator dynamics from five initial mixes."""
    paths = [replicator(game, start, 600, times=np.linspace(0, 600, 6001).tolist()) for start in (EQUAL, *STARTS)]
    face = ("CooperateBot", "FairBot", "PrudentBot")
    return plots.simplex(paths, face, marks=MIXES, title="Replicator dynamics, ε = 1/10")


def shares(game: Game) -> dict[str, Figure]:
    """Shares over time from equal shares: with a logarithmic time axis, and with a logarithmic axis of shares."""
    title = "Replicator dynamics from equal shares, ε = 1/10"
    path = replicator(game, EQUAL, 3e4, times=np.geomspace(0.1, 3e4, 20_000).tolist())
    over_time = plots.shares_over_time(path, log_time=True, title=title)
    path = replicator(game, EQUAL, 3000, times=np.linspace(0, 3000, 3001).tolist())
    logarithms = plots.shares_over_time(path, log_shares=True, title=title)
    logarithms.axes[0].set_ylim(-150, 5)
    return {"modal-shares": over_time, "modal-log-shares": logarithms}


def grown(game: Game) -> Figure:
    """Best-reply growth to a billion agents."""
    title = "Best-reply growth from one agent of each kind, ε = 1/10"
    return plots.growth_shares(growth(game, [1, 1, 1, 1], 10**9), title=title)


def basin() -> Figure:
    """The share of random initial mixes from which DefectBot takes over, by epsilon: 40 seconds."""
    epsilons, numbers = [Fraction(1, n) for n in BASINS], list(BASINS.values())
    found = [basins(Game(POST, epsilon), n, seed=0) for epsilon, n in zip(epsilons, numbers, strict=True)]
    law = power_law(epsilons, [one.ends["DefectBot"] for one in found], numbers)
    taken = [one.share("DefectBot") for one in found]
    curves = {"3 ε²": lambda e: 3 * e**2, "best-reply growth: 12 ε² \u2212 21 ε³": lambda e: 12 * e**2 - 21 * e**3}
    title = "Share of uniformly random starts that DefectBot takes over"
    return plots.basin_over_epsilon(epsilons, taken, law, curves=curves, title=title)


if __name__ == "__main__":
    typer.run(main)
