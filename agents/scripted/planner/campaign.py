"""Campaign: fixed, named plans of attack, for any board and any coalition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from agents.scripted.center_partition import planned_owners
from agents.scripted.deterrents.ownership import fair_shares
from agents.scripted.planner.distances import UNREACHABLE, steps_between
from agents.scripted.planner.joint_policy import JointPolicy
from agents.scripted.planner.plans import DISARMED, PEACE, Course, Move, Neutral, Plan, ended, nearest
from agents.scripted.planner.world import Orders, PlanPlayer
from agents.scripted.prosocial import ProsocialPolicy
from welfare_env import checks
from welfare_env.game.game import Game

if TYPE_CHECKING:
    from welfare_env import View
    from welfare_env.board.board import Board

PLANS = ("no-home", "launder", "hand-over", "landing", "frame", "last-years", "refill", "lend", "spite")
JOINT = ("launder", "hand-over", "lend")  # for coalitions
LAST = 2  # years of the attack of "last-years"
PATIENCE = 6  # years within which a landing, and the receiver's after it, may happen


class CampaignPolicy(JointPolicy):
    """Follows a plan of attack, alone or for a coalition, without modeling the other players.

    - "no-home": takes the homes of one neighbor at once, forgoes neutral centers, and disarms. A power without homes
      cannot build.
    - "launder": in the first year moves next to a neighbor's homes, takes them in the second, passes them from member
      to member in the third, so that each owns what another took, retakes its own lost centers, and disarms.
    - "hand-over": the first member takes the homes of a neighbor, and leaves them to the others, who stole nothing;
      then the others take the homes of the next neighbor, and leave them to the first.
    - "landing": one member enters all homes of a neighbor in one Fall and disarms; a second, who stole nothing, enters
      them in one of the next Falls; the others stay prosocial. A single power keeps them.
    - "frame": takes neutral centers that are due to a neighbor, which then may look like a thief when it takes others;
      prosocial from then on.
    - "last-years": is prosocial at first, then builds two units, and takes what it can in the last two years.
    - "refill": keeps a center neutral that is due to a neighbor, takes a center of another one, is robbed for that by
      whoever fights thieves, takes the neutral center, as it has fewer than its share now, and then its own back.
    - "lend": as "refill", but the first member is robbed by the second one, as agreed, and then takes its own back.
    - "spite": keeps centers neutral that are due to a neighbor, and is prosocial otherwise.

    Args:
        plan: the name of the plan.
        victim: the attacked power: 1 for the nearest one to the first member, 2 for the next, ...
        begin: years before the plan begins.
        taker: in "landing", the member that lands: 1 for the first one; the next one receives. `victim` then counts
            from the power nearest to the taker. In "refill" and "lend", the power whose center is kept neutral, counted
            as `victim`.

    Raises:
        ValueError: an option out of range.
    """

    def __init__(self, plan: str = "no-home", victim: int = 1, begin: int = 0, taker: int = 1) -> None:
        checks.choice("plan", plan, PLANS, ValueError)
        self.plan = plan
        self.victim = checks.whole("victim", victim, 1, error=ValueError)
        self.begin = checks.whole("begin", begin, 0, error=ValueError)
        self.taker = checks.whole("taker", taker, 1, error=ValueError)

    def reset_coalition(self, agents: Sequence[str], seed: int = 0) -> None:
        """Start a new game as all of `agents`.

        Raises:
            ValueError: a negative seed.
        """
        super().reset_coalition(agents, seed)
        self._seed = seed
        self._player: PlanPlayer | None = None
        self._nice = {member: ProsocialPolicy() for member in self.members}
        for member, nice in self._nice.items():
            nice.reset(member, seed)

    def joint_orders(self, view: View) -> Orders:
        """The plan's orders."""
        self._player = self._player or PlanPlayer(self.make_plan(view), self._nice, self._seed)
        return self._player.orders(Game.from_view(view))

    def make_plan(self, view: View) -> Plan:
        """The plan of a game, for `members`; a subclass may follow another one."""
        given = self.plan, self.victim, self.begin
        return fixed_plan(*given, view.board, view.rules.years, self.members, self.taker)


