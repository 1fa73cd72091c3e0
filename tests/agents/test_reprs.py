"""What `print` shows of policies and public objects: contents, not an address."""

import inspect

import pytest

import agents
import modal_env
import welfare_env
from agents.lm.models.scripted import ScriptedModel
from agents.lm.player.policy import LMPolicy

SHOWN = {
    "dove:share=0.5": "DovePolicy(share=0.5)",
    "exploiter:nice=dove,attack=dumbbot,years=2": "ExploiterPolicy(nice=DovePolicy(), attack=DumbBotPolicy(), years=2)",
    "plan:budget=3": "PlannerPolicy(budget=3, model=DovePolicy())",
    "mix:dove=1/4,hold=3/4": "MixturePolicy(0.25: DovePolicy(), 0.75: HoldPolicy())",
}


@pytest.mark.parametrize("spec", SHOWN)
def test_a_policy_shows_its_options(spec):
    assert repr(agents.make(spec)) == SHOWN[spec]


def test_own_policies_do_too():
    class Mirror(agents.ScriptedPolicy):
        def __init__(self, k=3, *, unseen=1, **rest):
            self.k = k

    assert repr(Mirror()) == "Mirror()"
    assert repr(Mirror(k=4, unseen=2)) == "Mirror(k=4)"
    assert repr(LMPolicy(ScriptedModel([], name="stub"))) == "LMPolicy('scripted/stub')"


def test_games_and_environments_show_what_they_are():
    game = welfare_env.Game("clique:3", rules=welfare_env.Rules(years=1, press=None))
    position = game.position
    game.advance()
    seat = agents.SeatGame(others="hold", map_name="clique:3")
    shown = [repr(each) for each in (game.history[0], position, welfare_env.vector_env(2, "clique:3"), seat)]
    seat.reset(seed=0)
    assert [*shown, repr(seat)] == [
        "<PhaseRecord of S1901M: orders: 0, messages: 0>",
        "<Position on clique:3 in S1901M>",
        "<VectorEnv of 2 games on clique:3>",
        "<SeatGame of PLAYERA: not running>",
        "<SeatGame of PLAYERA: S1901M>",
    ]


@pytest.mark.parametrize("package", [agents, modal_env, welfare_env])
def test_no_public_class_is_printed_as_an_address(package):
    """Protocols and environments aside, whose wrappers print themselves."""
    classes = [getattr(package, name) for name in package.__all__]
    plain = [each.__name__ for each in classes if inspect.isclass(each) and each.__repr__ is object.__repr__]
    assert [name for name in plain if not getattr(getattr(package, name), "_is_protocol", False)] == []
