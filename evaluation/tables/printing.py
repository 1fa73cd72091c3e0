"""The tables that represent each result of `evaluation` when printed."""

from __future__ import annotations

from rich.table import Table

from agents.runtime.results import tables_of
from evaluation.experiment_files.experiment import ConditionResult, ExperimentResult
from evaluation.experiments.cross_play import CrossPlayResult, MixedGames, Scenario
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.programs import ProgramExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult
from evaluation.experiments.self_play import SelfPlayResult
from evaluation.measures.costs import MEASURES, Costs
from evaluation.measures.gains import Surplus
from evaluation.measures.intervals import Estimate
from evaluation.measures.metrics import GameMeasures
from evaluation.tables.cross_play_tables import equilibrium_table, player_table
from evaluation.tables.game_tables import (
    add_row,
    cell,
    coalition_tables,
    exploitability_table,
    policy_table,
    power_table,
    red_team_table,
    self_play_table,
    surplus_table,
    titled,
)


@tables_of.register
def _(result: SelfPlayResult) -> list[Table]:
    return [self_play_table([result]), (policy_table if result.is_mixed else power_table)(result)]


@tables_of.register
def _(result: ExploitabilityResult) -> list[Table]:
    count = len(result.deviating)
    surpluses = [surplus_table(result.surpluses)] if result.surpluses else []
    return [
        exploitability_table([result], [f"{count} coalition{'s' * (count > 1)}"]),
        *coalition_tables(result),
        *surpluses,
    ]


@tables_of.register
def _(result: RedTeamResult) -> list[Table]:
    found = result.found
    return [exploitability_table([found], [f"best of {len(found.screened)} attacks"]), red_team_table(result)]


@tables_of.register
def _(result: CrossPlayResult) -> list[Table]:
    return [player_table(result), equilibrium_table(result)]


@tables_of.register
def _(mix: MixedGames) -> list[Table]:
    caption = f"games: {len(mix.measures)}, root Nash welfare {cell(mix.root_nash_welfare)}"
    return [_estimates(f"Points of a seat: {mix.profile}", "policy", mix.payoffs, caption)]


@tables_of.register
def _(scenario: Scenario) -> list[Table]:
    return list(tables_of(scenario.games))


@tables_of.register
def _(result: ProgramExploitabilityResult) -> list[Table]:
    title = f"{result.deviator} against {result.profile}: gain in payoff a round"
    gains = {" + ".join(gain.coalition): gain.gain for gain in result.gains}
    return [_estimates(title, "coalition", gains, "exact" if result.exact else f"games: {result.value.n}")]


@tables_of.register
def _(found: Surplus) -> list[Table]:
    return [surplus_table([found])]


@tables_of.register
def _(found: Costs) -> list[Table]:
    return [_estimates("A coalition and the others", "measure", {name: getattr(found, name) for name in MEASURES})]


@tables_of.register
def _(result: ConditionResult) -> list[Table]:
    return [_estimates(result.condition.played, "measure", result.measures)]


@tables_of.register
def _(result: ExperimentResult) -> list[Table]:
    chosen = result.experiment
    names = list(result.conditions[0].measures)[:3]
    columns = [f"|{name}" for name in ("profile", "coalitions", *chosen.sweep)]
    columns += [f">{name.replace('_', ' ')}" for name in names]
    table = titled(f"{chosen.title}: {chosen.games} games per condition, seed {result.seed}", "", columns)
    for each in result.conditions:
        condition = each.condition
        swept = (str(condition.swept[name]) for name in chosen.sweep)
        values = (cell(each.measures[name]) for name in names)
        add_row(table, condition.profile, condition.coalitions, *swept, *values)
    return [table]


@tables_of.register
def _(game: GameMeasures) -> list[Table]:
    summary = (
        f"root Nash welfare {game.root_nash_welfare:.3f}, proficiency {game.proficiency.score:.2f}, "
        f"stolen centers {game.stolen_centers.count}, conflicts {game.conflicts.count}"
    )
    columns = ("power", ">welfare", ">a year", ">score", ">centers", ">units")
    table = titled(f"A game of {game.years_played} years on the {game.facts.map_name} map", summary, columns)
    for power, score in game.scores.items():
        welfare = f"{game.welfare[power]:g}", f"{game.welfare_per_year[power]:.2f}"
        table.add_row(power, *welfare, f"{score:.2f}", str(game.centers[power]), str(game.units[power]))
    return [table]


def _estimates(title: str, what: str, values: dict[str, Estimate], caption: str = "") -> Table:
    """One row per name, with its estimate."""
    table = titled(title, caption, (f"|{what}", ">value"))
    for name, value in values.items():
        add_row(table, name, cell(value))
    return table
