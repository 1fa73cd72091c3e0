"""Notes: caveats of a result, as sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from agents.specs import Profile
from evaluation.experiments.deviators import PORTFOLIO, Deviators, left_out
from evaluation.play.playing import Record
from evaluation.play.setting import Setting


class IllegalOrders:
    """Counts the illegal orders of every policy, so that a faulty player is not taken for a weak player.

    Language models are left out; see the losses in `evaluation.measures.lm_usage`.
    """

    def __init__(self) -> None:
        self._given: Counter[str] = Counter()
        self._illegal: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    @classmethod
    def of(cls, players: Mapping[str, str], record: Record) -> IllegalOrders:
        """The count of one game.

        Args:
            players: power -> the spec of its policy.
        """
        found = cls()
        models = record.get("welfare_env", {}).get("language_models", {})
        for phase in record["phases"]:
            void = phase.get("void", {})
            for power, policy in players.items():
                refused = () if power in models else void.get(power, ())
                found._given[policy] += len(refused) + len(phase["orders"].get(power, ()))
                found._illegal[policy] += len(refused)
                if refused:
                    found._first.setdefault(policy, f"{power} in {phase['name']}: {refused[0]['reason']}")
        return found

    @classmethod
    def sum(cls, counts: Iterable[IllegalOrders]) -> IllegalOrders:
        """The count of several games, in their order."""
        found = cls()
        for each in counts:
            found._given.update(each._given)
            found._illegal.update(each._illegal)
            found._first = each._first | found._first
        return found

    def notes(self) -> tuple[str, ...]:
        """A note for each policy with illegal orders, with the first such order."""
        return tuple(
            f"{self._illegal[policy]:,} of {self._given[policy]:,} orders of {policy} were illegal and ignored; "
            f"the first: {first}"
            for policy, first in sorted(self._first.items())
        )


def seat_notes(setting: Setting, profile: Profile, games: int) -> tuple[str, ...]:
    """A note if rotated seats were not balanced between the policies."""
    named = [who for who, _ in profile.terms if isinstance(who, str)]
    dealt = {policy for who, policy in profile.terms if not isinstance(who, str)}
    seats = sum(power not in named for power in setting.board.powers)
    if len(dealt) < 2 or setting.seats != "rotated" or games % seats == 0:
        return ()
    return (
        f"with {games} game{'s' * (games > 1)}, policies do not play all seats equally often, so their results also "
        f"reflect their seats: give a multiple of {seats} games, or draw the seats",
    )


def portfolio_notes(setting: Setting, deviator: Deviators | None) -> tuple[str, ...]:
    """A note for each deviator missing from the portfolio."""
    given = deviator if isinstance(deviator, list | tuple) else [deviator]
    if not any(isinstance(each, str) and each == PORTFOLIO for each in given):
        return ()
    return tuple(f"the portfolio lacks {text}: {why}" for text, why in left_out(setting).items())
