"""Saved games that are none, truncated, or damaged: `RecordError`, and never a game other than the one recorded."""

import copy
import json
import os
import socket
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from welfare_env import Game, RecordError, Rules, RulesError, load_board
from welfare_env.game import record as record_module

Act = Callable[[Game, np.random.Generator], None]


def saved(game: Game) -> Any:
    """The record as it comes out of a file."""
    return json.loads(json.dumps(game.record()))


@pytest.fixture(scope="module")
def small(speak_and_order: Act) -> Callable[[], Any]:
    """``small()``: the record of a whole game on a small board, with everything a record can hold."""
    rules = Rules(years=2, transfers=True, message_rounds=1)
    dislodged = {"AUSTRIA": {"A VIE": ["PAR", "LON"]}, "TURKEY": {"A CON": ["PAR"]}}
    units = {"FRANCE": ["A VIE"], "GERMANY": ["A CON", "A BER"]}
    game = Game.from_position("F1901R", units, load_board("pure").homes, dislodged, {"FRANCE": 3}, rules, "pure")
    rng = np.random.default_rng(2)
    while not game.is_done:
        speak_and_order(game, rng)
        game.advance()
    text = json.dumps(game.record())
    assert '"reason"' in text
    assert "GIVE" in text
    return lambda: json.loads(text)


def write(path: Path, record: Any) -> Path:
    path.write_text(json.dumps(record), encoding="utf-8")
    return path


