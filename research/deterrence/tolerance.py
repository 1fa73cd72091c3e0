"""Deterrents with erring members, with harmless neighbors, and with a strong, armed thief.

    python -m research.deterrence.tolerance                         # ten CPU-minutes
    python -m research.deterrence.tolerance --only marshal --games 4

Six residents with one other player, in the other's worst seat for the residents, which is chosen in separate games.
*Years armed*: number of Winters in which a resident has a unit; 0 in peace. *Loot*: the number of centers beyond its
fair share that the other owns at the end. Games have no press, and ten years or more. Finished games are saved;
rerunning an interrupted study continues it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Optional

import numpy as np
import typer
from rich.table import Table

import evaluation
from agents.runtime.progress import metered
from agents.runtime.tables import print_tables
from agents.scripted.deterrents.ownership import fair_shares
from evaluation.measures.intervals import mean_estimate
from evaluation.measures.metrics import GameMeasures, root_nash_welfare
from research.tables import Folder, parts, save
from welfare_env import Rules, load_board

RULES = Rules(press=None)
BOARD = load_board("standard")
CHOOSING, CHOOSING_SEED = 4, 1  # number and seed of the games in which a seat is chosen
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


@dataclass(frozen=True)
class Line:
    """The results of residents with one other player, means over games.

    Attributes:
        seat: the other's seat.
        welfare: root Nash welfare of the residents.
        low, high: its 95% interval; None if all games are equal.
        least: points per year of the poorest resident in a game.
        taken: points per year of the other.
        armed: Winters in which a resident has a unit.
        loot, most_loot: centers beyond its fair share that the other owns at the end: mean and maximum.
    """

    residents: str
    other: str
    years: int
    seat: str
    welfare: float
    low: float | None
    high: float | None
    least: float
    taken: float
    armed: float
    loot: float
    most_loot: int


def settings(names: list[str]) -> Iterator[tuple[str, str, int]]:
    """All settings: residents, the other player, and years."""
    for name in names:
        first = RESIDENTS[name][0]
        for error in ERRORS:
            yield name, f"noisy:of=({first}),error={error}", RULES.years
        for neighbor in NEIGHBORS:
            yield name, neighbor, RULES.years
        for neighbor in STRONG:
            for years in LENGTHS:
                yield name, neighbor, years


def line(name: str, other: str, years: int, games: int, means: dict[str, Any]) -> Line:
    """Choose the other's worst seat, and measure there."""

    def beside(seat: str, games: int, seed: int) -> list[GameMeasures]:
        residents = iter(RESIDENTS[name])
        profile = {power: other if power == seat else next(residents) for power in BOARD.powers}
        rules = replace(RULES, years=years)
        return list(evaluation.self_play(profile, games, seed=seed, rules=rules, **means).measures)

    tried = {seat: beside(seat, CHOOSING, CHOOSING_SEED) for seat in BOARD.powers}
    seat = min(tried, key=lambda power: float(np.mean([_welfare(game, power) for game in tried[power]])))
    found = beside(seat, games, 0)
    welfare = mean_estimate([_welfare(game, seat) for game in found], rng=0)
    loot = [game.centers[seat] - fair_shares(BOARD)[seat] for game in found]
    others = [power for power in BOARD.powers if power != seat]
    return Line(
        residents=name,
        other=other,
        years=years,
        seat=seat,
        welfare=welfare.value,
        low=welfare.low if welfare.has_interval else None,
        high=welfare.high if welfare.has_interval else None,
        least=float(np.mean([min(game.welfare_per_year[power] for power in others) for game in found])),
        taken=float(np.mean([game.welfare_per_year[seat] for game in found])),
        armed=float(np.mean([_armed(game, others) for game in found])),
        loot=float(np.mean(loot)),
        most_loot=max(loot),
    )


def _welfare(game: GameMeasures, seat: str) -> float:
    return root_nash_welfare([points for power, points in game.welfare_per_year.items() if power != seat])


def _armed(game: GameMeasures, powers: list[str]) -> int:
    """Winters in which one of the powers has a unit."""
    units = np.array([game.power_curves[power].units for power in powers])
    return int((units.sum(axis=0) > 0).sum())


def table(lines: list[Line]) -> Table:
    """One row per setting."""
    shown = Table(title="Residents with one other", caption="welfare: root Nash of the residents, points a year")
    for name in ("residents", "other", "seat"):
        shown.add_column(name, overflow="fold")
    for name in ("years", "welfare", "poorest", "the other", "years armed", "loot (most)"):
        shown.add_column(name, justify="right")
    for each in lines:
        around = "[all alike]" if each.low is None else f"[{each.low:.2f}, {each.high:.2f}]"
        welfare = f"{each.welfare:.2f} {around}"
        loot = f"{each.loot:.1f} ({each.most_loot})"
        numbers = (f"{each.least:.2f}", f"{each.taken:.2f}", f"{each.armed:.1f}", loot)
        shown.add_row(each.residents, each.other, each.seat.title(), str(each.years), welfare, *numbers)
    return shown


def main(
    only: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Option(metavar="|".join(RESIDENTS), help="Residents; repeat for several.", show_default="all"),
    ] = None,
    games: Annotated[int, typer.Option(min=2, help="Games per setting.")] = 20,
    out: Annotated[Path, typer.Option(help="Folder for games and numbers.")] = Path("runs/tolerance"),
    workers: Annotated[int, typer.Option(min=1, help="Processes.")] = os.cpu_count() or 1,
    tables: Folder = None,
) -> None:
    """Play all games, print the table, and write tolerance.json."""
    if unknown := sorted(set(only or ()) - set(RESIDENTS)):
        raise typer.BadParameter(f"{unknown[0]!r}: give {', '.join(RESIDENTS)}")
    out.mkdir(parents=True, exist_ok=True)
    chosen = list(settings(only or list(RESIDENTS)))
    with evaluation.GameStore(out / "games.sqlite") as store, evaluation.Workers(workers) as pool:
        total = len(chosen) * (len(BOARD.powers) * CHOOSING + games)
        with metered("playing", total, "games") as meter:
            means = {"store": store, "workers": pool, "report": meter.advance}
            lines = [line(name, other, years, games, means) for name, other, years in chosen]
    (out / "tolerance.json").write_text(json.dumps([asdict(each) for each in lines], indent=1) + "\n")
    save(tables, "deterrence-neighbors", *parts(table(lines)))
    print_tables(table(lines))


if __name__ == "__main__":
    typer.run(main)
