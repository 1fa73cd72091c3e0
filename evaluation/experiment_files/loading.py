"""Experiments as TOML files with trainings, profiles, rules, swept values, measures and figures.

    title = "Message rounds"
    question = "Does talking more raise welfare?"
    measure = "self-play"                   # exploitability, red-team, cross-play, exact; or a list of several
    profiles = ["dove", "4*dove + 3*random"]
    games = 5
    seed = 0

    [rules]                                 # for all games: any field of welfare_env.Rules
    years = 10

    [sweep]                                 # a condition per combination and profile
    message_rounds = [0, 1, 3]              # a rule, map_name, seats, or a word of the template

    [[figures]]
    kind = "lines"                          # points, lines, years or scatter
    x = "message_rounds"
    y = "root_nash_welfare"
    published = "message_rounds"            # the authors' data (evaluation.experiments.published)

Further keys for all games: `map_name`, `seats`, `simultaneous`, and `paper_code` (rules and measures of the paper's own
program); for exploitability: `coalitions`, `deviators` (``{policy}`` stands for the replaced policy), `coordinated`,
`selection_games`, `precision` and `max_games`; for exact gains: `coalitions`; for red teams: `budget`.
``leaderboard = true`` sorts by welfare.

``template = "{profile},ablate={ablate}"`` builds the policy of a condition from its profile and swept words
(`evaluation.experiment_files.templates`). A table ``[train.NAME]`` trains the policy ``trained:NAME`` before the
measurements, once for each of the `seeds` in ``[train]``; its fields are those of `training.TrainConfig`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from agents.runtime.files import read_file, reason
from evaluation.checks import EvaluationError
from evaluation.experiment_files.parser import ExperimentParser
from evaluation.experiment_files.plan import Experiment
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

SHIPPED = Path(__file__).parent / "shipped"
MAX_BYTES = 1_000_000


class ExperimentError(EvaluationError):
    """An invalid experiment file. The message lists all errors, each with its line and the allowed values."""


def shipped_experiments() -> tuple[str, ...]:
    """The names of the package's experiments."""
    return tuple(sorted(file.stem for file in SHIPPED.glob("*.toml")))


def load_experiment(source: str | Path) -> Experiment:
    """Read an experiment from a file, or a shipped experiment by name.

    Raises:
        ExperimentError: no such file or name, invalid TOML, or invalid contents (all errors at once).
    """
    if not isinstance(source, str | Path):
        raise ExperimentError(f"experiment {quoted(source)}: give a name or the path of a .toml file")
    path = SHIPPED / f"{source}.toml" if str(source) in shipped_experiments() else Path(source)
    try:
        text = read_file(path, MAX_BYTES).decode()
    except (OSError, ValueError) as error:
        names = shipped_experiments()
        near = did_you_mean(str(source), names)
        known = f"shipped are {', '.join(names)}"
        why = f"no such name or file{near}" if isinstance(error, FileNotFoundError) else reason(error)
        raise ExperimentError(f"experiment {str(source)!r:.200}: {why}; {known}") from error
    return read_experiment(text, path.stem)


def read_experiment(text: str, name: str = "experiment") -> Experiment:
    """Read an experiment from TOML text.

    Raises:
        ExperimentError: invalid TOML, or invalid contents (all errors at once).
    """
    try:
        given = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for numbers with thousands of digits
        raise ExperimentError(f"experiment {name}: not valid TOML: {error}") from error
    parser = ExperimentParser(text, given)
    experiment = parser.read(name)
    if parser.faults:
        listed = "".join(f"\n  {fault}" for fault in sorted(parser.faults, key=_line_of))
        listed += f"\n  and {parser.unlisted:,} more" if parser.unlisted else ""
        raise ExperimentError(
            f"experiment {name}: {len(parser.faults) + parser.unlisted} faults{listed}".replace(" 1 faults", " 1 fault")
        )
    return experiment


def _line_of(fault: str) -> int:
    return int(fault.removeprefix("line ").partition(":")[0])
