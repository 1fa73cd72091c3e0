"""The commands `games` and `messages`: what a store holds, and what was said in its games."""

import json

import pytest

import evaluation
import welfare_env
from evaluation import EvaluationError
from evaluation.messages.analysis import analyze_messages
from evaluation.play.game_spec import GameSpec, game_seed
from evaluation.play.stored_games import day, seats, whole_keys
from tests.evaluation.conftest import call, table_rows
from welfare_env import Game, Rules

RULES = Rules(years=1, message_rounds=1)
POWERS = welfare_env.load_board("standard").powers


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A store with three games of two conditions."""
    path = tmp_path_factory.mktemp("stored") / "games.sqlite"
    with evaluation.GameStore(path) as store:
        evaluation.self_play("lm:scripted/stub,summariser=none", 2, rules=RULES, store=store)
        evaluation.exploitability("dove", 1, coalitions=["FRANCE"], rules=RULES, store=store)
    return path


def listed(shelf, *options):
    return json.loads(call("games", *options, "--store", shelf, "--json"))


class TestGames:
    def test_each_game_is_listed_with_what_was_played(self, shelf):
        with evaluation.GameStore(shelf) as store:
            assert [game["key"] for game in listed(shelf)] == [game.key for game in store.games()]
        first, second, profile, deviation = listed(shelf)
        assert set(first["players"].values()) == {"lm:scripted/stub,summariser=none"}
        assert first["seed"] != second["seed"]
        assert first["seed"] == profile["seed"] == deviation["seed"]
        assert deviation["players"]["FRANCE"] == "exploiter:nice=dove,attack=dumbbot"
        assert all(Rules.from_dict(game["rules"]) == RULES and game["is_current"] for game in listed(shelf))
        assert first["stored"][:2] == "20"

    def test_the_table_has_the_conditions_stored_last(self, shelf):
        text = call("games", "--last", "2", "--store", shelf)
        assert "lm:scripted/stub" not in text
        assert "the last 2 of 3 conditions, with 2 of 4 games; for all: --last 0" in text
        for every in (0, 3):
            assert "lm:scripted/stub" in call("games", "--last", every, "--store", shelf)

    def test_the_table_has_a_row_a_condition(self, shelf):
        rows = table_rows(call("games", "--store", shelf))
        shown = [(row[0], row[2]) for row in rows if row[2]]
        robbed = "dove, but FRANCE: exploiter:nice=dove,attack=dumbbot"
        assert shown == [("lm:scripted/stub,summariser=none", "2"), ("dove", "1"), (robbed, "1")]
        assert rows[0][1].startswith("standard map, years: 1, message")
        assert [row[-1] for row in rows if row[-1]] == [game["key"][:8] for game in listed(shelf)]

    def test_many_games_of_a_condition_are_cut_short_and_those_of_another_version_are_told(self, tmp_path):
        path = tmp_path / "games.sqlite"
        with evaluation.GameStore(path) as store:
            store.put(specification(0) | {"rules_revision": 0}, {"phases": []})
            for seed in range(8):
                store.put(specification(seed), {"phases": []})
        assert [game["is_current"] for game in listed(path)] == [False, *[True] * 8]
        assert all(words in " ".join(call("games", "--store", path).split()) for words in ("more", "another version"))

    def test_a_game_by_the_beginning_of_its_key(self, shelf):
        game = listed(shelf)[2]
        assert listed(shelf, game["key"][:6]) == listed(shelf, game["key"]) == [game]
        assert listed(shelf, game["key"], game["key"][:6]) == [game]
        assert "4 or more" in call("games", game["key"][:3], "--store", shelf, code=2)

    def test_a_new_store_is_empty(self, tmp_path):
        path = tmp_path / "games.sqlite"
        evaluation.GameStore(path).count()
        assert call("games", "--store", path) == f"{path} contains no games yet\n"
        assert call("messages", "--store", path) == f"{path} contains no games yet\n"
        assert listed(path) == []


def test_names_in_a_store_do_not_touch_the_terminal(tmp_path):
    """Escapes that clear it, set its title or turn the text around: in tables and in errors."""
    path = tmp_path / "games.sqlite"
    hostile = "x\x1b[2J\x1b]0;owned\x07\u202e\x9b31m"
    with evaluation.GameStore(path) as store:
        store.put(specification(0) | {"players": dict.fromkeys(POWERS, hostile)}, {"phases": []})
    shown = call("games", "--store", path) + call("replay", hostile, "--store", path, code=2)
    shown += call("games", "--store", tmp_path / hostile, code=2)
    assert "owned" in shown
    assert all(sign.isprintable() or sign == "\n" for sign in shown)


def specification(seed):
    seats_of = tuple(dict.fromkeys(POWERS, "hold").items())
    return GameSpec(seats_of, seed, Rules(years=1), "standard", "fast").to_dict()


class TestErrors:
    def test_no_store(self, tmp_path):
        for command in ("games", "messages"):
            assert "there is no store yet" in call(command, "abcd", "--store", tmp_path / "none.sqlite", code=2)
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize(
        ("command", "key"), [("games", "zzz"), ("messages", "zzz"), ("games", "0123456789abcdef"), ("messages", "")]
    )
    def test_no_such_game(self, command, key, shelf):
        error = call(command, key, "--store", shelf, code=2)
        assert ("is not the prefix of any key" if len(key) == 16 else "4 or more hex digits") in error
        assert ("a file of a saved game" in error) == (command == "messages")
        last = evaluation.GameStore(shelf).keys()[-1]
        assert f"{last[:8]})" in error

    def test_a_beginning_of_two_keys(self, tmp_path):
        with pytest.raises(EvaluationError, match="'abcd' is the prefix of 2 keys"):
            whole_keys(["abcd0", "abcd1", "abc9"], ["abcd"], tmp_path)

    @pytest.mark.parametrize(
        ("command", "change"),
        [("games", {"players": {"FRANCE": 5}}), ("messages", {"players": ["dove"]}), ("games", {"rules": []})],
    )
    def test_a_game_of_something_else(self, command, change, tmp_path, lasting_lines):
        path = tmp_path / "games.sqlite"
        with evaluation.GameStore(path) as store:
            store.put(specification(0) | change, {"phases": []})
        (line,) = lasting_lines(call(command, "--store", path, code=2))
        assert line.startswith("error: ")


class TestMessages:
    def test_of_all_stored_games(self, shelf):
        rows = json.loads(call("messages", "--store", shelf, "--json"))
        assert [(row["players"], len(row["games"])) for row in rows] == [
            ("lm:scripted/stub,summariser=none", 2),
            ("dove", 1),
            ("dove, but FRANCE: exploiter:nice=dove,attack=dumbbot", 1),
        ]
        with evaluation.GameStore(shelf) as store:
            for row in rows:
                for key, analysis in row["games"].items():
                    assert analysis == json.loads(json.dumps(analyze_messages(store.record(key)).to_dict()))
                    assert analysis["promises"]["hold"]["found"] > 0 or key not in rows[0]["games"]

    def test_as_tables(self, shelf):
        text = call("messages", "--store", shelf)
        assert "Messages" in text
        assert "Promises" in text
        assert "Who writes to whom" not in text
        key = listed(shelf)[0]["key"]
        assert "Who writes to whom" in call("messages", key[:8], "--store", shelf)

    def test_of_the_last_ones(self, shelf):
        keys = [game["key"] for game in listed(shelf)]
        rows = json.loads(call("messages", "--last", 2, "--store", shelf, "--json"))
        assert [key for row in rows for key in row["games"]] == keys[2:]
        assert "leave it out, or name no GAME" in call("messages", keys[0][:8], "--last", 1, "--store", shelf, code=2)

    def test_of_files_beside_stored_games(self, shelf, tmp_path):
        game = Game(rules=Rules(years=1))
        game.send("FRANCE", "ITALY", "I will hold.")
        game.advance()
        path = tmp_path / "by_hand.json"
        game.save(path)
        rows = json.loads(call("messages", path, "--json", "--store", tmp_path / "none.sqlite"))
        assert [(row["players"], list(row["games"])) for row in rows] == [(str(path), [str(path)])]
        assert rows[0]["games"][str(path)]["promises"]["hold"] == {"kept": 1, "broken": 0, "found": 1}
        key = listed(shelf)[2]["key"]
        both = json.loads(call("messages", path, key[:8], "--json", "--store", shelf))
        assert [list(row["games"]) for row in both] == [[key], [str(path)]]

    def test_of_a_game_on_a_map_that_is_gone(self, tmp_path):
        path = tmp_path / "game.json"
        path.write_text('{"phases": [{"messages": []}], "map": "/gone/sea.map"}')
        assert "unknown map '/gone/sea.map'" in call("messages", path, code=2)


def test_seeds_as_they_were_given(tmp_path):
    path = tmp_path / "games.sqlite"
    quick = {"map_name": "clique:3", "rules": Rules(years=1, press=None)}
    with evaluation.GameStore(path) as store:
        for seed, games in ((0, 2), (2024, 1), (123_456, 1)):
            evaluation.self_play("dove", games, seed=seed, store=store, **quick)
    found = {(game["evaluation_seed"], game["game"]): game for game in listed(path)}
    assert found.keys() == {(0, 0), (0, 1), (2024, 0), (None, None)}
    unknown, second = found[None, None], found[0, 1]
    assert second["seed"] == game_seed(0, 1)
    text = call("games", "--store", path)
    assert f"{unknown['seed']} │    - │ {unknown['key'][:8]}" in text
    assert f" 0 │    1 │ {second['key'][:8]}" in call("games", second["key"][:8], "--store", path)


def test_who_plays_what_in_a_line():
    assert seats({"A": "dove", "B": "dove"}) == "dove"
    assert seats({"A": "dove", "B": "random", "C": "dove"}) == "dove, but B: random"
    assert seats({"A": "x", "B": "y", "C": "x", "D": "z", "E": "y", "F": "x"}) == "x, but B, E: y; D: z"
    assert seats({"A": "dove", "B": "dove", "MEDIATOR": "hold"}) == "dove"


def test_moments_are_told_in_utc():
    assert day(0.0) == "1970-01-01T00:00:00Z"
    assert day(1_763_740_800.9) == "2025-11-21T16:00:00Z"


def test_games_are_written_to_a_new_folder_and_not_to_a_file(tmp_path):
    path = tmp_path / "games.sqlite"
    with evaluation.GameStore(path) as store:
        evaluation.self_play("hold", 1, store=store, map_name="clique:3", rules=Rules(years=1, press=None))
        (key,) = store.keys()
    call("games", "--store", path, "--out", tmp_path / "deep" / "out")
    assert Game.load(tmp_path / "deep" / "out" / f"{key[:8]}.json").is_done
    (tmp_path / "file").touch()
    assert "cannot be written there" in call("games", "--store", path, "--out", tmp_path / "file", code=2)
