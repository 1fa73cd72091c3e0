"""The page of a library: its outcomes, equilibria, evolution and matches, as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement

from modal_env.cli.tables import equilibria_table
from modal_env.dynamics.replicator import CORNERS, replicator
from modal_env.games.equilibria import equilibria_of
from modal_env.games.game import ProgramGame
from modal_env.logic.provability import play
from modal_env.pictures.curves import bands, largest, simplex
from modal_env.pictures.style import as_text, page
from modal_env.pictures.tables import match, matrix, rows
from modal_env.progress import Report, no_report, part

MOST_SOLVED = 10  # maximum number of agents for which equilibria are computed
MOST_MATCHES = 24
ABOUT = (
    "Each agent is a formula of provability logic about its opponent, X: [] says that something is provable. Agents "
    "read each other's formulas and play the prisoner's dilemma; modeling the opponent costs epsilon per unit."
)


def library_page(game: ProgramGame, time: float, report: Report = no_report) -> str:
    """The page of a game.

    Args:
        game: the library, epsilon and cost.
        time: how long a population is followed.
        report: see `modal_env.progress`.

    Raises:
        GameError: as `replicator`.
    """
    parts = [*_payoffs(game), _equilibria(game, part(report, 0, 0.5)), _agents(game)]
    parts += [*_evolution(game, time, part(report, 0.5, 1)), _matches(game)]
    sections = "".join(f"<section><h2>{title}</h2>{content}</section>" for title, content in parts)
    head = f"<header><h1>Modal combat</h1><p>{len(game.agents)} agents, {as_text(game.terms)}. {ABOUT}</p></header>"
    foot = "<footer><p>Made by welfare-env modal page.</p></footer>"
    return page(f"Modal combat: {', '.join(game.names)}", f"{head}<main>{sections}</main>{foot}")


Section = tuple[str, str]
"""A title and content, both markup."""


def _payoffs(game: ProgramGame) -> Iterator[Section]:
    yield "Moves and payoffs", matrix("", game.names, game.played.moves, game.utilities)
    if not game.payoffs.is_symmetric:
        yield "For the column player", matrix("", game.names, game.played.moves, game.turned.utilities)


def _equilibria(game: ProgramGame, report: Report) -> Section:
    if len(game.agents) > MOST_SOLVED:
        text = f"Not computed for more than {MOST_SOLVED} agents: it may take long. Use welfare-env modal equilibria."
        return "Nash equilibria", _note(text)
    found = equilibria_of(game.names, game.utilities, False, report, game.turned.utilities)
    table = equilibria_table(game, found)
    return "Nash equilibria", rows("", table.columns, table.rows, table.legend)


def _agents(game: ProgramGame) -> Section:
    cells = [(agent.name, agent.unicode, str(agent.depth), str(agent.size)) for agent in game.agents]
    return "Agents", rows("", ("agent", "formula", ">depth", ">size"), cells)


def _evolution(game: ProgramGame, time: float, report: Report) -> Iterator[Section]:
    """A population that starts with equal shares: its path in the simplex, and its shares over time."""
    size = len(game.agents)
    found = replicator(game, [Fraction(1, size)] * size, time, report=report)
    if size >= CORNERS:
        path = simplex(game.names, largest(found.shares), found.shares)
        yield "A population's path", path + _note("From equal shares, at the dot, to the ring.")
    over_time = bands(game.names, found.times, found.shares)
    yield "Replicator dynamics: shares over time", over_time + _note(f"From equal shares; {found.limit}.")


def _matches(game: ProgramGame) -> Section:
    """Matches world by world; of many, those that settle last."""
    pairs = list(combinations_with_replacement(range(len(game.agents)), 2))
    settles = game.played.worlds
    latest = sorted(pairs, key=lambda pair: -int(settles[pair]))[:MOST_MATCHES]
    played = [play(game.agents[first], game.agents[second]) for first, second in sorted(latest)]
    shown = "".join(f"<div>{match(one.names, one.trace, one.settles, one.moves)}</div>" for one in played)
    left = f" These {MOST_MATCHES} of {len(pairs)} matches settle last." if len(pairs) > MOST_MATCHES else ""
    text = f"The moves at world n follow from those at earlier worlds; from some world on nothing changes.{left}"
    return "Matches over worlds", f'<div class="matches">{shown}</div>{_note(text)}'


def _note(text: str) -> str:
    return f'<p class="note">{as_text(text, 1000)}</p>'
