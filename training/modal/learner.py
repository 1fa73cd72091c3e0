"""PPO on RLlib's Learner for players of modal_env, without Ray: one process, no daemon.

A game has one round, so the advantage of every action is the payoff of its turn minus the expected value (generalized
advantage estimation with gamma = lambda = 1; Schulman et al. 2016, arXiv:1506.02438). The Learner gets finished batches
instead of episodes: RLlib's connectors would append a step to every episode, which would distort the mean and deviation
of the advantages (half of all steps, if a turn is one action) and double the time of an update.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core import DEFAULT_MODULE_ID
from ray.rllib.core.columns import Columns
from ray.rllib.core.learner import Learner
from ray.rllib.core.rl_module.apis.value_function_api import ValueFunctionAPI
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.core.rl_module.torch.torch_rl_module import TorchRLModule
from ray.rllib.evaluation.postprocessing import Postprocessing
from ray.rllib.policy.sample_batch import MultiAgentBatch, SampleBatch
from torch import Tensor, nn

import modal_env
from modal_env.envs.rounds import Contest
from training.modal.games import PlayedTurns
from training.modal.networks import make_network, masked
from training.rllib import quiet

METRICS = {"entropy": "entropy", "policy_loss": "policy_loss", "vf_loss": "value_loss", "vf_explained_var": "explained"}
MAX_GRADIENT = 1.0  # norm to which gradients are clipped
FLAT = 1e-4  # advantages with a smaller standard deviation are not scaled to 1


class ProgramModule(TorchRLModule, ValueFunctionAPI):
    """A network of `training.modal.networks` as an RLModule."""

    def setup(self) -> None:
        given: Any = self.model_config
        self.network = make_network(given["setting"])

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Tensor]:
        seen = batch[Columns.OBS]
        logits, _ = self.network(seen["observation"])
        return {Columns.ACTION_DIST_INPUTS: masked(logits, seen["action_mask"])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> Tensor:
        _, values = self.network(batch[Columns.OBS]["observation"])
        return values


def make_learner(setting: modal_env.Setting, *, seed: int, lr: float, entropy: float, clip: float) -> Learner:
    """A PPO Learner whose weights are initialized from a seed. torch's global generator is restored."""
    contest = Contest(setting)
    config = (
        PPOConfig()
        .environment(observation_space=contest.observation_space(), action_space=contest.mode.action_space())
        .rl_module(rl_module_spec=RLModuleSpec(module_class=ProgramModule, model_config={"setting": setting}))
        .training(lr=lr, entropy_coeff=entropy, clip_param=clip, grad_clip=MAX_GRADIENT, use_kl_loss=False)
    )
    with torch.random.fork_rng(devices=[]), quiet():
        torch.manual_seed(seed)
        return config.build_learner()


def parts_of(learner: Learner) -> tuple[nn.Module, torch.optim.Optimizer]:
    """The network of a Learner, and its optimizer."""
    module: Any = learner.module[DEFAULT_MODULE_ID].unwrapped()
    return module.network, learner.get_optimizer(module_id=DEFAULT_MODULE_ID)


def update(learner: Learner, played: PlayedTurns, epochs: int) -> dict[str, float]:
    """Update the policy. Every epoch is one full batch, so nothing is shuffled.

    Returns:
        RLlib's metrics of the last epoch: entropy (of an action, in nats), policy_loss, value_loss, and explained (the
        explained variance of the payoffs).
    """
    advantages = played.returns - played.values
    advantages = (advantages - advantages.mean()) / max(FLAT, advantages.std())  # of mean 0 and deviation 1
    columns = {
        Columns.ACTIONS: played.actions,
        Columns.ACTION_LOGP: played.logps,
        Columns.ACTION_DIST_INPUTS: played.logits,
        Postprocessing.ADVANTAGES: advantages.astype(np.float32),
        Postprocessing.VALUE_TARGETS: played.returns,
    }
    seen = {"observation": torch.from_numpy(played.observations), "action_mask": torch.from_numpy(played.masks)}
    rows = SampleBatch({Columns.OBS: seen} | {name: torch.from_numpy(each) for name, each in columns.items()})
    batch = MultiAgentBatch({DEFAULT_MODULE_ID: rows}, env_steps=len(played.actions))
    metrics = learner.update(batch=batch, num_epochs=epochs)[DEFAULT_MODULE_ID]
    return {f"learn/{name}": float(metrics[key].peek()) for key, name in METRICS.items()}
