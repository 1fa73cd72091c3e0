"""Terminal tables of results; those that represent a result when it is printed are registered (`tables_of`).

All cells are rich `Text`, since names (such as the path of a map) may contain brackets, which rich reads as markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table

from agents.runtime.results import tables_of
from agents.runtime.tables import new_table
from evaluation.experiments.self_play import SelfPlayResult
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
from evaluation.measures.metrics import GameMeasures
from evaluation.measures.rows import PlayedResult
from evaluation.play.store import StoredGame
from evaluation.play.stored_games import SHOWN_KEY, StoredCondition, day
from welfare_env import Rules

BRACKETS = f"[95% interval]; fewer than {FEWEST_GAMES} games: (least to greatest); [identical]: in all games"
MEANING = f"mean {BRACKETS}"
SHOWN_GAMES = 5  # per condition


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
    return played_table("Self-play", results, len(first.measures), columns, rows)


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


def played_table(
    what: str,
    results: Sequence[PlayedResult],
    games: int,
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    remark: str = "",
) -> Table:
    """A table with the settings in its title and an explanation of the numbers in its caption."""
    notes = dict.fromkeys(note for result in results for note in result.notes)
    title = f"{what}: {settings_text(results[0], games)}"
    return new_table(title, below(f"{MEANING}{remark}", notes), columns, rows)


def settings_text(result: PlayedResult, games: int) -> str:
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
