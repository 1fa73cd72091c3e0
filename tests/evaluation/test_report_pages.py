"""Report pages for people: wide tables scroll, dark mode is dark, rules are stated, a profile has one color."""

from pathlib import Path
from typing import Any

import pytest

from evaluation.report.page import caveats, report_page

pytest.importorskip("matplotlib")

from agents.runtime.colors import POLICIES, SERIES, policy_colors
from evaluation.report.figures import as_svg, draw
from evaluation.report.report_folder import read_study
from evaluation.tables.rules_text import rules_text
from welfare_env import Rules

LEADERBOARD = Path(__file__).resolve().parents[2] / "docs" / "leaderboard"


@pytest.fixture
def study() -> dict[str, Any]:
    return read_study(LEADERBOARD)


def test_figures_take_the_colors_of_the_page(study: dict[str, Any]) -> None:
    svg = as_svg(draw(study, 0), 'A "title"')
    assert svg.startswith('<svg role="img" aria-label="A &quot;title&quot;" fill="currentColor"')
    assert "#ffffff" not in svg
    assert "#000000" not in svg


def test_axes_begin_at_zero_and_say_their_units(study: dict[str, Any]) -> None:
    for number in range(len(study["figures"])):
        for axis in draw(study, number).axes:
            assert axis.get_ylim()[0] <= 0
            assert "a year" in axis.get_ylabel().replace("\n", " ")
            assert "_" not in axis.get_ylabel() + axis.get_xlabel()


def test_points_at_swept_values_say_what_is_swept(study: dict[str, Any]) -> None:
    conditions = [{**each, "swept": {"force_of_all": number}} for number, each in enumerate(study["conditions"])]
    figures = [{**study["figures"][0], "kind": "points", "x": name} for name in ("profile", "force_of_all")]
    drawn = [draw({**study, "conditions": conditions, "figures": figures}, number) for number in range(2)]
    assert [each.axes[-1].get_xlabel() for each in drawn] == ["", "force of all"]


def test_a_profile_has_one_color_in_all_figures(study: dict[str, Any]) -> None:
    across, against = draw(study, 0).axes[0], draw(study, 1).axes[0]
    points = [
        line.get_color() for line in across.get_lines() if len(line.get_xdata()) and line.get_linestyle() == "None"
    ]
    assert list(dict.fromkeys(points)) == [bars[0].get_color() for bars in against.containers] == list(SERIES[:3])


def test_known_policies_keep_their_colors() -> None:
    colors = policy_colors(["mine", "dove", "prosocial", *"abcdefgh"])
    assert colors["dove"] == POLICIES["dove"]
    assert POLICIES["dove"] not in [colors[name] for name in ("mine", *"abcdefgh")]


def test_every_option_of_the_rules_is_told() -> None:
    usual = Rules()
    other = {"variant": "standard", "years": 7, "press": None, "message_rounds": 5, "scoring": "draw-size"}
    for name, value in Rules(years=2, progressive=(1, 2)).to_dict().items():
        changed = other.get(name, [1, 2] if name == "progressive" else True)
        assert rules_text({name: changed}) != rules_text(usual.to_dict()), (name, value)


def test_every_element_is_closed():
    page = report_page(read_study(Path(__file__).parents[2] / "docs" / "leaderboard"))
    for tag in ("table", "tr", "div", "p", "ul", "small"):
        assert page.count(f"<{tag}>") + page.count(f"<{tag} ") == page.count(f"</{tag}>"), tag


def test_a_page_of_stubs_says_so():
    told = " ".join(caveats(read_study(Path(__file__).parents[2] / "docs" / "leaderboard")))
    assert "stub with invented replies" in told
    assert "Promises are found" in told
