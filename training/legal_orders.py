"""A network for RLlib that chooses among what is legal: `LegalOrdersModule`."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import torch
from ray.rllib.core.columns import Columns
from ray.rllib.core.distribution.torch.torch_distribution import TorchCategorical, TorchMultiCategorical
from ray.rllib.core.rl_module.apis import ValueFunctionAPI
from ray.rllib.core.rl_module.torch import TorchRLModule

from agents.rl.legal_orders import LegalOrdersNetwork
from training.errors import TrainingError

WIDTHS = {"hidden": 128, "width": 64}


class LegalOrdersModule(TorchRLModule, ValueFunctionAPI):
    """Scores the legal choices of an environment's observation; RLlib does the rest.

    For `welfare_env` (AEC and parallel, without press) and `modal_env` (``actions="library"`` or "tokens"), with or
    without ``flat``. The network is `agents.rl.legal_orders.LegalOrdersNetwork`; choices that the mask excludes get a
    logit of -1e9, so that RLlib's usual distributions never sample them.

    ``model_config``: {"hidden": 128, "width": 64}, numbers of units, of which both may be left out.

    Raises:
        TrainingError: spaces without a mask, or with messages.
    """

    def setup(self) -> None:
        seen, actions = self.observation_space, self.action_space
        if not isinstance(seen, gym.spaces.Dict) or "action_mask" not in seen.spaces:
            raise TrainingError(
                f"observations {seen!r:.200}: LegalOrdersModule needs the key 'action_mask'. If they are those of "
                "several agents, say which network plays them: "
                ".multi_agent(policies={'one'}, policy_mapping_fn=lambda *_, **__: 'one')"
            )
        if isinstance(actions, gym.spaces.Discrete):
            self.action_dist_cls = TorchCategorical
        elif isinstance(actions, gym.spaces.MultiDiscrete):
            kind: Any = TorchMultiCategorical
            self.action_dist_cls = kind.get_partial_dist_cls(input_lens=actions.nvec.tolist())
        else:
            raise TrainingError(f"actions {actions!r:.200}: LegalOrdersModule sends no messages: give press=None")
        given: Any = self.model_config or {}
        self.network = LegalOrdersNetwork.for_space(
            seen, **WIDTHS | {key: given[key] for key in WIDTHS if key in given}
        )

    def _forward(self, batch: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        return {Columns.ACTION_DIST_INPUTS: self.network(batch[Columns.OBS])}

    def compute_values(self, batch: dict[str, Any], embeddings: Any = None) -> torch.Tensor:
        """float32 [B]."""
        return self.network.values(batch[Columns.OBS])
