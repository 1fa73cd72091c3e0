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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import track

from modal_env import PRESETS, Agent, replies
from modal_env.best_replies import CALLS, FoundReply
from modal_env.games.ordinal_games import RAPOPORT_GUYER, rows_of
from modal_env.games.payoffs import PayoffTable
from modal_env.pictures import PALETTE
from research.programs.certificates import Range, nonnegative
from research.programs.direct_agents import OUTCOMES, Codes, agent_with, plays
from research.programs.robinson_goforth import COMMON_NAMES, place
from research.programs.table_checker import table_faults

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DATA = Path(__file__).with_name("periodic-table.json")
BEGIN, END = "<!-- table:begin -->", "<!-- table:end -->"
TRIED = 24  # agents of a set that are tried
KINDS = {
    "rescued": "better for both",
    "settled": "the only pure equilibrium",
    "shared": "better for one, worse for the other",
    "ruined": "worse for both",
}
GAINS = {"rescued": "both", "settled": "-", "shared": "one", "ruined": "none"}
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
    """The ranges of epsilon in which an outcome is an equilibrium of readers, each with two agents.

    Of the pairs tried, one that callers leave the most of the range, and of these the shortest, is listed.
    """
    found = ranges(game, outcome)
    widest = [one for one in found if not any(other != one and _meet(other, one) == one for other in found)]
    entries: list[Entry] = []
    for low, high in sorted(widest, key=lambda bounds: bounds[0]):
        first, second, left = _best_pair(game, found[low, high], outcome)
        until = None if high is None else str(high)
        formulas = {"first": first.text, "second": second.text}
        against = left and [str(left[0]), None if left[1] is None else str(left[1])]
        entries.append({"outcome": outcome, "low": str(low), "high": until, **formulas, "against_callers": against})
    return entries


def ranges(game: PayoffTable, outcome: str) -> dict[Range, list[Pair]]:
    """The ranges in which an outcome is an equilibrium, and all pairs of profiles of agents for each.

    A profile has the outcomes that opponents of each depth can reach, so it bounds the other player's replies.
    """
    profiles = plays().profiles.tolist()
    found: dict[Range, list[Pair]] = {}
    for first, second in plays().meetings(OUTCOMES.index(outcome)):
        row = _best(game, profiles[second][1:], profiles[first][0], outcome)
        column = _best(game.turned, profiles[first][1:], profiles[second][0], outcome[::-1])
        both = row and column and _meet(row, column)
        if both and both[1] != 0:
            found.setdefault(both, []).append((first, second))
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


def _best_pair(game: PayoffTable, profiles: Sequence[Pair], outcome: str) -> tuple[Agent, Agent, Range | None]:
    """Two agents with some of these profiles and this outcome, and the prices at which no caller replies better."""
    found: list[tuple[Agent, Agent, Range | None]] = []
    for first, second in profiles:
        depths = [int(plays().profiles[number][0]) for number in (first, second)]
        for firsts, seconds in plays().pairs(first, second, OUTCOMES.index(outcome)):
            mine = [(agent, against_callers(agent, depths[1], game.turned, outcome[::-1])) for agent in _tried(firsts)]
            theirs = [(agent, against_callers(agent, depths[0], game, outcome)) for agent in _tried(seconds)]
            found += [(a, b, one and other and _meet(one, other)) for a, one in mine for b, other in theirs]
        if any(_narrowness(left) == (Fraction(0), Fraction(-1, 2)) for _, _, left in found):
            break
    return min(found, key=lambda pair: (_narrowness(pair[2]), pair[0].size + pair[1].size, pair[0].text, pair[1].text))


def _tried(codes: Codes) -> list[Agent]:
    return [agent_with(code) for code in codes[:TRIED].tolist()]


def _narrowness(left: Range | None) -> tuple[Fraction, Fraction]:
    """Less for wider ranges of epsilon; a single price counts as none."""
    if left is None or left[0] == left[1]:
        return Fraction(1), Fraction(0)
    return left[0], -(Fraction(10) if left[1] is None else left[1])


def against_callers(agent: Agent, depth: int, paid: PayoffTable, outcome: str) -> Range | None:
    """The prices at which no agent that calls `CALLS` replies better to an agent than one of a depth that gets an
    outcome, its own move first."""
    margins = [
        (paid[outcome] - paid["".join(reply.moves[0])], Fraction(reply.agent.depth - depth))
        for reply in _replies(agent)
    ]
    return nonnegative(margins)


@cache
def _replies(agent: Agent) -> Sequence[FoundReply]:
    return replies([agent], CALLS, depth=2)


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
    lines = ["| game | rows | before | with reading | gain |", "|---|---|---|---|---|"]
    for entry in table:
        for one in entry["with_reading"]:
            shown = {moves: ",".join(pair) for moves, pair in entry["payoffs"].items()}
            grid = f"{shown['CC']} {shown['CD']}; {shown['DC']} {shown['DD']}"
            without = " and ".join(shown[moves] for moves in entry["without_reading"]) or "none"
            name = f" {entry['name']}" if entry["name"] else ""
            left = one["against_callers"]
            falls = "\\*" if left is None or left[0] == left[1] else ""
            gain = ", ".join(GAINS[kind] for kind in entry["kinds"])
            cells = (f"{entry['number']}{name}{falls}", grid, without, shown[one["outcome"]], gain)
            lines.append(f"| {' | '.join(cells)} |")
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
    claims_of = {entry["number"]: claim for entry in table for claim in entry["with_reading"]}
    falls = [number for number, claim in claims_of.items() if claim["against_callers"] is None]
    print(f"no pair found that callers leave an equilibrium: {', '.join(map(str, falls))}")
    print("78 games checked:", ", ".join(f"{number} {kind}" for kind, number in counts.items()))


if __name__ == "__main__":
    typer.run(main)
