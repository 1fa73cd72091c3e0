"""Populations of programs: the pictures and tables of docs/modal-evolution.md.

    python -m research.programs.evolution                        # pictures: a minute
    python -m research.programs.evolution --tables docs/tables   # tables, too: minutes

Everything is computed with public functions of modal_env. `volume` finds DefectBot's share of all starts by quadrature,
which certifies the counts of random starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from modal_env import LIBRARY, POST, Agent, ProgramGame, basins, growth, rare_mutations, replicator
from modal_env.dynamics.basins import Z95, Basins, IntervalEstimate, fates
from modal_env.dynamics.populations import payoffs_of
from modal_env.pictures import shares_over_time
from research.programs import plots
from research.programs.direct_agents import agent_with, code_of
from research.tables import Folder, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EPSILON = Fraction(1, 10)
EQUAL = [Fraction(1, 4)] * 4
MIXES: dict[str, list[Fraction | float]] = {  # of CooperateBot, DefectBot, FairBot and PrudentBot
    "good mix": [EPSILON, 0, 1 - 3 * EPSILON / 2, EPSILON / 2],
    "DefectBot/FairBot mix": [0, 1 - EPSILON, EPSILON, 0],
}
STARTS = ([0.1, 0.8, 0.06, 0.04], [0.08, 0.7, 0.16, 0.06], [0.6, 0.37, 0.02, 0.01], [0.13, 0.001, 0.8, 0.069])
PRICES = ("1/100", "1/20", "1/10", "1/4", "2/5")  # epsilon
SIZES = (20, 50, 100, 200)  # members of finite populations
BASINS = {10: 1_000_000, 20: 2_000_000, 50: 4_000_000, 100: 10_000_000}  # 1 / epsilon: random starts
DIRECT = ("CooperateBot", "DefectBot", "FairBot", "UnfairBot", "CUPOD", "ReverseFairBot", "FalseBot", "TrueBot")
ROUNDS = 8  # of the cycle, in the table
TIMES = "\N{MULTIPLICATION SIGN}"


def direct_library() -> tuple[Agent, ...]:
    """All 16 direct agents of depth up to 1 by the names of those in the library that behave so, and four others."""
    known = {code_of(LIBRARY[name], 1): name for name in DIRECT}
    direct = [agent_with(code, 1).renamed(known.get(code, f"Direct{code}")) for code in range(16)]
    return (*direct, *(LIBRARY[name] for name in ("PrudentBot", "SlipBot", "MirrorBot", "OneBot")))


def volume(epsilon: Fraction, nodes: int) -> float:
    """The share of DefectBot's basin by quadrature instead of chance.

    Along a ray on which CB : DB and FB : PB are fixed, DefectBot takes over up to some share s of FB and PB together,
    which bisection finds. If a = CB / (CB + DB) and b = FB / (FB + PB), uniform populations have uniform a and b, and s
    with the distribution function 3 s^2 - 2 s^3.
    """
    payoffs = payoffs_of(ProgramGame(POST, epsilon))
    points, weights = np.polynomial.legendre.leggauss(nodes)
    points, weights = (points + 1) / 2, weights / 2
    v, b = (grid.ravel() for grid in np.meshgrid(points, points))  # 1 - a = v^2: towards a = 1 the rays change fast
    low, high = np.zeros(nodes**2), np.ones(nodes**2)
    for _ in range(26):
        s = (low + high) / 2
        shares = np.array([(1 - s) * (1 - v**2), (1 - s) * v**2, s * b, s * (1 - b)])
        ends = fates(payoffs, np.log(shares), time=1e6, tolerance=1e-8) == POST.index(LIBRARY["DefectBot"])
        low, high = np.where(ends, s, low), np.where(ends, high, s)
    return float((np.outer(weights, weights).ravel() * 2 * v * (3 * low**2 - 2 * low**3)).sum())


def basin_rows(found: Sequence[Basins]) -> list[list[str]]:
    """DefectBot's share of random starts, and by quadrature."""
    rows = []
    for number, one in zip(BASINS, found, strict=True):
        share, square = one.share("DefectBot"), number**2
        scaled = f"{share.value * square:.3f} [{share.low * square:.3f}, {share.high * square:.3f}]"
        exact = f"{volume(Fraction(1, number), nodes=20) * square:.3f}"
        rows.append([f"1/{number}", f"{one.starts:,}", f"{one.ends['DefectBot']:,}", f"{share:#.4g}", scaled, exact])
    return rows


def power_law(found: Sequence[Basins]) -> tuple[float, IntervalEstimate]:
    """Factor and exponent of share = factor * epsilon ** exponent, by weighted least squares in logarithms.

    ln share has the variance (1 - share) / count to first order; the interval is valid if the law is.
    """
    hits = np.array([one.ends["DefectBot"] for one in found])
    share = hits / np.array([one.starts for one in found])
    weight = hits / (1 - share)
    x, y = -np.log(np.array([*BASINS])), np.log(share)
    middle_x, middle_y = np.average(x, weights=weight), np.average(y, weights=weight)
    spread = (weight * (x - middle_x) ** 2).sum()
    slope = float((weight * (x - middle_x) * (y - middle_y)).sum() / spread)
    half = Z95 / float(np.sqrt(spread))
    return float(np.exp(middle_y - slope * middle_x)), IntervalEstimate(slope, slope - half, slope + half)


