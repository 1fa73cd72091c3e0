"""Games that begin where an earlier game was: unchanged players play it on as it was, changed ones from there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaluation
from evaluation import EvaluationError, GameStore
from evaluation.play.game_spec import game_seed
from evaluation.play.start import Start
from tests.evaluation.conftest import call
from welfare_env import Game, Rules

PLAIN = Rules(years=3, press=None)
PRESS = Rules(years=2, message_rounds=2)
TOY = "clique:3"


class Numbered:
    """Gives its orders one by one, as numbers that it draws."""

    def reset(self, agent: str, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, observation: Any, info: Any) -> Any:
        return int(self.rng.choice(np.flatnonzero(observation["action_mask"])))


def played(policy: Any, rules: Rules, **options: Any) -> dict[str, Any]:
    return unkeyed(evaluation.self_play(policy, games=1, rules=rules, map_name=TOY, **options).records[0])


def unkeyed(record: dict[str, Any]) -> dict[str, Any]:
    return record | {"welfare_env": {name: value for name, value in record["welfare_env"].items() if name != "key"}}


def phases_of(record: dict[str, Any]) -> list[str]:
    return [phase["name"] for phase in record["phases"][:-1]]


@pytest.mark.parametrize(
    ("policy", "rules", "simultaneous"),
    [
        ("random", PLAIN, False),
        ("dumbbot", PLAIN, True),
        ("exploiter:nice=dove,attack=dumbbot,years=1", PRESS, False),
        ("sheriff", PLAIN, False),
        ("noisy:of=dove,error=0.3", PRESS, True),
        ("tit-for-tat", PLAIN, True),
        (Numbered, PLAIN, False),  # unit by unit
    ],
)
def test_without_a_change_it_is_the_same_game(policy: Any, rules: Rules, simultaneous: bool) -> None:
    before = played(policy, rules, simultaneous=simultaneous)
    for phase in phases_of(before)[::2]:
        start = Start.of(before, phase)
        again = unkeyed(evaluation.self_play(policy, games=1, start=start, simultaneous=simultaneous).records[0])
        assert again["welfare_env"].pop("start") == phase
        assert again == before


def test_a_change_counts_from_the_phase_on_and_is_paired() -> None:
    before = played("dumbbot", PLAIN)
    start = Start.of(before, "S1902M")
    place = phases_of(before).index("S1902M")
    seats = {"PLAYERA": "hold", "PLAYERB": "dumbbot", "PLAYERC": "dumbbot"}
    after = evaluation.self_play(seats, games=3, start=start)
    for record in after.records:
        assert record["phases"][:place] == before["phases"][:place]
        assert all(" H" in order for order in record["phases"][place]["orders"].get("PLAYERA", []))
    assert len({record["welfare_env"]["seed"] for record in after.records}) == 3
    found = evaluation.compare("dumbbot", seats, games=3, start=start, measure="welfare_per_year:PLAYERB")
    assert len(found.contrasts[0].difference.per_game) == 3
    gain = evaluation.exploitability("prosocial", games=2, deviator="dumbbot", coalitions=["PLAYERA"], start=start)
    assert gain.rules == PLAIN


def test_where_to_begin_is_named_by_game_file_key_and_position(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    game = Game(TOY, PLAIN)
    game.advance()
    game.save("game.json")
    with GameStore("games.sqlite") as store:
        played("dumbbot", PLAIN, store=store)
        (key,) = store.keys()
        begun = [
            evaluation.self_play("hold", games=1, start=start, store=store).records[0]
            for start in (game, "game.json", Path("game.json"), "game.json@S1901M", f"{key[:8]}@F1902M")
        ]
        assert store.count() == 4  # the first three are one game
    assert [record["welfare_env"]["start"] for record in begun] == ["F1901M"] * 3 + ["S1901M", "F1902M"]
    position = {"phase": "F1903M", "units": {"PLAYERA": ["A CAX"]}, "centers": {"PLAYERA": ["CAX"], "PLAYERB": ["HBX"]}}
    position |= {"map_name": TOY, "welfare": {"PLAYERB": 7}}
    Path("position.json").write_text(json.dumps(position))
    result = evaluation.self_play("hold", games=1, start="position.json", rules=PLAIN)
    assert result.welfare_per_year["PLAYERB"].value == 1  # a center without a unit; not the points it had before
    (record,) = result.records
    assert record["phases"][0]["name"] == "F1903M"
    assert (record["phases"][0]["state"]["units"]["PLAYERA"], record["welfare_env"]["years_played"]) == (["A CAX"], 1)


def test_the_commands_begin_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def told(*words: str) -> Any:
        return json.loads(call(*words, "--workers", "1", "--games", "2", "--store", "games.sqlite", "--json"))

    (whole,) = told("self-play", "dumbbot", "--map", TOY, "--years", "3", "--press", "none")
    with GameStore("games.sqlite") as store:
        first = store.games()[0]
        assert first.specification["seed"] == game_seed(0, 0)
    (again,) = told("self-play", "dumbbot", "--from", f"{first.key[:10]}@F1902M")
    assert (again["rules"], again["map"]) == (whole["rules"], TOY)
    assert again["scores"]["PLAYERA"]["per_game"][0] == whole["scores"]["PLAYERA"]["per_game"][0]
    found = told("compare", "dumbbot", "hold", "--from", f"{first.key[:10]}@F1902M")
    assert found["games"] == 2
    wrong = ["compare", "hold", "dove", "--from", "nothing.json", "--store", "games.sqlite"]
    assert "nothing.json" in call(*wrong, code=2)


def test_what_is_no_start_is_named(tmp_path: Path) -> None:
    over = played("hold", PLAIN)
    for start, word in (("nowhere.json", "nowhere.json"), ("0123abcd@F1901M", "0123abcd"), (5, "start=5")):
        with GameStore(tmp_path / "games.sqlite") as store, pytest.raises(EvaluationError, match=word):
            evaluation.self_play("hold", games=1, start=start, store=store)
    for phase, word in ((None, "over"), ("F1999M", "F1999M")):
        with pytest.raises(EvaluationError, match=word):
            Start.of(over, phase)
    with pytest.raises(EvaluationError, match="rules"):
        evaluation.self_play("hold", games=1, start=Start.of(over, "S1901M"), rules=PRESS)
    (tmp_path / "odd.json").write_text('{"phase": "F1901M", "units": {}, "places": {}}')
    with pytest.raises(EvaluationError, match="places"):
        evaluation.self_play("hold", games=1, start=tmp_path / "odd.json")


def test_a_language_model_has_the_notes_of_the_earlier_game() -> None:
    before = played("lm:scripted/stub", PRESS)
    start = Start.of(before, "F1901M")
    seats = {"PLAYERA": "lm:scripted/stub", "PLAYERB": "dove", "PLAYERC": "dove"}
    now = evaluation.self_play(seats, games=1, start=start).records[0]["welfare_env"]["language_models"]["PLAYERA"][0]
    then = before["welfare_env"]["language_models"]["PLAYERA"][0]
    assert {turn["phase"] for turn in now["turns"]} & {"S1901M"} == set()
    asked = {(entry["kind"], entry["phase"]) for entry in now["transcript"]}
    assert ("turn", "F1901M") in asked
    assert not {entry for entry in asked if entry[1] == "S1901M"}
    assert now["summaries"]["S1901M"] == then["summaries"]["S1901M"]
