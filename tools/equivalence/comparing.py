"""Compares the fast engine after every phase: `python -m tools.equivalence`.

With the package's rulings (`Rules(adjudication="package")`) it must equal the reference engine: units and their order,
dislodged units and their retreats, owners, welfare points, influence, winner, legal orders with their slots and powers,
and the result of every order. With the rulebook's it must equal `rulebook.Resolution`: who moves, who is dislodged, and
where to they may retreat. No phase is left out; those in which package and rulebook differ are counted, and games go on
as by the rulebook. A mismatch is printed as code that reproduces it, reduced to the necessary units, and the exit
status is 1.
"""

from __future__ import annotations

import functools
import itertools
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from tools.equivalence.cases import varied
from tools.equivalence.convoys import disrupted
from tools.equivalence.lively import Chooser, Orders, crowded, dumbbot, lively, uniform
from tools.equivalence.rulebook import Resolution, read
from tools.equivalence.situations import situations
from welfare_env import Board, Rules, load_board
from welfare_env.board.orders import BUILD, CONVOY, DISBAND, GIVE, HOLD, MOVE, RETREAT, SUPPORT_HOLD, SUPPORT_MOVE, VIA
from welfare_env.engine import ADJUSTMENTS, FLAG, MOVEMENT, RESULTS, Engine, Legal, State
from welfare_env.engine.engines import make_engine
from welfare_env.game.position import Position

KINDS = {
    HOLD: "hold",
    MOVE: "move",
    VIA: "move by convoy",
    SUPPORT_HOLD: "support a hold",
    SUPPORT_MOVE: "support a move",
    CONVOY: "convoy",
    RETREAT: "retreat",
    DISBAND: "disband",
    BUILD: "build",
    GIVE: "give",
}
CHUNK = 10  # games per task of a worker process


@dataclass(frozen=True)
class Suite:
    """A set of games to compare. Game number i takes `settings[i % len(settings)]`.

    Attributes:
        settings: (map name, rules) pairs.
        start: "opening", "crowded" (random positions with many fleets, and armies on coasts), or one of `MADE`.
        play: "uniform" (uniformly random legal orders), "lively" (matching convoys and supports) or "dumbbot".
    """

    name: str
    settings: tuple[tuple[str, Rules], ...]
    start: str
    play: str
    games: int


@dataclass
class Tally:
    """Counts, and descriptions of mismatches."""

    counts: Counter[str] = field(default_factory=Counter)
    became: Counter[tuple[int, str]] = field(default_factory=Counter)  # (order kind, result)
    mismatches: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        self.counts += other.counts
        self.became += other.became
        self.mismatches += other.mismatches


# Comparing.


def state_differences(fast: State, reference: State) -> list[str]:
    """Descriptions of the parts of a position that differ."""
    names = ("phase", "year", "winner", "done", "units", "dislodged", "retreats", "owners", "welfare", "influence")
    found = []
    for name in names:
        ours, theirs = np.asarray(getattr(fast, name)), np.asarray(getattr(reference, name))
        if ours.shape != theirs.shape:
            found.append(f"{name}: fast {ours.tolist()}, reference {theirs.tolist()}")
        elif not np.array_equal(ours, theirs):
            found += [
                f"{name} {n}: fast {ours[n]}, reference {theirs[n]}" for n in map(tuple, np.argwhere(ours != theirs))
            ]
    return found


def legal_differences(board: Board, fast: Legal, reference: Legal) -> list[str]:
    """Legal orders that only one engine lists, or lists in a different place."""
    ours, theirs = (
        list(zip(legal.slots.tolist(), legal.powers.tolist(), legal.orders.tolist(), strict=True))
        for legal in (fast, reference)
    )
    if ours == theirs:
        return []
    texts = board.orders.texts
    only = [
        f"only {name}: {[texts[order] for _, _, order in set(mine) - set(other)]}"
        for name, mine, other in (("fast", ours, theirs), ("reference", theirs, ours))
    ]
    return ["legal orders: " + "; ".join([*only, "sequence" if sorted(ours) == sorted(theirs) else ""])]


