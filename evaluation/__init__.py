"""Measures of cooperation and exploitability, over many games.

>>> import evaluation
>>> result = evaluation.self_play("prosocial", games=2, seed=0)
>>> print(result.root_nash_welfare)
4.843 [4.843, 4.843]
"""

import runpy
from pathlib import Path

# By file, not by name: when a foreign `agents` is found first, ours never runs.
runpy.run_path(str(Path(__file__).parents[1] / "agents" / "_shadow.py"))["check"]()

from evaluation.coalitions import COALITIONS  # noqa: E402 (after the check)
from evaluation.exploitability import ExploitabilityResult, exploitability  # noqa: E402
from evaluation.games import GameSpec, play, play_all  # noqa: E402
from evaluation.metrics import GameMeasures, measure  # noqa: E402
from evaluation.options import EvaluationError  # noqa: E402
from evaluation.programs import ProgramExploitabilityResult  # noqa: E402
from evaluation.selfplay import SelfPlayResult, self_play  # noqa: E402
from evaluation.statistics import Estimate  # noqa: E402
from evaluation.store import GameStore, StoreError  # noqa: E402
from evaluation.workers import WorkerError, Workers  # noqa: E402

__all__ = [
    "COALITIONS",
    "Estimate",
    "EvaluationError",
    "ExploitabilityResult",
    "GameMeasures",
    "GameSpec",
    "GameStore",
    "ProgramExploitabilityResult",
    "SelfPlayResult",
    "StoreError",
    "WorkerError",
    "Workers",
    "exploitability",
    "measure",
    "play",
    "play_all",
    "self_play",
]
