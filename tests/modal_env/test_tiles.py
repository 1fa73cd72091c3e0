"""Tiles of 512 opponents: against the plain evaluator, and against the pairs' where that would take too long."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from modal_env.errors import GameError
from modal_env.logic.circuits import compile_agents
from modal_env.logic.library import LIBRARY, ConFairBot, DefectBot, FairBot, RandomBot, WaitFairBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.tiles import BLOCK, cooperation, packed
from modal_env.logic.tournaments import MANY, tournament
from modal_env.logic.traces import play_pairs

RandomFormulas = Callable[[int, int], list[tuple[Any, ...]]]
ParseFormulas = Callable[[list[tuple[Any, ...]]], list[Agent]]


def by_pairs(agents: list[Agent]) -> np.ndarray:
    first, second = np.divmod(np.arange(len(agents) ** 2), len(agents))
    moves = play_pairs(compile_agents(agents), first, second).moves[:, 0]
    return ((moves == b"C") + 0.5 * (moves == b"?")).reshape(len(agents), -1)


@pytest.mark.parametrize("seed", range(3))
def test_random_agents_as_the_plain_evaluator(
    seed: int, random_formulas: RandomFormulas, parse_formulas: ParseFormulas
) -> None:
    agents = parse_formulas(random_formulas(seed, 100))
    expected = tournament(agents).cooperates
    found = cooperation(agents)
    assert found.dtype == np.bool_
    assert np.array_equal(found, expected)


def test_the_library_as_the_plain_evaluator() -> None:
    agents = [*LIBRARY.values(), parse("[](X(RandomBot) | X(me))"), parse("~[]~X(RandomBot) & []X(FairBot)")]
    found = cooperation(agents)
    assert found.dtype == np.float64
    assert np.array_equal(found, tournament(agents).cooperates)


def test_several_blocks_of_players_and_of_helpers(
    random_formulas: RandomFormulas, parse_formulas: ParseFormulas
) -> None:
    """1100 players, of which more than 512 are called by others, in many ranks."""
    rng = np.random.default_rng(5)
    steps = ["[](X(A) -> X(me))", "[]X(A) & <>~X(B)", "~[](X(A) & X(B))", "[]([]X(B) -> X(me))", "<>X(A) | []X(B)"]
    agents = parse_formulas(random_formulas(11, 100))
    for number in range(1000):
        pool = agents[min(number, 600) :][:100]
        helpers = {name: pool[int(rng.integers(len(pool)))] for name in "AB"}
        agents.append(parse(steps[number % 5], helpers=helpers))
    roster = compile_agents(agents)
    assert len(roster.helpers) > BLOCK
    assert roster.rank > 4
    found = cooperation(agents)
    rows, columns = rng.integers(len(agents), size=(2, 20_000))
    moves = play_pairs(roster, rows, columns).moves
    assert np.array_equal(found[rows, columns], moves[:, 0] == b"C")
    assert np.array_equal(found[columns, rows], moves[:, 1] == b"C")
    for i, j in zip(rows[:8].tolist(), columns[:8].tolist(), strict=True):
        assert found[i, j] == (play(agents[i], agents[j]).moves[0] == "C")


@pytest.mark.parametrize("count", [0, 1, 2, 63, 64, 65, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 3])
def test_any_number_of_agents(count: int) -> None:
    some = list(LIBRARY.values())[:12]
    agents = [some[number % 12] for number in range(count)]
    bits = packed(compile_agents(agents))
    assert bits.shape == (count, -(-count // 64))
    found = cooperation(agents)
    assert found.shape == (count, count)
    period = tournament(some).cooperates
    assert np.array_equal(found, np.tile(period, (count // 12 + 1,) * 2)[:count, :count])
    unpacked = np.array([[int(word) >> bit & 1 for word in row for bit in range(64)] for row in bits[:3]])
    assert count == 0 or (np.array_equal(unpacked[:, :count], found[:3]) and not unpacked[:, count:].any())


def test_worlds_without_end() -> None:
    """Plays that settle long after world 63 need nobody's help."""
    late = {"Late": parse(f"{'[]' * 300}false"), "W": WaitFairBot(200)}
    texts = ["[]X(Late)", "~[]X(W)", "[](X(me) & <>X(Late))", "[]~X(me)"]
    agents = [*late.values(), *(parse(text, helpers=late) for text in texts), ConFairBot(100), FairBot, DefectBot]
    expected = [[play(a, b).moves[0] == "C" for b in agents] for a in agents]
    assert max(play(a, b).settles for a in agents for b in agents) > 300
    assert cooperation(agents).tolist() == expected


