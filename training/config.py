"""How to train: `TrainConfig`, from which the command line, the checks, config.json and the identity are made.

A field's annotation holds its option on the command line, and its bounds. Importing this loads neither torch nor Ray.
"""

from __future__ import annotations

import hashlib
import os
import re
import types
from dataclasses import asdict, dataclass, fields
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Optional, Union, get_args, get_origin, get_type_hints

import typer

from training.board.rewards import Reward
from training.board.seats import LEAGUE, LEARNER, Lineup, read_coalitions
from training.errors import TrainingError, check_number, check_whole
from welfare_env import checks
from welfare_env.board.loading import load_board
from welfare_env.errors import did_you_mean
from welfare_env.rules import Rules

MOST = 1_000_000
MOST_SEED = 2**32 - 1  # numpy's own generator, which RLlib seeds, takes no more
LONGEST_NAME = 40  # characters of a profile in the name of a folder
PRESS = ("none", "tokens")


@dataclass(frozen=True)
class Range:
    """Bounds of a number, both inclusive."""

    low: float
    high: float


Iterations = Annotated[int, typer.Option(help="In all. More than a finished training has extend it."), Range(1, MOST)]
Games = Annotated[int, typer.Option(help="Games in an iteration."), Range(1, MOST)]
Epochs = Annotated[int, typer.Option(help="Passes over an iteration's games."), Range(1, 1000)]
Entropy = Annotated[float, typer.Option(help="Weight of the entropy bonus."), Range(0, 10)]


