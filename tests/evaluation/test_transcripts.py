"""Transcripts: prompts and replies kept with a game; told as text or JSON lines; what of them is private."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evaluation
import welfare_env
from agents.lm import Reply, Request
from agents.lm.errors import ModelError
from agents.lm.models.protocol import Usage
from agents.lm.player import ledger as transcript_module
from agents.lm.player.ledger import questions
from agents.lm.stub.replies import stub_reply
from evaluation import EvaluationError, GameStore
from evaluation.measures.lm_usage import usage_by_part, usage_by_seat, usage_of, without_texts, without_transcripts
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import play_game
from evaluation.play.runner import Runner
from evaluation.report.transcripts import as_lines, as_text, transcript_of
from tests.agents.lm.transport import FailingServer
from tests.evaluation.conftest import Models, call
from welfare_env import Rules

POWERS = welfare_env.load_board("standard").powers
RULES = Rules(years=1, message_rounds=2)
STUB = "lm:scripted/stub"
SECRETS = ("S3CRET-REASON", "S3CRET-THOUGHT", "S3CRET-NOTE", "S3CRET-ORDER", "S3CRET-KEY", "S3CRET-APART")
NASTY = "<script>alert(1)</script>\x1b[31m\u202e</pre>"


def stubbed(request: Request) -> Reply:
    text = stub_reply(request.prompt, request.schema)
    return Reply(text, Usage(len(request.prompt), 7, len(text), 0.25, 3), attempts=2, faults=("server",))


def secretive(request: Request) -> str | Reply:
    """Thinks in every place where a model may; says something nasty, too."""
    if request.schema is None:
        return "S3CRET-NOTE of the phase."
    orders = ["A PAR H", {"order": "A MAR H", "why": "S3CRET-ORDER"}]
    said = {"GLOBAL": NASTY, "reasoning": "S3CRET-KEY"}
    reply = {"reasoning": "S3CRET-REASON", "orders": orders, "messages": said}
    return Reply(f"<think>S3CRET-THOUGHT</think>{json.dumps(reply)}", reasoning="S3CRET-APART")


def game(policy: str = STUB, simultaneous: bool = False, rules: Rules = RULES, **others: str) -> GameSpec:
    seats = dict.fromkeys(POWERS, policy) | others
    return GameSpec(tuple(seats.items()), 0, rules, "standard", "fast", simultaneous)


def models_of(record: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    return record["welfare_env"]["language_models"]


@pytest.fixture(scope="module")
def record() -> dict[str, Any]:
    return play_game(game(), Models(stubbed))


@pytest.fixture(scope="module")
def private() -> dict[str, Any]:
    return play_game(game(f"{STUB},add=journal+drafts"), Models(secretive))


class TestKept:
    @pytest.mark.parametrize("simultaneous", [False, True])
    def test_every_prompt_can_be_put_together_again(self, simultaneous: bool) -> None:
        models = Models(stubbed)
        few = dict.fromkeys(POWERS[2:], "dove")
        record = play_game(game(simultaneous=simultaneous, rules=Rules(years=2, message_rounds=2), **few), models)
        told = Counter(
            ("".join(text for text, _ in (*each.system, *each.user)), json.dumps(each.schema))
            for entries in models_of(record).values()
            for model in entries
            for each in questions(model["transcript"])
        )
        assert told == Counter((each.prompt, json.dumps(each.schema)) for each in models.model.requests)

    def test_what_prompts_share_is_kept_once(self, record: dict[str, Any]) -> None:
        (model,) = models_of(record)["FRANCE"]
        kept = len(json.dumps([entry.get("blocks") for entry in model["transcript"]]))
        whole = sum(len(text) for each in questions(model["transcript"]) for text, _ in (*each.system, *each.user))
        assert kept < whole / 2
        assert json.dumps(model["transcript"]).count("You are an expert player") == 1

    def test_no_key(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-the-tests-0123456789")
        with FailingServer() as server:
            server.faults.extend(["ok", "400"])
            policy = f"lm:openai/any,base_url={server.url}/v1,retries=0,key_variable=OPENAI_API_KEY"
            found = play_game(game("hold", FRANCE=policy))
        assert "sk-a-key" not in json.dumps(found)
        assert any("failed" in entry["reply"] for entry in models_of(found)["FRANCE"][0]["transcript"])

    def test_what_a_server_says_of_a_failed_call_is_private(self) -> None:
        fault = ModelError("bad request", "I do not take: S3CRET-REASON", ("bad request",))
        found = play_game(game("hold", FRANCE=STUB), Models(lambda request: fault))
        for private in (False, True):
            told = transcript_of(found, private=private)
            written = "\n".join(as_text(told))
            assert written.count("failed: bad request") == 6
            assert ("S3CRET" in written) is private
            lines = [json.loads(line) for line in as_lines(told)]
            assert {message["role"] for line in lines for message in line["messages"]} == {"system", "user"}
            assert "S3CRET" not in json.dumps(lines)

    def test_long_texts_are_cut_and_too_many_left_out(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transcript_module, "LONGEST_TEXT", 50)
        monkeypatch.setattr(transcript_module, "MOST_KEPT", 30_000)
        found = play_game(game(), Models(stubbed))
        for entries in models_of(found).values():
            assert len(json.dumps(entries[0]["transcript"])) < 40_000
            assert entries[0]["transcript"][0]["reply"]["cut"] > 0
            assert "blocks" not in entries[0]["transcript"][-1]
        told = transcript_of(found)
        assert not all(asked.question.is_kept for asked in told.asked)
        assert "too long to be recorded" in "\n".join(as_text(told))
        assert usage_of([found]) == usage_of([play_game(game(), Models(stubbed))])


class TestPrivate:
    def test_words_are_left_out(self, private: dict[str, Any]) -> None:
        told = transcript_of(private)
        for written in ("\n".join(as_text(told)), "\n".join(as_lines(told))):
            assert [secret for secret in SECRETS if secret in written] == []
            assert "A PAR H" in written
        of_no_form = play_game(game("hold", FRANCE=STUB), Models(lambda request: "S3CRET-REASON without any object"))
        assert "S3CRET" not in "\n".join(as_lines(transcript_of(of_no_form)))

    def test_and_shown_if_asked_for(self, private: dict[str, Any]) -> None:
        told = transcript_of(private, private=True)
        for written in ("\n".join(as_text(told)), "\n".join(as_lines(told))):
            assert [secret for secret in SECRETS if secret not in written] == []
        assert not {"\x1b", "\u202e"} & set("".join(as_text(told)))  # nothing of a player is executed

    @pytest.mark.slow
    def test_files_of_games_have_no_prompts(self, tmp_path: Path) -> None:
        with GameStore(tmp_path / "games.sqlite") as store:
            Runner(store=store).play([game()])
            (key,) = store.keys()
        call("games", "--store", tmp_path / "games.sqlite", "--out", tmp_path / "public")
        call("games", "--store", tmp_path / "games.sqlite", "--out", tmp_path / "own", "--private")
        (public,), (own,) = (list((tmp_path / name).iterdir()) for name in ("public", "own"))
        assert "expert player" not in public.read_text()
        assert "transcript" in own.read_text()
        assert "the record has no prompts" in call("transcript", public, code=2)
        assert (
            call("transcript", own).splitlines()[1:]
            == call("transcript", key[:8], "--store", tmp_path / "games.sqlite").splitlines()[1:]
        )


class TestUsage:
    def test_by_seat_and_model(self) -> None:
        models = Models(stubbed, notes=stubbed)
        policy = f"{STUB},summariser=scripted/notes"
        found = play_game(game(policy, FRANCE="dove"), models)
        by_seat = usage_by_seat([(found, dict.fromkeys(POWERS, "profile"))])["profile"]
        assert set(by_seat) == set(POWERS) - {"FRANCE"}
        assert {name for each in by_seat.values() for name in each} == {"scripted/script", "scripted/notes"}
        by_model = usage_by_part([(found, dict.fromkeys(POWERS, "profile"))])["profile"]
        total = usage_of([found])
        assert total is not None
        for name in ("calls", "input_tokens", "output_tokens", "reasoning_tokens", "dollars"):
            assert sum(getattr(used, name) for used in by_model.values()) == getattr(total, name)
            seats = [used for each in by_seat.values() for used in each.values()]
            assert sum(getattr(used, name) for used in seats) == getattr(total, name)
        assert (by_model["scripted/notes"].games, by_model["scripted/notes"].calls) == (1, 6 * 2)
        assert sum(used.faults["server"] for used in by_model.values()) == total.faults["server"] == total.calls

    def test_profile_and_deviator_apart(self) -> None:
        models = Models(stubbed, raider=stubbed)
        options: Any = {"coalitions": ["FRANCE"], "rules": Rules(years=1, press=None), "models": models}
        result = evaluation.exploitability(STUB, 1, deviator="lm:scripted/raider", **options)
        assert set(result.usage_by_seat) == {"profile", "lm:scripted/raider"}
        assert set(result.usage_by_seat["lm:scripted/raider"]) == {"FRANCE"}
        used = [each for models in result.usage_by_part.values() for each in models.values()]
        assert set(result.usage_by_part) == set(result.usage_by_seat)
        assert sum(each.calls for each in used) == result.usage.calls
        told = result.to_dict()["language_models_by_seat"]
        assert told["lm:scripted/raider"]["FRANCE"]["scripted/raider"]["calls"] > 0
        witness = transcript_of(result.witness.marked_record)
        assert {asked.player for asked in witness.asked if asked.part == "deviator"} == {"FRANCE"}

    def test_without_texts_the_usage_stays(self, record: dict[str, Any]) -> None:
        """In games of earlier versions, too."""
        parts = dict.fromkeys(POWERS, "profile")
        for bare in (without_transcripts(record), without_texts(record)):
            assert usage_by_seat([(bare, parts)]) == usage_by_seat([(record, parts)])
            assert "expert player" not in json.dumps(bare)
        with pytest.raises(EvaluationError, match="the record has no prompts"):
            transcript_of(without_transcripts(record))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("stored") / "games.sqlite"
    with GameStore(path) as store:
        Runner(store=store).play([game(), game("hold")])
    return path


@pytest.fixture(scope="module")
def key(store: Path) -> str:
    with GameStore(store) as kept:
        return next(each.key for each in kept.games() if STUB in each.specification["players"].values())


class TestCommand:
    def test_text(self, store: Path, key: str) -> None:
        told = call("transcript", key[:8], "--store", store)
        assert told.startswith(f"{STUB}; standard map, years: 1, message rounds: 2")
        assert "- FRANCE (profile), scripted/stub: 8 calls, 0 failed" in told
        places = [told.index(f"=== S1901M, round {number}, AUSTRIA: turn") for number in (1, 2)]
        assert places == sorted(places)
        assert told.index("=== S1901M, TURKEY: summary") < told.index("=== F1901M, round 1, AUSTRIA: turn")

    def test_json_lines_of_one_player(self, store: Path, key: str, tmp_path: Path) -> None:
        out = tmp_path / "game.jsonl"
        assert call("transcript", key[:8], "--store", store, "-o", out, "--player", "france", "--private") == f"{out}\n"
        assert out.stat().st_mode & 0o777 == 0o600
        lines = [json.loads(line) for line in out.read_text().splitlines()]
        assert len(lines) == 8
        assert {line["player"] for line in lines} == {"FRANCE"}
        assert {line["game"] for line in lines} == {key}
        assert [message["role"] for message in lines[0]["messages"]] == ["system", "user", "assistant"]
        assert json.loads(lines[0]["messages"][2]["content"])["reasoning"]
        assert (lines[0]["answered_by"], lines[0]["form"]) == ("scripted/stub", ["of its schema"])
        assert lines[0]["schema"]["properties"]["orders"]

    def test_faults(self, store: Path, key: str) -> None:
        with GameStore(store) as kept:
            (other,) = set(kept.keys()) - {key}
        for words, told in (
            ([key, "--player", "FRANC"], "did you mean 'FRANCE'"),
            ([key, "-o", "/nowhere/at/all.txt"], "cannot be written"),
            ([other], "no language model played"),
        ):
            assert told in call("transcript", *words, "--store", store, code=2)


@pytest.mark.parametrize(("name", "number"), [("same", float("nan")), ("system", -1), ("same", 2), ("system", "0")])
def test_numbers_of_blocks_that_cannot_be_are_refused(name: str, number: Any) -> None:
    entry = {"kind": "orders", "model": "x", "blocks": ["Hi."], "same": 0, "system": 1, "reply": {}}
    assert list(questions([entry]))
    with pytest.raises(ValueError, match="blocks"):
        list(questions([entry | {name: number}]))
