"""Gains of coalitions that deviate from a profile to a trained network: a lower bound on its exploitability."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import bootstrap

from agents.rl import checkpoint
from agents.rl.checkpoint import Checkpoint
from agents.runtime.table_files import Row
from training.board.config import TrainConfig
from training.board.ppo import make_config
from training.board.runner import BatchedEnvRunner, GameResult, Play
from training.board.seats import Lineup
from training.config import MAX, MAX_SEED
from training.errors import TrainingError, check_whole
from training.rllib import quiet
from welfare_env.board.loading import load_board

CONFIDENCE, RESAMPLES = 0.95, 10_000
CHUNK = 1_000_000  # resampled values held in memory at a time


@dataclass(frozen=True)
class Gain:
    """A coalition's gain in points per year: the smallest mean gain of a member, as in `evaluation.exploitability`.

    The network takes its most probable orders.

    Attributes:
        value, low, high: the gain, with a percentile bootstrap interval (95%) over games.
        points, profile_points: the members' mean points per year with and without the deviation.
        games: number of games with the deviation, and of games without.
    """

    coalition: tuple[str, ...]
    value: float
    low: float
    high: float
    points: float
    profile_points: float
    games: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def row(self, profile: str, seed: int) -> Row:
        """A row of the table "best-response" of docs/results.md."""
        return {
            "profile": profile,
            "coalition": "+".join(self.coalition),
            "seed": seed,
            "games": self.games,
            "gain": self.value,
            **{name: getattr(self, name) for name in ("low", "high", "points", "profile_points")},
        }


def gains(
    play: Play,
    network: str | Path,
    profile: str,
    games: int,
    seed: int = 0,
    on_progress: Callable[[int], None] = lambda samples: None,
) -> list[Gain]:
    """The gain of each of the lineup's coalitions against `profile`, in the lineup's order.

    Args:
        play: map, rules and coalitions.
        network: a checkpoint (a folder, or the name of one in the package); it plays every coalition.
        games: for each coalition, and for the profile without deviation.
        on_progress: called with 1 after each of these samples of games.

    Raises:
        TrainingError: fewer than two games, or too many; a seed out of range.
    """
    check_whole("games", games, 2, MAX)  # one game has no interval
    check_whole("seed", seed, 0, MAX_SEED)
    # Random streams different from the training's.
    streams = np.random.SeedSequence([seed, 4]).generate_state(1 + len(play.lineup.coalitions)).tolist()
    base = _points(play, Lineup(((),), (profile,), (1.0,)), games, streams.pop(), network)
    on_progress(1)
    measured = []
    for coalition in play.lineup.coalitions:
        away = _points(play, Lineup((coalition,), (profile,), (1.0,)), games, streams.pop(), network)
        members = list(coalition)
        measured.append(_gain(play, coalition, away[:, members], base[:, members], seed))
        on_progress(1)
    return measured


def _points(play: Play, lineup: Lineup, games: int, seed: int, network: str | Path) -> np.ndarray:
    """Points per year: float64 [games, powers]."""
    results = play_games(replace(play, lineup=lineup, num_games=games, seed=seed), network)
    return np.array([result.points for result in results]) / play.rules.years


def play_games(play: Play, network: str | Path, greedy: bool = True) -> list[GameResult]:
    """Play a sample in which a checkpoint's network has the learner's seats.

    Args:
        greedy: whether the network takes its most probable orders; otherwise it samples.
    """
    runner = runner_of(play, checkpoint.load(network))
    runner.sample(explore=not greedy)
    return runner.take_results()


@quiet()
def runner_of(play: Play, given: Checkpoint, also: Mapping[str, Checkpoint] | None = None) -> BatchedEnvRunner:
    """A runner in which a checkpoint's network has the learner's seats.

    Args:
        also: the checkpoints of additional networks, by name.

    Raises:
        TrainingError: the checkpoint of an additional network is missing.
    """
    if missing := sorted(set(play.lineup.also) - set(also or {})):
        raise TrainingError(f"also: give the checkpoints of {', '.join(missing)}, which play in these games")
    runner = BatchedEnvRunner(config=make_config(play, TrainConfig()), worker_index=0)
    runner.network = given.network_for(runner.board, runner.rules)
    runner.also = {name: each.network_for(runner.board, runner.rules) for name, each in (also or {}).items()}
    return runner


def _gain(play: Play, coalition: tuple[int, ...], away: np.ndarray, base: np.ndarray, seed: int) -> Gain:
    """The gain from points per year [games, members] with and without deviation; whole games are resampled."""
    interval = bootstrap(
        (away.T, base.T),
        lambda away, base, axis: (away.mean(axis) - base.mean(axis)).min(0),
        axis=-1,
        n_resamples=RESAMPLES,
        batch=max(1, CHUNK // away.size),
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng([seed, 3]),
    ).confidence_interval
    powers = load_board(play.map_name).powers
    names = tuple(powers[number] for number in coalition)
    value, low, high = float((away.mean(0) - base.mean(0)).min()), float(interval.low), float(interval.high)
    return Gain(names, value, low, high, float(away.mean()), float(base.mean()), len(away))
