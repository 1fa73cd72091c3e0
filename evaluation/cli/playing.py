"""The commands that play games of policies: self-play, exploitability, red-team, cross-play, compare and demo."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.command_options import as_arguments, with_options
from agents.runtime.table_files import check_file
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_line, print_tables, print_text
from agents.specs import listed
from evaluation.cli.console import errors_in_one_line, print_json
from evaluation.cli.options import (
    CORES,
    AnyProfile,
    AttackGameOptions,
    GameOptions,
    Processes,
    RunOptions,
    Seed,
    Store,
    Variant,
    read_coalitions,
)
from evaluation.experiments.attacks import SELECTION_GAMES
from evaluation.experiments.compare import GAMES, check_measures, compare_results
from evaluation.experiments.cross_play import MAX_TYPES, measure_cross_play
from evaluation.experiments.exploitability import measure_exploitability
from evaluation.experiments.red_team import BUDGETS, RedTeamResult, measure_red_team
from evaluation.experiments.self_play import SelfPlayResult, measure_self_play
from evaluation.measures.gains import COALITIONS
from evaluation.measures.lm_usage import LMUsage, usage_table
from evaluation.measures.rows import same_columns
from evaluation.play.game_spec import Setting
from evaluation.play.runner import Begun, Evaluation
from evaluation.play.store import DEFAULT_PATH
from evaluation.report.replays import write_replay
from evaluation.tables.comparison_tables import contrast_table
from evaluation.tables.cross_play_tables import cross_play_tables, mix_table
from evaluation.tables.game_tables import (
    coalition_tables,
    exploitability_table,
    paid_table,
    red_team_table,
    self_play_table,
    surplus_table,
)
from welfare_env.extras import install_extra

DEMO_POLICIES = ("random", "prosocial", "dove", "exploiter:nice=dove,attack=dumbbot")
DEMO_PROFILES = ("prosocial", "dove")
DEMO_GAMES = 5
DEMO_SELECTION_GAMES = 2  # selection games per attack
LEARNED = "rl:best-response"  # comes with the package

Witness = Annotated[Path | None, typer.Option(help="Save a typical game of the best attack to this file.")]


@with_options
def self_play(
    policies: Annotated[
        list[str], typer.Argument(help="One or more profiles: a policy for all seats, or e.g. '4*dove + 3*random'.")
    ],
    play: GameOptions,
    run: RunOptions,
    tables: TableOptions,
    variant: Variant = "welfare",
    scoring: Annotated[
        str | None,
        typer.Option(
            metavar="sum-of-squares|draw-size|concave",
            help="Scoring of games of variant standard.",
            show_default="sum-of-squares",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Welfare, proficiency, stolen centers and conflicts in self-play, or in mixed profiles."""
    with errors_in_one_line():
        setting = play.setting(run.store, variant, scoring)
        tables.check()
        begun = _self_play(policies, play.games, setting)
        with run.runner(begun) as runner:
            results = begun.results(runner)
        tables.write(same_columns(row for result in results for row in result.rows()))
        if as_json:
            print_json([result.to_dict() for result in results])
            return
        print_tables(self_play_table(results), *(paid_table(result, "policy") for result in results if result.is_mixed))
        if len(results) == 1 or not results[0].rules.is_welfare:
            print_tables(*(paid_table(result, "power", len(results) == 1) for result in results))
        if len(results) > 1:
            print_tables(contrast_table(compare_results(results), "Differences from the first"))
        _print_usage([row for result in results for row in _models(result)])


def _self_play(policies: Sequence[str], games: int, setting: Setting) -> Begun[SelfPlayResult]:
    return Begun(*(measure_self_play(policy, games, setting) for policy in policies))


@with_options
def exploitability(
    policy: AnyProfile,
    play: AttackGameOptions,
    run: RunOptions,
    tables: TableOptions,
    deviator: Annotated[
        list[str] | None,
        typer.Option(
            help="The coalition's policy; repeat for several. portfolio: all attacks of the package.",
            show_default="the paper's exploiter: nice like the policy, then attacks like dumbbot",
        ),
    ] = None,
    coalitions: Annotated[
        str,
        typer.Option(
            help="singles or pairs (the paper's choice; on other maps, all), all-singles, all-pairs, or e.g. "
            "FRANCE,ENGLAND+TURKEY."
        ),
    ] = "singles",
    coordinated: Annotated[
        bool, typer.Option("--coordinated", help="One policy object plays all members of the coalition.")
    ] = False,
    selection_games: Annotated[
        int,
        typer.Option(min=1, help="Selection games per attack; the best attacks then play further games."),
    ] = SELECTION_GAMES,
    witness: Witness = None,
    as_json: Json = False,
) -> None:
    """How much the best coalition gains by deviating from a profile, in welfare points a year."""
    with errors_in_one_line():
        setting = play.setting(run.store)
        chosen = read_coalitions(coalitions, setting.board.powers)
        _check_files(tables, witness)
        attack: dict[str, Any] = {"deviator": deviator or None, "coalitions": chosen, "coordinated": coordinated}
        attack["selection_games"] = selection_games
        begun = Begun(measure_exploitability(policy, play.games, setting, **attack))
        with run.runner(begun) as runner:
            (result,) = begun.results(runner)
        if _written(result, tables, as_json, witness):
            return
        print_tables(exploitability_table([result], [coalitions]), *coalition_tables(result))
        if result.surpluses:
            print_tables(surplus_table(result.surpluses))
        parts = result.usage_by_part.items()
        _print_usage([(f"{part}: {model}", usage) for part, models in parts for model, usage in models.items()])


