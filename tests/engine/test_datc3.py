"""The cases of the DATC, version 3, through the public `Game`, from the strings of tests/data/datc3.txt.

The fast engine follows the DATC with its author's preferences under the rulebook of 2000; the reference engine is the
`diplomacy` package. Where the package disagrees is listed here; the list is exact: a case that agrees must leave it.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from welfare_env import Game, RecordError, Rules, load_board
from welfare_env.board.order_text import order_parts

# Cause -> the cases that disagree for it.
PACKAGE = {
    "a support that names a wrong coast counts": ["6.B.9"],
    "occupied and contested provinces are listed as retreats after a convoyed attack": (
        ["6.F.21", "6.F.25", "6.G.10", "6.G.15", "6.H.11", "6.H.12"]
    ),
    "with VIA, but without a convoy, the army takes the land route": ["6.G.8"],
}
RULES = Rules("standard", press=None)
VERBS = {"-": "moves to", "S": "supports", "C": "convoys", "H": "holds", "D": "disbands", "VIA": "via convoy"}
COASTS = {"NC": "north coast", "SC": "south coast", "EC": "east coast"}

Listed = dict[str, list[str]]  # power -> orders, units or centers


@dataclass
class Step:
    """The orders of a phase, and what follows from them."""

    orders: Listed = field(default_factory=dict)
    effects: list[str] = field(default_factory=list)


@dataclass
class Case:
    """A case of the DATC (see the head of the file for its form)."""

    title: str
    units: Listed = field(default_factory=dict)
    centers: Listed = field(default_factory=dict)
    steps: list[Step] = field(default_factory=lambda: [Step()])

    def read(self, line: str) -> None:
        head, _, rest = line.partition(": ")
        if line.startswith("=> "):
            self.steps[-1].effects = [effect for effect in line[3:].split("; ") if effect != "nothing"]
            self.steps.append(Step())
        elif head == "centers":
            for owned in rest.split("; "):
                power, *self.centers[power.upper()] = owned.split()
        else:
            for text in rest.split("; "):
                self._read_order(head.upper(), text)

    def _read_order(self, power: str, text: str) -> None:
        words = text.split()
        if len(self.steps) == 1 and not text.startswith("("):
            self.units.setdefault(power, []).append(" ".join(words[:2]))
        if len(words) > 2:
            self.steps[-1].orders.setdefault(power, []).append(text.strip("()"))


def read_cases() -> dict[str, Case]:
    cases: dict[str, Case] = {}
    text = (Path(__file__).parents[1] / "data" / "datc3.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("6."):
            number, _, title = line.partition(" ")
            case = cases[number] = Case(title)
        elif line and not line.startswith("#"):
            case.read(line)
    return cases


CASES = read_cases()


def play(case: Case, engine: str, in_words: bool = False) -> None:
    """Play a case, and compare what follows from each phase."""
    phase = "W1901A" if case.centers else "S1901M"
    game = Game.from_position(phase, case.units, case.centers, rules=RULES, engine=engine)
    for step in case.steps[:-1]:
        standing = {unit for units in game.units.values() for unit in units}
        for power, orders in step.orders.items():
            game.submit(power, [spelled_out(order) if in_words else order for order in orders], strict=False)
        game.advance()
        compare(game, standing, step.effects)


def compare(game: Game, standing: set[str], effects: list[str]) -> None:
    """Check that a phase had these effects, and no others, and that exactly the listed retreats are legal."""
    gone, come, dislodged = set[str](), set[str](), set[str]()
    for effect in effects:
        unit_type, place, what, *rest = effect.split()
        unit = f"{unit_type} {place}"
        if what == "may":
            assert (f"{unit} R {rest[-1]}" in retreats(game)) == ("not" not in rest)
            continue
        come |= {f"{unit_type} {rest[0]}"} if what == "-" else {unit} if what == "built" else set()
        gone |= {unit} if what != "built" else set()
        dislodged |= {unit} if what == "dislodged" else set()
    if game.history[-1].phase.endswith("R"):
        gone = set()  # those that retreat were not standing
    assert {unit for units in game.units.values() for unit in units} == standing - gone | come
    assert {unit for unit, words in game.history[-1].results.items() if "dislodged" in words} == dislodged
    options = {unit: places for units in game.dislodged.values() for unit, places in units.items()}
    assert {f"{unit} R {place}" for unit, places in options.items() for place in places} == retreats(game)


def retreats(game: Game) -> set[str]:
    """All legal retreats."""
    legal = (order for power in game.powers for orders in game.legal_orders(power).values() for order in orders)
    return {order for order in legal if order_parts(order).command == "R"}


def spelled_out(order: str) -> str:
    """ "A MAR S A PAR - BUR" as "Army Marseilles supports Army Paris moves to Burgundy"."""
    names = load_board().long_names
    words = []
    for word in order.split():
        place, _, coast = word.partition("/")
        if place in names:
            words.append(names[place] + (f" ({COASTS[coast]})" if coast else ""))
        else:
            words.append({"A": "Army", "F": "Fleet", **VERBS}.get(word, word))
    return " ".join(words)


@pytest.mark.parametrize("case", CASES)
def test_case(case: str) -> None:
    """With the fast engine as it stands and in words, and with the package, unless it is known to disagree."""
    play(CASES[case], "fast")
    play(CASES[case], "fast", in_words=True)
    disagrees = any(case in cases for cases in PACKAGE.values())
    with pytest.raises(AssertionError) if disagrees else nullcontext():
        play(CASES[case], "reference")


def test_the_datc_has_164_cases() -> None:
    assert len(CASES) == 164 + 1  # 6.J.9 has two positions
    assert all(case.steps[0].orders or case.centers for case in CASES.values())


def test_the_page_of_differences_names_what_disagrees() -> None:
    page = (Path(__file__).parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
    assert {case for cases in PACKAGE.values() for case in cases} <= set(re.findall(r"6\.\w\.\d+", page))


def test_a_game_on_the_reference_engine_says_by_whose_rulings_it_was_played() -> None:
    game = Game(rules=Rules(years=1), engine="reference")
    assert game.rules == Rules(years=1, adjudication="package")
    assert Game.from_record(game.record()).rules == game.rules
    with pytest.raises(RecordError, match="rulebook"):
        Game.from_record(Game(rules=Rules(years=1)).record(), engine="reference")
