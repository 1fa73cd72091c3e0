"""Policies of one's own, as classes, factories and instances: what they are shown, and the seeds that they draw."""

import logging
import pickle
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import agents
import evaluation
from agents import DovePolicy, DumbBotPolicy, ExploiterPolicy, HoldPolicy, RandomPolicy
from agents.policy import ScriptedPolicy
from agents.specs import read
from evaluation import EvaluationError, GameSpec
from evaluation.play.playing import seat_seed
from welfare_env import Rules

RULES = Rules(years=1, press=None)
BOARD = {"rules": RULES, "map_name": "clique:3"}
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
    game = GameSpec(tuple((power, lambda: HoldPolicy()) for power in POWERS), 0, RULES, "clique:3", "fast")
    with pytest.raises(EvaluationError, match="policies without a name"):
        pickle.dumps(game)
    named = GameSpec(tuple((power, HoldPolicy) for power in POWERS), 0, RULES, "clique:3", "fast")
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
    evaluation.self_play(policy, games=1, rules=RULES)


def test_our_scripted_players_do_not_look() -> None:
    for spec in ("random", "hold", "prosocial", "dove", "dumbbot", "exploiter:nice=dove,attack=dumbbot"):
        assert agents.make(spec).reads_observations is False  # type: ignore[attr-defined]
    assert ScriptedPolicy().reads_observations is False
    assert Looking().reads_observations is True
    assert ExploiterPolicy(HoldPolicy(), Plain()).reads_observations is True


TOY: dict[str, Any] = BOARD | {"rules": Rules(years=2, press=None)}
SEATS = ("FRANCE", "ITALY")
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
    one = evaluation.self_play(policy, games=4, **TOY)
    seeds = [seed for each in drawn.values() for seed in each]
    assert len(set(seeds)) == len(seeds) == 4 * 3
    assert max(seeds) < 2**32  # what older generators take
    assert evaluation.self_play(policy, games=4, **TOY).to_dict() == one.to_dict()


def test_a_player_in_a_player_counts_and_keeps_its_seed() -> None:
    own, nested = read(DRAWER), read(f"exploiter:nice=({DRAWER}),attack=dumbbot")
    unnamed = read(lambda: ExploiterPolicy(nice=own.make(), attack=DumbBotPolicy()))
    seeds = [[seat_seed(7, seat, each, each.make()) for seat in SEATS] for each in (own, nested, unnamed)]
    assert len({*seeds[0], 7}) == 3
    assert seeds[0] == seeds[1] == seeds[2]  # until it attacks, the exploiter plays the same as the policy
    for ours in (read("exploiter:nice=dove,attack=dumbbot"), read(ExploiterPolicy(DovePolicy(), DumbBotPolicy()))):
        assert seat_seed(7, "FRANCE", ours, ours.make()) == 7  # mixed with the power by the policies themselves


@pytest.mark.slow
def test_a_player_of_ones_own_has_the_same_seeds_in_workers() -> None:
    one, two = (evaluation.self_play(DRAWER, games=2, workers=workers, **TOY).rows() for workers in (1, 2))
    assert one == two