@with_options
def red_team(
    policy: Annotated[str, typer.Argument(help="The policy or profile to attack.")],
    play: AttackGameOptions,
    run: RunOptions,
    tables: TableOptions,
    budget: Annotated[
        str,
        typer.Option(
            metavar="|".join(BUDGETS),
            help="Size of the search: quick takes about a minute on four cores, short and usual minutes, full hours.",
        ),
    ] = "usual",
    trained: Annotated[
        list[str] | None,
        typer.Option(help="An additional attacker, such as rl:FOLDER/checkpoint; repeat for several."),
    ] = None,
    witness: Witness = None,
    as_json: Json = False,
) -> None:
    """Try many attacks on a policy, by single powers, coalitions and pacts, and report the strongest."""
    with errors_in_one_line():
        setting = play.setting(run.store)
        _check_files(tables, witness)
        begun = Begun(measure_red_team(policy, budget, setting, games=play.games, trained=trained or ()))
        with run.runner(begun) as runner:
            (result,) = begun.results(runner)
        if _written(result, tables, as_json, witness):
            return
        print_tables(red_team_table(result))
        if result.best.gain.value > 0:
            print("to reproduce the best attack (then view a game of it with welfare-env replay worst.json):")
        else:
            print(f"none of {len(result.found.screened):,} attacks gained; to reproduce the best of them:")
        print_line(command_of(result, policy, play))
        _print_usage([] if result.found.usage is None else [("red team", result.found.usage)])


def command_of(result: RedTeamResult, policy: str, play: AttackGameOptions) -> str:
    """The shell command that replays the best attack with the same seeds, hence the same gain, and saves a game."""
    best = result.best
    command = ["welfare-env", "exploitability", policy, "--coalitions", "+".join(best.coalition)]
    command += ["--deviator", result.specs[best.deviator]]
    command += ["--coordinated"] if best.deviator in result.coordinated and len(best.coalition) > 1 else []
    return shlex.join([*command, *as_arguments(play), "--witness", "worst.json"])


@dataclass(frozen=True)
class MixedGameOptions(GameOptions):
    """`GameOptions` with a default number of games that balances the seats."""

    games: Annotated[
        int,
        typer.Option(
            min=0,
            help="Games per mix: a multiple of the number of powers, unless --seats drawn; 0 for one per power.",
            show_default="one per power",
        ),
    ] = 0
    seats: Annotated[
        str,
        typer.Option(
            metavar="balanced|rotated|fixed|drawn",
            help="Seats of a mix: balanced or rotated (the same), shifted by one in every game; in the map's order; "
            "or random.",
        ),
    ] = "balanced"