def fixed_plan(
    name: str, victim: int, begin: int, board: Board, years: int, members: Sequence[str], taker: int = 1
) -> Plan:
    """One of `PLANS`; arguments as for `CampaignPolicy`."""
    first = members[(taker - 1) % len(members)] if name == "landing" else members[0]
    near = nearest(board, first, members)
    victims, denied = ((near[min(number, len(near)) - 1],) if near else () for number in (victim, taker))
    taking = Course(Move.TAKE, victims, only_homes=True, neutral=Neutral.NONE, units=2)
    ready = replace(taking, move=Move.STAGE, neutral=Neutral.DUE)
    denying, fetching = Course(Move.DENY, denied, units=1), [Course(Move.FETCH, neutral=Neutral.ALL, units=1)] * 4
    share = fair_shares(board)[first]
    filling = Course(Move.TAKE, neutral=Neutral.ALL, most=share + 2, units=2)
    own: dict[str, list[Course]] = {}  # of members that do something else than the others
    if name == "no-home":
        shared = [taking, replace(taking, units=0)]
    elif name == "launder":
        shared = [ready, taking, replace(ready, move=Move.SWAP, units=1), Course(Move.FETCH, units=1)]
    elif name == "hand-over":
        both = [near[(victim - 1 + more) % len(near)] for more in (0, 1)]
        own[first], shared = _handing_over(board, both)
    elif name == "landing":
        shared, receiver = [PEACE] * years, members[(members.index(first) + 1) % len(members)]
        for member, move in ((receiver, Move.RECEIVE), (first, Move.LAND)):
            own[member] = [Course(units=0), *[Course(move, victims, units=0)] * PATIENCE]
    elif name == "frame":
        homes = {home for power in board.powers for home in board.start_centers[power]}
        theirs = tuple(c for c, power in planned_owners(board).items() if power in victims and c not in homes)
        shared = [Course(Move.TAKE, neutral=Neutral.DUE, units=0, wish=theirs), *[PEACE] * years]
    elif name == "refill":
        shared = [denying, replace(taking, only_homes=False, most=share + 1, units=1), filling, *fetching]
    elif name == "lend":
        robbing = Course(Move.TAKE, (first,), only_homes=True, neutral=Neutral.NONE, most=share + 1, units=1)
        own[first] = [denying, replace(filling, most=share, units=1), Course(Move.FETCH, units=0)]
        shared = [Course(units=1), robbing, *fetching]
    elif name == "spite":
        shared = [replace(denying, victims=victims, units=0), *[PEACE] * years]
    else:
        armed = max(0, years - LAST)
        everybody = tuple(power for power in board.powers if power not in members)
        arming = [*[PEACE] * (armed - 1), *[Course(units=2)] * (armed > 0)]
        raids = [replace(taking, units=1)] * (years - armed - 1)
        shared = [*arming, *raids, Course(Move.TAKE, everybody, neutral=Neutral.NONE)]
    own.setdefault(members[0], _ready(board, members[0], shared))
    waiting = [PEACE] * (0 if name == "last-years" else begin)
    return Plan({member: ended([*waiting, *own.get(member, shared)], years) for member in members})


def _handing_over(board: Board, victims: Sequence[str]) -> tuple[list[Course], list[Course]]:
    """The courses of the first member and of the others in "hand-over", on two victims one after the other."""
    first, others = list[Course](), list[Course]()
    for taker, receiver, victim in ((first, others, victims[0]), (others, first, victims[1])):
        taking = Course(Move.TAKE, (victim,), only_homes=True, units=2)
        taker += [taking, replace(taking, units=0), DISARMED]
        ready = replace(taking, move=Move.STAGE)
        receiver += [ready, replace(ready, wish=tuple(board.start_centers[victim])), Course(Move.RECEIVE, units=0)]
    return first, others


def _ready(board: Board, member: str, courses: list[Course]) -> list[Course]:
    """The courses, with the homes next to which STAGE years gather: the two nearest ones, the farther one first."""
    steps = steps_between(board)

    def distance(home: str) -> float:
        return min((steps(unit, home) + detour(unit, home) for unit in board.start_units[member]), default=UNREACHABLE)

    def detour(unit: str, home: str) -> float:
        """Half a step if the unit's way begins in a center."""
        ways = [place for place in board.moves[unit] if steps(f"{unit[0]} {place}", home) == steps(unit, home) - 1]
        return 0.5 * all(place[:3] in board.centers for place in ways)

    def wish(course: Course) -> tuple[str, ...]:
        return tuple(sorted(sorted(course.homes(board), key=distance)[:2], key=distance, reverse=True))

    return [replace(each, wish=wish(each)) if each.move is Move.STAGE else each for each in courses]
