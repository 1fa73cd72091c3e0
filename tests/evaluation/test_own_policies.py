"""Evaluations of policies given as classes, factories and instances, and how often specs are read."""

import logging
import pickle
import sys

import pytest

import agents
import evaluation
from agents import HoldPolicy, RandomPolicy
from agents.specs import reading
from evaluation import EvaluationError, GameSpec
from welfare_env import Rules, UnknownAgentError

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


def test_every_spec_is_read_once(monkeypatch):
    texts = []
    real = reading.read_part

    def counted(text, names=(), depth=0):
        texts.extend([text] if depth == 0 else [])
        return real(text, names, depth)

    monkeypatch.setattr(reading, "read_part", counted)
    evaluation.exploitability("hold", games=5, coalitions="all-singles", **BOARD)
    assert sorted(texts) == ["exploiter:nice=(hold),attack=dumbbot", "hold"]
    texts.clear()
    evaluation.self_play("random", games=5, **BOARD)
    assert texts == ["random"]


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


def test_nothing_is_said_where_nothing_is_lost(caplog):
    evaluation.self_play(lambda: HoldPolicy(), games=1, **BOARD)
    assert caplog.records == []


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


def test_an_instance_that_keeps_state_in_itself_may_be_played_twice():
    policy = agents.make("dove")
    policy.reset("PLAYERA", 3)
    first = evaluation.self_play(policy, games=1, **BOARD)
    assert first.to_dict() == evaluation.self_play(policy, games=1, **BOARD).to_dict()


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


def test_faults_of_a_factory_are_named_before_a_game(played):
    with pytest.raises(UnknownAgentError, match="ZeroDivisionError"):
        evaluation.self_play(lambda: 1 / 0, games=1, **BOARD)
    with pytest.raises(UnknownAgentError, match="not a policy"):
        evaluation.self_play(dict, games=1, **BOARD)
    assert played == []
