"""Modal combat as a PettingZoo AEC environment: players choose programs that can reason about each other.

Each player writes an agent of `modal_env`, a formula about its opponent. The agents then play the prisoner's dilemma
(or another game, ``payoffs="stag-hunt"``), each reading the other's formula, and the players get their agents' payoffs,
less a cost for modeling the opponent (Garrabrant, "Prisoners' Dilemma with Costs to Modeling", 2018).

Creation
    ``env = modal_env.make()``, or ``pettingzoo.make("aec", "ModalCombat-v0")``. Arguments: `modal_env.make`.

Agents
    In PettingZoo's sense, the players: "player_0", "player_1", ... They stay until the end. What they choose is called
    a program here, to keep the two apart.

Turns
    A game has R rounds. In each, every player in turn chooses a program, without seeing the others' choices. Then pairs
    are drawn at random (two players make one pair), and every pair plays once. If the number of players is odd, one
    sits out, and is paid 0. If the seats are paid differently, the first of a pair is the row player; of two players
    that is always player_0.

Actions
    actions="library": ``Discrete(len(agents))``, the number of a program in ``agents``.
    actions="formula": ``Text``, a formula as `modal_env.parse` reads it, or the name of an agent. It may call the
    opponent on ``calls``, by default on the agents of `modal_env.LIBRARY`; ``me`` only with ``me=True``. The space
    lists the useful characters; other texts are accepted, too. At most ``budget`` characters. Do not sample this space:
    hardly any random text is a formula, so nearly all samples are refused and play DefectBot. Learners and random
    players use the other two modes.
    actions="tokens": ``Discrete(12 + len(calls))``, one more with ``me=True``, the next token of a formula in prefix
    form, see `modal_env.envs.tokens`. A complete formula ends the player's turn. At most ``budget`` tokens; the mask
    allows only tokens after which the formula can be completed within the budget. A player who draws allowed tokens
    uniformly writes ``true`` or ``false`` in 23% of games, and an agent of depth 0 or 1 in 68%.

Observations
    ``{"observation": int32 [1 + players, 2 + width], "action_mask": int8 [actions]}``; in "formula" mode there is no
    mask. ``action_space(agent).sample(mask)`` respects the mask. A program is encoded in ``width`` numbers: its number
    in the library plus 1 (width 1), its tokens, padded with 0 (width ``budget``), or not at all ("formula", width 0).
    Row 0 is the present: rounds played, rounds of the game, what the player itself has written in this round. Row 1 + i
    is about the last round of the player i places after the observer, cyclically, so row 1 is about the observer: the
    row of its partner, its move (1 defected, 2 cooperated), its program. Zeros before the first round; a refused
    program is encoded as zeros, as are the partner and the move of a player that sat out.

    With ``flat=True`` it is ``{"observations": float32 [numbers], "action_mask": int8 [actions]}``, as RLlib's and
    SB3's maskable modules take them: the part of the rounds that is over, then one-hot the tokens of all rows, and the
    partners and moves of all rows but the first. ``state()`` has what all players have written, and the last round.

Infos
    ``info["history"]``: all rounds so far, a sequence of `Round`: everybody's programs, partners, moves and payoffs.
    ``info["setting"]``: the `Setting`: epsilon, cost, agents, rounds and so on.
    ``info["refused"]``: a tuple with the error of the player's last action, such as "no agent is called 'PrudntBot':
    did you mean PrudentBot?", or empty. It stays until the player's next action, also after the end of the game: in
    ``env.infos[player]``, and from ``env.last()`` when it is the player's turn again. ``infos=False`` leaves infos
    empty.

Rewards
    At the end of each round, for both players of a pair: 2 if both cooperated, 1 if both defected, otherwise 3 for the
    defector and 0 for the other (or what ``payoffs`` say); less epsilon times the cost of the player's program, see
    `modal_env.ProgramGame`. RandomBot's coins are tossed by the environment's generator.

Illegal actions
    After an invalid formula or a masked token the player's program is DefectBot, the cheapest, and its turn ends;
    ``info["refused"]`` says why. With ``strict=True`` it raises `FormulaError`, and nothing changes. Anything that is
    not an action (not a text; not a whole number of the space) always raises `ProgramActionError`.

Example
    Two players that choose allowed tokens at random, and the results:

    >>> import modal_env
    >>> env = modal_env.make(epsilon=0.1, actions="tokens", rounds=2)
    >>> env.reset(seed=0)
    >>> for player in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     mask = observation["action_mask"]  # which tokens this player may choose next
    ...     env.step(None if terminated or truncated else env.action_space(player).sample(mask))
    >>> for played in info["history"]:
    ...     result = played.programs, played.moves, played.payoffs  # one entry per player

End
    All players are terminated together after the last round. Nothing is truncated.

Copies
    ``copy.copy``, ``copy.deepcopy`` and ``pickle`` give a copy with a game and a generator of its own, which goes on as
    the original would. Arrays of observations are the caller's own.

Version history
    v0: first version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from pettingzoo import AECEnv

from modal_env.checks import brief, whole
from modal_env.envs.contest_env import ContestEnv
from modal_env.envs.setting import RENDER_MODES, Setting
from modal_env.errors import ProgramActionError


class ModalCombatEnv(ContestEnv, AECEnv):
    """The AEC environment. See the module's documentation."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - a class attribute as in PettingZoo; with tokens an instance has its own
        "name": "modal_combat_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": True,
    }

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        if setting.actions == "tokens":  # players take several steps a turn
            self.metadata = {**ModalCombatEnv.metadata, "is_parallelizable": False}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a new game. The seed determines the pairs and coins of this and all later games; there are no options.

        Raises:
            GameError: the seed is not a whole number from 0, or an option is given. Nothing has changed then.
        """
        self._begin(seed, options)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self.agents[0]
        self.infos = self._infos()

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`.

        Raises:
            ProgramActionError: it is not an action, or the game is over.
            FormulaError: strict, and the formula or token is not allowed. After any error nothing has changed.
        """
        self._check_running()
        agent = self.agent_selection
        if self.terminations[agent]:
            if action is not None:
                raise ProgramActionError(f"{agent} is terminated: call step(None) to remove it, or reset()")
            self._was_dead_step(action)
            return
        player = self.possible_agents.index(agent)
        self.contest.take({player: action})
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if self.contest.is_ready(player):
            self.agent_selection = self.possible_agents[(player + 1) % len(self.possible_agents)]
        if self.contest.all_ready:
            self.rewards = dict(zip(self.possible_agents, self.contest.play(), strict=True))
            if self.contest.is_over:
                self.terminations = dict.fromkeys(self.agents, True)
        self.infos = self._infos()
        self._accumulate_rewards()
        self._deads_step_first()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """``{"observation": int32 [1 + players, 2 + width], "action_mask": int8 [actions]}``.

        Raises:
            ProgramActionError: before `reset`; there is no player of this name.
        """
        self._check_begun()
        return self.contest.observe(self._number(agent))

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Observation, reward, termination, truncation and info of the player whose turn it is.

        Raises:
            ProgramActionError: the game is over or has not begun.
        """
        self._check_running()
        if not isinstance(observe, bool):
            raise ProgramActionError(f"observe={brief(observe)}: give True or False")
        return super().last(observe)

    def agent_iter(self, max_iter: int = 2**63) -> Any:
        """Iterate over the players in the order of their turns.

        Raises:
            ProgramActionError: before `reset`; `max_iter` is not a whole number from 0.
        """
        self._check_begun()
        return super().agent_iter(whole("max_iter", max_iter, 0))
