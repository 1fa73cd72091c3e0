"""What reading each other's code does in the 78 strict ordinal games of two players with two moves.

    python -m research.programs.periodic_table --search    # searches and checks: a minute or two
    python -m research.programs.periodic_table             # only checks, and writes the page's table and picture

Which outcomes are equilibria only of programs that read each other: two direct agents of depth up to 2 that are best
replies to each other among all such agents, and for which epsilon. Programs of depth 0 just choose a move, so the
equilibria without reading always remain. `periodic-table.json` has two formulas for each new outcome; `table_checker`
checks them without code from here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import track

from modal_env import PRESETS, Agent, parse, replies
from modal_env.best_replies import CALLS
from modal_env.best_replies.certificates import Range, nonnegative
from modal_env.games.ordinal_games import RAPOPORT_GUYER, rows_of
from modal_env.games.payoffs import PayoffTable
from modal_env.pictures import PALETTE
from research.programs.direct_agents import OUTCOMES, agent_with, plays
from research.programs.robinson_goforth import COMMON_NAMES, place
from research.programs.table_checker import table_faults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATA = Path(__file__).with_name("periodic-table.json")
BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
TRIED = 12  # agents of a set that are tried; the one with the shortest formula is listed
KINDS = {
    "rescued": "better for both",
    "settled": "the only pure equilibrium",
    "shared": "better for one, worse for the other",
    "ruined": "worse for both",
}
COLORS = {"rescued": PALETTE[2], "settled": PALETTE[0], "shared": PALETTE[1], "ruined": PALETTE[5]}
LAYERS = {
    "1": "layer 1: the 4s lie diagonally",
    "2": "layers 2 and 4: in one row or column",
    "3": "layer 3: in one cell",
}
CELLS = ("CC", "CD", "DC", "DD")  # upper left, upper right, lower left, lower right

Entry = Mapping[str, Any]
Pair = tuple[int, int]
"""Two profiles of `Plays`."""


def entry_of(number: int) -> Entry:
    """A game by Rapoport and Guyer's number, with the outcomes that reading adds."""
    game = PRESETS[f"rg-{number}"]
    found = [claim for outcome in OUTCOMES if outcome not in game.pure for claim in claims(game, outcome)]
    return {
        "number": number,
        "place": place(rows_of(RAPOPORT_GUYER[number])),
        "name": COMMON_NAMES.get(number, ""),
        "payoffs": {moves: [str(game[moves]), str(game.turned[moves[::-1]])] for moves in OUTCOMES},
        "without_reading": list(game.pure),
        "kinds": kinds(game, {claim["outcome"] for claim in found}),
        "with_reading": found,
    }


def claims(game: PayoffTable, outcome: str) -> list[Entry]:
    """The ranges of epsilon in which an outcome is an equilibrium of readers, each with two short agents."""
    found = ranges(game, outcome)
    widest = [one for one in found if not any(other != one and _meet(other, one) == one for other in found)]
    entries: list[Entry] = []
    for low, high in sorted(widest, key=lambda bounds: bounds[0]):
        first, second = _short(found[low, high], OUTCOMES.index(outcome))
        until = None if high is None else str(high)
        formulas = {"first": first.text, "second": second.text}
        entries.append({"outcome": outcome, "low": str(low), "high": until, **formulas})
    return entries


def ranges(game: PayoffTable, outcome: str) -> dict[Range, Pair]:
    """The ranges in which an outcome is an equilibrium, and two profiles of agents for each.

    A profile has the outcomes that opponents of each depth can reach, so it bounds the other player's replies.
    """
    profiles = plays().profiles.tolist()
    found: dict[Range, Pair] = {}
    for first, second in plays().meetings(OUTCOMES.index(outcome)):
        row = _best(game, profiles[second][1:], profiles[first][0], outcome)
        column = _best(game.turned, profiles[first][1:], profiles[second][0], outcome[::-1])
        both = row and column and _meet(row, column)
        if both and both[1] != 0:
            found.setdefault(both, (first, second))
    return found


def _best(paid: PayoffTable, reach: Sequence[int], depth: int, outcome: str) -> Range | None:
    """The epsilons at which a player of a depth that reaches an outcome has no better reply."""
    margins = []
    for other, outcomes in enumerate(reach):
        most = max(paid[moves] for number, moves in enumerate(OUTCOMES) if outcomes >> number & 1)
        margins.append((paid[outcome] - most, Fraction(other - depth)))
    return nonnegative(margins)


def _meet(one: Range, other: Range) -> Range | None:
    """The intersection of two ranges."""
    highs = [high for _, high in (one, other) if high is not None]
    low, high = max(one[0], other[0]), min(highs, default=None)
    return None if high is not None and high < low else (low, high)


def _short(pair: Pair, outcome: int) -> tuple[Agent, Agent]:
    """Two short agents with these profiles that have the outcome against each other."""
    choices = [
        tuple(min(map(agent_with, codes[:TRIED].tolist()), key=lambda agent: (agent.size, agent.text)) for codes in two)
        for two in plays().pairs(*pair, outcome)
    ]
    first, second = min(choices, key=lambda two: (two[0].size + two[1].size, two[0].text, two[1].text))
    return first, second


