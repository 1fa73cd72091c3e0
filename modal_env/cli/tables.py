"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from rich.console import Group

from modal_env.dynamics.populations import in_both_seats
from modal_env.games.equilibria import Equilibrium, mix_text
from modal_env.games.game import PAYOFFS, Game, Mix, dot
from modal_env.logic.library import LIBRARY
from modal_env.logic.syntax import Agent
from modal_env.text_tables import Square, add_row, new_table, with_legend

if TYPE_CHECKING:
    from modal_env.best_replies import Reply
    from modal_env.dynamics.basins import Basins
    from modal_env.dynamics.growth import Growth
    from modal_env.dynamics.replicator import Trajectory
    from modal_env.games.ranges import Ranges
    from modal_env.logic.provability import Outcome
    from modal_env.logic.tournaments import Tournament

Row = TypeVar("Row")

NARROW = 30  # minimum width of a table in characters, even on a narrower terminal
LONG = 16  # characters of the longest name used as a column head
SHOWN = 20  # rows shown at either end of a long table
LONG_GAP = 0.1  # shortest period without a majority that gets its own row, as a fraction of the run
MOVES = {0.0: "D", 1.0: "C"}


def labels(agents: Sequence[Agent]) -> list[str]:
    """The labels of agents in a table: names, or numbers where the name is too long a formula."""
    return [agent.name if len(agent.name) <= LONG else f"#{number}" for number, agent in enumerate(agents, start=1)]


def agents_table(agents: Sequence[Agent]) -> Group:
    """One row per agent: its formula and its possible costs."""
    table = new_table("Agents", "agent", "formula", ">depth", ">size")
    for label, agent in zip(labels(agents), agents, strict=True):
        add_row(table, label, agent.unicode, str(agent.depth), str(agent.size))
    return with_legend(table)


def trace_table(a: Agent, b: Agent, outcome: Outcome) -> Group:
    """One row per world: who cooperates there. The legend gives the outcome."""
    table = new_table("World by world", ">world", *("=" + label for label in labels([a, b])))
    for world, values in enumerate(outcome.trace):
        add_row(table, str(world), *("?" if value is None else "DC"[value] for value in values))
    done = {"C": "cooperates", "D": "defects", "?": "tosses a coin"}
    moves = " and ".join(f"{label} {done[move]}" for label, move in zip(labels([a, b]), outcome.moves, strict=True))
    return with_legend(table, f"{moves}; nothing changes from world {outcome.settles} on")


def moves_table(result: Tournament) -> Group:
    """The moves of the row's agent against the column's."""
    cells = [[MOVES.get(float(value), "?") for value in row] for row in result.cooperates]
    random = any(cell == "?" for row in cells for cell in row)
    legend = "the row's move against the column's: C cooperates, D defects" + (", ? tosses a coin" if random else "")
    return with_legend(Square("Moves", labels(result.agents), cells), legend)


def worlds_table(result: Tournament) -> Group:
    """The world at which each play settles."""
    cells = [[str(value) for value in row] for row in result.worlds]
    return with_legend(Square("Worlds", labels(result.agents), cells), "the first world from which nothing changes")


def terms(game: Game) -> str:
    """Epsilon, cost and, unless it is the post's, the game, for titles."""
    shown = f"epsilon {game.epsilon}, cost: {game.cost}"
    return shown if game.payoffs == PAYOFFS else f"{shown}, {game.payoffs.label}"


def payoffs_table(game: Game) -> Group:
    """The payoffs of the row's agent against the column's; if the seats are paid differently, row/column player."""
    cells = [[str(value) for value in row] for row in game.utilities]
    legend = "of the row's agent against the column's, cost deducted"
    if not game.payoffs.is_symmetric:
        turned = game.turned.utilities
        cells = [[f"{cell} / {turned[j][i]}" for j, cell in enumerate(row)] for i, row in enumerate(cells)]
        legend = "of the row player's agent / of the column player's, cost deducted"
    return with_legend(Square(f"Payoffs, {terms(game)}", labels(game.agents), cells), legend)


