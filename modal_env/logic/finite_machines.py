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
from modal_env.logic.notation import Agent, Op
from modal_env.logic.provability import join
from modal_env.logic.syntax import can_be_called, closure

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
    return _explored(_BoxValues(agent, letters), letters)


class _BoxValues:
    """The values of an agent's boxes: a state is a tuple of these values, in program order."""

    def __init__(self, agent: Agent, letters: tuple[Agent, ...]) -> None:
        self.program = agent.program
        self.kinds = tuple(code for code in self.program if code in (Op.BOX, Op.DIAMOND))
        self.symbols = 2 << len(letters)
        self.full = (1 << self.symbols) - 1
        order = (0, *(1 + letters.index(call) for call in agent.called))
        # A letter's values over all symbols, as bits: letter b is true in symbol s iff bit b of s is set.
        self.letters = [sum((s >> b & 1) << s for s in range(self.symbols)) for b in order]
        self.start = tuple(code == Op.BOX for code in self.kinds)

    def output(self, state: tuple[bool, ...]) -> bool:
        """The agent's move; it depends on the boxes alone."""
        return bool(self._evaluate(state, 0)[0])

    def following(self, state: tuple[bool, ...]) -> list[tuple[bool, ...]]:
        """The state at the next world after each symbol."""
        _, bodies = self._evaluate(state, self.full if self.output(state) else 0)
        return [
            tuple(
                value and bool(body >> s & 1) if kind == Op.BOX else value or bool(body >> s & 1)
                for kind, value, body in zip(self.kinds, state, bodies, strict=True)
            )
            for s in range(self.symbols)
        ]

    def _evaluate(self, state: tuple[bool, ...], own: int) -> tuple[int, list[int]]:
        """The values of the formula and of each box's content, over all symbols as bits."""
        stack: list[int] = []
        bodies: list[int] = []
        for code in self.program:
            if code >= Op.CALL:
                stack.append(self.letters[code - Op.CALL])
            elif code in (Op.BOX, Op.DIAMOND):
                bodies.append(stack.pop())
                stack.append(self.full if state[len(bodies) - 1] else 0)
            elif code == Op.NOT:
                stack.append(stack.pop() ^ self.full)
            elif code <= Op.ME:
                stack.append((0, self.full, own)[code])
            else:
                right = stack.pop()
                stack.append(join(code, stack.pop(), right, self.full))
        return stack[0], bodies


def _explored(boxes: _BoxValues, letters: tuple[Agent, ...]) -> Machine:
    numbers = {boxes.start: 0}
    states = [boxes.start]
    moves: list[list[int]] = []
    for state in states:  # grows
        row = boxes.following(state)
        for new in row:
            if numbers.setdefault(new, len(states)) == len(states):
                states.append(new)
        moves.append([numbers[new] for new in row])
        if len(states) > MAX_STATES:
            raise GameError(f"the agent has more than {MAX_STATES} states")
    outputs = np.array([boxes.output(state) for state in states], np.uint8)
    return Machine(letters, outputs, np.array(moves, np.int16))


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


def check_names(calls: Sequence[Agent]) -> None:
    """Check that X can be called on these agents in formulas.

    Raises:
        GameError: two have the same name, or a name cannot stand in X(.).
    """
    names = [call.name for call in calls]
    if len(set(names)) < len(names) or not all(map(can_be_called, names)):
        raise GameError(f"calls {', '.join(names):.80}: give agents different names that can stand in X(.)")
