"""Sampled exploitability beside the exact value."""

import evaluation
from evaluation.exact import certify
from welfare_env import Rules


def test_sampled_exploitability_never_exceeds_the_exact_value():
    years = 4
    sampled = evaluation.exploitability(
        "prosocial",
        2,
        map_name="clique:3",
        rules=Rules(press=None, years=years),
        deviator="portfolio",
        coalitions=[["PLAYERA"]],
        seed=0,
    )
    exact = certify("clique:3", "prosocial", "PLAYERA", years).gain / years
    assert 0 < sampled.value.value <= exact == 1.5
