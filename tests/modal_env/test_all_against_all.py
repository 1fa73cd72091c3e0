"""Everybody against everybody, world by world: against `play`, pair by pair, and the naive evaluator."""

from itertools import product

import numpy as np
import pytest

from modal_env.errors import GameError
from modal_env.logic.library import LIBRARY, ConFairBot, DefectBot, FairBot, RandomBot, WaitFairBot
from modal_env.logic.notation import Agent, parse
from modal_env.logic.provability import play
from modal_env.logic.tournaments import tournament
from tests.modal_env.conftest import parsed
from tests.modal_env.naive import Plays, random_agents


def disagreements(agents: list[Agent], rows: int | None = None) -> list[tuple[str, str]]:
    """Plays, of the first rows or all, that a tournament says something else about than `play`: moves or worlds."""
    found = tournament(agents)
    return [
        (a.text, b.text)
        for i, a in enumerate(agents[:rows])
        for j, b in enumerate(agents)
        if (outcome := play(a, b)).cooperation != (found.cooperates[i, j], found.cooperates[j, i])
        or outcome.settles != found.worlds[i, j]
    ]


@pytest.mark.parametrize("seed", [3, 100, 101, 102])
def test_random_agents_as_the_naive_evaluator(seed: int) -> None:
    texts = random_agents(seed, 10)
    truth, found = Plays(texts), tournament(parsed(texts))
    assert found.cooperates.dtype == np.bool_
    assert np.array_equal(found.cooperates, truth.moves[-1])
    for i, j in product(range(10), repeat=2):
        assert found.worlds[i, j] == truth.settles(i, j)


def test_the_library() -> None:
    agents = [*LIBRARY.values(), parse("[](X(RandomBot) | X(me))"), parse("~[]~X(RandomBot) & []X(FairBot)")]
    assert tournament(agents).cooperates.dtype == np.float64
    assert disagreements(agents) == []


def test_constants_and_boxes_that_nothing_follows_from() -> None:
    """All combinations of constants and others around ->, under a box and above it."""
    parts = ["true", "false", "~[]false", "[]([]false -> X(me))", "<>X(DefectBot)", "[][]me"]
    agents = [parse(f"{p} -> {q}") for p in parts for q in parts]
    agents += [parse(f"~[]~({p} -> ~{q})") for p in [*parts, "X(me)", "me"] for q in [*parts, "X(me)"]]
    assert disagreements([FairBot, DefectBot, *agents], rows=2) == []


def test_any_number_of_agents() -> None:
    some = list(LIBRARY.values())[:12]
    period = tournament(some)
    for count in (1, 7, 8, 9, 64, 65):
        found = tournament([some[number % 12] for number in range(count)])
        for large, small in ((found.cooperates, period.cooperates), (found.worlds, period.worlds)):
            assert np.array_equal(large, np.tile(small, (count // 12 + 1,) * 2)[:count, :count])


def test_more_than_a_hundred_worlds() -> None:
    late = {"Late": parse(f"{'[]' * 130}false"), "W": WaitFairBot(100)}
    texts = ["[]X(Late)", "~[]X(W)", "[](X(me) & <>X(Late))", "[]~X(me)"]
    agents = [*late.values(), *(parse(text, helpers=late) for text in texts), ConFairBot(50), FairBot, DefectBot]
    assert tournament(agents).worlds.max() > 130
    assert disagreements(agents) == []


def test_the_last_change_of_mind_about_a_coin() -> None:
    for height in (1, 2, 3, 4, 70):
        agents = [parse(text) for text in ("[]" * height + "false", "[]X(RandomBot)", "<>~X(RandomBot)")]
        assert disagreements([*agents, FairBot]) == []
        assert disagreements([*agents, RandomBot]) == []


def test_too_many_agents_are_refused_before_they_play(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("modal_env.logic.tournaments.MAX_AGENTS", 3)
    assert len(tournament(["FB", "JustBot", "DB"]).agents) == 3
    with pytest.raises(GameError):
        tournament(["FB", "PB", "CB", "JustBot"])
    with pytest.raises(GameError):
        tournament(["JustBot", "PB", "CB"])  # they call FairBot and DefectBot
