"""The profile of a point of the frontier: follow its path, and punish together, by lot, whoever leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents.policy import ScriptedPolicy

if TYPE_CHECKING:
    from pathlib import Path

    from agents.cliques.drawn_orders import DrawnOrders, Mix
    from welfare_env.game.view import View

STREAM = 30  # of a seed, for the draws


class FrontierPolicy(ScriptedPolicy):
    """A player of the profile that `evaluation.exact.FrontierPoint` found on clique:n or shared-clique:n.

    It follows the path until somebody has left it: gave other orders than the path's, and led to another position (of
    several, the first in the board's order). From then on, also if the game comes back to the path, all others draw
    their joint orders from the certificate's mix for the position and the years left; where it lists none, they order
    what `agents.cliques.punishing` says. Who left orders nothing, and so does everybody in a game that begins off the
    path.

    The draw of a phase follows from the game's seed, `secret`, year and phase, so all punishers draw the same, whatever
    they are called, if they were reset with one seed (as `evaluation.play` and training do). Whoever knows the position
    only cannot predict it; who knows the seed cannot without the `secret`.

    Args:
        point: a file of `evaluation.exact.FrontierPoint.save`.
        secret: a whole number that the players share, from 0.

    Raises:
        ValueError: a negative secret, or the file is none.
    """

    def __init__(self, point: Path, secret: int = 0) -> None:
        from agents.cliques.drawn_orders import drawn_orders  # lazily: numba

        if not isinstance(secret, int) or isinstance(secret, bool) or secret < 0:
            raise ValueError(f"secret={secret!r:.40}: give a whole number from 0")
        drawn_orders(point)
        self.point, self.secret = point, secret

    def reset(self, agent: str, seed: int = 0) -> None:
        """As `ScriptedPolicy.reset`; give all players of a game the same seed."""
        super().reset(agent, seed)
        self._seed, self._seen = seed, 0  # phases of the history looked at
        self._accused: str | None = None

    def reseed(self, seed: int) -> None:
        """As `ScriptedPolicy.reseed`."""
        super().reseed(seed)
        self._seed = seed

    def orders(self, view: View) -> list[str]:
        """The path's, or its part of what the punishers drew."""
        from agents.cliques.drawn_orders import drawn_orders  # lazily: numba
        from agents.cliques.listed_orders import check_board

        listed = drawn_orders(self.point)
        check_board(listed, view.board, view.rules.years)
        accused = self._who_left(listed, view)
        if accused is None:
            return listed.path_orders(view.phase).get(view.power, []) if listed.has(view.position) else []
        return self._drawn(listed.mix(view.state, accused), view).get(view.power, [])

    def _who_left(self, listed: DrawnOrders, view: View) -> str | None:
        if self._accused is None:
            self._accused = listed.left_by(view.history[self._seen :])
            self._seen = len(view.history)
        return self._accused

    def _drawn(self, mix: Mix, view: View) -> dict[str, list[str]]:
        """The same for all who share seed and secret."""
        rng = np.random.default_rng([self.secret, self._seed, STREAM, view.state.year, view.state.phase])
        ends = np.cumsum([weight for weight, _ in mix])
        return mix[int(np.searchsorted(ends, rng.integers(ends[-1]), side="right"))][1]
