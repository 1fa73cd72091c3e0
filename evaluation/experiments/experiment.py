"""Run an experiment: play and measure every condition of a file; with a store it can be resumed."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import welfare_env
from agents.results import Shown
from agents.specs import read, read_profile
from agents.table_files import Row
from evaluation.checks import EvaluationError, check_games, listed
from evaluation.experiments.attacks import CHOOSING
from evaluation.experiments.attacks import count_games as count_attacked
from evaluation.experiments.deviators import PORTFOLIO, filled, read_deviators
from evaluation.experiments.exploitability import exploitability, resolve_coalitions
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.files import BY_YEAR, MEASURES, Condition, Experiment, ExperimentError, load_experiment
from evaluation.experiments.self_play import SelfPlayResult, make_all, self_play
from evaluation.measures import costs
from evaluation.measures.intervals import Estimate, mean_estimate
from evaluation.measures.lm_usage import LMUsage, usage_of
from evaluation.measures.rows import GamesResult, same_columns
from evaluation.messages.analysis import analyse_messages, kept_promises
from evaluation.play.setting import Options, Setting
from evaluation.play.store import GameStore
from evaluation.play.workers import Workers
from welfare_env.checks import shown
from welfare_env.options import takes_options

EXAMPLE = "['dove', '4*dove + 3*hold']"


@dataclass(frozen=True, repr=False)
class BothResult(GamesResult):
    """Self-play of a profile, and what coalitions gain that deviate from it: how well it cooperates, and at what risk.

    Attributes:
        own: self-play.
        attacked: exploitability; its baseline are the games of self-play.
    """

    own: SelfPlayResult
    attacked: ExploitabilityResult

    @property
    def measures(self) -> dict[str, Estimate]:
        """Measure -> its estimate."""
        return {
            "root_nash_welfare": self.own.root_nash_welfare,
            "exploitability": self.attacked.value,
            "proficiency": self.own.proficiency,
            "kept_promises": self.kept_promises,
            "tokens_per_game": self._mean(used.input_tokens + used.output_tokens for used in self._used),
            "dollars_per_game": self._mean(math.nan if used.dollars is None else used.dollars for used in self._used),
        }

    def rows(self, by_year: bool = False) -> list[Row]:
        """The rows of self-play, then of each deviator and coalition; see `evaluation.columns`."""
        return self.attacked.rows(by_year)

    @cached_property
    def kept_promises(self) -> Estimate:
        """Kept / judged promises of all games of self-play."""
        found = [analyse_messages(record, self.own.map_name) for record in self.own.records]
        return kept_promises(found, self.own.seed)

    @cached_property
    def _used(self) -> list[LMUsage]:
        """What language models used in each game of self-play that they play in."""
        return [used for record in self.own.records if (used := usage_of([record])) is not None]

    def _mean(self, values: Iterable[float]) -> Estimate:
        told = list(values)
        return mean_estimate(told, self.own.seed) if told else Estimate(math.nan, math.nan, math.nan, 0, ())

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        attacked = self.attacked.to_dict()
        shared = {name: attacked.pop(name) for name in ("map", "rules", "games", "older_games", "coalitions", "seed")}
        own = {name: value for name, value in self.own.to_dict().items() if name not in shared}
        notes = dict.fromkeys([*own.pop("notes"), *attacked.pop("notes")])
        return shared | {"notes": list(notes), "self_play": own, "exploitability": attacked}


Result = SelfPlayResult | ExploitabilityResult | BothResult


FIXED = ("rules", "map_name", "seats", "published")
"""Options that an experiment's file sets."""
KINDS: tuple[set[type], ...] = ({str}, {bool}, {int, float})  # of values in one column


