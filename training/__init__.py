"""Learning policies for welfare_env and modal_env with RLlib and torch (the extra `train`).

>>> import training
>>> config = training.TrainConfig(against="prosocial", map_name="clique:3", years=2)
>>> path = training.train(config)  # doctest: +SKIP
>>> training.resume(config.place, iterations=300)  # doctest: +SKIP

or ``welfare-env train welfare | standard | best-response | psro | modal | resume | curves``. In the room:

- `config`: how to train, and its checks. `runs`: `train` and `resume`. `run_folder`, `state`: its files.
- `population`: policies that are best responses to mixes of those before them.
- `board`: Diplomacy. `board.ppo` is the training from beginning to end: start reading there.
- `modal`: programs for modal_env.
- `cli`: the commands, and plots of learning curves.

Importing it loads neither torch nor Ray.
"""

# ruff: noqa: E402 (first of all, the check of whose package this is)
import runpy
import sys
from pathlib import Path

# By file, not by name: when a foreign `agents` is found first, ours never runs.
runpy.run_path(str(Path(__file__).parents[1] / "agents" / "_shadow.py"))["check"]("training")
if sys.argv[:1] == ["-m"] and "training" in sys.orig_argv:  # python -m training
    runpy.run_path(str(Path(__file__).parents[1] / "modal_env" / "interruptions.py"))["end_at_interruptions"]()

from training.board.config import TrainConfig
from training.errors import TrainingError
from training.modal.config import ModalConfig
from training.population.config import PopulationConfig
from training.run_folder import log_rows
from training.runs import make_config, resume, train

__all__ = [
    "ModalConfig",
    "PopulationConfig",
    "TrainConfig",
    "TrainingError",
    "log_rows",
    "make_config",
    "resume",
    "train",
]
