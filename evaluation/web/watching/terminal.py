"""The display of ``welfare-env watch`` in the terminal."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from evaluation.web.watching.results import Watched, Watcher
from evaluation.web.watching.runs import Run
from modal_env.console import plain_console

EVERY = 2.0  # seconds between updates
MOST_LINES = 20  # rows of games per run, as `welfare-env games` shows
NOTHING = "No long command is running, and none has ended in the last day."


def watch_here(watcher: Watcher) -> None:
    """Show the current state of runs until the process is interrupted."""
    with Live(console=plain_console(), auto_refresh=False, screen=True) as live:
        while True:
            found = tables(watcher.look())
            live.update(Group(*found) if found else Text(NOTHING), refresh=True)
            time.sleep(EVERY)


def tables(watched: Sequence[Watched]) -> list[Table]:
    """Tables of the runs and of the games they have stored."""
    if not watched:
        return []
    filling = [each for each in watched if each.lines]
    return [_run_table(watched), *([_game_table(filling)] if filling else [])]


def _run_table(watched: Sequence[Watched]) -> Table:
    table = _titled("Runs", ("command", "state", ">progress", ">for", "spent"))
    for each in watched:
        run = each.run
        state = f"{run.state}\n{each.trouble}" if each.trouble else run.state
        table.add_row(*map(Text, (run.command, state, progress(run), lasted(run), spent(run))))
    return table


def _game_table(watched: Sequence[Watched]) -> Table:
    heads = ("run", "players", "rules", ">games", ">root Nash welfare", ">stolen centers", ">conflicts", "last key")
    table = _titled("Games in each run's store since the run began (from any run with the same store)", heads)
    for each in watched:
        for line in each.lines[-MOST_LINES:]:
            last = next((game.key[:8] for game in each.games if game.players == line.players), "")
            games = f"{line.games}" if line.measured == line.games else f"{line.games} ({line.measured} measured)"
            values = (line.root_nash_welfare, line.stolen_centers, line.conflicts)
            cells = (each.run.name, line.players, line.rules, games, *map(_number, values), last)
            table.add_row(*map(Text, cells))
    hidden = sum(max(0, len(each.lines) - MOST_LINES) for each in watched)
    if hidden:
        table.caption = Text(f"earlier conditions not shown: {hidden}; for all: welfare-env watch --browser")
    return table


def _titled(title: str, heads: Sequence[str]) -> Table:
    table = Table(title=Text(title))
    for head in heads:
        table.add_column(Text(head.lstrip(">")), justify="right" if head.startswith(">") else "left", overflow="fold")
    return table


def progress(run: Run) -> str:
    """ "playing: 12 of 60 games"."""
    return "\n".join(f"{each.what}: {each.done} of {each.total} {each.unit}" for each in run.stages)


def lasted(run: Run) -> str:
    """The duration of a run: "1:02:20"."""
    seconds = max(0, round((time.time() if run.ended is None else run.ended) - run.started))
    return f"{seconds // 3600}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def spent(run: Run) -> str:
    """The usage of language models: "12,000 of 50,000 tokens, $0.10 of $2.00"; "" without them."""
    if "tokens" not in run.spent:
        return ""
    most = f" of {run.spent['max_tokens']:,.0f}" if "max_tokens" in run.spent else ""
    tokens = f"{run.spent['tokens']:,.0f}{most} tokens"
    if "dollars" not in run.spent:
        return f"{tokens}, at no known price"
    most = f" of ${run.spent['max_dollars']:,.2f}" if "max_dollars" in run.spent else ""
    return f"{tokens}, ${run.spent['dollars']:,.2f}{most}"


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"
