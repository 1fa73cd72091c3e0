"""Experiments as files: what they read, what they play (options, several measures, templates), and their reports."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaluation
from evaluation import ExperimentError, GameStore
from evaluation.checks import EvaluationError
from evaluation.experiment_files import experiment
from evaluation.experiment_files.description import (
    filled_template,
    load_experiment,
    parse_experiment,
    shipped_experiments,
)
from evaluation.experiments.red_team import BUDGETS, AttackBudget
from evaluation.play import runner
from evaluation.play.runner import Begun
from evaluation.report.figures import _bars, draw
from evaluation.report.page import report_page
from evaluation.report.report_folder import read_study, write_figures, write_results
from tests.evaluation.conftest import call
from welfare_env import Rules, UnknownAgentError, WelfareEnvError

ROOT = Path(__file__).resolve().parents[2]
SMALL = """
title = "Small"
question = "Does it work?"
profiles = ["dove", "4*hold + 3*random"]
games = 2

[rules]
press = "none"

[sweep]
years = [1, 2]

[[figures]]
kind = "lines"
x = "years"
y = ["root_nash_welfare", "conflicts"]

[[figures]]
kind = "points"
x = "profile"
y = "proficiency"
published = "self_play"

[[figures]]
kind = "years"
y = "units_by_year"

[[figures]]
kind = "scatter"
x = "conflicts"
y = "root_nash_welfare"
published = "self_play"
"""


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    return evaluation.experiment(parse_experiment(SMALL, "small")).to_dict()


# Files


def test_every_shipped_experiment_reads() -> None:
    assert all(load_experiment(name).figures for name in shipped_experiments())


def test_conditions_are_profiles_with_all_combinations() -> None:
    experiment = parse_experiment(SMALL, "small")
    assert [(each.profile, each.setting.played) for each in experiment.conditions] == [
        (profile, Rules(press=None, years=years)) for years in (1, 2) for profile in ("dove", "4*hold + 3*random")
    ]


def test_published_runs_stand_beside_ours_of_the_same_policy() -> None:
    text = """
