"""Pictures of evolving populations: what is drawn is what was computed; wrong input is told."""

import io
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.figure import Figure

from modal_env.cli import plots
from modal_env.dynamics.basins import Estimate, PowerLaw
from modal_env.dynamics.courses import Course
from modal_env.dynamics.replicator import Trajectory, growth, replicator
from modal_env.errors import GameError
from modal_env.games.game import Game
from modal_env.logic.library import POST, JustBot
from modal_env.pictures.style import PALETTE

FACE = ("CooperateBot", "FairBot", "PrudentBot")
LAW = PowerLaw(3.0, Estimate(2.0, 1.9, 2.1))


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


class TestSimplex:
    def test_draws_every_path_and_mark(self, paths: list[Trajectory]) -> None:
        e = Fraction(1, 10)
        figure = plots.simplex(paths, FACE, marks={"good mix": [e, 0, 1 - 3 * e / 2, e / 2]}, title="a title")
        assert sorted(labels(figure)) == ["good mix", "not taken over", "start of a path", "taken over by DefectBot"]
        assert {text.get_text() for text in figure.axes[0].texts} >= {*FACE, "DefectBot"}
        assert figure.axes[0].get_title() == "a title"
        assert can_be_saved(figure)

    def test_a_population_stands_at_the_mean_of_its_corners(self, paths: list[Trajectory]) -> None:
        axes = plots.simplex(paths, FACE).axes[0]
        drawn = [line.get_xydata() for line in axes.get_lines() if len(line.get_xydata()) == 301]
        ends = sorted(tuple(path[-1].round(6)) for path in drawn)
        corner = {text.get_text(): text.get_position() for text in axes.texts}
        assert ends[0][0] == pytest.approx(corner["DefectBot"][0])
        assert ends[0][1] == pytest.approx(corner["DefectBot"][1] + 0.03)
        starts = [path[0] for path in drawn]
        assert any(np.allclose(start, (0.5, 0.05)) for start in starts)

    def test_others_share_the_lower_corner(self) -> None:
        game = Game((*POST, JustBot), "1/10")
        path = replicator(game, [0.2] * 5, 10)
        with_two = plots.simplex([path], ("CooperateBot", "DefectBot", "PrudentBot"))
        assert "all others" in {text.get_text() for text in with_two.axes[0].texts}

    def test_three_agents_leave_the_lower_corner_empty(self) -> None:
        path = replicator(Game(POST[:3], "1/10"), [0.2, 0.4, 0.4], 10)
        drawn = plots.simplex([path], ("CB", "DB", "FB"))
        assert {text.get_text() for text in drawn.axes[0].texts} == {*path.names, ""}

    def test_corners_by_short_name(self, paths: list[Trajectory]) -> None:
        texts = {text.get_text() for text in plots.simplex(paths, ("CB", "fairbot", "PB")).axes[0].texts}
        assert texts >= {*FACE, "DefectBot"}

    def test_the_title_tells_the_game(self, paths: list[Trajectory]) -> None:
        title = plots.simplex(paths, FACE).axes[0].get_title()
        assert title == "Replicator dynamics, epsilon 1/10, cost 'depth'"
        other = replicator(Game(POST, "1/5"), [0.25] * 4, 10)
        assert plots.simplex([*paths, other], FACE).axes[0].get_title() == "Replicator dynamics"

    @pytest.mark.parametrize("corners", [("FairBot", "FairBot", "PrudentBot"), ("FB", "FairBot", "PB"), ("FB",), "FB"])
    def test_corners(self, paths: list[Trajectory], corners: tuple[str, str, str]) -> None:
        with pytest.raises(GameError, match="three different agents of CooperateBot, DefectBot"):
            plots.simplex(paths, corners)

    def test_unknown_corners(self, paths: list[Trajectory]) -> None:
        with pytest.raises(GameError, match="agent 'NoBot' is not among CooperateBot, DefectBot"):
            plots.simplex(paths, ("FairBot", "NoBot", "PrudentBot"))

    def test_trajectories(self, paths: list[Trajectory]) -> None:
        with pytest.raises(GameError, match="all of the same"):
            plots.simplex([], FACE)
        with pytest.raises(GameError, match="all of the same"):
            plots.simplex([*paths, replicator([[1]], [1], 1)], FACE)

    def test_marks(self, paths: list[Trajectory]) -> None:
        with pytest.raises(GameError, match="2 shares"):
            plots.simplex(paths, FACE, marks={"bad": [0, 1]})
        with pytest.raises(GameError, match="five at most"):
            plots.simplex(paths, FACE, marks={str(i): [0, 1, 0, 0] for i in range(6)})


