"""The gain of the package's portfolio of deviators from a mix of policies, whose games are played in batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agents.specs import read_profile
from evaluation.experiments.deviators import PORTFOLIO, read_deviators
from evaluation.measures.gains import choose_at_once, coalition_gain
from evaluation.play.game_spec import Setting
from research.learning.courses import Floats
from training import PopulationConfig
from training.population.psro import Seating, as_policy, play_seatings
from welfare_env.board.loading import load_board
from welfare_env.rules import Rules

CHOOSING, MEASURING = 8, 9  # random streams


def attacked(config: PopulationConfig, mix: Mapping[str, float]) -> dict[str, Any]:
    """The gain of the package's portfolio of deviators: its best deviator in its best seat, chosen on separate games.

    Each seat draws its policy from the mix in each game. A game with a deviator has the same policies in the other
    seats as the game with the same number without deviator, but the policies' own random draws differ.

    Returns:
        The deviator and its power; gain, low, high: its mean gain in points per year with a 95% interval over games;
        welfare: mean points of a power without deviation. Unknown bounds are None.
    """
    games, powers = config.portfolio_games, load_board(config.map_name).powers
    candidates = [(deviator, seat) for deviator in _portfolio(config, mix) for seat in range(len(powers))]

    def gains(chosen: Sequence[int], numbers: range) -> list[Floats]:
        tried = [candidates[each] for each in chosen]
        base, away = _points(config, mix, (CHOOSING, numbers.start), len(numbers), tried)
        return [paid[:, [seat]] - base[:, [seat]] for paid, (_, seat) in zip(away, tried, strict=True)]

    deviator, seat = candidates[choose_at_once(len(candidates), gains, games).best]
    base, (paid,) = _points(config, mix, (MEASURING, 0), games, [(deviator, seat)])
    power, rng = powers[seat], np.random.default_rng([config.seed, 7])
    gain = coalition_gain({power: base[:, seat]}, {power: paid[:, seat]}, (power,), rng).gain
    low, high = (None if np.isnan(bound) else bound for bound in (gain.low, gain.high))
    return {
        "deviator": deviator, "power": power, "gain": gain.value, "low": low, "high": high,
        "welfare": float(base.mean()),
    }  # fmt: skip


def _points(
    config: PopulationConfig,
    mix: Mapping[str, float],
    stream: tuple[int, int],
    games: int,
    candidates: Sequence[tuple[str, int]],
) -> tuple[Floats, list[Floats]]:
    """Points per year [games, powers] without deviation, and with each deviator in its seat."""
    seeds = np.random.SeedSequence([config.seed, *stream])
    powers, policies = len(load_board(config.map_name).powers), tuple(mix)
    shares = np.array(list(mix.values()), np.float64)
    drawn = np.random.default_rng(seeds).choice(len(mix), size=(games, powers), p=shares / shares.sum())
    everybody = (*policies, *dict.fromkeys(deviator for deviator, _ in candidates if deviator not in policies))
    seatings: list[Seating] = [tuple(row) for row in drawn.tolist()]
    for deviator, seat in candidates:
        changed = drawn.copy()
        changed[:, seat] = everybody.index(deviator)
        seatings += [tuple(row) for row in changed.tolist()]
    own = replace(config, seed=int(seeds.generate_state(1)[0]))
    base, *away = play_seatings(own, everybody, seatings).reshape(1 + len(candidates), *drawn.shape)
    return base, away


def _portfolio(config: PopulationConfig, mix: Mapping[str, float]) -> tuple[str, ...]:
    """The package's deviators for these games."""
    text = as_policy(mix)
    setting = Setting(rules=Rules(press=None, years=config.years), map_name=config.map_name)
    found = read_deviators(PORTFOLIO, read_profile(text), text, setting)
    return tuple(dict.fromkeys(policy.text for deviator in found for policy in deviator.policies))
