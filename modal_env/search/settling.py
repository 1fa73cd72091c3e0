"""How late the play of two direct agents of a depth can settle: the link between depth and the number of worlds.

A play goes from pair to pair of types (`modal_env.search.best_replies`). An agent's move is a function of the type of
its opponent's history, and no type comes back once it is left; so only while a type stays must the move stay. The
latest world from which no type changes is the longest path through pairs of types and moves: n(n + 2) at depth n, as
docs/modal-search.md proves. `latest_world` finds it by exhaustion, and `longest_play` is a play that reaches it.
"""

from __future__ import annotations

from modal_env.checks import whole
from modal_env.search.best_replies import Types

Stand = tuple[
    int, int, int, int
]  # the type that the first agent sees, its move; the type that the second sees, its move
MOST_PLAYED = 1000  # a play of a million moves
MAX_DEPTH = 4  # a million states of play, ten seconds


def latest_world(depth: int) -> int:
    """The latest world from which no type changes, over all plays of two direct agents of a depth: 3, 8, 15, 24.

    Raises:
        GameError: a depth that is not from 0 to `MAX_DEPTH`.
    """
    types = Types(whole("depth", depth, 0, MAX_DEPTH))
    latest: dict[Stand, int] = {}
    starts: list[Stand] = [(0, one, 0, other) for one in (0, 1) for other in (0, 1)]
    waiting = list(starts)
    while waiting:
        stand = waiting[-1]
        following = _following(stand, types)
        if ahead := [after for after in following if after not in latest]:
            waiting += ahead
        else:
            latest[stand] = max((1 + latest[after] for after in following), default=0)
            waiting.pop()
    return max(latest[start] for start in starts)


def longest_play(depth: int) -> tuple[str, str]:
    """What two direct agents of a depth n play, world by world, if types change for the last time at world n(n + 2).

    Returns:
        Two words of n(n + 2) moves, C or D; after them both go on with their last moves.

    Raises:
        GameError: a depth that is not a whole number from 1 to MOST_PLAYED.
    """
    lengths = [whole("depth", depth, 1, MOST_PLAYED)]  # of the blocks in which neither changes its move
    for length in range(depth, 0, -1):
        lengths += [length, length]
    first, second = "", ""
    for block, length in enumerate(lengths):  # after each block the other one changes its move, the second first
        first += "CD"[block // 2 % 2] * length
        second += "CD"[(block + 1) // 2 % 2] * length
    return first, second


def _following(stand: Stand, types: Types) -> list[Stand]:
    """The possible states of a play one world later; none if it has settled."""
    first, move, second, reply = stand
    seen, shown = types.after(first, reply), types.after(second, move)
    if (seen, shown) == (first, second):
        return []
    moves, replies = (move,) if seen == first else (0, 1), (reply,) if shown == second else (0, 1)
    return [(seen, one, shown, other) for one in moves for other in replies]
