"""The loop of `training.PopulationConfig`: payoffs, equilibrium, how exploitable it is, and the next best response."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import evaluation
from agents.rl.network import Size
from agents.runtime.files import parse_json, read_file, reason, shown
from evaluation.checks import EvaluationError
from evaluation.exact import exploitability
from evaluation.measures.symmetric_game import SymmetricGame, compositions
from training.board import ppo
from training.board.playing import play_games
from training.board.runner import PIECE, Play
from training.board.seats import Lineup
from training.errors import TrainingError
from training.population.config import PopulationConfig
from training.run_folder import CONFIG, read_config, replaced, write_json
from training.state import check_same
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

WHOLE = 4  # maximum number of powers for which all seatings are played
PARTS = 1000  # shares are multiples of 1 / PARTS
STEPS = "steps.json"
Floats = NDArray[np.float64]
Seating = tuple[int, ...]  # the policy of each power


@dataclass(frozen=True)
class Step:
    """The population after some best responses.

    Attributes:
        step: number of best responses.
        mix: policy -> share, a symmetric equilibrium of the empirical game.
        payoffs: [own policy][policy of all others], points a year.
        gap, mean_gap, welfare: the exact gain of the best deviator in its best seat, the mean over seats, and the
            points a year of a power; None if the mix has no exact values.
        gain, low, high, deviator: then: the portfolio's best gain, on fresh games, with its 95% interval.
    """

    step: int
    mix: dict[str, float]
    payoffs: list[list[float]]
    gap: float | None = None
    mean_gap: float | None = None
    welfare: float | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    deviator: str = ""

    def row(self) -> dict[str, Any]:
        """As a row of a table."""
        return {name: value for name, value in asdict(self).items() if name != "payoffs"} | {"mix": as_policy(self.mix)}


def train_population(
    config: PopulationConfig, on_progress: Callable[[int, ppo.Progress], None] = lambda step, progress: None
) -> list[Step]:
    """Train a population, or go on with it; finished steps and iterations are kept.

    Returns:
        One more than `config.steps`.

    Raises:
        TrainingError: the folder holds something else, or cannot be written. Others as `training.train`.
    """
    found = _saved(config)
    while len(found) <= config.steps:
        if found:
            response = config.response(len(found), as_policy(found[-1].mix))
            ppo.train(response, partial(on_progress, len(found)))
        found.append(_step(config, len(found)))
        with replaced(config.folder / STEPS) as draft:
            draft.write_text(json.dumps([asdict(step) for step in found], indent=1) + "\n")
    return found[: config.steps + 1]


def _saved(config: PopulationConfig) -> list[Step]:
    """The finished steps in the population's folder, which is made if it is not there."""
    folder = config.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TrainingError(f"{folder}: no population can be kept there: {error!s:.200}") from error
    if not (folder / CONFIG).exists():
        write_json(folder / CONFIG, {"kind": "population", **config.to_dict()})
    kind, values = read_config(folder)
    there = {name: value for name, value in values.items() if name not in config.free}
    check_same(folder, {"kind": kind, **there}, {"kind": "population", **config.identity()})
    if not (folder / STEPS).exists():
        return []
    try:
        return [Step(**each) for each in parse_json(read_file(folder / STEPS))]
    except (OSError, ValueError, TypeError) as error:
        raise TrainingError(f"{shown(folder / STEPS)} is damaged: {reason(error)}") from error


def _step(config: PopulationConfig, number: int) -> Step:
    """Play the empirical game, solve it, and measure how exploitable the mix is."""
    policies = config.policies(number)
    seatings = list(seatings_of(len(policies), len(load_board(config.map_name).powers)))
    points = dict(zip(seatings, play_seatings(config, policies, seatings).tolist(), strict=True))
    game = SymmetricGame.of(policies, [payoffs(points, len(policies))])
    shares = equilibrium(game)
    mix = {policy: share for policy, share in zip(policies, shares.tolist(), strict=True) if share}
    step = Step(number, mix, np.array([game.payoffs(each) for each in np.eye(len(policies))]).T.tolist())
    try:
        exact = exploitability(config.map_name, as_policy(mix), config.years, max_positions=config.max_positions)
    except EvaluationError:  # not a toy board, too many positions, or a policy that the search cannot follow
        return _attacked(config, step)
    gains = [one.gain_per_year for one in exact.responses.values()]
    return replace(step, gap=exact.gap, mean_gap=float(np.mean(gains)), welfare=exact.welfare)


