"""The speed of modal combat, measured in one run on one core: `python -m benchmarks.modal`.

The agents are random (`random_agents`): 2,000 distinct players with a depth of at most 4, and 64 helpers that call
each other in four ranks. All rows are measured in every round, so that a busy machine affects all alike; numbers are
medians over the rounds. A play is one pair of agents, a move is one agent's action in a play: a tournament of n agents
has n x n moves.

`--check 20000` measures nothing: it compares tournaments with single plays, pair by pair.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from statistics import median
from typing import Annotated

import numpy as np
import typer

from benchmarks.speed import ONE, cpu_model, pin
from modal_env.logic.library import LIBRARY
from modal_env.logic.notation import Agent, Formula, Op, parse
from modal_env.logic.provability import play
from modal_env.logic.tournaments import tournament

SEED = 0
PLAYERS, HELPERS, RANKS = 2_000, 64, 4
PLAIN = 1_000  # plays per measurement
SIZES = (100, 200, PLAYERS)  # of tournaments
CHAINS = (12, 64)
BINARY = (Op.AND, Op.OR, Op.IMPLIES, Op.IFF)


def random_formula(rng: np.random.Generator, height: int, boxes: int, called: Sequence[Agent], boxed: bool) -> Formula:
    """A random formula with at most this height and box nesting.

    Leaves outside boxes are constants. Leaves in boxes are X(me) and X(H) of a called agent H with 45% each (if there
    are helpers), `me` with 5% and constants with 5%.
    """
    if height == 0 or (height < 3 and rng.random() < 0.3):
        kind = rng.random()
        if not boxed or kind < 0.05:
            return Formula(Op(int(rng.integers(2))))
        if kind < 0.1:
            return Formula(Op.ME)
        return Formula(Op.CALL, agent=called[int(rng.integers(len(called)))] if called and kind < 0.55 else None)
    if boxes and rng.random() < (0.4 if boxed else 0.7):
        op = Op.BOX if rng.random() < 0.7 else Op.DIAMOND
        return Formula(op, (random_formula(rng, height - 1, boxes - 1, called, True),))
    if rng.random() < 0.25:
        return Formula(Op.NOT, (random_formula(rng, height - 1, boxes, called, boxed),))
    sides = [random_formula(rng, height - 1, boxes, called, boxed) for _ in range(2)]
    return Formula(BINARY[int(rng.integers(4))], tuple(sides))


def random_agents(rng: np.random.Generator, players: int, helpers: int) -> list[Agent]:
    """Distinct players that call helpers, which call helpers of lower ranks; all with a depth of at most 4.

    The maximum height, 2 to 5, and maximum box nesting, 1 to 4, of a formula are uniformly random. Duplicates are drawn
    again, so all formulas differ, but some behave identically.
    """
    rank = max(helpers // RANKS, 1)
    called: dict[Agent, None] = {}
    found: dict[Agent, None] = {}
    while len(called) < helpers:
        below = [*called][: len(called) // rank * rank]
        formula = random_formula(rng, int(rng.integers(2, 6)), int(rng.integers(1, 5)), below, False)
        called.setdefault(Agent(f"H{len(called)}", formula))
    while len(found) < players:
        formula = random_formula(rng, int(rng.integers(2, 6)), int(rng.integers(1, 5)), [*called], False)
        found.setdefault(Agent(f"A{len(found)}", formula))
    return [*found]


def chain(rank: int) -> Agent:
    """An agent that calls an agent of the next lower rank, and so on down to FairBot."""
    agent = parse("[]X(me)", name="P")
    for _ in range(rank):
        agent = parse("[](X(me) | X(P))", name="P", helpers={"P": agent})
    return agent


def compare(pairs: int) -> list[str]:
    """Play random pairs of random and library agents, singly and in a tournament, in sets of 500 pairs.

    Returns:
        The pairs of which moves or settling world differ.
    """
    rng, wrong = np.random.default_rng(SEED), []
    for start in range(0, pairs, 500):
        agents = [*random_agents(rng, 100, 16), *LIBRARY.values()]
        first, second = rng.integers(len(agents), size=(2, min(500, pairs - start)))
        played = tournament(agents)
        for i, j in zip(first.tolist(), second.tolist(), strict=True):
            outcome = play(agents[i], agents[j])
            found = (played.cooperates[i, j], played.cooperates[j, i]), played.worlds[i, j]
            if found != (outcome.cooperation, outcome.settles):
                wrong.append(f"{agents[i].text} against {agents[j].text}")
    return wrong


def rows() -> dict[str, Callable[[], int]]:
    """Name -> a function that runs once, and returns the number of plays or moves."""
    rng = np.random.default_rng(SEED)
    players = random_agents(rng, PLAYERS, HELPERS)
    pairs = [(players[i], players[j]) for i, j in rng.integers(len(players), size=(PLAIN, 2)).tolist()]
    found: dict[str, Callable[[], int]] = {"single plays": partial(played_singly, pairs)}
    found |= {f"tournament of {size:,}": partial(played_all, players[:size]) for size in SIZES}
    for rank in CHAINS:
        agent = chain(rank)
        found[f"chain of rank {rank}: play"] = partial(played_singly, [(agent, agent)])
        found[f"chain of rank {rank}: tournament"] = partial(played_all, [agent])
    return found


def played_singly(pairs: Sequence[tuple[Agent, Agent]]) -> int:
    for a, b in pairs:
        play(a, b)
    return len(pairs)


def played_all(players: Sequence[Agent]) -> int:
    return tournament(players).cooperates.size


def measure(run: Callable[[], int]) -> float:
    """Run a row repeatedly for at least 20 ms; returns the units per CPU second."""
    units, wall, cpu = 0, time.perf_counter(), time.process_time()
    while True:
        units += run()
        if time.perf_counter() - wall > 0.02:
            return units / (time.process_time() - cpu)


def main(
    repeats: Annotated[int, typer.Option(help="Rounds of measurement.", min=1)] = 7,
    quick: Annotated[bool, typer.Option("--quick", help="Two rounds.")] = False,
    check: Annotated[int, typer.Option(help="Compare this many random plays, and measure nothing.", min=0)] = 0,
) -> None:
    """Measure the speed of modal combat, or check that tournaments agree with single plays."""
    pin(ONE)
    if check:
        wrong = compare(check)
        print(f"{check:,} plays: moves and settling worlds compared, {len(wrong)} mismatches", *wrong[:20], sep="\n")
        raise typer.Exit(bool(wrong))
    measured = rows()
    rates: dict[str, list[float]] = {name: [] for name in measured}
    for _ in range(1 + (2 if quick else repeats)):  # the first warms up
        for name, run in measured.items():
            rates[name].append(measure(run))
    print(f"{cpu_model()}, load {os.getloadavg()[0]:.1f}; plays or moves per CPU second, medians and extremes")
    for name, found in rates.items():
        print(f"{name:<32} {median(found[1:]):>12,.0f}   {min(found[1:]):,.0f} - {max(found[1:]):,.0f}")


if __name__ == "__main__":
    typer.run(main)
