"""What the file of an experiment sets is what is played: options, several measures, templates, and trained policies."""

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import evaluation
from agents.specs import read
from evaluation import EvaluationError, ExperimentError, GameStore, exact
from evaluation.experiment_files import experiment, measuring, result_cache, trainings
from evaluation.experiment_files.loading import read_experiment
from evaluation.experiment_files.plan import Experiment
from evaluation.experiment_files.templates import filled_template
from evaluation.experiments.red_team import BUDGETS, AttackBudget, plan_red_team
from evaluation.play import games, sources
from evaluation.play.game_settings import GameSettings
from evaluation.report.page import report_page
from evaluation.report.report_folder import write_results
from evaluation.tables.rules_text import games_sentence, option_sentences, rules_sentence
from welfare_env import Rules

ROOT = Path(__file__).resolve().parents[2]
BASE = 'title = "T"\nprofiles = ["{profile}"]\nmap_name = "clique:3"\ngames = {games}\n'
QUICK = '[rules]\nyears = 2\npress = "none"\n'
RULES = Rules(years=2, press=None)


def measured(lines: str, profile: str = "random", games: int = 3, rules: str = QUICK) -> Any:
    """The result of the only cell of a file."""
    text = BASE.format(profile=profile, games=games) + lines + rules
    (condition,) = evaluation.experiment(read_experiment(text)).conditions
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


def test_scoring_and_variant() -> None:
    rules = '[rules]\nyears = 2\npress = "none"\nvariant = "standard"\nscoring = "draw-size"\n'
    result = measured("", "dumbbot", rules=rules)
    assert (result.rules.variant, result.rules.scoring) == ("standard", "draw-size")


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
        (
            f"{ATTACK}precision = 0.0001\nmax_games = 11\n",
            {"coalitions": "all-pairs", "precision": 0.0001, "max_games": 11},
        ),
    ],
    ids=["deviators", "coordinated", "selection_games", "precision"],
)
def test_an_option_of_exploitability_changes_what_is_played(lines: str, options: dict[str, Any]) -> None:
    found = measured(lines, "dove").to_dict()
    assert found == attacked(**options).to_dict()
    usual = {name: options[name] for name in ("coalitions", "deviator") if name in options and options[name] != [PACT]}
    assert found != attacked(**usual).to_dict()


def test_the_seed_of_a_file_gives_way_to_the_callers() -> None:
    text = BASE.format(profile="random", games=1) + "seed = 5\n" + QUICK
    result = evaluation.experiment(read_experiment(text), seed=6)
    assert result.seed == result.conditions[0].cells[0].result.seed == 6  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lines", "line", "words"),
    [
        ("seed = -1\n", 5, "seed=-1: give a whole number from 0"),
        ("paper_code = 1\n", 5, "paper_code=1: give true or false"),
        ('seats = "round"\n', 5, "seats='round'"),
        ('budget = "quick"\n', 5, "budget is only for red-team, which this file does not measure"),
        ('coalitions = ["pairs"]\n', 5, "coalitions is only for exploitability and exact"),
        ('measure = "exploitability"\nprecision = 0\n', 6, "precision=0: give the width"),
        ('measure = "exploitability"\nmax_games = 9\n', 6, "max_games is the maximum number of games with precision"),
        ('measure = "both"\n', 5, "leaderboard = true"),
        ('measure = ["self-play", "exaxt"]\n', 5, "did you mean 'exact'"),
        ('measure = ["exact", "exact"]\n', 5, "each once"),
        ('measure = "red-team"\nleaderboard = true\n', 6, "sorted by welfare in self-play"),
        ('measure = "cross-play"\n', 2, "give two or more"),
        ('template = "{profil},a=1"\n', 5, "'profil' is not swept .did you mean 'profile'"),
        ('template = "{profile},a={a b}"\n', 5, "'{a b}' is not a placeholder"),
        ('template = "dove:share={share}"\n[sweep]\nshare = [1]\n', 5, "add {profile}"),
        ('template = "{profile},nonsense=1"\n', 5, "nonsense"),
        ('map_name2 = "x"\n', 5, "did you mean 'map_name'"),
    ],
)
def test_faults(lines: str, line: int, words: str) -> None:
    with pytest.raises(ExperimentError, match=rf"line {line}: .*{words}"):
        read_experiment(BASE.format(profile="random", games=3) + lines)


