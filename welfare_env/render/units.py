"""Units as SVG: an army is a shield, a fleet a hull with a mast, with the power's color and letter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from welfare_env.render.palette import ink_on, power_colors, power_letters
from welfare_env.render.places import DISLODGED, Drawing, Point
from welfare_env.render.words import fit

SHAPES = {
    "A": "M-14-16h28v16c0 8-6.5 13-14 16.5c-7.5-3.5-14-8.5-14-16.5z",
    "F": "M-12.5-18h24q4.5 10.5 0 21h-24q3.5-10.5 0-21zM-18 6.5h36q-2.5 8.5-8.5 11h-19.5q-5.5-2.5-8-11z",
}
LOOK = (
    'stroke="#222222" stroke-width="2" stroke-linejoin="round" font-size="18" font-weight="bold" text-anchor="middle"'
)
LETTER_BASE = {"A": 5.5, "F": -1.3}  # baseline of the letter
UNIT_NAMES = {"A": "Army", "F": "Fleet"}


def units_layer(
    drawing: Drawing,
    powers: Sequence[str],
    units: Mapping[str, Sequence[str]],
    dislodged: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """All units of a moment as one group: ``<g class="units">``, each unit a group with the id ``u-PAR``.

    A dislodged unit is smaller, beside its province's middle, and its id is ``u-PAR-dislodged``.
    """
    lines = [f'<g class="units" {LOOK}>']
    for power, pieces in units.items():
        lines += [unit_mark(drawing, powers, power, piece) for piece in pieces]
    for power, pieces in (dislodged or {}).items():
        lines += [unit_mark(drawing, powers, power, piece, dislodged=True) for piece in pieces]
    return "\n".join([*lines, "</g>"])


def unit_mark(
    drawing: Drawing, powers: Sequence[str], power: str, piece: str, dislodged: bool = False, kind: str = "unit"
) -> str:
    """One unit ("A PAR") at its place.

    Args:
        kind: the first of its classes; "built" draws it with a broken outline.
    """
    x, y = unit_place(drawing, piece, dislodged)
    number, color = powers.index(power), power_colors(powers)[power]
    classes = f"{kind} {'army' if piece[0] == 'A' else 'fleet'} power-{number}" + " dislodged" * dislodged
    size = f" scale({DISLODGED})" if dislodged else ""
    ink = ink_on(color)
    letters = power_letters(powers)[power]
    name = "" if kind == "built" else f' id="u-{piece[2:5]}{"-dislodged" if dislodged else ""}"'
    edge = ' stroke="#c1121f" stroke-width="3.4"' if dislodged else ""
    edge = ' stroke-dasharray="5 3"' if kind == "built" else edge
    return (
        f'<g{name} class="{classes}" transform="translate({x:g} {y:g}){size}" fill="{color}"{edge}>'
        f"<title>{fit(_description(drawing, power, piece, dislodged))}</title>"
        f'<path d="{SHAPES[piece[0]]}"/>'
        f'<text y="{LETTER_BASE[piece[0]]}" fill="{ink}" stroke="none"{_narrow(letters)}>{fit(letters)}</text></g>'
    )


def unit_place(drawing: Drawing, piece: str, dislodged: bool = False) -> Point:
    """Middle of the box of a unit ("F STP/NC")."""
    return drawing.provinces[piece[2:5]].dislodged if dislodged else drawing.place(piece[2:])


def _description(drawing: Drawing, power: str, piece: str, dislodged: bool) -> str:
    place = drawing.provinces[piece[2:5]].long_name + piece[5:].lower().replace("/", ", ")
    return f"{UNIT_NAMES[piece[0]]} of {power.title()} in {place} ({piece[2:]}){', dislodged' if dislodged else ''}"


def _narrow(letters: str) -> str:
    return f' font-size="{max(7, 25 - 6 * len(letters))}"' if len(letters) > 1 else ""