def is_broken_by_callers(entry: Entry) -> bool:
    """Whether an agent that calls `CALLS` replies better to one of the listed pair, at every price above 0."""
    game, claim = PRESETS[f"rg-{entry['number']}"], entry["with_reading"][0]
    agents, moves = (parse(claim["first"]), parse(claim["second"])), claim["outcome"]
    for own, other, paid, two in ((*agents, game, moves), (*agents[::-1], game.turned, moves[::-1])):
        for reply in replies([other], CALLS, depth=2):
            gain, saved = paid["".join(reply.moves[0])] - paid[two], own.depth - reply.agent.depth
            if gain >= 0 and saved >= 0 and gain + saved > 0:
                return True
    return False


def kinds(game: PayoffTable, outcomes: Iterable[str]) -> list[str]:
    """The effects of new outcomes on a game, from `KINDS`."""
    pure, found = game.pure, set()
    for outcome in outcomes:
        gains = [(game[outcome] - game[old], game.turned[outcome[::-1]] - game.turned[old[::-1]]) for old in pure]
        if not pure:
            found.add("settled")
        elif all(min(gain) > 0 for gain in gains):
            found.add("rescued")
        else:
            found.add("ruined" if any(max(gain) < 0 for gain in gains) else "shared")
    return [kind for kind in KINDS if kind in found] or ["unchanged"]


def text(table: Sequence[Entry]) -> str:
    """The games in which reading programs adds an outcome, as a table."""
    lines = [
        "| game | place | upper row; lower row | without reading | with reading | for | what it does |",
        "|---|---|---|---|---|---|---|",
    ]
    for entry in table:
        for one in entry["with_reading"]:
            shown = {moves: ",".join(pair) for moves, pair in entry["payoffs"].items()}
            grid = f"{shown['CC']} {shown['CD']}; {shown['DC']} {shown['DD']}"
            without = " and ".join(shown[moves] for moves in entry["without_reading"]) or "none"
            name = f" {entry['name']}" if entry["name"] else ""
            until = "0 < eps" if one["high"] is None else f"0 < eps <= {one['high']}"
            cells = (f"{entry['number']}{name}", entry["place"], grid, without, shown[one["outcome"]], until)
            lines.append(f"| {' | '.join(cells)} | {', '.join(KINDS[kind] for kind in entry['kinds'])} |")
    return "\n".join(lines)


def picture(table: Sequence[Entry]) -> Figure:
    """The 78 games in Robinson and Goforth's arrangement, with the new outcomes in color."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    figure = Figure(figsize=(16, 6.2), layout="constrained")
    panels = dict(zip(LAYERS, figure.subplots(1, 3), strict=True))
    for layer, axes in panels.items():
        axes.set_title(LAYERS[layer], fontsize=11)
        axes.set(xlim=(0.45, 6.55), ylim=(6.55, 0.4), xticks=range(1, 7), yticks=range(1, 7), aspect="equal")
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    for entry in table:
        layer, row, column = entry["place"]
        _draw(panels[layer], entry, int(row), int(column))
    keys = [Patch(color="#d0d0d0", label="equilibrium without reading")]
    seen = [kind for kind in KINDS if any(kind in entry["kinds"] for entry in table)]
    keys += [Patch(color=COLORS[kind], label=f"with reading only: {KINDS[kind]}") for kind in seen]
    figure.legend(handles=keys, loc="outside lower center", ncols=len(keys), frameon=False)
    return figure


def _draw(axes: Axes, entry: Entry, row: int, column: int) -> None:
    """One game: four outcomes with the payoffs of both players, and Rapoport and Guyer's number above."""
    from matplotlib.patches import Rectangle

    new = {one["outcome"] for one in entry["with_reading"]}
    for number, moves in enumerate(CELLS):
        left, top = column - 0.42 + 0.42 * (number % 2), row - 0.28 + 0.35 * (number // 2)
        old = moves in entry["without_reading"]
        fill = COLORS[entry["kinds"][0]] if moves in new else "#d0d0d0" if old else "white"
        axes.add_patch(Rectangle((left, top), 0.42, 0.35, facecolor=fill, edgecolor="#808080", linewidth=0.6))
        ink = "white" if fill in (COLORS["settled"], COLORS["rescued"]) else "black"
        strong = "bold" if moves in new else "normal"
        paid = ",".join(entry["payoffs"][moves])
        axes.text(left + 0.21, top + 0.175, paid, ha="center", va="center", fontsize=7, weight=strong, color=ink)
    name = f"{entry['number']} {entry['name']}".strip()
    axes.text(column, row - 0.31, name.replace("prisoner's dilemma", "prisoner's d."), ha="center", fontsize=7)


def main(
    search: Annotated[bool, typer.Option("--search", help="Search all games again.")] = False,
    docs: Annotated[Path, typer.Option(help="Folder of the page and its picture.")] = Path("docs"),
) -> None:
    """Search or read, check, write the table, draw the picture."""
    if search:
        lines = [json.dumps(entry_of(number)) for number in track(RAPOPORT_GUYER, "searching 78 games", transient=True)]
        DATA.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    table: list[Entry] = json.loads(DATA.read_text(encoding="utf-8"))
    if wrong := table_faults(table):
        raise SystemExit("\n".join(wrong))
    page = docs / "periodic-table.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    page.write_text(f"{before}{BEGIN}\n{text(table)}\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    picture(table).savefig(docs / "pictures" / "periodic-table.png", dpi=110)
    counts = Counter(kind for entry in table for kind in entry["kinds"])
    broken = [entry["number"] for entry in table if entry["with_reading"] and is_broken_by_callers(entry)]
    print(f"broken by agents that call others: the listed pairs of {', '.join(map(str, broken))}")
    print("78 games checked:", ", ".join(f"{number} {kind}" for kind, number in counts.items()))


if __name__ == "__main__":
    typer.run(main)
