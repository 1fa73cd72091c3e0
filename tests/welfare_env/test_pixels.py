"""SVG as pixels: the right size and colors, like the golden picture, and errors that say what is missing."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from welfare_env import Game
from welfare_env.errors import PictureError
from welfare_env.render.phase import phase_svg

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><rect width="20" height="10" fill="#c03"/></svg>'
GOLDEN = Path(__file__).parent.parent / "golden" / "opening.png"


@pytest.fixture(scope="module")
def pixels():
    pytest.importorskip("resvg_py")
    pytest.importorskip("matplotlib")
    from welfare_env.render.pixels import pixels

    return pixels


def test_pixels_have_the_width_and_the_shape_of_the_drawing(pixels):
    picture = pixels(SQUARE, 40)
    assert (picture.shape, picture.dtype) == ((20, 40, 3), np.uint8)
    assert (picture == (0xCC, 0x00, 0x33)).all()
    picture[0, 0] = 0  # writable: a caller may draw on it


def test_the_opening_looks_like_the_golden_picture(pixels, request):
    """A quarter of the size, where half a pixel of another version's rounding does not show."""
    from PIL import Image

    picture = pixels(phase_svg(Game()), 900)
    small = np.asarray(
        Image.fromarray(picture).resize((picture.shape[1] // 4, picture.shape[0] // 4), Image.Resampling.BOX)
    )
    if request.config.getoption("--update-golden"):
        Image.fromarray(small).save(GOLDEN, optimize=True)
    golden = np.asarray(Image.open(GOLDEN).convert("RGB")).astype(int)
    assert small.shape == golden.shape
    assert np.abs(small - golden).mean() < 1
    assert np.abs(small - golden).max() < 64


@pytest.mark.parametrize(("svg", "width"), [(SQUARE, 0), (SQUARE, 8193), ("<svg", 40)])
def test_what_is_no_svg_or_width_is_refused(pixels, svg, width):
    with pytest.raises(PictureError):
        pixels(svg, width)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["resvg_py", "matplotlib", "PIL"])
def test_without_the_extra_the_error_names_it(package):
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from welfare_env.errors import PictureError\n"
        "from welfare_env.render.pixels import pixels\n"
        f"try:\n    pixels({SQUARE!r}, 40)\n"
        "except PictureError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.count("extra plot") == 1, done.stderr
