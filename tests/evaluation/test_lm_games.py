"""Games with language models: records, mixed players, budgets, what was used, and games that are killed and go on."""

import io
import json
import re
from collections.abc import Callable
from threading import Barrier

import pytest
from rich.console import Console
from typer.testing import CliRunner

import evaluation
import welfare_env
from agents.lm import Reply, Request
from agents.lm.errors import BudgetError, ModelError
from agents.lm.stub import StubServer
from agents.lm.stub.replies import stub_reply
from evaluation.cli.commands import app
from evaluation.measures.lm_usage import LMUsage, usage_of, usage_table
from evaluation.play.game_spec import GameSpec
from evaluation.play.playing import play_game
from evaluation.play.runner import Runner
from tests.agents.lm.transport import FailingServer
from tests.evaluation.conftest import PATIENCE, Models, call

POWERS = welfare_env.load_board("standard").powers
SHORT = welfare_env.Rules(years=1, message_rounds=1)


def spec(policy="lm:scripted/stub", rules=SHORT, seed=0, simultaneous=False, **others):
    seats = dict.fromkeys(POWERS, policy) | others
    return GameSpec(tuple(seats.items()), seed, rules, "standard", "fast", simultaneous)


BOTH = pytest.mark.parametrize("simultaneous", [False, True])


@BOTH
def test_the_same_seed_gives_the_same_record_which_can_be_played_again(simultaneous, tmp_path):
    record, again = (play_game(spec(simultaneous=simultaneous)) for _ in range(2))
    assert json.dumps(record) == json.dumps(again)
    welfare_env.game.record.save_record(record, tmp_path / "game.json")
    assert welfare_env.Game.load(tmp_path / "game.json").is_done
    assert record["welfare_env"].get("simultaneous", False) == simultaneous