def equilibria_table(game: Game, found: Sequence[Equilibrium]) -> Group:
    """One row per set of equilibria."""
    title = f"Equilibria, {terms(game)}"
    table = new_table(title, ">component", "one player", "the other", "paid")
    for one in found:
        sides = [[mix_text(one.names, mix) for mix in mixes] for mixes in (one.rows, one.columns)]
        paid = [str(low) if low == high else f"{low} to {high}" for low, high in one.payoffs]
        add_row(table, str(one.component), *_profile(sides, paid))
    legend = "exact; several mixes in a cell stand for all their mixtures"
    has_connected = len({one.component for one in found}) < len(found)
    return with_legend(table, legend + ("; sets of one component are connected" if has_connected else ""))


def ranges_table(found: Ranges, game: Game) -> Group:
    """One row per family of equilibria."""
    of = f"cost: {game.cost}" if game.payoffs == PAYOFFS else f"cost: {game.cost}, {game.payoffs.label}"
    table = new_table(f"Equilibria at every epsilon, {of}", "for", "one player", "the other", "paid")
    for family in found.families:
        sides = [[mix_text(family.names, path.shares) for path in paths] for paths in (family.rows, family.columns)]
        paid = [" or ".join(dict.fromkeys(str(p.value) for p in paths)) for paths in (family.columns, family.rows)]
        add_row(table, str(family.interval), *_profile(sides, paid))
    where = ", ".join(map(str, found.breakpoints))
    changes = f"the equilibria change at eps = {where}" if where else "this holds at every eps"
    return with_legend(table, f"exact; several mixes in a cell stand for all their mixtures; {changes}")


def _profile(sides: Sequence[Sequence[str]], paid: Sequence[str]) -> tuple[str, str, str]:
    """Cells with the mixes and payoffs of two players, given once if they are the same."""
    rows, columns = ("\n".join(side) for side in sides)
    if rows != columns:
        return rows, columns, "; ".join(paid)
    return rows, "the same", "; ".join(dict.fromkeys(paid))


def stays_table(game: Game, trajectory: Trajectory) -> Group:
    """One row per period in which one agent has a majority, or (if long) nobody has."""
    title = f"Replicator dynamics: who has more than half, {terms(game)}"
    table = new_table(title, "agent", ">from", ">to", ">length")
    rows = _stays_and_gaps(trajectory)
    for row in _ends(rows):
        cells = ("...",) * 4 if row is None else (row[0], *(f"{time:.4f}" for time in (*row[1:], row[2] - row[1])))
        add_row(table, *cells)
    last = zip(trajectory.names, trajectory.shares[-1], strict=True)
    shares = ", ".join(f"{name} {share:.4g}" for name, share in last)
    twins = _twins(trajectory.names, game) if len(rows) > len(trajectory.stays) else ""
    return with_legend(table, f"{trajectory.limit}; at time {trajectory.times[-1]:.4g}: {shares}{twins}")


def _stays_and_gaps(trajectory: Trajectory) -> list[tuple[str, float, float]]:
    """(who, start, stop) of the stays and of the long periods between them without a majority."""
    rows, now, end = [], 0.0, float(trajectory.times[-1])
    for agent, start, stop in [*((stay.agent, stay.start, stay.stop) for stay in trajectory.stays), ("", end, end)]:
        if start - now > LONG_GAP * end:
            rows.append((f"nobody; most: {_largest(trajectory, now, start)}", now, start))
        if agent:
            rows.append((agent, start, stop))
        now = stop
    return rows


def _largest(trajectory: Trajectory, start: float, stop: float) -> str:
    """The agent with the largest mean share in a period."""
    times = trajectory.times
    means = trajectory.shares[(start <= times) & (times <= stop)].mean(axis=0)
    largest = int(means.argmax())
    return f"{trajectory.names[largest]} {means[largest]:.3g}"


