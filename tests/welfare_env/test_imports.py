"""Games of other programs: real ones that the `diplomacy` package plays and saves, and files made by hand."""

import copy
import json
import re

import diplomacy
import numpy as np
import pytest
from diplomacy.integration.webdiplomacy_net.orders import Order
from diplomacy.integration.webdiplomacy_net.utils import CACHE
from diplomacy.utils.export import to_saved_game_format

from tests.playing import package_game
from welfare_env import Game, errors, import_game
from welfare_env.game.record import save_record
from welfare_env.render.replay.annotations import Reasoning

NUMBERS = CACHE[1]  # the package's own table of the site's numbers
COUNTRIES = NUMBERS["power_to_ix"]
KINDS = {"M": "Diplomacy", "R": "Retreats", "A": "Builds"}


def new_game(phase="S1901M"):
    game = package_game()
    game.set_current_phase(phase)
    return game


def played(years, seed):
    """A game of the package with random orders of all powers, in Winter too many, and messages."""
    theirs, rng = new_game(), np.random.default_rng(seed)
    while not theirs.is_game_done and int(theirs.get_current_phase()[1:5]) < 1901 + years:
        possible, phase = theirs.get_all_possible_orders(), theirs.get_current_phase()
        for power in sorted(theirs.powers):
            places = [place for place in theirs.get_orderable_locations(power) if possible[place]]
            theirs.set_orders(power, [sorted(possible[place])[rng.integers(len(possible[place]))] for place in places])
        for sender, recipient in (("FRANCE", "ENGLAND"), ("ITALY", "GLOBAL")) if phase.endswith("M") else ():
            said = {"sender": sender, "recipient": recipient, "message": f"Peace? {rng.integers(10**9)}"}
            theirs.add_message(diplomacy.Message(**said, phase=phase))
        theirs.process()
    return theirs


@pytest.fixture(scope="module")
def saved():
    """Four years of a real game, with retreats, convoys, builds and disbands."""
    return to_saved_game_format(played(4, seed=2))


def written(folder, value, name="game.json"):
    path = folder / name
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def sorted_lists(powers):
    return {power: sorted(given) for power, given in powers.items()}


def as_on_the_site(orders):
    """The site names no coast of a destination that a unit supports; its armies walk unless a fleet convoys them."""
    return {
        power: sorted(re.sub(r"( S .* - ...)/..$| VIA$", r"\1", text) for text in texts)
        for power, texts in orders.items()
    }


def assert_same_positions(ours, saved):
    phases = [phase for phase in saved["phases"] if phase["name"] != "COMPLETED"]
    assert [phase["name"] for phase in ours["phases"]] == [phase["name"] for phase in phases]
    for mine, theirs in zip(ours["phases"], phases, strict=True):
        for key in ("units", "centers"):
            assert sorted_lists(mine["state"][key]) == sorted_lists(theirs["state"][key])


def site_order(text, phase, game):
    """An order as the site writes it, by the package's own converter."""
    found = Order(text, map_id=1, phase_type=phase["name"][-1], game=game).order_dict
    return {"turn": 0, **found, "success": "Yes", "dislodged": "No"}


def site_unit(unit):
    kind, is_lost = "Army" if "A " in unit else "Fleet", "Yes" if unit[0] == "*" else "No"
    return {"unitType": kind, "terrID": NUMBERS["loc_to_ix"][unit.lstrip("*")[2:]], "retreating": is_lost}


def of_powers(table, write):
    """What all powers have, with the numbers of their countries."""
    return [{"countryID": COUNTRIES[power], **write(each)} for power, listed in table.items() for each in listed or []]


def site_phase(phase, game):
    """A phase as the site's API gives it; of provinces with coasts it also lists owners of the coasts."""
    centers = of_powers(phase["state"]["centers"], lambda center: {"terrID": NUMBERS["loc_to_ix"][center]})
    return {
        "turn": (int(phase["name"][1:5]) - 1901) * 2 + (phase["name"][0] != "S"),
        "phase": KINDS[phase["name"][-1]],
        "units": of_powers(phase["state"]["units"], site_unit),
        # The North Sea, which is England's but no center, and a place that is nobody's.
        "centers": [{"terrID": 53, "countryID": 1}, {"terrID": 1, "countryID": 0}, *centers],
        "orders": of_powers(phase["orders"], lambda text: site_order(text, phase, game)),
    }


def of_the_site(saved):
    """The same game as the site's API gives it."""
    game = diplomacy.Game()
    phases = [site_phase(phase, game) for phase in saved["phases"]]
    return {"gameID": 7, "variantID": 1, "turn": 6, "phase": "Diplomacy", "gameOver": "No", "phases": phases}


