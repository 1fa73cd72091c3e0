"""Behaviorally distinct agents: classes of agents, one for each behavior, and their play of all against all.

`two_boxes` lists every agent that is a truth function of at most two boxes [](a | b), where a and b are X(me), X on one
of the agents called, []false or []X(me), or the negation of one: 10,283 behaviors with CooperateBot, DefectBot and
FairBot to call, among them those of the post. `behaviors_of` does the same for any list of agents. A *behavior* is
the class of all agents with equal canonical forms (`modal_env.logic.finite_machines`); its depth is the least of
theirs.

The complete class of those that call nobody is in `modal_env.search.direct_agents`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product

import numpy as np
from numba import njit
from numpy.typing import NDArray

from modal_env.checks import whole
from modal_env.errors import GameError
from modal_env.logic.finite_machines import Table, canonical_forms, check_names, machine, stacked
from modal_env.logic.library import CooperateBot, DefectBot, FairBot
from modal_env.logic.notation import Agent, as_agents
from modal_env.logic.provability import play
from modal_env.logic.syntax import closure
from modal_env.progress import Report, no_report
from modal_env.search.best_replies import check_called, parse_calling

ROWS = 200  # agents played between two progress reports
MAX_WORLDS = 60
MAX_LITERALS = 3  # 3 gives some 400,000 formulas
Bools = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Behaviors:
    """n behaviors, one agent of each.

    Attributes:
        calls: agents that may be called, besides the agents themselves; includes all that these call.
        outputs: [n, states] uint8. moves: [n, states, symbols] int16. See `modal_env.logic.finite_machines.Machine`.
        depths: [n] int64.
        texts: [n] the agents' formulas, in which X(Name) is one of `calls`.
    """

    calls: tuple[Agent, ...]
    outputs: NDArray[np.uint8]
    moves: Table
    depths: NDArray[np.int64]
    texts: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def agent(self, number: int) -> Agent:
        """The agent of a behavior.

        Raises:
            GameError: there is no behavior of this number.
        """
        number = whole("number", number, 0, len(self) - 1)
        return parse_calling(self.texts[number], self.calls)

    @cached_property
    def agents(self) -> tuple[Agent, ...]:
        """[n] the agents of all behaviors."""
        return tuple(self.agent(number) for number in range(len(self)))

    def index(self, agent: Agent) -> int | None:
        """The behavior of an agent; None if it is not listed.

        Raises:
            GameError: RandomBot, or an agent that calls others than `calls`.
        """
        own = stacked([machine(agent, self.calls)])
        states = max(own[0].shape[1], self.outputs.shape[1])
        outputs = np.concatenate([_widened(array, states) for array in (own[0], self.outputs)])
        moves = np.concatenate([_widened(array, states) for array in (own[1], self.moves)])
        forms = canonical_forms(outputs, moves, self.calls)
        places = np.flatnonzero((forms[1:] == forms[0]).all(axis=1))
        return int(places[0]) if len(places) else None

    @cached_property
    def cooperates(self) -> Bools:
        """[n, n] whether the row's agent cooperates with the column's; about 0.1 microseconds a pair."""
        return self._all_against_all(no_report)

    def play_all(self, report: Report) -> None:
        """Compute `cooperates`, with a report (`modal_env.progress`)."""
        vars(self)["cooperates"] = self._all_against_all(report)  # where the cached property looks first

    def _all_against_all(self, report: Report) -> Bools:
        count = len(self)
        cooperates = np.zeros((count, count), np.bool_)
        words, until = self._moves_against_calls()
        for first in range(0, count, ROWS):
            report(1 - (1 - first / count) ** 2)  # later rows are shorter
            if _play_rows(self.outputs, self.moves, words, until, cooperates, first, min(first + ROWS, count)):
                raise GameError(f"two of the agents do not settle within {MAX_WORLDS} worlds")
        return cooperates

    def _moves_against_calls(self) -> tuple[NDArray[np.int64], int]:
        """[n, calls]: each agent's moves against the agents called, worlds as bits; and when all of these settle."""
        everybody = np.arange(len(self))
        called = [machine(call, self.calls) for call in self.calls]
        mutual, until = _mutual(self.calls)
        own = [np.zeros(len(self), np.int64) for _ in called]  # states of the machines, a pair for each play
        theirs = [np.zeros(len(self), np.int64) for _ in called]
        words = np.zeros((len(self), len(called)), np.int64)
        for world in range(MAX_WORLDS):
            made = [self.outputs[everybody, state].astype(np.int64) for state in own]
            words |= np.stack([*(move << world for move in made)], axis=1) if made else 0
            inputs = sum(move << bit for bit, move in enumerate(made, start=1))
            before = [*own, *theirs]
            for k, one in enumerate(called):
                seen = one.outputs[theirs[k]] + mutual[k][min(world, len(mutual[k]) - 1)]
                own[k] = self.moves[everybody, own[k], seen].astype(np.int64)
                theirs[k] = one.moves[theirs[k], inputs + made[k]].astype(np.int64)
            if world >= until and all(map(np.array_equal, before, [*own, *theirs])):
                return words, world
        raise GameError(f"an agent and one that it calls do not settle within {MAX_WORLDS} worlds")


