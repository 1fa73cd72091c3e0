"""Names of policies for people, and titles of games."""

import pytest

from evaluation.report.policy_names import LONGEST, game_title, policy_names


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("prosocial", "Prosocial"),
        ("exploiter:nice=prosocial,attack=dumbbot", "Exploiter"),
        ("lm:openai/gpt-5.4,effort=low", "gpt-5.4"),
        ("rl:runs/first/checkpoint-200", "checkpoint-200"),
        ("import:my.module.Mirror,k=3", "Mirror"),
        ("program:FairBot", "FairBot"),
        ("", ""),
        ("<b>" * 100, ("<b>" * 100)[:LONGEST]),
    ],
)
def test_a_policy_has_a_short_name(spec, name):
    assert policy_names([spec]) == {spec: name}


def test_different_policies_of_one_name_are_numbered():
    specs = ["random", "dove", "random:orders=0.5", "random"]
    assert policy_names(specs) == {"random": "Random #1", "dove": "Dove", "random:orders=0.5": "Random #2"}


@pytest.mark.parametrize(
    ("policies", "title"),
    [
        (["Dove"] * 7, "Dove in every seat"),
        (["Dove"] * 6 + ["Random"], "Dove, with G as Random"),
        (["Dove"] * 5 + ["Random"] * 2, "Dove, with F and G as Random"),
        (["Dove"] * 4 + ["Random"] * 3, "Dove and Random"),
        (["Dove", "Random", "Hold"], "Dove, Random and Hold"),
    ],
)
def test_a_title_names_the_players(policies, title):
    players = dict(zip("ABCDEFG", policies, strict=False))
    assert game_title(players, {power: power for power in players}) == title