def test_a_game_of_the_package(saved, tmp_path):
    found = import_game(written(tmp_path, saved))
    record = found.record()
    assert (found.program, found.id, found.outcome) == ("diplomacy", saved["id"], "")
    assert_same_positions(record, saved)
    said = [(each["sender"], each["recipient"], each["message"]) for each in saved["phases"][0]["messages"]]
    assert [(each.sender, each.recipient, each.text) for each in found.game.history[0].messages] == said
    assert (found.game.rules.variant, found.game.rules.years) == ("standard", 5)  # the last one has just begun
    assert Game.from_record(json.loads(json.dumps(record))).units == found.game.units


def test_a_game_of_the_site(saved, tmp_path):
    found = import_game(written(tmp_path, of_the_site(saved)))
    assert (found.program, found.id) == ("webDiplomacy", "7")
    assert_same_positions(found.record(), saved)
    theirs = import_game(written(tmp_path, saved, "same.json")).record()
    for mine, other in zip(found.record()["phases"], theirs["phases"], strict=True):
        assert as_on_the_site(mine["orders"]) == as_on_the_site(other["orders"])


# By hand, after lib/gamefiles.php of github.com/kestasjk/webDiplomacy: 79 is the south coast of St. Petersburg (32).
def published_phase(turn, text, fleet, centers, orders):
    """A phase of the files that the site publishes: Russia's fleet and its army in Moscow (31)."""
    units = (("Fleet", fleet), ("Army", 31))
    unsaid = {"fromTerrID": None, "viaConvoy": False, "success": True, "dislodged": False}
    return {
        "turn": turn,
        "phase": "Diplomacy",
        "turnText": text,
        "units": [{"countryID": 7, "type": kind, "terrID": at, "retreating": False} for kind, at in units],
        "centers": [{"terrID": place, "countryID": 7} for place in centers],
        "orders": [
            {"countryID": 7, "terrID": at, "unitType": kind, "type": order, "toTerrID": to, **unsaid}
            for (kind, at), (order, to) in zip(units, orders, strict=False)
        ],
    }


PUBLISHED = {"schema": 1, "gameID": 12}
HISTORY = PUBLISHED | {"file": "history", "version": "5f0c1a", "generated": 1789000000} | {
    "phases": [
        published_phase(0, "Spring, 1901", 79, (27, 29, 31, 32, 78, 79), [("Move", 57), ("Hold", None)]),
        published_phase(1, "Autumn, 1901", 57, (27, 29, 31, 32), []),
    ],
}  # fmt: skip
SAID = ((7, "Peace &amp; quiet?<br />Russia"), (0, "Game was paused"))
SPOKEN = PUBLISHED | {"file": "messages", "voteLog": []} | {
    "messages": [
        {"id": number, "turn": 0, "phase": "Diplomacy", "timeSent": number, "message": text}
        | {"fromCountryID": sender, "toCountryID": 0}
        for number, (sender, text) in enumerate(SAID, 1)
    ],
}  # fmt: skip


def test_the_files_that_the_site_publishes(tmp_path):
    messages = written(tmp_path, SPOKEN, "messages.json")
    found = import_game(written(tmp_path, HISTORY, "history.json"), messages=messages)
    (first,) = found.game.history
    assert first.orders["RUSSIA"] == ("F STP/SC - BOT", "A MOS H")
    (said,) = first.messages
    assert (said.sender, said.recipient, said.text) == ("RUSSIA", "GLOBAL", "Peace & quiet?\nRussia")
    assert found.game.centers["RUSSIA"] == ("MOS", "SEV", "STP", "WAR")
    assert found.notes == ("messages left out (sender or recipient is not a power): 1",)
    (silent,) = import_game(written(tmp_path, HISTORY, "history.json")).notes
    assert "messages.json" in silent
    inside = HISTORY | {"phases": [phase | {"messages": []} for phase in HISTORY["phases"]]}
    assert import_game(written(tmp_path, inside, "history.json")).notes == ()


def test_a_won_game_is_won(tmp_path):
    """France owns seventeen centers and stands in the eighteenth, Belgium, when the Fall ends."""
    theirs = new_game()
    theirs.clear_units()
    for power, unit in (("FRANCE", "A BEL"), ("TURKEY", "A SMY")):
        theirs.set_units(power, [unit])
    free = [place for place in theirs.map.scs if place not in (*theirs.map.homes["TURKEY"], "BEL")]
    theirs.set_centers("FRANCE", free[:17])
    while not theirs.is_game_done:
        theirs.process()
    found = import_game(written(tmp_path, to_saved_game_format(theirs)))
    assert (found.game.winner, found.game.is_done) == ("FRANCE", True)
    assert found.outcome == "Victory by: FRA"


