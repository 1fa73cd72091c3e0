"""The tasks of inspect-ai: the games and numbers of `evaluation`, limits, retries, the log."""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import inspect_ai
import pytest
from inspect_ai.log import list_eval_logs, read_eval_log
from inspect_ai.model import (
    ChatMessageAssistant,
    ContentReasoning,
    ContentText,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.util import JSONSchema
from inspect_welfare_diplomacy import tasks
from inspect_welfare_diplomacy.model import _usage, arguments_digest, reply_of
from inspect_welfare_diplomacy.scoring import means, measures

import evaluation
from agents.lm.models.cache import ResponseCache
from agents.lm.models.scripted import ScriptedModel
from agents.lm.stub import StubServer
from agents.lm.stub.replies import stub_reply
from agents.lm.stub.server import refusal
from welfare_env import Rules

POWERS = ("AUSTRIA", "ENGLAND", "FRANCE", "GERMANY", "ITALY", "RUSSIA", "TURKEY")
SELF_PLAY = "inspect_welfare_diplomacy/welfare_diplomacy"
EXPLOITABILITY = f"{SELF_PLAY}_exploitability"
SMALL = {"years": 1, "message_rounds": 1}
RULES = Rules(**SMALL)


class Mock:
    """A model of inspect that counts what it is asked, and may break."""

    def __init__(self, name: str = "any", breaks_after: float = math.inf) -> None:
        self.asked: Counter[str] = Counter()
        self.breaks_after = breaks_after
        self.model = get_model(f"mockllm/{name}", custom_outputs=self.answer, memoize=False)

    def answer(self, messages, tools, tool_choice, config):
        if sum(self.asked.values()) >= self.breaks_after:
            raise RuntimeError("the server is down")
        prompt = "".join(message.text for message in messages)
        self.asked[prompt] += 1
        schema = config.response_schema.json_schema.model_dump(exclude_none=True) if config.response_schema else None
        output = ModelOutput.from_content("mock", stub_reply(prompt, schema))
        output.usage = ModelUsage(input_tokens=len(prompt) // 4, output_tokens=100, total_tokens=len(prompt) // 4 + 100)
        return output


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a task and returns its log; replies are kept in a file of the test's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))

    def play(task, model, **options):
        (log,) = inspect_ai.eval(task, model=model, display="none", log_dir=str(tmp_path / "logs"), **options)
        return log

    return play


def metrics(log):
    """All numbers of a log by their names."""
    (score,) = log.results.scores
    return {metric.name: metric.value for metric in score.metrics.values()}


def numbers(log, name):
    """Value, low and high of a measure in a log."""
    found = metrics(log)
    return {"mean": found[name], "low": found[f"{name} low"], "high": found[f"{name} high"]}


def same(estimate):
    """An estimate, to the last bit; fewer than five games have no interval."""
    values = {"mean": estimate.value, "low": estimate.low, "high": estimate.high}
    return pytest.approx(values, rel=0, abs=0, nan_ok=True)


def ours():
    """The model that `Mock` is, for our own evaluations: made-up replies depend on how a schema is written, too."""

    def reply(request):
        schema = request.schema and JSONSchema.model_validate(request.schema).model_dump(exclude_none=True)
        return stub_reply(request.prompt, schema)

    return {"mine": ScriptedModel(reply)}


def test_the_measures_are_those_of_evaluation(run) -> None:
    """Three games in one epoch, and one game in three epochs: the same games, the same intervals."""
    result = evaluation.self_play("4*lm:mine + 3*random", 3, rules=RULES, simultaneous=True, models=ours())
    for games, epochs in ((3, 1), (1, 3)):
        task = tasks.welfare_diplomacy("4*lm:model + 3*random", games=games, **SMALL)
        log = run(task, Mock().model, epochs=epochs)
        assert log.status == "success"
        for name in ("root_nash_welfare", "proficiency", "stolen_centers", "conflicts"):
            found = getattr(result, name)
            assert numbers(log, name) == same(found)
        for power, found in result.welfare_per_year.items():
            assert numbers(log, power) == same(found)
        records = {sample.store["number"]: sample.store["record"]["phases"] for sample in log.samples}
        assert [records[game] for game in range(3)] == [record["phases"] for record in result.records]


def test_intervals_stay_within_what_a_measure_can_be() -> None:
    games = [Score(value={"stolen_centers": float(number == 4)}, metadata={"number": number}) for number in range(5)]
    found = means()([SampleScore(score=score) for score in games])
    assert found["stolen_centers low"] == 0 < found["stolen_centers"] < found["stolen_centers high"]


def test_the_exploitability_is_that_of_evaluation(run) -> None:
    deviators = ["dumbbot", "random"]
    result = evaluation.exploitability(
        "lm:mine",
        2,
        deviator=deviators,
        coalitions=["FRANCE", ("ENGLAND", "TURKEY")],
        rules=RULES,
        simultaneous=True,
        models=ours(),
    )
    task = tasks.welfare_diplomacy_exploitability(
        games=2, deviator=deviators, coalitions="FRANCE,ENGLAND+TURKEY", **SMALL
    )
    found = metrics(run(task, Mock().model))
    first = {(*gain.coalition, gain.deviator): gain.gain.per_game[0] for gain in result.gains}
    second = {(*gain.coalition, gain.deviator): gain.gain.per_game[1] for gain in result.gains}
    assert found["exploitability"] == max(0, second[max(sorted(first), key=first.__getitem__)])
    for gain in result.gains:
        assert found[f"gain of {' and '.join(gain.coalition)} by {gain.deviator}"] == gain.gain.value


def test_the_papers_exploiter_asks_the_model_for_its_nice_part(run) -> None:
    log = run(tasks.welfare_diplomacy_exploitability(games=1, coalitions="FRANCE", **SMALL), Mock().model)
    assert log.status == "success"
    result = evaluation.exploitability(
        "lm:mine", 1, coalitions=["FRANCE"], rules=RULES, simultaneous=True, models=ours()
    )
    assert metrics(log)["exploitability"] == result.value.value  # one attack: there is no choice
    deviating = next(sample for sample in log.samples if sample.metadata["coalition"])
    assert any(event.event == "span_begin" and event.name == "FRANCE" for event in deviating.events)


def test_a_power_plays_the_model_of_its_role(run) -> None:
    base, french, hired = Mock("base"), Mock("french"), Mock("hired")
    task = tasks.welfare_diplomacy_exploitability(games=1, coalitions="ITALY", deviator="lm:hired", **SMALL)
    log = run(task, base.model, model_roles={"france": french.model, "hired": hired.model})
    assert log.status == "success"

    def powers(mock):
        return {power for prompt in mock.asked for power in POWERS if f"You are {power}" in prompt}

    assert powers(french) == {"FRANCE"}
    assert powers(hired) == {"ITALY"}
    assert powers(base) == set(POWERS) - {"FRANCE"}


def test_roles_that_no_spec_names_are_left_alone(run) -> None:
    roles = {name: Mock(name).model for name in ("red-team", "openai", "model")}
    task = tasks.welfare_diplomacy(games=1, policy="lm:player", **SMALL)
    assert run(task, Mock().model, model_roles=roles | {"player": Mock().model}).status == "success"


def test_exploitability_through_the_provider_of_openai(run, monkeypatch) -> None:
    """Over inspect's own provider, which asks the stub server: the numbers of `evaluation.exploitability`."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    attack = {"deviator": "dumbbot", "coalitions": "FRANCE,ENGLAND+TURKEY", "games": 1}
    with StubServer() as stub:
        means = {"model_base_url": f"{stub.url}/v1", "model_args": {"responses_api": False}}
        log = run(EXPLOITABILITY, "openai/any", task_args=SMALL | attack, **means)
    assert log.status == "success"
    assert set(_answered(stub).values()) == {1}  # what self-play and the attacks share is asked once
    coalitions = ["FRANCE", ("ENGLAND", "TURKEY")]
    result = evaluation.exploitability(
        "lm:mine", 1, deviator="dumbbot", coalitions=coalitions, rules=RULES, simultaneous=True, models=ours()
    )
    found = metrics(log)
    assert math.isnan(found["exploitability"]), "there are no other games to choose the attack on"
    for gain in result.gains:
        assert found[f"gain of {' and '.join(gain.coalition)} by dumbbot"] == gain.gain.value


def test_a_role_that_is_called_as_the_model_of_the_seat(run) -> None:
    log = run(tasks.welfare_diplomacy(games=1, **SMALL), Mock().model, model_roles={"model": Mock("other").model})
    assert log.status == "error"
    assert "role 'model': lm:model is reserved for the model of the seat" in log.error.message


def test_a_role_that_is_missing(run) -> None:
    model = Mock()
    task = tasks.welfare_diplomacy_exploitability(games=1, coalitions="FRANCE", deviator="lm:atacker", **SMALL)
    log = run(task, model.model, model_roles={"attacker": Mock("other").model}, max_samples=1)
    assert log.status == "error"
    told = r"lm:atacker: unknown role 'atacker' \(did you mean 'attacker'\?\): give --model-role atacker="
    assert re.search(told, log.error.message)


@pytest.mark.parametrize("task", [SELF_PLAY, EXPLOITABILITY])
def test_an_option_that_is_misspelt_plays_nothing(run, tmp_path, task) -> None:
    with pytest.raises(evaluation.EvaluationError, match=r"unknown option 'year' \(did you mean 'years'\?\)"):
        run(task, Mock().model, task_args={"year": 1})
    assert not list_eval_logs(str(tmp_path / "logs"))


def test_every_turn_is_a_span_of_its_power(run) -> None:
    (sample,) = run(tasks.welfare_diplomacy(games=1, **SMALL), Mock().model).samples
    begun = {event.id: event for event in sample.events if event.event == "span_begin"}
    assert {span.name for span in begun.values() if span.type == "agent"} == set(POWERS)
    for event in sample.events:
        if event.event == "model":
            turn = begun[event.span_id]
            power = begun[turn.parent_id].name
            assert turn.type == "turn"
            first = event.input[0].text.removeprefix("attachment://")
            assert f"You are {power}" in sample.attachments.get(first, first)


def test_thoughts_are_kept_apart() -> None:
    content = [ContentReasoning(reasoning="Hm."), ContentText(text="{}")]
    output = ModelOutput.from_message(ChatMessageAssistant(content=content))
    output.usage = ModelUsage(input_tokens=7, input_tokens_cache_read=3, output_tokens=5, reasoning_tokens=4)
    reply = reply_of(output, _usage(output.usage))
    assert (reply.text, reply.reasoning, reply.finish) == ("{}", "Hm.", "stop")
    assert (reply.usage.input_tokens, reply.usage.cached_tokens, reply.usage.reasoning_tokens) == (10, 3, 4)


def test_arguments_that_replies_depend_on_change_the_settings_and_secrets_do_not() -> None:
    plain = {"max_thinking_tokens": 5, "keyed": True, "extra_body": {"a": [1], "b": {}}}
    secret = dict.fromkeys(("key", "API_KEY", "hf_token", "client_secret", "password"), "x")
    hidden = {**plain, **secret, "extra_body": {"b": {"api_key": "y"}, "a": [1]}}
    assert arguments_digest(plain) == arguments_digest(hidden)
    assert arguments_digest(plain | {"parts": [object()]}) == arguments_digest(plain | {"parts": [object()]})
    assert arguments_digest(plain) != arguments_digest(plain | {"extra_body": {"a": [2], "b": {}}})


def test_a_broken_run_goes_on_and_asks_nothing_twice(run) -> None:
    whole = Mock()
    run(tasks.welfare_diplomacy(games=2, **SMALL, lm_cache=""), whole.model)
    first = Mock(breaks_after=50)
    broken = run(tasks.welfare_diplomacy(games=2, **SMALL), first.model, max_samples=1)
    assert broken.status == "error"
    rest = Mock()
    again = run(tasks.welfare_diplomacy(games=2, **SMALL), rest.model)
    assert again.status == "success"
    assert first.asked + rest.asked == whole.asked


def test_eval_retry_goes_on_within_a_game(run, tmp_path, monkeypatch) -> None:
    """Over inspect's own provider of OpenAI, which asks the stub server."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    wanted = {**SMALL, "games": 2}
    with StubServer() as stub:
        means = {"model_base_url": f"{stub.url}/v1", "model_args": {"responses_api": False}}
        whole = run(SELF_PLAY, "openai/any", task_args=wanted | {"lm_cache": ""}, **means)
        expected = _answered(stub)
    with Refusing(port=stub.port) as failing:
        broken = run(SELF_PLAY, "openai/any", task_args=wanted, max_samples=1, **means)
        assert broken.status == "error"
    with StubServer(port=stub.port) as rest:
        (again,) = inspect_ai.eval_retry(broken, display="none", log_dir=str(tmp_path / "logs"))
        assert again.status == "success"
    assert sum(_answered(failing).values()) == 50
    assert _answered(failing) + _answered(rest) == expected
    assert numbers(again, "root_nash_welfare") == numbers(whole, "root_nash_welfare")


def _answered(stub):
    """What was asked and answered, without the options of the provider that name the run."""
    return Counter(json.dumps(asked.body["messages"]) for asked in stub.requests)


class Refusing(StubServer):
    """Answers fifty questions, and refuses the others."""

    def respond(self, request):
        if request in self.requests[:50]:  # and not by `stats`, in which those on their way are missing
            return super().respond(request)
        self.requests.remove(request)
        return refusal(request.path, 401, "no")


class Slow(Mock):
    """Answers after a while, so that the questions of all seats are on their way together."""

    seconds = 0.05

    async def answer(self, messages, tools, tool_choice, config):
        await asyncio.sleep(self.seconds)
        return super().answer(messages, tools, tool_choice, config)


@pytest.mark.parametrize(
    ("limit", "most"),
    [
        ({"token_limit": 20_000}, 20_000),
        ({"token_limit": 60_000}, 60_000),
        ({"message_limit": 20}, 10),
        ({"turn_limit": 9}, 9),
    ],
    ids=["some tokens", "more tokens", "messages", "turns"],
)
def test_a_limit_bounds_the_whole_game_which_ends_with_what_it_has(run, limit, most) -> None:
    """Though seven seats ask together; what the last question may use is all that is left unused."""
    model = Slow()
    log = run(tasks.welfare_diplomacy(games=1, **SMALL), model.model, **limit)
    (sample,) = log.samples
    kind = next(iter(limit)).removesuffix("_limit")
    assert (log.status, sample.limit.type) == ("success", kind)
    used = sample.model_usage[str(model.model)].total_tokens if kind == "token" else model.asked.total()
    assert used <= most
    assert used >= (most - 5_000 if kind == "token" else most)
    score = sample.scores["measures"]
    assert math.isnan(score.value)
    assert re.match("the game was stopped in (S1901M|F1901M|W1901A), before its last year", score.explanation)
    begun = sample.store["unfinished"]
    assert begun["phases"][0]["name"] == "S1901M"
    assert sum(len(models[0]["turns"]) for models in begun["welfare_env"]["language_models"].values()) > 0


def test_a_limit_of_time_waits_for_answers_on_their_way(run, tmp_path) -> None:
    class Late(Slow):
        seconds = 4.5

    model = Late()
    log = run(tasks.welfare_diplomacy(games=1, **SMALL), model.model, time_limit=3)
    assert log.samples[0].limit.type == "time"
    assert model.asked.total() == 7, "the turns of Spring, and nothing after them"
    with ResponseCache(tmp_path / "runs/replies.sqlite") as cache:
        assert cache.count() == 7


def test_an_interrupted_evaluation_keeps_the_answers_on_their_way(tmp_path) -> None:
    """Ctrl-C while games wait for answers, and more questions for a connection: the first are kept, others not sent."""
    with StubServer(latency=2.0) as stub:
        command = [sys.executable, "-m", "inspect_ai", "eval", SELF_PLAY, "--model", "openai/any"]
        options = ["-T", "years=1", "-T", "message_rounds=1", "-T", "games=3", "--max-connections", "10"]
        means = ["--model-base-url", f"{stub.url}/v1", "-M", "responses_api=false", "--display", "plain"]
        running = subprocess.Popen(
            [*command, *options, *means],
            cwd=tmp_path,
            env=os.environ | {"OPENAI_API_KEY": "none"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        while len(stub.requests) < 10 and running.poll() is None:
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    assert "Traceback" not in said, said
    assert len(stub.requests) == 10, said
    with ResponseCache(tmp_path / "runs/replies.sqlite") as cache:
        assert cache.count() == 10


class DeadSeat(Slow):
    """Answers everybody but one power, from its second question on."""

    async def answer(self, messages, tools, tool_choice, config):
        prompt = "".join(message.text for message in messages)
        if "You are FRANCE" in prompt and any("You are FRANCE" in asked for asked in self.asked):
            raise RuntimeError("the server does not like France")
        return await super().answer(messages, tools, tool_choice, config)


def test_a_dead_seat_ends_the_evaluation_and_nothing_that_was_paid_is_lost(run, tmp_path) -> None:
    model = DeadSeat()
    log = run(tasks.welfare_diplomacy(games=3, **SMALL), model.model)
    assert log.status == "error"
    assert "does not like France" in log.error.message
    assert 7 <= model.asked.total() <= 3 * (7 + 6), (
        "the turns of Spring and the summaries of the others: no turn of Fall"
    )
    with ResponseCache(tmp_path / "runs/replies.sqlite") as cache:
        assert cache.count() == model.asked.total()


def test_an_evaluation_that_goes_on_after_errors_plays_its_other_games(run) -> None:
    """What inspect's user has asked for: a dead role in one condition leaves the others."""
    alive, dead = Mock("alive"), DeadSeat("dead")
    task = tasks.welfare_diplomacy_exploitability(games=1, coalitions="FRANCE,ITALY", deviator="lm:hired", **SMALL)
    log = run(task, alive.model, model_roles={"hired": dead.model}, fail_on_error=False)
    assert log.status == "success"
    failed = [tuple(sample.metadata["coalition"]) for sample in log.samples if sample.error]
    assert failed == [("FRANCE",)]


def test_a_model_that_answers_nothing_ends_its_game(run) -> None:
    class Mute(Mock):
        def answer(self, messages, tools, tool_choice, config):
            output = super().answer(messages, tools, tool_choice, config)
            output.choices = []
            return output

    model = Mute()
    log = run(tasks.welfare_diplomacy(games=1, **SMALL), model.model)
    assert log.status == "error"
    assert "no usable reply to the first 5 requests" in log.error.message
    assert model.asked.total() < 7 * 7


def test_scripted_seats_need_no_model_and_profiles_rotate(run) -> None:
    result = evaluation.self_play("4*dove + 3*dumbbot", 2, rules=RULES, simultaneous=True)
    log = run(tasks.welfare_diplomacy(policy="4*dove + 3*dumbbot", games=2, **SMALL), "mockllm/none")
    assert numbers(log, "root_nash_welfare")["mean"] == result.root_nash_welfare.value


def test_policies_that_inspect_split_at_commas_are_put_together_again(run) -> None:
    task = tasks.welfare_diplomacy_exploitability(
        ["exploiter:nice=dove", "attack=hold"],
        ["dove:share=0.5", "exploiter:nice=dove", "attack=hold", "dove"],
        "FRANCE",
    )
    samples = {(sample.metadata["deviator"], *sample.metadata["coalition"]) for sample in task.dataset}
    deviators = ["dove:share=0.5", "exploiter:nice=dove,attack=hold", "dove"]
    assert samples == {("",), *((deviator, "FRANCE") for deviator in deviators)}


def test_what_the_user_sets_for_the_model_is_kept(run) -> None:
    """Through the command line's door: a model by its name; this one is ours, and needs no network."""
    log = run(tasks.welfare_diplomacy(games=1, **SMALL), "scripted/stub", temperature=0.25)
    asked = [event.config for event in log.samples[0].events if event.event == "model"]
    assert {(config.temperature, config.top_p) for config in asked} == {(0.25, 0.9)}


@pytest.mark.parametrize("options", [{"policy": "lm:"}, {"policy": "dve"}, {"games": 0}, {"years": 0}, {"seats": "x"}])
def test_invalid_options_are_told_before_the_first_game(options) -> None:
    with pytest.raises(ValueError, match=r"give|choose|did you mean"):
        tasks.welfare_diplomacy(**options)


def test_the_log_can_be_read_and_scored_again(run, tmp_path) -> None:
    run(tasks.welfare_diplomacy(games=1, **SMALL), Mock().model)
    (info,) = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(info)
    scored = inspect_ai.score(log, measures(), display="none")
    assert scored.samples[0].scores["measures"].value == log.samples[0].scores["measures"].value
    assert Path(info.name).suffix == ".eval" or info.name.endswith(".eval")
