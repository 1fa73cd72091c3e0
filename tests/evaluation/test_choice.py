"""Successive halving: who is chosen, at what cost, and that a choice on some games says nothing false about others."""

from collections.abc import Sequence

import numpy as np

from evaluation.measures.gains import FINALISTS, Selection, choose_at_once, rounds


class Noisy:
    """Candidates with normal gains, and what was asked of them."""

    def __init__(self, means: Sequence[float], seed: int = 0, spread: float = 1.0) -> None:
        self.means, self.spread, self.rng = means, spread, np.random.default_rng(seed)
        self.asked: list[tuple[list[int], range]] = []

    def __call__(self, candidates: Sequence[int], numbers: range) -> list[np.ndarray]:
        self.asked.append((list(candidates), numbers))
        return [self.means[each] + self.spread * self.rng.normal(size=(len(numbers), 1)) for each in candidates]


def test_the_best_is_found_among_many() -> None:
    play = Noisy([0.0] * 150 + [3.0] + [0.0] * 149)
    found = choose_at_once(300, play, 3)
    assert found.best == 150
    assert found.contenders == (150,)
    assert [len(candidates) for candidates, _ in play.asked] == [300, 75, 19, 5, 4]


def test_games_are_numbered_through_and_double() -> None:
    play = Noisy(np.linspace(0, 9, 40).tolist())
    found = choose_at_once(40, play, 2)
    assert [(len(who), numbers) for who, numbers in play.asked] == [
        (40, range(2)),
        (10, range(2, 4)),
        (FINALISTS, range(4, 8)),
    ]
    assert sorted(set(found.games)) == [2, 4, 8]
    assert sum(found.games) == sum(len(who) * len(numbers) for who, numbers in play.asked)
    assert [(number, numbers) for number, numbers in rounds(40, 2)] == [(len(w), n) for w, n in play.asked]


def test_means_are_of_all_games_of_a_candidate() -> None:
    given = {0: [[1.0], [3.0]], 1: [[0.0], [0.5]]}
    found = choose_at_once(2, lambda who, numbers: [np.array(given[each]) for each in who], 2)
    assert found == Selection(0, (0,), (2.0, 0.25), (2, 2))


def test_the_least_member_counts() -> None:
    given = {0: [[9.0, 0.0], [9.0, 0.0]], 1: [[1.0, 1.0], [1.0, 1.0]]}
    found = choose_at_once(2, lambda who, numbers: [np.array(given[each]) for each in who], 2)
    assert (found.best, found.means) == (1, (0.0, 1.0))


def test_who_is_clearly_worse_is_no_contender() -> None:
    found = choose_at_once(3, Noisy([0.0, 0.05, -9.0]), 20)
    assert set(found.contenders) == {0, 1}
    assert found.contenders[0] == found.best


def test_with_one_game_nobody_is_clearly_worse() -> None:
    assert len(choose_at_once(3, Noisy([0.0, 5.0, -9.0]), 1).contenders) == 3


def test_leaders_of_groups() -> None:
    found = Selection(2, (2,), (1.0, 0.5, 3.0, -1.0, -2.0), (2,) * 5)
    assert found.leaders(["a", "a", "b", "c", "c"]) == [0, 2, 3]


def test_equals_are_taken_in_their_order() -> None:
    found = choose_at_once(9, Noisy([0.0] * 9, spread=0), 2)
    assert found.best == 0
    assert found.contenders == (0, 1, 2, 3)
