"""Self-play: the paper's prosocial figures to the last digit, what a result is made of, and whoever may play."""

import doctest
import json
import logging
import math
import pickle
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import evaluation
from agents import DovePolicy, DumbBotPolicy, ExploiterPolicy, HoldPolicy, RandomPolicy
from agents.specs import read
from evaluation import EvaluationError, GameSpec, SelfPlayResult, self_play
from evaluation.experiments.self_play import MEASURES
from evaluation.measures.intervals import Estimate
from evaluation.play.playing import seat_seed
from welfare_env import Rules

SHORT = Rules(years=3, message_rounds=0)
SHARES = {"AUSTRIA": 5, "ENGLAND": 5, "FRANCE": 5, "GERMANY": 5, "ITALY": 4, "RUSSIA": 5, "TURKEY": 5}


def told(result: SelfPlayResult) -> str:
    return json.dumps(result.to_dict(), allow_nan=False)


# The paper's figures


@pytest.mark.parametrize("rules", [SHORT, Rules(), Rules(years=2, mediator=True), Rules(years=2, retreat_welfare=True)])
def test_prosocial_players_share_the_board_in_peace(rules: Rules) -> None:
    result = self_play("prosocial", games=2, rules=rules)
    assert {power: estimate.value for power, estimate in result.welfare_per_year.items()} == SHARES
    nash = result.root_nash_welfare
    assert nash.value == pytest.approx((5**6 * 4) ** (1 / 7), abs=1e-12)
    assert f"{nash:.3f}" == "4.843 [identical in 2 games]"
    for nothing in (result.stolen_centers, result.conflicts):
        assert (nothing.value, nothing.per_game) == (0, (0, 0))
    assert result.proficiency.value == 1  # all replies parse, all orders are legal, all 34 centers are owned


# What a result is made of


@pytest.fixture(scope="module")
def random_games() -> SelfPlayResult:
    return self_play("random", games=4, seed=3, rules=SHORT)


def test_means_are_those_of_the_records(random_games: SelfPlayResult) -> None:
    points = {power: [] for power in SHARES}
    roots = []
    for record in random_games.records:
        end = record["phases"][-1]["state"]["welfare"]
        for power in SHARES:
            points[power].append(end[power] / 3)
        roots.append(math.prod(end[power] / 3 for power in SHARES) ** (1 / 7))
    for power, estimate in random_games.welfare_per_year.items():
        assert estimate.per_game == tuple(points[power])
        assert estimate.value == pytest.approx(sum(points[power]) / 4)
        assert not estimate.has_interval  # of four games
    assert random_games.root_nash_welfare.per_game == pytest.approx(tuple(roots))
    assert random_games.root_nash_welfare.value == pytest.approx(sum(roots) / 4)


def test_the_example_in_the_docs_is_right() -> None:
    assert doctest.testmod(evaluation).failed == 0


def test_every_measure_of_the_games_is_reported(random_games: SelfPlayResult) -> None:
    plain = json.loads(told(random_games))
    assert [plain[key] for key in ("policy", "seed", "games", "map")] == ["random", 3, 4, "standard"]
    assert Rules.from_dict(plain["rules"]) == SHORT
    for name in MEASURES:
        assert Estimate.from_dict(plain[name]).per_game == getattr(random_games, name).per_game
    for name in ("nash_welfare", "root_nash_welfare_smoothed"):
        assert plain[name]["per_game"] == [getattr(game, name) for game in random_games.measures]
    roots = plain["root_nash_welfare"]["per_game"]
    assert plain["nash_welfare"]["per_game"] == pytest.approx([root**7 for root in roots])
    for name, of in (("units_by_year", "units"), ("centers_by_year", "centers"), ("welfare_by_year", "welfare")):
        assert list(plain[name]) == ["1901", "1902", "1903"]
        for number, year in enumerate((1901, 1902, 1903)):
            per_game = [getattr(game.yearly_curves, of)[number] for game in random_games.measures]
            estimate = getattr(random_games, name)[year]
            assert estimate.per_game == tuple(per_game)
            assert estimate.value == pytest.approx(sum(per_game) / 4)
            assert plain[name][str(year)] == json.loads(json.dumps(estimate.to_dict()))
    ends = [record["phases"][-1]["state"]["units"] for record in random_games.records]
    assert random_games.units_by_year[1903].per_game == tuple(sum(map(len, units.values())) / 7 for units in ends)


