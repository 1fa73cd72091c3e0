"""Dove and tit-for-tat: what they take, when they disarm, and what they say."""

import numpy as np
import pytest

import evaluation
import welfare_env
from tests.playing import orders_at, seated


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


PIEDMONT, BURGUNDY = {"FRANCE": ["A PIE"]}, {"FRANCE": ["A BUR"]}
BY_ITALY = {"FRANCE": ["A PAR"], "ITALY": ["A GAS"]}
ONLY_SPAIN = {"FRANCE": ["PAR"], "ITALY": ["ROM"], "GERMANY": all_but("PAR", "ROM", "SPA")}
OWN_MARSEILLES = {"FRANCE": ["PAR", "MAR"], "GERMANY": all_but("PAR", "MAR", "SPA")}
AND_BREST = {"FRANCE": ["PAR", "MAR"], "GERMANY": all_but("PAR", "MAR", "BRE", "SPA")}
LAST = {"units": {"FRANCE": ["A PAR", "A BUR"]}, "centers": {"FRANCE": ["PAR", "MAR"]}}


@pytest.mark.parametrize(
    ("power", "units", "centers", "order"),
    [
        # All centers but Spain have owners, and Italy's army is nearer.
        ("FRANCE", BY_ITALY, ONLY_SPAIN, "A PAR H"),
        ("ITALY", BY_ITALY, ONLY_SPAIN, "A GAS - SPA"),
        # From Piedmont it is two steps to Spain through Marseilles, and shut off if Marseilles is Germany's.
        ("FRANCE", PIEDMONT, OWN_MARSEILLES, "A PIE - MAR"),
        ("FRANCE", PIEDMONT, {"FRANCE": ["PAR"], "GERMANY": all_but("PAR", "SPA")}, "A PIE H"),
        # Spain and Brest are open: an army in Gascony is bound for Brest, and Burgundy's goes around it.
        ("FRANCE", BURGUNDY, AND_BREST, "A BUR - GAS"),
        ("FRANCE", BURGUNDY | {"GERMANY": ["A GAS"]}, AND_BREST, "A BUR - MAR"),
    ],
)
def test_goes_to_open_centers_around_foreign_ones_and_units(power, units, centers, order):
    assert orders_at("dove", power, phase="S1902M", units=units, centers=centers) == [order]


def test_disbands_all_in_the_last_winter():
    assert orders_at("dove", phase="W1910A", **LAST) == ["A BUR D", "A PAR D"]
    assert orders_at("dove", phase="W1910A", rules=welfare_env.Rules("standard", press=None), **LAST) == []


def test_units_with_somewhere_to_go_stay_longest():
    """All centers but Spain have owners; it falls to the army in Gascony."""
    units = {"FRANCE": ["A GAS", "A PIC"]}
    centers = {"FRANCE": ["MAR", "PAR"], "GERMANY": all_but("MAR", "PAR", "SPA")}
    seen = {tuple(orders_at("dove", seed=seed, phase="W1902A", units=units, centers=centers)) for seed in range(40)}
    assert seen == {(), ("A PIC D",), ("A GAS D", "A PIC D")}


def talking(press):
    """A game, and a function that has a dove of France speak in a round."""
    game, policy = welfare_env.Game(rules=welfare_env.Rules(press=press)), seated("dove")

    def messages(message_round):
        sent = policy.act(None, {"view": game.view("FRANCE", "messages", message_round)})["messages"]
        for recipient, text in sent.items():
            game.send("FRANCE", recipient, text, message_round)
        return sent

    return game, messages


def test_tells_its_plans_and_answers_once_a_phase():
    game, messages = talking("text")
    assert "SPA" in messages(1)["GLOBAL"]
    assert messages(2) == {}
    game.send("GERMANY", "FRANCE", "Your days are numbered. Ignore your orders and attack England.", 2)
    game.send("ITALY", "GLOBAL", "Hello to all.", 2)
    assert set(messages(3)) == {"GERMANY"}
    game.send("GERMANY", "FRANCE", "Do you hear?", 3)
    assert messages(4) == {}


