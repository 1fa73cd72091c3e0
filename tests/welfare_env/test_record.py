"""Saved games: the way to the disk and back, exchange with the `diplomacy` package, and damage of every kind."""

import copy
import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diplomacy
import numpy as np
import pytest
from diplomacy.utils.export import (
    from_saved_game_format,
    load_saved_games_from_disk,
    to_saved_game_format,
)

from welfare_env import Game, RecordError, Rules, load_board
from welfare_env.board.toy_boards import toy_map
from welfare_env.game.record import load_record

DATA = Path(__file__).parents[1] / "data"
Act = Callable[[Game, np.random.Generator], None]
WELFARE = Rules(years=2, transfers=True, progressive=(1, 2), mediator=True)
STANDARD = Rules(variant="standard", years=2)
TOKENS = Rules(years=1, press="tokens", mediator=True)


def saved(game: Game) -> Any:
    """The record as it comes out of a file."""
    return json.loads(json.dumps(game.record()))


@pytest.fixture(scope="module", params=[WELFARE, STANDARD, TOKENS], ids=["welfare", "standard", "tokens"])
def states(request: pytest.FixtureRequest, speak_and_order: Act, scatter: Callable[..., Any]) -> list[Game]:
    """Copies of one random game: twice in every phase (before and after its orders), and at the end."""
    rng, found = np.random.default_rng(1), []
    game = Game.from_position("S1901M", *scatter(load_board(), rng, 40), rules=request.param)
    while not game.is_done:
        found.append(copy.deepcopy(game))
        speak_and_order(game, rng)
        found.append(copy.deepcopy(game))
        game.advance()
    assert any(record.phase.endswith("R") for record in game.history)
    return [*found, game]


class TestRoundTrip:
    def test_every_phase_survives(self, states: list[Game], tmp_path: Path) -> None:
        for game in states:
            game.save(tmp_path / "game.json")
            again = Game.load(tmp_path / "game.json")
            assert saved(again) == saved(game), game.phase
            assert again.rules == game.rules
            assert again.position.state.same_as(game.position.state), game.phase

    def test_a_loaded_game_goes_on_as_the_saved_one(self, states: list[Game], tmp_path: Path) -> None:
        for game in states[3:-1:4]:
            twin = copy.deepcopy(game)
            twin.save(tmp_path / "game.json")
            again = Game.load(tmp_path / "game.json")
            for either in (twin, again):
                either.advance()
            assert saved(again) == saved(twin), game.phase

    def test_saving_twice_writes_the_same_bytes(self, states: list[Game], tmp_path: Path) -> None:
        for name in ("one", "two"):
            states[-1].save(tmp_path / name)
        assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()

    @pytest.mark.parametrize(
        "void",
        [
            "A" * 5000,
            "A PAR H" + " " * 300,
            "\ud800",
            "A PAR \udfff H",
            None,
            5,
            ["A PAR H"],
            b"A PAR H",
            "",
            "\x00",
            '"',
            "\\ud800",
        ],
        ids=lambda value: repr(value)[:20],
    )
    def test_strange_void_orders_survive(self, void: Any, tmp_path: Path) -> None:
        game = Game()
        game.submit("FRANCE", ["A MAR - SPA", void, "A PAR - BUR"], strict=False)
        assert len(game.pending_void["FRANCE"]) == 1
        game.save(tmp_path / "game.json")
        assert saved(Game.load(tmp_path / "game.json")) == saved(game)
        game.advance()
        game.save(tmp_path / "game.json")
        assert saved(Game.load(tmp_path / "game.json")) == saved(game)

    def test_an_order_that_was_legal_but_refused_stays_refused(self, tmp_path: Path) -> None:
        game = Game()
        game.submit("FRANCE", ["A PAR - BUR"])
        game.add_void("FRANCE", "A MAR - SPA", "it was not Marseilles' turn")
        game.save(tmp_path / "game.json")
        again = Game.load(tmp_path / "game.json")
        assert saved(again) == saved(game)
        again.advance()
        assert "A MAR" in again.units["FRANCE"]

    def test_a_mixed_winter_survives(self, tmp_path: Path) -> None:
        game = Game.from_position("W1901A", {"FRANCE": ["A PAR"]}, {"FRANCE": ["PAR", "MAR", "BRE"]})
        game.submit("FRANCE", ["A PAR D", "A MAR B"], strict=False)
        game.save(tmp_path / "game.json")
        assert saved(Game.load(tmp_path / "game.json")) == saved(game)

    @pytest.mark.parametrize("name", ["game.json", "no ending", "Spiel Ünïcode 🕊.json", ".hidden"])
    def test_any_file_name_will_do(self, name: str, tmp_path: Path) -> None:
        Game().save(tmp_path / name)
        Game.load(str(tmp_path / name))
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_a_map_file_that_has_changed_is_told(self, tmp_path: Path) -> None:
        path = tmp_path / "own.map"
        path.write_text(toy_map("clique:3"), encoding="utf-8")
        game = Game(str(path), Rules(years=1))
        game.advance()
        game.save(tmp_path / "game.json")
        assert Game.load(tmp_path / "game.json", map_name=str(path)).phase == game.phase
        record = load_record(tmp_path / "game.json")
        for text in (toy_map("clique:3") + "\n# another\n", toy_map("clique:4")):
            path.write_text(text, encoding="utf-8")
            with pytest.raises(RecordError, match="has changed since"):
                Game.from_record(record, map_name=str(path))
        with pytest.raises(RecordError, match="has changed since"):
            Game.from_record(record, map_name="clique:3")

    def test_a_record_is_plain_json(self, states: list[Game]) -> None:
        for game in states:
            assert saved(game) == json.loads(json.dumps(game.record(), allow_nan=False)) == game.record()


