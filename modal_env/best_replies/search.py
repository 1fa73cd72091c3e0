"""A complete search for the outcomes that agents up to a depth can reach against given opponents.

There are far too many agents to list: with two others to call, 2**193 truth functions at depth 1 alone. But an agent is
a function from types of histories to moves (`modal_env.best_replies.types`). The search plays world by world against
all opponents at once, and branches on the move for a type when it first occurs. Every agent agrees with one of the
branches on all types that it meets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from modal_env.best_replies.types import Types
from modal_env.best_replies.writing import agent_of
from modal_env.checks import brief, items, whole
from modal_env.errors import GameError
from modal_env.logic.finite_machines import MAX_CALLS, Machine, check_machines, machine
from modal_env.logic.library import LIBRARY
from modal_env.logic.notation import Agent, as_agent, as_agents
from modal_env.logic.provability import Outcome, play
from modal_env.logic.syntax import can_be_called, closure
from modal_env.progress import Report, check_report, no_report, part

MAX_DEPTH = 3
SEARCHED = 0.5  # part of the progress for finding replies; the rest is for writing an agent for each
HARDER = 30.0  # the search takes this many times longer with each level of depth
CALLS = tuple(LIBRARY[name] for name in ("CooperateBot", "DefectBot", "FairBot", "FalseBot", "TrueBot"))
"""Agents that may be called in the searches whose results the pages show."""

Moves = tuple[tuple[str, str], ...]
Decided = dict[int, bool]
"""Type of a history -> whether the agent cooperates after it."""
Seats = tuple[tuple[int, int], ...]
"""For each opponent: its machine's state, and the type of its history."""


@dataclass(frozen=True)
class FoundReply:
    """Outcomes against the opponents that an agent of the class can reach.

    Attributes:
        moves: for each opponent, the moves "C" or "D" of the agent and of the opponent.
        agent: an agent of the class that reaches them, of least depth.
    """

    moves: Moves
    agent: Agent


def replies(
    opponents: Iterable[Agent | str], calls: Iterable[Agent | str] = (), *, depth: int = 2, report: Report = no_report
) -> list[FoundReply]:
    """All outcomes of agents up to a depth against the opponents, each with an agent of least depth that reaches it.

    The class is complete: all agents of at most this depth that call X only on themselves and on `calls`.

    Args:
        opponents: agents, names or formulas; the same agent plays against all of them.
        calls: agents that may be called, besides the agents themselves.
        depth: of the agents, 0 to 3. Time and memory grow fast from 3 on.
        report: see `modal_env.progress`.

    Raises:
        GameError: no opponents; RandomBot among the opponents or calls, or called by them; a depth out of bounds; more
            than MAX_CALLS calls, of too great a depth, or with the same name.
        FormulaError: a text that is neither name nor formula.
    """
    check_report(report)
    depth = whole("depth", depth, 0, MAX_DEPTH)
    met, called = as_agents(opponents, "opponents"), _checked_calls(calls, depth)
    check_machines("opponents", met)
    found: dict[Moves, FoundReply] = {}
    for level in range(depth + 1):
        before, after = (HARDER ** (done - depth) if done >= 0 else 0.0 for done in (level - 1, level))
        shallow = tuple(call for call in called if call.depth <= level)
        found |= _BranchingSearch(met, shallow, level).replies(found, part(report, before, after))
    return list(found.values())


def _checked_calls(calls: Iterable[Agent | str], depth: int) -> tuple[Agent, ...]:
    """The agents that agents of this depth may call.

    Raises:
        GameError, FormulaError: as `replies`.
    """
    given = items(calls, MAX_CALLS + 1)
    if given is None or len(given) > MAX_CALLS:
        raise GameError(f"calls={brief(calls)}: give a list of at most {MAX_CALLS} agents")
    called = tuple(map(as_agent, given))
    check_machines("calls", called)
    if deep := [call for call in called if call.depth > depth]:
        raise GameError(f"calls: an agent that calls {deep[0].name!r:.80} has depth {deep[0].depth}, not {depth}")
    names = [call.name for call in called]
    if len(set(names)) < len(names) or not all(map(can_be_called, names)):
        raise GameError(f"calls {', '.join(names):.80}: give agents different names that can stand in X(.)")
    return called


