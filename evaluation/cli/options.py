"""Options shared by the commands that play games."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agents.runtime.progress import metered
from agents.runtime.table_files import Row
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from agents.specs import Spec
from evaluation.checks import EvaluationError
from evaluation.cli.console import print_json
from evaluation.measures.gains import COALITIONS
from evaluation.measures.lm_usage import LMUsage, spent, usage_table
from evaluation.measures.rows import same_columns
from evaluation.play.game_spec import Setting
from evaluation.play.runner import Begun, Evaluation, Found, Runner
from evaluation.play.store import DEFAULT_PATH, GameStore
from evaluation.play.stored_games import read_start
from evaluation.play.workers import RayWorkers, Workers
from modal_env.console import WIDE, plain_console
from modal_env.interruptions import patient
from welfare_env import Rules
from welfare_env.board.maps import is_known
from welfare_env.errors import UnknownPowerError, did_you_mean

if TYPE_CHECKING:
    from agents.lm.models.shared_models import SharedModels


def usable_cores() -> int:
    """How many cores this process may use: a cluster's scheduler may give it fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


CORES = usable_cores()
MANY = 200  # games of a run; from this number on, a line says how many before the first

AnyProfile = Annotated[str, typer.Argument(help="The profile: a policy for all seats, or e.g. '4*dove + 3*random'.")]
Keys = Annotated[list[str] | None, typer.Argument(help="Keys of games, or prefixes of keys.", show_default="all games")]
Variant = Annotated[str, typer.Option(metavar="welfare|standard", help="The rules of the games.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same results, with any number of workers.")]
Store = Annotated[Path, typer.Option(help="Finished games are stored here; an interrupted command resumes from them.")]
Processes = Annotated[
    int,
    typer.Option(
        min=1,
        help="Games played in parallel: in processes, or with language models in threads.",
        show_default="the cores it may use",
    ),
]


def command_line(name: str) -> str:
    """The command line, for reports; "" if the command was not called from the shell."""
    return shlex.join(["welfare-env", *sys.argv[1:]]) if sys.argv[1:2] == [name] else ""


def read_coalitions(text: str, powers: Sequence[str]) -> str | list[str | list[str]]:
    """Parse --coalitions: names of sets and coalitions, separated by commas, with powers joined by +.

    Raises:
        UnknownPowerError: an unknown power; the message suggests a name.
    """
    sets = (*COALITIONS, "all-singles", "all-pairs")
    if text in sets:
        return text
    parts = [part.strip() for part in text.split(",")]
    coalitions = [part if part in sets else [power.strip().upper() for power in part.split("+")] for part in parts]
    for power in (power for each in coalitions if isinstance(each, list) for power in each if power not in powers):
        known = (*powers, *sets) if [power] in coalitions else powers
        hint = did_you_mean(power, known)
        raise UnknownPowerError(f"unknown power {power!r:.80}{hint}: choose one of {', '.join(known)}")
    return coalitions


@dataclass(frozen=True)
class GameOptions:
    """Options of the games: rules, map, seats and seeds."""

    games: Annotated[int, typer.Option(min=1, help="Number of games; more give narrower intervals.")] = 5
    seed: Seed = 0
    seats: Annotated[
        str,
        typer.Option(
            metavar="rotated|fixed|drawn",
            help="Seats of a mixed profile: shifted by one in every game, in the map's order, or random.",
        ),
    ] = "rotated"
    years: Annotated[int, typer.Option(min=1, help="Length of a game, in years.")] = 10
    map_name: Annotated[str, typer.Option("--map", help="A map's name, or the path of a .map file.")] = "standard"
    press: Annotated[
        str,
        typer.Option(
            metavar="text|tokens|none",
            help="Messages: free text, one of the five tokens that learned policies use, or none.",
        ),
    ] = "text"
    message_rounds: Annotated[int, typer.Option(min=0, help="Message rounds per phase; 0 for no press.")] = 3
    paper_code: Annotated[
        bool, typer.Option("--paper-code", help="Use the rules and measures of the paper's own program.")
    ] = False
    simultaneous: Annotated[
        bool,
        typer.Option(
            "--simultaneous",
            help="All powers send messages simultaneously; language models are called in parallel.",
        ),
    ] = False

    start: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="GAME@PHASE",
            help="Begin where a game was, with its rules and map: KEY@F1903M or FILE@F1903M, or in a position file.",
            show_default="the opening",
        ),
    ] = None

    def setting(self, store: Path, variant: str = "welfare", scoring: str | None = None) -> Setting:
        """The setting of the games.

        Args:
            store: with the games that --from may name.

        Raises:
            RulesError: an unknown variant, press or scoring.
            UnknownMapError, MapFormatError, EvaluationError: as `Setting`.
        """
        press = None if self.press == "none" else self.press
        given: dict[str, Any] = {"variant": variant, "years": self.years, "press": press}
        given |= {"message_rounds": self.message_rounds} | ({"scoring": scoring} if scoring else {})
        rules = Rules.published(**given) if self.paper_code else Rules(**given)
        same = ("seed", "seats", "map_name", "simultaneous", "paper_code")
        start = read_start(self.start, rules, None if is_known(self.map_name) else self.map_name, store)
        return Setting(rules=rules, start=start, **{name: getattr(self, name) for name in same})


