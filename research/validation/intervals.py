"""Coverage of 95% intervals for known true values: means, ratios of sums, and the gain of a chosen attack.

    python -m research.validation.intervals            # 4,000 repetitions per row: minutes on one core
    python -m research.validation.intervals --quick

Games are numbers sampled from a distribution with a known mean. "played" resamples real games (random in all seats, and
with dumbbot in France; five years, no press); the mean of all these games is the true value. The intervals of
`mean_estimate` and `share_estimate` are compared with the expanded percentile interval (Hesterberg, 2015), a common
bootstrap. Widths are relative to Student's interval.

The best of several attacks is chosen by `evaluation.measures.gains.choose`, its gain measured on fresh games. They are
equally good, or their true gains have a standard deviation of a half; half of the variance between games is common to
all attacks, as in games paired with the same self-play. They use a quarter of the repetitions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

import evaluation
from evaluation.measures import intervals
from evaluation.measures.gains import choose_at_once, rounds
from evaluation.measures.intervals import (
    CONFIDENCE,
    FEWEST_GAMES,
    UNBOUNDED,
    Bounds,
    Floats,
    alike,
    mean_bounds,
    weighted_bounds,
)
from research.games import track
from research.tables import Folder, show
from welfare_env import Rules

Shape = tuple[int, int]
Draw = Callable[[np.random.Generator, Shape], Floats]  # [samples, games]
DrawShares = Callable[[np.random.Generator, Shape], tuple[Floats, Floats]]  # parts and wholes

RULES = Rules(years=5, message_rounds=0)
WELFARE = (0, math.inf)
ATTACKS = (20, 300, 1000)
SELECTION_GAMES = (2, 5)  # games per attack for the choice
SPREADS = {0.0: "equal", 0.5: "sd 0.5"}
FRESH = 20
GAMES = [3, 5, 10, 20, 40]  # games per sample
BATCH = 500


class Population(NamedTuple):
    """A distribution of games, its true mean, and the bounds of the measure given to the interval."""

    name: str
    draw: Draw
    truth: float
    within: tuple[float, float] = UNBOUNDED


class SharePopulation(NamedTuple):
    """A distribution of games' parts and wholes, and the true share."""

    name: str
    draw: DrawShares
    truth: float


class Coverage(NamedTuple):
    """Of many intervals: share that contain the true value, mean width, and share of samples without an interval."""

    covered: float
    width: float
    none: float


def made() -> list[Population]:
    """Distributions similar to those of welfare, gains and rates: skewed, discrete, with rare events, or with zeros."""
    rare = "1 in a share of games, else 0"
    return [
        Population("normal", lambda rng, shape: rng.normal(3, 1, shape), 3),
        Population("gamma(4)", lambda rng, shape: rng.gamma(4, 1, shape), 4),
        Population("exponential", lambda rng, shape: rng.exponential(1, shape), 1),
        Population("lognormal, sigma 1", lambda rng, shape: rng.lognormal(0, 1, shape), math.exp(0.5)),
        *(
            Population(f"root Nash: {zeros:.0%} zero, else sd {spread}", _welfare(zeros, spread), truth, WELFARE)
            for zeros, spread, truth in ((0.13, 0.5, 2.61), (0.05, 0.5, 2.85), (0.3, 0.5, 2.1), (0.13, 0.05, 2.61))
        ),
        Population("the first of these, without bounds", _welfare(0.13, 0.5), 2.61),
        *(
            Population(f"{rare}: {share}{', in [0, 1]' * (within[0] == 0)}", _rare(share), share, within)
            for within in ((0, 1), UNBOUNDED)
            for share in (0.5, 0.1, 0.05, 0.9)
        ),
        Population("beta(8, 2), in [0, 1]", lambda rng, shape: rng.beta(8, 2, shape), 0.8, (0, 1)),
        Population("beta(8, 2)", lambda rng, shape: rng.beta(8, 2, shape), 0.8),
        Population("-1, 0 or 2: 10, 70, 20%", _of_three, 0.3),
        Population("two humps: 30% at 0, 70% at 5", _either(0.3, 0, 5), 3.5),
        Population("robbed of 8 in 20% of games", _either(0.2, 8, 0), 1.6),
        Population("robbed of 8 in 5% of games", _either(0.05, 8, 0), 0.4),
    ]


