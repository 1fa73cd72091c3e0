"""How often 95% intervals hold the truth, where the truth is known: means, single gains, and the best of several.

    python -m benchmarks.calibration            # 1,000 repetitions of each line, at 20 and at 5 games: 15 minutes
    python -m benchmarks.calibration --quick

Games are numbers drawn from a distribution with a known mean. "played" draws them from games that were really played
(random in all seats, and with dumbbot in France; five years, no press), all of which together are the truth. The best
of several is over twelve gains of one power, or of two powers each ("pairs"): all equally good ("ties"), each a half or
a whole standard error worse than the one before or than the best ("near ties"), or one far better. Half the variance is
common to all, as it is where games are paired with the same self-play.

Means take four times as many repetitions, since they take less time. "Stopped" plays on from ten games until the
interval is as narrow as wished, as `precision=` does.

For the best of several it prints the corrected interval's coverage, width and mean error of its value, and beside it
the naive one's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Annotated, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

import evaluation
from agents.progress import metered
from evaluation.experiments.stopping import FIRST_LOOK, further_games
from evaluation.measures import intervals
from evaluation.measures.intervals import Estimate, Floats, mean_estimate, portfolio_estimate
from welfare_env import Rules

Draw = Callable[[np.random.Generator, int], Floats]  # games from a generator and their number

GAINS = 12
MORE = 4  # times the repetitions, of means
STOPPED = ((0, 0.8), (0, 1.5), (1, 1.6), (3, 1.0))  # which of `made`, and the wished width
RULES = Rules(years=5, message_rounds=0)


class Population(NamedTuple):
    """Where games come from, and their true mean."""

    name: str
    draw: Draw
    truth: float


class Choice(NamedTuple):
    """Several gains, by how many standard errors of the mean each is worse than the best, and members of each."""

    name: str
    worse: Floats
    members: int = 1


def made() -> list[Population]:
    """Distributions as welfare and gains have them: skewed to either side, heaped, or with games of no welfare."""
    return [
        Population("normal", lambda rng, games: rng.normal(3, 1, games), 3),
        Population("skewed to the right: gamma(4)", lambda rng, games: rng.gamma(4, 1, games), 4),
        Population("skewed to the left: beta(8, 2)", lambda rng, games: rng.beta(8, 2, games), 0.8),
        Population("a fifth without welfare", _with_zeros, 2.4),
    ]


def _with_zeros(rng: np.random.Generator, games: int) -> Floats:
    return np.where(rng.random(games) < 0.2, 0.0, rng.normal(3, 0.5, games))


def played(games: int) -> list[Population]:
    """Root Nash welfare and a single gain, of games that were played."""
    result = evaluation.exploitability("random", games, deviator="dumbbot", coalitions=["FRANCE"], rules=RULES)
    welfare = np.array([game.root_nash_welfare for game in result.baseline])
    gains = np.array(result.gains[0].gain.per_game)
    return [_drawn_from("played: root Nash welfare", welfare), _drawn_from("played: gain of dumbbot", gains)]


def _drawn_from(name: str, games: Floats) -> Population:
    return Population(name, lambda rng, count: rng.choice(games, count), float(games.mean()))


def choices() -> list[Choice]:
    """From twelve equally good ones to one that is far better than the others."""
    steps = np.arange(GAINS, dtype=float)
    alone = np.minimum(steps, 1)
    return [
        Choice("ties", 0 * steps),
        Choice("near ties, half an error apart", steps / 2),
        Choice("near ties, one error below the best", alone),
        Choice("two errors below the best", 2 * alone),
        Choice("one clear best", 10 * alone),
        Choice("ties of pairs", 0 * steps, 2),
        Choice("pairs, one clear best", 10 * alone, 2),
    ]


def mean_row(population: Population, games: int, repetitions: int, rng: np.random.Generator) -> Iterator[Estimate]:
    """An estimate a repetition."""
    for _ in range(repetitions):
        yield mean_estimate(population.draw(rng, games), rng)


def stopped_row(
    population: Population, precision: float, repetitions: int, rng: np.random.Generator
) -> Iterator[Estimate]:
    """An estimate a repetition, of as many games as a wished width takes."""
    for _ in range(repetitions):
        games = population.draw(rng, FIRST_LOOK)
        estimate = mean_estimate(games, rng)
        while more := further_games(estimate, precision, most=200):
            games = np.concatenate([games, population.draw(rng, more)])
            estimate = mean_estimate(games, rng)
        yield estimate


def choice_row(
    choice: Choice, games: int, repetitions: int, rng: np.random.Generator
) -> Iterator[tuple[Estimate, Estimate]]:
    """The corrected and the naive estimate of a repetition; the truth is 0. Noise is skewed: gamma(4), variance 1."""
    powers = tuple("AB"[: choice.members])
    baseline = {power: np.zeros(games) for power in powers}
    means = -choice.worse / np.sqrt(games)
    for _ in range(repetitions):
        own, common = (_noise(rng, (games, count, choice.members)) for count in (GAINS, 1))
        gains = means[:, None] + (own + common) / np.sqrt(2)
        attacks = {
            str(each): {powers: {power: gains[:, each, seat] for seat, power in enumerate(powers)}}
            for each in range(GAINS)
        }
        estimate = portfolio_estimate(baseline, attacks, rng)
        yield estimate.corrected, estimate.total


def _noise(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return (rng.gamma(4, 1, shape) - 4) / 2


def told(estimates: list[Estimate], truth: float) -> list[str]:
    """Coverage, mean width and mean error of the value."""
    covered = np.mean([estimate.low <= truth <= estimate.high for estimate in estimates])
    width = np.mean([estimate.high - estimate.low for estimate in estimates])
    error = np.mean([estimate.value - truth for estimate in estimates])
    return [f"{covered:.1%}", f"{width:.2f}", f"{error:+.2f}"]


def main(
    repetitions: Annotated[int, typer.Option(min=2, help="Of each line.")] = 1000,
    games: Annotated[list[int], typer.Option(min=2, help="A sample; may be given several times.")] = [20, 5],  # noqa: B006
    resamples: Annotated[int, typer.Option(min=100, help="Of each interval; evaluations take 10,000.")] = 2000,
    pool: Annotated[int, typer.Option(min=2, help="Games to play, from which samples are drawn.")] = 200,
    seed: int = 0,
    quick: Annotated[bool, typer.Option("--quick", help="50 repetitions of 1,000 resamples, and 10 games.")] = False,
) -> None:
    """Coverage, width and error of the intervals of evaluations."""
    if quick:
        repetitions, resamples, pool = 50, 1000, 10
    intervals.RESAMPLES = resamples
    populations = [*played(pool), *made()]
    total = repetitions * (len(games) * (MORE * len(populations) + len(choices())) + len(STOPPED))
    console = Console()
    with metered("measuring", total, "estimates") as meter:
        for count in games:
            means = table(f"Means and single gains: {count} games", "games", "covered", "width", "error")
            for line, population in enumerate(populations):
                rng = np.random.default_rng([seed, count, line])
                found = list(mean_row(population, count, MORE * repetitions, rng))
                means.add_row(population.name, *told(found, population.truth))
                meter.advance(MORE * repetitions)
            console.print(means)
            naive = ("naive: covered", "width", "error")
            best = table(f"The best of {GAINS}: {count} games", "gains", "covered", "width", "error", *naive)
            for line, choice in enumerate(choices()):
                both = list(choice_row(choice, count, repetitions, np.random.default_rng([seed, count, line, 1])))
                best.add_row(choice.name, *(cell for each in zip(*both, strict=True) for cell in told(list(each), 0)))
                meter.advance(repetitions)
            console.print(best)
        stopped = table("Stopped at a wished width", "games", "wished", "covered", "width", "error", "games played")
        for line, (place, precision) in enumerate(STOPPED):
            population = made()[place]
            found = list(stopped_row(population, precision, repetitions, np.random.default_rng([seed, line, 2])))
            played_games = f"{np.mean([estimate.n for estimate in found]):.0f}"
            stopped.add_row(population.name, f"{precision}", *told(found, population.truth), played_games)
            meter.advance(repetitions)
        console.print(stopped)


def table(title: str, *columns: str) -> Table:
    """An empty table."""
    found = Table(title=title)
    for name in columns:
        found.add_column(name)
    return found


if __name__ == "__main__":
    typer.run(main)
