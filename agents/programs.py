"""Players of `modal_env`: a fixed program, a mix of programs, and the best reply to either.

They write their program in whatever way the environment asks for: as a number, as a formula, or token by token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

import modal_env
from modal_env.game import meet
from modal_env.modes import find


class MixPolicy:
    """Draws a program for every round, each with its share.

    Args:
        shares: (program, share) pairs: a name or a formula (`modal_env.parse`), and a number such as 17/20.

    Raises:
        ValueError: a program that cannot be read, a share that is no number from 0, or shares that do not add up to 1.
    """

    def __init__(self, shares: Sequence[tuple[str, Fraction]]) -> None:
        self.shares = [(find(program), share) for program, share in shares]
        total = sum(share for _, share in shares)
        if any(share < 0 for _, share in shares) or total != 1:
            raise ValueError(f"the shares add up to {total}: give shares from 0 that add up to 1")

    def reset(self, agent: str, seed: int = 0) -> None:
        """Gets ready for a new game. Chance depends on the seed and the player.

        Raises:
            ValueError: a negative seed.
        """
        self.rng = np.random.default_rng([seed, *agent.encode()])
        self._round = -1

    def act(self, observation: Mapping[str, Any], info: Mapping[str, Any]) -> Any:
        """The next action that writes this round's program.

        Raises:
            ValueError: no modal_env, or one in which the program cannot be written.
        """
        if "setting" not in info:
            raise ValueError("programs are played in modal_env")
        now = observation["observation"][0]
        if now[0] != self._round:
            self._round = int(now[0])
            self._actions = info["setting"].mode().actions(self.program(info["setting"]))
        written = int(np.count_nonzero(now[2:]))
        return self._actions[written] if written < len(self._actions) else 0

    def program(self, setting: modal_env.Setting) -> modal_env.Agent:
        """The program for a round."""
        chances = np.array([float(share) for _, share in self.shares])
        return self.shares[int(self.rng.choice(len(chances), p=chances / chances.sum()))][0]


class BestReplyPolicy(MixPolicy):
    """Plays, of the programs that the environment lists, the one that is paid most against a mix; ties: the first.

    Args:
        to: the mix.
    """

    def __init__(self, to: MixPolicy) -> None:
        if not isinstance(to, MixPolicy):
            raise ValueError("to: give a program:... or mix:...")
        self.shares = to.shares

    def program(self, setting: modal_env.Setting) -> modal_env.Agent:
        """The best reply, computed exactly."""

        def paid(agent: modal_env.Agent) -> Fraction:
            meetings = [(meet(agent, other, setting.cost), share) for other, share in self.shares]
            return sum(
                (share * (met.points[0] - setting.epsilon * met.costs[0]) for met, share in meetings), Fraction(0)
            )

        return max(setting.agents, key=paid)