def step_differences(board: Board, engines: Sequence[Engine], state: State, orders: Orders) -> list[str]:
    """The differences between the engines' outcomes of a phase."""
    (ours, our_flags), (theirs, their_flags) = (engine.step(state, orders) for engine in engines)
    found = state_differences(ours, theirs)
    rows = state.units if state.phase_type in (MOVEMENT, ADJUSTMENTS) else state.dislodged
    for (_, piece), mine, other in zip(rows.tolist(), our_flags.tolist(), their_flags.tolist(), strict=True):
        if mine != other:
            found.append(f"result of {board.pieces[piece]}: fast {words(mine)}, reference {words(other)}")
    return found


def rulebook_differences(board: Board, state: State, orders: Orders, after: State, flags: np.ndarray) -> list[str]:
    """The differences between an engine's outcome of a movement phase, `after` and `flags`, and the rulebook's."""
    units = read(board, state, orders)
    right = Resolution(board, units)
    stand = {
        f"{unit.power} {unit.piece[0]} {right.moved.get(place, unit.piece[2:])}"
        for place, unit in units.items()
        if place not in right.dislodged
    }
    ours = {f"{power} {board.pieces[piece]}" for power, piece in after.units.tolist()}
    listed = {
        board.pieces[piece][2:5]: {board.locations[place] for place in places if place >= 0}
        for (_, piece), places in zip(after.dislodged.tolist(), after.retreats.tolist(), strict=True)
    }
    found = [f"units: fast {sorted(ours - stand)}, rulebook {sorted(stand - ours)}"] if ours != stand else []
    if listed != (retreats := {place: places for place, places in right.retreats.items() if places}):
        found.append(f"retreats: fast {listed}, rulebook {retreats}")
    for (_, piece), mine in zip(state.units.tolist(), flags.tolist(), strict=True):
        place = board.pieces[piece][2:5]
        if bool(mine & FLAG["dislodged"]) != (place in right.dislodged) or (mine and place in right.moved):
            found.append(f"result of {board.pieces[piece]}: fast {words(mine)}")
    return found


def words(flags: int) -> list[str]:
    """Result flags in the package's terms."""
    return [word for bit, word in enumerate(RESULTS) if flags >> bit & 1] or ["ok"]


