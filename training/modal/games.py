"""Many games of modal_env at once, with one forward pass for all learning players.

The rules are those of `modal_env.envs.rounds`, as in the environments: a learner gets the same observations as a player
of `modal_env.make`. Games have one round and two players.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

import agents
import modal_env
from agents.modal.players import ProgramPolicy, Share
from modal_env import Agent
from modal_env.envs.action_modes import ContestTurn
from modal_env.envs.rounds import Contest
from modal_env.errors import GameError
from training.modal.networks import masked

LEARNER, OTHER = 0, 1  # seats
Floats = NDArray[np.float32]
Seat = tuple[Contest, int]


@dataclass(frozen=True)
class PlayedTurns:
    """The decisions of learning players in some games: N actions in E turns, one turn per player and game.

    Attributes:
        observations: int32 [N, 3, 2 + width], with `masks`: int8 [N, actions].
        actions: int64 [N].
        logits: float32 [N, actions] of the policy, masked; `logps`: float32 [N], of the chosen actions.
        values: float32 [N], the expected payoffs.
        turns: int64 [N], the turn of each action, from 0 to E - 1.
        payoffs: float32 [E], the payoff of each turn.
        programs: [E], the program written in each turn.
    """

    observations: NDArray[np.int32]
    masks: NDArray[np.int8]
    actions: NDArray[np.int64]
    logits: Floats
    logps: Floats
    values: Floats
    turns: NDArray[np.int64]
    payoffs: Floats
    programs: tuple[Agent, ...]

    @property
    def returns(self) -> Floats:
        """float32 [N], the payoff of each action's turn."""
        return self.payoffs[self.turns]


class ProgramOpponent:
    """The player in the other seat: a program, a mix or a best reply.

    Args:
        spec: "program:FairBot", "mix:FairBot=1/2,CooperateBot=1/2", "best-reply:to=(program:FairBot)".
        setting: the game's setting.

    Attributes:
        shares: the opponent's mixed strategy over programs.

    Raises:
        UnknownAgentError: no such policy.
        GameError: the policy does not choose programs.
        ActionError, FormulaError: a program is not available in this setting.
    """

    def __init__(self, spec: str, setting: modal_env.Setting) -> None:
        policy = agents.make(spec)
        if not isinstance(policy, ProgramPolicy):
            raise GameError(f"against={spec!r:.80}: give program:..., mix:... or best-reply:..., or 'self'")
        shares = policy.shares if isinstance(policy, agents.MixPolicy) else [(policy.program(setting), Fraction(1))]
        self.shares: tuple[Share, ...] = tuple((program, share) for program, share in shares if share)
        self._policy, self._setting = policy, setting
        mode = setting.mode()
        self._turns = {program: reduce(mode.take, mode.actions(program), ContestTurn()) for program, _ in self.shares}

    def turn(self, seed: int) -> ContestTurn:
        """The complete turn that writes its program in one game."""
        self._policy.reset(self._setting.names[OTHER], seed)
        return self._turns[self._policy.program(self._setting)]


def play(
    network: nn.Module, contests: list[Contest], opponent: ProgramOpponent | None, rng: np.random.Generator
) -> PlayedTurns:
    """Play one game in each contest: the network in one seat against an opponent, or in both without one."""
    for contest, seed in zip(contests, rng.integers(2**62, size=len(contests)).tolist(), strict=True):
        contest.begin(seed)
        if opponent:
            contest.turns[OTHER] = opponent.turn(seed)
    learning = (LEARNER,) if opponent else (LEARNER, OTHER)
    seats = [(contest, seat) for contest in contests for seat in learning]
    columns = _write(network, seats, rng)
    programs = tuple(turn.program for contest, seat in seats if (turn := contest.turns[seat]).program)
    paid = [contest.play() for contest in contests]
    payoffs = np.array([points[seat] for points in paid for seat in learning], np.float32)
    return PlayedTurns(payoffs=payoffs, programs=programs, **columns)


def programs_of(network: nn.Module, setting: modal_env.Setting, count: int, rng: np.random.Generator) -> list[Agent]:
    """Sample `count` programs from a policy."""
    contests = [Contest(setting) for _ in range(count)]
    _write(network, [(contest, LEARNER) for contest in contests], rng)
    return [turn.program for contest in contests if (turn := contest.turns[LEARNER]).program]


def _write(network: nn.Module, seats: Sequence[Seat], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """All seats write their next tokens together until every program is complete: columns of `PlayedTurns`."""
    steps = []
    writing = list(range(len(seats)))
    while writing:
        steps.append({**_act(network, [seats[turn] for turn in writing], rng), "turns": np.array(writing)})
        writing = [turn for turn in writing if not seats[turn][0].is_ready(seats[turn][1])]
    return {name: np.concatenate([step[name] for step in steps]) for name in steps[0]}


def _act(network: nn.Module, seats: Sequence[Seat], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    """Sample the next action of each of these players from the policy, and take it."""
    seen = [contest.observe(seat) for contest, seat in seats]
    observations = np.stack([one["observation"] for one in seen])
    masks = np.stack([one["action_mask"] for one in seen])
    with torch.no_grad():
        logits, values = network(torch.from_numpy(observations))
        logits = masked(logits, torch.from_numpy(masks))
        logps = logits.log_softmax(-1).numpy()
    actions = (logps + rng.gumbel(size=logps.shape)).argmax(-1)  # the Gumbel-max trick
    for (contest, seat), action in zip(seats, actions.tolist(), strict=True):
        contest.take({seat: action})
    return {
        "observations": observations,
        "masks": masks,
        "actions": actions,
        "logits": logits.numpy(),
        "logps": logps[np.arange(len(actions)), actions],
        "values": values.detach().numpy(),
    }
