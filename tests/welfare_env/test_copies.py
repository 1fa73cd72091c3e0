"""Copies, also in other processes: they go on as their original would, and neither changes the other."""

import copy
import hashlib
import multiprocessing
import pickle
import sys
from collections.abc import Callable
from multiprocessing.queues import Queue
from typing import Any

import numpy as np
import pytest

import welfare_env
from welfare_env import Game, Rules
from welfare_env.envs.vector import VectorEnv

Copier = Callable[[Any], Any]


def pickled(thing: Any) -> Any:
    """Through the bytes of the newest protocol."""
    return pickle.loads(pickle.dumps(thing, pickle.HIGHEST_PROTOCOL))  # noqa: S301


COPIERS = [copy.copy, copy.deepcopy, pickled]


def trace(games: Any, steps: int) -> str:
    """A digest of all that random play shows, step by step."""
    seen = hashlib.sha256()
    for _ in range(steps):
        legal, choices = games.legal, games.sample()
        for array in (legal.orders, legal.starts, legal.games, legal.powers, legal.slots, choices):
            seen.update(array.tobytes())  # before the step, which lists anew in the same place
        told = games.step(choices)
        for array in (*told, games.rows, games.final, games.observe([0, games.num_games - 1], [0, 3])):
            seen.update(array.tobytes())
    return seen.hexdigest()


def begun(variant: str, threads: int, steps: int) -> VectorEnv:
    games = welfare_env.vector_env(4, variant=variant, years=3, threads=threads)
    games.reset(seed=7)
    trace(games, steps)
    return games


@pytest.mark.parametrize(
    ("copier", "variant", "threads", "steps"),
    [(copy.copy, "welfare", 1, 0), (copy.deepcopy, "standard", 2, 8), (pickled, "welfare", 2, 8)],
)
def test_a_copy_of_many_games_goes_on_like_them(copier: Copier, variant: str, threads: int, steps: int) -> None:
    games = begun(variant, threads, steps)
    other, third = copier(games), copier(games)
    theirs = trace(other, 20)  # which the original does not notice
    assert trace(games, 20) == theirs == trace(third, 20)
    games.reset(seed=1)
    other.reset(seed=1)
    assert trace(games, 3) == trace(other, 3)


def _trace_into(queue: "Queue[str]", games: VectorEnv) -> None:
    queue.put(trace(games, 2))


@pytest.mark.skipif(sys.platform == "win32", reason="no fork there")
def test_a_forked_process_has_threads_of_its_own() -> None:
    games = begun("welfare", 2, 2)
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    child = context.Process(target=_trace_into, args=(queue, games))
    child.start()
    try:
        assert queue.get(timeout=300) == trace(games, 2)
    finally:
        child.kill()
        child.join()


# Environments of one game.


def turns(env: Any, steps: int, seed: int) -> list[Any]:
    """What an AEC environment shows in some turns of random play."""
    rng, shown = np.random.default_rng(seed), []
    while env.agents and len(shown) < steps:
        observation, reward, terminated, _, info = env.last()
        arrays = [array.tobytes() for array in observation.values()]
        shown.append((env.agent_selection, reward, terminated, arrays, info["view"].messages, info["refused"]))
        orders = int(rng.choice(np.flatnonzero(observation["action_mask"])))
        said = {"GLOBAL": f"{rng.integers(10)}"} if info["view"].asked == "messages" else {}
        env.step(None if terminated else {"orders": orders, "messages": said})
    return shown


@pytest.mark.parametrize("copier", COPIERS)
def test_a_copy_of_an_environment_goes_on_like_it(copier: Copier) -> None:
    env = welfare_env.make("clique:4", years=2, message_rounds=1)
    early = copier(env)
    env.reset(seed=4)
    early.reset(seed=4)
    assert turns(env, 5, seed=0) == turns(early, 5, seed=0)
    other, third = copier(env), copier(env)
    theirs = turns(other, 400, seed=1)  # to the end
    assert turns(env, 400, seed=1) == theirs == turns(third, 400, seed=1)
    assert env.unwrapped.game.record() == other.unwrapped.game.record()


@pytest.mark.parametrize("copier", COPIERS)
def test_a_copy_of_a_view_tells_what_it_tells_and_holds_no_secrets(copier: Copier) -> None:
    game = Game("clique:4", Rules(years=2))
    game.submit("PLAYERA", ["A HAX - CAX"])
    game.send("PLAYERA", "PLAYERB", "psst")
    game.advance()
    game.send("PLAYERA", "PLAYERC", "now you")
    game.send("PLAYERA", "PLAYERB", "hush")
    view = game.view("PLAYERB")
    assert copier(game.board) is game.board  # whose tables take long to make
    assert copier(view) == view
    assert "psst" in str(copier(view).history[0].messages[0].text)
    hidden = pickle.dumps(game.view("PLAYERC"))
    assert b"psst" not in hidden
    assert b"hush" not in hidden
    assert b"now you" in hidden


@pytest.mark.parametrize(("copier", "engine"), [*((copier, "fast") for copier in COPIERS), (pickled, "reference")])
def test_a_copy_of_a_game_is_another_game(copier: Copier, engine: str) -> None:
    game = Game("clique:4", Rules(years=2), engine)
    other = copier(game)
    other.submit("PLAYERA", ["A HAX - CAX"])
    other.send("PLAYERA", "PLAYERB", "psst")
    assert (game.orders("PLAYERA"), game.messages) == ((), ())
    other.advance()
    assert (game.phase, game.history) == ("S1901M", ())
    assert other.units["PLAYERA"] == ("A CAX",)
