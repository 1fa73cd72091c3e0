"""Best-reply growth in which every direct agent of depth up to 2 may be added: exact, in integers.

What `modal_env.dynamics.growth` does for a list of agents. The sums of payoffs of all 2,097,152 agents are sums of
terms of four entries each (`modal_env.search.direct.mixes`), and change linearly while the same agent is added. Its
lead over the best of the others is concave in the number of steps, so bisection finds how long it leads.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from modal_env.checks import Number, brief, integer, whole
from modal_env.dynamics.growth import Growth, Run
from modal_env.dynamics.populations import MOST
from modal_env.errors import GameError
from modal_env.games.game import check_epsilon
from modal_env.games.payoffs import PAYOFFS, PayoffTable, as_table
from modal_env.logic.library import LIBRARY
from modal_env.progress import Report, no_report
from modal_env.search.direct.dynamics import names
from modal_env.search.direct.mixes import COUNT, DEPTH, blocks
from modal_env.search.direct_agents import code_of
from modal_env.search.plays import OUTCOMES

ONE_OF_EACH = "one of each other"
Integers = NDArray[Any]  # Python integers of any size


def direct_growth(
    epsilon: Number,
    steps: int,
    *,
    counts: Mapping[str, int] | None = None,
    payoffs: str | PayoffTable = PAYOFFS,
    max_runs: int = 1000,
    report: Report = no_report,
) -> Growth:
    """Add the best reply of all direct agents of depth up to 2, `steps` times.

    Of equally good replies one of the least depth is added; then one that defects at the first type where they differ.

    Args:
        epsilon: price of a level of depth.
        steps: how many agents to add.
        counts: direct agents, by name or formula -> how many there are at the start; by default one of each of the
            2,097,152. Agents without a name are called "code" and the number of their code.
        payoffs: a game, both seats equally often.
        max_runs: stop after this many runs.
        report: see `modal_env.progress`.

    Raises:
        GameError: as `modal_env.dynamics.growth.growth`; agents that are not direct agents of depth up to 2.
    """
    price, table = check_epsilon(epsilon), as_table(payoffs)
    steps, max_runs = whole("steps", steps, 1, MOST), whole("max_runs", max_runs, 1)
    begun = None if counts is None else _read(counts)
    scores = _begun(_scaled(price, table), begun)
    runs: list[Run] = []
    left = steps
    while left and len(runs) < max_runs:
        report(max(len(runs) / max_runs, 1 - left / steps))
        _, code = scores.best()
        change = scores.with_one_more(code)
        is_endless = change.best()[0] <= change.of(code)
        done = left if is_endless else _length(scores, change, code, left)
        runs.append(Run(name_of(code), done, is_endless))
        scores = scores.plus(change, done)
        left -= done
    return _grown(begun, tuple(runs), f"epsilon {price}")


def name_of(code: int) -> str:
    """The name of an agent of depth up to 1 or of the library, or "code" and its number."""
    return _known_names().get(code, f"code {code}")


@lru_cache(maxsize=1)
def _known_names() -> dict[int, str]:
    direct: dict[int, str] = {}
    for name, agent in LIBRARY.items():
        try:
            direct.setdefault(code_of(agent), name)
        except GameError:  # it calls others, or is deeper
            continue
    return direct | dict(zip(blocks().shallow.tolist(), names(), strict=False))


@dataclass(frozen=True)
class Scaled:
    """Payoffs and prices as integers, all times one factor; less twice the price, as `dynamics.Payments`.

    Attributes:
        matrix: [entries, entries] terms of payoffs.
        saved: [16] the prices that the agents of depth up to 1 save.
    """

    matrix: Integers
    saved: Integers


@dataclass(frozen=True)
class Scores:
    """The sums of payoffs of all agents against a population, or their changes.

    Attributes:
        paid: what a play pays.
        values: [entries] the terms of agents of depth 2.
        size: number of members.
    """

    paid: Scaled
    values: Integers
    size: int

    @property
    def own(self) -> Integers:
        """[16] the sums of the agents of depth up to 1."""
        return np.asarray(_has() @ self.values + self.paid.saved * self.size)

    def of(self, code: int) -> int:
        """The sum of one agent."""
        place = np.flatnonzero(blocks().shallow == code)
        entries = blocks().entries(np.array(code))
        return int(self.own[place[0]]) if len(place) else int(self.values[entries].sum())

    def best(self) -> tuple[int, int]:
        """The largest sum of an agent, and the agent's code."""
        parts = [part[..., 0] for part in blocks().split(self.values[:, None])]
        tops = [part.max(axis=2) for part in parts]
        left, right = tops[0] + tops[1], tops[2] + tops[3]
        sums, own = left.max(axis=1) + right.max(axis=1), self.own
        shallow = min(range(len(own)), key=lambda place: (-own[place], blocks().depths[place]))
        if own[shallow] >= sums.max():
            return int(own[shallow]), int(blocks().shallow[shallow])
        first = int(sums.argmax())
        seconds = int(left[first].argmax()), int(right[first].argmax())
        moves = [part[first, seconds[number // 2]].argmax() for number, part in enumerate(parts)]
        return int(sums[first]), blocks().code(first, seconds, moves)

    def with_one_more(self, code: int) -> Scores:
        """The change of all sums if this agent is added."""
        return Scores(self.paid, self.paid.matrix[:, blocks().entries(np.array(code))].sum(axis=1), 1)

    def plus(self, change: Scores, times: int) -> Scores:
        """After so many changes."""
        return Scores(self.paid, self.values + change.values * times, self.size + change.size * times)


@lru_cache(maxsize=1)
def _has() -> Integers:
    return blocks().has.astype(np.int64).astype(object)


def _scaled(price: Fraction, table: PayoffTable) -> Scaled:
    """The payments, times the least factor that makes them integers."""
    paid = [(table[moves] + table.turned[moves]) / 2 for moves in OUTCOMES]
    scale = lcm(*(value.denominator for value in (*paid, price)))
    whole_outcomes = blocks().outcomes.astype(np.int64).astype(object)
    matrix = sum(int(value * scale) * of for value, of in zip(paid, whole_outcomes, strict=True))
    return Scaled(np.asarray(matrix), np.array([int(price * scale) * int(DEPTH - d) for d in blocks().depths], object))


def _begun(paid: Scaled, counts: dict[int, int] | None) -> Scores:
    """The sums against the population at the start."""
    if counts is None:
        number = np.concatenate([[COUNT >> len(kinds)] * (1 << len(kinds)) for kinds in blocks().kinds]).astype(object)
        return Scores(paid, paid.matrix @ number, COUNT)
    scores = Scores(paid, np.zeros(len(paid.matrix), object), 0)
    for code, count in counts.items():
        scores = scores.plus(scores.with_one_more(code), count)
    return scores


def _read(counts: Mapping[str, int]) -> dict[int, int]:
    """Codes of agents -> how many there are.

    Raises:
        GameError: no mapping; counts that are not integers from 0, or all 0; agents that are not direct.
    """
    if not isinstance(counts, Mapping):
        raise GameError(f'counts={brief(counts)}: give how many there are of each agent, such as {{"FairBot": 50}}')
    found: dict[int, int] = {}
    for agent, given in counts.items():
        count = integer(given)
        if count is None or not 0 <= count <= MOST:
            raise GameError(f"{brief(given)} of {brief(agent)}: give a whole number from 0")
        code = code_of(agent)
        found[code] = found.get(code, 0) + count
    if not any(found.values()):
        raise GameError(f"counts {brief(counts)}: give one member at least")
    return found


def _length(scores: Scores, change: Scores, code: int, left: int) -> int:
    """How often this best reply is added before another one is better, at most `left` times."""
    low, high = 0, 1
    while high < left and scores.plus(change, high).best()[1] == code:
        low, high = high, 2 * high
    high = min(high, left)
    while high - low > 1:
        middle = (low + high) // 2
        if scores.plus(change, middle).best()[1] == code:
            low = middle
        else:
            high = middle
    return high


def _grown(begun: dict[int, int] | None, runs: tuple[Run, ...], terms: str) -> Growth:
    added = dict.fromkeys(run.agent for run in runs)
    if begun is None:
        return Growth((*added, ONE_OF_EACH), (*(1 for _ in added), COUNT - len(added)), runs, terms)
    start = {name_of(code): count for code, count in begun.items()}
    listed = (*start, *(name for name in added if name not in start))
    return Growth(listed, tuple(start.get(name, 0) for name in listed), runs, terms)
