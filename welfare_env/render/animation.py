"""A game as an animated GIF: a frame for each phase with its orders, and the final position (extra `plot`)."""

from __future__ import annotations

import io
from collections.abc import Callable

import numpy as np

from welfare_env import checks
from welfare_env.errors import PictureError
from welfare_env.render.phase import phase_svg
from welfare_env.render.pixels import pixels
from welfare_env.render.played import PlayedGame

WIDTH, NARROWEST, WIDEST = 640, 100, 2000  # pixels
PHASE, SHORTEST, LONGEST = 1000, 20, 60_000  # milliseconds that a frame is shown; browsers go no faster
LAST = 3  # times as long as the others
MOST_PIXELS = 200_000_000  # of all frames: some tens of MB at most
COLORS = 256
SAMPLES = 6  # frames whose colours are taken for all


def game_gif(
    game: PlayedGame, width: int = WIDTH, milliseconds: int = PHASE, on_frame: Callable[[int], None] | None = None
) -> bytes:
    """The file's content. The same game gives the same bytes.

    Args:
        width: in pixels, 100 to 2000; the height follows.
        milliseconds: that a phase is shown, 20 to 60,000.
        on_frame: called after each frame with the number of frames drawn.

    Raises:
        PictureError: a width or time out of range, a game too long for this width, or the extra `plot` is missing.
    """
    wide = checks.whole("width", width, NARROWEST, WIDEST, PictureError)
    shown = checks.whole("milliseconds", milliseconds, SHORTEST, LONGEST, PictureError)
    numbers = [*range(len(game.history)), None]
    drawn: list[np.ndarray] = []
    for number in numbers:
        drawn.append(pixels(phase_svg(game, number), wide))
        _check_size(len(numbers), wide, drawn[0].shape[0])
        if on_frame is not None:
            on_frame(len(drawn))
    return _encoded(_padded(drawn), shown)


def _check_size(frames: int, width: int, height: int) -> None:
    size = frames * width * height
    if size > MOST_PIXELS:
        fits = int(width * (MOST_PIXELS / size) ** 0.5)
        raise PictureError(
            f"{frames} phases, {width} pixels wide, make an animation of {size:,} pixels, more than {MOST_PIXELS:,}: "
            f"give a width of {fits} at most"
        )


def _padded(drawn: list[np.ndarray]) -> list[np.ndarray]:
    """All frames as high as the highest: legends differ in length."""
    height = max(len(frame) for frame in drawn)
    return [np.pad(frame, ((0, height - len(frame)), (0, 0), (0, 0)), constant_values=255) for frame in drawn]


def _commonest(frames: list[np.ndarray]) -> np.ndarray:
    """The colours that occur most, uint8 [256, 3]: a map has few, and those between them at the edges look alike."""
    some = [frames[round(place)] for place in np.linspace(0, len(frames) - 1, min(SAMPLES, len(frames)))]
    codes = np.concatenate([frame.reshape(-1, 3) for frame in some]) @ np.array([1 << 16, 1 << 8, 1])
    colours, counts = np.unique(codes, return_counts=True)
    best = np.resize(colours[np.argsort(-counts, kind="stable")][:COLORS], COLORS)
    return np.stack([best >> 16, best >> 8 & 255, best & 255], axis=1).astype(np.uint8)


def _encoded(frames: list[np.ndarray], milliseconds: int) -> bytes:
    from PIL.Image import Dither, fromarray, new

    palette = new("P", (1, 1))
    palette.putpalette(_commonest(frames).tobytes())
    first, *others = [fromarray(frame).quantize(palette=palette, dither=Dither.NONE) for frame in frames]
    times = [milliseconds] * len(others) + [milliseconds * LAST]
    file = io.BytesIO()
    first.save(file, "GIF", save_all=True, append_images=others, duration=times, loop=0)
    return file.getvalue()
