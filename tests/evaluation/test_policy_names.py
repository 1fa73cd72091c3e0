"""Names of policies for people, and titles of games."""

import pytest

from evaluation.report.policy_names import LONGEST, game_title, policy_names


def test_each_policy_has_a_short_name():
    names = {
        "prosocial": "Prosocial",
        "exploiter:nice=prosocial,attack=dumbbot": "Exploiter",
        "lm:openai/gpt-5.4,effort=low": "gpt-5.4",
        "rl:runs/first/checkpoint-200": "checkpoint-200",
        "import:my.module.Mirror,k=3": "Mirror",
        "program:FairBot": "FairBot",
        "": "",
        "<b>" * 100: ("<b>" * 100)[:LONGEST],
    }
    assert policy_names([*names]) == names


def test_different_policies_of_one_name_are_numbered():
    specs = ["random", "dove", "random:orders=0.5", "random"]
    assert policy_names(specs) == {"random": "Random #1", "dove": "Dove", "random:orders=0.5": "Random #2"}


@pytest.mark.parametrize(
    ("policies", "title"),
    [
        (["Dove"] * 7, "Dove in every seat"),
        (["Dove"] * 5 + ["Random"] * 2, "Dove, with F and G as Random"),
        (["Dove", "Random", "Hold"], "Dove, Random and Hold"),
    ],
)
def test_a_title_names_the_players(policies, title):
    players = dict(zip("ABCDEFG", policies, strict=False))
    assert game_title(players, {power: power for power in players}) == title
