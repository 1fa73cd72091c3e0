"""Learning policies for welfare_env and modal_env with RLlib and torch (the extra `train`).

>>> import training
>>> config = training.TrainConfig(against="prosocial", map_name="clique:3", years=2)
>>> path = training.train(config)  # doctest: +SKIP
>>> training.resume(config.folder, iterations=300)  # doctest: +SKIP

or ``welfare-env train welfare | best-response | psro | modal | resume | curves | export``. Contents:

- `config`: the options of all trainings, and their checks. `runs`: `train` and `resume`. `run_folder`, `state`: files.
- `population`: policies that are best responses to mixes of earlier policies.
- `board`: Diplomacy. Start reading at `board.ppo`, the complete training loop.
- `modal`: programs for modal_env.
- `cli`: the commands, and plots of learning curves.
- For scripts with RLlib itself: `registration` (the environments "welfare_env" and "modal_env"), `LegalOrdersModule`
  and `BatchedEnvRunner`.

Importing `training` loads neither torch nor Ray, and registers the environments as soon as Ray is imported.
"""

import importlib
from typing import Any

import evaluation  # noqa: F401 (first: it checks that `agents` is ours)
from training.board.config import TrainConfig
from training.errors import TrainingError
from training.modal.config import ModalConfig
from training.population.config import PopulationConfig
from training.registration import register, register_with_ray
from training.run_folder import log_rows
from training.runs import export, make_config, resume, train

__all__ = [
    "BatchedEnvRunner",
    "LegalOrdersModule",
    "ModalConfig",
    "PopulationConfig",
    "TrainConfig",
    "TrainingError",
    "export",
    "log_rows",
    "make_config",
    "register",
    "resume",
    "train",
]

_NEED_TORCH = {"BatchedEnvRunner": "board.runner", "LegalOrdersModule": "legal_orders"}

register_with_ray()


def __getattr__(name: str) -> Any:
    """Import a name of `_NEED_TORCH` on first use."""
    if name not in _NEED_TORCH:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(importlib.import_module(f"training.{_NEED_TORCH[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
