"""What the portfolio of deviators gains against a mix: a lower bound on its exploitability, for boards without exact
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from agents.specs import read_profile
from training.population.config import PopulationConfig
from training.population.meta import as_policy
from training.population.table import Seating, play_seatings
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules


@dataclass(frozen=True)
class PortfolioGain:
    """The best deviator of the portfolio, in the seat where it gains most; points a year.

    Attributes:
        deviator, power: which, and where.
        gain, low, high: the largest gain of all, with its 95% interval over games.
        corrected: the gain, corrected for the choice of the best (`evaluation.measures.selection`).
        welfare: mean points of a power when nobody deviates.
        games: played with each deviator in each seat, and without any.
    """

    deviator: str
    power: str
    gain: float
    low: float
    high: float
    corrected: float
    welfare: float
    games: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


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
    from evaluation.measures.intervals import portfolio_estimate

    powers, games = load_board(config.map_name).powers, config.portfolio_games
    deviators, policies = _portfolio(config, mix), tuple(mix)
    drawn = np.random.default_rng([config.seed, 6]).choice(len(mix), size=(games, len(powers)), p=_shares(mix))
    base: list[Seating] = [tuple(row) for row in drawn.tolist()]
    everybody = (*policies, *(deviator for deviator in deviators if deviator not in policies))
    away = [
        (*seats[:seat], everybody.index(deviator), *seats[seat + 1 :])
        for deviator in deviators
        for seat in range(len(powers))
        for seats in base
    ]
    points = play_seatings(config, everybody, [*base, *away])
    of_base, of_away = points[:games], points[games:].reshape(len(deviators), len(powers), games, len(powers))
    deviating: dict[str, dict[tuple[str, ...], dict[str, list[float]]]] = {
        deviator: {(power,): {power: of_away[number, seat, :, seat].tolist()} for seat, power in enumerate(powers)}
        for number, deviator in enumerate(deviators)
    }
    baseline = {power: of_base[:, seat].tolist() for seat, power in enumerate(powers)}
    found = portfolio_estimate(baseline, deviating, np.random.default_rng([config.seed, 7]))
    total, corrected = found.total, found.corrected
    return PortfolioGain(
        found.deviator, found.best[0], total.value, total.low, total.high, corrected.value, float(of_base.mean()), games
    )


def _shares(mix: Mapping[str, float]) -> np.ndarray:
    shares = np.array(list(mix.values()), np.float64)
    return shares / shares.sum()


def _portfolio(config: PopulationConfig, mix: Mapping[str, float]) -> tuple[str, ...]:
    """The deviators that come with the package, for games of the config."""
    from evaluation.experiments.deviators import PORTFOLIO, read_deviators
    from evaluation.play.setting import Setting

    text = as_policy(mix)
    setting = Setting(rules=Rules(press=None, years=config.years), map_name=config.map_name)
    found = read_deviators(PORTFOLIO, read_profile(text), text, setting)
    return tuple(dict.fromkeys(policy.text for deviator in found for policy in deviator.policies))
