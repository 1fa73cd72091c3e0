"""Modal combat as a PettingZoo AEC environment: players choose programs that can reason about each other.

Each player writes an agent of `modal_env`, a formula over what its opponent does. The agents then play the prisoner's
dilemma against each other, each reading the other's formula, and the players are paid what their agents won, less a
cost for modelling the opponent (Garrabrant, "Prisoners' Dilemma with Costs to Modeling", 2018).

Creation
    ``env = modal_env.make()``, or ``pettingzoo.make("aec", "ModalCombat-v0")``. Arguments: `modal_env.make`.

Agents
    In PettingZoo's sense, the players: "player_0", "player_1", ... They stay until the end. What they choose is called
    a program here, to keep the two apart.

Turns
    A game has R rounds. In each, every player chooses a program, one player after the other, without seeing what others
    choose. Then pairs are drawn at random (with two players there is but one), and every pair plays once.

Actions
    actions="library": ``Discrete(len(agents))``, the number of a program in ``agents``.
    actions="formula": ``Text``, a formula as `modal_env.parse` reads it, or the name of an agent. It may call the
    opponent on ``agents`` and on the agents of `modal_env.LIBRARY`. The space names the characters that are of use;
    other texts are taken too. At most ``budget`` characters. Do not sample this space: hardly any text at random is a
    formula, so nearly all samples are refused and play DefectBot. Learners and random players use the other two.
    actions="tokens": ``Discrete(12 + len(agents))``, the next token of a formula in prefix form, see
    `modal_env.tokens`. The end of the formula ends the player's turn. At most ``budget`` tokens; the mask leaves only
    those from which the formula can be ended within the budget.

Observations
    ``{"observation": int32 [1 + players, 2 + width], "action_mask": int8 [actions]}``; where programs are texts there
    is no mask. ``action_space(agent).sample(mask)`` keeps to the mask. A program is written in ``width`` numbers: its
    number in the library plus 1 (width 1), its tokens, padded with 0 (width ``budget``), or not at all (texts, width
    0).
    Row 0 is now: rounds played, rounds of the game, what the player itself has written in this round.
    Row 1 + i is the last round of the player i places behind oneself, oneself first and in a circle: the row of
    the player that it met, its move (1 defected, 2 cooperated), its program. Zeros before the first round; a program
    that was refused is written as zeros.

Infos
    ``info["history"]``: all rounds so far, as `Round`: everybody's programs, partners, moves and payoffs.
    ``info["setting"]``: the `Setting`: epsilon, cost, agents, rounds and so on.
    ``info["refused"]``: what was wrong with the player's last action: a tuple with the message of one error, such as
    "no agent is called 'FareBot': did you mean FairBot or UnfairBot?", or empty. It can be read from the step with that
    action until the player's next one, also when the game is over: in ``env.infos[player]``, and from ``env.last()``
    when it is the player's turn again.

Rewards
    At the end of each round, to both players of a pair: 2 if both cooperated, 1 if both defected, else 3 to the one who
    defected and 0 to the other; less epsilon times the cost of the player's program, see `modal_env.Game`. RandomBot's
    coin is tossed by the environment's generator.

Illegal actions
    A text that is no formula, or a token that is not open, makes the player's program DefectBot, whose cost is the
    least, and ends its turn; ``info["refused"]`` tells why. With ``strict=True`` it raises `FormulaError`, and
    nothing changes. What is no action at all (no text; no whole number of the space) always raises `ActionError`.

Example
    Two players that choose open tokens at random, and what came of it:

    >>> import modal_env
    >>> env = modal_env.make(epsilon=0.1, actions="tokens", rounds=2)
    >>> env.reset(seed=0)
    >>> for player in env.agent_iter():
    ...     observation, reward, terminated, truncated, info = env.last()
    ...     mask = observation["action_mask"]  # of this player: which tokens may come next
    ...     env.step(None if terminated or truncated else env.action_space(player).sample(mask))
    >>> for played in info["history"]:
    ...     told = played.programs, played.moves, played.payoffs  # one entry a player

End
    All players are terminated together after the last round. Nothing is truncated.

Version history
    v0: first version.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from modal_env.contest import Contest
from modal_env.errors import ActionError
from modal_env.setting import RENDER_MODES, Setting, check_reset, number_of


class ModalCombatEnv(AECEnv):
    """The bare environment; `modal_env.make` wraps it. See the module's documentation."""

    metadata: dict[str, Any] = {  # noqa: RUF012 - PettingZoo's way; where players write tokens, an instance has its own
        "name": "modal_combat_v0",
        "render_modes": list(RENDER_MODES),
        "is_parallelizable": True,
    }

    def __init__(self, setting: Setting) -> None:
        super().__init__()
        self.setting, self.render_mode = setting, setting.render_mode
        if setting.actions == "tokens":  # players take several steps a turn
            self.metadata = {**ModalCombatEnv.metadata, "is_parallelizable": False}
        self.contest = Contest(setting)
        self.possible_agents = setting.names
        self.agents: list[str] = []
        self.observation_spaces = {agent: self.contest.observation_space() for agent in self.possible_agents}
        self.action_spaces = {agent: self.contest.mode.action_space() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> spaces.Space:
        """What a player may see.

        Raises:
            ActionError: no player of this name.
        """
        return self.observation_spaces[self.possible_agents[number_of(agent, self.possible_agents)]]

    def action_space(self, agent: str) -> spaces.Space:
        """What a player may do.

        Raises:
            ActionError: no player of this name.
        """
        return self.action_spaces[self.possible_agents[number_of(agent, self.possible_agents)]]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin a new game. A seed fixes pairs and coins of this and all later games; there are no options.

        Raises:
            GameError: the seed is no whole number from 0, or an option is given. Nothing has changed then.
        """
        check_reset(seed, options)
        self.contest.begin(seed)
        self.agents = list(self.possible_agents)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self.agents[0]
        self._tell_all()

    def step(self, action: Any) -> None:
        """Take the action of `agent_selection`.

        Raises:
            ActionError: it is no action, or the game is over.
            FormulaError: strict, and it makes no program. After any error nothing has changed.
        """
        if not self.agents:
            raise ActionError("the game is over, or has not begun: call reset()")
        agent = self.agent_selection
        if self.terminations[agent]:
            if action is not None:
                raise ActionError(f"{agent} is terminated: step(None) takes it off, reset() begins anew")
            self._was_dead_step(action)
            return
        player = self.possible_agents.index(agent)
        self.contest.take({player: action})
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        if self.contest.is_ready(player):
            self.agent_selection = self.possible_agents[(player + 1) % len(self.possible_agents)]
        if self.contest.all_ready:
            self._play()
        self._tell_all()
        self._accumulate_rewards()
        self._deads_step_first()

    def _play(self) -> None:
        """All have chosen."""
        self.rewards = dict(zip(self.possible_agents, self.contest.play(), strict=True))
        if self.contest.is_over:
            self.terminations = dict.fromkeys(self.agents, True)

    def _tell_all(self) -> None:
        self.infos = {agent: self.contest.info(self.possible_agents.index(agent)) for agent in self.agents}

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """``{"observation": int32 [1 + players, 2 + width], "action_mask": int8 [actions]}``.

        Raises:
            ActionError: no player of this name.
        """
        return self.contest.observe(number_of(agent, self.possible_agents))

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """What the player at turn sees: observation, reward, whether it is terminated or truncated, and info.

        Raises:
            ActionError: nobody is left, or the game has not begun.
        """
        if not self.agents:
            raise ActionError("the game is over, or has not begun: call reset()")
        return super().last(observe)

    def render(self) -> str | None:
        """A table of the programs and payoffs of the last round: returned ("ansi") or printed ("human")."""
        return self.contest.render()

    def close(self) -> None:
        """Nothing is held open."""


class OrderedEnv(OrderEnforcingWrapper):
    """PettingZoo's wrapper, which refuses what comes before reset(); steps are refused with our own error."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """See `ModalCombatEnv.reset`."""
        check_reset(seed, options)
        super().reset(seed=seed, options=options)

    def step(self, action: Any) -> None:
        """See `ModalCombatEnv.step`."""
        if not self._has_reset:
            raise ActionError("the game has not begun: call reset()")
        super().step(action)
