"""What `render` gives in each mode, for both kinds of environment, and SVG as pixels."""

import gc
import re
import sys
import webbrowser
from pathlib import Path

import numpy as np
import pytest

import welfare_env
from tests.playing import ended
from welfare_env import Game
from welfare_env.errors import PictureError
from welfare_env.render import pixels as rendering
from welfare_env.render.phase import phase_svg

MAKERS = [welfare_env.make, welfare_env.parallel_env]
SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><rect width="20" height="10" fill="#c03"/></svg>'
GOLDEN = Path(__file__).parent.parent / "golden" / "opening.png"
OPENING = {"press": None, "years": 1}


@pytest.fixture(params=MAKERS, ids=["aec", "parallel"])
def make(request):
    def made(mode, **options):
        env = request.param(**(OPENING | options), render_mode=mode)
        env.reset(seed=0)
        return env

    return made


@pytest.fixture
def opened(monkeypatch):
    """The addresses that a browser was asked to open."""
    addresses = []
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.setattr(webbrowser, "open", lambda address: addresses.append(address) or True)
    return addresses


def test_pictures_are_of_the_position_now(make):
    env = make("svg")
    first = env.render()
    assert first.startswith("<svg ")
    env.unwrapped.game.advance()
    assert "Spring 1901, movement" in first
    assert "Fall 1901, movement" in env.render()
    assert make("rgb_array", map_name="clique:3").render().shape[1] == 900


def test_human_opens_one_page_and_writes_it_anew(make, opened, capsys):
    env = make("human")
    assert env.render() is None
    assert env.render() is None
    (address,) = opened
    page = Path(address.removeprefix("file://"))
    assert '"live":true' in page.read_text("utf-8")
    assert "F1901M" not in page.read_text("utf-8")
    env.unwrapped.game.advance()
    env.render()
    assert "F1901M" in page.read_text("utf-8")
    ended(env.unwrapped.game)
    env.render()
    assert '"live":false' in page.read_text("utf-8")
    assert len(opened) == 1
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_the_page_is_removed_when_its_environment_is_closed_or_forgotten(make, opened):
    env = make("human", map_name="clique:3")
    env.close()  # before there is a page
    env.render()
    env.close()
    env.close()
    env.render()
    env.unwrapped.game.advance()
    env.render()
    assert env.unwrapped._remove_page.atexit  # and when Python exits
    closed, page = (Path(address.removeprefix("file://")) for address in opened)
    assert (closed.parent.exists(), page.exists()) == (False, True)
    del env
    gc.collect()
    assert not page.parent.exists()


def test_human_without_a_screen_says_where_the_page_is(make, monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(webbrowser, "open", lambda address: pytest.fail("a text browser would take the terminal"))
    monkeypatch.setattr("sys.platform", "linux")
    env = make("human")
    env.render()
    env.render()
    (path,) = re.findall(r"replay page: (.*)\n", capsys.readouterr().out)
    assert Path(path).read_text("utf-8").startswith("<!doctype html>")


# Pixels


@pytest.fixture(scope="module")
def pixels():
    pytest.importorskip("resvg_py")
    pytest.importorskip("matplotlib")
    return rendering.pixels


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


@pytest.mark.parametrize("package", ["resvg_py", "matplotlib", "PIL"])
def test_without_the_extra_the_error_names_it(pixels, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(rendering, "_fonts", rendering._fonts.__wrapped__)  # which remembers them
    with pytest.raises(PictureError, match="extra plot"):
        pixels(SQUARE, 40)
