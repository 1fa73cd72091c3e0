"""Who plays which seat of the games that a runner plays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEARNER, LEAGUE = "learner", "league"  # opponents by name: the network in training, and its past selves


@dataclass(frozen=True)
class Lineup:
    """Seats that learn, and who plays the others.

    Attributes:
        coalitions: the seats that learn, as power numbers; the games take them in turn.
        opponents: specs of `agents.make`, or "learner" or "league"; a game draws one for all its other seats.
        shares: how often each opponent is drawn.
    """

    coalitions: tuple[tuple[int, ...], ...]
    opponents: tuple[str, ...]
    shares: tuple[float, ...]

    @property
    def is_fixed(self) -> bool:
        """Whether no opponent learns: then some player without chance does as well as any."""
        return not {LEARNER, LEAGUE} & set(self.opponents)

    def seats(self, rng: np.random.Generator, games: int, powers: int) -> tuple[np.ndarray, np.ndarray]:
        """Who plays: int64 [games, powers], -1 for the learner, else an index into `opponents`; and each game's
        coalition, int64 [games]. A seat that "learner" plays learns, too.
        """
        shares = np.array(self.shares, np.float64)
        drawn = rng.choice(len(self.opponents), size=games, p=shares / shares.sum())
        coalition = (np.arange(games) + rng.integers(len(self.coalitions))) % len(self.coalitions)
        seats = np.repeat(drawn[:, None], powers, axis=1)
        for game, number in enumerate(coalition.tolist()):
            seats[game, list(self.coalitions[number])] = -1
        if LEARNER in self.opponents:
            seats[seats == self.opponents.index(LEARNER)] = -1
        return seats, coalition
