"""What errors say besides: which word of a closed list was meant, and what to install."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

import agents
import evaluation
import modal_env.errors
import welfare_env.extras
from agents.specs import AGENTS
from training.board.rewards import Reward
from training.board.seats import read_coalitions
from welfare_env import Game, Rules, WelfareEnvError, load_board
from welfare_env.engine.engines import make_engine
from welfare_env.errors import did_you_mean

BOARD = load_board("standard")
TOKENS = Rules(press="tokens")


MISSPELT: list[tuple[Callable[[], object], str]] = [
    (lambda: agents.make("prosocail"), "prosocial"),
    (lambda: agents.make("exploiter:nise=dove,attack=dumbbot"), "nice"),
    (lambda: agents.make("exploiter:nice=dove,attack=dumbot"), "dumbbot"),
    (lambda: agents.make("lm:scripted/stub,temprature=1"), "temperature"),
    (lambda: agents.make("rl:atacker"), "attacker"),
    (lambda: agents.make("rl:attacker,greedy=yess"), "yes"),
    (lambda: agents.make("program:FareBot"), "FairBot"),
    (lambda: agents.make("import:agents.HoldPolcy"), "HoldPolicy"),
    (lambda: Rules(variant="welfar"), "welfare"),
    (lambda: Rules.from_dict({"yeers": 3}), "years"),
    (lambda: make_engine("fats", BOARD, Rules()), "fast"),
    (lambda: Game().submit("FRANSE", []), "FRANCE"),
    (lambda: Game(rules=TOKENS).send("FRANCE", "GERMANY", "propose pease"), "propose peace"),
    (lambda: evaluation.exploitability("dove", coalitions="single"), "singles"),
    (lambda: evaluation.exploitability("dove", coalitions=["ITALIE"]), "ITALY"),
    (lambda: read_coalitions("FRANCE,RUSIA", BOARD.powers), "RUSSIA"),
    (lambda: Reward.parse("soical"), "social"),
    (lambda: load_board("stadnard"), "standard"),
]


def test_what_was_meant() -> None:
    for ask, meant in MISSPELT:
        with pytest.raises(WelfareEnvError, match=rf"did you mean .*{meant}.*\?"):
            ask()


def test_what_is_like_nothing_gets_no_suggestion() -> None:
    assert did_you_mean("gandhi", AGENTS) == ""
    assert did_you_mean(5, AGENTS) == ""
    assert did_you_mean("", AGENTS) == ""


def test_the_nearest_come_first() -> None:
    assert did_you_mean("HOLDD", ["random", "holds", "hold"]) == " (did you mean 'hold' or 'holds'?)"


# What to install: with the constraints in a clone, by the distribution's name from a wheel.

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("package", [welfare_env.extras, modal_env.errors])
def test_a_clone_and_a_wheel(package: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cloned = "the extra rl: in the clone, pip install -c constraints.txt -e '.[rl]'"
    assert package.install_extra("rl") == cloned
    monkeypatch.setattr(package, "__file__", str(tmp_path / "site-packages" / "package" / "extras.py"))
    assert package.install_extra("rl") == "the extra rl: pip install 'welfare-env[rl]'"


def test_no_error_says_it_in_another_way() -> None:
    sources = [path for package in ("agents", "evaluation", "modal_env", "training", "welfare_env")
               for path in sorted((ROOT / package).rglob("*.py")) if path.name != "extras.py"]  # fmt: skip
    assert [path.name for path in sources if "pip install -e" in path.read_text(encoding="utf-8")] == []
