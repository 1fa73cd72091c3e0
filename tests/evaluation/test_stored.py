"""Stored games: the commands `games`, `messages`, `replay` and `import`, and what evaluation adds to a replay."""

import json
import re
import sys
from pathlib import Path

import pytest
from diplomacy.utils.export import to_saved_game_format

import evaluation
import welfare_env
from evaluation import EvaluationError
from evaluation.messages.analysis import analyze_messages
from evaluation.play.game_spec import GameSpec, game_seed
from evaluation.play.playing import play_game
from evaluation.play.stored_games import day, seats, whole_keys
from evaluation.report.policy_names import LONGEST, game_title, policy_names
from evaluation.report.replays import annotations_of
from tests.evaluation.conftest import call, table_rows
from tests.playing import package_game
from welfare_env import Game, RecordError, Rules
from welfare_env.board.toy_boards import toy_map

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
    @pytest.mark.parametrize("command", ["games", "messages"])
    def test_a_new_store_is_empty(self, command, store_path):
        evaluation.GameStore(store_path).count()
        assert call(command, "--store", store_path) == f"{store_path} contains no games yet\n"
        assert json.loads(call(command, "--store", store_path, "--json")) == []

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
    assert seats(dict(zip("ABCDEF", "xyxzyx", strict=True)) | {"MEDIATOR": "hold"}) == "x, but B, E: y; D: z"
    assert seats({"A": "dove", "B": "random", "MEDIATOR": "random"}) == "dove, but B, MEDIATOR: random"


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


# The commands replay and import, what evaluation adds to a replay (promises, reasoning, names), and games of diplomacy

EXPLOITER = "exploiter:nice=prosocial,attack=dumbbot"
THREE = Rules(years=3, press=None)


def played(rules=THREE, default="prosocial", **players):
    specs = tuple((power, players.get(power, default)) for power in POWERS)
    return play_game(GameSpec(specs, 0, rules, "standard", "fast"))


def annotated(record):
    return annotations_of(Game.from_record(record), record["welfare_env"])


