"""Notes: caveats of a result, as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agents.specs import Profile
from evaluation.play.game_spec import Setting
from evaluation.play.playing import Record

Orders = Mapping[str, tuple[int, int, str]]
"""Policy -> number of its orders in a game, of its illegal orders, and the first of these."""


def orders_of(record: Record) -> Orders:
    """The orders of each policy in a game; language models have their own count (`evaluation.measures.lm_usage`)."""
    found = dict.fromkeys(record["welfare_env"]["players"].values(), (0, 0, ""))
    models = record["welfare_env"].get("language_models", {})
    for phase in record["phases"]:
        for power, policy in record["welfare_env"]["players"].items():
            refused = () if power in models else phase.get("void", {}).get(power, ())
            orders, illegal, first = found[policy]
            if refused and not first:
                first = f"{power} in {phase['name']}: {refused[0]['reason']}"
            number = len(phase["orders"].get(power, ())) + len(refused)
            found[policy] = orders + number, illegal + len(refused), first
    return found


def illegal_order_notes(games: Iterable[Orders]) -> tuple[str, ...]:
    """A note for each policy with illegal orders, so that a faulty player is not taken for a weak player."""
    total: dict[str, tuple[int, int, str]] = {}
    for policy, (orders, illegal, first) in (each for game in games for each in game.items()):
        before = total.get(policy, (0, 0, ""))
        total[policy] = before[0] + orders, before[1] + illegal, before[2] or first
    return tuple(
        f"{illegal:,} of {orders:,} orders of {policy} were illegal and ignored; the first: {first}"
        for policy, (orders, illegal, first) in sorted(total.items())
        if illegal
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
