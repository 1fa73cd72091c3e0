"""How to train in Diplomacy: `TrainConfig`. Importing this loads neither torch nor Ray."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Optional

import typer

from agents.specs import ProfileError
from training.board.rewards import Reward
from training.board.seats import LEAGUE, LEARNER, Lineup, check_opponents, players_of, read_also, read_coalitions
from training.config import MOST, Config, Range, file_name, folder_name
from training.errors import TrainingError
from welfare_env import checks
from welfare_env.board.loading import load_board
from welfare_env.errors import UnknownAgentError
from welfare_env.rules import Rules

PRESS = ("none", "tokens")
SEEN = ("all", "position")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """A training in Diplomacy: who learns, against whom, in which games, and how. The default is self-play.

    Attributes:
        variant: "welfare" or "standard".
        against: who plays the other seats: policies, or profiles such as "4*dove + 3*hold", of which each game draws
            one; "learner" is the network itself. One text, or several; what stands there twice is drawn twice as often.
        coalition: the seats that learn: "singles", "pairs" or "triples" for each of these in turn, or names of powers
            with commas.
        also: networks that learn beside this one, each with a reward of its own, as "NAME=REWARD"; the names are
            opponents for `against`. All else is as for the learner, but `start`, `imitate`, the league and the choice
            of the best iterate are the learner's.
        map_name: a map's name, a toy board ("clique:4"), or the path of a .map file.
        years: length of a game.
        press: "none", or "tokens": learners also choose words. message_rounds: a phase, with tokens.
        reward: see `training.board.rewards`.
        lr: Adam's step size at the beginning. It and `entropy` fall linearly to a tenth over `horizon` iterations, and
            stay there.
        minibatch: decisions in a step of the optimizer. One that begins in an epoch may end in the next, so there are
            about epochs * decisions / minibatch steps, and at least one: with few games give fewer.
        gamma: discount of a phase. `lambda_`: of generalized advantage estimation.
        curriculum: lengths of games in years, with commas: the horizon is shared out among them and `years`.
        league_share: fraction of games against past selves. league_every: iterations between past selves
            that enter the league. league_size: most of them; beyond it, every other one is dropped.
        imitate: a scripted policy to imitate before the first iteration. imitate_games: games of it to learn from.
        start: a checkpoint to begin with.
        sees: "all", or "position": the network does not see welfare points, so that what it orders follows from the
            position (with tokens, and the words). Only such networks have exact values on all but the smallest games.
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
    also: tuple[str, ...] = ()
    coalition: Annotated[
        str, typer.Option(help="Seats that learn: all singles, pairs or triples in turn, or just FRANCE,RUSSIA.")
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
    minibatch: Annotated[
        int, typer.Option(help="Decisions in a step of the optimizer; with few games give fewer."), Range(1, MOST)
    ] = 512
    gamma: Annotated[float, typer.Option(help="Discount of a phase."), Range(0, 1)] = 1.0
    lambda_: Annotated[float, typer.Option("--lambda", help="GAE lambda."), Range(0, 1)] = 0.95
    curriculum: Annotated[
        str,
        typer.Option(
            metavar="N,...", help="Shorter games first. 2,5: one third each on 2-year, 5-year and full games."
        ),
    ] = ""
    league_share: Annotated[float, typer.Option(help="Fraction of games against earlier checkpoints."), Range(0, 1)] = (
        0.0
    )
    league_every: Annotated[
        int, typer.Option(help="Iterations between checkpoints that enter the league."), Range(1, MOST)
    ] = 10
    league_size: Annotated[int, typer.Option(help="Most checkpoints in the league."), Range(1, 1000)] = 16
    imitate: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="SPEC", help="First imitate this policy, e.g. dumbbot.", show_default="none"),
    ] = None
    imitate_games: Annotated[int, typer.Option(help="Games of that policy to learn from."), Range(1, MOST)] = 200
    start: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="CHECKPOINT", help="Start from these weights.", show_default="none"),
    ] = None
    sees: Annotated[
        str, typer.Option(metavar="all|position", help="position: hide welfare points from the network.")
    ] = "all"
    width: Annotated[int, typer.Option(help="Length of a province's vector in the network."), Range(1, 1024)] = 32
    layers: Annotated[
        int, typer.Option(help="Rounds of message passing between neighboring provinces."), Range(1, 16)
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
        checks.choice("sees", self.sees, SEEN, TrainingError)
        Reward.parse(self.reward)
        if self.rewards:
            check_opponents(self.rewards, self.against, self.league_share)
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
    def rewards(self) -> dict[str, Reward]:
        """Of the networks in `also`, by name."""
        return read_also(self.also)

    @property
    def sees_points(self) -> bool:
        """Whether the network sees welfare points."""
        return self.sees == "all"

    @cached_property
    def stages(self) -> tuple[int, ...]:
        """The curriculum: lengths of games in years, the last the full one."""
        return (*read_years(self.curriculum, self.years), self.years)

    @cached_property
    def lineup(self) -> Lineup:
        """Who learns, and who plays the other seats.

        Raises:
            UnknownMapError, MapFormatError: no such map.
            TrainingError: seats that it does not have, or none for a network in `also`.
            ProfileError, UnknownPowerError: with `also`, a profile that does not fit it.
        """
        powers = load_board(self.map_name).powers
        coalitions = read_coalitions(self.coalition, powers)
        league = self.league_share
        others = Counter(opponent for opponent in self.against if not (league and opponent == LEAGUE))
        each = (1 - league) / others.total() if league and others else 1.0
        shares = {opponent: times * each for opponent, times in others.items()} | ({LEAGUE: league} if league else {})
        drawn = {opponent: share for opponent, share in shares.items() if share}
        lineup = Lineup(coalitions, tuple(drawn), tuple(drawn.values()), self.rewards)
        if self.rewards:
            lineup.check_seats(powers)
        return lineup

    @property
    def place(self) -> Path:
        """Where the training is kept: `folder`, or one under runs/ that is named after the profile and the map."""
        if self.folder is not None:
            return self.folder
        players: set[str] = set()
        for text in self.against:
            with suppress(UnknownAgentError, ProfileError):  # the training says what is wrong
                players.update(players_of(text, self.rewards))
        learned_from = {LEARNER, LEAGUE, *self.rewards} & players or self.also
        task = self.variant if learned_from or self.variant == "standard" else "best-response"
        parts = [task, *(file_name(text) for text in self.against if self.against != (LEARNER,))]
        parts += map(file_name, self.also)
        return Path("runs", folder_name(parts + ([] if self.map_name == "standard" else [file_name(self.map_name)])))


def read_years(text: str, longest: int) -> tuple[int, ...]:
    """The lengths of games in a curriculum.

    Raises:
        TrainingError: not whole numbers from 1, or longer than the games themselves.
    """
    parts = [part.strip() for part in text.split(",")] if text else []
    if not all(part.isdecimal() and len(part) <= 4 and 1 <= int(part) <= longest for part in parts):
        raise TrainingError(f"curriculum {text!r:.80}: give whole numbers from 1 to {longest}, with commas")
    return tuple(map(int, parts))
