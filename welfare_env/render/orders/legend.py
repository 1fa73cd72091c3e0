"""The legend below a board: powers, and the marks of orders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from welfare_env.render.boxes import text_width
from welfare_env.render.curves import straight
from welfare_env.render.orders import marks
from welfare_env.render.orders.layer import ReadOrder
from welfare_env.render.orders.results import TOLD, class_of
from welfare_env.render.palette import INK, PAPER, ink_on, power_colours, power_letters
from welfare_env.render.places import Point
from welfare_env.render.words import fit

LINE = 27.0  # height of a line
SIZE = 13.0  # of its text
PAD = 12.0
SAMPLE = 48.0  # width of a mark's sample


class Legend:
    """Lines of items from left to right. `svg` is the whole legend, `bottom` its lower edge.

    Args:
        width: of the drawing.
        top: upper edge of the legend.
    """

    def __init__(self, width: float, top: float) -> None:
        self._width, self._start, self._top = width, top, top
        self._groups: list[str] = []
        self.bottom = top

    @property
    def svg(self) -> str:
        """The legend on a background that covers lines sticking out of the map; "" without items."""
        parts = [
            f'<g class="legend" font-size="{SIZE:g}" stroke-linecap="round">',
            f'<rect class="paper" y="{self._start:g}" width="{self._width:g}" height="{self.bottom - self._start:g}" '
            f'fill="{PAPER}"/>',
            *self._groups,
            "</g>",
        ]
        return "\n".join(parts) if self._groups else ""

    def add_powers(self, powers: Sequence[str], notes: Mapping[str, str]) -> None:
        """Each power's colour, letter and note, in columns."""
        colours, letters = power_colours(powers), power_letters(powers)
        texts = {power: f"{power.title()} {notes.get(power, '')}".strip() for power in powers}
        column = 30 + PAD + max(text_width(text, SIZE) for text in texts.values())
        abreast = max(1, int((self._width - PAD) // column))
        for number, power in enumerate(powers):
            x, y = PAD + column * (number % abreast), self._line(number // abreast)
            chip = f'<rect class="power-{number}" x="{x:g}" y="{y - 9:g}" width="20" height="18" rx="3" '
            chip += f'fill="{colours[power]}"/>' + _text(x + 10, y, letters[power], ink_on(colours[power]), "middle")
            self._groups.append(f"<g>{chip}{_text(x + 27, y, texts[power], INK)}</g>")
        self.bottom = self._line((len(powers) - 1) // abreast) + LINE / 2

    def add_orders(self, orders: Sequence[ReadOrder], results: Mapping[str, Sequence[str]]) -> None:
        """A sample of each mark that occurs."""
        samples = [(way, told) for result, told in reversed(TOLD.items()) for way in _samples(orders, class_of(result))]
        samples += [
            (sample, f"{kind}s") for kind, sample in PLAIN.items() if any(order.kind == kind for order in orders)
        ]
        if any("dislodged" in words for words in results.values()):
            samples.append((marks.struck, TOLD["dislodged"]))
        self._top, x, line = self.bottom, PAD, 0
        for sample, words in samples:
            wide = SAMPLE + PAD + text_width(words, SIZE)
            if x > PAD and x + wide > self._width:
                x, line = PAD, line + 1
            drawn = sample((x + SAMPLE / 2, self._line(line)))
            self._groups.append(f'<g fill="none">{drawn}</g>' + _text(x + SAMPLE, self._line(line), words, INK))
            x += wide + PAD
        self.bottom = self._line(line) + LINE / 2 + 3 if samples else self.bottom

    def _line(self, number: int) -> float:
        """The middle of a line."""
        return self._top + LINE * (number + 0.5) + 3


PLAIN: dict[str, Callable[[Point], str]] = {
    "hold": lambda spot: marks.hold(spot, "success"),
    "convoy": lambda spot: marks.convoy(spot, "success"),
    "build": marks.plus,
    "disband": marks.disband,
}


def _samples(orders: Sequence[ReadOrder], outcome: str) -> list[Callable[[Point], str]]:
    """An arrow, and a support's line, if any on the board has this outcome."""
    kinds = {order.kind for order in orders if order.outcome == outcome}
    ways: list[Callable[[Point], str]] = []
    if kinds & {"move", "retreat"}:
        ways.append(lambda spot: marks.arrow(straight((spot[0] - 32, spot[1]), (spot[0] + 32, spot[1])), outcome))
    if "support" in kinds:
        ways.append(lambda spot: marks.support(straight((spot[0] - 19, spot[1]), (spot[0] + 15, spot[1])), outcome))
    return ways


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y + 4.5:.1f}" text-anchor="{anchor}" fill="{colour}">{fit(text)}</text>'
