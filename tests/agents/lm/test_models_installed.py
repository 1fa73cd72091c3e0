"""Providers of language models from other distributions."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import agents
from agents.lm.errors import ConfigError
from agents.lm.models import Block, Request, make_model
from agents.lm.models.budget import Budget
from agents.lm.models.shared_models import SharedModels
from evaluation.play.sources import answered_by

CODE = """
from agents.lm.models.scripted import ScriptedModel
from agents.lm.own_models import AdaptedModel

def make(name, greeting="hello"):
    return ScriptedModel(lambda request: greeting, 0.0, name)

class Own:
    def __init__(self, name):
        self.name = f"own/{name}"

    async def complete(self, request):
        return "howdy"

def ready(name):
    return AdaptedModel(Own(name))
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    (tmp_path / "western_models.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "western_models", raising=False)

    def installed(distribution: str, *points: str) -> None:
        info = tmp_path / distribution / f"{distribution}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[welfare_env.models]\n" + "\n".join(points) + "\n")
        monkeypatch.syspath_prepend(info.parent)

    return installed


def test_a_provider_of_another_distribution(install: Callable[..., None]) -> None:
    install("western", "mine = western_models:make")
    model = make_model("mine/small", greeting="howdy")
    assert model.complete(Request(system=(), user=(Block("?"),))).text == "howdy"
    assert type(agents.make("lm:mine/small")).__name__ == type(agents.make("lm:scripted/stub")).__name__
    with pytest.raises(ConfigError, match=r"no setting 'greting': it has greeting"):
        make_model("mine/small", greting="x")


def test_an_object_of_its_own_comes_under_the_budget(install: Callable[..., None]) -> None:
    install("western", "mine = western_models:Own")
    budget = Budget(max_tokens=1000)
    model = SharedModels(budget=budget).get("mine/small")
    reply = model.complete(Request(system=(), user=(Block("?"),), max_tokens=10))
    assert (model.name, reply.text, budget.spent.output_tokens) == ("own/small", "howdy", 5)


def test_one_that_is_ready_does_not_spend_past_the_budget(install: Callable[..., None]) -> None:
    install("western", "mine = western_models:ready", "free = western_models:make")
    assert SharedModels(budget=Budget()).get("mine/small").name == "own/small"
    models = SharedModels(budget=Budget(max_tokens=1000))
    with pytest.raises(ConfigError, match="'own/small': it was made without this budget"):
        models.get("mine/small")
    assert models.get("free/small").name == "scripted/small"


def test_its_version_is_part_of_the_key_of_a_game(install: Callable[..., None]) -> None:
    install("western", "mine = western_models:make")
    assert answered_by("mine/small") == {"model": "mine/small", "distribution": "western 1.0"}
    assert answered_by("scripted/stub") == {"model": "scripted/stub"}


def test_a_name_of_ours_stays_ours(install: Callable[..., None]) -> None:
    install("western", "scripted = western_models:make")
    assert make_model("scripted/stub").name == "scripted/stub"
    with pytest.raises(ConfigError, match="there are scripted/stub, scripted/pacifist"):
        make_model("scripted/other")


@pytest.mark.parametrize(
    ("points", "fault"),
    [
        (["mine = western_models:no"], "western_models:no cannot be loaded"),
        (["mine = no_such_module:make"], "no_such_module:make cannot be loaded"),
        (["yours = western_models:make"], r"give one of openai/NAME, .*yours/NAME"),
    ],
)
def test_faults_are_told(install: Callable[..., None], points: list[str], fault: str) -> None:
    install("western", *points)
    with pytest.raises(ConfigError, match=fault):
        make_model("mine/small")


def test_two_distributions_with_one_name(install: Callable[..., None]) -> None:
    install("western", "mine = western_models:make")
    install("eastern", "mine = western_models:make")
    with pytest.raises(ConfigError, match="2 distributions have it"):
        make_model("mine/small")
