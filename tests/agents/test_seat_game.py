"""One seat as text: the same game as with policies, no text twice, rewards that add up, and named errors."""

import copy
import json
import pickle

import pytest

import agents
import evaluation
from agents.lm.errors import ConfigError
from agents.lm.stub.replies import stub_reply
from agents.specs import ProfileError
from evaluation.play.game_spec import game_seed
from welfare_env import Rules
from welfare_env.errors import ActionError, GameOverError, RulesError, UnknownPowerError

SMALL = {"map_name": "clique:3", "years": 2, "message_rounds": 2}
HOLD = json.dumps({"reasoning": "", "orders": [], "messages": {}})


def played(game, answer, seed=0):
    """All turns of a game."""
    turns = [game.reset(seed)]
    while not turns[-1].is_done:
        turns.append(game.step(answer(game)))
    return turns


def stub(game):
    return stub_reply("JSON", game.schema)


class Speaker:
    """Says the same in every round, and orders its first legal orders."""

    def reset(self, agent, seed=0):
        self.agent = agent

    def act(self, observation, info):
        view = info["view"]
        if view.asked == "messages":
            return view.encode_messages([("GLOBAL", "Peace!"), ("ITALY", "Truly.")])
        return view.encode_orders([orders[0] for orders in view.legal_orders.values()])


def as_speaker(game):
    orders = [orders[0] for orders in game.view.legal_orders.values()]
    return json.dumps({"orders": orders, "messages": {"GLOBAL": "Peace!", "ITALY": "Truly."}})


@pytest.mark.parametrize("press", [None, "text"])
def test_it_plays_the_game_that_policies_play(press) -> None:
    rules = Rules(years=3, message_rounds=2, press=press)
    seated = dict.fromkeys(evaluation.Setting().board.powers, "dove") | {"FRANCE": Speaker()}
    spec = evaluation.GameSpec(tuple(seated.items()), 3, rules, "standard", "fast", simultaneous=True)
    game = agents.SeatGame("FRANCE", others="dove", rules=rules)
    turns = played(game, as_speaker, seed=3)
    record = evaluation.play_game(spec)
    assert game.record()["phases"] == record["phases"]
    assert sum(turn.reward for turn in turns) == evaluation.measure(record).welfare_per_year["FRANCE"] * 3


def test_the_first_text_is_the_prompt_and_the_others_say_what_is_new() -> None:
    turns = played(agents.SeatGame("FRANCE", others=Speaker, years=1, message_rounds=3), stub)
    first, rest = turns[0].text, [turn.text for turn in turns[1:]]
    assert "# Rules" in first
    assert not any("# Rules" in text for text in rest)
    assert max(map(len, rest)) < len(first) / 2
    lines = [line for turn in turns for line in turn.text.splitlines() if line.startswith("- round")]
    assert len(lines) == 6 * 3 * 3 - 6  # six others speak in each round; after the last one the game is over
    phases = [text for text in (first, *rest) if "# Units" in text]
    assert len(phases) == 3  # Spring, Fall, Winter: the position once a phase


def test_nothing_is_lost_between_the_texts() -> None:
    """Every message of others and every phase's orders stand in some text, once."""
    game = agents.SeatGame("FRANCE", others="dumbbot", years=3, press=None)
    turns = played(game, stub)
    text = "".join(turn.text for turn in turns)
    ended = [phase["name"] for phase in game.record()["phases"]][:-1]
    told = [line for line in text.splitlines() if line.startswith("## ")]
    assert [line[3:].partition(":")[0] for line in told] == ended[: len(told)]
    assert len(told) >= len(ended) - 2  # what comes after the last question is in no text


def test_the_gain_is_that_of_exploitability() -> None:
    """A seat that attacks like dumbbot among doves gains what `evaluation.exploitability` says."""
    rules = Rules(years=3, press=None)
    game = agents.SeatGame("FRANCE", others="dove", reward="gain", rules=rules)
    bot = agents.DumbBotPolicy()

    def attack(playing):
        return json.dumps({"orders": bot.act(None, {"view": playing.view})})

    found = []
    result = evaluation.exploitability("dove", 2, deviator="dumbbot", coalitions=["FRANCE"], rules=rules)
    for number in range(2):
        seed = game_seed(0, number)
        bot.reset(agent="FRANCE", seed=seed)
        found.append(sum(turn.reward for turn in played(game, attack, seed)) / 3)
    assert found == pytest.approx(result.gains[0].gain.per_game)


