"""Command line: ``welfare-env train`` or ``python -m training``. Options are the fields of `training.TrainConfig`."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import evaluation
from agents.runtime.command_options import with_options
from agents.runtime.progress import metered
from agents.runtime.table_options import Json, TableOptions
from agents.runtime.tables import print_tables
from evaluation.experiments.attacks import count_games
from evaluation.tables.attack_tables import coalition_tables, exploitability_table
from modal_env.console import plain_console
from training.board.config import TrainConfig
from training.board.seats import LEAGUE, LEARNER
from training.cli.console import errors_in_one_line, training_progress
from training.cli.curves import command as curves
from training.cli.modal import command as modal
from training.cli.modal import train_with_progress as train_modal_with_progress
from training.cli.psro import command as psro
from training.cli.psro import step_table
from training.cli.psro import train_with_progress as train_population_with_progress
from training.errors import TrainingError
from training.modal.config import ModalConfig
from training.population.config import PopulationConfig
from training.runs import config_of
from welfare_env.board.loading import load_board

if TYPE_CHECKING:
    from evaluation import ExploitabilityResult
    from training.board.ppo import Progress

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Train players with PPO. Rerunning an interrupted command resumes the training; with more --iterations it "
    "extends a finished one. FOLDER/checkpoint is the last iterate (policy rl:FOLDER/checkpoint), FOLDER/best the best "
    "one by held-out reports (before the first report: the last).",
)

LEAGUE_SHARE = 0.2  # in self-play
REPORT_GAMES = 20
SELF_PLAY = TrainConfig(league_share=LEAGUE_SHARE)
RESPONSE = TrainConfig(against=("prosocial",), iterations=150, horizon=150, games=128, epochs=3)
OTHER_SEATS = "The policy in the other seats; if given several times, each game draws one."


@app.command("welfare")
@errors_in_one_line()
@with_options
def welfare(
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="SPEC", help=OTHER_SEATS, show_default="learner, the network itself"),
    ] = None,
    also: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=REWARD",
            help="An additional network that learns for its own reward, in the seats that --against gives to NAME.",
            show_default="none",
        ),
    ] = None,
    variant: Annotated[str, typer.Option(metavar="welfare|standard", help="The rules of the games.")] = "welfare",
    league_share: Annotated[
        float | None,
        typer.Option(
            help="Fraction of games against earlier checkpoints.", show_default=f"{LEAGUE_SHARE}; 0 with --against"
        ),
    ] = None,
    config: TrainConfig = SELF_PLAY,
) -> None:
    """Diplomacy: self-play with a league of past selves, fixed opponents (--against), or several networks (--also)."""
    share = (0.0 if against else LEAGUE_SHARE) if league_share is None else league_share
    others = tuple(against or SELF_PLAY.against)
    _train(replace(config, variant=variant, against=others, also=tuple(also or ()), league_share=share))


@app.command("best-response")
@errors_in_one_line()
@with_options
def best_response(
    against: Annotated[str, typer.Option(metavar="PROFILE", help="The policy or profile to deviate from.")],
    tables: TableOptions,
    config: TrainConfig = RESPONSE,
    report_games: Annotated[int, typer.Option(min=1, help="Games per gain in the table.")] = REPORT_GAMES,
    as_json: Json = False,
) -> None:
    """A best response in Welfare Diplomacy: some seats learn against a fixed profile.

    Then its gain over the profile is measured as by `welfare-env exploitability`: a lower bound on the profile's
    exploitability.
    """
    tables.check()
    config = replace(config, against=(against,))
    if against == LEAGUE or LEARNER in config.lineup.players:
        raise TrainingError(f"against {against!r:.200}: give a policy that does not learn")
    measured = _measured(config, _train(config), report_games)
    tables.write(measured.rows())
    if as_json:
        print(json.dumps(measured.to_dict(), indent=2))
    else:
        _show(measured, config)


def _measured(config: TrainConfig, path: Path, games: int) -> ExploitabilityResult:
    """What the trained coalitions gain over the config's profile, measured with a progress bar."""
    powers = load_board(config.map_name).powers
    coalitions = [[powers[seat] for seat in coalition] for coalition in config.lineup.coalitions]
    with (
        errors_in_one_line("the training is finished and saved; the same command measures its gains"),
        metered("measuring", count_games(len(coalitions), games, games), "games") as meter,
    ):
        return evaluation.exploitability(
            config.against[0],
            games,
            selection_games=games,
            deviator=f"rl:({path})",
            coalitions=coalitions,
            map_name=config.map_name,
            rules=config.rules,
            seed=config.seed,
            report=meter.advance,
        )


