"""The legend of powers below a board, and samples of order marks for the replay page's legend."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from welfare_env.render import marks
from welfare_env.render.curves import Curve, straight
from welfare_env.render.orders import PHRASES, ReadOrder, class_of
from welfare_env.render.palette import INK, PAPER, ink_on, power_colors, power_letters, power_names
from welfare_env.render.places import Point
from welfare_env.render.words import fit, text_width

LINE = 44.0  # height of a line
SIZE = 21.0  # font size
PAD = 20.0


def power_legend(powers: Sequence[str], notes: Mapping[str, str], width: float, top: float) -> tuple[str, float]:
    """Each power's color, letter and note, in columns, as SVG, and the lower edge.

    The background hides lines that extend beyond the map.

    Args:
        width: of the drawing.
        top: upper edge of the legend.
    """
    colors, letters, names = power_colors(powers), power_letters(powers), power_names(powers)
    texts = {power: f"{names[power]}: {notes.get(power, '')}".strip(": ") for power in powers}
    column = 50 + PAD + max(text_width(text, SIZE) for text in texts.values())
    abreast = max(1, int((width - PAD) // column))
    groups = []
    for number, power in enumerate(powers):
        x, y = PAD + column * (number % abreast), _line(top, number // abreast)
        chip = f'<rect class="power-{number}" x="{x:g}" y="{y - 15:g}" width="34" height="30" rx="5" '
        chip += f'fill="{colors[power]}"/>' + _text(x + 17, y, letters[power], ink_on(colors[power]), "middle")
        groups.append(f"<g>{chip}{_text(x + 46, y, texts[power], INK)}</g>")
    bottom = _line(top, (len(powers) - 1) // abreast) + LINE / 2
    paper = f'<rect class="paper" y="{top:g}" width="{width:g}" height="{bottom - top:g}" fill="{PAPER}"/>'
    head = f'<g class="legend" font-size="{SIZE:g}" stroke-linecap="round">'
    return "\n".join([head, paper, *groups, "</g>"]), bottom


def _line(top: float, number: int) -> float:
    """The middle of a line."""
    return top + LINE * (number + 0.5) + 5


Sample = Callable[[Point], str]  # draws a mark at a place

PLAIN: dict[str, Sample] = {
    "hold": lambda spot: marks.hold(spot, "success"),
    "convoy": lambda spot: marks.convoy(spot, "success"),
    "build": marks.plus,
    "disband": marks.disband,
}


def order_samples(orders: Sequence[ReadOrder], results: Iterable[Sequence[str]]) -> list[tuple[Sample, str]]:
    """A sample of each mark that occurs, with its meaning."""
    lines = [pair for result, phrase in reversed(PHRASES.items()) for pair in _lines(orders, class_of(result), phrase)]
    kinds = {order.kind for order in orders}
    plain = [(sample, f"{kind}s") for kind, sample in PLAIN.items() if kind in kinds]
    struck = [(marks.struck, "unit is dislodged")] if any("dislodged" in words for words in results) else []
    return lines + plain + struck


def _lines(orders: Sequence[ReadOrder], outcome: str, phrase: str) -> list[tuple[Sample, str]]:
    """Samples of a move's arrow and a support's line, each if one on the board has this outcome."""
    kinds = {order.kind for order in orders if order.outcome == outcome}
    found: list[tuple[Sample, str]] = []
    if kinds & {"move", "retreat"}:
        found.append((lambda spot: marks.arrow(_across(spot, 31), outcome), f"move {phrase}"))
    if "support" in kinds:
        found.append((lambda spot: marks.support(_across(spot, 25), outcome), f"support {phrase}"))
    return found


def _across(spot: Point, end: float) -> Curve:
    """A short line through a place."""
    return straight((spot[0] - 31, spot[1]), (spot[0] + end, spot[1]))


def _text(x: float, y: float, text: str, color: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y + 7.4:.1f}" text-anchor="{anchor}" fill="{color}">{fit(text)}</text>'
