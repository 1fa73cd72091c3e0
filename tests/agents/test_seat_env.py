"""One seat as a gymnasium environment: the checks that Gymnasium ships, and that it plays what parallel_env plays."""

import copy
import pickle
import re
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import agents
import welfare_env
from agents.seat_env import SeatEnv
from agents.specs import ProfileError
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
        {"max_cycles": 5},
    ],
)
def test_gymnasiums_checks_pass(options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make(**options).unwrapped, skip_render_check=True)


def test_every_render_mode_passes_the_checks():
    env = make(years=1).unwrapped
    assert env.metadata["render_modes"] == ["human", "ansi", "svg", "rgb_array"]
    check_env(env)


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
def test_importing_welfare_env_registers_it_and_loads_no_policies():
    """`gymnasium.make("welfare_env:...")` imports the package itself."""
    code = "import gymnasium, sys, welfare_env; assert 'agents' not in sys.modules\n"
    code += "del sys.modules['welfare_env']; gymnasium.registry.clear()\n"
    code += f"env = gymnasium.make('welfare_env:{ID}', seat='FRANCE', others='dove'); print(env.unwrapped.seat)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "FRANCE", done.stderr


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
    env = make(others="dumbbot", years=4).unwrapped

    def check(info):
        mask, legal = info["action_mask"].astype(bool), set()
        for orders in info["view"].legal_orders.values():
            legal |= set(orders)
        firsts = env._menus.firsts.tolist()
        sizes = env.action_space.nvec.tolist()
        texts = [env.order_text(p, c) for p, first in enumerate(firsts) for c in range(sizes[p]) if mask[first + c]]
        assert {text for text in texts if text} == legal - {"WAIVE"}
        return env.action_space.sample(info["action_mask"])

    _, refused = play(env, 3, check)
    assert [reason for reason in refused if not re.search("may (build|disband)", reason)] == []


def test_a_game_can_be_given():
    game = Game("clique:3", Rules(press=None, years=2))
    game.advance()
    env = make()
    _, info = env.reset(seed=0, options={"game": game})
    assert info["view"].phase == game.phase


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"seat": "FRANSE", "map_name": "standard"}, UnknownPowerError, "did you mean 'FRANCE'"),
        ({"others": "program:FairBot"}, ProfileError, "writes programs of modal_env, not orders: they play in "),
        ({"others": {"PLAYERA": "dove"}}, welfare_env.WelfareEnvError, "PLAYERA"),
        ({"press": "tokens"}, RulesError, "press"),
        ({"yeers": 3}, TypeError, "yeers"),
    ],
)
def test_bad_arguments_are_named(options, error, told):
    with pytest.raises(error, match=told):
        SeatEnv(**({"map_name": "clique:3"} | options))


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


def test_it_can_be_vectorised():
    envs = gymnasium.make_vec(ID, num_envs=2, map_name="clique:3", others="random", years=1)
    _, info = envs.reset(seed=0)
    assert info["action_mask"].shape == (2, envs.single_action_space.nvec.sum())
