"""The commands exploitability, red-team and demo."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from agents.runtime.command_options import as_arguments, with_options
from agents.runtime.table_files import check_file
from agents.runtime.tables import print_line, print_tables
from evaluation.cli.console import errors_in_one_line
from evaluation.cli.options import (
    CORES,
    AnyProfile,
    GameOptions,
    Outputs,
    Processes,
    RunOptions,
    Seed,
    Store,
    print_usage,
    read_coalitions,
)
from evaluation.experiments.attacks import GAMES, SELECTION_GAMES
from evaluation.experiments.exploitability import measure_exploitability
from evaluation.experiments.exploitability_result import Witness
from evaluation.experiments.red_team import BUDGETS, RedTeamResult, measure_red_team
from evaluation.experiments.self_play import measure_self_play
from evaluation.measures.gains import COALITIONS
from evaluation.play.game_spec import Setting
from evaluation.play.runner import Begun, Evaluation
from evaluation.play.store import DEFAULT_PATH
from evaluation.report.replays import write_replay
from evaluation.tables.attack_tables import coalition_tables, exploitability_table, red_team_table, surplus_table
from evaluation.tables.game_tables import self_play_table
from welfare_env.extras import install_extra

DEMO_POLICIES = ("random", "prosocial", "dove", "exploiter:nice=dove,attack=dumbbot")
DEMO_PROFILES = ("prosocial", "dove")
DEMO_GAMES = 5
DEMO_SELECTION_GAMES = 2  # selection games per attack
LEARNED = "rl:best-response"  # comes with the package


@dataclass(frozen=True)
class AttackOptions(GameOptions):
    """`GameOptions` with the games in which the selected attacks are measured."""

    games: Annotated[
        int,
        typer.Option(min=1, help="Games of self-play and of each selected attack (after the selection games)."),
    ] = GAMES


@dataclass(frozen=True)
class AttackOutputs(Outputs):
    """`Outputs`, and a typical game."""

    witness: Annotated[Path | None, typer.Option(help="Save a typical game of the best attack to this file.")] = None

    def check(self) -> None:
        """As `Outputs.check`, for the witness, too."""
        super().check()
        if self.witness is not None:
            check_file(self.witness)

    def written(self, rows: Any, facts: Any, witness: Witness | None = None) -> bool:
        """As `Outputs.written`; also saves the witness."""
        if self.witness is not None and witness is not None:
            witness.save(self.witness)
        return super().written(rows, facts)


@with_options
def exploitability(
    policy: AnyProfile,
    run: RunOptions,
    out: AttackOutputs,
    play: AttackOptions,
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
) -> None:
    """How much the best coalition gains by deviating from a profile, in welfare points a year."""
    with errors_in_one_line():
        setting = play.setting(run.store)
        chosen = read_coalitions(coalitions, setting.board.powers)
        out.check()
        attack: dict[str, Any] = {"deviator": deviator or None, "coalitions": chosen, "coordinated": coordinated}
        attack["selection_games"] = selection_games
        result = run.result(measure_exploitability(policy, play.games, setting, **attack))
        if out.written(result.rows(), result.to_dict(), result.witness):
            return
        print_tables(exploitability_table([result], [coalitions]), *coalition_tables(result))
        if result.surpluses:
            print_tables(surplus_table(result.surpluses))
        parts = result.usage_by_part.items()
        print_usage([(f"{part}: {model}", usage) for part, models in parts for model, usage in models.items()])


@with_options
def red_team(
    policy: Annotated[str, typer.Argument(help="The policy or profile to attack.")],
    run: RunOptions,
    out: AttackOutputs,
    play: AttackOptions,
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
) -> None:
    """Try many attacks on a policy, by single powers, coalitions and pacts, and report the strongest."""
    with errors_in_one_line():
        setting = play.setting(run.store)
        out.check()
        result = run.result(measure_red_team(policy, budget, setting, games=play.games, trained=trained or ()))
        if out.written(result.rows(), result.to_dict(), result.witness):
            return
        print_tables(red_team_table(result))
        if result.best.gain.value > 0:
            print("to reproduce the best attack (then view a game of it with welfare-env replay worst.json):")
        else:
            print(f"none of {len(result.found.screened):,} attacks gained; to reproduce the best of them:")
        print_line(command_of(result, policy, play))
        print_usage([("red team", result.found.usage)])


def command_of(result: RedTeamResult, policy: str, play: GameOptions) -> str:
    """The shell command that replays the best attack with the same seeds, hence the same gain, and saves a game."""
    best = result.best
    command = ["welfare-env", "exploitability", policy, "--coalitions", "+".join(best.coalition)]
    command += ["--deviator", result.specs[best.deviator]]
    command += ["--coordinated"] if best.deviator in result.coordinated and len(best.coalition) > 1 else []
    return shlex.join([*command, *as_arguments(play, AttackOptions()), "--witness", "worst.json"])


@with_options
def demo(out: Outputs, seed: Seed = 0, workers: Processes = CORES, store: Store = DEFAULT_PATH) -> None:
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
        out.check()
        begun = Begun(*evaluations)
        with RunOptions(workers=workers, store=store).runner(begun) as runner:
            results = begun.results(runner)
        played, exploited = results[: len(DEMO_POLICIES)], results[len(DEMO_POLICIES) :]
        own, gains = [result.to_dict() for result in played], [result.to_dict() for result in exploited]
        rows = [row for result in results for row in result.rows()]
        if out.written(rows, {"self_play": own, "exploitability": gains}):
            return
        print_tables(self_play_table(played), exploitability_table(exploited, [name for _, name, _ in conditions]))
        page = store.parent / "demo.html"
        write_replay(exploited[0].witness.marked_record, page)
        print(f"Replay of a game in which {DEMO_PROFILES[0]} is attacked, to open in a browser: {page}")
