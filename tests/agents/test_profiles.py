"""Profiles: who sits where, from texts, mappings and policies."""

from collections import Counter
from typing import Any

import pytest

from agents import DovePolicy
from agents.specs import Profile, ProfileError, profile_as_given, read, read_profile
from welfare_env.errors import UnknownAgentError, UnknownPowerError

POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")
NESTED = "exploiter:nice=(lm:scripted/stub,ablate=no_reasoning+no_examples),attack=dumbbot"


def texts(profile: Any, game: int = 0, **options: Any) -> list[str]:
    return [policy.text for policy in read_profile(profile).seats(POWERS, game, **options).values()]


def test_one_policy_sits_everywhere() -> None:
    assert texts("dove") == ["dove"] * 7
    assert texts(f"({NESTED})") == [NESTED] * 7
    assert texts(DovePolicy) == ["import:agents.scripted.dove.DovePolicy"] * 7


def test_counts_are_dealt_in_sequence_and_rotate() -> None:
    assert texts("4*dove + 3*hold", seating="fixed") == ["dove"] * 4 + ["hold"] * 3
    assert texts("4*dove+3*hold", 1) == ["hold", *["dove"] * 4, "hold", "hold"]
    in_france = [texts("1*dove + 6*hold", game)[2] for game in range(7)]
    assert Counter(in_france) == {"dove": 1, "hold": 6}  # over as many games as seats, each seat once
    assert texts("4*dove + 3*hold", 7) == texts("4*dove + 3*hold")


def test_drawn_seats_are_a_draw_that_the_seed_repeats() -> None:
    draws = [tuple(texts("3*dove + 4*hold", game, seed=1, seating="drawn")) for game in range(50)]
    assert all(Counter(draw) == {"dove": 3, "hold": 4} for draw in draws)
    assert len(set(draws)) > 20
    assert draws == [tuple(texts("3*dove + 4*hold", game, seed=1, seating="drawn")) for game in range(50)]


def test_named_powers_keep_their_seats() -> None:
    for game in range(8):
        for seating in ("rotated", "fixed", "drawn"):
            seats = texts("FRANCE*random + 2*dove + 4*hold", game, seating=seating)
            assert seats[2] == "random"
            assert Counter(seats) == {"random": 1, "dove": 2, "hold": 4}
    given = dict.fromkeys(POWERS, "hold") | {"ITALY": NESTED}
    assert texts(given, 3) == [given[power] for power in POWERS]


@pytest.mark.parametrize(
    "given",
    ["dove", "4*dove + 3*hold", f"2*({NESTED}) + 5*hold", "FRANCE*dove + 6*random", dict.fromkeys(POWERS, "hold")],
)
def test_the_text_of_a_profile_reads_as_itself(given: Any) -> None:
    profile = read_profile(given)
    assert read_profile(profile.text) == profile == read_profile(profile)
    assert profile_as_given(given) == (given if isinstance(given, str) else profile.text)


def test_a_spec_with_a_plus_of_its_own_needs_no_parentheses() -> None:
    model = "lm:scripted/stub,ablate=no_reasoning+no_examples"
    assert read_profile(f"2*{model} + 5*hold").policies == (read(model), read("hold"))


def test_the_policies_are_told_once_each() -> None:
    profile = read_profile("2*dove + FRANCE*hold + 4*(dove)")
    assert [policy.text for policy in profile.policies] == ["dove", "hold"]
    assert profile.is_mixed
    assert not read_profile("3*dove + 4*dove").is_mixed


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ("4*dove + 3*holdd", UnknownAgentError, r"'holdd' \(character 12\): unknown agent \(did you mean 'hold'"),
        ("4*dove + hold", UnknownAgentError, "at 'hold' .*: give SEATS\\*SPEC"),
        ("4*", UnknownAgentError, "at its end"),
        ("4*(dove", UnknownAgentError, "unknown agent"),
        ("0*dove + 7*hold", ProfileError, "give 1 to 99 seats"),
        ("99999999999*dove", ProfileError, "give 1 to 99 seats"),
        ("FRANCE*dove + france*hold + 5*dove", ProfileError, "FRANCE is named twice"),
        ("4*dove + 4*hold", ProfileError, "seats for 8: give 7, one for each of AUSTRIA"),
        ("4*dove", ProfileError, "seats for 4"),
        ("FRANC*dove + 6*hold", UnknownPowerError, "did you mean 'FRANCE'"),
        ({"FRANCE": "dove"}, ProfileError, "seats for 1"),
        ({}, ProfileError, "give power -> policy"),
        ({1: "dove"}, ProfileError, "give power -> policy"),
        (7, UnknownAgentError, "agent spec 7"),
        ("2*dove +" * 5000, UnknownAgentError, "characters: give 10,000 at most"),
    ],
)
def test_a_bad_profile_is_told(given: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        read_profile(given).seats(POWERS)


def test_there_are_three_ways_to_deal_seats() -> None:
    with pytest.raises(ProfileError, match="did you mean 'fixed'"):
        Profile(((None, read("dove")),)).seats(POWERS, seating="fixxed")


def test_unnamed_policies_of_one_kind_are_told_apart() -> None:
    first, second = DovePolicy(share=0.1), DovePolicy(share=0.9)
    profile = read_profile(dict.fromkeys(POWERS, first) | {"ITALY": second})
    seats = profile.seats(POWERS)
    assert seats["FRANCE"].text == seats["TURKEY"].text
    assert seats["ITALY"].text == f"{seats['FRANCE'].text} #2"
    assert len(profile.policies) == 2
