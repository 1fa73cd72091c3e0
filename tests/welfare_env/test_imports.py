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
    assert record["welfare_env"]["rules"]["variant"] == "standard"
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
        ([*FIRST, "orders", "SPAIN"], ["A SPA H"]),
        (["map"], "../secret.map"),
        (["id"], "welfare_env"),
        ([*FIRST, "state_agents"], {"FRANCE": {"model_id": "\x1b[2J"}}),
        (["phases", -1], {"name": "COMPLETED", "state": {"units": {}, "centers": {}, "note": "\x1b[2J"}}),
        (["phases", 1, "state", "units", "FRANCE"], ["A PAR"] * 5000),
    ],
)
def test_damaged_files_are_refused(saved, tmp_path, keys, new):
    """With a short text for any terminal. Values that are hostile anywhere: test_imported_forms.py."""
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