def _widened(array: NDArray[np.integer], states: int) -> NDArray[np.integer]:
    """The array with additional states, which are never reached."""
    return np.pad(array, [(0, 0), (0, states - array.shape[1]), *[(0, 0)] * (array.ndim - 2)])


def _mutual(calls: Sequence[Agent]) -> tuple[list[list[int]], int]:
    """The moves of each agent called against all of them: symbols, world by world, without bit 0."""
    outcomes = [[play(one, other) for other in calls] for one in calls]
    until = max((outcome.settles for row in outcomes for outcome in row), default=0)
    symbols = [
        [
            sum(bool(outcome.trace[min(world, outcome.settles)][0]) << bit for bit, outcome in enumerate(row, start=1))
            for world in range(until + 1)
        ]
        for row in outcomes
    ]
    return symbols, until


def behaviors_of(agents: Iterable[Agent], calls: Sequence[Agent] = ()) -> Behaviors:
    """The behaviors of a list of agents; of agents that behave alike, the one of least depth, then size, is kept.

    Args:
        agents: any but RandomBot.
        calls: agents that may be called, besides those that the formulas call.

    Raises:
        GameError: no agents; two different agents with the same name are called; or as `machine`.
    """
    given = as_agents(agents)
    letters = closure([*calls, *(call for agent in given for call in agent.called)])
    check_names(letters)
    outputs, moves = stacked([machine(agent, letters) for agent in given])
    ranks = [(agent.depth, agent.size, agent.text) for agent in given]
    return _distinct(letters, outputs, moves, ranks)


def two_boxes(calls: Sequence[Agent] = (CooperateBot, DefectBot, FairBot), literals: int = 2) -> Behaviors:
    """All truth functions of at most two boxes, each around a disjunction of at most `literals` literals.

    Args:
        calls: agents that the opponent may be called on, of depth at most 2.
        literals: number of literals in one box, of X(me), X on the calls, []false, []X(me), and their negations. With
            the standard calls 1 gives 318 behaviors, 2 gives 10,283.

    Raises:
        GameError: `literals` is not from 1 to `MAX_LITERALS`; calls that include RandomBot, are deeper than 2, have the
            same name, or are more than machines can have.
    """
    literals = whole("literals", literals, 1, MAX_LITERALS)
    letters = closure(check_called(calls, 2))
    check_names(letters)
    return _BoxPairs(letters, literals).behaviors()