def _welfare(zeros: float, spread: float) -> Draw:
    def draw(rng: np.random.Generator, shape: Shape) -> Floats:
        others = 3 + spread * np.clip(rng.normal(size=shape), -3, 3)
        return np.where(rng.random(shape) < zeros, 0.0, others)

    return draw


def _rare(share: float) -> Draw:
    return lambda rng, shape: (rng.random(shape) < share).astype(float)


def _either(share: float, one: float, other: float) -> Draw:
    return lambda rng, shape: np.where(rng.random(shape) < share, one, other) + 0.5 * rng.normal(size=shape)


def _of_three(rng: np.random.Generator, shape: Shape) -> Floats:
    return rng.choice([-1.0, 0.0, 2.0], shape, p=[0.1, 0.7, 0.2])


def made_shares() -> list[SharePopulation]:
    """Kept promises, spread evenly over games or concentrated in few games; and stolen centers."""
    return [
        SharePopulation("kept / judged promises: 80%", _promises(4, 1, lambda rng, shape: rng.poisson(4, shape)), 0.8),
        SharePopulation(
            "the same, most in few games", _promises(4, 1, lambda rng, shape: rng.geometric(0.08, shape) - 1), 0.8
        ),
        SharePopulation(
            "kept / judged promises: 95%", _promises(9.5, 0.5, lambda rng, shape: rng.poisson(4, shape)), 0.95
        ),
        SharePopulation(
            "stolen / held centers: 2%", _promises(0.2, 9.8, lambda rng, shape: rng.poisson(90, shape)), 0.02
        ),
    ]


def _promises(kept: float, broken: float, judged: Callable[[np.random.Generator, Shape], NDArray[Any]]) -> DrawShares:
    """Each game has its own probability, from a beta distribution."""

    def draw(rng: np.random.Generator, shape: Shape) -> tuple[Floats, Floats]:
        wholes = 1.0 + judged(rng, shape)
        return rng.binomial(wholes.astype(int), rng.beta(kept, broken, shape)).astype(float), wholes

    return draw


def played(games: int) -> list[Population]:
    """Root Nash welfare and a single power's gain, resampled from real games."""
    result = evaluation.exploitability("random", games, deviator="dumbbot", coalitions=["FRANCE"], rules=RULES)
    welfare = np.array([game.root_nash_welfare for game in result.baseline])
    gains = np.array(result.gains[0].gain.per_game)
    return [
        _drawn_from("played: root Nash welfare", welfare, WELFARE),
        _drawn_from("played: gain of dumbbot", gains, UNBOUNDED),
    ]


def _drawn_from(name: str, games: Floats, within: tuple[float, float]) -> Population:
    return Population(name, lambda rng, shape: rng.choice(games, shape), float(games.mean()), within)


def student(samples: Floats) -> Bounds:
    """Student's interval, the unit of width."""
    games = samples.shape[1]
    reach = stdtrit(games - 1, (1 + CONFIDENCE) / 2) * samples.std(axis=1, ddof=1) / math.sqrt(games)
    return Bounds(samples.mean(axis=1) - reach, samples.mean(axis=1) + reach)


def percentile(parts: Floats, wholes: Floats, rng: np.random.Generator) -> Bounds:
    """The expanded percentile interval of sum(parts) / sum(wholes)."""
    games = parts.shape[1]
    tail = float(ndtr(-math.sqrt(games / (games - 1)) * stdtrit(games - 1, (1 + CONFIDENCE) / 2)))
    counts = rng.multinomial(games, np.full(games, 1 / games), intervals.RESAMPLES).astype(float).T
    low, high = np.quantile(parts @ counts / (wholes @ counts), [tail, 1 - tail], axis=1)
    return Bounds(low, high)


