"""Compare policies or results: paired differences over the same games, with intervals.

Game i has the same seed in both conditions, so differences are taken game by game, and common randomness cancels. The
unit is the whole game.

The intervals of several differences hold simultaneously with 95% confidence. Each is the interval of a mean
(`evaluation.measures.intervals`) at Bonferroni's level, 0.05 divided by the number of differences (Dunn, "Multiple
comparisons among means", Journal of the American Statistical Association 56, 1961), whatever their dependence.
`python -m research.validation.contrasts` measures how often equal policies seem to differ.

If all games have the same difference, there is no interval. For two equal conditions, a difference is as likely as its
negative, so n equal nonzero differences have a probability of at most 2 / 2**n (the sign test).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from agents.runtime.results import Result
from agents.runtime.table_files import Row
from agents.specs import read_profile
from evaluation.checks import EvaluationError, listed
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult
from evaluation.experiments.self_play import BY_POLICY, BY_POWER, BY_YEAR, MEASURES, SelfPlayResult, measure_self_play
from evaluation.measures import costs
from evaluation.measures.intervals import CONFIDENCE, Estimate, Seed, mean_estimates, plain
from evaluation.options import takes_options
from evaluation.play.game_spec import Setting
from evaluation.play.runner import Begun, PlayOptions, Runner, read_options
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

Key = TypeVar("Key", bound=Hashable)

GAMES = 20
NOTHING = "nothing to compare: give two or more policies or results, or one profile of several policies"
EXAMPLE = "['root_nash_welfare', 'conflicts']"
KEYS = dict.fromkeys(BY_POWER, "POWER") | dict.fromkeys(BY_POLICY, "POLICY") | dict.fromkeys(BY_YEAR, "YEAR")
"""Measures with a value per power, policy or year: "welfare_per_year:FRANCE"."""
OWN = "own"
"""In place of a policy: the one that no other profile has, if each has one."""
OF_WELFARE = (*MEASURES[:3], "welfare_per_year", "welfare_by_policy", "welfare_by_year")  # nan in standard games
OF_SCORES = ("best_score", "scores", "scores_by_policy")  # their unit depends on the rules' scoring

Compared = SelfPlayResult | ExploitabilityResult | RedTeamResult


@dataclass(frozen=True)
class Sample:
    """The measures of one result: "welfare_per_year:FRANCE" for one power.

    Attributes:
        name: the profile.
        facts: the settings; those that differ between samples are added to the name.
        seed, games: seed of the evaluation, and number of games.
    """

    name: str
    facts: Mapping[str, Any]
    seed: int
    games: int
    estimates: dict[str, Estimate]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Contrast:
    """The difference of two conditions in one measure: second - first.

    Attributes:
        measure: name of the measure, as in `result.to_dict()`; "welfare_per_year:FRANCE" for one power.
        first, second: names of the conditions.
        first_value, second_value: the measure in each condition, with its own interval.
        difference: mean over games of second - first; the intervals of all contrasts of a `Comparison` hold
            simultaneously. `per_game` has the difference in each game.
        is_clear: whether 0 is outside the interval; if all games have the same difference, by the sign test.
    """

    measure: str
    first: str
    second: str
    first_value: Estimate
    second_value: Estimate
    difference: Estimate
    is_clear: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return dict(plain(vars(self)))


@dataclass(frozen=True, repr=False)
class Comparison(Result):
    """Paired contrasts over the same games.

    Attributes:
        contrasts: one per measure and pair of conditions; their intervals hold simultaneously.
        seed: seed of the evaluation.
        games: games per condition.
        shared: settings that are the same in all conditions: fields of `welfare_env.Rules`, and "map".
        varied: names of settings that differ.
        notes: caveats of the games.
    """

    contrasts: tuple[Contrast, ...]
    seed: int
    games: int
    shared: Mapping[str, Any]
    varied: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def baseline(self) -> str:
        """The first condition of all contrasts; "" if they have different ones."""
        first = {each.first for each in self.contrasts}
        return first.pop() if len(first) == 1 else ""

    @property
    def measures(self) -> tuple[str, ...]:
        """The compared measures."""
        return tuple(dict.fromkeys(each.measure for each in self.contrasts))

    def rows(self) -> list[Row]:
        """One row per contrast; its interval holds simultaneously with the others (columns: docs/results.md)."""
        return [
            {
                "measure": each.measure,
                "first": each.first,
                "second": each.second,
                "first_value": each.first_value.value,
                "second_value": each.second_value.value,
                "difference": each.difference.value,
                "low": each.difference.low,
                "high": each.difference.high,
                "is_clear": each.is_clear,
                "games": each.difference.n,
                "evaluation_seed": self.seed,
                "comparisons": len(self.contrasts),
            }
            for each in self.contrasts
        ]

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {
            **{name: plain(getattr(self, name)) for name in ("seed", "games", "shared", "varied", "notes")},
            "confidence": CONFIDENCE,
            "contrasts": plain(self.contrasts),
        }


@takes_options(Setting, Runner)
def compare(
    *compared: Any,
    measure: str | Sequence[str] | None = None,
    pairs: bool = False,
    games: int | None = None,
    **options: Unpack[PlayOptions],
) -> Comparison:
    """Compare conditions in a measure: paired differences (second - first) over games with the same seeds.

    Of a single profile, compare its policies with each other, in the same games.

    >>> import evaluation
    >>> from welfare_env import Rules
    >>> rules = Rules(years=2, press=None)
    >>> print(evaluation.compare("hold", "prosocial", games=5, rules=rules, map_name="clique:3"))
    root_nash_welfare: prosocial - hold = +2.000 [identical in 5 games]

    Args:
        compared: two or more profiles, as for `self_play`, which are played; or results of `self_play`,
            `exploitability` and `red_team`. The first is the baseline. Or one profile, or its result, with several
            policies: the first of them is the baseline.
        measure: one or several: "root_nash_welfare", "conflicts", "welfare_per_year:FRANCE"; "welfare_per_year" alone
            compares it for every power, and "welfare_by_policy" for every policy that all profiles have and, as
            "welfare_by_policy:own", for those in which they differ. None for the first measure that all have: root Nash
            welfare, in the standard variant the best score, or exploitability; for one profile "welfare_by_policy".
        pairs: compare all pairs, instead of all with the first.
        games: games per profile; 20 by default.
        options: the fields of `evaluation.Setting` and the arguments of `evaluation.Runner`, for profiles. To compare
            rules, pass results.

    Raises:
        EvaluationError: an unknown measure, or a measure without a value in some game; different seeds or numbers of
            games; or nothing to compare.
        UnknownAgentError, ProfileError and others: as `self_play`, for profiles.
    """
    if not isinstance(pairs, bool):
        raise EvaluationError(f"pairs={quoted(pairs)}: give True or False")
    are_results = [isinstance(each, Compared) for each in compared]
    if not any(are_results):
        setting, runner = read_options(options)
        check_measures(compared, measure, setting)
        number = GAMES if games is None else games
        begun = Begun(*(measure_self_play(each, number, setting) for each in compared))
        return compare_results(begun.results(runner), measure, pairs)
    if not all(are_results):
        raise EvaluationError(
            f"{quoted(compared[are_results.index(False)])} is not a result: give only results or only policies"
        )
    if given := [name for name, value in ({"games": games} | options).items() if value is not None]:
        raise EvaluationError(f"{', '.join(given)}: only for policies, not for results of games already played")
    return compare_results(compared, measure, pairs)


def check_measures(profiles: Sequence[Any], measure: str | Sequence[str] | None, setting: Setting) -> None:
    """Check before the first game that there is something to compare, and that self-play has these measures.

    Raises:
        EvaluationError: an unknown measure, or a measure of welfare in standard games; or nothing to compare.
        UnknownPowerError: a power that is not on the map.
    """
    if len(profiles) == 1 and not read_profile(profiles[0]).is_mixed:
        raise EvaluationError(NOTHING)
    singles, keys = ((*MEASURES, *KEYS), KEYS) if len(profiles) > 1 else (BY_POLICY, {})
    for name in _listed(measure):
        family, _, key = name.partition(":") if isinstance(name, str) else ("", "", "")
        if not isinstance(name, str) or (name not in singles and not (family in keys and key)):
            raise EvaluationError(_unknown(name, singles, is_keyed=bool(keys)))
        if not setting.played.is_welfare and family in OF_WELFARE:
            raise EvaluationError(f"{name} has no value in standard games, which have no welfare: compare best_score")
        if family in BY_POWER and key:
            setting.board.check_power(key)


def compare_results(
    results: Sequence[Compared], measure: str | Sequence[str] | None = None, pairs: bool = False
) -> Comparison:
    """`compare` for results; raises the same errors."""
    samples = _samples(results)
    if len(samples) < 2:
        raise EvaluationError(NOTHING)
    first = samples[0]
    for other in samples[1:]:
        for what in ("seed", "games"):
            if (there := getattr(other, what)) != (here := getattr(first, what)):
                raise EvaluationError(
                    f"{what} is {here} for {first.name!r:.80} but {there} for {other.name!r:.80}: play both with the "
                    "same seed and number of games, since games with the same seed are compared"
                )
    measures, labels, varied = _measures(measure, samples), _labels(samples), _varied(samples)
    for name in measures:
        for label, sample in zip(labels, samples, strict=True):
            _check_value(name, label, sample)
        scorings = dict.fromkeys(str(sample.facts.get("scoring")) for sample in samples)
        if name.partition(":")[0] in OF_SCORES and len(scorings) > 1:
            raise EvaluationError(f"{name}: scoring is {' and '.join(scorings)}: such scores have different units")
    values = [
        (label, {name: sample.estimates[name] for name in measures})
        for label, sample in zip(labels, samples, strict=True)
    ]
    found = contrasts(values, pairs_of(len(samples), pairs), first.seed)
    shared = {fact: value for fact, value in first.facts.items() if fact not in varied}
    notes = dict.fromkeys(note for sample in samples for note in sample.notes)
    return Comparison(found, first.seed, first.games, shared, tuple(varied), tuple(notes))


def _samples(results: Sequence[Compared]) -> list[Sample]:
    """A sample for each result; of a single result of self-play, for each of its policies."""
    samples = [_sample(result) for result in results]
    played = [list(result.welfare_by_policy) if isinstance(result, SelfPlayResult) else [] for result in results]
    if len(results) == 1:
        return [replace(samples[0], name=policy, estimates=_of(policy, samples[0])) for policy in played[0]]
    counts = Counter(policy for policies in played for policy in policies)
    own = [[policy for policy in policies if counts[policy] < len(results)] for policies in played]
    if all(len(policies) == 1 for policies in own):
        for sample, (policy,) in zip(samples, own, strict=True):
            sample.estimates.update((f"{name}:{OWN}", found) for name, found in _of(policy, sample).items())
    return samples


def _of(policy: str, sample: Sample) -> dict[str, Estimate]:
    """The measures of one policy."""
    return {name: sample.estimates[f"{name}:{policy}"] for name in BY_POLICY}


def _sample(result: Compared) -> Sample:
    if isinstance(result, SelfPlayResult):
        estimates = {name: getattr(result, name) for name in MEASURES}
        estimates |= {f"{name}:{key}": each for name in KEYS for key, each in getattr(result, name).items()}
        facts = result.rules.to_dict() | {"map": result.map_name}
        return Sample(result.policy, facts, result.seed, len(result.measures), estimates, result.notes)
    found = result.found if isinstance(result, RedTeamResult) else result
    # The gain itself, not floored at 0 as in `found.value`.
    estimates = {"exploitability": found.best_gain.gain}
    estimates |= {name: getattr(found.costs, name) for name in costs.MEASURES}
    facts = found.rules.to_dict() | {"map": found.map_name, "deviators": list(found.attacks)}
    return Sample(found.profile, facts, found.seed, len(found.baseline), estimates, found.notes)


def _labels(samples: Sequence[Sample]) -> list[str]:
    """For each sample, its name and the facts that differ between samples; numbered if still not unique."""
    facts = _varied(samples)
    if len({sample.name for sample in samples}) == len(samples):
        facts = [fact for fact in facts if fact != "deviators"]  # by default, each profile has its own
    labels: list[str] = []
    for sample in samples:
        label = ", ".join([sample.name, *(f"{fact}={sample.facts.get(fact)}" for fact in facts)])
        count = sum(other == label or other.startswith(f"{label} (") for other in labels)
        labels.append(f"{label} ({count + 1})" if count else label)
    return labels


def _varied(samples: Sequence[Sample]) -> list[str]:
    """The facts that are not the same in all samples."""
    facts = dict.fromkeys(fact for sample in samples for fact in sample.facts)
    return [fact for fact in facts if len({repr(sample.facts.get(fact)) for sample in samples}) > 1]


def _listed(measure: str | Sequence[str] | None) -> list[Any]:
    if measure is None or isinstance(measure, str):
        return [] if measure is None else [measure]
    if not (names := listed("measure", measure, EXAMPLE)):
        raise EvaluationError(f"measure=[]: give one or more measures, such as {EXAMPLE}")
    return names


def _measures(wanted: str | Sequence[str] | None, samples: Sequence[Sample]) -> list[str]:
    """The measures to compare: those of a family for every power, policy or year that all samples have."""
    shared = [name for name in samples[0].estimates if all(name in sample.estimates for sample in samples)]
    if wanted is None:
        found = [name for name in shared if all(_is_whole(sample.estimates[name], sample) for sample in samples)][:1]
        if not found:
            raise EvaluationError("these results have no measure in common that has a value in every game")
        return found
    measures: dict[str, None] = {}
    for name in _listed(wanted):
        own = [each for each in shared if name in (each, each.partition(":")[0])]
        if not own:
            singles = dict.fromkeys(each.partition(":")[0] for each in shared)
            raise EvaluationError(_unknown(name, list(singles), shared))
        measures |= dict.fromkeys(own)
    return list(measures)


def _unknown(measure: object, known: Sequence[str], keyed: Sequence[str] = (), is_keyed: bool = True) -> str:
    """The error message for an unknown measure; `keyed` are names with a power, policy or year."""
    choices = [f"{name}:{KEYS[name]}" if is_keyed and name in KEYS else name for name in known]
    return f"measure={quoted(measure)}{did_you_mean(measure, [*known, *keyed])}: choose from {', '.join(choices)}"


def _is_whole(estimate: Estimate, sample: Sample) -> bool:
    """Whether a measure has a value in every game."""
    return sum(map(math.isfinite, estimate.per_game)) == sample.games


def _check_value(measure: str, label: str, sample: Sample) -> None:
    """Check that a measure has a value in every game."""
    found = sample.estimates[measure]
    if not _is_whole(found, sample):
        count = sum(map(math.isfinite, found.per_game))
        is_standard = sample.facts.get("variant") == "standard"
        hint = "; a standard game has no welfare: compare best_score or scores" * is_standard
        raise EvaluationError(
            f"{measure} has only {count} values in the {sample.games} games of {label:.200}, but every game needs "
            f"one{hint}"
        )


def contrasts(
    conditions: Sequence[tuple[str, Mapping[str, Estimate]]], pairs: Sequence[tuple[int, int]], seed: int
) -> tuple[Contrast, ...]:
    """The contrasts of conditions in all of their measures, with simultaneous intervals.

    Args:
        conditions: (label, measure -> estimate); all with the same measures and numbers of games.
        pairs: for each contrast, the numbers of the first and second condition.
        seed: seed of the intervals.

    Raises:
        SampleError: as `mean_estimate`.
    """
    keys = [(measure, *pair) for measure in conditions[0][1] for pair in pairs] if conditions else []
    firsts = {key: conditions[key[1]][1][key[0]] for key in keys}
    seconds = {key: conditions[key[2]][1][key[0]] for key in keys}
    before, after = ({key: each.per_game for key, each in side.items()} for side in (firsts, seconds))
    found = differences(before, after, seed, len(keys))

    def contrast(key: tuple[str, int, int]) -> Contrast:
        names = conditions[key[1]][0], conditions[key[2]][0]
        return Contrast(key[0], *names, firsts[key], seconds[key], found[key], is_clear(found[key], len(keys)))

    return tuple(map(contrast, keys))


def differences(
    first: Mapping[Key, ArrayLike], second: Mapping[Key, ArrayLike], rng: Seed, comparisons: int
) -> dict[Key, Estimate]:
    """The mean of second - first for each key, with intervals that hold simultaneously.

    Args:
        first, second: key -> [games] one finite value per game, with the same keys and numbers of games.
        rng: a Generator, or a seed.
        comparisons: number of intervals that hold simultaneously.

    Raises:
        SampleError: as `mean_estimate`.
    """
    per_game = {key: _subtracted(second[key], first[key]) for key in first}
    return mean_estimates(per_game, rng, confidence=1 - (1 - CONFIDENCE) / max(comparisons, 1))


def is_clear(difference: Estimate, comparisons: int) -> bool:
    """Whether a difference is significantly different from 0.

    Args:
        difference: the difference, with a simultaneous interval.
        comparisons: number of simultaneous intervals.
    """
    if difference.is_alike:
        return difference.value != 0 and difference.n >= fewest_alike(comparisons)
    return difference.low > 0 or difference.high < 0  # nan is neither


def fewest_alike(comparisons: int) -> int:
    """Minimum number of games with the same nonzero difference for `is_clear`."""
    return 1 + math.ceil(math.log2(comparisons / (1 - CONFIDENCE)))


def pairs_of(count: int, every: bool) -> list[tuple[int, int]]:
    """Pairs of condition numbers to compare: all with the first, or every pair."""
    return [(first, second) for first in range(count if every else 1) for second in range(first + 1, count)]


def _subtracted(second: ArrayLike, first: ArrayLike) -> NDArray[np.float64]:
    """second - first, with rounding errors set to 0."""
    difference = np.subtract(second, first, dtype=np.float64)
    return np.where(np.abs(difference) <= 1e-12 * np.abs(first), 0.0, difference)