def embedded(path):
    text = path.read_text("utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.fixture(scope="module")
def robbed():
    return played(FRANCE=EXPLOITER)


@pytest.fixture(scope="module")
def talked():
    return played(Rules(years=1, message_rounds=2), "lm:scripted/stub,summariser=none")


class TestCommand:
    def test_a_stored_game_by_the_beginning_of_its_key(self, shelf, tmp_path):
        out = tmp_path / "dove.html"
        assert call("replay", listed(shelf)[2]["key"][:8], "-o", out, "--store", shelf) == f"{out}\n"
        assert embedded(out)["title"] == "Dove in every seat"

    def test_a_game_on_a_map_file(self, tmp_path):
        (tmp_path / "mine.map").write_text(toy_map("clique:3"))
        Game(str(tmp_path / "mine.map"), Rules(years=1, press=None)).save(tmp_path / "game.json")
        told = call("replay", tmp_path / "game.json", "-o", tmp_path / "page.html", code=2)
        assert "give --map PATH" in told
        call("replay", tmp_path / "game.json", "-o", tmp_path / "page.html", "--map", tmp_path / "mine.map")
        assert len(embedded(tmp_path / "page.html")["powers"]) == 3

    def test_an_edited_game(self, robbed, tmp_path):
        edited = robbed | {"id": "another", "welfare_env": robbed["welfare_env"] | {"sha256": "0" * 64}}
        (tmp_path / "game.json").write_text(json.dumps(edited))
        told = call("replay", tmp_path / "game.json", "-o", tmp_path / "page.html", code=2)
        assert told.rstrip().endswith("pass --allow-edited")
        call("replay", tmp_path / "game.json", "-o", tmp_path / "page.html", "--allow-edited")
        assert len(embedded(tmp_path / "page.html")["powers"]) == 7

    @pytest.mark.parametrize("name", ["abcdef0", "no-such-file.json"])
    def test_an_unknown_game_is_an_error(self, name, shelf, tmp_path):
        assert name in call("replay", name, "-o", tmp_path / "page.html", "--store", shelf, code=2)
        assert not (tmp_path / "page.html").exists()

    def test_a_page_that_cannot_be_written_is_an_error(self, robbed, tmp_path):
        (tmp_path / "game.json").write_text(json.dumps(robbed))
        for out, told in (
            (tmp_path / "game.json", "ends in .html"),
            (tmp_path / "nowhere" / "page.html", "cannot write"),
        ):
            assert told in call("replay", tmp_path / "game.json", "-o", out, code=2)


class TestPlayers:
    def test_who_plays_and_who_deviates(self, robbed):
        told = annotations_of(Game.from_record(robbed), robbed["welfare_env"] | {"deviators": ["FRANCE"]})
        assert (told.players["FRANCE"], told.players["ITALY"], told.deviators) == (EXPLOITER, "prosocial", ("FRANCE",))
        assert told.title == "Prosocial, with France as Exploiter"

    def test_a_coalition_deviates_whatever_it_plays(self, robbed):
        facts = robbed["welfare_env"] | {"coalition": ["ITALY"]}
        assert annotations_of(Game.from_record(robbed), facts).deviators == ("ITALY",)

    def test_a_saved_witness_tells_who_deviates(self, tmp_path):
        robbers = ("FRANCE", "GERMANY", "ITALY", "RUSSIA")
        rules = Rules(years=1, press=None)
        result = evaluation.exploitability("dove", 1, deviator="dumbbot", coalitions=[robbers], rules=rules)
        result.witness.save(tmp_path / "game.json")
        assert "deviators" not in result.witness.record["welfare_env"]
        call("replay", tmp_path / "game.json", "-o", tmp_path / "page.html")
        marked = [power["name"] for power in embedded(tmp_path / "page.html")["powers"] if power["deviates"]]
        assert marked == list(robbers)
        Game.load(tmp_path / "game.json")

    def test_no_policy_of_a_record_is_made(self, robbed, tmp_path, monkeypatch):
        (tmp_path / "named_in_a_record.py").write_text("raise SystemExit('imported')")
        monkeypatch.syspath_prepend(tmp_path)
        evil = "exploiter:nice=(import:named_in_a_record.Evil),attack=(import:named_in_a_record.Evil)"
        facts = robbed["welfare_env"] | {"players": dict.fromkeys(POWERS, evil)}
        assert annotations_of(Game.from_record(robbed), facts).players["ITALY"] == evil
        assert "named_in_a_record" not in sys.modules


class TestPromises:
    def test_every_promise_is_marked_in_the_page(self, talked, tmp_path):
        (tmp_path / "game.json").write_text(json.dumps(talked))
        call("replay", tmp_path / "game.json", "-o", tmp_path / "page.html")
        marked = [
            mark for phase in embedded(tmp_path / "page.html")["phases"] for m in phase["messages"] for mark in m[4:]
        ]
        assert sum(map(len, marked)) == len(analyze_messages(talked).promises)

    @pytest.mark.parametrize(
        ("to", "said", "kinds"),
        [
            ("GERMANY", "I will not enter Munich. I will not attack you.", ["promise broken", "first stab"]),
            ("GLOBAL", "I will not enter Munich.", ["promise broken", "first stab"]),
            ("GERMANY", "I will not enter Kiel.", []),
        ],
    )
    def test_an_attack_in_a_phase_of_a_broken_promise_is_a_stab(self, to, said, kinds):
        game = Game.from_position(
            "S1901M", {"FRANCE": ["A BUR"], "GERMANY": ["A MUN"]}, {"GERMANY": ["MUN"]}, rules=Rules(years=1)
        )
        game.send("FRANCE", to, said)
        game.submit("FRANCE", ["A BUR - MUN"])
        game.advance()
        found = [(event.phase, event.kind) for event in annotated(game.record()).events]
        assert found == [("S1901M", kind) for kind in kinds]


@pytest.mark.parametrize(
    "added",
    [
        {"players": []},
        {"language_models": {"FRANCE": 3}},
        {"language_models": {"FRANCE": [{"turns": [{"phase": "S1901M", "round": float("inf"), "reasoning": "y"}]}]}},
    ],
    ids=str,
)
def test_damage_in_what_was_added_is_named(added, robbed):
    with pytest.raises(RecordError, match="damaged"):
        annotations_of(Game.from_record(robbed), robbed["welfare_env"] | added)


def test_each_policy_has_a_short_name():
    names = {
        "prosocial": "Prosocial",
        "exploiter:nice=prosocial,attack=dumbbot": "Exploiter",
        "lm:openai/gpt-5.4,effort=low": "gpt-5.4",
        "rl:runs/first/checkpoint-200": "checkpoint-200",
        "import:my.module.Mirror,k=3": "Mirror",
        "program:FairBot": "FairBot",
        "": "",
        "<b>" * 100: ("<b>" * 100)[:LONGEST],
    }
    assert policy_names([*names]) == names


def test_different_policies_of_one_name_are_numbered():
    specs = ["random", "dove", "random:orders=0.5", "random"]
    assert policy_names(specs) == {"random": "Random #1", "dove": "Dove", "random:orders=0.5": "Random #2"}


def test_a_title_names_the_players():
    for players, title in (("DDDDDRR", "D, with F and G as R"), ("DRH", "D, R and H")):
        assert game_title(dict(zip("ABCDEFG", players, strict=False)), {power: power for power in "ABCDEFG"}) == title


def test_a_replay_has_the_reasoning_and_the_promises_of_language_models():
    players = dict.fromkeys(("PLAYERA", "PLAYERB", "PLAYERC"), "lm:scripted/stub,summariser=none")
    record = evaluation.play_game(GameSpec(tuple(players.items()), 0, Rules(years=1), "clique:3", "fast"))
    told, facts = annotations_of(Game.from_record(record), record["welfare_env"]), record["welfare_env"]
    turns = facts["language_models"]["PLAYERA"][0]["turns"]
    assert (
        [one.text for one in told.reasoning if one.player == "PLAYERA"]
        == [turn["reasoning"] for turn in turns if turn["reasoning"]]
        != []
    )
    judged = [one.is_kept for one in analyze_messages(record).promises if one.is_kept is not None]
    assert told.measures.get("Promises kept") == (f"{judged.count(True)} of {len(judged)}" if judged else None)


# The command `import`: a game of the `diplomacy` package becomes one that `replay` reads


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """The first phases of a game in which all units hold, in the current folder."""
    monkeypatch.chdir(tmp_path)
    theirs = package_game()
    while theirs.get_current_phase() != "S1902M":
        theirs.process()
    path = tmp_path / "game.json"
    path.write_text(json.dumps(to_saved_game_format(theirs)), encoding="utf-8")
    return path


def test_it_writes_a_game_that_replay_reads(saved, tmp_path):
    told = call("import", "game.json").splitlines()
    assert told[0] == "diplomacy: standard map, standard rules, S1901M to F1901M, 2 phases"
    call("replay", "game-imported.json", "-o", "game.html")
    assert (tmp_path / "game.html").read_text(encoding="utf-8").startswith("<!doctype html")


def test_it_does_not_replace_the_file_that_it_reads(saved):
    before = saved.read_bytes()
    assert "is the input file" in call("import", "game.json", "--out", "./game.json", code=2)
    assert saved.read_bytes() == before


def test_it_replaces_only_the_same_game(saved, tmp_path):
    call("import", "game.json")
    assert "S1901M to S1901M, 1 phase\n" in call("import", "game.json", "--until", "F1901M")
    for other in ("{}", "not JSON", json.dumps({"welfare_env": {"imported": {"program": "diplomacy", "id": "other"}}})):
        (tmp_path / "game-imported.json").write_text(other, encoding="utf-8")
        refused = call("import", "game.json", code=2)
        assert "exists and is not this game: give another name with --out" in refused
        assert (tmp_path / "game-imported.json").read_text(encoding="utf-8") == other


def test_errors_name_options_that_work(saved, tmp_path):
    game = json.loads(saved.read_text(encoding="utf-8"))
    Path("two.json").write_text(f"{json.dumps(game)}\n{json.dumps(game)}", encoding="utf-8")
    assert "give --game 1 to 2" in call("import", "two.json", code=2)
    for number, told in ((1, "FRANCE A BUR in the file"), (2, "--until F1901M")):
        wrong = json.loads(json.dumps(game))
        wrong["phases"][number]["state"]["units"]["FRANCE"][0] = "A BUR"
        Path("wrong.json").write_text(json.dumps(wrong), encoding="utf-8")
        assert told in call("import", "wrong.json", code=2)
    assert "S1901M to S1901M" in call("import", "wrong.json", "--until", "F1901M")


def test_the_replay_shows_the_models_and_what_they_thought(saved, tmp_path):
    """One model among others is no deviator, as a policy of ours would be."""
    game = json.loads(saved.read_text(encoding="utf-8"))
    agents = {power: {"model_id": "a-model"} for power in game["phases"][0]["state"]["units"]}
    agents["FRANCE"] = {"model_id": "another", "full_private_diary": ["I trust nobody."]}
    game["phases"][0]["state_agents"] = agents
    saved.write_text(json.dumps(game), encoding="utf-8")
    assert "FRANCE: another" in call("import", "game.json")
    call("replay", "game-imported.json", "-o", "game.html")
    page = (tmp_path / "game.html").read_text(encoding="utf-8")
    assert ["I trust nobody." in page, '"player":"another"' in page, '"deviates":true' in page] == [True, True, False]
