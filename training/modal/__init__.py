"""Learning to choose or write programs in modal_env by PPO.

`trainer` trains (`train_modal`), `command` is its command line, `games` plays many games at once, `networks` and
`learner` are what learns (RLlib's Learner, without Ray), `mixes` says what a mix of programs is worth, `pictures` draws
docs/training-modal.md. Importing this room loads neither torch nor Ray.
"""

from training.modal.trainer import ACTIONS, SELF, ModalOptions, ModalProgress, ModalResult, train_modal

__all__ = ["ACTIONS", "SELF", "ModalOptions", "ModalProgress", "ModalResult", "train_modal"]
