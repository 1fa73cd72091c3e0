"""The public names of `evaluation`."""

from agents.runtime.table_files import TableError
from evaluation.checks import EvaluationError
from evaluation.experiment_files.description import ExperimentError
from evaluation.experiment_files.experiment import ExperimentResult, experiment
from evaluation.experiments.compare import Comparison, Contrast, compare
from evaluation.experiments.cross_play import CrossPlayResult, cross_play
from evaluation.experiments.exploitability import exploitability
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.programs import ProgramExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult, red_team
from evaluation.experiments.self_play import SelfPlayResult, self_play
from evaluation.measures.gains import COALITIONS
from evaluation.measures.intervals import Estimate
from evaluation.measures.metrics import GameMeasures, measure
from evaluation.messages.analysis import MessageAnalysis, analyze_messages
from evaluation.play.game_spec import GameSpec, Setting
from evaluation.play.playing import aplay_game, play_game
from evaluation.play.runner import Runner
from evaluation.play.store import GameStore, StoreError
from evaluation.play.workers import RayWorkers, WorkerError, Workers
from evaluation.tables import attack_tables as _attacks  # noqa: F401 (registers how results are printed)
from evaluation.tables import comparison_tables as _tables  # noqa: F401 (registers how comparisons are printed)
from evaluation.tables import cross_play_tables as _mixes  # noqa: F401 (as above)
from evaluation.tables import game_tables as _games  # noqa: F401 (as above)

__all__ = [
    "COALITIONS",
    "Comparison",
    "Contrast",
    "CrossPlayResult",
    "Estimate",
    "EvaluationError",
    "ExperimentError",
    "ExperimentResult",
    "ExploitabilityResult",
    "GameMeasures",
    "GameSpec",
    "GameStore",
    "MessageAnalysis",
    "ProgramExploitabilityResult",
    "RayWorkers",
    "RedTeamResult",
    "Runner",
    "SelfPlayResult",
    "Setting",
    "StoreError",
    "TableError",
    "WorkerError",
    "Workers",
    "analyze_messages",
    "aplay_game",
    "compare",
    "cross_play",
    "experiment",
    "exploitability",
    "measure",
    "play_game",
    "red_team",
    "self_play",
]