def test_a_year_is_the_mean_over_the_games_that_reached_it(random_games: SelfPlayResult) -> None:
    first = random_games.measures[0]
    curves = replace(first.yearly_curves, years=(1901,), units=(9.0,), centers=(9.0,), welfare=(9.0,))
    short = replace(random_games, measures=(replace(first, yearly_curves=curves), *random_games.measures[1:]))
    assert [(year, value.n) for year, value in short.units_by_year.items()] == [(1901, 4), (1902, 3), (1903, 3)]
    assert short.units_by_year[1901].per_game[0] == 9


# Mixed profiles: who sits where in each game, payoffs by policy, and gains by leaving them

QUICK = Rules(years=2, press=None)


def test_seats_go_round_and_payoffs_are_told_by_policy() -> None:
    result = self_play("3*dove + 4*hold", 7, rules=QUICK)
    for power in SHARES:
        assert sorted(seats[power] for seats in result.seats) == ["dove"] * 3 + ["hold"] * 4
    dove, hold = result.welfare_by_policy["dove"], result.welfare_by_policy["hold"]
    for game, measures in enumerate(result.measures):
        mine = [points for power, points in measures.welfare_per_year.items() if result.seats[game][power] == "dove"]
        assert dove.per_game[game] == pytest.approx(sum(mine) / 3)
    assert dove.value != hold.value
    assert result.to_dict()["welfare_by_policy"].keys() == {"dove", "hold"}
    assert "welfare_by_policy" not in self_play("hold", 1, rules=QUICK).to_dict()


def test_the_default_deviator_exploits_the_policy_in_whose_seat_it_sits() -> None:
    seats: Any = {"coalitions": ["FRANCE", "ITALY"], "seats": "fixed"}
    result = evaluation.exploitability("FRANCE*dove + 6*hold", 1, rules=QUICK, **seats)
    assert result.deviator == "exploiter:nice=(POLICY),attack=dumbbot"
    assert result.profile == "FRANCE*dove + 6*hold"
    for power, nice in (("FRANCE", "dove"), ("ITALY", "hold")):
        others = dict.fromkeys(SHARES, "hold") | {"FRANCE": "dove"}
        alone = self_play(others | {power: f"exploiter:nice={nice},attack=dumbbot"}, 1, rules=QUICK)
        assert result.deviating[(power,)][0].welfare_per_year == alone.measures[0].welfare_per_year


def test_baseline_and_deviation_have_the_same_seats() -> None:
    """Nothing changes where the deviator's policy sits anyway: each power plays it in two of six games."""
    options: Any = {"deviator": "dove", "coalitions": "all-singles", "map_name": "clique:3", "rules": QUICK}
    result = evaluation.exploitability("1*dove + 2*random", 6, **options)
    for gain in result.gains:
        assert gain.gain.per_game.count(0) >= 2
        assert len(gain.gain.per_game) == 6


# Policies of one's own, as classes, factories and instances: what they are shown, and the seeds that they draw

YEAR = Rules(years=1, press=None)
BOARD = {"rules": YEAR, "map_name": "clique:3"}
POWERS = ("PLAYERA", "PLAYERB", "PLAYERC")
OWN = (
    "from agents import RandomPolicy\n\n\nclass Mine(RandomPolicy):\n    def __init__(self, k=1):\n        self.k = k\n"
)


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_random.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    import own_random

    yield own_random
    del sys.modules["own_random"]


def test_a_class_is_stored_by_its_name(own, kept, played):
    result = evaluation.self_play(own.Mine, games=2, store=kept, **BOARD)
    assert result.policy == "import:own_random.Mine"
    assert evaluation.self_play("import:own_random.Mine", games=2, store=kept, **BOARD).to_dict() == result.to_dict()
    assert (len(played), kept.count()) == (2, 2)
    evaluation.self_play("import:own_random.Mine,k=3", games=2, store=kept, **BOARD)
    assert (len(played), kept.count()) == (4, 4)


@pytest.mark.parametrize("kind", ["factory", "instance", "class"])
def test_what_has_no_name_is_played_but_not_stored(kind, kept, caplog):
    class Local(RandomPolicy):
        pass

    policy = {"factory": lambda: RandomPolicy(), "instance": RandomPolicy(), "class": Local}[kind]
    with caplog.at_level(logging.WARNING):
        result = evaluation.self_play(policy, games=2, store=kept, workers=2, **BOARD)
    [message] = [record.getMessage() for record in caplog.records]
    assert kind in result.policy
    assert message.startswith(f"games of {result.policy} are not stored and played in this process")
    assert kept.count() == 0
    usual = evaluation.self_play("random", games=2, **BOARD).to_dict()
    assert (result.to_dict() == usual | {"policy": result.policy}) == (kind != "class")  # a subclass has own seeds


