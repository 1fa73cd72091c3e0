"""Deterrents with erring members, with harmless neighbors, and with a strong, armed thief.

    python -m research.deterrence.tolerance                         # ten CPU-minutes
    python -m research.deterrence.tolerance --only marshal --games 4

Six residents with one other player, in the other's worst seat for the residents, which is chosen in separate games.
*Years armed*: number of Winters in which a resident has a unit; 0 in peace. *Loot*: the number of centers beyond its
fair share that the other owns at the end. Games have no press, and ten years or more.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import evaluation
from agents.scripted.deterrents.ownership import fair_shares
from evaluation.measures.intervals import mean_estimate
from evaluation.measures.metrics import GameMeasures, root_nash_welfare
from evaluation.tables.game_tables import cell
from research.games import ALL_CORES, Out, Workers, playing, track
from research.tables import Folder, show
from welfare_env import Rules, load_board

BOARD = load_board("standard")
YEARS = 10
SELECTION_GAMES, SELECTION_SEED = 4, 1  # games in which a seat is chosen
ERRORS = (0.01, 0.02, 0.05, 0.1)
RESIDENTS = {
    "marshal": ("marshal",) * 6,
    "sheriff": ("sheriff",) * 6,
    "sheriff:slack=0": ("sheriff:slack=0",) * 6,
    "marshal and sheriff": ("marshal", "sheriff") * 3,
    "marshal and prosocial": ("marshal", "prosocial") * 3,
}
NEIGHBORS = ("hold", "random", "dove", "noisy:of=prosocial,error=0.2")
STRONG = ("dumbbot", "exploiter:nice=prosocial,attack=dumbbot,units=never,years=3,last_years=0")
LENGTHS = (10, 20, 30)  # years, with the strong neighbors


def settings(names: list[str]) -> Iterator[tuple[str, str, int]]:
    """All settings: residents, the other player, and years."""
    for name in names:
        first = RESIDENTS[name][0]
        for error in ERRORS:
            yield name, f"noisy:of=({first}),error={error}", YEARS
        for neighbor in NEIGHBORS:
            yield name, neighbor, YEARS
        for neighbor in STRONG:
            for years in LENGTHS:
                yield name, neighbor, years


def row(name: str, other: str, years: int, games: int, means: dict[str, Any]) -> list[str]:
    """Choose the other's worst seat, and measure there."""

    def beside(seat: str, games: int, seed: int) -> list[GameMeasures]:
        residents = iter(RESIDENTS[name])
        profile = {power: other if power == seat else next(residents) for power in BOARD.powers}
        rules = Rules(press=None, years=years)
        return list(evaluation.self_play(profile, games, seed=seed, rules=rules, **means).measures)

    tried = {seat: beside(seat, SELECTION_GAMES, SELECTION_SEED) for seat in BOARD.powers}
    seat = min(tried, key=lambda power: float(np.mean([welfare(game, power) for game in tried[power]])))
    found = beside(seat, games, 0)
    others = [power for power in BOARD.powers if power != seat]
    poorest = np.mean([min(game.welfare_per_year[power] for power in others) for game in found])
    taken = np.mean([game.welfare_per_year[seat] for game in found])
    armed = np.mean([years_armed(game, others) for game in found])
    loot = [game.centers[seat] - fair_shares(BOARD)[seat] for game in found]
    paid = cell(mean_estimate([welfare(game, seat) for game in found], rng=0))
    numbers = (f"{poorest:.2f}", f"{taken:.2f}", f"{armed:.1f}", f"{np.mean(loot):.1f} ({max(loot)})")
    return [name, other, seat.title(), str(years), paid, *numbers]


def welfare(game: GameMeasures, seat: str) -> float:
    """Root Nash welfare of all powers but one."""
    return root_nash_welfare([points for power, points in game.welfare_per_year.items() if power != seat])


def years_armed(game: GameMeasures, powers: list[str]) -> int:
    """Winters in which one of the powers has a unit."""
    units = np.array([game.power_curves[power].units for power in powers])
    return int((units.sum(axis=0) > 0).sum())


def main(
    only: Annotated[
        list[str] | None, typer.Option(metavar="|".join(RESIDENTS), help="Repeatable.", show_default="all")
    ] = None,
    games: Annotated[int, typer.Option(min=2, help="Games per setting.")] = 20,
    out: Out = Path("runs/tolerance"),
    workers: Workers = ALL_CORES,
    to: Folder = None,
) -> None:
    """Play all games and print the table: root Nash welfare of the residents, points a year."""
    with playing(out, workers) as means:
        chosen = list(settings(only or list(RESIDENTS)))
        rows = [row(*setting, games, means) for setting in track(chosen, "playing")]
    head = ("residents", "other", "seat", "years", "welfare", "poorest", "the other", "years armed", "loot (most)")
    show(to, "deterrence-neighbors", head, rows)


if __name__ == "__main__":
    typer.run(main)
