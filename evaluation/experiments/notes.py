"""Notes: caveats of a result, in sentences."""

from __future__ import annotations

from agents.specs import Profile
from evaluation.experiments.deviators import PORTFOLIO, Deviators, left_out
from evaluation.play.setting import Setting


def seat_notes(setting: Setting, profile: Profile, games: int) -> tuple[str, ...]:
    """A note if rotated seats were not balanced between the policies."""
    named = [who for who, _ in profile.terms if isinstance(who, str)]
    dealt = {policy for who, policy in profile.terms if not isinstance(who, str)}
    seats = sum(power not in named for power in setting.board.powers)
    if len(dealt) < 2 or setting.seats != "rotated" or games % seats == 0:
        return ()
    return (
        f"with {games} games not every policy plays every seat equally often, so policies also differ by their "
        f"seats: give a multiple of {seats} games, or draw the seats",
    )


def portfolio_notes(setting: Setting, deviator: Deviators | None) -> tuple[str, ...]:
    """A note for each deviator missing from the portfolio."""
    given = deviator if isinstance(deviator, list | tuple) else [deviator]
    if not any(isinstance(each, str) and each == PORTFOLIO for each in given):
        return ()
    return tuple(f"the portfolio lacks {text}: {why}" for text, why in left_out(setting).items())
