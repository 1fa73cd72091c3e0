"""How a file's position differs from ours, and on which rules programs differ in the phase before."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from welfare_env.game.game import Game
from welfare_env.game.history import PhaseRecord
from welfare_env.game.record import COMPLETED

MOVEMENT, RETREATS, WINTER = "MRA"  # the last letter of a phase
LONGEST_LIST = 300  # characters of units or centers in an error
NAMES_COAST = re.compile(r" S .*/[NSEW]C$")

Units = Mapping[str, Sequence[str]]


def place(name: str) -> tuple[int, int, int]:
    """The place of a phase in time; that of the end is after all others."""
    if name in ("", COMPLETED):
        return 10_000, 0, 0
    return int(name[1:5]), "SFW".index(name[0]), "MRA".index(name[5])


def difference(game: Game, units: Units, centers: Units | None, own_centers: Units) -> str:
    """How the position differs from the file's; "" if it does not.

    Args:
        units, centers: the file's; centers are None if it does not record them.
        own_centers: those to compare with.
    """
    standing = {power: [*game.units[power], *(f"*{unit}" for unit in game.dislodged[power])] for power in game.powers}
    for what, theirs, ours in (("units", units, standing), ("centers", centers, own_centers)):
        pairs = {} if theirs is None else {power: _unmatched(theirs.get(power, ()), ours[power]) for power in ours}
        if any(map(any, pairs.values())):
            in_file, here = (_listed({power: pair[side] for power, pair in pairs.items()}) for side in (0, 1))
            return f"these {what} differ: {in_file} in the file, {here} by our rules"
    return ""


def _unmatched(theirs: Sequence[str], ours: Sequence[str]) -> tuple[list[str], list[str]]:
    """What only one of two lists has; a fleet without a coast in the file matches any coast."""
    missing, extra = [], list(ours)
    for name in theirs:
        same = next((other for other in extra if name in (other, other.partition("/")[0])), None)
        if same is None:
            missing.append(name)
        else:
            extra.remove(same)
    return missing, extra


def _listed(names: Units) -> str:
    """Names by power, shortened, in signs that any terminal shows."""
    text = "; ".join(f"{power} {', '.join(sorted(each))}" for power, each in names.items() if each)
    return ascii(text)[1:-1][:LONGEST_LIST] or "none"


def possible_rules(played: PhaseRecord, texts: Sequence[str]) -> str:
    """The rules on which programs differ and that the orders of a phase involve, as a sentence.

    Args:
        texts: the file's orders; those of `played` may differ.
    """
    kind, void = played.phase[-1], [order.order for refused in played.void.values() for order in refused]
    rules = {
        f"orders that are void by our rules, such as {ascii(void[0] if void else '')[:60]}": bool(void),
        "where a unit may retreat (DATC 6.H)": kind == RETREATS,
        "which units are removed without orders (DATC 6.J)": kind == WINTER,
        "supports that name a coast (DATC 6.B)": any(map(NAMES_COAST.search, texts)),
        "disrupted convoys (DATC 6.F)": any(" C " in text for text in texts),
        "convoys to a neighboring province (DATC 6.G)": any(text.endswith("VIA") for text in texts),
        "retreats after an attack by convoy (DATC 6.H)": any(text.endswith("VIA") for text in texts),
    }
    found = [rule for rule, is_involved in rules.items() if is_involved]
    involved = f"Programs differ on {', '.join(found)}" if found else "No rule on which programs differ is involved"
    return f"{involved}; or the file was edited"
