"""Terminal tables of results; those that represent a result when it is printed are registered (`tables_of`).

All cells are rich `Text`, since names (such as the path of a map) may contain brackets, which rich reads as markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

from agents.runtime.results import tables_of
from agents.runtime.tables import new_table
from evaluation.experiment_files.experiment import ConditionResult, ExperimentResult
from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult
from evaluation.experiments.self_play import SelfPlayResult
from evaluation.measures.costs import MEASURES, Costs
from evaluation.measures.gains import CoalitionGain, Surplus
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
from evaluation.measures.metrics import GameMeasures
from evaluation.play.store import StoredGame
from evaluation.play.stored_games import SHOWN_KEY, StoredCondition, day
from welfare_env import Rules

BRACKETS = f"[95% interval]; fewer than {FEWEST_GAMES} games: (least to greatest); [identical]: in all games"
MEANING = f"mean {BRACKETS}"
SHOWN_GAMES = 5  # per condition
CHOSEN = "\nthe attack was selected on separate games; exploitability: its gain, at least 0"
ONLY = "\nexploitability: the attack's gain, at least 0"


def cell(estimate: Estimate, digits: int = 2) -> str:
    """An estimate with its interval or range over games: ``4.84 [4.80, 4.89]``, ``4.84 (4.60 to 5.10, n=3)``."""
    if math.isnan(estimate.value):
        return "-"
    number = f"z.{digits}f"  # never -0.00
    return f"{estimate.value:{number}} {estimate.around(number, in_table=True)}".strip()


def self_play_table(results: Sequence[SelfPlayResult]) -> Table:
    """One row per policy: the measures of the paper's figures 3 and 5; in standard games the best score."""
    first = results[0]
    main = "root Nash welfare" if first.rules.is_welfare else "best score"
    columns = ("|policy", f">{main}", ">proficiency", ">stolen SCs a year", ">conflicts a phase")
    rows = []
    for result in results:
        paid = cell(result.root_nash_welfare if result.rules.is_welfare else result.best_score, 3)
        others = (result.proficiency, result.stolen_centers, result.conflicts)
        rows.append((result.policy, paid, *map(cell, others)))
    return _played("Self-play", results, len(first.measures), columns, rows)


def paid_table(result: SelfPlayResult, who: str, is_only: bool = True) -> Table:
    """Welfare points a year, or the score in the standard game: one row per "power", or per "policy" (its seats' mean).

    Args:
        is_only: whether this is the only such table, so that its title need not name the policy.
    """
    points = result.rules.is_welfare
    name = ("welfare_by_policy" if points else "scores_by_policy") if who == "policy" else ""
    found = getattr(result, name or ("welfare_per_year" if points else "scores"))
    title = f"Per policy: mean of its seats in {result.policy}" if who == "policy" else "Per power"
    title += f": {result.policy}" * (who == "power" and not is_only)
    return estimate_table(title, who, found, "", "points a year" if points else f"score ({result.rules.scoring})")


@tables_of.register
def _(result: SelfPlayResult) -> list[Table]:
    return [self_play_table([result]), paid_table(result, "policy" if result.is_mixed else "power")]


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
    return _played("Exploitability", results, len(first.baseline), columns, rows, meaning)


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
        f"Red team: {played.profile}, {result.budget}: {_settings(played, len(played.baseline))}",
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


def stored_table(
    groups: Mapping[StoredCondition, Sequence[StoredGame]], numbers: Mapping[int, tuple[int, int]]
) -> Table:
    """One row per condition: players, rules, and games with seeds, numbers and prefixes of keys.

    Args:
        numbers: see `evaluation.play.stored_games.numbered`.
    """
    changed = "another version: the package, or your own files, were others, so these games are not reused; "
    is_changed = not all(condition.is_current for condition in groups)
    unknown = not all(game.specification["seed"] in numbers for games in groups.values() for game in games)
    own = "; game -: the seed is the game's own; the value of --seed is unknown" * unknown
    columns = ("players", "played", ">games", "last stored", ">seed", ">game", "key")
    rows = []
    for condition, games in groups.items():
        shown = sorted(games, key=lambda game: numbers.get(game.specification["seed"], (math.inf, 0)))[:SHOWN_GAMES]
        more = [f"{len(games) - len(shown)} more"] if len(games) > len(shown) else []
        found = [numbers.get(game.specification["seed"], (game.specification["seed"], "-")) for game in shown]
        seeds = "\n".join(str(seed) for seed, _ in found)
        places = "\n".join([*(str(number) for _, number in found), *more])
        keys = "\n".join([game.key[:SHOWN_KEY] for game in shown])
        last = day(max(game.created for game in games)).replace("T", "\n").removesuffix("Z")
        rules = condition.rules if condition.is_current else f"{condition.rules}, another version"
        rows.append((condition.players, rules, str(len(games)), last, seeds, places, keys))
    return new_table("Stored games", f"{changed * is_changed}times in UTC{own}", columns, rows)


def _played(
    what: str,
    results: Sequence[SelfPlayResult] | Sequence[ExploitabilityResult],
    games: int,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    remark: str = "",
) -> Table:
    """A table with the settings in its title and an explanation of the numbers in its caption."""
    notes = dict.fromkeys(note for result in results for note in result.notes)
    title = f"{what}: {_settings(results[0], games)}"
    return new_table(title, below(f"{MEANING}{remark}", notes), columns, rows)


def _settings(result: SelfPlayResult | ExploitabilityResult, games: int) -> str:
    """The games in words, for titles."""
    rules = result.rules
    return f"{rules.variant} rules, {result.map_name} map, years: {rules.years}, {press(rules)}, games: {games}"


def press(rules: Rules) -> str:
    """Press in words: "no press", "3 message rounds of tokens"."""
    rounds = f"{rules.message_rounds} message round{'s' * (rules.message_rounds > 1)}"
    return f"{rounds}{' of tokens' * rules.has_tokens}" if rules.has_press else "no press"


def below(caption: str, notes: Iterable[str]) -> str:
    """A caption followed by notes, one per line."""
    return "\n".join([caption, *notes])


def estimate_table(
    title: str, what: str, values: Mapping[str, Estimate], caption: str = "", head: str = "value"
) -> Table:
    """One row per name, with its estimate."""
    return new_table(title, caption, (f"|{what}", f">{head}"), ((name, cell(each)) for name, each in values.items()))


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


@tables_of.register
def _(game: GameMeasures) -> list[Table]:
    summary = (
        f"root Nash welfare {game.root_nash_welfare:.3f}, proficiency {game.proficiency.score:.2f}, "
        f"stolen centers {game.stolen_centers.count}, conflicts {game.conflicts.count}"
    )
    columns = ("power", ">welfare", ">a year", ">score", ">centers", ">units")
    rows = []
    for power, score in game.scores.items():
        welfare = f"{game.welfare[power]:g}", f"{game.welfare_per_year[power]:.2f}"
        rows.append((power, *welfare, f"{score:.2f}", str(game.centers[power]), str(game.units[power])))
    title = f"A game of {game.years_played} years on the {game.facts.map_name} map"
    return [new_table(title, summary, columns, rows)]
