"""What `print` shows of policies and public objects: contents, not an address."""

import inspect
import re
import subprocess
import sys

import pytest

import agents
import modal_env
import welfare_env
from agents.lm.models.scripted import ScriptedModel
from agents.lm.player import LMPolicy
from agents.scripted.mixture import MixturePolicy

SHOWN = {
    "hold": "HoldPolicy()",
    "dove:share=0.5": "DovePolicy(share=0.5)",
    "dove": "DovePolicy()",
    "exploiter:nice=dove,attack=dumbbot,years=2": "ExploiterPolicy(nice=DovePolicy(), attack=DumbBotPolicy(), years=2)",
    "noisy:of=hold,error=0.5": "NoisyPolicy(of=HoldPolicy(), error=0.5)",
    "pact:years=1": "PactPolicy(years=1)",
    "plan:budget=3": "PlannerPolicy(budget=3, model=DovePolicy())",
    "human:": "HumanPolicy()",
    "best-reply:to=program:FairBot": None,
    "marshal": None,
    "campaign:plan=no-home,victim=1": None,
    "punisher:t=2": "PunisherPolicy(t=2)",
    "program:FairBot": None,
}


@pytest.mark.parametrize("spec", SHOWN)
def test_a_policy_shows_its_options(spec):
    shown = repr(agents.make(spec))
    assert " at 0x" not in shown
    assert re.fullmatch(r"\w+Policy\(.*\)", shown)
    assert SHOWN[spec] in (None, shown)


def test_own_policies_do_too():
    class Mirror(agents.ScriptedPolicy):
        def __init__(self, k=3, *, unseen=1, **rest):
            self.k = k

    assert repr(Mirror()) == "Mirror()"
    assert repr(Mirror(k=4, unseen=2)) == "Mirror(k=4)"
    assert repr(LMPolicy(ScriptedModel([], name="stub"))) == "LMPolicy('scripted/stub')"
    mixture = MixturePolicy([(agents.make("dove"), 0.25), (agents.make("hold"), 0.75)])
    assert repr(mixture) == "MixturePolicy(0.25: DovePolicy(), 0.75: HoldPolicy())"


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


def test_payoff_tables_show_their_payoffs_and_titles_only_their_names():
    table = modal_env.PRESETS["chicken"]
    assert str(table) == "chicken: CC 2, CD 1, DC 3, DD 0"
    assert table.label == "chicken"


@pytest.mark.parametrize("package", [agents, modal_env, welfare_env])
def test_no_public_class_is_printed_as_an_address(package):
    """Protocols and environments aside, whose wrappers print themselves."""
    classes = [getattr(package, name) for name in package.__all__]
    plain = [each.__name__ for each in classes if inspect.isclass(each) and each.__repr__ is object.__repr__]
    assert [name for name in plain if not getattr(getattr(package, name), "_is_protocol", False)] == []


@pytest.mark.slow
def test_dir_of_evaluation_before_its_first_use():
    code = "import evaluation; assert 'self_play' in dir(evaluation)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
