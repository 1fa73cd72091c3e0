"""Rendering of environments, in each render mode."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import weakref
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from welfare_env.game.game import Game
from welfare_env.game.record import save_text
from welfare_env.render.pixels import is_installed

RENDER_MODES = ("human", "ansi", "svg", "rgb_array")
WIDTH = 900  # pixels of "rgb_array"


def working_modes() -> list[str]:
    """The render modes available here, for the metadata of environments: "rgb_array" needs the extra `plot`."""
    return [mode for mode in RENDER_MODES if mode != "rgb_array" or is_installed()]


class Screen:
    """Draws the game of one environment. Drawing code is imported on first use.

    Args:
        mode: one of `RENDER_MODES`, or None.
    """

    def __init__(self, mode: str | None) -> None:
        self.mode = mode
        self._page: LivePage | None = None

    def render(self, game: Game) -> str | np.ndarray | None:
        """See `BoardEnv.render`."""
        if self.mode == "ansi":
            from welfare_env.render.phase import render

            return render(game)
        if self.mode == "human":
            self._show(game)
        if self.mode in ("svg", "rgb_array"):
            return self._drawn(game)
        return None

    def _show(self, game: Game) -> None:
        self._page = self._page or LivePage()
        self._page.show(game)

    def close(self) -> None:
        """Remove the page of "human", if there is one."""
        if self._page is not None:
            self._page.close()

    def _drawn(self, game: Game) -> str | np.ndarray:
        """Draw the current position."""
        from welfare_env.render.phase import phase_svg
        from welfare_env.render.pixels import pixels

        drawn = phase_svg(game)
        return drawn if self.mode == "svg" else pixels(drawn, WIDTH)


class LivePage:
    """The page of an environment's game. While the game runs, an open page updates itself; then it stays at the end.

    Without a display nothing is opened, and the path is printed once. The file is in a temporary folder, which is
    removed by `close`, by garbage collection, and when Python exits. A copy of this object has no file yet.
    """

    def __init__(self) -> None:
        self._path: Path | None = None
        self._has_ended = False  # whether the game on the page is over, so that the page no longer updates itself
        self._remove: Callable[[], object] = lambda: None

    def show(self, game: Game) -> None:
        """Write the page of the current position; open it the first time, and for a new game after a finished one."""
        from welfare_env.render.replay.page import replay_page

        path = self._path or self._new_folder() / "game.html"
        save_text(replay_page(game.record(), game.board, at_end=True, live=not game.is_done), path)
        is_new = self._path is None or (self._has_ended and not game.is_done)
        if is_new and not (_has_screen() and webbrowser.open(path.as_uri())):
            print(f"replay page: {path}")
        self._path, self._has_ended = path, game.is_done

    def close(self) -> None:
        """Remove the file; a page open in a browser remains until it is reloaded."""
        self._remove()
        self._path = None

    def _new_folder(self) -> Path:
        self._remove()  # the folder of a page that could not be written
        folder = Path(tempfile.mkdtemp(prefix="welfare-env-"))
        self._remove = weakref.finalize(self, _removed, folder, os.getpid())
        return folder

    def __reduce__(self) -> tuple[Any, ...]:
        return LivePage, ()


def _removed(folder: Path, process: int) -> None:
    """Remove a folder, but only in the process that made it, not in a fork."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _has_screen() -> bool:
    """Whether there is a display; without one, `webbrowser` would start a text browser in this terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
