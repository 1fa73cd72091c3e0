"""Terminal tables of results.

All cells are rich `Text`, since names (such as the path of a map) may contain brackets, which rich reads as markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rich.table import Table
from rich.text import Text

from evaluation.experiments.exploitability_result import ExploitabilityResult
from evaluation.experiments.red_team import RedTeamResult
from evaluation.experiments.self_play import SelfPlayResult
from evaluation.measures.gains import CoalitionGain, Surplus
from evaluation.measures.intervals import FEWEST_GAMES, Estimate
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
    table = _table("Self-play", results, len(first.measures), columns, "")
    for result in results:
        paid = cell(result.root_nash_welfare if result.rules.is_welfare else result.best_score, 3)
        others = (result.proficiency, result.stolen_centers, result.conflicts)
        add_row(table, result.policy, paid, *(cell(estimate, 2) for estimate in others))
    return table


def power_table(result: SelfPlayResult, is_only: bool = True) -> Table:
    """One row per power: welfare points a year, or the score in the standard game.

    Args:
        is_only: whether this is the only such table, so that its title need not name the policy.
    """
    return _paid(
        "Per power" if is_only else f"Per power: {result.policy}",
        "power",
        result,
        result.welfare_per_year,
        result.scores,
    )


def policy_table(result: SelfPlayResult) -> Table:
    """One row per policy of a mixed profile: the mean of its seats."""
    title = f"Per policy: mean of its seats in {result.policy}"
    return _paid(title, "policy", result, result.welfare_by_policy, result.scores_by_policy)


def _paid(
    title: str, who: str, result: SelfPlayResult, welfare: Mapping[str, Estimate], scores: Mapping[str, Estimate]
) -> Table:
    points = result.rules.is_welfare
    table = titled(title, "", (f"|{who}", ">points a year" if points else f">score ({result.rules.scoring})"))
    for name, estimate in (welfare if points else scores).items():
        add_row(table, name, cell(estimate))
    return table


def exploitability_table(results: Sequence[ExploitabilityResult], names: Sequence[str]) -> Table:
    """One row per profile and set of coalitions, as in the paper's figure 4; with a column for several deviators."""
    first = results[0]
    several = len(results) > 1 or len(first.attacks) > 1
    columns = ("|profile", "coalitions", *["|deviator"] * several, ">exploitability, points a year", "by")
    meaning = CHOSEN if any(result.screened for result in results) else ONLY
    table = _table("Exploitability", results, len(first.baseline), columns, meaning)
    for result, name in zip(results, names, strict=True):
        deviator = (result.deviator,) if several else ()
        by = " + ".join(result.best) if result.best_gain.gain.value > 0 else "nobody"
        add_row(table, result.profile, name, *deviator, cell(result.value), by)
    return table


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
    table = titled(f"Deviator {deviator}", others if left > 0 else "", columns)
    for gain in gains:
        members = "\n".join(f"{power} {cell(member)}" for power, member in gain.members.items())
        others = cell(result.others_welfare((deviator, gain.coalition)))
        own = (members, cell(gain.total)) if len(gain.members) > 1 else ("", "") if has_teams else ()
        add_row(table, "\n".join(gain.coalition), cell(gain.gain), *own, others)
    return table


def surplus_table(surpluses: Sequence[Surplus]) -> Table:
    """One row per coalition: what its members gain together beyond what each gains alone, and what the others lose."""
    table = titled(
        "Together and alone",
        "points a year with 95% intervals, means over the members. surplus: gain minus the same powers' gains alone "
        "with the same policy; beyond best: gain minus their largest gains alone with any policy tried (at least 0). "
        "loss: of another power. collusion: surplus and beyond best are above 0, and the others lose",
        ("coalition", "|deviator", ">gain", ">surplus", ">beyond best", ">loss", "shown"),
    )
    for each in surpluses:
        estimates = map(cell, (each.gain, each.surplus, each.beyond_best, each.loss))
        add_row(table, "\n".join(each.coalition), each.deviator, *estimates, each.verdict)
    return table


def red_team_table(result: RedTeamResult) -> Table:
    """One row per size of coalition and kind of attack, with the best attack; then the overall best, and contenders."""
    played, by_kind = result.found, result.by_kind()
    shown = [result.best, *by_kind.values()]
    contenders = [("contender", each) for each in played.gains if each not in shown]
    kinds = [kind for _, kind in by_kind]
    table = titled(
        f"Red team: {played.profile}, {result.budget}: {_settings(played, len(played.baseline))}",
        below(_attacks_caption(result, bool(contenders), "pact" in kinds), played.notes),
        (">powers", "kind", "|best attack", "coalition", ">together", ">gain"),
    )
    for (size, kind), best in sorted(by_kind.items()):
        add_row(table, str(size), kind, best.deviator, "\n".join(best.coalition), _total(best), cell(best.gain))
    table.add_section()
    for kind, each in [("all", result.best), *contenders]:
        who = "\n".join(each.coalition)
        add_row(table, str(len(each.coalition)), kind, each.deviator, who, _total(each), cell(each.gain))
    return table


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
    table = titled("Stored games", f"{changed * is_changed}times in UTC{own}", columns)
    for condition, games in groups.items():
        shown = sorted(games, key=lambda game: numbers.get(game.specification["seed"], (math.inf, 0)))[:SHOWN_GAMES]
        more = [f"{len(games) - len(shown)} more"] if len(games) > len(shown) else []
        found = [numbers.get(game.specification["seed"], (game.specification["seed"], "-")) for game in shown]
        seeds = "\n".join(str(seed) for seed, _ in found)
        places = "\n".join([*(str(number) for _, number in found), *more])
        keys = "\n".join([game.key[:SHOWN_KEY] for game in shown])
        last = day(max(game.created for game in games)).replace("T", "\n").removesuffix("Z")
        rules = condition.rules if condition.is_current else f"{condition.rules}, another version"
        add_row(table, condition.players, rules, str(len(games)), last, seeds, places, keys)
    return table


def _table(
    what: str,
    results: Sequence[SelfPlayResult] | Sequence[ExploitabilityResult],
    games: int,
    columns: Sequence[str],
    remark: str,
) -> Table:
    """An empty table with the settings in its title and an explanation of the numbers in its caption."""
    notes = dict.fromkeys(note for result in results for note in result.notes)
    title = f"{what}: {_settings(results[0], games)}"
    return titled(title, below(f"{MEANING}{remark}", notes), columns)


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


def titled(title: str, caption: str = "", columns: Sequence[str] = ()) -> Table:
    """An empty table with a title and a caption.

    Args:
        columns: heads; ">gain" for numbers (aligned right), "|policy" for texts that may break within a word.
    """
    table = Table(
        title=Text(title, style="table.title"),
        caption=Text(caption, style="table.caption") if caption else None,
        title_justify="left",
        caption_justify="left",
    )
    for head in columns:
        is_number, is_folded = head.startswith(">"), head.startswith("|")
        table.add_column(
            Text(head[is_number or is_folded :]),
            justify="right" if is_number else "left",
            overflow="fold" if is_folded else "ellipsis",
        )
    return table


def add_row(table: Table, *cells: str) -> None:
    """Add a row of plain texts (no markup)."""
    table.add_row(*map(Text, cells))
