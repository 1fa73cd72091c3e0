"""Red team: many attacks on a policy, and the best of them."""

import json
import shlex
from types import SimpleNamespace

import pytest

import agents
import evaluation
import welfare_env
from agents.specs import read_profile
from evaluation import Setting
from evaluation.cli.attacks import command_of
from evaluation.cli.options import GameOptions
from evaluation.experiments.deviators import read_deviators
from evaluation.experiments.red_team import attacks_on, raids, thefts
from evaluation.tables.attack_tables import red_team_table
from evaluation.tables.game_tables import cell
from tests.evaluation.conftest import call
from tests.playing import play
from welfare_env import Game, Rules

SMALL = {"map_name": "clique:3", "rules": Rules(years=3, press=None)}


@pytest.fixture(scope="module")
def found():
    return evaluation.red_team("prosocial", "quick", games=1, **SMALL)


def test_the_best_of_all_is_the_value(found):
    screened = {(each.deviator, each.coalition): each.gain for each in found.found.screened}
    best = (found.best.deviator, found.best.coalition)
    finalists = {(each.deviator, each.coalition) for each in found.found.gains}
    assert best in finalists
    assert screened[best] == max(screened[each] for each in finalists)
    assert found.value.value == found.best.gain.value == found.witness.gain > 0
    assert {size for size, _ in found.by_kind()} == {1, 2}  # all three together would rob nobody
    assert not {"pact", "launder", "hand over", "lend"} & {kind for size, kind in found.by_kind() if size == 1}
    for (size, kind), each in found.by_kind().items():
        of_kind = [gain for (name, who), gain in screened.items() if (len(who), found.kinds[name]) == (size, kind)]
        assert screened[each.deviator, each.coalition] == max(of_kind)


def test_each_kind_is_printed_with_its_own_gain(found):
    gains = [cell(best.gain) for _, best in sorted(found.by_kind().items())]
    assert len(set(gains)) > 1
    assert list(map(str, red_team_table(found).columns[-1].cells))[: len(gains)] == gains


@pytest.mark.parametrize("trained", [(), ("dumbbot", "dove", "dove", "pact:years=1")])
def test_a_plan_names_each_attack_once(trained):
    setting = Setting(rules=Rules(press=None))
    tried, kinds = attacks_on(read_profile("marshal"), "marshal", setting, "full", trained)
    assert kinds["dumbbot"] == "portfolio"
    attacks = [each.attack for each in tried]
    assert len(set(attacks)) == len(attacks)
    assert {name for name, _ in attacks} == set(kinds)
    assert all(each.coordinated for each in tried if each.attack[0] == "pact:years=1" and len(each.coalition) > 1)
    sizes = [len(coalition) for _, coalition in attacks]
    assert {size: sizes.count(size) > 0 for size in range(1, 6)} == {1: True, 2: True, 3: True, 4: True, 5: False}


@pytest.mark.parametrize(("years", "budget"), [(1, "quick"), (2, "full"), (3, "quick"), (10, "full")])
def test_games_of_any_length(years, budget):
    setting = Setting(rules=Rules(years=years, press=None), map_name="clique:3")
    tried, _ = attacks_on(read_profile("hold"), "hold", setting, budget, ())
    assert len(tried) > 10
    assert len(raids(years)["raid"]) == years
    assert [kind for kind, specs in thefts(years, 2).items() if not specs] == (["false flag"] if years < 3 else [])


@pytest.mark.parametrize(("years", "starts"), [(1, {0, 1}), (4, {0, 1, 2}), (10, {0, 1, 5, 7, 8})])
def test_thefts_begin_early_midway_and_late_and_take_up_to_two_centers_more(years, starts):
    def steps(kind):
        return [(int(spec["years"]), int(spec["centers"])) for spec in map(options_of, thefts(years, 5)[kind])]

    assert steps("theft") == [(year, most) for year in sorted(starts) for most in (5, 6, 7)]
    assert sorted(steps("squad")) == sorted((year, most) for year in starts for most in (5, 10) for _ in range(3))
    assert [int(options_of(spec)["years"]) for spec in raids(years)["raid"]] == list(range(years))
    assert {spec.partition("force=")[2].partition(",")[0] for spec in thefts(years, 5)["squad"]} == {"1", "2", "3"}


def options_of(spec):
    return dict(part.split("=", 1) for part in spec.partition(":")[2].split(","))


def test_a_false_flag_steals_disarms_and_raids():
    attack = thefts(10, 5)["false flag"][0]
    env = welfare_env.make(rules=Rules(press=None))
    players = {power: agents.make(attack if power == "RUSSIA" else "hold") for power in env.possible_agents}
    game = play(env, players).game
    ends = {record.position.year: record.after for record in game.history}
    units = [len(ends[year].units["RUSSIA"]) for year in range(1901, 1911)]
    owned = [len(ends[year].centers["RUSSIA"]) for year in range(1901, 1911)]
    assert owned[4] > 5  # the theft
    assert units[:5].count(0) >= 3  # disarmed
    assert max(units[5:9]) > 0  # the raid
    assert owned[9] > owned[4]


@pytest.mark.slow
def test_the_best_attack_is_printed_as_a_command_that_plays_it_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    own = ["--store", "s.db", "--workers", "1"]
    team = ["red-team", "2*prosocial + 1*dove", "--budget", "quick", "--games", "2", "--seed", "7", "--years", "3"]
    team += ["--map", "clique:3", "--message-rounds", "0"]
    command = shlex.split(call(*team, *own).splitlines()[-1])
    assert command[:2] == ["welfare-env", "exploitability"]
    again, best = json.loads(call(*command[1:], *own, "--json")), json.loads(call(*team, *own, "--json"))
    assert again["exploitability"]["value"] == best["exploitability"]["value"] > 0
    assert (again["best"], again["seed"]) == (best["best"], 7)
    assert Game.load(tmp_path / "worst.json").is_done


def test_what_the_command_of_an_attack_takes_over():
    play = GameOptions(2, years=2, press="tokens", paper_code=True, map_name="my maps/a.map")
    profile = read_profile("2*dove + 1*hold")
    (exploiter,) = read_deviators(None, profile, "2*dove + 1*hold", Setting(**SMALL))
    best = SimpleNamespace(deviator=exploiter.name, coalition=("PLAYERA", "PLAYERC"))
    found = SimpleNamespace(best=best, specs={exploiter.name: exploiter.given}, coordinated=(exploiter.name,))
    command = command_of(found, "2*dove + 1*hold", play)
    assert command == (
        "welfare-env exploitability '2*dove + 1*hold' --coalitions PLAYERA+PLAYERC "
        "--deviator 'exploiter:nice={policy},attack=dumbbot' --coordinated "
        "--games 2 --years 2 --map 'my maps/a.map' --press tokens --paper-code --witness worst.json"
    )
    assert read_deviators(exploiter.given, profile, "", Setting(**SMALL))[0].attackers == exploiter.attackers