def test_a_file_with_one_game_over_many_lines(saved, tmp_path):
    path = tmp_path / "game.json"
    path.write_text(json.dumps(saved, indent=1), encoding="utf-8")
    assert import_game(path).game.record() == import_game(written(tmp_path, saved, "line.json")).game.record()


def test_a_file_with_a_game_a_line(saved, tmp_path):
    path = tmp_path / "games.jsonl"
    path.write_text(f"{json.dumps(saved)}\n{json.dumps(saved | {'id': 'second'})}\n", encoding="utf-8")
    assert import_game(path, number=2).id == "second"
    with pytest.raises(errors.RecordError, match="number="):
        import_game(path)
    with pytest.raises(errors.RecordError, match=r"number=3.*\b2\b"):
        import_game(path, number=3)


def test_another_adjudication_is_refused_with_its_place_and_the_game_before_it_can_be_imported(saved, tmp_path):
    other = copy.deepcopy(saved)
    other["phases"][3]["state"]["units"]["FRANCE"].append("A PAR")
    name, before = other["phases"][3]["name"], other["phases"][2]["name"]
    with pytest.raises(errors.RecordError, match=rf"phases\[3\].*{name}.*{before}.*A PAR.*until="):
        import_game(written(tmp_path, other))
    found = import_game(written(tmp_path, other), until=before)
    assert found.game.phase == before
    with pytest.raises(errors.RecordError, match="F1999M"):
        import_game(written(tmp_path, other), until="F1999M")
    assert name not in [phase["name"] for phase in found.record()["phases"]]


def replaced(value, keys, new):
    """A copy of nested lists and objects with one value replaced."""
    changed = json.loads(json.dumps(value))
    inner = changed
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = new
    return changed


FIRST = ["phases", 0]


@pytest.mark.parametrize(
    ("keys", "new"),
    [
        (["phases"], []),
        *((["phases", 1, "name"], new) for new in ("Spring", "F1902M")),
        ([*FIRST, "state", "units", "SPAIN"], ["A SPA"]),
        (["map"], "../secret.map"),
        (["id"], "welfare_env"),
        ([*FIRST, "state_agents"], {"FRANCE": {"model_id": "\x1b[2J"}}),
        (["phases", -1], {"name": "COMPLETED", "state": {"units": {}, "centers": {}, "note": "\x1b[2J"}}),
        (["phases", 1, "state", "units", "FRANCE"], ["A PAR"] * 5000),
    ],
)
def test_damaged_files_are_refused(saved, tmp_path, keys, new):
    """With a short text for any terminal. Values that are hostile anywhere: below."""
    with pytest.raises(errors.RecordError, match=r"game\.json") as told:
        import_game(written(tmp_path, replaced(saved, keys, new)))
    assert len(str(told.value)) < 1500
    assert str(told.value).isprintable()
    assert keys[:1] == ["phases"] or "phases" not in str(told.value)


@pytest.mark.parametrize("text", ["", "[" * 100_000, '{"phases": [[]]}'])
def test_files_of_nobody_are_refused(tmp_path, text):
    path = tmp_path / "strange.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(errors.RecordError, match=r"strange\.json"):
        import_game(path)


# What other programs write that games of the package do not have.


POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


def of_all(some):
    return {power: some.get(power, []) for power in POWERS}


def of_dipcc(*phases):
    """A game as dipcc writes it; its phases are names, units, centers, orders and messages, of some powers."""
    return {
        "id": "zHJ",
        "map": "standard",
        "phases": [
            {
                "messages": [
                    {"sender": sender, "recipient": to, "message": text, "phase": name, "time_sent": number}
                    for number, (sender, to, text) in enumerate(messages)
                ],
                "name": name,
                "orders": of_all(orders),
                "state": {"name": name, "units": of_all(units), "centers": centers, "retreats": {}},
            }
            for name, units, centers, orders, messages in phases
        ],
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
    ("saved", "names"),
    [
        (trapped("S", ("F1901M", CENTERS)), ["S1901M", "F1901M"]),
        (trapped("F", ("W1901A", CAPTURED)), ["F1901M", "W1901A"]),
        (trapped("S", ("F1901M", CENTERS), BURGUNDY, ("A BUR R MUN",)), ["S1901M", "S1901R", "F1901M"]),
    ],
)
def test_retreats_of_units_that_cannot_retreat(tmp_path, saved, names):
    theirs = import_game(written(tmp_path, of_the_site(saved), "history.json"))
    assert [phase["name"] for phase in theirs.record()["phases"]] == names
    assert_same_end(theirs, saved, tmp_path)
    found = import_game(written(tmp_path, saved))
    assert [phase["name"] for phase in found.record()["phases"]] == names
    assert found.game.pending_void == {}
    assert [record.void for record in found.game.history] == [{}] * (len(names) - 1)
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
