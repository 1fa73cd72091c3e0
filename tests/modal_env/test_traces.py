"""Plays as bits of words: against the plain evaluator and the naive one, and where words end."""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from modal_env.errors import GameError
from modal_env.logic import circuits, tiles, traces
from modal_env.logic.circuits import BOX, Roster, compile_agents
from modal_env.logic.library import LIBRARY, ConFairBot, CooperateBot, DefectBot, FairBot, RandomBot, WaitFairBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.traces import Traces, play_pairs, play_rows

ROOT = Path(__file__).resolve().parents[2]
RandomFormulas = Callable[[int, int], list[tuple[Any, ...]]]
ParseFormulas = Callable[[list[tuple[Any, ...]]], list[Agent]]


def all_pairs(agents: list[Agent]) -> tuple[Roster, np.ndarray, np.ndarray]:
    first, second = np.divmod(np.arange(len(agents) ** 2), len(agents))
    return compile_agents(agents), first, second


def as_played_plainly(a: Agent, b: Agent, played: Traces, number: int) -> bool:
    """Whether moves, settling world and the values at all 64 worlds are those of the plain evaluator."""
    outcome = play(a, b, worlds=64)
    bits = [[int(word) >> world & 1 for world in range(64)] for word in played.words[number]]
    return (
        tuple(move.decode() for move in played.moves[number].tolist()) == outcome.moves
        and played.settles[number] == outcome.settles
        and bits == [[int(bool(value)) for value in values] for values in zip(*outcome.trace, strict=True)]
    )


