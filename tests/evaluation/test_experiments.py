"""Experiments as files: what they read, what they play, and the reports made of it."""

import html
import inspect
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import evaluation
from evaluation import ExperimentError, GameStore
from evaluation.checks import EvaluationError
from evaluation.cli.commands import app
from evaluation.experiment_files.description import load_experiment, parse_experiment, shipped_experiments
from evaluation.experiments.published import TABLES
from evaluation.play import runner
from evaluation.report.figures import _bars, draw
from evaluation.report.page import report_page
from evaluation.report.report_folder import read_study, write_figures, write_results
from welfare_env import Rules, UnknownAgentError

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
ROBBED = """
title = "Robbed"
map_name = "clique:3"
measure = "exploitability"
profiles = ["hold"]
coalitions = ["all-singles"]
games = 1
[rules]
press = "none"
years = 1
[[figures]]
y = "exploitability"
published = "exploitability"
"""


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    return evaluation.experiment(parse_experiment(SMALL, "small")).to_dict()


# Files


def test_every_shipped_experiment_reads_and_says_what_it_asks() -> None:
    assert {"self-play", "exploitability", "years", "ablations", "message-rounds", "variants"} <= {
        *shipped_experiments()
    }
    for name in shipped_experiments():
        each = load_experiment(name)
        assert each.figures
        assert each.question.endswith((".)", "?"))
        assert len(each.conditions) <= 100


def test_conditions_are_profiles_with_all_combinations() -> None:
    experiment = parse_experiment(SMALL, "small")
    assert [(each.profile, each.setting.played) for each in experiment.conditions] == [
        (profile, Rules(press=None, years=years)) for years in (1, 2) for profile in ("dove", "4*hold + 3*random")
    ]


@pytest.mark.slow
def test_published_plays_and_counts_as_the_authors_and_the_page_says_so() -> None:
    """But for standard games, and what [rules] sets."""
    text = SMALL.replace("games = 2", "games = 1\npaper_code = true").replace("years = [1, 2]", "years = [1]")
    text = text.replace('"dove", "4*hold + 3*random"', '"dumbbot"')
    rules = Rules.published(press=None, years=1)
    experiment = parse_experiment(text, "small")
    assert {each.setting.played for each in experiment.conditions} == {rules}
    result = evaluation.experiment(experiment)
    theirs, ours = (evaluation.self_play("dumbbot", 1, rules=rules, paper_code=counted) for counted in (True, False))
    found = result.conditions[0].measures["conflicts"].value
    assert found == theirs.conflicts.value != ours.conflicts.value
    page = html.unescape(report_page(result.to_dict()))
    assert "points after retreats too" in page
    assert "Our games use the rules and measures of the authors' program" in page
    variants = parse_experiment(text.replace("[sweep]", '[sweep]\nvariant = ["welfare", "standard"]'), "small")
    assert {each.setting.played for each in variants.conditions} == {
        Rules.published(press=None, years=1),
        Rules("standard", press=None, years=1),
    }
    unlike = text.replace('press = "none"', "build_and_disband = false")
    (first, *_) = parse_experiment(unlike, "small").conditions
    assert first.setting.played == Rules.published(build_and_disband=False, years=1)


def test_published_runs_stand_beside_ours_of_the_same_policy() -> None:
    text = """
title = "Beside"
profiles = ["prosocial"]
games = 1
paper_code = true
rules = {press = "none", years = 1}
figures = [{y = "root_nash_welfare", published = "self_play"}]
"""
    figure = draw(evaluation.experiment(parse_experiment(text)).to_dict(), 0)
    told = [text.get_text() for text in figure.legends[0].get_texts()]
    assert told == ["welfare-env, under the rules of the published runs", "published runs (one mark each)"]
    places = {float(x) for line in figure.axes[0].get_lines() for x in line.get_xdata()}
    assert {0.0, 0.3, 1.0} <= places


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('titel = "x"', "unknown key .did you mean 'title'"),
        ('title = "x"', "profiles is missing"),
        ('title = "x"\nprofiles = ["dove"]\n[rules]\nyeers = 1', "rules.yeers='yeers' .did you mean 'years'"),
        ('title = "x"\nprofiles = ["dove"]\n[sweep]\nyears = [1, 0]', "years=0"),
        ('title = "x"\nprofiles = ["dove"]\n[sweep]\nfoo = [1]', "sweep='foo'"),
        ('title = "x"\nprofiles = ["dove"]\ntemplate = "{profile},{a}"', "template: 'a' is not swept"),
        ('title = "x"\nprofiles = ["dove"]\n[[figures]]\ny = "red_team"', "y='red_team'"),
        ('title = "x"\nprofiles = ["dove"]\n[[figures]]\ny = "conflicts"\npublished = "no"', "published='no'"),
        ('title = "x"\nprofiles = ["dove"]\nmeasure = "exploitability"\ncoalitions = ["solo"]', "'solo'"),
        ('title = "x"\nprofiles = ["dove"]\nmeasure = "exploitability"\n[rules]\nvariant = "standard"', "welfare"),
    ],
)  # fmt: skip
def test_a_fault_is_told(text: str, words: str) -> None:
    with pytest.raises(ExperimentError, match=words):
        parse_experiment(text)