def _attacked(config: PopulationConfig, step: Step) -> Step:
    """A step with the portfolio's gain in place of exact values."""
    rules = Rules(press=None, years=config.years)
    found = evaluation.exploitability(
        as_policy(step.mix),
        config.portfolio_games,
        selection_games=config.portfolio_games,
        map_name=config.map_name,
        rules=rules,
        seed=config.seed,
    )
    gain = found.best_gain.gain
    low, high = (None if np.isnan(bound) else float(bound) for bound in (gain.low, gain.high))
    return replace(step, gain=gain.value, low=low, high=high, deviator=found.best_gain.deviator)


def name_of(policy: str) -> str:
    """A short name of a policy for tables and pictures."""
    folder = Path(policy.removeprefix("rl:(").partition(")")[0]).parent.name
    return folder.replace("-", " ") if folder.startswith("response-") else policy


def as_policy(mix: Mapping[str, float]) -> str:
    """The spec of a mix, given as policy -> share."""
    if len(mix) == 1:
        return next(iter(mix))
    return "mix:" + ",".join(f"({policy})={share!r}" for policy, share in mix.items())


# The empirical game.


@dataclass(frozen=True)
class _Seated(Lineup):
    """A lineup without learners, with a given seating per game: indices into the opponents."""

    seatings: tuple[Seating, ...] = ()

    def seats(
        self, rng: np.random.Generator, games: int, powers: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `Lineup.seats`."""
        none = np.zeros(games, np.int64)
        place = np.array([self.players.index(text) for text in self.opponents])
        return place[np.array(self.seatings)], none, none


def seatings_of(policies: int, powers: int) -> Iterator[Seating]:
    """The seatings to play: all, or on a larger board every combination of policies in each of its rotations."""
    if powers <= WHOLE:
        yield from product(range(policies), repeat=powers)
        return
    for counts in compositions(powers, policies):
        dealt = [policy for policy, count in enumerate(counts) for _ in range(count)]
        yield from dict.fromkeys(tuple(dealt[shift:] + dealt[:shift]) for shift in range(powers))


def play_seatings(config: PopulationConfig, policies: Sequence[str], seatings: Sequence[Seating]) -> Floats:
    """Points per year of every power in each seating: float64 [seatings, powers]."""
    rules, found = Rules(press=None, years=config.years), []
    for number, start in enumerate(range(0, len(seatings), PIECE)):
        part = tuple(seatings[start : start + PIECE])
        lineup = _Seated(((),), tuple(policies), (1.0,) * len(policies), seatings=part)
        play = Play(config.map_name, rules, lineup, Size(1, 1), num_games=len(part), seed=config.seed + number)
        found += [game.points for game in play_games(play)]
    return np.array(found) / config.years


def payoffs(points: Mapping[Seating, Sequence[float]], policies: int) -> dict[tuple[int, ...], list[float]]:
    """Counts of policies -> mean points per year of each; nan for policies with count 0."""
    sums: dict[tuple[int, ...], Floats] = defaultdict(lambda: np.zeros((2, policies)))
    for seating, paid in points.items():
        counts = tuple(np.bincount(seating, minlength=policies).tolist())
        for policy, worth in zip(seating, paid, strict=True):
            sums[counts][:, policy] += worth, 1
    with np.errstate(invalid="ignore"):
        return {counts: (total / times).tolist() for counts, (total, times) in sums.items()}


def equilibrium(game: SymmetricGame) -> Floats:
    """Shares of the symmetric equilibrium with the smallest support, multiples of 1 / PARTS that sum to 1.

    Ties are broken by the higher payoff, then by later strategies.
    """
    mixes = next(found for found in game.mixes() if found)
    paid = [round(float(mix @ game.payoffs(mix)), 6) for mix in mixes]
    best = mixes[max(range(len(mixes)), key=lambda at: (paid[at], mixes[at].tolist()[::-1]))]
    parts = best / best.sum() * PARTS
    whole: Floats = np.floor(parts + 1e-9)
    rest = round(PARTS - float(whole.sum()))
    whole[np.argsort(whole - parts, kind="stable")[:rest]] += 1
    return whole / PARTS
