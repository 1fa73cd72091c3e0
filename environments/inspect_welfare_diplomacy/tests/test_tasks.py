"""The tasks, found by inspect by name, play the same games as our own tasks; with a stub model."""

import json
from pathlib import Path

import pytest
from inspect_ai import eval as run_tasks
from inspect_ai import list_tasks

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = {"years": 1, "message_rounds": 1, "games": 1, "map_name": "clique:3", "lm_cache": ""}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def run(name, **options):
    (log,) = run_tasks(name, model="scripted/stub", task_args=OPTIONS | options, display="none")
    assert log.status == "success", log.error
    return log


def scores(log):
    return {score.name: {name: metric.value for name, metric in score.metrics.items()} for score in log.results.scores}


def test_the_register_finds_two_tasks_in_the_file():
    found = {task.name for task in list_tasks("inspect_welfare_diplomacy", root_dir=ROOT)}
    assert found == {"welfare_diplomacy", "welfare_diplomacy_exploitability"}


@pytest.mark.parametrize(
    ("name", "own", "options"),
    [
        ("welfare_diplomacy", "self_play", {}),
        ("welfare_diplomacy_exploitability", "exploitability", {"deviator": "dumbbot", "coalitions": "PLAYERA"}),
    ],
)
def test_a_task_plays_the_games_of_ours(name, own, options):
    log = run(f"inspect_welfare_diplomacy/{name}", **options)
    assert log.eval.task.endswith(name)
    assert json.dumps(scores(log), sort_keys=True) == json.dumps(
        scores(run(f"evaluation/{own}", **options)), sort_keys=True
    )


def test_an_unknown_option_is_an_error():
    with pytest.raises(Exception, match="unknown option 'yeers'"):
        run_tasks("inspect_welfare_diplomacy/welfare_diplomacy", model="scripted/stub", task_args={"yeers": 1})
