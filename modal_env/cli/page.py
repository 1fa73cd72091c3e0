"""The page of a library: its outcomes, equilibria, evolution and matches, as one HTML file."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations_with_replacement

from modal_env.cli.tables import equilibria_table
from modal_env.dynamics.replicator import CORNERS, Trajectory, replicator
from modal_env.games.equilibria import Equilibrium, equilibria_of
from modal_env.games.game import Game
from modal_env.logic.provability import play
from modal_env.logic.syntax import Agent
from modal_env.pictures.curves import bands, largest, simplex
from modal_env.pictures.style import as_text, name_of, page
from modal_env.pictures.tables import match, matrix, rows
from modal_env.progress import Report, no_report, part
from modal_env.text_tables import TextTable

MOST_SOLVED = 10  # maximum number of agents for which equilibria are computed
MOST_MATCHES = 24
PATHS = "A path starts at its dot and is shown up to its ring."
ABOUT = (
    "Each agent is a formula of provability logic about its opponent, X: [] says that something is provable. Agents "
    "read each other's formulas and play the prisoner's dilemma; modeling the opponent costs epsilon per unit."
)


def library_page(game: Game, time: float, report: Report = no_report) -> str:
    """The page of a game.

    Args:
        game: the library, epsilon and cost.
        time: how long populations are followed.
        report: see `modal_env.progress`.

    Raises:
        GameError: as `replicator`.
    """
    is_small = len(game.agents) <= MOST_SOLVED
    both = game.names, game.utilities, False, part(report, 0, 0.5), game.turned.utilities
    found = equilibria_of(*both) if is_small else None
    outcomes = matrix("", game.names, game.played.moves, game.utilities)
    if not game.payoffs.is_symmetric:
        outcomes += _note("Above for the row player, below for the column player:")
        outcomes += matrix("", game.names, game.played.moves, game.turned.utilities)
    first = _section("Moves and payoffs", outcomes)
    left = [_equilibria(game, found), _section("Agents", _agents(game))]
    sections = [
        "" if is_small else _wide(first),
        _column([first, *left] if is_small else left),
        _column(_evolution(game, time, found or (), part(report, 0.5, 1))),
        _wide(_matches(game)),
    ]
    head = f"<header><h1>Modal combat</h1><p>{len(game.agents)} agents, {as_text(game.terms)}. {ABOUT}</p></header>"
    foot = "<footer><p>Made by welfare-env modal page.</p></footer>"
    return page(f"Modal combat: {', '.join(game.names)}", f"{head}<main>{''.join(sections)}</main>{foot}")


def _column(sections: Sequence[str]) -> str:
    return f'<div class="column">{"".join(sections)}</div>'


def _wide(section: str) -> str:
    return f'<div class="wide">{section}</div>'


def _section(title: str, content: str) -> str:
    """A part of the page; title and content are markup."""
    return f"<section><h2>{title}</h2>{content}</section>"


def _note(text: str) -> str:
    return f'<p class="note">{as_text(text, 1000)}</p>'


def _table(shown: TextTable) -> str:
    """A table of the terminal and its legend, as HTML."""
    return rows("", shown.columns, shown.rows) + _note(shown.legend)


def _evolution(game: Game, time: float, found: Sequence[Equilibrium], report: Report) -> list[str]:
    """A population that starts with equal shares: its path in the simplex, and its shares over time."""
    size = len(game.agents)
    equal = replicator(game, [Fraction(1, size)] * size, time, report=part(report, 0, 0.5))
    over_time = bands(game.names, equal.times, equal.shares) + _note(f"From equal shares; {equal.limit}.")
    drawn = [_simplex(game, equal, time, found, part(report, 0.5, 1))] if size >= CORNERS else []
    return [*drawn, _section("Replicator dynamics: shares over time", over_time)]


def _simplex(game: Game, equal: Trajectory, time: float, found: Sequence[Equilibrium], report: Report) -> str:
    """The path from equal shares; if it ends in a cycle of three agents, a path from equal shares of these three."""
    around = equal.limit.agents
    if equal.limit.kind != "cycle" or len(around) != CORNERS:
        corners = largest(equal.shares)
        picture = simplex(game.names, corners, equal.shares, _marks(found, corners))
        return _section("A population's path", picture + _note(f"From equal shares of all agents. {PATHS}"))
    face = [game.names.index(name) for name in around]
    start = [Fraction(int(agent in face), CORNERS) for agent in range(len(game.agents))]
    path = replicator(game, start, time, report=report)
    turn = " \N{RIGHTWARDS ARROW} ".join(name_of(name, 24) for name in around)
    picture = simplex(game.names, face, path.shares, _marks(found, face))
    return _section(f"The cycle {turn}", picture + _note(f"From equal shares of these three. {PATHS}"))


def _marks(found: Sequence[Equilibrium], corners: Sequence[int]) -> list[tuple[str, list[float]]]:
    """The symmetric equilibria that are single points and are mixes of exactly these agents."""
    points = [one.row for one in found if one.is_point and one.is_symmetric]
    inside = [mix for mix in points if {agent for agent, share in enumerate(mix) if share} == set(corners)]
    return [("equilibrium", [*map(float, mix)]) for mix in inside]


def _equilibria(game: Game, found: Sequence[Equilibrium] | None) -> str:
    text = f"Not computed for more than {MOST_SOLVED} agents: it may take long. Use welfare-env modal equilibria."
    return _section("Nash equilibria", _note(text) if found is None else _table(equilibria_table(game, found)))


def _agents(game: Game) -> str:
    cells = [(agent.name, agent.unicode, str(agent.depth), str(agent.size)) for agent in game.agents]
    return rows("", ("agent", "formula", ">depth", ">size"), cells)


def _matches(game: Game) -> str:
    """Matches world by world; of many, those that settle last."""
    pairs = list(combinations_with_replacement(range(len(game.agents)), 2))
    settles = game.played.worlds
    latest = sorted(pairs, key=lambda pair: -int(settles[pair]))[:MOST_MATCHES]
    shown = [_match(game.agents[first], game.agents[second]) for first, second in sorted(latest)]
    left = f" These {MOST_MATCHES} of {len(pairs)} matches settle last." if len(pairs) > MOST_MATCHES else ""
    text = f"The moves at world n follow from those at earlier worlds; from some world on nothing changes.{left}"
    return _section("Matches over worlds", f'<div class="matches">{"".join(shown)}</div>{_note(text)}')


def _match(first: Agent, second: Agent) -> str:
    outcome = play(first, second)
    return f"<div>{match(outcome.names, outcome.trace, outcome.settles, outcome.moves)}</div>"
