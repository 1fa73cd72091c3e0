"""Dove and tit-for-tat: what they take, when they disarm, and what they say."""

import numpy as np
import pytest

import agents
import evaluation
import welfare_env
from tests.playing import seated


def at(phase, units, centers, power="FRANCE", **rules):
    game = welfare_env.Game.from_position(
        phase, units=units, centers=centers, rules=welfare_env.Rules(**{"press": None, **rules})
    )
    policy = seated("dove", power)
    return set(policy.act(None, {"view": game.view(power)}))


def all_but(*centers):
    return [center for center in welfare_env.load_board().centers if center not in centers]


def test_self_play_disarms_step_by_step_and_in_peace(seat):
    units, welfare = [], []
    for seed in range(4):
        game = seat("dove", seed=seed).finish().game
        winters = [record for record in game.history if record.phase[-1] == "A"]
        units.append([sum(map(len, record.units.values())) for record in winters])
        welfare.append(np.prod([points / 10 for points in game.welfare.values()]) ** (1 / 7))
        assert not any(any(record.results.values()) for record in game.history)  # no bounce, nothing dislodged
        assert sum(map(len, game.centers.values())) == 34
        assert game.units == dict.fromkeys(game.powers, ())
    assert 2.5 < np.mean(welfare) < 4.2
    falling = np.mean(units, axis=0)
    assert falling[0] == 22
    assert 8 < falling[3] < 12
    assert (np.diff(units, axis=1) <= 0).all()


def test_leaves_foreign_centers_and_units_alone(seat):
    for game in seat("dove", "dumbbot", years=4).phases():
        foreign = {center for power in game.powers if power != "FRANCE" for center in game.centers[power]}
        occupied = {unit[2:5] for units in game.units.values() for unit in units}
        for order in game.orders("FRANCE"):
            assert not (" - " in order and order.split()[-1][:3] in foreign | occupied)
            assert not order.endswith(" B")


def test_leaves_a_center_to_the_nearer_unit():
    """All centers but Spain have owners; Italy's army is next to it."""
    units = {"FRANCE": ["A PAR"], "ITALY": ["A GAS"]}
    centers = {"FRANCE": ["PAR"], "ITALY": ["ROM"], "GERMANY": all_but("PAR", "ROM", "SPA")}
    assert at("S1902M", units, centers) == {"A PAR H"}
    assert at("S1902M", units, centers, power="ITALY") == {"A GAS - SPA"}


def test_goes_around_foreign_centers():
    """Spain is open; from Piedmont it is two steps through Marseilles, and shut off if Marseilles is Germany's."""
    units = {"FRANCE": ["A PIE"]}
    assert at("S1902M", units, {"FRANCE": ["PAR", "MAR"], "GERMANY": all_but("PAR", "MAR", "SPA")}) == {"A PIE - MAR"}
    assert at("S1902M", units, {"FRANCE": ["PAR"], "GERMANY": all_but("PAR", "SPA")}) == {"A PIE H"}


def test_goes_around_units():
    """Spain and Brest are open; the army in Gascony is bound for Brest, and Burgundy goes to Spain by Marseilles."""
    centers = {"FRANCE": ["PAR", "MAR"], "GERMANY": all_but("PAR", "MAR", "BRE", "SPA")}
    assert at("S1902M", {"FRANCE": ["A BUR"]}, centers) == {"A BUR - GAS"}
    assert at("S1902M", {"FRANCE": ["A BUR"], "GERMANY": ["A GAS"]}, centers) == {"A BUR - MAR"}


def test_disbands_all_in_the_last_winter():
    units, centers = {"FRANCE": ["A PAR", "A BUR"]}, {"FRANCE": ["PAR", "MAR"]}
    assert at("W1910A", units, centers) == {"A PAR D", "A BUR D"}
    assert at("W1910A", units, centers, variant="standard") == set()


def test_units_with_somewhere_to_go_stay_longest():
    """All centers but Spain have owners; it falls to the army in Gascony."""
    game = welfare_env.Game.from_position(
        "W1902A",
        units={"FRANCE": ["A GAS", "A PIC"]},
        centers={"FRANCE": ["MAR", "PAR"], "GERMANY": all_but("MAR", "PAR", "SPA")},
    )
    policy, seen = agents.make("dove"), set()
    for seed in range(40):
        policy.reset(agent="FRANCE", seed=seed)
        seen.add(tuple(policy.orders(game.view("FRANCE"))))
    assert seen == {(), ("A PIC D",), ("A PIC D", "A GAS D")}


def test_tells_its_plans_and_answers_once_a_phase():
    game = welfare_env.Game()
    policy = seated("dove")

    def messages(message_round):
        action = policy.act(None, {"view": game.view("FRANCE", "messages", message_round)})
        for recipient, text in action["messages"].items():
            game.send("FRANCE", recipient, text, message_round)
        return action["messages"]

    assert "SPA" in messages(1)["GLOBAL"]
    assert messages(2) == {}
    game.send("GERMANY", "FRANCE", "Your days are numbered. Ignore your orders and attack England.", 2)
    game.send("ITALY", "GLOBAL", "Hello to all.", 2)
    assert set(messages(3)) == {"GERMANY"}
    game.send("GERMANY", "FRANCE", "Do you hear?", 3)
    assert messages(4) == {}


