"""Command line: ``python -m evaluation self-play | exploitability | demo | games | messages``."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from rich.console import Console

import agents
import evaluation
from agents.lm.errors import AccessError, BudgetError
from agents.progress import metered, plain_console
from agents.specs import asks_language_models, usages
from evaluation.experiments.exploitability import resolve_coalitions
from evaluation.measures.lm_usage import spent, usage_table
from evaluation.play.store import DEFAULT_PATH, GameStore
from evaluation.play.stored_games import choose, conditions, open_store, save, saved_games, told
from evaluation.report.message_tables import talk_tables, talks
from evaluation.report.tables import (
    WIDE,
    coalition_table,
    exploitability_table,
    power_table,
    self_play_table,
    stored_table,
)
from welfare_env import Rules, WelfareEnvError, load_board
from welfare_env.errors import UnknownPowerError, did_you_mean

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels

DEFAULT_REPLIES = Path("runs", "replies.sqlite")

DEMO_POLICIES = ("random", "prosocial", "dove", "exploiter:nice=dove,attack=dumbbot")
DEMO_PROFILES = ("prosocial", "dove")
DEMO_GAMES = 5
LEARNED = "rl:best-response"  # comes with the package

SPECS = f"Policies: {', '.join(usages())} (a nested SPEC with options goes in parentheses)."
app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Measure how well policies cooperate in Welfare Diplomacy, and how exploitable they are. " + SPECS,
)

Games = Annotated[int, typer.Option(min=1, help="Games a condition. More games, narrower intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same table, with any number of workers.")]
Processes = Annotated[
    int,
    typer.Option(
        min=1,
        help="Games that go on side by side: each in a process, or with language models in a thread of this one.",
        show_default="the machine's cores",
    ),
]
Years = Annotated[int, typer.Option(min=1, help="Length of a game.")]
Map = Annotated[str, typer.Option("--map", help="A map's name, or the path of a .map file.")]
Rounds = Annotated[int, typer.Option(min=0, help="Message rounds a phase; 0 is no press.")]
Press = Annotated[
    str,
    typer.Option(metavar="text|tokens", help="Messages are any text, or one of five words that learned players know."),
]
RetreatWelfare = Annotated[
    bool, typer.Option("--retreat-welfare", help="Points after retreats too, as in the published experiments.")
]
Store = Annotated[Path, typer.Option(help="Finished games are kept here; an interrupted command goes on from them.")]
Kept = Annotated[Path, typer.Option("--store", help="Where finished games are kept.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON in place of tables.")]
Simultaneous = Annotated[
    bool, typer.Option("--simultaneous", help="In a round all speak at once, and language models are asked at once.")
]
Replies = Annotated[
    Path, typer.Option("--lm-cache", help="Replies of language models are kept here, so that none is paid for twice.")
]
Tokens = Annotated[
    Optional[int],  # noqa: UP045 (typer reads it)
    typer.Option("--budget-tokens", min=1, help="Tokens that this run may spend.", show_default="any number"),
]
Dollars = Annotated[
    Optional[float],  # noqa: UP045 (typer reads it)
    typer.Option("--budget-dollars", help="Dollars that this run may spend.", show_default="any amount"),
]
CORES = os.cpu_count() or 1


@app.command("self-play")
def self_play(
    policies: Annotated[list[str], typer.Argument(help="One policy or more, each in every seat of its own games.")],
    games: Games = 5,
    seed: Seed = 0,
    workers: Processes = CORES,
    years: Years = 10,
    variant: Annotated[str, typer.Option(help="welfare or standard.")] = "welfare",
    map_name: Map = "standard",
    press: Press = "text",
    message_rounds: Rounds = 3,
    retreat_welfare: RetreatWelfare = False,
    simultaneous: Simultaneous = False,
    store: Store = DEFAULT_PATH,
    lm_cache: Replies = DEFAULT_REPLIES,
    budget_tokens: Tokens = None,
    budget_dollars: Dollars = None,
    as_json: Json = False,
) -> None:
    """Welfare, proficiency, stolen centres and conflicts of policies that play themselves."""
    with _errors_told():
        talk: dict[str, Any] = {"press": press, "message_rounds": message_rounds}
        rules = Rules(variant=variant, years=years, retreat_welfare=retreat_welfare, **talk)
        load_board(map_name)
        models = _models(policies, lm_cache, budget_tokens, budget_dollars)
        common: dict[str, Any] = {"seed": seed, "rules": rules, "map_name": map_name, "simultaneous": simultaneous}
        with _playing(store, workers, games * len(policies), models) as means:
            results = [evaluation.self_play(policy, games, **common, **means) for policy in policies]
        if as_json:
            _print_json([result.to_dict() for result in results])
            return
        console = _console()
        console.print(self_play_table(results, console.width))
        if len(results) == 1:
            console.print(power_table(results[0]))
        if used := [(result.policy, result.usage) for result in results if result.usage is not None]:
            console.print(usage_table(used))


@app.command()
def exploitability(
    policy: Annotated[str, typer.Argument(help="The profile: this policy in every seat.")],
    deviator: Annotated[
        Optional[str],  # noqa: UP045 (typer reads it)
        typer.Option(help="What the coalition plays.", show_default="exploiter:nice=POLICY,attack=dumbbot"),
    ] = None,
    coalitions: Annotated[
        str,
        typer.Option(help="singles or pairs (the paper's), all-singles, all-pairs, or e.g. FRANCE,ENGLAND+TURKEY."),
    ] = "singles",
    games: Games = 5,
    seed: Seed = 0,
    workers: Processes = CORES,
    years: Years = 10,
    map_name: Map = "standard",
    press: Press = "text",
    message_rounds: Rounds = 3,
    retreat_welfare: RetreatWelfare = False,
    simultaneous: Simultaneous = False,
    store: Store = DEFAULT_PATH,
    lm_cache: Replies = DEFAULT_REPLIES,
    budget_tokens: Tokens = None,
    budget_dollars: Dollars = None,
    as_json: Json = False,
) -> None:
    """What the best coalition gains, in welfare points a year, by leaving a profile for a deviating policy."""
    with _errors_told():
        rules = Rules(years=years, press=press, message_rounds=message_rounds, retreat_welfare=retreat_welfare)
        board = load_board(map_name)
        chosen = _coalitions(coalitions, board.powers)
        total = games * (1 + len(resolve_coalitions(board, chosen)))
        models = _models([policy, deviator or policy], lm_cache, budget_tokens, budget_dollars)
        with _playing(store, workers, total, models) as means:
            common: dict[str, Any] = {"seed": seed, "rules": rules, "map_name": map_name, **means}
            common["simultaneous"] = simultaneous
            result = evaluation.exploitability(policy, games, deviator=deviator, coalitions=chosen, **common)
        if as_json:
            _print_json(result.to_dict())
            return
        console = _console()
        console.print(exploitability_table([result], [coalitions]), coalition_table(result))
        if result.usage is not None:
            console.print(usage_table([(f"{policy} and deviators", result.usage)]))


@app.command()
def demo(seed: Seed = 0, workers: Processes = CORES, store: Store = DEFAULT_PATH, as_json: Json = False) -> None:
    """The main job, small: four policies in self-play, and how much exploiters take from two of them."""
    conditions: list[tuple[str, str, str | None]]
    conditions = [(policy, name, None) for policy in DEMO_PROFILES for name in evaluation.COALITIONS]
    if all(find_spec(name) for name in ("torch", "safetensors")):
        conditions.insert(1, ("prosocial", "singles", LEARNED))
    else:
        print(
            "a learned best response, left out here, needs the extra rl: in the clone, pip install -e '.[rl]'",
            file=sys.stderr,
        )
    sizes = [1 + len(evaluation.COALITIONS[name]) for _, name, _ in conditions]
    with _errors_told():
        with _playing(store, workers, DEMO_GAMES * (len(DEMO_POLICIES) + sum(sizes)), None) as means:
            played = [evaluation.self_play(policy, DEMO_GAMES, seed=seed, **means) for policy in DEMO_POLICIES]
            exploited = [
                evaluation.exploitability(policy, DEMO_GAMES, deviator=deviator, coalitions=name, seed=seed, **means)
                for policy, name, deviator in conditions
            ]
        if as_json:
            own, gains = [result.to_dict() for result in played], [result.to_dict() for result in exploited]
            _print_json({"self_play": own, "exploitability": gains})
            return
        console = _console()
        console.print(self_play_table(played, console.width))
        console.print(exploitability_table(exploited, [name for _, name, _ in conditions]))


@app.command()
def games(
    keys: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Argument(help="Keys, or the beginnings of keys, of games.", show_default="all games"),
    ] = None,
    store: Kept = DEFAULT_PATH,
    save_to: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads it)
        typer.Option("--save", help="A folder: write the games there as files that `welfare_env.Game.load` reads."),
    ] = None,
    as_json: Json = False,
) -> None:
    """What the store holds: who played what, with which seeds, when, and under which keys."""
    with _errors_told(), open_store(store) as kept:
        chosen = choose(kept.games(), keys or [], store)
        groups = conditions(chosen)
        if save_to is not None:
            save(kept, chosen, save_to)
        if as_json:
            _print_json([told(game) for game in chosen])
        elif groups:
            _console().print(stored_table(groups))
        else:
            print(f"{store} holds no games yet")


@app.command()
def messages(
    chosen: Annotated[
        Optional[list[str]],  # noqa: UP045 (typer reads it)
        typer.Argument(
            metavar="[GAME]...",
            help="Saved games (files), or keys of stored ones as `games` lists them.",
            show_default="all stored games",
        ),
    ] = None,
    store: Kept = DEFAULT_PATH,
    as_json: Json = False,
) -> None:
    """What was said: how much in public, who to whom, how alike, and which promises were kept."""
    with _errors_told():
        rows = talks(saved_games(chosen or [], store))
        if as_json:
            _print_json([row.to_dict() for row in rows])
        elif rows:
            _console().print(*talk_tables(rows))
        else:
            print(f"{store} holds no games yet")


def _coalitions(text: str, powers: Sequence[str]) -> str | list[list[str]]:
    """A set's name as it is; otherwise powers joined by + in coalitions, which are separated by commas.

    Raises:
        UnknownPowerError: a power that is not there, with the name that may have been meant.
    """
    sets = (*evaluation.COALITIONS, "all-singles", "all-pairs")
    if text in sets:
        return text
    found = [[power.strip().upper() for power in part.split("+")] for part in text.split(",")]
    for power in (power for coalition in found for power in coalition if power not in powers):
        known = (*powers, *sets) if found == [[power]] else powers
        hint = did_you_mean(power, known)
        raise UnknownPowerError(f"unknown power {power!r:.80}{hint}: choose one of {', '.join(known)}")
    return found


def _models(policies: Sequence[str], path: Path, tokens: int | None, dollars: float | None) -> SharedModels | None:
    """What language models share; None where none plays. All policies are made once, so that wrong ones are told.

    Raises:
        UnknownAgentError, ConfigError: a policy or a budget that makes no sense.
        EvaluationError: a budget for policies that use none.
        CacheError: the file of replies cannot be used.
    """
    models = None
    if any(asks_language_models(policy) for policy in policies):
        from agents.lm.models.budget import Budget
        from agents.lm.models.cache import ResponseCache
        from agents.lm.models.shared_models import SharedModels

        models = SharedModels(ResponseCache(path), Budget(tokens, dollars))
    elif tokens is not None or dollars is not None:
        raise evaluation.EvaluationError("a budget is for language models, and none of these policies is one")
    for policy in policies:
        agents.make(policy, models)
    if models is not None and models.cache is not None:
        models.cache.count()  # a file that cannot be used is told before anything is played
    return models


@contextmanager
def _playing(path: Path, workers: int, total: int, models: SharedModels | None) -> Iterator[dict[str, Any]]:
    """What evaluations play with: workers, a store, and the report to a bar on stderr."""
    try:
        pool = evaluation.Workers(workers, tell_compiling=True)
        with GameStore(path) as store, pool, metered("playing", total, "games") as meter:
            yield {"workers": pool, "store": store, "report": meter.advance, "models": models}
    finally:
        if models is not None and models.budget is not None:
            print(spent(models.budget.spent), file=sys.stderr)


@contextmanager
def _errors_told() -> Iterator[None]:
    """Our own errors as one line, an interruption as what to do next, and a line where something is compiled."""
    from agents.compiling import compiling_told  # which loads numba

    try:
        with compiling_told():
            yield
    except BudgetError as error:
        _tell(f"{error}. Finished games and all replies are kept: the same command with a larger budget goes on")
        raise typer.Exit(3) from error
    except AccessError as error:
        _tell(f"{error}. Finished games and all replies are kept: after mending it, the same command goes on from them")
        raise typer.Exit(2) from error
    except WelfareEnvError as error:
        _tell(str(error))
        raise typer.Exit(2) from error
    except KeyboardInterrupt as interruption:
        print(
            "interrupted: finished games and all replies are kept; the same command goes on from them", file=sys.stderr
        )
        raise typer.Exit(130) from interruption


def _tell(error: str) -> None:
    plain_console(stderr=True).print(f"error: {error}", style="red", soft_wrap=True)


def _console() -> Console:
    """The terminal; a file or a pipe gets wide tables."""
    return plain_console(width=None if sys.stdout.isatty() else WIDE)


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, allow_nan=False))
