"""Pictures of results: well-formed markup that says what was computed; whatever a name holds is text."""

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import modal_env
from modal_env.cli.commands import app
from modal_env.cli.page import library_page
from modal_env.dynamics.replicator import Trajectory
from modal_env.pictures.curves import bands, largest, simplex
from modal_env.pictures.style import PALETTE, notebook
from modal_env.pictures.tables import match, matrix, number, rows
from tools.browser import Browser, chromium

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = (
    "</style><script>document.title = 'hacked'</script>",
    '"><img src=x onerror="document.title = 1">',
    "]]><!-- &amp; &lt;b&gt; <svg onload=alert(1)>",
    "<a href='javascript:alert(1)'>click</a>",
    "\u202eright to left",
    "\x00\x08\x1b\ufffe\ud800 {style} %s $x$",
    "x" * 100_000,
)
NAMES = st.one_of(st.text(min_size=1, max_size=60), st.sampled_from(HOSTILE))


def read(markup: str) -> ET.Element:
    """The root of an element; only well-formed markup that can be written has one."""
    return ET.fromstring(markup.removeprefix("<!DOCTYPE html>").encode())  # noqa: S314 (our own)


def cells(root: ET.Element, path: str) -> list[list[str]]:
    """The texts of a table's rows."""
    return [["".join(cell.itertext()) for cell in row] for row in root.iterfind(path)]


def post(epsilon: str = "1/10") -> modal_env.ProgramGame:
    return modal_env.ProgramGame(modal_env.POST, epsilon)


def renamed(names) -> list[modal_env.Agent]:
    return [agent.renamed(name) for agent, name in zip(modal_env.POST, names, strict=False)]


@pytest.fixture(scope="module")
def path() -> Trajectory:
    return modal_env.replicator(post(), [0.25] * 4, 1000)


@pytest.fixture(scope="module")
def drawn() -> str:
    return library_page(post(), 1000.0)


class TestTables:
    def test_a_tournament_shows_both_moves(self) -> None:
        root = read(modal_env.tournament(modal_env.POST)._repr_html_())
        assert cells(root, ".//thead/tr") == [["", "CooperateBot", "DefectBot", "FairBot", "PrudentBot"]]
        assert cells(root, ".//tbody/tr") == [
            ["CooperateBot", "CC", "CD", "CC", "CD"],
            ["DefectBot", "DC", "DD", "DD", "DD"],
            ["FairBot", "CC", "DD", "CC", "CC"],
            ["PrudentBot", "DC", "DD", "CC", "CC"],
        ]

    def test_a_coin(self) -> None:
        root = read(modal_env.tournament(["RandomBot", "FairBot"])._repr_html_())
        assert cells(root, ".//tbody/tr") == [["RandomBot", "??", "?D"], ["FairBot", "D?", "CC"]]
        assert "a coin is tossed" in "".join(root.itertext())

    def test_a_game_shows_payoffs_and_best_replies(self) -> None:
        game = post()
        root = read(game._repr_html_())
        assert cells(root, ".//tbody/tr")[3] == ["PrudentBot", "DC14/5", "DD4/5", "CC9/5", "CC9/5"]
        found = [
            {row for row, line in enumerate(root.iterfind(".//tbody/tr")) if "best" in line[column].get("class", "")}
            for column in range(1, 5)
        ]
        names = [{game.names.index(reply.name) for reply in game.best_replies(name)} for name in game.names]
        assert found == names

    def test_every_cell_has_the_color_of_its_letters(self) -> None:
        root = read(modal_env.tournament(list(modal_env.LIBRARY.values()))._repr_html_())
        for cell in root.iterfind(".//tbody//td"):
            pair = "".join(cell.itertext())
            assert cell.get("class") == ("coin" if "?" in pair else pair)

    def test_a_match_world_by_world(self) -> None:
        root = read(modal_env.play("CooperateBot", "PrudentBot")._repr_html_())
        assert cells(root, ".//thead/tr") == [["world", "0", "1", "2 on"]]
        assert cells(root, ".//tbody/tr") == [["CooperateBot", "C", "C", "C"], ["PrudentBot", "C", "C", "D"]]

    @pytest.mark.parametrize("worlds", [None, 1, 2, 500])
    def test_a_long_match_has_a_gap(self, worlds: int | None) -> None:
        late = modal_env.WaitFairBot(60)
        outcome = modal_env.play(late, late, worlds)
        ((first, *middle, last), _) = cells(read(outcome._repr_html_()), ".//tbody/tr")
        assert (first, last) == (late.name, outcome.moves[0])
        assert len(middle) <= 17
        assert middle[-1] == "\N{HORIZONTAL ELLIPSIS}"
        heads = cells(read(outcome._repr_html_()), ".//thead/tr")[0]
        assert (len(heads), heads[-1]) == (len(middle) + 2, f"{outcome.settles} on")

    def test_basins(self) -> None:
        found = modal_env.basins(post(), 500)
        ((agent, count, share), (kind, rest, _)) = cells(read(found._repr_html_()), ".//tbody/tr")
        assert (agent, int(count), share) == ("DefectBot", found.ends["DefectBot"], str(found.share("DefectBot")))
        assert (kind, int(rest)) == ("elsewhere", found.elsewhere)

    @pytest.mark.parametrize(
        ("value", "text"),
        [(Fraction(19, 10), "19/10"), (Fraction(-10_000_001, 10**7), "-1.000"), (Fraction(10**330), "1.000e+330")],
    )
    def test_long_numbers_are_rounded(self, value: Fraction, text: str) -> None:
        assert number(value) == text


