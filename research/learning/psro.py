"""Policy-space response oracles (Lanctot et al., "A unified game-theoretic approach to multiagent reinforcement
learning", 2017), in Welfare Diplomacy without press.

Each policy is a best response, trained from scratch, to a symmetric equilibrium of the empirical game of the earlier
ones. A player chooses a policy before it knows its power, so the empirical game is symmetric on any board. Finished
trainings and steps are saved in the folder.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import training
from agents.rl.network import Size
from agents.specs import read_profile
from evaluation.checks import EvaluationError
from evaluation.exact import exploitability
from evaluation.experiments.deviators import PORTFOLIO, read_deviators
from evaluation.measures.gains import choose, coalition_gain
from evaluation.measures.symmetric_game import SymmetricGame
from evaluation.play.setting import Setting
from research.learning.courses import Floats
from research.learning.curves import draw_payoffs
from research.learning.trainings import measured, trained
from training.board.playing import play_games
from training.board.runner import Play
from training.board.seats import Lineup
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

PARTS = 1000  # shares are multiples of 1 / PARTS
BATCH = 2000  # games at once
CHOOSING, MEASURING = 8, 9  # random streams
Seating = tuple[int, ...]  # the policy of each power


@dataclass(frozen=True)
class Population:
    """A population: its games, its initial policies, and the settings of each training."""

    out: Path
    map_name: str
    begin: tuple[str, ...]
    steps: int
    max_positions: int
    seed: int = 0
    years: int = 5
    iterations: int = 80
    games: int = 48
    epochs: int = 3
    portfolio_games: int = 20

    def policies(self, step: int) -> tuple[str, ...]:
        """The initial policies and `step` best responses: each the best iterate by held-out reports."""
        responses = [f"rl:({self.out / f'response-{number}' / 'best'}),greedy=yes" for number in range(1, step + 1)]
        return (*self.begin, *responses)

    def response(self, step: int, against: str) -> training.TrainConfig:
        """The training of best response `step`, from 1."""
        return training.TrainConfig(
            against=(against,), map_name=self.map_name, years=self.years, iterations=self.iterations,
            horizon=self.iterations, games=self.games, epochs=self.epochs, lr=2e-3, sees="position",
            seed=self.seed * 1000 + step, held_out_every=min(10, self.iterations), out=self.out / f"response-{step}",
        )  # fmt: skip


def steps(population: Population) -> list[dict[str, Any]]:
    """The steps of a population, which is trained if necessary: one more than best responses.

    A step has its mix (policy -> share), and the exact gap, mean gap over seats and welfare of the mix; if these are
    unknown, the portfolio's `attack` (see `attacked`).
    """
    population.out.mkdir(parents=True, exist_ok=True)
    found = []
    for number in range(population.steps + 1):
        step = measured(population.out, f"step {number}", partial(_step, population, number))
        found.append(step)
        if number < population.steps:
            trained(population.response(number + 1, as_policy(step["mix"])))
    return found


def _step(population: Population, number: int) -> dict[str, Any]:
    policies = population.policies(number)
    powers = len(load_board(population.map_name).powers)
    seatings = list(product(range(len(policies)), repeat=powers))
    points = dict(zip(seatings, play_seatings(population, policies, seatings).tolist(), strict=True))
    game = SymmetricGame.of(policies, [payoffs(points, len(policies))])
    shares = equilibrium(game)
    pure = np.array([game.payoffs(each) for each in np.eye(len(policies))])
    figure = draw_payoffs(pure, shares, [name_of(policy) for policy in policies])
    figure.savefig(population.out / f"payoffs-{number}.png", dpi=130)
    mix = {policy: share for policy, share in zip(policies, shares.tolist(), strict=True) if share}
    step: dict[str, Any] = {"step": number, "mix": mix, "gap": None, "mean_gap": None, "welfare": None, "attack": None}
    try:
        exact = exploitability(
            population.map_name, as_policy(mix), population.years, max_positions=population.max_positions
        )
    except EvaluationError:
        return {**step, "attack": attacked(population, mix)}
    gains = [one.gain_per_year for one in exact.responses.values()]
    return {**step, "gap": exact.gap, "mean_gap": float(np.mean(gains)), "welfare": exact.welfare}


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
class Seated(Lineup):
    """A lineup without learners, with a given seating per game: indices into the opponents."""

    seatings: tuple[Seating, ...] = ()

    def seats(
        self, rng: np.random.Generator, games: int, powers: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As `Lineup.seats`."""
        none = np.zeros(games, np.int64)
        place = np.array([self.players.index(text) for text in self.opponents])
        return place[np.array(self.seatings)], none, none


