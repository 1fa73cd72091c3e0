"""Who plays which seat in the games of a runner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from agents.specs import is_profile, read, read_profile
from training.errors import TrainingError, check_number
from welfare_env.errors import did_you_mean

SIZES = {"singles": 1, "pairs": 2, "triples": 3}  # of coalitions
LEARNER, LEAGUE = "learner", "league"  # opponents by name: the network in training, and its past selves


@dataclass(frozen=True)
class Lineup:
    """Seats that learn, and who plays the others.

    Attributes:
        coalitions: the seats that learn, as power numbers; games take them in turn.
        opponents: specs, profiles such as "4*dove + 3*hold" whose seats rotate from game to game, "learner" or
            "league"; each game draws one for all its other seats. Of a mix ("mix:dove=1/3,hold=2/3") each seat draws
            its own policy in each game.
        shares: how often each opponent is drawn, relative to the others.

    Raises:
        TrainingError: a share below 0 or infinite, or none above 0.
    """

    coalitions: tuple[tuple[int, ...], ...]
    opponents: tuple[str, ...]
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        for opponent, share in zip(self.opponents, self.shares, strict=True):
            check_number(f"the share of opponent {opponent!r:.80}", share, 0, 1e9)
        if not any(self.shares):
            raise TrainingError("opponents: give one of them a share above 0")

    @property
    def is_fixed(self) -> bool:
        """Whether no opponent learns: then some deterministic policy is a best response."""
        return not {LEARNER, LEAGUE} & set(self.players)

    @cached_property
    def players(self) -> tuple[str, ...]:
        """Every opponent by itself: the policies of profiles one by one."""
        return tuple(dict.fromkeys(player for text in self.opponents for player in _players(text)))

    def seats(
        self, rng: np.random.Generator, games: int, powers: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Who plays: int64 [games, powers], -1 for the learner, else an index into `players`; each game's coalition and
        the opponent it drew, int64 [games] each. A seat that "learner" plays learns, too.

        Raises:
            ProfileError, UnknownPowerError: a profile that does not fit the board.
        """
        shares = np.array(self.shares, np.float64)
        drawn = rng.choice(len(self.opponents), size=games, p=shares / shares.sum())
        coalition = (np.arange(games) + rng.integers(len(self.coalitions))) % len(self.coalitions)
        tables = [self._table(text, powers) for text in self.opponents]
        starts = rng.integers(len(powers), size=games) if any(map(is_profile, self.opponents)) else np.zeros(games, int)
        seats = np.array(
            [tables[number][start % len(tables[number])] for number, start in zip(drawn, starts, strict=True)]
        )
        for number, text in enumerate(self.opponents):
            if mix := parts_of(text):
                where = np.flatnonzero(drawn == number)
                players = np.array([self.players.index(player) for player in mix])
                chances = np.array(list(mix.values()))
                seats[where] = rng.choice(players, size=(len(where), len(powers)), p=chances / chances.sum())
        for game, number in enumerate(coalition.tolist()):
            seats[game, list(self.coalitions[number])] = -1
        if LEARNER in self.players:
            seats[seats == self.players.index(LEARNER)] = -1
        return seats, coalition, drawn

    def _table(self, text: str, powers: Sequence[str]) -> np.ndarray:
        """Who plays all seats: int64 [rotations, powers]."""
        if not is_profile(text):
            return np.full((1, len(powers)), self.players.index(_players(text)[0]))
        profile = read_profile(text)
        return np.array(
            [
                [self.players.index(policy.text) for policy in profile.seats(powers, shift).values()]
                for shift in range(len(powers))
            ]
        )


def _players(text: str) -> list[str]:
    """Every policy of an opponent by itself."""
    if is_profile(text):
        return [policy.text for policy in read_profile(text).policies]
    return list(parts_of(text)) or [text]


def parts_of(text: str) -> dict[str, float]:
    """The policies of a mix that is drawn once a game, with their shares; empty for other opponents."""
    if not text.startswith("mix:"):
        return {}
    shares: dict[str, float] = {}
    for policy, share in read(text).parts:
        shares[policy.text] = shares.get(policy.text, 0.0) + share
    return shares


def read_coalitions(text: str, powers: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """All coalitions of a size ("singles", "pairs", "triples"), or one by its names with commas, as power numbers.

    Raises:
        TrainingError: an unknown power, one named twice, or all of them.
    """
    sizes = {name: size for name, size in SIZES.items() if size < len(powers)}  # all together rob nobody
    if text in sizes:
        return tuple(combinations(range(len(powers)), sizes[text]))
    names = [name.strip().upper() for name in text.split(",")]
    if sorted(set(names)) != sorted(names) or not set(names) < set(powers):
        stranger = next((name for name in names if name not in powers), None)
        hint = did_you_mean(stranger, (*sizes, *powers) if len(names) == 1 else powers)
        raise TrainingError(
            f"coalition {text!r:.80}{hint}: give {', '.join(sizes)}, or some of {', '.join(powers)}, with commas"
        )
    return (tuple(powers.index(name) for name in names),)
