"""Many games at once: they are the games of `parallel_env`, with the same observations, masks and rewards."""

from typing import Any

import pytest

import modal_env
from modal_env import ProgramActionError

OPTIONS: list[dict[str, Any]] = [
    {},
    {"flat": True, "budget": 9},
    {"cost": "size", "me": True},
    {"payoffs": "battle-of-the-sexes", "cost": "worlds", "calls": ["JustBot", "RandomBot"]},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_they_are_the_games_of_parallel_env(options: dict[str, Any]) -> None:
    number = 12
    games = modal_env.vector_env(number, epsilon=0.1, **options)
    games.reset(seed=3)
    envs = [modal_env.parallel_env(epsilon=0.1, actions="tokens", **options) for _ in range(number)]
    seen = [env.reset()[0] for env in envs]
    key = "observations" if options.get("flat") else "observation"
    ended = 0
    for _ in range(40):
        rows, masks, actions = games.observe(), games.masks, games.sample()
        for game, env in enumerate(envs):
            for player, name in enumerate(env.possible_agents):
                assert (rows[game, player] == seen[game][name][key]).all()
                assert (masks[game, player] == seen[game][name]["action_mask"]).all()
        rewards, done = games.step(actions)
        for game, env in enumerate(envs):
            seen[game], paid, over, _, infos = env.step(dict(zip(env.agents, actions[game].tolist(), strict=True)))
            assert rewards[game].tolist() == list(paid.values())
            assert bool(done[game]) == all(over.values())
            if done[game]:
                (played,) = infos["player_0"]["history"]
                assert (games.program(game, 0), games.program(game, 1)) == played.programs
                seen[game] = env.reset()[0]
                ended += 1
    assert ended > number


@pytest.mark.parametrize("first", [[0, 0], [0.0, 1.0], [99, 1], [-1, 1], [11, 1], ["x", 1]], ids=str)
def test_what_is_not_allowed_changes_nothing(first: list[Any]) -> None:
    games = modal_env.vector_env(2)
    for actions in ([first, [1, 1]], [first], [first, [1]], range(10**9), None):
        with pytest.raises(ProgramActionError):
            games.step(actions)
    assert not games.written.any()
    with pytest.raises(ProgramActionError):
        games.program(0, 0)