def census(epsilon: Fraction, members: int) -> tuple[int, int]:
    """How many populations of so many members ever add a DefectBot under best-reply growth, and how many there are."""
    game = ProgramGame(POST, epsilon)
    starts = [
        (c, d, f, members - c - d - f)
        for c in range(members + 1)
        for d in range(members + 1 - c)
        for f in range(members + 1 - c - d)
    ]
    return sum("DefectBot" in growth(game, start, 10**9).added for start in starts), len(starts)


def cycle_rows() -> list[list[str]]:
    """Lengths of the stays at FairBot, each with the factor to the next: replicator and growth, at two prices."""
    columns = []
    for number in (10, 100):
        game = ProgramGame(POST, Fraction(1, number))
        stays = replicator(game, EQUAL, 1e9).lengths("FairBot").tolist()
        columns.append([f"{stay:,.1f}" if stay < 1000 else f"{stay:,.0f}" for stay in stays])
        columns[-1] = _with_factors(columns[-1], stays)
        runs = growth(game, [1, 1, 1, 1], 10**60).lengths("FairBot")
        columns.append(_with_factors([f"{run:,}" for run in runs], runs))
    heads = [*map(str, range(1, ROUNDS + 1)), "last"]
    return [[head, *row] for head, row in zip(heads, zip(*columns, strict=True), strict=True)]


def _with_factors(texts: list[str], lengths: list[float] | tuple[int, ...]) -> list[str]:
    rows = [f"{texts[at]} {TIMES} {lengths[at + 1] / lengths[at]:.3f}" for at in range(ROUNDS)]
    return [*rows, f"{TIMES} {lengths[-1] / lengths[-2]:.4f}"]


def population_rows() -> list[list[str]]:
    """Share of pairs that cooperate in the limit of rare mutations, and the most frequent agent."""
    libraries = {"the post's four": POST, "direct ones and four": direct_library(), "the library": LIBRARY.values()}
    rows = []
    for name, agents in libraries.items():
        game = ProgramGame(agents, 0)
        for price in PRICES:
            cells = []
            for size in SIZES:
                found = rare_mutations(game.at(price), size)
                most = max(zip(found.means, found.names, strict=True), key=lambda pair: pair[0])[1]
                cells.append(f"{found.cooperation:.3f} {most}")
            rows.append(["" if price != PRICES[0] else name, price, *cells])
    return rows


def simplex(game: ProgramGame) -> Figure:
    """Paths of the replicator dynamics from five initial mixes."""
    paths = [replicator(game, start, 600, times=np.linspace(0, 600, 6001).tolist()) for start in (EQUAL, *STARTS)]
    face = ("CooperateBot", "FairBot", "PrudentBot")
    return plots.simplex(paths, face, marks=MIXES, title="Replicator dynamics, ε = 1/10")


def shares(game: ProgramGame) -> Figure:
    """Shares over time from equal shares, with a logarithmic time axis."""
    path = replicator(game, EQUAL, 3e4, times=np.geomspace(0.1, 3e4, 20_000).tolist())
    return shares_over_time(path, log_time=True, title="Replicator dynamics from equal shares, ε = 1/10")


def basin(found: Sequence[Basins]) -> Figure:
    """The share of random initial mixes from which DefectBot takes over, by epsilon."""
    epsilons = [Fraction(1, n) for n in BASINS]
    taken = [one.share("DefectBot") for one in found]
    curves = {"3 ε²": lambda e: 3 * e**2, "best-reply growth: 12 ε² \u2212 21 ε³": lambda e: 12 * e**2 - 21 * e**3}
    title = "Share of uniformly random starts that DefectBot takes over"
    return plots.basin_over_epsilon(epsilons, taken, power_law(found), curves, title)


def main(
    to: Annotated[Path, typer.Option(help="Folder for the pictures.")] = Path("docs/pictures"), tables: Folder = None
) -> None:
    """Draw the pictures, and write the tables."""
    game = ProgramGame(POST, EPSILON)
    found = [basins(ProgramGame(POST, Fraction(1, number)), starts, seed=0) for number, starts in BASINS.items()]
    pictures = {"modal-simplex": simplex(game), "modal-shares": shares(game), "modal-basin": basin(found)}
    pictures["modal-growth"] = plots.growth_shares(
        growth(game, [1, 1, 1, 1], 10**9), title="Best-reply growth from one agent of each kind, ε = 1/10"
    )
    for name, picture in pictures.items():
        picture.savefig(to / f"{name}.png")
    if tables is None:
        return
    head = ("ε", "starts", "taken over", "share, 95% interval (Wilson)", "share / ε²", "by quadrature / ε²")
    save(tables, "modal-evolution-basin", head, basin_rows(found))
    columns = ("replicator, ε = 1/10", "growth, ε = 1/10", "replicator, ε = 1/100", "growth, ε = 1/100")
    save(tables, "modal-evolution-cycle", ("round", *columns), cycle_rows())
    members = (f"{size} members" if size == SIZES[0] else str(size) for size in SIZES)
    save(tables, "modal-evolution-populations", ("agents", "ε", *members), population_rows())
    for number in (10, 20, 100):
        adds, starts = census(Fraction(1, number), 20)
        print(f"growth at 1/{number}: {adds} of {starts:,} starts of 20 agents ever add DefectBot")


if __name__ == "__main__":
    typer.run(main)
