"""Games as animated GIFs: frames, bounds, and what is replaced on the disk."""

import io

import numpy as np
import pytest

from welfare_env import Game, RecordError, Rules
from welfare_env.errors import PictureError
from welfare_env.render import pixels as animation
from welfare_env.render.phase import phase_svg
from welfare_env.render.pixels import pixels

pytest.importorskip("resvg_py", reason="needs the extra plot")
Image = pytest.importorskip("PIL.Image", reason="needs the extra plot")


@pytest.fixture(scope="module")
def game():
    played = Game("clique:3", Rules(years=1, press=None))
    while not played.is_done:
        played.advance()
    return played


def test_a_frame_for_each_phase_and_the_end(game, tmp_path):
    seen = []
    game.animate(tmp_path / "game.gif", 160, 50, seen.append)
    picture = Image.open(tmp_path / "game.gif")
    times = []
    for number in range(picture.n_frames):
        picture.seek(number)
        times.append(picture.info["duration"])
    frames = len(game.history) + 1
    assert seen == list(range(1, frames + 1))
    assert picture.width == 160
    assert sum(times) == 50 * (frames - 1) + 3 * 50  # equal frames are one that stays longer
    assert picture.info["loop"] == 0


def test_frames_show_their_phase(game):
    picture = Image.open(io.BytesIO(animation.game_gif(game, 160)))
    frames = []
    for number in range(picture.n_frames):
        picture.seek(number)
        frames += [np.array(picture.convert("RGB"), float)] * round(picture.info["duration"] / animation.PHASE)
    drawings = [pixels(phase_svg(game, number), 160).astype(float) for number in [*range(len(game.history)), None]]
    assert len(frames) == len(drawings) - 1 + animation.LAST
    for frame, drawing in zip(frames, drawings, strict=False):
        far = [np.abs(frame[: len(other)] - other).mean() for other in drawings]
        mine = np.abs(frame[: len(drawing)] - drawing).mean()
        assert mine < 0.4  # colors are rounded to the palette; other phases are about 0.9 away
        assert sorted(far)[1] > 2 * mine


def test_the_same_game_gives_the_same_bytes(game):
    assert animation.game_gif(game, 120) == animation.game_gif(game, 120)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"width": 99}, "width=99: give a whole number from 100 to 2000"),
        ({"width": 3000}, "width=3000"),
        ({"width": "wide"}, "width='wide'"),
        ({"milliseconds": 5}, "milliseconds=5: give a whole number from 20 to 60000"),
        ({"milliseconds": 1.5}, "milliseconds=1.5"),
    ],
)
def test_what_cannot_be_drawn_is_refused(game, tmp_path, options, told):
    with pytest.raises(PictureError, match=told):
        game.animate(tmp_path / "game.gif", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_game_too_long_for_its_width_is_told_one_that_fits(game, monkeypatch):
    """Before all frames are drawn; and the width that is told does fit."""
    monkeypatch.setattr(animation, "MOST_PIXELS", 100_000)
    seen = []
    with pytest.raises(PictureError, match="give a width of") as refused:
        animation.game_gif(game, 400, on_frame=seen.append)
    assert seen == []
    animation.game_gif(game, int(str(refused.value).split()[-3]))


def test_an_animation_replaces_only_animations(game, tmp_path):
    saved = tmp_path / "game.json"
    game.save(saved)
    before = saved.read_bytes()
    with pytest.raises(RecordError, match="is not a GIF"):
        game.animate(saved)
    assert saved.read_bytes() == before
    for _ in range(2):
        game.animate(tmp_path / "game.gif", 100)
    with pytest.raises(RecordError, match="not a regular file"):
        game.animate(tmp_path, 100)