def disagreements(agents: list[Agent]) -> list[tuple[str, str]]:
    roster, first, second = all_pairs(agents)
    played = play_pairs(roster, first, second)
    return [
        (agents[i].text, agents[j].text)
        for number, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
        if not as_played_plainly(agents[i], agents[j], played, number)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_random_agents_as_the_plain_evaluator(
    seed: int, random_formulas: RandomFormulas, parse_formulas: ParseFormulas
) -> None:
    assert disagreements(parse_formulas(random_formulas(seed, 14))) == []


@pytest.mark.parametrize("seed", range(100, 103))
def test_random_agents_as_the_naive_evaluator(
    seed: int, random_formulas: RandomFormulas, parse_formulas: ParseFormulas, naive: type[Any]
) -> None:
    formulas = random_formulas(seed, 10)
    truth, (roster, first, second) = naive(formulas), all_pairs(parse_formulas(formulas))
    played = play_pairs(roster, first, second)
    for number, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        assert played.settles[number] == truth.settles(i, j)
        for side, pair in enumerate(((i, j), (j, i))):
            expected = [truth.move(*pair, world) for world in range(8)]
            assert [bool(int(played.words[number, side]) >> world & 1) for world in range(8)] == expected


def test_the_library_against_itself() -> None:
    agents = [*LIBRARY.values(), parse("[](X(RandomBot) | X(me))"), parse("~[]~X(RandomBot) & []X(FairBot)")]
    assert RandomBot in agents
    assert disagreements(agents) == []


@pytest.mark.parametrize("operator", ["&", "|", "->", "<->"])
def test_constants_and_boxes_that_nothing_follows_from(operator: str) -> None:
    """All combinations of constants and others around a connective, under a box and above it."""
    parts = ["true", "false", "~[]false", "[]([]false -> X(me))", "<>X(DefectBot)", "[][]me"]
    agents = [parse(f"{p} {operator} {q}") for p in parts for q in parts]
    agents += [parse(f"~[]~({p} {operator} ~{q})") for p in [*parts, "X(me)", "me"] for q in [*parts, "X(me)"]]
    roster, opponents = compile_agents([*agents, FairBot, DefectBot]), (len(agents), len(agents) + 1)
    for number, opponent in zip(opponents, (FairBot, DefectBot), strict=True):
        played = play_pairs(roster, np.arange(len(agents)), np.full(len(agents), number))
        assert all(as_played_plainly(agent, opponent, played, row) for row, agent in enumerate(agents))


def test_a_box_and_its_connective_are_one_step() -> None:
    """PrudentBot: []false, X(DefectBot) -> [...], [](X(me) & ...)."""
    circuits = compile_agents([LIBRARY["PrudentBot"]]).circuits
    steps = circuits.steps[circuits.first[-2] : circuits.first[-1]]
    assert (steps[:, 0] // BOX).tolist() == [1, 0, 1]


@pytest.mark.parametrize("height", [*range(60, 68), 130])
def test_what_does_not_settle_within_a_word_is_handed_over(height: int) -> None:
    falls_late = parse(f"{'[]' * height}false", name="Late")
    agents = [falls_late, parse("[]X(Late)", helpers={"Late": falls_late}), parse("~[]~X(me)"), FairBot, RandomBot]
    agents.append(parse("[]X(Last) | []X(RandomBot)", helpers={"Last": parse(f"~{'[]' * height}~X(me)")}))
    assert disagreements(agents) == []
    played = play_pairs(compile_agents(agents), [0], [3])
    assert played.settles[0] == height + 1


def test_late_play_of_a_helper_is_handed_over() -> None:
    """A play that settles late only because one that it depends on does."""
    assert disagreements([WaitFairBot(70), parse("[]X(me) | []X(W)", helpers={"W": WaitFairBot(70)}), FairBot]) == []


def chain(rank: int, step: str = "[](X(me) | X(P))") -> Agent:
    agent = parse("[]X(me)", name="P")
    for _ in range(rank):
        agent = parse(step, name="P", helpers={"P": agent})
    return agent


@pytest.mark.parametrize("rank", [12, 64, 400])
@pytest.mark.parametrize("step", ["[](X(me) | X(P))", "[]X(P)", "[](X(P) -> X(me))", "~[]X(P)"])
def test_chains_of_helpers(rank: int, step: str) -> None:
    agent = chain(rank, step)
    roster = compile_agents([agent, FairBot, DefectBot])
    assert (len(roster.helpers), roster.rank) == (rank, rank)
    played = play_pairs(roster, [0, 0, 0], [0, 1, 2])
    assert all(as_played_plainly(agent, b, played, i) for i, b in enumerate((agent, FairBot, DefectBot)))


def test_two_helpers_that_share_theirs() -> None:
    """Two calls on each of 40 levels: 2^40 ways down, 80 helpers."""
    left, right = FairBot, LIBRARY["PrudentBot"]
    for _ in range(40):
        helpers = {"L": left, "R": right}
        left, right = parse("[](X(L) -> X(R))", helpers=helpers), parse("~[](X(L) & X(R) & X(me))", helpers=helpers)
    assert disagreements([left, right, CooperateBot]) == []


def without_room(roster: Roster) -> Roster:
    """As where there are so many helpers that plays with them go into a hash table."""
    return replace(roster, known=roster.known[:0])


def test_plays_with_helpers_that_are_kept_and_those_in_a_hash_table() -> None:
    helpers = {f"H{k}": ConFairBot(k) for k in range(40)}
    agents = [parse(f"[](X(H{k % 40}) -> X(H{(k + 7) % 39}) & X(me))", helpers=helpers) for k in range(60)]
    roster, first, second = all_pairs(agents)
    played, again = play_pairs(roster, first, second), play_pairs(roster, first, second)
    hashed = play_pairs(without_room(roster), first, second)
    for part, others in zip(played, zip(again, hashed, strict=True), strict=True):
        assert all(np.array_equal(part, other) for other in others)


def test_a_hash_table_that_becomes_too_small() -> None:
    """One pair, thousands of plays with helpers."""
    left, right = FairBot, LIBRARY["PrudentBot"]
    for _ in range(60):
        helpers = {"L": left, "R": right}
        left, right = parse("[](X(L) -> X(R))", helpers=helpers), parse("~[](X(L) & X(R) & X(me))", helpers=helpers)
    roster = compile_agents([left, right])
    played = play_pairs(without_room(roster), [0], [1])
    play_pairs(roster, [0], [1])
    assert (roster.known[:, 1] != 0).sum() > 2048
    assert as_played_plainly(left, right, played, 0)


@pytest.mark.parametrize("seed", range(2))
def test_random_agents_in_a_hash_table(
    seed: int, random_formulas: RandomFormulas, parse_formulas: ParseFormulas
) -> None:
    roster, first, second = all_pairs(parse_formulas(random_formulas(seed, 40)))
    for part, other in zip(
        play_pairs(roster, first, second), play_pairs(without_room(roster), first, second), strict=True
    ):
        assert np.array_equal(part, other)


def test_rows_are_the_pairs_up_to_the_diagonal() -> None:
    agents = [*LIBRARY.values()]
    roster, first, second = all_pairs(agents)
    settles = play_pairs(roster, first, second).settles.reshape(len(agents), -1)
    for row, played in enumerate(play_rows(roster)):
        assert np.array_equal(played.settles, settles[row, : row + 1])
    assert np.array_equal(settles, settles.T)


def test_a_coin_called_on_too_many_agents_matters_only_to_who_plays_it() -> None:
    calls = [f"X({name})" for name in [*LIBRARY][:12]]
    roster = compile_agents([parse(f"[]({' | '.join(calls)})"), FairBot, RandomBot])
    assert play_pairs(roster, [0, 1], [1, 2]).moves.tolist() == [[b"C", b"C"], [b"D", b"?"]]
    with pytest.raises(GameError, match="at most 11"):
        play_pairs(roster, [0], [2])


def test_the_order_of_pairs_does_not_matter(random_formulas: RandomFormulas, parse_formulas: ParseFormulas) -> None:
    roster, first, second = all_pairs(parse_formulas(random_formulas(7, 30)))
    order = np.random.default_rng(0).permutation(len(first))
    played, shuffled = play_pairs(roster, first, second), play_pairs(roster, first[order], second[order])
    for one, other in zip(played, shuffled, strict=True):
        assert np.array_equal(one[order], other)


def test_no_pairs() -> None:
    assert [len(part) for part in play_pairs(compile_agents([FairBot]), [], [])] == [0, 0, 0]
    assert list(play_rows(compile_agents([]))) == []


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([0, 2], [0, 0], "agent 2: give numbers from 0 to 1"),
        ([0], [-1], "agent -1"),
        ([0.5], [0], "whole numbers"),
        ([[0]], [0], "shape"),
        ([0, 1], [0], "2 and 1"),
    ],
)
def test_wrong_pairs(first: Any, second: Any, message: str) -> None:
    with pytest.raises(GameError, match=message):
        play_pairs(compile_agents([FairBot, DefectBot]), first, second)


@pytest.mark.parametrize("agents", [5, ["[]X(me)"], [FairBot, None]])
def test_what_are_no_agents(agents: Any) -> None:
    with pytest.raises(GameError):
        compile_agents(agents)


def test_the_kernels_know_what_circuits_are() -> None:
    numbers = {name: value for name, value in vars(circuits).items() if name.isupper() and isinstance(value, int)}
    digest = hashlib.sha256(repr((sorted(numbers.items()), circuits.Circuits._fields)).encode()).hexdigest()[:16]
    assert digest == traces.CIRCUITS_DIGEST == tiles.CIRCUITS_DIGEST, f"write {digest} into both files"


def test_importing_compiles_nothing() -> None:
    code = (
        "from modal_env.logic import tiles, traces; from numba.core.registry import CPUDispatcher;"
        "print([f.signatures for m in (traces, tiles) for f in vars(m).values() if isinstance(f, CPUDispatcher)])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip().replace("[]", "").strip("[], ") == ""
    assert done.stdout.count("[]") >= 6
