"""The press and sight tables of docs/theorems.md: `python -m studies.press_and_sight --docs docs`.

Two tables show how much punishers profit from agreeing in secret. Games: a deviator's gain from leaving pi_1 if the
punishers are deterministic, randomize independently, or randomize jointly. Positions: how often this matters in single
positions of clique:3, with two punishers, sampled from random games. A third table shows the frontier if the others
notice a deviation late. Certificates and rows are saved in the folder and not recomputed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from agents.cliques.shape import clique_of
from agents.runtime.progress import metered
from evaluation.checks import board_of
from evaluation.exact import check_drawn, frontier
from evaluation.exact.clique_proofs import Naming
from evaluation.exact.drawn.apart import ENOUGH, ApartSearch
from evaluation.exact.drawn.apart_proofs import certify_apart, check_apart
from evaluation.exact.drawn.sight import ADJACENT, Sight
from evaluation.exact.drawn.threats import CLOSE, ThreatSearch
from evaluation.exact.planner import NO_ORDER, winter_plans
from studies.tables import Docs, markdown, save
from welfare_env import Rules
from welfare_env.engine import ADJUSTMENTS
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

GAMES = (
    ("clique:3", "PLAYERA", 5),
    ("clique:4", "PLAYERA", 3),
    ("clique:5", "PLAYERA", 3),
    ("shared-clique:3", "PLAYERB", 3),
    ("shared-clique:4", "PLAYERB", 3),
)
"""Board, deviator, years."""
SIGHTS: dict[str, Sight] = {"at once": 0, "a phase late": 1, "from next to it": ADJACENT}
SEEN: dict[tuple[str, int], tuple[Fraction | int, ...]] = {
    ("clique:3", 3): (0, Fraction(1, 2), 1),
}
"""Board and years -> epsilons."""
MOST_LOST = 6
SAMPLED, MOST_UNITS, LENGTHS = 150, 4, (1, 2, 3)  # number of positions, units at most, and years left


def kept(file: Path, make: Callable[[], list[str]]) -> list[str]:
    """A row from its file; computed and saved first if there is no file."""
    if not file.exists():
        file.write_text(json.dumps(make()), encoding="utf-8")
    return list(json.loads(file.read_text(encoding="utf-8")))


def game(folder: Path, board: str, deviator: str, years: int) -> list[str]:
    """One row of the table of games."""
    number = board_of(board).power_index[deviator]
    apart = ApartSearch(ThreatSearch(clique_of(board_of(board)), number))
    found = certify_apart(board, deviator, years, apart)
    checked = check_apart(found.certificate)
    found.certificate.save(folder / f"{name_of(board, years, deviator)}.npz")
    most, least = found.at_most - found.path_value, found.at_least - found.path_value
    between = f"{np.floor(least * 1e4) / 1e4:.4f} to {np.ceil(float(most) * 1e4) / 1e4:.4f}"
    return [
        *(f"{board}, {years}", deviator, str(found.pure - found.path_value)),
        str(most) if abs(float(most) - least) <= CLOSE else between,
        *(str(found.agreed - found.path_value), f"{checked:,}"),
    ]


def seen(folder: Path, board: str, years: int) -> Iterator[list[str]]:
    """A game's rows of the sight table: the best paths found; their certificates are checked."""
    epsilons = SEEN[board, years]
    columns = []
    for sight in SIGHTS.values():
        file = folder / f"{name_of(board, years, f'sight-{sight}')}.json"
        columns.append(kept(file, partial(best_paths, board, years, sight)))
    for epsilon, *cells in zip(epsilons, *columns, strict=True):
        yield [f"{board}, {years}", str(epsilon), *cells]


