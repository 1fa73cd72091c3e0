"""Assignment of players to seats in the games of a runner."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

import numpy as np

from agents.scripted.mixture import check_shares
from agents.specs import is_profile, read, read_profile, usages
from training.board.rewards import Reward
from training.errors import TrainingError, check_number
from welfare_env.errors import did_you_mean

SIZES = {"singles": 1, "pairs": 2, "triples": 3}  # of coalitions
LEARNER, LEAGUE = "learner", "league"  # opponents by name: the network in training, and its past selves
RESERVED = ("checkpoint", "best", "tensorboard", "default_policy")  # names of files, and RLlib's name of the learner


@dataclass(frozen=True)
class Lineup:
    """The learning seats, and the opponents in the others.

    Attributes:
        coalitions: the learning seats, as power numbers; games take the coalitions in turn.
        opponents: specs, profiles such as "4*dove + 3*hold" whose seats rotate from game to game, "learner", "league"
            or a name in `also`; each game draws one for all its other seats. With a mix ("mix:dove=1/3,hold=2/3") each
            seat draws its own policy in each game. Profiles and mixes may also contain "learner" and names in `also`.
        shares: relative frequencies of the opponents.
        also: additional networks that learn: name -> reward.

    Raises:
        TrainingError: a share is negative or infinite, or all are 0.
    """

    coalitions: tuple[tuple[int, ...], ...]
    opponents: tuple[str, ...]
    shares: tuple[float, ...]
    also: Mapping[str, Reward] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for opponent, share in zip(self.opponents, self.shares, strict=True):
            check_number(f"the share of opponent {opponent!r:.80}", share, 0, 1e9)
        if not any(self.shares):
            raise TrainingError("opponents: give one of them a share above 0")

    @property
    def is_fixed(self) -> bool:
        """Whether no opponent learns, so that some deterministic policy is a best response."""
        return not {LEARNER, LEAGUE, *self.also} & set(self.players)

    @cached_property
    def players(self) -> tuple[str, ...]:
        """All individual opponents, including each policy of the profiles."""
        return tuple(dict.fromkeys(player for text in self.opponents for player in players_of(text, self.also)))

    def seats(
        self, rng: np.random.Generator, games: int, powers: Sequence[str]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The player of each seat: int64 [games, powers], -1 for the learner, else an index into `players`; and each
        game's coalition and opponent, int64 [games] each. Seats of the opponent "learner" also learn.

        Raises:
            ProfileError, UnknownPowerError: a profile that does not fit the board.
        """
        shares = np.array(self.shares, np.float64)
        drawn = rng.choice(len(self.opponents), size=games, p=shares / shares.sum())
        coalition = (np.arange(games) + rng.integers(len(self.coalitions))) % len(self.coalitions)
        tables = [self._table(text, powers) for text in self.opponents]
        starts = rng.integers(len(powers), size=games) if any(map(is_profile, self.opponents)) else np.zeros(games, int)
        seats = np.array(
            [tables[number][start % len(tables[number])] for number, start in zip(drawn, starts, strict=True)]
        )
        for number, text in enumerate(self.opponents):
            if mix := _parts(text, self.also):
                where = np.flatnonzero(drawn == number)
                players = np.array([self.players.index(player) for player in mix])
                chances = np.array(list(mix.values()))
                seats[where] = rng.choice(players, size=(len(where), len(powers)), p=chances / chances.sum())
        for game, number in enumerate(coalition.tolist()):
            seats[game, list(self.coalitions[number])] = -1
        if LEARNER in self.players:
            seats[seats == self.players.index(LEARNER)] = -1
        return seats, coalition, drawn

    def check_seats(self, powers: Sequence[str]) -> None:
        """Check that every network in `also` has a seat outside the coalitions in some games.

        Raises:
            ProfileError, UnknownPowerError: a profile that does not fit the board.
            TrainingError: a network never has a seat.
        """
        seated: set[int] = set()
        for text in self.opponents:
            if mix := _parts(text, self.also):
                seated |= {self.players.index(player) for player in mix}
                continue
            for coalition in self.coalitions:
                seated.update(np.delete(self._table(text, powers), coalition, axis=1).ravel().tolist())
        for name in self.also:
            if self.players.index(name) not in seated:
                raise TrainingError(f"also: {name!r} never plays: it has no seat outside the coalitions")

    def _table(self, text: str, powers: Sequence[str]) -> np.ndarray:
        """The player of each seat in each rotation of a profile: int64 [rotations, powers]."""
        if not is_profile(text):
            return np.full((1, len(powers)), self.players.index(players_of(text, self.also)[0]))
        profile = read_profile(text, _names(self.also))
        return np.array(
            [
                [self.players.index(policy.text) for policy in profile.seats(powers, shift).values()]
                for shift in range(len(powers))
            ]
        )


