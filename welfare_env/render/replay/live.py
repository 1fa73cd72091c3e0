"""The replay page of a running game: one file, rewritten at every render, opened once."""

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

from welfare_env.render.played import PlayedGame
from welfare_env.render.replay.page import replay_page


class LivePage:
    """The page of an environment's game. While the game runs, an open page updates itself.

    Where there is no screen, nothing is opened: the path is printed once. The file is in a temporary folder, which is
    removed at `close`, when the page is forgotten, and when Python exits. A copy has no file yet.

    Args:
        write: writes a text to a file.
    """

    def __init__(self, write: Callable[[str, Path], None]) -> None:
        self._write = write
        self._path: Path | None = None
        self._remove: Callable[[], object] = lambda: None

    def show(self, game: PlayedGame) -> None:
        """Write the page as the game is now, and open it the first time."""
        path = self._path or self._new_folder() / "game.html"
        self._write(replay_page(game.record(), game.board, live=not game.is_done), path)
        if self._path is None and not (_has_screen() and webbrowser.open(path.as_uri())):
            print(f"the game is at {path}")
        self._path = path

    def close(self) -> None:
        """Remove the file; what a browser has opened stays there until it is loaded again."""
        self._remove()
        self._path = None

    def _new_folder(self) -> Path:
        self._remove()  # of a page that could not be written
        folder = Path(tempfile.mkdtemp(prefix="welfare-env-"))
        self._remove = weakref.finalize(self, _removed, folder, os.getpid())
        return folder

    def __reduce__(self) -> tuple[Any, ...]:
        return LivePage, (self._write,)


def _removed(folder: Path, process: int) -> None:
    """Remove a folder, unless this is a fork of the process that made it."""
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _has_screen() -> bool:
    """Without a screen, `webbrowser` would start a text browser in this terminal."""
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
