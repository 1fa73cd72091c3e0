"""Command line: ``python -m training welfare | standard | best-response | modal | curves``."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer
from rich.table import Table

from agents.files import reason, shown
from agents.progress import metered, plain_console
from training.cli.console import errors_told, training_shown
from training.cli.modal import command as modal
from training.errors import TrainingError
from welfare_env import Rules, load_board
from welfare_env.errors import did_you_mean

if TYPE_CHECKING:
    from training.board.ppo import Options, Progress
    from training.board.seat_gains import Gain

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Train players with PPO. A training that was interrupted goes on when the same command is given again. The "
    "result is a folder FOLDER/checkpoint: the policy rl:FOLDER/checkpoint.",
)

Out = Annotated[Path, typer.Option(help="Folder for checkpoint, state, log.jsonl and TensorBoard files.")]
Seed = Annotated[int, typer.Option(min=0, help="One seed, one result, bit for bit (for a fixed number of workers).")]
Iterations = Annotated[int, typer.Option(min=1, help="Each plays a sample of games and learns from it.")]
Games = Annotated[int, typer.Option(min=1, help="Games in a sample.")]
Years = Annotated[int, typer.Option(min=1, help="Length of a game.")]
Map = Annotated[str, typer.Option("--map", help="A map's name, a toy board (clique:4), or the path of a .map file.")]
RewardText = Annotated[
    str, typer.Option("--reward", help="own, score, social, or inequity:A,B (training.board.rewards).")
]
Width = Annotated[int, typer.Option(min=4, help="Numbers that stand for a province in the network.")]
Layers = Annotated[int, typer.Option(min=1, help="Rounds of exchange between neighbouring provinces.")]
Rate = Annotated[float, typer.Option("--lr", help="Step size at the beginning; falls to a tenth.")]
Entropy = Annotated[float, typer.Option(help="Weight of the entropy at the beginning; falls to a tenth.")]
Epochs = Annotated[int, typer.Option(min=1, help="Passes over a sample.")]
Minibatch = Annotated[int, typer.Option(min=1, help="Decisions in a step of the optimiser.")]
Imitate = Annotated[
    Optional[str],  # noqa: UP045 (typer reads it)
    typer.Option(help="Begin by imitating this policy, e.g. dumbbot.", show_default="no"),
]
ImitateGames = Annotated[int, typer.Option(min=1, help="Games of the policy that is imitated.")]
Start = Annotated[
    Optional[Path],  # noqa: UP045
    typer.Option(help="Begin with the weights of this checkpoint.", show_default="no"),
]
Curriculum = Annotated[str, typer.Option(help="Years of earlier, shorter games: 2,5 trains a third each on 2, 5, all.")]
SaveEvery = Annotated[int, typer.Option(min=1, help="Iterations between saves.")]
Workers = Annotated[int, typer.Option(min=0, help="Ray processes that play; 0 plays here, without Ray.")]
Address = Annotated[
    Optional[str],  # noqa: UP045
    typer.Option("--ray-address", help="A running Ray cluster: auto, or HOST:PORT.", show_default="none"),
]
Coalition = Annotated[str, typer.Option(help="FRANCE,RUSSIA for these seats; singles for each by itself.")]
Press = Annotated[str, typer.Option(help="none, or tokens: players also learn what to say (welfare_env.game.press).")]
Rounds = Annotated[int, typer.Option(min=1, help="Message rounds a phase, with --press tokens.")]
Report = Annotated[int, typer.Option(min=2, help="Games for each gain that is reported.")]


@app.command("welfare")
def welfare(
    out: Out = Path("runs/welfare"),
    seed: Seed = 0,
    iterations: Iterations = 200,
    games: Games = 32,
    years: Years = 10,
    map_name: Map = "standard",
    reward: RewardText = "own",
    league_share: Annotated[
        float, typer.Option(min=0, max=1, help="Share of games in which one seat learns against past selves.")
    ] = 0.2,
    press: Press = "none",
    message_rounds: Rounds = 1,
    width: Width = 32,
    layers: Layers = 2,
    lr: Rate = 1e-3,
    entropy: Entropy = 0.02,
    epochs: Epochs = 2,
    minibatch: Minibatch = 512,
    imitate: Imitate = None,
    imitate_games: ImitateGames = 200,
    start: Start = None,
    curriculum: Curriculum = "",
    save_every: SaveEvery = 10,
    workers: Workers = 0,
    ray_address: Address = None,
) -> None:
    """Self-play in Welfare Diplomacy: one network in all seats, and a league of its past selves."""
    shares = {"learner": 1 - league_share, "league": league_share}
    _train(locals(), "welfare", "singles", {name: share for name, share in shares.items() if share}, league_every=10)


@app.command("standard")
def standard(
    against: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="Who plays the other six seats; several take turns.", show_default="random, dumbbot"),
    ] = None,
    out: Out = Path("runs/standard"),
    seed: Seed = 0,
    iterations: Iterations = 150,
    games: Games = 128,
    years: Years = 10,
    map_name: Map = "standard",
    reward: RewardText = "own",
    width: Width = 32,
    layers: Layers = 2,
    lr: Rate = 1e-3,
    entropy: Entropy = 0.02,
    epochs: Epochs = 3,
    minibatch: Minibatch = 512,
    imitate: Imitate = None,
    imitate_games: ImitateGames = 200,
    start: Start = None,
    curriculum: Curriculum = "",
    save_every: SaveEvery = 10,
    workers: Workers = 0,
    ray_address: Address = None,
) -> None:
    """An attacker for standard Diplomacy without press: one seat learns, the exploiter's second half."""
    opponents = dict.fromkeys(against or ["random", "dumbbot"], 1.0)
    _train(locals(), "standard", "singles", opponents, league_every=10 if "league" in opponents else 0)


