"""Tables of attacks and of experiments, for the terminal; those that represent a result when it is printed are
registered (`tables_of`).
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from agents.runtime.results import tables_of
from agents.runtime.tables import new_table
from evaluation.experiment_files.experiment import ConditionResult, ExperimentResult
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.programs import ProgramExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult
from evaluation.measures.costs import MEASURES, Costs
from evaluation.measures.gains import CoalitionGain, Surplus
from evaluation.tables.game_tables import below, cell, estimate_table, played_table, settings_text

CHOSEN = "\nthe attack was selected on separate games; exploitability: its gain, at least 0"
ONLY = "\nexploitability: the attack's gain, at least 0"


def exploitability_table(results: Sequence[ExploitabilityResult], names: Sequence[str]) -> Table:
    """One row per profile and set of coalitions, as in the paper's figure 4; with a column for several deviators."""
    first = results[0]
    several = len(results) > 1 or len(first.attacks) > 1
    columns = ("|profile", "coalitions", *["|deviator"] * several, ">exploitability, points a year", "by")
    meaning = CHOSEN if any(result.screened for result in results) else ONLY
    rows = []
    for result, name in zip(results, names, strict=True):
        by = " + ".join(result.best) if result.best_gain.gain.value > 0 else "nobody"
        rows.append((result.profile, name, *[result.deviator] * several, cell(result.value), by))
    return played_table("Exploitability", results, len(first.baseline), columns, rows, meaning)


def coalition_tables(result: ExploitabilityResult) -> list[Table]:
    """For each deviator, a table with one row per measured coalition: its members' gains and the others' welfare."""
    return [_coalition_table(result, deviator) for deviator in result.attacks]


def _coalition_table(result: ExploitabilityResult, deviator: str) -> Table:
    gains = [each for each in result.gains if each.deviator == deviator]
    tried = sum(each.deviator == deviator for each in result.screened)
    left = tried - len(gains)
    others = f"not measured, since they gained less in the selection games: {left} of {tried} coalitions"
    has_teams = any(len(gain.members) > 1 for gain in gains)
    teams = [">each member", ">together"] * has_teams
    columns = ("coalition", ">gain, points a year", *teams, ">others' root Nash welfare")
    rows = []
    for gain in gains:
        members = "\n".join(f"{power} {cell(member)}" for power, member in gain.members.items())
        own = (members, cell(gain.total)) if len(gain.members) > 1 else ("", "")
        others_welfare = cell(result.others_welfare((deviator, gain.coalition)))
        rows.append(("\n".join(gain.coalition), cell(gain.gain), *(own if has_teams else ()), others_welfare))
    return new_table(f"Deviator {deviator}", others if left > 0 else "", columns, rows)


@tables_of.register
def _(result: ExploitabilityResult) -> list[Table]:
    count = len(result.deviating)
    surpluses = [surplus_table(result.surpluses)] if result.surpluses else []
    first = exploitability_table([result], [f"{count} coalition{'s' * (count > 1)}"])
    return [first, *coalition_tables(result), *surpluses]


def surplus_table(surpluses: Sequence[Surplus]) -> Table:
    """One row per coalition: what its members gain together beyond what each gains alone, and what the others lose."""
    return new_table(
        "Together and alone",
        "points a year with 95% intervals, means over the members. surplus: gain minus the same powers' gains alone "
        "with the same policy; beyond best: gain minus their largest gains alone with any policy tried (at least 0). "
        "loss: of another power. collusion: surplus and beyond best are above 0, and the others lose",
        ("coalition", "|deviator", ">gain", ">surplus", ">beyond best", ">loss", "shown"),
        (
            (
                "\n".join(each.coalition),
                each.deviator,
                *map(cell, (each.gain, each.surplus, each.beyond_best, each.loss)),
                each.verdict,
            )
            for each in surpluses
        ),
    )


@tables_of.register
def _(result: ProgramExploitabilityResult) -> list[Table]:
    title = f"{result.deviator} against {result.profile}: gain in payoff a round"
    gains = {" + ".join(gain.coalition): gain.gain for gain in result.gains}
    return [estimate_table(title, "coalition", gains, "exact" if result.exact else f"games: {result.value.n}")]


@tables_of.register
def _(found: Surplus) -> list[Table]:
    return [surplus_table([found])]


def red_team_table(result: RedTeamResult) -> Table:
    """One row per size of coalition and kind of attack, with the best attack; then the overall best, and contenders."""
    played, by_kind = result.found, result.by_kind()
    shown = [result.best, *by_kind.values()]
    contenders = [("contender", each) for each in played.gains if each not in shown]
    kinds = [kind for _, kind in by_kind]
    best = [(str(size), kind, each) for (size, kind), each in sorted(by_kind.items())]
    last = [(str(len(each.coalition)), kind, each) for kind, each in [("all", result.best), *contenders]]
    table = new_table(
        f"Red team: {played.profile}, {result.budget}: {settings_text(played, len(played.baseline))}",
        below(_attacks_caption(result, bool(contenders), "pact" in kinds), played.notes),
        (">powers", "kind", "|best attack", "coalition", ">together", ">gain"),
        (
            (size, kind, each.deviator, "\n".join(each.coalition), _total(each), cell(each.gain))
            for size, kind, each in (*best, *last)
        ),
    )
    table.rows[len(best) - 1].end_section = True
    return table


@tables_of.register
def _(result: RedTeamResult) -> list[Table]:
    found = result.found
    return [exploitability_table([found], [f"best of {len(found.screened)} attacks"]), red_team_table(result)]


def _attacks_caption(result: RedTeamResult, has_contenders: bool, has_pacts: bool) -> str:
    """Explains the numbers of the table, and only those kinds that it shows."""
    played = result.found
    sentences = [
        f"{len(played.screened)} attacks were compared, and the best of each kind played {len(played.baseline)} "
        "fresh games",
        "powers: number of attackers",
        "gain: of the member who gains least, over self-play, in points a year, with 95% interval",
        "together: mean of the members' total gain",
        *["contender: about as good as the best in the selection"] * has_contenders,
        *["pact: one policy plays all members; otherwise each member plays on its own"] * has_pacts,
    ]
    return ". ".join(sentences)


def _total(gain: CoalitionGain) -> str:
    """The total gain of several members, without interval."""
    return f"{gain.total.value:z.2f}" if len(gain.members) > 1 else ""


@tables_of.register
def _(found: Costs) -> list[Table]:
    return [estimate_table("A coalition and the others", "measure", {name: getattr(found, name) for name in MEASURES})]


@tables_of.register
def _(result: ConditionResult) -> list[Table]:
    return [estimate_table(result.condition.played, "measure", result.measures)]


@tables_of.register
def _(result: ExperimentResult) -> list[Table]:
    chosen = result.experiment
    names = list(result.conditions[0].measures)[:3]
    columns = [f"|{name}" for name in ("profile", "coalitions", *chosen.sweep)]
    columns += [f">{name.replace('_', ' ')}" for name in names]
    rows = []
    for each in result.conditions:
        swept = (str(each.condition.swept[name]) for name in chosen.sweep)
        values = (cell(each.measures[name]) for name in names)
        rows.append((each.condition.profile, each.condition.coalitions, *swept, *values))
    title = f"{chosen.title}: {chosen.games} games per condition, seed {result.seed}"
    return [new_table(title, "", columns, rows)]
