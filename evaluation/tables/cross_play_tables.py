"""Terminal tables of cross-play results."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.table import Table

from agents.runtime.results import tables_of
from agents.runtime.tables import new_table
from evaluation.experiments.cross_play import CrossPlayResult, MixedGames, Scenario
from evaluation.measures.intervals import Estimate
from evaluation.tables.game_tables import MEANING, below, cell, estimate_table, press
from evaluation.tables.measure_names import listed

LONG_TABLE = 3  # with more policies, gains of invaders get a row each, to fit the terminal


def cross_play_tables(result: CrossPlayResult) -> list[Table]:
    """Tables of policies, invaders, equilibria and scenarios (not of all mixes)."""
    tables = [player_table(result), invasion_table(result), equilibrium_table(result)]
    return tables + ([scenario_table(result)] if result.scenarios else [])


def mix_table(result: CrossPlayResult) -> Table:
    """One row per mix: its seats, the payoff of each policy, and the root Nash welfare."""
    heads = (f">{policy}" for policy in (*result.policies, "root Nash welfare"))
    rows = []
    for counts, mix in result.mixes.items():
        paid = [cell(mix.payoffs[policy]) if policy in mix.payoffs else "" for policy in result.policies]
        rows.append((" ".join(map(str, counts)), *paid, cell(mix.root_nash_welfare)))
    return new_table("Mixes", f"points of a policy's seats: {MEANING}", ("|seats", *heads), rows)


def player_table(result: CrossPlayResult) -> Table:
    """One row per policy: in self-play, and among others."""
    rules = result.rules
    return new_table(
        f"Cross-play: {rules.variant} rules, {result.map_name} map, years: {rules.years}, {press(rules)}, games "
        f"per mix: {result.games}, mixes: {len(result.mixes)}",
        below(f"{MEANING}; among others: mean over mixes with others, equally weighted", result.notes),
        ("|policy", ">root Nash welfare alone", ">points among others"),
        (
            (policy, cell(result.self_play_welfare[policy]), cell(result.mixed_payoffs[policy]))
            for policy in result.policies
        ),
    )


def invasion_table(result: CrossPlayResult) -> Table:
    """Gains of single mutants: one row per pair of resident and mutant, or for few policies, a column per mutant."""
    names, gains = result.policies, result.invasion
    is_wide = len(names) <= LONG_TABLE
    columns = [f">one {policy}" for policy in names] if is_wide else ["|mutant", ">gain"]
    wide = ([one, *(cell(gains[one, each]) if (one, each) in gains else "" for each in names)] for one in names)
    return new_table(
        "Gain of one mutant among residents",
        f"over a resident among residents [95% interval over {samples_text(result)}, not corrected for multiple "
        "comparisons: one in twenty misses the true value]",
        ("|residents", *columns),
        wide if is_wide else ([*pair, cell(gain)] for pair, gain in gains.items()),
    )


def equilibrium_table(result: CrossPlayResult) -> Table:
    """One row per symmetric equilibrium: its shares, and the gain of the best policy outside the mix."""
    fitted = ["fitted: depends on payoffs of mixes that were not played"] * bool(result.empirical_game.fitted.any())
    rows = []
    for each in result.equilibria:
        stable = "fitted" if each.is_stable is None else "yes" if each.is_stable else "no"
        best = _next_best(each.mix, each.gains)
        rival = ("-", "-") if best is None else (best, cell(each.gains[best]))
        held = "-" if math.isnan(each.held) else f"{each.held:.0%}"
        rows.append((written_shares(each.shares), f"{each.payoff:.2f}", *rival, stable, held))
    return new_table(
        "Symmetric Nash equilibria of the empirical game",
        below(
            "its gain: gain of a player who deviates to the best policy outside the mix; if the "
            "interval reaches above 0, more games may refute the equilibrium. Intervals of shares, and the fraction of "
            f"resampled games with the equilibrium: {samples_text(result)} drawn with replacement",
            [*ties(result), *fitted],
        ),
        ("mix", ">points", "next best", ">its gain", "stable", ">in resampled games"),
        rows,
    )


def samples_text(result: CrossPlayResult) -> str:
    """The samples of the empirical game, in words: "games", or "rotations of 7 games"."""
    return "games" if result.games_a_sample == 1 else f"rotations of {result.games_a_sample} games"


def ties(result: CrossPlayResult) -> list[str]:
    """Sentences on policies that tie in every mix of them."""
    return [
        f"{listed(face)} tie in every mix of them that was played: all these mixes are equilibria unless another "
        "policy gains"
        for face in result.empirical_game.neutral_faces
    ]


def scenario_table(result: CrossPlayResult) -> Table:
    """One row per scenario: a policy in some seats, a held-out player in the others."""
    columns = ("|background", "|focal policy", ">seats", ">focal per-capita return", ">background's")
    rows = []
    for each in result.scenarios:
        paid = (cell(each.games.payoffs[name]) for name in (each.focal, each.background))
        rows.append((each.background, each.focal, str(each.games.counts[each.focal]), *paid))
    return new_table("Scenarios", f"points per seat: {MEANING}", columns, rows)


@tables_of.register
def _(result: CrossPlayResult) -> list[Table]:
    return [player_table(result), equilibrium_table(result)]


@tables_of.register
def _(mix: MixedGames) -> list[Table]:
    caption = f"games: {len(mix.measures)}, root Nash welfare {cell(mix.root_nash_welfare)}"
    return [estimate_table(f"Points of a seat: {mix.profile}", "policy", mix.payoffs, caption)]


@tables_of.register
def _(scenario: Scenario) -> list[Table]:
    return list(tables_of(scenario.games))


def written_shares(shares: Mapping[str, Estimate]) -> str:
    """The shares of a mix, with intervals: ``0.71 [0.65, 0.75] dove + 0.29 [0.25, 0.35] dumbbot``."""
    if len(shares) == 1:
        return f"all {next(iter(shares))}"
    return " + ".join(f"{cell(share)} {policy}" for policy, share in shares.items())


def _next_best(mix: Mapping[str, float], gains: Mapping[str, Estimate]) -> str | None:
    outside = [policy for policy in gains if mix[policy] == 0]
    return max(outside, key=lambda policy: gains[policy].value) if outside else None