def _twins(names: Sequence[str], game: Game) -> str:
    """Agents with equal payoffs, whose shares keep their ratio, as text to append to a legend."""
    alike: dict[tuple[Fraction, ...], list[str]] = {}
    for name, row in zip(names, in_both_seats(game), strict=True):
        alike.setdefault(row, []).append(name)
    groups = [" and ".join(same) for same in alike.values() if len(same) > 1]
    return "".join(f"; {same} are always paid the same: their shares keep their proportion" for same in groups)


def growth_table(game: Game, grown: Growth) -> Group:
    """One row per run of equal best replies."""
    title = f"Best-reply growth: what is added, {terms(game)}"
    table = new_table(title, "agent", ">how many", ">size then")
    sizes = [sum(counts) for counts in grown.populations[1:]]
    for row in _ends(list(zip(grown.runs, sizes, strict=True))):
        endless = ", and so on for ever" if row and row[0].is_endless else ""
        add_row(table, *(("...",) * 3 if row is None else (row[0].agent, f"{row[0].steps}{endless}", str(row[1]))))
    counts = ", ".join(f"{name} {count}" for name, count in zip(grown.names, grown.counts, strict=True))
    return with_legend(table, f"{grown.steps} added; at the end: {counts}")


def _ends(rows: Sequence[Row]) -> list[Row | None]:
    """The first and last rows; None stands for those between."""
    return list(rows) if len(rows) <= 2 * SHOWN else [*rows[:SHOWN], None, *rows[-SHOWN:]]


def basins_table(games: Sequence[Game], found: Sequence[Basins]) -> Group:
    """One row per epsilon: the share of random starts that ends at each agent."""
    ends = list(dict.fromkeys(agent for one in found for agent in one.ends))
    of = f"cost: {games[0].cost}" if games[0].payoffs == PAYOFFS else f"cost: {games[0].cost}, {games[0].payoffs.label}"
    title = f"Basins of attraction of the replicator dynamics, {of}, {found[0].starts} starts"
    table = new_table(title, ">epsilon", *(f">{name}" for name in (*ends, "elsewhere", "undecided")))
    for game, one in zip(games, found, strict=True):
        shares = [str(one.share(agent)) if agent in one.ends else "no equilibrium" for agent in ends]
        add_row(table, str(game.epsilon), *shares, str(one.elsewhere), str(one.undecided))
    rest = "" if all(one.is_proven for one in found) else "; undecided: taken over by nobody when the time was up"
    return with_legend(table, f"shares of random starts with 95% intervals (Wilson){rest}")


def replies_table(game: Game, mix: Mix, found: Sequence[Reply]) -> Group:
    """One row per reply, the best first."""
    columns = [f"={label}" for label in labels(game.agents)]
    of = "" if game.payoffs == PAYOFFS else f", {game.payoffs.label}"
    table = new_table(f"Replies, epsilon {game.epsilon}{of}", *columns, ">paid", ">depth", "agent")
    names = {agent: name for name, agent in LIBRARY.items()}
    paid = {reply: _paid(game, mix, reply) for reply in found}
    for reply in sorted(found, key=lambda reply: -paid[reply]):
        moves = ["".join(pair) for pair in reply.moves]
        agent = f"{names[reply.agent]}, {reply.agent.unicode}" if reply.agent in names else reply.agent.unicode
        add_row(table, *moves, str(paid[reply]), str(reply.agent.depth), agent)
    met = ", ".join(f"{label} {share}" for label, share in zip(labels(game.agents), mix, strict=True))
    legend = f"moves: the agent's, then the opponent's; paid on average against {met}"
    return with_legend(table, f"{legend}; all that agents without `me` can do")


def _paid(game: Game, mix: Mix, reply: Reply) -> Fraction:
    points = [game.payoffs["".join(pair)] for pair in reply.moves]
    return dot(mix, points) - game.epsilon * reply.agent.depth
