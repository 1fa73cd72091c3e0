"""Modal combat: open-source games between agents that are formulas of provability logic.

An agent is a formula about its opponent X: ``[]X(me)``, "it is provable that X cooperates with me", is
FairBot. Two agents that read each other's formulas play the prisoner's dilemma, and modeling the opponent has a cost
(Garrabrant, "Prisoners' Dilemma with Costs to Modeling", 2018).

>>> import modal_env
>>> from modal_env import FairBot, PrudentBot
>>> modal_env.play(FairBot, PrudentBot).moves
('C', 'C')
>>> spy = modal_env.parse("[]X(FairBot) & ~[]false", name="Spy")
>>> spy.depth, modal_env.play(spy, FairBot).moves
(1, ('C', 'D'))
>>> len(modal_env.equilibria(modal_env.POST, epsilon="1/10"))
3
>>> env = modal_env.make(epsilon=0.1)  # PettingZoo; actions are programs
>>> env.reset(seed=0)
>>> for program in (2, 3):  # FairBot, PrudentBot
...     env.step(program)
>>> env.rewards
{'player_0': 1.9, 'player_1': 1.8}

Agents: `parse`, `Agent`, `LIBRARY` (by name) with `SOURCES`, and the best known as attributes: `FairBot` ...
Plays: `play`, `tournament`, and `replies` (all possible outcomes against given agents; certificates of
best replies are in `modal_env.best_replies`).
The game: `ProgramGame`, `equilibria`, `ranges`, `exploitability`, `survival_range`.
Populations: `replicator`, `growth`, `basins`, `jacobian`; finite ones: `fixation`, `rare_mutations`.
Environments: `make`, `parallel_env`, `vector_env`, described in `modal_env.envs.aec`.
Command line: ``python -m modal_env --help``.
"""

from __future__ import annotations

import importlib
import inspect
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv, ParallelEnv
from pettingzoo import register as _register

from modal_env import errors
from modal_env.best_replies import replies
from modal_env.checks import whole
from modal_env.dynamics.basins import basins
from modal_env.dynamics.growth import growth
from modal_env.dynamics.replicator import replicator
from modal_env.dynamics.stability import jacobian
from modal_env.envs.rounds import Round
from modal_env.envs.setting import Setting, make_setting
from modal_env.errors import FormulaError, GameError, ModalError, ProgramActionError
from modal_env.games.equilibria import Equilibrium, equilibria, exploitability
from modal_env.games.game import ProgramGame
from modal_env.games.payoffs import PRESETS
from modal_env.logic import library
from modal_env.logic.library import (
    LIBRARY,
    POST,
    SOURCES,
    CooperateBot,
    DefectBot,
    FairBot,
    MirrorBot,
    OneBot,
    PrudentBot,
    RandomBot,
    SlipBot,
)
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.tournaments import tournament

if TYPE_CHECKING:
    from modal_env.dynamics.finite import fixation, rare_mutations
    from modal_env.envs.vector import VectorEnv
    from modal_env.games.ranges import Family, ranges
    from modal_env.games.survival import survival_range

__all__ = [
    "LIBRARY",
    "POST",
    "PRESETS",
    "SOURCES",
    "Agent",
    "CooperateBot",
    "DefectBot",
    "Equilibrium",
    "FairBot",
    "Family",
    "FormulaError",
    "GameError",
    "MirrorBot",
    "ModalError",
    "OneBot",
    "ProgramActionError",
    "ProgramGame",
    "PrudentBot",
    "RandomBot",
    "Round",
    "Setting",
    "SlipBot",
    "basins",
    "equilibria",
    "errors",
    "exploitability",
    "fixation",
    "growth",
    "jacobian",
    "library",
    "make",
    "parallel_env",
    "parse",
    "play",
    "ranges",
    "rare_mutations",
    "replicator",
    "replies",
    "survival_range",
    "tournament",
    "vector_env",
]

_LATE = {
    "Family": "games.ranges",
    "fixation": "dynamics.finite",
    "ranges": "games.ranges",
    "rare_mutations": "dynamics.finite",
    "survival_range": "games.survival",
}
"""Names that are imported on first use, as they load scipy or sympy -> where they are."""


def __getattr__(name: str) -> Any:
    """Import a name of `_LATE`."""
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(importlib.import_module(f"modal_env.{_LATE[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


def make(*args: Any, **options: Any) -> AECEnv:
    """Modal combat as a PettingZoo AEC environment; see `modal_env.envs.aec` for actions and observations.

    Args:
        epsilon: the price of one unit of cost. Floats are read as the decimal number they print as: 0.1 is 1/10.
        actions: how players choose programs: "library", by number; "formula", as text; "tokens", token by token.
        agents: the programs to choose from: agents, names in the library, or formulas; by default the post's four.
        calls: with "formula" and "tokens", the agents that formulas may call X on by name; by default `agents`, and
            without these the post's four with "tokens", all of the library with "formula". Agents written in their
            place, X([]X(me)), may always be called.
        me: whether formulas may say `me`, what the program itself does. The post's agents do not.
        rounds: number of rounds of a game, at most 100,000.
        players: number of players, at most 1000 (fewer with a large token budget). More than two are paired at random
            in every round; if their number is odd, one sits out.
        cost: what modeling costs: "depth" (as in the post), "size", "opponent", "sum" or "worlds", a table of prices
            or a function, see `modal_env.games.costs`.
        payoffs: the game that programs play: a name such as "stag-hunt", or a table, see `modal_env.games.payoffs`.
        budget: maximum length of a formula: characters for "formula" (default 1,000, at most 10,000), tokens for
            "tokens" (default 16, at most 500).
        strict: raise an error for invalid programs instead of playing DefectBot.
        flat: observations as {"observations", "action_mask"}, a vector of ones and zeros and the mask, as RLlib's and
            SB3's maskable modules take them, see `modal_env.envs.aec`.
        infos: False leaves infos empty: learning libraries copy them at every step.
        render_mode: "human" (prints), "ansi" (returns text) or None.

    Raises:
        GameError, FormulaError: an argument is invalid; the message says what would be right.
    """
    from modal_env.envs.aec import ModalCombatEnv

    return ModalCombatEnv(make_setting(*args, **options))


def parallel_env(*args: Any, **options: Any) -> ParallelEnv:
    """Modal combat as a PettingZoo ParallelEnv, see `modal_env.envs.parallel`. Arguments and errors as for `make`."""
    from modal_env.envs.parallel import ParallelModalCombatEnv

    return ParallelModalCombatEnv(make_setting(*args, **options))


def vector_env(num_games: int, *args: Any, **options: Any) -> VectorEnv:
    """Many games at once over arrays, see `modal_env.envs.vector`. Arguments and errors as for `make`.

    Games have two players, one round and actions="tokens".

    Args:
        num_games: number of games, at most 100,000.
    """
    from modal_env.envs.vector import VectorEnv

    setting = make_setting(*args, **{"actions": "tokens", **options})
    return VectorEnv(setting, whole("num_games", num_games, 1, 100_000))


for _door in (make, parallel_env):  # they take the arguments of make_setting
    vars(_door)["__signature__"] = inspect.signature(make_setting).replace(
        return_annotation=inspect.signature(_door).return_annotation
    )
_register("aec", "ModalCombat-v0", "modal_env:make")
_register("parallel", "ModalCombat-v0", "modal_env:parallel_env")
