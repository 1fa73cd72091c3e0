"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from modal_env.games.equilibria import Equilibrium, mix_text
from modal_env.games.game import PAYOFFS, Mix, ProgramGame, dot
from modal_env.logic.library import LIBRARY
from modal_env.logic.syntax import Agent
from modal_env.text_tables import TextTable

if TYPE_CHECKING:
    from modal_env.best_replies import FoundReply
    from modal_env.dynamics.basins import Basins
    from modal_env.dynamics.growth import Growth
    from modal_env.dynamics.replicator import Trajectory
    from modal_env.games.ranges import Ranges
    from modal_env.logic.provability import Outcome
    from modal_env.logic.tournaments import Tournament

LONG = 16  # characters of the longest name used as a column head
SHOWN = 20  # rows shown at either end of a long table
LONG_GAP = 0.1  # shortest period without a majority that gets its own row, as a fraction of the run


def labels(agents: Sequence[Agent]) -> list[str]:
    """The labels of agents in a table: names, or numbers where the name is too long a formula."""
    return [agent.name if len(agent.name) <= LONG else f"#{number}" for number, agent in enumerate(agents, start=1)]


def agents_table(agents: Sequence[Agent]) -> TextTable:
    """One row per agent: its formula and its possible costs."""
    rows = [
        (label, agent.unicode, str(agent.depth), str(agent.size))
        for label, agent in zip(labels(agents), agents, strict=True)
    ]
    return TextTable("Agents", ("agent", "formula", ">depth", ">size"), rows)


def trace_table(a: Agent, b: Agent, outcome: Outcome) -> TextTable:
    """One row per world: who cooperates there. The legend gives the outcome."""
    rows = [
        (str(world), *("?" if value is None else "DC"[value] for value in values))
        for world, values in enumerate(outcome.trace)
    ]
    done = {"C": "cooperates", "D": "defects", "?": "tosses a coin"}
    moves = " and ".join(f"{label} {done[move]}" for label, move in zip(labels([a, b]), outcome.moves, strict=True))
    columns = (">world", *("=" + label for label in labels([a, b])))
    return TextTable("World by world", columns, rows, f"{moves}; nothing changes from world {outcome.settles} on")


def moves_table(result: Tournament) -> TextTable:
    """The moves of the row's agent against the column's."""
    coin = ", ? tosses a coin" if any("?" in row for row in result.moves) else ""
    legend = f"the row's move against the column's: C cooperates, D defects{coin}"
    return _square("Moves", result.agents, result.moves, legend)


def worlds_table(result: Tournament) -> TextTable:
    """The world at which each play settles."""
    cells = [[str(value) for value in row] for row in result.worlds]
    return _square("Worlds", result.agents, cells, "the first world from which nothing changes")


def payoffs_table(game: ProgramGame) -> TextTable:
    """The payoffs of the row's agent against the column's; if the seats are paid differently, row/column player."""
    cells = [[str(value) for value in row] for row in game.utilities]
    legend = "of the row's agent against the column's, cost deducted"
    if not game.payoffs.is_symmetric:
        turned = game.turned.utilities
        cells = [[f"{cell} / {turned[j][i]}" for j, cell in enumerate(row)] for i, row in enumerate(cells)]
        legend = "of the row player's agent / of the column player's, cost deducted"
    return _square(f"Payoffs, {terms(game)}", game.agents, cells, legend)


def _square(title: str, agents: Sequence[Agent], cells: Sequence[Sequence[str]], legend: str) -> TextTable:
    rows = [(label, *row) for label, row in zip(labels(agents), cells, strict=True)]
    return TextTable(title, ("", *(f"={label}" for label in labels(agents))), rows, legend, is_square=True)


def terms(game: ProgramGame) -> str:
    """Epsilon, cost and, unless it is the post's, the game, for titles."""
    return f"epsilon {game.epsilon}, {_unpriced(game)}"


def _unpriced(game: ProgramGame) -> str:
    cost = f"cost: {game.cost}"
    return cost if game.payoffs == PAYOFFS else f"{cost}, {game.payoffs.label}"


def equilibria_table(game: ProgramGame, found: Sequence[Equilibrium]) -> TextTable:
    """One row per set of equilibria."""
    rows = []
    for one in found:
        sides = [[mix_text(one.names, mix) for mix in mixes] for mixes in (one.rows, one.columns)]
        paid = [str(low) if low == high else f"{low} to {high}" for low, high in one.payoffs]
        rows.append((str(one.component), *_profile(sides, paid)))
    has_connected = len({one.component for one in found}) < len(found)
    legend = "exact; several mixes in a cell stand for all their mixtures"
    legend += "; sets of one component are connected" if has_connected else ""
    return TextTable(f"Equilibria, {terms(game)}", (">component", "one player", "the other", "paid"), rows, legend)


def ranges_table(found: Ranges, game: ProgramGame) -> TextTable:
    """One row per family of equilibria."""
    rows = []
    for family in found.families:
        rows.append((str(family.interval), *_profile(family.texts, family.paid)))
    where = ", ".join(map(str, found.breakpoints))
    changes = f"the equilibria change at eps = {where}" if where else "this holds at every eps"
    legend = f"exact; several mixes in a cell stand for all their mixtures; {changes}"
    title = f"Equilibria at every epsilon, {_unpriced(game)}"
    return TextTable(title, ("for", "one player", "the other", "paid"), rows, legend)


