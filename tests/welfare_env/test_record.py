"""Saved games: the way to the disk and back, exchange with the `diplomacy` package, and damage of every kind.

What is damaged gives a `RecordError`, and never a game other than the one recorded.
"""

import copy
import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diplomacy
import numpy as np
import pytest
from diplomacy.utils.export import from_saved_game_format, to_saved_game_format
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fuzz.hunting import changed, plain
from tests.playing import ended, ordered
from tests.welfare_env.positions import scatter, speak_and_order
from welfare_env import Game, RecordError, Rules, RulesError, load_board

WELFARE = Rules(years=2, transfers=True, progressive=(1, 2), mediator=True)
STANDARD = Rules(variant="standard", years=2)
TOKENS = Rules(years=1, press="tokens", mediator=True)


def saved(game: Game) -> Any:
    """The record as it comes out of a file."""
    return json.loads(json.dumps(game.record()))


@pytest.fixture(scope="module", params=[WELFARE, STANDARD, TOKENS], ids=["welfare", "standard", "tokens"])
def states(request: pytest.FixtureRequest) -> list[Game]:
    """Copies of one random game: in every phase after its orders, and at the end."""
    rng, found = np.random.default_rng(1), []
    game = Game.from_position("S1901M", *scatter(load_board(), rng, 40), rules=request.param)
    while not game.is_done:
        speak_and_order(game, rng)
        found.append(copy.deepcopy(game))
        game.advance()
    assert any(record.phase.endswith("R") for record in game.history)
    return [*found, game]


class TestRoundTrip:
    def test_every_phase_survives_and_goes_on_as_the_saved_one(self, states: list[Game], tmp_path: Path) -> None:
        for game in states:
            game.save(tmp_path / "game.json")
            again = Game.load(tmp_path / "game.json")
            assert saved(again) == saved(game), game.phase
            assert again.rules == game.rules
            assert again.position.state.same_as(game.position.state), game.phase
        for game in states[1:-1:2]:
            game.save(tmp_path / "game.json")
            again, twin = Game.load(tmp_path / "game.json"), copy.deepcopy(game)
            for either in (twin, again):
                either.advance()
            assert saved(again) == saved(twin), game.phase

    def test_strange_void_orders_survive(self, tmp_path: Path) -> None:
        void = ["A" * 5000, "A PAR H" + " " * 300, "\ud800", "A PAR \udfff H", None, 5, b"A PAR H"]
        void += ["", "\x00", '"', "\\ud800"]
        game = Game()
        game.submit("FRANCE", ["A MAR - SPA", *void, "A PAR - BUR"], strict=False)
        assert len(game.pending_void["FRANCE"]) == len(void)
        assert max(len(each.reason) for each in game.pending_void["FRANCE"]) < 500
        assert max(len(each.order) for each in game.pending_void["FRANCE"]) == 200
        for _ in range(2):
            game.save(tmp_path / "game.json")
            assert saved(Game.load(tmp_path / "game.json")) == saved(game)
            game.advance()


class TestExchange:
    """The `diplomacy` package reads our files; theirs are imported."""

    def test_a_game_of_the_package_is_to_be_imported(self, tmp_path: Path) -> None:
        (tmp_path / "theirs.json").write_text(json.dumps(to_saved_game_format(diplomacy.Game())))
        with pytest.raises(RecordError, match="import_game"):
            Game.load(tmp_path / "theirs.json")

    def test_the_package_reads_our_games(self, states: list[Game]) -> None:
        without_gifts = [game for game in states if not game.phase.endswith("A")]  # which it knows in the past only
        for game in without_gifts[::3]:
            theirs = from_saved_game_format(saved(game))
            assert theirs.get_current_phase() == game.phase
            for power in game.powers:
                units = [*game.units[power], *(f"*{unit}" for unit in game.dislodged[power])]
                assert theirs.get_units(power) == units
                assert sorted(theirs.get_centers(power)) == sorted(game.centers[power])
            assert [str(phase) for phase in theirs.state_history] == [record.phase for record in game.history]
            for record in game.history:
                kept = theirs.order_history[theirs.state_history.key_type(record.phase)]
                assert {power: orders for power, orders in kept.items() if orders} == {
                    power: list(orders) for power, orders in record.orders.items() if orders
                }


@pytest.mark.parametrize("path", [None, "", "a\0b", "\ud800", "pipe"])
def test_what_is_no_path_or_no_regular_file(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe")
    with pytest.raises(RecordError):
        Game().save(path)
    with pytest.raises(RecordError):
        Game.load(path)
    assert [stat.S_ISFIFO(file.stat().st_mode) for file in tmp_path.iterdir()] == [True]


@pytest.fixture(scope="module")
def small() -> Callable[[], Any]:
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
            *(b"", b"\x00\xff\xfe" * 100, b'{"phases": [{}]}', b"[" * 200_000),
            b'{"id": "welfare_env", "welfare_env": {"format": 2}, "phases": [5]}',
        ],
        ids=lambda content: repr(content[:40]),
    )
    def test_other_content(self, content: bytes, tmp_path: Path) -> None:
        (tmp_path / "game.json").write_bytes(content)
        with pytest.raises(RecordError, match=r"saved game|game\.json"):
            Game.load(tmp_path / "game.json")

    def test_what_is_no_file_of_ours(self, tmp_path: Path) -> None:
        (tmp_path / "zero").symlink_to("/dev/zero")
        for name in ("", "zero", "nowhere.json"):
            with pytest.raises(RecordError, match=tmp_path.name):
                Game.load(tmp_path / name)

    def test_a_file_far_too_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        Game().save(tmp_path / "game.json")
        monkeypatch.setattr("welfare_env.game.record.LARGEST_FILE", 100)
        with pytest.raises(RecordError, match="100"):
            Game.load(tmp_path / "game.json")


