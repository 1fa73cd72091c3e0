"""The gain of the package's portfolio of deviators against a mix: a lower bound on its exploitability, for boards
without exact values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.specs import read_profile
from evaluation.experiments.deviators import PORTFOLIO, read_deviators
from evaluation.measures.choice import choose
from evaluation.measures.gains import coalition_gain
from evaluation.play.setting import Setting
from training.population.config import PopulationConfig
from training.population.meta import as_policy
from training.population.table import Seating, play_seatings
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

Floats = NDArray[np.float64]

CHOOSING, MEASURING = 8, 9  # random streams


@dataclass(frozen=True)
class PortfolioGain:
    """The best deviator of the portfolio in its best seat, chosen on separate games; points per year.

    Attributes:
        deviator, power: the deviator and its seat.
        gain, low, high: its mean gain with a 95% interval over games; may be negative.
        welfare: mean points of a power without deviation.
        games: number of games for these means, and the most per deviator and seat for the choice.
    """

    deviator: str
    power: str
    gain: float
    low: float
    high: float
    welfare: float
    games: int

    def to_dict(self) -> dict[str, Any]:
        return {name: None if value != value else value for name, value in asdict(self).items()}  # JSON has no nan


def attacked(config: PopulationConfig, mix: Mapping[str, float]) -> PortfolioGain:
    """Attack a mix with the deviators of `evaluation.exploitability(..., deviator="portfolio")`, in batches of games.

    Each seat draws its policy from the mix in each game. A game with a deviator has the same policies in the other
    seats as the game with the same number without deviator, but the policies' own random draws differ. No press.

    Args:
        config: the games, and their number.
        mix: policy -> share.

    Raises:
        UnknownAgentError: no such policy, or shares that do not sum to 1. Others as
            `training.population.table.play_seatings`.
    """
    games, powers = config.portfolio_games, load_board(config.map_name).powers
    candidates = [(deviator, seat) for deviator in _portfolio(config, mix) for seat in range(len(powers))]

    def gains(chosen: Sequence[int], numbers: range) -> list[Floats]:
        tried = [candidates[each] for each in chosen]
        base, away = _points(config, mix, (CHOOSING, numbers.start), len(numbers), tried)
        return [paid[:, [seat]] - base[:, [seat]] for paid, (_, seat) in zip(away, tried, strict=True)]

    deviator, seat = candidates[choose(len(candidates), gains, games).best]
    base, (paid,) = _points(config, mix, (MEASURING, 0), games, [(deviator, seat)])
    power = powers[seat]
    found = coalition_gain(
        {power: base[:, seat]}, {power: paid[:, seat]}, (power,), np.random.default_rng([config.seed, 7])
    ).gain
    return PortfolioGain(deviator, power, found.value, found.low, found.high, float(base.mean()), games)


def _points(
    config: PopulationConfig,
    mix: Mapping[str, float],
    stream: tuple[int, int],
    games: int,
    candidates: Sequence[tuple[str, int]],
) -> tuple[Floats, list[Floats]]:
    """Points per year [games, powers] without deviation, and with each deviator in its seat.

    Args:
        stream: random stream, different from that of the games from which the mix was computed.
    """
    seeds = np.random.SeedSequence([config.seed, *stream])
    powers, policies = len(load_board(config.map_name).powers), tuple(mix)
    drawn = np.random.default_rng(seeds).choice(len(mix), size=(games, powers), p=_shares(mix))
    everybody = (*policies, *dict.fromkeys(deviator for deviator, _ in candidates if deviator not in policies))
    seatings: list[Seating] = [tuple(row) for row in drawn.tolist()]
    for deviator, seat in candidates:
        changed = drawn.copy()
        changed[:, seat] = everybody.index(deviator)
        seatings += [tuple(row) for row in changed.tolist()]
    own = replace(config, seed=int(seeds.generate_state(1)[0]))
    base, *away = play_seatings(own, everybody, seatings).reshape(1 + len(candidates), *drawn.shape)
    return base, away


def _shares(mix: Mapping[str, float]) -> np.ndarray:
    shares = np.array(list(mix.values()), np.float64)
    return shares / shares.sum()


def _portfolio(config: PopulationConfig, mix: Mapping[str, float]) -> tuple[str, ...]:
    """The package's deviators for the config's games."""
    text = as_policy(mix)
    setting = Setting(rules=Rules(press=None, years=config.years), map_name=config.map_name)
    found = read_deviators(PORTFOLIO, read_profile(text), text, setting)
    return tuple(dict.fromkeys(policy.text for deviator in found for policy in deviator.policies))