def test_a_helper_that_wakes_sleepers() -> None:
    """Among players nothing happens from world 2 on, until an opponent changes its mind about a helper."""
    helpers = {"Late": parse(f"{'[]' * 150}false")}
    agents = [parse(text, helpers=helpers) for text in ("[]X(Late)", "<>~X(Late)", "[]~X(Late)")] + [FairBot, DefectBot]
    expected = [[play(a, b).moves[0] == "C" for b in agents] for a in agents]
    assert cooperation(agents).tolist() == expected


@pytest.mark.parametrize("height", range(1, 5))
def test_the_last_change_of_mind_about_a_coin(height: int) -> None:
    agents = [parse("[]" * height + "false"), parse("[]X(RandomBot)"), parse("<>~X(RandomBot)")]
    expected = [[play(a, b).moves[0] == "C" for b in agents] for a in agents]
    assert cooperation(agents).tolist() == expected


def test_a_long_chain_of_helpers() -> None:
    agent = parse("[]X(me)", name="P")
    for _ in range(BLOCK + 90):
        agent = parse("[](X(me) | X(P))", name="P", helpers={"P": agent})
    assert cooperation([agent, FairBot, DefectBot]).tolist() == [[True, True, False], [True, True, False], [False] * 3]


@pytest.mark.parametrize("text", ["[]" * 70 + "false", f"[]({' & '.join(f'X({name})' for name in [*LIBRARY][:12])})"])
def test_without_tiles_where_a_coin_takes_too_many_worlds_or_too_many_agents(text: str) -> None:
    helper = {"H": parse("[]X(RandomBot)")}  # which no helper of the second text's is asked about by others
    agents = [parse(text), FairBot, parse("[]X(H)", helpers=helper), DefectBot]
    expected = [[play(a, b).moves[0] == "C" for b in agents] for a in agents]
    assert cooperation(agents).tolist() == expected
    with pytest.raises(GameError, match="use `cooperation`"):
        packed(compile_agents(agents))


def test_coins_in_a_large_set(random_formulas: RandomFormulas, parse_formulas: ParseFormulas) -> None:
    agents = parse_formulas(random_formulas(12, 80))
    calls = [parse(f"[](X(RandomBot) {operator} X(me))") for operator in ("&", "|", "->", "<->")]
    agents = [*agents[:40], RandomBot, *calls, *agents[40:], RandomBot] * 7
    assert len(agents) > BLOCK
    found = cooperation(agents)
    assert set(np.unique(found)) == {0.0, 0.5, 1.0}
    assert np.array_equal(found, by_pairs(agents))
    assert np.array_equal(found[:86, :86], tournament(agents[:86]).cooperates)


def test_a_large_tournament_is_played_in_tiles(random_formulas: RandomFormulas, parse_formulas: ParseFormulas) -> None:
    agents = [*parse_formulas(random_formulas(13, MANY - 1)), FairBot]
    large = tournament(agents)
    assert np.array_equal(large.cooperates, by_pairs(agents))
    small = tournament(agents[-60:])
    assert np.array_equal(large.cooperates[-60:, -60:], small.cooperates)
    assert np.array_equal(large.worlds[-60:, -60:], small.worlds)


@pytest.mark.parametrize("agents", [3, ["[]X(me)"], [FairBot, 0]])
def test_what_are_no_agents(agents: Any) -> None:
    with pytest.raises(GameError):
        cooperation(agents)