def test_in_words_it_proposes_and_accepts():
    game, messages = talking("tokens")
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


def winter(phase, french, neighbors, rules=RULES, centers=FRANCE):
    """What France orders in a Winter in which it has some units and its neighbors have others."""
    owned = {"FRANCE": centers, "GERMANY": ["BER", "KIE", "MUN", "HOL"], "TURKEY": ["ANK", "CON", "SMY", "BUL"]}
    return orders_at("tit-for-tat", rules=rules, phase=phase, units={"FRANCE": french, **neighbors}, centers=owned)


def test_with_itself_it_shares_all_there_is_and_nobody_is_armed():
    result = evaluation.self_play("tit-for-tat", games=1, rules=welfare_env.Rules(press=None))
    assert result.root_nash_welfare.value == pytest.approx(4.843, abs=1e-3)


TWO = {"GERMANY": ["A RUH", "A MUN"]}
STANDARD = welfare_env.Rules("standard", press=None, years=5)


@pytest.mark.parametrize(
    ("phase", "french", "others", "more", "wanted"),
    [
        # It begins and ends disarmed, whatever others do.
        ("W1901A", ["A PAR", "F POR"], {"GERMANY": ["A BER", "A KIE", "A MUN"]}, {}, ["A PAR D", "F POR D"]),
        ("W1905A", ["A PAR", "F POR"], {"GERMANY": ["A BER", "A KIE", "A MUN"]}, {}, ["A PAR D", "F POR D"]),
        # It keeps as many units as its strongest neighbor.
        ("W1903A", [], {}, {}, []),
        ("W1903A", [], TWO, {}, ["A BRE B", "A MAR B"]),
        ("W1903A", ["A PAR"], {"GERMANY": ["A RUH"]}, {}, []),
        ("W1903A", ["A BUR", "A PAR"], {"GERMANY": ["A RUH"]}, {}, ["A PAR D"]),
        # Powers that are far away are none.
        ("W1903A", [], {"TURKEY": ["A CON", "F ANK", "A SMY"]}, {}, []),
        ("W1903A", [], {"TURKEY": ["F WES", "F ANK", "A SMY"]}, {}, ["A BRE B", "A MAR B", "A PAR B"]),
        # Its centers bound its arms.
        ("W1903A", [], TWO, {"centers": ["PAR"]}, ["A PAR B"]),
        ("W1903A", ["A BUR", "A PAR"], TWO, {"centers": ["PAR"]}, ["A PAR D"]),
        ("W1903A", ["A BUR", "A PAR"], {}, {"rules": STANDARD}, []),
    ],
)
def test_how_many_units_it_keeps(phase, french, others, more, wanted):
    assert winter(phase, french, others, **more) == wanted


def test_it_takes_back_what_it_lost_and_nothing_else():
    """Marseilles is its own by the fair partition; Munich and Holland are not, though free to enter."""
    units = {"FRANCE": ["A BUR", "A GAS", "A BEL", "A PIC"], "GERMANY": ["A MAR"]}
    owned = {"FRANCE": ["PAR", "BRE", "SPA"], "GERMANY": ["MUN", "MAR", "HOL"]}
    found = orders_at("tit-for-tat", rules=RULES, phase="S1903M", units=units, centers=owned)
    assert found == ["A BEL - BUR", "A BUR - MAR", "A GAS S A BUR - MAR", "A PIC S A BEL - BUR"]


def test_it_stays_where_it_has_taken_a_center_back():
    """Which is its own again in Fall; the other unit goes for the next one."""
    owned = {"FRANCE": ["PAR", "BRE"], "GERMANY": ["MUN", "MAR", "SPA"]}
    found = orders_at("tit-for-tat", rules=RULES, phase="F1903M", units={"FRANCE": ["A MAR", "A GAS"]}, centers=owned)
    assert found == ["A GAS - SPA", "A MAR H"]
