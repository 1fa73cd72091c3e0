"""The options of a training in Diplomacy: `TrainConfig`. Importing this loads neither torch nor Ray."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Optional

import typer

from agents.specs import ProfileError, read_profile
from training.board.rewards import Reward
from training.board.seats import LEAGUE, LEARNER, Lineup, check_opponents, players_of, read_also, read_coalitions
from training.config import MAX, Config, Range, file_name, folder_name
from training.errors import TrainingError
from welfare_env import checks
from welfare_env.board.loading import load_board
from welfare_env.errors import UnknownAgentError
from welfare_env.rules import Rules

PRESS = ("none", "tokens")
SEEN = ("all", "position")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Config):
    """The options of a training in Diplomacy: learners, opponents, games and hyperparameters. The default is self-play.

    Attributes:
        variant: "welfare" or "standard".
        against: the opponents in the other seats: policies, or profiles such as "4*dove + 3*hold"; each game draws one
            of them. "learner" is the network itself. One text or several; repeated ones are drawn more often.
        coalition: the seats that learn: "singles", "pairs" or "triples" for all coalitions of this size in turn, or
            names of powers, separated by commas.
        also: additional networks that learn, each with its own reward, as "NAME=REWARD"; the names can be used as
            opponents in `against`. They share all options with the learner, except that `start`, `imitate`, the league
            and the choice of the best iterate apply to the learner only.
        map_name: a map's name, a toy board ("clique:4"), or the path of a .map file.
        years: length of a game.
        press: "none", or "tokens": learners also choose words. message_rounds: rounds per phase, with tokens.
        reward: see `training.board.rewards`.
        lr: Adam's initial step size. It and `entropy` fall linearly to a tenth over `horizon` iterations, and then stay
            constant.
        minibatch: decisions per optimizer step. A minibatch may span two epochs, so there are about
            epochs * decisions / minibatch steps, and at least one; give a smaller number with few games.
        gamma: discount per phase. `lambda_`: of generalized advantage estimation.
        league_share: fraction of games against past selves. league_every: iterations after which the current network
            joins the league. league_size: maximum size; beyond it, every other past self is dropped.
        imitate: a scripted policy to imitate before the first iteration. imitate_games: games for this imitation.
        start: a checkpoint with initial weights.
        sees: "all", or "position": the network does not see welfare points, so that its orders depend only on the
            position (and, with tokens, the words). Exact values of other networks are feasible in the smallest games
            only.
        width, layers: size of the network, see `agents.rl.network.Size`.
        held_out_every: iterations between held-out reports, which choose the best iterate; 0 for none.
            held_out_games: games per report.
        workers: Ray processes that play; 0 plays in this process, without Ray. ray_address: of a running cluster.

    Raises:
        TrainingError: fields that are out of bounds or incompatible.
        RulesError: no such variant, or a game of impossible length.
    """

    free: ClassVar[frozenset[str]] = Config.free | {"workers", "ray_address"}

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
    press: Annotated[str, typer.Option(metavar="none|tokens", help="With tokens players also learn words.")] = "none"
    message_rounds: Annotated[
        int, typer.Option(help="Message rounds per phase, with --press tokens."), Range(1, 1000)
    ] = 1
    reward: Annotated[str, typer.Option(metavar="own|score|social|inequity:A,B", help="The learners' reward.")] = "own"
    horizon: Annotated[
        int,
        typer.Option(help="Iterations over which --lr and --entropy fall to a tenth; then constant."),
        Range(1, MAX),
    ] = 200
    lr: Annotated[float, typer.Option(help="Adam's initial step size."), Range(1e-9, 1)] = 1e-3
    minibatch: Annotated[
        int, typer.Option(help="Decisions per optimizer step; give fewer with few games."), Range(1, MAX)
    ] = 512
    gamma: Annotated[float, Range(0, 1)] = 1.0
    lambda_: Annotated[float, Range(0, 1)] = 0.95
    league_share: Annotated[float, typer.Option(help="Fraction of games against earlier checkpoints."), Range(0, 1)] = (
        0.0
    )
    league_every: Annotated[int, Range(1, MAX)] = 10
    league_size: Annotated[int, Range(1, 1000)] = 16
    imitate: Annotated[
        Optional[str],  # noqa: UP045
        typer.Option(metavar="SPEC", help="Imitate this policy before training, e.g. dumbbot.", show_default="none"),
    ] = None
    imitate_games: Annotated[int, typer.Option(help="Games to imitate."), Range(1, MAX)] = 200
    start: Annotated[
        Optional[Path],  # noqa: UP045
        typer.Option(metavar="CHECKPOINT", help="Start from these weights.", show_default="none"),
    ] = None
    sees: Annotated[
        str, typer.Option(metavar="all|position", help="position: hide welfare points from the network.")
    ] = "all"
    width: Annotated[int, typer.Option(help="Size of a province's vector in the network."), Range(1, 1024)] = 32
    layers: Annotated[
        int, typer.Option(help="Rounds of message passing between neighboring provinces."), Range(1, 16)
    ] = 2
    held_out_every: Annotated[
        int,
        typer.Option(help="Iterations between held-out reports, which choose the best iterate; 0: none."),
        Range(0, MAX),
    ] = 10
    held_out_games: Annotated[int, Range(1, MAX)] = 32
    workers: Annotated[
        int,
        typer.Option(help="Ray processes that play, 16 games each at a time; 0: play in this process, without Ray."),
        Range(0, 4096),
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
        _ = self.rules  # checks variant and length
        if not self.against:
            raise TrainingError("against=(): give policies for the other seats, or 'learner' for self-play")
        if self.workers > self.games:
            raise TrainingError(f"workers={self.workers}: give at most {self.games}, one per game")
        if self.ray_address is not None and not self.workers:
            raise TrainingError("ray_address without workers: give the number of processes on the cluster (--workers)")

    @cached_property
    def rules(self) -> Rules:
        """The rules of the games."""
        press = {"press": None} if self.press == "none" else {"press": "tokens", "message_rounds": self.message_rounds}
        return Rules(variant=self.variant, years=self.years, **press)

    @cached_property
    def rewards(self) -> dict[str, Reward]:
        """The rewards of the networks in `also`, by name."""
        return read_also(self.also)

    @property
    def sees_points(self) -> bool:
        """Whether the network sees welfare points."""
        return self.sees == "all"

    @cached_property
    def lineup(self) -> Lineup:
        """The learning seats, and the opponents in the others.

        Raises:
            UnknownMapError, MapFormatError: no such map.
            TrainingError: seats that the map does not have, or a network in `also` without a seat.
            ProfileError, UnknownPowerError: with `also`, a profile that does not fit the map.
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

    def identity(self) -> dict[str, Any]:
        """As `Config.identity`; opponents' checkpoints count by their content, not by their path.

        Raises:
            CheckpointError: a checkpoint cannot be read.
        """
        from agents.rl import checkpoint

        against = list(self.against)
        for at, text in enumerate(self.against):
            with suppress(UnknownAgentError, ProfileError):  # reported when the opponents are made
                for policy in read_profile(text, (LEARNER, LEAGUE, *self.rewards)).policies:
                    for folder in policy.checkpoints:
                        given = checkpoint.load(folder)
                        content = f"{given.digest[:16]}-{'greedy' if given.greedy else 'sampled'}"
                        against[at] = against[at].replace(folder, content)
        return {**super().identity(), "against": against, "network": checkpoint.FORMAT}

    @property
    def folder(self) -> Path:
        """The training's folder: `out`, or one under runs/ named after the profile and the map."""
        if self.out is not None:
            return self.out
        players: set[str] = set()
        for text in self.against:
            with suppress(UnknownAgentError, ProfileError):  # reported when the training starts
                players.update(players_of(text, self.rewards))
        learned_from = {LEARNER, LEAGUE, *self.rewards} & players or self.also
        task = self.variant if learned_from or self.variant == "standard" else "best-response"
        parts = [task, *(file_name(text) for text in self.against if self.against != (LEARNER,))]
        parts += map(file_name, self.also)
        return Path("runs", folder_name(parts + ([] if self.map_name == "standard" else [file_name(self.map_name)])))
