"""One seat as a gymnasium environment and as text: the same game as with policies, and named errors."""

import copy
import json
import pickle
import re
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import agents
import evaluation
import welfare_env
from agents.lm.errors import ConfigError
from agents.lm.stub.replies import stub_reply
from agents.seat_env import SeatEnv
from agents.specs import ProfileError
from evaluation.play.game_spec import game_seed
from tests.processes import python
from welfare_env import Game, Rules
from welfare_env.errors import ActionError, GameOverError, RulesError, UnknownPowerError

ID = "WelfareDiplomacySeat-v0"


def make(**options):
    return gymnasium.make(ID, **({"map_name": "clique:3", "years": 2} | options))


def play(env, seed=0, choose=None):
    """A game of random legal orders: rewards, and what was refused."""
    _, info = env.reset(seed=seed)
    env.action_space.seed(seed)
    rewards, refused, over = [], [], False
    while not over:
        action = choose(info) if choose else env.action_space.sample(info["action_mask"])
        _, paid, done, cut, info = env.step(action)
        rewards.append(paid)
        refused += info["refused"]
        over = done or cut
    return rewards, refused


@pytest.mark.parametrize(
    "options",
    [
        {"map_name": "standard", "seat": "FRANCE", "others": "dove"},
        {"variant": "standard", "others": "1*dove + 1*random"},
        {"max_cycles": 5, "years": 1},
    ],
)
def test_gymnasiums_checks_pass(options):
    """Every render mode is tried with the last one."""
    with warnings.catch_warnings():
        warnings.simplefilter("error" if "years" not in options else "default")
        check_env(make(**options).unwrapped, skip_render_check="years" not in options)


def shown(env, steps):
    """What some steps of random play show, over the end of a game."""
    info, seen = {"action_mask": env.unwrapped.action_masks().astype(np.int8)}, []
    env.action_space.seed(7)
    for _ in range(steps):
        observation, *rest, info = env.step(env.action_space.sample(info["action_mask"]))
        seen.append((observation.tobytes(), rest, info["action_mask"].tobytes(), info["refused"]))
        if rest[1] or rest[2]:
            observation, info = env.reset()
            seen.append(observation.tobytes())
    return seen


def test_a_copy_goes_on_as_its_original():
    env = make(others={"PLAYERB": "random", "PLAYERC": agents.make("noisy:of=dumbbot")}).unwrapped
    env.reset(seed=2)
    shown(env, 2)
    copies = [copy.copy(env), copy.deepcopy(env), pickle.loads(pickle.dumps(env))]  # noqa: S301
    told = [shown(each, 8) for each in (*copies, env)]
    assert told[1:] == told[:-1]


@pytest.mark.slow
def test_gymnasium_imports_welfare_env_by_its_name():
    made = f"gymnasium.make('welfare_env:{ID}', seat='FRANCE', others='dove')"
    assert python(f"import gymnasium; print({made}.unwrapped.seat)") == "FRANCE\n"


