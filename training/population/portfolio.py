"""What the portfolio of deviators gains against a mix: a lower bound on its exploitability, for boards without exact
values.
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
from evaluation.play.game_settings import GameSettings
from training.population.config import PopulationConfig
from training.population.meta import as_policy
from training.population.table import Seating, play_seatings
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

Floats = NDArray[np.float64]

CHOOSING, MEASURING = 8, 9  # streams of seeds


@dataclass(frozen=True)
class PortfolioGain:
    """The best deviator of the portfolio, in the seat where it gains most, chosen on other games; points a year.

    Attributes:
        deviator, power: which, and where.
        gain, low, high: its mean gain with a 95% interval over games; negative if no deviator gains.
        welfare: mean points of a power when nobody deviates.
        games: over which these are means; each deviator plays as many in each seat for the choice.
    """

    deviator: str
    power: str
    gain: float
    low: float
    high: float
    welfare: float
    games: int

    def to_dict(self) -> dict[str, Any]:
        return {name: None if value != value else value for name, value in asdict(self).items()}  # nan is no JSON


def attacked(config: PopulationConfig, mix: Mapping[str, float]) -> PortfolioGain:
    """Attack a mix with the deviators of `evaluation.exploitability(..., deviator="portfolio")`, in games in batches.

    Each seat draws its policy from the mix in each game. A game with a deviator has the same policies in the other
    seats as the game of the same number without one; what these draw in it is not the same. No press.

    Args:
        config: the games, and how many.
        mix: policy -> its share.

    Raises:
        UnknownAgentError: a policy that there is not, or shares that do not sum to 1. Others as
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
    """Points a year [games, powers] when nobody deviates, and with each deviator in its seat.

    Args:
        stream: of the seeds, apart from those of the games that the mix comes from.
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
    """The deviators that come with the package, for games of the config."""
    text = as_policy(mix)
    setting = GameSettings(rules=Rules(press=None, years=config.years), map_name=config.map_name)
    found = read_deviators(PORTFOLIO, read_profile(text), text, setting)
    return tuple(dict.fromkeys(policy.text for deviator in found for policy in deviator.policies))
