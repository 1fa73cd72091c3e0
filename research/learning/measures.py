"""The welfare and exploitability of a training's last iterate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from evaluation.exact import Exploitability, exploitability
from research.learning.attacks import attacked
from research.learning.trainings import config_of, measured
from training import PopulationConfig
from welfare_env.board.loading import load_board

GAMES = 20  # per deviator and seat for the choice, and for the chosen one
MOST_POSITIONS = 60_000


def exact(folder: Path, network: str, powers: Sequence[str]) -> dict[str, Any]:
    """Exact values of a network's most probable orders: welfare, and the largest gain of an exact best response.

    Args:
        powers: the deviating powers; without any the gain is nan.
    """
    welfare = measured(folder, f"welfare, greedy {network}", partial(_welfare, folder, network))
    gains = [measured(folder, f"exact, {network}, {one}", partial(_exact, folder, network, one)) for one in powers]
    best = max(gains, key=lambda one: one["gain"], default={"gain": math.nan, "power": "-"})
    return {"welfare": welfare, **best}


def _welfare(folder: Path, network: str) -> float:
    return _exploited(folder, network, []).welfare


def _exact(folder: Path, network: str, power: str) -> dict[str, Any]:
    found = _exploited(folder, network, [power])
    return {"gain": found.gap, "power": power, "positions": found.responses[power].positions}


def _exploited(folder: Path, network: str, powers: Sequence[str]) -> Exploitability:
    config = config_of(folder)
    player = f"rl:({folder / network}),greedy=yes"
    return exploitability(config["map_name"], player, config["years"], powers=powers, max_positions=MOST_POSITIONS)


def attack(folder: Path) -> dict[str, Any]:
    """The last iterate, sampling orders: its welfare, and the gain of the portfolio's best deviator.

    The deviator and its seat are chosen on separate games.
    """
    return dict(measured(folder, f"portfolio, greedy=no, {GAMES} games", partial(_attack, folder)))


def _attack(folder: Path) -> dict[str, Any]:
    config = config_of(folder)
    player = f"rl:({folder / 'checkpoint'}),greedy=no"
    games = PopulationConfig(map_name=config["map_name"], years=config["years"], portfolio_games=GAMES)
    found = attacked(games, {player: 1.0})
    return {**found, "by": found["deviator"].partition(":nice=")[0]}  # an exploiter's face is the network itself


def robbed(folder: Path, cooperators: str, robbers: str) -> dict[str, float]:
    """Exact points per year of a cooperator and of one robber among them, all greedy; means over the robber's seats."""
    return dict(measured(folder, f"{cooperators} with {robbers}", lambda: _robbed(folder, cooperators, robbers)))


def _robbed(folder: Path, cooperators: str, robbers: str) -> dict[str, float]:
    config = config_of(folder)
    nice, bad = (f"rl:({folder / network}),greedy=yes" for network in (cooperators, robbers))
    others, own = [], []
    powers = load_board(config["map_name"]).powers
    for seat in powers:
        profile = {power: bad if power == seat else nice for power in powers}
        paid = exploitability(config["map_name"], profile, config["years"], powers=[]).points
        own.append(paid.pop(seat) / config["years"])
        others += [value / config["years"] for value in paid.values()]
    return {"cooperator": float(np.mean(others)), "robber": float(np.mean(own))}
