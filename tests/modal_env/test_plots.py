"""Pictures of evolving populations: what is drawn is what was computed."""

import io
from fractions import Fraction

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from modal_env.cli import plots
from modal_env.dynamics.basins import Estimate, PowerLaw
from modal_env.dynamics.growth import growth
from modal_env.dynamics.replicator import Trajectory, replicator
from modal_env.games.game import Game
from modal_env.logic.library import POST, JustBot
from modal_env.pictures.style import PALETTE

FACE = ("CooperateBot", "FairBot", "PrudentBot")


@pytest.fixture(scope="module")
def paths() -> list[Trajectory]:
    game = Game(POST, "1/10")
    starts = ([0.25] * 4, [0.01, 0.97, 0.01, 0.01])
    return [replicator(game, start, 300, times=np.linspace(0, 300, 301).tolist()) for start in starts]


def labels(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.axes[0].get_legend().get_texts()]


def can_be_saved(figure: Figure) -> bool:
    written = io.BytesIO()
    figure.savefig(written, format="png")
    return written.getvalue().startswith(b"\x89PNG")


def test_a_simplex_has_every_path_and_mark(paths: list[Trajectory]) -> None:
    e = Fraction(1, 10)
    figure = plots.simplex(paths, FACE, marks={"good mix": [e, 0, 1 - 3 * e / 2, e / 2]}, title="a title")
    assert sorted(labels(figure)) == ["good mix", "not taken over", "start of a path", "taken over by DefectBot"]
    corner = {text.get_text(): text.get_position() for text in figure.axes[0].texts}
    assert set(corner) >= {*FACE, "DefectBot"}
    drawn = [line.get_xydata() for line in figure.axes[0].get_lines() if len(line.get_xydata()) == 301]
    assert min(path[-1][1] for path in drawn) == pytest.approx(corner["DefectBot"][1] + 0.03)
    assert any(np.allclose(path[0], (0.5, 0.05)) for path in drawn)  # equal shares: the mean of the corners
    assert can_be_saved(figure)


def test_others_share_the_lower_corner() -> None:
    path = replicator(Game((*POST, JustBot), "1/10"), [0.2] * 5, 10)
    assert "all others" in {text.get_text() for text in plots.simplex([path], FACE).axes[0].texts}


def test_shares_as_bands_and_as_logarithms(paths: list[Trajectory]) -> None:
    figure = plots.shares_over_time(paths[0])
    assert labels(figure) == [agent.name for agent in reversed(POST)]
    assert can_be_saved(figure)
    lines = plots.shares_over_time(paths[0], log_shares=True).axes[0].get_lines()
    assert [line.get_color() for line in lines] == list(PALETTE[:4])
    np.testing.assert_allclose(lines[1].get_ydata(), paths[0].log_shares[:, 1] / np.log(10))


def test_agents_beyond_the_eighth_look_different() -> None:
    size = 20
    matrix = [[int(i == j) * (i + 1) for j in range(size)] for i in range(size)]
    bands = plots.shares_over_time(replicator(matrix, [Fraction(1, size)] * size, 1)).axes[0].collections
    assert len({(*band.get_facecolor()[0], band.get_hatch()) for band in bands}) == size


def test_basins_with_fit_and_theory() -> None:
    shares = [Estimate(0.03, 0.029, 0.031), Estimate(0.0003, 0.00029, 0.00031)]
    law = PowerLaw(3.0, Estimate(2.0, 1.9, 2.1))
    prices = [Fraction(1, 10), Fraction(1, 100)]
    figure = plots.basin_over_epsilon(prices, shares, law, curves={"theory": lambda e: 3 * e**2})
    assert labels(figure) == ["fit: 3 ε^2.000 (exponent 1.900 to 2.100)", "theory", "simulated, with 95% interval"]
    assert can_be_saved(figure)


def test_growth_beyond_any_float() -> None:
    figure = plots.growth_shares(growth(Game(POST, "1/10"), [1, 1, 1, 1], 10**400))
    assert figure.axes[0].get_xlim()[1] == pytest.approx(400)
    assert can_be_saved(figure)
