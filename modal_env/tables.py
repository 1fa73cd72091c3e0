"""Results as tables for the terminal, and as plain text.

Formulas hold brackets: all that tables show is `Text`, in which rich looks for no markup.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, JustifyMethod, RenderResult
from rich.table import Table
from rich.text import Text

from modal_env.game import Game, Mix, dot
from modal_env.library import LIBRARY
from modal_env.nash import Equilibrium, show
from modal_env.syntax import Agent

if TYPE_CHECKING:
    from modal_env.attraction import Basins
    from modal_env.best_reply import Growth
    from modal_env.contest import Round
    from modal_env.evolution import Trajectory
    from modal_env.families import Ranges
    from modal_env.provability import Outcome, Tournament
    from modal_env.reply_search import Reply
    from modal_env.setting import Setting

Row = TypeVar("Row")

NARROW = 30  # columns of a table at least, however narrow the terminal is
WIDE = 124  # columns of a table that goes to a file or a pipe
LONG = 16  # characters of a name that may head a column
HEAD = 6  # characters of it at least in a line
BETWEEN = 3  # characters between the contents of two columns
SHOWN = 20  # rows at either end of a long table
LONG_GAP = 0.1  # of a run: for so long nobody has more than half, and the table tells it
MOVES = {0.0: "D", 0.5: "?", 1.0: "C"}


def as_text(shown: Group) -> str:
    """A table without colour codes."""
    lines = io.StringIO()
    Console(file=lines, width=WIDE, no_color=True).print(shown)
    return "\n".join(line.rstrip() for line in lines.getvalue().splitlines())


def labels(agents: Sequence[Agent]) -> list[str]:
    """What agents are called in a table: by name, or by number where the name is a formula too long for it."""
    return [agent.name if len(agent.name) <= LONG else f"#{number}" for number, agent in enumerate(agents, start=1)]


def round_table(setting: Setting, history: Sequence[Round]) -> Group:
    """The last round of an environment: a row a player."""
    title = f"Round {len(history)} of {setting.rounds}, epsilon {setting.epsilon}, cost: {setting.cost}"
    table = _table(title, "player", "against", "program", "formula", "move", ">paid")
    if not history:
        return _with(table, "nobody has played yet")
    played = history[-1]
    for name, partner, program, move, paid in zip(
        setting.names, played.partners, played.programs, played.moves, played.payoffs, strict=True
    ):
        known = program.name if program.name != program.text else ""
        _add_row(table, name, setting.names[partner], known, program.text, move, f"{paid:.4g}")
    return _with(table)


def agents_table(agents: Sequence[Agent]) -> Group:
    """A row an agent: its formula, and what it may pay for."""
    table = _table("Agents", "agent", "formula", ">depth", ">size")
    for label, agent in zip(labels(agents), agents, strict=True):
        _add_row(table, label, agent.unicode, str(agent.depth), str(agent.size))
    return _with(table)


def trace_table(a: Agent, b: Agent, outcome: Outcome) -> Group:
    """A row a world: who cooperates there. Below, what becomes of it."""
    table = _table("World by world", ">world", *("=" + label for label in labels([a, b])))
    for world, values in enumerate(outcome.trace):
        _add_row(table, str(world), *("?" if value is None else "DC"[value] for value in values))
    done = {"C": "cooperates", "D": "defects", "?": "tosses a coin"}
    moves = " and ".join(f"{label} {done[move]}" for label, move in zip(labels([a, b]), outcome.moves, strict=True))
    return _with(table, f"{moves}; nothing changes from world {outcome.settles} on")


def moves_table(result: Tournament) -> Group:
    """What the row's agent does against the column's."""
    cells = [[MOVES[float(value)] for value in row] for row in result.cooperates]
    random = any(agent.is_random for agent in result.agents)
    legend = "the row's move against the column's: C cooperates, D defects" + (", ? tosses a coin" if random else "")
    return _with(_Square("Moves", labels(result.agents), cells), legend)


def worlds_table(result: Tournament) -> Group:
    """When the play of two agents has settled."""
    cells = [[str(value) for value in row] for row in result.worlds]
    return _with(_Square("Worlds", labels(result.agents), cells), "the first world from which nothing changes")


def payoffs_table(game: Game) -> Group:
    """What the row's agent is paid against the column's."""
    cells = [[str(value) for value in row] for row in game.utilities]
    title = f"Payoffs, epsilon {game.epsilon}, cost: {game.cost}"
    return _with(_Square(title, labels(game.agents), cells), "of the row's agent against the column's, cost deducted")


def equilibria_table(game: Game, found: Sequence[Equilibrium]) -> Group:
    """A row a set of equilibria."""
    title = f"Equilibria, epsilon {game.epsilon}, cost: {game.cost}"
    table = _table(title, ">component", "one player", "the other", "paid")
    for one in found:
        sides = [[show(one.names, mix) for mix in mixes] for mixes in (one.rows, one.columns)]
        paid = [str(low) if low == high else f"{low} to {high}" for low, high in one.payoffs]
        _add_row(table, str(one.component), *_profile(sides, paid))
    legend = "exactly; where a cell has several mixes, any mixture of them"
    hangs = len({one.component for one in found}) < len(found)
    return _with(table, legend + ("; sets of one component hang together" if hangs else ""))


def ranges_table(found: Ranges, cost: str) -> Group:
    """A row a family of equilibria."""
    table = _table(f"Equilibria at every epsilon, cost: {cost}", "for", "one player", "the other", "paid")
    for family in found.families:
        sides = [[show(family.names, path.shares) for path in paths] for paths in (family.rows, family.columns)]
        paid = [" or ".join(dict.fromkeys(str(p.value) for p in paths)) for paths in (family.columns, family.rows)]
        _add_row(table, str(family.interval), *_profile(sides, paid))
    where = ", ".join(map(str, found.breakpoints))
    changes = f"the equilibria change at eps = {where}" if where else "this holds at every eps"
    return _with(table, f"exactly; where a cell has several mixes, any mixture of them; {changes}")


def _profile(sides: Sequence[Sequence[str]], paid: Sequence[str]) -> tuple[str, str, str]:
    """Cells of what two players do and what they are paid, told once where it is the same."""
    rows, columns = ("\n".join(side) for side in sides)
    return (rows, "the same", paid[0]) if rows == columns else (rows, columns, "; ".join(paid))


def stays_table(game: Game, trajectory: Trajectory) -> Group:
    """A row a time during which one agent has more than half of the population, or for long nobody has."""
    title = f"Replicator dynamics: who has more than half, epsilon {game.epsilon}, cost: {game.cost}"
    table = _table(title, "agent", ">from", ">to", ">length")
    rows = _stays_and_gaps(trajectory)
    for row in _ends(rows):
        cells = ("...",) * 4 if row is None else (row[0], *(f"{time:.4f}" for time in (*row[1:], row[2] - row[1])))
        _add_row(table, *cells)
    last = zip(trajectory.names, trajectory.shares[-1], strict=True)
    shares = ", ".join(f"{name} {share:.4g}" for name, share in last)
    twins = _twins(trajectory.names, game) if len(rows) > len(trajectory.stays) else ""
    return _with(table, f"{trajectory.limit}; at time {trajectory.times[-1]:.4g}: {shares}{twins}")


def _stays_and_gaps(trajectory: Trajectory) -> list[tuple[str, float, float]]:
    """Who, from when, to when: the stays, and between them the long times in which nobody has more than half."""
    rows, now, end = [], 0.0, float(trajectory.times[-1])
    for agent, start, stop in [*((stay.agent, stay.start, stay.stop) for stay in trajectory.stays), ("", end, end)]:
        if start - now > LONG_GAP * end:
            rows.append((f"nobody; most: {_largest(trajectory, now, start)}", now, start))
        if agent:
            rows.append((agent, start, stop))
        now = stop
    return rows


def _largest(trajectory: Trajectory, start: float, stop: float) -> str:
    """The agent with the largest mean share in a stretch of time."""
    times = trajectory.times
    means = trajectory.shares[(start <= times) & (times <= stop)].mean(axis=0)
    largest = int(means.argmax())
    return f"{trajectory.names[largest]} {means[largest]:.3g}"


def _twins(names: Sequence[str], game: Game) -> str:
    """Agents whose shares keep their proportion, told behind a legend."""
    alike: dict[tuple[Fraction, ...], list[str]] = {}
    for name, row in zip(names, game.utilities, strict=True):
        alike.setdefault(row, []).append(name)
    told = [" and ".join(same) for same in alike.values() if len(same) > 1]
    return "".join(f"; {same} are always paid the same: their shares keep their proportion" for same in told)


def growth_table(game: Game, grown: Growth) -> Group:
    """A row a run of equal best replies."""
    title = f"Best-reply growth: what is added, epsilon {game.epsilon}, cost: {game.cost}"
    table = _table(title, "agent", ">how many", ">size then")
    sizes = [sum(counts) for counts in grown.populations[1:]]
    for row in _ends(list(zip(grown.runs, sizes, strict=True))):
        endless = ", and so on for ever" if row and row[0].is_endless else ""
        _add_row(table, *(("...",) * 3 if row is None else (row[0].agent, f"{row[0].steps}{endless}", str(row[1]))))
    counts = ", ".join(f"{name} {count}" for name, count in zip(grown.names, grown.counts, strict=True))
    return _with(table, f"{grown.steps} added; at the end: {counts}")


def _ends(rows: Sequence[Row]) -> list[Row | None]:
    """The first and the last rows of many, and None between them."""
    return list(rows) if len(rows) <= 2 * SHOWN else [*rows[:SHOWN], None, *rows[-SHOWN:]]


def basins_table(games: Sequence[Game], found: Sequence[Basins]) -> Group:
    """A row an epsilon: which share of random starts ends where."""
    ends = list(dict.fromkeys(agent for one in found for agent in one.ends))
    title = f"Basins of attraction of the replicator dynamics, cost: {games[0].cost}, {found[0].starts} starts"
    table = _table(title, ">epsilon", *(f">{name}" for name in (*ends, "elsewhere", "undecided")))
    for game, one in zip(games, found, strict=True):
        shares = [str(one.share(agent)) if agent in one.ends else "no equilibrium" for agent in ends]
        _add_row(table, str(game.epsilon), *shares, str(one.elsewhere), str(one.undecided))
    rest = "" if all(one.is_proven for one in found) else "; undecided: taken over by nobody when the time was up"
    return _with(table, f"shares of random starts with 95% intervals (Wilson){rest}")


def replies_table(game: Game, mix: Mix, found: Sequence[Reply]) -> Group:
    """A row a reply, the best one first."""
    columns = [f"={label}" for label in labels(game.agents)]
    table = _table(f"Replies, epsilon {game.epsilon}", *columns, ">paid", ">depth", "agent")
    names = {agent: name for name, agent in LIBRARY.items()}
    paid = {reply: _paid(game, mix, reply) for reply in found}
    for reply in sorted(found, key=lambda reply: -paid[reply]):
        moves = ["".join(pair) for pair in reply.moves]
        agent = f"{names[reply.agent]}, {reply.agent.unicode}" if reply.agent in names else reply.agent.unicode
        _add_row(table, *moves, str(paid[reply]), str(reply.agent.depth), agent)
    met = ", ".join(f"{label} {share}" for label, share in zip(labels(game.agents), mix, strict=True))
    legend = f"moves: the agent's, then the opponent's; paid on average against {met}"
    return _with(table, f"{legend}; all that agents without `me` can do")


def _paid(game: Game, mix: Mix, reply: Reply) -> Fraction:
    points = [game.payoffs["".join(pair)] for pair in reply.moves]
    return dot(mix, points) - game.epsilon * reply.agent.depth


@dataclass(frozen=True)
class _Square:
    """A row and a column an agent; where not all columns fit side by side, several tables, one below the other."""

    title: str
    labels: Sequence[str]
    cells: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for columns in self._parts(options.max_width):
            table = _table(self.title, "", *(f"={self.labels[column]}" for column in columns))
            for label, row in zip(self.labels, self.cells, strict=True):
                _add_row(table, label, *(row[column] for column in columns))
            yield table.as_table()

    def _parts(self, width: int) -> list[list[int]]:
        """The numbers of the columns of each table."""
        parts: list[list[int]] = []
        taken = 0
        for column, label in enumerate(self.labels):
            needed = BETWEEN + max(min(cell_len(label), HEAD), *(cell_len(row[column]) for row in self.cells))
            if not parts or taken + needed > width:
                parts.append([])
                taken = BETWEEN + 1 + max(map(cell_len, self.labels))
            parts[-1].append(column)
            taken += needed
        return parts


@dataclass(frozen=True)
class _Table:
    """A table; where it is too narrow for its columns, a list with a line for each cell.

    Attributes:
        columns: names; those that begin with > are flush right, with = in the middle.
        rows: cells.
    """

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    @property
    def heads(self) -> list[str]:
        """What stands above the columns."""
        return [column[1:] if column[:1] in (">", "=") else column for column in self.columns]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = (max(map(cell_len, column)) for column in zip(self.heads, *self.rows, strict=True))
        if 1 + sum(BETWEEN + min(width, HEAD) for width in widths) <= options.max_width:
            yield self.as_table()
        else:
            yield from self._as_list()

    def as_table(self) -> Table:
        """With lines around the cells, however narrow they become."""
        table = Table(title=Text(self.title, style="table.title"), title_justify="left")
        for column, head in zip(self.columns, self.heads, strict=True):
            justify: JustifyMethod = {">": "right", "=": "center"}.get(column[:1], "left")  # type: ignore[assignment]
            table.add_column(Text(head), justify=justify, overflow="fold")
        for row in self.rows:
            table.add_row(*map(Text, row))
        return table

    def _as_list(self) -> Iterator[Text]:
        yield Text(self.title, style="table.title")
        for row in self.rows:
            for head, cell in zip(self.heads, row, strict=True):
                yield Text(f"{head} {cell}".strip(), overflow="fold")
            yield Text("")


def _table(title: str, *columns: str) -> _Table:
    return _Table(title, columns)


def _add_row(table: _Table, *cells: str) -> None:
    table.rows.append(cells)


def _with(table: _Table | _Square, legend: str = "") -> Group:
    """A table, and what is to be said about it."""
    return Group(table, Text(legend, style="table.caption")) if legend else Group(table)
