"""The command ``welfare-env``: the commands of evaluation, and those of training and modal_env as groups."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

import evaluation
import welfare_env
from agents.runtime.command_options import with_options
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from agents.specs import usages
from evaluation.cli import store_commands
from evaluation.cli.check_model import check
from evaluation.cli.compare import compare
from evaluation.cli.console import RESTARTS, errors_in_one_line, print_json
from evaluation.cli.cross_play import cross_play
from evaluation.cli.exact import exact
from evaluation.cli.experiments import experiment
from evaluation.cli.messages import messages
from evaluation.cli.options import (
    CORES,
    AnyProfile,
    AttackGameOptions,
    GameOptions,
    Kept,
    Keys,
    Processes,
    RunOptions,
    Seed,
    SomeVariants,
    Store,
    Witness,
    check_files,
    policies_of,
    read_coalitions,
    written,
)
from evaluation.cli.pages import import_command, replay, transcript
from evaluation.cli.red_team import red_team
from evaluation.cli.theorems import theorems
from evaluation.experiments.attacks import SELECTION_GAMES
from evaluation.experiments.evaluation_plan import EvaluationPlan
from evaluation.experiments.exploitability import plan_exploitability
from evaluation.experiments.self_play import plan_self_play
from evaluation.measures.lm_usage import LMUsage, usage_table
from evaluation.measures.rows import same_columns
from evaluation.play.game_settings import GameSettings
from evaluation.play.store import DEFAULT_PATH
from evaluation.play.stored_games import choose, conditions, game_facts, latest, numbered, open_store, save
from evaluation.report.replays import write_replay
from evaluation.tables.comparison_tables import difference_tables
from evaluation.tables.game_tables import (
    coalition_table,
    exploitability_table,
    policy_table,
    power_table,
    self_play_table,
    stored_table,
    surplus_table,
)
from evaluation.tables.sweep_tables import exploitability_sweep, self_play_sweep
from evaluation.web.commands import play
from welfare_env.extras import install_extra

DEMO_POLICIES = ("random", "prosocial", "dove", "exploiter:nice=dove,attack=dumbbot")
DEMO_PROFILES = ("prosocial", "dove")
DEMO_GAMES = 5
DEMO_SELECTION_GAMES = 2  # selection games per attack
LEARNED = "rl:best-response"  # comes with the package
SHOWN_CONDITIONS = 20  # rows of the table of stored games

GROUPS = {"train": "training", "modal": "modal_env"}  # group -> the package with its commands
app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Measure and train cooperation in Welfare Diplomacy and Modal Combat. "
    f"Policies: {', '.join(usages())} (put a nested SPEC with options in parentheses).",
)


def show_version(is_asked: bool) -> None:
    """Print the version and exit."""
    if is_asked:
        print(f"welfare-env {welfare_env.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=show_version, help="Show the version and exit.")
    ] = False,
) -> None: ...


@app.command("self-play")
@with_options
def self_play(
    policies: Annotated[
        list[str], typer.Argument(help="One or more profiles: a policy for all seats, or e.g. '4*dove + 3*random'.")
    ],
    play: GameOptions,
    run: RunOptions,
    tables: TableOptions,
    variant: SomeVariants = "welfare",
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
        settings = play.settings(variant, scoring)
        tables.check()
        results = run.play(
            policies_of(policies),
            settings,
            lambda each: [plan_self_play(policy, play.games, each) for policy in policies],
        )
        tables.write(same_columns(row for result in results for row in result.rows()))
        if as_json:
            print_json([result.to_dict() for result in results])
            return
        if len(settings) > 1:
            print_tables(self_play_sweep(results))
        else:
            print_tables(self_play_table(results), *(policy_table(result) for result in results if result.is_mixed))
            if len(results) == 1 or not results[0].rules.is_welfare:
                print_tables(*(power_table(result, len(results) == 1) for result in results))
        print_tables(*difference_tables(results))
        if used := [row for result in results for row in _models(result)]:
            print_tables(usage_table(used))


@app.command()
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
    precision: Annotated[
        float | None,
        typer.Option(
            help="Play until the confidence interval of the gain is at most this wide, in points a year.",
            show_default="none",
        ),
    ] = None,
    max_games: Annotated[int, typer.Option(min=1, help="Maximum number of games if a precision is given.")] = 200,
    witness: Witness = None,
    as_json: Json = False,
) -> None:
    """How much the best coalition gains by deviating from a profile, in welfare points a year."""
    with errors_in_one_line():
        settings = play.settings()
        chosen = read_coalitions(coalitions, settings[0].board.powers)
        check_files(settings, tables, witness)
        attack: dict[str, Any] = {"deviator": deviator or None, "coalitions": chosen, "coordinated": coordinated}
        attack |= {"selection_games": selection_games, "precision": precision, "max_games": max_games}
        results = run.play(
            policies_of([policy], deviator or ()),
            settings,
            lambda each: [plan_exploitability(policy, play.games, each, **attack)],
        )
        if written(results, tables, as_json, witness):
            return
        if len(results) > 1:
            print_tables(exploitability_sweep(results), *difference_tables(results))
            return
        result = results[0]
        print_tables(exploitability_table([result], [coalitions]), *map(coalition_table, result.by_deviator.values()))
        if result.surpluses:
            print_tables(surplus_table(result.surpluses))
        if result.usage is not None:
            print_tables(usage_table(_parts(result)))


app.command("compare")(compare)
app.command("cross-play")(cross_play)
app.command("red-team")(red_team)
app.command("exact")(exact)
app.command("theorems")(theorems)


@app.command()
@with_options
def demo(
    tables: TableOptions, seed: Seed = 0, workers: Processes = CORES, store: Store = DEFAULT_PATH, as_json: Json = False
) -> None:
    """A small demo: four policies in self-play, and the exploitability of two of them."""
    conditions: list[tuple[str, str, str | None]]
    conditions = [(policy, name, None) for policy in DEMO_PROFILES for name in evaluation.COALITIONS]
    if all(find_spec(name) for name in ("torch", "safetensors")):
        conditions.insert(1, ("prosocial", "singles", LEARNED))
    else:
        print(f"skipping the learned best response: it needs {install_extra('rl')}", file=sys.stderr)
    run = RunOptions(workers=workers, store=store)

    def plan(settings: GameSettings) -> list[EvaluationPlan[Any]]:
        attacks = [
            plan_exploitability(
                policy, DEMO_GAMES, settings, selection_games=DEMO_SELECTION_GAMES, deviator=deviator, coalitions=name
            )
            for policy, name, deviator in conditions
        ]
        return [*(plan_self_play(policy, DEMO_GAMES, settings) for policy in DEMO_POLICIES), *attacks]

    with errors_in_one_line():
        tables.check()
        results = run.play(policies_of(DEMO_POLICIES), [GameSettings(seed=seed)], plan)
        played, exploited = results[: len(DEMO_POLICIES)], results[len(DEMO_POLICIES) :]
        tables.write(same_columns(row for result in (*played, *exploited) for row in result.rows()))
        if as_json:
            own, gains = [result.to_dict() for result in played], [result.to_dict() for result in exploited]
            print_json({"self_play": own, "exploitability": gains})
            return
        names = [name for _, name, _ in conditions]
        print_tables(self_play_table(played), exploitability_table(exploited, names))
        page = store.parent / "demo.html"
        write_replay(exploited[0].witness.marked_record, page)
        print(f"Replay of a game in which {DEMO_PROFILES[0]} is attacked, to open in a browser: {page}")


@app.command()
def games(
    keys: Keys = None,
    store: Kept = DEFAULT_PATH,
    save_to: Annotated[
        Path | None, typer.Option("--save", help="Save the games to this folder, as files for `welfare_env.Game.load`.")
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Also save the prompts and raw replies of language models.")
    ] = False,
    last: Annotated[
        int, typer.Option(min=0, help="Show only this many conditions, most recent last; 0 for all.")
    ] = SHOWN_CONDITIONS,
    as_json: Json = False,
) -> None:
    """List the games of the store: players, rules, seeds, dates and keys."""
    with errors_in_one_line(RESTARTS), open_store(store) as kept:
        stored = kept.games()
        chosen = choose(stored, keys or [], store)
        groups, numbers = conditions(chosen), numbered(stored)
        if save_to is not None:
            save(kept, chosen, save_to, private)
        if as_json:
            print_json([game_facts(game, numbers) for game in chosen])
        elif groups:
            shown = groups if keys else latest(groups, last)
            print_tables(stored_table(shown, numbers))
            if len(shown) < len(groups):
                print(
                    f"the last {len(shown)} of {len(groups)} conditions, with "
                    f"{sum(map(len, shown.values()))} of {len(chosen)} games; for all: --last 0, or --json"
                )
        else:
            print(f"{store} contains no games yet")


app.command("messages")(messages)
app.command("replay")(replay)
app.command("import")(import_command)
app.command("transcript")(transcript)
app.command("check-model")(check)
app.command("experiment")(experiment)
app.command("play")(play)


@app.command("warm-up")
def warm_up() -> None:
    """Compile the game engine for this machine: about a minute, once per installation.

    Otherwise it is compiled during the first game. Prints a line to standard error when ready.
    """
    with errors_in_one_line("compiled parts are saved; run the same command to continue"):
        welfare_env.warm_up()
    print("ready: the game engine is compiled for this machine", file=sys.stderr)


def _models(result: evaluation.SelfPlayResult) -> list[tuple[str, LMUsage]]:
    """Language model usage: one entry, or one per model if there are several."""
    if result.usage is None or len(result.usage_by_model) == 1:
        return [] if result.usage is None else [(result.policy, result.usage)]
    return [(f"{result.policy}: {model}", usage) for model, usage in result.usage_by_model.items()]


def _parts(result: evaluation.ExploitabilityResult) -> list[tuple[str, LMUsage]]:
    """Language model usage per part (the profile or a deviator) and model."""
    return [
        (f"{part}: {model}", usage) for part, models in result.usage_by_part.items() for model, usage in models.items()
    ]


app.add_typer(store_commands.app, name="store")
for name, package in GROUPS.items():
    app.add_typer(import_module(f"{package}.cli.commands").app, name=name)