class TestCurves:
    def test_a_path_starts_and_ends_where_the_population_does(self) -> None:
        shares = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
        root = read(simplex(["A", "B", "C"], (0, 1, 2), shares))
        (line,) = [one for one in root.iter(f"{SVG}path") if one.get("class") == "route"]
        assert line.get("d") == "M50.0 370.0L430.0 370.0L240.0 41.0"

    def test_corners_have_the_colors_of_the_bands(self, path: Trajectory) -> None:
        drawn = {dot.get("fill") for dot in read(path._repr_svg_()).iter(f"{SVG}circle")}
        assert drawn >= set(PALETTE[:4])

    @pytest.mark.parametrize("size", [1, 2, 3, 8, 9, 20])
    def test_bands_fill_the_whole_height(self, size: int) -> None:
        rng = np.random.default_rng(0)
        shares = rng.dirichlet(np.ones(size), 30)
        root = read(bands([f"B{agent}" for agent in range(size)], np.arange(30.0), shares))
        outlines = [
            np.array([pair.split(",") for pair in one.get("points", "").split()], float)
            for one in root.iter(f"{SVG}polygon")
        ]
        assert len(outlines) == min(size, 8)
        assert outlines[0][:, 1].max() == 192
        assert outlines[-1][:, 1].min() == 12
        assert ("all others" in "".join(root.itertext())) == (size > 8)

    def test_the_largest_keep_their_sequence(self) -> None:
        assert largest(np.array([[0.1, 0.4, 0.2, 0.3], [0.6, 0.0, 0.2, 0.2]])) == (0, 1, 3)


