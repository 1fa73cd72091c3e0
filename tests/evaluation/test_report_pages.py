"""Report pages for people, and the table of models: what it measures, its page, and the stub models that show it."""

import json
from pathlib import Path
from typing import Any

import pytest

import evaluation
import welfare_env
from agents.lm.reading.parsing import reply_schema
from agents.lm.stub.replies import babbler, pacifist, raider
from evaluation import GameSpec
from evaluation.experiment_files.description import load_experiment, parse_experiment
from evaluation.messages.analysis import analyze_messages
from evaluation.report.page import caveats, markdown_table, report_page
from evaluation.report.report_folder import LEADERBOARD, PAGE, leaderboard, read_study, write_results
from evaluation.tables.rules_text import option_sentences, rules_text
from welfare_env import Game, Rules

pytest.importorskip("matplotlib")

from agents.runtime.colors import POLICIES, SERIES, policy_colors
from evaluation.report.figures import as_svg, draw

SHIPPED = Path(__file__).resolve().parents[2] / "docs" / "leaderboard"


@pytest.fixture
def study() -> dict[str, Any]:
    return read_study(SHIPPED)


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


def test_points_say_what_is_swept_and_stand_side_by_side_around_their_category(study: dict[str, Any]) -> None:
    conditions = [{**each, "swept": {"force_of_all": number}} for number, each in enumerate(study["conditions"])]
    figures = [{**study["figures"][0], "kind": "points", "x": name} for name in ("profile", "force_of_all")]
    drawn = [draw({**study, "conditions": conditions, "figures": figures}, number) for number in range(2)]
    assert [each.axes[-1].get_xlabel() for each in drawn] == ["", "force of all"]
    for figure in drawn:
        at = [bars[0].get_xdata()[0] - number for number, bars in enumerate(figure.axes[0].containers)]
        assert at == pytest.approx([-0.2, 0, 0.2])


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


def test_every_option_of_an_experiment_is_told(study: dict[str, Any]) -> None:
    usual = study | {"measure": ["exploitability", "red-team"]}
    others = {"deviators": ["pact"], "selection_games": 77, "budget": "short", "template": "noisy:of={profile}"}
    for name, other in (others | dict.fromkeys(("paper_code", "simultaneous", "coordinated"), True)).items():
        assert [*option_sentences(usual | {name: other})] != [*option_sentences(usual)], name


def test_every_element_is_closed(study: dict[str, Any]) -> None:
    page = report_page(study)
    for tag in ("table", "tr", "div", "p", "ul", "small"):
        assert page.count(f"<{tag}>") + page.count(f"<{tag} ") == page.count(f"</{tag}>"), tag


def test_a_page_of_stubs_says_so(study: dict[str, Any]) -> None:
    told = " ".join(caveats(study))
    assert all(words in told for words in ("stub with invented replies", "Promises are found", "a lower bound"))


# The table of models

SMALL = """
title = "Small"
measure = ["self-play", "exploitability"]
leaderboard = true
map_name = "clique:3"
profiles = ["lm:scripted/raider", "lm:scripted/pacifist"]
deviators = ["exploiter:nice={policy},attack=dumbbot"]
games = 2

[rules]
years = 1
message_rounds = 1

[[figures]]
kind = "scatter"
x = "exploitability"
y = "root_nash_welfare"
"""
RULES = Rules(years=1, message_rounds=1)


@pytest.fixture(scope="module")
def result() -> evaluation.ExperimentResult:
    return evaluation.experiment(parse_experiment(SMALL, "small"))


class TestMeasures:
    def test_are_those_of_both_evaluations(self, result: evaluation.ExperimentResult) -> None:
        condition = result.conditions[0]
        measures, (alone, attacked) = condition.measures, (cell.result for cell in condition.cells)
        assert measures["proficiency"] == alone.proficiency
        assert measures["exploitability"] == attacked.value
        shares = tuple(analyze_messages(record).kept_share() for record in alone.records)
        assert measures["kept_promises"].per_game == shares
        used = alone.usage
        assert sum(measures["tokens_per_game"].per_game) == used.input_tokens + used.output_tokens > 0
        assert measures["dollars_per_game"].value == 0

    def test_of_players_that_are_no_language_models(self, played: list[GameSpec]) -> None:
        """They have no tokens and promises; and games of self-play are played once."""
        small = SMALL.replace('"lm:scripted/raider", "lm:scripted/pacifist"', '"hold"')
        (condition,) = evaluation.experiment(parse_experiment(small)).to_dict()["conditions"]
        for name in ("kept_promises", "tokens_per_game", "dollars_per_game"):
            assert condition["measures"][name]["value"] is None
        assert len(played) == len(set(played)) > 2


class TestPage:
    def test_is_written_with_the_results_by_welfare(self, result: evaluation.ExperimentResult, tmp_path: Path) -> None:
        write_results(result, tmp_path)
        written = (tmp_path / LEADERBOARD).read_text()
        assert written == leaderboard(read_study(tmp_path))
        assert written.index("pacifist") < written.index("raider")
        assert f"| {welfare_env.__version__} |" in written
        assert len(list((tmp_path / "replays").iterdir())) == 4

    def test_cells_are_no_markup(self) -> None:
        table = markdown_table(["a"], [["x | <b>*y*</b> [z](w) `q` $1"]])
        assert table.splitlines()[2] == r"| x \| \<b\>\*y\*\</b\> \[z\](w) \`q\` \$1 |"

    def test_the_shipped_one_is_made_of_its_numbers(self, study: dict[str, Any]) -> None:
        assert (SHIPPED / LEADERBOARD).read_text() == leaderboard(study)
        assert "<th scope=row></th>" not in (SHIPPED / PAGE).read_text()  # screen readers stumble over empty heads
        chosen = load_experiment("models")
        assert {condition["profile"] for condition in study["conditions"]} >= set(chosen.profiles)
        assert "<th scope=row></th>" not in report_page(study)


def test_what_the_stub_models_order() -> None:
    spring = Game(rules=RULES)
    winter = Game.from_position("W1901A", {"FRANCE": ["A PAR"]}, {"FRANCE": ["PAR", "MAR"]})
    in_spring, in_winter = (reply_schema(game.view("FRANCE", "messages", 1)) for game in (spring, winter))

    def orders(answer: Any, schema: Any) -> dict[str, str]:
        return dict(json.loads(answer("JSON", schema))["orders"])

    assert orders(pacifist, in_spring) == {"F BRE": "F BRE H", "A MAR": "A MAR H", "A PAR": "A PAR H"}
    assert orders(pacifist, in_winter) == {"A PAR": "A PAR D"}
    assert all(" - " in order for order in orders(raider, in_spring).values())
    assert list(orders(raider, in_winter).values()) in (["A MAR B"], ["F MAR B"])
    assert any("A ATLANTIS - MOON" in babbler(f"JSON {number}", in_spring) for number in range(6))
