"""Red team: the strongest of many attacks on a policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Unpack

import numpy as np

from agents.runtime.table_files import Row
from agents.scripted.deterrents.ownership import fair_shares
from agents.specs import PolicyLike, Profile, ProfileLike, Spec, as_given, read_profile
from evaluation.checks import EvaluationError, listed
from evaluation.experiments.attacks import GAMES, Deviation, measure_attacks
from evaluation.experiments.deviators import PORTFOLIO, Deviator, portfolio_notes, read_deviators
from evaluation.experiments.exploitability_result import ExploitabilityResult, Witness
from evaluation.measures.gains import CoalitionGain
from evaluation.measures.intervals import Coalition, Estimate
from evaluation.measures.rows import GamesResult
from evaluation.options import takes_options
from evaluation.play.game_spec import Setting
from evaluation.play.runner import Evaluation, PlayOptions, Runner, read_options
from welfare_env import RulesError
from welfare_env.checks import quoted
from welfare_env.errors import did_you_mean

TRAINED = "trained"
RAID = "exploiter:nice=prosocial,attack=dumbbot,units=never,last_years=0"
SQUAD = "exploiter:nice=prosocial,attack=(posse:force={force},more=0),units=never,last_years=0"

CAMPAIGNS: dict[str, list[PolicyLike]] = {  # fixed plans found by planners
    "no home": [f"campaign:plan=no-home,victim={victim}" for victim in (1, 2, 3)],
    "landing": [f"campaign:plan=landing,victim={victim}" for victim in (1, 2)],
    "last years": ["campaign:plan=last-years"],
    "frame": [f"campaign:plan=frame,victim={victim}" for victim in (1, 2)],
    "refill": [f"campaign:plan=refill,victim={victim},taker={denied}" for victim in (1, 2) for denied in (1, 2)],
}
JOINT_CAMPAIGNS: dict[str, list[PolicyLike]] = {
    "no home": ["campaign:plan=no-home"],
    "launder": [f"campaign:plan=launder,victim={victim}" for victim in (1, 2)],
    "hand over": [f"campaign:plan=hand-over,victim={victim}" for victim in (1, 2)],
    "landing": [f"campaign:plan=landing,victim={victim},taker={taker}" for victim in (1, 2) for taker in (1, 2, 3)],
    "lend": [f"campaign:plan=lend,taker={denied}" for denied in (1, 2)],
}


@dataclass(frozen=True)
class AttackBudget:
    """The size of a red team.

    Attributes:
        selection_games: games per attack in the first selection round.
        sizes: sizes of the coalitions to try.
        most: maximum number of coalitions per size; if there are more, a random sample of this number.
        each: maximum number of attackers of a kind, evenly spread over its list; the portfolio is always tried whole.
    """

    selection_games: int
    sizes: tuple[int, ...]
    most: int
    each: int = 100


BUDGETS = {
    "quick": AttackBudget(selection_games=1, sizes=(1, 2), most=7, each=2),
    "short": AttackBudget(selection_games=2, sizes=(1, 2, 3), most=7),
    "usual": AttackBudget(selection_games=3, sizes=(1, 2, 3), most=35),
    "full": AttackBudget(selection_games=10, sizes=(1, 2, 3, 4), most=35),
}


@dataclass(frozen=True, repr=False)
class RedTeamResult(GamesResult):
    """The strongest of many attacks, selected on separate games and measured on fresh games.

    Attributes:
        budget: the name of the budget.
        found: games and gains of the chosen attack, its close contenders, and the best attack of each kind and size;
            `found.screened` has the gains of all attacks in the selection games.
        kinds: deviator -> kind of attack.
        specs: deviator -> a spec that plays it, for `evaluation.exploitability`.
        coordinated: deviators whose coalitions are played by one policy object.
    """

    budget: str
    found: ExploitabilityResult
    kinds: Mapping[str, str]
    specs: Mapping[str, str]
    coordinated: tuple[str, ...] = ()

    @property
    def value(self) -> Estimate:
        """The exploitability: mean gain of the chosen attack's worst-off member, in points a year, or 0."""
        return self.found.value

    @property
    def best(self) -> CoalitionGain:
        """The chosen attack: deviator, coalition and gain."""
        return self.found.best_gain

    @property
    def witness(self) -> Witness:
        """A typical game of the chosen attack."""
        return self.found.witness

    def by_kind(self) -> dict[tuple[int, str], CoalitionGain]:
        """(Size of coalition, kind of attack) -> gain of the attack that was best in the selection games."""
        tried = {(each.deviator, each.coalition): each.gain for each in self.found.screened}
        best: dict[tuple[int, str], CoalitionGain] = {}
        for each in sorted(self.found.gains, key=lambda gain: -tried[gain.deviator, gain.coalition]):
            best.setdefault((len(each.coalition), self.kinds[each.deviator]), each)
        return best

    def rows(self, by_year: bool = False) -> list[Row]:
        """As `ExploitabilityResult.rows`."""
        return self.found.rows(by_year)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON types."""
        return {"budget": self.budget, "kinds": dict(self.kinds), **self.found.to_dict()}


@takes_options(Setting, Runner)
def red_team(
    policy: ProfileLike,
    budget: str = "usual",
    *,
    games: int = GAMES,
    trained: Sequence[PolicyLike] = (),
    **options: Unpack[PlayOptions],
) -> RedTeamResult:
    """Try many attacks on a policy, select the one that gains most, and measure it on fresh games.

    Attacks by single powers, in every seat: the deviators of the package (`evaluation.experiments.deviators`), raids
    that begin in any year, grabs in the first year, thefts of a few centers followed by disarmament, also with another
    raid while deterrents fight, squads of one to three units, armament without an attack, and fixed plans (`agents`
    "campaign"). Attacks by coalitions (of some powers, never all): the deviators and some of the raids, with each
    member on its own; and pacts and plans, with one policy for all members (`agents` "pact", "campaign").

    Attacks are selected by successive halving (`evaluation.measures.gains.choose`) on games with separate seeds. Then
    the chosen attack, its close contenders and the best attack of each kind and size play `games` fresh games. The
    value is a lower bound on the policy's exploitability. Best responses by reinforcement learning or search find more:
    train one (`welfare-env train best-response --against SPEC`) or use a planner ("plan:budget=20"), and pass it as
    `trained`.

    Args:
        policy: one policy for all seats, or a profile.
        budget: "quick" (about a minute), "short", "usual" or "full": selection games, sizes and number of coalitions,
            and number of attackers (`BUDGETS`).
        games: games of self-play and of each reported attack.
        trained: additional deviators, such as "rl:runs/robber/checkpoint".
        options: the fields of `evaluation.Setting`, and the arguments of `evaluation.Runner`.

    Raises:
        UnknownAgentError, ProfileError, UnknownMapError, RulesError: an invalid policy, profile, map or rules.
        EvaluationError: an unknown budget, or a number of games or workers below 1.
    """
    setting, runner = read_options(options)
    return runner.run(measure_red_team(policy, budget, setting, games=games, trained=trained))


def measure_red_team(
    policy: ProfileLike, budget: str, setting: Setting, *, games: int = GAMES, trained: Sequence[PolicyLike] = ()
) -> Evaluation[RedTeamResult]:
    """`red_team` in a setting; raises the same errors."""
    if not setting.played.is_welfare:
        raise RulesError("gains are measured in welfare points: use variant='welfare'")
    profile = read_profile(policy)
    name = as_given(policy, profile)
    tried, kinds = attacks_on(profile, name, setting, budget, trained)
    deviators = {each.name: each for each in (each.deviator for each in tried) if each}
    numbers = {"games": games, "selection_games": BUDGETS[budget].selection_games}
    notes = portfolio_notes(PORTFOLIO, setting)
    found = yield from measure_attacks(setting, profile, name, tried, **numbers, notes=notes)
    coordinated = tuple(dict.fromkeys(each.attack[0] for each in tried if each.coordinated))
    specs = {name: each.given for name, each in deviators.items()}
    return RedTeamResult(budget, found, {name: kinds[name] for name in specs}, specs, coordinated)


def attacks_on(
    profile: Profile, name: str, setting: Setting, budget: str, trained: Sequence[PolicyLike]
) -> tuple[list[Deviation], dict[str, str]]:
    """All attacks to try, and the kind of each deviator.

    Raises:
        EvaluationError: an unknown budget, or `trained` is not a list.
        UnknownAgentError: an unknown policy in `trained`.
    """
    if not isinstance(budget, str) or budget not in BUDGETS:
        raise EvaluationError(f"budget={quoted(budget)}{did_you_mean(budget, BUDGETS)}: choose {', '.join(BUDGETS)}")
    size_of = BUDGETS[budget]
    own: dict[str, list[PolicyLike]] = {TRAINED: listed("trained", trained, "['rl:runs/robber/checkpoint']")}
    years, powers = setting.played.years, setting.board.powers
    shares = thefts(years, max(fair_shares(setting.board).values()))
    alone: dict[str, list[PolicyLike]] = {**raids(years), **shares, **CAMPAIGNS}
    several: dict[str, list[PolicyLike]] = {"raid": alone["raid"][1 :: max(1, years // 3)]}
    joint: dict[str, list[PolicyLike]] = {"pact": pacts(years), **JOINT_CAMPAIGNS}
    whole: list[dict[str, list[PolicyLike]]] = [{"portfolio": [PORTFOLIO, "fortress"]}, {"portfolio": [PORTFOLIO]}, {}]
    by_itself, in_company, together = (
        list(_read(first | _spread(given, size_of.each) | (own if first else {}), profile, name, setting))
        for first, given in zip(whole, (alone, several, joint), strict=True)
    )
    acting_as_one = {each.name for _, each in together}
    in_company = [(kind, each) for kind, each in in_company if each.name not in acting_as_one]
    kinds: dict[str, str] = {}
    tried: list[Deviation] = []
    for size in (size for size in size_of.sizes if size < len(powers)):  # if all attack, there is no victim
        coalitions = _coalitions(powers, size, size_of.most, setting.seed)
        for kind, each in by_itself if size == 1 else [*in_company, *together]:
            kinds.setdefault(each.name, kind)
            is_one = size > 1 and each.name in acting_as_one
            tried += [Deviation(each, who, is_one, group=(size, kind)) for who in coalitions]
    return tried, kinds


def _spread(given: Mapping[str, list[PolicyLike]], most: int) -> dict[str, list[PolicyLike]]:
    """The same kinds with at most so many attackers each, evenly spread over their lists."""
    return {kind: specs[:: -(-len(specs) // most) or 1] for kind, specs in given.items()}


def raids(years: int) -> dict[str, list[PolicyLike]]:
    """Attacks from a given year to the end or only in the first year, and armament without an attack."""
    return {
        "raid": [f"{RAID},years={year}" for year in range(years)],
        "grab": [f"exploiter:nice=prosocial,attack=dumbbot,units=never,years=0,last_years={years - 1}"],
        "feint": ["exploiter:nice=prosocial,attack=fortress,units=never,years=1"],
    }


def pacts(years: int) -> list[PolicyLike]:
    """Joint attacks that begin early, midway and late."""
    return [f"pact:years={year}" for year in starts(years)]


def starts(years: int) -> list[int]:
    """The years in which joint attacks begin."""
    return sorted({1, years // 2, max(1, years - 2)})


def thefts(years: int, share: int) -> dict[str, list[PolicyLike]]:
    """Thefts (attackers disarm at or slightly above their fair share of centers), thefts followed by a raid, and
    attacks with few units.
    """
    begun = sorted({0, 1, years // 2, max(1, years - 3), max(1, years - 2)})
    return {
        "theft": [f"{RAID},years={year},centers={most}" for year in begun for most in range(share, share + 3)],
        # The theft makes deterrents arm and fight, perhaps each other; the raid follows meanwhile.
        "false flag": [
            f"{RAID.replace('prosocial', f'({RAID},years={year},centers={share})')},years={max(year + 2, years // 2)}"
            for year in (0, 1)
            if year + 2 < years
        ],
        "squad": [
            f"{SQUAD.format(force=force)},years={year},centers={most}"
            for force in (1, 2, 3)
            for year in begun
            for most in (share, 2 * share)
        ],
    }


def _read(
    given: Mapping[str, list[PolicyLike]], profile: Profile, name: str, setting: Setting
) -> Iterator[tuple[str, Deviator]]:
    """(kind, deviator), without deviators that play the same as an earlier one."""
    seen: list[Mapping[Spec, Spec]] = []
    for kind, spec in ((kind, spec) for kind, specs in given.items() for spec in specs):
        for each in read_deviators(spec, profile, name, setting):
            if each.attackers not in seen:
                seen.append(each.attackers)
                yield kind, each


def _coalitions(powers: Sequence[str], size: int, most: int, seed: int) -> list[Coalition]:
    """All coalitions of this size, or `most` of them drawn at random."""
    every = list(combinations(powers, size))
    if len(every) <= most:
        return every
    chosen = np.random.default_rng([seed, size]).choice(len(every), most, replace=False)
    return [every[index] for index in sorted(chosen.tolist())]