@dataclass(frozen=True, repr=False)
class ConditionResult(GamesResult):
    """A condition and its result."""

    condition: Condition
    result: Result

    def __repr__(self) -> str:
        return Shown.__repr__(self)

    def rows(self, by_year: bool = False) -> list[Row]:
        """The rows of its games; see `evaluation.columns`."""
        return self.result.rows(by_year)

    @property
    def measures(self) -> dict[str, Estimate]:
        """Measure -> its estimate."""
        if isinstance(self.result, BothResult):
            return self.result.measures
        if isinstance(self.result, ExploitabilityResult):
            return {"exploitability": self.result.value} | {
                name: getattr(self.result.costs, name) for name in costs.MEASURES
            }
        return {name: getattr(self.result, name) for name in MEASURES["self-play"]}

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types: the condition, every measure, and the whole result."""
        condition = self.condition
        told: dict[str, Any] = {
            "profile": condition.profile,
            "played": condition.played,
            "coalitions": condition.coalitions,
            "version": welfare_env.__version__,
            "swept": {name: _plain(value) for name, value in condition.swept.items()},
            "measures": {name: estimate.to_dict() for name, estimate in self.measures.items()},
        }
        told["by_year"] = {
            name: {str(year): estimate.to_dict() for year, estimate in curve.items()}
            for name, curve in self._by_year().items()
        }
        return told | {"result": self.result.to_dict()}

    def _by_year(self) -> dict[str, dict[int, Estimate]]:
        if isinstance(self.result, SelfPlayResult):
            return {name: getattr(self.result, name) for name in BY_YEAR["self-play"]}
        if isinstance(self.result, ExploitabilityResult):
            return {name: getattr(self.result.costs, name) for name in BY_YEAR["exploitability"]}
        return {}


@dataclass(frozen=True, repr=False)
class ExperimentResult(GamesResult):
    """The results of all conditions of an experiment.

    Attributes:
        seed: of the evaluation; the games have the same seeds in every condition.
        conditions: in the order of the file; swept values are the outer loop, profiles the inner one.
    """

    experiment: Experiment
    seed: int
    conditions: tuple[ConditionResult, ...]

    def rows(self, by_year: bool = False) -> list[Row]:
        """The rows of all conditions (`evaluation.columns`), with the number and the swept values of each."""
        rows = [
            {"experiment": self.experiment.name, "condition": number, **self._told(each.condition), **row}
            for number, each in enumerate(self.conditions)
            for row in each.rows(by_year)
        ]
        return rows if by_year else same_columns(rows)

    def _told(self, condition: Condition) -> Row:
        """The columns of a condition. A swept name with values of several kinds is a column of texts."""
        swept = self.experiment.sweep
        texts = {name for name, values in swept.items() if not any({*map(type, values)} <= kinds for kinds in KINDS)}
        told: Row = {"coalitions": condition.coalitions}
        for name, value in condition.swept.items():
            told[f"swept_{name}"] = str(_plain(value)) if name in texts else value
        return told

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types: the input of the report and the figures."""
        experiment = self.experiment
        return {
            "experiment": experiment.name,
            "title": experiment.title,
            "question": experiment.question,
            "measure": experiment.measure,
            "games": experiment.games,
            "seed": self.seed,
            "published": experiment.published,
            "rules": {name: _plain(value) for name, value in experiment.rules.items()},
            "deviators": list(experiment.deviators),
            "swept": {name: [_plain(value) for value in values] for name, values in experiment.sweep.items()},
            "figures": [asdict(figure) | {"y": list(figure.y)} for figure in experiment.figures],
            "conditions": [each.to_dict() for each in self.conditions],
        }


