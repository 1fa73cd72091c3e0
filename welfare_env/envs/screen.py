"""What `render` of an environment gives in each mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from welfare_env.game.game import Game
from welfare_env.game.record import save_text
from welfare_env.render.pixels import is_installed

if TYPE_CHECKING:
    from welfare_env.render.replay.live import LivePage

RENDER_MODES = ("human", "ansi", "svg", "rgb_array")
WIDTH = 900  # pixels of "rgb_array"


def working_modes() -> list[str]:
    """The modes that work with what is installed, for the metadata of environments: pixels need the extra `plot`."""
    return [mode for mode in RENDER_MODES if mode != "rgb_array" or is_installed()]


class Screen:
    """Draws the game of one environment. The drawing code is imported when something is drawn.

    Args:
        mode: one of `RENDER_MODES`, or None.
    """

    def __init__(self, mode: str | None) -> None:
        self.mode = mode
        self._page: LivePage | None = None

    def render(self, game: Game) -> str | np.ndarray | None:
        """See `BoardEnv.render`."""
        if self.mode == "ansi":
            from welfare_env.render.ansi import render

            return render(game)
        if self.mode == "human":
            self._show(game)
        if self.mode in ("svg", "rgb_array"):
            return self._drawn(game)
        return None

    def _show(self, game: Game) -> None:
        from welfare_env.render.replay.live import LivePage

        self._page = self._page or LivePage(save_text)
        self._page.show(game)

    def close(self) -> None:
        """Remove the page of "human", if there is one."""
        if self._page is not None:
            self._page.close()

    def _drawn(self, game: Game) -> str | np.ndarray:
        """The position now."""
        from welfare_env.render.phase import phase_svg
        from welfare_env.render.pixels import pixels

        drawn = phase_svg(game)
        return drawn if self.mode == "svg" else pixels(drawn, WIDTH)