title = "Beside"
profiles = ["prosocial"]
games = 1
paper_code = true
rules = {press = "none", years = 1}
figures = [{y = "root_nash_welfare", published = "self_play"}]
"""
    study = evaluation.experiment(parse_experiment(text)).to_dict()
    assert "own program" in report_page(study)
    figure = draw(study, 0)
    places = {float(x) for line in figure.axes[0].get_lines() for x in line.get_xdata()}
    assert {0.0, 0.3, 1.0} <= places


def test_paper_code_means_the_published_rules_but_for_standard_games_and_what_the_file_sets() -> None:
    text = SMALL.replace("games = 2", "games = 1\npaper_code = true").replace("years = [1, 2]", "years = [1]")
    variants = parse_experiment(text.replace("[sweep]", '[sweep]\nvariant = ["welfare", "standard"]'), "small")
    assert {each.setting.played for each in variants.conditions} == {
        Rules.published(press=None, years=1),
        Rules("standard", press=None, years=1),
    }
    (first, *_) = parse_experiment(text.replace('press = "none"', "build_and_disband = false"), "small").conditions
    assert first.setting.played == Rules.published(build_and_disband=False, years=1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gamez = 1", "unknown key .did you mean 'games'"),
        ("[rules]\nyeers = 1", "rules.yeers='yeers' .did you mean 'years'"),
        ("[sweep]\nfoo = [1]", "sweep='foo'"),
        ('template = "{profile},{a}"', "template: 'a' is not swept"),
        ('[[figures]]\ny = "red_team"', "y='red_team'"),
        ('[[figures]]\nkind = "lines"\nx = ["years"]\ny = "conflicts"', r"x=\['years'\]"),
        ('[sweep]\nyears=[1]\n[[figures]]\nkind="lines"\nx="years"\ny="conflicts"\npublished="self_play"', "numbers"),
        ('measure = "exploitability"\ncoalitions = ["solo"]', "'solo'"),
        ('measure = "exploitability"\n[rules]\nvariant = "standard"', "welfare"),
        ('[sweep]\nvariant = ["standard", "welfare"]\nscoring = ["concave"]', "scoring of variant 'welfare'"),
        ("games = 0x" + "f" * 5000, "games=int with thousands of digits"),
        ("paper_code = 1", "paper_code=1"),
        ('budget = "quick"', "budget is only for red-team, which this file does not measure"),
        ('measure = ["self-play", "self-play"]', "measure: give each only once"),
        ('measure = "cross-play"', "give two or more"),
        ('template = "dove:share={share}"\n[sweep]\nshare = [1]', "write {profile}"),
        ("= 1", "not valid TOML"),
        ("a = [" * 3000, "not valid TOML"),
    ],
)
def test_a_fault_is_told(text: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words):
        parse_experiment('title = "x"\nprofiles = ["dove"]\n' + text)


def test_all_faults_are_told_at_once() -> None:
    text = 'title = 3\nprofiles = ["dov"]\ngames = 0\n[rules]\nyears = -1\n[sweep]\nvariant = ["standart"]\n'
    with pytest.raises(ExperimentError) as caught:
        parse_experiment(text)
    assert all(word in str(caught.value) for word in ("3 faults", "title=3", "'dov'", "games=0"))
    with pytest.raises(ExperimentError, match="profiles is missing"):
        parse_experiment('title = "x"')
    standard = '[rules]\nvariant = "standard"\n[sweep]\nscoring = ["concave", "draw-size"]'
    assert parse_experiment('title = "x"\nprofiles = ["dove"]\n' + standard).conditions


@pytest.mark.parametrize("source", ["self-pla", "/dev/zero", "x" * 5000])
def test_no_such_experiment(source: Any) -> None:
    with pytest.raises(ExperimentError, match="experiment"):
        load_experiment(source)


# Playing


def test_each_condition_is_what_self_play_measures(study: dict[str, Any]) -> None:
    for condition in study["conditions"]:
        rules = Rules(press=None, years=condition["swept"]["years"])
        alone = evaluation.self_play(condition["profile"], 2, rules=rules)
        assert condition["measures"]["root_nash_welfare"] == alone.root_nash_welfare.to_dict()
        (cell,) = condition["cells"]
        assert (cell["measure"], cell["result"]) == ("self-play", alone.to_dict())


def test_a_stored_experiment_plays_no_game_twice(kept: GameStore, monkeypatch: pytest.MonkeyPatch) -> None:
    small = parse_experiment(SMALL, "small")
    first = evaluation.experiment(small, store=kept).to_dict()
    assert kept.count() == 8
    monkeypatch.setattr(runner, "play_game", lambda *given: pytest.fail("a game was played again"))
    assert evaluation.experiment(small, store=kept).to_dict() == first
    assert (len(kept.added), kept.reused) == (8, set())  # found again, but its own


def test_other_players_and_games() -> None:
    result = evaluation.experiment(parse_experiment(SMALL, "small"), profiles=["hold"], games=1)
    assert [each.condition.profile for each in result.conditions] == ["hold"] * 2
    assert [len(each.cells[0].result.records) for each in result.conditions] == [1, 1]  # type: ignore[union-attr]


def test_what_cannot_play_is_refused_before_the_first_game(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "play_game", lambda *given: pytest.fail("a game was played"))
    small = parse_experiment(SMALL, "small")
    for profile in ("rl:no/such/checkpoint", "import:no_such_module.Policy"):
        with pytest.raises(UnknownAgentError):
            evaluation.experiment(small, profiles=["hold", profile])
    with pytest.raises(EvaluationError, match="the experiment's file sets them"):
        evaluation.experiment(small, rules=Rules())
    assert not {"rules", "map_name", "seats"} & inspect.signature(evaluation.experiment).parameters.keys()


@pytest.mark.slow
def test_a_ray_cluster_gives_the_same_games(tmp_path: Path) -> None:
    pytest.importorskip("ray").shutdown()  # trainings of other tests leave theirs open
    small = parse_experiment(SMALL, "small")
    with GameStore(tmp_path / "games.sqlite") as store, evaluation.RayWorkers("local", 2) as workers:
        far = evaluation.experiment(small, workers=workers, store=store)
        assert store.count() == 8
    assert far.to_dict() == evaluation.experiment(small).to_dict()


def test_a_cluster_that_is_not_there() -> None:
    pytest.importorskip("ray")
    with (
        evaluation.RayWorkers("127.0.0.1:1") as workers,
        pytest.raises(evaluation.WorkerError, match=r"127\.0\.0\.1:1"),
    ):
        evaluation.self_play("hold", 2, rules=Rules(years=1, press=None), workers=workers)


# Options of a file

BASE = 'title = "T"\nprofiles = ["{profile}"]\nmap_name = "clique:3"\ngames = {games}\n'
QUICK = '[rules]\nyears = 2\npress = "none"\n'
RULES = Rules(years=2, press=None)
TOY: dict[str, Any] = {"rules": RULES, "map_name": "clique:3"}


def measured(lines: str, profile: str = "random", games: int = 3, rules: str = QUICK) -> Any:
    """The result of the only cell of a file."""
    text = BASE.format(profile=profile, games=games) + lines + rules
    (condition,) = evaluation.experiment(parse_experiment(text)).conditions
    (cell,) = condition.cells
    return cell.result


def attacked(**options: Any) -> Any:
    return evaluation.exploitability("dove", 3, **TOY | {"selection_games": 3} | options)


def played(**options: Any) -> Any:
    return evaluation.self_play("dumbbot", 3, **TOY | options)


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
    found = measured(lines, "dumbbot")
    assert found.to_dict() == played(**options).to_dict()
    key = [game.facts.key for game in found.measures]
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
        (f'deviators = ["{PACT}"]\n', {"deviator": [PACT]}),
        (f'deviators = ["{PACT}"]\ncoordinated = true\n', {"deviator": [PACT], "coordinated": True}),
        ("selection_games = 1\n", {"selection_games": 1}),
    ],
    ids=["deviators", "coordinated", "selection_games"],
)
def test_an_option_of_exploitability_changes_what_is_played(lines: str, options: dict[str, Any]) -> None:
    found = measured(ATTACK + lines, "dove").to_dict()
    assert found == attacked(coalitions="all-pairs", **options).to_dict()
    assert found != attacked(coalitions="all-pairs").to_dict()


def test_the_seed_of_a_file_gives_way_to_the_callers() -> None:
    text = BASE.format(profile="random", games=1) + "seed = 5\n" + QUICK
    result = evaluation.experiment(parse_experiment(text), seed=6)
    assert result.seed == result.conditions[0].cells[0].result.seed == 6  # type: ignore[union-attr]


def test_the_exact_gain_is_that_of_the_coalition_that_gains_most() -> None:
    found = measured('measure = "exact"\n', "1*prosocial + 1*hold + 1*prosocial", 1)
    assert (found.best, found.facts["best"]) == (2, ["PLAYERB"])


def test_the_replay_is_of_the_game_nearest_to_the_mean() -> None:
    text = BASE.format(profile="random", games=4) + QUICK
    (cell,) = evaluation.experiment(parse_experiment(text)).conditions[0].cells
    values = np.array(cell.result.root_nash_welfare.per_game)
    nearest = int(np.abs(values - values.mean()).argmin())
    assert nearest != 0
    assert cell.witness == cell.result.records[nearest]


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


def test_cross_play_takes_no_mixed_profile() -> None:
    text = BASE.format(profile="hold", games=3).replace('"]', '", "dove", "2*dove + 1*hold"]')
    with pytest.raises(ExperimentError, match="profiles: for cross-play"):
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
    options = TOY | {"rules": Rules(years=1, press=None)}
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


# Reports


@pytest.mark.slow
def test_the_page_stands_alone(study: dict[str, Any]) -> None:
    linked = study | {
        "conditions": [each | {"replays": [["self-play", "replays/a.html"]]} for each in study["conditions"]]
    }
    page = report_page(linked, "welfare-env experiment small")
    assert "<script" not in page
    assert page.count("<svg") == 4
    fetched = re.findall(r"""\b(?:src|href)=["']?([^"'\s>]+)""", page)
    assert {link for link in fetched if not link.startswith("#")} == {"data:,", "replays/a.html"}


def test_nothing_from_outside_is_markup(study: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>\"'&"
    told = json.loads(json.dumps(study).replace("Does it work?", "x").replace('"title": "Small"', '"title": "T"'))
    told["title"] = told["question"] = evil
    for condition in told["conditions"]:
        condition["profile"] = condition["played"] = evil
        condition["replays"] = [[evil, evil]]
    assert "<script" not in report_page(told, evil)


def test_error_bars_reach_down_to_low_and_up_to_high() -> None:
    without = {"value": 1.0, "low": None, "high": None}
    assert _bars([{"value": 2.0, "low": 1.5, "high": 5.0}, without]) == [[0.5, 0.0], [3.0, 0.0]]


@pytest.mark.slow
def test_a_folder_of_results(tmp_path: Path) -> None:
    result = evaluation.experiment(parse_experiment(SMALL, "small"))
    page = write_results(result, tmp_path / "out", "x")
    study = read_study(page.parent)
    assert study == read_study(page.parent / "results.json")
    replays = [condition.pop("replays") for condition in study["conditions"]]
    assert study == json.loads(json.dumps(result.to_dict()))
    assert [what for ((what, _),) in replays] == ["self-play"] * 4
    for ((_, path),) in replays:
        assert path in page.read_text()
        assert "<svg" in (page.parent / path).read_text()
    assert [path.name for path in write_figures(read_study(page.parent), tmp_path / "pictures", ".svg")] == [
        f"figure-{number}.svg" for number in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("content", [b"\xff", b"[1]", b'{"experiment": 1}'])
def test_damaged_results_are_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_bytes(content)
    with pytest.raises(EvaluationError, match="not results of an experiment"):
        read_study(path)


# Commands


@pytest.mark.slow
def test_the_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    told = json.loads(
        call("experiment", "small.toml", "--add", "hold", "--games", "1", "--workers", "1", "--out", "out", "--json")
    )
    assert {each["profile"] for each in told["conditions"]} == {"dove", "4*hold + 3*random", "hold"}
    assert (tmp_path / "out" / "report.html").exists()
    drawn = call("experiment", "out", "--plot", "svg")
    assert drawn.split() == [f"out/figure-{number}.svg" for number in (1, 2, 3, 4)]
    assert "unknown format" in call("experiment", "out", "--plot", "gif", code=2)


def test_outputs_are_checked_before_the_first_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "play_game", lambda *given: pytest.fail("a game was played"))
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "file").write_text("")
    assert "cannot be written" in call("experiment", "small.toml", "--out", "file/there", code=2)


@pytest.mark.slow
def test_pictures_are_the_same_for_the_same_values(study: dict[str, Any], tmp_path: Path) -> None:
    study = study | {"figures": study["figures"][:1]}
    for ending in (".svg", ".png", ".pdf"):
        first, second = (
            [path.read_bytes() for path in write_figures(study, tmp_path / name, ending)] for name in ("a", "b")
        )
        assert first == second