class _BoxPairs:
    """The boxes of the class, and the machines of pairs of them.

    A state has four bits: []false, []X(me), and the values of the two boxes. All are true at world 0: state 15.
    """

    def __init__(self, calls: tuple[Agent, ...], literals: int) -> None:
        self.calls = calls
        self.symbols = 2 << len(calls)
        atoms = ["X(me)", *(f"X({call.name})" for call in calls), "[]false", "[]X(me)"]
        depths = [0, *(call.depth for call in calls), 2, 2]  # of an agent with this atom in a box
        clauses = [
            tuple(zip(chosen, signs, strict=True))
            for count in range(literals + 1)
            for chosen in combinations(range(len(atoms)), count)
            for signs in product((True, False), repeat=count)
        ]
        self.texts = [
            f"[]({' | '.join(atoms[a] if sign else f'~{atoms[a]}' for a, sign in c) or 'false'})" for c in clauses
        ]
        self.depths = [max([1, *(depths[a] for a, _ in clause)]) for clause in clauses]
        self.holds = [self._holds(clause) for clause in clauses]

    def _holds(self, clause: tuple[tuple[int, bool], ...]) -> Bools:
        """[16, symbols] whether the disjunction is true at a state, with a symbol."""
        states, symbols = np.arange(16)[:, None], np.arange(self.symbols)[None]
        values = [*(symbols >> bit & 1 for bit in range(1 + len(self.calls))), states & 1, states >> 1 & 1]
        true = np.zeros((16, self.symbols), np.bool_)
        for atom, sign in clause:
            true |= values[atom] == sign
        return true

    def _moves(self, first: int, second: int) -> Table:
        """[16, symbols]"""
        states, symbols = np.arange(16)[:, None], np.arange(self.symbols)[None]
        always = states >> 1 & symbols & 1  # X(me) at this world and all earlier ones
        boxes = [states >> bit & 1 & self.holds[box] for bit, box in ((2, first), (3, second))]
        # The first state is to be number 0, so bits are stored flipped.
        return np.asarray((always << 1 | boxes[0] << 2 | boxes[1] << 3)[::-1] ^ 15, np.int16)

    def behaviors(self) -> Behaviors:
        """The behaviors of all pairs of boxes."""
        states = np.arange(15, -1, -1)  # stored state s has the bits 15 - s
        outputs, moves, ranks = [], [], []
        for first, second in combinations(range(len(self.texts)), 2):
            shared = self._moves(first, second)
            for join, text, used in self._functions(first, second):
                outputs.append(join(states >> 2 & 1, states >> 3 & 1).astype(np.uint8))
                moves.append(shared)
                ranks.append((max([0, *(self.depths[box] for box in used)]), len(text), text))
        return _distinct(self.calls, np.array(outputs), np.array(moves), ranks)

    def _functions(
        self, first: int, second: int
    ) -> list[tuple[Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]], str, tuple[int, ...]]]:
        """All 16 truth functions of two boxes: each as a function, as a text, and with the boxes that matter."""
        a, b = self.texts[first], self.texts[second]
        both, one, other = (first, second), (first,), (second,)
        return [
            (lambda p, q: 0 * p, "false", ()),
            (lambda p, q: 1 + 0 * p, "true", ()),
            (lambda p, q: p, a, one),
            (lambda p, q: 1 - p, f"~{a}", one),
            (lambda p, q: q, b, other),
            (lambda p, q: 1 - q, f"~{b}", other),
            (lambda p, q: p & q, f"{a} & {b}", both),
            (lambda p, q: p & (1 - q), f"{a} & ~{b}", both),
            (lambda p, q: (1 - p) & q, f"~{a} & {b}", both),
            (lambda p, q: (1 - p) & (1 - q), f"~{a} & ~{b}", both),
            (lambda p, q: p | q, f"{a} | {b}", both),
            (lambda p, q: p | (1 - q), f"{a} | ~{b}", both),
            (lambda p, q: (1 - p) | q, f"~{a} | {b}", both),
            (lambda p, q: (1 - p) | (1 - q), f"~{a} | ~{b}", both),
            (lambda p, q: 1 - (p ^ q), f"({a} <-> {b})", both),
            (lambda p, q: p ^ q, f"({a} <-> ~{b})", both),
        ]


def _distinct(
    calls: tuple[Agent, ...], outputs: NDArray[np.uint8], moves: Table, ranks: list[tuple[int, int, str]]
) -> Behaviors:
    """One agent for each canonical form, the first by (depth, size, text), sorted by these."""
    order = sorted(range(len(ranks)), key=ranks.__getitem__)
    forms = canonical_forms(outputs, moves, calls)[order]
    first: dict[bytes, int] = {}
    for place, form in enumerate(forms):
        first.setdefault(form.tobytes(), place)
    kept = [order[place] for place in first.values()]
    depths = np.array([ranks[number][0] for number in kept])
    return Behaviors(calls, outputs[kept], moves[kept], depths, tuple(ranks[number][2] for number in kept))


@njit(cache=True, nogil=True)
def _play_rows(outputs, moves, words, until, cooperates, first, last):  # type: ignore[no-untyped-def]
    """Play agents first to last - 1 against themselves and all later ones; True if a play does not settle in time."""
    count, calls = words.shape
    for a in range(first, last):
        for b in range(a, count):
            s = t = 0
            for world in range(MAX_WORLDS + 1):
                if world == MAX_WORLDS:
                    return True
                at = min(world, until)
                read_a, read_b = np.int64(outputs[b, t]), np.int64(outputs[a, s])
                for k in range(calls):
                    read_a |= (words[b, k] >> at & 1) << k + 1
                    read_b |= (words[a, k] >> at & 1) << k + 1
                u, v = moves[a, s, read_a], moves[b, t, read_b]
                if u == s and v == t and world >= until:
                    break
                s, t = u, v
            cooperates[a, b], cooperates[b, a] = outputs[a, s], outputs[b, t]
    return False
