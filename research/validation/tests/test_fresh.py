"""A reported gain holds if its interval contains the mean of fresh games."""

from evaluation.measures.intervals import Estimate
from research.validation.fresh import Line, summary


def line(reported: Estimate, fresh: float) -> Line:
    return Line("dove", "short", ("FRANCE",), 1.5, reported, Estimate(fresh, fresh, fresh, 3, (fresh,) * 3))


def test_intervals_are_compared_with_fresh_games() -> None:
    interval, alike = Estimate(1.0, 0.5, 1.5, 20, ()), Estimate(0.0, float("nan"), float("nan"), 2, (0.0, 0.0))
    lines = [line(interval, 1.25), line(interval, 2.0), line(alike, 0.0)]
    assert [each.is_inside for each in lines] == [True, False, True]
    assert summary(lines)[:2] == ["short, 3 policies", "2 of 3"]
    assert summary(lines)[3:] == ["-0.417", "+0.417"]
