"""The policy of a point of the frontier: follow its path, and punish a deviator with jointly randomized orders."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from agents.policy import ScriptedPolicy

if TYPE_CHECKING:
    from pathlib import Path

    from agents.toy_boards.drawn_orders import Mix
    from welfare_env.game.view import View

STREAM = 30  # part of the random seed, for the draws


class FrontierPolicy(ScriptedPolicy):
    """A player of the profile in an `evaluation.exact.FrontierPoint` on clique:n or shared-clique:n.

    It follows the path until a power leaves it, that is, gives orders that differ from the path's and lead to another
    position (if several do, the first in the board's order counts). From then on, even if the game returns to the path,
    all others draw joint orders from the certificate's mix for the position and the years left. In unlisted positions
    they give the orders of `agents.toy_boards.punishing`. The deviator itself gives no orders; nor does anybody in a
    game that begins off the path.

    The draw of a phase is a function of the game's seed, `secret`, year and phase. So all punishers draw the same joint
    orders if they were reset with the same seed (as `evaluation.play` and training do). A deviator can predict the draw
    only with both the seed and the `secret`.

    Args:
        point: a file of `evaluation.exact.FrontierPoint.save`.
        secret: a whole number from 0, the same for all players of the profile.

    Raises:
        ValueError: a negative secret, or a file that is not a point of the frontier.
    """

    def __init__(self, point: Path, secret: int = 0) -> None:
        from agents.toy_boards.drawn_orders import drawn_orders  # lazily: numba

        if not isinstance(secret, int) or isinstance(secret, bool) or secret < 0:
            raise ValueError(f"secret={secret!r:.40}: give a whole number from 0")
        self.listed, self.secret = drawn_orders(point), secret

    def reset(self, agent: str, seed: int = 0) -> None:
        """As `ScriptedPolicy.reset`; give all players of a game the same seed."""
        super().reset(agent, seed)
        self._seed, self._seen = seed, 0  # _seen: number of phases of the history already checked
        self._accused: str | None = None

    def reseed(self, seed: int) -> None:
        """As `ScriptedPolicy.reseed`."""
        super().reseed(seed)
        self._seed = seed

    def orders(self, view: View) -> list[str]:
        """The path's orders, or after a deviation the power's part of the punishers' joint draw."""
        from agents.toy_boards.listed_orders import check_board  # lazily: numba

        listed = self.listed
        check_board(listed, view.board, view.rules.years)
        accused = self._who_left(view)
        if accused is None:
            return listed.path_orders(view.phase).get(view.power, []) if listed.has(view.position) else []
        return self._drawn(listed.mix(view.state, accused), view).get(view.power, [])

    def _who_left(self, view: View) -> str | None:
        if self._accused is None:
            self._accused = self.listed.left_by(view.history[self._seen :])
            self._seen = len(view.history)
        return self._accused

    def _drawn(self, mix: Mix, view: View) -> dict[str, list[str]]:
        """A draw from a mix; the same for all players with the same seed and secret."""
        rng = np.random.default_rng([self.secret, self._seed, STREAM, view.state.year, view.state.phase])
        ends = np.cumsum([weight for weight, _ in mix])
        return mix[int(np.searchsorted(ends, rng.integers(ends[-1]), side="right"))][1]
