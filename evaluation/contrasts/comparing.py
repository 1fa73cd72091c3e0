"""Compare policies, conditions or experiments: paired differences over the same games, with intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from evaluation.checks import EvaluationError, listed
from evaluation.contrasts.paired import Comparison, contrasts, pairs_of
from evaluation.contrasts.samples import FAMILIES, KEYS, Sample, is_played, of_self_play, of_study, samples_of
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.self_play import BY_POWER, MEASURES, SelfPlayResult, plan_self_play
from evaluation.options import takes_options
from evaluation.play.game_settings import GameSettings, Options
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

GAMES = 20
NOTHING = "nothing to compare: give two or more policies or results, or an experiment"
EXAMPLE = "['root_nash_welfare', 'conflicts']"
OF_WELFARE = (*MEASURES[:3], "welfare_per_year", "welfare_by_policy", "welfare_by_year")  # nan in standard games
OF_SCORES = ("best_score", "scores", "scores_by_policy")  # their unit depends on the rules' scoring


@takes_options(GameSettings)
def compare(
    *compared: Any,
    measure: str | Sequence[str] | None = None,
    pairs: bool = False,
    games: int | None = None,
    **options: Unpack[Options],
) -> Comparison:
    """Compare conditions in a measure: paired differences (second - first) over games with the same seeds.

    >>> import evaluation
    >>> from welfare_env import Rules
    >>> rules = Rules(years=2, press=None)
    >>> print(evaluation.compare("hold", "prosocial", games=5, rules=rules, map_name="clique:3"))
    root_nash_welfare: prosocial - hold = +2.000 [all 5 alike]

    Args:
        compared: two or more profiles or results; the first is the baseline. Profiles, as for `self_play`, are played.
            Results: of `self_play`, `exploitability` and `red_team`; conditions of an experiment, its result, its
            folder or its results.json. For one experiment, all conditions are compared with its first; for several
            experiments, conditions with the same profile, coalitions and swept values are compared.
        measure: one or several: "root_nash_welfare", "conflicts", "welfare_per_year:FRANCE"; "welfare_per_year" alone
            compares it for every power. None for the first measure that all have: root Nash welfare, in the standard
            variant the best score, or exploitability.
        pairs: compare all pairs, instead of all with the first.
        games: games per profile; 20 by default.
        options: the fields of `evaluation.Setting`, for profiles. To compare rules, pass results.

    Raises:
        EvaluationError: an unknown measure, or a measure without a value in some game; different seeds or numbers of
            games; nothing to compare; or files that are not an experiment's results.
        UnknownAgentError, ProfileError and others: as `self_play`, for profiles.
    """
    if not isinstance(pairs, bool):
        raise EvaluationError(f"pairs={quoted(pairs)}: give True or False")
    given = [name for name, value in ({"games": games} | options).items() if value is not None]
    played = [is_played(each) for each in compared]
    if not any(played):
        if len(compared) < 2:
            raise EvaluationError(NOTHING)
        settings = GameSettings(**options)
        check_measures(measure, settings)
        plans = [plan_self_play(each, GAMES if games is None else games, settings) for each in compared]
        with settings.pooled() as pooled:
            groups = [[of_self_play(plan.run(pooled))] for plan in plans]
    elif not all(played):
        policy = compared[played.index(False)]
        raise EvaluationError(f"{quoted(policy)} is not a result: give only results or only policies")
    elif given:
        raise EvaluationError(f"{', '.join(given)}: only for policies, not for results of games already played")
    else:
        groups = [samples_of(each) for each in compared]
    return compare_samples(groups, measure, pairs)


def check_measures(measure: str | Sequence[str] | None, setting: GameSettings) -> None:
    """Check before the first game that self-play has these measures.

    Raises:
        EvaluationError: an unknown measure, or a measure of welfare in standard games.
        UnknownPowerError: a power that is not on the map.
    """
    for name in _listed(measure):
        family, _, key = name.partition(":") if isinstance(name, str) else ("", "", "")
        if not isinstance(name, str) or (name not in (*MEASURES, *FAMILIES) and not (family in FAMILIES and key)):
            raise EvaluationError(_unknown(name, [*MEASURES, *FAMILIES]))
        if not setting.played.is_welfare and family in OF_WELFARE:
            raise EvaluationError(f"{name} has no value in standard games, which have no welfare: compare best_score")
        if family in BY_POWER and key:
            setting.board.check_power(key)


def compare_samples(
    groups: Sequence[Sequence[Sample]], measure: str | Sequence[str] | None = None, pairs: bool = False
) -> Comparison:
    """`compare` for samples. If all of several groups have several samples, samples with the same `key` are compared.

    Raises:
        EvaluationError: as `compare`.
    """
    samples = [sample for group in groups for sample in group]
    if len(samples) < 2:
        raise EvaluationError(NOTHING)
    is_matched = len(groups) > 1 and min(map(len, groups)) > 1
    numbers = _matched(groups) if is_matched else pairs_of(len(samples), pairs)
    for other in samples[1:]:
        if other.seed != samples[0].seed:
            raise _unpaired("seed", samples[0], samples[0].seed, other, other.seed)
    measures = _measures(measure, samples)
    labels = _labels(samples)
    for name in measures:
        _check_paired(name, samples)
        for label, sample in zip(labels, samples, strict=True):
            _check_value(name, label, sample)
        _check_scoring(name, samples)
    values = [
        (label, {name: sample.find(name) for name in measures}) for label, sample in zip(labels, samples, strict=True)
    ]
    notes = dict.fromkeys(note for sample in samples for note in sample.notes)
    units = {name: samples[0].unit(name)[0] for name in measures}
    found = contrasts(values, numbers, samples[0].seed, units)  # type: ignore[arg-type]
    varied = _varied(samples)
    shared = {fact: value for fact, value in samples[0].facts.items() if fact not in varied}
    return Comparison(found, samples[0].seed, samples[0].games, shared, tuple(varied), tuple(notes))


def compare_sweep(results: Sequence[SelfPlayResult | ExploitabilityResult]) -> Comparison | None:
    """Contrasts of the conditions of a sweep with the first, in their main measure.

    Returns:
        None if there is only one condition, or if seeds or numbers of games differ.
    """
    return _swept([sample for result in results for sample in samples_of(result)], None)


def compare_study(study: Mapping[str, Any], measures: Iterable[str]) -> Comparison | None:
    """Contrasts of an experiment's conditions with its first, in the measures that have a value in every game.

    Args:
        study: `ExperimentResult.to_dict()`, or the contents of results.json.

    Returns:
        None as for `compare_sweep`, or if there is no such measure.

    Raises:
        EvaluationError: a part of the study is missing or invalid.
    """
    return _swept(of_study(study), measures)


def _swept(samples: Sequence[Sample], measures: Iterable[str] | None) -> Comparison | None:
    """Contrasts with the first sample; None if there are none."""
    wanted = _main_measures(samples) if measures is None else measures
    usable = [measure for measure in wanted if all(sample.has(measure) for sample in samples)]
    usable = [measure for measure in usable if len({sample.unit(measure) for sample in samples}) == 1]
    is_paired = len({sample.seed for sample in samples}) == 1
    return compare_samples([samples], usable) if len(samples) > 1 and usable and is_paired else None


# Checks that samples can be compared


def _check_paired(measure: str, samples: Sequence[Sample]) -> None:
    """Check that a measure is over equally many games, or training seeds, in all samples."""
    (unit, count), first = samples[0].unit(measure), samples[0]
    for other in samples[1:]:
        other_unit, other_count = other.unit(measure)
        if other_unit != unit:
            raise _unpaired(f"the unit of {measure}", first, unit, other, other_unit)
        if other_count != count:
            raise _unpaired(unit, first, count, other, other_count)


def _unpaired(what: str, first: Sample, here: object, other: Sample, there: object) -> EvaluationError:
    return EvaluationError(
        f"{what} is {here} for {first.name!r:.80} but {there} for {other.name!r:.80}: play both with the same seed and "
        "number of games, since games with the same seed are compared"
    )


def _matched(groups: Sequence[Sequence[Sample]]) -> list[tuple[int, int]]:
    """Pairs of sample numbers: each sample of the first group with the sample of the same key in every other group."""
    places = {sample.key: number for number, sample in enumerate(groups[0])}
    numbers: list[tuple[int, int]] = []
    start = len(groups[0])
    for group in groups[1:]:
        found = [(places[each.key], start + number) for number, each in enumerate(group) if each.key in places]
        if not found:
            here, there = (", ".join(sample.key for sample in some) for some in (groups[0], group))
            raise EvaluationError(
                "the experiments have no condition in common (same profile, coalitions and swept values): "
                f"{here:.200} and {there:.200}"
            )
        numbers += found
        start += len(group)
    return numbers


def _labels(samples: Sequence[Sample]) -> list[str]:
    """For each sample, its name and the facts that differ between samples; numbered if still not unique."""
    names = [sample.name for sample in samples]
    facts = _varied(samples)
    if len(set(names)) == len(names):
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


def _measures(wanted: str | Sequence[str] | None, samples: Sequence[Sample]) -> list[str]:
    """The measures to compare."""
    if wanted is None:
        if not (usual := _main_measures(samples)):
            raise EvaluationError("these results have no measure in common that has a value in every game")
        return usual
    return list(dict.fromkeys(each for name in _listed(wanted) for each in _expanded(name, samples)))


def _main_measures(samples: Sequence[Sample]) -> list[str]:
    """The first measure that has a value in every game; [] if there is none."""
    return [name for name in samples[0].singles if all(sample.has(name) for sample in samples)][:1]


def _listed(measure: str | Sequence[str] | None) -> list[Any]:
    if measure is None or isinstance(measure, str):
        return [] if measure is None else [measure]
    if not (names := listed("measure", measure, EXAMPLE)):
        raise EvaluationError(f"measure=[]: give one or more measures, such as {EXAMPLE}")
    return names


def _expanded(measure: Any, samples: Sequence[Sample]) -> list[str]:
    """A measure; for the name of a family, the measure of every power, policy or year."""
    if isinstance(measure, str):
        if keys := [f"{measure}:{key}" for key in samples[0].family(measure)]:
            return [key for key in keys if all(sample.find(key) for sample in samples)]
        if all(sample.find(measure) for sample in samples):
            return [measure]
    known = [name for name in samples[0].singles if all(name in sample.singles for sample in samples)]
    families = [name for name in FAMILIES if all(name in sample.families for sample in samples)]
    keyed = [f"{name}:{key}" for name in families for key in samples[0].family(name)]
    raise EvaluationError(_unknown(measure, [*known, *families], keyed))


def _unknown(measure: object, known: Sequence[str], keyed: Sequence[str] = ()) -> str:
    """The error message for an unknown measure; `keyed` are names with a power, policy or year."""
    choices = [f"{name}:{KEYS[name]}" if name in KEYS else name for name in known]
    return f"measure={quoted(measure)}{did_you_mean(measure, [*known, *keyed])}: choose from {', '.join(choices)}"


def _check_value(measure: str, label: str, sample: Sample) -> None:
    """Check that a measure has a value in every game, and is the mean of these values."""
    found = sample.find(measure)
    if found is None or not sample.has(measure):
        count = 0 if found is None else sample.values_of(found)
        unit, number = sample.unit(measure)
        is_standard = sample.facts.get("variant") == "standard"
        hint = "; a standard game has no welfare: compare best_score or scores" * is_standard
        raise EvaluationError(
            f"{measure} has only {count} values in the {number} {unit} of {label:.200}, but every game needs one{hint}"
        )
    if not math.isclose(math.fsum(found.per_game) / len(found.per_game), found.value, rel_tol=1e-6, abs_tol=1e-9):
        raise EvaluationError(
            f"{measure} of {label:.200} is not a mean over games, so it cannot be compared game by game"
        )


def _check_scoring(measure: str, samples: Sequence[Sample]) -> None:
    """Check that all samples use the same scoring."""
    scorings = dict.fromkeys(str(sample.facts.get("scoring")) for sample in samples)
    if measure.partition(":")[0] in OF_SCORES and len(scorings) > 1:
        raise EvaluationError(f"{measure}: scoring is {' and '.join(scorings)}: such scores have different units")
