"""Results as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from rich.table import Table

from modal_env.cli.options import table
from modal_env.games.equilibria import Equilibrium, mix_text
from modal_env.games.game import Mix, ProgramGame, dot
from modal_env.logic.library import LIBRARY
from modal_env.logic.syntax import UNICODE, Agent

if TYPE_CHECKING:
    from modal_env.best_replies import FoundReply
    from modal_env.dynamics.basins import Basins
    from modal_env.dynamics.growth import Growth
    from modal_env.dynamics.replicator import Trajectory
    from modal_env.games.ranges import Ranges
    from modal_env.logic.provability import Outcome, Step

SHOWN = 20  # rows shown at either end of a long table


def agents(shown: Sequence[Agent]) -> Table:
    """One row per agent: its formula and its possible costs."""
    rows = [(agent.name, agent.unicode, str(agent.depth), str(agent.size)) for agent in shown]
    return table("Agents", ("agent", "formula", ">depth", ">size"), rows)


def trace(outcome: Outcome) -> Table:
    """One row per world: who cooperates there."""
    rows = [
        (str(world), *("?" if value is None else "DC"[value] for value in values))
        for world, values in enumerate(outcome.trace)
    ]
    return table("World by world", (">world", *outcome.names), rows)


def steps(plays: Sequence[Step]) -> Table:
    """The fixed point: for every play its moves, and below them its boxes (T or F), world by world."""
    rows = []
    for step in plays:
        rows.append((f"{step.agent.name} against {step.opponent.name}", *("DC"[value] for value in step.moves)))
        rows += [(f"  {box.text(UNICODE)}", *("FT"[value] for value in values)) for box, values in step.boxes.items()]
    worlds = map(str, range(len(plays[0].moves)))
    return table("World by world: a box is T where its content was true at all worlds before", ("", *worlds), rows)


def equilibria(game: ProgramGame, found: Sequence[Equilibrium]) -> Table:
    """One row per set of equilibria; several mixes in a cell stand for all their mixtures."""
    rows = []
    for one in found:
        sides = [[mix_text(one.names, mix) for mix in mixes] for mixes in (one.rows, one.columns)]
        paid = [str(low) if low == high else f"{low} to {high}" for low, high in one.payoffs]
        rows.append((str(one.component), *_profile(sides, paid)))
    return table(f"Equilibria, {game.terms}", (">component", "one player", "the other", "paid"), rows)


def ranges(found: Ranges, game: ProgramGame) -> Table:
    """One row per family of equilibria; several mixes in a cell stand for all their mixtures."""
    rows = [(str(family.interval), *_profile(family.texts, family.paid)) for family in found.families]
    title = f"Equilibria at every epsilon, {game.terms.partition(', ')[2]}"
    return table(title, ("for", "one player", "the other", "paid"), rows)


def _profile(sides: Sequence[Sequence[str]], paid: Sequence[str]) -> tuple[str, str, str]:
    """Cells with the mixes and payoffs of two players, given once if they are the same."""
    rows, columns = ("\n".join(side) for side in sides)
    if rows != columns:
        return rows, columns, "; ".join(paid)
    return rows, "the same", "; ".join(dict.fromkeys(paid))


def stays(game: ProgramGame, trajectory: Trajectory) -> Table:
    """One row per period in which one agent has more than half."""
    rows = [
        (stay.agent, f"{stay.start:.4f}", f"{stay.stop:.4f}", f"{stay.stop - stay.start:.4f}")
        for stay in trajectory.stays
    ]
    title = f"Replicator dynamics: who has more than half, {game.terms}"
    return table(title, ("agent", ">from", ">to", ">length"), _ends(rows))


def growth(game: ProgramGame, grown: Growth) -> Table:
    """One row per run of equal best replies."""
    rows = [
        (run.agent, f"{run.steps}{', and so on for ever' if run.is_endless else ''}", str(sum(counts)))
        for run, counts in zip(grown.runs, grown.populations[1:], strict=True)
    ]
    title = f"Best-reply growth: what is added, {game.terms}"
    return table(title, ("agent", ">how many", ">size then"), _ends(rows))


def _ends(rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The first and last rows, and dots for those between."""
    dots = ("...",) * (len(rows[0]) if rows else 0)
    return [*rows] if len(rows) <= 2 * SHOWN else [*rows[:SHOWN], dots, *rows[-SHOWN:]]


def basins(game: ProgramGame, found: Basins) -> Table:
    """One row per end: the share of random starts that ends there, with its 95% interval (Wilson)."""
    rows = [
        (str(row["end"]), str(row["starts"]), f"{row['share']:.4g}", f"{row['low']:.4g} to {row['high']:.4g}")
        for row in found.rows()
    ]
    return table(f"Where random starts end, {game.terms}", ("end", ">starts", ">share", ">95% interval"), rows)


def replies(game: ProgramGame, mix: Mix, found: Sequence[FoundReply]) -> Table:
    """One row per reply, the best first: moves are the agent's, then the opponent's."""
    names = {agent: name for name, agent in LIBRARY.items()}
    rows = []
    for reply in sorted(found, key=lambda reply: -_paid(game, mix, reply)):
        moves = ["".join(pair) for pair in reply.moves]
        agent = f"{names[reply.agent]}, {reply.agent.unicode}" if reply.agent in names else reply.agent.unicode
        rows.append((*moves, str(_paid(game, mix, reply)), str(reply.agent.depth), agent))
    return table(f"Replies, {game.terms}", (*game.names, ">paid", ">depth", "agent"), rows)


def _paid(game: ProgramGame, mix: Mix, reply: FoundReply) -> Fraction:
    points = [game.payoffs["".join(pair)] for pair in reply.moves]
    return dot(mix, points) - game.epsilon * reply.agent.depth
