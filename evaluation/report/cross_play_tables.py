"""Results of cross-play as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from rich.table import Table
from rich.text import Text

from evaluation.experiments.cross_play import CrossPlayResult
from evaluation.measures.intervals import Estimate
from evaluation.report.tables import MEANING, below, cell, earlier, titled

FITTED = "payoffs of mixes that were not played are a linear fit"


def cross_play_tables(result: CrossPlayResult) -> list[Table]:
    """Tables of the policies, equilibria and rest points of the empirical game, and scenarios: all but the mixes."""
    tables = [player_table(result), equilibrium_table(result), rest_point_table(result)]
    return tables + ([scenario_table(result)] if result.scenarios else [])


def mix_table(result: CrossPlayResult) -> Table:
    """One row per mix: its seats, the payoff of each policy, and the root Nash welfare."""
    table = titled("Mixes", f"points of a policy's seats: {MEANING}")
    table.add_column("seats", overflow="fold")
    for policy in (*result.policies, "root Nash welfare"):
        table.add_column(Text(policy), justify="right")
    for counts, mix in result.mixes.items():
        paid = [cell(mix.payoffs[policy]) if policy in mix.payoffs else "" for policy in result.policies]
        _add_row(table, " ".join(map(str, counts)), *paid, cell(mix.root_nash_welfare))
    return table


def player_table(result: CrossPlayResult) -> Table:
    """One row per policy: alone, among others, alpha-rank and rating; the title tells what was played."""
    rules = result.rules
    press = f"{rules.message_rounds} message rounds" if rules.has_press else "no press"
    meaning = (
        f"{MEANING}; among others: mean over mixes with others, equally weighted; rating: from "
        "comparisons of points within a game, a side figure"
    ) + f"; {FITTED}" * result.is_fitted
    table = titled(
        f"Cross-play: {rules.variant} rules, {result.map_name} map, years: {rules.years}, {press}, games per mix: "
        f"{result.games}, mixes: {len(result.mixes)} of {result.mixes_in_all}",
        below(meaning + earlier(result.older_games), result.notes),
    )
    table.add_column("policy", overflow="fold")
    for name in ("root Nash welfare alone", "points among others", "alpha-rank", "rating"):
        table.add_column(name, justify="right")
    for policy in result.policies:
        alone, among = result.self_play_welfare[policy], result.mixed_payoffs[policy]
        rank, rating = result.alpha_rank[policy], result.ratings[policy]
        _add_row(table, policy, cell(alone), cell(among), f"{rank:.3f}", cell(rating, 0))
    return table


def equilibrium_table(result: CrossPlayResult) -> Table:
    """One row per symmetric equilibrium: its shares, and the gain of the next best policy."""
    table = titled(
        "Symmetric Nash equilibria of the empirical game",
        "its gain: of one player who deviates to the best policy outside the mix; "
        "if the interval reaches above 0, more games may refute the equilibrium",
    )
    table.add_column("mix")
    table.add_column("points", justify="right")
    table.add_column("next best")
    table.add_column("its gain", justify="right")
    table.add_column("stable")
    for equilibrium, gains in zip(result.equilibria, result.gains, strict=True):
        stable = "yes" if equilibrium.is_stable else "no"
        best = _next_best(equilibrium.mix, gains)
        told = ("-", "-") if best is None else (best, cell(gains[best]))
        _add_row(table, written_mix(equilibrium.mix), f"{equilibrium.payoff:.2f}", *told, stable)
    return table


def rest_point_table(result: CrossPlayResult) -> Table:
    """One row per rest point of the replicator dynamics."""
    table = titled("Rest points of the replicator dynamics", "from a lattice of mixes of all policies")
    table.add_column("mix")
    table.add_column("share of the starts", justify="right")
    for point in result.rest_points:
        _add_row(table, written_mix(point.mix) + ("" if point.is_settled else " (still moving)"), f"{point.basin:.2f}")
    return table


def scenario_table(result: CrossPlayResult) -> Table:
    """One row per scenario: a policy in some seats, a held-out player in the others."""
    table = titled("Scenarios", f"points per seat: {MEANING}")
    table.add_column("background", overflow="fold")
    table.add_column("focal policy", overflow="fold")
    for name in ("seats", "focal per-capita return", "background's"):
        table.add_column(name, justify="right")
    for each in result.scenarios:
        seats = str(each.games.counts[each.focal])
        _add_row(table, each.background, each.focal, seats, cell(each.focal_return), cell(each.background_return))
    return table


def written_mix(mix: Mapping[str, float]) -> str:
    """The policies with a positive share: ``0.71 dove + 0.29 dumbbot``."""
    return " + ".join(f"{share:.2f} {policy}" for policy, share in mix.items() if share >= 0.005)


def _next_best(mix: Mapping[str, float], gains: Mapping[str, Estimate]) -> str | None:
    outside = [policy for policy in gains if mix[policy] == 0]
    return max(outside, key=lambda policy: gains[policy].value) if outside else None


def _add_row(table: Table, *cells: str) -> None:
    table.add_row(*map(Text, cells))
