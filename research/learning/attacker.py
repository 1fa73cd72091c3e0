"""The performance of a trained attacker in standard Diplomacy, in every seat in turn against six equal opponents.

    python -m research.learning.attacker attacker --against random --against dumbbot --games 100
    python -m research.learning.attacker attacker --against random --against dumbbot --games 100 --draw

The checkpoint plays as ``rl:PATH``; with --greedy and --draw as ``rl:PATH,greedy=yes`` and ``rl:PATH,greedy=no``.
Prints centers and score (sum of squares; an equal share is 1/7) after ten years, by seat and overall, with 95%
percentile bootstrap intervals over games.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from agents.rl import checkpoint
from research.tables import Folder, show
from training.board.playing import play_games
from training.board.rewards import Reward
from training.board.runner import Play
from training.board.seats import LEARNER, Lineup
from welfare_env.board.loading import load_board
from welfare_env.engine import initial_state
from welfare_env.game.scoring import scores


def measure(path: Path, against: str, games: int, seed: int, greedy: bool | None) -> tuple[np.ndarray, np.ndarray]:
    """Centers and scores of the attacker: two float64 [seats, games]."""
    given = checkpoint.load(path)
    board = load_board(given.map_name)
    first = scores(board, given.rules, initial_state(board))
    centers, final = [], []
    for seat in range(len(board.powers)):
        lineup = Lineup(((seat,),), (against,), (1.0,))
        play = Play(given.map_name, given.rules, lineup, given.size, Reward("score"), num_games=games, seed=seed)
        results = play_games(play, {LEARNER: given}, given.greedy if greedy is None else greedy)
        centers.append([result.centers[seat] for result in results])
        final.append([result.returns[seat] + first[seat] for result in results])
    return np.array(centers, float), np.array(final)


def interval(values: np.ndarray, seed: int = 0) -> str:
    """The mean over all seats with its interval; games are resampled within each seat."""
    rng = np.random.default_rng(seed)
    rows = np.atleast_2d(values)
    drawn = [np.mean([row[rng.integers(len(row), size=len(row))].mean() for row in rows]).item() for _ in range(2_000)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{values.mean():.3f} [{low:.3f}, {high:.3f}]"


def main(
    path: Annotated[Path, typer.Argument(help="Folder of a checkpoint, or the name of one in the package.")],
    against: Annotated[list[str] | None, typer.Option(help="Six opponents.", show_default="random, dumbbot")] = None,
    games: Annotated[int, typer.Option(min=2, help="Games per seat.")] = 100,
    seed: int = 0,
    greedy: Annotated[
        bool | None,
        typer.Option("--greedy/--draw", help="The most probable orders, or sampled.", show_default="as rl:PATH does"),
    ] = None,
    to: Folder = None,
) -> None:
    """Print a checkpoint's centers and scores."""
    powers = load_board(checkpoint.load(path).map_name).powers
    head, rows = ["seat"], [[seat] for seat in (*powers, "all")]
    for opponent in against or ("random", "dumbbot"):
        head += [f"centers against six {opponent}", f"score against six {opponent}"]
        found = measure(path, opponent, games, seed, greedy)
        for at, row in enumerate(rows):
            row += [interval(values[at] if at < len(powers) else values) for values in found]
    show(None if greedy is False else to, "training-attacker", head, rows)


if __name__ == "__main__":
    typer.run(main)
