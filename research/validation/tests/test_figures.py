"""The list of printed figures, and what counts as outside."""

import math

import pytest

from evaluation import Estimate
from research.fresh import figures, is_outside
from research.tables import ROOT


def test_every_listed_figure_is_printed() -> None:
    for figure in figures():
        page = (ROOT / figure["page"]).read_text(encoding="utf-8")
        assert figure["printed"] in " ".join(page.split()), figure


@pytest.mark.parametrize(
    ("value", "low", "high", "outside"),
    [(4.5, 4.4, 4.6, False), (4.8, 4.6, 5.0, False), (4.8, 4.75, 4.85, True), (4.2, math.nan, math.nan, True)],
)
def test_chance_of_both_samples_is_allowed_for(value: float, low: float, high: float, outside: bool) -> None:
    assert is_outside("4.55 [4.40, 4.70]", Estimate(value, low, high, 20, ())) is outside