def test_an_instance_is_copied_for_each_seat_and_game():
    class Counting(HoldPolicy):
        resets = 0

        def reset(self, agent, seed=0):
            self.resets += 1
            assert self.resets == 1
            super().reset(agent, seed)

    policy = Counting()
    evaluation.self_play(policy, games=2, **BOARD)
    assert policy.resets == 0


def test_exploitability_of_what_has_no_name():
    result = evaluation.exploitability(lambda: HoldPolicy(), games=1, coalitions=["PLAYERA"], **BOARD)
    named = evaluation.exploitability("hold", games=1, coalitions=["PLAYERA"], **BOARD)
    assert result.value.per_game == named.value.per_game
    assert result.deviator == f"exploiter:nice=({result.profile}),attack=dumbbot"
    own = evaluation.exploitability("hold", 1, deviator=HoldPolicy, coalitions=["PLAYERA"], **BOARD)
    assert own.deviator == "import:agents.scripted.hold.HoldPolicy"
    assert own.value.value == 0


def test_what_has_no_name_is_not_sent_to_another_process():
    game = GameSpec(tuple((power, lambda: HoldPolicy()) for power in POWERS), 0, YEAR, "clique:3", "fast")
    with pytest.raises(EvaluationError, match="policies without a name"):
        pickle.dumps(game)
    named = GameSpec(tuple((power, HoldPolicy) for power in POWERS), 0, YEAR, "clique:3", "fast")
    assert pickle.loads(pickle.dumps(named)) == named  # noqa: S301 (our own)


class Looking(HoldPolicy):
    """Overrides `act`, so that it may look."""

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        assert observation["observation"].shape[0] == len(info["view"].board.provinces)
        return super().act(observation, info)


class Plain:
    """No subclass of ours, and says nothing about observations."""

    def reset(self, agent: str, seed: int = 0) -> None:
        self.holding = HoldPolicy()
        self.holding.reset(agent, seed)

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        assert observation["action_mask"].any()
        return self.holding.act(observation, info)


@pytest.mark.parametrize("policy", [Looking, Plain])
def test_who_may_look_is_shown_the_board(policy: Any) -> None:
    evaluation.self_play(policy, games=1, rules=YEAR)
    assert HoldPolicy().reads_observations is False
    assert ExploiterPolicy(HoldPolicy(), policy()).reads_observations is True


TWO_YEARS: dict[str, Any] = BOARD | {"rules": Rules(years=2, press=None)}
TWO = ("FRANCE", "ITALY")
DRAWER = f"import:{__name__}.Drawer"


class Drawer:
    """Draws its orders from the seed alone, as a user would write it."""

    def reset(self, agent: str, seed: int = 0) -> None:
        self.rng, drawn[agent] = np.random.default_rng(seed), [*drawn.get(agent, []), seed]

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        view = info["view"]
        return view.encode_orders([self.rng.choice(orders) for orders in view.legal_orders.values()])


drawn: dict[str, list[int]] = {}


@pytest.mark.parametrize("policy", [Drawer, Drawer()])
def test_seats_and_games_have_seeds_of_their_own(policy: Any) -> None:
    drawn.clear()
    one = evaluation.self_play(policy, games=4, **TWO_YEARS)
    seeds = [seed for each in drawn.values() for seed in each]
    assert len(set(seeds)) == len(seeds) == 4 * 3
    assert max(seeds) < 2**32  # what older generators take
    assert evaluation.self_play(policy, games=4, **TWO_YEARS).to_dict() == one.to_dict()


def test_a_player_in_a_player_counts_and_keeps_its_seed() -> None:
    own, nested = read(DRAWER), read(f"exploiter:nice=({DRAWER}),attack=dumbbot")
    unnamed = read(lambda: ExploiterPolicy(nice=own.make(), attack=DumbBotPolicy()))
    seeds = [[seat_seed(7, seat, each, each.make()) for seat in TWO] for each in (own, nested, unnamed)]
    assert len({*seeds[0], 7}) == 3
    assert seeds[0] == seeds[1] == seeds[2]  # until it attacks, the exploiter plays the same as the policy
    for ours in (read("exploiter:nice=dove,attack=dumbbot"), read(ExploiterPolicy(DovePolicy(), DumbBotPolicy()))):
        assert seat_seed(7, "FRANCE", ours, ours.make()) == 7  # mixed with the power by the policies themselves
