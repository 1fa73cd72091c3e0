"""Exact best responses on toy boards, and their costs: `python -m benchmarks.exact`.

    python -m benchmarks.exact --map clique:4 --years 8
    python -m benchmarks.exact --map clique:3 --profile hold --power PLAYERB

Each row is a length of the game: the power's points when it follows the profile, the points of its best response, the
number of positions searched, and CPU seconds, including games that check the other policies. The first row includes
loading the compiled engine.
"""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

import welfare_env
from evaluation.exact import best_response

HEADINGS = ("map", "seat", "years", "profile", "best response", "gain", "positions", "CPU-s")


def main(
    maps: Annotated[list[str] | None, typer.Option("--map", help="A map; may be given several times.")] = None,
    profile: Annotated[str, typer.Option(help="The policy in all seats.")] = "prosocial",
    power: Annotated[list[str] | None, typer.Option(help="The deviating power; by default the first.")] = None,
    years: Annotated[int, typer.Option(help="Longest game, in years.", min=1)] = 8,
    line: Annotated[bool, typer.Option("--line", help="Print the line of play of each longest game.")] = False,
) -> None:
    """Print the exact value of the best response to a profile, for games of 1, 2, ... years."""
    console = Console(width=None if sys.stdout.isatty() else 100, highlight=False)
    table = Table(*HEADINGS, title=f"best responses to {profile}", title_justify="left")
    for name in maps or ["clique:3", "clique:4"]:
        for seat in power or welfare_env.load_board(name).powers[:1]:
            for length in range(1, years + 1):
                start = time.process_time()
                found = best_response(name, profile, seat, length)
                seconds = time.process_time() - start
                points = (f"{each:g}" for each in (found.profile_value or 0.0, found.value, found.gain))
                table.add_row(name, seat, str(length), *points, f"{found.positions:,}", f"{seconds:.2f}")
            if line:
                console.print(
                    *(f"{phase} {', '.join(orders) or '-'}" for phase, orders in found.orders or ()), sep="\n"
                )
    console.print(table)


if __name__ == "__main__":
    typer.run(main)
