"""PPO's loss on RLlib's Learner, with each order clipped separately.

RLlib's PPO clips the ratio of a whole decision; here each order of a decision has its own ratio, conditional on the
previous orders. Otherwise a power with seventeen units would leave the clipping range at almost every step. Each word
is also clipped separately; the mean over words has the same weight as the mean over orders.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from ray.rllib.algorithms.ppo.torch.ppo_torch_learner import PPOTorchLearner
from ray.rllib.connectors.connector_v2 import ConnectorV2
from ray.rllib.core.columns import Columns
from ray.rllib.utils.metrics import NUM_ENV_STEPS_SAMPLED_LIFETIME

from training.board.modules import ENTROPY, ROW_DECISION, ROW_SLOT, ROW_WORD
from training.board.tape import ADVANTAGES, POSITION, VALUE_TARGETS, shuffled


def by_network(episodes: Sequence[Any]) -> dict[str, list[Any]]:
    """Module id of each network -> its episodes."""
    found: dict[str, list[Any]] = {}
    for episode in episodes:
        found.setdefault(episode.module_id, []).append(episode)
    return found


class Collate(ConnectorV2):
    """Turns episodes of `training.board.runner` into a batch per network, with advantages of mean 0 and deviation 1.

    Positions are shuffled; the decisions in a position stay together (`training.board.tape.shuffled`). The shuffle
    depends only on the first episode's id, which identifies the sample, so there is no state to save.
    """

    def __call__(self, *, episodes: Sequence[Any], **kwargs: Any) -> dict[str, Any]:
        return {module_id: self._batch(mine) for module_id, mine in by_network(episodes).items()}

    def _batch(self, episodes: Sequence[Any]) -> dict[str, torch.Tensor]:
        """The batch of one network."""
        columns = {
            Columns.OBS: np.concatenate([episode.observations.data[:-1] for episode in episodes]),
            Columns.ACTIONS: np.concatenate([episode.actions.data for episode in episodes]),
        }
        for name in (Columns.ACTION_LOGP, ADVANTAGES, VALUE_TARGETS, POSITION):
            columns[name] = np.concatenate([episode.extra_model_outputs[name].data for episode in episodes])
        advantages = columns[ADVANTAGES]
        columns[ADVANTAGES] = (advantages - advantages.mean()) / (advantages.std() + 1e-6)
        rng = np.random.default_rng(zlib.crc32(str(episodes[0].id_).encode()))
        order = shuffled(rng, columns.pop(POSITION))
        return {name: torch.from_numpy(column[order]) for name, column in columns.items()}


class PPOLearner(PPOTorchLearner):
    """Schulman et al. 2017, "Proximal policy optimization algorithms", equation 9, without a KL term.

    Logged for the last minibatch: ``policy_loss``, ``value_loss``, ``explained`` (explained variance of the value
    targets), ``entropy`` (per order, in nats; ``word_entropy`` per word, if there are words), ``moved`` (share of
    orders and words outside the clipping range), ``kl`` (approximate, per order or word).
    """

    def after_gradient_based_update(self, *, timesteps: dict[str, Any]) -> None:
        """Set step size and entropy weight for the next iteration, by its number: RLlib gives the steps sampled."""
        super().after_gradient_based_update(timesteps={NUM_ENV_STEPS_SAMPLED_LIFETIME: self._weights_seq_no})

    def begin_iteration(self, iteration: int) -> None:
        """Set step size and entropy weight for an iteration, from 0; RLlib's own loop begins at 0 and counts on."""
        self._weights_seq_no = iteration
        self.after_gradient_based_update(timesteps={})

    def compute_gradients(self, loss_per_module: dict[str, Any], **kwargs: Any) -> dict[Any, Any]:
        """As RLlib's, but skips networks without data in the batch, for which RLlib fails."""
        gradients = super().compute_gradients(loss_per_module, **kwargs)
        return {name: gradient for name, gradient in gradients.items() if gradient is not None}

    def compute_loss_for_module(
        self, *, module_id: str, config: Any, batch: dict[str, Any], fwd_out: dict[str, Any]
    ) -> torch.Tensor:
        decision, slot = fwd_out[ROW_DECISION], fwd_out[ROW_SLOT]
        change = fwd_out[Columns.ACTION_LOGP] - batch[Columns.ACTION_LOGP][decision, slot]
        ratio, advantage = change.exp(), batch[ADVANTAGES][decision]
        clipped = ratio.clamp(1 - config.clip_param, 1 + config.clip_param)
        words = fwd_out.get(ROW_WORD)
        policy_loss = -means_by_kind(torch.minimum(ratio * advantage, clipped * advantage), words).sum()
        targets, values = batch[VALUE_TARGETS], fwd_out[Columns.VF_PREDS]
        value_loss = (values - targets).square().mean()
        entropies = means_by_kind(fwd_out[ENTROPY], words)
        with torch.no_grad():
            logged = {
                "policy_loss": policy_loss.detach(),
                "value_loss": value_loss.detach(),
                "explained": 1 - (targets - values).var() / targets.var().clamp(min=1e-8),
                "entropy": entropies[0].detach(),
                "moved": ((ratio - 1).abs() > config.clip_param).float().mean(),
                "kl": (ratio - 1 - change).mean(),
            }
        if words is not None:
            logged["word_entropy"] = entropies[1].detach()
        self.metrics.log_dict(logged, key=module_id, window=1)
        weight = self.entropy_coeff_schedulers_per_module[module_id].get_current_value()
        return policy_loss + config.vf_loss_coeff * value_loss - weight * entropies.sum()


def means_by_kind(values: torch.Tensor, words: torch.Tensor | None) -> torch.Tensor:
    """The mean over rows of orders and, in games with words, the mean over rows of words: [1] or [2].

    Args:
        values: [R], one per row. words: bool [R], whether a row is a word; None without words.
    """
    if words is None:
        return values.mean()[None]
    kinds = torch.stack([~words, words]).float()
    return kinds @ values / kinds.sum(dim=1).clamp(min=1)