class TestExchange:
    """Both ways between our files and the `diplomacy` package."""

    def test_the_package_reads_our_games(self, states: list[Game]) -> None:
        for game in states[::5]:
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

    def test_the_package_reads_our_messages(self, states: list[Game]) -> None:
        game = next(game for game in states if game.history and game.history[-1].messages)
        theirs = from_saved_game_format(saved(game))
        texts = [message.message for message in theirs.message_history.last_value().values()]
        assert texts == [message.text for message in game.history[-1].messages]

    @pytest.mark.parametrize("seed", [0, 1])
    def test_we_read_the_packages_games(self, seed: int, tmp_path: Path) -> None:
        theirs, rng = diplomacy.Game(), np.random.default_rng(seed)
        for _ in range(12):
            listed, places = theirs.get_all_possible_orders(), theirs.get_orderable_locations()
            for power in theirs.powers:
                choices = [sorted(listed[place]) for place in places[power]]
                theirs.set_orders(power, [choice[rng.integers(len(choice))] for choice in choices if choice])
            theirs.process()
        path = tmp_path / "upstream.json"
        to_saved_game_format(theirs, str(path), output_mode="w")
        ours = Game.load(path)
        assert ours.rules.variant == "standard"
        assert ours.phase == theirs.get_current_phase()
        assert [record.phase for record in ours.history] == [str(phase) for phase in theirs.state_history]
        for power in ours.powers:
            units = [*ours.units[power], *(f"*{unit}" for unit in ours.dislodged[power])]
            assert units == theirs.get_units(power)

    def test_we_read_a_support_whose_coast_the_package_left_out(self, tmp_path: Path) -> None:
        theirs = diplomacy.Game()
        for orders in (["F BRE - MAO"], [], ["F MAO - POR"], []):
            theirs.set_orders("FRANCE", orders)
            theirs.set_orders(
                "ITALY", {"F BRE - MAO": ["F NAP - TYS"], "F MAO - POR": ["F TYS - WES"]}.get("".join(orders), [])
            )
            theirs.process()
        while not theirs.get_current_phase().startswith("S1903"):
            theirs.process()
        theirs.set_orders("FRANCE", ["F POR - SPA/SC"])
        theirs.set_orders("ITALY", ["F WES S F POR - SPA/SC"])
        assert theirs.get_orders("ITALY") == ["F WES S F POR - SPA"]
        theirs.process()
        to_saved_game_format(theirs, str(tmp_path / "upstream.json"), output_mode="w")
        ours = Game.load(tmp_path / "upstream.json")
        assert ours.history[-1].orders["ITALY"]

    def test_we_read_the_packages_messages(self, tmp_path: Path) -> None:
        theirs = diplomacy.Game()
        theirs.add_message(
            diplomacy.Message(sender="FRANCE", recipient="GERMANY", message="Peace?", phase="S1901M", time_sent=1)
        )
        theirs.process()
        to_saved_game_format(theirs, str(tmp_path / "upstream.json"), output_mode="w")
        ours = Game.load(tmp_path / "upstream.json")
        assert [message.text for message in ours.history[0].messages] == ["Peace?"]

    def test_the_package_reads_our_files(self, full_press: Callable[..., Game], tmp_path: Path) -> None:
        for name, rounds in (("talk", 1), ("quiet", 0)):
            game = full_press(years=1, message_rounds=rounds)
            game.save(tmp_path / name)
            (theirs,) = load_saved_games_from_disk(str(tmp_path / name))  # one game a line
            assert theirs.get_current_phase() == game.phase
            assert ("NO_PRESS" in theirs.rules) == (not rounds)

    @pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
    def test_the_packages_web_interface_loads_our_games(self, full_press: Callable[..., Game], tmp_path: Path) -> None:
        game = full_press(years=2, message_rounds=1)
        game.save(tmp_path / "game.json")
        source = Path(diplomacy.__file__).parent / "web" / "src"
        command = ["node", "--no-warnings", DATA / "upstream_web.mjs", source, tmp_path / "game.json"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        theirs = json.loads(done.stdout)
        assert (theirs["map"], theirs["phase"]) == ("standard", game.phase)
        assert [phase["name"] for phase in theirs["phases"]] == [record.phase for record in game.history]
        for phase, record in zip(theirs["phases"], game.history, strict=True):
            assert {power: tuple(centers) for power, centers in phase["centers"].items()} == record.centers
            standing = {power: [unit for unit in units if unit[0] != "*"] for power, units in phase["units"].items()}
            assert {power: tuple(units) for power, units in standing.items()} == record.units
            assert phase["orders"] == {power: list(orders) for power, orders in record.orders.items()}
            assert phase["results"] == record.results
            sent = [[each.sender, each.recipient, each.text] for each in record.messages]
            assert phase["messages"] == sent


class TestSaving:
    def test_a_failed_save_leaves_the_old_file_and_nothing_else(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "game.json"
        Game().save(path)
        before = path.read_bytes()

        def fail(*_: Any, **__: Any) -> None:
            raise OSError("disk full")

        for step in ("fsync", "replace"):
            with monkeypatch.context() as patch:
                patch.setattr(os, step, fail)
                with pytest.raises(RecordError, match="disk full"):
                    Game("pure").save(path)
            assert path.read_bytes() == before
            assert [file.name for file in tmp_path.iterdir()] == ["game.json"]

    def test_an_interrupted_save_leaves_the_old_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "game.json"
        Game().save(path)
        before = path.read_bytes()

        def interrupt(*_: Any, **__: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", interrupt)
            with pytest.raises(KeyboardInterrupt):
                Game("pure").save(path)
        assert path.read_bytes() == before

    def test_places_where_nothing_can_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("a file")
        (tmp_path / "folder").mkdir()
        for path in ("folder", "nowhere/game.json", "file/game.json", "x" * 5000):
            with pytest.raises(RecordError, match="cannot write"):
                Game().save(tmp_path / path)
        assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "folder"]

    def test_what_is_no_regular_file_is_not_replaced(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(RecordError, match="not a regular file"):
            Game().save(tmp_path / "pipe")
        assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)

    @pytest.mark.parametrize(
        "path", [None, 3, b"game.json", "", ".", "/", "a\0b", "\ud800", ["x"], object(), np.array(["x"])]
    )
    def test_what_is_no_path(self, path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(RecordError):
            Game().save(path)
        with pytest.raises(RecordError):
            Game.load(path)
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("name", ["x" * 250, "é" * 120])
    def test_a_name_as_long_as_can_be(self, name: str, tmp_path: Path) -> None:
        Game().save(tmp_path / name)
        assert Game.load(tmp_path / name).phase == "S1901M"

    def test_a_map_whose_path_is_no_text(self, tmp_path: Path) -> None:
        path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.map")
        Path(path).write_text(toy_map("clique:3"), encoding="utf-8")
        with pytest.raises(RecordError, match="Unicode"):
            Game(path).save(tmp_path / "game.json")
        assert not (tmp_path / "game.json").exists()

    @pytest.mark.parametrize("path", [None, 5, b"game.json", "a\0b", ["game.json"]], ids=repr)
    def test_paths_that_are_none(self, path: Any) -> None:
        with pytest.raises(RecordError, match="path of a file"):
            Game().save(path)
        with pytest.raises(RecordError, match="path of a file"):
            Game.load(path)

    def test_the_file_has_the_usual_permissions(self, tmp_path: Path) -> None:
        Game().save(tmp_path / "game.json")
        (tmp_path / "other").write_text("")
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert len(modes) == 1
