"""Whole games that policies play, in both forms of an environment; a scripted model, and the package's own games."""

import contextlib
import io
from collections.abc import Mapping
from typing import Any

import diplomacy

import agents
from agents import Policy
from agents.lm import Request
from agents.lm.stub.replies import stub_reply
from welfare_env import Game, Rules


def play(env: Any, policies: Mapping[str, Policy], seed: int = 0) -> Any:
    """The environment after a game in which agents act one after the other; environment and policies begin anew."""
    env.reset(seed=seed)
    for agent, policy in policies.items():
        policy.reset(agent, seed)
    for agent in env.agent_iter():
        observation, _, terminated, truncated, info = env.last()
        env.step(None if terminated or truncated else policies[agent].act(observation, info))
    return env.unwrapped


def play_parallel(env: Any, policies: Mapping[str, Policy], seed: int = 0) -> Any:
    """As `play`, where all agents act at once."""
    observations, infos = env.reset(seed=seed)
    for agent, policy in policies.items():
        policy.reset(agent, seed)
    while env.agents:
        actions = {agent: policies[agent].act(observations[agent], infos[agent]) for agent in env.agents}
        observations, _, _, _, infos = env.step(actions)
    return env.unwrapped


def seated(spec: str, power: str = "FRANCE", seed: int = 0) -> Any:
    """A policy by its spec, at the beginning of a game."""
    policy: Any = agents.make(spec)
    policy.reset(power, seed)
    return policy


def orders_at(
    spec: str, power: str = "FRANCE", seed: int = 0, rules: Rules | None = None, **position: Any
) -> list[str]:
    """What a policy orders at a position (`Game.from_position`) without messages, sorted."""
    game = Game.from_position(**{"centers": {}, **position}, rules=rules or Rules(press=None))
    return sorted(seated(spec, power, seed).orders(game.view(power)))


def as_the_stub(request: Request) -> str:
    """What the stub of language models replies."""
    return stub_reply(request.prompt, request.schema)


def package_game(map_name: str = "standard") -> Any:
    """A new game of the `diplomacy` package, without what it prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        return diplomacy.Game(map_name=map_name)


def ordered(game: Game, orders: Mapping[str, list[str]], **more: Any) -> Game:
    """The game a phase later, after these orders by power."""
    for power, given in orders.items():
        game.submit(power, given, **more)
    game.advance()
    return game


def ended(game: Game) -> Game:
    """The game after the phases that are left, without further orders."""
    while not game.is_done:
        game.advance()
    return game