class _BranchingSearch:
    """The search at one depth, with what is fixed for all replies.

    Attributes:
        met: the opponents and all agents that they call.
        fixed: [met][worlds] the moves of each against the calls, as a symbol without bit 0, X(me); the last one stays.
    """

    def __init__(self, opponents: tuple[Agent, ...], calls: tuple[Agent, ...], depth: int) -> None:
        self.opponents, self.calls = opponents, calls
        self.types = Types(depth)
        self.met = closure(opponents)
        self.machines: list[Machine] = [machine(agent) for agent in self.met]
        self.called = [[self.met.index(call) for call in agent.called] for agent in self.met]
        plays = [[play(agent, call) for call in calls] for agent in self.met]
        self.horizon = max((outcome.settles for row in plays for outcome in row), default=0) + 1
        self.fixed = [[_symbol(row, world) for world in range(self.horizon + 1)] for row in plays]

    def replies(self, known: dict[Moves, FoundReply], report: Report) -> dict[Moves, FoundReply]:
        """The replies at this depth that are not known."""
        found = {moves: decided for moves, decided in sorted(self._outcomes(report).items()) if moves not in known}
        written: dict[Moves, FoundReply] = {}
        for moves, decided in found.items():
            report(SEARCHED + (1 - SEARCHED) * len(written) / len(found))
            written[moves] = FoundReply(moves, agent_of(self.types, decided, self.calls))
        return written

    def _outcomes(self, report: Report) -> dict[Moves, Decided]:
        """Every outcome, with the moves of an agent that reaches it. A branching halves its share of the progress."""
        found: dict[Moves, Decided] = {}
        seen: set[object] = set()
        start: Seats = ((0, 0),) * len(self.met)
        todo: list[tuple[int, Seats, Decided, float]] = [(0, start, {}, 1.0)]
        done = 0.0
        while todo:
            world, seats, decided, share = todo.pop()
            if open_types := sorted({kind for _, kind in seats if kind not in decided}):
                todo.extend((world, seats, {**decided, open_types[0]: move}, share / 2) for move in (True, False))
                continue
            following = self._step(world, seats, decided)
            if world >= self.horizon and following == seats:
                found.setdefault(self._moves(seats, decided), decided)
                done += share
                continue
            world = min(world + 1, self.horizon)
            if (key := (world, following, self._needed(following, decided))) in seen:
                done += share
                report(SEARCHED * done)
                continue
            seen.add(key)
            todo.append((world, following, decided, share))
        return found

    def _step(self, world: int, seats: Seats, decided: Decided) -> Seats:
        own = [decided[kind] for _, kind in seats]
        following = []
        for place, (state, kind) in enumerate(seats):
            theirs = int(self.machines[place].outputs[state])
            read = own[place] + sum(own[call] << bit for bit, call in enumerate(self.called[place], start=1))
            symbol = self.fixed[place][world] + theirs
            following.append((int(self.machines[place].moves[state, read]), self.types.after(kind, symbol)))
        return tuple(following)

    def _needed(self, seats: Seats, decided: Decided) -> frozenset[tuple[int, bool]]:
        """The decisions that may still matter: branches that agree on these have the same outcomes."""
        now = {kind for _, kind in seats}
        return frozenset(
            (kind, move) for kind, move in decided.items() if any(self.types.may_follow(t, kind) for t in now)
        )

    def _moves(self, seats: Seats, decided: Decided) -> Moves:
        places = [self.met.index(agent) for agent in self.opponents]
        own = ["DC"[decided[seats[place][1]]] for place in places]
        theirs = ["DC"[int(self.machines[place].outputs[seats[place][0]])] for place in places]
        return tuple(zip(own, theirs, strict=True))


def _symbol(outcomes: Sequence[Outcome], world: int) -> int:
    moves = [outcome.trace[min(world, outcome.settles)][0] for outcome in outcomes]
    return sum(bool(move) << bit for bit, move in enumerate(moves, start=1))