class TestNoSavedGame:
    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"\n",
            b"\x00\xff\xfe" * 100,
            "Spring 1901".encode("utf-16"),
            b"null",
            b"5",
            b'"phases"',
            b"[]",
            b"{}",
            b'{"phases": null}',
            b'{"phases": []}',
            b'{"phases": {}}',
            b'{"phases": [5]}',
            b'{"phases": [{}]}',
            b'{"phases": [{"name": "S1901M"}]}',
            b'{"phases": [{"name": "S1901M", "state": {}}], "map": "standard"}',
            b'{"phases": [' + b"1" * 5000 + b"]}",
            b'{"phases": NaN}',
            b"[" * 200_000,
            b'{"phases": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        ],
        ids=lambda content: repr(content[:40]),
    )
    def test_other_content(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "game.json").write_bytes(content)
        with pytest.raises(RecordError, match=r"saved game|game\.json"):
            Game.load(tmp_path / "game.json")

    def test_a_page(self, tmp_path: Path) -> None:
        Game().replay(tmp_path / "game.html")
        with pytest.raises(RecordError, match=r"game\.html' is an HTML page, perhaps a replay: give the saved game"):
            Game.load(tmp_path / "game.html")

    def test_no_such_file(self, tmp_path: Path) -> None:
        with pytest.raises(RecordError, match=r"nowhere\.json"):
            Game.load(tmp_path / "nowhere.json")

    def test_a_directory(self, tmp_path: Path) -> None:
        with pytest.raises(RecordError, match="cannot read"):
            Game.load(tmp_path)

    def test_a_file_far_too_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Game().save(tmp_path / "game.json")
        monkeypatch.setattr(record_module, "LARGEST_FILE", 100)
        with pytest.raises(RecordError, match="more than 100 bytes"):
            Game.load(tmp_path / "game.json")

    @pytest.mark.parametrize("kind", ["pipe", "/dev/zero", "/dev/null", "socket"])
    def test_what_is_no_regular_file(self, kind: str, tmp_path: Path) -> None:
        path = tmp_path / "game.json"
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "socket":
            path = Path(tempfile.mkdtemp()) / "s"  # the path of a socket is short
            socket.socket(socket.AF_UNIX).bind(str(path))
        else:
            path.symlink_to(kind)
        with pytest.raises(RecordError, match="not a regular file"):
            Game.load(path)

    def test_truncated_anywhere(self, small: Callable[[], Any], tmp_path: Path) -> None:
        whole, path = json.dumps(small()).encode(), tmp_path / "game.json"
        for length in range(0, len(whole), max(1, len(whole) // 150)):
            path.write_bytes(whole[:length])
            with pytest.raises(RecordError, match=r"game\.json"):
                Game.load(path)


def change(path: str, value: Any) -> Callable[[Any], None]:
    """A change of one value: "phases.2.name" and what it becomes."""

    def act(record: Any) -> None:
        *above, last = path.split(".")
        for key in above:
            record = record[int(key) if isinstance(record, list) else key]
        record[int(last) if isinstance(record, list) else last] = value

    return act


def drop(number: int) -> Callable[[Any], None]:
    return lambda record: record["phases"].pop(number)


DAMAGE = {
    "a unit moved": change("phases.1.state.units.FRANCE", ["A MAR", "A GAS", "F MAO"]),
    "a unit more": change("phases.1.state.units.ITALY", ["F NAP", "A ROM", "A VEN", "A TUN"]),
    "a unit less": change("phases.2.state.units.ITALY", ["F NAP", "A ROM"]),
    "a unit that cannot be": change("phases.0.state.units.FRANCE", ["F PAR"]),
    "an owner changed": change("phases.2.state.centers.FRANCE", ["BRE", "MAR", "PAR", "BEL"]),
    "an owner changed later": change("phases.3.state.centers.TURKEY", []),
    "points changed": change("phases.3.state.welfare.FRANCE", 7),
    "points changed at the end": change("phases.-1.state.welfare.FRANCE", 100),
    "points of another type": change("phases.3.state.welfare.FRANCE", "1"),
    "a phase dropped": drop(1),
    "Winter dropped": drop(2),
    "the last phase dropped": drop(-1),
    "a phase twice": lambda record: record["phases"].insert(2, record["phases"][2]),
    "phases exchanged": lambda record: record["phases"].__setitem__(slice(1, 3), record["phases"][2:0:-1]),
    "a phase renamed": change("phases.1.name", "S1901M"),
    "a phase after the end": lambda record: record["phases"].append(record["phases"][-1]),
    "an order changed": change("phases.0.orders.FRANCE", ["A PAR - PIC", "F BRE - MAO"]),
    "an illegal order": change("phases.0.orders.FRANCE", ["A PAR - MOS"]),
    "orders of nobody": change("phases.0.orders.NOBODY", []),
    "orders of no list": change("phases.0.orders.FRANCE", "A PAR - BUR"),
    "a result changed": change("phases.0.results.A PAR", ["bounce"]),
    "a result dropped": change("phases.0.results", {}),
    "another map": change("map", "pure"),
    "an unknown map": change("map", "atlantis"),
    "a map of another type": change("map", ["standard"]),
    "the rules dropped": change("welfare_env.rules", {}),
    "unknown rules": change("welfare_env.rules.color", "blue"),
    "rules out of range": change("welfare_env.rules.years", 0),
    "another variant": change("welfare_env.rules", {"variant": "standard"}),
    "another format": change("welfare_env.format", 3),
    "welfare_env of another type": change("welfare_env", 5),
    "other years played": change("welfare_env.years_played", 5),
    "other scores": change("welfare_env.scores.FRANCE", 50.0),
    "a message to nobody": change("phases.0.messages.0.recipient", "NOBODY"),
    "a message of nobody": change("phases.0.messages.0.sender", "NOBODY"),
    "a message in another phase": change("phases.0.messages.0.phase", "F1901M"),
    "a message in round 9": change("phases.0.messages.0.round", 9),
    "a message in no round": change("phases.0.messages.0.round", "first"),
    "a message without text": change("phases.0.messages.0.message", ""),
    "messages of another type": change("phases.0.messages", {"a": 1}),
    "a void order of another type": change("phases.0.void.FRANCE", [5]),
    "a void order without reason": change("phases.0.void.FRANCE", [{"order": "x"}]),
    "state of another type": change("phases.0.state", None),
    "units of another type": change("phases.0.state.units", [1, 2]),
    "a phase of another type": change("phases.1", "F1901M"),
    "deep nesting in units": change("phases.0.state.units.FRANCE", json.loads("[" * 500 + "]" * 500)),
    "deep nesting in orders": change("phases.0.orders.FRANCE", json.loads("[" * 500 + "]" * 500)),
    "deep nesting in a name": change("phases.1.name", json.loads("[" * 500 + "]" * 500)),
    "an endless name": change("phases.0.name", f"S{'1' * 5000}M"),
}


# What could be another game: only the SHA-256 tells.
EDITS = {
    "the text of a message": change("phases.0.messages.0.message", "Burgundy is yours."),
    "a refused order more": change("phases.1.void.FRANCE", [{"order": "A PAR - MOS", "reason": "too far"}]),
    "the reason of a refused order": change("phases.0.void.FRANCE.0.reason", "because"),
    "another map on which all is legal": change("map", "standard_fleet_rome"),
}


@pytest.mark.parametrize("engine", ["nonsense", None, 5, ["fast"], "x" * 5000], ids=lambda value: repr(value)[:20])
def test_an_unknown_engine_is_no_damage(engine: Any, tmp_path: Path) -> None:
    Game().save(tmp_path / "game.json")
    with pytest.raises(RulesError, match="engine="):
        Game.load(tmp_path / "game.json", engine=engine)


class TestDamage:
    def test_a_caller_may_add_keys(self, small: Callable[[], Any], tmp_path: Path) -> None:
        record = small()
        record["welfare_env"] |= {"seed": 1, "players": {"FRANCE": "random"}}
        Game.load(write(tmp_path / "game.json", record))

    @pytest.fixture
    def sound(self) -> Any:
        """Two years of the standard map: a build, a void order, a message."""
        game = Game(rules=Rules(years=2))
        game.send("FRANCE", "GERMANY", "Burgundy?")
        game.submit("FRANCE", ["A PAR - BUR", "A MAR - SPA", "no order"], strict=False)
        while not game.is_done:
            game.advance()
            if game.phase == "W1901A":
                game.submit("FRANCE", ["A PAR B"])
        return saved(game)

    def test_is_named(self, sound: Any, tmp_path: Path, subtests: pytest.Subtests) -> None:
        Game.load(write(tmp_path / "sound.json", sound))
        for fault, damage in DAMAGE.items():
            damaged = copy.deepcopy(sound)
            damage(damaged)
            path = write(tmp_path / "damaged.json", damaged)
            for allow_edited in (False, True):
                with (
                    subtests.test(fault, allow_edited=allow_edited),
                    pytest.raises(RecordError, match=r"saved game|damaged\.json"),
                ):
                    Game.load(path, allow_edited=allow_edited)

    @pytest.mark.parametrize("fault", EDITS)
    def test_an_edited_file_is_loaded_on_purpose_only(self, sound: Any, fault: str, tmp_path: Path) -> None:
        EDITS[fault](sound)
        path = write(tmp_path / "edited.json", sound)
        with pytest.raises(RecordError, match="allow_edited=True"):
            Game.load(path)
        assert Game.load(path, allow_edited=True).is_done
        del sound["welfare_env"]["sha256"]
        with pytest.raises(RecordError, match="edited"):
            Game.load(write(path, sound))
        sound["welfare_env"]["format"] = 1
        with pytest.raises(RecordError, match="format 1; this version reads 2"):
            Game.load(write(path, sound), allow_edited=True)

    def test_changed_retreats_are_named(self, dislodging: Callable[..., Game], tmp_path: Path) -> None:
        game = dislodging()
        game.advance()
        record = saved(game)
        record["phases"][1]["state"]["retreats"]["GERMANY"]["A BUR"] = ["GAS"]
        with pytest.raises(RecordError, match="saved game"):
            Game.load(write(tmp_path / "damaged.json", record))

    @pytest.mark.parametrize(
        "place",
        ["phases.0.state.units.FRANCE", "phases.1.state.welfare.FRANCE", "phases.0.name", "welfare_env.rules.years"],
    )
    def test_nesting_of_any_depth(self, sound: Any, place: str, tmp_path: Path, subtests: pytest.Subtests) -> None:
        change(place, "DEEP")(sound)
        for depth in (100, 300, 600, 900, 950, 980, 990):
            text = json.dumps(sound).replace('"DEEP"', "[" * depth + "]" * depth)
            (tmp_path / "deep.json").write_text(text)
            for allow_edited in (False, True):
                with subtests.test(depth=depth, allow_edited=allow_edited), pytest.raises(RecordError):
                    Game.load(tmp_path / "deep.json", allow_edited=allow_edited)


WORDS = [
    *("FRANCE", "A VIE", "*A VIE", "VIE", "W1901A", "A VIE D", "WAIVE", "GIVE ITALY", "GLOBAL", "COMPLETED"),
    *("bounce", "A PAR - VIE", "A VIE H"),
]
JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(WORDS),
    st.lists(st.sampled_from(WORDS), max_size=2),
    st.dictionaries(st.sampled_from(WORDS), st.lists(st.text(max_size=2), max_size=1), max_size=2),
)
READ_BACK = ("name", "orders", "void")
READ_BACK_OF_STATE = ("units", "retreats", "centers", "welfare")


def places(tree: Any) -> list[tuple[Any, Any]]:
    """Where all values of a JSON tree are: the list or dict that holds each, and its index or key there."""
    trees, listed = [tree], []
    for each in trees:  # it grows meanwhile
        if isinstance(each, dict | list):
            listed += [(each, key) for key in (each if isinstance(each, dict) else range(len(each)))]
            trees += each.values() if isinstance(each, dict) else each
    return listed


def essence(record: Any) -> Any:
    """What a game means: everything but what is told besides (ids, clocks, what the board says anyway)."""
    return [
        {key: phase.get(key) for key in READ_BACK}
        | {key: phase["state"].get(key) for key in READ_BACK_OF_STATE}
        | {"messages": [[m["sender"], m["recipient"], m["message"], m["phase"], m["round"]] for m in phase["messages"]]}
        for phase in record["phases"]
    ]


def check_changed_record(small: Callable[[], Any], data: st.DataObject) -> None:
    """Damages a record at random: it is refused, or what is read is what is written."""
    record = small()
    for _ in range(data.draw(st.integers(1, 3), label="changes")):
        listed = places(record)
        parent, last = listed[data.draw(st.integers(0, len(listed) - 1), label="place")]
        if data.draw(st.integers(0, 3), label="kind"):
            parent[last] = data.draw(JUNK, label="junk")
        else:
            del parent[last]
    try:
        game = Game.from_record(record, "reference", allow_edited=True)
    except RecordError:
        return
    try:
        meant = essence(record)
    except (KeyError, TypeError, AttributeError):
        pytest.fail("a record of another form was read")
    assert essence(saved(game)) == meant


@settings(max_examples=100)
@given(data=st.data())
def test_a_changed_record_is_refused_or_means_what_it_says(small: Callable[[], Any], data: st.DataObject) -> None:
    check_changed_record(small, data)


@pytest.mark.slow
@settings(max_examples=5000)
@given(data=st.data())
def test_many_changed_records(small: Callable[[], Any], data: st.DataObject) -> None:
    check_changed_record(small, data)


def test_a_saved_game_without_its_own_section_is_damaged(small: Callable[[], Any], tmp_path: Path) -> None:
    """Damage can move the section elsewhere; then the digest cannot be checked."""
    record = small()
    record["phases"][-1]["state"]["welfare_env"] = record.pop("welfare_env")
    with pytest.raises(RecordError, match="its section 'welfare_env' is missing"):
        Game.from_record(record)
