"""Learning to choose or write programs in modal_env by PPO.

`config` says how to train, `trainer` trains (`train_modal`), `games` plays many games at once, `networks` and `learner`
learn (RLlib's Learner, without Ray), `mixes` computes what a mix of programs is worth, `pictures` plots
docs/training-modal.md. Importing this room loads neither torch nor Ray.
"""

from training.modal.config import ACTIONS, SELF, ModalConfig
from training.modal.trainer import ModalProgress, ModalResult, train_modal

__all__ = ["ACTIONS", "SELF", "ModalConfig", "ModalProgress", "ModalResult", "train_modal"]