def test_all_others_get_one_seed_in_a_game(monkeypatch):
    """Or players who draw together would not; the next game's is another one."""
    seen = []
    monkeypatch.setattr(agents.HoldPolicy, "reset", lambda self, agent, seed=0: seen.append((agent, seed)))
    monkeypatch.setattr(agents.HoldPolicy, "act", lambda self, observation, info: [])
    env = make(others="hold", years=1).unwrapped
    for seed in (1, None):
        env.reset(seed=seed)
    games = [dict(seen[: len(seen) // 2]), dict(seen[len(seen) // 2 :])]
    assert [len(each) for each in games] == [len(env.board.powers) - 1] * 2
    assert [len(set(each.values())) for each in games] == [1, 1]
    assert set(games[0].values()) != set(games[1].values())


def test_it_plays_the_game_of_parallel_env():
    """Every order of the seat, as text, in the parallel environment against the same others."""
    env = make(others="prosocial", years=3)
    told = []

    def choose(info):
        action = env.action_space.sample(info["action_mask"])
        told.append(env.unwrapped._orders(action))
        return action

    rewards, _ = play(env, 5, choose)
    outer = welfare_env.parallel_env("clique:3", press=None, years=3)
    observations, infos = outer.reset()
    others = {power: agents.make("prosocial") for power in outer.agents[1:]}
    for power, policy in others.items():
        policy.reset(power)
    mine, number, paid = env.unwrapped.seat, 0, 0.0
    while outer.agents:
        asked = bool(outer.game.position.slots(0))
        actions = {power: policy.act(observations[power], infos[power]) for power, policy in others.items()}
        observations, got, _, _, infos = outer.step(actions | {mine: told[number] if asked else []})
        number, paid = number + asked, paid + got[mine]
    assert (number, paid) == (len(told), sum(rewards))
    assert env.unwrapped._env.game.record() == outer.game.record()


def test_every_legal_order_can_be_chosen_and_nothing_else():
    """Units have to be ordered; where nothing else is open, nothing can be chosen. What is closed is ignored."""
    env = make(others="dumbbot", years=4).unwrapped

    def check(info):
        mask, legal = info["action_mask"].astype(bool), set()
        for orders in info["view"].legal_orders.values():
            legal |= set(orders)
        parts = np.split(mask, np.cumsum(env.action_space.nvec)[:-1])
        units = 0 if info["view"].phase_type == "A" else len(info["view"].legal_orders)
        assert sum(not part[0] for part in parts) == units
        assert all(part.any() for part in parts)
        firsts = env._menus.firsts.tolist()
        sizes = env.action_space.nvec.tolist()
        texts = [env.order_text(p, c) for p, first in enumerate(firsts) for c in range(sizes[p]) if mask[first + c]]
        assert {text for text in texts if text} == legal - {"WAIVE"}
        return env.action_space.sample(info["action_mask"])

    _, refused = play(env, 3, check)
    assert [reason for reason in refused if not re.search("may (build|disband)", reason)] == []
    env.reset(seed=0)
    assert env.step(np.array(env.action_space.nvec) - 1)[-1]["refused"] == ()


def test_a_game_can_be_given():
    game = Game("clique:3", Rules(press=None, years=2))
    game.advance()
    env = make()
    _, info = env.reset(seed=0, options={"game": game})
    assert info["view"].phase == game.phase


def test_games_of_the_baseline_are_kept_for_the_last_seeds_only(monkeypatch) -> None:
    monkeypatch.setattr("agents.seat_game.MOST_KEPT", 2)
    game = agents.SeatGame(reward="gain", **SMALL)
    for seed in (0, 1, 2, 2):
        game.reset(seed)
    assert list(game._kept) == [1, 2]


TOY = {"map_name": "clique:3"}


@pytest.mark.parametrize(
    ("made", "options", "error", "told"),
    [
        (SeatEnv, {"seat": "FRANSE", "map_name": "standard"}, UnknownPowerError, "did you mean 'FRANCE'"),
        (SeatEnv, TOY | {"others": "program:FairBot"}, ProfileError, "writes programs of modal_env, not orders"),
        (SeatEnv, TOY | {"others": {"PLAYERA": "dove"}}, welfare_env.WelfareEnvError, "PLAYERA"),
        (SeatEnv, TOY | {"press": "tokens"}, RulesError, "press"),
        (SeatEnv, TOY | {"yeers": 3}, TypeError, "yeers"),
        (agents.SeatGame, {"seat": "FRANC"}, UnknownPowerError, "FRANCE"),
        (agents.SeatGame, {"others": "program:FairBot"}, ProfileError, "programs"),
        (agents.SeatGame, {"reward": "points"}, ConfigError, "welfare"),
        (agents.SeatGame, {"baseline": "dove"}, ConfigError, "gain"),
        (agents.SeatGame, {"reward": "gain", "others": "3*dove + 3*hold"}, ConfigError, "several"),
        (agents.SeatGame, {"variant": "standard"}, RulesError, "welfare"),
        (agents.SeatGame, {"rules": Rules(mediator=True)}, RulesError, "mediator"),
    ],
)
def test_bad_arguments_are_named(made, options, error, told):
    with pytest.raises(error, match=told):
        made(**options)


def test_odd_actions_change_nothing():
    env = make().unwrapped
    env.reset(seed=0)
    before = env._env.game.phase
    for action in (None, [0, 0], [0.5] * 9, [-1] * 9, [10**6] * 9, [[0]] * 9):
        assert action not in env.action_space
        with pytest.raises(ActionError):
            env.step(action)
    assert env._env.game.phase == before


def test_no_step_before_or_after_a_game():
    env = make(years=1).unwrapped
    with pytest.raises(GameOverError):
        env.step(np.zeros(len(env.action_space.nvec), int))
    play(env)
    with pytest.raises(GameOverError):
        env.step(np.zeros(len(env.action_space.nvec), int))


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


def test_an_unreadable_reply_leaves_the_orders_of_the_round_before() -> None:
    game = agents.SeatGame("FRANCE", others="hold", years=1, message_rounds=2)
    game.reset()
    game.step(json.dumps({"orders": ["A PAR - BUR"], "messages": {}}))
    turn = game.step("{\x00\ud800 Hm.")
    assert turn.reply is not None
    assert turn.reply.issues
    assert "A PAR - BUR" in game.record()["phases"][0]["orders"]["FRANCE"]
    game.reset()
    game.step(json.dumps({"orders": ["A PAR - BUR"], "messages": {}}))
    game.step(HOLD)  # a change of mind
    assert "A PAR - BUR" not in (game.record()["phases"][0]["orders"]["FRANCE"] or [])


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


def test_a_copy_of_a_game_by_text_goes_on_as_its_original() -> None:
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
