"""Modal combat as a PettingZoo ParallelEnv: all players choose at once.

Creation
    ``env = modal_env.parallel_env()``, or ``pettingzoo.make("parallel", "ModalCombat-v0")``.

Steps
    actions="library" and "formula": one step a round. actions="tokens": every player writes one token a step, and the
    round ends with the longest formula; players who are done wait with token 0, the only one their mask allows.

Everything else (actions, observations, infos, rewards, illegal actions, copies, end) is as in `modal_env.envs.aec`. The
same programs and the same seed give the same game there and here.

Version history
    v0: first version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pettingzoo import ParallelEnv

from modal_env.checks import brief
from modal_env.envs.contest_env import ContestEnv
from modal_env.envs.setting import RENDER_MODES
from modal_env.errors import ProgramActionError


class ParallelModalCombatEnv(ContestEnv, ParallelEnv):
    """The parallel environment. See the module's documentation."""

    metadata: ClassVar[dict[str, Any]] = {"name": "modal_combat_v0", "render_modes": list(RENDER_MODES)}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        """Begin a new game. The seed determines the pairs and coins of this and all later games; there are no options.

        Raises:
            GameError: the seed is not a whole number from 0, or an option is given.
        """
        self._begin(seed, options)
        return self._observations(), self._infos()

    def step(self, actions: Mapping[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        """Take all players' actions; play the round when all have chosen.

        Raises:
            ProgramActionError: the game is over, an action is missing or malformed, or a player does not exist.
            FormulaError: strict, and a formula or token is not allowed. After any error nothing has changed.
        """
        self._check_running()
        if not isinstance(actions, Mapping) or set(actions) != set(self.agents):
            given = list(actions) if isinstance(actions, Mapping) else actions
            names = ", ".join(self.agents)
            raise ProgramActionError(f"actions of {brief(given)}: give a dict with one action for each of {names:.300}")
        self.contest.take({player: actions[agent] for player, agent in enumerate(self.possible_agents)})
        rewards = self.contest.play() if self.contest.all_ready else [0.0] * len(self.agents)
        over = self.contest.is_over
        outcome = (
            self._observations(),
            dict(zip(self.agents, rewards, strict=True)),
            dict.fromkeys(self.agents, over),
            dict.fromkeys(self.agents, False),
            self._infos(),
        )
        if over:
            self.agents = []
        return outcome

    def _observations(self) -> dict[str, dict[str, Any]]:
        return {agent: self.contest.observe(player) for player, agent in enumerate(self.possible_agents)}
