"""Stock RLlib PPO, with RLlib's own runners: a starting point for other RLlib algorithms.

`welfare_env.parallel_env` is wrapped in RLlib's `ParallelPettingZooEnv`; the only custom part is a network that chooses
among legal orders. Any RLlib algorithm whose module outputs logits can replace PPO. At the end the network plays as a
policy (`Learned`): what it has in self-play, and how much a script gains by robbing it.

    python examples/rllib_stock.py                # clique:3, three years: a minute or two on two cores
    python examples/rllib_stock.py --no-social    # rewards are own points; players also learn to rob

Needs the extra `train` (`pip install -c constraints.txt -e '.[train]'`). This path is simple, not fast:
docs/training-own-algorithm.md has figures.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Any

import numpy as np
import ray
import torch
import typer
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchMultiCategorical
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch import TorchRLModule
from ray.rllib.env.wrappers.pettingzoo_env import ParallelPettingZooEnv
from torch import Tensor, nn

import evaluation
import welfare_env
from welfare_env import Rules

POLICY = "shared"  # one network plays all powers
STEPS = 600  # environment steps per iteration; every power acts in each


class Diplomacy(ParallelPettingZooEnv):
    """The environment for RLlib, without infos: they contain the whole game, and RLlib would store them at every step.

    With ``social``, every power's reward is the mean of all instead of its own points.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__(welfare_env.parallel_env(config["map_name"], press=None, years=config["years"]))
        self.social = config["social"]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[dict, dict]:
        observations, _ = super().reset(seed=seed, options=options)
        return observations, {}

    def step(self, action_dict: dict[str, Any]) -> tuple[dict, dict, dict, dict, dict]:
        observations, rewards, terminated, truncated, _ = super().step(action_dict)
        if self.social and rewards:
            rewards = dict.fromkeys(rewards, sum(rewards.values()) / len(rewards))
        return observations, rewards, terminated, truncated, {}


class LegalOrdersModule(TorchRLModule, ValueFunctionAPI):
    """Scores a power's legal orders, slot by slot; PPO does the rest.

    An observation has the board, float32 [provinces, features], and ``legal``, int32 [slots, choices]: the order
    number of each choice. Every order has a learned embedding; its score is the dot product with an embedding of the
    board. Invalid choices get -1e9, so RLlib's usual distribution never samples them.
    """

    def setup(self) -> None:
        spaces, width = self.observation_space, 64
        provinces, features = spaces["observation"].shape
        self.orders = nn.Embedding(int(spaces["legal"].high.max()) + 2, width)  # 0: no order
        self.board = nn.Sequential(nn.Flatten(), nn.Linear(provinces * features, 128), nn.Tanh())
        self.query, self.value = nn.Linear(128, width), nn.Linear(128, 1)
        slots, choices = spaces["legal"].shape
        self.action_dist_cls = TorchMultiCategorical.get_partial_dist_cls(input_lens=[choices] * slots)
        with torch.no_grad():
            self.query.weight *= 0.1  # nearly uniform play at first

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        seen = batch[Columns.OBS]
        query = self.query(self.board(seen["observation"]))
        scores = torch.einsum("bsod,bd->bso", self.orders(seen["legal"].long() + 1), query)
        return {Columns.ACTION_DIST_INPUTS: scores.masked_fill(seen["action_mask"] == 0, -1e9).flatten(1)}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        return self.value(self.board(batch[Columns.OBS]["observation"]))[:, 0]


class Learned:
    """The trained network as a policy. It plays its most probable orders, in games in which all act simultaneously,
    since then a policy gets the observations of `parallel_env`."""

    def __init__(self, module: TorchRLModule) -> None:
        self.module = module

    def reset(self, agent: str, seed: int = 0) -> None:
        """Nothing to prepare: its orders depend on the observation alone."""

    def act(self, observation: dict[str, np.ndarray], info: dict[str, Any]) -> np.ndarray:
        seen = {name: torch.as_tensor(array)[None] for name, array in observation.items()}
        logits = self.module.forward_inference({Columns.OBS: seen})[Columns.ACTION_DIST_INPUTS]
        return logits.reshape(observation["legal"].shape).argmax(-1).numpy()


def evaluate(module: TorchRLModule, map_name: str, years: int) -> None:
    """Print the welfare of the network in self-play, and the gain of a member that robs the others."""
    policy, rules = Learned(module), Rules(years=years, press=None)
    options = {"rules": rules, "map_name": map_name, "simultaneous": True}
    print(evaluation.self_play(policy, games=5, **options))
    attack = "exploiter:nice=prosocial,attack=dumbbot"
    print(evaluation.exploitability(policy, deviator=attack, coalitions="all-singles", games=5, **options))


def make_config(map_name: str, years: int, iterations: int = 15, social: bool = True, seed: int = 0) -> PPOConfig:
    """RLlib's PPO with its usual runner, Learner and connectors. The step size falls to 0 over the iterations."""
    env_config = {"map_name": map_name, "years": years, "social": social}
    spec = MultiRLModuleSpec(rl_module_specs={POLICY: RLModuleSpec(LegalOrdersModule)})
    return (
        PPOConfig()
        .environment(Diplomacy, env_config=env_config, disable_env_checking=True)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=8, batch_mode="complete_episodes")
        .multi_agent(policies={POLICY}, policy_mapping_fn=lambda agent, episode, **kwargs: POLICY)
        .rl_module(rl_module_spec=spec)
        .training(
            lr=[[0, 2e-3], [iterations * STEPS, 0.0]],
            gamma=1.0,
            lambda_=0.95,
            entropy_coeff=0.003,
            vf_clip_param=100.0,
            use_kl_loss=False,
            grad_clip=1.0,
            num_epochs=4,
            minibatch_size=256,
            train_batch_size_per_learner=STEPS,
        )
        .debugging(seed=seed, log_level="ERROR")
    )


def train(
    map_name: str, years: int, iterations: int, social: bool = True, seed: int = 0
) -> tuple[list[float], TorchRLModule]:
    """Train. Returns the mean return per power and game of each iteration, and the network. Ray must be running."""
    algorithm = make_config(map_name, years, iterations, social, seed).build_algo()
    curve = []
    for iteration in range(iterations):
        result = algorithm.train()
        returns = result["env_runners"]["agent_episode_returns_mean"]
        curve.append(sum(returns.values()) / len(returns))
        print(f"{iteration + 1:3d}  return {curve[-1]:6.2f}", flush=True)
    module = algorithm.get_module(POLICY)
    algorithm.stop()
    return curve, module


def main(map_name: str = "clique:3", years: int = 3, iterations: int = 15, social: bool = True, seed: int = 0) -> None:
    """RLlib's PPO on Welfare Diplomacy without press, all powers learning."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    torch.set_num_threads(1)  # more threads are slower on such small matrices
    logging.getLogger("ray").setLevel(logging.ERROR)
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100_000_000,
        logging_level=logging.ERROR,
    )
    try:
        _, module = train(map_name, years, iterations, social, seed)
    finally:
        ray.shutdown()
    evaluate(module, map_name, years)


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # RLlib samples actions in the order of sets of names
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})  # noqa: S606
    typer.run(main)
