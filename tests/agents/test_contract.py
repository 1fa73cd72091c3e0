"""What every policy keeps to, whichever it is; and what `act` says where something is missing."""

import pytest

import agents
import modal_env
import welfare_env
from agents.lm.models.scripted import ScriptedModel
from agents.lm.player.policy import LMPolicy
from tests.playing import play, seated
from welfare_env.errors import ActionError

SPECS = [
    *("random", "prosocial", "dumbbot", "marshal", "tit-for-tat"),
    "exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot",
]
CERTAIN = {"prosocial", "marshal", "tit-for-tat"}  # use no chance: another seed changes nothing


@pytest.mark.parametrize("spec", SPECS)
class TestContract:
    @pytest.mark.parametrize(
        ("map_name", "variant"),
        [("standard", "welfare"), ("standard", "standard"), pytest.param("ancmed", "standard", marks=pytest.mark.slow)],
    )
    def test_gives_legal_orders_anywhere(self, spec, variant, map_name, seat):
        """At every position of an attacker's game against random players, for every power that has anything to order.

        `submit` raises on anything illegal.
        """
        kinds = {}
        attacker = welfare_env.load_board(map_name).powers[2]
        table = seat("dumbbot", "random", attacker, map_name, seed=3, years=6, variant=variant)
        for game in table.phases():
            played = {power: game.orders(power) for power in game.powers}
            for power in game.powers:
                policy = seated(spec, power, 1)
                orders = table.ask(policy, power)
                game.submit(power, orders)
                check_winter(game.view(power), orders)
                if game.legal_orders(power):
                    kinds[game.phase[-1]] = kinds.get(game.phase[-1], 0) + 1
            for power, orders in played.items():
                game.submit(power, orders)
        assert sum(kinds.values()) >= 30
        assert set(kinds) == {"M", "R", "A"}

    def test_says_and_orders_what_it_may_and_the_same_if_it_is_asked_or_reset_again(self, spec, seat):
        """It writes to recipients that it has, in rounds only. A reset begins the game of its seed."""
        table = seat(spec, seed=5, years=2, press="text")
        for game in table.phases():
            for power, policy in table.seats.items():
                assert tuple(table.ask(policy, power)) == game.orders(power)
        for phase, message_round, sender, recipient, text in table.said:
            assert phase[-1] in "MA"
            assert message_round in (1, 2, 3)
            assert recipient in {"GLOBAL", *table.game.powers} - {sender}
            assert 0 < len(text) < 300
        again = type(table)(table.seats, welfare_env.Game(rules=table.game.rules), seed=5).finish()
        assert (again.done, again.said) == (table.done, table.said)

    def test_other_seed_other_game_where_chance_is_used(self, spec, seat):
        one, other = (seat(spec, seed=seed, years=2).finish() for seed in (1, 2))
        assert (one.done == other.done) == (spec in CERTAIN)

    def test_plays_in_the_environment(self, spec):
        """Strict, so that anything illegal raises, and what is no word; in the mediator's seat, too."""
        rules = welfare_env.Rules(years=2, press="tokens", mediator=True, transfers=True)
        env = welfare_env.make(rules=rules, strict=True)
        assert play(env, {power: agents.make(spec) for power in env.possible_agents}).agents == []


def check_winter(view, orders):
    """Disbands what it must, builds no more than it may, and never does both."""
    disbands = sum(order.endswith(" D") for order in orders)
    builds = sum(order.endswith(" B") for order in orders)
    if view.phase_type == "A":
        assert disbands >= view.must_disband
        assert builds <= view.max_builds
        assert not (disbands and builds)
        assert view.rules.variant == "welfare" or disbands == view.must_disband


MODAL = ["program:FairBot", "mix:FairBot=1", "best-reply:to=program:FairBot"]
BOARD = [
    *("random", "exploiter:nice=dove,attack=dumbbot", "marshal", "noisy:of=dove", "pact:years=1", "plan:budget=1"),
    *("mix:dove=1/2,hold=1/2", LMPolicy(ScriptedModel([])), agents.ScriptedPolicy()),
]


@pytest.fixture(scope="module")
def board_infos():
    env = welfare_env.parallel_env("clique:3", press=None, years=2)
    return env.reset(seed=0)[1]


@pytest.fixture
def modal_turn():
    env = modal_env.make()
    env.reset(seed=0)
    observation, *_, info = env.last()
    return observation, info


@pytest.mark.parametrize("spec", BOARD, ids=str)
def test_policies_of_the_board_say_what_they_need(spec, modal_turn, board_infos):
    policy = agents.make(spec) if isinstance(spec, str) else spec
    power, info = next(iter(board_infos.items()))
    with pytest.raises(ActionError, match=rf"reset\(agent='{power}'"):
        policy.act(None, info)
    policy.reset(power, 0)
    for without in ({}, None, board_infos, {"view": "x"}):
        with pytest.raises(ActionError, match=r"info\['view'\]"):
            policy.act(None, without)
    if not isinstance(spec, LMPolicy):  # it plays there
        with pytest.raises(ActionError, match="modal_env"):
            policy.act(*modal_turn)


@pytest.mark.parametrize("spec", MODAL)
def test_policies_of_modal_combat_say_what_they_need(spec, modal_turn):
    policy, (observation, info) = agents.make(spec), modal_turn
    with pytest.raises(ActionError, match="reset"):
        policy.act(observation, info)
    policy.reset("player_0", 0)
    for turn in ((None, {}), (None, None), (observation, {}), (None, info)):
        with pytest.raises(ActionError, match=r"modal_env\.make\(\)"):
            policy.act(*turn)


def test_a_subclass_that_forgets_its_base_is_told(board_infos):
    class Forgetful(agents.DovePolicy):
        def reset(self, agent, seed=0):
            self.agent = agent

    policy, (power, info) = Forgetful(), next(iter(board_infos.items()))
    policy.reset(power, 0)
    with pytest.raises(ActionError, match=r"calls super\(\)\.reset"):
        policy.act(None, info)
