"""The names and promises that users rely on, each of them used once, through public names only.

What other tests check in depth is only touched here: a cut, a move or a rename that takes away something promised must
fail in this file. Other forms of the environment are in tests/welfare_env (PettingZoo's own tests, vectors, OpenSpiel),
training in tests/training.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import agents
import evaluation
import welfare_env
from evaluation import exact
from evaluation.cli.commands import app
from tests.processes import python, run
from welfare_env import Game, Rules

ROOT = Path(__file__).resolve().parents[1]
QUICK: dict[str, Any] = {"rules": Rules(years=1, message_rounds=1), "map_name": "clique:3"}

SEATS = {"PLAYERA": "dove", "PLAYERB": "hold", "PLAYERC": "prosocial"}


class Mirror:
    """Orders the first legal orders, and says nothing."""

    def __init__(self, k: int = 0) -> None:
        self.k = k

    def reset(self, agent: str, seed: int = 0) -> None:
        self.agent = agent

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        view = info["view"]
        if view.asked == "messages":
            return view.encode_messages([])
        return view.encode_orders([orders[self.k] for orders in view.legal_orders.values()])


def played(env: Any, policies: Mapping[str, Any]) -> dict[str, float]:
    """What each agent was paid in a game of any AEC environment; agents without a policy draw from the mask."""
    env.reset(seed=0)
    for agent, policy in policies.items():
        policy.reset(agent=agent, seed=0)
    for number, agent in enumerate(env.possible_agents):
        env.action_space(agent).seed(number)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        paid[agent] += reward
        if terminated or truncated:
            env.step(None)
        elif agent in policies:
            env.step(policies[agent].act(observation, info))
        else:
            env.step(env.action_space(agent).sample(observation["action_mask"]))
    assert env.agents == []
    return paid


def welfare_env_command(*line: str) -> str:
    """What the console script prints that pyproject.toml names."""
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["scripts"]
    module, _, name = scripts["welfare-env"].partition(":")
    return python(f"import sys\nfrom {module} import {name}\nsys.exit({name}())", *line)


def commands(group: str = "") -> set[str]:
    """The commands that the help of `welfare-env`, or of a group of it, lists."""
    told = CliRunner().invoke(app, [*group.split(), "--help"], env={"COLUMNS": "200", "TERM": "dumb"})
    return set(re.findall(r"^│ ([a-z][a-z-]+) ", told.output, re.MULTILINE))


# Environments of Diplomacy


def test_the_environment_is_the_papers_unless_told_otherwise() -> None:
    rules = welfare_env.make().unwrapped.rules
    assert (rules.variant, rules.years, rules.press, rules.message_rounds) == ("welfare", 10, "text", 3)
    options: dict[str, Any] = {"years": 2, "message_rounds": 1, "map_name": "standard", "engine": "reference"}
    for variant in ("welfare", "standard"):
        env = welfare_env.make(press="tokens", variant=variant, render_mode="ansi", **options)
        env.reset(seed=0)
        assert "S1901M" in env.render()
    fast, reference = (welfare_env.make("clique:3", years=1, press=None, engine=name) for name in ("fast", "reference"))
    assert played(fast, {}) == played(reference, {})


def test_the_same_seed_gives_the_same_games() -> None:
    found = (evaluation.self_play("random", games=5, seed=seed, **QUICK).welfare_per_year for seed in (5, 5, 6))
    one, two, other = ([value.per_game for value in welfare.values()] for welfare in found)
    assert one == two != other


# Games by hand, rules


def test_a_game_by_hand(tmp_path: Path) -> None:
    game = Game(map_name="standard", rules=Rules(years=10))
    assert game.phase == "S1901M"
    assert game.units["FRANCE"] == ("F BRE", "A MAR", "A PAR")
    assert (game.centers["FRANCE"], game.welfare["FRANCE"]) == (("BRE", "MAR", "PAR"), 0)
    assert "A PAR - BUR" in game.legal_orders("FRANCE")["A PAR"]
    game.submit("FRANCE", ["A PAR - BUR", "F BRE - MAO"])
    game.submit("GERMANY", ["A MUN - BUR"])
    with pytest.raises(welfare_env.IllegalOrderError, match="F LON - MUN"):
        game.submit("ENGLAND", ["F LON - MUN"])
    game.submit("ENGLAND", ["F LON - MUN"], strict=False)
    game.send("FRANCE", "ENGLAND", "for you alone")
    game.send("FRANCE", "GLOBAL", "for all")
    seen = {power: [message.text for message in game.view(power).messages] for power in ("ENGLAND", "GERMANY")}
    assert seen == {"ENGLAND": ["for you alone", "for all"], "GERMANY": ["for all"]}
    game.advance()
    (record,) = game.history
    assert (record.results["A PAR"], record.results["F BRE"]) == (["bounce"], [])
    assert [void.order for void in record.void["ENGLAND"]] == ["F LON - MUN"]
    assert "F LON" in game.units["ENGLAND"]
    game.save(tmp_path / "game.json")
    assert Game.load(tmp_path / "game.json").record() == game.record()
    assert not game.is_done
    game.replay(tmp_path / "game.html")
    assert "<svg" in (tmp_path / "game.html").read_text(encoding="utf-8")
    assert "<iframe" in game._repr_html_()


# Players

PLAYERS = [
    "random", "hold", "prosocial", "dumbbot", "dove:share=0.25", "exploiter:nice=prosocial,attack=dumbbot",
    "exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot", "grim", "police", "sheriff:fight=punish",
    "marshal", "deterrent:provoked=theft,fight=dumbbot", "posse:force=2,more=1", "punish", "tit-for-tat", "fortress",
    "pact:years=1", "plan:budget=3", "campaign:plan=no-home,victim=1", "noisy:of=dove,error=0.1", "punisher:t=1",
    "mix:dove=1/3,hold=2/3", "lm:scripted/stub",
]  # fmt: skip
ELSEWHERE = {"rl", "human", "import", "program", "best-reply"}  # each has tests of its own in tests/agents


@pytest.mark.parametrize("number", range(0, len(PLAYERS), 6))
def test_specs_make_players(number: int) -> None:
    """Six at a time, in one game."""
    env = welfare_env.make("clique:6", years=1, message_rounds=1, strict=True)
    specs = [*PLAYERS[number : number + 6], *["hold"] * 6]
    players = {power: agents.make(spec) for power, spec in zip(env.possible_agents, specs, strict=False)}
    assert all(isinstance(player, agents.Policy) for player in players.values())
    played(env, players)


def test_no_documented_spec_is_left_out() -> None:
    cells = re.findall(r"^\| (``.*?``) \|", agents.__doc__ or "", re.MULTILINE)
    tried = {re.split(r"[^\w-]", spec)[0] for spec in PLAYERS} | ELSEWHERE
    documented = {name.partition(":")[0] for cell in cells for name in re.findall(r"``([a-z-]+)", cell)}
    assert documented == tried


@pytest.mark.parametrize("name", ["attacker", "best-response"])
def test_shipped_networks_play(name: str) -> None:
    seats = dict.fromkeys(welfare_env.load_board().powers, "hold") | {"FRANCE": f"rl:{name}"}
    assert evaluation.self_play(seats, games=1, rules=Rules(years=1, press=None)).welfare_per_year["FRANCE"].value >= 0


# Measures


def test_self_play_has_values_intervals_and_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mix = "2*dove + 1*(exploiter:nice=dove,attack=dumbbot)"
    result = evaluation.self_play(mix, games=2, rules=Rules(years=1), map_name="clique:3")
    value = result.root_nash_welfare
    assert (len(value.per_game), value.value) == (2, pytest.approx(np.mean(value.per_game)))
    assert {"low", "high"} <= value.to_dict().keys()
    assert len(result.to_frame()) == 2 * 3
    tables = "--csv table.csv --parquet table.parquet"
    monkeypatch.chdir(tmp_path)
    CliRunner().invoke(app, f"self-play hold --map clique:3 --games 2 --years 1 {tables}")
    assert len((tmp_path / "table.csv").read_text(encoding="utf-8").splitlines()) == 1 + 2 * 3
    assert (tmp_path / "table.parquet").exists()


@pytest.mark.parametrize("policy", [Mirror, Mirror(), "1*dove + 2*hold", SEATS])
def test_a_policy_is_given_in_any_form(policy: Any) -> None:
    assert evaluation.self_play(policy, games=1, **QUICK).root_nash_welfare.value >= 0
    assert evaluation.exploitability(policy, deviator=Mirror, games=1, **QUICK).value.value >= 0


def test_other_measures(tmp_path: Path) -> None:
    attack = evaluation.red_team("grim", budget="quick", games=2, **QUICK)
    attack.witness.save(tmp_path / "witness.json")
    assert evaluation.cross_play(["prosocial", "dove"], games=3, seats="balanced", **QUICK).equilibria
    assert evaluation.compare("hold", "dove", measure="root_nash_welfare", games=2, **QUICK).baseline == "hold"


def test_finished_games_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured() -> dict[str, Any]:
        with evaluation.GameStore(tmp_path / "games.sqlite") as store:
            return evaluation.self_play("dove", games=2, store=store, **QUICK).to_dict()

    first = measured()
    monkeypatch.setattr(agents.DovePolicy, "act", lambda *_: pytest.fail("played again"))
    assert measured() == first


def test_exact_values_of_toy_boards() -> None:
    assert python("import evaluation\nprint(evaluation.exact.best_response.__name__)") == "best_response\n"
    response = exact.best_response("clique:2", "prosocial", "PLAYERA", years=1)
    found = exact.exploitability("clique:2", "prosocial", 1)
    assert found.gap >= response.gain >= 0


SHIPPED = {path.stem: path for path in (ROOT / "evaluation").rglob("shipped/*.toml")}


def tiny(path: Path) -> str:
    """The text of an experiment that plays a year on a toy board, with two of the values swept over."""
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    figures, sweep = table.pop("figures"), table.pop("sweep", {})
    assert figures
    table |= {"map_name": "clique:3", "games": 1, "profiles": ["lm:scripted/stub"]}
    if "deviators" in table:  # networks play on the board of their training only
        table["deviators"] = [deviator.replace("rl:attacker", "dumbbot") for deviator in table["deviators"]]
    short = table.pop("rules", {}) | {"years": 1, "message_rounds": 1}
    rules = {name: value for name, value in short.items() if name not in sweep}
    parts = {"": table, "[rules]": rules, "[sweep]": {name: values[:2] for name, values in sweep.items()}}
    text = ""
    for head, values in parts.items():
        text += f"{head}\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in values.items())
    return text


@pytest.mark.parametrize("name", [
    "ablations", "costs", "exploitability", "message-rounds", "models", "paper-exploitability", "self-play",
    "variants", "years",
])  # fmt: skip
def test_a_shipped_experiment_runs_with_the_stub(name: str, tmp_path: Path) -> None:
    small = tmp_path / "small.toml"
    small.write_text(tiny(SHIPPED[name]), encoding="utf-8")
    conditions = evaluation.experiment(small).conditions
    assert conditions
    assert all(condition.measures for condition in conditions)


def test_an_experiment_runs_by_its_name() -> None:
    assert evaluation.experiment("self-play", profiles=["hold"], games=1).conditions


# Commands

COMMANDS = {
    "self-play", "exploitability", "red-team", "cross-play", "compare", "experiment", "exact", "theorems", "games",
    "replay", "transcript", "messages", "import", "store", "play", "train", "modal", "check-model", "warm-up", "demo",
}  # fmt: skip
GROUPS = {
    "train": {"welfare", "best-response", "psro", "modal", "resume", "curves", "export"},
    "modal": {"play", "tournament", "equilibria", "evolve", "replies"},
    "store": {"merge", "export"},
}


def test_commands() -> None:
    assert commands() == COMMANDS
    assert [name for group, names in GROUPS.items() for name in names - commands(group)] == []


def test_other_ways_to_start() -> None:
    assert welfare_env_command("--version").strip().endswith(welfare_env.__version__)
    assert "self-play" in run("-m", "evaluation", "--help", COLUMNS="200")[0]
    assert "best-response" in run("-m", "training", "--help", COLUMNS="200")[0]
