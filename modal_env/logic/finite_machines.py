"""Agents as finite machines, and when two of them behave alike.

An agent's move at a world follows from its opponent's moves at the worlds before: X(me), and X(B) for the agents B that
it calls. So an agent is a Moore machine that reads one symbol per world, the values of these letters. Its states are
the values of its boxes, each of which changes at most once.

Two agents whose machines give the same output after every word behave alike: they have the same values at every world
against every agent, and so no third agent can distinguish them. Words that no opponent produces do not count:

1. At world 0 an opponent makes the same move against all agents, so all letters are equal.
2. At world 1 it has seen one move of each agent. So the letters of agents with the same move at world 0 are equal;
   X(me) is among them.
3. If the agent behaves like an agent B that it calls, then X(me) and X(B) are equal at every world. This may be assumed
   in testing it: as long as the two have made the same moves, no opponent has distinguished them. So []X(FairBot) is
   FairBot.

The minimal machine on the remaining words is the canonical form. Agents with equal forms behave alike. Some with
different forms do, too, because later worlds put further constraints on the letters; but not if X(me) is the only
letter: then every word is produced by some agent, and if two agents differ at a world after it, a third agent (which
looks for a proof that they cooperate with that agent at this world) cooperates with only one of the two.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numba.core import event
from numpy.typing import NDArray

from modal_env.checks import brief, items
from modal_env.errors import GameError
from modal_env.logic.notation import Agent, Op, as_agent
from modal_env.logic.syntax import can_be_called, closure

NOTICE = "compiling the search through agents for this machine, once: a few seconds"


class Announcer(event.Listener):
    """Prints the notice when the first function of this package is compiled, not when it is loaded from the cache."""

    def __init__(self) -> None:
        self._is_said = False

    def on_start(self, seen: event.Event) -> None:
        if not self._is_said and seen.data["dispatcher"].py_func.__module__.startswith("modal_env."):
            self._is_said = True
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, seen: event.Event) -> None:
        """Does nothing."""


event.register("numba:compile", Announcer())


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


def machine(agent: Agent | str, calls: Sequence[Agent | str] | None = None) -> Machine:
    """The machine of an agent.

    Args:
        agent: any agent but RandomBot, or the name or formula of one.
        calls: the letters of the symbols; by default the agents that the agent calls.

    Raises:
        GameError: RandomBot, which is not a function of its opponent; the agent calls an agent that is not in `calls`;
            more than MAX_CALLS calls or MAX_STATES states.
    """
    agent = as_agent(agent)
    letters = agent.called if calls is None else _letters(calls)
    if coins := [one for one in (agent, *letters) if one.is_random]:
        raise GameError(
            f"{coins[0].name[:60]!r} is RandomBot, which is not a machine: no machine for {agent.name[:60]!r}"
        )
    if missing := [call.name for call in agent.called if call not in letters]:
        raise GameError(f"{agent.name[:60]!r} calls {missing[0]!r}, which is not among the calls given")
    if len(letters) > MAX_CALLS:
        raise GameError(f"{len(letters)} calls: at most {MAX_CALLS} are possible")
    return _explored(_BoxValues(agent, letters), letters)


def _letters(calls: object) -> tuple[Agent, ...]:
    given = items(calls)
    if given is None:
        raise GameError(f"calls={brief(calls)}: give a list of agents")
    return tuple(map(as_agent, given))


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
                stack.append(self._join(code, stack.pop(), right))
        return stack[0], bodies

    def _join(self, code: int, left: int, right: int) -> int:
        if code == Op.AND:
            return left & right
        if code == Op.OR:
            return left | right
        return (left ^ self.full) | right if code == Op.IMPLIES else left ^ right ^ self.full


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


def stacked(machines: Sequence[Machine]) -> tuple[NDArray[np.uint8], Table]:
    """Machines with the same calls as arrays [n, states] and [n, states, symbols].

    Machines with fewer states get additional ones that are never reached.
    """
    states = max(len(machine.outputs) for machine in machines)
    more = [(0, states - len(machine.outputs)) for machine in machines]
    outputs = np.stack([np.pad(machine.outputs, extra) for machine, extra in zip(machines, more, strict=True)])
    moves = np.stack([np.pad(machine.moves, (extra, (0, 0))) for machine, extra in zip(machines, more, strict=True)])
    return outputs, moves


def canonical_forms(outputs: NDArray[np.uint8], moves: Table, calls: tuple[Agent, ...]) -> Table:
    """The canonical forms of many machines with the same calls: equal rows behave alike.

    Args:
        outputs: [n, states]. moves: [n, states, symbols]; state 0 is the first.

    Returns:
        [n, length] int16; rows from different calls of this function are not comparable.
    """
    called = [machine(call, calls) for call in calls]
    states = max([outputs.shape[1], *(len(one.outputs) for one in called)])
    outputs = np.pad(outputs, ((0, 0), (0, states - outputs.shape[1])))
    moves = np.pad(moves, ((0, 0), (0, states - moves.shape[1]), (0, 0)))
    forms = _forms(outputs, moves, calls)
    if called:
        others = stacked([*called, Machine(calls, outputs[0], moves[0])])  # the last one only sets the number of states
        other_forms = _forms(*others, calls)
        for number in range(len(calls)):
            twin = number + 1
            alike = _forms(outputs, moves, calls, twin) == _forms(*others, calls, twin)[number]
            forms[alike.all(axis=1)] = other_forms[number]
    return forms


def _forms(outputs: NDArray[np.uint8], moves: Table, calls: tuple[Agent, ...], twin: int | None = None) -> Table:
    """Canonical forms on the words that can occur, or only on those in which X(me) is equal to letter `twin`."""
    count, states, symbols = moves.shape
    ones = sum(2 << number for number, call in enumerate(calls) if machine(call).outputs[0])
    zeros = symbols - 2 - ones
    # [own move at world 0, 4]: what is possible at world 1, X(me) being like the other letters with that move.
    second = np.array([[c * ones + d * zeros + (c if own else d) for c in (0, 1) for d in (0, 1)] for own in (0, 1)])
    later = np.array([s for s in range(symbols) if twin is None or s & 1 == s >> twin & 1])
    forms = np.full((count, 11 + states * (1 + symbols)), -1, np.int16)
    _write_forms(outputs, moves, second, later, forms)
    return forms


@njit(cache=True, nogil=True)
def _classes(outputs, moves, later, classes):  # type: ignore[no-untyped-def]
    """Number the states of one machine: two have the same number iff no word distinguishes them (Moore 1956)."""
    states = len(outputs)
    new = np.empty(states, np.int64)
    classes[:] = outputs
    found = 0
    while True:
        count = 0
        for s in range(states):
            new[s] = -1
            for t in range(s):
                same = classes[s] == classes[t]
                for a in later:
                    same = same and classes[moves[s, a]] == classes[moves[t, a]]
                if same:
                    new[s] = new[t]
                    break
            if new[s] < 0:
                new[s] = count
                count += 1
        classes[:] = new
        if count == found:
            return
        found = count


@njit(cache=True, nogil=True)
def _write_forms(outputs, moves, second, later, forms):  # type: ignore[no-untyped-def]
    """World 0 (1 number), world 1 after either symbol (5 each), then the minimal machine from world 2 on.

    Classes of states are numbered in order of discovery; each is written as its output and its successors.
    """
    count, states, symbols = moves.shape
    classes = np.empty(states, np.int64)
    number = np.empty(states, np.int64)  # class -> number in the form
    met = np.empty(states, np.int64)  # number in the form -> a state
    for n in range(count):
        _classes(outputs[n], moves[n], later, classes)
        number[:] = -1
        known, done, place = 0, -2, 1
        forms[n, 0] = outputs[n, 0]
        while done < known:
            if done < 0:
                s = moves[n, 0, (done + 2) * (symbols - 1)]
                read = second[outputs[n, 0]]
            else:
                s = met[done]
                read = later
            done += 1
            forms[n, place] = outputs[n, s]
            place += 1
            for a in read:
                t = moves[n, s, a]
                if number[classes[t]] < 0:
                    number[classes[t]], met[known] = known, t
                    known += 1
                forms[n, place] = number[classes[t]]
                place += 1
