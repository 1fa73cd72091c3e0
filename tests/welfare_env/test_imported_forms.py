"""What other programs write that our games do not have: small files in their forms."""

import json

import numpy as np
import pytest
from diplomacy.utils.export import to_saved_game_format

from tests.welfare_env.test_imports import HISTORY, new_game, of_the_site, played, replaced, sorted_lists, written
from welfare_env import Game, errors, import_game
from welfare_env.game.record import save_record
from welfare_env.render.replay.annotations import Reasoning

POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


def of_all(some):
    return {power: some.get(power, []) for power in POWERS}


def of_dipcc(*phases):
    """A game as dipcc writes it; its phases are names, units, centers, orders and messages, of some powers."""
    return {
        "id": "zHJ",
        "is_full_press": True,
        "map": "standard",
        "phases": [
            {
                "logs": [],
                "messages": [
                    {"sender": sender, "recipient": to, "message": text, "phase": name, "time_sent": number}
                    for number, (sender, to, text) in enumerate(messages)
                ],
                "name": name,
                "orders": of_all(orders),
                "results": {},
                "state": {"name": name, "units": of_all(units), "centers": centers, "retreats": {}},
            }
            for name, units, centers, orders, messages in phases
        ],
        "scoring_system": "sum_of_squares",
        "version": "1.0",
    }


def assert_same_end(found, saved, folder):
    """The imported game, saved and loaded, ends with the file's centers."""
    save_record(found.record(), folder / "ours.json")
    ours, theirs = Game.load(folder / "ours.json").centers, saved["phases"][-1]["state"]["centers"]
    assert sorted_lists(ours) == sorted_lists(dict.fromkeys(POWERS, ()) | theirs)


# France takes Portugal; the army there cannot retreat, since Spain is occupied.
TRAPPING = {"FRANCE": ["F MAO - POR", "A SPA S F MAO - POR"], "GERMANY": ["A POR H"]}
BEFORE = {"FRANCE": ["F MAO", "A SPA"], "GERMANY": ["A POR"]}
CENTERS = {"FRANCE": ["SPA"], "GERMANY": ["POR", "BER"]}
AFTER = {"FRANCE": ["F POR", "A SPA"], "GERMANY": []}
CAPTURED = {"FRANCE": ["SPA", "POR"], "GERMANY": ["BER"]}


def trapped(season, after, others=None, retreat=()):
    """A game with Retreats for a unit that cannot retreat, and perhaps for others that can."""
    more, ordered, moved = others or ({}, {}, {})
    both = [
        {power: [*one.get(power, ()), *other.get(power, ())] for power in (*one, *other)}
        for one, other in ((BEFORE, more), (TRAPPING, ordered), ({**AFTER, "GERMANY": ["*A POR"]}, moved))
    ]
    end = {**AFTER, **{power: [*AFTER[power], *moved[power]] for power in moved if power == "FRANCE"}}
    end["GERMANY"] = [f"A {text[-3:]}" for text in retreat]
    name, centers = after
    return of_dipcc(
        (f"{season}1901M", both[0], CENTERS, both[1], [("GERMANY", "ALL", "Help!"), ("FRANCE", "GERMANY", "No.")]),
        (f"{season}1901R", both[2], CENTERS, {"GERMANY": ["A POR D", *retreat]}, [("GERMANY", "ALL", "Ouch.")]),
        (name, end, centers, {}, []),
    )


BURGUNDY = (
    {"FRANCE": ["A PAR", "A MAR"], "GERMANY": ["A BUR"]},
    {"FRANCE": ["A PAR - BUR", "A MAR S A PAR - BUR"], "GERMANY": []},
    {"FRANCE": ["A BUR", "A MAR"], "GERMANY": ["*A BUR"]},
)


@pytest.mark.parametrize(
    ("saved", "played"),
    [
        (trapped("S", ("F1901M", CENTERS)), ["S1901M", "F1901M"]),
        (trapped("F", ("W1901A", CAPTURED)), ["F1901M", "W1901A"]),
        (trapped("S", ("F1901M", CENTERS), BURGUNDY, ("A BUR R MUN",)), ["S1901M", "S1901R", "F1901M"]),
    ],
)
def test_retreats_of_units_that_cannot_retreat(tmp_path, saved, played):
    theirs = import_game(written(tmp_path, of_the_site(saved), "history.json"))
    assert [phase["name"] for phase in theirs.record()["phases"]] == played
    assert_same_end(theirs, saved, tmp_path)
    found = import_game(written(tmp_path, saved))
    assert [phase["name"] for phase in found.record()["phases"]] == played
    assert found.game.pending_void == {}
    assert [record.void for record in found.game.history] == [{}] * (len(played) - 1)
    said = [(each.recipient, each.text) for each in found.game.history[0].messages]
    assert said == [("GLOBAL", "Help!"), ("GERMANY", "No.")]
    assert [note for note in found.notes if note.startswith("dislodged units") and note.endswith(": 1")]
    assert [note for note in found.notes if note.startswith("messages left out") and note.endswith(": 1")]
    assert_same_end(found, saved, tmp_path)