class TestShares:
    def test_bands_of_all_agents(self, paths: list[Trajectory]) -> None:
        figure = plots.shares_over_time(paths[0], log_time=True)
        assert labels(figure) == [agent.name for agent in reversed(POST)]
        assert figure.axes[0].get_xscale() == "log"
        assert figure.axes[0].get_xlim() == (1, 300)
        assert can_be_saved(figure)

    def test_agents_have_the_colors_of_the_pages(self, paths: list[Trajectory]) -> None:
        lines = plots.shares_over_time(paths[0], log_shares=True).axes[0].get_lines()
        assert [line.get_color() for line in lines] == list(PALETTE[:4])
        taken = plots.simplex(paths, FACE).axes[0].get_lines()
        assert {line.get_color() for line in taken if line.get_label() == "taken over by DefectBot"} == {PALETTE[1]}

    def test_lines_of_logarithms(self, paths: list[Trajectory]) -> None:
        lines = plots.shares_over_time(paths[0], log_shares=True).axes[0].get_lines()
        assert [line.get_label() for line in lines] == [agent.name for agent in POST]
        np.testing.assert_allclose(lines[1].get_ydata(), paths[0].log_shares[:, 1] / np.log(10))

    @pytest.mark.slow
    def test_the_logarithmic_axis_ends_where_it_is_told_to(self) -> None:
        path = replicator(Game(POST, "1/10"), [0.25] * 4, 1e5)
        lowest = path.log_shares.min() / np.log(10)
        assert lowest < -300
        assert plots.shares_over_time(path, log_shares=True).axes[0].get_ylim()[0] == pytest.approx(-12)
        assert plots.shares_over_time(path, log_shares=True, least=1e-50).axes[0].get_ylim()[0] == pytest.approx(-50)
        assert plots.shares_over_time(path, log_shares=True, least=0).axes[0].get_ylim()[0] < lowest

    @pytest.mark.parametrize("least", [-1, 1, "1e-12", None, float("nan")])
    def test_least(self, paths: list[Trajectory], least: object) -> None:
        with pytest.raises(GameError, match=r"least=.* give a share from 0 to 0.1"):
            plots.shares_over_time(paths[0], log_shares=True, least=least)

    def test_lines_of_twins_are_told_apart(self) -> None:
        path = replicator(Game((*POST, JustBot), "1/10"), [0.2] * 5, 50)
        lines = {line.get_label(): line for line in plots.shares_over_time(path, log_shares=True).axes[0].get_lines()}
        first, second = lines["FairBot"], lines["JustBot"]
        np.testing.assert_allclose(first.get_ydata(), second.get_ydata(), atol=1e-9)
        assert first.get_color() != second.get_color()
        assert (first.is_dashed(), second.is_dashed()) == (False, True)

    def test_agents_beyond_the_eighth_look_different(self) -> None:
        size = 20
        matrix = [[int(i == j) * (i + 1) for j in range(size)] for i in range(size)]
        path = replicator(matrix, [Fraction(1, size)] * size, 1)
        lines = plots.shares_over_time(path, log_shares=True).axes[0].get_lines()
        assert len({(line.get_color(), line.get_linestyle()) for line in lines}) == size
        bands = plots.shares_over_time(path).axes[0].collections
        assert len({(*band.get_facecolor()[0], band.get_hatch()) for band in bands}) == size

    def test_the_title_tells_the_game(self, paths: list[Trajectory]) -> None:
        drawn = [plots.shares_over_time(paths[0], title=title).axes[0].get_title() for title in (None, "mine", "")]
        assert drawn == ["Replicator dynamics, epsilon 1/10, cost 'depth'", "mine", ""]

    def test_a_logarithmic_axis_of_time_needs_a_time(self) -> None:
        path = replicator(Game(POST, "1/10"), [0.25] * 4, 5, times=[0])
        with pytest.raises(GameError, match="above 0"):
            plots.shares_over_time(path, log_time=True)

    def test_absent_agents_have_no_logarithm(self) -> None:
        path = replicator(Game(POST, "1/10"), [0.5, 0, 0.5, 0], 50)
        lines = plots.shares_over_time(path, log_shares=True).axes[0].get_lines()
        assert [line.get_label() for line in lines] == ["CooperateBot", "FairBot"]


