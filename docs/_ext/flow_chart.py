"""Mermaid's simple flow charts (`graph LR` or `graph TD`, boxes and arrows) as SVG."""

import html
import re
import textwrap
from dataclasses import dataclass, field

BOX, ARROW = r'(\w+)(?:\["([^"]*)"\])?', r'\s*-->(?:\|"?([^|"]*)"?\|)?\s*'
LETTER, LINE, GAP = 7.2, 18, 46


@dataclass
class Graph:
    """Boxes by name, and labeled arrows between them."""

    labels: dict[str, str] = field(default_factory=dict)
    arrows: list[tuple[str, str, str]] = field(default_factory=list)

    def ranks(self) -> dict[str, int]:
        """Length of the longest path to each box; arrows that close a cycle are ignored."""
        rank = dict.fromkeys(self.labels, 0)
        forward: list[tuple[str, str]] = []
        for start, end, _ in self.arrows:
            if start != end and not self._reaches(forward, end, start):
                forward.append((start, end))
        for _ in self.labels:
            for start, end in forward:
                rank[end] = max(rank[end], rank[start] + 1)
        return rank

    @staticmethod
    def _reaches(arrows: list[tuple[str, str]], start: str, end: str) -> bool:
        seen, todo = {start}, [start]
        while todo:
            here = todo.pop()
            following = {b for a, b in arrows if a == here} - seen
            seen |= following
            todo += following
        return end in seen


def read(lines: list[str]) -> Graph:
    """The graph of a Mermaid text; a chain `A --> B --> C` is two arrows.

    Raises:
        ValueError: a line is neither a box nor an arrow.
    """
    graph = Graph()
    for line in filter(None, map(str.strip, lines)):
        box = re.match(BOX, line)
        while box:
            name, label = box[1], box[2]
            graph.labels.setdefault(name, name)
            if label:
                graph.labels[name] = label
            line = line[box.end() :]
            arrow = re.match(ARROW + BOX, line)
            if arrow:
                graph.arrows.append((name, arrow[2], arrow[1] or ""))
                line = re.sub(f"^{ARROW}", "", line)
            box = re.match(BOX, line) if arrow else None
        if line:
            raise ValueError(f"no arrow between boxes: {line}")
    return graph


def place(graph: Graph) -> tuple[dict[str, tuple[float, float, float, float]], dict[str, list[str]]]:
    """x, y, width and height of each box, in rows, and its lines of text."""
    texts = {name: textwrap.wrap(label, 24) for name, label in graph.labels.items()}
    rank, boxes, center, y = graph.ranks(), {}, {}, 4.0
    for number in range(max(rank.values()) + 1):
        row = [name for name in graph.labels if rank[name] == number]
        above = {name: [center[a] for a, b, _ in graph.arrows if b == name and a in center] for name in row}
        row.sort(key=lambda name: sum(above[name]) / len(above[name]) if above[name] else 0)
        x, height = 4.0, max(len(texts[name]) for name in row) * LINE + 14
        for name in row:
            width = max(map(len, texts[name])) * LETTER + 24
            boxes[name] = (x, y, width, height)
            center[name] = x + width / 2
            x += width + 60
        y += height + GAP
    return boxes, texts


def arrow(start: tuple[float, ...], end: tuple[float, ...], text: str) -> str:
    """An arrow from box to box, with its label in the middle."""
    (x, y, w, h), (u, v, s, t) = start, end
    down = v > y
    a, b = (x + w / 2, y + h if down else y), (u + s / 2, v if down else v + t)
    if v == y:
        a, b = ((x + w, y + h / 2), (u, v + t / 2)) if u > x else ((x, y + h / 2), (u + s, v + t / 2))
    bend = (b[1] - a[1]) / 2
    path = f"M{a[0]:.0f},{a[1]:.0f} C{a[0]:.0f},{a[1] + bend:.0f} {b[0]:.0f},{b[1] - bend:.0f} {b[0]:.0f},{b[1]:.0f}"
    middle = f'<text x="{(a[0] + b[0]) / 2:.0f}" y="{(a[1] + b[1]) / 2 + 4:.0f}">{html.escape(text)}</text>'
    return f'<path d="{path}" marker-end="url(#tip)"/>' + (middle if text else "")


def draw(graph: Graph) -> str:
    """The graph as an SVG picture in the colors of the page."""
    boxes, texts = place(graph)
    width = max(x + w for x, _, w, _ in boxes.values()) + 4
    height = max(y + h for _, y, _, h in boxes.values()) + 4
    said = "; ".join(
        f"{graph.labels[a]} to {graph.labels[b]}" + (f" ({text})" if text else "") for a, b, text in graph.arrows
    )
    parts = [
        f'<div class="diagram"><svg viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" role="img" '
        f'aria-label="{html.escape(said)}"><defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="8" markerHeight="8" orient="auto-start-reverse"><path d="M0,0 L10,5 L0,10 z"/></marker></defs>'
    ]
    for name, (x, y, w, h) in boxes.items():
        parts.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="{w:.0f}" height="{h:.0f}" rx="5"/>')
        top = y + h / 2 - (len(texts[name]) - 1) * LINE / 2 + 5
        parts += [
            f'<text x="{x + w / 2:.0f}" y="{top + number * LINE:.0f}">{html.escape(text)}</text>'
            for number, text in enumerate(texts[name])
        ]
    parts += [arrow(boxes[a], boxes[b], text) for a, b, text in graph.arrows]
    return "".join(parts) + "</svg></div>"