class TestHostileNames:
    @given(names=st.lists(NAMES, min_size=4, max_size=4), caption=NAMES)
    @settings(max_examples=60, deadline=None)
    def test_pictures_are_well_formed_and_names_are_text(self, names: list[str], caption: str) -> None:
        shares = np.array([[0.25] * 4, [0.1, 0.2, 0.3, 0.4]])
        ones = [[Fraction(1)] * 4] * 4
        known = read(notebook(matrix("c", list("ABCD"), ["C" * 4] * 4, ones), rows("c", ["h"], [["x"]])))
        root = read(notebook(matrix(caption, names, ["C" * 4] * 4, ones), rows(caption, [names[0]], [[names[1]]])))
        assert [one.tag for one in root.iter()] == [one.tag for one in known.iter()]
        read(match((names[0], names[1]), ((True, None),) * 3, 1, ("C", "?")))
        for drawn in (simplex(names, (0, 1, 2), shares), bands(names, np.arange(2.0), shares)):
            assert {one.tag.removeprefix(SVG) for one in read(drawn).iter()} <= {
                *("svg", "rect", "path", "circle", "polygon", "g", "text", "title")
            }

    def test_the_page_of_hostile_agents(self) -> None:
        drawn = library_page(modal_env.ProgramGame(renamed(HOSTILE), "1/10"), 100.0)
        assert "<script" not in drawn
        read(drawn)
        assert len(drawn) < 200_000


class TestPage:
    def test_it_has_all_parts(self, drawn: str) -> None:
        text = " ".join("".join(one.itertext()) for one in read(drawn).iter("section"))
        for part in ("CC19/10", "CooperateBot 1/10, FairBot 17/20, PrudentBot 1/20", "world012 on"):
            assert part in text

    def test_nothing_is_allowed_but_its_own_style(self, drawn: str) -> None:
        root = read(drawn)
        (policy,) = [meta.get("content", "") for meta in root.iter("meta") if meta.get("http-equiv")]
        assert re.fullmatch(
            r"default-src 'none'; style-src 'sha256-[\w+/]{43}='; base-uri 'none'; form-action 'none'", policy
        )
        assert not [one for one in root.iter() if "style" in one.attrib or one.tag in ("script", "link", "img")]
        assert not re.search(r"(?:src|href)=|url\(|@import", drawn)

    @pytest.mark.parametrize("size", [1, 2, 3])
    def test_small_libraries(self, size: int) -> None:
        read(library_page(modal_env.ProgramGame(modal_env.POST[:size], "1/10"), 10.0))

    def test_a_large_library(self) -> None:
        agents = dict.fromkeys(modal_env.LIBRARY.values())
        drawn = library_page(modal_env.ProgramGame(agents, "1/10"), 50.0)
        assert "Not computed for more than 10 agents" in drawn
        assert "These 24 of" in drawn
        assert read(drawn).find(".//*[@class='matches']").__len__() == 24

    def test_the_command_writes_it(self, drawn: str, tmp_path: Path) -> None:
        out = tmp_path / "page.html"
        done = CliRunner().invoke(app, ["page", "-o", str(out)])
        assert (done.exit_code, done.stdout) == (0, f"{out}\n")
        assert out.read_text("utf-8") == drawn

    @pytest.mark.parametrize("option", [["--time", "-1"], ["--epsilon", "-1"], ["--cost", "x"], ["FB", "FairBot"]])
    def test_wrong_input_leaves_no_file(self, option: list[str], tmp_path: Path) -> None:
        done = CliRunner().invoke(app, ["page", *option, "-o", str(tmp_path / "page.html")])
        assert (done.exit_code, list(tmp_path.iterdir())) == (2, [])


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.skipif(chromium() is None, reason="needs Chromium (Debian: apt install chromium)")
@pytest.mark.parametrize("width", [1280, 390])
def test_a_browser_shows_it_without_complaint(width: int, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(library_page(modal_env.ProgramGame(renamed(HOSTILE), "1/10"), 100.0), "utf-8")
    with Browser() as browser:
        browser.look(width, 800, mobile=width < 600)
        browser.open(tmp_path / "page.html")
        assert (browser.complaints, browser.requests) == ([], [])
        assert browser.ask("document.title").startswith("Modal combat: </style><script>")
        assert browser.ask("document.documentElement.scrollWidth") <= width
        assert browser.ask("getComputedStyle(document.querySelector('td.CC')).backgroundColor") == "rgb(0, 114, 178)"