def test_all_faults_are_told_at_once() -> None:
    text = 'title = 3\nprofiles = ["dov"]\ngames = 0\n[rules]\nyears = -1\n[sweep]\nvariant = ["standart"]\n'
    with pytest.raises(ExperimentError) as caught:
        parse_experiment(text)
    told = str(caught.value)
    assert all(word in told for word in ("3 faults", "title=3", "'dov'", "games=0"))


@pytest.mark.parametrize("text", ["= 1", "a = [" * 3000])
def test_what_is_no_toml_is_told(text: str) -> None:
    with pytest.raises(ExperimentError, match="not valid TOML"):
        parse_experiment(text)


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


def test_an_interrupted_experiment_plays_no_game_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small, played = parse_experiment(SMALL, "small"), []
    play = runner.play_game

    def stopping(spec: Any, *rest: Any) -> Any:
        if len(played) == 5 and not stopping.is_over:  # type: ignore[attr-defined]
            raise KeyboardInterrupt
        played.append(spec)
        return play(spec, *rest)

    stopping.is_over = False  # type: ignore[attr-defined]
    monkeypatch.setattr(runner, "play_game", stopping)
    with GameStore(tmp_path / "games.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            evaluation.experiment(small, store=store)
        stopping.is_over = True  # type: ignore[attr-defined]
        result = evaluation.experiment(small, store=store)
    assert len(played) == len(set(played)) == 8
    assert result.to_dict() == evaluation.experiment(small).to_dict()


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


# Reports


class _Page(HTMLParser):
    """Tags, and what they fetch."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag not in ("meta", "link", "br", "wbr", "path", "use", "rect", "img"):
            self.open.append(tag)
        self.fetched += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("meta", "link", "br", "wbr", "path", "use", "rect", "img"):
            assert self.open.pop() == tag


@pytest.mark.slow
def test_the_page_stands_alone(study: dict[str, Any]) -> None:
    linked = study | {
        "conditions": [each | {"replays": [["self-play", "replays/a.html"]]} for each in study["conditions"]]
    }
    page = _Page(report_page(linked, "welfare-env experiment small"))
    assert not page.open
    assert "script" not in page.tags
    assert page.tags.count("svg") == 4
    assert {link for link in page.fetched if not link.startswith("#")} == {"data:,", "replays/a.html"}


def test_nothing_from_outside_is_markup(study: dict[str, Any]) -> None:
    evil = "<script>alert(1)</script>\"'&"
    told = json.loads(json.dumps(study).replace("Does it work?", "x").replace('"title": "Small"', '"title": "T"'))
    told["title"] = told["question"] = evil
    for condition in told["conditions"]:
        condition["profile"] = condition["played"] = evil
        condition["replays"] = [[evil, evil]]
    page = report_page(told, evil)
    assert "<script" not in page
    assert not _Page(page).open


def test_error_bars_reach_down_to_low_and_up_to_high() -> None:
    without = {"value": 1.0, "low": None, "high": None}
    assert _bars([{"value": 2.0, "low": 1.5, "high": 5.0}, without]) == [[0.5, 0.0], [3.0, 0.0]]


PUBLISHED = Path(__file__).resolve().parents[3] / "shared" / "data" / "published.json"


@pytest.mark.skipif(not PUBLISHED.exists(), reason="the authors' figures are not beside this clone")
def test_published_points_are_the_authors() -> None:
    data = json.loads(PUBLISHED.read_text())
    for model, runs in data["self_play"].items():
        assert TABLES["self_play"][model.removeprefix("optimal_")]["root_nash_welfare"] == pytest.approx(
            runs["root_nash_welfare"]
        )
    for rounds, runs in data["message_rounds_gpt4"].items():
        assert TABLES["message_rounds"][rounds]["root_nash_welfare"] == pytest.approx(runs["root_nash_welfare"])
    assert len(TABLES["ablations"]) == len(data["prompt_ablation_claude_instant"])


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
    run = CliRunner()
    listed = run.invoke(app, ["experiment"])
    assert "self-play" in listed.stdout
    done = run.invoke(app, ["experiment", "small.toml", "--workers", "1", "--games", "1", "--out", "out"])
    assert done.exit_code == 0, done.output
    assert "report: out/report.html" in done.stderr.replace("\n", "")
    assert (tmp_path / "out" / "report.html").exists()
    drawn = run.invoke(app, ["experiment", "out", "--plot", "svg"])
    assert drawn.stdout.split() == [f"out/figure-{number}.svg" for number in (1, 2, 3, 4)]
    wrong = run.invoke(app, ["experiment", "out", "--plot", "gif"])
    assert (wrong.exit_code, "unknown format" in wrong.stderr) == (2, True)
    missing = run.invoke(app, ["experiment", "nope"])
    assert (missing.exit_code, "no such name or file" in missing.stderr) == (2, True)


def test_an_experiment_on_exploitability(tmp_path: Path) -> None:
    result = evaluation.experiment(parse_experiment(ROBBED, "robbed"))
    options: dict[str, Any] = {"coalitions": "all-singles", "rules": Rules(press=None, years=1), "map_name": "clique:3"}
    alone = evaluation.exploitability("hold", 1, selection_games=1, **options)
    assert result.conditions[0].to_dict()["cells"][0]["result"] == alone.to_dict()
    assert "a lower bound" in write_results(result, tmp_path).read_text()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('[rules]\nvariant = "standard"\n[sweep]\nscoring = ["concave", "draw-size"]', None),
        ('[rules]\nprogressive = [1, 2]', "progressive has 2 weights for 10 years"),
        ('[sweep]\nvariant = ["standard", "welfare"]\nscoring = ["concave"]', "scoring of variant 'welfare'"),
        ('[[figures]]\nkind = "lines"\nx = ["years"]\ny = "conflicts"', r"x=\['years'\]"),
        ('[sweep]\nyears=[1]\n[[figures]]\nkind="lines"\nx="years"\ny="conflicts"\npublished="self_play"', "numbers"),
        ("games = 0x" + "f" * 5000, "games=int with thousands of digits"),
    ],
)  # fmt: skip
def test_rules_are_tried_together_and_nothing_else_comes_out(text: str, fault: str | None) -> None:
    text = 'title = "x"\nprofiles = ["dove"]\n' + text
    if fault is None:
        assert parse_experiment(text).conditions
        return
    with pytest.raises(ExperimentError, match=fault):
        parse_experiment(text)


def test_outputs_are_checked_before_the_first_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(runner, "play_game", lambda *given: pytest.fail("a game was played"))
    (tmp_path / "small.toml").write_text(SMALL)
    (tmp_path / "file").write_text("")
    told = CliRunner().invoke(app, ["experiment", "small.toml", "--out", "file/there"])
    assert (told.exit_code, "cannot be written" in told.stderr) == (2, True)


@pytest.mark.slow
def test_pictures_are_the_same_for_the_same_values(study: dict[str, Any], tmp_path: Path) -> None:
    for ending in (".svg", ".png", ".pdf"):
        first, second = (
            [path.read_bytes() for path in write_figures(study, tmp_path / name, ending)] for name in ("a", "b")
        )
        assert first == second


@pytest.mark.slow
def test_a_player_is_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(SMALL)
    done = CliRunner().invoke(app, ["experiment", "small.toml", "--add", "hold", "--games", "1", "--json"])
    told = json.loads(done.stdout)
    assert {each["profile"] for each in told["conditions"]} == {"dove", "4*hold + 3*random", "hold"}