def change(path: str, value: Any) -> Callable[[Any], None]:
    """A change of one value: "phases.2.name" and what it becomes."""

    def act(record: Any) -> None:
        *above, last = path.split(".")
        for key in above:
            record = record[int(key) if isinstance(record, list) else key]
        record[int(last) if isinstance(record, list) else last] = value

    return act


DAMAGE = {
    "a unit moved": change("phases.1.state.units.FRANCE", ["A MAR", "A GAS", "F MAO"]),
    "points changed": change("phases.3.state.welfare.FRANCE", 7),
    "a score changed": change("welfare_env.scores.FRANCE", 9),
    "a phase dropped": lambda record: record["phases"].pop(1),
    "a phase renamed": change("phases.1.name", "W1901A"),
    "a phase after the end": lambda record: record["phases"].append(record["phases"][-1]),
    "a result changed": change("phases.0.results.A PAR", ["bounce"]),
    "the rules dropped": change("welfare_env.rules", {}),
    "another format": change("welfare_env.format", 3),
    "a message in another phase": change("phases.0.messages.0.phase", "F1901M"),
    "deep nesting in units": change("phases.0.state.units.FRANCE", json.loads("[" * 500 + "]" * 500)),
    "an endless name": change("phases.0.name", f"S{'1' * 5000}M"),
}


# What could be another game: only the SHA-256 tells.
EDITS = {
    "the text of a message": change("phases.0.messages.0.message", "Burgundy is yours."),
    "another map on which all is legal": change("map", "standard_fleet_rome"),
}


def test_an_unknown_engine_is_no_damage(tmp_path: Path) -> None:
    Game().save(tmp_path / "game.json")
    with pytest.raises(RulesError, match="engine="):
        Game.load(tmp_path / "game.json", engine="nonsense")


class TestDamage:
    @pytest.fixture
    def sound(self) -> Any:
        """Two years of the standard map: a build, a void order, a message."""
        game = Game(rules=Rules(years=2))
        game.send("FRANCE", "GERMANY", "Burgundy?")
        ordered(game, {"FRANCE": ["A PAR - BUR", "A MAR - SPA", "no order"]}, strict=False)
        return saved(ended(ordered(ordered(game, {}), {"FRANCE": ["A PAR B"]})))

    def test_is_named(self, sound: Any, tmp_path: Path, subtests: pytest.Subtests) -> None:
        Game.load(write(tmp_path / "sound.json", sound))
        for fault, damage in DAMAGE.items():
            damaged = copy.deepcopy(sound)
            damage(damaged)
            path = write(tmp_path / "damaged.json", damaged)
            for allow_edited in (False, True):
                case = subtests.test(fault, allow_edited=allow_edited)
                with case, pytest.raises(RecordError, match=r"saved game|damaged\.json"):
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
        with pytest.raises(RecordError, match="format 1"):
            Game.load(write(path, sound), allow_edited=True)


WORDS = [
    *("FRANCE", "A VIE", "*A VIE", "VIE", "W1901A", "A VIE D", "WAIVE", "GIVE ITALY", "GLOBAL", "COMPLETED"),
    *("bounce", "A PAR - VIE", "A VIE H"),
]
WORD = st.sampled_from(WORDS)
JUNK = plain | WORD | st.lists(WORD, max_size=2)
READ_BACK = ("name", "orders", "void")
READ_BACK_OF_STATE = ("units", "retreats", "centers", "welfare")


def essence(record: Any) -> Any:
    """What a game means: everything but what is told besides (ids, clocks, what the board says anyway)."""
    return [
        {key: phase.get(key) for key in READ_BACK}
        | {key: phase["state"].get(key) for key in READ_BACK_OF_STATE}
        | {"messages": [[m["sender"], m["recipient"], m["message"], m["phase"], m["round"]] for m in phase["messages"]]}
        for phase in record["phases"]
    ]


@settings(max_examples=60)
@given(data=st.data())
def test_a_changed_record_is_refused_or_means_what_it_says(small: Callable[[], Any], data: st.DataObject) -> None:
    record = data.draw(changed(small(), JUNK))
    try:
        game = Game.from_record(record, "reference", allow_edited=True)
    except RecordError:
        return
    try:
        meant = essence(record)
    except (KeyError, TypeError, AttributeError):
        pytest.fail("a record of another form was read")
    assert essence(saved(game)) == meant


def test_a_saved_game_without_its_own_section_is_damaged(small: Callable[[], Any]) -> None:
    """Damage can move the section elsewhere; then the digest cannot be checked."""
    record = small()
    record["phases"][-1]["state"]["welfare_env"] = record.pop("welfare_env")
    with pytest.raises(RecordError, match="welfare_env"):
        Game.from_record(record)


WRONG_MESSAGES = [{"recipient": "NOBODY"}, {"message": ""}, {"message": ["x"]}]


@pytest.mark.parametrize(
    ("press", "wrong"), [*(("text", wrong) for wrong in WRONG_MESSAGES), ("tokens", {"message": "accept!"})]
)
def test_messages_of_a_saved_game_are_checked(press, wrong):
    game = Game(rules=Rules(press=press))
    game.send("FRANCE", "GERMANY", "accept")
    record = json.loads(json.dumps(game.record()))
    record["phases"][0]["messages"][0] |= wrong
    with pytest.raises(RecordError):
        Game.from_record(record, allow_edited=True)