@dataclass(frozen=True, kw_only=True)
class Config:
    """What all trainings have; see `TrainConfig` and `training.modal.ModalConfig`. Fields are checked when it is made.

    Attributes:
        iterations: in all; a finished training can be extended by giving more.
        games: played in each iteration.
        epochs: passes over the games of an iteration.
        entropy: weight of the entropy bonus.
        clip: PPO's clipping range.
        seed: one seed, one result, bit for bit.
        save_every: iterations between saves.
        folder: where the training is kept; None: `place` names one.

    Raises:
        TrainingError: a value of the wrong type, or out of bounds; the message names the field and its bounds.
    """

    free: ClassVar[frozenset[str]] = frozenset({"iterations", "save_every", "folder"})
    """Fields that change nothing in what an iteration does: another value may resume the same training."""

    iterations: Iterations = 200
    games: Games = 32
    epochs: Epochs = 2
    entropy: Entropy = 0.02
    clip: Annotated[float, typer.Option(help="PPO's clipping range."), Range(0.001, 1)] = 0.2
    seed: Annotated[
        int,
        typer.Option(help="One seed, one result, bit for bit (with the same number of workers)."),
        Range(0, MOST_SEED),
    ] = 0
    save_every: Annotated[int, typer.Option(help="Iterations between saves."), Range(1, MOST)] = 10
    folder: Annotated[
        Optional[Path],  # noqa: UP045 (typer reads it)
        typer.Option("--out", metavar="FOLDER", help="Where the training is kept.", show_default="runs/..., by name"),
    ] = None

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, hint in _hints(kind).items():
            object.__setattr__(self, name, _checked(name, getattr(self, name), hint))

    @property
    def place(self) -> Path:
        """Where the training is kept."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types, without the folder: what config.json holds."""
        values = {name: value for name, value in asdict(self).items() if name != "folder"}
        return {name: str(value) if isinstance(value, Path) else value for name, value in values.items()}


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """A training in Diplomacy: who learns, against whom, in which games, and how. The default is self-play.

    Attributes:
        variant: "welfare" or "standard".
        against: who plays the other seats: policies, or profiles such as "4*dove + 3*hold", of which each game draws
            one; "learner" is the network itself. One text, or several.
        coalition: the seats that learn: "singles" for each in turn, or names of powers with commas.
        map_name: a map's name, a toy board ("clique:4"), or the path of a .map file.
        years: length of a game.
        press: "none", or "tokens": learners also choose words. message_rounds: a phase, with tokens.
        reward: see `training.board.rewards`.
        lr: Adam's step size at the beginning. It and `entropy` fall linearly to a tenth over `horizon` iterations, and
            stay there.
        minibatch: decisions in a step of the optimiser.
        gamma: discount of a phase. lambda_: of generalised advantage estimation.
        curriculum: lengths of games in years, with commas: the horizon is shared out among them and `years`.
        league_share: share of games whose other seats past selves play. league_every: iterations between past selves
            that enter the league. league_size: most of them; beyond it, every other one is dropped.
        imitate: a scripted policy to imitate before the first iteration. imitate_games: games of it to learn from.
        start: a checkpoint to begin with.
        width, layers: size of the network, see `agents.rl.network.Size`.
        held_out_every: iterations between held-out reports, of which the best iterate is kept; 0 for none.
            held_out_games: games in a report.
        workers: Ray processes that play; 0 plays in this process, without Ray. ray_address: of a running cluster.

    Raises:
        TrainingError: fields that are out of bounds, or do not fit each other.
        RulesError: no such variant, or a game of impossible length.
    """

    free: ClassVar[frozenset[str]] = Config.free | {"ray_address"}

    variant: str = "welfare"
    against: tuple[str, ...] = (LEARNER,)
    coalition: Annotated[
        str, typer.Option(help="Seats that learn: singles for each in turn, or FRANCE,RUSSIA for these.")
    ] = "singles"
    map_name: Annotated[
        str, typer.Option("--map", help="A map's name, a toy board (clique:4), or the path of a .map file.")
    ] = "standard"
    years: Annotated[int, typer.Option(help="Length of a game."), Range(1, 10_000)] = 10
    press: Annotated[str, typer.Option(metavar="none|tokens", help="With tokens players also learn what to say.")] = (
        "none"
    )
    message_rounds: Annotated[
        int, typer.Option(help="Message rounds a phase, with --press tokens."), Range(1, 1000)
    ] = 1
    reward: Annotated[str, typer.Option(metavar="own|score|social|inequity:A,B", help="What learners are paid.")] = (
        "own"
    )
    horizon: Annotated[
        int,
        typer.Option(help="Iterations over which --lr and --entropy fall to a tenth; constant after it."),
        Range(1, MOST),
    ] = 200
    lr: Annotated[float, typer.Option(help="Adam's step size at the beginning."), Range(1e-9, 1)] = 1e-3
    minibatch: Annotated[int, typer.Option(help="Decisions in a step of the optimiser."), Range(1, MOST)] = 512
    gamma: Annotated[float, typer.Option(help="Discount of a phase."), Range(0, 1)] = 1.0
    lambda_: Annotated[float, typer.Option("--lambda", help="Of generalised advantage estimation."), Range(0, 1)] = 0.95
    curriculum: Annotated[
        str,
        typer.Option(metavar="N,...", help="Shorter games first: 2,5 plays a third of the horizon each on 2, 5, all."),
    ] = ""
    league_share: Annotated[
        float, typer.Option(help="Share of games whose other seats past selves play."), Range(0, 1)
    ] = 0.0
    league_every: Annotated[
        int, typer.Option(help="Iterations between past selves that enter the league."), Range(1, MOST)
    ] = 10
    league_size: Annotated[int, typer.Option(help="Most past selves in the league."), Range(1, 1000)] = 16
    imitate: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="SPEC", help="First imitate this policy, e.g. dumbbot.", show_default="none"),
    ] = None
    imitate_games: Annotated[int, typer.Option(help="Games of that policy to learn from."), Range(1, MOST)] = 200
    start: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="CHECKPOINT", help="Start from these weights.", show_default="none"),
    ] = None
    width: Annotated[int, typer.Option(help="Length of a province's vector in the network."), Range(1, 1024)] = 32
    layers: Annotated[
        int, typer.Option(help="Rounds of message passing between neighbouring provinces."), Range(1, 64)
    ] = 2
    held_out_every: Annotated[
        int,
        typer.Option(help="Iterations between held-out reports; the best iterate is kept. 0 for none."),
        Range(0, MOST),
    ] = 10
    held_out_games: Annotated[int, typer.Option(help="Games in a held-out report."), Range(1, MOST)] = 32
    workers: Annotated[
        int, typer.Option(help="Ray processes that play; 0 plays here, without Ray."), Range(0, 4096)
    ] = 0
    ray_address: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(help="A running Ray cluster: auto, or HOST:PORT.", show_default="none"),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.choice("press", self.press, PRESS, TrainingError)
        Reward.parse(self.reward)
        read_years(self.curriculum, self.rules.years)
        if not self.against:
            raise TrainingError("against=(): name who plays the other seats, or 'learner' for self-play")
        if self.workers > self.games:
            raise TrainingError(f"workers={self.workers}: give at most one for each of the {self.games} games")
        if self.ray_address is not None and not self.workers:
            raise TrainingError("ray_address without workers: say how many processes of the cluster play (--workers)")

    @cached_property
    def rules(self) -> Rules:
        """Of the games, at their full length."""
        press = {"press": None} if self.press == "none" else {"press": "tokens", "message_rounds": self.message_rounds}
        return Rules(variant=self.variant, years=self.years, **press)

    @cached_property
    def stages(self) -> tuple[int, ...]:
        """The curriculum: lengths of games in years, the last the full one."""
        return (*read_years(self.curriculum, self.years), self.years)

    @cached_property
    def lineup(self) -> Lineup:
        """Who learns, and who plays the other seats.

        Raises:
            UnknownMapError, MapFormatError: no such map.
            TrainingError: seats that it does not have.
        """
        coalitions = read_coalitions(self.coalition, load_board(self.map_name).powers)
        each = (1 - self.league_share) / len(self.against) if self.league_share else 1.0
        shares = dict.fromkeys(self.against, each) | ({LEAGUE: self.league_share} if self.league_share else {})
        drawn = {opponent: share for opponent, share in shares.items() if share}
        return Lineup(coalitions, tuple(drawn), tuple(drawn.values()))

    @property
    def place(self) -> Path:
        """Where the training is kept: `folder`, or one under runs/ that is named after the profile and the map."""
        if self.folder is not None:
            return self.folder
        learned_from = {LEARNER, LEAGUE} & set(self.against)
        task = self.variant if learned_from or self.variant == "standard" else "best-response"
        parts = [task, *(file_name(text) for text in self.against if self.against != (LEARNER,))]
        return Path("runs", "-".join(parts + ([] if self.map_name == "standard" else [file_name(self.map_name)])))