def test_the_package_ends_its_hundredth_year_in_an_empty_winter(tmp_path):
    """Although there is something to adjust; AI_Diplomacy's games of a hundred years end like this."""
    theirs = new_game("F2000M")
    theirs.set_orders("FRANCE", ["A PAR - PIC", "A MAR - SPA"])
    theirs.process()
    saved = to_saved_game_format(theirs)
    assert [phase["name"] for phase in saved["phases"]] == ["F2000M", "W2000A", "COMPLETED"]
    found = import_game(written(tmp_path, saved))
    assert found.game.units["FRANCE"] == tuple(saved["phases"][-1]["state"]["units"]["FRANCE"])
    assert_same_end(found, saved, tmp_path)


def test_a_winter_that_the_file_leaves_out_is_played_without_orders(tmp_path):
    """France may build, but its Winter is not in the file; the site leaves out phases without orders."""
    after = {"FRANCE": ["F POR", "A SPA"]}
    centers = {"FRANCE": ["SPA", "PAR"]}, {"FRANCE": ["SPA", "PAR", "POR"]}
    saved = of_dipcc(
        ("F1901M", {"FRANCE": ["F MAO", "A SPA"]}, centers[0], {"FRANCE": ["F MAO - POR"]}, []),
        ("S1902M", after, centers[1], {}, []),
    )
    for name, file in (("game.json", saved), ("history.json", of_the_site(saved))):
        found = import_game(written(tmp_path, file, name))
        assert [phase["name"] for phase in found.record()["phases"]] == ["F1901M", "W1901A", "S1902M"]
        assert_same_end(found, saved, tmp_path)
    saved["phases"][1]["state"]["units"]["FRANCE"] = [*after["FRANCE"], "A PAR"]
    with pytest.raises(errors.RecordError, match=r"S1902M.*A PAR"):
        import_game(written(tmp_path, saved))


WALKED = "orders of convoys that webDiplomacy and dipcc do not carry out, shown as holds and moves by land: 1"
SWAP = {"TURKEY": ["A CON", "F AEG"], "RUSSIA": ["F BUL/EC"]}


SWAPPED = {"TURKEY": ["A BUL", "F AEG"], "RUSSIA": ["F CON"]}


def swapping(move):
    return {"TURKEY": [move, "F AEG C A CON - BUL"], "RUSSIA": ["F BUL/EC - CON"]}


@pytest.mark.parametrize(
    ("units", "orders", "after", "notes"),
    [
        (SWAP, swapping("A CON - BUL"), SWAP, (WALKED,)),
        (SWAP, swapping("A CON - BUL VIA"), SWAPPED, ()),
        ({"RUSSIA": ["A SEV"]}, {"RUSSIA": ["A SEV - RUM VIA"]}, {"RUSSIA": ["A RUM"]}, (WALKED,)),
    ],
)
def test_an_army_that_can_walk_does_unless_it_says_via_and_a_fleet_convoys_it(tmp_path, units, orders, after, notes):
    """As on the site, in dipcc and in the package; by the rulebook the first is a swap, and the last army stays."""
    saved = of_dipcc(("S1901M", units, {}, orders, []), ("F1901M", after, {}, {}, []))
    found = import_game(written(tmp_path, saved))
    assert found.notes == notes
    assert found.game.rules.adjudication == "rulebook"


def test_a_game_may_follow_from_the_package_s_rulings_only(tmp_path):
    """A support by its own power helps to dislodge A BEL (DATC 6.D.12)."""
    units = {"ENGLAND": ["A LON", "F NTH"], "FRANCE": ["A BEL", "A PIC"]}
    ordered = {"ENGLAND": ["A LON - BEL VIA", "F NTH C A LON - BEL"], "FRANCE": ["A BEL H", "A PIC S A LON - BEL"]}
    after = {"ENGLAND": ["A BEL", "F NTH"], "FRANCE": ["A PIC"]}
    saved = of_dipcc(
        ("S1901M", units, {}, ordered, []),
        ("S1901R", {**after, "FRANCE": ["A PIC", "*A BEL"]}, {}, {"FRANCE": ["A BEL D"]}, []),
        ("F1901M", after, {}, {}, []),
    )
    found = import_game(written(tmp_path, saved))
    assert (found.game.rules.adjudication, found.game.phase) == ("package", "F1901M")
    assert found.game.history[0].orders == dict.fromkeys(POWERS, ()) | {each: tuple(ordered[each]) for each in ordered}
    assert [note for note in found.notes if "package" in note]
    assert_same_end(found, saved, tmp_path)