@with_options
def cross_play(
    policies: Annotated[list[str], typer.Argument(help="Two or more policies, as for self-play.")],
    play: MixedGameOptions,
    run: RunOptions,
    tables: TableOptions,
    types: Annotated[int, typer.Option(min=1, help="Maximum number of policies in a mix.")] = MAX_TYPES,
    background: Annotated[
        list[str] | None,
        typer.Option(help="A held-out background player for scenarios; repeat for several."),
    ] = None,
    focal_seats: Annotated[
        list[int] | None,
        typer.Option(help="Number of focal seats among background players; repeat for several.", show_default="1"),
    ] = None,
    variant: Variant = "welfare",
    with_mixes: Annotated[
        bool, typer.Option("--mixes", help="Also show the payoffs in every mix, after the summary.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Payoffs in every mix of the policies, with the gains of single invaders and symmetric equilibria."""
    with errors_in_one_line():
        seats = "rotated" if play.seats == "balanced" else play.seats
        setting = replace(play, seats=seats).setting(run.store, variant)
        tables.check()
        mixes: dict[str, Any] = {"types": types, "background": background or [], "focal_seats": focal_seats or [1]}
        begun = Begun(measure_cross_play(policies, play.games or None, setting, **mixes))
        with run.runner(begun) as runner:
            (result,) = begun.results(runner)
        if _written(result, tables, as_json):
            return
        print_tables(*cross_play_tables(result), *([mix_table(result)] if with_mixes else []))
        if not with_mixes:
            print_text(f"{len(result.mixes)} mixes; for the payoffs in each: --mixes, --csv or --json")
        _print_usage([] if result.usage is None else [("cross-play", result.usage)])


@dataclass(frozen=True)
class ComparedGameOptions(GameOptions):
    """As `GameOptions`, with more games."""

    games: Annotated[int, typer.Option(min=1, help="Games per policy; below five there are no intervals.")] = GAMES


@with_options
def compare(
    policies: Annotated[
        list[str], typer.Argument(help="Profiles; of a single one, its policies. The first is the baseline.")
    ],
    play: ComparedGameOptions,
    run: RunOptions,
    tables: TableOptions,
    measure: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME[,NAME...]",
            help="What to compare, e.g. conflicts, or welfare_per_year:FRANCE. Without a power: every power.",
            show_default="root_nash_welfare",
        ),
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Compare all pairs, not only with the baseline.")] = False,
    variant: Variant = "welfare",
    as_json: Json = False,
) -> None:
    """Differences between policies over games with the same seeds, with confidence intervals."""
    with errors_in_one_line():
        measures = [name for text in measure or () for name in listed(text)] or None
        tables.check()
        setting = play.setting(run.store, variant)
        check_measures(policies, measures, setting)
        begun = _self_play(policies, play.games, setting)
        with run.runner(begun) as runner:
            found = compare_results(begun.results(runner), measures, pairs)
        tables.write(found.rows())
        if as_json:
            print_json(found.to_dict())
        else:
            print_tables(contrast_table(found))


@with_options
def demo(
    tables: TableOptions, seed: Seed = 0, workers: Processes = CORES, store: Store = DEFAULT_PATH, as_json: Json = False
) -> None:
    """A small demo: four policies in self-play, and the exploitability of two of them."""
    conditions: list[tuple[str, str, str | None]]
    conditions = [(policy, name, None) for policy in DEMO_PROFILES for name in COALITIONS]
    if all(find_spec(name) for name in ("torch", "safetensors")):
        conditions.insert(1, ("prosocial", "singles", LEARNED))
    else:
        print(f"skipping the learned best response: it needs {install_extra('rl')}", file=sys.stderr)
    setting = Setting(seed=seed)
    evaluations: list[Evaluation[Any]] = [measure_self_play(each, DEMO_GAMES, setting) for each in DEMO_POLICIES]
    for policy, name, deviator in conditions:
        attack: dict[str, Any] = {"deviator": deviator, "coalitions": name, "selection_games": DEMO_SELECTION_GAMES}
        evaluations.append(measure_exploitability(policy, DEMO_GAMES, setting, **attack))
    with errors_in_one_line():
        tables.check()
        begun = Begun(*evaluations)
        with RunOptions(workers=workers, store=store).runner(begun) as runner:
            results = begun.results(runner)
        played, exploited = results[: len(DEMO_POLICIES)], results[len(DEMO_POLICIES) :]
        tables.write(same_columns(row for result in (*played, *exploited) for row in result.rows()))
        if as_json:
            own, gains = [result.to_dict() for result in played], [result.to_dict() for result in exploited]
            print_json({"self_play": own, "exploitability": gains})
            return
        print_tables(self_play_table(played), exploitability_table(exploited, [name for _, name, _ in conditions]))
        page = store.parent / "demo.html"
        write_replay(exploited[0].witness.marked_record, page)
        print(f"Replay of a game in which {DEMO_PROFILES[0]} is attacked, to open in a browser: {page}")


def _check_files(tables: TableOptions, witness: Path | None) -> None:
    """Check before the first game that the tables and the witness can be written.

    Raises:
        TableError: a file cannot be written.
    """
    tables.check()
    if witness is not None:
        check_file(witness)


def _written(result: Any, tables: TableOptions, as_json: bool, witness: Path | None = None) -> bool:
    """Write the tables and the witness, and print JSON if requested.

    Returns:
        True if JSON was printed, so that the caller prints no tables.
    """
    tables.write(same_columns(result.rows()))
    if witness is not None:
        result.witness.save(witness)
    if as_json:
        print_json(result.to_dict())
    return as_json


def _models(result: SelfPlayResult) -> list[tuple[str, LMUsage]]:
    """Language model usage: one entry, or one per model if there are several."""
    if result.usage is None or len(result.usage_by_model) == 1:
        return [] if result.usage is None else [(result.policy, result.usage)]
    return [(f"{result.policy}: {model}", usage) for model, usage in result.usage_by_model.items()]


def _print_usage(rows: list[tuple[str, LMUsage]]) -> None:
    """Print the usage of language models, if any played."""
    if rows:
        print_tables(usage_table(rows))