@app.command("best-response")
def best_response(
    against: Annotated[str, typer.Option(help="The profile: a policy for all seats of which some deviate.")],
    coalition: Coalition = "singles",
    out: Out = Path("runs/best-response"),
    seed: Seed = 0,
    iterations: Iterations = 150,
    games: Games = 128,
    years: Years = 10,
    map_name: Map = "standard",
    reward: RewardText = "own",
    width: Width = 32,
    layers: Layers = 2,
    lr: Rate = 1e-3,
    entropy: Entropy = 0.02,
    epochs: Epochs = 3,
    minibatch: Minibatch = 512,
    imitate: Imitate = None,
    imitate_games: ImitateGames = 200,
    start: Start = None,
    curriculum: Curriculum = "",
    save_every: SaveEvery = 10,
    workers: Workers = 0,
    ray_address: Address = None,
    report_games: Report = 100,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON in place of a table.")] = False,
) -> None:
    """A best response in Welfare Diplomacy: seats that learn against a profile that does not.

    The gain over the profile, with its interval, is a lower bound on how exploitable the profile is.
    """
    with errors_told():
        if against in ("learner", "league"):
            raise TrainingError(f"against {against!r}: give a policy that stays as it is")
    options, path = _train(locals(), "welfare", coalition, {against: 1.0})
    with errors_told("the training is finished and saved, the same command goes on with its gains"):
        total = 1 + len(options.play.lineup.coalitions)
        with metered("measuring", total, "samples of games") as meter:
            gains = import_module("training.board.seat_gains").gains
            found = gains(options.play, path, against, report_games, seed=seed, on_progress=meter.advance)
    if as_json:
        print(json.dumps([gain.to_dict() for gain in found], indent=2))
    else:
        plain_console().print(gain_table(found, against))


def gain_table(found: list[Gain], profile: str) -> Table:
    """Gains as a table."""
    title = f"Gain by leaving {profile}, most probable orders: points a year of the least member, 95% interval"
    table = Table(title=title)
    for name in ("coalition", "gain", "interval", "points", f"as {profile}", "games"):
        table.add_column(name, justify="left" if name == "coalition" else "right")
    for gain in found:
        cells = (f"{gain.value:.2f}", f"[{gain.low:.2f}, {gain.high:.2f}]", f"{gain.points:.2f}")
        table.add_row(", ".join(gain.coalition), *cells, f"{gain.profile_points:.2f}", str(gain.games))
    return table


def _train(
    given: dict, variant: str, coalition: str, opponents: dict[str, float], league_every: int = 0
) -> tuple[Options, Path]:
    """Read the options of a command, train, and say where the result is."""
    with errors_told():
        options = _options(given, variant, coalition, opponents, league_every)
        with training_shown(options.iterations, _line, options.folder) as show:
            path = import_module("training.board.ppo").train(options, show.iteration, show.warm_start)
    usual, other = ("takes its most probable orders", "no") if options.play.lineup.is_fixed else ("draws", "yes")
    told = f"checkpoint: {path}  (policy rl:{path}, which {usual}; else rl:{path},greedy={other})"
    plain_console(stderr=True).print(told, soft_wrap=True)
    return options, path


