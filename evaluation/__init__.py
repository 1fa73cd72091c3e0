"""Measures of cooperation and exploitability, over many games.

>>> import evaluation
>>> result = evaluation.self_play("prosocial", games=2, seed=0)
>>> print(result.root_nash_welfare)
4.843 [4.843, 4.843]
"""

import runpy
from pathlib import Path

# By file, not by name: if another `agents` comes first on the path, ours would never run.
runpy.run_path(str(Path(__file__).parents[1] / "agents" / "_shadow.py"))["check"]("evaluation")

from evaluation.checks import EvaluationError  # noqa: E402
from evaluation.experiments.cross_play import CrossPlayResult, cross_play  # noqa: E402
from evaluation.experiments.experiment import ExperimentResult, experiment  # noqa: E402
from evaluation.experiments.exploitability import exploitability  # noqa: E402
from evaluation.experiments.exploitability_result import ExploitabilityResult  # noqa: E402
from evaluation.experiments.files import ExperimentError  # noqa: E402
from evaluation.experiments.programs import ProgramExploitabilityResult  # noqa: E402
from evaluation.experiments.red_team import RedTeamResult, red_team  # noqa: E402
from evaluation.experiments.self_play import SelfPlayResult, self_play  # noqa: E402
from evaluation.measures.coalitions import COALITIONS  # noqa: E402 (after the check)
from evaluation.measures.intervals import Estimate  # noqa: E402
from evaluation.measures.metrics import GameMeasures, measure  # noqa: E402
from evaluation.measures.rows import TableError  # noqa: E402
from evaluation.play.games import GameSpec, aplay, play, play_all  # noqa: E402
from evaluation.play.ray_workers import RayWorkers  # noqa: E402
from evaluation.play.setting import Setting  # noqa: E402
from evaluation.play.store import GameStore, StoreError  # noqa: E402
from evaluation.play.workers import WorkerError, Workers  # noqa: E402

__all__ = [
    "COALITIONS",
    "CrossPlayResult",
    "Estimate",
    "EvaluationError",
    "ExperimentError",
    "ExperimentResult",
    "ExploitabilityResult",
    "GameMeasures",
    "GameSpec",
    "GameStore",
    "ProgramExploitabilityResult",
    "RayWorkers",
    "RedTeamResult",
    "SelfPlayResult",
    "Setting",
    "StoreError",
    "TableError",
    "WorkerError",
    "Workers",
    "aplay",
    "cross_play",
    "experiment",
    "exploitability",
    "measure",
    "play",
    "play_all",
    "red_team",
    "self_play",
]
