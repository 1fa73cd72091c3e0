"""Terminal tables of cross-play results."""

from __future__ import annotations

import math
from collections.abc import Mapping

from rich.table import Table

from evaluation.experiments.cross_play import CrossPlayResult
from evaluation.measures.intervals import Estimate
from evaluation.tables.game_tables import MEANING, add_row, below, cell, press, titled
from evaluation.tables.measure_names import listed

LONG_TABLE = 3  # with more policies, gains of invaders get a row each, to fit the terminal


def cross_play_tables(result: CrossPlayResult) -> list[Table]:
    """Tables of policies, invaders, equilibria and scenarios (not of all mixes)."""
    tables = [player_table(result), invasion_table(result), equilibrium_table(result)]
    return tables + ([scenario_table(result)] if result.scenarios else [])


def mix_table(result: CrossPlayResult) -> Table:
    """One row per mix: its seats, the payoff of each policy, and the root Nash welfare."""
    heads = (f">{policy}" for policy in (*result.policies, "root Nash welfare"))
    table = titled("Mixes", f"points of a policy's seats: {MEANING}", ("|seats", *heads))
    for counts, mix in result.mixes.items():
        paid = [cell(mix.payoffs[policy]) if policy in mix.payoffs else "" for policy in result.policies]
        add_row(table, " ".join(map(str, counts)), *paid, cell(mix.root_nash_welfare))
    return table


def player_table(result: CrossPlayResult) -> Table:
    """One row per policy: in self-play, and among others."""
    rules = result.rules
    meaning = f"{MEANING}; among others: mean over mixes with others, equally weighted"
    table = titled(
        f"Cross-play: {rules.variant} rules, {result.map_name} map, years: {rules.years}, {press(rules)}, games "
        f"per mix: {result.games}, mixes: {len(result.mixes)}",
        below(meaning, result.notes),
        ("|policy", ">root Nash welfare alone", ">points among others"),
    )
    for policy in result.policies:
        add_row(table, policy, cell(result.self_play_welfare[policy]), cell(result.mixed_payoffs[policy]))
    return table


def invasion_table(result: CrossPlayResult) -> Table:
    """Gains of single mutants: one row per pair of resident and mutant, or for few policies, a column per mutant."""
    is_wide = len(result.policies) <= LONG_TABLE
    columns = [f">one {policy}" for policy in result.policies] if is_wide else ["|mutant", ">gain"]
    table = titled(
        "Gain of one mutant among residents",
        f"over a resident among residents [95% interval over {samples_text(result)}, not corrected for multiple "
        "comparisons: one in twenty misses the true value]",
        ("|residents", *columns),
    )
    if is_wide:
        for resident in result.policies:
            found = [result.invasion.get((resident, mutant)) for mutant in result.policies]
            add_row(table, resident, *("" if gain is None else cell(gain) for gain in found))
        return table
    for (resident, mutant), gain in result.invasion.items():
        add_row(table, resident, mutant, cell(gain))
    return table


def equilibrium_table(result: CrossPlayResult) -> Table:
    """One row per symmetric equilibrium: its shares, and the gain of the best policy outside the mix."""
    table = titled(
        "Symmetric Nash equilibria of the empirical game",
        below(
            "its gain: gain of a player who deviates to the best policy outside the mix; if the "
            "interval reaches above 0, more games may refute the equilibrium. Intervals of shares, and the fraction of "
            f"resampled games with the equilibrium: {samples_text(result)} drawn with replacement",
            [
                *ties(result),
                *(
                    ["fitted: depends on payoffs of mixes that were not played"]
                    if result.empirical_game.fitted.any()
                    else []
                ),
            ],
        ),
        ("mix", ">points", "next best", ">its gain", "stable", ">in resampled games"),
    )
    for equilibrium in result.equilibria:
        stable = "fitted" if equilibrium.is_stable is None else "yes" if equilibrium.is_stable else "no"
        best = _next_best(equilibrium.mix, equilibrium.gains)
        rival = ("-", "-") if best is None else (best, cell(equilibrium.gains[best]))
        held = "-" if math.isnan(equilibrium.held) else f"{equilibrium.held:.0%}"
        paid = f"{equilibrium.payoff:.2f}"
        add_row(table, written_shares(equilibrium.shares), paid, *rival, stable, held)
    return table


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
    table = titled("Scenarios", f"points per seat: {MEANING}", columns)
    for each in result.scenarios:
        seats = str(each.games.counts[each.focal])
        add_row(
            table,
            each.background,
            each.focal,
            seats,
            *(cell(each.games.payoffs[name]) for name in (each.focal, each.background)),
        )
    return table


def written_shares(shares: Mapping[str, Estimate]) -> str:
    """The shares of a mix, with intervals: ``0.71 [0.65, 0.75] dove + 0.29 [0.25, 0.35] dumbbot``."""
    if len(shares) == 1:
        return f"all {next(iter(shares))}"
    return " + ".join(f"{cell(share)} {policy}" for policy, share in shares.items())


def _next_best(mix: Mapping[str, float], gains: Mapping[str, Estimate]) -> str | None:
    outside = [policy for policy in gains if mix[policy] == 0]
    return max(outside, key=lambda policy: gains[policy].value) if outside else None