def in_batches(bounds: Callable[..., Bounds], *arrays: Floats) -> Bounds:
    """The bounds of [samples, games], in batches of samples that fit in memory and share their bootstrap weights."""
    found = [bounds(*(each[first : first + BATCH] for each in arrays)) for first in range(0, len(arrays[0]), BATCH)]
    return Bounds(*(np.concatenate(each) for each in zip(*found, strict=True)))


def nothing(bounds: Bounds) -> Bounds:
    """The same number of missing intervals."""
    return Bounds(*(np.full_like(each, np.nan) for each in bounds))


def coverage(bounds: Bounds, truth: float) -> Coverage:
    """The coverage of bounds, among intervals that are not missing."""
    low, high = bounds
    there = ~(np.isnan(low) | np.isnan(high))
    if not there.any():
        return Coverage(math.nan, math.nan, 1.0)
    slack = 1e-9 * max(1.0, abs(truth))
    covered = (low[there] - slack <= truth) & (truth <= high[there] + slack)
    return Coverage(float(covered.mean()), float((high - low)[there].mean()), float(1 - there.mean()))


def mean_coverage(
    population: Population, games: int, repetitions: int, rng: np.random.Generator
) -> tuple[Coverage, Coverage, Coverage]:
    """Coverage of our interval, the percentile interval, and Student's."""
    samples = population.draw(rng, (repetitions, games))
    wholes = np.ones_like(samples)
    ours = in_batches(lambda some: mean_bounds(some, population.within, CONFIDENCE, rng), samples)
    usual = in_batches(lambda some, whole: percentile(some, whole, rng), samples, wholes)
    varied = student(samples[~alike(samples)])
    return (
        coverage(ours if games >= FEWEST_GAMES else nothing(ours), population.truth),
        coverage(usual, population.truth),
        coverage(varied, 0),
    )


def share_coverage(
    population: SharePopulation, games: int, repetitions: int, rng: np.random.Generator
) -> tuple[Coverage, Coverage, Coverage]:
    """As `mean_coverage`, for shares; Student's interval is of parts - share * wholes."""
    parts, wholes = population.draw(rng, (repetitions, games))
    ours = in_batches(lambda some, whole: weighted_bounds(some, whole, (0, 1), CONFIDENCE, rng), parts, wholes)
    usual = in_batches(lambda some, whole: percentile(some, whole, rng), parts, wholes)
    share = (parts.sum(axis=1) / wholes.sum(axis=1))[:, None]
    line = student((parts - share * wholes) / wholes.mean(axis=1, keepdims=True))
    return (
        coverage(ours if games >= FEWEST_GAMES else nothing(ours), population.truth),
        coverage(usual, population.truth),
        coverage(line, 0),
    )


class Chosen(NamedTuple):
    """Results of choices: coverage on fresh games; mean errors of fresh values and of choosing games; regret."""

    fresh: Coverage
    error: float
    luck: float
    behind: float


def choice_results(attacks: int, games: int, spread: float, repetitions: int, rng: np.random.Generator) -> Chosen:
    """Results for the best of several attacks whose true gains have this spread. Noise is gamma(4) with variance 1."""
    bounds, errors, luck, behind = [], [], [], []
    for _ in range(repetitions):
        truth = spread * rng.normal(size=attacks)
        common = _noise(rng, max(numbers.stop for _, numbers in rounds(attacks, games)))

        def play(alive: Sequence[int], numbers: range, truth: Floats = truth, common: Floats = common) -> list[Floats]:
            noise = (_noise(rng, (len(alive), len(numbers))) + common[numbers.start : numbers.stop]) / math.sqrt(2)
            return list((truth[list(alive), None] + noise)[..., None])

        choice = choose_at_once(attacks, play, games)
        fresh = _noise(rng, (2, FRESH)).sum(axis=0) / math.sqrt(2)  # deviations from the true gain
        bounds.append(fresh)
        errors.append(fresh.mean())
        luck.append(choice.means[choice.best] - truth[choice.best])
        behind.append(truth.max() - truth[choice.best])
    held = coverage(mean_bounds(np.array(bounds), UNBOUNDED, CONFIDENCE, rng), 0)
    return Chosen(held, *(float(np.mean(each)) for each in (errors, luck, behind)))


