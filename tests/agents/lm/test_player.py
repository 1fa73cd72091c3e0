"""A language model as a player: what it is asked when, what becomes of its replies, and its options in a spec."""

import json

import pytest

import agents
import modal_env
import welfare_env
from agents.lm import Reply, ScriptedModel, Usage
from agents.lm.errors import ModelError
from agents.lm.player.policy import LMPolicy, language_models
from agents.lm.player.settings import Style
from agents.lm.prompts import Flavour
from agents.lm.prompts.parts import Ablation, Addition
from agents.scripted.exploiter import ExploiterPolicy
from agents.scripted.hold import HoldPolicy
from tests import playing
from tests.playing import as_the_stub

RULES = welfare_env.Rules(years=1)


def reply(orders=(), messages=None, reasoning="I think."):
    return json.dumps({"reasoning": reasoning, "orders": list(orders), "messages": messages or {}})


def player(replies=as_the_stub, power="FRANCE", seed=0, **style):
    """A player and the model that it asks."""
    model = ScriptedModel(replies)
    policy = LMPolicy(model, Style(**style), summariser=model)
    policy.reset(power, seed)
    return policy, model


def asked(policy, game, what="orders", message_round=0):
    return policy.act(None, {"view": game.view(policy.agent, what, message_round)})


def play(policies, rules=RULES):
    """A whole game; strict, so that anything illegal raises."""
    return playing.play(welfare_env.make(rules=rules, strict=True), policies).game


class TestTurns:
    def test_orders_come_with_the_messages_and_the_last_ones_count(self):
        policy, model = player([reply([order], {"ITALY": "Hi"}) for order in ("A PAR H", "A PAR - PIC", "A PAR - BUR")])
        game = welfare_env.Game(rules=RULES)
        for number, order in enumerate(("A PAR H", "A PAR - PIC", "A PAR - BUR"), start=1):
            action = asked(policy, game, "messages", number)
            assert action == {"orders": [order], "messages": {"ITALY": "Hi"}}
        assert asked(policy, game) == {"orders": ["A PAR - BUR"], "messages": {}}
        assert len(model.requests) == 3

    def test_nothing_to_order_is_no_question(self):
        policy, model = player([])
        retreats = {"AUSTRIA": {"A TRI": ["VIE"]}}
        game = welfare_env.Game.from_position(
            "S1901R", {"FRANCE": ["A PAR"], "ITALY": ["A TRI"]}, {}, dislodged=retreats, rules=RULES
        )
        assert asked(policy, game) == {"orders": [], "messages": {}}
        policy.reset("ENGLAND")  # which is eliminated, so it says nothing, either
        moving = welfare_env.Game.from_position("S1901M", {"FRANCE": ["A PAR"]}, {}, rules=RULES)
        assert asked(policy, moving, "messages", 1) == {"orders": [], "messages": {}}
        assert model.requests == []


class TestFailures:
    def test_what_fails_or_is_cut_off_says_nothing_and_earlier_orders_stand(self):
        down = ModelError("empty", "no answer", ("timeout", "server", "timeout"), Usage(5, 0, 1, None))
        draft = Reply(f"Let me see. {reply(['A MAR H'], {'ENGLAND': 'LEAKED'})} But", finish="length")
        policy, _ = player([reply(["A PAR - BUR"], {"ITALY": "Hi"}), down, draft])
        game = welfare_env.Game(rules=RULES)
        actions = [asked(policy, game, "messages", number) for number in (1, 2, 3)]
        assert actions[1:] == [{"orders": ["A PAR - BUR"], "messages": {}}] * 2
        ledger = policy.ledger
        assert (ledger.calls, ledger.failed, ledger.attempts, ledger.usage.tokens) == (3, 1, 5, 6)
        assert ledger.faults == {"timeout": 2, "server": 1}
        assert [turn.get("fault") for turn in ledger.turns] == [None, "empty", None]
        assert ledger.parsed == 1

    def test_refused_orders_of_the_last_round_count(self):
        policy, _ = player([reply(["A LON H", "A PAR - MOS"]), reply(["A LON H"]), reply(["A PAR H"])])
        game = welfare_env.Game(rules=RULES)
        refused = []
        for number in (1, 2, 3):
            asked(policy, game, "messages", number)
            refused.append(policy.ledger.refused["S1901M"])
        assert refused == [2, 1, 0]
        first = json.loads(json.dumps(policy.to_dict()))["turns"][0]
        assert [kind for kind, _ in first["losses"]] == ["order not legal"] * 2


class TestRequests:
    def test_style_reaches_the_model(self):
        policy, model = player(
            [reply()], seed=7, temperature=None, top_p=0.5, max_tokens=99, ablation=Ablation.NO_REASONING
        )
        asked(policy, welfare_env.Game(rules=RULES), "messages", 1)
        request = model.requests[0]
        assert (request.temperature, request.top_p, request.max_tokens, request.sample) == (None, 0.5, 99, 7)
        assert list(request.schema["properties"]) == ["orders", "messages"]

    @pytest.mark.parametrize(("schema", "enums"), [("orders", True), ("form", False), ("none", None)])
    def test_schema(self, schema, enums):
        policy, model = player([reply()], schema=schema)
        asked(policy, welfare_env.Game(rules=RULES), "messages", 1)
        sent = model.requests[0].schema
        assert (sent and "enum" in json.dumps(sent)) == enums


