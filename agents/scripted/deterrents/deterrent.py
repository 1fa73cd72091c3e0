"""Deterrents: peaceful until a power breaks an announced rule, and then at war."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from agents.scripted.deterrents.ownership import RightfulOwners
from agents.scripted.deterrents.posse import PossePolicy
from agents.scripted.deterrents.provocation import RULES, has_lost
from agents.scripted.dumbbot import DumbBotPolicy
from agents.scripted.prosocial import ProsocialPolicy
from welfare_env.errors import did_you_mean
from welfare_env.game.press import GLOBAL
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from agents.policy import Policy
    from welfare_env.game.view import View

FIGHTERS = ("all", "concerned")
NEVER = 10**6  # years

ANNOUNCEMENTS = {
    "units": "We disarm, and stay disarmed while you do. If anybody has units after the first Winter, we arm and fight",
    "growth": "We disarm and keep what we have. If anybody grows beyond what it owned in the first Winter, we arm and"
    " fight",
    "share": "We take our fair share and disarm. If anybody takes more than its own, we arm and fight",
    "theft": "We take our fair share and disarm. If anybody takes a centre from its owner, we arm with all who think"
    " alike, take it back and fight the thief",
}
ENDS = {True: "until the order is restored, and disarm again then.", False: "to the end of the game."}


class DeterrentPolicy:
    """Plays `nice` until another power breaks its rule, then `fight` until the violation ends, then `nice` again.

    The rule is checked in every phase, from public information; a violation in Fall is answered by builds in the same
    Winter. Nothing counts before the end of the first year.

    `provoked` is the rule, i.e. what counts as a violation by another power:

    - "units": it has units after the first Winter, more than `slack` of them.
    - "growth": it owns more centres than in the first Winter, by more than `slack`; or the deterrent owns fewer.
    - "share": it owns more centres than its fair share, by more than `slack`; or the deterrent owns fewer than its own.
    - "theft": it owns more than `slack` centres that were taken from their rightful owner
      (`agents.scripted.deterrents.ownership.RightfulOwners`).

    In the first message round of a phase it announces what it will do and why: its rule each Spring in peace, its
    enemies in war, and that it disarms after a war. With ``press="tokens"`` it proposes demilitarisation to all in
    peace; in war it refuses the enemies and asks the others for support. It ignores the messages of others.

    Args:
        provoked: the rule.
        slack: tolerance of the rule, a whole number; see above.
        armed: whether a power counts only while it has units.
        forgive: years without a violation until the war ends; None: it never ends.
        fight: plays in war; by default a `PossePolicy` of two units and one more each year under "theft", and dumbbot
            otherwise.
        fighters: who goes to war: "all", or "concerned": only powers that have lost a rightful centre, or have an
            enemy's unit or centre next to one of their centres.
        last_years: number of years at the end in which violations are ignored.
        nice: plays in peace; by default prosocial. Reset with the deterrent's own seed.

    Raises:
        ValueError: an option out of range.
    """

    def __init__(
        self,
        provoked: str = "theft",
        slack: int = 0,
        armed: bool = False,
        forgive: int | None = 0,
        fight: Policy | None = None,
        fighters: str = "all",
        last_years: int = 0,
        nice: Policy | None = None,
    ) -> None:
        for name, value, known in (("provoked", provoked, RULES), ("fighters", fighters, FIGHTERS)):
            if value not in known:
                near = did_you_mean(str(value), known)
                raise ValueError(f"{name}={value!r:.40}: give {', '.join(known)}{near}")
        for name, number in (
            ("slack", slack),
            ("last_years", last_years),
            ("forgive", 0 if forgive is None else forgive),
        ):
            if isinstance(number, bool) or not isinstance(number, int) or number < 0:
                raise ValueError(f"{name}={number!r:.40}: give a whole number from 0")
        self.provoked = provoked
        self.slack = slack
        self.armed = armed
        self.forgive = forgive
        self.fight = fight or (PossePolicy() if provoked == "theft" else DumbBotPolicy())
        self.fighters = fighters
        self.last_years = last_years
        self.nice = nice or ProsocialPolicy()

    def reset(self, agent: str, seed: int = 0) -> None:
        """Start a new game, at peace.

        Raises:
            ValueError: a negative seed.
        """
        self.nice.reset(agent, seed)
        self.fight.reset(agent, int(np.random.SeedSequence([seed, 2]).generate_state(1)[0]))
        self.owners = RightfulOwners()
        self.enemies: frozenset[str] = frozenset()
        self._since: int | None = None  # year in which the war began
        self._cause = 0  # last year with a violation
        self._told = ""  # the phase of its last messages; `_news` has these
        self._news: list[tuple[str, str]] = []

    @property
    def reads_observations(self) -> bool:
        """Whether one of its parts reads them (see `agents.policy.ScriptedPolicy`)."""
        return any(getattr(part, "reads_observations", True) for part in (self.nice, self.fight))

    @property
    def is_at_war(self) -> bool:
        """Whether `fight` is playing."""
        return self._since is not None

    def act(self, observation: Any, info: Mapping[str, Any]) -> Any:
        """The action of the active part, plus the deterrent's own messages."""
        view: View = info["view"]
        was_at_war = self.is_at_war
        self._look(view)
        if self.is_at_war and isinstance(self.fight, PossePolicy):
            self.fight.pursue(self.enemies, self.owners, view.year_index - (self._since or 0))
        action = (self.fight if self.is_at_war else self.nice).act(observation, info)
        if view.asked != MESSAGES or not isinstance(action, Mapping):
            return action
        if view.message_round == 1 and view.phase != self._told:
            self._told, self._news = view.phase, self._messages(view, was_at_war)
        said = view.encode_messages(self._news if view.message_round == 1 else [])["messages"]
        return {**action, "messages": {**action["messages"], **said}}

    def _look(self, view: View) -> None:
        """Check the rule, and update war and enemies."""
        self.owners.update(view)
        causes = self._causes(view)
        is_robbed = has_lost(self.provoked, view, self.owners, view.power) and self._may_be_provoked(view)
        if causes or is_robbed:
            self._cause = view.year_index
            self._since = view.year_index if self._since is None else self._since
            self.enemies = causes or frozenset(view.powers) - {view.power}
        elif self.is_at_war and self._is_over(view):
            self._since, self.enemies = None, frozenset()
        if self.fighters == "concerned" and self.is_at_war and not self._is_concerned(view):
            self._since = None

    def _may_be_provoked(self, view: View) -> bool:
        return (view.year_index > 0 or view.phase_type == "A") and view.years_left > self.last_years

    def _causes(self, view: View) -> frozenset[str]:
        if not self._may_be_provoked(view):
            return frozenset()
        rule = RULES[self.provoked]
        return frozenset(
            power
            for power in view.powers
            if power != view.power
            and (view.units[power] or not self.armed)
            and rule(view, self.owners, power, self.slack)
        )

    def _is_over(self, view: View) -> bool:
        if view.years_left <= self.last_years:
            return True
        return self.forgive is not None and view.year_index - self._cause >= self.forgive

    def _is_concerned(self, view: View) -> bool:
        if self.owners.lost(view.power):
            return True
        mine = set(view.centers[view.power])
        near = {p[:3] for enemy in self.enemies for unit in view.units[enemy] for p in view.board.moves[unit]}
        owned = {center for power in self.enemies for center in view.centers[power]}
        neighbours = {
            place[:3] for piece, places in view.board.moves.items() if piece[2:5] in owned for place in places
        }
        return bool(mine & (near | neighbours))

    def _messages(self, view: View, was_at_war: bool) -> list[tuple[str, str]]:
        if view.vocabulary:
            return [(other, self._word(other)) for other in view.recipients if other in view.powers]
        if self.is_at_war:
            who = " and ".join(sorted(power.title() for power in self.enemies))
            return [(GLOBAL, f"{self._accusation(view)} We fight {who} {ENDS[self.forgive is not None]}")]
        if was_at_war:
            return [(GLOBAL, f"Order is restored: we disarm. {self._announcement()}")]
        return [(GLOBAL, self._announcement())] if view.season == "S" else []

    def _word(self, other: str) -> str:
        if not self.is_at_war:
            return "propose demilitarisation"
        return "refuse" if other in self.enemies else "ask for support"

    def _announcement(self) -> str:
        return f"{ANNOUNCEMENTS[self.provoked]} {ENDS[self.forgive is not None]}"

    def _accusation(self, view: View) -> str:
        """The enemies' violations that are still visible."""
        told = []
        for power in sorted(self.enemies):
            stolen = self.owners.stolen(power)
            if self.provoked == "theft" and stolen:
                told.append(f"{power.title()} holds {', '.join(stolen)}, which others should own.")
            elif self.provoked == "units" and view.units[power]:
                told.append(f"{power.title()} has {len(view.units[power])} units.")
            elif self.provoked in ("share", "growth") and RULES[self.provoked](view, self.owners, power, self.slack):
                due = self.owners.share[power] if self.provoked == "share" else self.owners.first.get(power, 0)
                told.append(f"{power.title()} owns {len(view.centers[power])} centres, where {due} are its due.")
        return " ".join(told) or "We have been robbed."


def _with(options: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    return defaults | options


def grim(**options: Any) -> DeterrentPolicy:
    """At war with everybody, permanently, once any other power has a unit after the first Winter."""
    return DeterrentPolicy(**_with(options, provoked="units", forgive=None))


def police(**options: Any) -> DeterrentPolicy:
    """At war with everybody while an armed power owns more than in the first Winter, or itself owns fewer."""
    return DeterrentPolicy(**_with(options, provoked="growth", armed=True))


def sheriff(**options: Any) -> DeterrentPolicy:
    """At war with everybody while a power owns two more than its fair share, or itself fewer than its own."""
    return DeterrentPolicy(**_with(options, provoked="share", slack=1))


def marshal(**options: Any) -> DeterrentPolicy:
    """At war with thieves only, while they hold stolen centres, with few units and out of its friends' way."""
    return DeterrentPolicy(**_with(options, provoked="theft"))
