"""Stock RLlib PPO writes programs, token by token, for modal combat: in self-play, with RLlib's own masked module.

    python examples/modal_rllib.py                   # the post's agents may be called; a few minutes on two cores
    python examples/modal_rllib.py --iterations 200 --epsilon 1/20

Prints the mean payoff of each iteration, then the programs that the trained policy writes most often, with what all of
them are paid against each other. Needs the extra `train` (`pip install -c constraints.txt -e '.[train]'`).
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import ray
import torch
import typer
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from ray.rllib.examples.rl_modules.classes.action_masking_rlm import ActionMaskingTorchRLModule

import modal_env


class Modal(ParallelPettingZooEnv):
    """The environment for RLlib, without infos: they contain all rounds, and RLlib would store them at every step."""

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(modal_env.parallel_env(config["epsilon"], actions="tokens", flat=True))

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        return super().reset(seed=seed, options=options)[0], {}

    def step(self, action_dict: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        return (*super().step(action_dict)[:4], {})


def written(module: Any, epsilon: str, games: int = 256) -> list[modal_env.Agent]:
    """The programs of both players in some games of the trained policy, which draws its tokens."""
    env = modal_env.vector_env(games, epsilon, flat=True)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    found: dict[tuple[int, int], modal_env.Agent] = {}
    while len(found) < 2 * games:
        seen = {"observations": env.observe(), "action_mask": env.masks}
        flat = {name: torch.from_numpy(array.reshape(2 * games, -1)) for name, array in seen.items()}
        with torch.no_grad():
            logits = module.forward_inference({Columns.OBS: flat})[Columns.ACTION_DIST_INPUTS].numpy()
        actions = (logits + rng.gumbel(size=logits.shape)).argmax(-1).reshape(games, 2)
        _, done = env.step(actions)
        for game in np.flatnonzero(done).tolist():
            for player in (0, 1):
                found.setdefault((game, player), env.program(game, player))
    return list(found.values())


def main(iterations: int = 40, epsilon: str = "1/10", seed: int = 0) -> None:
    """Train, and print what is written."""
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    config = (
        PPOConfig()
        .environment(Modal, env_config={"epsilon": epsilon})
        .multi_agent(policies={"writer"}, policy_mapping_fn=lambda agent, episode, **_: "writer")
        .env_runners(num_env_runners=0)
        .training(train_batch_size_per_learner=2000, minibatch_size=500, num_epochs=6, gamma=1.0, lr=1e-3)
        .rl_module(
            rl_module_spec=RLModuleSpec(
                module_class=ActionMaskingTorchRLModule, model_config=DefaultModelConfig(fcnet_hiddens=[64, 64])
            )
        )
        .debugging(seed=seed, log_level="ERROR")
    )
    algorithm = config.build_algo()
    for iteration in range(1, iterations + 1):
        runners = algorithm.train()["env_runners"]
        print(f"{iteration:4}  mean payoff {runners['episode_return_mean'] / 2:.3f}", flush=True)
    programs = written(algorithm.get_module("writer"), epsilon)
    for program, count in Counter(programs).most_common(8):
        print(f"{count / len(programs):6.1%}  {program.text}")
    moves = np.array(modal_env.tournament(programs).cooperates)
    print(f"pairs in which both cooperate: {float((moves & moves.T).mean()):.1%}")


if __name__ == "__main__":
    typer.run(main)
