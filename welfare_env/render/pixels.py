"""SVG to pixels (extra `plot`).

resvg draws with matplotlib's fonts, so pictures are the same on every machine.
"""

from __future__ import annotations

import functools
import importlib.util
import io
from pathlib import Path

import numpy as np

from welfare_env import checks
from welfare_env.errors import PictureError
from welfare_env.extras import install_extra

FONTS = ("DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSans-Oblique.ttf")
FAMILY = "DejaVu Sans"
FOLDER = "mpl-data/fonts/ttf"  # in matplotlib's package; system fonts are not used
WIDEST_PICTURE = 8192
NEEDS = ("resvg_py", "PIL", "matplotlib")  # the extra `plot`


def is_installed() -> bool:
    """Whether the extra `plot` is installed."""
    return all(map(importlib.util.find_spec, NEEDS))


def pixels(svg: str, width: int = 900) -> np.ndarray:
    """Draw an SVG.

    Args:
        width: in pixels, 1 to 8192; the height follows.

    Returns:
        uint8 [height, width, 3], red, green and blue.

    Raises:
        PictureError: a width out of range, invalid SVG, or the extra `plot` is not installed.
    """
    wide = checks.whole("width", width, 1, WIDEST_PICTURE, PictureError)
    try:
        import resvg_py
        from PIL import Image

        fonts = _fonts()
    except ImportError as error:
        raise PictureError(f"{error}: pictures in pixels need {install_extra('plot')}") from error
    try:
        png = resvg_py.svg_to_bytes(
            svg_string=svg,
            width=wide,
            skip_system_fonts=True,
            font_files=list(fonts),
            background="#ffffff",
            font_family=FAMILY,
            sans_serif_family=FAMILY,
        )
    except ValueError as error:
        raise PictureError(f"this text cannot be drawn as SVG: {error}") from error
    return np.array(Image.open(io.BytesIO(png)).convert("RGB"))


@functools.cache
def _fonts() -> tuple[str, ...]:
    found = importlib.util.find_spec("matplotlib")  # only located: importing it is slow
    folders = found.submodule_search_locations if found else None
    if not folders:
        raise ModuleNotFoundError("No module named 'matplotlib'")
    return tuple(str(Path(folders[0], FOLDER, font)) for font in FONTS)
