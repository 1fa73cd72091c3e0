"""`vector_env`: the same games as one by one, whatever the number of threads."""

import re

import numpy as np
import pytest

import welfare_env
from welfare_env.engine import PHASE, WINTER, State, layout_of
from welfare_env.engine.engines import make_engine
from welfare_env.envs.observation import observe
from welfare_env.envs.vector import VectorEnv
from welfare_env.rules import Rules

WRONG = {  # what is no choice of any row, by type
    "i4": (999, -2, 2**31 - 1),
    "i8": (-2, 2**32, -(2**32)),
    "u8": (2**32 - 1, 2**64 - 1),
}
RULES = [Rules.published(press=None, years=3), Rules("standard", press=None, years=3)]


def played(games, steps, seed):
    """Totals after some random steps: rewards, ends and states."""
    games.reset(seed=seed)
    paid = np.zeros((games.num_games, len(games.board.powers)))
    ended = 0
    for _ in range(steps):
        rewards, done = games.step(games.sample())
        paid += rewards
        ended += done.sum()
    return paid, ended, games.rows.copy()


@pytest.mark.parametrize(("map_name", "rules"), [*(("standard", rules) for rules in RULES), ("clique:4", RULES[0])])
def test_every_step_is_the_engines(map_name, rules):
    """And nothing is left in a row behind the units, the dislodged units and their retreats, in any phase."""
    games, phases = welfare_env.vector_env(32, map_name, rules=rules), set()
    games.reset(seed=3)
    engine = make_engine("fast", games.board, games.rules)
    for _ in range(16):
        before = [games.state(game) for game in range(games.num_games)]
        phases.update(games.rows[:, PHASE].tolist())
        legal, choices = games.legal, games.sample().copy()
        orders = [[[] for _ in games.board.powers] for _ in before]
        for row in range(len(legal)):
            listed = legal.orders[legal.starts[row] : legal.starts[row + 1]]
            if choices[row] >= 0:
                orders[legal.games[row]][legal.powers[row]].append(listed[choices[row]])
        for game, state in enumerate(before):
            assert np.array_equal(
                legal.orders[np.repeat(legal.games == game, np.diff(legal.starts))], engine.legal(state).orders
            )
        _, done = games.step(choices)
        for game, state in enumerate(before):
            after, _ = engine.step(state, [np.array(given, np.int32) for given in orders[game]])
            now = State(layout_of(games.board), games.final[game].copy()) if done[game] else games.state(game)
            assert now.same_as(after)
            assert done[game] == after.done
            np.testing.assert_array_equal(now.row, now.replaced().row)
    assert phases & {1, 3} or map_name != "standard"


def test_threads_and_chunks_change_nothing():
    results = []
    for threads in (1, 2, 3):
        games = welfare_env.vector_env(16, years=2, threads=threads)
        results.append(played(games, 25, seed=5))
    for paid, ended, rows in results[1:]:
        assert ended == results[0][1] > 0
        assert np.array_equal(paid, results[0][0])
        assert np.array_equal(rows, results[0][2])


def test_one_seed_one_game_and_every_game_its_own():
    games = welfare_env.vector_env(6, years=3)
    first, again, other = (played(games, 5, seed)[2] for seed in (2, 2, 3))
    assert np.array_equal(again, first)
    assert not np.array_equal(other, first)
    assert len(np.unique(first, axis=0)) == 6


@pytest.mark.parametrize("variant", ["welfare", "standard"])
def test_rewards_are_the_points_of_whole_games_or_their_scores(variant):
    games = welfare_env.vector_env(5, variant=variant, years=2)
    games.reset(seed=0)
    points = slice(layout_of(games.board).welfare, layout_of(games.board).influence)
    paid, ended = np.zeros((5, 7)), 0
    while ended < 10:
        rewards, done = games.step(games.sample())
        assert variant == "welfare" or not rewards[~done].any()
        paid += rewards
        for game in np.flatnonzero(done):
            if variant == "welfare":
                np.testing.assert_array_equal(paid[game], games.final[game, points])
            else:
                assert paid[game].sum() == pytest.approx(1)
            paid[game] = 0
            ended += 1


def test_observations_are_those_of_the_environments():
    games = welfare_env.vector_env(3, years=3)
    games.reset(seed=4)
    for _ in range(6):
        games.step(games.sample())
    which, who = np.array([0, 2, 1, 1]), np.array([0, 6, 3, 5])
    out = np.full((4, 75, observe(games.board, games.state(0), 3, 0).shape[1]), 9, np.float32)
    assert games.observe(which, who, out) is out
    for seen, game, power in zip(out, which, who, strict=True):
        assert np.array_equal(seen, observe(games.board, games.state(game), 3, power))


@pytest.mark.parametrize("choices", [np.zeros(3, int), np.zeros((2, 2), int), [0.5] * 22, None], ids=range(4))
def test_choices_that_are_none(choices):
    games = welfare_env.vector_env(1)
    games.reset(seed=0)
    before = games.rows.copy()
    with pytest.raises(welfare_env.ActionError, match="22"):
        games.step(choices)
    assert np.array_equal(games.rows, before)


def begun(threads: int, in_winter: bool) -> VectorEnv:
    """Five games in their first phase, or one of them in a Winter with rows of one order and of several."""
    games = welfare_env.vector_env(5, years=2, threads=threads)
    games.reset(seed=0)
    while in_winter and len(set(np.diff(games.legal.starts)[games.rows[games.legal.games, PHASE] == WINTER])) < 2:
        games.step(games.sample())
    return games


@pytest.mark.parametrize(("in_winter", "threads"), [(False, 1), (True, 3)])
def test_a_choice_that_its_row_does_not_have_is_refused(in_winter: bool, threads: int) -> None:
    games, unharmed = begun(threads, in_winter), begun(threads, in_winter)
    legal, fair = games.legal, games.sample()
    np.testing.assert_array_equal(unharmed.sample(), fair)
    for row in range(0, len(legal), 3):
        count = int(legal.starts[row + 1] - legal.starts[row])
        who = f"row {row} (game {legal.games[row]}, {games.board.powers[legal.powers[row]]}, slot {legal.slots[row]})"
        for kind, value in [(kind, value) for kind, values in WRONG.items() for value in (*values, count)]:
            choices = np.zeros(len(fair), kind)
            choices[row] = value
            with pytest.raises(welfare_env.ActionError, match=re.escape(f"choice {value} in {who}: it has {count} ")):
                games.step(choices)
    np.testing.assert_array_equal(games.rows, unharmed.rows)
    for array, same in zip(games.step(fair), unharmed.step(fair), strict=True):
        np.testing.assert_array_equal(array, same)
    np.testing.assert_array_equal(games.rows, unharmed.rows)


@pytest.mark.parametrize("kind", ["u8", ">i4"])
def test_a_rows_first_and_last_choice_are_taken_in_any_type(kind: str) -> None:
    results = []
    for given in ("i4", kind):
        games = welfare_env.vector_env(2, years=1)
        games.reset(seed=0)
        lengths = np.diff(games.legal.starts)
        choices = np.where(np.arange(len(lengths)) % 2, lengths - 1, 0)
        games.step(choices.astype(given))
        results.append(games.rows.copy())
    np.testing.assert_array_equal(*results)