def file_name(text: str) -> str:
    """A text as a part of a file's name; what is long or loses signs on the way ends in a digest."""
    plain = re.sub(r"[^\w.:=]+", "-", text).strip("-.")
    if plain == text and len(text) <= LONGEST_NAME:
        return text
    return f"{plain[:LONGEST_NAME]}-{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def read_years(text: str, longest: int) -> tuple[int, ...]:
    """The lengths of games in a curriculum.

    Raises:
        TrainingError: not whole numbers from 1, or longer than the games themselves.
    """
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isdecimal() and len(part) <= 4 and 1 <= int(part) <= longest for part in parts):
        raise TrainingError(f"curriculum {text!r:.80}: give whole numbers from 1 to {longest}, with commas")
    return tuple(map(int, parts))


# Checks.


@dataclass(frozen=True)
class _Hint:
    """A field's type, whether it may be None, and its bounds."""

    kind: Any
    is_optional: bool
    bounds: Range | None


@cache
def _hints(kind: Any) -> dict[str, _Hint]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: _hint(hints[field.name]) for field in fields(kind)}


def _hint(annotation: Any) -> _Hint:
    bare, *rest = get_args(annotation) if get_origin(annotation) is Annotated else (annotation,)
    is_optional = get_origin(bare) in (Union, types.UnionType)
    kind = next(each for each in get_args(bare) if each is not type(None)) if is_optional else bare
    return _Hint(kind, is_optional, next((one for one in rest if isinstance(one, Range)), None))


def _checked(name: str, value: Any, hint: _Hint) -> Any:
    """The value of a field, as its type.

    Raises:
        TrainingError: it has another type, or is out of bounds.
    """
    if value is None and hint.is_optional:
        return None
    if hint.bounds is not None and hint.kind is int:
        check_whole(name, value, int(hint.bounds.low), int(hint.bounds.high))
        return value
    if hint.bounds is not None:
        check_number(name, value, hint.bounds.low, hint.bounds.high)
        return float(value)
    if hint.kind is Path and isinstance(value, str | os.PathLike):
        return Path(value)
    if get_origin(hint.kind) is tuple:
        texts = (value,) if isinstance(value, str) else value
        if isinstance(texts, tuple | list) and all(isinstance(text, str) for text in texts):
            return tuple(texts)
    elif hint.kind is str and isinstance(value, str):
        return value
    wanted = {Path: "the path of a folder", str: "a text"}.get(hint.kind, "one text, or several")
    raise TrainingError(f"{name}={checks.shown(value)}: give {wanted}")


def from_dict(kind: type[Config], values: Any, folder: Path) -> Config:
    """The config that `Config.to_dict` wrote.

    Raises:
        TrainingError: unknown fields, or values that are none of theirs.
    """
    names = [field.name for field in fields(kind) if field.name != "folder"]
    for name in values:
        if name not in names:
            raise TrainingError(f"{name!r:.80}{did_you_mean(name, names)}: no field of {kind.__name__}")
    return kind(**values, folder=folder)
