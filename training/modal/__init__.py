"""Learning to choose or write programs in modal_env by PPO.

`config` has the options, `trainer` the training loop (`train_modal`), `games` plays many games at once, `networks` and
`learner` learn (RLlib's Learner, without Ray), and `mixes` computes the payoffs of a mix of programs. Importing this
folder loads neither torch nor Ray.
"""

from training.modal.config import ACTIONS, SELF, ModalConfig
from training.modal.trainer import ModalProgress, ModalResult, train_modal

__all__ = ["ACTIONS", "SELF", "ModalConfig", "ModalProgress", "ModalResult", "train_modal"]
