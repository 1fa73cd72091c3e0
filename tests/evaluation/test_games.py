"""Single games and batches of them: what decides a game, what its record and the store have, and where it begins."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaluation
import welfare_env
from agents import HoldPolicy
from agents.specs import read_profile
from evaluation import EvaluationError, GameSpec, GameStore, Runner, Setting, StoreError, play_game
from evaluation.play.game_spec import _reported_seeds, game_seed
from evaluation.play.start import Start
from tests.evaluation.conftest import call
from welfare_env import Game, Rules, View
from welfare_env.board.toy_boards import toy_map
from welfare_env.engine.engines import DEFAULT_ENGINE
from welfare_env.game.press import MEDIATOR
from welfare_env.rules import RULES_REVISION

QUICK = Rules(years=1, message_rounds=0)
SHORT = Rules(years=3, message_rounds=0)
MEDIATED = Rules(years=1, message_rounds=1, mediator=True)
POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")


def specs_of(
    policy: str, count: int = 1, rules: Rules = QUICK, map_name: str = "pure", **others: str
) -> list[GameSpec]:
    return list(Setting(rules=rules, map_name=map_name).games(read_profile(policy), count, others))


# In an event loop


@pytest.mark.parametrize(  # neither waits for anything
    ("policy", "simultaneous"), [("dove", True), ("lm:scripted/stub,summariser=none", False)]
)
def test_a_game_lets_others_go_on_in_every_phase(policy: str, simultaneous: bool) -> None:
    (spec,) = specs_of(policy, rules=SHORT, map_name="standard")
    spec = replace(spec, simultaneous=simultaneous)

    async def main() -> tuple[Any, int]:
        playing, moments = asyncio.create_task(evaluation.aplay_game(spec)), 0
        while not playing.done():
            await asyncio.sleep(0)
            moments += 1
        return playing.result(), moments

    record, moments = asyncio.run(main())
    assert moments >= len(record["phases"])
    assert record == play_game(spec)


# What decides a game


def test_seeds_of_an_evaluation_are_distinct_and_its_own() -> None:
    seeds = [game_seed(seed, game) for seed in range(5) for game in range(200)]
    assert len(set(seeds)) == len(seeds)
    assert all(type(seed) is int and 0 <= seed < 2**32 for seed in seeds)
    first = [2968811710, 3964924996, 3141116543]  # stores rely on them
    assert [game_seed(0, game) for game in range(3)] == first
    for policy, rules in (("hold", QUICK), ("random", SHORT)):
        assert [spec.seed for spec in specs_of(policy, 3, rules)] == first


def test_a_specification_tells_all_that_decides_a_game() -> None:
    spec = specs_of("hold", FRANCE="random")[0]
    told = spec.to_dict()
    assert told["players"] == dict.fromkeys(POWERS, "hold") | {"FRANCE": "random"}
    assert told["rules"] == QUICK.to_dict()
    assert (told["map"], told["engine"], told["seed"]) == ("pure", DEFAULT_ENGINE, game_seed(0, 0))
    assert (told["rules_revision"], told["own_files"]) == (RULES_REVISION, "")
    assert set(told["versions"]) == {"welfare-env", "diplomacy", "numba", "numpy", "scipy"}
    assert told["map_digest"] == ""
    json.dumps(told, allow_nan=False)


def test_a_profile_may_name_the_mediator():
    setting = evaluation.Setting(rules=Rules(mediator=True), map_name="clique:3")
    (spec,) = setting.games(read_profile("MEDIATOR*dove + 3*hold"), 1)
    assert spec.written["MEDIATOR"] == "dove"


def test_games_for_choosing_keep_off_the_seeds_of_the_reported_ones():
    assert {game_seed(7, game) for game in range(1000)} == _reported_seeds(7)


# One game


@pytest.mark.parametrize(
    ("policy", "rules", "engine"),
    [
        ("random", SHORT, "fast"),
        ("dumbbot", Rules(years=1, message_rounds=1, adjudication="package"), "reference"),
        ("dove", Rules(variant="standard", years=1), "fast"),
    ],
    ids=["short", "package", "standard"],
)
def test_a_stored_record_replays(kept: GameStore, policy: str, rules: Rules, engine: str) -> None:
    spec = specs_of(policy, rules=rules)[0]
    Runner(store=kept).play([spec])
    record = kept.get(spec.to_dict())
    again = welfare_env.Game.from_record(record, engine)
    assert again.phase == "COMPLETED"
    assert again.record()["phases"] == record["phases"]
    assert again.record()["welfare_env"] == {
        k: v for k, v in record["welfare_env"].items() if k not in ("key", "players", "seed")
    }


@pytest.mark.parametrize(
    ("others", "policy", "senders"), [({}, "hold", {*POWERS}), ({MEDIATOR: "dove"}, "dove", {*POWERS, MEDIATOR})]
)
def test_a_mediator_has_no_points_and_is_silent_by_default(others: Any, policy: str, senders: set[str]) -> None:
    record = play_game(specs_of("dove", rules=MEDIATED, **others)[0])
    assert record["welfare_env"]["players"] == dict.fromkeys(POWERS, "dove") | {MEDIATOR: policy}
    assert {message["sender"] for phase in record["phases"] for message in phase["messages"]} == senders
    assert set(record["phases"][-1]["state"]["welfare"]) == set(POWERS)


# Many games


def test_each_game_is_kept_once_as_soon_as_it_is_there_and_told_in_the_order_asked_for(
    kept: GameStore, played: list[GameSpec]
) -> None:
    first, second, third = specs_of("random", 3)
    assert Runner().play([]) == []
    Runner(store=kept).play([third])
    seen: list[tuple[GameSpec, int, int]] = []
    told: list[int] = []
    asked = [first, second, third, first, third]

    def keep(spec: GameSpec, record: dict[str, Any]) -> int:
        seen.append((spec, len(played), kept.count()))
        return int(record["welfare_env"]["seed"])

    seeds = Runner(store=kept, report=told.append).play(asked, keep)
    assert seen == [(third, 1, 1), (first, 2, 2), (second, 3, 3)]
    assert seeds == [each.seed for each in asked]
    assert (len(played), sum(told)) == (3, 5)


def test_a_store_that_cannot_be_written_is_told_before_a_game_is_played(
    kept: GameStore, played: list[GameSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    (spec, other) = specs_of("hold", 2)
    Runner(store=kept).play([spec])
    kept.close()
    monkeypatch.setattr("agents.runtime.storage.os.access", lambda path, mode: False)
    with GameStore(kept.path) as fixed:
        assert Runner(store=fixed).play([spec])  # stored games can be read
        with pytest.raises(StoreError, match=r"games\.sqlite: .*readonly"):
            Runner(store=fixed).play([other])
    assert played == [spec]


@pytest.mark.parametrize("record", [{}, {"phases": 5, "welfare_env": {}}])
def test_a_stored_record_that_is_no_game_is_told_by_its_file(kept: GameStore, record: dict[str, Any]) -> None:
    (spec,) = specs_of("hold")
    kept.put(spec.to_dict(), record)
    with pytest.raises(StoreError, match=r"games\.sqlite: the record of game \w+ is not one of a game"):
        Runner(store=kept).play([spec])


def test_a_map_file_changed_in_between_is_read_again(kept: GameStore, tmp_path: Path) -> None:
    path = tmp_path / "mine.map"
    points = []
    for text in (toy_map("clique:3"), toy_map("clique:3").replace("UNOWNED CAX CBX CCX", "UNOWNED CAX")):
        path.write_text(text)
        result = evaluation.self_play("prosocial", 1, rules=QUICK, map_name=str(path), store=kept)
        points.append([estimate.value for estimate in result.welfare_per_year.values()])
    assert points == [[2, 2, 2], [2, 1, 1]]


# Games that begin where an earlier game was: unchanged players play it on as it was, changed ones from there

PLAIN = Rules(years=3, press=None)
PRESS = Rules(years=2, message_rounds=2)
TOY = "clique:3"


class Numbered:
    """Gives its orders one by one, as numbers that it draws."""

    def reset(self, agent: str, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)

    def act(self, observation: Any, info: Any) -> Any:
        return int(self.rng.choice(np.flatnonzero(observation["action_mask"])))


class Faulty(HoldPolicy):
    """Its orders in movement phases are for no unit of this board."""

    def movement(self, view: View) -> list[str]:
        return ["A PAR H"]


def earlier(policy: Any, rules: Rules, **options: Any) -> dict[str, Any]:
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
        (Faulty, PLAIN, False),
    ],
)
def test_without_a_change_it_is_the_same_game(policy: Any, rules: Rules, simultaneous: bool) -> None:
    before = earlier(policy, rules, simultaneous=simultaneous)
    for phase in phases_of(before)[::2]:
        start = Start.of(before, phase)
        again = unkeyed(evaluation.self_play(policy, games=1, start=start, simultaneous=simultaneous).records[0])
        assert again["welfare_env"].pop("start") == phase
        assert again == before


def test_a_change_counts_from_the_phase_on_and_is_paired() -> None:
    before = earlier("dumbbot", PLAIN)
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
        earlier("dumbbot", PLAIN, store=store)
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
    wrong = ["compare", "hold", "dove", "--from", "nothing.json", "--store", "games.sqlite"]
    assert "nothing.json" in call(*wrong, code=2)


def test_what_is_no_start_is_named(tmp_path: Path) -> None:
    over = earlier("hold", PLAIN)
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
    before = earlier("lm:scripted/stub", PRESS)
    start = Start.of(before, "F1901M")
    seats = {"PLAYERA": "lm:scripted/stub", "PLAYERB": "dove", "PLAYERC": "dove"}
    now = evaluation.self_play(seats, games=1, start=start).records[0]["welfare_env"]["language_models"]["PLAYERA"][0]
    then = before["welfare_env"]["language_models"]["PLAYERA"][0]
    assert {turn["phase"] for turn in now["turns"]} & {"S1901M"} == set()
    asked = {(entry["kind"], entry["phase"]) for entry in now["transcript"]}
    assert ("turn", "F1901M") in asked
    assert not {entry for entry in asked if entry[1] == "S1901M"}
    assert now["summaries"]["S1901M"] == then["summaries"]["S1901M"]
