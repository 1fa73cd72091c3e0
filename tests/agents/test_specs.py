"""Policies from text."""

import pytest

import agents
from agents import DovePolicy, DumbBotPolicy, ExploiterPolicy, HoldPolicy, ProsocialPolicy, RandomPolicy
from welfare_env import UnknownAgentError


@pytest.mark.parametrize(
    ("spec", "kind"),
    [
        ("random", RandomPolicy),
        ("hold", HoldPolicy),
        ("prosocial", ProsocialPolicy),
        ("dumbbot", DumbBotPolicy),
        ("dove", DovePolicy),
        ("(dove)", DovePolicy),
        (" exploiter : nice = dove , attack = (random) ", ExploiterPolicy),
    ],
)
def test_names(spec, kind):
    assert type(agents.make(spec)) is kind


def test_options_reach_the_policy():
    policy = agents.make("exploiter:nice=(dove:share=0.5),attack=dumbbot,units=8,years=4,centers=12,last_years=1")
    assert isinstance(policy.nice, DovePolicy)
    assert isinstance(policy.attack, DumbBotPolicy)
    assert policy.nice.share == 0.5
    assert (policy.units, policy.years, policy.centers, policy.last_years) == (8, 4, 12, 1)


def test_defaults_are_the_papers():
    policy = agents.make("exploiter:nice=prosocial,attack=dumbbot")
    assert (policy.units, policy.years, policy.centers, policy.last_years) == (10, 3, 10, 2)


def test_specs_nest():
    policy = agents.make("exploiter:nice=(exploiter:nice=dove,attack=random),attack=dumbbot")
    assert isinstance(policy.nice, ExploiterPolicy)
    assert isinstance(policy.nice.attack, RandomPolicy)
    assert isinstance(policy.attack, DumbBotPolicy)


@pytest.mark.parametrize(
    ("spec", "place", "message"),
    [
        ("", "at its end", "known are dove, dumbbot, exploiter, hold, prosocial, random"),
        ("dovve", "at 'dovve' (character 1)", "unknown agent"),
        ("lm:openai/x", "at 'lm' (character 1)", "unknown agent"),
        ("exploiter:nice=dove,attack=gandhi", "at 'gandhi' (character 28)", "unknown agent"),
        ("exploiter:nice=(exploiter:nice=dove,attack=x),attack=dove", "at 'x' (character 44)", "unknown agent"),
        ("exploiter", "at its end", "nice and attack missing"),
        ("exploiter:nice=dove", "at 'nice=dove' (character 11)", "attack missing"),
        ("exploiter:nice=(dove,attack=dove", "at '(dove,attack=dove' (character 16)", "not closed"),
        ("exploiter:nice=dove),attack=dove", "at ')' (character 20)", "not opened"),
        ("exploiter:nice=dove,nice=dove,attack=dove", "at 'nice=dove' (character 21)", "twice"),
        ("exploiter:nice=dove,attack=dove,units=-1", "at '-1' (character 39)", "whole number"),
        ("random:speed=1", "at 'speed=1' (character 8)", "takes no options"),
        ("dove:share", "at 'share' (character 6)", "key=value"),
        ("dove:share=much", "at 'much' (character 12)", "give a number"),
        ("dove:share=0", "at 'share=0' (character 6)", "above 0"),
        ("dove:share=nan", "at 'share=nan' (character 6)", "above 0"),
    ],
)
def test_faults_are_named_and_placed(spec, place, message):
    with pytest.raises(UnknownAgentError) as caught:
        agents.make(spec)
    assert f"agent spec {spec!r}, {place}: " in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("spec", [None, 5, ["dove"]])
def test_only_text_is_a_spec(spec):
    with pytest.raises(UnknownAgentError, match="give a string"):
        agents.make(spec)