class Duel:
    """One game in both engines, each of which continues from its own state, and by the rulebook.

    After a mismatch both continue from the reference's position, and from the rulebook's where the package differs.
    """

    def __init__(self, board: Board, rules: Rules, tally: Tally) -> None:
        self.board = board
        self.rules = replace(rules, adjudication="package")
        self.tally = tally
        self.engines = make_engine("fast", board, self.rules), make_engine("reference", board, self.rules)
        self.rulebook = make_engine("fast", board, replace(rules, adjudication="rulebook"))

    def play(self, state: State, choose: Chooser, rng: np.random.Generator) -> None:
        """Play from a position to the end, comparing after every phase."""
        fast, reference = self.engines
        if self.board.name and state.same_as(reference.initial()):
            self._note(state, [], state_differences(fast.initial(), state))
        ours = theirs = state
        while not theirs.done:
            legal = reference.legal(theirs)
            self._note(theirs, [], legal_differences(self.board, fast.legal(ours), legal))
            orders = choose(fast, theirs, legal, rng)
            (ours, our_flags), (after, flags) = fast.step(ours, orders), reference.step(theirs, orders)
            self._count(theirs, legal, orders, flags, after)
            if not ours.same_as(after) or not np.array_equal(our_flags, flags):
                self._note(theirs, orders, state_differences(ours, after) or ["results"])
                ours = after
            theirs, ours = self._by_the_rulebook(theirs, orders, ours, after, flags)

    def _by_the_rulebook(
        self, state: State, orders: Orders, ours: State, after: State, flags: np.ndarray
    ) -> tuple[State, State]:
        """Compare with the rulebook; the positions from which reference and fast engine go on."""
        ruled, ruled_flags = self.rulebook.step(state, orders)
        if state.phase_type == MOVEMENT:
            self._compare_moves(state, orders, ruled, ruled_flags)
        if not np.array_equal(ruled_flags, flags):
            self.tally.counts["phases with another result by the rulebook"] += 1
        if ruled.same_as(after):
            return after, ours
        self.tally.counts["phases with another position by the rulebook"] += 1
        if state.phase_type != MOVEMENT:
            self._note(state, orders, ["the rulebook differs in a phase without moves"])
        return ruled, ruled

    def _compare_moves(self, state: State, orders: Orders, ruled: State, flags: np.ndarray) -> None:
        def differs(state: State, orders: Orders) -> list[str]:
            return rulebook_differences(self.board, state, orders, *self.rulebook.step(state, orders))

        if found := rulebook_differences(self.board, state, orders, ruled, flags):
            self._mismatch(state, orders, found, differs)

    def _note(self, state: State, orders: Orders, found: list[str]) -> None:
        if found:
            differs = functools.partial(step_differences if orders else list_differences, self.board, self.engines)
            self._mismatch(state, orders, found, differs)

    def _mismatch(self, state: State, orders: Orders, found: list[str], differs: Differs) -> None:
        self.tally.counts["mismatches"] += 1
        self.tally.mismatches.append(report(self.board, self.rules, self.engines[1], state, orders, found, differs))

    def _count(self, state: State, legal: Legal, orders: Orders, flags: np.ndarray, after: State) -> None:
        given = np.concatenate(orders)
        self.tally.counts += Counter(phases=1, legal=len(legal.orders), orders=len(given))
        self.tally.counts.update(situations(self.board, state, given, flags, after))
        table, rows = self.board.orders, state.units if state.phase_type != "R" else state.dislodged
        result = dict(zip(rows[:, 1].tolist(), flags.tolist(), strict=True))
        for kind, piece in zip(table.kind[given].tolist(), table.piece[given].tolist(), strict=True):
            self.tally.became.update((kind, word) for word in words(result.get(piece, 0)))


Differs = Callable[[State, Orders], list[str]]


def list_differences(board: Board, engines: Sequence[Engine], state: State, _: Orders) -> list[str]:
    """The differences between the engines' legal orders."""
    return legal_differences(board, *(engine.legal(state) for engine in engines))


def report(
    board: Board,
    rules: Rules,
    engine: Engine,
    state: State,
    orders: Orders,
    found: Sequence[str],
    differs: Differs,
) -> str:
    """A program that reproduces a mismatch."""
    if state.phase_type == MOVEMENT:
        state, orders = shrink(engine, state, orders, differs)
    position = Position(engine, state)
    given = {
        power: [board.orders.texts[n] for n in numbers] for power, numbers in zip(board.powers, orders, strict=False)
    }
    lines = [
        *(f"# {line}" for line in (differs(state, orders) or found)),
        "from welfare_env import Game, Rules",
        'for engine in ("fast", "reference"):',
        f"    game = Game.from_position({position.phase!r}, units={_full(position.units)},",
        f"        centers={_full(position.centers)}, dislodged={_full(position.dislodged)},",
        f"        welfare={dict(position.welfare)}, rules={rules!r}, map_name={board.name!r}, engine=engine)",
        f"    for power, orders in {_full(given)}.items():",
        "        game.submit(power, orders)",
        "    print(engine, [game.legal_orders(power) for power in game.powers])"
        if not orders
        else "    game.advance()",
        "    print(engine, game.units, game.dislodged, game.history and game.history[-1].results)",
    ]
    return "\n".join(lines)


def _full(by_power: Any) -> dict[str, Any]:
    """Remove powers with empty values."""
    return {power: dict(some) if hasattr(some, "items") else list(some) for power, some in by_power.items() if some}


def shrink(engine: Engine, state: State, orders: Orders, differs: Differs) -> tuple[State, Orders]:
    """Remove units as long as the outcomes still differ."""
    shrunk = True
    while shrunk:
        shrunk = False
        for unit in range(len(state.units)):
            smaller = state.replaced(units=np.delete(state.units, unit, axis=0))
            legal = engine.legal(smaller)
            fewer = [numbers[np.isin(numbers, legal.orders)] for numbers in orders]
            if differs(smaller, fewer):
                state, orders, shrunk = smaller, fewer, True
                break
    return state, orders


