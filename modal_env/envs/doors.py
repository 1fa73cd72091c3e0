"""The doors to the environments of modal combat: `modal_env.make`, `parallel_env` and `vector_env`."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from pettingzoo import AECEnv, ParallelEnv

from modal_env.checks import whole
from modal_env.envs.setting import make_setting

if TYPE_CHECKING:
    from modal_env.envs.vector import VectorEnv


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
