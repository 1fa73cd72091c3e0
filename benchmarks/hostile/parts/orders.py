"""Orders as people write them, and other arguments of a game."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from agents.lm.reading.orders import OrderBook, OrderFault
from benchmarks.hostile.doors import Broken, Door
from benchmarks.hostile.text import junk, mangled, nonsense, pick
from welfare_env import Game, Rules
from welfare_env.errors import OrderError, PositionError, PressError, RulesError, UnknownMapError, UnknownPowerError

UNITS = {"FRANCE": ["A PAR", "F MAO", "A LON", "F SPA/SC", "F ENG"], "RUSSIA": ["F STP/SC", "A NWY", "F SKA"]}
CENTERS = {"FRANCE": ["PAR", "BRE", "MAR"], "RUSSIA": ["STP", "MOS"]}
DISLODGED = {"FRANCE": {"A GAS": ["PAR", "BUR"], "F WES": ["SPA/SC", "TUN"]}}
GAMES = (
    Game.from_position("S1901M", UNITS, CENTERS),
    Game.from_position("W1901A", {"RUSSIA": ["A NWY"]}, CENTERS, welfare={"FRANCE": 2}, rules=Rules(transfers=True)),
    Game.from_position("F1901R", {}, CENTERS, dislodged=DISLODGED),
    Game("colonial", Rules(years=1)),
)
LEGAL = [
    [(power, order) for power in game.powers for orders in game.legal_orders(power).values() for order in orders]
    for game in GAMES
]
LONG = {code: name for game in GAMES for code, name in game.board.long_names.items()}
COMMANDS = {
    "-": "moves to",
    "S": "supports",
    "C": "convoys",
    "H": "holds position",
    "VIA": "via convoy",
    "R": "retreats to",
}
REMARKS = (
    "",
    "",
    " # west",
    " \u2014 to block Germany",
    " (or not)",
    ", then MUN",
    "; A PAR H",
    " because I can",
    " // A MAR H",
    ".",
)
WORDS = (
    "A", "F", "PAR", "BUR", "MAR", "BRE", "-", "S", "C", "H", "VIA", "R", "B", "D", "SPA/SC", "Paris", "holds",
    "supports", "convoy", "WAIVE", "GIVE", "FRANCE", "North Sea", "(north coast)", "nc", "/", "->", "\u2014",
    "#", ",", "to", "by", "of", "the", "Gulf of",
)  # fmt: skip


def _spelled(rng: np.random.Generator, order: str) -> str:
    """A legal order with some of its words in other spellings."""
    words = order.replace("/", pick(rng, ("/", " ", "(", " coast ")) if rng.random() < 0.3 else "/").split()
    return " ".join(LONG.get(word, COMMANDS.get(word, word)) if rng.random() < 0.4 else word for word in words)


def _order(rng: np.random.Generator) -> tuple[int, str, str]:
    """A game, a power, and what it may have meant as an order."""
    number = int(rng.integers(len(GAMES)))
    power, order = LEGAL[number][int(rng.integers(len(LEGAL[number])))]
    if rng.random() < 0.2:
        return number, power, nonsense(rng, WORDS)
    text = _spelled(rng, order) + pick(rng, REMARKS) if rng.random() < 0.6 else order
    return number, power, mangled(rng, text) if rng.random() < 0.6 else text


def _submit(given: tuple[int, str, str]) -> None:
    """What is taken is a legal order of the unit, and the other reader takes it for the same."""
    number, power, text = given
    game = GAMES[number]
    before = game.orders(power), game.units
    try:
        game.submit(power, [text])
    except OrderError:
        if (game.orders(power), game.units) != before:
            raise Broken("something changed") from None
        raise
    _check(game, power, text)


def _check(game: Game, power: str, text: str) -> None:
    (order,) = game.orders(power)
    game.submit(power, [])
    if order == "WAIVE" or order.startswith("GIVE"):
        return
    if order not in {legal for orders in game.legal_orders(power).values() for legal in orders}:
        raise Broken(f"{order} is not legal")
    try:
        found = OrderBook(game.view(power)).find(text)[1]
    except OrderFault as fault:
        raise Broken(f"language models may not write it: {fault}") from fault
    if found != order:
        raise Broken(f"for language models it is {found}, for the game {order}")


def _find(given: tuple[int, str, str]) -> None:
    number, power, text = given
    OrderBook(GAMES[number].view(power)).find(text)


def _lists(rng: np.random.Generator) -> tuple[object, object]:
    texts: Sequence[object] = [junk(rng) if rng.random() < 0.3 else _order(rng)[2] for _ in range(int(rng.integers(5)))]
    return ("FRANCE" if rng.random() < 0.7 else junk(rng)), (texts if rng.random() < 0.7 else junk(rng))


def _submit_list(given: tuple[object, object]) -> None:
    GAMES[0].check_orders(*given)  # type: ignore[arg-type]


def _submit_lenient(given: tuple[object, object]) -> None:
    game = GAMES[0].branch()
    game.submit(*given, strict=False)  # type: ignore[arg-type]
    game.record()


def _message(rng: np.random.Generator) -> list[object]:
    right = ["FRANCE", "GERMANY", mangled(rng, "Burgundy is for my defence only."), 1]
    return [junk(rng) if rng.random() < 0.4 else value for value in right]


def _send(given: list[object]) -> None:
    game = GAMES[0].branch()
    game.send(*given)  # type: ignore[arg-type]
    game.record()


def _position(rng: np.random.Generator) -> dict[str, object]:
    right = {
        "phase": "S1901M",
        "units": UNITS,
        "centers": CENTERS,
        "dislodged": None,
        "welfare": {"FRANCE": 1},
        "rules": None,
    }
    changed = {key: junk(rng) if rng.random() < 0.2 else value for key, value in right.items()}
    if rng.random() < 0.5:
        changed["units"] = {
            mangled(rng, "FRANCE", 1): [mangled(rng, "F STP/SC", 1), "A PAR"],
            "RUSSIA": [mangled(rng, "A PAR", 1)],
        }
    if rng.random() < 0.3:
        changed["phase"] = mangled(rng, pick(rng, ("S1901M", "F1901R", "W1905A")), 2)
    return changed


def _from_position(given: dict[str, object]) -> None:
    Game.from_position(**given).advance()  # type: ignore[arg-type]


OF_POSITIONS = (PositionError, UnknownPowerError, RulesError, UnknownMapError)
DOORS = [
    Door("Game.submit", _order, _submit, (OrderError,), 350_000),
    Door("Game.submit of lists", _lists, _submit_list, (OrderError, UnknownPowerError), 60_000),
    Door("Game.submit, lenient", _lists, _submit_lenient, (OrderError, UnknownPowerError), 40_000),
    Door("OrderBook.find", _order, _find, (OrderFault,), 180_000),
    Door("Game.send", _message, _send, (PressError,), 80_000),
    Door("Game.from_position", _position, _from_position, OF_POSITIONS, 60_000),
]
