"""A board in one position as SVG: pure functions of plain values.

A picture has layers, listed here from bottom to top, each drawn by its own function. The replay page draws map and
labels once and updates the others.

* `map_layer`: areas (id ``p-PAR``), lines and centers (id ``c-PAR``);
* two empty layers for orders (`welfare_env.render.orders`), which the replay page fills: under and above the units;
* `labels_layer`: the provinces' short names, above the arrows;
* `units_layer` (`welfare_env.render.marks`): units (id ``u-PAR``);

Colors are attributes, so that style sheets can override them; powers have the classes ``power-0``, ``power-1`` ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from welfare_env.render.legend import power_legend
from welfare_env.render.marks import units_layer
from welfare_env.render.orders import layer
from welfare_env.render.palette import (
    COAST_LINE,
    GRAPH_GROUND,
    HATCH,
    IMPASSABLE,
    INK,
    LAND,
    LAND_LINE,
    PAPER,
    SEA_INK,
    SEA_LINE,
    SHALLOWS,
    STRAIT,
    WATER,
    mixed,
    power_colors,
)
from welfare_env.render.places import Drawing, DrawnProvince
from welfare_env.render.words import fit, text_width

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
HEADER = 54.0  # height of the line with the title
CENTER_TINT, INFLUENCE_TINT = 0.45, 0.18  # shares of a power's color in areas that it owns, and last occupied

Words = Mapping[str, Sequence[str]]  # power, or unit -> words


def board_svg(
    drawing: Drawing,
    powers: Sequence[str],
    units: Words,
    centers: Words,
    *,
    influence: Words | None = None,
    dislodged: Words | None = None,
    title: str = "",
    notes: Mapping[str, str] | None = None,
) -> str:
    """A complete picture of a position.

    Args:
        powers: all powers, in the board's order, which determines their colors.
        units, centers, influence: power -> its units, its centers, the provinces that it was the last to occupy.
        dislodged: power -> its dislodged units.
        title: a line above the map.
        notes: power -> its text in the legend, such as "5 centers"; without notes the legend has no powers.
    """
    top = HEADER if title else 0
    legend, bottom = power_legend(powers, notes, drawing.width, drawing.height) if notes else ("", drawing.height)
    height = top + bottom
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {-top:g} {drawing.width:g} {height:g}" role="img" '
        f'class="board" font-family="{FONT}">',
        f"<title>{fit(title or drawing.name)}</title>",
        f'<rect class="paper" y="{-top:g}" width="{drawing.width:g}" height="{height:g}" fill="{PAPER}"/>',
        map_layer(drawing, powers, centers, influence),
        layer(()),
        labels_layer(drawing),
        units_layer(drawing, powers, units, dislodged),
        layer(()),
        _header(drawing, title) if title else "",
        legend,
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def map_layer(
    drawing: Drawing, powers: Sequence[str] = (), centers: Words | None = None, influence: Words | None = None
) -> str:
    """The map without units: ``<g class="map">``. Areas with an owner have its class (``power-2``) and tint."""
    owners = _owners(powers, centers)
    passed = {place: power for place, power in _owners(powers, influence).items() if place not in owners}
    fills = _fills(powers, owners, CENTER_TINT) | _fills(powers, passed, INFLUENCE_TINT)
    ground = GRAPH_GROUND if drawing.edges else WATER
    # On the map, seas are transparent and show the ground color, which halves the drawing time.
    water_look = f'fill="{WATER}" stroke="{SEA_LINE}"' if drawing.edges else 'fill="none" pointer-events="all"'
    # Outlines of areas are drawn only on graphs; the map has separate lines for coasts and borders.
    outline = f' stroke="{COAST_LINE}" stroke-width="2"' if drawing.edges else ""
    water = [p for p in drawing.provinces.values() if p.kind == "water"]
    land = [p for p in drawing.provinces.values() if p.kind != "water"]
    parts = [
        '<g class="map" stroke-linejoin="round">',
        f'<rect class="ground" width="{drawing.width:g}" height="{drawing.height:g}" fill="{ground}"/>',
        _edges(drawing),
        f'<g class="waters" {water_look}>',
        *(_area(p, "") for p in water),
        "</g>",
        _line("sea-borders", drawing.sea_borders, SEA_LINE, 1, ' stroke-dasharray="5 3"'),
        _line("shallows", drawing.shores, SHALLOWS, 8),
        _impassable(drawing),
        f'<g id="lands" fill="{LAND}"{outline}>',
        *(_area(p, fills.get(p.name, "")) for p in land),
        "</g>",
        _line("coast", drawing.shores, COAST_LINE, 1.2),
        _filled("straits", "".join(p.strait for p in land), STRAIT),
        _line("land-borders", drawing.land_borders, LAND_LINE, 1.3),
        *(_center(p, powers, owners) for p in drawing.provinces.values() if p.center),
        "</g>",
    ]
    return "\n".join(part for part in parts if part)


def _owners(powers: Sequence[str], held: Words | None) -> dict[str, str]:
    return {place: power for power in powers for place in (held or {}).get(power, ())}


def _fills(powers: Sequence[str], owners: Mapping[str, str], share: float) -> dict[str, str]:
    """Province -> class and fill of its area."""
    colors = power_colors(powers)
    return {
        place: f' class="power-{powers.index(power)}" fill="{mixed(colors[power], LAND, share)}"'
        for place, power in owners.items()
    }


def _area(province: DrawnProvince, owner: str) -> str:
    return f'<path id="p-{province.name}"{owner} d="{province.area}"><title>{_named(province)}</title></path>'


def _named(province: DrawnProvince) -> str:
    return fit(f"{province.long_name} ({province.name})")


def _line(name: str, path: str, color: str, width: float, more: str = "") -> str:
    if not path:
        return ""
    return f'<path class="{name}" d="{path}" fill="none" stroke="{color}" stroke-width="{width:g}"{more}/>'


def _impassable(drawing: Drawing) -> str:
    """Impassable land, hatched to differ from the areas of powers."""
    if not drawing.impassable:
        return ""
    hatch = (
        '<pattern id="hatch" width="12" height="12" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect class="hatch-ground" width="12" height="12" fill="{IMPASSABLE}"/>'
        f'<path class="hatch-line" d="M0 0v12" stroke="{HATCH}" stroke-width="5"/></pattern>'
    )
    return hatch + _filled("impassable", drawing.impassable, "url(#hatch)")


def _filled(name: str, path: str, color: str) -> str:
    return f'<path class="{name}" d="{path}" fill="{color}" stroke="{COAST_LINE}" stroke-width="1"/>' if path else ""


def _edges(drawing: Drawing) -> str:
    """The lines between provinces of a board drawn as a graph."""
    if not drawing.edges:
        return ""
    paths = {"land": "", "water": ""}
    for edge in drawing.edges:
        (x, y), (u, v) = edge.start, edge.end
        paths[edge.kind] += f"M{x:g} {y:g}L{u:g} {v:g}"
    return _line("passage water", paths["water"], SEA_LINE, 3) + _line("passage land", paths["land"], LAND_LINE, 5)


def labels_layer(drawing: Drawing) -> str:
    """The labels, with a light edge, as one group: ``<g class="labels">``."""
    lines = ['<g class="labels" pointer-events="none" text-anchor="middle" font-size="24" stroke-linejoin="round">']
    for name, kinds, ink, halo, style in (
        ("land-labels", ("land", "coast"), INK, LAND, ""),
        ("water-labels", ("water",), SEA_INK, WATER, ' font-style="italic"'),
    ):
        texts = [_label(p) for p in drawing.provinces.values() if p.kind in kinds]
        edge = f'stroke="{halo}" stroke-width="4" stroke-opacity="0.7" paint-order="stroke"'
        lines += [f'<g class="{name}" fill="{ink}" {edge}{style}>', *texts, "</g>"]
    return "\n".join([*lines, "</g>"])


def _label(province: DrawnProvince) -> str:
    size = f' font-size="{province.label_size:g}"' if province.label_size != 24 else ""
    return f'<text x="{province.label[0]:g}" y="{province.label[1]:g}"{size}>{fit(province.text)}</text>'


def _center(province: DrawnProvince, powers: Sequence[str], owners: Mapping[str, str]) -> str:
    """The mark of a supply center: a dot in the owner's color."""
    if province.center is None:
        return ""
    owner = owners.get(province.name)
    color = power_colors(powers)[owner] if owner else PAPER
    number = f" power-{powers.index(owner)}" if owner else ""
    (x, y), name = province.center, province.name
    return (
        f'<circle id="c-{name}" class="center{number}" cx="{x:g}" cy="{y:g}" r="5.4" fill="{color}" '
        f'stroke="{INK}" stroke-width="2"/>'
    )


def _header(drawing: Drawing, title: str) -> str:
    """The title, on a background that hides lines extending beyond the map."""
    paper = f'<rect class="paper" y="{-HEADER:g}" width="{drawing.width:g}" height="{HEADER:g}" fill="{PAPER}"/>'
    size = min(30, 30 * (drawing.width - 40) / text_width(title, 30))
    return f'{paper}<text class="title" x="20" y="-18" font-size="{size:.1f}" fill="{INK}">{fit(title)}</text>'
