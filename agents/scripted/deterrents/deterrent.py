"""Deterrents: peaceful until a power breaks an announced rule, and then at war."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from agents.asking import AskingPolicy, part_asking
from agents.policy import OrNever, subseed, view_of
from agents.scripted.deterrents.ownership import RightfulOwners
from agents.scripted.deterrents.posse import PossePolicy
from agents.scripted.deterrents.punish import PunishPolicy
from agents.scripted.dumbbot import DumbBotPolicy
from agents.scripted.prosocial import ProsocialPolicy
from welfare_env import checks
from welfare_env.errors import UnknownAgentError
from welfare_env.game.press import GLOBAL
from welfare_env.game.view import MESSAGES

if TYPE_CHECKING:
    from agents.asking import Asking
    from agents.policy import Policy
    from welfare_env.game.view import View

    Rule = Callable[[View, RightfulOwners, str], int]

# What counts as a violation: by how much a power exceeds what the rule allows.
RULES: Mapping[str, Rule] = {
    "units": lambda view, owners, power: len(view.units[power]) if view.year_index else 0,
    "growth": lambda view, owners, power: (
        len(view.centers[power]) - owners.first.get(power, 0) if view.year_index else 0
    ),
    "share": lambda view, owners, power: len(view.centers[power]) - owners.share[power],
    "theft": lambda view, owners, power: len(owners.stolen(power)),
}
FIGHTERS = ("all", "concerned")
CHOOSY = (PossePolicy, PunishPolicy)  # war policies that fight only the enemies


class DeterrentPolicy(AskingPolicy):
    """Plays `nice` until another power breaks its rule, then `fight` until the violation ends, then `nice` again.

    The rule is checked in every phase, from public information; a violation in Fall is answered by builds in the same
    Winter. Nothing counts before the end of the first year.

    `provoked` is the rule, i.e. what counts as a violation by another power:

    - "units": it has units after the first Winter, more than `slack` of them.
    - "growth": it owns more centers than in the first Winter, by more than `slack`; or the deterrent owns fewer.
    - "share": it owns more centers than its fair share, by more than `slack`; or the deterrent owns fewer than its own.
    - "theft": it has stolen more than `slack` of the centers that it owns
      (`agents.scripted.deterrents.ownership.RightfulOwners`).

    In the first message round of a phase it announces its plan: in peace its rule, each Spring; in war whom it fights
    and why; after a war that it disarms. Free text is put before the messages of the part that plays; words
    (``press="tokens"``) replace them: in peace it proposes demilitarisation to all, in war it refuses its enemies and
    asks the others for support. It ignores the messages of others.

    Args:
        provoked: the rule.
        slack: tolerance of the rule, a whole number; see above.
        armed: whether a power counts only while it has units.
        forgive: years without a violation before the war ends; None: it never ends.
        fight: the policy in war; by default a `PossePolicy` of two units and one more each year under "theft", and
            otherwise dumbbot, which fights everybody. On toy boards `PunishPolicy`, which is deterministic: with it and
            ``forgive=0``, a sheriff's play depends on the position alone, so that the gain of a best response to it can
            be computed exactly (`evaluation.exact`).
        fighters: "all", or "concerned": it fights only if it has lost a center that is due to it, or if an enemy's unit
            or center is next to a center of its own.
        last_years: number of last years in which nothing is a violation, and every war ends.
        nice: the policy in peace; by default prosocial. Reset with the deterrent's own seed.

    Raises:
        UnknownAgentError: an option out of range.
    """

    def __init__(
        self,
        provoked: str = "theft",
        slack: int = 0,
        armed: bool = False,
        forgive: OrNever = 0,
        fight: Policy | None = None,
        fighters: str = "all",
        last_years: int = 0,
        nice: Policy | None = None,
    ) -> None:
        for name, value, known in (("provoked", provoked, RULES), ("fighters", fighters, FIGHTERS)):
            checks.choice(name, value, known, UnknownAgentError)
        for name, number in {"slack": slack, "last_years": last_years, "forgive": forgive or 0}.items():
            checks.whole(name, number, 0, error=UnknownAgentError)
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
        self.fight.reset(agent, subseed(seed, 2))
        self.owners = RightfulOwners()
        self.enemies: frozenset[str] = frozenset()
        self._since: int | None = None  # the year in which the war began
        self._cause = 0  # the last year in which there was a cause
        self._spoken: tuple[str, list[tuple[str, str]]] = ("", [])  # its last messages, and their phase

    @property
    def _reads_history(self) -> bool:
        """Whether its play depends on the history besides the position."""
        return (
            self.provoked in ("growth", "theft")
            or self.forgive != 0
            or self.fighters == "concerned"
            or isinstance(self.fight, PossePolicy)
        )

    @property
    def parts(self) -> tuple[Policy, ...]:
        """The policies of peace and war."""
        return self.nice, self.fight

    @property
    def is_at_war(self) -> bool:
        """Whether there is a war, in which it may take part."""
        return self._since is not None

    def asking(self, observation: Any, info: Mapping[str, Any]) -> Asking[Any]:
        """The action of the part that plays now, with the deterrent's own words."""
        view = view_of(self, info, "owners")
        was_at_war = self.is_at_war
        self._look(view)
        is_fighting = self.is_at_war and (self.fighters == "all" or self._is_concerned(view))
        if is_fighting and isinstance(self.fight, CHOOSY):
            self.fight.pursue(self.enemies, self.owners, view.year_index - (self._since or 0))
        action = yield from part_asking(self.fight if is_fighting else self.nice, observation, info)
        if view.asked != MESSAGES or view.message_round != 1 or not isinstance(action, Mapping):
            return action
        if view.phase != self._spoken[0]:
            self._spoken = view.phase, self._messages(view, was_at_war)
        return {**action, "messages": self._joined(view, action["messages"])}

    def _joined(self, view: View, others: Mapping[str, str]) -> dict[str, str]:
        """Its own messages, and those of the part that plays."""
        own: dict[str, str] = view.encode_messages(self._spoken[1])["messages"]
        if view.vocabulary:
            return {**others, **own}
        return {to: "\n".join(filter(None, (own.get(to), others.get(to)))) for to in {**own, **others}}

    def _look(self, view: View) -> None:
        """Check the rule, and update war and enemies."""
        if self._reads_history:
            self.owners.update(view)
        else:
            self.owners.begin(view)
        causes = self._causes(view)
        is_robbed = self._may_be_provoked(view) and self._has_lost(view)
        if causes or is_robbed:
            self._cause = view.year_index
            self._since = view.year_index if self._since is None else self._since
            self.enemies = causes or frozenset(view.powers) - {view.power}
        elif self.is_at_war and self._is_over(view):
            self._since, self.enemies = None, frozenset()

    def _has_lost(self, view: View) -> bool:
        """Whether it owns too few centers itself, under the rule "growth" or "share"."""
        least = {"growth": self.owners.first, "share": self.owners.due}.get(self.provoked, {})
        return view.year_index > 0 and len(view.centers.get(view.power, ())) < least.get(view.power, 0)

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
            and rule(view, self.owners, power) > self.slack
        )

    def _is_over(self, view: View) -> bool:
        if view.years_left <= self.last_years:
            return True
        return self.forgive is not None and view.year_index - self._cause >= self.forgive

    def _is_concerned(self, view: View) -> bool:
        if self.owners.lost(view.power):
            return True
        mine = set(view.centers.get(view.power, ()))
        near = {p[:3] for enemy in self.enemies for unit in view.units[enemy] for p in view.board.moves[unit]}
        theirs = {center for power in self.enemies for center in view.centers[power]}
        near |= {place[:3] for piece, to in view.board.moves.items() if piece[2:5] in theirs for place in to}
        return bool(mine & near)

    # Messages.

    def _messages(self, view: View, was_at_war: bool) -> list[tuple[str, str]]:
        if view.vocabulary:
            return [(other, self._word(other)) for other in view.recipients if other in view.powers]
        if self.is_at_war:
            return [(GLOBAL, f"{self._accusation(view)} {self._war()} {self._end()}")]
        if was_at_war:
            return [(GLOBAL, f"The war is over: we disarm. {self._announcement()}")]
        return [(GLOBAL, self._announcement())] if view.season == "S" else []

    def _word(self, other: str) -> str:
        if not self.is_at_war:
            return "propose demilitarisation"
        return "refuse" if other in self.enemies or not self._spares_others else "ask for support"

    @property
    def _spares_others(self) -> bool:
        return isinstance(self.fight, CHOOSY)

    def _announcement(self) -> str:
        """The rule, the answer, and how long."""
        causes = {
            "units": f"has {_more_than(self.slack, 'unit')} after the first Winter",
            "growth": f"grows by {_more_than(self.slack, 'center')} after the first Winter, or robs us",
            "share": f"takes {_more_than(self.slack, 'center')} beyond its fair share, or some of ours",
            "theft": f"steals {_more_than(self.slack, 'center')}",
        }
        rule = f"We disarm. If anybody {causes[self.provoked]}{' and is armed' if self.armed else ''},"
        guilty = "the thief" if self.provoked == "theft" else "whoever did it"
        answer = f"we fight {guilty}, and nobody else," if self._spares_others else "we arm and fight everybody"
        late = f" In the last {self.last_years} years we keep the peace." if self.last_years else ""
        return f"{rule} {answer} {self._end()}{late}"

    def _war(self) -> str:
        if not self._spares_others:
            return "We arm and fight everybody"
        return f"We fight {' and '.join(sorted(power.title() for power in self.enemies))}, and nobody else,"

    def _end(self) -> str:
        if self.forgive is None:
            return "for good."
        gone = f"has been gone for {self.forgive} years" if self.forgive else "is gone"
        return f"until the cause {gone}, and disarm again then."

    def _accusation(self, view: View) -> str:
        """The enemies' violations that are still visible."""
        charges = []
        for power in sorted(self.enemies):
            name, owned, first = power.title(), len(view.centers[power]), self.owners.first.get(power, 0)
            if self.provoked == "theft" and (stolen := self.owners.stolen(power)):
                charges.append(f"{name} has stolen {', '.join(stolen)}.")
            elif self.provoked == "units" and view.units[power]:
                charges.append(f"{name} has {len(view.units[power])} units.")
            elif self.provoked == "share" and owned > self.owners.share[power]:
                charges.append(f"{name} owns {owned} centers, {self.owners.share[power]} are its fair share.")
            elif self.provoked == "growth" and owned > first:
                charges.append(f"{name} owns {owned} centers, {first} after year one.")
        return " ".join(charges) or "We have been robbed."


def _more_than(slack: int, what: str) -> str:
    return {0: f"a {what}", 1: f"more than one {what}"}.get(slack, f"more than {slack} {what}s")


DETERRENTS: Mapping[str, Callable[..., DeterrentPolicy]] = {
    # At war with everybody, forever, as soon as anybody has a unit after the first Winter.
    "grim": partial(DeterrentPolicy, "units", forgive=None),
    # At war with everybody while an armed power owns more centers than in the first Winter, or the police fewer.
    "police": partial(DeterrentPolicy, "growth", armed=True),
    # At war with everybody while a power owns two centers more than its fair share, or the sheriff fewer than due.
    "sheriff": partial(DeterrentPolicy, "share", slack=1),
    # At war only with thieves while they hold stolen centers; with few units, and without blocking its friends.
    "marshal": partial(DeterrentPolicy, "theft"),
}
