"""The duration of an evaluation, including games, store and measures: `python -m benchmarks.games`."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

import evaluation
from evaluation.play.store import GameStore

PLAYERS = ("dove", "dumbbot", "exploiter:nice=dove,attack=dumbbot")


def cpu_seconds() -> float:
    """CPU time of this process and its finished child processes."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def seconds(player: str, games: int, workers: int) -> tuple[float, float]:
    """Wall and CPU seconds of an evaluation with a new store."""
    with tempfile.TemporaryDirectory() as folder, GameStore(Path(folder, "games.sqlite")) as store:
        wall, cpu = time.perf_counter(), cpu_seconds()
        result = evaluation.self_play(player, games=games, workers=workers, store=store)
        result.to_dict()
        return time.perf_counter() - wall, cpu_seconds() - cpu


def main(games: int = 1000, workers: int = 2) -> None:
    """Self-play of each player, ten years, full press."""
    table = Table("player", "games", "processes", "seconds", "CPU seconds", "CPU ms a game")
    evaluation.self_play("hold", games=1)  # compiles the engine
    for player in PLAYERS:
        wall, cpu = seconds(player, games, workers)
        table.add_row(player, str(games), str(workers), f"{wall:.1f}", f"{cpu:.1f}", f"{1000 * cpu / games:.0f}")
    Console().print(table)


if __name__ == "__main__":
    typer.run(main)