# Files that do not follow from their orders.


@pytest.mark.parametrize(
    ("name", "following", "units", "orders", "rule"),
    [
        ("S1901M", "F1901M", ["A LON", "F NTH"], ["A LON - BEL VIA", "F NTH C A LON - BEL"], "6.F"),
        ("W1901A", "S1902M", ["A NWY"], [], "6.J"),
        ("S1901M", "F1901M", ["A NWY"], ["A NWY H"], "No rule"),
    ],
)
def test_an_error_names_the_rules_on_which_programs_differ(tmp_path, name, following, units, orders, rule):
    """The second phase has a unit more than the orders explain."""
    after = {"TURKEY": units, "ITALY": ["A ROM"]}
    saved = of_dipcc((name, {"TURKEY": units}, {}, {"TURKEY": orders}, []), (following, after, {}, {}, []))
    with pytest.raises(errors.RecordError, match=rf"(?s){rule}.*ITALY A ROM|ITALY A ROM.*{rule}"):
        import_game(written(tmp_path, saved))


@pytest.mark.parametrize(
    "names", [("S1901M", "S1901M"), ("S1901M", "W1901A"), ("F1901M", "S1901R"), ("S1901M", "COMPLETED", "F1901M")]
)
def test_phases_out_of_order_are_refused(tmp_path, names):
    units = {"TURKEY": ["A CON"]}
    saved = of_dipcc(*((name, units, {"TURKEY": ["CON"]}, {}, []) for name in names))
    with pytest.raises(errors.RecordError, match=rf"phases\[{len(names) - 1}\]"):
        import_game(written(tmp_path, saved))


# AI_Diplomacy's agents.


def agents(*diaries):
    """A game of two phases in which the agents' diaries grow."""
    theirs = new_game()
    theirs.process()
    saved = to_saved_game_format(theirs)
    for phase, diary in zip(saved["phases"], diaries, strict=True):
        phase["state_agents"] = {
            "FRANCE": {"model_id": "a-model", "goals": ["Paris"], "relationships": {}, "full_private_diary": diary}
        }
    saved["phases"][0]["state_history_plans"] = {"FRANCE": "West.", "ITALY": ""}
    return saved | {"phase_summaries": {}, "final_agent_states": {}}


def test_plans_goals_and_diaries_are_annotations(tmp_path):
    found = import_game(written(tmp_path, agents(["[S1901M] One"], ["[S1901M] One", "[F1901M] Two"])))
    first = [Reasoning("S1901M", 1, "FRANCE", text) for text in ("Plan: West.", "[S1901M] One", "Goals:\n- Paris")]
    assert list(found.reasoning) == [*first, Reasoning("F1901M", 1, "FRANCE", "[F1901M] Two")]
    assert (found.program, dict(found.annotations.players)) == ("AI_Diplomacy", {"FRANCE": "a-model"})
    assert found.record()["welfare_env"]["imported"]["reasoning"][-1]["text"] == "[F1901M] Two"
    assert Game.from_record(json.loads(json.dumps(found.record()))).phase == "F1901M"
    found.game.replay(tmp_path / "game.html", found.annotations)
    assert "[F1901M] Two" in (tmp_path / "game.html").read_text(encoding="utf-8")


# Any file.


def test_a_file_that_ends_anywhere_is_read_to_its_end(tmp_path):
    saved = to_saved_game_format(played(2, seed=3))
    for count in range(1, len(saved["phases"])):
        cut = saved | {"phases": saved["phases"][:count]}
        found = import_game(written(tmp_path, cut))
        assert found.game.phase == cut["phases"][-1]["name"]
        assert_same_end(found, cut, tmp_path)


def leaves(value, keys=()):
    """The keys of every value in nested lists and objects."""
    yield keys
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in pairs:
        yield from leaves(inner, (*keys, key))


HOSTILE = (None, 7, -1, 1e999, "", "\x1b[2J", "\ud800", "A XXX", "*F STP", [], [None], {}, {"SPAIN": ["A SPA"]}, True)


@pytest.mark.parametrize("saved", [agents(["One"], ["One"]), HISTORY])
def test_with_a_hostile_value_anywhere_a_file_is_refused_or_read_whole(tmp_path, saved):
    places, rng = [keys for keys in leaves(saved) if keys], np.random.default_rng(7)
    for number in rng.permutation(len(places))[:50].tolist():
        changed = replaced(saved, places[number], HOSTILE[rng.integers(len(HOSTILE))])
        try:
            found = import_game(written(tmp_path, changed))
        except errors.RecordError as error:
            told = str(error)
            assert (told.isprintable(), "game.json" in told, len(told) < 1500) == (True, True, True), told
        else:
            record = json.loads(json.dumps(found.record()))
            assert [phase["name"] for phase in record["phases"]] == ["S1901M", "F1901M"]
            Game.from_record(record)
