"""Sampled exploitability beside the exact value."""

import pytest

import evaluation
from evaluation.exact import best_response
from welfare_env import Rules

A, YEARS = "PLAYERA", 4


@pytest.mark.parametrize(
    ("map_name", "profile", "gain"),
    [
        ("clique:3", "prosocial", 6),
        pytest.param("clique:4", "prosocial", 7, marks=pytest.mark.slow),
        pytest.param("clique:3", f"punisher:t=1,deviator={A}", 3, marks=pytest.mark.slow),
        pytest.param("clique:4", f"punisher:t=1,deviator={A}", 4, marks=pytest.mark.slow),
    ],
)
def test_sampled_exploitability_never_exceeds_the_exact_value(map_name, profile, gain):
    sampled = evaluation.exploitability(
        profile,
        2,
        map_name=map_name,
        rules=Rules(press=None, years=YEARS),
        deviator="portfolio",
        coalitions=[[A]],
        seed=0,
    )
    exact = best_response(map_name, profile, A, YEARS)
    assert exact.gain == gain
    assert 0 <= sampled.value.value * YEARS <= gain
    if profile == "prosocial":
        assert sampled.value.value > 0