@BOTH
def test_all_kinds_of_players_in_one_game(simultaneous):
    players = {"ITALY": "dove", "TURKEY": "exploiter:nice=(lm:scripted/stub),attack=dumbbot", "RUSSIA": "random"}
    record = play_game(spec(simultaneous=simultaneous, **players))
    facts = record["welfare_env"]
    asking = {"AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "TURKEY"}
    assert set(facts["language_models"]) == set(facts["replies"]) == asking
    assert all(facts["replies"][power]["parsed"] == facts["replies"][power]["asked"] > 0 for power in asking)
    assert {message["sender"] for phase in record["phases"] for message in phase["messages"]} > asking - {"TURKEY"}


def test_games_without_language_models_keep_their_record_and_key():
    other = spec("dove")
    assert not {"language_models", "replies", "simultaneous"} & set(play_game(other)["welfare_env"])
    assert "simultaneous" not in other.to_dict()


def test_simultaneous_rounds_are_read_from_the_next_round_on():
    seen = {}

    def answer(asked):
        if asked.schema is None:
            return "Note."
        now = asked.prompt.rpartition("# Now")[2]
        seen.setdefault("round 1" if "round 1" in now else "round 2", []).append(asked.prompt.count("to all (public)"))
        return json.dumps({"reasoning": "", "orders": [], "messages": {"GLOBAL": "Peace."}})

    play_game(spec(rules=welfare_env.Rules(years=1, message_rounds=2), simultaneous=True), Models(answer))
    assert seen["round 1"][:7] == [0] * 7
    assert seen["round 2"][:7] == [7] * 7


def test_players_of_a_round_are_asked_side_by_side():
    together = Barrier(7)  # an answer comes when all seven have asked
    with StubServer(reply=lambda asked: f"{together.wait(PATIENCE)}") as server:
        policy = f"lm:openai/any,base_url={server.url}/v1,summariser=none"
        play_game(spec(policy, simultaneous=True))
        assert server.stats["requests"] == 3 * 7


@pytest.mark.parametrize("fault", ["400", "empty", "length", "refusal"])
def test_no_fault_ends_a_game_and_each_is_counted(fault, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    rules = welfare_env.Rules(years=1, press=None)
    with FailingServer() as server:
        policy = f"lm:openai/fail-{fault},base_url={server.url}/v1,retries=0"
        record = play_game(spec("hold", rules, FRANCE=policy))
    (model,) = record["welfare_env"]["language_models"]["FRANCE"]
    replies = record["welfare_env"]["replies"]["FRANCE"]
    assert model["calls"] == replies["asked"] == 3 - (not record["phases"][2]["state"]["centers"]["FRANCE"])
    assert sum(model["faults"].values()) + sum(model["losses"].values()) >= 2
    assert replies["parsed"] == 0
    assert evaluation.measure(record).proficiency.parse_rate == 0.0


def test_refused_orders_lower_the_legal_rate():
    orders = json.dumps({"reasoning": "", "orders": ["A PAR H", "A LON H"]})
    record = play_game(
        spec("prosocial", welfare_env.Rules(years=1, press=None), FRANCE="lm:a/b"), Models(lambda asked: orders)
    )
    legal = sum(len(given) for phase in record["phases"] for given in phase["orders"].values())
    refused = record["welfare_env"]["replies"]["FRANCE"]["refused_orders"]
    assert refused >= 2
    assert evaluation.measure(record).proficiency.legal_rate == pytest.approx(legal / (legal + refused))


def test_empty_notes_are_counted_and_told(caplog):
    """As of a model whose thinking takes up all of its tokens."""

    def answer(asked):
        said = json.dumps({"orders": [], "messages": {"GLOBAL": "Peace."}})
        return said if asked.schema else Reply("", finish="length")

    (record,) = Runner(models=Models(answer)).play([spec("hold", FRANCE="lm:a/b")])
    usage = usage_of([record])
    assert usage.losses["empty note"] == 2
    assert "empty note 2" in table(usage)
    assert "2 of its 2 summaries are empty" in caplog.text


class TestMany:
    def test_threads_change_nothing(self):
        few = dict.fromkeys(POWERS[3:], "hold")
        specs = [spec(seed=seed, **few) for seed in range(3)] + [spec("dove")]
        assert Runner(workers=2).play(specs) == Runner(workers=1).play(specs)

    @pytest.mark.parametrize("workers", [1, 2])
    def test_a_used_up_budget_ends_the_run_and_keeps_finished_games(self, workers, kept):
        asked = []

        def answer(request):
            asked.append(request)
            if len(asked) > 60:
                return BudgetError("the budget of 5 tokens is used up")
            return stub_reply(request.prompt, request.schema)

        specs = [spec(seed=seed, FRANCE="lm:a/b", **dict.fromkeys(POWERS[3:], "hold")) for seed in range(6)]
        with pytest.raises(BudgetError, match="used up"):
            Runner(workers=workers, store=kept, models=Models(answer)).play(specs)
        assert 1 <= kept.count() < 6
        before = kept.count()
        models = Models()
        Runner(workers=workers, store=kept, models=models).play(specs)
        assert kept.count() == 6
        assert {request.sample for request in models.model.requests} <= set(range(before, 6)) | {0, 1}


def test_the_command_line_tells_when_a_budget_is_used_up(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with StubServer() as server:
        policy = f"lm:openai/any,base_url={server.url}/v1"
        options = ["--years", "1", "--games", "2", "--workers", "1", "--budget-tokens", "60000"]
        told = call("self-play", policy, *options, code=3)
    assert "budget of 60,000 tokens does not allow another call" in told
    assert "run the same command with a larger budget" in told


def test_exploitability_tells_what_was_used_in_each_game_once():
    rules = welfare_env.Rules(years=1, press=None)
    policy = "lm:scripted/stub"
    result = evaluation.exploitability(policy, 2, deviator="hold", coalitions=["FRANCE"], rules=rules)
    profile = evaluation.self_play(policy, 2, rules=rules).usage
    assert result.usage.games == 4
    assert profile.calls < result.usage.calls < 2 * profile.calls  # France asks nobody in two of the games
    same = evaluation.exploitability(policy, 2, deviator=policy, coalitions=["FRANCE"], rules=rules)
    assert same.usage == profile  # the same two games
    assert result.to_dict()["language_models"]["calls"] == result.usage.calls
    assert evaluation.exploitability("dove", 1, coalitions=["FRANCE"], rules=rules).usage is None


def test_list_price_and_what_a_run_has_spent(tmp_path, monkeypatch):
    """The table is the same with and without kept replies; what was spent is told apart from it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "prices.json").write_text('{"any": {"input": 1000, "output": 1000}}')
    with StubServer() as server:
        policy = f"lm:openai/any,base_url={server.url}/v1,prices=prices.json,summariser=none"
        options = ["--years", "1", "--message-rounds", "1", "--games", "1", "--workers", "1"]
        runs = []
        for store in ("one.sqlite", "two.sqlite"):  # the second has no games, but all replies
            runs.append(CliRunner().invoke(app, ["self-play", policy, *options, "--store", store]))
            asked = server.stats["requests"]
        assert [run.exit_code for run in runs] == [0, 0], runs[0].output
        assert runs[0].stdout == runs[1].stdout
        assert server.stats["requests"] == asked
        price = re.search(r"\$([\d,.]+)", runs[0].stdout)
        first, second = (re.search(r"spent in this run: ([\d,]+) tokens, \$([\d,.]+)", run.stderr) for run in runs)
    assert "list price" in runs[0].stdout
    assert (second[1], second[2]) == ("0", "0.00")
    assert int(first[1].replace(",", "")) > 1000
    assert price[1] == first[2]


def test_an_attack_tells_what_each_part_used(tmp_path):
    options = ["--map", "clique:3", "--years", "1", "--message-rounds", "1", "--games", "1", "--workers", "1"]
    attack = ["--deviator", "lm:scripted/stub", "--coalitions", "PLAYERA", "--store", tmp_path / "games.sqlite"]
    assert "lm:scripted/stub: scripted/stub" in call("exploitability", "dove", *attack, *options)


def test_a_game_without_any_answer_is_not_kept(tmp_path):
    """As with a wrong key: it is told, and the same command asks again once the key is right."""

    def nobody(request):
        raise ModelError("authentication", "wrong key")

    with evaluation.GameStore(tmp_path / "games.sqlite") as store:
        (record,) = Runner(store=store, models=Models(nobody)).play([spec()])
        assert all(m["failed"] == m["calls"] for ms in record["welfare_env"]["language_models"].values() for m in ms)
        assert store.get(spec().to_dict()) is None
        (answered,) = Runner(store=store, models=Models()).play([spec()])
        assert store.get(spec().to_dict()) == answered


def test_a_mix_of_a_language_model_asks_it_and_says_so() -> None:
    options = {"rules": welfare_env.Rules(years=1, press=None), "map_name": "clique:3", "simultaneous": True}
    found = evaluation.self_play("mix:lm:scripted/stub=1", 1, **options)
    assert found.usage is not None
    assert all(record["welfare_env"]["language_models"] for record in found.records)


# What language models have used, and what to do about what went wrong


def ending(finish: str, notes: str = "stop") -> Callable[[Request], Reply]:
    """Replies to turns end in one way, notes in another."""

    def answer(request: Request) -> Reply:
        text = stub_reply(request.prompt, request.schema)
        return Reply(text, finish=notes if request.schema is None else finish)  # type: ignore[arg-type]

    return answer


def used(answer: Callable[[Request], Reply]) -> LMUsage:
    result = evaluation.self_play("lm:scripted/stub", 1, rules=SHORT, map_name="clique:3", models=Models(answer))
    usage = usage_of(result.records)
    assert usage is not None
    assert result.to_dict()["language_models"]["endings"] == usage.endings
    return usage


def table(usage: LMUsage | None) -> str:
    file = io.StringIO()
    Console(file=file, width=300).print(usage_table([("lm:a/b", usage)]))
    return " ".join(file.getvalue().split())


@pytest.mark.parametrize(
    ("finish", "name", "told"),
    [
        ("length", "cut off", "were cut off at max_tokens (which includes hidden thinking): raise max_tokens"),
        ("refusal", "refused", "were refusals by the model or its provider"),
        ("other", "odd endings", "ended in an unknown way"),
    ],
)  # fmt: skip
def test_others_are_counted_with_what_to_do(finish: str, name: str, told: str) -> None:
    usage = used(ending(finish))
    count = usage.endings.pop(name)
    assert usage.endings == {}
    assert count == 3 * 3  # a round of messages and two movement phases
    usage.endings[name] = count
    shown = table(usage)
    assert f"{name} {count}" in shown
    assert f"lm:a/b: {count} of {usage.calls} replies {told}" in shown


def test_notes_that_are_cut_off_are_told_apart() -> None:
    """A longer max_tokens would not help them; replies that end by themselves need no advice."""
    assert "lm:a/b:" not in table(used(ending("stop")))
    usage = used(ending("stop", notes="length"))
    assert list(usage.endings) == ["notes cut off"]
    assert "choose another model as summariser, or none" in table(usage)


@pytest.mark.parametrize(("each", "total"), [((0.5, 0.25), 0.75), ((0.5, None), None), ((None, None), None)])
def test_dollars_are_unknown_where_one_call_has_no_price(each: tuple[float | None, ...], total: float | None) -> None:
    counts = dict.fromkeys(("calls", "failed", "input_tokens", "cached_tokens", "output_tokens"), 1)
    empty = {"faults": {}, "endings": {}, "losses": {}, "turns": []}
    players = {str(number): [{**counts, **empty, "dollars": dollars}] for number, dollars in enumerate(each)}
    usage = usage_of([{"welfare_env": {"language_models": players}}])
    assert usage is not None
    assert (usage.calls, usage.dollars) == (2, total)
