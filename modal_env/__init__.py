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
Plays: `play`, `tournament`, and `replies` (all possible outcomes against given agents).
The game: `ProgramGame`, `equilibria`, `ranges`, `exploitability`, `survival_range`.
Populations: `replicator`, `growth`, `basins`, `jacobian`; finite ones: `fixation`, `rare_mutations`.
Environments: `make`, `parallel_env`, `vector_env`, described in `modal_env.envs.aec`.
Command line: ``python -m modal_env --help``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from pettingzoo import register as _register

if TYPE_CHECKING:
    from modal_env import errors
    from modal_env.best_replies import replies
    from modal_env.dynamics.basins import basins
    from modal_env.dynamics.finite import fixation, rare_mutations
    from modal_env.dynamics.growth import growth
    from modal_env.dynamics.replicator import replicator
    from modal_env.dynamics.stability import jacobian
    from modal_env.envs.doors import make, parallel_env, vector_env
    from modal_env.envs.rounds import Round
    from modal_env.envs.setting import Setting
    from modal_env.errors import FormulaError, GameError, ModalError, ProgramActionError
    from modal_env.games.equilibria import Equilibrium, equilibria, exploitability
    from modal_env.games.game import ProgramGame
    from modal_env.games.payoffs import PRESETS
    from modal_env.games.ranges import Family, ranges
    from modal_env.games.survival import survival_range
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

_HOMES = {
    "best_replies": ("replies",),
    "dynamics.basins": ("basins",),
    "dynamics.finite": ("fixation", "rare_mutations"),
    "dynamics.growth": ("growth",),
    "dynamics.replicator": ("replicator",),
    "dynamics.stability": ("jacobian",),
    "envs.doors": ("make", "parallel_env", "vector_env"),
    "envs.rounds": ("Round",),
    "envs.setting": ("Setting",),
    "errors": ("FormulaError", "GameError", "ModalError", "ProgramActionError"),
    "games.equilibria": ("Equilibrium", "equilibria", "exploitability"),
    "games.game": ("ProgramGame",),
    "games.payoffs": ("PRESETS",),
    "games.ranges": ("Family", "ranges"),
    "games.survival": ("survival_range",),
    "logic.library": (
        "LIBRARY",
        "POST",
        "SOURCES",
        "CooperateBot",
        "DefectBot",
        "FairBot",
        "MirrorBot",
        "OneBot",
        "PrudentBot",
        "RandomBot",
        "SlipBot",
    ),
    "logic.notation": ("Agent", "parse"),
    "logic.provability": ("play",),
    "logic.tournaments": ("tournament",),
}
"""Where names are that are imported on first use, since the commands need few of them."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_MODULES = {
    **{name: name for name in ("best_replies", "dynamics", "envs", "errors", "games", "logic")},
    "library": "logic.library",
}
"""The same for modules: name -> where it is."""


def __getattr__(name: str) -> Any:
    """Import a name of `_HOMES` or `_MODULES`."""
    if name in _MODULES:
        found: Any = import_module(f"modal_env.{_MODULES[name]}")
    elif name in _HOME_OF:
        found = getattr(import_module(f"modal_env.{_HOME_OF[name]}"), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


_register("aec", "ModalCombat-v0", "modal_env:make")
_register("parallel", "ModalCombat-v0", "modal_env:parallel_env")
