"""Agents as finite machines.

An agent's move at a world follows from its opponent's moves at the worlds before: X(me), and X(B) for the agents B that
it calls. So an agent is a Moore machine that reads one symbol per world, the values of these letters. Its states are
the values of its boxes, each of which changes at most once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from modal_env.errors import GameError
from modal_env.logic.notation import Agent
from modal_env.logic.syntax import closure
from modal_env.logic.tournaments import evaluate, split

MAX_STATES = 4096
MAX_CALLS = 7

Table = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Machine:
    """A Moore machine with an agent's moves.

    Attributes:
        calls: the agents that the opponent is called on, besides the agent itself. In a symbol, bit 0 is X(me) and bit
            k is X(calls[k - 1]).
        outputs: [states] uint8, whether the agent cooperates. State 0 is the state at world 0.
        moves: [states, symbols] int16, the state at the next world.
    """

    calls: tuple[Agent, ...]
    outputs: NDArray[np.uint8]
    moves: Table

    def run(self, word: Sequence[int]) -> int:
        """The state after the symbols of a word."""
        state = 0
        for symbol in word:
            state = int(self.moves[state, symbol])
        return state


def machine(agent: Agent, calls: Sequence[Agent] | None = None) -> Machine:
    """The machine of an agent.

    Args:
        agent: any agent but RandomBot, which is not a function of its opponent.
        calls: the letters of the symbols, all agents that it calls among them; by default just these.

    Raises:
        GameError: more than MAX_CALLS calls or MAX_STATES states.
    """
    letters = agent.called if calls is None else tuple(calls)
    if len(letters) > MAX_CALLS:
        raise GameError(f"{agent.name[:60]!r}: {len(letters)} calls, of at most {MAX_CALLS}")
    above, bodies = split(agent)
    symbols = range(2 << len(letters))
    # A letter's values over all symbols, as bits: letter b is true in symbol s iff bit b of s is set.
    values = [sum((s >> b & 1) << s for s in symbols) for b in (0, *(1 + letters.index(call) for call in agent.called))]
    states = [(-1,) * len(bodies)]  # the values of the boxes; -1 is true
    numbers = {states[0]: 0}
    outputs: list[int] = []
    moves: list[list[int]] = []
    for state in states:  # grows
        own = evaluate(above, state, 0, ())
        read = [evaluate(body, state, own, values) for body in bodies]
        row = [tuple(box & -(body >> s & 1) for box, body in zip(state, read, strict=True)) for s in symbols]
        for new in row:
            if numbers.setdefault(new, len(states)) == len(states):
                states.append(new)
        outputs.append(own & 1)
        moves.append([numbers[new] for new in row])
        if len(states) > MAX_STATES:
            raise GameError(f"the agent has more than {MAX_STATES} states")
    return Machine(letters, np.array(outputs, np.uint8), np.array(moves, np.int16))


def check_machines(name: str, agents: Sequence[Agent]) -> None:
    """Check that agents are machines: none tosses a coin.

    Args:
        name: what to call the agents in the message.

    Raises:
        GameError: an agent is RandomBot, or calls X on RandomBot directly or indirectly.
    """
    for agent in agents:
        if agent.is_random:
            raise GameError(f"{name}: {agent.name!r:.60} is RandomBot, which is not a machine: leave it out")
        if any(called.is_random for called in closure([agent])):
            raise GameError(f"{name}: {agent.name!r:.60} calls X on RandomBot, which is not a machine: leave it out")