# Suites and the command.

CHOOSERS: dict[str, Chooser] = {"uniform": uniform, "lively": lively}
MADE = {"cases": varied, "convoys": disrupted}  # positions with orders for the first phase, from the DATC or our own
OPTIONS = (
    Rules(years=4, press=None, overmilitarise=True),
    Rules(years=4, press=None, transfers=True, progressive=(1, 2, 0, 5)),
    Rules(years=4, press=None, retreat_welfare=True, progressive=(3, 1, 1, 2)),
    Rules(years=4, press=None, overmilitarise=True, transfers=True, retreat_welfare=True),
    Rules.published(years=4, press=None),
    Rules(years=4, press=None, overmilitarise=True, build_and_disband=True),
    Rules("standard", years=6, press=None, scoring="concave"),
)
OTHER_MAPS = ("ancmed", "modern", "colonial", "pure", "empire")
CONVOY_MAPS = ("standard", "standard", "ancmed", "modern")
BUILD_ANYWHERE_MAPS = ("ancmed_age_of_empires", "standard_age_of_empires", "standard_age_of_empires_2")


def suites(games: int, positions: int, others: int, dumbbots: int) -> list[Suite]:
    """All suites; the arguments are those of the command."""
    standard, welfare = Rules("standard", years=10, press=None), Rules(years=10, press=None)
    short = Rules("standard", years=2, press=None), Rules(years=2, press=None)
    year = Rules("standard", years=1, press=None)
    maps = _pairs(OTHER_MAPS, (Rules("standard", years=4, press=None), Rules(years=4, press=None)))
    anywhere = _pairs(BUILD_ANYWHERE_MAPS, (*short, Rules(years=2, press=None, overmilitarise=True)))
    both = _pairs(("standard",), (standard, welfare))
    return [
        Suite("standard games", (("standard", standard),), "opening", "uniform", games),
        Suite("welfare games", (("standard", welfare),), "opening", "uniform", games),
        Suite("crowded positions", _pairs(("standard",), short), "crowded", "lively", positions),
        Suite("DATC cases, varied", (("standard", year),), "cases", "lively", positions),
        Suite("convoys, disrupted", _pairs(CONVOY_MAPS, (year,)), "convoys", "lively", positions),
        Suite("lively games", both, "opening", "lively", others),
        Suite("dumbbot games", both, "opening", "dumbbot", dumbbots),
        Suite("other maps", maps, "opening", "uniform", others),
        Suite("other maps, crowded", _pairs(OTHER_MAPS, short), "crowded", "lively", 2 * others),
        Suite("rule options", _pairs(("standard",), OPTIONS), "opening", "lively", others),
        Suite("rule options, crowded", _pairs(("standard", "ancmed"), OPTIONS), "crowded", "lively", others),
        Suite("builds anywhere", anywhere, "crowded", "lively", others),
        Suite("builds anywhere, from the opening", anywhere, "opening", "uniform", others),
    ]


def _pairs(maps: Sequence[str], rules: Sequence[Rules]) -> tuple[tuple[str, Rules], ...]:
    return tuple(itertools.product(maps, rules))


def play(suite: Suite, seed: int, games: Sequence[int]) -> Tally:
    """Play and compare some games of a suite. The same seed and number give the same game."""
    tally, began = Tally(), time.perf_counter()
    for number in games:
        map_name, rules = suite.settings[number % len(suite.settings)]
        board = load_board(map_name)
        rng = np.random.default_rng([seed, number, *suite.name.encode()])
        duel = Duel(board, rules, tally)
        duel.play(*_begin(suite, duel.engines[0], rng), rng)
        tally.counts["games"] += 1
    tally.counts["milliseconds"] += int(1000 * (time.perf_counter() - began))
    return tally


def _begin(suite: Suite, engine: Engine, rng: np.random.Generator) -> tuple[State, Chooser]:
    if suite.start in MADE:
        return MADE[suite.start](engine, rng)
    state = crowded(engine, rng) if suite.start == "crowded" else engine.initial()
    return state, CHOOSERS.get(suite.play) or dumbbot(engine.board, int(rng.integers(2**31)))


