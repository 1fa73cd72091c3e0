"""The replay page of a running game: one file, rewritten at every render, opened once."""

from __future__ import annotations

import os
import sys
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path

from welfare_env.render.played import PlayedGame
from welfare_env.render.replay.page import replay_page


class LivePage:
    """The page of an environment's game. While the game runs, an open page updates itself.

    Without a screen, nothing is opened and the path is printed once.

    Args:
        write: writes a text to a file.
    """

    def __init__(self, write: Callable[[str, Path], None]) -> None:
        self._write = write
        self._path: Path | None = None

    def show(self, game: PlayedGame) -> None:
        """Write the page of the current state, and open it the first time."""
        path = self._path or Path(tempfile.mkdtemp(prefix="welfare-env-")) / "game.html"
        self._write(replay_page(game.record(), game.board, live=not game.is_done), path)
        if self._path is None and not (_has_screen() and webbrowser.open(path.as_uri())):
            print(f"the game is at {path}")
        self._path = path


def _has_screen() -> bool:
    """Without a screen, `webbrowser` would start a text browser in this terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