def best_paths(board: str, years: int, sight: Sight) -> list[str]:
    """The welfare found at each epsilon, and each power's points."""
    points = frontier(board, years, SEEN[board, years], MOST_LOST, sight=sight)
    for point in points:
        for certificate in point.certificates:
            check_drawn(certificate)
    found = {point.epsilon: f"{point.welfare}: {' '.join(map(str, point.points))}" for point in points}
    return [found.get(Fraction(each), "not found") for each in SEEN[board, years]]


def name_of(board: str, years: int, what: str) -> str:
    """The name of a result's file, without ending."""
    return f"{board}-{what}-years-{years}".replace(":", "-")


def random_nodes(threats: ThreatSearch, number: int, most_units: int) -> Iterator[int]:
    """Distinct Spring positions from random games, as nodes."""
    rng, board = np.random.default_rng(0), threats.search.clique.board
    engine, naming = make_engine("fast", board, Rules(press=None, years=6)), Naming(threats.search, 0)
    seen = set[int]()
    while True:
        state = engine.initial()
        while not state.done:
            position = Position(engine, state)
            state, _ = engine.step(state, [_random_plan(position, power, rng) for power in range(len(board.powers))])
            if not state.done and state.phase == 0 and len(state.units) <= most_units:
                node = naming.find(state)[0]
                if node not in seen:
                    seen.add(node)
                    yield node
                if len(seen) == number:
                    return


def _random_plan(position: Position, power: int, rng: np.random.Generator) -> np.ndarray:
    """Random legal orders of one power."""
    if position.state.phase_type == ADJUSTMENTS:
        plan = rng.choice(winter_plans(position, power))
        return plan[plan != NO_ORDER]
    return np.array([rng.choice(position.slot_orders(slot)) for slot in position.slots(power)], np.int32)


def sampled() -> Iterator[list[str]]:
    """The rows of the table of positions."""
    threats = ThreatSearch(clique_of(board_of("clique:3")), 0)
    apart, nodes = ApartSearch(threats), list(random_nodes(threats, SAMPLED, MOST_UNITS))
    for years in LENGTHS:
        worth = []  # value of randomizing; of agreeing: lower bound, upper bound
        for node in nodes:
            agreed = sum(threats.solve(node, years)) / 2
            low, high = apart.solve(node, years)
            worth.append((apart.pure(node, years) - agreed, low - agreed, high - agreed))
        drawing, least, most = np.array(worth).T
        yield [
            *(str(years), str(len(nodes)), str((drawing > CLOSE).sum()), f"{drawing.max():.2f}"),
            *(str((least > CLOSE).sum()), str(((most > CLOSE) & (least <= CLOSE)).sum()), f"{most.max():.3f}"),
        ]


def main(
    folder: Annotated[Path, typer.Option(help="Where certificates are kept.")] = Path("runs/press-and-sight"),
    docs: Docs = None,
) -> None:
    """Solve, check, and print the tables."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, sights = list[list[str]](), list[list[str]]()
    with metered("solving", len(GAMES) + len(SEEN), "games") as meter:
        for board, deviator, years in GAMES:
            file = folder / f"{name_of(board, years, deviator)}.json"
            rows.append(kept(file, partial(game, folder, board, deviator, years)))
            meter.advance(1)
        for board, years in SEEN:
            sights += seen(folder, board, years)
            meter.advance(1)
    heads = ("board, years", "deviator", "not drawing", "each for itself", "together", "certificate")
    listed = list(sampled())
    named = (
        *("years left", "positions", "drawing helps", "by up to", "agreeing helps", f"perhaps (less than {ENOUGH})"),
        "by up to",
    )
    told = ("board, years", "epsilon", *SIGHTS)
    print(f"{markdown(heads, rows)}\n\n{markdown(named, listed)}\n\n{markdown(told, sights)}")
    if docs is not None:
        save(docs / "tables", "theorems-press", heads, rows)
        save(docs / "tables", "theorems-press-positions", named, listed)
        save(docs / "tables", "theorems-sight", told, sights)


if __name__ == "__main__":
    typer.run(main)
