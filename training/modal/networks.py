"""The networks that choose programs in modal_env: plain torch, without RLlib.

Both take observations of modal_env, ``int32 [B, 1 + players, 2 + width]``, see `modal_env.envs.aec`, and return
``(logits float32 [B, actions], values float32 [B])``; values are expected payoffs. `masked` applies the action mask.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

import modal_env
from modal_env.envs.tokens import Vocabulary

CLOSED = -1e9  # logit of a masked action: its probability is exactly 0
SPREAD = 1.0  # standard deviation of the initial logits, so that seeds start in different places
HIDDEN = 64


class ChoiceNetwork(nn.Module):
    """For actions="library": one state, so one logit per program and one value."""

    def __init__(self, programs: int) -> None:
        super().__init__()
        self.logits = nn.Parameter(SPREAD * torch.randn(programs))
        self.value = nn.Parameter(torch.zeros(1))

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        count = len(observation)
        return self.logits.expand(count, -1), self.value.expand(count)


class FormulaNetwork(nn.Module):
    """For actions="tokens": two small layers over the one-hot tokens of the formula so far.

    Args:
        tokens: size of the vocabulary.
        budget: maximum length of a formula, in tokens.
    """

    def __init__(self, tokens: int, budget: int) -> None:
        super().__init__()
        self.tokens = tokens
        self.policy = _layers(tokens * budget, tokens, 0.01)
        self.value = _layers(tokens * budget, 1, 1.0)

    def forward(self, observation: Tensor) -> tuple[Tensor, Tensor]:
        written = observation[:, 0, 2:].long()
        seen = nn.functional.one_hot(written, self.tokens).flatten(1).float()
        return self.policy(seen), self.value(seen).squeeze(-1)


def _layers(inputs: int, outputs: int, gain: float) -> nn.Sequential:
    """Orthogonal weights. With a small gain in the last layer the initial policy is almost uniform."""
    first, second, last = nn.Linear(inputs, HIDDEN), nn.Linear(HIDDEN, HIDDEN), nn.Linear(HIDDEN, outputs)
    for layer, size in ((first, 2**0.5), (second, 2**0.5), (last, gain)):
        nn.init.orthogonal_(layer.weight, size)
        nn.init.zeros_(layer.bias)
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), last)


def make_network(setting: modal_env.Setting) -> nn.Module:
    """The network for a setting, with weights from torch's generator."""
    if setting.budget is None:
        return ChoiceNetwork(len(setting.agents))
    return FormulaNetwork(len(Vocabulary(setting.calls, setting.me)), setting.budget)


def masked(logits: Tensor, mask: Tensor) -> Tensor:
    """Logits in which masked actions have probability 0. Both arguments are [B, actions]."""
    return torch.where(mask.bool(), logits, CLOSED)