@dataclass(frozen=True)
class Outputs(TableOptions):
    """A result as files, and as JSON on stdout."""

    as_json: Json = False

    def written(self, rows: Iterable[Row], facts: Any) -> bool:
        """Write the files, and print JSON if it is wanted.

        Returns:
            Whether JSON was printed, so that the caller prints no tables.
        """
        self.write(same_columns(rows))
        if self.as_json:
            print_json(facts)
        return self.as_json


def print_usage(rows: Sequence[tuple[str, LMUsage | None]]) -> None:
    """Print the usage of language models, if any played."""
    if found := [(name, usage) for name, usage in rows if usage is not None]:
        print_tables(usage_table(found))


@dataclass(frozen=True)
class RunOptions:
    """Options of a run: workers, store, cache and budgets."""

    workers: Processes = CORES
    store: Store = DEFAULT_PATH
    ray_address: Annotated[
        str | None,
        typer.Option(
            help="Play on a Ray cluster: auto, HOST:PORT, or local for a new one on this machine.", show_default="none"
        ),
    ] = None
    lm_cache: Annotated[
        Path, typer.Option("--lm-cache", help="Cache of language models' replies; cached replies cost nothing.")
    ] = Path("runs", "replies.sqlite")
    budget_tokens: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of tokens for this run.", show_default="unlimited")
    ] = None
    budget_dollars: Annotated[
        float | None, typer.Option(help="Maximum cost of this run in dollars.", show_default="unlimited")
    ] = None

    @contextmanager
    def runner(self, begun: Begun[Any]) -> Iterator[Runner]:
        """A runner for evaluations, with a progress bar on stderr.

        Raises:
            UnknownAgentError, ConfigError: an invalid policy or budget.
            EvaluationError: a budget without language models.
            CacheError: the cache file cannot be used.
        """
        models = self._models(begun.policies)
        # Pending replies are already paid for, so an interrupt waits for them; a cluster takes a while to shut down.
        waits = patient() if models is not None or self.ray_address else nullcontext()
        with waits, GameStore(self.store) as store, self._pool() as workers:
            runner = Runner(workers, store, None, models)
            runner.check(begun.games)
            if begun.most >= MANY:
                print(f"up to {begun.most:,} games", file=sys.stderr)
            if models is not None and _can_ask(begun.policies, runner, models):
                _tell_costs(begun, models)
            try:
                with metered("playing", begun.most, "games") as meter:
                    runner.report = lambda count: meter.advance(count, _playing(models))
                    yield runner
            finally:
                if store.reused:
                    games = len(store.reused | store.added)
                    print(f"{len(store.reused):,} of {games:,} games were already stored", file=sys.stderr)
                if models is not None and models.budget is not None:
                    print(spent(models.budget.spent), file=sys.stderr)

    def result(self, evaluation: Evaluation[Found]) -> Found:
        """The result of a single evaluation; raises as `runner`."""
        begun = Begun(evaluation)
        with self.runner(begun) as runner:
            (found,) = begun.results(runner)
        return found

    def _pool(self) -> Workers:
        if self.ray_address is None:
            return Workers(self.workers)
        return RayWorkers(self.ray_address, self.workers)

    def _models(self, policies: Iterable[Spec]) -> SharedModels | None:
        """Cache and budget for the language models; None without language models."""
        if any(policy.models for policy in policies):
            from agents.lm.models.budget import Budget
            from agents.lm.models.cache import ResponseCache
            from agents.lm.models.shared_models import SharedModels

            return SharedModels(ResponseCache(self.lm_cache), Budget(self.budget_tokens, self.budget_dollars))
        if self.budget_tokens is not None or self.budget_dollars is not None:
            raise EvaluationError("a budget is only for language models, but no policy here uses one")
        return None


def _playing(models: SharedModels | None) -> str:
    """What the progress bar says: "playing, $1.20 spent"."""
    if models is None or models.budget is None:
        return "playing"
    spent = models.budget.spent
    return f"playing, {spent.tokens:,} tokens" if spent.dollars is None else f"playing, ${spent.dollars:.2f} spent"


def _can_ask(policies: Iterable[Spec], runner: Runner, models: SharedModels) -> bool:
    """Whether the language models can be asked; if not, stderr says why.

    Raises:
        ConfigError: they cannot, and no reply or game of theirs is stored.
        CacheError: the cache file cannot be used.
    """
    from agents.lm.errors import ConfigError
    from agents.lm.player.policy import check_ready

    replies = 0 if models.cache is None else models.cache.count()
    players = [runner.sample(policy) for policy in policies if policy.models]
    try:
        check_ready(players)
    except ConfigError as error:
        stored = [] if runner.store is None else runner.store.games()
        if not replies and not any("language_models" in game.specification for game in stored):
            raise
        print(f"{error}. Until then, only stored games and cached replies are used", file=sys.stderr)
        return False
    return True


def _tell_costs(begun: Begun[Any], models: SharedModels) -> None:
    """Print the estimated usage of each language model on stderr, before the first game."""
    from agents.lm.errors import PromptError
    from evaluation.experiments.cost_estimate import estimate, estimate_table

    try:
        found = estimate(begun.games, begun.most, models)
    except PromptError:  # the game raises the error, and says where
        return
    if found:
        width = None if sys.stderr.isatty() else WIDE
        plain_console(stderr=True, width=width).print(estimate_table(found, begun.most))