def _options(given: dict, variant: str, coalition: str, opponents: dict[str, float], league_every: int) -> Options:
    from agents.rl.network import Size
    from training.board.ppo import Options
    from training.board.rewards import Reward
    from training.board.runner import Play
    from training.board.seats import Lineup

    powers = load_board(given["map_name"]).powers
    try:
        size = Size(given["width"], given["layers"])
    except ValueError as error:
        raise TrainingError(str(error)) from error
    play = Play(
        map_name=given["map_name"],
        rules=Rules(variant=variant, years=given["years"], **_press(given)),
        lineup=Lineup(read_coalitions(coalition, powers), tuple(opponents), tuple(opponents.values())),
        size=size,
        reward=Reward.parse(given["reward"]),
        num_games=given["games"],
        seed=given["seed"],
    )
    names = ("iterations", "lr", "entropy", "epochs", "minibatch", "imitate", "imitate_games", "start", "save_every")
    return Options(
        play,
        folder=given["out"],
        **{name: given[name] for name in names},
        curriculum=read_years(given["curriculum"], given["years"]),
        workers=given["workers"],
        ray_address=given["ray_address"],
        league_every=league_every,
        origin={"command": shlex.join([*_program(), *sys.argv[1:]])},
    )


def _program() -> list[str]:
    """How the commands were called: as a module, or as the group `train` of welfare-env."""
    return ["welfare-env"] if sys.argv[1:2] == ["train"] else ["python", "-m", "training"]


def _press(given: dict) -> dict[str, Any]:
    """The rules of press in the options of a command."""
    press = given.get("press", "none")
    if press not in ("none", "tokens"):
        raise TrainingError(f"press {press!r}{did_you_mean(press, ('none', 'tokens'))}: give none or tokens")
    return {"press": None} if press == "none" else {"press": press, "message_rounds": given["message_rounds"]}


def read_coalitions(text: str, powers: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """ "singles", or the names of powers with commas, as power numbers.

    Raises:
        TrainingError: an unknown power, one named twice, or all of them.
    """
    if text == "singles":
        return tuple((number,) for number in range(len(powers)))
    names = [name.strip().upper() for name in text.split(",")]
    if sorted(set(names)) != sorted(names) or not set(names) < set(powers):
        stranger = next((name for name in names if name not in powers), None)
        hint = did_you_mean(stranger, ("singles", *powers) if len(names) == 1 else powers)
        raise TrainingError(f"coalition {text!r:.80}{hint}: give singles, or some of {', '.join(powers)}, with commas")
    return (tuple(powers.index(name) for name in names),)


def read_years(text: str, longest: int) -> tuple[int, ...]:
    """The curriculum's years.

    Raises:
        TrainingError: no whole numbers from 1, or longer than the games themselves.
    """
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isdecimal() and len(part) <= 4 and 1 <= int(part) <= longest for part in parts):
        raise TrainingError(f"curriculum {text!r:.80}: give whole numbers from 1 to {longest}, with commas")
    return tuple(map(int, parts))


def _line(told: Progress) -> str:
    """What the bar says of an iteration."""
    return f"return {told.logged['play/return']:6.2f}  entropy {told.logged['learn/entropy']:.2f}"


app.command("modal")(modal)


@app.command("curves")
def curves(
    folders: Annotated[list[Path], typer.Argument(help="Folders of trainings that differ in their seed.")],
    metric: Annotated[
        Optional[list[str]],  # noqa: UP045
        typer.Option(help="A panel for each, by its name in log.jsonl.", show_default="play/return"),
    ] = None,
    level: Annotated[
        Optional[list[float]],  # noqa: UP045
        typer.Option(help="A dashed line at this value in the first panel.", show_default="none"),
    ] = None,
    title: Annotated[str, typer.Option(help="Above the picture.")] = "",
    out: Annotated[Path, typer.Option(help="A .png, .svg or .pdf file.")] = Path("curves.png"),
) -> None:
    """Draw learning curves, with bands over seeds."""
    with errors_told():
        figure = import_module("training.cli.curves").draw(folders, metric or ["play/return"], title, level or [])
        try:
            figure.savefig(out, dpi=130)
        except (OSError, ValueError) as error:  # ValueError: of an ending that is no kind of picture
            raise TrainingError(f"{shown(out)}: the picture cannot be written: {reason(error)}") from error
    print(out)