@takes_options(Setting, refused=FIXED)
def experiment(
    source: str | Path | Experiment,
    *,
    profiles: Sequence[str] = (),
    games: int | None = None,
    **options: Unpack[Options],
) -> ExperimentResult:
    """Play and measure every condition of an experiment.

    Args:
        source: the name of a shipped experiment, the path of a TOML file (`evaluation.experiments.files`), or an
            `Experiment`.
        profiles: replace those of the file.
        games: per condition; replaces the file's.
        options: as for `self_play`, except rules, map_name, seats and published, which the experiment sets.

    Raises:
        ExperimentError: no such experiment, or errors in the file.
        UnknownAgentError, ProfileError, UnknownMapError, LMError: as `self_play`; raised before the first game, since
            the policies of all conditions are made first.
    """
    if fixed := sorted(options.keys() & set(FIXED)):
        raise EvaluationError(f"{', '.join(fixed)}: the experiment's file sets them; change them there")
    texts = listed("profiles", profiles, EXAMPLE)
    if not all(isinstance(profile, str) for profile in texts):
        raise ExperimentError(f"profiles={shown(texts)}: give a list of texts, such as {EXAMPLE}")
    chosen = source if isinstance(source, Experiment) else load_experiment(source)
    chosen = chosen.with_profiles(tuple(texts))
    if games is not None:
        check_games(games)
        chosen = Experiment(**{**vars(chosen), "games": games})
    setting = Setting(**options)
    conditions = chosen.conditions
    _check_all(chosen, conditions, setting)
    own_workers = nullcontext(setting.workers) if isinstance(setting.workers, Workers) else Workers(setting.workers)
    with own_workers as workers, _games(chosen, setting.store) as store:
        shared: Options = {**options, "workers": workers, "store": store}
        results = tuple(ConditionResult(each, _measured(chosen, each, shared)) for each in conditions)
    return ExperimentResult(chosen, setting.seed, results)


@contextmanager
def _games(chosen: Experiment, store: GameStore | None) -> Iterator[GameStore | None]:
    """The store; for "both" a passing one if there is none, so that the games of self-play are played once."""
    if store is not None or chosen.measure != "both":
        yield store
        return
    with tempfile.TemporaryDirectory() as folder, GameStore(Path(folder, "games.sqlite")) as passing:
        yield passing


def count_games(chosen: Experiment) -> int:
    """How many games an experiment plays.

    Raises:
        UnknownMapError, EvaluationError: as `experiment`.
    """
    if chosen.measure == "self-play":
        return chosen.games * len(chosen.conditions)
    alone = chosen.games if chosen.measure == "both" else 0  # found again for exploitability
    return sum(alone + _count_attacked(chosen, each) for each in chosen.conditions)


def _count_attacked(chosen: Experiment, condition: Condition) -> int:
    """How many games the exploitability of a condition takes at most."""
    setting = Setting(map_name=condition.map_name, rules=condition.rules)
    profile = read_profile(condition.played)
    deviators = read_deviators(_deviators(chosen), profile, condition.played, setting)
    attacks = len(deviators) * len(resolve_coalitions(setting.board, condition.coalitions))
    return count_attacked(attacks, chosen.games, _choosing(chosen), len(deviators))


def _choosing(chosen: Experiment) -> int:
    """Games of each attack for choosing: not more than of the one that is measured."""
    return min(CHOOSING, chosen.games)


def _deviators(chosen: Experiment) -> list[str] | None:
    return list(chosen.deviators) or None


def _check_all(chosen: Experiment, conditions: Sequence[Condition], setting: Setting) -> None:
    """Make every policy and seat every profile of all conditions, so that errors come before the first game."""
    policies = [read(filled(deviator, "hold")) for deviator in chosen.deviators if deviator != PORTFOLIO]
    for each in conditions:
        own = Setting(seed=setting.seed, rules=each.rules, map_name=each.map_name, seats=each.seats)
        profile = read_profile(each.played)
        own.games(profile, 1)
        if each.coalitions:
            resolve_coalitions(own.board, each.coalitions)
        policies += profile.policies
    make_all(dict.fromkeys(policies), setting.shared_models)


def _measured(chosen: Experiment, condition: Condition, options: Options) -> Result:
    common: dict[str, Any] = {
        **options,
        "rules": condition.rules,
        "map_name": condition.map_name,
        "seats": condition.seats,
        "published": chosen.published,
    }
    if chosen.measure == "self-play":
        return self_play(condition.played, chosen.games, **common)
    own = self_play(condition.played, chosen.games, **common) if chosen.measure == "both" else None
    attacking: dict[str, Any] = {
        "choosing": _choosing(chosen),
        "deviator": _deviators(chosen),
        "coalitions": condition.coalitions,
    }
    attacked = exploitability(condition.played, chosen.games, **attacking, **common)
    return attacked if own is None else BothResult(own, attacked)


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