def _profile(sides: Sequence[Sequence[str]], paid: Sequence[str]) -> tuple[str, str, str]:
    """Cells with the mixes and payoffs of two players, given once if they are the same."""
    rows, columns = ("\n".join(side) for side in sides)
    if rows != columns:
        return rows, columns, "; ".join(paid)
    return rows, "the same", "; ".join(dict.fromkeys(paid))


def stays_table(game: ProgramGame, trajectory: Trajectory) -> TextTable:
    """One row per period in which one agent has a majority, or (if long) nobody has."""
    rows = [(who, f"{start:.4f}", f"{stop:.4f}", f"{stop - start:.4f}") for who, start, stop in _stays(trajectory)]
    last = zip(trajectory.names, trajectory.shares[-1], strict=True)
    shares = ", ".join(f"{name} {share:.4g}" for name, share in last)
    legend = f"{trajectory.limit}; at time {trajectory.times[-1]:.4g}: {shares}"
    title = f"Replicator dynamics: who has more than half, {terms(game)}"
    return TextTable(title, ("agent", ">from", ">to", ">length"), _ends(rows), legend)


def _stays(trajectory: Trajectory) -> list[tuple[str, float, float]]:
    """(who, start, stop) of the stays and of the long periods between them without a majority."""
    rows, now, end = [], 0.0, float(trajectory.times[-1])
    for agent, start, stop in [*((stay.agent, stay.start, stay.stop) for stay in trajectory.stays), ("", end, end)]:
        if start - now > LONG_GAP * end:
            rows.append(("nobody", now, start))
        if agent:
            rows.append((agent, start, stop))
        now = stop
    return rows


def growth_table(game: ProgramGame, grown: Growth) -> TextTable:
    """One row per run of equal best replies."""
    rows = [
        (run.agent, f"{run.steps}{', and so on for ever' if run.is_endless else ''}", str(sum(counts)))
        for run, counts in zip(grown.runs, grown.populations[1:], strict=True)
    ]
    counts = ", ".join(f"{name} {count}" for name, count in zip(grown.names, grown.counts, strict=True))
    title = f"Best-reply growth: what is added, {terms(game)}"
    legend = f"{grown.steps} added; at the end: {counts}"
    return TextTable(title, ("agent", ">how many", ">size then"), _ends(rows), legend)


def _ends(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The first and last rows, and dots for those between."""
    dots = ("...",) * (len(rows[0]) if rows else 0)
    return [*rows] if len(rows) <= 2 * SHOWN else [*rows[:SHOWN], dots, *rows[-SHOWN:]]


def basins_table(games: Sequence[ProgramGame], found: Sequence[Basins]) -> TextTable:
    """One row per epsilon: the share of random starts that ends at each agent."""
    ends = list(dict.fromkeys(agent for one in found for agent in one.ends))
    rows = [
        (
            str(game.epsilon),
            *(str(one.share(agent)) if agent in one.ends else "no equilibrium" for agent in ends),
            str(one.elsewhere),
            str(one.undecided),
        )
        for game, one in zip(games, found, strict=True)
    ]
    rest = "" if all(one.is_proven for one in found) else "; undecided: taken over by nobody when the time was up"
    title = f"Basins of attraction of the replicator dynamics, {_unpriced(games[0])}, {found[0].starts} starts"
    columns = (">epsilon", *(f">{name}" for name in (*ends, "elsewhere", "undecided")))
    return TextTable(title, columns, rows, f"shares of random starts with 95% intervals (Wilson){rest}")


def replies_table(game: ProgramGame, mix: Mix, found: Sequence[FoundReply]) -> TextTable:
    """One row per reply, the best first."""
    names = {agent: name for name, agent in LIBRARY.items()}
    rows = []
    for reply in sorted(found, key=lambda reply: -_paid(game, mix, reply)):
        moves = ["".join(pair) for pair in reply.moves]
        agent = f"{names[reply.agent]}, {reply.agent.unicode}" if reply.agent in names else reply.agent.unicode
        rows.append((*moves, str(_paid(game, mix, reply)), str(reply.agent.depth), agent))
    met = ", ".join(f"{label} {share}" for label, share in zip(labels(game.agents), mix, strict=True))
    legend = (
        f"moves: the agent's, then the opponent's; paid on average against {met}; all that agents without `me` can do"
    )
    of = "" if game.payoffs == PAYOFFS else f", {game.payoffs.label}"
    columns = (*(f"={label}" for label in labels(game.agents)), ">paid", ">depth", "agent")
    return TextTable(f"Replies, epsilon {game.epsilon}{of}", columns, rows, legend)


def _paid(game: ProgramGame, mix: Mix, reply: FoundReply) -> Fraction:
    points = [game.payoffs["".join(pair)] for pair in reply.moves]
    return dot(mix, points) - game.epsilon * reply.agent.depth