def players_of(text: str, also: Collection[str] = ()) -> list[str]:
    """The individual policies of an opponent.

    Raises:
        UnknownAgentError, ProfileError: an invalid profile or mix.
        TrainingError: a profile contains a mix with a learning network, or shares are not positive or do not sum to 1.
    """
    if not is_profile(text):
        bare = text.strip(" ()")
        return list(_parts(text, also)) or [bare if bare in (*_names(also), LEAGUE) else text]
    policies = read_profile(text, _names(also)).policies
    for part in (part for policy in policies for part, _ in policy.parts):
        if part.text in _names(also):  # a mix in a profile is a single frozen player
            raise TrainingError(f"opponent {text!r:.200}: {part.text!r} learns: give the mix outside the profile")
    return [policy.text for policy in policies]


def _parts(text: str, also: Collection[str]) -> dict[str, float]:
    """The policies of a mix, drawn per seat and game, with their shares; empty for other opponents."""
    if is_profile(text) or "mix:" not in text:
        return {}
    parts = read(text, (*_names(also), LEAGUE)).parts
    if not parts:  # the mix is inside another policy
        return {}
    try:
        check_shares([share for _, share in parts], slack=1e-6)
    except ValueError as error:
        raise TrainingError(f"opponent {text!r:.200}: {error}") from error
    shares: dict[str, float] = {}
    for policy, share in parts:
        shares[policy.text] = shares.get(policy.text, 0.0) + share
    return shares


def _names(also: Collection[str]) -> tuple[str, ...]:
    """The names of learning networks, which profiles and mixes may contain like policies."""
    return (LEARNER, *also)


def read_also(texts: Sequence[str]) -> dict[str, Reward]:
    """The additional networks, name -> reward, from texts such as "cooperators=social".

    Raises:
        TrainingError: not NAME=REWARD, a repeated or reserved name, or no such reward.
    """
    found: dict[str, Reward] = {}
    for text in texts:
        name, mark, reward = (part.strip() for part in text.partition("="))
        if not mark:
            raise TrainingError(f"also {text!r:.80}: give NAME=REWARD, such as cooperators=social")
        if not re.fullmatch("[a-z][a-z0-9_-]{0,31}", name):
            raise TrainingError(
                f"also {text!r:.80}: give a name of up to 32 lower-case letters, digits, - and _, with a letter first"
            )
        if taken := _taken(name):
            raise TrainingError(f"also {text!r:.80}: {name!r} is {taken}: give another name")
        if name in found:
            raise TrainingError(f"also {text!r:.80}: {name!r} is given twice")
        try:
            found[name] = Reward.parse(reward)
        except TrainingError as error:
            raise TrainingError(f"also {text!r:.80}: {error}") from error
    return found


def _taken(name: str) -> str:
    """What a name is reserved for; "" if it is free."""
    if name in (LEARNER, LEAGUE):
        return "the network in training itself" if name == LEARNER else "the network's past selves"
    if name in RESERVED or name.startswith("best-"):
        return "the name of a file in the folder"
    policies = {usage.partition(":")[0] for usage in usages()}
    return "the name of a policy" if name in policies else ""


def check_opponents(also: Collection[str], opponents: Sequence[str], league_share: float) -> None:
    """Check that all opponents are valid and include every additional network.

    Raises:
        TrainingError: an additional network never plays.
        UnknownAgentError, ProfileError: an invalid opponent.
    """
    known = (*_names(also), LEAGUE)
    players = dict.fromkeys(player for text in opponents for player in players_of(text, also))
    for player in players:
        read(player, known)
    for name in also:
        if name not in players:
            raise TrainingError(f"also: {name!r} never plays: give it seats (--against {name})")
        if league_share == 1:
            raise TrainingError(f"league_share=1: {name!r} never plays: give a smaller share")


def read_coalitions(text: str, powers: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """All coalitions of a size ("singles", "pairs", "triples"), or one given as names with commas, as power numbers.

    Raises:
        TrainingError: an unknown or repeated power, or all powers.
    """
    sizes = {name: size for name, size in SIZES.items() if size < len(powers)}  # a coalition leaves out some power
    if text in sizes:
        return tuple(combinations(range(len(powers)), sizes[text]))
    names = [name.strip().upper() for name in text.split(",")]
    if sorted(set(names)) != sorted(names) or not set(names) < set(powers):
        stranger = next((name for name in names if name not in powers), None)
        hint = did_you_mean(stranger, (*sizes, *powers) if len(names) == 1 else powers)
        raise TrainingError(
            f"coalition {text!r:.80}{hint}: give {', '.join(sizes)}, or some of {', '.join(powers)}, not all"
        )
    return (tuple(powers.index(name) for name in names),)
