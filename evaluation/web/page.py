"""The live page: the drawing and scripts of the replay page, and our own. It contains no game, only the empty board.

Pages have no inline scripts or styles, which the security policy of `guard` forbids.
"""

from __future__ import annotations

import functools
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response

from welfare_env import Board
from welfare_env.render.drawing import drawing_of
from welfare_env.render.svg import board_svg

_REPLAY, _OWN = "welfare_env.render.replay", "evaluation.web"
_SCRIPTS = (
    (_REPLAY, "dom.js"),
    (_OWN, "asking.js"),
    (_OWN, "store.js"),
    *((_REPLAY, f"{name}.js") for name in ("view", "board")),
    *((_OWN, f"{name}.js") for name in ("network", "choosing", "task", "talk", "play")),
)
_STYLES = ((_REPLAY, "page.css"), (_OWN, "play.css"))


@functools.lru_cache(maxsize=16)
def board_page(board: Board) -> str:
    """The page of a game on this board."""
    nothing: dict[str, tuple[str, ...]] = dict.fromkeys(board.powers, ())
    drawn = board_svg(drawing_of(board), board.powers, nothing, nothing)
    return _text(_OWN, "play.html").replace("{board}", drawn)


async def static(request: Request) -> Response:
    """The script and the style of the page: several files each, the scripts in one function scope."""
    name = request.path_params["name"]
    if name == "play.css":
        return Response(_joined(_STYLES), media_type="text/css")
    if name == "play.js":
        return Response('"use strict";(() => {\n' + _joined(_SCRIPTS) + "\n})();\n", media_type="text/javascript")
    return Response("no such file", 404)


@functools.cache
def _joined(files: tuple[tuple[str, str], ...]) -> str:
    return "\n".join(_text(*each) for each in files)


def _text(package: str, name: str) -> str:
    return resources.files(package).joinpath(f"static/{name}").read_text("utf-8")