def play_seatings(population: Population, policies: Sequence[str], seatings: Sequence[Seating]) -> Floats:
    """Points per year of every power in each seating: float64 [seatings, powers]."""
    rules, found = Rules(press=None, years=population.years), []
    for number, start in enumerate(range(0, len(seatings), BATCH)):
        part = tuple(seatings[start : start + BATCH])
        lineup = Seated(((),), tuple(policies), (1.0,) * len(policies), seatings=part)
        play = Play(population.map_name, rules, lineup, Size(1, 1), num_games=len(part), seed=population.seed + number)
        found += [game.points for game in play_games(play)]
    return np.array(found) / population.years


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


# The portfolio.


def attacked(population: Population, mix: Mapping[str, float]) -> dict[str, Any]:
    """The gain of the package's portfolio of deviators: its best deviator in its best seat, chosen on separate games.

    Each seat draws its policy from the mix in each game. A game with a deviator has the same policies in the other
    seats as the game with the same number without deviator, but the policies' own random draws differ.

    Returns:
        The deviator and its power; gain, low, high: its mean gain in points per year with a 95% interval over games;
        welfare: mean points of a power without deviation. Unknown bounds are None.
    """
    games, powers = population.portfolio_games, load_board(population.map_name).powers
    candidates = [(deviator, seat) for deviator in _portfolio(population, mix) for seat in range(len(powers))]

    def gains(chosen: Sequence[int], numbers: range) -> list[Floats]:
        tried = [candidates[each] for each in chosen]
        base, away = _points(population, mix, (CHOOSING, numbers.start), len(numbers), tried)
        return [paid[:, [seat]] - base[:, [seat]] for paid, (_, seat) in zip(away, tried, strict=True)]

    deviator, seat = candidates[choose(len(candidates), gains, games).best]
    base, (paid,) = _points(population, mix, (MEASURING, 0), games, [(deviator, seat)])
    power, rng = powers[seat], np.random.default_rng([population.seed, 7])
    gain = coalition_gain({power: base[:, seat]}, {power: paid[:, seat]}, (power,), rng).gain
    low, high = (None if np.isnan(bound) else bound for bound in (gain.low, gain.high))
    return {
        "deviator": deviator, "power": power, "gain": gain.value, "low": low, "high": high,
        "welfare": float(base.mean()),
    }  # fmt: skip


def _points(
    population: Population,
    mix: Mapping[str, float],
    stream: tuple[int, int],
    games: int,
    candidates: Sequence[tuple[str, int]],
) -> tuple[Floats, list[Floats]]:
    """Points per year [games, powers] without deviation, and with each deviator in its seat."""
    seeds = np.random.SeedSequence([population.seed, *stream])
    powers, policies = len(load_board(population.map_name).powers), tuple(mix)
    shares = np.array(list(mix.values()), np.float64)
    drawn = np.random.default_rng(seeds).choice(len(mix), size=(games, powers), p=shares / shares.sum())
    everybody = (*policies, *dict.fromkeys(deviator for deviator, _ in candidates if deviator not in policies))
    seatings: list[Seating] = [tuple(row) for row in drawn.tolist()]
    for deviator, seat in candidates:
        changed = drawn.copy()
        changed[:, seat] = everybody.index(deviator)
        seatings += [tuple(row) for row in changed.tolist()]
    own = Population(population.out, population.map_name, (), 0, 0, int(seeds.generate_state(1)[0]), population.years)
    base, *away = play_seatings(own, everybody, seatings).reshape(1 + len(candidates), *drawn.shape)
    return base, away


def _portfolio(population: Population, mix: Mapping[str, float]) -> tuple[str, ...]:
    """The package's deviators for these games."""
    text = as_policy(mix)
    setting = Setting(rules=Rules(press=None, years=population.years), map_name=population.map_name)
    found = read_deviators(PORTFOLIO, read_profile(text), text, setting)
    return tuple(dict.fromkeys(policy.text for deviator in found for policy in deviator.policies))