def _show(measured: ExploitabilityResult, config: TrainConfig) -> None:
    """Print what a best response gains; if nothing, a warning, since the training may have been too short."""
    print_tables(exploitability_table([measured], [config.coalition]), *coalition_tables(measured))
    if measured.best_gain.gain.value <= 0:
        more = 2 * max(config.iterations, config.horizon)
        advice = "no gain: this says little about the policy; train longer, from the beginning and in another folder: "
        advice += f"--iterations {more} --horizon {more} --out FOLDER; and with another --seed"
        plain_console(stderr=True).print(advice, soft_wrap=True)


@app.command("resume")
@errors_in_one_line()
def resume(
    folder: Annotated[Path, typer.Argument(help="Folder of the training.")],
    iterations: Annotated[
        int | None,
        typer.Option(help="Total iterations (of a population: steps).", show_default="the original number"),
    ] = None,
    report_games: Annotated[int, typer.Option(min=1, help="Games per gain of a best response.")] = REPORT_GAMES,
) -> None:
    """Resume or extend a training from its folder, with its original options.

    For a best response it prints the gains again.
    """
    config = config_of(folder, iterations)
    if isinstance(config, ModalConfig):
        print(f"policy: {train_modal_with_progress(config).spec}")
    elif isinstance(config, PopulationConfig):
        print_tables(step_table(train_population_with_progress(config)))
    else:
        path = _train(config)
        if config.variant == "welfare" and config.lineup.is_fixed and len(config.against) == 1:  # a best response
            _show(_measured(config, path, report_games), config)


def _train(config: TrainConfig) -> Path:
    """Train with a progress bar, and print the result's path. Returns the folder of the last checkpoint."""
    is_fixed = config.lineup.is_fixed
    with training_progress(config.iterations, _line, config.folder) as show:
        train = import_module("training.board.ppo").train
        origin = {"command": shlex.join([*_program(), *sys.argv[1:]])}
        path: Path = train(config, show.iteration, show.warm_start, origin)
    usual, other = ("takes its most probable orders", "no") if is_fixed else ("samples its orders", "yes")
    console = plain_console(stderr=True)
    console.print(f"checkpoint: rl:{path}  (it {usual}; else rl:{path},greedy={other})", soft_wrap=True)
    for name in config.rewards:
        console.print(f"{name}: rl:{path.with_name(name)}", soft_wrap=True)
    best = path.with_name("best")
    is_reported = "held_out" in import_module("agents.rl.checkpoint").load(best).origin
    basis = "by its held-out report" if is_reported else "the last, as there is no held-out report yet"
    console.print(f"best: rl:{best}  ({basis})", soft_wrap=True)
    return path


def _program() -> list[str]:
    """The command prefix as called: the module, or the group `train` of welfare-env."""
    return ["welfare-env"] if sys.argv[1:2] == ["train"] else ["python", "-m", "training"]


def _line(progress: Progress) -> str:
    """The text of the progress bar after an iteration."""
    logged = progress.logged
    also = {name: logged[f"play/{name}/return"] for name in progress.games[0].also if f"play/{name}/return" in logged}
    text = f"return {logged['play/return']:6.2f}  entropy {logged['learn/entropy']:.2f}"
    return text + "".join(f"  {name} {value:.2f}" for name, value in also.items())


@app.command("export")
@errors_in_one_line()
def export(
    checkpoint: Annotated[Path, typer.Argument(help="Folder of a checkpoint of an RLlib algorithm.")],
    folder: Annotated[Path, typer.Argument(help="Folder to write the player to.")],
    module: Annotated[str | None, typer.Option(help="Id of the module to export.", show_default="the only one")] = None,
) -> None:
    """Write a network that RLlib trained as a player, rl:FOLDER, which needs no Ray and holds no pickle.

    RLlib's checkpoint is a pickle, which runs code when it is read: export only what you or people you trust trained.
    """
    print(f"player: rl:{import_module('training.exporting').written(checkpoint, folder, module, None)}")


app.command("modal")(modal)
app.command("psro")(psro)
app.command("curves")(curves)