def test_who_answered_and_what_was_of_the_schema():
    """As the server names itself; a model that says no name is the one that was asked."""
    game = welfare_env.Game(rules=welfare_env.Rules(years=1, message_rounds=3))
    answers = iter([Reply("no JSON", model="other"), None, Reply("Peace.", model="")])

    def answer(request):
        found = next(answers)
        return Reply(as_the_stub(request), model="any-2026") if found is None else found

    policy, model = player(answer)
    for number in (1, 2, 3):
        asked(policy, game, "messages", number)
    ledger = policy.ledger
    assert ledger.answered_by == {"other": 1, "any-2026": 1, model.name: 1}
    assert (ledger.with_schema, ledger.obeyed) == (3, 1)


class TestExploiter:
    def test_disarms_in_the_end_whatever_the_model_orders(self):
        """Orders that come with the messages of a last Winter would keep those that disarm from being asked for."""
        builds = reply([f"{unit} {place} B" for unit, place in (("A", "PAR"), ("A", "MAR"), ("F", "BRE"))])
        nice = LMPolicy(ScriptedModel(lambda request: builds if request.schema else "Note."), summariser=None)
        policies = {power: HoldPolicy() for power in welfare_env.Game().powers}
        policies["FRANCE"] = ExploiterPolicy(nice, agents.make("dumbbot"), years=1, last_years=1)
        game = play(policies, welfare_env.Rules(years=3))
        assert game.units["FRANCE"] == ()
        assert list(language_models(ExploiterPolicy(policies["FRANCE"], HoldPolicy()))) == [nice]


class TestPrograms:
    def played(self, answer, **options):
        env, model = modal_env.make(**{"actions": "formula", "rounds": 2} | options), ScriptedModel(answer)
        policies = {"player_0": LMPolicy(model), "player_1": agents.make("program:FairBot")}
        return policies["player_0"], model, playing.play(env, policies).contest.history

    def test_writes_a_program_a_round(self):
        answer = json.dumps({"reasoning": "Löb.", "program": "PrudentBot"})
        policy, model, history = self.played(lambda request: answer, actions="tokens")
        assert [played.moves for played in history] == [("C", "C")] * 2
        assert len(model.requests) == 2
        assert policy.ledger.turns[1] == {"round": 2, "finish": "stop", "reasoning": "Löb.", "losses": []}
        assert "player_1 wrote" in model.requests[1].prompt

    @pytest.mark.parametrize(
        ("actions", "answer"),
        [
            ("library", ""),
            ("formula", '{"program": "[]X("}'),
            ("formula", Reply('{"program": "FairBot"} or rather', finish="length")),
            ("tokens", ModelError("bad request", "down")),
        ],
    )
    def test_without_a_program_plays_defectbot(self, actions, answer):
        policy, _, history = self.played(lambda request: answer, actions=actions, strict=True)
        assert [played.programs[0] for played in history] == [modal_env.DefectBot] * 2
        assert policy.ledger.parsed == 0
        assert policy.ledger.failed + sum(policy.ledger.losses.values()) >= 2


FULL = (
    "lm:openai/some-model,temperature=0.7,top_p=none,max_tokens=500,flavour=sd,ablate=no_reasoning+no_examples,"
    "add=journal+threats,summariser=anthropic/other,schema=form,grammar=llama.cpp,"
    "base_url=http://127.0.0.1:8123/v1,effort=low,timeout=30.0,retries=2,max_concurrent=4"
)


def test_options_reach_the_player():
    policy = agents.make(FULL)
    assert agents.canonical(FULL) == FULL
    assert agents.canonical("lm:openai/x,ablate=no_examples+no_tradeoff").endswith("no_tradeoff+no_examples")
    ablation = Ablation.NO_REASONING | Ablation.NO_EXAMPLES
    assert policy.style == Style(
        Flavour.SD, ablation, 0.7, None, 500, "form", addition=Addition.JOURNAL | Addition.THREATS
    )
    model = policy.model
    assert (model.name, model.base_url) == ("openai/some-model", "http://127.0.0.1:8123/v1")
    assert (model.effort, model.timeout, model.retries, model.grammar) == ("low", 30.0, 2, "llama.cpp")
    assert policy.summariser.name == "anthropic/other"
    assert "127.0.0.1" not in policy.summariser.base_url


def test_its_own_model_writes_the_notes_unless_another_one_is_named():
    policy = agents.make("lm:scripted/stub")
    assert policy.summariser is policy.model
    assert agents.make("lm:scripted/stub,summariser=none").summariser is None
    policy = agents.make("lm:openai/large,summariser=openai/small,base_url=http://127.0.0.1:1/v1")
    assert (policy.summariser.name, policy.summariser.base_url) == ("openai/small", "http://127.0.0.1:1/v1")


def test_models_are_sampled_as_in_the_paper():
    style = agents.make("lm:scripted/stub").style
    assert (style.temperature, style.top_p) == (1.0, 0.9)