def test_a_swept_value_that_a_policy_refuses_is_a_fault_of_the_file() -> None:
    text = BASE.format(profile="dove", games=3) + 'template = "{profile},share={share}"\n[sweep]\nshare = [0.25, 5]\n'
    with pytest.raises(ExperimentError, match=r"1 fault\n  line 5: .*'dove:share=5.0'.*share=5.0: give a number"):
        read_experiment(text)


@pytest.mark.parametrize(
    ("name", "number"),
    re.findall(r"experiment ([\w-]+)[^`]*` \| (\d+) \|", (ROOT / "docs/howto/paper-experiments.md").read_text()),
)
def test_the_page_of_the_papers_experiments_says_how_many_games_they_play(name: str, number: str) -> None:
    profiles = ["lm:scripted/stub"] if name in ("ablations", "message-rounds") else ()
    assert measuring.Measuring(experiment.read_experiment(name, profiles), GameSettings()).max_games == int(number)


@pytest.mark.parametrize("measure", ["self-play", "text", (), ("self-play", "exaxt"), (["exact"],), None])
def test_measures_of_an_experiment_in_python_are_checked(measure: Any) -> None:
    with pytest.raises(EvaluationError, match=r"measure=.*give a tuple of self-play, exploitability"):
        Experiment("e", "E", ("hold",), measure=measure)


def test_a_map_that_is_not_there() -> None:
    text = BASE.replace("clique:3", "standart").format(profile="hold", games=3)
    with pytest.raises(ExperimentError, match=r"line 3: .*did you mean 'standard'"):
        read_experiment(text)


def test_seats_that_cross_play_cannot_balance() -> None:
    text = BASE.format(profile="hold", games=4).replace('"]', '", "dove"]')
    with pytest.raises(ExperimentError, match="line 4: games=4: seats rotate, so give a multiple of 3"):
        read_experiment(text + 'measure = "cross-play"\n')


# Several measures, and results that are cached

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


@pytest.fixture(scope="module")
def everything() -> evaluation.ExperimentResult:
    return evaluation.experiment(read_experiment(EVERYTHING))


@pytest.mark.slow
def test_every_measure_is_what_its_function_gives(everything: evaluation.ExperimentResult, tmp_path: Path) -> None:
    _, hold = everything.conditions
    options: dict[str, Any] = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}
    cross = evaluation.cross_play(["prosocial", "hold"], 3, **options)
    assert hold.measures["root_nash_welfare"] == evaluation.self_play("hold", 3, **options).root_nash_welfare
    attack = evaluation.exploitability("hold", 3, selection_games=3, coalitions="all-singles", **options)
    assert hold.measures["exploitability"] == attack.value
    assert hold.measures["red_team"] == evaluation.red_team("hold", "quick", games=3, **options).value
    assert hold.measures["points_among_others"] == cross.mixed_payoffs["hold"]
    assert hold.measures["exact_gain"].value == 2
    page = write_results(everything, tmp_path).read_text()
    for head in ("Deviating from hold", "Red team against hold", "Cross-play", "Exact best responses to hold"):
        assert page.count(head) == 1
    assert "Welfare Diplomacy, 1 year, no press. Map: clique:3. 3 games per condition, seed 0." in page
    assert ".json" not in page
    assert "Differences from the first condition" in page
    assert len(list((tmp_path / "replays").iterdir())) == 6