def _noise(rng: np.random.Generator, shape: int | Shape) -> Floats:
    return (rng.gamma(4, 1, shape) - 4) / 2


def cell(ours: Coverage, usual: Coverage, unit: Coverage) -> str:
    """Coverage and width, the samples without an interval, and in brackets the percentile interval's coverage."""
    if math.isnan(ours.covered):
        return f"- ({usual.covered:.0%})"
    none = f", {ours.none:.0%} none" if ours.none >= 0.005 else ""
    return f"{ours.covered:.1%}, {ours.width / unit.width:.2f}{none} ({usual.covered:.0%})"


def coverage_row(
    population: Population | SharePopulation, line: int, games: list[int], repetitions: int, seed: int
) -> list[str]:
    """A population: a cell per number of games."""
    cells = []
    for count in games:
        rng = np.random.default_rng([seed, count, line])
        if isinstance(population, SharePopulation):
            found = share_coverage(population, count, repetitions, rng)
        else:
            found = mean_coverage(population, count, repetitions, rng)
        cells.append(cell(*found))
    return [population.name, *cells]


def chosen_rows(repetitions: int, seed: int) -> Iterator[list[str]]:
    """By number of attacks and of games for the choice; a game's standard deviation is 1."""
    for place, (spread, kind) in enumerate(SPREADS.items()):
        for attacks in track(ATTACKS, f"choosing, {kind}"):
            for games in SELECTION_GAMES:
                found = choice_results(
                    attacks, games, spread, repetitions, np.random.default_rng([seed, attacks, games, place])
                )
                held = (f"{found.fresh.covered:.1%}", f"{found.fresh.width:.2f}")
                errors = (f"{found.error:+.2f}", f"{found.luck:+.2f}", f"{found.behind:.2f}")
                yield [str(attacks), kind, str(games), *held, *errors]


def main(
    repetitions: Annotated[int, typer.Option(min=2, help="Repetitions per row.")] = 4000,
    resamples: Annotated[int, typer.Option(min=100, help="Resamples per interval; evaluations use 10,000.")] = 2000,
    pool: Annotated[int, typer.Option(min=2, help="Real games to resample from.")] = 200,
    seed: int = 0,
    quick: Annotated[bool, typer.Option("--quick", help="200 repetitions of 400 resamples, and 10 games.")] = False,
    to: Folder = None,
) -> None:
    """Print coverage and width (relative to Student's interval); in brackets coverage of percentile intervals."""
    if quick:
        repetitions, resamples, pool = 200, 400, 10
    intervals.RESAMPLES = resamples
    populations: list[Population | SharePopulation] = [*played(pool), *made(), *made_shares()]
    lines = enumerate(track(populations, "measuring"))
    rows = [coverage_row(each, line, GAMES, repetitions, seed) for line, each in lines]
    show(to, "measures-coverage", ("games", *(f"n = {count}" for count in GAMES)), rows)
    fewer = max(2, repetitions // 4)
    names = (
        "attacks",
        "true gains",
        "games",
        "covered",
        "width",
        "error",
        "error in selection games",
        "below the best",
    )
    show(to, "measures-chosen", names, chosen_rows(fewer, seed))


if __name__ == "__main__":
    typer.run(main)
