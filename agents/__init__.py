"""Players for the environments of `welfare_env` and `modal_env`.

>>> import agents
>>> policy = agents.make("exploiter:nice=prosocial,attack=dumbbot")
>>> policy.reset(agent="FRANCE", seed=0)

then ``policy.act(observation, info)`` in any PettingZoo loop. A policy sees only what its power is allowed to see.

| spec | player |
|---|---|
| ``random`` | a uniform draw from the legal orders |
| ``hold`` | holds every unit and builds nothing |
| ``prosocial`` | the paper's Optimal Prosocial: a fair peaceful partition, then no units at all |
| ``dumbbot`` | a heuristic attacker without press |
| ``dove:share=0.25`` | takes free centers, disarms step by step, sends peaceful messages |
| ``exploiter:nice=SPEC,attack=SPEC`` | plays `nice`, then `attack`, then `nice` again, disarmed |
| ``grim``, ``police``, ``sheriff``, ``marshal`` | deterrents: peaceful until provoked, then at war |
| ``deterrent:provoked=theft,fight=SPEC,...`` | a custom deterrent, see `DeterrentPolicy` |
| ``posse:force=2,more=1`` | the attack that the marshal uses, here against all powers from the start |
| ``punish`` | on toy boards: attacks its strongest enemy, without randomness; ``sheriff:fight=punish`` |
| ``tit-for-tat`` | disarms first, then keeps as many units as its strongest neighbor, and retakes lost centers |
| ``fortress`` | arms, holds, and attacks nobody |
| ``pact:years=1`` | an exploiter; in a coalition it attacks only the other powers |
| ``plan:budget=100`` | searches for a best response to the other players, alone or for a coalition; docs/planner.md |
| ``campaign:plan=no-home,victim=1`` | fixed attacks: no-home, launder, hand-over, landing, frame, last-years |
| ``noisy:of=SPEC,error=0.1`` | another policy with an error in 10% of the phases |
| ``punisher:t=N`` | on toy boards: disarms in year N and punishes deviators (paper, section 3.2) |
| ``lm:PROVIDER/MODEL`` | a language model: ``lm:openai/NAME,temperature=0.7``; see docs/language-models.md |
| ``rl:PATH`` | a trained network, from its checkpoint or export: ``rl:runs/small``, ``rl:attacker,greedy=no`` |
| ``human:`` | a person, asked in the terminal, or in the browser by ``welfare-env play``; docs/play.md |
| ``import:MODULE.CLASS,k=3`` | your own player: a class of an importable module, made with these options |

A profile puts several policies in one game: ``"4*dove + 3*random"``, see docs/players.md.

In `modal_env`:

| spec | player |
|---|---|
| ``program:PROGRAM`` | writes this program every round: a name such as FairBot, or a formula such as ``[]X(me)`` |
| ``mix:PROGRAM=SHARE,...`` | draws its program: ``mix:CooperateBot=1/10,FairBot=17/20,PrudentBot=1/20`` |
| ``best-reply:to=SPEC`` | the environment's best program against a given program or mix |

A language model (``lm:...``) writes programs, too.

`SeatGame` lets any text program play a seat.

An exploiter's thresholds are options, too: ``units=10,years=3,centers=10,last_years=2`` (defaults for ten-year games).
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from agents.policy import CoalitionPolicy, PlanningPolicy, Policy, ReseedablePolicy, ScriptedPolicy
from agents.scripted.deterrents.deterrent import DeterrentPolicy
from agents.scripted.dove import DovePolicy
from agents.scripted.dumbbot import DumbBotPolicy
from agents.scripted.exploiter import ExploiterPolicy
from agents.scripted.hold import HoldPolicy
from agents.scripted.prosocial import ProsocialPolicy
from agents.scripted.punisher import PunisherPolicy
from agents.scripted.random import RandomPolicy
from agents.scripted.tit_for_tat import TitForTatPolicy
from agents.specs import Profile, ProfileError, Spec, canonical, make, read, read_profile

if TYPE_CHECKING:
    from agents.modal.players import BestReplyPolicy, MixPolicy
    from agents.scripted.planner.planner import PlannerPolicy
    from agents.seat_game import SeatGame, SeatTurn

__all__ = [
    "BestReplyPolicy",
    "CoalitionPolicy",
    "DeterrentPolicy",
    "DovePolicy",
    "DumbBotPolicy",
    "ExploiterPolicy",
    "HoldPolicy",
    "MixPolicy",
    "PlannerPolicy",
    "PlanningPolicy",
    "Policy",
    "Profile",
    "ProfileError",
    "ProsocialPolicy",
    "PunisherPolicy",
    "RandomPolicy",
    "ReseedablePolicy",
    "ScriptedPolicy",
    "SeatGame",
    "SeatTurn",
    "Spec",
    "TitForTatPolicy",
    "canonical",
    "make",
    "read",
    "read_profile",
]


_LATE = {
    **dict.fromkeys(("BestReplyPolicy", "MixPolicy"), "agents.modal.players"),
    "PlannerPolicy": "agents.scripted.planner.planner",
    **dict.fromkeys(("SeatGame", "SeatTurn"), "agents.seat_game"),
}
"""Names that are imported on first use, as they load many modules -> where they are."""


def __getattr__(name: str) -> Any:
    """Imports a name of `_LATE`."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATE[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