class TestBasins:
    def test_points_fit_and_theory(self) -> None:
        epsilons, shares = [0.1, 0.01], [Estimate(0.03, 0.029, 0.031), Estimate(0.0003, 0.00029, 0.00031)]
        figure = plots.basin_over_epsilon(epsilons, shares, LAW, curves={"theory": lambda e: 3 * e**2})
        assert labels(figure) == ["fit: 3 ε^2.000 (exponent 1.900 to 2.100)", "theory", "simulated, with 95% interval"]
        fit = figure.axes[0].get_lines()[0]
        np.testing.assert_allclose(fit.get_ydata(), 3 * fit.get_xdata() ** 2)
        assert (figure.axes[0].get_xscale(), figure.axes[0].get_yscale()) == ("log", "log")
        assert can_be_saved(figure)

    @pytest.mark.parametrize(("epsilons", "shares"), [([], []), ([0.1], [])])
    def test_points(self, epsilons: list, shares: list) -> None:
        with pytest.raises(GameError, match="the same number of each"):
            plots.basin_over_epsilon(epsilons, shares, LAW)


class TestGrowth:
    @pytest.mark.slow
    def test_sizes_beyond_any_float(self) -> None:
        figure = plots.growth_shares(growth(Game(POST, "1/10"), [1, 1, 1, 1], 10**400))
        assert figure.axes[0].get_xlim()[1] == pytest.approx(400)
        assert len(labels(figure)) == 4
        assert figure.axes[0].get_title() == "Best-reply growth, epsilon 1/10, cost 'depth'"
        assert can_be_saved(figure)


def test_matplotlib_is_loaded_when_a_picture_is_made() -> None:
    code = "import sys, modal_env.cli.plots; print(*sorted({'matplotlib', 'scipy'} & sys.modules.keys()))"
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


class TestCourses:
    @staticmethod
    def course(price: str) -> Course:
        times, shares = np.array([0.0, 1.0, 100.0]), np.array([[0.5, 0.49, 0.01], [0.2, 0.79, 0.01], [0.0, 0.99, 0.01]])
        terms = f"replicator, epsilon {price}, every agent equally often"
        return Course("replicator", ("A", "B", "C"), times, shares, np.array([0.2, 0.5, 0.9]), np.zeros(3), terms)

    def test_bands_and_cooperation(self) -> None:
        axes = plots.course(self.course("1/10")).axes[0]
        assert {text.get_text() for text in axes.get_legend().get_texts()} == {
            "A",
            "B",
            "others",
            "both cooperate (share)",
        }
        assert axes.lines[0].get_ydata().tolist() == [0.5, 0.9]  # a logarithmic axis has no time 0

    def test_a_line_for_each_price(self) -> None:
        axes = plots.cooperation_over_time([self.course("1/10"), self.course("1/4")]).axes[0]
        assert [line.get_label() for line in axes.lines] == ["ε = 1/10", "ε = 1/4"]
        assert axes.get_title() == "replicator, every agent equally often"
        with pytest.raises(GameError, match="give one at least"):
            plots.cooperation_over_time([])
