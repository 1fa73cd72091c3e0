"""SVG to pixels, and a game as an animated GIF (extra `plot`).

resvg draws with matplotlib's fonts, so pictures are the same on every machine.
"""

from __future__ import annotations

import functools
import importlib.util
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from welfare_env import checks
from welfare_env.errors import PictureError
from welfare_env.extras import install_extra

if TYPE_CHECKING:
    from PIL.Image import Image

    from welfare_env.render.phase import PlayedGame


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


WIDTH, NARROWEST, WIDEST = 640, 100, 2000  # pixels
PHASE, SHORTEST, LONGEST = 1000, 20, 60_000  # milliseconds per frame; browsers show no less than 20
LAST = 3  # duration of the last frame, relative to the others
MOST_PIXELS = 200_000_000  # of all frames; drawing takes up to three bytes of memory per pixel
COLORS = 256
WHITE = (255, 255, 255)
SAMPLES = 6  # frames from which the palette is made


def game_gif(
    game: PlayedGame, width: int = WIDTH, milliseconds: int = PHASE, on_frame: Callable[[int], None] | None = None
) -> bytes:
    """The file's content. The same game gives the same bytes.

    Ten years on the standard map, 1200 pixels wide, are a file of 0.3 MB; drawing takes about half a minute and
    150 MB of memory, two to three bytes a pixel.

    Args:
        width: in pixels, 100 to 2000; the height follows.
        milliseconds: time per phase, 20 to 60,000.
        on_frame: called after each frame with the number of frames drawn.

    Raises:
        PictureError: a width or time out of range, a game too long for this width, or the extra `plot` is missing.
    """
    wide = checks.whole("width", width, NARROWEST, WIDEST, PictureError)
    duration = checks.whole("milliseconds", milliseconds, SHORTEST, LONGEST, PictureError)
    numbers: list[int | None] = [*range(len(game.history)), None]
    order = _samples_first(len(numbers))
    images = _quantized(_drawn(game, [numbers[place] for place in order], wide, on_frame))
    images = [images[place] for place in np.argsort(order)]
    return _encoded(images, duration)


def _samples_first(count: int) -> list[int]:
    """0 to count - 1, beginning with the frames from which the palette is made; 0 is among these."""
    samples = [round(place) for place in np.linspace(0, count - 1, min(SAMPLES, count))]
    return [*samples, *sorted(set(range(count)) - set(samples))]


def _drawn(
    game: PlayedGame, numbers: Sequence[int | None], width: int, on_frame: Callable[[int], None] | None
) -> Iterator[np.ndarray]:
    """The phases in pixels, one at a time. The size limit is checked when the first is drawn."""
    from welfare_env.render.phase import phase_svg  # imports scipy, which is slow

    for count, number in enumerate(numbers, 1):
        frame = pixels(phase_svg(game, number), width)
        if count == 1:
            _check_size(len(numbers), width, len(frame))
        if on_frame is not None:
            on_frame(count)
        yield frame


def _check_size(frames: int, width: int, height: int) -> None:
    size = frames * width * height
    if size > MOST_PIXELS:
        fits = int(width * (MOST_PIXELS / size) ** 0.5)
        raise PictureError(
            f"{frames} phases, {width} pixels wide, make an animation of {size:,} pixels, more than {MOST_PIXELS:,}: "
            f"give a width of {fits} at most"
        )


def _quantized(drawn: Iterator[np.ndarray]) -> list[Image]:
    """The frames as images with one byte per pixel, all with the palette of the first `SAMPLES`."""
    first = list(islice(drawn, SAMPLES))  # before the import, so that drawing reports a missing extra `plot`
    from PIL.Image import Dither, fromarray, new

    samples = [fromarray(frame) for frame in first]
    palette = new("P", (1, 1))
    palette.putpalette(_commonest(samples))
    frames = chain(samples, map(fromarray, drawn))
    return [frame.quantize(palette=palette, dither=Dither.NONE) for frame in frames]


def _commonest(images: Sequence[Image]) -> bytes:
    """A palette of white, with which `Image.crop` fills, and the most frequent colors; rare ones are edge blends."""
    counts: Counter[tuple[int, int, int]] = Counter()
    for image in images:
        found: Any = image.getcolors(image.width * image.height)
        counts.update({color: count for count, color in found})
    del counts[WHITE]
    colors = [WHITE, *sorted(counts, key=lambda color: (-counts[color], color))][:COLORS]
    return np.resize(np.array(colors, np.uint8), (COLORS, 3)).tobytes()


def _encoded(images: list[Image], milliseconds: int) -> bytes:
    height = max(image.height for image in images)  # legends differ in height
    for place, image in enumerate(images):  # one by one, in place, to save memory
        images[place] = image.crop((0, 0, image.width, height))
    first, *others = images
    times = [milliseconds] * len(others) + [milliseconds * LAST]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=times, loop=0)
    return file.getvalue()
