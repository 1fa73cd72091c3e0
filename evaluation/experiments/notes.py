"""What a reader of a result should know besides its numbers, in sentences."""

from __future__ import annotations

from agents.specs import Profile
from evaluation.experiments.deviators import PORTFOLIO, Deviators, left_out
from evaluation.play.setting import Setting


def seat_notes(setting: Setting, profile: Profile, games: int) -> tuple[str, ...]:
    """That seats which go round have not gone round as often for one policy as for another."""
    named = [who for who, _ in profile.terms if isinstance(who, str)]
    dealt = {policy for who, policy in profile.terms if not isinstance(who, str)}
    seats = sum(power not in named for power in setting.board.powers)
    if len(dealt) < 2 or setting.seats != "rotated" or games % seats == 0:
        return ()
    return (
        f"with {games} games not every policy sits in every seat equally often, so policies also differ by their "
        f"seats: give a multiple of {seats} games, or draw the seats",
    )


def portfolio_notes(setting: Setting, deviator: Deviators | None) -> tuple[str, ...]:
    """That the portfolio lacks some of its deviators."""
    given = deviator if isinstance(deviator, list | tuple) else [deviator]
    if not any(isinstance(each, str) and each == PORTFOLIO for each in given):
        return ()
    return tuple(f"the portfolio is without {text}: {why}" for text, why in left_out(setting).items())
