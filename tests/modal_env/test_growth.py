"""Best-reply growth: against one step at a time, the theorem on when DefectBot is added, and the limit of its cycle."""

from fractions import Fraction
from itertools import groupby, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modal_env.dynamics.growth import growth
from tests.modal_env.conftest import post

MATRICES = st.lists(st.lists(st.fractions(-3, 3, max_denominator=3), min_size=4, max_size=4), min_size=4, max_size=4)
COUNTS = st.lists(st.integers(0, 4), min_size=4, max_size=4).filter(any)


def one_at_a_time(rows: list[list[Fraction]], counts: list[int], steps: int) -> list[str]:
    """What is added, by the definition."""
    counts, added = list(counts), []
    for _ in range(steps):
        paid = [sum((value * count for value, count in zip(row, counts, strict=True)), Fraction(0)) for row in rows]
        best = next(i for i, value in enumerate(paid) if value == max(paid))
        counts[best] += 1
        added.append(str(best))
    return added


class TestSteps:
    @settings(max_examples=8)
    @given(MATRICES, COUNTS)
    def test_runs_are_what_one_step_at_a_time_adds(self, rows: list[list[Fraction]], counts: list[int]) -> None:
        grown = growth(rows, counts, 60)
        added = one_at_a_time(rows, counts, 60)
        assert [(run.agent, run.steps) for run in grown.runs] == [(k, len(list(g))) for k, g in groupby(added)]
        assert grown.counts == tuple(count + added.count(str(i)) for i, count in enumerate(counts))
        assert grown.added == tuple(sorted(set(added)))

    @settings(max_examples=8)
    @given(MATRICES, COUNTS)
    def test_an_endless_run_never_ends(self, rows: list[list[Fraction]], counts: list[int]) -> None:
        grown = growth(rows, counts, 200)
        if grown.runs[-1].is_endless:
            later = growth(rows, grown.counts, 10**40)
            assert [run.agent for run in later.runs] == [grown.runs[-1].agent]
        assert not any(run.is_endless for run in grown.runs[:-1])

    def test_nothing_is_rounded_far_out(self) -> None:
        grown = growth(post("1/10"), [1, 1, 1, 1], 10**60)
        assert sum(grown.counts) == 10**60 + 4
        assert grown.counts[1] == 1
        before, cut = grown.populations[-2], grown.runs[-1]
        again = growth(post("1/10"), before, cut.steps)
        assert [(run.agent, run.steps) for run in again.runs] == [(cut.agent, cut.steps)]


class TestThePost:
    @pytest.mark.parametrize("epsilon", [Fraction(1, 9), Fraction(1, 20), Fraction(1, 100)])
    def test_defect_bots_are_added_only_to_starts_poor_in_fair_and_prudent_bots(self, epsilon: Fraction) -> None:
        """For e < 1/8: if and only if f + p <= 2 e N and f + p <= c + e N at the start, and then nothing else is."""
        game = post(epsilon)
        for c, d, f, p in product(range(8), repeat=4):
            if (size := c + d + f + p) in (1, 2, 3, 7):
                grown = growth(game, [c, d, f, p], 10**9)
                is_poor = f + p <= 2 * epsilon * size and f + p <= c + epsilon * size
                assert ("DefectBot" in grown.added) == is_poor
                assert not is_poor or (grown.added, grown.runs[-1].is_endless) == (("DefectBot",), True)

    @pytest.mark.parametrize("epsilon", [Fraction(1, 5), Fraction(1, 10), Fraction(1, 100)])
    def test_ratio_of_stays_tends_to_a_known_fraction(self, epsilon: Fraction) -> None:
        grown = growth(post(epsilon), [1, 1, 1, 1], 10**60)
        for agent in ("CooperateBot", "FairBot", "PrudentBot"):
            before, last = grown.lengths(agent)[-2:]
            assert float(Fraction(last, before)) == pytest.approx(
                float(2 * (1 - epsilon) / (1 - 2 * epsilon)), rel=1e-9
            )