def run(chosen: Sequence[Suite], seed: int, workers: int, progress: Progress) -> list[Tally]:
    """The tallies of the suites, in order. Stops at the tenth mismatch."""
    tallies = [Tally() for _ in chosen]
    tasks = [(n, range(at, min(at + CHUNK, s.games))) for n, s in enumerate(chosen) for at in range(0, s.games, CHUNK)]
    bars = [progress.add_task(suite.name, total=suite.games) for suite in chosen]
    with ProcessPoolExecutor(workers) as pool:
        waiting = [(n, len(part), pool.submit(play, chosen[n], seed, part)) for n, part in tasks]
        for n, games, future in waiting:
            tallies[n].add(future.result())
            progress.advance(bars[n], games)
            if sum(tally.counts["mismatches"] for tally in tallies) >= 10:
                pool.shutdown(cancel_futures=True)
                break
    return tallies


def main(
    games: Annotated[int, typer.Option(help="Full games of random legal play in each variant.")] = 2000,
    positions: Annotated[int, typer.Option(help="Games from random positions with many fleets and convoys.")] = 5000,
    others: Annotated[int, typer.Option(help="Games of each of the other suites (maps, options).")] = 300,
    dumbbots: Annotated[int, typer.Option(help="Games of dumbbot.")] = 40,
    suite: Annotated[list[str] | None, typer.Option(help="Only suites whose name begins with this.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the games.")] = 0,
    workers: Annotated[int, typer.Option(help="Processes.", min=1)] = 1,
    quick: Annotated[bool, typer.Option("--quick", help="A fiftieth of everything: about a minute.")] = False,
) -> None:
    """Compare the fast engine with the package and the rulebook after every phase; exit with 1 on a mismatch."""
    numbers = [max(1, number // 50) if quick else number for number in (games, positions, others, dumbbots)]
    begins = tuple(suite or [""])
    chosen = [each for each in suites(*numbers) if each.name.startswith(begins) and each.games]
    if not chosen:
        raise typer.BadParameter(f"nothing to compare; suites: {', '.join(each.name for each in suites(1, 1, 1, 1))}")
    console = Console(width=None if sys.stdout.isatty() else 130)
    with Progress(console=console) as progress:
        tallies = run(chosen, seed, workers, progress)
    whole = Tally()
    for tally in tallies:
        whole.add(tally)
    console.print(suite_table(chosen, tallies, whole), order_table(whole), situation_table(whole))
    for text in whole.mismatches:
        console.print(text, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(1 if whole.counts["mismatches"] else 0)


COLUMNS = ("games", "phases", "legal", "orders", "mismatches")


def suite_table(chosen: Sequence[Suite], tallies: Sequence[Tally], whole: Tally) -> Table:
    """The numbers of comparisons by suite."""
    table = Table("suite", title="compared after every phase")
    for heading in ("games", "phases", "legal orders", "orders resolved", "mismatches", "phases/s"):
        table.add_column(heading, justify="right")
    for name, tally in [*zip((suite.name for suite in chosen), tallies, strict=True), ("all", whole)]:
        speed = 1000 * tally.counts["phases"] / max(tally.counts["milliseconds"], 1)
        table.add_row(name, *(f"{tally.counts[column]:,}" for column in COLUMNS), f"{speed:.0f}")
    return table


def order_table(whole: Tally) -> Table:
    """The results of orders by kind."""
    table = Table("order", title="what became of the orders")
    results = ("ok", *RESULTS)
    for result in results:
        table.add_column(result, justify="right")
    for kind, name in KINDS.items():
        table.add_row(name, *(f"{whole.became[kind, result]:,}" for result in results))
    return table


def situation_table(whole: Tally) -> Table:
    """The counts of rare situations."""
    table = Table("situation", title="among them")
    table.add_column("times", justify="right")
    for name, count in sorted(whole.counts.items()):
        if name not in (*COLUMNS, "milliseconds"):
            table.add_row(name, f"{count:,}")
    return table