def test_any_text_is_a_reply() -> None:
    turns = played(agents.SeatGame(**SMALL), lambda _: "{\x00\ud800")
    assert turns[-1].is_done
    assert turns[1].reply is not None
    assert turns[1].reply.issues


def test_an_unreadable_reply_leaves_the_orders_of_the_round_before() -> None:
    game = agents.SeatGame("FRANCE", others="hold", years=1, message_rounds=2)
    game.reset()
    game.step(json.dumps({"orders": ["A PAR - BUR"], "messages": {}}))
    game.step("Hm.")
    assert "A PAR - BUR" in game.record()["phases"][0]["orders"]["FRANCE"]
    game.reset()
    game.step(json.dumps({"orders": ["A PAR - BUR"], "messages": {}}))
    game.step(HOLD)  # a change of mind
    assert "A PAR - BUR" not in (game.record()["phases"][0]["orders"]["FRANCE"] or [])


def test_games_of_the_baseline_are_kept_for_the_last_seeds_only(monkeypatch) -> None:
    monkeypatch.setattr("agents.seat_game.MOST_KEPT", 2)
    game = agents.SeatGame(reward="gain", **SMALL)
    first = [turn.reward for turn in played(game, stub, 0)]
    for seed in (1, 2, 2):
        game.reset(seed)
    assert list(game._kept) == [1, 2]
    assert [turn.reward for turn in played(game, stub, 0)] == first
    assert list(game._kept) == [2, 0]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"seat": "FRANC"}, UnknownPowerError, "FRANCE"),
        ({"others": "program:FairBot"}, ProfileError, "programs"),
        ({"reward": "points"}, ConfigError, "welfare"),
        ({"baseline": "dove"}, ConfigError, "gain"),
        ({"reward": "gain", "others": "3*dove + 3*hold"}, ConfigError, "several"),
        ({"variant": "standard"}, RulesError, "welfare"),
        ({"rules": Rules(mediator=True)}, RulesError, "mediator"),
    ],
)
def test_invalid_options_are_told(options, error, words) -> None:
    with pytest.raises(error, match=words):
        agents.SeatGame(**options)


def test_calls_out_of_turn_are_told_and_change_nothing() -> None:
    game = agents.SeatGame(**SMALL)
    for call in (lambda: game.step(HOLD), lambda: game.view, lambda: game.schema, game.record):
        with pytest.raises(GameOverError, match="reset"):
            call()
    with pytest.raises(RulesError, match="seed"):
        game.reset(-1)
    game.reset(1)
    before = game.record()
    for wrong in (None, b"{}", 3, {"orders": []}):
        with pytest.raises(ActionError, match="text"):
            game.step(wrong)
    assert game.record() == before
    turns = played(game, stub, 1)
    with pytest.raises(GameOverError):
        game.step(HOLD)
    assert turns == played(game, stub, 1)


def test_an_eliminated_seat_is_not_asked_again() -> None:
    """With nobody to disturb it the game then runs to its end."""
    game = agents.SeatGame("FRANCE", others="dumbbot", years=10, press=None)

    def leave(playing):
        orders = [order for of_unit in playing.view.legal_orders.values() for order in of_unit if order.endswith(" D")]
        return json.dumps({"orders": orders})

    turns = played(game, leave)
    assert turns[-1].is_done
    assert turns[-1].text.startswith("The game is over. Welfare points: AUSTRIA ")


def test_a_copy_goes_on_as_its_original() -> None:
    options = {"press": "tokens", "reward": "gain", "baseline": "random"}
    game = agents.SeatGame(others="1*random + 1*noisy:of=dove", **(SMALL | options))
    game.reset(seed=4)
    game.step(stub(game))
    copies = [copy.copy(game), copy.deepcopy(game), pickle.loads(pickle.dumps(game))]  # noqa: S301
    told = []
    for each in (*copies, game):
        turns = [each.step(stub(each)) for _ in range(3)]
        told.append((turns, each.record(), played(each, stub, seed=5)))
    assert told[1:] == told[:-1]
