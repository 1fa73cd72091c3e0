"""The live page: the drawing and scripts of the replay page, and our own. It contains no game, only the empty board."""

from __future__ import annotations

import functools
from importlib import resources

from evaluation.web.foundation.serving import ASKING, BUNDLES
from welfare_env import Board
from welfare_env.render.drawing import drawing_of
from welfare_env.render.svg import board_svg

_REPLAY, _OWN = "welfare_env.render.replay", "evaluation.web.games"
BUNDLES["play.css"] = (f"{_REPLAY}/page.css", f"{_OWN}/play.css")
BUNDLES["play.js"] = (
    f"{_REPLAY}/dom.js",
    ASKING,
    f"{_OWN}/store.js",
    *(f"{_REPLAY}/{name}.js" for name in ("view", "board")),
    *(f"{_OWN}/{name}.js" for name in ("network", "selection_games", "task", "talk", "play")),
)


@functools.lru_cache(maxsize=16)
def board_page(board: Board) -> str:
    """The page of a game on this board."""
    nothing: dict[str, tuple[str, ...]] = dict.fromkeys(board.powers, ())
    drawn = board_svg(drawing_of(board), board.powers, nothing, nothing)
    page = resources.files(_OWN).joinpath("static/play.html").read_text("utf-8")
    return page.replace("{board}", drawn)
