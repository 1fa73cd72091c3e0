"""The command `replay`, what evaluation adds to a replay (promises, reasoning, names), and games of `diplomacy`."""

import json
import re
import sys
from pathlib import Path

import pytest
from diplomacy.utils.export import to_saved_game_format

import evaluation
import welfare_env
from evaluation.messages.analysis import analyze_messages
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import play_game
from evaluation.report.policy_names import LONGEST, game_title, policy_names
from evaluation.report.replays import annotations_of
from tests.evaluation.conftest import call
from tests.playing import package_game
from welfare_env import Game, RecordError, Rules

POWERS = welfare_env.load_board("standard").powers
EXPLOITER = "exploiter:nice=prosocial,attack=dumbbot"
RULES = Rules(years=3, press=None)


def played(rules=RULES, default="prosocial", **players):
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


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    path = tmp_path_factory.mktemp("stored") / "games.sqlite"
    with evaluation.GameStore(path) as store:
        evaluation.self_play("dove", 1, rules=Rules(years=1, message_rounds=1), store=store)
    return path


class TestCommand:
    def test_a_stored_game_by_the_beginning_of_its_key(self, shelf, tmp_path):
        with evaluation.GameStore(shelf) as store:
            (stored,) = store.games()
        out = tmp_path / "dove.html"
        assert call("replay", stored.key[:8], "-o", out, "--store", shelf) == f"{out}\n"
        assert embedded(out)["title"] == "Dove in every seat"

    def test_a_game_on_a_map_file(self, tmp_path):
        from welfare_env.board.toy_boards import toy_map

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


class TestMessages:
    def test_every_promise_is_marked_in_the_page(self, talked, tmp_path):
        (tmp_path / "game.json").write_text(json.dumps(talked))
        call("replay", tmp_path / "game.json", "-o", tmp_path / "page.html")
        marked = [
            mark for phase in embedded(tmp_path / "page.html")["phases"] for m in phase["messages"] for mark in m[4:]
        ]
        assert sum(map(len, marked)) == len(analyze_messages(talked).promises)

    @pytest.mark.parametrize(
        ("said", "kinds"),
        [("I will not enter Munich.", ["promise broken", "first stab"]), ("I will not enter Kiel.", [])],
    )
    def test_an_attack_in_a_phase_of_a_broken_promise_is_a_stab(self, said, kinds):
        game = Game.from_position(
            "S1901M", {"FRANCE": ["A BUR"], "GERMANY": ["A MUN"]}, {"GERMANY": ["MUN"]}, rules=Rules(years=1)
        )
        game.send("FRANCE", "GERMANY", said)
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


@pytest.mark.parametrize(
    ("policies", "title"),
    [
        (["Dove"] * 7, "Dove in every seat"),
        (["Dove"] * 5 + ["Random"] * 2, "Dove, with F and G as Random"),
        (["Dove", "Random", "Hold"], "Dove, Random and Hold"),
    ],
)
def test_a_title_names_the_players(policies, title):
    players = dict(zip("ABCDEFG", policies, strict=False))
    assert game_title(players, {power: power for power in players}) == title


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
