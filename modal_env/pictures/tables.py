"""Tables as HTML: the moves of all pairs of agents, one match over its worlds, and rows of text."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from modal_env.pictures.style import as_text, name_of

MOST_AGENTS = 40  # of a matrix
MOST_WORLDS = 16  # of a match
LONGEST = 7  # characters of a fraction that is shown exactly

MEANINGS = {
    "CC": "both cooperate",
    "DD": "both defect",
    "DC": "the row's agent defects, the column's cooperates",
    "CD": "the row's agent cooperates, the column's defects",
}
BEST = '<li><i class="best">2</i>best reply to the column\'s agent</li>'
COIN = '<li><i class="coin">?</i>a coin is tossed</li>'


def matrix(
    caption: str,
    names: Sequence[str],
    moves: Sequence[str],
    paid: Sequence[Sequence[Fraction]] = (),
) -> str:
    """The outcomes of all agents against all; only the first `MOST_AGENTS` agents are shown.

    Args:
        caption: text; may be empty.
        names: [n]
        moves: [n] the row's move against each column, as n letters C, D or ?.
        paid: [n][n] the row agent's payoffs; if given, best replies are marked.
    """
    shown = range(min(len(names), MOST_AGENTS))
    best = [max(row[column] for row in paid) for column in shown] if paid else []
    heads = "".join(f'<th scope="col">{name_of(names[column], 24)}</th>' for column in shown)
    lines = []
    for row in shown:
        cells = "".join(
            _outcome(moves[row][column] + moves[column][row], paid[row][column], paid[row][column] == best[column])
            if paid
            else _outcome(moves[row][column] + moves[column][row])
            for column in shown
        )
        lines.append(f'<tr><th scope="row">{name_of(names[row], 24)}</th>{cells}</tr>')
    more = f"... and {len(names) - MOST_AGENTS} more agents" if len(names) > MOST_AGENTS else ""
    table = f"<thead><tr><td></td>{heads}</tr></thead><tbody>{''.join(lines)}</tbody>"
    keys = [f'<li><i class="{pair}">{pair}</i>{meaning}</li>' for pair, meaning in MEANINGS.items()]
    coins = [COIN] if any("?" in row for row in moves) else []
    key = f'<ul class="key">{"".join([*keys, *coins, *([BEST] if paid else [])])}</ul>'
    return _scrolling(f'<table class="matrix">{_caption(caption)}{table}</table>', more) + key


def _outcome(pair: str, paid: Fraction | None = None, is_best: bool = False) -> str:
    """A cell: the moves of row and column, and below them the row's payoff."""
    kind = "coin" if "?" in pair else pair
    below = "" if paid is None else f"<small>{number(paid)}</small>"
    return f'<td class="{kind}{" best" if is_best else ""}">{pair}{below}</td>'


def match(
    names: tuple[str, str], trace: Sequence[tuple[bool | None, bool | None]], settles: int, moves: tuple[str, str]
) -> str:
    """One play: a row per agent, a column per world until it settles, then the moves from there on.

    Args:
        names: of the two agents.
        trace: world by world, whether each cooperates; None for a coin.
        settles: the first world from which nothing changes.
        moves: "C", "D" or "?" of each, in the end.
    """
    worlds = range(min(len(trace), settles, MOST_WORLDS))
    has_gap = len(worlds) < settles
    gap = '<td class="gap">\N{HORIZONTAL ELLIPSIS}</td>' if has_gap else ""
    heads = "".join(f'<th scope="col">{world}</th>' for world in worlds)
    head = f'{heads}{"<td></td>" if has_gap else ""}<th scope="col">{settles} on</th>'
    rows = [
        f'<tr><th scope="row">{name_of(name, 24)}</th>'
        f"{''.join(_move(_letter(trace[world][side])) for world in worlds)}{gap}{_move(moves[side], ' final')}</tr>"
        for side, name in enumerate(names)
    ]
    table = f'<thead><tr><th scope="col">world</th>{head}</tr></thead><tbody>{"".join(rows)}</tbody>'
    return _scrolling(f'<table class="match">{table}</table>')


def _letter(cooperates: bool | None) -> str:
    return "?" if cooperates is None else "DC"[cooperates]


def _move(letter: str, more: str = "") -> str:
    return f'<td class="{"coin" if letter == "?" else letter}{more}">{letter}</td>'


def rows(caption: str, columns: Sequence[str], cells: Sequence[Sequence[str]], note: str = "") -> str:
    """A table of texts with a head.

    Args:
        caption: text; may be empty.
        columns: heads; a leading > aligns right.
        cells: [rows][columns] texts.
        note: text below the table.
    """
    kinds = [' class="number"' if column[:1] == ">" else "" for column in columns]
    heads = [
        f'<th scope="col"{kind}>{as_text(column.lstrip(">="), 200)}</th>'
        for kind, column in zip(kinds, columns, strict=True)
    ]
    lines = [
        "".join(f"<td{kind}>{name_of(cell, 400)}</td>" for kind, cell in zip(kinds, row, strict=True)) for row in cells
    ]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    table = f"<thead><tr>{''.join(heads)}</tr></thead><tbody>{body}</tbody>"
    return _scrolling(f'<table class="rows">{_caption(caption)}{table}</table>', note)


def _caption(text: str) -> str:
    return f"<caption>{as_text(text, 200)}</caption>" if text else ""


def _scrolling(table: str, note: str = "") -> str:
    """A table that scrolls if it is too wide, by keyboard too, and a note below it."""
    below = f'<p class="note">{as_text(note, 1000)}</p>' if note else ""
    return f'<div class="scroll" tabindex="0">{table}</div>{below}'


def number(value: Fraction) -> str:
    """A fraction: exactly if that is short, else to four digits."""
    exact = str(value)
    return exact if len(exact) <= LONGEST else f"{Decimal(value.numerator) / Decimal(value.denominator):.4g}"
