"""What the file of an experiment sets is what is played: options, several measures, and templates."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evaluation
from evaluation import ExperimentError
from evaluation.experiment_files import experiment
from evaluation.experiment_files.description import filled_template, parse_experiment
from evaluation.experiments.red_team import BUDGETS, AttackBudget
from evaluation.play.runner import Begun
from evaluation.report.report_folder import write_results
from evaluation.tables.rules_text import option_sentences
from welfare_env import Rules, WelfareEnvError

ROOT = Path(__file__).resolve().parents[2]
BASE = 'title = "T"\nprofiles = ["{profile}"]\nmap_name = "clique:3"\ngames = {games}\n'
QUICK = '[rules]\nyears = 2\npress = "none"\n'
RULES = Rules(years=2, press=None)


def measured(lines: str, profile: str = "random", games: int = 3, rules: str = QUICK) -> Any:
    """The result of the only cell of a file."""
    text = BASE.format(profile=profile, games=games) + lines + rules
    (condition,) = evaluation.experiment(parse_experiment(text)).conditions
    (cell,) = condition.cells
    return cell.result


def attacked(**options: Any) -> Any:
    return evaluation.exploitability(
        "dove", 3, **{"rules": RULES, "map_name": "clique:3", "selection_games": 3, **options}
    )


def played(**options: Any) -> Any:
    return evaluation.self_play("random", 3, **{"rules": RULES, "map_name": "clique:3", **options})


# Options


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("seed = 5\n", {"seed": 5}),
        ("paper_code = true\n", {"paper_code": True, "rules": Rules.published(years=2, press=None)}),
        ("simultaneous = true\n", {"simultaneous": True}),
    ],
)
def test_an_option_of_all_games_changes_what_is_played(lines: str, options: dict[str, Any]) -> None:
    assert measured(lines).to_dict() == played(**options).to_dict()
    key = [game.facts.key for game in measured(lines).measures]
    assert key != [game.facts.key for game in played().measures] or lines.startswith("paper_code")


def test_seats_and_map() -> None:
    fixed = measured('seats = "fixed"\n', "1*dove + 2*hold")
    assert [seats["PLAYERA"] for seats in fixed.seats] == ["dove"] * 3
    rotated = measured("", "1*dove + 2*hold")
    assert [seats["PLAYERA"] for seats in rotated.seats] != ["dove"] * 3
    assert fixed.map_name == "clique:3"


ATTACK = 'measure = "exploitability"\ncoalitions = ["all-pairs"]\n'
PACT = "pact:years=1"


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (f'{ATTACK}deviators = ["{PACT}"]\n', {"coalitions": "all-pairs", "deviator": [PACT]}),
        (
            f'{ATTACK}deviators = ["{PACT}"]\ncoordinated = true\n',
            {"coalitions": "all-pairs", "deviator": [PACT], "coordinated": True},
        ),
        (f"{ATTACK}selection_games = 1\n", {"coalitions": "all-pairs", "selection_games": 1}),
    ],
    ids=["deviators", "coordinated", "selection_games"],
)
def test_an_option_of_exploitability_changes_what_is_played(lines: str, options: dict[str, Any]) -> None:
    found = measured(lines, "dove").to_dict()
    assert found == attacked(**options).to_dict()
    usual = {name: options[name] for name in ("coalitions", "deviator") if name in options and options[name] != [PACT]}
    assert found != attacked(**usual).to_dict()


def test_the_seed_of_a_file_gives_way_to_the_callers() -> None:
    text = BASE.format(profile="random", games=1) + "seed = 5\n" + QUICK
    result = evaluation.experiment(parse_experiment(text), seed=6)
    assert result.seed == result.conditions[0].cells[0].result.seed == 6  # type: ignore[union-attr]


@pytest.mark.parametrize("profile", ["no-such", "9*dove", "rl:nowhere"])
def test_exact_gains_are_checked_before_any_game(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.exact.best_response", lambda *_: pytest.fail("it was computed"))
    text = BASE.format(profile="dove", games=1) + 'measure = "exact"\n' + QUICK
    with pytest.raises(WelfareEnvError):
        evaluation.experiment(parse_experiment(text), profiles=[profile])


@pytest.mark.parametrize(
    ("name", "number"),
    re.findall(r"experiment ([\w-]+)[^`]*` \| (\d+) \|", (ROOT / "docs/howto/paper-experiments.md").read_text()),
)
def test_the_page_of_the_papers_experiments_says_how_many_games_they_play(name: str, number: str) -> None:
    profiles = ["lm:scripted/stub"] if name in ("ablations", "message-rounds") else ()
    chosen = experiment.read_experiment(name, profiles)
    assert Begun(*experiment.measurements(chosen).values()).most == int(number)


def test_seats_that_cross_play_cannot_balance() -> None:
    text = BASE.format(profile="hold", games=4).replace('"]', '", "dove"]')
    with pytest.raises(ExperimentError, match="games=4: seats rotate, so give a multiple of 3"):
        parse_experiment(text + 'measure = "cross-play"\n')


# Several measures

ALL = """
measure = ["self-play", "exploitability", "red-team", "cross-play", "exact"]
coalitions = ["all-singles"]
budget = "quick"
[rules]
years = 1
press = "none"
[[figures]]
y = ["root_nash_welfare", "exploitability", "red_team", "points_among_others", "exact_gain"]
"""
EVERYTHING = BASE.format(profile="prosocial", games=3).replace('"]', '", "hold"]') + ALL


@pytest.fixture(scope="module", autouse=True)
def small_red_team() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(BUDGETS, "quick", AttackBudget(selection_games=1, sizes=(1,), most=1))
        yield


@pytest.mark.slow
def test_every_measure_is_what_its_function_gives(tmp_path: Path) -> None:
    everything = evaluation.experiment(parse_experiment(EVERYTHING))
    _, hold = everything.conditions
    options: dict[str, Any] = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}
    cross = evaluation.cross_play(["prosocial", "hold"], 3, **options)
    assert hold.measures["root_nash_welfare"] == evaluation.self_play("hold", 3, **options).root_nash_welfare
    attack = evaluation.exploitability("hold", 3, selection_games=3, coalitions="all-singles", **options)
    assert hold.measures["exploitability"] == attack.value
    assert hold.measures["red_team"] == evaluation.red_team("hold", "quick", games=3, **options).value
    assert hold.measures["points_among_others"] == cross.mixed_payoffs["hold"]
    assert hold.measures["exact_gain"].value == 2
    write_results(everything, tmp_path)
    assert len(list((tmp_path / "replays").iterdir())) == 6


# Templates


@pytest.mark.parametrize(
    ("template", "profile", "words", "made"),
    [
        ("{profile},ablate={a}", "(lm:x/y,effort=low)", {"a": "all"}, "lm:x/y,effort=low,ablate=all"),
        ("{profile},share={a}", "dove", {"a": "0.5"}, "dove:share=0.5"),
        ("{profile},k={a}", "4*lm:x/y + 3*lm:z/w,b=1", {"a": "2"}, "4*(lm:x/y,k=2) + 3*(lm:z/w,b=1,k=2)"),
        (
            "exploiter:nice={profile},attack={a}",
            "exploiter:nice=dove,attack=random",
            {"a": "pact:years=1,units=2"},
            "exploiter:nice=(exploiter:nice=dove,attack=random),attack=(pact:years=1,units=2)",
        ),
        ("exploiter:nice=({profile}),attack=hold", "dove:share=1", {}, "exploiter:nice=(dove:share=1),attack=hold"),
    ],
)
def test_templates(template: str, profile: str, words: dict[str, str], made: str) -> None:
    assert filled_template(template, profile, words) == made


# In words


def test_a_coordinated_attack_is_told():
    study = {
        "paper_code": False,
        "simultaneous": False,
        "measure": ["exploitability"],
        "deviators": ["pact"],
        "coordinated": True,
        "selection_games": 1,
        "template": "{profile}",
    }
    assert "Deviators: pact; one policy plays all members" in " ".join(option_sentences(study))