@pytest.mark.slow
def test_an_interrupted_experiment_goes_on_with_the_next_cell(
    everything: evaluation.ExperimentResult, store_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop = 4  # in the middle of the second cell of exact gains
    chosen, solved, attacks = read_experiment(EVERYTHING), [], []
    solve, attack = exact.best_response, measuring.plan_red_team

    def stopping(*given: Any) -> Any:
        if len(solved) == stop:
            solved.append(None)
            raise KeyboardInterrupt
        solved.append(given)
        return solve(*given)

    def counted(*given: Any, **options: Any) -> Any:
        plan = attack(*given, **options)
        return replace(plan, run=lambda settings: attacks.append(given) or plan.run(settings))

    monkeypatch.setattr(exact, "best_response", stopping)
    monkeypatch.setattr(measuring, "plan_red_team", counted)
    with GameStore(store_path) as store:
        with pytest.raises(KeyboardInterrupt):
            evaluation.experiment(chosen, store=store)
        before = len(attacks)
        result = evaluation.experiment(chosen, store=store)
        monkeypatch.setattr(games, "play_game", lambda *given: pytest.fail("a game was played again"))
        count = len(solved)
        assert evaluation.experiment(chosen, store=store).to_dict() == result.to_dict()
    assert len(solved) == count == stop + 1 + 3  # the first cell, of three powers, is kept
    assert (before, len(attacks)) == (2, 2)
    assert everything.to_dict() == result.to_dict()


def fake_plan(profile: str, budget: str, settings: evaluation.Setting, *, games: int) -> Any:
    """The plan of a red team whose result costs no game."""

    def run(settings: evaluation.Setting) -> Any:
        given = {"given": [profile, budget, games, settings.seed]}
        value = evaluation.Estimate(1.0, 1.0, 1.0, 1, (1.0,))
        return SimpleNamespace(value=value, witness=SimpleNamespace(marked_record=None), to_dict=lambda: given)

    return replace(plan_red_team(profile, budget, settings, games=games), run=run)


def test_a_cached_result_is_of_one_seed_and_one_budget(store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "plan_red_team", fake_plan)
    text = BASE.format(profile="hold", games=1) + 'measure = "red-team"\nbudget = "{budget}"\n' + QUICK
    with GameStore(store_path) as store:
        for _ in range(2):
            for budget, seed in (("quick", 0), ("quick", 1), ("usual", 0)):
                chosen = read_experiment(text.replace("{budget}", budget))
                (condition,) = evaluation.experiment(chosen, seed=seed, store=store).conditions
                assert condition.cells[0].result.to_dict() == {"given": ["hold", budget, 1, seed]}


@pytest.mark.parametrize("measure", ["red-team", "exact"])
def test_a_cached_result_is_of_one_revision(measure: str, store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    budget = 'budget = "usual"\n' * (measure == "red-team") + 'coalitions = ["all-singles"]\n' * (measure == "exact")
    chosen = read_experiment(
        BASE.format(profile="hold", games=1)
        + f'measure = "{measure}"\n{budget}{QUICK}'.replace("years = 2", "years = 1")
    )
    monkeypatch.setattr(measuring, "plan_red_team", fake_plan)
    made: list[Any] = []
    put = GameStore.put_result
    monkeypatch.setattr(GameStore, "put_result", lambda self, *given: (made.append(given), put(self, *given)))
    with GameStore(store_path) as store:
        for _ in range(2):
            evaluation.experiment(chosen, store=store)
        assert len(made) == 1
        monkeypatch.setattr(sources, "RULES_REVISION", 0)
        evaluation.experiment(chosen, store=store)
    assert len(made) == 2


def test_the_files_and_models_of_attackers_are_in_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "attacker_of_test.py"
    module.write_text("X = 1")
    policies = [read("lm:scripted/stub"), read("import:attacker_of_test.Mine")]
    first = result_cache.code_behind(policies, evaluation.Setting())
    assert first["language_models"] == [{"model": "scripted/stub"}]
    module.write_text("X = 12")
    assert result_cache.code_behind(policies, evaluation.Setting())["own_files"] != first["own_files"]


def test_a_damaged_result_is_measured_again(store_path: Path) -> None:
    with GameStore(store_path) as store:
        assert store.result({"a": 1}) is None
        store.put_result({"a": 1}, {"value": 2})
        assert store.result({"a": 1}) == {"value": 2}
        with store._connection() as connection:
            connection.execute("UPDATE results SET checksum = 'x'")
        assert store.result({"a": 1}) is None
        assert store.count() == 0


# Templates


@pytest.mark.parametrize(
    ("template", "profile", "words", "made"),
    [
        ("{profile}", "4*dove + 3*hold", {}, "4*dove + 3*hold"),
        ("{profile},ablate={a}", "lm:x/y", {"a": "all"}, "lm:x/y,ablate=all"),
        ("{profile},ablate={a}", "(lm:x/y,effort=low)", {"a": "all"}, "lm:x/y,effort=low,ablate=all"),
        ("{profile},share={a}", "dove", {"a": "0.5"}, "dove:share=0.5"),
        ("{profile},k={a}", "4*lm:x/y + 3*lm:z/w,b=1", {"a": "2"}, "4*(lm:x/y,k=2) + 3*(lm:z/w,b=1,k=2)"),
        ("exploiter:nice={profile},attack=hold", "dove", {}, "exploiter:nice=dove,attack=hold"),
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


# Training


class FakeStep:
    """Trains nothing: with seed 0 the policy holds, with seed 1 it is prosocial."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[str, Any], int, Path]] = []

    def check(self, fields: dict[str, Any]) -> None:
        if "itrations" in fields:
            raise EvaluationError("'itrations': no field")

    def run(self, fields: dict[str, Any], seed: int, folder: Path, on_progress: Callable[[int, int], None]) -> str:
        self.calls.append((fields, seed, folder))
        on_progress(1, 1)
        return ("hold", "prosocial")[seed]

    def load(self) -> "FakeStep":
        return self


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> FakeStep:
    fake = FakeStep()
    monkeypatch.setattr(trainings, "entry_points", lambda **given: [fake])
    return fake


TRAINED = """
title = "Trained"
measure = ["self-play", "cross-play"]
profiles = ["trained:own", "dove"]
map_name = "clique:3"
games = 3
[rules]
years = 1
press = "none"
[train]
seeds = [0, 1]
[train.own]
iterations = 1
[[figures]]
y = ["root_nash_welfare", "points_among_others"]
"""


def test_training_seeds_are_the_unit(step: FakeStep, tmp_path: Path) -> None:
    told = []
    result = evaluation.experiment(
        read_experiment(TRAINED), folder=tmp_path, on_training=lambda *given: told.append(given)
    )
    assert step.calls == [({"iterations": 1}, seed, tmp_path / f"own-{seed}") for seed in (0, 1)]
    assert told == [(f"training own, seed {seed}", 1, 1) for seed in (0, 1)]
    own, dove = result.conditions
    options: dict[str, Any] = {"rules": Rules(years=1, press=None), "map_name": "clique:3"}
    alone = [evaluation.self_play(name, 3, **options).root_nash_welfare.value for name in ("hold", "prosocial")]
    welfare = own.measures["root_nash_welfare"]
    assert (welfare.per_game, welfare.n) == (tuple(alone), 2)
    assert dove.measures["root_nash_welfare"].n == 3  # games
    assert dove.measures["points_among_others"].n == 2  # among policies of each seed
    study = json.loads(json.dumps(result.to_dict()))
    page = report_page(study)
    assert (
        "2 training seeds (0, 1); their values are means over these seeds, with intervals or ranges over seeds" in page
    )
    assert "By training seed" in page
    assert "iterations = 1" in " ".join(option_sentences(study))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("trained:own", "trained:own,greedy=yes", ""),
        ('"trained:own"', '"trained:owm"', "line 4: trained:owm: add a table .train.owm.; the file trains: own"),
        ('"trained:own", ', "", r"line 12: trained:own is not used"),
        ("iterations", "itrations", "line 13: 'itrations': no field"),
        ("seeds = [0, 1]", "seeds = [0, 0]", "line 11: seeds=.*different whole numbers"),
        ("[train.own]", "[train.'o w n']", "a short name of letters"),
    ],
)
def test_faults_of_trainings(step: FakeStep, old: str, new: str, words: str) -> None:
    text = TRAINED.replace(old, new)
    if not words:
        assert read_experiment(text).conditions
        return
    with pytest.raises(ExperimentError, match=words):
        read_experiment(text)


def test_without_a_step_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainings, "entry_points", lambda **given: [])
    with pytest.raises(
        ExperimentError, match=r"line 10: \[train\]: the package `training` is not installed.*install welfare-env again"
    ):
        read_experiment(TRAINED)


def test_the_entry_point_is_training() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    step = import_module(project["entry-points"][trainings.GROUP][trainings.STEP])
    assert callable(step.check)
    assert callable(step.run)


# In words


def test_the_setting_in_words() -> None:
    text = (
        BASE.format(profile="dove", games=3) + f"{ATTACK}paper_code = true\ncoordinated = true\nselection_games = 1\n"
    )
    text = text.replace("games = 3", 'games = 3\ndeviators = ["pact"]') + '[rules]\nyears = 1\npress = "none"\n'
    study = evaluation.experiment(read_experiment(text)).to_dict()
    assert "points after retreats too, as in the published runs" in rules_sentence(study)
    assert games_sentence(study) == "3 games per condition, seed 0."
    told = " ".join(option_sentences(study))
    assert "as in the paper's own program" in told
    assert "Deviators: pact; one policy plays all members of a coalition." in told
    assert "on separate games, 1 each at first" in told