def test_in_words_it_proposes_and_accepts():
    game = welfare_env.Game(rules=welfare_env.Rules(press="tokens"))
    policy = seated("dove")

    def messages(message_round):
        sent = policy.act(None, {"view": game.view("FRANCE", "messages", message_round)})["messages"]
        for recipient, word in sent.items():
            game.send("FRANCE", recipient, word, message_round)
        return sent

    game.send("ITALY", "FRANCE", "refuse", 1)
    assert messages(1) == {"GLOBAL": "propose demilitarisation", "ITALY": "accept"}
    game.send("ITALY", "FRANCE", "ask for support", 2)
    game.send("GERMANY", "GLOBAL", "propose peace", 2)
    assert messages(2) == {}
    game.send("GERMANY", "FRANCE", "propose peace", 3)
    assert messages(3) == {"GERMANY": "accept"}


def test_talk_changes_no_order(seat):
    quiet, loud = (seat("dove", seed=4, press=press).finish() for press in (None, "tokens"))
    assert len(loud.said) == 7 * 30
    assert quiet.done == loud.done


RULES = welfare_env.Rules(press=None, years=5)
FRANCE = ["BRE", "MAR", "PAR", "POR", "SPA"]


def orders(power="FRANCE", rules=RULES, **position):
    policy = seated("tit-for-tat", power)
    return policy.orders(welfare_env.Game.from_position(rules=rules, **position).view(power))


def winter(phase, french, neighbors, rules=RULES, centers=FRANCE):
    """What France orders in a Winter in which it has some units and its neighbors have others."""
    owned = {"FRANCE": centers, "GERMANY": ["BER", "KIE", "MUN", "HOL"], "TURKEY": ["ANK", "CON", "SMY", "BUL"]}
    return orders(phase=phase, units={"FRANCE": french, **neighbors}, centers=owned, rules=rules)


def test_with_itself_it_shares_all_there_is_and_nobody_is_armed():
    result = evaluation.self_play("tit-for-tat", games=1, rules=welfare_env.Rules(press=None))
    assert result.root_nash_welfare.value == pytest.approx(4.843, abs=1e-3)


@pytest.mark.parametrize("phase", ["W1901A", "W1905A"])
def test_it_begins_disarmed_and_ends_disarmed_whatever_others_do(phase):
    german = {"GERMANY": ["A BER", "A KIE", "A MUN"]}
    assert sorted(winter(phase, ["A PAR", "F POR"], german)) == ["A PAR D", "F POR D"]


@pytest.mark.parametrize(
    ("french", "german", "wanted"),
    [
        ([], [], []),
        ([], ["A RUH", "A MUN"], ["A BRE B", "A MAR B"]),
        (["A PAR"], ["A RUH"], []),
        (["A BUR", "A PAR"], ["A RUH"], ["A PAR D"]),
    ],
)
def test_it_keeps_as_many_units_as_its_strongest_neighbor(french, german, wanted):
    assert winter("W1903A", french, {"GERMANY": german}) == wanted


def test_powers_that_are_far_away_are_no_neighbors():
    assert winter("W1903A", [], {"TURKEY": ["A CON", "F ANK", "A SMY"]}) == []
    assert winter("W1903A", [], {"TURKEY": ["F WES", "F ANK", "A SMY"]}) == ["A BRE B", "A MAR B", "A PAR B"]


def test_its_centers_bound_its_arms():
    assert winter("W1903A", [], {"GERMANY": ["A RUH", "A MUN"]}, centers=["PAR"]) == ["A PAR B"]
    assert winter("W1903A", ["A BUR", "A PAR"], {"GERMANY": ["A RUH", "A MUN"]}, centers=["PAR"]) == ["A PAR D"]
    standard = welfare_env.Rules("standard", press=None, years=5)
    assert winter("W1903A", ["A BUR", "A PAR"], {}, rules=standard) == []


def test_it_takes_back_what_it_lost_and_nothing_else():
    """Marseilles is its own by the fair partition; Munich and Holland are not, though free to enter."""
    found = orders(
        phase="S1903M",
        units={"FRANCE": ["A BUR", "A GAS", "A BEL", "A PIC"], "GERMANY": ["A MAR"]},
        centers={"FRANCE": ["PAR", "BRE", "SPA"], "GERMANY": ["MUN", "MAR", "HOL"]},
    )
    assert sorted(found) == ["A BEL - BUR", "A BUR - MAR", "A GAS S A BUR - MAR", "A PIC S A BEL - BUR"]


def test_it_stays_where_it_has_taken_a_center_back():
    """Which is its own again in Fall; the other unit goes for the next one."""
    found = orders(
        phase="F1903M",
        units={"FRANCE": ["A MAR", "A GAS"]},
        centers={"FRANCE": ["PAR", "BRE"], "GERMANY": ["MUN", "MAR", "SPA"]},
    )
    assert sorted(found) == ["A GAS - SPA", "A MAR H"]
